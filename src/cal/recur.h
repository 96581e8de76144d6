/* Recurrences from a first date: RRULE of iCalendar, ISO 8601 repeating intervals, "every 2 weeks from". */
#pragma once

#include "base/arena.h"
#include "cal/civil.h"
#include "cal/mistake.h"
#include "cal/duration.h"
#include "cal/rule.h"

enum recur_freq {
    RECUR_SECONDLY,
    RECUR_MINUTELY,
    RECUR_HOURLY,
    RECUR_DAILY,
    RECUR_WEEKLY,
    RECUR_MONTHLY,
    RECUR_YEARLY,
    RECUR_FREQ_COUNT,
};

#define RECUR_COUNT_MAX 20000 /* each compilation walks through them once */
#define RECUR_MONTHS_MAX 500000 /* computed in these walks, for all recurrences of a spec together */
#define RECUR_EVERY_MAX 100000000
#define RECUR_POSITIONS_MAX 16
#define RECUR_DATES_MAX 1000

struct recur_dates {
    struct civil_stamp *v;
    size_t n;
};

struct recur {
    enum recur_freq freq;
    bool has_freq;
    int64_t every; /* INTERVAL */
    int64_t count; /* 0: no limit */
    struct civil_stamp until, start;
    bool has_until, has_start;
    uint8_t week_start;
    uint64_t seconds, minutes;
    uint32_t hours, days, days_back; /* bit d; days_back: bit d is the d-th day from the end, from 1 */
    uint16_t months;
    uint8_t weekdays;
    struct rule_yearday *weekday_nth; /* of the month or of the year */
    size_t weekday_nth_count;
    uint64_t year_days[6], year_days_back[6];
    bool has_year_days;
    uint64_t weeks, weeks_back;
    int16_t positions[RECUR_POSITIONS_MAX];
    size_t position_count;
    bool is_clamped; /* in shorter months the last day matches */
    struct recur_dates exdates, rdates;
    struct str zone; /* TZID, or "UTC" when DTSTART ends in Z */
};

/* "DTSTART... RRULE:... EXDATE... RDATE..." in any order, separated by white space. ERR_INVALID with a
 * mistake, ERR_NO_MEMORY. */
int recur_parse(struct arena *a, struct mistakes *c, struct str text, struct recur *ret) must_check;

/* The rules of the recurrence in that zone, with its count, end and exceptions. The caller owns the rules:
 * rule_done() each, mem_free() the array. Adds the months computed for the count to *months; ERR_INVALID past
 * RECUR_MONTHS_MAX. */
struct zone;
int recur_compile(const struct recur *r, const struct zone *z, uint64_t *months, struct rule **ret,
                  size_t *ret_count, struct err *reterr) must_check;

/* The local second of a time: converted when it has an offset, else as written. */
int64_t recur_local(const struct zone *z, const struct civil_stamp *stamp);
