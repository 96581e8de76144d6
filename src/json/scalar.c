/* Converts values without members from their text to the field's type.
 *
 * Numbers can be in quotes, as 64-bit numbers are. Text from outside of JSON (a key of a map, a URL) has no
 * quotes, so the type of the field decides. Fails with ERR_INVALID and the path, and with ERR_NO_MEMORY. */
#include <math.h>

#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/field_mask.pb-c.h"
#include "google/protobuf/timestamp.pb-c.h"
#include "json/base64.h"
#include "json/json_int.h"
#include "json/moment.h"
#include "json/number.h"

#define SHOWN_MAX 64 /* bytes of a value in an error text */
/* From here up a double rounds to no float. It is a little above FLT_MAX, whose text may be rounded up. */
#define FLOAT_END 0x1.ffffffp127

static int scalar_shown_len(struct scalar s) {
    return (int)MIN(s.text.n, SHOWN_MAX);
}

int scalar_read(struct parser *p, struct scalar *ret) {
    bool flag;
    int rc = 0;
    switch (reader_kind(&p->r)) {
    case JSON_STRING:
        ret->source = SCALAR_STRING;
        rc = reader_string(&p->r, p->a, &ret->text);
        break;
    case JSON_NUMBER:
        ret->source = SCALAR_NUMBER;
        rc = reader_number(&p->r, &ret->text);
        break;
    case JSON_BOOL:
        ret->source = SCALAR_WORD;
        rc = reader_bool(&p->r, &flag);
        if (rc == 0)
            ret->text = flag ? STR("true") : STR("false");
        break;
    case JSON_NULL:
        return parse_refuse(p, "null is not a value here");
    case JSON_ARRAY:
        return parse_refuse(p, "expected one value, not an array");
    case JSON_OBJECT:
        return parse_refuse(p, "expected one value, not an object");
    case JSON_NOTHING:
        rc = reader_skip(&p->r, NULL); /* fails: a value is missing */
        break;
    }
    return rc < 0 ? parse_mistake(p, rc) : 0;
}

static bool scalar_is_quoted(struct scalar s) {
    return s.source == SCALAR_STRING || s.source == SCALAR_TEXT;
}

static int scalar_refuse(struct parser *p, struct scalar s, const char *expected) {
    return parse_refuse(p, "%s expected, not %s%.*s%s", expected, s.source == SCALAR_STRING ? "\"" : "",
                        scalar_shown_len(s), s.text.p ? s.text.p : "", s.source == SCALAR_STRING ? "\"" : "");
}

/* Numbers. */

static int scalar_set_signed(struct parser *p, struct scalar s, int64_t min, int64_t max, int64_t *ret) {
    bool is_negative;
    uint64_t magnitude;
    if (s.source == SCALAR_WORD || number_whole(s.text, &is_negative, &magnitude) < 0)
        return scalar_refuse(p, s, "a whole number");
    uint64_t limit = is_negative ? (uint64_t) - (min + 1) + 1 : (uint64_t)max;
    if (magnitude > limit)
        return parse_refuse(p, "%.*s is out of range", scalar_shown_len(s), s.text.p);
    *ret = is_negative ? (int64_t)(-magnitude) : (int64_t)magnitude;
    return 0;
}

static int scalar_set_unsigned(struct parser *p, struct scalar s, uint64_t max, uint64_t *ret) {
    bool is_negative;
    uint64_t magnitude;
    if (s.source == SCALAR_WORD || number_whole(s.text, &is_negative, &magnitude) < 0)
        return scalar_refuse(p, s, "a whole number");
    if (is_negative || magnitude > max)
        return parse_refuse(p, "%.*s is out of range", scalar_shown_len(s), s.text.p);
    *ret = magnitude;
    return 0;
}

static int scalar_set_real(struct parser *p, struct scalar s, double end, double *ret) {
    if (scalar_is_quoted(s) && str_is(s.text, "NaN")) {
        *ret = (double)NAN;
        return 0;
    }
    if (scalar_is_quoted(s) && (str_is(s.text, "Infinity") || str_is(s.text, "-Infinity"))) {
        *ret = s.text.p[0] == '-' ? -(double)INFINITY : (double)INFINITY;
        return 0;
    }
    if (s.source == SCALAR_WORD || number_real(s.text, ret) < 0)
        return scalar_refuse(p, s, "a number");
    return fabs(*ret) >= end ? parse_refuse(p, "%.*s is out of range", scalar_shown_len(s), s.text.p) : 0;
}

static int scalar_set_number(struct parser *p, ProtobufCType type, struct scalar s, void *slot) {
    int64_t v = 0;
    uint64_t u = 0;
    double d = 0;
    int rc;
    switch (type) {
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        rc = scalar_set_unsigned(p, s, UINT32_MAX, &u);
        *(uint32_t *)slot = (uint32_t)u;
        return rc;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        rc = scalar_set_unsigned(p, s, UINT64_MAX, &u);
        *(uint64_t *)slot = u;
        return rc;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        rc = scalar_set_signed(p, s, INT64_MIN, INT64_MAX, &v);
        *(int64_t *)slot = v;
        return rc;
    case PROTOBUF_C_TYPE_FLOAT:
        rc = scalar_set_real(p, s, FLOAT_END, &d);
        *(float *)slot = (float)d;
        return rc;
    case PROTOBUF_C_TYPE_DOUBLE:
        rc = scalar_set_real(p, s, (double)INFINITY, &d);
        *(double *)slot = d;
        return rc;
    default:
        rc = scalar_set_signed(p, s, INT32_MIN, INT32_MAX, &v);
        *(int32_t *)slot = (int32_t)v;
        return rc;
    }
}

/* Words, enums, texts and bytes. */

static int scalar_set_bool(struct parser *p, struct scalar s, protobuf_c_boolean *slot) {
    bool is_word = s.source == SCALAR_WORD || s.source == SCALAR_TEXT;
    if (!is_word || (!str_is(s.text, "true") && !str_is(s.text, "false")))
        return scalar_refuse(p, s, "true or false");
    *slot = str_is(s.text, "true");
    return 0;
}

static int scalar_set_enum(struct parser *p, const ProtobufCEnumDescriptor *d, struct scalar s, int *slot) {
    int64_t number;
    bool is_negative;
    uint64_t magnitude;
    if (scalar_is_quoted(s)) {
        const ProtobufCEnumValue *v = shape_enum_value(d, s.text);
        if (v) {
            *slot = v->value;
            return 0;
        }
        if (s.source == SCALAR_STRING || number_whole(s.text, &is_negative, &magnitude) < 0)
            return parse_refuse(p, "%.*s is not a value of %s", scalar_shown_len(s), s.text.p ? s.text.p : "",
                                d->short_name);
    }
    int rc = scalar_set_signed(p, s, INT32_MIN, INT32_MAX, &number);
    if (rc == 0)
        *slot = (int)number;
    return rc;
}

static int scalar_set_string(struct parser *p, struct scalar s, char **slot) {
    if (!scalar_is_quoted(s))
        return scalar_refuse(p, s, "a string");
    if (s.text.n && memchr(s.text.p, 0, s.text.n))
        return parse_refuse(p, "the text contains a NUL character");
    *slot = arena_strndup(p->a, s.text.p, s.text.n);
    return *slot ? 0 : parse_no_memory(p);
}

static int scalar_set_bytes(struct parser *p, struct scalar s, ProtobufCBinaryData *slot) {
    struct str bytes = STR("");
    int rc = scalar_is_quoted(s) ? base64_read(p->a, s.text, &bytes) : ERR_INVALID;
    if (rc == ERR_NO_MEMORY)
        return parse_no_memory(p);
    if (rc < 0)
        return scalar_refuse(p, s, "bytes in base64");
    slot->len = bytes.n;
    slot->data = arena_dup(p->a, bytes.p, bytes.n);
    return slot->data ? 0 : parse_no_memory(p);
}

int scalar_set(struct parser *p, const ProtobufCFieldDescriptor *f, struct scalar s, void *slot) {
    switch (f->type) {
    case PROTOBUF_C_TYPE_BOOL:
        return scalar_set_bool(p, s, slot);
    case PROTOBUF_C_TYPE_ENUM:
        return scalar_set_enum(p, f->descriptor, s, slot);
    case PROTOBUF_C_TYPE_STRING:
        return scalar_set_string(p, s, slot);
    case PROTOBUF_C_TYPE_BYTES:
        return scalar_set_bytes(p, s, slot);
    case PROTOBUF_C_TYPE_MESSAGE: {
        ProtobufCMessage *m;
        int rc = parse_new(p, f->descriptor, &m);
        if (rc == 0)
            rc = scalar_message(p, m, s);
        if (rc == 0)
            *(ProtobufCMessage **)slot = m;
        return rc;
    }
    default:
        return scalar_set_number(p, f->type, s, slot);
    }
}

/* Messages that are written as one scalar. */

/* "userName,address.zipCode" -> user_name, address.zip_code. */
static int scalar_set_mask(struct parser *p, struct scalar s, Google__Protobuf__FieldMask *mask) {
    size_t count = 1;
    for (size_t i = 0; i < s.text.n; i++)
        count += s.text.p[i] == ',';
    mask->paths = arena_array(p->a, char *, count);
    char *text = arena_alloc(p->a, s.text.n * 2 + 1), *to = text;
    if (!mask->paths || !text)
        return parse_no_memory(p);
    for (size_t i = 0; i < s.text.n; i++) {
        char c = s.text.p[i];
        if (i == 0 || s.text.p[i - 1] == ',')
            mask->paths[mask->n_paths++] = to;
        if (c >= 'A' && c <= 'Z') {
            *to++ = '_';
            c = (char)(c - 'A' + 'a');
        }
        if (c == '\0' || c == '_' || (c == ',' && (i == 0 || i + 1 == s.text.n || s.text.p[i - 1] == ',')))
            return scalar_refuse(p, s, "names of fields in camelCase, separated by commas,");
        *to++ = c == ',' ? '\0' : c;
    }
    *to = '\0';
    return 0;
}

int scalar_message(struct parser *p, ProtobufCMessage *m, struct scalar s) {
    enum shape shape = shape_of(m->descriptor);
    Google__Protobuf__Timestamp *t = (void *)m;
    Google__Protobuf__Duration *d = (void *)m;
    bool is_text = scalar_is_quoted(s);
    switch (shape) {
    case SHAPE_TIMESTAMP:
        if (!is_text || moment_read(s.text, &t->seconds, &t->nanos) < 0)
            return scalar_refuse(p, s, "a time such as 2026-03-01T09:00:00Z");
        return 0;
    case SHAPE_DURATION:
        if (!is_text || span_read(s.text, &d->seconds, &d->nanos) < 0)
            return scalar_refuse(p, s, "a duration in seconds such as 1.5s");
        return 0;
    case SHAPE_MASK:
        return is_text ? scalar_set_mask(p, s, (void *)m) : scalar_refuse(p, s, "a string");
    case SHAPE_WRAPPER:
        return scalar_set(p, &m->descriptor->fields[0], s, (char *)m + m->descriptor->fields[0].offset);
    case SHAPE_OBJECT:
    case SHAPE_ANY:
    case SHAPE_PAYLOAD:
    case SHAPE_PAYLOADS:
        break;
    }
    return scalar_refuse(p, s, "an object");
}
