/* HTTP/1.1 for servers: whole requests in, whole responses out.
 *
 * A thin layer over libevent's HTTP server. The handler answers before it
 * returns. Limits: header and body size, a time for each read and write, and
 * the number of connections; beyond it new ones wait in the kernel's queue. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "host/loop.h"

struct http1_server;

/* What was asked. The slices are valid until the handler returns. */
struct http1_request {
    struct str method; /* "GET" */
    struct str path; /* without the query; still percent-encoded */
    struct str query; /* after '?', or empty */
    struct str host; /* the Host header, or empty */
    struct str body;
};

/* To be filled in by the handler; it starts as 200 with an empty body. */
struct http1_response {
    int status;
    const char *content_type; /* static text */
    const char *allow; /* for 405: the methods that would do; static text, or NULL */
    struct buf body; /* empty it is; freed by the caller */
};

struct http1_handler {
    void (*on_request)(void *ctx, const struct http1_request *q, struct http1_response *resp);
    void *ctx;
};

/* Port 0 picks one. ERR_UNAVAILABLE with a text when it cannot listen there. */
int http1_server_new(struct loop *l, const char *ip, uint16_t port, const struct http1_handler *h,
                     struct http1_server **ret, struct err *reterr) must_check;
uint16_t http1_server_port(const struct http1_server *s);
void http1_server_free(struct http1_server *s); /* closes all connections; NULL is fine */
