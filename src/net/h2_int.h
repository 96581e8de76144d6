/* Shared by the files of the HTTP/2 server. Only src/net includes this.
 *
 *   h2_server.c   the listener, the set of connections, time limits, drain
 *   h2_conn.c     one socket: reading, writing, the end of a connection
 *   h2_session.c  nghttp2's callbacks, and the checks for abuse by a peer
 *   h2_stream.c   one request: body, dispatch, response, outcome
 *
 * Connections take turns: each hands on requests for CONN_TURN_US, or one that takes longer, until all have
 * used up the time of the loop turn. So a connection with many requests, or with slow ones, delays another
 * one by about one request. A connection that waits for its turn is not read; the kernel holds its input, and
 * then its peer.
 *
 * A stream of messages (h2_handler.streams) is READY with its first bytes; while it is WAITING, what comes is
 * news for the handler and brings it back into the list `ready`.
 *
 * Three rules keep lifetimes simple. Handlers are called from conn_settle() and
 * conn_dispatch() only, never inside nghttp2 and never inside h2_respond().
 * Bytes leave in conn_flush() only, which runs at the end of a loop turn for
 * every connection on the server's dirty list. A connection is freed in
 * conn_free() only, which none of nghttp2's callbacks can reach. */
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <nghttp2/nghttp2.h>

#include "base/list.h"
#include "base/mem.h"
#include "net/bucket.h"
#include "net/budget.h"
#include "net/h2.h"
#include "net/limits.h"
#include "net/socket.h"

#define PEER_TEXT_MAX 64

struct evconnlistener;

/* RECEIVING -> READY -> WAITING -> RESPONDING -> FLUSHING, each step once, none skipped but the
 * first two by a request that net answers itself. */
enum request_phase {
    REQUEST_RECEIVING, /* headers or body are still coming */
    REQUEST_READY, /* complete, not yet given to the handler */
    REQUEST_WAITING, /* with the handler */
    REQUEST_RESPONDING, /* answered, and part of the answer is still with nghttp2 */
    REQUEST_FLUSHING, /* all of the answer is behind `mark` in the connection's output */
};

/* One request and its stream. Owned by its connection, in exactly one of its lists. */
struct h2_request_state {
    struct h2_request req; /* the part that the handler sees */
    struct list link;
    enum request_phase phase;
    bool is_dispatched; /* the handler knows it and must hear the end */
    bool is_closed; /* nghttp2 has forgotten the stream */
    bool is_remote_done;
    bool is_response_whole; /* its last frame has left nghttp2 */
    bool has_headers; /* all of them; later ones are trailers, which are counted and dropped */
    bool is_header_overflow;
    bool is_refused; /* we reset it; what still comes is dropped */
    bool is_stream; /* the handler gets it before its end, and then piece by piece */
    bool has_consumed; /* it took something away since it was called */

    size_t header_capacity;
    size_t header_bytes;
    int64_t active_us; /* when the last piece came */

    size_t held; /* counted for the connection's holder: all that this request costs */
    size_t body_held; /* counted against the connection */
    size_t ungranted; /* body bytes for which the stream got no new window */
    bool is_wide;
    struct list starved_link;

    size_t expected; /* bytes of the answer that is being made */
    struct buf response;
    size_t response_sent;
    bool has_parts; /* the response has begun, with a part of it */
    bool is_unfinished; /* more will come */
    nghttp2_nv *trailers;
    size_t trailer_count;
    uint64_t mark;
};

enum drain_step { DRAIN_NONE, DRAIN_NOTICED, DRAIN_FINAL };

struct h2_conn {
    struct h2_server *server;
    struct list link; /* in server->conns */
    struct list dirty_link; /* in server->dirty while something waits to be sent */
    struct list turn_link; /* in server->turns while requests wait to be given to the handler */
    int fd;
    nghttp2_session *session;
    struct event read_event;
    struct event write_event;
    char peer[PEER_TEXT_MAX];
    struct holder holder;

    struct buf pending; /* bytes that the socket did not accept; empty most of the time */
    uint64_t pulled; /* bytes taken from nghttp2 since the start */
    uint64_t written; /* bytes taken by the kernel since the start */

    struct list receiving; /* least recently active first */
    struct list ready; /* READY, and streams that are WAITING and have news */
    struct list open; /* WAITING and RESPONDING */
    struct list just_whole; /* complete in nghttp2 during this pull; their mark comes next */
    struct list flushing; /* by mark */
    struct list ended; /* stream gone before the answer was; the handler will be told */
    struct list starved; /* streams that wait for window, through starved_link */
    struct h2_request_state *favoured; /* the one that may exceed CONN_BODY_BYTES */
    size_t request_count; /* in all lists */
    size_t responding_count;
    size_t body_bytes;
    size_t response_bytes;
    size_t expected_bytes; /* of answers that are being made */
    size_t answered_held; /* by requests that are answered: what was read for them, and the answers */
    size_t wide_count;

    struct bucket glitches;
    struct bucket resets;
    struct bucket ignored;
    int64_t useful_bytes; /* of the current read: headers and bodies */
    const char *abuse; /* which limit was broken, once one was */

    int64_t opened_us;
    int64_t read_us; /* last byte in */
    int64_t progress_us; /* last byte out, or when the first answer began to wait */
    int64_t headers_us; /* when the unfinished header block began; 0: none */
    int32_t headers_id; /* the stream of the last header block */
    int64_t drain_us;
    int64_t linger_us; /* when our side was shut; 0: not yet */
    enum drain_step drain;
    bool is_greeted; /* the peer's first SETTINGS came */
    bool is_broken; /* out of memory inside nghttp2; ends at the next flush */
    bool is_over; /* no request can be answered any more */
};

struct h2_server {
    struct loop *loop;
    struct h2_handler handler;
    struct log *log;
    struct evconnlistener *listener;
    uint16_t port;
    struct list conns;
    size_t conn_count;
    size_t conn_max;
    struct list dirty;
    struct list turns; /* connections with requests that are ready, the next one first */
    uint64_t turn; /* the loop turn in which spent_us was spent, on handlers */
    int64_t spent_us;
    struct event turn_event; /* in the next loop turn, when the time of this one was not enough for all */
    struct event flush_event; /* activated by the first dirty connection of a turn */
    struct timer *sweep_timer;
    bool is_sweeping;
    int64_t accept_again_us; /* the listener pauses until then; 0: it listens */
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    uint8_t *read_space;
    uint8_t *write_space;
    struct budget *budget;
    struct budget own_budget; /* when it shares none */
    struct bucket abuse_logs;
    bool is_draining;
    void (*on_idle)(void *ctx);
    void *on_idle_ctx;
};

/* h2_server.c */
void server_mark_dirty(struct h2_server *s, struct h2_conn *c);
void server_queue_turn(struct h2_server *s, struct h2_conn *c); /* if it has a request for the handler */
void server_log_peer(struct h2_server *s, enum log_event event, const char *peer, const char *cause);
void server_forget(struct h2_server *s, struct h2_conn *c); /* c is about to be freed */
/* Applies the time limits as of now; the timer calls it, tests call it with a later now. */
void server_sweep(struct h2_server *s, int64_t now_us);

/* h2_conn.c */
int conn_new(struct h2_server *s, int fd, const char *peer,
             struct h2_conn **ret) must_check; /* takes fd on success */
void conn_free(struct h2_conn *c); /* open requests are cancelled, unsent answers are lost */
void conn_flush(struct h2_conn *c); /* may free c */
void conn_sweep(struct h2_conn *c, int64_t now_us); /* may free c */
void conn_begin_drain(struct h2_conn *c); /* may free c */
void conn_evict(struct h2_conn *c); /* says goodbye and frees it, without waiting for the peer */

/* h2_session.c */
int session_shared_new(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option) must_check;
int session_new(struct h2_conn *c) must_check;
void session_finish_drain(struct h2_conn *c);

/* h2_stream.c */
struct h2_request_state *stream_new(struct h2_conn *c, int32_t stream_id) must_check;
int stream_add_header(struct h2_request_state *r, struct str name, struct str value) must_check;
int stream_headers_done(struct h2_request_state *r) must_check;
int stream_add_body(struct h2_request_state *r, const uint8_t *data, size_t len) must_check;
void stream_remote_done(struct h2_request_state *r);
void stream_response_whole(struct h2_request_state *r);
void stream_closed(struct h2_request_state *r);
void stream_reset(struct h2_request_state *r, uint32_t code);

/* Resets the requests of which a part is missing, so that their peer sends them elsewhere: nothing has
 * happened. */
void conn_refuse_unfinished(struct h2_conn *c);
bool conn_can_dispatch(const struct h2_conn *c);
void conn_dispatch(struct h2_conn *c); /* one ready request to the handler */
void conn_mark_whole(struct h2_conn *c); /* after a pull: what became whole ends at c->pulled */
void conn_settle(struct h2_conn *c); /* runs on_sent, on_cancel and on_lost of the handler */
void conn_end_requests(struct h2_conn *c); /* the connection is over: settles everything */
