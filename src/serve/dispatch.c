/* From a request's headers and bytes to a method, and from an answer to a response.
 *
 * Happy path: find the method, read the deadline, unframe, decode into the
 * request's arena, call the handler. The handler ends the call, at once or a
 * minute later; the answer is packed, framed, compressed if the client can read
 * that and the loop turn has time, and given to net together with its trailers.
 *
 * A call with a stream of requests has its handler called with each of them as it comes; the call ends well
 * when the client has said all.
 *
 * What fails before the handler, and every call that the engine fails, is one
 * HEADERS frame with a status (reply.c). A peer that goes away cancels the
 * call in the engine; an answer with a task that never left the process hands
 * the task back. */
#include "serve/dispatch.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "serve/reply.h"
#include "wire/grpc.h"
#include "wire/guard.h"
#include "wire/services.h"

#define DECODE_BUDGET_FACTOR 4 /* what a decoded message may cost, in message limits */
#define GZIP_TURN_US (4 * LOOP_TURN_US) /* of a loop turn, after which answers go out as they are */
#define REQUEST_BUDGET (256u << 10) /* for headers and what the handler adds */
#define STREAM_BUDGET (1u << 20) /* for one message of a stream and its answer */
#define POLL_WITHOUT_DEADLINE_US (60 * USEC_PER_SEC) /* a poll that names no deadline is parked this long */

/* Programs that show histories to people, who would take events that are not written for written ones. */
static const char *const showing_clients[] = {"temporal-cli", "temporal-ui", "rondo-cli"};

/* One call on its way. Lives in the arena of its h2_request. */
struct request {
    struct call call;
    struct dispatch *dispatch;
    struct h2_request *h2;
    const struct method *method;
    struct mono begin;
    bool accepts_gzip;
    bool is_ended;
    struct list watch; /* in dispatch.watches */
    void (*tell)(struct call *c);
};

struct lost_task {
    struct list link;
    size_t len;
    char token[];
};

/* The answer. */

static void note_end(struct request *q, const struct err *e) {
    struct dispatch *d = q->dispatch;
    int64_t us = host_now().mono.us - q->begin.us;
    traffic_add(&d->traffic, q->method, e, us);
    enum log_event event = e && e->code == ERR_INTERNAL ? LOG_request_failed : LOG_request_done;
    if (event == LOG_request_done && d->log->level > LOG_DEBUG)
        return;
    log_emit(d->log, event, log_str("method", q->method->name),
             log_str("status", e ? err_name(e->code) : "OK"), log_str("text", e ? e->text : ""),
             log_int("us", us));
}

static void note_left(struct request *q) {
    struct err e;
    (void)err_std(&e, ERR_CANCELLED);
    note_end(q, &e);
}

static void queue_lost(struct dispatch *d, struct str token) {
    struct lost_task *t = mem_alloc(sizeof(*t) + token.n);
    if (!t)
        return; /* then the task is offered again when it times out */
    t->len = token.n;
    memcpy(t->token, token.p, token.n);
    list_append(&d->lost_tasks, &t->link);
}

/* The tasks of an answer that will not arrive. Their tokens are in the request's arena, as is the call. */
static void queue_carried(struct dispatch *d, const struct request *q) {
    for (const struct carried *c = q->call.carried; c; c = c->next)
        queue_lost(d, c->token);
}

static void request_fail(struct call *c, const struct err *e) {
    struct request *q = container_of(c, struct request, call);
    ensure(!q->is_ended);
    queue_carried(q->dispatch, q);
    q->call.carried = NULL;
    list_remove(&q->watch);
    q->is_ended = true;
    note_end(q, e);
    reply_error(q->h2, e);
}

static void request_reply(struct call *c, const ProtobufCMessage *m, struct str tail) {
    struct request *q = container_of(c, struct request, call);
    ensure(!q->is_ended);
    ensure(m->descriptor == q->method->response);
    struct buf body;
    struct err e;
    /* One commit may make many answers ready; the first of them are compressed. */
    bool is_gzip = q->accepts_gzip && loop_spent_us(q->dispatch->loop) < GZIP_TURN_US;
    if (reply_pack(m, tail, is_gzip, &body, &e) < 0) {
        request_fail(c, &e);
        return;
    }
    q->is_ended = true;
    note_end(q, NULL);
    reply_message(q->h2, &body);
}

static void request_expect(struct call *c, size_t bytes) {
    h2_expect(container_of(c, struct request, call)->h2, bytes);
}

static const struct call_ops request_ops = {request_reply, request_fail, .expect = request_expect};

bool dispatch_send(struct call *c, const ProtobufCMessage *m) {
    struct request *q = container_of(c, struct request, call);
    ensure(c->ops == &request_ops && !q->is_ended && m->descriptor == q->method->response);
    struct buf body;
    struct err e;
    if (reply_pack(m, (struct str){NULL, 0}, false, &body, &e) < 0) {
        request_fail(c, &e);
        return false;
    }
    reply_part(q->h2, &body);
    return true;
}

void dispatch_watch(struct dispatch *d, struct call *c, void (*tell)(struct call *c)) {
    struct request *q = container_of(c, struct request, call);
    q->tell = tell;
    list_append(&d->watches, &q->watch);
}

void dispatch_drain(struct dispatch *d) {
    d->is_draining = true;
    for (struct list *n; (n = list_pop(&d->watches));) {
        struct request *q = container_of(n, struct request, watch);
        q->tell(&q->call);
    }
}

/* The request. */

/* application/grpc, +proto, and parameters behind either. */
static bool is_grpc(struct str content_type) {
    static const struct str bases[] = {{"application/grpc+proto", 22}, {"application/grpc", 16}};
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        if (!str_starts(content_type, bases[i]))
            continue;
        char next = content_type.n > bases[i].n ? content_type.p[bases[i].n] : ';';
        return next == ';' || next == ' ';
    }
    return false;
}

static bool is_showing(struct str client_name) {
    for (size_t i = 0; i < ARRAY_LEN(showing_clients); i++)
        if (str_is(client_name, showing_clients[i]))
            return true;
    return false;
}

static int read_deadline(struct request *q, struct err *reterr) {
    struct str timeout = h2_request_header(q->h2, "grpc-timeout");
    int64_t us = q->method->kind == METHOD_POLL ? POLL_WITHOUT_DEADLINE_US : CLOCK_NEVER;
    if (timeout.p && grpc_timeout_parse(timeout, &us) < 0)
        return err_set(reterr, ERR_INVALID, "malformed grpc-timeout");
    if (us <= 0)
        return err_std(reterr, ERR_DEADLINE);
    q->call.deadline.us = us == CLOCK_NEVER ? CLOCK_NEVER : usec_add(q->begin.us, us);
    return 0;
}

/* The size that the message's own prefix claims, or what came so far. */
static size_t claimed_size(const struct buf *body) {
    if (body->len < GRPC_PREFIX_LEN)
        return body->len;
    const uint8_t *p = body->data;
    size_t size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    return MAX(size, body->len - GRPC_PREFIX_LEN);
}

static int decode(struct request *q, ProtobufCMessage **ret, struct err *reterr) {
    struct h2_request *r = q->h2;
    struct str message;
    size_t max = q->method->request_bytes_max;
    if (r->is_oversize)
        return grpc_too_large(reterr, claimed_size(&r->body), max);
    int rc = grpc_unframe(buf_str(&r->body), h2_request_header(r, "grpc-encoding"), max, &r->arena, &message,
                          reterr);
    if (rc < 0)
        return rc;
    return wire_decode(q->method->request, message, &r->arena, ret, reterr);
}

/* gRPC's own status for a message that is too large is one that clients try again. Workers know its text and
 * fail their task; every other caller gets the same text with a status that is final. */
static int settle_too_large(const struct method *m, int rc, struct err *reterr) {
    if (rc == ERR_TOO_LARGE && m->access != METHOD_WORKER)
        rc = reterr->code = ERR_INVALID;
    return rc;
}

static int prepare(struct request *q, ProtobufCMessage **ret, struct err *reterr) {
    q->h2->arena.budget = REQUEST_BUDGET + DECODE_BUDGET_FACTOR * q->method->request_bytes_max;
    int rc = read_deadline(q, reterr);
    if (rc < 0)
        return rc;
    rc = settle_too_large(q->method, decode(q, ret, reterr), reterr);
    /* Decoding copied what it needs; a parked call should not hold its bytes twice, nor hold up others. */
    if (q->method->kind == METHOD_UNARY)
        buf_done(&q->h2->body);
    else
        h2_park(q->h2);
    return rc;
}

/* A stream of requests. */

/* The first message of the body, with its prefix; empty when it is not all there. */
static int first_frame(const struct request *q, struct str *ret, struct err *reterr) {
    const struct buf *body = &q->h2->body;
    *ret = (struct str){NULL, 0};
    if (body->len < GRPC_PREFIX_LEN)
        return 0;
    const uint8_t *p = body->data;
    size_t size = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (size > q->method->request_bytes_max)
        return grpc_too_large(reterr, size, q->method->request_bytes_max);
    if (body->len - GRPC_PREFIX_LEN >= size)
        *ret = str_bytes(p, GRPC_PREFIX_LEN + size);
    return 0;
}

/* Each message has an arena of its own, so that a long stream costs no more than a short one. */
static int hand_over(struct request *q, struct str frame, struct err *reterr) {
    struct arena a cleanup(arena_done);
    struct str message;
    ProtobufCMessage *m;
    size_t max = q->method->request_bytes_max;
    arena_init(&a, STREAM_BUDGET);
    int rc = grpc_unframe(frame, h2_request_header(q->h2, "grpc-encoding"), max, &a, &message, reterr);
    if (rc == 0)
        rc = wire_decode(q->method->request, message, &a, &m, reterr);
    if (rc < 0)
        return rc;
    q->call.arena = &a;
    method_run(q->method, q->dispatch, &q->call, m);
    q->call.arena = &q->h2->arena;
    if (!q->is_ended)
        h2_consume(q->h2, frame.n);
    return 0;
}

static void end_stream(struct request *q) {
    list_remove(&q->watch);
    q->is_ended = true;
    note_end(q, NULL);
    reply_end(q->h2);
}

static void stop_stream(struct call *c) {
    struct err e;
    (void)err_std(&e, ERR_UNAVAILABLE);
    call_fail(c, &e);
}

/* One message at a time: net comes back with the rest when it is this connection's turn. */
static void feed_stream(struct request *q) {
    struct str frame = {NULL, 0};
    struct err e;
    int rc = first_frame(q, &frame, &e);
    if (rc == 0 && frame.n)
        rc = hand_over(q, frame, &e);
    if (q->is_ended)
        return;
    if (rc == 0 && !frame.n && q->h2->is_complete && q->h2->body.len)
        rc = err_set(&e, ERR_INVALID, "the last message is not complete");
    if (rc < 0) {
        (void)settle_too_large(q->method, rc, &e);
        call_fail(&q->call, &e);
    } else if (q->h2->is_complete && !q->h2->body.len) {
        end_stream(q);
    }
}

static void begin_stream(struct dispatch *d, struct request *q) {
    struct err e;
    q->h2->arena.budget = REQUEST_BUDGET;
    dispatch_watch(d, &q->call, stop_stream);
    if (d->is_draining)
        stop_stream(&q->call);
    else if (read_deadline(q, &e) < 0)
        call_fail(&q->call, &e);
    else
        feed_stream(q);
}

static void begin_call(struct dispatch *d, struct h2_request *r, const struct method *method,
                       struct now now) {
    struct err e;
    struct request *q = arena_new(&r->arena, struct request);
    if (!q) {
        (void)err_std(&e, ERR_NO_MEMORY);
        reply_error(r, &e);
        return;
    }
    q->call = (struct call){.ops = &request_ops, .arena = &r->arena};
    q->call.reads_unwritten = !is_showing(h2_request_header(r, "client-name"));
    q->dispatch = d;
    q->h2 = r;
    q->method = method;
    q->begin = now.mono;
    q->accepts_gzip = grpc_accepts_gzip(h2_request_header(r, "grpc-accept-encoding"));
    r->user = q;
    if (method->kind == METHOD_DUPLEX) {
        begin_stream(d, q);
        return;
    }
    ProtobufCMessage *message;
    if (prepare(q, &message, &e) < 0) {
        call_fail(&q->call, &e);
        return;
    }
    method_run(method, d, &q->call, message);
}

static void on_request(void *ctx, struct h2_request *r) {
    struct dispatch *d = ctx;
    const struct method *method;
    struct err e;
    r->user = NULL;
    if (!str_is(r->method, "POST")) {
        reply_http(r, 405, "gRPC calls are POST requests.\n");
        return;
    }
    if (!is_grpc(h2_request_header(r, "content-type"))) {
        reply_http(r, 415, "This port speaks gRPC: content-type must be application/grpc.\n");
        return;
    }
    if (!d->engine) {
        (void)err_std(&e, ERR_UNAVAILABLE);
        reply_error(r, &e);
        return;
    }
    if (methods_find(&d->methods, r->path, &method, &e) < 0) {
        reply_error(r, &e);
        return;
    }
    /* The engine must not work by the time of the last turn, which may be long ago. */
    struct now now = host_now();
    engine_tell_time(d->engine, now);
    begin_call(d, r, method, now);
}

/* What net reports. */

static void on_more(void *ctx unused_arg, struct h2_request *r) {
    struct request *q = r->user;
    if (q && !q->is_ended)
        feed_stream(q);
}

static void on_cancel(void *ctx, struct h2_request *r) {
    struct dispatch *d = ctx;
    struct request *q = r->user;
    if (!q || q->is_ended || !d->engine)
        return;
    q->is_ended = true;
    list_remove(&q->watch);
    note_left(q);
    engine_cancel(d->engine, &q->call);
}

static void on_lost(void *ctx, struct h2_request *r) {
    struct request *q = r->user;
    if (q)
        queue_carried(ctx, q);
}

static void on_sent(void *ctx unused_arg, struct h2_request *r) {
    r->user = NULL;
}

struct h2_handler dispatch_handler(struct dispatch *d) {
    static const char *const headers[] = {"client-name",   "content-type", "grpc-accept-encoding",
                                          "grpc-encoding", "grpc-timeout", NULL};
    static const char *const streams[] = {"/" SERVICE_REFLECTION "/ServerReflectionInfo",
                                          "/" SERVICE_REFLECTION_ALPHA "/ServerReflectionInfo", NULL};
    return (struct h2_handler){.on_request = on_request,
                               .on_cancel = on_cancel,
                               .on_lost = on_lost,
                               .on_sent = on_sent,
                               .ctx = d,
                               .on_more = on_more,
                               .streams = streams,
                               .headers = headers};
}

void dispatch_return_lost(struct dispatch *d) {
    struct list *n;
    while ((n = list_pop(&d->lost_tasks))) {
        struct lost_task *t = container_of(n, struct lost_task, link);
        if (d->engine)
            engine_task_lost(d->engine, str_bytes(t->token, t->len));
        mem_free(t);
    }
}

int dispatch_init(struct dispatch *d, struct log *log, const char *store_name, uint64_t seed) {
    *d = (struct dispatch){.log = log, .store_name = store_name};
    list_init(&d->lost_tasks);
    list_init(&d->watches);
    traffic_init(&d->traffic);
    return methods_init(&d->methods, seed);
}

void dispatch_done(struct dispatch *d) {
    d->engine = NULL;
    dispatch_return_lost(d);
    methods_done(&d->methods);
}
