/* The older cron dialect, with the wait from one run to the next. */
#include "base/clock.h"
#include "cal/classic.h"
#include "cal/civil.h"
#include "cal_fixture.h"

struct backoff_case {
    int line;
    const char *text, *basis, *now;
    int64_t want_s; /* -1: no time follows */
};

static void check_backoff(const struct backoff_case *k) {
    struct cal_world w;
    struct classic *c cleanup(classic_freep) = NULL;
    cal_world_init(&w);
    int e = classic_new(str_of(k->text), &w.zones, &c, &w.err);
    if (test_check_int(e, 0, __FILE__, k->line, k->text)) {
        int64_t us =
            classic_backoff_us(c, cal_time_of(k->basis) * USEC_PER_SEC, cal_time_of(k->now) * USEC_PER_SEC);
        test_check_int(us, k->want_s < 0 ? -1 : k->want_s * USEC_PER_SEC, __FILE__, k->line, k->text);
    }
    cal_world_done(&w);
}

TEST(backoff) {
    static const struct backoff_case cases[] = {
        {__LINE__, "0 10 * * *", "2018-12-17T08:00:00-08:00", "2018-12-17T08:00:00-08:00", 18 * 3600},
        {__LINE__, "0 10 * * *", "2018-12-18T02:00:00-08:00", "2018-12-18T02:00:00-08:00", 24 * 3600},
        {__LINE__, "0 * * * *", "2018-12-17T08:08:00Z", "2018-12-17T08:08:00Z", 52 * 60},
        {__LINE__, "0 * * * *", "2018-12-17T09:00:00Z", "2018-12-17T09:00:00Z", 3600},
        {__LINE__, "* * * * *", "2018-12-17T08:08:18Z", "2018-12-17T08:08:18Z", 42},
        {__LINE__, "0 10 * * *", "2018-12-17T08:00:00Z", "2018-12-20T00:00:00Z", 10 * 3600},
        {__LINE__, "0 10 * * *", "2018-12-17T08:00:00Z", "2018-12-17T09:00:00Z", 3600},
        {__LINE__, "*/10 * * * *", "2018-12-17T00:04:00Z", "2018-12-17T01:02:00Z", 8 * 60},
        {__LINE__, "@every 5h", "2018-12-17T08:00:00Z", "2018-12-17T09:00:00Z", 4 * 3600},
        {__LINE__, "@every 5h", "2018-12-17T08:00:00Z", "2018-12-18T00:00:00Z", 4 * 3600},
        {__LINE__, "0 3 * * 0-6", "2018-12-17T08:00:00-08:00", "2018-12-17T08:00:00-08:00", 11 * 3600},
        {__LINE__, "@every 30s", "2020-07-17T09:00:02-01:00", "2020-07-17T09:00:02-01:00", 30},
        {__LINE__, "@every 30s", "2020-07-17T09:00:02-01:00", "2020-09-17T03:00:53-01:00", 9},
        {__LINE__, "@every 30m", "2020-07-17T09:00:00-01:00", "2020-07-17T08:45:00-01:00", 15 * 60},
        {__LINE__, "CRON_TZ=America/New_York 5 16 * * *", "2021-03-14T00:00:00-04:00",
         "2021-03-14T15:05:00-04:00", 3600},
        {__LINE__, "CRON_TZ=America/New_York 5 4 * * *", "2021-11-25T00:00:00-05:00",
         "2021-11-25T03:05:00-05:00", 3600},
        {__LINE__, "0 0 31 2 *", "2021-11-25T00:00:00Z", "2021-11-25T00:00:00Z", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_backoff(&cases[i]);
}

TEST(backoff_is_rounded_up) {
    struct classic *c cleanup(classic_freep) = NULL;
    REQUIRE(classic_new(STR("* * * * *"), NULL, &c, NULL) == 0);
    CHECK_INT(classic_backoff_us(c, 0, 30 * USEC_PER_SEC + 1), 30 * USEC_PER_SEC);
    CHECK_INT(classic_backoff_us(c, 0, 59 * USEC_PER_SEC + 999999), USEC_PER_SEC);
    CHECK_INT(classic_backoff_us(c, 0, 60 * USEC_PER_SEC), 0);
}

struct next_case {
    int line;
    const char *text, *after, *want; /* "!" before part of an error, "none" */
};

static void check_next(const struct next_case *k) {
    struct cal_world w;
    struct classic *c cleanup(classic_freep) = NULL;
    int64_t got_s = 0;
    char text[CIVIL_TEXT_MAX] = "none";
    cal_world_init(&w);
    int e = classic_new(str_of(k->text), &w.zones, &c, &w.err);
    if (k->want[0] == '!') {
        test_check(e == ERR_INVALID && strstr(w.err.text, k->want + 1), __FILE__, k->line, w.err.text);
    } else if (test_check_int(e, 0, __FILE__, k->line, k->text)) {
        if (classic_next(c, cal_time_of(k->after), &got_s))
            civil_format(got_s, "", text);
        test_check_str(str_of(text), str_of(k->want), __FILE__, k->line, k->text);
    }
    cal_world_done(&w);
}

#define NAME_80 "A/place/in/the/world/whose/name/nobody/has/ever/taken/the/trouble/to/write/down/"

TEST(dialect) {
    static const struct next_case cases[] = {
        /* either day is enough when both are restricted; 2026-01-02 is a Friday */
        {__LINE__, "0 0 13 * 5", "2026-01-01T00:00", "2026-01-02T00:00:00"},
        {__LINE__, "0 0 13 * 5", "2026-01-09T00:00", "2026-01-13T00:00:00"},
        {__LINE__, "0 0 13 * *", "2026-01-01T00:00", "2026-01-13T00:00:00"},
        {__LINE__, "0 0 ? * 5", "2026-01-02T00:00", "2026-01-09T00:00:00"},
        {__LINE__, "0 0 */2 * 5", "2026-01-03T00:00", "2026-01-05T00:00:00"},
        {__LINE__, "0 0 */1 * 5", "2026-01-03T00:00", "2026-01-09T00:00:00"},
        {__LINE__, "0 0 * jan-feb MON", "2026-02-23T00:00", "2027-01-04T00:00:00"},
        {__LINE__, "5/20 * * * *", "2026-01-01T00:06", "2026-01-01T00:25:00"},
        {__LINE__, "@daily", "2026-01-01T00:00", "2026-01-02T00:00:00"},
        {__LINE__, "@every 1h30m", "2026-01-01T00:00", "2026-01-01T01:30:00"},
        {__LINE__, "@every 10ms", "2026-01-01T00:00", "2026-01-01T00:00:01"},
        {__LINE__, "TZ=Europe/Berlin 30 2 * * *", "2022-03-26T12:00", "2022-03-28T00:30:00"},
        {__LINE__, "0 0 29 2 *", "2096-03-01T00:00", "none"},
        {__LINE__, "0 0 29 2 *", "2025-01-01T00:00", "2028-02-29T00:00:00"},
        {__LINE__, "0 0 29 2 *", "1896-03-01T00:00", "none"}, /* 1900 was no leap year, and 1904 is too far */
        {__LINE__, "TZ=UTC 0 0 1,,3 * *", "2026-01-01T00:00", "2026-01-03T00:00:00"},
        {__LINE__, "-5 * * * *", "", "!Minute is not in range [0-59] (column 1: \"-5\")"},
        {__LINE__, "0 0 0 * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"0\")"},
        {__LINE__, "*/x * * * *", "", "!Minute has a step that is not a positive number (column 3: \"x\")"},
        {__LINE__, "TZ=UTC", "", "!the string has a time zone but is missing fields"},
        {__LINE__, "TZ=" NAME_80 "and/more 0 0 * * *", "", "!unknown time zone \"" NAME_80 "\""},
        {__LINE__, NAME_80 "12345678901234567890 5 * *", "",
         "!invalid CronSchedule \"" NAME_80 "12345678901234567890\": the cron string does not have 5 fields"},
        {__LINE__, "0 0 * * 7", "", "!DayOfWeek is not in range [0-6] (column 9: \"7\")"},
        {__LINE__, "0 0 * * sunday", "", "!DayOfWeek is not in range [0-6]"},
        {__LINE__, "0 0 0 * * *", "", "!the cron string does not have 5 fields"},
        {__LINE__, "0 0 L * *", "", "!DayOfMonth is not in range [1-31] (column 5: \"L\")"},
        {__LINE__, "0 0 1 * * # no", "", "!the cron string does not have 5 fields"},
        {__LINE__, "0 5 * * 1 /usr/bin/backup.sh", "", "!this is a line of a crontab: leave out its command"},
        {__LINE__, "@hourly run-parts /etc/cron.hourly", "", "!this is a line of a crontab"},
        {__LINE__, "@every 1d", "", "!@every is not followed by a length of time"},
        {__LINE__, "@reboot", "", "!a name that is not known (column 1: \"@reboot\")"},
        {__LINE__, "invalid-cron-spec", "", "!the cron string does not have 5 fields"},
        {__LINE__, "TZ=Nowhere 0 0 * * *", "", "!unknown time zone \"Nowhere\""},
        {__LINE__, "*/0 * * * *", "", "!Minute has a step that is not a positive number (column 3: \"0\")"},
        {__LINE__, "30-10 * * * *", "", "!Minute End is before Start or not in range [0-59]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_next(&cases[i]);
}

TEST(a_classic_text_has_a_largest_length) {
    struct classic *c = NULL;
    struct err e = {0};
    char text[CAL_TEXT_BYTES_MAX + 2] = {0};
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, "* * * * *", strlen("* * * * *"));
    int r = classic_new(str_bytes(text, CAL_TEXT_BYTES_MAX), NULL, &c, &e);
    CHECK_INT(r, 0);
    c = classic_free(c);
    CHECK_INT(classic_new(str_of(text), NULL, &c, &e), ERR_INVALID);
    CHECK_STR(e.text, "invalid CronSchedule: it is too long or not UTF-8");
    CHECK_INT(classic_new(STR("TZ=Europe/Berlin * * * * *"), NULL, &c, &e), ERR_INVALID);
    CHECK_STR(e.text, "invalid CronSchedule: unknown time zone \"Europe/Berlin\"");
}
