/* When a schedule is due: a page of arithmetic that shares nothing with src/cal.
 *
 * Three zones with the rules that they have today, north and south, whose clocks are put forward and back by
 * an hour or by half of one. Offsets are multiples of half an hour and change where one of UTC begins, so
 * within such a half hour every clock shows one local hour. */
#pragma once

#include "base/base.h"

enum zone_model { ZONE_UTC, ZONE_BERLIN, ZONE_NEW_YORK, ZONE_LORD_HOWE, ZONE_MODEL_COUNT };
enum repeat_model { REPEAT_BOTH, REPEAT_FIRST, REPEAT_LAST, REPEAT_MODEL_COUNT };

#define HOLIDAY_CALENDARS 2
#define HOLIDAY_DAYS 4

/* Days since 1970 that the calendars of a namespace name; 0: none. */
struct holidays_model {
    int64_t days[HOLIDAY_CALENDARS][HOLIDAY_DAYS];
};

/* Times are seconds t with t % every_s == phase_s, and those whose local hour is from..to and whose minute
 * and second are first + n * step. */
struct spec_model {
    int64_t every_s; /* 0: no interval */
    int64_t phase_s;
    int64_t first_s;
    int64_t step_s; /* 0: no calendar */
    int64_t first_min;
    int64_t step_min;
    int64_t from_hour;
    int64_t to_hour;
    enum zone_model zone;
    bool shifts; /* what the clock jumps over comes as much later as it jumps */
    enum repeat_model repeats;
    int64_t out_from_s; /* seconds of a minute that are excluded, up to and with */
    int64_t out_to_s; /* below from: none is */
    unsigned holidays; /* bit n: calendar n */
};

const char *zone_model_name(enum zone_model z);
int64_t zone_model_offset_s(enum zone_model z, int64_t utc_s);
/* Whether the clocks are not what they were. */
bool zone_model_changes(enum zone_model z, int64_t from_s, int64_t until_s);
/* When they were changed last before then. */
int64_t zone_model_last_change(enum zone_model z, int64_t before_s);
int64_t spec_local_day(const struct spec_model *spec, int64_t at_s);

/* Also when it is excluded. */
bool spec_has(const struct spec_model *spec, int64_t at_s);
/* By what holds in the spec itself. */
bool spec_excludes(const struct spec_model *spec, int64_t at_s);
bool spec_is_holiday(const struct spec_model *spec, const struct holidays_model *h, int64_t at_s);
/* Times in [from_s, until_s], with those that are excluded. */
int64_t spec_count(const struct spec_model *spec, int64_t from_s, int64_t until_s);
/* The same without them. */
int64_t spec_count_real(const struct spec_model *spec, const struct holidays_model *h, int64_t from_s,
                        int64_t until_s);
