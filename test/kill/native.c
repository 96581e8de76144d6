/* kill_native: kills the real server under load, again and again, and asks it each time for what it had
 * acknowledged.
 *
 *   build/test/kill_native --server build/rondo --rounds 200
 *
 * A round: the server starts on the file of the round before; every order that is not settled yet is looked
 * up; then clients and a worker go on until, at a random moment, the server gets a SIGKILL. After the last
 * round all orders are finished, looked up once more, and counted. The first thing that is missing or there
 * twice ends the program with a line that names it, and the data file stays behind. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "bench/load/bench.h"
#include "bench/load/requests.h"
#include "hands.h"
#include "names.h"

#define LANES 64
#define POLLS 32
#define LIFE_US_MIN (20 * USEC_PER_MS) /* under load, until the kill */
#define LIFE_US_MAX (400 * USEC_PER_MS)
#define FINISH_US (180 * USEC_PER_SEC) /* nothing takes so long; a limit ends only what hangs */

struct killer {
    struct bench bench; /* its server, loop and directory */
    struct client *client;
    struct orders orders;
    struct hands hands;
    struct lane lanes[LANES];
    struct timer *timer;
    struct rng rng;
    bool is_finishing;
    uint64_t looked_up;
};

/* the audit */

struct lookup {
    struct killer *killer;
    size_t i;
    struct order *order;
    bool is_final;
};

static noreturn_fn void mourn(const struct lookup *l, const char *what, size_t got) {
    die("order %zu (run %s): %s (%zu)", l->i, l->order->run_id, what, got);
}

static size_t count_events(const History__History *h, E__EventType type) {
    size_t n = 0;
    for (size_t i = 0; i < h->n_events; i++)
        n += h->events[i]->event_type == type;
    return n;
}

/* While a worker has the task, what arrives is kept beside the history. */
static bool has_started_task(const History__History *h) {
    return count_events(h, EVENT_TYPE_WORKFLOW_TASK_STARTED) >
           count_events(h, EVENT_TYPE_WORKFLOW_TASK_COMPLETED) +
               count_events(h, EVENT_TYPE_WORKFLOW_TASK_FAILED) +
               count_events(h, EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
}

static void judge_counts(const struct lookup *l, const History__History *h) {
    const struct order *o = l->order;
    size_t signals = count_events(h, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
    size_t activities = count_events(h, EVENT_TYPE_ACTIVITY_TASK_COMPLETED);
    size_t ends = count_events(h, EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED);
    bool is_all = !has_started_task(h);
    if (is_all && signals < (size_t)o->signals)
        mourn(l, "a signal that was acknowledged is missing", signals);
    if (signals > (size_t)o->signals + o->is_unsure)
        mourn(l, "a signal is there twice", signals);
    if ((is_all && activities < o->has_activity) || activities > 1)
        mourn(l, "completions of its activity", activities);
    if (ends < o->is_closed || ends > 1)
        mourn(l, "ends", ends);
    if (count_events(h, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED) > 1)
        mourn(l, "its activity was scheduled twice", 2);
    if (l->is_final && (signals != ORDER_SIGNALS || activities != 1 || ends != 1))
        mourn(l, "is not whole at the end", signals);
}

static void on_history(void *ctx, const struct client_reply *r) {
    struct lookup *l = ctx;
    struct order *o = l->order;
    if (r->code == GRPC_NOT_FOUND && !o->run_id[0])
        return;
    if (r->code != GRPC_OK)
        die("order %zu (run %s) is not there: %d %s", l->i, o->run_id, r->code, r->text);
    const Ws__GetWorkflowExecutionHistoryResponse *m = (const void *)r->message;
    const History__History *h = m->history;
    for (size_t i = 0; i < h->n_events; i++)
        if (h->events[i]->event_id != (int64_t)i + 1)
            mourn(l, "its events have a gap", i);
    const char *run_id = h->events[0]->workflow_execution_started_event_attributes->original_execution_run_id;
    if (o->run_id[0] && !cstr_eq(run_id, o->run_id))
        mourn(l, "another run has its id", 0);
    judge_counts(l, h);
    if (!o->is_closed && count_events(h, EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)) {
        o->is_closed = true; /* the answer to its worker was lost */
        l->killer->orders.closed++;
    }
    o->is_settled = o->is_closed && o->signals == ORDER_SIGNALS;
}

static void look_up(struct killer *k, size_t i, bool is_final) {
    Ws__GetWorkflowExecutionHistoryRequest m = WS__GET_WORKFLOW_EXECUTION_HISTORY_REQUEST__INIT;
    Common__WorkflowExecution execution = COMMON__WORKFLOW_EXECUTION__INIT;
    struct lookup l = {k, i, &k->orders.all[i], is_final};
    char id[ID_MAX];
    (void)snprintf(id, sizeof id, ORDER_TYPE "-%zu", i);
    execution.workflow_id = id;
    m.namespace_ = mutable_text("default");
    m.execution = &execution;
    struct client_ask ask = {
        .method = CALL_GetWorkflowExecutionHistory, .request = &m.base, .on_reply = on_history, .ctx = &l};
    ensure(client_call_wait(k->client, &ask) == 0);
    k->looked_up++;
}

static void audit(struct killer *k, bool is_final) {
    for (size_t i = 0; i < k->orders.count; i++)
        if (is_final || !k->orders.all[i].is_settled)
            look_up(k, i, is_final);
}

/* rounds */

static void server_up(struct killer *k) {
    struct err err = {0};
    subject_start(&k->bench.subject, k->bench.binary, k->bench.file);
    if (client_new(k->bench.loop, k->bench.subject.grpc, &k->client, &err) < 0)
        die("%s", err.text);
}

/* What was on its way is never heard of. */
static void client_down(struct killer *k) {
    client_free(take(&k->client));
    for (size_t i = 0; i < LANES; i++)
        lane_pause(&k->lanes[i]);
    hands_pause(&k->hands);
}

static void load_up(struct killer *k) {
    hands_begin(&k->hands, k->client, POLLS);
    for (size_t i = 0; i < LANES; i++)
        lane_begin(&k->lanes[i], k->client);
}

static void on_time(void *ctx) {
    struct killer *k = ctx;
    if (k->is_finishing)
        die("%zu of %zu orders have ended, and no more do", k->orders.closed, k->orders.count);
    loop_stop(k->bench.loop);
}

/* When the answer to the last one of them is lost, its end is seen in its history. */
static void on_closed(void *ctx) {
    struct killer *k = ctx;
    if (k->is_finishing && k->orders.closed == k->orders.count)
        loop_stop(k->bench.loop);
}

static void run_round(struct killer *k) {
    server_up(k);
    audit(k, false);
    load_up(k);
    timer_set(k->timer, LIFE_US_MIN + (int64_t)rng_below(&k->rng, (uint64_t)(LIFE_US_MAX - LIFE_US_MIN)));
    ensure(loop_run(k->bench.loop) == 0);
    subject_kill(&k->bench.subject);
    client_down(k);
}

/* What was begun is finished, by a server that lives. */
static void finish(struct killer *k) {
    server_up(k);
    audit(k, false);
    k->is_finishing = true;
    for (size_t i = 0; i < LANES; i++)
        k->lanes[i].is_last = true;
    load_up(k);
    timer_set(k->timer, FINISH_US);
    if (k->orders.closed < k->orders.count)
        ensure(loop_run(k->bench.loop) == 0);
    timer_clear(k->timer);
    client_down(k);
    bench_connect(&k->bench);
    k->client = k->bench.clients[0];
    audit(k, true);
    int64_t there = bench_count(&k->bench, "");
    if (there != (int64_t)k->orders.count)
        die("%zu orders were begun, %" PRId64 " are there", k->orders.count, there);
    bench_close(&k->bench);
}

static void report(const struct killer *k, size_t rounds) {
    printf("%zu kills; %zu orders; %" PRIu64 " calls acknowledged, %" PRIu64 " cut off; %" PRIu64
           " histories looked up: nothing missing, nothing twice\n",
           rounds, k->orders.count, k->orders.acknowledged, k->orders.unsure, k->looked_up);
}

static void killer_init(struct killer *k, const char *binary, const char *directory, uint64_t seed) {
    *k = (struct killer){.bench = {.binary = binary, .connection_count = 1}};
    (void)snprintf(k->bench.directory, sizeof k->bench.directory, "%s/kill_native.XXXXXX", directory);
    if (!mkdtemp(k->bench.directory))
        die("cannot make a directory in %s", directory);
    (void)snprintf(k->bench.file, sizeof k->bench.file, "%s/kill.db", k->bench.directory);
    list_init(&k->bench.calls);
    list_init(&k->hands.answers);
    rng_init(&k->rng, seed);
    k->hands.orders = &k->orders;
    k->hands.on_closed = on_closed;
    k->hands.ctx = k;
    for (size_t i = 0; i < LANES; i++)
        k->lanes[i] = (struct lane){.orders = &k->orders, .is_resting = true};
    ensure(loop_new(&k->bench.loop) == 0 && timer_new(k->bench.loop, on_time, k, &k->timer) == 0);
}

static void killer_done(struct killer *k) {
    timer_free(k->timer);
    loop_free(k->bench.loop);
    orders_done(&k->orders);
    bench_clear_files(&k->bench);
    (void)rmdir(k->bench.directory); /* somebody put a file of theirs there */
}

static noreturn_fn void usage(void) {
    (void)fputs("usage: kill_native --server FILE [--rounds N] [--seed N] [--dir DIRECTORY]\n", stderr);
    exit(2);
}

int main(int argc, char **argv) {
    const char *binary = NULL, *directory = ".";
    int64_t rounds = 10, seed = 1;
    for (int i = 1; i < argc; i += 2) {
        const char *flag = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool is_fine = value != NULL;
        if (is_fine && cstr_eq(flag, "--server"))
            binary = value;
        else if (is_fine && cstr_eq(flag, "--dir"))
            directory = value;
        else if (is_fine && cstr_eq(flag, "--rounds"))
            is_fine = str_to_i64(str_of(value), &rounds) == 0;
        else if (is_fine && cstr_eq(flag, "--seed"))
            is_fine = str_to_i64(str_of(value), &seed) == 0;
        else
            is_fine = false;
        if (!is_fine)
            usage();
    }
    if (!binary)
        usage();
    struct killer k;
    killer_init(&k, binary, directory, (uint64_t)seed);
    for (int64_t i = 0; i < rounds; i++)
        run_round(&k);
    finish(&k);
    report(&k, (size_t)rounds);
    killer_done(&k);
    return 0;
}
