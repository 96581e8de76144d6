/* Describes recurrences and other texts in words: "every 2 weeks on Monday from 2026-01-05T09:00, 10 times".
 * Fails only as struct buf does. */
#include "base/clock.h"
#include "cal/words_int.h"

#define DATES_SHOWN 3

static void words_recur_add_stamp(struct buf *out, const struct civil_stamp *stamp) {
    char text[CIVIL_TEXT_MAX];
    civil_format(stamp->local_s - stamp->offset_s, stamp->has_offset ? "Z" : "", text);
    if (stamp->has_time)
        buf_add_cstr(out, text);
    else
        buf_add(out, text, strcspn(text, "T"));
}

static void words_recur_add_numbers(struct buf *out, const char *before, uint64_t bits) {
    if (!bits)
        return;
    buf_add_cstr(out, before);
    words_add_set(out, bits, words_add_number);
}

static void words_recur_add_freq(struct buf *out, const struct recur *r) {
    static const char *const units[] = {"second", "minute", "hour", "day", "week", "month", "year"};
    /* every.c stores years as twelve months and weeks as seven days. */
    bool is_years = r->freq == RECUR_MONTHLY && r->every % CIVIL_YEAR_MONTHS == 0;
    bool is_weeks = r->freq == RECUR_DAILY && r->every % CIVIL_WEEK_DAYS == 0;
    int64_t every = is_years   ? r->every / CIVIL_YEAR_MONTHS
                    : is_weeks ? r->every / CIVIL_WEEK_DAYS
                               : r->every;
    const char *unit = is_years ? "year" : is_weeks ? "week" : units[r->freq];
    if (every > 1)
        buf_printf(out, "every %lld %ss", (long long)every, unit);
    else
        buf_printf(out, "every %s", unit);
}

/* "the 2nd Friday", "the last Friday"; of the month, or of the year. */
static void words_recur_add_nth(struct buf *out, const struct recur *r) {
    for (size_t i = 0; i < r->weekday_nth_count; i++) {
        int nth = r->weekday_nth[i].nth;
        buf_add_cstr(out, i ? " and the " : " on the ");
        if (nth > 0)
            words_add_ordinal(out, nth);
        else if (nth < -1)
            words_add_ordinal(out, -nth);
        if (nth < 0)
            buf_add_cstr(out, nth == -1 ? "last" : " last");
        buf_add_u8(out, ' ');
        words_add_day_name(out, r->weekday_nth[i].weekday);
    }
}

static void words_recur_add_days_back(struct buf *out, uint32_t days, bool is_first) {
    for (int i = 1; i < 32; i++) {
        if (!(days >> i & 1))
            continue;
        buf_add_cstr(out, is_first ? " on the " : " and the ");
        if (i > 1) {
            words_add_ordinal(out, i);
            buf_add_u8(out, ' ');
        }
        buf_add_cstr(out, "last day");
        is_first = false;
    }
}

static void words_recur_add_year_days(struct buf *out, const struct recur *r) {
    bool is_first = true;
    for (int back = 0; back < 2; back++) {
        const uint64_t *bits = back ? r->year_days_back : r->year_days;
        for (int d = 1; d < 384; d++) {
            if (!(bits[d / 64] >> (d % 64) & 1))
                continue;
            buf_printf(out, is_first ? " on day %d of the year%s" : " and day %d%s", d,
                       back ? ", counted from its end" : "");
            is_first = false;
        }
    }
}

static void words_recur_add_positions(struct buf *out, const struct recur *r) {
    for (size_t i = 0; i < r->position_count; i++) {
        int at = r->positions[i];
        buf_add_cstr(out, i ? " and the " : ", of these only the ");
        if (at == -1) {
            buf_add_cstr(out, "last");
            continue;
        }
        words_add_ordinal(out, at < 0 ? -at : at);
        buf_add_cstr(out, at < 0 ? " last" : "");
    }
}

static void words_recur_add_dates(struct buf *out, const char *before, const struct recur_dates *dates) {
    for (size_t i = 0; i < dates->n && i < DATES_SHOWN; i++) {
        buf_add_cstr(out, i ? ", " : before);
        words_recur_add_stamp(out, &dates->v[i]);
    }
    if (dates->n > DATES_SHOWN)
        buf_printf(out, " and %zu more", dates->n - DATES_SHOWN);
}

static void words_recur_add_rule(struct buf *out, const struct recur *r) {
    words_recur_add_freq(out, r);
    if (r->weekdays) {
        buf_add_cstr(out, " on ");
        words_add_weekday_set(out, r->weekdays);
    }
    words_recur_add_nth(out, r);
    words_recur_add_numbers(out, " on day ", r->days);
    words_recur_add_days_back(out, r->days_back, !r->days);
    if (r->has_year_days)
        words_recur_add_year_days(out, r);
    words_recur_add_numbers(out, " in week ", r->weeks);
    words_recur_add_numbers(out, " in week (from the end of the year) ", r->weeks_back);
    if (r->months) {
        buf_add_cstr(out, " in ");
        words_add_set(out, r->months, words_add_month_name);
    }
    words_recur_add_numbers(out, " at the hour ", r->hours);
    words_recur_add_numbers(out, " at the minute ", r->minutes);
    words_recur_add_numbers(out, " at the second ", r->seconds);
    words_recur_add_positions(out, r);
}

static void words_recur_add_count(struct buf *out, int64_t count) {
    if (count)
        buf_printf(out, ", %lld time%s", (long long)count, count > 1 ? "s" : "");
}

static void words_recur_add_recur(struct buf *out, const struct recur *r) {
    if (r->has_freq)
        words_recur_add_rule(out, r);
    if (r->has_start && r->has_freq) {
        buf_add_cstr(out, " from ");
        words_recur_add_stamp(out, &r->start);
    }
    words_recur_add_count(out, r->count);
    if (r->has_until) {
        buf_add_cstr(out, ", until ");
        words_recur_add_stamp(out, &r->until);
    }
    words_recur_add_dates(out, r->has_freq ? ", and at " : "at ", &r->rdates);
    words_recur_add_dates(out, ", but not at ", &r->exdates);
}

void words_text(const struct text *t, struct buf *out) {
    switch (t->kind) {
    case TEXT_CALENDAR:
        words_plain(&t->calendar, &t->marks, out);
        return;
    case TEXT_INTERVAL:
        words_interval(&t->interval, out);
        return;
    case TEXT_RECUR:
        words_recur_add_recur(out, &t->recur);
        return;
    case TEXT_EXACT:
        buf_add_cstr(out, "every ");
        words_length(t->step_s * USEC_PER_SEC, out);
        buf_add_cstr(out, " from ");
        words_recur_add_stamp(out, &t->at);
        words_recur_add_count(out, t->count);
        return;
    case TEXT_AT:
        buf_add_cstr(out, "once, at ");
        words_recur_add_stamp(out, &t->at);
        return;
    }
}
