/* Checks protobuf bytes before protobuf-c unpacks them.
 *
 * protobuf-c recurses without limit, turns 4 MiB of input into 256 MiB of small allocations, and accepts any
 * bytes as a string. The guard walks the bytes by the message's descriptor, iteratively. It refuses bytes
 * that are not well-formed, messages that are nested too deeply, and text that is not UTF-8. It also refuses
 * two things that protobuf allows and protobuf-c damages: a NUL inside text, and a message given twice in a
 * field that holds one. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define WIRE_DEPTH_MAX 100 /* as protobuf's own default; a Failure chain nests one level a cause */

/* Only the check. ERR_INVALID, with the message and the field in the text. */
int wire_guard(const ProtobufCMessageDescriptor *d, struct str bytes, struct err *reterr) must_check;

/* Checks, then unpacks into the arena, whose budget limits the memory of the message. ERR_INVALID for bad
 * bytes; ERR_NO_MEMORY past the budget, which leaves the arena failed. The message lives as long as the arena
 * and keeps no pointer into the bytes. */
int wire_decode(const ProtobufCMessageDescriptor *d, struct str bytes, struct arena *a,
                ProtobufCMessage **ret, struct err *reterr) must_check;

/* Allocators for protobuf-c. The one over an arena frees nothing; it is valid as long as the arena. */
ProtobufCAllocator wire_arena_allocator(struct arena *a);
extern ProtobufCAllocator wire_heap_allocator;
