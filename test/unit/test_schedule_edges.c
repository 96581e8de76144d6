/* Schedules at the edges of their specs, pauses, limits and zones. */
#include "schedule_fixture.h"

/* Two reasons to be excluded, side by side, are two rows. */
TEST(excluded_times_say_by_what) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Rondo__HolidayCalendar holidays = RONDO__HOLIDAY_CALENDAR__INIT, *calendars[] = {&holidays};
    char *dates[] = {core_text(&f.c, "2022-06-02")}, *names[] = {core_text(&f.c, "h")};
    REQUIRE(dates[0] && names[0]);
    holidays.name = names[0];
    holidays.dates = dates;
    holidays.n_dates = 1;
    f.space.holiday_calendars = calendars;
    f.space.n_holiday_calendars = 1;
    f.schedule->extras->holiday_calendars = names;
    f.schedule->extras->n_holiday_calendars = 1;
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1h");
    sched_exclude(&f, f.schedule, "22-23");
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "1d 01:30");
    CHECK_INT(sched_tick(&f), 0);
    const Rondo__LedgerEntry *spec = NULL, *holiday = NULL;
    for (size_t i = 0; i < f.ledger_count; i++) {
        if (!f.ledger[i] || f.ledger[i]->fate != LEDGER_FATE_EXCLUDED)
            continue;
        if (cstr_eq(f.ledger[i]->reason, "the spec excludes it"))
            spec = f.ledger[i];
        else
            holiday = f.ledger[i];
    }
    REQUIRE(spec && holiday);
    CHECK_STR(holiday->reason, "a holiday calendar excludes it: \"h\"");
}

/* Nothing follows the end of the spec, excluded or not. */
TEST(excluded_times_end_with_the_spec) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Google__Protobuf__Timestamp end = pb_timestamp(sched_us("02:00"));
    f.schedule->spec->end_time = &end;
    sched_every(&f, f.schedule, "1h");
    sched_exclude(&f, f.schedule, "1");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "03:00");
    CHECK_STR(sched_ledger(&f), "01:00 EXCLUDED, 02:00 STARTED/COMPLETED");
    CHECK(!f.c.st || !sched_state(&f)->generate_us);
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0); /* there is nothing to look at */
    CHECK(!f.c.st || !sched_state(&f)->generate_us);
}

/* A holiday calendar changes while times are due, or after the last action: nothing is lost by it. */
TEST(a_refresh_does_what_is_due) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    sched_limit(f.schedule, 2);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:11");
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    CHECK_STR(sched_begun(&f), "00:05@00:11 00:10@00:11");
    sched_jump(&f, "00:16");
    CHECK_INT(sched_tick(&f), 0);
    sched_jump(&f, "00:21");
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED, 00:10 STARTED/COMPLETED, 00:15 EXHAUSTED, "
                                "00:20 EXHAUSTED");
}

/* An update of a schedule whose zone is gone, and one to a zone that is gone at once. */
TEST(an_update_mends_what_cannot_be_read) {
    cleanup(sched_done) struct sched f;
    bool failed = false;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    REQUIRE(f.c.st);
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "Gone/Zone", &failed);
    Schedule__Schedule *whole = sched_new(&f);
    sched_every(&f, whole, "5m");
    CHECK_INT(sched_update(&f, whole), 0);
    CHECK_STR(sched_begun(&f), "");
    sched_go(&f, "00:05");
    CHECK_STR(sched_begun(&f), "00:05");
    Schedule__Schedule *gone = sched_new(&f);
    REQUIRE(f.c.st && gone);
    sched_every(&f, gone, "5m");
    gone->spec->timezone_name = core_text(&f.c, "Gone/Zone");
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    req.schedule = gone; /* not prepared, so nobody has noticed */
    CHECK_INT(SCHED(&f, schedule_update(&f.c.s, &req)), 0);
    CHECK(!f.c.st || !cstr_is_empty(sched_state(&f)->invalid_error));
    CHECK_INT(sched_backfill(&f, "-1d 00:00", "-1d 00:10", POLICY(ALLOW_ALL)), 0);
    REQUIRE(f.c.st && sched_state(&f)->n_backfills == 1); /* waits until it can be read again */
    const Schedule__ScheduleInfo *info = schedule_info(f.c.st, &f.c.arena);
    REQUIRE(info && info->n_backfills == 1);
    CHECK_INT(pb_timestamp_us(info->backfills[0]->progress_time), sched_us("-1d 00:00"));
}

/* Whoever triggered it may ask what came of it while that is being decided. */
TEST(a_trigger_is_being_decided) {
    cleanup(sched_done) struct sched f;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__TriggerImmediatelyRequest trigger = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_patch(&f, &patch, "nothing"), 0);
    patch.trigger_immediately = &trigger;
    CHECK_INT(sched_patch(&f, &patch, "trigger"), 0);
    REQUIRE(f.c.st);
    const State__ScheduleRequest *nothing = schedule_request_find(f.c.st, "nothing");
    const State__ScheduleRequest *asked = schedule_request_find(f.c.st, "trigger");
    REQUIRE(nothing && asked);
    CHECK(!schedule_is_deciding(f.c.st, nothing));
    CHECK(schedule_is_deciding(f.c.st, asked)); /* its letter is on the way */
    f.c.st->schedule->starts[0]->phase = PHASE_PENDING;
    CHECK(!schedule_is_deciding(f.c.st, asked)); /* it is tried again: that may take long */
    f.c.st->schedule->starts[0]->attempt = 0;
    CHECK(schedule_is_deciding(f.c.st, asked));
}

/* It is not kept for a backfill's sake only when there is none. */
TEST(a_backfill_keeps_it_alive) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *whole = sched_new(&f);
    sched_every(&f, whole, "5m");
    CHECK_INT(sched_update(&f, whole), 0);
    CHECK_INT(sched_backfill(&f, "-1d 00:00", "-1d 00:10", POLICY(BUFFER_ALL)), 0);
    CHECK(!f.c.st || !sched_state(&f)->idle_close_us);
}

TEST(a_pause_that_is_over_is_none) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("00:00") - 1);
    f.schedule->state->paused = true;
    f.schedule->extras->pause_until = &until;
    CHECK_INT(sched_create(&f), 0);
    CHECK(!f.c.st || !sched_state(&f)->schedule->state->paused);
    CHECK(!f.c.st || !sched_state(&f)->schedule->extras->pause_until);
}

TEST(a_backfill_ends_with_the_spec) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Google__Protobuf__Timestamp end = pb_timestamp(sched_us("-1d 00:10"));
    f.schedule->spec->end_time = &end;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-1d 00:00", "-1d 01:00", POLICY(ALLOW_ALL)), 0);
    CHECK_INT(f.run_count, 3);
    CHECK_INT(sched_state(&f)->n_backfills, 0);
}

/* Two days lie between its times: it looks when the next one comes, not every day. */
TEST(a_rare_schedule_without_actions_rests) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "96h");
    sched_limit(f.schedule, 1);
    Google__Protobuf__Duration keep = pb_duration(INT64_C(100) * 86400 * USEC_PER_SEC);
    f.schedule->extras->keep_after_end = &keep;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "20d 00:00");
    const State__Schedule *sch = sched_state(&f);
    CHECK(!f.c.st || (sch->is_exhaustion_noted && sch->n_future_us && sch->generate_us == sch->future_us[0]));
}

/* Years of rows are fewer than what a time can say. */
TEST(rows_can_be_kept_for_ever) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.c.limits.values[SETTABLE_LEDGER_DAYS] = INT64_MAX;
    sched_every(&f, f.schedule, "24h");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "3d 00:00");
    CHECK(!f.c.st || sched_state(&f)->ledger_swept_us);
    CHECK_INT(f.ledger_count, 3);
}

/* As when the rules of its zone are others after an upgrade: what was computed before does not hold. */
TEST(times_that_have_moved_are_not_waited_for) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "0 2 * * *");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "02:00");
    REQUIRE(f.c.st);
    f.c.st->schedule->schedule->spec->structured_calendar[0]->hour[0]->start = 3;
    sched_jump(&f, "03:00"); /* today's was done */
    f.c.st->schedule->high_water_us = sched_us("03:00");
    sched_jump(&f, "1d 02:00");
    CHECK_INT(sched_tick(&f), 0);
    CHECK_STR(sched_begun(&f), "");
    CHECK(!f.c.st || run_due_us(f.c.st) == sched_us("1d 03:00"));
    CHECK(!f.c.st || strncmp(sched_future(&f), "1d 03:00 2d 03:00 ", 18) == 0);
    sched_go(&f, "2d 04:00");
    CHECK_STR(sched_begun(&f), "1d 03:00 2d 03:00");
}

/* The same, and behind the end of the spec. */
TEST(times_that_have_moved_behind_the_end_do_not_come) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "0 2 * * *");
    Google__Protobuf__Timestamp end = pb_timestamp(sched_us("1d 02:30"));
    f.schedule->spec->end_time = &end;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "02:00");
    REQUIRE(f.c.st);
    CHECK_INT(schedule_next_us(f.c.st), sched_us("1d 02:00"));
    f.c.st->schedule->schedule->spec->structured_calendar[0]->hour[0]->start = 3;
    sched_jump(&f, "03:00"); /* today's was done */
    f.c.st->schedule->high_water_us = sched_us("03:00");
    sched_jump(&f, "1d 02:00");
    CHECK_INT(sched_tick(&f), 0);
    CHECK_STR(sched_begun(&f), "");
    CHECK_INT(f.c.st ? schedule_next_us(f.c.st) : 0, 0);
    CHECK_STR(sched_future(&f), "");
}

/* A spec whose zone is gone is found out by whoever looks first, and nobody asks again at once. */
TEST(a_backfill_of_what_cannot_be_read_waits) {
    cleanup(sched_done) struct sched f;
    bool failed = false;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1d");
    CHECK_INT(sched_create(&f), 0);
    REQUIRE(f.c.st);
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "Gone/Zone", &failed);
    sched_jump(&f, "00:30");
    CHECK_INT(sched_backfill(&f, "-3d 00:00", "-2d 00:00", POLICY(ALLOW_ALL)), 0);
    REQUIRE(f.c.st);
    CHECK(!cstr_is_empty(sched_state(&f)->invalid_error));
    CHECK(run_due_us(f.c.st) == sched_us("01:30"));
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "", &failed);
    sched_go(&f, "02:00");
    CHECK_STR(sched_begun(&f), "-3d 00:00@01:30 -2d 00:00@01:30");
    CHECK(cstr_is_empty(sched_state(&f)->invalid_error));
    CHECK(!f.c.st || strncmp(sched_future(&f), "1d 00:00 ", 9) == 0);
}

/* What nobody could read was not excluded: it is made up for. */
TEST(a_refresh_makes_up_for_what_could_not_be_read) {
    cleanup(sched_done) struct sched f;
    bool failed = false;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    REQUIRE(f.c.st);
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "Gone/Zone", &failed);
    sched_go(&f, "00:07");
    CHECK_STR(sched_begun(&f), "");
    REQUIRE(f.c.st);
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "", &failed);
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    CHECK_STR(sched_begun(&f), "00:05@00:07");
    CHECK_STR(sched_ledger(&f), "00:05 STARTED/COMPLETED");
}

/* One row for a time that an update excludes before its jitter is over. */
TEST(an_update_excludes_a_time_that_was_about_to_be_done) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1h");
    f.schedule->spec->jitter = core_duration(&f.c, 3600 * USEC_PER_SEC);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "01:10"); /* 01:00 is done at 01:49:22 */
    Schedule__Schedule *changed = sched_new(&f);
    REQUIRE(f.c.st && changed);
    sched_every(&f, changed, "1h");
    changed->spec->jitter = core_duration(&f.c, 3600 * USEC_PER_SEC);
    sched_exclude(&f, changed, "1");
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "02:10");
    CHECK_STR(sched_begun(&f), "02:00@02:02:39.204");
    CHECK_STR(sched_ledger(&f), "01:00 EXCLUDED, 02:00 STARTED/COMPLETED");
}

static const struct zone *zone_now(void *ctx, unused_arg struct str name) {
    struct zone *const *zone = ctx;
    return *zone;
}

/* So many hours east, always. */
static struct zone *make_zone(struct sched *f, uint8_t hours) {
    static const char head[44] =
        "TZif\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2";
    char bytes[sizeof(head) + 8] = "";
    int32_t offset_s = hours * 3600;
    struct zone *zone = NULL;
    memcpy(bytes, head, sizeof(head));
    bytes[sizeof(head) + 2] = (char)(offset_s >> 8);
    bytes[sizeof(head) + 3] = (char)offset_s;
    bytes[sizeof(head) + 6] = 'X';
    int rc = zone_new(str_bytes(bytes, sizeof(bytes)), &zone, &f->c.err);
    CHECK(rc == 0 || rc == ERR_NO_MEMORY);
    return zone;
}

/* The server is stopped, the zones are upgraded, and it is started again long before the next time. */
TEST(a_time_that_comes_earlier_by_new_rules_of_its_zone) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    cleanup(zone_freep) struct zone *before = make_zone(&f, 1), *after = make_zone(&f, 2);
    REQUIRE(before && after);
    struct zone *now = before;
    f.zones = (struct cal_zones){zone_now, &now, NULL};
    f.closes_at_once = true;
    f.schedule->spec->n_cron_string = 0;
    f.schedule->spec->timezone_name = core_text(&f.c, "Mine/Zone");
    sched_cron(&f, f.schedule, "0 4 8 * *");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "3d 12:00");
    CHECK(!f.c.st || strncmp(sched_future(&f), "7d 03:00 ", 9) == 0);
    now = after;
    sched_go(&f, "7d 12:00");
    CHECK_STR(sched_begun(&f), "7d 02:00");
    CHECK_STR(sched_ledger(&f), "7d 02:00 STARTED/COMPLETED");
}

/* It cannot be found by the time of an action that does not come. */
TEST(a_schedule_that_may_not_act_has_no_next_action) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_limit(f.schedule, 1);
    CHECK_INT(sched_create(&f), 0);
    REQUIRE(f.c.st);
    CHECK_INT(schedule_next_us(f.c.st), sched_us("00:05"));
    CHECK_INT(sched_pause(&f, "wait"), 0);
    CHECK_INT(f.c.st ? schedule_next_us(f.c.st) : 0, 0);
    CHECK_INT(sched_unpause(&f, "go on"), 0);
    sched_go(&f, "00:05");
    CHECK_STR(sched_begun(&f), "00:05");
    CHECK_INT(f.c.st ? schedule_next_us(f.c.st) : 0, 0);
}

/* An update by a client that does not know of extras must fit those that stay. */
TEST(an_update_that_does_not_fit_what_it_leaves_is_refused) {
    cleanup(sched_done) struct sched f;
    char id[901] = "";
    sched_init(&f);
    memset(id, 'i', sizeof(id) - 1);
    f.closes_at_once = true;
    f.schedule->extras->max_concurrent_runs = 2;
    f.schedule->extras->workflow_id_format = core_text(&f.c, "{id}{id}{id}{id}{id}-{time}");
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *changed = sched_new(&f);
    REQUIRE(f.c.st && changed);
    sched_every(&f, changed, "5m");
    changed->extras = NULL;
    changed->action->start_workflow->workflow_id = core_text(&f.c, id);
    CHECK_INT(sched_update(&f, changed), ERR_INVALID);
    CHECK_STR(f.c.err.text, "WorkflowId length exceeds limit.");
    changed->action->start_workflow->workflow_id = core_text(&f.c, "wf");
    changed->policies->overlap_policy = POLICY(TERMINATE_OTHER);
    CHECK_INT(sched_update(&f, changed), ERR_INVALID);
    changed->policies->overlap_policy = POLICY(SKIP);
    changed->policies->keep_original_workflow_id = true;
    CHECK_INT(sched_update(&f, changed), ERR_INVALID);
    changed->policies->keep_original_workflow_id = false;
    CHECK_INT(sched_update(&f, changed), 0);
    sched_go(&f, "00:05");
    CHECK_STR(sched_begun(&f), "00:05");
}
