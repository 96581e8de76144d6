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

static void send_reset(struct rig *r, struct ask *a, const char *run_id, int64_t finish_event_id) {
    struct arena *m = ask_begin(r, a);
    Ws__ResetWorkflowExecutionRequest *req =
        MAKE(m, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", run_id);
    req->reason = make_text(m, "again");
    req->workflow_task_finish_event_id = finish_event_id;
    req->request_id = make_text(m, "reset");
    RIG_SEND(r, a, reset_workflow, req);
}

static void reset(struct rig *r, const char *run_id, int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    send_reset(r, &a, run_id, finish_event_id);
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

#define UNTIL_SIGNAL                                                                                         \
    "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 "                                        \
    "SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED@5 TASK_SCHEDULED@6 "

static void settle_done(struct rig *r, struct ask *a) {
    rig_settle(r);
    CHECK_OK(a);
}

static void start_settled(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, workflow_id);
    settle_done(r, &a);
}

static void terminate_settled(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_terminate(r, &a, workflow_id);
    settle_done(r, &a);
}

static void reset_settled(struct rig *r, int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    send_reset(r, &a, "", finish_event_id);
    settle_done(r, &a);
}

static void check_events_settled(struct rig *r, const char *workflow_id, const char *want) {
    cleanup(ask_done) struct ask a = {0};
    rig_history(r, &a, workflow_id);
    settle_done(r, &a);
    CHECK_STR(ask_events(&a), want);
}

static Command__Command *make_signal(struct arena *m, const char *workflow_id) {
    Command__SignalExternalWorkflowExecutionCommandAttributes *in =
        MAKE(m, Command__SignalExternalWorkflowExecutionCommandAttributes,
             command__signal_external_workflow_execution_command_attributes__init);
    Command__Command *cmd = MAKE(m, Command__Command, command__command__init);
    in->execution = make_execution(m, workflow_id, "");
    in->signal_name = make_text(m, "hello");
    cmd->command_type = COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION;
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    cmd->signal_external_workflow_execution_command_attributes = in;
    return cmd;
}

static void init_without_residents(struct rig *r) {
    rig_init_manual(r);
    r->resident_runs_max = 0;
    rig_restart(r);
    rig_settle(r);
}

/* A run that signals "receiver", and is terminated while its letter still looks for that. */
static void signal_and_close(struct rig *r, bool is_receiver_open) {
    cleanup(ask_done) struct ask a = {0}, t = {0}, p = {0};
    start_settled(r, "wf");
    rig_poll(r, &p, "queue");
    rig_settle(r);
    REQUIRE(p.is_done && ask_token(&p).n);
    start_settled(r, "receiver");
    if (!is_receiver_open)
        terminate_settled(r, "receiver");
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    add_command(&a, req, make_signal(ask_arena(&a), "receiver"));
    req->force_create_new_workflow_task = true;
    RIG_SEND(r, &a, complete_workflow_task, req);
    while (!mem_store_pending_commits(r->store) && mem_store_pending_reads(r->store))
        rig_read(r);
    rig_commit(r);
    CHECK_OK(&a);
    REQUIRE(mem_store_pending_reads(r->store) == 1); /* which run is meant */
    rig_terminate(r, &t, "wf");
    settle_done(r, &t);
    check_events_settled(r, "wf", UNTIL_SIGNAL "RUN_TERMINATED@7");
}

/* The run did not live to hear that its signal arrived; its copy hears it, and does not send it again. */
TEST(reset_does_not_repeat_a_signal_that_arrived_after_the_close) {
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    signal_and_close(&r, true);
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3");
    terminate_settled(&r, "receiver");
    start_settled(&r, "receiver");
    reset_settled(&r, 7);
    check_events_settled(&r, "wf",
                         UNTIL_SIGNAL "TASK_STARTED@7 TASK_FAILED@8 EXTERNAL_WORKFLOW_EXECUTION_SIGNALED@9 "
                                      "TASK_SCHEDULED@10");
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2");
}

TEST(reset_tells_that_a_signal_failed_after_the_close) {
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    signal_and_close(&r, false);
    rig_restart(&r); /* it is not only in memory */
    rig_settle(&r);
    start_settled(&r, "receiver");
    reset_settled(&r, 7);
    check_events_settled(&r, "wf",
                         UNTIL_SIGNAL
                         "TASK_STARTED@7 TASK_FAILED@8 SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED@9 "
                         "TASK_SCHEDULED@10");
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2");
}
