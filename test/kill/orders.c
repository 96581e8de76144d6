/* One call after the other. Every answer that is not OK is a failure of the server, with one exception: the
 * last signal may have arrived, and the workflow ended, although nobody said so. */
#include "orders.h"

#include <stdio.h>

#include "base/mem.h"
#include "bench/load/bench.h"
#include "bench/load/requests.h"

#define ORDERS_FIRST 1024
#define TASK_TIMEOUT_S 2 /* of a task that a worker had when the server was killed */

struct order *orders_add(struct orders *o) {
    if (o->count == o->room) {
        o->room = o->room ? 2 * o->room : ORDERS_FIRST;
        o->all = mem_resize(o->all, o->room * sizeof *o->all);
        ensure(o->all);
    }
    struct order *added = &o->all[o->count++];
    *added = (struct order){0};
    return added;
}

void orders_done(struct orders *o) {
    mem_free(o->all);
}

static void go_on(struct lane *l);

static void on_reply(void *ctx, const struct client_reply *r) {
    struct lane *l = ctx;
    struct order *o = &l->orders->all[l->order];
    bool is_start = !o->run_id[0];
    bool is_too_late =
        r->code == GRPC_NOT_FOUND && l->is_again && !is_start && o->signals == ORDER_SIGNALS - 1;
    if (r->code != GRPC_OK && !is_too_late)
        die("order %zu: the server answers %d: %s", l->order, r->code, r->text);
    if (is_start)
        (void)snprintf(o->run_id, sizeof o->run_id, "%s",
                       ((const Ws__StartWorkflowExecutionResponse *)(const void *)r->message)->run_id);
    else
        o->signals++;
    l->orders->acknowledged++;
    l->is_busy = l->is_again = o->is_unsure = false;
    go_on(l);
}

static void call(struct lane *l, enum client_method method, const ProtobufCMessage *request) {
    struct client_ask ask = {.method = method, .request = request, .on_reply = on_reply, .ctx = l};
    l->is_busy = true;
    ensure(client_call(l->client, &ask, NULL) == 0);
}

static void send_start(struct lane *l) {
    struct start_request r;
    Google__Protobuf__Duration timeout = GOOGLE__PROTOBUF__DURATION__INIT;
    start_request_fill(&r, ORDER_TYPE, l->order);
    timeout.seconds = TASK_TIMEOUT_S;
    r.m.workflow_task_timeout = &timeout;
    call(l, CALL_StartWorkflowExecution, &r.m.base);
}

static void send_signal(struct lane *l, int i) {
    struct signal_request r;
    signal_request_fill(&r, ORDER_TYPE, l->order, l->order * ORDER_SIGNALS + (size_t)i);
    call(l, CALL_SignalWorkflowExecution, &r.m.base);
}

static void go_on(struct lane *l) {
    if (!l->is_resting && l->orders->all[l->order].signals == ORDER_SIGNALS)
        l->is_resting = true;
    if (l->is_resting && l->is_last)
        return;
    if (l->is_resting) {
        l->order = l->orders->count;
        (void)orders_add(l->orders);
        l->is_resting = false;
    }
    const struct order *o = &l->orders->all[l->order];
    if (!o->run_id[0])
        send_start(l);
    else
        send_signal(l, o->signals);
}

void lane_begin(struct lane *l, struct client *c) {
    l->client = c;
    go_on(l);
}

void lane_pause(struct lane *l) {
    if (l->is_busy) {
        l->orders->all[l->order].is_unsure = true;
        l->orders->unsure++;
        l->is_again = true;
    }
    l->is_busy = false;
    l->client = NULL;
}
