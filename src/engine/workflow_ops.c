/* Calls about a run as a whole: start, signal, cancel, terminate. */
#include "base/mem.h"
#include "core/run.h"
#include "core/validate.h"
#include "engine/engine_int.h"

/* start */

static Common__Link *event_link(struct op *op, const struct space *space, const State__Execution *st) {
    struct arena *a = op->call->arena;
    Common__Link *link = arena_new(a, Common__Link);
    Common__Link__WorkflowEvent *ev = arena_new(a, Common__Link__WorkflowEvent);
    Common__Link__WorkflowEvent__EventReference *ref =
        arena_new(a, Common__Link__WorkflowEvent__EventReference);
    if (!link || !ev || !ref)
        return NULL;
    common__link__init(link);
    common__link__workflow_event__init(ev);
    common__link__workflow_event__event_reference__init(ref);
    ref->event_id = 1;
    ref->event_type = EVENT_TYPE_WORKFLOW_EXECUTION_STARTED;
    ev->namespace_ = space->st->name;
    ev->workflow_id = arena_strdup(a, st->workflow_id);
    ev->run_id = arena_strdup(a, st->run_id);
    ev->reference_case = COMMON__LINK__WORKFLOW_EVENT__REFERENCE_EVENT_REF;
    ev->event_ref = ref;
    link->variant_case = COMMON__LINK__VARIANT_WORKFLOW_EVENT;
    link->workflow_event = ev;
    return link;
}

static void reply_started(struct op *op, struct space *space, bool started) {
    struct arena *a = op->call->arena;
    const State__Execution *st = op->run->body->st;
    Ws__StartWorkflowExecutionResponse *r = arena_new(a, Ws__StartWorkflowExecutionResponse);
    if (r) {
        ws__start_workflow_execution_response__init(r);
        r->run_id = arena_strdup(a, st->run_id);
        r->first_execution_run_id = arena_strdup(a, st->first_run_id);
        r->started = started;
        r->status = (E__WorkflowExecutionStatus)st->status;
        r->link = event_link(op, space, st);
    }
    if (arena_failed(a)) {
        (void)op_out_of_memory(op); /* it has happened; asking again with the same request id tells so */
        op_fail_durable(op);
        return;
    }
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

static struct run *run_new(struct engine *e, struct space *space, struct uuid run_id) {
    struct run *run = run_get(e, (struct run_key){space->id, run_id}, space);
    struct body *b = body_new();
    bool failed = false;
    if (b)
        b->st = pb_new(&state__execution__descriptor, &failed);
    if (!run || !b || !b->st) {
        body_free(b);
        return NULL;
    }
    b->tape.first_id = b->tape.next_id = b->durable_next_id = b->grouped_next_id = 1;
    run->body = b;
    e->body_count++;
    list_append(&e->recent, &run->recent);
    return run;
}

/* A run that was never kept: as if it had not been made. */
static void run_discard(struct engine *e, struct run *run) {
    list_remove(&run->recent);
    heap_remove(&e->due, &run->due);
    body_free(take(&run->body));
    e->body_count--;
}

static int write_current(struct engine *e, struct run *run) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_CURRENT) : NULL;
    if (!w)
        return ERR_NO_MEMORY;
    w->namespace_id = run->key.namespace_id;
    w->run_id = run->key.run_id;
    w->workflow_id = str_of(arena_strdup(&g->batch.arena, run->body->st->workflow_id));
    if (!w->workflow_id.p)
        return ERR_NO_MEMORY;
    return current_set(e, run->space, run->body->st->workflow_id, run->key.run_id);
}

static int birth(struct op *op, struct space *space) {
    struct engine *e = op->e;
    struct step s;
    struct uuid run_id = uuid_timed(&e->rng, e->now.wall);
    struct uuid_text text = uuid_format(run_id);
    struct run *run = run_new(e, space, run_id);
    if (!run)
        return op_out_of_memory(op);
    struct run_birth b = {space->st->id, text.s, op->request_id};
    op_pin(op, run);
    op_step_begin(op, &s);
    int rc = run_start(&s, &b, op->req);
    if (rc == 0)
        rc = run_keep(e, run, &s, true);
    step_done(&s);
    if (rc < 0) {
        run_discard(e, run);
        op_pin(op, NULL);
        return err_std(&op->err, rc);
    }
    ensure(write_current(e, run) == 0); /* the run is in the group: it must not stand there alone */
    return 0;
}

static int terminate_existing(struct op *op) {
    struct step s;
    op_step_begin(op, &s);
    int rc = run_terminate(&s, "TerminateIfRunning WorkflowIdReusePolicy", NULL, "history-service", NULL, 0);
    return op_step_end(op, &s, rc, true);
}

static void start_by_verdict(struct op *op, struct space *space, enum start_verdict verdict) {
    int rc = 0;
    switch (verdict) {
    case START_SAME:
        reply_started(op, space, true);
        return;
    case START_EXISTING:
        reply_started(op, space, false);
        return;
    case START_REFUSED:
        op_fail_durable(op);
        return;
    case START_TERMINATE_FIRST:
        rc = terminate_existing(op);
        break;
    case START_NEW:
        break;
    }
    if (rc == 0)
        rc = birth(op, space);
    if (rc < 0)
        op_fail(op);
    else
        reply_started(op, space, true);
}

static int start_prepare(struct op *op, struct space **ret) {
    const Ws__StartWorkflowExecutionRequest *req = op->req;
    int rc = op_need_space(op, req->namespace_, ret);
    if (rc == 0 && !op->request_id)
        rc = run_validate_start(req, &op->err);
    if (rc < 0 || op->request_id)
        return rc;
    struct uuid_text made = uuid_format(uuid_random(&op->e->rng));
    op->request_id = strempty(req->request_id) ? arena_strdup(op->call->arena, made.s) : req->request_id;
    return op->request_id ? 0 : op_out_of_memory(op);
}

static void go_start(struct op *op) {
    const Ws__StartWorkflowExecutionRequest *req = op->req;
    enum start_verdict verdict = START_NEW;
    struct space *space;
    struct current *current;
    int rc = start_prepare(op, &space);
    if (rc == 0 && group_is_full(op->e))
        rc = err_std(&op->err, ERR_BUSY);
    if (rc == 0)
        rc = op_need_current(op, space, req->workflow_id, &current);
    if (rc == 0 && current->state == CURRENT_KNOWN)
        rc = op_need_run(op, space, current->run_id);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        op_fail(op);
        return;
    }
    if (op->run) {
        bool forgets = op->e->cfg.planted_bug == ENGINE_BUG_FORGET_REQUEST_ID;
        verdict = run_judge_start(req, forgets ? "" : op->request_id, op->run->body->st, &op->err);
    }
    start_by_verdict(op, space, verdict);
}

void engine_start_workflow(struct engine *e, struct call *c, const Ws__StartWorkflowExecutionRequest *req) {
    struct op *op = op_new(e, c, req, go_start);
    if (op)
        op_start(op);
}

/* signal, cancel, terminate */

/* What the three have in common: find the run, step, answer when it is durable. */
static int find_for_change(struct op *op, const char *namespace_name, const Common__WorkflowExecution *ex,
                           const char *first_run_id) {
    struct space *space;
    int rc = op_need_space(op, namespace_name, &space);
    if (rc == 0)
        rc = validate_execution(ex, &op->err);
    if (rc == 0 && group_is_full(op->e))
        rc = err_std(&op->err, ERR_BUSY);
    if (rc == 0)
        rc = op_need_execution(op, space, ex, first_run_id);
    return rc;
}

static void end_change(struct op *op, int rc, const ProtobufCMessage *resp) {
    if (rc == ERR_WAIT)
        return;
    if (rc < 0)
        op_fail_durable(op);
    else
        op_reply_durable(op, resp, (struct str){NULL, 0});
}

static void go_signal(struct op *op) {
    static const Ws__SignalWorkflowExecutionResponse resp = WS__SIGNAL_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__SignalWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = validate_required(req->signal_name, "SignalName", &op->err);
    if (rc == 0)
        rc = validate_id(req->request_id, "RequestId", &op->err);
    if (rc == 0 && req->n_links > LIMIT_LINKS)
        rc = err_set(&op->err, ERR_INVALID, "cannot attach more than %d links per request", LIMIT_LINKS);
    if (rc == 0)
        rc = find_for_change(op, req->namespace_, req->workflow_execution, NULL);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_signal(&s, req), true);
    }
    end_change(op, rc, &resp.base);
}

void engine_signal_workflow(struct engine *e, struct call *c, const Ws__SignalWorkflowExecutionRequest *req) {
    struct op *op = op_new(e, c, req, go_signal);
    if (op)
        op_start(op);
}

static void go_request_cancel(struct op *op) {
    static const Ws__RequestCancelWorkflowExecutionResponse resp =
        WS__REQUEST_CANCEL_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__RequestCancelWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = find_for_change(op, req->namespace_, req->workflow_execution, req->first_execution_run_id);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_request_cancel(&s, req), true);
    }
    end_change(op, rc, &resp.base);
}

void engine_request_cancel(struct engine *e, struct call *c,
                           const Ws__RequestCancelWorkflowExecutionRequest *req) {
    struct op *op = op_new(e, c, req, go_request_cancel);
    if (op)
        op_start(op);
}

static void go_terminate(struct op *op) {
    static const Ws__TerminateWorkflowExecutionResponse resp =
        WS__TERMINATE_WORKFLOW_EXECUTION_RESPONSE__INIT;
    const Ws__TerminateWorkflowExecutionRequest *req = op->req;
    struct step s;
    int rc = find_for_change(op, req->namespace_, req->workflow_execution, req->first_execution_run_id);
    if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(
            op, &s, run_terminate(&s, req->reason, req->details, req->identity, req->links, req->n_links),
            true);
    }
    end_change(op, rc, &resp.base);
}

void engine_terminate_workflow(struct engine *e, struct call *c,
                               const Ws__TerminateWorkflowExecutionRequest *req) {
    struct op *op = op_new(e, c, req, go_terminate);
    if (op)
        op_start(op);
}
