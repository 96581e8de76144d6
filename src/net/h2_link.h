/* Shared by the files of the HTTP/2 client. Only src/net includes this.
 *
 *   h2_client.c   the client: which connection to use, deadlines, telling how an exchange ended
 *   h2_link.c     one connection: socket, nghttp2 session, the exchanges on it
 *
 * An exchange lives in its link's `open` list until nghttp2 has forgotten its stream, even when its
 * caller heard the end before (deadline, cancel); then in the client's `ended` list until the caller
 * heard it. Callers are told by client_settle() and client_expire() only, never inside nghttp2. */
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <nghttp2/nghttp2.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/mem.h"
#include "net/h2_client.h"
#include "net/limits.h"
#include "net/socket.h"

struct addrinfo;

struct h2_exchange {
    struct h2_client *client;
    struct h2_link *link; /* NULL once it is in `ended` */
    struct list node;
    struct event deadline;
    void (*on_end)(void *ctx, const struct h2_answer *a); /* NULL: the caller has dropped the exchange */
    void *ctx;
    int32_t stream_id;
    int rc; /* how it ended */
    uint32_t reset_code;
    bool is_whole; /* the response's last frame came */
    bool is_unseen;

    struct buf request;
    size_t request_sent;
    struct arena arena; /* response headers */
    struct h2_header *headers;
    size_t header_count;
    size_t header_capacity;
    size_t header_bytes;
    int status;
    struct buf body;
};

struct h2_link {
    struct h2_client *client;
    struct list node; /* in client->links */
    struct list dirty_node; /* in client->dirty while something waits to be sent */
    int fd;
    nghttp2_session *session;
    struct event read_event;
    struct event write_event;
    struct addrinfo *addresses; /* while connecting: all that the name means */
    const struct addrinfo *next_address;
    bool is_connected;
    bool is_broken; /* out of memory inside nghttp2; ends at the next flush */
    struct buf pending; /* bytes that the socket did not accept */
    struct list open; /* h2_exchange.node */
};

struct h2_client {
    struct loop *loop;
    char address[ADDRESS_TEXT_MAX];
    struct list links;
    struct h2_link *current; /* takes new exchanges; NULL: none does */
    struct list dirty;
    struct list ended; /* h2_exchange.node */
    struct event flush_event;
    struct err lost; /* why the last connection ended */
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    uint8_t *read_space;
    uint8_t *write_space;
};

/* h2_client.c */
void client_wake(struct h2_client *c); /* flush and settle at the end of this loop turn */
void client_mark_dirty(struct h2_client *c, struct h2_link *l);
void exchange_free(struct h2_exchange *x);
/* Its stream is gone: reports the end, or frees it when the caller has dropped it. */
void exchange_ended(struct h2_exchange *x, int rc);

/* h2_link.c */
int link_callbacks_new(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option) must_check;
int link_new(struct h2_client *c, struct h2_link **ret) must_check;
void link_free(struct h2_link *l); /* open exchanges end with client->lost */
int link_submit(struct h2_link *l, struct h2_exchange *x, const struct h2_question *q) must_check;
void link_reset(struct h2_link *l, struct h2_exchange *x);
void link_flush(struct h2_link *l); /* may free l */
