/* The HTTP/1.1 listener, on libevent's evhttp.
 *
 * Happy path: evhttp parses a request within its limits, on_evhttp() shows it
 * to the handler as slices and sends what the handler filled in.
 *
 * A request that is answered later is kept as evhttp's own until then. evhttp
 * does not read from its connection meanwhile, and so would not see the peer
 * go; an event of our own watches for that.
 *
 * evhttp neither limits the number of its connections nor tells when one
 * ends. So we hold a reference to each connection's bufferevent: evhttp takes
 * its callbacks off when it is done with one, and a sweep finds those. The
 * descriptor is closed with our reference and not before: it would be used again
 * while the loop still watches it for what was there. At the
 * maximum the listener is switched off until a sweep has found room, and those
 * who are slow to ask are cut off. It also rests when descriptors run out.
 *
 * Malformed or oversize requests are answered by evhttp itself (400, 413). */
#include "net/http1.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "base/list.h"
#include "base/mem.h"
#include "net/limits.h"
#include "net/socket.h"

#define HEADER_BYTES_MAX (16 << 10)
#define BODY_BYTES_MAX (4 << 20)
#define RESPONSE_BYTES_MAX (64u << 20)
#define IO_TIMEOUT_S 15 /* for one read or write; also how long an idle connection is kept */
#define SWEEP_US (100 * USEC_PER_MS)
#define PATIENCE_US                                                                                          \
    (5 * USEC_PER_SEC) /* for a whole request, or the next one, while others wait for a place */
#define PATIENCE_SENDING_US (60 * USEC_PER_SEC) /* the same for taking an answer */
#define HTTP_UNAVAILABLE 503

struct place {
    struct bufferevent *connection;
    int64_t since_us; /* when it was taken, or asked the last time */
};

struct http1_server {
    struct evhttp *http;
    struct evconnlistener *listener; /* owned by http */
    struct http1_handler handler;
    struct timer *sweep_timer; /* runs while there are connections, and while it drains */
    struct event *knock; /* begins the sweeps */
    struct place places[LIMIT_HTTP_CONNECTIONS_MAX];
    size_t place_count, place_max;
    uint16_t port;
    struct list waiting; /* http1_later.link */
    struct loop *loop;
    struct list delayed; /* struct delayed: requests for which the loop turn had no time */
    struct event *delay_event; /* goes on with them in the next turn */
    void (*on_idle)(void *ctx); /* while it drains */
    void *idle_ctx;
};

/* One request while its handler runs. */
struct http1_exchange {
    struct http1_server *server;
    struct evhttp_request *req;
    bool is_taken;
};

struct http1_later {
    struct list link;
    struct evhttp_request *req; /* ours to answer, evhttp's to free */
    struct event *closed;
    void (*on_gone)(void *ctx);
    void *ctx;
    void (*on_sent)(void *ctx); /* of an answer in pieces */
    bool is_sending; /* a piece is not with the kernel yet */
};

/* A request that is whole and has not been given to the handler. evhttp reads nothing from its connection
 * meanwhile, so it stays where it is. */
struct delayed {
    struct list link;
    struct evhttp_request *req;
};

static struct str method_name(enum evhttp_cmd_type type) {
    switch (type) {
    case EVHTTP_REQ_GET:
        return STR("GET");
    case EVHTTP_REQ_POST:
        return STR("POST");
    case EVHTTP_REQ_HEAD:
        return STR("HEAD");
    case EVHTTP_REQ_PUT:
        return STR("PUT");
    case EVHTTP_REQ_DELETE:
        return STR("DELETE");
    case EVHTTP_REQ_OPTIONS:
        return STR("OPTIONS");
    case EVHTTP_REQ_PATCH:
        return STR("PATCH");
    case EVHTTP_REQ_TRACE:
    case EVHTTP_REQ_CONNECT:
        break;
    }
    return STR("");
}

static struct str optional(const char *s) {
    return s ? str_of(s) : STR("");
}

void http1_response_init(struct http1_response *resp) {
    *resp = (struct http1_response){.status = HTTP_OK, .content_type = "application/json"};
    buf_init(&resp->body, RESPONSE_BYTES_MAX);
}

/* Of the body that GET would bring, HEAD gets the length. evhttp would send the body, without a length. */
static int add_body(struct evhttp_request *req, const struct buf *body) {
    char length[32];
    if (evhttp_request_get_command(req) != EVHTTP_REQ_HEAD)
        return evbuffer_add(evhttp_request_get_output_buffer(req), body->data, body->len);
    (void)snprintf(length, sizeof(length), "%zu", body->len); /* always fits */
    return evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Length", length);
}

static void send_response(struct evhttp_request *req, struct http1_response *resp) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    if (!buf_ok(&resp->body) || add_body(req, &resp->body) < 0 ||
        evhttp_add_header(headers, "Content-Type", resp->content_type) < 0 ||
        evhttp_add_header(headers, "X-Content-Type-Options", "nosniff") < 0 ||
        (resp->allow && evhttp_add_header(headers, "Allow", resp->allow) < 0)) {
        evhttp_send_error(req, HTTP_UNAVAILABLE, NULL); /* memory is short */
        return;
    }
    evhttp_send_reply(req, resp->status, NULL, NULL);
}

struct str http1_header(const struct http1_request *q, const char *name) {
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(q->exchange->req), name);
    return value ? str_of(value) : (struct str){NULL, 0};
}

bool http1_add_header(const struct http1_request *q, const char *name, struct str value) {
    char *text = mem_alloc(value.n + 1);
    if (!text)
        return false;
    memcpy(text, value.p, value.n);
    text[value.n] = 0;
    bool ok = evhttp_add_header(evhttp_request_get_output_headers(q->exchange->req), name, text) == 0;
    mem_free(text);
    return ok;
}

static struct bufferevent *connection_of(struct evhttp_request *req) {
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
}

/* Requests that are answered later. */

static void later_free(struct http1_later *l) {
    list_remove(&l->link);
    if (l->closed)
        event_free(l->closed);
    mem_free(l);
}

static void later_gone(struct http1_later *l) {
    l->on_gone(l->ctx);
    later_free(l);
}

static void on_closed(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    struct evhttp_connection *connection = evhttp_request_get_connection(l->req);
    evhttp_connection_set_closecb(connection, NULL, NULL);
    later_gone(l);
    evhttp_connection_free(connection); /* and the request */
}

struct http1_later *http1_take(const struct http1_request *q, void (*on_gone)(void *ctx), void *ctx) {
    struct http1_exchange *x = q->exchange;
    struct bufferevent *connection = connection_of(x->req);
    struct http1_later *l = mem_zalloc(sizeof(*l));
    ensure(!x->is_taken);
    if (!l)
        return NULL;
    *l = (struct http1_later){.req = x->req, .on_gone = on_gone, .ctx = ctx};
    l->closed =
        event_new(bufferevent_get_base(connection), bufferevent_getfd(connection), EV_CLOSED, on_closed, l);
    if (!l->closed || event_add(l->closed, NULL) < 0) {
        later_free(l);
        return NULL;
    }
    list_append(&x->server->waiting, &l->link);
    x->is_taken = true;
    return l;
}

void http1_answer(struct http1_later *l, struct http1_response *resp) {
    struct evhttp_request *req = l->req;
    later_free(l);
    send_response(req, resp);
    buf_done(&resp->body);
}

/* Answers in pieces. */

/* evhttp gave the connection up: the peer is gone or takes nothing. When that happened while a piece was
 * being written, the request has lost its connection and is ours to free. */
static void on_lost(struct evhttp_connection *connection unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    struct evhttp_request *req = l->req;
    bool is_ours = !evhttp_request_get_connection(req);
    later_gone(l);
    if (is_ours)
        evhttp_send_reply_end(req); /* only frees it */
}

static void on_written(struct evhttp_connection *connection unused_arg, void *ctx) {
    struct http1_later *l = ctx;
    if (!l->is_sending)
        return;
    l->is_sending = false;
    l->on_sent(l->ctx);
}

void http1_begin(struct http1_later *l, const char *content_type, void (*on_sent)(void *ctx)) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(l->req);
    l->on_sent = on_sent;
    evhttp_connection_set_closecb(evhttp_request_get_connection(l->req), on_lost, l);
    /* Without memory for a header the peer gets an answer that it cannot read, and goes. */
    (void)evhttp_add_header(headers, "Content-Type", content_type);
    (void)evhttp_add_header(headers, "Cache-Control", "no-store");
    (void)evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
    evhttp_send_reply_start(l->req, HTTP_OK, NULL);
}

void http1_break(struct http1_later *l) {
    event_active(l->closed, EV_CLOSED, 0);
}

void http1_send(struct http1_later *l, struct str bytes) {
    struct evbuffer *piece = evbuffer_new();
    ensure(!l->is_sending && bytes.n > 0);
    l->is_sending = true;
    if (piece && evbuffer_add(piece, bytes.p, bytes.n) == 0)
        evhttp_send_reply_chunk_with_cb(l->req, piece, on_written, l);
    else
        http1_break(l); /* a piece is missing: the peer must not take it for whole */
    if (piece)
        evbuffer_free(piece);
}

void http1_end(struct http1_later *l) {
    struct evhttp_request *req = l->req;
    evhttp_connection_set_closecb(evhttp_request_get_connection(req), NULL, NULL);
    later_free(l);
    evhttp_send_reply_end(req);
}

/* Requests. */

static void note_request(struct http1_server *s, struct evhttp_request *req) {
    const struct bufferevent *connection = connection_of(req);
    for (size_t i = 0; i < s->place_count; i++)
        if (s->places[i].connection == connection)
            s->places[i].since_us = host_now().mono.us;
}

static void give_to_handler(struct http1_server *s, struct evhttp_request *req) {
    note_request(s, req);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    size_t len = evbuffer_get_length(in);
    struct http1_exchange x = {.server = s, .req = req};
    /* The header itself, not the host of an absolute request line, which a proxy may have rewritten. */
    struct http1_request q = {
        .method = method_name(evhttp_request_get_command(req)),
        .path = optional(uri ? evhttp_uri_get_path(uri) : NULL),
        .query = optional(uri ? evhttp_uri_get_query(uri) : NULL),
        .host = optional(evhttp_find_header(evhttp_request_get_input_headers(req), "Host")),
        .body = str_bytes(len ? evbuffer_pullup(in, -1) : NULL, len),
        .exchange = &x,
    };
    struct http1_response resp;
    http1_response_init(&resp);
    s->handler.on_request(s->handler.ctx, &q, &resp);
    if (x.is_taken)
        (void)evbuffer_drain(in, len); /* it may wait long; at worst the bytes stay */
    else
        send_response(req, &resp);
    buf_done(&resp.body);
}

static void delay_again(struct http1_server *s) {
    const struct timeval at_once = {0};
    if (!list_empty(&s->delayed))
        ensure(event_add(s->delay_event, &at_once) == 0); /* they would wait for ever */
}

/* One request at least: HTTP/2 may use up the time of each turn as well. */
static void on_delay(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_server *s = ctx;
    do {
        struct delayed *d = container_of(list_pop(&s->delayed), struct delayed, link);
        struct evhttp_request *req = d->req;
        mem_free(d);
        give_to_handler(s, req);
    } while (!list_empty(&s->delayed) && loop_has_time(s->loop));
    delay_again(s);
}

/* One request for each connection at a time: that is what evhttp reads. Those that come when the time of the
 * loop turn is used up wait in their order. */
static void on_evhttp(struct evhttp_request *req, void *ctx) {
    struct http1_server *s = ctx;
    bool can_go = list_empty(&s->delayed) && loop_has_time(s->loop);
    struct delayed *d = can_go ? NULL : mem_zalloc(sizeof(*d));
    if (!d) {
        give_to_handler(s, req);
        return;
    }
    d->req = req;
    list_append(&s->delayed, &d->link);
    delay_again(s);
}

static bool is_over(struct bufferevent *connection) {
    bufferevent_data_cb on_read, on_write;
    bufferevent_event_cb on_event;
    bufferevent_getcb(connection, &on_read, &on_write, &on_event, NULL);
    return !on_read && !on_write && !on_event;
}

static void sweep(struct http1_server *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->place_count; i++) {
        if (is_over(s->places[i].connection))
            (void)bufferevent_decref(s->places[i].connection); /* whether that freed it does not matter */
        else
            s->places[kept++] = s->places[i];
    }
    s->place_count = kept;
}

static bool is_sending(const struct place *p) {
    return evbuffer_get_length(bufferevent_get_output(p->connection)) > 0;
}

/* A handler has its request and will answer. */
static bool is_waiting(const struct http1_server *s, const struct place *p) {
    list_for(&s->waiting, n) {
        const struct http1_later *l = container_of(n, struct http1_later, link);
        if (evhttp_request_get_connection(l->req) && connection_of(l->req) == p->connection)
            return true;
    }
    return false;
}

/* All places are taken: those who take their time over a request, or keep a connection for the next one, lose
 * theirs. A peer could hold one for ever by a byte now and then. */
static void evict(struct http1_server *s) {
    int64_t now_us = host_now().mono.us;
    for (size_t i = 0; i < s->place_count; i++) {
        const struct place *p = &s->places[i];
        int64_t patience_us = is_sending(p) ? PATIENCE_SENDING_US : PATIENCE_US;
        if (now_us - p->since_us > patience_us && !is_waiting(s, p))
            (void)shutdown(bufferevent_getfd(p->connection), SHUT_RDWR); /* evhttp sees the end of it */
    }
}

static bool is_idle(const struct http1_server *s) {
    for (size_t i = 0; i < s->place_count; i++)
        if (is_sending(&s->places[i]))
            return false;
    return list_empty(&s->waiting) && list_empty(&s->delayed);
}

static void on_sweep(void *ctx) {
    struct http1_server *s = ctx;
    sweep(s);
    if (s->on_idle && is_idle(s)) {
        void (*on_idle)(void *) = s->on_idle;
        s->on_idle = NULL;
        on_idle(s->idle_ctx);
    }
    bool is_full = s->place_count == s->place_max;
    if (is_full)
        evict(s);
    else
        evconnlistener_enable(s->listener);
    if (s->place_count || s->on_idle || event_add(s->knock, NULL) < 0)
        timer_set(s->sweep_timer, SWEEP_US);
}

/* Somebody connects: a sweep follows, also when there is no descriptor for it. */
static void on_knock(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_server *s = ctx;
    timer_set(s->sweep_timer, SWEEP_US);
}

/* Out of descriptors: rests until a sweep, instead of trying again at once. The context is evhttp's. */
static void on_accept_error(struct evconnlistener *listener, void *ctx unused_arg) {
    evconnlistener_disable(listener);
}

void http1_server_drain(struct http1_server *s, void (*on_idle)(void *ctx), void *ctx) {
    s->on_idle = on_idle;
    s->idle_ctx = ctx;
    timer_set(s->sweep_timer, 0);
}

/* A connection was accepted; evhttp will use what this returns, or make its own when it is NULL. */
static struct bufferevent *on_connection(struct event_base *base, void *ctx) {
    struct http1_server *s = ctx;
    sweep(s);
    /* A full list: libevent had accepted one more before it saw that the listener is off. */
    struct bufferevent *connection =
        s->place_count < s->place_max ? bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE) : NULL;
    if (!connection)
        return NULL;
    bufferevent_incref(connection);
    s->places[s->place_count++] = (struct place){connection, host_now().mono.us};
    if (s->place_count == s->place_max)
        evconnlistener_disable(s->listener);
    timer_set(s->sweep_timer, SWEEP_US);
    return connection;
}

static int bind_listener(struct http1_server *s, const char *ip, uint16_t port, struct err *reterr) {
    errno = 0;
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(s->http, ip, port);
    if (!bound)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s port %u: %s", ip, port, strerror(errno));
    s->listener = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(s->listener, on_accept_error);
    s->knock = event_new(evconnlistener_get_base(s->listener), evhttp_bound_socket_get_fd(bound), EV_READ,
                         on_knock, s);
    if (!s->knock || event_add(s->knock, NULL) < 0)
        return err_std(reterr, ERR_NO_MEMORY);
    struct sockaddr_storage sa;
    socklen_t len = sizeof(sa);
    if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&sa, &len) < 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot read the address of the HTTP listener: %s",
                       strerror(errno));
    s->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&sa)->sin6_port
                                             : ((struct sockaddr_in *)&sa)->sin_port);
    return 0;
}

static void set_limits(struct evhttp *http) {
    evhttp_set_max_headers_size(http, HEADER_BYTES_MAX);
    evhttp_set_max_body_size(http, BODY_BYTES_MAX);
    evhttp_set_timeout(http, IO_TIMEOUT_S);
    /* All that have a name: what a path takes is the handler's business. */
    evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                                         EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
}

int http1_server_new(struct loop *l, const char *ip, uint16_t port, const struct http1_handler *h,
                     struct http1_server **ret, struct err *reterr) {
    struct http1_server *s = mem_zalloc(sizeof(*s));
    if (!s)
        return err_std(reterr, ERR_NO_MEMORY);
    s->handler = *h;
    s->place_max = MIN(LIMIT_HTTP_CONNECTIONS_MAX, MAX(socket_count_possible() / 4, 1u));
    s->loop = l;
    list_init(&s->waiting);
    list_init(&s->delayed);
    s->delay_event = event_new(loop_base(l), -1, 0, on_delay, s);
    s->http = evhttp_new(loop_base(l));
    if (!s->http || !s->delay_event || timer_new(l, on_sweep, s, &s->sweep_timer) < 0) {
        http1_server_free(s);
        return err_std(reterr, ERR_NO_MEMORY);
    }
    set_limits(s->http);
    evhttp_set_bevcb(s->http, on_connection, s);
    evhttp_set_gencb(s->http, on_evhttp, s);
    int rc = bind_listener(s, ip, port, reterr);
    if (rc < 0) {
        http1_server_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

uint16_t http1_server_port(const struct http1_server *s) {
    return s->port;
}

void http1_server_free(struct http1_server *s) {
    if (!s)
        return;
    list_for_safe(&s->waiting, n) {
        struct http1_later *l = container_of(n, struct http1_later, link);
        evhttp_connection_set_closecb(evhttp_request_get_connection(l->req), NULL, NULL);
        later_gone(l);
    }
    for (struct list *n; (n = list_pop(&s->delayed));)
        mem_free(container_of(n, struct delayed, link));
    if (s->delay_event)
        event_free(s->delay_event);
    if (s->knock)
        event_free(s->knock);
    if (s->http)
        evhttp_free(s->http);
    sweep(s);
    timer_free(s->sweep_timer);
    mem_free(s);
}
