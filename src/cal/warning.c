/* Finds what the author of a spec probably did not intend.
 *
 * Some warnings follow from the fields of the canonical calendars. The others come from compiled calendars
 * and the scheduler's own search: the spec as it is, without its exclusions, and with times in a gap moved
 * behind it, which shows the times that a gap removes. Fails as cal_new(). */
#include "cal/warning.h"

#include <stdio.h>

#include "base/clock.h"
#include "cal/civil.h"
#include "cal/field.h"
#include "cal/words.h"

#define HORIZON_S (3 * 366 * CIVIL_DAY_S)
#define SAMPLE 100 /* times that are checked for their distance */
#define FREQUENT_S 60
#define RARE_S (366 * CIVIL_DAY_S)
#define SENTENCE_BYTES_MAX 1024

const char *warning_word(enum warning_kind kind) {
    static const char *const words[] = {
#define WARNING(id, word) [WARNING_##id] = word,
#include "cal/warnings.def"
#undef WARNING
    };
    return words[kind];
}

struct warning_finder {
    const struct cal_spec *spec;
    const struct cal_zones *zones;
    struct arena *arena;
    int64_t now_us;
    struct cal *cal;
    struct warning *found;
    size_t count;
    bool has[WARNING_KINDS];
    bool failed; /* no memory */
};

static void warning_add(struct warning_finder *f, enum warning_kind kind, const char *fmt, ...)
    printf_like(3, 4);
static void warning_add(struct warning_finder *f, enum warning_kind kind, const char *fmt, ...) {
    char text[SENTENCE_BYTES_MAX];
    va_list args;
    if (f->has[kind])
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut when longer */
    va_end(args);
    const char *kept = arena_strdup(f->arena, text);
    f->failed |= !kept;
    f->has[kind] = true;
    f->found[f->count++] = (struct warning){kind, kept};
}

/* Fields. */

static bool warning_is_whole_field(const struct cal_ranges *ranges, enum cal_field field) {
    const struct field_kind *k = field_kind(field);
    uint64_t bits = 0;
    for (size_t i = 0; i < ranges->n; i++) {
        struct cal_range r = cal_range_clean(ranges->v[i]);
        for (int64_t v = r.first; v <= r.last; v += r.step)
            bits |= UINT64_C(1) << v;
    }
    return __builtin_popcountll(bits) == k->range_max - k->min + 1;
}

static bool warning_has_value(const struct cal_ranges *ranges, int value) {
    for (size_t i = 0; i < ranges->n; i++) {
        struct cal_range r = cal_range_clean(ranges->v[i]);
        if (value >= r.first && value <= r.last && (value - r.first) % r.step == 0)
            return true;
    }
    return false;
}

static void warning_check_days(struct warning_finder *f, const struct cal_calendar *c) {
    const struct cal_ranges *days = &c->fields[CAL_DAY_OF_MONTH];
    if (!warning_is_whole_field(days, CAL_DAY_OF_MONTH) &&
        !warning_is_whole_field(&c->fields[CAL_DAY_OF_WEEK], CAL_DAY_OF_WEEK))
        warning_add(
            f, WARNING_BOTH_DAYS,
            "Day of month and day of week are both given: a day must match both. In a Unix crontab one is "
            "enough; "
            "for that, use two cron strings.");
    if (warning_is_whole_field(days, CAL_DAY_OF_MONTH))
        return;
    for (int month = 1; month <= CIVIL_YEAR_MONTHS; month++) {
        for (int day = 29; day <= 31; day++) {
            if (!warning_has_value(days, day) || !warning_has_value(&c->fields[CAL_MONTH], month) ||
                day <= civil_month_len(2001, month))
                continue;
            warning_add(f, WARNING_SHORT_MONTH,
                        "Day %d does not come in every month: %s. L is the last day of any month.", day,
                        month == 2 && day == 29 ? "in February only in leap years"
                                                : "shorter ones are left out");
        }
    }
}

static void warning_check_steps(struct warning_finder *f, const struct cal_calendar *c) {
    static const char *const around[] = {[CAL_SECOND] = "minute", [CAL_MINUTE] = "hour", [CAL_HOUR] = "day"};
    static const char *const units[] = {
        [CAL_SECOND] = "second", [CAL_MINUTE] = "minute", [CAL_HOUR] = "hour"};
    for (int field = CAL_SECOND; field <= CAL_HOUR; field++) {
        int size = field_kind((enum cal_field)field)->range_max + 1;
        for (size_t i = 0; i < c->fields[field].n; i++) {
            struct cal_range r = cal_range_clean(c->fields[field].v[i]);
            if (r.first != 0 || r.last != size - 1 || r.step == 1 || size % r.step == 0)
                continue;
            warning_add(
                f, WARNING_UNEVEN,
                "Every %d %ss starts again with each %s, since %d does not divide %d: the last step is "
                "shorter. An "
                "interval (@every) does not start again.",
                r.step, units[field], around[field], r.step, size);
        }
    }
}

static void warning_check_fields(struct warning_finder *f) {
    for (size_t i = 0; i < f->spec->calendar_count; i++) {
        const struct cal_calendar *c = &f->spec->calendars[i];
        if (cal_calendar_carried(c).n)
            continue;
        warning_check_days(f, c);
        warning_check_steps(f, c);
    }
}

/* Times. */

enum warning_spec { WARNING_WITHOUT_EXCLUSIONS, WARNING_WHOLE_SPEC };

static int warning_compile_spec(struct warning_finder *f, struct str zone_name, enum warning_spec which,
                                struct cal **ret, struct err *err) {
    struct cal_spec part = *f->spec;
    part.zone_name = zone_name;
    if (which == WARNING_WITHOUT_EXCLUSIONS)
        part.exclude_count = 0;
    return cal_new(&part, f->zones, ret, err);
}

static bool warning_next_after(const struct cal *cal, int64_t after_s, int64_t *ret_s) {
    struct cal_time t;
    if (cal_next(cal, STR(""), after_s * USEC_PER_SEC, &t) != CAL_FOUND)
        return false;
    *ret_s = t.nominal_s;
    return true;
}

/* No time follows: there never was one, all are excluded, or all are past. */
static int warning_check_end(struct warning_finder *f, struct err *err) {
    cleanup(cal_freep) struct cal *raw = NULL;
    struct cal_time t;
    int64_t any_s, now_s = civil_div(f->now_us, USEC_PER_SEC);
    enum cal_answer answer = cal_next(f->cal, STR(""), f->now_us, &t);
    if (answer == CAL_FOUND) {
        if (t.nominal_s - now_s > RARE_S)
            warning_add(f, WARNING_RARE, "The next time is more than a year away.");
        return 0;
    }
    int rc = warning_compile_spec(f, f->spec->zone_name, WARNING_WITHOUT_EXCLUSIONS, &raw, err);
    if (rc < 0)
        return rc;
    if (!f->spec->calendar_count && !f->spec->interval_count)
        warning_add(f, WARNING_NEVER, "No times are given: it acts only when it is triggered or backfilled.");
    else if (answer == CAL_LIMIT || (f->spec->exclude_count && warning_next_after(raw, now_s, &any_s)))
        warning_add(f, WARNING_EXCLUDED, "It never acts any more: everything that it asks for is excluded.");
    else if (warning_next_after(raw, 0, &any_s))
        warning_add(f, WARNING_ENDED, "It does not act any more: all of its times are past.");
    else
        warning_add(f, WARNING_NEVER, "It never acts: no time matches, up to the end of the year 2100.");
    return 0;
}

static void warning_check_distance(struct warning_finder *f) {
    int64_t at_s, before_s, least_s = INT64_MAX;
    struct buf length cleanup(buf_done);
    buf_init(&length, SENTENCE_BYTES_MAX);
    if (!warning_next_after(f->cal, civil_div(f->now_us, USEC_PER_SEC), &before_s))
        return;
    for (int i = 0; i < SAMPLE && warning_next_after(f->cal, before_s, &at_s); i++) {
        least_s = MIN(least_s, at_s - before_s);
        before_s = at_s;
    }
    if (least_s == INT64_MAX)
        return;
    words_length(least_s * USEC_PER_SEC, &length);
    buf_add_u8(&length, 0);
    f->failed |= !buf_ok(&length);
    if (f->failed)
        return;
    if (least_s < FREQUENT_S)
        warning_add(
            f, WARNING_FREQUENT,
            "It acts very often: at its densest, %s lie between two times. Each is a workflow of its own.",
            (const char *)length.data);
    if (f->spec->jitter_us > least_s * USEC_PER_SEC)
        warning_add(
            f, WARNING_JITTER,
            "The jitter is longer than the %s between two times; it never reaches the next time, so there "
            "it is "
            "shortened.",
            (const char *)length.data);
}

/* Clock changes. */

static const char *warning_date_text(const struct zone *z, int64_t utc_s, char text[CIVIL_TEXT_MAX]) {
    civil_format(zone_local(z, utc_s), "", text);
    text[strlen("2026-03-29")] = 0;
    return text;
}

static const char *warning_clock_text(int64_t local_s, char text[CIVIL_TEXT_MAX]) {
    civil_format(local_s, "", text);
    return text + strlen("2026-03-29T");
}

static void warning_check_gap(struct warning_finder *f, const struct cal *shifting, struct zone_span before,
                              struct zone_span after) {
    const struct zone *z = cal_zone(f->cal);
    char date[CIVIL_TEXT_MAX], asked[CIVIL_TEXT_MAX];
    int64_t moved_s;
    size_t index;
    if (!warning_next_after(shifting, after.begin_s - 1, &moved_s) ||
        moved_s >= after.begin_s + after.offset_s - before.offset_s ||
        cal_judge(f->cal, moved_s, &index) == CAL_IS_TIME)
        return;
    warning_add(f, WARNING_GAP,
                "On %s the clocks jump over %s: it does not act then. With ;missing=shift behind the zone's "
                "name it acts after the jump.",
                warning_date_text(z, moved_s, date), warning_clock_text(moved_s + before.offset_s, asked));
}

static void warning_check_fold(struct warning_finder *f, struct zone_span before, struct zone_span after) {
    const struct zone *z = cal_zone(f->cal);
    char date[CIVIL_TEXT_MAX], twice[CIVIL_TEXT_MAX];
    int64_t length_s = before.offset_s - after.offset_s, first_s, lone_s;
    size_t index;
    if (!warning_next_after(f->cal, after.begin_s - length_s - 1, &first_s) || first_s >= after.begin_s ||
        cal_judge(f->cal, first_s + length_s, &index) != CAL_IS_TIME)
        return;
    /* A schedule that acts more often than the fold is long just continues. */
    if (warning_next_after(f->cal, first_s - length_s - 1, &lone_s) && lone_s != first_s)
        return;
    warning_add(
        f, WARNING_FOLD,
        "On %s the clocks show %s twice: it acts twice. With ;repeated=first behind the zone's name it "
        "acts once.",
        warning_date_text(z, first_s, date), warning_clock_text(first_s + before.offset_s, twice));
}

static int warning_check_clock_changes(struct warning_finder *f, struct err *err) {
    const struct zone *z = cal_zone(f->cal);
    cleanup(cal_freep) struct cal *shifting = NULL;
    struct zone_label label;
    int64_t now_s = civil_div(f->now_us, USEC_PER_SEC);
    if (!z || f->spec->zone_data.n || zone_label_parse(f->spec->zone_name, &label, err) < 0)
        return 0;
    const char *name = arena_printf(f->arena, "%.*s;missing=shift;repeated=%s", (int)label.name.n,
                                    label.name.p, zone_repeated_name(label.repeated));
    if (!name)
        return err_std(err, ERR_NO_MEMORY);
    int rc = warning_compile_spec(f, str_of(name), WARNING_WHOLE_SPEC, &shifting, err);
    if (rc < 0)
        return rc;
    struct zone_span before = zone_span_at(z, now_s);
    while (before.end_s < now_s + HORIZON_S) {
        struct zone_span after = zone_span_at(z, before.end_s);
        if (after.offset_s > before.offset_s && label.missing == ZONE_MISSING_SKIP)
            warning_check_gap(f, shifting, before, after);
        if (after.offset_s < before.offset_s && label.repeated == ZONE_REPEATED_BOTH)
            warning_check_fold(f, before, after);
        before = after;
    }
    return 0;
}

static void warning_check_zone(struct warning_finder *f) {
    if (cal_zone(f->cal) && f->spec->interval_count && !f->spec->calendar_count)
        warning_add(f, WARNING_NO_ZONE, "Intervals count in UTC: the time zone changes nothing.");
}

int warnings_of(const struct cal_spec *s, const struct cal_zones *zones, int64_t now_us, struct arena *arena,
                struct warning ret[WARNING_KINDS], size_t *ret_count, struct err *reterr) {
    struct warning_finder f = {.spec = s, .zones = zones, .arena = arena, .now_us = now_us, .found = ret};
    *ret_count = 0;
    int rc = cal_new(s, zones, &f.cal, reterr);
    if (rc < 0)
        return rc;
    rc = warning_check_end(&f, reterr);
    if (rc == 0)
        rc = warning_check_clock_changes(&f, reterr);
    warning_check_fields(&f);
    warning_check_distance(&f);
    warning_check_zone(&f);
    cal_free(f.cal);
    if (rc == 0 && f.failed)
        rc = err_std(reterr, ERR_NO_MEMORY);
    *ret_count = f.count;
    return rc;
}
