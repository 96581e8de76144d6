/* Operators change pending activities: pause, unpause, reset, new options.
 *
 * The four differ in what they choose by and in the step; the rest is done once. */
#include "core/activity_control.h"
#include "core/validate.h"
#include "engine/activity_ops.h"
#include "engine/copy.h"

struct control {
    const char *namespace_name;
    const Common__WorkflowExecution *execution;
    const char *identity;
    struct activity_choice choice;
    const Google__Protobuf__Duration *jitter;
    int (*validate)(const void *req, struct err *err); /* NULL: nothing of its own */
    int (*step)(struct step *s, const struct control *ctl, const void *req);
    const ProtobufCMessage *(*reply)(struct op *op, const struct control *ctl); /* NULL: no memory */
};

static int validate_control(const struct control *ctl, const void *req, struct err *err) {
    const struct activity_choice *c = &ctl->choice;
    if (!c->is_all && strempty(c->id) && strempty(c->type))
        return err_set(err, ERR_INVALID, "Either Activity.Id or Activity.Type should be set on request.");
    int rc = c->id     ? validate_id(c->id, "ActivityId", err)
             : c->type ? validate_id(c->type, "ActivityType", err)
                       : 0;
    if (rc == 0)
        rc = validate_id(ctl->identity, "Identity", err);
    if (rc == 0 && !pb_duration_valid(ctl->jitter))
        rc = err_set(err, ERR_INVALID, "Jitter is negative or malformed.");
    if (rc == 0 && ctl->validate)
        rc = ctl->validate(req, err);
    return rc;
}

static void go_control(struct op *op) {
    const struct control *ctl = op->extra;
    const ProtobufCMessage *reply = NULL;
    struct step s;
    int rc = validate_control(ctl, op->req, &op->err);
    if (rc == 0)
        rc = activity_need_run(op, ctl->namespace_name, ctl->execution);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = ctl->step(&s, ctl, op->req);
        if (rc == 0 && !(reply = ctl->reply(op, ctl)))
            rc = op_out_of_memory(op);
        rc = op_step_end(op, &s, rc, true);
    }
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, reply, (struct str){NULL, 0});
}

static void control_start(struct engine *e, struct call *c, const void *req, const struct control *ctl) {
    struct op *op = op_new(e, c, req, go_control);
    if (!op)
        return;
    op->extra = arena_dup(c->arena, ctl, sizeof(*ctl));
    if (!op->extra) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op_start(op);
}

/* pause */

static int validate_pause(const void *r, struct err *err) {
    const Ws__PauseActivityRequest *req = r;
    int rc = validate_id(req->reason, "Reason", err);
    return rc == 0 ? validate_id(req->request_id, "RequestId", err) : rc;
}

static int step_pause(struct step *s, const struct control *ctl, const void *r) {
    const Ws__PauseActivityRequest *req = r;
    struct activity_pause p = {req->identity, req->reason, req->request_id};
    return activity_pause(s, &ctl->choice, &p);
}

static const ProtobufCMessage *reply_pause(struct op *op unused_arg, const struct control *ctl unused_arg) {
    static const Ws__PauseActivityResponse resp = WS__PAUSE_ACTIVITY_RESPONSE__INIT;
    return &resp.base;
}

void engine_pause_activity(struct engine *e, struct call *c, const Ws__PauseActivityRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .validate = validate_pause,
                          .step = step_pause,
                          .reply = reply_pause};
    if (req->activity_case == WS__PAUSE_ACTIVITY_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__PAUSE_ACTIVITY_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    control_start(e, c, req, &ctl);
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

void engine_unpause_activity(struct engine *e, struct call *c, const Ws__UnpauseActivityRequest *req) {
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
    control_start(e, c, req, &ctl);
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

static const ProtobufCMessage *reply_reset(struct op *op unused_arg, const struct control *ctl unused_arg) {
    static const Ws__ResetActivityResponse resp = WS__RESET_ACTIVITY_RESPONSE__INIT;
    return &resp.base;
}

void engine_reset_activity(struct engine *e, struct call *c, const Ws__ResetActivityRequest *req) {
    struct control ctl = {.namespace_name = req->namespace_,
                          .execution = req->execution,
                          .identity = req->identity,
                          .jitter = req->jitter,
                          .step = step_reset,
                          .reply = reply_reset};
    if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_ID)
        ctl.choice.id = req->id;
    else if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_TYPE)
        ctl.choice.type = req->type;
    else if (req->activity_case == WS__RESET_ACTIVITY_REQUEST__ACTIVITY_MATCH_ALL)
        ctl.choice.is_all = req->match_all;
    control_start(e, c, req, &ctl);
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
static const ProtobufCMessage *reply_options(struct op *op, const struct control *ctl) {
    struct arena *a = op->call->arena;
    const State__Activity *last = NULL, *next;
    struct activity_options now;
    Ws__UpdateActivityOptionsResponse *resp = arena_new(a, Ws__UpdateActivityOptionsResponse);
    for (size_t i = 0; (next = activity_next(op->run->body->st, &ctl->choice, &i));)
        last = next;
    if (!resp || !last)
        return NULL;
    activity_options(last, &now);
    ws__update_activity_options_response__init(resp);
    resp->activity_options = message_copy(a, &now.message.base);
    return resp->activity_options ? &resp->base : NULL;
}

void engine_update_activity_options(struct engine *e, struct call *c,
                                    const Ws__UpdateActivityOptionsRequest *req) {
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
    control_start(e, c, req, &ctl);
}
