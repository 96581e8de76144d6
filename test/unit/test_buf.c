/* Growth up to the maximum, the sticky failure, and taking the bytes away. */
#include "base/buf.h"

#include <string.h>

#include "base/mem.h"
#include "harness.h"

TEST(buf_collects_everything_added) {
    struct buf b;
    buf_init(&b, 1000);
    buf_add(&b, "ab", 2);
    buf_add(&b, NULL, 0);
    buf_add_str(&b, STR("cd"));
    buf_add_cstr(&b, "ef");
    buf_add_u8(&b, 0xFF);
    buf_add_u32be(&b, 0x01020304);
    buf_printf(&b, "%d%s", 12, "x");
    CHECK(buf_ok(&b));
    CHECK_SLICE(buf_str(&b), STR("abcdef\xff\x01\x02\x03\x04"
                                 "12x"));
    buf_done(&b);
}

TEST(buf_stops_at_the_maximum_and_stays_stopped) {
    struct buf b;
    buf_init(&b, 4);
    buf_add_cstr(&b, "abcd");
    CHECK(buf_ok(&b));
    buf_add_u8(&b, 'e');
    CHECK(!buf_ok(&b));
    CHECK_SLICE(buf_str(&b), STR("abcd"));
    buf_truncate(&b, 0);
    buf_add_u8(&b, 'f');
    CHECK_INT(b.len, 0);
    buf_clear(&b);
    buf_add_u8(&b, 'g');
    CHECK(buf_ok(&b));
    CHECK_SLICE(buf_str(&b), STR("g"));
    buf_done(&b);
}

TEST(buf_limits_of_one_addition) {
    static const struct {
        int line;
        size_t max;
        size_t n;
        bool ok;
    } cases[] = {
        {__LINE__, 0, 0, true},      {__LINE__, 0, 1, false},          {__LINE__, 1, 1, true},
        {__LINE__, 63, 64, false},   {__LINE__, 64, 64, true},         {__LINE__, 65, 65, true},
        {__LINE__, 100, 101, false}, {__LINE__, 100, SIZE_MAX, false}, {__LINE__, SIZE_MAX, SIZE_MAX, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b;
        buf_init(&b, cases[i].max);
        uint8_t *p = buf_extend(&b, cases[i].n);
        if (p)
            memset(p, 'x', cases[i].n);
        test_check_int(p != NULL, cases[i].ok, __FILE__, cases[i].line, "extended");
        test_check_int(buf_ok(&b), cases[i].ok, __FILE__, cases[i].line, "buf_ok");
        test_check_int((int64_t)b.len, cases[i].ok ? (int64_t)cases[i].n : 0, __FILE__, cases[i].line, "len");
        buf_done(&b);
    }
}

TEST(buf_text_that_fills_it_exactly) {
    struct buf b;
    buf_init(&b, 5);
    buf_printf(&b, "%s", "12345");
    CHECK(buf_ok(&b));
    CHECK_SLICE(buf_str(&b), STR("12345"));
    buf_printf(&b, "%s", "");
    CHECK(buf_ok(&b));
    buf_printf(&b, "%d", 6);
    CHECK(!buf_ok(&b));
    buf_done(&b);
}

TEST(buf_grows_in_many_small_steps) {
    struct buf b;
    buf_init(&b, 100000);
    for (uint32_t i = 0; i < 20000; i++)
        buf_add_u32be(&b, i);
    CHECK(buf_ok(&b));
    CHECK_INT(b.len, 80000);
    CHECK(b.cap <= b.max + 1);
    if (buf_ok(&b))
        CHECK_SLICE(str_bytes(b.data + 4 * 258, 4), STR("\0\0\1\2"));
    buf_done(&b);
}

TEST(buf_drops_from_both_ends) {
    struct buf b;
    buf_init(&b, 100);
    buf_add_cstr(&b, "0123456789");
    if (buf_ok(&b)) {
        buf_drop_front(&b, 0);
        buf_drop_front(&b, 3);
        CHECK_SLICE(buf_str(&b), STR("3456789"));
        buf_truncate(&b, 2);
        CHECK_SLICE(buf_str(&b), STR("34"));
        buf_drop_front(&b, 2);
    }
    CHECK_INT(b.len, 0);
    buf_done(&b);
}

TEST(buf_take_hands_over_the_bytes) {
    struct buf b;
    size_t len = 99;
    buf_init(&b, 100);
    buf_add_cstr(&b, "abc");
    uint8_t *data = buf_take(&b, &len);
    CHECK_SLICE(str_bytes(data, len), STR("abc"));
    CHECK(b.data == NULL);
    CHECK_INT(b.len, 0);
    buf_add_cstr(&b, "again");
    CHECK(buf_ok(&b));
    mem_free(data);
    buf_done(&b);
}

TEST(buf_take_after_failure_is_null) {
    struct buf b;
    size_t len = 99;
    buf_init(&b, 3);
    buf_add_cstr(&b, "abc");
    buf_add_cstr(&b, "d");
    CHECK(buf_take(&b, &len) == NULL);
    CHECK_INT(len, 0);
    CHECK(buf_ok(&b));
}
