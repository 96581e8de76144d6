/* Deep copies of messages. The result equals that of packing and unpacking, for a third of the work. */
#pragma once

#include <protobuf-c/protobuf-c.h>

/* The copy belongs to the caller: protobuf_c_message_free_unpacked() with the same allocator (wire/guard.h).
 * NULL when memory is exhausted; nothing stays allocated then. */
ProtobufCMessage *wire_clone(const ProtobufCMessage *m, ProtobufCAllocator *allocator);
