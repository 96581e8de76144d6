/* gRPC calls as a client: what a response, a status and a broken answer become. */
#include "client/client.h"

#include "answerer.h"
#include "wire/encode.h"
#include "wire/status.h"
#include "workflowservice.pb-c.h"

struct heard {
    int count;
    enum grpc_code code;
    char text[ERR_TEXT_MAX];
    bool has_message;
    bool is_unseen;
    int64_t counted;
    struct buf details;
};

static void on_reply(void *ctx, const struct client_reply *r) {
    struct heard *h = ctx;
    h->count++;
    h->code = r->code;
    h->is_unseen = r->is_unseen;
    (void)snprintf(h->text, sizeof(h->text), "%s", r->text);
    h->has_message = r->message != NULL;
    if (r->message)
        h->counted = ((const Ws__CountWorkflowExecutionsResponse *)r->message)->count;
    buf_init(&h->details, 1u << 20);
    buf_add_str(&h->details, r->details);
}

static void call(struct answerer *s, struct client *c, int64_t timeout_us, struct heard *h) {
    Ws__CountWorkflowExecutionsRequest q = WS__COUNT_WORKFLOW_EXECUTIONS_REQUEST__INIT;
    struct h2_header metadata = {STR("x-test"), STR("meta")};
    char name[] = "default";
    q.namespace_ = name;
    struct client_ask ask = {.method = CALL_CountWorkflowExecutions,
                             .request = &q.base,
                             .timeout_us = timeout_us,
                             .metadata = &metadata,
                             .metadata_count = 1,
                             .on_reply = on_reply,
                             .ctx = h};
    *h = (struct heard){0};
    timer_set(s->guard, ANSWERER_GUARD_US);
    CHECK_INT(client_call_wait(c, &ask), 0);
    CHECK_INT(h->count, 1);
}

static bool start(struct answerer *s, struct client **c) {
    struct err err = {0};
    *c = NULL;
    return answerer_start(s) && CHECK_INT(client_new(s->loop, s->address, c, &err), 0);
}

static void stop(struct answerer *s, struct client *c, struct heard *h) {
    buf_done(&h->details);
    client_free(c);
    answerer_stop(s);
}

static void script_message(struct answerer *s, struct buf *body, int64_t count) {
    Ws__CountWorkflowExecutionsResponse m = WS__COUNT_WORKFLOW_EXECUTIONS_RESPONSE__INIT;
    m.count = count;
    buf_init(body, 1u << 20);
    size_t begin = grpc_frame_begin(body);
    wire_encode(body, &m.base);
    CHECK_INT(grpc_frame_end(body, begin, GRPC_PLAIN), 0);
    s->mode = ANSWER_SCRIPT;
    s->body = buf_str(body);
}

TEST(message_out_message_in) {
    struct answerer s;
    struct client *c;
    struct heard h = {0};
    struct buf body cleanup(buf_done) = {0};
    if (start(&s, &c)) {
        script_message(&s, &body, 42);
        call(&s, c, 5 * USEC_PER_SEC, &h);
        CHECK_STR(s.seen_path, "/temporal.api.workflowservice.v1.WorkflowService/CountWorkflowExecutions");
        CHECK_STR(s.seen_timeout, "5000000u");
        CHECK_STR(s.seen_header, "meta");
        CHECK_INT(h.code, GRPC_OK);
        CHECK(h.has_message);
        CHECK_INT(h.counted, 42);
    }
    stop(&s, c, &h);
}

TEST(status_text_and_details) {
    struct answerer s;
    struct client *c;
    struct heard h = {0};
    if (start(&s, &c)) {
        s.mode = ANSWER_TRAILERS;
        s.trailers[0] = (struct h2_header){STR("grpc-status"), STR("5")};
        s.trailers[1] = (struct h2_header){STR("grpc-message"), STR("not here: 100%25")};
        s.trailers[2] = (struct h2_header){STR("grpc-status-details-bin"), STR("Zm9vYg")};
        s.trailer_count = 3;
        call(&s, c, 0, &h);
        CHECK_INT(h.code, GRPC_NOT_FOUND);
        CHECK_STR(h.text, "not here: 100%");
        CHECK_SLICE(buf_str(&h.details), STR("foob"));
        CHECK(!h.has_message);
        CHECK_STR(s.seen_timeout, "");
    }
    stop(&s, c, &h);
}

TEST(answers_that_are_no_grpc) {
    static const struct {
        int status;
        enum grpc_code want;
    } cases[] = {{200, GRPC_UNKNOWN},           {400, GRPC_INTERNAL},      {401, GRPC_UNAUTHENTICATED},
                 {403, GRPC_PERMISSION_DENIED}, {404, GRPC_UNIMPLEMENTED}, {429, GRPC_UNAVAILABLE},
                 {503, GRPC_UNAVAILABLE},       {500, GRPC_UNKNOWN}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct answerer s;
        struct client *c;
        struct heard h = {0};
        if (start(&s, &c)) {
            s.mode = ANSWER_TRAILERS;
            s.trailer_count = 0;
            s.status = cases[i].status;
            call(&s, c, 0, &h);
            CHECK_INT(h.code, cases[i].want);
            CHECK(!h.has_message);
        }
        stop(&s, c, &h);
    }
}

/* OK in the trailers, but the body is not what was asked for. */
TEST(broken_messages_are_internal) {
    static const struct str bodies[] = {STR("\0\0\0\0\2\x08"), STR("\0\0\0\0\1\xff"), STR("abc"), STR("")};
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct answerer s;
        struct client *c;
        struct heard h = {0};
        if (start(&s, &c)) {
            s.mode = ANSWER_SCRIPT;
            s.body = bodies[i];
            call(&s, c, 0, &h);
            CHECK_INT(h.code, GRPC_INTERNAL);
            CHECK(!h.has_message);
            CHECK(h.text[0] != 0);
        }
        stop(&s, c, &h);
    }
}

TEST(no_server_is_unavailable) {
    struct answerer s;
    struct client *c;
    struct heard h = {0};
    if (start(&s, &c)) {
        answerer_close(&s);
        call(&s, c, 0, &h);
        CHECK_INT(h.code, GRPC_UNAVAILABLE);
        CHECK(h.is_unseen);
    }
    stop(&s, c, &h);
}

TEST(deadline_passes) {
    struct answerer s;
    struct client *c;
    struct heard h = {0};
    if (start(&s, &c)) {
        s.mode = ANSWER_PARK;
        call(&s, c, 20 * USEC_PER_MS, &h);
        CHECK_INT(h.code, GRPC_DEADLINE_EXCEEDED);
    }
    stop(&s, c, &h);
}

static bool one_parked(struct answerer *s) {
    return s->parked_count == 1;
}

static bool one_cancelled(struct answerer *s) {
    return s->cancel_count == 1;
}

TEST(cancelled_call_hears_nothing) {
    struct answerer s;
    struct client *c;
    struct heard h = {0};
    if (start(&s, &c)) {
        Ws__GetSystemInfoRequest q = WS__GET_SYSTEM_INFO_REQUEST__INIT;
        struct client_ask ask = {
            .method = CALL_GetSystemInfo, .request = &q.base, .on_reply = on_reply, .ctx = &h};
        struct client_call *under_way = NULL;
        s.mode = ANSWER_PARK;
        CHECK_INT(client_call(c, &ask, &under_way), 0);
        answerer_run(&s, one_parked);
        if (under_way && h.count == 0) /* with no memory it has failed by now */
            client_cancel(under_way);
        answerer_run(&s, one_cancelled);
        CHECK_INT(h.count, 0);
        CHECK_STR(client_method_name(CALL_GetSystemInfo), "GetSystemInfo");
    }
    stop(&s, c, &h);
}
