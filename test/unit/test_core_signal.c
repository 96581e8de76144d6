/* What reaches a run from outside: signals, cancel requests, termination; and the buffer that they fill. */
#include "core/run/signal_ids.h"
#include "core_fixture.h"

static Ws__SignalWorkflowExecutionRequest signal_with(struct core *f, const char *request_id) {
    Ws__SignalWorkflowExecutionRequest req = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.signal_name = core_text(f, "s");
    req.request_id = core_text(f, request_id);
    req.identity = core_text(f, "client");
    req.input = core_payloads(f, "in");
    return req;
}

TEST(signal_wakes_an_idle_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    Ws__SignalWorkflowExecutionRequest req = signal_with(&f, "r1");
    CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
    const History__WorkflowExecutionSignaledEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
    REQUIRE(a && a->input);
    CHECK_STR(a->signal_name, "s");
    CHECK_STR(a->identity, "client");
    CHECK_STR(a->request_id, "r1");
}

TEST(signal_before_the_task_was_taken_adds_no_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@3");
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@4 TASK_COMPLETED@5");
}

TEST(signal_with_a_known_request_id_happens_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    Ws__SignalWorkflowExecutionRequest req = signal_with(&f, "r1");
    Ws__SignalWorkflowExecutionRequest other = signal_with(&f, "r2");
    CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
    CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
    CHECK_INT(STEP(&f, run_signal(&f.s, &other, NULL)), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@3 RUN_SIGNALED@4");
    CHECK(f.st && f.st->signal_count == 2);
}

/* A UUID, another spelling of it, another one, and any text; the image holds them all. */
TEST(signal_ids_are_known_as_they_were_written) {
    static const char *const ids[] = {"0b8e1c5e-3c55-4b1a-9a53-0a6f4b8f5a01",
                                      "0B8E1C5E-3C55-4B1A-9A53-0A6F4B8F5A01",
                                      "0b8e1c5e-3c55-4b1a-9a53-0a6f4b8f5a02", "any text"};
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        CHECK(!f.st || !signal_id_seen(f.st, ids[i]));
        CHECK_INT(STEP_VOID(&f, signal_id_add(&f.s, ids[i], 10 + (int64_t)i)), 0);
    }
    REQUIRE(f.st);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++)
        CHECK(signal_id_seen(f.st, ids[i]));
    CHECK_INT(f.st->signal_uuids.len, 32);
    CHECK_INT(f.st->n_signal_request_ids, 2);
    REQUIRE(signal_id_count(f.st) == 4);
    static const size_t order[] = {0, 2, 1, 3}; /* UUIDs first */
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct signal_id id = signal_id_get(f.st, i);
        CHECK_STR(id.text ? id.text : id.uuid.s, ids[order[i]]);
        CHECK_INT(id.event_id, 10 + (int64_t)order[i]);
    }
}

/* A signal that came while a worker had the task is found when its event is written. */
TEST(signal_ids_name_their_events) {
    static const char *const ids[] = {"0b8e1c5e-3c55-4b1a-9a53-0a6f4b8f5a01", "any text"};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_begin_run(&f), 0);
        Ws__SignalWorkflowExecutionRequest req = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
        req.signal_name = core_text(&f, "s");
        CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0); /* has no id */
        req.request_id = core_text(&f, ids[i]);
        CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
        REQUIRE(f.st && signal_id_count(f.st) == 1);
        CHECK_INT(signal_id_get(f.st, 0).event_id, 0);
        CHECK_INT(core_complete(&f), 0);
        REQUIRE(f.st && signal_id_count(f.st) == 1);
        CHECK_INT(signal_id_get(f.st, 0).event_id, 6);
    }
}

/* A state that was written before they were kept as bytes. */
TEST(signal_ids_are_known_that_were_kept_as_text) {
    static const char id[] = "0b8e1c5e-3c55-4b1a-9a53-0a6f4b8f5a03";
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(STEP_VOID(&f, pb_append_string(&f.s.st->n_signal_request_ids, &f.s.st->signal_request_ids, id,
                                             &f.s.failed)),
              0);
    CHECK(!f.st || signal_id_seen(f.st, id));
    CHECK(!f.st || signal_id_count(f.st) == 0);
    /* Its event is not known, but that of the next one is. */
    CHECK_INT(STEP_VOID(&f, signal_id_add(&f.s, "next", 7)), 0);
    REQUIRE(f.st && signal_id_count(f.st) == 1);
    CHECK_STR(signal_id_get(f.st, 0).text, "next");
    CHECK_INT(STEP_VOID(&f, signal_id_written(f.s.st, id, 8)), 0);
    REQUIRE(f.st && signal_id_count(f.st) == 1);
    CHECK_INT(signal_id_get(f.st, 0).event_id, 7);
}

TEST(signal_without_a_request_id_happens_each_time) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@3 RUN_SIGNALED@4");
}

TEST(signal_of_a_closed_run_is_refused) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(core_signal(&f, "s"), ERR_CLOSED);
    CHECK_STR(f.err.text, "workflow execution already completed");
}

TEST(signal_that_is_one_too_many_is_refused) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(core_begin(&f));
    f.st->signal_count = LIMIT_SIGNALS - 1;
    CHECK_INT(core_end(&f, 0), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_signal(&f, "s"), ERR_INVALID);
    CHECK_STR(f.err.text, "exceeded workflow execution limit for signal events");
}

TEST(signal_flood_fails_the_task_that_does_not_end) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    for (int i = 1; i < LIMIT_BUFFERED_EVENTS; i++)
        CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK(str_starts(str_of(core_new(&f)), STR("TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 ")));
    const History__WorkflowTaskFailedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_FAILED);
    REQUIRE(a && f.st && f.st->task);
    CHECK_INT(a->cause, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND);
    CHECK_STR(a->identity, "history-service");
    CHECK_INT(f.st->n_buffered + (size_t)f.st->buffered_bytes, 0);
    CHECK_INT(f.st->task->scheduled_event_id, 105);
    CHECK_INT(f.st->task->attempt, 1);
}

TEST(signal_flood_is_bounded_in_bytes_too) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    char *large = arena_alloc(&f.arena, LIMIT_BUFFERED_BYTES / 2 + 1);
    REQUIRE(large);
    memset(large, 'x', LIMIT_BUFFERED_BYTES / 2);
    large[LIMIT_BUFFERED_BYTES / 2] = 0;
    Ws__SignalWorkflowExecutionRequest req = signal_with(&f, "");
    req.input = core_payloads(&f, large);
    CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(STEP(&f, run_signal(&f.s, &req, NULL)), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 RUN_SIGNALED@6 TASK_SCHEDULED@7");
}

/* cancel */

TEST(cancel_request_wakes_the_run_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "RUN_CANCEL_REQUESTED@5 TASK_SCHEDULED@6");
    const History__WorkflowExecutionCancelRequestedEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED);
    REQUIRE(a);
    CHECK_STR(a->cause, "enough");
    CHECK_STR(a->identity, "client");
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "");
}

TEST(cancel_request_is_buffered_during_a_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_CANCEL_REQUESTED@5 TASK_SCHEDULED@6");
}

TEST(cancel_request_of_a_closed_run_is_no_error) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(core_terminate(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "");
}

/* terminate */

TEST(terminate_closes_an_idle_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_STR(core_new(&f), "RUN_TERMINATED@3");
    CHECK_STR(core_effects(&f), "CLOSED");
    const History__WorkflowExecutionTerminatedEventAttributes *a =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED);
    REQUIRE(a && a->details && f.st);
    CHECK_STR(a->reason, "because");
    CHECK_STR(a->identity, "client");
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    CHECK_INT(f.st->close_us, f.now_us);
    CHECK(!f.st->task);
    CHECK_INT(core_terminate(&f), ERR_CLOSED);
    CHECK_STR(f.err.text, "workflow execution already completed");
}

TEST(terminate_fails_the_started_task_and_keeps_the_buffer) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    (void)core_new(&f);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 RUN_TERMINATED@6");
    const History__WorkflowTaskFailedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_FAILED);
    REQUIRE(a && f.st);
    CHECK_INT(a->cause, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND);
    CHECK_INT(a->started_event_id, 3);
    CHECK_INT(f.st->n_buffered, 0);
}

TEST(terminate_with_a_transient_task_writes_only_the_end) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_fail_task(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_STR(core_new(&f), "RUN_TERMINATED@5");
}

TEST(terminate_drops_activities_and_timers) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_activity(&f, "a");
    core_add_timer(&f, "t", USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK(f.st && f.st->n_activities + f.st->n_timers == 0 && run_due_us(f.st) == CLOCK_NEVER);
}
