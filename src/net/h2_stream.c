/* One request: from its first header to the outcome that its handler hears.
 *
 * The happy path: headers and body collect in RECEIVING, the whole request (of a
 * stream its first bytes) is READY, conn_dispatch() hands it over and it is WAITING, h2_respond() makes it
 * RESPONDING, and once nghttp2 has given out the last frame it is FLUSHING until
 * the kernel has taken that frame: on_sent.
 *
 * A stream that closes earlier ends as nothing (the handler never saw it), as
 * on_cancel (no answer was given) or as on_lost (one was). The handler may still
 * answer a request whose stream has just closed, because it is told a little
 * later; that answer is dropped and counts as lost.
 *
 * Bodies are bounded by window. Every stream may send STREAM_WINDOW_BYTES; more
 * is granted while the connection holds less than CONN_BODY_BYTES, and beyond
 * that to one favoured stream at a time, so that some request always gets
 * finished and its memory comes back. One that is parked (h2_park) is favoured
 * no longer: it may wait for what another one brings. A stream of messages gets
 * no more while a window's worth of it has not been consumed. */
#include "net/h2_int.h"

#include <stdio.h>

static struct h2_request_state *stream_of_starved(struct list *n) {
    return container_of(n, struct h2_request_state, starved_link);
}

static struct h2_request_state *stream_request(struct list *n) {
    return container_of(n, struct h2_request_state, link);
}

static void stream_set_phase(struct h2_request_state *r, enum request_phase phase) {
    struct h2_conn *c = r->req.conn;
    ensure(phase > r->phase);
    if (r->phase == REQUEST_RESPONDING)
        c->responding_count--;
    if (phase == REQUEST_RESPONDING && c->responding_count++ == 0)
        c->progress_us = host_now().mono.us;
    if (phase == REQUEST_RESPONDING)
        c->answered_held += r->held;
    r->phase = phase;
}

/* Updates the memory that the connection is charged for this request. */
static void stream_count(struct h2_request_state *r) {
    size_t held = LIMIT_STREAM_COST + r->req.arena.held + r->req.body.cap + r->response.cap;
    holder_change(&r->req.conn->holder, r->held, held);
    if (r->phase >= REQUEST_RESPONDING)
        r->req.conn->answered_held += held - r->held;
    r->held = held;
}

struct h2_request_state *stream_new(struct h2_conn *c, int32_t stream_id) {
    struct h2_request_state *r = mem_zalloc(sizeof(*r));
    if (!r)
        return NULL;
    r->req.conn = c;
    r->req.stream_id = stream_id;
    r->req.state = r;
    arena_init(&r->req.arena, LIMIT_ARENA_BYTES_MAX);
    buf_init(&r->req.body, LIMIT_BODY_BYTES_MAX);
    r->active_us = c->read_us;
    list_append(&c->receiving, &r->link);
    c->request_count++;
    stream_count(r);
    return r;
}

static bool conn_has_room(const struct h2_conn *c) {
    return c->body_bytes < LIMIT_CONN_BODY_BYTES;
}

static void stream_grant(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    size_t n = r->ungranted;
    r->ungranted = 0;
    if (r->is_closed || c->is_over)
        return;
    int rv = nghttp2_session_consume_stream(c->session, r->req.stream_id, n);
    bool is_large = !r->is_stream && r->req.body.len >= LIMIT_STREAM_WINDOW_BYTES / 2;
    if (rv == 0 && is_large && !r->is_wide && c->wide_count < LIMIT_WIDE_STREAMS_MAX) {
        r->is_wide = true;
        c->wide_count++;
        rv = nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, r->req.stream_id,
                                                   LIMIT_WIDE_WINDOW_BYTES);
    }
    if (rv != 0)
        c->is_broken = true;
    server_mark_dirty(c->server, c);
}

static void stream_ask_window(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    if (!conn_has_room(c) && !c->favoured)
        c->favoured = r;
    if (conn_has_room(c) || c->favoured == r)
        stream_grant(r);
    else if (!list_linked(&r->starved_link))
        list_append(&c->starved, &r->starved_link);
}

static void conn_feed_starved(struct h2_conn *c) {
    while (!list_empty(&c->starved) && (conn_has_room(c) || !c->favoured))
        stream_ask_window(stream_of_starved(list_pop(&c->starved)));
}

/* The body is complete: its share of the window goes to the streams that wait for one. */
static void stream_end_body(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    buf_done(&r->req.body);
    buf_init(&r->req.body, LIMIT_BODY_BYTES_MAX);
    list_remove(&r->starved_link);
    if (c->favoured == r)
        c->favoured = NULL;
    if (!c->is_over)
        conn_feed_starved(c);
}

void h2_park(struct h2_request *req) {
    stream_end_body(req->state);
    stream_count(req->state);
}

static void stream_release_body(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    c->body_bytes -= r->body_held;
    r->body_held = 0;
    stream_end_body(r);
}

static void stream_release_response(struct h2_request_state *r) {
    r->req.conn->response_bytes -= r->response.len;
    buf_done(&r->response);
    mem_free(take(&r->trailers));
    stream_count(r);
}

void h2_expect(struct h2_request *req, size_t bytes) {
    struct h2_request_state *r = req->state;
    struct h2_conn *c = r->req.conn;
    c->expected_bytes = c->expected_bytes - r->expected + bytes;
    r->expected = bytes;
}

static void stream_free(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    h2_expect(&r->req, 0);
    list_remove(&r->link);
    stream_release_body(r);
    stream_release_response(r);
    if (r->phase == REQUEST_RESPONDING)
        c->responding_count--;
    if (r->is_wide)
        c->wide_count--;
    c->request_count--;
    if (r->phase >= REQUEST_RESPONDING)
        c->answered_held -= r->held;
    holder_change(&c->holder, r->held, 0);
    arena_done(&r->req.arena);
    mem_free(r);
}

static int stream_grow_headers(struct h2_request_state *r) {
    size_t capacity = r->header_capacity ? r->header_capacity * 2 : LIMIT_HEADERS_INITIAL;
    struct h2_header *grown = arena_array(&r->req.arena, struct h2_header, capacity);
    if (!grown)
        return ERR_NO_MEMORY;
    if (r->req.header_count)
        memcpy(grown, r->req.headers, r->req.header_count * sizeof(*grown));
    r->req.headers = grown;
    r->header_capacity = capacity;
    return 0;
}

static bool stream_is_header_read(const struct h2_handler *h, struct str name) {
    for (const char *const *read = h->headers; read && *read; read++)
        if (str_is(name, *read))
            return true;
    return !h->headers || str_is(name, ":method") || str_is(name, ":path");
}

int stream_add_header(struct h2_request_state *r, struct str name, struct str value) {
    if (!stream_is_header_read(&r->req.conn->server->handler, name))
        return 0;
    if (r->has_headers || r->is_header_overflow)
        return 0; /* what comes after the body could not be told from headers */
    struct str copy = {arena_strndup(&r->req.arena, value.p, value.n), value.n};
    if (!copy.p)
        return ERR_NO_MEMORY;
    if (str_is(name, ":method"))
        r->req.method = copy;
    else if (str_is(name, ":path"))
        r->req.path = copy;
    if (name.n && name.p[0] == ':')
        return 0;

    if (r->req.header_count == r->header_capacity && stream_grow_headers(r) < 0)
        return ERR_NO_MEMORY;
    const char *name_copy = arena_strndup(&r->req.arena, name.p, name.n);
    if (!name_copy)
        return ERR_NO_MEMORY;
    r->req.headers[r->req.header_count++] = (struct h2_header){{name_copy, name.n}, copy};
    return 0;
}

static int stream_submit(struct h2_request_state *r, const struct h2_response *resp);

static bool stream_is_stream_path(const struct h2_handler *h, struct str path) {
    for (const char *const *each = h->streams; each && *each; each++)
        if (str_is(path, *each))
            return true;
    return false;
}

int stream_headers_done(struct h2_request_state *r) {
    if (!r->has_headers)
        r->is_stream = stream_is_stream_path(&r->req.conn->server->handler, r->req.path);
    r->has_headers = true;
    stream_count(r);
    if (r->phase != REQUEST_RECEIVING || !r->is_header_overflow)
        return 0;
    struct h2_response too_large = {.status = 431};
    stream_set_phase(r, REQUEST_RESPONDING);
    list_remove(&r->link);
    list_append(&r->req.conn->open, &r->link);
    return stream_submit(r, &too_large);
}

static void stream_ready(struct h2_request_state *r) {
    stream_set_phase(r, REQUEST_READY);
    list_remove(&r->link);
    list_append(&r->req.conn->ready, &r->link);
    if (!r->is_stream) /* of which more will come */
        list_remove(&r->starved_link);
}

/* Something for the handler of a stream that it has. */
static void stream_report_more(struct h2_request_state *r) {
    list_remove(&r->link);
    list_append(&r->req.conn->ready, &r->link);
}

static bool stream_may_grow(const struct h2_request_state *r) {
    return !r->is_stream || r->req.body.len < LIMIT_STREAM_WINDOW_BYTES;
}

static bool stream_wants_body(const struct h2_request_state *r) {
    if (r->is_refused || r->is_remote_done || r->req.is_oversize)
        return false;
    return r->phase == REQUEST_RECEIVING ||
           (r->is_stream && (r->phase == REQUEST_READY || r->phase == REQUEST_WAITING));
}

static int stream_keep_body(struct h2_request_state *r, const uint8_t *data, size_t len) {
    struct h2_conn *c = r->req.conn;
    if (!holder_is_welcome(&c->holder)) {
        c->holder.budget->streams_refused++;
        stream_reset(r, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    buf_add(&r->req.body, data, len);
    if (!buf_ok(&r->req.body))
        return ERR_NO_MEMORY;
    r->body_held += len;
    c->body_bytes += len;
    stream_count(r);
    r->active_us = c->read_us;
    r->ungranted += len;
    if (stream_may_grow(r))
        stream_ask_window(r);
    if (r->phase == REQUEST_WAITING) {
        stream_report_more(r);
    } else if (r->phase == REQUEST_RECEIVING) {
        list_remove(&r->link);
        list_append(&c->receiving, &r->link);
        if (r->is_stream)
            stream_ready(r);
    }
    return 0;
}

int stream_add_body(struct h2_request_state *r, const uint8_t *data, size_t len) {
    struct h2_conn *c = r->req.conn;
    if (nghttp2_session_consume_connection(c->session, len) != 0)
        c->is_broken = true;
    if (stream_wants_body(r)) {
        if (len <= LIMIT_BODY_BYTES_MAX - r->req.body.len)
            return stream_keep_body(r, data, len);
        r->req.is_oversize = true; /* but for streams, whose window is smaller */
        stream_ready(r);
    }
    /* Drain the body of a refused request. */
    return nghttp2_session_consume_stream(c->session, r->req.stream_id, len) == 0 ? 0 : ERR_NO_MEMORY;
}

void stream_remote_done(struct h2_request_state *r) {
    r->is_remote_done = r->req.is_complete = true;
    if (r->phase == REQUEST_RECEIVING && !r->is_refused)
        stream_ready(r);
    else if (r->is_stream && r->phase == REQUEST_WAITING && !r->is_refused)
        stream_report_more(r);
}

void stream_reset(struct h2_request_state *r, uint32_t code) {
    struct h2_conn *c = r->req.conn;
    r->is_refused = true;
    if (nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, r->req.stream_id, code) != 0)
        c->is_broken = true;
    server_mark_dirty(c->server, c);
}

void conn_refuse_unfinished(struct h2_conn *c) {
    list_for(&c->receiving, n) {
        struct h2_request_state *r = stream_request(n);
        if (!r->is_refused)
            stream_reset(r, NGHTTP2_REFUSED_STREAM);
    }
}

bool conn_can_dispatch(const struct h2_conn *c) {
    return !list_empty(&c->ready) && !c->is_over && !c->abuse &&
           c->response_bytes < LIMIT_RESPONSE_BYTES_HELD &&
           c->answered_held + c->expected_bytes < LIMIT_RESPONSE_BYTES_HELD;
}

void conn_dispatch(struct h2_conn *c) {
    struct h2_server *s = c->server;
    struct h2_request_state *r = stream_request(list_pop(&c->ready));
    list_append(&c->open, &r->link);
    r->has_consumed = false;
    if (!r->is_dispatched) {
        stream_set_phase(r, REQUEST_WAITING);
        r->is_dispatched = true;
        bucket_refund(&c->glitches, LIMIT_GLITCH_REFUND_REQUEST);
        s->handler.on_request(s->handler.ctx, &r->req);
    } else if (r->phase == REQUEST_WAITING) { /* it may have been answered since it got news */
        s->handler.on_more(s->handler.ctx, &r->req);
    }
    stream_count(r);
    if (r->has_consumed && r->req.body.len && r->phase == REQUEST_WAITING && !r->is_closed)
        stream_report_more(r);
}

/* A message of a stream pays for frames as a request of its own would. */
void h2_consume(struct h2_request *req, size_t n) {
    struct h2_request_state *r = req->state;
    struct h2_conn *c = req->conn;
    ensure(r->is_stream && n && n <= req->body.len);
    memmove(req->body.data, req->body.data + n, req->body.len - n);
    buf_truncate(&req->body, req->body.len - n);
    r->has_consumed = true;
    r->body_held -= n;
    c->body_bytes -= n;
    if (c->favoured == r)
        c->favoured = NULL;
    bucket_refund(&c->glitches, LIMIT_GLITCH_REFUND_REQUEST);
    if (c->is_over)
        return;
    conn_feed_starved(c);
    if (r->ungranted && stream_may_grow(r))
        stream_ask_window(r);
}

struct str h2_request_header(const struct h2_request *req, const char *name) {
    for (size_t i = 0; i < req->header_count; i++)
        if (str_is(req->headers[i].name, name))
            return req->headers[i].value;
    return (struct str){NULL, 0};
}

static nghttp2_nv stream_nv(struct str name, struct str value) {
    /* nghttp2 only reads through these; its type has no const. */
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n, value.n,
                        NGHTTP2_NV_FLAG_NONE};
}

static struct str stream_copy_text(uint8_t **space, struct str s) {
    uint8_t *at = *space;
    if (s.n)
        memcpy(at, s.p, s.n);
    *space += s.n;
    return str_bytes(at, s.n);
}

/* Apart from the arena: a request that used up its arena must still get its status. */
static int stream_keep_trailers(struct h2_request_state *r, const struct h2_header *trailers, size_t count) {
    size_t size = count * sizeof(nghttp2_nv);
    for (size_t i = 0; i < count; i++)
        size += trailers[i].name.n + trailers[i].value.n;
    r->trailers = mem_alloc(size);
    if (!r->trailers)
        return ERR_NO_MEMORY;
    uint8_t *space = (uint8_t *)(r->trailers + count);
    for (size_t i = 0; i < count; i++) {
        struct str name = stream_copy_text(&space, trailers[i].name);
        r->trailers[i] = stream_nv(name, stream_copy_text(&space, trailers[i].value));
    }
    r->trailer_count = count;
    return 0;
}

static ssize_t stream_read_response(nghttp2_session *session, int32_t stream_id, uint8_t *space,
                                    size_t length, uint32_t *flags, nghttp2_data_source *source,
                                    void unused_arg *user) {
    struct h2_request_state *r = source->ptr;
    size_t n = MIN(length, r->response.len - r->response_sent);
    if (n == 0 && r->is_unfinished)
        return NGHTTP2_ERR_DEFERRED; /* until stream_resume() */
    if (n)
        memcpy(space, r->response.data + r->response_sent, n);
    r->response_sent += n;
    if (r->response_sent < r->response.len || r->is_unfinished)
        return (ssize_t)n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (r->trailer_count) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (nghttp2_submit_trailer(session, stream_id, r->trailers, r->trailer_count) != 0)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return (ssize_t)n;
}

/* The headers of resp, and its trailers when there is no body; the body itself is in r->response. */
static int stream_submit(struct h2_request_state *r, const struct h2_response *resp) {
    nghttp2_nv nv[LIMIT_RESPONSE_HEADERS_MAX];
    size_t count = 0;
    char status[16];
    ensure(1 + resp->header_count + resp->trailer_count <= ARRAY_LEN(nv));
    int digits = snprintf(status, sizeof(status), "%d", resp->status);
    nv[count++] = stream_nv(STR(":status"), str_bytes(status, (size_t)digits));
    for (size_t i = 0; i < resp->header_count; i++)
        nv[count++] = stream_nv(resp->headers[i].name, resp->headers[i].value);

    bool has_body = r->response.len > 0;
    if (!has_body)
        for (size_t i = 0; i < resp->trailer_count; i++)
            nv[count++] = stream_nv(resp->trailers[i].name, resp->trailers[i].value);
    else if (resp->trailer_count && stream_keep_trailers(r, resp->trailers, resp->trailer_count) < 0)
        return ERR_NO_MEMORY;

    struct h2_conn *c = r->req.conn;
    nghttp2_data_provider body = {.source.ptr = r, .read_callback = stream_read_response};
    int rv = nghttp2_submit_response(c->session, r->req.stream_id, nv, count, has_body ? &body : NULL);
    server_mark_dirty(c->server, c);
    return rv == 0 ? 0 : ERR_NO_MEMORY;
}

/* The peer has asked for more than it reads. Other answers wait already, so this one is not kept. Before its
 * first part nghttp2 knows nothing of the answer, and the request can end now instead of when the peer reads
 * on. */
static void stream_drop_response(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    c->holder.budget->responses_dropped++;
    stream_release_response(r);
    stream_reset(r, NGHTTP2_ENHANCE_YOUR_CALM);
    if (r->has_parts)
        return;
    (void)nghttp2_session_set_stream_user_data(c->session, r->req.stream_id, NULL); /* the stream exists */
    r->is_closed = true;
    list_remove(&r->link);
    list_append(&c->ended, &r->link);
}

/* Behind what is still to be sent. False when the peer will not read it. */
static bool stream_take_body(struct h2_request_state *r, struct buf *body) {
    struct h2_conn *c = r->req.conn;
    h2_expect(&r->req, 0);
    if (r->is_closed || c->is_over) {
        buf_done(body);
        return false;
    }
    c->response_bytes += body->len;
    if (r->response_sent == r->response.len) {
        c->response_bytes -= r->response.len;
        buf_done(&r->response);
        r->response = *body;
        r->response_sent = 0;
        buf_init(body, 0);
    } else {
        size_t before = r->response.len;
        buf_add_str(&r->response, buf_str(body));
        c->response_bytes -= body->len - (r->response.len - before); /* what memory had no room for */
        buf_done(body);
    }
    stream_count(r);
    if (c->response_bytes <= LIMIT_RESPONSE_BYTES_MAX || c->response_bytes == r->response.len)
        return true;
    stream_drop_response(r);
    return false;
}

/* When nothing was waited for, nghttp2 is still sending what came before, and will come to this. */
static int stream_resume(struct h2_request_state *r, const struct h2_response *resp) {
    struct h2_conn *c = r->req.conn;
    if (!buf_ok(&r->response))
        return ERR_NO_MEMORY;
    if (!r->is_unfinished && resp->trailer_count &&
        stream_keep_trailers(r, resp->trailers, resp->trailer_count) < 0)
        return ERR_NO_MEMORY;
    (void)nghttp2_session_resume_data(c->session, r->req.stream_id);
    server_mark_dirty(c->server, c);
    return 0;
}

static void stream_respond(struct h2_request_state *r, struct h2_response *resp) {
    if (!stream_take_body(r, &resp->body))
        return;
    int rc = r->has_parts ? stream_resume(r, resp) : stream_submit(r, resp);
    r->has_parts = true;
    if (rc < 0)
        stream_reset(r, NGHTTP2_INTERNAL_ERROR);
}

void h2_respond(struct h2_request *req, struct h2_response *resp) {
    ensure(req->state->phase == REQUEST_WAITING);
    stream_set_phase(req->state, REQUEST_RESPONDING);
    req->state->is_unfinished = false;
    stream_respond(req->state, resp);
}

void h2_respond_part(struct h2_request *req, struct h2_response *part) {
    ensure(req->state->phase == REQUEST_WAITING && part->body.len > 0);
    req->state->is_unfinished = true;
    stream_respond(req->state, part);
}

void stream_response_whole(struct h2_request_state *r) {
    r->is_response_whole = true;
    /* The answer came before the end of the question: the peer need not send the rest. */
    if (!r->is_remote_done)
        stream_reset(r, NGHTTP2_NO_ERROR);
}

void stream_closed(struct h2_request_state *r) {
    struct h2_conn *c = r->req.conn;
    r->is_closed = true;
    if (r->phase == REQUEST_RECEIVING || r->phase == REQUEST_READY) {
        stream_free(r);
        return;
    }
    list_remove(&r->link);
    if (r->is_response_whole) {
        stream_set_phase(r, REQUEST_FLUSHING);
        stream_release_response(r);
        list_append(&c->just_whole, &r->link);
    } else {
        list_append(&c->ended, &r->link);
    }
}

void conn_mark_whole(struct h2_conn *c) {
    struct list *n;
    while ((n = list_pop(&c->just_whole))) {
        stream_request(n)->mark = c->pulled;
        list_append(&c->flushing, n);
    }
}

static void stream_report_end(struct h2_request_state *r, void (*fn)(void *ctx, struct h2_request *req)) {
    if (r->is_dispatched)
        fn(r->req.conn->server->handler.ctx, &r->req);
    stream_free(r);
}

void conn_settle(struct h2_conn *c) {
    const struct h2_handler *h = &c->server->handler;
    while (!list_empty(&c->flushing) && stream_request(c->flushing.next)->mark <= c->written)
        stream_report_end(stream_request(list_pop(&c->flushing)), h->on_sent);
    struct list *n;
    while ((n = list_pop(&c->ended))) {
        struct h2_request_state *r = stream_request(n);
        stream_report_end(r, r->phase == REQUEST_WAITING ? h->on_cancel : h->on_lost);
    }
}

static void stream_move_list(struct list *to, struct list *from) {
    struct list *n;
    while ((n = list_pop(from)))
        list_append(to, n);
}

void conn_end_requests(struct h2_conn *c) {
    struct list *n;
    c->is_over = true;
    conn_mark_whole(c);
    conn_settle(c);
    while ((n = list_pop(&c->receiving)))
        stream_free(stream_request(n));
    while ((n = list_pop(&c->ready))) {
        if (stream_request(n)->is_dispatched)
            list_append(&c->open, n);
        else
            stream_free(stream_request(n));
    }
    stream_move_list(&c->ended, &c->open);
    stream_move_list(&c->ended, &c->flushing);
    conn_settle(c);
    ensure(c->request_count == 0);
}
