/* Clients ask for updates, and for what became of them.
 *
 * A caller names the stage that it waits for. Its op finds the run, admits the
 * update or attaches to the one that has the same id, and then looks: is the
 * stage reached, will it ever be, or must it be parked until something happens?
 * It looks again each time; whatever it answers with is durable first. A wait
 * that takes too long ends with the stage that is reached, not with an error.
 * When the run continues as another one, an update that was not accepted is
 * asked of that one. */
#include "core/step/failure.h"
#include "core/step/validate.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/links.h"
#include "engine/workflow/start.h"
#include "engine/workflow/update.h"

#define STAGE_ADMITTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED
#define STAGE_ACCEPTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
#define STAGE_COMPLETED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
#define STAGE_UNSPECIFIED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_UNSPECIFIED

/* answering */

static Update__UpdateRef *update_ref(struct op *op) {
    struct arena *a = op->call->arena;
    const struct update_wait *w = op->extra;
    Update__UpdateRef *ref = arena_new(a, Update__UpdateRef);
    Common__WorkflowExecution *ex = arena_new(a, Common__WorkflowExecution);
    if (!ref || !ex)
        return NULL;
    update__update_ref__init(ref);
    common__workflow_execution__init(ex);
    ex->workflow_id = arena_strdup(a, op->run->body->st->workflow_id);
    ex->run_id = arena_strdup(a, op->run->body->st->run_id);
    ref->workflow_execution = ex;
    ref->update_id = (char *)(uintptr_t)w->update_id;
    return ref;
}

static const ProtobufCMessage *poll_response(struct op *op, E__UpdateWorkflowExecutionLifecycleStage stage,
                                             Update__Outcome *outcome) {
    Ws__PollWorkflowExecutionUpdateResponse *r =
        arena_new(op->call->arena, Ws__PollWorkflowExecutionUpdateResponse);
    if (!r)
        return NULL;
    ws__poll_workflow_execution_update_response__init(r);
    r->stage = stage;
    r->outcome = outcome;
    r->update_ref = update_ref(op);
    return &r->base;
}

static Ws__UpdateWorkflowExecutionResponse *update_response(struct op *op,
                                                            E__UpdateWorkflowExecutionLifecycleStage stage,
                                                            Update__Outcome *outcome) {
    const struct update_wait *w = op->extra;
    const State__Update *known = update_find(op->run->body->st, w->update_id);
    Ws__UpdateWorkflowExecutionResponse *r = arena_new(op->call->arena, Ws__UpdateWorkflowExecutionResponse);
    if (!r)
        return NULL;
    ws__update_workflow_execution_response__init(r);
    r->stage = stage;
    r->outcome = outcome;
    r->update_ref = update_ref(op);
    if (known && known->accepted_event_id)
        r->link = event_link(op, EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, known->accepted_event_id);
    return r;
}

static const ProtobufCMessage *multi_response(struct op *op, Ws__UpdateWorkflowExecutionResponse *update) {
    struct arena *a = op->call->arena;
    const struct update_wait *w = op->extra;
    Ws__ExecuteMultiOperationResponse *r = arena_new(a, Ws__ExecuteMultiOperationResponse);
    Ws__ExecuteMultiOperationResponse__Response *parts =
        arena_array(a, Ws__ExecuteMultiOperationResponse__Response, 2);
    Ws__ExecuteMultiOperationResponse__Response **all =
        arena_array(a, Ws__ExecuteMultiOperationResponse__Response *, 2);
    if (!r || !parts || !all || !update)
        return NULL;
    ws__execute_multi_operation_response__init(r);
    for (size_t i = 0; i < 2; i++) {
        ws__execute_multi_operation_response__response__init(&parts[i]);
        all[i] = &parts[i];
    }
    parts[0].response_case = WS__EXECUTE_MULTI_OPERATION_RESPONSE__RESPONSE__RESPONSE_START_WORKFLOW;
    parts[0].start_workflow = w->multi->started;
    parts[1].response_case = WS__EXECUTE_MULTI_OPERATION_RESPONSE__RESPONSE__RESPONSE_UPDATE_WORKFLOW;
    parts[1].update_workflow = update;
    r->n_responses = 2;
    r->responses = all;
    return &r->base;
}

static void update_reply(struct op *op, E__UpdateWorkflowExecutionLifecycleStage stage,
                         Update__Outcome *outcome) {
    const struct update_wait *w = op->extra;
    const ProtobufCMessage *m;
    if (!w->request) {
        m = poll_response(op, stage, outcome);
    } else {
        Ws__UpdateWorkflowExecutionResponse *r = update_response(op, stage, outcome);
        m = w->multi ? multi_response(op, r) : r ? &r->base : NULL;
    }
    if (!m || arena_failed(op->call->arena)) {
        (void)op_out_of_memory(op);
        update_fail(op);
        return;
    }
    op_reply_durable(op, m, (struct str){NULL, 0});
}

static void reply_failure(struct op *op, Failure__Failure *failure) {
    Update__Outcome *outcome = arena_new(op->call->arena, Update__Outcome);
    if (!outcome || !failure) {
        (void)op_out_of_memory(op);
        update_fail(op);
        return;
    }
    update__outcome__init(outcome);
    outcome->value_case = UPDATE__OUTCOME__VALUE_FAILURE;
    outcome->failure = failure;
    update_reply(op, STAGE_COMPLETED, outcome);
}

void update_fail(struct op *op) {
    const struct update_wait *w = op->extra;
    if (w && w->multi)
        multi_fail(op, false);
    else
        op_fail_durable(op);
}

/* waiting */

static E__UpdateWorkflowExecutionLifecycleStage stage_now(const struct op *op) {
    const struct update_wait *w = op->extra;
    const State__Update *known = update_find(op->run->body->st, w->update_id);
    return known && known->accepted_event_id ? STAGE_ACCEPTED : STAGE_ADMITTED;
}

static void wait_expire(struct op *op) {
    if (op->e->is_draining)
        (void)err_std(&op->err, ERR_UNAVAILABLE);
    else if (op->call->deadline.us <= op->e->now.mono.us)
        (void)err_std(&op->err, ERR_DEADLINE);
    else {
        update_reply(op, stage_now(op), NULL);
        return;
    }
    update_fail(op);
}

static void wait_park(struct op *op) {
    struct update_wait *w = op->extra;
    if (!w->until_us)
        w->until_us = op_deadline(op, op->e->long_poll_us, 0);
    if (op->e->is_draining)
        wait_expire(op);
    else
        op_park(op, &op->run->body->update_waiters, w->until_us, wait_expire);
}

static void answer_completed(struct op *op, const State__Update *known) {
    History__HistoryEvent *ev;
    int rc = op_need_event(op, known->completed_event_id, &ev);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        update_fail(op);
        return;
    }
    ensure_inv(I5, ev->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED);
    update_reply(op, STAGE_COMPLETED, ev->workflow_execution_update_completed_event_attributes->outcome);
}

/* In the history, without an outcome. */
static void look_at_accepted(struct op *op) {
    const struct update_wait *w = op->extra;
    if (!run_is_open(op->run->body->st))
        reply_failure(
            op, failure_application(
                    op->call->arena,
                    "Workflow Update failed because the Workflow completed before the Update completed.",
                    "AcceptedUpdateCompletedWorkflow"));
    else if (w->wanted <= STAGE_ACCEPTED)
        update_reply(op, STAGE_ACCEPTED, NULL);
    else
        wait_park(op);
}

static void look_at_admitted(struct op *op, const struct update *u) {
    const struct update_wait *w = op->extra;
    if (u->state == UPDATE_REFUSED) {
        reply_failure(op, message_copy(op->call->arena, &u->failure->base));
    } else if (u->state == UPDATE_UNREADY) {
        (void)err_set(&op->err, ERR_NOT_READY,
                      "Unable to perform workflow execution update due to unexpected workflow task failure.");
        update_fail(op);
    } else if (w->wanted <= STAGE_ADMITTED) {
        update_reply(op, STAGE_ADMITTED, NULL);
    } else {
        wait_park(op);
    }
}

/* Whoever names the run, and not its chain, means no other. */
static bool is_run_named(const struct update_wait *w) {
    return !cstr_is_empty(w->execution->run_id) && cstr_is_empty(w->first_run_id);
}

/* Not accepted, and its run is closed. */
static void look_elsewhere(struct op *op) {
    const State__Execution *st = op->run->body->st;
    bool goes_on = !cstr_is_empty(st->new_run_id) || !cstr_is_empty(st->reset_run_id);
    if (goes_on && !is_run_named(op->extra)) {
        update_go(op);
        return;
    }
    (void)err_set(&op->err, ERR_NOT_FOUND, "workflow update was aborted by closing workflow");
    update_fail(op);
}

/* In the history because of a reset, and not accepted yet. */
static void look_at_readmitted(struct op *op) {
    const struct update_wait *w = op->extra;
    if (!run_is_open(op->run->body->st))
        look_elsewhere(op);
    else if (w->wanted <= STAGE_ADMITTED)
        update_reply(op, STAGE_ADMITTED, NULL);
    else
        wait_park(op);
}

void update_wait_go(struct op *op) {
    const struct update_wait *w = op->extra;
    const State__Update *known = update_find(op->run->body->st, w->update_id);
    const struct update *u = update_in_memory(op->run, w->update_id);
    op->go = update_wait_go;
    if (known && known->completed_event_id)
        answer_completed(op, known);
    else if (known && !known->accepted_event_id)
        look_at_readmitted(op);
    else if (known)
        look_at_accepted(op);
    else if (u)
        look_at_admitted(op, u);
    else
        look_elsewhere(op);
}

/* the calls */

static int find_update(struct op *op) {
    const struct update_wait *w = op->extra;
    if (w->request)
        return update_admit(op, w->request);
    if (update_find(op->run->body->st, w->update_id) || update_in_memory(op->run, w->update_id))
        return 0;
    return err_set(&op->err, ERR_NOT_FOUND, "update \"%s\" not found", w->update_id);
}

void update_go(struct op *op) {
    const struct update_wait *w = op->extra;
    struct space *space;
    op->go = update_go;
    int rc = op_need_space(op, w->namespace_name, &space);
    if (rc == 0)
        rc = op_need_execution(op, space, w->execution, w->first_run_id);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        rc = find_update(op);
    if (rc < 0)
        update_fail(op);
    else
        update_wait_go(op);
}

static int read_wanted(struct op *op, const Update__WaitPolicy *policy, struct update_wait *w) {
    w->wanted = policy ? policy->lifecycle_stage : STAGE_UNSPECIFIED;
    if (w->wanted < STAGE_UNSPECIFIED || w->wanted > STAGE_COMPLETED)
        return err_set(&op->err, ERR_INVALID, "The lifecycle stage in WaitPolicy is not known.");
    return 0;
}

/* The update needs an id before anyone else sees it. */
static int need_meta(struct op *op, Update__Request *r) {
    struct arena *a = op->call->arena;
    if (!r->meta) {
        r->meta = arena_new(a, Update__Meta);
        if (!r->meta)
            return op_out_of_memory(op);
        update__meta__init(r->meta);
    }
    if (cstr_is_empty(r->meta->update_id)) {
        struct uuid_text made = uuid_format(uuid_random(&op->e->rng));
        r->meta->update_id = arena_strdup(a, made.s);
        if (!r->meta->update_id)
            return op_out_of_memory(op);
    }
    int rc = validate_id(r->meta->update_id, "UpdateId", &op->err);
    return rc < 0 ? rc : validate_id(r->meta->identity, "Identity", &op->err);
}

static int check_request(struct op *op, const Ws__UpdateWorkflowExecutionRequest *req) {
    const Update__Request *r = req->request;
    int rc = validate_execution(req->workflow_execution, &op->err);
    if (rc == 0)
        rc = validate_id(req->first_execution_run_id, "FirstExecutionRunId", &op->err);
    if (rc == 0 && !r)
        rc = err_set(&op->err, ERR_INVALID, "Update request is not set on request.");
    if (rc == 0 && !r->input)
        rc = err_set(&op->err, ERR_INVALID, "Update input is not set on request.");
    if (rc == 0)
        rc = validate_required(r->input->name, "Update name", &op->err);
    if (rc == 0 && r->n_links > LIMIT_LINKS)
        rc = err_set(&op->err, ERR_INVALID, "cannot attach more than %d links per request", LIMIT_LINKS);
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)r->input->args);
    return rc;
}

int update_wait_new(struct op *op, const Ws__UpdateWorkflowExecutionRequest *req, struct update_wait **ret) {
    struct update_wait *w = arena_new(op->call->arena, struct update_wait);
    int rc = w ? check_request(op, req) : op_out_of_memory(op);
    if (rc == 0)
        rc = read_wanted(op, req->wait_policy, w);
    if (rc == 0 && w->wanted == STAGE_ADMITTED)
        rc = err_set(&op->err, ERR_DENIED,
                     "An update cannot be waited for until it is admitted only: that promises nothing.");
    if (rc == 0)
        rc = need_meta(op, req->request);
    if (rc < 0)
        return rc;
    if (w->wanted == STAGE_UNSPECIFIED)
        w->wanted = STAGE_COMPLETED;
    w->namespace_name = req->namespace_;
    w->execution = req->workflow_execution;
    w->first_run_id = req->first_execution_run_id;
    w->update_id = req->request->meta->update_id;
    w->request = req->request;
    *ret = w;
    return 0;
}

void rpc_update_workflow(struct op *op) {
    struct update_wait *w;
    if (update_wait_new(op, op->req, &w) < 0) {
        op_fail(op);
        return;
    }
    op->extra = w;
    update_go(op);
}

void rpc_poll_update(struct op *op) {
    const Ws__PollWorkflowExecutionUpdateRequest *req = op->req;
    struct update_wait *w = arena_new(op->call->arena, struct update_wait);
    int rc = w ? 0 : op_out_of_memory(op);
    if (rc == 0 && !req->update_ref)
        rc = err_set(&op->err, ERR_INVALID, "UpdateRef is not set on request.");
    if (rc == 0)
        rc = validate_execution(req->update_ref->workflow_execution, &op->err);
    if (rc == 0)
        rc = validate_required(req->update_ref->update_id, "UpdateId", &op->err);
    if (rc == 0)
        rc = read_wanted(op, req->wait_policy, w);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    w->namespace_name = req->namespace_;
    w->execution = req->update_ref->workflow_execution;
    w->update_id = req->update_ref->update_id;
    op->extra = w;
    update_go(op);
}
