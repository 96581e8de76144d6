/* Rules that were united match what the rules matched before, second by second. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cal/unite.h"
#include "cal_fixture.h"

#define SETS 300
#define RULES_MAX 60
#define MOMENTS 400
#define BEGIN_S INT64_C(1735689600) /* 2025 */
#define YEARS_S (6 * 366 * CIVIL_DAY_S)
#define DAY_MINUTES 1440

static uint64_t some_bits(struct rng *rng, int count) {
    uint64_t all = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
    switch (rng_below(rng, 3)) {
    case 0:
        return all;
    case 1:
        return UINT64_C(1) << rng_below(rng, (uint64_t)count);
    default:
        return rng_u64(rng) & all;
    }
}

static void change_field(struct rng *rng, struct rule *r) {
    switch (rng_below(rng, 8)) {
    case 0:
        r->seconds = some_bits(rng, 60);
        break;
    case 1:
        r->minutes = some_bits(rng, 60);
        break;
    case 2:
        r->hours = (uint32_t)some_bits(rng, 24);
        break;
    case 3:
        r->days = (uint32_t)some_bits(rng, 31) << 1;
        break;
    case 4:
        r->months = (uint16_t)(some_bits(rng, 12) << 1);
        break;
    case 5:
        r->weekdays = (uint8_t)some_bits(rng, 7);
        break;
    case 6:
        r->is_any_year = rng_below(rng, 2);
        r->years[0] = r->is_any_year ? 0 : some_bits(rng, 40);
        break;
    default:
        r->is_either = rng_below(rng, 2);
        break;
    }
    rule_seal(r);
}

/* Mostly like the one before, so that there is something to unite. */
static size_t make_rules(struct rng *rng, struct rule *rules) {
    size_t count = 1 + rng_below(rng, RULES_MAX);
    struct rule r = {.seconds = 1,
                     .minutes = 1,
                     .hours = 1,
                     .days = 2,
                     .months = 2,
                     .weekdays = 0x7F,
                     .is_any_year = true};
    for (size_t i = 0; i < count; i++) {
        change_field(rng, &r);
        rules[i] = r;
    }
    return count;
}

static bool any_matches(const struct rule *rules, size_t count, int64_t local_s) {
    struct rule_moment at = rule_moment(local_s);
    for (size_t i = 0; i < count; i++)
        if (rule_matches(&rules[i], &at))
            return true;
    return false;
}

/* A second that one of the rules matches, or any other one. */
static int64_t some_second(struct rng *rng, const struct rule *rules, size_t count) {
    int64_t at_s = BEGIN_S + (int64_t)rng_below(rng, (uint64_t)YEARS_S);
    uint64_t months = 0;
    int64_t next_s = rule_next(&rules[rng_below(rng, count)], at_s, BEGIN_S + YEARS_S, &months);
    return next_s == RULE_NONE || rng_below(rng, 4) == 0 ? at_s : next_s + (int64_t)rng_below(rng, 3) - 1;
}

TEST(united_rules_match_the_same) {
    struct rng rng;
    struct rule before[RULES_MAX], after[RULES_MAX];
    size_t matched = 0, saved = 0, wrong = 0;
    rng_init(&rng, 7);
    for (int set = 0; set < SETS; set++) {
        size_t count = make_rules(&rng, before);
        memcpy(after, before, count * sizeof(*after));
        size_t left = rules_unite(after, (uint32_t)count);
        saved += count - left;
        for (int i = 0; i < MOMENTS; i++) {
            int64_t at_s = some_second(&rng, before, count);
            bool want = any_matches(before, count, at_s);
            matched += want;
            wrong += want != any_matches(after, left, at_s);
        }
    }
    CHECK_INT(wrong, 0);
    CHECK(matched > SETS * MOMENTS / 4);
    CHECK(saved > SETS);
}

static int exclude_minutes(struct cal_world *w, int count) {
    struct err e = {0};
    int rc = cal_spec_add_cron(&w->spec, STR("* * * * *"), &e);
    for (int i = 0; i < count && rc == 0; i++) {
        struct cal_range zero = {0, 0, 1}, minute = {i % 60, i % 60, 1}, hour = {i / 60, i / 60, 1};
        struct cal_range day = {1, 31, 1}, month = {1, 12, 1}, weekday = {0, 6, 1};
        struct cal_calendar c = {
            .fields = {{&zero, 1}, {&minute, 1}, {&hour, 1}, {&day, 1}, {&month, 1}, {&weekday, 1}}};
        rc = cal_spec_exclude_calendar(&w->spec, &c, &e);
    }
    return rc == 0 ? cal_new(&w->spec, NULL, &w->cal, &e) : rc;
}

/* An exclusion for each minute of the day but the last: the search skips days as if it were one exclusion. */
TEST(an_exclusion_for_each_minute_is_cheap) {
    cleanup(cal_world_done) struct cal_world w;
    struct cal_time t = {0};
    uint64_t work = 0;
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    REQUIRE(exclude_minutes(&w, DAY_MINUTES - 1) == 0);
    CHECK_INT(cal_next_counted(w.cal, STR(""), BEGIN_S * USEC_PER_SEC, &t, &work), CAL_FOUND);
    CHECK_INT(t.nominal_s, BEGIN_S + CIVIL_DAY_S - 60);
    CHECK(work < 1000);
}

TEST(an_exclusion_for_every_minute_leaves_nothing) {
    cleanup(cal_world_done) struct cal_world w;
    struct cal_time t = {0};
    uint64_t work = 0;
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    REQUIRE(exclude_minutes(&w, DAY_MINUTES) == 0);
    CHECK_INT(cal_next_counted(w.cal, STR(""), BEGIN_S * USEC_PER_SEC, &t, &work), CAL_NONE);
    CHECK(work < 100000);
}

/* Each recurrence alone may count so far; all of a spec together may not. */
TEST(counts_of_all_recurrences_are_bounded) {
    cleanup(cal_world_done) struct cal_world w;
    struct err e = {0};
    int rc = 0;
    cal_world_init(&w);
    cal_spec_init(&w.spec, &w.arena, STR(""));
    for (int i = 0; i < 40 && rc == 0; i++)
        rc = cal_spec_add_cron(&w.spec, STR("DTSTART:20250101T000000 RRULE:FREQ=MINUTELY;COUNT=20000"), &e);
    REQUIRE(rc == 0);
    CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &e), ERR_INVALID);
    CHECK(strstr(e.text, "UNTIL") != NULL);
    w.spec.calendar_count = 10;
    CHECK_INT(cal_new(&w.spec, NULL, &w.cal, &e), 0);
}
