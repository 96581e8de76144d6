/* The canonical form: what a describe shows, and that handing it back changes nothing. */
#include <stdio.h>

#include "base/clock.h"
#include "cal_fixture.h"

/* Hands the canonical calendars and intervals back, with every range written out, as a client does. */
static int hand_back(const struct cal_spec *from, struct cal_spec *to, struct arena *a, struct str seed,
                     struct err *reterr) {
    int e = 0;
    cal_spec_init(to, a, seed);
    for (size_t i = 0; i < from->calendar_count + from->exclude_count && e == 0; i++) {
        bool is_exclude = i >= from->calendar_count;
        struct cal_calendar c = is_exclude ? from->excludes[i - from->calendar_count] : from->calendars[i];
        for (int f = 0; f < CAL_FIELD_COUNT; f++) {
            struct cal_range *v = arena_array(a, struct cal_range, c.fields[f].n + 1);
            if (!v)
                return ERR_NO_MEMORY;
            for (size_t k = 0; k < c.fields[f].n; k++)
                v[k] = cal_range_clean(c.fields[f].v[k]);
            c.fields[f].v = v;
        }
        e = is_exclude ? cal_spec_exclude_calendar(to, &c, reterr) : cal_spec_add_calendar(to, &c, reterr);
    }
    for (size_t i = 0; i < from->interval_count && e == 0; i++)
        e = cal_spec_add_interval(to, &from->intervals[i], reterr);
    to->zone_name = from->zone_name;
    to->start_us = from->start_us;
    to->end_us = from->end_us;
    to->jitter_us = from->jitter_us;
    return e < 0 ? e : cal_spec_finish(to, reterr);
}

static void check_same_calendars(int line, const struct cal_calendar *a, const struct cal_calendar *b,
                                 size_t n) {
    for (size_t i = 0; i < n; i++)
        test_check(cal_calendar_eq(&a[i], &b[i]), __FILE__, line, "calendars are the same");
}

static void check_round_trip(int line, const char *text) {
    struct cal_world w, again;
    struct buf before cleanup(buf_done), after cleanup(buf_done);
    buf_init(&before, 65536);
    buf_init(&after, 65536);
    cal_world_init(&w);
    cal_world_init(&again);
    int64_t from_us = cal_time_of("2026-01-01T00:00") * USEC_PER_SEC;
    if (test_check_int(cal_world_make(&w, text), 0, __FILE__, line, text)) {
        int e = hand_back(&w.spec, &again.spec, &again.arena, w.seed, &again.err);
        if (e == 0)
            e = cal_new(&again.spec, &again.zones, &again.cal, &again.err);
        if (test_check_int(e, 0, __FILE__, line, again.err.text)) {
            again.seed = w.seed;
            test_check_int(again.spec.calendar_count, w.spec.calendar_count, __FILE__, line, "calendars");
            test_check_int(again.spec.exclude_count, w.spec.exclude_count, __FILE__, line, "excludes");
            check_same_calendars(line, w.spec.calendars, again.spec.calendars, w.spec.calendar_count);
            check_same_calendars(line, w.spec.excludes, again.spec.excludes, w.spec.exclude_count);
            cal_world_times(&w, from_us, 20, &before);
            cal_world_times(&again, from_us, 20, &after);
            test_check_str(buf_str(&after), buf_str(&before), __FILE__, line, text);
        }
    }
    cal_world_done(&again);
    cal_world_done(&w);
}

TEST(a_description_handed_back_changes_nothing) {
    static const struct {
        int line;
        const char *text;
    } cases[] = {
        {__LINE__, "cron 11 11/11 11 11 1"},
        {__LINE__, "cron CRON_TZ=Europe/Berlin 30 2,9 * * mon-fri # work | jitter 1h | seed x"},
        {__LINE__, "cron 0 0 * * 5-7/2 2026-2030"},
        {__LINE__, "cal sec=*/7 min=1,2,3-9/2 hour=*"},
        {__LINE__, "cron @every 90m/7m | not sec=* min=* hour=12-14"},
        {__LINE__, "cron 0 12 L,15W * * # pay day"},
        {__LINE__, "cron 0 12 * * 5#2,1L"},
        {__LINE__, "cron CRON_TZ=Europe/Berlin;missing=shift;repeated=first 30 2 LW * *"},
        {__LINE__, "cron H H(0-7) * * * | seed abc"},
        {__LINE__, "cron H H LW * * | seed abc"},
        {__LINE__, "cron DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=MONTHLY;BYDAY=2TU "
                   "EXDATE:20260310T090000 # review"},
        {__LINE__, "cron R5/2026-01-05T09:00/P1D"},
        {__LINE__, "cron R/2026-01-05T09:00Z/PT6H"},
        {__LINE__, "cron @every 2 weeks from 2026-01-05T09:00 | zone America/New_York"},
        {__LINE__, "cron @at 2026-03-01T09:00+02:00 | zone Asia/Tokyo"},
        {__LINE__, "dbos 11-19/5 * * * *"},
        {__LINE__, "cal hour=9 dom=L | not sec=* min=* hour=* dom=L month=12"},
        {__LINE__, "cron @daily | notcron * * * ? * 6#1 *"},
        {__LINE__, "cron RRULE:FREQ=DAILY;INTERVAL=3 | start 2026-01-05T09:00"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_round_trip(cases[i].line, cases[i].text);
}

TEST(what_a_calendar_can_say_becomes_one) {
    static const struct {
        int line;
        const char *text, *want;
    } cases[] = {
        {__LINE__, "cron 30 9 * * mon-fri # work", "0 30 9 * * 1-5 * # work"},
        {__LINE__, "dbos 11-19/5 0 * * 7", "0 15 0 * * 0 *"},
        {__LINE__, "dbos 0 */4 1-5,20 * *", "0 0 0,4,8,12,16,20 1-5,20 * * *"},
        {__LINE__, "cron  0  12\tL * *   #  month's end ", "0 12 L * * # month's end"},
        {__LINE__, "cron CRON_TZ=UTC @at 2026-03-01T09:00", "@at 2026-03-01T09:00"},
        {__LINE__, "cal hour=12 dow=fri#2 comment=drinks", "0 0 12 * * fri#2 * # drinks"},
        {__LINE__, "cron 0 0 1 1 * 2000-2100", "0 0 0 1 1 * 2000-2100"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        struct buf got cleanup(buf_done);
        buf_init(&got, 4096);
        cal_world_init(&w);
        if (test_check_int(cal_world_make(&w, cases[i].text), 0, __FILE__, cases[i].line, cases[i].text)) {
            cal_calendar_text(&w.spec.calendars[0], &got);
            test_check_str(buf_str(&got), str_of(cases[i].want), __FILE__, cases[i].line, cases[i].text);
        }
        cal_world_done(&w);
    }
}

TEST(a_placeholder_is_a_placeholder_only_with_its_fields) {
    struct cal_world w;
    cal_world_init(&w);
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 L * *"), 0)) {
        struct cal_calendar c = w.spec.calendars[0];
        CHECK_SLICE(c.comment, STR("rondo: 0 12 L * *"));
        CHECK_SLICE(cal_calendar_carried(&c), STR("0 12 L * *"));
        static const struct cal_range six[] = {{6, 6, 1}};
        c.fields[CAL_HOUR] = (struct cal_ranges){six, 1};
        CHECK_INT(cal_calendar_carried(&c).n, 0);
    }
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 * * * # rondo: 0 12 L * *"), 0))
        CHECK_INT(cal_calendar_carried(&w.spec.calendars[0]).n, 0);
    cal_world_done(&w);
}

static const struct cal_range five[] = {{5, 5, 3}}, five_six[] = {{5, 6, 0}}, odd[] = {{5, 9, 2}},
                              late[] = {{5, 7, 0}, {9, 9, 0}};

/* Nobody can write this one. */
TEST(a_calendar_without_values_says_so) {
    struct buf out cleanup(buf_done);
    struct cal_calendar c = {.fields = {[CAL_SECOND] = {five, 1}, [CAL_HOUR] = {odd, 1}}};
    buf_init(&out, 256);
    cal_calendar_text(&c, &out);
    CHECK(!buf_ok(&out) || str_is(buf_str(&out), "5 none 5-9/2 none none none *"));
}

TEST(calendars_are_the_same_in_every_part_or_not) {
    static const struct cal_calendar whole = {.fields = {[CAL_HOUR] = {five_six, 1}}, .comment = STR("a")};
    static const struct cal_ranges hours[] = {{five, 1}, {late, 1}, {late, 2}, {odd, 1}, {NULL, 0}};
    static const struct cal_range same[] = {{5, 6, 1}}, steps[] = {{5, 6, 2}};
    struct cal_calendar other = whole;
    CHECK(cal_calendar_eq(&whole, &other));
    other.fields[CAL_HOUR] = (struct cal_ranges){same, 1};
    CHECK(cal_calendar_eq(&whole, &other));
    other.fields[CAL_HOUR] = (struct cal_ranges){steps, 1};
    CHECK(!cal_calendar_eq(&whole, &other));
    for (size_t i = 0; i < ARRAY_LEN(hours); i++) {
        other.fields[CAL_HOUR] = hours[i];
        CHECK(!cal_calendar_eq(&whole, &other));
    }
    other = whole;
    other.comment = STR("b");
    CHECK(!cal_calendar_eq(&whole, &other));
}

TEST(calendars_have_as_many_ranges_as_they_may) {
    struct cal_range many[CAL_RANGES_MAX + 1] = {0};
    static const struct cal_range bad[] = {{70, 0, 0}, {5, 0, 0}};
    struct cal_world w;
    struct cal_calendar c = {.fields = {[CAL_HOUR] = {many, CAL_RANGES_MAX + 1}}};
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), ERR_INVALID);
    CHECK_STR(w.err.text, "invalid calendar spec: Hour has more than 1000 ranges");
    c.fields[CAL_HOUR].n = CAL_RANGES_MAX;
    CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), 0);
    c.fields[CAL_HOUR] = (struct cal_ranges){bad, 2};
    CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), ERR_INVALID);
    cal_world_done(&w);
}

static const char *carried_times(const char *text, const char *zone, struct buf *out, struct cal_world *w) {
    if (cal_world_make(w, "cron 0 12 L * *") < 0)
        return "";
    struct cal_calendar c = w->spec.calendars[0];
    c.comment = str_of(text);
    cal_spec_init(&w->spec, &w->arena, STR(""));
    w->spec.zone_name = str_of(zone);
    w->cal = cal_free(w->cal);
    int e = cal_spec_add_calendar(&w->spec, &c, &w->err);
    e = e < 0 ? e : cal_new(&w->spec, &w->zones, &w->cal, &w->err);
    if (e < 0)
        return w->err.text;
    cal_world_times(w, cal_time_of("2026-01-01T00:00") * USEC_PER_SEC, 2, out);
    buf_add_u8(out, 0);
    return buf_ok(out) ? (const char *)out->data : "";
}

/* What a client hands back need not be what it was given. */
TEST(a_placeholder_may_carry_any_text) {
    static const struct {
        const char *text, *zone, *want;
    } cases[] = {
        {"rondo: 0 12 * * *", "", "2026-01-01 12:00 2026-01-02 12:00"},
        {"rondo: @every 90m/5m", "Europe/Berlin", "2026-01-01 00:05 01:35"},
        {"rondo: @every 1s", "", "2026-01-01 00:00:01 00:00:02"},
        {"rondo: CRON_TZ=UTC 0 12 L * *", "", "2026-01-31 12:00 2026-02-28 12:00"},
        {"rondo: CRON_TZ=Asia/Tokyo 0 12 L * *", "Europe/Berlin",
         "\"CRON_TZ=Asia/Tokyo 0 12 L * *\" is in another time zone than the spec"},
        {"rondo: CRON_TZ=Asia/Tokyo 0 12 L * * # and this is a comment which makes the text longer than "
         "eighty",
         "Europe/Berlin",
         "\"CRON_TZ=Asia/Tokyo 0 12 L * * # and this is a comment which makes the text longe\" is in another "
         "time zone than the spec"},
        {"rondo: 0 12 L * *", "Mars;season=dry",
         "time zone \"Mars;season=dry\": \"season=dry\" is none of missing=skip, missing=shift, "
         "repeated=both, "
         "repeated=first, repeated=last"},
        {"rondo: 0 12 L * *", "Mars/Olympus", "unknown time zone \"Mars/Olympus\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cal_world w;
        struct buf out cleanup(buf_done);
        buf_init(&out, 4096);
        cal_world_init(&w);
        CHECK_STR(carried_times(cases[i].text, cases[i].zone, &out, &w), cases[i].want);
        cal_world_done(&w);
    }
}

TEST(a_zone_needs_someone_who_knows_it) {
    struct cal_world w;
    cal_world_init(&w);
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 * * * | zone Europe/Berlin"), 0)) {
        w.cal = cal_free(w.cal);
        CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &w.err), ERR_INVALID);
        CHECK_STR(w.err.text, "unknown time zone \"Europe/Berlin\"");
    }
    cal_world_done(&w);
}

TEST(a_placeholder_with_a_broken_text_is_refused) {
    struct cal_world w;
    cal_world_init(&w);
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 L * *"), 0)) {
        struct cal_calendar c = w.spec.calendars[0];
        c.comment = STR("rondo: 0 12 Q * *");
        CHECK_INT(cal_spec_add_calendar(&w.spec, &c, &w.err), ERR_INVALID);
        CHECK(strstr(w.err.text, "DayOfMonth is not in range"));
        c.comment = STR("rondo: @every 5m");
        CHECK_INT(cal_spec_exclude_calendar(&w.spec, &c, &w.err), ERR_INVALID);
    }
    cal_world_done(&w);
}

/* A schedule that does nothing must not cost much. */
TEST(size) {
    struct cal_world w;
    cal_world_init(&w);
    if (CHECK_INT(cal_world_make(&w, "cron 30 9 * * mon-fri | zone Europe/Berlin"), 0))
        CHECK(cal_bytes(w.cal) <= 256);
    if (CHECK_INT(cal_world_make(&w, "cron 0 12 L * *"), 0))
        CHECK(cal_bytes(w.cal) <= 640);
    cal_world_done(&w);
}
