/* Both kinds of calls, one at a time. */
#include "caller.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/arena.h"
#include "json/json.h"
#include "serve/methods.h"

#define ANSWER_BYTES_MAX ((size_t)1 << 20)
#define PATIENCE_S 60 /* only ends what hangs */

void caller_open(struct caller *c, uint16_t grpc_port, uint16_t http_port) {
    char address[32];
    struct err e;
    *c = (struct caller){.http_port = http_port};
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", grpc_port);
    ensure(loop_new(&c->loop) == 0 && client_new(c->loop, address, &c->client, &e) == 0);
}

void caller_close(struct caller *c) {
    client_free(c->client);
    loop_free(c->loop);
}

/* gRPC */

static enum answer_kind kind_of(const struct client_reply *r) {
    if (r->code == GRPC_RESOURCE_EXHAUSTED)
        return ANSWER_LATER;
    /* A stream that was reset has no status of the server's own; clients take it for INTERNAL, and ask again.
     */
    if (r->code == GRPC_UNAVAILABLE || (r->code == GRPC_INTERNAL && strstr(r->text, "HTTP/2 error")))
        return ANSWER_NONE;
    return ANSWER_GIVEN;
}

static void on_reply(void *ctx, const struct client_reply *r) {
    struct answer *a = ctx;
    struct err e;
    a->kind = kind_of(r);
    buf_printf(&a->text, "%d ", (int)r->code);
    if (r->message)
        ensure(json_print(&a->text, r->message, (struct json_style){0}, &e) == 0);
    else
        buf_add_cstr(&a->text, r->text);
}

static enum client_method method_named(struct str name) {
    for (int i = 0; i < CALL_COUNT; i++)
        if (str_is(name, client_method_name((enum client_method)i)))
            return (enum client_method)i;
    ensure(!"a method of that name");
    return CALL_COUNT;
}

static void call(struct caller *c, struct str name, struct str body, struct answer *ret) {
    static const struct h2_header accepts = {STR("grpc-accept-encoding"), STR("gzip")};
    struct arena arena cleanup(arena_done);
    struct client_ask ask = {.method = method_named(name),
                             .timeout_us = PATIENCE_S * USEC_PER_SEC,
                             .metadata = &accepts,
                             .metadata_count = 1,
                             .on_reply = on_reply,
                             .ctx = ret};
    ProtobufCMessage *request;
    struct err e;
    arena_init(&arena, ANSWER_BYTES_MAX);
    if (json_parse(method_at(ask.method)->request, body, JSON_PAYLOADS_SHORTHAND, &arena, &request, &e) < 0) {
        fprintf(stderr, "%.*s: %s\n", (int)name.n, name.p, e.text);
        ensure(!"a request that can be read");
    }
    ask.request = request;
    ensure(client_call_wait(c->client, &ask) == 0);
}

/* HTTP/1.1 */

static int dial(uint16_t port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ensure(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void exchange(int fd, struct str request, struct buf *ret) {
    char piece[4096];
    while (request.n) {
        ssize_t n = send(fd, request.p, request.n, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        request = str_bytes(request.p + n, request.n - (size_t)n);
    }
    const int64_t end_us = host_now().mono.us + PATIENCE_S * USEC_PER_SEC; /* a stream may go on for ever */
    for (ssize_t n; host_now().mono.us < end_us && (n = recv(fd, piece, sizeof(piece), 0)) > 0;)
        buf_add(ret, piece, (size_t)n);
}

static bool has_length(struct str head, int64_t *ret) {
    static const char mark[] = "\r\nContent-Length: ";
    const char *at = memmem(head.p, head.n, mark, strlen(mark));
    if (!at)
        return false;
    at += strlen(mark);
    size_t left = head.n - (size_t)(at - head.p);
    const char *end = memchr(at, '\r', left);
    return str_to_i64(str_bytes(at, end ? (size_t)(end - at) : left), ret) == 0;
}

/* The pieces of a body that came in pieces. False when the last, which is empty, is missing. */
static bool join_pieces(struct str body, struct buf *out) {
    for (;;) {
        const char *line_end = body.n ? memmem(body.p, body.n, "\r\n", 2) : NULL;
        size_t n = line_end ? strtoul(body.p, NULL, 16) : 0;
        size_t head = line_end ? (size_t)(line_end - body.p) + 2 : 0;
        if (!line_end || body.n - head < n + 2)
            return false;
        if (n == 0)
            return true;
        buf_add(out, body.p + head, n);
        body = str_bytes(body.p + head + n + 2, body.n - head - n - 2);
    }
}

static void read_answer(struct str bytes, struct answer *ret) {
    static const char blank[] = "\r\n\r\n";
    int status = 0;
    int64_t length;
    const char *end = memmem(bytes.p, bytes.n, blank, strlen(blank));
    ret->kind = ANSWER_NONE;
    if (!end || sscanf(bytes.p, "HTTP/1.1 %d", &status) != 1)
        return;
    struct str head = str_bytes(bytes.p, (size_t)(end - bytes.p));
    struct str body = str_bytes(end + 4, bytes.n - head.n - 4);
    buf_printf(&ret->text, "%d ", status);
    bool has_all = status == 204; /* which has no body */
    if (!has_all && !has_length(head, &length))
        has_all = join_pieces(body, &ret->text);
    else if (!has_all && (has_all = (size_t)length == body.n))
        buf_add_str(&ret->text, body);
    if (!has_all)
        return;
    ret->kind = status == 429 || status == 503 ? ANSWER_LATER : ANSWER_GIVEN;
}

static void request(struct caller *c, const struct step *step, struct str path, struct str body,
                    struct answer *ret) {
    struct buf out cleanup(buf_done), in cleanup(buf_done);
    buf_init(&out, ANSWER_BYTES_MAX);
    buf_init(&in, ANSWER_BYTES_MAX);
    buf_printf(&out,
               "%.*s %.*s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
               (int)step->method.n, step->method.p, (int)path.n, path.p, c->http_port, body.n);
    buf_add_str(&out, body);
    int fd = dial(c->http_port);
    if (fd >= 0) {
        exchange(fd, buf_str(&out), &in);
        close(fd);
    }
    buf_add_u8(&in, 0); /* for sscanf */
    ensure(buf_ok(&out) && buf_ok(&in));
    read_answer(str_bytes(in.data, in.len - 1), ret);
}

void caller_ask(struct caller *c, const struct step *step, struct str path, struct str body,
                struct answer *ret) {
    buf_init(&ret->text, ANSWER_BYTES_MAX);
    if (step->kind == STEP_GRPC)
        call(c, step->method, body, ret);
    else
        request(c, step, path, body, ret);
    ensure(buf_ok(&ret->text));
}
