/* Queries: asked directly, riding on a task, refused, failed, given up, and never in the history. */
#include "engine_fixture.h"

#define SEC USEC_PER_SEC

static bool has_task(const struct ask *a) {
    return a->is_done && ask_token(a).n > 0;
}

/* The query of a poll's answer that is nothing but a query. */
static const Query__WorkflowQuery *query_of(const struct ask *p) {
    const Ws__PollWorkflowTaskQueueResponse *t = has_task(p) ? p->response : NULL;
    return t ? t->query : NULL;
}

static struct str result_of(const struct ask *a) {
    const Ws__QueryWorkflowResponse *resp = a->response;
    if (!resp || !resp->query_result || resp->query_result->n_payloads != 1)
        return (struct str){NULL, 0};
    return pb_bytes(&resp->query_result->payloads[0]->data);
}

/* A run whose first task is completed and that waits for nothing. */
static void begin_idle(struct rig *r, struct ask *a, const char *sticky) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    rig_poll(r, &p, "queue");
    if (sticky)
        rig_complete_sticky(r, a, &p, sticky);
    else
        rig_complete(r, a, &p);
    CHECK_OK(a);
}

/* Completes the task in p, answering the one query that rides on it (or failing it). */
static void complete_with_result(struct rig *r, struct ask *a, const struct ask *p, const char *result) {
    const Ws__PollWorkflowTaskQueueResponse *t = p->response;
    CHECK(t && t->n_queries == 1);
    if (!t || t->n_queries != 1)
        return;
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, a, p);
    struct arena *m = ask_arena(a);
    Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry *e =
        MAKE(m, Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry,
             ws__respond_workflow_task_completed_request__query_results_entry__init);
    e->key = make_text(m, t->queries[0]->key);
    e->value = MAKE(m, Query__WorkflowQueryResult, query__workflow_query_result__init);
    e->value->result_type = result ? QUERY_RESULT_TYPE_ANSWERED : QUERY_RESULT_TYPE_FAILED;
    if (result)
        e->value->answer = make_payloads(m, result);
    else
        e->value->error_message = make_text(m, "no such query");
    req->query_results = arena_array(m, Ws__RespondWorkflowTaskCompletedRequest__QueryResultsEntry *, 1);
    ensure(req->query_results);
    req->query_results[0] = e;
    req->n_query_results = 1;
    RIG_SEND(r, a, complete_workflow_task, req);
}

/* directly */

TEST(query_of_an_idle_run_is_a_task_of_its_own) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    CHECK(!q.is_done);
    rig_poll(&r, &p, "queue");
    REQUIRE(query_of(&p));
    CHECK_STR(query_of(&p)->query_type, "state");
    CHECK_STR(ask_events(&p), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4");
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->started_event_id, 0);
    rig_answer_query(&r, &a, &p, "42");
    CHECK_OK(&a);
    CHECK_OK(&q);
    CHECK_SLICE(result_of(&q), STR("42"));
    rig_answer_query(&r, &a, &p, "43");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "query task not found, or already expired");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4");
}

TEST(query_goes_to_a_worker_that_waits) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_poll(&r, &p, "queue");
    rig_query(&r, &q, "wf");
    CHECK(query_of(&p));
    rig_answer_query(&r, &a, &p, "42");
    CHECK_OK(&q);
}

TEST(query_that_fails_carries_the_failure) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    rig_answer_query(&r, &a, &p, NULL);
    CHECK_OK(&a);
    CHECK_FAILS(&q, ERR_QUERY_FAILED, "no such query");
    REQUIRE(q.failure);
    CHECK_STR(q.failure->message, "no such query");
}

TEST(query_of_a_closed_run_is_answered_by_a_worker) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &a, &p);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    REQUIRE(query_of(&p));
    rig_answer_query(&r, &a, &p, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_goes_to_the_sticky_worker_without_history) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, "sticky");
    rig_poll(&r, &normal, "queue");
    rig_poll_sticky(&r, &p, "sticky");
    rig_query(&r, &q, "wf");
    REQUIRE(query_of(&p));
    CHECK_STR(ask_events(&p), "");
    rig_answer_query(&r, &a, &p, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
    CHECK(!normal.is_done);
}

TEST(query_falls_back_to_the_normal_queue) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, "sticky");
    rig_poll_sticky(&r, &p, "sticky");
    ask_cancel(&r, &p);
    rig_poll(&r, &normal, "queue");
    rig_query(&r, &q, "wf");
    CHECK(!normal.is_done);
    rig_advance(&r, 5 * SEC); /* the sticky schedule-to-start timeout */
    REQUIRE(query_of(&normal));
    CHECK_STR(ask_events(&normal), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4");
    rig_answer_query(&r, &a, &normal, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_goes_straight_to_the_normal_queue_without_a_sticky_worker) {
    cleanup(ask_done) struct ask a = {0}, q = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, "sticky");
    rig_poll(&r, &normal, "queue");
    rig_query(&r, &q, "wf");
    CHECK(query_of(&normal));
}

TEST(query_whose_worker_is_lost_is_asked_again) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, other = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    CHECK(query_of(&p));
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    rig_poll(&r, &other, "queue");
    REQUIRE(query_of(&other));
    rig_answer_query(&r, &a, &other, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_lost_twice_is_asked_once_more) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, other = {0}, more = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    engine_task_lost(r.engine, ask_token(&p));
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    rig_poll(&r, &other, "queue");
    REQUIRE(query_of(&other));
    rig_answer_query(&r, &a, &other, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
    rig_poll(&r, &more, "queue");
    CHECK(!more.is_done);
}

TEST(query_that_moved_to_the_normal_queue_is_not_moved_by_its_old_worker) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, other = {0}, more = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, "sticky");
    rig_poll_sticky(&r, &p, "sticky");
    rig_query(&r, &q, "wf");
    CHECK(query_of(&p));
    rig_advance(&r, 5 * SEC);
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    rig_poll(&r, &other, "queue");
    REQUIRE(query_of(&other));
    rig_answer_query(&r, &a, &other, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
    rig_poll(&r, &more, "queue");
    CHECK(!more.is_done);
}

/* riding on a task */

TEST(query_rides_on_the_first_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    const Ws__PollWorkflowTaskQueueResponse *t = p.response;
    REQUIRE(t && t->n_queries == 1 && t->queries[0]->value);
    CHECK(!t->query);
    CHECK_STR(t->queries[0]->value->query_type, "state");
    complete_with_result(&r, &a, &p, "42");
    CHECK_OK(&a);
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_that_fails_on_a_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    complete_with_result(&r, &a, &p, NULL);
    CHECK_OK(&a);
    CHECK_FAILS(&q, ERR_QUERY_FAILED, "no such query");
}

TEST(query_on_a_task_is_answered_when_the_completion_is_durable) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    complete_with_result(&r, &b, &p, "42");
    CHECK(!b.is_done && !q.is_done);
    rig_commit(&r);
    CHECK_OK(&b);
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_behind_a_started_task_waits_for_the_next) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, next = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_query(&r, &q, "wf");
    rig_signal(&r, &a, "wf", "");
    rig_complete(&r, &a, &p);
    CHECK(!q.is_done);
    rig_poll(&r, &next, "queue");
    complete_with_result(&r, &a, &next, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_without_an_answer_from_its_task_is_asked_directly) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, direct = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    rig_complete(&r, &a, &p); /* says nothing about it */
    CHECK(!q.is_done);
    rig_poll(&r, &direct, "queue");
    REQUIRE(query_of(&direct));
    rig_answer_query(&r, &a, &direct, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_on_a_failed_task_rides_on_the_next) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, next = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    rig_fail_task(&r, &a, &p);
    CHECK(!q.is_done);
    rig_poll(&r, &next, "queue");
    complete_with_result(&r, &a, &next, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_of_a_run_that_closes_meanwhile_is_asked_directly) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, direct = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_query(&r, &q, "wf");
    rig_finish(&r, &a, &p);
    CHECK_OK(&a);
    rig_poll(&r, &direct, "queue");
    REQUIRE(query_of(&direct));
    rig_answer_query(&r, &a, &direct, "42");
    CHECK_SLICE(result_of(&q), STR("42"));
}

/* refused */

static void query_unless(struct rig *r, struct ask *q, int condition) {
    Ws__QueryWorkflowRequest *req = ask_query(r, q, "wf");
    req->query_reject_condition = (E__QueryRejectCondition)condition;
    RIG_SEND(r, q, query_workflow, req);
}

TEST(query_is_rejected_by_the_state_of_the_run) {
    static const struct {
        bool is_clean;
        int condition;
        bool is_rejected;
    } cases[] = {{true, QUERY_REJECT_CONDITION_NONE, false},
                 {true, QUERY_REJECT_CONDITION_NOT_OPEN, true},
                 {true, QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY, false},
                 {false, QUERY_REJECT_CONDITION_NONE, false},
                 {false, QUERY_REJECT_CONDITION_NOT_OPEN, true},
                 {false, QUERY_REJECT_CONDITION_NOT_COMPLETED_CLEANLY, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        rig_start(&r, &a, "wf");
        rig_poll(&r, &p, "queue");
        rig_complete(&r, &a, &p);
        rig_signal(&r, &a, "wf", "");
        rig_poll(&r, &p, "queue");
        if (cases[i].is_clean)
            rig_finish(&r, &a, &p);
        else
            rig_terminate(&r, &a, "wf");
        query_unless(&r, &q, cases[i].condition);
        CHECK_INT(q.is_done, cases[i].is_rejected);
        const Ws__QueryWorkflowResponse *resp = q.response;
        if (!cases[i].is_rejected)
            continue;
        REQUIRE(resp && resp->query_rejected);
        CHECK_INT(resp->query_rejected->status, cases[i].is_clean ? WORKFLOW_EXECUTION_STATUS_COMPLETED
                                                                  : WORKFLOW_EXECUTION_STATUS_TERMINATED);
    }
}

TEST(query_of_an_open_run_is_never_rejected) {
    cleanup(ask_done) struct ask a = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    query_unless(&r, &q, QUERY_REJECT_CONDITION_NOT_OPEN);
    CHECK(!q.is_done);
}

TEST(query_of_a_run_that_never_ran_is_not_possible) {
    cleanup(ask_done) struct ask a = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_terminate(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    CHECK_INT(q.err.code, ERR_NOT_READY);
}

TEST(query_of_a_run_whose_task_keeps_failing_is_not_possible) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    for (int i = 0; i < 2; i++) {
        rig_poll(&r, &p, "queue");
        rig_fail_task(&r, &a, &p);
    }
    rig_query(&r, &q, "wf");
    CHECK_FAILS(&q, ERR_NOT_READY, "Unable to query workflow due to Workflow Task in failed state.");
}

TEST(query_that_is_one_too_many_is_refused) {
    enum { MOST = 100 };
    struct ask all[MOST] = {{0}};
    cleanup(ask_done) struct ask a = {0}, q = {0};
    struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    for (size_t i = 0; i < MOST; i++)
        rig_query(&r, &all[i], "wf");
    rig_query(&r, &q, "wf");
    CHECK_INT(q.err.code, ERR_BUSY);
    CHECK_INT(q.err.cause, RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW);
    rig_done(&r);
    for (size_t i = 0; i < MOST; i++) {
        CHECK_INT(all[i].err.code, ERR_UNAVAILABLE);
        ask_done(&all[i]);
    }
}

/* time, and callers that go away */

TEST(query_without_a_worker_ends_after_half_a_minute) {
    cleanup(ask_done) struct ask a = {0}, q = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    rig_advance(&r, 30 * SEC);
    CHECK_INT(q.err.code, ERR_DEADLINE);
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
}

TEST(query_ends_before_the_callers_deadline) {
    cleanup(ask_done) struct ask a = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    Ws__QueryWorkflowRequest *req = ask_query(&r, &q, "wf");
    ask_call(&q)->deadline.us = r.now.mono.us + 3 * SEC;
    RIG_SEND(&r, &q, query_workflow, req);
    rig_advance(&r, 3 * SEC - 200 * USEC_PER_MS);
    CHECK_INT(q.err.code, ERR_DEADLINE);
}

TEST(query_given_up_in_every_state) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_query(&r, &q, "wf");
    ask_cancel(&r, &q); /* buffered */
    rig_query(&r, &q, "wf");
    rig_poll(&r, &p, "queue");
    ask_cancel(&r, &q); /* attached */
    complete_with_result(&r, &a, &p, "nobody wants it");
    CHECK_OK(&a);
    rig_query(&r, &q, "wf");
    ask_cancel(&r, &q); /* queued */
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
    rig_query(&r, &q, "wf");
    CHECK(query_of(&p));
    ask_cancel(&r, &q); /* with a worker */
    rig_answer_query(&r, &a, &p, "late");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "query task not found, or already expired");
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
}

TEST(query_whose_poll_goes_away_is_asked_again) {
    cleanup(ask_done) struct ask a = {0}, s = {0}, p = {0}, q = {0}, next = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &a, &p);
    rig_settle(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_query(&r, &q, "wf");
    rig_settle(&r); /* loads the run */
    rig_poll(&r, &p, "queue");
    CHECK_INT(mem_store_pending_reads(r.store), 1); /* its history */
    ask_cancel(&r, &p);
    rig_settle(&r);
    rig_poll(&r, &next, "queue");
    rig_settle(&r);
    REQUIRE(query_of(&next));
    rig_answer_query(&r, &s, &next, "42");
    rig_settle(&r);
    CHECK_SLICE(result_of(&q), STR("42"));
}

TEST(query_waiting_in_a_queue_at_the_end) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, other = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a, NULL);
    rig_query(&r, &q, "wf");
    rig_query(&r, &other, "wf");
    rig_poll(&r, &p, "queue");
    CHECK(query_of(&p)); /* one with a worker, one waiting */
    rig_stop(&r);
    CHECK_INT(q.err.code, ERR_UNAVAILABLE);
    CHECK_INT(other.err.code, ERR_UNAVAILABLE);
}
