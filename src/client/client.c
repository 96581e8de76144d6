/* A call: pack and frame the request, unframe and unpack the response, read the status from the trailers.
 *
 * Happy path: HTTP status 200, grpc-status 0, one message. Every failure becomes a code and a text: from
 * the trailers of the server, else from the HTTP status, else from the connection.
 *
 * Each response is decoded into an arena of its own with a budget. A message that exceeds it is
 * GRPC_RESOURCE_EXHAUSTED. */
#include "client/client.h"

#include "base/arena.h"
#include "base/list.h"
#include "base/mem.h"
#include "health.pb-c.h"
#include "net/h2_client.h"
#include "operatorservice.pb-c.h"
#include "rondo.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "wire/services.h"
#include "wire/status.h"
#include "workflowservice.pb-c.h"

#define RESPONSE_BYTES_MAX (64u << 20) /* of one message; pages of histories and lists are 2 MiB */
#define DECODE_BUDGET (4u * RESPONSE_BYTES_MAX)
#define HEADERS_OWN 5 /* content-type, te, user-agent, client-name, grpc-timeout */
#define HEADERS_MAX 24

struct method_row {
    const char *name;
    struct str path;
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *response;
};

static const struct method_row rows[CALL_COUNT] = {
#define RPC(service, name_, type, kind, access, bytes_max, handler)                                          \
    [CALL_##name_] = {#name_,                                                                                \
                      {"/" SERVICE_##service "/" #name_, sizeof("/" SERVICE_##service "/" #name_) - 1},      \
                      &type##_request__descriptor,                                                           \
                      &type##_response__descriptor},
#include "wire/methods.def"
#undef RPC
};

struct client {
    struct loop *loop;
    struct h2_client *h2;
    struct list calls;
};

struct client_call {
    struct client *client;
    struct list node;
    const struct method_row *row;
    struct h2_exchange *exchange;
    void (*on_reply)(void *ctx, const struct client_reply *r);
    void *ctx;
};

const char *client_method_name(enum client_method m) {
    return rows[m].name;
}

int client_new(struct loop *l, const char *address, struct client **ret, struct err *reterr) {
    struct client *c = mem_zalloc(sizeof(*c));
    if (!c)
        return err_std(reterr, ERR_NO_MEMORY);
    c->loop = l;
    list_init(&c->calls);
    int rc = h2_client_new(l, address, &c->h2, reterr);
    if (rc < 0) {
        mem_free(c);
        return rc;
    }
    *ret = c;
    return 0;
}

void client_free(struct client *c) {
    if (!c)
        return;
    h2_client_free(c->h2);
    for (struct list *n; (n = list_pop(&c->calls));)
        mem_free(container_of(n, struct client_call, node));
    mem_free(c);
}

/* Responses. */

/* The gRPC code for the HTTP status of a response that is not gRPC. */
static enum grpc_code client_code_of_http(int status) {
    switch (status) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

static void client_reply_fail(struct client_reply *r, const struct err *e) {
    r->code = status_code(e);
    r->text = e->text;
}

static void client_reply_decode(const struct client_call *call, const struct h2_answer *a,
                                struct arena *arena, struct client_reply *r, struct err *err) {
    struct str packed;
    ProtobufCMessage *message;
    int rc = grpc_unframe(buf_str(a->body), h2_answer_header(a, "grpc-encoding"), RESPONSE_BYTES_MAX, arena,
                          &packed, err);
    if (rc == 0)
        rc = wire_decode(call->row->response, packed, arena, &message, err);
    if (rc == 0)
        r->message = message;
    else if (rc == ERR_INVALID) { /* the server sent an invalid message */
        r->code = GRPC_INTERNAL;
        r->text = err->text;
    } else
        client_reply_fail(r, err);
}

static void client_reply_status(const struct h2_answer *a, struct arena *arena, struct client_reply *r) {
    struct str status = h2_answer_header(a, "grpc-status");
    struct str details = h2_answer_header(a, "grpc-status-details-bin");
    int64_t code;
    if (!status.p) {
        r->code = client_code_of_http(a->status);
        r->text = "The response is not gRPC.";
        return;
    }
    r->code = str_to_i64(status, &code) == 0 && code >= 0 && code <= GRPC_UNAUTHENTICATED
                  ? (enum grpc_code)code
                  : GRPC_UNKNOWN;
    const char *text = grpc_message_decode(arena, h2_answer_header(a, "grpc-message"));
    r->text = text ? text : "";
    /* Without readable details the code and the text remain. */
    if (details.p && grpc_bin_decode(arena, details, &r->details) < 0)
        r->details = (struct str){NULL, 0};
}

static void client_call_on_end(void *ctx, const struct h2_answer *a) {
    struct client_call *call = ctx;
    struct client_reply r = {.text = "", .is_unseen = a->is_unseen};
    struct arena arena cleanup(arena_done);
    struct err err = {0};
    arena_init(&arena, DECODE_BUDGET);
    if (a->err)
        client_reply_fail(&r, a->err);
    else
        client_reply_status(a, &arena, &r);
    if (!a->err && r.code == GRPC_OK)
        client_reply_decode(call, a, &arena, &r, &err);
    list_remove(&call->node);
    call->on_reply(call->ctx, &r);
    mem_free(call);
}

/* Requests. */

static size_t client_call_headers(const struct client_ask *ask, struct h2_header headers[static HEADERS_MAX],
                                  char timeout[static GRPC_TIMEOUT_MAX]) {
    size_t n = 0;
    headers[n++] = (struct h2_header){STR("content-type"), STR("application/grpc")};
    headers[n++] = (struct h2_header){STR("te"), STR("trailers")};
    headers[n++] = (struct h2_header){STR("user-agent"), STR("rondo/" RONDO_VERSION)};
    headers[n++] = (struct h2_header){STR("client-name"), STR("rondo-cli")};
    if (ask->timeout_us > 0)
        headers[n++] = (struct h2_header){STR("grpc-timeout"),
                                          str_bytes(timeout, grpc_timeout_format(ask->timeout_us, timeout))};
    for (size_t i = 0; i < ask->metadata_count; i++)
        headers[n++] = ask->metadata[i];
    return n;
}

static int client_call_pack(const struct client_ask *ask, struct buf *body) {
    buf_init(body, GRPC_MESSAGE_BYTES_MAX + GRPC_PREFIX_LEN);
    size_t begin = grpc_frame_begin(body);
    wire_encode(body, ask->request);
    return grpc_frame_end(body, begin, false);
}

int client_call(struct client *c, const struct client_ask *ask, struct client_call **ret) {
    const struct method_row *row = &rows[ask->method];
    struct h2_header headers[HEADERS_MAX];
    char timeout[GRPC_TIMEOUT_MAX];
    ensure(ask->request->descriptor == row->request);
    ensure(ask->metadata_count <= HEADERS_MAX - HEADERS_OWN);
    struct client_call *call = mem_zalloc(sizeof(*call));
    if (!call)
        return ERR_NO_MEMORY;
    *call = (struct client_call){.client = c, .row = row, .on_reply = ask->on_reply, .ctx = ask->ctx};
    struct h2_question q = {.path = row->path,
                            .headers = headers,
                            .header_count = client_call_headers(ask, headers, timeout),
                            .timeout_us = ask->timeout_us,
                            .on_end = client_call_on_end,
                            .ctx = call};
    int rc = client_call_pack(ask, &q.body);
    if (rc == 0)
        rc = h2_client_ask(c->h2, &q, &call->exchange);
    buf_done(&q.body); /* empty when h2_client_ask took the body */
    if (rc < 0) {
        mem_free(call);
        return rc;
    }
    list_append(&c->calls, &call->node);
    if (ret)
        *ret = call;
    return 0;
}

void client_cancel(struct client_call *call) {
    h2_client_cancel(call->exchange);
    list_remove(&call->node);
    mem_free(call);
}

struct waiting {
    struct loop *loop;
    const struct client_ask *ask;
};

static void client_waiting_on_reply(void *ctx, const struct client_reply *r) {
    struct waiting *w = ctx;
    w->ask->on_reply(w->ask->ctx, r);
    loop_stop(w->loop);
}

int client_call_wait(struct client *c, const struct client_ask *ask) {
    struct waiting w = {c->loop, ask};
    struct client_ask own = *ask;
    own.on_reply = client_waiting_on_reply;
    own.ctx = &w;
    int rc = client_call(c, &own, NULL);
    return rc < 0 ? rc : loop_run(c->loop);
}
