/* Values of gRPC headers: grpc-timeout, grpc-accept-encoding, grpc-message and -bin headers.
 *
 * Formatting fails only when the arena is exhausted. Parsing fails with ERR_INVALID for text outside of the
 * grammar of the gRPC protocol. */
#include <inttypes.h>
#include <stdio.h>

#include "base/hex.h"
#include "wire/grpc.h"

#define TIMEOUT_DIGITS_MAX 8
#define TIMEOUT_AMOUNT_MAX INT64_C(99999999)

int grpc_timeout_parse(struct str value, int64_t *ret_us) {
    int64_t amount = 0;

    if (value.n < 2 || value.n > TIMEOUT_DIGITS_MAX + 1)
        return ERR_INVALID;
    for (size_t i = 0; i < value.n - 1; i++) {
        if (value.p[i] < '0' || value.p[i] > '9')
            return ERR_INVALID;
        amount = amount * 10 + (value.p[i] - '0');
    }
    switch (value.p[value.n - 1]) {
    case 'H':
        *ret_us = amount * 3600 * USEC_PER_SEC;
        return 0;
    case 'M':
        *ret_us = amount * 60 * USEC_PER_SEC;
        return 0;
    case 'S':
        *ret_us = amount * USEC_PER_SEC;
        return 0;
    case 'm':
        *ret_us = amount * USEC_PER_MS;
        return 0;
    case 'u':
        *ret_us = amount;
        return 0;
    case 'n':
        *ret_us = (amount + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
        return 0;
    default:
        return ERR_INVALID;
    }
}

size_t grpc_timeout_format(int64_t us, char text[GRPC_TIMEOUT_MAX]) {
    static const struct {
        int64_t us;
        char unit;
    } units[] = {{1, 'u'},
                 {USEC_PER_MS, 'm'},
                 {USEC_PER_SEC, 'S'},
                 {60 * USEC_PER_SEC, 'M'},
                 {3600 * USEC_PER_SEC, 'H'}};
    size_t i = 0;
    int64_t amount = MAX(us, 0);
    while (amount > TIMEOUT_AMOUNT_MAX && ++i < ARRAY_LEN(units))
        amount = us / units[i].us + (us % units[i].us != 0);
    bool is_beyond = i == ARRAY_LEN(units);
    int n = snprintf(text, GRPC_TIMEOUT_MAX, "%" PRId64 "%c", is_beyond ? TIMEOUT_AMOUNT_MAX : amount,
                     is_beyond ? 'H' : units[i].unit);
    return (size_t)n;
}

static struct str grpc_trim_space(struct str s) {
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool grpc_accepts_gzip(struct str accept_encoding) {
    while (accept_encoding.n > 0) {
        const char *comma = memchr(accept_encoding.p, ',', accept_encoding.n);
        size_t n = comma ? (size_t)(comma - accept_encoding.p) : accept_encoding.n;
        if (str_is(grpc_trim_space((struct str){accept_encoding.p, n}), "gzip"))
            return true;
        n += comma != NULL;
        accept_encoding = (struct str){accept_encoding.p + n, accept_encoding.n - n};
    }
    return false;
}

char *grpc_message_encode(struct arena *a, const char *text) {
    struct str s = str_of(text);
    char *out = arena_alloc(a, s.n * 3 + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = (uint8_t)s.p[i];
        if (c >= ' ' && c <= '~' && c != '%') {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex_digit_upper(c >> 4);
        out[n++] = hex_digit_upper(c);
    }
    out[n] = 0;
    return out;
}

char *grpc_message_decode(struct arena *a, struct str text) {
    char *out = arena_alloc(a, text.n + 1);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? hex_digit_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? hex_digit_value(text.p[i + 2]) : -1;
        out[n++] = low >= 0 ? (char)(high << 4 | low) : text.p[i];
        i += low >= 0 ? 2 : 0;
    }
    out[n] = 0;
    return out;
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *grpc_bin_encode(struct arena *a, struct str bytes) {
    char *out = arena_alloc(a, bytes.n / 3 * 4 + 4);
    size_t n = 0;

    if (!out)
        return NULL;
    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t group = MIN(bytes.n - i, 3u);
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < group ? (uint8_t)bytes.p[i + k] : 0);
        for (size_t k = 0; k <= group; k++)
            out[n++] = base64_digits[bits >> (18 - 6 * k) & 63];
    }
    out[n] = 0;
    return out;
}

int grpc_bin_decode(struct arena *a, struct str text, struct str *ret) {
    while (text.n > 0 && text.p[text.n - 1] == '=')
        text.n--;
    uint8_t *out = arena_alloc(a, text.n / 4 * 3 + 3);
    uint32_t bits = 0;
    size_t n = 0;

    if (!out)
        return ERR_NO_MEMORY;
    if (text.n % 4 == 1)
        return ERR_INVALID;
    for (size_t i = 0; i < text.n; i++) {
        const char *digit = text.p[i] ? strchr(base64_digits, text.p[i]) : NULL;
        if (!digit)
            return ERR_INVALID;
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        if (i % 4 > 0) /* each digit but the first of four completes a byte */
            out[n++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    *ret = str_bytes(out, n);
    return 0;
}
