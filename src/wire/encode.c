/* Packs messages into a buffer and walks packed bytes field by field.
 *
 * Packing has no result: the buffer is sticky, so callers check buf_ok() at the end. Walking stops at the
 * first byte that cannot begin a field. It never reads past the slice, whatever lengths the bytes claim. */
#include "wire/encode.h"

#include "wire/pack.h"

#define VARINT_BYTES_MAX 10
#define TAG_BYTES_MAX 5 /* field numbers have 29 bits */
#define LENGTH_BYTES_MAX 5 /* as protobuf-c */
#define FIELD_NUMBER_MAX ((UINT32_C(1) << 29) - 1)
#define TAG_TYPE_BITS 3

static void encode_add_packed(struct buf *b, struct packer *p) {
    if (packer_ok(p))
        buf_add_str(b, packer_str(p));
    else
        b->failed = true;
    packer_done(p);
}

void wire_encode(struct buf *b, const ProtobufCMessage *m) {
    struct packer p uninitialized;
    packer_init(&p);
    (void)packer_message(&p, m); /* the packer has the length, too */
    encode_add_packed(b, &p);
}

void wire_add_varint(struct buf *b, uint64_t v) {
    uint8_t bytes[VARINT_BYTES_MAX];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (uint8_t)v;
    buf_add(b, bytes, n);
}

static void encode_add_prefix(struct buf *b, uint32_t field, size_t length) {
    wire_add_varint(b, (uint64_t)field << TAG_TYPE_BITS | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    wire_add_varint(b, length);
}

void wire_add_bytes_field(struct buf *b, uint32_t field, struct str bytes) {
    encode_add_prefix(b, field, bytes.n);
    buf_add_str(b, bytes);
}

void wire_add_message_field(struct buf *b, uint32_t field, const ProtobufCMessage *m) {
    struct packer p uninitialized;
    packer_init(&p);
    packer_prefix(&p, field, packer_message(&p, m));
    encode_add_packed(b, &p);
}

static uint64_t encode_little_endian(const char *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i > 0; i--)
        v = v << 8 | (uint8_t)p[i - 1];
    return v;
}

/* Takes a varint of at most len_max bytes from the front of *s. */
static bool encode_take_varint(struct str *s, size_t len_max, uint64_t *ret) {
    uint64_t v = 0;
    for (size_t i = 0; i < s->n && i < len_max; i++) {
        uint8_t byte = (uint8_t)s->p[i];
        if (i == VARINT_BYTES_MAX - 1 && byte > 1)
            return false; /* more than 64 bits */
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *s = (struct str){s->p + i + 1, s->n - i - 1};
            *ret = v;
            return true;
        }
    }
    return false;
}

static bool encode_take_bytes(struct str *s, uint64_t n, struct str *ret) {
    if (n > s->n)
        return false;
    *ret = (struct str){s->p, n};
    *s = (struct str){s->p + n, s->n - n};
    return true;
}

static bool encode_take_content(struct str *s, struct wire_field *f) {
    const char *begin = s->p;
    uint64_t length;

    switch (f->type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        if (!encode_take_varint(s, VARINT_BYTES_MAX, &f->varint))
            return false;
        f->content = (struct str){begin, (size_t)(s->p - begin)};
        return true;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        return encode_take_varint(s, LENGTH_BYTES_MAX, &length) && encode_take_bytes(s, length, &f->content);
    case PROTOBUF_C_WIRE_TYPE_64BIT:
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        length = f->type == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;
        if (!encode_take_bytes(s, length, &f->content))
            return false;
        f->varint = encode_little_endian(f->content.p, f->content.n);
        return true;
    default:
        return false; /* groups, and the two types that do not exist */
    }
}

bool wire_next_field(struct str *rest, struct wire_field *f, bool *ok) {
    struct str s = *rest;
    uint64_t tag;

    *ok = true;
    if (s.n == 0)
        return false;
    *ok = false;
    if (!encode_take_varint(&s, TAG_BYTES_MAX, &tag))
        return false;
    uint64_t number = tag >> TAG_TYPE_BITS;
    if (number == 0 || number > FIELD_NUMBER_MAX)
        return false;
    *f = (struct wire_field){.number = (uint32_t)number, .type = tag & ((1 << TAG_TYPE_BITS) - 1)};
    if (!encode_take_content(&s, f))
        return false;
    f->whole = (struct str){rest->p, (size_t)(s.p - rest->p)};
    *rest = s;
    *ok = true;
    return true;
}

bool wire_is_varints(struct str packed) {
    uint64_t ignored;
    while (packed.n > 0)
        if (!encode_take_varint(&packed, VARINT_BYTES_MAX, &ignored))
            return false;
    return true;
}
