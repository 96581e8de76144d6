/* The days that a plain calendar cannot express: from the end of the month, nearest working day, n-th
 * weekday, day and week of the year, every n-th period, one position among the days of a period.
 *
 * Each condition gives the bits of one month; struct rule_more tells how they combine. Nothing can fail. */
#include "cal/month.h"

#define SATURDAY 6
#define THURSDAY_DAY 4 /* the fourth day of a week decides which year the week belongs to */
#define WORKDAYS 0x3E

static uint32_t month_day_bit(int64_t day) {
    return day >= 1 && day <= 31 ? UINT32_C(1) << day : 0;
}

/* The working day nearest to `day` within the month. */
static uint32_t month_nearest_workday(int64_t first, int day, int len) {
    int weekday = civil_weekday(first + day - 1);
    if (weekday == SATURDAY)
        return month_day_bit(day > 1 ? day - 1 : day + 2);
    if (weekday == 0)
        return month_day_bit(day < len ? day + 1 : day - 2);
    return month_day_bit(day);
}

static uint32_t month_days_by_date(const struct rule *r, int64_t first, int len) {
    const struct rule_more *more = r->more;
    uint32_t days = r->days;
    for (int n = 0; n < len && more->from_end >> n; n++)
        if (more->from_end >> n & 1)
            days |= month_day_bit(len - n);
    for (int d = 1; d <= len && more->near >> d; d++)
        if (more->near >> d & 1)
            days |= month_nearest_workday(first, d, len);
    if (more->is_last_workday) {
        int d = len;
        while (!(WORKDAYS >> civil_weekday(first + d - 1) & 1))
            d--;
        days |= month_day_bit(d);
    }
    if (more->is_clamped)
        days |= month_day_bit(MIN(more->clamp_day, len));
    return days;
}

static uint32_t month_nth_of_year(const struct rule_yearday *y, int64_t year, int64_t first) {
    int64_t day;
    if (y->nth > 0) {
        int64_t begin = civil_day(year, 1, 1);
        day = begin + civil_mod(y->weekday - civil_weekday(begin), CIVIL_WEEK_DAYS) +
              (y->nth - 1) * CIVIL_WEEK_DAYS;
        if (day >= civil_day(year + 1, 1, 1))
            return 0;
    } else {
        int64_t last = civil_day(year, 12, 31);
        day = last - civil_mod(civil_weekday(last) - y->weekday, CIVIL_WEEK_DAYS) +
              (y->nth + 1) * CIVIL_WEEK_DAYS;
        if (day < civil_day(year, 1, 1))
            return 0;
    }
    return month_day_bit(day - first + 1);
}

static uint32_t month_days_by_weekday(const struct rule *r, int64_t year, int64_t first, int len) {
    const struct rule_more *more = r->more;
    uint32_t days = month_weekdays(first, r->weekdays);
    for (int n = 0; n < RULE_NTH_MAX; n++) {
        uint32_t from = n * CIVIL_WEEK_DAYS + 1, back = (uint32_t)len - n * CIVIL_WEEK_DAYS;
        uint32_t week = UINT32_C(0x7F) << from;
        /* The n-th last week of the month: up to seven days, the last of which is `back`. */
        uint32_t week_back =
            (uint32_t)((UINT64_C(2) << back) - 1) & ~(back >= 7 ? (UINT32_C(2) << (back - 7)) - 1 : 1);
        if (more->nth[n])
            days |= month_weekdays(first, more->nth[n]) & week;
        if (more->nth_last[n])
            days |= month_weekdays(first, more->nth_last[n]) & week_back;
    }
    for (size_t i = 0; i < more->year_nth_count; i++)
        days |= month_nth_of_year(&more->year_nth[i], year, first);
    return days;
}

static bool month_has_bit(const uint64_t *bits, int n) {
    return bits[n / 64] >> (n % 64) & 1;
}

static uint32_t month_days_by_year_day(const struct rule_more *more, int64_t year, int64_t first, int len) {
    int before = (int)(first - civil_day(year, 1, 1));
    int total = civil_is_leap(year) ? 366 : 365;
    uint32_t days = 0;
    for (int d = 1; d <= len; d++)
        if (month_has_bit(more->year_days, before + d) ||
            month_has_bit(more->year_days_back, total - before - d + 1))
            days |= month_day_bit(d);
    return days;
}

static int64_t month_week_begin(int64_t day, int week_start) {
    return day - civil_mod(civil_weekday(day) - week_start, CIVIL_WEEK_DAYS);
}

/* The first day of week 1: the week that has at least four days in the year. */
static int64_t month_first_week(int64_t year, int week_start) {
    return month_week_begin(civil_day(year, 1, THURSDAY_DAY), week_start);
}

/* A week belongs to one year as a whole: the last days of December can be in week 1 of the next year. */
static bool month_is_in_weeks(const struct rule_more *more, int64_t year, int64_t day) {
    int64_t begin = month_week_begin(day, more->week_start);
    int64_t first = month_first_week(year, more->week_start),
            next = month_first_week(year + 1, more->week_start);
    if (begin < first) {
        next = first;
        first = month_first_week(year - 1, more->week_start);
    } else if (begin >= next) {
        first = next;
        next = month_first_week(year + 2, more->week_start);
    }
    int week = (int)((begin - first) / CIVIL_WEEK_DAYS) + 1;
    int count = (int)((next - first) / CIVIL_WEEK_DAYS);
    return (more->weeks >> week & 1) || (more->weeks_back >> (count - week + 1) & 1);
}

static uint32_t month_days_by_week(const struct rule_more *more, int64_t year, int64_t first, int len) {
    uint32_t days = 0;
    for (int d = 1; d <= len; d++)
        if (month_is_in_weeks(more, year, first + d - 1))
            days |= month_day_bit(d);
    return days;
}

/* The days that lie in every `every`-th period from the anchor on. */
static uint32_t month_days_by_period(const struct rule_more *more, int64_t year, int month, int64_t first,
                                     int len) {
    int64_t anchor = civil_div(more->anchor_s, CIVIL_DAY_S);
    struct civil_date date = civil_date_of(anchor);
    uint32_t days = 0;
    switch (more->period) {
    case RULE_YEARS:
        return civil_mod(year - date.year, more->every) == 0 ? UINT32_MAX : 0;
    case RULE_MONTHS:
        return civil_mod((year - date.year) * CIVIL_YEAR_MONTHS + month - date.month, more->every) == 0
                   ? UINT32_MAX
                   : 0;
    case RULE_WEEKS:
        anchor = month_week_begin(anchor, more->week_start);
        for (int64_t d = 1; d <= len; d++)
            if (civil_mod(civil_div(first + d - 1 - anchor, CIVIL_WEEK_DAYS), more->every) == 0)
                days |= month_day_bit(d);
        return days;
    case RULE_DAYS:
        for (int64_t d = 1 + civil_mod(anchor - first, more->every); d <= len; d += more->every)
            days |= month_day_bit(d);
        return days;
    }
    return days;
}

/* The days of one month before a position is chosen among them. */
static uint32_t month_days_before_position(const struct rule *r, int64_t year, int month, int64_t first) {
    const struct rule_more *more = r->more;
    ensure(!r->is_either); /* classic cron has no rule_more */
    int len = civil_month_len(year, month);
    uint32_t by_month = month_days_by_date(r, first, len),
             by_week = month_days_by_weekday(r, year, first, len);
    uint32_t days = by_month & by_week & month_mask(year, month);
    if (more->has_year_days)
        days &= month_days_by_year_day(more, year, first, len);
    if (more->has_weeks)
        days &= month_days_by_week(more, year, first, len);
    if (more->every > 1 && days)
        days &= month_days_by_period(more, year, month, first, len);
    return days;
}

static uint32_t month_candidate_days(const struct rule *r, int64_t year, int month) {
    return r->months >> month & 1 ? month_days_before_position(r, year, month, civil_day(year, month, 1)) : 0;
}

/* The n-th set bit, from the end when n < 0; 0 when there are fewer bits. */
static uint32_t month_nth_bit(uint32_t bits, int n) {
    for (; n > 1 && bits; n--)
        bits &= bits - 1;
    for (; n < -1 && bits; n++)
        bits &= ~(UINT32_C(1) << (31 - __builtin_clz(bits)));
    if (!bits)
        return 0;
    return n > 0 ? bits & -bits : UINT32_C(1) << (31 - __builtin_clz(bits));
}

static uint32_t month_position_in_year(const struct rule *r, int64_t year, int month) {
    int position = r->more->position;
    int step = position > 0 ? 1 : -1;
    for (int m = position > 0 ? 1 : CIVIL_YEAR_MONTHS; m != month; m += step) {
        position -= step * __builtin_popcount(month_candidate_days(r, year, m));
        if (step * position <= 0)
            return 0; /* the position is in that month */
    }
    return month_nth_bit(month_candidate_days(r, year, month), position);
}

/* Whether the day has the position in its week. The week can be in two months. */
static bool month_is_position_in_week(const struct rule *r, int64_t day) {
    int64_t begin = month_week_begin(day, r->more->week_start);
    uint32_t week = 0;
    for (int i = 0; i < CIVIL_WEEK_DAYS; i++) {
        struct civil_date date = civil_date_of(begin + i);
        if (month_candidate_days(r, date.year, date.month) >> date.day & 1)
            week |= UINT32_C(1) << i;
    }
    return month_nth_bit(week, r->more->position) >> (day - begin) & 1;
}

static uint32_t month_position_in_weeks(const struct rule *r, uint32_t days, int64_t first) {
    uint32_t kept = 0;
    for (; days; days &= days - 1) {
        int d = __builtin_ctz(days);
        if (month_is_position_in_week(r, first + d - 1))
            kept |= month_day_bit(d);
    }
    return kept;
}

uint32_t month_days_more(const struct rule *r, int64_t year, int month, int64_t first) {
    uint32_t days = month_days_before_position(r, year, month, first);
    if (r->more->position == 0 || days == 0)
        return days;
    if (r->more->period == RULE_MONTHS)
        return month_nth_bit(days, r->more->position);
    if (r->more->period == RULE_YEARS)
        return month_position_in_year(r, year, month);
    ensure(r->more->period == RULE_WEEKS); /* for days, recur.c turns positions into times of day */
    return month_position_in_weeks(r, days, first);
}
