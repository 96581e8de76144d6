/* What the tests of the engine share: an engine on the simulator's store, and calls to it.
 *
 *   cleanup(ask_done) struct ask a = {0};
 *   cleanup(rig_done) struct rig r; (last: it goes first, and ends the calls that are still open)
 *   rig_init(&r);
 *   rig_start(&r, &a, "wf");
 *   CHECK_OK(&a);
 *
 * After each call the rig flushes until nothing is uncommitted; a manual rig only hands the batch
 * over, and the test commits it or answers its reads. A rig can also be on a real store (rig_init_on). A
 * call, its request and its arena are freed the moment the engine ends it, so that whoever touches them later
 * is seen; the answer is kept in the struct ask. An ask can be used again for the next call. */
#pragma once

#include "core/step/pb.h"
#include "engine/engine.h"
#include "harness.h"
#include "names.h"
#include "state.pb-c.h"
#include "store/mem/mem_store.h"

#define RIG_T0 (INT64_C(1700000000) * USEC_PER_SEC)

struct wire_call;

struct ask {
    struct wire_call *wire; /* NULL: not sent, or ended */
    bool is_done;
    struct err err; /* code 0: answered */
    struct arena kept; /* the answer */
    const void *response; /* of the type that belongs to the call; NULL unless answered */
    Failure__Failure *failure; /* of a failed query */
    struct carried *carried; /* the tasks in the answer */
    bool is_used;
};

struct rig {
    struct mem_disk *disk;
    struct store *store;
    struct engine *engine;
    struct now now;
    uint64_t seed;
    size_t resident_runs_max;
    size_t queue_tasks_max; /* of one priority, in memory; 0: as usual */
    size_t parked_max; /* calls that may wait; 0: as usual */
    struct core_limits limits;
    struct log *log; /* of the next boot; NULL: none */
    void (*wait)(
        void *ctx); /* for a store of the test's own: sleeps until it has something to say, and hears it */
    void *wait_ctx;
    bool is_manual;
    bool is_ready;
    int fatal_count;
};

void rig_init(struct rig *r);
void rig_init_limited(struct rig *r, enum settable limit, int64_t value); /* with one limit set */
void rig_init_manual(struct rig *r); /* ready, with its namespaces committed */
/* On a store that is the rig's from now on. It need not come up: see is_ready. */
void rig_init_on(struct rig *r, struct store *s, struct now now, void (*wait)(void *ctx), void *wait_ctx);
void rig_done(struct rig *r);
void rig_restart(struct rig *r); /* the process dies and comes back on the same disk */
void rig_stop(struct rig *r); /* crash without coming back; open calls are failed */
void rig_boot(struct rig *r);
void rig_turn(struct rig *r); /* the end of a loop turn */
void rig_advance(struct rig *r, int64_t us); /* both clocks */
void rig_sweep(struct rig *r); /* the first look for what retention removes is over */
void rig_commit(struct rig *r); /* manual: the batch that waits is on disk now; then a turn */
void rig_read(struct rig *r); /* manual: the oldest read that waits is answered; then a turn */
void rig_settle(struct rig *r); /* manual: commits and answers until nothing waits */

/* calls */

void ask_done(struct ask *a);
/* Begins a call without a deadline; requests are made in its arena. */
struct arena *ask_begin(struct rig *r, struct ask *a);
struct call *ask_call(struct ask *a);
void ask_cancel(struct rig *r, struct ask *a); /* the caller gives up */
void ask_lose(struct rig *r, struct ask *a); /* the answer does not reach the caller */
#define RIG_SEND(r, a, snake, req)                                                                           \
    do {                                                                                                     \
        const void *req_ = (req); /* this may be what begins the call */                                     \
        engine_call((r)->engine, ask_call(a), rpc_##snake, req_);                                            \
        rig_turn(r);                                                                                         \
    } while (0)

#define CHECK_OK(a) (void)(CHECK((a)->is_done), CHECK_STR((a)->err.text, ""), CHECK_INT((a)->err.code, 0))
#define CHECK_FAILS(a, want_code, want_text)                                                                 \
    (void)(CHECK((a)->is_done), CHECK_INT((a)->err.code, (want_code)), CHECK_STR((a)->err.text, (want_text)))

/* A message of this kind in the arena of a begun call. */
#define MAKE(arena, Type, init)                                                                              \
    __extension__({                                                                                          \
        Type *made_ = arena_new((arena), Type);                                                              \
        ensure(made_);                                                                                       \
        init(made_);                                                                                         \
        made_;                                                                                               \
    })
char *make_text(struct arena *a, const char *text);
char *make_long_text(struct arena *a, size_t len);
Google__Protobuf__Duration *make_duration(struct arena *a, int64_t us);
Common__WorkflowExecution *make_execution(struct arena *a, const char *workflow_id, const char *run_id);
Taskqueue__TaskQueue *make_queue(struct arena *a, const char *name);
Common__Payloads *make_payloads(struct arena *a, const char *text);
ProtobufCBinaryData make_bytes(struct arena *a, ProtobufCBinaryData from);
Command__Command *make_timer(struct arena *a, const char *id, int64_t us);
Command__Command *make_activity(struct arena *a, const char *id); /* on "queue", 10 s start-to-close */
Command__Command *make_complete(struct arena *a);
Command__Command *make_marker(struct arena *a, size_t bytes);

/* Requests with the usual fields filled in, for tests that change some. Each begins the call. */
Ws__StartWorkflowExecutionRequest *ask_start(struct rig *r, struct ask *a, const char *workflow_id);
Ws__PollWorkflowTaskQueueRequest *ask_poll(struct rig *r, struct ask *a, const char *queue);
Ws__GetWorkflowExecutionHistoryRequest *ask_history(struct rig *r, struct ask *a, const char *workflow_id);
Ws__QueryWorkflowRequest *ask_query(struct rig *r, struct ask *a, const char *workflow_id);
/* The answer to the task in `poll`, which must have one. */
Ws__RespondWorkflowTaskCompletedRequest *ask_completion(struct rig *r, struct ask *a, const struct ask *poll);
void add_command(struct ask *a, Ws__RespondWorkflowTaskCompletedRequest *req, Command__Command *cmd);
void add_sticky(struct ask *a, Ws__RespondWorkflowTaskCompletedRequest *req, const char *queue);
struct arena *ask_arena(struct ask *a);

/* The usual calls, sent. */
void rig_start(struct rig *r, struct ask *a, const char *workflow_id);
void rig_signal(struct rig *r, struct ask *a, const char *workflow_id, const char *request_id);
void rig_cancel(struct rig *r, struct ask *a, const char *workflow_id);
void rig_terminate(struct rig *r, struct ask *a, const char *workflow_id);
void rig_describe(struct rig *r, struct ask *a, const char *workflow_id);
void rig_history(struct rig *r, struct ask *a, const char *workflow_id);
void rig_poll(struct rig *r, struct ask *a, const char *queue);
void rig_poll_sticky(struct rig *r, struct ask *a, const char *queue);
void rig_poll_activity(struct rig *r, struct ask *a);
void rig_complete(struct rig *r, struct ask *a, const struct ask *poll); /* without a command */
void rig_finish(struct rig *r, struct ask *a, const struct ask *poll); /* closes the run */
void rig_complete_sticky(struct rig *r, struct ask *a, const struct ask *poll, const char *queue);
void rig_fail_task(struct rig *r, struct ask *a, const struct ask *poll);
void rig_complete_activity(struct rig *r, struct ask *a, const struct ask *poll);
void rig_query(struct rig *r, struct ask *a, const char *workflow_id);
void rig_answer_query(struct rig *r, struct ask *a, const struct ask *poll, const char *result);

/* looking at answers */

struct str ask_token(const struct ask *a); /* of the task in a poll's answer; empty when it has none */
const char *ask_events(struct ask *a); /* the history in the answer, as text (event_text.h) */
