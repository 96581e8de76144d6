/* Parses JSON text into a message in an arena.
 *
 * The reader and the descriptors are walked side by side: each member is looked up in the message's type, and
 * its value is read into the field. The message keeps no pointer into the text.
 *
 * Fails with ERR_INVALID and the path of the field; for mistakes in the JSON itself also with line and
 * column. Messages may be nested as deeply as on the wire, so that the store can read an accepted message
 * again. Other failures are ERR_TOO_LARGE and ERR_NO_MEMORY. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/json_int.h"
#include "json/number.h"
#include "wire/guard.h"
#include "wire/value.h"

#define PATH_TEXT_MAX 256
#define STEP_SHOWN_MAX 64
#define FIELDS_MAX 256 /* the largest message of the API has 70 */
#define ITEMS_FIRST 4 /* first capacity of an array */

/* Errors. */

static size_t parse_add_path(char *text, size_t at, const struct parse_step *step) {
    int n;
    if (!step)
        return at;
    at = parse_add_path(text, at, step->up);
    if (at >= PATH_TEXT_MAX)
        return at;
    if (!step->name.p)
        n = snprintf(text + at, PATH_TEXT_MAX - at, "[%zu]", step->index);
    else
        n = snprintf(text + at, PATH_TEXT_MAX - at, "%s%.*s", at ? "." : "",
                     (int)MIN(step->name.n, STEP_SHOWN_MAX), step->name.p);
    return at + (size_t)n;
}

int parse_refuse(struct parser *p, const char *fmt, ...) {
    char path[PATH_TEXT_MAX] = "", why[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(why, sizeof(why), fmt, args); /* cut when too long */
    va_end(args);
    (void)parse_add_path(path, 0, p->path); /* cut when too long */
    return err_set(p->reterr, ERR_INVALID, "%s%s%s", path, path[0] ? ": " : "", why);
}

int parse_no_memory(struct parser *p) {
    return err_set(p->reterr, ERR_NO_MEMORY, "the JSON needs more memory than a request may take");
}

int parse_mistake(struct parser *p, int rc) {
    if (rc == ERR_NO_MEMORY)
        return parse_no_memory(p);
    struct json_place place = reader_place(&p->r);
    return parse_refuse(p, "line %zu, column %zu: %s", place.line, place.column, p->r.mistake);
}

/* Messages. */

int parse_new(struct parser *p, const ProtobufCMessageDescriptor *d, ProtobufCMessage **ret) {
    *ret = arena_alloc(p->a, d->sizeof_message);
    if (!*ret)
        return parse_no_memory(p);
    protobuf_c_message_init(d, *ret);
    return 0;
}

static int parse_scalar_message(struct parser *p, ProtobufCMessage *m) {
    struct scalar s;
    int rc = scalar_read(p, &s);
    return rc < 0 ? rc : scalar_message(p, m, s);
}

static int parse_array(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f);

static int parse_by_shape(struct parser *p, ProtobufCMessage *m) {
    enum shape shape = shape_of(m->descriptor);
    switch (shape) {
    case SHAPE_OBJECT:
        return parse_object(p, m, STR(""));
    case SHAPE_TIMESTAMP:
    case SHAPE_DURATION:
    case SHAPE_MASK:
    case SHAPE_WRAPPER:
        return parse_scalar_message(p, m);
    case SHAPE_ANY:
        return any_parse(p, m);
    case SHAPE_PAYLOAD:
        return p->has_shorthand ? payload_parse(p, (void *)m) : parse_object(p, m, STR(""));
    case SHAPE_PAYLOADS:
        if (p->has_shorthand && reader_kind(&p->r) == JSON_ARRAY)
            return parse_array(p, m, &m->descriptor->fields[0]);
        return parse_object(p, m, STR(""));
    }
    return 0;
}

static int parse_enter_message(struct parser *p) {
    if (p->depth > WIRE_DEPTH_MAX)
        return parse_refuse(p, "messages are nested too deeply");
    p->depth++;
    return 0;
}

int parse_message(struct parser *p, ProtobufCMessage *m) {
    int rc = parse_enter_message(p);
    if (rc < 0)
        return rc;
    rc = parse_by_shape(p, m);
    p->depth--;
    return rc;
}

/* One value of a field, into its place in memory. */
static int parse_field_value(struct parser *p, const ProtobufCFieldDescriptor *f, void *slot) {
    struct scalar s;
    ProtobufCMessage *m;
    int rc;
    if (f->type != PROTOBUF_C_TYPE_MESSAGE) {
        rc = scalar_read(p, &s);
        return rc < 0 ? rc : scalar_set(p, f, s, slot);
    }
    bool is_null = reader_kind(&p->r) == JSON_NULL;
    if (is_null && !(p->has_shorthand && shape_of(f->descriptor) == SHAPE_PAYLOAD))
        return parse_refuse(p, "null is not a value here");
    rc = parse_new(p, f->descriptor, &m);
    if (rc == 0)
        rc = parse_message(p, m);
    if (rc == 0)
        *(ProtobufCMessage **)slot = m;
    return rc;
}

/* Arrays. */

/* A growing array in the arena. Outgrown copies are freed with the arena. */
struct parse_items {
    char *data;
    size_t n, room, size;
};

static void *parse_items_add(struct parser *p, struct parse_items *v) {
    if (v->n == v->room) {
        size_t room = v->room ? v->room * 2 : ITEMS_FIRST;
        char *data = arena_zalloc_array(p->a, v->size, room);
        if (!data)
            return NULL;
        if (v->n)
            memcpy(data, v->data, v->n * v->size);
        v->data = data;
        v->room = room;
    }
    return v->data + v->size * v->n++;
}

static void parse_items_store(const struct parse_items *v, ProtobufCMessage *m,
                              const ProtobufCFieldDescriptor *f) {
    *(size_t *)(void *)((char *)m + f->quantifier_offset) = v->n;
    *(void **)(void *)((char *)m + f->offset) = v->data;
}

static int parse_array(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    struct parse_items v = {.size = wire_value_size(f->type)};
    struct parse_step step = {.up = p->path};
    struct json_items items;
    bool has_more;
    if (reader_kind(&p->r) != JSON_ARRAY)
        return parse_refuse(p, "expected an array");
    int rc = reader_enter(&p->r, &items);
    if (rc < 0)
        return parse_mistake(p, rc);
    p->path = &step;
    while ((rc = reader_next(&p->r, &items, &has_more)) == 0 && has_more) {
        void *slot = parse_items_add(p, &v);
        if (!slot)
            return parse_no_memory(p);
        if ((rc = parse_field_value(p, f, slot)) < 0)
            return rc;
        step.index++;
    }
    p->path = step.up;
    if (rc < 0)
        return parse_mistake(p, rc);
    parse_items_store(&v, m, f);
    return 0;
}

/* Maps. */

static int parse_compare_keys(const void *a, const void *b) {
    const struct str *x = a, *y = b;
    size_t n = MIN(x->n, y->n);
    int order = n ? memcmp(x->p, y->p, n) : 0;
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static int parse_refuse_same_keys(struct parser *p, struct parse_items *keys) {
    struct str *k = (void *)keys->data;
    if (keys->n < 2)
        return 0;
    qsort(k, keys->n, sizeof(*k), parse_compare_keys);
    for (size_t i = 1; i < keys->n; i++)
        if (str_eq(k[i - 1], k[i]))
            return parse_refuse(p, "the key \"%.*s\" is given twice", (int)MIN(k[i].n, STEP_SHOWN_MAX),
                                k[i].p);
    return 0;
}

/* A number has more than one text: "0", "-0" and "0.0" are the same key. */
static int parse_normalize_key(struct parser *p, const ProtobufCFieldDescriptor *f, struct str *key) {
    char text[NUMBER_TEXT_MAX];
    bool is_negative;
    uint64_t magnitude;
    if (f->type == PROTOBUF_C_TYPE_STRING || number_whole(*key, &is_negative, &magnitude) < 0)
        return 0;
    int n = snprintf(text, sizeof(text), "%s%" PRIu64, is_negative && magnitude ? "-" : "", magnitude);
    const char *copy = arena_strndup(p->a, text, (size_t)n);
    *key = str_bytes(copy, (size_t)n);
    return copy ? 0 : parse_no_memory(p);
}

static int parse_entry(struct parser *p, const ProtobufCMessageDescriptor *d, struct str key,
                       ProtobufCMessage **ret) {
    const ProtobufCFieldDescriptor *f = d->fields;
    struct parse_step step = {.up = p->path, .name = key};
    int rc = parse_new(p, d, ret);
    if (rc < 0)
        return rc;
    p->path = &step;
    rc = parse_enter_message(p); /* on the wire an entry is a message */
    if (rc == 0)
        rc = scalar_set(p, &f[0], (struct scalar){SCALAR_TEXT, key}, (char *)*ret + f[0].offset);
    if (rc == 0)
        rc = parse_field_value(p, &f[1], (char *)*ret + f[1].offset);
    p->depth--;
    p->path = step.up;
    return rc;
}

static int parse_map(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    struct parse_items v = {.size = sizeof(ProtobufCMessage *)}, keys = {.size = sizeof(struct str)};
    const ProtobufCMessageDescriptor *entry = f->descriptor;
    struct json_items items;
    bool has_more;
    if (reader_kind(&p->r) != JSON_OBJECT)
        return parse_refuse(p, "expected an object");
    int rc = reader_enter(&p->r, &items);
    while (rc == 0 && (rc = reader_next(&p->r, &items, &has_more)) == 0 && has_more) {
        struct str *key = parse_items_add(p, &keys);
        ProtobufCMessage **slot = parse_items_add(p, &v);
        if (!key || !slot)
            return parse_no_memory(p);
        if ((rc = reader_key(&p->r, p->a, key)) < 0)
            break;
        int rc_entry = parse_entry(p, entry, *key, slot);
        if (rc_entry == 0)
            rc_entry = parse_normalize_key(p, &entry->fields[0], key);
        if (rc_entry < 0)
            return rc_entry;
    }
    if (rc < 0)
        return parse_mistake(p, rc);
    parse_items_store(&v, m, f);
    return parse_refuse_same_keys(p, &keys);
}

/* Fields. */

static int parse_field_member(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    if (reader_kind(&p->r) == JSON_NULL) {
        int rc = reader_null(&p->r);
        return rc < 0 ? parse_mistake(p, rc) : 0;
    }
    if (shape_is_map(m->descriptor, f))
        return parse_map(p, m, f);
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return parse_array(p, m, f);
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t *which = (void *)((char *)m + f->quantifier_offset);
        if (*which)
            return parse_refuse(p, "only one of these fields can be given: %s is there already",
                                protobuf_c_message_descriptor_get_field(m->descriptor, *which)->name);
        *which = f->id;
    }
    return parse_field_value(p, f, (char *)m + f->offset);
}

static int parse_member(struct parser *p, ProtobufCMessage *m, struct str name, uint64_t *seen) {
    const ProtobufCMessageDescriptor *d = m->descriptor;
    struct parse_step step = {.up = p->path, .name = name};
    const ProtobufCFieldDescriptor *f = shape_field(d, name);
    p->path = &step;
    if (!f)
        return parse_refuse(p, "unknown field");
    size_t index = (size_t)(f - d->fields);
    uint64_t bit = UINT64_C(1) << (index % 64);
    if (seen[index / 64] & bit)
        return parse_refuse(p, "given twice");
    seen[index / 64] |= bit;
    int rc = parse_field_member(p, m, f);
    p->path = step.up;
    return rc;
}

int parse_object(struct parser *p, ProtobufCMessage *m, struct str other) {
    uint64_t seen[FIELDS_MAX / 64] = {0};
    struct json_items items;
    struct str name;
    bool has_more;
    ensure(m->descriptor->n_fields <= FIELDS_MAX);
    if (reader_kind(&p->r) != JSON_OBJECT)
        return parse_refuse(p, "expected an object");
    int rc = reader_enter(&p->r, &items);
    while (rc == 0 && (rc = reader_next(&p->r, &items, &has_more)) == 0 && has_more) {
        if ((rc = reader_key(&p->r, p->a, &name)) < 0)
            break;
        if (other.n && str_eq(name, other)) {
            rc = reader_skip(&p->r, NULL);
            continue;
        }
        int rc_member = parse_member(p, m, name, seen);
        if (rc_member < 0)
            return rc_member;
    }
    return rc < 0 ? parse_mistake(p, rc) : 0;
}

int json_parse(const ProtobufCMessageDescriptor *d, struct str text, enum json_payloads payloads,
               struct arena *a, ProtobufCMessage **ret, struct err *reterr) {
    struct parser p = {.a = a, .has_shorthand = payloads == JSON_PAYLOADS_SHORTHAND, .reterr = reterr};
    ProtobufCMessage *m;
    if (text.n > JSON_TEXT_BYTES_MAX)
        return err_set(reterr, ERR_TOO_LARGE, "the JSON has %zu bytes, more than %u", text.n,
                       JSON_TEXT_BYTES_MAX);
    reader_init(&p.r, text);
    if (!utf8_valid(text))
        return err_set(reterr, ERR_INVALID, "the JSON is not UTF-8");
    int rc = parse_new(&p, d, &m);
    if (rc == 0)
        rc = parse_message(&p, m);
    if (rc < 0)
        return rc;
    rc = reader_end(&p.r);
    if (rc < 0)
        return parse_mistake(&p, rc);
    *ret = m;
    return 0;
}

/* Single fields from text outside of JSON. */

static int parse_add_item(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                          struct scalar s) {
    struct parse_items v = {.size = wire_value_size(f->type)};
    v.n = *(size_t *)(void *)((char *)m + f->quantifier_offset);
    v.data = arena_zalloc_array(p->a, v.size, v.n + 1);
    if (!v.data)
        return parse_no_memory(p);
    if (v.n)
        memcpy(v.data, *(void **)(void *)((char *)m + f->offset), v.n * v.size);
    int rc = scalar_set(p, f, s, v.data + v.n * v.size);
    v.n++;
    if (rc == 0)
        parse_items_store(&v, m, f);
    return rc;
}

static bool parse_is_set(const void *slot, ProtobufCType type) {
    static const ProtobufCBinaryData zero;
    if (type == PROTOBUF_C_TYPE_STRING)
        return !cstr_is_empty(*(char *const *)slot);
    return memcmp(slot, &zero, wire_value_size(type)) != 0;
}

static int parse_set_leaf(struct parser *p, ProtobufCMessage *m, const ProtobufCFieldDescriptor *f,
                          struct str value, enum json_set mode) {
    struct scalar s = {SCALAR_TEXT, value};
    void *slot = (char *)m + f->offset;
    if (shape_is_map(m->descriptor, f))
        return parse_refuse(p, "a map cannot be given so");
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return parse_add_item(p, m, f, s);
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) {
        uint32_t *which = (void *)((char *)m + f->quantifier_offset);
        if (*which && (*which != f->id || mode == JSON_SET_ONCE))
            return parse_refuse(p, "another of these fields is there already");
        *which = f->id;
    } else if (mode == JSON_SET_ONCE && parse_is_set(slot, f->type)) {
        return parse_refuse(p, "given twice");
    }
    return scalar_set(p, f, s, slot);
}

/* Moves *m to the message in the field, which is created if absent. */
static int parse_enter_field(struct parser *p, ProtobufCMessage **m, const ProtobufCFieldDescriptor *f) {
    ProtobufCMessage **slot = (void *)((char *)*m + f->offset);
    bool is_object = f->type == PROTOBUF_C_TYPE_MESSAGE && f->label != PROTOBUF_C_LABEL_REPEATED &&
                     !(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && shape_of(f->descriptor) == SHAPE_OBJECT;
    if (!is_object)
        return parse_refuse(p, "has no fields that can be given so");
    if (!*slot) {
        int rc = parse_new(p, f->descriptor, slot);
        if (rc < 0)
            return rc;
    }
    *m = *slot;
    return 0;
}

static struct str parse_first_name(struct str path) {
    const char *dot = path.n ? memchr(path.p, '.', path.n) : NULL;
    return str_bytes(path.p, dot ? (size_t)(dot - path.p) : path.n);
}

bool json_has_field(const ProtobufCMessageDescriptor *d, struct str path) {
    for (;;) {
        struct str name = parse_first_name(path);
        const ProtobufCFieldDescriptor *f = shape_field(d, name);
        if (!f || name.n == path.n || f->type != PROTOBUF_C_TYPE_MESSAGE)
            return f;
        d = f->descriptor;
        path = str_bytes(path.p + name.n + 1, path.n - name.n - 1);
    }
}

int json_set(ProtobufCMessage *m, struct str path, struct str value, enum json_set mode, struct arena *a,
             struct err *reterr) {
    struct parse_step whole = {.name = path};
    struct parser p = {.a = a, .path = &whole, .reterr = reterr};
    if (!utf8_valid(value) || !utf8_valid(path))
        return err_set(reterr, ERR_INVALID, "a parameter is not UTF-8");
    for (;;) {
        struct str name = parse_first_name(path);
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, name);
        if (!f)
            return parse_refuse(&p, "unknown field");
        if (name.n == path.n)
            return parse_set_leaf(&p, m, f, value, mode);
        int rc = parse_enter_field(&p, &m, f);
        if (rc < 0)
            return rc;
        path = str_bytes(path.p + name.n + 1, path.n - name.n - 1);
    }
}
