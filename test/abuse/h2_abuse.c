/* Attacks on a running server, one function each.
 *
 *   h2_abuse --server build/rondo [--filter WORD] [--scale N]
 *
 * An attack passes when the server did with the offender what it should (closed
 * the connection, answered with an error, or let it wait), when a good client in
 * another process was answered all the while, on a new connection each time, and
 * again at the end while the attacker's connections are still open, and when the
 * server's memory grew by no more than it may. --scale makes the crowds larger:
 * 10 is ten thousand silent connections, 50 is a million polls. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "crowd.h"
#include "peer.h"
#include "victim.h"
#include "witness.h"

#ifdef __SANITIZE_THREAD__
#define SHADOW_FACTOR 6 /* ThreadSanitizer keeps four bytes beside each, and more */
#else
#define SHADOW_FACTOR 1
#endif
#define GROWTH_KIB_MAX (64 * 1024)
/* At any scale: a parked call costs about 4 KiB and the engine has room for so many, a silent connection
 * about 12. */
#define POLLS_KIB_MAX (768 * 1024)
#define IDLE_KIB_MAX (256 * 1024)
#define KIB 1024u
#define MIB (1024u * KIB)
#define WINDOW_OPEN 0x7fffffffu

enum { GRPC_INVALID_ARGUMENT = 3, GRPC_UNIMPLEMENTED = 12 };

/* Sends the same bytes again and again, until `total` of them went or the server hung up. */
static void pour(int fd, struct str bytes, size_t total) {
    struct buf batch;
    buf_init(&batch, MIB);
    while (batch.len + bytes.n <= 64 * KIB || batch.len == 0)
        buf_add_str(&batch, bytes);
    for (size_t sent = 0; sent < total; sent += batch.len)
        if (!peer_send(fd, buf_str(&batch)))
            break;
    buf_done(&batch);
}

/* Bytes that are not HTTP/2. */

static bool attack_garbage(struct scene *s) {
    uint8_t bytes[64 * KIB];
    struct rng rng;
    rng_init(&rng, 7);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rng_u64(&rng);
    int fd = scene_dial(s);
    (void)peer_send(fd, str_bytes(bytes, sizeof(bytes))); /* may be cut short by the close */
    return fd >= 0 && peer_is_closed(fd);
}

static bool attack_garbage_after_preface(struct scene *s) {
    uint8_t bytes[64 * KIB];
    struct rng rng;
    struct buf b;
    buf_init(&b, MIB);
    rng_init(&rng, 8);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rng_u64(&rng);
    frame_add_greeting(&b, WINDOW_OPEN);
    buf_add(&b, bytes, sizeof(bytes));
    int fd = scene_dial(s);
    (void)peer_send(fd, buf_str(&b));
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

static bool attack_http1(struct scene *s) {
    int fd = scene_dial(s);
    return fd >= 0 && peer_send(fd, STR("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")) && peer_is_closed(fd);
}

/* Header blocks. */

/* One long field goes into the table; every further byte stands for all of it. */
static bool attack_hpack_bomb(struct scene *s) {
    char filler[FRAME_MAX];
    struct buf b;
    struct buf block;
    buf_init(&b, MIB);
    buf_init(&block, MIB);
    buf_add(&block, "\x83\x86\x84\x40\x01x\x7f\xa1\x1d", 9); /* "x" with a value of 3872 bytes, indexed */
    memset(filler, 'v', sizeof(filler));
    buf_add(&block, filler, 3872);
    memset(filler, 0xbe, sizeof(filler)); /* the first entry of the table */
    frame_add_greeting(&b, WINDOW_OPEN);
    frame_add(&b, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_STREAM, 1, buf_str(&block));
    for (int i = 0; i < 8; i++)
        frame_add(&b, NGHTTP2_CONTINUATION, i == 7 ? NGHTTP2_FLAG_END_HEADERS : 0, 1,
                  str_bytes(filler, FRAME_MAX));
    int fd = scene_dial(s);
    (void)peer_send(fd, buf_str(&b));
    buf_done(&block);
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

static bool attack_continuation_flood(struct scene *s) {
    struct buf b;
    buf_init(&b, MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    frame_add(&b, NGHTTP2_HEADERS, 0, 1, STR("\x83\x86\x84"));
    int fd = scene_send(s, &b);
    frame_add(&b, NGHTTP2_CONTINUATION, 0, 1, STR(""));
    pour(fd, buf_str(&b), 4 * MIB);
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

/* A hundred that begin and never finish; the time limit is not waited for here. */
static bool attack_slow_headers(struct scene *s) {
    static const struct str beginnings[] = {STR(""), STR("PRI * HT"), STR("\0\0\x40\x01"),
                                            STR("\0\0\x40\x01\0\0\0\0\1\x83")};
    struct buf b;
    buf_init(&b, MIB);
    bool ok = true;
    for (size_t i = 0; i < 100 && ok; i++) {
        size_t kind = i % ARRAY_LEN(beginnings);
        if (kind >= 2)
            frame_add_greeting(&b, WINDOW_OPEN);
        buf_add_str(&b, beginnings[kind]);
        ok = scene_send(s, &b) >= 0;
    }
    buf_done(&b);
    return ok;
}

/* Floods of frames that ask for nothing. */

static bool flood(struct scene *s, uint8_t type, uint32_t stream_id, struct str payload, size_t total) {
    struct buf b;
    buf_init(&b, MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    frame_add_request(&b, 1, SERVICE "GetSystemInfo", 0);
    int fd = scene_send(s, &b);
    frame_add(&b, type, 0, stream_id, payload);
    pour(fd, buf_str(&b), total);
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

static bool attack_ping_flood(struct scene *s) {
    return flood(s, NGHTTP2_PING, 0, STR("12345678"), 4 * MIB);
}

static bool attack_settings_flood(struct scene *s) {
    return flood(s, NGHTTP2_SETTINGS, 0, STR("\0\1\0\0\x10\0"), 4 * MIB);
}

static bool attack_empty_data_flood(struct scene *s) {
    return flood(s, NGHTTP2_DATA, 1, STR(""), 4 * MIB);
}

static bool attack_window_update_flood(struct scene *s) {
    return flood(s, NGHTTP2_WINDOW_UPDATE, 1, STR("\0\0\0\1"), 4 * MIB);
}

static bool attack_unknown_frame_flood(struct scene *s) {
    return flood(s, 0x77, 0, STR(""), 64 * MIB);
}

static bool attack_rapid_reset(struct scene *s) {
    struct buf b;
    buf_init(&b, 16 * MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    for (uint32_t i = 0; i < 50000; i++) {
        frame_add_request(&b, 2 * i + 1, SERVICE "GetSystemInfo", NGHTTP2_FLAG_END_STREAM);
        frame_add(&b, NGHTTP2_RST_STREAM, 0, 2 * i + 1, STR("\0\0\0\x08"));
    }
    int fd = scene_dial(s);
    (void)peer_send(fd, buf_str(&b));
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

/* The server is made to reset the streams itself, by a window update of nothing. */
static bool attack_made_reset(struct scene *s) {
    struct buf b;
    buf_init(&b, 16 * MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    for (uint32_t i = 0; i < 50000; i++) {
        frame_add_request(&b, 2 * i + 1, SERVICE "GetSystemInfo", 0);
        frame_add(&b, NGHTTP2_WINDOW_UPDATE, 0, 2 * i + 1, STR("\0\0\0\0"));
    }
    int fd = scene_dial(s);
    (void)peer_send(fd, buf_str(&b));
    buf_done(&b);
    return fd >= 0 && peer_is_closed(fd);
}

/* Peers that only keep things. */

static bool attack_window_stall(struct scene *s) {
    struct buf b;
    buf_init(&b, 16 * MIB);
    frame_add_greeting(&b, 0);
    for (uint32_t i = 0; i < 900; i++) {
        frame_add_request(&b, 2 * i + 1, SERVICE "GetSystemInfo", 0);
        frame_add(&b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, STR("\0\0\0\0\0"));
    }
    int fd = scene_send(s, &b);
    buf_done(&b);
    return fd >= 0 && peer_syncs(fd, 1);
}

static bool attack_never_reads(struct scene *s) {
    struct buf b;
    buf_init(&b, 64 * MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    for (uint32_t i = 0; i < 100000; i++) {
        frame_add_request(&b, 2 * i + 1, SERVICE "GetSystemInfo", 0);
        frame_add(&b, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, 2 * i + 1, STR("\0\0\0\0\0"));
    }
    int fd = scene_dial(s);
    bool ok = fd >= 0;
    (void)peer_send(fd, buf_str(&b)); /* stops when the server stops reading, or goes through */
    buf_done(&b);
    return ok;
}

/* A thousand bodies that begin and never end. */
static bool attack_unfinished_bodies(struct scene *s) {
    char piece[FRAME_MAX];
    struct buf b;
    memset(piece, 0, sizeof(piece));
    buf_init(&b, 64 * MIB);
    frame_add_greeting(&b, WINDOW_OPEN);
    for (uint32_t i = 0; i < 1000; i++) {
        frame_add_request(&b, 2 * i + 1, SERVICE "StartWorkflowExecution", 0);
        frame_add(&b, NGHTTP2_DATA, 0, 2 * i + 1, str_bytes(piece, sizeof(piece)));
    }
    int fd = scene_send(s, &b);
    buf_done(&b);
    return fd >= 0 && peer_syncs(fd, 2);
}

/* Requests that are well-formed HTTP/2 and bad gRPC. */

static void grpc_frame(struct buf *b, uint8_t flags, size_t len) {
    buf_add_u8(b, flags);
    buf_add_u32be(b, (uint32_t)len);
}

static struct reply start_workflow(struct scene *s, const struct buf *body, const char *encoding) {
    const struct question q = {
        .path = SERVICE "StartWorkflowExecution", .encoding = encoding, .body = buf_str(body)};
    struct reply reply;
    ensure(buf_ok(body));
    (void)peer_ask(s->port, &q, &reply); /* what is missing shows in the reply */
    return reply;
}

static bool is_refusal(struct reply r) {
    return r.http_status == 200 && r.grpc_status > 0;
}

static bool attack_oversized_body(struct scene *s) {
    struct buf b;
    buf_init(&b, 16 * MIB);
    grpc_frame(&b, 0, 10 * MIB);
    uint8_t *rest = buf_extend(&b, 10 * MIB);
    ensure(rest != NULL);
    memset(rest, 0, 10 * MIB);
    struct reply reply = start_workflow(s, &b, NULL);
    buf_done(&b);
    return is_refusal(reply) && reply.grpc_status == GRPC_INVALID_ARGUMENT;
}

static bool attack_lying_length(struct scene *s) {
    struct buf b;
    buf_init(&b, MIB);
    grpc_frame(&b, 0, 0xffffffffu);
    buf_add_cstr(&b, "short");
    struct reply reply = start_workflow(s, &b, NULL);
    buf_done(&b);
    return is_refusal(reply);
}

static bool attack_random_message(struct scene *s) {
    struct buf b;
    struct rng rng;
    rng_init(&rng, 9);
    buf_init(&b, MIB);
    grpc_frame(&b, 0, 4000);
    for (int i = 0; i < 1000; i++)
        buf_add_u32be(&b, (uint32_t)rng_u64(&rng));
    struct reply reply = start_workflow(s, &b, NULL);
    buf_done(&b);
    return is_refusal(reply);
}

static size_t varint(uint8_t *to, size_t value) {
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* Puts a length-delimited field's head in front of what ends at `end`; returns the new beginning. */
static uint8_t *wrap(uint8_t *begin, const uint8_t *end, size_t field) {
    uint8_t head[20];
    size_t n = varint(head, field << 3 | 2);
    n += varint(head + n, (size_t)(end - begin));
    memcpy(begin - n, head, n);
    return begin - n;
}

/* continued_failure, caused by a failure, caused by a failure, ... */
static bool attack_deep_message(struct scene *s) {
    uint8_t space[64 * KIB];
    const uint8_t *end = space + sizeof(space);
    uint8_t *begin = space + sizeof(space);
    struct buf b;
    for (int i = 0; i < 10000; i++)
        begin = wrap(begin, end, 4);
    begin = wrap(begin, end, 18);
    buf_init(&b, MIB);
    grpc_frame(&b, 0, (size_t)(end - begin));
    buf_add(&b, begin, (size_t)(end - begin));
    struct reply reply = start_workflow(s, &b, NULL);
    buf_done(&b);
    return is_refusal(reply);
}

/* Two million empty payloads: two bytes each on the wire, far more when unpacked. */
static bool attack_wide_message(struct scene *s) {
    const size_t payloads = 2 * MIB - 64;
    struct buf b;
    uint8_t head[20];
    size_t n = varint(head, 5 << 3 | 2);
    n += varint(head + n, payloads * 2);
    buf_init(&b, 8 * MIB);
    grpc_frame(&b, 0, n + payloads * 2);
    buf_add(&b, head, n);
    for (size_t i = 0; i < payloads; i++)
        buf_add(&b, "\x0a\x00", 2);
    struct reply reply = start_workflow(s, &b, NULL);
    buf_done(&b);
    return is_refusal(reply);
}

/* 256 MiB of zeros in a quarter of a megabyte. */
static bool attack_gzip_bomb(struct scene *s) {
    uint8_t zeros[64 * KIB] = {0};
    struct buf b;
    z_stream z = {0};
    buf_init(&b, 4 * MIB);
    grpc_frame(&b, 1, 0);
    uint8_t *space = buf_extend(&b, MIB);
    ensure(space && deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    z.next_out = space;
    z.avail_out = MIB;
    for (int i = 0; i < 4096; i++) {
        z.next_in = zeros;
        z.avail_in = sizeof(zeros);
        ensure(deflate(&z, i == 4095 ? Z_FINISH : Z_NO_FLUSH) >= 0);
    }
    size_t len = MIB - z.avail_out;
    deflateEnd(&z);
    buf_truncate(&b, 5 + len);
    for (int i = 0; i < 4; i++)
        b.data[1 + i] = (uint8_t)(len >> (8 * (3 - i)));
    struct reply reply = start_workflow(s, &b, "gzip");
    buf_done(&b);
    return is_refusal(reply) && reply.grpc_status == GRPC_INVALID_ARGUMENT;
}

static bool attack_wrong_content_type(struct scene *s) {
    const struct question q = {
        .path = SERVICE "GetSystemInfo", .content_type = "text/plain", .body = {"\0\0\0\0\0", 5}};
    struct reply reply;
    return peer_ask(s->port, &q, &reply) && (reply.http_status >= 400 || is_refusal(reply));
}

static bool attack_unknown_method(struct scene *s) {
    static const char *const paths[] = {SERVICE "NoSuchMethod", "/", "/x/y/z", "/../../etc/passwd", SERVICE};
    bool ok = true;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const struct question q = {.path = paths[i], .body = {"\0\0\0\0\0", 5}};
        struct reply reply;
        ok = peer_ask(s->port, &q, &reply) && reply.grpc_status == GRPC_UNIMPLEMENTED && ok;
    }
    return ok;
}

struct attack {
    const char *name;
    bool (*fn)(struct scene *s);
    long growth_kib_max; /* 0: GROWTH_KIB_MAX */
};

static const struct attack attacks[] = {
    {"garbage", attack_garbage},
    {"garbage_after_preface", attack_garbage_after_preface},
    {"http1", attack_http1},
    {"hpack_bomb", attack_hpack_bomb},
    {"continuation_flood", attack_continuation_flood},
    {"slow_headers", attack_slow_headers},
    {"ping_flood", attack_ping_flood},
    {"settings_flood", attack_settings_flood},
    {"empty_data_flood", attack_empty_data_flood},
    {"window_update_flood", attack_window_update_flood},
    {"unknown_frame_flood", attack_unknown_frame_flood},
    {"rapid_reset", attack_rapid_reset},
    {"made_reset", attack_made_reset},
    {"window_stall", attack_window_stall},
    {"never_reads", attack_never_reads},
    {"unfinished_bodies", attack_unfinished_bodies},
    {"slow_bodies", attack_slow_bodies},
    {"http1_slow_headers", attack_http1_slow_headers},
    {"http1_slow_bodies", attack_http1_slow_bodies},
    {"http1_idle", attack_http1_idle},
    {"parked_polls", attack_parked_polls, POLLS_KIB_MAX},
    {"idle_connections", attack_idle_connections, IDLE_KIB_MAX},
    {"oversized_body", attack_oversized_body},
    {"lying_length", attack_lying_length},
    {"random_message", attack_random_message},
    {"deep_message", attack_deep_message},
    {"wide_message", attack_wide_message},
    {"gzip_bomb", attack_gzip_bomb},
    {"wrong_content_type", attack_wrong_content_type},
    {"unknown_method", attack_unknown_method},
};

static void complain(const char *name, bool is_so, const char *what) {
    if (is_so)
        printf("# %s: %s\n", name, what);
}

static bool judge(const struct attack *a, const struct victim *v, size_t scale) {
    struct scene scene = {.port = v->port, .http_port = v->http_port, .scale = scale};
    struct witness witness;
    long before_kib = victim_rss_kib(v),
         growth_max_kib = SHADOW_FACTOR * (a->growth_kib_max ? a->growth_kib_max : GROWTH_KIB_MAX);
    witness_start(&witness, v->port);
    bool had_effect = a->fn(&scene);
    bool is_serving = peer_gets_system_info(v->port) && peer_gets_health(v->http_port);
    struct testimony seen = witness_stop(&witness);
    long growth_kib = victim_rss_kib(v) - before_kib;
    size_t held = scene.held_count;
    scene_clear(&scene);
    complain(a->name, !had_effect, "the offender was not treated as it should be");
    complain(a->name, !is_serving, "a good client was not answered afterwards");
    complain(a->name, !victim_is_alive(v), "the server is gone");
    complain(a->name, seen.failed || !seen.answered, "a good client was not answered meanwhile");
    complain(a->name, growth_kib > growth_max_kib, "memory grew by more than it may");
    printf("# %s: memory grew by %ld KiB, %zu connections held, %lu good calls meanwhile, %lu failed, "
           "slowest %ld ms\n",
           a->name, growth_kib, held, seen.answered, seen.failed, seen.slowest_us / 1000);
    return had_effect && is_serving && seen.answered && !seen.failed && growth_kib <= growth_max_kib &&
           victim_is_alive(v);
}

static void report(int *counts, bool ok, const char *name) {
    counts[ok]++;
    printf("%s %d - %s\n", ok ? "ok" : "not ok", counts[false] + counts[true], name);
    fflush(stdout);
}

static int run_attacks(const char *server, const char *filter, size_t scale) {
    struct victim victim = {.pid_fd = -1};
    int counts[2] = {0};
    bool is_started = victim_start(&victim, server);
    report(counts, is_started, "server_starts");
    for (size_t i = 0; i < ARRAY_LEN(attacks) && is_started && victim_is_alive(&victim); i++)
        if (!filter || strstr(attacks[i].name, filter))
            report(counts, judge(&attacks[i], &victim, scale), attacks[i].name);
    report(counts, victim_stop(&victim), "server_stops_cleanly");
    printf("1..%d\n# %d passed, %d failed\n", counts[true] + counts[false], counts[true], counts[false]);
    return counts[false] == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    const char *server = NULL;
    const char *filter = NULL;
    size_t scale = 1;
    struct rlimit files;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (cstr_eq(argv[i], "--server"))
            server = argv[i + 1];
        else if (cstr_eq(argv[i], "--filter"))
            filter = argv[i + 1];
        else if (cstr_eq(argv[i], "--scale"))
            scale = MAX(strtoul(argv[i + 1], NULL, 10), 1);
    }
    if (!server) {
        fprintf(stderr, "usage: %s --server BINARY [--filter WORD] [--scale N]\n", argv[0]);
        return 2;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* a thousand connections may fit anyway */
    }
    return run_attacks(server, filter, scale);
}
