/* The proleptic Gregorian calendar, and times as text. There are no zones here: a local second counts from
 * 1970-01-01T00:00:00 of a wall clock, as if that clock showed UTC. Pure functions. */
#pragma once

#include "base/base.h"
#include "base/str.h"

#define CIVIL_MINUTE_S INT64_C(60)
#define CIVIL_HOUR_S INT64_C(3600)
#define CIVIL_DAY_S INT64_C(86400)
#define CIVIL_WEEK_DAYS 7
#define CIVIL_YEAR_MONTHS 12

struct civil_date {
    int64_t year;
    int month; /* 1-12 */
    int day; /* 1-31 */
};

int64_t civil_day(int64_t year, int month, int day); /* days since 1970-01-01; month must be 1-12 */
struct civil_date civil_date_of(int64_t day);
int civil_month_len(int64_t year, int month);
bool civil_is_leap(int64_t year);

/* Floor division, for times before 1970. The divisor is positive. */
static inline int64_t civil_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}
static inline int64_t civil_mod(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r < 0 ? r + b : r;
}
/* Values that fit into 32 bits, such as times from 1970 to 2106: dividing them by a constant is faster. */
static inline bool civil_is_near(int64_t n) {
    return (uint64_t)n <= UINT32_MAX - 7;
}
static inline int civil_weekday(int64_t day) { /* 0 is Sunday */
    return civil_is_near(day) ? (int)(((uint32_t)day + 4) % CIVIL_WEEK_DAYS)
                              : (int)civil_mod(day + 4, CIVIL_WEEK_DAYS);
}
static inline int64_t civil_day_of(int64_t local_s) {
    return civil_is_near(local_s) ? (int64_t)((uint32_t)local_s / (uint32_t)CIVIL_DAY_S)
                                  : civil_div(local_s, CIVIL_DAY_S);
}

/* A time as written: 2026-03-01, 2026-03-01T09:00, 20260301T090000Z, 2026-03-01T09:00:00+01:00. */
struct civil_stamp {
    int64_t local_s; /* the time of the text, without its offset */
    int32_t offset_s;
    bool has_time;
    bool has_offset; /* the text has Z or +hh:mm; the instant is local_s - offset_s */
};

/* ERR_INVALID sets *ret_at to the offset of the mistake in text. Years 1 to 9999; no fractions of a second.
 */
int civil_parse(struct str text, struct civil_stamp *ret, size_t *ret_at) must_check;

#define CIVIL_TEXT_MAX 40
/* "2026-03-01T09:00:00" and the suffix. The year must be 1 to 9999. */
void civil_format(int64_t local_s, const char *suffix, char text[CIVIL_TEXT_MAX]);
