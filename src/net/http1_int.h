/* Shared by the files of the HTTP/1.1 server. Only src/net includes this.
 *
 *   http1.c          the listener, the connections, requests and their answers
 *   http1_later.c    requests that are answered later, or in pieces
 *   http1_framing.c  whether the headers leave no doubt where a request ends */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include "base/list.h"
#include "net/budget.h"
#include "net/http1.h"
#include "net/limits.h"

/* One connection. */
struct place {
    struct list link; /* in http1_server.places */
    struct http1_server *server;
    struct bufferevent *connection;
    struct http1_later *later; /* of the request that waits */
    struct evhttp_request *ready; /* whole, but the loop turn had no time for it; evhttp reads no further */
    struct list turn_link; /* in http1_server.turns while there is one */
    int64_t since_us; /* when it was taken, or asked the last time */
    size_t received; /* counted since the last request */
    struct holder holder;
};

struct http1_server {
    struct loop *loop;
    struct evhttp *http;
    struct evconnlistener *listener; /* owned by http */
    struct http1_handler handler;
    struct timer *sweep_timer; /* runs while there are connections, and while it drains */
    struct event *knock; /* begins the sweeps */
    struct list places;
    size_t place_count, place_max;
    uint16_t port;
    struct list waiting; /* http1_later.link */
    size_t waiting_count;
    struct list turns; /* place.turn_link, the next one first */
    struct event *turn_event; /* goes on with them in the next loop turn */
    void (*on_idle)(void *ctx); /* while it drains */
    void *idle_ctx;
    struct budget *budget;
    struct budget own_budget; /* when it shares none */
};

/* One request while its handler runs. */
struct http1_exchange {
    struct http1_server *server;
    struct place *place;
    struct evhttp_request *req;
    size_t body_bytes;
    bool is_taken;
};

struct http1_later {
    struct list link;
    struct http1_server *server;
    struct place *place;
    struct evhttp_request *req; /* ours to answer, evhttp's to free */
    struct event *watch; /* for bytes or the end of the connection */
    size_t held; /* counted for the place */
    void (*on_gone)(void *ctx);
    void *ctx;
    void (*on_sent)(void *ctx); /* of an answer in pieces */
    struct str heartbeat; /* of an answer in pieces */
    int64_t half_closed_us; /* when the peer closed its side; it may still read. 0: it has not */
    int64_t probe_us; /* when it is sent something next, to learn whether it reads */
    bool has_begun; /* an answer in pieces */
    bool is_sending; /* a piece is not with the kernel yet */
    bool is_broken; /* ends in the next turn */
};

/* http1.c */
void http1_send_response(struct evhttp_request *req, struct http1_response *resp);
/* evhttp reads while it sends, and takes the end of input for the end of the peer. */
void http1_stop_reading(struct bufferevent *connection);
/* http1_later.c: those whose peer has closed its side; asks whether it still reads. */
void http1_sweep_half_closed(struct http1_server *s);
void http1_leave_waiting(struct http1_server *s); /* the server is freed: on_gone() for each */
/* http1_framing.c: NULL, or the text of the error. */
const char *http1_framing_fault(struct evhttp_request *req);
/* The request has a body that evhttp does not read. */
bool http1_has_unread_body(struct evhttp_request *req);
