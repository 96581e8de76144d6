/* Task queues: tasks that wait for a worker, or workers that wait for a task;
 * never both. They are rebuilt from the runs at start. What is more than memory
 * should hold waits in the store (backlog.c).
 *
 * An entry is a hint. Whether the task still exists is decided when a worker
 * takes it, by the step on its run; stale entries are dropped then. */
#include "base/mem.h"
#include "core/activity/activity.h"
#include "core/run/pause.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"

#define KEY_BYTES_MAX 4096 /* three names and what is between them */

/* finding */

/* On the stack: whether a queue is there must not depend on memory that may be short. */
struct queue_key {
    size_t len;
    bool is_whole;
    uint8_t bytes[KEY_BYTES_MAX];
};

static void key_add(struct queue_key *k, const void *p, size_t n) {
    k->is_whole = k->is_whole && n <= sizeof(k->bytes) - k->len;
    if (!k->is_whole)
        return;
    memcpy(k->bytes + k->len, p, n);
    k->len += n;
}

static void queue_key(struct queue_key *k, const struct space *space, bool is_activity, const char *name) {
    k->len = 0;
    k->is_whole = true;
    key_add(k, space->id.b, sizeof(space->id));
    key_add(k, is_activity ? "a" : "w", 1);
    key_add(k, name, strlen(name));
}

/* Behind the key of its base, each text as a C string. */
static void version_key(struct queue_key *k, const struct queue *base, struct version v) {
    k->len = 0;
    k->is_whole = true;
    key_add(k, base->key.p, base->key.n);
    key_add(k, "", 1);
    key_add(k, v.deployment, strlen(v.deployment) + 1);
    key_add(k, v.build_id, strlen(v.build_id));
}

static struct queue *find_key(struct engine *e, const struct queue_key *k) {
    return k->is_whole ? map_get(&e->queues, str_bytes(k->bytes, k->len)) : NULL;
}

struct queue *queue_find(struct engine *e, struct space *space, bool is_activity, const char *name) {
    struct queue_key key;
    queue_key(&key, space, is_activity, name);
    return find_key(e, &key);
}

struct queue *queue_find_version(struct engine *e, const struct queue *base, struct version v) {
    struct queue_key key;
    version_key(&key, base, v);
    return find_key(e, &key);
}

static struct task *lane_take(struct queue *q, struct lane *l, struct list *n) {
    list_remove(n);
    struct task *t = container_of(n, struct task, link);
    l->count--;
    l->routed_count -= t->is_routed;
    q->task_count--;
    return t;
}

/* The first one, or the first whose fairness key has not had its share. */
static struct task *lane_pop(struct engine *e, struct queue *q, struct lane *l) {
    bool has_keys = limits_have_keys(q->base);
    list_for(&l->tasks, n) {
        int64_t ready_us =
            has_keys ? limits_ready_us(q->base, container_of(n, struct task, link)) : INT64_MIN;
        if (ready_us <= e->now.mono.us)
            return lane_take(q, l, n);
        q->held_until_us = MIN(q->held_until_us, ready_us);
    }
    return NULL;
}

/* A lane whose first tasks are on their way from the store holds back those of lower priority. */
static struct task *pop_first(struct engine *e, struct queue *q) {
    q->held_until_us = CLOCK_NEVER;
    for (int p = 0; p < QUEUE_PRIORITIES; p++) {
        struct lane *l = &q->lanes[p];
        if (!l->count && backlog_count(q, p))
            backlog_fill(e, q);
        struct task *t = lane_pop(e, q, l);
        if (t)
            backlog_fill(e, q);
        if (t || (!l->count && backlog_count(q, p)))
            return t;
    }
    return NULL;
}

static void visitor_done(struct visitor *v) {
    mem_free(v->identity);
    pb_free(v->capabilities);
    pb_free(v->options);
}

void queue_free(struct queue *q) {
    for (int p = 0; p < QUEUE_PRIORITIES; p++)
        while (q->lanes[p].count)
            task_free(lane_take(q, &q->lanes[p], q->lanes[p].tasks.next));
    backlog_drop(q);
    limits_free(q);
    list_remove(&q->used);
    for (int p = 0; p < QUEUE_PRIORITIES; p++)
        mem_free(q->lanes[p].pace);
    for (size_t i = 0; i < q->visitor_count; i++)
        visitor_done(&q->visitors[i]);
    mem_free(q->visitors);
    mem_free((void *)(uintptr_t)q->key.p);
    mem_free(q);
}

void queues_end_polls(struct engine *e, const struct space *space) {
    struct queue *q;
    for (size_t i = 0; (q = map_next(&e->queues, &i));) {
        if (q->space != space)
            continue;
        for (struct list *n; (n = list_pop(&q->pollers));) {
            struct op *op = container_of(n, struct op, link);
            op->expire(op);
        }
    }
}

void queues_forget(struct engine *e, const struct space *space) {
    struct queue *q;
    queues_end_polls(e, space);
    for (size_t i = 0; (q = map_next(&e->queues, &i));) {
        if (q->space != space)
            continue;
        map_remove(&e->queues, q->key);
        heap_remove(&e->passes, &q->pass);
        backlog_clear(q);
        queue_free(q);
    }
}

/* Finds the queue with this key, or makes it. */
static struct queue *queue_get_key(struct engine *e, struct space *space, bool is_activity,
                                   struct queue_key *key) {
    struct queue *q = find_key(e, key);
    if (q)
        return q;
    key_add(key, "", 1); /* the text at its end is also a C string */
    uint8_t *bytes = key->is_whole ? mem_dup(key->bytes, key->len) : NULL;
    q = bytes ? mem_zalloc(sizeof(*q)) : NULL;
    if (!q) {
        mem_free(bytes);
        return NULL;
    }
    q->key = str_bytes(bytes, key->len - 1);
    q->name = (char *)bytes + sizeof(space->id) + 1;
    q->space = space;
    q->is_activity = is_activity;
    q->last_poll_us = INT64_MIN;
    for (int p = 0; p < QUEUE_PRIORITIES; p++)
        list_init(&q->lanes[p].tasks);
    list_init(&q->pollers);
    list_init(&q->versions);
    q->base = q;
    q->last_add_us = INT64_MIN;
    q->held_until_us = CLOCK_NEVER;
    if (map_put(&e->queues, q->key, q) < 0) {
        queue_free(q);
        return NULL;
    }
    limits_apply(e, q);
    queue_use(e, q);
    return q;
}

struct queue *queue_get(struct engine *e, struct space *space, bool is_activity, const char *name) {
    struct queue_key key;
    queue_key(&key, space, is_activity, name);
    return queue_get_key(e, space, is_activity, &key);
}

struct queue *queue_get_version(struct engine *e, struct queue *base, struct version v) {
    struct queue_key key;
    if (version_is_none(v))
        return base;
    version_key(&key, base, v);
    struct queue *q = queue_get_key(e, base->space, base->is_activity, &key);
    if (q && q->base == q) {
        q->base = base;
        limits_free(q); /* those of the base count */
        q->version.deployment = q->name + strlen(q->name) + 1;
        q->version.build_id = q->version.deployment + strlen(q->version.deployment) + 1;
        list_append(&base->versions, &q->version_link);
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

static int lane_of(const struct task *t) {
    int p = t->priority >= 1 && t->priority <= QUEUE_PRIORITIES ? t->priority : QUEUE_PRIORITY_DEFAULT;
    return p - 1;
}

void queue_take_out(struct queue *q, struct task *t) {
    if (!list_linked(&t->link))
        return;
    struct lane *l = &q->lanes[lane_of(t)];
    l->count--;
    l->routed_count -= t->is_routed;
    q->task_count--;
    list_remove(&t->link);
}

void queue_extend(struct queue *q, int lane, struct task *t) {
    list_append(&q->lanes[lane].tasks, &t->link);
    q->lanes[lane].count++;
}

/* Rates */

static void hand_out(struct engine *e, struct queue *q);

/* What an operator set comes before what workers ask for, and is for all versions together. */
double queue_rate(const struct queue *q, E__RateLimitSource *ret_source) {
    double set = limits_rate(q->base);
    *ret_source = set >= 0      ? RATE_LIMIT_SOURCE_API
                  : q->rate > 0 ? RATE_LIMIT_SOURCE_WORKER
                                : RATE_LIMIT_SOURCE_SYSTEM;
    return set >= 0 ? set : q->rate > 0 ? q->rate : -1;
}

static int64_t *next_pass(struct queue *q) {
    return limits_rate(q->base) >= 0 ? limits_next_pass(q->base) : &q->next_pass_us;
}

static int64_t interval_us(double rate) {
    return rate > 0 ? (int64_t)MIN((double)USEC_PER_SEC / rate, (double)INT64_MAX / 4) : INT64_MAX / 4;
}

static bool may_pass(const struct engine *e, struct queue *q) {
    E__RateLimitSource source;
    double rate = queue_rate(q, &source);
    return rate < 0 || (rate > 0 && e->now.mono.us >= *next_pass(q));
}

/* Called when a task is handed out: the next one waits its share of a second. */
static void count_pass(struct engine *e, struct queue *q, const struct task *t) {
    E__RateLimitSource source;
    double rate = queue_rate(q, &source);
    if (rate > 0)
        *next_pass(q) = MAX(*next_pass(q), e->now.mono.us) + interval_us(rate);
    if (limits_have_keys(q->base))
        limits_count(e, q->base, t);
    pace_count_taken(&q->lanes[lane_of(t)].pace, e->now.mono.us);
}

/* A rate of 0 lets nothing pass until it is changed. */
void queue_watch_rate(struct engine *e, struct queue *q) {
    E__RateLimitSource source;
    if (!q->task_count || list_empty(&q->pollers) || heap_has(&q->pass) || queue_rate(q, &source) == 0)
        return;
    int64_t at = may_pass(e, q) ? q->held_until_us : *next_pass(q);
    if (at > e->now.mono.us && at != CLOCK_NEVER)
        ensure(heap_add(&e->passes, &q->pass, at) == 0);
}

static void recount_one(struct engine *e, struct queue *q) {
    E__RateLimitSource source;
    double rate = queue_rate(q, &source);
    heap_remove(&e->passes, &q->pass);
    if (rate > 0) /* what a slower rate put off is not waited for any more */
        *next_pass(q) = MIN(*next_pass(q), usec_add(e->now.mono.us, interval_us(rate)));
    hand_out(e, q);
}

void queue_recount(struct engine *e, struct queue *base) {
    recount_one(e, base);
    list_for(&base->versions, n) recount_one(e, container_of(n, struct queue, version_link));
}

struct task *queue_pop(struct engine *e, struct queue *q) {
    if (!q->task_count || !may_pass(e, q))
        return NULL;
    struct task *t = pop_first(e, q);
    if (t)
        count_pass(e, q, t);
    return t;
}

static void hand_out(struct engine *e, struct queue *q) {
    while (!list_empty(&q->pollers)) {
        struct task *t = queue_pop(e, q);
        if (!t)
            break;
        poll_dispatch(container_of(list_pop(&q->pollers), struct op, link), t);
    }
    queue_watch_rate(e, q);
}

void queues_advance(struct engine *e) {
    for (struct heap_node *n; (n = heap_top(&e->passes)) && n->key <= e->now.mono.us;) {
        heap_remove(&e->passes, n);
        hand_out(e, container_of(n, struct queue, pass));
    }
}

int64_t queues_next_pass_us(const struct engine *e) {
    const struct heap_node *n = heap_top(&e->passes);
    return n ? n->key : CLOCK_NEVER;
}

/* At the start tasks come in the order of their runs, but wait in the order in which they began to. */
static void queue_restore(struct queue *q, int lane, struct task *t) {
    struct list *tasks = &q->lanes[lane].tasks, *behind = tasks;
    while (behind->prev != tasks && container_of(behind->prev, struct task, link)->added_us > t->added_us)
        behind = behind->prev;
    list_append(behind, &t->link); /* before that one */
    q->lanes[lane].count++;
}

void queue_add(struct engine *e, struct queue *q, struct task *t) {
    int lane = lane_of(t);
    q->last_add_us = e->now.mono.us;
    t->added_us = q->last_add_us - t->waited_us;
    queue_use(e, q);
    q->task_count++;
    q->lanes[lane].routed_count += t->is_routed;
    pace_count_added(&q->lanes[lane].pace, e->now.mono.us);
    /* A query has someone who waits for it in memory. */
    if (t->kind != TASK_QUERY && (q->lanes[lane].count >= e->queue_tasks_max || backlog_count(q, lane)))
        backlog_add(e, q, lane, t);
    else if (e->is_ready)
        queue_extend(q, lane, t);
    else
        queue_restore(q, lane, t);
    hand_out(e, q);
}

void queue_put_back(struct engine *e, struct queue *q, struct task *t) {
    struct lane *l = &q->lanes[lane_of(t)];
    list_prepend(&l->tasks, &t->link);
    l->count++;
    l->routed_count += t->is_routed;
    q->task_count++;
    hand_out(e, q);
}

void queue_resume(struct engine *e, struct queue *q) {
    if (q->is_shut)
        queue_shut(e, q);
    else
        hand_out(e, q);
}

/* Who polls */

static struct visitor *visitor_of(struct queue *q, const char *identity) {
    struct visitor *oldest = NULL;
    for (size_t i = 0; i < q->visitor_count; i++) {
        if (cstr_eq(q->visitors[i].identity, identity))
            return &q->visitors[i];
        if (!oldest || q->visitors[i].last_us < oldest->last_us)
            oldest = &q->visitors[i];
    }
    char *copy = mem_strdup(identity);
    if (!copy)
        return NULL;
    if (q->visitor_count == ENGINE_QUEUE_VISITORS) {
        visitor_done(oldest);
        *oldest = (struct visitor){.identity = copy};
        return oldest;
    }
    struct visitor *bigger = mem_resize(q->visitors, (q->visitor_count + 1) * sizeof(*bigger));
    if (!bigger) {
        mem_free(copy);
        return NULL;
    }
    q->visitors = bigger;
    bigger[q->visitor_count] = (struct visitor){.identity = copy};
    return &bigger[q->visitor_count++];
}

static bool same_capabilities(const Common__WorkerVersionCapabilities *a,
                              const Common__WorkerVersionCapabilities *b) {
    return cstr_eq(a->build_id, b->build_id) && a->use_versioning == b->use_versioning &&
           cstr_eq(a->deployment_series_name, b->deployment_series_name);
}

static bool same_options(const Deployment__WorkerDeploymentOptions *a,
                         const Deployment__WorkerDeploymentOptions *b) {
    return cstr_eq(a->deployment_name, b->deployment_name) && cstr_eq(a->build_id, b->build_id) &&
           a->worker_versioning_mode == b->worker_versioning_mode;
}

/* A worker says the same with each poll. Texts longer than names may be are not kept. */
static void note_build(struct visitor *v, const struct visit *visit) {
    const Common__WorkerVersionCapabilities *c = visit->capabilities;
    const Deployment__WorkerDeploymentOptions *o = visit->options;
    bool failed = false; /* then describe does not know it */
    if (c && (strlen(c->build_id) > LIMIT_ID_BYTES || strlen(c->deployment_series_name) > LIMIT_ID_BYTES))
        c = NULL;
    if (o && (strlen(o->build_id) > LIMIT_ID_BYTES || strlen(o->deployment_name) > LIMIT_ID_BYTES))
        o = NULL;
    if (!c != !v->capabilities || (c && !same_capabilities(c, v->capabilities))) {
        pb_free(v->capabilities);
        v->capabilities = c ? pb_clone(&c->base, &failed) : NULL;
    }
    if (!o != !v->options || (o && !same_options(o, v->options))) {
        pb_free(v->options);
        v->options = o ? pb_clone(&o->base, &failed) : NULL;
    }
}

/* Without memory the visitor is not remembered, and only describe misses it. */
void queue_visit(struct engine *e, struct queue *q, const struct visit *visit) {
    struct visitor *v = visitor_of(q, visit->identity);
    q->last_poll_us = e->now.mono.us;
    queue_use(e, q);
    q->is_shut = false;
    q->rate = visit->rate; /* the last word counts */
    if (!v)
        return;
    v->last_us = e->now.wall.us;
    if (!v->first_us)
        v->first_us = v->last_us;
    v->rate = visit->rate;
    note_build(v, visit);
}

void queue_say_goodbye(struct queue *q, const char *identity) {
    for (size_t i = 0; i < q->visitor_count; i++) {
        if (!cstr_eq(q->visitors[i].identity, identity))
            continue;
        visitor_done(&q->visitors[i]);
        q->visitors[i] = q->visitors[--q->visitor_count];
        return;
    }
}

bool queue_has_visitor(const struct engine *e, const struct queue *q) {
    if (!list_empty(&q->pollers))
        return true;
    for (size_t i = 0; i < q->visitor_count; i++)
        if (e->now.wall.us - q->visitors[i].last_us < ENGINE_VISITOR_MS * USEC_PER_MS)
            return true;
    return false;
}

/* An activity's own priority, or that of its workflow. */
static int priority_of(const Common__Priority *run, const Common__Priority *own) {
    if (own && own->priority_key > 0)
        return own->priority_key;
    return run && run->priority_key > 0 ? run->priority_key : QUEUE_PRIORITY_DEFAULT;
}

static void set_fairness(struct task *t, const Common__Priority *run, const Common__Priority *own) {
    const Common__Priority *by_key = own && !cstr_is_empty(own->fairness_key) ? own : run;
    const Common__Priority *by_weight = own && own->fairness_weight > 0 ? own : run;
    t->fairness = fairness_number(by_key ? by_key->fairness_key : "");
    t->weight = by_weight ? by_weight->fairness_weight : 0;
}

/* Without memory for the entry the task would be forgotten while its worker waits: the process ends
 * and recovery offers it again. */
static struct task *task_new(struct run *run, bool is_activity, int64_t event_id, int32_t stamp,
                             int priority) {
    struct task *t = mem_zalloc(sizeof(*t));
    ensure(t);
    t->kind = is_activity ? TASK_ACTIVITY : TASK_WORKFLOW;
    t->space = run->space;
    t->run_id = run->key.run_id;
    t->event_id = event_id;
    t->stamp = stamp;
    t->priority = priority;
    return t;
}

static void queue_unstick_step(struct step *s, void *arg unused_arg) {
    task_unstick(s);
}

/* How long a task has waited that an earlier process had; 0 when it is new. */
static int64_t waited_before_us(const struct engine *e, int64_t scheduled_us) {
    return e->is_ready ? 0 : MAX(e->now.wall.us - scheduled_us, 0);
}

void offer_workflow_task(struct engine *e, struct run *run) {
    const State__Execution *st = run->body->st;
    if (!st->task || st->task->started_event_id || run_is_paused(st))
        return;
    struct queue *sticky = st->task->is_sticky ? queue_find(e, run->space, false, st->sticky_queue) : NULL;
    if (!st->task->is_sticky || (queue_has_worker(e, sticky) && route_keeps_sticky(e, run))) {
        struct task *t =
            task_new(run, false, st->task->scheduled_event_id, 0, priority_of(st->priority, NULL));
        struct queue *q = sticky ? sticky : route_task(e, run, false, st->task_queue, t);
        ensure(q);
        t->waited_us = waited_before_us(e, st->task->scheduled_us);
        queue_add(e, q, t);
        return;
    }
    run_quiet_step(e, run, queue_unstick_step, NULL); /* its effect comes back here for the normal queue */
}

void offer_activity_task(struct engine *e, struct run *run, int64_t event_id) {
    const State__Activity *a = activity_find(run->body->st, event_id);
    if (!a || !a->is_offered || a->started_us || run_is_paused(run->body->st))
        return;
    struct task *t =
        task_new(run, true, event_id, a->stamp, priority_of(run->body->st->priority, a->priority));
    set_fairness(t, run->body->st->priority, a->priority);
    struct queue *q = route_task(e, run, true, a->task_queue, t);
    ensure(q);
    t->waited_us = waited_before_us(e, a->scheduled_us);
    queue_add(e, q, t);
}

void offer_tasks(struct engine *e, struct run *run) {
    const State__Execution *st = run->body->st;
    if (st->batch && run_is_open(st))
        batch_begin(e, run);
    offer_workflow_task(e, run);
    for (size_t i = 0; i < st->n_activities; i++)
        offer_activity_task(e, run, st->activities[i]->scheduled_event_id);
}

bool has_messages(const State__Execution *st) {
    for (size_t i = 0; i < st->n_callbacks; i++)
        if (st->callbacks[i]->state == CALLBACK_STATE_SCHEDULED)
            return true;
    return st->n_outbox > 0;
}

/* A letter that is delivered at once leaves the outbox, so the list is not read while letters go. */
void offer_messages(struct engine *e, struct run *run, struct arena *a) {
    const State__Execution *st = run->body->st;
    size_t n = st->n_outbox, callbacks = 0;
    int64_t *letters = arena_array(a, int64_t, n), *sends = arena_array(a, int64_t, st->n_callbacks);
    ensure((letters || !n) && (sends || !st->n_callbacks)); /* what is passed by waits for the next start */
    for (size_t i = 0; i < n; i++)
        letters[i] = st->outbox[i]->id;
    for (size_t i = 0; i < st->n_callbacks; i++)
        if (st->callbacks[i]->state == CALLBACK_STATE_SCHEDULED)
            sends[callbacks++] = (int64_t)i;
    for (size_t i = 0; i < callbacks; i++)
        callback_begin(e, &run->key, sends[i]);
    for (size_t i = 0; i < n; i++)
        letter_begin(e, &run->key, letters[i]);
}
