/* What every step has: effects and notices up to a number, and events that wait for their ids. */
#include "core_fixture.h"

TEST(step_effects_have_a_limit) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(core_begin(&f));
    for (int i = 0; i < STEP_EFFECTS_MAX; i++)
        step_effect(&f.s, EFFECT_LETTER, i);
    CHECK(!step_failed(&f.s));
    CHECK_INT(f.s.effect_count, STEP_EFFECTS_MAX);
    step_effect(&f.s, EFFECT_LETTER, 0);
    CHECK(step_failed(&f.s));
}

/* More say nothing new. */
TEST(step_notices_have_a_limit) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(core_begin(&f));
    f.limits.values[SETTABLE_BLOB_BYTES] = 100;
    f.limits.values[SETTABLE_BLOB_BYTES_WARN] = 1;
    const Common__Payloads *payloads = core_payloads(&f, "x");
    REQUIRE(payloads);
    for (int i = 0; i <= STEP_NOTICES_MAX; i++)
        CHECK(step_blob_fits(&f.s, payloads, "here"));
    CHECK_INT(f.s.notice_count, STEP_NOTICES_MAX);
    CHECK_INT(f.s.notices[0].kind, NOTICE_PAYLOAD_LARGE);
    CHECK_STR(f.s.notices[0].what, "here");
}

/* Two timers fire while the worker is busy; it cancels the second of them. */
TEST(step_drops_the_right_timer) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_timer(&f, "one", USEC_PER_SEC);
    core_add_timer(&f, "two", USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    (void)core_new(&f);
    core_add_cancel_timer(&f, "two");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f),
              "TASK_STARTED@9 TASK_COMPLETED@10 TIMER_CANCELED@11 TIMER_FIRED@12 TASK_SCHEDULED@13");
}

/* The more it cancels the more often the server looks through what has come meanwhile. */
TEST(step_looks_for_many_timers_among_large_events) {
    enum { TIMERS = 10, LARGE_BYTES = 100 << 10 };
    char text[LARGE_BYTES + 1];
    cleanup(core_done) struct core f;
    char id[] = "0";
    memset(text, 'x', LARGE_BYTES);
    text[LARGE_BYTES] = '\0';
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (*id = '0'; *id < '0' + TIMERS; (*id)++)
        core_add_timer(&f, id, USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_signal(&f, text), 0);
    core_advance(&f, USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    for (*id = '0'; *id < '0' + TIMERS; (*id)++)
        core_add_cancel_timer(&f, id);
    f.arena.budget = f.arena.used + 3 * (size_t)LARGE_BYTES; /* to write it down takes one */
    CHECK_INT(core_complete(&f), 0);
    CHECK(f.st && f.st->n_buffered == 0);
}

/* Both have ended while the worker is busy, which cannot know it. */
TEST(step_knows_which_activity_has_ended) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_activity(&f, "a");
    core_add_activity(&f, "b");
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_activity_start(&f, 6), 0);
    CHECK_INT(core_signal(&f, "go"), 0);
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_activity_complete(&f, 6), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    core_add_cancel_activity(&f, 5); /* too late, and no mistake */
    CHECK_INT(core_complete(&f), 0);
    core_add_cancel_activity(&f, 5); /* the worker has been told */
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), ERR_INVALID);
}

TEST(step_knows_events_that_fit) {
    History__TimerFiredEventAttributes fired = HISTORY__TIMER_FIRED_EVENT_ATTRIBUTES__INIT;
    History__HistoryEvent ev = HISTORY__HISTORY_EVENT__INIT;
    ev.event_type = EVENT_TYPE_TIMER_FIRED;
    CHECK(!event_fits(&ev));
    ev.attributes_case = HISTORY__HISTORY_EVENT__ATTRIBUTES_TIMER_FIRED_EVENT_ATTRIBUTES;
    ev.timer_fired_event_attributes = &fired;
    CHECK(event_fits(&ev));
    ev.event_type = EVENT_TYPE_TIMER_CANCELED;
    CHECK(!event_fits(&ev));
    ev.event_type = EVENT_TYPE_UNSPECIFIED;
    CHECK(!event_fits(&ev));
}
