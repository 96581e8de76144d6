/* A seeded random source (xoshiro256**). Same seed, same numbers, everywhere.
 * Not for secrets. */
#pragma once

#include "base/base.h"

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 .. n-1, unbiased; n > 0 */
bool rng_chance(struct rng *r, uint64_t one_in);
