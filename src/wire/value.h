/* Sizes of field values as protobuf-c keeps them in memory. */
#pragma once

#include <protobuf-c/protobuf-c.h>

size_t wire_value_size(ProtobufCType type); /* of one value, in bytes */
