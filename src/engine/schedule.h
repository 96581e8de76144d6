/* Schedules, for the files of the engine that have to do with them. */
#pragma once

#include "engine/engine_int.h"

int schedule_id_validate(struct op *op, const char *schedule_id) must_check;

/* As op_need_run, for the run that keeps this schedule. ERR_INVALID when the id is missing or too long,
 * ERR_NOT_FOUND when there is no such schedule or it has ended; op->run is not set then. */
int op_need_schedule(struct op *op, struct space *space, const char *schedule_id) must_check;
