/* What a reset does again: events behind its point, answers, letters. */
#include "core/reset/reapply.h"

#include "command_text.h"
#include "core/run/attach.h"
#include "core/run/external.h"
#include "core/message/letter.h"

static const struct reapply_choice all = {0}, none = {.no_signals = true, .no_updates = true},
                                   base_too = {.is_base = true};

static int again(struct core *f, const char *event, const struct reapply_choice *choice) {
    const History__HistoryEvent *ev = message_of(&f->arena, &history__history_event__descriptor, event);
    return ev ? STEP(f, reapply_event(&f->s, ev, choice)) : ERR_NO_MEMORY;
}

TEST(reapply_what_came_from_outside) {
    static const struct {
        const char *event, *want; /* when everything is wanted */
    } cases[] = {
        {"{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED','workflowExecutionSignaledEventAttributes':"
         "{'signalName':'s'}}",
         "RUN_SIGNALED@3"},
        {"{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED',"
         "'workflowExecutionUpdateAdmittedEventAttributes':{'request':{'meta':{'updateId':'u'}}}}",
         "RUN_UPDATE_ADMITTED@3"},
        {"{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED',"
         "'workflowExecutionUpdateAcceptedEventAttributes':{'acceptedRequest':{'meta':{'updateId':'u'}}}}",
         "RUN_UPDATE_ADMITTED@3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(core_start(&f), 0);
        (void)core_new(&f);
        CHECK_INT(again(&f, cases[i].event, &none), 0);
        CHECK_STR(core_new(&f), "");
        CHECK_INT(again(&f, cases[i].event, &all), 0);
        CHECK_STR(core_new(&f), cases[i].want);
    }
}

/* In one piece before the next task, the end of a child last. */
TEST(reapply_keeps_the_order) {
    static const char *const events[] = {
        "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED','workflowExecutionSignaledEventAttributes':"
        "{'signalName':'one'}}",
        "{'eventType':'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED',"
        "'childWorkflowExecutionStartedEventAttributes':{'initiatedEventId':5,'workflowExecution':"
        "{'workflowId':'child','runId':'r'}}}",
        "{'eventType':'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED',"
        "'childWorkflowExecutionCompletedEventAttributes':{'initiatedEventId':5}}",
        "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED',"
        "'workflowExecutionUpdateAcceptedEventAttributes':{'acceptedRequest':{'meta':{'updateId':'u'}}}}",
        "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED','workflowExecutionSignaledEventAttributes':"
        "{'signalName':'two'}}",
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    command_add(&f, "{'commandType':'COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION',"
                    "'startChildWorkflowExecutionCommandAttributes':{'workflowId':'child','workflowType':"
                    "{'name':'Child'}}}");
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    if (!core_begin(&f))
        return;
    reapply_begin(&f.s);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(events); i++) {
        const History__HistoryEvent *ev =
            message_of(&f.arena, &history__history_event__descriptor, events[i]);
        rc = ev ? reapply_event(&f.s, ev, &base_too) : ERR_NO_MEMORY;
    }
    reapply_end(&f.s);
    CHECK_INT(core_end(&f, rc), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@6 CHILD_WORKFLOW_EXECUTION_STARTED@7 RUN_UPDATE_ADMITTED@8 "
                            "RUN_SIGNALED@9 CHILD_WORKFLOW_EXECUTION_COMPLETED@10 TASK_SCHEDULED@11");
    const History__ChildWorkflowExecutionCompletedEventAttributes *end =
        core_attributes(&f, 10, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED);
    REQUIRE(end && f.st && f.st->n_updates == 1);
    CHECK_INT(end->started_event_id, 7);
    CHECK_INT(f.st->updates[0]->admitted_event_id, 8);
}

/* Whoever was attached to the run before is attached to this one, once. */
TEST(reapply_attached_requests) {
    static const char attached[] =
        "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED',"
        "'workflowExecutionOptionsUpdatedEventAttributes':{'attachedRequestId':'r'}}";
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    CHECK_INT(again(&f,
                    "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED',"
                    "'workflowExecutionOptionsUpdatedEventAttributes':{}}",
                    &all),
              0);
    CHECK_STR(core_new(&f), ""); /* options of the run before are its own */
    CHECK_INT(again(&f, attached, &all), 0);
    CHECK_INT(again(&f, attached, &all), 0);
    CHECK_STR(core_new(&f), "RUN_OPTIONS_UPDATED@3");
    const State__AttachedRequest *r = f.st ? attach_find(f.st, "r") : NULL;
    REQUIRE(r);
    CHECK_INT(r->event_id, 3);
    f.limits.values[SETTABLE_CALLBACKS] = 1;
    CHECK_INT(
        again(&f,
              "{'eventType':'EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED',"
              "'workflowExecutionOptionsUpdatedEventAttributes':{'attachedRequestId':'q',"
              "'attachedCompletionCallbacks':[{'nexus':{'url':'http://a'}},{'nexus':{'url':'http://b'}}]}}",
              &all),
        ERR_INVALID);
}

#define SIGNAL_COMMAND                                                                                       \
    "{'commandType':'COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION',"                                      \
    "'signalExternalWorkflowExecutionCommandAttributes':{'signalName':'s','execution':{'workflowId':'w'}}}"
#define CANCEL_COMMAND                                                                                       \
    "{'commandType':'COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION',"                              \
    "'requestCancelExternalWorkflowExecutionCommandAttributes':{'workflowId':'w'}}"

/* A run that has asked others: a signal, a cancel request and another signal (events 5 to 7). */
static int begin_asking(struct core *f) {
    int rc = core_begin_run(f);
    command_add(f, SIGNAL_COMMAND);
    command_add(f, CANCEL_COMMAND);
    command_add(f, SIGNAL_COMMAND);
    if (rc == 0)
        rc = core_complete(f);
    (void)core_new(f);
    return rc;
}

TEST(reapply_answers_of_others) {
    static const struct {
        const char *event, *want;
    } cases[] = {
        {"{'eventType':'EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED',"
         "'externalWorkflowExecutionSignaledEventAttributes':{'initiatedEventId':5}}",
         "EXTERNAL_WORKFLOW_EXECUTION_SIGNALED@8 TASK_SCHEDULED@9"},
        {"{'eventType':'EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',"
         "'signalExternalWorkflowExecutionFailedEventAttributes':{'initiatedEventId':5,'cause':1}}",
         "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED@8 TASK_SCHEDULED@9"},
        {"{'eventType':'EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED',"
         "'externalWorkflowExecutionCancelRequestedEventAttributes':{'initiatedEventId':6}}",
         "EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED@8 TASK_SCHEDULED@9"},
        {"{'eventType':'EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED',"
         "'requestCancelExternalWorkflowExecutionFailedEventAttributes':{'initiatedEventId':6,'cause':1}}",
         "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED@8 TASK_SCHEDULED@9"},
        {"{'eventType':'EVENT_TYPE_MARKER_RECORDED','markerRecordedEventAttributes':{}}", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(begin_asking(&f), 0);
        CHECK_INT(again(&f, cases[i].event, &all), 0); /* of another run of the chain: not its own */
        CHECK_STR(core_new(&f), "");
        CHECK_INT(again(&f, cases[i].event, &base_too), 0);
        CHECK_STR(core_new(&f), cases[i].want);
    }
}

/* The letters of the new run have the request ids of those that the base has sent, or handed over. */
TEST(reapply_letters_are_known_again) {
    cleanup(core_done) struct core base, f;
    core_init(&base);
    core_init(&f);
    CHECK_INT(begin_asking(&base), 0);
    CHECK_INT(begin_asking(&f), 0);
    REQUIRE(base.st && f.st && base.st->n_outbox == 3);
    const char *signal_id = core_text(&base, base.st->outbox[0]->request_id);
    const char *cancel_id = core_text(&base, base.st->outbox[1]->request_id);
    const char *other_id = core_text(&base, base.st->outbox[2]->request_id);
    CHECK_INT(STEP_VOID(&base, reapply_hand_over(&base.s, "copy", 7)), 0); /* the first two */
    REQUIRE(base.st && signal_id && cancel_id && other_id && base.st->n_outbox == 1);
    CHECK_INT(
        STEP_VOID(&f, (pb_clear_messages(&f.st->n_outbox, &f.st->outbox), reapply_letters(&f.s, base.st))),
        0);
    REQUIRE(f.st && f.st->n_outbox == 3);
    CHECK_INT(f.st->outbox[0]->kind, LETTER_SIGNAL);
    CHECK_STR(f.st->outbox[0]->request_id, signal_id);
    CHECK_INT(f.st->outbox[1]->kind, LETTER_CANCEL);
    CHECK_STR(f.st->outbox[1]->request_id, cancel_id);
    CHECK_STR(f.st->outbox[2]->request_id, other_id);
}

/* Nothing of the base is left: the letters go out under new ids. */
TEST(reapply_letters_without_a_base) {
    cleanup(core_done) struct core f;
    State__Execution base = STATE__EXECUTION__INIT;
    core_init(&f);
    CHECK_INT(begin_asking(&f), 0);
    CHECK_INT(
        STEP_VOID(&f, (pb_clear_messages(&f.st->n_outbox, &f.st->outbox), reapply_letters(&f.s, &base))), 0);
    REQUIRE(f.st && f.st->n_outbox == 3);
    CHECK(!cstr_is_empty(f.st->outbox[0]->request_id));
    CHECK_INT(STEP_VOID(&f, letter_remove(&f.s, 12345)), 0); /* gone already */
    CHECK(f.st && f.st->n_outbox == 3);
}

/* An answer that came to the base after its end is the new run's. */
TEST(reapply_answers_that_came_late) {
    cleanup(core_done) struct core base, f;
    core_init(&base);
    core_init(&f);
    CHECK_INT(begin_asking(&base), 0);
    CHECK_INT(begin_asking(&f), 0);
    CHECK_INT(core_terminate(&base), 0);
    CHECK_INT(STEP_VOID(&base, external_resolved(&base.s, 6, 0)), 0);
    REQUIRE(base.st && f.st);
    CHECK_INT(STEP_VOID(&f, reapply_answers(&f.s, base.st)), 0);
    CHECK_STR(core_new(&f), "EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED@8 TASK_SCHEDULED@9");
}

TEST(reset_without_a_reason) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    struct reset_end end = {.reason = "", .new_run_id = "next", .is_same_chain = true};
    CHECK_INT(STEP(&f, run_end_by_reset(&f.s, &end)), 0);
    const History__WorkflowExecutionTerminatedEventAttributes *a =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED);
    REQUIRE(a);
    CHECK_STR(a->reason, "reset");
}
