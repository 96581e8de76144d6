/* Crowds. With --scale 10 the idle ones are ten thousand, with --scale 50 the polls a million. */
#include "crowd.h"

#include <stdio.h>
#include <sys/socket.h>

#include "wire/encode.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define WINDOW_OPEN 0x7fffffffu
#define IDLE_CONNECTIONS 1000
#define POLLS 20000 /* at scale 1 */
#define POLLS_EACH 1000 /* on one connection: as many as it may have streams */
#define HTTP_CROWD 200 /* more than there are places for */

/* Greeted and silent. All of them stay, up to the number that the server takes; beyond, the longest silent
 * go. */
bool attack_idle_connections(struct scene *s) {
    struct buf b;
    buf_init(&b, MIB);
    bool ok = true;
    for (size_t i = 0; i < IDLE_CONNECTIONS * s->scale && ok; i++) {
        frame_add_greeting(&b, WINDOW_OPEN);
        int fd = scene_send(s, &b);
        ok = fd >= 0 && peer_syncs(fd, 3);
    }
    buf_done(&b);
    return ok;
}

static void add_poll(struct buf *b, uint32_t stream_id, size_t number) {
    struct buf request, queue;
    char name[32];
    buf_init(&request, KIB);
    buf_init(&queue, KIB);
    (void)snprintf(name, sizeof(name), "queue-%zu", number % 100);
    wire_add_bytes_field(&queue, 1, str_of(name));
    buf_add(&request, "\0\0\0\0", 4); /* the prefix, with its last byte below */
    size_t at = request.len;
    buf_add_u8(&request, 0);
    wire_add_bytes_field(&request, 1, STR("default"));
    wire_add_bytes_field(&request, 2, buf_str(&queue));
    request.data[at] = (uint8_t)(request.len - at - 1);
    frame_add_request(b, stream_id, SERVICE "PollWorkflowTaskQueue", 0);
    frame_add(b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream_id, buf_str(&request));
    buf_done(&request);
    buf_done(&queue);
}

/* Long polls, a thousand on each connection. They are parked, or refused with a status when there are too
 * many. */
bool attack_parked_polls(struct scene *s) {
    struct buf b;
    buf_init(&b, 16 * MIB);
    bool ok = true;
    for (size_t done = 0; done < POLLS * s->scale && ok; done += POLLS_EACH) {
        frame_add_greeting(&b, WINDOW_OPEN);
        for (uint32_t i = 0; i < POLLS_EACH; i++)
            add_poll(&b, 2 * i + 1, done + i);
        int fd = scene_send(s, &b);
        ok = fd >= 0 && peer_syncs(fd, 4);
    }
    buf_done(&b);
    return ok;
}

/* Bodies that come a byte at a time, on a hundred connections. */
bool attack_slow_bodies(struct scene *s) {
    struct buf b;
    buf_init(&b, MIB);
    bool ok = true;
    for (int i = 0; i < 100 && ok; i++) {
        frame_add_greeting(&b, WINDOW_OPEN);
        for (uint32_t stream = 1; stream < 20; stream += 2) {
            frame_add_request(&b, stream, SERVICE "StartWorkflowExecution", 0);
            frame_add(&b, NGHTTP2_DATA, 0, stream, STR("\0\0\1\0\0"));
        }
        ok = scene_send(s, &b) >= 0;
    }
    for (size_t i = 0; i < s->held_count && ok; i++) {
        frame_add(&b, NGHTTP2_DATA, 0, 1 + 2 * (i % 10), STR("x"));
        ok = peer_send(s->held[i], buf_str(&b)) && peer_syncs(s->held[i], 5);
        buf_clear(&b);
    }
    buf_done(&b);
    return ok;
}

/* More of them than there are places. Those that have one lose it, and the good client gets it: the judge's
 * probe of the HTTP port comes while all of these are open. */
static bool http_crowd(struct scene *s, struct str begun, struct str drop) {
    for (int i = 0; i < HTTP_CROWD; i++) {
        int fd = scene_dial_http(s);
        if (fd < 0 || !peer_send(fd, begun))
            return false;
    }
    for (size_t i = 0; i < s->held_count && drop.n; i++)
        if (send(s->held[i], drop.p, drop.n, MSG_NOSIGNAL) < 0)
            return true; /* cut off already, as it should be */
    return true;
}

bool attack_http1_slow_headers(struct scene *s) {
    return http_crowd(s, STR("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-"), STR("y"));
}

bool attack_http1_slow_bodies(struct scene *s) {
    return http_crowd(s,
                      STR("POST /api/v1/namespaces/default/workflows/w HTTP/1.1\r\nHost: localhost\r\n"
                          "Content-Length: 1000000\r\n\r\n{"),
                      STR(" "));
}

bool attack_http1_idle(struct scene *s) {
    return http_crowd(s, STR("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), STR(""));
}
