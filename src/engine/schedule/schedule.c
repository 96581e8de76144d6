/* Finding schedules.
 *
 * The run of a schedule is the current run of a workflow id that is made from the schedule's id, so it
 * is found as any run is found by its workflow id. A schedule that has ended is not found, except by those
 * who only read its past: it stays until the retention of its namespace removes it. */
#include "engine/schedule/schedule.h"

#include "core/schedule/schedule.h"
#include "core/step/validate.h"

static int schedule_fail_not_found(struct op *op, const char *schedule_id) {
    op_pin(op, NULL);
    return err_set(&op->err, ERR_NOT_FOUND, "schedule \"%s\" not found", schedule_id);
}

int schedule_id_validate(struct op *op, const char *schedule_id) {
    int rc = validate_required(schedule_id, "ScheduleId", &op->err);
    if (rc == 0 && strlen(schedule_id) > LIMIT_SCHEDULE_ID_BYTES)
        rc = err_set(&op->err, ERR_INVALID, "ScheduleId length exceeds limit.");
    return rc;
}

/* The last one of this id, open or not. */
static int need_last(struct op *op, struct space *space, const char *schedule_id) {
    struct uuid run_id;
    bool is_known = false;
    const char *workflow_id = arena_printf(op->call->arena, "%s%s", SCHEDULE_ID_PREFIX, schedule_id);
    if (!workflow_id)
        return op_out_of_memory(op);
    int rc = op_need_current(op, space, workflow_id, &is_known, &run_id);
    if (rc == 0 && !is_known)
        return schedule_fail_not_found(op, schedule_id);
    if (rc == 0)
        rc = op_need_run(op, space, run_id);
    return rc == ERR_NOT_FOUND ? schedule_fail_not_found(op, schedule_id) : rc;
}

int op_need_schedule(struct op *op, struct space *space, const char *schedule_id) {
    int rc = schedule_id_validate(op, schedule_id);
    if (rc == 0)
        rc = need_last(op, space, schedule_id);
    if (rc < 0 || run_is_open(op->run->body->st))
        return rc;
    /* Who hears of its end takes it for lasting. */
    op->wait_seq = MAX(op->wait_seq, op->run->body->group_seq);
    return schedule_fail_not_found(op, schedule_id);
}

int op_need_past_schedule(struct op *op, struct space *space, const char *schedule_id, const char *run_id) {
    struct uuid id;
    int rc = schedule_id_validate(op, schedule_id);
    if (rc < 0 || cstr_is_empty(run_id))
        return rc < 0 ? rc : need_last(op, space, schedule_id);
    if (uuid_parse(str_of(run_id), &id) < 0)
        return err_set(&op->err, ERR_INVALID, "Invalid RunId.");
    rc = op_need_run(op, space, id);
    if (rc == 0 &&
        (!op->run->body->st->schedule || !cstr_eq(op->run->body->st->schedule->schedule_id, schedule_id)))
        rc = ERR_NOT_FOUND;
    return rc == ERR_NOT_FOUND ? schedule_fail_not_found(op, schedule_id) : rc;
}

int op_last_schedule_run(struct op *op, struct space *space, const char *schedule_id, const char **ret) {
    int rc = need_last(op, space, schedule_id);
    *ret = rc == 0 ? arena_strdup(op->call->arena, op->run->body->st->run_id) : "";
    if (rc == 0 && !*ret)
        rc = op_out_of_memory(op);
    op_pin(op, NULL);
    return rc == ERR_NOT_FOUND ? 0 : rc;
}
