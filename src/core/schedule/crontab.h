/* A crontab of DBOS's dialect that is bound to a workflow type, as the schedule that keeps it. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "rondo.pb-c.h"
#include "schedule.pb-c.h"
#include "state.pb-c.h"

/* The schedule's id: the binding's name, or else the workflow type. */
const char *crontab_name(const Rondo__CrontabBinding *binding);
/* In the arena, not yet prepared. ERR_INVALID when the binding lacks something or its mode does not exist. */
int crontab_schedule(const Rondo__CrontabBinding *binding, struct arena *arena, Schedule__Schedule **ret,
                     struct err *err) must_check;
/* Whether this schedule was made by a binding, so that another binding may change it. */
bool crontab_is_bound(const Schedule__Schedule *schedule);
/* Takes over from the schedule as it is what no binding says: whether it is paused, until when and why. */
void crontab_keep(Schedule__Schedule *schedule, const Schedule__Schedule *old, struct arena *arena);
/* What a list shows of it; lives in the arena and in st. NULL: it was not made by a binding, or there is no
 * memory. */
Rondo__BoundCrontab *crontab_shown(const State__Execution *st, struct arena *arena);
/* Whether both do the same; both are prepared. Their state is not looked at. */
bool crontab_is_same(const Schedule__Schedule *a, const Schedule__Schedule *b);
