/* The HTTP/1.1 listener, on libevent's evhttp.
 *
 * Happy path: evhttp parses a request within its limits, http1_on_evhttp() shows it
 * to the handler as slices and sends what the handler filled in.
 *
 * evhttp neither limits the number of its connections nor tells when one
 * ends. So we hold a reference to each connection's bufferevent: evhttp takes
 * its callbacks off when it is done with one, and a sweep finds those. The
 * descriptor is closed with our reference and not before: it would be used again
 * while the loop still watches it for what was there. At the
 * maximum the listener is switched off until a sweep has found room, and those
 * who are slow to ask are cut off. It also rests when descriptors run out.
 *
 * Malformed or oversize requests are answered by evhttp itself (400, 413); what
 * it lets pass and should not, http1_framing.c finds. The bytes in evhttp's
 * buffers are counted by callbacks on them. */
#include "net/http1.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <event2/util.h>

#include "base/mem.h"
#include "net/http1_int.h"
#include "net/socket.h"

#define HEADER_BYTES_MAX (16 << 10)
#define BODY_BYTES_MAX (4 << 20)
#define RESPONSE_BYTES_MAX (64u << 20)
#define IO_TIMEOUT_S 15 /* for one read or write; also how long an idle connection is kept */
#define SWEEP_US (100 * USEC_PER_MS)
#define PATIENCE_US USEC_PER_SEC /* for a whole request, or the next one, while others wait for a place */
#define PATIENCE_SENDING_US (60 * USEC_PER_SEC) /* the same for taking an answer */
#define HTTP_UNAVAILABLE 503
#define CODE_INVALID_ARGUMENT 3 /* of gRPC, as in every error that this server sends as JSON */
#define CODE_UNAVAILABLE 14

static struct str http1_method_name(enum evhttp_cmd_type type) {
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

static struct str http1_optional_text(const char *s) {
    return s ? str_of(s) : STR("");
}

void http1_response_init(struct http1_response *resp) {
    *resp = (struct http1_response){.status = HTTP_OK, .content_type = "application/json"};
    buf_init(&resp->body, RESPONSE_BYTES_MAX);
}

/* Of the body that GET would bring, HEAD gets the length. evhttp would send the body, without a length. */
static int http1_add_body(struct evhttp_request *req, const struct buf *body) {
    char length[32];
    if (evhttp_request_get_command(req) != EVHTTP_REQ_HEAD)
        return evbuffer_add(evhttp_request_get_output_buffer(req), body->data, body->len);
    (void)snprintf(length, sizeof(length), "%zu", body->len); /* always fits */
    return evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Length", length);
}

static struct bufferevent *http1_connection(struct evhttp_request *req) {
    return evhttp_connection_get_bufferevent(evhttp_request_get_connection(req));
}

void http1_stop_reading(struct bufferevent *connection) {
    (void)bufferevent_disable(connection, EV_READ); /* fails for no kind of bufferevent that is used here */
}

static void http1_send_reply(struct evhttp_request *req, struct http1_response *resp) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    if (!buf_ok(&resp->body) || http1_add_body(req, &resp->body) < 0 ||
        evhttp_add_header(headers, "Content-Type", resp->content_type) < 0 ||
        evhttp_add_header(headers, "X-Content-Type-Options", "nosniff") < 0 ||
        (resp->allow && evhttp_add_header(headers, "Allow", resp->allow) < 0))
        evhttp_send_error(req, HTTP_UNAVAILABLE, NULL); /* memory is short */
    else
        evhttp_send_reply(req, resp->status, NULL, NULL);
}

void http1_send_response(struct evhttp_request *req, struct http1_response *resp) {
    struct bufferevent *connection = http1_connection(req);
    bufferevent_incref(connection); /* without memory evhttp frees it */
    http1_send_reply(req, resp);
    http1_stop_reading(connection);
    (void)bufferevent_decref(connection);
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

/* Requests. */

/* The place of a request: NULL when there was no memory for one. */
static struct place *place_find(struct http1_server *s, struct evhttp_request *req) {
    const struct bufferevent *connection = http1_connection(req);
    list_for(&s->places, n) {
        struct place *p = container_of(n, struct place, link);
        if (p->connection == connection)
            return p;
    }
    return NULL;
}

/* The connection ends with the answer: what follows on it is not a request. */
static void http1_answer_last(struct evhttp_request *req) {
    (void)evhttp_add_header(evhttp_request_get_output_headers(req), "Connection", "close");
}

static void http1_refuse(struct evhttp_request *req, int status, int code, const char *text) {
    struct http1_response resp;
    http1_response_init(&resp);
    resp.status = status;
    buf_printf(&resp.body, "{\"code\":%d,\"message\":\"%s\"}\n", code, text);
    http1_answer_last(req);
    http1_send_response(req, &resp);
    buf_done(&resp.body);
}

static void http1_serve_request(struct http1_server *s, struct place *p, struct evhttp_request *req) {
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    struct evbuffer *in = evhttp_request_get_input_buffer(req);
    size_t len = evbuffer_get_length(in);
    struct http1_exchange x = {.server = s, .place = p, .req = req, .body_bytes = len};
    /* The header itself, not the host of an absolute request line, which a proxy may have rewritten. */
    struct http1_request q = {
        .method = http1_method_name(evhttp_request_get_command(req)),
        .path = http1_optional_text(uri ? evhttp_uri_get_path(uri) : NULL),
        .query = http1_optional_text(uri ? evhttp_uri_get_query(uri) : NULL),
        .host = http1_optional_text(evhttp_find_header(evhttp_request_get_input_headers(req), "Host")),
        .body = str_bytes(len ? evbuffer_pullup(in, -1) : NULL, len),
        .exchange = &x,
    };
    struct http1_response resp;
    http1_response_init(&resp);
    s->handler.on_request(s->handler.ctx, &q, &resp);
    if (x.is_taken)
        (void)evbuffer_drain(in, len); /* it may wait long; at worst the bytes stay */
    else
        http1_send_response(req, &resp);
    buf_done(&resp.body);
}

static void http1_arm_turns(struct http1_server *s) {
    const struct timeval at_once = {0};
    if (list_empty(&s->turns))
        return;
    loop_leave_input(s->loop);
    ensure(event_add(s->turn_event, &at_once) == 0); /* otherwise the queued requests would never run */
}

/* One request at least: HTTP/2 may use up the time of each turn as well. */
static void http1_on_turns(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_server *s = ctx;
    for (struct list *n; (n = list_pop(&s->turns));) {
        struct place *p = container_of(n, struct place, turn_link);
        http1_serve_request(s, p, take(&p->ready));
        if (!loop_has_time(s->loop))
            break;
    }
    http1_arm_turns(s);
}

/* Requests that come when the time of the loop turn is used up wait in their order. evhttp reads one request
 * of a connection at a time, so each connection has at most one here. */
static void http1_serve_in_turn(struct http1_server *s, struct place *p, struct evhttp_request *req) {
    if (list_empty(&s->turns) && loop_has_time(s->loop)) {
        http1_serve_request(s, p, req);
        return;
    }
    p->ready = req;
    list_append(&s->turns, &p->turn_link);
    http1_arm_turns(s);
}

static void http1_on_evhttp(struct evhttp_request *req, void *ctx) {
    struct http1_server *s = ctx;
    struct place *p = place_find(s, req);
    const char *fault = http1_framing_fault(req);
    if (!p) {
        http1_refuse(req, HTTP_UNAVAILABLE, CODE_UNAVAILABLE, "There is no memory for this now.");
        return;
    }
    p->since_us = host_now().mono.us;
    if (fault) {
        http1_refuse(req, HTTP_BADREQUEST, CODE_INVALID_ARGUMENT, fault);
        return;
    }
    if (http1_has_unread_body(req))
        http1_answer_last(req);
    size_t left = evbuffer_get_length(bufferevent_get_input(p->connection));
    holder_change(&p->holder, p->received, left);
    p->received = left;
    http1_serve_in_turn(s, p, req);
}

static bool http1_is_connection_over(struct bufferevent *connection) {
    bufferevent_data_cb on_read, on_write;
    bufferevent_event_cb on_event;
    bufferevent_getcb(connection, &on_read, &on_write, &on_event, NULL);
    return !on_read && !on_write && !on_event;
}

static void place_check_budget(struct place *p) {
    if (budget_is_over(p->server->budget))
        timer_set(p->server->sweep_timer, 0);
}

/* What evhttp takes from the input it keeps with the request, so it counts until the request is answered. */
static void place_on_input(struct evbuffer *buffer unused_arg, const struct evbuffer_cb_info *info,
                           void *ctx) {
    struct place *p = ctx;
    holder_change(&p->holder, 0, info->n_added);
    p->received += info->n_added;
    place_check_budget(p);
}

static void place_on_output(struct evbuffer *buffer unused_arg, const struct evbuffer_cb_info *info,
                            void *ctx) {
    struct place *p = ctx;
    holder_change(&p->holder, info->n_deleted, info->n_added);
    place_check_budget(p);
}

static bool place_watch_bytes(struct place *p) {
    return evbuffer_add_cb(bufferevent_get_input(p->connection), place_on_input, p) &&
           evbuffer_add_cb(bufferevent_get_output(p->connection), place_on_output, p);
}

static void place_free(struct place *p) {
    (void)evbuffer_remove_cb(bufferevent_get_input(p->connection), place_on_input, p);
    (void)evbuffer_remove_cb(bufferevent_get_output(p->connection), place_on_output, p);
    (void)bufferevent_decref(p->connection); /* whether that freed it does not matter */
    list_remove(&p->link);
    list_remove(&p->turn_link);
    p->server->place_count--;
    holder_leave(&p->holder);
    mem_free(p);
}

static void http1_free_places(struct http1_server *s) {
    list_for_safe(&s->places, n) {
        struct place *p = container_of(n, struct place, link);
        if (http1_is_connection_over(p->connection))
            place_free(p);
    }
}

static bool place_is_sending(const struct place *p) {
    return evbuffer_get_length(bufferevent_get_output(p->connection)) > 0;
}

/* Ends the connection: by way of the call that waits on it, or evhttp sees the end of input. */
static void place_end(struct place *p) {
    if (p->later)
        http1_break(p->later);
    else
        (void)shutdown(bufferevent_getfd(p->connection), SHUT_RDWR);
}

static void place_evict(struct holder *h) {
    place_end(container_of(h, struct place, holder));
}

static size_t place_unread(struct holder *h) {
    const struct place *p = container_of(h, struct place, holder);
    return evbuffer_get_length(bufferevent_get_output(p->connection));
}

/* All places are taken: closes connections that are slow to send a request, or idle between two. Otherwise a
 * peer could keep a place by sending a byte now and then. */
static void http1_evict_slow(struct http1_server *s) {
    int64_t now_us = host_now().mono.us;
    list_for(&s->places, n) {
        struct place *p = container_of(n, struct place, link);
        int64_t patience_us = place_is_sending(p) ? PATIENCE_SENDING_US : PATIENCE_US;
        if (now_us - p->since_us > patience_us && !p->later && !p->ready)
            place_end(p);
    }
}

static bool http1_is_idle(const struct http1_server *s) {
    list_for(&s->places, n) {
        if (place_is_sending(container_of(n, struct place, link)))
            return false;
    }
    return list_empty(&s->waiting) && list_empty(&s->turns);
}

static void http1_on_sweep(void *ctx) {
    struct http1_server *s = ctx;
    http1_sweep_half_closed(s);
    http1_free_places(s);
    budget_enforce(s->budget);
    bool is_trimming = budget_trim(s->budget);
    if (s->on_idle && http1_is_idle(s)) {
        void (*on_idle)(void *) = s->on_idle;
        s->on_idle = NULL;
        on_idle(s->idle_ctx);
    }
    bool is_full = s->place_count == s->place_max;
    if (is_full)
        http1_evict_slow(s);
    else
        evconnlistener_enable(s->listener);
    if (s->place_count || s->on_idle || is_trimming || event_add(s->knock, NULL) < 0)
        timer_set(s->sweep_timer, SWEEP_US);
}

/* A peer connects: a sweep follows, even when there is no descriptor for the connection. */
static void http1_on_connect_attempt(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_server *s = ctx;
    timer_set(s->sweep_timer, SWEEP_US);
}

/* Out of descriptors: rests until a sweep, instead of trying again at once. The context is evhttp's. */
static void http1_on_accept_error(struct evconnlistener *listener, void *ctx unused_arg) {
    evconnlistener_disable(listener);
}

void http1_server_drain(struct http1_server *s, void (*on_idle)(void *ctx), void *ctx) {
    s->on_idle = on_idle;
    s->idle_ctx = ctx;
    timer_set(s->sweep_timer, 0);
}

/* A connection was accepted; evhttp will use what this returns, or make its own when it is NULL. */
static struct bufferevent *http1_on_connection(struct event_base *base, void *ctx) {
    struct http1_server *s = ctx;
    http1_free_places(s);
    /* A full list: libevent had accepted one more before it saw that the listener is off. */
    struct place *p = s->place_count < s->place_max ? mem_zalloc(sizeof(*p)) : NULL;
    if (!p)
        return NULL;
    *p = (struct place){.server = s, .since_us = host_now().mono.us};
    p->connection = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    if (!p->connection || !place_watch_bytes(p)) {
        if (p->connection)
            bufferevent_free(p->connection);
        mem_free(p);
        return NULL;
    }
    bufferevent_incref(p->connection);
    list_append(&s->places, &p->link);
    s->place_count++;
    p->holder.evict = place_evict;
    p->holder.unread = place_unread;
    holder_join(&p->holder, s->budget, LIMIT_HTTP_CONNECTION_COST);
    if (s->place_count == s->place_max)
        evconnlistener_disable(s->listener);
    timer_set(s->sweep_timer, SWEEP_US);
    return p->connection;
}

static int http1_bind_listener(struct http1_server *s, const char *ip, uint16_t port, struct err *reterr) {
    errno = 0;
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(s->http, ip, port);
    if (!bound)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s port %u: %s", ip, port, strerror(errno));
    s->listener = evhttp_bound_socket_get_listener(bound);
    evconnlistener_set_error_cb(s->listener, http1_on_accept_error);
    s->knock = event_new(evconnlistener_get_base(s->listener), evhttp_bound_socket_get_fd(bound), EV_READ,
                         http1_on_connect_attempt, s);
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

static void http1_set_limits(struct evhttp *http) {
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
    list_init(&s->waiting);
    list_init(&s->places);
    list_init(&s->turns);
    budget_init(&s->own_budget);
    s->budget = &s->own_budget;
    s->loop = l;
    s->turn_event = event_new(loop_base(l), -1, 0, http1_on_turns, s);
    s->http = evhttp_new(loop_base(l));
    if (!s->http || !s->turn_event || timer_new(l, http1_on_sweep, s, &s->sweep_timer) < 0) {
        http1_server_free(s);
        return err_std(reterr, ERR_NO_MEMORY);
    }
    http1_set_limits(s->http);
    evhttp_set_bevcb(s->http, http1_on_connection, s);
    evhttp_set_gencb(s->http, http1_on_evhttp, s);
    int rc = http1_bind_listener(s, ip, port, reterr);
    if (rc < 0) {
        http1_server_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void http1_server_share(struct http1_server *s, struct budget *b) {
    ensure(list_empty(&s->places));
    s->budget = b;
}

uint16_t http1_server_port(const struct http1_server *s) {
    return s->port;
}

size_t http1_server_connections(const struct http1_server *s) {
    return s->place_count;
}

size_t http1_server_waiting(const struct http1_server *s) {
    size_t count = 0;
    list_for(&s->waiting, n) count++;
    return count;
}

void http1_server_free(struct http1_server *s) {
    if (!s)
        return;
    http1_leave_waiting(s);
    if (s->turn_event)
        event_free(s->turn_event);
    if (s->knock)
        event_free(s->knock);
    if (s->http)
        evhttp_free(s->http);
    http1_free_places(s);
    timer_free(s->sweep_timer);
    mem_free(s);
}
