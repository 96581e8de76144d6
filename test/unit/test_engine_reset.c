/* Resets as they are seen from outside: what the copy of a run inherits, and who still finds it. */
#include <stdio.h>

#include "engine_fixture.h"

#define SEC USEC_PER_SEC

static Command__Command *make_child(struct arena *a, const char *workflow_id) {
    Command__StartChildWorkflowExecutionCommandAttributes *in =
        MAKE(a, Command__StartChildWorkflowExecutionCommandAttributes,
             command__start_child_workflow_execution_command_attributes__init);
    Command__Command *cmd = MAKE(a, Command__Command, command__command__init);
    in->workflow_id = make_text(a, workflow_id);
    in->workflow_type = MAKE(a, Common__WorkflowType, common__workflow_type__init);
    in->workflow_type->name = make_text(a, "Child");
    in->task_queue = make_queue(a, "children");
    in->parent_close_policy = PARENT_CLOSE_POLICY_ABANDON;
    cmd->command_type = COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION;
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_START_CHILD_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    cmd->start_child_workflow_execution_command_attributes = in;
    return cmd;
}

/* Takes the workflow task of the queue and answers it with this command; NULL: with none. */
static void work(struct rig *r, const char *queue, Command__Command *(*make)(struct arena *a)) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_poll(r, &p, queue);
    if (!CHECK(p.is_done && ask_token(&p).n)) {
        ask_cancel(r, &p);
        return;
    }
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    if (make)
        add_command(&a, req, make(ask_arena(&a)));
    RIG_SEND(r, &a, complete_workflow_task, req);
    CHECK_OK(&a);
}

static Command__Command *one_child(struct arena *a) {
    return make_child(a, "child");
}

static void start_parent(struct rig *r, struct uuid_text *ret_run_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, "wf");
    CHECK_OK(&a);
    const Ws__StartWorkflowExecutionResponse *resp = a.response;
    ensure(resp && strlen(resp->run_id) == UUID_TEXT_LEN);
    memcpy(ret_run_id->s, resp->run_id, sizeof ret_run_id->s);
}

static void reset(struct rig *r, const char *run_id, int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__ResetWorkflowExecutionRequest *req =
        MAKE(m, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", run_id);
    req->reason = make_text(m, "again");
    req->workflow_task_finish_event_id = finish_event_id;
    req->request_id = make_text(m, "reset");
    RIG_SEND(r, &a, reset_workflow, req);
    CHECK_OK(&a);
}

static void delete_run(struct rig *r, const char *run_id) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__DeleteWorkflowExecutionRequest *req =
        MAKE(m, Ws__DeleteWorkflowExecutionRequest, ws__delete_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", run_id);
    RIG_SEND(r, &a, delete_workflow, req);
    CHECK_OK(&a);
}

/* What the current run of the parent has seen. */
static void check_history(struct rig *r, const char *want) {
    cleanup(ask_done) struct ask a = {0};
    rig_history(r, &a, "wf");
    CHECK_OK(&a);
    CHECK_STR(ask_events(&a), want);
}

#define UNTIL_CHILD                                                                                          \
    "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 "                                        \
    "START_CHILD_WORKFLOW_EXECUTION_INITIATED@5 "

TEST(reset_child_tells_the_copy_when_the_base_run_is_gone) {
    struct uuid_text base;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &base);
    work(&r, "queue", one_child);
    work(&r, "queue", NULL); /* it hears that the child has started */
    reset(&r, base.s, 9);
    delete_run(&r, base.s);
    work(&r, "queue", NULL);
    work(&r, "children", make_complete);
    check_history(&r, UNTIL_CHILD "CHILD_WORKFLOW_EXECUTION_STARTED@6 TASK_SCHEDULED@7 TASK_STARTED@8 "
                                  "TASK_FAILED@9 TASK_SCHEDULED@10 TASK_STARTED@11 TASK_COMPLETED@12 "
                                  "CHILD_WORKFLOW_EXECUTION_COMPLETED@13 TASK_SCHEDULED@14");
}

/* As on other servers of this API: the child goes on, and is in the way of one with the same id. */
TEST(reset_child_of_later_that_runs_is_in_the_way) {
    struct uuid_text base;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &base);
    work(&r, "queue", one_child);
    reset(&r, base.s, 4);
    work(&r, "queue", one_child);
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5 "
                      "TASK_STARTED@6 TASK_COMPLETED@7 START_CHILD_WORKFLOW_EXECUTION_INITIATED@8 "
                      "START_CHILD_WORKFLOW_EXECUTION_FAILED@9 TASK_SCHEDULED@10");
    work(&r, "children", make_complete); /* its end is not news to the copy, which did not start it */
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5 "
                      "TASK_STARTED@6 TASK_COMPLETED@7 START_CHILD_WORKFLOW_EXECUTION_INITIATED@8 "
                      "START_CHILD_WORKFLOW_EXECUTION_FAILED@9 TASK_SCHEDULED@10");
}

TEST(reset_child_of_later_that_has_ended_is_started_again) {
    struct uuid_text base;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &base);
    work(&r, "queue", one_child);
    work(&r, "children", make_complete);
    reset(&r, base.s, 4);
    work(&r, "queue", one_child);
    work(&r, "children", make_complete);
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5 "
                      "TASK_STARTED@6 TASK_COMPLETED@7 START_CHILD_WORKFLOW_EXECUTION_INITIATED@8 "
                      "CHILD_WORKFLOW_EXECUTION_STARTED@9 TASK_SCHEDULED@10 "
                      "CHILD_WORKFLOW_EXECUTION_COMPLETED@11");
}

/* A chain that runs each minute after it was started goes on at these minutes. */
TEST(reset_run_of_a_cron_chain_keeps_its_times) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, "wf");
    req->cron_schedule = make_text(ask_arena(&a), "@every 60s");
    RIG_SEND(&r, &a, start_workflow, req);
    CHECK_OK(&a);
    rig_advance(&r, 60 * SEC);
    work(&r, "queue", NULL);
    rig_advance(&r, 15 * SEC);
    reset(&r, "", 4);
    rig_advance(&r, 5 * SEC);
    work(&r, "queue", make_complete); /* 80 s after the start: the next is due at 120 s */
    rig_poll(&r, &p, "queue");
    rig_advance(&r, 39 * SEC);
    CHECK(!p.is_done);
    rig_advance(&r, SEC);
    CHECK(p.is_done && ask_token(&p).n);
}
