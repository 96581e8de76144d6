/* Packs the fields of a message from the last to the first: each value, then its tag in front of it. When the
 * space is used up, the bytes move to the end of a larger space.
 *
 * As in protobuf-c, a plain field with its zero value and a oneof member that is not chosen are left out. All
 * messages are proto3; protobuf-c has no optional fields there. Only memory can fail, stickily. */
#include "wire/pack.h"

#include "base/mem.h"
#include "wire/value.h"

#define VARINT_BYTES_MAX 10
#define TAG_BYTES_MAX 5
#define TAG_TYPE_BITS 3

void packer_init(struct packer *p) {
    p->space = p->first;
    p->at = p->size = sizeof(p->first);
    p->failed = false;
}

void packer_done(struct packer *p) {
    if (p->space != p->first)
        mem_free(p->space);
}

static void packer_grow(struct packer *p, size_t n) {
    size_t used = p->size - p->at, size = 2 * p->size + n;
    uint8_t *larger = p->failed ? NULL : mem_alloc(size);
    if (!larger) {
        p->failed = true;
        p->at = p->size; /* later bytes are lost, but have room */
        return;
    }
    memcpy(larger + size - used, p->space + p->at, used);
    packer_done(p);
    p->space = larger;
    p->size = size;
    p->at = size - used;
}

/* Room for n bytes in front of the packed ones. NULL when memory is exhausted and n is larger than the first
 * space; a number is never that large. */
static inline uint8_t *packer_room(struct packer *p, size_t n) {
    if (__builtin_expect(p->at < n, 0)) {
        packer_grow(p, n);
        if (p->at < n)
            return NULL;
    }
    p->at -= n;
    return p->space + p->at;
}

static void packer_put_bytes(struct packer *p, const void *data, size_t n) {
    uint8_t *room = n ? packer_room(p, n) : NULL;
    if (room)
        memcpy(room, data, n);
}

static inline size_t pack_varint_bytes(uint64_t v) {
    return v < 0x80 ? 1 : (size_t)(63 - __builtin_clzll(v)) / 7 + 1;
}

/* Writes v so that it ends before `end`. Returns its first byte. */
static inline uint8_t *pack_write_varint(uint8_t *end, uint64_t v) {
    size_t n = pack_varint_bytes(v);
    uint8_t *begin = end - n;
    for (size_t i = 0; i + 1 < n; i++, v >>= 7)
        begin[i] = (uint8_t)(v | 0x80);
    begin[n - 1] = (uint8_t)v;
    return begin;
}

static inline void packer_put_varint(struct packer *p, uint64_t v) {
    uint8_t *room = packer_room(p, pack_varint_bytes(v));
    (void)pack_write_varint(room + pack_varint_bytes(v), v); /* begins at room */
}

static void packer_put_little_endian(struct packer *p, uint64_t v, size_t n) {
    uint8_t *room = packer_room(p, n);
    for (size_t i = 0; i < n; i++)
        room[i] = (uint8_t)(v >> (8 * i));
}

static inline void packer_put_tag(struct packer *p, uint32_t id, unsigned type) {
    packer_put_varint(p, (uint64_t)id << TAG_TYPE_BITS | type);
}

/* A number (a value or a length) with its tag in front of it. */
static inline void packer_put_tagged(struct packer *p, uint32_t id, unsigned type, uint64_t v) {
    if (__builtin_expect(p->at < VARINT_BYTES_MAX + TAG_BYTES_MAX, 0)) {
        packer_put_varint(p, v);
        packer_put_tag(p, id, type);
        return;
    }
    uint8_t *begin = pack_write_varint(p->space + p->at, v);
    begin = pack_write_varint(begin, (uint64_t)id << TAG_TYPE_BITS | type);
    p->at = (size_t)(begin - p->space);
}

void packer_prefix(struct packer *p, uint32_t field, size_t length) {
    packer_put_tagged(p, field, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, length);
}

/* Single values. */

static uint32_t pack_load_u32(const void *member) {
    uint32_t v;
    memcpy(&v, member, sizeof(v));
    return v;
}

static uint64_t pack_load_u64(const void *member) {
    uint64_t v;
    memcpy(&v, member, sizeof(v));
    return v;
}

static const void *pack_load_pointer(const void *member) {
    const void *v;
    memcpy(&v, member, sizeof(v));
    return v;
}

static uint64_t pack_sign_extend(const void *member) {
    return (uint64_t)(int64_t)(int32_t)pack_load_u32(member);
}

static uint64_t pack_zigzag_u32(const void *member) {
    uint32_t v = pack_load_u32(member);
    return (uint32_t)(v << 1) ^ (v >> 31 ? UINT32_MAX : 0);
}

static uint64_t pack_zigzag_u64(const void *member) {
    uint64_t v = pack_load_u64(member);
    return (v << 1) ^ (v >> 63 ? UINT64_MAX : 0);
}

/* Puts a value without its tag. Returns the wire type for the tag. */
static ProtobufCWireType packer_put_value(struct packer *p, ProtobufCType type, const void *member) {
    size_t before = p->size - p->at;
    switch (type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        packer_put_varint(p, pack_sign_extend(member));
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_UINT32:
        packer_put_varint(p, pack_load_u32(member));
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        packer_put_varint(p, pack_load_u64(member));
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_SINT32:
        packer_put_varint(p, pack_zigzag_u32(member));
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_SINT64:
        packer_put_varint(p, pack_zigzag_u64(member));
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_BOOL:
        packer_put_varint(p, pack_load_u32(member) != 0);
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        packer_put_little_endian(p, pack_load_u32(member), 4);
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        packer_put_little_endian(p, pack_load_u64(member), 8);
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING: {
        const char *text = pack_load_pointer(member);
        packer_put_bytes(p, text, text ? strlen(text) : 0);
        break;
    }
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData bytes;
        memcpy(&bytes, member, sizeof(bytes));
        packer_put_bytes(p, bytes.data, bytes.len);
        break;
    }
    case PROTOBUF_C_TYPE_MESSAGE:
        (void)packer_message(p, pack_load_pointer(member)); /* the length is computed below */
        break;
    }
    packer_put_varint(p, p->failed ? 0 : p->size - p->at - before);
    return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
}

static void packer_put_field(struct packer *p, const ProtobufCFieldDescriptor *f, const void *member) {
    packer_put_tag(p, f->id, packer_put_value(p, f->type, member));
}

/* For the types that packer_put_plain() does not handle itself. */
static bool pack_is_zero(ProtobufCType type, const void *member) {
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
        return (pack_load_u32(member) & INT32_MAX) == 0; /* -0 is zero too */
    case PROTOBUF_C_TYPE_DOUBLE:
        return (pack_load_u64(member) & INT64_MAX) == 0;
    case PROTOBUF_C_TYPE_BYTES: {
        ProtobufCBinaryData bytes;
        memcpy(&bytes, member, sizeof(bytes));
        return bytes.len == 0;
    }
    default:
        return wire_value_size(type) == sizeof(uint64_t) ? pack_load_u64(member) == 0
                                                         : pack_load_u32(member) == 0;
    }
}

static bool pack_is_pointer(ProtobufCType type) {
    return type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_MESSAGE;
}

static bool pack_is_chosen(const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m, const void *member) {
    const char *quantifier = (const char *)m + f->quantifier_offset;
    return pack_load_u32(quantifier) == f->id && !(pack_is_pointer(f->type) && !pack_load_pointer(member));
}

/* Lists. */

static void packer_put_messages(struct packer *p, const ProtobufCFieldDescriptor *f,
                                ProtobufCMessage *const *list, size_t count) {
    for (size_t i = count; i > 0; i--)
        packer_prefix(p, f->id, packer_message(p, list[i - 1]));
}

static void packer_put_list(struct packer *p, const ProtobufCFieldDescriptor *f, const ProtobufCMessage *m) {
    size_t count;
    memcpy(&count, (const char *)m + f->quantifier_offset, sizeof(count));
    if (!count)
        return;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE) {
        packer_put_messages(p, f, pack_load_pointer((const char *)m + f->offset), count);
        return;
    }
    size_t step = wire_value_size(f->type), before = p->size - p->at;
    bool is_packed = f->flags & PROTOBUF_C_FIELD_FLAG_PACKED;
    const char *list = pack_load_pointer((const char *)m + f->offset);
    for (size_t i = count; i > 0; i--) {
        unsigned type = packer_put_value(p, f->type, list + (i - 1) * step);
        if (!is_packed)
            packer_put_tag(p, f->id, type);
    }
    if (is_packed)
        packer_prefix(p, f->id, p->failed ? 0 : p->size - p->at - before);
}

static void packer_put_unknown(struct packer *p, const ProtobufCMessage *m) {
    for (unsigned i = m->n_unknown_fields; i > 0; i--) {
        const ProtobufCMessageUnknownField *u = &m->unknown_fields[i - 1];
        packer_put_bytes(p, u->data, u->len);
        packer_put_tag(p, u->tag, u->wire_type);
    }
}

static void packer_put_number(struct packer *p, const ProtobufCFieldDescriptor *f, uint64_t v) {
    if (v)
        packer_put_tagged(p, f->id, PROTOBUF_C_WIRE_TYPE_VARINT, v);
}

static void packer_put_text(struct packer *p, const ProtobufCFieldDescriptor *f, const char *text) {
    if (!text || !*text)
        return;
    size_t n = strlen(text);
    packer_put_bytes(p, text, n);
    packer_prefix(p, f->id, p->failed ? 0 : n);
}

static void packer_put_nested(struct packer *p, const ProtobufCFieldDescriptor *f,
                              const ProtobufCMessage *m) {
    if (m)
        packer_prefix(p, f->id, packer_message(p, m));
}

/* A field outside of lists and oneofs: nearly all are. One switch decides whether it is set and packs it. */
static void packer_put_plain(struct packer *p, const ProtobufCFieldDescriptor *f, const void *member) {
    ensure(f->label == PROTOBUF_C_LABEL_NONE);
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        packer_put_text(p, f, pack_load_pointer(member));
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        packer_put_nested(p, f, pack_load_pointer(member));
        return;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_UINT64:
        packer_put_number(p, f, pack_load_u64(member));
        return;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        packer_put_number(p, f, pack_sign_extend(member));
        return;
    case PROTOBUF_C_TYPE_BOOL:
        packer_put_number(p, f, pack_load_u32(member) != 0);
        return;
    default:
        if (!pack_is_zero(f->type, member))
            packer_put_field(p, f, member);
        return;
    }
}

size_t packer_message(struct packer *p, const ProtobufCMessage *m) {
    size_t before = p->size - p->at;
    const ProtobufCMessageDescriptor *d = m->descriptor;
    packer_put_unknown(p, m);
    for (unsigned i = d->n_fields; i > 0; i--) {
        const ProtobufCFieldDescriptor *f = &d->fields[i - 1];
        const char *member = (const char *)m + f->offset;
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            packer_put_list(p, f, m);
        else if (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
            packer_put_plain(p, f, member);
        else if (pack_is_chosen(f, m, member))
            packer_put_field(p, f, member);
    }
    return p->failed ? 0 : p->size - p->at - before;
}
