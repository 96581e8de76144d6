/* The random source: known numbers, the range of rng_below, and its evenness. */
#include "base/rng.h"

#include "harness.h"

/* What the definition of xoshiro256** gives for the state 1, 2, 3, 4. */
TEST(rng_known_sequence) {
    struct rng r = {{1, 2, 3, 4}};
    CHECK_INT(rng_u64(&r), 11520);
    CHECK_INT(rng_u64(&r), 0);
    CHECK_INT(rng_u64(&r), 1509978240);
    CHECK_INT(rng_u64(&r), 1215971899390074240);
}

TEST(rng_same_seed_same_numbers) {
    struct rng a, b, c;
    rng_init(&a, 42);
    rng_init(&b, 42);
    rng_init(&c, 43);
    int differing = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t v = rng_u64(&a);
        CHECK(v == rng_u64(&b));
        differing += v != rng_u64(&c);
    }
    CHECK_INT(differing, 100);
}

TEST(rng_seed_zero_works) {
    struct rng r;
    rng_init(&r, 0);
    CHECK(r.s[0] != 0 && r.s[1] != 0 && r.s[2] != 0 && r.s[3] != 0);
    CHECK(rng_u64(&r) != rng_u64(&r));
}

TEST(rng_below_stays_below) {
    static const uint64_t limits[] = {1,         2, 3, 10, 1000, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1,
                                      UINT64_MAX};
    struct rng r;
    rng_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        for (int n = 0; n < 200; n++)
            CHECK(rng_below(&r, limits[i]) < limits[i]);
    }
}

TEST(rng_below_is_even) {
    struct rng r;
    int seen[10] = {0};
    rng_init(&r, 7);
    for (int i = 0; i < 100000; i++)
        seen[rng_below(&r, 10)]++;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        CHECK(seen[i] > 9500 && seen[i] < 10500);
}

/* With n = 3 * 2^62 a plain remainder would give the low third twice as often. */
TEST(rng_below_is_even_for_huge_ranges) {
    struct rng r;
    int low = 0;
    rng_init(&r, 7);
    for (int i = 0; i < 30000; i++)
        low += rng_below(&r, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    CHECK(low > 9500 && low < 10500);
}

TEST(rng_chance) {
    struct rng r;
    int hits = 0;
    rng_init(&r, 3);
    for (int i = 0; i < 10000; i++) {
        CHECK(rng_chance(&r, 1));
        CHECK(!rng_chance(&r, 0));
        hits += rng_chance(&r, 10);
    }
    CHECK(hits > 850 && hits < 1150);
}
