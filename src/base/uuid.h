/* UUIDs: 16 bytes as keys, 36 characters as text. */
#pragma once

#include "base/base.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/str.h"

#define UUID_TEXT_LEN 36

struct uuid {
    uint8_t b[16];
};
struct uuid_text {
    char s[UUID_TEXT_LEN + 1];
};

struct uuid uuid_random(struct rng *r); /* version 4 */
/* Version 7: begins with the time, so that UUIDs made at about the same time are neighbours on disk. Times
 * before 1970 count as 1970. */
struct uuid uuid_timed(struct rng *r, struct wall now);
struct uuid_text uuid_format(struct uuid u); /* lower case, NUL-terminated */
int uuid_parse(struct str text, struct uuid *ret) must_check; /* ERR_INVALID; accepts either case */
static inline bool uuid_eq(struct uuid a, struct uuid b) {
    return memcmp(a.b, b.b, 16) == 0;
}
static inline bool uuid_is_zero(struct uuid a) {
    return uuid_eq(a, (struct uuid){{0}});
}
