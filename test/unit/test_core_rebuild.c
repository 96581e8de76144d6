/* The state of a run, made again from its events. A line is an event and what is open behind it. */
#include "core/reset/rebuild.h"

#include <stdio.h>

#include "core/activity/activity_control.h"
#include "core_fixture.h"
#include "message_text.h"

#define EVENT(type, member, attributes)                                                                      \
    "'eventTime':'2026-01-01T00:00:00Z','eventType':'EVENT_TYPE_" type "','" member                          \
    "EventAttributes':{" attributes "}"

#define STARTED                                                                                              \
    EVENT("WORKFLOW_EXECUTION_STARTED", "workflowExecutionStarted",                                          \
          "'workflowType':{'name':'T'},'taskQueue':{'name':'q'},'originalExecutionRunId':'r','attempt':1")

struct line {
    const char *event; /* without its id */
    const char *open; /* "timers 1 children 1/1 ..." or NULL: as before */
};

/* What is open: activities, timers, children and how many of them have started, others, updates. */
static const char *open_text(const State__Execution *st, char text[128]) {
    size_t started = 0;
    for (size_t i = 0; i < st->n_children; i++)
        started += st->children[i]->is_started;
    (void)snprintf(text, 128, "%s%zu %zu %zu/%zu %zu %zu", st->task ? "task " : "", st->n_activities,
                   st->n_timers, started, st->n_children, st->n_externals, st->n_updates);
    return text;
}

static int apply(struct core *f, int64_t id, const char *event) {
    char text[2048];
    (void)snprintf(text, sizeof(text), "{'eventId':'%lld',%s}", (long long)id, event);
    const History__HistoryEvent *ev = message_of(&f->arena, &history__history_event__descriptor, text);
    return ev ? STEP(f, rebuild_apply(&f->s, ev)) : ERR_NO_MEMORY;
}

static int apply_lines(struct core *f, const struct line *lines, size_t count) {
    bool failed = false;
    char text[128] = "";
    const char *want = "0 0 0/0 0 0";
    f->st = pb_new(&state__execution__descriptor, &failed);
    for (size_t i = 0; i < count; i++) {
        int rc = apply(f, (int64_t)i + 1, lines[i].event);
        want = lines[i].open ? lines[i].open : want;
        CHECK_INT(rc, 0);
        if (!f->st)
            return ERR_NO_MEMORY;
        if (!CHECK_STR(open_text(f->st, text), want))
            printf("# %s\n", lines[i].event);
        CHECK_INT(f->st->next_event_id, i + 2);
    }
    return 0;
}

/* What has ended wants no worker; what has not is offered once, at the end. */
TEST(rebuild_offers_what_is_pending) {
    static const struct line lines[] = {
        {STARTED, NULL},
        {EVENT("ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled",
               "'activityId':'a','activityType':{'name':'A'},'taskQueue':{'name':'q'}"),
         "1 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled",
               "'activityId':'b','activityType':{'name':'A'},'taskQueue':{'name':'q'}"),
         "2 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_TIMED_OUT", "activityTaskTimedOut", "'scheduledEventId':'2'"), "1 0 0/0 0 0"},
        {EVENT("WORKFLOW_EXECUTION_OPTIONS_UPDATED", "workflowExecutionOptionsUpdated",
               "'versioningOverride':{'autoUpgrade':true}"),
         NULL}, /* while a run lives its activities are offered anew then */
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    REQUIRE(apply_lines(&f, lines, ARRAY_LEN(lines)) == 0);
    CHECK_INT(f.s.effect_count, 0);
    CHECK_INT(STEP_VOID(&f, rebuild_finish(&f.s, &(struct rebuild_name){"copy", "request", "origin", 20})),
              0);
    CHECK_STR(core_effects(&f), "ACTIVITY@3");
    CHECK(f.st && cstr_eq(f.st->run_id, "copy") && cstr_eq(f.st->origin_request_id, "origin"));
}

TEST(rebuild_of_everything_that_ends) {
    static const struct line lines[] = {
        {STARTED, NULL},
        {EVENT("WORKFLOW_TASK_SCHEDULED", "workflowTaskScheduled", "'startToCloseTimeout':'10s'"),
         "task 0 0 0/0 0 0"},
        {EVENT("WORKFLOW_TASK_STARTED", "workflowTaskStarted", "'identity':'me'"), NULL},
        {EVENT("WORKFLOW_TASK_COMPLETED", "workflowTaskCompleted", "'startedEventId':'3'"), "0 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled",
               "'activityId':'a','activityType':{'name':'A'},'taskQueue':{'name':'q'}"),
         "1 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled",
               "'activityId':'b','activityType':{'name':'A'},'taskQueue':{'name':'q'}"),
         "2 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_CANCEL_REQUESTED", "activityTaskCancelRequested", "'scheduledEventId':'6'"),
         NULL},
        {EVENT("ACTIVITY_TASK_CANCELED", "activityTaskCanceled", "'scheduledEventId':'6'"), "1 0 0/0 0 0"},
        {EVENT("ACTIVITY_TASK_TIMED_OUT", "activityTaskTimedOut", "'scheduledEventId':'5'"), "0 0 0/0 0 0"},
        {EVENT("TIMER_STARTED", "timerStarted", "'timerId':'t','startToFireTimeout':'1s'"), "0 1 0/0 0 0"},
        {EVENT("TIMER_STARTED", "timerStarted", "'timerId':'u','startToFireTimeout':'1s'"), "0 2 0/0 0 0"},
        {EVENT("TIMER_CANCELED", "timerCanceled", "'startedEventId':'11'"), "0 1 0/0 0 0"},
        {EVENT("TIMER_FIRED", "timerFired", "'startedEventId':'10'"), "0 0 0/0 0 0"},
        {EVENT("START_CHILD_WORKFLOW_EXECUTION_INITIATED", "startChildWorkflowExecutionInitiated",
               "'workflowId':'c','workflowType':{'name':'T'}"),
         "0 0 0/1 0 0"},
        {EVENT("CHILD_WORKFLOW_EXECUTION_STARTED", "childWorkflowExecutionStarted",
               "'initiatedEventId':'14','workflowExecution':{'workflowId':'c','runId':'r'}"),
         "0 0 1/1 0 0"},
        {EVENT("CHILD_WORKFLOW_EXECUTION_COMPLETED", "childWorkflowExecutionCompleted",
               "'initiatedEventId':'14'"),
         "0 0 0/0 0 0"},
        {EVENT("SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED", "signalExternalWorkflowExecutionInitiated",
               "'workflowExecution':{'workflowId':'x'}"),
         "0 0 0/0 1 0"},
        {EVENT("REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED",
               "requestCancelExternalWorkflowExecutionInitiated", "'workflowExecution':{'workflowId':'x'}"),
         "0 0 0/0 2 0"},
        {EVENT("EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED", "externalWorkflowExecutionCancelRequested",
               "'initiatedEventId':'18'"),
         "0 0 0/0 1 0"},
        {EVENT("EXTERNAL_WORKFLOW_EXECUTION_SIGNALED", "externalWorkflowExecutionSignaled",
               "'initiatedEventId':'17'"),
         "0 0 0/0 0 0"},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_ADMITTED", "workflowExecutionUpdateAdmitted",
               "'request':{'meta':{'updateId':'u'}}"),
         "0 0 0/0 0 1"},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_ACCEPTED", "workflowExecutionUpdateAccepted",
               "'protocolInstanceId':'u'"),
         NULL}, /* the same one */
        {EVENT("WORKFLOW_EXECUTION_UPDATE_COMPLETED", "workflowExecutionUpdateCompleted",
               "'meta':{'updateId':'u'}"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_ACCEPTED", "workflowExecutionUpdateAccepted",
               "'protocolInstanceId':'v'"),
         "0 0 0/0 0 2"},
        {EVENT("WORKFLOW_EXECUTION_OPTIONS_UPDATED", "workflowExecutionOptionsUpdated",
               "'attachedRequestId':'q'"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_OPTIONS_UPDATED", "workflowExecutionOptionsUpdated",
               "'attachedRequestId':'q'"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_SIGNALED", "workflowExecutionSignaled", "'signalName':'s'"), NULL},
        {EVENT("MARKER_RECORDED", "markerRecorded", "'markerName':'m'"), NULL},
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(apply_lines(&f, lines, ARRAY_LEN(lines)), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->last_started_event_id, 3);
    CHECK_INT(f.st->signal_count, 1);
    REQUIRE(f.st->n_updates == 2 && f.st->n_attached_requests == 1);
    CHECK_INT(f.st->updates[0]->admitted_event_id, 21);
    CHECK_INT(f.st->updates[0]->accepted_event_id, 22);
    CHECK_INT(f.st->updates[0]->completed_event_id, 23);
    CHECK_INT(f.st->attached_requests[0]->event_id, 25);
}

/* Events about things that the history before does not have, and events that lack a part: a file may be
 * damaged, and a reset of what it holds must not end the server. */
TEST(rebuild_of_what_does_not_fit) {
    static const struct line lines[] = {
        {STARTED, NULL},
        {EVENT("WORKFLOW_TASK_STARTED", "workflowTaskStarted", ""), NULL},
        {EVENT("ACTIVITY_TASK_CANCEL_REQUESTED", "activityTaskCancelRequested", "'scheduledEventId':'99'"),
         NULL},
        {EVENT("ACTIVITY_TASK_COMPLETED", "activityTaskCompleted", "'scheduledEventId':'99'"), NULL},
        {EVENT("TIMER_STARTED", "timerStarted", "'timerId':'t'"), "0 1 0/0 0 0"},
        {EVENT("TIMER_FIRED", "timerFired", "'startedEventId':'99'"), NULL},
        {EVENT("START_CHILD_WORKFLOW_EXECUTION_INITIATED", "startChildWorkflowExecutionInitiated",
               "'workflowId':'c'"),
         "0 1 0/1 0 0"},
        {EVENT("CHILD_WORKFLOW_EXECUTION_STARTED", "childWorkflowExecutionStarted",
               "'initiatedEventId':'99'"),
         NULL},
        {EVENT("CHILD_WORKFLOW_EXECUTION_STARTED", "childWorkflowExecutionStarted", "'initiatedEventId':'7'"),
         "0 1 1/1 0 0"},
        {EVENT("CHILD_WORKFLOW_EXECUTION_FAILED", "childWorkflowExecutionFailed", "'initiatedEventId':'99'"),
         NULL},
        {EVENT("SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED", "signalExternalWorkflowExecutionInitiated",
               ""),
         "0 1 1/1 1 0"},
        {EVENT("SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED", "signalExternalWorkflowExecutionFailed",
               "'initiatedEventId':'99'"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_ADMITTED", "workflowExecutionUpdateAdmitted", ""), NULL},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_ADMITTED", "workflowExecutionUpdateAdmitted", "'request':{}"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_COMPLETED", "workflowExecutionUpdateCompleted", ""), NULL},
        {EVENT("WORKFLOW_EXECUTION_UPDATE_COMPLETED", "workflowExecutionUpdateCompleted",
               "'meta':{'updateId':'nobody'}"),
         NULL},
        {EVENT("WORKFLOW_EXECUTION_OPTIONS_UPDATED", "workflowExecutionOptionsUpdated", ""), NULL},
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(apply_lines(&f, lines, ARRAY_LEN(lines)), 0);
}

/* An activity whose event has no timeout at all waits for its worker for ever. */
TEST(rebuild_of_an_activity_without_timeouts) {
    static const struct line lines[] = {
        {STARTED, NULL},
        {EVENT("ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled",
               "'activityId':'a','activityType':{'name':'A'},'taskQueue':{'name':'q'}"),
         "1 0 0/0 0 0"},
    };
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(apply_lines(&f, lines, ARRAY_LEN(lines)), 0);
    CHECK_INT(core_activity_start(&f, 2), 0);
    const State__Activity *a = core_activity(&f, 2);
    REQUIRE(a);
    CHECK_INT(activity_due_us(a), CLOCK_NEVER);
    static const struct activity_choice all = {.is_all = true};
    const Activity__ActivityOptions *options =
        message_of(&f.arena, &activity__activity_options__descriptor,
                   "{'startToCloseTimeout':'5s','retryPolicy':{'maximumAttempts':2}}");
    const Google__Protobuf__FieldMask *mask = message_of(&f.arena, &google__protobuf__field_mask__descriptor,
                                                         "'startToCloseTimeout,retryPolicy.maximumAttempts'");
    REQUIRE(options && mask);
    CHECK_INT(STEP(&f, activity_update_options(&f.s, &all, options, mask)), 0);
    a = core_activity(&f, 2);
    REQUIRE(a && a->retry_policy);
    CHECK_INT(a->retry_policy->maximum_attempts, 2);
    CHECK_INT(STEP(&f, activity_restore_options(&f.s, &all)), 0); /* to no policy: the default */
    a = core_activity(&f, 2);
    REQUIRE(a && a->retry_policy);
    CHECK_INT(a->retry_policy->maximum_attempts, 0);
}
