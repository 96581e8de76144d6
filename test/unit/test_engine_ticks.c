/* Many deadlines at once: each run gets its step, in several turns, whatever happens to it in between. */
#include <stdio.h>

#include "engine/limits.h"
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
