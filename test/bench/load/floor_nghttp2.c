/* nghttp2 alone: a server and a client with nothing but sockets below them and nothing above.
 *
 * The server is a child process. Both use blocking sockets and read what is there; what is under way fits the
 * sockets' buffers many times, so neither waits for the other to read. The messages have the sizes of a
 * start's. */
#include <arpa/inet.h>
#include <nghttp2/nghttp2.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "bench.h"

#define BUFFER_BYTES (256 * 1024)
#define BODY_BYTES 300
#define HEADER(n, v)                                                                                         \
    {                                                                                                        \
        (uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, sizeof(v) - 1,                  \
            NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE                                     \
    }

/* One end of a connection. */
struct end {
    int fd;
    nghttp2_session *session;
    uint8_t *out;
    struct exchanges *exchanges; /* of a client */
};

static ssize_t read_body(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t length,
                         uint32_t *flags, nghttp2_data_source *source, void unused_arg *user) {
    static const nghttp2_nv trailers[] = {HEADER("grpc-status", "0")};
    size_t n = MIN(length, (size_t)BODY_BYTES);
    memset(buf, 'x', n);
    *flags = NGHTTP2_DATA_FLAG_EOF;
    if (source->ptr) { /* an answer */
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        ensure(nghttp2_submit_trailer(session, stream_id, trailers, ARRAY_LEN(trailers)) == 0);
    }
    return (ssize_t)n;
}

/* Everything that the session wants to send, in one write if it fits. */
static bool end_flush(struct end *e) {
    for (;;) {
        size_t n = 0;
        const uint8_t *data;
        ssize_t got;
        while (n < BUFFER_BYTES / 2 && (got = nghttp2_session_mem_send(e->session, &data)) > 0) {
            memcpy(e->out + n, data, (size_t)got);
            n += (size_t)got;
        }
        if (n == 0)
            return true;
        if (send(e->fd, e->out, n, MSG_NOSIGNAL) != (ssize_t)n)
            return false;
    }
}

static bool end_read(struct end *e, uint8_t *in) {
    ssize_t n = recv(e->fd, in, BUFFER_BYTES, 0);
    return n > 0 && nghttp2_session_mem_recv(e->session, in, (size_t)n) == n && end_flush(e);
}

static void end_open(struct end *e, int fd, const nghttp2_session_callbacks *callbacks, bool is_server) {
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000}};
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* only slower without */
    e->fd = fd;
    e->out = mem_alloc(BUFFER_BYTES);
    ensure(e->out);
    ensure((is_server ? nghttp2_session_server_new(&e->session, callbacks, e)
                      : nghttp2_session_client_new(&e->session, callbacks, e)) == 0);
    ensure(nghttp2_submit_settings(e->session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) == 0);
}

/* Until stop() says so or a connection ends. */
static void serve_ends(struct end *ends, size_t count, bool (*stop)(const void *ctx), const void *ctx) {
    uint8_t *in = mem_alloc(BUFFER_BYTES);
    struct pollfd fds[CONNECTIONS_MAX];
    ensure(in);
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = ends[i].fd, .events = POLLIN};
    while (!stop(ctx) && poll(fds, count, -1) > 0)
        for (size_t i = 0; i < count; i++)
            if (fds[i].revents && !end_read(&ends[i], in)) {
                mem_free(in);
                return;
            }
    mem_free(in);
}

/* the server */

static int answer(nghttp2_session *session, const nghttp2_frame *frame, void unused_arg *user) {
    static const nghttp2_nv headers[] = {HEADER(":status", "200"),
                                         HEADER("content-type", "application/grpc")};
    nghttp2_data_provider body = {.source.ptr = session, .read_callback = read_body};
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM) ||
        (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS))
        return 0;
    return nghttp2_submit_response(session, frame->hd.stream_id, headers, ARRAY_LEN(headers), &body);
}

static bool never(const void unused_arg *ctx) {
    return false;
}

static noreturn_fn void server_run(int listener, size_t count) {
    nghttp2_session_callbacks *callbacks;
    struct end ends[CONNECTIONS_MAX] = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* at worst it stays until it is killed by hand */
    ensure(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, answer);
    for (size_t i = 0; i < count; i++) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            _exit(1);
        end_open(&ends[i], fd, callbacks, true);
    }
    serve_ends(ends, count, never, NULL);
    _exit(0);
}

static struct sockaddr_in server_start(struct bench *b) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&at, size) < 0 ||
        listen(listener, CONNECTIONS_MAX) < 0 || getsockname(listener, (struct sockaddr *)&at, &size) < 0)
        die("no socket for the server of nghttp2");
    b->subject = (struct subject){.pid = fork(), .out = listener};
    if (b->subject.pid == 0)
        server_run(listener, b->connection_count);
    if (b->subject.pid < 0)
        die("no process for the server of nghttp2");
    return at;
}

/* the client */

struct exchanges {
    size_t asked, answered, total;
    struct samples took;
};

static void ask(struct end *e) {
    static const nghttp2_nv headers[] = {
        HEADER(":method", "POST"),
        HEADER(":scheme", "http"),
        HEADER(":authority", "127.0.0.1"),
        HEADER(":path", "/temporal.api.workflowservice.v1.WorkflowService/StartWorkflowExecution"),
        HEADER("content-type", "application/grpc"),
        HEADER("te", "trailers")};
    nghttp2_data_provider body = {.read_callback = read_body};
    int64_t *begin_us = mem_alloc(sizeof(*begin_us));
    ensure(begin_us);
    *begin_us = now_us();
    e->exchanges->asked++;
    ensure(nghttp2_submit_request(e->session, NULL, headers, ARRAY_LEN(headers), &body, begin_us) > 0);
}

static int on_closed(nghttp2_session *session, int32_t stream_id, uint32_t code, void *user) {
    struct end *e = user;
    struct exchanges *x = e->exchanges;
    int64_t *begin_us = nghttp2_session_get_stream_user_data(session, stream_id);
    if (code != NGHTTP2_NO_ERROR)
        die("nghttp2 alone: a stream ended with %u", code);
    samples_add(&x->took, now_us() - *begin_us);
    mem_free(begin_us);
    x->answered++;
    if (x->asked < x->total)
        ask(e);
    return 0;
}

static bool is_answered(const void *ctx) {
    const struct exchanges *x = ctx;
    return x->answered == x->total;
}

static void connect_ends(struct end *ends, struct bench *b, struct exchanges *x,
                         const nghttp2_session_callbacks *callbacks) {
    struct sockaddr_in at = server_start(b);
    for (size_t i = 0; i < b->connection_count; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
            die("the server of nghttp2 did not start");
        end_open(&ends[i], fd, callbacks, false);
        ends[i].exchanges = x;
    }
}

void floor_nghttp2(struct bench *b) {
    struct exchanges x = {.total = (size_t)(400000 * b->scale) + b->width};
    struct end ends[CONNECTIONS_MAX] = {0};
    nghttp2_session_callbacks *callbacks;
    struct meter m;
    ensure(nghttp2_session_callbacks_new(&callbacks) == 0);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_closed);
    connect_ends(ends, b, &x, callbacks);
    meter_begin(&m, b);
    for (size_t i = 0; i < b->width; i++)
        ask(&ends[i % b->connection_count]);
    for (size_t i = 0; i < b->connection_count; i++)
        if (!end_flush(&ends[i]))
            die("nghttp2 alone: cannot send");
    serve_ends(ends, b->connection_count, is_answered, &x);
    if (!is_answered(&x))
        die("nghttp2 alone: %zu of %zu were answered", x.answered, x.total);
    table_print_floor(b->table, meter_end(&m, b, "floor: nghttp2", b->width, x.total, &x.took));
    for (size_t i = 0; i < b->connection_count; i++) {
        nghttp2_session_del(ends[i].session);
        mem_free(ends[i].out);
        close(ends[i].fd);
    }
    nghttp2_session_callbacks_del(callbacks);
    subject_kill(&b->subject);
    samples_done(&x.took);
}
