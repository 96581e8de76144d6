/* Polls: a worker asks for work and gets a task, now or when there is one.
 *
 * Waiting -> matched (the run may have to be loaded) -> started (a step that is
 * not committed for its own sake) -> answered. When the caller goes away in
 * between, the task is put back or un-started, so that the next worker gets it
 * at once instead of after a timeout. */
#include "core/activity/activity.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"
#include "wire/guard.h"

struct poll {
    struct visit visit;
    bool is_sticky;
    struct version version;
    enum task_kind kind;
    bool is_started; /* the run says that this worker has it */
    int64_t scheduled_event_id;
    int64_t started_us;
    int32_t attempt;
    int64_t begun_us; /* monotonic */
    Taskqueue__PollerScalingDecision advice;
};

static void poll_wait(struct op *op);

/* giving back */

static void poll_give_back(struct step *s, void *arg) {
    const struct poll *p = arg;
    if (p->kind == TASK_WORKFLOW)
        task_give_back(s, p->scheduled_event_id, p->started_us);
    else
        activity_give_back(s, p->scheduled_event_id, p->attempt, p->started_us);
}

static void poll_drop(struct op *op) {
    struct poll *p = op->extra;
    if (op->task) {
        struct task *t = take(&op->task);
        queue_put_back(op->e, op->queue, t);
    } else if (p->is_started && p->kind == TASK_QUERY) {
        if (op->query)
            query_lost(op->e, take(&op->query));
    } else if (p->is_started) {
        run_quiet_step(op->e, op->run, poll_give_back, p);
    }
    op_leave_queue(op); /* it may still wait for a commit, and its namespace be removed by then */
}

struct lost_task {
    struct run_key key;
    struct poll poll;
};

static void go_give_back(struct op *op) {
    const struct lost_task *lost = op->req;
    struct poll poll = lost->poll;
    struct space *space = space_by_id(op->e, lost->key.namespace_id);
    int rc = space ? op_need_run(op, space, lost->key.run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        run_quiet_step(op->e, op->run, poll_give_back, &poll);
    op_reply(op, NULL, (struct str){NULL, 0});
}

void engine_task_lost(struct engine *e, struct str task_token) {
    struct lost_task lost = {0};
    State__TaskToken *t =
        state__task_token__unpack(&wire_heap_allocator, task_token.n, (const uint8_t *)task_token.p);
    struct query *q = t ? map_get(&e->queries, str_of(t->run_id)) : NULL;
    if (q) {
        if (q->state == QUERY_WITH_WORKER)
            query_lost(e, q);
    } else if (t && uuid_parse(str_of(t->namespace_id), &lost.key.namespace_id) == 0 &&
               uuid_parse(str_of(t->run_id), &lost.key.run_id) == 0) {
        lost.poll.kind = cstr_is_empty(t->activity_id) ? TASK_WORKFLOW : TASK_ACTIVITY;
        lost.poll.scheduled_event_id = t->scheduled_event_id;
        lost.poll.started_us = t->started_us;
        lost.poll.attempt = t->attempt;
        errand_start(e, go_give_back, &lost, sizeof(lost));
    }
    pb_free(t);
}

/* answering */

/* While events were read the task may have ended: there is nothing left to hand over. */
static bool still_has_task(const struct op *op) {
    const struct poll *p = op->extra;
    const State__Execution *st = op->run->body->st;
    if (p->kind == TASK_WORKFLOW)
        return task_is_started(st) && st->task->scheduled_event_id == p->scheduled_event_id &&
               st->task->started_us == p->started_us;
    const State__Activity *a = activity_find(st, p->scheduled_event_id);
    return a && a->attempt == p->attempt && a->started_us == p->started_us;
}

/* What the worker is told about the number of its polls; NULL: nothing. */
static Taskqueue__PollerScalingDecision *scaling_decision(struct poll *p) {
    return p->advice.poll_request_delta_suggestion ? &p->advice : NULL;
}

static void go_answer_task(struct op *op) {
    struct poll *p = op->extra;
    if (!still_has_task(op)) {
        poll_wait(op);
        return;
    }
    Ws__PollWorkflowTaskQueueResponse *resp;
    struct str history;
    int rc = task_response(op, p->is_sticky, &resp, &history);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        poll_drop(op);
        op_fail(op);
        return;
    }
    resp->poller_scaling_decision = scaling_decision(p);
    op_reply_durable(op, &resp->base, history);
}

static void go_answer_activity(struct op *op) {
    struct poll *p = op->extra;
    if (!still_has_task(op)) {
        poll_wait(op);
        return;
    }
    Ws__PollActivityTaskQueueResponse *resp;
    int rc = activity_response(op, p->scheduled_event_id, &resp);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        poll_drop(op);
        op_fail(op);
        return;
    }
    resp->poller_scaling_decision = scaling_decision(p);
    op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}

static void go_answer_query(struct op *op) {
    struct poll *p = op->extra;
    Ws__PollWorkflowTaskQueueResponse *resp;
    struct str history;
    if (!op->query) { /* its caller went away while the history was read */
        poll_wait(op);
        return;
    }
    int rc = query_response(op, op->query, p->is_sticky, &resp, &history);
    if (rc == ERR_WAIT)
        return;
    if (rc < 0) {
        poll_drop(op);
        op_fail(op);
        return;
    }
    resp->poller_scaling_decision = scaling_decision(p);
    op_reply_durable(op, &resp->base, history);
}

/* matching */

/* The routes may have changed while the run was loaded, or while the task waited for the one worker that has
 * the run in memory: then it is for others. */
static bool is_for_others(const struct op *op, struct version target) {
    const struct poll *p = op->extra;
    const State__Execution *st = op->run->body->st;
    bool is_there =
        st->task && !st->task->started_event_id && st->task->scheduled_event_id == op->task->event_id;
    return is_there && !versioning_is_pinned(st) && !version_eq(target, p->version);
}

static int offer_to_others(struct op *op) {
    struct step s;
    op_step_begin(op, &s);
    if (op->run->body->st->task->is_sticky)
        task_unstick(&s);
    else
        task_offer_again(&s);
    int rc = op_step_end(op, &s, 0, STEP_QUIET);
    return rc < 0 ? rc : ERR_NOT_FOUND;
}

static int start_workflow_task(struct op *op, const char *request_id) {
    struct poll *p = op->extra;
    struct step s;
    struct task_pick pick = {.scheduled_event_id = op->task->event_id,
                             .identity = p->visit.identity,
                             .request_id = request_id,
                             .from_sticky = p->is_sticky,
                             .version = p->version,
                             .is_bound = op->task->is_bound,
                             .has_target = true};
    pick.target = route_of_run(op->e, op->run, &pick.target_revision);
    if (is_for_others(op, pick.target))
        return offer_to_others(op);
    op_step_begin(op, &s);
    int rc = op_step_end(op, &s, task_start(&s, &pick), STEP_QUIET);
    if (rc < 0)
        return rc;
    const State__WorkflowTask *t = op->run->body->st->task;
    p->scheduled_event_id = t->scheduled_event_id;
    p->started_us = t->started_us;
    op->go = go_answer_task;
    return 0;
}

static int start_activity_task(struct op *op, const char *request_id) {
    struct poll *p = op->extra;
    struct version_pick pick = {.version = p->version, .is_bound = op->task->is_bound};
    bool is_moved = false;
    struct step s;
    pick.workflow_target = route_of_run(op->e, op->run, &pick.revision);
    op_step_begin(op, &s);
    int rc = versioning_take_activity(&s, op->task->event_id, &pick, &is_moved);
    if (rc == 0 && !is_moved)
        rc = activity_start(&s, op->task->event_id, op->task->stamp, p->visit.identity, request_id);
    rc = op_step_end(op, &s, rc, is_moved ? STEP_DURABLE : STEP_QUIET);
    if (rc == 0 && is_moved)
        rc = ERR_NOT_FOUND; /* it is offered again when the run has arrived */
    if (rc < 0)
        return rc;
    const State__Activity *a = activity_find(op->run->body->st, op->task->event_id);
    p->scheduled_event_id = a->scheduled_event_id;
    p->started_us = a->started_us;
    p->attempt = a->attempt;
    op->go = go_answer_activity;
    return 0;
}

static int start_query(struct op *op) {
    struct query *q = op->task->query;
    if (!q)
        return ERR_NOT_FOUND;
    q->state = QUERY_WITH_WORKER;
    q->poll = op;
    op->query = q;
    op->go = go_answer_query;
    return 0;
}

static int poll_start_task(struct op *op) {
    struct uuid_text request_id = uuid_format(uuid_random(&op->e->rng));
    switch (op->task->kind) {
    case TASK_WORKFLOW:
        return start_workflow_task(op, request_id.s);
    case TASK_ACTIVITY:
        return start_activity_task(op, request_id.s);
    case TASK_QUERY:
        return start_query(op);
    }
    return ERR_INTERNAL;
}

/* False when the entry was stale: then nothing has happened. */
static bool poll_try_dispatch(struct op *op) {
    struct poll *p = op->extra;
    int rc = op_need_run(op, op->task->space, op->task->run_id);
    if (rc == ERR_WAIT)
        return true;
    if (rc == 0)
        rc = poll_start_task(op);
    if (rc == ERR_NO_MEMORY) {
        poll_drop(op);
        op_fail(op);
        return true;
    }
    if (rc < 0) {
        task_free(take(&op->task));
        op_pin(op, NULL);
        return false;
    }
    p->kind = op->task->kind;
    p->is_started = true;
    p->advice.poll_request_delta_suggestion = queue_advise(op->e, op->queue, op->task, p->begun_us);
    op->wait_seq = MAX(op->wait_seq, op->e->deployments_seq); /* I1: routes brought it here */
    task_free(take(&op->task));
    op->go(op);
    return true;
}

static void go_dispatch(struct op *op) {
    if (!poll_try_dispatch(op))
        poll_wait(op);
}

void poll_dispatch(struct op *op, struct task *t) {
    op_unpark(op);
    op->task = t;
    op->go = go_dispatch;
    op->go(op);
}

/* waiting */

static void poll_empty(struct op *op) {
    static const Ws__PollWorkflowTaskQueueResponse no_task = WS__POLL_WORKFLOW_TASK_QUEUE_RESPONSE__INIT;
    static const Ws__PollActivityTaskQueueResponse no_activity = WS__POLL_ACTIVITY_TASK_QUEUE_RESPONSE__INIT;
    op_reply(op, op->queue->is_activity ? &no_activity.base : &no_task.base, (struct str){NULL, 0});
}

static void poll_wait(struct op *op) {
    struct queue *q = op->queue;
    struct engine *e = op->e;
    ((struct poll *)op->extra)->is_started = false;
    op_pin(op, NULL);
    op->go = poll_wait;
    op->drop = poll_drop;
    queue_visit(e, q, &((struct poll *)op->extra)->visit);
    if (e->is_draining) {
        poll_empty(op);
        return;
    }
    for (struct task *t; (t = queue_pop(e, q));) {
        op->task = t;
        op->go = go_dispatch;
        if (poll_try_dispatch(op))
            return;
    }
    op->go = poll_wait;
    int64_t until = op_deadline(op, ENGINE_POLL_MS * USEC_PER_MS, ENGINE_POLL_MARGIN_MS * USEC_PER_MS);
    op_park(op, &q->pollers, until, poll_empty);
    queue_watch_rate(e, q);
}

/* A sticky queue belongs to one worker, whatever its version. */
static int poll_enter(struct op *op, const struct poll *p, struct space *space, const char *name,
                      bool is_activity) {
    bool is_versioned = !p->is_sticky && !version_is_none(p->version);
    struct queue *q = op_need_queue(op, space, is_activity, name);
    if (!q)
        return op->err.code;
    int rc = is_versioned ? op_register_worker(op, space, p->version, name, is_activity) : 0;
    if (rc < 0)
        return rc;
    if (is_versioned)
        q = queue_get_version(op->e, q, p->version);
    if (!q)
        return op_out_of_memory(op);
    op_enter_queue(op, q);
    q->is_sticky = p->is_sticky;
    return 0;
}

static void poll_begin(struct op *op, const char *namespace_name, const Taskqueue__TaskQueue *tq,
                       struct visit visit, bool is_activity) {
    struct poll *p = arena_new(op->call->arena, struct poll);
    struct space *space;
    int rc = p ? op_need_space(op, namespace_name, &space) : op_out_of_memory(op);
    if (rc == 0)
        rc = validate_task_queue(tq, &op->err);
    if (rc == 0)
        rc = validate_id(visit.identity, "Identity", &op->err);
    if (rc == 0)
        rc = version_validate_options(visit.options, &op->err);
    if (rc == 0) {
        p->is_sticky = !is_activity && tq->kind == TASK_QUEUE_KIND_STICKY;
        p->version = version_of_options(visit.options);
        rc = poll_enter(op, p, space, tq->name, is_activity);
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    p->visit = visit;
    p->begun_us = op->e->now.mono.us;
    taskqueue__poller_scaling_decision__init(&p->advice);
    op->extra = p;
    poll_wait(op);
}

static double rate_asked(const Taskqueue__TaskQueueMetadata *m) {
    return m && m->max_tasks_per_second && m->max_tasks_per_second->value > 0 ? m->max_tasks_per_second->value
                                                                              : 0;
}

void rpc_poll_workflow_task(struct op *op) {
    const Ws__PollWorkflowTaskQueueRequest *req = op->req;
    struct visit visit = {req->identity, 0, req->worker_version_capabilities, req->deployment_options};
    poll_begin(op, req->namespace_, req->task_queue, visit, false);
}

void rpc_poll_activity_task(struct op *op) {
    const Ws__PollActivityTaskQueueRequest *req = op->req;
    struct visit visit = {req->identity, rate_asked(req->task_queue_metadata),
                          req->worker_version_capabilities, req->deployment_options};
    poll_begin(op, req->namespace_, req->task_queue, visit, true);
}
