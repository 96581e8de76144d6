/* UpdateWorkflowExecutionOptions. */
#include "core/run/options.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"
#include "engine/runtime/copy.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"

static Ws__UpdateWorkflowExecutionOptionsResponse *response(struct op *op, bool is_changed) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Ws__UpdateWorkflowExecutionOptionsResponse *r = arena_new(a, Ws__UpdateWorkflowExecutionOptionsResponse);
    Workflow__WorkflowExecutionOptions *o = arena_new(a, Workflow__WorkflowExecutionOptions);
    if (!r || !o)
        return NULL;
    ws__update_workflow_execution_options_response__init(r);
    workflow__workflow_execution_options__init(o);
    if (st->versioning && st->versioning->override)
        o->versioning_override = message_copy(a, &st->versioning->override->base);
    o->priority = st->priority ? message_copy(a, &st->priority->base) : NULL;
    r->workflow_execution_options = o;
    r->update_time = is_changed ? response_time(a, op->e->now.wall.us) : NULL;
    return arena_failed(a) ? NULL : r;
}

static int check(struct op *op, const Ws__UpdateWorkflowExecutionOptionsRequest *req) {
    int rc = validate_execution(req->workflow_execution, &op->err);
    if (rc == 0 && !req->update_mask)
        rc = err_set(&op->err, ERR_INVALID, "UpdateMask is required");
    if (rc == 0 && !req->workflow_execution_options)
        rc = err_set(&op->err, ERR_INVALID, "WorkflowExecutionOptions is required");
    return rc == 0 ? validate_id(req->identity, "Identity", &op->err) : rc;
}

void rpc_update_workflow_options(struct op *op) {
    const Ws__UpdateWorkflowExecutionOptionsRequest *req = op->req;
    Ws__UpdateWorkflowExecutionOptionsResponse *resp = NULL;
    bool is_changed = false;
    struct space *space;
    struct step s;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = check(op, req);
    if (rc == 0)
        rc = op_need_execution(op, space, req->workflow_execution, NULL);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc =
            options_update(&s, req->workflow_execution_options, req->update_mask, req->identity, &is_changed);
        rc = op_step_end(op, &s, rc, is_changed ? STEP_DURABLE : STEP_QUIET);
    }
    if (rc == 0 && is_changed && op->run->body->st->versioning)
        deployment_pinned(op, space, versioning_override_target(op->run->body->st->versioning->override));
    if (rc == 0 && !(resp = response(op, is_changed)))
        rc = op_out_of_memory(op); /* it has happened; asking again tells so */
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}
