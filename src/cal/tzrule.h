/* The footer of a TZif file: a POSIX TZ rule such as CET-1CEST,M3.5.0,M10.5.0/3. */
#pragma once

#include "base/base.h"
#include "base/str.h"
#include "cal/zone.h"

enum tzrule_form { TZRULE_MONTH_WEEK, TZRULE_JULIAN, TZRULE_DAY };

struct tzrule_change {
    enum tzrule_form form;
    int month, week, weekday; /* M3.5.0 */
    int day; /* J60 counts without 29 February, 59 with it */
    int32_t time_s; /* of the local day, -167 h to 167 h */
};

struct tzrule_clock {
    int32_t offset_s;
    char abbrev[ZONE_ABBREV_MAX];
};

struct tzrule {
    struct tzrule_clock standard, summer;
    struct tzrule_change to_summer, to_standard;
    bool has_summer;
};

/* ERR_INVALID for other text. */
int tzrule_parse(struct str text, struct tzrule *ret) must_check;
/* The span of the rule that contains this second. */
struct zone_span tzrule_span_at(const struct tzrule *rule, int64_t utc_s);
