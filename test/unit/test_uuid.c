/* Versions and variants, order of timed ids, and the text form both ways. */
#include "base/uuid.h"

#include "base/err.h"
#include "harness.h"

static int version_of(struct uuid u) {
    return u.b[6] >> 4;
}

static int variant_of(struct uuid u) {
    return u.b[8] >> 6;
}

TEST(uuid_random_is_version_4) {
    struct rng r;
    rng_init(&r, 1);
    struct uuid last = {{0}};
    for (int i = 0; i < 1000; i++) {
        struct uuid u = uuid_random(&r);
        CHECK_INT(version_of(u), 4);
        CHECK_INT(variant_of(u), 2);
        CHECK(!uuid_eq(u, last));
        last = u;
    }
}

TEST(uuid_timed_is_version_7_and_carries_the_time) {
    struct rng r;
    rng_init(&r, 1);
    struct uuid u = uuid_timed(&r, (struct wall){INT64_C(1700000000123) * 1000 + 500});
    CHECK_INT(version_of(u), 7);
    CHECK_INT(variant_of(u), 2);
    uint64_t ms = 0;
    for (int i = 0; i < 6; i++)
        ms = ms << 8 | u.b[i];
    CHECK_INT(ms, INT64_C(1700000000123));
    CHECK_INT((u.b[6] & 0x0F) << 8 | u.b[7], 2048);
}

TEST(uuid_timed_sorts_by_microsecond) {
    struct rng r;
    rng_init(&r, 9);
    struct uuid last = uuid_timed(&r, (struct wall){0});
    for (int64_t us = 1; us < 5000; us++) {
        struct uuid u = uuid_timed(&r, (struct wall){us});
        CHECK(memcmp(last.b, u.b, sizeof(u.b)) < 0);
        last = u;
    }
}

TEST(uuid_timed_before_1970_is_clamped) {
    struct rng r;
    rng_init(&r, 1);
    struct uuid u = uuid_timed(&r, (struct wall){INT64_MIN});
    CHECK_INT(version_of(u), 7);
    CHECK_INT(u.b[0] | u.b[1] | u.b[2] | u.b[3] | u.b[4] | u.b[5], 0);
}

TEST(uuid_text_both_ways) {
    struct uuid u;
    REQUIRE(uuid_parse(STR("0123ABCD-ef01-2345-6789-abCDEf012345"), &u) == 0);
    CHECK_SLICE(str_bytes(u.b, 16), STR("\x01\x23\xAB\xCD\xEF\x01\x23\x45\x67\x89\xAB\xCD\xEF\x01\x23\x45"));
    CHECK_STR(uuid_format(u).s, "0123abcd-ef01-2345-6789-abcdef012345");
}

TEST(uuid_text_of_random_ids_survives) {
    struct rng r;
    rng_init(&r, 5);
    for (int i = 0; i < 100; i++) {
        struct uuid u = uuid_random(&r), back;
        struct uuid_text text = uuid_format(u);
        CHECK_INT(strlen(text.s), UUID_TEXT_LEN);
        CHECK_INT(uuid_parse(str_of(text.s), &back), 0);
        CHECK(uuid_eq(u, back));
    }
}

TEST(uuid_parse_refuses) {
    static const struct {
        int line;
        struct str text;
    } cases[] = {
        {__LINE__, STR("")},
        {__LINE__, STR("0123abcd")},
        {__LINE__, STR("0123abcd-ef01-2345-6789-abcdef01234")},
        {__LINE__, STR("0123abcd-ef01-2345-6789-abcdef0123456")},
        {__LINE__, STR("0123abcdeef01-2345-6789-abcdef012345")},
        {__LINE__, STR("0123abcd-ef01-2345-6789-abcdef01234g")},
        {__LINE__, STR("0123abcd-ef01-2345-6789-abcdef01234 ")},
        {__LINE__, STR("{123abcd-ef01-2345-6789-abcdef01234}")},
        {__LINE__, STR("0123abcd-ef01-2345-6789--bcdef012345")},
        {__LINE__, STR("0123abcd-ef01-2345-6789-abcdef01234\0")},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct uuid u = {{0}};
        int r = uuid_parse(cases[i].text, &u);
        test_check_int(r, ERR_INVALID, __FILE__, cases[i].line, "result");
        test_check(uuid_is_zero(u), __FILE__, cases[i].line, "untouched");
    }
}

TEST(uuid_zero) {
    struct uuid u = {{0}};
    CHECK(uuid_is_zero(u));
    CHECK_STR(uuid_format(u).s, "00000000-0000-0000-0000-000000000000");
    u.b[15] = 1;
    CHECK(!uuid_is_zero(u));
}
