/* Payloads of the encoding json/plain are JSON text, and the others are shown as the HTTP API shows them. */
#include "mistral/payload.h"

#include <stdio.h>

#include "json/base64.h"
#include "json/json.h"
#include "json/moment.h"

#define PAYLOAD_BYTES_MAX (64u << 20)
#define SEC_PER_DAY 86400
#define SEC_PER_HOUR 3600
#define SEC_PER_MINUTE 60

static Common__Payload *payload_new(struct arena *a, struct str data, const char *encoding) {
    Common__Payload *p = message_new(a, &common__payload__descriptor);
    Common__Payload__MetadataEntry **all = arena_array(a, Common__Payload__MetadataEntry *, 1);
    Common__Payload__MetadataEntry *m = message_new(a, &common__payload__metadata_entry__descriptor);
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

static Common__Payloads *payloads_of(struct arena *a, Common__Payload *p) {
    Common__Payloads *all = p ? message_new(a, &common__payloads__descriptor) : NULL;
    if (!all || !(all->payloads = arena_array(a, Common__Payload *, 1)))
        return NULL;
    all->payloads[all->n_payloads++] = p;
    return all;
}

Common__Payloads *payload_input(struct arena *a, struct given input) {
    if (!input.is_given || str_is(input.text, "null"))
        return NULL;
    return payloads_of(a, payload_new(a, input.text, "json/plain"));
}

Common__Payloads *payload_words(struct arena *a, struct given text) {
    struct buf json cleanup(buf_done);
    struct json_writer w;
    buf_init(&json, PAYLOAD_BYTES_MAX);
    if (!text.is_given)
        return NULL;
    writer_init(&w, &json, false);
    writer_string(&w, text.text);
    return buf_ok(&json) ? payloads_of(a, payload_new(a, buf_str(&json), "json/plain")) : NULL;
}

/* Whether an object has a member of this name. */
static bool has_member(struct arena *a, struct str json, const char *name) {
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

/* The bytes are the argument as JSON; what is encrypted, compressed or kept elsewhere only its codec can
 * read, so it goes on as bytes and says how it was encoded. */
static bool encoded_input(struct dialog *x, const char *place, struct str json, Common__Payloads **ret) {
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = str_of(place)};
    struct place bytes_at = {.up = &at, .name = STR("b64payload")};
    struct str bytes;
    size_t before = x->complaints.count;
    const struct record *r = shape_read(&x->complaints, &shape_encoded_input, json, str_of(place));
    if (!r || x->complaints.count > before)
        return false;
    const struct given *v = r->v;
    if (v[encoded_input_empty].truth)
        return true;
    if (base64_read(&x->arena, v[encoded_input_b64payload].text, &bytes) < 0) {
        complaints_add(&x->complaints, &bytes_at, "value_error", "Value error, this is not base64");
        return false;
    }
    if (!v[encoded_input_encoding_options].count) {
        struct given plain = {.is_given = true, .text = bytes};
        *ret = payload_input(&x->arena, plain);
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
    *ret = payloads_of(&x->arena, payload_new(&x->arena, bytes, (const char *)encoding.data));
    return true;
}

bool payload_message(struct dialog *x, const char *place, struct given input, Common__Payloads **ret) {
    *ret = NULL;
    if (input.is_given && has_member(&x->arena, input.text, "b64payload"))
        return encoded_input(x, place, input.text, ret);
    *ret = payload_input(&x->arena, input);
    return true;
}

void payload_write_one(struct json_writer *w, const Common__Payload *p) {
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

/* Members. */

void write_raw(struct json_writer *w, const char *key, const char *json) {
    writer_key(w, str_of(key));
    writer_token(w, str_of(json));
}

void write_null(struct json_writer *w, const char *key) {
    write_raw(w, key, "null");
}

void write_text(struct json_writer *w, const char *key, const char *text) {
    if (strempty(text)) {
        write_null(w, key);
        return;
    }
    writer_key(w, str_of(key));
    writer_string(w, str_of(text));
}

void write_whole(struct json_writer *w, const char *key, int64_t n) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    write_raw(w, key, text);
}

void write_bool(struct json_writer *w, const char *key, bool is_true) {
    write_raw(w, key, is_true ? "true" : "false");
}

void write_token(struct json_writer *w, const char *key, struct str token) {
    struct buf text cleanup(buf_done);
    buf_init(&text, UINT16_MAX);
    base64_add(&text, token);
    writer_key(w, str_of(key));
    if (text.len)
        writer_string(w, buf_str(&text));
    else
        writer_token(w, STR("null"));
}

bool read_token(struct dialog *x, const char *place, const struct given *given, ProtobufCBinaryData *ret) {
    struct place query = {.name = STR("query")}, at = {.up = &query, .name = str_of(place)};
    struct str token;
    if (!given->is_given)
        return true;
    if (base64_read(&x->arena, given->text, &token) < 0) {
        complaints_add(&x->complaints, &at, "value_error", "Value error, this is no token of a page");
        return false;
    }
    ret->len = token.n;
    ret->data = arena_dup(&x->arena, token.n ? token.p : "", token.n);
    return true;
}

void write_time(struct json_writer *w, const char *key, const Google__Protobuf__Timestamp *t) {
    char text[MOMENT_TEXT_MAX];
    if (!t || moment_format(t->seconds, t->nanos, text) < 0)
        write_null(w, key);
    else
        write_text(w, key, text);
}

void write_span(struct json_writer *w, const char *key, int64_t us) {
    char text[96] = "P", fraction[16] = "";
    size_t n = 1;
    int64_t s = us / USEC_PER_SEC, days = s / SEC_PER_DAY;
    if (days)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%lldD", (long long)days);
    s %= SEC_PER_DAY;
    if (s || us % USEC_PER_SEC || !days)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "T");
    if (s / SEC_PER_HOUR)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%lldH", (long long)(s / SEC_PER_HOUR));
    if (s % SEC_PER_HOUR / SEC_PER_MINUTE)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%lldM",
                              (long long)(s % SEC_PER_HOUR / SEC_PER_MINUTE));
    if (us % USEC_PER_SEC)
        (void)snprintf(fraction, sizeof(fraction), ".%06lld", (long long)(us % USEC_PER_SEC));
    if (s % SEC_PER_MINUTE || us % USEC_PER_SEC || us == 0)
        (void)snprintf(text + n, sizeof(text) - n, "%lld%sS", (long long)(s % SEC_PER_MINUTE), fraction);
    write_text(w, key, text);
}
