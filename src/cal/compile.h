/* A spec made ready for searching. Between compile.c, which fills it, and cal.c, which searches it. */
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
    struct rule *rules; /* united: fewer than the spec has, see unite.h */
    struct rule *excludes; /* as the spec has them */
    struct rule *united; /* the same, united, for the search; these own nothing */
    struct rule_times rule_times; /* of all rules; those of exclusions are not among them */
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

/* The first time at or after from_s, without its bounds and exclusions; RULE_NONE when there is none. In
 * cal.c. */
int64_t cal_search_raw(const struct cal *c, int64_t from_s);
