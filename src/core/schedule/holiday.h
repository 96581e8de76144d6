/* Holiday calendars: days that a namespace names once and many schedules exclude. Of a day's entry only the
 * date counts, never the time. */
#pragma once

#include "cal/cal.h"
#include "core/step/step.h"

const Rondo__HolidayCalendar *holidays_find(const State__Namespace *space, const char *name);
/* Name, and every day in it. */
int holidays_validate(const Rondo__HolidayCalendar *calendar, struct arena *arena,
                      struct err *err) must_check;
/* Whether the calendars that a schedule names are there. */
int holidays_validate_names(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                            struct err *err) must_check;
/* Adds the days of all that are named and there. */
int holidays_exclude(struct cal_spec *spec, const State__Namespace *space,
                     const Rondo__ScheduleExtras *extras, struct err *err) must_check;
/* A sentence about each calendar that the schedule names and that is gone, in the arena; NULL when that is
 * full. extras may be NULL. */
const char *holidays_missing(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                             struct arena *arena);
/* The same for a describe: their names. */
void holidays_show_missing(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                           Schedule__ScheduleInfo *info, struct arena *arena);
/* For the ledger, in the arena. */
const char *holidays_reason(const Rondo__ScheduleExtras *extras, struct arena *arena);

/* Of schedule_spec.c: a calendar of a message; ERR_NO_MEMORY. */
int spec_calendar(const Schedule__StructuredCalendarSpec *in, struct arena *arena,
                  struct cal_calendar *ret) must_check;
