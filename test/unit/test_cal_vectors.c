/* The vectors that were read off the other implementation (numbers are those of its list), as far as they
 * concern calendars; where it departs from its own documented contract, the contract is tested. */
#include <stdio.h>

#include "cal/civil.h"
#include "cal/jitter.h"
#include "cal_fixture.h"

TEST(intervals) {
    static const struct cal_case cases[] = {
        CASE("cron @every 90m", "2022-03-23T12:53:02", "2022-03-23 13:30 15:00 16:30 18:00"),
        CASE("cron @every 90m/5m44s", "2022-03-23T12:53:02",
             "2022-03-23 13:35:44 15:05:44 16:35:44 18:05:44"),
        CASE("cron @every 90m/5m44s | cron @every 157m/22m11s", "2022-03-23T12:53:02",
             "2022-03-23 13:35:44 15:05:44 15:26:11 16:35:44 18:03:11 18:05:44 19:35:44"),
        CASE("cal hour=11,13 min=55 | cron @every 90m/7m", "2022-03-23T10:00",
             "2022-03-23 10:37 11:55 12:07 13:37 13:55 15:07"),
        CASE("cron @every 1h | start 2022-03-23T12:00:00.456", "2022-03-23T12:00:00.123", "2022-03-23 13:00"),
        CASE("cron @every 1h | start 2022-03-23T12:00:00.456", "2022-03-23T11:00", "2022-03-23 12:00"),
        CASE("cron @every 55m", "2022-06-01T00:00", "2022-06-01 00:15 01:10"),
        CASE("cron @every 15m", "2022-06-01T00:00", "2022-06-01 00:15 00:30"),
        CASE("cron @every 28d", "2022-02-16T23:59:59", "2022-02-17 00:00"),
        CASE("cron @every 28d/3d5h23m", "2022-02-17T00:00", "2022-02-20 05:23"),
        CASE("cron @every 365d", "2024-06-19T00:00", "2024-12-18 00:00"),
        CASE("cron @every 1h", "2022-06-01T10:00:00.5", "2022-06-01 11:00"),
        CASE("cron @every 1h", "2022-06-01T09:59:59.999", "2022-06-01 10:00"),
    };
    CHECK_CASES(cases);
}

TEST(calendars) {
    static const struct cal_case cases[] = {
        CASE("cal hour=5,7 min=23", "2022-03-23T03:00", "2022-03-23 05:23 07:23 2022-03-24 05:23 07:23"),
        CASE("cal hour=5,7 min=23 | cal hour=11,13 min=55", "2022-03-23T03:00",
             "2022-03-23 05:23 07:23 11:55 13:55 2022-03-24 05:23 07:23 11:55 13:55"),
        CASE("cal hour=5,7 min=23 | cron 55 11,13 * * *", "2022-03-23T03:00",
             "2022-03-23 05:23 07:23 11:55 13:55 2022-03-24 05:23 07:23 11:55 13:55"),
        CASE("cal min=17 hour=*", "2022-05-31T18:00",
             "2022-05-31 18:17 19:17 20:17 21:17 22:17 23:17 2022-06-01 00:17"),
        CASE("cal min=*/17 hour=19 dom=31", "2022-05-31T00:00",
             "2022-05-31 19:00 19:17 19:34 19:51 2022-07-31 19:00"),
        CASE("cal year=2022 month=June dom=1 hour=1", "2022-01-01T00:00", "2022-06-01 01:00 none"),
        CASE("cal min=27 hour=0/2 | cal min=28 hour=1/2", "2022-06-01T00:00",
             "2022-06-01 00:27 01:28 02:27 03:28"),
        /* 17: Pacific time, across the change to summer time */
        CASE("cal sec=55 min=55 hour=5 dow=wed-thurs dom=2/2 | zone US/Pacific", "2022-03-02T13:55:33",
             "2022-03-02 13:55:55 2022-03-10 13:55:55 2022-03-16 12:55:55"),
        CASE("cal sec=0 min=1 hour=0 dom=2 month=Jan dow=Sun | zone Europe/London", "2004-01-01T00:00:05",
             "2005-01-02 00:01"),
        CASE("cal sec=0 min=1 hour=0 dom=2 month=Jan dow=Sun | zone Europe/London", "2004-10-31T01:07:03",
             "2005-01-02 00:01"),
        CASE("cal ", "2022-03-16T12:00", "2022-03-17 00:00 2022-03-18 00:00"),
        CASE("cal  | zone US/Pacific", "2022-03-17T12:00", "2022-03-18 07:00"),
        CASE("cal min=5,9 hour=*/2", "2022-03-17T13:00", "2022-03-17 14:05 14:09 16:05"),
        CASE("cal min=5,9 hour=*/2 | zone US/Pacific", "2022-03-18T09:10", "2022-03-18 11:05 11:09 13:05"),
    };
    CHECK_CASES(cases);
}

TEST(judging) {
    struct cal_world w;
    size_t index = 0;
    cal_world_init(&w);
    int e = cal_world_make(&w, "cal sec=55 min=55 hour=5 dow=wed-thurs dom=2/2 | zone US/Pacific");
    if (CHECK_INT(e, 0)) {
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-10T13:55:55"), &index), CAL_IS_TIME);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-16T12:55:55"), &index), CAL_IS_TIME);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-16T13:55:55"), &index), CAL_NOT_ASKED);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-09T13:55:55"), &index), CAL_NOT_ASKED);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-14T12:55:55"), &index), CAL_NOT_ASKED);
    }
    e = cal_world_make(&w, "cal min=5,9 hour=*/2 | not sec=* min=* hour=* dow=sat | not sec=* min=9 hour=* | "
                           "start 2022-03-17T00:00 | end 2022-03-30T00:00");
    if (CHECK_INT(e, 0)) {
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-17T14:05"), &index), CAL_IS_TIME);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-17T14:05:33"), &index), CAL_NOT_ASKED);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-17T03:09"), &index), CAL_NOT_ASKED);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-17T14:09"), &index), CAL_EXCLUDED);
        CHECK_INT(index, 1);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-19T14:05"), &index), CAL_EXCLUDED);
        CHECK_INT(index, 0);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-16T14:05"), &index), CAL_BEFORE_START);
        CHECK_INT(cal_judge(w.cal, cal_time_of("2022-03-30T14:05"), &index), CAL_AFTER_END);
    }
    cal_world_done(&w);
}

/* Recurrences and holes are asked about, too; nothing is a time past the end of cal's own time. */
TEST(judging_recurrences) {
    static const struct {
        const char *spec, *at;
        enum cal_verdict want;
    } cases[] = {
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=DAILY;UNTIL=20260110", "2026-01-05T09:00", CAL_IS_TIME},
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=DAILY;UNTIL=20260110", "2026-01-04T09:00", CAL_NOT_ASKED},
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=DAILY;UNTIL=20260110", "2026-01-11T09:00", CAL_NOT_ASKED},
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=HOURLY;INTERVAL=5", "2026-01-05T14:00", CAL_IS_TIME},
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=HOURLY;INTERVAL=5", "2026-01-05T15:00", CAL_NOT_ASKED},
        {"cron DTSTART:20260105T090000Z RRULE:FREQ=DAILY EXDATE:20260106T090000Z", "2026-01-06T09:00",
         CAL_NOT_ASKED},
        {"cron @daily", "2100-12-31T00:00", CAL_IS_TIME},
        {"cron @daily", "2101-01-01T00:00", CAL_AFTER_END},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        size_t index;
        cal_world_init(&w);
        if (CHECK_INT(cal_world_make(&w, cases[i].spec), 0))
            CHECK_INT(cal_judge(w.cal, cal_time_of(cases[i].at), &index), cases[i].want);
        cal_world_done(&w);
    }
}

TEST(jitter_stays_within_its_limit) {
    char seed[5000] = {0};
    memset(seed, 'x', sizeof(seed) - 1);
    CHECK_INT(jitter_us(0, STR("s"), 0), 0);
    CHECK_INT(jitter_us(0, STR("s"), -5), 0);
    CHECK_INT(jitter_us(0, STR("s"), 999), 0);
    for (int64_t at_s = 0; at_s < 100; at_s++) {
        int64_t long_us = jitter_us(at_s, STR("s"), INT64_MAX), short_us = jitter_us(at_s, STR("s"), 2000);
        CHECK(long_us >= 0 && long_us < INT64_C(1000) * UINT32_MAX);
        CHECK(short_us == 0 || short_us == 1000);
    }
    /* of a seed that long only the beginning counts */
    CHECK_INT(jitter_us(7, str_of(seed), 60000000), jitter_us(7, str_bytes(seed, 4500), 60000000));
}

TEST(excludes_bounds_jitter) {
    static const struct cal_case cases[] = {
        CASE("cron @every 90m | not hour=12-14 min=* sec=* | jitter 1s", "2022-03-23T08:00",
             "2022-03-23 09:00:00.235 10:30:00.139 15:00:00.089 16:30:00.687"),
        CASE("cron @every 90m | start 2022-03-23T12:00 | jitter 1s", "2022-03-23T08:00",
             "2022-03-23 12:00:00.162 13:30:00.587 15:00:00.089"),
        CASE("cron @every 90m | end 2022-03-23T14:00 | jitter 1s", "2022-03-23T11:00",
             "2022-03-23 12:00:00.162 13:30:00.587 none"),
        CASE("cron @every 90m | jitter 24h", "2022-03-23T11:00",
             "2022-03-23 12:14:36.524 14:22:54.562 15:08:03.724"),
        CASE("cal year=2022 month=4 dom=7 hour=13 min=55", "2022-03-23T11:00", "2022-04-07 13:55 none"),
        CASE("cal year=2022 month=4 dom=7 hour=13 min=55 | jitter 1h", "2022-03-23T11:00",
             "2022-04-07 13:57:26.927 none"),
        CASE("cron @every 24h | jitter 1h", "2022-03-23T11:00", "2022-03-24 00:35:24.276"),
        CASE("cron @every 24h | jitter 1h | seed seed-1", "2022-03-23T11:00", "2022-03-24 00:06:12.519"),
        CASE("cron @every 24h | jitter 1h | seed seed-2", "2022-03-23T11:00", "2022-03-24 00:39:16.922"),
        CASE("cron @every 1h | jitter 1h | seed mynsid-myschedule", "2022-06-01T00:00",
             "2022-06-01 01:49:22.594 02:02:39.204 03:37:29.538 04:23:34.755"),
        CASE("cron @every 1h | jitter 1h | seed 11111111-2222-3333-4444-555555555555-my-schedule",
             "2024-12-31T23:59", "2025-01-01 00:03:36.983 01:26:22.230"),
        CASE("cron @every 1h | jitter 1m | seed 11111111-2222-3333-4444-555555555555-my-schedule",
             "2024-12-31T23:59", "2025-01-01 00:00:03.616 01:00:26.370"),
        CASE("cron 30 12 15 6 * | jitter 1h | seed 11111111-2222-3333-4444-555555555555-my-schedule",
             "2025-06-01T00:00", "2025-06-15 12:39:36.785"),
        CASE("cron @every 7d | not sec=* min=* hour=*", "2022-03-23T11:00", "none"),
        CASE("cal sec=* min=* hour=* | not sec=* min=* hour=*", "2022-03-23T11:00", "none"),
        CASE("cal sec=* min=* hour=* | not sec=0-58 min=* hour=*", "2022-03-23T12:00",
             "2022-03-23 12:00:59 12:01:59"),
    };
    CHECK_CASES(cases);
}

TEST(what_is_all_excluded_comes_to_an_end) {
    static const struct cal_case cases[] = {
        /* Two halves of each day; only the seconds that are asked for are looked at. */
        CASE("cal min=* hour=* | not min=* hour=0-11 | not min=* hour=12-23", "2022-03-23T11:00", "none"),
        CASE("cal min=* hour=* | not min=* hour=0-11 | not min=1-59 hour=12-23", "2022-03-23T11:00",
             "2022-03-23 12:00 13:00"),
        CASE("cal hour=9 | not hour=9,10 dom=1-30", "2022-03-23T11:00", "2022-03-31 09:00 2022-05-31 09:00"),
        /* Ticks come at any second. */
        CASE("cal hour=9 | cron @every 1h | not hour=9", "2022-03-23T08:00", "2022-03-23 10:00 11:00"),
        CASE("cal hour=9 | cron @every 1h/5s | not hour=9", "2022-03-23T08:30",
             "2022-03-23 09:00:05 10:00:05"),
        /* Exclusions that differ in one field are one exclusion. */
        CASE("cal sec=* min=* hour=* | not sec=0-58/2 min=* hour=* | not sec=1-59/2 min=* hour=*",
             "2022-03-23T11:00", "none"),
        /* These have strides and stay apart. Nothing behind the end is looked at. */
        CASE("cal sec=* min=* hour=* | notcron DTSTART:20200101T000000 RRULE:FREQ=SECONDLY;INTERVAL=2 | "
             "notcron DTSTART:20200101T000001 RRULE:FREQ=SECONDLY;INTERVAL=2",
             "2022-03-23T11:00", "limit"),
        CASE("cal sec=* min=* hour=* | notcron DTSTART:20200101T000000 RRULE:FREQ=SECONDLY;INTERVAL=2 | "
             "notcron DTSTART:20200101T000001 RRULE:FREQ=SECONDLY;INTERVAL=2 | end 2022-03-24T00:00",
             "2022-03-23T11:00", "none"),
    };
    CHECK_CASES(cases);
}

TEST(summer_time) {
    static const struct cal_case cases[] = {
        CASE("cron CRON_TZ=US/Pacific 33 33 2 * * * *", "2022-03-12T04:00",
             "2022-03-12 10:33:33 2022-03-14 09:33:33"),
        CASE("cron CRON_TZ=US/Pacific 33 33,44 1 * * * *", "2021-11-07T07:15:15",
             "2021-11-07 08:33:33 08:44:33 09:33:33 09:44:33 2021-11-08 09:33:33"),
        CASE("cron CRON_TZ=America/New_York 30 1 6 11 * 2022", "2022-11-01T00:00",
             "2022-11-06 05:30 06:30 none"),
        CASE("cron CRON_TZ=America/New_York 30 2 13 3 * 2022", "2022-03-01T00:00", "none"),
        CASE("cron CRON_TZ=Europe/Berlin 30 2 30 10 * 2022", "2022-10-01T00:00",
             "2022-10-30 00:30 01:30 none"),
        CASE("cron CRON_TZ=Europe/Berlin 30 2 27 3 * 2022", "2022-03-01T00:00", "none"),
        CASE("cron CRON_TZ=Europe/Berlin 30 1 30 10 * 2022", "2022-10-01T00:00", "2022-10-29 23:30 none"),
        CASE("cron CRON_TZ=Europe/Berlin 30 * * * *", "2022-10-29T22:30",
             "2022-10-29 23:30 2022-10-30 00:30 01:30 02:30"),
        CASE("cron CRON_TZ=Europe/London 30 1 30 10 * 2022", "2022-10-01T00:00",
             "2022-10-30 00:30 01:30 none"),
        CASE("cron CRON_TZ=Europe/London 30 0 30 10 * 2022", "2022-10-01T00:00", "2022-10-29 23:30 none"),
        CASE("cron CRON_TZ=Australia/Lord_Howe 45 1 3 4 * 2022", "2022-04-01T00:00",
             "2022-04-02 14:45 15:15 none"),
        CASE("cron CRON_TZ=Australia/Lord_Howe 15 2 2 10 * 2022", "2022-09-01T00:00", "none"),
        CASE("cron CRON_TZ=America/Havana 0 5 * * sun", "2022-03-12T12:00",
             "2022-03-13 09:00 2022-03-20 09:00"),
        CASE("cron CRON_TZ=America/Havana 0 0 13 3 * 2022", "2022-03-01T00:00", "none"),
    };
    CHECK_CASES(cases);
}

/* 39 to 67: how a field reads, seen through the calendar that it becomes. */
static void check_field(int line, const char *name, const char *text, const char *want) {
    struct cal_world w;
    struct buf got cleanup(buf_done);
    char spec[128];
    (void)snprintf(spec, sizeof(spec), "cal %s=%s", name, text);
    buf_init(&got, 4096);
    cal_world_init(&w);
    int e = cal_world_make(&w, spec);
    if (want[0] == '!') {
        test_check(e == ERR_INVALID && strstr(w.err.text, want + 1), __FILE__, line, w.err.text);
    } else if (test_check_int(e, 0, __FILE__, line, text)) {
        cal_calendar_text(&w.spec.calendars[0], &got);
        test_check_str(buf_str(&got), str_of(want), __FILE__, line, text);
    }
    cal_world_done(&w);
}

TEST(fields) {
    static const struct {
        int line;
        const char *name, *text, *want;
    } cases[] = {
        {__LINE__, "min", "13", "0 13 0 * * * *"},
        {__LINE__, "min", "133", "!Minute is not in range [0-59] (column 1: \"133\")"},
        {__LINE__, "month", "Sept", "0 0 0 * 9 * *"},
        {__LINE__, "min", "13,18", "0 13,18 0 * * * *"},
        {__LINE__, "min", "13,18,44", "0 13,18,44 0 * * * *"},
        {__LINE__, "min", "13,18,44,", "!Minute is not in range [0-59] (column 10: \"\")"},
        {__LINE__, "min", "13-18", "0 13-18 0 * * * *"},
        {__LINE__, "min", "18-13",
         "!Minute End is before Start or not in range [0-59] (column 1: \"18-13\")"},
        {__LINE__, "min", "1,3,18-13",
         "!Minute End is before Start or not in range [0-59] (column 5: \"18-13\")"},
        {__LINE__, "min", "2-5,7-9,11", "0 2-5,7-9,11 0 * * * *"},
        {__LINE__, "dom", "*", "0 0 0 * * * *"},
        {__LINE__, "hour", "*/3", "0 0 */3 * * * *"},
        {__LINE__, "month", "2/3", "0 0 0 * 2-12/3 * *"},
        {__LINE__, "min", "2/3/5", "!Minute has too many slashes (column 1: \"2/3/5\")"},
        {__LINE__, "min", "2-6/3", "0 2-6/3 0 * * * *"},
        {__LINE__, "min", "2-6/4,7-8", "0 2-6/4,7-8 0 * * * *"},
        {__LINE__, "dow", "mon-Friday", "0 0 0 * * 1-5 *"},
        {__LINE__, "dow", "Fri-Tues", "!DayOfWeek End is before Start or not in range [0-7]"},
        {__LINE__, "min", "1-5-7", "!Minute has too many dashes"},
        {__LINE__, "dow", "monday-", "!DayOfWeek End is before Start or not in range [0-7]"},
        {__LINE__, "month", "February/5", "0 0 0 * 2-12/5 * *"},
        {__LINE__, "dow", "6,7", "0 0 0 * * 6,0 *"},
        {__LINE__, "dow", "5-7", "0 0 0 * * 0,5-6 *"},
        {__LINE__, "dow", "5-7/2", "0 0 0 * * 0,5-6/2 *"},
        {__LINE__, "dow", "0-7/7", "0 0 0 * * 0,*/7 *"},
        {__LINE__, "dow", "0/7", "0 0 0 * * 0,*/7 *"},
        {__LINE__, "dow", "2/4", "0 0 0 * * 2-6/4 *"},
        {__LINE__, "dow", "2-7/5", "0 0 0 * * 0,2-6/5 *"},
        {__LINE__, "dow", "1-7", "0 0 0 * * * *"},
        {__LINE__, "hour", "1,3,5-7", "0 0 1,3,5-7 * * * *"},
        {__LINE__, "year", "2020-2022,2024,2026/3", "0 0 0 * * * 2020-2022,2024,2026-2100/3"},
        {__LINE__, "month", "29", "!Month is not in range [1-12]"},
        {__LINE__, "month", "juneuary", "!Month is not in range [1-12] (column 1: \"juneuary\")"},
        {__LINE__, "dow", "fri", "0 0 0 * * 5 *"},
        {__LINE__, "month", "August", "0 0 0 * 8 * *"},
        {__LINE__, "month", "ju", "!Month is not in range [1-12]"},
        {__LINE__, "min", "5/", "!Minute missing step value"},
        {__LINE__, "min", "5/0", "!Minute has invalid Step"},
        {__LINE__, "min", "5/x", "!Minute has a step that is not a number"},
        {__LINE__, "min", "+5", "0 5 0 * * * *"},
        {__LINE__, "min", "05", "0 5 0 * * * *"},
        {__LINE__, "min", "x-5", "!Minute Start is not in range [0-59]"},
        {__LINE__, "year", "1999", "!Year is not in range [2000-2100]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_field(cases[i].line, cases[i].name, cases[i].text, cases[i].want);
}

/* 61 to 63: which weekdays strings mean. 2022-03-20 is a Sunday. */
TEST(sundays) {
    static const char *const sunday[] = {"0",     "7",   "sun",   "*",     "0-3", "5-7",
                                         "5-7/2", "6-7", "2-7/5", "0-7/7", "0/7"};
    static const char *const saturday[] = {"*", "5-7", "6-7", "2/4", "2-7/4"};
    static const char *const not_monday[] = {"0", "7", "sun", "5-7", "5-7/2", "6-7", "2-7/5", "0-7/7", "0/7"};
    static const struct {
        const char *const *texts;
        size_t count;
        const char *day;
        enum cal_verdict want;
    } groups[] = {{sunday, ARRAY_LEN(sunday), "2022-03-20", CAL_IS_TIME},
                  {saturday, ARRAY_LEN(saturday), "2022-03-19", CAL_IS_TIME},
                  {not_monday, ARRAY_LEN(not_monday), "2022-03-21", CAL_NOT_ASKED}};
    for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
        for (size_t i = 0; i < groups[g].count; i++) {
            struct cal_world w;
            size_t index = 0;
            char spec[64];
            (void)snprintf(spec, sizeof(spec), "cal dow=%s", groups[g].texts[i]);
            cal_world_init(&w);
            if (test_check_int(cal_world_make(&w, spec), 0, __FILE__, __LINE__, spec))
                test_check_int(cal_judge(w.cal, cal_time_of(groups[g].day), &index), groups[g].want, __FILE__,
                               __LINE__, spec);
            cal_world_done(&w);
        }
    }
}

/* 68 to 75 */
TEST(cron_strings) {
    static const struct {
        int line;
        const char *text, *want;
    } cases[] = {
        {__LINE__, "cron 5,9 */2 * * *", "0 5,9 */2 * * * *"},
        {__LINE__, "cron 0 1 2 3 4 1999", "!Year is not in range [2000-2100] (column 11: \"1999\")"},
        {__LINE__, "cron CRON_TZ=US/Pacific 55 55,57 5 2/2 * wed-thurs *  # explanation",
         "55 55,57 5 2-31/2 * 3-4 * # explanation"},
        {__LINE__, "cron @monthly", "0 0 0 1 * * *"},
        {__LINE__, "cron 11 11/11 11 11 1 2011", "0 11 11-23/11 11 11 1 2011"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        struct buf got cleanup(buf_done);
        buf_init(&got, 4096);
        cal_world_init(&w);
        int e = cal_world_make(&w, cases[i].text);
        if (cases[i].want[0] == '!') {
            test_check(e == ERR_INVALID && strstr(w.err.text, cases[i].want + 1), __FILE__, cases[i].line,
                       w.err.text);
        } else if (test_check_int(e, 0, __FILE__, cases[i].line, cases[i].text)) {
            cal_calendar_text(&w.spec.calendars[0], &got);
            test_check_str(buf_str(&got), str_of(cases[i].want), __FILE__, cases[i].line, cases[i].text);
        }
        cal_world_done(&w);
    }
}

TEST(every_becomes_an_interval) {
    static const struct {
        const char *text;
        int64_t interval_s, phase_s;
    } cases[] = {
        {"cron @every 5d", 432000, 0}, {"cron @every 5h/45m", 18000, 2700}, {"cron @every 43h", 154800, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        cal_world_init(&w);
        if (CHECK_INT(cal_world_make(&w, cases[i].text), 0) && CHECK_INT(w.spec.interval_count, 1)) {
            CHECK_INT(w.spec.interval_count, 1);
            CHECK_INT(w.spec.calendar_count, 0);
            CHECK_INT(w.spec.intervals[0].interval_us, cases[i].interval_s * 1000000);
            CHECK_INT(w.spec.intervals[0].phase_us, cases[i].phase_s * 1000000);
        }
        cal_world_done(&w);
    }
}

/* 76 */
TEST(calendars_out_of_range) {
    static const struct {
        enum cal_field field;
        struct cal_range range;
    } bad[] = {
        {CAL_SECOND, {100, 0, 0}},      {CAL_SECOND, {-3, 0, 0}},     {CAL_SECOND, {30, 60, 0}},
        {CAL_SECOND, {1, 5, -3}},       {CAL_MINUTE, {60, 0, 0}},     {CAL_HOUR, {0, 24, 0}},
        {CAL_HOUR, {24, 26, 0}},        {CAL_HOUR, {16, 12, 0}},      {CAL_DAY_OF_MONTH, {0, 0, 0}},
        {CAL_DAY_OF_MONTH, {1, 33, 0}}, {CAL_MONTH, {0, 0, 0}},       {CAL_MONTH, {1, 13, 0}},
        {CAL_DAY_OF_WEEK, {7, 0, 0}},   {CAL_DAY_OF_WEEK, {6, 7, 0}}, {CAL_YEAR, {1999, 0, 0}},
        {CAL_YEAR, {2112, 0, 0}},
    };
    static const struct cal_interval bad_intervals[] = {
        {-154800000000, 0}, {10800000000, 14400000000}, {999999, 0}, {2000000, -1}, {2000000, 2000000}};
    struct cal_world w;
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct cal_calendar c = {0};
        c.fields[bad[i].field] = (struct cal_ranges){&bad[i].range, 1};
        CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), ERR_INVALID);
        CHECK_INT(cal_spec_exclude_calendar(&w.spec, &c, &w.err), ERR_INVALID);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad_intervals); i++)
        CHECK_INT(cal_spec_add_interval(&w.spec, &bad_intervals[i], &w.err), ERR_INVALID);
    char comment[CAL_COMMENT_BYTES_MAX + 1];
    memset(comment, 'x', sizeof(comment));
    struct cal_calendar long_comment = {.comment = str_bytes(comment, sizeof(comment))};
    CHECK_INT(cal_spec_add_calendar(&w.spec, &long_comment, &w.err), ERR_INVALID);
    CHECK_INT(w.spec.calendar_count + w.spec.exclude_count + w.spec.interval_count, 0);
    cal_world_done(&w);
}

/* 77 */
TEST(zones_must_agree) {
    static const struct cal_case cases[] = {
        CASE("cron 0 5 * * * | zone Europe/London", "2022-07-01T00:00", "2022-07-01 04:00"),
        CASE("cron CRON_TZ=Europe/London 0 5 * * * | zone Europe/London", "2022-07-01T00:00",
             "2022-07-01 04:00"),
        CASE("cron CRON_TZ=America/New_York 0 5 * * * | zone Europe/London", "",
             "!conflicting timezone names"),
        CASE("cron CRON_TZ=America/New_York 0 5 * * * | cron CRON_TZ=Europe/London 0 5 * * *", "",
             "!conflicting timezone names"),
        CASE("cron CRON_TZ=America/New_York 0 5 * * * | cron 0 5 * * *", "", "!conflicting timezone names"),
        CASE("cron 0 5 * * * | cron TZ=America/New_York 0 5 * * *", "", "!conflicting timezone names"),
        CASE("cron TZ=America/New_York 0 5 * * * | cron @every 12h", "2022-07-01T00:00",
             "2022-07-01 09:00 12:00 2022-07-02 00:00 09:00"),
        CASE("cron TZ=Nowhere/City 0 5 * * *", "", "!unknown time zone \"Nowhere/City\""),
        CASE("cron TZ=Europe/London", "",
             "!has a time zone but is missing fields (column 1: \"TZ=Europe/London\")"),
    };
    CHECK_CASES(cases);
}

/* 78 */
TEST(dates_of_any_year) {
    static const int64_t years[] = {INT64_C(-5000000000), -401, -1, 0, 1, 1600, 1970, 9999,
                                    INT64_C(5000000000)};
    for (size_t i = 0; i < ARRAY_LEN(years); i++)
        for (int month = 1; month <= CIVIL_YEAR_MONTHS; month++) {
            int len = civil_month_len(years[i], month);
            int64_t day = civil_day(years[i], month, len);
            struct civil_date last = civil_date_of(day), next = civil_date_of(day + 1);
            CHECK(last.year == years[i] && last.month == month && last.day == len);
            CHECK_INT(next.day, 1);
            CHECK_INT(next.month, month % CIVIL_YEAR_MONTHS + 1);
        }
}

TEST(days_in_months) {
    CHECK_INT(civil_month_len(2022, 2), 28);
    CHECK_INT(civil_month_len(2024, 2), 29);
    CHECK_INT(civil_month_len(2000, 2), 29);
    CHECK_INT(civil_month_len(2100, 2), 28);
}
