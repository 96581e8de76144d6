/* A compiled calendar: which local seconds match, and the next one.
 *
 * A rule is a set of days and a set of times of day, both as bits, so that the next match costs a few shifts.
 * rule_more has what bits cannot express (the last day of a month, every third week, the second Friday); most
 * rules have none. Rules know no zones: local seconds in, local seconds out. Used inside cal only. */
#pragma once

#include "base/base.h"
#include "cal/civil.h"

#define RULE_YEAR_MIN 2000 /* of a list of years; without a list every year up to RULE_YEAR_MAX matches */
#define RULE_YEAR_MAX 2100
#define RULE_END_S INT64_C(4133980800) /* 2101-01-01T00:00:00 */
#define RULE_NONE INT64_MAX
#define RULE_NTH_MAX 5

enum rule_period { RULE_DAYS, RULE_WEEKS, RULE_MONTHS, RULE_YEARS };

struct rule_yearday { /* the n-th weekday of a year; n < 0 counts from its end */
    int16_t nth;
    uint8_t weekday;
};

struct rule_hole { /* an exception: local seconds that do not match */
    int64_t begin_s, end_s;
};

struct rule_more {
    /* Further days of the month; a day matches by these or by struct rule. */
    uint32_t from_end; /* bit n: n days before the last one */
    uint32_t near; /* bit d: the weekday nearest to day d */
    bool is_last_workday; /* the last Monday to Friday */
    bool is_clamped; /* clamp_day, or the last day of a shorter month */
    uint8_t clamp_day;
    /* Further days of the week; a day matches by these or by struct rule. */
    uint8_t nth[RULE_NTH_MAX]; /* nth[0] bit w: the first weekday w of the month */
    uint8_t nth_last[RULE_NTH_MAX]; /* nth_last[0] bit w: the last one */
    struct rule_yearday *year_nth;
    size_t year_nth_count;
    /* Further conditions; all of them must hold. */
    bool has_year_days, has_weeks;
    uint64_t year_days[6], year_days_back[6]; /* bit d: day d of the year, from 1; day d from its end */
    uint64_t weeks, weeks_back; /* bit w: week w of the year by ISO 8601, with week_start */
    /* Every `every`-th period, counted from the period of anchor_s. */
    enum rule_period period;
    int64_t every;
    int64_t anchor_s;
    int64_t not_before_s;
    int64_t not_after_s;
    uint8_t week_start; /* 0 is Sunday */
    int16_t position; /* only this day of each period, from its end when < 0; 0: all days */
    struct rule_hole *holes; /* ascending, not overlapping */
    size_t hole_count;
    /* Within days: only seconds s with (s - anchor_s) mod stride_s < stride_unit_s. 0: no stride. */
    int64_t stride_s;
    int64_t stride_unit_s;
};

struct rule {
    uint64_t seconds, minutes; /* bit n: n */
    uint32_t hours;
    uint32_t days; /* bit d: day d of the month, 1-31 */
    uint16_t months; /* bit m: month m, 1-12 */
    uint8_t weekdays; /* bit w: 0 is Sunday */
    bool is_any_year;
    bool is_either; /* day of month or day of week, as in classic cron; else both */
    uint64_t years[2]; /* bit y: RULE_YEAR_MIN + y */
    int32_t first_tod; /* first matching time of day; -1: the rule never matches */
    struct rule_more *more; /* owned; NULL for most rules */
};

/* Times of day, as the bits of a rule. */
struct rule_times {
    uint64_t seconds, minutes;
    uint32_t hours;
};
extern const struct rule_times rule_any_time;

/* Call it once after filling the fields. */
void rule_seal(struct rule *r);
void rule_done(struct rule *r);

/* The first match in [from_s, end_s), or RULE_NONE. Never searches past RULE_END_S. Adds the computed months
 * to *months. */
int64_t rule_next(const struct rule *r, int64_t from_s, int64_t end_s, uint64_t *months);

/* A local second with its date, computed once for many rules. */
struct rule_moment {
    int64_t local_s;
    int64_t first; /* day of its month */
    struct civil_date date;
    int tod;
};
struct rule_moment rule_moment(int64_t local_s);
bool rule_matches(const struct rule *r, const struct rule_moment *at);
/* For a matching second: a later second, at most end_s. All seconds between the two that have one of these
 * times of day match, too. */
int64_t rule_run_end(const struct rule *r, const struct rule_times *times, int64_t local_s, int64_t end_s);
/* The days of one month, bit d for day d. Years past RULE_YEAR_MAX have none. */
uint32_t rule_month_days(const struct rule *r, int64_t year, int month);
