/* Ingress: the one way in for calls of methods, over every protocol.
 *
 * dispatch.c (gRPC), api.c (Temporal's HTTP API) and bridge.c (Mistral's
 * dialect) are translators: they turn bytes into a request message and the
 * answer back into bytes. Ingress does the rest for all of them. It finds the
 * method, moves the engine's clock, sets the deadline, runs the handler, ends
 * the call exactly once, counts and logs the end, and gives the tasks of
 * answers that were not delivered back to the engine.
 *
 * A call goes through these functions:
 *
 *   ingress_find()          the method of a path, while the server takes calls
 *   ingress_begin()         the call exists; from here on it is counted
 *   ingress_set_timeout()   if the protocol names a timeout
 *   ingress_check_size()    unless the translator has limited the bytes
 *   ingress_run()           the handler runs and ends the call, now or later
 *
 * and ends in one of these ways:
 *
 *   call_reply()            translator: translate(), then send()
 *   call_fail()             translator: fail()
 *   ingress_cancel()        the caller is gone; no answer
 *   ingress_end_stream()    the caller of a METHOD_DUPLEX has sent its last request
 *
 * One ingress belongs to one server. Every function runs on the loop thread. */
#pragma once

#include "base/list.h"
#include "base/log.h"
#include "engine/call.h"
#include "serve/methods.h"
#include "serve/traffic.h"

struct engine;
struct loop;
struct ingress_call;

/* The protocol that a call came over. */
enum ingress_origin { INGRESS_GRPC, INGRESS_HTTP, INGRESS_MISTRAL };

/* The part of the server that the handlers of methods see. */
struct method_context {
    struct engine *engine; /* not owned; NULL before it is open and after it is freed */
    const char *store_name; /* "sqlite" or "memory": what GetClusterInfo reports */
    bool is_draining; /* the server is stopping */
};

struct ingress {
    struct method_context context;
    struct log *log; /* not owned */
    struct loop *loop; /* not owned; set by the server when the loop is there */
    struct methods methods;
    struct traffic traffic;
    struct list lost_tasks; /* tokens, until the end of the loop turn */
    struct list watches; /* ingress_call.watch of calls that end when the server stops */
};

/* How a protocol answers. Each function gets a call that it began. */
struct ingress_translator {
    enum ingress_origin origin;
    /* Makes the bytes of the answer: message, then `tail`, packed fields of the same message. The call has
     * not ended yet. An error ends the call with fail(); the tasks in the answer go back. */
    int (*translate)(struct ingress_call *k, const ProtobufCMessage *m, struct str tail, struct err *reterr);
    /* Sends the bytes of translate(). The call has ended; its memory may be freed here. */
    void (*send)(struct ingress_call *k);
    /* Sends an error. The call has ended; its memory may be freed here. */
    void (*fail)(struct ingress_call *k, const struct err *e);
    /* May be NULL. Sends one of several answers; the call goes on. */
    int (*send_part)(struct ingress_call *k, const ProtobufCMessage *m, struct err *reterr);
    /* May be NULL. See call_ops.expect. */
    void (*expect)(struct ingress_call *k, size_t bytes);
};

/* One call. Embedded in the translator's own struct, which lives at least until send(), fail(),
 * ingress_cancel() or ingress_end_stream(). */
struct ingress_call {
    struct call call; /* what handlers and engine see */
    struct ingress *ingress;
    const struct ingress_translator *translator;
    const struct method *method;
    struct mono begin;
    bool is_ended;
    struct list watch; /* in ingress.watches, or not linked */
    void (*on_drain)(struct call *c);
};

int ingress_init(struct ingress *in, struct log *log, const char *store_name,
                 uint64_t seed) must_check; /* ERR_NO_MEMORY */
void ingress_done(struct ingress *in);

/* Whether calls of this origin are refused: the engine is not there, or the server is stopping. gRPC clients
 * learn of a stop by GOAWAY, so the gRPC calls that still arrive are served. */
bool ingress_is_closed(const struct ingress *in, enum ingress_origin origin);
/* The method at a gRPC path. ERR_UNAVAILABLE when closed, ERR_UNIMPLEMENTED when there is no such method. */
int ingress_find(const struct ingress *in, enum ingress_origin origin, struct str path,
                 const struct method **ret, struct err *reterr) must_check;

/* Begins a call: initializes *k, without a deadline. Request and answer of the handler use the arena, which
 * must live as long as the call. */
void ingress_begin(struct ingress *in, struct ingress_call *k, const struct ingress_translator *translator,
                   const struct method *method, struct arena *arena);
/* Sets the deadline from the text of a grpc-timeout header; .p is NULL when there is none. A METHOD_POLL
 * without a timeout gets 60 s. ERR_INVALID when it is malformed, ERR_DEADLINE when it is over. */
int ingress_set_timeout(struct ingress_call *k, struct str timeout, struct err *reterr) must_check;
/* ERR_INVALID when the packed request is larger than the method allows. */
int ingress_check_size(const struct ingress_call *k, const ProtobufCMessage *request,
                       struct err *reterr) must_check;
/* Runs the handler. The call may have ended, and k be gone, when this returns. Of a METHOD_DUPLEX: once for
 * each request. */
void ingress_run(struct ingress_call *k, const ProtobufCMessage *request);

/* The caller is gone: ends the call without an answer, as CANCELLED. Nothing happens if it has ended. */
void ingress_cancel(struct ingress_call *k);
/* Takes the call back from the engine and fails it. */
void ingress_abort(struct ingress_call *k, const struct err *e);
/* Ends a METHOD_DUPLEX whose caller has sent all its requests. The translator then ends the response. */
void ingress_end_stream(struct ingress_call *k);
/* The answer was sent but did not reach the caller: its tasks go back. */
void ingress_return_tasks(struct ingress_call *k);

/* For handlers with several answers: sends one; call_fail() ends the call. False when it could not be sent;
 * then the call has failed. Only for methods that no other protocol than gRPC offers. */
bool ingress_send_part(struct call *c, const ProtobufCMessage *m) must_check;
/* For handlers: on_drain(c) runs when the server begins to stop, and ends the call. */
void ingress_watch(struct call *c, void (*on_drain)(struct call *c));

/* The server begins to stop. */
void ingress_drain(struct ingress *in);
/* Gives the tasks of undelivered answers to the engine. Called at the end of a loop turn, because an answer
 * can get lost while the engine is handing out other tasks. */
void ingress_flush_lost(struct ingress *in);
