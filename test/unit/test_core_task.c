/* The workflow task: started late, transient from the second attempt on, paced, sticky, given back. */
#include "core_fixture.h"

#define TASK_TIMEOUT_US (LIMIT_DEFAULT_TASK_TIMEOUT_MS * USEC_PER_MS)
#define STICKY_US (5 * USEC_PER_SEC)

/* A run whose first task failed once: the next is a transient second attempt, not taken yet. */
static int begin_transient(struct core *f) {
    int rc = core_begin_run(f);
    if (rc == 0)
        rc = core_fail_task(f);
    (void)core_new(f);
    return rc;
}

/* A run with a completed first task and a worker that is sticky; a signal has made the next task. */
static int begin_sticky(struct core *f) {
    int rc = core_begin_run(f);
    core_set_sticky(f, "sticky", STICKY_US);
    if (rc == 0)
        rc = core_complete(f);
    if (rc == 0)
        rc = core_signal(f, "s");
    (void)core_new(f);
    return rc;
}

TEST(task_of_a_new_run_is_scheduled_on_its_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_STR(core_effects(&f), "TASK@2");
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2");
    const History__WorkflowTaskScheduledEventAttributes *a =
        core_attributes(&f, 2, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED);
    REQUIRE(a && a->task_queue);
    CHECK_STR(a->task_queue->name, "queue");
    CHECK_INT(a->task_queue->kind, TASK_QUEUE_KIND_NORMAL);
    CHECK_INT(a->attempt, 1);
    CHECK_INT(pb_duration_us(a->start_to_close_timeout), TASK_TIMEOUT_US);
}

TEST(task_start_writes_nothing_until_the_task_ends) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 3 * USEC_PER_SEC);
    CHECK_INT(core_pick(&f), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && task_owes_start(f.st));
    core_advance(&f, USEC_PER_SEC);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_COMPLETED@5");
    const History__WorkflowTaskStartedEventAttributes *a =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_TASK_STARTED);
    REQUIRE(a);
    CHECK_INT(a->scheduled_event_id, 2);
    CHECK_STR(a->identity, "worker");
    CHECK_STR(a->request_id, "poll-request");
    CHECK(!a->suggest_continue_as_new);
    CHECK(a->history_size_bytes > 0);
    CHECK_INT(core_event_us(&f, 3), CORE_T0 + 3 * USEC_PER_SEC);
    CHECK_INT(core_event_us(&f, 4), CORE_T0 + 4 * USEC_PER_SEC);
}

TEST(task_owed_start_can_be_written_early_and_only_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(STEP_VOID(&f, task_write_owed(&f.s)), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3");
    CHECK(f.st && !task_owes_start(f.st));
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_COMPLETED@4");
}

TEST(task_is_taken_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_pick(&f), ERR_NOT_FOUND);
    CHECK_STR(f.err.text, "Workflow task not found.");
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), ERR_NOT_FOUND); /* none is pending */
}

TEST(task_entry_of_an_older_task_is_stale) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    struct task_pick stale = {.scheduled_event_id = 7, .identity = "", .request_id = ""};
    CHECK_INT(STEP(&f, task_start(&f.s, &stale)), ERR_NOT_FOUND);
    CHECK_INT(core_pick(&f), 0);
}

TEST(task_token_must_match_in_every_part) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    State__TaskToken right = core_token(&f), wrong[4] = {right, right, right, right};
    wrong[0].scheduled_event_id++;
    wrong[1].started_event_id++;
    wrong[2].attempt++;
    wrong[3].started_us++;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CHECK_INT(STEP(&f, task_check_token(&f.s, &wrong[i])), ERR_NOT_FOUND);
        CHECK_STR(f.err.text, "Workflow task not found.");
    }
    CHECK_INT(STEP(&f, task_check_token(&f.s, &right)), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(STEP(&f, task_check_token(&f.s, &right)), ERR_CLOSED);
    CHECK_STR(f.err.text, "workflow execution already completed");
}

/* failing */

TEST(task_first_failure_is_in_the_history) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_fail_task(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4");
    CHECK_STR(core_effects(&f), "TASK@5");
    const History__WorkflowTaskFailedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_FAILED);
    REQUIRE(a);
    CHECK_INT(a->scheduled_event_id, 2);
    CHECK_INT(a->started_event_id, 3);
    CHECK_INT(a->cause, WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE);
    CHECK_STR(a->identity, "worker");
}

/* It would be as large the next time. */
TEST(task_whose_answer_is_too_large_to_be_sent_ends_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(
        STEP(&f, task_report_failed(&f.s, WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE, NULL, "worker")),
        0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4 RUN_TERMINATED@5");
    const History__WorkflowExecutionTerminatedEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED);
    REQUIRE(a);
    CHECK_STR(a->reason, "GrpcMessageTooLarge");
    CHECK_STR(a->identity, "history-service");
}

TEST(task_transient_attempts_leave_no_events) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    for (int32_t attempt = 2; attempt < 6; attempt++) {
        CHECK(f.st && f.st->task && f.st->task->attempt == attempt);
        CHECK_INT(core_pick(&f), 0);
        CHECK(f.st && f.st->task && f.st->task->started_event_id == 6);
        CHECK_INT(core_fail_task(&f), 0);
    }
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->next_event_id == 5);
}

static const char *reported_problems(struct core *f) {
    const Common__SearchAttributes *a = f->st ? f->st->search_attributes : NULL;
    for (size_t i = 0; a && i < a->n_indexed_fields; i++)
        if (cstr_eq(a->indexed_fields[i]->key, "TemporalReportedProblems"))
            return arena_strndup(&f->arena, (const char *)a->indexed_fields[i]->value->data.data,
                                                   a->indexed_fields[i]->value->data.len);
    return "";
}

TEST(task_problems_are_reported_from_the_fifth_in_a_row_until_one_succeeds) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0); /* the first failure */
    for (int i = 2; i <= 5; i++) {
        CHECK_STR(reported_problems(&f), "");
        CHECK_INT(core_pick(&f), 0);
        CHECK_INT(core_fail_task(&f), 0);
    }
    CHECK_STR(reported_problems(&f),
              "[\"category=WorkflowTaskFailed\",\"cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure\"]");
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, 100 * TASK_TIMEOUT_US);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(reported_problems(&f), /* what is in the history */
              "[\"category=WorkflowTaskFailed\",\"cause=WorkflowTaskFailedCauseWorkflowWorkerUnhandledFailure\"]");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(reported_problems(&f), "");
    CHECK(f.st && f.st->task_problems == 0);
}

TEST(task_timeouts_are_reported_too) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (int i = 1; i <= 5; i++) {
        CHECK_STR(reported_problems(&f), "");
        core_advance(&f, 100 * TASK_TIMEOUT_US);
        CHECK_INT(core_tick(&f), 0);
        CHECK_INT(core_pick(&f), 0);
    }
    CHECK_STR(reported_problems(&f),
              "[\"category=WorkflowTaskTimedOut\",\"cause=WorkflowTaskTimedOutCauseStartToClose\"]");
}

TEST(task_transient_timeouts_leave_no_events) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, TASK_TIMEOUT_US);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_STR(core_effects(&f), "TASK@5");
    CHECK(f.st && f.st->task && f.st->task->attempt == 3 && !task_is_started(f.st));
}

TEST(task_transient_success_writes_its_events_with_their_times) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    core_advance(&f, 2 * USEC_PER_SEC);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, 3 * USEC_PER_SEC);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_COMPLETED@7 RUN_COMPLETED@8");
    CHECK_INT(core_event_us(&f, 5), CORE_T0);
    CHECK_INT(core_event_us(&f, 6), CORE_T0 + 2 * USEC_PER_SEC);
    CHECK_INT(core_event_us(&f, 7), CORE_T0 + 5 * USEC_PER_SEC);
    const History__WorkflowTaskScheduledEventAttributes *scheduled =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED);
    const History__WorkflowTaskStartedEventAttributes *started =
        core_attributes(&f, 6, EVENT_TYPE_WORKFLOW_TASK_STARTED);
    const History__WorkflowTaskCompletedEventAttributes *completed =
        core_attributes(&f, 7, EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    REQUIRE(scheduled && started && completed);
    CHECK_INT(scheduled->attempt, 2);
    CHECK_INT(started->scheduled_event_id, 5);
    CHECK_INT(completed->scheduled_event_id, 5);
    CHECK_INT(completed->started_event_id, 6);
}

TEST(task_attempt_is_one_again_after_success) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@8 TASK_SCHEDULED@9");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1);
}

TEST(task_transient_is_converted_when_an_event_came_before_its_start) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5");
    CHECK_INT(core_pick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@6");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1 && f.st->task->started_event_id == 7);
    const History__WorkflowTaskScheduledEventAttributes *a =
        core_attributes(&f, 6, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED);
    REQUIRE(a);
    CHECK_INT(a->attempt, 1);
    CHECK_INT(core_fail_task(&f), 0); /* and its failure is one that is written */
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_FAILED@8");
}

TEST(task_transient_with_a_worker_buffers_and_then_fails_into_a_first_attempt) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_fail_task(&f), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1);
}

TEST(task_transient_with_a_worker_buffers_and_then_succeeds) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f),
              "TASK_SCHEDULED@5 TASK_STARTED@6 TASK_COMPLETED@7 RUN_SIGNALED@8 TASK_SCHEDULED@9");
}

TEST(task_timeouts_of_later_attempts_grow) {
    static const int64_t want_s[] = {10, 10, 10, 15, 20, 30, 50, 90, 170, 330, 610, 610};
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    for (size_t i = 0; i < ARRAY_LEN(want_s); i++) {
        CHECK_INT(core_pick(&f), 0);
        REQUIRE(f.st && f.st->task);
        CHECK_INT(f.st->task->attempt, i + 1);
        CHECK_INT(task_due_us(f.st) - f.now_us, want_s[i] * USEC_PER_SEC);
        CHECK_INT(core_fail_task(&f), 0);
    }
}

/* time */

TEST(task_start_to_close_timeout_is_written_and_counts) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_advance(&f, TASK_TIMEOUT_US - 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    core_advance(&f, 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_TIMED_OUT@4");
    const History__WorkflowTaskTimedOutEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
    REQUIRE(a);
    CHECK_INT(a->timeout_type, TIMEOUT_TYPE_START_TO_CLOSE);
    CHECK_INT(a->scheduled_event_id, 2);
    CHECK_INT(a->started_event_id, 3);
    CHECK(f.st && f.st->task && f.st->task->attempt == 2);
}

TEST(task_on_the_normal_queue_waits_for_ever) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK(f.st && run_due_us(f.st) == CLOCK_NEVER);
}

/* sticky */

TEST(task_sticky_event_names_both_queues) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    const History__WorkflowTaskScheduledEventAttributes *a =
        core_attributes(&f, 6, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED);
    REQUIRE(a && a->task_queue);
    CHECK_STR(a->task_queue->name, "sticky");
    CHECK_STR(a->task_queue->normal_name, "queue");
    CHECK_INT(a->task_queue->kind, TASK_QUEUE_KIND_STICKY);
}

TEST(task_sticky_failure_keeps_attempt_one_and_leaves_the_sticky_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_fail_task(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9");
    REQUIRE(f.st && f.st->task);
    CHECK_INT(f.st->task->attempt, 1);
    CHECK(!f.st->task->is_sticky);
    CHECK_STR(f.st->sticky_queue, "");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_fail_task(&f), 0);
    CHECK(f.st && f.st->task && f.st->task->attempt == 2);
}

TEST(task_sticky_start_to_close_timeout_keeps_attempt_one) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, TASK_TIMEOUT_US);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_TIMED_OUT@8 TASK_SCHEDULED@9");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1 && !f.st->task->is_sticky);
}

TEST(task_sticky_schedule_to_start_timeout_goes_to_the_normal_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(run_due_us(f.st), f.now_us + STICKY_US);
    core_advance(&f, STICKY_US);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_TIMED_OUT@7 TASK_SCHEDULED@8");
    const History__WorkflowTaskTimedOutEventAttributes *a =
        core_attributes(&f, 7, EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
    REQUIRE(a && f.st && f.st->task);
    CHECK_INT(a->timeout_type, TIMEOUT_TYPE_SCHEDULE_TO_START);
    CHECK_INT(a->started_event_id, 0);
    CHECK_INT(f.st->task->attempt, 1);
    CHECK(!f.st->task->is_sticky);
    CHECK_STR(f.st->sticky_queue, "");
}

TEST(task_unstick_offers_it_on_the_normal_queue_without_an_event) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_unstick(&f.s)), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_STR(core_effects(&f), "TASK@6");
    CHECK_INT(core_pick_from(&f, true), ERR_NOT_FOUND);
    CHECK_INT(core_pick_from(&f, false), 0);
}

TEST(task_unstick_without_a_task_only_forgets_the_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    (void)core_effects(&f);
    CHECK_INT(STEP_VOID(&f, task_unstick(&f.s)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_STR(f.st ? f.st->sticky_queue : "-", "");
}

TEST(task_taken_from_the_normal_queue_ends_the_stickiness) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    CHECK_INT(core_pick_from(&f, false), 0);
    REQUIRE(f.st && f.st->task);
    CHECK_STR(f.st->sticky_queue, "");
    CHECK(!f.st->task->is_sticky);
}

TEST(task_completion_without_sticky_attributes_ends_the_stickiness) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_sticky(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    f.completion.sticky_attributes = NULL;
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.st);
    CHECK_STR(f.st->sticky_queue, "");
}

/* giving back */

TEST(task_given_back_is_offered_again_and_flushes_what_waited) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 2, CORE_T0)), 0);
    CHECK_STR(core_effects(&f), "TASK@2");
    CHECK_STR(core_new(&f), "RUN_SIGNALED@3");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@4 TASK_COMPLETED@5");
}

TEST(task_give_back_of_another_start_does_nothing) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 2, CORE_T0 + 1)), 0);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 3, CORE_T0)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK(f.st && task_is_started(f.st));
    CHECK_INT(STEP_VOID(&f, task_write_owed(&f.s)), 0); /* someone has seen the start */
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 2, CORE_T0)), 0);
    CHECK(f.st && task_is_started(f.st));
}

TEST(task_transient_given_back_after_a_signal_is_converted) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_transient(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 5, CORE_T0)), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@5");
    CHECK_INT(core_pick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@6");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1);
}

/* continue-as-new is suggested */

TEST(task_suggests_continue_as_new_for_large_histories) {
    static const struct {
        int64_t next_event_id, bytes;
        size_t reasons;
        int first_reason;
    } cases[] = {
        {4096, 100, 0, 0},
        {4097, 100, 1, SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS},
        {10, LIMIT_SUGGEST_BYTES - 1, 0, 0},
        {10, LIMIT_SUGGEST_BYTES, 1, SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE},
        {4097, LIMIT_SUGGEST_BYTES, 2, SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_start(&f), 0);
        REQUIRE(core_begin(&f));
        f.st->next_event_id = cases[i].next_event_id;
        f.st->history_bytes = cases[i].bytes;
        CHECK_INT(core_end(&f, 0), 0);
        CHECK_INT(core_pick(&f), 0);
        CHECK_INT(STEP_VOID(&f, task_write_owed(&f.s)), 0);
        const History__HistoryEvent *ev = core_event(&f, 3); /* the third that was written */
        REQUIRE(ev && ev->event_type == EVENT_TYPE_WORKFLOW_TASK_STARTED);
        const History__WorkflowTaskStartedEventAttributes *a = ev->workflow_task_started_event_attributes;
        CHECK_INT(a->suggest_continue_as_new, cases[i].reasons > 0);
        CHECK_INT(a->n_suggest_continue_as_new_reasons, cases[i].reasons);
        CHECK_INT(a->history_size_bytes, cases[i].bytes);
        if (cases[i].reasons && a->n_suggest_continue_as_new_reasons)
            CHECK_INT(a->suggest_continue_as_new_reasons[0], cases[i].first_reason);
    }
}

TEST(task_that_nobody_has_is_not_given_back) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_give_back(&f.s, 2, 0)), 0);
    CHECK_STR(core_effects(&f), "");
}

/* Sticky work that is offered again stays where it is, as long as there is such a queue. */
TEST(task_is_offered_again_in_its_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.st && f.st->task && f.st->task->is_sticky);
    CHECK_INT(STEP_VOID(&f, task_offer_again(&f.s)), 0);
    CHECK(f.st && f.st->task && f.st->task->is_sticky);
}

TEST(task_failure_that_is_large_is_cut) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    f.limits.values[SETTABLE_BLOB_BYTES] = 1;
    CHECK_INT(STEP(&f, task_report_failed(&f.s, WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED,
                                          core_failure(&f, "Large"), "worker")),
              0);
    const History__WorkflowTaskFailedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_FAILED);
    CHECK(a && a->failure);
}

TEST(task_failure_that_cannot_be_cut) {
    cleanup(core_done) struct core f;
    cleanup(arena_done) struct arena none;
    arena_init(&none, 0);
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Failure__Failure *failure = core_failure(&f, "Large");
    f.limits.values[SETTABLE_BLOB_BYTES] = 1;
    REQUIRE(failure && core_begin(&f));
    f.s.arena = &none;
    CHECK_INT(
        core_end(&f, task_report_failed(&f.s, WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED, failure, "worker")),
        ERR_NO_MEMORY);
}
