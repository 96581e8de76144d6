/* What a callback carries: the outcome of a run as a Nexus completion.
 *
 * A result travels as the content that its encoding names, so that a receiver
 * which knows nothing of payloads can read it; anything else as the payload
 * itself. A failure is a small JSON object with its message. */
#include "core/message/callback_request.h"

#include <ctype.h>

#include "cal/civil.h"
#include "core/message/callback.h"
#include "wire/encode.h"

#define OWN_HEADERS_MAX 6
#define JSON_TYPE "application/json"

struct outcome {
    const char *state;
    const char *type; /* NULL: there is no content */
    struct str body;
};

static struct str payload_metadata(const Common__Payload *p, const char *key) {
    for (size_t i = 0; i < p->n_metadata; i++)
        if (cstr_eq(p->metadata[i]->key, key))
            return pb_bytes(&p->metadata[i]->value);
    return STR("");
}

static bool can_be_quoted(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= ' ' || s.p[i] > '~' || strchr("\"\\", s.p[i]))
            return false;
    return s.n > 0;
}

static struct outcome outcome_packed(struct arena *a, const Common__Payload *p) {
    size_t n = protobuf_c_message_get_packed_size(&p->base);
    uint8_t *bytes = arena_alloc(a, n + 1);
    if (bytes)
        protobuf_c_message_pack(&p->base, bytes);
    return (struct outcome){"succeeded", "application/x-temporal-payload", str_bytes(bytes, n)};
}

static struct outcome outcome_success(struct arena *a, const Common__Payloads *result) {
    const Common__Payload *p = result && result->n_payloads ? result->payloads[0] : NULL;
    if (!p)
        return (struct outcome){.state = "succeeded"};
    struct str encoding = payload_metadata(p, "encoding"), message = payload_metadata(p, "messageType");
    struct outcome o = {"succeeded", NULL, pb_bytes(&p->data)};
    if (p->n_metadata == 1 && str_is(encoding, "binary/null"))
        return o;
    if (p->n_metadata == 1 && str_is(encoding, "json/plain"))
        o.type = JSON_TYPE;
    else if (p->n_metadata == 1 && str_is(encoding, "binary/plain"))
        o.type = "application/octet-stream";
    else if (p->n_metadata == 2 && can_be_quoted(message) && str_is(encoding, "json/protobuf"))
        o.type = arena_printf(a, "application/json; format=protobuf; message-type=\"%.*s\"", (int)message.n,
                              message.p);
    else if (p->n_metadata == 2 && can_be_quoted(message) && str_is(encoding, "binary/protobuf"))
        o.type = arena_printf(a, "application/x-protobuf; message-type=\"%.*s\"", (int)message.n, message.p);
    else
        o = outcome_packed(a, p);
    return o;
}

static struct outcome outcome_failure(struct arena *a, const char *state, const char *message) {
    struct buf b;
    buf_init(&b, 2 * strlen(message) * 6 + 64);
    buf_add_cstr(&b, "{\"message\":\"");
    for (const char *p = message; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_printf(&b, "\\%c", *p);
        else if ((unsigned char)*p < ' ')
            buf_printf(&b, "\\u%04x", (unsigned)(unsigned char)*p);
        else
            buf_add(&b, p, 1);
    }
    buf_add_cstr(&b, "\"}");
    struct outcome o = {state, JSON_TYPE, str_bytes(arena_dup(a, b.data, b.len), b.len)};
    if (!buf_ok(&b))
        o.body = str_bytes(NULL, 1); /* out of memory */
    buf_done(&b);
    return o;
}

static struct outcome outcome_of(struct arena *a, const History__HistoryEvent *close) {
    switch ((int)close->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        return outcome_success(a, close->workflow_execution_completed_event_attributes->result);
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED: {
        const Failure__Failure *f = close->workflow_execution_failed_event_attributes->failure;
        return outcome_failure(a, "failed", f ? f->message : "operation failed");
    }
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        return outcome_failure(a, "canceled", "operation canceled");
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
        return outcome_failure(a, "failed", "operation exceeded internal timeout");
    default:
        return outcome_failure(a, "failed", "operation terminated");
    }
}

/* times */

static const char *format_http_date(struct arena *a, int64_t us) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t s = civil_div(us, USEC_PER_SEC), day = civil_day_of(s), rest = civil_mod(s, CIVIL_DAY_S);
    struct civil_date d = civil_date_of(day);
    return arena_printf(a, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[civil_weekday(day)], d.day,
                        months[d.month - 1], (int)d.year, (int)(rest / CIVIL_HOUR_S),
                        (int)(rest % CIVIL_HOUR_S / CIVIL_MINUTE_S), (int)(rest % CIVIL_MINUTE_S));
}

static const char *format_rfc3339(struct arena *a, int64_t us) {
    int64_t s = civil_div(us, USEC_PER_SEC), rest = civil_mod(s, CIVIL_DAY_S);
    struct civil_date d = civil_date_of(civil_day_of(s));
    return arena_printf(a, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", (int)d.year, d.month, d.day,
                        (int)(rest / CIVIL_HOUR_S), (int)(rest % CIVIL_HOUR_S / CIVIL_MINUTE_S),
                        (int)(rest % CIVIL_MINUTE_S), (int)civil_mod(us, USEC_PER_SEC));
}

/* A part of a path, with whatever could mean something there written as %XX. */
static const char *escape_path_part(struct arena *a, const char *text) {
    static const char hex[] = "0123456789ABCDEF";
    char *out = arena_alloc(a, 3 * strlen(text) + 1), *to = out;
    for (const char *p = text; out && *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (isalnum(c) || strchr("-_.~", c)) {
            *to++ = *p;
        } else {
            *to++ = '%';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    if (out)
        *to = 0;
    return out ? out : "";
}

/* the request */

static bool has_header(const Common__Callback__Nexus *n, const char *name) {
    for (size_t i = 0; i < n->n_header; i++)
        if (cstr_eq(n->header[i]->key, name))
            return true;
    return false;
}

struct writer {
    struct arena *a;
    const Common__Callback__Nexus *nexus;
    struct callback_request *ret;
};

/* What the caller set is not replaced. */
static void request_add_own_header(struct writer *w, const char *name, const char *value) {
    if (value && !has_header(w->nexus, name))
        w->ret->headers[w->ret->header_count++] = (struct callback_header){name, value};
}

int callback_compose(struct arena *a, const State__Execution *st, const char *namespace_name, size_t index,
                     const History__HistoryEvent *close, struct callback_request *ret) {
    const Common__Callback__Nexus *n = st->callbacks[index]->callback->nexus;
    struct outcome o = outcome_of(a, close);
    *ret = (struct callback_request){.url = arena_strdup(a, n->url), .body = o.body};
    ret->headers = arena_array(a, struct callback_header, n->n_header + OWN_HEADERS_MAX);
    if (!ret->headers || (o.body.n && !o.body.p))
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n->n_header; i++)
        ret->headers[ret->header_count++] = (struct callback_header){arena_strdup(a, n->header[i]->key),
                                                                     arena_strdup(a, n->header[i]->value)};
    struct writer w = {a, n, ret};
    request_add_own_header(&w, "nexus-operation-state", o.state);
    request_add_own_header(&w, "content-type", o.type);
    request_add_own_header(&w, "user-agent", "rondo/" RONDO_VERSION);
    request_add_own_header(&w, "nexus-operation-start-time", format_http_date(a, st->start_us));
    request_add_own_header(&w, "nexus-operation-close-time", format_rfc3339(a, st->close_us));
    request_add_own_header(
        &w, "nexus-link",
        arena_printf(a,
                     "<temporal:///namespaces/%s/workflows/%s/%s/history?eventID=1&eventType="
                     "WorkflowExecutionStarted&referenceType=EventReference>; "
                     "type=\"temporal.api.common.v1.Link.WorkflowEvent\"",
                     escape_path_part(a, namespace_name), escape_path_part(a, st->workflow_id), st->run_id));
    return arena_failed(a) ? ERR_NO_MEMORY : 0;
}
