/* Cron schedules of workflows (cron_schedule on start): the dialect is cal/classic.h. */
#pragma once

#include "base/clock.h"
#include "base/err.h"

struct cal_zones;

/* zones may be NULL: then only UTC is known. */
int cron_validate(const char *schedule, const struct cal_zones *zones, struct err *err) must_check;
/* How long to wait, from now, for the run that follows the one that was due at basis_us; -1: none follows. */
int64_t cron_backoff_us(const char *schedule, const struct cal_zones *zones, int64_t basis_us,
                        int64_t now_us);
