/* What an operator sets for a task queue: kept, shown, and kept to when tasks are handed out. */
#include <math.h>
#include <stdio.h>

#include "engine_fixture.h"

#define SEC USEC_PER_SEC

static Ws__UpdateTaskQueueConfigRequest *ask_update(struct rig *r, struct ask *a, E__TaskQueueType type) {
    struct arena *m = ask_begin(r, a);
    Ws__UpdateTaskQueueConfigRequest *req =
        MAKE(m, Ws__UpdateTaskQueueConfigRequest, ws__update_task_queue_config_request__init);
    req->namespace_ = make_text(m, "default");
    req->task_queue = make_text(m, "queue");
    req->identity = make_text(m, "operator");
    req->task_queue_type = type;
    return req;
}

static Ws__UpdateTaskQueueConfigRequest__RateLimitUpdate *make_limit(struct arena *m, float rate) {
    Ws__UpdateTaskQueueConfigRequest__RateLimitUpdate *u =
        MAKE(m, Ws__UpdateTaskQueueConfigRequest__RateLimitUpdate,
             ws__update_task_queue_config_request__rate_limit_update__init);
    u->reason = make_text(m, "because");
    if (isnan(rate) || rate >= -1) {
        u->rate_limit = MAKE(m, Taskqueue__RateLimit, taskqueue__rate_limit__init);
        u->rate_limit->requests_per_second = rate;
    }
    return u;
}
#define NO_RATE (-2) /* for make_limit: takes the limit away */

static void add_weight(struct ask *a, Ws__UpdateTaskQueueConfigRequest *req, const char *key, float weight) {
    struct arena *m = ask_arena(a);
    Ws__UpdateTaskQueueConfigRequest__SetFairnessWeightOverridesEntry *w =
        MAKE(m, Ws__UpdateTaskQueueConfigRequest__SetFairnessWeightOverridesEntry,
             ws__update_task_queue_config_request__set_fairness_weight_overrides_entry__init);
    w->key = make_text(m, key);
    w->value = weight;
    if (!req->set_fairness_weight_overrides) {
        req->set_fairness_weight_overrides = (void *)arena_zalloc(m, 4 * sizeof(w));
        ensure(req->set_fairness_weight_overrides);
    }
    req->set_fairness_weight_overrides[req->n_set_fairness_weight_overrides++] = w;
}

static void set_rate(struct rig *r, float rate) {
    cleanup(ask_done) struct ask a = {0};
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_queue_rate_limit = make_limit(ask_arena(&a), rate);
    RIG_SEND(r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
}

static void set_key_rate(struct rig *r, float rate) {
    cleanup(ask_done) struct ask a = {0};
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_fairness_key_rate_limit_default = make_limit(ask_arena(&a), rate);
    RIG_SEND(r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
}

static const Ws__DescribeTaskQueueResponse *describe(struct rig *r, struct ask *a, bool with_config) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeTaskQueueRequest *req =
        MAKE(m, Ws__DescribeTaskQueueRequest, ws__describe_task_queue_request__init);
    req->namespace_ = make_text(m, "default");
    req->task_queue = make_queue(m, "queue");
    req->task_queue_type = TASK_QUEUE_TYPE_ACTIVITY;
    req->report_config = with_config;
    RIG_SEND(r, a, describe_task_queue, req);
    CHECK_OK(a);
    return a->response;
}

/* `count` activities, with the fairness keys in turn. */
static void schedule(struct rig *r, int count, const char *const keys[2]) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_start(r, &a, "wf");
    rig_poll(r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    for (int i = 0; i < count; i++) {
        char id[16];
        struct arena *m = ask_arena(&a);
        (void)snprintf(id, sizeof id, "%d", i);
        Command__Command *cmd = make_activity(m, id);
        cmd->schedule_activity_task_command_attributes->priority =
            MAKE(m, Common__Priority, common__priority__init);
        cmd->schedule_activity_task_command_attributes->priority->fairness_key = make_text(m, keys[i % 2]);
        add_command(&a, req, cmd);
    }
    RIG_SEND(r, &a, complete_workflow_task, req);
    CHECK_OK(&a);
}

/* The ids of the activities that workers get now, one poll after the other. */
static const char *got(struct rig *r, char *text, size_t size) {
    text[0] = 0;
    for (;;) {
        cleanup(ask_done) struct ask p = {0};
        rig_poll_activity(r, &p);
        if (!p.is_done) {
            ask_cancel(r, &p);
            return text;
        }
        const Ws__PollActivityTaskQueueResponse *resp = p.response;
        (void)snprintf(text + strlen(text), size - strlen(text), "%s", resp->activity_id);
    }
}

static const char *const same[2] = {"", ""};

TEST(queue_config_is_kept_and_shown) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    CHECK(!describe(&r, &a, true)->config);
    CHECK(!describe(&r, &a, true)->effective_rate_limit);
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_queue_rate_limit = make_limit(ask_arena(&a), 5);
    req->update_fairness_key_rate_limit_default = make_limit(ask_arena(&a), 2);
    add_weight(&a, req, "gold", 3);
    add_weight(&a, req, "lead", 0.5F);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
    const Ws__UpdateTaskQueueConfigResponse *resp = a.response;
    CHECK(resp && resp->config->queue_rate_limit->rate_limit->requests_per_second == 5);
    rig_restart(&r);
    CHECK(!describe(&r, &a, false)->config);
    const Taskqueue__TaskQueueConfig *c = describe(&r, &a, true)->config;
    if (!CHECK(c && c->queue_rate_limit && c->fairness_keys_rate_limit_default))
        return;
    CHECK(c->queue_rate_limit->rate_limit->requests_per_second == 5);
    CHECK_STR(c->queue_rate_limit->metadata->reason, "because");
    CHECK_STR(c->queue_rate_limit->metadata->update_identity, "operator");
    CHECK_INT(c->queue_rate_limit->metadata->update_time->seconds, RIG_T0 / SEC);
    CHECK(c->fairness_keys_rate_limit_default->rate_limit->requests_per_second == 2);
    CHECK_INT(c->n_fairness_weight_overrides, 2);
    const Ws__DescribeTaskQueueResponse *d = describe(&r, &a, true);
    CHECK(d->effective_rate_limit && d->effective_rate_limit->requests_per_second == 5);
    CHECK(d->effective_rate_limit && d->effective_rate_limit->rate_limit_source == RATE_LIMIT_SOURCE_API);
}

TEST(queue_config_changes_only_what_is_named) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_rate(&r, 5);
    set_key_rate(&r, 2);
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    add_weight(&a, req, "gold", 3);
    add_weight(&a, req, "lead", 1);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    add_weight(&a, req, "gold", 4);
    char *unset = make_text(ask_arena(&a), "lead");
    req->unset_fairness_weight_overrides = &unset;
    req->n_unset_fairness_weight_overrides = 1;
    req->update_queue_rate_limit = make_limit(ask_arena(&a), NO_RATE);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
    const Ws__DescribeTaskQueueResponse *d = describe(&r, &a, true);
    CHECK(d->config->queue_rate_limit && !d->config->queue_rate_limit->rate_limit);
    CHECK_STR(d->config->queue_rate_limit->metadata->reason, "because");
    CHECK(d->config->fairness_keys_rate_limit_default->rate_limit->requests_per_second == 2);
    CHECK_INT(d->config->n_fairness_weight_overrides, 1);
    CHECK_STR(d->config->fairness_weight_overrides[0]->key, "gold");
    CHECK(d->config->fairness_weight_overrides[0]->value == 4);
    CHECK(!d->effective_rate_limit);
}

TEST(queue_rate_is_kept_to_over_a_restart) {
    char text[64];
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_rate(&r, 2);
    schedule(&r, 6, same);
    CHECK_STR(got(&r, text, sizeof text), "0");
    CHECK_STR(got(&r, text, sizeof text), "");
    rig_advance(&r, SEC / 2);
    CHECK_STR(got(&r, text, sizeof text), "1");
    rig_restart(&r); /* that two were taken is not known any more */
    CHECK_STR(got(&r, text, sizeof text), "0");
    CHECK_STR(got(&r, text, sizeof text), "");
    set_rate(&r, NO_RATE);
    CHECK_STR(got(&r, text, sizeof text), "12345");
}

TEST(queue_with_a_rate_of_zero_is_paused) {
    char text[64];
    cleanup(ask_done) struct ask p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_rate(&r, 0);
    schedule(&r, 2, same);
    CHECK_STR(got(&r, text, sizeof text), "");
    rig_advance(&r, 100 * SEC);
    rig_poll_activity(&r, &p);
    CHECK(!p.is_done);
    set_rate(&r, 100); /* whoever waits gets it at once */
    CHECK(p.is_done);
}

TEST(queue_rate_comes_before_what_a_worker_asks_for) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_rate(&r, 1);
    schedule(&r, 3, same);
    for (int i = 0; i < 2; i++) {
        struct arena *m = ask_begin(&r, i ? &q : &p);
        Ws__PollActivityTaskQueueRequest *req =
            MAKE(m, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
        req->namespace_ = make_text(m, "default");
        req->task_queue = make_queue(m, "queue");
        req->identity = make_text(m, "worker");
        req->task_queue_metadata =
            MAKE(m, Taskqueue__TaskQueueMetadata, taskqueue__task_queue_metadata__init);
        req->task_queue_metadata->max_tasks_per_second =
            MAKE(m, Google__Protobuf__DoubleValue, google__protobuf__double_value__init);
        req->task_queue_metadata->max_tasks_per_second->value = 1000;
        RIG_SEND(&r, i ? &q : &p, poll_activity_task, req);
    }
    CHECK(p.is_done && !q.is_done);
    rig_advance(&r, SEC / 2);
    CHECK(!q.is_done);
    set_rate(&r, NO_RATE); /* now the worker's own counts */
    CHECK(q.is_done);
    const Ws__DescribeTaskQueueResponse *d = describe(&r, &a, false);
    CHECK(d->effective_rate_limit && d->effective_rate_limit->requests_per_second == 1000);
    CHECK(d->effective_rate_limit && d->effective_rate_limit->rate_limit_source == RATE_LIMIT_SOURCE_WORKER);
}

TEST(fairness_keys_have_a_rate_each) {
    static const char *const keys[2] = {"a", "b"};
    char text[64];
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_key_rate(&r, 1);
    schedule(&r, 6, keys);
    CHECK_STR(got(&r, text, sizeof text), "01");
    rig_advance(&r, SEC / 2);
    CHECK_STR(got(&r, text, sizeof text), "");
    rig_advance(&r, SEC / 2);
    CHECK_STR(got(&r, text, sizeof text), "23");
    set_key_rate(&r, NO_RATE);
    CHECK_STR(got(&r, text, sizeof text), "45");
}

TEST(fairness_key_that_had_its_share_wakes_a_poll_later) {
    static const char *const keys[2] = {"a", "a"};
    char text[64];
    cleanup(ask_done) struct ask p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_key_rate(&r, 1);
    schedule(&r, 2, keys);
    CHECK_STR(got(&r, text, sizeof text), "0");
    rig_poll_activity(&r, &p);
    CHECK(!p.is_done);
    CHECK_INT(engine_next_wake_us(r.engine, r.now), SEC);
    rig_advance(&r, SEC);
    CHECK(p.is_done);
}

TEST(fairness_weights_scale_the_rate) {
    static const char *const keys[2] = {"heavy", "light"};
    char text[64];
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    set_key_rate(&r, 1);
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    add_weight(&a, req, "heavy", 2);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_OK(&a);
    r.queue_tasks_max = 4; /* what comes from the store has its key, too */
    rig_restart(&r);
    schedule(&r, 8, keys);
    CHECK_STR(got(&r, text, sizeof text), "01");
    rig_advance(&r, SEC / 2);
    CHECK_STR(got(&r, text, sizeof text), "2");
    rig_advance(&r, SEC / 2);
    CHECK_STR(got(&r, text, sizeof text), "34");
}

TEST(bad_queue_configs_change_nothing) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__UpdateTaskQueueConfigRequest *req = ask_update(&r, &a, TASK_QUEUE_TYPE_WORKFLOW);
    req->update_queue_rate_limit = make_limit(ask_arena(&a), 5);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID, "Setting rate limit on workflow task queues is not allowed.");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_queue_rate_limit = make_limit(ask_arena(&a), -1);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID,
                "RequestsPerSecond for UpdateQueueRateLimit rate limit must be non-negative.");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_fairness_key_rate_limit_default = make_limit(ask_arena(&a), NAN);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID,
                "RequestsPerSecond for UpdateFairnessKeyRateLimitDefault rate limit must be non-negative.");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    req->update_queue_rate_limit = make_limit(ask_arena(&a), 5);
    req->update_queue_rate_limit->reason = make_long_text(ask_arena(&a), 1001);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID, "UpdateQueueRateLimit.Reason field too long (max 1000 characters).");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    add_weight(&a, req, "", 1);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID, "fairness weight override key must not be empty");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_ACTIVITY);
    add_weight(&a, req, "k", 0);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID, "invalid fairness weight for key \"k\": must be greater than zero");
    req = ask_update(&r, &a, TASK_QUEUE_TYPE_UNSPECIFIED);
    RIG_SEND(&r, &a, update_task_queue_config, req);
    CHECK_FAILS(&a, ERR_INVALID, "TaskQueueType is not set on request.");
    CHECK(!describe(&r, &a, true)->config);
}
