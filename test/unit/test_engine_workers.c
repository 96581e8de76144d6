/* Which workers the engine remembers, and for how long. */
#include <stdio.h>

#include "engine/runtime/limits.h"
#include "engine_fixture.h"

static void beat_as(struct rig *r, const char *space, const char *key, E__WorkerStatus status) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__RecordWorkerHeartbeatRequest *req =
        MAKE(m, Ws__RecordWorkerHeartbeatRequest, ws__record_worker_heartbeat_request__init);
    req->namespace_ = make_text(m, space);
    req->worker_heartbeat = arena_array(m, Worker__WorkerHeartbeat *, 1);
    req->worker_heartbeat[req->n_worker_heartbeat++] =
        MAKE(m, Worker__WorkerHeartbeat, worker__worker_heartbeat__init);
    req->worker_heartbeat[0]->worker_instance_key = make_text(m, key);
    req->worker_heartbeat[0]->status = status;
    RIG_SEND(r, &a, record_worker, req);
    CHECK_OK(&a);
}

static void beat(struct rig *r, const char *key) {
    beat_as(r, "default", key, WORKER_STATUS_RUNNING);
}

static int64_t count_in(struct rig *r, const char *space) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__CountWorkersRequest *req = MAKE(m, Ws__CountWorkersRequest, ws__count_workers_request__init);
    req->namespace_ = make_text(m, space);
    RIG_SEND(r, &a, count_workers, req);
    CHECK_OK(&a);
    const Ws__CountWorkersResponse *resp = a.response;
    return resp ? resp->count : -1;
}

static int describe_worker(struct rig *r, const char *key) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__DescribeWorkerRequest *req = MAKE(m, Ws__DescribeWorkerRequest, ws__describe_worker_request__init);
    req->namespace_ = make_text(m, "default");
    req->worker_instance_key = make_text(m, key);
    RIG_SEND(r, &a, describe_worker, req);
    return a.err.code;
}

TEST(a_silent_worker_is_forgotten) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    beat(&r, "a");
    beat(&r, "b");
    rig_advance(&r, 200 * USEC_PER_SEC);
    beat(&r, "b");
    CHECK_INT(count_in(&r, "default"), 2);
    rig_advance(&r, 101 * USEC_PER_SEC);
    CHECK_INT(count_in(&r, "default"), 1);
    CHECK_INT(describe_worker(&r, "a"), ERR_NOT_FOUND);
    CHECK_INT(describe_worker(&r, "b"), 0);
}

TEST(a_worker_belongs_to_its_namespace) {
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    beat(&r, "same");
    beat_as(&r, "other", "same", WORKER_STATUS_RUNNING);
    CHECK_INT(count_in(&r, "default"), 1);
    CHECK_INT(count_in(&r, "other"), 1);
    beat_as(&r, "other", "same", WORKER_STATUS_SHUTDOWN);
    CHECK_INT(count_in(&r, "default"), 1);
    CHECK_INT(count_in(&r, "other"), 0);
}

TEST(the_longest_silent_makes_room) {
    cleanup(rig_done) struct rig r;
    char key[32];
    rig_init(&r);
    for (int i = 0; i <= ENGINE_WORKERS; i++) {
        (void)snprintf(key, sizeof key, "worker-%d", i);
        beat(&r, key);
        if (i == 100)
            beat(&r, "worker-0"); /* heard again: no longer the first to go */
    }
    CHECK_INT(count_in(&r, "default"), ENGINE_WORKERS);
    CHECK_INT(describe_worker(&r, "worker-0"), 0);
    CHECK_INT(describe_worker(&r, "worker-1"), ERR_NOT_FOUND);
    CHECK_INT(describe_worker(&r, "worker-2"), 0);
}
