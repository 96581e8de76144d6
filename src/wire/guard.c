/* The check of untrusted bytes, and unpacking after it.
 *
 * An explicit stack has one frame for each open message: its descriptor and the bytes still to read. Each
 * field is checked once. A nested message is entered after its parent has stepped over it, so the walk is
 * linear in the bytes. The walk also adds up the memory that protobuf-c will allocate at least; wire_decode()
 * refuses a message that cannot fit before it allocates anything.
 *
 * Fails with ERR_INVALID; the text names the message and the field. */
#include "wire/guard.h"

#include "base/mem.h"
#include "wire/encode.h"

#define FIELD_COUNT_MAX 256 /* the largest message of the API has 70 */

struct guard_frame {
    const ProtobufCMessageDescriptor *desc;
    struct str rest;
    uint32_t last_field; /* for the text of an error */
    uint64_t seen[FIELD_COUNT_MAX / 64]; /* message fields seen so far, by index */
};

struct guard_walk {
    struct guard_frame frames[WIRE_DEPTH_MAX + 1];
    size_t depth; /* open frames */
    size_t cost; /* bytes that unpacking allocates at least */
    struct err *reterr;
};

static int guard_refuse_field(struct guard_walk *w, uint32_t field, const char *why) {
    const char *message = w->frames[w->depth - 1].desc->name;
    return err_set(w->reterr, ERR_INVALID, "%s: field %u: %s", message, field, why);
}

static void guard_enter_message(struct guard_walk *w, const ProtobufCMessageDescriptor *d, struct str bytes) {
    ensure(d->n_fields <= FIELD_COUNT_MAX);
    w->frames[w->depth++] = (struct guard_frame){.desc = d, .rest = bytes};
    w->cost += d->sizeof_message;
}

static uint8_t guard_expected_wire_type(ProtobufCType type) {
    switch (type) {
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_FLOAT:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_BOOL:
    case PROTOBUF_C_TYPE_ENUM:
        break;
    }
    return PROTOBUF_C_WIRE_TYPE_VARINT;
}

static int guard_check_packed(struct guard_walk *w, const struct wire_field *f, uint8_t element) {
    bool whole = element == PROTOBUF_C_WIRE_TYPE_VARINT
                     ? wire_is_varints(f->content)
                     : f->content.n % (element == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4) == 0;
    return whole ? 0 : guard_refuse_field(w, f->number, "the packed values are not well-formed");
}

/* protobuf-c terminates strings with a NUL. A NUL inside would silently cut off the rest. */
static int guard_check_string(struct guard_walk *w, const struct wire_field *f) {
    if (!utf8_valid(f->content))
        return guard_refuse_field(w, f->number, "the text is not UTF-8");
    if (f->content.n > 0 && memchr(f->content.p, 0, f->content.n))
        return guard_refuse_field(w, f->number, "the text contains a NUL character");
    w->cost += f->content.n + 1;
    return 0;
}

/* protobuf merges a message that is given twice field by field. protobuf-c loses values when it merges, and
 * no client sends this. */
static int guard_check_message(struct guard_walk *w, const struct wire_field *f,
                               const ProtobufCFieldDescriptor *known) {
    struct guard_frame *top = &w->frames[w->depth - 1];

    if (known->label != PROTOBUF_C_LABEL_REPEATED) {
        size_t index = (size_t)(known - top->desc->fields);
        uint64_t bit = UINT64_C(1) << (index % 64);
        if (top->seen[index / 64] & bit)
            return guard_refuse_field(w, f->number, "the message is given twice");
        top->seen[index / 64] |= bit;
    }
    if (w->depth == ARRAY_LEN(w->frames))
        return guard_refuse_field(w, f->number, "messages are nested too deeply");
    guard_enter_message(w, known->descriptor, f->content);
    return 0;
}

static int guard_check_field(struct guard_walk *w, const struct wire_field *f) {
    const ProtobufCMessageDescriptor *desc = w->frames[w->depth - 1].desc;
    const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(desc, f->number);

    if (!known) {
        w->cost += sizeof(ProtobufCMessageUnknownField) + f->content.n;
        return 0;
    }
    uint8_t expected = guard_expected_wire_type(known->type);
    if (f->type != expected) {
        bool is_packed =
            f->type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED && known->label == PROTOBUF_C_LABEL_REPEATED;
        return is_packed ? guard_check_packed(w, f, expected)
                         : guard_refuse_field(w, f->number, "the wire type does not match");
    }
    if (known->type == PROTOBUF_C_TYPE_STRING)
        return guard_check_string(w, f);
    if (known->type == PROTOBUF_C_TYPE_MESSAGE)
        return guard_check_message(w, f, known);
    w->cost += known->type == PROTOBUF_C_TYPE_BYTES ? f->content.n : 0;
    return 0;
}

static int guard_walk_fields(struct guard_walk *w) {
    while (w->depth > 0) {
        struct guard_frame *top = &w->frames[w->depth - 1];
        struct wire_field f;
        bool ok;

        if (wire_next_field(&top->rest, &f, &ok)) {
            top->last_field = f.number;
            int r = guard_check_field(w, &f);
            if (r < 0)
                return r;
        } else if (ok) {
            w->depth--;
        } else {
            return err_set(w->reterr, ERR_INVALID, "%s: not well-formed after field %u", top->desc->name,
                           top->last_field);
        }
    }
    return 0;
}

static int guard_measure_message(const ProtobufCMessageDescriptor *d, struct str bytes, size_t *ret_cost,
                                 struct err *reterr) {
    struct guard_walk w;
    w.depth = w.cost = 0;
    w.reterr = reterr;
    guard_enter_message(&w, d, bytes);
    int r = guard_walk_fields(&w);
    *ret_cost = w.cost;
    return r;
}

int wire_guard(const ProtobufCMessageDescriptor *d, struct str bytes, struct err *reterr) {
    size_t cost;
    return guard_measure_message(d, bytes, &cost, reterr);
}

static int guard_over_budget(const ProtobufCMessageDescriptor *d, struct err *reterr) {
    return err_set(reterr, ERR_NO_MEMORY, "%s needs more memory than a request may take", d->name);
}

int wire_decode(const ProtobufCMessageDescriptor *d, struct str bytes, struct arena *a,
                ProtobufCMessage **ret, struct err *reterr) {
    size_t cost;
    int r = guard_measure_message(d, bytes, &cost, reterr);
    if (r < 0)
        return r;
    if (cost > a->budget - a->used) {
        a->failed = true;
        return guard_over_budget(d, reterr);
    }

    ProtobufCAllocator allocator = wire_arena_allocator(a);
    ProtobufCMessage *m = protobuf_c_message_unpack(d, &allocator, bytes.n, (const uint8_t *)bytes.p);
    if (!m && arena_failed(a))
        return guard_over_budget(d, reterr);
    if (!m)
        return err_set(reterr, ERR_INVALID, "%s: not well-formed", d->name);
    *ret = m;
    return 0;
}

static void *guard_arena_alloc(void *data, size_t size) {
    return arena_alloc(data, size);
}

/* The arena frees everything at once. */
static void guard_arena_free(unused_arg void *data, unused_arg void *p) {}

ProtobufCAllocator wire_arena_allocator(struct arena *a) {
    return (ProtobufCAllocator){.alloc = guard_arena_alloc, .free = guard_arena_free, .allocator_data = a};
}

static void *guard_heap_alloc(unused_arg void *data, size_t size) {
    return mem_alloc(size);
}

static void guard_heap_free(unused_arg void *data, void *p) {
    mem_free(p);
}

ProtobufCAllocator wire_heap_allocator = {.alloc = guard_heap_alloc, .free = guard_heap_free};
