/* Batch jobs in an engine that dies wherever it can: every target is changed once, and counted once. */
#include <stdio.h>

#include "batch.pb-c.h"
#include "engine_fixture.h"

#define TARGETS 7
#define JOB "job"

struct plan {
    const char *name;
    void (*fill)(struct arena *m, Ws__StartBatchOperationRequest *req);
    bool is_listed;
};

static void signals(struct arena *m, Ws__StartBatchOperationRequest *req) {
    req->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_SIGNAL_OPERATION;
    req->signal_operation = MAKE(m, Batch__BatchOperationSignal, batch__batch_operation_signal__init);
    req->signal_operation->signal = make_text(m, "go");
}

static void terminates(struct arena *m, Ws__StartBatchOperationRequest *req) {
    req->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_TERMINATION_OPERATION;
    req->termination_operation =
        MAKE(m, Batch__BatchOperationTermination, batch__batch_operation_termination__init);
}

static void deletes(struct arena *m, Ws__StartBatchOperationRequest *req) {
    req->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_DELETION_OPERATION;
    req->deletion_operation = MAKE(m, Batch__BatchOperationDeletion, batch__batch_operation_deletion__init);
}

static void resets(struct arena *m, Ws__StartBatchOperationRequest *req) {
    req->operation_case = WS__START_BATCH_OPERATION_REQUEST__OPERATION_RESET_OPERATION;
    req->reset_operation = MAKE(m, Batch__BatchOperationReset, batch__batch_operation_reset__init);
    req->reset_operation->reset_type = RESET_TYPE_FIRST_WORKFLOW_TASK;
}

static const char *target_id(int i, char *buf, size_t size) {
    (void)snprintf(buf, size, "target-%d", i);
    return buf;
}

static Ws__StartBatchOperationRequest *ask_batch(struct rig *r, struct ask *a, const struct plan *p) {
    struct arena *m = ask_begin(r, a);
    Ws__StartBatchOperationRequest *req =
        MAKE(m, Ws__StartBatchOperationRequest, ws__start_batch_operation_request__init);
    char id[32];
    req->namespace_ = make_text(m, "default");
    req->job_id = make_text(m, JOB);
    req->reason = make_text(m, "because");
    p->fill(m, req);
    if (!p->is_listed) {
        req->visibility_query = make_text(m, "WorkflowId STARTS_WITH 'target-'");
        return req;
    }
    req->executions = arena_array(m, Common__WorkflowExecution *, TARGETS);
    ensure(req->executions);
    for (int i = 0; i < TARGETS; i++)
        req->executions[req->n_executions++] = make_execution(m, target_id(i, id, sizeof(id)), "");
    return req;
}

static const Ws__DescribeBatchOperationResponse *describe(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeBatchOperationRequest *req =
        MAKE(m, Ws__DescribeBatchOperationRequest, ws__describe_batch_operation_request__init);
    req->namespace_ = make_text(m, "default");
    req->job_id = make_text(m, JOB);
    RIG_SEND(r, a, describe_batch, req);
    if (r->is_manual)
        rig_settle(r);
    return a->response;
}

static void begin_targets(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    char id[32];
    for (int i = 0; i < TARGETS; i++) {
        RIG_SEND(r, &a, start_workflow, ask_start(r, &a, target_id(i, id, sizeof(id))));
        rig_settle(r);
        CHECK_OK(&a);
    }
}

/* One thing that the world does: time passes, a read is answered, or a batch becomes durable. */
static void one_thing(struct rig *r, int64_t us) {
    if (mem_store_pending_reads(r->store) > 0)
        rig_read(r);
    else if (mem_store_pending_commits(r->store) > 0)
        rig_commit(r);
    else
        rig_advance(r, us);
}

static bool is_over(struct rig *r) {
    cleanup(ask_done) struct ask a = {0};
    const Ws__DescribeBatchOperationResponse *job = describe(r, &a);
    return job && job->state != BATCH_OPERATION_STATE_RUNNING;
}

static int count_events(struct rig *r, int i, const char *name) {
    cleanup(ask_done) struct ask a = {0};
    char id[32];
    rig_history(r, &a, target_id(i, id, sizeof(id)));
    rig_settle(r);
    if (a.err.code)
        return -1;
    int count = 0;
    for (const char *at = ask_events(&a); (at = strstr(at, name)); at += strlen(name))
        count++;
    return count;
}

static void check_targets(struct rig *r, const struct plan *p) {
    for (int i = 0; i < TARGETS; i++) {
        if (p->fill == deletes)
            CHECK_INT(count_events(r, i, "RUN_STARTED"), -1);
        else
            CHECK_INT(count_events(r, i, p->fill == signals ? "SIGNALED" : "TERMINATED"), 1);
    }
}

/* Crashes after so many things, heard or unheard; false when the job was over before. */
static bool crash_after(const struct plan *p, int things, bool is_unheard) {
    cleanup(ask_done) struct ask start = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    begin_targets(&r);
    RIG_SEND(&r, &start, start_batch, ask_batch(&r, &start, p));
    rig_settle(&r);
    CHECK_OK(&start);
    for (int i = 0; i < things; i++)
        one_thing(&r, USEC_PER_MS);
    bool was_over = engine_idle(r.engine) && is_over(&r);
    if (is_unheard && mem_store_pending_commits(r.store) > 0)
        mem_store_commit_unannounced(r.store);
    rig_restart(&r);
    rig_settle(&r);
    for (int i = 0; i < 400; i++)
        one_thing(&r, USEC_PER_MS);
    rig_settle(&r);
    const Ws__DescribeBatchOperationResponse *job = describe(&r, &a);
    CHECK(job);
    if (job) {
        CHECK_INT(job->state, BATCH_OPERATION_STATE_COMPLETED);
        CHECK_INT(job->total_operation_count, TARGETS);
        CHECK_INT(job->complete_operation_count, TARGETS);
        CHECK_INT(job->failure_operation_count, 0);
    }
    check_targets(&r, p);
    return !was_over;
}

TEST(each_target_once_wherever_the_process_dies) {
    static const struct plan plans[] = {
        {"signal", signals, false},       {"terminate", terminates, false}, {"delete", deletes, false},
        {"signal a list", signals, true}, {"delete a list", deletes, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
        int things = 0;
        while (things < 200 && crash_after(&plans[i], things, things % 2))
            things++;
        CHECK(things > 3 && things < 200); /* it was interrupted, and came to an end */
    }
}

TEST(stopped_in_the_middle_it_changes_no_more) {
    static const struct plan p = {"terminate", terminates, false};
    cleanup(ask_done) struct ask start = {0}, stop = {0}, other = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    begin_targets(&r);
    Ws__StartBatchOperationRequest *req = ask_batch(&r, &start, &p);
    req->max_operations_per_second = 1;
    RIG_SEND(&r, &start, start_batch, req);
    rig_settle(&r);
    CHECK_OK(&start);
    for (int i = 0; i < 3; i++) {
        rig_advance(&r, USEC_PER_SEC);
        rig_settle(&r);
    }
    Ws__StartBatchOperationRequest *second = ask_batch(&r, &other, &p);
    second->job_id = make_text(ask_arena(&other), "another");
    RIG_SEND(&r, &other, start_batch, second);
    rig_settle(&r);
    CHECK_FAILS(&other, ERR_FULL, "Max concurrent batch operations is reached");
    struct arena *m = ask_begin(&r, &stop);
    Ws__StopBatchOperationRequest *end =
        MAKE(m, Ws__StopBatchOperationRequest, ws__stop_batch_operation_request__init);
    end->namespace_ = make_text(m, "default");
    end->job_id = make_text(m, JOB);
    end->reason = make_text(m, "enough");
    RIG_SEND(&r, &stop, stop_batch, end);
    rig_settle(&r);
    CHECK_OK(&stop);
    const Ws__DescribeBatchOperationResponse *job = describe(&r, &a);
    REQUIRE(job);
    int64_t done = job->complete_operation_count;
    CHECK_INT(job->state, BATCH_OPERATION_STATE_FAILED);
    CHECK(done >= 1 && done < TARGETS);
    rig_restart(&r);
    rig_settle(&r);
    for (int i = 0; i < 20; i++) {
        rig_advance(&r, USEC_PER_SEC);
        rig_settle(&r);
    }
    int64_t terminated = 0;
    for (int i = 0; i < TARGETS; i++)
        terminated += count_events(&r, i, "TERMINATED");
    CHECK_INT(terminated, done);
}

TEST(goes_with_its_namespace_and_its_retention) {
    static const struct plan p = {"signal", signals, true};
    cleanup(ask_done) struct ask start = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    RIG_SEND(&r, &start, start_batch, ask_batch(&r, &start, &p));
    CHECK_OK(&start);
    for (int i = 0; i < 10; i++)
        rig_advance(&r, USEC_PER_MS);
    const Ws__DescribeBatchOperationResponse *job = describe(&r, &a);
    REQUIRE(job);
    CHECK_INT(job->state, BATCH_OPERATION_STATE_COMPLETED);
    CHECK_INT(job->complete_operation_count, TARGETS); /* none of them is there */
    rig_advance(&r, 25 * 3600 * USEC_PER_SEC);
    rig_advance(&r, 120 * USEC_PER_SEC);
    (void)describe(&r, &a);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
}

/* A new run takes the place of the current one. */
static void replace(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, &a, workflow_id);
    req->workflow_id_conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING;
    RIG_SEND(r, &a, start_workflow, req);
    CHECK_OK(&a);
}

/* Long enough for one target. */
static void one_turn_of_the_job(struct rig *r) {
    rig_advance(r, USEC_PER_SEC);
    for (int i = 0; i < 20; i++)
        rig_advance(r, USEC_PER_MS);
}

TEST(a_run_that_closes_before_its_turn_is_reset_once) {
    static const struct plan p = {"reset", resets, false};
    cleanup(ask_done) struct ask a = {0}, start = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "target-a");
    rig_advance(&r, USEC_PER_MS);
    rig_start(&r, &a, "target-b"); /* comes first in a list */
    Ws__StartBatchOperationRequest *req = ask_batch(&r, &start, &p);
    req->max_operations_per_second = 1;
    RIG_SEND(&r, &start, start_batch, req);
    CHECK_OK(&start);
    one_turn_of_the_job(&r);
    replace(&r, "target-a"); /* is on the page, as open */
    one_turn_of_the_job(&r);
    replace(&r, "target-a"); /* so that what is current does not tell who has made it */
    for (int i = 0; i < 10 && !is_over(&r); i++)
        one_turn_of_the_job(&r);
    const Ws__DescribeBatchOperationResponse *job = describe(&r, &a);
    REQUIRE(job);
    CHECK_INT(job->state, BATCH_OPERATION_STATE_COMPLETED);
    CHECK_INT(job->complete_operation_count, 1); /* the first target-a */
    CHECK_INT(job->failure_operation_count, 1); /* target-b has no task to go back to */
}

/* One thing that the store or the clock can do. */
static void next_move(struct rig *r) {
    if (mem_store_pending_reads(r->store))
        rig_read(r);
    else if (mem_store_pending_commits(r->store))
        rig_commit(r);
    else
        rig_advance(r, USEC_PER_MS);
}

/* A job resets a run, all of which must be read; after some moves its namespace is deleted. */
static void delete_space_after(int moves) {
    static const struct plan p = {"reset", resets, true};
    cleanup(ask_done) struct ask a = {0}, task = {0}, start = {0}, del = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "target-0");
    rig_poll(&r, &task, "queue");
    rig_complete(&r, &a, &task);
    r.is_manual = true;
    rig_restart(&r);
    rig_settle(&r);
    RIG_SEND(&r, &start, start_batch, ask_batch(&r, &start, &p));
    for (int i = 0; i < moves; i++)
        next_move(&r);
    struct arena *m = ask_begin(&r, &del);
    Ops__DeleteNamespaceRequest *req =
        MAKE(m, Ops__DeleteNamespaceRequest, ops__delete_namespace_request__init);
    req->namespace_ = make_text(m, "default");
    RIG_SEND(&r, &del, delete_namespace, req);
    for (int i = 0; i < 50; i++)
        next_move(&r);
    CHECK_OK(&del);
    CHECK(start.is_done);
}

TEST(its_namespace_may_go_at_any_moment) {
    for (int moves = 0; moves < 30; moves++)
        delete_space_after(moves);
}

/* Whatever keeps callers from waiting, the engine's own work goes on. */
TEST(goes_on_while_no_more_calls_may_wait) {
    static const struct plan p = {"signal", signals, false};
    cleanup(ask_done) struct ask a = {0}, start = {0}, parked = {0}, refused = {0};
    cleanup(rig_done) struct rig r;
    char id[32];
    rig_init(&r);
    r.parked_max = 1;
    rig_restart(&r);
    for (int i = 0; i < TARGETS; i++)
        rig_start(&r, &a, target_id(i, id, sizeof(id)));
    rig_poll(&r, &parked, "idle");
    CHECK(!parked.is_done);
    rig_poll(&r, &refused, "idle");
    CHECK_INT(refused.err.code, ERR_NO_MEMORY);
    RIG_SEND(&r, &start, start_batch, ask_batch(&r, &start, &p));
    CHECK_OK(&start);
    for (int i = 0; i < 100 && !is_over(&r); i++)
        rig_advance(&r, USEC_PER_SEC);
    const Ws__DescribeBatchOperationResponse *job = describe(&r, &a);
    REQUIRE(job);
    CHECK_INT(job->state, BATCH_OPERATION_STATE_COMPLETED);
    CHECK_INT(job->complete_operation_count, TARGETS);
}
