/* Schedules: many that wait, many that are due in one second, and how many of one second can be kept up with.
 *
 * How late each start was, and that each time was started exactly once, is read from the ledgers afterwards.
 * Nobody polls for the workflows: what is measured is that they begin when they should. */
#include "cases.h"

#include "base/clock.h"
#include "base/mem.h"
#include "flow.h"
#include "requests.h"
#include "rondo.pb-c.h"
#include "schedules.h"

#define EVERY_SECONDS 10 /* how long schedules of one second run */
#define SETTLE_US (3 * USEC_PER_SEC) /* for those of the last second */
#define WAIT_MAX_US (120 * USEC_PER_SEC)

struct schedule_request {
    Ws__CreateScheduleRequest m;
    Schedule__Schedule schedule;
    Schedule__ScheduleSpec spec;
    Schedule__IntervalSpec interval, *intervals[1];
    Google__Protobuf__Duration every, phase;
    Google__Protobuf__Timestamp end;
    Schedule__ScheduleAction action;
    Workflow__NewWorkflowExecutionInfo info;
    Schedule__SchedulePolicies policies;
    Common__WorkflowType type;
    Taskqueue__TaskQueue queue;
    struct payloads input;
    char id[ID_MAX];
    char request_id[ID_MAX];
};

static void schedule_fill(struct schedule_request *r, const char *type, size_t i, const struct plan *plan) {
    ws__create_schedule_request__init(&r->m);
    schedule__schedule__init(&r->schedule);
    schedule__schedule_spec__init(&r->spec);
    schedule__interval_spec__init(&r->interval);
    schedule__schedule_action__init(&r->action);
    schedule__schedule_policies__init(&r->policies);
    workflow__new_workflow_execution_info__init(&r->info);
    common__workflow_type__init(&r->type);
    taskqueue__task_queue__init(&r->queue);
    google__protobuf__duration__init(&r->every);
    google__protobuf__duration__init(&r->phase);
    google__protobuf__timestamp__init(&r->end);
    (void)snprintf(r->id, sizeof(r->id), "%s-%zu", type, i);
    (void)snprintf(r->request_id, sizeof(r->request_id), "create-%s-%zu", type, i);
    r->every.seconds = plan->every_s;
    r->phase.seconds = plan->phase_s;
    r->end.seconds = plan->end_s;
    r->interval.interval = &r->every;
    r->interval.phase = &r->phase;
    r->intervals[0] = &r->interval;
    r->spec.interval = r->intervals;
    r->spec.n_interval = 1;
    r->spec.end_time = plan->end_s ? &r->end : NULL;
    r->type.name = mutable_text(type);
    r->queue.name = mutable_text(QUEUE_NAME);
    r->info.workflow_id = r->id;
    r->info.workflow_type = &r->type;
    r->info.task_queue = &r->queue;
    r->info.input = payloads_fill(&r->input);
    r->action.action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    r->action.start_workflow = &r->info;
    r->policies.overlap_policy = E__SCHEDULE_OVERLAP_POLICY__SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
    r->schedule.spec = &r->spec;
    r->schedule.action = &r->action;
    r->schedule.policies = &r->policies;
    r->m.namespace_ = mutable_text("default");
    r->m.schedule_id = r->id;
    r->m.request_id = r->request_id;
    r->m.identity = mutable_text("bench");
    r->m.schedule = &r->schedule;
}

void begin_create(struct flow *f, size_t i) {
    struct schedule_request r;
    schedule_fill(&r, f->type, i, f->owner);
    flow_call(f, i, CALL_CreateSchedule, &r.m.base);
}

static void create_many(struct bench *b, const char *type, size_t count, struct plan *plan,
                        bool is_measured) {
    struct flow f;
    struct meter m;
    flow_init(&f, b, count, b->width, begin_create);
    f.type = type;
    f.owner = plan;
    meter_begin(&m, b);
    flow_run(&f);
    if (is_measured)
        table_print(b->table, meter_end(&m, b, "create a schedule", b->width, count, &f.latency));
    flow_done(&f);
}

/* ledgers */

struct ledger {
    struct bench *bench;
    const char *type;
    size_t per_schedule; /* starts that each must have; 0: as many as there were */
    int64_t last_s; /* the last of them; 0: whichever it was */
    struct samples late;
    struct flow *flow;
};

struct ledger_call {
    struct ledger *ledger;
    size_t i;
};

static void on_ledger(void *ctx, const struct client_reply *r) {
    struct ledger_call *call = ctx;
    struct ledger *l = call->ledger;
    const Rondo__ListScheduleLedgerResponse *all = (const void *)r->message;
    if (l->per_schedule && all->n_entries != l->per_schedule)
        die("schedule %s-%zu has %zu times in its ledger, not %zu", l->type, call->i, all->n_entries,
            l->per_schedule);
    if (l->last_s && (!all->n_entries || all->entries[0]->nominal_time->seconds != l->last_s))
        die("the last time of schedule %s-%zu is not in its ledger", l->type, call->i);
    for (size_t e = 0; e < all->n_entries; e++) {
        const Rondo__LedgerEntry *x = all->entries[e];
        if (x->fate != RONDO__LEDGER_FATE__LEDGER_FATE_STARTED)
            die("a time of schedule %s-%zu was not started: %s", l->type, call->i, x->reason);
        if (e && x->nominal_time->seconds != all->entries[e - 1]->nominal_time->seconds - 1)
            die("schedule %s-%zu left out a time, or took one twice", l->type, call->i);
        samples_add(&l->late, (x->start_time->seconds - x->nominal_time->seconds) * USEC_PER_SEC +
                                  x->start_time->nanos / 1000);
    }
    flow_end(l->flow, call->i);
    mem_free(call);
}

static void begin_ledger(struct flow *f, size_t i) {
    struct ledger *l = f->owner;
    struct ledger_call *call = mem_alloc(sizeof(*call));
    Rondo__ListScheduleLedgerRequest m = RONDO__LIST_SCHEDULE_LEDGER_REQUEST__INIT;
    char id[ID_MAX];
    ensure(call);
    *call = (struct ledger_call){l, i};
    (void)snprintf(id, sizeof(id), "%s-%zu", l->type, i);
    m.namespace_ = mutable_text("default");
    m.schedule_id = id;
    m.maximum_page_size = 1000;
    bench_call(f->bench, CALL_ListScheduleLedger, &m.base, on_ledger, call);
}

/* How late they were, for the row of the table. */
static void read_ledgers(struct ledger *l, struct bench *b, size_t count, struct result *r) {
    struct flow f;
    flow_init(&f, b, count, b->width, begin_ledger);
    f.owner = l;
    l->flow = &f;
    flow_run(&f);
    flow_done(&f);
    r->p50_us = samples_at(&l->late, 0.5);
    r->p99_us = samples_at(&l->late, 0.99);
    r->p999_us = samples_at(&l->late, 0.999);
    (void)snprintf(r->note, sizeof(r->note), "the times are lateness; the last was %.2f s late",
                   (double)samples_at(&l->late, 1) / 1e6);
    table_print(b->table, r);
    samples_done(&l->late);
}

/* Until the server lists so many; ends the program when they do not come. */
static void await_started(struct bench *b, const char *query, size_t want) {
    int64_t until = now_us() + WAIT_MAX_US;
    while (bench_count(b, query) < (int64_t)want) {
        if (now_us() > until)
            die("only %lld of %zu were started", (long long)bench_count(b, query), want);
        bench_pause(b, 50 * USEC_PER_MS);
    }
}

/* cases */

void case_schedules(struct bench *b) {
    size_t count = MAX((size_t)(50000 * b->scale), b->width);
    struct plan yearly = {.every_s = 365 * 86400};
    bench_open(b);
    struct usage before = subject_usage(&b->subject);
    int64_t bytes_before = bench_file_bytes(b);
    create_many(b, "yearly", count, &yearly, true);
    table_fact(b->table, "schedules", (double)count, "schedules");
    table_fact(b->table, "schedules: on disk for each",
               (double)(bench_file_bytes(b) - bytes_before) / (double)count, "bytes");
    table_fact(b->table, "schedules: in memory for each",
               (double)(subject_usage(&b->subject).rss_bytes - before.rss_bytes) / (double)count, "bytes");
    bench_disconnect(b);
    subject_kill(&b->subject);
    subject_start(&b->subject, b->binary, b->file);
    table_fact(b->table, "schedules: restart, ready after", (double)b->subject.ready_us / 1e3, "ms");
    struct usage again = subject_usage(&b->subject);
    table_fact(b->table, "schedules: restart, CPU", (double)again.cpu_us / 1e3, "ms");
    table_fact(b->table, "schedules: restart, in memory for each",
               (double)(again.rss_bytes - before.rss_bytes) / (double)count, "bytes");
    bench_connect(b);
    bench_close(b);
}

#define CREATE_RATE 1000 /* schedules a second that can be created, unless the machine is busy */

/* On a fresh server, all due in the second that is returned; 0: it was there before they all were. */
static int64_t create_due(struct bench *b, size_t count, int64_t margin_s) {
    int64_t day = 86400, due_s = wall_us() / USEC_PER_SEC + margin_s;
    struct plan plan = {.every_s = day, .phase_s = due_s % day};
    bench_open(b);
    create_many(b, "due", count, &plan, false);
    return wall_us() < due_s * USEC_PER_SEC ? due_s : 0;
}

void case_due(struct bench *b) {
    size_t count = MAX((size_t)(10000 * b->scale), b->width);
    struct ledger l = {.bench = b, .type = "due", .per_schedule = 1};
    struct meter m;
    int64_t due_s, margin_s = (int64_t)(count / CREATE_RATE) + 3;
    for (; !(due_s = create_due(b, count, margin_s)); margin_s *= 3)
        bench_close(b);
    meter_begin(&m, b);
    m.begin_us += due_s * USEC_PER_SEC - wall_us();
    bench_pause(b, due_s * USEC_PER_SEC - wall_us());
    await_started(b, "WorkflowType='due'", count);
    struct result *r = meter_end(&m, b, "schedules due together", count, count, &l.late);
    read_ledgers(&l, b, count, r);
    bench_close(b);
}

static void run_every_second(struct bench *b, size_t count) {
    int64_t end_s = wall_us() / USEC_PER_SEC + (int64_t)(count / CREATE_RATE) + 3 + EVERY_SECONDS;
    struct plan plan = {.every_s = 1, .end_s = end_s};
    struct ledger l = {.bench = b, .type = "tick", .last_s = end_s};
    struct meter m;
    bench_open(b);
    create_many(b, "tick", count, &plan, false);
    int64_t begun = bench_count(b, "WorkflowType='tick'");
    meter_begin(&m, b);
    bench_pause(b, MAX(end_s * USEC_PER_SEC - wall_us(), 0));
    size_t ops = (size_t)(bench_count(b, "WorkflowType='tick'") - begun);
    struct result *r = meter_end(&m, b, "schedules of one second", count, ops, &l.late);
    bench_pause(b, SETTLE_US);
    read_ledgers(&l, b, count, r);
    bench_close(b);
}

void case_ticks(struct bench *b) {
    run_every_second(b, MAX((size_t)(500 * b->scale), 10u));
    run_every_second(b, MAX((size_t)(2000 * b->scale), 10u));
}
