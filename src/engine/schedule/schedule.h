/* Schedules, for the files of the engine that have to do with them. */
#pragma once

#include "engine/runtime/engine_int.h"

int schedule_id_validate(struct op *op, const char *schedule_id) must_check;

/* As op_need_run, for the run that keeps this schedule. ERR_INVALID when the id is missing or too long,
 * ERR_NOT_FOUND when there is no such schedule or it has ended; op->run is not set then. */
int op_need_schedule(struct op *op, struct space *space, const char *schedule_id) must_check;
/* The same for those who only read: also one that has ended, and any with this id by its run id, unless that
 * is empty. */
int op_need_past_schedule(struct op *op, struct space *space, const char *schedule_id,
                          const char *run_id) must_check;
/* The run id of the last schedule with this id, in the call's arena; "" when there was none. */
int op_last_schedule_run(struct op *op, struct space *space, const char *schedule_id,
                         const char **ret) must_check;

/* The rules that a new and a changed schedule share. The copy that *ret gets is checked and canonical. */
int op_prepare_schedule(struct op *op, struct space *space, const char *schedule_id,
                        const Schedule__Schedule *given, Schedule__Schedule **ret) must_check;
/* Makes the schedule, which is prepared, and pins its run. */
int op_create_schedule(struct op *op, struct space *space, const Ws__CreateScheduleRequest *req) must_check;

/* The holiday calendars of this namespace have changed, and that is in the open group: every schedule that
 * names one computes its times anew, a few at a time (refresh.c). */
void schedules_refresh(struct engine *e, struct space *space);
/* Goes on with what was not finished when the process ended. */
void schedules_refresh_all(struct engine *e);
