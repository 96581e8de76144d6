/* Prints a message as JSON text.
 *
 * Walks the fields in the order of the .proto file, leaves out those with their default value, and prints the
 * others by type. Types with a JSON form of their own (shape.h) are handled first.
 *
 * Fails with ERR_INVALID, naming the message, for a timestamp or duration out of range and for messages
 * nested deeper than the wire allows. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json/json_int.h"
#include "json/moment.h"
#include "json/number.h"
#include "wire/guard.h"
#include "wire/value.h"

void print_failed(struct printer *p, const ProtobufCMessage *m, const char *why) {
    if (p->rc == 0)
        p->rc = err_set(p->reterr, ERR_INVALID, "%s: %s", m->descriptor->name, why);
}

static const void *print_slot_of(const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    return (const char *)m + f->offset;
}

/* Scalars. */

/* NaN and the infinities are strings. False for all other values. */
static bool print_not_finite(struct printer *p, double v) {
    if (isfinite(v))
        return false;
    writer_string(&p->w, isnan(v) ? STR("NaN") : v > 0 ? STR("Infinity") : STR("-Infinity"));
    return true;
}

static void print_float(struct printer *p, float v) {
    char text[NUMBER_TEXT_MAX];
    if (print_not_finite(p, (double)v))
        return;
    number_format_float(v, text);
    writer_token(&p->w, str_of(text));
}

static void print_double(struct printer *p, double v) {
    char text[NUMBER_TEXT_MAX];
    if (print_not_finite(p, v))
        return;
    number_format_double(v, text);
    writer_token(&p->w, str_of(text));
}

static void print_enum(struct printer *p, const ProtobufCEnumDescriptor *d, int value) {
    const char *name = shape_enum_name(d, value);
    char text[NUMBER_TEXT_MAX];
    if (name) {
        writer_string(&p->w, str_of(name));
        return;
    }
    (void)snprintf(text, sizeof(text), "%d", value); /* an int fits */
    writer_token(&p->w, str_of(text));
}

static void print_whole(struct printer *p, ProtobufCType type, const void *slot) {
    char text[NUMBER_TEXT_MAX];
    bool is_long = wire_value_size(type) == sizeof(int64_t);
    bool is_unsigned = type == PROTOBUF_C_TYPE_UINT64 || type == PROTOBUF_C_TYPE_FIXED64 ||
                       type == PROTOBUF_C_TYPE_UINT32 || type == PROTOBUF_C_TYPE_FIXED32;
    if (is_unsigned) {
        uint64_t v = is_long ? *(const uint64_t *)slot : *(const uint32_t *)slot;
        (void)snprintf(text, sizeof(text), "%" PRIu64, v); /* 20 digits fit */
    } else {
        int64_t v = is_long ? *(const int64_t *)slot : *(const int32_t *)slot;
        (void)snprintf(text, sizeof(text), "%" PRId64, v); /* as above */
    }
    if (is_long)
        writer_string(&p->w, str_of(text));
    else
        writer_token(&p->w, str_of(text));
}

static void print_value(struct printer *p, const ProtobufCFieldDescriptor *f, const void *slot) {
    const ProtobufCBinaryData *bytes = slot;
    switch (f->type) {
    case PROTOBUF_C_TYPE_FLOAT:
        print_float(p, *(const float *)slot);
        return;
    case PROTOBUF_C_TYPE_DOUBLE:
        print_double(p, *(const double *)slot);
        return;
    case PROTOBUF_C_TYPE_BOOL:
        writer_token(&p->w, *(const protobuf_c_boolean *)slot ? STR("true") : STR("false"));
        return;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(p, f->descriptor, *(const int *)slot);
        return;
    case PROTOBUF_C_TYPE_STRING:
        writer_string(&p->w, str_of(*(char *const *)slot));
        return;
    case PROTOBUF_C_TYPE_BYTES:
        writer_bytes(&p->w, str_bytes(bytes->data, bytes->len));
        return;
    case PROTOBUF_C_TYPE_MESSAGE:
        print_message(p, *(ProtobufCMessage *const *)slot);
        return;
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        print_whole(p, f->type, slot);
        return;
    }
}

/* Fields. */

static bool print_is_default(const ProtobufCFieldDescriptor *f, const void *slot) {
    static const uint64_t zero;
    switch (f->type) {
    case PROTOBUF_C_TYPE_STRING:
        return cstr_is_empty(*(char *const *)slot);
    case PROTOBUF_C_TYPE_BYTES:
        return ((const ProtobufCBinaryData *)slot)->len == 0;
    case PROTOBUF_C_TYPE_FLOAT:
        return *(const float *)slot == 0;
    case PROTOBUF_C_TYPE_DOUBLE:
        return *(const double *)slot == 0;
    default:
        return memcmp(slot, &zero, wire_value_size(f->type)) == 0;
    }
}

/* A number or a bool as the name of a member. 64-bit numbers print as strings: their quotes are removed. */
static void print_scalar_key(struct printer *p, const ProtobufCFieldDescriptor *f, const void *slot) {
    struct buf text cleanup(buf_done);
    struct printer inner = {.style = p->style};
    buf_init(&text, NUMBER_TEXT_MAX);
    writer_init(&inner.w, &text, WRITER_COMPACT);
    print_value(&inner, f, slot);
    struct str s = buf_str(&text);
    if (s.n > 1 && s.p[0] == '"')
        s = str_bytes(s.p + 1, s.n - 2);
    writer_key(&p->w, s);
    if (!buf_ok(&text))
        p->w.out->failed = true;
}

static void print_key(struct printer *p, const ProtobufCFieldDescriptor *f, const void *slot) {
    if (f->type == PROTOBUF_C_TYPE_STRING)
        writer_key(&p->w, str_of(*(char *const *)slot));
    else
        print_scalar_key(p, f, slot);
}

static void print_map(struct printer *p, ProtobufCMessage *const *entries, size_t n) {
    writer_open(&p->w, '{');
    for (size_t i = 0; i < n; i++) {
        const ProtobufCFieldDescriptor *f = entries[i]->descriptor->fields;
        print_key(p, &f[0], print_slot_of(entries[i], &f[0]));
        const void *slot = print_slot_of(entries[i], &f[1]);
        if (f[1].type == PROTOBUF_C_TYPE_MESSAGE && !*(void *const *)slot)
            writer_token(&p->w, STR("{}")); /* an entry without a value has the default value */
        else
            print_value(p, &f[1], slot);
    }
    writer_close(&p->w, '}');
}

static void print_repeated(struct printer *p, const ProtobufCMessage *m, const ProtobufCFieldDescriptor *f) {
    size_t n = *(const size_t *)((const char *)m + f->quantifier_offset);
    const char *items = *(char *const *)print_slot_of(m, f);
    if (shape_is_map(m->descriptor, f)) {
        print_map(p, (ProtobufCMessage *const *)(const void *)items, n);
        return;
    }
    writer_open(&p->w, '[');
    for (size_t i = 0; i < n; i++)
        print_value(p, f, items + i * wire_value_size(f->type));
    writer_close(&p->w, ']');
}

static bool print_shows_field(struct printer *p, const ProtobufCMessage *m,
                              const ProtobufCFieldDescriptor *f) {
    const char *quantifier = (const char *)m + f->quantifier_offset;
    if (f->label == PROTOBUF_C_LABEL_REPEATED)
        return p->style.has_defaults || *(const size_t *)(const void *)quantifier > 0;
    if (f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)(const void *)quantifier == f->id;
    if (f->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(void *const *)print_slot_of(m, f) != NULL;
    return p->style.has_defaults || !print_is_default(f, print_slot_of(m, f));
}

void print_members(struct printer *p, const ProtobufCMessage *m) {
    char camel[SHAPE_NAME_MAX];
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (!print_shows_field(p, m, f))
            continue;
        shape_camel(f->name, camel);
        writer_key(&p->w, str_of(camel));
        if (f->label == PROTOBUF_C_LABEL_REPEATED)
            print_repeated(p, m, f);
        else
            print_value(p, f, print_slot_of(m, f));
    }
}

/* Messages. */

static void print_timestamp(struct printer *p, const ProtobufCMessage *m) {
    const Google__Protobuf__Timestamp *t = (const void *)m;
    char text[MOMENT_TEXT_MAX] = "";
    if (moment_format(t->seconds, t->nanos, text) < 0)
        print_failed(p, m, "the time is not in the years 1 to 9999");
    writer_string(&p->w, str_of(text));
}

static void print_duration(struct printer *p, const ProtobufCMessage *m) {
    const Google__Protobuf__Duration *d = (const void *)m;
    char text[MOMENT_TEXT_MAX] = "";
    if (span_format(d->seconds, d->nanos, text) < 0)
        print_failed(p, m, "the duration is out of range");
    writer_string(&p->w, str_of(text));
}

/* "a.b,c": paths separated by commas, their names in camelCase. */
static void print_mask(struct printer *p, const ProtobufCMessage *m) {
    const Google__Protobuf__FieldMask *mask = (const void *)m;
    struct buf text cleanup(buf_done);
    buf_init(&text, JSON_TEXT_BYTES_MAX);
    for (size_t i = 0; i < mask->n_paths; i++) {
        bool is_word = false;
        if (i > 0)
            buf_add_u8(&text, ',');
        for (const char *c = mask->paths[i]; *c; c++) {
            if (*c != '_')
                buf_add_u8(&text, (uint8_t)(is_word && *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c));
            is_word = *c == '_';
        }
    }
    writer_string(&p->w, buf_str(&text));
    if (!buf_ok(&text))
        p->w.out->failed = true;
}

static void print_object(struct printer *p, const ProtobufCMessage *m) {
    writer_open(&p->w, '{');
    print_members(p, m);
    writer_close(&p->w, '}');
}

static void print_by_shape(struct printer *p, const ProtobufCMessage *m) {
    switch (shape_of(m->descriptor)) {
    case SHAPE_OBJECT:
        print_object(p, m);
        return;
    case SHAPE_TIMESTAMP:
        print_timestamp(p, m);
        return;
    case SHAPE_DURATION:
        print_duration(p, m);
        return;
    case SHAPE_MASK:
        print_mask(p, m);
        return;
    case SHAPE_WRAPPER:
        print_value(p, &m->descriptor->fields[0], print_slot_of(m, &m->descriptor->fields[0]));
        return;
    case SHAPE_ANY:
        any_print(p, m);
        return;
    case SHAPE_PAYLOAD:
        if (p->style.has_shorthand)
            payload_print(p, (const void *)m);
        else
            print_object(p, m);
        return;
    case SHAPE_PAYLOADS:
        if (!p->style.has_shorthand || !payloads_print(p, (const void *)m))
            print_object(p, m);
        return;
    }
}

void print_message(struct printer *p, const ProtobufCMessage *m) {
    if (p->depth > WIRE_DEPTH_MAX) {
        print_failed(p, m, "messages are nested too deeply");
        writer_token(&p->w, STR("null"));
        return;
    }
    p->depth++;
    print_by_shape(p, m);
    p->depth--;
}

int json_print(struct buf *out, const ProtobufCMessage *m, struct json_style style, struct err *reterr) {
    struct printer p = {.style = style, .reterr = reterr};
    writer_init(&p.w, out, style.is_pretty ? WRITER_PRETTY : WRITER_COMPACT);
    print_message(&p, m);
    return p.rc;
}
