/* JSON values and payloads.
 *
 * A payload of the encoding json/plain is JSON text and is passed through as
 * it was written. Other encodings are shown as the HTTP API shows them. A
 * value that cannot be written marks the output as failed; an input that
 * cannot be read is a complaint. */
#include "mistral/payload.h"

#include "json/base64.h"
#include "json/json.h"

#define PAYLOAD_BYTES_MAX (64u << 20)

static Common__Payload *payload_new(struct arena *a, struct str data, const char *encoding) {
    Common__Payload *p = dialog_new_message(a, &common__payload__descriptor);
    Common__Payload__MetadataEntry **all = arena_array(a, Common__Payload__MetadataEntry *, 1);
    Common__Payload__MetadataEntry *m = dialog_new_message(a, &common__payload__metadata_entry__descriptor);
    if (!p || !all || !m)
        return NULL;
    m->key = arena_strdup(a, "encoding");
    m->value.len = strlen(encoding);
    m->value.data = arena_dup(a, encoding, m->value.len);
    all[0] = m;
    p->metadata = all;
    p->n_metadata = 1;
    p->data.len = data.n;
    p->data.data = arena_dup(a, data.n ? data.p : "", data.n);
    return p;
}

static Common__Payloads *payload_wrap_one(struct arena *a, Common__Payload *p) {
    Common__Payloads *all = p ? dialog_new_message(a, &common__payloads__descriptor) : NULL;
    if (!all || !(all->payloads = arena_array(a, Common__Payload *, 1)))
        return NULL;
    all->payloads[all->n_payloads++] = p;
    return all;
}

Common__Payloads *payload_from_json(struct arena *a, struct field_value json) {
    if (!json.is_given || str_is(json.text, "null"))
        return NULL;
    return payload_wrap_one(a, payload_new(a, json.text, "json/plain"));
}

Common__Payloads *payload_from_text(struct arena *a, struct field_value text) {
    struct buf json cleanup(buf_done);
    struct json_writer w;
    buf_init(&json, PAYLOAD_BYTES_MAX);
    if (!text.is_given)
        return NULL;
    writer_init(&w, &json, false);
    writer_string(&w, text.text);
    return buf_ok(&json) ? payload_wrap_one(a, payload_new(a, buf_str(&json), "json/plain")) : NULL;
}

static bool payload_has_member(struct arena *a, struct str json, const char *name) {
    struct json_reader r;
    struct json_items items;
    struct str key;
    bool has_more;
    reader_init(&r, json);
    if (reader_kind(&r) != JSON_OBJECT || reader_enter(&r, &items) < 0)
        return false;
    while (reader_next(&r, &items, &has_more) == 0 && has_more) {
        if (reader_key(&r, a, &key) < 0)
            return false;
        if (str_is(key, name))
            return true;
        if (reader_skip(&r, NULL) < 0)
            return false;
    }
    return false;
}

/* Without encoding options the bytes are the argument as JSON. With options (encryption, compression, storage
 * elsewhere) only the worker's codec can read them: the bytes are passed on, and the encoding names the
 * options. */
static bool payload_read_encoded(struct dialog *x, const char *place, struct str json,
                                 Common__Payloads **ret) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = str_of(place)};
    struct place bytes_at = {.up = &at, .name = STR("b64payload")};
    struct str bytes;
    size_t before = x->complaints.count;
    const struct record *r = shape_read(&x->complaints, &shape_encoded_input, json, str_of(place));
    if (!r || x->complaints.count > before)
        return false;
    const struct field_value *v = r->v;
    if (v[encoded_input_empty].truth)
        return true;
    if (base64_read(&x->arena, v[encoded_input_b64payload].text, &bytes) < 0) {
        complaints_add(&x->complaints, &bytes_at, "value_error", "Value error, this is not base64");
        return false;
    }
    if (!v[encoded_input_encoding_options].count) {
        struct field_value plain = {.is_given = true, .text = bytes};
        *ret = payload_from_json(&x->arena, plain);
        return true;
    }
    struct buf encoding cleanup(buf_done);
    buf_init(&encoding, ERR_TEXT_MAX);
    buf_add_cstr(&encoding, "mistral/");
    for (size_t i = 0; i < v[encoded_input_encoding_options].count; i++) {
        if (i)
            buf_add_u8(&encoding, '+');
        buf_add_str(&encoding, v[encoded_input_encoding_options].texts[i]);
    }
    buf_add_u8(&encoding, 0);
    if (!buf_ok(&encoding)) {
        complaints_add(&x->complaints, &at, "too_long", "There are too many encoding options");
        return false;
    }
    *ret = payload_wrap_one(&x->arena, payload_new(&x->arena, bytes, (const char *)encoding.data));
    return true;
}

bool payload_read_input(struct dialog *x, const char *place, struct field_value input,
                        Common__Payloads **ret) {
    *ret = NULL;
    if (input.is_given && payload_has_member(&x->arena, input.text, "b64payload"))
        return payload_read_encoded(x, place, input.text, ret);
    *ret = payload_from_json(&x->arena, input);
    return true;
}

static void payload_write_one(struct json_writer *w, const Common__Payload *p) {
    struct buf text cleanup(buf_done);
    struct err e;
    buf_init(&text, PAYLOAD_BYTES_MAX);
    bool is_whole = json_print(&text, &p->base, (struct json_style){.has_shorthand = true}, &e) == 0;
    bool is_null = p->n_metadata == 1 && !p->data.len && p->metadata[0]->value.len == strlen("binary/null");
    if (is_null)
        writer_token(w, STR("null"));
    else if (is_whole && buf_ok(&text))
        writer_token(w, buf_str(&text));
    else
        w->out->failed = true;
}

void payload_write(struct json_writer *w, const Common__Payloads *p) {
    size_t n = p ? p->n_payloads : 0;
    if (n == 0)
        writer_token(w, STR("null"));
    if (n > 1)
        writer_open(w, '[');
    for (size_t i = 0; i < n; i++)
        payload_write_one(w, p->payloads[i]);
    if (n > 1)
        writer_close(w, ']');
}
