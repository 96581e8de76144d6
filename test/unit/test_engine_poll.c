/* Polls: workers wait for tasks or tasks for workers, and no task is lost on the way. */
#include "engine_fixture.h"

#define SEC USEC_PER_SEC
#define FIRST_TASK "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3"

static bool has_task(const struct ask *a) {
    return a->is_done && ask_token(a).n > 0;
}

static bool is_empty(const struct ask *a) {
    return a->is_done && a->err.code == 0 && ask_token(a).n == 0;
}

TEST(poll_waits_for_a_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
    rig_start(&r, &a, "wf");
    CHECK(has_task(&p));
    CHECK_STR(ask_events(&p), FIRST_TASK);
}

TEST(poll_finds_a_task_that_waits) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    CHECK(has_task(&p));
    rig_poll(&r, &q, "queue");
    CHECK(!q.is_done); /* it was handed out once */
}

TEST(poll_hears_of_a_task_when_it_is_durable) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_poll(&r, &p, "queue");
    rig_start(&r, &a, "wf");
    rig_read(&r);
    CHECK(!p.is_done);
    rig_commit(&r);
    CHECK(a.is_done && has_task(&p));
    CHECK_INT(mem_store_pending_commits(r.store), 0); /* that it was started is not worth a commit */
}

TEST(poll_is_served_in_order) {
    cleanup(ask_done) struct ask a = {0}, first = {0}, second = {0}, third = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &first, "queue");
    rig_poll(&r, &second, "queue");
    rig_poll(&r, &third, "queue");
    rig_start(&r, &a, "one");
    CHECK(has_task(&first) && !second.is_done && !third.is_done);
    rig_start(&r, &a, "two");
    CHECK(has_task(&second) && !third.is_done);
}

TEST(poll_of_other_queues_kinds_and_namespaces_gets_nothing) {
    cleanup(ask_done) struct ask a = {0}, other = {0}, activity = {0}, space = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &other, "elsewhere");
    rig_poll_activity(&r, &activity);
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(&r, &space, "queue");
    req->namespace_ = make_text(ask_arena(&space), "other");
    RIG_SEND(&r, &space, poll_workflow_task, req);
    rig_start(&r, &a, "wf");
    CHECK(!other.is_done && !activity.is_done && !space.is_done);
}

/* time */

TEST(poll_is_answered_empty_after_a_minute) {
    cleanup(ask_done) struct ask p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &p, "queue");
    rig_poll_activity(&r, &q);
    CHECK(engine_next_wake_us(r.engine, r.now) <= 60 * SEC);
    rig_advance(&r, 60 * SEC - 1);
    CHECK(!p.is_done && !q.is_done);
    rig_advance(&r, 1);
    CHECK(is_empty(&p) && is_empty(&q));
}

TEST(poll_is_answered_a_second_before_the_callers_deadline) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(&r, &p, "queue");
    ask_call(&p)->deadline.us = r.now.mono.us + 10 * SEC;
    RIG_SEND(&r, &p, poll_workflow_task, req);
    rig_advance(&r, 9 * SEC - 1);
    CHECK(!p.is_done);
    rig_advance(&r, 1);
    CHECK(is_empty(&p));
    rig_start(&r, &a, "wf"); /* nobody is there any more */
    rig_poll(&r, &p, "queue");
    CHECK(has_task(&p));
}

/* how many of them a worker should have */

static int advice(const struct ask *a) {
    const Ws__PollWorkflowTaskQueueResponse *p = a->response;
    return p->poller_scaling_decision ? p->poller_scaling_decision->poll_request_delta_suggestion : 0;
}

TEST(poll_that_was_idle_is_one_too_many) {
    cleanup(ask_done) struct ask a = {0}, soon = {0}, late = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &soon, "queue");
    rig_poll(&r, &late, "queue");
    rig_advance(&r, SEC - 1);
    rig_start(&r, &a, "one");
    REQUIRE(has_task(&soon));
    CHECK_INT(advice(&soon), 0);
    rig_advance(&r, 1);
    rig_start(&r, &a, "two");
    REQUIRE(has_task(&late));
    CHECK_INT(advice(&late), -1);
}

TEST(poll_of_a_queue_that_waits_is_one_too_few) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, third = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "one");
    rig_start(&r, &a, "two");
    rig_start(&r, &a, "three");
    rig_start(&r, &a, "four");
    rig_advance(&r, SEC / 5);
    rig_poll(&r, &p, "queue");
    REQUIRE(has_task(&p));
    CHECK_INT(advice(&p), 0); /* not waiting for long */
    rig_advance(&r, 1);
    rig_poll(&r, &q, "queue");
    REQUIRE(has_task(&q));
    CHECK_INT(advice(&q), 1);
    rig_poll(&r, &third, "queue");
    REQUIRE(has_task(&third));
    CHECK_INT(advice(&third), 0); /* a moment ago it was told */
}

TEST(poll_that_gets_the_last_task_needs_no_other) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_advance(&r, 10 * SEC);
    rig_poll(&r, &p, "queue");
    REQUIRE(has_task(&p));
    CHECK_INT(advice(&p), 0);
}

/* callers that go away */

TEST(poll_given_up_while_waiting_takes_no_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &p, "queue");
    ask_cancel(&r, &p);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &q, "queue");
    CHECK(has_task(&q));
}

TEST(poll_given_up_after_the_match_gives_the_task_back) {
    cleanup(ask_done) struct ask a = {0}, s = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_signal(&r, &s, "wf", ""); /* makes the task's answer wait for a commit */
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
    ask_cancel(&r, &p);
    rig_poll(&r, &q, "queue");
    rig_settle(&r);
    CHECK(has_task(&q));
    CHECK_STR(ask_events(&q), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3 TASK_STARTED@4");
}

TEST(poll_given_up_while_the_run_loads_puts_the_task_back) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    CHECK_INT(mem_store_pending_reads(r.store), 1);
    ask_cancel(&r, &p);
    rig_poll(&r, &q, "queue");
    rig_settle(&r);
    CHECK(has_task(&q));
}

TEST(poll_answer_that_was_not_delivered_is_offered_again) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_poll(&r, &q, "queue");
    CHECK(!q.is_done);
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    CHECK(has_task(&q));
    CHECK_STR(ask_events(&q), FIRST_TASK);
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)q.response)->attempt, 1);
    rig_finish(&r, &a, &q);
    CHECK_OK(&a);
}

TEST(poll_token_of_a_lost_answer_is_dead_once_another_has_the_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    rig_advance(&r, SEC);
    rig_poll(&r, &q, "queue");
    CHECK(has_task(&q));
    rig_finish(&r, &a, &p);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "Workflow task not found.");
    engine_task_lost(r.engine, ask_token(&p)); /* and cannot take it from the other */
    rig_turn(&r);
    rig_finish(&r, &a, &q);
    CHECK_OK(&a);
    engine_task_lost(r.engine, ask_token(&q)); /* nor after the end */
    rig_turn(&r);
}

TEST(poll_lost_answer_with_an_activity_is_offered_again) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    add_command(&a, done, make_activity(ask_arena(&a), "act"));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    rig_poll_activity(&r, &act);
    CHECK(has_task(&act));
    engine_task_lost(r.engine, ask_token(&act));
    rig_turn(&r);
    rig_poll_activity(&r, &act);
    CHECK(has_task(&act));
    CHECK_INT(((const Ws__PollActivityTaskQueueResponse *)act.response)->attempt, 1);
    rig_complete_activity(&r, &a, &act);
    CHECK_OK(&a);
}

TEST(poll_gets_the_task_again_after_its_timeout) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_advance(&r, 10 * SEC);
    rig_poll(&r, &q, "queue");
    CHECK(has_task(&q));
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)q.response)->attempt, 2);
    CHECK_STR(ask_events(&q), FIRST_TASK " TASK_TIMED_OUT@4 TASK_SCHEDULED@5 TASK_STARTED@6");
    rig_finish(&r, &a, &p);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "Workflow task not found.");
    rig_finish(&r, &a, &q);
    CHECK_OK(&a);
}

TEST(poll_passes_over_tasks_of_closed_runs) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "gone");
    rig_start(&r, &a, "here");
    rig_terminate(&r, &a, "gone");
    rig_poll(&r, &p, "queue");
    REQUIRE(has_task(&p));
    CHECK_STR(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->workflow_execution->workflow_id,
              "here");
}

/* sticky queues */

/* A run whose first task was completed by a worker that polls "sticky". */
static void begin_sticky(struct rig *r, struct ask *a) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    rig_poll(r, &p, "queue");
    rig_complete_sticky(r, a, &p, "sticky");
    CHECK_OK(a);
}

TEST(poll_of_the_sticky_queue_gets_only_what_is_new) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_sticky(&r, &a);
    rig_poll(&r, &normal, "queue");
    rig_poll_sticky(&r, &p, "sticky");
    rig_signal(&r, &a, "wf", "");
    CHECK(has_task(&p) && !normal.is_done);
    CHECK_STR(ask_events(&p), "TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_STARTED@7");
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->previous_started_event_id, 3);
    CHECK_STR(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->workflow_execution_task_queue->name,
              "queue");
}

TEST(poll_of_the_normal_queue_serves_when_the_sticky_one_is_idle) {
    static const struct {
        int64_t idle_us;
        bool is_sticky;
    } cases[] = {{10 * SEC - 1, true}, {10 * SEC, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(ask_done) struct ask a = {0}, p = {0}, normal = {0};
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        begin_sticky(&r, &a);
        rig_poll_sticky(&r, &p, "sticky");
        ask_cancel(&r, &p);
        rig_advance(&r, cases[i].idle_us);
        rig_poll(&r, &normal, "queue");
        rig_signal(&r, &a, "wf", "");
        CHECK_INT(has_task(&normal), !cases[i].is_sticky);
        if (has_task(&normal)) /* with the full history, and no event for the change of queue */
            CHECK_STR(ask_events(&normal),
                      FIRST_TASK " TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_STARTED@7");
    }
}

TEST(poll_of_the_normal_queue_serves_after_the_sticky_timeout) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_sticky(&r, &a);
    rig_poll_sticky(&r, &p, "sticky");
    ask_cancel(&r, &p);
    rig_poll(&r, &normal, "queue");
    rig_signal(&r, &a, "wf", "");
    CHECK(!normal.is_done);
    rig_advance(&r, 5 * SEC);
    CHECK(has_task(&normal));
    CHECK_STR(ask_events(&normal),
              FIRST_TASK " TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_TIMED_OUT@7 "
                         "TASK_SCHEDULED@8 TASK_STARTED@9");
}

TEST(poll_of_the_normal_queue_serves_when_the_worker_says_goodbye) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, normal = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_sticky(&r, &a);
    rig_poll_sticky(&r, &p, "sticky");
    ask_cancel(&r, &p);
    rig_poll(&r, &normal, "queue");
    rig_signal(&r, &a, "wf", "");
    CHECK(!normal.is_done);
    struct arena *m = ask_begin(&r, &a);
    Ws__ShutdownWorkerRequest *req = MAKE(m, Ws__ShutdownWorkerRequest, ws__shutdown_worker_request__init);
    req->namespace_ = make_text(m, "default");
    req->sticky_task_queue = make_text(m, "sticky");
    RIG_SEND(&r, &a, shutdown_worker, req);
    CHECK_OK(&a);
    CHECK(has_task(&normal));
    CHECK_STR(ask_events(&normal),
              FIRST_TASK " TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_STARTED@7");
}

/* activities */

static void begin_activity(struct rig *r, struct ask *a, struct ask *act) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    rig_poll(r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(r, a, &p);
    add_command(a, done, make_activity(ask_arena(a), "act"));
    RIG_SEND(r, a, complete_workflow_task, done);
    rig_poll_activity(r, act);
    CHECK(has_task(act));
}

static void fail_activity(struct rig *r, struct ask *a, const struct ask *act, const char *details) {
    struct arena *m = ask_begin(r, a);
    Ws__RespondActivityTaskFailedRequest *req =
        MAKE(m, Ws__RespondActivityTaskFailedRequest, ws__respond_activity_task_failed_request__init);
    struct str token = ask_token(act);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->failure = MAKE(m, Failure__Failure, failure__failure__init);
    req->failure->message = make_text(m, "it failed");
    req->failure->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    req->failure->application_failure_info =
        MAKE(m, Failure__ApplicationFailureInfo, failure__application_failure_info__init);
    if (details)
        req->last_heartbeat_details = make_payloads(m, details);
    RIG_SEND(r, a, fail_activity, req);
}

static void heartbeat_as(struct rig *r, struct ask *a, const struct ask *act, const char *identity) {
    struct arena *m = ask_begin(r, a);
    Ws__RecordActivityTaskHeartbeatRequest *req =
        MAKE(m, Ws__RecordActivityTaskHeartbeatRequest, ws__record_activity_task_heartbeat_request__init);
    struct str token = ask_token(act);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});
    req->identity = make_text(m, identity);
    req->details = make_payloads(m, "progress");
    RIG_SEND(r, a, heartbeat_activity, req);
}

static void heartbeat(struct rig *r, struct ask *a, const struct ask *act) {
    heartbeat_as(r, a, act, "worker");
}

TEST(poll_gets_the_next_attempt_of_an_activity_after_its_back_off) {
    cleanup(ask_done) struct ask a = {0}, act = {0}, next = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_activity(&r, &a, &act);
    fail_activity(&r, &a, &act, "so far");
    CHECK_OK(&a);
    rig_poll_activity(&r, &next);
    CHECK(!next.is_done);
    rig_advance(&r, SEC);
    REQUIRE(has_task(&next));
    const Ws__PollActivityTaskQueueResponse *p = next.response;
    CHECK_INT(p->attempt, 2);
    REQUIRE(p->heartbeat_details && p->heartbeat_details->n_payloads == 1);
    CHECK_SLICE(pb_bytes(&p->heartbeat_details->payloads[0]->data), STR("so far"));
    CHECK_INT(p->scheduled_time->seconds, RIG_T0 / SEC);
    CHECK_INT(p->current_attempt_scheduled_time->seconds, RIG_T0 / SEC + 1);
    rig_complete_activity(&r, &a, &act); /* the first attempt's token */
    CHECK_FAILS(&a, ERR_NOT_FOUND,
                "invalid activityID or activity already timed out or invoking workflow is completed");
    rig_complete_activity(&r, &a, &next);
    CHECK_OK(&a);
}

static const char *last_identity(struct rig *r, struct ask *a) {
    rig_describe(r, a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a->response;
    return d && d->n_pending_activities == 1 ? d->pending_activities[0]->last_worker_identity : NULL;
}

TEST(poll_of_a_worker_without_an_identity_gets_that_of_its_heartbeats) {
    cleanup(ask_done) struct ask a = {0}, act = {0}, d = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_activity(&r, &a, &act);
    heartbeat_as(&r, &a, &act, "other");
    CHECK_STR(last_identity(&r, &d), "worker"); /* the one that has it */
    fail_activity(&r, &a, &act, NULL);
    rig_advance(&r, 2 * SEC);
    struct arena *m = ask_begin(&r, &act);
    Ws__PollActivityTaskQueueRequest *poll =
        MAKE(m, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
    poll->namespace_ = make_text(m, "default");
    poll->task_queue = make_queue(m, "queue");
    RIG_SEND(&r, &act, poll_activity_task, poll);
    CHECK(has_task(&act));
    CHECK_STR(last_identity(&r, &d), "");
    heartbeat_as(&r, &a, &act, "");
    CHECK_STR(last_identity(&r, &d), "");
    heartbeat_as(&r, &a, &act, "other");
    CHECK_STR(last_identity(&r, &d), "other");
    fail_activity(&r, &a, &act, NULL);
    CHECK_STR(last_identity(&r, &d), "");
}

TEST(poll_activity_hears_of_a_cancel_request_by_heartbeat) {
    cleanup(ask_done) struct ask a = {0}, act = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_activity(&r, &a, &act);
    heartbeat(&r, &a, &act);
    CHECK_OK(&a);
    CHECK(!((const Ws__RecordActivityTaskHeartbeatResponse *)a.response)->cancel_requested);
    rig_signal(&r, &a, "wf", "");
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    Command__Command *cmd = MAKE(ask_arena(&a), Command__Command, command__command__init);
    cmd->command_type = COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK;
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_REQUEST_CANCEL_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    cmd->request_cancel_activity_task_command_attributes =
        MAKE(ask_arena(&a), Command__RequestCancelActivityTaskCommandAttributes,
             command__request_cancel_activity_task_command_attributes__init);
    cmd->request_cancel_activity_task_command_attributes->scheduled_event_id = 5;
    add_command(&a, done, cmd);
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_OK(&a);
    heartbeat(&r, &a, &act);
    CHECK_OK(&a);
    CHECK(((const Ws__RecordActivityTaskHeartbeatResponse *)a.response)->cancel_requested);
}

TEST(poll_activity_of_a_closed_run_is_gone) {
    cleanup(ask_done) struct ask a = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_activity(&r, &a, &act);
    rig_terminate(&r, &a, "wf");
    heartbeat(&r, &a, &act);
    CHECK_FAILS(&a, ERR_NOT_FOUND,
                "invalid activityID or activity already timed out or invoking workflow is completed");
    rig_complete_activity(&r, &a, &act);
    CHECK_FAILS(&a, ERR_NOT_FOUND,
                "invalid activityID or activity already timed out or invoking workflow is completed");
}

TEST(poll_activity_times_out_and_comes_back) {
    cleanup(ask_done) struct ask a = {0}, act = {0}, next = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_activity(&r, &a, &act);
    rig_advance(&r, 10 * SEC); /* start to close */
    rig_advance(&r, SEC); /* back-off */
    rig_poll_activity(&r, &next);
    REQUIRE(has_task(&next));
    CHECK_INT(((const Ws__PollActivityTaskQueueResponse *)next.response)->attempt, 2);
}

/* stopping */

TEST(poll_is_answered_empty_when_the_server_drains) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0}, late = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_poll(&r, &p, "queue");
    rig_poll_activity(&r, &q);
    engine_drain(r.engine);
    rig_turn(&r);
    CHECK(is_empty(&p) && is_empty(&q));
    rig_start(&r, &a, "wf"); /* other calls still work */
    CHECK_OK(&a);
    rig_poll(&r, &late, "queue");
    CHECK(is_empty(&late));
}

/* tasks that ride in other answers */

static Command__Command *make_eager_activity(struct arena *m) {
    Command__Command *c = make_activity(m, "act");
    c->schedule_activity_task_command_attributes->request_eager_execution = true;
    return c;
}

/* A completion that starts an activity and, because of a signal, the next task for the same worker. */
static Ws__RespondWorkflowTaskCompletedRequest *begin_rich_completion(struct rig *r, struct ask *a) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    rig_poll(r, &p, "queue");
    rig_signal(r, a, "wf", "");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(r, a, &p);
    add_command(a, done, make_eager_activity(ask_arena(a)));
    done->return_new_workflow_task = true;
    return done;
}

static void check_both_are_offered(struct rig *r) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, act = {0};
    rig_poll(r, &p, "queue");
    rig_poll_activity(r, &act);
    CHECK(has_task(&p));
    CHECK(has_task(&act));
    rig_complete_activity(r, &a, &act);
    CHECK_OK(&a);
    rig_complete(r, &a, &p);
    CHECK_OK(&a);
}

TEST(poll_finds_what_a_lost_completion_carried) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__RespondWorkflowTaskCompletedRequest *done = begin_rich_completion(&r, &a);
    RIG_SEND(&r, &a, complete_workflow_task, done);
    const Ws__RespondWorkflowTaskCompletedResponse *resp = a.response;
    REQUIRE(resp && resp->workflow_task && resp->n_activity_tasks == 1);
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
    ask_cancel(&r, &p);
    ask_lose(&r, &a);
    check_both_are_offered(&r);
}

TEST(poll_finds_what_a_completion_carried_whose_worker_left) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    Ws__RespondWorkflowTaskCompletedRequest *done;
    {
        cleanup(ask_done) struct ask p = {0};
        rig_start(&r, &a, "wf");
        rig_settle(&r);
        rig_poll(&r, &p, "queue");
        rig_settle(&r);
        rig_signal(&r, &a, "wf", "");
        rig_settle(&r);
        done = ask_completion(&r, &a, &p);
    }
    add_command(&a, done, make_eager_activity(ask_arena(&a)));
    done->return_new_workflow_task = true;
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK(!a.is_done); /* not durable yet */
    ask_cancel(&r, &a);
    rig_settle(&r);
    cleanup(ask_done) struct ask p = {0}, act = {0};
    rig_poll(&r, &p, "queue");
    rig_settle(&r);
    rig_poll_activity(&r, &act);
    rig_settle(&r);
    CHECK(has_task(&p));
    CHECK(has_task(&act));
}

TEST(poll_finds_the_task_of_a_lost_eager_start) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *start = ask_start(&r, &a, "wf");
    start->request_eager_execution = true;
    RIG_SEND(&r, &a, start_workflow, start);
    const Ws__StartWorkflowExecutionResponse *resp = a.response;
    REQUIRE(resp && resp->eager_workflow_task);
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
    ask_lose(&r, &a);
    CHECK(has_task(&p));
    CHECK_STR(ask_events(&p), FIRST_TASK);
}

TEST(poll_is_not_needed_for_a_task_that_an_eager_start_asks_for_again) {
    cleanup(ask_done) struct ask a = {0}, again = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (int i = 0; i < 2; i++) { /* also when the events have to be read */
        Ws__StartWorkflowExecutionRequest *start = ask_start(&r, i ? &again : &a, "wf");
        start->request_eager_execution = true;
        start->request_id = make_text(ask_arena(i ? &again : &a), "r1");
        RIG_SEND(&r, i ? &again : &a, start_workflow, start);
        rig_restart(&r);
    }
    const Ws__StartWorkflowExecutionResponse *first = a.response, *second = again.response;
    REQUIRE(first && first->eager_workflow_task && second && second->eager_workflow_task);
    CHECK_STR(second->run_id, first->run_id);
    CHECK(second->started);
    CHECK_INT(second->eager_workflow_task->started_event_id, 3);
    REQUIRE(second->eager_workflow_task->history);
    CHECK_INT(second->eager_workflow_task->history->n_events, 3);
    ProtobufCBinaryData one = first->eager_workflow_task->task_token,
                        two = second->eager_workflow_task->task_token;
    CHECK(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    Ws__StartWorkflowExecutionRequest *plain = ask_start(&r, &again, "wf");
    plain->request_id = make_text(ask_arena(&again), "r1");
    RIG_SEND(&r, &again, start_workflow, plain);
    second = again.response;
    CHECK(second && !second->eager_workflow_task); /* it was not asked for */
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done);
}

TEST(poll_has_the_task_that_an_eager_start_gets_no_more) {
    cleanup(ask_done) struct ask a = {0}, again = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (int i = 0; i < 2; i++) {
        Ws__StartWorkflowExecutionRequest *start = ask_start(&r, i ? &again : &a, "wf");
        start->request_eager_execution = true;
        start->request_id = make_text(ask_arena(i ? &again : &a), "r1");
        RIG_SEND(&r, i ? &again : &a, start_workflow, start);
        if (i == 0) {
            ask_lose(&r, &a);
            rig_poll(&r, &p, "queue");
            CHECK(has_task(&p));
        }
    }
    const Ws__StartWorkflowExecutionResponse *second = again.response;
    CHECK(second && second->started && !second->eager_workflow_task);
}

TEST(a_sticky_task_is_not_too_late_before_it_was_offered) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_settle(&r);
    rig_complete_sticky(&r, &a, &p, "sticky"); /* nobody polls there */
    rig_settle(&r);
    CHECK_OK(&a);
    rig_signal(&r, &a, "wf", "");
    rig_advance(&r, 6 * SEC); /* longer than its timeout; the disk is slow */
    rig_settle(&r);
    CHECK_OK(&a);
    rig_poll(&r, &p, "queue");
    rig_settle(&r);
    CHECK_STR(ask_events(&p), FIRST_TASK " TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_STARTED@7");
}
