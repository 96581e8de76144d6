/* google.protobuf.Any: a packed message and the name of its type.
 *
 * A type of proto/ is printed as its fields after "@type" or, when it has a JSON form of its own, as "value".
 * A type that is not in proto/ keeps its bytes, as base64 in "value". Parsing fails with ERR_INVALID and the
 * path, and with ERR_NO_MEMORY. */
#include "google/protobuf/any.pb-c.h"

#include "json/base64.h"
#include "json/json_int.h"
#include "wire/guard.h"

#define TYPE_KEY "@type"
#define VALUE_KEY "value"
#define UNPACKED_BYTES_MAX (64u << 20) /* enough for nearly every message of the largest size */

/* The type with the name behind the last slash; NULL when unknown. */
static const ProtobufCMessageDescriptor *any_type_of_url(struct str url) {
    size_t begin = url.n;
    while (begin > 0 && url.p[begin - 1] != '/')
        begin--;
    return begin == 0 ? NULL : shape_type(str_bytes(url.p + begin, url.n - begin));
}

static void any_print_known(struct printer *p, const ProtobufCMessage *inner) {
    if (shape_of(inner->descriptor) == SHAPE_OBJECT) {
        if (p->depth > WIRE_DEPTH_MAX)
            print_failed(p, inner, "messages are nested too deeply");
        else
            print_members(p, inner);
        return;
    }
    writer_key(&p->w, STR(VALUE_KEY));
    print_message(p, inner);
}

void any_print(struct printer *p, const ProtobufCMessage *m) {
    const Google__Protobuf__Any *any = (const void *)m;
    struct str bytes = str_bytes(any->value.data, any->value.len);
    struct arena a cleanup(arena_done);
    ProtobufCMessage *inner;

    arena_init(&a, UNPACKED_BYTES_MAX);
    const ProtobufCMessageDescriptor *d = any_type_of_url(str_of(any->type_url));
    writer_open(&p->w, '{');
    if (!cstr_is_empty(any->type_url)) {
        writer_key(&p->w, STR(TYPE_KEY));
        writer_string(&p->w, str_of(any->type_url));
    }
    if (d && wire_decode(d, bytes, &a, &inner, NULL) == 0) {
        any_print_known(p, inner);
    } else if (arena_failed(&a)) {
        p->w.out->failed = true;
    } else if (bytes.n) {
        writer_key(&p->w, STR(VALUE_KEY));
        writer_bytes(&p->w, bytes);
    }
    writer_close(&p->w, '}');
}

/* "@type" can be anywhere in the object: a copy of the reader looks for it. */
static int any_find_type(struct parser *p, struct str *ret_url) {
    struct json_reader ahead = p->r;
    struct json_items items;
    struct str name;
    bool has_more;
    *ret_url = STR("");
    if (reader_kind(&ahead) != JSON_OBJECT)
        return parse_refuse(p, "expected an object");
    int rc = reader_enter(&ahead, &items);
    while (rc == 0 && (rc = reader_next(&ahead, &items, &has_more)) == 0 && has_more) {
        if ((rc = reader_key(&ahead, p->a, &name)) < 0)
            break;
        if (!str_is(name, TYPE_KEY))
            rc = reader_skip(&ahead, NULL);
        else if (reader_kind(&ahead) != JSON_STRING)
            return parse_refuse(p, "\"@type\" must be a string");
        else
            rc = reader_string(&ahead, p->a, ret_url);
    }
    if (rc == 0)
        return 0;
    p->r = ahead;
    return parse_mistake(p, rc);
}

static int any_parse_bytes(struct parser *p, ProtobufCBinaryData *ret) {
    struct scalar s;
    struct str bytes;
    int rc = scalar_read(p, &s);
    if (rc < 0)
        return rc;
    rc = s.source == SCALAR_STRING ? base64_read(p->a, s.text, &bytes) : ERR_INVALID;
    if (rc == ERR_NO_MEMORY)
        return parse_no_memory(p);
    if (rc < 0)
        return parse_refuse(p, "the type is not known: \"value\" must be its bytes in base64");
    ret->len = bytes.n;
    ret->data = arena_dup(p->a, bytes.p, bytes.n);
    return ret->data ? 0 : parse_no_memory(p);
}

static int any_pack_message(struct parser *p, const ProtobufCMessage *m, ProtobufCBinaryData *ret) {
    ret->len = protobuf_c_message_get_packed_size(m);
    ret->data = arena_alloc(p->a, ret->len);
    if (!ret->data)
        return parse_no_memory(p);
    (void)protobuf_c_message_pack(m, ret->data); /* the size is known */
    return 0;
}

/* {"@type": ..., "value": ...}: parses the value as `inner`, or as bytes when the type is unknown. */
static int any_parse_value(struct parser *p, ProtobufCMessage *inner, ProtobufCBinaryData *ret) {
    struct json_items items;
    struct str name;
    bool has_more, has_value = false;
    int rc = reader_enter(&p->r, &items);
    while (rc == 0 && (rc = reader_next(&p->r, &items, &has_more)) == 0 && has_more) {
        if ((rc = reader_key(&p->r, p->a, &name)) < 0)
            break;
        if (str_is(name, TYPE_KEY)) {
            rc = reader_skip(&p->r, NULL);
            continue;
        }
        struct parse_step step = {.up = p->path, .name = name};
        p->path = &step;
        if (!str_is(name, VALUE_KEY) || has_value)
            return parse_refuse(p, has_value ? "given twice" : "unknown field");
        has_value = true;
        int rc_value = inner ? parse_message(p, inner) : any_parse_bytes(p, ret);
        p->path = step.up;
        if (rc_value < 0)
            return rc_value;
    }
    return rc < 0 ? parse_mistake(p, rc) : 0;
}

int any_parse(struct parser *p, ProtobufCMessage *m) {
    Google__Protobuf__Any *any = (void *)m;
    ProtobufCMessage *inner = NULL;
    struct str url;
    int rc = any_find_type(p, &url);
    if (rc < 0)
        return rc;
    any->type_url = arena_strndup(p->a, url.p, url.n);
    if (!any->type_url)
        return parse_no_memory(p);
    const ProtobufCMessageDescriptor *d = any_type_of_url(url);
    if (d && (rc = parse_new(p, d, &inner)) < 0)
        return rc;
    if (d && shape_of(d) == SHAPE_OBJECT)
        rc = parse_object(p, inner, STR(TYPE_KEY));
    else
        rc = any_parse_value(p, inner, &any->value);
    return rc == 0 && inner ? any_pack_message(p, inner, &any->value) : rc;
}
