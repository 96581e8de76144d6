/* Triggers and backfills. */
#include "schedule_fixture.h"

#include "wire/guard.h"

static int trigger(struct sched *f, const char *request_id, const char *when,
                   E__ScheduleOverlapPolicy policy) {
    Rondo__TriggerScheduleRequest req = RONDO__TRIGGER_SCHEDULE_REQUEST__INIT;
    Google__Protobuf__Timestamp at = pb_timestamp(when ? sched_us(when) : 0);
    req.request_id = core_text(&f->c, request_id);
    req.scheduled_time = when ? &at : NULL;
    req.overlap_policy = policy;
    return req.request_id ? SCHED(f, schedule_trigger(&f->c.s, &req)) : ERR_NO_MEMORY;
}

static Rondo__LedgerEntry *entry_of(struct sched *f, const char *request_id) {
    ProtobufCAllocator alloc = wire_arena_allocator(&f->c.arena);
    const State__ScheduleRequest *r = f->c.st ? schedule_request_find(f->c.st, request_id) : NULL;
    return r ? rondo__ledger_entry__unpack(&alloc, r->ledger_entry.len, r->ledger_entry.data) : NULL;
}

TEST(a_trigger_says_what_came_of_it) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    f.holds_letters = true;
    sched_jump(&f, "00:01:02.300");
    CHECK_INT(trigger(&f, "t1", NULL, POLICY(UNSPECIFIED)), 0);
    if (!f.c.st)
        return;
    const State__ScheduleRequest *r = schedule_request_find(f.c.st, "t1");
    CHECK(r && schedule_is_deciding(f.c.st, r));
    sched_deliver(&f);
    r = f.c.st ? schedule_request_find(f.c.st, "t1") : NULL;
    CHECK(r && !schedule_is_deciding(f.c.st, r));
    Rondo__LedgerEntry *e = entry_of(&f, "t1");
    CHECK(e && e->fate == LEDGER_FATE_STARTED && e->origin == LEDGER_ORIGIN_TRIGGER);
    CHECK_STR(e ? e->workflow_id : "", "wf-2022-06-01T00:01:02Z");
    CHECK_STR(e ? e->run_id : "", "run-1");
    CHECK_INT(trigger(&f, "t1", NULL, POLICY(UNSPECIFIED)), 0); /* again: the same one */
    sched_deliver(&f);
    CHECK_INT(sched_state(&f)->action_count, 1);
}

TEST(a_trigger_obeys_the_policy) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:06");
    CHECK_INT(trigger(&f, "t1", NULL, POLICY(UNSPECIFIED)), 0);
    Rondo__LedgerEntry *e = entry_of(&f, "t1");
    CHECK(e && e->fate == LEDGER_FATE_OVERLAP_SKIPPED);
    CHECK_INT(sched_state(&f)->overlap_skipped, 1);
    CHECK_INT(trigger(&f, "t2", NULL, POLICY(BUFFER_ALL)), 0);
    e = entry_of(&f, "t2");
    CHECK(e && e->fate == LEDGER_FATE_WAITING);
    const State__ScheduleRequest *r = f.c.st ? schedule_request_find(f.c.st, "t2") : NULL;
    CHECK(r && !schedule_is_deciding(f.c.st, r));
    CHECK_INT(trigger(&f, "t3", NULL, POLICY(ALLOW_ALL)), 0);
    e = entry_of(&f, "t3");
    CHECK(e && e->fate == LEDGER_FATE_STARTED);
}

TEST(a_trigger_may_name_its_time) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(trigger(&f, "t1", "-1d 12:34:56.700", POLICY(UNSPECIFIED)), 0);
    CHECK_STR(sched_begun(&f), "-1d 12:34:56@00:00");
    struct sched_run *run = sched_run_at(&f, "-1d 12:34:56");
    CHECK_STR(run ? run->workflow_id : "", "wf-2022-05-31T12:34:56Z");
}

TEST(a_trigger_works_whatever_the_schedule_does) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    f.schedule->state->paused = true;
    sched_limit(f.schedule, 0);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:07");
    CHECK_INT(trigger(&f, "t1", NULL, POLICY(UNSPECIFIED)), 0);
    CHECK_STR(sched_begun(&f), "00:07");
    CHECK_INT(sched_state(&f)->schedule ? sched_state(&f)->schedule->state->remaining_actions : 9, 0);
}

TEST(two_triggers_of_one_second_are_two_runs) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(trigger(&f, "t1", NULL, POLICY(ALLOW_ALL)), 0);
    CHECK_INT(trigger(&f, "t2", NULL, POLICY(ALLOW_ALL)), 0);
    CHECK_INT(f.run_count, 2);
    CHECK_STR(f.run_count > 1 ? f.runs[1].workflow_id : "", "wf-2022-06-01T00:00:00Z-2");
}

/* backfills */

TEST(two_triggers_of_one_second_are_two_runs_when_the_first_is_tried_again) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    f.refusal = (struct action_outcome){.error = "no room", .is_retryable = true};
    f.refusals_left = 1;
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    CHECK_INT(sched_trigger(&f, POLICY(ALLOW_ALL)), 0);
    sched_go(&f, "00:00:02");
    CHECK_STR(f.run_count > 0 ? f.runs[0].workflow_id : "", "wf-2022-06-01T00:00:00Z-2");
    CHECK_STR(f.run_count > 1 ? f.runs[1].workflow_id : "", "wf-2022-06-01T00:00:00Z");
}

TEST(vector_14_a_backfill) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "*/17 19 31 * *");
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-1d 00:00", "00:00", POLICY(ALLOW_ALL)), 0);
    CHECK_STR(sched_begun(&f), "-1d 19:00@00:00 -1d 19:17@00:00 -1d 19:34@00:00 -1d 19:51@00:00");
    CHECK_STR(sched_future(&f),
              "60d 19:00 60d 19:17 60d 19:34 60d 19:51 91d 19:00 91d 19:17 91d 19:34 91d 19:51 "
              "152d 19:00 152d 19:17");
    const Rondo__LedgerEntry *e = f.ledger_count ? f.ledger[0] : NULL;
    CHECK(e && e->origin == LEDGER_ORIGIN_BACKFILL && e->backfill_id == 1);
}

static size_t backfilled(const char *from, const char *to) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    if (sched_create(&f) < 0 || sched_backfill(&f, from, to, POLICY(ALLOW_ALL)) < 0)
        return SIZE_MAX;
    return f.run_count;
}

TEST(both_ends_of_a_backfill_count) {
    CHECK_INT(backfilled("-1d 01:00", "-1d 01:10"), 3);
    CHECK_INT(backfilled("-1d 01:00", "-1d 01:00"), 1);
    CHECK_INT(backfilled("-1d 01:00:00.500", "-1d 01:00:00.500"), 0);
    CHECK_INT(backfilled("-1d 01:00:00.001", "-1d 01:04:59.999"), 0);
    CHECK_INT(backfilled("1d 01:00", "1d 01:10"), 3); /* what is still to come can be done now */
}

TEST(a_backfill_by_the_policies) {
    static const struct {
        E__ScheduleOverlapPolicy policy;
        const char *begun, *after;
    } cases[] = {
        {POLICY(UNSPECIFIED), "-1d 01:00@00:00", ""},
        {POLICY(SKIP), "-1d 01:00@00:00", ""},
        {POLICY(BUFFER_ONE), "-1d 01:00@00:00", "-1d 01:05@00:00"},
        {POLICY(BUFFER_ALL), "-1d 01:00@00:00", "-1d 01:05@00:00"},
        {POLICY(TERMINATE_OTHER), "-1d 01:10@00:00", ""},
        {POLICY(ALLOW_ALL), "-1d 01:00@00:00 -1d 01:05@00:00 -1d 01:10@00:00", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(sched_done) struct sched f;
        sched_init(&f);
        CHECK_INT(sched_create(&f), 0);
        CHECK_INT(sched_backfill(&f, "-1d 01:00", "-1d 01:10", cases[i].policy), 0);
        CHECK_STR(sched_begun(&f), cases[i].begun);
        if (f.run_count)
            sched_close_run(&f, &f.runs[0], STATUS(COMPLETED), NULL);
        CHECK_STR(sched_begun(&f), cases[i].after);
    }
}

TEST(a_backfill_ignores_pause_limit_and_window) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->state->paused = true;
    sched_limit(f.schedule, 0);
    f.schedule->policies->catchup_window = core_duration(&f.c, USEC_PER_SEC);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-400d 01:00", "-400d 01:05", POLICY(ALLOW_ALL)), 0);
    CHECK_INT(f.run_count, 2);
}

static const Rondo__BackfillInfo *first_backfill(struct sched *f) {
    const Schedule__ScheduleInfo *info = f->c.st ? schedule_info(f->c.st, &f->c.arena) : NULL;
    return info && info->n_backfills ? info->backfills[0] : NULL;
}

TEST(a_backfill_shows_its_progress_and_can_be_cancelled) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(sched_backfill(&f, "-1d 01:00", "-1d 01:20", POLICY(BUFFER_ALL)), 0);
    const Rondo__BackfillInfo *b = first_backfill(&f);
    CHECK(b && b->id == 1 && b->considered == 5 && b->started == 1 && b->waiting == 4);
    CHECK(b && pb_timestamp_us(b->progress_time) == sched_us("-1d 01:20"));
    sched_close(&f, "-1d 01:00", STATUS(COMPLETED));
    b = first_backfill(&f);
    CHECK(b && b->started == 2 && b->waiting == 3);
    CHECK_INT(SCHED(&f, schedule_cancel_backfill(&f.c.s, 2)), ERR_NOT_FOUND);
    CHECK_INT(SCHED(&f, schedule_cancel_backfill(&f.c.s, 1)), 0);
    CHECK(!first_backfill(&f));
    sched_close(&f, "-1d 01:05", STATUS(COMPLETED));
    CHECK_STR(sched_ledger(&f),
              "-1d 01:00 STARTED/COMPLETED, -1d 01:05 STARTED/COMPLETED, -1d 01:10 CANCELED, "
              "-1d 01:15 CANCELED, -1d 01:20 CANCELED");
    CHECK_INT(f.run_count, 2);
}

TEST(a_hundred_backfills_at_a_time) {
    cleanup(sched_done) struct sched f;
    Schedule__BackfillRequest range = SCHEDULE__BACKFILL_REQUEST__INIT, *ranges[LIMIT_SCHEDULE_BACKFILLS + 1];
    Google__Protobuf__Timestamp from = pb_timestamp(sched_us("-1d 01:00")),
                                to = pb_timestamp(sched_us("-1d 01:05"));
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    range.start_time = &from;
    range.end_time = &to;
    range.overlap_policy = POLICY(BUFFER_ALL);
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        ranges[i] = &range;
    patch.backfill_request = ranges;
    patch.n_backfill_request = ARRAY_LEN(ranges);
    CHECK_INT(sched_patch(&f, &patch, ""), ERR_PRECONDITION);
    CHECK_INT(sched_state(&f)->n_backfills, 0); /* nothing of it happened */
    patch.n_backfill_request = LIMIT_SCHEDULE_BACKFILLS;
    CHECK_INT(sched_patch(&f, &patch, ""), 0);
    CHECK_INT(sched_state(&f)->n_backfills, LIMIT_SCHEDULE_BACKFILLS);
    patch.n_backfill_request = 1;
    CHECK_INT(sched_patch(&f, &patch, ""), ERR_PRECONDITION);
}

TEST(bad_patches_are_refused) {
    struct err err = {0};
    Google__Protobuf__Timestamp from = pb_timestamp(sched_us("01:00")), to = pb_timestamp(sched_us("00:59"));
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__BackfillRequest range = SCHEDULE__BACKFILL_REQUEST__INIT, *ranges = &range;
    Schedule__TriggerImmediatelyRequest now = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    char note[LIMIT_SCHEDULE_NOTES_BYTES + 2];
    CHECK_INT(schedule_validate_patch(NULL, &err), ERR_INVALID);
    CHECK_INT(schedule_validate_patch(&patch, &err), 0);
    patch.backfill_request = &ranges;
    patch.n_backfill_request = 1;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    range.start_time = &from;
    range.end_time = &to;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    range.end_time = &from;
    CHECK_INT(schedule_validate_patch(&patch, &err), 0);
    range.overlap_policy = (E__ScheduleOverlapPolicy)7;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    patch.n_backfill_request = 0;
    patch.trigger_immediately = &now;
    now.overlap_policy = (E__ScheduleOverlapPolicy)-1;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    now.overlap_policy = POLICY(SKIP);
    from.nanos = -1;
    now.scheduled_time = &from;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    patch.trigger_immediately = NULL;
    memset(note, 'x', sizeof(note) - 1);
    note[sizeof(note) - 1] = 0;
    patch.pause = note;
    CHECK_INT(schedule_validate_patch(&patch, &err), ERR_INVALID);
    note[sizeof(note) - 2] = 0;
    CHECK_INT(schedule_validate_patch(&patch, &err), 0);
}

TEST(an_initial_patch_comes_with_the_creation) {
    cleanup(sched_done) struct sched f;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__TriggerImmediatelyRequest now = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    sched_init(&f);
    patch.trigger_immediately = &now;
    patch.pause = core_text(&f.c, "later");
    f.create.initial_patch = &patch;
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_begun(&f), "00:00");
    sched_go(&f, "00:06");
    CHECK_STR(sched_ledger(&f), "00:00 STARTED/RUNNING, 00:05 PAUSED");
}

TEST(an_unpause_wins_over_a_pause) {
    cleanup(sched_done) struct sched f;
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    patch.pause = core_text(&f.c, "stop");
    patch.unpause = core_text(&f.c, "go");
    CHECK_INT(arena_failed(&f.c.arena) ? 0 : sched_patch(&f, &patch, ""), 0);
    const State__Schedule *sch = sched_state(&f);
    CHECK(!sch->schedule || (!sch->schedule->state->paused && cstr_eq(sch->schedule->state->notes, "go")));
}
