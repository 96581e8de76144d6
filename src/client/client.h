/* gRPC calls of the API, from the client's side: a message in, a message or a status out.
 *
 *   Ws__CountWorkflowExecutionsRequest q = WS__COUNT_WORKFLOW_EXECUTIONS_REQUEST__INIT;
 *   struct client_ask ask = {.method = CALL_CountWorkflowExecutions, .request = &q.base,
 *                            .timeout_us = 10 * USEC_PER_SEC, .on_reply = counted, .ctx = me};
 *   rc = client_call(client, &ask, &call);
 *
 * Many calls can run at the same time; they share one connection (net/h2_client.h). A call ends exactly once:
 * with `on_reply`, on the loop thread and never inside client_call(), or because it was cancelled. `on_reply`
 * may make calls, but must not free the client. All functions run on the loop thread. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/err.h"
#include "base/str.h"
#include "host/loop.h"
#include "net/h2.h"
#include "wire/grpc.h"

struct client;
struct client_call;

enum client_method {
#define RPC(service, name, type, kind, access, bytes_max, handler) CALL_##name,
#include "wire/methods.def"
#undef RPC
    CALL_COUNT,
};

/* Valid until on_reply returns. */
struct client_reply {
    enum grpc_code code;
    const char *text; /* grpc-message, or an error of this side; never NULL */
    struct str details; /* packed google.rpc.Status, when the server sent one */
    bool is_unseen; /* the server has not processed the call: repeating it is safe */
    const ProtobufCMessage *message; /* of the method's response type; NULL unless code is GRPC_OK */
};

struct client_ask {
    enum client_method method;
    const ProtobufCMessage *request; /* of the method's request type; packed before client_call() returns */
    int64_t timeout_us; /* 0: no limit */
    const struct h2_header *metadata; /* lower-case names; copied */
    size_t metadata_count;
    void (*on_reply)(void *ctx, const struct client_reply *r);
    void *ctx;
};

/* Makes a client for "host:port". It connects with the first call. ERR_INVALID, ERR_NO_MEMORY. */
int client_new(struct loop *l, const char *address, struct client **ret, struct err *reterr) must_check;
void client_free(struct client *c); /* drops running calls without a callback; NULL is fine */

/* Starts a call. ERR_NO_MEMORY, ERR_TOO_LARGE; on_reply is not called then. ret may be NULL for a call that
 * is never cancelled. */
int client_call(struct client *c, const struct client_ask *ask, struct client_call **ret) must_check;
/* Ends a running call; its on_reply is not called. */
void client_cancel(struct client_call *call);
/* Makes a call and turns the loop until it has ended; on_reply has run by then. For programs that make one
 * call at a time. Errors as client_call, and those of loop_run. */
int client_call_wait(struct client *c, const struct client_ask *ask) must_check;

const char *client_method_name(enum client_method m); /* "CountWorkflowExecutions" */
