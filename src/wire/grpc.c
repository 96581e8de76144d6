/* The gRPC envelope around a message, and the few header values that need parsing.
 *
 * A request body is one frame: a flag, four bytes of length, the message.
 * Nothing is inflated before the length is known to be in bounds, and inflating
 * stops one byte past the maximum, so a small body cannot become a large one.
 * A response is framed in place; compressing it is only ever an improvement, so
 * when it does not help, or memory is short, the plain message goes out. */
#include "wire/grpc.h"

#define ZLIB_CONST
#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

#include "base/hex.h"
#include "base/mem.h"

#define FRAME_PLAIN 0
#define FRAME_COMPRESSED 1

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_AMOUNT_MAX INT64_C(99999999)
#define ZLIB_GZIP (15 + 16) /* the largest window, with gzip's header and trailer */
#define ZLIB_MEM_LEVEL 8 /* zlib's default */
#define INFLATE_STEP_MIN 1024u /* first guess at the inflated size; doubles from there */
#define GZIP_WORTH_BYTES 256 /* below this a gzip header eats the gain */
#define GZIP_SAMPLE_BYTES (64u << 10) /* of a larger message, that must become an eighth smaller */
#define ENCODING_SHOWN_MAX 64 /* of a client's word in an error text */

int grpc_timeout_parse(struct str value, int64_t *ret_us) {
    int64_t amount = 0;

    if (value.n < 2 || value.n > TIMEOUT_DIGITS_MAX + 1)
        return ERR_INVALID;
    for (size_t i = 0; i < value.n - 1; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return ERR_INVALID;
        amount = amount * 10 + (value.p[i] - '0');
    }
    switch (value.p[value.n - 1]) {
    case 'H':
        *ret_us = amount * 3600 * USEC_PER_SEC;
        return 0;
    case 'M':
        *ret_us = amount * 60 * USEC_PER_SEC;
        return 0;
    case 'S':
        *ret_us = amount * USEC_PER_SEC;
        return 0;
    case 'm':
        *ret_us = amount * USEC_PER_MS;
        return 0;
    case 'u':
        *ret_us = amount;
        return 0;
    case 'n':
        *ret_us = (amount + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
        return 0;
    default:
        return ERR_INVALID;
    }
}

size_t grpc_timeout_format(int64_t us, char text[GRPC_TIMEOUT_MAX]) {
    static const struct {
        int64_t us;
        char unit;
    } units[] = {{1, 'u'},
                 {USEC_PER_MS, 'm'},
                 {USEC_PER_SEC, 'S'},
                 {60 * USEC_PER_SEC, 'M'},
                 {3600 * USEC_PER_SEC, 'H'}};
    size_t i = 0;
    int64_t amount = MAX(us, 0);
    while (amount > TIMEOUT_AMOUNT_MAX && ++i < ARRAY_LEN(units))
        amount = us / units[i].us + (us % units[i].us != 0);
    bool is_beyond = i == ARRAY_LEN(units);
    int n = snprintf(text, GRPC_TIMEOUT_MAX, "%" PRId64 "%c", is_beyond ? TIMEOUT_AMOUNT_MAX : amount,
                     is_beyond ? 'H' : units[i].unit);
    return (size_t)n;
}

static void *grpc_zlib_alloc(unused_arg void *opaque, unsigned count, unsigned size) {
    size_t bytes;
    return __builtin_mul_overflow((size_t)count, (size_t)size, &bytes) ? NULL : mem_alloc(bytes);
}

static void grpc_zlib_free(unused_arg void *opaque, void *p) {
    mem_free(p);
}

int grpc_too_large(struct err *reterr, size_t size, size_t max) {
    return err_set(reterr, ERR_TOO_LARGE, "grpc: received message larger than max (%zu vs. %zu)", size, max);
}

static int grpc_inflated_too_large(struct err *reterr, size_t max) {
    return err_set(reterr, ERR_TOO_LARGE,
                   "grpc: received message after decompression larger than max (%zu vs. %zu)", max + 1, max);
}

static int grpc_bad_gzip(struct err *reterr) {
    return err_set(reterr, ERR_INVALID, "grpc: failed to decompress the message: not valid gzip");
}

/* More room behind what is there, at most up to the limit. False when memory is short. */
static bool grpc_grow_output(struct buf *out, z_stream *z) {
    size_t more = MIN(MAX(out->len, INFLATE_STEP_MIN), out->max - out->len);
    z->next_out = buf_extend(out, more);
    z->avail_out = (unsigned)more;
    return z->next_out != NULL;
}

/* Inflates every gzip member of the input. One byte over the maximum is room enough to see that
 * there is more than allowed. */
static int grpc_inflate_members(z_stream *z, struct buf *out, size_t max, struct err *reterr) {
    for (;;) {
        if (z->avail_out == 0 && !grpc_grow_output(out, z))
            return err_std(reterr, ERR_NO_MEMORY);
        int zr = inflate(z, Z_NO_FLUSH);
        if (out->len - z->avail_out > max)
            return grpc_inflated_too_large(reterr, max);
        if (zr == Z_STREAM_END && z->avail_in == 0)
            return 0;
        if (zr == Z_STREAM_END)
            zr = inflateReset(z);
        if (zr == Z_MEM_ERROR)
            return err_std(reterr, ERR_NO_MEMORY);
        if (zr != Z_OK)
            return grpc_bad_gzip(reterr); /* not gzip, or no progress: it ends in the middle */
    }
}

int grpc_gunzip(struct str packed, size_t max, struct arena *a, struct str *ret, struct err *reterr) {
    z_stream z = {.zalloc = grpc_zlib_alloc,
                  .zfree = grpc_zlib_free,
                  .next_in = (const Bytef *)packed.p,
                  .avail_in = (unsigned)packed.n};
    struct buf out cleanup(buf_done);

    buf_init(&out, max + 1);
    if (inflateInit2(&z, ZLIB_GZIP) != Z_OK)
        return err_std(reterr, ERR_NO_MEMORY);
    int r = grpc_inflate_members(&z, &out, max, reterr);
    (void)inflateEnd(&z); /* fails only for a stream that was never initialised */
    if (r < 0)
        return r;
    size_t size = out.len - z.avail_out;
    const char *copy = arena_dup(a, out.data, size);
    if (!copy)
        return err_std(reterr, ERR_NO_MEMORY);
    *ret = (struct str){copy, size};
    return 0;
}

static uint32_t grpc_read_u32be(const char *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

int grpc_unframe(struct str body, struct str encoding, size_t max, struct arena *a, struct str *ret,
                 struct err *reterr) {
    bool is_gzip = str_is(encoding, "gzip");

    if (!is_gzip && encoding.n > 0 && !str_is(encoding, "identity"))
        return err_set(reterr, ERR_UNIMPLEMENTED,
                       "grpc: Decompressor is not installed for grpc-encoding \"%.*s\"",
                       (int)MIN(encoding.n, ENCODING_SHOWN_MAX), encoding.p);
    if (body.n == 0)
        return err_set(reterr, ERR_INVALID, "grpc: the request has no message");
    if (body.n < GRPC_PREFIX_LEN)
        return err_set(reterr, ERR_INVALID, "grpc: the message ends within its prefix");

    uint8_t flag = (uint8_t)body.p[0];
    size_t length = grpc_read_u32be(body.p + 1);
    struct str message = {body.p + GRPC_PREFIX_LEN, body.n - GRPC_PREFIX_LEN};

    if (flag != FRAME_PLAIN && flag != FRAME_COMPRESSED)
        return err_set(reterr, ERR_INVALID, "grpc: received unexpected payload format %u", flag);
    if (flag == FRAME_COMPRESSED && !is_gzip)
        return err_set(reterr, ERR_INVALID, "grpc: compressed flag set with identity or empty encoding");
    if (length > max)
        return grpc_too_large(reterr, length, max);
    if (message.n < length)
        return err_set(reterr, ERR_INVALID, "grpc: the message has %zu bytes and claims %zu", message.n,
                       length);
    if (message.n > length)
        return err_set(reterr, ERR_INVALID, "grpc: %zu bytes follow the message", message.n - length);
    if (flag == FRAME_COMPRESSED && length > 0)
        return grpc_gunzip(message, max, a, ret, reterr);
    *ret = message;
    return 0;
}

size_t grpc_frame_begin(struct buf *b) {
    size_t begin = b->len;
    buf_add(b, (uint8_t[GRPC_PREFIX_LEN]){0}, GRPC_PREFIX_LEN);
    return begin;
}

/* Deflates into `out`, whose room is one byte less than the input: what does not fit does not help.
 * The compressed size, or 0. */
static size_t grpc_deflate_into(uint8_t *out, size_t room, struct str plain) {
    z_stream z = {.zalloc = grpc_zlib_alloc, .zfree = grpc_zlib_free};
    size_t sample = MIN(plain.n, (size_t)GZIP_SAMPLE_BYTES);

    if (deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, ZLIB_GZIP, ZLIB_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    z.next_in = (const Bytef *)plain.p;
    z.avail_in = (unsigned)sample;
    z.next_out = out;
    z.avail_out = (unsigned)room;
    int zr = deflate(&z, sample < plain.n ? Z_BLOCK : Z_FINISH);
    /* What cannot be compressed takes zlib ten times as long as what can. */
    bool is_worth = sample == plain.n || (zr == Z_OK && z.total_out < sample - sample / 8);
    if (is_worth && sample < plain.n) {
        z.avail_in = (unsigned)(plain.n - sample);
        zr = deflate(&z, Z_FINISH);
    }
    (void)deflateEnd(&z); /* reports an unfinished stream, which zr already does */
    return zr == Z_STREAM_END ? room - z.avail_out : 0;
}

static bool grpc_compress_tail(struct buf *b, size_t from) {
    struct str plain = {(const char *)b->data + from, b->len - from};
    struct buf packed cleanup(buf_done);

    buf_init(&packed, plain.n);
    uint8_t *out = buf_extend(&packed, plain.n - 1);
    size_t size = out ? grpc_deflate_into(out, plain.n - 1, plain) : 0;
    if (size == 0)
        return false;
    memcpy(b->data + from, out, size);
    buf_truncate(b, from + size);
    return true;
}

int grpc_frame_end(struct buf *b, size_t begin, bool gzip) {
    size_t from = begin + GRPC_PREFIX_LEN;

    if (!buf_ok(b))
        return ERR_NO_MEMORY;
    ensure(b->len >= from);
    if (b->len - from > UINT32_MAX)
        return ERR_TOO_LARGE;
    bool is_packed = gzip && b->len - from >= GZIP_WORTH_BYTES && grpc_compress_tail(b, from);
    size_t length = b->len - from;
    uint8_t *prefix = b->data + begin;
    prefix[0] = is_packed ? FRAME_COMPRESSED : FRAME_PLAIN;
    for (size_t i = 0; i < 4; i++)
        prefix[1 + i] = (uint8_t)(length >> (24 - 8 * i));
    return 0;
}

static struct str grpc_trim_space(struct str s) {
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool grpc_accepts_gzip(struct str accept_encoding) {
    while (accept_encoding.n > 0) {
        const char *comma = memchr(accept_encoding.p, ',', accept_encoding.n);
        size_t n = comma ? (size_t)(comma - accept_encoding.p) : accept_encoding.n;
        if (str_is(grpc_trim_space((struct str){accept_encoding.p, n}), "gzip"))
            return true;
        n += comma != NULL;
        accept_encoding = (struct str){accept_encoding.p + n, accept_encoding.n - n};
    }
    return false;
}

char *grpc_message_encode(struct arena *a, const char *text) {
    struct str s = str_of(text);
    char *out = arena_alloc(a, s.n * 3 + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];
        if (c >= ' ' && c <= '~' && c != '%') {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex_digit_upper(c >> 4);
        out[n++] = hex_digit_upper(c);
    }
    out[n] = 0;
    return out;
}

char *grpc_message_decode(struct arena *a, struct str text) {
    char *out = arena_alloc(a, text.n + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? hex_digit_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit_value(text.p[i + 2]) : -1;
        out[n++] = low >= 0 ? (char)(high << 4 | low) : text.p[i];
        i += low >= 0 ? 2 : 0;
    }
    out[n] = 0;
    return out;
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *grpc_bin_encode(struct arena *a, struct str bytes) {
    char *out = arena_alloc(a, bytes.n / 3 * 4 + 4);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t group = MIN(bytes.n - i, 3u);
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < group ? (uint8_t)bytes.p[i + k] : 0);
        for (size_t k = 0; k <= group; k++)
            out[n++] = base64_digits[bits >> (18 - 6 * k) & 63];
    }
    out[n] = 0;
    return out;
}

int grpc_bin_decode(struct arena *a, struct str text, struct str *ret) {
    while (text.n > 0 && text.p[text.n - 1] == '=')
        text.n--;
    uint8_t *out = arena_alloc(a, text.n / 4 * 3 + 3);
    uint32_t bits = 0;
    size_t n = 0;

    if (!out)
        return ERR_NO_MEMORY;
    if (text.n % 4 == 1)
        return ERR_INVALID;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = text.p[i] ? strchr(base64_digits, text.p[i]) : NULL;
        if (!digit)
            return ERR_INVALID;
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        if (i % 4 > 0) /* each digit but the first of four completes a byte */
            out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *ret = str_bytes(out, n);
    return 0;
}
