/* Workers and others report on activity tasks: heartbeat, completed, failed, cancelled.
 *
 * Each of the four comes with a task token, or with the ids of workflow and
 * activity. All eight become a struct report and go the same way: find the run,
 * find the activity, step, answer when that is durable. */
#include "engine/workflow/rpc_activity.h"

#include "core/activity/activity.h"
#include "core/activity/activity_report.h"
#include "core/run/run.h"
#include "core/step/validate.h"

#define GONE_TEXT "invalid activityID or activity already timed out or invoking workflow is completed"

enum report_kind { REPORT_HEARTBEAT, REPORT_COMPLETED, REPORT_FAILED, REPORT_CANCELED };

struct report {
    enum report_kind kind;
    const char *namespace_name;
    const char *identity;
    const ProtobufCBinaryData *token; /* NULL: by the ids below */
    Common__WorkflowExecution execution;
    const char *activity_id;

    Common__Payloads *payloads; /* details or result */
    Failure__Failure *failure;
    Common__Payloads *last_heartbeat_details;

    struct heartbeat_answer beat;
    struct failure_cuts cuts;
    union { /* the answer */
        ProtobufCMessage base;
        Ws__RecordActivityTaskHeartbeatResponse heartbeat;
        Ws__RecordActivityTaskHeartbeatByIdResponse heartbeat_by_id;
        Ws__RespondActivityTaskCompletedResponse completed;
        Ws__RespondActivityTaskCompletedByIdResponse completed_by_id;
        Ws__RespondActivityTaskFailedResponse failed;
        Ws__RespondActivityTaskFailedByIdResponse failed_by_id;
        Ws__RespondActivityTaskCanceledResponse canceled;
        Ws__RespondActivityTaskCanceledByIdResponse canceled_by_id;
    } reply;
};

/* rules that need no state */

static int validate_names(const struct report *r, struct err *err) {
    int rc = validate_id(r->identity, "Identity", err);
    if (rc < 0 || r->token)
        return rc;
    rc = validate_required(r->activity_id, "ActivityId", err);
    if (rc == 0 && cstr_is_empty(r->execution.workflow_id))
        rc = err_set(err, ERR_NOT_FOUND,
                     "WorkflowId is not set on request, and this server has no standalone activities");
    return rc;
}

static int validate_failure(const struct report *r, struct err *err) {
    const Failure__Failure *f = r->failure;
    if (r->token && f && f->failure_info_case != FAILURE__FAILURE__FAILURE_INFO__NOT_SET &&
        f->failure_info_case != FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO)
        return err_set(err, ERR_INVALID, "Failure must have ApplicationFailureInfo.");
    return activity_validate_failure(f, err);
}

/* finding */

int activity_need_run(struct op *op, const char *namespace_name, const Common__WorkflowExecution *ex) {
    struct space *space;
    int rc = op_need_space(op, namespace_name, &space);
    if (rc == 0)
        rc = validate_execution(ex, &op->err);
    if (rc == 0 && group_is_full(op->e))
        rc = err_std(&op->err, ERR_BUSY);
    return rc == 0 ? op_need_execution(op, space, ex, NULL) : rc;
}

static int find_run(struct op *op, const struct report *r, State__TaskToken **ret_token) {
    int rc;
    if (r->token) {
        rc = op_need_token_run(op, r->token, r->namespace_name, ret_token);
        if (rc == ERR_NOT_FOUND)
            rc = err_set(&op->err, ERR_NOT_FOUND, GONE_TEXT);
    } else {
        rc = activity_need_run(op, r->namespace_name, &r->execution);
    }
    if (rc == 0 && !run_is_open(op->run->body->st))
        rc = err_set(&op->err, ERR_NOT_FOUND, GONE_TEXT);
    return rc;
}

/* the step */

static int report_apply(struct step *s, struct report *r, State__Activity *a) {
    switch (r->kind) {
    case REPORT_HEARTBEAT:
        return activity_report_heartbeat(s, a, r->payloads, r->identity, &r->beat);
    case REPORT_COMPLETED:
        return activity_report_completed(s, a, r->payloads, r->identity);
    case REPORT_FAILED:
        return activity_report_failed(s, a, r->failure, r->last_heartbeat_details, r->identity, &r->cuts);
    case REPORT_CANCELED:
        return activity_report_canceled(s, a, r->payloads, r->identity);
    }
    return ERR_INTERNAL;
}

static int step_report(struct op *op, struct report *r, const State__TaskToken *token) {
    State__Activity *a = NULL;
    struct step s;
    op_step_begin(op, &s);
    int rc = token ? activity_check_token(&s, token, &a)
                   : activity_check_id(&s, r->activity_id, r->kind == REPORT_COMPLETED, &a);
    if (rc == 0)
        rc = report_apply(&s, r, a);
    return op_step_end(op, &s, rc, STEP_DURABLE);
}

/* the answer */

static void fill_reply(struct report *r) {
    bool by_id = !r->token;
    if (r->kind == REPORT_HEARTBEAT && by_id) {
        r->reply.heartbeat_by_id.cancel_requested = r->beat.is_cancel_requested;
        r->reply.heartbeat_by_id.activity_paused = r->beat.is_paused;
        r->reply.heartbeat_by_id.activity_reset = r->beat.is_reset;
    } else if (r->kind == REPORT_HEARTBEAT) {
        r->reply.heartbeat.cancel_requested = r->beat.is_cancel_requested;
        r->reply.heartbeat.activity_paused = r->beat.is_paused;
        r->reply.heartbeat.activity_reset = r->beat.is_reset;
    } else if (r->kind == REPORT_FAILED && by_id) {
        r->reply.failed_by_id.failures = r->cuts.failures;
        r->reply.failed_by_id.n_failures = r->cuts.count;
    } else if (r->kind == REPORT_FAILED) {
        r->reply.failed.failures = r->cuts.failures;
        r->reply.failed.n_failures = r->cuts.count;
    }
}

static void go_report_activity(struct op *op) {
    struct report *r = op->extra;
    State__TaskToken *token = NULL;
    int rc = validate_names(r, &op->err);
    if (rc == 0)
        rc = validate_failure(r, &op->err);
    if (rc == 0)
        rc = find_run(op, r, &token);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = step_report(op, r, token);
    if (rc < 0) {
        op_fail_durable(op);
        return;
    }
    fill_reply(r);
    op_reply_durable(op, &r->reply.base, (struct str){NULL, 0});
}

/* Keeps the report for the life of the op. From here on go_report_activity is where the op starts again. */
static void report_start(struct op *op, const struct report *report) {
    op->extra = arena_dup(op->call->arena, report, sizeof(*report));
    if (!op->extra) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op->go = go_report_activity;
    go_report_activity(op);
}

/* the eight requests */

static struct report report_by_token(enum report_kind kind, const char *namespace_name, const char *identity,
                                     const ProtobufCBinaryData *token) {
    return (struct report){
        .kind = kind, .namespace_name = namespace_name, .identity = identity, .token = token};
}

static struct report report_by_id(enum report_kind kind, const char *namespace_name, const char *identity,
                                  char *workflow_id, char *run_id, const char *activity_id) {
    struct report r = {.kind = kind,
                       .namespace_name = namespace_name,
                       .identity = identity,
                       .execution = COMMON__WORKFLOW_EXECUTION__INIT,
                       .activity_id = activity_id};
    r.execution.workflow_id = workflow_id;
    r.execution.run_id = run_id;
    return r;
}

void rpc_heartbeat_activity(struct op *op) {
    const Ws__RecordActivityTaskHeartbeatRequest *req = op->req;
    struct report r = report_by_token(REPORT_HEARTBEAT, req->namespace_, req->identity, &req->task_token);
    r.payloads = req->details;
    ws__record_activity_task_heartbeat_response__init(&r.reply.heartbeat);
    report_start(op, &r);
}

void rpc_heartbeat_activity_by_id(struct op *op) {
    const Ws__RecordActivityTaskHeartbeatByIdRequest *req = op->req;
    struct report r = report_by_id(REPORT_HEARTBEAT, req->namespace_, req->identity, req->workflow_id,
                                   req->run_id, req->activity_id);
    r.payloads = req->details;
    ws__record_activity_task_heartbeat_by_id_response__init(&r.reply.heartbeat_by_id);
    report_start(op, &r);
}

void rpc_complete_activity(struct op *op) {
    const Ws__RespondActivityTaskCompletedRequest *req = op->req;
    struct report r = report_by_token(REPORT_COMPLETED, req->namespace_, req->identity, &req->task_token);
    r.payloads = req->result;
    ws__respond_activity_task_completed_response__init(&r.reply.completed);
    report_start(op, &r);
}

void rpc_complete_activity_by_id(struct op *op) {
    const Ws__RespondActivityTaskCompletedByIdRequest *req = op->req;
    struct report r = report_by_id(REPORT_COMPLETED, req->namespace_, req->identity, req->workflow_id,
                                   req->run_id, req->activity_id);
    r.payloads = req->result;
    ws__respond_activity_task_completed_by_id_response__init(&r.reply.completed_by_id);
    report_start(op, &r);
}

void rpc_fail_activity(struct op *op) {
    const Ws__RespondActivityTaskFailedRequest *req = op->req;
    struct report r = report_by_token(REPORT_FAILED, req->namespace_, req->identity, &req->task_token);
    r.failure = req->failure;
    r.last_heartbeat_details = req->last_heartbeat_details;
    ws__respond_activity_task_failed_response__init(&r.reply.failed);
    report_start(op, &r);
}

void rpc_fail_activity_by_id(struct op *op) {
    const Ws__RespondActivityTaskFailedByIdRequest *req = op->req;
    struct report r = report_by_id(REPORT_FAILED, req->namespace_, req->identity, req->workflow_id,
                                   req->run_id, req->activity_id);
    r.failure = req->failure;
    r.last_heartbeat_details = req->last_heartbeat_details;
    ws__respond_activity_task_failed_by_id_response__init(&r.reply.failed_by_id);
    report_start(op, &r);
}

void rpc_cancel_activity(struct op *op) {
    const Ws__RespondActivityTaskCanceledRequest *req = op->req;
    struct report r = report_by_token(REPORT_CANCELED, req->namespace_, req->identity, &req->task_token);
    r.payloads = req->details;
    ws__respond_activity_task_canceled_response__init(&r.reply.canceled);
    report_start(op, &r);
}

void rpc_cancel_activity_by_id(struct op *op) {
    const Ws__RespondActivityTaskCanceledByIdRequest *req = op->req;
    struct report r = report_by_id(REPORT_CANCELED, req->namespace_, req->identity, req->workflow_id,
                                   req->run_id, req->activity_id);
    r.payloads = req->details;
    ws__respond_activity_task_canceled_by_id_response__init(&r.reply.canceled_by_id);
    report_start(op, &r);
}
