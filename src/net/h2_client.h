/* HTTP/2 for clients: many exchanges at once over one connection, in the clear.
 *
 *   struct h2_question q = {.path = STR("/pkg.Service/Method"), .body = body, .on_end = on_end, .ctx = me};
 *   rc = h2_client_ask(client, &q, &exchange);
 *
 * h2_client_new() only remembers the address. The first exchange connects; after
 * a connection ended, or the server announced its end (GOAWAY), the next one
 * connects again. Exchanges beyond the number of streams that the server allows
 * wait in line.
 *
 * An exchange ends exactly once: `on_end` runs on the loop thread, never inside
 * h2_client_ask(), or the caller cancelled it and hears nothing more. `on_end` may
 * ask again and cancel others, but not free the client. */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "host/loop.h"
#include "net/h2.h"

struct h2_client;
struct h2_exchange;

/* Valid until on_end returns; the body may be moved out. */
struct h2_answer {
    /* NULL: a whole response came. Otherwise ERR_UNAVAILABLE (no connection, or it ended),
     * ERR_DEADLINE, ERR_TOO_LARGE, ERR_NO_MEMORY, ERR_CANCELLED or ERR_INTERNAL (the server reset the
     * stream), with a text; the rest is what came before. */
    const struct err *err;
    bool is_unseen; /* the server did nothing for this request: asking again is safe */
    int status; /* 0: none came */
    const struct h2_header *headers; /* then trailers; without pseudo headers */
    size_t header_count;
    struct buf *body;
};

struct h2_question {
    struct str path;
    const struct h2_header *headers; /* copied */
    size_t header_count;
    struct buf body; /* moved when asking succeeds */
    int64_t timeout_us; /* 0: no timeout */
    void (*on_end)(void *ctx, const struct h2_answer *a);
    void *ctx;
};

/* "host:port" or "[v6]:port"; ERR_INVALID when it is neither. A name is looked up with each connection. */
int h2_client_new(struct loop *l, const char *address, struct h2_client **ret, struct err *reterr) must_check;
/* Closes the connection; exchanges that have not ended hear nothing. NULL is fine. */
void h2_client_free(struct h2_client *c);

/* ERR_NO_MEMORY; then nothing was taken. *ret is good until on_end or h2_client_cancel. */
int h2_client_ask(struct h2_client *c, struct h2_question *q, struct h2_exchange **ret) must_check;
void h2_client_cancel(struct h2_exchange *x);

/* The last header or trailer of that name; {NULL,0} when absent. */
struct str h2_answer_header(const struct h2_answer *a, const char *name);
