/* FarmHash's 32-bit fingerprint for inputs of 13 bytes and more, and the delay from it.
 *
 * The hashed bytes are the same as in Temporal's server: Go's binary form of an instant in UTC, then the
 * seed. Seeds that do not fit into the buffer are cut; ids are never that long. Nothing can fail. */
#include "cal/jitter.h"

#define MUL_A UINT32_C(0xcc9e2d51)
#define MUL_B UINT32_C(0x1b873593)
#define ADD_H UINT32_C(0xe6546b64)
#define SHORT_MAX 24
#define BLOCK_BYTES 20
#define INPUT_BYTES_MAX 4096

#define STAMP_BYTES 15
#define STAMP_VERSION 1
#define YEAR_ONE_S INT64_C(62135596800) /* from 0001-01-01 to 1970-01-01 */

static uint32_t jitter_rotate_right(uint32_t v, int right) {
    return v >> right | v << (32 - right);
}

static uint32_t jitter_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t jitter_scramble_word(uint32_t a) {
    return jitter_rotate_right(a * MUL_A, 17) * MUL_B;
}

static uint32_t jitter_mix_state(uint32_t h) {
    return jitter_rotate_right(h, 19) * 5 + ADD_H;
}

static uint32_t jitter_mix_word(uint32_t a, uint32_t h) {
    return jitter_mix_state(h ^ jitter_scramble_word(a));
}

static uint32_t jitter_finish_hash(uint32_t h) {
    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
    return h ^ h >> 16;
}

static uint32_t jitter_hash_short(const uint8_t *s, uint32_t n) {
    uint32_t a = jitter_load_u32(s + n / 2 - 4), b = jitter_load_u32(s + 4), c = jitter_load_u32(s + n - 8);
    uint32_t d = jitter_load_u32(s + n / 2), e = jitter_load_u32(s), f = jitter_load_u32(s + n - 4);
    uint32_t h = d * MUL_A + n;
    a = jitter_rotate_right(a, 12) + f;
    h = jitter_mix_word(c, h) + a;
    a = jitter_rotate_right(a, 3) + c;
    h = jitter_mix_word(e, h) + a;
    a = jitter_rotate_right(a + f, 12) + d;
    h = jitter_mix_word(b, h) + a;
    return jitter_finish_hash(h);
}

static uint32_t jitter_hash_long(const uint8_t *s, uint32_t n) {
    uint32_t h = n, g = MUL_A * n, f = g;
    h = jitter_mix_state(h ^ jitter_scramble_word(jitter_load_u32(s + n - 4)));
    h = jitter_mix_state(h ^ jitter_scramble_word(jitter_load_u32(s + n - 16)));
    g = jitter_mix_state(g ^ jitter_scramble_word(jitter_load_u32(s + n - 8)));
    g = jitter_mix_state(g ^ jitter_scramble_word(jitter_load_u32(s + n - 12)));
    f = jitter_rotate_right(f + jitter_scramble_word(jitter_load_u32(s + n - 20)), 19) + 113;
    for (uint32_t rounds = (n - 1) / BLOCK_BYTES; rounds > 0; rounds--, s += BLOCK_BYTES) {
        uint32_t a = jitter_load_u32(s), b = jitter_load_u32(s + 4), c = jitter_load_u32(s + 8),
                 d = jitter_load_u32(s + 12), e = jitter_load_u32(s + 16);
        h += a;
        g += b;
        f += c;
        h = jitter_mix_word(d, h) + e;
        g = jitter_mix_word(c, g) + a;
        f = jitter_mix_word(b + e * MUL_A, f) + d;
        f += g;
        g += f;
    }
    g = jitter_rotate_right(jitter_rotate_right(g, 11) * MUL_A, 17) * MUL_A;
    f = jitter_rotate_right(jitter_rotate_right(f, 11) * MUL_A, 17) * MUL_A;
    h = jitter_rotate_right(jitter_mix_state(h + g), 17) * MUL_A;
    return jitter_rotate_right(jitter_mix_state(h + f), 17) * MUL_A;
}

uint32_t jitter_hash(struct str prefix, struct str rest) {
    uint8_t input[INPUT_BYTES_MAX];
    size_t head = prefix.n, tail = MIN(rest.n, sizeof(input) - head);
    ensure(head <= sizeof(input));
    memcpy(input, prefix.p, head);
    if (tail > 0)
        memcpy(input + head, rest.p, tail);
    uint32_t n = (uint32_t)(head + tail);
    ensure(n >= 13);
    return n <= SHORT_MAX ? jitter_hash_short(input, n) : jitter_hash_long(input, n);
}

int64_t jitter_us(int64_t nominal_s, struct str seed, int64_t max_us) {
    uint64_t ms = (uint64_t)MIN(MAX(max_us, 0) / 1000, (int64_t)UINT32_MAX);
    if (ms == 0)
        return 0;
    uint64_t since_year_one = (uint64_t)(nominal_s + YEAR_ONE_S);
    uint8_t stamp[STAMP_BYTES] = {STAMP_VERSION};
    for (int i = 0; i < 8; i++)
        stamp[1 + i] = (uint8_t)(since_year_one >> (56 - 8 * i));
    stamp[13] = stamp[14] = 0xFF; /* no nanoseconds; an offset of -1 minute means UTC in this form */
    uint64_t hash = jitter_hash(str_bytes(stamp, sizeof(stamp)), seed);
    return (int64_t)(hash * ms >> 32) * 1000;
}
