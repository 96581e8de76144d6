/* What a peer may cost: every limit of net/limits.def that can be reached from outside. */
#include "h2_client.h"

#define MIB (1u << 20)

TEST(bucket_gives_burst_then_rate) {
    struct bucket b;
    bucket_init(&b, 3, 10, 1000);
    CHECK(bucket_take(&b, 2, 1000));
    CHECK(!bucket_take(&b, 2, 1000));
    CHECK(bucket_take(&b, 1, 1000));
    CHECK(!bucket_take(&b, 1, 1000 + 99999));
    CHECK(bucket_take(&b, 1, 1000 + 100000));
    CHECK(!bucket_take(&b, 1, 1000 + 100000));
    bucket_refund(&b, 100);
    CHECK_INT(b.tokens, 3);
}

TEST(bucket_full_for_long_holds_no_more_than_burst) {
    struct bucket b;
    bucket_init(&b, 5, 100, 0);
    CHECK(bucket_take(&b, 5, 3600 * USEC_PER_SEC));
    CHECK(!bucket_take(&b, 1, 3600 * USEC_PER_SEC));
}

/* A request whose fields are `count` copies of one header; HPACK sends the second and later ones as one byte.
 */
static void send_repeated_header(struct rig *rig, size_t count, size_t value_len) {
    char value[3000];
    nghttp2_nv nv[100];
    uint8_t frame[9 + 16384];
    nghttp2_hd_deflater *deflater;
    ensure(value_len < sizeof(value) && count + 4 <= ARRAY_LEN(nv));
    memset(value, 'v', value_len);
    value[value_len] = '\0';
    nv[0] = client_nv(":method", "POST");
    nv[1] = client_nv(":path", "/");
    nv[2] = client_nv(":scheme", "http");
    nv[3] = client_nv(":authority", "test");
    for (size_t i = 0; i < count; i++)
        nv[4 + i] = client_nv("x", value);
    client_pump(rig);
    if (!CHECK_INT(nghttp2_hd_deflate_new(&deflater, 4096), 0))
        return;
    ssize_t n = nghttp2_hd_deflate_hd(deflater, frame + 9, sizeof(frame) - 9, nv, count + 4);
    nghttp2_hd_deflate_del(deflater);
    if (!CHECK(n > 0))
        return;
    const uint8_t head[9] = {0, (uint8_t)(n >> 8), (uint8_t)n, NGHTTP2_HEADERS, 0x5, 0, 0, 0, 1};
    memcpy(frame, head, sizeof(head));
    client_send_raw(rig, frame, (size_t)n + sizeof(head));
}

TEST(large_header_list_is_answered_with_431) {
    struct rig rig;
    if (rig_start(&rig, MODE_TRAILERS)) {
        char value[9000];
        memset(value, 'v', sizeof(value) - 1);
        value[sizeof(value) - 1] = '\0';
        nghttp2_nv nv[] = {client_nv(":method", "POST"), client_nv(":path", "/"),
                           client_nv(":scheme", "http"), client_nv(":authority", "test"),
                           client_nv("a", value),        client_nv("b", value)};
        struct call *call = &rig.calls[rig.call_count++];
        call->id = nghttp2_submit_request(rig.session, NULL, nv, ARRAY_LEN(nv), NULL, call);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 431);
        CHECK_INT(rig.request_count, 0);
        struct call *next = rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(next->status, 200);
    }
    rig_stop(&rig);
}

TEST(header_bomb_closes_the_connection) {
    struct rig rig;
    if (rig_start(&rig, MODE_TRAILERS)) {
        send_repeated_header(&rig, 30, 2900);
        rig_run(&rig, client_ended);
        CHECK(rig.has_goaway);
        CHECK_INT(rig.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
        CHECK_INT(rig.request_count, 0);
    }
    rig_stop(&rig);
}

static void sweep_after(struct rig *rig, int64_t delay_us) {
    server_sweep(rig->server, host_now().mono.us + delay_us + 1);
}

static bool is_connected(struct rig *rig) {
    return rig->server->conn_count == 1;
}

static bool is_greeted(struct rig *rig) {
    return rig_conn(rig) && rig_conn(rig)->is_greeted;
}

TEST(silent_connection_is_closed) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        rig_run(&rig, is_connected);
        sweep_after(&rig, LIMIT_HANDSHAKE_US / 2);
        CHECK_INT(rig.server->conn_count, 1);
        sweep_after(&rig, LIMIT_HANDSHAKE_US);
        rig_run(&rig, client_ended);
        CHECK(rig.is_eof);
    }
    rig_stop(&rig);
}

static bool has_headers_begun(struct rig *rig) {
    return rig_conn(rig) && rig_conn(rig)->headers_us;
}

TEST(unfinished_headers_close_the_connection) {
    struct rig rig;
    static const uint8_t begun[] = {0, 0, 1, NGHTTP2_HEADERS, 0, 0, 0, 0, 1, 0x83};
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, is_greeted);
        client_send_raw(&rig, begun, sizeof(begun));
        rig_run(&rig, has_headers_begun);
        sweep_after(&rig, LIMIT_HEADERS_US);
        rig_run(&rig, client_ended);
        CHECK_INT(rig.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
        CHECK_INT(rig.request_count, 0);
    }
    rig_stop(&rig);
}

/* The second request has no path; nobody is told how its header block ended. */
TEST(refused_headers_leave_the_connection_to_others) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *parked = rig_call(&rig, "/poll", "12345", 5);
        rig_run(&rig, requests_arrived);
        struct call *refused = &rig.calls[rig.call_count++];
        nghttp2_nv nv[] = {client_nv(":method", "POST"), client_nv(":scheme", "http")};
        refused->id = nghttp2_submit_request(rig.session, NULL, nv, ARRAY_LEN(nv), NULL, refused);
        rig_run(&rig, requests_arrived);
        CHECK_INT(refused->code, NGHTTP2_PROTOCOL_ERROR);
        sweep_after(&rig, LIMIT_HEADERS_US);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_INT(parked->status, 200);
        CHECK(!rig.has_goaway);
    }
    rig_stop(&rig);
}

#define PARKED_BYTES 5

static bool second_body_begun(struct rig *rig) {
    return rig_body_bytes(rig) > PARKED_BYTES;
}

TEST(paused_body_resets_its_stream_only) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *parked = rig_call(&rig, "/a", "12345", PARKED_BYTES);
        rig_run(&rig, requests_arrived);
        struct call *paused = rig_call(&rig, "/b", NULL, 0);
        rig_run(&rig, requests_arrived);
        CHECK_INT(rig.parked_count, 2);

        struct call *slow = rig_call_held(&rig, "/c", "12345", 5, 2);
        rig_run(&rig, second_body_begun);
        sweep_after(&rig, LIMIT_BODY_GAP_US / 2);
        CHECK(!slow->is_closed);
        sweep_after(&rig, LIMIT_BODY_GAP_US);
        rig_run(&rig, requests_arrived);
        CHECK(slow->is_closed);
        CHECK_INT(slow->code, NGHTTP2_CANCEL);
        CHECK_INT(rig_body_bytes(&rig), PARKED_BYTES);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_INT(parked->status, 200);
        CHECK_INT(paused->status, 200);
        CHECK_INT(rig.request_count, 2);
    }
    rig_stop(&rig);
}

TEST(idle_connection_is_closed_politely) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        rig_run(&rig, outcomes_known);
        sweep_after(&rig, LIMIT_IDLE_US);
        rig_run(&rig, client_ended);
        CHECK(rig.has_goaway);
        CHECK_INT(rig.goaway_code, NGHTTP2_NO_ERROR);
    }
    rig_stop(&rig);
}

TEST(parked_poll_outlives_every_time_limit) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        struct call *call = rig_call(&rig, "/poll", "12345", 5);
        rig_run(&rig, requests_arrived);
        sweep_after(&rig, 10 * (int64_t)LIMIT_IDLE_US);
        rig_answer_parked(&rig);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
    }
    rig_stop(&rig);
}

TEST(peer_that_takes_no_answer_is_closed) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        client_greet(&rig, 0);
        (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, requests_arrived);
        sweep_after(&rig, LIMIT_STALL_US / 2);
        CHECK_INT(rig.lost_count, 0);
        sweep_after(&rig, LIMIT_STALL_US);
        CHECK_INT(rig.lost_count, 1);
        rig_run(&rig, client_ended);
        CHECK_INT(rig.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    rig_stop(&rig);
}

TEST(lingering_connection_is_closed_in_the_end) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        rig_run(&rig, is_connected);
        sweep_after(&rig, LIMIT_HANDSHAKE_US);
        CHECK_INT(rig.server->conn_count, 1); /* our side is shut, theirs is not */
        sweep_after(&rig, LIMIT_LINGER_US);
        CHECK_INT(rig.server->conn_count, 0);
    }
    rig_stop(&rig);
}

static bool client_sent_all(struct rig *rig) {
    return rig->out_len == 0;
}

static bool pongs_came(struct rig *rig) {
    return rig->pong_count >= 200;
}

TEST(keepalive_pings_are_answered) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        for (int i = 0; i < 200; i++)
            nghttp2_submit_ping(rig.session, NGHTTP2_FLAG_NONE, NULL);
        rig_run(&rig, pongs_came);
        CHECK_INT(rig.pong_count, 200);
        struct call *call = rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
        CHECK(!rig.has_goaway);
    }
    rig_stop(&rig);
}

/* The same frame over and over, until the server has enough. */
static void flood_with(struct rig *rig, const uint8_t *frame, size_t len, size_t count) {
    uint8_t batch[CLIENT_SPACE];
    size_t in_batch = sizeof(batch) / len;
    for (size_t i = 0; i < in_batch; i++)
        memcpy(batch + i * len, frame, len);
    for (size_t sent = 0; sent < count && rig->fd >= 0; sent += in_batch) {
        client_send_raw(rig, batch, in_batch * len);
        rig_run(rig, client_sent_all);
    }
    rig_run(rig, client_ended);
    CHECK(rig->is_eof);
}

TEST(floods_of_small_frames_close_the_connection) {
    struct rig rig;
    static const struct {
        uint8_t frame[9 + 8];
        bool confuses_client; /* it gets answers that it did not ask for, and reads no further */
    } floods[] = {
        {{0, 0, 8, NGHTTP2_PING}, false},
        {{0, 0, 0, NGHTTP2_SETTINGS}, true},
        {{0, 0, 5, NGHTTP2_PRIORITY, 0, 0, 0, 0, 9, 0, 0, 0, 0, 1}, false},
        {{0, 0, 0, NGHTTP2_DATA, 0, 0, 0, 0, 1}, false}, /* neither bytes nor an end */
        {{0, 0, 1, NGHTTP2_DATA, 0, 0, 0, 0, 1}, false}, /* bytes one by one */
        {{0, 0, 4, NGHTTP2_WINDOW_UPDATE, 0, 0, 0, 0, 0, 0, 0, 0, 1}, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
        if (rig_start(&rig, MODE_ECHO)) {
            (void)rig_call_held(&rig, "/", "12345", 5, 2);
            rig_run(&rig, is_greeted);
            flood_with(&rig, floods[i].frame, 9u + floods[i].frame[2], 2 * LIMIT_GLITCH_BURST);
            CHECK(floods[i].confuses_client || rig.goaway_code == NGHTTP2_ENHANCE_YOUR_CALM);
            CHECK_INT(rig.request_count, 0);
        }
        rig_stop(&rig);
    }
}

TEST(floods_of_unknown_frames_close_the_connection) {
    struct rig rig;
    static const uint8_t frame[9 + 16384] = {0, 0x40, 0, 0x77};
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, is_greeted);
        flood_with(&rig, frame, sizeof(frame), 2 * LIMIT_IGNORED_BYTES_BURST / sizeof(frame));
        CHECK_INT(rig.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    }
    rig_stop(&rig);
}

TEST(few_unknown_frames_are_ignored) {
    struct rig rig;
    static const uint8_t frame[9] = {0, 0, 0, 0x77};
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, is_greeted);
        client_send_raw(&rig, frame, sizeof(frame));
        struct call *call = rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(call->status, 200);
    }
    rig_stop(&rig);
}

TEST(worker_that_stops_may_reset_all_its_polls) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        for (int i = 0; i < LIMIT_STREAMS_MAX; i++)
            (void)rig_call(&rig, "/poll", "12345", 5);
        rig_run(&rig, requests_arrived);
        CHECK_INT(rig.parked_count, LIMIT_STREAMS_MAX);
        for (size_t i = 0; i < rig.call_count; i++)
            rig_reset(&rig, &rig.calls[i]);
        rig_run(&rig, outcomes_known);
        CHECK_INT(rig.cancel_count, LIMIT_STREAMS_MAX);
        rig.mode = MODE_ECHO;
        struct call *next = rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(next->status, 200);
    }
    rig_stop(&rig);
}

TEST(rapid_reset_closes_the_connection) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        nghttp2_nv nv[] = {client_nv(":method", "POST"), client_nv(":path", "/c"),
                           client_nv(":scheme", "http"), client_nv(":authority", "t")};
        rig_run(&rig, is_greeted);
        for (int i = 0; i < 2 * LIMIT_RESET_BURST; i++) {
            int32_t id = nghttp2_submit_request(rig.session, NULL, nv, ARRAY_LEN(nv), NULL, NULL);
            client_pump(&rig);
            nghttp2_submit_rst_stream(rig.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
            client_pump(&rig);
        }
        rig_run(&rig, client_ended);
        CHECK(rig.is_eof);
        CHECK_INT(rig.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
        CHECK_INT(rig.cancel_count, rig.request_count);
    }
    rig_stop(&rig);
}

TEST(many_large_bodies_are_bounded_and_all_arrive) {
    struct rig rig;
    static const uint8_t body[3 * MIB];
    enum { COUNT = 30 };
    if (rig_start(&rig, MODE_TRAILERS)) {
        for (int i = 0; i < COUNT; i++)
            (void)rig_call(&rig, "/", body, sizeof(body));
        rig_run(&rig, calls_done);
        CHECK_INT(rig.request_count, COUNT);
        CHECK_INT(rig.closed_count, COUNT);
        for (size_t i = 0; i < rig.call_count; i++)
            CHECK_INT(rig.calls[i].status, 200);
        size_t bound = LIMIT_CONN_BODY_BYTES + LIMIT_BODY_BYTES_MAX + COUNT * LIMIT_STREAM_WINDOW_BYTES +
                       LIMIT_WIDE_STREAMS_MAX * LIMIT_WIDE_WINDOW_BYTES;
        CHECK(rig.body_bytes_peak > 0);
        CHECK(rig.body_bytes_peak <= bound);
        CHECK_INT(rig_body_bytes(&rig), 0);
    }
    rig_stop(&rig);
}

static bool some_parked_or_done(struct rig *rig) {
    return rig->parked_count > 0 || calls_done(rig);
}

TEST(bodies_held_by_the_handler_hold_back_others_until_answered) {
    struct rig rig;
    static const uint8_t body[3 * MIB];
    enum { COUNT = 20 };
    if (rig_start(&rig, MODE_PARK)) {
        for (int i = 0; i < COUNT; i++)
            (void)rig_call(&rig, "/", body, sizeof(body));
        while (!rig.is_stuck && rig.fd >= 0 && !calls_done(&rig)) {
            rig_run(&rig, some_parked_or_done);
            rig_answer_parked(&rig);
        }
        CHECK_INT(rig.request_count, COUNT);
        CHECK(rig.body_bytes_peak < COUNT * sizeof(body));
    }
    rig_stop(&rig);
}

TEST(parked_bodies_hold_nothing_back_and_count) {
    struct rig rig;
    static const uint8_t body[3 * MIB];
    enum { COUNT = 10 };
    if (rig_start(&rig, MODE_PARK_EARLY)) {
        for (int i = 0; i < COUNT; i++)
            (void)rig_call(&rig, "/", body, sizeof(body));
        rig_run(&rig, requests_arrived);
        CHECK_INT(rig.parked_count, COUNT);
        CHECK_INT(rig_body_bytes(&rig), COUNT * sizeof(body));
        rig_answer_parked(&rig);
        rig_run(&rig, outcomes_known);
        CHECK_INT(rig_body_bytes(&rig), 0);
        CHECK_INT(rig.server->budget->held, LIMIT_CONNECTION_COST);
    }
    rig_stop(&rig);
}

static bool has_conn(struct rig *rig) {
    return rig_conn(rig) != NULL;
}

TEST(full_server_refuses_streams_of_the_largest_holder) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, has_conn);
        struct holder *h = &rig_conn(&rig)->holder;
        holder_change(h, 0, LIMIT_PEER_BYTES_SOFT); /* as if it had asked for so much */
        struct call *refused = rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, calls_done);
        CHECK_INT(refused->code, NGHTTP2_REFUSED_STREAM);
        CHECK_INT(rig.request_count, 0);
        CHECK_INT(rig.server->budget->streams_refused, 1);
        holder_change(h, LIMIT_PEER_BYTES_SOFT, 0);
        struct call *fits = rig_call(&rig, "/", "123", 3);
        rig_run(&rig, calls_done);
        CHECK_INT(fits->status, 200);
        CHECK_INT(rig.request_count, 1);
    }
    rig_stop(&rig);
}

static void end_other(struct holder *h) {
    holder_leave(h);
}

static size_t unread_none(struct holder *h unused_arg) {
    return 0;
}

static size_t unread_much(struct holder *h unused_arg) {
    return LIMIT_PEER_SHARE_MIN;
}

TEST(who_does_not_read_goes_before_who_holds_more) {
    struct budget budget;
    struct holder sends = {.evict = end_other, .unread = unread_none};
    struct holder hoards = {.evict = end_other, .unread = unread_much};
    budget_init(&budget);
    holder_join(&sends, &budget, LIMIT_PEER_BYTES_MAX - LIMIT_PEER_SHARE_MIN);
    holder_join(&hoards, &budget, 2 * LIMIT_PEER_SHARE_MIN);
    budget_enforce(&budget);
    CHECK_INT(budget.held, LIMIT_PEER_BYTES_MAX - LIMIT_PEER_SHARE_MIN);
    CHECK(!sends.is_leaving);
    CHECK(hoards.is_leaving);
    holder_leave(&sends);
    budget_enforce(&budget);
    CHECK_INT(budget.held, 0);
    mem_set_haste(false);
}

TEST(full_server_serves_who_holds_little_and_closes_who_holds_most) {
    struct rig rig;
    struct holder other = {.evict = end_other, .unread = unread_none};
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, has_conn);
        holder_join(&other, rig.server->budget, LIMIT_PEER_BYTES_MAX);
        struct call *fits = rig_call(&rig, "/", "123", 3);
        rig_run(&rig, calls_done);
        CHECK_INT(fits->status, 200);
        CHECK_INT(rig.server->budget->connections_closed, 1);
        CHECK_INT(rig.server->budget->holder_count, 1);
        CHECK_INT(rig.server->budget->held, LIMIT_CONNECTION_COST);
    }
    rig_stop(&rig);
}

/* All are there, and those that go to the handler have gone. */
static bool twenty_arrived(struct rig *rig) {
    return rig_conn(rig) && rig_conn(rig)->request_count == 20 && list_empty(&rig->server->turns);
}

static bool two_parked(struct rig *rig) {
    return rig->parked_count == 2;
}

static bool all_twenty_parked(struct rig *rig) {
    return rig->parked_count == 20 && list_empty(&rig->server->turns);
}

TEST(slow_reader_holds_back_its_own_requests) {
    struct rig rig;
    if (rig_open(&rig, MODE_LARGE)) {
        client_greet(&rig, 0);
        rig.large_bytes = 4 * MIB;
        for (int i = 0; i < 20; i++)
            (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, twenty_arrived);
        CHECK_INT(rig.request_count, 2); /* 8 MiB of answers wait; the other requests do too */
        nghttp2_settings_entry open[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, MIB}};
        nghttp2_submit_settings(rig.session, NGHTTP2_FLAG_NONE, open, 1);
        rig_run(&rig, calls_done);
        size_t whole = 0;
        for (size_t i = 0; i < rig.call_count; i++)
            whole += rig.calls[i].got.len == rig.large_bytes && cstr_eq(rig.calls[i].grpc_status, "0");
        CHECK_INT(whole, 20);
    }
    rig_stop(&rig);
}

TEST(answers_that_are_being_read_hold_back_the_next_requests) {
    struct rig rig;
    if (rig_open(&rig, MODE_PARK)) {
        client_greet(&rig, MIB);
        rig.expected_bytes = 4 * MIB;
        for (int i = 0; i < 20; i++)
            (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, twenty_arrived);
        CHECK_INT(rig.request_count, 2);
        rig.expected_bytes = 0;
        rig_answer(rig.parked[0], STR("small"));
        h2_expect(rig.parked[1], 0); /* it is smaller than was thought */
        rig_run(&rig, all_twenty_parked);
        CHECK_INT(rig.request_count, 20);
        CHECK_INT(rig_conn(&rig)->expected_bytes, 0);
    }
    rig_stop(&rig);
}

/* What was read for an answer stays until the peer has taken it, however small the answer became. */
TEST(memory_of_answered_requests_holds_back_the_next_ones) {
    struct rig rig;
    if (rig_open(&rig, MODE_PARK)) {
        client_greet(&rig, 0);
        rig.expected_bytes = LIMIT_RESPONSE_BYTES_HELD;
        for (int i = 0; i < 20; i++)
            (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, twenty_arrived);
        CHECK_INT(rig.request_count, 1);
        CHECK(arena_alloc(&rig.parked[0]->arena, LIMIT_RESPONSE_BYTES_HELD) != NULL);
        rig_answer(rig.parked[0], STR("small"));
        rig_run(&rig, twenty_arrived);
        CHECK_INT(rig.request_count, 1);
        nghttp2_settings_entry open[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, MIB}};
        nghttp2_submit_settings(rig.session, NGHTTP2_FLAG_NONE, open, 1);
        rig_run(&rig, two_parked);
        CHECK_INT(rig.request_count, 2);
    }
    rig_stop(&rig);
}

static bool twelve_were_reset(struct rig *rig) {
    return rig->closed_count == 12;
}

TEST(answers_that_a_peer_does_not_read_are_bounded) {
    struct rig rig;
    enum { COUNT = 20 };
    if (rig_open(&rig, MODE_PARK)) {
        client_greet(&rig, 0); /* a window of 0: nothing is read */
        rig.large_bytes = 4 * MIB;
        for (int i = 0; i < COUNT; i++)
            (void)rig_call(&rig, "/", "12345", 5);
        rig_run(&rig, twenty_arrived);
        CHECK_INT(rig.parked_count, COUNT);
        for (size_t i = 0; i < rig.parked_count; i++)
            rig_answer_large(&rig, rig.parked[i]);
        rig.parked_count = 0;
        CHECK(rig_conn(&rig)->response_bytes <= LIMIT_RESPONSE_BYTES_MAX);
        rig_run(&rig, twelve_were_reset);
        size_t reset = 0;
        for (size_t i = 0; i < rig.call_count; i++)
            reset += rig.calls[i].code == NGHTTP2_ENHANCE_YOUR_CALM;
        CHECK_INT(reset, COUNT - LIMIT_RESPONSE_BYTES_MAX / rig.large_bytes);
        CHECK_INT(rig.lost_count, reset);
        CHECK_INT(rig.server->budget->responses_dropped, reset);
    }
    rig_stop(&rig);
}

TEST(too_many_connections_are_closed_at_accept) {
    struct rig rig;
    if (rig_open(&rig, MODE_ECHO)) {
        rig.server->conn_max = 0;
        rig_run(&rig, client_ended);
        CHECK(rig.is_eof);
        CHECK_INT(rig.server->conn_count, 0);
    }
    rig_stop(&rig);
}

static int dial_again(const struct rig *rig) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(h2_server_port(rig->server))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

TEST(a_silent_connection_makes_room_for_a_new_one) {
    struct rig rig;
    if (rig_start(&rig, MODE_ECHO)) {
        rig_run(&rig, is_greeted);
        rig.server->conn_max = 1;
        rig_conn(&rig)->read_us -= 2 * LIMIT_MAKE_ROOM_US;
        int fd = dial_again(&rig);
        rig_run(&rig, client_ended);
        CHECK_INT(rig.goaway_code, NGHTTP2_NO_ERROR);
        CHECK(rig.has_goaway);
        CHECK_INT(rig.server->conn_count, 1);
        close(fd);
    }
    rig_stop(&rig);
}

static bool one_arrived(struct rig *rig) {
    return rig->request_count == 1;
}

TEST(a_connection_with_a_request_makes_no_room) {
    struct rig rig;
    if (rig_start(&rig, MODE_PARK)) {
        (void)rig_call(&rig, "/x", "12345", 5);
        rig_run(&rig, one_arrived);
        rig.server->conn_max = 1;
        rig_conn(&rig)->read_us -= 2 * LIMIT_MAKE_ROOM_US;
        int fd = dial_again(&rig);
        char byte;
        for (int i = 0; i < 100 && recv(fd, &byte, 1, MSG_DONTWAIT) < 0; i++) {
            loop_begin_turn(rig.loop);
            (void)event_base_loop(loop_base(rig.loop), EVLOOP_ONCE);
        }
        CHECK_INT(recv(fd, &byte, 1, MSG_DONTWAIT), 0); /* closed */
        CHECK_INT(rig.server->conn_count, 1);
        CHECK_INT(rig.cancel_count, 0);
        close(fd);
    }
    rig_stop(&rig);
}
