/* What takes many calendars or all zones to see: these tests are too long to be repeated with failing
 * allocations. */
#include <stdio.h>

#include "base/clock.h"
#include "cal/warning.h"
#include "cal_fixture.h"

TEST(the_copy_has_the_world) {
    struct zoneinfo *z cleanup(zoneinfo_freep) = zoneinfo_new(NULL);
    size_t count = 0;
    REQUIRE(z != NULL);
    for (const char *name; (name = zoneinfo_builtin_name(count)); count++)
        test_check(zoneinfo_find(z, str_of(name)) != NULL, __FILE__, __LINE__, name);
    CHECK(count > 400);
    CHECK(strlen(zoneinfo_builtin_version()) >= 5);
}

/* The small copies must say the same as the files they were made from. */
TEST(the_copy_is_like_the_files) {
    struct zoneinfo *copy cleanup(zoneinfo_freep) = zoneinfo_new(NULL);
    struct zoneinfo *files cleanup(zoneinfo_freep) = zoneinfo_new(ZONEINFO_DIRECTORY);
    REQUIRE(copy && files);
    for (size_t i = 0; zoneinfo_builtin_name(i); i++) {
        struct str name = str_of(zoneinfo_builtin_name(i));
        const struct zone *a = zoneinfo_find(copy, name), *b = zoneinfo_find(files, name);
        if (!test_check(a && b, __FILE__, __LINE__, name.p))
            continue;
        for (int64_t at_s = INT64_C(-3000000000); at_s < INT64_C(5000000000);) {
            struct zone_span x = zone_span_at(a, at_s), y = zone_span_at(b, at_s);
            bool same = x.offset_s == y.offset_s && x.is_dst == y.is_dst && cstr_eq(x.abbrev, y.abbrev);
            if (!test_check(same && (x.end_s == y.end_s || at_s < 0), __FILE__, __LINE__, name.p))
                break;
            at_s = MIN(MIN(x.end_s, y.end_s), INT64_C(5000000000));
        }
    }
}

/* Schedules must not come together: every minute gets between a third and three times its share. */
TEST(spread_is_even) {
    enum { COUNT = 6000 };
    size_t minutes[60] = {0};
    struct cal_world w;
    cal_world_init(&w);
    for (int i = 0; i < COUNT; i++) {
        char seed[32];
        (void)snprintf(seed, sizeof(seed), "namespace-schedule-%d", i);
        arena_clear(&w.arena);
        cal_spec_init(&w.spec, &w.arena, str_of(seed));
        if (!CHECK_INT(cal_spec_add_cron(&w.spec, STR("H * * * *"), &w.err), 0))
            break;
        minutes[w.spec.calendars[0].fields[CAL_MINUTE].v[0].first]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(minutes); i++)
        CHECK(minutes[i] > COUNT / 60 / 3 && minutes[i] < COUNT / 60 * 3);
    cal_world_done(&w);
}

TEST(entries_are_bounded) {
    struct cal_world w;
    struct cal_interval i = {2 * USEC_PER_SEC, 0};
    int e = 0;
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    for (size_t n = 0; n < CAL_ENTRIES_MAX && e == 0; n++)
        e = cal_spec_add_interval(&w.spec, &i, &w.err);
    CHECK_INT(e, 0);
    CHECK_INT(cal_spec_add_interval(&w.spec, &i, &w.err), ERR_INVALID);
    cal_world_done(&w);
}

/* Every second, less the even ones, less the odd ones: nothing is left, and no single exclusion says so. */
#define HOPELESS                                                                                             \
    "cal sec=* min=* hour=* | notcron DTSTART:19700101T000000 RRULE:FREQ=SECONDLY;INTERVAL=2 | "              \
    "notcron DTSTART:19700101T000001 RRULE:FREQ=SECONDLY;INTERVAL=2"

TEST(a_hopeless_search_is_given_up) {
    CHECK_TIMES(HOPELESS, "2022-03-23T12:00", "limit");
    /* the other kind of time is found nevertheless, as long as it comes soon */
    CHECK_TIMES("cron @every 2s | cron 30 9 * * * * * | not sec=*/2 min=* hour=*", "2022-03-23T12:00",
                "limit");
    CHECK_TIMES("cron @every 2s | cal sec=31 min=30 hour=9 | not sec=*/2 min=* hour=*", "2022-03-23T12:00",
                "2022-03-24 09:30:31");
}

TEST(a_hopeless_search_is_warned_of) {
    struct cal_world w;
    struct warning found[WARNING_KINDS];
    size_t n = 0;
    cal_world_init(&w);
    CHECK_INT(cal_world_make(&w, HOPELESS), 0);
    CHECK_INT(warnings_of(&w.spec, &w.zones, 0, &w.arena, found, &n, &w.err), 0);
    CHECK(n == 1 && found[0].kind == WARNING_EXCLUDED);
    cal_world_done(&w);
}
