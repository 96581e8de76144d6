/* Timeouts, frames, gzip and the two header encodings. */
#include "wire/grpc.h"

#include <zlib.h>

#include "base/mem.h"
#include "harness.h"

#define MIB ((size_t)1 << 20)
#define HOUR_US (3600 * USEC_PER_SEC)
#define GZIP_WINDOW (15 + 16)

TEST(timeouts_in_all_units) {
    static const struct {
        int line;
        struct str value;
        int64_t us;
    } cases[] = {
        {__LINE__, STR("1H"), HOUR_US},
        {__LINE__, STR("99999999H"), 99999999 * HOUR_US},
        {__LINE__, STR("2M"), 120 * USEC_PER_SEC},
        {__LINE__, STR("10S"), 10 * USEC_PER_SEC},
        {__LINE__, STR("1500m"), 1500000},
        {__LINE__, STR("30000000u"), 30 * USEC_PER_SEC},
        {__LINE__, STR("1n"), 1},
        {__LINE__, STR("1000n"), 1},
        {__LINE__, STR("1001n"), 2},
        {__LINE__, STR("0S"), 0},
        {__LINE__, STR("00000010S"), 10 * USEC_PER_SEC},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us = -1;
        test_check_int(grpc_timeout_parse(cases[i].value, &us), 0, __FILE__, cases[i].line, "result");
        test_check_int(us, cases[i].us, __FILE__, cases[i].line, "microseconds");
    }
}

TEST(timeouts_that_are_none) {
    static const struct {
        int line;
        struct str value;
    } cases[] = {
        {__LINE__, STR("")},     {__LINE__, STR("S")},          {__LINE__, STR("10")},
        {__LINE__, STR("10s")},  {__LINE__, STR("10h")},        {__LINE__, STR("-1S")},
        {__LINE__, STR("+1S")},  {__LINE__, STR(" 1S")},        {__LINE__, STR("1S ")},
        {__LINE__, STR("1.5S")}, {__LINE__, STR("123456789S")}, {__LINE__, STR("1SS")},
        {__LINE__, STR("0x1S")}, {__LINE__, STR("1\0S")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us = -1;
        test_check_int(grpc_timeout_parse(cases[i].value, &us), ERR_INVALID, __FILE__, cases[i].line,
                       "result");
        test_check_int(us, -1, __FILE__, cases[i].line, "untouched");
    }
}

TEST(frames_of_a_request) {
    static const struct {
        int line;
        struct str body;
        struct str encoding;
        int want;
        struct str message; /* or the error's text */
    } cases[] = {
        {__LINE__, STR("\0\0\0\0\0"), STR(""), 0, STR("")},
        {__LINE__, STR("\0\0\0\0\2hi"), STR(""), 0, STR("hi")},
        {__LINE__, STR("\0\0\0\0\2hi"), STR("identity"), 0, STR("hi")},
        {__LINE__, STR("\0\0\0\0\2hi"), STR("gzip"), 0, STR("hi")}, /* the flag decides */
        {__LINE__, STR("\1\0\0\0\0"), STR("gzip"), 0, STR("")},
        {__LINE__, STR(""), STR(""), ERR_INVALID, STR("grpc: the request has no message")},
        {__LINE__, STR("\0\0\0\0"), STR(""), ERR_INVALID, STR("grpc: the message ends within its prefix")},
        {__LINE__, STR("\0\0\0\0\3hi"), STR(""), ERR_INVALID,
         STR("grpc: the message has 2 bytes and claims 3")},
        {__LINE__, STR("\0\0\0\0\1hi"), STR(""), ERR_INVALID, STR("grpc: 1 bytes follow the message")},
        {__LINE__, STR("\0\0\0\0\0\0\0\0\0\0"), STR(""), ERR_INVALID,
         STR("grpc: 5 bytes follow the message")},
        {__LINE__, STR("\2\0\0\0\2hi"), STR("gzip"), ERR_INVALID,
         STR("grpc: received unexpected payload format 2")},
        {__LINE__, STR("\1\0\0\0\2hi"), STR(""), ERR_INVALID,
         STR("grpc: compressed flag set with identity or empty encoding")},
        {__LINE__, STR("\1\0\0\0\2hi"), STR("identity"), ERR_INVALID,
         STR("grpc: compressed flag set with identity or empty encoding")},
        {__LINE__, STR("\1\0\0\0\2hi"), STR("gzip"), ERR_INVALID,
         STR("grpc: failed to decompress the message: not valid gzip")},
        {__LINE__, STR("\0\0\0\0\2hi"), STR("snappy"), ERR_UNIMPLEMENTED,
         STR("grpc: Decompressor is not installed for grpc-encoding \"snappy\"")},
        {__LINE__, STR("\0\0\0\0\2hi"),
         STR("64-characters-of-a-word-are-shown-and-what-follows-is-left-out.."), ERR_UNIMPLEMENTED,
         STR("grpc: Decompressor is not installed for grpc-encoding "
             "\"64-characters-of-a-word-are-shown-and-what-follows-is-left-out..\"")},
        {__LINE__, STR("\0\0\0\0\2hi"),
         STR("64-characters-of-a-word-are-shown-and-what-follows-is-left-out..zzz"), ERR_UNIMPLEMENTED,
         STR("grpc: Decompressor is not installed for grpc-encoding "
             "\"64-characters-of-a-word-are-shown-and-what-follows-is-left-out..\"")},
        {__LINE__, STR("\0\0\0\0\x65"), STR(""), ERR_TOO_LARGE,
         STR("grpc: received message larger than max (101 vs. 100)")},
        {__LINE__, STR("\0\xff\xff\xff\xff"), STR(""), ERR_TOO_LARGE,
         STR("grpc: received message larger than max (4294967295 vs. 100)")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct err e = {0};
        struct str message = {NULL, 0};

        arena_init(&a, MIB);
        int r = grpc_unframe(cases[i].body, cases[i].encoding, 100, &a, &message, &e);
        test_check_int(r, cases[i].want, __FILE__, cases[i].line, "result");
        test_check_str(r ? str_of(e.text) : message, cases[i].message, __FILE__, cases[i].line, "message");
    }
}

TEST(too_large_is_worded_as_grpc_servers_do) {
    struct err e = {0};
    CHECK_INT(grpc_too_large(&e, 5000000, GRPC_MESSAGE_BYTES_MAX), ERR_TOO_LARGE);
    CHECK_STR(e.text, "grpc: received message larger than max (5000000 vs. 4194304)");
}

/* Appends a gzip member. */
static void add_gzip(struct buf *b, struct str plain) {
    z_stream z = {0};
    uLong bound = compressBound(plain.n) + 64;
    uint8_t *out = buf_extend(b, bound);

    if (!out || deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    uint8_t *in = mem_dup(plain.p, plain.n);
    z.next_in = in;
    z.avail_in = in ? (unsigned)plain.n : 0;
    z.next_out = out;
    z.avail_out = (unsigned)bound;
    (void)deflate(&z, Z_FINISH);
    buf_truncate(b, b->len - z.avail_out);
    (void)deflateEnd(&z);
    mem_free(in);
}

static void begin_compressed(struct buf *b, size_t max) {
    buf_init(b, max);
    buf_add(b, "\1\0\0\0\0", GRPC_PREFIX_LEN);
}

static struct str end_compressed(struct buf *b) {
    uint32_t n = (uint32_t)(b->len - GRPC_PREFIX_LEN);
    for (size_t i = 0; buf_ok(b) && i < 4; i++)
        b->data[1 + i] = (uint8_t)(n >> (24 - 8 * i));
    return buf_str(b);
}

TEST(gzip_members_add_up) {
    static const struct {
        int line;
        struct str members[3];
        struct str trailer;
        int want;
        struct str message;
    } cases[] = {
        {__LINE__, {STR("hello")}, STR(""), 0, STR("hello")},
        {__LINE__, {STR("")}, STR(""), 0, STR("")},
        {__LINE__, {STR("hel"), STR("lo")}, STR(""), 0, STR("hello")},
        {__LINE__, {STR(""), STR("x"), STR("")}, STR(""), 0, STR("x")},
        {__LINE__, {STR("hello")}, STR("\0"), ERR_INVALID, {NULL, 0}},
        {__LINE__, {STR("hello")}, STR("garbage"), ERR_INVALID, {NULL, 0}},
        {__LINE__, {STR("hello")}, STR("\x1f\x8b\x08"), ERR_INVALID, {NULL, 0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b cleanup(buf_done);
        struct arena a cleanup(arena_done);
        struct str message = {NULL, 0};

        begin_compressed(&b, MIB);
        arena_init(&a, MIB);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].members) && cases[i].members[k].p; k++)
            add_gzip(&b, cases[i].members[k]);
        buf_add_str(&b, cases[i].trailer);
        int r = grpc_unframe(end_compressed(&b), STR("gzip"), 1000, &a, &message, NULL);
        test_check_int(r, cases[i].want, __FILE__, cases[i].line, "result");
        test_check(str_eq(message, cases[i].message), __FILE__, cases[i].line, "message");
    }
}

TEST(gzip_cut_at_every_byte) {
    struct buf whole cleanup(buf_done);

    begin_compressed(&whole, MIB);
    add_gzip(&whole, STR("a message that is long enough to be compressed, compressed, compressed"));
    for (size_t n = GRPC_PREFIX_LEN + 1; n < whole.len; n++) {
        struct buf b cleanup(buf_done);
        struct arena a cleanup(arena_done);
        struct str message;

        begin_compressed(&b, MIB);
        arena_init(&a, MIB);
        buf_add(&b, whole.data + GRPC_PREFIX_LEN, n - GRPC_PREFIX_LEN);
        CHECK_INT(grpc_unframe(end_compressed(&b), STR("gzip"), 1000, &a, &message, NULL), ERR_INVALID);
    }
}

TEST(gzip_checksum_is_checked) {
    struct buf b cleanup(buf_done);
    struct arena a cleanup(arena_done);
    struct str message;

    begin_compressed(&b, MIB);
    arena_init(&a, MIB);
    add_gzip(&b, STR("hello"));
    REQUIRE(buf_ok(&b));
    b.data[b.len - 8] ^= 1;
    CHECK_INT(grpc_unframe(end_compressed(&b), STR("gzip"), 1000, &a, &message, NULL), ERR_INVALID);
}

/* Zeros of this size, compressed, as a request. */
static void build_bomb(struct buf *b, size_t size) {
    uint8_t *zeros = mem_zalloc(size);
    begin_compressed(b, size + MIB);
    if (zeros)
        add_gzip(b, str_bytes(zeros, size));
    mem_free(zeros);
}

TEST(gzip_may_inflate_to_the_maximum) {
    static const struct {
        int line;
        size_t size;
        int want;
    } cases[] = {
        {__LINE__, 1, 0},
        {__LINE__, 1023, 0},
        {__LINE__, 1024, 0},
        {__LINE__, 1025, 0},
        {__LINE__, 65535, 0},
        {__LINE__, 65536, 0},
        {__LINE__, 65537, ERR_TOO_LARGE},
        {__LINE__, 200000, ERR_TOO_LARGE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b cleanup(buf_done);
        struct arena a cleanup(arena_done);
        struct str message = {NULL, 0};
        struct err e = {0};

        build_bomb(&b, cases[i].size);
        arena_init(&a, MIB);
        int r = grpc_unframe(end_compressed(&b), STR("gzip"), 65536, &a, &message, &e);
        test_check_int(r, cases[i].want, __FILE__, cases[i].line, "result");
        test_check_int(message.n, r ? 0 : cases[i].size, __FILE__, cases[i].line, "size");
        if (r)
            CHECK_STR(e.text, "grpc: received message after decompression larger than max (65537 vs. 65536)");
    }
}

TEST(gzip_bomb_costs_no_arena) {
    struct buf b cleanup(buf_done);
    struct arena a cleanup(arena_done);
    struct str message;
    struct err e = {0};

    build_bomb(&b, 64 * MIB);
    arena_init(&a, 64 * MIB);
    CHECK(buf_ok(&b) && b.len > 1 << 10 && b.len < 128 << 10);
    CHECK_INT(grpc_unframe(end_compressed(&b), STR("gzip"), GRPC_MESSAGE_BYTES_MAX, &a, &message, &e),
              ERR_TOO_LARGE);
    CHECK_STR(e.text, "grpc: received message after decompression larger than max (4194305 vs. 4194304)");
    CHECK_INT(a.used, 0);
}

TEST(inflating_past_the_arena_is_out_of_memory) {
    struct buf b cleanup(buf_done);
    struct arena a cleanup(arena_done);
    struct str message;

    build_bomb(&b, 5000);
    arena_init(&a, 4096);
    CHECK_INT(grpc_unframe(end_compressed(&b), STR("gzip"), MIB, &a, &message, NULL), ERR_NO_MEMORY);
}

/* Frames the text and reads it back. */
static void check_frame(struct str text, bool gzip, uint8_t want_flag) {
    struct buf b cleanup(buf_done);
    struct arena a cleanup(arena_done);
    struct str message = {NULL, 0};

    buf_init(&b, MIB);
    arena_init(&a, MIB);
    buf_add_cstr(&b, "before");
    size_t begin = grpc_frame_begin(&b);
    buf_add_str(&b, text);
    REQUIRE(grpc_frame_end(&b, begin, gzip) == 0);
    CHECK_INT(begin, 6);
    CHECK_INT(b.data[begin], want_flag);
    CHECK(!want_flag || b.len - begin < text.n + GRPC_PREFIX_LEN);
    struct str frame = str_bytes(b.data + begin, b.len - begin);
    CHECK_INT(grpc_unframe(frame, STR("gzip"), MIB, &a, &message, NULL), 0);
    CHECK(str_eq(message, text));
}

TEST(frames_of_a_response) {
    char text[4096], noise[4096];
    uint32_t x = 1;

    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < sizeof(noise); i++) {
        x = x * 1664525 + 1013904223;
        noise[i] = (char)(x >> 24);
    }
    check_frame(STR(""), false, 0);
    check_frame(STR("hi"), false, 0);
    check_frame(str_bytes(text, sizeof(text)), false, 0);
    check_frame(str_bytes(text, sizeof(text)), true, 1);
    check_frame(STR("hi"), true, 0); /* too short to gain */
    check_frame(str_bytes(noise, sizeof(noise)), true, 0); /* does not compress */
}

TEST(a_failed_buffer_makes_no_frame) {
    struct buf b cleanup(buf_done);

    buf_init(&b, 8);
    size_t begin = grpc_frame_begin(&b);
    buf_add_cstr(&b, "too much");
    CHECK_INT(grpc_frame_end(&b, begin, GRPC_PLAIN), ERR_NO_MEMORY);
}

/* A frame has four bytes for its length; nothing behind the prefix is looked at. */
TEST(a_message_that_its_prefix_cannot_hold_is_too_large) {
    uint8_t prefix[GRPC_PREFIX_LEN] = {0};
    struct buf b = {.data = prefix, .len = GRPC_PREFIX_LEN + (size_t)UINT32_MAX + 1};
    CHECK_INT(grpc_frame_end(&b, 0, GRPC_PLAIN), ERR_TOO_LARGE);
    b.len--;
    CHECK_INT(grpc_frame_end(&b, 0, GRPC_PLAIN), 0);
    CHECK_SLICE(str_bytes(prefix, sizeof(prefix)), STR("\0\xff\xff\xff\xff"));
}

TEST(accepted_encodings) {
    static const struct {
        int line;
        struct str value;
        bool want;
    } cases[] = {
        {__LINE__, STR(""), false},
        {__LINE__, STR("gzip"), true},
        {__LINE__, STR("identity,deflate,gzip"), true},
        {__LINE__, STR("identity, gzip , deflate"), true},
        {__LINE__, STR("identity,\tgzip\t"), true},
        {__LINE__, STR("identity,deflate"), false},
        {__LINE__, STR("gzipped"), false},
        {__LINE__, STR("x-gzip"), false},
        {__LINE__, STR(",,gzip"), true},
        {__LINE__, STR(","), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        test_check(grpc_accepts_gzip(cases[i].value) == cases[i].want, __FILE__, cases[i].line, "accepts");
}

TEST(status_texts_are_percent_encoded) {
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", ""},
        {NULL, ""},
        {"plain text ~!", "plain text ~!"},
        {"100%", "100%25"},
        {"a\nb\x7f", "a%0Ab%7F"},
        {"\xc3\xa4", "%C3%A4"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        arena_init(&a, MIB);
        CHECK_STR(grpc_message_encode(&a, cases[i].text), cases[i].want);
    }
}

TEST(binary_headers_are_base64_without_padding) {
    static const struct {
        struct str bytes;
        const char *want;
    } cases[] = {
        {STR(""), ""},        {STR("f"), "Zg"},        {STR("fo"), "Zm8"},
        {STR("foo"), "Zm9v"}, {STR("foob"), "Zm9vYg"}, {STR("\xff\xff\xfe\x00"), "///+AA"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        arena_init(&a, MIB);
        CHECK_STR(grpc_bin_encode(&a, cases[i].bytes), cases[i].want);
    }
}

TEST(status_texts_come_back) {
    static const struct {
        struct str text;
        const char *want;
    } cases[] = {
        {STR(""), ""},        {STR("plain"), "plain"}, {STR("100%25"), "100%"}, {STR("a%0Ab%7f"), "a\nb\x7f"},
        {STR("%C3%A4"), "ä"}, {STR("%"), "%"},         {STR("%2"), "%2"},       {STR("%zz%41"), "%zzA"},
        {STR("%/0"), "%/0"},  {STR("%:0"), "%:0"},     {STR("%G0"), "%G0"},     {STR("%g0"), "%g0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        arena_init(&a, MIB);
        CHECK_STR(grpc_message_decode(&a, cases[i].text), cases[i].want);
    }
}

TEST(binary_headers_come_back) {
    static const struct {
        struct str text;
        int rc;
        struct str want;
    } cases[] = {
        {STR(""), 0, STR("")},
        {STR("Zg"), 0, STR("f")},
        {STR("Zg=="), 0, STR("f")},
        {STR("Zm8="), 0, STR("fo")},
        {STR("Zm9v"), 0, STR("foo")},
        {STR("Zm9vYg"), 0, STR("foob")},
        {STR("///+AA"), 0, STR("\xff\xff\xfe\0")},
        {STR("Z"), ERR_INVALID, STR("")},
        {STR("Zg-_"), ERR_INVALID, STR("")},
        {STR("Z\0m8"), ERR_INVALID, STR("")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct str got = STR("");
        arena_init(&a, MIB);
        CHECK_INT(grpc_bin_decode(&a, cases[i].text, &got), cases[i].rc);
        if (cases[i].rc == 0)
            CHECK_SLICE(got, cases[i].want);
    }
}

TEST(timeouts_there_and_back) {
    static const struct {
        int64_t us;
        const char *want;
    } cases[] = {
        {0, "0u"},
        {-5, "0u"},
        {1, "1u"},
        {99999999, "99999999u"},
        {100000000, "100000m"},
        {100000001, "100001m"},
        {INT64_C(100000000) * 1000, "100000S"},
        {INT64_C(100000000) * 1000000, "1666667M"},
        {INT64_MAX, "99999999H"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[GRPC_TIMEOUT_MAX];
        size_t n = grpc_timeout_format(cases[i].us, text);
        CHECK_SLICE(str_bytes(text, n), str_of(cases[i].want));
        int64_t back = -1;
        CHECK_INT(grpc_timeout_parse(str_bytes(text, n), &back), 0);
        if (i + 1 < ARRAY_LEN(cases))
            CHECK(back >= cases[i].us && back - MAX(cases[i].us, 0) <= cases[i].us / 1000);
    }
}
