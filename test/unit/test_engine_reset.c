/* Resets as they are seen from outside: what the copy of a run inherits, and who still finds it. */
#include <stdio.h>

#include "engine/counters.h"
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

static Ws__ResetWorkflowExecutionRequest *ask_reset(struct rig *r, struct ask *a, const char *run_id,
                                                    const char *request_id, int64_t finish_event_id) {
    struct arena *m = ask_begin(r, a);
    Ws__ResetWorkflowExecutionRequest *req =
        MAKE(m, Ws__ResetWorkflowExecutionRequest, ws__reset_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->workflow_execution = make_execution(m, "wf", run_id);
    req->reason = make_text(m, "again");
    req->workflow_task_finish_event_id = finish_event_id;
    req->request_id = make_text(m, request_id);
    return req;
}

static void send_reset(struct rig *r, struct ask *a, const char *run_id, const char *request_id,
                       int64_t finish_event_id) {
    Ws__ResetWorkflowExecutionRequest *req = ask_reset(r, a, run_id, request_id, finish_event_id);
    RIG_SEND(r, a, reset_workflow, req);
}

static void reset(struct rig *r, const char *run_id, int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    send_reset(r, &a, run_id, "reset", finish_event_id);
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

static const Ws__DescribeWorkflowExecutionResponse *describe_run(struct rig *r, struct ask *a,
                                                                 const char *run_id) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeWorkflowExecutionRequest *req =
        MAKE(m, Ws__DescribeWorkflowExecutionRequest, ws__describe_workflow_execution_request__init);
    req->namespace_ = make_text(m, "default");
    req->execution = make_execution(m, "wf", run_id);
    RIG_SEND(r, a, describe_workflow, req);
    CHECK_OK(a);
    const Ws__DescribeWorkflowExecutionResponse *resp = a->response;
    ensure(resp && resp->workflow_extended_info && resp->workflow_execution_info);
    return resp;
}

/* The base run may have used up its time long ago. */
TEST(reset_run_starts_anew) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, "wf");
    req->workflow_execution_timeout = make_duration(ask_arena(&a), 60 * SEC);
    RIG_SEND(&r, &a, start_workflow, req);
    CHECK_OK(&a);
    const char *base = ((const Ws__StartWorkflowExecutionResponse *)a.response)->run_id;
    work(&r, "queue", NULL);
    rig_advance(&r, 100 * SEC);
    reset(&r, base, 4);
    rig_advance(&r, 59 * SEC);
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5");

    const Ws__DescribeWorkflowExecutionResponse *d = describe_run(&r, &b, "");
    const Workflow__WorkflowExecutionInfo *info = d->workflow_execution_info;
    const Workflow__WorkflowExecutionExtendedInfo *more = d->workflow_extended_info;
    const Ws__DescribeWorkflowExecutionResponse *old = describe_run(&r, &c, base);
    REQUIRE(info->start_time && info->root_execution && more->original_start_time && more->last_reset_time &&
            more->execution_expiration_time && old->workflow_execution_info->start_time);
    int64_t began_s = old->workflow_execution_info->start_time->seconds;
    CHECK_INT(info->start_time->seconds, began_s + 100);
    CHECK_INT(info->execution_time->seconds, began_s + 100);
    CHECK_INT(more->original_start_time->seconds, began_s);
    CHECK_INT(more->last_reset_time->seconds, began_s + 100);
    CHECK_INT(more->execution_expiration_time->seconds, began_s + 160);
    CHECK_INT(more->run_expiration_time->seconds, began_s + 160);
    CHECK_STR(info->root_execution->run_id, info->execution->run_id);
    CHECK_STR(info->first_run_id, base);
    CHECK_STR(old->workflow_extended_info->reset_run_id, info->execution->run_id);
    CHECK(!old->workflow_extended_info->last_reset_time);

    rig_advance(&r, SEC);
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5 "
                      "RUN_TIMED_OUT@6");
}

/* It is the base that names its copy, not the run that was current. */
TEST(reset_of_an_earlier_run_is_told_by_that_run) {
    struct uuid_text first, second;
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &first);
    work(&r, "queue", make_complete);
    start_parent(&r, &second);
    reset(&r, first.s, 4);
    const Ws__DescribeWorkflowExecutionResponse *copy = describe_run(&r, &a, "");
    CHECK_STR(describe_run(&r, &b, first.s)->workflow_extended_info->reset_run_id,
              copy->workflow_execution_info->execution->run_id);
    CHECK_STR(describe_run(&r, &c, second.s)->workflow_extended_info->reset_run_id, "");
}

/* Its start is in the history for everyone who looks, although it was written for nobody yet. */
TEST(reset_to_the_start_of_a_task_that_a_worker_has) {
    struct uuid_text base;
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &base);
    rig_poll(&r, &p, "queue");
    CHECK(p.is_done && ask_token(&p).n);
    send_reset(&r, &a, base.s, "too late", 4);
    CHECK_INT(a.err.code, ERR_INVALID);
    reset(&r, base.s, 3);
    check_history(&r, "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5");
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

static void start_base(struct rig *r, struct uuid_text *ret_run_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_start(r, &a, "wf");
    settle_done(r, &a);
    memcpy(ret_run_id->s, ((const Ws__StartWorkflowExecutionResponse *)a.response)->run_id,
           sizeof ret_run_id->s);
}

static void terminate_settled(struct rig *r, const char *workflow_id) {
    cleanup(ask_done) struct ask a = {0};
    rig_terminate(r, &a, workflow_id);
    settle_done(r, &a);
}

static void reset_settled_from(struct rig *r, const char *run_id, const char *request_id,
                               int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    send_reset(r, &a, run_id, request_id, finish_event_id);
    settle_done(r, &a);
}

static void reset_settled(struct rig *r, int64_t finish_event_id) {
    reset_settled_from(r, "", "reset", finish_event_id);
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

/* The oldest read stays unanswered meanwhile. */
static void done_past_the_read(struct rig *r, struct ask *a) {
    while (!a->is_done && (mem_store_pending_commits(r->store) || mem_store_pending_reads(r->store) > 1)) {
        if (mem_store_pending_reads(r->store) > 1) {
            mem_store_answer(r->store, 1, 0);
            rig_turn(r);
        } else {
            rig_commit(r);
        }
    }
    CHECK_OK(a);
}

/* A run that gives this command, and is terminated while the letter still looks for its receiver: one read.
 */
static void command_and_close(struct rig *r, Command__Command *(*make)(struct arena *a)) {
    cleanup(ask_done) struct ask a = {0}, t = {0}, p = {0};
    rig_poll(r, &p, "queue");
    rig_settle(r);
    REQUIRE(p.is_done && ask_token(&p).n);
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    add_command(&a, req, make(ask_arena(&a)));
    req->force_create_new_workflow_task = true;
    RIG_SEND(r, &a, complete_workflow_task, req);
    while (!mem_store_pending_commits(r->store) && mem_store_pending_reads(r->store))
        rig_read(r);
    rig_commit(r);
    CHECK_OK(&a);
    REQUIRE(mem_store_pending_reads(r->store) == 1); /* which run is meant */
    rig_terminate(r, &t, "wf");
    done_past_the_read(r, &t);
    REQUIRE(mem_store_pending_reads(r->store) == 1);
}

static Command__Command *signal_receiver(struct arena *m) {
    return make_signal(m, "receiver");
}

static void signal_and_close(struct rig *r, bool is_receiver_open) {
    start_settled(r, "wf");
    start_settled(r, "receiver");
    if (!is_receiver_open)
        terminate_settled(r, "receiver");
    command_and_close(r, signal_receiver);
}

/* The run did not live to hear that its signal arrived; its copy hears it, and does not send it again. */
TEST(reset_does_not_repeat_a_signal_that_arrived_after_the_close) {
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    signal_and_close(&r, true);
    rig_settle(&r);
    check_events_settled(&r, "wf", UNTIL_SIGNAL "RUN_TERMINATED@7");
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
    rig_settle(&r);
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

static void reset_past_the_read(struct rig *r, int64_t finish_event_id) {
    cleanup(ask_done) struct ask a = {0};
    send_reset(r, &a, "", "reset", finish_event_id);
    done_past_the_read(r, &a);
}

static uint64_t letters_delivered(const struct rig *r) {
    struct engine_counters c;
    engine_counters(r->engine, &c);
    return c.letters_delivered;
}

/* The letter is the copy's from then on: the closed run, whose delivery has only just found the receiver,
 * does not bring it, too. */
TEST(reset_takes_over_a_signal_that_is_on_its_way) {
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    signal_and_close(&r, true);
    reset_past_the_read(&r, 7);
    rig_settle(&r);
    CHECK_INT(letters_delivered(&r), 1);
    check_events_settled(&r, "wf",
                         UNTIL_SIGNAL "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "EXTERNAL_WORKFLOW_EXECUTION_SIGNALED@10");
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3");
}

/* A copy that goes back further starts the signal anew, and the one who sent it first still has to bring it.
 */
TEST(reset_leaves_the_signals_of_later_to_the_base_run) {
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    signal_and_close(&r, true);
    reset_past_the_read(&r, 4);
    rig_settle(&r);
    CHECK_INT(letters_delivered(&r), 1);
    check_events_settled(&r, "wf",
                         "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_FAILED@4 TASK_SCHEDULED@5");
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3");
}

/* Two copies of one run say the same: the receiver knows the letter of the second by its request id. */
TEST(reset_again_does_not_repeat_a_signal) {
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    init_without_residents(&r);
    start_base(&r, &base);
    start_settled(&r, "receiver");
    command_and_close(&r, signal_receiver);
    reset_past_the_read(&r, 7);
    rig_settle(&r);
    reset_settled_from(&r, base.s, "once more", 7);
    CHECK_INT(letters_delivered(&r), 2);
    check_events_settled(&r, "wf",
                         UNTIL_SIGNAL "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "EXTERNAL_WORKFLOW_EXECUTION_SIGNALED@10");
    check_events_settled(&r, "receiver", "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3");
}

/* Children of a run that was closed before it heard of them */

#define UNTIL_ORPHAN UNTIL_CHILD "TASK_SCHEDULED@6 "

/* It is described with its run id, "" before it has one. */
static void check_pending_child(struct rig *r, bool has_run) {
    cleanup(ask_done) struct ask a = {0};
    rig_describe(r, &a, "wf");
    settle_done(r, &a);
    const Ws__DescribeWorkflowExecutionResponse *resp = a.response;
    REQUIRE(resp->n_pending_children == 1);
    CHECK_STR(resp->pending_children[0]->workflow_id, "child");
    CHECK(!cstr_is_empty(resp->pending_children[0]->run_id) == has_run);
}

static void orphan_child(struct rig *r, struct uuid_text *ret_base) {
    init_without_residents(r);
    start_base(r, ret_base);
    command_and_close(r, one_child);
    check_pending_child(r, false); /* while it is being started */
    rig_settle(r);
    check_events_settled(r, "wf", UNTIL_ORPHAN "RUN_TERMINATED@7");
    check_events_settled(r, "child", "RUN_STARTED@1 TASK_SCHEDULED@2");
    check_pending_child(r, true);
}

static void work_settled(struct rig *r, const char *queue, Command__Command *(*make)(struct arena *a)) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_poll(r, &p, queue);
    rig_settle(r);
    REQUIRE(p.is_done && ask_token(&p).n);
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    add_command(&a, req, make(ask_arena(&a)));
    RIG_SEND(r, &a, complete_workflow_task, req);
    settle_done(r, &a);
}

TEST(reset_finds_a_child_that_was_started_after_the_close) {
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    orphan_child(&r, &base);
    rig_restart(&r);
    rig_settle(&r);
    reset_settled(&r, 7);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 CHILD_WORKFLOW_EXECUTION_STARTED@9 "
                                      "TASK_SCHEDULED@10");
    work_settled(&r, "children", make_complete);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 CHILD_WORKFLOW_EXECUTION_STARTED@9 "
                                      "TASK_SCHEDULED@10 CHILD_WORKFLOW_EXECUTION_COMPLETED@11");
}

TEST(reset_hears_of_a_child_that_was_started_and_ended_after_the_close) {
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    orphan_child(&r, &base);
    work_settled(&r, "children", make_complete);
    reset_settled(&r, 7);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 CHILD_WORKFLOW_EXECUTION_STARTED@9 "
                                      "TASK_SCHEDULED@10 CHILD_WORKFLOW_EXECUTION_COMPLETED@11");
    reset_settled_from(&r, base.s, "once more", 7);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 CHILD_WORKFLOW_EXECUTION_STARTED@9 "
                                      "TASK_SCHEDULED@10 CHILD_WORKFLOW_EXECUTION_COMPLETED@11");
}

static Command__Command *dependent_child(struct arena *a, E__ParentClosePolicy policy) {
    Command__Command *cmd = make_child(a, "child");
    cmd->start_child_workflow_execution_command_attributes->parent_close_policy = policy;
    return cmd;
}

static Command__Command *terminated_child(struct arena *a) {
    return dependent_child(a, PARENT_CLOSE_POLICY_TERMINATE);
}

static Command__Command *cancelled_child(struct arena *a) {
    return dependent_child(a, PARENT_CLOSE_POLICY_REQUEST_CANCEL);
}

/* Nobody starts a child only to end it; the copy of its parent does, and has it to itself. */
static void check_dependent(Command__Command *(*make)(struct arena *a)) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    init_without_residents(&r);
    start_settled(&r, "wf");
    command_and_close(&r, make);
    rig_settle(&r);
    rig_history(&r, &a, "child");
    rig_settle(&r);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
    reset_settled(&r, 7);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "CHILD_WORKFLOW_EXECUTION_STARTED@10");
    check_events_settled(&r, "child", "RUN_STARTED@1 TASK_SCHEDULED@2");
}

TEST(reset_starts_a_child_that_nobody_wanted_after_the_close) {
    check_dependent(terminated_child);
    check_dependent(cancelled_child);
}

/* The letter that starts it is the copy's, and the base run does not end what the copy has begun. */
static void check_taken_over(Command__Command *(*make)(struct arena *a)) {
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    init_without_residents(&r);
    start_base(&r, &base);
    command_and_close(&r, make);
    reset_past_the_read(&r, 7);
    rig_settle(&r);
    CHECK_INT(letters_delivered(&r), 2); /* that it starts, and that it may begin */
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "CHILD_WORKFLOW_EXECUTION_STARTED@10");
    check_events_settled(&r, "child", "RUN_STARTED@1 TASK_SCHEDULED@2");
}

TEST(reset_takes_over_a_child_that_is_being_started) {
    check_taken_over(one_child);
    check_taken_over(terminated_child);
    check_taken_over(cancelled_child);
}

/* As on other servers of this API, a copy of a copy's base finds the child that runs. */
TEST(reset_again_finds_the_child_of_the_first_copy) {
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    init_without_residents(&r);
    start_base(&r, &base);
    command_and_close(&r, one_child);
    reset_past_the_read(&r, 7);
    rig_settle(&r);
    reset_settled_from(&r, base.s, "once more", 7);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "CHILD_WORKFLOW_EXECUTION_STARTED@10");
    work_settled(&r, "children", make_complete);
    check_events_settled(&r, "wf",
                         UNTIL_ORPHAN "TASK_STARTED@7 TASK_FAILED@8 TASK_SCHEDULED@9 "
                                      "CHILD_WORKFLOW_EXECUTION_STARTED@10 "
                                      "CHILD_WORKFLOW_EXECUTION_COMPLETED@11");
}

/* Memory */

/* A request has so many bytes for what it unfolds to (net/limits.def). */
#define REQUEST_BYTES (16u << 20)

static void complete_with(struct rig *r, Command__Command **commands, size_t count) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    rig_poll(r, &p, "queue");
    REQUIRE(p.is_done && ask_token(&p).n);
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(r, &a, &p);
    req->commands = commands;
    req->n_commands = count;
    req->force_create_new_workflow_task = true;
    RIG_SEND(r, &a, complete_workflow_task, req);
    CHECK_OK(&a);
}

TEST(reset_of_a_long_history_fits_a_request) {
    enum { MARKERS = 40000 };
    struct uuid_text base;
    cleanup(arena_done) struct arena m;
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    arena_init(&m, 1 << 20);
    rig_init(&r);
    start_parent(&r, &base);
    Command__Command *marker = make_marker(&m, 1);
    Command__Command **commands = arena_array(&m, Command__Command *, MARKERS);
    REQUIRE(marker && commands);
    for (size_t i = 0; i < MARKERS; i++)
        commands[i] = marker;
    complete_with(&r, commands, MARKERS);
    work(&r, "queue", NULL);
    Ws__ResetWorkflowExecutionRequest *req = ask_reset(&r, &a, base.s, "reset", MARKERS + 7);
    ask_arena(&a)->budget = REQUEST_BYTES;
    RIG_SEND(&r, &a, reset_workflow, req);
    CHECK_OK(&a);
}

static Command__Command *make_cancel_activity(struct arena *m, int64_t scheduled_event_id) {
    Command__RequestCancelActivityTaskCommandAttributes *in =
        MAKE(m, Command__RequestCancelActivityTaskCommandAttributes,
             command__request_cancel_activity_task_command_attributes__init);
    Command__Command *cmd = MAKE(m, Command__Command, command__command__init);
    in->scheduled_event_id = scheduled_event_id;
    cmd->command_type = COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK;
    cmd->attributes_case = COMMAND__COMMAND__ATTRIBUTES_REQUEST_CANCEL_ACTIVITY_TASK_COMMAND_ATTRIBUTES;
    cmd->request_cancel_activity_task_command_attributes = in;
    return cmd;
}

/* Never more than one of them at a time. */
TEST(reset_of_a_run_that_had_thousands_of_activities) {
    enum { ACTIVITIES = 5000, COMMANDS_OF_EACH = 2, EVENTS_OF_EACH = 3 };
    struct uuid_text base;
    cleanup(arena_done) struct arena m;
    cleanup(rig_done) struct rig r;
    arena_init(&m, 16 << 20);
    rig_init(&r);
    start_parent(&r, &base);
    Command__Command **commands = arena_array(&m, Command__Command *, 2 * (size_t)ACTIVITIES);
    Command__Command *activity = make_activity(&m, "a");
    REQUIRE(commands && activity);
    for (size_t i = 0; i < ACTIVITIES; i++) {
        commands[2 * i] = activity;
        commands[2 * i + 1] = make_cancel_activity(&m, 5 + COMMANDS_OF_EACH * (int64_t)i);
    }
    complete_with(&r, commands, 2 * (size_t)ACTIVITIES);
    work(&r, "queue", NULL);
    reset(&r, base.s, 7 + EVENTS_OF_EACH * ACTIVITIES);
}

/* With any less it is refused, and has changed nothing. */
TEST(reset_ends_cleanly_however_little_memory_there_is) {
    enum { STEP_BYTES = 16, ROOM_MAX = 1 << 20 };
    struct uuid_text base;
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_parent(&r, &base);
    work(&r, "queue", one_child);
    work(&r, "queue", make_complete);
    size_t room = 0, refused = 0;
    for (bool is_done = false; !is_done && room < ROOM_MAX; room += STEP_BYTES) {
        cleanup(ask_done) struct ask a = {0};
        Ws__ResetWorkflowExecutionRequest *req = ask_reset(&r, &a, base.s, "reset", 9);
        ask_arena(&a)->budget = ask_arena(&a)->used + room;
        RIG_SEND(&r, &a, reset_workflow, req);
        is_done = a.err.code == 0;
        refused += a.err.code == ERR_TOO_COSTLY;
        CHECK(a.is_done && (is_done || a.err.code == ERR_TOO_COSTLY));
    }
    CHECK(refused > 0 && room < ROOM_MAX);
    check_history(&r, UNTIL_CHILD "CHILD_WORKFLOW_EXECUTION_STARTED@6 TASK_SCHEDULED@7 TASK_STARTED@8 "
                                  "TASK_FAILED@9 TASK_SCHEDULED@10");
}

/* A question that is answered at once leaves the outbox; those behind it must not be skipped. */
TEST(reset_asks_for_all_children_after_a_restart) {
    enum { CHILDREN = 3 };
    static const char *const names[CHILDREN] = {"child-1", "child-2", "child-3"};
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    struct uuid_text base;
    struct engine_counters counted;
    rig_init(&r);
    start_parent(&r, &base);
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    for (int i = 0; i < CHILDREN; i++)
        add_command(&a, done, make_child(ask_arena(&a), names[i]));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    work(&r, "queue", NULL);
    r.is_manual = true;
    r.resident_runs_max = 0; /* so that the children must be read, and the questions wait */
    rig_restart(&r);
    rig_settle(&r);
    Ws__ResetWorkflowExecutionRequest *req = ask_reset(&r, &a, base.s, "reset", 12);
    RIG_SEND(&r, &a, reset_workflow, req);
    while (!mem_store_pending_commits(r.store) && mem_store_pending_reads(r.store))
        rig_read(&r);
    rig_commit(&r);
    CHECK_OK(&a);
    r.is_manual = false;
    r.resident_runs_max = 100;
    rig_restart(&r);
    engine_counters(r.engine, &counted);
    CHECK_INT(counted.letters_delivered, CHILDREN);
}
