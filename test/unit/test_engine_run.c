/* Runs through the engine: nothing is answered before it is durable, starts are judged, a run's life. */
#include "engine_fixture.h"
#include "engine/runtime/limits.h"

#define SEC USEC_PER_SEC

/* durability */

TEST(run_start_is_answered_when_it_is_on_disk) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_read(&r); /* no run has this id */
    CHECK(!a.is_done);
    CHECK_INT(mem_store_pending_commits(r.store), 1);
    rig_commit(&r);
    CHECK_OK(&a);
    const Ws__StartWorkflowExecutionResponse *resp = a.response;
    REQUIRE(resp);
    CHECK_INT(strlen(resp->run_id), UUID_TEXT_LEN);
    CHECK_STR(resp->first_execution_run_id, resp->run_id);
    CHECK(resp->started);
    CHECK_INT(resp->status, WORKFLOW_EXECUTION_STATUS_RUNNING);
    REQUIRE(resp->link && resp->link->workflow_event && resp->link->workflow_event->event_ref);
    CHECK_STR(resp->link->workflow_event->workflow_id, "wf");
    CHECK_INT(resp->link->workflow_event->event_ref->event_id, 1);
}

TEST(run_calls_during_a_commit_share_the_next_one) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "a");
    rig_start(&r, &b, "b");
    rig_start(&r, &c, "c");
    rig_read(&r);
    CHECK_INT(mem_store_pending_commits(r.store), 1); /* a */
    rig_read(&r);
    rig_read(&r);
    CHECK_INT(mem_store_pending_commits(r.store), 1);
    rig_commit(&r);
    CHECK(a.is_done && !b.is_done && !c.is_done);
    rig_commit(&r);
    CHECK(b.is_done && c.is_done);
    CHECK_INT(mem_store_pending_commits(r.store), 0);
}

TEST(run_refusal_waits_for_what_it_is_based_on) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_read(&r);
    rig_start(&r, &b, "wf");
    rig_describe(&r, &c, "wf");
    CHECK(!b.is_done && !c.is_done);
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK_INT(b.err.code, ERR_ALREADY_STARTED);
    CHECK_OK(&c);
}

TEST(run_that_was_not_durable_is_gone_after_a_crash) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_read(&r);
    rig_stop(&r);
    CHECK_INT(a.err.code, ERR_MAYBE);
    r.is_manual = false;
    rig_boot(&r);
    rig_describe(&r, &a, "wf");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "workflow not found for ID: wf");
}

/* ids and policies */

static void start_with(struct rig *r, struct ask *a, const char *request_id, int reuse, int conflict) {
    Ws__StartWorkflowExecutionRequest *req = ask_start(r, a, "wf");
    req->request_id = make_text(ask_arena(a), request_id);
    req->workflow_id_reuse_policy = (E__WorkflowIdReusePolicy)reuse;
    req->workflow_id_conflict_policy = (E__WorkflowIdConflictPolicy)conflict;
    RIG_SEND(r, a, start_workflow, req);
}

static const char *run_id_of(const struct ask *a) {
    const Ws__StartWorkflowExecutionResponse *resp = a->response;
    return resp ? resp->run_id : "none";
}

TEST(run_start_with_the_same_request_id_is_answered_alike) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_with(&r, &a, "one", 0, 0);
    start_with(&r, &b, "one", 0, 0);
    CHECK_OK(&b);
    CHECK_STR(run_id_of(&b), run_id_of(&a));
    CHECK(((const Ws__StartWorkflowExecutionResponse *)b.response)->started);
    rig_terminate(&r, &b, "wf");
    start_with(&r, &b, "one", 0, 0); /* also when the run is closed */
    CHECK_STR(run_id_of(&b), run_id_of(&a));
}

TEST(run_start_of_a_taken_id_names_the_run) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_with(&r, &a, "one", 0, 0);
    start_with(&r, &b, "two", 0, 0);
    CHECK_INT(b.err.code, ERR_ALREADY_STARTED);
    CHECK(str_starts(str_of(b.err.text),
                     STR("Workflow execution is already running. WorkflowId: wf, RunId: ")));
    CHECK_STR(b.err.subject, "one");
    CHECK_STR(b.err.run_id.s, run_id_of(&a));
    CHECK_STR(b.err.first_run_id.s, run_id_of(&a));
}

TEST(run_start_can_use_the_existing_one) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_with(&r, &a, "one", 0, 0);
    start_with(&r, &b, "two", 0, WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING);
    CHECK_OK(&b);
    CHECK_STR(run_id_of(&b), run_id_of(&a));
    CHECK(!((const Ws__StartWorkflowExecutionResponse *)b.response)->started);
}

static void history_of_run(struct rig *r, struct ask *a, const char *workflow_id, const char *run_id) {
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(r, a, workflow_id);
    req->execution->run_id = make_text(ask_arena(a), run_id);
    RIG_SEND(r, a, get_history, req);
}

TEST(run_start_can_terminate_the_existing_one) {
    static const int policies[][2] = {{0, WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING},
                                      {WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING, 0}};
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        cleanup(ask_done) struct ask a = {0}, b = {0}, h = {0};
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        start_with(&r, &a, "one", 0, 0);
        start_with(&r, &b, "two", policies[i][0], policies[i][1]);
        CHECK_OK(&b);
        CHECK(!cstr_eq(run_id_of(&b), run_id_of(&a)));
        history_of_run(&r, &h, "wf", run_id_of(&a));
        CHECK_STR(ask_events(&h), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_TERMINATED@3");
        const Ws__GetWorkflowExecutionHistoryResponse *resp = h.response;
        REQUIRE(resp && resp->history->n_events == 3);
        const History__WorkflowExecutionTerminatedEventAttributes *t =
            resp->history->events[2]->workflow_execution_terminated_event_attributes;
        CHECK_STR(t->reason, "TerminateIfRunning WorkflowIdReusePolicy");
        CHECK_STR(t->identity, "history-service");
        rig_history(&r, &h, "wf");
        CHECK_STR(ask_events(&h), "RUN_STARTED@1 TASK_SCHEDULED@2");
    }
}

TEST(run_id_can_be_used_again_after_the_close) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_with(&r, &a, "one", 0, 0);
    rig_poll(&r, &p, "queue");
    rig_finish(&r, &b, &p);
    CHECK_OK(&b);
    start_with(&r, &b, "two", WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, 0);
    CHECK_INT(b.err.code, ERR_ALREADY_STARTED);
    start_with(&r, &b, "three", WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY, 0);
    CHECK_INT(b.err.code, ERR_ALREADY_STARTED);
    start_with(&r, &b, "four", 0, 0);
    CHECK_OK(&b);
    CHECK(!cstr_eq(run_id_of(&b), run_id_of(&a)));
}

TEST(run_ids_of_two_namespaces_do_not_meet) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &b, "wf");
    req->namespace_ = make_text(ask_arena(&b), "other");
    RIG_SEND(&r, &b, start_workflow, req);
    CHECK_OK(&b);
    CHECK(!cstr_eq(run_id_of(&b), run_id_of(&a)));
    Ws__GetWorkflowExecutionHistoryRequest *h = ask_history(&r, &b, "wf");
    h->execution->run_id = make_text(ask_arena(&b), run_id_of(&a));
    h->namespace_ = make_text(ask_arena(&b), "other");
    RIG_SEND(&r, &b, get_history, h);
    CHECK_FAILS(&b, ERR_NOT_FOUND, "workflow execution not found");
}

/* a life */

TEST(run_from_start_to_end) {
    cleanup(ask_done) struct ask a = {0}, task = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    CHECK_STR(ask_events(&task), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3");
    const Ws__PollWorkflowTaskQueueResponse *t = task.response;
    REQUIRE(t && t->workflow_execution && t->workflow_type && t->workflow_execution_task_queue);
    CHECK_STR(t->workflow_execution->workflow_id, "wf");
    CHECK_STR(t->workflow_type->name, "Type");
    CHECK_STR(t->workflow_execution_task_queue->name, "queue");
    CHECK_INT(t->previous_started_event_id, 0);
    CHECK_INT(t->started_event_id, 3);
    CHECK_INT(t->attempt, 1);
    CHECK(t->scheduled_time && t->started_time);
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_activity(ask_arena(&a), "act"));
    add_command(&a, done, make_timer(ask_arena(&a), "timer", 60 * SEC));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_OK(&a);
    rig_poll_activity(&r, &act);
    const Ws__PollActivityTaskQueueResponse *p = act.response;
    REQUIRE(p && p->activity_type && p->input && p->workflow_execution && p->retry_policy);
    CHECK_STR(p->activity_id, "act");
    CHECK_STR(p->activity_type->name, "Act");
    CHECK_STR(p->workflow_namespace, "default");
    CHECK_STR(p->workflow_execution->workflow_id, "wf");
    CHECK_INT(p->attempt, 1);
    CHECK(p->scheduled_time && p->current_attempt_scheduled_time && p->started_time);
    CHECK(p->start_to_close_timeout && p->start_to_close_timeout->seconds == 10);
    rig_complete_activity(&r, &a, &act);
    CHECK_OK(&a);
    rig_poll(&r, &task, "queue");
    rig_finish(&r, &a, &task);
    CHECK_OK(&a);
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a),
              "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 ACTIVITY_SCHEDULED@5 "
              "TIMER_STARTED@6 ACTIVITY_STARTED@7 ACTIVITY_COMPLETED@8 TASK_SCHEDULED@9 TASK_STARTED@10 "
              "TASK_COMPLETED@11 RUN_COMPLETED@12");
    /* Nothing of the run is due any more: what is left is the next look for what retention removes. */
    CHECK_INT(engine_next_wake_us(r.engine, r.now), ENGINE_SWEEP_FIRST_MS * USEC_PER_MS);
}

TEST(run_timer_fires_when_the_clock_says_so) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_advance(&r, ENGINE_SWEEP_FIRST_MS * USEC_PER_MS); /* the first look for what retention removes */
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_timer(ask_arena(&a), "timer", 50 * SEC));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_INT(engine_next_wake_us(r.engine, r.now), 50 * SEC);
    rig_poll(&r, &task, "queue");
    rig_advance(&r, 49 * SEC);
    CHECK(!task.is_done);
    rig_advance(&r, SEC);
    CHECK(task.is_done);
    CHECK_STR(ask_events(&task),
              "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 TIMER_STARTED@5 "
              "TIMER_FIRED@6 TASK_SCHEDULED@7 TASK_STARTED@8");
}

TEST(run_times_out) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, "wf");
    req->workflow_run_timeout = make_duration(ask_arena(&a), 30 * SEC);
    RIG_SEND(&r, &a, start_workflow, req);
    rig_advance(&r, 30 * SEC);
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_TIMED_OUT@3");
}

TEST(run_signal_with_the_same_request_id_happens_once) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_signal(&r, &a, "wf", "one");
    rig_signal(&r, &a, "wf", "one");
    CHECK_OK(&a);
    rig_signal(&r, &a, "wf", "two");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3 RUN_SIGNALED@4");
}

TEST(run_cancel_is_asked_once_and_never_an_error) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_cancel(&r, &a, "wf");
    rig_cancel(&r, &a, "wf");
    CHECK_OK(&a);
    rig_terminate(&r, &a, "wf");
    CHECK_OK(&a);
    rig_cancel(&r, &a, "wf");
    CHECK_OK(&a);
    rig_terminate(&r, &a, "wf");
    CHECK_FAILS(&a, ERR_CLOSED, "workflow execution already completed");
    rig_signal(&r, &a, "wf", "");
    CHECK_FAILS(&a, ERR_CLOSED, "workflow execution already completed");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_CANCEL_REQUESTED@3 RUN_TERMINATED@4");
}

static void terminate_chain(struct rig *r, struct ask *a, const char *run_id, const char *first_run_id) {
    struct arena *m = ask_begin(r, a);
    Ws__TerminateWorkflowExecutionRequest *req =
        MAKE(m, Ws__TerminateWorkflowExecutionRequest, ws__terminate_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", run_id);
    req->first_execution_run_id = make_text(m, first_run_id);
    RIG_SEND(r, a, terminate_workflow, req);
}

TEST(run_is_found_by_the_first_of_its_chain) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    terminate_chain(&r, &b, "", "33333333-3333-4333-8333-333333333333");
    CHECK_FAILS(&b, ERR_NOT_FOUND, "workflow execution not found");
    terminate_chain(&r, &b, "33333333-3333-4333-8333-333333333333",
                    run_id_of(&a)); /* the run id is ignored */
    CHECK_OK(&b);
}

/* completions that are refused */

TEST(run_completion_over_unseen_events_fails_the_task) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    rig_signal(&r, &a, "wf", "");
    rig_finish(&r, &a, &task);
    CHECK_FAILS(&a, ERR_UNHANDLED_COMMAND, "UnhandledCommand");
    rig_finish(&r, &a, &task);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "Workflow task not found.");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a),
              "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6");
    rig_poll(&r, &task, "queue");
    rig_finish(&r, &a, &task);
    CHECK_OK(&a);
}

TEST(run_bad_command_fails_the_task_with_its_cause) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_timer(ask_arena(&a), "", SEC));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_FAILS(&a, ERR_INVALID, "BadStartTimerAttributes: TimerId is not set on StartTimerCommand.");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4");
    const Ws__GetWorkflowExecutionHistoryResponse *h = a.response;
    REQUIRE(h && h->history->n_events == 4);
    const History__WorkflowTaskFailedEventAttributes *f =
        h->history->events[3]->workflow_task_failed_event_attributes;
    CHECK_INT(f->cause, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES);
    REQUIRE(f->failure);
    CHECK_STR(f->failure->message, "BadStartTimerAttributes: TimerId is not set on StartTimerCommand.");
    CHECK_INT(f->failure->failure_info_case, FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO);
}

TEST(run_bad_command_on_a_later_attempt_leaves_the_task_to_its_timeout) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    rig_fail_task(&r, &a, &task);
    CHECK_OK(&a);
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_timer(ask_arena(&a), "", SEC));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_INT(a.err.code, ERR_INVALID);
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4");
    rig_finish(&r, &a, &task); /* it is still this worker's task */
    CHECK_OK(&a);
}

/* the next task in the answer */

TEST(run_completion_can_be_answered_with_the_next_task) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    rig_signal(&r, &a, "wf", "");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    done->return_new_workflow_task = true;
    add_sticky(&a, done, "sticky");
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_OK(&a);
    CHECK_STR(ask_events(&a), "TASK_COMPLETED@4 RUN_SIGNALED@5 TASK_SCHEDULED@6 TASK_STARTED@7");
    const Ws__RespondWorkflowTaskCompletedResponse *resp = a.response;
    REQUIRE(resp && resp->workflow_task);
    CHECK_INT(resp->workflow_task->previous_started_event_id, 3);
    CHECK_INT(resp->workflow_task->started_event_id, 7);
    rig_finish(&r, &b, &a);
    CHECK_OK(&b);
}

TEST(run_task_in_an_answer_has_what_is_new_also_for_a_worker_that_keeps_nothing) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *beat = ask_completion(&r, &a, &task);
    beat->return_new_workflow_task = beat->force_create_new_workflow_task = true;
    RIG_SEND(&r, &a, complete_workflow_task, beat);
    CHECK_STR(ask_events(&a), "TASK_COMPLETED@4 TASK_SCHEDULED@5 TASK_STARTED@6");
    const Ws__RespondWorkflowTaskCompletedResponse *resp = a.response;
    REQUIRE(resp && resp->workflow_task);
    CHECK_INT(resp->workflow_task->previous_started_event_id, 3);
    rig_finish(&r, &b, &a);
    CHECK_OK(&b);
}

TEST(run_heartbeats_end_after_half_an_hour) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_advance(&r, 31 * 60 * SEC); /* nobody polled */
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    done->force_create_new_workflow_task = true;
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "workflow task heartbeat timeout");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_TIMED_OUT@4");
}

/* describing */

TEST(run_description_tells_what_is_pending) {
    cleanup(ask_done) struct ask a = {0}, task = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_describe(&r, &a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    REQUIRE(d && d->workflow_execution_info && d->execution_config && d->pending_workflow_task);
    const Workflow__WorkflowExecutionInfo *i = d->workflow_execution_info;
    REQUIRE(i->execution && i->type && i->start_time && i->execution_time);
    CHECK_STR(i->execution->workflow_id, "wf");
    CHECK_STR(i->type->name, "Type");
    CHECK_STR(i->task_queue, "queue");
    CHECK_INT(i->status, WORKFLOW_EXECUTION_STATUS_RUNNING);
    CHECK_INT(i->history_length, 2);
    CHECK(i->history_size_bytes > 0 && i->state_transition_count == 1 && !i->close_time);
    CHECK_INT(i->start_time->seconds, RIG_T0 / SEC);
    CHECK_STR(i->first_run_id, i->execution->run_id);
    CHECK_INT(d->pending_workflow_task->state, PENDING_WORKFLOW_TASK_STATE_SCHEDULED);
    CHECK_INT(d->execution_config->default_workflow_task_timeout->seconds, 10);
    rig_poll(&r, &task, "queue");
    rig_describe(&r, &a, "wf");
    d = a.response;
    REQUIRE(d && d->pending_workflow_task);
    CHECK_INT(d->pending_workflow_task->state, PENDING_WORKFLOW_TASK_STATE_STARTED);
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_activity(ask_arena(&a), "act"));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    rig_describe(&r, &a, "wf");
    d = a.response;
    REQUIRE(d && d->n_pending_activities == 1 && !d->pending_workflow_task);
    CHECK_STR(d->pending_activities[0]->activity_id, "act");
    CHECK_INT(d->pending_activities[0]->state, PENDING_ACTIVITY_STATE_SCHEDULED);
    CHECK_INT(d->pending_activities[0]->attempt, 1);
    rig_poll_activity(&r, &act);
    rig_describe(&r, &a, "wf");
    d = a.response;
    REQUIRE(d && d->n_pending_activities == 1);
    CHECK_INT(d->pending_activities[0]->state, PENDING_ACTIVITY_STATE_STARTED);
    CHECK_STR(d->pending_activities[0]->last_worker_identity, "worker");
}

TEST(run_description_of_a_closed_run) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_advance(&r, 5 * SEC);
    rig_poll(&r, &task, "queue");
    rig_finish(&r, &a, &task);
    rig_describe(&r, &a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    REQUIRE(d && d->workflow_execution_info && d->workflow_execution_info->close_time);
    CHECK_INT(d->workflow_execution_info->status, WORKFLOW_EXECUTION_STATUS_COMPLETED);
    CHECK_INT(d->workflow_execution_info->close_time->seconds, RIG_T0 / SEC + 5);
    CHECK_INT(d->workflow_execution_info->history_length, 5);
    REQUIRE(d->workflow_execution_info->execution_duration);
    CHECK_INT(d->workflow_execution_info->execution_duration->seconds, 5);
    CHECK(!d->pending_workflow_task && d->n_pending_activities == 0);
}

TEST(run_description_of_a_closed_run_shows_what_was_pending) {
    cleanup(ask_done) struct ask a = {0}, task = {0}, act = {0}, late = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_activity(ask_arena(&a), "one"));
    add_command(&a, done, make_activity(ask_arena(&a), "two"));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    rig_poll_activity(&r, &act);
    rig_terminate(&r, &a, "wf");
    CHECK_OK(&a);
    rig_restart(&r);
    rig_describe(&r, &a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    REQUIRE(d && d->n_pending_activities == 2);
    CHECK_STR(d->pending_activities[0]->activity_id, "one");
    CHECK_INT(d->pending_activities[0]->state, PENDING_ACTIVITY_STATE_STARTED);
    CHECK_INT(d->pending_activities[1]->state, PENDING_ACTIVITY_STATE_SCHEDULED);
    rig_poll_activity(&r, &late);
    CHECK(!late.is_done); /* nobody gets it any more */
    rig_complete_activity(&r, &a, &act);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
}

TEST(namespace_is_described_by_name_and_by_id) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    struct arena *m = ask_begin(&r, &a);
    Ws__DescribeNamespaceRequest *req =
        MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
    req->namespace_ = make_text(m, "default");
    RIG_SEND(&r, &a, describe_namespace, req);
    CHECK_OK(&a);
    const Ws__DescribeNamespaceResponse *d = a.response;
    REQUIRE(d && d->namespace_info && d->config && d->config->workflow_execution_retention_ttl);
    CHECK_STR(d->namespace_info->name, "default");
    CHECK_INT(strlen(d->namespace_info->id), UUID_TEXT_LEN);
    CHECK_INT(d->namespace_info->state, NAMESPACE_STATE_REGISTERED);
    CHECK_INT(d->config->workflow_execution_retention_ttl->seconds, 86400);
    m = ask_begin(&r, &b);
    req = MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
    req->id = make_text(m, d->namespace_info->id);
    RIG_SEND(&r, &b, describe_namespace, req);
    d = b.response;
    REQUIRE(d && d->namespace_info);
    CHECK_STR(d->namespace_info->name, "default");
}
