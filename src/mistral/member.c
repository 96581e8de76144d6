/* Members of JSON answers, and tokens of pages.
 *
 * Each function writes one key and its value into the open object. Nothing
 * fails here: the writer's buffer remembers a failure. */
#include "mistral/member.h"

#include <stdio.h>

#include "json/base64.h"
#include "json/moment.h"

#define SEC_PER_DAY 86400
#define SEC_PER_HOUR 3600
#define SEC_PER_MINUTE 60

void member_write_raw(struct json_writer *w, const char *key, const char *json) {
    writer_key(w, str_of(key));
    writer_token(w, str_of(json));
}

void member_write_null(struct json_writer *w, const char *key) {
    member_write_raw(w, key, "null");
}

void member_write_text(struct json_writer *w, const char *key, const char *text) {
    if (cstr_is_empty(text)) {
        member_write_null(w, key);
        return;
    }
    writer_key(w, str_of(key));
    writer_string(w, str_of(text));
}

void member_write_whole(struct json_writer *w, const char *key, int64_t n) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    member_write_raw(w, key, text);
}

void member_write_bool(struct json_writer *w, const char *key, bool is_true) {
    member_write_raw(w, key, is_true ? "true" : "false");
}

void member_write_token(struct json_writer *w, const char *key, struct str token) {
    struct buf text cleanup(buf_done);
    buf_init(&text, UINT16_MAX);
    base64_add(&text, token);
    writer_key(w, str_of(key));
    if (text.len)
        writer_string(w, buf_str(&text));
    else
        writer_token(w, STR("null"));
}

bool member_read_token(struct dialog *x, const char *place, const struct field_value *given,
                       ProtobufCBinaryData *ret) {
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

void member_write_time(struct json_writer *w, const char *key, const Google__Protobuf__Timestamp *t) {
    char text[MOMENT_TEXT_MAX];
    if (!t || moment_format(t->seconds, t->nanos, text) < 0)
        member_write_null(w, key);
    else
        member_write_text(w, key, text);
}

/* ISO 8601, as in P1DT2H or PT0.500000S; days are 24 hours. */
void member_write_duration(struct json_writer *w, const char *key, int64_t us) {
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
    member_write_text(w, key, text);
}
