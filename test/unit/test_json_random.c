/* Random messages of every type in proto/: written as JSON and read again they are the same bytes. */
#include "base/rng.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json/shape.h"
#include "json_fixture.h"
#include "types.h"
#include "wire/encode.h"
#include "wire/value.h"

#define ROUNDS 12 /* of each type and style */
#define DEPTH_MAX 5
#define SEED 20260301

struct maker {
    struct rng rng;
    struct arena a;
    bool has_shorthand;
};

static ProtobufCMessage *make_message(struct maker *k, const ProtobufCMessageDescriptor *d, unsigned depth);

static char *make_text(struct maker *k) {
    static const char *const pieces[] = {"a", "Z",  "0",    " ",        "\"",           "\\",
                                         "/", "\n", "\x01", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
    struct buf b cleanup(buf_done);
    buf_init(&b, 256);
    for (uint64_t n = rng_below(&k->rng, 8); n > 0; n--)
        buf_add_cstr(&b, pieces[rng_below(&k->rng, ARRAY_LEN(pieces))]);
    return arena_strndup(&k->a, (const char *)b.data, b.len);
}

static ProtobufCBinaryData make_bytes(struct maker *k) {
    ProtobufCBinaryData v = {.len = (size_t)rng_below(&k->rng, 9)};
    v.data = arena_alloc(&k->a, v.len);
    for (size_t i = 0; i < v.len; i++)
        v.data[i] = (uint8_t)rng_u64(&k->rng);
    return v;
}

static uint64_t make_number(struct maker *k) {
    static const uint64_t edges[] = {0,         1,          INT32_MAX,           UINT32_MAX,
                                     INT64_MAX, UINT64_MAX, (uint64_t)INT64_MIN, UINT64_C(1) << 53};
    return rng_chance(&k->rng, 2) ? edges[rng_below(&k->rng, ARRAY_LEN(edges))]
                                  : rng_u64(&k->rng) >> rng_below(&k->rng, 64);
}

static double make_real(struct maker *k) {
    double v = (double)(int64_t)rng_u64(&k->rng);
    return rng_chance(&k->rng, 2) ? v / 1e17 : v * 1e-30;
}

static void make_value(struct maker *k, const ProtobufCFieldDescriptor *f, void *slot, unsigned depth) {
    const ProtobufCEnumDescriptor *e = f->descriptor;
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
        *(float *)slot = (float)make_real(k);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        *(double *)slot = make_real(k);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        *(protobuf_c_boolean *)slot = rng_chance(&k->rng, 2);
        return;
    case PROTOBUF_C_TYPE_ENUM:
        *(int *)slot = rng_chance(&k->rng, 8) ? 123456 : e->values[rng_below(&k->rng, e->n_values)].value;
        return;
    case PROTOBUF_C_TYPE_STRING:
        *(char **)slot = make_text(k);
        return;
    case PROTOBUF_C_TYPE_BYTES:
        *(ProtobufCBinaryData *)slot = make_bytes(k);
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        *(ProtobufCMessage **)slot = make_message(k, f->descriptor, depth + 1);
        return;
    default:
        if (wire_value_size(f->type) == sizeof(uint64_t))
            *(uint64_t *)slot = make_number(k);
        else
            *(uint32_t *)slot = (uint32_t)make_number(k);
    }
}

/* The keys of a map differ; the rest of an entry is like any other message. */
static void make_key(struct maker *k, ProtobufCMessage *entry, size_t i) {
    const ProtobufCFieldDescriptor *f = &entry->descriptor->fields[0];
    void *slot = (char *)entry + f->offset;
    if (f->type == PROTOBUF_C_TYPE_STRING)
        *(char **)slot = arena_printf(&k->a, "%s%zu", make_text(k), i);
    else
        *(int32_t *)slot = (int32_t)i - 1;
}

static void make_repeated(struct maker *k, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                          unsigned depth) {
    size_t n = (size_t)rng_below(&k->rng, 3), size = wire_value_size(f->type);
    char *items = arena_zalloc_array(&k->a, size, n + 1);
    for (size_t i = 0; i < n; i++) {
        make_value(k, f, items + i * size, depth);
        if (shape_is_map(m->descriptor, f))
            make_key(k, ((ProtobufCMessage **)(void *)items)[i], i);
    }
    *(size_t *)(void *)((char *)m + f->quantifier_offset) = n;
    *(void **)(void *)((char *)m + f->offset) = items;
}

static void make_field(struct maker *k, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                       unsigned depth) {
    bool is_leaf = f->type != PROTOBUF_C_TYPE_MESSAGE;
    CHECK(f->label == PROTOBUF_C_LABEL_NONE || f->label == PROTOBUF_C_LABEL_REPEATED);
    bool is_value = m->descriptor->n_fields == 2 && cstr_eq(f->name, "value"); /* of a map: always there */
    if (!is_value && ((!is_leaf && depth >= DEPTH_MAX) || rng_chance(&k->rng, 3)))
        return;
    if (f->label == PROTOBUF_C_LABEL_REPEATED) {
        make_repeated(k, m, f, depth);
        return;
    }
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t *which = (void *)((char *)m + f->quantifier_offset);
        if (*which)
            return;
        *which = f->id;
    }
    make_value(k, f, (char *)m + f->offset, depth);
}

static void make_mask(struct maker *k, Google__Protobuf__FieldMask *m) {
    static const char *const paths[] = {"a", "retry_policy", "task_queue.name", "x1.y_z"};
    m->n_paths = (size_t)rng_below(&k->rng, 3);
    m->paths = arena_array(&k->a, char *, m->n_paths + 1);
    for (size_t i = 0; i < m->n_paths; i++)
        m->paths[i] = arena_strdup(&k->a, paths[rng_below(&k->rng, ARRAY_LEN(paths))]);
}

/* Packed like any other, so that reading it gives the same bytes. */
static void make_any(struct maker *k, Google__Protobuf__Any *m, unsigned depth) {
    size_t count = 0;
    while (shape_type_at(count))
        count++;
    const ProtobufCMessageDescriptor *d = shape_type_at((size_t)rng_below(&k->rng, count));
    if (depth >= DEPTH_MAX || d == &google__protobuf__any__descriptor)
        return;
    ProtobufCMessage *inner = make_message(k, d, depth + 1);
    m->type_url = arena_printf(&k->a, "type.googleapis.com/%s", d->name);
    m->value.len = protobuf_c_message_get_packed_size(inner);
    m->value.data = arena_alloc(&k->a, m->value.len);
    (void)protobuf_c_message_pack(inner, m->value.data);
}

/* Payloads as clients make them: with an encoding, and data that fits it. */
static void make_payload(struct maker *k, Common__Payload *m) {
    static const char *const encodings[] = {"json/plain", "json/protobuf", "binary/plain", "binary/null"};
    static const char *const datas[] = {"1",        "null",
                                        "{}",       "{\"a\":[1.10]}",
                                        "\"x\"",    "{\"metadata\":{}}",
                                        "not json", "{\"_protoMessageType\":1}"};
    const char *encoding = encodings[rng_below(&k->rng, ARRAY_LEN(encodings))];
    const char *data = datas[rng_below(&k->rng, ARRAY_LEN(datas))];
    Common__Payload__MetadataEntry *entries = arena_array(&k->a, Common__Payload__MetadataEntry, 2);
    m->metadata = arena_array(&k->a, Common__Payload__MetadataEntry *, 2);
    for (size_t i = 0; i < 2; i++) {
        common__payload__metadata_entry__init(&entries[i]);
        m->metadata[i] = &entries[i];
    }
    entries[0].key = arena_strdup(&k->a, "encoding");
    entries[0].value = (ProtobufCBinaryData){strlen(encoding), (uint8_t *)arena_strdup(&k->a, encoding)};
    entries[1].key = arena_strdup(&k->a, "messageType");
    entries[1].value = (ProtobufCBinaryData){3, (uint8_t *)arena_strdup(&k->a, "a.B")};
    m->n_metadata = 1 + (cstr_eq(encoding, "json/protobuf") || rng_chance(&k->rng, 8));
    m->data = cstr_eq(encoding, "binary/null")
                  ? (ProtobufCBinaryData){0, NULL}
                  : (ProtobufCBinaryData){strlen(data), (uint8_t *)arena_strdup(&k->a, data)};
}

static ProtobufCMessage *make_message(struct maker *k, const ProtobufCMessageDescriptor *d, unsigned depth) {
    ProtobufCMessage *m = arena_alloc(&k->a, d->sizeof_message);
    ensure(m);
    protobuf_c_message_init(d, m);
    Google__Protobuf__Timestamp *t = (void *)m;
    Google__Protobuf__Duration *s = (void *)m;
    switch (shape_of(d)) {
    case SHAPE_TIMESTAMP:
        t->seconds = (int64_t)rng_below(&k->rng, UINT64_C(315537897600)) - INT64_C(62135596800);
        t->nanos = (int32_t)rng_below(&k->rng, 1000) * (rng_chance(&k->rng, 2) ? 1000000 : 999);
        return m;
    case SHAPE_DURATION:
        s->seconds = (int64_t)rng_below(&k->rng, 1000000) * (rng_chance(&k->rng, 2) ? 1 : -1);
        s->nanos = (int32_t)rng_below(&k->rng, 1000) * (s->seconds < 0 ? -1000 : 1000000);
        return m;
    case SHAPE_MASK:
        make_mask(k, (void *)m);
        return m;
    case SHAPE_ANY:
        make_any(k, (void *)m, depth);
        return m;
    case SHAPE_PAYLOAD:
        if (!k->has_shorthand)
            break;
        make_payload(k, (void *)m);
        return m;
    case SHAPE_OBJECT:
    case SHAPE_WRAPPER:
    case SHAPE_PAYLOADS:
        break;
    }
    for (unsigned i = 0; i < d->n_fields; i++)
        make_field(k, m, &d->fields[i], depth);
    return m;
}

static void check_same(struct maker *k, const ProtobufCMessage *m, struct json_style style) {
    struct buf text cleanup(buf_done), want cleanup(buf_done), got cleanup(buf_done);
    struct err e = {0};
    ProtobufCMessage *again;
    buf_init(&text, JSON_BUDGET * 4);
    buf_init(&want, JSON_BUDGET * 4);
    buf_init(&got, JSON_BUDGET * 4);
    wire_encode(&want, m);
    CHECK_INT(json_print(&text, m, style, &e), 0);
    CHECK(buf_ok(&text));
    int rc = json_parse(m->descriptor, buf_str(&text), style.has_shorthand, &k->a, &again, &e);
    if (!test_check_str(str_of(e.text), str_of(""), __FILE__, __LINE__, m->descriptor->name) || rc < 0)
        return;
    wire_encode(&got, again);
    test_check(str_eq(buf_str(&got), buf_str(&want)), __FILE__, __LINE__, m->descriptor->name);
}

static void check_types(struct json_style style) {
    struct maker k = {.has_shorthand = style.has_shorthand};
    const ProtobufCMessageDescriptor *d;
    size_t count = 0;
    rng_init(&k.rng, SEED);
    arena_init(&k.a, JSON_BUDGET * 64);
    for (; (d = shape_type_at(count)); count++) {
        for (int round = 0; round < ROUNDS; round++) {
            arena_clear(&k.a);
            check_same(&k, make_message(&k, d, 0), style);
        }
    }
    CHECK(count > 700);
    arena_done(&k.a);
}

TEST(json_random_messages_come_back_from_compact_text) {
    check_types((struct json_style){0});
}
TEST(json_random_messages_come_back_from_pretty_text_with_defaults) {
    check_types((struct json_style){.is_pretty = true, .has_defaults = true});
}
TEST(json_random_messages_come_back_from_shorthand) {
    check_types((struct json_style){.has_shorthand = true});
}
