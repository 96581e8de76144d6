/* Recurrences: RRULE with its exceptions, ISO 8601 repeating intervals, "every N from", single times. */
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
        CASE("cron " START "RRULE:FREQ=HOURLY;INTERVAL=5", "2026-01-01T00:00",
             "2026-01-05 09:00 14:00 19:00 2026-01-06 00:00 05:00"),
        CASE("cron " START "RRULE:FREQ=MINUTELY;INTERVAL=500", "2026-01-01T00:00",
             "2026-01-05 09:00 17:20 2026-01-06 01:40"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=100000", "2026-01-01T00:00",
             "2026-01-05 09:00 2026-01-06 12:46:40"),
        CASE("cron " START "RRULE:FREQ=SECONDLY;INTERVAL=90000000", "2026-01-01T00:00",
             "2026-01-05 09:00 2028-11-12 01:00"),
    };
    CHECK_CASES(cases);
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
        CASE("cron DTSTART:19970805T090000Z RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO",
             "1997-01-01T00:00", "1997-08-05 09:00 1997-08-10 09:00 1997-08-19 09:00 1997-08-24 09:00 none"),
        CASE("cron DTSTART:19970805T090000Z RRULE:FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU",
             "1997-01-01T00:00", "1997-08-05 09:00 1997-08-17 09:00 1997-08-19 09:00 1997-08-31 09:00 none"),
    };
    CHECK_CASES(cases);
}

TEST(ends_and_exceptions) {
    static const struct cal_case cases[] = {
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
        CASE("cron " START "RRULE:FREQ=MONTHLY;BYMONTHDAY=0", "", "!BYMONTHDAY is out of range"),
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
        CASE("cron @at 2026-03-01T09:00", "2026-03-01T09:00", "none"),
        CASE("cron @at 2026-03-01T09:00 | not sec=* min=* hour=* dow=sun", "2026-01-01T00:00", "none"),
    };
    CHECK_CASES(cases);
}
