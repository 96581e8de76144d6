/* Calls about task queues: partitions, a worker's goodbye, a client that knows a worker is gone. */
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"

static void sticky_reset_step(struct step *s, void *arg unused_arg) {
    task_unstick(s);
}

/* a worker says goodbye */

/* Tasks on its sticky queue go to the normal queue now instead of after a timeout. */
static void go_unstick(struct op *op) {
    const struct run_key *key = op->req;
    struct space *space = space_by_id(op->e, key->namespace_id);
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == ERR_WAIT)
        return;
    if (rc == 0)
        run_quiet_step(op->e, op->run, sticky_reset_step, NULL);
    op_reply(op, NULL, (struct str){NULL, 0});
}

void queue_shut(struct engine *e, struct queue *q) {
    q->is_shut = true;
    q->last_poll_us = INT64_MIN;
    q->rate = 0; /* nobody is left to protect */
    for (struct task *t; (t = queue_pop(e, q));) {
        struct run_key key = {t->space->id, t->run_id};
        struct query *query = t->query;
        task_free(t);
        if (query)
            query_lost(e, query);
        else
            errand_start(e, go_unstick, &key, sizeof(key));
    }
}

/* One that still polls under the same name is there again with its next poll. */
static void forget_worker(struct engine *e, struct space *space, const char *queue, const char *identity) {
    for (int is_activity = 0; is_activity < 2; is_activity++) {
        struct queue *q = queue_find(e, space, is_activity, queue);
        if (!q)
            continue;
        queue_say_goodbye(q, identity);
        list_for(&q->versions, n) queue_say_goodbye(container_of(n, struct queue, version_link), identity);
    }
}

void rpc_shutdown_worker(struct op *op) {
    const Ws__ShutdownWorkerRequest *req = op->req;
    static const Ws__ShutdownWorkerResponse resp = WS__SHUTDOWN_WORKER_RESPONSE__INIT;
    struct space *space;
    const Worker__WorkerHeartbeat *beat = req->worker_heartbeat;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0 && beat)
        rc = worker_check(op, beat);
    if (rc == 0 && beat)
        rc = worker_heard(op, space, beat); /* its last words */
    if (rc < 0) {
        op_fail(op);
        return;
    }
    struct queue *q =
        cstr_is_empty(req->sticky_task_queue) ? NULL : queue_find(op->e, space, false, req->sticky_task_queue);
    if (q)
        queue_shut(op->e, q);
    if (!cstr_is_empty(req->task_queue))
        forget_worker(op->e, space, req->task_queue, req->identity);
    op_reply(op, &resp.base, (struct str){NULL, 0});
}

/* A client says that the sticky worker of a run is gone. */
void rpc_reset_sticky(struct op *op) {
    static const Ws__ResetStickyTaskQueueResponse resp = WS__RESET_STICKY_TASK_QUEUE_RESPONSE__INIT;
    const Ws__ResetStickyTaskQueueRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->execution, &op->err);
    if (rc == 0)
        rc = op_need_execution(op, space, req->execution, NULL);
    if (rc == ERR_WAIT)
        return;
    if (rc == 0 && !run_is_open(op->run->body->st))
        rc = err_std(&op->err, ERR_CLOSED);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    run_quiet_step(op->e, op->run, sticky_reset_step, NULL);
    op_reply(op, &resp.base, (struct str){NULL, 0});
}

/* Partitions: a queue is one here. */

static Taskqueue__TaskQueuePartitionMetadata **one_partition(struct arena *a, const char *name) {
    Taskqueue__TaskQueuePartitionMetadata **all = arena_array(a, Taskqueue__TaskQueuePartitionMetadata *, 1);
    Taskqueue__TaskQueuePartitionMetadata *self = arena_new(a, Taskqueue__TaskQueuePartitionMetadata);
    if (!all || !self)
        return NULL;
    taskqueue__task_queue_partition_metadata__init(self);
    self->key = arena_strdup(a, name);
    all[0] = self;
    return all;
}

void rpc_list_partitions(struct op *op) {
    const Ws__ListTaskQueuePartitionsRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__ListTaskQueuePartitionsResponse r = WS__LIST_TASK_QUEUE_PARTITIONS_RESPONSE__INIT;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_task_queue(req->task_queue, &op->err);
    if (rc == 0) {
        r.activity_task_queue_partitions = one_partition(a, req->task_queue->name);
        r.workflow_task_queue_partitions = one_partition(a, req->task_queue->name);
        r.n_activity_task_queue_partitions = r.n_workflow_task_queue_partitions = 1;
        rc = arena_failed(a) ? op_out_of_memory(op) : 0;
    }
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &r.base, (struct str){NULL, 0});
}
