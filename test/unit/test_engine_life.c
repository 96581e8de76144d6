/* The engine's own life: start on what the disk holds, dropping and reading runs, stopping, and the end
 * with every kind of call still open. */
#include "engine_fixture.h"

#include <stdio.h>

#include "engine/runtime/limits.h"

#define SEC USEC_PER_SEC

static bool has_task(const struct ask *a) {
    return a->is_done && ask_token(a).n > 0;
}

/* A run with an activity and a timer of a minute, and no task. */
static void begin_waiting(struct rig *r, struct ask *a, const char *workflow_id) {
    cleanup(ask_done) struct ask p = {0};
    rig_start(r, a, workflow_id);
    rig_poll(r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(r, a, &p);
    add_command(a, done, make_activity(ask_arena(a), "act"));
    add_command(a, done, make_timer(ask_arena(a), "timer", 50 * SEC));
    RIG_SEND(r, a, complete_workflow_task, done);
    CHECK_OK(a);
}

/* starting */

TEST(life_calls_before_the_start_is_done_are_unavailable) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_restart(&r);
    CHECK(!r.is_ready);
    rig_start(&r, &a, "wf");
    CHECK_FAILS(&a, ERR_UNAVAILABLE, "The server is starting, try again.");
    rig_settle(&r);
    CHECK(r.is_ready);
}

TEST(life_start_on_an_unreadable_store_fails) {
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_restart(&r);
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    mem_store_answer(r.store, 0, ERR_STORE_IO);
    rig_turn(&r);
    CHECK(!r.is_ready);
    CHECK_INT(mem_store_pending_reads(r.store), 0);
}

/* Whatever is due waits for the reads of the start: a loop that did not sleep until then would spin. */
TEST(life_start_sleeps_while_the_store_is_read) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    CHECK_OK(&a);
    r.now.wall.us += 3600 * SEC;
    rig_restart(&r);
    while (!r.is_ready) {
        CHECK(engine_next_wake_us(r.engine, r.now) == CLOCK_NEVER);
        REQUIRE(mem_store_pending_reads(r.store) + mem_store_pending_commits(r.store) > 0);
        if (mem_store_pending_commits(r.store))
            rig_commit(&r);
        else
            rig_read(&r);
    }
    CHECK(engine_next_wake_us(r.engine, r.now) != CLOCK_NEVER);
}

TEST(life_namespaces_keep_their_ids) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (int i = 0; i < 2; i++) {
        struct ask *d = i ? &b : &a;
        struct arena *m = ask_begin(&r, d);
        Ws__DescribeNamespaceRequest *req =
            MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
        req->namespace_ = make_text(m, "other");
        RIG_SEND(&r, d, describe_namespace, req);
        rig_restart(&r);
    }
    const Ws__DescribeNamespaceResponse *x = a.response, *y = b.response;
    REQUIRE(x && y);
    CHECK_STR(x->namespace_info->id, y->namespace_info->id);
}

TEST(life_restart_offers_what_was_waiting) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "idle");
    begin_waiting(&r, &a, "busy"); /* its poll takes the task of "idle" first */
    rig_restart(&r);
    rig_poll(&r, &p, "queue");
    CHECK(has_task(&p));
    rig_finish(&r, &a, &p);
    CHECK_OK(&a);
    rig_poll_activity(&r, &act);
    CHECK(has_task(&act));
    rig_complete_activity(&r, &a, &act);
    CHECK_OK(&a);
}

TEST(life_restart_remembers_deadlines) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_waiting(&r, &a, "wf");
    rig_restart(&r);
    rig_advance(&r, ENGINE_SWEEP_FIRST_MS * USEC_PER_MS); /* the first look for what retention removes */
    CHECK_INT(engine_next_wake_us(r.engine, r.now), 50 * SEC - ENGINE_SWEEP_FIRST_MS * USEC_PER_MS);
    rig_advance(&r, 50 * SEC - ENGINE_SWEEP_FIRST_MS * USEC_PER_MS);
    rig_poll(&r, &p, "queue");
    REQUIRE(has_task(&p));
    CHECK_STR(ask_events(&p),
              "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_COMPLETED@4 ACTIVITY_SCHEDULED@5 "
              "TIMER_STARTED@6 TIMER_FIRED@7 TASK_SCHEDULED@8 TASK_STARTED@9");
}

TEST(life_restart_does_what_became_due_while_it_was_down) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    begin_waiting(&r, &a, "wf");
    rig_stop(&r);
    r.now.wall.us += 3600 * SEC;
    r.now.mono.us = USEC_PER_SEC; /* another machine */
    rig_boot(&r);
    rig_advance(&r, 0);
    rig_poll(&r, &p, "queue");
    CHECK(has_task(&p));
}

TEST(life_restart_offers_a_started_task_again) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_restart(&r); /* that it was started was not worth a commit */
    rig_advance(&r, SEC);
    rig_poll(&r, &q, "queue");
    CHECK(has_task(&q));
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)q.response)->attempt, 1);
    rig_finish(&r, &a, &p);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "Workflow task not found.");
    rig_finish(&r, &a, &q);
    CHECK_OK(&a);
}

TEST(life_restart_times_out_a_task_whose_start_was_written) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, q = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_history(&r, &a, "wf"); /* someone saw it */
    rig_restart(&r);
    rig_poll(&r, &q, "queue");
    CHECK(!q.is_done);
    rig_advance(&r, 10 * SEC);
    REQUIRE(has_task(&q));
    CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)q.response)->attempt, 2);
}

TEST(life_restart_keeps_buffered_events_and_request_ids) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    rig_signal(&r, &a, "wf", "one"); /* buffered: the task is with a worker */
    rig_restart(&r);
    rig_signal(&r, &a, "wf", "one");
    CHECK_OK(&a);
    rig_advance(&r, 10 * SEC);
    rig_history(&r, &a, "wf");
    CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 TASK_STARTED@3 TASK_TIMED_OUT@4 RUN_SIGNALED@5 "
                              "TASK_SCHEDULED@6");
}

/* more runs than fit */

static char *run_name(char text[32], int i) {
    (void)snprintf(text, 32, "wf-%d", i);
    return text;
}

TEST(life_runs_that_are_not_in_use_are_dropped_and_read_again) {
    enum { RUNS = 50 };
    static const size_t limits[] = {0, 1, 7};
    for (size_t k = 0; k < ARRAY_LEN(limits); k++) {
        cleanup(ask_done) struct ask a = {0}, p = {0};
        cleanup(rig_done) struct rig r;
        char name[32];
        rig_init(&r);
        r.resident_runs_max = limits[k];
        rig_restart(&r);
        for (int i = 0; i < RUNS; i++)
            rig_start(&r, &a, run_name(name, i));
        for (int i = 0; i < RUNS; i++) {
            rig_signal(&r, &a, run_name(name, i), "");
            CHECK_OK(&a);
        }
        for (int i = 0; i < RUNS; i++) {
            rig_poll(&r, &p, "queue");
            rig_finish(&r, &a, &p);
            CHECK_OK(&a);
        }
        rig_poll(&r, &p, "queue");
        CHECK(!p.is_done);
        ask_cancel(&r, &p);
        for (int i = 0; i < RUNS; i++) {
            rig_history(&r, &a, run_name(name, i));
            CHECK_STR(ask_events(&a), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3 TASK_STARTED@4 "
                                      "TASK_COMPLETED@5 RUN_COMPLETED@6");
        }
    }
}

TEST(life_dropped_runs_keep_their_deadlines_and_started_tasks) {
    enum { RUNS = 20 };
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    char name[32];
    rig_init(&r);
    r.resident_runs_max = 1;
    rig_restart(&r);
    for (int i = 0; i < RUNS; i++)
        rig_start(&r, &a, run_name(name, i));
    for (int i = 0; i < RUNS; i++) {
        rig_poll(&r, &p, "queue"); /* and never answers */
        CHECK(has_task(&p));
    }
    rig_poll(&r, &p, "queue");
    CHECK(!p.is_done); /* that they are started is not forgotten with the body */
    ask_cancel(&r, &p);
    rig_advance(&r, 10 * SEC);
    for (int i = 0; i < RUNS; i++) {
        rig_poll(&r, &p, "queue");
        REQUIRE(has_task(&p));
        CHECK_INT(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->attempt, 2);
        rig_finish(&r, &a, &p);
        CHECK_OK(&a);
    }
}

TEST(life_run_in_use_is_not_dropped) {
    cleanup(ask_done) struct ask a = {0}, h = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    r.resident_runs_max = 1;
    rig_restart(&r);
    rig_start(&r, &a, "one");
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &h, "one");
    req->wait_new_event = true;
    req->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    RIG_SEND(&r, &h, get_history, req); /* holds the run */
    rig_start(&r, &a, "two");
    rig_start(&r, &a, "three");
    rig_describe(&r, &a, "two");
    CHECK_OK(&a);
    rig_describe(&r, &a, "three");
    CHECK_OK(&a);
    rig_terminate(&r, &a, "one");
    CHECK_STR(ask_events(&h), "RUN_TERMINATED@3");
}

/* reads that fail */

TEST(life_failed_read_is_fatal) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_describe(&r, &a, "wf");
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    mem_store_answer(r.store, 0, ERR_STORE_IO);
    CHECK_INT(r.fatal_count, 1);
}

/* It could rest on what could not be read. */
TEST(life_nothing_is_committed_after_a_failed_read) {
    cleanup(ask_done) struct ask a = {0}, b = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_describe(&r, &b, "other");
    REQUIRE(mem_store_pending_reads(r.store) == 2);
    mem_store_answer(r.store, 1, ERR_STORE_IO);
    rig_read(&r);
    CHECK_INT(r.fatal_count, 1);
    CHECK_INT(mem_store_pending_commits(r.store), 0);
    CHECK(!a.is_done);
}

TEST(life_history_that_cannot_be_read_ends_with_the_engine) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_restart(&r);
    rig_settle(&r);
    rig_history(&r, &a, "wf");
    rig_read(&r); /* which run it is; its state was read at the start */
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    mem_store_answer(r.store, 0, ERR_STORE_IO);
    rig_turn(&r);
    CHECK_INT(r.fatal_count, 1);
    CHECK(!a.is_done);
    rig_stop(&r);
    CHECK_INT(a.err.code, ERR_UNAVAILABLE);
}

/* callers that go away */

TEST(life_call_given_up_while_it_waits) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, c = {0}, d = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf"); /* waits for which run the id means */
    rig_describe(&r, &b, "wf");
    ask_cancel(&r, &a);
    rig_settle(&r);
    CHECK_FAILS(&b, ERR_NOT_FOUND, "workflow not found for ID: wf");
    rig_start(&r, &a, "wf");
    rig_read(&r);
    ask_cancel(&r, &a); /* waits for its commit, which happens */
    rig_settle(&r);
    rig_describe(&r, &b, "wf");
    rig_settle(&r);
    CHECK_OK(&b);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_describe(&r, &c, "wf");
    rig_describe(&r, &d, "wf");
    rig_read(&r);
    CHECK_INT(mem_store_pending_reads(r.store), 1); /* waits for its run */
    ask_cancel(&r, &c);
    rig_settle(&r);
    CHECK_OK(&d);
    rig_history(&r, &c, "wf");
    rig_read(&r);
    rig_read(&r);
    CHECK_INT(mem_store_pending_reads(r.store), 1); /* waits for a page */
    ask_cancel(&r, &c);
    rig_settle(&r);
    rig_history(&r, &c, "wf");
    rig_settle(&r);
    CHECK_STR(ask_events(&c), "RUN_STARTED@1 TASK_SCHEDULED@2");
}

TEST(life_ended_call_can_be_given_up_no_more) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__GetWorkflowExecutionHistoryRequest *req = ask_history(&r, &a, "wf");
    req->wait_new_event = true;
    struct call *c = ask_call(&a);
    CHECK(c->op == NULL);
    engine_cancel(r.engine, c); /* not even begun */
    RIG_SEND(&r, &a, get_history, req);
    CHECK_INT(a.err.code, ERR_NOT_FOUND);
}

/* the end */

TEST(life_end_with_every_kind_of_call_open) {
    cleanup(ask_done) struct ask a = {0}, poll = {0}, act = {0}, history = {0}, query = {0}, direct = {0},
                                 signal = {0}, start = {0}, current = {0}, load = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &poll, "queue");
    rig_complete(&r, &a, &poll);
    rig_settle(&r);
    rig_start(&r, &a, "on-disk");
    rig_settle(&r);
    const Ws__StartWorkflowExecutionResponse *s = a.response;
    REQUIRE(s);
    struct uuid_text id = {{0}};
    memcpy(id.s, s->run_id, UUID_TEXT_LEN);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_poll(&r, &poll, "nowhere");
    rig_poll_activity(&r, &act);
    Ws__GetWorkflowExecutionHistoryRequest *h = ask_history(&r, &history, "wf");
    h->wait_new_event = true;
    h->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    RIG_SEND(&r, &history, get_history, h);
    rig_settle(&r);
    rig_query(&r, &direct, "wf"); /* waits in its queue */
    rig_settle(&r);
    rig_signal(&r, &signal, "wf", ""); /* waits for its commit */
    rig_query(&r, &query, "wf"); /* buffered behind the signal's task */
    rig_start(&r, &start, "new"); /* waits for the id */
    rig_describe(&r, &current, "unknown");
    Ws__GetWorkflowExecutionHistoryRequest *l = ask_history(&r, &load, "on-disk");
    l->execution->run_id = make_text(ask_arena(&load), id.s);
    RIG_SEND(&r, &load, get_history, l); /* waits for the run */
    CHECK(!poll.is_done && !act.is_done && !history.is_done && !direct.is_done && !signal.is_done);
    CHECK(!query.is_done && !start.is_done && !current.is_done && !load.is_done);
    rig_stop(&r);
    const struct ask *unavailable[] = {&poll, &act, &history, &direct, &query, &start, &current, &load};
    for (size_t i = 0; i < ARRAY_LEN(unavailable); i++)
        CHECK_INT(unavailable[i]->err.code, ERR_UNAVAILABLE);
    CHECK_INT(signal.err.code, ERR_MAYBE);
}

TEST(life_end_while_a_page_is_read) {
    cleanup(ask_done) struct ask a = {0}, h = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_read(&r); /* the run */
    CHECK(mem_store_pending_reads(r.store) == 1 && !p.is_done);
    rig_history(&r, &h, "wf");
    CHECK(!h.is_done);
    rig_stop(&r);
    CHECK_INT(p.err.code, ERR_UNAVAILABLE);
    CHECK(h.is_done && h.err.code < 0);
}

TEST(life_end_while_a_lost_task_waits_for_its_run) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    CHECK(has_task(&p));
    rig_restart(&r);
    rig_settle(&r);
    rig_terminate(&r, &a, "wf");
    rig_settle(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    engine_task_lost(r.engine, ask_token(&p));
    CHECK_INT(mem_store_pending_reads(r.store), 1);
    rig_stop(&r); /* nothing may leak */
}

TEST(life_end_while_starting) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    /* Namespaces, deployments, three questions about each of two namespaces, open runs, and the one run. */
    enum { READS = 4 + 2 * 3 };
    for (int reads = 0; reads <= READS; reads++) {
        rig_restart(&r);
        for (int i = 0; i < reads && mem_store_pending_reads(r.store); i++)
            rig_read(&r);
        CHECK_INT(r.is_ready, reads == READS);
    }
}

TEST(life_runs_closed_before_anyone_polled_are_passed_over) {
    enum { RUNS = 2000 };
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    char name[32];
    rig_init(&r);
    r.resident_runs_max = 2 * RUNS; /* all of them: nothing has to be read in between */
    rig_restart(&r);
    for (int i = 0; i < RUNS; i++) {
        rig_start(&r, &a, run_name(name, i));
        rig_terminate(&r, &a, name);
    }
    CHECK_OK(&a);
    rig_start(&r, &a, "last");
    rig_poll(&r, &p, "queue");
    REQUIRE(has_task(&p));
    CHECK_STR(((const Ws__PollWorkflowTaskQueueResponse *)p.response)->workflow_execution->workflow_id,
              "last");
}

/* What a letter does to its receiver and what its sender learns of it are one commit, also when neither is in
 * memory: delivered again after a crash in between, it could meet the next run of that workflow id. */
TEST(life_letter_and_its_report_are_one_commit) {
    cleanup(ask_done) struct ask a = {0}, b = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    r.resident_runs_max = 0;
    rig_restart(&r);
    rig_settle(&r);
    rig_start(&r, &a, "sender");
    rig_settle(&r);
    rig_poll(&r, &p, "queue");
    rig_settle(&r);
    REQUIRE(has_task(&p));
    rig_start(&r, &b, "receiver");
    rig_settle(&r);
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    Command__Command *c = MAKE(ask_arena(&a), Command__Command, command__command__init);
    Command__SignalExternalWorkflowExecutionCommandAttributes *at =
        MAKE(ask_arena(&a), Command__SignalExternalWorkflowExecutionCommandAttributes,
             command__signal_external_workflow_execution_command_attributes__init);
    at->execution = make_execution(ask_arena(&a), "receiver", "");
    at->signal_name = make_text(ask_arena(&a), "hello");
    c->command_type = COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION;
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->signal_external_workflow_execution_command_attributes = at;
    add_command(&a, done, c);
    RIG_SEND(&r, &a, complete_workflow_task, done);
    while (!mem_store_pending_commits(r.store) && mem_store_pending_reads(r.store))
        rig_read(&r);
    REQUIRE(mem_store_pending_commits(r.store) == 1);
    rig_commit(&r); /* nobody uses the sender now but its letter */
    CHECK_OK(&a);
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    rig_read(&r); /* which run is meant */
    REQUIRE(mem_store_pending_reads(r.store) == 1);
    rig_read(&r); /* the receiver */
    CHECK_INT(mem_store_pending_reads(r.store), 0);
    CHECK_INT(mem_store_pending_commits(r.store), 1);
    rig_commit(&r);
    rig_restart(&r);
    rig_settle(&r);
    rig_history(&r, &b, "receiver");
    rig_settle(&r);
    CHECK_STR(ask_events(&b), "RUN_STARTED@1 TASK_SCHEDULED@2 RUN_SIGNALED@3");
}

static void check_expired_runs_go(bool is_reopened) {
    enum { RUNS = 5 * ENGINE_SWEEP_RUNS / 2, TURNS = 10 };
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char id[32];
    rig_init(&r);
    for (int i = 0; i < RUNS; i++) {
        (void)snprintf(id, sizeof id, "closed-%d", i);
        rig_start(&r, &a, id);
        rig_terminate(&r, &a, id);
    }
    rig_advance(&r, 2 * 86400 * USEC_PER_SEC);
    if (is_reopened)
        rig_restart(&r);
    rig_advance(&r, ENGINE_SWEEP_MS * USEC_PER_MS);
    for (int i = 0; i < TURNS; i++)
        rig_advance(&r, 1); /* no time passes that retention could wait for */
    for (int i = 0; i < RUNS; i += ENGINE_SWEEP_RUNS / 2 - 1) {
        (void)snprintf(id, sizeof id, "closed-%d", i);
        rig_describe(&r, &a, id);
        CHECK_INT(a.err.code, ERR_NOT_FOUND);
    }
}

TEST(life_retention_removes_many_without_a_pause) {
    check_expired_runs_go(false);
}
TEST(life_retention_removes_many_after_a_restart) {
    check_expired_runs_go(true);
}

/* The rig's namespaces keep closed runs for a day. */
TEST(life_retention_removes_what_closed_long_ago_and_nothing_else) {
    const int64_t day = 86400 * USEC_PER_SEC;
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "closed");
    rig_start(&r, &a, "open");
    rig_terminate(&r, &a, "closed");
    CHECK_OK(&a);
    rig_advance(&r, day - 10 * USEC_PER_SEC);
    rig_advance(&r, USEC_PER_SEC);
    rig_describe(&r, &a, "closed");
    CHECK_OK(&a);
    rig_advance(&r, 2 * ENGINE_SWEEP_MS * USEC_PER_MS);
    rig_advance(&r, 2 * ENGINE_SWEEP_MS * USEC_PER_MS);
    rig_describe(&r, &a, "closed");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "workflow not found for ID: closed");
    rig_describe(&r, &a, "open");
    CHECK_OK(&a);
    rig_restart(&r);
    rig_describe(&r, &a, "closed");
    CHECK_FAILS(&a, ERR_NOT_FOUND, "workflow not found for ID: closed");
    rig_describe(&r, &a, "open");
    CHECK_OK(&a);
}
