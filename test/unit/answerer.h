/* For tests of clients: our own HTTP/2 server with a scripted answer, in the loop of the client.
 *
 *   struct answerer s;
 *   if (answerer_start(&s)) {
 *       ... ask s.address ...
 *       answerer_run(&s, all_ended);
 *   }
 *   answerer_stop(&s);
 *
 * answerer_run() turns the loop until the condition holds or a generous guard time has passed, which is a
 * failed check. */
#pragma once

#include <stdio.h>

#include "harness.h"
#include "net/h2_int.h"

#define PARKED_MAX 600
#define ANSWERER_GUARD_US (20 * USEC_PER_SEC)

enum answer_mode { ANSWER_ECHO, ANSWER_TRAILERS, ANSWER_PARK, ANSWER_SCRIPT };

struct answerer {
    struct loop *loop;
    struct h2_server *server;
    struct timer *guard;
    char address[64];
    bool (*until)(struct answerer *);
    void *test; /* whatever the test wants its conditions to see */
    bool is_stuck;

    enum answer_mode mode;
    int status;
    struct h2_header trailers[4];
    size_t trailer_count;
    struct str body; /* ANSWER_SCRIPT */
    struct h2_request *parked[PARKED_MAX];
    size_t parked_count;
    size_t request_count, cancel_count, conn_peak;
    char seen_path[96];
    char seen_timeout[16];
    char seen_header[32];
};

static void answerer_answer(struct answerer *s, struct h2_request *r, struct str body) {
    static const struct h2_header headers[] = {{STR("content-type"), STR("application/grpc")}};
    struct h2_response resp = {.status = s->status,
                               .headers = headers,
                               .header_count = 1,
                               .trailers = s->trailers,
                               .trailer_count = s->trailer_count};
    buf_init(&resp.body, 64u << 20);
    buf_add_str(&resp.body, body);
    h2_respond(r, &resp);
}

static void answerer_keep(char *text, size_t size, struct str s) {
    (void)snprintf(text, size, "%.*s", (int)s.n, s.p ? s.p : "");
}

static void answerer_on_request(void *ctx, struct h2_request *r) {
    struct answerer *s = ctx;
    s->request_count++;
    s->conn_peak = MAX(s->conn_peak, s->server->conn_count);
    answerer_keep(s->seen_path, sizeof(s->seen_path), r->path);
    answerer_keep(s->seen_timeout, sizeof(s->seen_timeout), h2_request_header(r, "grpc-timeout"));
    answerer_keep(s->seen_header, sizeof(s->seen_header), h2_request_header(r, "x-test"));
    switch (s->mode) {
    case ANSWER_ECHO:
        answerer_answer(s, r, buf_str(&r->body));
        break;
    case ANSWER_TRAILERS:
        answerer_answer(s, r, STR(""));
        break;
    case ANSWER_SCRIPT:
        answerer_answer(s, r, s->body);
        break;
    case ANSWER_PARK:
        s->parked[s->parked_count++] = r;
        break;
    }
}

static void answerer_on_cancel(void *ctx, struct h2_request *r) {
    struct answerer *s = ctx;
    s->cancel_count++;
    for (size_t i = 0; i < s->parked_count; i++)
        if (s->parked[i] == r)
            s->parked[i] = NULL;
}

static void answerer_on_end(void unused_arg *ctx, struct h2_request unused_arg *r) {}

static inline void answerer_answer_parked(struct answerer *s, struct str body) {
    for (size_t i = 0; i < s->parked_count; i++)
        if (s->parked[i])
            answerer_answer(s, s->parked[i], body);
    s->parked_count = 0;
}

static bool answerer_listen(struct answerer *s, const char *address) {
    struct h2_handler handler = {answerer_on_request, answerer_on_cancel, answerer_on_end, answerer_on_end,
                                 s};
    struct err err = {0};
    if (!CHECK_INT(h2_server_new(s->loop, address, &handler, NULL, &s->server, &err), 0))
        return false;
    (void)snprintf(s->address, sizeof(s->address), "127.0.0.1:%u", h2_server_port(s->server));
    return true;
}

static inline void answerer_close(struct answerer *s) {
    h2_server_free(take(&s->server));
    s->parked_count = 0;
}

static void answerer_on_guard(void *ctx) {
    struct answerer *s = ctx;
    s->is_stuck = true;
    loop_stop(s->loop);
}

static void answerer_on_turn(void *ctx) {
    struct answerer *s = ctx;
    if (s->until && s->until(s))
        loop_stop(s->loop);
}

static inline bool answerer_run(struct answerer *s, bool (*until)(struct answerer *)) {
    if (until(s))
        return true;
    s->until = until;
    timer_set(s->guard, ANSWERER_GUARD_US);
    CHECK_INT(loop_run(s->loop), 0);
    timer_clear(s->guard);
    s->until = NULL;
    return CHECK(!s->is_stuck);
}

static inline bool answerer_start(struct answerer *s) {
    memset(s, 0, sizeof(*s));
    s->status = 200;
    s->trailers[0] = (struct h2_header){STR("grpc-status"), STR("0")};
    s->trailer_count = 1;
    if (!CHECK_INT(loop_new(&s->loop), 0) ||
        !CHECK_INT(timer_new(s->loop, answerer_on_guard, s, &s->guard), 0))
        return false;
    loop_on_turn(s->loop, answerer_on_turn, s);
    return answerer_listen(s, "127.0.0.1:0");
}

static inline void answerer_stop(struct answerer *s) {
    h2_server_free(s->server);
    timer_free(s->guard);
    loop_free(s->loop);
}
