/* Queries. They change nothing and are never stored.
 *
 * A query must see everything that was acknowledged before it. If a workflow
 * task is pending the query rides on it (buffered, then attached); if none is,
 * it is a task of its own on the sticky queue, or on the normal one when the
 * sticky worker does not take it. A run's queries are in body.queries until
 * they are answered or their caller gives up. */
#include "base/mem.h"
#include "core/run/pause.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "engine/runtime/copy.h"
#include "engine/workflow/links.h"
#include "engine/workflow/response.h"
#include "wire/encode.h"
#include "wire/guard.h"

/* One attempt to get through, and how often a failing workflow is asked before we say so. */
#define QUERY_TASK_ATTEMPTS_MAX 3

/* Ending. What a worker answered while completing a task is told when that completion is durable. */

/* Leaves whatever the query waits in; the op is ended by the caller. */
static void query_unlink(struct engine *e, struct query *q) {
    if (q->task) {
        queue_take_out(q->queue, q->task);
        task_free(take(&q->task));
    }
    if (q->poll)
        q->poll->query = NULL;
    q->poll = NULL;
    map_remove(&e->queries, str_of(q->id.s));
    list_remove(&q->link);
}

static void query_drop(struct op *op) {
    if (op->query)
        query_unlink(op->e, take(&op->query));
}

static void query_expire(struct op *op) {
    query_drop(op);
    err_set(&op->err, ERR_DEADLINE,
            "No worker answered the query in time; is one running for this task queue?");
    op_fail(op);
}

void queries_drain(struct run *run) {
    list_for_safe(&run->body->queries, n) {
        struct op *op = container_of(n, struct query, link)->op;
        query_drop(op);
        (void)err_std(&op->err, ERR_UNAVAILABLE);
        op_fail(op);
    }
}

static void query_reply(struct query *q, Common__Payloads *result) {
    struct op *op = q->op;
    Ws__QueryWorkflowResponse *resp = arena_new(op->call->arena, Ws__QueryWorkflowResponse);
    query_drop(op);
    if (resp) {
        ws__query_workflow_response__init(resp);
        resp->query_result = payloads_copy(op->call->arena, result);
        resp->link = workflow_link(op, "Query processed");
    }
    if (arena_failed(op->call->arena)) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}

static void query_fail(struct query *q, const char *text, const Failure__Failure *failure) {
    struct op *op = q->op;
    query_drop(op);
    err_set(&op->err, ERR_QUERY_FAILED, "%s", cstr_is_empty(text) ? "The query failed." : text);
    if (failure) {
        ProtobufCBinaryData packed = token_pack(op->call->arena, &failure->base);
        op->err.failure = packed.data;
        op->err.failure_len = packed.len;
    }
    op_fail_durable(op);
}

/* What a worker said. An answer that is too large is told to the caller as a failure. */
static void query_end(struct query *q, E__QueryResultType type, Common__Payloads *result, const char *text,
                      const Failure__Failure *failure) {
    if (type != QUERY_RESULT_TYPE_FAILED && op_check_blob(q->op, (const ProtobufCMessage *)result) == 0) {
        query_reply(q, result);
        return;
    }
    struct err why = q->op->err;
    if (type == QUERY_RESULT_TYPE_FAILED)
        query_fail(q, text, failure);
    else
        query_fail(q, why.text, NULL);
}

/* asking directly */

static int query_wait(struct query *q, int64_t until) {
    struct op *op = q->op;
    heap_remove(&op->e->deadlines, &op->deadline);
    return op_wait_until(op, until);
}

static void query_queue(struct engine *e, struct query *q, bool use_sticky);

static void sticky_expire(struct op *op) {
    struct query *q = op->query;
    if (q->task) { /* nobody took it from the sticky queue */
        queue_take_out(q->queue, q->task);
        task_free(take(&q->task));
    }
    if (q->poll)
        q->poll->query = NULL;
    q->poll = NULL;
    query_queue(op->e, q, false);
}

static void query_queue(struct engine *e, struct query *q, bool use_sticky) {
    struct run *run = q->op->run;
    const State__Execution *st = run->body->st;
    struct task *t = mem_zalloc(sizeof(*t));
    struct queue *queue = NULL;
    if (t)
        queue = use_sticky ? queue_get(e, run->space, false, st->sticky_queue)
                           : route_task(e, run, false, st->task_queue, t);
    int64_t until = op_deadline(q->op, ENGINE_QUERY_MS * USEC_PER_MS, ENGINE_WAIT_MARGIN_MS * USEC_PER_MS);
    if (!t || !queue) {
        mem_free(t);
        (void)op_out_of_memory(q->op);
        query_drop(q->op);
        op_fail(q->op);
        return;
    }
    t->kind = TASK_QUERY;
    t->space = run->space;
    t->run_id = run->key.run_id;
    t->query = q;
    q->task = t;
    q->queue = queue;
    q->state = QUERY_QUEUED;
    q->op->expire = query_expire;
    if (use_sticky) {
        until = MIN(until, usec_add(e->now.mono.us, st->sticky_timeout_us));
        q->op->expire = sticky_expire;
    }
    if (query_wait(q, until) < 0) {
        query_drop(q->op);
        op_fail(q->op);
        return;
    }
    queue_add(e, queue, t);
}

static void query_ask_directly(struct engine *e, struct query *q) {
    const State__Execution *st = q->op->run->body->st;
    bool use_sticky = !cstr_is_empty(st->sticky_queue) && route_keeps_sticky(e, q->op->run) &&
                      queue_has_worker(e, queue_find(e, q->op->run->space, false, st->sticky_queue));
    query_queue(e, q, use_sticky);
}

void query_lost(struct engine *e, struct query *q) {
    if (q->task)
        return; /* it is in a queue again already */
    q->poll = NULL;
    query_queue(e, q, false);
}

/* riding on a workflow task */

static bool has_pending_task(const State__Execution *st) {
    return run_is_open(st) && (st->task || st->last_started_event_id == 0);
}

void queries_settle(struct engine *e, struct run *run) {
    if (list_empty(&run->body->queries) || has_pending_task(run->body->st))
        return;
    run_pin(run);
    list_for_safe(&run->body->queries, n) {
        struct query *q = container_of(n, struct query, link);
        if (q->state == QUERY_BUFFERED || q->state == QUERY_ATTACHED)
            query_ask_directly(e, q);
    }
    run_unpin(e, run);
}

void queries_detach(struct run *run) {
    list_for(&run->body->queries, n) {
        struct query *q = container_of(n, struct query, link);
        if (q->state == QUERY_ATTACHED)
            q->state = QUERY_BUFFERED;
    }
}

void queries_attach(struct op *poll, Ws__PollWorkflowTaskQueueResponse *resp) {
    struct arena *a = poll->call->arena;
    struct list *queries = &poll->run->body->queries;
    size_t n = 0;
    list_for(queries, l) n++;
    /* With events buffered behind this task the answer could be older than something acknowledged
     * before the query: then it waits for the next task. */
    if (!n || poll->run->body->st->n_buffered)
        return;
    resp->queries = arena_array(a, Ws__PollWorkflowTaskQueueResponse__QueriesEntry *, n);
    list_for(queries, l) {
        struct query *q = container_of(l, struct query, link);
        const Ws__QueryWorkflowRequest *req = q->op->req;
        Ws__PollWorkflowTaskQueueResponse__QueriesEntry *entry =
            arena_new(a, Ws__PollWorkflowTaskQueueResponse__QueriesEntry);
        if (q->state != QUERY_BUFFERED || !resp->queries || !entry)
            continue;
        ws__poll_workflow_task_queue_response__queries_entry__init(entry);
        entry->key = arena_strdup(a, q->id.s);
        entry->value = query_copy(a, req->query);
        resp->queries[resp->n_queries++] = entry;
        q->state = QUERY_ATTACHED;
    }
}

static const Query__WorkflowQueryResult *find_result(const Ws__RespondWorkflowTaskCompletedRequest *req,
                                                     const char *id) {
    for (size_t i = 0; i < req->n_query_results; i++)
        if (cstr_eq(req->query_results[i]->key, id))
            return req->query_results[i]->value;
    return NULL;
}

void queries_answer(struct engine *e unused_arg, struct run *run,
                    const Ws__RespondWorkflowTaskCompletedRequest *req) {
    list_for_safe(&run->body->queries, n) {
        struct query *q = container_of(n, struct query, link);
        const Query__WorkflowQueryResult *r = find_result(req, q->id.s);
        if (!r)
            continue;
        query_end(q, r->result_type, r->answer, r->error_message, r->failure);
    }
    queries_detach(run); /* what was not answered waits for the next task, or is asked directly */
}

/* the two calls */

static bool is_rejected(const State__Execution *st, E__QueryRejectCondition condition) {
    if (run_is_paused(st))
        return true;
    switch ((int)condition) {
    case QUERY_REJECT_CONDITION_NOT_OPEN:
        return !run_is_open(st);
    case QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY:
        return !run_is_open(st) && st->status != WORKFLOW_EXECUTION_STATUS_COMPLETED;
    default:
        return false;
    }
}

static void reply_rejected(struct op *op) {
    Ws__QueryWorkflowResponse *resp = arena_new(op->call->arena, Ws__QueryWorkflowResponse);
    Query__QueryRejected *rejected = arena_new(op->call->arena, Query__QueryRejected);
    if (!resp || !rejected) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    ws__query_workflow_response__init(resp);
    query__query_rejected__init(rejected);
    rejected->status = (E__WorkflowExecutionStatus)op->run->body->st->status;
    resp->query_rejected = rejected;
    resp->link = workflow_link(op, "Query rejected");
    op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}

/* The first task waits for longer than the caller does. */
static bool starts_too_late(const struct op *op, const State__Execution *st) {
    int64_t wait = op_deadline(op, ENGINE_QUERY_MS * USEC_PER_MS, ENGINE_WAIT_MARGIN_MS * USEC_PER_MS) -
                   op->e->now.mono.us;
    return st->first_task_due_us && st->first_task_due_us - op->e->now.wall.us > wait;
}

static int query_check(struct op *op) {
    const State__Execution *st = op->run->body->st;
    int32_t attempt = st->task ? st->task->attempt : st->task_attempt;
    size_t waiting = 0;
    if (!run_is_open(st) && st->last_started_event_id == 0)
        return err_set(&op->err, ERR_NOT_READY, "Workflow closed before its first workflow task completed.");
    if (run_is_open(st) && attempt >= QUERY_TASK_ATTEMPTS_MAX)
        return err_set(&op->err, ERR_NOT_READY,
                       "Unable to query workflow due to Workflow Task in failed state.");
    if (run_is_open(st) && st->last_started_event_id == 0 && !st->task && starts_too_late(op, st))
        return err_set(&op->err, ERR_NOT_READY, "Workflow task is not scheduled yet.");
    if (route_is_blind(op->e, op->run))
        return err_set(
            &op->err, ERR_PRECONDITION,
            "The workflow is pinned to a version that is drained and has no workers: start one, or "
            "override its version.");
    list_for(&op->run->body->queries, n) waiting++;
    if (waiting >= ENGINE_QUERIES_PER_RUN) {
        int rc = err_set(&op->err, ERR_BUSY,
                         "consistent query buffer is full, this may be caused by too many queries");
        op->err.cause = RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW;
        return rc;
    }
    return 0;
}

static int query_begin(struct op *op) {
    struct query *q = arena_new(op->call->arena, struct query);
    if (!q)
        return op_out_of_memory(op);
    q->op = op;
    q->id = uuid_format(uuid_random(&op->e->rng));
    q->state = QUERY_BUFFERED;
    if (map_put(&op->e->queries, str_of(q->id.s), q) < 0)
        return op_out_of_memory(op);
    list_append(&op->run->body->queries, &q->link);
    op->query = q;
    op->drop = query_drop;
    op->expire = query_expire;
    int rc =
        query_wait(q, op_deadline(op, ENGINE_QUERY_MS * USEC_PER_MS, ENGINE_WAIT_MARGIN_MS * USEC_PER_MS));
    if (rc < 0)
        query_drop(op);
    return rc;
}

void rpc_query_workflow(struct op *op) {
    const Ws__QueryWorkflowRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->execution, &op->err);
    if (rc == 0 && !req->query)
        rc = err_set(&op->err, ERR_INVALID, "Query is not set on request.");
    if (rc == 0)
        rc = validate_required(req->query->query_type, "QueryType", &op->err);
    if (rc == 0)
        rc = op_check_blob(op, (const ProtobufCMessage *)req->query->query_args);
    if (rc == 0)
        rc = op_need_execution(op, space, req->execution, NULL);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && is_rejected(op->run->body->st, req->query_reject_condition)) {
        reply_rejected(op);
        return;
    }
    if (rc == 0 && op->e->is_draining)
        rc = err_std(&op->err, ERR_UNAVAILABLE);
    if (rc == 0)
        rc = query_check(op);
    if (rc == 0)
        rc = query_begin(op);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    queries_settle(op->e, op->run);
}

void rpc_answer_query(struct op *op) {
    static const Ws__RespondQueryTaskCompletedResponse resp = WS__RESPOND_QUERY_TASK_COMPLETED_RESPONSE__INIT;
    const Ws__RespondQueryTaskCompletedRequest *req = op->req;
    ProtobufCMessage *m = NULL;
    struct space *space;
    int rc = req->task_token.len ? token_read(op, &state__query_token__descriptor, &req->task_token,
                                              ERR_BAD_TOKEN, err_text(ERR_BAD_TOKEN), &m)
                                 : err_set(&op->err, ERR_INVALID, "Task token not set on request.");
    if (rc == 0)
        rc = op_need_token_space(op, req->namespace_, ((State__QueryToken *)m)->namespace_id, &space);
    struct query *q = rc == 0 ? map_get(&op->e->queries, str_of(((State__QueryToken *)m)->task_id)) : NULL;
    if (rc == 0 && (!q || q->state != QUERY_WITH_WORKER))
        rc = err_set(&op->err, ERR_NOT_FOUND, "query task not found, or already expired");
    if (rc < 0) {
        op_fail(op);
        return;
    }
    query_end(q, req->completed_type, req->query_result, req->error_message, req->failure);
    op_reply(op, &resp.base, (struct str){NULL, 0});
}
