/* Workers answer activity tasks: heartbeat, completed, failed, cancelled.
 *
 * The four differ only in the step; what they share (token, run, attempt, error)
 * is done once. */
#include "core/activity.h"
#include "core/run.h"
#include "engine/engine_int.h"

#define GONE_TEXT "invalid activityID or activity already timed out or invoking workflow is completed"

static int find_run(struct op *op, const ProtobufCBinaryData *bytes, const char *namespace_name,
                    State__TaskToken **ret) {
    int rc = op_need_token_run(op, bytes, namespace_name, ret);
    if (rc == ERR_NOT_FOUND || (rc == 0 && !run_is_open(op->run->body->st)))
        rc = err_set(&op->err, ERR_NOT_FOUND, GONE_TEXT);
    return rc;
}

typedef int activity_step(struct step *s, State__Activity *a, const void *req);

/* Runs the step; false when the op has ended or waits. */
static bool change_activity(struct op *op, const ProtobufCBinaryData *token_bytes, const char *namespace_name,
                            activity_step *fn, int64_t *ret_cancel_event) {
    State__TaskToken *token;
    State__Activity *a = NULL;
    struct step s;
    int rc = find_run(op, token_bytes, namespace_name, &token);
    if (rc == ERR_WAIT)
        return false;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = activity_check_token(&s, token, &a);
        if (rc == 0 && ret_cancel_event)
            *ret_cancel_event = a->cancel_requested_event_id;
        if (rc == 0)
            rc = fn(&s, a, op->req);
        rc = op_step_end(op, &s, rc, true);
    }
    if (rc < 0)
        op_fail_durable(op);
    return rc == 0;
}

/* heartbeat */

static int step_heartbeat(struct step *s, State__Activity *a, const void *req) {
    return activity_heartbeat(s, a, ((const Ws__RecordActivityTaskHeartbeatRequest *)req)->details);
}

static void go_heartbeat(struct op *op) {
    static const Ws__RecordActivityTaskHeartbeatResponse go_on =
        WS__RECORD_ACTIVITY_TASK_HEARTBEAT_RESPONSE__INIT;
    static const Ws__RecordActivityTaskHeartbeatResponse cancel = {
        PROTOBUF_C_MESSAGE_INIT(&ws__record_activity_task_heartbeat_response__descriptor),
        .cancel_requested = 1};
    const Ws__RecordActivityTaskHeartbeatRequest *req = op->req;
    int64_t cancel_event = 0;
    if (change_activity(op, &req->task_token, req->namespace_, step_heartbeat, &cancel_event))
        op_reply_durable(op, cancel_event ? &cancel.base : &go_on.base, (struct str){NULL, 0});
}

void engine_heartbeat_activity(struct engine *e, struct call *c,
                               const Ws__RecordActivityTaskHeartbeatRequest *req) {
    struct op *op = op_new(e, c, req, go_heartbeat);
    if (op)
        op_start(op);
}

/* completed */

static int step_complete(struct step *s, State__Activity *a, const void *req) {
    const Ws__RespondActivityTaskCompletedRequest *r = req;
    return activity_complete(s, a, r->result, r->identity);
}

static void go_complete(struct op *op) {
    static const Ws__RespondActivityTaskCompletedResponse resp =
        WS__RESPOND_ACTIVITY_TASK_COMPLETED_RESPONSE__INIT;
    const Ws__RespondActivityTaskCompletedRequest *req = op->req;
    if (change_activity(op, &req->task_token, req->namespace_, step_complete, NULL))
        op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

void engine_complete_activity(struct engine *e, struct call *c,
                              const Ws__RespondActivityTaskCompletedRequest *req) {
    struct op *op = op_new(e, c, req, go_complete);
    if (op)
        op_start(op);
}

/* failed */

static int step_fail(struct step *s, State__Activity *a, const void *req) {
    const Ws__RespondActivityTaskFailedRequest *r = req;
    if (r->failure && r->failure->failure_info_case != FAILURE__FAILURE__FAILURE_INFO__NOT_SET &&
        r->failure->failure_info_case != FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO)
        return err_set(s->err, ERR_INVALID, "Failure must have ApplicationFailureInfo.");
    return activity_fail(s, a, r->failure, r->last_heartbeat_details, r->identity);
}

static void go_fail(struct op *op) {
    static const Ws__RespondActivityTaskFailedResponse resp = WS__RESPOND_ACTIVITY_TASK_FAILED_RESPONSE__INIT;
    const Ws__RespondActivityTaskFailedRequest *req = op->req;
    if (change_activity(op, &req->task_token, req->namespace_, step_fail, NULL))
        op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

void engine_fail_activity(struct engine *e, struct call *c, const Ws__RespondActivityTaskFailedRequest *req) {
    struct op *op = op_new(e, c, req, go_fail);
    if (op)
        op_start(op);
}

/* cancelled */

static int step_cancel(struct step *s, State__Activity *a, const void *req) {
    const Ws__RespondActivityTaskCanceledRequest *r = req;
    return activity_cancel(s, a, r->details, r->identity);
}

static void go_cancel(struct op *op) {
    static const Ws__RespondActivityTaskCanceledResponse resp =
        WS__RESPOND_ACTIVITY_TASK_CANCELED_RESPONSE__INIT;
    const Ws__RespondActivityTaskCanceledRequest *req = op->req;
    if (change_activity(op, &req->task_token, req->namespace_, step_cancel, NULL))
        op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

void engine_cancel_activity(struct engine *e, struct call *c,
                            const Ws__RespondActivityTaskCanceledRequest *req) {
    struct op *op = op_new(e, c, req, go_cancel);
    if (op)
        op_start(op);
}
