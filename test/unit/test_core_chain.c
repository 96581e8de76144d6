/* Continue-as-new: what is refused, and what the next run takes from the command and from this run. */
#include "core/chain.h"

#include "command_text.h"

#define CONTINUE(attributes)                                                                                 \
    "{'commandType':'COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION',"                                      \
    "'continueAsNewWorkflowExecutionCommandAttributes':{" attributes "}}"
#define BAD WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES
#define DURATION "A duration of ContinueAsNewWorkflowExecutionCommand is negative or malformed."

TEST(continue_that_is_refused) {
    static const struct refused_command cases[] = {
        {CONTINUE("'workflowType':{'name':'LONG'}"), BAD,
         "WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit."},
        {CONTINUE("'taskQueue':{'name':'LONG'}"), BAD,
         "TaskQueue on ContinueAsNewWorkflowExecutionCommand exceeds length limit."},
        {CONTINUE("'workflowRunTimeout':'-1s'"), BAD, DURATION},
        {CONTINUE("'workflowTaskTimeout':'-1s'"), BAD, DURATION},
        {CONTINUE("'backoffStartInterval':'-1s'"), BAD, DURATION},
        {CONTINUE("'retryPolicy':{'backoffCoefficient':0.5}"), BAD,
         "BackoffCoefficient cannot be less than 1 on retry policy."},
        {CONTINUE("'searchAttributes':{'indexedFields':{'Nowhere':1}}"),
         WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
         "Namespace  has no mapping defined for search attribute Nowhere"},
    };
    check_refused_commands(cases, ARRAY_LEN(cases));
}

/* What the next run starts with, as text. */
static void check_next(const char *command, const char *type, const char *queue, int64_t run_us,
                       int64_t task_us, int64_t wait_us, const char *cron) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 100 * USEC_PER_SEC);
    f.start.workflow_task_timeout = core_duration(&f, 5 * USEC_PER_SEC);
    f.start.cron_schedule = core_text(&f, "0 0 * * *");
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    core_advance(&f, f.st->first_task_due_us - f.now_us);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, 2 * USEC_PER_SEC); /* it lived for longer than a moment */
    command_add(&f, command);
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.s.next && f.s.next->st);
    const State__Execution *next = f.s.next->st;
    CHECK_STR(next->workflow_type, type);
    CHECK_STR(next->task_queue, queue);
    CHECK_INT(next->run_timeout_us, run_us);
    CHECK_INT(next->task_timeout_us, task_us);
    CHECK_STR(next->cron_schedule, cron);
    CHECK_INT(next->first_task_due_us ? next->first_task_due_us - f.now_us : 0, wait_us);
}

TEST(continue_takes_over_what_is_not_said) {
    check_next(CONTINUE(""), "Type", "queue", 100 * USEC_PER_SEC, 5 * USEC_PER_SEC, 0, "0 0 * * *");
    check_next(CONTINUE("'workflowType':{},'taskQueue':{}"), "Type", "queue", 100 * USEC_PER_SEC,
               5 * USEC_PER_SEC, 0, "0 0 * * *");
    check_next(
        CONTINUE("'workflowType':{'name':'Other'},'taskQueue':{'name':'there'},'workflowRunTimeout':'7s',"
                 "'workflowTaskTimeout':'3s','backoffStartInterval':'9s','cronSchedule':'5 5 * * *',"
                 "'retryPolicy':{'maximumAttempts':3},'initiator':2"),
        "Other", "there", 7 * USEC_PER_SEC, 3 * USEC_PER_SEC, 9 * USEC_PER_SEC, "5 5 * * *");
}
