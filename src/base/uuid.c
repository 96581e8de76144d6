/* UUIDs of RFC 9562, versions 4 and 7, and their text form. Making one cannot
 * fail; text that is not exactly 8-4-4-4-12 hexadecimal digits is refused. */
#include "base/uuid.h"

#include "base/err.h"

#define UUID_VARIANT_RFC 0x80
#define UUID_FRACTION_STEPS 4096 /* twelve bits */

static void put_be(uint8_t *p, size_t bytes, uint64_t v) {
    for (size_t i = bytes; i > 0; i--) {
        p[i - 1] = (uint8_t)v;
        v >>= 8;
    }
}

static void mark(struct uuid *u, int version) {
    u->b[6] = (uint8_t)((u->b[6] & 0x0F) | version << 4);
    u->b[8] = (uint8_t)((u->b[8] & 0x3F) | UUID_VARIANT_RFC);
}

struct uuid uuid_random(struct rng *r) {
    struct uuid u;
    put_be(u.b, 8, rng_u64(r));
    put_be(u.b + 8, 8, rng_u64(r));
    mark(&u, 4);
    return u;
}

/* 48 bits of milliseconds, 12 bits of the fraction of one, then random bits. */
struct uuid uuid_timed(struct rng *r, struct wall now) {
    uint64_t us = now.us > 0 ? (uint64_t)now.us : 0;
    uint64_t fraction = us % USEC_PER_MS * UUID_FRACTION_STEPS / USEC_PER_MS;
    struct uuid u;
    put_be(u.b, 6, us / USEC_PER_MS);
    put_be(u.b + 6, 2, fraction);
    put_be(u.b + 8, 8, rng_u64(r));
    mark(&u, 7);
    return u;
}

/* Whether a dash stands before the i-th byte. */
static bool dash_before(size_t i) {
    return i == 4 || i == 6 || i == 8 || i == 10;
}

struct uuid_text uuid_format(struct uuid u) {
    static const char digits[] = "0123456789abcdef";
    struct uuid_text text;
    char *p = text.s;
    for (size_t i = 0; i < sizeof(u.b); i++) {
        if (dash_before(i))
            *p++ = '-';
        *p++ = digits[u.b[i] >> 4];
        *p++ = digits[u.b[i] & 0x0F];
    }
    *p = '\0';
    return text;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int uuid_parse(struct str text, struct uuid *ret) {
    if (text.n != UUID_TEXT_LEN)
        return ERR_INVALID;
    struct uuid u;
    const char *p = text.p;
    for (size_t i = 0; i < sizeof(u.b); i++) {
        if (dash_before(i) && *p++ != '-')
            return ERR_INVALID;
        int high = hex_value(*p++);
        int low = hex_value(*p++);
        if (high < 0 || low < 0)
            return ERR_INVALID;
        u.b[i] = (uint8_t)(high << 4 | low);
    }
    *ret = u;
    return 0;
}
