/* Cron strings, one line for each: what they give, or what is wrong with them and where. */
#include <stdio.h>

#include "cal_fixture.h"

TEST(five_six_and_seven_fields) {
    static const struct cal_case cases[] = {
        CASE("cron 30 9 * * mon-fri", "2026-01-02T09:30", "2026-01-05 09:30 2026-01-06 09:30"),
        CASE("cron 0 0 1 1 * 2030", "2026-01-01T00:00", "2030-01-01 00:00 none"),
        CASE("cron */20 59 23 31 12 * *", "2026-01-01T00:00",
             "2026-12-31 23:59 23:59:20 23:59:40 2027-12-31 23:59"),
        CASE("cron  0\t0   1 * *  ", "2026-01-01T00:00", "2026-02-01 00:00 2026-03-01 00:00"),
        CASE("cron @yearly", "2026-01-01T00:00", "2027-01-01 00:00"),
        CASE("cron @annually", "2026-01-01T00:00", "2027-01-01 00:00"),
        CASE("cron @monthly", "2026-01-01T00:00", "2026-02-01 00:00"),
        CASE("cron @weekly", "2026-01-01T00:00", "2026-01-04 00:00"),
        CASE("cron @daily", "2026-01-01T00:00", "2026-01-02 00:00"),
        CASE("cron @midnight # every night", "2026-01-01T00:00", "2026-01-02 00:00"),
        CASE("cron @hourly", "2026-01-01T00:00", "2026-01-01 01:00"),
        CASE("cron 0 0 29 2 *", "2025-01-01T00:00", "2028-02-29 00:00 2032-02-29 00:00"),
        CASE("cron 0 0 29 2 *", "2093-01-01T00:00", "2096-02-29 00:00 none"),
        CASE("cron 0 0 31 2 *", "2025-01-01T00:00", "none"),
        CASE("cron 0 0 13 * 5", "2026-01-01T00:00", "2026-02-13 00:00 2026-03-13 00:00 2026-11-13 00:00"),
        CASE("cron 59 23 31 12 * 2100", "2026-01-01T00:00", "2100-12-31 23:59 none"),
    };
    CHECK_CASES(cases);
}

TEST(days_that_ranges_cannot_say) {
    static const struct cal_case cases[] = {
        CASE("cron 0 12 L * *", "2026-01-01T00:00", "2026-01-31 12:00 2026-02-28 12:00 2026-03-31 12:00"),
        CASE("cron 0 12 L * *", "2028-02-01T00:00", "2028-02-29 12:00"),
        CASE("cron 0 12 l-3 * *", "2026-01-01T00:00", "2026-01-28 12:00 2026-02-25 12:00"),
        CASE("cron 0 12 L-30 * *", "2026-01-01T12:00", "2026-03-01 12:00 2026-05-01 12:00"),
        CASE("cron 0 12 15W * *", "2026-08-01T00:00", "2026-08-14 12:00 2026-09-15 12:00 2026-10-15 12:00"),
        CASE("cron 0 12 1W * *", "2026-08-01T00:00", "2026-08-03 12:00 2026-09-01 12:00 2026-10-01 12:00"),
        CASE("cron 0 12 31W * *", "2026-01-01T00:00", "2026-01-30 12:00 2026-03-31 12:00 2026-05-29 12:00"),
        CASE("cron 0 12 2W 5 *", "2026-01-01T00:00", "2026-05-01 12:00"),
        CASE("cron 0 12 30W 8 *", "2026-01-01T00:00", "2026-08-31 12:00"),
        CASE("cron 0 12 LW * *", "2026-01-01T00:00", "2026-01-30 12:00 2026-02-27 12:00 2026-03-31 12:00"),
        CASE("cron 0 12 1,L * *", "2026-01-15T00:00", "2026-01-31 12:00 2026-02-01 12:00 2026-02-28 12:00"),
        CASE("cron 0 12 ? * 5#2", "2026-01-01T00:00", "2026-01-09 12:00 2026-02-13 12:00 2026-03-13 12:00"),
        CASE("cron 0 12 * * fri#5", "2026-01-01T00:00", "2026-01-30 12:00 2026-05-29 12:00 2026-07-31 12:00"),
        CASE("cron 0 12 * * 5L", "2026-01-01T00:00", "2026-01-30 12:00 2026-02-27 12:00"),
        CASE("cron 0 12 * * FRIL", "2026-01-01T00:00", "2026-01-30 12:00 2026-02-27 12:00"),
        CASE("cron 0 12 * * 7#1,3#3", "2026-01-01T00:00",
             "2026-01-04 12:00 2026-01-21 12:00 2026-02-01 12:00"),
        CASE("cron 0 12 * * 1,5#2", "2026-01-01T00:00", "2026-01-05 12:00 2026-01-09 12:00 2026-01-12 12:00"),
        CASE("cron 0 12 13 * 5#2", "2026-01-01T00:00", "2026-02-13 12:00 2026-03-13 12:00 2026-11-13 12:00"),
        CASE("cron 0 12 * * ?", "2026-01-01T00:00", "2026-01-01 12:00 2026-01-02 12:00"),
        CASE("cal hour=12 dom=L", "2026-01-01T00:00", "2026-01-31 12:00 2026-02-28 12:00"),
        CASE("cron 0 * * * * | not sec=* min=* hour=* dom=L", "2026-01-30T22:30",
             "2026-01-30 23:00 2026-02-01 00:00"),
        CASE("cron @daily | notcron * * * ? * 6#1 *", "2026-01-01T12:00",
             "2026-01-02 00:00 2026-01-04 00:00"),
    };
    CHECK_CASES(cases);
}

TEST(a_hash_sign_is_a_comment_or_a_count) {
    static const struct {
        const char *text, *comment;
    } cases[] = {
        {"0 0 * * 5 # the end of the week", "the end of the week"},
        {"0 0 * * 5 #3", "3"},
        {"0 0 * * 5#note", "note"},
        {"0 0 * * *#", ""},
        {"0 0 * * *#2", "2"},
        {"0 0 * * 5#0", "0"},
        {"0 0 * * 5#23", "23"},
        {"0 0 * * 5#2x", "2x"},
        {"CRON_TZ=UTC 0 0 * * * # a # b", "a # b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        char spec[128];
        (void)snprintf(spec, sizeof(spec), "cron %s", cases[i].text);
        cal_world_init(&w);
        if (CHECK_INT(cal_world_make(&w, spec), 0))
            CHECK(str_is(w.spec.calendars[0].comment, cases[i].comment));
        cal_world_done(&w);
    }
}

#define LONG_NAME_40 "A/place/in/the/world/whose/name/nobody/h"
#define LONG_NAME_80 LONG_NAME_40 "as/ever/taken/the/trouble/to/write/down/"
#define LONG_NAME LONG_NAME_80 "in/full"

TEST(mistakes_are_named_by_column) {
    static const struct cal_case cases[] = {
        CASE("cron ", "", "!does not have 5-7 fields (column 1: \"\")"),
        CASE("cron 0 0 * *", "", "!does not have 5-7 fields (column 1: \"0 0 * *\")"),
        CASE("cron 0 0 0 * * * * *", "", "!does not have 5-7 fields"),
        CASE("cron 0 5 * * 1 /usr/bin/backup.sh --all", "",
             "!this is a line of a crontab: leave out its command"),
        CASE("cron 0 5 * * 1 root backup", "", "!what it starts is a workflow (column 11: \"root\")"),
        CASE("cron @daily /usr/bin/backup.sh", "", "!this is a line of a crontab"),
        CASE("cron 0 5 * * 1 2x26", "", "!Year is not in range"),
        CASE("cron 0 0 * juneuary *", "", "!Month is not in range [1-12] (column 7: \"juneuary\")"),
        CASE("cron 60 0 * * *", "", "!Minute is not in range [0-59] (column 1: \"60\")"),
        CASE("cron 0 24 * * *", "", "!Hour is not in range [0-23] (column 3: \"24\")"),
        CASE("cron CRON_TZ=UTC 0 24 * * *", "", "!Hour is not in range [0-23] (column 15: \"24\")"),
        CASE("cron 60 24 32 13 8", "",
             "!Minute is not in range [0-59] (column 1: \"60\"), Hour is not in range [0-23] "
             "(column 4: \"24\"), DayOfMonth is not in range [1-31] (column 7: \"32\")"),
        CASE("cron #3 0 0 * * *", "", "!does not have 5-7 fields"),
        CASE("cron 0 0 * * {#2", "", "!DayOfWeek is not in range [0-7] (column 9: \"{\")"),
        CASE("cron 0 0 L5 * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"L5\")"),
        CASE("cron 0 0 L55 * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"L55\")"),
        CASE("cron 0 0 L-x * *", "", "!DayOfMonth Start is not in range [1-31]"),
        CASE("cron 0 0 xW * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"xW\")"),
        CASE("cron 0 0 0W * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"0W\")"),
        CASE("cron 0 0 * * x#2", "", "!DayOfWeek is not in range [0-7] (column 9: \"x#2\")"),
        CASE("cal dow=fri#x", "", "!DayOfWeek is not in range [0-7] (column 1: \"fri#x\")"),
        CASE("cal dow=fri#0", "", "!DayOfWeek is not in range [0-7]"),
        CASE("cal dow=fri#6", "", "!DayOfWeek is not in range [0-7]"),
        CASE("cron 0 0 L-31 * *", "", "!DayOfMonth Start is not in range [1-31] (column 5: \"L-31\")"),
        CASE("cron 0 0 32W * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"32W\")"),
        CASE("cron 0 0 * * L", "", "!DayOfWeek has an L without a day"),
        CASE("cron 0 0 * * 8L", "", "!DayOfWeek is not in range [0-7] (column 9: \"8L\")"),
        CASE("cron 0 0 * L *", "", "!Month is not in range [1-12] (column 7: \"L\")"),
        CASE("cron ? 0 * * *", "", "!Minute is not in range [0-59] (column 1: \"?\")"),
        CASE("cron 0 0 1, 2 * *", "", "!DayOfMonth is not in range [1-31] (column 7: \"\")"),
        CASE("cron @fortnightly", "", "!a name that is none of @yearly"),
        CASE("cron @Daily", "", "!a name that is none of @yearly"),
        CASE("cron @every", "", "!is not a length of time"),
        CASE("cron @every 5", "", "!is not a length of time like 90m, 1.5d or PT15M (column 8: \"5\")"),
        CASE("cron @every 5x", "", "!is not a length of time"),
        CASE("cron @every 0.5s", "", "!interval is too small (column 8: \"0.5s\")"),
        CASE("cron @every 1h/2h", "", "!phase cannot be greater than Interval (column 11: \"2h\")"),
        CASE("cron @every 1h/-2m", "", "!phase is negative (column 11: \"-2m\")"),
        CASE("cron @every -43h", "", "!interval is too small"),
        CASE("cron @at tomorrow", "", "!@at needs a time like 2026-03-01T09:00 (column 5: \"tomorrow\")"),
        CASE("cron @at 2026-02-30T09:00", "",
             "!@at needs a time like 2026-03-01T09:00 (column 13: \"30T09:00\")"),
        CASE("cron @at 2026-00-01", "", "!@at needs a time like 2026-03-01T09:00 (column 10: \"00-01\")"),
        CASE("cron @at 2026-03-01T09:00:00.5", "",
             "!@at needs a time like 2026-03-01T09:00 (column 24: \".5\")"),
        CASE("cron @at 20260301T0x00", "", "!@at needs a time like 2026-03-01T09:00 (column 15: \"x00\")"),
        CASE("cron @at 2026-03-01 2026-03-02", "", "!@at has more than one time (column 16: \"2026-03-02\")"),
        CASE("cron 0 0 * * * H", "", "!Year cannot be spread with H (column 11: \"H\")"),
        CASE("cron 0 0 * * H(7-7)", "", "!DayOfWeek cannot be spread with H"),
        CASE("cron H/0 * * * *", "", "!Minute has invalid Step (column 3: \"0\")"),
        CASE("cron Hxy * * * *", "", "!Minute has an H that is not like H, H/10 or H(0-29)"),
        CASE("cron H(0-29 * * * *", "", "!Minute has an H that is not like H, H/10 or H(0-29)"),
        CASE("cron H(70-80) * * * *", "", "!Minute Start is not in range [0-59]"),
        CASE("cron Hx * * * *", "",
             "!Minute has an H that is not like H, H/10 or H(0-29) (column 1: \"Hx\")"),
        CASE("notcron @every 5m", "", "!cannot be excluded: only calendars and recurrences can"),
        CASE("cron 0 0 * * * | zone Europe/Berlin;missing=jump", "",
             "!\"missing=jump\" is none of missing=skip"),
        CASE("cron 0 0 * * * | zone Europe/Berlin;", "", "!\"\" is none of missing=skip"),
        CASE("cron 0 0 * * * | zone Europe/Berlin;shift", "", "!\"shift\" is none of missing=skip"),
        CASE("cron 0 0 * * * | zone Europe/Berlin;summer=no", "", "!\"summer=no\" is none of missing=skip"),
        CASE("cron 0 0 * * * | zone " LONG_NAME ";" LONG_NAME, "",
             "!time zone \"" LONG_NAME_80 "\": \"" LONG_NAME_40 "\" is none of missing=skip"),
        CASE("cron 0 0 * * * | zone " LONG_NAME, "", "!unknown time zone \"" LONG_NAME_80 "\""),
        CASE("cron CRON_TZ=" LONG_NAME " 0 0 * * * | cron CRON_TZ=" LONG_NAME "s 0 0 * * *", "",
             "!conflicting timezone names in cron strings: \"" LONG_NAME_80 "\" and \"" LONG_NAME_80 "\""),
        CASE("cron CRON_TZ=" LONG_NAME " 0 0 * * * | zone " LONG_NAME "s", "",
             "!the spec has \"" LONG_NAME_80 "\", its cron strings have \"" LONG_NAME_80 "\""),
        CASE("cron " LONG_NAME_80 " " LONG_NAME, "",
             "!invalid cron string \"" LONG_NAME_80 " A/place/in/the/worl\": "),
    };
    CHECK_CASES(cases);
}

/* These values must not change: schedules that were made with an H would move. */
TEST(spread) {
    static const struct cal_case cases[] = {
        CASE("cron H H * * * | seed one", "2026-01-01T00:00", "2026-01-01 11:46 2026-01-02 11:46"),
        CASE("cron H H * * * | seed two", "2026-01-01T00:00", "2026-01-01 08:54 2026-01-02 08:54"),
        CASE("cron H/15 3 * * * | seed one", "2026-01-01T00:00", "2026-01-01 03:01 03:16 03:31 03:46"),
        CASE("cron H(0-29)/10 3 * * * | seed one", "2026-01-01T00:00",
             "2026-01-01 03:06 03:16 03:26 2026-01-02 03:06"),
        CASE("cron 0 0 H * * | seed one", "2026-01-01T00:00", "2026-01-16 00:00 2026-02-16 00:00"),
        CASE("cron h h * * * | seed one", "2026-01-01T00:00", "2026-01-01 11:46 2026-01-02 11:46"),
        CASE("cron H/100 h * * * | seed one", "2026-01-01T00:00", "2026-01-01 11:46 2026-01-02 11:46"),
        CASE("cron 0 0 * * H(5-7) | seed one", "2026-01-01T00:00", "2026-01-03 00:00 2026-01-10 00:00"),
    };
    CHECK_CASES(cases);
}

TEST(dbos) {
    static const struct cal_case cases[] = {
        CASE("dbos 10-19/2 * * * *", "2026-01-01T00:00", "2026-01-01 00:10 00:12 00:14 00:16 00:18 01:10"),
        CASE("dbos 11-19/5 * * * *", "2026-01-01T00:00", "2026-01-01 00:15 01:15"),
        CASE("cron 11-19/5 * * * *", "2026-01-01T00:00", "2026-01-01 00:11 00:16 01:11"),
        CASE("cron @dbos 11-19/5 * * * *", "2026-01-01T00:00", "2026-01-01 00:15 01:15"),
        CASE("dbos */15 30 4 * * *", "2026-01-01T00:00", "2026-01-01 04:30 04:30:15 04:30:30 04:30:45"),
        CASE("dbos 1,2,4-9/2 0 0 1 1 *", "2026-01-01T00:00",
             "2026-01-01 00:00:02 00:00:04 00:00:06 00:00:08 2027-01-01 00:00:02"),
        CASE("dbos 0 0 13 * Friday", "2026-01-01T00:00", "2026-02-13 00:00 2026-03-13 00:00"),
        CASE("dbos 0 0 1 JAN,Feb 7", "2026-01-01T00:00", "2026-02-01 00:00 2032-02-01 00:00"),
        CASE("dbos */59 * * * *", "2026-01-01T00:00", "2026-01-01 00:59 01:00 01:59"),
        CASE("dbos */60 * * * *", "",
             "!Minute has a divisor that is not between 2 and 59 (column 1: \"*/60\")"),
        CASE("dbos */1 * * * *", "",
             "!Minute has a divisor that is not between 2 and 59 (column 1: \"*/1\")"),
        CASE("dbos */60 * * * * *", "",
             "!Second has a divisor that is not between 2 and 59 (column 1: \"*/60\")"),
        CASE("dbos 0 */24 * * *", "",
             "!Hour has a divisor that is not between 2 and 23 (column 3: \"*/24\")"),
        CASE("dbos 0 0 */32 * *", "",
             "!DayOfMonth has a divisor that is not between 2 and 31 (column 5: \"*/32\")"),
        CASE("dbos 0 0 * */13 *", "",
             "!Month has a divisor that is not between 2 and 12 (column 7: \"*/13\")"),
        CASE("dbos 0 0 * * */8", "",
             "!DayOfWeek has a divisor that is not between 2 and 7 (column 9: \"*/8\")"),
        CASE("dbos 0 0 * *", "", "!a DBOS crontab does not have 5 or 6 fields"),
        CASE("dbos 0 0 0 * * * *", "", "!a DBOS crontab does not have 5 or 6 fields"),
        CASE("dbos 1-4/7 0 * * *", "", "!Minute has no value that 7 divides (column 1: \"1-4/7\")"),
        CASE("dbos */0 0 * * *", "", "!Minute has invalid Step (column 3: \"0\")"),
        CASE("dbos 0 0 L * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"L\")"),
    };
    CHECK_CASES(cases);
}

TEST(bounds) {
    static const struct cal_case cases[] = {
        CASE("cron @daily | start 2026-03-01T00:00 | end 2026-03-03T00:00", "2026-01-01T00:00",
             "2026-03-01 00:00 2026-03-02 00:00 2026-03-03 00:00 none"),
        CASE("cron @daily | end 2026-03-02T23:59:59.999", "2026-03-01T00:00", "2026-03-02 00:00 none"),
        CASE("cron @daily", "1960-01-01T00:00", "1970-01-01 00:00"),
        CASE("cron @daily | start 1960-02-01T00:00", "1960-01-01T00:00", "1960-02-01 00:00"),
        CASE("cron @every 1h", "1960-01-01T00:00", "1970-01-01 00:00 01:00"),
        CASE("cron 0 0 29 2 * | zone ;missing=shift | cron CRON_TZ=UTC 0 0 1 1 *", "",
             "!conflicting timezone names in cron strings"),
        CASE("cron CRON_TZ=UTC 0 0 1 1 * | zone ;missing=shift", "2026-01-01T00:00", "2027-01-01 00:00"),
        CASE("cron @every 1h", "2100-12-31T22:30", "2100-12-31 23:00 none"),
        CASE("cron @hourly", "2100-12-31T22:30", "2100-12-31 23:00 none"),
        CASE("cron CRON_TZ=Asia/Tokyo 0 * * * *", "2100-12-31T13:30", "2100-12-31 14:00 none"),
        CASE("cron CRON_TZ=America/New_York 0 * * * *", "2100-12-31T22:30", "2100-12-31 23:00 none"),
    };
    CHECK_CASES(cases);
}

/* A field without values matches nothing, and what asks about it must know. */
TEST(an_empty_spec_never_comes) {
    CHECK_TIMES("zone UTC", "2026-01-01T00:00", "none");
    static const struct cal_range five[] = {{5, 0, 0}};
    for (int missing = CAL_SECOND; missing <= CAL_HOUR; missing++) {
        struct cal_world w;
        struct cal_time t;
        size_t index;
        struct cal_calendar c = {.fields = {[CAL_DAY_OF_MONTH] = {five, 1}, [CAL_MONTH] = {five, 1}}};
        for (int f = CAL_SECOND; f <= CAL_HOUR; f++)
            c.fields[f] = f == missing ? (struct cal_ranges){0} : (struct cal_ranges){five, 1};
        cal_world_init(&w);
        cal_spec_init(&w.spec, &w.arena, STR(""));
        CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), 0);
        if (CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &w.err), 0)) {
            CHECK_INT(cal_next(w.cal, STR(""), 0, &t), CAL_NONE);
            CHECK_INT(cal_judge(w.cal, cal_time_of("2026-05-05T05:05:05"), &index), CAL_NOT_ASKED);
        }
        cal_world_done(&w);
    }
}

/* The first second that counts may lie as far back as a number can say. */
TEST(a_start_long_ago) {
    struct cal_world w;
    struct cal_time t;
    cal_world_init(&w);
    if (CHECK_INT(cal_world_make(&w, "cron @every 1h"), 0)) {
        w.cal = cal_free(w.cal);
        w.spec.start_us = INT64_MIN + 1;
        if (CHECK_INT(cal_new(&w.spec, &w.zones, &w.cal, &w.err), 0) &&
            CHECK_INT(cal_next(w.cal, STR(""), INT64_MIN + 1, &t), CAL_FOUND))
            CHECK_INT(t.nominal_s, INT64_C(-99999997200)); /* the first whole hour of cal's own time */
    }
    cal_world_done(&w);
}

TEST(a_text_that_is_too_long_is_refused) {
    struct cal_world w;
    char text[CAL_TEXT_BYTES_MAX + 2] = {0};
    memset(text, '0', sizeof(text) - 1);
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    struct cal_strings strings = {.fields = {[CAL_HOUR] = str_of(text)}};
    CHECK_INT(cal_spec_add_cron(&w.spec, str_of(text), &w.err), ERR_INVALID);
    CHECK_STR(w.err.text, "a cron string is longer than 4096 bytes");
    CHECK_INT(cal_spec_add_strings(&w.spec, &strings, &w.err), ERR_INVALID);
    CHECK_STR(w.err.text, "invalid calendar spec: Hour is too long or not UTF-8 (column 1: \"\")");
    strings.fields[CAL_HOUR] = STR("\xff");
    CHECK_INT(cal_spec_add_strings(&w.spec, &strings, &w.err), ERR_INVALID);
    CHECK_STR(w.err.text, "invalid calendar spec: Hour is too long or not UTF-8 (column 1: \"\")");
    cal_world_done(&w);
}

/* The text of an error has its end; what does not fit any more is left out. */
TEST(many_mistakes_are_as_many_as_fit) {
    struct cal_world w;
    cal_world_init(&w);
    CHECK_INT(cal_world_make(&w, "cron " LONG_NAME " " LONG_NAME " " LONG_NAME " " LONG_NAME " " LONG_NAME
                                 " " LONG_NAME " " LONG_NAME),
              ERR_INVALID);
    CHECK(strstr(w.err.text, "Second has too many slashes (column 1: \"" LONG_NAME_40 "\")"));
    CHECK_INT(strlen(w.err.text), ERR_TEXT_MAX - 1);
    cal_world_done(&w);
}

/* It once went on with a list that had never been made. */
TEST(cron_field_with_too_many_values) {
    struct cal_world w;
    char text[2 * (CAL_RANGES_MAX / 2) + 32];
    size_t n = 0;
    for (int i = 0; i < CAL_RANGES_MAX / 2; i++, n += 2)
        memcpy(text + n, "0,", 2);
    memcpy(text + n, "0 * * * *", sizeof "0 * * * *");
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, w.seed);
    CHECK_INT(cal_spec_add_cron(&w.spec, str_of(text), &w.err), ERR_INVALID);
    CHECK(strstr(w.err.text, "has more than") != NULL);
    cal_world_done(&w);
}
