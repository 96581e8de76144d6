/* Workers answer workflow tasks: completed, or failed. */
#include <stdio.h>

#include "core/run/command.h"
#include "core/step/failure.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"

#define COMPLETED_TASK_FIELD 1 /* RespondWorkflowTaskCompletedResponse.workflow_task */

/* completed */

/* What rides in the answer to a completion. */
struct completion_answer {
    State__WorkflowTask begun; /* the task that was started for the same worker */
    bool is_task_packed; /* and then one of those that the call carries */
    struct eager_part *activities;
    size_t activity_count;
    Ws__RespondWorkflowTaskCompletedResponse *response;
};

static void give_back(struct step *s, void *arg) {
    const State__WorkflowTask *begun = arg;
    task_give_back(s, begun->scheduled_event_id, begun->started_us);
}

/* The worker left before it heard what it has got. */
static void drop_answer(struct op *op) {
    struct completion_answer *answer = op->extra;
    op_drop_carried(op);
    if (answer && !answer->is_task_packed)
        run_quiet_step(op->e, op->run, give_back, &answer->begun);
}

static void reply_with_activities(struct op *op, const struct completion_answer *answer, struct str task) {
    struct str tail = eager_tail(op, task, answer->activities, answer->activity_count);
    op_reply_durable(op, &answer->response->base, tail);
}

/* The next task rides in the answer to this one. */
static void go_answer_with_task(struct op *op) {
    const State__WorkflowTask *now = op->run->body->st->task;
    struct completion_answer *answer = op->extra;
    const State__WorkflowTask *begun = &answer->begun;
    struct str task = {NULL, 0};
    /* Otherwise it ended while events were read. */
    if (now && now->scheduled_event_id == begun->scheduled_event_id && now->started_us == begun->started_us) {
        /* This worker has all that came before, also when it keeps nothing for later tasks. */
        int rc = task_response_tail(op, COMPLETED_TASK_FIELD, true, &task);
        if (rc == ERR_WAIT)
            return;
        if (rc == 0)
            answer->is_task_packed = true;
        else /* without memory the worker does not get the task here; it times out and is offered again */
            task = (struct str){NULL, 0};
    }
    reply_with_activities(op, answer, task);
}

/* The completion was refused: undone, and the task is failed with the reason instead; with it the run, when
 * that is final. */
static int fail_refused(struct op *op, const Ws__RespondWorkflowTaskCompletedRequest *req,
                        E__WorkflowTaskFailedCause cause, bool is_final) {
    struct err refused = op->err;
    struct step s;
    char text[ERR_TEXT_MAX * 2];
    bool is_unhandled = cause == WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
    if (is_unhandled)
        snprintf(text, sizeof(text), "UnhandledCommand");
    else
        snprintf(text, sizeof(text), "%s: %s", command_cause_name(cause), refused.text);
    if (!is_unhandled && op->run->body->st->task->attempt > 1) /* transient: its timeout paces the retry */
        return err_set(&op->err, refused.code, "%s", text);
    op_step_begin(op, &s);
    Failure__Failure *failure = failure_server(&s, text);
    int rc = 0;
    if (is_final) {
        task_fail_finally(&s, cause, failure, req->identity);
        rc = run_terminate(&s, text, NULL, "history-service", NULL, 0);
    } else {
        task_fail(&s, cause, failure, req->identity);
    }
    rc = op_step_end(op, &s, rc, STEP_DURABLE);
    if (rc < 0)
        return rc;
    err_set(&op->err, refused.code, "%s", text);
    return refused.code;
}

/* 0 with *done; the messages of the completion have reached those who wait. */
static int complete_step(struct op *op, const State__TaskToken *token, struct completion *done) {
    const Ws__RespondWorkflowTaskCompletedRequest *req = op->req;
    struct step s;
    struct step_context ctx;
    op_step_begin(op, &s);
    int rc = updates_offer(op, &s.ctx);
    if (rc == 0)
        rc = task_complete(&s, token, req, done);
    ctx = s.ctx;
    /* What leaves no trace need not be written; what was buffered is written anyway. */
    rc = op_step_end(op, &s, rc, done->is_discarded ? STEP_QUIET : STEP_DURABLE);
    if (rc < 0 && s.task_failed_cause) {
        rc = fail_refused(op, req, s.task_failed_cause, s.is_task_failure_final);
        if (s.task_failed_cause != WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND)
            updates_unready(op, &ctx);
    }
    if (rc == 0 && done->is_heartbeat_over)
        return err_set(&op->err, ERR_NOT_FOUND, "workflow task heartbeat timeout");
    if (rc == 0)
        updates_settle(op, &ctx, done->is_heartbeat);
    return rc;
}

static void reply_completed(struct op *op, const struct completion *done) {
    struct completion_answer answer = {
        .response = arena_new(op->call->arena, Ws__RespondWorkflowTaskCompletedResponse),
    };
    answer.activity_count = eager_response(op, done, &answer.activities);
    if (!answer.response) {
        (void)op_out_of_memory(op); /* it has happened; the worker finds its task gone */
        op_fail_durable(op);
        return;
    }
    ws__respond_workflow_task_completed_response__init(answer.response);
    answer.response->reset_history_event_id = done->reset_event_id;
    if (done->is_new_started) {
        answer.begun = *op->run->body->st->task;
        op->extra = arena_dup(op->call->arena, &answer, sizeof(answer));
    }
    op->drop = drop_answer;
    if (!op->extra) { /* no next task, or no memory to hand it over: then it times out and is offered again */
        reply_with_activities(op, &answer, (struct str){NULL, 0});
        return;
    }
    op->go = go_answer_with_task;
    go_answer_with_task(op);
}

void rpc_complete_workflow_task(struct op *op) {
    const Ws__RespondWorkflowTaskCompletedRequest *req = op->req;
    struct completion done = {0};
    State__TaskToken *token;
    int rc = op_need_token_run(op, &req->task_token, req->namespace_, &token);
    if (rc == 0)
        rc = op_need_origin(op);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = op_need_command_queues(op, req);
    if (rc == 0)
        rc = complete_step(op, token, &done);
    if (rc < 0) {
        op_fail_durable(op);
        return;
    }
    queries_answer(op->e, op->run, req);
    reply_completed(op, &done);
}

/* failed */

void rpc_fail_workflow_task(struct op *op) {
    static const Ws__RespondWorkflowTaskFailedResponse resp = WS__RESPOND_WORKFLOW_TASK_FAILED_RESPONSE__INIT;
    const Ws__RespondWorkflowTaskFailedRequest *req = op->req;
    State__TaskToken *token;
    struct step s;
    int rc = op_need_token_run(op, &req->task_token, req->namespace_, &token);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = task_check_token(&s, token);
        if (rc == 0)
            rc = task_report_failed(&s, req->cause, req->failure, req->identity);
        rc = op_step_end(op, &s, rc, STEP_DURABLE);
    }
    if (rc < 0) {
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}
