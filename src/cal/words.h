/* What a spec says, in plain words: "at 09:00 on Monday to Friday". For everyone who shows a schedule to a
 * person, so that it is said in one way. No sentence ends here: a caller joins them. Writing fails only as
 * struct buf does. */
#pragma once

#include "cal/cal.h"

/* One calendar, or the text that it carries. The arena is for reading that text. */
void words_calendar(const struct cal_calendar *c, struct arena *arena, struct buf *out);
void words_exclusion(const struct cal_calendar *c, struct arena *arena, struct buf *out); /* behind "not" */
void words_interval(const struct cal_interval *i, struct buf *out);
/* The zone and what happens when its clocks change: "in Europe/Berlin; a time that the clocks skip is left
 * out". */
void words_zone(const struct cal_spec *s, struct buf *out);
/* "1 day 2 hours"; below a second "250 ms". */
void words_length(int64_t us, struct buf *out);
/* All of it, with "; " between: the times, what is excluded, zone, bounds, jitter. "never" for a spec without
 * times. */
void words_spec(const struct cal_spec *s, struct buf *out);
