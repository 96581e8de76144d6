/* A schedule that the flags describe, alone or on top of one that exists. */
#pragma once

#include "command/command_int.h"
#include "core/schedule/schedule.h"

/* What the table cannot say of c->request, which was built from it: dialects, single times, exclusions, clock
 * changes. ERR_INVALID after a line on stderr. */
int draft_finish(struct command *c) must_check;
/* c->request again, with the schedule of `base` under what the flags name. */
int draft_over(struct command *c, const Ws__DescribeScheduleResponse *base) must_check;
/* Of the request; never NULL. */
Schedule__Schedule *draft_schedule(struct command *c);
/* The flag on the line that only a Rondo server understands; NULL when there is none. */
const char *draft_own_flag(const struct command *c);

/* What a command that only looks is about. */
struct subject {
    Schedule__Schedule *schedule;
    State__Namespace space; /* with the holiday calendars that the schedule names */
    const char *schedule_id; /* "" for a spec on the line */
    struct cal_spec spec; /* compiled in one go, with the arena of the command */
    size_t own_exclusions; /* the others are those of holiday calendars */
    struct zoneinfo *zoneinfo;
    struct cal_zones zones;
    struct cal *cal;
};
/* From --schedule-id and the flags. What it is not COMMAND_DONE for is said. */
enum command_exit subject_load(struct command *c, struct subject *ret);
/* From a draft that is finished; nothing is said. ERR_INVALID: it cannot be read here. */
int subject_of_draft(struct command *c, struct subject *ret) must_check;
void subject_done(struct subject *s); /* one of zeros is fine */
/* The time of a flag; `standard` when it is not given. ERR_INVALID after a line on stderr. */
int flag_time(struct command *c, const char *name, int64_t standard_us, int64_t *ret_us) must_check;
