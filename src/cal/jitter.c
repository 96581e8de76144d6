/* FarmHash's 32-bit fingerprint, for inputs of 13 bytes and more, and the delay that follows from it.
 *
 * The bytes hashed are those that the other server hashes: its language's binary form of an instant in UTC,
 * then the seed. Only seeds longer than the buffer are cut off, which names cannot be. Nothing can fail. */
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

static uint32_t rotate(uint32_t v, int right) {
    return v >> right | v << (32 - right);
}

static uint32_t fetch(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t scramble(uint32_t a) {
    return rotate(a * MUL_A, 17) * MUL_B;
}

static uint32_t stir(uint32_t h) {
    return rotate(h, 19) * 5 + ADD_H;
}

static uint32_t mur(uint32_t a, uint32_t h) {
    return stir(h ^ scramble(a));
}

static uint32_t finish(uint32_t h) {
    h = (h ^ h >> 16) * UINT32_C(0x85ebca6b);
    h = (h ^ h >> 13) * UINT32_C(0xc2b2ae35);
    return h ^ h >> 16;
}

static uint32_t hash_short(const uint8_t *s, uint32_t n) {
    uint32_t a = fetch(s + n / 2 - 4), b = fetch(s + 4), c = fetch(s + n - 8);
    uint32_t d = fetch(s + n / 2), e = fetch(s), f = fetch(s + n - 4);
    uint32_t h = d * MUL_A + n;
    a = rotate(a, 12) + f;
    h = mur(c, h) + a;
    a = rotate(a, 3) + c;
    h = mur(e, h) + a;
    a = rotate(a + f, 12) + d;
    h = mur(b, h) + a;
    return finish(h);
}

static uint32_t hash_long(const uint8_t *s, uint32_t n) {
    uint32_t h = n, g = MUL_A * n, f = g;
    h = stir(h ^ scramble(fetch(s + n - 4)));
    h = stir(h ^ scramble(fetch(s + n - 16)));
    g = stir(g ^ scramble(fetch(s + n - 8)));
    g = stir(g ^ scramble(fetch(s + n - 12)));
    f = rotate(f + scramble(fetch(s + n - 20)), 19) + 113;
    for (uint32_t rounds = (n - 1) / BLOCK_BYTES; rounds > 0; rounds--, s += BLOCK_BYTES) {
        uint32_t a = fetch(s), b = fetch(s + 4), c = fetch(s + 8), d = fetch(s + 12), e = fetch(s + 16);
        h += a;
        g += b;
        f += c;
        h = mur(d, h) + e;
        g = mur(c, g) + a;
        f = mur(b + e * MUL_A, f) + d;
        f += g;
        g += f;
    }
    g = rotate(rotate(g, 11) * MUL_A, 17) * MUL_A;
    f = rotate(rotate(f, 11) * MUL_A, 17) * MUL_A;
    h = rotate(stir(h + g), 17) * MUL_A;
    return rotate(stir(h + f), 17) * MUL_A;
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
    return n <= SHORT_MAX ? hash_short(input, n) : hash_long(input, n);
}

int64_t jitter_us(int64_t nominal_s, struct str seed, int64_t max_us) {
    uint64_t ms = (uint64_t)MIN(MAX(max_us, 0) / 1000, (int64_t)UINT32_MAX);
    if (ms == 0)
        return 0;
    uint64_t since_year_one = (uint64_t)(nominal_s + YEAR_ONE_S);
    uint8_t stamp[STAMP_BYTES] = {STAMP_VERSION};
    for (int i = 0; i < 8; i++)
        stamp[1 + i] = (uint8_t)(since_year_one >> (56 - 8 * i));
    stamp[13] = stamp[14] = 0xFF; /* no nanoseconds; an offset of -1 minute means UTC there */
    uint64_t hash = jitter_hash(str_bytes(stamp, sizeof(stamp)), seed);
    return (int64_t)(hash * ms >> 32) * 1000;
}
