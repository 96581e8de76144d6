/* Copies of messages, field by field: what packing and unpacking them would give, for a third of the work. */
#pragma once

#include <protobuf-c/protobuf-c.h>

/* All of it comes from the allocator (wire/guard.h). NULL when there is no memory; then nothing is left of
 * it. */
ProtobufCMessage *wire_clone(const ProtobufCMessage *m, ProtobufCAllocator *allocator);
