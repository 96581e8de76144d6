/* Children that are refused, and those of a run that closes before it hears that they have started. The
 * engine's tests have the rest. */
#include "command_text.h"
#include "core/run/child.h"
#include "core/message/letter.h"
#include "core/reset/reapply.h"

static void add_child(struct core *f, E__ParentClosePolicy policy) {
    Command__Command *c = core_add(f, COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION);
    Command__StartChildWorkflowExecutionCommandAttributes *a =
        arena_new(&f->arena, Command__StartChildWorkflowExecutionCommandAttributes);
    REQUIRE(c && a);
    command__start_child_workflow_execution_command_attributes__init(a);
    a->workflow_id = core_text(f, "child");
    a->workflow_type = f->start.workflow_type;
    a->parent_close_policy = policy;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->start_child_workflow_execution_command_attributes = a;
}

/* A closed run whose child (event 5) is being started. */
static int begin(struct core *f, E__ParentClosePolicy policy) {
    int rc = core_begin_run(f);
    add_child(f, policy);
    if (rc == 0)
        rc = core_complete(f);
    return rc == 0 ? core_terminate(f) : rc;
}

static const struct child_birth birth = {
    .namespace_name = "default", .namespace_id = "id", .run_id = "child-run"};

/* It obeys its policy, writes no event, and is remembered for a copy of the run. */
static void check_orphan(E__ParentClosePolicy policy, int32_t first_kind, int32_t second_kind) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, policy), 0);
    REQUIRE(f.st && f.st->n_outbox == 1);
    (void)core_new(&f);
    int64_t start_letter = f.st->outbox[0]->id;
    CHECK_INT(STEP_VOID(&f, (child_started(&f.s, 5, &birth), letter_remove(&f.s, start_letter))), 0);
    CHECK_STR(core_new(&f), "");
    REQUIRE(f.st && f.st->n_children == 1);
    CHECK(f.st->children[0]->is_started);
    CHECK_STR(f.st->children[0]->run_id, "child-run");
    REQUIRE(f.st->n_outbox == (second_kind ? 2U : 1U));
    CHECK_INT(f.st->outbox[0]->kind, first_kind);
    CHECK_STR(f.st->outbox[0]->run_id, "child-run");
    if (second_kind)
        CHECK_INT(f.st->outbox[1]->kind, second_kind);
    CHECK_INT(STEP_VOID(&f, child_started(&f.s, 5, &birth)), 0); /* told again */
    CHECK(f.st && f.st->n_outbox == (second_kind ? 2U : 1U));
}

TEST(child_that_starts_after_the_close_is_remembered) {
    check_orphan(PARENT_CLOSE_POLICY_ABANDON, LETTER_CHILD_GO, 0);
    check_orphan(PARENT_CLOSE_POLICY_REQUEST_CANCEL, LETTER_CANCEL_CHILD, LETTER_CHILD_GO);
    check_orphan(PARENT_CLOSE_POLICY_TERMINATE, LETTER_TERMINATE_CHILD, 0);
}

TEST(child_that_failed_to_start_after_the_close_is_forgotten) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, PARENT_CLOSE_POLICY_ABANDON), 0);
    (void)core_new(&f);
    CHECK_INT(
        STEP_VOID(&f, child_start_failed(
                          &f.s, 5, START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS)),
        0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->n_children == 0);
}

/* What is behind the reset point stays with the base run. */
TEST(child_letter_is_handed_over_up_to_the_reset_point) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, PARENT_CLOSE_POLICY_ABANDON), 0);
    REQUIRE(f.st && f.st->n_outbox == 1);
    char request_id[64];
    (void)snprintf(request_id, sizeof request_id, "%s", f.st->outbox[0]->request_id);
    CHECK_INT(STEP_VOID(&f, reapply_hand_over(&f.s, "copy", 5)), 0);
    CHECK(f.st && f.st->n_outbox == 1);
    CHECK_INT(STEP_VOID(&f, reapply_hand_over(&f.s, "copy", 6)), 0);
    REQUIRE(f.st && f.st->n_outbox == 0 && f.st->n_children == 1);
    CHECK_STR(f.st->children[0]->request_id, request_id);
}

/* commands */

#define START(attributes)                                                                                    \
    "{'commandType':'COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION',"                                          \
    "'startChildWorkflowExecutionCommandAttributes':{" attributes "}}"
#define CHILD "'workflowId':'w','workflowType':{'name':'T'}"
#define BAD WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES
#define TIMEOUT "A timeout of StartChildWorkflowExecutionCommand is negative or malformed."

TEST(child_commands_that_are_refused) {
    static const struct refused_command cases[] = {
        {START("'workflowType':{'name':'T'}"), BAD,
         "Required field WorkflowId is not set on StartChildWorkflowExecutionCommand."},
        {START("'workflowId':'w'"), BAD,
         "Required field WorkflowType is not set on StartChildWorkflowExecutionCommand."},
        {START("'workflowId':'w','workflowType':{}"), BAD,
         "Required field WorkflowType is not set on StartChildWorkflowExecutionCommand."},
        {START("'workflowId':'LONG','workflowType':{'name':'T'}"), BAD,
         "WorkflowId on StartChildWorkflowExecutionCommand exceeds length limit."},
        {START("'workflowId':'w','workflowType':{'name':'LONG'}"), BAD,
         "WorkflowType on StartChildWorkflowExecutionCommand exceeds length limit."},
        {START(CHILD ",'taskQueue':{'name':'LONG'}"), BAD,
         "TaskQueue on StartChildWorkflowExecutionCommand exceeds length limit."},
        {START(CHILD ",'namespace':'there'"), BAD, "cross namespace commands are not allowed"},
        {START(CHILD ",'workflowExecutionTimeout':'-1s'"), BAD, TIMEOUT},
        {START(CHILD ",'workflowRunTimeout':'-1s'"), BAD, TIMEOUT},
        {START(CHILD ",'workflowTaskTimeout':'-1s'"), BAD, TIMEOUT},
        {START(CHILD ",'retryPolicy':{'backoffCoefficient':0.5}"), BAD,
         "BackoffCoefficient cannot be less than 1 on retry policy."},
        {START(CHILD ",'versioningOverride':{'pinned':{}}"), BAD,
         "The pinned versioning override has no behavior."},
        {START(CHILD ",'priority':{'priorityKey':-1}"), BAD, "priority key can't be negative"},
        {START(CHILD ",'cronSchedule':'never'"), BAD,
         "invalid CronSchedule \"never\": the cron string does not have 5 fields (column 1: \"never\")"},
        {START(CHILD ",'searchAttributes':{'indexedFields':{'Nowhere':1}}"),
         WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
         "Namespace  has no mapping defined for search attribute Nowhere"},
    };
    check_refused_commands(cases, ARRAY_LEN(cases));
}

/* Its queue is its parent's when it names none, or an empty one. */
TEST(child_goes_to_a_queue) {
    static const struct {
        const char *command, *queue;
    } cases[] = {{START(CHILD ",'namespace':'here'"), "queue"},
                 {START(CHILD ",'taskQueue':{}"), "queue"},
                 {START(CHILD ",'taskQueue':{'name':'there'}"), "there"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        f.ctx.namespace_name = "here";
        CHECK_INT(command_run(&f, cases[i].command), 0);
        const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
            core_attributes(&f, 5, EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED);
        REQUIRE(a && a->task_queue);
        CHECK_STR(a->task_queue->name, cases[i].queue);
    }
}

/* What its first event says can be told to every client. */
TEST(child_waits_for_a_century_at_most) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(command_run(&f, START(CHILD ",'workflowExecutionTimeout':'315576000000s',"
                                          "'workflowRunTimeout':'9s',"
                                          "'retryPolicy':{'initialInterval':'315576000000s'}")),
              0);
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
        core_attributes(&f, 5, EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED);
    REQUIRE(a && a->retry_policy);
    CHECK_INT(pb_duration_us(a->workflow_execution_timeout), PB_WAIT_US_MAX);
    CHECK_INT(pb_duration_us(a->workflow_run_timeout), 9 * USEC_PER_SEC);
    CHECK_INT(pb_duration_us(a->workflow_task_timeout), 9 * USEC_PER_SEC); /* not above that of its run */
    CHECK_INT(pb_duration_us(a->retry_policy->initial_interval), PB_WAIT_US_MAX);
    CHECK_INT(pb_duration_us(a->retry_policy->maximum_interval), PB_WAIT_US_MAX);
}

/* What is told again, or too late, changes nothing. */
TEST(child_answers_that_come_again) {
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(command_run(&f, START(CHILD)), 0);
    CHECK_INT(STEP_VOID(&f, child_started(&f.s, 5, &birth)), 0);
    (void)core_new(&f);
    CHECK_INT(STEP_VOID(&f, child_start_failed(&f.s, 5, 1)), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->n_children == 1);
    CHECK_INT(core_terminate(&f), 0);
    (void)core_new(&f);
    close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED;
    CHECK_INT(STEP_VOID(&f, child_closed(&f.s, 5, &ex, "here", "id", &close)), 0);
    CHECK_STR(core_new(&f), "");
}

/* A run that closed, or that waits for its first task, does not get it because its parent knows of it. */
TEST(child_may_go) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    f.st->is_first_task_held = true;
    f.st->first_task_due_us = f.now_us + USEC_PER_SEC;
    CHECK_INT(run_due_us(f.st), CLOCK_NEVER); /* not before its parent knows */
    (void)core_new(&f);
    CHECK_INT(STEP_VOID(&f, child_go(&f.s)), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_INT(core_terminate(&f), 0);
    (void)core_new(&f);
    REQUIRE(f.st);
    f.st->is_first_task_held = true;
    CHECK_INT(STEP_VOID(&f, child_go(&f.s)), 0);
    CHECK(f.st && !f.st->is_first_task_held);
    CHECK_STR(core_new(&f), "");
}

/* Events that waited for the end of a task get their numbers late: an end then names the start that waited
 * with it. */
TEST(child_that_times_out_while_a_worker_has_the_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    command_add(&f, START("'workflowId':'one','workflowType':{'name':'T'}"));
    command_add(&f, START("'workflowId':'two','workflowType':{'name':'T'}"));
    f.completion.force_create_new_workflow_task = true;
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    const History__HistoryEvent *started =
        message_of(&f.arena, &history__history_event__descriptor,
                   "{'eventType':'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED',"
                   "'childWorkflowExecutionStartedEventAttributes':{'initiatedEventId':6}}");
    const History__HistoryEvent *end =
        message_of(&f.arena, &history__history_event__descriptor,
                   "{'eventType':'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT',"
                   "'childWorkflowExecutionTimedOutEventAttributes':{'initiatedEventId':6}}");
    REQUIRE(started && end);
    CHECK_INT(STEP_VOID(&f, child_reapply(&f.s, started)), 0);
    CHECK_INT(STEP_VOID(&f, child_reapply(&f.s, end)), 0);
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@8 TASK_COMPLETED@9 CHILD_WORKFLOW_EXECUTION_STARTED@10 "
                            "CHILD_WORKFLOW_EXECUTION_TIMED_OUT@11 TASK_SCHEDULED@12");
    CHECK(f.st && f.st->n_children == 1 && f.st->children[0]->initiated_event_id == 5);
}

/* What a reset does again: each end that an event can tell, of a child that is known and of one that is not.
 */
TEST(child_ends_that_are_reapplied) {
    static const E__EventType ends[] = {
        EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED,
        EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT,
        EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED};
    static const char *const members[] = {"Completed", "Failed", "Canceled", "TimedOut", "Terminated"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        cleanup(core_done) struct core f;
        char text[256];
        core_init(&f);
        CHECK_INT(command_run(&f, START(CHILD)), 0);
        const History__HistoryEvent *started =
            message_of(&f.arena, &history__history_event__descriptor,
                       "{'eventType':'EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED',"
                       "'childWorkflowExecutionStartedEventAttributes':{'initiatedEventId':5}}");
        (void)snprintf(text, sizeof(text),
                       "{'eventType':%d,'childWorkflowExecution%sEventAttributes':{'initiatedEventId':5}}",
                       (int)ends[i], members[i]);
        const History__HistoryEvent *end = message_of(&f.arena, &history__history_event__descriptor, text);
        REQUIRE(started && end);
        CHECK_INT(STEP_VOID(&f, child_reapply(&f.s, started)), 0);
        CHECK_INT(STEP_VOID(&f, child_reapply(&f.s, end)), 0);
        CHECK(f.st && f.st->n_children == 0);
        (void)core_new(&f);
        CHECK_INT(STEP_VOID(&f, child_reapply(&f.s, end)), 0);
        CHECK_STR(core_new(&f), "");
    }
}

/* A signal wakes no child before its parent knows that it has started. */
TEST(child_that_is_held_is_not_woken) {
    cleanup(core_done) struct core f;
    static const struct run_birth held = {"11111111-1111-4111-8111-111111111111",
                                          "22222222-2222-4222-8222-222222222222", "r", .is_held = true};
    bool failed = false;
    core_init(&f);
    REQUIRE(!arena_failed(&f.arena));
    f.st = pb_new(&state__execution__descriptor, &failed);
    CHECK_INT(STEP(&f, run_start(&f.s, &held, &f.start)), 0);
    REQUIRE(f.st);
    CHECK(f.st->is_first_task_held);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 RUN_SIGNALED@2");
    CHECK_INT(STEP_VOID(&f, child_go(&f.s)), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@3");
}

/* What the base has started stays with it; what is only being started moves on. */
TEST(child_that_is_starting_is_handed_over) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    command_add(&f, START(CHILD));
    command_add(&f, START("'workflowId':'v','workflowType':{'name':'T'}"));
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(STEP_VOID(&f, child_started(&f.s, 5, &birth)), 0);
    CHECK_INT(STEP_VOID(&f, child_hand_over(&f.s)), 0);
    REQUIRE(f.st && f.st->n_children == 1);
    CHECK_STR(f.st->children[0]->workflow_id, "v");
    REQUIRE(f.st->n_left_children == 1); /* it is still described */
    CHECK_INT(f.st->left_children[0]->initiated_event_id, 5);
}

/* Two children: the close of one leaves the other, and nothing is heard after the end. */
TEST(child_that_closes_after_its_parent) {
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin(&f, PARENT_CLOSE_POLICY_ABANDON), 0); /* it is closed */
    (void)core_new(&f);
    close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED;
    CHECK_INT(STEP_VOID(&f, child_closed(&f.s, 5, &ex, "here", "id", &close)), 0);
    CHECK_STR(core_new(&f), "");
    CHECK(f.st && f.st->n_children == 1);
}
