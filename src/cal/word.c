/* Splits texts. Nothing is copied; only word_int() can fail. */
#include "cal/word.h"

#include "base/err.h"

struct str word_cut(struct str *rest, char separator, bool *ret_found) {
    struct str s = *rest;
    const char *at = s.n ? memchr(s.p, separator, s.n) : NULL;
    *ret_found = at != NULL;
    size_t n = at ? (size_t)(at - s.p) : s.n;
    *rest = word_from(s, at ? n + 1 : n);
    return (struct str){s.p, n};
}

struct str word_next(struct str *rest) {
    struct str s = *rest;
    while (s.n > 0 && word_is_space(s.p[0]))
        s = word_from(s, 1);
    size_t n = 0;
    while (n < s.n && !word_is_space(s.p[n]))
        n++;
    *rest = word_from(s, n);
    return (struct str){s.p, n};
}

bool word_same(struct str a, const char *lower) {
    size_t n = strlen(lower);
    for (size_t i = 0; i < a.n && i < n; i++)
        if (word_lower(a.p[i]) != lower[i])
            return false;
    return a.n == n;
}

size_t word_count_char(struct str s, char c) {
    size_t count = 0;
    for (size_t i = 0; i < s.n; i++)
        count += s.p[i] == c;
    return count;
}

int word_int(struct str s, int64_t *ret) {
    if (s.n > 0 && s.p[0] == '+')
        s = word_from(s, 1);
    return s.n > 0 && word_is_digit(s.p[0]) ? str_to_i64(s, ret) : ERR_INVALID;
}
