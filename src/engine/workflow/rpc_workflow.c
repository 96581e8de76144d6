/* Calls that reach a run from outside: signal, cancel, terminate, pause. */
#include "core/run/pause.h"
#include "core/run/run.h"
#include "core/step/validate.h"
#include "engine/workflow/links.h"

/* What they have in common: find the run, step, answer when it is durable. */
static int find_for_change(struct op *op, const char *namespace_name, const Common__WorkflowExecution *ex,
                           const char *first_run_id, const char *identity, size_t link_count) {
    struct space *space;
    int rc = op_need_space(op, namespace_name, &space);
    if (rc == 0)
        rc = validate_id(identity, "Identity", &op->err);
    if (rc == 0 && link_count > LIMIT_LINKS)
        rc = err_set(&op->err, ERR_INVALID, "cannot attach more than %d links per request", LIMIT_LINKS);
    if (rc == 0)
        rc = validate_execution(ex, &op->err);
    if (rc == 0)
        rc = op_need_room(op);
    if (rc == 0)
        rc = op_need_execution(op, space, ex, first_run_id);
    return rc;
}

static void workflow_end_change(struct op *op, int rc, const ProtobufCMessage *resp) {
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, resp, (struct str){NULL, 0});
}

/* It has happened: without memory for the answer, asking again with the same request id tells so. */
static void reply_signal_workflow(struct op *op, const char *request_id) {
    struct arena *a = op->call->arena;
    Ws__SignalWorkflowExecutionResponse *r = arena_new(a, Ws__SignalWorkflowExecutionResponse);
    if (r)
        ws__signal_workflow_execution_response__init(r);
    if (r && !cstr_is_empty(request_id))
        r->link = request_link(op, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, request_id);
    workflow_end_change(op, arena_failed(a) ? op_out_of_memory(op) : 0, (const ProtobufCMessage *)r);
}

void rpc_signal_workflow(struct op *op) {
    const Ws__SignalWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = validate_required(req->signal_name, "SignalName", &op->err);
    if (rc == 0)
        rc = validate_id(req->request_id, "RequestId", &op->err);
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)req->input);
    if (rc == 0)
        rc = find_for_change(op, req->namespace_, req->workflow_execution, NULL, req->identity, req->n_links);
    if (rc == 0) {
        op_sure_step_begin(op, &s);
        rc = op_step_end(op, &s, run_signal(&s, req, NULL), STEP_DURABLE);
    }
    if (rc < 0)
        workflow_end_change(op, rc, NULL);
    else
        reply_signal_workflow(op, req->request_id);
}

void rpc_request_cancel(struct op *op) {
    static const Ws__RequestCancelWorkflowExecutionResponse resp =
        WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__RequestCancelWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = validate_id(req->request_id, "RequestId", &op->err);
    if (rc == 0)
        rc = find_for_change(op, req->namespace_, req->workflow_execution, req->first_execution_run_id,
                             req->identity, req->n_links);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_request_cancel(&s, req, NULL), STEP_DURABLE);
    }
    workflow_end_change(op, rc, &resp.base);
}

void rpc_terminate_workflow(struct op *op) {
    static const Ws__TerminateWorkflowExecutionResponse resp =
        WS__TERMINATE_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__TerminateWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = find_for_change(op, req->namespace_, req->workflow_execution, req->first_execution_run_id,
                             req->identity, req->n_links);
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)req->details);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(
            op, &s, run_terminate(&s, req->reason, req->details, req->identity, req->links, req->n_links),
            STEP_DURABLE);
    }
    workflow_end_change(op, rc, &resp.base);
}

/* Pause and unpause name their run in the same fields. */
static int find_for_pause(struct op *op, const char *namespace_name, char *workflow_id, char *run_id,
                          const char *identity, const char *reason, const char *request_id) {
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    ex.workflow_id = workflow_id;
    ex.run_id = run_id;
    int rc = validate_id(reason, "Reason", &op->err);
    if (rc == 0)
        rc = validate_id(request_id, "RequestId", &op->err);
    return rc == 0 ? find_for_change(op, namespace_name, &ex, NULL, identity, 0) : rc;
}

void rpc_pause_workflow(struct op *op) {
    static const Ws__PauseWorkflowExecutionResponse resp = WS__PAUSE_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__PauseWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = find_for_pause(op, req->namespace_, req->workflow_id, req->run_id, req->identity, req->reason,
                            req->request_id);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_pause(&s, req), STEP_DURABLE);
    }
    workflow_end_change(op, rc, &resp.base);
}

void rpc_unpause_workflow(struct op *op) {
    static const Ws__UnpauseWorkflowExecutionResponse resp = WS__UNPAUSE_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__UnpauseWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = find_for_pause(op, req->namespace_, req->workflow_id, req->run_id, req->identity, req->reason,
                            req->request_id);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_unpause(&s, req), STEP_DURABLE);
    }
    workflow_end_change(op, rc, &resp.base);
}
