/* Bytes as what a peer writes to the HTTP/1.1 port: request lines, headers, bodies, several requests.
 *
 * A real listener, which is made once, and a connection for each input. What the handler gets keeps its
 * promises: a method with a name or none, a path without its query, a body within the limit, headers that can
 * be asked for and answered with. The listener outlives every input and goes on answering. Its socket is
 * exchanged for one of the local kind, since a connection by TCP costs ten times as much as all the rest. */
#include <arpa/inet.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/mem.h"
#include "fuzz.h"
#include "net/http1.h"
#include "serve/origin.h"

#define INPUT_BYTES_MAX 65536
#define BODY_BYTES_MAX (4u << 20)
#define TURNS_MAX                                                                                            \
    64 /* enough for all that such an input can ask; a connection that is kept open is left then */

#define PROBE_EVERY 64 /* inputs between two questions whether it still answers */

#define FILES_MAX 256 /* among which the listener is */

struct world {
    struct loop *loop;
    struct http1_server *server;
    struct sockaddr_un address;
    socklen_t address_len;
    unsigned inputs;
};

static struct world *world;

static void on_request(void *ctx unused_arg, const struct http1_request *q, struct http1_response *resp) {
    static const char *const invited[] = {"https://app.example.com", NULL};
    struct str origin = http1_header(q, "Origin");
    ensure(q->path.n == 0 || !memchr(q->path.p, '?', q->path.n));
    ensure(q->body.n <= BODY_BYTES_MAX && (q->body.n == 0 || q->body.p));
    ensure(!origin.p || !memchr(origin.p, '\n', origin.n));
    if (origin_judge(invited, q) == ORIGIN_INVITED && origin_invite(q))
        (void)origin_preflight(q, resp); /* if not, the answer below does as well */
    buf_add_str(&resp->body, q->path);
}

static int find_listener(uint16_t port) {
    for (int fd = 0; fd < FILES_MAX; fd++) {
        struct sockaddr_in a = {0};
        socklen_t n = sizeof(a);
        if (getsockname(fd, (struct sockaddr *)&a, &n) == 0 && a.sin_family == AF_INET &&
            a.sin_port == htons(port))
            return fd;
    }
    return -1;
}

static void exchange_listener(struct world *w) {
    int old = find_listener(http1_server_port(w->server));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    w->address.sun_family = AF_UNIX;
    w->address_len = sizeof(sa_family_t); /* so short that the kernel chooses a name */
    ensure(old >= 0 && fd >= 0);
    ensure(bind(fd, (struct sockaddr *)&w->address, w->address_len) == 0 && listen(fd, SOMAXCONN) == 0);
    w->address_len = sizeof(w->address);
    ensure(getsockname(fd, (struct sockaddr *)&w->address, &w->address_len) == 0);
    ensure(dup2(fd, old) == old && close(fd) == 0);
    ensure(event_reinit(loop_base(w->loop)) == 0); /* it waits for the new one, under the old number */
}

static struct world *world_new(void) {
    struct http1_handler h = {on_request, NULL};
    struct world *w = mem_zalloc(sizeof(*w));
    struct err e;
    ensure(w && loop_new(&w->loop) == 0);
    ensure(http1_server_new(w->loop, "127.0.0.1", 0, &h, &w->server, &e) == 0);
    exchange_listener(w);
    return w;
}

static int dial(const struct world *w) {
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ensure(fd >= 0 && connect(fd, (const struct sockaddr *)&w->address, w->address_len) == 0);
    return fd;
}

/* Lets the server work until it has closed the connection, or has nothing more to say. */
static size_t converse(const struct world *w, int fd, const uint8_t *data, size_t size) {
    char answer[4096];
    size_t sent = 0, got = 0;
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        if (sent < size) {
            ssize_t n = send(fd, data + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            sent += n > 0 ? (size_t)n : 0;
            if (sent == size)
                (void)shutdown(fd, SHUT_WR); /* the peer may be gone already */
        }
        loop_begin_turn(w->loop);
        ensure(event_base_loop(loop_base(w->loop), EVLOOP_NONBLOCK) >= 0);
        ssize_t n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
        if (n == 0)
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    return got;
}

static size_t talk(const struct world *w, const uint8_t *data, size_t size) {
    int fd = dial(w);
    size_t got = converse(w, fd, data, size);
    close(fd);
    for (int i = 0; i < 2; i++)
        (void)event_base_loop(loop_base(w->loop), EVLOOP_NONBLOCK); /* it hears that the peer is gone */
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char probe[] = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    fault_pause(!world); /* the server's own work may fail, once it is there */
    if (!world)
        world = world_new();
    fault_pause(false);
    (void)talk(world, data, size); /* whatever it says, or nothing */
    fault_pause(true);
    if (world->inputs++ % PROBE_EVERY == 0)
        ensure(talk(world, (const uint8_t *)probe, sizeof(probe) - 1) > 0);
    return 0;
}
