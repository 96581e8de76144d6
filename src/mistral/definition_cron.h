/* Calendars of schedules and the cron expressions that they came from. */
#pragma once

#include "cal/cal.h"
#include "mistral/dialog.h"
#include "schedule.pb-c.h"

/* One field of a calendar message: where its count and its list are. */
struct definition_ranges {
    size_t *n;
    Schedule__Range ***v;
};
struct definition_ranges definition_ranges_of(Schedule__StructuredCalendarSpec *c, enum cal_field field);

/* The expression that a calendar came from; empty when it came from none. The text is in c or in the arena.
 */
struct str definition_cron_of(struct arena *a, Schedule__StructuredCalendarSpec *c);
/* The expression with itself as its comment, when definition_cron_of() needs one; in the dialog's arena. NULL
 * when memory is short. */
char *definition_label_cron(struct dialog *x, struct str text);
