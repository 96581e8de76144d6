/* UUIDs of RFC 9562, versions 4 and 7, and their text form.
 *
 * Making a UUID cannot fail. uuid_parse() refuses any text other than 8-4-4-4-12 hexadecimal digits. */
#include "base/uuid.h"

#include "base/err.h"
#include "base/hex.h"

#define UUID_VARIANT_RFC 0x80
#define UUID_FRACTION_STEPS 4096 /* twelve bits */

/* The low `bytes` bytes of v, the highest first. */
static void uuid_put_bytes(uint8_t *p, size_t bytes, uint64_t v) {
    for (size_t i = bytes; i > 0; i--) {
        p[i - 1] = (uint8_t)v;
        v >>= 8;
    }
}

static void uuid_set_version(struct uuid *u, int version) {
    u->b[6] = (uint8_t)((u->b[6] & 0x0F) | version << 4);
    u->b[8] = (uint8_t)((u->b[8] & 0x3F) | UUID_VARIANT_RFC);
}

struct uuid uuid_random(struct rng *r) {
    struct uuid u;
    uuid_put_bytes(u.b, 8, rng_u64(r));
    uuid_put_bytes(u.b + 8, 8, rng_u64(r));
    uuid_set_version(&u, 4);
    return u;
}

/* 48 bits of milliseconds, 12 bits of the fraction of a millisecond, then random bits. */
struct uuid uuid_timed(struct rng *r, struct wall now) {
    uint64_t us = now.us > 0 ? (uint64_t)now.us : 0;
    uint64_t fraction = us % USEC_PER_MS * UUID_FRACTION_STEPS / USEC_PER_MS;
    struct uuid u;
    uuid_put_bytes(u.b, 6, us / USEC_PER_MS);
    uuid_put_bytes(u.b + 6, 2, fraction);
    uuid_put_bytes(u.b + 8, 8, rng_u64(r));
    uuid_set_version(&u, 7);
    return u;
}

/* Whether the text has a dash before the i-th byte. */
static bool uuid_has_dash_before(size_t i) {
    return i == 4 || i == 6 || i == 8 || i == 10;
}

struct uuid_text uuid_format(struct uuid u) {
    struct uuid_text text;
    char *p = text.s;
    for (size_t i = 0; i < sizeof(u.b); i++) {
        if (uuid_has_dash_before(i))
            *p++ = '-';
        *p++ = hex_digit_lower(u.b[i] >> 4);
        *p++ = hex_digit_lower(u.b[i]);
    }
    *p = '\0';
    return text;
}

int uuid_parse(struct str text, struct uuid *ret) {
    if (text.n != UUID_TEXT_LEN)
        return ERR_INVALID;
    struct uuid u;
    const char *p = text.p;
    for (size_t i = 0; i < sizeof(u.b); i++) {
        if (uuid_has_dash_before(i) && *p++ != '-')
            return ERR_INVALID;
        int high = hex_digit_value(*p++);
        int low = hex_digit_value(*p++);
        if (high < 0 || low < 0)
            return ERR_INVALID;
        u.b[i] = (uint8_t)(high << 4 | low);
    }
    *ret = u;
    return 0;
}
