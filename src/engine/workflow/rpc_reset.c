/* ResetWorkflowExecution: a new run that shares the beginning of an old one.
 *
 * The events before the reset point are copied as they are, the state is
 * rebuilt from them, the task that was open there is failed with the reason,
 * and what came later is done again (core/reset/reapply.h). The run that is current is
 * terminated if it is open. All of it is one commit. */
#include "core/run/child.h"
#include "core/run/options.h"
#include "core/reset/reapply.h"
#include "core/reset/rebuild.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"
#include "engine/batch/batch.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/start.h"
#include "wire/encode.h"

#define BAD_POINT_TEXT                                                                                       \
    "Workflow task finish ID must be > 1 && <= workflow last event ID, and name the end of a workflow task."

/* One run that was read. */
struct reset_part {
    struct reset_part *next; /* the run that it continued as */
    struct str events; /* all, packed */
    struct str late; /* and those that still waited for its worker */
};

struct reset {
    struct reset_part base;
    struct reset_part *last; /* NULL: the base run is still to be read */
    char *next_run_id; /* still to be read; "" when all are */
    struct uuid last_run; /* of the last part */
    int64_t transition_count; /* of it, when it was read */
    bool is_last_open; /* it was, then */
    struct uuid current_run; /* as the store last said */
    bool has_current;
    const char *open_run_id; /* it is only wanted while this run is open; NULL: in any case */
};

/* Reading the base run */

static int need_whole_history(struct op *op, struct str *ret) {
    const State__Execution *st = op->run->body->st;
    struct events_want want = {
        .from = 1, .until = st->next_event_id, .events_max = INT64_MAX, .bytes_max = SIZE_MAX};
    int64_t next = 0;
    while (next != st->next_event_id) {
        op->page_next = next ? 0 : op->page_next; /* more was written while this was read */
        int rc = op_need_events(op, &want, ret, &next);
        if (rc < 0)
            return rc;
    }
    ret->p = arena_dup(op->call->arena, ret->p, ret->n);
    return ret->p ? 0 : op_out_of_memory(op);
}

/* Signals that a worker had not seen yet are in no history; they must not be lost for that. */
static int need_buffered(struct op *op, struct str *ret) {
    const State__Execution *st = op->run->body->st;
    struct buf b;
    buf_init(&b, SIZE_MAX);
    for (size_t i = 0; i < st->n_buffered; i++)
        wire_add_bytes_field(&b, 1, pb_bytes(&st->buffered[i]));
    *ret = str_bytes(arena_dup(op->call->arena, b.data, b.len), b.len);
    bool ok = buf_ok(&b) && (ret->p || !ret->n);
    buf_done(&b);
    return ok ? 0 : op_out_of_memory(op);
}

/* The copy */

/* Behind the start of a task, or anywhere between that and its scheduling. */
static bool is_reset_point(const State__Execution *st, int64_t finish_event_id) {
    return st->task && (!st->task->started_event_id || st->task->started_event_id == finish_event_id - 1);
}

/* A task can only fail once it has started. */
static void reset_start_task(struct step *s, const char *identity) {
    State__WorkflowTask *t = s->st->task;
    if (t->started_event_id)
        return;
    t->started_event_id = s->st->next_event_id;
    t->started_us = s->now.us;
    t->history_bytes = s->st->history_bytes;
    pb_set_string(&t->identity, identity, &s->failed);
    task_write_owed(s);
}

/* One event at a time is unpacked: all of a long history would be too much for one request. */
static int next_event(struct op *op, struct arena *one, struct str *rest, History__HistoryEvent **ret) {
    arena_clear(one);
    return op_next_event(op, one, rest, ret);
}

static int rebuild_until(struct op *op, struct step *s, struct str *rest, int64_t finish_event_id) {
    cleanup(arena_done) struct arena one;
    arena_init(&one, ENGINE_ERRAND_BYTES);
    while (s->st->next_event_id < finish_event_id) {
        History__HistoryEvent *ev;
        int rc = next_event(op, &one, rest, &ev);
        if (rc == 0)
            rc = ev ? rebuild_apply(s, ev) : err_std(&op->err, ERR_DAMAGED);
        if (rc < 0)
            return rc;
    }
    if (step_failed(s))
        return op_out_of_memory(op);
    if (!is_reset_point(s->st, finish_event_id))
        return err_set(&op->err, ERR_INVALID, BAD_POINT_TEXT);
    return 0;
}

static struct reapply_choice reapply_choice(const Ws__ResetWorkflowExecutionRequest *req) {
    struct reapply_choice c = {.no_signals = req->reset_reapply_type == RESET_REAPPLY_TYPE_NONE,
                               .no_updates = req->reset_reapply_type == RESET_REAPPLY_TYPE_NONE ||
                                             req->reset_reapply_type == RESET_REAPPLY_TYPE_SIGNAL};
    for (size_t i = 0; i < req->n_reset_reapply_exclude_types; i++) {
        c.no_signals |= req->reset_reapply_exclude_types[i] == RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL;
        c.no_updates |= req->reset_reapply_exclude_types[i] == RESET_REAPPLY_EXCLUDE_TYPE_UPDATE;
    }
    return c;
}

static int reapply_all(struct op *op, struct step *s, struct str rest, const struct reapply_choice *choice) {
    cleanup(arena_done) struct arena one;
    arena_init(&one, ENGINE_ERRAND_BYTES);
    for (;;) {
        History__HistoryEvent *ev;
        int rc = next_event(op, &one, &rest, &ev);
        if (rc < 0 || !ev)
            return rc;
        rc = reapply_event(s, ev, choice);
        if (rc < 0)
            return rc;
    }
}

/* What came after the reset point: in the base run, then in those that it continued as. */
static int reset_reapply_events(struct op *op, struct step *s, const struct reset *r, struct str rest) {
    struct reapply_choice choice = reapply_choice(op->req);
    choice.is_base = true;
    int rc = reapply_all(op, s, rest, &choice);
    choice.is_base = false;
    for (const struct reset_part *p = r->base.next; p && rc == 0; p = p->next)
        rc = reapply_all(op, s, p->events, &choice);
    for (const struct reset_part *p = &r->base; p && rc == 0; p = p->next) {
        choice.is_base = p == &r->base;
        rc = reapply_all(op, s, p->late, &choice);
    }
    return rc;
}

/* What the new run begins with. */

static int post_signal(struct step *s, const Workflow__PostResetOperation__SignalWorkflow *p,
                       char *identity) {
    Ws__SignalWorkflowExecutionRequest signal = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
    signal.signal_name = p->signal_name;
    signal.input = p->input;
    signal.header = p->header;
    signal.identity = identity;
    signal.links = p->links;
    signal.n_links = p->n_links;
    return run_signal(s, &signal, NULL);
}

static int post_options(struct step *s, const Workflow__PostResetOperation__UpdateWorkflowOptions *p,
                        const char *identity) {
    bool is_changed;
    if (!p->update_mask || !p->workflow_execution_options)
        return err_set(s->err, ERR_INVALID, "UpdateMask and WorkflowExecutionOptions are required");
    return options_update(s, p->workflow_execution_options, p->update_mask, identity, &is_changed);
}

static int post_operations(struct step *s, const Ws__ResetWorkflowExecutionRequest *req) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < req->n_post_reset_operations; i++) {
        const Workflow__PostResetOperation *p = req->post_reset_operations[i];
        if (p->variant_case == WORKFLOW__POST_RESET_OPERATION__VARIANT_SIGNAL_WORKFLOW)
            rc = post_signal(s, p->signal_workflow, req->identity);
        else if (p->variant_case == WORKFLOW__POST_RESET_OPERATION__VARIANT_UPDATE_WORKFLOW_OPTIONS)
            rc = post_options(s, p->update_workflow_options, req->identity);
        else
            rc = err_set(s->err, ERR_UNIMPLEMENTED, "this operation after a reset is not supported");
    }
    return rc;
}

/* The children that were started for the base run when it was closed already: no event tells of them. */
static int reapply_orphans(struct op *op, struct step *s, const struct reset *r,
                           const State__Execution *base) {
    for (size_t i = 0; i < base->n_children; i++) {
        const State__Child *c = base->children[i];
        if (!c->is_started || !child_is_starting(s->st, c->initiated_event_id))
            continue;
        struct str at = events_slice(r->base.events, 1, c->initiated_event_id, c->initiated_event_id + 1);
        History__HistoryEvent *initiated;
        int rc = op_next_event(op, op->call->arena, &at, &initiated);
        if (rc < 0)
            return rc;
        if (!initiated || initiated->event_type != EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED)
            return err_std(&op->err, ERR_DAMAGED);
        struct child_birth birth = {
            .run_id = c->run_id,
            .namespace_name = s->ctx.namespace_name,
            .namespace_id = base->namespace_id,
            .header = initiated->start_child_workflow_execution_initiated_event_attributes->header};
        child_started(s, c->initiated_event_id, &birth);
    }
    return 0;
}

static int copy_run(struct op *op, struct step *s, const struct reset *r, const char *run_id) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    const State__Execution *base = op->held->body->st;
    struct str rest = r->base.events;
    struct task_reset reset = {.base_run_id = base->run_id, .new_run_id = run_id, .reason = req->reason};
    int rc = rebuild_until(op, s, &rest, req->workflow_task_finish_event_id);
    if (rc < 0)
        return rc;
    int64_t task_id = run_task_id_bound(base);
    if (op->run)
        task_id = MAX(task_id, run_task_id_bound(op->run->body->st));
    rebuild_finish(s, &(struct rebuild_name){run_id, op->request_id, base->origin_request_id, task_id});
    pb_set_message(&s->st->scheduled_by, base->scheduled_by, &s->failed); /* no event tells it */
    s->st->history_bytes = (int64_t)(r->base.events.n - rest.n);
    const char *identity = cstr_is_empty(req->identity) ? "history-service" : req->identity;
    reset_start_task(s, identity);
    rc = task_reset(s, &reset, identity);
    reapply_begin(s);
    if (rc == 0)
        rc = reset_reapply_events(op, s, r, rest);
    if (rc == 0)
        rc = reapply_orphans(op, s, r, base);
    if (rc == 0)
        rc = post_operations(s, req);
    if (rc < 0)
        return rc;
    reapply_answers(s, base);
    reapply_letters(s, base);
    reapply_end(s);
    return step_failed(s) ? op_out_of_memory(op) : 0;
}

/* Keeping it */

static void reply_workflow_reset(struct op *op) {
    Ws__ResetWorkflowExecutionResponse *resp = arena_new(op->call->arena, Ws__ResetWorkflowExecutionResponse);
    char *run_id = arena_strdup(op->call->arena, op->run->body->st->run_id);
    if (!resp || !run_id) {
        (void)op_out_of_memory(op);
        op_fail_durable(op);
        return;
    }
    ws__reset_workflow_execution_response__init(resp);
    resp->run_id = run_id;
    op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}

/* Terminates what is there, for the sake of the copy. */
static int end_current(struct op *op, const State__Execution *copy) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    struct step s;
    if (!op->run || !run_is_open(op->run->body->st))
        return 0;
    struct reset_end end = {
        .reason = req->reason,
        .new_run_id = copy->run_id,
        .request_id = op->request_id,
        .is_same_chain = cstr_eq(op->run->body->st->first_run_id, copy->first_run_id),
        .is_base = op->run == op->held,
    };
    op_step_begin(op, &s);
    return op_step_end(op, &s, run_end_by_reset(&s, &end), STEP_DURABLE);
}

/* The base run, which has ended by now, leaves its letters to the copy. */
static int release_base(struct op *op, const char *run_id) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    struct step s;
    op_pin(op, op->held);
    op_step_begin(op, &s);
    reapply_hand_over(&s, run_id, req->workflow_task_finish_event_id);
    return op_step_end(op, &s, 0, STEP_DURABLE);
}

/* Everything that can be refused is decided before anything is changed. */
static int make_copy(struct op *op, struct space *space, const struct reset *r) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    struct uuid_text run_id = uuid_format(uuid_timed(&op->e->rng, op->e->now.wall));
    struct str head = events_slice(r->base.events, 1, 1, req->workflow_task_finish_event_id);
    struct run *run = NULL;
    struct step s;
    bool failed = false;
    State__Execution *st = pb_new(&state__execution__descriptor, &failed);
    if (!st)
        return op_out_of_memory(op);
    step_begin(op->e, space, st, op->call->arena, &op->err, &s);
    int rc = copy_run(op, &s, r, run_id.s);
    if (rc == 0)
        rc = end_current(op, s.st);
    if (rc == 0)
        ensure(release_base(op, run_id.s) == 0); /* as below: nothing can be refused any more */
    if (rc == 0)
        ensure(run_keep_copy(op->e, space, &s, head, &run) == 0); /* the old run has ended in this group */
    pb_free(s.st);
    step_done(&s);
    if (rc < 0)
        return rc;
    op_pin(op, run);
    if (req->n_post_reset_operations && run->body->st->versioning)
        deployment_pinned(op, space, versioning_override_target(run->body->st->versioning->override));
    return 0;
}

static int read_part(struct op *op, struct reset *r, struct reset_part *p) {
    const State__Execution *st = op->run->body->st;
    int rc = need_whole_history(op, &p->events);
    if (rc == 0)
        rc = need_buffered(op, &p->late);
    if (rc < 0)
        return rc;
    r->last_run = op->run->key.run_id;
    r->transition_count = st->transition_count;
    r->is_last_open = run_is_open(st);
    bool goes_on = st->status == WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW;
    r->next_run_id = arena_strdup(op->call->arena, goes_on ? st->new_run_id : "");
    return r->next_run_id ? 0 : op_out_of_memory(op);
}

/* For whoever reads: a task that is with a worker has an event of its start, written or not. */
static int64_t last_event_id(const State__Execution *st) {
    return task_owes_start(st) ? st->task->started_event_id : st->next_event_id - 1;
}

static int read_base(struct op *op, struct space *space, struct reset *r) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    if (r->last)
        return 0;
    int rc = op_need_execution(op, space, req->workflow_execution, NULL);
    if (rc == 0 && req->workflow_task_finish_event_id > last_event_id(op->run->body->st))
        rc = err_set(&op->err, ERR_INVALID, BAD_POINT_TEXT);
    if (rc == 0)
        rc = read_part(op, r, &r->base);
    if (rc < 0)
        return rc;
    r->base.next = NULL;
    r->last = &r->base;
    op_hold(op, op->run); /* its events do not change once it is closed, but what it hears does */
    return 0;
}

/* The runs that the base continued as; those that are not kept any more end the search. */
static int read_sequels(struct op *op, struct space *space, struct reset *r) {
    struct uuid run_id;
    while (uuid_parse(str_of(r->next_run_id), &run_id) == 0) {
        int rc = op_need_run(op, space, run_id);
        if (rc == ERR_NOT_FOUND) {
            r->next_run_id[0] = '\0'; /* not to be looked for again when the op is */
            return 0;
        }
        struct reset_part *p = rc == 0 ? arena_new(op->call->arena, struct reset_part) : NULL;
        if (rc == 0 && !p)
            rc = op_out_of_memory(op);
        if (rc == 0)
            rc = read_part(op, r, p);
        if (rc < 0)
            return rc;
        r->last->next = p;
        r->last = p;
    }
    return 0;
}

/* The run is held while the store is asked which one is current, so that two of these cannot push each other
 * out of memory for ever. */
static int need_current_run(struct op *op, struct space *space, const char *workflow_id, struct reset *r) {
    bool is_known = false;
    int rc = r->has_current ? op_need_run(op, space, r->current_run) : 0;
    if (rc == ERR_WAIT)
        return rc;
    rc = op_need_current(op, space, workflow_id, &is_known, &r->current_run);
    if (rc < 0)
        return rc;
    r->has_current = is_known;
    if (is_known)
        return op_need_run(op, space, r->current_run);
    op_pin(op, NULL);
    return 0;
}

static int reset_prepare(struct op *op, struct space **ret) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    int rc = op_need_space(op, req->namespace_, ret);
    if (rc == 0)
        rc = validate_execution(req->workflow_execution, &op->err);
    if (rc == 0 && req->workflow_task_finish_event_id <= 1)
        rc = err_set(&op->err, ERR_INVALID, BAD_POINT_TEXT);
    if (rc == 0)
        rc = op_need_room(op);
    if (rc == 0)
        rc = op_need_request_id(op, req->request_id);
    if (rc == 0 && !op->extra && !(op->extra = arena_new(op->call->arena, struct reset)))
        rc = op_out_of_memory(op);
    return rc;
}

/* All of them as they are now: what was open when it was read must not have changed since, and nobody may
 * have deleted the base. */
static int need_runs(struct op *op, struct space *space, struct reset *r) {
    const Ws__ResetWorkflowExecutionRequest *req = op->req;
    for (;;) {
        int rc = read_base(op, space, r);
        if (rc == 0)
            rc = read_sequels(op, space, r);
        if (rc == 0)
            rc = need_current_run(op, space, req->workflow_execution->workflow_id, r);
        bool is_fresh = !r->is_last_open || (op->run && uuid_eq(op->run->key.run_id, r->last_run) &&
                                             op->run->body->st->transition_count == r->transition_count);
        if (rc < 0 || (is_fresh && !op->held->is_removed))
            return rc;
        r->last = NULL;
    }
}

static bool is_too_late(const struct op *op) {
    const struct reset *r = op->extra;
    const State__Execution *current = op->run ? op->run->body->st : NULL;
    return r->open_run_id && !(current && run_is_open(current) && cstr_eq(current->run_id, r->open_run_id));
}

void rpc_reset_workflow(struct op *op) {
    struct space *space;
    int rc = reset_prepare(op, &space);
    if (rc == 0)
        rc = need_runs(op, space, op->extra);
    if (rc == ERR_WAIT)
        return;
    /* The same reset, asked for again, has its run already. */
    bool is_done = rc == 0 && op->run && cstr_eq(op->run->body->st->start_request_id, op->request_id);
    if (rc == 0 && !is_done && is_too_late(op))
        rc = err_std(&op->err, ERR_CLOSED);
    if (rc == 0 && !is_done)
        rc = make_copy(op, space, op->extra);
    if (rc < 0)
        op_fail(op);
    else
        reply_workflow_reset(op);
}

void reset_while_open(struct engine *e, struct call *c, const Ws__ResetWorkflowExecutionRequest *req,
                      const char *open_run_id) {
    struct op *op = op_new(e, c, req, rpc_reset_workflow);
    if (!op)
        return;
    struct reset *r = op->extra = arena_new(c->arena, struct reset);
    if (r) {
        r->open_run_id = open_run_id;
        op_start(op);
    } else {
        (void)op_out_of_memory(op);
        op_fail(op);
    }
}
