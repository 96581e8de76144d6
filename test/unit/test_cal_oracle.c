/* The search against a walk over every second.
 *
 * Random specs in random zones of the whole database, most of them near a change of the clock. What should
 * match is decided here for each second of some hours by the plain definition: take the local time (the
 * offsets come from libc, which reads the same database with other code), look whether each field is listed,
 * apply the zone's policy. The times that cal_next gives one after the other must be exactly these, and
 * cal_judge must agree.
 *
 *   CAL_CASES=100000 CAL_SEED=7 test_cal_oracle      more cases, other cases; a failure names its own seed */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cal/civil.h"
#include "cal_fixture.h"

#define CASES_DEFAULT 10000
#define WINDOW_S (5 * CIVIL_HOUR_S)
#define MARGIN_S (60 * CIVIL_HOUR_S) /* around the window: where the other instant of a local time can be */
#define PROBE_S 900
#define SEGMENTS_MAX 64
#define CALENDARS_MAX 3
#define EXCLUDES_MAX 20
#define MATCHES_MAX 300
#define LAST_S (RULES_END_S - 2 * MARGIN_S)
#define RULES_END_S INT64_C(4133980800) /* 2101 */

struct segment {
    int64_t begin_s, end_s, offset_s;
};

/* A calendar as lists of values, and the text that it was written as. */
struct model {
    bool values[CAL_FIELD_COUNT][101]; /* years from 2000 */
    bool any_year;
    bool last, last_workday; /* L, LW */
    int before_last, near; /* L-n, nW; 0: not there */
    int nth, nth_day; /* d#n */
    int last_day; /* dL; -1: not there */
    char text[1200];
};

struct oracle {
    struct rng rng;
    const char *zone;
    struct model calendars[CALENDARS_MAX], excludes[EXCLUDES_MAX];
    size_t calendar_count, exclude_count;
    int64_t interval_s, phase_s; /* 0: no interval */
    enum zone_missing missing;
    enum zone_repeated repeated;
    struct segment segments[SEGMENTS_MAX];
    size_t segment_count;
    int64_t begin_s, end_s;
    char spec[32000];
};

static const struct {
    int min, max;
} bounds[CAL_FIELD_COUNT] = {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}, {2000, 2100}};

static int64_t libc_offset(int64_t utc_s) {
    time_t t = (time_t)utc_s;
    struct tm tm;
    return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

static int pick(struct oracle *o, int min, int max) {
    return min + (int)rng_below(&o->rng, (uint64_t)(max - min + 1));
}

/* One range of a field: adds its text and its values. */
static void add_range(struct oracle *o, struct model *m, int field, size_t *n) {
    int min = bounds[field].min, max = bounds[field].max, first = pick(o, min, max), last = first, step = 1;
    size_t room = sizeof(m->text) - *n;
    switch (pick(o, 0, 4)) {
    case 0:
        *n += (size_t)snprintf(m->text + *n, room, "%d", first);
        break;
    case 1:
        last = pick(o, first, max);
        *n += (size_t)snprintf(m->text + *n, room, "%d-%d", first, last);
        break;
    case 2:
        last = pick(o, first, max);
        step = pick(o, 1, 9);
        *n += (size_t)snprintf(m->text + *n, room, "%d-%d/%d", first, last, step);
        break;
    case 3:
        first = min;
        last = max;
        step = pick(o, 1, 9);
        *n += (size_t)snprintf(m->text + *n, room, "*/%d", step);
        if (field == CAL_DAY_OF_WEEK && step == 7) /* runs to 7, which is Sunday once more */
            last = min;
        break;
    default:
        first = min;
        last = max;
        *n += (size_t)snprintf(m->text + *n, room, "*");
        break;
    }
    for (int v = first; v <= last; v += step)
        m->values[field][field == CAL_YEAR ? v - 2000 : v] = true;
}

/* Days that ranges cannot say. */
static void add_mark(struct oracle *o, struct model *m, int field, size_t *n) {
    size_t room = sizeof(m->text) - *n;
    int form = pick(o, 0, field == CAL_DAY_OF_MONTH ? 3 : 1);
    if (field == CAL_DAY_OF_WEEK) {
        int day = pick(o, 0, 6);
        if (form == 0) {
            m->nth = pick(o, 1, 5);
            m->nth_day = day;
            *n += (size_t)snprintf(m->text + *n, room, ",%d#%d", day, m->nth);
        } else {
            m->last_day = day;
            *n += (size_t)snprintf(m->text + *n, room, ",%dL", day);
        }
    } else if (form == 0) {
        m->last = true;
        *n += (size_t)snprintf(m->text + *n, room, ",L");
    } else if (form == 1) {
        m->last_workday = true;
        *n += (size_t)snprintf(m->text + *n, room, ",LW");
    } else if (form == 2) {
        m->before_last = pick(o, 1, 30);
        *n += (size_t)snprintf(m->text + *n, room, ",L-%d", m->before_last);
    } else {
        m->near = pick(o, 1, 31);
        *n += (size_t)snprintf(m->text + *n, room, ",%dW", m->near);
    }
}

static void make_model(struct oracle *o, struct model *m) {
    size_t n = 0;
    bool is_dense = pick(o, 0, 2) > 0; /* sparse ones test that nothing is found where nothing is */
    *m = (struct model){.last_day = -1};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        bool is_day = f >= CAL_DAY_OF_MONTH;
        n += (size_t)snprintf(m->text + n, sizeof(m->text) - n, "%s", f > 0 ? " " : "");
        if (f == CAL_YEAR ? pick(o, 0, 9) > 0 : pick(o, 0, is_day && is_dense ? 9 : 3) > (is_day ? 1 : 2)) {
            n += (size_t)snprintf(m->text + n, sizeof(m->text) - n, "*");
            memset(m->values[f], true, sizeof(m->values[f]));
            m->any_year |= f == CAL_YEAR;
            continue;
        }
        size_t field_at = n;
        for (int i = pick(o, 0, 2); i >= 0; i--) {
            add_range(o, m, f, &n);
            n += (size_t)snprintf(m->text + n, sizeof(m->text) - n, "%s", i > 0 ? "," : "");
        }
        m->any_year |= f == CAL_YEAR && cstr_eq(m->text + field_at, "*");
        if ((f == CAL_DAY_OF_MONTH || f == CAL_DAY_OF_WEEK) && pick(o, 0, 2) == 0)
            add_mark(o, m, f, &n);
    }
}

static bool is_day_of_month(const struct model *m, const struct civil_date *d, int64_t day) {
    int len = civil_month_len(d->year, d->month);
    if (m->values[CAL_DAY_OF_MONTH][d->day] || (m->last && d->day == len) ||
        (m->before_last && d->day == len - m->before_last))
        return true;
    if (m->last_workday) {
        int last = len;
        for (int weekday; weekday = civil_weekday(day - d->day + last), weekday == 0 || weekday == 6;)
            last--;
        if (d->day == last)
            return true;
    }
    if (m->near && m->near <= len) {
        /* The nearest of the month's days from Monday to Friday; there is never a tie. */
        int best = 0;
        for (int x = 1; x <= len; x++) {
            int weekday = civil_weekday(day - d->day + x);
            if (weekday != 0 && weekday != 6 && (!best || abs(x - m->near) < abs(best - m->near)))
                best = x;
        }
        return d->day == best;
    }
    return false;
}

static bool is_day_of_week(const struct model *m, const struct civil_date *d, int weekday) {
    return m->values[CAL_DAY_OF_WEEK][weekday] ||
           (m->nth && weekday == m->nth_day && (d->day - 1) / 7 + 1 == m->nth) ||
           (weekday == m->last_day && d->day + 7 > civil_month_len(d->year, d->month));
}

static bool model_has(const struct model *m, int64_t local_s) {
    int64_t day = civil_div(local_s, CIVIL_DAY_S);
    int tod = (int)(local_s - day * CIVIL_DAY_S);
    if (!m->values[CAL_SECOND][tod % 60] || !m->values[CAL_MINUTE][tod / 60 % 60] ||
        !m->values[CAL_HOUR][tod / 3600])
        return false;
    struct civil_date d = civil_date_of(day);
    if (d.year > 2100 || !m->values[CAL_MONTH][d.month])
        return false;
    if (!m->any_year && (d.year < 2000 || !m->values[CAL_YEAR][d.year - 2000]))
        return false;
    return is_day_of_month(m, &d, day) && is_day_of_week(m, &d, civil_weekday(day));
}

static bool is_included(const struct oracle *o, int64_t local_s) {
    for (size_t i = 0; i < o->calendar_count; i++)
        if (model_has(&o->calendars[i], local_s))
            return true;
    return false;
}

static bool is_excluded(const struct oracle *o, int64_t local_s) {
    for (size_t i = 0; i < o->exclude_count; i++)
        if (model_has(&o->excludes[i], local_s))
            return true;
    return false;
}

static const struct segment *segment_at(const struct oracle *o, int64_t utc_s) {
    size_t i = 0;
    while (utc_s >= o->segments[i].end_s)
        i++;
    return &o->segments[i];
}

/* Whether another instant has the same local time and is the one that counts. */
static bool is_outdone(const struct oracle *o, int64_t utc_s, int64_t local_s) {
    for (size_t i = 0; i < o->segment_count && o->repeated != ZONE_REPEATED_BOTH; i++) {
        const struct segment *s = &o->segments[i];
        int64_t other_s = local_s - s->offset_s;
        if (other_s < s->begin_s || other_s >= s->end_s || other_s == utc_s)
            continue;
        if ((o->repeated == ZONE_REPEATED_FIRST) == (other_s < utc_s))
            return true;
    }
    return false;
}

/* Whether a local time that a jump left out was moved to this second. */
static bool is_moved_here(const struct oracle *o, int64_t utc_s) {
    const struct segment *s = segment_at(o, utc_s);
    if (o->missing != ZONE_MISSING_SHIFT || s == o->segments || s->offset_s <= s[-1].offset_s)
        return false;
    int64_t local_s = utc_s + s[-1].offset_s;
    return utc_s < s->begin_s + s->offset_s - s[-1].offset_s && is_included(o, local_s) &&
           !is_excluded(o, local_s);
}

static bool is_time(const struct oracle *o, int64_t utc_s) {
    int64_t local_s = utc_s + segment_at(o, utc_s)->offset_s;
    bool is_asked = is_included(o, local_s) && !is_outdone(o, utc_s, local_s);
    if (o->interval_s > 0 && civil_mod(utc_s - o->phase_s, o->interval_s) == 0)
        is_asked = true;
    return (is_asked && !is_excluded(o, local_s)) || is_moved_here(o, utc_s);
}

/* The first second in (from_s, to_s] at which libc's offset is another one. */
static int64_t bisect_change(int64_t from_s, int64_t to_s) {
    int64_t offset_s = libc_offset(from_s);
    while (to_s - from_s > 1) {
        int64_t middle_s = from_s + (to_s - from_s) / 2;
        if (libc_offset(middle_s) == offset_s)
            from_s = middle_s;
        else
            to_s = middle_s;
    }
    return to_s;
}

static void find_segments(struct oracle *o) {
    int64_t at_s = o->begin_s - MARGIN_S, end_s = o->end_s + MARGIN_S;
    o->segments[0] = (struct segment){at_s, end_s, libc_offset(at_s)};
    o->segment_count = 1;
    for (; at_s < end_s && o->segment_count < SEGMENTS_MAX; at_s += PROBE_S) {
        struct segment *last = &o->segments[o->segment_count - 1];
        if (libc_offset(at_s + PROBE_S) == last->offset_s)
            continue;
        int64_t change_s = bisect_change(at_s, at_s + PROBE_S);
        last->end_s = change_s;
        o->segments[o->segment_count++] = (struct segment){change_s, end_s, libc_offset(change_s)};
    }
}

/* A place to look at: mostly where the clock is changed next. */
static void choose_window(struct oracle *o) {
    int64_t at_s = MARGIN_S + (int64_t)rng_below(&o->rng, (uint64_t)(LAST_S - 3 * MARGIN_S));
    if (pick(o, 0, 3) > 0) {
        int64_t offset_s = libc_offset(at_s);
        for (int day = 0; day < 400 && at_s < LAST_S - 2 * CIVIL_DAY_S; day++, at_s += CIVIL_DAY_S) {
            if (libc_offset(at_s + CIVIL_DAY_S) != offset_s) {
                at_s = bisect_change(at_s, at_s + CIVIL_DAY_S) - pick(o, 0, (int)WINDOW_S);
                break;
            }
        }
    }
    o->begin_s = at_s;
    o->end_s = at_s + WINDOW_S;
}

static void make_spec(struct oracle *o) {
    size_t n = (size_t)snprintf(o->spec, sizeof(o->spec), "zone %s;missing=%s;repeated=%s", o->zone,
                                zone_missing_name(o->missing), zone_repeated_name(o->repeated));
    for (size_t i = 0; i < o->calendar_count; i++)
        n += (size_t)snprintf(o->spec + n, sizeof(o->spec) - n, " | cron %s", o->calendars[i].text);
    for (size_t i = 0; i < o->exclude_count; i++)
        n += (size_t)snprintf(o->spec + n, sizeof(o->spec) - n, " | notcron %s", o->excludes[i].text);
    if (o->interval_s > 0)
        (void)snprintf(o->spec + n, sizeof(o->spec) - n, " | cron @every %llds/%llds",
                       (long long)o->interval_s, (long long)o->phase_s);
}

static void make_case(struct oracle *o, const char *zone, uint64_t seed) {
    rng_init(&o->rng, seed);
    o->zone = zone;
    o->calendar_count = (size_t)pick(o, 0, CALENDARS_MAX);
    o->exclude_count = (size_t)(pick(o, 0, 1) ? pick(o, 0, pick(o, 0, 3) ? CALENDARS_MAX : EXCLUDES_MAX) : 0);
    for (size_t i = 0; i < o->calendar_count; i++)
        make_model(o, &o->calendars[i]);
    for (size_t i = 0; i < o->exclude_count; i++)
        make_model(o, &o->excludes[i]);
    o->interval_s = pick(o, 0, 2) == 0 ? pick(o, 1, 20000) : 0;
    o->phase_s = o->interval_s > 0 ? pick(o, 0, (int)o->interval_s - 1) : 0;
    o->missing = (enum zone_missing)pick(o, 0, ZONE_MISSING_COUNT - 1);
    o->repeated = (enum zone_repeated)pick(o, 0, ZONE_REPEATED_COUNT - 1);
    choose_window(o);
    find_segments(o);
    make_spec(o);
}

/* Walks the window. The seconds that match must be those that cal_next gives. False at the first difference.
 * A search that was given up has found nothing, which is only right when nothing is there. */
static bool walk(const struct oracle *o, const struct cal *cal, size_t *matches) {
    struct cal_time t = {0};
    enum cal_answer answer = cal_next(cal, STR(""), (o->begin_s - 1) * USEC_PER_SEC, &t);
    size_t index;
    for (int64_t s = o->begin_s; s < o->end_s && *matches < MATCHES_MAX; s++) {
        bool want = is_time(o, s);
        bool got = answer == CAL_FOUND && t.nominal_s == s;
        bool judged = want || (s & 63) == 0 ? cal_judge(cal, s, &index) == CAL_IS_TIME : false;
        if (want != got || (want && !judged) || (judged && !want)) {
            fprintf(stderr, "# at %lld: expected %d, next() %lld, judged %d\n", (long long)s, want,
                    (long long)(answer == CAL_FOUND ? t.nominal_s : -1), judged);
            return false;
        }
        if (want) {
            *matches += 1;
            answer = cal_next(cal, STR(""), s * USEC_PER_SEC, &t);
        }
    }
    return true;
}

static uint64_t setting(const char *name, uint64_t fallback) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : fallback;
}

static bool run_case(struct oracle *o, struct cal_world *w, const char *zone, uint64_t seed,
                     size_t *matches) {
    char tz[128];
    (void)snprintf(tz, sizeof(tz), ":/usr/share/zoneinfo/%s", zone);
    setenv("TZ", tz, 1);
    tzset();
    make_case(o, zone, seed);
    arena_clear(&w->arena);
    bool ok = cal_world_make(w, o->spec) == 0 && walk(o, w->cal, matches);
    if (!ok)
        fprintf(stderr, "# CAL_SEED=%llu CAL_CASES=1: %s %s\n", (unsigned long long)seed, o->spec,
                w->err.text);
    return ok;
}

TEST(next_is_the_walk_over_every_second) {
    uint64_t seed = setting("CAL_SEED", 1), count = setting("CAL_CASES", CASES_DEFAULT);
    struct oracle *o = mem_zalloc(sizeof(*o));
    struct cal_world w;
    size_t matches = 0, with_matches = 0, zone_count = 0, failed = 0;
    while (zoneinfo_builtin_name(zone_count))
        zone_count++;
    cal_world_init(&w);
    for (uint64_t i = 0; o && i < count && failed < 5; i++) {
        size_t found = 0;
        failed += !run_case(o, &w, zoneinfo_builtin_name((seed + i) % zone_count), seed + i, &found);
        matches += found;
        with_matches += found > 0;
    }
    printf("# %llu cases in %zu zones, %zu with times, %zu times\n", (unsigned long long)count, zone_count,
           with_matches, matches);
    CHECK_INT(failed, 0);
    CHECK(zone_count > 300);
    CHECK(count < 1000 || with_matches > count / 4);
    cal_world_done(&w);
    mem_free(o);
}
