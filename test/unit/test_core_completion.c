/* A worker's answer to a workflow task: the order of what it writes, what it may not do, heartbeats. */
#include "core_fixture.h"

TEST(completion_writes_commands_then_what_arrived_then_the_next_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "one"), 0);
    CHECK_INT(core_signal(&f, "two"), 0);
    (void)core_new(&f);
    core_add_timer(&f, "t", USEC_PER_SEC);
    core_add_marker(&f, "m");
    core_add_activity(&f, "a");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 TIMER_STARTED@5 MARKER_RECORDED@6 "
                            "ACTIVITY_SCHEDULED@7 RUN_SIGNALED@8 RUN_SIGNALED@9 TASK_SCHEDULED@10");
    CHECK_STR(core_effects(&f), "ACTIVITY@7 TASK@10");
    CHECK(f.done.has_new_task && !f.done.is_new_started);
    const History__WorkflowExecutionSignaledEventAttributes *one =
        core_attributes(&f, 8, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED);
    REQUIRE(one);
    CHECK_STR(one->signal_name, "one");
}

TEST(completion_without_a_reason_makes_no_next_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4");
    CHECK_STR(core_effects(&f), "");
    CHECK(f.st && !f.st->task && !f.done.has_new_task);
    CHECK(f.st && f.st->last_started_event_id == 3);
}

TEST(completion_event_carries_what_the_worker_says_about_itself) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    f.completion.binary_checksum = core_text(&f, "sum");
    CHECK_INT(core_complete(&f), 0);
    const History__WorkflowTaskCompletedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_COMPLETED);
    REQUIRE(a);
    CHECK_INT(a->scheduled_event_id, 2);
    CHECK_INT(a->started_event_id, 3);
    CHECK_STR(a->identity, "worker");
    CHECK_STR(a->binary_checksum, "sum");
}

TEST(completion_can_force_a_new_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    f.completion.force_create_new_workflow_task = true;
    core_add_marker(&f, "m");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 MARKER_RECORDED@5 TASK_SCHEDULED@6");
    CHECK(f.done.has_new_task && f.st && !task_is_started(f.st));
}

TEST(completion_can_be_answered_with_the_next_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    (void)core_new(&f);
    f.completion.return_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK(f.done.has_new_task && f.done.is_new_started);
    REQUIRE(f.st && f.st->task);
    CHECK_INT(f.st->task->started_event_id, 7);
    CHECK_INT(strlen(f.st->task->request_id), UUID_TEXT_LEN);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_COMPLETED@8");
}

TEST(completion_that_closes_wants_the_close_last) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_add_complete(&f);
    core_add_marker(&f, "m");
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, 0); /* no event for it */
    CHECK_STR(f.err.text, "invalid command sequence: [1] closes the workflow and must be the last command");
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && task_is_started(f.st));
}

/* the three ways to close */

TEST(completion_closes_with_a_result) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "t", USEC_PER_SEC);
    core_add_activity(&f, "a");
    core_add_complete(&f);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@6 CLOSED");
    const History__WorkflowExecutionCompletedEventAttributes *a =
        core_attributes(&f, 7, EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED);
    REQUIRE(a && a->result && a->result->n_payloads == 1 && f.st);
    CHECK_SLICE(pb_bytes(&a->result->payloads[0]->data), STR("result"));
    CHECK_INT(a->workflow_task_completed_event_id, 4);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_COMPLETED);
    CHECK_INT(f.st->close_us, CORE_T0 + USEC_PER_SEC);
    CHECK_INT(f.st->n_activities + f.st->n_timers, 0); /* nothing of a closed run is pending */
    CHECK_INT(run_due_us(f.st), CLOCK_NEVER);
}

TEST(completion_closes_with_a_failure) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_fail(&f);
    CHECK_INT(core_complete(&f), 0);
    const History__WorkflowExecutionFailedEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_FAILED);
    REQUIRE(a && a->failure && f.st);
    CHECK_STR(a->failure->message, "it failed");
    CHECK_INT(a->retry_state, RETRY_STATE_RETRY_POLICY_NOT_SET);
    CHECK_INT(a->workflow_task_completed_event_id, 4);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_FAILED);
}

TEST(completion_closes_as_cancelled) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_cancel(&f);
    CHECK_INT(core_complete(&f), 0);
    const History__WorkflowExecutionCanceledEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED);
    REQUIRE(a && a->details && f.st);
    CHECK_INT(a->workflow_task_completed_event_id, 4);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_CANCELED);
}

/* UnhandledCommand */

TEST(completion_may_not_close_over_unseen_events) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    (void)core_new(&f);
    void (*const closers[])(struct core *) = {core_add_complete, core_add_cancel};
    for (size_t i = 0; i < ARRAY_LEN(closers); i++) {
        core_add_marker(&f, "rolled back");
        closers[i](&f);
        CHECK_INT(core_complete(&f), ERR_UNHANDLED_COMMAND);
        CHECK_STR(f.err.text, "UnhandledCommand");
        CHECK_INT(f.s.task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND);
    }
    core_add_fail(&f);
    CHECK_INT(core_complete(&f), ERR_UNHANDLED_COMMAND);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(STEP_VOID(&f, task_fail(&f.s, WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND, NULL, "worker")),
              0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6");
    CHECK(f.st && f.st->task && f.st->task->attempt == 1); /* there is something new to look at */
}

TEST(completion_may_close_when_it_cancels_the_timer_that_fired) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "t", USEC_PER_SEC);
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), ERR_UNHANDLED_COMMAND);
    core_add_cancel_timer(&f, "t");
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@7 TASK_COMPLETED@8 TIMER_CANCELED@9 RUN_COMPLETED@10");
    const History__TimerCanceledEventAttributes *a = core_attributes(&f, 9, EVENT_TYPE_TIMER_CANCELED);
    REQUIRE(a);
    CHECK_STR(a->timer_id, "t");
    CHECK_INT(a->started_event_id, 5);
    CHECK_INT(a->workflow_task_completed_event_id, 8);
}

TEST(completion_that_cancels_one_timer_still_sees_the_other_event) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "t", USEC_PER_SEC);
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    core_add_cancel_timer(&f, "t");
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), ERR_UNHANDLED_COMMAND);
}

TEST(completion_with_commands_but_no_close_needs_no_empty_buffer) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    core_add_marker(&f, "m");
    CHECK_INT(core_complete(&f), 0);
}

/* heartbeats */

static int heartbeat(struct core *f) {
    f->completion.force_create_new_workflow_task = true;
    f->completion.return_new_workflow_task = true;
    return core_complete(f);
}

TEST(completion_heartbeat_keeps_the_original_time) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 5 * USEC_PER_SEC);
    CHECK_INT(heartbeat(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 TASK_SCHEDULED@5");
    REQUIRE(f.st && f.st->task);
    CHECK(task_is_started(f.st));
    CHECK_INT(f.st->task->original_scheduled_us, CORE_T0);
    CHECK_INT(f.st->task->scheduled_us, CORE_T0 + 5 * USEC_PER_SEC);
}

TEST(completion_heartbeats_end_after_half_an_hour) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (int i = 0; i < 6; i++) {
        core_advance(&f, 5 * 60 * USEC_PER_SEC);
        CHECK_INT(heartbeat(&f), 0);
        CHECK(!f.done.is_heartbeat_over);
    }
    (void)core_new(&f);
    core_advance(&f, 1);
    CHECK_INT(heartbeat(&f), 0);
    CHECK(f.done.is_heartbeat_over);
    CHECK_STR(core_new(&f), "TASK_STARTED@21 TASK_TIMED_OUT@22");
    const History__WorkflowTaskTimedOutEventAttributes *a =
        core_attributes(&f, 22, EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT);
    REQUIRE(a && f.st && f.st->task);
    CHECK_INT(a->timeout_type, TIMEOUT_TYPE_START_TO_CLOSE);
    CHECK(!task_is_started(f.st));
}

TEST(completion_with_a_command_is_no_heartbeat) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_advance(&f, 31 * 60 * USEC_PER_SEC);
    core_add_marker(&f, "m");
    CHECK_INT(heartbeat(&f), 0);
    CHECK(!f.done.is_heartbeat_over);
    REQUIRE(f.st && f.st->task);
    CHECK_INT(f.st->task->original_scheduled_us, f.now_us);
}

TEST(completion_heartbeat_over_ends_the_stickiness) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    CHECK_INT(heartbeat(&f), 0);
    CHECK(f.st && f.st->task && f.st->task->is_sticky);
    core_advance(&f, 31 * 60 * USEC_PER_SEC);
    CHECK_INT(heartbeat(&f), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.done.is_heartbeat_over && !f.st->task->is_sticky);
    CHECK_STR(f.st->sticky_queue, "");
}

/* A queue without a name is none; without a time limit it has that of the task. */
TEST(completion_with_half_of_a_sticky_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_set_sticky(&f, "", USEC_PER_SEC);
    CHECK_INT(heartbeat(&f), 0);
    CHECK(f.st && f.st->task && !f.st->task->is_sticky);
    REQUIRE(f.completion.sticky_attributes);
    f.completion.sticky_attributes->worker_task_queue = NULL;
    CHECK_INT(heartbeat(&f), 0);
    CHECK(f.st && f.st->task && !f.st->task->is_sticky);
    core_set_sticky(&f, "sticky", 0);
    CHECK_INT(heartbeat(&f), 0);
    REQUIRE(f.st && f.st->task);
    CHECK(f.st->task->is_sticky);
    CHECK_INT(f.st->sticky_timeout_us, f.st->task_timeout_us);
}
