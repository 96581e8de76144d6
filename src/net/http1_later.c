/* Requests that are answered later, at once or in pieces.
 *
 * Such a request is kept as evhttp's own until its answer. evhttp does not read from its connection
 * meanwhile, and so would not see the peer go. An event of our own reads instead. What a peer sends ahead
 * goes to evhttp's buffer, for the time after the answer.
 *
 * An error of the socket means that the peer is gone, and its call is cancelled. The end of input does not: a
 * peer may close its side after the request and read the answer (RFC 9112, 9.6). A closed connection looks
 * the same until we send something; then it answers with a reset. So a peer that has closed its side and
 * still waits at the next sweep is sent an interim response, 100 (Continue), which clients ignore; in the
 * middle of an answer in pieces it is sent a heartbeat. The sweeps look for the reset, and send more of the
 * same, ever less often. A peer that speaks HTTP/1.0 knows no interim response; its call waits until it is
 * answered. */
#include "net/http1_int.h"

#include <errno.h>
#include <event2/http_struct.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/socket.h"

#define READ_AHEAD_BYTES 4096
#define PROBE_GAP_US (500 * USEC_PER_MS) /* between two probes, at first */
#define PROBE_SLOWDOWN 4 /* later they are this part of the time apart that the peer has waited */

static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

static struct bufferevent *later_connection(const struct http1_later *l) {
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(l->req));
}

static void later_free(struct http1_later *l) {
    if (list_linked(&l->link)) {
        list_remove(&l->link);
        l->server->waiting_count--;
        l->place->later = NULL;
        holder_change(&l->place->holder, l->held, 0);
    }
    if (l->watch)
        event_free(l->watch);
    mem_free(l);
}

static void later_report_gone(struct http1_later *l) {
    l->on_gone(l->ctx);
    later_free(l);
}

static void later_finish(struct http1_later *l) {
    struct evhttp_connection *connection = evhttp_request_get_connection(l->req);
    evhttp_connection_set_closecb(connection, NULL, NULL);
    later_report_gone(l);
    evhttp_connection_free(connection); /* and the request */
}

/* False when it is too much, or memory is short. */
static bool later_keep_ahead(struct http1_later *l, const char *bytes, size_t n) {
    struct evbuffer *in = bufferevent_get_input(later_connection(l));
    if (evbuffer_get_length(in) + n > LIMIT_HTTP_PIPELINE_BYTES)
        return false;
    /* The end of the buffer is the bufferevent's, which does not read now. */
    (void)evbuffer_unfreeze(in, 0);
    int rc = evbuffer_add(in, bytes, n);
    (void)evbuffer_freeze(in, 0);
    return rc == 0;
}

static void later_on_watch(evutil_socket_t fd, short what unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    char bytes[READ_AHEAD_BYTES];
    if (l->is_broken) {
        later_finish(l);
        return;
    }
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n == 0) {
        l->half_closed_us = host_now().mono.us;
        (void)event_del(l->watch); /* it would fire again and again; the sweeps check instead */
        return;
    }
    if (n < 0 || !later_keep_ahead(l, bytes, (size_t)n))
        later_finish(l);
}

void http1_break(struct http1_later *l) {
    l->is_broken = true;
    event_active(l->watch, EV_READ, 0);
}

static void later_send_piece(struct http1_later *l, struct str bytes,
                             void (*later_on_written)(struct evhttp_connection *, void *)) {
    struct bufferevent *connection = later_connection(l);
    struct evbuffer *piece = evbuffer_new();
    if (piece && evbuffer_add(piece, bytes.p, bytes.n) == 0) {
        evhttp_send_reply_chunk_with_cb(l->req, piece, later_on_written, l);
        http1_stop_reading(connection);
    } else {
        http1_break(l); /* a piece is missing: the peer must not take it for whole */
    }
    if (piece)
        evbuffer_free(piece);
}

/* Sends what a closed peer answers with a reset. False when the connection is of no use any more. */
static bool later_probe(struct http1_later *l) {
    if (l->has_begun) {
        if (!l->is_sending)
            later_send_piece(l, l->heartbeat, NULL);
        return true;
    }
    if (l->req->major != 1 || l->req->minor < 1)
        return true;
    /* evhttp has nothing to send before the answer, so the socket is ours. */
    ssize_t n = send(bufferevent_getfd(later_connection(l)), interim, sizeof(interim) - 1,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    return n == (ssize_t)sizeof(interim) - 1 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool later_is_probe_due(struct http1_later *l, int64_t now_us) {
    if (now_us < l->probe_us)
        return false;
    l->probe_us = now_us + MAX(PROBE_GAP_US, (now_us - l->half_closed_us) / PROBE_SLOWDOWN);
    return true;
}

static bool later_is_reset(const struct http1_later *l) {
    struct pollfd p = {.fd = bufferevent_getfd(later_connection(l))};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP | POLLNVAL));
}

void http1_sweep_half_closed(struct http1_server *s) {
    int64_t now_us = host_now().mono.us;
    list_for_safe(&s->waiting, n) {
        struct http1_later *l = container_of(n, struct http1_later, link);
        if (!l->half_closed_us || !evhttp_request_get_connection(l->req))
            continue;
        if (later_is_reset(l) || (later_is_probe_due(l, now_us) && !later_probe(l)))
            later_finish(l);
    }
}

void http1_leave_waiting(struct http1_server *s) {
    list_for_safe(&s->waiting, n) {
        struct http1_later *l = container_of(n, struct http1_later, link);
        evhttp_connection_set_closecb(evhttp_request_get_connection(l->req), NULL, NULL);
        later_report_gone(l);
    }
}

bool http1_can_wait(const struct http1_request *q) {
    const struct http1_server *s = q->exchange->server;
    return s->waiting_count < MIN((size_t)LIMIT_HTTP_WAITING_MAX, s->place_max / 2);
}

struct http1_later *http1_take(const struct http1_request *q, void (*on_gone)(void *ctx), void *ctx) {
    struct http1_exchange *x = q->exchange;
    struct bufferevent *connection = evhttp_connection_get_bufferevent(evhttp_request_get_connection(x->req));
    struct http1_later *l = mem_zalloc(sizeof(*l));
    ensure(!x->is_taken && !x->place->later);
    if (!l)
        return NULL;
    *l = (struct http1_later){
        .server = x->server, .place = x->place, .req = x->req, .on_gone = on_gone, .ctx = ctx};
    l->watch = event_new(bufferevent_get_base(connection), bufferevent_getfd(connection),
                         EV_READ | EV_PERSIST, later_on_watch, l);
    if (!l->watch || event_add(l->watch, NULL) < 0) {
        later_free(l);
        return NULL;
    }
    socket_tune(bufferevent_getfd(connection)); /* it may wait long: a peer that vanished is found */
    l->held = LIMIT_HTTP_CALL_COST + LIMIT_HTTP_CALL_FACTOR * x->body_bytes;
    holder_change(&x->place->holder, 0, l->held);
    list_append(&x->server->waiting, &l->link);
    x->server->waiting_count++;
    x->place->later = l;
    x->is_taken = true;
    return l;
}

void http1_answer(struct http1_later *l, struct http1_response *resp) {
    struct evhttp_request *req = l->req;
    later_free(l);
    http1_send_response(req, resp);
    buf_done(&resp->body);
}

/* Answers in pieces. */

/* evhttp gave the connection up: the peer is gone or takes nothing. When that happened while a piece was
 * being written, the request has lost its connection and is ours to free. */
static void later_on_lost(struct evhttp_connection *connection unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    struct evhttp_request *req = l->req;
    bool is_ours = !evhttp_request_get_connection(req);
    later_report_gone(l);
    if (is_ours)
        evhttp_send_reply_end(req); /* only frees it */
}

static void later_on_written(struct evhttp_connection *connection unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    if (!l->is_sending)
        return;
    l->is_sending = false;
    l->on_sent(l->ctx);
}

void http1_begin(struct http1_later *l, const char *content_type, struct str heartbeat,
                 void (*on_sent)(void *ctx)) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(l->req);
    l->on_sent = on_sent;
    l->heartbeat = heartbeat;
    l->has_begun = true;
    evhttp_connection_set_closecb(evhttp_request_get_connection(l->req), later_on_lost, l);
    /* Without memory for a header the peer gets an answer that it cannot read, and goes. */
    (void)evhttp_add_header(headers, "Content-Type", content_type);
    (void)evhttp_add_header(headers, "Cache-Control", "no-store");
    (void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_send_reply_start(l->req, HTTP_OK, NULL);
    http1_stop_reading(later_connection(l));
}

void http1_send(struct http1_later *l, struct str bytes) {
    ensure(!l->is_sending && bytes.n > 0);
    l->is_sending = true;
    later_send_piece(l, bytes, later_on_written);
}

void http1_end(struct http1_later *l) {
    struct evhttp_request *req = l->req;
    struct bufferevent *connection = later_connection(l);
    bool has_more = req->chunked; /* otherwise evhttp may be done with the connection when it returns */
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL, NULL);
    later_free(l);
    evhttp_send_reply_end(req);
    if (has_more)
        http1_stop_reading(connection);
}
