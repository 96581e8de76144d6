/* Figures of task queues: how much waits, since when, and how fast tasks come and go.
 *
 * A task that is bound to no version waits in the queue of the version that gets it now. As of other
 * servers, the figures of a version have its own tasks and its share of all unbound ones: what the ramp
 * leaves of them for the current version, the ramp for the ramping one, both rounded up. What is left
 * belongs to workers without a version. Rates are those of each queue by itself. */
#include "engine/match/queue_describe.h"
#include "engine/workflow/response.h"

/* Sums; ages are those of the oldest. */
struct figures {
    int64_t count;
    int64_t age_us;
    double add_rate;
    double take_rate;
    bool is_limited;
    bool is_used; /* there was a task lately */
};

static int64_t lane_total(const struct queue *q, int lane) {
    return (int64_t)(q->lanes[lane].count + backlog_count(q, lane));
}

int64_t queue_unbound(const struct queue *base, int lane) {
    int64_t n = lane_total(base, lane);
    list_for(&base->versions, v) n +=
        (int64_t)container_of(v, struct queue, version_link)->lanes[lane].routed_count;
    return n;
}

static int64_t family_age_us(const struct engine *e, struct queue *base, int lane) {
    int64_t age_us = lane_age_us(e, base, lane);
    list_for(&base->versions, v) age_us =
        MAX(age_us, lane_age_us(e, container_of(v, struct queue, version_link), lane));
    return age_us;
}

static void figures_add_lane(const struct engine *e, struct queue *q, int lane, struct figures *sum) {
    struct lane *l = &q->lanes[lane];
    E__RateLimitSource source;
    sum->count += lane_total(q, lane);
    sum->age_us = MAX(sum->age_us, lane_age_us(e, q, lane));
    sum->add_rate += pace_add_rate(l->pace, e->now.mono.us);
    sum->take_rate += pace_take_rate(l->pace, e->now.mono.us);
    sum->is_limited |= queue_rate(q, &source) >= 0;
    sum->is_used |= l->pace || lane_total(q, lane);
}

static int64_t percent_up(int64_t count, double percentage) {
    double part = (double)count * percentage / 100;
    return (int64_t)part + ((double)(int64_t)part < part);
}

/* Of `unbound` tasks those that the version gets. */
static int64_t share_of_version(const struct route *r, struct version v, int64_t unbound) {
    bool has_current = !version_is_none(r->current);
    double ramp = r->is_ramping ? (double)r->percentage : 0;
    int64_t current = percent_up(unbound, 100 - ramp);
    int64_t ramping = percent_up(unbound, ramp);
    if (version_is_none(v)) {
        int64_t given = (has_current ? current : 0) + (version_is_none(r->ramping) ? 0 : ramping);
        return MAX(unbound - given, 0);
    }
    if (has_current && version_eq(v, r->current))
        return current;
    return version_eq(v, r->ramping) ? ramping : 0;
}

/* Puts the share in the place of the unbound tasks that wait in this very queue. */
static void figures_add_share(struct engine *e, struct queue *base, struct version v, int lane,
                              struct figures *sum) {
    struct queue *own = version_is_none(v) ? base : queue_find_version(e, base, v);
    int64_t bound = 0;
    struct figures f = {0};
    if (own)
        figures_add_lane(e, own, lane, &f);
    if (own && own != base)
        bound = f.count - (int64_t)own->lanes[lane].routed_count;
    f.count = bound + share_of_version(queue_route(e, base), v, queue_unbound(base, lane));
    f.age_us = !f.count ? 0 : f.count > bound ? family_age_us(e, base, lane) : f.age_us;
    sum->count += f.count;
    sum->age_us = MAX(sum->age_us, f.age_us);
    sum->add_rate += f.add_rate;
    sum->take_rate += f.take_rate;
    sum->is_limited |= f.is_limited;
    sum->is_used |= f.is_used || f.count;
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

static Taskqueue__TaskQueueStats *show_priority(const struct op *op, const struct figures *f, int priority) {
    bool is_shown = !priority || f->is_used || priority == QUEUE_PRIORITY_DEFAULT;
    return is_shown ? show_figures(op->call->arena, f) : NULL;
}

Taskqueue__TaskQueueStats *stats_of_family(const struct op *op, struct queue *base, int priority) {
    struct figures sum = {0};
    for (int lane = 0; base && lane < QUEUE_PRIORITIES; lane++) {
        if (priority && lane + 1 != priority)
            continue;
        figures_add_lane(op->e, base, lane, &sum);
        list_for(&base->versions, n)
            figures_add_lane(op->e, container_of(n, struct queue, version_link), lane, &sum);
    }
    return show_priority(op, &sum, priority);
}

Taskqueue__TaskQueueStats *stats_of_version(const struct op *op, struct queue *base, struct version v,
                                            int priority) {
    struct figures sum = {0};
    for (int lane = 0; base && lane < QUEUE_PRIORITIES; lane++)
        if (!priority || lane + 1 == priority)
            figures_add_share(op->e, base, v, lane, &sum);
    return show_priority(op, &sum, priority);
}
