/* Calls about task queues: describe, partitions, a worker's goodbye, a client that knows a worker is gone. */
#include "core/run.h"
#include "core/task.h"
#include "core/validate.h"
#include "engine/engine_int.h"
#include "engine/response.h"

static void unstick(struct step *s, void *arg unused_arg) {
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
        run_quiet_step(op->e, op->run, unstick, NULL);
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

static void go_shutdown(struct op *op) {
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
        strempty(req->sticky_task_queue) ? NULL : queue_find(op->e, space, false, req->sticky_task_queue);
    if (q)
        queue_shut(op->e, q);
    if (!strempty(req->task_queue))
        forget_worker(op->e, space, req->task_queue, req->identity);
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

/* Describe */

static Deployment__WorkerDeploymentOptions *worker_options(struct arena *a, struct version v) {
    Deployment__WorkerDeploymentOptions *o =
        version_is_none(v) ? NULL : arena_new(a, Deployment__WorkerDeploymentOptions);
    if (!o)
        return NULL;
    deployment__worker_deployment_options__init(o);
    o->deployment_name = arena_strdup(a, v.deployment);
    o->build_id = arena_strdup(a, v.build_id);
    o->worker_versioning_mode = WORKER_VERSIONING_MODE_VERSIONED;
    return o;
}

static size_t visitor_count(const struct queue *q) {
    size_t n = q->visitor_count;
    list_for(&q->versions, v) n += container_of(v, struct queue, version_link)->visitor_count;
    return n;
}

static void add_pollers(struct op *op, const struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    struct arena *a = op->call->arena;
    for (size_t i = 0; r->pollers && i < q->visitor_count; i++) {
        const struct visitor *v = &q->visitors[i];
        if (op->e->now.wall.us - v->last_us > ENGINE_VISITOR_MS * USEC_PER_MS)
            continue;
        Taskqueue__PollerInfo *p = arena_new(a, Taskqueue__PollerInfo);
        if (!p)
            return;
        taskqueue__poller_info__init(p);
        p->identity = arena_strdup(a, v->identity);
        p->last_access_time = response_time(a, v->last_us);
        p->rate_per_second = v->rate;
        p->deployment_options = worker_options(a, q->version);
        r->pollers[r->n_pollers++] = p;
    }
}

static void describe_pollers(struct op *op, const struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    r->pollers = arena_array(op->call->arena, Taskqueue__PollerInfo *, visitor_count(q));
    add_pollers(op, q, r);
    list_for(&q->versions, n) add_pollers(op, container_of(n, struct queue, version_link), r);
}

static double rate_of(const struct queue *q) {
    E__RateLimitSource source;
    return queue_rate(q, &source);
}

Taskqueue__TaskQueueStats *queue_stats(const struct op *op, const struct queue *q) {
    struct arena *a = op->call->arena;
    Taskqueue__TaskQueueStats *stats = arena_new(a, Taskqueue__TaskQueueStats);
    if (!stats)
        return NULL;
    taskqueue__task_queue_stats__init(stats);
    stats->approximate_backlog_count = q ? (int64_t)q->task_count : 0;
    stats->approximate_backlog_age = response_duration(a, q ? queue_age_us(op->e, q) : 0);
    stats->rate_limiting_active = q && rate_of(q) >= 0;
    return stats;
}

/* The queue and those of all versions beside it. */
static void describe_backlog(struct op *op, const struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    struct arena *a = op->call->arena;
    Taskqueue__TaskQueueStats *stats = queue_stats(op, q);
    Taskqueue__TaskQueueStatus *status = arena_new(a, Taskqueue__TaskQueueStatus);
    int64_t age_us = q ? queue_age_us(op->e, q) : 0;
    if (!stats || !status)
        return;
    taskqueue__task_queue_status__init(status);
    status->rate_per_second = q ? MAX(rate_of(q), 0) : 0;
    if (q) {
        list_for(&q->versions, n) {
            const struct queue *v = container_of(n, struct queue, version_link);
            stats->approximate_backlog_count += (int64_t)v->task_count;
            stats->rate_limiting_active |= rate_of(v) >= 0;
            status->rate_per_second = MAX(status->rate_per_second, rate_of(v));
            age_us = MAX(age_us, queue_age_us(op->e, v));
        }
    }
    stats->approximate_backlog_age = response_duration(a, age_us);
    status->backlog_count_hint = stats->approximate_backlog_count;
    r->stats = stats;
    r->task_queue_status = status;
}

static void describe_routes(struct op *op, struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    struct arena *a = op->call->arena;
    const struct route *route = queue_route(op->e, q);
    Taskqueue__TaskQueueVersioningInfo *i = arena_new(a, Taskqueue__TaskQueueVersioningInfo);
    if (!i)
        return;
    taskqueue__task_queue_versioning_info__init(i);
    i->current_version = version_text(a, route->current, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
    i->current_deployment_version = version_message(a, route->current);
    i->update_time = response_time(a, route->current_us);
    if (route->is_ramping) {
        i->ramping_version = version_text(a, route->ramping, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
        i->ramping_deployment_version = version_message(a, route->ramping);
        i->ramping_version_percentage = route->percentage;
        i->update_time = response_time(a, MAX(route->current_us, route->ramping_us));
    }
    r->versioning_info = i;
    op->wait_seq = MAX(op->wait_seq, op->e->deployments_seq);
}

/* Without a limit there is no effective one. */
static void describe_config(struct op *op, const struct space *space, const struct queue *q,
                            Ws__DescribeTaskQueueResponse *r) {
    typedef Ws__DescribeTaskQueueResponse__EffectiveRateLimit EffectiveLimit;
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct arena *a = op->call->arena;
    const Taskqueue__TaskQueueConfig *config =
        queue_config(space, req->task_queue_type, req->task_queue->name);
    E__RateLimitSource source = RATE_LIMIT_SOURCE_API;
    double rate = q ? queue_rate(q, &source)
                  : config && config->queue_rate_limit && config->queue_rate_limit->rate_limit
                      ? (double)config->queue_rate_limit->rate_limit->requests_per_second
                      : -1;
    if (req->report_config)
        r->config = pb_arena_clone(config, a);
    op->wait_seq = MAX(op->wait_seq, space->group_seq);
    EffectiveLimit *limit = rate >= 0 ? arena_new(a, EffectiveLimit) : NULL;
    if (!limit)
        return;
    ws__describe_task_queue_response__effective_rate_limit__init(limit);
    limit->requests_per_second = (float)rate;
    limit->rate_limit_source = source;
    r->effective_rate_limit = limit;
}

static void go_describe(struct op *op) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_task_queue(req->task_queue, &op->err);
    Ws__DescribeTaskQueueResponse *r = arena_new(op->call->arena, Ws__DescribeTaskQueueResponse);
    if (rc == 0 && !r)
        rc = op_out_of_memory(op);
    if (rc == 0) {
        bool is_activity = req->task_queue_type == TASK_QUEUE_TYPE_ACTIVITY;
        struct queue *q = queue_find(op->e, space, is_activity, req->task_queue->name);
        ws__describe_task_queue_response__init(r);
        if (q)
            describe_pollers(op, q, r);
        describe_backlog(op, q, r);
        describe_config(op, space, q, r);
        if (q && req->task_queue->kind != TASK_QUEUE_KIND_STICKY)
            describe_routes(op, q, r);
        if (arena_failed(op->call->arena))
            rc = op_out_of_memory(op);
    }
    if (rc < 0)
        op_fail(op);
    else
        op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

void engine_describe_task_queue(struct engine *e, struct call *c, const Ws__DescribeTaskQueueRequest *req) {
    struct op *op = op_new(e, c, req, go_describe);
    if (op)
        op_start(op);
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

static void go_partitions(struct op *op) {
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

void engine_list_partitions(struct engine *e, struct call *c, const Ws__ListTaskQueuePartitionsRequest *req) {
    struct op *op = op_new(e, c, req, go_partitions);
    if (op)
        op_start(op);
}
