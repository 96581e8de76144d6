/* The schedule of a chain is kept as its text and read when a run begins or
 * ends, which is seldom enough. */
#include "core/step/cron.h"

#include <string.h>

#include "base/str.h"
#include "cal/classic.h"

int cron_validate(const char *schedule, const struct cal_zones *zones, struct err *err) {
    cleanup(classic_freep) struct classic *c = NULL;
    return classic_new(str_of(schedule), zones, &c, err);
}

int64_t cron_backoff_us(const char *schedule, const struct cal_zones *zones, int64_t basis_us,
                        int64_t now_us) {
    cleanup(classic_freep) struct classic *c = NULL;
    if (classic_new(str_of(schedule), zones, &c, NULL) < 0)
        return -1;
    return classic_backoff_us(c, basis_us, now_us);
}
