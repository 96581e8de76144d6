/* How many tasks came into a queue lately and how many were taken, per second. Times are monotonic. */
#pragma once

#include "base/base.h"

struct pace; /* from the heap; mem_free() ends it */

/* One more. Makes the pace with the first; without memory nothing is counted. */
void pace_count_added(struct pace **p, int64_t now_us);
void pace_count_taken(struct pace **p, int64_t now_us);
/* NULL: 0 */
double pace_add_rate(struct pace *p, int64_t now_us);
double pace_take_rate(struct pace *p, int64_t now_us);
