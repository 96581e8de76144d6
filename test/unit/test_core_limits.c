/* The limits that need many of something; too large to be tortured. */
#include <stdio.h>

#include "core/run/attach.h"
#include "core/run/timer.h"
#include "core_fixture.h"
#include "message_text.h"

/* `count` activities in one answer, with ids a0, a1, ... */
static int schedule_many(struct core *f, size_t count) {
    Command__Command **commands = arena_array(&f->arena, Command__Command *, count);
    char id[32];
    ensure(commands);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(id, sizeof id, "a%zu", i);
        f->completion.n_commands = 0;
        core_add_activity(f, id);
        commands[i] = f->commands[0];
    }
    f->completion.commands = commands;
    f->completion.n_commands = count;
    int rc = core_complete(f);
    f->completion.commands = f->commands;
    return rc;
}

TEST(limit_of_pending_activities) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(schedule_many(&f, LIMIT_PENDING_ACTIVITIES + 1), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED);
    CHECK_STR(command_cause_name(f.s.task_failed_cause), "PendingActivitiesLimitExceeded");
    CHECK_INT(schedule_many(&f, LIMIT_PENDING_ACTIVITIES), 0);
    CHECK(f.st && f.st->n_activities == LIMIT_PENDING_ACTIVITIES);
    CHECK_INT(f.s.effect_count, LIMIT_PENDING_ACTIVITIES);
}

TEST(limit_of_signals_is_reached_by_signals) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(core_begin(&f));
    int rc = 0;
    for (int i = 0; i < LIMIT_SIGNALS && rc == 0; i++) {
        Ws__SignalWorkflowExecutionRequest req = WS__SIGNAL_WORKFLOW_EXECUTION_REQUEST__INIT;
        req.signal_name = f.start.workflow_id;
        rc = run_signal(&f.s, &req, NULL);
    }
    CHECK_INT(core_end(&f, rc), 0);
    CHECK(f.st && f.st->next_event_id == 3 + LIMIT_SIGNALS);
    CHECK_INT(core_signal(&f, "s"), ERR_INVALID);
    CHECK_STR(f.err.text, "exceeded workflow execution limit for signal events");
}

TEST(limit_of_history_bytes_ends_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    REQUIRE(core_begin(&f));
    f.st->history_bytes = LIMIT_HISTORY_BYTES + 1;
    CHECK_INT(core_end(&f, 0), 0);
    CHECK_STR(core_new(&f), "RUN_TERMINATED@3");
    REQUIRE(f.st);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    const History__WorkflowExecutionTerminatedEventAttributes *ev =
        core_attributes(&f, 3, EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED);
    REQUIRE(ev);
    CHECK_STR(ev->reason, "Workflow history size exceeds limit.");
}

TEST(limit_of_history_events_ends_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    for (int i = 0; f.st && run_is_open(f.st) && i < LIMIT_HISTORY_EVENTS; i++) {
        for (int m = 0; m < 8; m++)
            core_add_marker(&f, "m");
        f.completion.force_create_new_workflow_task = true;
        CHECK_INT(core_complete(&f), 0);
        if (f.st && run_is_open(f.st))
            CHECK_INT(core_pick(&f), 0);
    }
    REQUIRE(f.st);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    CHECK(f.st->next_event_id - 1 > LIMIT_HISTORY_EVENTS &&
          f.st->next_event_id - 1 < LIMIT_HISTORY_EVENTS + 32);
}

TEST(limits_can_be_set_by_their_keys) {
    struct core_limits l = {.values = {[SETTABLE_SIGNALS] = 7}};
    CHECK_INT(limit_by_key(STR("limit.blobSize.error")), SETTABLE_BLOB_BYTES);
    CHECK_INT(limit_by_key(STR("limit.numPendingSignals.error")), SETTABLE_PENDING_SIGNALS);
    CHECK_INT(limit_by_key(STR("limit.blobSize")), SETTABLE_COUNT);
    CHECK_INT(limit_of(NULL, SETTABLE_BLOB_BYTES), 2 << 20);
    CHECK_INT(limit_of(&l, SETTABLE_SIGNALS), 7);
    CHECK_INT(limit_of(&l, SETTABLE_BLOB_BYTES), LIMIT_BLOB_BYTES);
}

static void add_external(struct core *f, bool is_signal) {
    Command__Command *c = core_add(f, is_signal ? COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION
                                                : COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION);
    REQUIRE(c);
    if (is_signal) {
        Command__SignalExternalWorkflowExecutionCommandAttributes *a =
            arena_new(&f->arena, Command__SignalExternalWorkflowExecutionCommandAttributes);
        REQUIRE(a);
        command__signal_external_workflow_execution_command_attributes__init(a);
        a->execution = arena_new(&f->arena, Common__WorkflowExecution);
        REQUIRE(a->execution);
        common__workflow_execution__init(a->execution);
        a->execution->workflow_id = core_text(f, "other");
        a->signal_name = core_text(f, "s");
        c->attributes_case =
            COMMAND__COMMAND__ATTRIBUTES_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
        c->signal_external_workflow_execution_command_attributes = a;
    } else {
        Command__RequestCancelExternalWorkflowExecutionCommandAttributes *a =
            arena_new(&f->arena, Command__RequestCancelExternalWorkflowExecutionCommandAttributes);
        REQUIRE(a);
        command__request_cancel_external_workflow_execution_command_attributes__init(a);
        a->workflow_id = core_text(f, "other");
        c->attributes_case =
            COMMAND__COMMAND__ATTRIBUTES_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
        c->request_cancel_external_workflow_execution_command_attributes = a;
    }
}

static void add_child(struct core *f, const char *id) {
    Command__Command *c = core_add(f, COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION);
    Command__StartChildWorkflowExecutionCommandAttributes *a =
        arena_new(&f->arena, Command__StartChildWorkflowExecutionCommandAttributes);
    REQUIRE(c && a);
    command__start_child_workflow_execution_command_attributes__init(a);
    a->workflow_id = core_text(f, id);
    a->workflow_type = f->start.workflow_type;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->start_child_workflow_execution_command_attributes = a;
}

TEST(limits_of_what_is_pending_hold_one_by_one) {
    static const struct {
        enum settable limit;
        E__WorkflowTaskFailedCause cause;
    } cases[] = {
        {SETTABLE_PENDING_ACTIVITIES, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED},
        {SETTABLE_PENDING_CHILDREN, WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED},
        {SETTABLE_PENDING_SIGNALS, WORKFLOW_TASK_FAILED_CAUSE_PENDING_SIGNALS_LIMIT_EXCEEDED},
        {SETTABLE_PENDING_CANCELS, WORKFLOW_TASK_FAILED_CAUSE_PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        f.limits.values[cases[i].limit] = 2;
        CHECK_INT(core_begin_run(&f), 0);
        for (int count = 3; count >= 2; count--) {
            for (int n = 0; n < count; n++) {
                char id[16];
                (void)snprintf(id, sizeof id, "x%d", n);
                if (cases[i].limit == SETTABLE_PENDING_ACTIVITIES)
                    core_add_activity(&f, id);
                else if (cases[i].limit == SETTABLE_PENDING_CHILDREN)
                    add_child(&f, id);
                else
                    add_external(&f, cases[i].limit == SETTABLE_PENDING_SIGNALS);
            }
            CHECK_INT(core_complete(&f), count == 3 ? ERR_INVALID : 0);
            CHECK_INT(f.s.task_failed_cause, count == 3 ? cases[i].cause : 0);
            CHECK(!f.s.is_task_failure_final);
        }
    }
}

TEST(limit_of_the_state_ends_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    (void)core_new(&f);
    REQUIRE(core_begin(&f));
    f.s.ctx.state_bytes = LIMIT_STATE_BYTES;
    CHECK_INT(core_end(&f, 0), 0);
    CHECK_STR(core_new(&f), "");
    REQUIRE(core_begin(&f));
    f.s.ctx.state_bytes = LIMIT_STATE_BYTES + 1;
    CHECK_INT(core_end(&f, 0), 0);
    CHECK_STR(core_new(&f), "RUN_TERMINATED@3");
}

TEST(history_that_grows_is_noticed_at_each_multiple) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.limits.values[SETTABLE_HISTORY_EVENTS_WARN] = 10;
    CHECK_INT(core_begin_run(&f), 0);
    int noticed = 0;
    for (int i = 0; i < 10; i++) { /* each writes started, completed, marker, scheduled */
        core_add_marker(&f, "m");
        f.completion.force_create_new_workflow_task = true;
        CHECK_INT(core_complete(&f), 0);
        CHECK(f.s.notice_count <= 1);
        if (f.s.notice_count) {
            CHECK_INT(f.s.notices[0].kind, NOTICE_HISTORY_LONG);
            CHECK_INT(f.s.notices[0].size / 10, ++noticed);
        }
        CHECK_INT(core_pick(&f), 0);
    }
    CHECK_INT(noticed, 4);
}

TEST(history_bytes_are_noticed_too) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    REQUIRE(f.st);
    f.limits.values[SETTABLE_HISTORY_BYTES_WARN] = f.st->history_bytes + 1;
    core_add_marker(&f, "m");
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(f.s.notice_count, 1);
    CHECK_INT(f.s.notices[0].kind, NOTICE_HISTORY_LARGE);
}

TEST(attach_has_limits) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    const Ws__StartWorkflowExecutionRequest *req =
        message_of(&f.arena, &ws__start_workflow_execution_request__descriptor,
                   "{'onConflictOptions':{'attachRequestId':true}}");
    const Ws__StartWorkflowExecutionRequest *with_callbacks =
        message_of(&f.arena, &ws__start_workflow_execution_request__descriptor,
                   "{'onConflictOptions':{'attachRequestId':true,'attachCompletionCallbacks':true},"
                   "'completionCallbacks':[{'nexus':{'url':'http://a'}},{'nexus':{'url':'http://b'}}]}");
    REQUIRE(req && with_callbacks);
    f.limits.values[SETTABLE_CALLBACKS] = 1;
    CHECK_INT(STEP(&f, attach_start(&f.s, with_callbacks, "r")), ERR_INVALID);
    CHECK_STR(f.err.text, "cannot attach more than 1 callbacks to a workflow (0 callbacks already attached)");
    for (int i = 0; i < LIMIT_ATTACHED_REQUESTS; i++) {
        char id[16];
        (void)snprintf(id, sizeof(id), "r%d", i);
        CHECK_INT(STEP(&f, attach_start(&f.s, req, id)), 0);
    }
    CHECK_INT(STEP(&f, attach_start(&f.s, req, "one more")), ERR_INVALID);
    CHECK(f.st && attach_find(f.st, "r1") && !attach_find(f.st, "one more"));
}

TEST(limit_of_pending_timers) {
    cleanup(core_done) struct core f;
    State__Timer other = STATE__TIMER__INIT;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    const Command__StartTimerCommandAttributes *in = core_add_timer(&f, "t", USEC_PER_SEC);
    State__Timer **many = arena_array(&f.arena, State__Timer *, LIMIT_PENDING_TIMERS);
    REQUIRE(in && many && core_begin(&f));
    for (size_t i = 0; i < LIMIT_PENDING_TIMERS; i++)
        many[i] = &other;
    f.st->timers = many;
    f.st->n_timers = LIMIT_PENDING_TIMERS;
    CHECK_INT(timer_start(&f.s, 4, in), ERR_INVALID);
    CHECK_STR(f.err.text, "Too many pending timers.");
    f.st->timers = NULL;
    f.st->n_timers = 0;
    CHECK_INT(core_end(&f, ERR_INVALID), ERR_INVALID);
}
