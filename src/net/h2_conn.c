/* One connection: a socket, an nghttp2 session, and the requests between them.
 *
 * The happy path: what the socket has goes into the session, whole requests go
 * to the handler, and at the end of the loop turn conn_flush() takes from the
 * session what it has to say and gives it to the socket, all answers of the turn
 * in one write. What the socket does not take waits in `pending`; until that is
 * gone nothing more is taken from the session, so a slow reader costs no more
 * than one batch.
 *
 * A connection ends in one of two ways. When the socket is dead it is freed at
 * once. When we are the ones who finish (drain, idle, protocol error, broken
 * limit) we say so, shut our side, and read on for a moment before closing:
 * closing a socket with unread input would make the kernel reset it and our last
 * words would be lost. Either way each request hears its outcome exactly once. */
#include "net/h2_int.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

void conn_free(struct h2_conn *c) {
    struct h2_server *s = c->server;
    if (!c->is_over)
        conn_end_requests(c);
    event_del(&c->read_event);
    event_del(&c->write_event);
    close(c->fd);
    nghttp2_session_del(c->session);
    buf_done(&c->pending);
    holder_leave(&c->holder);
    log_emit(s->log, LOG_connection_closed, log_str("peer", c->peer),
             log_int("bytes_out", (int64_t)c->written));
    server_forget(s, c);
    mem_free(c);
}

/* Our last byte is with the kernel or never will be. */
static void conn_linger(struct h2_conn *c) {
    if (!c->is_over)
        conn_end_requests(c);
    event_del(&c->write_event);
    if (c->pending.len || shutdown(c->fd, SHUT_WR) < 0) {
        conn_free(c);
        return;
    }
    c->linger_us = host_now().mono.us;
}

static int conn_arm_write(struct h2_conn *c) {
    return event_add(&c->write_event, NULL) < 0 ? ERR_NO_MEMORY : 0;
}

static void conn_count_written(struct h2_conn *c, size_t n) {
    uint64_t before = c->written / LIMIT_GLITCH_REFUND_BYTES;
    c->written += n;
    if (n)
        c->progress_us = host_now().mono.us;
    bucket_refund(&c->ignored, (int64_t)n / LIMIT_IGNORED_BYTES_REFUND);
    bucket_refund(&c->glitches, (int64_t)(c->written / LIMIT_GLITCH_REFUND_BYTES - before));
}

static int conn_write_pending(struct h2_conn *c) {
    if (!c->pending.len)
        return 0;
    ssize_t n = socket_write(c->fd, c->pending.data, c->pending.len);
    if (n < 0)
        return (int)n;
    conn_count_written(c, (size_t)n);
    buf_drop_front(&c->pending, (size_t)n);
    if (c->pending.len)
        return conn_arm_write(c);
    buf_done(&c->pending);
    buf_init(&c->pending, LIMIT_WRITE_SPACE_BYTES);
    return 0;
}

/* Fills the write space with whole chunks; *ret_len is 0 when the session has nothing to say. */
static int conn_pull(struct h2_conn *c, size_t *ret_len) {
    uint8_t *space = c->server->write_space;
    size_t len = 0;
    while (len < LIMIT_WRITE_BATCH_BYTES) {
        const uint8_t *chunk;
        ssize_t n = nghttp2_session_mem_send(c->session, &chunk);
        if (n < 0)
            return ERR_NO_MEMORY;
        ensure(len + (size_t)n <= LIMIT_WRITE_SPACE_BYTES);
        c->pulled += (uint64_t)n;
        conn_mark_whole(c);
        if (n == 0)
            break;
        memcpy(space + len, chunk, (size_t)n);
        len += (size_t)n;
    }
    *ret_len = len;
    return 0;
}

static int conn_write_batch(struct h2_conn *c, size_t len) {
    ssize_t n = socket_write(c->fd, c->server->write_space, len);
    if (n < 0)
        return (int)n;
    conn_count_written(c, (size_t)n);
    if ((size_t)n == len)
        return 0;
    buf_add(&c->pending, c->server->write_space + n, len - (size_t)n);
    return buf_ok(&c->pending) ? conn_arm_write(c) : ERR_NO_MEMORY;
}

static int conn_pump(struct h2_conn *c) {
    int rc = conn_write_pending(c);
    size_t len = 0;
    for (size_t total = 0; rc == 0 && !c->pending.len; total += len) {
        if (total >= LIMIT_WRITE_TURN_BYTES)
            return conn_arm_write(c); /* the rest after the others had their turn */
        rc = conn_pull(c, &len);
        if (rc < 0 || len == 0)
            break;
        rc = conn_write_batch(c, len);
    }
    return rc;
}

/* Says goodbye with a code and ends; nothing that is still unanswered will be. */
static void conn_fail(struct h2_conn *c, uint32_t code) {
    if (c->abuse)
        server_log_peer(c->server, LOG_connection_abuse, c->peer, c->abuse);
    if (nghttp2_session_terminate_session(c->session, code) != 0 || conn_pump(c) < 0)
        conn_free(c);
    else
        conn_linger(c);
}

static bool conn_is_done(const struct h2_conn *c) {
    return !c->pending.len && !nghttp2_session_want_read(c->session) &&
           !nghttp2_session_want_write(c->session);
}

void conn_flush(struct h2_conn *c) {
    if (c->is_over)
        return;
    if (c->abuse || c->is_broken) {
        conn_fail(c, c->abuse ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR);
        return;
    }
    if (conn_pump(c) < 0) {
        conn_free(c);
        return;
    }
    conn_settle(c);
    server_queue_turn(c->server, c);
    if (conn_is_done(c))
        conn_linger(c);
}

static void conn_on_writable(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    conn_flush(ctx);
}

/* nghttp2 gave up in the middle of the input. */
static void conn_input_failed(struct h2_conn *c, int error) {
    if (error == NGHTTP2_ERR_BAD_CLIENT_MAGIC) {
        conn_linger(c); /* not HTTP/2: there is no way to say it in a frame */
        return;
    }
    if (error == NGHTTP2_ERR_FLOODED)
        c->abuse = "acks";
    else if (error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
        c->abuse = "continuations";
    conn_fail(c, c->abuse ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR);
}

/* nghttp2 skips frames of unknown types silently; the difference of the counts shows them. */
static void conn_count_ignored(struct h2_conn *c, int64_t bytes) {
    int64_t ignored = bytes - c->useful_bytes;
    c->useful_bytes = 0;
    if (ignored <= 0)
        bucket_refund(&c->ignored, -ignored);
    else if (!bucket_take(&c->ignored, ignored, c->read_us) && !c->abuse)
        c->abuse = "ignored_bytes";
}

static void conn_on_readable(evutil_socket_t fd, short unused_arg what, void *ctx) {
    struct h2_conn *c = ctx;
    struct h2_server *s = c->server;
    bool is_eof;
    if (list_linked(&c->turn_link)) {
        loop_leave_input(s->loop); /* still readable in the next turn */
        return;
    }
    ssize_t n = socket_read(fd, s->read_space, LIMIT_READ_BYTES, &is_eof);
    if (n < 0 || is_eof) {
        conn_free(c);
        return;
    }
    if (n == LIMIT_READ_BYTES)
        loop_leave_input(s->loop);
    if (n == 0 || c->is_over)
        return;
    c->read_us = host_now().mono.us;
    ssize_t used = nghttp2_session_mem_recv(c->session, s->read_space, (size_t)n);
    if (used < 0) {
        conn_input_failed(c, (int)used);
        return;
    }
    conn_count_ignored(c, n);
    conn_settle(c);
    server_queue_turn(s, c);
    server_mark_dirty(s, c);
}

static bool conn_is_past(int64_t since_us, int64_t limit_us, int64_t now_us) {
    return since_us != 0 && now_us - since_us > limit_us;
}

static void conn_sweep_bodies(struct h2_conn *c, int64_t now_us) {
    list_for(&c->receiving, n) {
        struct h2_request_state *r = container_of(n, struct h2_request_state, link);
        if (!conn_is_past(r->active_us, LIMIT_BODY_GAP_US, now_us))
            break; /* the rest was active later */
        if (!r->is_refused)
            stream_reset(r, NGHTTP2_CANCEL);
    }
}

/* Which time limit the peer has broken, if any. */
static const char *conn_lateness(const struct h2_conn *c, int64_t now_us) {
    if (!c->is_greeted && conn_is_past(c->opened_us, LIMIT_HANDSHAKE_US, now_us))
        return "handshake";
    if (conn_is_past(c->headers_us, LIMIT_HEADERS_US, now_us))
        return "headers";
    if ((c->responding_count || c->pending.len) && conn_is_past(c->progress_us, LIMIT_STALL_US, now_us))
        return "stall";
    return NULL;
}

void conn_sweep(struct h2_conn *c, int64_t now_us) {
    if (c->is_over) {
        if (conn_is_past(c->linger_us, LIMIT_LINGER_US, now_us))
            conn_free(c);
        return;
    }
    const char *late = conn_lateness(c, now_us);
    if (late) {
        c->abuse = late;
        conn_fail(c, NGHTTP2_ENHANCE_YOUR_CALM);
        return;
    }
    if (!c->request_count && conn_is_past(c->read_us, LIMIT_IDLE_US, now_us)) {
        conn_fail(c, NGHTTP2_NO_ERROR);
        return;
    }
    if (c->drain == DRAIN_NOTICED && conn_is_past(c->drain_us, LIMIT_DRAIN_NOTICE_US, now_us))
        session_finish_drain(c);
    conn_sweep_bodies(c, now_us);
}

/* First a notice that promises nothing, so that requests on their way are still taken, and a ping;
 * when the ping comes back, nothing can be on its way any more and the final GOAWAY is true. A request of
 * which a part is missing then is refused. A peer that has not said what it speaks is told nothing. */
void conn_begin_drain(struct h2_conn *c) {
    const uint8_t mark[8] = {'d', 'r', 'a', 'i', 'n'};
    if (c->is_over || c->drain != DRAIN_NONE)
        return;
    if (!c->is_greeted) {
        conn_free(c);
        return;
    }
    c->drain = DRAIN_NOTICED;
    c->drain_us = host_now().mono.us;
    if (nghttp2_submit_shutdown_notice(c->session) != 0 ||
        nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, mark) != 0)
        c->is_broken = true;
    server_mark_dirty(c->server, c);
}

void conn_evict(struct h2_conn *c) {
    /* Whether the goodbye fits the socket does not matter: the end of the connection says the same. */
    if (!c->is_over && nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR) == 0)
        (void)conn_pump(c);
    conn_free(c);
}

/* It holds the most of all, and all hold too much. */
static void conn_give_back(struct holder *h) {
    struct h2_conn *c = container_of(h, struct h2_conn, holder);
    if (c->is_over) {
        conn_free(c);
        return;
    }
    c->abuse = "peer_bytes";
    conn_fail(c, NGHTTP2_ENHANCE_YOUR_CALM);
}

static size_t conn_unread(struct holder *h) {
    const struct h2_conn *c = container_of(h, struct h2_conn, holder);
    return c->response_bytes;
}

static int conn_watch(struct h2_conn *c) {
    struct event_base *base = loop_base(c->server->loop);
    if (event_assign(&c->read_event, base, c->fd, EV_READ | EV_PERSIST, conn_on_readable, c) < 0 ||
        event_assign(&c->write_event, base, c->fd, EV_WRITE, conn_on_writable, c) < 0)
        return ERR_INTERNAL;
    return event_add(&c->read_event, NULL) < 0 ? ERR_NO_MEMORY : 0;
}

static void conn_init(struct h2_conn *c, struct h2_server *s, int fd, const char *peer) {
    int64_t now_us = host_now().mono.us;
    c->server = s;
    c->fd = fd;
    (void)snprintf(c->peer, sizeof(c->peer), "%s", peer); /* cut when too long */
    buf_init(&c->pending, LIMIT_WRITE_SPACE_BYTES);
    struct list *lists[] = {&c->receiving, &c->ready, &c->open,   &c->just_whole,
                            &c->flushing,  &c->ended, &c->starved};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        list_init(lists[i]);
    bucket_init(&c->glitches, LIMIT_GLITCH_BURST, LIMIT_GLITCH_PER_SEC, now_us);
    bucket_init(&c->resets, LIMIT_RESET_BURST, LIMIT_RESET_PER_SEC, now_us);
    bucket_init(&c->ignored, LIMIT_IGNORED_BYTES_BURST, LIMIT_IGNORED_BYTES_PER_SEC, now_us);
    c->opened_us = c->read_us = c->progress_us = now_us;
}

int conn_new(struct h2_server *s, int fd, const char *peer, struct h2_conn **ret) {
    struct h2_conn *c = mem_zalloc(sizeof(*c));
    if (!c)
        return ERR_NO_MEMORY;
    conn_init(c, s, fd, peer);
    int rc = session_new(c);
    if (rc < 0) {
        mem_free(c);
        return rc;
    }
    rc = conn_watch(c);
    if (rc < 0) {
        nghttp2_session_del(c->session);
        mem_free(c);
        return rc;
    }
    c->holder.evict = conn_give_back;
    c->holder.unread = conn_unread;
    holder_join(&c->holder, s->budget, LIMIT_CONNECTION_COST);
    socket_tune(fd);
    *ret = c;
    return 0;
}
