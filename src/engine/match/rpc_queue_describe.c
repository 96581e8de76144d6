/* DescribeTaskQueue: who polls a queue, what waits in it, and how it is set up.
 *
 * In the mode ENHANCED, which `temporal task-queue describe` asks in, the answer is a table by versions of
 * workers instead (queue_versions.c).
 *
 * A queue that is not in memory is empty and nobody polls it; that is no error. There are no queues for
 * Nexus. */
#include "engine/match/queue_describe.h"

#include "core/step/validate.h"
#include "engine/workflow/response.h"

#define RATE_UNLIMITED 100000 /* what other servers say of a worker that asks for no limit */

struct queue *described_queue(struct op *op, struct space *space, E__TaskQueueType type, const char *name) {
    return type == TASK_QUEUE_TYPE_NEXUS ? NULL
                                         : queue_find(op->e, space, type == TASK_QUEUE_TYPE_ACTIVITY, name);
}

/* Pollers */

/* Of one that said nothing else, what its queue says. */
static Deployment__WorkerDeploymentOptions *worker_options(struct arena *a, const struct visitor *visitor,
                                                           struct version v) {
    if (visitor->options)
        return pb_arena_clone(visitor->options, a);
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

void queue_add_pollers(const struct op *op, const struct queue *q, size_t *n, Taskqueue__PollerInfo **list) {
    struct arena *a = op->call->arena;
    for (size_t i = 0; list && i < q->visitor_count; i++) {
        const struct visitor *v = &q->visitors[i];
        if (op->e->now.wall.us - v->last_us > ENGINE_VISITOR_MS * USEC_PER_MS)
            continue;
        Taskqueue__PollerInfo *p = arena_new(a, Taskqueue__PollerInfo);
        if (!p)
            return;
        taskqueue__poller_info__init(p);
        p->identity = arena_strdup(a, v->identity);
        p->last_access_time = response_time(a, v->last_us);
        p->rate_per_second = v->rate > 0 ? v->rate : RATE_UNLIMITED;
        p->worker_version_capabilities = pb_arena_clone(v->capabilities, a);
        p->deployment_options = worker_options(a, v, q->version);
        list[(*n)++] = p;
    }
}

static void describe_pollers(const struct op *op, const struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    size_t count = q->visitor_count;
    list_for(&q->versions, v) count += container_of(v, struct queue, version_link)->visitor_count;
    r->pollers = arena_array(op->call->arena, Taskqueue__PollerInfo *, count);
    queue_add_pollers(op, q, &r->n_pollers, r->pollers);
    list_for(&q->versions, n)
        queue_add_pollers(op, container_of(n, struct queue, version_link), &r->n_pollers, r->pollers);
}

/* Figures */

/* Of the tasks that are bound to no version. Other servers keep those in the queue itself. */
static void describe_status(struct op *op, struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    E__RateLimitSource source;
    Taskqueue__TaskQueueStatus *status = arena_new(op->call->arena, Taskqueue__TaskQueueStatus);
    if (!status)
        return;
    taskqueue__task_queue_status__init(status);
    for (int lane = 0; q && lane < QUEUE_PRIORITIES; lane++)
        status->backlog_count_hint += queue_unbound(q, lane);
    if (q) {
        status->rate_per_second = MAX(queue_rate(q, &source), 0);
        list_for(&q->versions, n) status->rate_per_second =
            MAX(status->rate_per_second, queue_rate(container_of(n, struct queue, version_link), &source));
    }
    r->task_queue_status = status;
}

/* One line for each priority that had tasks lately, and one for the usual priority in any case. */
static void describe_stats(struct op *op, struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    typedef Ws__DescribeTaskQueueResponse__StatsByPriorityKeyEntry Entry;
    struct arena *a = op->call->arena;
    r->stats = stats_of_family(op, q, 0);
    r->stats_by_priority_key = arena_array(a, Entry *, QUEUE_PRIORITIES);
    for (int p = 1; r->stats_by_priority_key && p <= QUEUE_PRIORITIES; p++) {
        Taskqueue__TaskQueueStats *stats = stats_of_family(op, q, p);
        Entry *entry = stats ? arena_new(a, Entry) : NULL;
        if (!entry)
            continue;
        ws__describe_task_queue_response__stats_by_priority_key_entry__init(entry);
        entry->key = p;
        entry->value = stats;
        r->stats_by_priority_key[r->n_stats_by_priority_key++] = entry;
    }
}

/* Routes and limits */

const struct route *described_route(struct op *op, struct space *space, bool is_activity, const char *name) {
    struct queue *q = queue_find(op->e, space, is_activity, name);
    if (q)
        return queue_route(op->e, q);
    /* The deployments know it, though nothing waits there and nobody polls. */
    struct queue *stranger = arena_new(op->call->arena, struct queue);
    if (!stranger)
        return NULL;
    *stranger = (struct queue){.space = space,
                               .is_activity = is_activity,
                               .name = (char *)(uintptr_t)name,
                               .route_seq = ~op->e->routes_seq};
    return queue_route(op->e, stranger);
}

static void describe_routes(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r) {
    static const struct route nowhere;
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct arena *a = op->call->arena;
    bool is_activity = req->task_queue_type == TASK_QUEUE_TYPE_ACTIVITY;
    const struct route *route = req->task_queue_type == TASK_QUEUE_TYPE_NEXUS
                                    ? &nowhere
                                    : described_route(op, space, is_activity, req->task_queue->name);
    Taskqueue__TaskQueueVersioningInfo *i = arena_new(a, Taskqueue__TaskQueueVersioningInfo);
    if (!i || !route)
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
static void describe_queue_config(struct op *op, const struct space *space, const struct queue *q,
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

/* The call */

static void describe_queue(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct queue *q = described_queue(op, space, req->task_queue_type, req->task_queue->name);
    if (q)
        describe_pollers(op, q, r);
    if (req->include_task_queue_status)
        describe_status(op, q, r);
    if (req->report_stats)
        describe_stats(op, q, r);
    describe_queue_config(op, space, q, r);
    if (req->task_queue->kind != TASK_QUEUE_KIND_STICKY)
        describe_routes(op, space, r);
    if (arena_failed(op->call->arena)) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op_reply_durable(op, &r->base, (struct str){NULL, 0});
}

/* Other servers divide a queue into partitions, and clients ask for each by name, as in /_sys/NAME/3. Here a
 * queue is in one piece, and the others are empty. */
static bool names_partition(const Ws__DescribeTaskQueueRequest *req) {
    static const char digits[] = "0123456789";
    const char *name = req->task_queue ? req->task_queue->name : "";
    if (req->api_mode != DESCRIBE_TASK_QUEUE_MODE_UNSPECIFIED ||
        !str_starts(str_of(name), STR(RESERVED_QUEUE_PREFIX)))
        return false;
    const char *base = name + strlen(RESERVED_QUEUE_PREFIX), *number = strrchr(base, '/');
    return number && number > base && number[1] && !number[1 + strspn(number + 1, digits)];
}

static int validate_describe(struct op *op) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    bool is_partition = names_partition(req);
    int rc = is_partition ? 0 : validate_task_queue(req->task_queue, &op->err);
    if (is_partition && req->report_stats)
        rc = err_set(&op->err, ERR_INVALID,
                     "DescribeTaskQueue stats are only supported for the root partition");
    if (rc == 0 && req->report_task_reachability && req->versions &&
        req->versions->n_build_ids > ENGINE_REACHED_BUILDS)
        rc = err_set(&op->err, ERR_INVALID,
                     "Too many build ids queried at once with ReportTaskReachability==true, limit: %d",
                     ENGINE_REACHED_BUILDS);
    if (rc == 0 && req->api_mode == DESCRIBE_TASK_QUEUE_MODE_ENHANCED &&
        req->task_queue->kind == TASK_QUEUE_KIND_STICKY)
        rc = err_set(
            &op->err, ERR_INVALID,
            "Enhanced DescribeTaskQueue is not valid for a sticky queue, use api_mode=UNSPECIFIED or a "
            "normal queue.");
    return rc;
}

void rpc_describe_task_queue(struct op *op) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_describe(op);
    Ws__DescribeTaskQueueResponse *r = arena_new(op->call->arena, Ws__DescribeTaskQueueResponse);
    if (rc == 0 && !r)
        rc = op_out_of_memory(op);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    ws__describe_task_queue_response__init(r);
    if (req->api_mode == DESCRIBE_TASK_QUEUE_MODE_ENHANCED)
        describe_versions(op, space, r);
    else
        describe_queue(op, space, r);
}
