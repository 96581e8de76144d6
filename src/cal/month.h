/* The days of one month as bits: bit d for day d, 1-31. Used by rule.c only. */
#pragma once

#include "cal/civil.h"
#include "cal/rule.h"

static inline uint32_t month_mask(int64_t year, int month) {
    return (uint32_t)((UINT64_C(2) << civil_month_len(year, month)) - 2);
}

/* The days whose weekday is in the set, in a month that begins on day `first`. May set bits past the month's
 * end. */
static inline uint32_t month_weekdays(int64_t first, uint8_t weekdays) {
    int weekday = civil_weekday(first);
    uint64_t from_first = (uint64_t)(weekdays >> weekday | weekdays << (CIVIL_WEEK_DAYS - weekday)) & 0x7F;
    return (uint32_t)(from_first * UINT64_C(0x10204081) << 1); /* the week, five times */
}

/* For a rule with more: month and year are already known to match. */
uint32_t month_days_more(const struct rule *r, int64_t year, int month, int64_t first);
