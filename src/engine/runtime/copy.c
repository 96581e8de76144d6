#include "engine/runtime/copy.h"

#include "wire/clone.h"
#include "wire/guard.h"

void *message_copy(struct arena *a, const ProtobufCMessage *m) {
    ProtobufCAllocator alloc = wire_arena_allocator(a);
    return wire_clone(m, &alloc);
}
