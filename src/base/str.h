/* A slice of bytes. The owner of the bytes must keep them while the slice is used. Not NUL-terminated. */
#pragma once

#include <string.h>

#include "base/base.h"

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_of(const char *cstr) {
    return (struct str){cstr, cstr ? strlen(cstr) : 0};
}
static inline struct str str_bytes(const void *p, size_t n) {
    return (struct str){p, n};
}
static inline bool str_eq(struct str a, struct str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(struct str a, const char *cstr) { /* compares the whole slice */
    return str_eq(a, str_of(cstr));
}
static inline bool str_starts(struct str a, struct str prefix) {
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.p, prefix.p, prefix.n) == 0);
}

/* C strings, as protobuf-c has them. cstr_eq(NULL, x) is true only when x is NULL, too. */
static inline bool cstr_eq(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}
static inline bool cstr_is_empty(const char *s) {
    return !s || !*s;
}

/* All of s as a decimal number with an optional minus sign. ERR_INVALID for other text and on overflow. */
int str_to_i64(struct str s, int64_t *ret) must_check;

/* Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms). */
bool utf8_valid(struct str s);
/* Bytes of the well-formed character that s begins with; 0 when it does not begin with one. */
size_t utf8_char_len(struct str s);
/* Removes the bytes that are not UTF-8, in place: the rest of a cut character, or bytes from outside. Clients
 * refuse a whole response that contains one. */
void utf8_mend(char *text);
