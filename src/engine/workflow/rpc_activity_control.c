/* Operators change pending activities: pause, unpause, reset, new options.
 *
 * The four differ in what they choose by and in the step; the rest is done once. Each has a second form,
 * whose name ends in Execution: that chooses one activity by its id, and is read as the first. */
#include "core/activity/activity_control.h"
#include "core/step/validate.h"
#include "engine/workflow/rpc_activity.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/start.h"

struct control {
    const char *namespace_name;
    const Common__WorkflowExecution *execution;
    const char *identity;
    const char *request_id; /* NULL: it has none */
    bool is_by_execution; /* the second form: an activity of no workflow is possible, but not here */
    struct activity_choice choice;
    const Google__Protobuf__Duration *jitter;
    int (*validate)(const void *req, struct err *err); /* NULL: nothing of its own */
    int (*step)(struct step *s, const struct control *ctl, const void *req);
    const ProtobufCMessage *(*reply)(struct op *op, const struct control *ctl); /* NULL: no memory */
};

static int validate_by_execution(const struct control *ctl, struct err *err) {
    if (cstr_is_empty(ctl->execution->workflow_id))
        return err_set(err, ERR_UNIMPLEMENTED,
                       "WorkflowId is not set on request, and this server has no standalone activities.");
    return validate_required(ctl->choice.id, "ActivityId", err);
}

static int validate_control(const struct control *ctl, const void *req, struct err *err) {
    const struct activity_choice *c = &ctl->choice;
    int rc = ctl->is_by_execution ? validate_by_execution(ctl, err) : 0;
    if (rc < 0)
        return rc;
    if (!c->is_all && cstr_is_empty(c->id) && cstr_is_empty(c->type))
        return err_set(err, ERR_INVALID, "Either Activity.Id or Activity.Type should be set on request.");
    rc = c->id     ? validate_id(c->id, "ActivityId", err)
         : c->type ? validate_id(c->type, "ActivityType", err)
                   : 0;
    if (rc == 0)
        rc = validate_id(ctl->identity, "Identity", err);
    if (rc == 0 && ctl->request_id)
        rc = validate_id(ctl->request_id, "RequestId", err);
    if (rc == 0 && !pb_duration_valid(ctl->jitter))
        rc = err_set(err, ERR_INVALID, "Jitter is negative or malformed.");
    if (rc == 0 && ctl->validate)
        rc = ctl->validate(req, err);
    return rc;
}

static void go_control(struct op *op) {
    struct control *ctl = op->extra;
    const ProtobufCMessage *reply = NULL;
    struct step s;
    int rc = validate_control(ctl, op->req, &op->err);
    if (rc == 0 && ctl->is_by_execution)
        rc = op_need_request_id(op, ctl->request_id);
    if (rc == 0 && ctl->is_by_execution)
        ctl->request_id = op->request_id;
    if (rc == 0)
        rc = activity_need_run(op, ctl->namespace_name, ctl->execution);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = ctl->step(&s, ctl, op->req);
        if (rc == 0 && !(reply = ctl->reply(op, ctl)))
            rc = op_out_of_memory(op);
        rc = op_step_end(op, &s, rc, STEP_DURABLE);
    }
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, reply, (struct str){NULL, 0});
}

/* Keeps the control for the life of the op. From here on go_control is where the op starts again. */
static void control_start(struct op *op, const struct control *ctl) {
    op->extra = arena_dup(op->call->arena, ctl, sizeof(*ctl));
    if (!op->extra) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op->go = go_control;
    go_control(op);
}

/* pause */

static int validate_pause(const void *r, struct err *err) {
    const Ws__PauseActivityRequest *req = r;
    return validate_id(req->reason, "Reason", err);
}

static int step_pause(struct step *s, const struct control *ctl, const void *r) {
    const Ws__PauseActivityRequest *req = r;
    struct activity_pause p = {req->identity, req->reason, ctl->request_id};
    return activity_pause(s, &ctl->choice, &p);
}

static const ProtobufCMessage *reply_pause(struct op *op unused_arg, const struct control *ctl unused_arg) {
    static const Ws__PauseActivityResponse resp = WS__PAUSE_ACTIVITY_RESPONSE__INIT;
    return &resp.base;
}

static struct control control_of_pause(const Ws__PauseActivityRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .request_id = req->request_id,
                          .validate = validate_pause,
                          .step = step_pause,
                          .reply = reply_pause};
    if (req->activity_case == WS__PAUSE_ACTIVITY_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__PAUSE_ACTIVITY_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    return ctl;
}

void rpc_pause_activity(struct op *op) {
    const Ws__PauseActivityRequest *req = op->req;
    struct control ctl = control_of_pause(req);
    control_start(op, &ctl);
}

/* unpause */

static int step_unpause(struct step *s, const struct control *ctl, const void *r) {
    const Ws__UnpauseActivityRequest *req = r;
    struct activity_unpause u = {.resets_attempts = req->reset_attempts,
                                 .resets_heartbeat = req->reset_heartbeat,
                                 .jitter_us = pb_wait_us(ctl->jitter)};
    return activity_unpause(s, &ctl->choice, &u);
}

static const ProtobufCMessage *reply_unpause(struct op *op unused_arg, const struct control *ctl unused_arg) {
    static const Ws__UnpauseActivityResponse resp = WS__UNPAUSE_ACTIVITY_RESPONSE__INIT;
    return &resp.base;
}

static struct control control_of_unpause(const Ws__UnpauseActivityRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .jitter = req->jitter,
                          .step = step_unpause,
                          .reply = reply_unpause};
    if (req->activity_case == WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    else if (req->activity_case == WS__UNPAUSE_ACTIVITY_REQUEST__ACTIVITY_UNPAUSE_ALL)
        ctl.choice.is_all = req->unpause_all;
    return ctl;
}

void rpc_unpause_activity(struct op *op) {
    const Ws__UnpauseActivityRequest *req = op->req;
    struct control ctl = control_of_unpause(req);
    control_start(op, &ctl);
}

/* reset */

static int step_reset(struct step *s, const struct control *ctl, const void *r) {
    const Ws__ResetActivityRequest *req = r;
    struct activity_reset reset = {.resets_heartbeat = req->reset_heartbeat,
                                   .keeps_paused = req->keep_paused,
                                   .restores_options = req->restore_original_options,
                                   .jitter_us = pb_wait_us(ctl->jitter)};
    return activity_reset(s, &ctl->choice, &reset);
}

static const ProtobufCMessage *reply_activity_reset(struct op *op unused_arg, const struct control *ctl unused_arg) {
    static const Ws__ResetActivityResponse resp = WS__RESET_ACTIVITY_RESPONSE__INIT;
    return &resp.base;
}

static struct control control_of_reset(const Ws__ResetActivityRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .jitter = req->jitter,
                          .step = step_reset,
                          .reply = reply_activity_reset};
    if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    else if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_MATCH_ALL)
        ctl.choice.is_all = req->match_all;
    return ctl;
}

void rpc_reset_activity(struct op *op) {
    const Ws__ResetActivityRequest *req = op->req;
    struct control ctl = control_of_reset(req);
    control_start(op, &ctl);
}

/* options */

static int validate_options(const void *r, struct err *err) {
    const Ws__UpdateActivityOptionsRequest *req = r;
    if (req->restore_original && req->update_mask && req->update_mask->n_paths)
        return err_set(err, ERR_INVALID, "Both UpdateMask and RestoreOriginal are provided");
    return 0;
}

static int step_options(struct step *s, const struct control *ctl, const void *r) {
    const Ws__UpdateActivityOptionsRequest *req = r;
    if (req->restore_original)
        return activity_restore_options(s, &ctl->choice);
    return activity_update_options(s, &ctl->choice, req->activity_options, req->update_mask);
}

/* The options that hold now, of the last of those that were chosen. */
static Activity__ActivityOptions *chosen_options(struct op *op, const struct control *ctl) {
    const State__Activity *last = NULL, *next;
    struct activity_options now;
    for (size_t i = 0; (next = activity_next(op->run->body->st, &ctl->choice, &i));)
        last = next;
    if (!last)
        return NULL;
    activity_options(last, &now);
    return message_copy(op->call->arena, &now.message.base);
}

static const ProtobufCMessage *reply_options(struct op *op, const struct control *ctl) {
    Ws__UpdateActivityOptionsResponse *resp = arena_new(op->call->arena, Ws__UpdateActivityOptionsResponse);
    if (!resp)
        return NULL;
    ws__update_activity_options_response__init(resp);
    resp->activity_options = chosen_options(op, ctl);
    return resp->activity_options ? &resp->base : NULL;
}

static struct control control_of_options(const Ws__UpdateActivityOptionsRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .validate = validate_options,
                          .step = step_options,
                          .reply = reply_options};
    if (req->activity_case == WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    else if (req->activity_case == WS__UPDATE_ACTIVITY_OPTIONS_REQUEST__ACTIVITY_MATCH_ALL)
        ctl.choice.is_all = req->match_all;
    return ctl;
}

void rpc_update_activity_options(struct op *op) {
    const Ws__UpdateActivityOptionsRequest *req = op->req;
    struct control ctl = control_of_options(req);
    control_start(op, &ctl);
}

/* the second form */

/* A request of the first form, in the call's arena, about the activity of the second. */
#define FIRST_FORM(arena, req, Type, type, TYPE)                                                                 \
    __extension__({                                                                                          \
        Ws__##Type##Request *first_ = arena_new((arena), Ws__##Type##Request);                            \
        Common__WorkflowExecution *execution_ = arena_new((arena), Common__WorkflowExecution);            \
        if (first_ && execution_) {                                                                          \
            ws__##type##_request__init(first_);                                                              \
            common__workflow_execution__init(execution_);                                                    \
            execution_->workflow_id = (req)->workflow_id;                                                    \
            execution_->run_id = (req)->run_id;                                                              \
            first_->namespace_ = (req)->namespace_;                                                          \
            first_->execution = execution_;                                                                  \
            first_->identity = (req)->identity;                                                              \
            first_->activity_case = WS__##TYPE##_REQUEST__ACTIVITY_ID;                                       \
            first_->id = (req)->activity_id;                                                                 \
        }                                                                                                    \
        execution_ ? first_ : NULL;                                                                          \
    })

static void fail_for_memory(struct op *op) {
    (void)op_out_of_memory(op);
    op_fail(op);
}

/* Goes on with the first form in place of the request. */
static void execution_start(struct op *op, const void *first, struct control ctl, const char *request_id,
                            const ProtobufCMessage *(*reply)(struct op *op, const struct control *ctl)) {
    op->req = first;
    ctl.is_by_execution = true;
    ctl.request_id = request_id;
    ctl.reply = reply;
    control_start(op, &ctl);
}

static const ProtobufCMessage *reply_pause_execution(struct op *op unused_arg,
                                                     const struct control *ctl unused_arg) {
    static const Ws__PauseActivityExecutionResponse resp = WS__PAUSE_ACTIVITY_EXECUTION_RESPONSE__INIT;
    return &resp.base;
}

void rpc_pause_activity_execution(struct op *op) {
    const Ws__PauseActivityExecutionRequest *req = op->req;
    Ws__PauseActivityRequest *first = FIRST_FORM(op->call->arena, req, PauseActivity, pause_activity, PAUSE_ACTIVITY);
    if (!first) {
        fail_for_memory(op);
        return;
    }
    first->reason = req->reason;
    first->request_id = req->request_id;
    execution_start(op, first, control_of_pause(first), req->request_id, reply_pause_execution);
}

static const ProtobufCMessage *reply_unpause_execution(struct op *op unused_arg,
                                                       const struct control *ctl unused_arg) {
    static const Ws__UnpauseActivityExecutionResponse resp = WS__UNPAUSE_ACTIVITY_EXECUTION_RESPONSE__INIT;
    return &resp.base;
}

void rpc_unpause_activity_execution(struct op *op) {
    const Ws__UnpauseActivityExecutionRequest *req = op->req;
    Ws__UnpauseActivityRequest *first =
        FIRST_FORM(op->call->arena, req, UnpauseActivity, unpause_activity, UNPAUSE_ACTIVITY);
    if (!first) {
        fail_for_memory(op);
        return;
    }
    first->jitter = req->jitter;
    execution_start(op, first, control_of_unpause(first), req->request_id, reply_unpause_execution);
}

static const ProtobufCMessage *reply_reset_execution(struct op *op unused_arg,
                                                     const struct control *ctl unused_arg) {
    static const Ws__ResetActivityExecutionResponse resp = WS__RESET_ACTIVITY_EXECUTION_RESPONSE__INIT;
    return &resp.base;
}

void rpc_reset_activity_execution(struct op *op) {
    const Ws__ResetActivityExecutionRequest *req = op->req;
    Ws__ResetActivityRequest *first = FIRST_FORM(op->call->arena, req, ResetActivity, reset_activity, RESET_ACTIVITY);
    if (!first) {
        fail_for_memory(op);
        return;
    }
    first->reset_heartbeat = req->reset_heartbeat;
    first->keep_paused = req->keep_paused;
    first->restore_original_options = req->restore_original_options;
    first->jitter = req->jitter;
    execution_start(op, first, control_of_reset(first), req->request_id, reply_reset_execution);
}

static int validate_execution_options(const void *r, struct err *err) {
    const Ws__UpdateActivityOptionsRequest *req = r;
    if (!req->restore_original && req->update_mask && !req->update_mask->n_paths)
        return err_set(err, ERR_INVALID, "UpdateMask must specify at least one path");
    return validate_options(r, err);
}

static const ProtobufCMessage *reply_execution_options(struct op *op, const struct control *ctl) {
    Ws__UpdateActivityExecutionOptionsResponse *resp =
        arena_new(op->call->arena, Ws__UpdateActivityExecutionOptionsResponse);
    if (!resp)
        return NULL;
    ws__update_activity_execution_options_response__init(resp);
    resp->activity_options = chosen_options(op, ctl);
    return resp->activity_options ? &resp->base : NULL;
}

void rpc_update_activity_execution_options(struct op *op) {
    const Ws__UpdateActivityExecutionOptionsRequest *req = op->req;
    Ws__UpdateActivityOptionsRequest *first =
        FIRST_FORM(op->call->arena, req, UpdateActivityOptions, update_activity_options, UPDATE_ACTIVITY_OPTIONS);
    if (!first) {
        fail_for_memory(op);
        return;
    }
    first->activity_options = req->activity_options;
    first->update_mask = req->update_mask;
    first->restore_original = req->restore_original;
    struct control ctl = control_of_options(first);
    ctl.validate = validate_execution_options;
    execution_start(op, first, ctl, req->request_id, reply_execution_options);
}
