/* What metrics say of runs and task queues: counted once, the same after a restart, and bounded. */
#include <stdio.h>

#include "core/step/step.h"
#include "engine/counters.h"
#include "engine_fixture.h"

static void start_as(struct rig *r, const char *workflow_id, const char *type, const char *queue) {
    cleanup(ask_done) struct ask a = {0};
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, &a, workflow_id);
    req->workflow_type->name = make_text(ask_arena(&a), type);
    req->task_queue->name = make_text(ask_arena(&a), queue);
    RIG_SEND(r, &a, start_workflow, req);
    CHECK_OK(&a);
}

static void terminate(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_terminate(r, &a, workflow_id);
    CHECK_OK(&a);
}

static int64_t open_runs(const struct rig *r) {
    struct engine_counters c;
    engine_counters(r->engine, &c);
    CHECK_INT(c.space_count, 2); /* default, and the one that is called other */
    for (size_t i = 0; i < c.space_count; i++)
        if (cstr_eq(c.spaces[i].name, "default"))
            return c.spaces[i].tallies[TALLY_RUN];
    return -1;
}

static uint64_t terminated(const struct engine_counters *c, const char *type) {
    const struct type_counter *t;
    for (size_t i = 0; (t = map_next(c->types, &i));)
        if (cstr_eq(t->namespace_name, "default") && cstr_eq(t->workflow_type, type))
            return t->closed[WORKFLOW_EXECUTION_STATUS_TERMINATED];
    return 0;
}

TEST(tally_of_open_runs_survives_a_restart) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    CHECK_INT(open_runs(&r), 0);
    start_as(&r, "a", "type", "queue");
    start_as(&r, "b", "type", "queue");
    start_as(&r, "c", "type", "queue");
    CHECK_INT(open_runs(&r), 3);
    terminate(&r, "a");
    CHECK_INT(open_runs(&r), 2);
    rig_restart(&r);
    CHECK_INT(open_runs(&r), 2);
    terminate(&r, "b"); /* a body that was loaded */
    CHECK_INT(open_runs(&r), 1);
    rig_restart(&r);
    CHECK_INT(open_runs(&r), 1);
}

TEST(tally_of_a_run_that_is_removed) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    struct engine_counters c;
    rig_init(&r);
    start_as(&r, "wf", "type", "queue");
    struct arena *m = ask_begin(&r, &a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(m, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    RIG_SEND(&r, &a, delete_workflow, req);
    CHECK_OK(&a);
    CHECK_INT(open_runs(&r), 0);
    engine_counters(r.engine, &c);
    CHECK_INT(terminated(&c, "type"), 1);
}

TEST(tally_of_types_is_bounded) {
    cleanup(rig_done) struct rig r;
    struct engine_counters c;
    char type[ENGINE_METRIC_NAME_BYTES + 2];
    rig_init(&r);
    for (int i = 0; i < ENGINE_METRIC_TYPES + 3; i++) {
        (void)snprintf(type, sizeof(type), "type-%d", i);
        start_as(&r, type, type, "queue");
        terminate(&r, type);
    }
    memset(type, 'x', sizeof(type));
    type[sizeof(type) - 1] = 0;
    start_as(&r, "long", type, "queue");
    terminate(&r, "long");
    start_as(&r, "named so", "other", "queue");
    terminate(&r, "named so");
    engine_counters(r.engine, &c);
    CHECK_INT(map_count(c.types), ENGINE_METRIC_TYPES + 1);
    CHECK_INT(terminated(&c, "type-0"), 1);
    CHECK_INT(terminated(&c, "other"), 5);
    CHECK_INT(terminated(&c, type), 0);
}

TEST(tally_of_failed_tasks) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    struct engine_counters c;
    const struct type_counter *t;
    size_t i = 0;
    rig_init(&r);
    start_as(&r, "wf", "type", "queue");
    rig_poll(&r, &p, "queue");
    rig_fail_task(&r, &a, &p);
    CHECK_OK(&a);
    engine_counters(r.engine, &c);
    t = map_next(c.types, &i);
    if (CHECK(t))
        CHECK_INT(t->task_failures[TASK_FAILURE_REPORTED], 1);
    rig_poll(&r, &p, "queue");
    rig_advance(&r, 10 * USEC_PER_SEC); /* the worker does not answer */
    if (t)
        CHECK_INT(t->task_failures[TASK_FAILURE_TIMEOUT], 1);
}

TEST(tally_shows_the_queues_that_wait_longest) {
    enum { QUEUES = ENGINE_METRIC_QUEUES + 10 };
    cleanup(ask_done) struct ask p = {0};
    cleanup(rig_done) struct rig r;
    struct engine_counters c;
    char name[32];
    rig_init(&r);
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof(name), "queue-%d", i);
        start_as(&r, name, "type", name);
        rig_advance(&r, USEC_PER_SEC);
    }
    engine_counters(r.engine, &c);
    CHECK_INT(c.age_count, ENGINE_METRIC_QUEUES);
    CHECK_INT(c.oldest_task_us[0], QUEUES * USEC_PER_SEC);
    CHECK_INT(c.oldest_task_us[1], 0);
    CHECK_INT(c.unpolled_queues[0], QUEUES);
    int64_t youngest = INT64_MAX;
    for (size_t i = 0; i < c.age_count; i++)
        youngest = MIN(youngest, c.ages[i].age_us);
    CHECK_INT(youngest, (QUEUES - ENGINE_METRIC_QUEUES + 1) * USEC_PER_SEC);
    rig_poll(&r, &p, "queue-0");
    engine_counters(r.engine, &c);
    CHECK_INT(c.unpolled_queues[0], QUEUES - 1);
    CHECK_INT(c.oldest_task_us[0], (QUEUES - 1) * USEC_PER_SEC);
    start_as(&r, "again", "type", "queue-0"); /* which has a worker */
    engine_counters(r.engine, &c);
    CHECK_INT(c.unpolled_queues[0], QUEUES - 1);
}

static bool polled_is(const struct ask *p, const char *workflow_id) {
    const Ws__PollWorkflowTaskQueueResponse *task = p->response;
    return task && task->workflow_execution && cstr_eq(task->workflow_execution->workflow_id, workflow_id);
}

TEST(tasks_wait_on_after_a_restart) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    struct engine_counters c;
    rig_init(&r);
    start_as(&r, "first", "type", "queue");
    rig_poll(&r, &p, "queue");
    rig_complete(&r, &a, &p);
    CHECK_OK(&a);
    start_as(&r, "second", "type", "queue");
    rig_advance(&r, 10 * USEC_PER_SEC);
    rig_signal(&r, &a, "first", "request"); /* has a task again, behind that of the other */
    rig_advance(&r, 5 * USEC_PER_SEC);
    rig_restart(&r);
    engine_counters(r.engine, &c);
    CHECK_INT(c.oldest_task_us[0], 15 * USEC_PER_SEC);
    rig_poll(&r, &p, "queue");
    CHECK(polled_is(&p, "second"));
    engine_counters(r.engine, &c);
    CHECK_INT(c.oldest_task_us[0], 5 * USEC_PER_SEC);
}
