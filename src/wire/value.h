/* How protobuf-c keeps the value of a field. */
#pragma once

#include <protobuf-c/protobuf-c.h>

size_t wire_value_size(ProtobufCType type); /* of one value in memory */
