/* Many deadlines at once: each run gets its step, in several turns, whatever happens to it in between. */
#include <stdio.h>

#include "base/fault.h"
#include "engine/runtime/limits.h"
#include "engine_fixture.h"

#define RUNS (ENGINE_DUE_PER_TURN * 2 + 50)

static const char *name_of(char (*room)[16], size_t i) {
    (void)snprintf(*room, sizeof *room, "wf-%zu", i);
    return *room;
}

static void start_all(struct rig *r, struct ask *a) {
    char name[16];
    for (size_t i = 0; i < RUNS; i++) {
        Ws__StartWorkflowExecutionRequest *req = ask_start(r, a, name_of(&name, i));
        req->workflow_run_timeout = make_duration(ask_arena(a), 30 * USEC_PER_SEC);
        RIG_SEND(r, a, start_workflow, req);
    }
}

static size_t count_status(struct rig *r, struct ask *a, E__WorkflowExecutionStatus status) {
    char name[16];
    size_t n = 0;
    for (size_t i = 0; i < RUNS; i++) {
        rig_describe(r, a, name_of(&name, i));
        const Ws__DescribeWorkflowExecutionResponse *d = a->response;
        n += d && d->workflow_execution_info->status == status;
    }
    return n;
}

TEST(ticks_of_many_runs_take_several_turns) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_all(&r, &a);
    rig_advance(&r, 30 * USEC_PER_SEC);
    CHECK_INT(count_status(&r, &a, WORKFLOW_EXECUTION_STATUS_TIMED_OUT), ENGINE_DUE_PER_TURN);
    CHECK_INT(engine_next_wake_us(r.engine, r.now), 0);
    rig_advance(&r, 0);
    rig_advance(&r, 0);
    CHECK_INT(count_status(&r, &a, WORKFLOW_EXECUTION_STATUS_TIMED_OUT), RUNS);
    CHECK(engine_next_wake_us(r.engine, r.now) > 0);
}

TEST(ticks_pass_by_what_has_ended_meanwhile) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    char name[16];
    size_t ended = 0;
    rig_init(&r);
    start_all(&r, &a);
    rig_advance(&r, 30 * USEC_PER_SEC);
    for (size_t i = 0; i < RUNS; i++) {
        rig_terminate(&r, &a, name_of(&name, i)); /* some of them wait for their step, others have had it */
        ended += a.err.code == 0;
    }
    CHECK_INT(ended, RUNS - ENGINE_DUE_PER_TURN);
    rig_advance(&r, 0);
    rig_advance(&r, 0);
    CHECK_INT(count_status(&r, &a, WORKFLOW_EXECUTION_STATUS_TERMINATED), ended);
    CHECK_INT(count_status(&r, &a, WORKFLOW_EXECUTION_STATUS_TIMED_OUT), ENGINE_DUE_PER_TURN);
}

/* The run is not in memory, and there is none for it when it is due. */
static void fire_without_memory(uint64_t nth) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(&r, &a, &p);
    add_command(&a, req, make_timer(ask_arena(&a), "timer", USEC_PER_SEC));
    RIG_SEND(&r, &a, complete_workflow_task, req);
    rig_restart(&r);
    r.now.wall.us += USEC_PER_SEC;
    r.now.mono.us += USEC_PER_SEC;
    fault_arm_alloc(nth);
    engine_advance(r.engine, r.now);
    CHECK(fault_fired());
    fault_disarm();
    for (int i = 0; i < 20; i++)
        rig_advance(&r, USEC_PER_SEC);
    rig_history(&r, &a, "wf");
    CHECK_OK(&a);
    CHECK(strstr(ask_events(&a), "TIMER_FIRED"));
}

/* The first allocations are those of the errand, without which the process ends. */
TEST(ticks_are_not_lost_for_lack_of_memory) {
    fire_without_memory(6); /* for the run */
    fire_without_memory(7); /* for the question to the store */
}

/* what had arrived */

TEST(ticks_judge_only_what_was_heard) {
    cleanup(ask_done) struct ask a = {0}, p = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *req = ask_completion(&r, &a, &p);
    add_command(&a, req, make_activity(ask_arena(&a), "activity"));
    RIG_SEND(&r, &a, complete_workflow_task, req);
    rig_poll_activity(&r, &p);
    struct now heard = r.now;
    r.now.wall.us += 20 * USEC_PER_SEC;
    r.now.mono.us += 20 * USEC_PER_SEC;
    engine_advance_heard(r.engine, r.now, heard);
    CHECK_INT(engine_next_wake_us(r.engine, r.now), 0);
    rig_complete_activity(&r, &a, &p);
    CHECK_OK(&a);
}

TEST(ticks_do_not_fire_early_when_the_clock_went_back_since) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_all(&r, &a);
    struct now heard = {{r.now.wall.us + 60 * USEC_PER_SEC}, r.now.mono};
    engine_advance_heard(r.engine, r.now, heard);
    rig_turn(&r);
    CHECK_INT(count_status(&r, &a, WORKFLOW_EXECUTION_STATUS_RUNNING), RUNS);
}

/* Which run the id means is read first, and then the run; a deadline needs only the run. */
TEST(ticks_wait_for_calls_that_are_being_loaded) {
    cleanup(ask_done) struct ask a = {0}, t = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, "wf");
    req->workflow_run_timeout = make_duration(ask_arena(&a), 30 * USEC_PER_SEC);
    RIG_SEND(&r, &a, start_workflow, req);
    rig_settle(&r);
    rig_restart(&r);
    rig_settle(&r);
    rig_terminate(&r, &t, "wf");
    r.now.wall.us += 31 * USEC_PER_SEC;
    r.now.mono.us += USEC_PER_MS;
    engine_advance(r.engine, r.now);
    CHECK(engine_next_wake_us(r.engine, r.now) > 0);
    rig_settle(&r);
    CHECK_OK(&t);
}

TEST(ticks_do_not_wait_for_a_slow_store_for_long) {
    cleanup(ask_done) struct ask a = {0}, t = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    Ws__StartWorkflowExecutionRequest *req = ask_start(&r, &a, "wf");
    req->workflow_run_timeout = make_duration(ask_arena(&a), 30 * USEC_PER_SEC);
    RIG_SEND(&r, &a, start_workflow, req);
    rig_settle(&r);
    rig_restart(&r);
    rig_settle(&r);
    rig_terminate(&r, &t, "another"); /* its read is not answered */
    rig_advance(&r, 31 * USEC_PER_SEC);
    CHECK_INT(mem_store_pending_commits(r.store), 0);
    rig_advance(&r, ENGINE_LOADING_MS * USEC_PER_MS);
    CHECK_INT(mem_store_pending_commits(r.store), 1); /* the timeout */
    rig_settle(&r);
    CHECK(t.is_done);
}
