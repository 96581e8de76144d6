/* Cron schedules of workflows (cron_schedule on start): five fields, @every, @daily and the other names,
 * CRON_TZ=. */
#pragma once

#include "base/clock.h"
#include "base/err.h"

int cron_validate(const char *schedule, struct err *err) must_check;
/* The first time of the schedule after now, reckoned from when the last run was due; CLOCK_NEVER when there
 * is none. */
int64_t cron_next_us(const char *schedule, int64_t from_us, int64_t now_us);
