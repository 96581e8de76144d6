/* UpdateTaskQueueConfig: limits and weights that an operator sets for a task queue. They are part of the
 * namespace's state, are written with it, and count from the answer on. */
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"

typedef Ws__UpdateTaskQueueConfigRequest__RateLimitUpdate RateLimitUpdate;
typedef Ws__UpdateTaskQueueConfigRequest__SetFairnessWeightOverridesEntry WeightSet;
typedef Taskqueue__TaskQueueConfig__FairnessWeightOverridesEntry Weight;

/* what may be asked for */

static int check_text(struct op *op, const char *text, const char *name, int most) {
    if (strlen(text) > (size_t)most)
        return err_set(&op->err, ERR_INVALID, "%s field too long (max %d characters).", name, most);
    return 0;
}

static int check_rate(struct op *op, const RateLimitUpdate *u, E__TaskQueueType type, const char *what,
                      const char *name, const char *reason_name) {
    if (!u || !u->rate_limit)
        return 0;
    if (type == TASK_QUEUE_TYPE_WORKFLOW)
        return err_set(&op->err, ERR_INVALID, "Setting %s on workflow task queues is not allowed.", what);
    if (!(u->rate_limit->requests_per_second >= 0))
        return err_set(&op->err, ERR_INVALID, "RequestsPerSecond for %s rate limit must be non-negative.",
                       name);
    return check_text(op, u->reason, reason_name, ENGINE_QUEUE_REASON_BYTES);
}

static int check_key(struct op *op, const char *key) {
    Common__Priority p = COMMON__PRIORITY__INIT;
    if (cstr_is_empty(key))
        return err_set(&op->err, ERR_INVALID, "fairness weight override key must not be empty");
    p.fairness_key = (char *)(uintptr_t)key;
    return validate_priority(&p, &op->err);
}

static const WeightSet *weight_set(const Ws__UpdateTaskQueueConfigRequest *req, const char *key) {
    for (size_t i = 0; i < req->n_set_fairness_weight_overrides; i++)
        if (cstr_eq(req->set_fairness_weight_overrides[i]->key, key))
            return req->set_fairness_weight_overrides[i];
    return NULL;
}

static bool is_unset(const Ws__UpdateTaskQueueConfigRequest *req, const char *key) {
    for (size_t i = 0; i < req->n_unset_fairness_weight_overrides; i++)
        if (cstr_eq(req->unset_fairness_weight_overrides[i], key))
            return true;
    return false;
}

static int check_weights(struct op *op, const Ws__UpdateTaskQueueConfigRequest *req) {
    size_t total = req->n_set_fairness_weight_overrides + req->n_unset_fairness_weight_overrides;
    int rc = 0;
    if (total > ENGINE_QUEUE_WEIGHTS)
        return err_set(&op->err, ERR_INVALID,
                       "too many fairness weight overrides in request: got %zu, maximum %d", total,
                       ENGINE_QUEUE_WEIGHTS);
    for (size_t i = 0; i < req->n_set_fairness_weight_overrides && rc == 0; i++) {
        const WeightSet *w = req->set_fairness_weight_overrides[i];
        rc = check_key(op, w->key);
        if (rc == 0 && !(w->value > 0))
            rc = err_set(&op->err, ERR_INVALID,
                         "invalid fairness weight for key \"%.64s\": must be greater than zero", w->key);
    }
    for (size_t i = 0; i < req->n_unset_fairness_weight_overrides && rc == 0; i++) {
        const char *key = req->unset_fairness_weight_overrides[i];
        rc = check_key(op, key);
        if (rc == 0 && weight_set(req, key))
            rc = err_set(&op->err, ERR_INVALID,
                         "fairness weight override key \"%.64s\" present in both set and unset lists", key);
    }
    return rc;
}

static int queue_config_check(struct op *op, const Ws__UpdateTaskQueueConfigRequest *req) {
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = req->task_queue;
    int rc = validate_task_queue(&queue, &op->err);
    if (rc == 0 && req->task_queue_type == TASK_QUEUE_TYPE_UNSPECIFIED)
        rc = err_set(&op->err, ERR_INVALID, "TaskQueueType is not set on request.");
    if (rc == 0)
        rc = check_rate(op, req->update_queue_rate_limit, req->task_queue_type, "rate limit",
                        "UpdateQueueRateLimit", "UpdateQueueRateLimit.Reason");
    if (rc == 0)
        rc = check_rate(op, req->update_fairness_key_rate_limit_default, req->task_queue_type,
                        "fairness key rate limit", "UpdateFairnessKeyRateLimitDefault",
                        "UpdateFairnessKeyRateLimitDefault.Reason");
    return rc == 0 ? check_weights(op, req) : rc;
}

/* the new configuration, in the op's arena */

static Taskqueue__RateLimitConfig *limit_of_update(struct op *op, const RateLimitUpdate *u,
                                                   const char *identity) {
    struct arena *a = op->call->arena;
    Taskqueue__RateLimitConfig *c = arena_new(a, Taskqueue__RateLimitConfig);
    Taskqueue__ConfigMetadata *m = arena_new(a, Taskqueue__ConfigMetadata);
    if (!c || !m)
        return NULL;
    taskqueue__rate_limit_config__init(c);
    taskqueue__config_metadata__init(m);
    m->reason = u->reason;
    m->update_identity = (char *)(uintptr_t)identity;
    m->update_time = response_time(a, op->e->now.wall.us);
    c->metadata = m;
    c->rate_limit = u->rate_limit;
    return c;
}

static void add_weight(struct arena *a, Taskqueue__TaskQueueConfig *c, char *key, float value) {
    Weight *w = arena_new(a, Weight);
    if (!w)
        return;
    taskqueue__task_queue_config__fairness_weight_overrides_entry__init(w);
    w->key = key;
    w->value = value;
    c->fairness_weight_overrides[c->n_fairness_weight_overrides++] = w;
}

static int merge_weights(struct op *op, const Ws__UpdateTaskQueueConfigRequest *req,
                         const Taskqueue__TaskQueueConfig *old, Taskqueue__TaskQueueConfig *c) {
    struct arena *a = op->call->arena;
    size_t most = req->n_set_fairness_weight_overrides + (old ? old->n_fairness_weight_overrides : 0);
    c->n_fairness_weight_overrides = 0;
    c->fairness_weight_overrides = arena_array(a, Weight *, most);
    for (size_t i = 0; !arena_failed(a) && old && i < old->n_fairness_weight_overrides; i++) {
        const Weight *w = old->fairness_weight_overrides[i];
        if (!is_unset(req, w->key) && !weight_set(req, w->key))
            add_weight(a, c, w->key, w->value);
    }
    for (size_t i = 0; !arena_failed(a) && i < req->n_set_fairness_weight_overrides; i++)
        add_weight(a, c, req->set_fairness_weight_overrides[i]->key,
                   req->set_fairness_weight_overrides[i]->value);
    if (c->n_fairness_weight_overrides > ENGINE_QUEUE_WEIGHTS)
        return err_set(&op->err, ERR_INVALID,
                       "fairness weight overrides update rejected: exceeding maximum key size");
    return 0;
}

static int queue_config_merge(struct op *op, const Ws__UpdateTaskQueueConfigRequest *req,
                              const Taskqueue__TaskQueueConfig *old, Taskqueue__TaskQueueConfig *c) {
    taskqueue__task_queue_config__init(c);
    if (old)
        *c = *old;
    if (req->update_queue_rate_limit)
        c->queue_rate_limit = limit_of_update(op, req->update_queue_rate_limit, req->identity);
    if (req->update_fairness_key_rate_limit_default)
        c->fairness_keys_rate_limit_default =
            limit_of_update(op, req->update_fairness_key_rate_limit_default, req->identity);
    int rc = merge_weights(op, req, old, c);
    return rc == 0 && arena_failed(op->call->arena) ? op_out_of_memory(op) : rc;
}

/* keeping it */

static size_t setting_index(const State__Namespace *st, E__TaskQueueType type, const char *name) {
    size_t i = 0;
    while (i < st->n_task_queues &&
           (st->task_queues[i]->type != (int32_t)type || !cstr_eq(st->task_queues[i]->name, name)))
        i++;
    return i;
}

static int add_setting(struct op *op, State__Namespace *st, State__TaskQueueSetting *made) {
    bool failed = false;
    if (st->n_task_queues >= ENGINE_QUEUE_CONFIGS) {
        pb_free(made);
        return err_set(&op->err, ERR_PRECONDITION,
                       "A namespace may have at most %d task queues with a configuration.",
                       ENGINE_QUEUE_CONFIGS);
    }
    pb_append_message(&st->n_task_queues, &st->task_queues, made, &failed);
    return failed ? op_out_of_memory(op) : 0;
}

/* In the place of the one before, or behind the others. */
static int queue_config_keep(struct op *op, struct space *s, const State__TaskQueueSetting *setting) {
    bool failed = false;
    State__Namespace *st = s->st;
    size_t i = setting_index(st, (E__TaskQueueType)setting->type, setting->name);
    State__TaskQueueSetting *old = NULL, *made = pb_clone(&setting->base, &failed);
    if (failed)
        return op_out_of_memory(op);
    if (i < st->n_task_queues) {
        old = st->task_queues[i];
        st->task_queues[i] = made;
    } else {
        int rc = add_setting(op, st, made);
        if (rc < 0)
            return rc;
    }
    if (space_write(op->e, s) == 0) {
        pb_free(old);
        return 0;
    }
    if (old) {
        st->task_queues[i] = old;
        pb_free(made);
    } else {
        pb_remove_message(&st->n_task_queues, st->task_queues, i);
    }
    return op_out_of_memory(op);
}

void rpc_update_task_queue_config(struct op *op) {
    const Ws__UpdateTaskQueueConfigRequest *req = op->req;
    Ws__UpdateTaskQueueConfigResponse *resp = arena_new(op->call->arena, Ws__UpdateTaskQueueConfigResponse);
    Taskqueue__TaskQueueConfig *config = arena_new(op->call->arena, Taskqueue__TaskQueueConfig);
    State__TaskQueueSetting setting = STATE__TASK_QUEUE_SETTING__INIT;
    struct space *s;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0 && (!resp || !config))
        rc = op_out_of_memory(op);
    if (rc == 0)
        rc = queue_config_check(op, req);
    if (rc == 0)
        rc = queue_config_merge(op, req, queue_config(s, req->task_queue_type, req->task_queue), config);
    if (rc == 0) {
        setting.name = req->task_queue;
        setting.type = (int32_t)req->task_queue_type;
        setting.config = config;
        ws__update_task_queue_config_response__init(resp);
        resp->config = pb_arena_clone(config, op->call->arena); /* it shares parts with the one before */
        rc = resp->config ? queue_config_keep(op, s, &setting) : op_out_of_memory(op);
    }
    if (rc < 0) {
        op_fail(op);
        return;
    }
    struct queue *q = queue_find(op->e, s, req->task_queue_type == TASK_QUEUE_TYPE_ACTIVITY, req->task_queue);
    if (q && req->task_queue_type != TASK_QUEUE_TYPE_NEXUS) {
        limits_apply(op->e, q);
        queue_recount(op->e, q);
    }
    op->wait_seq = s->group_seq;
    op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}
