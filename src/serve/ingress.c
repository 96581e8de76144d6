/* Calls, from their method to their end.
 *
 * Happy path: ingress_begin() notes the time and hands it to the engine,
 * ingress_run() calls the handler, the handler replies at once or a minute
 * later, the translator makes the bytes, the call is counted, and the bytes are
 * sent.
 *
 * A call that fails is counted with the gRPC code of its error, a call whose
 * caller went away as CANCELLED. Each call has one end: ingress_end() ensures it.
 * The tasks that an answer carries are kept by token until the answer has left;
 * ingress_return_tasks() queues them, ingress_flush_lost() gives them back. */
#include "serve/ingress.h"

#include "base/mem.h"
#include "engine/engine.h"
#include "host/loop.h"
#include "wire/grpc.h"

#define POLL_WITHOUT_DEADLINE_US (60 * USEC_PER_SEC)

struct lost_task {
    struct list link;
    size_t len;
    char token[];
};

static const char *const origin_names[] = {
    [INGRESS_GRPC] = "grpc",
    [INGRESS_HTTP] = "http",
    [INGRESS_MISTRAL] = "mistral",
};

/* The end of a call. */

static void ingress_log_end(const struct ingress_call *k, const struct err *e, int64_t us) {
    struct log *log = k->ingress->log;
    enum log_event event = e && e->code == ERR_INTERNAL ? LOG_request_failed : LOG_request_done;
    if (!log_shows(log, event))
        return;
    log_emit(log, event, log_str("method", k->method->name),
             log_str("origin", origin_names[k->translator->origin]),
             log_str("status", e ? err_name(e->code) : "OK"), log_str("text", e ? e->text : ""),
             log_int("us", us));
}

/* e: the failure, or NULL. */
static void ingress_end(struct ingress_call *k, const struct err *e) {
    ensure_inv(I7, !k->is_ended);
    k->is_ended = true;
    list_remove(&k->watch);
    int64_t us = host_now().mono.us - k->begin.us;
    traffic_add(&k->ingress->traffic, k->method, e, us);
    ingress_log_end(k, e, us);
}

static void ingress_on_fail(struct call *c, const struct err *e) {
    struct ingress_call *k = container_of(c, struct ingress_call, call);
    ingress_return_tasks(k);
    ingress_end(k, e);
    k->translator->fail(k, e);
}

static void ingress_on_reply(struct call *c, const ProtobufCMessage *m, struct str tail) {
    struct ingress_call *k = container_of(c, struct ingress_call, call);
    struct err e;
    ensure_inv(I7, !k->is_ended);
    ensure(m->descriptor == k->method->response);
    if (k->translator->translate(k, m, tail, &e) < 0) {
        ingress_on_fail(c, &e);
        return;
    }
    ingress_end(k, NULL);
    k->translator->send(k);
}

static void ingress_on_expect(struct call *c, size_t bytes) {
    struct ingress_call *k = container_of(c, struct ingress_call, call);
    if (k->translator->expect)
        k->translator->expect(k, bytes);
}

static const struct call_ops ingress_ops = {ingress_on_reply, ingress_on_fail, .expect = ingress_on_expect};

void ingress_cancel(struct ingress_call *k) {
    struct engine *engine = k->ingress->context.engine;
    struct err e;
    if (k->is_ended)
        return;
    (void)err_std(&e, ERR_CANCELLED);
    ingress_end(k, &e);
    if (engine)
        engine_cancel(engine, &k->call);
}

void ingress_abort(struct ingress_call *k, const struct err *e) {
    engine_cancel(k->ingress->context.engine, &k->call);
    k->call.carried = NULL; /* the engine has taken back the tasks too */
    call_fail(&k->call, e);
}

void ingress_end_stream(struct ingress_call *k) {
    ingress_end(k, NULL);
}

/* Tasks of answers that were not delivered. */

static void ingress_queue_task(struct ingress *in, struct str token) {
    struct lost_task *t = mem_alloc(sizeof(*t) + token.n);
    if (!t)
        return; /* the task is offered again when it times out */
    t->len = token.n;
    memcpy(t->token, token.p, token.n);
    list_append(&in->lost_tasks, &t->link);
}

void ingress_return_tasks(struct ingress_call *k) {
    for (const struct carried *c = k->call.carried; c; c = c->next)
        ingress_queue_task(k->ingress, c->token);
    k->call.carried = NULL;
}

void ingress_flush_lost(struct ingress *in) {
    for (struct list *n; (n = list_pop(&in->lost_tasks));) {
        struct lost_task *t = container_of(n, struct lost_task, link);
        if (in->context.engine)
            engine_task_lost(in->context.engine, str_bytes(t->token, t->len));
        mem_free(t);
    }
}

/* The beginning of a call. */

bool ingress_is_closed(const struct ingress *in, enum ingress_origin origin) {
    return !in->context.engine || (in->context.is_draining && origin != INGRESS_GRPC);
}

int ingress_find(const struct ingress *in, enum ingress_origin origin, struct str path,
                 const struct method **ret, struct err *reterr) {
    if (ingress_is_closed(in, origin))
        return err_std(reterr, ERR_UNAVAILABLE);
    return methods_find(&in->methods, path, ret, reterr);
}

void ingress_begin(struct ingress *in, struct ingress_call *k, const struct ingress_translator *translator,
                   const struct method *method, struct arena *arena) {
    struct now now = host_now();
    *k = (struct ingress_call){
        .call = {.ops = &ingress_ops, .arena = arena, .deadline = {CLOCK_NEVER}},
        .ingress = in,
        .translator = translator,
        .method = method,
        .begin = now.mono,
    };
    /* The engine's time is that of the last loop turn, which may have been long ago. */
    engine_tell_time(in->context.engine, now);
}

int ingress_set_timeout(struct ingress_call *k, struct str timeout, struct err *reterr) {
    int64_t us = k->method->kind == METHOD_POLL ? POLL_WITHOUT_DEADLINE_US : CLOCK_NEVER;
    if (timeout.p && grpc_timeout_parse(timeout, &us) < 0)
        return err_set(reterr, ERR_INVALID, "malformed grpc-timeout");
    if (us <= 0)
        return err_std(reterr, ERR_DEADLINE);
    k->call.deadline.us = us == CLOCK_NEVER ? CLOCK_NEVER : usec_add(k->begin.us, us);
    return 0;
}

int ingress_check_size(const struct ingress_call *k, const ProtobufCMessage *request, struct err *reterr) {
    size_t size = protobuf_c_message_get_packed_size(request);
    size_t max = k->method->request_bytes_max;
    return size > max ? err_set(reterr, ERR_INVALID, "the request has %zu bytes, more than %zu", size, max)
                      : 0;
}

/* Every call of every protocol passes here with its method and its decoded request, before anything is done
 * for it: the place to check what the caller may do (method->access). */
void ingress_run(struct ingress_call *k, const ProtobufCMessage *request) {
    method_run(k->method, &k->ingress->context, &k->call, request);
}

/* For handlers. */

bool ingress_send_part(struct call *c, const ProtobufCMessage *m) {
    struct ingress_call *k = container_of(c, struct ingress_call, call);
    struct err e;
    ensure(c->ops == &ingress_ops && !k->is_ended && m->descriptor == k->method->response);
    ensure(k->translator->send_part);
    if (k->translator->send_part(k, m, &e) == 0)
        return true;
    ingress_on_fail(c, &e);
    return false;
}

void ingress_watch(struct call *c, void (*on_drain)(struct call *c)) {
    struct ingress_call *k = container_of(c, struct ingress_call, call);
    ensure(c->ops == &ingress_ops);
    k->on_drain = on_drain;
    list_append(&k->ingress->watches, &k->watch);
}

/* Life. */

void ingress_drain(struct ingress *in) {
    in->context.is_draining = true;
    for (struct list *n; (n = list_pop(&in->watches));) {
        struct ingress_call *k = container_of(n, struct ingress_call, watch);
        k->on_drain(&k->call);
    }
}

int ingress_init(struct ingress *in, struct log *log, const char *store_name, uint64_t seed) {
    *in = (struct ingress){.context = {.store_name = store_name}, .log = log};
    list_init(&in->lost_tasks);
    list_init(&in->watches);
    traffic_init(&in->traffic);
    return methods_init(&in->methods, seed);
}

void ingress_done(struct ingress *in) {
    in->context.engine = NULL;
    ingress_flush_lost(in);
    methods_done(&in->methods);
}
