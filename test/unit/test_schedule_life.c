/* A schedule from its creation to its end. */
#include "schedule_fixture.h"

TEST(acts_at_its_times) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f), "00:05 00:10 00:15 00:20 00:25 00:30 00:35 00:40 00:45 00:50");
    sched_go(&f, "00:17");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 STARTED/COMPLETED, 00:15 STARTED/COMPLETED");
    CHECK_INT(sched_state(&f)->action_count, 3);
    CHECK_STR(sched_future(&f), "00:20 00:25 00:30 00:35 00:40 00:45 00:50 00:55 01:00 01:05");
}

TEST(skips_while_a_run_is_open) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:12");
    sched_close(&f, "00:05", STATUS(COMPLETED));
    sched_go(&f, "00:16");
    CHECK_STR(sched_begun(&f), "00:05 00:15");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 OVERLAP_SKIPPED, 00:15 STARTED/RUNNING");
    CHECK_INT(sched_state(&f)->overlap_skipped, 1);
}

/* the high-water mark */

static const char *counters(struct sched *f) {
    const State__Schedule *sch = sched_state(f);
    const char *text =
        arena_printf(&f->c.arena, "%d begun, %d missed, %d skipped, %d dropped", (int)sch->action_count,
                     (int)sch->missed_catchup_window, (int)sch->overlap_skipped, (int)sch->buffer_dropped);
    return text ? text : "out of memory";
}

static Google__Protobuf__Duration *seconds(struct sched *f, int64_t s) {
    return core_duration(&f->c, s * USEC_PER_SEC);
}

TEST(vector_13_what_is_too_late_is_missed) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1h/17m");
    f.schedule->policies->catchup_window = seconds(&f, 3600);
    f.c.now_us = sched_us("-1d 18:00");
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:00"); /* the server was down */
    sched_go(&f, "00:30");
    CHECK_STR(sched_begun(&f), "-1d 23:17@00:00 00:17");
    CHECK_STR(counters(&f), "2 begun, 5 missed, 0 skipped, 0 dropped");
    CHECK_STR(sched_ledger(&f),
              "-1d 18:17..-1d 22:17 x5 CATCHUP_MISSED, -1d 23:17 STARTED/COMPLETED, 00:17 STARTED/COMPLETED");
}

static int64_t catchup_of(int64_t window_s) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->catchup_window = window_s == INT64_MAX ? NULL : seconds(&f, window_s);
    if (sched_create(&f) < 0 || !f.c.st)
        return -1;
    Schedule__Schedule *shown = schedule_shown(f.c.st, &f.c.arena);
    return shown ? pb_duration_us(shown->policies->catchup_window) / USEC_PER_SEC : -1;
}

TEST(catch_up_windows_have_a_default_and_a_least) {
    CHECK_INT(catchup_of(INT64_MAX), 365 * 86400);
    CHECK_INT(catchup_of(0), 365 * 86400);
    CHECK_INT(catchup_of(-5), 365 * 86400);
    CHECK_INT(catchup_of(1), 10);
    CHECK_INT(catchup_of(10), 10);
    CHECK_INT(catchup_of(60), 60);
}

TEST(only_while_active_makes_up_for_nothing) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->extras->only_while_active = true;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:20:03");
    sched_go(&f, "00:25");
    CHECK_STR(sched_begun(&f), "00:20@00:20:03 00:25");
    CHECK_STR(counters(&f), "2 begun, 3 missed, 0 skipped, 0 dropped");
}

TEST(only_while_active_begins_with_the_server) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->extras->only_while_active = true;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:10:03");
    f.c.ctx.active_us = f.c.now_us - USEC_PER_SEC; /* since 00:10:02 */
    sched_go(&f, "00:15");
    CHECK_STR(sched_begun(&f), "00:15");
    CHECK_STR(counters(&f), "1 begun, 2 missed, 0 skipped, 0 dropped");
}

TEST(everything_missed_is_made_up_for_by_default) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:21");
    sched_go(&f, "00:21");
    CHECK_STR(sched_begun(&f), "00:05@00:21 00:10@00:21 00:15@00:21 00:20@00:21");
}

TEST(a_clock_that_goes_back_repeats_nothing) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:11");
    sched_jump(&f, "00:01");
    sched_tick(&f);
    sched_go(&f, "00:16");
    CHECK_STR(sched_begun(&f), "00:05 00:10 00:15");
    CHECK_STR(sched_future(&f), "00:20 00:25 00:30 00:35 00:40 00:45 00:50 00:55 01:00 01:05");
}

/* jitter: the nominal times 01:00, 02:00, 03:00 act at 01:49:22.594, 02:02:39.204, 03:37:29.538 */

static void create_jittered(struct sched *f) {
    sched_init(f);
    f->closes_at_once = true;
    sched_every(f, f->schedule, "1h");
    f->schedule->spec->jitter = seconds(f, 3600);
    CHECK_INT(sched_create(f), 0);
}

TEST(jitter_moves_the_start_and_not_the_name) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "03:00");
    CHECK_STR(sched_begun(&f), "01:00@01:49:22.594 02:00@02:02:39.204");
    struct sched_run *run = sched_run_at(&f, "01:00");
    CHECK_STR(run ? run->workflow_id : "", "wf-2022-06-01T01:00:00Z");
}

TEST(a_backfill_leaves_out_what_jitter_moves_past_its_end) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    CHECK_INT(sched_backfill(&f, "01:00", "03:37:29.537", POLICY(ALLOW_ALL)), 0);
    CHECK_STR(sched_begun(&f), "01:00@00:00 02:00@00:00");
    CHECK_INT(sched_backfill(&f, "03:00", "03:37:29.538", POLICY(ALLOW_ALL)), 0);
    CHECK_STR(sched_begun(&f), "03:00@00:00");
}

TEST(a_step_between_nominal_and_jittered_loses_nothing) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    sched_tick(&f);
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    CHECK_STR(sched_begun(&f), "01:10");
    sched_go(&f, "01:50");
    CHECK_STR(sched_begun(&f), "01:00@01:49:22.594");
}

TEST(pause_and_unpause_between_nominal_and_jittered_lose_nothing) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_pause(&f, "wait"), 0);
    sched_go(&f, "01:20");
    CHECK_INT(sched_unpause(&f, "go"), 0);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "01:00@01:49:22.594");
}

TEST(paused_at_the_jittered_time) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_pause(&f, "wait"), 0);
    sched_go(&f, "02:01");
    CHECK_INT(sched_unpause(&f, "go"), 0);
    sched_go(&f, "03:00");
    CHECK_STR(sched_begun(&f), "02:00@02:02:39.204");
    CHECK_STR(sched_ledger(&f), "01:00 PAUSED, 02:00 STARTED/COMPLETED");
}

TEST(a_clock_that_goes_back_between_nominal_and_jittered_loses_nothing) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    sched_tick(&f);
    sched_jump(&f, "00:30");
    sched_tick(&f);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "01:00@01:49:22.594");
}

static Schedule__Schedule *jittered_again(struct sched *f, const char *every, int64_t jitter_s) {
    Schedule__Schedule *changed = sched_new(f);
    sched_every(f, changed, every);
    if (changed) {
        changed->spec->jitter = jitter_s ? seconds(f, jitter_s) : NULL;
        changed->action->start_workflow->workflow_id = core_text(&f->c, "other");
    }
    return changed;
}

TEST(update_between_nominal_and_jittered_starts_the_new_action) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_update(&f, jittered_again(&f, "1h", 3600)), 0);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "01:00@01:49:22.594");
    struct sched_run *run = sched_run_at(&f, "01:00");
    CHECK_STR(run ? run->workflow_id : "", "other-2022-06-01T01:00:00Z");
}

TEST(update_that_takes_the_jitter_away_starts_at_once) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_update(&f, jittered_again(&f, "1h", 0)), 0);
    CHECK_STR(sched_begun(&f), "01:00@01:10");
    sched_go(&f, "02:30");
    CHECK_STR(sched_begun(&f), "02:00");
}

TEST(update_that_takes_the_jitter_away_makes_nothing_late) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    Schedule__Schedule *changed = jittered_again(&f, "1h", 0);
    if (changed)
        changed->policies->catchup_window = seconds(&f, 10);
    CHECK_INT(sched_update(&f, changed), 0);
    CHECK_STR(sched_begun(&f), "01:00@01:10");
    CHECK_INT(sched_update(&f, jittered_again(&f, "1h", 0)), 0); /* and only once */
    CHECK_STR(sched_begun(&f), "");
}

TEST(update_keeps_a_jittered_time_among_many_new_ones) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_update(&f, jittered_again(&f, "20m", 0)), 0);
    CHECK_STR(sched_begun(&f), "01:00@01:10");
    sched_go(&f, "01:30");
    CHECK_STR(sched_begun(&f), "01:20");
}

TEST(update_that_removes_a_jittered_time_says_so) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_update(&f, jittered_again(&f, "1h/30m", 0)), 0);
    sched_go(&f, "01:50");
    CHECK_STR(sched_begun(&f), "01:30");
    CHECK_STR(sched_ledger(&f), "01:00 UPDATED, 01:30 STARTED/COMPLETED");
}

TEST(update_that_leaves_no_times_says_so) {
    cleanup(sched_done) struct sched f;
    create_jittered(&f);
    sched_go(&f, "01:10");
    CHECK_INT(sched_update(&f, sched_new(&f)), 0);
    sched_go(&f, "02:50");
    CHECK_STR(sched_begun(&f), "");
    CHECK_STR(sched_ledger(&f), "01:00 UPDATED");
}

/* updates */

TEST(vector_90_an_update_is_not_retroactive) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1h");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "01:07:10");
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "20s");
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "01:07:45");
    CHECK_STR(sched_begun(&f), "01:00 01:07:20 01:07:40");
}

TEST(an_update_first_does_what_is_due_by_the_old_rules) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:06"); /* 00:05 is due and nobody has looked */
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "1h");
    CHECK_INT(sched_update(&f, changed), 0);
    CHECK_STR(sched_begun(&f), "00:05@00:06");
    CHECK_STR(sched_future(&f), "01:00 02:00 03:00 04:00 05:00 06:00 07:00 08:00 09:00 10:00");
}

TEST(the_token_guards_updates) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    req.schedule = sched_new(&f);
    if (!f.c.st || !req.schedule)
        return;
    req.conflict_token = schedule_token(f.c.st, &f.c.arena);
    CHECK_INT(req.conflict_token.len, 8);
    CHECK_INT(sched_pause(&f, "note"), 0); /* every patch moves it */
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), ERR_PRECONDITION);
    CHECK_STR(f.c.err.text, "mismatched conflict token");
    if (!f.c.st)
        return;
    req.conflict_token = schedule_token(f.c.st, &f.c.arena);
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), ERR_PRECONDITION);
    req.conflict_token.len = 4;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), ERR_PRECONDITION);
    req.conflict_token.len = 0; /* without one: whatever the state is */
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
}

TEST(a_repeated_request_changes_nothing) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    req.request_id = core_text(&f.c, "update-1");
    req.schedule = sched_new(&f);
    if (!req.schedule || !req.request_id)
        return;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    int64_t token = sched_state(&f)->conflict_token;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK_INT(sched_state(&f)->conflict_token, token);
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__TriggerImmediatelyRequest trigger = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    patch.trigger_immediately = &trigger;
    CHECK_INT(sched_patch(&f, &patch, "patch-1"), 0);
    CHECK_INT(sched_patch(&f, &patch, "patch-1"), 0);
    CHECK_INT(sched_state(&f)->action_count, 1);
}

TEST(an_update_without_extras_keeps_them) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->extras->max_concurrent_runs = 7;
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *changed = sched_new(&f);
    if (changed)
        changed->extras = NULL;
    CHECK_INT(sched_update(&f, changed), 0);
    CHECK_INT(sched_state(&f)->schedule ? sched_state(&f)->schedule->extras->max_concurrent_runs : 0, 7);
    CHECK_INT(sched_update(&f, sched_new(&f)), 0);
    CHECK_INT(sched_state(&f)->schedule ? sched_state(&f)->schedule->extras->max_concurrent_runs : 1, 0);
}

/* pause */

TEST(vector_91_paused_times_are_not_made_up_for) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "3m");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:07:07");
    CHECK_INT(sched_pause(&f, "not now"), 0);
    CHECK_STR(sched_state(&f)->schedule ? sched_state(&f)->schedule->state->notes : "", "not now");
    sched_go(&f, "00:26:07");
    CHECK_STR(sched_future(&f), "00:27 00:30 00:33 00:36 00:39 00:42 00:45 00:48 00:51 00:54");
    CHECK_INT(sched_unpause(&f, "now"), 0);
    sched_go(&f, "00:28");
    CHECK_STR(sched_begun(&f), "00:03 00:06 00:27");
    CHECK_STR(
        sched_ledger(&f),
        "00:03 STARTED/COMPLETED, 00:06 STARTED/COMPLETED, 00:09..00:24 x6 PAUSED, 00:27 STARTED/COMPLETED");
}

TEST(what_was_due_but_not_begun_is_paused_too) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:06"); /* due, but nobody has looked */
    CHECK_INT(sched_pause(&f, "not now"), 0);
    CHECK_STR(sched_ledger(&f), "00:05 PAUSED");
}

TEST(many_paused_times_share_a_row) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->state->paused = true;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "01:02");
    sched_go(&f, "01:02");
    CHECK_STR(sched_ledger(&f), "00:05..01:00 x12 PAUSED");
    const Rondo__LedgerEntry *e = f.ledger_count ? f.ledger[0] : NULL;
    CHECK(e && e->last_nominal_time && e->last_nominal_time->seconds == sched_us("01:00") / USEC_PER_SEC);
}

TEST(a_pause_drops_what_waits_but_not_what_people_asked_for) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:10");
    CHECK_INT(sched_backfill(&f, "00:02", "00:05", POLICY(BUFFER_ALL)), 0);
    CHECK_INT(sched_pause(&f, "stop"), 0);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/RUNNING, 00:10 PAUSED, 00:05 WAITING");
    sched_go(&f, "00:16");
    sched_close(&f, "00:05", STATUS(COMPLETED));
    CHECK_STR(sched_begun(&f), "00:05 00:05@00:16");
}

TEST(a_pause_can_have_an_end) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("00:15"));
    f.schedule->extras->pause_until = &until;
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *shown = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK(shown && shown->state->paused);
    int64_t token = sched_state(&f)->conflict_token;
    sched_go(&f, "00:17");
    CHECK_STR(sched_begun(&f), "00:15");
    CHECK_STR(sched_ledger(&f), "00:05..00:10 x2 PAUSED, 00:15 STARTED/COMPLETED");
    shown = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK(shown && !shown->state->paused && !shown->extras->pause_until);
    CHECK(sched_state(&f)->conflict_token > token);
}

TEST(a_pause_that_ended_while_the_server_was_down) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("00:12"));
    f.schedule->extras->pause_until = &until;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:21");
    sched_go(&f, "00:21");
    CHECK_STR(sched_begun(&f), "00:15@00:21 00:20@00:21");
}

TEST(lifting_a_pause_forgets_its_end) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("1d 00:00"));
    f.schedule->extras->pause_until = &until;
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "5m");
    if (changed) {
        changed->extras = NULL; /* a client that does not know of it, and unpauses */
        changed->state->paused = false;
    }
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "00:05");
    CHECK_STR(sched_begun(&f), "00:05");
}

/* limits */

TEST(vector_89_limited_actions) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "3m");
    sched_limit(f.schedule, 2);
    CHECK_INT(sched_create(&f), 0);
    int64_t token = sched_state(&f)->conflict_token;
    CHECK_STR(sched_future(&f), "00:03 00:06");
    sched_go(&f, "00:04");
    CHECK_STR(sched_future(&f), "00:06");
    CHECK_INT(sched_state(&f)->conflict_token, token + 1);
    sched_go(&f, "00:07");
    CHECK_STR(sched_future(&f), "");
    sched_go(&f, "01:00");
    CHECK_STR(sched_begun(&f), "00:03 00:06");
    CHECK_STR(sched_ledger(&f), "00:03 STARTED/COMPLETED, 00:06 STARTED/COMPLETED, 00:09 EXHAUSTED");
    CHECK_INT(sched_trigger(&f, POLICY(UNSPECIFIED)), 0); /* still possible */
    CHECK_STR(sched_begun(&f), "01:00");
}

TEST(leftovers_of_a_limit_are_exhausted) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    sched_limit(f.schedule, 2);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:21");
    sched_go(&f, "00:40");
    CHECK_STR(sched_begun(&f), "00:05@00:21 00:10@00:21");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/RUNNING, 00:10 STARTED/RUNNING, 00:15..00:25 x3 EXHAUSTED");
}

TEST(a_new_limit_goes_on) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_limit(f.schedule, 0);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:17");
    CHECK_STR(sched_ledger(&f), "00:05 EXHAUSTED");
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "5m");
    sched_limit(changed, 1);
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "00:40");
    CHECK_STR(sched_begun(&f), "00:20");
    CHECK_STR(sched_ledger(&f), "00:05..00:15 x3 EXHAUSTED, 00:20 STARTED/COMPLETED, 00:25 EXHAUSTED");
}

/* The first of them is written at its time, the others once a day, and all before anything changes. */
TEST(what_passes_an_exhausted_schedule_by_has_rows) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1h");
    sched_limit(f.schedule, 0);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "23:30");
    CHECK_STR(sched_ledger(&f), "01:00 EXHAUSTED");
    sched_go(&f, "1d 05:30");
    CHECK_STR(sched_ledger(&f), "01:00..1d 01:00 x25 EXHAUSTED");
    CHECK_INT(sched_trigger(&f, POLICY(UNSPECIFIED)), 0);
    Schedule__Schedule *changed = sched_new(&f);
    sched_every(&f, changed, "1h");
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "1d 06:00");
    CHECK_STR(sched_ledger(&f),
              "01:00..1d 05:00 x29 EXHAUSTED, 1d 05:30 STARTED/RUNNING, 1d 06:00 OVERLAP_SKIPPED");
}

TEST(what_was_exhausted_has_rows_when_it_ends) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "6h");
    sched_limit(f.schedule, 0);
    f.schedule->extras->keep_after_end = seconds(&f, 20 * 3600);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "1d 00:00");
    CHECK(f.c.st && !run_is_open(f.c.st));
    CHECK_STR(sched_ledger(&f), "06:00..18:00 x3 EXHAUSTED");
}

/* the end */

static bool is_open(const struct sched *f) {
    return f->c.st && run_is_open(f->c.st);
}

TEST(vector_92_it_ends_a_week_after_its_last_action) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_limit(f.schedule, 1);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "7d 00:04:59");
    CHECK(is_open(&f));
    sched_go(&f, "7d 00:05");
    CHECK(f.c.st && !is_open(&f) && f.c.st->status == STATUS(COMPLETED));
    CHECK(f.c.st && f.c.st->close_us == sched_us("7d 00:05"));
    CHECK(f.c.st && run_due_us(f.c.st) == CLOCK_NEVER);
}

TEST(vector_92_an_empty_one_ends_a_week_after_its_creation) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "6d 00:00");
    CHECK_INT(sched_trigger(&f, POLICY(UNSPECIFIED)), 0);
    sched_go(&f, "20d 00:00");
    CHECK(is_open(&f)); /* what it started is still running */
    sched_close(&f, "6d 00:00", STATUS(COMPLETED));
    sched_go(&f, "26d 23:59:59");
    CHECK(is_open(&f));
    sched_go(&f, "27d 00:00");
    CHECK(f.c.st && !is_open(&f));
}

TEST(how_long_it_stays_can_be_said) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Google__Protobuf__Timestamp end = pb_timestamp(sched_us("00:12"));
    f.schedule->spec->end_time = &end;
    f.schedule->extras->keep_after_end = seconds(&f, 3600);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "01:09:59");
    CHECK_STR(sched_begun(&f), "00:05 00:10");
    CHECK(is_open(&f));
    sched_go(&f, "01:10");
    CHECK(f.c.st && !is_open(&f));
}

TEST(a_paused_one_stays_and_unpausing_starts_the_week_anew) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    f.schedule->state->paused = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "100d 00:00");
    CHECK(is_open(&f));
    CHECK_INT(sched_unpause(&f, "go"), 0);
    CHECK(is_open(&f));
    sched_go(&f, "106d 23:59");
    CHECK(is_open(&f));
    sched_go(&f, "107d 00:00");
    CHECK(f.c.st && !is_open(&f));
}

/* exclusions */

TEST(excluded_times_have_rows_too) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "30m");
    sched_exclude(&f, f.schedule, "1-2");
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f), "00:30 03:00 03:30 04:00 04:30 05:00 05:30 06:00 06:30 07:00");
    sched_go(&f, "03:10");
    CHECK_STR(sched_begun(&f), "00:30 03:00");
    CHECK_STR(sched_ledger(&f), "00:30 STARTED/COMPLETED, 01:00..02:30 x4 EXCLUDED, 03:00 STARTED/COMPLETED");
}

/* the rest of its life */

TEST(only_an_action_is_needed) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec = NULL;
    f.schedule->policies = NULL;
    f.schedule->state = NULL;
    f.schedule->extras = NULL;
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f), "");
    CHECK_INT(sched_trigger(&f, POLICY(UNSPECIFIED)), 0);
    CHECK_STR(sched_begun(&f), "00:00");
    const Schedule__Schedule *shown = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK(shown && shown->policies->overlap_policy == POLICY(SKIP) && !shown->extras);
    const Schedule__ScheduleListEntry *listed = f.c.st ? schedule_list_entry(f.c.st, 0, &f.c.arena) : NULL;
    CHECK(listed && listed->info && !listed->info->paused);
}

TEST(it_is_kept_where_no_workflow_can_be) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(f.c.st ? f.c.st->workflow_id : "", SCHEDULE_ID_PREFIX "myschedule");
    CHECK(!utf8_valid(STR(SCHEDULE_ID_PREFIX)));
}

static Common__Memo *memo_of(struct sched *f, const char *key) {
    Common__Memo *memo = pb_arena_new(&common__memo__descriptor, &f->c.arena);
    Common__Memo__FieldsEntry *e = pb_arena_new(&common__memo__fields_entry__descriptor, &f->c.arena);
    Common__Memo__FieldsEntry **list = arena_array(&f->c.arena, Common__Memo__FieldsEntry *, 1);
    if (!memo || !e || !list)
        return NULL;
    e->key = core_text(&f->c, key);
    e->value = core_payload(&f->c, "json/plain", "1");
    list[0] = e;
    memo->fields = list;
    memo->n_fields = 1;
    return memo;
}

TEST(an_update_keeps_replaces_or_clears_the_memo) {
    cleanup(sched_done) struct sched f;
    Common__Memo empty = COMMON__MEMO__INIT;
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    sched_init(&f);
    f.create.memo = memo_of(&f, "old");
    CHECK_INT(sched_create(&f), 0);
    req.schedule = sched_new(&f);
    if (!req.schedule)
        return;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK(!f.c.st || (f.c.st->memo->n_fields == 1 && cstr_eq(f.c.st->memo->fields[0]->key, "old")));
    req.memo = memo_of(&f, "new");
    CHECK_INT(req.memo ? SCHED(&f, schedule_update(&f.c.s, &req)) : 0, 0);
    CHECK(!f.c.st || !req.memo ||
          (f.c.st->memo->n_fields == 1 && cstr_eq(f.c.st->memo->fields[0]->key, "new")));
    req.memo = &empty;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK(!f.c.st || !f.c.st->memo || f.c.st->memo->n_fields == 0);
}

static Common__SearchAttributes *attributes_of(struct sched *f, const char *key) {
    Common__SearchAttributes *out = pb_arena_new(&common__search_attributes__descriptor, &f->c.arena);
    Common__SearchAttributes__IndexedFieldsEntry *e =
        pb_arena_new(&common__search_attributes__indexed_fields_entry__descriptor, &f->c.arena);
    Common__SearchAttributes__IndexedFieldsEntry **list =
        arena_array(&f->c.arena, Common__SearchAttributes__IndexedFieldsEntry *, 1);
    if (!out || !e || !list)
        return NULL;
    e->key = core_text(&f->c, key);
    e->value = core_payload(&f->c, "json/plain", "\"x\"");
    list[0] = e;
    out->indexed_fields = list;
    out->n_indexed_fields = 1;
    return out;
}

static const char *first_attribute(const struct sched *f) {
    const Common__SearchAttributes *a = f->c.st ? f->c.st->search_attributes : NULL;
    return a && a->n_indexed_fields == 1 ? a->indexed_fields[0]->key : "";
}

TEST(an_update_keeps_or_replaces_the_search_attributes) {
    cleanup(sched_done) struct sched f;
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    sched_init(&f);
    f.create.search_attributes = attributes_of(&f, "Old");
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(first_attribute(&f), "Old");
    req.schedule = sched_new(&f);
    if (!req.schedule)
        return;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK_STR(first_attribute(&f), "Old");
    req.search_attributes = attributes_of(&f, "New");
    if (!req.search_attributes)
        return;
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK_STR(first_attribute(&f), "New");
}

TEST(deleting_it_takes_its_letters_back) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    CHECK(!f.c.st || f.c.st->n_outbox == 1);
    CHECK_INT(SCHED(&f, schedule_end(&f.c.s, STATUS(TERMINATED))), 0);
    CHECK(f.c.st && !is_open(&f) && f.c.st->n_outbox == 0 && run_due_us(f.c.st) == CLOCK_NEVER);
    CHECK_STR(sched_ledger(&f), "00:05 ENDED");
    CHECK_INT(SCHED(&f, schedule_end(&f.c.s, STATUS(TERMINATED))), ERR_NOT_FOUND);
}

/* Its ledger is read after its end, too: what waits is over, and what runs tells how it ends. */
TEST(the_ledger_goes_on_behind_the_end) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:12");
    sched_jump(&f, "00:16"); /* 00:15 was not looked at yet */
    CHECK_INT(SCHED(&f, schedule_end(&f.c.s, STATUS(TERMINATED))), 0);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/RUNNING, 00:10 ENDED, 00:15 ENDED");
    const Rondo__LedgerEntry *e = f.ledger_count > 1 ? f.ledger[1] : NULL;
    CHECK_STR(e ? e->reason : "", "the schedule was deleted before it could be started");
    sched_close(&f, "00:05", STATUS(FAILED));
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/FAILED, 00:10 ENDED, 00:15 ENDED");
    CHECK(f.c.st && !is_open(&f) && sched_state(&f)->n_starts == 0);
    CHECK(!f.c.st || !sched_state(&f)->last_failure);
}

/* Its letter arrived, and the answer was still on its way when the schedule was deleted. */
TEST(a_start_that_the_end_overtook_is_told_of_later) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    CHECK_INT(SCHED(&f, schedule_end(&f.c.s, STATUS(TERMINATED))), 0);
    CHECK_STR(sched_ledger(&f), "00:05 ENDED");
    struct action_end end = {.workflow_id = "wf",
                             .first_run_id = "33333333-3333-4333-8333-333333333333",
                             .status = STATUS(COMPLETED),
                             .close_us = sched_us("00:06")};
    CHECK_INT(SCHED(&f, (schedule_action_closed(&f.c.s, 1, &end), 0)), 0);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED");
}
