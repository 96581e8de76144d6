/* The gRPC envelope around a message.
 *
 * A request body is one frame: a flag, four bytes of length, the message. Nothing is inflated before its
 * length is checked, and inflating stops one byte past the maximum, so that a small body cannot become a
 * large one. A response is framed in place. When compression does not help, or memory is short, the plain
 * message is sent.
 *
 * Fails with ERR_INVALID, ERR_TOO_LARGE, ERR_UNIMPLEMENTED or ERR_NO_MEMORY and the texts of grpc servers. */
#include "wire/grpc.h"

#define ZLIB_CONST
#include <zlib.h>

#include "base/mem.h"

#define FRAME_PLAIN 0
#define FRAME_COMPRESSED 1

#define ZLIB_GZIP (15 + 16) /* the largest window, with gzip's header and trailer */
#define ZLIB_MEM_LEVEL 8 /* zlib's default */
#define INFLATE_STEP_MIN 1024u /* first guess at the inflated size; doubles from there */
#define GZIP_WORTH_BYTES 256 /* smaller messages gain less than the gzip header costs */
#define GZIP_SAMPLE_BYTES                                                                                    \
    (64u << 10) /* a larger message is sent plain when so much of it does not shrink by an eighth */
#define ENCODING_SHOWN_MAX 64 /* of the client's encoding in an error text */

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

/* Adds output room, at most up to the limit. False when memory is exhausted. */
static bool grpc_grow_output(struct buf *out, z_stream *z) {
    size_t more = MIN(MAX(out->len, INFLATE_STEP_MIN), out->max - out->len);
    z->next_out = buf_extend(out, more);
    z->avail_out = (unsigned)more;
    return z->next_out != NULL;
}

/* Inflates every gzip member of the input. The output has room for one byte more than the maximum, which
 * shows that the message is too large. */
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
            return grpc_bad_gzip(reterr); /* not gzip, or cut off: no progress */
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
    (void)inflateEnd(&z); /* fails only for a stream that was not initialized */
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

/* Deflates into `out`. The room is one byte less than the input: a result that does not fit is not smaller.
 * Returns the compressed size; 0 when compression does not help. */
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
    /* zlib needs ten times as long for data that it cannot compress. */
    bool is_worth = sample == plain.n || (zr == Z_OK && z.total_out < sample - sample / 8);
    if (is_worth && sample < plain.n) {
        z.avail_in = (unsigned)(plain.n - sample);
        zr = deflate(&z, Z_FINISH);
    }
    (void)deflateEnd(&z); /* fails for an unfinished stream, as zr does already */
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

int grpc_frame_end(struct buf *b, size_t begin, enum grpc_packing packing) {
    size_t from = begin + GRPC_PREFIX_LEN;

    if (!buf_ok(b))
        return ERR_NO_MEMORY;
    ensure(b->len >= from);
    if (b->len - from > UINT32_MAX)
        return ERR_TOO_LARGE;
    bool is_packed = packing == GRPC_GZIP && b->len - from >= GZIP_WORTH_BYTES && grpc_compress_tail(b, from);
    size_t length = b->len - from;
    uint8_t *prefix = b->data + begin;
    prefix[0] = is_packed ? FRAME_COMPRESSED : FRAME_PLAIN;
    for (size_t i = 0; i < 4; i++)
        prefix[1 + i] = (uint8_t)(length >> (24 - 8 * i));
    return 0;
}
