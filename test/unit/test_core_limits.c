/* The limits that need many of something; too large to be tortured. */
#include "core_fixture.h"

#include <stdio.h>

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
