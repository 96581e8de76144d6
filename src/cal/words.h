/* Describes specs in plain words: "at 09:00 on Monday to Friday". All parts that show schedules to people use
 * this, so that the wording is the same. The words are no complete sentences; callers join them. Writing
 * fails only as struct buf does. */
#pragma once

#include "cal/cal.h"

/* One calendar, or the text that it carries. The arena is for parsing that text. */
void words_calendar(const struct cal_calendar *c, struct arena *arena, struct buf *out);
void words_exclusion(const struct cal_calendar *c, struct arena *arena, struct buf *out); /* follows "not" */
void words_interval(const struct cal_interval *i, struct buf *out);
/* The zone, and the effect of clock changes: "in Europe/Berlin; a time that the clocks skip is left out". */
void words_zone(const struct cal_spec *s, struct buf *out);
/* "1 day 2 hours"; below a second "250 ms". */
void words_length(int64_t us, struct buf *out);
/* The whole spec, separated by "; ": times, exclusions, zone, bounds, jitter. "never" without times. */
void words_spec(const struct cal_spec *s, struct buf *out);
