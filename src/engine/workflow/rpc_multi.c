/* ExecuteMultiOperation: a start and an update as one, or neither.
 *
 * If the workflow runs and the request means it (same start request, known
 * update, or the policy says so) only the update is done. Otherwise the run is
 * started by the usual rules, and the update is admitted in the same turn, so
 * that it rides on the first workflow task. From there on it is an update like
 * any other (update_ops.c) whose answer has two parts. An error names the
 * operation that failed; the other one was aborted, or had succeeded. */
#include "core/step/validate.h"
#include "engine/workflow/start.h"
#include "engine/workflow/update.h"

struct multi_op {
    struct multi multi; /* what update_ops.c sees of it */
    const Ws__StartWorkflowExecutionRequest *start;
    struct update_wait *update;
};

void multi_fail(struct op *op, bool is_start) {
    const struct update_wait *w = op->extra;
    struct err *parts = arena_array(op->call->arena, struct err, 2);
    struct err cause = op->err;
    if (!parts) {
        (void)op_out_of_memory(op);
        op_fail_durable(op);
        return;
    }
    parts[is_start ? 0 : 1] = cause;
    if (is_start || !w || !w->multi->started)
        (void)err_std(&parts[is_start ? 1 : 0], ERR_MULTI_ABORTED);
    (void)err_std(&op->err, ERR_MULTI);
    op->err.operations = parts;
    op->err.operation_count = 2;
    op_fail_durable(op);
}

/* the rules */

static int check_shape(struct op *op, const Ws__ExecuteMultiOperationRequest *req) {
    if (req->n_operations != 2 ||
        req->operations[0]->operation_case !=
            WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_START_WORKFLOW ||
        req->operations[1]->operation_case !=
            WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_UPDATE_WORKFLOW)
        return err_set(&op->err, ERR_INVALID, "Operations have to be exactly [Start, Update].");
    return 0;
}

static int check_start(struct op *op, const Ws__ExecuteMultiOperationRequest *req, const struct space *space,
                       const Ws__StartWorkflowExecutionRequest *start) {
    int rc = run_validate_start(start, space->st, op->e->cfg.zones, &op->e->limits, &op->err);
    if (rc == 0 && !cstr_is_empty(start->namespace_) && !cstr_eq(start->namespace_, req->namespace_))
        rc = err_set(&op->err, ERR_INVALID, "Namespace is not consistent with the request.");
    if (rc == 0 && !cstr_is_empty(start->cron_schedule))
        rc = err_set(&op->err, ERR_INVALID, "CronSchedule is not allowed.");
    if (rc == 0 && start->request_eager_execution)
        rc = err_set(&op->err, ERR_INVALID, "RequestEagerExecution is not supported.");
    if (rc == 0 && pb_duration_us(start->workflow_start_delay) > 0)
        rc = err_set(&op->err, ERR_INVALID, "WorkflowStartDelay is not supported.");
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)start->input);
    if (rc == 0)
        rc = op_check_memo(op, start->memo);
    return rc;
}

static int check_update(struct op *op, const Ws__ExecuteMultiOperationRequest *req, const char *workflow_id,
                        const Ws__UpdateWorkflowExecutionRequest *update) {
    const Common__WorkflowExecution *ex = update->workflow_execution;
    if (!cstr_is_empty(update->namespace_) && !cstr_eq(update->namespace_, req->namespace_))
        return err_set(&op->err, ERR_INVALID, "Namespace is not consistent with the request.");
    if (!ex || !cstr_eq(ex->workflow_id, workflow_id))
        return err_set(&op->err, ERR_INVALID, "WorkflowId is not consistent with previous operation(s).");
    if (!cstr_is_empty(ex->run_id))
        return err_set(&op->err, ERR_INVALID, "RunId is not allowed.");
    if (!cstr_is_empty(update->first_execution_run_id))
        return err_set(&op->err, ERR_INVALID, "FirstExecutionRunId is not allowed.");
    return 0;
}

/* doing it */

/* Whether the update is for the run that is there already. */
static bool means_existing(const struct op *op, const struct multi_op *m, enum start_verdict verdict) {
    if (!op->run)
        return false;
    const State__Execution *st = op->run->body->st;
    const State__Update *known = update_find(st, m->update->update_id);
    if (known && known->completed_event_id)
        return true;
    if (verdict == START_SAME || verdict == START_EXISTING)
        return true;
    return run_is_open(st) && (known || update_in_memory(op->run, m->update->update_id));
}

static void wait_for_update(struct op *op, struct multi_op *m, bool is_started) {
    op->extra = m->update;
    m->multi.started = started_response(op, is_started);
    if (!m->multi.started) {
        (void)op_out_of_memory(op);
        update_fail(op);
        return;
    }
    update_wait_go(op);
}

static void go_multi_step(struct op *op) {
    struct multi_op *m = op->extra;
    enum start_verdict verdict = START_NEW;
    struct space *space;
    bool is_update = false;
    int rc = op_need_space(op, m->update->namespace_name, &space);
    if (rc == 0)
        rc = op_need_room(op);
    if (rc == 0)
        rc = op_judge_start(op, space, m->start, &verdict);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && means_existing(op, m, verdict)) {
        is_update = true;
        rc = update_admit(op, m->update->request);
    } else if (rc == 0 && verdict == START_REFUSED) {
        rc = op->err.code;
    } else if (rc == 0) {
        struct start_plan plan = {.req = m->start};
        verdict = verdict == START_TERMINATE_FIRST ? verdict : START_NEW;
        rc = op_start_by_verdict(op, space, &plan, verdict);
        if (rc == 0) {
            is_update = true;
            verdict = START_SAME; /* it is the one of this request now */
            rc = update_admit(op, m->update->request);
        }
    }
    if (rc < 0) {
        op->extra = NULL;
        multi_fail(op, !is_update);
    } else {
        wait_for_update(op, m, verdict == START_SAME);
    }
}

void rpc_execute_multi(struct op *op) {
    const Ws__ExecuteMultiOperationRequest *req = op->req;
    struct multi_op *m = arena_new(op->call->arena, struct multi_op);
    struct space *space;
    int rc = m ? op_need_open_space(op, req->namespace_, &space) : op_out_of_memory(op);
    if (rc == 0)
        rc = check_shape(op, req);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    m->start = req->operations[0]->start_workflow;
    const Ws__UpdateWorkflowExecutionRequest *update = req->operations[1]->update_workflow;
    bool is_start = true;
    rc = check_start(op, req, space, m->start);
    if (rc == 0)
        rc = op_need_request_id(op, m->start->request_id);
    if (rc == 0) {
        is_start = false;
        rc = check_update(op, req, m->start->workflow_id, update);
    }
    if (rc == 0)
        rc = update_wait_new(op, update, &m->update);
    if (rc < 0) {
        multi_fail(op, is_start);
        return;
    }
    m->update->namespace_name = req->namespace_;
    m->update->multi = &m->multi;
    op->extra = m;
    op->go = go_multi_step;
    go_multi_step(op);
}
