/* Routes: which workers get a task.
 *
 * A run that is pinned gets only workers of its version. All other work goes where the deployments
 * say now: to the current version that serves the queue, or to the one being ramped up, by the place of
 * the workflow id. When a deployment changes, what waits is moved; tasks of pinned runs stay. */
#include "core/version/versioning.h"
#include "engine/runtime/engine_int.h"

/* What the deployments say about a queue */

static bool deployment_serves(const State__Deployment *st, const struct queue *q) {
    E__TaskQueueType type = q->is_activity ? TASK_QUEUE_TYPE_ACTIVITY : TASK_QUEUE_TYPE_WORKFLOW;
    for (size_t i = 0; i < st->n_versions; i++)
        if (deployment_has_queue(st->versions[i], q->name, type))
            return true;
    return false;
}

static bool version_serves(const State__Deployment *st, const char *build_id, const struct queue *q) {
    return !cstr_is_empty(build_id) &&
           deployment_has_queue(deployment_version(st, build_id), q->name,
                                q->is_activity ? TASK_QUEUE_TYPE_ACTIVITY : TASK_QUEUE_TYPE_WORKFLOW);
}

/* Of several deployments the last word counts; but a version that serves the queue comes before "workers
 * without a version", which is what a deployment says before anyone has made a choice. */
static void consider_current(struct route *r, const State__Deployment *st, const struct queue *q) {
    bool is_version = version_serves(st, st->current_build_id, q);
    if (!is_version && !cstr_is_empty(st->current_build_id))
        return;
    bool has_version = !version_is_none(r->current);
    if (is_version == has_version ? st->current_changed_us <= r->current_us : has_version)
        return;
    r->current = is_version ? (struct version){st->name, st->current_build_id} : (struct version){0};
    r->current_revision = st->revision;
    r->current_us = st->current_changed_us;
}

static void consider_ramping(struct route *r, const State__Deployment *st, const struct queue *q) {
    bool is_version = st->is_ramping && version_serves(st, st->ramping_build_id, q);
    if (!is_version && !cstr_is_empty(st->ramping_build_id))
        return;
    bool has_version = !version_is_none(r->ramping);
    if (is_version == has_version ? st->percentage_changed_us <= r->ramping_us : has_version)
        return;
    r->is_ramping = st->is_ramping;
    r->ramping = is_version ? (struct version){st->name, st->ramping_build_id} : (struct version){0};
    r->percentage = st->ramping_percentage;
    r->ramping_revision = st->revision;
    r->ramping_us = st->percentage_changed_us;
}

const struct route *queue_route(struct engine *e, struct queue *base) {
    struct deployment *d;
    if (base->route_seq == e->routes_seq)
        return &base->route;
    base->route = (struct route){0};
    base->route_seq = e->routes_seq;
    for (size_t i = 0; base->space->deployment_count && (d = map_next(&e->deployments, &i));) {
        if (d->space != base->space || !deployment_serves(d->st, base))
            continue;
        consider_current(&base->route, d->st, base);
        consider_ramping(&base->route, d->st, base);
    }
    return &base->route;
}

struct version route_target(const struct route *r, double place, bool wants_ramp, int64_t *ret_revision) {
    bool is_ramp = r->percentage > 0 && place < (double)r->percentage;
    if (wants_ramp && !version_is_none(r->ramping))
        is_ramp = true;
    *ret_revision = is_ramp ? r->ramping_revision : r->current_revision;
    return is_ramp ? r->ramping : r->current;
}

/* One task */

static struct version target_of(struct engine *e, struct queue *base, const State__Execution *st,
                                int64_t *ret_revision) {
    if (!base->space->deployment_count) {
        *ret_revision = 0;
        return (struct version){0};
    }
    return route_target(queue_route(e, base), version_ramp_place(st->workflow_id), versioning_wants_ramp(st),
                        ret_revision);
}

struct version route_of_run(struct engine *e, const struct run *run, int64_t *ret_revision) {
    const State__Execution *st = run->body->st;
    struct queue *base =
        run->space->deployment_count ? queue_get(e, run->space, false, st->task_queue) : NULL;
    *ret_revision = 0;
    return base ? target_of(e, base, st, ret_revision) : (struct version){0};
}

bool route_keeps_sticky(struct engine *e, const struct run *run) {
    int64_t revision;
    const State__Execution *st = run->body->st;
    return versioning_is_pinned(st) || version_eq(route_of_run(e, run, &revision), versioning_version(st));
}

bool route_is_blind(struct engine *e, const struct run *run) {
    const State__Execution *st = run->body->st;
    struct version v = versioning_version(st);
    const struct deployment *d =
        versioning_is_pinned(st) ? deployment_find(e, run->space, v.deployment) : NULL;
    const State__DeploymentVersion *found = d ? deployment_version(d->st, v.build_id) : NULL;
    return found && found->status == WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED &&
           !deployment_has_pollers(e, run->space, v.deployment, found);
}

/* An activity of a pinned run whose queue the version does not serve has workers of its own. */
static bool is_bound(struct engine *e, const struct run *run, const struct queue *base) {
    struct version v = versioning_version(run->body->st);
    if (!versioning_is_pinned(run->body->st))
        return false;
    const struct deployment *d = base->is_activity ? deployment_find(e, run->space, v.deployment) : NULL;
    return !base->is_activity || (d && version_serves(d->st, v.build_id, base));
}

struct queue *route_task(struct engine *e, const struct run *run, bool is_activity, const char *name,
                         struct task *t) {
    const State__Execution *st = run->body->st;
    struct queue *base = queue_get(e, run->space, is_activity, name);
    int64_t revision;
    if (!base)
        return NULL;
    t->is_bound = is_bound(e, run, base);
    if (t->is_bound)
        return queue_get_version(e, base, versioning_version(st));
    t->is_routed = true;
    t->ramp_place = version_ramp_place(st->workflow_id);
    t->wants_ramp = !is_activity && versioning_wants_ramp(st);
    return queue_get_version(e, base, target_of(e, base, st, &revision));
}

/* After a change */

void routes_changed(struct engine *e) {
    e->routes_seq++;
    e->has_new_routes = true;
    drainage_expect(e);
}

bool route_fits(struct engine *e, const struct queue *q, const struct task *t) {
    int64_t revision;
    return !t->is_routed ||
           version_eq(route_target(queue_route(e, q->base), t->ramp_place, t->wants_ramp, &revision),
                      q->version);
}

/* Without memory for the queue the task would wait for workers that do not come: the process ends and
 * recovery offers it again. */
void route_move(struct engine *e, const struct queue *q, struct task *t) {
    int64_t revision;
    struct version v = route_target(queue_route(e, q->base), t->ramp_place, t->wants_ramp, &revision);
    struct queue *to = queue_get_version(e, q->base, v);
    ensure(to);
    if (t->query)
        t->query->queue = to;
    queue_add(e, to, t);
}

static void move_misplaced(struct engine *e, struct queue *q) {
    struct list found;
    list_init(&found);
    for (int p = 0; p < QUEUE_PRIORITIES; p++) {
        list_for_safe(&q->lanes[p].tasks, n) {
            struct task *t = container_of(n, struct task, link);
            if (route_fits(e, q, t))
                continue;
            queue_take_out(q, t);
            list_append(&found, &t->link);
        }
    }
    for (struct list *n; (n = list_pop(&found));)
        route_move(e, q, container_of(n, struct task, link));
    backlog_sift(e, q);
}

/* A move may make a queue, for which the map may close its holes: a walk over it would pass by others. */
void routes_settle(struct engine *e) {
    struct list unsettled;
    struct queue *q;
    if (!e->has_new_routes)
        return;
    e->has_new_routes = false;
    list_init(&unsettled);
    for (size_t i = 0; (q = map_next(&e->queues, &i));)
        if (q->task_count)
            list_append(&unsettled, &q->unsettled);
    for (struct list *n; (n = list_pop(&unsettled));)
        move_misplaced(e, container_of(n, struct queue, unsettled));
}
