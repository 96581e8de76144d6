/* What a schedule, a holiday calendar and a patch must be like, as text: a line each, with its refusal. */
#include <stdio.h>

#include "core/schedule/holiday.h"
#include "core/schedule/schedule.h"
#include "message_text.h"
#include "schedule_fixture.h"

#define BUDGET ((size_t)8 << 20)
#define ACTION                                                                                               \
    "'action':{'startWorkflow':{'workflowId':'wf','workflowType':{'name':'T'},'taskQueue':{'name':'q'}}}"

struct line {
    const char *text;
    const char *want; /* "" is fine */
};

static int prepare(struct arena *a, const char *text, struct err *err) {
    State__Namespace space = STATE__NAMESPACE__INIT;
    Schedule__Schedule *schedule = message_of(a, &schedule__schedule__descriptor, text);
    return schedule ? schedule_prepare(a, &space, NULL, "s", schedule, err) : ERR_NO_MEMORY;
}

static int validate_patch(struct arena *a, const char *text, struct err *err) {
    const Schedule__SchedulePatch *patch = message_of(a, &schedule__schedule_patch__descriptor, text);
    return patch ? schedule_validate_patch(patch, err) : ERR_NO_MEMORY;
}

static int validate_holidays(struct arena *a, const char *text, struct err *err) {
    const Rondo__HolidayCalendar *calendar = message_of(a, &rondo__holiday_calendar__descriptor, text);
    return calendar ? holidays_validate(calendar, a, err) : ERR_NO_MEMORY;
}

static void check(int (*judge)(struct arena *, const char *, struct err *), const struct line *lines,
                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, BUDGET);
        CHECK_INT(judge(&a, lines[i].text, &err), *lines[i].want ? ERR_INVALID : 0);
        if (!CHECK_STR(err.text, lines[i].want))
            printf("# %s\n", lines[i].text);
    }
}

TEST(schedules_that_are_refused) {
    static const struct line lines[] = {
        {"{" ACTION "}", ""},
        {"{" ACTION ",'spec':{},'policies':{},'state':{},'extras':{}}", ""},
        {"{}", "Only StartWorkflow action is supported for schedules"},
        {"{" ACTION ",'policies':{'overlapPolicy':-1}}", "unknown overlap policy -1"},
        {"{" ACTION ",'extras':{'pauseUntil':'2030-01-01T00:00:00Z'}}", ""},
        {"{" ACTION ",'extras':{'maxConcurrentRuns':2}}", ""}, /* the policy that holds is Skip */
        {"{" ACTION ",'extras':{'workflowIdFormat':'LONG'}}", "workflow_id_format length exceeds limit."},
        {"{" ACTION ",'policies':{'keepOriginalWorkflowId':true}}", ""},
        {"{" ACTION ",'policies':{'keepOriginalWorkflowId':true},'extras':{'maxConcurrentRuns':2}}",
         "keep_original_workflow_id lets one action run at a time: it cannot be combined with AllowAll or "
         "max_concurrent_runs"},
        {"{" ACTION ",'spec':{'startTime':'2030-01-01T00:00:00Z','interval':[{'interval':'5s'}]}}", ""},
        {"{" ACTION ",'spec':{'interval':[{'interval':'5s','phase':'-1s'}]}}",
         "Invalid schedule spec: phase is not a valid duration"},
        {"{" ACTION ",'spec':{'jitter':'-1s','interval':[{'interval':'5s'}]}}", ""}, /* it is none */
        {"{" ACTION ",'spec':{'interval':[{'interval':'-5s'}],'cronString':['* * * * *']}}",
         "Invalid schedule spec: interval is not a valid duration"},
        /* whatever else there is, the first mistake is told */
        {"{" ACTION ",'spec':{'calendar':[{'hour':'24'},{}],'interval':[{'interval':'5s'}]}}",
         "Invalid schedule spec: invalid calendar spec: Hour is not in range [0-23] (column 1: \"24\")"},
        {"{" ACTION
         ",'spec':{'excludeStructuredCalendar':[{'dayOfMonth':[{'start':32}]},{}],'excludeCalendar':[{}]}}",
         "Invalid schedule spec: invalid calendar spec: DayOfMonth Start 32 is not in range [1-31]"},
        {"{" ACTION ",'spec':{'excludeCalendar':[{'hour':'24'},{}]}}",
         "Invalid schedule spec: invalid calendar spec: Hour is not in range [0-23] (column 1: \"24\")"},
    };
    check(prepare, lines, ARRAY_LEN(lines));
}

/* Times that no text can spell. */
TEST(schedules_with_times_that_are_none) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{" ACTION ",'spec':{'startTime':'2030-01-01T00:00:00Z'}}",
         "Invalid schedule spec: start_time or end_time is not a valid time"},
        {"{" ACTION ",'spec':{'endTime':'2030-01-01T00:00:00Z'}}",
         "Invalid schedule spec: start_time or end_time is not a valid time"},
        {"{" ACTION ",'extras':{'pauseUntil':'2030-01-01T00:00:00Z'}}", "pause_until is not a valid time"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        State__Namespace space = STATE__NAMESPACE__INIT;
        struct err err = {0};
        arena_init(&a, BUDGET);
        Schedule__Schedule *s = message_of(&a, &schedule__schedule__descriptor, cases[i].text);
        REQUIRE(s);
        Google__Protobuf__Timestamp *t = !s->spec              ? s->extras->pause_until
                                         : s->spec->start_time ? s->spec->start_time
                                                               : s->spec->end_time;
        t->nanos = -1;
        CHECK_INT(schedule_prepare(&a, &space, NULL, "s", s, &err), ERR_INVALID);
        CHECK_STR(err.text, cases[i].want);
    }
}

/* Input and memo count together. */
TEST(schedules_with_a_large_action) {
    cleanup(arena_done) struct arena a;
    State__Namespace space = STATE__NAMESPACE__INIT;
    struct err err = {0};
    arena_init(&a, BUDGET);
    Schedule__Schedule *s =
        message_of(&a, &schedule__schedule__descriptor,
                   "{'action':{'startWorkflow':{'workflowId':'wf','workflowType':{'name':'T'},"
                   "'taskQueue':{'name':'q'},'memo':{'fields':{'k':'v'}}}}}");
    REQUIRE(s);
    CHECK_INT(schedule_prepare(&a, &space, NULL, "s", s, &err), 0);
    Common__Payload *large = s->action->start_workflow->memo->fields[0]->value;
    large->data = (ProtobufCBinaryData){LIMIT_BLOB_BYTES, arena_zalloc(&a, LIMIT_BLOB_BYTES)};
    REQUIRE(large->data.data);
    CHECK_INT(schedule_prepare(&a, &space, NULL, "s", s, &err), ERR_INVALID);
    CHECK(strstr(err.text, "input and memo of the action have "));
}

/* An id that grows beyond all limits by its own format. */
TEST(schedules_with_a_long_id) {
    cleanup(arena_done) struct arena a;
    State__Namespace space = STATE__NAMESPACE__INIT;
    struct err err = {0};
    arena_init(&a, BUDGET);
    Schedule__Schedule *s = message_of(&a, &schedule__schedule__descriptor,
                                       "{" ACTION ",'extras':{'workflowIdFormat':'{id}{id}{id}{id}{id}'}}");
    REQUIRE(s);
    char *id = arena_zalloc(&a, LIMIT_ID_BYTES + 1);
    REQUIRE(id);
    memset(id, 'x', LIMIT_ID_BYTES);
    s->action->start_workflow->workflow_id = id;
    CHECK_INT(schedule_prepare(&a, &space, NULL, "s", s, &err), ERR_INVALID);
    CHECK_STR(err.text, "WorkflowId length exceeds limit.");
}

TEST(patches_that_are_refused) {
    static const struct line lines[] = {
        {"{}", ""},
        {"{'pause':'LONG'}", "Schedule notes exceeds limit."},
        {"{'unpause':'LONG'}", "Schedule notes exceeds limit."},
        {"{'pause':'LONG','backfillRequest':[{}]}", "Schedule notes exceeds limit."},
        {"{'triggerImmediately':{'overlapPolicy':9}}", "unknown overlap policy 9"},
        {"{'backfillRequest':[{}]}", "StartTime and EndTime must be set on a backfill request"},
        {"{'backfillRequest':[{'startTime':'2030-01-01T00:00:00Z'}]}",
         "StartTime and EndTime must be set on a backfill request"},
        {"{'backfillRequest':[{'startTime':'2030-01-02T00:00:00Z','endTime':'2030-01-01T00:00:00Z'}]}",
         "EndTime of a backfill request is before its StartTime"},
        {"{'backfillRequest':[{'startTime':'2030-01-01T00:00:00Z','endTime':'2030-01-01T00:00:00Z',"
         "'overlapPolicy':9}]}",
         "unknown overlap policy 9"},
    };
    check(validate_patch, lines, ARRAY_LEN(lines));
    struct err err = {0};
    CHECK_INT(schedule_validate_patch(NULL, &err), ERR_INVALID);
    CHECK_STR(err.text, "Patch is not set on request.");
}

TEST(patches_with_times_that_are_none) {
    for (int i = 0; i < 3; i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, BUDGET);
        Schedule__SchedulePatch *p = message_of(
            &a, &schedule__schedule_patch__descriptor,
            "{'triggerImmediately':{'scheduledTime':'2030-01-01T00:00:00Z'},"
            "'backfillRequest':[{'startTime':'2030-01-01T00:00:00Z','endTime':'2030-01-01T00:00:00Z'}]}");
        REQUIRE(p);
        Google__Protobuf__Timestamp *times[] = {p->trigger_immediately->scheduled_time,
                                                p->backfill_request[0]->start_time,
                                                p->backfill_request[0]->end_time};
        times[i]->nanos = 1000000000;
        CHECK_INT(schedule_validate_patch(p, &err), ERR_INVALID);
        CHECK_STR(err.text, i ? "StartTime or EndTime of a backfill request is not a valid time"
                              : "ScheduledTime is not a valid time");
    }
}

/* holidays */

TEST(holidays_that_are_refused) {
    static const struct line lines[] = {
        {"{'name':'x'}", ""},
        {"{'name':'x','days':[{'month':[{'start':12}],'dayOfMonth':[{'start':25}]}]}", ""},
        {"{'name':'x','days':[{'dayOfWeek':[{'start':0}]}]}", ""},
        {"{'name':'x','days':[{'month':[{'start':13}]}]}",
         "Invalid holiday calendar x: invalid calendar spec: Month Start 13 is not in range [1-12]"},
        {"{'name':'x','days':[{'month':[{'start':13}]}],'cronStrings':['0 0 1 1 *'],'dates':['2026-12-25']}",
         "Invalid holiday calendar x: invalid calendar spec: Month Start 13 is not in range [1-12]"},
        {"{'name':'x','cronStrings':['0 0 1 1 * 2027','0 0 0 1 1 * 2028','0 0 1 1 * # new year']}", ""},
        {"{'name':'x','cronStrings':['0 0 0 0 1 1 * *']}",
         "Invalid holiday calendar x: invalid cron string \"0 0 0 0 1 1 * *\": the cron string does not have "
         "5-7 fields (column 1: \"0 0 0 0 1 1 * *\")"},
        {"{'name':'x','cronStrings':['0 1 1']}", "Invalid holiday calendar x: invalid cron string \"0 1 1\": "
                                                 "the cron string does not have 5-7 fields "
                                                 "(column 1: \"0 1 1\")"},
        {"{'name':'x','cronStrings':['@yearly']}", ""}, /* at its moment only */
        {"{'name':'x','dates':['2026-12-25T10:00','2026-12-26']}",
         "Invalid holiday calendar x: \"2026-12-25T10:00\" is not a date like 2026-12-25"},
        {"{'name':'x','days':[{'month':[{'start':13}]},{'month':[{'start':1}]}]}",
         "Invalid holiday calendar x: invalid calendar spec: Month Start 13 is not in range [1-12]"},
        {"{'name':'x','dates':['2026-12-25+01:00']}",
         "Invalid holiday calendar x: \"2026-12-25+01:00\" is not a date like 2026-12-25"},
    };
    check(validate_holidays, lines, ARRAY_LEN(lines));
}

/* Structured days are whole days; a field that says nothing is every day, month or weekday. */
TEST(holidays_of_all_kinds_exclude) {
    cleanup(sched_done) struct sched f;
    sched_init(&f);
    Rondo__HolidayCalendar *days =
        message_of(&f.c.arena, &rondo__holiday_calendar__descriptor,
                   "{'name':'h','days':[{'dayOfMonth':[{'start':2}]},{'dayOfWeek':[{'start':5}]},"
                   "{'month':[{'start':6}],'dayOfMonth':[{'start':5}]}],'cronStrings':['0 0 0 6 6 * 2022']}");
    char *names[] = {core_text(&f.c, "h"), core_text(&f.c, "gone")};
    REQUIRE(days && names[0] && names[1]);
    f.space.holiday_calendars = &days;
    f.space.n_holiday_calendars = 1;
    f.schedule->extras->holiday_calendars = names;
    f.schedule->extras->n_holiday_calendars = 1;
    sched_every(&f, f.schedule, "24h/6h");
    CHECK_INT(sched_create(&f), 0);
    CHECK_STR(sched_future(&f), "06:00 3d 06:00 6d 06:00 7d 06:00 8d 06:00 10d 06:00 11d 06:00 12d 06:00 "
                                "13d 06:00 14d 06:00");
    CHECK_STR(holidays_missing(NULL, &f.space, &f.c.arena), "");
    CHECK_STR(holidays_missing(f.schedule->extras, NULL, &f.c.arena),
              " The holiday calendar \"h\" does not exist: it excludes nothing.");
}

/* The text of an exclusion that is no calendar on the wire. */
TEST(crons_are_excluded) {
    cleanup(arena_done) struct arena a;
    struct err err = {0};
    arena_init(&a, BUDGET);
    Schedule__ScheduleSpec *spec = message_of(&a, &schedule__schedule_spec__descriptor, "{}");
    REQUIRE(spec);
    CHECK_INT(schedule_exclude_cron(&a, spec, "0 12 * * *", &err), 0);
    CHECK_INT(schedule_exclude_cron(&a, spec, "0 13 * * *", &err), 0);
    REQUIRE(!arena_failed(&a));
    CHECK_INT(spec->n_exclude_structured_calendar, 2);
    CHECK_INT(schedule_exclude_cron(&a, spec, "nonsense", &err), ERR_INVALID);
    spec->exclude_structured_calendar[0]->hour[0]->start = 99;
    CHECK_INT(schedule_exclude_cron(&a, spec, "0 14 * * *", &err), ERR_INVALID);
}

/* A client that reads a schedule and writes it back does not send the zone's data. */
TEST(zone_data_is_kept) {
    static const struct {
        const char *given;
        bool is_kept;
    } cases[] = {
        {"{}", false},
        {"{'spec':{'timezoneName':'Mine'}}", true},
        {"{'spec':{'timezoneName':'Other'}}", false},
        {"{'spec':{'timezoneName':'Mine','timezoneData':'AAAA'}}", false},
        {"{'spec':{'timezoneName':'Mine','cronString':['5 * * * *']}}", true},
        {"{'spec':{'timezoneName':'Mine','cronString':['CRON_TZ=UTC 5 * * * *']}}", false},
        {"{'spec':{'timezoneName':'Mine','cronString':['5 * * * *','TZ=UTC 5 * * * *']}}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        State__Execution st = STATE__EXECUTION__INIT;
        State__Schedule sch = STATE__SCHEDULE__INIT;
        arena_init(&a, BUDGET);
        st.schedule = &sch;
        sch.schedule = message_of(&a, &schedule__schedule__descriptor,
                                  "{'spec':{'timezoneName':'Mine','timezoneData':'VFppZg=='}}");
        const Schedule__Schedule *given = message_of(&a, &schedule__schedule__descriptor, cases[i].given);
        REQUIRE(sch.schedule && given);
        const Schedule__Schedule *kept = schedule_keep_zone(&st, given, &a);
        REQUIRE(kept);
        CHECK_INT(kept != given, cases[i].is_kept);
        if (cases[i].is_kept)
            CHECK_SLICE(pb_bytes(&kept->spec->timezone_data), STR("TZif"));
        CHECK(!schedule_keep_zone(&st, NULL, &a));
        sch.schedule->spec->timezone_data.len = 0;
        CHECK(schedule_keep_zone(&st, given, &a) == given);
    }
}

/* What comes behind a mistake is not looked at. */
TEST(the_first_mistake_counts) {
    static const char *const specs[] = {
        "'structuredCalendar':[{'month':[{'start':13}]},{'month':[{'start':1}]}]",
        "'structuredCalendar':[{'month':[{'start':13}]}],'calendar':[{'hour':'1'}]",
        "'calendar':[{'hour':'25'},{'hour':'1'}]",
        "'interval':[{'interval':'-5s'},{'interval':'5s'}]",
        "'cronString':['nonsense','* * * * *']",
        "'excludeStructuredCalendar':[{'month':[{'start':13}]},{'month':[{'start':1}]}]",
        "'excludeCalendar':[{'hour':'25'},{'hour':'1'}]",
    };
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, BUDGET);
        const char *text = arena_printf(&a, "{" ACTION ",'spec':{%s}}", specs[i]);
        REQUIRE(text);
        if (!CHECK_INT(prepare(&a, text, &err), ERR_INVALID))
            printf("# %s\n", specs[i]);
        CHECK(strstr(err.text, "Invalid schedule spec: "));
    }
    cleanup(arena_done) struct arena a;
    State__Namespace space = STATE__NAMESPACE__INIT;
    struct err err = {0};
    arena_init(&a, BUDGET);
    CHECK_INT(schedule_prepare(&a, &space, NULL, "s", NULL, &err), ERR_INVALID);
}

/* A stored calendar that makes no sense any more is told of, and the next one is not read. */
TEST(holidays_that_cannot_be_read) {
    cleanup(arena_done) struct arena a;
    State__Namespace space = STATE__NAMESPACE__INIT;
    struct cal_spec spec;
    struct err err = {0};
    arena_init(&a, BUDGET);
    Rondo__HolidayCalendar *bad =
        message_of(&a, &rondo__holiday_calendar__descriptor, "{'name':'bad','dates':['never']}");
    const Rondo__ScheduleExtras *extras =
        message_of(&a, &rondo__schedule_extras__descriptor, "{'holidayCalendars':['bad','bad']}");
    REQUIRE(bad && extras);
    space.holiday_calendars = &bad;
    space.n_holiday_calendars = 1;
    cal_spec_init(&spec, &a, STR("seed"));
    CHECK_INT(holidays_exclude(&spec, &space, extras, &err), ERR_INVALID);
    CHECK_STR(err.text, "\"never\" is not a date like 2026-12-25");
}

/* A day that stands for a text means what the text says. */
TEST(holidays_of_a_text_that_no_calendar_can_say) {
    cleanup(arena_done) struct arena a;
    struct err err = {0};
    arena_init(&a, BUDGET);
    Schedule__ScheduleSpec *spec = message_of(&a, &schedule__schedule_spec__descriptor, "{}");
    REQUIRE(spec);
    CHECK_INT(schedule_exclude_cron(&a, spec, "0 12 L * *", &err), 0);
    REQUIRE(!arena_failed(&a) && spec->n_exclude_structured_calendar == 1);
    Rondo__HolidayCalendar calendar = RONDO__HOLIDAY_CALENDAR__INIT;
    char name[] = "h";
    calendar.name = name;
    calendar.days = spec->exclude_structured_calendar;
    calendar.n_days = 1;
    CHECK_INT(holidays_validate(&calendar, &a, &err), 0);
}
