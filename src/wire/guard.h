/* Looks at protobuf bytes before protobuf-c does.
 *
 * protobuf-c recurses without limit and turns 4 MiB into 256 MiB of small
 * allocations; it also takes any bytes as a string. The guard walks the bytes
 * by the message's descriptor, iteratively, and refuses what is too deep, not
 * well-formed, or not UTF-8 where text is promised. It also refuses two things
 * that protobuf allows and protobuf-c would quietly damage: a NUL inside text,
 * and a message given twice in a field that holds one. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define WIRE_DEPTH_MAX 100 /* as protobuf's own default; a Failure chain nests one level a cause */

int wire_guard(const ProtobufCMessageDescriptor *d, struct str bytes, struct err *reterr) must_check;

/* Guard, then unpack into the arena (whose budget bounds what a message may cost).
 * ERR_INVALID for bad bytes, ERR_NO_MEMORY past the budget. The message lives as long as the arena. */
int wire_decode(const ProtobufCMessageDescriptor *d, struct str bytes, struct arena *a,
                ProtobufCMessage **ret, struct err *reterr) must_check;

/* protobuf-c allocators over an arena and over the heap. */
ProtobufCAllocator wire_arena_allocator(struct arena *a);
extern ProtobufCAllocator wire_heap_allocator;
