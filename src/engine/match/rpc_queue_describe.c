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

static double rate_of(const struct queue *q) {
    E__RateLimitSource source;
    return queue_rate(q, &source);
}

/* Sums; ages are those of the oldest. */
struct figures {
    int64_t count;
    int64_t age_us;
    double add_rate;
    double take_rate;
    bool is_limited;
    bool is_used; /* there was a task lately */
};

static void add_lane(const struct engine *e, struct queue *q, int lane, struct figures *sum) {
    struct lane *l = &q->lanes[lane];
    sum->count += (int64_t)(l->count + backlog_count(q, lane));
    sum->age_us = MAX(sum->age_us, lane_age_us(e, q, lane));
    sum->add_rate += pace_add_rate(l->pace, e->now.mono.us);
    sum->take_rate += pace_take_rate(l->pace, e->now.mono.us);
    sum->is_limited |= rate_of(q) >= 0;
    sum->is_used |= l->pace || l->count || backlog_count(q, lane);
}

static void add_lane_of_all(const struct engine *e, struct queue *base, int lane, struct figures *sum) {
    add_lane(e, base, lane, sum);
    list_for(&base->versions, n) add_lane(e, container_of(n, struct queue, version_link), lane, sum);
}

static Taskqueue__TaskQueueStats *show_figures(struct arena *a, const struct figures *f) {
    Taskqueue__TaskQueueStats *stats = arena_new(a, Taskqueue__TaskQueueStats);
    if (!stats)
        return NULL;
    taskqueue__task_queue_stats__init(stats);
    stats->approximate_backlog_count = f->count;
    stats->approximate_backlog_age = response_duration(a, f->age_us);
    stats->tasks_add_rate = (float)f->add_rate;
    stats->tasks_dispatch_rate = (float)f->take_rate;
    stats->rate_limiting_active = f->is_limited;
    return stats;
}

Taskqueue__TaskQueueStats *queue_stats(const struct op *op, struct queue *q) {
    struct figures sum = {0};
    for (int p = 0; q && p < QUEUE_PRIORITIES; p++)
        add_lane(op->e, q, p, &sum);
    return show_figures(op->call->arena, &sum);
}

Taskqueue__TaskQueueStats *queue_lane_stats(const struct op *op, struct queue *q, int priority) {
    struct figures sum = {0};
    if (q)
        add_lane(op->e, q, priority - 1, &sum);
    return sum.is_used || priority == QUEUE_PRIORITY_DEFAULT ? show_figures(op->call->arena, &sum) : NULL;
}

/* The queue and those of all versions beside it. */
static void describe_backlog(struct op *op, struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    struct arena *a = op->call->arena;
    struct figures sum = {0};
    Taskqueue__TaskQueueStatus *status = arena_new(a, Taskqueue__TaskQueueStatus);
    if (!status)
        return;
    taskqueue__task_queue_status__init(status);
    for (int p = 0; q && p < QUEUE_PRIORITIES; p++)
        add_lane_of_all(op->e, q, p, &sum);
    if (q) {
        status->rate_per_second = MAX(rate_of(q), 0);
        list_for(&q->versions, n) status->rate_per_second =
            MAX(status->rate_per_second, rate_of(container_of(n, struct queue, version_link)));
    }
    status->backlog_count_hint = sum.count;
    r->stats = show_figures(a, &sum);
    r->task_queue_status = status;
}

/* One line for each priority that had tasks lately, and one for the usual priority in any case. */
static void describe_priorities(struct op *op, struct queue *q, Ws__DescribeTaskQueueResponse *r) {
    typedef Ws__DescribeTaskQueueResponse__StatsByPriorityKeyEntry Entry;
    struct arena *a = op->call->arena;
    r->stats_by_priority_key = arena_array(a, Entry *, QUEUE_PRIORITIES);
    for (int p = 0; r->stats_by_priority_key && p < QUEUE_PRIORITIES; p++) {
        struct figures sum = {0};
        if (q)
            add_lane_of_all(op->e, q, p, &sum);
        if (!sum.is_used && p + 1 != QUEUE_PRIORITY_DEFAULT)
            continue;
        Entry *entry = arena_new(a, Entry);
        if (!entry)
            return;
        ws__describe_task_queue_response__stats_by_priority_key_entry__init(entry);
        entry->key = p + 1;
        entry->value = show_figures(a, &sum);
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

/* The call */

static void describe_queue(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r) {
    const Ws__DescribeTaskQueueRequest *req = op->req;
    struct queue *q = described_queue(op, space, req->task_queue_type, req->task_queue->name);
    if (q)
        describe_pollers(op, q, r);
    describe_backlog(op, q, r);
    if (req->report_stats)
        describe_priorities(op, q, r);
    describe_config(op, space, q, r);
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
    int rc = names_partition(req) ? 0 : validate_task_queue(req->task_queue, &op->err);
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

static void go_describe(struct op *op) {
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

void engine_describe_task_queue(struct engine *e, struct call *c, const Ws__DescribeTaskQueueRequest *req) {
    struct op *op = op_new(e, c, req, go_describe);
    if (op)
        op_start(op);
}
