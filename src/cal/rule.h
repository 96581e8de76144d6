/* A compiled calendar: which local seconds match, and the next one that does.
 *
 * A rule is a set of days crossed with a set of times of day, both held as bits, so that the next match costs
 * a few shifts. What a plain calendar cannot say (the last day of a month, every third week, the second
 * Friday) is in rule_more, which most rules do not have. Rules know no zones: local seconds in, local seconds
 * out. */
#pragma once

#include "base/base.h"
#include "cal/civil.h"

#define RULE_YEAR_MIN 2000 /* of a list of years; a rule without one matches every year up to the last */
#define RULE_YEAR_MAX 2100
#define RULE_END_S INT64_C(4133980800) /* 2101-01-01T00:00:00 */
#define RULE_NONE INT64_MAX
#define RULE_NTH_MAX 5

enum rule_period { RULE_DAYS, RULE_WEEKS, RULE_MONTHS, RULE_YEARS };

struct rule_yearday { /* the n-th weekday of a year; n < 0 counts from its end */
    int16_t nth;
    uint8_t weekday;
};

struct rule_hole { /* local seconds that do not match after all */
    int64_t begin_s, end_s;
};

struct rule_more {
    /* Days of the month, beside those in struct rule: any of these. */
    uint32_t from_end; /* bit n: n days before the last one */
    uint32_t near; /* bit d: the weekday nearest to day d */
    bool is_last_workday; /* the last Monday to Friday */
    bool is_clamped; /* clamp_day, or the last day of a shorter month */
    uint8_t clamp_day;
    /* Days of the week, beside those in struct rule: any of these. */
    uint8_t nth[RULE_NTH_MAX]; /* nth[0] bit w: the first weekday w of the month */
    uint8_t nth_last[RULE_NTH_MAX]; /* nth_last[0] bit w: the last one */
    struct rule_yearday *year_nth;
    size_t year_nth_count;
    /* Further conditions, each on its own. */
    bool has_year_days, has_weeks;
    uint64_t year_days[6], year_days_back[6]; /* bit d: day d of the year, from 1; day d from its end */
    uint64_t weeks, weeks_back; /* bit w: week w of the year by ISO 8601, with week_start */
    /* Every count-th period, counted from the one that holds anchor_s. Nothing before not_before_s. */
    enum rule_period period;
    int64_t every;
    int64_t anchor_s;
    int64_t not_before_s;
    int64_t not_after_s;
    uint8_t week_start; /* 0 is Sunday */
    int16_t position; /* of the days of one period, only this one; from its end when < 0; 0: all of them */
    struct rule_hole *holes; /* exceptions, ascending and apart */
    size_t hole_count;
    /* Within days: only seconds s with (s - anchor_s) mod stride_s < stride_unit_s, both from whole units. */
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
    bool is_either; /* day of month or day of week, as classic cron has it; else both */
    uint64_t years[2]; /* bit y: RULE_YEAR_MIN + y */
    int32_t first_tod; /* first matching time of day; -1: there is none */
    struct rule_more *more;
};

/* Times of day, as the bits of a rule. */
struct rule_times {
    uint64_t seconds, minutes;
    uint32_t hours;
};
extern const struct rule_times rule_any_time;

/* To be called once the fields are filled. */
void rule_seal(struct rule *r);
void rule_done(struct rule *r);

/* Matches in [from_s, end_s): the first one, or RULE_NONE. Never looks past RULE_END_S. Adds the months it
 * looked at to *months. */
int64_t rule_next(const struct rule *r, int64_t from_s, int64_t end_s, uint64_t *months);

/* A local second with its date, which many rules are asked about. */
struct rule_moment {
    int64_t local_s;
    int64_t first; /* day of its month */
    struct civil_date date;
    int tod;
};
struct rule_moment rule_moment(int64_t local_s);
bool rule_matches(const struct rule *r, const struct rule_moment *at);
/* For a second that matches: a later one, with all before it that has one of these times matching too. At
 * most end_s. */
int64_t rule_run_end(const struct rule *r, const struct rule_times *times, int64_t local_s, int64_t end_s);
/* The days of one month, bit d for day d; years past the last have none. */
uint32_t rule_month_days(const struct rule *r, int64_t year, int month);
