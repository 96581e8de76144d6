/* Lengths of time as text: 1h30m and 1.5d, or ISO 8601: PT15M and P1M2W. */
#pragma once

#include "base/base.h"
#include "base/str.h"

/* Calendar units are separate from exact time, since days and months vary in length. */
struct duration {
    int64_t months;
    int64_t days;
    int64_t us; /* exact */
};

/* Units ns us ms s m h and d (24 hours), in any combination, with decimals and a sign. ERR_INVALID. */
int duration_parse_units(struct str text, int64_t *ret_us) must_check;
/* P[nY][nM][nW][nD][T[nH][nM][nS]], decimals in the seconds only. ERR_INVALID. */
int duration_parse_iso(struct str text, struct duration *ret) must_check;
