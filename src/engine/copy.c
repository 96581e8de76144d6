/* Copying by packing and unpacking: slower than by hand, and right for every message. */
#include "engine/copy.h"

#include "wire/guard.h"

void *message_copy(struct arena *a, const ProtobufCMessage *m) {
    ProtobufCAllocator alloc = wire_arena_allocator(a);
    size_t n = protobuf_c_message_get_packed_size(m);
    uint8_t *packed = arena_alloc(a, n ? n : 1);
    if (!packed)
        return NULL;
    protobuf_c_message_pack(m, packed);
    return protobuf_c_message_unpack(m->descriptor, &alloc, n, packed);
}
