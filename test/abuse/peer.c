/* Blocking sockets with timeouts. The well-behaved client is an nghttp2 session;
 * attacks write their frames by hand, since no library would. */
#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_SEC 10
#define FRAME_HEAD 9

int peer_dial(uint16_t port) {
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_SEC};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)) < 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

bool peer_send(int fd, struct str bytes) {
    while (bytes.n) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return true;
}

bool peer_is_closed(int fd) {
    char space[FRAME_MAX];
    ssize_t n;
    do
        n = recv(fd, space, sizeof(space), 0);
    while (n > 0);
    return n == 0 || errno == ECONNRESET || errno == EPIPE;
}

static bool recv_exactly(int fd, uint8_t *space, size_t n) {
    return recv(fd, space, n, MSG_WAITALL) == (ssize_t)n;
}

bool peer_syncs(int fd, uint8_t mark) {
    const char opaque[8] = {'s', 'y', 'n', 'c', (char)mark};
    uint8_t head[FRAME_HEAD];
    uint8_t payload[FRAME_MAX];
    struct buf ping;
    buf_init(&ping, FRAME_MAX);
    frame_add(&ping, NGHTTP2_PING, 0, 0, str_bytes(opaque, sizeof(opaque)));
    bool ok = peer_send(fd, buf_str(&ping));
    buf_done(&ping);
    while (ok && recv_exactly(fd, head, sizeof(head))) {
        size_t len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        if (len > sizeof(payload) || !recv_exactly(fd, payload, len))
            return false;
        if (head[3] == NGHTTP2_PING && (head[4] & NGHTTP2_FLAG_ACK) && memcmp(payload, opaque, 8) == 0)
            return true;
    }
    return false;
}

void frame_add(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream_id, struct str payload) {
    buf_add_u8(b, (uint8_t)(payload.n >> 16));
    buf_add_u8(b, (uint8_t)(payload.n >> 8));
    buf_add_u8(b, (uint8_t)payload.n);
    buf_add_u8(b, type);
    buf_add_u8(b, flags);
    buf_add_u32be(b, stream_id);
    buf_add_str(b, payload);
}

void frame_add_greeting(struct buf *b, uint32_t window) {
    const char setting[6] = {0,
                             NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
                             (char)(window >> 24),
                             (char)(window >> 16),
                             (char)(window >> 8),
                             (char)window};
    buf_add_cstr(b, NGHTTP2_CLIENT_MAGIC);
    frame_add(b, NGHTTP2_SETTINGS, 0, 0, str_bytes(setting, sizeof(setting)));
}

/* HPACK without a table: each field as a literal, names from the static table where they are. */
static void hpack_add_value(struct buf *b, const char *value) {
    buf_add_u8(b, (uint8_t)strlen(value)); /* shorter than 127, no Huffman */
    buf_add_cstr(b, value);
}

void frame_add_request(struct buf *b, uint32_t stream_id, const char *path, uint8_t flags) {
    struct buf block;
    buf_init(&block, FRAME_MAX);
    buf_add(&block, "\x83\x86\x04", 3); /* :method POST, :scheme http, :path */
    hpack_add_value(&block, path);
    buf_add_u8(&block, 0x01); /* :authority */
    hpack_add_value(&block, "abuse");
    buf_add(&block, "\x0f\x10", 2); /* content-type */
    hpack_add_value(&block, "application/grpc");
    buf_add(&block, "\x00\x02te", 4);
    hpack_add_value(&block, "trailers");
    frame_add(b, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | flags, stream_id, buf_str(&block));
    buf_done(&block);
}

struct exchange {
    int fd;
    const struct question *question;
    size_t sent;
    struct reply *reply;
    bool is_over;
};

static ssize_t exchange_read_body(nghttp2_session unused_arg *session, int32_t unused_arg id, uint8_t *space,
                                  size_t length, uint32_t *flags, nghttp2_data_source *source,
                                  void unused_arg *user) {
    struct exchange *x = source->ptr;
    size_t n = MIN(length, x->question->body.n - x->sent);
    memcpy(space, x->question->body.p + x->sent, n);
    x->sent += n;
    if (x->sent == x->question->body.n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static int exchange_on_header(nghttp2_session unused_arg *session, const nghttp2_frame unused_arg *frame,
                              const uint8_t *name, size_t name_len, const uint8_t *value,
                              size_t unused_arg value_len, uint8_t unused_arg flags, void *user) {
    struct exchange *x = user;
    struct str n = str_bytes(name, name_len);
    /* nghttp2 ends values with NUL. */
    if (str_is(n, ":status"))
        x->reply->http_status = (int)strtol((const char *)value, NULL, 10);
    else if (str_is(n, "grpc-status"))
        x->reply->grpc_status = (int)strtol((const char *)value, NULL, 10);
    return 0;
}

static int exchange_on_close(nghttp2_session unused_arg *session, int32_t unused_arg id, uint32_t code,
                             void *user) {
    struct exchange *x = user;
    x->reply->is_reset = code != NGHTTP2_NO_ERROR;
    x->is_over = true;
    return 0;
}

static nghttp2_session *exchange_session(struct exchange *x) {
    nghttp2_session_callbacks *cb;
    nghttp2_session *session;
    ensure(nghttp2_session_callbacks_new(&cb) == 0);
    nghttp2_session_callbacks_set_on_header_callback(cb, exchange_on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, exchange_on_close);
    ensure(nghttp2_session_client_new(&session, cb, x) == 0);
    nghttp2_session_callbacks_del(cb);
    return session;
}

static nghttp2_nv field(const char *name, const char *value) {
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static void exchange_submit(struct exchange *x, nghttp2_session *session) {
    const struct question *q = x->question;
    nghttp2_nv nv[] = {field(":method", "POST"),
                       field(":path", q->path),
                       field(":scheme", "http"),
                       field(":authority", "abuse"),
                       field("te", "trailers"),
                       field("content-type", q->content_type ? q->content_type : "application/grpc"),
                       field("grpc-encoding", q->encoding ? q->encoding : "identity")};
    nghttp2_data_provider body = {.source.ptr = x, .read_callback = exchange_read_body};
    ensure(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0) == 0);
    ensure(nghttp2_submit_request(session, NULL, nv, ARRAY_LEN(nv), q->body.n ? &body : NULL, NULL) > 0);
}

/* False when the connection ended or was silent for too long. */
static bool exchange_step(struct exchange *x, nghttp2_session *session) {
    uint8_t space[FRAME_MAX];
    const uint8_t *chunk;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(session, &chunk)) > 0)
        if (!peer_send(x->fd, str_bytes(chunk, (size_t)n)))
            break; /* an early answer may still be readable */
    n = recv(x->fd, space, sizeof(space), 0);
    return n > 0 && nghttp2_session_mem_recv(session, space, (size_t)n) >= 0;
}

bool peer_ask(uint16_t port, const struct question *q, struct reply *ret) {
    struct exchange x = {.fd = peer_dial(port), .question = q, .reply = ret};
    *ret = (struct reply){.grpc_status = -1};
    if (x.fd < 0)
        return false;
    nghttp2_session *session = exchange_session(&x);
    exchange_submit(&x, session);
    while (!x.is_over && exchange_step(&x, session))
        continue;
    nghttp2_session_del(session);
    close(x.fd);
    return x.is_over;
}

bool peer_gets_system_info(uint16_t port) {
    const struct question q = {.path = SERVICE "GetSystemInfo", .body = {"\0\0\0\0\0", 5}};
    struct reply reply;
    return peer_ask(port, &q, &reply) && reply.http_status == 200 && reply.grpc_status == 0;
}

bool peer_gets_health(uint16_t http_port) {
    char answer[512] = "";
    int fd = peer_dial(http_port);
    bool ok = fd >= 0 &&
              peer_send(fd, STR("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) &&
              recv(fd, answer, sizeof(answer) - 1, 0) > 0;
    if (fd >= 0)
        close(fd);
    return ok && str_starts(str_of(answer), STR("HTTP/1.1 200"));
}
