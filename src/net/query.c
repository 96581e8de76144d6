/* Parameters are split before they are decoded, so that an encoded '&' or '=' is part of its text. */
#include "net/query.h"

static int query_hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int query_decode(struct arena *a, struct str text, bool is_query, struct str *ret, struct err *reterr) {
    char *out = arena_alloc(a, text.n), *to = out;
    if (!out)
        return err_std(reterr, ERR_NO_MEMORY);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            bool is_whole = text.n - i > 2;
            int high = is_whole ? query_hex_value(text.p[i + 1]) : -1;
            int low = is_whole ? query_hex_value(text.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return err_set(reterr, ERR_INVALID, "the URL has a '%%' without two hexadecimal digits");
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        *to++ = c;
    }
    *ret = str_bytes(out, (size_t)(to - out));
    return 0;
}

bool query_next(struct str *query, struct str *ret_name, struct str *ret_value) {
    while (query->n > 0) {
        const char *end = memchr(query->p, '&', query->n);
        struct str part = str_bytes(query->p, end ? (size_t)(end - query->p) : query->n);
        size_t used = part.n + (end ? 1 : 0);
        *query = str_bytes(query->p + used, query->n - used);
        if (part.n == 0)
            continue;
        const char *equals = memchr(part.p, '=', part.n);
        *ret_name = str_bytes(part.p, equals ? (size_t)(equals - part.p) : part.n);
        *ret_value = equals ? str_bytes(equals + 1, part.n - ret_name->n - 1) : STR("");
        return true;
    }
    return false;
}

bool query_has(struct str query, const char *name) {
    struct str given, value;
    while (query_next(&query, &given, &value))
        if (str_is(given, name))
            return true;
    return false;
}
