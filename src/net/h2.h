/* HTTP/2 for servers: whole requests in, whole responses out. Bytes only; what
 * they mean is the business of serve.
 *
 * A request is handed to `on_request` when its body is complete, when the body
 * passed body_bytes_max (is_oversize; the body holds what came so far), or
 * never, if the peer gave up first. From then on it waits for h2_respond(),
 * which may come at once or a minute later, after any number of parts (h2_respond_part). If the peer resets
 * the stream or the connection dies while a request waits, `on_cancel` runs; the request is then dead and
 * h2_respond() must not be called. If a response had been given but could not be handed to the peer's socket
 * completely, `on_lost` runs instead, once. Exactly one of: response sent, on_cancel, on_lost.
 *
 * A request for one of the handler's `streams` does not wait for its end: `on_request` gets it with the first
 * bytes of its body, and `on_more` whenever more of it has come or its end (is_complete), until it is
 * answered. The handler takes bytes away with h2_consume(), best one message at a time: if some are left,
 * `on_more` runs again when it is this connection's turn and its peer has read the bytes sent to it. Bytes
 * that are left stay in front of new ones. A message must fit into LIMIT_STREAM_WINDOW_BYTES: no more is
 * taken in before it is consumed.
 *
 * Limits (net/limits.def) protect the process; breaking one closes the
 * connection with GOAWAY ENHANCE_YOUR_CALM and is logged. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "host/loop.h"

struct budget;
struct h2_server;
struct h2_conn;

struct h2_header {
    struct str name; /* lower case */
    struct str value;
};

struct h2_request {
    struct h2_conn *conn;
    int32_t stream_id;
    struct arena arena; /* holds the headers; the handler may allocate here too; freed with the request */
    struct str method; /* ":method" */
    struct str path; /* ":path" */
    struct h2_header *headers; /* the headers that the handler reads, without pseudo headers */
    size_t header_count;
    struct buf body;
    bool is_oversize;
    bool is_complete; /* the peer has said all */
    void *user; /* for the handler */
    /* The rest is net's own. */
    struct h2_request_state *state;
};

struct h2_handler {
    void (*on_request)(void *ctx, struct h2_request *r);
    void (*on_cancel)(void *ctx, struct h2_request *r); /* drop every reference to r */
    void (*on_lost)(void *ctx, struct h2_request *r); /* the response never left; drop r */
    void (*on_sent)(void *ctx, struct h2_request *r); /* the response is with the kernel; drop r */
    void *ctx;
    /* The names of the headers that it reads, ended by NULL. Others are not kept. NULL keeps all. */
    const char *const *headers;
    void (*on_more)(void *ctx, struct h2_request *r); /* NULL when there are no streams */
    const char *const *streams; /* paths, ended by NULL; NULL for none */
};

struct h2_response {
    int status; /* HTTP status, 200 for gRPC */
    const struct h2_header *headers;
    size_t header_count;
    struct buf body; /* moved into the response; may be empty */
    const struct h2_header *trailers; /* copied; with an empty body they go into the first HEADERS frame */
    size_t trailer_count;
};

/* Listens on "host:port" (port 0 picks one). ERR_UNAVAILABLE with a text when it cannot. */
int h2_server_new(struct loop *l, const char *address, const struct h2_handler *h, struct log *log,
                  struct h2_server **ret, struct err *reterr) must_check;
/* Counts the memory of peers in b instead of an account of its own. Before the first connection. */
void h2_server_share(struct h2_server *s, struct budget *b);
uint16_t h2_server_port(const struct h2_server *s);

/* The present state, for a report on request: walks over all connections. */
struct h2_state {
    size_t connections;
    size_t requests; /* streams, of which */
    size_t receiving; /* these are not complete, */
    size_t responding; /* and of these a part of the answer has not been sent */
    size_t body_bytes, response_bytes;
};
void h2_server_look(const struct h2_server *s, struct h2_state *ret);
/* GOAWAY on every connection, no new ones; requests that are not complete are refused; on_idle runs once all
 * others have been answered. */
void h2_server_drain(struct h2_server *s, void (*on_idle)(void *ctx), void *ctx);
void h2_server_free(struct h2_server *s); /* closes the connections that are left */

/* Takes what r points to, including the body of the response; r is gone after on_sent or on_lost. */
void h2_respond(struct h2_request *r, struct h2_response *resp);
/* A piece of a response that goes on: sent now; the request still waits for h2_respond(). Status and headers
 * are those of the first one, trailers those of h2_respond(). The body is moved and must not be empty. */
void h2_respond_part(struct h2_request *r, struct h2_response *part);
/* Optional: the body is decoded and the answer may take long. Frees it, so that others need not wait for the
 * answer before they may send theirs; they may be what it waits for. Its bytes count for the connection's
 * window until the end, because what they unfolded to is still there. */
void h2_park(struct h2_request *r);
/* Optional: the answer may have so many bytes. The next requests of the connection wait as if they were
 * already there to be read. A later call replaces the number; h2_respond() ends it. */
void h2_expect(struct h2_request *r, size_t bytes);
/* Takes the first n bytes of the body of a stream away; the peer may send as many more. */
void h2_consume(struct h2_request *r, size_t n);
struct str h2_request_header(const struct h2_request *r, const char *name); /* {NULL,0} when absent */
