/* Specs between messages and calendars, the rules for a schedule, holiday calendars, and questions about
 * times. */
#include "core/schedule/holiday.h"
#include "schedule_fixture.h"

/* The canonical form of a structured calendar, as describe shows it: "s{0,0,1} m{5,5,1}..." */
static const char *shown(struct sched *f, const Schedule__StructuredCalendarSpec *c) {
    struct buf b cleanup(buf_done);
    buf_init(&b, 1000);
    const struct {
        const char *name;
        size_t n;
        Schedule__Range **v;
    } fields[] = {{"sec", c->n_second, c->second}, {"min", c->n_minute, c->minute},
                  {"hour", c->n_hour, c->hour},    {"dom", c->n_day_of_month, c->day_of_month},
                  {"month", c->n_month, c->month}, {"dow", c->n_day_of_week, c->day_of_week},
                  {"year", c->n_year, c->year}};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        buf_printf(&b, "%s%s", i ? " " : "", fields[i].name);
        for (size_t j = 0; j < fields[i].n; j++)
            buf_printf(&b, "{%d,%d,%d}", fields[i].v[j]->start, fields[i].v[j]->end, fields[i].v[j]->step);
    }
    const char *text = buf_ok(&b) ? arena_strndup(&f->c.arena, (const char *)b.data, b.len) : NULL;
    return text ? text : "out of memory";
}

TEST(a_cron_string_is_shown_as_a_calendar) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "11 11/11 11 11 1 2011 # why");
    sched_cron(&f, f.schedule, "@every 90m/10m");
    CHECK_INT(sched_create(&f), 0);
    Schedule__Schedule *s = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    if (!s)
        return;
    CHECK_INT(s->spec->n_cron_string, 0);
    CHECK_INT(s->spec->n_structured_calendar, 1);
    CHECK_STR(
        shown(&f, s->spec->structured_calendar[0]),
        "sec{0,0,1} min{11,11,1} hour{11,23,11} dom{11,11,1} month{11,11,1} dow{1,1,1} year{2011,2011,1}");
    CHECK_STR(s->spec->structured_calendar[0]->comment, "why");
    CHECK_INT(s->spec->n_interval, 1);
    CHECK_INT(pb_duration_us(s->spec->interval[0]->interval), 5400 * USEC_PER_SEC);
    CHECK_INT(pb_duration_us(s->spec->interval[0]->phase), 600 * USEC_PER_SEC);
    CHECK_INT(s->policies->overlap_policy, POLICY(SKIP));
    const char *before = sched_future(&f);
    CHECK_INT(sched_update(&f, s), 0); /* what is read can be written */
    CHECK_STR(sched_future(&f), before);
}

TEST(calendars_in_all_forms_are_joined) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Schedule__CalendarSpec *c = pb_arena_new(&schedule__calendar_spec__descriptor, &f.c.arena);
    Schedule__IntervalSpec *i = pb_arena_new(&schedule__interval_spec__descriptor, &f.c.arena);
    if (!c || !i)
        return;
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "55 11 * * *");
    c->hour = core_text(&f.c, "5");
    c->minute = core_text(&f.c, "23");
    i->interval = core_duration(&f.c, INT64_C(12) * 3600 * USEC_PER_SEC);
    f.schedule->spec->calendar = &c;
    f.schedule->spec->n_calendar = 1;
    f.schedule->spec->interval = &i;
    f.schedule->spec->n_interval = 1;
    CHECK_INT(arena_failed(&f.c.arena) ? 0 : sched_create(&f), 0);
    CHECK_STR(sched_future(&f),
              "05:23 11:55 12:00 1d 00:00 1d 05:23 1d 11:55 1d 12:00 2d 00:00 2d 05:23 2d 11:55");
    Schedule__Schedule *s = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK(s && s->spec->n_structured_calendar == 2 && s->spec->n_calendar == 0 && s->spec->n_interval == 1);
}

TEST(what_a_calendar_cannot_say_survives_a_describe) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "0 12 L * *");
    CHECK_INT(sched_create(&f), 0);
    const char *before = sched_future(&f);
    CHECK(!f.c.st || strncmp(before, "29d 12:00 60d 12:00", 19) == 0);
    Schedule__Schedule *s = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK_INT(s ? sched_update(&f, s) : 0, 0);
    CHECK_STR(sched_future(&f), before);
}

/* the rules */

static const char *refusal(struct sched *f) {
    int rc = sched_create(f);
    if (rc == ERR_INVALID)
        return f->c.err.text;
    return rc == 0 ? "" : "out of memory";
}

#define CHECK_REFUSED(text, change)                                                                          \
    do {                                                                                                     \
        cleanup(sched_done) struct sched f;                                                                  \
        sched_init(&f);                                                                                      \
        if (arena_failed(&f.c.arena))                                                                        \
            return;                                                                                          \
        Schedule__Schedule *s = f.schedule;                                                                  \
        Workflow__NewWorkflowExecutionInfo *w = s->action->start_workflow;                                   \
        change;                                                                                              \
        (void)w;                                                                                             \
        CHECK_STR(arena_failed(&f.c.arena) ? (text) : refusal(&f), (text));                                  \
    } while (0)

static char *long_text(struct sched *f, size_t n) {
    char *text = arena_zalloc(&f->c.arena, n + 1);
    if (text)
        memset(text, 'x', n);
    return text;
}

TEST(a_schedule_has_an_id_and_an_action) {
    CHECK_REFUSED("ScheduleId is not set on request.", f.create.schedule_id = core_text(&f.c, ""));
    CHECK_REFUSED("ScheduleId length exceeds limit.", f.create.schedule_id = long_text(&f, 978));
    CHECK_REFUSED("", f.create.schedule_id = long_text(&f, 977));
    CHECK_REFUSED("Only StartWorkflow action is supported for schedules", s->action = NULL);
    CHECK_REFUSED("Only StartWorkflow action is supported for schedules",
                  s->action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION__NOT_SET);
}

TEST(an_action_is_a_start) {
    CHECK_REFUSED("WorkflowId is not set on request.", w->workflow_id = core_text(&f.c, ""));
    CHECK_REFUSED("WorkflowId length exceeds limit.", w->workflow_id = long_text(&f, 980));
    CHECK_REFUSED("", w->workflow_id = long_text(&f, 979));
    CHECK_REFUSED("WorkflowType is not set on request.", w->workflow_type = NULL);
    CHECK_REFUSED("TaskQueue is not set on request.", w->task_queue = NULL);
    CHECK_REFUSED("Scheduled workflow must not contain CronSchedule",
                  w->cron_schedule = core_text(&f.c, "* * * * *"));
    CHECK_REFUSED("Scheduled workflow must not contain WorkflowIDReusePolicy",
                  w->workflow_id_reuse_policy = WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE);
    CHECK_REFUSED("", w->workflow_id_reuse_policy = WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE);
    CHECK_REFUSED("Invalid WorkflowRunTimeout: it must not be negative.",
                  w->workflow_run_timeout = core_duration(&f.c, -USEC_PER_SEC));
}

TEST(policies_and_extras_fit_together) {
    CHECK_REFUSED("unknown overlap policy 7", s->policies->overlap_policy = (E__ScheduleOverlapPolicy)7);
    CHECK_REFUSED("Schedule notes exceeds limit.", s->state->notes = long_text(&f, 1001));
    CHECK_REFUSED("max_concurrent_runs must be between 0 and 1000", s->extras->max_concurrent_runs = -1);
    CHECK_REFUSED("max_concurrent_runs must be between 0 and 1000", s->extras->max_concurrent_runs = 1001);
    CHECK_REFUSED("max_concurrent_runs above 1 needs the overlap policy Skip, BufferOne or BufferAll",
                  (s->extras->max_concurrent_runs = 2, s->policies->overlap_policy = POLICY(ALLOW_ALL)));
    CHECK_REFUSED("", (s->extras->max_concurrent_runs = 1, s->policies->overlap_policy = POLICY(ALLOW_ALL)));
    CHECK_REFUSED(
        "keep_original_workflow_id lets one action run at a time: it cannot be combined with AllowAll or "
        "max_concurrent_runs",
        (s->policies->keep_original_workflow_id = true, s->policies->overlap_policy = POLICY(ALLOW_ALL)));
    CHECK_REFUSED("keep_original_workflow_id and workflow_id_format exclude each other",
                  (s->policies->keep_original_workflow_id = true,
                   s->extras->workflow_id_format = core_text(&f.c, "{id}")));
    CHECK_REFUSED("keep_after_end must not be negative",
                  s->extras->keep_after_end = core_duration(&f.c, -USEC_PER_SEC));
}

static void set_interval(struct sched *f, int64_t interval_ms, int64_t phase_ms) {
    Schedule__IntervalSpec *i = pb_arena_new(&schedule__interval_spec__descriptor, &f->c.arena);
    Schedule__IntervalSpec **list = arena_array(&f->c.arena, Schedule__IntervalSpec *, 1);
    if (!i || !list)
        return;
    i->interval = core_duration(&f->c, interval_ms * USEC_PER_MS);
    i->phase = core_duration(&f->c, phase_ms * USEC_PER_MS);
    list[0] = i;
    f->schedule->spec->interval = list;
    f->schedule->spec->n_interval = 1;
}

TEST(a_bad_spec_is_refused) {
    CHECK_REFUSED("Invalid schedule spec: interval is too small", set_interval(&f, 999, 0));
    CHECK_REFUSED("Invalid schedule spec: interval is not a valid duration", set_interval(&f, -5000, 0));
    CHECK_REFUSED("Invalid schedule spec: phase cannot be greater than Interval",
                  set_interval(&f, 3000, 4000));
    CHECK_REFUSED("", set_interval(&f, 3000, 2999));
    CHECK_REFUSED("Invalid schedule spec: unknown time zone \"Mars/Phobos\"",
                  s->spec->timezone_name = core_text(&f.c, "Mars/Phobos"));
}

/* holiday calendars */

static Rondo__HolidayCalendar *holidays(struct sched *f, const char *name) {
    Rondo__HolidayCalendar *c = pb_arena_new(&rondo__holiday_calendar__descriptor, &f->c.arena);
    if (!c)
        return NULL;
    c->name = core_text(&f->c, name);
    return c;
}

static void set_holidays(struct sched *f, Rondo__HolidayCalendar **calendars, size_t n, char **names,
                         size_t name_count) {
    f->space.holiday_calendars = calendars;
    f->space.n_holiday_calendars = n;
    f->schedule->extras->holiday_calendars = names;
    f->schedule->extras->n_holiday_calendars = name_count;
}

TEST(holidays_are_whole_days) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Rondo__HolidayCalendar *days = holidays(&f, "de");
    char *dates[] = {core_text(&f.c, "2022-06-03")}, *crons[] = {core_text(&f.c, "0 0 5 6 *")},
         *names[] = {core_text(&f.c, "de")};
    if (!days || arena_failed(&f.c.arena))
        return;
    days->dates = dates;
    days->n_dates = 1;
    days->cron_strings = crons;
    days->n_cron_strings = 1;
    CHECK_INT(holidays_validate(days, &f.c.arena, &f.c.err), 0);
    set_holidays(&f, &days, 1, names, 1);
    sched_every(&f, f.schedule, "12h/6h");
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f),
              "06:00 18:00 1d 06:00 1d 18:00 3d 06:00 3d 18:00 5d 06:00 5d 18:00 6d 06:00 6d 18:00");
    sched_go(&f, "3d 07:00");
    CHECK_STR(sched_ledger(&f),
              "06:00 STARTED/COMPLETED, 18:00 STARTED/COMPLETED, 1d 06:00 STARTED/COMPLETED, 1d 18:00 "
              "STARTED/COMPLETED, 2d 06:00..2d 18:00 x2 EXCLUDED, 3d 06:00 STARTED/COMPLETED");
    const Rondo__LedgerEntry *e = f.ledger_count > 4 ? f.ledger[4] : NULL;
    CHECK_STR(e ? e->reason : "", "a holiday calendar excludes it: \"de\"");
    Schedule__Schedule *s = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    CHECK(s && s->spec->n_exclude_structured_calendar == 0); /* they are not part of the spec */
    days->n_dates = days->n_cron_strings = 0; /* somebody empties the calendar */
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    CHECK(!f.c.st || strncmp(sched_future(&f), "3d 18:00 4d 06:00", 17) == 0);
}

/* Nobody wakes for what is excluded, so a calendar may change before its last times were looked at. */
TEST(a_holiday_that_is_taken_back_was_one_until_then) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    Rondo__HolidayCalendar *days = holidays(&f, "de");
    char *dates[] = {core_text(&f.c, "2022-06-01")}, *names[] = {core_text(&f.c, "de")};
    if (!days || arena_failed(&f.c.arena))
        return;
    days->dates = dates;
    days->n_dates = 1;
    set_holidays(&f, &days, 1, names, 1);
    sched_every(&f, f.schedule, "10m");
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:35"); /* it has looked at 00:00, and would look again at 01:00 */
    days->n_dates = 0;
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    const Rondo__LedgerEntry *first = f.ledger_count ? f.ledger[0] : NULL;
    CHECK_STR(first ? first->reason : "", "a holiday calendar excluded it at that time");
    sched_go(&f, "00:41");
    const Rondo__LedgerEntry *last = f.ledger_count ? f.ledger[f.ledger_count - 1] : NULL;
    CHECK(last && last->fate == LEDGER_FATE_STARTED && last->nominal_time->seconds == SCHED_T0_S + 2400);
    sched_jump(&f, "00:55"); /* 00:50 is due when the calendar changes again */
    days->n_dates = 1;
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    last = f.ledger_count ? f.ledger[f.ledger_count - 1] : NULL;
    CHECK(last && last->fate == LEDGER_FATE_EXCLUDED);
    CHECK_STR(last ? last->reason : "", "a holiday calendar excludes it: \"de\"");
}

TEST(a_schedule_without_times_hears_of_holidays_in_vain) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(SCHED(&f, schedule_refresh(&f.c.s)), 0);
    CHECK_STR(sched_future(&f), "");
}

TEST(holidays_must_exist_and_make_sense) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Rondo__HolidayCalendar *days = holidays(&f, "de");
    char *names[] = {core_text(&f.c, "fr")}, *text[] = {core_text(&f.c, "2022-06-03")};
    if (!days || arena_failed(&f.c.arena))
        return;
    set_holidays(&f, &days, 1, names, 1);
    CHECK_STR(refusal(&f), "the namespace has no holiday calendar \"fr\"");
    days->dates = text;
    days->n_dates = 1;
    CHECK_INT(holidays_validate(days, &f.c.arena, &f.c.err), 0);
    static const char *const bad_dates[] = {"2022-13-01", "tomorrow", "2022-06-03T10:00", "1999-01-01", ""};
    for (size_t i = 0; i < ARRAY_LEN(bad_dates); i++) {
        text[0] = core_text(&f.c, bad_dates[i]);
        CHECK_INT(text[0] ? holidays_validate(days, &f.c.arena, &f.c.err) : ERR_INVALID, ERR_INVALID);
    }
    days->n_dates = 0;
    days->cron_strings = text;
    days->n_cron_strings = 1;
    static const char *const bad_crons[] = {"0 0 32 * *", "@every 5m", "CRON_TZ=UTC 0 0 1 1 *", "nonsense"};
    for (size_t i = 0; i < ARRAY_LEN(bad_crons); i++) {
        text[0] = core_text(&f.c, bad_crons[i]);
        CHECK_INT(text[0] ? holidays_validate(days, &f.c.arena, &f.c.err) : ERR_INVALID, ERR_INVALID);
    }
    days->name = core_text(&f.c, "");
    CHECK_INT(holidays_validate(days, &f.c.arena, &f.c.err), ERR_INVALID);
    CHECK_INT(holidays_validate(NULL, &f.c.arena, &f.c.err), ERR_INVALID);
}

/* questions */

static size_t matching(struct sched *f, const char *from, const char *to) {
    Ws__ListScheduleMatchingTimesRequest req = WS__LIST_SCHEDULE_MATCHING_TIMES_REQUEST__INIT;
    Ws__ListScheduleMatchingTimesResponse *r = NULL;
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us(from)), end = pb_timestamp(sched_us(to));
    req.start_time = &start;
    req.end_time = &end;
    if (!f->c.st)
        return SIZE_MAX;
    int rc = schedule_matching_times(f->c.st, &f->space, &f->zones, &req, &f->c.arena, &r, &f->c.err);
    return rc == 0 ? r->n_start_time : SIZE_MAX;
}

TEST(vector_88_matching_times) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_every(&f, f.schedule, "1h");
    f.schedule->state->paused = true;
    CHECK_INT(sched_create(&f), 0);
    CHECK_INT(matching(&f, "10:00", "15:00"), 5);
    CHECK_INT(matching(&f, "09:59:59.900", "15:00"), 6);
    CHECK_INT(matching(&f, "-400d 00:00", "400d 00:00"), LIMIT_SCHEDULE_MATCHING);
    CHECK_INT(matching(&f, "40000d 00:00", "40001d 00:00"), 0); /* nothing comes so late */
    Ws__ListScheduleMatchingTimesRequest req = WS__LIST_SCHEDULE_MATCHING_TIMES_REQUEST__INIT;
    Ws__ListScheduleMatchingTimesResponse *r = NULL;
    Google__Protobuf__Timestamp start = pb_timestamp(0);
    for (int i = 0; i < 2; i++, req.start_time = &start)
        CHECK(!f.c.st || schedule_matching_times(f.c.st, &f.space, &f.zones, &req, &f.c.arena, &r,
                                                 &f.c.err) == ERR_INVALID);
}

static const char *explain(struct sched *f, const char *when) {
    Rondo__ExplainScheduleTimeRequest req = RONDO__EXPLAIN_SCHEDULE_TIME_REQUEST__INIT;
    Rondo__ExplainScheduleTimeResponse *r = NULL;
    Google__Protobuf__Timestamp at = pb_timestamp(sched_us(when));
    req.time = &at;
    if (!f->c.st || schedule_explain(f->c.st, &f->space, &f->zones, &req, &f->c.arena, &r, &f->c.err) < 0)
        return "";
    const char *text = arena_printf(&f->c.arena, "%s: %s", r->verdict, r->explanation);
    return text ? text : "";
}

TEST(times_are_explained) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    sched_exclude(&f, f.schedule, "2");
    Google__Protobuf__Timestamp end = pb_timestamp(sched_us("20:00"));
    f.schedule->spec->end_time = &end;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "01:00");
    CHECK_STR(explain(&f, "00:55"),
              "time: 2022-06-01T00:55:00Z is a time of this schedule; it was considered, or "
              "lies before the schedule's time.");
    CHECK_STR(explain(&f, "01:05"),
              "time: 2022-06-01T01:05:00Z is a time of this schedule; it is still to come.");
    CHECK_STR(explain(&f, "01:06"),
              "not_asked: 2022-06-01T01:06:00Z matches no calendar and no interval of the spec.");
    CHECK_STR(explain(&f, "02:05"),
              "excluded: 2022-06-01T02:05:00Z would be a time of this schedule, but the spec excludes it.");
    CHECK_STR(explain(&f, "20:05"), "after_end: 2022-06-01T20:05:00Z is after the spec's end time.");
    CHECK_INT(sched_pause(&f, "x"), 0);
    CHECK_STR(explain(&f, "01:05"),
              "time: 2022-06-01T01:05:00Z is a time of this schedule; the schedule is paused.");
}

/* Its nanoseconds are more than a second. */
static Google__Protobuf__Timestamp *no_time(struct sched *f) {
    Google__Protobuf__Timestamp *t = pb_arena_new(&google__protobuf__timestamp__descriptor, &f->c.arena);
    if (t)
        t->nanos = 1000000000;
    return t;
}

/* An hour ahead of UTC, up to 2 June. */
static const char own_zone[] = "TZif\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\2"
                               "\x62\x97\xfc\x80\1\0\0\x0e\x10\0\0\0\0\0\0\0\0X";

static void set_own_zone(struct sched *f, const char *name) {
    f->schedule->spec->timezone_name = core_text(&f->c, name);
    f->schedule->spec->timezone_data =
        (ProtobufCBinaryData){sizeof(own_zone), (uint8_t *)(uintptr_t)own_zone};
}

/* What comes later, or never. */
TEST(times_to_come_are_explained) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us("00:30"));
    f.schedule->spec->start_time = &start;
    f.schedule->spec->jitter = core_duration(&f.c, 60 * USEC_PER_SEC);
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(explain(&f, "00:25"), "before_start: 2022-06-01T00:25:00Z is before the spec's start time.");
    CHECK(!f.c.st ||
          strstr(explain(&f, "00:35"), "; it is still to come, with its jitter at 2022-06-01T00:35:"));
    Google__Protobuf__Timestamp until = pb_timestamp(sched_us("00:40"));
    if (!f.c.st)
        return;
    Schedule__Schedule *s = schedule_shown(f.c.st, &f.c.arena);
    if (!s || !s->extras)
        return;
    s->spec->jitter = NULL;
    s->state->paused = true;
    s->extras->pause_until = &until;
    CHECK_INT(sched_update(&f, s), 0);
    CHECK_STR(explain(&f, "00:35"),
              "time: 2022-06-01T00:35:00Z is a time of this schedule; the schedule is paused.");
    CHECK_STR(explain(&f, "00:45"),
              "time: 2022-06-01T00:45:00Z is a time of this schedule; it is still to come.");
    s = f.c.st ? schedule_shown(f.c.st, &f.c.arena) : NULL;
    if (!s)
        return;
    s->state->paused = false;
    s->extras->pause_until = NULL;
    sched_limit(s, 0);
    CHECK_INT(sched_update(&f, s), 0);
    CHECK_STR(explain(&f, "00:45"),
              "time: 2022-06-01T00:45:00Z is a time of this schedule; no actions remain.");
    Rondo__ExplainScheduleTimeRequest req = RONDO__EXPLAIN_SCHEDULE_TIME_REQUEST__INIT;
    Rondo__ExplainScheduleTimeResponse *r = NULL;
    req.time = no_time(&f);
    CHECK(!f.c.st || !req.time ||
          schedule_explain(f.c.st, &f.space, &f.zones, &req, &f.c.arena, &r, &f.c.err) == ERR_INVALID);
}

TEST(a_time_that_the_clock_shows_twice_is_explained) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.schedule->spec->n_cron_string = 0;
    sched_cron(&f, f.schedule, "30 0 * * *");
    set_own_zone(&f, "Mine;repeated=first");
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(explain(&f, "23:30"),
              "time: 2022-06-01T23:30:00Z is a time of this schedule; it is still to come.");
    CHECK_STR(
        explain(&f, "1d 00:30"),
        "repeated: 2022-06-02T00:30:00Z comes twice on that day by the local clock; the other one counts.");
}

TEST(a_calendar_that_is_gone_is_told) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Rondo__HolidayCalendar *days = holidays(&f, "de");
    char *names[] = {core_text(&f.c, "de")};
    if (!days || arena_failed(&f.c.arena))
        return;
    set_holidays(&f, &days, 1, names, 1);
    CHECK_INT(sched_create(&f), 0);
    f.space.n_holiday_calendars = 0;
    CHECK_STR(
        explain(&f, "00:05"),
        "time: 2022-06-01T00:05:00Z is a time of this schedule; it is still to come. The holiday calendar "
        "\"de\" does not exist: it excludes nothing.");
}

/* The command line reads what a file says, which may be nothing. */
TEST(no_spec_is_an_empty_one) {
    cleanup(arena_done) struct arena a;
    Schedule__Schedule schedule = SCHEDULE__SCHEDULE__INIT;
    struct cal_spec spec;
    struct err err = {0};
    size_t own = 1;
    arena_init(&a, 1 << 16);
    cal_spec_init(&spec, &a, STR(""));
    CHECK_INT(schedule_read_spec(&schedule, NULL, &spec, &own, &err), 0);
    CHECK_INT(spec.calendar_count + spec.interval_count + own, 0);
}

TEST(an_update_to_times_that_are_past) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:07");
    Schedule__Schedule *past = sched_new(&f);
    if (!past)
        return;
    sched_cron(&f, past, "0 0 1 1 * 2021");
    CHECK_INT(sched_update(&f, past), 0);
    CHECK_STR(sched_future(&f), "");
    CHECK_INT(sched_state(&f)->high_water_us, sched_us("00:07"));
}

/* As when a zone is gone after an upgrade of its database. */
TEST(a_spec_that_cannot_be_read_any_more_is_tried_again) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    f.closes_at_once = true;
    CHECK_INT(sched_create(&f), 0);
    sched_go(&f, "00:05");
    if (!f.c.st)
        return;
    bool failed = false;
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "Gone/Zone", &failed);
    sched_go(&f, "00:11");
    CHECK(f.c.is_out_of_memory || !cstr_is_empty(sched_state(&f)->invalid_error));
    const Schedule__ScheduleInfo *info = f.c.st ? schedule_info(f.c.st, &f.c.arena) : NULL;
    CHECK(info && strstr(info->invalid_schedule_error, "Gone/Zone"));
    if (!f.c.st)
        return;
    pb_set_string(&f.c.st->schedule->schedule->spec->timezone_name, "", &failed);
    sched_go(&f, "01:11");
    CHECK_STR(sched_begun(&f), "00:05 00:10@01:10");
    CHECK(cstr_is_empty(sched_state(&f)->invalid_error));
}
