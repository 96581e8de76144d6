/* Limits that an operator set for a task queue: its rate, and the rate of each fairness key.
 *
 * They are part of the namespace's state. A queue in memory has a copy of what concerns it, made when the
 * queue is made and when the settings change. A key's rate is the default times the weight of the
 * key: the one that was set for it, or else the one that the task brings. Keys are known by a number made
 * from their text; two that share one would share a rate, too. */
#include "base/mem.h"
#include "engine/runtime/engine_int.h"

#define WEIGHT_MIN 0.001

struct key_weight {
    uint64_t key;
    float weight;
};

struct key_pass {
    uint64_t key;
    int64_t next_us; /* monotonic; nothing of this key is handed out before */
};

struct queue_limits {
    double rate; /* negative: not set */
    int64_t next_pass_us;
    double key_rate; /* of each fairness key; negative: not set */
    struct map passes; /* struct key_pass, by its key: those that had a task lately */
    struct key_weight *weights;
    size_t weight_count;
};

/* FNV-1a */
uint64_t fairness_number(const char *key) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *key; key++)
        h = (h ^ (uint8_t)*key) * UINT64_C(0x100000001b3);
    return h;
}

const Taskqueue__TaskQueueConfig *queue_config(const struct space *space, E__TaskQueueType type,
                                               const char *name) {
    for (size_t i = 0; i < space->st->n_task_queues; i++) {
        const State__TaskQueueSetting *s = space->st->task_queues[i];
        if (s->type == (int32_t)type && cstr_eq(s->name, name))
            return s->config;
    }
    return NULL;
}

static double rate_set(const Taskqueue__RateLimitConfig *c) {
    return c && c->rate_limit ? (double)c->rate_limit->requests_per_second : -1;
}

static void forget_passes(struct queue_limits *l, int64_t until_us) {
    struct key_pass *k;
    for (size_t i = 0; (k = map_next(&l->passes, &i));) {
        if (k->next_us > until_us)
            continue;
        map_remove(&l->passes, str_bytes(&k->key, sizeof(k->key)));
        mem_free(k);
    }
}

void limits_free(struct queue *base) {
    struct queue_limits *l = take(&base->limits);
    if (!l)
        return;
    forget_passes(l, INT64_MAX);
    map_done(&l->passes);
    mem_free(l->weights);
    mem_free(l);
}

/* Without memory for them the limits would not be kept to: the process ends, and has them when it is back. */
static struct queue_limits *limits_new(struct engine *e, const Taskqueue__TaskQueueConfig *c) {
    struct queue_limits *l = mem_zalloc(sizeof(*l));
    ensure(l);
    l->rate = rate_set(c->queue_rate_limit);
    l->key_rate = rate_set(c->fairness_keys_rate_limit_default);
    map_init(&l->passes, ENGINE_QUEUE_KEYS, rng_u64(&e->rng));
    l->weight_count = c->n_fairness_weight_overrides;
    l->weights = mem_alloc((l->weight_count + 1) * sizeof(*l->weights));
    ensure(l->weights);
    for (size_t i = 0; i < l->weight_count; i++)
        l->weights[i] = (struct key_weight){fairness_number(c->fairness_weight_overrides[i]->key),
                                            c->fairness_weight_overrides[i]->value};
    return l;
}

void limits_apply(struct engine *e, struct queue *base) {
    E__TaskQueueType type = base->is_activity ? TASK_QUEUE_TYPE_ACTIVITY : TASK_QUEUE_TYPE_WORKFLOW;
    const Taskqueue__TaskQueueConfig *c = queue_config(base->space, type, base->name);
    int64_t next_pass_us = base->limits ? base->limits->next_pass_us : INT64_MIN;
    limits_free(base);
    if (!c)
        return;
    base->limits = limits_new(e, c);
    base->limits->next_pass_us = next_pass_us;
}

double limits_rate(const struct queue *base) {
    return base->limits ? base->limits->rate : -1;
}

int64_t *limits_next_pass(struct queue *base) {
    return &base->limits->next_pass_us;
}

bool limits_have_keys(const struct queue *base) {
    return base->limits && base->limits->key_rate >= 0;
}

static struct key_pass *pass_of(const struct queue_limits *l, uint64_t key) {
    return map_get(&l->passes, str_bytes(&key, sizeof(key)));
}

int64_t limits_ready_us(const struct queue *base, const struct task *t) {
    const struct queue_limits *l = base->limits;
    if (l->key_rate == 0)
        return CLOCK_NEVER;
    const struct key_pass *k = pass_of(l, t->fairness);
    return k ? k->next_us : INT64_MIN;
}

static double weight_of(const struct queue_limits *l, const struct task *t) {
    float weight = t->weight;
    for (size_t i = 0; i < l->weight_count; i++)
        if (l->weights[i].key == t->fairness)
            weight = l->weights[i].weight;
    return weight > 0 ? MAX((double)weight, WEIGHT_MIN) : 1;
}

/* Keys whose time has come are like those that were never seen. Above the limit a key goes unwatched. */
void limits_count(struct engine *e, struct queue *base, const struct task *t) {
    struct queue_limits *l = base->limits;
    struct key_pass *k = pass_of(l, t->fairness);
    double interval = (double)USEC_PER_SEC / (l->key_rate * weight_of(l, t));
    if (!k && map_count(&l->passes) == ENGINE_QUEUE_KEYS)
        forget_passes(l, e->now.mono.us);
    if (!k) {
        k = mem_zalloc(sizeof(*k));
        if (!k)
            return;
        k->key = t->fairness;
        if (map_put(&l->passes, str_bytes(&k->key, sizeof(k->key)), k) < 0) {
            mem_free(k);
            return;
        }
    }
    k->next_us = usec_add(MAX(k->next_us, e->now.mono.us), (int64_t)MIN(interval, (double)INT64_MAX / 4));
}
