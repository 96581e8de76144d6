/* The listener and the set of connections.
 *
 * The happy path: a connection is accepted, does its work in h2_conn.c and
 * h2_stream.c, and is flushed at the end of each loop turn in which something
 * was submitted on it. A timer, running only while there are connections, looks
 * at the time limits.
 *
 * When descriptors run out the listener rests for a moment; when there are too
 * many connections a silent one makes room for a new one, or else that is closed
 * at once. Draining ends the listener,
 * tells each peer to go elsewhere, and calls on_idle when the last is gone. */
#include "net/h2_int.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static struct h2_conn *server_conn_of_link(struct list *n) {
    return container_of(n, struct h2_conn, link);
}

void server_mark_dirty(struct h2_server *s, struct h2_conn *c) {
    if (c->is_over || list_linked(&c->dirty_link))
        return;
    if (list_empty(&s->dirty))
        event_active(&s->flush_event, EV_TIMEOUT, 0);
    list_append(&s->dirty, &c->dirty_link);
}

void server_queue_turn(struct h2_server *s, struct h2_conn *c) {
    if (list_linked(&c->turn_link) || !conn_can_dispatch(c))
        return;
    if (list_empty(&s->turns))
        event_active(&s->flush_event, EV_TIMEOUT, 0);
    list_append(&s->turns, &c->turn_link);
}

/* Requests of the next connection, as many as it may have before the others. */
static void server_take_turn(struct h2_server *s) {
    struct h2_conn *c = container_of(list_pop(&s->turns), struct h2_conn, turn_link);
    int64_t begin_us = host_now().mono.us, spent_us = 0;
    while (conn_can_dispatch(c) && spent_us < LIMIT_CONN_TURN_US) {
        conn_dispatch(c);
        spent_us = host_now().mono.us - begin_us;
    }
    s->spent_us += spent_us;
    if (conn_can_dispatch(c))
        list_append(&s->turns, &c->turn_link);
}

static bool server_has_time(struct h2_server *s) {
    if (s->turn != loop_turn(s->loop)) {
        s->turn = loop_turn(s->loop);
        s->spent_us = 0;
    }
    return s->spent_us < LOOP_TURN_US;
}

/* One connection after another, until the time of this loop turn is used up. */
static void server_take_turns(struct h2_server *s) {
    const struct timeval at_once = {0};
    while (!list_empty(&s->turns) && server_has_time(s))
        server_take_turn(s);
    if (list_empty(&s->turns))
        return;
    loop_leave_input(s->loop);
    ensure(event_add(&s->turn_event, &at_once) == 0); /* otherwise the queued requests would never run */
}

void server_log_peer(struct h2_server *s, enum log_event event, const char *peer, const char *cause) {
    if (bucket_take(&s->abuse_logs, 1, host_now().mono.us))
        log_emit(s->log, event, log_str("peer", peer), log_str("limit", cause));
}

void server_forget(struct h2_server *s, struct h2_conn *c) {
    list_remove(&c->link);
    list_remove(&c->dirty_link);
    list_remove(&c->turn_link);
    s->conn_count--;
    if (s->is_draining && s->conn_count == 0)
        event_active(&s->flush_event, EV_TIMEOUT, 0);
}

static void server_on_flush(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    struct h2_server *s = ctx;
    struct list *n;
    server_take_turns(s);
    budget_enforce(s->budget);
    while ((n = list_pop(&s->dirty)))
        conn_flush(container_of(n, struct h2_conn, dirty_link));
    if (s->is_draining && s->conn_count == 0 && s->on_idle) {
        void (*on_idle)(void *) = take(&s->on_idle);
        on_idle(s->on_idle_ctx); /* last: it may free the server */
    }
}

static void server_arm_sweep(struct h2_server *s) {
    if (s->is_sweeping)
        return;
    s->is_sweeping = true;
    timer_set(s->sweep_timer, LIMIT_SWEEP_US);
}

void server_sweep(struct h2_server *s, int64_t now_us) {
    if (s->accept_again_us && now_us >= s->accept_again_us) {
        s->accept_again_us = 0;
        if (s->listener)
            (void)evconnlistener_enable(s->listener); /* fails only when out of memory; then it stays off */
    }
    list_for_safe(&s->conns, n) {
        conn_sweep(server_conn_of_link(n), now_us);
    }
}

static void server_on_sweep(void *ctx) {
    struct h2_server *s = ctx;
    s->is_sweeping = false;
    server_sweep(s, host_now().mono.us);
    budget_enforce(s->budget);
    if (budget_trim(s->budget) || s->conn_count || s->accept_again_us)
        server_arm_sweep(s);
}

static void server_format_peer(const struct sockaddr *addr, char text[static PEER_TEXT_MAX]) {
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (addr->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, addr, sizeof(in));
        (void)inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
        port = ntohs(in.sin_port);
    } else if (addr->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, addr, sizeof(in6));
        (void)inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
        port = ntohs(in6.sin6_port);
    }
    (void)snprintf(text, PEER_TEXT_MAX, "%s:%u", host, port); /* always fits */
}

/* Idle connections must not keep new ones out. */
static void server_make_room(struct h2_server *s) {
    int64_t silent_since_us = host_now().mono.us - LIMIT_MAKE_ROOM_US;
    struct h2_conn *idle = NULL;
    list_for(&s->conns, n) {
        struct h2_conn *c = server_conn_of_link(n);
        if (!c->request_count && c->read_us < silent_since_us) {
            silent_since_us = c->read_us;
            idle = c;
        }
    }
    if (idle)
        conn_evict(idle);
}

static void server_on_accept(struct evconnlistener unused_arg *listener, evutil_socket_t fd,
                             struct sockaddr *addr, int unused_arg addr_len, void *ctx) {
    struct h2_server *s = ctx;
    struct h2_conn *c;
    char peer[PEER_TEXT_MAX];
    server_format_peer(addr, peer);
    if (s->conn_count >= s->conn_max)
        server_make_room(s);
    bool is_full = s->conn_count >= s->conn_max;
    if (is_full || conn_new(s, fd, peer, &c) < 0) {
        server_log_peer(s, LOG_connection_refused, peer, is_full ? "connections" : "memory");
        close(fd);
        return;
    }
    list_append(&s->conns, &c->link);
    s->conn_count++;
    log_emit(s->log, LOG_connection_opened, log_str("peer", peer));
    /* Our SETTINGS wait for the peer's preface: a peer that does not speak HTTP/2 gets no frames. */
    server_arm_sweep(s);
}

static void server_on_accept_error(struct evconnlistener *listener, void *ctx) {
    struct h2_server *s = ctx;
    server_log_peer(s, LOG_connection_refused, "", strerror(errno));
    s->accept_again_us = host_now().mono.us + LIMIT_ACCEPT_PAUSE_US;
    (void)evconnlistener_disable(listener); /* if it stays on, it tries again sooner */
    server_arm_sweep(s);
}

static int server_bind(struct h2_server *s, const struct addrinfo *found) {
    const unsigned flags = LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE;
    for (const struct addrinfo *ai = found; ai && !s->listener; ai = ai->ai_next)
        s->listener = evconnlistener_new_bind(loop_base(s->loop), server_on_accept, s, flags,
                                              LIMIT_LISTEN_BACKLOG, ai->ai_addr, (int)ai->ai_addrlen);
    if (!s->listener)
        return ERR_UNAVAILABLE;
    evconnlistener_set_error_cb(s->listener, server_on_accept_error);
    return 0;
}

static void server_learn_port(struct h2_server *s) {
    struct sockaddr_storage bound = {0};
    socklen_t len = sizeof(bound);
    if (getsockname(evconnlistener_get_fd(s->listener), (struct sockaddr *)&bound, &len) < 0)
        return;
    struct sockaddr_in6 in6;
    struct sockaddr_in in;
    memcpy(&in6, &bound, sizeof(in6));
    memcpy(&in, &bound, sizeof(in));
    s->port = ntohs(bound.ss_family == AF_INET6 ? in6.sin6_port : in.sin_port);
}

static int server_listen(struct h2_server *s, const char *address, struct err *reterr) {
    char host[ADDRESS_TEXT_MAX];
    const char *port;
    if (address_split(address, host, sizeof(host), &port) < 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s: not of the form host:port", address);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    int rc = getaddrinfo(host[0] ? host : NULL, port, &hints, &found);
    if (rc != 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s: %s", address, gai_strerror(rc));
    rc = server_bind(s, found);
    int bind_errno = errno;
    freeaddrinfo(found);
    if (rc < 0)
        return err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s: %s", address, strerror(bind_errno));
    server_learn_port(s);
    return 0;
}

static size_t server_connections_possible(void) {
    size_t files = socket_count_possible(),
           reserved = LIMIT_DESCRIPTORS_RESERVED + LIMIT_HTTP_CONNECTIONS_MAX;
    if (files >= LIMIT_CONNECTIONS_MAX + reserved)
        return LIMIT_CONNECTIONS_MAX;
    return files > 2 * reserved ? files - reserved : files / 2;
}

static int server_init(struct h2_server *s) {
    s->conn_max = server_connections_possible();
    bucket_init(&s->abuse_logs, LIMIT_ABUSE_LOG_BURST, LIMIT_ABUSE_LOG_PER_SEC, host_now().mono.us);
    s->read_space = mem_alloc(LIMIT_READ_BYTES);
    s->write_space = mem_alloc(LIMIT_WRITE_SPACE_BYTES);
    if (!s->read_space || !s->write_space)
        return ERR_NO_MEMORY;
    int rc = timer_new(s->loop, server_on_sweep, s, &s->sweep_timer);
    if (rc < 0)
        return rc;
    return session_shared_new(&s->callbacks, &s->option);
}

int h2_server_new(struct loop *l, const char *address, const struct h2_handler *h, struct log *log,
                  struct h2_server **ret, struct err *reterr) {
    struct h2_server *s = mem_zalloc(sizeof(*s));
    if (!s)
        return err_std(reterr, ERR_NO_MEMORY);
    s->loop = l;
    s->handler = *h;
    s->log = log;
    budget_init(&s->own_budget);
    s->budget = &s->own_budget;
    list_init(&s->conns);
    list_init(&s->dirty);
    list_init(&s->turns);
    int rc = event_assign(&s->flush_event, loop_base(l), -1, 0, server_on_flush, s);
    if (rc == 0)
        rc = event_assign(&s->turn_event, loop_base(l), -1, 0, server_on_flush, s);
    ensure(rc == 0); /* fails only for contradictory flags */
    rc = server_init(s);
    if (rc < 0)
        (void)err_std(reterr, rc);
    else
        rc = server_listen(s, address, reterr);
    if (rc < 0) {
        h2_server_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void h2_server_look(const struct h2_server *s, struct h2_state *ret) {
    *ret = (struct h2_state){.connections = s->conn_count};
    list_for(&s->conns, n) {
        const struct h2_conn *c = server_conn_of_link(n);
        ret->requests += c->request_count;
        ret->responding += c->responding_count;
        ret->body_bytes += c->body_bytes;
        ret->response_bytes += c->response_bytes;
        list_for(&c->receiving, m) ret->receiving++;
    }
}

void h2_server_share(struct h2_server *s, struct budget *b) {
    ensure(list_empty(&s->conns));
    s->budget = b;
}

uint16_t h2_server_port(const struct h2_server *s) {
    return s->port;
}

static void server_stop_listening(struct h2_server *s) {
    if (s->listener)
        evconnlistener_free(take(&s->listener));
}

void h2_server_drain(struct h2_server *s, void (*on_idle)(void *ctx), void *ctx) {
    ensure(!s->is_draining);
    s->is_draining = true;
    s->on_idle = on_idle;
    s->on_idle_ctx = ctx;
    server_stop_listening(s);
    list_for_safe(&s->conns, n) {
        conn_begin_drain(server_conn_of_link(n));
    }
    event_active(&s->flush_event, EV_TIMEOUT, 0);
}

void h2_server_free(struct h2_server *s) {
    if (!s)
        return;
    s->on_idle = NULL;
    server_stop_listening(s);
    while (!list_empty(&s->conns))
        conn_free(server_conn_of_link(s->conns.next));
    event_del(&s->flush_event);
    event_del(&s->turn_event);
    timer_free(s->sweep_timer);
    if (s->callbacks) {
        nghttp2_session_callbacks_del(s->callbacks);
        nghttp2_option_del(s->option);
    }
    mem_free(s->read_space);
    mem_free(s->write_space);
    mem_free(s);
}
