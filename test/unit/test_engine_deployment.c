/* Deployments through the engine: polls make them, tasks find their version, all of it survives. */
#include "engine_fixture.h"

#define SEC USEC_PER_SEC

static bool has_task(const struct ask *a) {
    return a->is_done && ask_token(a).n > 0;
}

static Deployment__WorkerDeploymentOptions *options(struct arena *a, const char *build_id) {
    Deployment__WorkerDeploymentOptions *o =
        MAKE(a, Deployment__WorkerDeploymentOptions, deployment__worker_deployment_options__init);
    o->deployment_name = make_text(a, "web");
    o->build_id = make_text(a, build_id);
    o->worker_versioning_mode = WORKER_VERSIONING_MODE_VERSIONED;
    return o;
}

static void poll(struct rig *r, struct ask *a, const char *build_id) {
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, "queue");
    req->deployment_options = options(ask_arena(a), build_id);
    RIG_SEND(r, a, poll_workflow_task, req);
}

static void poll_activity(struct rig *r, struct ask *a, const char *build_id) {
    struct arena *arena = ask_begin(r, a);
    Ws__PollActivityTaskQueueRequest *req =
        MAKE(arena, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
    req->namespace_ = make_text(arena, "default");
    req->task_queue = make_queue(arena, "queue");
    req->identity = make_text(arena, "worker");
    if (*build_id)
        req->deployment_options = options(arena, build_id);
    RIG_SEND(r, a, poll_activity_task, req);
}

static void complete(struct rig *r, struct ask *a, const struct ask *task, const char *build_id,
                     E__VersioningBehavior behavior, bool with_activity) {
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, a, task);
    req->deployment_options = options(ask_arena(a), build_id);
    req->versioning_behavior = behavior;
    if (with_activity)
        add_command(a, req, make_activity(ask_arena(a), "activity"));
    RIG_SEND(r, a, complete_workflow_task, req);
    CHECK_OK(a);
}

static void set_current(struct rig *r, struct ask *a, const char *build_id) {
    struct arena *arena = ask_begin(r, a);
    Ws__SetWorkerDeploymentCurrentVersionRequest *req =
        MAKE(arena, Ws__SetWorkerDeploymentCurrentVersionRequest,
             ws__set_worker_deployment_current_version_request__init);
    req->namespace_ = make_text(arena, "default");
    req->deployment_name = make_text(arena, "web");
    req->build_id = make_text(arena, build_id);
    req->identity = make_text(arena, "operator");
    req->ignore_missing_task_queues = true;
    RIG_SEND(r, a, set_worker_deployment_current_version, req);
}

static void set_ramp(struct rig *r, struct ask *a, const char *build_id, float percentage) {
    struct arena *arena = ask_begin(r, a);
    Ws__SetWorkerDeploymentRampingVersionRequest *req =
        MAKE(arena, Ws__SetWorkerDeploymentRampingVersionRequest,
             ws__set_worker_deployment_ramping_version_request__init);
    req->namespace_ = make_text(arena, "default");
    req->deployment_name = make_text(arena, "web");
    req->build_id = make_text(arena, build_id);
    req->percentage = percentage;
    RIG_SEND(r, a, set_worker_deployment_ramping_version, req);
}

static const Deployment__WorkerDeploymentInfo *describe(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DescribeWorkerDeploymentRequest *req =
        MAKE(arena, Ws__DescribeWorkerDeploymentRequest, ws__describe_worker_deployment_request__init);
    req->namespace_ = make_text(arena, "default");
    req->deployment_name = make_text(arena, "web");
    RIG_SEND(r, a, describe_worker_deployment, req);
    const Ws__DescribeWorkerDeploymentResponse *resp = a->response;
    return resp ? resp->worker_deployment_info : NULL;
}

static int32_t status(struct rig *r, const char *build_id) {
    cleanup(ask_done) struct ask a = {0};
    const Deployment__WorkerDeploymentInfo *i = describe(r, &a);
    for (size_t k = 0; i && k < i->n_version_summaries; k++)
        if (cstr_eq(i->version_summaries[k]->deployment_version->build_id, build_id))
            return (int32_t)i->version_summaries[k]->status;
    return -1;
}

TEST(deployment_is_made_by_a_poll_and_survives) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    CHECK(!describe(&r, &a));
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    poll(&r, &p, "1");
    const Deployment__WorkerDeploymentInfo *i = describe(&r, &a);
    CHECK(i && i->n_version_summaries == 1);
    set_current(&r, &a, "1");
    CHECK_OK(&a);
    rig_restart(&r);
    i = describe(&r, &a);
    CHECK(i && i->n_version_summaries == 1);
    CHECK_STR(i ? i->routing_config->current_deployment_version->build_id : "", "1");
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT);
}

TEST(deployment_change_is_answered_when_it_is_durable) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    poll(&r, &p, "1");
    (void)describe(&r, &b);
    CHECK(!b.is_done); /* what it would show is not on disk */
    rig_settle(&r);
    CHECK(b.is_done);
    set_current(&r, &a, "1");
    CHECK(!a.is_done);
    rig_settle(&r);
    CHECK_OK(&a);
}

TEST(deployment_work_goes_to_the_current_version) {
    cleanup(ask_done) struct ask a = {0}, plain = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    rig_poll(&r, &plain, "queue");
    rig_start(&r, &a, "before");
    CHECK(has_task(&plain) && !one.is_done && !two.is_done); /* nobody has chosen a version */
    set_current(&r, &a, "2");
    rig_start(&r, &a, "after");
    CHECK(has_task(&two) && !one.is_done);
}

TEST(deployment_work_that_waits_follows_the_current_version) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0}, first = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "2");
    rig_start(&r, &a, "taken");
    CHECK(has_task(&two));
    rig_start(&r, &a, "waits");
    CHECK(!one.is_done);
    set_current(&r, &a, "1");
    CHECK(has_task(&one));
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    poll(&r, &first, "1");
    rig_signal(&r, &a, "waits", "");
    CHECK(has_task(&first));
}

/* A worker has asked for it, but its run is still being read when the work of the queue goes elsewhere. */
TEST(deployment_work_that_is_being_read_follows_the_current_version) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    rig_settle(&r);
    ask_cancel(&r, &one);
    set_current(&r, &a, "1");
    rig_settle(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    CHECK_OK(&a);
    poll(&r, &one, "1");
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    set_current(&r, &a, "2");
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK(!one.is_done);
    rig_settle(&r);
    CHECK(!one.is_done);
    CHECK(has_task(&two));
}

TEST(deployment_pinned_runs_stay_and_others_move) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "pinned");
    CHECK(has_task(&one));
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    poll(&r, &one, "1");
    rig_start(&r, &a, "moves");
    CHECK(has_task(&one));
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_AUTO_UPGRADE, false);
    set_current(&r, &a, "2");
    rig_signal(&r, &a, "moves", "");
    CHECK(has_task(&two));
    complete(&r, &a, &two, "2", VERSIONING_BEHAVIOR_AUTO_UPGRADE, false);
    poll(&r, &two, "2");
    rig_signal(&r, &a, "pinned", "");
    CHECK(!two.is_done);
    rig_restart(&r); /* the task waits for its version also after a crash */
    poll(&r, &two, "2");
    CHECK(!two.is_done);
    poll(&r, &one, "1");
    CHECK(has_task(&one));
}

TEST(deployment_ramp_takes_its_share) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    set_ramp(&r, &a, "2", 100);
    CHECK_OK(&a);
    rig_start(&r, &a, "wf");
    CHECK(has_task(&two) && !one.is_done);
    poll(&r, &two, "2");
    set_ramp(&r, &a, "2", 0);
    rig_start(&r, &a, "wf-2");
    CHECK(has_task(&one) && !two.is_done);
    set_ramp(&r, &a, "2", 101);
    CHECK_INT(a.err.code, ERR_INVALID);
}

static Ws__DescribeTaskQueueRequest *ask_queue(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DescribeTaskQueueRequest *req =
        MAKE(arena, Ws__DescribeTaskQueueRequest, ws__describe_task_queue_request__init);
    req->namespace_ = make_text(arena, "default");
    req->task_queue = make_queue(arena, "queue");
    req->report_stats = true;
    return req;
}

/* Workflow tasks of a version, or of workers without one, as both ways to ask tell it. */
static int64_t waits_for(struct rig *r, const char *build_id) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    Ws__DescribeTaskQueueRequest *req = ask_queue(r, &a);
    bool is_version = *build_id != '\0';
    char version[] = {'w', 'e', 'b', ':', *build_id, '\0'}, *text = version;
    Taskqueue__TaskQueueVersionSelection asked = TASKQUEUE__TASK_QUEUE_VERSION_SELECTION__INIT;
    asked.unversioned = !is_version;
    asked.n_build_ids = is_version;
    asked.build_ids = &text;
    req->versions = &asked;
    req->api_mode = DESCRIBE_TASK_QUEUE_MODE_ENHANCED;
    RIG_SEND(r, &a, describe_task_queue, req);
    const Ws__DescribeTaskQueueResponse *resp = a.response;
    if (!resp || resp->n_versions_info != 1 || resp->versions_info[0]->value->n_types_info != 2)
        return -1;
    const Taskqueue__TaskQueueStats *stats = resp->versions_info[0]->value->types_info[0]->value->stats;
    CHECK((stats->approximate_backlog_count == 0) == (stats->approximate_backlog_age->nanos == 0));
    if (!is_version)
        return stats->approximate_backlog_count;
    struct arena *arena = ask_begin(r, &b);
    Ws__DescribeWorkerDeploymentVersionRequest *of_version =
        MAKE(arena, Ws__DescribeWorkerDeploymentVersionRequest,
             ws__describe_worker_deployment_version_request__init);
    of_version->namespace_ = make_text(arena, "default");
    of_version->version = make_text(arena, version);
    of_version->report_task_queue_stats = true;
    RIG_SEND(r, &b, describe_worker_deployment_version, of_version);
    const Ws__DescribeWorkerDeploymentVersionResponse *v = b.response;
    CHECK(v && v->n_version_task_queues == 1 &&
          v->version_task_queues[0]->stats->approximate_backlog_count == stats->approximate_backlog_count);
    return stats->approximate_backlog_count;
}

/* Tasks that are bound to no version count for the versions that get them, by the ramp and not one by one. */
TEST(deployment_work_without_a_version_is_counted_for_those_that_get_it) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "pinned");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    ask_cancel(&r, &two);
    rig_signal(&r, &a, "pinned", "");
    for (char c = 'a'; c < 'k'; c++)
        rig_start(&r, &a, (char[]){c, '\0'});
    rig_advance(&r, 500 * USEC_PER_MS);
    CHECK_INT(waits_for(&r, "1"), 11);
    CHECK_INT(waits_for(&r, "2"), 0);
    CHECK_INT(waits_for(&r, ""), 0);
    set_ramp(&r, &a, "2", 25);
    CHECK_INT(waits_for(&r, "1"), 1 + 8);
    CHECK_INT(waits_for(&r, "2"), 3);
    CHECK_INT(waits_for(&r, ""), 0);
    set_current(&r, &a, "");
    CHECK_INT(waits_for(&r, "1"), 1);
    CHECK_INT(waits_for(&r, "2"), 3);
    CHECK_INT(waits_for(&r, ""), 7);
    set_ramp(&r, &a, "", 0);
    set_current(&r, &a, "2");
    CHECK_INT(waits_for(&r, "2"), 10);
    poll(&r, &two, "2");
    CHECK(has_task(&two));
    CHECK_INT(waits_for(&r, "2"), 9);
}

/* Figures only for those who ask; the count of the old form has no tasks that are bound to a version. */
TEST(deployment_figures_of_a_queue_are_asked_for) {
    cleanup(ask_done) struct ask a = {0}, one = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "pinned");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    rig_signal(&r, &a, "pinned", "");
    rig_start(&r, &a, "free");
    Ws__DescribeTaskQueueRequest *req = ask_queue(&r, &a);
    req->include_task_queue_status = true;
    RIG_SEND(&r, &a, describe_task_queue, req);
    const Ws__DescribeTaskQueueResponse *resp = a.response;
    REQUIRE(resp && resp->stats && resp->task_queue_status);
    CHECK_INT(resp->stats->approximate_backlog_count, 2);
    CHECK_INT(resp->task_queue_status->backlog_count_hint, 1);
    req = ask_queue(&r, &a);
    req->report_stats = false;
    RIG_SEND(&r, &a, describe_task_queue, req);
    resp = a.response;
    CHECK(resp && !resp->stats && !resp->task_queue_status && !resp->n_stats_by_priority_key);
    req = ask_queue(&r, &a);
    req->task_queue->name = make_text(ask_arena(&a), "/_sys/queue/1");
    RIG_SEND(&r, &a, describe_task_queue, req);
    CHECK_INT(a.err.code, ERR_INVALID);
    CHECK_STR(a.err.text, "DescribeTaskQueue stats are only supported for the root partition");
}

TEST(deployment_activities_follow_their_workflow) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, act_one = {0}, act_two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll_activity(&r, &act_one, "1");
    poll_activity(&r, &act_two, "2");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "wf");
    set_current(&r, &a, "2");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, true);
    CHECK(has_task(&act_one) && !act_two.is_done);
}

TEST(deployment_activities_of_other_workers_go_to_those) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, plain = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll_activity(&r, &plain, ""); /* no version serves the activities of this queue */
    set_current(&r, &a, "1");
    rig_start(&r, &a, "wf");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, true);
    CHECK(has_task(&plain));
}

TEST(deployment_version_drains_when_its_runs_are_gone) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "wf");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    set_current(&r, &a, "2");
    rig_advance(&r, 11 * SEC);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
    rig_terminate(&r, &a, "wf");
    rig_advance(&r, 11 * SEC);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED);
    rig_restart(&r);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED);
}

static void start_pinned(struct rig *r, struct ask *a) {
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, a, "wf");
    struct arena *arena = ask_arena(a);
    req->versioning_override = MAKE(arena, Workflow__VersioningOverride, workflow__versioning_override__init);
    req->versioning_override->behavior = VERSIONING_BEHAVIOR_PINNED;
    req->versioning_override->pinned_version = make_text(arena, "web.1");
    RIG_SEND(r, a, start_workflow, req);
}

/* A run is pinned to a version that drains, and is not on disk yet when the store says that none is. */
static void pin_while_it_is_looked_at(bool is_asked_before) {
    cleanup(ask_done) struct ask a = {0}, start = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    set_current(&r, &a, "2");
    r.is_manual = true;
    mem_store_set_auto(r.store, false);
    if (is_asked_before)
        rig_advance(&r, 11 * SEC); /* the store is asked for runs that are pinned to it */
    start_pinned(&r, &start);
    mem_store_answer(r.store, mem_store_pending_reads(r.store) - 1,
                     0); /* nobody has this id: the run begins */
    rig_turn(&r);
    if (!is_asked_before)
        rig_advance(&r, 11 * SEC);
    REQUIRE(!start.is_done && mem_store_pending_commits(r.store) == 1);
    while (mem_store_pending_reads(r.store))
        rig_read(&r);
    rig_settle(&r);
    CHECK_OK(&start);
    r.is_manual = false;
    mem_store_set_auto(r.store, true);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING);
    rig_terminate(&r, &a, "wf");
    rig_advance(&r, 11 * SEC);
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED);
}

TEST(deployment_version_drains_for_runs_that_are_on_their_way_to_disk) {
    pin_while_it_is_looked_at(false);
    pin_while_it_is_looked_at(true);
}

TEST(deployment_override_needs_a_version_that_serves_the_queue) {
    cleanup(ask_done) struct ask a = {0}, one = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (int known = 0; known < 2; known++) {
        start_pinned(&r, &a);
        if (known) {
            CHECK_OK(&a);
        } else {
            CHECK_FAILS(&a, ERR_PRECONDITION,
                        "Pinned version 'web:1' is not present in task queue 'queue' of type 'Workflow'");
            poll(&r, &one, "1");
        }
    }
    CHECK(has_task(&one)); /* though nobody made it current */
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING); /* it has a run to finish */
}

static void delete_version(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DeleteWorkerDeploymentVersionRequest *req = MAKE(arena, Ws__DeleteWorkerDeploymentVersionRequest,
                                                         ws__delete_worker_deployment_version_request__init);
    req->namespace_ = make_text(arena, "default");
    req->version = make_text(arena, "web.1");
    RIG_SEND(r, a, delete_worker_deployment_version, req);
}

static void delete_deployment(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__DeleteWorkerDeploymentRequest *req =
        MAKE(arena, Ws__DeleteWorkerDeploymentRequest, ws__delete_worker_deployment_request__init);
    req->namespace_ = make_text(arena, "default");
    req->deployment_name = make_text(arena, "web");
    RIG_SEND(r, a, delete_worker_deployment, req);
}

TEST(deployment_is_deleted_when_nobody_needs_it) {
    cleanup(ask_done) struct ask a = {0}, one = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    delete_version(&r, &a);
    CHECK_FAILS(&a, ERR_PRECONDITION, "version 'web:1' has pollers and cannot be deleted");
    delete_deployment(&r, &a);
    CHECK_INT(a.err.code, ERR_PRECONDITION);
    ask_cancel(&r, &one);
    rig_advance(&r, 6 * 60 * SEC);
    delete_version(&r, &a);
    CHECK_OK(&a);
    delete_deployment(&r, &a);
    CHECK_OK(&a);
    rig_restart(&r);
    CHECK(!describe(&r, &a));
    delete_deployment(&r, &a); /* it is gone already */
    CHECK_OK(&a);
}

static void shut_down(struct rig *r, struct ask *a) {
    struct arena *arena = ask_begin(r, a);
    Ws__ShutdownWorkerRequest *req =
        MAKE(arena, Ws__ShutdownWorkerRequest, ws__shutdown_worker_request__init);
    req->namespace_ = make_text(arena, "default");
    req->identity = make_text(arena, "worker");
    req->task_queue = make_text(arena, "queue");
    RIG_SEND(r, a, shutdown_worker, req);
}

TEST(deployment_worker_that_said_goodbye_does_not_keep_its_version) {
    cleanup(ask_done) struct ask a = {0}, one = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    ask_cancel(&r, &one);
    delete_version(&r, &a);
    CHECK_INT(a.err.code, ERR_PRECONDITION);
    shut_down(&r, &a);
    CHECK_OK(&a);
    delete_version(&r, &a);
    CHECK_OK(&a);
}

TEST(deployment_query_of_a_run_that_nobody_serves_is_refused) {
    cleanup(ask_done) struct ask a = {0}, one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll(&r, &one, "1");
    poll(&r, &two, "2");
    set_current(&r, &a, "1");
    rig_start(&r, &a, "wf");
    complete(&r, &a, &one, "1", VERSIONING_BEHAVIOR_PINNED, false);
    set_current(&r, &a, "2");
    rig_terminate(&r, &a, "wf");
    rig_advance(&r, 11 * SEC);
    rig_query(&r, &a, "wf");
    CHECK(!a.is_done); /* its worker was here a moment ago */
    ask_cancel(&r, &a);
    rig_advance(&r, 6 * 60 * SEC);
    rig_query(&r, &a, "wf");
    CHECK_INT(a.err.code, ERR_PRECONDITION);
}

static int create(struct rig *r, struct ask *a, const char *name, const char *request_id) {
    struct arena *arena = ask_begin(r, a);
    Ws__CreateWorkerDeploymentRequest *req =
        MAKE(arena, Ws__CreateWorkerDeploymentRequest, ws__create_worker_deployment_request__init);
    req->namespace_ = make_text(arena, "default");
    req->deployment_name = make_text(arena, name);
    req->request_id = make_text(arena, request_id);
    RIG_SEND(r, a, create_worker_deployment, req);
    return a->err.code;
}

static const Ws__ListWorkerDeploymentsResponse *list(struct rig *r, struct ask *a, const struct ask *before) {
    const Ws__ListWorkerDeploymentsResponse *last = before ? before->response : NULL;
    struct arena *arena = ask_begin(r, a);
    Ws__ListWorkerDeploymentsRequest *req =
        MAKE(arena, Ws__ListWorkerDeploymentsRequest, ws__list_worker_deployments_request__init);
    req->namespace_ = make_text(arena, "default");
    req->page_size = 2;
    if (last)
        req->next_page_token = make_bytes(arena, last->next_page_token);
    RIG_SEND(r, a, list_worker_deployments, req);
    return a->response;
}

TEST(deployment_lists_come_in_pages) {
    static const char *const names[] = {"c", "a", "b", "d"};
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_INT(create(&r, &a, names[i], "request"), 0);
    const Ws__ListWorkerDeploymentsResponse *first = list(&r, &b, NULL);
    REQUIRE(first && first->n_worker_deployments == 2);
    CHECK_STR(first->worker_deployments[0]->name, "a");
    CHECK_STR(first->worker_deployments[1]->name, "b");
    const Ws__ListWorkerDeploymentsResponse *second = list(&r, &c, &b);
    REQUIRE(second && second->n_worker_deployments == 2);
    CHECK_STR(second->worker_deployments[1]->name, "d");
    CHECK_INT(second->next_page_token.len, 0);
}

TEST(deployment_is_created_once) {
    cleanup(ask_done) struct ask a = {0}, one = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    CHECK_INT(create(&r, &a, "web", "request"), 0);
    CHECK_INT(create(&r, &a, "web", "request"), 0);
    CHECK_INT(create(&r, &a, "web", "other"), ERR_EXISTS);
    CHECK_INT(create(&r, &a, "we.b", "request"), ERR_INVALID);
    poll(&r, &one, "1");
    CHECK_INT(status(&r, "1"), WORKER_DEPLOYMENT_VERSION_STATUS_INACTIVE);
}

static void make_doomed(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *arena = ask_begin(r, &a);
    Ws__RegisterNamespaceRequest *made =
        MAKE(arena, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    made->namespace_ = make_text(arena, "doomed");
    made->workflow_execution_retention_period = make_duration(arena, 86400 * SEC);
    RIG_SEND(r, &a, register_namespace, made);
    CHECK_OK(&a);
}

static void visit_doomed(struct rig *r, const char *queue) {
    cleanup(ask_done) struct ask a = {0};
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, &a, queue);
    req->namespace_ = make_text(ask_arena(&a), "doomed");
    req->deployment_options = options(ask_arena(&a), "1");
    RIG_SEND(r, &a, poll_workflow_task, req);
    ask_cancel(r, &a);
}

static void remove_doomed(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *arena = ask_begin(r, &a);
    Ops__DeleteNamespaceRequest *gone =
        MAKE(arena, Ops__DeleteNamespaceRequest, ops__delete_namespace_request__init);
    gone->namespace_ = make_text(arena, "doomed");
    RIG_SEND(r, &a, delete_namespace, gone);
    CHECK_OK(&a);
    for (int i = 0; i < 20; i++)
        rig_advance(r, SEC);
}

TEST(deployment_goes_with_its_namespace) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    make_doomed(&r);
    poll(&r, &p, "1");
    visit_doomed(&r, "queue");
    remove_doomed(&r);
    rig_restart(&r);
    CHECK(r.is_ready);
    CHECK(describe(&r, &a)); /* that of the other namespace stays */
}

static void poll_one_of_many(struct rig *r, struct ask *a, char name) {
    char queue[] = {name, '\0'};
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, queue);
    req->deployment_options = options(ask_arena(a), "1");
    RIG_SEND(r, a, poll_workflow_task, req);
}

/* The queues of the version are made while the tasks are moved, and the map of all queues has holes. */
TEST(deployment_work_of_every_queue_follows_the_current_version) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    make_doomed(&r);
    for (char q = 'a'; q <= 'l'; q++) {
        poll_one_of_many(&r, &p, q);
        ask_cancel(&r, &p);
    }
    rig_restart(&r);
    visit_doomed(&r, "one");
    visit_doomed(&r, "two");
    visit_doomed(&r, "three");
    for (char q = 'a'; q <= 'l'; q++) {
        char name[] = {q, '\0'};
        Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, name);
        req->task_queue = make_queue(ask_arena(&a), name);
        RIG_SEND(&r, &a, start_workflow, req);
        CHECK_OK(&a);
    }
    remove_doomed(&r);
    set_current(&r, &a, "1");
    CHECK_OK(&a);
    for (char q = 'a'; q <= 'l'; q++) {
        poll_one_of_many(&r, &p, q);
        CHECK(has_task(&p));
        ask_done(&p);
    }
}

TEST(deployment_half_a_version_is_refused) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(&r, &a, "queue");
    req->deployment_options = options(ask_arena(&a), "");
    RIG_SEND(&r, &a, poll_workflow_task, req);
    CHECK_INT(a.err.code, ERR_INVALID);
    req = ask_poll(&r, &a, "queue");
    req->deployment_options = options(ask_arena(&a), "1");
    req->deployment_options->deployment_name = make_text(ask_arena(&a), "w.eb");
    RIG_SEND(&r, &a, poll_workflow_task, req);
    CHECK_INT(a.err.code, ERR_INVALID);
}
