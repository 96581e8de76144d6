/* A compiled spec. compile.c fills it, cal.c searches it. */
#pragma once

#include "cal/cal.h"
#include "cal/rule.h"

/* first + n * step, up to last. */
struct cal_ticks {
    int64_t first_s, last_s, step_s;
};

struct cal {
    const struct zone *zone;
    struct zone *own_zone; /* from zone_data */
    struct rule *rules; /* united, see unite.h: can be fewer than in the spec */
    struct rule *excludes; /* one for each in the spec */
    struct rule *united; /* the exclusions, united, for the search; they own no memory */
    struct rule_times rule_times; /* times of day of all rules, without exclusions */
    struct cal_ticks *ticks;
    int64_t *times; /* single instants, ascending */
    uint32_t rule_count, exclude_count, united_count, tick_count, time_count;
    int64_t start_s; /* first second that counts */
    int64_t end_us;
    int64_t jitter_us;
    uint64_t work_max; /* CAL_WORK_MAX */
    enum zone_missing missing;
    enum zone_repeated repeated;
};

/* The first time at or after from_s, ignoring bounds and exclusions; RULE_NONE when there is none. In cal.c.
 */
int64_t cal_search_raw(const struct cal *c, int64_t from_s);
