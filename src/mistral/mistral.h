/* Mistral's REST dialect for workflows and their schedules: /v1/workflows, in JSON.
 *
 * Each call is translated into requests of Temporal's API and answered by the
 * methods that gRPC and the HTTP API use. One struct belongs to one server.
 * Everything runs on the loop thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/rng.h"
#include "net/http1.h"

struct call;
struct cal_zones;
struct err;

/* The functions of the server. They outlive struct mistral. */
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
    const struct cal_zones *zones; /* knows the names of time zones; not owned */
    struct rng rng; /* for ids that the client did not choose */
    /* Each dialog is in one of these lists. */
    struct list waiting; /* for an answer of the server, or for the peer to take a piece of a stream */
    struct list ready; /* the server has answered */
    struct list ended; /* freed at the end of the loop turn */
    size_t stream_count;
};

void mistral_init(struct mistral *m, const struct mistral_server *server, const struct cal_zones *zones,
                  uint64_t seed);
/* Answers the request, in resp or later. Returns false, and does nothing, when the path is not one of the
 * dialect's. */
bool mistral_request(struct mistral *m, const struct http1_request *q, struct http1_response *resp);
/* Continues the dialogs that have an answer and frees ended dialogs. To be called at the end of each
 * loop turn. */
void mistral_sweep(struct mistral *m);
