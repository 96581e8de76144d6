/* Splits texts into slices. A slice points into its text, so that the column of a mistake can be computed. */
#pragma once

#include "base/base.h"
#include "base/str.h"

static inline bool word_is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline bool word_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline char word_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline struct str word_trim(struct str s) {
    while (s.n > 0 && word_is_space(s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n > 0 && word_is_space(s.p[s.n - 1]))
        s.n--;
    return s;
}

static inline struct str word_from(struct str s, size_t at) {
    return (struct str){s.p + at, s.n - at};
}

/* Cuts *rest at the first separator: returns the part before it and leaves the part behind it in *rest.
 * Without a separator it returns everything, *rest becomes empty and *ret_found false. */
struct str word_cut(struct str *rest, char separator, bool *ret_found);
/* Takes the next word up to white space; empty at the end. */
struct str word_next(struct str *rest);
/* Whether both are equal without regard to case. `lower` must be in lower case. */
bool word_same(struct str a, const char *lower);
size_t word_count_char(struct str s, char c);
/* A whole number with an optional plus sign. ERR_INVALID for other text. */
int word_int(struct str s, int64_t *ret) must_check;
