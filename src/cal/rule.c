/* The search for matches: month by month for a day, then hour, minute and second by bits.
 *
 * The matching days of a month are computed together, as 31 bits. Months and years that cannot match are
 * skipped by their own bits, so that even a rule that never matches takes microseconds. Nothing can fail. */
#include "cal/rule.h"

#include "base/mem.h"
#include "cal/civil.h"
#include "cal/month.h"

#define FULL_SECONDS ((UINT64_C(1) << 60) - 1)
#define FULL_HOURS ((UINT32_C(1) << 24) - 1)

const struct rule_times rule_any_time = {FULL_SECONDS, FULL_SECONDS, FULL_HOURS};

/* The lowest set bit at or above `from` (at most 60), or -1. */
static int rule_bit_from(uint64_t bits, int from) {
    bits = bits >> from << from;
    return bits ? __builtin_ctzll(bits) : -1;
}

/* The first second of the stride at or after from_s. */
static int64_t rule_stride_next(const struct rule_more *more, int64_t from_s) {
    int64_t past = civil_mod(from_s - more->anchor_s, more->stride_s);
    return past < more->stride_unit_s ? from_s : from_s + more->stride_s - past;
}

static bool rule_has_stride(const struct rule *r) {
    return r->more && r->more->stride_s > 0;
}

/* The first time of day at or after tod that the bits allow, or -1. */
static int rule_bits_next_tod(const struct rule *r, int tod) {
    int hour = tod / 3600, minute = tod / 60 % 60, second = tod % 60;
    if (r->hours >> hour & 1) {
        if (r->minutes >> minute & 1) {
            int s = rule_bit_from(r->seconds, second);
            if (s >= 0)
                return tod - second + s;
        }
        int m = rule_bit_from(r->minutes, minute + 1);
        if (m >= 0)
            return hour * 3600 + m * 60 + r->first_tod % 60;
    }
    int h = rule_bit_from(r->hours, hour + 1);
    return h < 0 ? -1 : h * 3600 + r->first_tod % 3600;
}

/* The first matching second of this day at or after tod, or -1. */
static int rule_next_tod(const struct rule *r, int64_t day, int tod) {
    while (tod >= 0) {
        tod = rule_bits_next_tod(r, tod);
        if (tod < 0 || !rule_has_stride(r))
            return tod;
        int64_t at_s = day * CIVIL_DAY_S + tod;
        int64_t stride_s = rule_stride_next(r->more, at_s);
        if (stride_s == at_s)
            return tod;
        tod = stride_s - day * CIVIL_DAY_S < CIVIL_DAY_S ? (int)(stride_s - day * CIVIL_DAY_S) : -1;
    }
    return -1;
}

static bool rule_has_year(const struct rule *r, int64_t year) {
    if (year > RULE_YEAR_MAX)
        return false;
    if (r->is_any_year)
        return true;
    int64_t bit = year - RULE_YEAR_MIN;
    return bit >= 0 && (r->years[bit / 64] >> (bit % 64) & 1);
}

/* rule_month_days() with the first day of the month. */
static uint32_t rule_month_days_from(const struct rule *r, int64_t year, int month, int64_t first) {
    if (!(r->months >> month & 1) || !rule_has_year(r, year))
        return 0;
    if (r->more)
        return month_days_more(r, year, month, first);
    uint32_t weekdays = r->weekdays == 0x7F ? UINT32_MAX : month_weekdays(first, r->weekdays);
    return (r->is_either ? r->days | weekdays : r->days & weekdays) & month_mask(year, month);
}

uint32_t rule_month_days(const struct rule *r, int64_t year, int month) {
    return rule_month_days_from(r, year, month, civil_day(year, month, 1));
}

/* Moves to the next month that the bits allow. False past the last year. */
static bool rule_next_month(const struct rule *r, int64_t *year, int *month) {
    int m = *month < CIVIL_YEAR_MONTHS ? rule_bit_from(r->months, *month + 1) : -1;
    if (m < 0) {
        m = rule_bit_from(r->months, 1);
        *year += 1;
        while (*year <= RULE_YEAR_MAX && !rule_has_year(r, *year))
            *year += 1;
    }
    *month = m;
    return *year <= RULE_YEAR_MAX;
}

/* The first match on these days of a month, from `day` and `tod` on. `days` has no bits before `day`. */
static int64_t rule_next_in_month(const struct rule *r, uint32_t days, int64_t before_first, int day,
                                  int tod) {
    while (days) {
        int d = __builtin_ctz(days);
        int64_t at_day = before_first + d;
        if (rule_has_stride(r)) { /* skip days without a second of a long stride */
            int64_t busy =
                civil_day_of(rule_stride_next(r->more, at_day * CIVIL_DAY_S + (d == day ? tod : 0)));
            if (busy > at_day) {
                int64_t skip = busy - before_first;
                days = skip < 32 ? days >> skip << skip : 0;
                continue;
            }
        }
        int at = d == day && tod > 0  ? rule_next_tod(r, at_day, tod)
                 : rule_has_stride(r) ? rule_next_tod(r, at_day, 0)
                                      : r->first_tod;
        if (at >= 0)
            return at_day * CIVIL_DAY_S + at;
        days &= days - 1;
    }
    return RULE_NONE;
}

static int64_t rule_search_months(const struct rule *r, int64_t from_s, int64_t end_s, uint64_t *months) {
    int64_t day = civil_day_of(from_s);
    int tod = (int)(from_s - day * CIVIL_DAY_S);
    struct civil_date date = civil_date_of(day);
    int64_t before_first = day - date.day;
    if (!r->is_any_year && date.year < RULE_YEAR_MIN) {
        date = (struct civil_date){RULE_YEAR_MIN, 1, 1};
        before_first = civil_day(RULE_YEAR_MIN, 1, 1) - 1;
        tod = 0;
    }
    do {
        if ((before_first + date.day) * CIVIL_DAY_S >= end_s)
            return RULE_NONE;
        *months += 1;
        uint32_t days = rule_month_days_from(r, date.year, date.month, before_first + 1) >> date.day
                                                                                                << date.day;
        int64_t at_s = rule_next_in_month(r, days, before_first, date.day, tod);
        if (at_s != RULE_NONE)
            return at_s < end_s ? at_s : RULE_NONE;
        date.day = 1;
        tod = 0;
        if (!rule_next_month(r, &date.year, &date.month))
            return RULE_NONE;
        before_first = civil_day(date.year, date.month, 1) - 1;
    } while (true);
}

static const struct rule_hole *rule_hole_at(const struct rule *r, int64_t local_s) {
    size_t low = 0, high = r->more ? r->more->hole_count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct rule_hole *hole = &r->more->holes[middle];
        if (local_s < hole->begin_s)
            high = middle;
        else if (local_s >= hole->end_s)
            low = middle + 1;
        else
            return hole;
    }
    return NULL;
}

int64_t rule_next(const struct rule *r, int64_t from_s, int64_t end_s, uint64_t *months) {
    end_s = MIN(end_s, RULE_END_S);
    if (r->more) {
        from_s = MAX(from_s, r->more->not_before_s);
        end_s = r->more->not_after_s < end_s ? r->more->not_after_s + 1 : end_s;
    }
    if (r->first_tod < 0 || from_s >= end_s)
        return RULE_NONE;
    for (;;) {
        int64_t at_s = rule_search_months(r, from_s, end_s, months);
        const struct rule_hole *hole = at_s != RULE_NONE ? rule_hole_at(r, at_s) : NULL;
        if (!hole)
            return at_s;
        from_s = hole->end_s;
        if (from_s >= end_s)
            return RULE_NONE;
    }
}

struct rule_moment rule_moment(int64_t local_s) {
    int64_t day = civil_day_of(local_s);
    struct civil_date date = civil_date_of(day);
    return (struct rule_moment){local_s, day - date.day + 1, date, (int)(local_s - day * CIVIL_DAY_S)};
}

bool rule_matches(const struct rule *r, const struct rule_moment *at) {
    int64_t local_s = at->local_s;
    int tod = at->tod;
    if (r->first_tod < 0 || !(r->seconds >> tod % 60 & 1) || !(r->minutes >> tod / 60 % 60 & 1) ||
        !(r->hours >> tod / 3600 & 1) || !(r->months >> at->date.month & 1))
        return false;
    if (r->more && (local_s < r->more->not_before_s || local_s > r->more->not_after_s))
        return false;
    if ((rule_has_stride(r) && rule_stride_next(r->more, local_s) != local_s) || rule_hole_at(r, local_s))
        return false;
    return rule_month_days_from(r, at->date.year, at->date.month, at->first) >> at->date.day & 1;
}

/* The first unset bit above `at`. The bit after the last value of a field is never set. */
static int rule_bit_run_end(uint64_t bits, int at) {
    return rule_bit_from(~bits, at + 1);
}

static int64_t rule_days_run_end(const struct rule *r, int64_t day, int64_t end_s) {
    struct civil_date date = civil_date_of(day);
    for (;;) {
        int64_t before_first = civil_day(date.year, date.month, 1) - 1;
        int len = civil_month_len(date.year, date.month);
        int d = rule_bit_run_end(rule_month_days(r, date.year, date.month), date.day - 1);
        int64_t run_end_s = (before_first + d) * CIVIL_DAY_S;
        if (d <= len || run_end_s >= end_s)
            return MIN(run_end_s, end_s);
        date = civil_date_of(before_first + d);
    }
}

int64_t rule_run_end(const struct rule *r, const struct rule_times *times, int64_t local_s, int64_t end_s) {
    struct rule_times over = {/* times that match, or that no candidate has */
                              .seconds = r->seconds | (~times->seconds & FULL_SECONDS),
                              .minutes = r->minutes | (~times->minutes & FULL_SECONDS),
                              .hours = r->hours | (~times->hours & FULL_HOURS)};
    int64_t day_s = civil_day_of(local_s) * CIVIL_DAY_S;
    int tod = (int)(local_s - day_s);
    int hour = tod / 3600, minute = tod / 60 % 60, second = tod % 60;
    if (r->more && r->more->not_after_s < end_s)
        end_s = r->more->not_after_s + 1;
    int64_t run_end_s;
    if (rule_has_stride(r) || (r->more && r->more->hole_count > 0))
        run_end_s = local_s + 1;
    else if (over.seconds != FULL_SECONDS)
        run_end_s = local_s - second + rule_bit_run_end(over.seconds, second);
    else if (over.minutes != FULL_SECONDS)
        run_end_s = day_s + hour * 3600 + rule_bit_run_end(over.minutes, minute) * 60;
    else if (over.hours != FULL_HOURS)
        run_end_s = day_s + rule_bit_run_end(over.hours, hour) * CIVIL_HOUR_S;
    else
        run_end_s = rule_days_run_end(r, day_s / CIVIL_DAY_S, end_s);
    return MIN(run_end_s, end_s);
}

static int64_t rule_greatest_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : rule_greatest_divisor(b, a % b);
}

/* Whether the stride ever meets the times of day on the weekdays. The pattern repeats after `days` days, so
 * checking these is enough. The weekday matters only when they are whole weeks; otherwise each time of day
 * falls on every weekday. A stride longer than a day is searched to the end quickly and needs no check. */
static bool rule_stride_is_met(const struct rule *r) {
    if (!rule_has_stride(r) || r->more->stride_s > CIVIL_DAY_S)
        return true;
    int64_t first = civil_day_of(r->more->anchor_s);
    int64_t days = r->more->stride_s / rule_greatest_divisor(r->more->stride_s, CIVIL_DAY_S);
    uint8_t weekdays = days % CIVIL_WEEK_DAYS == 0 ? r->weekdays : UINT8_MAX;
    for (int64_t day = first; day < first + days; day++)
        if (weekdays >> civil_weekday(day) & 1 && rule_next_tod(r, day, 0) >= 0)
            return true;
    return false;
}

void rule_seal(struct rule *r) {
    int h = rule_bit_from(r->hours, 0), m = rule_bit_from(r->minutes, 0), s = rule_bit_from(r->seconds, 0);
    r->first_tod = h < 0 || m < 0 || s < 0 ? -1 : h * 3600 + m * 60 + s;
    if (!(r->months & 0x1FFE) || (r->first_tod >= 0 && !rule_stride_is_met(r)))
        r->first_tod = -1;
}

void rule_done(struct rule *r) {
    if (r->more) {
        mem_free(r->more->year_nth);
        mem_free(r->more->holes);
    }
    mem_free(r->more);
    r->more = NULL;
}
