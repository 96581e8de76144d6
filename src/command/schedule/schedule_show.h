/* Text about specs, for the commands that show schedules. */
#pragma once

#include "cal/cal.h"
#include "command/output/output.h"
#include "schedule.pb-c.h"

/* Adds lines for the zone, the first and last time and the jitter of a spec. */
void schedule_add_bounds(struct card *d, const struct cal_spec *s);
/* Appends a spec in words, in one line; nothing for a spec that this program cannot read. */
void schedule_add_words(const Schedule__ScheduleSpec *spec, struct arena *a, struct buf *out);
