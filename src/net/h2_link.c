/* One connection of a client: a socket, an nghttp2 session, the exchanges on it.
 *
 * The happy path: the name is looked up, a socket connects without blocking, and
 * requests that were submitted meanwhile leave when it is connected. An address
 * that refuses is followed by the next one that the name means. Responses collect
 * in their exchanges; a stream that closes ends its exchange.
 *
 * The link ends when its socket does, when the server breaks the protocol, or
 * when it was told to go (GOAWAY) and the last exchange is over. Whatever is open
 * then ends too; what the server had certainly not begun is marked unseen. */
#include "net/h2_link.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEADERS_FIRST 8 /* slots for response headers made at first */
#define REQUEST_HEADERS_MAX (LIMIT_RESPONSE_HEADERS_MAX)

static struct h2_exchange *link_exchange(nghttp2_session *session, int32_t stream_id) {
    return stream_id ? nghttp2_session_get_stream_user_data(session, stream_id) : NULL;
}

/* frames from the server */

static int exchange_fail(struct h2_link *l, struct h2_exchange *x, int rc) {
    if (x->rc == 0)
        x->rc = rc;
    link_reset(l, x);
    return 0;
}

static int exchange_add_header(struct h2_exchange *x, struct str name, struct str value) {
    if (x->header_count == x->header_capacity) {
        size_t capacity = x->header_capacity ? x->header_capacity * 2 : HEADERS_FIRST;
        struct h2_header *grown = arena_array(&x->arena, struct h2_header, capacity);
        if (!grown)
            return ERR_NO_MEMORY;
        if (x->header_count)
            memcpy(grown, x->headers, x->header_count * sizeof(*grown));
        x->headers = grown;
        x->header_capacity = capacity;
    }
    struct h2_header h = {{arena_strndup(&x->arena, name.p, name.n), name.n},
                          {arena_strndup(&x->arena, value.p, value.n), value.n}};
    if (!h.name.p || !h.value.p)
        return ERR_NO_MEMORY;
    x->headers[x->header_count++] = h;
    return 0;
}

static int link_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                          size_t name_len, const uint8_t *value, size_t value_len, uint8_t unused_arg flags,
                          void *user) {
    struct h2_exchange *x = link_exchange(session, frame->hd.stream_id);
    int64_t status;
    if (!x || !x->on_end || x->rc)
        return 0;
    x->header_bytes += name_len + value_len;
    if (x->header_bytes > LIMIT_HEADER_LIST_BYTES_MAX)
        return exchange_fail(user, x, ERR_TOO_LARGE);
    if (str_is(str_bytes(name, name_len), ":status")) {
        /* nghttp2 lets only three digits through. */
        x->status = str_to_i64(str_bytes(value, value_len), &status) == 0 ? (int)status : 0;
        return 0;
    }
    int rc = exchange_add_header(x, str_bytes(name, name_len), str_bytes(value, value_len));
    return rc < 0 ? exchange_fail(user, x, rc) : 0;
}

static int link_on_data_chunk(nghttp2_session *session, uint8_t unused_arg flags, int32_t stream_id,
                              const uint8_t *data, size_t len, void *user) {
    struct h2_exchange *x = link_exchange(session, stream_id);
    if (!x || !x->on_end || x->rc)
        return 0;
    if (len > x->body.max - x->body.len)
        return exchange_fail(user, x, ERR_TOO_LARGE);
    buf_add(&x->body, data, len);
    return buf_ok(&x->body) ? 0 : exchange_fail(user, x, ERR_NO_MEMORY);
}

static int link_on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct h2_link *l = user;
    bool can_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    if (frame->hd.type == NGHTTP2_GOAWAY && l->client->current == l)
        l->client->current = NULL; /* its open exchanges may finish */
    if (!can_end || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    struct h2_exchange *x = link_exchange(session, frame->hd.stream_id);
    if (x)
        x->is_whole = true;
    return 0;
}

static int link_on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame,
                                  int unused_arg lib_error_code, void unused_arg *user) {
    struct h2_exchange *x = link_exchange(session, frame->hd.stream_id);
    if (x && frame->hd.type == NGHTTP2_HEADERS)
        x->is_unseen = true;
    return 0;
}

static int link_reset_meaning(uint32_t code) {
    switch (code) {
    case NGHTTP2_REFUSED_STREAM:
    case NGHTTP2_ENHANCE_YOUR_CALM:
        return ERR_UNAVAILABLE;
    case NGHTTP2_CANCEL:
        return ERR_CANCELLED;
    default:
        return ERR_INTERNAL;
    }
}

static int link_on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t code,
                                void unused_arg *user) {
    struct h2_exchange *x = link_exchange(session, stream_id);
    if (!x)
        return 0;
    x->reset_code = code;
    if (code == NGHTTP2_REFUSED_STREAM)
        x->is_unseen = true;
    exchange_ended(x, x->is_whole ? 0 : x->is_unseen ? ERR_UNAVAILABLE : link_reset_meaning(code));
    return 0;
}

int link_callbacks_new(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option) {
    nghttp2_session_callbacks *cb;
    if (nghttp2_session_callbacks_new(&cb) != 0)
        return ERR_NO_MEMORY;
    if (nghttp2_option_new(ret_option) != 0) {
        nghttp2_session_callbacks_del(cb);
        return ERR_NO_MEMORY;
    }
    nghttp2_option_set_no_closed_streams(*ret_option, 1);
    nghttp2_option_set_max_continuations(*ret_option, LIMIT_CONTINUATIONS_MAX);
    nghttp2_session_callbacks_set_on_header_callback(cb, link_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, link_on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, link_on_frame_recv);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, link_on_frame_not_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, link_on_stream_close);
    *ret_callbacks = cb;
    return 0;
}

/* what we send */

static ssize_t link_read_request(nghttp2_session unused_arg *session, int32_t unused_arg stream_id,
                                 uint8_t *space, size_t length, uint32_t *flags, nghttp2_data_source *source,
                                 void unused_arg *user) {
    struct h2_exchange *x = source->ptr;
    size_t n = MIN(length, x->request.len - x->request_sent);
    memcpy(space, x->request.data + x->request_sent, n);
    x->request_sent += n;
    if (x->request_sent == x->request.len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv link_nv(struct str name, struct str value) {
    /* nghttp2 only reads through these; its type has no const. */
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name.p, (uint8_t *)(uintptr_t)value.p, name.n, value.n,
                        NGHTTP2_NV_FLAG_NONE};
}

int link_submit(struct h2_link *l, struct h2_exchange *x, const struct h2_question *q) {
    nghttp2_nv nv[4 + REQUEST_HEADERS_MAX];
    size_t count = 0;
    ensure(q->header_count <= REQUEST_HEADERS_MAX);
    nv[count++] = link_nv(STR(":method"), STR("POST"));
    nv[count++] = link_nv(STR(":scheme"), STR("http"));
    nv[count++] = link_nv(STR(":path"), q->path);
    nv[count++] = link_nv(STR(":authority"), str_of(l->client->address));
    for (size_t i = 0; i < q->header_count; i++)
        nv[count++] = link_nv(q->headers[i].name, q->headers[i].value);
    nghttp2_data_provider body = {.source.ptr = x, .read_callback = link_read_request};
    int32_t id = nghttp2_submit_request(l->session, NULL, nv, count, q->body.len ? &body : NULL, x);
    if (id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE && l->client->current == l)
        l->client->current = NULL; /* 2^30 requests: the next one takes a new connection */
    if (id < 0)
        return ERR_NO_MEMORY;
    x->stream_id = id;
    x->link = l;
    list_append(&l->open, &x->node);
    client_mark_dirty(l->client, l);
    return 0;
}

void link_reset(struct h2_link *l, struct h2_exchange *x) {
    if (nghttp2_submit_rst_stream(l->session, NGHTTP2_FLAG_NONE, x->stream_id, NGHTTP2_CANCEL) != 0)
        l->is_broken = true;
    client_mark_dirty(l->client, l);
}

/* the socket */

static void link_on_lost(struct h2_link *l, const char *what) {
    (void)err_set(&l->client->lost, ERR_UNAVAILABLE, "%s %s: %s",
                  l->is_connected ? "The connection ended:" : "Cannot connect to", l->client->address, what);
    link_free(l);
}

static bool link_is_done(const struct h2_link *l) {
    return !l->pending.len && !nghttp2_session_want_read(l->session) &&
           !nghttp2_session_want_write(l->session);
}

static int link_write(struct h2_link *l, const void *data, size_t len, size_t *ret_written) {
    ssize_t n = socket_write(l->fd, data, len);
    if (n < 0)
        return (int)n;
    *ret_written = (size_t)n;
    return (size_t)n < len && event_add(&l->write_event, NULL) < 0 ? ERR_NO_MEMORY : 0;
}

static int link_write_pending(struct h2_link *l) {
    size_t written = 0;
    int rc = l->pending.len ? link_write(l, l->pending.data, l->pending.len, &written) : 0;
    if (rc == 0)
        buf_drop_front(&l->pending, written);
    return rc;
}

/* Fills the write space with whole chunks; *ret_len is 0 when the session has nothing to say. */
static int link_pull(struct h2_link *l, size_t *ret_len) {
    uint8_t *space = l->client->write_space;
    size_t len = 0;
    while (len < LIMIT_WRITE_BATCH_BYTES) {
        const uint8_t *chunk;
        ssize_t n = nghttp2_session_mem_send(l->session, &chunk);
        if (n < 0)
            return ERR_NO_MEMORY;
        if (n == 0)
            break;
        ensure(len + (size_t)n <= LIMIT_WRITE_SPACE_BYTES);
        memcpy(space + len, chunk, (size_t)n);
        len += (size_t)n;
    }
    *ret_len = len;
    return 0;
}

static int link_pump(struct h2_link *l) {
    int rc = link_write_pending(l);
    while (rc == 0 && !l->pending.len) {
        size_t len, written = 0;
        rc = link_pull(l, &len);
        if (rc < 0 || len == 0)
            break;
        rc = link_write(l, l->client->write_space, len, &written);
        if (rc == 0 && written < len) {
            buf_add(&l->pending, l->client->write_space + written, len - written);
            rc = buf_ok(&l->pending) ? 0 : ERR_NO_MEMORY;
        }
    }
    return rc;
}

void link_flush(struct h2_link *l) {
    if (!l->is_connected)
        return;
    if (l->is_broken || link_pump(l) < 0)
        link_on_lost(l, l->is_broken ? "out of memory" : "the server closed it");
    else if (link_is_done(l))
        link_on_lost(l, "the server said goodbye");
}

static void link_on_readable(evutil_socket_t fd, short unused_arg what, void *ctx) {
    struct h2_link *l = ctx;
    struct h2_client *c = l->client;
    bool is_eof;
    ssize_t n = socket_read(fd, c->read_space, LIMIT_READ_BYTES, &is_eof);
    if (n < 0 || is_eof) {
        link_on_lost(l, "the server closed it");
        return;
    }
    if (n == 0)
        return;
    ssize_t used = nghttp2_session_mem_recv(l->session, c->read_space, (size_t)n);
    if (used < 0)
        link_on_lost(l, "the server does not speak HTTP/2");
    else
        client_mark_dirty(c, l);
}

/* connecting */

static void link_connect(struct h2_link *l, int last_error);

static void link_connected(struct h2_link *l) {
    l->is_connected = true;
    freeaddrinfo(take(&l->addresses));
    socket_tune(l->fd);
    if (event_add(&l->read_event, NULL) < 0)
        l->is_broken = true;
    client_mark_dirty(l->client, l);
}

static void link_on_writable(evutil_socket_t fd, short unused_arg what, void *ctx) {
    struct h2_link *l = ctx;
    int error = 0;
    socklen_t len = sizeof(error);
    if (l->is_connected) {
        client_mark_dirty(l->client, l);
        return;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error == 0)
        link_connected(l);
    else
        link_connect(l, error);
}

static void link_close(struct h2_link *l) {
    if (l->fd < 0)
        return;
    event_del(&l->read_event);
    event_del(&l->write_event);
    close(l->fd);
    l->fd = -1;
}

static int link_try_connect(struct h2_link *l, const struct addrinfo *to) {
    struct event_base *base = loop_base(l->client->loop);
    l->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return errno;
    if (connect(l->fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS) {
        int error = errno;
        close(l->fd);
        l->fd = -1;
        return error;
    }
    /* Both fail only for a base that does not exist. */
    (void)event_assign(&l->read_event, base, l->fd, EV_READ | EV_PERSIST, link_on_readable, l);
    (void)event_assign(&l->write_event, base, l->fd, EV_WRITE, link_on_writable, l);
    return event_add(&l->write_event, NULL) < 0 ? ENOMEM : 0;
}

/* The next address that lets itself be tried; without one the link is lost. */
static void link_connect(struct h2_link *l, int last_error) {
    link_close(l);
    while (l->next_address) {
        const struct addrinfo *to = l->next_address;
        l->next_address = to->ai_next;
        last_error = link_try_connect(l, to);
        if (last_error == 0)
            return;
        link_close(l);
    }
    link_on_lost(l, strerror(last_error));
}

/* Begun by the loop and not by h2_client_ask(), which must not end what it begins. */
static void link_on_begin(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    struct h2_link *l = ctx;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    char host[ADDRESS_TEXT_MAX];
    const char *port = NULL;
    ensure(address_split(l->client->address, host, sizeof(host), &port) == 0); /* h2_client_new has */
    int rc = getaddrinfo(host[0] ? host : NULL, port, &hints, &l->addresses);
    if (rc != 0) {
        link_on_lost(l, gai_strerror(rc));
        return;
    }
    l->next_address = l->addresses;
    link_connect(l, 0);
}

static int link_greet(nghttp2_session *session) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_CLIENT_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEADER_LIST_BYTES_MAX},
    };
    int rv = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    if (rv == 0)
        rv = nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, LIMIT_CONN_WINDOW_BYTES);
    return rv;
}

int link_new(struct h2_client *c, struct h2_link **ret) {
    struct h2_link *l = mem_zalloc(sizeof(*l));
    if (!l)
        return ERR_NO_MEMORY;
    l->client = c;
    l->fd = -1;
    buf_init(&l->pending, LIMIT_WRITE_SPACE_BYTES);
    list_init(&l->open);
    if (nghttp2_session_client_new2(&l->session, c->callbacks, l, c->option) != 0 ||
        link_greet(l->session) != 0 ||
        event_assign(&l->write_event, loop_base(c->loop), -1, 0, link_on_begin, l) < 0) {
        nghttp2_session_del(l->session);
        mem_free(l);
        return ERR_NO_MEMORY;
    }
    event_active(&l->write_event, EV_TIMEOUT, 0);
    list_append(&c->links, &l->node);
    *ret = l;
    return 0;
}

/* nghttp2 tells of no stream when its session is deleted, so the exchanges are told here. Only a request of
 * which nothing left is surely unseen. */
void link_free(struct h2_link *l) {
    struct h2_client *c = l->client;
    if (c->current == l)
        c->current = NULL;
    if (l->fd < 0)
        event_del(&l->write_event); /* link_on_begin */
    link_close(l);
    nghttp2_session_del(l->session);
    for (struct list *n; (n = list_pop(&l->open));) {
        struct h2_exchange *x = container_of(n, struct h2_exchange, node);
        x->is_unseen = !l->is_connected;
        exchange_ended(x, ERR_UNAVAILABLE);
    }
    if (l->addresses)
        freeaddrinfo(l->addresses);
    buf_done(&l->pending);
    list_remove(&l->node);
    list_remove(&l->dirty_node);
    mem_free(l);
}
