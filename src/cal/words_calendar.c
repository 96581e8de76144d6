/* Describes calendars in words.
 *
 * A field of a calendar becomes bits, and their pattern chooses the words: all values, one, every n-th, a
 * few. A text that a placeholder carries is parsed again by the parser of the search; words_recur.c describes
 * recurrences. Fails only as struct buf does. */
#include "cal/words.h"

#include "cal/civil.h"
#include "cal/words_int.h"

#define CLOCK_TIMES_MAX 6 /* so many times of day are listed one by one */
#define SPAN_MIN 3 /* so many consecutive values become "a to b" */
#define YEARS_MAX 200

static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
static const char *const month_names[] = {"",        "January",  "February", "March",  "April",
                                          "May",     "June",     "July",     "August", "September",
                                          "October", "November", "December"};

/* Sets of numbers. */

int words_count_set(uint64_t bits) {
    return __builtin_popcountll(bits);
}

static int words_first_bit(uint64_t bits) {
    return __builtin_ctzll(bits);
}

void words_add_number(struct buf *out, int n) {
    buf_printf(out, "%d", n);
}

void words_add_day_name(struct buf *out, int n) {
    buf_add_cstr(out, day_names[n % CIVIL_WEEK_DAYS]);
}

void words_add_month_name(struct buf *out, int n) {
    buf_add_cstr(out, month_names[n]);
}

void words_add_ordinal(struct buf *out, int n) {
    static const char *const suffixes[] = {"th", "st", "nd", "rd"};
    bool is_teen = n % 100 >= 11 && n % 100 <= 13;
    buf_printf(out, "%d%s", n, n % 10 < 4 && !is_teen ? suffixes[n % 10] : "th");
}

void words_add_joint(struct buf *out, bool is_first, bool is_last) {
    if (!is_first)
        buf_add_cstr(out, is_last ? " and " : ", ");
}

void words_add_set(struct buf *out, uint64_t bits, void (*add)(struct buf *out, int n)) {
    bool is_first = true;
    while (bits) {
        int first = words_first_bit(bits), last = first;
        while (bits >> last >> 1 & 1)
            last++;
        if (last - first + 1 < SPAN_MIN)
            last = first;
        for (int i = first; i <= last; i++)
            bits &= ~(UINT64_C(1) << i);
        words_add_joint(out, is_first, !bits);
        add(out, first);
        if (last > first) {
            buf_add_cstr(out, " to ");
            add(out, last);
        }
        is_first = false;
    }
}

/* From Monday to Sunday. */
void words_add_weekday_set(struct buf *out, uint64_t weekdays) {
    words_add_set(out, (weekdays & ~UINT64_C(1)) | (weekdays & 1) << CIVIL_WEEK_DAYS, words_add_day_name);
}

/* n > 1 when the set is every n-th number from min to max and has more than two; else 0. */
static int words_set_step(uint64_t bits, int min, int max) {
    if (words_count_set(bits) < 3 || words_first_bit(bits) != min)
        return 0;
    int step = words_first_bit(bits & (bits - 1)) - min;
    uint64_t made = 0;
    for (int i = min; i <= max; i += step)
        made |= UINT64_C(1) << i;
    return step > 1 && made == bits ? step : 0;
}

static uint64_t words_full_set(int min, int max) {
    uint64_t bits = 0;
    for (int i = min; i <= max; i++)
        bits |= UINT64_C(1) << i;
    return bits;
}

static uint64_t words_field_bits(const struct cal_calendar *c, enum cal_field field) {
    uint64_t bits = 0;
    for (size_t i = 0; i < c->fields[field].n; i++) {
        struct cal_range r = cal_range_clean(c->fields[field].v[i]);
        for (int64_t v = r.first; v <= r.last; v += r.step)
            bits |= UINT64_C(1) << v;
    }
    return bits;
}

/* Times of day. */

struct clock_sets {
    uint64_t seconds, minutes, hours;
};

static bool words_is_every(uint64_t bits, int max) {
    return bits == words_full_set(0, max);
}

static void words_add_clock_list(struct buf *out, const struct clock_sets *t) {
    int left = words_count_set(t->seconds) * words_count_set(t->minutes) * words_count_set(t->hours);
    bool is_first = true, has_seconds = t->seconds != 1;
    buf_add_cstr(out, "at ");
    for (int h = 0; h < 24; h++)
        for (int m = 0; m < 60; m++)
            for (int s = 0; s < 60; s++) {
                if (!(t->hours >> h & 1 && t->minutes >> m & 1 && t->seconds >> s & 1))
                    continue;
                words_add_joint(out, is_first, --left == 0);
                buf_printf(out, "%02d:%02d", h, m);
                if (has_seconds)
                    buf_printf(out, ":%02d", s);
                is_first = false;
            }
}

enum words_at { WORDS_WITH_AT, WORDS_WITHOUT_AT }; /* without: after another unit */

/* "every 5 minutes", "every 7th minute" when 7 does not divide the hour, "at the minutes 1, 2 and 30". */
static void words_add_unit(struct buf *out, uint64_t bits, int max, const char *unit, enum words_at at) {
    int step = words_set_step(bits, 0, max);
    if (words_is_every(bits, max)) {
        buf_printf(out, "every %s", unit);
    } else if (step && (max + 1) % step == 0) {
        buf_printf(out, "every %d %ss", step, unit);
    } else if (step) {
        buf_add_cstr(out, "every ");
        words_add_ordinal(out, step);
        buf_printf(out, " %s", unit);
    } else {
        buf_printf(out, "%sthe %s%s ", at == WORDS_WITH_AT ? "at " : "", unit,
                   words_count_set(bits) > 1 ? "s" : "");
        words_add_set(out, bits, words_add_number);
    }
}

static void words_add_hours(struct buf *out, uint64_t hours) {
    int step = words_set_step(hours, 0, 23);
    if (words_is_every(hours, 23)) {
        buf_add_cstr(out, "every hour");
    } else if (step && 24 % step == 0) {
        buf_add_cstr(out, "every ");
        words_add_ordinal(out, step);
        buf_add_cstr(out, " hour");
    } else {
        buf_printf(out, "the hour%s ", words_count_set(hours) > 1 ? "s" : "");
        words_add_set(out, hours, words_add_number);
    }
}

/* "every 15 minutes" is complete; "at the minute 15" needs its hours. */
static void words_add_minutes(struct buf *out, const struct clock_sets *t, enum words_at at) {
    size_t begin = out->len;
    words_add_unit(out, t->minutes, 59, "minute", at);
    if (words_is_every(t->hours, 23) && out->len > begin && out->data[begin] == 'e')
        return;
    buf_add_cstr(out, " of ");
    words_add_hours(out, t->hours);
}

static void words_add_seconds(struct buf *out, const struct clock_sets *t) {
    words_add_unit(out, t->seconds, 59, "second", WORDS_WITH_AT);
    if (!words_is_every(t->minutes, 59) || !words_is_every(t->hours, 23)) {
        buf_add_cstr(out, " of ");
        words_add_minutes(out, t, WORDS_WITHOUT_AT);
    }
}

static void words_add_clock(struct buf *out, const struct clock_sets *t) {
    int step = words_set_step(t->hours, 0, 23);
    bool on_zero_second = t->seconds == 1, on_zero_minute = t->minutes == 1;
    if (words_count_set(t->seconds) * words_count_set(t->minutes) * words_count_set(t->hours) <=
        CLOCK_TIMES_MAX) {
        words_add_clock_list(out, t);
    } else if (on_zero_second && on_zero_minute && words_is_every(t->hours, 23)) {
        buf_add_cstr(out, "every hour");
    } else if (on_zero_second && on_zero_minute && step) { /* such a step divides the day */
        buf_printf(out, "every %d hours", step);
    } else if (on_zero_second && on_zero_minute) {
        buf_add_cstr(out, "on the hour, at ");
        words_add_set(out, t->hours, words_add_number);
    } else if (on_zero_second && words_count_set(t->minutes) == 1) {
        buf_printf(out, "%d minutes past ", words_first_bit(t->minutes));
        words_add_hours(out, t->hours);
    } else if (on_zero_second) {
        words_add_minutes(out, t, WORDS_WITH_AT);
    } else {
        words_add_seconds(out, t);
    }
}

/* Days. */

static bool words_has_nth(const struct field_marks *m) {
    uint8_t any = m->last;
    for (size_t i = 0; i < ARRAY_LEN(m->nth); i++)
        any |= m->nth[i];
    return any != 0;
}

/* "the last day", "3 days before the last", "the weekday nearest to day 15", "day 1 and 15", in turn. */
static void words_add_month_days(struct buf *out, uint64_t days, const struct field_marks *m) {
    bool is_first = true;
    if (days) {
        buf_printf(out, "day%s ", words_count_set(days) > 1 ? "s" : "");
        words_add_set(out, days, words_add_number);
        is_first = false;
    }
    for (int i = 0; i < 32; i++) {
        if (m->near >> i & 1) {
            buf_printf(out, "%sthe weekday nearest to day %d", is_first ? "" : " and ", i);
            is_first = false;
        }
        if (m->from_end >> i & 1) {
            buf_add_cstr(out, is_first ? "" : " and ");
            buf_add_cstr(out, "the ");
            if (i)
                words_add_ordinal(out, i);
            buf_add_cstr(out, i ? " day before the last day" : "last day");
            is_first = false;
        }
    }
    if (m->is_last_workday)
        buf_printf(out, "%sthe last weekday", is_first ? "" : " and ");
}

static void words_add_weekdays(struct buf *out, uint64_t weekdays, const struct field_marks *m) {
    bool is_first = true;
    if (weekdays) {
        words_add_weekday_set(out, weekdays);
        is_first = false;
    }
    for (int w = 0; w < CIVIL_WEEK_DAYS; w++) {
        for (size_t n = 0; n <= ARRAY_LEN(m->nth); n++) {
            bool is_last = n == ARRAY_LEN(m->nth);
            if (!((is_last ? m->last : m->nth[n]) >> w & 1))
                continue;
            buf_add_cstr(out, is_first ? "the " : " and the ");
            if (is_last)
                buf_add_cstr(out, "last");
            else
                words_add_ordinal(out, (int)n + 1);
            buf_printf(out, " %s", day_names[w]);
            is_first = false;
        }
    }
}

static void words_add_years(struct buf *out, const struct cal_ranges *years) {
    buf_add_cstr(out, " in ");
    for (size_t i = 0; i < years->n; i++) {
        struct cal_range r = cal_range_clean(years->v[i]);
        words_add_joint(out, i == 0, i + 1 == years->n);
        buf_printf(out, r.last > r.first ? "%d to %d" : "%d", r.first, r.last);
        if (r.step > 1 && r.last > r.first) {
            buf_add_cstr(out, " (every ");
            words_add_ordinal(out, r.step);
            buf_add_u8(out, ')');
        }
    }
}

static bool words_is_any_year(const struct cal_ranges *years) {
    if (!years->n)
        return true;
    struct cal_range r = cal_range_clean(years->v[0]);
    return years->n == 1 && r.step == 1 && r.last - r.first >= YEARS_MAX / 2;
}

/* "every hour" implies every day; "at 09:00" needs the words "every day". */
enum words_day { WORDS_DAY_NAMED, WORDS_DAY_IMPLIED };

static void words_add_date(struct buf *out, const struct cal_calendar *c, const struct field_marks *m,
                           enum words_day day) {
    uint64_t days = words_field_bits(c, CAL_DAY_OF_MONTH), months = words_field_bits(c, CAL_MONTH),
             weekdays = words_field_bits(c, CAL_DAY_OF_WEEK);
    bool any_day = days == words_full_set(1, 31), any_month = months == words_full_set(1, 12),
         any_weekday = weekdays == words_full_set(0, 6);
    if (!any_day) {
        buf_add_cstr(out, " on ");
        words_add_month_days(out, days, m);
        buf_add_cstr(out, any_month ? " of the month" : " of ");
    } else if (!any_weekday) {
        buf_add_cstr(out, " on ");
        words_add_weekdays(out, weekdays, m);
        buf_add_cstr(out, any_month          ? words_has_nth(m) ? " of the month" : ""
                          : words_has_nth(m) ? " of "
                                             : " in ");
    } else {
        buf_add_cstr(out, day == WORDS_DAY_IMPLIED ? "" : " every day");
        buf_add_cstr(out, any_month ? "" : " in ");
    }
    if (!any_month)
        words_add_set(out, months, words_add_month_name);
    if (!any_day && !any_weekday) {
        buf_add_cstr(out, ", but only if it is ");
        words_add_weekdays(out, weekdays, m);
    }
    if (!words_is_any_year(&c->fields[CAL_YEAR]))
        words_add_years(out, &c->fields[CAL_YEAR]);
}

/* Whether a field without values makes it match nothing. No string gives such a field, but clients can. */
static bool words_is_empty(const struct cal_calendar *c, const struct field_marks *m) {
    bool has_day = words_field_bits(c, CAL_DAY_OF_MONTH) || m->near || m->from_end || m->is_last_workday;
    bool has_weekday = words_field_bits(c, CAL_DAY_OF_WEEK) || words_has_nth(m);
    bool has_time =
        words_field_bits(c, CAL_SECOND) && words_field_bits(c, CAL_MINUTE) && words_field_bits(c, CAL_HOUR);
    return !has_day || !has_weekday || !has_time || !words_field_bits(c, CAL_MONTH);
}

void words_plain(const struct cal_calendar *c, const struct field_marks *m, struct buf *out) {
    if (words_is_empty(c, m)) {
        buf_add_cstr(out, "never");
        return;
    }
    struct clock_sets t = {words_field_bits(c, CAL_SECOND), words_field_bits(c, CAL_MINUTE),
                           words_field_bits(c, CAL_HOUR)};
    int per_day = words_count_set(t.seconds) * words_count_set(t.minutes) * words_count_set(t.hours);
    int step = words_set_step(t.hours, 0, 23);
    bool is_round = words_is_every(t.hours, 23) || (step && 24 % step == 0);
    words_add_clock(out, &t);
    words_add_date(out, c, m, per_day > CLOCK_TIMES_MAX && is_round ? WORDS_DAY_IMPLIED : WORDS_DAY_NAMED);
}

/* Exclusions are often whole days. */
void words_exclusion(const struct cal_calendar *c, struct arena *arena, struct buf *out) {
    static const struct field_marks no_marks;
    if (cal_calendar_carried(c).n || words_is_empty(c, &no_marks) ||
        !words_is_every(words_field_bits(c, CAL_SECOND), 59) ||
        !words_is_every(words_field_bits(c, CAL_MINUTE), 59) ||
        !words_is_every(words_field_bits(c, CAL_HOUR), 23)) {
        words_calendar(c, arena, out);
        return;
    }
    buf_add_cstr(out, "at any time");
    words_add_date(out, c, &no_marks, WORDS_DAY_IMPLIED);
}

void words_calendar(const struct cal_calendar *c, struct arena *arena, struct buf *out) {
    static const struct field_marks no_marks;
    struct str carried = cal_calendar_carried(c);
    struct text t;
    struct err e;
    if (!carried.n)
        words_plain(c, &no_marks, out);
    else if (text_parse(arena, STR(""), TEXT_CRON, carried, &t, &e) < 0)
        buf_add_str(out, carried); /* it was parsed before, so memory is exhausted */
    else
        words_text(&t, out);
}
