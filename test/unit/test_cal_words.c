/* Specs in words, and what is warned of. */
#include "cal/warning.h"
#include "cal/words.h"
#include "cal_fixture.h"

#define NOW "2026-01-01T00:00"

static void check_words(int line, const char *spec, const char *expected) {
    struct cal_world w;
    struct buf out cleanup(buf_done);
    buf_init(&out, 1 << 16);
    cal_world_init(&w);
    if (cal_world_make(&w, spec) == 0) {
        words_spec(&w.spec, &out);
        buf_add_u8(&out, 0);
        if (buf_ok(&out) && !arena_failed(&w.arena))
            test_check_str(str_bytes(out.data, out.len - 1), str_of(expected), __FILE__, line, spec);
    }
    cal_world_done(&w);
}
#define WORDS(spec, expected) check_words(__LINE__, spec, expected)

static void check_warnings(int line, const char *spec, const char *expected) {
    struct cal_world w;
    struct warning found[WARNING_KINDS];
    size_t n;
    struct buf out cleanup(buf_done);
    buf_init(&out, 1 << 16);
    cal_world_init(&w);
    if (cal_world_make(&w, spec) == 0 &&
        warnings_of(&w.spec, &w.zones, cal_time_of(NOW) * USEC_PER_SEC, &w.arena, found, &n, &w.err) == 0) {
        for (size_t i = 0; i < n; i++)
            buf_printf(&out, "%s%s", i ? " " : "", warning_word(found[i].kind));
        if (!n)
            buf_add_cstr(&out, "none");
        if (buf_ok(&out))
            test_check_str(buf_str(&out), str_of(expected), __FILE__, line, spec);
    }
    cal_world_done(&w);
}
#define WARNINGS(spec, expected) check_warnings(__LINE__, spec, expected)

TEST(words_times_of_day) {
    WORDS("cron 30 9 * * *", "at 09:30 every day; in UTC");
    WORDS("cron 0,30 9,17 * * *", "at 09:00, 09:30, 17:00 and 17:30 every day; in UTC");
    WORDS("cron * * * * *", "every minute; in UTC");
    WORDS("cron */5 * * * *", "every 5 minutes; in UTC");
    WORDS("cron */7 * * * *", "every 7th minute; in UTC");
    WORDS("cron */15 9-17 * * mon-fri", "every 15 minutes of the hours 9 to 17 on Monday to Friday; in UTC");
    WORDS("cron 0 * * * *", "every hour; in UTC");
    WORDS("cron 15 * * * *", "15 minutes past every hour; in UTC");
    WORDS("cron 0 */2 * * *", "every 2 hours; in UTC");
    WORDS("cron 5 */2 * * *", "5 minutes past every 2nd hour; in UTC");
    WORDS("cron 0 8-18 * * *", "on the hour, at 8 to 18 every day; in UTC");
    WORDS("cron 1,2,30 * * * *", "at the minutes 1, 2 and 30 of every hour; in UTC");
    WORDS("cron */10 * * * * * *", "every 10 seconds; in UTC");
    WORDS("cron * * * * * * *", "every second; in UTC");
    WORDS("cron 5,6 */10 3 * * * *",
          "at the seconds 5 and 6 of every 10 minutes of the hour 3 every day; in UTC");
    WORDS("cron 30 0 9 * * * *", "at 09:00:30 every day; in UTC");
    WORDS("cron */11 * * * *", "every 11th minute; in UTC");
    WORDS("cron */23 * * * *", "every 23rd minute; in UTC");
    WORDS("cron */5 15 * * * * *", "every 5 seconds of the minute 15 of every hour; in UTC");
    WORDS("cron */5 15,45 9 * * * *",
          "every 5 seconds of the minutes 15 and 45 of the hour 9 every day; in UTC");
    WORDS("cron */5 * 9 * * * *", "every 5 seconds of every minute of the hour 9 every day; in UTC");
    WORDS("cron 0 */5 * * *", "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day; in UTC");
    WORDS("cron */20 */5 * * *", "every 20 minutes of the hours 0, 5, 10, 15 and 20 every day; in UTC");
    WORDS("dbos 0 */10 * * * *", "every 10 minutes; in UTC");
}

TEST(words_days) {
    WORDS("cron 0 9 * * mon-fri", "at 09:00 on Monday to Friday; in UTC");
    WORDS("cron 0 9 1 * *", "at 09:00 on day 1 of the month; in UTC");
    WORDS("cron 0 9 1,15 * *", "at 09:00 on days 1 and 15 of the month; in UTC");
    WORDS("cron 0 0 25 12 *", "at 00:00 on day 25 of December; in UTC");
    WORDS("cron 0 0 * 6-8 *", "at 00:00 every day in June to August; in UTC");
    WORDS("cron 0 0 * 6-8 sat,sun", "at 00:00 on Saturday and Sunday in June to August; in UTC");
    WORDS("cron 0 0 13 * fri", "at 00:00 on day 13 of the month, but only if it is Friday; in UTC");
    WORDS("cron 0 0 1 1 * 2030", "at 00:00 on day 1 of January in 2030; in UTC");
    WORDS("cron 0 0 1 1 * 2030-2040/2,2050",
          "at 00:00 on day 1 of January in 2030 to 2040 (every 2nd) and 2050; in UTC");
    WORDS("cron 0 0 1 1 * 2000-2100", "at 00:00 on day 1 of January; in UTC");
    WORDS("cron 0 0 1 1 * 2000-2100/2", "at 00:00 on day 1 of January in 2000 to 2100 (every 2nd); in UTC");
    WORDS("cron 0 0 * 6 5#2", "at 00:00 on the 2nd Friday of June; in UTC");
    WORDS("cron 0 0 L * *", "at 00:00 on the last day of the month; in UTC");
    WORDS("cron 0 0 L-3 * *", "at 00:00 on the 3rd day before the last day of the month; in UTC");
    WORDS("cron 0 0 15W * *", "at 00:00 on the weekday nearest to day 15 of the month; in UTC");
    WORDS("cron 0 0 LW * *", "at 00:00 on the last weekday of the month; in UTC");
    WORDS("cron 0 0 * * 5#2", "at 00:00 on the 2nd Friday of the month; in UTC");
    WORDS("cron 0 0 * * 5L", "at 00:00 on the last Friday of the month; in UTC");
    WORDS("cron 0 0 1,L * *", "at 00:00 on day 1 and the last day of the month; in UTC");
    WORDS("cal hour=17 dow=Fri", "at 17:00 on Friday; in UTC");
}

TEST(words_other_texts) {
    WORDS("cron @every 90m", "every 1 hour 30 minutes");
    WORDS("cron @every 6h/5h", "every 6 hours, shifted by 5 hours");
    WORDS("cron @every 7s", "every 7 seconds, counted from 1970-01-01T00:00:00Z");
    WORDS("cron @every 2 weeks from 2026-01-05T09:00", "every 2 weeks from 2026-01-05T09:00:00; in UTC");
    WORDS("cron @every P1M from 2026-01-31", "every month from 2026-01-31; in UTC");
    WORDS("cron @every P1Y from 2026-01-31", "every year from 2026-01-31; in UTC");
    WORDS("cron R5/2026-01-05T09:00/P1D", "every day from 2026-01-05T09:00:00, 5 times; in UTC");
    WORDS("cron R/2026-01-05T09:00Z/PT6H", "every 6 hours from 2026-01-05T09:00:00Z; in UTC");
    WORDS("cron DTSTART:20260105T090000 RRULE:FREQ=WEEKLY;BYDAY=MO,FR;INTERVAL=2;COUNT=10 "
          "EXDATE:20260112T090000",
          "every 2 weeks on Monday and Friday from 2026-01-05T09:00:00, 10 times, but not at "
          "2026-01-12T09:00:00; in UTC");
    WORDS("cron DTSTART:20260105T090000 "
          "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1;UNTIL=20270101T000000",
          "every month on Monday to Friday, of these only the last from 2026-01-05T09:00:00, until "
          "2027-01-01T00:00:00; in UTC");
    WORDS("cron DTSTART:20260105T090000 RRULE:FREQ=YEARLY;BYMONTH=6;BYDAY=2FR,-1MO;BYHOUR=9,17",
          "every year on the 2nd Friday and the last Monday in June at the hour 9 and 17 from "
          "2026-01-05T09:00:00; in UTC");
    WORDS(
        "cron DTSTART:20260105T090000 RRULE:FREQ=YEARLY;BYYEARDAY=100,-1",
        "every year on day 100 of the year and day 1, counted from its end from 2026-01-05T09:00:00; in UTC");
    WORDS("cron DTSTART:20260105T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=1,-1,-2",
          "every month on day 1 and the last day and the 2nd last day from 2026-01-05T09:00:00; in UTC");
    WORDS("cron DTSTART:20260105T090000 RRULE:FREQ=MONTHLY;BYMONTHDAY=-1",
          "every month on the last day from 2026-01-05T09:00:00; in UTC");
    WORDS("cron R1/2026-01-05T09:00/P1D", "every day from 2026-01-05T09:00:00, 1 time; in UTC");
    WORDS("cron RRULE:FREQ=DAILY | start 2026-01-05T09:00", "every day; in UTC; from 2026-01-05T09:00:00Z");
    WORDS("cron DTSTART:20260105 RDATE:20260106,20260107,20260108,20260109,20260110",
          "at 2026-01-06, 2026-01-07, 2026-01-08 and 2 more; in UTC");
    WORDS("cron @at 2026-03-01T09:00", "once, at 2026-03-01T09:00:00; in UTC");
}

TEST(words_whole_specs) {
    WORDS("cron 0 9 * * mon-fri | cron @every 2h/15m | zone Europe/Berlin",
          "at 09:00 on Monday to Friday; every 2 hours, shifted by 15 minutes; in Europe/Berlin; a time that "
          "the clocks skip is left out, one that they show twice counts twice");
    WORDS("cron 0 9 * * * | not sec=* min=* hour=* dom=25 month=12 | zone "
          "Europe/Berlin;missing=shift;repeated=first",
          "at 09:00 every day; not at any time on day 25 of December; in Europe/Berlin; a time that the "
          "clocks skip is moved behind the gap, of one that they show twice the first counts");
    WORDS("cron 0 9 * * * | start 2026-01-01T00:00 | end 2027-01-01T00:00 | jitter 90s",
          "at 09:00 every day; in UTC; from 2026-01-01T00:00:00Z; until 2027-01-01T00:00:00Z; each up to 1 "
          "minute 30 seconds later");
    WORDS("cron 0 9 * * * | not sec=* min=* hour=* month=8",
          "at 09:00 every day; not at any time in August; in UTC");
    WORDS("cron 0 9 * * * | cron 0 17 * * 5 | not sec=* min=* hour=12 | not sec=* hour=* | not min=* hour=*",
          "at 09:00 every day; at 17:00 on Friday; not every second of every minute of the hour 12 every "
          "day; not "
          "every second of the minute 0 of every hour; not every minute; in UTC");
    WORDS("cron 0 9 * * * | notcron 0 9 L * *",
          "at 09:00 every day; not at 09:00 on the last day of the month; in UTC");
    WORDS("cron @every 1m | jitter 1500ms", "every 1 minute; each up to 1 second 500 ms later");
    WORDS("zone UTC", "never");
}

static struct str said(struct buf *out, const struct cal_calendar *c, struct arena *arena) {
    buf_clear(out);
    words_calendar(c, arena, out);
    return buf_ok(out) ? buf_str(out) : STR("");
}

/* Calendars that no string gives, but a client can. */
TEST(words_odd_calendars) {
    static const struct cal_range five[] = {{5, 5, 2}}, year[] = {{2030, 2030, 2}}, all_days[] = {{1, 31, 1}},
                                  all_months[] = {{1, 12, 1}}, all_weekdays[] = {{0, 6, 1}};
    struct cal_calendar c = {.fields = {[CAL_SECOND] = {five, 1},
                                        [CAL_MINUTE] = {five, 1},
                                        [CAL_HOUR] = {five, 1},
                                        [CAL_DAY_OF_MONTH] = {all_days, 1},
                                        [CAL_MONTH] = {all_months, 1},
                                        [CAL_DAY_OF_WEEK] = {all_weekdays, 1},
                                        [CAL_YEAR] = {year, 1}}};
    struct cal_world w;
    struct buf out cleanup(buf_done);
    buf_init(&out, 4096);
    cal_world_init(&w);
    CHECK_SLICE(said(&out, &c, &w.arena), STR("at 05:05:05 every day in 2030"));
    for (int f = CAL_SECOND; f <= CAL_DAY_OF_WEEK; f++) {
        c.fields[f].n = 0;
        CHECK_SLICE(said(&out, &c, &w.arena), STR("never"));
        buf_clear(&out);
        words_exclusion(&c, &w.arena, &out);
        CHECK(!buf_ok(&out) || str_is(buf_str(&out), "never"));
        c.fields[f].n = 1;
    }
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 L * *"), 0)) {
        w.spec.calendars[0].comment = STR("rondo: @every 90m");
        CHECK_SLICE(said(&out, &w.spec.calendars[0], &w.arena), STR("every 1 hour 30 minutes"));
    }
    cal_world_done(&w);
}

TEST(words_of_a_zone_of_its_own) {
    struct cal_spec s = {.zone_name = STR("Mine"), .zone_data = STR("TZif")};
    struct buf out cleanup(buf_done);
    buf_init(&out, 256);
    words_zone(&s, &out);
    CHECK(!buf_ok(&out) || str_is(buf_str(&out), "in a time zone of its own"));
    s = (struct cal_spec){.zone_name = STR("Mars;season=dry")};
    buf_clear(&out);
    words_zone(&s, &out);
    CHECK(!buf_ok(&out) || str_is(buf_str(&out), "in UTC"));
}

/* The step was added in 32 bits, which it could leave. */
TEST(steps_of_any_size_are_taken_once) {
    WORDS("cron 0 0 1-5/2147483647 * *", "at 00:00 on day 1 of the month; in UTC");
    WARNINGS("cron 0 0 29-30/2147483647 * *", "short_month");
}

TEST(warnings) {
    WARNINGS("cron 0 9 * * mon-fri", "none");
    WARNINGS("cron 0 0 31 2 *", "never short_month");
    WARNINGS("zone UTC", "never");
    WARNINGS("cron 0 9 * * * | end 2020-01-01T00:00", "ended");
    WARNINGS("cron 0 0 1 1 * 2030", "rare");
    WARNINGS("cron 30 2 * * * | zone Europe/Berlin", "clock_gap clock_fold");
    WARNINGS("cron 30 2 * * * | zone Europe/Berlin;missing=shift;repeated=first", "none");
    WARNINGS("cron 30 2 * * * | zone Asia/Tokyo", "none");
    WARNINGS("cron 0 * * * * | zone Europe/Berlin", "none");
    WARNINGS("cron */15 * * * * | zone Europe/Berlin", "none");
    WARNINGS("cron 30 3 * * * | zone Europe/Berlin", "none");
    WARNINGS("cron 0 0 13 * fri", "day_and_weekday");
    WARNINGS("cron 0 0 31 * *", "short_month");
    WARNINGS("cron 0 0 31 1,3 *", "none");
    WARNINGS("cron 0 0 29 2 *", "rare short_month");
    WARNINGS("cron 0 0 L * *", "none");
    WARNINGS("cron */7 * * * *", "uneven_step");
    WARNINGS("cron */15 * * * *", "none");
    WARNINGS("cron */10 * * * * * *", "frequent");
    WARNINGS("cron 0 9 * * * | not sec=* min=* hour=*", "all_excluded");
    WARNINGS("cron * * * * * | jitter 5m", "long_jitter");
    WARNINGS("cron @every 1h | zone Europe/Berlin", "zone_without_effect");
    WARNINGS("cron @at 2025-03-01T09:00", "ended");
    WARNINGS("cron 0 12 * * * | zone Europe/Berlin", "none");
    WARNINGS("cron 0 12 * * * | zone Europe/Berlin | end 2026-02-01T00:00", "none");
    /* of two times in the night of the change the second is past the end */
    WARNINGS("cron 30 2 * * * | zone Europe/Berlin | end 2026-10-25T00:45", "clock_gap");
    WARNINGS("cron 0 0 1-31/3 * *", "short_month");
    WARNINGS("cron @every 1h | cron 0 9 * * * | zone Europe/Berlin", "none");
    WARNINGS("cron 0 9 * * * | not sec=* min=* hour=* dow=sun | end 2020-01-01T00:00", "ended");
}
