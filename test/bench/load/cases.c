/* What is measured. Each case has a server on a fresh file, warms nothing up, and checks with the server's
 * own count that what it measured has happened. */
#include "cases.h"

#include "base/clock.h"
#include "flow.h"
#include "requests.h"
#include "worker.h"

#define COLD_STARTS 20
#define IDLE_US (2 * USEC_PER_SEC)

size_t scaled(const struct bench *b, size_t n) {
    return MAX((size_t)((double)n * b->scale), b->width);
}

int64_t scaled_us(const struct bench *b, int64_t us) {
    return (int64_t)((double)us * MIN(b->scale, 1.0));
}

void check_count(struct bench *b, const char *query, size_t want) {
    int64_t got = bench_count(b, query);
    if (got != (int64_t)want)
        die("the server counts %lld for \"%s\", and %zu were done", (long long)got, query, want);
}

/* a server alone */

static struct result *measure_cold(struct bench *b, struct samples *ready) {
    struct result *r = &b->table->row;
    struct usage sum = {0};
    for (int i = 0; i < COLD_STARTS; i++) {
        bench_clear_files(b);
        subject_start(&b->subject, b->binary, b->file);
        samples_add(ready, b->subject.ready_us);
        struct usage u = subject_usage(&b->subject);
        sum.cpu_us += u.cpu_us;
        sum.written_bytes += u.written_bytes;
        sum.rss_bytes = MAX(sum.rss_bytes, u.rss_bytes);
        subject_stop(&b->subject);
    }
    *r = (struct result){.name = "cold start, empty file",
                         .width = 1,
                         .ops = COLD_STARTS,
                         .p50_us = samples_at(ready, 0.5),
                         .p99_us = samples_at(ready, 0.99),
                         .p999_us = samples_at(ready, 0.999),
                         .server_cpu_us = (double)sum.cpu_us / COLD_STARTS,
                         .client_cpu_us = -1,
                         .written_bytes = (double)sum.written_bytes / COLD_STARTS,
                         .rss_bytes = sum.rss_bytes};
    for (size_t i = 0; i < ready->count; i++)
        r->seconds += (double)ready->us[i] / 1e6;
    return r;
}

void case_idle(struct bench *b) {
    struct samples ready = {0};
    struct meter m;
    table_print(b->table, measure_cold(b, &ready));
    samples_done(&ready);
    bench_open(b);
    meter_begin(&m, b);
    bench_pause(b, scaled_us(b, IDLE_US));
    struct usage u = subject_usage(&b->subject);
    table_fact(b->table, "idle: resident memory", (double)u.rss_bytes / (1 << 20), "MiB");
    table_fact(b->table, "idle: CPU",
               (double)(u.cpu_us - m.usage.cpu_us) / 1e3 / ((double)scaled_us(b, IDLE_US) / 1e6),
               "ms a second");
    bench_close(b);
}

/* calls */

void begin_system_info(struct flow *f, size_t i) {
    Ws__GetSystemInfoRequest m = WS__GET_SYSTEM_INFO_REQUEST__INIT;
    flow_call(f, i, CALL_GetSystemInfo, &m.base);
}

void begin_start(struct flow *f, size_t i) {
    struct start_request r;
    start_request_fill(&r, f->type, i);
    flow_call(f, i, CALL_StartWorkflowExecution, &r.m.base);
}

void run_flow(struct bench *b, const char *name, size_t total, size_t width, const char *type,
              void (*begin)(struct flow *f, size_t i)) {
    struct flow f;
    struct meter m;
    flow_init(&f, b, total, width, begin);
    f.type = type;
    meter_begin(&m, b);
    flow_run(&f);
    table_print(b->table, meter_end(&m, b, name, width, total, &f.latency));
    flow_done(&f);
}

void case_call(struct bench *b) {
    bench_open(b);
    run_flow(b, "GetSystemInfo", scaled(b, 5000), 1, NULL, begin_system_info);
    run_flow(b, "GetSystemInfo", scaled(b, 60000), b->width, NULL, begin_system_info);
    bench_close(b);
}

void start_many(struct bench *b, const char *type, size_t count) {
    struct flow f;
    flow_init(&f, b, count, b->width, begin_start);
    f.type = type;
    flow_run(&f);
    flow_done(&f);
}

void case_starts(struct bench *b) {
    size_t alone = scaled(b, 500), many = scaled(b, 60000);
    bench_open(b);
    run_flow(b, "start", alone, 1, "alone", begin_start);
    run_flow(b, "start", many, b->width, "many", begin_start);
    check_count(b, "WorkflowType='alone'", alone);
    check_count(b, "WorkflowType='many' AND ExecutionStatus='Running'", many);
    bench_close(b);
}

/* start to completed */

static void on_started(void unused_arg *ctx, const struct client_reply unused_arg *r) {}

static void begin_workflow(struct flow *f, size_t i) {
    struct start_request r;
    start_request_fill(&r, f->type, i);
    bench_call(f->bench, CALL_StartWorkflowExecution, &r.m.base, on_started, f);
}

static void run_complete(struct bench *b, const char *name, size_t activities, size_t total) {
    struct flow f;
    struct meter m;
    struct worker w = {.bench = b, .flow = &f, .activities = activities};
    bench_open(b);
    flow_init(&f, b, total, b->width, begin_workflow);
    f.type = "order";
    worker_start(&w, b->width);
    meter_begin(&m, b);
    flow_run(&f);
    table_print(b->table, meter_end(&m, b, name, b->width, total, &f.latency));
    check_count(b, "WorkflowType='order' AND ExecutionStatus='Completed'", total);
    check_count(b, "ExecutionStatus='Running'", 0);
    bench_close(b);
    flow_done(&f);
    worker_done(&w);
}

void case_complete(struct bench *b) {
    run_complete(b, "complete, no activity", 0, scaled(b, 20000));
    run_complete(b, "complete, one activity", 1, scaled(b, 12000));
    run_complete(b, "complete, ten activities", 10, scaled(b, 2000));
}

/* signals */

#define SIGNALLED 1000 /* workflows */

static void begin_signal_one(struct flow *f, size_t i) {
    struct signal_request r;
    signal_request_fill(&r, "one", 0, i);
    flow_call(f, i, CALL_SignalWorkflowExecution, &r.m.base);
}

static void begin_signal_many(struct flow *f, size_t i) {
    struct signal_request r;
    signal_request_fill(&r, "several", i % SIGNALLED, i);
    flow_call(f, i, CALL_SignalWorkflowExecution, &r.m.base);
}

void case_signals(struct bench *b) {
    bench_open(b);
    start_many(b, "one", 1);
    start_many(b, "several", SIGNALLED);
    run_flow(b, "signals to one", MIN(scaled(b, 8000), 8000u), b->width, NULL, begin_signal_one);
    run_flow(b, "signals to 1000", scaled(b, 50000), b->width, NULL, begin_signal_many);
    bench_close(b);
}

/* timers */

/* The operations are begun by start_many; only their ends count. */
static void begin_nothing(struct flow unused_arg *f, size_t unused_arg i) {}

/* All workflows are there before a worker sets the first timer; how long setting them may take follows from
 * how long starting them took. False: it took longer. */
static bool set_timers(struct bench *b, struct worker *w, size_t total, int64_t patience) {
    int64_t begin = now_us();
    start_many(b, "timer", total);
    w->timer_due_us = wall_us() + patience * (now_us() - begin) + 2 * USEC_PER_SEC;
    w->timers_due = total;
    w->timers_set = 0;
    worker_start(w, b->width);
    while (w->timers_set < total)
        ensure(loop_run(b->loop) == 0);
    return wall_us() < w->timer_due_us;
}

static void open_timers(struct bench *b, struct flow *f, size_t total) {
    bench_open(b);
    flow_init(f, b, total, total, begin_nothing);
    flow_begin(f);
}

void case_timers(struct bench *b) {
    size_t total = scaled(b, 10000);
    struct flow f;
    struct meter m;
    struct worker w = {.bench = b, .flow = &f};
    open_timers(b, &f, total);
    for (int64_t patience = 3; !set_timers(b, &w, total, patience); patience *= 3) {
        flow_wait(&f); /* some have fired already: once more, with more time */
        bench_close(b);
        flow_done(&f);
        worker_done(&w);
        open_timers(b, &f, total);
    }
    meter_begin(&m, b);
    m.begin_us += w.timer_due_us - wall_us();
    flow_wait(&f);
    struct result *r = meter_end(&m, b, "timers due together", total, total, &w.fired_late);
    (void)snprintf(r->note, sizeof(r->note), "last fired after %.2f s; ops/s is fired, told, completed",
                   (double)samples_at(&w.fired_late, 1) / 1e6);
    table_print(b->table, r);
    table_fact(b->table, "timers: last one fired after", (double)samples_at(&w.fired_late, 1) / 1e3, "ms");
    table_fact(b->table, "timers: worker told after, p50", (double)samples_at(&w.told_late, 0.5) / 1e3, "ms");
    table_fact(b->table, "timers: worker told after, p99", (double)samples_at(&w.told_late, 0.99) / 1e3,
               "ms");
    table_fact(b->table, "timers: last worker told after", (double)samples_at(&w.told_late, 1) / 1e3, "ms");
    check_count(b, "WorkflowType='timer' AND ExecutionStatus='Completed'", total);
    bench_close(b);
    flow_done(&f);
    worker_done(&w);
}

/* lists */

static void begin_list(struct flow *f, size_t i) {
    Ws__ListWorkflowExecutionsRequest m = WS__LIST_WORKFLOW_EXECUTIONS_REQUEST__INIT;
    m.namespace_ = mutable_text("default");
    m.query = mutable_text(f->type);
    m.page_size = 20;
    flow_call(f, i, CALL_ListWorkflowExecutions, &m.base);
}

static void begin_count(struct flow *f, size_t i) {
    Ws__CountWorkflowExecutionsRequest m = WS__COUNT_WORKFLOW_EXECUTIONS_REQUEST__INIT;
    m.namespace_ = mutable_text("default");
    m.query = mutable_text(f->type);
    flow_call(f, i, CALL_CountWorkflowExecutions, &m.base);
}

void case_lists(struct bench *b) {
    size_t rows = scaled(b, 1000000);
    bench_open(b);
    start_many(b, "common", rows - b->width);
    start_many(b, "rare", b->width);
    table_fact(b->table, "lists: rows", (double)rows, "runs");
    run_flow(b, "list, first page", 2000, 8, "", begin_list);
    run_flow(b, "list, a rare type", 2000, 8, "WorkflowType='rare'", begin_list);
    run_flow(b, "list, one workflow id", 2000, 8, "WorkflowId='common-7'", begin_list);
    run_flow(b, "list, running of a type", 2000, 8, "WorkflowType='common' AND ExecutionStatus='Running'",
             begin_list);
    run_flow(b, "count, all running", 50, 1, "ExecutionStatus='Running'", begin_count);
    bench_close(b);
}

/* recovery */

static void on_first_task(void *ctx, const struct client_reply *r) {
    struct bench *b = ctx;
    const Ws__PollWorkflowTaskQueueResponse *task = (const void *)r->message;
    if (!task->task_token.len)
        die("no task is offered after recovery");
    loop_stop(b->loop);
}

static void poll_once(struct bench *b) {
    Ws__PollWorkflowTaskQueueRequest m = WS__POLL_WORKFLOW_TASK_QUEUE_REQUEST__INIT;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = mutable_text(QUEUE_NAME);
    m.namespace_ = mutable_text("default");
    m.task_queue = &queue;
    m.identity = mutable_text("bench");
    bench_call(b, CALL_PollWorkflowTaskQueue, &m.base, on_first_task, b);
    ensure(loop_run(b->loop) == 0);
}

/* An operation is one open workflow that is there again; the times are until the server is ready. */
static void print_recovery(struct bench *b, size_t open) {
    struct usage u = subject_usage(&b->subject);
    int64_t ready_us = b->subject.ready_us;
    struct result r = {.name = "recovery, open workflows",
                       .width = 1,
                       .ops = open,
                       .seconds = (double)ready_us / 1e6,
                       .p50_us = ready_us,
                       .p99_us = ready_us,
                       .p999_us = ready_us,
                       .server_cpu_us = (double)u.cpu_us / (double)open,
                       .client_cpu_us = -1,
                       .written_bytes = (double)u.written_bytes / (double)open,
                       .rss_bytes = u.rss_bytes};
    table_print(b->table, &r);
    table_fact(b->table, "recovery: ready after", (double)ready_us / 1e3, "ms");
    table_fact(b->table, "recovery: CPU", (double)u.cpu_us / 1e3, "ms");
}

void case_recovery(struct bench *b) {
    size_t open = scaled(b, 100000);
    bench_open(b);
    struct usage before = subject_usage(&b->subject);
    int64_t bytes_before = bench_file_bytes(b);
    start_many(b, "open", open);
    struct usage after = subject_usage(&b->subject);
    table_fact(b->table, "open workflows", (double)open, "runs");
    table_fact(b->table, "open workflows: on disk for each",
               (double)(bench_file_bytes(b) - bytes_before) / (double)open, "bytes");
    table_fact(b->table, "open workflows: in memory for each",
               (double)(after.rss_bytes - before.rss_bytes) / (double)open, "bytes");
    bench_disconnect(b);
    subject_kill(&b->subject);
    subject_start(&b->subject, b->binary, b->file);
    print_recovery(b, open);
    bench_connect(b);
    int64_t begin = now_us();
    poll_once(b);
    table_fact(b->table, "recovery: then a first task after", (double)(now_us() - begin) / 1e3, "ms");
    table_fact(b->table, "recovery: resident memory",
               (double)subject_usage(&b->subject).rss_bytes / (1 << 20), "MiB");
    check_count(b, "ExecutionStatus='Running'", open);
    bench_close(b);
}

/* backlog */

static double resident_mib(struct bench *b) {
    return (double)subject_usage(&b->subject).rss_bytes / (1 << 20);
}

/* The first ones fill what the server keeps in memory anyway. */
static void fill_backlog(struct bench *b, struct flow *f, size_t first, size_t count) {
    f->type = "order";
    f->total = first;
    flow_run(f);
    double before = resident_mib(b);
    f->total = first + count;
    flow_run(f);
    table_fact(b->table, "backlog: waiting workflows", (double)(first + count), "runs");
    table_fact(b->table, "backlog: resident memory", resident_mib(b), "MiB");
    table_fact(b->table, "backlog: in memory for each of the last",
               (resident_mib(b) - before) * (1 << 20) / (double)count, "bytes");
}

void case_backlog(struct bench *b) {
    size_t first = scaled(b, 20000), count = scaled(b, 100000);
    struct flow starts, f;
    struct meter m;
    struct worker w = {.bench = b, .flow = &f};
    bench_open(b);
    flow_init(&starts, b, first + count, b->width, begin_start);
    fill_backlog(b, &starts, first, count);
    flow_done(&starts);
    bench_disconnect(b);
    subject_kill(&b->subject);
    subject_start(&b->subject, b->binary, b->file);
    table_fact(b->table, "backlog: after kill -9, ready after", (double)b->subject.ready_us / 1e3, "ms");
    table_fact(b->table, "backlog: after kill -9, resident memory", resident_mib(b), "MiB");
    bench_connect(b);
    flow_init(&f, b, first + count, first + count, begin_nothing);
    flow_begin(&f);
    meter_begin(&m, b);
    worker_start(&w, b->width);
    flow_wait(&f);
    table_print(b->table,
                meter_end(&m, b, "taken by a worker, completed", b->width, first + count, &f.latency));
    check_count(b, "WorkflowType='order' AND ExecutionStatus='Completed'", first + count);
    check_count(b, "ExecutionStatus='Running'", 0);
    bench_close(b);
    flow_done(&f);
    worker_done(&w);
}

void case_floors(struct bench *b) {
    floor_sync(b);
    floor_nghttp2(b);
    floor_layer(b);
    floor_sqlite(b);
    floor_store(b);
}
