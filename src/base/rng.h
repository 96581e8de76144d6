/* A random source with a seed (xoshiro256**). The same seed gives the same numbers on every machine. Not for
 * secrets. One generator belongs to one thread. */
#pragma once

#include "base/base.h"

struct rng {
    uint64_t s[4];
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 to n - 1, unbiased; n > 0 */
bool rng_chance(struct rng *r, uint64_t one_in); /* true once in so many calls; never for 0 */
