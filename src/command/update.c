/* `workflow update`: send one, wait for it, look at it.
 *
 * The server may answer before the stage that was asked for, when its own
 * patience ends; then it is asked again, about the same update. */
#include "command/command_int.h"
#include "names.h"
#include "workflowservice.pb-c.h"

#define STAGE_ACCEPTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
#define STAGE_COMPLETED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED

/* What is known of an update. */
struct progress {
    const char *name; /* "" when nobody said */
    const char *update_id;
    Update__Outcome *outcome;
    int stage;
};

static enum command_exit show(struct command *c, const struct progress *p, struct buf *out) {
    static const char *const stages[] = {"Unspecified", "Admitted", "Accepted", "Completed"};
    const Failure__Failure *failure = NULL;
    struct object o;
    object_init(&o, c);
    object_text(&o, "Name", p->name);
    object_text(&o, "UpdateId", p->update_id);
    object_text(&o, "Stage", p->stage >= 0 && p->stage < (int)ARRAY_LEN(stages) ? stages[p->stage] : "");
    if (p->outcome && p->outcome->value_case == UPDATE__OUTCOME__VALUE_SUCCESS)
        object_message(&o, "Result", &p->outcome->success->base);
    if (p->outcome && p->outcome->value_case == UPDATE__OUTCOME__VALUE_FAILURE) {
        failure = p->outcome->failure;
        if (c->format != FORMAT_TABLE)
            object_message(&o, "Failure", &failure->base);
    }
    enum command_exit code = object_print(&o, out);
    if (!failure || c->id == COMMAND_UPDATE_DESCRIBE)
        return code;
    struct buf why;
    buf_init(&why, 4096);
    add_failure(&why, &failure->base);
    say("the update failed: %.*s", (int)why.len, why.len ? (const char *)why.data : "");
    buf_done(&why);
    return COMMAND_REFUSED;
}

static enum command_exit poll(struct command *c, Update__UpdateRef *ref, int stage, struct progress *p) {
    ProtobufCMessage *m = request_new(c, CALL_PollWorkflowExecutionUpdate);
    Update__WaitPolicy policy = UPDATE__WAIT_POLICY__INIT;
    struct talk_ask ask = {
        .method = CALL_PollWorkflowExecutionUpdate, .request = m, .is_patient = stage != 0};
    if (!m)
        return COMMAND_REFUSED;
    Ws__PollWorkflowExecutionUpdateRequest *q = (void *)m;
    policy.lifecycle_stage = stage;
    q->update_ref = ref;
    q->wait_policy = stage ? &policy : NULL;
    for (;;) {
        enum command_exit code = talk_call(c, &ask, &c->arena, &m);
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

static enum command_exit send(struct command *c, int stage, struct buf *out) {
    Ws__UpdateWorkflowExecutionRequest *q = (void *)c->request;
    struct talk_ask ask = {.method = CALL_UpdateWorkflowExecution, .request = c->request, .is_patient = true};
    const char *identity = opt_named(c->args, "identity");
    const char *id = random_id(c);
    ProtobufCMessage *m;
    struct err e;
    if (!id ||
        request_set(c->request, "request.meta.identity", FORM_PLAIN, identity ? identity : "rondo-cli",
                    &c->arena, &e) < 0 ||
        (!*q->request->meta->update_id &&
         request_set(c->request, "request.meta.update_id", FORM_PLAIN, id, &c->arena, &e) < 0) ||
        request_set(c->request, "wait_policy.lifecycle_stage", FORM_PLAIN,
                    stage == STAGE_COMPLETED ? "COMPLETED" : "ACCEPTED", &c->arena, &e) < 0)
        return COMMAND_REFUSED;
    struct progress p = {.name = q->request->input->name, .update_id = q->request->meta->update_id};
    /* The id makes it safe to send it again. */
    do {
        enum command_exit code = talk_call(c, &ask, &c->arena, &m);
        if (code != COMMAND_DONE)
            return code;
        const Ws__UpdateWorkflowExecutionResponse *r = (const void *)m;
        p.stage = r ? (int)r->stage : 0;
        p.outcome = r ? r->outcome : NULL;
    } while (!p.outcome && p.stage < STAGE_ACCEPTED);
    Update__UpdateRef *ref = ((const Ws__UpdateWorkflowExecutionResponse *)m)->update_ref;
    if (!p.outcome && stage == STAGE_COMPLETED) {
        enum command_exit code = poll(c, ref, stage, &p);
        if (code != COMMAND_DONE)
            return code;
    }
    return show(c, &p, out);
}

enum command_exit update_execute(struct command *c, struct buf *out) {
    return send(c, STAGE_COMPLETED, out);
}

enum command_exit update_start(struct command *c, struct buf *out) {
    return send(c, STAGE_ACCEPTED, out);
}

static enum command_exit look(struct command *c, int stage, struct buf *out) {
    Update__UpdateRef *ref = ((const Ws__PollWorkflowExecutionUpdateRequest *)c->request)->update_ref;
    struct progress p = {.name = "", .update_id = ref->update_id};
    enum command_exit code = poll(c, ref, stage, &p);
    return code == COMMAND_DONE ? show(c, &p, out) : code;
}

enum command_exit update_result(struct command *c, struct buf *out) {
    return look(c, STAGE_COMPLETED, out);
}

enum command_exit update_describe(struct command *c, struct buf *out) {
    return look(c, 0, out);
}
