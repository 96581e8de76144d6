/* From an HTTP request to a call of a method, and from its answer to JSON.
 *
 * Happy path: find the row, make the request from the body, the path and the
 * query, hand it to the method's handler. If that has ended the call when it
 * returns, the answer goes out at once; otherwise the HTTP request is taken and
 * answered when the engine ends the call.
 *
 * Everything that fails is a google.rpc.Status as JSON with the HTTP status that
 * fits. A peer that goes away cancels its call.
 *
 * Memory of a call may be in use by the engine until it returns to the loop, so
 * calls are freed at the end of the turn. */
#include "serve/api.h"

#include "base/mem.h"
#include "json/json.h"
#include "net/path.h"
#include "net/query.h"
#include "rpc.pb-c.h"
#include "serve/ingress.h"
#include "serve/routes.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "wire/status.h"

#define CALL_BUDGET ((16u << 20) + (256u << 10)) /* as for a gRPC request */
#define ANSWER_BUDGET ((size_t)256 << 20) /* what an answer of the largest size unfolds to */
#define STATUS_BUDGET (1u << 20)
#define HTTP_NOT_ALLOWED 405

struct api_call {
    struct ingress_call ingress;
    struct list link; /* api.waiting or api.ended */
    struct arena arena;
    struct api *api;
    struct json_style style;
    struct http1_response *resp; /* the handler's while it runs, then &own */
    struct http1_response own;
    struct http1_later *later; /* NULL while the handler runs */
};

static struct api_call *api_call_of(struct ingress_call *k) {
    return container_of(k, struct api_call, ingress);
}

/* Answers. */

static bool api_try_print(struct buf *out, const ProtobufCMessage *m, struct json_style style) {
    size_t begin = out->len;
    if (json_print(out, m, style, NULL) == 0)
        return true;
    buf_truncate(out, begin);
    return false;
}

/* The status as JSON; when memory is short without its details. */
static void api_print_status(struct buf *out, const struct err *e, struct json_style style) {
    struct arena a cleanup(arena_done);
    ProtobufCMessage *m = NULL;
    Rpc__Status plain = RPC__STATUS__INIT;
    union {
        const char *text;
        char *field;
    } message = {.text = e->text};
    arena_init(&a, STATUS_BUDGET);
    plain.code = (int32_t)status_code(e);
    plain.message = message.field;
    struct str packed = status_details(&a, e);
    if (!packed.n || wire_decode(&rpc__status__descriptor, packed, &a, &m, NULL) < 0)
        m = &plain.base;
    if (!api_try_print(out, m, style))
        (void)api_try_print(out, &plain.base, style); /* it holds nothing that could fail */
    buf_add_u8(out, '\n');
}

static void api_fill_error(struct http1_response *resp, const struct err *e, struct json_style style) {
    buf_clear(&resp->body);
    resp->status = status_http(e);
    api_print_status(&resp->body, e, style);
}

/* The body of resp is filled in: the HTTP handler sends it when it returns, or it is sent here. */
static void api_send(struct ingress_call *k) {
    struct api_call *x = api_call_of(k);
    list_remove(&x->link);
    list_append(&x->api->ended, &x->link);
    if (x->later)
        http1_answer(take(&x->later), x->resp);
}

/* The handler's response while it runs; later one of the call's own. */
static struct http1_response *api_begin_answer(struct api_call *x) {
    if (x->later && !x->resp) {
        http1_response_init(&x->own);
        x->resp = &x->own;
    }
    return x->resp;
}

static void api_fail(struct ingress_call *k, const struct err *e) {
    struct api_call *x = api_call_of(k);
    api_fill_error(api_begin_answer(x), e, x->style);
    api_send(k);
}

/* The message and its packed tail as one message, which lives in the arena. */
static int api_join_tail(const ProtobufCMessage *m, struct str tail, struct arena *a, ProtobufCMessage **ret,
                         struct err *reterr) {
    struct buf packed cleanup(buf_done);
    buf_init(&packed, ANSWER_BUDGET);
    wire_encode(&packed, m);
    buf_add_str(&packed, tail);
    if (!buf_ok(&packed))
        return err_std(reterr, ERR_NO_MEMORY);
    return wire_decode(m->descriptor, buf_str(&packed), a, ret, reterr);
}

static int api_print_answer(struct api_call *k, struct buf *out, const ProtobufCMessage *m, struct str tail,
                            struct err *reterr) {
    struct arena a cleanup(arena_done);
    ProtobufCMessage *joined;
    arena_init(&a, ANSWER_BUDGET);
    if (tail.n) {
        int rc = api_join_tail(m, tail, &a, &joined, reterr);
        if (rc < 0)
            return rc;
        m = joined;
    }
    int rc = json_print(out, m, k->style, reterr);
    buf_add_u8(out, '\n');
    return rc == 0 && !buf_ok(out) ? err_std(reterr, ERR_NO_MEMORY) : rc;
}

static int api_translate(struct ingress_call *k, const ProtobufCMessage *m, struct str tail,
                         struct err *reterr) {
    struct api_call *x = api_call_of(k);
    return api_print_answer(x, &api_begin_answer(x)->body, m, tail, reterr);
}

static const struct ingress_translator api_translator = {
    .origin = INGRESS_HTTP, .translate = api_translate, .send = api_send, .fail = api_fail};

/* Requests. */

static int api_set_path(const struct route *route, struct str url, ProtobufCMessage *m, struct arena *a,
                        struct err *reterr) {
    struct str path = str_of(route->path), name, text, value;
    while (path_next_variable(&path, &url, &name, &text)) {
        int rc = query_decode(a, text, false, &value, reterr);
        if (rc == 0)
            rc = json_set(m, name, value, JSON_SET_OVER, a, reterr);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* These say how the answer should look, and belong to no field. */
static bool api_is_style_parameter(struct str name) {
    return str_is(name, "pretty") || str_is(name, "noPayloadShorthand");
}

/* Temporal's gateway passes over parameters that its messages do not have, and pages that were written for it
 * count on that. */
static bool api_is_ignored_parameter(const struct route *route, const ProtobufCMessage *m, struct str name) {
    return api_is_style_parameter(name) || (!route->is_own && !json_has_field(m->descriptor, name));
}

static int api_set_query(const struct route *route, struct str query, ProtobufCMessage *m, struct arena *a,
                         struct err *reterr) {
    struct str raw_name, raw_value, name, value;
    if (route->has_body && !route->is_own)
        return 0; /* the gateway does not look at them */
    while (query_next(&query, &raw_name, &raw_value)) {
        int rc = query_decode(a, raw_name, true, &name, reterr);
        if (rc == 0)
            rc = query_decode(a, raw_value, true, &value, reterr);
        if (rc < 0)
            return rc;
        if (api_is_ignored_parameter(route, m, name))
            continue;
        if (route->has_body)
            return err_set(reterr, ERR_INVALID,
                           "%.*s: this call takes its fields in the body, not in the URL",
                           (int)MIN(name.n, ERR_TEXT_MAX / 4), name.p);
        rc = json_set(m, name, value, JSON_SET_ONCE, a, reterr);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool api_header_contains(const struct http1_request *q, const char *header, const char *suffix) {
    struct str value = http1_header(q, header);
    return value.n && memmem(value.p, value.n, suffix, strlen(suffix));
}

/* Temporal's Web UI sends this header with every call. It sends and reads payloads in full without saying so,
 * because its own server, which usually stands in between, has no shorthand. */
static bool api_is_web_ui(const struct http1_request *q) {
    return str_is(http1_header(q, "Caller-Type"), "operator");
}

static struct json_style api_read_style(const struct http1_request *q) {
    return (struct json_style){
        .is_pretty = query_has(q->query, "pretty") || api_header_contains(q, "Accept", "+pretty"),
        .has_shorthand = !query_has(q->query, "noPayloadShorthand") &&
                         !api_header_contains(q, "Accept", "+no-payload-shorthand") && !api_is_web_ui(q),
    };
}

static int api_make_request(struct api_call *k, const struct route *route, const struct http1_request *q,
                            ProtobufCMessage **ret, struct err *reterr) {
    bool has_text = route->has_body && q->body.n > 0;
    bool has_shorthand =
        !api_header_contains(q, "Content-Type", "+no-payload-shorthand") && !api_is_web_ui(q);
    int rc = json_parse(k->ingress.method->request, has_text ? q->body : STR("{}"), has_shorthand, &k->arena,
                        ret, reterr);
    if (rc == 0)
        rc = api_set_query(route, q->query, *ret, &k->arena, reterr);
    if (rc == 0)
        rc = api_set_path(route, q->path, *ret, &k->arena, reterr);
    if (rc < 0)
        return rc;
    return ingress_check_size(&k->ingress, *ret, reterr);
}

/* Calls. */

static void api_call_free(struct api_call *k) {
    list_remove(&k->link);
    arena_done(&k->arena);
    mem_free(k);
}

static void api_on_gone(void *ctx) {
    struct api_call *k = ctx;
    k->later = NULL;
    list_remove(&k->link);
    list_append(&k->api->ended, &k->link);
    ingress_cancel(&k->ingress);
}

static struct api_call *api_call_new(struct api *api, const struct method *method) {
    struct api_call *k = mem_zalloc(sizeof(*k));
    if (!k)
        return NULL;
    arena_init(&k->arena, CALL_BUDGET);
    ingress_begin(api->ingress, &k->ingress, &api_translator, method, &k->arena);
    k->ingress.call.reads_unwritten = true;
    k->api = api;
    list_append(&api->waiting, &k->link);
    return k;
}

static int api_prepare_call(struct api_call *k, const struct route *route, const struct http1_request *q,
                            ProtobufCMessage **ret, struct err *reterr) {
    if (k->ingress.method->kind != METHOD_UNARY && !http1_can_wait(q))
        return err_set(reterr, ERR_FULL, "Too many HTTP calls are waiting, try again later.");
    int rc = ingress_set_timeout(&k->ingress, http1_header(q, "Grpc-Timeout"), reterr);
    return rc < 0 ? rc : api_make_request(k, route, q, ret, reterr);
}

static void api_begin_call(struct api_call *k, const struct route *route, const struct http1_request *q) {
    ProtobufCMessage *message;
    struct err e;
    if (api_prepare_call(k, route, q, &message, &e) < 0) {
        call_fail(&k->ingress.call, &e);
        return;
    }
    ingress_run(&k->ingress, message);
    if (k->ingress.is_ended)
        return;
    k->later = http1_take(q, api_on_gone, k);
    if (k->later)
        return;
    (void)err_std(&e, ERR_NO_MEMORY);
    ingress_abort(&k->ingress, &e);
}

/* Requests, before there is a call. */

static const char *api_allowed_verbs(unsigned verbs) {
    static const char *const texts[] = {
        [ROUTE_GET] = "GET, HEAD",
        [ROUTE_POST] = "POST",
        [ROUTE_DELETE] = "DELETE",
        [ROUTE_GET | ROUTE_POST] = "GET, HEAD, POST",
        [ROUTE_GET | ROUTE_DELETE] = "GET, HEAD, DELETE",
        [ROUTE_POST | ROUTE_DELETE] = "POST, DELETE",
        [ROUTE_GET | ROUTE_POST | ROUTE_DELETE] = "GET, HEAD, POST, DELETE",
    };
    return texts[verbs];
}

static void api_refuse_verb(struct http1_response *resp, int status, int code, const char *text,
                            struct json_style style) {
    struct err e;
    (void)err_set(&e, code, "%s", text);
    api_fill_error(resp, &e, style);
    resp->status = status;
}

bool api_request(struct api *api, const struct http1_request *q, struct http1_response *resp) {
    unsigned verbs;
    const struct route *route = route_find(q->method, q->path, &verbs);
    const struct method *method;
    struct json_style style = api_read_style(q);
    struct err e;
    if (!verbs)
        return false;
    if (!route) {
        resp->allow = api_allowed_verbs(verbs);
        api_refuse_verb(resp, HTTP_NOT_ALLOWED, ERR_UNIMPLEMENTED, "This path does not take this method.",
                        style);
        return true;
    }
    struct api_call *k = NULL;
    int rc = ingress_find(api->ingress, INGRESS_HTTP, str_of(method_at(route->method)->path), &method, &e);
    if (rc == 0 && !(k = api_call_new(api, method)))
        rc = err_std(&e, ERR_NO_MEMORY);
    if (rc < 0) {
        api_fill_error(resp, &e, style);
        return true;
    }
    k->style = style;
    k->resp = resp;
    api_begin_call(k, route, q);
    k->resp = NULL;
    return true;
}

void api_init(struct api *api, struct ingress *in) {
    *api = (struct api){.ingress = in};
    list_init(&api->waiting);
    list_init(&api->ended);
}

void api_sweep(struct api *api) {
    list_for_safe(&api->ended, n) api_call_free(container_of(n, struct api_call, link));
}
