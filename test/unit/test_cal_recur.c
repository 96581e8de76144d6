/* Recurrences: RRULE with its exceptions, ISO 8601 repeating intervals, "every N from", single times. */
#include "cal/compile.h"
#include "cal/duration.h"
#include "cal/recur.h"
#include "cal_fixture.h"

#define START "DTSTART:20260105T090000Z " /* a Monday */

TEST(frequencies) {
    static const struct cal_case cases[] = {
        CASE("cron " START "RRULE:FREQ=DAILY", "2026-01-01T00:00", "2026-01-05 09:00 2026-01-06 09:00"),
        CASE("cron " START "RRULE:FREQ=DAILY;INTERVAL=10", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-15 09:00 2026-01-25 09:00"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-09 09:00 2026-01-19 09:00 2026-01-23 09:00"),
        CASE("cron " START "RRULE:FREQ=WEEKLY", "2026-01-01T00:00", "2026-01-05 09:00 2026-01-12 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY", "2026-01-01T00:00", "2026-01-05 09:00 2026-02-05 09:00"),
        CASE("cron DTSTART:20260131T090000Z RRULE:FREQ=MONTHLY", "2026-01-01T00:00",
             "2026-01-31 09:00 2026-03-31 09:00 2026-05-31 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY", "2026-01-01T00:00", "2026-01-05 09:00 2027-01-05 09:00"),
        CASE("cron DTSTART:20240229T090000Z RRULE:FREQ=YEARLY", "2024-01-01T00:00",
             "2024-02-29 09:00 2028-02-29 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;INTERVAL=2", "2026-01-01T00:00",
             "2026-01-05 09:00 2028-01-05 09:00 2030-01-05 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;INTERVAL=3;BYMONTH=6,7", "2026-01-01T00:00",
             "2026-06-05 09:00 2026-07-05 09:00 2029-06-05 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=31", "2026-01-01T00:00",
             "2026-01-31 09:00 2026-03-31 09:00 2026-05-31 09:00"),
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=5", "2026-01-01T00:00",
             "2026-01-05 09:00 14:00 19:00 2026-01-06 00:00 05:00"),
        CASE("cron " START "RRULE:FREQ=MINUTELY;INTERVAL=500", "2026-01-01T00:00",
             "2026-01-05 09:00 17:20 2026-01-06 01:40"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=100000", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 12:46:40"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=7;BYSECOND=51", "2026-01-01T00:00",
             "2026-01-05 09:03:51 09:10:51"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=4;BYSECOND=51,31", "2026-01-01T00:00", "none"),
        CASE("cron " START "RRULE:FREQ=MINUTELY;INTERVAL=90;BYMINUTE=0,30;BYHOUR=9", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00"),
        CASE("cron " START "RRULE:FREQ=MINUTELY;INTERVAL=90;BYMINUTE=10", "2026-01-01T00:00", "none"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=90000000", "2026-01-01T00:00",
             "2026-01-05 09:00 2028-11-12 01:00"),
    };
    CHECK_CASES(cases);
}

/* A stride that takes whole weeks to come around meets a time of day always on the same weekdays. */
TEST(strides_and_weekdays) {
    static const struct cal_case cases[] = {
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=7;BYHOUR=9;BYDAY=MO", "2026-01-06T00:00",
             "2026-01-12 09:00 2026-01-19 09:00"),
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=7;BYHOUR=9;BYDAY=TU", "2026-01-01T00:00", "none"),
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=7;BYHOUR=9,12;BYDAY=TU,SU", "2026-01-01T00:00",
             "2026-01-11 12:00 2026-01-18 12:00"),
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=5;BYHOUR=9;BYDAY=TU", "2026-01-01T00:00",
             "2026-01-20 09:00 2026-02-24 09:00"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=7;BYHOUR=9,16;BYMINUTE=0,7;BYSECOND=0,7;BYDAY=WE",
             "2026-01-01T00:00", "none"),
    };
    CHECK_CASES(cases);
    /* What never comes is known before it is searched for. */
    struct cal_world w;
    cal_world_init(&w);
    CHECK_INT(cal_world_make(&w, cases[1].spec), 0);
    CHECK(w.cal && w.cal->rules[0].first_tod == -1);
    cal_world_done(&w);
}

TEST(parts) {
    static const struct cal_case cases[] = {
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYMONTHDAY=-1", "2026-01-01T00:00",
             "2026-01-31 09:00 2026-02-28 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=2TU,-1FR", "2026-01-01T00:00",
             "2026-01-13 09:00 2026-01-30 09:00 2026-02-10 09:00 2026-02-27 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "2026-01-01T00:00",
             "2026-02-13 09:00 2026-03-13 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "2026-01-01T00:00",
             "2026-01-30 09:00 2026-02-27 09:00 2026-03-31 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=MO;BYHOUR=6,18;BYSETPOS=2,-1", "2026-01-06T00:00",
             "2026-01-26 18:00 2026-02-02 18:00 2026-02-23 18:00"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2", "2026-01-01T00:00",
             "2026-01-07 09:00 2026-01-14 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYDAY=20MO", "2026-01-01T00:00",
             "2026-05-18 09:00 2027-05-17 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=1TH", "2026-01-01T00:00",
             "2026-11-05 09:00 2027-11-04 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "2026-01-01T00:00",
             "2026-05-11 09:00 2027-05-17 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYWEEKNO=20", "2026-01-01T00:00",
             "2026-05-11 09:00 2027-05-17 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYWEEKNO=53;BYDAY=SA", "2026-06-01T00:00",
             "2027-01-02 09:00 2033-01-01 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYYEARDAY=1,100,-1", "2026-01-01T00:00",
             "2026-04-10 09:00 2026-12-31 09:00 2027-01-01 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYMONTHDAY=15", "2026-01-01T00:00",
             "2026-01-15 09:00 2026-02-15 09:00"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30", "2026-01-01T00:00",
             "2026-01-05 09:00 09:30 17:00 17:30"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSETPOS=-1", "2026-01-01T00:00",
             "2026-01-05 17:30 2026-01-06 17:30"),
        CASE("cron " START "RRULE:FREQ=HOURLY;BYMINUTE=10,20,50;BYSETPOS=1,-1", "2026-01-01T00:00",
             "2026-01-05 09:10 09:50 10:10"),
        CASE("cron " START "RRULE:FREQ=MINUTELY;BYSECOND=5,6,7;BYSETPOS=2", "2026-01-01T00:00",
             "2026-01-05 09:00:06 09:01:06"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYDAY=53TH", "2026-01-01T00:00",
             "2026-12-31 09:00 2032-12-30 09:00 2037-12-31 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYWEEKNO=-1;BYDAY=TU", "2026-01-01T00:00",
             "2026-12-29 09:00 2027-12-28 09:00 2028-12-26 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYWEEKNO=-1", "2026-01-01T00:00",
             "2026-12-28 09:00 2027-12-27 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=6MO,1TU,-6FR", "2026-01-01T00:00",
             "2026-01-06 09:00 2026-02-03 09:00 2026-03-03 09:00"),
        CASE("cron " START "RRULE:FREQ=HOURLY;BYYEARDAY=100", "2026-01-01T00:00",
             "2026-04-10 00:00 01:00 02:00"),
        CASE("cron DTSTART:19970805T090000Z RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
             "1997-01-01T00:00", "1997-08-05 09:00 1997-08-10 09:00 1997-08-19 09:00 1997-08-24 09:00 none"),
        CASE("cron DTSTART:19970805T090000Z RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
             "1997-01-01T00:00", "1997-08-05 09:00 1997-08-17 09:00 1997-08-19 09:00 1997-08-31 09:00 none"),
    };
    CHECK_CASES(cases);
}

TEST(positions) {
    static const struct cal_case cases[] = {
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=FR;BYSETPOS=5", "2026-01-01T00:00",
             "2026-01-30 09:00 2026-05-29 09:00 2026-07-31 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-5", "2026-01-01T00:00",
             "2026-05-01 09:00 2026-07-03 09:00 2026-10-02 09:00"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYMONTHDAY=31;BYDAY=SA;BYSETPOS=1", "2026-01-01T00:00",
             "2026-01-31 09:00 2026-10-31 09:00 2027-07-31 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYDAY=MO;BYSETPOS=10", "2026-01-01T00:00",
             "2026-03-09 09:00 2027-03-08 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYDAY=MO;BYSETPOS=-10", "2026-01-01T00:00",
             "2026-10-26 09:00 2027-10-25 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYMONTH=3,6;BYDAY=MO;BYSETPOS=7", "2026-01-01T00:00",
             "2026-06-08 09:00 2027-06-14 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYMONTH=3,6;BYDAY=MO;BYSETPOS=-7", "2026-01-01T00:00",
             "2026-03-23 09:00 2027-03-15 09:00"),
        CASE("cron " START "RRULE:FREQ=YEARLY;BYYEARDAY=60,61;BYSETPOS=-1", "2026-01-01T00:00",
             "2026-03-02 09:00 2027-03-02 09:00 2028-03-01 09:00"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;BYMONTH=1;BYDAY=MO,SU;BYSETPOS=1", "2026-01-20T00:00",
             "2026-01-26 09:00 2027-01-03 09:00 2027-01-04 09:00"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;BYSETPOS=1", "2026-01-01T00:00",
             "2026-01-05 09:00 09:00:01 09:00:02"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;BYSETPOS=2", "2026-01-01T00:00", "none"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYSETPOS=2;COUNT=3", "2026-01-01T00:00", "none"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=-1,1;COUNT=5", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-26 09:00 2026-02-02 09:00 2026-02-23 09:00 2026-03-02 09:00 none"),
    };
    CHECK_CASES(cases);
}

TEST(ends_and_exceptions) {
    static const struct cal_case cases[] = {
        CASE("cron " START "RRULE:FREQ=YEARLY;COUNT=80", "2098-06-01T00:00",
             "2099-01-05 09:00 2100-01-05 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY;COUNT=3 EXDATE:20260107T090000Z", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY EXDATE;VALUE=DATE:20260106,20260106 "
             "EXDATE;VALUE=DATE-TIME:20260106T090000Z",
             "2026-01-01T00:00", "2026-01-05 09:00 2026-01-07 09:00"),
        CASE("cron DTSTART;TZID=UTC:20260105T090000Z RRULE:FREQ=DAILY", "2026-01-01T00:00",
             "2026-01-05 09:00"),
        CASE("cron CRON_TZ=Europe/Berlin DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=DAILY "
             "EXDATE;TZID=Europe/Berlin:20260106T090000",
             "2026-01-01T00:00", "2026-01-05 08:00 2026-01-07 08:00"),
        CASE("cron @hourly | notcron DTSTART:20260105T000000 "
             "RRULE:FREQ=HOURLY;INTERVAL=2;UNTIL=20260105T040000",
             "2026-01-04T22:30", "2026-01-04 23:00 2026-01-05 01:00 03:00 05:00 06:00"),
        CASE("cron @hourly | notcron DTSTART:20260105T000000 RRULE:FREQ=HOURLY EXDATE:20260105T030000",
             "2026-01-04T22:30", "2026-01-04 23:00 2026-01-05 03:00"),
        CASE("cal sec=* min=* hour=* | notcron DTSTART:20260105T000000 "
             "RRULE:FREQ=SECONDLY;UNTIL=20260105T040000",
             "2026-01-04T23:59:58", "2026-01-04 23:59:59 2026-01-05 04:00:01"),
        CASE("cron " START "RRULE:FREQ=DAILY;COUNT=3", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00 2026-01-07 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY;COUNT=3 EXDATE:20260106T090000Z", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-07 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY;UNTIL=20260106T090000Z", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY;UNTIL=20260106T085959Z", "2026-01-01T00:00",
             "2026-01-05 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY;UNTIL=20260106", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00 none"),
        CASE("cron " START "RRULE:FREQ=DAILY EXDATE;VALUE=DATE:20260106,20260107 EXDATE:20260108T090000Z",
             "2026-01-01T00:00", "2026-01-05 09:00 2026-01-09 09:00"),
        CASE("cron " START "RRULE:FREQ=HOURLY EXDATE;VALUE=DATE:20260106", "2026-01-05T22:30",
             "2026-01-05 23:00 2026-01-07 00:00"),
        CASE("cron " START "RRULE:FREQ=WEEKLY RDATE:20260107T120000Z", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-07 12:00 2026-01-12 09:00"),
        CASE("cron RDATE:20260107T120000Z,20260109T120000Z EXDATE:20260109T120000Z", "2026-01-01T00:00",
             "2026-01-07 12:00 none"),
        CASE("cron DTSTART;TZID=Europe/Berlin:20260327T023000 RRULE:FREQ=DAILY;COUNT=4", "2026-01-01T00:00",
             "2026-03-27 01:30 2026-03-28 01:30 2026-03-30 00:30 none"),
        CASE("cron DTSTART;TZID=Europe/Berlin:20260327T023000 RRULE:FREQ=DAILY;COUNT=4 | zone "
             "Europe/Berlin;missing=shift",
             "2026-01-01T00:00", "2026-03-27 01:30 2026-03-28 01:30 2026-03-29 01:30 2026-03-30 00:30 none"),
        CASE("cron RRULE:FREQ=DAILY;INTERVAL=3 | start 2026-01-05T09:00", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-08 09:00"),
        CASE("cron FREQ=DAILY;INTERVAL=3 | start 2026-01-05T09:00", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-08 09:00"),
        CASE("cron @daily | notcron DTSTART:20260105T000000 RRULE:FREQ=DAILY;INTERVAL=2", "2026-01-04T12:00",
             "2026-01-06 00:00 2026-01-08 00:00"),
    };
    CHECK_CASES(cases);
}

TEST(broken_recurrences) {
    static const struct cal_case cases[] = {
        CASE("cron RRULE:FREQ=DAILY", "", "!a recurrence needs a first date: give DTSTART"),
        CASE("cron " START "RRULE:INTERVAL=2", "", "!RRULE has no FREQ"),
        CASE("cron " START "RRULE:FREQ=FORTNIGHTLY", "", "!FREQ is none of SECONDLY"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYMONTH=13", "", "!BYMONTH is out of range (column 51: \"13\")"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYMONTH=0", "", "!BYMONTH is out of range"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYMONTH=1,", "", "!BYMONTH is not a number (column 53: \"\")"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYMONTH=may", "", "!BYMONTH is not a number"),
        CASE("cron " START "RRULE:FREQ=DAILY;WKST=DI", "", "!WKST is none of SU, MO"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYMONTHDAY=0", "", "!BYMONTHDAY is out of range"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=M", "", "!BYDAY has a day that is not like MO or 2FR"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=54MO", "", "!BYDAY is out of range"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=0", "", "!BYSETPOS is out of range"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=MO;BYSETPOS=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
             "", "!BYSETPOS has too many positions"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYWEEKNO=20", "", "!BYWEEKNO is only for FREQ=YEARLY"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYWEEKNO=-1", "", "!BYWEEKNO is only for FREQ=YEARLY"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;BYYEARDAY=100", "", "!BYYEARDAY is not for FREQ=DAILY"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;BYMONTHDAY=1", "", "!BYMONTHDAY is not for FREQ=WEEKLY"),
        CASE("cron " START "RRULE:FREQ=DAILY;INTERVAL=", "", "!RRULE has a part without a value"),
        CASE("cron " START "RRULE:FREQ=DAILY EXDATE:tomorrow", "", "!EXDATE is not a time like"),
        CASE("cron " START "RRULE:FREQ=DAILY EXDATE;VALUE=PERIOD:20260105", "",
             "!EXDATE has a parameter that is neither TZID nor VALUE"),
        CASE("cron " START "RRULE:FREQ=DAILY EXDATE;TZID=:20260105", "",
             "!EXDATE has a parameter that is neither TZID nor VALUE"),
        CASE("cron DTSTART-WITH-A-LONG-NAME;X=1:20260105", "",
             "!DTSTART-WITH-A-LONG- has a parameter that is neither TZID nor VALUE"),
        CASE("cron DTSTART;TZID=Asia/Tokyo:20260105 RRULE:FREQ=DAILY EXDATE;TZID=Asia/Seoul:20260105", "",
             "!EXDATE names another time zone than before"),
        CASE("cron " START START "RRULE:FREQ=DAILY", "", "!DTSTART is there twice"),
        CASE("cron DTSTART:20260105T090000+0100 RRULE:FREQ=DAILY", "",
             "!DTSTART has an offset: write local time and TZID"),
        CASE("cron DTSTART;TZID=Asia/Tokyo:20260105T090000Z RRULE:FREQ=DAILY", "",
             "!DTSTART is in UTC, but a TZID is given"),
        CASE("cron DTSTART RRULE:FREQ=DAILY", "", "!a property without a value (column 1: \"DTSTART\")"),
        CASE("cron DTSTART: RRULE:FREQ=DAILY", "", "!a property without a value"),
        CASE("notcron RDATE:20260105", "", "!cannot be excluded: only calendars and recurrences can"),
        CASE("notcron RDATE:20260105,20260106,20260107,20260108,20260109,20260110,20260111,20260112,20260113,"
             "20260114",
             "",
             "!\"RDATE:20260105,20260106,20260107,20260108,20260109,20260110,20260111,20260112,20\" cannot"),
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYDAY=XX", "", "!BYDAY has a day that is not like MO or 2FR"),
        CASE("cron " START "RRULE:FREQ=WEEKLY;BYDAY=2MO", "",
             "!BYDAY may count days only when FREQ is MONTHLY or YEARLY"),
        CASE("cron " START "RRULE:FREQ=DAILY;COUNT=1;UNTIL=20260101", "", "!RRULE has both COUNT and UNTIL"),
        CASE("cron " START "RRULE:FREQ=DAILY;COUNT=1;COUNT=2", "", "!COUNT is there twice"),
        CASE("cron " START "RRULE:FREQ=DAILY;BYWORD=1", "",
             "!RRULE has a part that is not known (column 43: \"BYWORD\")"),
        CASE("cron " START "RRULE:FREQ=DAILY;INTERVAL", "", "!RRULE has a part without a value"),
        CASE("cron " START "RRULE:FREQ=DAILY RRULE:FREQ=DAILY", "", "!RRULE is there twice"),
        CASE("cron " START "FREQ=YEARLY;BYDAY=1MO,2MO FREQ=YEARLY;BYDAY=3MO", "", "!RRULE is there twice"),
        CASE("cron " START "EXRULE:FREQ=DAILY", "",
             "!a property that is none of DTSTART, RRULE, RDATE, EXDATE"),
        CASE("cron DTSTART:2026 RRULE:FREQ=DAILY", "", "!DTSTART is not a time like 20260105T090000"),
        CASE("cron EXDATE:20260101", "", "!there is no RRULE and no RDATE"),
        CASE("cron DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=DAILY | zone Asia/Tokyo", "",
             "!conflicting timezone names"),
        CASE("cron DTSTART:20260105T090000Z RRULE:FREQ=DAILY | zone Asia/Tokyo", "",
             "!conflicting timezone names"),
        CASE("cron CRON_TZ=Asia/Tokyo DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=DAILY", "",
             "!TZID and CRON_TZ name different time zones"),
    };
    CHECK_CASES(cases);
}

TEST(every_from_a_date) {
    static const struct cal_case cases[] = {
        CASE("cron @every 3 days from 2026-03-27T09:00 | zone Europe/Berlin", "2026-03-01T00:00",
             "2026-03-27 08:00 2026-03-30 07:00 2026-04-02 07:00"),
        CASE("cron @every 2 weeks from 2026-01-05T09:00", "2026-01-06T00:00",
             "2026-01-19 09:00 2026-02-02 09:00"),
        CASE("cron @every 1 week from 2026-01-05", "2026-01-06T00:00", "2026-01-12 00:00"),
        CASE("cron @every month from 2026-01-31T09:00", "", "!@every is not a length of time"),
        CASE("cron @every 1 month from 2026-01-31T09:00", "2026-01-01T00:00",
             "2026-01-31 09:00 2026-02-28 09:00 2026-03-31 09:00 2026-04-30 09:00"),
        CASE("cron @every 3 months from 2025-11-30T09:00", "2026-01-01T00:00",
             "2026-02-28 09:00 2026-05-30 09:00 2026-08-30 09:00"),
        CASE("cron @every 1 year from 2024-02-29T09:00", "2024-01-01T00:00",
             "2024-02-29 09:00 2025-02-28 09:00 2026-02-28 09:00"),
        CASE("cron @every P1M from 2026-01-31", "2026-02-01T00:00", "2026-02-28 00:00 2026-03-31 00:00"),
        CASE("cron @every 36h from 2026-01-05T09:00", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 21:00 2026-01-08 09:00"),
        CASE("cron @every 12 hours from 2026-03-28T09:00 | zone Europe/Berlin", "2026-03-01T00:00",
             "2026-03-28 08:00 20:00 2026-03-29 08:00"),
        CASE("cron @every 365d from 2024-06-19T00:00Z", "2024-06-19T00:00", "2025-06-19 00:00"),
        CASE("cron @every PT15M", "2026-01-01T00:01", "2026-01-01 00:15"),
        CASE("cron @every PT1H/PT5M", "2026-01-01T00:01", "2026-01-01 00:05 01:05"),
        CASE("cron @every P1D", "2026-01-01T00:01", "2026-01-02 00:00"),
        CASE("cron @every P1M", "", "!@every with months needs a first date"),
        CASE("cron @every 3 days", "", "!@every needs a first date here: from 2026-01-05T09:00"),
        CASE("cron @every 3 moons from 2026-01-05", "", "!@every has a unit that is none of seconds"),
        CASE("cron @every 0 days from 2026-01-05", "", "!@every needs a number from 1 to"),
        CASE("cron @every P1DT1H from 2026-01-05", "", "!months, days and hours cannot be mixed"),
        CASE("cron @every 100000001 days from 2026-01-05", "", "!@every needs a number from 1 to 100000000"),
        CASE("cron @every P10000000Y from 2026-01-05", "", "!the length of time is too long"),
        CASE("cron @every 0.5s from 2026-01-05", "", "!the length of time is not in whole seconds"),
        CASE("cron @every 1.5s from 2026-01-05", "", "!the length of time is not in whole seconds"),
        CASE("cron @every 3 days from 2026-01-05 on", "",
             "!@every has more than a first date (column 31: \"on\")"),
        CASE("cron @every 1h/", "", "!is not a length of time like 90m, 1.5d or PT15M (column 11: \"\")"),
        CASE("cron @every PX", "", "!is not a length of time"),
        CASE("cron @every PX from 2026-01-05", "", "!is not a length of time"),
        /* longer than the time there is: only the first one comes */
        CASE("cron @every 5000000000s", "1969-01-01T00:00", "1970-01-01 00:00 none"),
        CASE("cron @every 5000000000s/5s", "1969-01-01T00:00", "1970-01-01 00:00:05 none"),
        CASE("cron @every 5000000000s/4500000000s", "1969-01-01T00:00", "none"),
        CASE("cron @every 5000000000s from 2026-01-05T09:00", "2026-01-01T00:00", "2026-01-05 09:00 none"),
        CASE("cron @every 2 weeks from 2026-13-05", "",
             "!not a time like 2026-01-05T09:00 (column 26: \"13-05\")"),
    };
    CHECK_CASES(cases);
}

TEST(repeating_intervals) {
    static const struct cal_case cases[] = {
        CASE("cron R3/2026-01-05T09:00/P1D", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 09:00 2026-01-07 09:00 none"),
        CASE("cron R/2026-01-05T09:00Z/PT6H", "2026-01-05T10:00", "2026-01-05 15:00 21:00"),
        CASE("cron R2/2026-01-05T09:00Z/PT6H", "2026-01-05T00:00", "2026-01-05 09:00 15:00 none"),
        CASE("cron R/2026-01-31T09:00/P1M", "2026-02-01T00:00", "2026-02-28 09:00 2026-03-31 09:00"),
        CASE("cron R3/2026-01-31T09:00/P1M", "2026-02-01T00:00", "2026-02-28 09:00 2026-03-31 09:00 none"),
        CASE("cron R/20260105T0900/P2W", "2026-01-06T00:00", "2026-01-19 09:00 2026-02-02 09:00"),
        CASE("cron R/2026-01-05T09:00/2026-01-05T12:00", "2026-01-05T10:00", "2026-01-05 12:00 15:00"),
        CASE("cron R/PT10M", "2026-01-05T10:01", "2026-01-05 10:10 10:20"),
        CASE("cron R/2026-03-28T02:30/P1D | zone Europe/Berlin", "2026-03-01T00:00",
             "2026-03-28 01:30 2026-03-30 00:30"),
        CASE("cron R0/2026-01-05T09:00/P1D", "", "!a count that is not from 1 to 20000 (column 1: \"R0\")"),
        CASE("cron R5x/2026-01-05T09:00/P1D", "", "!a count that is not from 1 to 20000"),
        CASE("cron R20001/2026-01-05T09:00/P1D", "", "!a count that is not from 1 to 20000"),
        CASE("cron R5/monday/P1D", "", "!not a time like 2026-01-05T09:00 (column 4: \"monday\")"),
        CASE("cron R5/2026-01-05/", "", "!not a time like 2026-01-05T09:00 (column 15: \"\")"),
        CASE("cron R5/2026-01-05/friday", "", "!not a time like 2026-01-05T09:00 (column 15: \"friday\")"),
        CASE("cron R/2026-01-05T09:00Z/2026-01-06T09:00", "", "!start and end must both have an offset"),
        CASE("cron R3/2026-01-05T09:00Z/PT1200000H", "2026-01-01T00:00", "2026-01-05 09:00 none"),
        CASE("cron R5/PT10M", "", "!a repeating interval needs a start and a length"),
        CASE("cron R5/2026-01-05T09:00/P0D", "", "!the length of time is zero"),
        CASE("cron R5/2026-01-05T09:00/P1Y1D", "", "!months, days and hours cannot be mixed"),
        CASE("cron R5/2026-01-05T09:00/PX", "", "!not a length of time like P1D or PT6H (column 21: \"PX\")"),
        CASE("cron R/2026-01-05T09:00/2026-01-04T09:00", "", "!the length of time is zero"),
        CASE("cron R/a/b/c", "", "!a repeating interval has more than three parts"),
    };
    CHECK_CASES(cases);
}

TEST(once) {
    static const struct cal_case cases[] = {
        CASE("cron @at 2026-03-01T09:00", "2026-01-01T00:00", "2026-03-01 09:00 none"),
        CASE("cron @at 2026-03-01T09:00 | zone Asia/Tokyo", "2026-01-01T00:00", "2026-03-01 00:00 none"),
        CASE("cron @at 2026-03-01T09:00:30+01:00 | zone Asia/Tokyo", "2026-01-01T00:00",
             "2026-03-01 08:00:30 none"),
        CASE("cron CRON_TZ=Europe/Berlin @at 2026-10-25T02:30", "2026-01-01T00:00", "2026-10-25 00:30 none"),
        CASE("cron CRON_TZ=Europe/Berlin @at 2026-03-29T02:30", "2026-01-01T00:00", "2026-03-29 01:30 none"),
        CASE("cron @at 2026-03-01T09:00 | cron @at 2026-02-01 | cron @at 2026-02-15T00:00Z",
             "2026-01-01T00:00", "2026-02-01 00:00 2026-02-15 00:00 2026-03-01 09:00 none"),
        CASE("cron @at 20260301T0900Z", "2026-01-01T00:00", "2026-03-01 09:00 none"),
        CASE("cron @at 20260301T0900+0100", "2026-01-01T00:00", "2026-03-01 08:00 none"),
        CASE("cron @at 20260301T0900", "2026-01-01T00:00", "2026-03-01 09:00 none"),
        CASE("cron @at 2026-03-01T09:00", "2026-03-01T09:00", "none"),
        CASE("cron @at 2026-03-01T09:00 | not sec=* min=* hour=* dow=sun", "2026-01-01T00:00", "none"),
    };
    CHECK_CASES(cases);
}

TEST(too_many_dates_are_refused_by_their_number) {
    struct cal_world w;
    char text[sizeof("RDATE:") + RECUR_DATES_MAX * 2] = "RDATE:";
    for (size_t n = strlen(text); n + 2 < sizeof(text); n += 2)
        memcpy(text + n, "1,", 2);
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    CHECK_INT(cal_spec_add_cron(&w.spec, str_of(text), &w.err), ERR_INVALID);
    CHECK(strstr(w.err.text, "RDATE has too many dates"));
    cal_world_done(&w);
}

TEST(lengths_of_time) {
    static const struct {
        const char *text;
        int64_t us; /* -1: it is none */
    } units[] = {
        {"", -1},
        {"-", -1},
        {"+5s", 5000000},
        {"-5s", -5000000},
        {"0", 0},
        {"5", -1},
        {"1.2.3s", -1},
        {"s", -1},
        {"1.0123456789123s", 1012345},
        {"1h1ns", INT64_C(3600000000)},
        {".s", -1},
        {"99999999999999999999d", -1},
    };
    static const struct {
        struct str text;
        int64_t months, days, us; /* -1: it is none */
    } lengths[] = {
        {STR("P1Y2M3W4DT5H6M7.5S"), 14, 25, INT64_C(18367500000)},
        {STR("PT1,25S"), 0, 0, 1250000},
        {STR("P"), -1, 0, 0},
        {STR("1D"), -1, 0, 0},
        {STR("PT"), -1, 0, 0},
        {STR("P1"), -1, 0, 0},
        {STR("P1DT"), -1, 0, 0},
        {STR("P1H"), -1, 0, 0},
        {STR("PT1D"), -1, 0, 0},
        {STR("P1D1Y"), -1, 0, 0},
        {STR("PT1HT1M"), -1, 0, 0},
        {STR("PT1."), -1, 0, 0},
        {STR("PT1.5"), -1, 0, 0},
        {STR("PT1.5M"), -1, 0, 0},
        {STR("P1\0"), -1, 0, 0},
        {STR("PT1000000000H"), -1, 0, 0},
        {STR("PT10000000000S"), -1, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t us = -1;
        int e = duration_parse_units(str_of(units[i].text), &us);
        test_check_int(e, units[i].us == -1 ? ERR_INVALID : 0, __FILE__, __LINE__, units[i].text);
        test_check_int(us, units[i].us, __FILE__, __LINE__, units[i].text);
    }
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct duration d = {.months = -1};
        int e = duration_parse_iso(lengths[i].text, &d);
        test_check_int(e, lengths[i].months < 0 ? ERR_INVALID : 0, __FILE__, __LINE__, lengths[i].text.p);
        test_check_int(d.months, lengths[i].months, __FILE__, __LINE__, lengths[i].text.p);
        test_check_int(d.days, lengths[i].days, __FILE__, __LINE__, lengths[i].text.p);
        test_check_int(d.us, lengths[i].us, __FILE__, __LINE__, lengths[i].text.p);
    }
}
