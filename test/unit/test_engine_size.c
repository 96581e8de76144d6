/* How much a worker may send: each field at its limit and one byte above it, and what becomes of the run. */
#include "engine_fixture.h"

#include <stdio.h>

#include "core/search/attributes.h"
#include "core/run/command.h"

struct sized {
    Command__Command *(*make)(struct arena *m);
    enum settable limit;
    E__WorkflowTaskFailedCause cause;
    const char *field;
    const void *(*measured)(const Command__Command *c);
};

static Command__Command *command(struct arena *m, E__CommandType type, Command__Command__AttributesCase which,
                                 void *attributes) {
    Command__Command *c = MAKE(m, Command__Command, command__command__init);
    c->command_type = type;
    c->attributes_case = which;
    c->start_timer_command_attributes = attributes; /* the members of the union are pointers */
    return c;
}

#define COMMAND_OF(m, NAME, a)                                                                               \
    command((m), COMMAND_TYPE_##NAME, COMMAND__COMMAND__ATTRIBUTES_##NAME##_COMMAND_ATTRIBUTES, (a))

static Common__Payload *payload(struct arena *m) {
    return make_payloads(m, "\"a payload of some size\"")->payloads[0];
}

static Common__Memo *memo(struct arena *m) {
    Common__Memo *memo = MAKE(m, Common__Memo, common__memo__init);
    memo->fields = arena_array(m, Common__Memo__FieldsEntry *, 1);
    ensure(memo->fields);
    memo->fields[0] = MAKE(m, Common__Memo__FieldsEntry, common__memo__fields_entry__init);
    memo->fields[0]->key = make_text(m, "key");
    memo->fields[0]->value = payload(m);
    memo->n_fields = 1;
    return memo;
}

static Common__SearchAttributes *attributes(struct arena *m) {
    Common__SearchAttributes *a = MAKE(m, Common__SearchAttributes, common__search_attributes__init);
    a->indexed_fields = arena_array(m, Common__SearchAttributes__IndexedFieldsEntry *, 1);
    ensure(a->indexed_fields);
    a->indexed_fields[0] = MAKE(m, Common__SearchAttributes__IndexedFieldsEntry,
                                common__search_attributes__indexed_fields_entry__init);
    a->indexed_fields[0]->key = make_text(m, "BatcherUser");
    a->indexed_fields[0]->value = payload(m);
    a->n_indexed_fields = 1;
    return a;
}

static Command__Command *activity(struct arena *m) {
    Command__Command *c = make_activity(m, "a");
    c->schedule_activity_task_command_attributes->input = make_payloads(m, "input");
    return c;
}

static Command__Command *activity_of_some_size(struct arena *m) {
    Command__Command *c = activity(m);
    c->schedule_activity_task_command_attributes->input = make_payloads(m, "more than twenty bytes of input");
    return c;
}

static Command__Command *complete(struct arena *m) {
    Command__Command *c = make_complete(m);
    c->complete_workflow_execution_command_attributes->result = make_payloads(m, "result");
    return c;
}

static Command__Command *fail(struct arena *m) {
    Command__FailWorkflowExecutionCommandAttributes *a =
        MAKE(m, Command__FailWorkflowExecutionCommandAttributes,
             command__fail_workflow_execution_command_attributes__init);
    a->failure = MAKE(m, Failure__Failure, failure__failure__init);
    a->failure->message = make_text(m, "what a failure");
    return COMMAND_OF(m, FAIL_WORKFLOW_EXECUTION, a);
}

static Command__Command *cancel(struct arena *m) {
    Command__CancelWorkflowExecutionCommandAttributes *a =
        MAKE(m, Command__CancelWorkflowExecutionCommandAttributes,
             command__cancel_workflow_execution_command_attributes__init);
    a->details = make_payloads(m, "details");
    return COMMAND_OF(m, CANCEL_WORKFLOW_EXECUTION, a);
}

static Command__Command *signal(struct arena *m) {
    Command__SignalExternalWorkflowExecutionCommandAttributes *a =
        MAKE(m, Command__SignalExternalWorkflowExecutionCommandAttributes,
             command__signal_external_workflow_execution_command_attributes__init);
    a->execution = make_execution(m, "other", "");
    a->signal_name = make_text(m, "s");
    a->input = make_payloads(m, "input");
    return COMMAND_OF(m, SIGNAL_EXTERNAL_WORKFLOW_EXECUTION, a);
}

static Command__Command *continue_as_new(struct arena *m) {
    Command__ContinueAsNewWorkflowExecutionCommandAttributes *a =
        MAKE(m, Command__ContinueAsNewWorkflowExecutionCommandAttributes,
             command__continue_as_new_workflow_execution_command_attributes__init);
    a->input = make_payloads(m, "input");
    a->memo = memo(m);
    return COMMAND_OF(m, CONTINUE_AS_NEW_WORKFLOW_EXECUTION, a);
}

static Command__Command *child(struct arena *m) {
    Command__StartChildWorkflowExecutionCommandAttributes *a =
        MAKE(m, Command__StartChildWorkflowExecutionCommandAttributes,
             command__start_child_workflow_execution_command_attributes__init);
    a->workflow_id = make_text(m, "child");
    a->workflow_type = MAKE(m, Common__WorkflowType, common__workflow_type__init);
    a->workflow_type->name = make_text(m, "Type");
    a->input = make_payloads(m, "input");
    a->memo = memo(m);
    return COMMAND_OF(m, START_CHILD_WORKFLOW_EXECUTION, a);
}

static Command__Command *upsert(struct arena *m) {
    Command__UpsertWorkflowSearchAttributesCommandAttributes *a =
        MAKE(m, Command__UpsertWorkflowSearchAttributesCommandAttributes,
             command__upsert_workflow_search_attributes_command_attributes__init);
    a->search_attributes = attributes(m);
    return COMMAND_OF(m, UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, a);
}

static Command__Command *properties(struct arena *m) {
    Command__ModifyWorkflowPropertiesCommandAttributes *a =
        MAKE(m, Command__ModifyWorkflowPropertiesCommandAttributes,
             command__modify_workflow_properties_command_attributes__init);
    a->upserted_memo = memo(m);
    return COMMAND_OF(m, MODIFY_WORKFLOW_PROPERTIES, a);
}

#define FIELD(name, member)                                                                                  \
    static const void *name(const Command__Command *c) {                                                     \
        return c->member;                                                                                    \
    }
FIELD(activity_input, schedule_activity_task_command_attributes->input)
FIELD(complete_result, complete_workflow_execution_command_attributes->result)
FIELD(fail_failure, fail_workflow_execution_command_attributes->failure)
FIELD(cancel_details, cancel_workflow_execution_command_attributes->details)
FIELD(signal_input, signal_external_workflow_execution_command_attributes->input)
FIELD(continue_input, continue_as_new_workflow_execution_command_attributes->input)
FIELD(continue_memo, continue_as_new_workflow_execution_command_attributes->memo)
FIELD(child_input, start_child_workflow_execution_command_attributes->input)
FIELD(child_memo, start_child_workflow_execution_command_attributes->memo)
FIELD(upsert_fields, upsert_workflow_search_attributes_command_attributes->search_attributes)
FIELD(properties_memo, modify_workflow_properties_command_attributes->upserted_memo)

#define CAUSE(name) WORKFLOW_TASK_FAILED_CAUSE_BAD_##name##_ATTRIBUTES
static const struct sized cases[] = {
    {activity, SETTABLE_BLOB_BYTES, CAUSE(SCHEDULE_ACTIVITY), "ScheduleActivityTaskCommandAttributes.Input",
     activity_input},
    {complete, SETTABLE_BLOB_BYTES, CAUSE(COMPLETE_WORKFLOW_EXECUTION),
     "CompleteWorkflowExecutionCommandAttributes.Result", complete_result},
    {fail, SETTABLE_BLOB_BYTES, CAUSE(FAIL_WORKFLOW_EXECUTION),
     "FailWorkflowExecutionCommandAttributes.Failure", fail_failure},
    {cancel, SETTABLE_BLOB_BYTES, CAUSE(CANCEL_WORKFLOW_EXECUTION),
     "CancelWorkflowExecutionCommandAttributes.Details", cancel_details},
    {signal, SETTABLE_BLOB_BYTES, CAUSE(SIGNAL_WORKFLOW_EXECUTION),
     "SignalExternalWorkflowExecutionCommandAttributes.Input", signal_input},
    {continue_as_new, SETTABLE_BLOB_BYTES, CAUSE(CONTINUE_AS_NEW),
     "ContinueAsNewWorkflowExecutionCommandAttributes.Input", continue_input},
    {continue_as_new, SETTABLE_MEMO_BYTES, CAUSE(CONTINUE_AS_NEW),
     "ContinueAsNewWorkflowExecutionCommandAttributes.Memo", continue_memo},
    {child, SETTABLE_BLOB_BYTES, CAUSE(START_CHILD_EXECUTION),
     "StartChildWorkflowExecutionCommandAttributes.Input", child_input},
    {child, SETTABLE_MEMO_BYTES, CAUSE(START_CHILD_EXECUTION),
     "StartChildWorkflowExecutionCommandAttributes.Memo", child_memo},
    {upsert, SETTABLE_BLOB_BYTES, WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
     "UpsertWorkflowSearchAttributesCommandAttributes", upsert_fields},
    {properties, SETTABLE_BLOB_BYTES, CAUSE(MODIFY_WORKFLOW_PROPERTIES),
     "ModifyWorkflowPropertiesCommandAttributes", properties_memo},
    {properties, SETTABLE_MEMO_BYTES, CAUSE(MODIFY_WORKFLOW_PROPERTIES),
     "ModifyWorkflowPropertiesCommandAttributes.UpsertedMemo", properties_memo},
};

static const History__HistoryEvent *event_of(struct ask *a, size_t i) {
    const Ws__GetWorkflowExecutionHistoryResponse *h = a->response;
    return h && i < h->history->n_events ? h->history->events[i] : NULL;
}

static void check_ended(struct rig *r, struct ask *a, const struct sized *c, const char *reason) {
    rig_history(r, a, "wf");
    CHECK_STR(ask_events(a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 RUN_TERMINATED@5");
    const History__HistoryEvent *failed = event_of(a, 3), *ended = event_of(a, 4);
    REQUIRE(failed && ended);
    CHECK_INT(failed->workflow_task_failed_event_attributes->cause, c->cause);
    CHECK_STR(ended->workflow_execution_terminated_event_attributes->reason, reason);
    CHECK_STR(ended->workflow_execution_terminated_event_attributes->identity, "history-service");
}

static int64_t size_of(const struct sized *c) {
    struct arena m;
    arena_init(&m, 1 << 16);
    int64_t size = (int64_t)protobuf_c_message_get_packed_size(c->measured(c->make(&m)));
    arena_done(&m);
    return size;
}

static void send_command(struct rig *r, struct ask *a, const struct ask *task,
                         Command__Command *(*make)(struct arena *m)) {
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(r, a, task);
    add_command(a, done, make(ask_arena(a)));
    RIG_SEND(r, a, complete_workflow_task, done);
}

TEST(size_of_what_a_command_carries) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct sized *c = &cases[i];
        for (int excess = 0; excess <= 1; excess++) {
            cleanup(ask_done) struct ask a = {0}, task = {0};
            cleanup(rig_done) struct rig r;
            rig_init_limited(&r, c->limit, size_of(c) - excess);
            rig_start(&r, &a, "wf");
            rig_poll(&r, &task, "queue");
            send_command(&r, &a, &task, c->make);
            if (!excess) {
                CHECK_OK(&a);
                continue;
            }
            char reason[256];
            (void)snprintf(reason, sizeof reason, "%s: %s exceeds size limit.", command_cause_name(c->cause),
                           c->field);
            CHECK_FAILS(&a, ERR_INVALID, reason);
            check_ended(&r, &a, c, reason);
        }
    }
}

TEST(size_of_a_marker) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_BLOB_BYTES, 2000);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_marker(ask_arena(&a), 1900));
    done->force_create_new_workflow_task = true;
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_OK(&a);
    rig_poll(&r, &task, "queue");
    done = ask_completion(&r, &a, &task);
    add_command(&a, done, make_marker(ask_arena(&a), 2001));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    CHECK_FAILS(&a, ERR_INVALID,
                "BadRecordMarkerAttributes: RecordMarkerCommandAttributes.Details exceeds size limit.");
    rig_describe(&r, &a, "wf");
    const Ws__DescribeWorkflowExecutionResponse *d = a.response;
    REQUIRE(d);
    CHECK_INT(d->workflow_execution_info->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
}

TEST(size_of_search_attributes_ends_the_run_too) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_ATTRIBUTE_BYTES, 10);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    send_command(&r, &a, &task, upsert);
    CHECK_FAILS(&a, ERR_INVALID,
                "BadSearchAttributes: search attribute BatcherUser value size 24 exceeds size limit 10");
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 RUN_TERMINATED@5");
    Ws__StartWorkflowExecutionRequest *start = ask_start(&r, &a, "wf2");
    start->search_attributes = attributes(ask_arena(&a));
    RIG_SEND(&r, &a, start_workflow, start);
    CHECK_FAILS(&a, ERR_INVALID, "search attribute BatcherUser value size 24 exceeds size limit 10");
}

TEST(size_of_a_memo_at_the_start) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_MEMO_BYTES, 10);
    Ws__StartWorkflowExecutionRequest *start = ask_start(&r, &a, "wf");
    start->memo = memo(ask_arena(&a));
    RIG_SEND(&r, &a, start_workflow, start);
    CHECK_FAILS(&a, ERR_INVALID, "Blob data size exceeds limit.");
}

/* As many as fit: what compared each with all others would not come to an end. */
TEST(size_of_a_memo_with_very_many_fields) {
    enum { FIELDS = 30000 };
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *start = ask_start(&r, &a, "wf");
    struct arena *m = ask_arena(&a);
    start->memo = memo(m);
    Common__Payload *value = make_payloads(m, "1")->payloads[0];
    start->memo->fields = arena_array(m, Common__Memo__FieldsEntry *, FIELDS);
    REQUIRE(start->memo->fields);
    for (size_t i = 0; i < FIELDS; i++) {
        Common__Memo__FieldsEntry *f = MAKE(m, Common__Memo__FieldsEntry, common__memo__fields_entry__init);
        f->key = arena_printf(m, "%zu", i);
        f->value = value;
        start->memo->fields[i] = f;
    }
    start->memo->n_fields = FIELDS;
    RIG_SEND(&r, &a, start_workflow, start);
    CHECK_OK(&a);
}

/* What came in meanwhile is not lost, and a task that is tried again is left to its timeout. */
TEST(size_is_judged_on_the_first_attempt) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_BLOB_BYTES, 20);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    rig_fail_task(&r, &a, &task);
    CHECK_OK(&a);
    rig_poll(&r, &task, "queue");
    send_command(&r, &a, &task, fail);
    CHECK_OK(&a); /* 16 bytes of failure fit */
    rig_start(&r, &a, "wf2");
    rig_poll(&r, &task, "queue");
    rig_signal(&r, &a, "wf2", "s1");
    send_command(&r, &a, &task, activity_of_some_size);
    CHECK_INT(a.err.code, ERR_INVALID);
    rig_history(&r, &a, "wf2");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 RUN_SIGNALED@5 "
                              "RUN_TERMINATED@6");
    rig_start(&r, &a, "wf3");
    rig_poll(&r, &task, "queue");
    rig_fail_task(&r, &a, &task);
    rig_poll(&r, &task, "queue");
    send_command(&r, &a, &task, activity_of_some_size);
    CHECK_INT(a.err.code, ERR_INVALID);
    rig_history(&r, &a, "wf3");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4");
}

TEST(size_of_a_query_result) {
    cleanup(ask_done) struct ask a = {0}, q = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_BLOB_BYTES, 40);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    rig_complete(&r, &a, &task);
    rig_query(&r, &q, "wf");
    rig_poll(&r, &task, "queue");
    rig_answer_query(&r, &a, &task, "an answer of much more than forty bytes, which is a lot");
    CHECK_OK(&a);
    CHECK_FAILS(&q, ERR_QUERY_FAILED, "Blob data size exceeds limit.");
}

TEST(size_of_a_task_failure_is_cut) {
    cleanup(ask_done) struct ask a = {0}, task = {0};
    cleanup(rig_done) struct rig r;
    rig_init_limited(&r, SETTABLE_BLOB_BYTES, 100);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &task, "queue");
    struct arena *m = ask_begin(&r, &a);
    Ws__RespondWorkflowTaskFailedRequest *req =
        MAKE(m, Ws__RespondWorkflowTaskFailedRequest, ws__respond_workflow_task_failed_request__init);
    const Ws__PollWorkflowTaskQueueResponse *t = task.response;
    REQUIRE(t);
    req->namespace_ = make_text(m, "default");
    req->task_token = make_bytes(m, t->task_token);
    req->failure = MAKE(m, Failure__Failure, failure__failure__init);
    req->failure->message = make_long_text(m, 1000);
    RIG_SEND(&r, &a, fail_workflow_task, req);
    CHECK_OK(&a);
    rig_history(&r, &a, "wf");
    const History__HistoryEvent *ev = event_of(&a, 3);
    REQUIRE(ev && ev->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED);
    const Failure__Failure *f = ev->workflow_task_failed_event_attributes->failure;
    REQUIRE(f && f->cause);
    CHECK_STR(f->message, "Failure exceeds size limit.");
    CHECK_INT(strlen(f->cause->message), 50);
}
