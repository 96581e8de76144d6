/* Lines into steps, and answers into what can be compared. */
#include "script.h"

#include <stdio.h>

#define UUID_LEN 36

/* lines */

static struct str take_word(struct str *rest) {
    const char *end = memchr(rest->p, ' ', rest->n);
    size_t n = end ? (size_t)(end - rest->p) : rest->n;
    struct str word = str_bytes(rest->p, n);
    *rest = end ? str_bytes(end + 1, rest->n - n - 1) : str_bytes(rest->p + n, 0);
    return word;
}

static bool step_parse(struct step *ret, struct str line) {
    struct str kind = take_word(&line);
    *ret = (struct step){.method = take_word(&line)};
    if (str_is(kind, "grpc"))
        ret->kind = STEP_GRPC;
    else if (str_is(kind, "http"))
        ret->kind = STEP_HTTP;
    else if (str_is(kind, "look"))
        ret->kind = STEP_LOOK;
    else if (str_is(kind, "once"))
        ret->kind = STEP_ONCE;
    else
        return false;
    if (ret->kind != STEP_GRPC)
        ret->path = take_word(&line);
    ret->body = line;
    return ret->method.n > 0;
}

bool script_parse(struct script *s, struct str text) {
    *s = (struct script){0};
    while (text.n) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        struct str line = str_bytes(text.p, n);
        text = str_bytes(text.p + MIN(n + 1, text.n), text.n - MIN(n + 1, text.n));
        if (line.n == 0 || line.p[0] == '#')
            continue;
        if (s->count == STEPS_MAX || !step_parse(&s->steps[s->count++], line))
            return false;
    }
    return s->count > 0;
}

/* what answers name */

static void note(struct str answer, const char *key, char value[VALUE_BYTES_MAX]) {
    char mark[64];
    int n = snprintf(mark, sizeof(mark), "\"%s\":\"", key);
    const char *at = memmem(answer.p, answer.n, mark, (size_t)n);
    if (!at)
        return;
    at += n;
    const char *end = memchr(at, '"', answer.n - (size_t)(at - answer.p));
    if (end && end > at && (size_t)(end - at) < VALUE_BYTES_MAX)
        (void)snprintf(value, VALUE_BYTES_MAX, "%.*s", (int)(end - at), at);
}

void memory_note(struct memory *m, struct str answer) {
    if (!answer.n)
        return;
    note(answer, "runId", m->run);
    note(answer, "taskToken", m->task);
    note(answer, "nextPageToken", m->page);
}

bool memory_is_asked_for(struct str text, const char *sign) {
    return memmem(text.p, text.n, sign, strlen(sign)) != NULL;
}

void memory_fill(const struct memory *m, struct str text, struct buf *out) {
    const struct {
        struct str sign;
        const char *value;
    } signs[] = {{STR("@run"), m->run}, {STR("@task"), m->task}, {STR("@page"), m->page}};
    while (text.n) {
        size_t taken = 1;
        for (size_t i = 0; i < ARRAY_LEN(signs) && taken == 1; i++)
            if (str_starts(text, signs[i].sign)) {
                buf_add_cstr(out, signs[i].value);
                taken = signs[i].sign.n;
            }
        if (taken == 1)
            buf_add_u8(out, (uint8_t)text.p[0]);
        text = str_bytes(text.p + taken, text.n - taken);
    }
}

/* what can be compared */

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_uuid(struct str s) {
    if (s.n < UUID_LEN)
        return false;
    for (size_t i = 0; i < UUID_LEN; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? s.p[i] != '-' : !is_hex(s.p[i]))
            return false;
    return true;
}

/* Digits, and what stands between those of a time. */
static size_t number_len(struct str s) {
    size_t n = 0;
    if (s.p[0] < '0' || s.p[0] > '9')
        return 0;
    while (n < s.n && ((s.p[n] >= '0' && s.p[n] <= '9') || strchr(".:-TZ", s.p[n])))
        n++;
    return n;
}

static size_t token_len(struct str s) {
    static const struct str marks[] = {STR("Token\":\""), STR("_token\":\"")};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *end = str_starts(s, marks[i]) ? memchr(s.p + marks[i].n, '"', s.n - marks[i].n) : NULL;
        if (end)
            return (size_t)(end - s.p);
    }
    return 0;
}

static size_t volatile_len(struct str s) {
    return is_uuid(s) ? UUID_LEN : MAX(number_len(s), token_len(s));
}

void answer_mask(struct str answer, struct buf *out) {
    while (answer.n) {
        size_t n = volatile_len(answer);
        buf_add_u8(out, n ? '#' : (uint8_t)answer.p[0]);
        n = MAX(n, (size_t)1);
        answer = str_bytes(answer.p + n, answer.n - n);
    }
}
