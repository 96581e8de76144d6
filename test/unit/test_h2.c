/* HTTP/2 as clients use it: requests, responses, outcomes, windows, drain. */
#include "h2_client.h"

#define MIB (1u << 20)

TEST(request_and_response) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        struct call *call = rig_call(&rig, "/pkg.Service/Method", "hello", 5);
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        CHECK_STR(rig.seen_method, "POST");
        CHECK_STR(rig.seen_path, "/pkg.Service/Method");
        CHECK_STR(rig.seen_header, "some value");
        CHECK_INT(call->status, 200);
        CHECK_SLICE(buf_str(&call->got), STR("hello"));
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(call->code, NGHTTP2_NO_ERROR);
        CHECK(!call->is_ended_by_headers);
        CHECK_INT(rig.sent_count, 1);
        CHECK_INT(rig.cancel_count + rig.lost_count, 0);
    }
    rig_stop(&rig);
}

TEST(empty_body_puts_trailers_into_first_headers) {
    struct rig rig;
    if (rig_start(&rig, MODE_TRAILERS)) {
        struct call *call = rig_call(&rig, "/x", "hello", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
        CHECK_STR(call->grpc_status, "0");
        CHECK(call->is_ended_by_headers);
        CHECK_INT(call->data_frames, 0);
    }
    rig_stop(&rig);
}

TEST(request_without_body) {
    struct rig rig;
    if (rig_start(&rig, MODE_TRAILERS)) {
        struct call *call = rig_call(&rig, "/x", NULL, 0);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
        CHECK_INT(rig.request_count, 1);
    }
    rig_stop(&rig);
}

TEST(absent_header_is_null) {
    struct h2_header one = {STR("a"), STR("")};
    struct h2_request req = {.headers = &one, .header_count = 1};
    CHECK(h2_request_header(&req, "b").p == NULL);
    CHECK(h2_request_header(&req, "a").p != NULL);
}

TEST(many_headers_are_kept) {
    struct rig rig;
    if (rig_start(&rig, MODE_TRAILERS)) {
        char names[60][16];
        nghttp2_nv nv[65] = {client_nv(":method", "GET"), client_nv(":path", "/"),
                             client_nv(":scheme", "http"), client_nv(":authority", "test")};
        for (int i = 0; i < 60; i++) {
            (void)snprintf(names[i], sizeof(names[i]), "h%d", i);
            nv[4 + i] = client_nv(names[i], "v");
        }
        nv[64] = client_nv("x-test", "the last");
        struct call *call = &rig.calls[rig.call_count++];
        call->id = nghttp2_submit_request(rig.session, NULL, nv, 65, NULL, call);
        rig_run(&rig, calls_done);
        CHECK_STR(rig.seen_header, "the last");
        CHECK_STR(rig.seen_method, "GET");
        CHECK_INT(call->status, 200);
    }
    rig_stop(&rig);
}

static bool one_cancelled(struct rig *rig) {
    return rig->cancel_count == 1;
}

TEST(reset_cancels_a_waiting_request) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *parked = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        rig_reset(&rig, parked);
        rig_run(&rig, one_cancelled);
        CHECK_INT(rig.cancel_count, 1);
        rig.mode = MODE_ECHO;
        struct call *next = rig_call(&rig, "/y", "still here", 10);
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&next->got), STR("still here"));
        CHECK_INT(rig.cancel_count, 1);
        CHECK_INT(rig.lost_count, 0);
    }
    rig_stop(&rig);
}

static bool two_parts_came(struct rig *rig) {
    return rig->calls[0].got.len == 8;
}

static bool three_parts_came(struct rig *rig) {
    return rig->calls[0].got.len == 14;
}

TEST(response_comes_in_parts) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARTS)) {
        struct call *call = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, two_parts_came);
        CHECK_INT(call->status, 200);
        CHECK_STR(call->grpc_status, "");
        CHECK_INT(rig.sent_count, 0);
        if (CHECK_INT(rig.parked_count, 1))
            rig_answer_part(rig.parked[0], STR("three,"));
        rig_run(&rig, three_parts_came);
        if (rig.parked_count && !rig.cancel_count)
            rig_answer(rig.parked[0], STR("end"));
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        CHECK_SLICE(buf_str(&call->got), STR("one,two,three,end"));
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(rig.sent_count, 1);
    }
    rig_stop(&rig);
}

TEST(response_in_parts_may_end_with_trailers_alone) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARTS)) {
        struct call *call = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, two_parts_came);
        if (CHECK_INT(rig.parked_count, 1))
            rig_answer(rig.parked[0], STR(""));
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&call->got), STR("one,two,"));
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(rig.cancel_count + rig.lost_count, 0);
    }
    rig_stop(&rig);
}

TEST(reset_cancels_a_response_in_parts) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARTS)) {
        struct call *call = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, two_parts_came);
        rig_reset(&rig, call);
        rig_run(&rig, one_cancelled);
        CHECK_INT(rig.cancel_count, 1);
        CHECK_INT(rig.lost_count + rig.sent_count, 0);
    }
    rig_stop(&rig);
}

static bool server_saw_end(struct rig *rig) {
    return rig->server->conn_count == 0;
}

/* The client goes away: rig_run() would stop at once. */
static void rig_vanish(struct rig *rig) {
    client_end(rig);
    rig->has_left = true;
    rig->until = server_saw_end;
    rig_arm_guard(rig);
    CHECK_INT(loop_run(rig->loop), 0);
    CHECK(!rig->is_stuck);
}

TEST(closed_connection_cancels_all_waiting_requests) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        for (int i = 0; i < 3; i++)
            (void)rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        rig_vanish(&rig);
        CHECK_INT(rig.request_count, 3);
        CHECK_INT(rig.cancel_count, 3);
        CHECK_INT(rig.lost_count + rig.sent_count, 0);
    }
    rig_stop(&rig);
}

TEST(answer_to_a_request_whose_stream_just_closed_is_lost) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *first = rig_call(&rig, "/x", "12345", 5);
        struct call *second = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        /* Both resets arrive in one read: the handler hears of the first and answers the second. */
        rig.answer_on_cancel = 2;
        rig_reset(&rig, first);
        rig_reset(&rig, second);
        rig_run(&rig, outcomes_known);
        CHECK_INT(rig.cancel_count, 1);
        CHECK_INT(rig.lost_count, 1);
    }
    rig_stop(&rig);
}

static bool headers_came(struct rig *rig) {
    return rig->calls[0].status != 0 || rig->calls[0].is_closed;
}

TEST(reset_before_all_was_sent_is_lost) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        client_greet(&rig, 3); /* three bytes of five may come */
        struct call *call = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, headers_came);
        rig_reset(&rig, call);
        rig_run(&rig, outcomes_known);
        CHECK_INT(rig.lost_count, 1);
        CHECK_INT(rig.sent_count + rig.cancel_count, 0);
    }
    rig_stop(&rig);
}

TEST(closed_connection_loses_unsent_answers) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        client_greet(&rig, 0);
        for (int i = 0; i < 3; i++)
            (void)rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        rig_vanish(&rig);
        CHECK_INT(rig.lost_count, 3);
        CHECK_INT(rig.sent_count + rig.cancel_count, 0);
    }
    rig_stop(&rig);
}

TEST(freeing_the_server_settles_every_request) {
    struct rig rig;
    if (rig_open(&rig, MODE_PARK)) {
        client_greet(&rig, 0);
        for (int i = 0; i < 4; i++)
            (void)rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        if (rig.parked_count == 4) {
            rig_answer(rig.parked[0], STR("12345"));
            rig_answer(rig.parked[2], STR("12345"));
        }
        h2_server_free(take(&rig.server));
        CHECK_INT(rig.lost_count, 2);
        CHECK_INT(rig.cancel_count, 2);
    }
    rig_stop(&rig);
}

TEST(answer_with_unsendable_trailers_is_lost) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *call = rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, requests_arrived);
        char huge[100000];
        memset(huge, 'h', sizeof(huge));
        struct h2_header trailer = {STR("grpc-status-details-bin"), {huge, sizeof(huge)}};
        struct h2_response resp = {.status = 200, .trailers = &trailer, .trailer_count = 1};
        buf_init(&resp.body, 16);
        if (rig.parked_count)
            h2_respond(rig.parked[0], &resp);
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        CHECK_INT(call->code, NGHTTP2_INTERNAL_ERROR);
        CHECK_INT(rig.lost_count, 1);
    }
    rig_stop(&rig);
}

TEST(request_trailers_are_not_headers) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        nghttp2_nv nv[] = {client_nv(":method", "POST"), client_nv(":path", "/"),
                           client_nv(":scheme", "http"), client_nv(":authority", "test")};
        nghttp2_nv late[] = {client_nv("x-test", "too late")};
        struct call *call = &rig.calls[rig.call_count++];
        *call = (struct call){.send = (const uint8_t *)"12345", .send_len = 5, .hold_at = 4};
        nghttp2_data_provider source = {.source.ptr = call, .read_callback = client_read_body};
        call->id = nghttp2_submit_request(rig.session, NULL, nv, ARRAY_LEN(nv), &source, call);
        client_pump(&rig);
        nghttp2_submit_trailer(rig.session, call->id, late, ARRAY_LEN(late));
        rig_run(&rig, requests_arrived);
        CHECK_INT(rig.request_count, 1);
        CHECK_STR(rig.seen_header, "");
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
    }
    rig_stop(&rig);
}

TEST(oversize_body_is_answered_before_its_end) {
    struct rig rig;
    static const uint8_t body[5 * MIB];
    if (rig_start(&rig, MODE_ECHO)) {
        struct call *call = rig_call(&rig, "/x", body, sizeof(body));
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        CHECK_INT(rig.oversize_count, 1);
        CHECK_INT(rig.request_count, 1);
        CHECK_SLICE(buf_str(&call->got), STR("too large"));
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(call->code, NGHTTP2_NO_ERROR);
        CHECK(call->send_at < sizeof(body));
        CHECK_INT(rig.sent_count, 1);
        struct call *next = rig_call(&rig, "/y", "after", 5);
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&next->got), STR("after"));
    }
    rig_stop(&rig);
}

TEST(largest_body_is_not_oversize) {
    struct rig rig;
    static const uint8_t body[4 * MIB + 5];
    if (rig_start(&rig, MODE_TRAILERS)) {
        struct call *call = rig_call(&rig, "/x", body, sizeof(body));
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
        CHECK_INT(rig.oversize_count, 0);
        CHECK_INT(call->send_at, sizeof(body));
    }
    rig_stop(&rig);
}

static void fill_pattern(uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)(i * 31 + i / 251);
}

TEST(small_windows_carry_large_bodies_both_ways) {
    struct rig rig;
    uint8_t body[MIB];
    fill_pattern(body, sizeof(body));
    if (rig_open(&rig, MODE_ECHO)) {
        client_greet(&rig, 1000);
        struct call *calls[3];
        for (size_t i = 0; i < ARRAY_LEN(calls); i++)
            calls[i] = rig_call(&rig, "/x", body, sizeof(body));
        rig_run(&rig, calls_done);
        for (size_t i = 0; i < ARRAY_LEN(calls); i++)
            CHECK(str_eq(buf_str(&calls[i]->got), str_bytes(body, sizeof(body))));
        CHECK(calls[0]->data_frames > 1000);
    }
    rig_stop(&rig);
}

TEST(five_hundred_parked_streams_are_answered) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        for (int i = 0; i < 500; i++)
            (void)rig_call(&rig, "/poll", "12345", 5);
        rig_run(&rig, requests_arrived);
        CHECK_INT(rig.parked_count, 500);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        size_t good = 0;
        for (size_t i = 0; i < rig.call_count; i++)
            good += str_eq(buf_str(&rig.calls[i].got), STR("12345")) && cstr_eq(rig.calls[i].grpc_status, "0");
        CHECK_INT(good, 500);
        CHECK_INT(rig.sent_count, 500);
    }
    rig_stop(&rig);
}

static bool goaway_came(struct rig *rig) {
    return rig->has_goaway;
}

static bool final_goaway_came(struct rig *rig) {
    return rig->has_goaway && rig->goaway_last != INT32_MAX;
}

static bool is_idle(struct rig *rig) {
    return rig->idle_count > 0;
}

TEST(drain_answers_what_waits_and_then_is_idle) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *parked = rig_call(&rig, "/poll", "12345", 5);
        rig_run(&rig, requests_arrived);
        h2_server_drain(rig.server, rig_on_idle, &rig);
        rig_run(&rig, goaway_came);
        CHECK_INT(rig.goaway_code, NGHTTP2_NO_ERROR);
        CHECK_INT(rig.goaway_last, INT32_MAX);
        rig_run(&rig, final_goaway_came);
        CHECK_INT(rig.goaway_last, parked->id);
        CHECK_INT(rig.idle_count, 0);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&parked->got), STR("12345"));
        rig_run(&rig, client_ended);
        CHECK(rig.is_eof);
        CHECK_INT(rig.sent_count, 1);
        rig_vanish(&rig);
        CHECK_INT(rig.idle_count, 1);
    }
    rig_stop(&rig);
}

TEST(request_that_crosses_the_drain_notice_is_taken) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        (void)rig_call(&rig, "/a", "12345", 5);
        rig_run(&rig, requests_arrived);
        struct call *crossing = rig_call(&rig, "/b", "12345", 5); /* in the socket before the notice */
        h2_server_drain(rig.server, rig_on_idle, &rig);
        rig_run(&rig, final_goaway_came);
        CHECK_INT(rig.goaway_last, crossing->id);
        CHECK_INT(rig.parked_count, 2);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&crossing->got), STR("12345"));
    }
    rig_stop(&rig);
}

static bool server_has_body(struct rig *rig) {
    return rig_body_bytes(rig) > 0;
}

static bool is_refused(struct rig *rig) {
    return rig->calls[0].is_closed;
}

TEST(drain_refuses_a_request_that_is_not_complete) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        struct call *half = rig_call_held(&rig, "/half", "12345", 5, 3);
        rig_run(&rig, server_has_body);
        h2_server_drain(rig.server, rig_on_idle, &rig);
        rig_run(&rig, is_refused);
        CHECK(half->is_closed);
        CHECK_INT(half->code, NGHTTP2_REFUSED_STREAM);
        CHECK_INT(rig.request_count, 0);
        rig_run(&rig, client_ended);
        rig_vanish(&rig);
        CHECK_INT(rig.idle_count, 1);
    }
    rig_stop(&rig);
}

TEST(drain_without_connections_is_idle_at_once) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        (void)rig_call(&rig, "/a", "12345", 5);
        rig_run(&rig, calls_done);
        rig_vanish(&rig);
        h2_server_drain(rig.server, rig_on_idle, &rig);
        CHECK_INT(rig.idle_count, 0); /* never from inside the call */
        rig.until = is_idle;
        CHECK_INT(loop_run(rig.loop), 0);
        CHECK_INT(rig.idle_count, 1);
        CHECK(!client_connect(&rig));
    }
    rig_stop(&rig);
}

TEST(http1_request_gets_a_plain_close) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        static const char get[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        client_send_raw(&rig, get, sizeof(get) - 1);
        rig_run(&rig, client_ended);
        CHECK(rig.is_eof);
        CHECK_INT(rig.raw_bytes, 0);
        CHECK_INT(rig.request_count, 0);
    }
    rig_stop(&rig);
}

TEST(taken_port_is_refused_with_a_text) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        char address[32];
        struct h2_handler handler = {0};
        struct h2_server *second = NULL;
        struct err err = {0};
        (void)snprintf(address, sizeof(address), "127.0.0.1:%u", h2_server_port(rig.server));
        CHECK_INT(h2_server_new(rig.loop, address, &handler, NULL, &second, &err), ERR_UNAVAILABLE);
        CHECK(strstr(err.text, address) != NULL);
        CHECK(strstr(err.text, "in use") != NULL);
        CHECK(second == NULL);
    }
    rig_stop(&rig);
}

TEST(addresses_without_a_port_are_refused) {
    struct rig rig;
    static const char *const bad[] = {"localhost", "localhost:", "no.such.host.invalid:1",
                                      "127.0.0.1:70000x"};
    if (rig_open(&rig, MODE_ECHO)) {
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
            struct h2_handler handler = {0};
            struct h2_server *server = NULL;
            struct err err = {0};
            CHECK_INT(h2_server_new(rig.loop, bad[i], &handler, NULL, &server, &err), ERR_UNAVAILABLE);
            CHECK(strstr(err.text, bad[i]) != NULL);
        }
    }
    rig_stop(&rig);
}

/* streams of messages */

static bool one_message_came_back(struct rig *rig) {
    return rig->calls[0].got.len == 2;
}

static void go_on(struct rig *rig, struct call *call) {
    call->hold_at = 0;
    (void)nghttp2_session_resume_data(rig->session, call->id);
    client_pump(rig);
}

TEST(stream_is_handed_over_as_it_comes) {
    struct rig rig;
    if (rig_start(&rig, MODE_STREAM)) {
        struct call *call = rig_call_held(&rig, "/stream", "aabbccd", 7, 3);
        rig_run(&rig, one_message_came_back);
        CHECK_INT(rig.request_count, 1);
        CHECK_SLICE(buf_str(&call->got), STR("aa"));
        CHECK_INT(rig.sent_count, 0);
        go_on(&rig, call);
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        CHECK_SLICE(buf_str(&call->got), STR("aabbccd"));
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(rig.request_count, 1);
        CHECK(rig.more_count >= 1);
        CHECK_INT(rig.sent_count, 1);
        CHECK_INT(rig_body_bytes(&rig), 0);
    }
    rig_stop(&rig);
}

TEST(stream_without_a_message_ends) {
    struct rig rig;
    if (rig_start(&rig, MODE_STREAM)) {
        struct call *call = rig_call(&rig, "/stream", NULL, 0);
        rig_run(&rig, calls_done);
        CHECK_STR(call->grpc_status, "0");
        CHECK_INT(call->got.len, 0);
    }
    rig_stop(&rig);
}

/* Much more than its window: what was consumed makes room. */
TEST(stream_may_be_long) {
    struct rig rig;
    static const uint8_t body[MIB];
    if (rig_start(&rig, MODE_STREAM)) {
        rig.message_bytes = 8 << 10;
        struct call *call = rig_call(&rig, "/stream", body, sizeof(body));
        rig_run(&rig, calls_done);
        CHECK_INT(call->got.len, sizeof(body));
        CHECK_INT(rig.oversize_count, 0);
        CHECK_INT(rig_body_bytes(&rig), 0);
    }
    rig_stop(&rig);
}

TEST(stream_that_is_left_is_cancelled) {
    struct rig rig;
    if (rig_start(&rig, MODE_STREAM)) {
        struct call *call = rig_call_held(&rig, "/stream", "aabbc", 5, 3);
        rig_run(&rig, one_message_came_back);
        rig_reset(&rig, call);
        rig_run(&rig, one_cancelled);
        CHECK_INT(rig.cancel_count, 1);
        (void)rig_call_held(&rig, "/stream", "aabbc", 5, 3);
        rig_run(&rig, requests_arrived);
        rig_vanish(&rig);
        CHECK_INT(rig.cancel_count + rig.lost_count, 2);
    }
    rig_stop(&rig);
}

static bool request_is_answered(struct rig *rig) {
    return rig->calls[rig->call_count - 1].is_closed;
}

static bool stream_is_full(struct rig *rig) {
    return rig->parked[0] && rig->parked[0]->body.len >= LIMIT_STREAM_WINDOW_BYTES;
}

static bool stream_is_read(struct rig *rig) {
    if (rig->parked[0] && rig->parked[0]->body.len)
        h2_consume(rig->parked[0], rig->parked[0]->body.len);
    return rig->parked[0] && rig->parked[0]->is_complete;
}

/* Nobody takes anything away: the peer has to wait, and others are heard. */
TEST(stream_that_is_not_read_is_not_sent_on) {
    struct rig rig;
    static const uint8_t body[5 * MIB];
    if (rig_start(&rig, MODE_PARK)) {
        struct call *call = rig_call(&rig, "/stream", body, sizeof(body));
        rig_run(&rig, stream_is_full);
        rig.mode = MODE_ECHO;
        for (int i = 0; i < 100; i++) {
            struct call *other = rig_call(&rig, "/x", body, 100);
            rig_run(&rig, request_is_answered);
            CHECK_INT(other->status, 200);
        }
        /* A peer that has not heard of our window yet uses the one that the RFC gives it. */
        CHECK(rig.parked[0] && rig.parked[0]->body.len <= NGHTTP2_INITIAL_WINDOW_SIZE);
        rig_run(&rig, stream_is_read);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_SLICE(buf_str(&call->got), STR("12345"));
    }
    rig_stop(&rig);
}
