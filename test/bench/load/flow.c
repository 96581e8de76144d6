/* The next operation begins when one ends, never by the clock: the load is closed, and latencies are what a
 * caller with that many callers beside it sees. */
#include "flow.h"

#include "base/mem.h"

void flow_init(struct flow *f, struct bench *b, size_t total, size_t width,
               void (*begin)(struct flow *f, size_t i)) {
    *f = (struct flow){.bench = b, .total = total, .width = width, .begin = begin};
    f->begin_us = mem_zalloc(total * sizeof(*f->begin_us));
    ensure(f->begin_us);
}

static void flow_begin_next(struct flow *f) {
    size_t i = f->begun++;
    f->begin_us[i] = now_us();
    f->begin(f, i);
}

void flow_begin(struct flow *f) {
    for (size_t i = 0; i < f->width && f->begun < f->total; i++)
        flow_begin_next(f);
}

void flow_wait(struct flow *f) {
    while (f->ended < f->total)
        ensure(loop_run(f->bench->loop) == 0);
}

void flow_run(struct flow *f) {
    flow_begin(f);
    flow_wait(f);
}

void flow_end(struct flow *f, size_t i) {
    samples_add(&f->latency, now_us() - f->begin_us[i]);
    f->ended++;
    if (f->begun < f->total)
        flow_begin_next(f);
    else if (f->ended == f->total)
        loop_stop(f->bench->loop);
}

void flow_done(struct flow *f) {
    mem_free(f->begin_us);
    samples_done(&f->latency);
}

struct flow_op {
    struct flow *flow;
    size_t i;
};

static void flow_on_reply(void *ctx, const struct client_reply unused_arg *r) {
    struct flow_op *op = ctx;
    flow_end(op->flow, op->i);
    mem_free(op);
}

void flow_call(struct flow *f, size_t i, enum client_method method, const ProtobufCMessage *request) {
    struct flow_op *op = mem_alloc(sizeof(*op));
    ensure(op);
    *op = (struct flow_op){f, i};
    bench_call(f->bench, method, request, flow_on_reply, op);
}
