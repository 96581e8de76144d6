/* HTTP/1.1 for servers: whole requests in, whole responses out.
 *
 * A thin layer over libevent's HTTP server. The handler answers before it
 * returns, or takes the request with http1_take() and answers later. Limits:
 * header and body size, a time for each read and write, and the number of
 * connections; beyond it new ones wait in the kernel's queue. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "host/loop.h"

struct budget;
struct http1_server;
struct http1_later;

/* One request. The slices are valid until the handler returns. */
struct http1_request {
    struct str method; /* "GET" */
    struct str path; /* without the query; still percent-encoded */
    struct str query; /* after '?', or empty */
    struct str host; /* the Host header, or empty */
    struct str body;
    struct http1_exchange *exchange; /* net's own */
};
struct str http1_header(const struct http1_request *q, const char *name); /* {NULL,0} when absent */
/* Of the answer, whenever it comes. False when the value has a line break or there is no memory. */
bool http1_add_header(const struct http1_request *q, const char *name, struct str value) must_check;

/* To be filled in by the handler; it starts as 200, JSON, with an empty body. */
struct http1_response {
    int status;
    const char *content_type; /* static text */
    const char *allow; /* for 405: the methods that would do; static text, or NULL */
    struct buf body; /* empty it is; freed by the caller */
};

void http1_response_init(struct http1_response *resp); /* the same, for one that is answered later */

struct http1_handler {
    void (*on_request)(void *ctx, const struct http1_request *q, struct http1_response *resp);
    void *ctx;
};

/* Whether one more call may wait for an event: LIMIT_HTTP_WAITING_MAX. For a handler that would otherwise
 * take the request for long; short calls need not ask. */
bool http1_can_wait(const struct http1_request *q);

/* For a handler that cannot answer yet: its response is not sent. Ends with http1_answer(),
 * or with on_gone(ctx) when the peer went away or the server is freed; after either it is gone. NULL when
 * memory is short; then the response is sent as always. At most once for each request. */
struct http1_later *http1_take(const struct http1_request *q, void (*on_gone)(void *ctx),
                               void *ctx) must_check;
void http1_answer(struct http1_later *l, struct http1_response *resp); /* frees the body */

/* An answer without an end in sight, in pieces, instead of http1_answer(). After http1_begin() each
 * http1_send() waits until its bytes have been handed to the kernel and then calls on_sent(ctx), from the
 * loop: a sender of one piece at a time holds one piece for a peer that reads slowly. A peer that takes
 * nothing for as long as any write may take is gone. http1_end() says that it is complete. The heartbeat is
 * static text that means nothing in this content type; it is sent to learn whether a peer that has closed its
 * side still reads. */
void http1_begin(struct http1_later *l, const char *content_type, struct str heartbeat,
                 void (*on_sent)(void *ctx));
void http1_send(struct http1_later *l, struct str bytes); /* not empty; not before the last was sent */
void http1_end(struct http1_later *l); /* l is gone */
/* It cannot be completed: the connection will end, as on_gone() will tell. */
void http1_break(struct http1_later *l);

/* Port 0 picks one. ERR_UNAVAILABLE with a text when it cannot listen there. */
int http1_server_new(struct loop *l, const char *ip, uint16_t port, const struct http1_handler *h,
                     struct http1_server **ret, struct err *reterr) must_check;
/* Counts the memory of peers in b instead of an account of its own. Before the first connection. */
void http1_server_share(struct http1_server *s, struct budget *b);
uint16_t http1_server_port(const struct http1_server *s);
size_t http1_server_connections(const struct http1_server *s);
size_t http1_server_waiting(const struct http1_server *s); /* requests that will be answered later */
/* Goes on answering; on_idle runs once, when no request waits and all that was answered has been sent. */
void http1_server_drain(struct http1_server *s, void (*on_idle)(void *ctx), void *ctx);
void http1_server_free(struct http1_server *s); /* closes all connections; NULL is fine */
