/* The days of one month as bits: bit d for day d, 1 to 31. Used by rule.c only. */
#pragma once

#include "cal/civil.h"
#include "cal/rule.h"

static inline uint32_t month_mask(int64_t year, int month) {
    return (uint32_t)((UINT64_C(2) << civil_month_len(year, month)) - 2);
}

/* The days with a weekday of the set, in a month whose first day is `first`. Can set bits past the end of the
 * month. */
static inline uint32_t month_weekdays(int64_t first, uint8_t weekdays) {
    int weekday = civil_weekday(first);
    uint64_t from_first = (uint64_t)(weekdays >> weekday | weekdays << (CIVIL_WEEK_DAYS - weekday)) & 0x7F;
    return (uint32_t)(from_first * UINT64_C(0x10204081) << 1); /* repeats the week five times */
}

/* The days of a rule with rule_more. Month and year must match already. */
uint32_t month_days_more(const struct rule *r, int64_t year, int month, int64_t first);
