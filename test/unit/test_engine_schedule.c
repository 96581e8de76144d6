/* Schedules through the engine: starts that fail, and what is left of a schedule that has ended. */
#include "core/schedule/schedule.h"
#include "engine/counters.h"
#include "engine_fixture.h"

#include <stdio.h>
#include <unistd.h>

#define SCHEDULE "minutely"
#define MINUTE_US (60 * USEC_PER_SEC)
#define DAY_US (INT64_C(86400) * USEC_PER_SEC)

/* calls */

/* Acts at every full minute; the rig begins at 22:13:20. */
static Ws__CreateScheduleRequest *ask_create(struct rig *r, struct ask *a, const char *request_id) {
    struct arena *arena = ask_begin(r, a);
    Ws__CreateScheduleRequest *req =
        MAKE(arena, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    Schedule__Schedule *s = MAKE(arena, Schedule__Schedule, schedule__schedule__init);
    Workflow__NewWorkflowExecutionInfo *w =
        MAKE(arena, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->request_id = make_text(arena, request_id);
    req->schedule = s;
    s->spec = MAKE(arena, Schedule__ScheduleSpec, schedule__schedule_spec__init);
    s->spec->cron_string = arena_array(arena, char *, 1);
    ensure(s->spec->cron_string);
    s->spec->cron_string[s->spec->n_cron_string++] = make_text(arena, "* * * * *");
    s->state = MAKE(arena, Schedule__ScheduleState, schedule__schedule_state__init);
    s->action = MAKE(arena, Schedule__ScheduleAction, schedule__schedule_action__init);
    s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    s->action->start_workflow = w;
    w->workflow_id = make_text(arena, "wf");
    w->workflow_type = MAKE(arena, Common__WorkflowType, common__workflow_type__init);
    w->workflow_type->name = make_text(arena, "type");
    w->task_queue = make_queue(arena, "queue");
    return req;
}

static void create(struct rig *r, const char *request_id) {
    cleanup(ask_done) struct ask a = {0};
    RIG_SEND(r, &a, create_schedule, ask_create(r, &a, request_id));
    if (r->is_manual)
        rig_settle(r);
    CHECK_OK(&a);
}

static Ws__DeleteScheduleRequest *ask_delete(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DeleteScheduleRequest *req =
        MAKE(arena, Ws__DeleteScheduleRequest, ws__delete_schedule_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    return req;
}

static int delete (struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    RIG_SEND(r, &a, delete_schedule, ask_delete(r, &a));
    CHECK(a.is_done);
    return a.err.code;
}

static void describe(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DescribeScheduleRequest *req =
        MAKE(arena, Ws__DescribeScheduleRequest, ws__describe_schedule_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    RIG_SEND(r, a, describe_schedule, req);
    if (r->is_manual)
        rig_settle(r);
}

static void ask_ledger(struct rig *r, struct ask *a, const char *run_id) {
    struct arena *arena = ask_begin(r, a);
    Rondo__ListScheduleLedgerRequest *req =
        MAKE(arena, Rondo__ListScheduleLedgerRequest, rondo__list_schedule_ledger_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->run_id = make_text(arena, run_id);
    RIG_SEND(r, a, list_schedule_ledger, req);
    if (r->is_manual)
        rig_settle(r);
}

/* The rows, the last first: "3 2/1" is fate 3, and fate 2 of a run with status 1. */
static const Rondo__ListScheduleLedgerResponse *check_ledger(struct rig *r, struct ask *a, const char *run_id,
                                                             const char *want) {
    static const Rondo__ListScheduleLedgerResponse nothing = RONDO__LIST_SCHEDULE_LEDGER_RESPONSE__INIT;
    char got[200] = "";
    ask_ledger(r, a, run_id);
    CHECK_OK(a);
    const Rondo__ListScheduleLedgerResponse *resp = a->response ? a->response : &nothing;
    for (size_t i = 0; i < resp->n_entries; i++) {
        size_t n = strlen(got);
        const Rondo__LedgerEntry *e = resp->entries[i];
        (void)snprintf(got + n, sizeof got - n, e->status ? "%s%d/%d" : "%s%d", n ? " " : "", (int)e->fate,
                       (int)e->status);
    }
    CHECK_STR(got, want);
    return resp;
}

static const char *last_reason(const Rondo__ListScheduleLedgerResponse *resp) {
    return resp->n_entries ? resp->entries[0]->reason : "";
}

/* starts that fail */

/* Starts of large workflows until the engine takes no more; none of them is on disk. */
static void fill_group(struct rig *r) {
    enum { STARTS_MAX = 60, BYTES = 2000000 };
    struct ask asks[STARTS_MAX];
    int code = 0, n = 0;
    for (; n < STARTS_MAX && code != ERR_BUSY; n++) {
        char id[24];
        (void)snprintf(id, sizeof id, "large%d", n);
        asks[n] = (struct ask){0};
        Ws__StartWorkflowExecutionRequest *req = ask_start(r, &asks[n], id);
        req->input = make_payloads(ask_arena(&asks[n]), make_long_text(ask_arena(&asks[n]), BYTES));
        RIG_SEND(r, &asks[n], start_workflow, req);
        if (!asks[n].is_done)
            mem_store_answer(r->store, 1, 0); /* behind the one of the action */
        code = asks[n].err.code;
    }
    CHECK_INT(code, ERR_BUSY);
    while (n-- > 0) {
        ask_cancel(r, &asks[n]);
        ask_done(&asks[n]);
    }
}

TEST(a_start_waits_while_the_server_is_busy) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_sweep(&r);
    create(&r, "one");
    rig_advance(&r, 40 * USEC_PER_SEC); /* the action asks the store whether its id is free */
    CHECK_INT(mem_store_pending_reads(r.store), 1);
    fill_group(&r);
    rig_settle(&r);
    CHECK_STR(last_reason(check_ledger(&r, &a, "", "1")), "Busy, try again.");
    describe(&r, &a);
    const Ws__DescribeScheduleResponse *d = a.response;
    CHECK(!d || (d->info->buffer_size == 1 && d->info->start_failed == 0 && d->info->action_count == 0));
    rig_advance(&r, 999 * USEC_PER_MS);
    rig_settle(&r);
    check_ledger(&r, &a, "", "1");
    rig_advance(&r, USEC_PER_MS);
    rig_settle(&r);
    check_ledger(&r, &a, "", "2/1");
}

static void check_failed(struct rig *r, const char *reason) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    rig_advance(r, MINUTE_US);
    CHECK_STR(last_reason(check_ledger(r, &a, "", "9")), reason);
    describe(r, &b);
    const Ws__DescribeScheduleResponse *d = b.response;
    CHECK(!d || (d->info->start_failed == 1 && d->info->buffer_size == 0));
}

TEST(a_start_for_a_version_that_nobody_runs_fails_at_once) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__CreateScheduleRequest *req = ask_create(&r, &a, "one");
    struct arena *arena = ask_arena(&a);
    Workflow__VersioningOverride *o =
        MAKE(arena, Workflow__VersioningOverride, workflow__versioning_override__init);
    o->override_case = WORKFLOW__VERSIONING_OVERRIDE__OVERRIDE_PINNED;
    o->pinned = MAKE(arena, Workflow__VersioningOverride__PinnedOverride,
                     workflow__versioning_override__pinned_override__init);
    o->pinned->behavior =
        WORKFLOW__VERSIONING_OVERRIDE__PINNED_OVERRIDE_BEHAVIOR__PINNED_OVERRIDE_BEHAVIOR_PINNED;
    o->pinned->version =
        MAKE(arena, Deployment__WorkerDeploymentVersion, deployment__worker_deployment_version__init);
    o->pinned->version->deployment_name = make_text(arena, "service");
    o->pinned->version->build_id = make_text(arena, "7");
    req->schedule->action->start_workflow->versioning_override = o;
    RIG_SEND(&r, &a, create_schedule, req);
    CHECK_OK(&a);
    check_failed(&r, "Pinned version 'service:7' is not present in task queue 'queue' of type 'Workflow'");
}

TEST(a_start_in_a_deprecated_namespace_fails_at_once) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "one");
    Ws__DeprecateNamespaceRequest *req =
        MAKE(ask_begin(&r, &a), Ws__DeprecateNamespaceRequest, ws__deprecate_namespace_request__init);
    req->namespace_ = make_text(ask_arena(&a), "default");
    RIG_SEND(&r, &a, deprecate_namespace, req);
    CHECK_OK(&a);
    check_failed(&r, "Namespace has invalid state: Deprecated. Must be Registered.");
}

/* The action was fine for the schedule, and the limit for starts is lower. */
TEST(a_start_above_a_limit_fails_at_once) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__CreateScheduleRequest *req = ask_create(&r, &a, "one");
    req->schedule->action->start_workflow->input =
        make_payloads(ask_arena(&a), make_long_text(ask_arena(&a), 5000));
    RIG_SEND(&r, &a, create_schedule, req);
    CHECK_OK(&a);
    r.limits.values[SETTABLE_BLOB_BYTES] = 4000;
    rig_restart(&r);
    check_failed(&r, "Blob data size exceeds limit.");
}

/* what is left of a schedule */

TEST(the_ledger_of_a_deleted_schedule_stays) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, poll = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "one");
    rig_advance(&r, MINUTE_US);
    rig_advance(&r, MINUTE_US);
    CHECK_INT(delete (&r), 0);
    describe(&r, &a);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    CHECK_INT(delete (&r), ERR_NOT_FOUND);
    const Rondo__ListScheduleLedgerResponse *resp = check_ledger(&r, &a, "", "3 2/1");
    CHECK_INT(resp->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    CHECK_INT(resp->end_time ? resp->end_time->seconds : 0, r.now.wall.us / USEC_PER_SEC);
    CHECK_STR(resp->previous_run_id, "");
    rig_poll(&r, &poll, "queue"); /* what runs is told to the ledger still */
    rig_finish(&r, &b, &poll);
    CHECK_OK(&b);
    rig_restart(&r);
    check_ledger(&r, &a, "", "3 2/2");
}

/* Everything but the oldest read. */
static void settle_all_but_one(struct rig *r) {
    rig_turn(r);
    while (mem_store_pending_reads(r->store) > 1 || mem_store_pending_commits(r->store) > 0) {
        if (mem_store_pending_commits(r->store) > 0) {
            rig_commit(r);
        } else {
            mem_store_answer(r->store, 1, 0);
            rig_turn(r);
        }
    }
}

static void check_nothing_starts(struct rig *r) {
    cleanup(ask_done) struct ask a = {0}, poll = {0};
    check_ledger(r, &a, "", "14");
    rig_poll(r, &poll, "queue");
    rig_settle(r);
    CHECK(!poll.is_done);
    ask_cancel(r, &poll);
}

/* The schedule is asked for by nobody else meanwhile, and is not kept in memory for its own sake. */
TEST(a_start_on_its_way_does_not_outlive_the_schedule) {
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_sweep(&r);
    create(&r, "one");
    rig_advance(&r, 40 * USEC_PER_SEC);
    while (mem_store_pending_reads(r.store) && !mem_store_pending_commits(r.store))
        rig_read(&r);
    REQUIRE(mem_store_pending_commits(r.store) == 1);
    rig_commit(&r);
    REQUIRE(mem_store_pending_reads(r.store) == 1); /* the action asks the store whether its id is free */
    cleanup(ask_done) struct ask gone = {0};
    RIG_SEND(&r, &gone, delete_schedule, ask_delete(&r, &gone));
    settle_all_but_one(&r);
    CHECK_OK(&gone);
    CHECK_INT(mem_store_pending_reads(r.store), 1);
    rig_settle(&r);
    check_nothing_starts(&r);
    rig_restart(&r);
    rig_settle(&r);
    check_nothing_starts(&r);
}

/* "Not found" is what a second delete takes for success. */
TEST(a_schedule_is_not_found_when_its_end_is_on_disk) {
    cleanup(rig_done) struct rig r;
    cleanup(ask_done) struct ask first = {0}, second = {0};
    rig_init_manual(&r);
    rig_settle(&r);
    create(&r, "one");
    rig_settle(&r);
    RIG_SEND(&r, &first, delete_schedule, ask_delete(&r, &first));
    RIG_SEND(&r, &second, delete_schedule, ask_delete(&r, &second));
    CHECK(!first.is_done && !second.is_done);
    rig_settle(&r);
    CHECK_OK(&first);
    CHECK_INT(second.err.code, ERR_NOT_FOUND);
}

TEST(the_ledgers_of_all_schedules_of_an_id_are_read_by_run) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "one");
    rig_advance(&r, MINUTE_US);
    CHECK_INT(delete (&r), 0);
    create(&r, "two");
    describe(&r, &c);
    const Ws__DescribeScheduleResponse *d = c.response;
    const Rondo__ListScheduleLedgerResponse *second = check_ledger(&r, &a, "", "");
    CHECK_INT(second->status, WORKFLOW_EXECUTION_STATUS_RUNNING);
    CHECK(!second->end_time);
    CHECK_STR(second->run_id, d ? d->info->run_id : "");
    const Rondo__ListScheduleLedgerResponse *first = check_ledger(&r, &b, second->previous_run_id, "2/1");
    CHECK_STR(first->run_id, second->previous_run_id);
    CHECK_INT(first->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    check_ledger(&r, &c, second->run_id, "");
    ask_ledger(&r, &c, "no-run-id");
    CHECK_FAILS(&c, ERR_INVALID, "Invalid RunId.");
    ask_ledger(&r, &c, "11111111-2222-4333-8444-555555555555");
    CHECK_FAILS(&c, ERR_NOT_FOUND, "schedule \"" SCHEDULE "\" not found");
    rig_start(&r, &c, "workflow");
    const Ws__StartWorkflowExecutionResponse *started = c.response;
    ask_ledger(&r, &a, started ? started->run_id : "");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "schedule \"" SCHEDULE "\" not found");
}

/* The namespace keeps what is closed for three days. */
TEST(the_ledger_goes_with_the_retention) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__CreateScheduleRequest *req = ask_create(&r, &a, "one");
    req->schedule->state->limited_actions = true;
    RIG_SEND(&r, &a, create_schedule, req);
    CHECK_OK(&a);
    for (int i = 0; i < 8; i++)
        rig_advance(&r, DAY_US);
    const Rondo__ListScheduleLedgerResponse *resp = check_ledger(&r, &a, "", "7");
    CHECK_INT(resp->status, WORKFLOW_EXECUTION_STATUS_COMPLETED);
    int64_t times = 0;
    for (size_t i = 0; i < resp->n_entries; i++)
        times += resp->entries[i]->count;
    CHECK_INT(times, 7 * 24 * 60);
    for (int i = 0; i < 4; i++)
        rig_advance(&r, DAY_US);
    ask_ledger(&r, &b, "");
    CHECK_FAILS(&b, ERR_NOT_FOUND, "schedule \"" SCHEDULE "\" not found");
}

TEST(an_explanation_says_that_the_schedule_has_ended) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "one");
    CHECK_INT(delete (&r), 0);
    struct arena *arena = ask_begin(&r, &a);
    Rondo__ExplainScheduleTimeRequest *req =
        MAKE(arena, Rondo__ExplainScheduleTimeRequest, rondo__explain_schedule_time_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->time = MAKE(arena, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
    req->time->seconds = 1700000040;
    RIG_SEND(&r, &a, explain_schedule_time, req);
    CHECK_OK(&a);
    const Rondo__ExplainScheduleTimeResponse *resp = a.response;
    CHECK_STR(resp ? resp->explanation : "",
              "2023-11-14T22:14:00Z is a time of this schedule; the schedule has ended.");
}

/* requests */

TEST(a_trigger_that_makes_no_sense_is_refused) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "one");
    struct arena *arena = ask_begin(&r, &a);
    Rondo__TriggerScheduleRequest *req =
        MAKE(arena, Rondo__TriggerScheduleRequest, rondo__trigger_schedule_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->scheduled_time = MAKE(arena, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
    req->scheduled_time->seconds = INT64_MAX;
    RIG_SEND(&r, &a, trigger_schedule, req);
    CHECK_FAILS(&a, ERR_INVALID, "ScheduledTime is not a valid time");
    check_ledger(&r, &b, "", "");
}

#define TRIGGERS (LIMIT_SCHEDULE_REQUESTS + 20)

struct triggers {
    struct ask each[TRIGGERS];
};

static void triggers_done(struct triggers *all) {
    for (size_t i = 0; i < TRIGGERS; i++)
        ask_done(&all->each[i]);
}

static void send_trigger(struct rig *r, struct ask *a, E__ScheduleOverlapPolicy policy) {
    struct arena *arena = ask_begin(r, a);
    Rondo__TriggerScheduleRequest *req =
        MAKE(arena, Rondo__TriggerScheduleRequest, rondo__trigger_schedule_request__init);
    req->namespace_ = make_text(arena, "default");
    req->schedule_id = make_text(arena, SCHEDULE);
    req->overlap_policy = policy;
    RIG_SEND(r, a, trigger_schedule, req);
}

static void trigger_many(E__ScheduleOverlapPolicy policy) {
    cleanup(triggers_done) struct triggers all = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    create(&r, "one");
    for (size_t i = 0; i < TRIGGERS; i++)
        send_trigger(&r, &all.each[i], policy);
    rig_settle(&r);
    for (size_t i = 0; i < TRIGGERS; i++) {
        CHECK_OK(&all.each[i]);
        const Rondo__TriggerScheduleResponse *resp = all.each[i].response;
        bool is_first = i == 0 || policy == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
        CHECK_INT(resp && resp->entry ? resp->entry->fate : 0,
                  is_first ? LEDGER_FATE_STARTED : LEDGER_FATE_OVERLAP_SKIPPED);
    }
}

/* More at once than a schedule remembers: each hears what became of it. */
TEST(many_triggers_are_all_answered) {
    trigger_many(SCHEDULE_OVERLAP_POLICY_ALLOW_ALL);
    trigger_many(SCHEDULE_OVERLAP_POLICY_SKIP);
}

/* The next run is told of a timeout as of any other failure. */
TEST(a_run_that_timed_out_is_told_of) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, h = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__CreateScheduleRequest *req = ask_create(&r, &a, "one");
    Workflow__NewWorkflowExecutionInfo *w = req->schedule->action->start_workflow;
    w->workflow_run_timeout =
        MAKE(ask_arena(&a), Google__Protobuf__Duration, google__protobuf__duration__init);
    w->workflow_run_timeout->seconds = 10;
    RIG_SEND(&r, &a, create_schedule, req);
    CHECK_OK(&a);
    rig_advance(&r, 40 * USEC_PER_SEC); /* it is 22:14 */
    rig_advance(&r, 15 * USEC_PER_SEC);
    rig_advance(&r, 45 * USEC_PER_SEC);
    check_ledger(&r, &b, "", "2/1 2/7");
    rig_history(&r, &h, "wf-2023-11-14T22:15:00Z");
    const Ws__GetWorkflowExecutionHistoryResponse *resp = h.response;
    REQUIRE(resp && resp->history && resp->history->n_events);
    const Failure__Failure *failure =
        resp->history->events[0]->workflow_execution_started_event_attributes->continued_failure;
    REQUIRE(failure);
    CHECK_STR(failure->message, "workflow timeout");
    CHECK(failure->timeout_failure_info);
}

/* the clock is set */

#define HOUR_US (60 * MINUTE_US)

/* Times that were considered. Those that came to the same share a row. */
static int64_t count_times(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    ask_ledger(r, &a, "");
    CHECK_OK(&a);
    const Rondo__ListScheduleLedgerResponse *resp = a.response;
    int64_t times = 0;
    for (size_t i = 0; resp && i < resp->n_entries; i++)
        times += resp->entries[i]->count;
    return times;
}

static void set_clock(struct rig *r, int64_t by_us) {
    r->now.wall.us += by_us;
    rig_advance(r, 0);
}

static uint64_t count_steps(const struct rig *r, bool is_back) {
    struct engine_counters c;
    engine_counters(r->engine, &c);
    return c.clock_steps[is_back];
}

TEST(schedule_makes_up_for_a_small_step_at_once) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "request");
    rig_advance(&r, MINUTE_US);
    CHECK_INT(count_times(&r), 1);
    set_clock(&r, 30 * MINUTE_US);
    CHECK_INT(count_times(&r), 31);
    CHECK_INT(count_steps(&r, false), 1);
}

TEST(schedule_keeps_to_the_old_time_until_the_clock_is_steady) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "request");
    rig_advance(&r, MINUTE_US);
    set_clock(&r, HOUR_US);
    CHECK_INT(count_times(&r), 1);
    rig_advance(&r, MINUTE_US - USEC_PER_SEC);
    CHECK_INT(count_times(&r), 2); /* that of the old time */
    CHECK(engine_next_wake_us(r.engine, r.now) <= USEC_PER_SEC);
    rig_advance(&r, USEC_PER_SEC);
    CHECK_INT(count_times(&r), 62);
}

TEST(schedule_does_nothing_twice_when_the_clock_goes_back) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "request");
    rig_advance(&r, MINUTE_US);
    set_clock(&r, HOUR_US);
    rig_advance(&r, MINUTE_US / 2);
    set_clock(&r, -HOUR_US);
    CHECK_INT(count_times(&r), 1);
    rig_advance(&r, MINUTE_US / 2);
    CHECK_INT(count_times(&r), 2);
    rig_advance(&r, HOUR_US);
    CHECK_INT(count_times(&r), 62);
    CHECK_INT(count_steps(&r, false), 1);
    CHECK_INT(count_steps(&r, true), 1);
}

TEST(schedule_follows_a_clock_that_comes_back_from_the_past) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    create(&r, "request");
    rig_advance(&r, MINUTE_US);
    set_clock(&r, -HOUR_US);
    rig_advance(&r, MINUTE_US / 2);
    CHECK_INT(count_times(&r), 1);
    set_clock(&r, HOUR_US);
    rig_advance(&r, MINUTE_US / 2);
    CHECK_INT(count_times(&r), 2);
}

/* lines of the log */

#define LOG_ROOM (64 << 10)

struct notebook {
    FILE *file;
    struct log log;
    char text[LOG_ROOM];
};

static struct wall dawn(void) {
    return (struct wall){RIG_T0};
}

static bool notebook_open(struct notebook *n) {
    n->file = tmpfile();
    if (!CHECK(n->file))
        return false;
    log_init(&n->log, fileno(n->file), LOG_INFO, LOG_TEXT, dawn);
    n->log.routine = LOG_INFO;
    return true;
}

static int lines_of(struct notebook *n, const char *event) {
    int count = 0;
    ssize_t got = pread(n->log.fd, n->text, LOG_ROOM - 1, 0);
    n->text[got > 0 ? got : 0] = 0;
    for (const char *at = n->text; (at = strstr(at, event)); at++)
        count++;
    return count;
}

TEST(a_line_is_written_when_what_it_says_is_on_disk) {
    struct notebook n;
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_sweep(&r);
    if (!notebook_open(&n))
        return;
    r.log = &n.log;
    rig_restart(&r);
    rig_settle(&r);
    rig_sweep(&r);
    create(&r, "one");
    rig_settle(&r);
    rig_advance(&r, MINUTE_US);
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    CHECK(!engine_idle(r.engine)); /* the start is on its way to the disk */
    CHECK_INT(lines_of(&n, " schedule_fired "), 0);
    rig_settle(&r);
    CHECK_INT(lines_of(&n, " schedule_fired namespace=default schedule_id=minutely "
                           "nominal_time=2023-11-14T22:14:00.000000Z workflow_id=wf-2023-11-14T22:14:00Z run_id="),
              1);
    fclose(n.file);
}

TEST(lines_that_nobody_asked_for_are_bounded) {
    enum { MORE = 5 };
    struct notebook n;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    if (!notebook_open(&n))
        return;
    r.log = &n.log;
    rig_restart(&r);
    for (int i = 0; i < ENGINE_SCHEDULE_LINES + MORE; i++) {
        create(&r, "one");
        CHECK_INT(delete (&r), 0);
    }
    CHECK_INT(lines_of(&n, " schedule_deleted "), ENGINE_SCHEDULE_LINES);
    CHECK_INT(lines_of(&n, " schedule_lines_left_out "), 0);
    rig_advance(&r, USEC_PER_SEC);
    CHECK_INT(lines_of(&n, " schedule_lines_left_out count=5\n"), 1);
    create(&r, "one");
    CHECK_INT(delete (&r), 0);
    CHECK_INT(lines_of(&n, " schedule_deleted "), ENGINE_SCHEDULE_LINES + 1);
    fclose(n.file);
}
