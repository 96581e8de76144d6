/* `workflow update`: sends an update, waits for its result, or shows its stage.
 *
 * The server may respond before the requested stage is reached, when its own time limit passes. Then the
 * call is repeated for the same update id, which is safe. */
#include "command/connection.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "names.h"
#include "workflowservice.pb-c.h"

#define STAGE_ACCEPTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
#define STAGE_COMPLETED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED

/* The state of an update. */
struct update_progress {
    const char *workflow_id, *run_id; /* "" unless the update was sent with a start */
    const char *name; /* "" when it is not known */
    const char *update_id;
    Update__Outcome *outcome;
    int stage;
};

static enum command_exit update_show_outcome(struct command *c, const struct update_progress *p,
                                             struct buf *out) {
    static const char *const stages[] = {"Unspecified", "Admitted", "Accepted", "Completed"};
    const Failure__Failure *failure = NULL;
    struct object o;
    object_init(&o, c);
    object_add_text(&o, "WorkflowId", p->workflow_id);
    object_add_text(&o, "RunId", p->run_id);
    object_add_text(&o, *p->workflow_id ? "UpdateName" : "Name", p->name);
    object_add_text(&o, "UpdateId", p->update_id);
    object_add_text(&o, "Stage", p->stage >= 0 && p->stage < (int)ARRAY_LEN(stages) ? stages[p->stage] : "");
    if (p->outcome && p->outcome->value_case == UPDATE__OUTCOME__VALUE_SUCCESS)
        object_add_message(&o, *p->workflow_id ? "UpdateResult" : "Result", &p->outcome->success->base);
    if (p->outcome && p->outcome->value_case == UPDATE__OUTCOME__VALUE_FAILURE) {
        failure = p->outcome->failure;
        if (c->format != FORMAT_TABLE)
            object_add_message(&o, "Failure", &failure->base);
    }
    enum command_exit code = object_print(&o, out);
    if (!failure || c->id == COMMAND_UPDATE_DESCRIBE)
        return code;
    struct buf why;
    buf_init(&why, 4096);
    outcome_add_failure(&why, &failure->base);
    command_print_error("the update failed: %.*s", (int)why.len, why.len ? (const char *)why.data : "");
    buf_done(&why);
    return COMMAND_REFUSED;
}

static enum command_exit update_poll_stage(struct command *c, Update__UpdateRef *ref, int stage,
                                           struct update_progress *p) {
    ProtobufCMessage *m = request_new(c, CALL_PollWorkflowExecutionUpdate);
    Update__WaitPolicy policy = UPDATE__WAIT_POLICY__INIT;
    struct connection_ask ask = {
        .method = CALL_PollWorkflowExecutionUpdate, .request = m, .can_time_out = stage != 0};
    if (!m)
        return COMMAND_REFUSED;
    Ws__PollWorkflowExecutionUpdateRequest *q = (void *)m;
    policy.lifecycle_stage = stage;
    q->update_ref = ref;
    q->wait_policy = stage ? &policy : NULL;
    for (;;) {
        enum command_exit code = connection_call(c, &ask, &c->arena, &m);
        if (code != COMMAND_DONE)
            return code;
        const Ws__PollWorkflowExecutionUpdateResponse *r = (const void *)m;
        if (!r)
            continue;
        p->outcome = r->outcome;
        p->stage = r->stage;
        if (p->outcome || p->stage >= stage)
            return COMMAND_DONE;
    }
}

/* Fills in identity, update id and the stage to wait for. */
static int update_finish_request(struct command *c, ProtobufCMessage *m, int stage) {
    const Ws__UpdateWorkflowExecutionRequest *q = (const void *)m;
    const char *id = request_random_id(c);
    struct err e;
    int rc = id ? 0 : ERR_NO_MEMORY;
    if (rc == 0)
        rc = request_set(m, "request.meta.identity", FORM_PLAIN, request_identity(c), &c->arena, &e);
    if (rc == 0 && !*q->request->meta->update_id)
        rc = request_set(m, "request.meta.update_id", FORM_PLAIN, id, &c->arena, &e);
    if (rc == 0)
        rc = request_set(m, "wait_policy.lifecycle_stage", FORM_PLAIN,
                         stage == STAGE_COMPLETED ? "COMPLETED" : "ACCEPTED", &c->arena, &e);
    return rc;
}

static enum command_exit update_send_request(struct command *c, int stage, struct buf *out) {
    Ws__UpdateWorkflowExecutionRequest *q = (void *)c->request;
    struct connection_ask ask = {
        .method = CALL_UpdateWorkflowExecution, .request = c->request, .can_time_out = true};
    ProtobufCMessage *m;
    if (update_finish_request(c, c->request, stage) < 0)
        return COMMAND_REFUSED;
    struct update_progress p = {.workflow_id = "",
                                .run_id = "",
                                .name = q->request->input->name,
                                .update_id = q->request->meta->update_id};
    /* The update id makes it safe to repeat the call. */
    do {
        enum command_exit code = connection_call(c, &ask, &c->arena, &m);
        if (code != COMMAND_DONE)
            return code;
        const Ws__UpdateWorkflowExecutionResponse *r = (const void *)m;
        p.stage = r ? (int)r->stage : 0;
        p.outcome = r ? r->outcome : NULL;
    } while (!p.outcome && p.stage < STAGE_ACCEPTED);
    Update__UpdateRef *ref = ((const Ws__UpdateWorkflowExecutionResponse *)m)->update_ref;
    if (!p.outcome && stage == STAGE_COMPLETED) {
        enum command_exit code = update_poll_stage(c, ref, stage, &p);
        if (code != COMMAND_DONE)
            return code;
    }
    return update_show_outcome(c, &p, out);
}

enum command_exit update_execute_run(struct command *c, struct buf *out) {
    return update_send_request(c, STAGE_COMPLETED, out);
}

enum command_exit update_start_run(struct command *c, struct buf *out) {
    return update_send_request(c, STAGE_ACCEPTED, out);
}

static enum command_exit update_poll_and_show(struct command *c, int stage, struct buf *out) {
    Update__UpdateRef *ref = ((const Ws__PollWorkflowExecutionUpdateRequest *)c->request)->update_ref;
    struct update_progress p = {.workflow_id = "", .run_id = "", .name = "", .update_id = ref->update_id};
    enum command_exit code = update_poll_stage(c, ref, stage, &p);
    return code == COMMAND_DONE ? update_show_outcome(c, &p, out) : code;
}

enum command_exit update_result_run(struct command *c, struct buf *out) {
    return update_poll_and_show(c, STAGE_COMPLETED, out);
}

enum command_exit update_describe_run(struct command *c, struct buf *out) {
    return update_poll_and_show(c, 0, out);
}

/* With a start: one call does both or neither. */

static ProtobufCMessage *update_make_request(struct command *c, const char *workflow_id, struct err *e) {
    static const struct {
        const char *flag, *field;
    } fields[] = {{"update-name", "request.input.name"},
                  {"update-id", "request.meta.update_id"},
                  {"update-first-execution-run-id", "first_execution_run_id"}};
    ProtobufCMessage *m = request_new(c, CALL_UpdateWorkflowExecution);
    int rc = m ? request_set(m, "workflow_execution.workflow_id", FORM_PLAIN, workflow_id, &c->arena, e)
               : err_std(e, ERR_NO_MEMORY);
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(fields); i++) {
        const char *text = opt_named(c->args, fields[i].flag);
        if (text)
            rc = request_set(m, fields[i].field, FORM_PLAIN, text, &c->arena, e);
    }
    if (rc == 0 && !request_message(m, "request.meta", &c->arena))
        rc = err_std(e, ERR_NO_MEMORY);
    if (rc == 0)
        rc = input_set(c, "update-input", m, "request.input.args", e);
    return rc == 0 ? m : NULL;
}

static enum command_exit update_send_with_start(struct command *c, Ws__StartWorkflowExecutionRequest *start,
                                                ProtobufCMessage *update,
                                                const Ws__ExecuteMultiOperationResponse **ret) {
    Ws__ExecuteMultiOperationRequest__Operation first = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__INIT;
    Ws__ExecuteMultiOperationRequest__Operation second = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__INIT;
    Ws__ExecuteMultiOperationRequest__Operation *both[] = {&first, &second};
    ProtobufCMessage *m = request_new(c, CALL_ExecuteMultiOperation);
    if (!m)
        return COMMAND_REFUSED;
    Ws__ExecuteMultiOperationRequest *q = (void *)m;
    first.operation_case = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_START_WORKFLOW;
    first.start_workflow = start;
    second.operation_case = WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_UPDATE_WORKFLOW;
    second.update_workflow = (void *)update;
    q->operations = both;
    q->n_operations = ARRAY_LEN(both);
    struct connection_ask ask = {.method = CALL_ExecuteMultiOperation, .request = m, .can_time_out = true};
    const Ws__ExecuteMultiOperationResponse *r;
    do { /* the ids make it safe to repeat the call */
        enum command_exit code = connection_call(c, &ask, &c->arena, &m);
        if (code != COMMAND_DONE)
            return code;
        r = (const void *)m;
    } while (!r);
    if (r->n_responses != ARRAY_LEN(both) || !r->responses[0]->start_workflow ||
        !r->responses[1]->update_workflow) {
        command_print_error("the server sent an unexpected response to the start and the update");
        return COMMAND_REFUSED;
    }
    *ret = r;
    return COMMAND_DONE;
}

static enum command_exit update_start_and_show(struct command *c, int stage, struct buf *out) {
    Ws__StartWorkflowExecutionRequest *start = (void *)c->request;
    const Ws__ExecuteMultiOperationResponse *r;
    struct err e;
    if (!opt_named(c->args, "workflow-id") || !opt_named(c->args, "id-conflict-policy")) {
        command_print_error("--workflow-id and --id-conflict-policy are needed; see rondo %s --help",
                            c->args->command->path);
        return COMMAND_MISUSED;
    }
    ProtobufCMessage *update = update_make_request(c, start->workflow_id, &e);
    if (!update) {
        command_print_error("%s; see rondo %s --help", e.text, c->args->command->path);
        return COMMAND_MISUSED;
    }
    if (update_finish_request(c, update, stage) < 0)
        return COMMAND_REFUSED;
    enum command_exit code = update_send_with_start(c, start, update, &r);
    if (code != COMMAND_DONE)
        return code;
    const Ws__UpdateWorkflowExecutionRequest *q = (const void *)update;
    const Ws__UpdateWorkflowExecutionResponse *answer = r->responses[1]->update_workflow;
    struct update_progress p = {.workflow_id = start->workflow_id,
                                .run_id = r->responses[0]->start_workflow->run_id,
                                .name = q->request->input->name,
                                .update_id = q->request->meta->update_id,
                                .outcome = answer->outcome,
                                .stage = (int)answer->stage};
    if (!p.outcome && p.stage < stage)
        code = update_poll_stage(c, answer->update_ref, stage, &p);
    return code == COMMAND_DONE ? update_show_outcome(c, &p, out) : code;
}

enum command_exit update_start_with_run(struct command *c, struct buf *out) {
    return update_start_and_show(c, STAGE_ACCEPTED, out);
}

enum command_exit update_execute_with_run(struct command *c, struct buf *out) {
    return update_start_and_show(c, STAGE_COMPLETED, out);
}
