/* Deadlines of a run: the earliest counts, late ticks do everything in order, timeouts close. */
#include "core_fixture.h"

#define SEC USEC_PER_SEC

TEST(due_is_never_for_a_run_that_waits_for_others) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK(f.st && run_due_us(f.st) == CLOCK_NEVER);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2");
}

TEST(due_is_the_earliest_of_all) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 100 * SEC);
    CHECK_INT(core_begin_run(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(run_due_us(f.st), CORE_T0 + 10 * SEC); /* the task */
    core_add_activity(&f, "a");
    core_add_timer(&f, "t1", 50 * SEC);
    core_add_timer(&f, "t2", 30 * SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK(f.st && run_due_us(f.st) == CORE_T0 + 30 * SEC);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK(f.st && run_due_us(f.st) == CORE_T0 + 10 * SEC); /* start-to-close of the activity */
}

TEST(due_late_tick_does_everything_in_the_order_of_the_deadlines) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "late", 3 * SEC);
    core_add_timer(&f, "early", SEC);
    core_add_timer(&f, "middle", 2 * SEC);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 100 * SEC);
    CHECK_INT(core_tick(&f), 0);
    static const char *const want[] = {"early", "middle", "late"};
    size_t n = 0;
    for (int64_t id = 8; id <= 11; id++) {
        const History__TimerFiredEventAttributes *a = core_attributes(&f, id, EVENT_TYPE_TIMER_FIRED);
        if (a && n < ARRAY_LEN(want)) {
            CHECK_STR(a->timer_id, want[n]);
            n++;
        }
    }
    CHECK_INT(n, 3);
    CHECK(f.st && f.st->n_timers == 0 && f.st->task && !core_event(&f, 12));
}

TEST(due_run_timeout_closes_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 60 * SEC);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 60 * SEC - 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    core_advance(&f, 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_TIMED_OUT@3");
    CHECK_STR(core_effects(&f), "CLOSED");
    const History__WorkflowExecutionTimedOutEventAttributes *a =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT);
    REQUIRE(a && f.st);
    CHECK_INT(a->retry_state, RETRY_STATE_TIMEOUT);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TIMED_OUT);
    CHECK_INT(f.st->close_us, f.now_us);
    CHECK_INT(run_due_us(f.st), CLOCK_NEVER);
}

TEST(due_execution_timeout_closes_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_execution_timeout = core_duration(&f, 60 * SEC);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 60 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_TIMED_OUT@3");
}

TEST(due_run_timeout_fails_the_started_task_and_keeps_the_buffer) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 60 * SEC);
    CHECK_INT(core_start(&f), 0);
    core_advance(&f, 55 * SEC);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "kept"), 0);
    (void)core_new(&f);
    core_advance(&f, 5 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 RUN_TIMED_OUT@6");
    const History__WorkflowTaskFailedEventAttributes *a =
        core_attributes(&f, 4, EVENT_TYPE_WORKFLOW_TASK_FAILED);
    REQUIRE(a);
    CHECK_INT(a->cause, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND);
}

TEST(due_late_tick_stops_at_the_close) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 5 * SEC);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "before", 3 * SEC);
    core_add_timer(&f, "after", 8 * SEC);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TIMER_FIRED@7 TASK_SCHEDULED@8 RUN_TIMED_OUT@9");
    CHECK_STR(core_effects(&f), "TASK@8 CLOSED");
}

TEST(due_task_that_times_out_late_is_followed_by_one_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 3600 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_TIMED_OUT@4");
    CHECK_STR(core_effects(&f), "TASK@5");
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_effects(&f), "");
}

TEST(due_at_the_same_moment_comes_in_the_order_of_making) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 9 * SEC);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "one", 5 * SEC);
    core_add_timer(&f, "two", 5 * SEC);
    core_add_timer(&f, "with the run's end", 9 * SEC);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 9 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TIMER_FIRED@8 TASK_SCHEDULED@9 TIMER_FIRED@10 RUN_TIMED_OUT@11");
    const History__TimerFiredEventAttributes *first = core_attributes(&f, 8, EVENT_TYPE_TIMER_FIRED);
    REQUIRE(first);
    CHECK_STR(first->timer_id, "one");
}
