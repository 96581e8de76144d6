/* A schedule made from flags, alone or on top of an existing one. */
#pragma once

#include "command/command_int.h"
#include "core/schedule/schedule.h"

/* Adds to c->request, which the table has filled, what the table cannot express: dialects, single times,
 * exclusions, policies for clock changes. ERR_INVALID or ERR_NO_MEMORY after a line on stderr. */
int draft_finish(struct command *c) must_check;
/* Fills c->request with the schedule of `base` and applies the flags to it. Errors as draft_finish. */
int draft_over(struct command *c, const Ws__DescribeScheduleResponse *base) must_check;
/* The schedule of c->request; never NULL after draft_finish or draft_over. */
Schedule__Schedule *draft_schedule(struct command *c);
/* The first flag on the line that only a Rondo server understands; NULL when there is none. */
const char *draft_own_flag(const struct command *c);
