/* Calls about batch jobs: start, stop, describe. Lists of them are in visibility_ops.c; what a job does is in
 * batch.c. */
#include "core/step/validate.h"
#include "engine/batch/batch.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/start.h"

int op_need_batch(struct op *op, struct space *space, const char *job_id) {
    bool is_known = false;
    struct uuid run_id;
    char *workflow_id = arena_printf(op->call->arena, "%s%s", BATCH_ID_PREFIX, job_id);
    if (!workflow_id)
        return op_out_of_memory(op);
    int rc = op_need_current(op, space, workflow_id, &is_known, &run_id);
    if (rc == 0 && is_known)
        rc = op_need_run(op, space, run_id);
    if (rc == ERR_NOT_FOUND || (rc == 0 && !is_known)) {
        op_pin(op, NULL);
        return err_set(&op->err, ERR_NOT_FOUND, "batch operation \"%s\" not found", job_id);
    }
    return rc;
}

static int find(struct op *op, const char *namespace_name, const char *job_id, struct space **ret_space) {
    int rc = op_need_space(op, namespace_name, ret_space);
    if (rc == 0)
        rc = validate_required(job_id, "JobId", &op->err);
    return rc == 0 ? op_need_batch(op, *ret_space, job_id) : rc;
}

/* Start */

static int validate_start(struct op *op, const Ws__StartBatchOperationRequest *req,
                          struct space **ret_space) {
    struct filter filter;
    int rc = op_need_space(op, req->namespace_, ret_space);
    if (rc == 0)
        rc = batch_validate(req, &op->e->limits, &op->err);
    if (rc == 0 && batch_listed_count(req) == 0)
        rc = batch_filter(op->call->arena, (*ret_space)->st, req, op->e->now.wall.us, &filter, &op->err);
    if (rc == 0)
        rc = op_check_blob(op, &req->base);
    return rc == 0 ? op_need_room(op) : rc;
}

static int give_birth(struct op *op, struct space *space) {
    struct engine *e = op->e;
    struct uuid_text run_id = uuid_format(uuid_timed(&e->rng, e->now.wall));
    struct batch_birth birth = {space->st->id, run_id.s};
    struct run *run = NULL;
    struct step s;
    bool failed = false;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    if (!st)
        return op_out_of_memory(op);
    step_init(&s, st, e->now.wall, &e->rng, op->call->arena, &op->err);
    s.ctx.space = space->st;
    s.ctx.namespace_name = space->st->name;
    s.limits = &e->limits;
    int rc = batch_start(&s, &birth, op->req);
    if (rc == 0 && (rc = run_keep_new(e, space, &s, &run)) < 0)
        err_std(&op->err, rc);
    pb_free(s.st);
    step_done(&s);
    if (rc == 0) {
        op_pin(op, run);
        batch_begin(e, run);
    }
    return rc;
}

static int refuse(struct op *op, const char *job_id) {
    int rc = err_set(&op->err, ERR_ALREADY_STARTED, "batch operation \"%s\" exists already", job_id);
    run_name_in_error(op->run->body->st, &op->err);
    return rc;
}

void rpc_start_batch(struct op *op) {
    static const Ws__StartBatchOperationResponse resp = WS__START_BATCH_OPERATION_RESPONSE__INIT;
    const Ws__StartBatchOperationRequest *req = op->req;
    struct space *space;
    int rc = validate_start(op, req, &space);
    if (rc == 0)
        rc = op_need_batch(op, space, req->job_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        rc = refuse(op, req->job_id);
    } else if (rc == ERR_NOT_FOUND && space->batch_count >= limit_of(&op->e->limits, SETTABLE_BATCH_JOBS)) {
        rc = err_set(&op->err, ERR_FULL, "Max concurrent batch operations is reached");
        op->err.cause = RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT;
    } else if (rc == ERR_NOT_FOUND) {
        rc = op_need_birth(op, space, NULL);
        if (rc == 0)
            rc = give_birth(op, space);
    }
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

/* Stop */

void rpc_stop_batch(struct op *op) {
    static const Ws__StopBatchOperationResponse resp = WS__STOP_BATCH_OPERATION_RESPONSE__INIT;
    const Ws__StopBatchOperationRequest *req = op->req;
    struct space *space;
    struct step s;
    int rc = op_need_room(op);
    if (rc == 0)
        rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_required(req->job_id, "JobId", &op->err);
    if (rc == 0)
        rc = validate_required(req->reason, "Reason", &op->err);
    if (rc == 0)
        rc = find(op, req->namespace_, req->job_id, &space);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s,
                         batch_end(&s, WORKFLOW_EXECUTION_STATUS_TERMINATED, req->reason, req->identity),
                         STEP_DURABLE);
        if (rc == 0)
            batch_over(space);
    }
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

/* Describe */

void rpc_describe_batch(struct op *op) {
    const Ws__DescribeBatchOperationRequest *req = op->req;
    Ws__DescribeBatchOperationResponse *r = NULL;
    struct space *space;
    int rc = find(op, req->namespace_, req->job_id, &space);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && !(r = batch_describe(op->run->body->st, op->call->arena)))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, &r->base, (struct str){NULL, 0});
}
