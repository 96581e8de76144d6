/* Backlogs: what memory has no room for waits in the store, in its order, and nothing is lost or done twice.
 */
#include <stdio.h>

#include "engine/counters.h"
#include "engine_fixture.h"

#define RUNS 10

/* Calls that are open at a time. */
struct asks {
    struct ask at[6];
};

static void asks_done(struct asks *all) {
    for (size_t i = 0; i < ARRAY_LEN(all->at); i++)
        ask_done(&all->at[i]);
}

static void boot_limited(struct rig *r, size_t most) {
    r->queue_tasks_max = most;
    rig_restart(r);
    if (r->is_manual)
        rig_settle(r);
    ensure(r->is_ready);
}

static void start(struct rig *r, const char *workflow_id, int priority) {
    cleanup(ask_done) struct ask a = {0};
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, &a, workflow_id);
    req->priority = MAKE(ask_arena(&a), Common__Priority, common__priority__init);
    req->priority->priority_key = priority;
    RIG_SEND(r, &a, start_workflow, req);
    CHECK_OK(&a);
    rig_advance(r, USEC_PER_MS); /* recovery goes by run ids, which go by time */
}

static void start_many(struct rig *r, const char *prefix, int count, int priority) {
    char id[32];
    for (int i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "%s%d", prefix, i);
        start(r, id, priority);
    }
}

static const Ws__DescribeTaskQueueResponse *describe(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeTaskQueueRequest *req =
        MAKE(m, Ws__DescribeTaskQueueRequest, ws__describe_task_queue_request__init);
    req->namespace_ = make_text(m, "default");
    req->task_queue = make_queue(m, "queue");
    req->task_queue_type = TASK_QUEUE_TYPE_WORKFLOW;
    req->report_stats = true;
    RIG_SEND(r, a, describe_task_queue, req);
    return a->response;
}

static int64_t backlog_of(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    const Ws__DescribeTaskQueueResponse *resp = describe(r, &a);
    return resp ? resp->stats->approximate_backlog_count : -1;
}

static int64_t age_of(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    const Ws__DescribeTaskQueueResponse *resp = describe(r, &a);
    return resp ? resp->stats->approximate_backlog_age->seconds : -1;
}

static const char *task_id(const struct ask *a) {
    const Ws__PollWorkflowTaskQueueResponse *resp = a->response;
    return a->is_done && resp && resp->workflow_execution ? resp->workflow_execution->workflow_id : "";
}

/* Polls, checks whose task it is, and completes the workflow. */
static void expect(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask p = {0}, a = {0};
    rig_poll(r, &p, "queue");
    if (!CHECK_STR(task_id(&p), workflow_id)) {
        ask_cancel(r, &p);
        return;
    }
    rig_finish(r, &a, &p);
    CHECK_OK(&a);
}

static void expect_many(struct rig *r, const char *prefix, int from, int end) {
    char id[32];
    for (int i = from; i < end; i++) {
        (void)snprintf(id, sizeof id, "%s%d", prefix, i);
        expect(r, id);
    }
}

static void expect_nothing(struct rig *r) {
    cleanup(ask_done) struct ask p = {0};
    rig_poll(r, &p, "queue");
    CHECK(!p.is_done);
    ask_cancel(r, &p);
}

/* How many tasks the store holds, whatever their lanes. */
static size_t stored_count(struct rig *r) {
    return mem_disk_backlog(r->disk);
}

TEST(backlog_is_drained_in_order) {
    for (size_t most = 1; most <= RUNS + 1; most += 2) {
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        boot_limited(&r, most);
        start_many(&r, "wf", RUNS, 0);
        CHECK_INT(backlog_of(&r), RUNS);
        CHECK_INT(stored_count(&r), most < RUNS ? RUNS - most : 0);
        expect_many(&r, "wf", 0, RUNS / 2);
        CHECK_INT(backlog_of(&r), RUNS - RUNS / 2);
        start_many(&r, "later", RUNS, 0);
        CHECK_INT(backlog_of(&r), RUNS - RUNS / 2 + RUNS);
        expect_many(&r, "wf", RUNS / 2, RUNS);
        expect_many(&r, "later", 0, RUNS);
        expect_nothing(&r);
        CHECK_INT(backlog_of(&r), 0);
        CHECK_INT(stored_count(&r), 0);
    }
}

TEST(backlog_keeps_priorities) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    start_many(&r, "usual", 5, 0);
    start_many(&r, "last", 5, 5);
    start_many(&r, "first", 5, 1);
    CHECK_INT(stored_count(&r), 9);
    CHECK_INT(backlog_of(&r), 15);
    expect_many(&r, "first", 0, 5);
    expect_many(&r, "usual", 0, 2);
    start(&r, "urgent", 1);
    expect(&r, "urgent");
    expect_many(&r, "usual", 2, 5);
    expect_many(&r, "last", 0, 5);
    expect_nothing(&r);
}

TEST(backlog_tells_its_age) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 1);
    start(&r, "a", 0);
    rig_advance(&r, 5 * USEC_PER_SEC);
    start_many(&r, "b", 3, 0);
    rig_advance(&r, 2 * USEC_PER_SEC);
    CHECK_INT(age_of(&r), 7);
    expect(&r, "a");
    CHECK_INT(age_of(&r), 2);
}

TEST(backlog_survives_a_crash_in_the_middle) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 3);
    start_many(&r, "wf", RUNS, 0);
    expect_many(&r, "wf", 0, 4);
    rig_restart(&r);
    CHECK(r.is_ready);
    CHECK_INT(backlog_of(&r), RUNS - 4);
    CHECK_INT(stored_count(&r), RUNS - 4 - 3); /* the rows of the earlier life are gone */
    expect_many(&r, "wf", 4, 6);
    rig_restart(&r);
    expect_many(&r, "wf", 6, RUNS);
    expect_nothing(&r);
    CHECK_INT(backlog_of(&r), 0);
}

TEST(backlog_is_not_needed_with_more_room) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 3);
    start_many(&r, "wf", RUNS, 0);
    boot_limited(&r, RUNS);
    CHECK_INT(backlog_of(&r), RUNS);
    expect_many(&r, "wf", 0, RUNS);
    expect_nothing(&r);
}

TEST(backlog_passes_over_runs_that_closed_meanwhile) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    start_many(&r, "wf", 8, 0);
    rig_terminate(&r, &a, "wf5");
    CHECK_OK(&a);
    expect_many(&r, "wf", 0, 5);
    expect_many(&r, "wf", 6, 8);
    expect_nothing(&r);
}

TEST(backlog_serves_polls_that_wait) {
    cleanup(asks_done) struct asks p = {0};
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 1);
    for (int i = 0; i < 6; i++)
        rig_poll(&r, &p.at[i], "queue");
    start_many(&r, "wf", 6, 0);
    for (int i = 0; i < 6; i++) {
        CHECK(*task_id(&p.at[i]));
        rig_finish(&r, &a, &p.at[i]);
        CHECK_OK(&a);
    }
}

static void go_on(struct rig *r) {
    if (mem_store_pending_reads(r->store))
        rig_read(r);
    else
        rig_commit(r);
}

/* Rows that are not on disk yet are waited for, and come before what has a lower priority. */
TEST(backlog_is_read_when_it_is_on_disk) {
    cleanup(asks_done) struct asks a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    boot_limited(&r, 1);
    for (int i = 0; i < 4; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "wf%d", i);
        rig_start(&r, &a.at[i], id);
    }
    while (!a.at[3].is_done)
        go_on(&r);
    CHECK(stored_count(&r) < 3); /* the last row is in the next group */
    for (int i = 0; i < 5; i++)
        rig_poll(&r, &p.at[i], "queue");
    CHECK_STR(task_id(&p.at[0]), "wf0");
    CHECK(!p.at[1].is_done);
    rig_settle(&r);
    CHECK_STR(task_id(&p.at[1]), "wf1");
    CHECK_STR(task_id(&p.at[2]), "wf2");
    CHECK_STR(task_id(&p.at[3]), "wf3");
    CHECK(!p.at[4].is_done);
    CHECK_INT(stored_count(&r), 0);
}

/* A crash after some steps of the store: each task is offered once more, whatever was written of its row. */
TEST(backlog_loses_nothing_in_a_crash) {
    for (int steps = 0; steps < 8; steps++) {
        cleanup(asks_done) struct asks a = {0};
        cleanup(ask_done) struct ask p = {0};
        cleanup(rig_done) struct rig r;
        rig_init_manual(&r);
        boot_limited(&r, 1);
        int answered = 0;
        for (int i = 0; i < 6; i++) {
            char id[32];
            (void)snprintf(id, sizeof id, "wf%d", i);
            rig_start(&r, &a.at[i], id);
            for (int k = 0;
                 k < steps && (mem_store_pending_commits(r.store) || mem_store_pending_reads(r.store)); k++)
                go_on(&r);
        }
        rig_poll(&r, &p, "queue");
        for (int i = 0; i < 6; i++)
            answered += a.at[i].is_done;
        rig_stop(&r);
        r.is_manual = false;
        rig_boot(&r);
        int64_t offered = backlog_of(&r);
        CHECK(offered >= answered && offered <= 6);
        for (int64_t i = 0; i < offered; i++) {
            cleanup(ask_done) struct ask q = {0}, b = {0};
            rig_poll(&r, &q, "queue");
            if (CHECK(*task_id(&q)))
                rig_finish(&r, &b, &q);
        }
        expect_nothing(&r);
    }
}

TEST(backlog_goes_with_its_namespace) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    struct arena *m = ask_begin(&r, &a);
    Ws__RegisterNamespaceRequest *made =
        MAKE(m, Ws__RegisterNamespaceRequest, ws__register_namespace_request__init);
    made->namespace_ = make_text(m, "doomed");
    made->workflow_execution_retention_period = make_duration(m, 86400 * USEC_PER_SEC);
    RIG_SEND(&r, &a, register_namespace, made);
    CHECK_OK(&a);
    for (int i = 0; i < RUNS; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "wf%d", i);
        Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, id);
        req->namespace_ = make_text(ask_arena(&a), "doomed");
        RIG_SEND(&r, &a, start_workflow, req);
        CHECK_OK(&a);
    }
    CHECK_INT(stored_count(&r), RUNS - 2);
    m = ask_begin(&r, &a);
    Ops__DeleteNamespaceRequest *req =
        MAKE(m, Ops__DeleteNamespaceRequest, ops__delete_namespace_request__init);
    req->namespace_ = make_text(m, "doomed");
    RIG_SEND(&r, &a, delete_namespace, req);
    CHECK_OK(&a);
    for (int i = 0; i < 100; i++)
        rig_advance(&r, 100 * USEC_PER_MS);
    CHECK_INT(stored_count(&r), 0);
}

/* activities */

static void schedule_activities(struct rig *r, int count) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_start(r, &a, "wf");
    rig_poll(r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    for (int i = 0; i < count; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "%d", i);
        add_command(&a, req, make_activity(ask_arena(&a), id));
    }
    RIG_SEND(r, &a, complete_workflow_task, req);
    CHECK_OK(&a);
}

TEST(backlog_of_activities_is_drained_in_order_and_only_once) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    schedule_activities(&r, 7);
    CHECK_INT(stored_count(&r), 5);
    for (int i = 0; i < 7; i++) {
        cleanup(ask_done) struct ask p = {0}, a = {0};
        char id[32];
        (void)snprintf(id, sizeof id, "%d", i);
        if (i == 3)
            rig_restart(&r);
        rig_poll_activity(&r, &p);
        const Ws__PollActivityTaskQueueResponse *resp = p.response;
        CHECK_STR(resp ? resp->activity_id : "", id);
        rig_complete_activity(&r, &a, &p);
        CHECK_OK(&a);
    }
    cleanup(ask_done) struct ask p = {0};
    rig_poll_activity(&r, &p);
    CHECK(!p.is_done);
    ask_cancel(&r, &p);
}

TEST(backlog_keeps_to_the_rate) {
    cleanup(asks_done) struct asks p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 1);
    schedule_activities(&r, 3);
    for (int i = 0; i < 3; i++) {
        struct arena *m = ask_begin(&r, &p.at[i]);
        Ws__PollActivityTaskQueueRequest *req =
            MAKE(m, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
        req->namespace_ = make_text(m, "default");
        req->task_queue = make_queue(m, "queue");
        req->identity = make_text(m, "worker");
        req->task_queue_metadata =
            MAKE(m, Taskqueue__TaskQueueMetadata, taskqueue__task_queue_metadata__init);
        req->task_queue_metadata->max_tasks_per_second =
            MAKE(m, Google__Protobuf__DoubleValue, google__protobuf__double_value__init);
        req->task_queue_metadata->max_tasks_per_second->value = 1;
        RIG_SEND(&r, &p.at[i], poll_activity_task, req);
    }
    CHECK(p.at[0].is_done && !p.at[1].is_done && !p.at[2].is_done);
    rig_advance(&r, USEC_PER_SEC);
    CHECK(p.at[1].is_done && !p.at[2].is_done);
    rig_advance(&r, USEC_PER_SEC);
    CHECK(p.at[2].is_done);
}

/* versions */

static void poll_version(struct rig *r, struct ask *a, const char *build_id) {
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, "queue");
    struct arena *m = ask_arena(a);
    req->deployment_options =
        MAKE(m, Deployment__WorkerDeploymentOptions, deployment__worker_deployment_options__init);
    req->deployment_options->deployment_name = make_text(m, "web");
    req->deployment_options->build_id = make_text(m, build_id);
    req->deployment_options->worker_versioning_mode = WORKER_VERSIONING_MODE_VERSIONED;
    RIG_SEND(r, a, poll_workflow_task, req);
}

static void send_ramp(struct rig *r, struct ask *a, const char *build_id, float percentage) {
    struct arena *m = ask_begin(r, a);
    Ws__SetWorkerDeploymentRampingVersionRequest *req =
        MAKE(m, Ws__SetWorkerDeploymentRampingVersionRequest,
             ws__set_worker_deployment_ramping_version_request__init);
    req->namespace_ = make_text(m, "default");
    req->deployment_name = make_text(m, "web");
    req->build_id = make_text(m, build_id);
    req->percentage = percentage;
    req->ignore_missing_task_queues = true;
    RIG_SEND(r, a, set_worker_deployment_ramping_version, req);
}

static void set_ramp(struct rig *r, const char *build_id, float percentage) {
    cleanup(ask_done) struct ask a = {0};
    send_ramp(r, &a, build_id, percentage);
    CHECK_OK(&a);
}

static void make_current(struct rig *r, const char *build_id) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    poll_version(r, &p, build_id);
    ask_cancel(r, &p);
    struct arena *m = ask_begin(r, &a);
    Ws__SetWorkerDeploymentCurrentVersionRequest *req =
        MAKE(m, Ws__SetWorkerDeploymentCurrentVersionRequest,
             ws__set_worker_deployment_current_version_request__init);
    req->namespace_ = make_text(m, "default");
    req->deployment_name = make_text(m, "web");
    req->build_id = make_text(m, build_id);
    req->ignore_missing_task_queues = true;
    RIG_SEND(r, &a, set_worker_deployment_current_version, req);
    CHECK_OK(&a);
}

static bool version_gets(struct rig *r, const char *build_id, const char *workflow_id) {
    cleanup(ask_done) struct ask p = {0};
    poll_version(r, &p, build_id);
    bool has = p.is_done;
    if (has && workflow_id)
        CHECK_STR(task_id(&p), workflow_id);
    if (!has)
        ask_cancel(r, &p);
    return has;
}

TEST(backlog_follows_the_current_version) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    start_many(&r, "wf", RUNS, 0);
    make_current(&r, "1");
    CHECK_INT(backlog_of(&r), RUNS);
    expect_nothing(&r);
    for (int i = 0; i < RUNS; i++) {
        char id[32];
        (void)snprintf(id, sizeof id, "wf%d", i);
        if (i == 4)
            make_current(&r, "2");
        CHECK(version_gets(&r, i < 4 ? "1" : "2", id));
    }
    CHECK(!version_gets(&r, "1", NULL) && !version_gets(&r, "2", NULL));
    CHECK_INT(stored_count(&r), 0);
}

/* The head of the current version's queue is full and nobody takes it; those of the other version must come
 * by. */
TEST(backlog_gives_a_ramping_version_its_share) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 2);
    make_current(&r, "1");
    cleanup(ask_done) struct ask p = {0};
    poll_version(&r, &p, "2");
    ask_cancel(&r, &p);
    start_many(&r, "wf", 40, 0);
    CHECK(!version_gets(&r, "2", NULL));
    set_ramp(&r, "2", 50);
    int got = 0, rest = 0;
    while (version_gets(&r, "2", NULL))
        got++;
    CHECK(got > 5 && got < 35);
    CHECK_INT(backlog_of(&r), 40 - got);
    while (version_gets(&r, "1", NULL))
        rest++;
    CHECK_INT(got + rest, 40);
    CHECK_INT(stored_count(&r), 0);
}

static void store_by_hand(struct rig *r, bool is_manual) {
    r->is_manual = is_manual;
    mem_store_set_auto(r->store, !is_manual);
}

/* What is moved leaves its row with the open group, while the one before is still on its way to the disk. */
TEST(backlog_moves_a_row_once) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 1);
    make_current(&r, "1");
    poll_version(&r, &p, "2");
    ask_cancel(&r, &p);
    start_many(&r, "wf", 40, 0);
    store_by_hand(&r, true);
    send_ramp(&r, &a, "2", 50);
    int got = 0;
    for (int i = 0; i < 200; i++) {
        cleanup(ask_done) struct ask s = {0};
        go_on(&r);
        got += version_gets(&r, "1", NULL);
        rig_signal(&r, &s, "wf0", ""); /* there is always a group to write */
        ask_cancel(&r, &s);
    }
    CHECK_OK(&a);
    rig_settle(&r);
    store_by_hand(&r, false);
    while (version_gets(&r, "1", NULL) || version_gets(&r, "2", NULL))
        got++;
    CHECK_INT(got, 40);
    CHECK_INT(stored_count(&r), 0);
}

/* sticky queues */

TEST(backlog_of_a_worker_that_leaves_goes_to_the_normal_queue) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    boot_limited(&r, 1);
    char id[32];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(id, sizeof id, "wf%d", i);
        start(&r, id, 0);
        rig_poll(&r, &p, "queue");
        rig_complete_sticky(&r, &a, &p, "sticky");
        CHECK_OK(&a);
    }
    rig_poll_sticky(&r, &p, "sticky");
    ask_cancel(&r, &p);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(id, sizeof id, "wf%d", i);
        rig_signal(&r, &a, id, "");
    }
    CHECK_INT(stored_count(&r), 4);
    CHECK_INT(backlog_of(&r), 0);
    struct arena *m = ask_begin(&r, &a);
    Ws__ShutdownWorkerRequest *req = MAKE(m, Ws__ShutdownWorkerRequest, ws__shutdown_worker_request__init);
    req->namespace_ = make_text(m, "default");
    req->sticky_task_queue = make_text(m, "sticky");
    RIG_SEND(&r, &a, shutdown_worker, req);
    CHECK_OK(&a);
    CHECK_INT(backlog_of(&r), 5);
    expect_many(&r, "wf", 0, 5);
    CHECK_INT(stored_count(&r), 0);
}
