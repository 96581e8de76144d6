/* Finding schedules.
 *
 * The run of a schedule is the current run of a workflow id that is made from the schedule's id, so it
 * is found as any run is found by its workflow id. A schedule that has ended is not found. */
#include "engine/schedule.h"

#include "core/schedule.h"
#include "core/validate.h"

static int not_found(struct op *op, const char *schedule_id) {
    op_pin(op, NULL);
    return err_set(&op->err, ERR_NOT_FOUND, "schedule \"%s\" not found", schedule_id);
}

int schedule_id_validate(struct op *op, const char *schedule_id) {
    int rc = validate_required(schedule_id, "ScheduleId", &op->err);
    if (rc == 0 && strlen(schedule_id) > LIMIT_SCHEDULE_ID_BYTES)
        rc = err_set(&op->err, ERR_INVALID, "ScheduleId length exceeds limit.");
    return rc;
}

int op_need_schedule(struct op *op, struct space *space, const char *schedule_id) {
    struct uuid run_id;
    bool is_known = false;
    int rc = schedule_id_validate(op, schedule_id);
    if (rc < 0)
        return rc;
    const char *workflow_id = arena_printf(op->call->arena, "%s%s", SCHEDULE_ID_PREFIX, schedule_id);
    if (!workflow_id)
        return op_out_of_memory(op);
    rc = op_need_current(op, space, workflow_id, &is_known, &run_id);
    if (rc == 0 && !is_known)
        return not_found(op, schedule_id);
    if (rc == 0)
        rc = op_need_run(op, space, run_id);
    if (rc == ERR_NOT_FOUND || (rc == 0 && !run_is_open(op->run->body->st)))
        return not_found(op, schedule_id);
    return rc;
}
