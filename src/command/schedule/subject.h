/* The schedule or spec that `schedule next`, `explain` and `simulate` examine, with its compiled calendar. */
#pragma once

#include "command/command_int.h"
#include "core/schedule/schedule.h"

struct subject {
    Schedule__Schedule *schedule;
    State__Namespace space; /* has the holiday calendars that the schedule names */
    const char *schedule_id; /* "" for a spec on the command line */
    struct cal_spec spec; /* in the command's arena */
    size_t own_exclusions; /* the first ones; those that follow come from holiday calendars */
    struct zoneinfo *zoneinfo;
    struct cal_zones zones;
    struct cal *cal;
};
/* Loads the schedule of --schedule-id, changed by the other flags, or makes one from the flags alone.
 * Anything but COMMAND_DONE has been reported on stderr; the subject is empty then. */
enum command_exit subject_load(struct command *c, struct subject *ret);
/* Compiles the finished draft in c->request. ERR_INVALID, without a line on stderr, when this program cannot
 * read it. The caller calls subject_done in any case. */
int subject_from_draft(struct command *c, struct subject *ret) must_check;
void subject_done(struct subject *s); /* fine for one of zeros */
/* The time that a flag gives, in microseconds; `standard_us` when it is not given. ERR_INVALID after a line
 * on stderr. */
int subject_flag_time(struct command *c, const char *name, int64_t standard_us, int64_t *ret_us) must_check;
