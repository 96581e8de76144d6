/* gRPC calls: from headers and bytes to a request message, and from an answer to a response.
 *
 * Happy path: find the method, read the timeout, unframe, decode into the
 * request's arena, let ingress run the handler. The answer is packed, framed,
 * compressed if the client can read that and the loop turn has time, and given
 * to net together with its trailers.
 *
 * The handler of a METHOD_DUPLEX runs once for each message of the stream. Such
 * a call ends without an error when the client has sent its last message.
 *
 * Every failure is one HEADERS frame with a status (reply.c). */
#include "serve/dispatch.h"

#include "engine/call.h"
#include "serve/reply.h"
#include "wire/grpc.h"
#include "wire/guard.h"
#include "wire/services.h"

#define DECODE_BUDGET_FACTOR 4 /* what a decoded message may cost, in message limits */
#define GZIP_TURN_US (4 * LOOP_TURN_US) /* of a loop turn, after which answers go out as they are */
#define REQUEST_BUDGET (256u << 10) /* for headers and what the handler adds */
#define STREAM_BUDGET (1u << 20) /* for one message of a stream and its answer */

/* Programs that show histories to people, who would take events that are not written for written ones. */
static const char *const showing_clients[] = {"temporal-cli", "temporal-ui", "rondo-cli"};

/* One call. Lives in the arena of its h2_request. */
struct request {
    struct ingress_call ingress;
    struct h2_request *h2;
    bool accepts_gzip;
    struct buf body; /* of the answer, between translate() and send() */
};

static struct request *dispatch_request_of(struct ingress_call *k) {
    return container_of(k, struct request, ingress);
}

/* The answer. */

static int dispatch_translate(struct ingress_call *k, const ProtobufCMessage *m, struct str tail,
                              struct err *reterr) {
    struct request *q = dispatch_request_of(k);
    /* One commit may make many answers ready; the first of them are compressed. */
    bool is_gzip = q->accepts_gzip && loop_spent_us(k->ingress->loop) < GZIP_TURN_US;
    return reply_pack(m, tail, is_gzip, &q->body, reterr);
}

static void dispatch_send(struct ingress_call *k) {
    struct request *q = dispatch_request_of(k);
    reply_message(q->h2, &q->body);
}

static void dispatch_fail(struct ingress_call *k, const struct err *e) {
    reply_error(dispatch_request_of(k)->h2, e);
}

static int dispatch_send_part(struct ingress_call *k, const ProtobufCMessage *m, struct err *reterr) {
    struct buf body;
    int rc = reply_pack(m, (struct str){NULL, 0}, false, &body, reterr);
    if (rc == 0)
        reply_part(dispatch_request_of(k)->h2, &body);
    return rc;
}

static void dispatch_expect(struct ingress_call *k, size_t bytes) {
    h2_expect(dispatch_request_of(k)->h2, bytes);
}

static const struct ingress_translator dispatch_translator = {
    .origin = INGRESS_GRPC,
    .translate = dispatch_translate,
    .send = dispatch_send,
    .fail = dispatch_fail,
    .send_part = dispatch_send_part,
    .expect = dispatch_expect,
};

/* The request. */

/* application/grpc, +proto, and parameters behind either. */
static bool dispatch_is_grpc(struct str content_type) {
    static const struct str bases[] = {{"application/grpc+proto", 22}, {"application/grpc", 16}};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        if (!str_starts(content_type, bases[i]))
            continue;
        char next = content_type.n > bases[i].n ? content_type.p[bases[i].n] : ';';
        return next == ';' || next == ' ';
    }
    return false;
}

static bool dispatch_is_showing_client(struct str client_name) {
    for (size_t i = 0; i < ARRAY_LEN(showing_clients); i++)
        if (str_is(client_name, showing_clients[i]))
            return true;
    return false;
}

/* The size that the message's own prefix claims, or what came so far. */
static size_t dispatch_claimed_size(const struct buf *body) {
    if (body->len < GRPC_PREFIX_LEN)
        return body->len;
    const uint8_t *p = body->data;
    size_t size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    return MAX(size, body->len - GRPC_PREFIX_LEN);
}

static int dispatch_decode(struct request *q, ProtobufCMessage **ret, struct err *reterr) {
    struct h2_request *r = q->h2;
    struct str message;
    size_t max = q->ingress.method->request_bytes_max;
    if (r->is_oversize)
        return grpc_too_large(reterr, dispatch_claimed_size(&r->body), max);
    int rc = grpc_unframe(buf_str(&r->body), h2_request_header(r, "grpc-encoding"), max, &r->arena, &message,
                          reterr);
    if (rc < 0)
        return rc;
    return wire_decode(q->ingress.method->request, message, &r->arena, ret, reterr);
}

/* gRPC's own status for a message that is too large is one that clients try again. Workers know its text and
 * fail their task; every other caller gets the same text with a status that is final. */
static int dispatch_fix_too_large(const struct method *m, int rc, struct err *reterr) {
    if (rc == ERR_TOO_LARGE && m->access != METHOD_WORKER)
        rc = reterr->code = ERR_INVALID;
    return rc;
}

static int dispatch_prepare_call(struct request *q, ProtobufCMessage **ret, struct err *reterr) {
    q->h2->arena.budget = REQUEST_BUDGET + DECODE_BUDGET_FACTOR * q->ingress.method->request_bytes_max;
    int rc = ingress_set_timeout(&q->ingress, h2_request_header(q->h2, "grpc-timeout"), reterr);
    if (rc < 0)
        return rc;
    rc = dispatch_fix_too_large(q->ingress.method, dispatch_decode(q, ret, reterr), reterr);
    /* The decoded message has its own copy. A waiting call must not hold the bytes twice, nor block other
     * requests. */
    if (q->ingress.method->kind == METHOD_UNARY)
        buf_done(&q->h2->body);
    else
        h2_park(q->h2);
    return rc;
}

/* A stream of requests. */

/* The first message of the body, with its prefix; empty when it is not all there. */
static int dispatch_first_frame(const struct request *q, struct str *ret, struct err *reterr) {
    const struct buf *body = &q->h2->body;
    *ret = (struct str){NULL, 0};
    if (body->len < GRPC_PREFIX_LEN)
        return 0;
    const uint8_t *p = body->data;
    size_t size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (size > q->ingress.method->request_bytes_max)
        return grpc_too_large(reterr, size, q->ingress.method->request_bytes_max);
    if (body->len - GRPC_PREFIX_LEN >= size)
        *ret = str_bytes(p, GRPC_PREFIX_LEN + size);
    return 0;
}

/* Each message has an arena of its own, so that a long stream costs no more than a short one. */
static int dispatch_run_frame(struct request *q, struct str frame, struct err *reterr) {
    struct arena a cleanup(arena_done);
    struct str message;
    ProtobufCMessage *m;
    size_t max = q->ingress.method->request_bytes_max;
    arena_init(&a, STREAM_BUDGET);
    int rc = grpc_unframe(frame, h2_request_header(q->h2, "grpc-encoding"), max, &a, &message, reterr);
    if (rc == 0)
        rc = wire_decode(q->ingress.method->request, message, &a, &m, reterr);
    if (rc < 0)
        return rc;
    q->ingress.call.arena = &a;
    ingress_run(&q->ingress, m);
    q->ingress.call.arena = &q->h2->arena;
    if (!q->ingress.is_ended)
        h2_consume(q->h2, frame.n);
    return 0;
}

static void dispatch_end_stream(struct request *q) {
    ingress_end_stream(&q->ingress);
    reply_end(q->h2);
}

static void dispatch_stop_stream(struct call *c) {
    struct err e;
    (void)err_std(&e, ERR_UNAVAILABLE);
    call_fail(c, &e);
}

/* One message at a time: net comes back with the rest when it is this connection's turn. */
static void dispatch_feed_stream(struct request *q) {
    struct str frame = {NULL, 0};
    struct err e;
    int rc = dispatch_first_frame(q, &frame, &e);
    if (rc == 0 && frame.n)
        rc = dispatch_run_frame(q, frame, &e);
    if (q->ingress.is_ended)
        return;
    if (rc == 0 && !frame.n && q->h2->is_complete && q->h2->body.len)
        rc = err_set(&e, ERR_INVALID, "the last message is not complete");
    if (rc < 0) {
        (void)dispatch_fix_too_large(q->ingress.method, rc, &e);
        call_fail(&q->ingress.call, &e);
    } else if (q->h2->is_complete && !q->h2->body.len) {
        dispatch_end_stream(q);
    }
}

static void dispatch_begin_stream(struct request *q) {
    struct err e;
    q->h2->arena.budget = REQUEST_BUDGET;
    ingress_watch(&q->ingress.call, dispatch_stop_stream);
    if (q->ingress.ingress->context.is_draining)
        dispatch_stop_stream(&q->ingress.call);
    else if (ingress_set_timeout(&q->ingress, h2_request_header(q->h2, "grpc-timeout"), &e) < 0)
        call_fail(&q->ingress.call, &e);
    else
        dispatch_feed_stream(q);
}

static void dispatch_begin_call(struct request *q) {
    ProtobufCMessage *message;
    struct err e;
    if (dispatch_prepare_call(q, &message, &e) < 0)
        call_fail(&q->ingress.call, &e);
    else
        ingress_run(&q->ingress, message);
}

static void dispatch_begin_request(struct ingress *in, struct h2_request *r, const struct method *method) {
    struct err e;
    struct request *q = arena_new(&r->arena, struct request);
    if (!q) {
        (void)err_std(&e, ERR_NO_MEMORY);
        reply_error(r, &e);
        return;
    }
    q->h2 = r;
    q->accepts_gzip = grpc_accepts_gzip(h2_request_header(r, "grpc-accept-encoding"));
    r->user = q;
    ingress_begin(in, &q->ingress, &dispatch_translator, method, &r->arena);
    q->ingress.call.reads_unwritten = !dispatch_is_showing_client(h2_request_header(r, "client-name"));
    if (method->kind == METHOD_DUPLEX)
        dispatch_begin_stream(q);
    else
        dispatch_begin_call(q);
}

static void dispatch_on_request(void *ctx, struct h2_request *r) {
    struct ingress *in = ctx;
    const struct method *method;
    struct err e;
    r->user = NULL;
    if (!str_is(r->method, "POST"))
        reply_http(r, 405, "gRPC calls are POST requests.\n");
    else if (!dispatch_is_grpc(h2_request_header(r, "content-type")))
        reply_http(r, 415, "This port speaks gRPC: content-type must be application/grpc.\n");
    else if (ingress_find(in, INGRESS_GRPC, r->path, &method, &e) < 0)
        reply_error(r, &e);
    else
        dispatch_begin_request(in, r, method);
}

/* Reports of net. */

static void dispatch_on_more(void *ctx unused_arg, struct h2_request *r) {
    struct request *q = r->user;
    if (q && !q->ingress.is_ended)
        dispatch_feed_stream(q);
}

static void dispatch_on_cancel(void *ctx unused_arg, struct h2_request *r) {
    struct request *q = r->user;
    if (q)
        ingress_cancel(&q->ingress);
}

static void dispatch_on_lost(void *ctx unused_arg, struct h2_request *r) {
    struct request *q = r->user;
    if (q)
        ingress_return_tasks(&q->ingress);
}

static void dispatch_on_sent(void *ctx unused_arg, struct h2_request *r) {
    r->user = NULL;
}

struct h2_handler dispatch_handler(struct ingress *in) {
    static const char *const headers[] = {"client-name",   "content-type", "grpc-accept-encoding",
                                          "grpc-encoding", "grpc-timeout", NULL};
    static const char *const streams[] = {"/" SERVICE_REFLECTION "/ServerReflectionInfo",
                                          "/" SERVICE_REFLECTION_ALPHA "/ServerReflectionInfo", NULL};
    return (struct h2_handler){.on_request = dispatch_on_request,
                               .on_cancel = dispatch_on_cancel,
                               .on_lost = dispatch_on_lost,
                               .on_sent = dispatch_on_sent,
                               .ctx = in,
                               .on_more = dispatch_on_more,
                               .streams = streams,
                               .headers = headers};
}
