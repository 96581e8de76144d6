/* Bytes as a gRPC body and as header values.
 *
 * The first byte chooses the encoding. A message that comes out is within the maximum and survives
 * being framed and unframed, with and without compression. */
#include "fuzz.h"

#include "wire/grpc.h"

#define MESSAGE_BYTES_MAX ((size_t)64 << 10)
#define BUDGET_BYTES ((size_t)1 << 20)

static const struct str encodings[] = {STR("gzip"), STR("identity"), STR(""), STR("br")};

static void check_framing(struct arena *a, struct str message, bool gzip) {
    struct buf b cleanup(buf_done);
    struct str again;

    buf_init(&b, BUDGET_BYTES);
    size_t begin = grpc_frame_begin(&b);
    buf_add_str(&b, message);
    ensure(grpc_frame_end(&b, begin, gzip) == 0);
    ensure(grpc_unframe(buf_str(&b), STR("gzip"), MESSAGE_BYTES_MAX, a, &again, NULL) == 0);
    ensure(str_eq(message, again));
}

static void check_body(struct arena *a, struct str body, struct str encoding) {
    struct str message;
    struct err e = {0};
    int r = grpc_unframe(body, encoding, MESSAGE_BYTES_MAX, a, &message, &e);

    ensure(r == 0 || (r == e.code && e.text[0]));
    if (r < 0)
        return;
    ensure(message.n <= MESSAGE_BYTES_MAX);
    check_framing(a, message, false);
    check_framing(a, message, true);
}

static void check_headers(struct arena *a, struct str value) {
    int64_t us;

    if (grpc_timeout_parse(value, &us) == 0)
        ensure(us >= 0 && value.n <= 9);
    if (grpc_accepts_gzip(value))
        ensure(value.n >= 4);
    const char *text = arena_strndup(a, value.p, value.n);
    const char *encoded = grpc_message_encode(a, text);
    ensure(encoded && strlen(encoded) >= strlen(text));
    for (const char *p = encoded; *p; p++)
        ensure(*p >= ' ' && *p <= '~');
    const char *base64 = grpc_bin_encode(a, value);
    ensure(base64 && strlen(base64) == (value.n * 4 + 2) / 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a cleanup(arena_done);

    arena_init(&a, BUDGET_BYTES);
    if (size == 0 || size > MESSAGE_BYTES_MAX)
        return 0;
    struct str rest = str_bytes(data + 1, size - 1);
    check_body(&a, rest, encodings[data[0] % ARRAY_LEN(encodings)]);
    arena_clear(&a);
    check_headers(&a, rest);
    return 0;
}
