/* The cron strings of workflows: an older dialect than that of schedules.
 *
 *   [CRON_TZ=zone ]min hour dom month dow     or @yearly and its like, or @every 90m
 *
 * Five fields only; days of week 0-6; names of exactly three letters; ? is *; no comments. When both day of
 * month and day of week are restricted, a day must match one of them. @every counts from the last time, not
 * from 1970. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "cal/cal.h"

#define CLASSIC_YEARS_MAX 5 /* how far ahead the search goes */

struct classic;

/* ERR_INVALID with the mistake and its column; ERR_NO_MEMORY. Zones as for cal_new(), which must outlive it.
 */
int classic_new(struct str text, const struct cal_zones *zones, struct classic **ret,
                struct err *reterr) must_check;
struct classic *classic_free(struct classic *c); /* returns NULL */
void classic_freep(struct classic **c);

/* The first time after after_s; false when there is none within CLASSIC_YEARS_MAX years. */
bool classic_next(const struct classic *c, int64_t after_s, int64_t *ret_s) must_check;

/* The delay from now to the run after the one that was due at basis_us, rounded up to whole seconds. Times
 * that have passed are skipped. When basis_us is in the future, the delay to it. -1: no time follows. */
int64_t classic_backoff_us(const struct classic *c, int64_t basis_us, int64_t now_us);
