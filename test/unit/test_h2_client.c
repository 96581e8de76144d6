/* The HTTP/2 client against our own server: exchanges, deadlines, cancellation, lost connections. */
#include "answerer.h"
#include "net/h2_link.h"

#define MIB (1u << 20)
#define ASKED_MAX 600

struct asked {
    struct test_client *t;
    struct h2_exchange *x;
    int end_count;
    int rc;
    bool is_unseen;
    int status;
    char text[ERR_TEXT_MAX];
    char grpc_status[8];
    char header[32];
    struct buf body;
    struct asked *cancels; /* when this one ends */
    bool asks_again;
};

struct test_client {
    struct answerer s;
    struct h2_client *client;
    struct asked asked[ASKED_MAX];
    size_t asked_count, end_count;
};

static struct asked *ask(struct test_client *t, struct str body, int64_t timeout_us);

static void on_end(void *ctx, const struct h2_answer *a) {
    struct asked *q = ctx;
    q->end_count++;
    q->t->end_count++;
    q->rc = a->err ? a->err->code : 0;
    (void)snprintf(q->text, sizeof(q->text), "%s", a->err ? a->err->text : "");
    q->is_unseen = a->is_unseen;
    q->status = a->status;
    answerer_keep(q->grpc_status, sizeof(q->grpc_status), h2_answer_header(a, "grpc-status"));
    answerer_keep(q->header, sizeof(q->header), h2_answer_header(a, "content-type"));
    q->body = *a->body;
    buf_init(a->body, 0);
    if (q->cancels)
        h2_client_cancel(q->cancels->x);
    if (q->asks_again)
        (void)ask(q->t, STR("again"), 0);
}

static struct asked *ask(struct test_client *t, struct str body, int64_t timeout_us) {
    static const struct h2_header headers[] = {{STR("x-test"), STR("some value")}};
    struct asked *q = &t->asked[t->asked_count++];
    struct h2_question question = {.path = STR("/pkg.Service/Method"),
                                   .headers = headers,
                                   .header_count = 1,
                                   .timeout_us = timeout_us,
                                   .on_end = on_end,
                                   .ctx = q};
    *q = (struct asked){.t = t};
    buf_init(&question.body, 64 * MIB);
    buf_add_str(&question.body, body);
    CHECK_INT(h2_client_ask(t->client, &question, &q->x), 0);
    CHECK_INT(q->end_count, 0);
    return q;
}

static bool start(struct test_client *t) {
    struct err err = {0};
    memset(t, 0, sizeof(*t));
    if (!answerer_start(&t->s))
        return false;
    t->s.test = t;
    return CHECK_INT(h2_client_new(t->s.loop, t->s.address, &t->client, &err), 0);
}

static void stop(struct test_client *t) {
    h2_client_free(t->client);
    for (size_t i = 0; i < t->asked_count; i++)
        buf_done(&t->asked[i].body);
    answerer_stop(&t->s);
}

static bool all_ended(struct answerer *s) {
    struct test_client *t = s->test;
    return t->end_count == t->asked_count;
}

static bool one_ended(struct answerer *s) {
    return ((struct test_client *)s->test)->end_count == 1;
}

static bool two_ended(struct answerer *s) {
    return ((struct test_client *)s->test)->end_count == 2;
}

static bool all_parked(struct answerer *s) {
    return s->parked_count == ((struct test_client *)s->test)->asked_count;
}

static bool one_cancelled(struct answerer *s) {
    return s->cancel_count == 1;
}

static bool no_links(struct answerer *s) {
    return list_empty(&((struct test_client *)s->test)->client->links);
}

TEST(question_and_answer) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        struct asked *q = ask(t, STR("hello"), 0);
        answerer_run(&t->s, all_ended);
        CHECK_STR(t->s.seen_path, "/pkg.Service/Method");
        CHECK_STR(t->s.seen_header, "some value");
        CHECK_INT(q->rc, 0);
        CHECK_INT(q->end_count, 1);
        CHECK_INT(q->status, 200);
        CHECK_STR(q->header, "application/grpc");
        CHECK_STR(q->grpc_status, "0");
        CHECK_SLICE(buf_str(&q->body), STR("hello"));
    }
    stop(t);
    mem_free(t);
}

TEST(answer_without_body) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_TRAILERS;
        struct asked *q = ask(t, STR(""), 0);
        answerer_run(&t->s, all_ended);
        CHECK_INT(q->rc, 0);
        CHECK_STR(q->grpc_status, "0");
        CHECK_INT(q->body.len, 0);
    }
    stop(t);
    mem_free(t);
}

/* Far more than the hundred streams that a client may open before it knows the server's limit. */
TEST(many_exchanges_share_one_connection) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        for (int i = 0; i < 500; i++)
            (void)ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        answerer_answer_parked(&t->s, STR("12345"));
        answerer_run(&t->s, all_ended);
        CHECK_INT(t->s.conn_peak, 1);
        for (size_t i = 0; i < t->asked_count; i++)
            if (!CHECK_SLICE(buf_str(&t->asked[i].body), STR("12345")))
                break;
    }
    stop(t);
    mem_free(t);
}

TEST(large_bodies_both_ways) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    struct buf large;
    buf_init(&large, 4 * MIB);
    uint8_t *p = buf_extend(&large, 4 * MIB);
    for (size_t i = 0; p && i < 4 * MIB; i++)
        p[i] = (uint8_t)(i * 31 >> 7);
    if (start(t)) {
        for (int i = 0; i < 3; i++)
            (void)ask(t, buf_str(&large), 0);
        answerer_run(&t->s, all_ended);
        for (int i = 0; i < 3; i++)
            CHECK(str_eq(buf_str(&t->asked[i].body), buf_str(&large)));
    }
    stop(t);
    buf_done(&large);
    mem_free(t);
}

TEST(deadline_ends_the_exchange_on_both_sides) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        struct asked *late = ask(t, STR("x"), 20 * USEC_PER_MS);
        struct asked *patient = ask(t, STR("x"), 0);
        answerer_run(&t->s, one_ended);
        CHECK_INT(late->rc, ERR_DEADLINE);
        CHECK(!late->is_unseen);
        answerer_run(&t->s, one_cancelled);
        answerer_answer_parked(&t->s, STR("here"));
        answerer_run(&t->s, all_ended);
        CHECK_INT(late->end_count, 1);
        CHECK_INT(patient->rc, 0);
        CHECK_SLICE(buf_str(&patient->body), STR("here"));
    }
    stop(t);
    mem_free(t);
}

TEST(cancelled_exchange_hears_nothing) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        struct asked *gone = ask(t, STR("x"), 0);
        struct asked *stays = ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        h2_client_cancel(gone->x);
        answerer_run(&t->s, one_cancelled);
        answerer_answer_parked(&t->s, STR("here"));
        answerer_run(&t->s, one_ended);
        CHECK_INT(gone->end_count, 0);
        CHECK_INT(stays->end_count, 1);
    }
    stop(t);
    mem_free(t);
}

TEST(cancelled_before_it_left) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        struct asked *gone = ask(t, STR("x"), 0);
        h2_client_cancel(gone->x);
        struct asked *stays = ask(t, STR("y"), 0);
        answerer_run(&t->s, one_ended);
        CHECK_INT(gone->end_count, 0);
        CHECK_SLICE(buf_str(&stays->body), STR("y"));
        CHECK_INT(t->s.request_count, 1);
    }
    stop(t);
    mem_free(t);
}

TEST(the_end_of_one_may_cancel_another_and_ask_again) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        struct asked *first = ask(t, STR("x"), 0);
        struct asked *second = ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        first->cancels = second; /* its answer is there, but it has not been told */
        first->asks_again = true;
        t->s.mode = ANSWER_ECHO;
        answerer_answer_parked(&t->s, STR("here"));
        answerer_run(&t->s, two_ended);
        CHECK_INT(first->end_count, 1);
        CHECK_SLICE(buf_str(&t->asked[2].body), STR("again"));
        CHECK_INT(second->end_count, 0);
        CHECK_INT(t->asked_count, 3);
    }
    stop(t);
    mem_free(t);
}

TEST(refused_connection_is_unseen_and_says_so) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        answerer_close(&t->s);
        struct asked *q = ask(t, STR("x"), 0);
        answerer_run(&t->s, all_ended);
        CHECK_INT(q->rc, ERR_UNAVAILABLE);
        CHECK(q->is_unseen);
        CHECK(strstr(q->text, "Connection refused") != NULL);
        CHECK(strstr(q->text, t->s.address) != NULL);
    }
    stop(t);
    mem_free(t);
}

TEST(lost_connection_ends_all_and_the_next_connects_again) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        for (int i = 0; i < 3; i++)
            (void)ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        answerer_close(&t->s);
        answerer_run(&t->s, all_ended);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(t->asked[i].rc, ERR_UNAVAILABLE);
            CHECK_INT(t->asked[i].end_count, 1);
            CHECK(!t->asked[i].is_unseen);
        }
        char address[64];
        (void)snprintf(address, sizeof(address), "%s", t->s.address);
        if (answerer_listen(&t->s, address)) {
            t->s.mode = ANSWER_ECHO;
            struct asked *q = ask(t, STR("back"), 0);
            answerer_run(&t->s, all_ended);
            CHECK_SLICE(buf_str(&q->body), STR("back"));
        }
    }
    stop(t);
    mem_free(t);
}

static void on_idle(void unused_arg *ctx) {}

/* The server says GOAWAY: what it has is still answered, then the connection goes. */
TEST(goodbye_lets_open_exchanges_finish) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        struct asked *q = ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        h2_server_drain(t->s.server, on_idle, NULL);
        struct h2_client *c = t->client;
        while (c->current && !t->s.is_stuck) {
            loop_begin_turn(t->s.loop);
            CHECK_INT(event_base_loop(loop_base(t->s.loop), EVLOOP_ONCE), 0);
        }
        answerer_answer_parked(&t->s, STR("last words"));
        answerer_run(&t->s, all_ended);
        CHECK_SLICE(buf_str(&q->body), STR("last words"));
        answerer_run(&t->s, no_links);
        struct asked *after = ask(t, STR("x"), 0);
        answerer_run(&t->s, all_ended);
        CHECK_INT(after->rc, ERR_UNAVAILABLE);
        CHECK(after->is_unseen);
    }
    stop(t);
    mem_free(t);
}

TEST(freeing_with_open_exchanges_tells_nobody) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        t->s.mode = ANSWER_PARK;
        (void)ask(t, STR("x"), 0);
        answerer_run(&t->s, all_parked);
        (void)ask(t, STR("not even sent"), 1);
        h2_client_free(take(&t->client));
        CHECK_INT(t->end_count, 0);
    }
    stop(t);
    mem_free(t);
}

TEST(name_that_is_no_address_is_refused) {
    struct loop *l = NULL;
    struct h2_client *c = NULL;
    struct err err = {0};
    REQUIRE(loop_new(&l) == 0);
    CHECK_INT(h2_client_new(l, "localhost", &c, &err), ERR_INVALID);
    CHECK(strstr(err.text, "host:port") != NULL);
    loop_free(l);
}

/* "localhost" means ::1 too, where nobody listens: the next address is tried. */
TEST(every_address_of_a_name_is_tried) {
    struct test_client *t = mem_zalloc(sizeof(*t));
    if (start(t)) {
        char address[64];
        struct err err = {0};
        (void)snprintf(address, sizeof(address), "localhost:%u", h2_server_port(t->s.server));
        h2_client_free(take(&t->client));
        CHECK_INT(h2_client_new(t->s.loop, address, &t->client, &err), 0);
        struct asked *q = ask(t, STR("hello"), 0);
        answerer_run(&t->s, all_ended);
        CHECK_SLICE(buf_str(&q->body), STR("hello"));
    }
    stop(t);
    mem_free(t);
}
