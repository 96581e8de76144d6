/* Between nghttp2 and the rest: its callbacks, its settings, and the account of
 * what a peer makes us do for nothing.
 *
 * The callbacks only move requests from list to list. A callback that fails
 * makes nghttp2 stop at once, and the connection then ends in h2_conn.c, with
 * GOAWAY ENHANCE_YOUR_CALM when `abuse` names a broken limit. */
#include "net/h2_int.h"

/* Above our own account of resets, which sees more and logs; nghttp2's is the second fence. */
#define RESET_FENCE 2
#define FRAME_HEAD_BYTES 9
#define HEADER_FIELD_COST 32 /* RFC 9113, 6.5.2: what a field counts besides its bytes */

static int session_report_abuse(struct h2_conn *c, const char *limit) {
    if (!c->abuse)
        c->abuse = limit;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static int session_count_glitch(struct h2_conn *c) {
    return bucket_take(&c->glitches, 1, c->read_us) ? 0 : session_report_abuse(c, "glitches");
}

static struct h2_request_state *session_stream(nghttp2_session *session, int32_t stream_id) {
    return stream_id ? nghttp2_session_get_stream_user_data(session, stream_id) : NULL;
}

static int session_on_begin_frame(nghttp2_session unused_arg *session, const nghttp2_frame_hd *hd,
                                  void *user) {
    struct h2_conn *c = user;
    switch (hd->type) {
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:
        return 0;
    case NGHTTP2_DATA:
        if (hd->length >= LIMIT_GLITCH_TINY_BYTES || (hd->flags & NGHTTP2_FLAG_END_STREAM))
            return 0;
        return session_count_glitch(c);
    default:
        return session_count_glitch(c);
    }
}

/* Nothing is kept of a stream that comes when its connection holds too much. Trying again is safe, but not
 * without end. */
static int session_refuse(struct h2_conn *c, int32_t stream_id) {
    c->holder.budget->streams_refused++;
    if (nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_REFUSED_STREAM) != 0)
        c->is_broken = true;
    return session_count_glitch(c);
}

static int session_on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct h2_conn *c = user;
    if (c->abuse)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    c->headers_us = c->read_us;
    c->headers_id = frame->hd.stream_id;
    c->useful_bytes += FRAME_HEAD_BYTES + (int64_t)frame->hd.length;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    if (!holder_is_welcome(&c->holder))
        return session_refuse(c, frame->hd.stream_id);
    struct h2_request_state *r = stream_new(c, frame->hd.stream_id);
    if (!r)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    /* Fails only for a stream that does not exist. */
    (void)nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, r);
    return 0;
}

static int session_on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                             size_t name_len, const uint8_t *value, size_t value_len,
                             uint8_t unused_arg flags, void *user) {
    struct h2_conn *c = user;
    struct h2_request_state *r = session_stream(session, frame->hd.stream_id);
    if (!r)
        return 0;
    r->header_bytes += name_len + value_len + HEADER_FIELD_COST;
    if (r->header_bytes > LIMIT_HEADER_LIST_BYTES_BOMB)
        return session_report_abuse(c, "header_list_bytes");
    if (r->header_bytes > LIMIT_HEADER_LIST_BYTES_MAX)
        r->is_header_overflow = true;
    int rc = stream_add_header(r, str_bytes(name, name_len), str_bytes(value, value_len));
    return rc < 0 ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
}

static int session_on_data_chunk(nghttp2_session *session, uint8_t unused_arg flags, int32_t stream_id,
                                 const uint8_t *data, size_t len, void *user) {
    struct h2_conn *c = user;
    c->useful_bytes += FRAME_HEAD_BYTES + (int64_t)len;
    struct h2_request_state *r = session_stream(session, stream_id);
    if (!r)
        return nghttp2_session_consume(session, stream_id, len) == 0 ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE;
    int rc = stream_add_body(r, data, len);
    if (rc == 0)
        return 0;
    stream_reset(r, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int session_on_headers_recv(struct h2_conn *c, struct h2_request_state *r) {
    c->headers_us = 0;
    if (!r)
        return 0;
    return stream_headers_done(r) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int session_on_frame_recv(nghttp2_session *session, const nghttp2_frame *frame, void *user) {
    struct h2_conn *c = user;
    struct h2_request_state *r = NULL;
    int rv = 0;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        r = session_stream(session, frame->hd.stream_id);
        rv = session_on_headers_recv(c, r);
        break;
    case NGHTTP2_DATA:
        r = session_stream(session, frame->hd.stream_id);
        break;
    case NGHTTP2_SETTINGS:
        c->is_greeted = true;
        return 0;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) && c->drain == DRAIN_NOTICED)
            session_finish_drain(c);
        return 0;
    default:
        return 0;
    }
    if (rv == 0 && r && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        stream_remote_done(r);
    return rv;
}

static int session_on_invalid_frame(nghttp2_session unused_arg *session,
                                    const nghttp2_frame unused_arg *frame, int unused_arg lib_error_code,
                                    void *user) {
    return session_count_glitch(user);
}

static bool session_frame_ends_stream(const nghttp2_frame *frame) {
    bool can_end = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    return can_end && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
}

static int session_on_frame_send(nghttp2_session *session, const nghttp2_frame *frame,
                                 void unused_arg *user) {
    if (!session_frame_ends_stream(frame))
        return 0;
    struct h2_request_state *r = session_stream(session, frame->hd.stream_id);
    if (r)
        stream_response_whole(r);
    return 0;
}

/* nghttp2 gave a frame up, for example because the header block is too large to be sent. */
static int session_on_frame_not_send(nghttp2_session *session, const nghttp2_frame *frame,
                                     int unused_arg lib_error_code, void unused_arg *user) {
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct h2_request_state *r = session_stream(session, frame->hd.stream_id);
    if (r && !r->is_refused)
        stream_reset(r, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int session_on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t unused_arg code,
                                   void *user) {
    struct h2_conn *c = user;
    struct h2_request_state *r = session_stream(session, stream_id);
    if (stream_id == c->headers_id)
        c->headers_us = 0; /* of a block with a mistake nghttp2 does not tell the end */
    if (!r)
        return 0;
    if (!r->is_response_whole && !bucket_take(&c->resets, 1, c->read_us))
        (void)session_report_abuse(c, "resets"); /* seen after this read, or at the next stream */
    stream_closed(r);
    return 0;
}

static void session_fill_callbacks(nghttp2_session_callbacks *cb) {
    nghttp2_session_callbacks_set_on_begin_frame_callback(cb, session_on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, session_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, session_on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, session_on_data_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(cb, session_on_frame_recv);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, session_on_invalid_frame);
    nghttp2_session_callbacks_set_on_frame_send_callback(cb, session_on_frame_send);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(cb, session_on_frame_not_send);
    nghttp2_session_callbacks_set_on_stream_close_callback(cb, session_on_stream_close);
}

static void session_fill_option(nghttp2_option *o) {
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1); /* kept only for priorities, which we do not use */
    nghttp2_option_set_max_reserved_remote_streams(o, 0);
    nghttp2_option_set_max_continuations(o, LIMIT_CONTINUATIONS_MAX);
    nghttp2_option_set_max_outbound_ack(o, LIMIT_ACKS_MAX);
    nghttp2_option_set_max_settings(o, LIMIT_SETTINGS_MAX);
    nghttp2_option_set_stream_reset_rate_limit(o, (uint64_t)LIMIT_RESET_BURST * RESET_FENCE,
                                               (uint64_t)LIMIT_RESET_PER_SEC * RESET_FENCE);
}

int session_shared_new(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option) {
    nghttp2_session_callbacks *callbacks;
    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return ERR_NO_MEMORY;
    if (nghttp2_option_new(ret_option) != 0) {
        nghttp2_session_callbacks_del(callbacks);
        return ERR_NO_MEMORY;
    }
    session_fill_callbacks(callbacks);
    session_fill_option(*ret_option);
    *ret_callbacks = callbacks;
    return 0;
}

static int session_send_settings(nghttp2_session *session) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, LIMIT_STREAMS_MAX},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, LIMIT_STREAM_WINDOW_BYTES},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEADER_LIST_BYTES_MAX},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    int rv = nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings));
    if (rv == 0)
        rv = nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, LIMIT_CONN_WINDOW_BYTES);
    return rv;
}

int session_new(struct h2_conn *c) {
    /* nghttp2 keeps its own memory: 1.52 frees twice when an allocation of a session fails in the
     * middle of sending, so making those fail on purpose would only test nghttp2. */
    nghttp2_session *session;
    if (nghttp2_session_server_new2(&session, c->server->callbacks, c, c->server->option) != 0)
        return ERR_NO_MEMORY;
    if (session_send_settings(session) != 0) {
        nghttp2_session_del(session);
        return ERR_NO_MEMORY;
    }
    c->session = session;
    return 0;
}

void session_finish_drain(struct h2_conn *c) {
    int32_t last = nghttp2_session_get_last_proc_stream_id(c->session);
    c->drain = DRAIN_FINAL;
    conn_refuse_unfinished(c);
    if (nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0) != 0)
        c->is_broken = true;
    server_mark_dirty(c->server, c);
}
