/* Task queues are forgotten when they hold nothing, and never while something refers to them. */
#include <stdio.h>

#include "engine/counters.h"
#include "engine/runtime/limits.h"
#include "engine_fixture.h"

#define IDLE_US (ENGINE_QUEUE_IDLE_MS * USEC_PER_MS)

static size_t queue_count(struct rig *r) {
    struct engine_counters c;
    engine_counters(r->engine, &c);
    return c.queues[0] + c.queues[1];
}

static void poll_and_leave(struct rig *r, const char *queue) {
    cleanup(ask_done) struct ask a = {0};
    rig_poll(r, &a, queue);
    ask_cancel(r, &a);
}

static void poll_version(struct rig *r, struct ask *a, const char *queue, const char *build_id) {
    Ws__PollWorkflowTaskQueueRequest *req = ask_poll(r, a, queue);
    struct arena *m = ask_arena(a);
    req->deployment_options =
        MAKE(m, Deployment__WorkerDeploymentOptions, deployment__worker_deployment_options__init);
    req->deployment_options->deployment_name = make_text(m, "d");
    req->deployment_options->build_id = make_text(m, build_id);
    req->deployment_options->worker_versioning_mode = WORKER_VERSIONING_MODE_VERSIONED;
    RIG_SEND(r, a, poll_workflow_task, req);
}

TEST(a_queue_that_was_polled_once_is_forgotten) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll_and_leave(&r, "a");
    poll_and_leave(&r, "b");
    CHECK_INT(queue_count(&r), 2);
    rig_advance(&r, IDLE_US - USEC_PER_SEC);
    CHECK_INT(queue_count(&r), 2);
    rig_advance(&r, USEC_PER_SEC);
    CHECK_INT(queue_count(&r), 0);
}

TEST(the_engine_wakes_to_forget) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll_and_leave(&r, "a");
    CHECK(engine_next_wake_us(r.engine, r.now) <= IDLE_US);
    rig_advance(&r, engine_next_wake_us(r.engine, r.now));
    for (int i = 0; i < 100 && queue_count(&r); i++)
        rig_advance(&r, engine_next_wake_us(r.engine, r.now));
    CHECK_INT(queue_count(&r), 0);
}

TEST(a_queue_with_a_task_stays_and_its_worker_gets_it) {
    cleanup(ask_done) struct ask a = {0}, poll = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    CHECK_OK(&a);
    rig_advance(&r, IDLE_US * 2);
    rig_advance(&r, IDLE_US * 2);
    CHECK_INT(queue_count(&r), 1);
    rig_poll(&r, &poll, "queue");
    CHECK_OK(&poll);
    CHECK(ask_token(&poll).n > 0);
    rig_finish(&r, &a, &poll);
    rig_advance(&r, IDLE_US);
    CHECK_INT(queue_count(&r), 0);
}

TEST(a_queue_with_a_parked_poll_stays) {
    cleanup(ask_done) struct ask poll = {0}, a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (int i = 0; i < 20; i++) { /* each ends empty after a minute; the next comes at once */
        rig_poll(&r, &poll, "queue");
        rig_advance(&r, ENGINE_POLL_MS * USEC_PER_MS);
        CHECK_OK(&poll);
        CHECK_INT(queue_count(&r), 1);
    }
    rig_poll(&r, &poll, "queue");
    rig_start(&r, &a, "wf");
    CHECK_OK(&poll);
    CHECK(ask_token(&poll).n > 0);
}

/* The poll has left the list of those that wait, and its queue must be there when the task turns out to be
 * gone. */
TEST(a_queue_stays_while_a_poll_waits_for_the_store) {
    cleanup(ask_done) struct ask a = {0}, poll = {0};
    cleanup(rig_done) struct rig r;
    rig_init_manual(&r);
    r.resident_runs_max = 0;
    rig_start(&r, &a, "wf");
    rig_settle(&r);
    rig_restart(&r);
    rig_settle(&r);
    rig_poll(&r, &poll, "queue");
    rig_advance(&r, IDLE_US * 2);
    rig_advance(&r, IDLE_US * 2);
    rig_settle(&r);
    CHECK(poll.is_done);
}

TEST(queues_of_versions_go_before_their_base) {
    cleanup(ask_done) struct ask one = {0}, two = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    poll_version(&r, &one, "q", "1");
    poll_version(&r, &two, "q", "2");
    CHECK_INT(queue_count(&r), 3);
    ask_cancel(&r, &one);
    rig_advance(&r, IDLE_US / 2);
    ask_cancel(&r, &two);
    rig_advance(&r, IDLE_US / 2);
    CHECK_INT(queue_count(&r), 2); /* the base is kept by the version that is left */
    rig_advance(&r, IDLE_US);
    rig_advance(&r, IDLE_US);
    CHECK_INT(queue_count(&r), 0);
}

TEST(a_turn_looks_at_some_of_many) {
    cleanup(rig_done) struct rig r;
    char name[32];
    rig_init(&r);
    for (int i = 0; i < ENGINE_QUEUE_LOOKS + 5; i++) {
        snprintf(name, sizeof(name), "q%d", i);
        poll_and_leave(&r, name);
    }
    rig_advance(&r, IDLE_US);
    CHECK_INT(queue_count(&r), 5);
    CHECK_INT(engine_next_wake_us(r.engine, r.now), 0);
    rig_advance(&r, 0);
    CHECK_INT(queue_count(&r), 0);
}
