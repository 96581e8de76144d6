/* Updates as callers see them: stages, ids, waits that end, runs that end; and update-with-start. */
#include "engine_fixture.h"

#define SEC USEC_PER_SEC
#define PREFIX "type.googleapis.com/temporal.api.update.v1."
#define ADMITTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ADMITTED
#define ACCEPTED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_ACCEPTED
#define COMPLETED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED
#define UNSPECIFIED UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_UNSPECIFIED

/* asking */

static Update__WaitPolicy *make_wait(struct arena *m, E__UpdateWorkflowExecutionLifecycleStage stage) {
    Update__WaitPolicy *w = MAKE(m, Update__WaitPolicy, update__wait_policy__init);
    w->lifecycle_stage = stage;
    return w;
}

static Ws__UpdateWorkflowExecutionRequest *make_update(struct arena *m, const char *id,
                                                       E__UpdateWorkflowExecutionLifecycleStage stage) {
    Ws__UpdateWorkflowExecutionRequest *req =
        MAKE(m, Ws__UpdateWorkflowExecutionRequest, ws__update_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    req->wait_policy = make_wait(m, stage);
    req->request = MAKE(m, Update__Request, update__request__init);
    req->request->meta = MAKE(m, Update__Meta, update__meta__init);
    req->request->meta->update_id = make_text(m, id);
    req->request->input = MAKE(m, Update__Input, update__input__init);
    req->request->input->name = make_text(m, "handler");
    req->request->input->args = make_payloads(m, id);
    return req;
}

static void rig_update(struct rig *r, struct ask *a, const char *id,
                       E__UpdateWorkflowExecutionLifecycleStage stage) {
    struct arena *m = ask_begin(r, a);
    RIG_SEND(r, a, update_workflow, make_update(m, id, stage));
}

static void rig_poll_update(struct rig *r, struct ask *a, const char *id,
                            E__UpdateWorkflowExecutionLifecycleStage stage) {
    struct arena *m = ask_begin(r, a);
    Ws__PollWorkflowExecutionUpdateRequest *req =
        MAKE(m, Ws__PollWorkflowExecutionUpdateRequest, ws__poll_workflow_execution_update_request__init);
    req->namespace_ = make_text(m, "default");
    req->update_ref = MAKE(m, Update__UpdateRef, update__update_ref__init);
    req->update_ref->workflow_execution = make_execution(m, "wf", "");
    req->update_ref->update_id = make_text(m, id);
    req->wait_policy = stage == UNSPECIFIED ? NULL : make_wait(m, stage);
    RIG_SEND(r, a, poll_update, req);
}

static const Ws__UpdateWorkflowExecutionResponse *update_of(const struct ask *a) {
    return a->is_done ? a->response : NULL;
}

static E__UpdateWorkflowExecutionLifecycleStage stage_of(const struct ask *a) {
    const Ws__UpdateWorkflowExecutionResponse *u = update_of(a);
    return u ? u->stage : UNSPECIFIED;
}

static bool is_success(const struct ask *a) {
    const Ws__UpdateWorkflowExecutionResponse *u = update_of(a);
    return u && u->stage == COMPLETED && u->outcome &&
           u->outcome->value_case == UPDATE__OUTCOME__VALUE_SUCCESS;
}

static const char *failure_type(const struct ask *a) {
    const Ws__UpdateWorkflowExecutionResponse *u = update_of(a);
    if (!u || !u->outcome || u->outcome->value_case != UPDATE__OUTCOME__VALUE_FAILURE)
        return "";
    return u->outcome->failure->application_failure_info->type;
}

/* answering */

static void add_message(struct ask *a, Ws__RespondWorkflowTaskCompletedRequest *req, const char *id,
                        const char *type, const ProtobufCMessage *body) {
    struct arena *m = ask_arena(a);
    Protocol__Message **all = arena_array(m, Protocol__Message *, req->n_messages + 1);
    uint8_t *packed = arena_alloc(m, protobuf_c_message_get_packed_size(body) + 1);
    ensure(all && packed);
    if (req->n_messages)
        memcpy(all, req->messages, req->n_messages * sizeof(*all));
    Protocol__Message *msg = MAKE(m, Protocol__Message, protocol__message__init);
    msg->id = arena_printf(m, "%s/%zu", id, req->n_messages);
    msg->protocol_instance_id = make_text(m, id);
    msg->body = MAKE(m, Google__Protobuf__Any, google__protobuf__any__init);
    msg->body->type_url = arena_printf(m, PREFIX "%s", type);
    msg->body->value = (ProtobufCBinaryData){protobuf_c_message_pack(body, packed), packed};
    all[req->n_messages++] = msg;
    req->messages = all;
}

enum reply { ACCEPT = 1, COMPLETE = 2, REJECT = 4, INLINE = 8, FINISH = 16 };

static void answer(struct rig *r, struct ask *a, const struct ask *poll, const char *id, int how) {
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, a, poll);
    struct arena *m = ask_arena(a);
    Update__Acceptance accept = UPDATE__ACCEPTANCE__INIT;
    Update__Response complete = UPDATE__RESPONSE__INIT;
    Update__Rejection reject = UPDATE__REJECTION__INIT;
    Update__Outcome outcome = UPDATE__OUTCOME__INIT;
    Failure__Failure failure = FAILURE__FAILURE__INIT;
    Failure__ApplicationFailureInfo info = FAILURE__APPLICATION_FAILURE_INFO__INIT;
    info.type = make_text(m, "Bad");
    failure.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    failure.application_failure_info = &info;
    outcome.value_case = UPDATE__OUTCOME__VALUE_SUCCESS;
    outcome.success = make_payloads(m, "done");
    complete.outcome = &outcome;
    accept.accepted_request_message_id = reject.rejected_request_message_id = make_text(m, "request");
    reject.failure = &failure;
    if (how & ACCEPT)
        add_message(a, req, id, "Acceptance", &accept.base);
    if (how & COMPLETE)
        add_message(a, req, id, "Response", &complete.base);
    if (how & REJECT)
        add_message(a, req, id, "Rejection", &reject.base);
    if (how & FINISH) {
        for (size_t i = 0; i < req->n_messages; i++) {
            Command__Command *cmd = MAKE(m, Command__Command, command__command__init);
            cmd->command_type = COMMAND_TYPE_PROTOCOL_MESSAGE;
            cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_PROTOCOL_MESSAGE_COMMAND_ATTRIBUTES;
            cmd->protocol_message_command_attributes =
                MAKE(m, Command__ProtocolMessageCommandAttributes,
                     command__protocol_message_command_attributes__init);
            cmd->protocol_message_command_attributes->message_id = req->messages[i]->id;
            add_command(a, req, cmd);
        }
        add_command(a, req, make_complete(m));
    }
    req->return_new_workflow_task = how & INLINE;
    RIG_SEND(r, a, complete_workflow_task, req);
}

static size_t message_count(const struct ask *poll) {
    const Ws__PollWorkflowTaskQueueResponse *t = poll->is_done ? poll->response : NULL;
    return t ? t->n_messages : 0;
}

static int64_t history_length(struct rig *r) {
    cleanup(ask_done) struct ask d = {0};
    rig_describe(r, &d, "wf");
    const Ws__DescribeWorkflowExecutionResponse *resp = d.response;
    return resp ? resp->workflow_execution_info->history_length : -1;
}

/* A run whose first task is completed and that waits for nothing: four events. */
static void begin_idle(struct rig *r, struct ask *a) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, "wf");
    rig_poll(r, &p, "queue");
    rig_complete(r, a, &p);
    CHECK_OK(a);
}

struct asks {
    struct ask each[11];
};

static void asks_done(struct asks *all) {
    for (size_t i = 0; i < ARRAY_LEN(all->each); i++)
        ask_done(&all->each[i]);
}

/* stages */

TEST(update_of_an_idle_run_is_a_task_with_a_message) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    CHECK(!u.is_done);
    CHECK_INT(history_length(&r), 4);
    rig_poll(&r, &p, "queue");
    const Ws__PollWorkflowTaskQueueResponse *t = p.response;
    REQUIRE(t && t->n_messages == 1);
    CHECK_STR(t->messages[0]->id, "one/request");
    CHECK_STR(t->messages[0]->protocol_instance_id, "one");
    CHECK_INT(t->messages[0]->event_id, t->started_event_id - 1);
    CHECK_STR(t->messages[0]->body->type_url, PREFIX "Request");
    CHECK_STR(ask_events(&p),
              "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 TASK_SCHEDULED@5 "
              "TASK_STARTED@6");
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE);
    CHECK_OK(&a);
    CHECK_OK(&u);
    CHECK(is_success(&u));
    REQUIRE(update_of(&u) && update_of(&u)->update_ref);
    CHECK_STR(update_of(&u)->update_ref->update_id, "one");
    CHECK_STR(update_of(&u)->update_ref->workflow_execution->workflow_id, "wf");
    CHECK_INT(history_length(&r), 9);
}

TEST(update_that_is_rejected_leaves_no_trace) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", ACCEPTED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", REJECT);
    CHECK_OK(&a);
    const Ws__RespondWorkflowTaskCompletedResponse *done = a.response;
    CHECK(done && done->reset_history_event_id == 3);
    CHECK_OK(&u);
    CHECK_INT(stage_of(&u), COMPLETED);
    CHECK_STR(failure_type(&u), "Bad");
    CHECK_INT(history_length(&r), 4);
    rig_poll_update(&r, &u, "one", UNSPECIFIED);
    CHECK_FAILS(&u, ERR_NOT_FOUND, "update \"one\" not found");
}

/* Events must be read for the next task; it is not handed over any more when it ended meanwhile. */
TEST(update_task_that_ends_while_its_events_are_read) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0}, v = {0}, end = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    r.is_manual = true;
    rig_restart(&r);
    rig_settle(&r);
    rig_update(&r, &u, "one", ACCEPTED);
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_settle(&r);
    rig_update(&r, &v, "two", ACCEPTED);
    rig_settle(&r);
    answer(&r, &a, &p, "one", REJECT | INLINE);
    REQUIRE(!a.is_done && mem_store_pending_reads(r.store) == 1); /* the events */
    rig_terminate(&r, &end, "wf");
    rig_commit(&r);
    CHECK_OK(&end);
    REQUIRE(!a.is_done);
    rig_settle(&r);
    const Ws__RespondWorkflowTaskCompletedResponse *resp = a.response;
    REQUIRE(resp);
    CHECK(!resp->workflow_task);
}

static void begin_delayed(struct rig *r, struct ask *a) {
    Ws__StartWorkflowExecutionRequest *start = ask_start(r, a, "wf");
    start->workflow_start_delay = make_duration(ask_arena(a), 60 * SEC);
    RIG_SEND(r, a, start_workflow, start);
    CHECK_OK(a);
}

TEST(update_of_a_run_that_starts_later_brings_its_first_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_delayed(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    CHECK_INT(history_length(&r), 1); /* nothing is written before something comes of it */
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    CHECK_STR(ask_events(&p), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3");
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE);
    CHECK_OK(&a);
    CHECK(is_success(&u));
    CHECK_INT(history_length(&r), 6);
    rig_advance(&r, 61 * SEC); /* the delay is of no use any more */
    CHECK_INT(history_length(&r), 6);
}

TEST(update_that_is_rejected_leaves_the_start_its_delay) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_delayed(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", REJECT);
    CHECK_OK(&a);
    CHECK_STR(failure_type(&u), "Bad");
    CHECK_INT(history_length(&r), 1);
    rig_advance(&r, 59 * SEC);
    CHECK_INT(history_length(&r), 1);
    rig_advance(&r, 2 * SEC);
    CHECK_INT(history_length(&r), 2);
}

TEST(update_of_a_run_whose_delay_ends_meanwhile) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_delayed(&r, &a);
    rig_advance(&r, 58 * SEC);
    rig_update(&r, &u, "one", COMPLETED); /* nobody polls */
    CHECK_INT(history_length(&r), 1);
    rig_advance(&r, 2 * SEC);
    CHECK_INT(history_length(&r), 2);
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    answer(&r, &a, &p, "one", REJECT);
    CHECK_OK(&a);
    CHECK_INT(history_length(&r), 4); /* it was the task that the run waited for */
}

TEST(update_that_a_restart_forgets_leaves_the_start_its_delay) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_delayed(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    rig_restart(&r);
    CHECK_INT(history_length(&r), 1);
    rig_advance(&r, 61 * SEC);
    CHECK_INT(history_length(&r), 2);
}

TEST(update_is_told_when_its_completion_is_durable) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_update(&r, &u, "one", ACCEPTED);
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    answer(&r, &a, &p, "one", ACCEPT);
    CHECK(!a.is_done && !u.is_done);
    rig_commit(&r);
    CHECK_OK(&a);
    CHECK_OK(&u);
    CHECK_INT(stage_of(&u), ACCEPTED);
}

TEST(update_has_many_callers) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(asks_done) struct asks all = {0};
    struct ask *u = all.each;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u[0], "one", ACCEPTED);
    rig_update(&r, &u[1], "one", COMPLETED);
    rig_poll_update(&r, &u[2], "one", COMPLETED);
    rig_poll_update(&r, &u[3], "one", UNSPECIFIED);
    const Ws__PollWorkflowExecutionUpdateResponse *at_once = u[3].response;
    CHECK(at_once && at_once->stage == ADMITTED);
    ask_cancel(&r, &u[0]); /* who leaves does not take the update along */
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    answer(&r, &a, &p, "one", ACCEPT);
    CHECK(!u[1].is_done && !u[2].is_done);
    rig_signal(&r, &a, "wf", "");
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 0);
    answer(&r, &a, &p, "one", COMPLETE);
    CHECK(is_success(&u[1]));
    const Ws__PollWorkflowExecutionUpdateResponse *polled = u[2].response;
    CHECK(polled && polled->stage == COMPLETED && polled->outcome);
    rig_update(&r, &u[0], "one", COMPLETED);
    CHECK(is_success(&u[0]));
    CHECK_INT(history_length(&r), 13);
}

TEST(update_is_behind_a_started_task) {
    for (int is_inline = 0; is_inline < 2; is_inline++) {
        cleanup(ask_done) struct ask a = {0}, p = {0}, next = {0}, u = {0};
        cleanup(rig_done) struct rig r;
        rig_init(&r);
        rig_start(&r, &a, "wf");
        rig_poll(&r, &p, "queue");
        rig_update(&r, &u, "one", COMPLETED);
        answer(&r, &a, &p, "", is_inline ? INLINE : 0);
        const Ws__RespondWorkflowTaskCompletedResponse *done = a.response;
        REQUIRE(done);
        CHECK_INT(done->workflow_task ? done->workflow_task->n_messages : 0, (size_t)is_inline);
        CHECK_INT(history_length(&r), is_inline ? 4 : 5);
        if (!is_inline) {
            rig_poll(&r, &next, "queue");
            CHECK_INT(message_count(&next), 1);
        }
        CHECK(!u.is_done);
    }
}

TEST(update_without_an_answer_is_rejected) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "", 0);
    CHECK_STR(failure_type(&u), "UnprocessedUpdate");
}

TEST(update_rides_again_after_a_failed_or_lost_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    engine_task_lost(r.engine, ask_token(&p));
    rig_turn(&r);
    CHECK_INT(history_length(&r), 4);
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    rig_fail_task(&r, &a, &p);
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE);
    CHECK(is_success(&u));
}

TEST(update_of_a_task_with_bad_messages_is_not_ready) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", COMPLETE);
    CHECK_INT(a.err.code, ERR_INVALID);
    CHECK_FAILS(&u, ERR_NOT_READY,
                "Unable to perform workflow execution update due to unexpected workflow task failure.");
}

TEST(update_of_a_run_that_keeps_failing_is_not_ready) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    for (int i = 0; i < 2; i++) {
        rig_poll(&r, &p, "queue");
        rig_fail_task(&r, &a, &p);
    }
    rig_update(&r, &u, "one", COMPLETED);
    CHECK_FAILS(&u, ERR_NOT_READY,
                "Unable to perform workflow execution update due to Workflow Task in failed state.");
}

/* waits that end */

TEST(update_wait_ends_with_the_stage_that_is_reached) {
    cleanup(ask_done) struct ask a = {0}, u = {0}, v = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", ACCEPTED);
    rig_poll_update(&r, &v, "one", COMPLETED);
    rig_advance(&r, 20 * SEC - 1);
    CHECK(!u.is_done && !v.is_done);
    rig_advance(&r, 1);
    CHECK_OK(&u);
    CHECK_OK(&v);
    CHECK_INT(stage_of(&u), ADMITTED);
    CHECK(update_of(&u) && !update_of(&u)->outcome);
}

TEST(update_wait_ends_with_the_callers_deadline) {
    cleanup(ask_done) struct ask a = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    struct arena *m = ask_begin(&r, &u);
    ask_call(&u)->deadline.us = r.now.mono.us + 5 * SEC;
    RIG_SEND(&r, &u, update_workflow, make_update(m, "one", COMPLETED));
    rig_advance(&r, 5 * SEC);
    CHECK(u.is_done);
    CHECK_INT(u.err.code, ERR_DEADLINE);
}

/* runs that end */

TEST(update_of_a_run_that_closes_is_aborted) {
    cleanup(ask_done) struct ask a = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_terminate(&r, &a, "wf");
    CHECK_FAILS(&u, ERR_NOT_FOUND, "workflow update was aborted by closing workflow");
    rig_update(&r, &u, "one", COMPLETED);
    CHECK_FAILS(&u, ERR_CLOSED, "workflow execution already completed");
}

TEST(update_that_was_accepted_fails_when_its_run_closes) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT);
    CHECK(!u.is_done);
    rig_terminate(&r, &a, "wf");
    CHECK_STR(failure_type(&u), "AcceptedUpdateCompletedWorkflow");
    rig_update(&r, &u, "one", COMPLETED);
    CHECK_STR(failure_type(&u), "AcceptedUpdateCompletedWorkflow");
}

TEST(update_completes_together_with_its_run) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE | FINISH);
    CHECK_OK(&a);
    CHECK(is_success(&u));
    CHECK_INT(history_length(&r), 7);
}

static struct uuid_text reset_first_task(struct rig *r, const char *request_id) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    struct uuid_text copy;
    Ws__ResetWorkflowExecutionRequest *req =
        MAKE(m, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    req->reason = make_text(m, "again");
    req->workflow_task_finish_event_id = 4;
    req->request_id = make_text(m, request_id);
    RIG_SEND(r, &a, reset_workflow, req);
    CHECK_OK(&a);
    const Ws__ResetWorkflowExecutionResponse *resp = a.response;
    ensure(resp && strlen(resp->run_id) == UUID_TEXT_LEN);
    memcpy(copy.s, resp->run_id, sizeof(copy.s));
    return copy;
}

/* A copy knows the update again, which nobody has accepted there yet. When it is reset, too, whoever names
 * that copy is not led to it for ever. */
TEST(update_of_a_copy_that_was_reset_is_aborted) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0}, by_run = {0}, by_id = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", ACCEPTED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT);
    CHECK_OK(&u);
    struct uuid_text copy = reset_first_task(&r, "first");
    (void)reset_first_task(&r, "second");
    struct arena *m = ask_begin(&r, &by_run);
    Ws__UpdateWorkflowExecutionRequest *req = make_update(m, "one", COMPLETED);
    req->workflow_execution->run_id = make_text(m, copy.s);
    RIG_SEND(&r, &by_run, update_workflow, req);
    CHECK_FAILS(&by_run, ERR_NOT_FOUND, "workflow update was aborted by closing workflow");
    rig_poll_update(&r, &by_id, "one", ADMITTED); /* the last copy has it */
    CHECK_OK(&by_id);
    CHECK_INT(((const Ws__PollWorkflowExecutionUpdateResponse *)by_id.response)->stage, ADMITTED);
}

/* Whoever waits for the event with its outcome hears that the run is gone, and does not ask for ever. */
TEST(update_of_a_run_that_is_removed_while_it_is_read) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE | FINISH);
    r.is_manual = true;
    rig_restart(&r);
    rig_settle(&r);
    rig_poll_update(&r, &u, "one", COMPLETED);
    rig_read(&r); /* which run */
    rig_read(&r); /* its state */
    REQUIRE(!u.is_done && mem_store_pending_reads(r.store) == 1); /* the event */
    struct arena *m = ask_begin(&r, &a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(m, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", "");
    RIG_SEND(&r, &a, delete_workflow, req);
    for (int i = 0; i < 20 && !a.is_done; i++) {
        size_t reads = mem_store_pending_reads(r.store);
        if (mem_store_pending_commits(r.store)) {
            rig_commit(&r);
        } else if (reads > 1) { /* all but the event */
            mem_store_answer(r.store, reads - 1, 0);
            rig_turn(&r);
        }
    }
    CHECK_OK(&a);
    REQUIRE(!u.is_done);
    rig_read(&r);
    CHECK_INT(mem_store_pending_reads(r.store), 0);
    CHECK_FAILS(&u, ERR_NOT_FOUND, "workflow execution not found");
}

TEST(update_survives_a_restart_once_accepted) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", ACCEPTED);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT);
    rig_update(&r, &u, "two", COMPLETED);
    rig_restart(&r);
    CHECK(u.is_done && u.err.code);
    rig_poll_update(&r, &u, "two", UNSPECIFIED);
    CHECK_FAILS(&u, ERR_NOT_FOUND, "update \"two\" not found");
    rig_poll_update(&r, &u, "one", COMPLETED);
    CHECK(!u.is_done);
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done); /* the speculative task is gone with its update */
    ask_cancel(&r, &p);
    rig_signal(&r, &a, "wf", "");
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", COMPLETE);
    const Ws__PollWorkflowExecutionUpdateResponse *polled = u.response;
    CHECK(polled && polled->stage == COMPLETED);
}

/* What was buffered for the sake of a speculative task is not lost with it. */
TEST(update_task_that_a_restart_forgets_leaves_its_buffered_events) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    rig_signal(&r, &a, "wf", "");
    CHECK_OK(&a);
    rig_restart(&r);
    rig_history(&r, &a, "wf"); /* also for the first who looks */
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 RUN_SIGNALED@5 "
                              "TASK_SCHEDULED@6");
    rig_advance(&r, 0);
    rig_poll(&r, &p, "queue");
    CHECK_STR(ask_events(&p), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 RUN_SIGNALED@5 "
                              "TASK_SCHEDULED@6 TASK_STARTED@7");
}

/* They must not wait until the clock has caught up with the start of the run. */
TEST(update_task_that_a_restart_forgets_is_not_waited_for_by_a_clock_that_went_back) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_update(&r, &u, "one", COMPLETED);
    rig_poll(&r, &p, "queue");
    rig_signal(&r, &a, "wf", "");
    CHECK_OK(&a);
    rig_stop(&r);
    r.now.wall.us -= 3600 * SEC;
    rig_boot(&r);
    rig_advance(&r, 0);
    rig_poll(&r, &p, "queue");
    CHECK(p.is_done && ask_token(&p).n);
    CHECK_STR(ask_events(&p), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 RUN_SIGNALED@5 "
                              "TASK_SCHEDULED@6 TASK_STARTED@7");
}

/* requests */

TEST(update_requests_are_checked) {
    cleanup(ask_done) struct ask a = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    struct arena *m = ask_begin(&r, &u);
    Ws__UpdateWorkflowExecutionRequest *req = make_update(m, "", ADMITTED);
    RIG_SEND(&r, &u, update_workflow, req);
    CHECK_INT(u.err.code, ERR_DENIED);
    req = make_update(ask_begin(&r, &u), "", COMPLETED);
    req->request->input->name = make_text(ask_arena(&u), "");
    RIG_SEND(&r, &u, update_workflow, req);
    CHECK_FAILS(&u, ERR_INVALID, "Update name is not set on request.");
    req = make_update(ask_begin(&r, &u), "", COMPLETED);
    req->request = NULL;
    RIG_SEND(&r, &u, update_workflow, req);
    CHECK_FAILS(&u, ERR_INVALID, "Update request is not set on request.");
    req = make_update(ask_begin(&r, &u), "", COMPLETED);
    req->request->meta->update_id = make_long_text(ask_arena(&u), 1001);
    RIG_SEND(&r, &u, update_workflow, req);
    CHECK_FAILS(&u, ERR_INVALID, "UpdateId length exceeds limit.");
    req = make_update(ask_begin(&r, &u), "", COMPLETED);
    req->first_execution_run_id = make_text(ask_arena(&u), "22222222-2222-4222-8222-222222222222");
    RIG_SEND(&r, &u, update_workflow, req);
    CHECK_INT(u.err.code, ERR_NOT_FOUND);
    rig_poll_update(&r, &u, "", UNSPECIFIED);
    CHECK_FAILS(&u, ERR_INVALID, "UpdateId is not set on request.");
}

TEST(updates_under_way_are_limited) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(asks_done) struct asks all = {0};
    struct ask *u = all.each;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    for (size_t i = 0; i < ARRAY_LEN(all.each); i++) {
        char id[2] = {(char)('a' + i), 0};
        rig_update(&r, &u[i], id, COMPLETED);
    }
    CHECK(!u[9].is_done);
    CHECK_INT(u[10].err.code, ERR_BUSY);
    CHECK_INT(u[10].err.cause, RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT);
    rig_terminate(&r, &a, "wf");
}

/* with start */

static void rig_multi(struct rig *r, struct ask *a, const char *update_id, const char *request_id,
                      E__WorkflowIdConflictPolicy policy) {
    Ws__StartWorkflowExecutionRequest *start = ask_start(r, a, "wf");
    struct arena *m = ask_arena(a);
    start->request_id = make_text(m, request_id);
    start->workflow_id_conflict_policy = policy;
    Ws__ExecuteMultiOperationRequest *req =
        MAKE(m, Ws__ExecuteMultiOperationRequest, ws__execute_multi_operation_request__init);
    req->namespace_ = make_text(m, "default");
    req->operations = arena_array(m, Ws__ExecuteMultiOperationRequest__Operation *, 2);
    ensure(req->operations);
    req->n_operations = 2;
    for (size_t i = 0; i < 2; i++)
        req->operations[i] = MAKE(m, Ws__ExecuteMultiOperationRequest__Operation,
                                  ws__execute_multi_operation_request__operation__init);
    req->operations[0]->operation_case =
        WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_START_WORKFLOW;
    req->operations[0]->start_workflow = start;
    req->operations[1]->operation_case =
        WS__EXECUTE_MULTI_OPERATION_REQUEST__OPERATION__OPERATION_UPDATE_WORKFLOW;
    req->operations[1]->update_workflow = make_update(m, update_id, COMPLETED);
    RIG_SEND(r, a, execute_multi, req);
}

static bool multi_is(const struct ask *a, bool started) {
    const Ws__ExecuteMultiOperationResponse *resp = a->is_done ? a->response : NULL;
    return resp && resp->n_responses == 2 && resp->responses[0]->start_workflow->started == started &&
           resp->responses[1]->update_workflow->stage == COMPLETED &&
           resp->responses[1]->update_workflow->outcome;
}

TEST(update_with_start_rides_on_the_first_task) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0}, v = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_multi(&r, &u, "one", "r1", WORKFLOW_ID_CONFLICT_POLICY_FAIL);
    CHECK(!u.is_done);
    rig_multi(&r, &v, "one", "r1", WORKFLOW_ID_CONFLICT_POLICY_FAIL); /* asked again */
    rig_poll(&r, &p, "queue");
    CHECK_INT(message_count(&p), 1);
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE);
    CHECK(multi_is(&u, true));
    CHECK(multi_is(&v, true));
    CHECK_INT(history_length(&r), 6);
}

TEST(update_with_start_uses_what_is_there_or_refuses) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_idle(&r, &a);
    rig_multi(&r, &u, "one", "r1", WORKFLOW_ID_CONFLICT_POLICY_FAIL);
    CHECK(u.is_done);
    CHECK_INT(u.err.code, ERR_MULTI);
    REQUIRE(u.err.operation_count == 2 && u.err.operations);
    CHECK_INT(u.err.operations[0].code, ERR_ALREADY_STARTED);
    CHECK_INT(u.err.operations[1].code, ERR_MULTI_ABORTED);
    rig_multi(&r, &u, "one", "r1", WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING);
    CHECK(!u.is_done);
    rig_poll(&r, &p, "queue");
    answer(&r, &a, &p, "one", ACCEPT | COMPLETE);
    CHECK(multi_is(&u, false));
    rig_multi(&r, &u, "one", "r2", WORKFLOW_ID_CONFLICT_POLICY_FAIL); /* a known update needs no start */
    CHECK(multi_is(&u, false));
    rig_terminate(&r, &a, "wf");
    rig_multi(&r, &u, "two", "r3", WORKFLOW_ID_CONFLICT_POLICY_FAIL);
    CHECK(!u.is_done);
    CHECK_INT(history_length(&r), 2); /* of the new run */
}

TEST(update_with_start_that_is_aborted_says_that_the_start_was_done) {
    cleanup(ask_done) struct ask a = {0}, u = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_multi(&r, &u, "one", "r1", WORKFLOW_ID_CONFLICT_POLICY_FAIL);
    rig_terminate(&r, &a, "wf");
    CHECK_INT(u.err.code, ERR_MULTI);
    REQUIRE(u.err.operation_count == 2 && u.err.operations);
    CHECK_INT(u.err.operations[0].code, 0);
    CHECK_INT(u.err.operations[1].code, ERR_NOT_FOUND);
}
