/* Reads numbers and characters from slices. Nothing is kept; only utf8_mend() modifies its argument. */
#include "base/str.h"

#include "base/err.h"

int str_to_i64(struct str s, int64_t *ret) {
    bool negative = s.n > 0 && s.p[0] == '-';
    size_t i = negative ? 1 : 0;
    if (i == s.n)
        return ERR_INVALID;
    int64_t value = 0;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return ERR_INVALID;
        int digit = s.p[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return ERR_INVALID;
    }
    *ret = value;
    return 0;
}

static bool utf8_is_continuation(uint8_t byte) {
    return (byte & 0xC0) == 0x80;
}

/* The length of a character with this first byte; 0 when no character begins with it. */
static size_t utf8_expected_len(uint8_t first) {
    if (first < 0x80)
        return 1;
    if (first >= 0xC2 && first <= 0xDF)
        return 2;
    if ((first & 0xF0) == 0xE0)
        return 3;
    if (first >= 0xF0 && first <= 0xF4)
        return 4;
    return 0;
}

/* Some first bytes restrict the second: this excludes overlong forms, surrogates and values past U+10FFFF. */
static bool utf8_second_fits(uint8_t first, uint8_t second) {
    switch (first) {
    case 0xE0:
        return second >= 0xA0;
    case 0xED:
        return second <= 0x9F;
    case 0xF0:
        return second >= 0x90;
    case 0xF4:
        return second <= 0x8F;
    default:
        return true;
    }
}

size_t utf8_char_len(struct str s) {
    if (s.n == 0)
        return 0;
    const uint8_t *p = (const uint8_t *)s.p;
    size_t len = utf8_expected_len(p[0]);
    if (len > s.n)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (!utf8_is_continuation(p[i]))
            return 0;
    }
    if (len > 1 && !utf8_second_fits(p[0], p[1]))
        return 0;
    return len;
}

bool utf8_valid(struct str s) {
    size_t i = 0;
    while (i < s.n) {
        size_t len = utf8_char_len(str_bytes(s.p + i, s.n - i));
        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

void utf8_mend(char *text) {
    char *to = text;
    for (struct str rest = str_of(text); rest.n;) {
        size_t len = utf8_char_len(rest), taken = len ? len : 1;
        if (len && to != rest.p)
            memmove(to, rest.p, len);
        to += len;
        rest = str_bytes(rest.p + taken, rest.n - taken);
    }
    *to = '\0';
}
