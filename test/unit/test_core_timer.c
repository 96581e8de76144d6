/* Timers: started, fired, cancelled, and what a started task does to them. */
#include "core_fixture.h"

#define SEC USEC_PER_SEC

/* A run with a timer "t" of 5 s (event 5) and no task. */
static int begin(struct core *f) {
    int rc = core_begin_run(f);
    core_add_timer(f, "t", 5 * SEC);
    if (rc == 0)
        rc = core_complete(f);
    (void)core_new(f);
    return rc;
}

TEST(timer_fires_and_wakes_the_workflow) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(run_due_us(f.st), CORE_T0 + 5 * SEC);
    const History__TimerStartedEventAttributes *started = core_attributes(&f, 5, EVENT_TYPE_TIMER_STARTED);
    REQUIRE(started);
    CHECK_STR(started->timer_id, "t");
    CHECK_INT(pb_duration_us(started->start_to_fire_timeout), 5 * SEC);
    CHECK_INT(started->workflow_task_completed_event_id, 4);
    core_advance(&f, 5 * SEC - 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    core_advance(&f, 1);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TIMER_FIRED@6 TASK_SCHEDULED@7");
    CHECK_STR(core_effects(&f), "TASK@7");
    const History__TimerFiredEventAttributes *fired = core_attributes(&f, 6, EVENT_TYPE_TIMER_FIRED);
    REQUIRE(fired && f.st);
    CHECK_STR(fired->timer_id, "t");
    CHECK_INT(fired->started_event_id, 5);
    CHECK_INT(f.st->n_timers, 0);
    CHECK_INT(run_due_us(f.st), CLOCK_NEVER);
}

/* As long as clients can be told of. */
TEST(timer_waits_for_a_century_at_most) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__StartTimerCommandAttributes *in = core_add_timer(&f, "t", SEC);
    REQUIRE(in && in->start_to_fire_timeout);
    in->start_to_fire_timeout->seconds = INT64_MAX;
    CHECK_INT(core_complete(&f), 0);
    const History__TimerStartedEventAttributes *started = core_attributes(&f, 5, EVENT_TYPE_TIMER_STARTED);
    REQUIRE(started && f.st);
    CHECK_INT(pb_duration_us(started->start_to_fire_timeout), PB_WAIT_US_MAX);
    CHECK_INT(run_due_us(f.st), CORE_T0 + PB_WAIT_US_MAX);
}

TEST(timer_shorter_than_a_microsecond_is_due_at_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__StartTimerCommandAttributes *in = core_add_timer(&f, "t", 0);
    REQUIRE(in && in->start_to_fire_timeout);
    in->start_to_fire_timeout->nanos = 1;
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 TIMER_STARTED@5");
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TIMER_FIRED@6 TASK_SCHEDULED@7");
}

TEST(timer_that_fires_during_a_task_waits_for_its_end) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    core_advance(&f, 5 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->n_timers == 0 && f.st->n_buffered == 1);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@8 TASK_COMPLETED@9 TIMER_FIRED@10 TASK_SCHEDULED@11");
    CHECK_INT(core_event_us(&f, 10), CORE_T0 + 5 * SEC);
}

TEST(timer_is_cancelled) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    (void)core_new(&f);
    core_add_cancel_timer(&f, "t");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@8 TASK_COMPLETED@9 TIMER_CANCELED@10");
    const History__TimerCanceledEventAttributes *a = core_attributes(&f, 10, EVENT_TYPE_TIMER_CANCELED);
    REQUIRE(a && f.st);
    CHECK_STR(a->timer_id, "t");
    CHECK_INT(a->started_event_id, 5);
    CHECK_INT(a->workflow_task_completed_event_id, 9);
    CHECK_INT(run_due_us(f.st), CLOCK_NEVER);
}

TEST(timer_cancel_takes_the_buffered_fire_back_and_leaves_the_rest) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, "before"), 0);
    core_advance(&f, 5 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_signal(&f, "after"), 0);
    (void)core_new(&f);
    core_add_cancel_timer(&f, "t");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f),
              "TASK_STARTED@8 TASK_COMPLETED@9 TIMER_CANCELED@10 RUN_SIGNALED@11 RUN_SIGNALED@12 "
              "TASK_SCHEDULED@13");
}

TEST(timer_cancelled_twice_is_refused) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    core_add_cancel_timer(&f, "t");
    core_add_cancel_timer(&f, "t");
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES);
    CHECK(f.st && f.st->n_timers == 1);
}

TEST(timer_id_is_free_again_after_it_fired_or_was_cancelled) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f), 0);
    core_advance(&f, 5 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_add_timer(&f, "t", SEC);
    core_add_cancel_timer(&f, "t");
    core_add_timer(&f, "t", SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK(f.st && f.st->n_timers == 1);
}

TEST(timer_started_and_cancelled_in_one_answer) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    core_add_timer(&f, "t", SEC);
    core_add_cancel_timer(&f, "t");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 TIMER_STARTED@5 TIMER_CANCELED@6");
    CHECK(f.st && f.st->n_timers == 0);
}

/* More commands about timers than a walk over the state for each would allow: they find what they should. */
TEST(timers_of_many_commands_are_found_by_their_ids) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (int i = 0; i < 20; i++)
        core_add_timer(&f, arena_printf(&f.arena, "t%d", i), (20 - i) * SEC);
    for (int i = 1; i < 20; i += 2)
        core_add_cancel_timer(&f, arena_printf(&f.arena, "t%d", i));
    core_add_timer(&f, "t1", 30 * SEC); /* free again */
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->n_timers, 11);
    CHECK_INT(run_due_us(f.st), CORE_T0 + 2 * SEC); /* t18 */
    core_advance(&f, 60 * SEC);
    (void)core_new(&f);
    CHECK_INT(core_tick(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->n_timers, 0);
    const History__TimerFiredEventAttributes *first = core_attributes(&f, 36, EVENT_TYPE_TIMER_FIRED);
    REQUIRE(first);
    CHECK_STR(first->timer_id, "t18"); /* by their deadlines, not by their events */
}

TEST(timer_that_runs_is_refused_a_second_time_behind_many) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (int i = 0; i < 20; i++)
        core_add_timer(&f, arena_printf(&f.arena, "t%d", i), SEC);
    core_add_timer(&f, "t3", SEC);
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_STR(f.err.text, "A timer with this TimerId is already running.");
}
