/* Signals and cancel requests to other runs: what is refused, what is sent, and how the answer is written. */
#include "core/run/external.h"

#include "command_text.h"
#include "core/message/letter.h"
#include "core/run/child.h"

#define SIGNAL(attributes)                                                                                   \
    "{'commandType':'COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION',"                                      \
    "'signalExternalWorkflowExecutionCommandAttributes':{" attributes "}}"
#define CANCEL(attributes)                                                                                   \
    "{'commandType':'COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION',"                              \
    "'requestCancelExternalWorkflowExecutionCommandAttributes':{" attributes "}}"
#define CHILD(id)                                                                                            \
    "{'commandType':'COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION',"                                          \
    "'startChildWorkflowExecutionCommandAttributes':{'workflowId':'" id "','workflowType':{'name':'t'}}}"
#define BAD_SIGNAL WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES
#define BAD_CANCEL WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES

TEST(external_commands_that_are_refused) {
    static const struct refused_command cases[] = {
        {SIGNAL("'signalName':'s'"), BAD_SIGNAL, "Required field WorkflowId is not set on the command."},
        {SIGNAL("'signalName':'s','execution':{'workflowId':'LONG'}"), BAD_SIGNAL,
         "WorkflowId on the command exceeds length limit."},
        {SIGNAL("'signalName':'s','execution':{'workflowId':'w','runId':'x'}"), BAD_SIGNAL,
         "Invalid RunId set on the command."},
        {SIGNAL("'signalName':'s','namespace':'there','execution':{'workflowId':'w'}"), BAD_SIGNAL,
         "cross namespace commands are not allowed"},
        {SIGNAL("'execution':{'workflowId':'w'}"), BAD_SIGNAL,
         "Required field SignalName is not set on the command."},
        {CANCEL(""), BAD_CANCEL, "Required field WorkflowId is not set on the command."},
        {CANCEL("'workflowId':'w','runId':'x'"), BAD_CANCEL, "Invalid RunId set on the command."},
        {CANCEL("'workflowId':'w','namespace':'there'"), BAD_CANCEL,
         "cross namespace commands are not allowed"},
    };
    check_refused_commands(cases, ARRAY_LEN(cases));
}

/* A child cannot be started and cancelled by one workflow task; one that an earlier task started can. */
TEST(external_cancel_of_a_child_of_the_same_task) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.ctx.namespace_name = "here";
    CHECK_INT(core_begin_run(&f), 0);
    command_add(&f, CHILD("c"));
    command_add(&f, CANCEL("'workflowId':'c','namespace':'here'"));
    CHECK_INT(core_complete(&f), ERR_INVALID);
    CHECK_INT(f.s.task_failed_cause, BAD_CANCEL);
    CHECK_STR(f.err.text, "Start and RequestCancel for child workflow is not allowed in same workflow task. "
                          "WorkflowId=c RunId= Namespace=here");
    cleanup(core_done) struct core g;
    core_init(&g);
    CHECK_INT(core_begin_run(&g), 0);
    command_add(&g, CANCEL("'workflowId':'c'")); /* before the start it means another run */
    command_add(&g, CHILD("c"));
    CHECK_INT(core_complete(&g), 0);
    REQUIRE(g.st && g.st->n_children == 1);
    CHECK_INT(STEP_VOID(&g, child_started(&g.s, g.st->children[0]->initiated_event_id,
                                          &(struct child_birth){.run_id = "r"})),
              0);
    CHECK_INT(core_pick(&g), 0);
    command_add(&g, CANCEL("'workflowId':'c'"));
    CHECK_INT(core_complete(&g), 0);
    CHECK(g.st && g.st->n_externals == 2);
}

/* Each is answered for itself, whichever comes first; an answer that comes twice changes nothing. */
TEST(external_answers) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.ctx.namespace_name = "here";
    CHECK_INT(core_begin_run(&f), 0);
    (void)core_new(&f);
    command_add(&f, SIGNAL("'signalName':'s','namespace':'here','control':'5','execution':{'workflowId':'w',"
                           "'runId':'22222222-2222-4222-8222-222222222222'}"));
    command_add(&f, CANCEL("'workflowId':'w'"));
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED@5 "
                            "REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED@6");
    REQUIRE(f.st && f.st->n_externals == 2 && f.st->n_outbox == 2);
    CHECK_INT(f.st->outbox[0]->kind, LETTER_SIGNAL);
    CHECK_INT(f.st->outbox[1]->kind, LETTER_CANCEL);
    CHECK_INT(STEP_VOID(&f, external_resolved(&f.s, 6, 0)), 0);
    CHECK_INT(STEP_VOID(&f, external_resolved(&f.s, 6, 0)), 0);
    CHECK_STR(core_new(&f), "EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED@7 TASK_SCHEDULED@8");
    CHECK_INT(STEP_VOID(&f, external_resolved(&f.s, 5, 1)), 0);
    CHECK_STR(core_new(&f), "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED@9");
    const History__SignalExternalWorkflowExecutionFailedEventAttributes *a =
        core_attributes(&f, 9, EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED);
    REQUIRE(a);
    CHECK_STR(a->control, "5");
    CHECK(f.st && f.st->n_externals == 0);
}
