/* Copies a message by its descriptor.
 *
 * Initializes a new message, then copies every field that is set. Fields that packing would leave out (an
 * empty text, an absent message) keep their initial values. Running out of memory is sticky: the rest is
 * skipped and the partial copy is freed. That works at any point, because a field is set only after its
 * content was copied. */
#include "wire/clone.h"

#include <string.h>

#include "base/base.h"
#include "wire/value.h"

struct cloner {
    ProtobufCAllocator *allocator;
    bool failed;
};

static ProtobufCMessage *clone_message(struct cloner *c, const ProtobufCMessage *m);

static void *clone_alloc(struct cloner *c, size_t size) {
    void *p = c->failed ? NULL : c->allocator->alloc(c->allocator->allocator_data, size);
    c->failed |= !p;
    return p;
}

static void *clone_bytes(struct cloner *c, const void *bytes, size_t n) {
    void *copy = clone_alloc(c, n);
    if (copy)
        memcpy(copy, bytes, n);
    return copy;
}

/* Values of lists and oneofs are packed even when empty; plain fields are not. */
enum clone_empty { CLONE_EMPTY_SKIP, CLONE_EMPTY_KEEP };

/* One value, from its place in one message to its place in the other. */
static void clone_item(struct cloner *c, ProtobufCType type, const void *from, void *to,
                       enum clone_empty empty) {
    if (type == PROTOBUF_C_TYPE_STRING) {
        const char *text = *(char *const *)from;
        if (text && (*text || empty == CLONE_EMPTY_KEEP))
            *(char **)to = clone_bytes(c, text, strlen(text) + 1);
    } else if (type == PROTOBUF_C_TYPE_BYTES) {
        const ProtobufCBinaryData *b = from;
        if (b->len)
            *(ProtobufCBinaryData *)to = (ProtobufCBinaryData){b->len, clone_bytes(c, b->data, b->len)};
    } else if (type == PROTOBUF_C_TYPE_MESSAGE) {
        const ProtobufCMessage *m = *(ProtobufCMessage *const *)from;
        if (m)
            *(ProtobufCMessage **)to = clone_message(c, m);
    } else {
        memcpy(to, from, wire_value_size(type));
    }
}

static void clone_items(struct cloner *c, const ProtobufCFieldDescriptor *f, const uint8_t *from,
                        uint8_t *to) {
    size_t n = *(const size_t *)(const void *)(from + f->quantifier_offset), size = wire_value_size(f->type);
    const uint8_t *items = *(uint8_t *const *)(const void *)(from + f->offset);
    uint8_t *copies = n ? clone_alloc(c, n * size) : NULL;
    if (!copies)
        return;
    memset(copies, 0, n * size);
    *(uint8_t **)(void *)(to + f->offset) = copies;
    *(size_t *)(void *)(to + f->quantifier_offset) = n;
    for (size_t i = 0; i < n; i++)
        clone_item(c, f->type, items + i * size, copies + i * size, CLONE_EMPTY_KEEP);
}

static void clone_field(struct cloner *c, const ProtobufCFieldDescriptor *f, const uint8_t *from,
                        uint8_t *to) {
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        clone_items(c, f, from, to);
        return;
    }
    bool is_oneof = f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    if (is_oneof) {
        uint32_t chosen = *(const uint32_t *)(const void *)(from + f->quantifier_offset);
        if (chosen != f->id)
            return;
        *(uint32_t *)(void *)(to + f->quantifier_offset) = chosen;
    }
    clone_item(c, f->type, from + f->offset, to + f->offset, is_oneof ? CLONE_EMPTY_KEEP : CLONE_EMPTY_SKIP);
}

static void clone_unknown(struct cloner *c, const ProtobufCMessage *from, ProtobufCMessage *to) {
    size_t n = from->n_unknown_fields;
    if (!n)
        return;
    to->unknown_fields = clone_alloc(c, n * sizeof(*to->unknown_fields));
    for (size_t i = 0; to->unknown_fields && i < n; i++) {
        ProtobufCMessageUnknownField *u = &to->unknown_fields[i];
        *u = from->unknown_fields[i];
        u->data = clone_bytes(c, from->unknown_fields[i].data, u->len);
        to->n_unknown_fields++;
    }
}

static ProtobufCMessage *clone_message(struct cloner *c, const ProtobufCMessage *m) {
    const ProtobufCMessageDescriptor *d = m->descriptor;
    ProtobufCMessage *copy = clone_alloc(c, d->sizeof_message);
    if (!copy)
        return NULL;
    protobuf_c_message_init(d, copy);
    for (unsigned i = 0; i < d->n_fields; i++)
        clone_field(c, &d->fields[i], (const uint8_t *)m, (uint8_t *)copy);
    clone_unknown(c, m, copy);
    return copy;
}

ProtobufCMessage *wire_clone(const ProtobufCMessage *m, ProtobufCAllocator *allocator) {
    struct cloner c = {.allocator = allocator};
    ProtobufCMessage *copy = clone_message(&c, m);
    if (c.failed && copy)
        protobuf_c_message_free_unpacked(copy, allocator);
    return c.failed ? NULL : copy;
}
