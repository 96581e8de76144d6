/* Temporal's shorthand: a payload of JSON is that JSON.
 *
 * Printed in shorthand: a payload whose only metadata is the encoding json/plain, or json/protobuf with the
 * name of a type; the name becomes the member _protoMessageType. A list of payloads is an array when each has
 * a shorthand or is null.
 *
 * Printed in full: a payload that shorthand would not preserve. That is data that is not JSON, null (which
 * parses as binary/null), and an object that looks like a payload or has the marker itself. Names are
 * compared as written, on both sides, so that escapes make no difference.
 *
 * Parsed as a full payload: an object with no members but `metadata`, a map to base64 with an `encoding`, and
 * `data` in base64 (optional for binary/null). Any other value is shorthand. */
#include "json/base64.h"
#include "json/json_int.h"

#define MARKER "\"_protoMessageType\""
#define NULL_ENCODING_BASE64 "\"YmluYXJ5L251bGw=\""
#define PLAIN "json/plain"
#define PROTOBUF "json/protobuf"
#define NULL_ENCODING "binary/null"

static struct str payload_metadata_value(const Common__Payload *m, const char *key) {
    for (size_t i = 0; i < m->n_metadata; i++)
        if (cstr_eq(m->metadata[i]->key, key))
            return str_bytes(m->metadata[i]->value.data, m->metadata[i]->value.len);
    return STR("");
}

/* Printing. */

/* The data of json/protobuf must be an object, since the type is written as a member. */
enum payload_need { PAYLOAD_ANY_VALUE, PAYLOAD_OBJECT };

/* Whether the data is one JSON value that parses back to the same payload. */
static bool payload_can_be_shorthand(struct str data, enum payload_need need) {
    struct json_reader r, items_r;
    struct json_items items;
    struct str name;
    bool has_more;
    if (!utf8_valid(data))
        return false;
    reader_init(&r, data);
    enum json_kind kind = reader_kind(&r);
    items_r = r;
    if (kind == JSON_NULL || reader_skip(&r, NULL) < 0 || reader_end(&r) < 0)
        return false;
    if (kind != JSON_OBJECT)
        return need == PAYLOAD_ANY_VALUE;
    if (reader_enter(&items_r, &items) < 0)
        return false;
    while (reader_next(&items_r, &items, &has_more) == 0 && has_more)
        if (reader_raw_name(&items_r, &name) < 0 || str_is(name, MARKER) || str_is(name, "\"metadata\"") ||
            reader_skip(&items_r, NULL) < 0)
            return false;
    return true;
}

enum payload_form { FORM_FULL, FORM_PLAIN, FORM_PROTOBUF };

static enum payload_form payload_form_of(const Common__Payload *m) {
    struct str encoding = payload_metadata_value(m, "encoding"), data = str_bytes(m->data.data, m->data.len);
    struct str type = payload_metadata_value(m, "messageType");
    if (m->n_external_payloads)
        return FORM_FULL;
    if (m->n_metadata == 1 && str_is(encoding, PLAIN) && payload_can_be_shorthand(data, PAYLOAD_ANY_VALUE))
        return FORM_PLAIN;
    if (m->n_metadata == 2 && str_is(encoding, PROTOBUF) && type.n && utf8_valid(type) &&
        payload_can_be_shorthand(data, PAYLOAD_OBJECT))
        return FORM_PROTOBUF;
    return FORM_FULL;
}

static bool payload_is_null(const Common__Payload *m) {
    return m->n_metadata == 1 && m->data.len == 0 && !m->n_external_payloads &&
           str_is(payload_metadata_value(m, "encoding"), NULL_ENCODING);
}

static int payload_print_marked(struct printer *p, const Common__Payload *m, struct json_reader *r) {
    struct json_items items;
    bool has_more;
    writer_open(&p->w, '{');
    writer_key(&p->w, STR("_protoMessageType"));
    writer_string(&p->w, payload_metadata_value(m, "messageType"));
    int rc = reader_enter(r, &items);
    while (rc == 0 && (rc = reader_next(r, &items, &has_more)) == 0 && has_more)
        rc = writer_copy_member(&p->w, r);
    writer_close(&p->w, '}');
    return rc;
}

/* A full payload without `data` would parse as a value where shorthand is accepted. So empty data is printed.
 */
static void payload_print_full(struct printer *p, const Common__Payload *m) {
    writer_open(&p->w, '{');
    print_members(p, &m->base);
    if (m->data.len == 0 && !p->style.has_defaults && m->n_metadata > 0 && !payload_is_null(m)) {
        writer_key(&p->w, STR("data"));
        writer_string(&p->w, STR(""));
    }
    writer_close(&p->w, '}');
}

void payload_print(struct printer *p, const Common__Payload *m) {
    enum payload_form form = payload_form_of(m);
    struct json_reader r;
    int rc = 0;
    reader_init(&r, str_bytes(m->data.data, m->data.len));
    switch (form) {
    case FORM_FULL:
        payload_print_full(p, m);
        break;
    case FORM_PLAIN:
        rc = writer_copy(&p->w, &r);
        break;
    case FORM_PROTOBUF:
        rc = payload_print_marked(p, m, &r);
        break;
    }
    ensure(rc == 0); /* payload_can_be_shorthand() has read it before */
}

bool payloads_print(struct printer *p, const Common__Payloads *m) {
    for (size_t i = 0; i < m->n_payloads; i++)
        if (payload_form_of(m->payloads[i]) == FORM_FULL && !payload_is_null(m->payloads[i]))
            return false;
    writer_open(&p->w, '[');
    for (size_t i = 0; i < m->n_payloads; i++)
        print_message(p, &m->payloads[i]->base);
    writer_close(&p->w, ']');
    return true;
}

/* Parsing. */

static bool payload_is_base64(struct parser *p, struct json_reader *r) {
    struct str text, bytes;
    return reader_kind(r) == JSON_STRING && reader_string(r, p->a, &text) == 0 &&
           base64_read(p->a, text, &bytes) == 0;
}

/* Whether the next value is a map to base64 that has an encoding. */
static bool payload_is_metadata(struct parser *p, struct json_reader *r, bool *ret_is_null) {
    struct json_items items;
    struct str name;
    bool has_more, has_encoding = false;
    if (reader_kind(r) != JSON_OBJECT || reader_enter(r, &items) < 0)
        return false;
    *ret_is_null = false;
    while (reader_next(r, &items, &has_more) == 0) {
        if (!has_more)
            return has_encoding;
        if (reader_raw_name(r, &name) < 0 || reader_kind(r) != JSON_STRING)
            return false;
        if (str_is(name, "\"encoding\"")) {
            has_encoding = true;
            *ret_is_null =
                str_starts(str_bytes(r->text.p + r->at, r->text.n - r->at), STR(NULL_ENCODING_BASE64));
        }
        if (!payload_is_base64(p, r))
            return false;
    }
    return false;
}

static bool payload_is_full(struct parser *p) {
    struct json_reader r = p->r;
    struct json_items items;
    struct str name;
    bool has_more, has_metadata = false, has_data = false, is_null_encoding = false;
    if (reader_enter(&r, &items) < 0)
        return false;
    while (reader_next(&r, &items, &has_more) == 0) {
        if (!has_more)
            return has_metadata && (has_data || is_null_encoding);
        if (reader_raw_name(&r, &name) < 0)
            return false;
        if (str_is(name, "\"metadata\"") && !has_metadata)
            has_metadata = payload_is_metadata(p, &r, &is_null_encoding);
        else if (str_is(name, "\"data\"") && !has_data)
            has_data = payload_is_base64(p, &r);
        else if (!str_is(name, "\"externalPayloads\"") || reader_skip(&r, NULL) < 0)
            return false;
    }
    return false;
}

static int payload_add_metadata(struct parser *p, Common__Payload *m, const char *key, struct str value) {
    Common__Payload__MetadataEntry *entry = arena_new(p->a, Common__Payload__MetadataEntry);
    if (!entry)
        return parse_no_memory(p);
    common__payload__metadata_entry__init(entry);
    entry->key = arena_strdup(p->a, key);
    entry->value.len = value.n;
    entry->value.data = arena_dup(p->a, value.p, value.n);
    if (!entry->key || !entry->value.data)
        return parse_no_memory(p);
    m->metadata[m->n_metadata++] = entry;
    return 0;
}

static int payload_set_metadata(struct parser *p, Common__Payload *m, const char *encoding, struct str type) {
    m->metadata = arena_array(p->a, Common__Payload__MetadataEntry *, 2);
    if (!m->metadata)
        return parse_no_memory(p);
    int rc = payload_add_metadata(p, m, "encoding", str_of(encoding));
    return rc == 0 && type.n ? payload_add_metadata(p, m, "messageType", type) : rc;
}

/* Copies all members except the marker, whose text goes to *ret_type. */
static int payload_copy_unmarked(struct parser *p, struct json_writer *w, struct str *ret_type) {
    struct json_items items;
    bool has_more;
    int rc = reader_enter(&p->r, &items);
    writer_open(w, '{');
    while (rc == 0 && (rc = reader_next(&p->r, &items, &has_more)) == 0 && has_more) {
        struct json_reader before = p->r;
        struct str name;
        if ((rc = reader_raw_name(&p->r, &name)) < 0)
            break;
        if (!str_is(name, MARKER)) {
            p->r = before;
            rc = writer_copy_member(w, &p->r);
        } else if (reader_kind(&p->r) != JSON_STRING) {
            return parse_refuse(p, "_protoMessageType must be a string");
        } else {
            rc = reader_string(&p->r, p->a, ret_type);
        }
    }
    writer_close(w, '}');
    return rc < 0 ? parse_mistake(p, rc) : 0;
}

static int payload_copy_value(struct parser *p, struct json_writer *w, struct str *ret_type) {
    if (reader_kind(&p->r) == JSON_OBJECT)
        return payload_copy_unmarked(p, w, ret_type);
    int rc = writer_copy(w, &p->r);
    return rc < 0 ? parse_mistake(p, rc) : 0;
}

static int payload_parse_shorthand(struct parser *p, Common__Payload *m) {
    struct buf data cleanup(buf_done);
    struct json_writer w;
    struct str type = STR("");
    buf_init(&data, JSON_TEXT_BYTES_MAX);
    writer_init(&w, &data, WRITER_COMPACT);
    int rc = payload_copy_value(p, &w, &type);
    if (rc < 0)
        return rc;
    m->data.len = data.len;
    m->data.data = buf_ok(&data) ? arena_dup(p->a, data.data, data.len) : NULL;
    if (!m->data.data)
        return parse_no_memory(p);
    return payload_set_metadata(p, m, type.n ? PROTOBUF : PLAIN, type);
}

int payload_parse(struct parser *p, Common__Payload *m) {
    enum json_kind kind = reader_kind(&p->r);
    if (kind == JSON_NULL) {
        int rc = reader_null(&p->r);
        return rc < 0 ? parse_mistake(p, rc) : payload_set_metadata(p, m, NULL_ENCODING, STR(""));
    }
    if (kind == JSON_OBJECT && payload_is_full(p))
        return parse_object(p, &m->base, STR(""));
    return payload_parse_shorthand(p, m);
}
