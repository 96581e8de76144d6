/* Numbers from text and back.
 *
 * A whole number is the digits before the point, moved by the exponent; all digits behind must be 0. This
 * uses no floating point, so all 64 bits are exact. Fails with ERR_INVALID. */
#include "json/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "json/reader.h"

#define REAL_TEXT_MAX 512 /* longer than any double needs; longer texts are refused */
#define EXPONENT_MAX 1000 /* larger exponents give 0 or an overflow for all digits */

static bool number_is_valid(struct str text) {
    struct json_reader r;
    struct str read;
    reader_init(&r, text);
    return reader_number(&r, &read) == 0 && read.n == text.n;
}

static int64_t number_read_exponent(struct str text, size_t at) {
    int64_t v = 0;
    bool is_negative = text.p[at] == '-';
    if (text.p[at] == '-' || text.p[at] == '+')
        at++;
    for (; at < text.n; at++)
        v = MIN(v * 10 + (text.p[at] - '0'), EXPONENT_MAX);
    return is_negative ? -v : v;
}

/* The digits of the mantissa, and the position of the point among them. */
struct number_decimal {
    bool is_negative;
    size_t first, end; /* the mantissa in the text, with its point */
    int64_t whole_digits; /* digits before the point, after the exponent has moved it */
};

static struct number_decimal number_read_decimal(struct str text) {
    struct number_decimal d = {.is_negative = text.p[0] == '-'};
    size_t at = d.first = d.is_negative ? 1 : 0;
    while (at < text.n && text.p[at] >= '0' && text.p[at] <= '9')
        at++;
    d.whole_digits = (int64_t)(at - d.first);
    while (at < text.n && text.p[at] != 'e' && text.p[at] != 'E')
        at++;
    d.end = at;
    if (at < text.n)
        d.whole_digits += number_read_exponent(text, at + 1);
    return d;
}

int number_whole(struct str text, bool *ret_is_negative, uint64_t *ret_magnitude) {
    uint64_t v = 0;
    if (!number_is_valid(text))
        return ERR_INVALID;
    struct number_decimal d = number_read_decimal(text);
    int64_t used = 0;
    for (size_t i = d.first; i < d.end; i++) {
        if (text.p[i] == '.')
            continue;
        uint64_t digit = (uint64_t)(text.p[i] - '0');
        if (used++ < d.whole_digits) {
            if (__builtin_mul_overflow(v, UINT64_C(10), &v) || __builtin_add_overflow(v, digit, &v))
                return ERR_INVALID;
        } else if (digit) {
            return ERR_INVALID;
        }
    }
    for (; used < d.whole_digits && v; used++)
        if (__builtin_mul_overflow(v, UINT64_C(10), &v))
            return ERR_INVALID;
    *ret_is_negative = d.is_negative && v;
    *ret_magnitude = v;
    return 0;
}

int number_real(struct str text, double *ret) {
    char copy[REAL_TEXT_MAX];
    if (text.n >= sizeof(copy) || !number_is_valid(text))
        return ERR_INVALID;
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    double v = strtod(copy, NULL);
    if (!isfinite(v))
        return ERR_INVALID;
    *ret = v;
    return 0;
}

void number_format_double(double v, char text[NUMBER_TEXT_MAX]) {
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, v); /* 17 digits and an exponent fit */
        if (strtod(text, NULL) == v)
            return;
    }
}

void number_format_float(float v, char text[NUMBER_TEXT_MAX]) {
    for (int digits = 6; digits <= 9; digits++) {
        (void)snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, (double)v); /* as above */
        if (strtof(text, NULL) == v)
            return;
    }
}
