/* The state of callbacks. What they carry is in callback_request.c. */
#include "core/message/callback.h"

#include <ctype.h>
#include <stdio.h>

#define HTTP_SCHEME "http://"
#define HTTP_OK_FIRST 200
#define HTTP_OK_LAST 299
#define HTTP_CLIENT_FIRST 400
#define HTTP_CLIENT_LAST 499
#define HTTP_TIMEOUT 408
#define HTTP_TOO_MANY 429
#define HTTP_NOT_IMPLEMENTED 501

/* the rules */

static bool is_token(const char *s) {
    for (const char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("!#$%&'*+-.^_`|~", *p))
            return false;
    return *s != 0;
}

static bool is_header_value(const char *s) {
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 127)
            return false;
    return true;
}

static int validate_headers(const Common__Callback__Nexus *n, const struct core_limits *limits,
                            struct err *err) {
    int64_t max = limit_of(limits, SETTABLE_CALLBACK_HEADER_BYTES), size = 0;
    for (size_t i = 0; i < n->n_header; i++) {
        if (!is_token(n->header[i]->key) || !is_header_value(n->header[i]->value))
            return err_set(err, ERR_INVALID, "invalid header: not a name and value of an HTTP header");
        size += (int64_t)(strlen(n->header[i]->key) + strlen(n->header[i]->value));
    }
    if (size > max)
        return err_set(err, ERR_INVALID, "invalid header: header size longer than max allowed size of %lld",
                       (long long)max);
    return 0;
}

/* "http://host" and what may follow. Who may be called at all is the operator's choice. */
static int validate_url(const char *url, const struct core_limits *limits, struct err *err) {
    int64_t max = limit_of(limits, SETTABLE_CALLBACK_URL_BYTES);
    if ((int64_t)strlen(url) > max)
        return err_set(err, ERR_INVALID, "invalid url: url length longer than max length allowed of %lld",
                       (long long)max);
    if (!str_starts(str_of(url), STR(HTTP_SCHEME)))
        return err_set(err, ERR_INVALID, "invalid url: unknown scheme: %.200s", url);
    const char *host = url + strlen(HTTP_SCHEME);
    if (!*host || strchr("/?#:", *host))
        return err_set(err, ERR_INVALID, "invalid url: missing host");
    if (!is_header_value(url) || strchr(url, ' '))
        return err_set(err, ERR_INVALID, "invalid url: it holds characters that no address may hold");
    if (!limits || !limits->allows_callbacks)
        return err_set(err, ERR_INVALID,
                       "invalid url: url does not match any configured callback address: %.200s", url);
    return 0;
}

int callback_validate(Common__Callback *const *all, size_t count, const struct core_limits *limits,
                      struct err *err) {
    int64_t max = limit_of(limits, SETTABLE_CALLBACKS);
    if ((int64_t)count > max)
        return err_set(err, ERR_INVALID, "cannot attach more than %lld callbacks to a workflow",
                       (long long)max);
    for (size_t i = 0; i < count; i++) {
        if (all[i]->variant_case != COMMON__CALLBACK__VARIANT_NEXUS)
            return err_set(err, ERR_UNIMPLEMENTED, "unknown callback variant");
        int rc = validate_url(all[i]->nexus->url, limits, err);
        if (rc == 0)
            rc = validate_headers(all[i]->nexus, limits, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* waiting */

static void callback_lower_names(Common__Callback *c) {
    for (size_t i = 0; c && i < c->nexus->n_header; i++)
        for (char *p = c->nexus->header[i]->key; *p; p++)
            *p = (char)tolower((unsigned char)*p);
}

static void callback_add(struct step *s, const Common__Callback *callback, int64_t registered_us,
                         const char *request_id) {
    State__Callback *c = pb_new(&state__callback__descriptor, &s->failed);
    if (!c)
        return;
    pb_set_message(&c->callback, callback, &s->failed);
    callback_lower_names(c->callback);
    pb_set_string(&c->request_id, request_id, &s->failed);
    c->registered_us = registered_us;
    c->state = CALLBACK_STATE_STANDBY;
    pb_append_message(&s->st->n_callbacks, &s->st->callbacks, c, &s->failed);
}

int callback_attach(struct step *s, Common__Callback *const *all, size_t count, const char *request_id) {
    int64_t max = step_limit(s, SETTABLE_CALLBACKS);
    if (count && (int64_t)(s->st->n_callbacks + count) > max)
        return err_set(
            s->err, ERR_INVALID,
            "cannot attach more than %lld callbacks to a workflow (%zu callbacks already attached)",
            (long long)max, s->st->n_callbacks);
    for (size_t i = 0; i < count; i++)
        callback_add(s, all[i], s->now.us, request_id);
    return 0;
}

void callback_inherit(struct step *s, const State__Execution *before) {
    for (size_t i = 0; i < before->n_callbacks; i++) {
        const State__Callback *c = before->callbacks[i];
        callback_add(s, c->callback, c->registered_us, c->request_id);
    }
}

Common__Callback **callback_list(struct step *s) {
    size_t n = s->st->n_callbacks;
    if (s->failed)
        return NULL;
    Common__Callback **all = n ? arena_array(s->arena, Common__Callback *, n) : NULL;
    if (n && !all)
        s->failed = true;
    for (size_t i = 0; all && i < n; i++)
        all[i] = s->st->callbacks[i]->callback;
    return all;
}

/* sending */

static void callback_schedule(struct step *s, size_t index) {
    State__Callback *c = s->st->callbacks[index];
    c->state = CALLBACK_STATE_SCHEDULED;
    c->next_attempt_us = 0;
    step_effect(s, EFFECT_CALLBACK, (int64_t)index);
}

void callback_trigger(struct step *s) {
    const State__Execution *st = s->st;
    if (!cstr_is_empty(st->new_run_id) || !cstr_is_empty(st->reset_run_id))
        return; /* the run that follows will tell */
    for (size_t i = 0; i < st->n_callbacks; i++)
        if (st->callbacks[i]->state == CALLBACK_STATE_STANDBY)
            callback_schedule(s, i);
}

enum callback_verdict callback_judge(int http_status) {
    if (http_status >= HTTP_OK_FIRST && http_status <= HTTP_OK_LAST)
        return CALLBACK_DONE;
    if (http_status == HTTP_TIMEOUT || http_status == HTTP_TOO_MANY)
        return CALLBACK_LATER;
    if (http_status >= HTTP_CLIENT_FIRST && http_status <= HTTP_CLIENT_LAST)
        return CALLBACK_NEVER;
    return http_status == HTTP_NOT_IMPLEMENTED ? CALLBACK_NEVER : CALLBACK_LATER;
}

static int64_t callback_wait_us(int32_t attempt) {
    int64_t wait = LIMIT_CALLBACK_RETRY_INITIAL_MS;
    for (int32_t i = 1; i < attempt && wait < LIMIT_CALLBACK_RETRY_MAX_MS; i++)
        wait *= 2;
    return MIN(wait, LIMIT_CALLBACK_RETRY_MAX_MS) * USEC_PER_MS;
}

static void callback_note_failure(struct step *s, State__Callback *c, const char *text, bool is_final) {
    Failure__ApplicationFailureInfo info = FAILURE__APPLICATION_FAILURE_INFO__INIT;
    Failure__Failure f = FAILURE__FAILURE__INIT;
    f.message = arena_strdup(s->arena, text); /* a stranger's words */
    if (!f.message) {
        s->failed = true;
        return;
    }
    utf8_mend(f.message);
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    f.application_failure_info = &info;
    info.non_retryable = is_final;
    pb_set_message(&c->last_failure, &f, &s->failed);
}

void callback_report(struct step *s, size_t index, enum callback_verdict verdict, const char *text) {
    State__Callback *c = index < s->st->n_callbacks ? s->st->callbacks[index] : NULL;
    if (!c || c->state != CALLBACK_STATE_SCHEDULED)
        return;
    c->attempt++;
    c->last_attempt_us = s->now.us;
    switch (verdict) {
    case CALLBACK_DONE:
        c->state = CALLBACK_STATE_SUCCEEDED;
        pb_set_message(&c->last_failure, NULL, &s->failed);
        break;
    case CALLBACK_NEVER:
        c->state = CALLBACK_STATE_FAILED;
        callback_note_failure(s, c, text, true);
        break;
    case CALLBACK_LATER:
        c->state = CALLBACK_STATE_BACKING_OFF;
        c->next_attempt_us = usec_add(s->now.us, callback_wait_us(c->attempt));
        callback_note_failure(s, c, text, false);
        break;
    }
}

int64_t callback_due_us(const State__Callback *c) {
    return c->state == CALLBACK_STATE_BACKING_OFF ? c->next_attempt_us : CLOCK_NEVER;
}

void callback_retry(struct step *s, size_t index) {
    callback_schedule(s, index);
}
