/* Activities: one scheduled event, one end, and everything in between only in the state. */
#include "core_fixture.h"

#define SEC USEC_PER_SEC
#define GONE_TEXT "invalid activityID or activity already timed out or invoking workflow is completed"

/* A run with one activity, scheduled by event 5 and given to a worker. */
static int begin_started(struct core *f) {
    int rc = core_begin_activity(f, "a");
    if (rc == 0)
        rc = core_activity_start(f, 5);
    (void)core_new(f);
    return rc;
}

/* The run asks for the activity 5 to be cancelled, in a task of its own (events 6 to 9, cancel 10). */
static int request_cancel(struct core *f) {
    int rc = core_signal(f, "s");
    if (rc == 0)
        rc = core_pick(f);
    core_add_cancel_activity(f, 5);
    return rc == 0 ? core_complete(f) : rc;
}

TEST(activity_happy_path) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    core_advance(&f, SEC);
    CHECK_INT(core_activity_start(&f, 5), 0);
    (void)core_new(&f);
    core_advance(&f, SEC);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_COMPLETED@7 TASK_SCHEDULED@8");
    const History__ActivityTaskStartedEventAttributes *started =
        core_attributes(&f, 6, EVENT_TYPE_ACTIVITY_TASK_STARTED);
    const History__ActivityTaskCompletedEventAttributes *completed =
        core_attributes(&f, 7, EVENT_TYPE_ACTIVITY_TASK_COMPLETED);
    REQUIRE(started && completed && completed->result);
    CHECK_INT(started->scheduled_event_id, 5);
    CHECK_INT(started->attempt, 1);
    CHECK_STR(started->identity, "activity-worker");
    CHECK_STR(started->request_id, "activity-request");
    CHECK(!started->last_failure);
    CHECK_INT(core_event_us(&f, 6), CORE_T0 + SEC);
    CHECK_INT(core_event_us(&f, 7), CORE_T0 + 2 * SEC);
    CHECK_INT(completed->scheduled_event_id, 5);
    CHECK_INT(completed->started_event_id, 6);
    CHECK_STR(completed->identity, "activity-worker");
    CHECK(f.st && f.st->n_activities == 0);
}

TEST(activity_scheduled_event_has_every_default_filled_in) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    const History__ActivityTaskScheduledEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
    REQUIRE(a && a->activity_type && a->task_queue && a->retry_policy && a->input);
    CHECK_STR(a->activity_id, "a");
    CHECK_STR(a->activity_type->name, "Act");
    CHECK_STR(a->task_queue->name, "queue"); /* the workflow's own */
    CHECK_INT(a->workflow_task_completed_event_id, 4);
    CHECK_INT(pb_duration_us(a->retry_policy->initial_interval), SEC);
    CHECK_INT(pb_duration_us(a->retry_policy->maximum_interval), 100 * SEC);
    CHECK(a->retry_policy->backoff_coefficient == 2.0);
    CHECK_INT(a->retry_policy->maximum_attempts, 0);
}

TEST(activity_policy_keeps_parts_of_a_second) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *c = core_add_activity(&f, "a");
    Common__RetryPolicy policy = COMMON__RETRY_POLICY__INIT;
    REQUIRE(c);
    policy.initial_interval = core_duration(&f, 1500);
    c->retry_policy = &policy;
    c->task_queue = core_queue(&f, "elsewhere");
    CHECK_INT(core_complete(&f), 0);
    const History__ActivityTaskScheduledEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
    REQUIRE(a && a->retry_policy && a->task_queue);
    CHECK_INT(pb_duration_us(a->retry_policy->initial_interval), 1500);
    CHECK_INT(pb_duration_us(a->retry_policy->maximum_interval), 150000);
    CHECK_STR(a->task_queue->name, "elsewhere");
}

TEST(activity_timeouts_are_normalised) {
    /* seconds: schedule-to-close, schedule-to-start, start-to-close, heartbeat; run timeout; the four again
     */
    static const int64_t cases[][9] = {
        {100, 0, 0, 0, 0, 100, 100, 100, 0},      {100, 200, 300, 0, 0, 100, 100, 100, 0},
        {100, 20, 30, 40, 0, 100, 20, 30, 30},    {0, 0, 30, 0, 0, 0, 0, 30, 0},
        {0, 20, 30, 10, 0, 0, 20, 30, 10},        {0, 0, 30, 0, 60, 60, 60, 30, 0},
        {0, 20, 30, 0, 60, 60, 20, 30, 0},        {0, 90, 80, 70, 60, 60, 60, 60, 60},
        {100, 100, 100, 100, 60, 60, 60, 60, 60}, {50, 0, 10, 5, 60, 50, 50, 10, 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int64_t *c = cases[i];
        cleanup(core_done) struct core f;
        core_init(&f);
        f.start.workflow_run_timeout = core_duration(&f, c[4] * SEC);
        CHECK_INT(core_begin_run(&f), 0);
        Command__ScheduleActivityTaskCommandAttributes *cmd = core_add_activity(&f, "a");
        REQUIRE(cmd);
        cmd->schedule_to_close_timeout = core_duration(&f, c[0] * SEC);
        cmd->schedule_to_start_timeout = core_duration(&f, c[1] * SEC);
        cmd->start_to_close_timeout = core_duration(&f, c[2] * SEC);
        cmd->heartbeat_timeout = core_duration(&f, c[3] * SEC);
        CHECK_INT(core_complete(&f), 0);
        const History__ActivityTaskScheduledEventAttributes *a =
            core_attributes(&f, 5, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED);
        REQUIRE(a);
        CHECK_INT(pb_duration_us(a->schedule_to_close_timeout), c[5] * SEC);
        CHECK_INT(pb_duration_us(a->schedule_to_start_timeout), c[6] * SEC);
        CHECK_INT(pb_duration_us(a->start_to_close_timeout), c[7] * SEC);
        CHECK_INT(pb_duration_us(a->heartbeat_timeout), c[8] * SEC);
    }
}

TEST(activity_id_is_free_again_after_the_end) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_INT(core_pick(&f), 0);
    core_add_activity(&f, "a");
    CHECK_INT(core_complete(&f), 0);
}

/* buffering */

TEST(activity_ends_stand_behind_the_other_buffered_events) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_activity(&f, "a");
    core_add_activity(&f, "b");
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_activity_start(&f, 6), 0);
    (void)core_new(&f);
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(failure);
    failure->application_failure_info->non_retryable = true;
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_activity_fail(&f, 6, failure), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@8 TASK_COMPLETED@9 ACTIVITY_STARTED@10 RUN_SIGNALED@11 "
                            "ACTIVITY_STARTED@12 ACTIVITY_COMPLETED@13 ACTIVITY_FAILED@14 TASK_SCHEDULED@15");
    const History__ActivityTaskCompletedEventAttributes *completed =
        core_attributes(&f, 13, EVENT_TYPE_ACTIVITY_TASK_COMPLETED);
    const History__ActivityTaskFailedEventAttributes *failed =
        core_attributes(&f, 14, EVENT_TYPE_ACTIVITY_TASK_FAILED);
    REQUIRE(completed && failed);
    CHECK_INT(completed->scheduled_event_id, 5);
    CHECK_INT(completed->started_event_id, 10);
    CHECK_INT(failed->scheduled_event_id, 6);
    CHECK_INT(failed->started_event_id, 12);
}

TEST(activity_timeout_and_cancel_are_patched_with_their_start_too) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(request_cancel(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_activity_cancel(&f, 5), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@13 TASK_COMPLETED@14 ACTIVITY_STARTED@15 ACTIVITY_CANCELED@16 "
                            "TASK_SCHEDULED@17");
    const History__ActivityTaskCanceledEventAttributes *a =
        core_attributes(&f, 16, EVENT_TYPE_ACTIVITY_TASK_CANCELED);
    REQUIRE(a);
    CHECK_INT(a->started_event_id, 15);
    CHECK_INT(a->latest_cancel_requested_event_id, 10);
}

/* tokens */

TEST(activity_token_names_the_attempt) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    State__Activity *a = NULL;
    State__TaskToken t = STATE__TASK_TOKEN__INIT;
    t.scheduled_event_id = 5;
    t.attempt = 1;
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), ERR_NOT_FOUND); /* not started */
    CHECK_STR(f.err.text, GONE_TEXT);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), 0);
    t.attempt = 2;
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), ERR_NOT_FOUND);
    t.attempt = 1;
    t.scheduled_event_id = 6;
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), ERR_NOT_FOUND);
    t.scheduled_event_id = 0;
    t.activity_id = core_text(&f, "a");
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), 0);
    t.activity_id = core_text(&f, "b");
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &t, &a)), ERR_NOT_FOUND);
}

TEST(activity_is_taken_once_and_can_be_given_back) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 5, 2, CORE_T0)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 5, 1, CORE_T0 + 1)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 5, 1, CORE_T0)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    CHECK_INT(core_activity_complete(&f, 5), ERR_NOT_FOUND); /* the one who gave it back */
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
}

/* cancelling */

TEST(activity_that_was_not_started_is_cancelled_at_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    (void)core_new(&f);
    CHECK_INT(request_cancel(&f), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@6 TASK_SCHEDULED@7 TASK_STARTED@8 TASK_COMPLETED@9 "
                            "ACTIVITY_CANCEL_REQUESTED@10 ACTIVITY_CANCELED@11 TASK_SCHEDULED@12");
    const History__ActivityTaskCanceledEventAttributes *a =
        core_attributes(&f, 11, EVENT_TYPE_ACTIVITY_TASK_CANCELED);
    REQUIRE(a);
    CHECK_INT(a->scheduled_event_id, 5);
    CHECK_INT(a->started_event_id, 0);
    CHECK_INT(a->latest_cancel_requested_event_id, 10);
    CHECK(f.st && f.st->n_activities == 0);
}

/* SDKs predict the id of the event that each command makes. */
TEST(activity_cancelled_before_it_began_ends_behind_all_commands) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_signal(&f, "meanwhile"), 0);
    (void)core_new(&f);
    core_add_activity(&f, "a");
    core_add_cancel_activity(&f, 5);
    core_add_activity(&f, "b");
    core_add_cancel_activity(&f, 5); /* as harmless as that of any activity whose end waits */
    core_add_timer(&f, "t", SEC);
    f.completion.identity = core_text(&f, "worker");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f),
              "TASK_STARTED@3 TASK_COMPLETED@4 ACTIVITY_SCHEDULED@5 ACTIVITY_CANCEL_REQUESTED@6 "
              "ACTIVITY_SCHEDULED@7 ACTIVITY_CANCEL_REQUESTED@8 TIMER_STARTED@9 RUN_SIGNALED@10 "
              "ACTIVITY_CANCELED@11 TASK_SCHEDULED@12");
    const History__ActivityTaskCanceledEventAttributes *a =
        core_attributes(&f, 11, EVENT_TYPE_ACTIVITY_TASK_CANCELED);
    REQUIRE(a && a->details && a->details->n_payloads == 1);
    CHECK_INT(a->scheduled_event_id, 5);
    CHECK_INT(a->latest_cancel_requested_event_id, 6);
    CHECK_STR(a->identity, "worker");
    CHECK_SLICE(pb_bytes(&a->details->payloads[0]->data), str_of("\"ACTIVITY_ID_NOT_STARTED\""));
    CHECK(!core_activity(&f, 5) && core_activity(&f, 7));
}

TEST(activity_cancelled_before_it_began_keeps_no_run_open) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_add_activity(&f, "a");
    core_add_cancel_activity(&f, 5);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 ACTIVITY_SCHEDULED@5 "
                            "ACTIVITY_CANCEL_REQUESTED@6 RUN_COMPLETED@7");
}

TEST(activity_in_back_off_counts_as_not_started) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    CHECK_INT(request_cancel(&f), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@6 TASK_SCHEDULED@7 TASK_STARTED@8 TASK_COMPLETED@9 "
                            "ACTIVITY_CANCEL_REQUESTED@10 ACTIVITY_CANCELED@11 TASK_SCHEDULED@12");
}

TEST(activity_with_a_worker_is_asked_to_cancel) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(request_cancel(&f), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@6 TASK_SCHEDULED@7 TASK_STARTED@8 TASK_COMPLETED@9 "
                            "ACTIVITY_CANCEL_REQUESTED@10");
    const State__Activity *pending = core_activity(&f, 5);
    REQUIRE(pending);
    CHECK_INT(pending->cancel_requested_event_id, 10);
    CHECK_INT(core_activity_cancel(&f, 5), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@11 ACTIVITY_CANCELED@12 TASK_SCHEDULED@13");
    const History__ActivityTaskCanceledEventAttributes *a =
        core_attributes(&f, 12, EVENT_TYPE_ACTIVITY_TASK_CANCELED);
    REQUIRE(a && a->details);
    CHECK_INT(a->latest_cancel_requested_event_id, 10);
    CHECK_INT(a->started_event_id, 11);
    CHECK_STR(a->identity, "activity-worker");
}

TEST(activity_cannot_be_cancelled_unasked) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_cancel(&f, 5), ERR_INVALID);
    CHECK(core_activity(&f, 5));
}

TEST(activity_cancel_is_requested_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(request_cancel(&f), 0);
    CHECK_INT(request_cancel(&f), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_ACTIVITY_ATTRIBUTES);
}

TEST(activity_whose_end_is_buffered_may_still_be_asked_to_cancel) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    (void)core_new(&f);
    core_add_cancel_activity(&f, 5);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f),
              "TASK_STARTED@8 TASK_COMPLETED@9 ACTIVITY_CANCEL_REQUESTED@10 ACTIVITY_STARTED@11 "
              "ACTIVITY_COMPLETED@12 TASK_SCHEDULED@13");
}

/* heartbeats */

TEST(activity_heartbeat_keeps_it_alive_and_its_details_reach_the_next_attempt) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *c = core_add_activity(&f, "a");
    REQUIRE(c);
    c->heartbeat_timeout = core_duration(&f, 3 * SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    core_advance(&f, 2 * SEC);
    State__Activity *a = f.st ? activity_find(f.st, 5) : NULL;
    REQUIRE(a);
    CHECK_INT(STEP(&f, activity_heartbeat(&f.s, a, core_payloads(&f, "half way"))), 0);
    const State__Activity *now = core_activity(&f, 5);
    REQUIRE(now);
    CHECK_INT(activity_due_us(now), CORE_T0 + 5 * SEC);
    (void)core_new(&f);
    core_advance(&f, 3 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), ""); /* a heartbeat timeout is retried */
    now = core_activity(&f, 5);
    REQUIRE(now && now->heartbeat_details && now->last_failure && now->last_failure->timeout_failure_info);
    CHECK_INT(now->attempt, 2);
    CHECK_SLICE(pb_bytes(&now->heartbeat_details->payloads[0]->data), STR("half way"));
    CHECK_STR(now->last_failure->message, "activity Heartbeat timeout");
    CHECK_INT(now->last_failure->timeout_failure_info->timeout_type, TIMEOUT_TYPE_HEARTBEAT);
    CHECK(now->last_failure->timeout_failure_info->last_heartbeat_details);
}

TEST(activity_failure_can_bring_the_last_details) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    State__Activity *a = f.st ? activity_find(f.st, 5) : NULL;
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(a && failure);
    CHECK_INT(STEP(&f, activity_fail(&f.s, a, failure, core_payloads(&f, "last"), "activity-worker")), 0);
    const State__Activity *now = core_activity(&f, 5);
    REQUIRE(now && now->heartbeat_details);
    CHECK_SLICE(pb_bytes(&now->heartbeat_details->payloads[0]->data), STR("last"));
}

TEST(activity_that_nobody_knows) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    CHECK_INT(core_activity_start(&f, 99), ERR_NOT_FOUND);
    (void)core_new(&f);
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 99, 1, 1)), 0);
    CHECK_STR(core_effects(&f), "");
}

TEST(activity_goes_to_the_queue_of_its_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *a = core_add_activity(&f, "a");
    REQUIRE(a);
    a->task_queue = core_queue(&f, "");
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(core_activity(&f, 5));
    CHECK_STR(core_activity(&f, 5)->task_queue, "queue");
}
