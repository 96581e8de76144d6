/* A request names its method by its type: no two methods take the same. */
#include "serve/bridge.h"

#include "engine/engine.h"
#include "serve/dispatch.h"

static const struct method *method_of(const ProtobufCMessage *request) {
    const struct method *m = NULL;
    for (size_t i = 0; (m = method_at(i)) && m->request != request->descriptor;)
        i++;
    ensure(m);
    return m;
}

static void start(void *ctx, struct call *c, const ProtobufCMessage *request) {
    struct dispatch *d = ctx;
    const struct method *m = method_of(request);
    size_t size = protobuf_c_message_get_packed_size(request);
    struct err e;
    int rc = d->engine && !d->is_draining ? 0 : err_std(&e, ERR_UNAVAILABLE);
    if (rc == 0 && !method_is_implemented(m))
        rc = err_set(&e, ERR_UNIMPLEMENTED, "%s is not implemented", m->name);
    if (rc == 0 && size > m->request_bytes_max)
        rc = err_set(&e, ERR_INVALID, "the request has %zu bytes, more than %zu", size, m->request_bytes_max);
    if (rc < 0) {
        call_fail(c, &e);
        return;
    }
    /* The engine must not work by the time of the last turn, which may be long ago. */
    engine_tell_time(d->engine, host_now());
    method_run(m, d, c, request);
}

static void cancel(void *ctx, struct call *c) {
    struct dispatch *d = ctx;
    if (d->engine)
        engine_cancel(d->engine, c);
}

static void note(void *ctx, const ProtobufCMessage *request, const struct err *e, int64_t us) {
    struct dispatch *d = ctx;
    const struct method *m = method_of(request);
    enum log_event event = e && e->code == ERR_INTERNAL ? LOG_request_failed : LOG_request_done;
    traffic_add(&d->traffic, m, e, us);
    if (event == LOG_request_done && d->log->level > LOG_DEBUG)
        return;
    log_emit(d->log, event, log_str("method", m->name), log_str("status", e ? err_name(e->code) : "OK"),
             log_str("text", e ? e->text : ""), log_int("us", us));
}

static bool is_draining(void *ctx) {
    const struct dispatch *d = ctx;
    return !d->engine || d->is_draining;
}

struct mistral_server bridge_server(struct dispatch *d) {
    return (struct mistral_server){start, cancel, note, is_draining, d};
}
