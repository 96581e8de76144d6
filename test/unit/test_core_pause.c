/* Pausing a run: what is written meanwhile, what no worker gets, and how it goes on. */
#include "core_fixture.h"

#include "core/activity/activity_control.h"
#include "core/run/pause.h"

static int core_pause(struct core *f, const char *request_id) {
    Ws__PauseWorkflowExecutionRequest req = WS__PAUSE_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.identity = core_text(f, "operator");
    req.reason = core_text(f, "a \"look\"");
    req.request_id = core_text(f, request_id);
    return STEP(f, run_pause(&f->s, &req));
}

static int core_unpause(struct core *f) {
    Ws__UnpauseWorkflowExecutionRequest req = WS__UNPAUSE_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.identity = core_text(f, "operator");
    req.reason = core_text(f, "enough");
    return STEP(f, run_unpause(&f->s, &req));
}

static const char *shown(struct core *f) {
    const Common__SearchAttributes *a = f->st ? f->st->search_attributes : NULL;
    for (size_t i = 0; a && i < a->n_indexed_fields; i++) {
        if (cstr_eq(a->indexed_fields[i]->key, "TemporalPauseInfo")) {
            struct str json = pb_bytes(&a->indexed_fields[i]->value->data);
            char *text = arena_alloc(&f->arena, json.n + 1);
            if (!text)
                return "";
            memcpy(text, json.p, json.n);
            text[json.n] = 0;
            return text;
        }
    }
    return "";
}

TEST(pause_is_an_event_and_a_status) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_STR(core_new(&f), "RUN_PAUSED@5");
    REQUIRE(f.st);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_PAUSED);
    CHECK(run_is_open(f.st));
    CHECK_STR(shown(&f), "[\"Workflow:wf\",\"Reason:a \\\"look\\\"\"]");
    const History__WorkflowExecutionPausedEventAttributes *ev =
        core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_PAUSED);
    REQUIRE(ev);
    CHECK_STR(ev->identity, "operator");
    CHECK_STR(ev->request_id, "r1");
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UNPAUSED@6 TASK_SCHEDULED@7");
    CHECK_STR(core_effects(&f), "TASK@7");
    const History__HistoryEvent *paused = core_event(&f, 5), *unpaused = core_event(&f, 6);
    REQUIRE(f.st && paused && unpaused);
    CHECK(paused->worker_may_ignore && unpaused->worker_may_ignore);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_RUNNING);
    CHECK_STR(shown(&f), "");
}

TEST(pause_knows_its_request_again) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(core_unpause(&f), ERR_PRECONDITION);
    CHECK_STR(f.err.text, "workflow is not paused.");
    CHECK_INT(core_pause(&f, "r1"), 0);
    (void)core_new(&f);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_pause(&f, "r2"), ERR_PRECONDITION);
    CHECK_STR(f.err.text, "workflow is already paused.");
    CHECK_INT(core_pause(&f, ""), ERR_PRECONDITION);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), ERR_CLOSED);
    CHECK_INT(core_unpause(&f), ERR_CLOSED);
    REQUIRE(f.st);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    CHECK_STR(shown(&f), "");
}

TEST(pause_holds_a_scheduled_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_INT(core_pick(&f), ERR_NOT_FOUND);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_PAUSED@3 RUN_SIGNALED@4");
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UNPAUSED@5");
    CHECK_STR(core_effects(&f), "TASK@2");
    CHECK_INT(core_pick(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@6 TASK_COMPLETED@7");
}

TEST(pause_takes_a_task_from_its_sticky_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_set_sticky(&f, "sticky", USEC_PER_SEC);
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    (void)core_new(&f);
    core_advance(&f, 10 * USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    REQUIRE(f.st && f.st->task);
    CHECK(!f.st->task->is_sticky);
}

TEST(pause_forgets_a_speculative_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(STEP_VOID(&f, task_schedule_speculative(&f.s)), 0);
    CHECK(f.st && f.st->task);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK(f.st && !f.st->task);
}

TEST(pause_lets_a_started_task_end) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_STR(core_new(&f), "");
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), ERR_PRECONDITION);
    CHECK_STR(f.err.text, "Workflow is paused and force create new workflow task is not allowed.");
    core_add_activity(&f, "a");
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 ACTIVITY_SCHEDULED@5 RUN_PAUSED@6");
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5 TASK@8");
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(pause_keeps_a_run_from_being_closed_by_its_worker) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), ERR_UNHANDLED_COMMAND);
    CHECK_INT(core_fail_task(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 RUN_PAUSED@5");
    REQUIRE(f.st);
    CHECK(!f.st->task);
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UNPAUSED@6 TASK_SCHEDULED@7");
    CHECK_INT(core_pick(&f), 0);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
}

TEST(pause_lets_timers_activities_and_cancellation_be_written) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    core_add_activity(&f, "a");
    core_add_timer(&f, "t", USEC_PER_SEC);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    (void)core_new(&f);
    core_advance(&f, 2 * USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "TIMER_FIRED@8 ACTIVITY_STARTED@9 ACTIVITY_COMPLETED@10 RUN_CANCEL_REQUESTED@11");
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UNPAUSED@12 TASK_SCHEDULED@13");
}

TEST(pause_outlasts_the_delay_of_a_start_and_not_the_other_way_round) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_start_delay = core_duration(&f, 60 * USEC_PER_SEC);
    CHECK_INT(core_start(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 RUN_PAUSED@2 RUN_UNPAUSED@3");
    CHECK_INT(core_pause(&f, "r2"), 0);
    core_advance(&f, 61 * USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_PAUSED@4");
    CHECK_INT(core_unpause(&f), 0);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "RUN_UNPAUSED@5 TASK_SCHEDULED@6");
}

TEST(pause_of_an_activity_is_shown_too) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    const struct activity_choice all = {.is_all = true};
    const struct activity_pause how = {.identity = "me", .reason = "", .request_id = "p"};
    CHECK_INT(STEP(&f, activity_pause(&f.s, &all, &how)), 0);
    CHECK_STR(shown(&f), "[\"property:activityType=Act\"]");
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_STR(shown(&f), "[\"Workflow:wf\",\"Reason:a \\\"look\\\"\",\"property:activityType=Act\"]");
    const struct activity_unpause back = {0};
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &all, &back)), 0);
    CHECK_STR(shown(&f), "[\"Workflow:wf\",\"Reason:a \\\"look\\\"\"]");
}

/* Which of the two was paused first does not matter: no worker gets anything of a run that is paused. */
TEST(pause_of_a_run_outlasts_that_of_its_activity) {
    const struct activity_choice all = {.is_all = true};
    const struct activity_pause how = {.identity = "me", .reason = "", .request_id = "p"};
    const struct activity_unpause back = {0};
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &all, &how)), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &all, &back)), 0);
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
    CHECK_INT(core_unpause(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5 TASK@8");
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(pause_ends_with_the_time_of_the_run) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 60 * USEC_PER_SEC);
    CHECK_INT(core_begin_run(&f), 0);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pause(&f, "r1"), 0);
    core_advance(&f, 61 * USEC_PER_SEC);
    CHECK_INT(core_tick(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_TIMED_OUT);
    CHECK_STR(shown(&f), "");
}

/* Names that JSON has to escape, and two types of which one is paused twice. */
TEST(pause_shows_odd_names) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_id = core_text(&f, "a\\b\"c\n");
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *one = core_add_activity(&f, "1"), *two, *three;
    two = core_add_activity(&f, "2");
    three = core_add_activity(&f, "3");
    REQUIRE(one && two && three);
    two->activity_type->name = core_text(&f, "Other");
    three->activity_type->name = core_text(&f, "Other");
    CHECK_INT(core_complete(&f), 0);
    static const struct activity_choice all = {.is_all = true};
    static const struct activity_pause p = {.identity = "me", .reason = "", .request_id = "r"};
    CHECK_INT(STEP(&f, activity_pause(&f.s, &all, &p)), 0);
    CHECK_INT(STEP_VOID(&f, pause_begin(&f.s, f.now_us, "me", "", "r2")), 0);
    CHECK_STR(shown(&f), "[\"Workflow:a\\\\b\\\"c\\u000a\",\"property:activityType=Act\","
                         "\"property:activityType=Other\"]");
}
