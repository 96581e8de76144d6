/* Cron schedules of workflows: minute, hour, day of month, month, day of week.
 *
 * A schedule is parsed into one bit set for each field; the next time is found
 * by skipping whole months, days and hours that cannot match, so that even a
 * date that never comes is settled in bounded time. Times are UTC. */
#include "core/cron.h"

#include <string.h>
#include <strings.h>

#include "base/str.h"

#define CRON_YEARS_MAX 8 /* 29 February can be eight years away */
#define SECONDS_PER_DAY INT64_C(86400)

enum cron_field { CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY, CRON_FIELD_COUNT };

struct cron {
    uint64_t bits[CRON_FIELD_COUNT];
    bool any_day; /* the field was * or ?: then only the other kind of day counts */
    bool any_weekday;
    int64_t every_us; /* for @every; the rest is unused */
};

static const struct {
    int min, max;
    const char *names[13];
} cron_fields[CRON_FIELD_COUNT] = {
    [CRON_MINUTE] = {0, 59, {NULL}},
    [CRON_HOUR] = {0, 23, {NULL}},
    [CRON_DAY] = {1, 31, {NULL}},
    [CRON_MONTH] = {1,
                    12,
                    {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
    [CRON_WEEKDAY] = {0, 6, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
};

static const struct {
    const char *name, *fields;
} cron_names[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"},
};

/* Parsing */

static bool parse_value(struct str word, enum cron_field f, int *ret) {
    int64_t n;
    for (int i = 0; cron_fields[f].names[i]; i++) {
        if (word.n == 3 && strncasecmp(word.p, cron_fields[f].names[i], 3) == 0) {
            *ret = i + cron_fields[f].min;
            return true;
        }
    }
    if (str_to_i64(word, &n) < 0 || n < cron_fields[f].min || n > cron_fields[f].max)
        return false;
    *ret = (int)n;
    return true;
}

/* Cuts s at the first `at`; false when there is none. */
static bool cut(struct str *s, char at, struct str *ret_rest) {
    const char *p = s->n ? memchr(s->p, at, s->n) : NULL;
    if (!p)
        return false;
    *ret_rest = str_bytes(p + 1, s->n - (size_t)(p - s->p) - 1);
    s->n = (size_t)(p - s->p);
    return true;
}

/* "*", "5", "1-5", each with an optional "/step". */
static bool parse_range(struct str word, enum cron_field f, uint64_t *bits) {
    struct str step_word, high_word;
    int64_t step = 1;
    int low = cron_fields[f].min, high = cron_fields[f].max;
    bool has_step = cut(&word, '/', &step_word);
    if (has_step && (str_to_i64(step_word, &step) < 0 || step < 1))
        return false;
    if (!str_is(word, "*") && !str_is(word, "?")) {
        bool is_range = cut(&word, '-', &high_word);
        if (!parse_value(word, f, &low) || (is_range && !parse_value(high_word, f, &high)))
            return false;
        if (!is_range && !has_step)
            high = low;
    }
    if (low > high)
        return false;
    for (int64_t v = low; v <= high; v += step)
        *bits |= UINT64_C(1) << v;
    return true;
}

static bool parse_field(struct str word, enum cron_field f, struct cron *c) {
    struct str rest;
    if (f == CRON_DAY)
        c->any_day = word.n && (*word.p == '*' || *word.p == '?');
    if (f == CRON_WEEKDAY)
        c->any_weekday = word.n && (*word.p == '*' || *word.p == '?');
    while (cut(&word, ',', &rest)) {
        if (!parse_range(word, f, &c->bits[f]))
            return false;
        word = rest;
    }
    return parse_range(word, f, &c->bits[f]);
}

static bool next_word(struct str *s, struct str *ret) {
    while (s->n && (*s->p == ' ' || *s->p == '\t'))
        *s = str_bytes(s->p + 1, s->n - 1);
    size_t n = 0;
    while (n < s->n && s->p[n] != ' ' && s->p[n] != '\t')
        n++;
    *ret = str_bytes(s->p, n);
    *s = str_bytes(s->p + n, s->n - n);
    return n > 0;
}

static bool parse_fields(struct str s, struct cron *c) {
    struct str word;
    for (int f = 0; f < CRON_FIELD_COUNT; f++)
        if (!next_word(&s, &word) || !parse_field(word, (enum cron_field)f, c))
            return false;
    return !next_word(&s, &word);
}

/* "1h30m", "90s", "500ms": what @every takes, in whole seconds, at least one. */
static bool parse_every(struct str s, struct cron *c) {
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = {
        {"ms", USEC_PER_MS}, {"h", 3600 * USEC_PER_SEC}, {"m", 60 * USEC_PER_SEC}, {"s", USEC_PER_SEC}};
    int64_t total = 0;
    while (s.n) {
        size_t digits = 0, u = 0;
        int64_t n, part;
        while (digits < s.n && s.p[digits] >= '0' && s.p[digits] <= '9')
            digits++;
        if (str_to_i64(str_bytes(s.p, digits), &n) < 0)
            return false;
        s = str_bytes(s.p + digits, s.n - digits);
        while (u < ARRAY_LEN(units) && !str_starts(s, str_of(units[u].unit)))
            u++;
        if (u == ARRAY_LEN(units) || __builtin_mul_overflow(n, units[u].us, &part))
            return false;
        total = usec_add(total, part);
        s = str_bytes(s.p + strlen(units[u].unit), s.n - strlen(units[u].unit));
    }
    c->every_us = MAX(total / USEC_PER_SEC * USEC_PER_SEC, USEC_PER_SEC);
    return total > 0;
}

static bool is_utc(struct str zone) {
    return str_is(zone, "UTC") || str_is(zone, "Etc/UTC") || str_is(zone, "GMT");
}

static int parse(const char *schedule, struct cron *c, struct err *err) {
    struct str s = str_of(schedule), zone, rest;
    *c = (struct cron){0};
    if (str_starts(s, STR("CRON_TZ=")) || str_starts(s, STR("TZ="))) {
        (void)cut(&s, '=', &rest);
        s = rest;
        (void)next_word(&s, &zone);
        if (!is_utc(zone))
            return err_set(err, ERR_UNIMPLEMENTED,
                           "CRON_TZ=%.*s: time zones other than UTC are not supported for cron_schedule yet",
                           (int)MIN(zone.n, 64), zone.p);
        while (s.n && *s.p == ' ')
            s = str_bytes(s.p + 1, s.n - 1);
    }
    if (str_starts(s, STR("@every ")) && parse_every(str_bytes(s.p + 7, s.n - 7), c))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(cron_names); i++)
        if (str_is(s, cron_names[i].name))
            s = str_of(cron_names[i].fields);
    if (parse_fields(s, c))
        return 0;
    return err_set(err, ERR_INVALID,
                   "invalid CronSchedule \"%.100s\": expected five fields, @every or a name such as @daily",
                   schedule);
}

int cron_validate(const char *schedule, struct err *err) {
    struct cron c;
    return parse(schedule, &c, err);
}

/* The next time */

struct civil {
    int64_t year;
    int month, day, weekday;
};

/* Days since 1970 to a date, by eras of 400 years that begin in March. */
static struct civil civil_of(int64_t days) {
    int64_t z = days + 719468;
    int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    int64_t doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    struct civil c = {.day = (int)(doy - (153 * mp + 2) / 5 + 1), .month = (int)(mp < 10 ? mp + 3 : mp - 9)};
    c.year = yoe + era * 400 + (c.month <= 2);
    c.weekday = (int)(((days % 7) + 11) % 7);
    return c;
}

static bool has(uint64_t bits, int v) {
    return bits >> v & 1;
}

static bool day_matches(const struct cron *c, int64_t days) {
    struct civil d = civil_of(days);
    if (!has(c->bits[CRON_MONTH], d.month))
        return false;
    bool day = has(c->bits[CRON_DAY], d.day), weekday = has(c->bits[CRON_WEEKDAY], d.weekday);
    return c->any_day || c->any_weekday ? day && weekday : day || weekday;
}

/* The first minute of the day, at or after `minute`, that matches; -1 when there is none. */
static int minute_in_day(const struct cron *c, int minute) {
    for (; minute < 24 * 60; minute++)
        if (has(c->bits[CRON_HOUR], minute / 60) && has(c->bits[CRON_MINUTE], minute % 60))
            return minute;
    return -1;
}

static int64_t next_after(const struct cron *c, int64_t after_us) {
    if (c->every_us)
        return usec_add(after_us - after_us % USEC_PER_SEC, c->every_us);
    int64_t minutes = after_us / (60 * USEC_PER_SEC) + 1;
    int64_t day = minutes * 60 / SECONDS_PER_DAY;
    int from = (int)(minutes - day * SECONDS_PER_DAY / 60);
    for (int64_t last = day + CRON_YEARS_MAX * 366; day <= last; day++, from = 0) {
        int m = day_matches(c, day) ? minute_in_day(c, from) : -1;
        if (m >= 0)
            return (day * SECONDS_PER_DAY + m * INT64_C(60)) * USEC_PER_SEC;
    }
    return CLOCK_NEVER;
}

int64_t cron_next_us(const char *schedule, int64_t from_us, int64_t now_us) {
    struct cron c;
    if (parse(schedule, &c, NULL) < 0)
        return CLOCK_NEVER;
    if (c.every_us && now_us > from_us) /* skip what was missed in one go */
        from_us += (now_us - from_us) / c.every_us * c.every_us;
    int64_t next = next_after(&c, c.every_us ? from_us : MAX(from_us, now_us - 1));
    while (next < now_us)
        next = next_after(&c, next);
    return next;
}
