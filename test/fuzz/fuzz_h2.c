/* Bytes as what a peer writes to the HTTP/2 port.
 *
 * The first byte says how: as they are, or as frames of which an input only names type, flags, stream and a
 * short payload; whether the peer reads; whether time passes or the server drains meanwhile. The handler
 * answers at once, later, in parts, or with more than a window, as the path's last character says. Every
 * request that it was given ends exactly once, and when the peer is gone the server holds nothing any more.
 *
 * The loop and the listener are made once: an input that left something behind in them ends the program. */
#include <event2/event.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fault.h"
#include "fuzz.h"
#include "net/h2_int.h"

#define INPUT_BYTES_MAX 65536
#define PARKED_MAX 64
#define TURNS_MAX 32
#define LARGE_BYTES 40000 /* more than the peer's window lets through at once */

enum input_mode {
    MODE_RAW = 1, /* not even the preface is added */
    MODE_DEAF = 2, /* the peer reads only at the end */
    MODE_HALVES = 4, /* the bytes come in two pieces */
    MODE_DRAIN = 8,
    MODE_LATE = 16, /* every time limit passes before the end */
    MODE_ANSWER = 32, /* what was parked is answered before the peer leaves */
};

struct stage {
    struct loop *loop;
    struct h2_server *server;
    struct log log;
    struct h2_request *parked[PARKED_MAX];
    size_t parked_count;
    size_t begun, ended;
};

static struct stage *stage;

/* the handler */

static void respond(struct h2_request *r, size_t bytes) {
    static const struct h2_header headers[] = {{STR("content-type"), STR("application/grpc")}};
    static const struct h2_header trailers[] = {{STR("grpc-status"), STR("0")}};
    struct h2_response resp = {200, headers, 1, {0}, trailers, 1};
    buf_init(&resp.body, LARGE_BYTES);
    uint8_t *space = buf_extend(&resp.body, bytes);
    if (space)
        memset(space, 'x', bytes);
    h2_respond(r, &resp);
}

static void respond_part(struct h2_request *r) {
    static const struct h2_header headers[] = {{STR("content-type"), STR("text/plain")}};
    struct h2_response part = {200, headers, 1, {0}, NULL, 0};
    buf_init(&part.body, 16);
    buf_add_cstr(&part.body, "part");
    h2_respond_part(r, &part);
}

static void park(struct stage *s, struct h2_request *r) {
    if (s->parked_count < PARKED_MAX)
        s->parked[s->parked_count++] = r;
    else
        respond(r, 0);
}

static void on_request(void *ctx, struct h2_request *r) {
    struct stage *s = ctx;
    s->begun++;
    ensure(r->method.n > 0 && r->body.len <= LIMIT_BODY_BYTES_MAX + LIMIT_WIDE_WINDOW_BYTES);
    for (size_t i = 0; i < r->header_count; i++)
        ensure(r->headers[i].name.n > 0 && r->headers[i].name.p[0] != ':');
    switch (r->path.n ? r->path.p[r->path.n - 1] : 0) {
    case 'p':
        h2_park(r);
        park(s, r);
        break;
    case 'q':
        respond_part(r);
        park(s, r);
        break;
    case 'l':
        respond(r, LARGE_BYTES);
        break;
    default:
        respond(r, MIN(r->body.len, LARGE_BYTES));
    }
}

static void on_cancel(void *ctx, struct h2_request *r) {
    struct stage *s = ctx;
    size_t i = 0;
    while (i < s->parked_count && s->parked[i] != r)
        i++;
    ensure(i < s->parked_count);
    s->parked[i] = s->parked[--s->parked_count];
    s->ended++;
}

static void on_end(void *ctx, struct h2_request *r unused_arg) {
    ((struct stage *)ctx)->ended++;
}

/* the stage */

static struct stage *stage_new(void) {
    struct stage *s = mem_zalloc(sizeof(*s));
    struct err e;
    ensure(s && loop_new(&s->loop) == 0);
    const struct h2_handler h = {on_request, on_cancel, on_end, on_end, s};
    log_init(&s->log, STDERR_FILENO, LOG_SILENT, LOG_TEXT, host_wall);
    ensure(h2_server_new(s->loop, "127.0.0.1:0", &h, &s->log, &s->server, &e) == 0);
    return s;
}

/* NULL when memory is short; then there are no sockets. */
static struct h2_conn *connect_peer(struct stage *s, int fds[2]) {
    struct h2_conn *c;
    ensure(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
    if (conn_new(s->server, fds[0], "peer", &c) < 0) {
        ensure(fault_fired());
        close(fds[0]);
        close(fds[1]);
        return NULL;
    }
    list_append(&s->server->conns, &c->link);
    s->server->conn_count++;
    return c;
}

static void turn(struct stage *s) {
    loop_begin_turn(s->loop);
    ensure(event_base_loop(loop_base(s->loop), EVLOOP_NONBLOCK) >= 0);
}

/* What the peer takes; false when there was nothing. */
static bool drink(int fd) {
    uint8_t space[65536];
    return recv(fd, space, sizeof(space), MSG_DONTWAIT) > 0;
}

static void speak(struct stage *s, int fd, struct str bytes, bool is_deaf) {
    for (int i = 0; i < TURNS_MAX && bytes.n; i++) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        size_t sent = n > 0 ? (size_t)n : 0;
        bytes = str_bytes(bytes.p + sent, bytes.n - sent);
        turn(s);
        if (!is_deaf)
            (void)drink(fd);
    }
}

static void settle(struct stage *s, int fd) {
    for (int i = 0; i < TURNS_MAX; i++) {
        turn(s);
        if (!drink(fd))
            break;
    }
}

static void answer_parked(struct stage *s) {
    while (s->parked_count)
        respond(s->parked[--s->parked_count], 5);
}

static void converse(struct stage *s, uint8_t mode, struct str bytes) {
    int fds[2];
    struct h2_conn *c = connect_peer(s, fds);
    if (!c)
        return;
    size_t half = mode & MODE_HALVES ? bytes.n / 2 : 0;
    speak(s, fds[1], str_bytes(bytes.p, half), mode & MODE_DEAF);
    if ((mode & MODE_DRAIN) && s->server->conn_count)
        conn_begin_drain(c);
    speak(s, fds[1], str_bytes(bytes.p + half, bytes.n - half), mode & MODE_DEAF);
    if (mode & MODE_ANSWER)
        answer_parked(s);
    settle(s, fds[1]);
    if (mode & MODE_LATE)
        server_sweep(s->server, host_now().mono.us + LIMIT_IDLE_US);
    turn(s);
    close(fds[1]);
    for (int i = 0; i < TURNS_MAX && s->server->conn_count; i++)
        turn(s);
}

/* the input */

static void add_frame(struct buf *out, uint8_t type, uint8_t flags, uint32_t stream, struct str payload) {
    buf_add_u8(out, 0);
    buf_add_u8(out, (uint8_t)(payload.n >> 8));
    buf_add_u8(out, (uint8_t)payload.n);
    buf_add_u8(out, type);
    buf_add_u8(out, flags);
    buf_add_u32be(out, stream);
    buf_add_str(out, payload);
}

/* type, flags, stream, length, payload; over and over */
static void add_frames(struct buf *out, struct str in) {
    const uint8_t *p = (const uint8_t *)in.p, *end = p + in.n;
    buf_add(out, NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN);
    add_frame(out, NGHTTP2_SETTINGS, 0, 0, STR(""));
    while (end - p >= 4) {
        size_t n = MIN((size_t)p[3], (size_t)(end - p - 4));
        add_frame(out, p[0], p[1], p[2], str_bytes(p + 4, n));
        p += 4 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf frames cleanup(buf_done);
    buf_init(&frames, (size_t)16 * INPUT_BYTES_MAX);
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    fault_pause(true); /* what is the server's own work may fail, what is the test's may not */
    if (!stage)
        stage = stage_new();
    struct stage *s = stage;
    struct str rest = str_bytes(data + 1, size - 1);
    if (!(data[0] & MODE_RAW)) {
        add_frames(&frames, rest);
        rest = buf_str(&frames);
    }
    s->begun = s->ended = 0;
    fault_pause(false);
    converse(s, data[0], rest);
    ensure(s->begun == s->ended && s->parked_count == 0);
    ensure(s->server->conn_count == 0 && s->server->budget->held == 0 && list_empty(&s->server->dirty));
    return 0;
}
