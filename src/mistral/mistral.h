/* Mistral's REST dialect for workflows and their schedules: /v1/workflows, in JSON.
 *
 * Calls are answered by the same methods as gRPC and Temporal's HTTP API; this
 * layer only says them in other words. One struct belongs to one server, and
 * everything runs on the loop thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"
#include "net/http1.h"

struct call;
struct cal_zones;
struct err;

/* What the server lends. */
struct mistral_server {
    /* Calls the method that takes this request. The call is ended exactly once, maybe before this returns. Its
     * answer lives in the arena of the call and has no tail. Returns the argument of cancel(), valid until the
     * end. */
    void *(*start)(void *ctx, struct call *c, const ProtobufCMessage *request);
    void (*cancel)(void *ctx, void *started); /* ends a call without an answer */
    bool (*is_draining)(void *ctx);
    void *ctx;
};

struct mistral {
    struct mistral_server server;
    const struct cal_zones *zones; /* for the names of time zones; not owned */
    struct rng rng; /* for ids that nobody chose */
    struct list waiting; /* for the server, or for a peer to take its piece */
    struct list ready; /* the server has answered */
    struct list ended; /* to be freed at the end of the turn */
    size_t stream_count;
};

void mistral_init(struct mistral *m, const struct mistral_server *server, const struct cal_zones *zones,
                  uint64_t seed);
/* Answers, now or later. False when the path is not one of the dialect's; then nothing was done. */
bool mistral_request(struct mistral *m, const struct http1_request *q, struct http1_response *resp);
/* At the end of a turn: goes on with what was answered, frees what is over. */
void mistral_sweep(struct mistral *m);
/* The i-th row of the table of routes; NULL past the end. */
const char *mistral_path_at(size_t i, const char **ret_verb);
