/* For tests of net: a server with a scripted handler and a client, both in one loop.
 *
 *   struct rig rig;
 *   if (rig_start(&rig, MODE_ECHO)) {
 *       struct call *call = rig_call(&rig, "/x", "body", 4);
 *       rig_run(&rig, calls_done);
 *       CHECK_INT(call->status, 200);
 *   }
 *   rig_stop(&rig);
 *
 * rig_run() turns the loop until the condition holds, the client's connection
 * ends, or a generous guard time has passed (then `is_stuck`, a failed check). */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fault.h"
#include "harness.h"
#include "net/h2_int.h"

#define CALLS_MAX 1100
#define GUARD_US (20 * USEC_PER_SEC)
#define GUARD_FAULT_US (20 * USEC_PER_MS) /* --torture: what was refused memory may never happen */
#define CLIENT_SPACE 65536

enum rig_mode { MODE_ECHO, MODE_TRAILERS, MODE_PARK, MODE_PARK_EARLY, MODE_LARGE, MODE_PARTS, MODE_STREAM };

struct call {
    int32_t id;
    int status;
    char grpc_status[8];
    size_t data_frames;
    bool is_ended_by_headers; /* END_STREAM came on the first HEADERS frame */
    bool is_closed;
    uint32_t code;
    struct buf got;
    const uint8_t *send;
    size_t send_len;
    size_t send_at;
    size_t hold_at; /* the body pauses here; 0: it does not */
};

struct rig {
    struct loop *loop;
    struct h2_server *server;
    struct timer *guard;
    bool (*until)(struct rig *);
    bool has_left; /* the client is gone on purpose: the server goes on */
    bool is_stuck;
    bool has_fault;
    /* the handler */
    enum rig_mode mode;
    struct h2_request *parked[CALLS_MAX];
    size_t parked_count;
    size_t more_count; /* pieces of streams */
    size_t message_bytes; /* of one message of a stream; 0: two */
    size_t request_count, sent_count, cancel_count, lost_count, idle_count;
    size_t oversize_count;
    size_t large_bytes;
    size_t expected_bytes; /* said of each request that is parked */
    size_t body_bytes_peak;
    size_t answer_on_cancel; /* one past the parked request that on_cancel answers */
    char seen_path[64];
    char seen_method[16];
    char seen_header[32];
    /* the client */
    int fd;
    nghttp2_session *session;
    struct event *read_event;
    struct event *write_event;
    uint8_t out[2 * CLIENT_SPACE];
    size_t out_len;
    bool is_eof;
    bool has_goaway;
    uint32_t goaway_code;
    int32_t goaway_last;
    size_t pong_count;
    size_t raw_bytes;
    struct call calls[CALLS_MAX];
    size_t call_count;
    size_t closed_count;
    uint8_t space[CLIENT_SPACE];
};

static const struct h2_header rig_headers[] = {{STR("content-type"), STR("application/grpc")}};
static const struct h2_header rig_trailers[] = {{STR("grpc-status"), STR("0")}};

static inline struct h2_conn *rig_conn(struct rig *rig) {
    return list_empty(&rig->server->conns) ? NULL
                                           : container_of(rig->server->conns.next, struct h2_conn, link);
}

static inline size_t rig_body_bytes(struct rig *rig) {
    return rig_conn(rig) ? rig_conn(rig)->body_bytes : 0;
}

static void rig_answer(struct h2_request *r, struct str body) {
    struct h2_response resp = {.status = 200,
                               .headers = rig_headers,
                               .header_count = 1,
                               .trailers = rig_trailers,
                               .trailer_count = 1};
    buf_init(&resp.body, 64u << 20);
    buf_add_str(&resp.body, body);
    h2_respond(r, &resp);
}

static void rig_answer_part(struct h2_request *r, struct str body) {
    struct h2_response part = {.status = 200, .headers = rig_headers, .header_count = 1};
    do { /* an injected fault fires once */
        buf_done(&part.body);
        buf_init(&part.body, 64u << 20);
        buf_add_str(&part.body, body);
    } while (!buf_ok(&part.body));
    h2_respond_part(r, &part);
}

static void rig_answer_large(struct rig *rig, struct h2_request *r) {
    struct buf body;
    buf_init(&body, rig->large_bytes);
    uint8_t *p = buf_extend(&body, rig->large_bytes);
    if (p)
        memset(p, 'L', rig->large_bytes);
    rig_answer(r, buf_str(&body));
    buf_done(&body);
}

/* A stream of messages of the same size, each of which comes back. */
static void rig_feed(struct rig *rig, struct h2_request *r) {
    size_t n = rig->message_bytes ? rig->message_bytes : 2;
    rig->oversize_count += r->is_oversize;
    if (r->body.len >= n) {
        rig_answer_part(r, str_bytes(r->body.data, n));
        h2_consume(r, n);
    }
    if ((r->is_complete && r->body.len < n) || r->is_oversize)
        rig_answer(r, str_bytes(r->body.data, r->body.len));
}

static void rig_on_more(void *ctx, struct h2_request *r) {
    struct rig *rig = ctx;
    rig->more_count++;
    if (rig->mode == MODE_STREAM)
        rig_feed(rig, r);
}

static void rig_on_request(void *ctx, struct h2_request *r) {
    struct rig *rig = ctx;
    rig->request_count++;
    rig->oversize_count += r->is_oversize;
    rig->body_bytes_peak = MAX(rig->body_bytes_peak, rig_body_bytes(rig));
    (void)snprintf(rig->seen_path, sizeof(rig->seen_path), "%.*s", (int)r->path.n, r->path.p);
    (void)snprintf(rig->seen_method, sizeof(rig->seen_method), "%.*s", (int)r->method.n, r->method.p);
    struct str header = h2_request_header(r, "x-test");
    (void)snprintf(rig->seen_header, sizeof(rig->seen_header), "%.*s", (int)header.n,
                   header.p ? header.p : "");
    switch (rig->mode) {
    case MODE_ECHO:
        rig_answer(r, r->is_oversize ? STR("too large") : buf_str(&r->body));
        break;
    case MODE_TRAILERS:
        rig_answer(r, STR(""));
        break;
    case MODE_LARGE:
        rig_answer_large(rig, r);
        break;
    case MODE_PARTS:
        rig_answer_part(r, STR("one,"));
        rig_answer_part(r, STR("two,"));
        rig->parked[rig->parked_count++] = r;
        break;
    case MODE_STREAM:
        rig_feed(rig, r);
        break;
    case MODE_PARK_EARLY:
        h2_park(r);
        rig->parked[rig->parked_count++] = r;
        break;
    case MODE_PARK:
        if (rig->expected_bytes)
            h2_expect(r, rig->expected_bytes);
        rig->parked[rig->parked_count++] = r;
        break;
    }
}

static void rig_on_cancel(void *ctx, struct h2_request *r) {
    struct rig *rig = ctx;
    rig->cancel_count++;
    for (size_t i = 0; i < rig->parked_count; i++)
        if (rig->parked[i] == r)
            rig->parked[i] = NULL;
    if (rig->answer_on_cancel && rig->answer_on_cancel <= rig->parked_count) {
        struct h2_request *other = rig->parked[rig->answer_on_cancel - 1];
        rig->answer_on_cancel = 0;
        if (other)
            rig_answer(other, STR("too late"));
    }
}

static void rig_on_lost(void *ctx, struct h2_request unused_arg *r) {
    ((struct rig *)ctx)->lost_count++;
}

static void rig_on_sent(void *ctx, struct h2_request unused_arg *r) {
    ((struct rig *)ctx)->sent_count++;
}

static inline void rig_on_idle(void *ctx) {
    ((struct rig *)ctx)->idle_count++;
}

static inline void rig_answer_parked(struct rig *rig) {
    for (size_t i = 0; i < rig->parked_count; i++)
        if (rig->parked[i])
            rig_answer(rig->parked[i], STR("12345"));
    rig->parked_count = 0;
}

static struct call *client_call_of(struct rig *rig, int32_t id) {
    for (size_t i = 0; i < rig->call_count; i++)
        if (rig->calls[i].id == id)
            return &rig->calls[i];
    return NULL;
}

static int client_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                            size_t name_len, const uint8_t *value, size_t value_len, uint8_t unused_arg flags,
                            void unused_arg *user) {
    struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    struct str n = str_bytes(name, name_len);
    if (!call)
        return 0;
    if (str_is(n, ":status"))
        call->status = (value[0] - '0') * 100 + (value[1] - '0') * 10 + (value[2] - '0');
    if (str_is(n, "grpc-status"))
        (void)snprintf(call->grpc_status, sizeof(call->grpc_status), "%.*s", (int)value_len,
                       (const char *)value);
    return 0;
}

static int client_on_data(nghttp2_session *session, uint8_t unused_arg flags, int32_t id, const uint8_t *data,
                          size_t len, void unused_arg *user) {
    struct call *call = nghttp2_session_get_stream_user_data(session, id);
    if (call) {
        buf_add(&call->got, data, len);
        call->data_frames++;
    }
    return 0;
}

static int client_on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct rig *rig = user;
    if (frame->hd.type == NGHTTP2_GOAWAY) {
        rig->has_goaway = true;
        rig->goaway_code = frame->goaway.error_code;
        rig->goaway_last = frame->goaway.last_stream_id;
    } else if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) {
        rig->pong_count++;
    } else if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_RESPONSE) {
        struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        if (call)
            call->is_ended_by_headers = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    }
    return 0;
}

static int client_on_close(nghttp2_session unused_arg *session, int32_t id, uint32_t code, void *user) {
    struct rig *rig = user;
    struct call *call = client_call_of(rig, id);
    if (call && !call->is_closed) {
        call->is_closed = true;
        call->code = code;
        rig->closed_count++;
    }
    return 0;
}

static void client_end(struct rig *rig) {
    if (rig->fd < 0)
        return;
    event_free(rig->read_event);
    event_free(rig->write_event);
    close(rig->fd);
    rig->fd = -1;
}

static void client_put(struct rig *rig, const void *data, size_t len) {
    ensure(len <= sizeof(rig->out) - rig->out_len);
    memcpy(rig->out + rig->out_len, data, len);
    rig->out_len += len;
}

/* All that the session has to say, in few writes: what tests submit together arrives together. */
static void client_pull(struct rig *rig) {
    const uint8_t *chunk;
    ssize_t n = 1;
    while (rig->session && n > 0 && rig->out_len < CLIENT_SPACE) {
        n = nghttp2_session_mem_send(rig->session, &chunk);
        if (n > 0)
            client_put(rig, chunk, (size_t)n);
    }
}

static void client_pump(struct rig *rig) {
    while (rig->fd >= 0) {
        client_pull(rig);
        if (!rig->out_len)
            return;
        ssize_t sent = send(rig->fd, rig->out, rig->out_len, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EAGAIN)
                event_add(rig->write_event, NULL);
            return; /* a dead socket shows up when reading */
        }
        rig->out_len -= (size_t)sent;
        memmove(rig->out, rig->out + sent, rig->out_len);
    }
}

static void client_on_writable(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    client_pump(ctx);
}

static void client_on_readable(evutil_socket_t fd, short unused_arg what, void *ctx) {
    struct rig *rig = ctx;
    ssize_t n = recv(fd, rig->space, sizeof(rig->space), 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        rig->is_eof = true;
        client_end(rig);
        return;
    }
    rig->raw_bytes += (size_t)n;
    if (rig->session && nghttp2_session_mem_recv(rig->session, rig->space, (size_t)n) < 0)
        rig->is_stuck = true;
    client_pump(rig);
}

static inline bool client_connect(struct rig *rig) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(h2_server_port(rig->server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct event_base *base = loop_base(rig->loop);
    rig->is_eof = false;
    rig->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(rig->fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(rig->fd);
        rig->fd = -1;
        return false;
    }
    evutil_make_socket_nonblocking(rig->fd);
    setsockopt(rig->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    rig->read_event = event_new(base, rig->fd, EV_READ | EV_PERSIST, client_on_readable, rig);
    rig->write_event = event_new(base, rig->fd, EV_WRITE, client_on_writable, rig);
    event_add(rig->read_event, NULL);
    return true;
}

/* window: what the server may send on a stream before it is granted more. */
static inline void client_greet(struct rig *rig, uint32_t window) {
    nghttp2_session_callbacks *cb;
    nghttp2_session_callbacks_new(&cb);
    nghttp2_session_callbacks_set_on_header_callback(cb, client_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, client_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, client_on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, client_on_close);
    nghttp2_session_client_new(&rig->session, cb, rig);
    nghttp2_session_callbacks_del(cb);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window}};
    nghttp2_submit_settings(rig->session, NGHTTP2_FLAG_NONE, settings, 1);
}

static ssize_t client_read_body(nghttp2_session unused_arg *session, int32_t unused_arg id, uint8_t *space,
                                size_t length, uint32_t *flags, nghttp2_data_source *source,
                                void unused_arg *user) {
    struct call *call = source->ptr;
    if (call->hold_at && call->send_at == call->hold_at)
        return NGHTTP2_ERR_DEFERRED;
    size_t end = call->hold_at ? call->hold_at : call->send_len;
    size_t n = MIN(length, end - call->send_at);
    memcpy(space, call->send + call->send_at, n);
    call->send_at += n;
    if (call->send_at == call->send_len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv client_nv(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

/* The body must stay in place until the call is over. */
static inline struct call *rig_call_held(struct rig *rig, const char *path, const void *body, size_t len,
                                         size_t hold_at) {
    struct call *call = &rig->calls[rig->call_count++];
    nghttp2_nv nv[] = {client_nv(":method", "POST"),     client_nv(":path", path),
                       client_nv(":scheme", "http"),     client_nv(":authority", "test"),
                       client_nv("te", "trailers"),      client_nv("content-type", "application/grpc"),
                       client_nv("x-test", "some value")};
    nghttp2_data_provider source = {.source.ptr = call, .read_callback = client_read_body};
    *call = (struct call){.send = body, .send_len = len, .hold_at = hold_at};
    buf_init(&call->got, 64u << 20);
    call->id = nghttp2_submit_request(rig->session, NULL, nv, ARRAY_LEN(nv), len ? &source : NULL, call);
    client_pump(rig);
    return call;
}

static inline struct call *rig_call(struct rig *rig, const char *path, const void *body, size_t len) {
    return rig_call_held(rig, path, body, len, 0);
}

static inline void rig_reset(struct rig *rig, const struct call *call) {
    nghttp2_submit_rst_stream(rig->session, NGHTTP2_FLAG_NONE, call->id, NGHTTP2_CANCEL);
}

static inline void client_send_raw(struct rig *rig, const void *data, size_t len) {
    client_put(rig, data, len);
    client_pump(rig);
}

static void rig_on_guard(void *ctx) {
    struct rig *rig = ctx;
    rig->is_stuck = true;
    loop_stop(rig->loop);
}

static void rig_arm_guard(struct rig *rig) {
    rig->has_fault = fault_fired();
    timer_set(rig->guard, rig->has_fault ? GUARD_FAULT_US : GUARD_US);
}

static void rig_on_turn(void *ctx) {
    struct rig *rig = ctx;
    rig->body_bytes_peak = MAX(rig->body_bytes_peak, rig_body_bytes(rig));
    if (!rig->has_fault && fault_fired())
        rig_arm_guard(rig);
    if (rig->until(rig) || (rig->fd < 0 && !rig->has_left))
        loop_stop(rig->loop);
}

static inline void rig_run(struct rig *rig, bool (*until)(struct rig *)) {
    if (rig->is_stuck || until(rig))
        return;
    rig->until = until;
    client_pump(rig);
    rig_arm_guard(rig);
    CHECK_INT(loop_run(rig->loop), 0);
    timer_clear(rig->guard);
    CHECK(!rig->is_stuck);
}

static inline bool rig_open(struct rig *rig, enum rig_mode mode) {
    static const char *const streams[] = {"/stream", NULL};
    struct h2_handler handler = {rig_on_request, rig_on_cancel, rig_on_lost, rig_on_sent, rig,
                                 NULL,           rig_on_more,   streams};
    struct err err = {0};
    memset(rig, 0, sizeof(*rig));
    rig->fd = -1;
    rig->mode = mode;
    if (!CHECK_INT(loop_new(&rig->loop), 0) ||
        !CHECK_INT(timer_new(rig->loop, rig_on_guard, rig, &rig->guard), 0) ||
        !CHECK_INT(h2_server_new(rig->loop, "127.0.0.1:0", &handler, NULL, &rig->server, &err), 0))
        return false;
    loop_on_turn(rig->loop, rig_on_turn, rig);
    return CHECK(client_connect(rig));
}

static inline bool rig_start(struct rig *rig, enum rig_mode mode) {
    if (!rig_open(rig, mode))
        return false;
    client_greet(rig, 1u << 20);
    return true;
}

static inline void rig_stop(struct rig *rig) {
    h2_server_free(rig->server);
    client_end(rig);
    nghttp2_session_del(rig->session);
    for (size_t i = 0; i < rig->call_count; i++)
        buf_done(&rig->calls[i].got);
    timer_free(rig->guard);
    loop_free(rig->loop);
}

static inline bool calls_done(struct rig *rig) {
    return rig->closed_count == rig->call_count;
}

/* Also when some were reset before they were whole, as happens under --torture. */
static inline bool requests_arrived(struct rig *rig) {
    return rig->request_count + rig->closed_count >= rig->call_count;
}

static inline bool outcomes_known(struct rig *rig) {
    return requests_arrived(rig) &&
           rig->sent_count + rig->cancel_count + rig->lost_count == rig->request_count;
}

static inline bool client_ended(struct rig *rig) {
    return rig->is_eof;
}
