/* One call from a client or a worker, over a network that delays and loses.
 *
 * Make it with rpc_new(), put a request into its arena, rpc_send(). `ended`
 * runs exactly once, from the agenda, never inside the engine; afterwards the
 * call is freed. rpc_drop() forgets a call early: the caller went away. */
#pragma once

#include "base/buf.h"
#include "engine/call.h"
#include "world.h"

enum rpc_kind {
#define CALL(name) RPC_##name,
#include "calls.def"
#undef CALL
    RPC_KIND_COUNT,
};

enum rpc_outcome {
    RPC_OPEN,
    RPC_OK,
    RPC_FAILED, /* the server said no; see err */
    RPC_UNKNOWN, /* it may have happened, or not */
};

/* What the call is about, for the checkers. */
struct rpc_subject {
    struct run_model *run; /* NULL: by workflow id only */
    struct request_model *request; /* start, signal */
    const char *workflow_id;
    uint32_t activity; /* number of the activity */
    int32_t attempt;
    int64_t started_event_id; /* of the workflow task that is answered */
    int64_t provisional_id; /* history: the first event that may still change, 0 if none may */
    size_t known_events; /* of the run, when the call was sent */
    uint32_t known_signals; /* acknowledged, when the call was sent */
    char result[32];
    uint64_t beat; /* number of the heartbeat */
    bool by_chain; /* named by its first run: the current run is meant */
    bool is_bad; /* wrong on purpose */
    int64_t sent_wall_us;
};

struct rpc {
    struct call call;
    struct arena arena;
    struct world *w;
    enum rpc_kind kind;
    const void *request;
    struct rpc_subject subject;
    void *owner;
    void (*ended)(struct rpc *r);
    enum rpc_outcome outcome;
    struct err err;
    struct buf reply; /* the packed answer */
    ProtobufCMessage *response; /* the same, decoded into the arena; NULL unless RPC_OK */
    uint32_t epoch; /* which process took it */
    int64_t sent_us;
    struct list link;
    struct happening delivery;
    struct happening give_up;
};

const char *rpc_name(enum rpc_kind k);
struct rpc *rpc_new(struct world *w, enum rpc_kind kind, void *owner, void (*ended)(struct rpc *r));
/* timeout_us: CLOCK_NEVER sends no deadline, and the server must bound the call itself. */
void rpc_send(struct rpc *r, const void *request, int64_t timeout_us);
void rpc_drop(struct rpc *r);
/* The process that held the call is gone. */
void rpc_cut(struct rpc *r);
