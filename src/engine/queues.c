/* Task queues: tasks that wait for a worker, or workers that wait for a task;
 * never both. They live in memory only and are rebuilt from the runs at start.
 *
 * An entry is a hint. Whether the task still exists is decided when a worker
 * takes it, by the step on its run; stale entries are dropped then. */
#include "base/mem.h"
#include "core/activity.h"
#include "core/task.h"
#include "core/validate.h"
#include "engine/engine_int.h"

/* finding */

static void queue_key(struct buf *b, const struct space *space, bool is_activity, const char *name) {
    buf_add(b, space->id.b, sizeof(space->id));
    buf_add_u8(b, is_activity ? 'a' : 'w');
    buf_add_cstr(b, name);
}

struct queue *queue_find(struct engine *e, struct space *space, bool is_activity, const char *name) {
    struct buf key;
    buf_init(&key, 4096);
    queue_key(&key, space, is_activity, name);
    struct queue *q = buf_ok(&key) ? map_get(&e->queues, buf_str(&key)) : NULL;
    buf_done(&key);
    return q;
}

void queue_free(struct queue *q) {
    for (struct list *n; (n = list_pop(&q->tasks));)
        task_free(container_of(n, struct task, link));
    mem_free((void *)(uintptr_t)q->key.p);
    mem_free(q);
}

struct queue *queue_get(struct engine *e, struct space *space, bool is_activity, const char *name) {
    struct queue *q = queue_find(e, space, is_activity, name);
    if (q)
        return q;
    struct buf key;
    buf_init(&key, 4096);
    queue_key(&key, space, is_activity, name);
    buf_add_u8(&key, 0); /* the name at its end is also a C string */
    size_t len = 0;
    uint8_t *bytes = buf_ok(&key) ? buf_take(&key, &len) : NULL;
    buf_done(&key);
    q = bytes ? mem_zalloc(sizeof(*q)) : NULL;
    if (!q) {
        mem_free(bytes);
        return NULL;
    }
    q->key = str_bytes(bytes, len - 1);
    q->name = (char *)bytes + sizeof(space->id) + 1;
    q->space = space;
    q->is_activity = is_activity;
    q->last_poll_us = INT64_MIN;
    list_init(&q->tasks);
    list_init(&q->pollers);
    if (map_put(&e->queues, q->key, q) < 0) {
        queue_free(q);
        return NULL;
    }
    return q;
}

bool queue_has_worker(const struct engine *e, const struct queue *q) {
    if (!q)
        return false;
    return !list_empty(&q->pollers) ||
           (q->last_poll_us != INT64_MIN &&
            e->now.mono.us - q->last_poll_us < ENGINE_STICKY_IDLE_MS * USEC_PER_MS);
}

/* tasks */

void task_free(struct task *t) {
    if (t && t->query)
        t->query->task = NULL;
    mem_free(t);
}

void queue_add(struct engine *e unused_arg, struct queue *q, struct task *t) {
    struct list *poller = list_pop(&q->pollers);
    if (poller) {
        poll_dispatch(container_of(poller, struct op, link), t);
        return;
    }
    list_append(&q->tasks, &t->link);
    q->task_count++;
}

void queue_put_back(struct engine *e, struct queue *q, struct task *t) {
    if (!list_empty(&q->pollers)) {
        queue_add(e, q, t);
        return;
    }
    list_prepend(&q->tasks, &t->link);
    q->task_count++;
}

/* Without memory for the entry the task would be forgotten while its worker waits: the process ends
 * and recovery offers it again. */
static void offer(struct engine *e, struct run *run, bool is_activity, const char *queue_name,
                  int64_t event_id, int32_t stamp) {
    struct queue *q = queue_get(e, run->space, is_activity, queue_name);
    struct task *t = mem_zalloc(sizeof(*t));
    ensure(q && t);
    t->kind = is_activity ? TASK_ACTIVITY : TASK_WORKFLOW;
    t->space = run->space;
    t->run_id = run->key.run_id;
    t->event_id = event_id;
    t->stamp = stamp;
    queue_add(e, q, t);
}

static void unstick(struct step *s, void *arg unused_arg) {
    task_unstick(s);
}

void offer_workflow_task(struct engine *e, struct run *run) {
    const State__Execution *st = run->body->st;
    if (!st->task || st->task->started_event_id)
        return;
    if (!st->task->is_sticky) {
        offer(e, run, false, st->task_queue, st->task->scheduled_event_id, 0);
        return;
    }
    if (queue_has_worker(e, queue_find(e, run->space, false, st->sticky_queue))) {
        offer(e, run, false, st->sticky_queue, st->task->scheduled_event_id, 0);
        return;
    }
    run_quiet_step(e, run, unstick, NULL); /* its effect comes back here for the normal queue */
}

void offer_activity_task(struct engine *e, struct run *run, int64_t event_id) {
    const State__Activity *a = activity_find(run->body->st, event_id);
    if (a && a->is_offered && !a->started_us)
        offer(e, run, true, a->task_queue, event_id, a->stamp);
}

void offer_all(struct engine *e, struct run *run) {
    const State__Execution *st = run->body->st;
    offer_workflow_task(e, run);
    for (size_t i = 0; i < st->n_activities; i++)
        offer_activity_task(e, run, st->activities[i]->scheduled_event_id);
    for (size_t i = 0; i < st->n_outbox; i++)
        letter_begin(e, &run->key, st->outbox[i]->id);
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
        run_quiet_step(op->e, op->run, unstick, NULL);
    op_reply(op, NULL, (struct str){NULL, 0});
}

static void queue_shut(struct engine *e, struct queue *q) {
    q->last_poll_us = INT64_MIN;
    struct list tasks;
    list_init(&tasks);
    for (struct list *n; (n = list_pop(&q->tasks));)
        list_append(&tasks, n);
    q->task_count = 0;
    for (struct list *n; (n = list_pop(&tasks));) {
        struct task *t = container_of(n, struct task, link);
        struct run_key key = {t->space->id, t->run_id};
        struct query *query = t->query;
        task_free(t);
        if (query)
            query_lost(e, query);
        else
            errand_start(e, go_unstick, &key, sizeof(key));
    }
}

static void go_shutdown(struct op *op) {
    const Ws__ShutdownWorkerRequest *req = op->req;
    static const Ws__ShutdownWorkerResponse resp = WS__SHUTDOWN_WORKER_RESPONSE__INIT;
    struct space *space;
    if (op_need_space(op, req->namespace_, &space) < 0) {
        op_fail(op);
        return;
    }
    struct queue *q =
        strempty(req->sticky_task_queue) ? NULL : queue_find(op->e, space, false, req->sticky_task_queue);
    if (q)
        queue_shut(op->e, q);
    op_reply(op, &resp.base, (struct str){NULL, 0});
}

void engine_shutdown_worker(struct engine *e, struct call *c, const Ws__ShutdownWorkerRequest *req) {
    struct op *op = op_new(e, c, req, go_shutdown);
    if (op)
        op_start(op);
}

/* A client says that the sticky worker of a run is gone. */
static void go_reset_sticky(struct op *op) {
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
    run_quiet_step(op->e, op->run, unstick, NULL);
    op_reply(op, &resp.base, (struct str){NULL, 0});
}

void engine_reset_sticky(struct engine *e, struct call *c, const Ws__ResetStickyTaskQueueRequest *req) {
    struct op *op = op_new(e, c, req, go_reset_sticky);
    if (op)
        op_start(op);
}
