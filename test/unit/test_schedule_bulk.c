/* Schedules with many times: bounds on what one step does, on what waits, and on what is kept. */
#include "schedule_fixture.h"

#include "core/schedule/schedule_int.h"

TEST(a_long_outage_is_made_up_for_in_slices) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1s");
    f.schedule->policies->catchup_window = core_duration(&f.c, 3 * 3600 * USEC_PER_SEC);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "2d 00:00");
    size_t most = 0, steps = 0;
    while (f.c.st && !f.c.is_out_of_memory && run_due_us(f.c.st) <= f.c.now_us && steps < 200) {
        if (sched_tick(&f) < 0)
            break;
        most = MAX(most, f.c.s.ledger_count);
        steps++;
    }
    CHECK(most <= LIMIT_SCHEDULE_CANDIDATES + 1);
    CHECK_INT(steps, 26); /* and one more: the answer to the first start */
    CHECK_INT(sched_state(&f)->action_count, 1);
    CHECK_INT(sched_state(&f)->missed_catchup_window, 161999);
    CHECK_INT(sched_state(&f)->overlap_skipped, 10800);
}

TEST(an_update_in_a_backlog_that_is_too_long_is_refused) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1s");
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ONE);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "1d 00:00");
    Schedule__Schedule *changed = sched_new(&f);
    CHECK_INT(sched_update(&f, changed), ERR_BUSY);
    CHECK_INT(sched_pause(&f, "stop it"), 0); /* what remains is paused */
    sched_go(&f, "1d 00:00:01");
    CHECK_INT(sched_update(&f, changed), 0);
    CHECK_INT(sched_state(&f)->n_future_us, 0);
}

TEST(excluded_seconds_wake_it_once_an_hour) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1s");
    sched_exclude(&f, f.schedule, "0-22");
    CHECK_INT(sched_create(&f), 0);
    size_t steps = 0;
    while (f.c.st && !f.c.is_out_of_memory && run_due_us(f.c.st) < sched_us("23:00") && steps < 100) {
        f.c.now_us = MAX(f.c.now_us, run_due_us(f.c.st));
        if (sched_tick(&f) < 0)
            break;
        steps++;
    }
    CHECK_INT(steps, 22);
    int64_t count = 0;
    for (size_t i = 0; i < f.ledger_count; i++)
        count += f.ledger[i] ? f.ledger[i]->count : 0;
    CHECK_INT(count, 22 * 3600);
    sched_go(&f, "23:00");
    CHECK_STR(sched_begun(&f), "23:00");
}

TEST(old_rows_go_away) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1m");
    CHECK_INT(sched_create(&f), 0);
    sched_go_us(&f, sched_us("00:00") + (LIMIT_LEDGER_ROWS + LIMIT_LEDGER_SLACK) * 60 * USEC_PER_SEC);
    CHECK_INT(f.ledger_first_id, LIMIT_LEDGER_SLACK + 1);
    CHECK_INT(f.ledger_count, LIMIT_LEDGER_ROWS + LIMIT_LEDGER_SLACK);
}

TEST(rows_of_an_age_are_swept_once_a_day) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.holds_letters = true;
    sched_every(&f, f.schedule, "6h");
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    for (int day = 1; day <= 10 && f.c.st; day++) {
        for (int hour = 0; hour < 24; hour += 6) {
            const char *when = arena_printf(&f.c.arena, "%dd %02d:00", day, hour);
            if (!when)
                return;
            sched_jump(&f, when);
            f.holds_letters = false;
            sched_tick(&f);
            CHECK(!f.c.s.ledger_before_us ||
                  f.c.s.ledger_before_us == f.c.now_us - LIMIT_LEDGER_DAYS * 86400 * USEC_PER_SEC);
        }
    }
    CHECK_INT(sched_state(&f)->ledger_swept_us, sched_us("10d 00:00"));
}

TEST(buffer_all_drops_what_does_not_fit) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    sched_every(&f, f.schedule, "1s");
    CHECK_INT(sched_create(&f), 0);
    sched_go_us(&f, sched_us("00:00:01") + (LIMIT_SCHEDULE_BUFFER + 3) * USEC_PER_SEC);
    CHECK_INT(sched_state(&f)->buffer_dropped, 3);
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    CHECK(info && info->buffer_size == LIMIT_SCHEDULE_BUFFER && info->buffer_dropped == 3);
    const Rondo__LedgerEntry *last = f.ledger_count ? f.ledger[f.ledger_count - 1] : NULL;
    CHECK(last && last->fate == LEDGER_FATE_BUFFER_FULL);
    f.shown = f.run_count;
    sched_close(&f, "00:00:01", STATUS(COMPLETED)); /* one place is free again */
    CHECK_STR(sched_begun(&f), "00:00:02@00:16:44");
    sched_go(&f, "00:16:45");
    CHECK_INT(sched_state(&f)->buffer_dropped, 3);
}

TEST(a_start_is_found_by_its_id_and_no_other) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    sched_every(&f, f.schedule, "1s");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:00:04");
    sched_close(&f, "00:00:01", STATUS(COMPLETED));
    const State__Schedule *sch = sched_state(&f);
    REQUIRE(sch->n_starts > 0);
    int64_t first = sch->starts[0]->id;
    CHECK(start_find(sch, first) == sch->starts[0]);
    CHECK(!start_find(sch, first - 1));
    CHECK(!start_find(sch, first + 100));
}

TEST(future_times_are_no_more_than_the_actions_that_remain) {
    static const int64_t limits[] = {3, 100};
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        cleanup(sched_done) struct sched f;
        sched_init(&f);
        sched_limit(f.schedule, limits[i]);
        CHECK_INT(sched_create(&f), 0);
        const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
        CHECK(info && info->n_future_action_times == MIN((size_t)limits[i], 10));
    }
}

TEST(a_late_pusher_makes_room_for_itself) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(CANCEL_OTHER);
    sched_every(&f, f.schedule, "1s");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:20"); /* 1,200 times, of which 1,000 can wait */
    CHECK_INT(sched_state(&f)->buffer_dropped, 0);
    f.shown = f.run_count;
    sched_close(&f, "00:00:01", STATUS(CANCELED));
    CHECK_STR(sched_begun(&f), "00:20");
}

TEST(a_late_pusher_that_terminates_makes_room_too) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true; /* what is being started cannot be terminated yet */
    f.schedule->policies->overlap_policy = POLICY(TERMINATE_OTHER);
    sched_every(&f, f.schedule, "1s");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:20");
    CHECK_INT(sched_state(&f)->buffer_dropped, 0);
    f.holds_letters = false;
    sched_deliver(&f);
    CHECK_STR(sched_begun(&f), "00:00:01@00:20 00:20");
}

/* Triggers wait as others do, and push nobody out. */
TEST(triggers_that_wait_have_their_limit) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(CANCEL_OTHER);
    CHECK_INT(sched_create(&f), 0);
    for (int i = 0; i <= LIMIT_SCHEDULE_BUFFER; i++)
        CHECK_INT(sched_trigger(&f, POLICY(BUFFER_ALL)), 0);
    CHECK_INT(sched_trigger(&f, POLICY(BUFFER_ALL)), ERR_FULL);
    CHECK_STR(f.c.err.text, "1000 starts of this schedule are waiting already");
    sched_go(&f, "00:05");
    CHECK_INT(sched_state(&f)->buffer_dropped, 1);
}

TEST(a_huge_backfill_goes_on_as_starts_drain) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-4d 00:00", "-1d 23:55", POLICY(BUFFER_ALL)), 0);
    CHECK_INT(f.run_count, 4 * 288); /* each ended at once, so the next could begin */
    CHECK_INT(sched_state(&f)->n_backfills, 0);
}

TEST(a_huge_backfill_leaves_room_for_the_schedule) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(BUFFER_ALL);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-4d 00:00", "-1d 23:55", POLICY(BUFFER_ALL)), 0);
    sched_go(&f, "00:06");
    size_t manual = 0, automatic = 0;
    for (size_t i = 0; i < sched_state(&f)->n_starts; i++)
        *(sched_state(&f)->starts[i]->is_manual ? &manual : &automatic) += 1;
    CHECK_INT(manual, LIMIT_SCHEDULE_BUFFER / 2 + 1); /* and the one that runs */
    CHECK_INT(automatic, 1);
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    const Rondo__BackfillInfo *b = info && info->n_backfills ? info->backfills[0] : NULL;
    int64_t progress_us = b ? pb_timestamp_us(b->progress_time) : 0;
    CHECK_INT(progress_us, sched_us("-4d 00:00") + LIMIT_SCHEDULE_BUFFER / 2 * 300 * USEC_PER_SEC);
    CHECK(run_due_us(f.c.st) >= sched_us("00:10")); /* nobody spins meanwhile */
}

TEST(a_huge_backfill_of_all_at_once_has_few_letters_on_the_way) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-4d 00:00", "-1d 23:55", POLICY(ALLOW_ALL)), 0);
    CHECK_INT(f.c.st->n_outbox, LIMIT_SCHEDULE_STARTING);
    CHECK(run_due_us(f.c.st) >= sched_us("00:05"));
    sched_deliver(&f);
    CHECK_INT(f.run_count, 4 * 288);
    CHECK_INT(sched_state(&f)->n_backfills, 0);
}

TEST(a_flood_of_starts_waits_for_its_letters) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1s");
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:20");
    CHECK_INT(sched_tick(&f), 0);
    CHECK_INT(sched_tick(&f), 0);
    CHECK_INT(f.c.st->n_outbox, LIMIT_SCHEDULE_STARTING);
    CHECK(sched_state(&f)->n_starts <= 2 * LIMIT_SCHEDULE_STARTING);
    CHECK(run_due_us(f.c.st) > f.c.now_us);
    f.holds_letters = false;
    sched_deliver(&f);
    CHECK_INT(f.run_count, 1200);
    CHECK_INT(sched_state(&f)->buffer_dropped, 0);
}

/* Many starts that are tried again later: nothing can be done until then. */
TEST(a_flood_of_starts_that_are_tried_again_waits) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1s");
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    f.refusal = (struct action_outcome){.error = "no room", .is_retryable = true};
    f.refusals_left = LIMIT_SCHEDULE_STARTING;
    sched_jump(&f, "00:10");
    CHECK_INT(sched_tick(&f), 0);
    for (int i = 0; i < 10 && f.c.st && run_due_us(f.c.st) <= f.c.now_us; i++)
        CHECK_INT(sched_tick(&f), 0);
    REQUIRE(f.c.st);
    CHECK_INT(run_due_us(f.c.st), f.c.now_us + USEC_PER_SEC);
    sched_go(&f, "00:10:02");
    CHECK_INT(f.run_count, 602);
    CHECK_INT(sched_state(&f)->action_count, 602);
}

/* Everything that was due has its row when it is deleted, also what waits behind letters. */
TEST(a_deletion_in_a_flood_leaves_no_time_without_a_row) {
    cleanup(sched_done) struct sched f;
    int64_t rows = 0;
    sched_init(&f);
    f.holds_letters = true;
    sched_every(&f, f.schedule, "1s");
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "00:20");
    CHECK_INT(sched_tick(&f), 0);
    CHECK_INT(SCHED(&f, schedule_end(&f.c.s, STATUS(TERMINATED))), 0);
    for (size_t i = 0; i < f.ledger_count; i++)
        rows += f.ledger[i] && f.ledger[i]->fate == LEDGER_FATE_ENDED ? f.ledger[i]->count : 0;
    CHECK_INT(rows, f.c.is_out_of_memory ? rows : 1200);
}

TEST(a_hundred_requests_are_known_again) {
    cleanup(sched_done) struct sched f;
    Schedule__SchedulePatch nothing = SCHEDULE__SCHEDULE_PATCH__INIT;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    for (int i = 0; i <= LIMIT_SCHEDULE_REQUESTS; i++)
        CHECK_INT(sched_patch(&f, &nothing, arena_printf(&f.c.arena, "patch-%d", i)), 0);
    CHECK_INT(sched_state(&f)->n_requests, LIMIT_SCHEDULE_REQUESTS);
    CHECK(!schedule_request_find(f.c.st, "patch-0"));
    CHECK(schedule_request_find(f.c.st, "patch-1") && schedule_request_find(f.c.st, "patch-100"));
}

/* Triggers that may all run at once hold nobody else up while their letters are on the way. */
TEST(a_flood_of_triggers_does_not_hold_up_the_schedule) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    for (int i = 0; i < 2 * LIMIT_SCHEDULE_STARTING; i++)
        CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    sched_go(&f, "00:05");
    CHECK_INT(sched_state(&f)->high_water_us, sched_us("00:05"));
    f.holds_letters = false;
    sched_deliver(&f);
    CHECK_INT(f.run_count, 2 * LIMIT_SCHEDULE_STARTING + 1);
}

/* Starts that are there already, without the time that it takes to gather them. */
static void add_starts(struct sched *f, size_t count, State__Start sample) {
    State__Schedule *sch = f->c.st->schedule;
    bool failed = false;
    for (size_t i = 0; i < count; i++) {
        State__Start *start = pb_new(&state__start__descriptor, &failed);
        ensure(start);
        start->id = ++sch->next_start_id;
        start->ledger_id = ++sch->next_ledger_id;
        start->phase = sample.phase;
        start->is_manual = sample.is_manual;
        start->overlap_policy = sample.overlap_policy;
        start->start_us = sample.phase == PHASE_STARTED;
        pb_append_message(&sch->n_starts, &sch->starts, start, &failed);
    }
    ensure(!failed);
}

TEST(too_many_runs_at_a_time) {
    cleanup(sched_done) struct sched f;
    State__Start running = STATE__START__INIT;
    sched_init(&f);
    f.schedule->policies->overlap_policy = POLICY(ALLOW_ALL);
    CHECK_INT(sched_create(&f), 0);
    running.phase = PHASE_STARTED;
    running.overlap_policy = POLICY(ALLOW_ALL);
    add_starts(&f, LIMIT_SCHEDULE_RUNNING - 1, running);
    sched_jump(&f, "00:10"); /* one more, of two that are due */
    CHECK_INT(sched_tick(&f), 0);
    CHECK_STR(sched_begun(&f), "00:05@00:10");
    CHECK_INT(sched_state(&f)->buffer_dropped, 1);
    sched_go(&f, "00:15");
    CHECK_STR(sched_begun(&f), "");
    CHECK_INT(sched_state(&f)->buffer_dropped, 2);
    const Rondo__LedgerEntry *last = f.ledger_count ? f.ledger[f.ledger_count - 1] : NULL;
    REQUIRE(last);
    CHECK_INT(last->fate, LEDGER_FATE_BUFFER_FULL);
    CHECK_STR(last->reason, "too many of its actions are running");
}

/* Those that push others give way to newer ones; what people asked for does not. */
TEST(a_full_buffer_and_those_who_push) {
    static const E__ScheduleOverlapPolicy policies[] = {POLICY(CANCEL_OTHER), POLICY(TERMINATE_OTHER)};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        for (int has_pusher = 0; has_pusher < 2; has_pusher++) {
            cleanup(sched_done) struct sched f;
            State__Start waiting = STATE__START__INIT;
            sched_init(&f);
            f.holds_letters = true;
            f.schedule->policies->overlap_policy = policies[i];
            CHECK_INT(sched_create(&f), 0);
            CHECK_INT(sched_trigger(&f, POLICY(SKIP)), 0); /* on its way, so others wait */
            waiting.phase = PHASE_DEFERRED;
            waiting.overlap_policy = POLICY(BUFFER_ALL);
            waiting.is_manual = true;
            add_starts(&f, LIMIT_SCHEDULE_BUFFER - 1, waiting);
            waiting.is_manual = false; /* of an earlier policy, or one that pushes */
            waiting.overlap_policy = has_pusher ? (int32_t)policies[i] : POLICY(BUFFER_ALL);
            add_starts(&f, 1, waiting);
            sched_jump(&f, "00:05");
            CHECK_INT(sched_tick(&f), 0);
            CHECK_INT(sched_state(&f)->buffer_dropped, has_pusher ? 0 : 1);
            Rondo__TriggerScheduleRequest trigger = RONDO__TRIGGER_SCHEDULE_REQUEST__INIT;
            add_starts(&f, 1,
                       (State__Start){.base = waiting.base, .is_manual = true, .phase = PHASE_DEFERRED});
            CHECK_INT(SCHED(&f, schedule_trigger(&f.c.s, &trigger)), ERR_FULL);
        }
    }
}

/* A pause ends only when everything that it covers was looked at. */
TEST(a_pause_that_covers_more_than_a_step) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1s");
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("1d 00:00"));
    f.schedule->extras->pause_until = &until;
    CHECK_INT(sched_create(&f), 0);
    sched_jump(&f, "1d 03:00"); /* more than a step beyond its end */
    CHECK_INT(sched_tick(&f), 0);
    CHECK(sched_state(&f)->schedule->state->paused);
    while (sched_state(&f)->high_water_us < sched_us("1d 00:00"))
        CHECK_INT(sched_tick(&f), 0);
    CHECK(!sched_state(&f)->schedule->state->paused);
    CHECK_INT(f.run_count > 0, 1);
}

/* It does not end before everything that passed it by has its row. */
TEST(an_end_waits_for_the_rows) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    sched_every(&f, f.schedule, "1s");
    sched_limit(f.schedule, 1);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:00:01");
    sched_jump(&f, "8d 00:00");
    CHECK_INT(sched_tick(&f), 0);
    CHECK(run_is_open(f.c.st));
    for (int i = 0; i < 100 && run_is_open(f.c.st); i++)
        CHECK_INT(sched_tick(&f), 0);
    CHECK(!run_is_open(f.c.st));
    CHECK_INT(sched_state(&f)->high_water_us, sched_us("8d 00:00"));
}

/* In a list ten of each kind are enough. */
TEST(a_long_spec_is_listed_in_short) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Schedule__ScheduleSpec *spec = f.schedule->spec;
    spec->n_cron_string = 0;
    spec->exclude_calendar =
        arena_array(&f.c.arena, Schedule__CalendarSpec *, LIMIT_SCHEDULE_LISTED_ENTRIES + 1);
    for (int i = 0; i <= LIMIT_SCHEDULE_LISTED_ENTRIES; i++) {
        sched_cron(&f, f.schedule, arena_printf(&f.c.arena, "%d * * * *", i));
        sched_cron(&f, f.schedule, arena_printf(&f.c.arena, "@every %dh", i + 1));
        Schedule__CalendarSpec *c = pb_arena_new(&schedule__calendar_spec__descriptor, &f.c.arena);
        ensure(c);
        c->hour = arena_printf(&f.c.arena, "%d", i);
        spec->exclude_calendar[spec->n_exclude_calendar++] = c;
    }
    CHECK_INT(sched_create(&f), 0);
    const Schedule__ScheduleListEntry *e = schedule_list_entry(f.c.st, 0, &f.c.arena);
    REQUIRE(e && e->info && e->info->spec);
    CHECK_INT(e->info->spec->n_structured_calendar, LIMIT_SCHEDULE_LISTED_ENTRIES);
    CHECK_INT(e->info->spec->n_exclude_structured_calendar, LIMIT_SCHEDULE_LISTED_ENTRIES);
    CHECK_INT(e->info->spec->n_interval, LIMIT_SCHEDULE_LISTED_ENTRIES);
}

/* More than it can hold from the start: there is no schedule then. */
TEST(an_initial_patch_that_asks_for_too_much) {
    cleanup(sched_done) struct sched f;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__BackfillRequest range = SCHEDULE__BACKFILL_REQUEST__INIT, *ranges[LIMIT_SCHEDULE_BACKFILLS + 2];
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us("-1d 00:00")), end = start;
    sched_init(&f);
    range.start_time = &start;
    range.end_time = &end;
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        ranges[i] = &range;
    patch.backfill_request = ranges;
    patch.n_backfill_request = ARRAY_LEN(ranges);
    f.create.initial_patch = &patch;
    CHECK_INT(sched_create(&f), ERR_PRECONDITION);
    CHECK(!f.c.st);
}

/* readers that run out of room */

#define ROOM_MAX ((size_t)1 << 20)

static bool order(struct sched *f, struct arena *a) {
    struct action_order ret;
    int rc =
        schedule_order(f->c.st, f->c.st->outbox[0]->event_id, "default", (struct wall){f->c.now_us}, a, &ret);
    CHECK(rc == 0 || rc == ERR_NO_MEMORY);
    return rc == 0;
}

static bool describe(struct sched *f, struct arena *a) {
    return schedule_info(f->c.st, a) != NULL;
}

static bool list(struct sched *f, struct arena *a) {
    return schedule_list_entry(f->c.st, 0, a) != NULL;
}

static bool explain(struct sched *f, struct arena *a) {
    Rondo__ExplainScheduleTimeRequest req = RONDO__EXPLAIN_SCHEDULE_TIME_REQUEST__INIT;
    Rondo__ExplainScheduleTimeResponse *r = NULL;
    Google__Protobuf__Timestamp at = pb_timestamp(sched_us("00:10"));
    req.time = &at;
    int rc = schedule_explain(f->c.st, &f->space, &f->zones, &req, a, &r, &f->c.err);
    CHECK(rc == 0 || rc == ERR_NO_MEMORY);
    return rc == 0;
}

static bool match(struct sched *f, struct arena *a) {
    Ws__ListScheduleMatchingTimesRequest req = WS__LIST_SCHEDULE_MATCHING_TIMES_REQUEST__INIT;
    Ws__ListScheduleMatchingTimesResponse *r = NULL;
    Google__Protobuf__Timestamp start = pb_timestamp(f->c.now_us),
                                end = pb_timestamp(f->c.now_us + 3600000000);
    req.start_time = &start;
    req.end_time = &end;
    int rc = schedule_matching_times(f->c.st, &f->space, &f->zones, &req, a, &r, &f->c.err);
    CHECK(rc == 0 || rc == ERR_NO_MEMORY);
    return rc == 0;
}

static bool show(struct sched *f, struct arena *a) {
    return schedule_shown(f->c.st, a) != NULL && schedule_token(f->c.st, a).data != NULL;
}

/* With every amount of room that is too little they fail, and say so. */
TEST(schedules_are_read_with_little_room) {
    static bool (*const readers[])(struct sched *, struct arena *) = {order,   describe, list,
                                                                      explain, match,    show};
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->extras->passes_times = true;
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "*/5 * * * * # often");
    Google__Protobuf__Duration jitter = pb_duration(60 * USEC_PER_SEC);
    Rondo__HolidayCalendar calendar = RONDO__HOLIDAY_CALENDAR__INIT, *calendars[] = {&calendar};
    char *names[] = {core_text(&f.c, "gone")};
    calendar.name = names[0];
    f.space.holiday_calendars = calendars;
    f.space.n_holiday_calendars = 1;
    f.schedule->extras->holiday_calendars = names;
    f.schedule->extras->n_holiday_calendars = 1;
    f.schedule->spec->jitter = &jitter;
    CHECK_INT(sched_create(&f), 0);
    f.space.n_holiday_calendars = 0;
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    f.holds_letters = true;
    sched_go(&f, "00:07");
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    CHECK_INT(sched_backfill(&f, "-1d 00:00", "-1d 00:10", POLICY(BUFFER_ALL)), 0);
    REQUIRE(f.c.st && f.c.st->n_outbox);
    for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
        bool is_read = false;
        for (size_t room = 0; !is_read && room < ROOM_MAX; room += 8) {
            cleanup(arena_done) struct arena a;
            arena_init(&a, room);
            is_read = readers[i](&f, &a);
            CHECK_INT(is_read, !arena_failed(&a));
        }
        CHECK(is_read);
    }
}

/* The same for a spec that is taken: a comment and a zone are copied too. */
TEST(schedules_are_prepared_with_little_room) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    int rc = ERR_NO_MEMORY;
    for (size_t room = 0; rc < 0 && room < ROOM_MAX; room += 8) {
        cleanup(arena_done) struct arena a;
        arena_init(&a, room);
        Schedule__Schedule *schedule = sched_new(&f);
        sched_cron(&f, schedule, "*/5 * * * * # often");
        sched_cron(&f, schedule, "@every 1h");
        schedule->spec->timezone_name = core_text(&f.c, "UTC");
        rc = schedule_prepare(&a, &f.space, &f.zones, "s", schedule, &f.c.err);
        CHECK(rc == 0 || rc == ERR_NO_MEMORY);
    }
    CHECK_INT(rc, 0);
}

TEST(a_backfill_that_has_no_room_is_at_its_start) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-4d 00:00", "-1d 23:55", POLICY(BUFFER_ALL)), 0);
    CHECK_INT(sched_backfill(&f, "-9d 00:00", "-8d 00:00", POLICY(BUFFER_ALL)), 0);
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    const Rondo__BackfillInfo *b = info && info->n_backfills == 2 ? info->backfills[1] : NULL;
    CHECK(b && b->considered == 0 && pb_timestamp_us(b->progress_time) == sched_us("-9d 00:00"));
}

TEST(matching_times_of_a_hopeless_spec_are_refused) {
    cleanup(sched_done) struct sched f;
    Ws__ListScheduleMatchingTimesRequest req = WS__LIST_SCHEDULE_MATCHING_TIMES_REQUEST__INIT;
    Ws__ListScheduleMatchingTimesResponse *r = NULL;
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us("00:00")),
                                end = pb_timestamp(sched_us("9d 00:00"));
    const char *excludes[] = {"DTSTART:20200101T000000 RRULE:FREQ=SECONDLY;INTERVAL=2",
                              "DTSTART:20200101T000001 RRULE:FREQ=SECONDLY;INTERVAL=2"};
    sched_init(&f);
    sched_cron(&f, f.schedule, "* * * * * * *");
    for (size_t i = 0; i < ARRAY_LEN(excludes); i++)
        CHECK_INT(schedule_exclude_cron(&f.c.arena, f.schedule->spec, excludes[i], &f.c.err), 0);
    CHECK_INT(sched_create(&f), 0);
    req.start_time = &start;
    req.end_time = &end;
    if (f.c.st)
        CHECK_INT(schedule_matching_times(f.c.st, &f.space, &f.zones, &req, &f.c.arena, &r, &f.c.err),
                  ERR_INVALID);
    CHECK_STR(f.c.err.text, "too many times of this schedule are excluded");
}

/* steps that run out of room */

static int trigger_again(struct step *s) {
    Rondo__TriggerScheduleRequest req = RONDO__TRIGGER_SCHEDULE_REQUEST__INIT;
    req.overlap_policy = POLICY(ALLOW_ALL);
    return schedule_trigger(s, &req);
}

static int backfill_some(struct step *s) {
    Ws__PatchScheduleRequest req = WS__PATCH_SCHEDULE_REQUEST__INIT;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__BackfillRequest range = SCHEDULE__BACKFILL_REQUEST__INIT, *ranges[] = {&range};
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us("-1d 00:00")),
                                end = pb_timestamp(sched_us("-1d 01:00"));
    range.start_time = &start;
    range.end_time = &end;
    patch.backfill_request = ranges;
    patch.n_backfill_request = 1;
    req.patch = &patch;
    return schedule_patch(s, &req);
}

TEST(schedules_step_with_little_room) {
    static int (*const steps[])(struct step *) = {trigger_again, backfill_some};
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.holds_letters = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0); /* the next one needs another name */
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        bool is_done = false;
        for (size_t room = 0; !is_done && room < ROOM_MAX; room += 8) {
            cleanup(arena_done) struct arena a;
            arena_init(&a, room);
            REQUIRE(core_begin(&f.c));
            f.c.s.arena = &a;
            int rc = steps[i](&f.c.s);
            if (rc == 0)
                rc = run_settle(&f.c.s);
            CHECK(rc == 0 || rc == ERR_NO_MEMORY);
            is_done = rc == 0 && !step_failed(&f.c.s);
            CHECK_INT(core_end(&f.c, ERR_NO_MEMORY), ERR_NO_MEMORY); /* whatever came of it */
            f.c.is_out_of_memory = false;
        }
        CHECK(is_done);
    }
}
