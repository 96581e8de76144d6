/* xoshiro256** (Blackman and Vigna). A splitmix64 sequence seeds it, so that the seed 0 gives a state with
 * many bits set, too. Cannot fail. */
#include "base/rng.h"

static uint64_t rng_rotate_left(uint64_t v, int bits) {
    return v << bits | v >> (64 - bits);
}

static uint64_t rng_splitmix_next(uint64_t *state) {
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void rng_init(struct rng *r, uint64_t seed) {
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = rng_splitmix_next(&seed);
}

uint64_t rng_u64(struct rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rng_rotate_left(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rng_rotate_left(s[3], 45);
    return result;
}

/* The range of uint64_t is not a multiple of n. Values from its incomplete end would favour small results, so
 * they are drawn again. */
uint64_t rng_below(struct rng *r, uint64_t n) {
    ensure(n > 0);
    uint64_t excess = (UINT64_MAX % n + 1) % n;
    uint64_t v;
    do {
        v = rng_u64(r);
    } while (v > UINT64_MAX - excess);
    return v % n;
}

bool rng_chance(struct rng *r, uint64_t one_in) {
    return one_in > 0 && rng_below(r, one_in) == 0;
}
