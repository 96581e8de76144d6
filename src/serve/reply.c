/* Building responses.
 *
 * An answer is HEADERS, DATA, trailers. An error is one HEADERS frame that
 * holds the status (gRPC's "trailers only"); its text and typed detail come
 * from wire/status. If memory is short the detail and then the text are left
 * out: a status always goes out. A detail is also left out when clients would
 * not take that much. */
#include "serve/reply.h"

#include <stdio.h>

#include "wire/encode.h"
#include "wire/grpc.h"
#include "wire/status.h"

#define REPLY_BYTES_MAX (128u << 20) /* what SDKs accept at most */
#define GZIP_WORTH_BYTES (8u << 10) /* below, compressing costs more time than sending */
#define GZIP_BYTES_MAX (4u << 20) /* more takes longer than a turn of the loop should */
#define STATUS_BUDGET (64u << 10)
#define HEADER_LIST_BYTES_MAX (16u << 10) /* clients refuse the whole answer beyond it */
#define HEADER_FIELD_COST 32 /* RFC 9113, 6.5.2: what a field counts besides its bytes */
#define STATUS_FIELD_COST (sizeof(":status200") - 1 + HEADER_FIELD_COST)

static const struct h2_header grpc_type = {{"content-type", 12}, {"application/grpc", 16}};
static const struct h2_header gzip_encoding = {{"grpc-encoding", 13}, {"gzip", 4}};
static const struct h2_header accepted_encodings = {{"grpc-accept-encoding", 20}, {"identity,gzip", 13}};

int reply_pack(const ProtobufCMessage *m, struct str tail, bool accepts_gzip, struct buf *ret_body,
               struct err *reterr) {
    struct buf body;
    buf_init(&body, REPLY_BYTES_MAX);
    size_t begin = grpc_frame_begin(&body);
    wire_encode(&body, m);
    buf_add_str(&body, tail);
    int rc = grpc_frame_end(&body, begin,
                            accepts_gzip && body.len > GZIP_WORTH_BYTES && body.len <= GZIP_BYTES_MAX);
    if (rc < 0 || !buf_ok(&body)) {
        buf_done(&body);
        return err_std(reterr, ERR_NO_MEMORY);
    }
    *ret_body = body;
    return 0;
}

void reply_message(struct h2_request *r, struct buf *body) {
    const struct h2_header headers[] = {grpc_type, gzip_encoding};
    const struct h2_header trailer = {STR("grpc-status"), STR("0")};
    bool is_gzip = body->len > 0 && body->data[0] == 1;
    struct h2_response resp = {
        .status = 200,
        .headers = headers,
        .header_count = is_gzip ? 2 : 1,
        .body = *body,
        .trailers = &trailer,
        .trailer_count = 1,
    };
    h2_respond(r, &resp);
}

void reply_part(struct h2_request *r, struct buf *body) {
    struct h2_response part = {.status = 200, .headers = &grpc_type, .header_count = 1, .body = *body};
    h2_respond_part(r, &part);
}

void reply_end(struct h2_request *r) {
    const struct h2_header trailer = {STR("grpc-status"), STR("0")};
    struct h2_response resp = {
        .status = 200, .headers = &grpc_type, .header_count = 1, .trailers = &trailer, .trailer_count = 1};
    buf_init(&resp.body, 0);
    h2_respond(r, &resp);
}

static void reply_add_header(struct h2_header *headers, size_t *count, const char *name, const char *value) {
    if (!cstr_is_empty(value))
        headers[(*count)++] = (struct h2_header){str_of(name), str_of(value)};
}

static size_t reply_header_bytes(const struct h2_header *headers, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += headers[i].name.n + headers[i].value.n + HEADER_FIELD_COST;
    return bytes;
}

static bool reply_fits_client(const struct h2_response *resp) {
    size_t bytes = STATUS_FIELD_COST + reply_header_bytes(resp->headers, resp->header_count) +
                   reply_header_bytes(resp->trailers, resp->trailer_count);
    return bytes <= HEADER_LIST_BYTES_MAX;
}

void reply_error(struct h2_request *r, const struct err *e) {
    struct arena a;
    arena_init(&a, STATUS_BUDGET);
    char code[8];
    (void)snprintf(code, sizeof(code), "%d", (int)status_code(e)); /* two digits at most */
    struct h2_header trailers[3];
    size_t count = 0;
    reply_add_header(trailers, &count, "grpc-status", code);
    reply_add_header(trailers, &count, "grpc-message", grpc_message_encode(&a, e->text));
    size_t bare_count = count;
    struct str details = status_details(&a, e);
    if (details.n)
        reply_add_header(trailers, &count, "grpc-status-details-bin", grpc_bin_encode(&a, details));
    const struct h2_header headers[] = {grpc_type, accepted_encodings};
    struct h2_response resp = {
        .status = 200,
        .headers = headers,
        /* A client whose encoding we do not know must be told which we do. */
        .header_count = e->code == ERR_UNIMPLEMENTED ? 2 : 1,
        .trailers = trailers,
        .trailer_count = count,
    };
    if (!reply_fits_client(&resp))
        resp.trailer_count = bare_count;
    buf_init(&resp.body, 0);
    h2_respond(r, &resp);
    arena_done(&a);
}

void reply_http(struct h2_request *r, int status, const char *text) {
    const struct h2_header type = {STR("content-type"), STR("text/plain; charset=utf-8")};
    struct h2_response resp = {.status = status, .headers = &type, .header_count = 1};
    buf_init(&resp.body, strlen(text));
    buf_add_cstr(&resp.body, text);
    h2_respond(r, &resp);
}
