/* Fraction, sign and ranges of times; cal has the calendar. The ranges are those of protobuf's Timestamp and
 * Duration. Fails with ERR_INVALID only. */
#include "json/moment.h"

#include <stdio.h>

#include "base/err.h"
#include "cal/civil.h"

#define NANOS_PER_S 1000000000
#define NANO_DIGITS 9
#define MOMENT_S_MIN INT64_C(-62135596800) /* 0001-01-01T00:00:00Z */
#define MOMENT_S_MAX INT64_C(253402300799) /* 9999-12-31T23:59:59Z */
#define SPAN_S_MAX INT64_C(315576000000)
#define STAMP_LEN 19 /* 2026-03-01T09:00:00 */

static void moment_format_fraction(int32_t nanos, char text[16]) {
    if (nanos == 0)
        text[0] = '\0';
    else if (nanos % 1000000 == 0)
        (void)snprintf(text, 16, ".%03d", nanos / 1000000); /* nanos are below 1e9, so all three fit */
    else if (nanos % 1000 == 0)
        (void)snprintf(text, 16, ".%06d", nanos / 1000);
    else
        (void)snprintf(text, 16, ".%09d", nanos);
}

/* Takes an optional fraction from the front of *s, as nanoseconds. */
static bool moment_take_fraction(struct str *s, int32_t *ret_nanos) {
    int32_t v = 0;
    int digits = 0;
    *ret_nanos = 0;
    if (s->n == 0 || s->p[0] != '.')
        return true;
    *s = str_bytes(s->p + 1, s->n - 1);
    for (; s->n && s->p[0] >= '0' && s->p[0] <= '9'; digits++) {
        if (digits == NANO_DIGITS)
            return false;
        v = v * 10 + (s->p[0] - '0');
        *s = str_bytes(s->p + 1, s->n - 1);
    }
    if (digits == 0)
        return false;
    for (; digits < NANO_DIGITS; digits++)
        v *= 10;
    *ret_nanos = v;
    return true;
}

static bool moment_is_valid(int64_t seconds, int32_t nanos) {
    return seconds >= MOMENT_S_MIN && seconds <= MOMENT_S_MAX && nanos >= 0 && nanos < NANOS_PER_S;
}

int moment_format(int64_t seconds, int32_t nanos, char text[MOMENT_TEXT_MAX]) {
    char stamp[CIVIL_TEXT_MAX], fraction[16];
    if (!moment_is_valid(seconds, nanos))
        return ERR_INVALID;
    civil_format(seconds, "", stamp);
    moment_format_fraction(nanos, fraction);
    (void)snprintf(text, MOMENT_TEXT_MAX, "%s%sZ", stamp, fraction); /* 30 characters at most */
    return 0;
}

/* civil_parse() accepts more forms than RFC 3339 and no fractions. So the form is checked here, and the
 * fraction is removed first. */
int moment_read(struct str text, int64_t *ret_seconds, int32_t *ret_nanos) {
    char whole[CIVIL_TEXT_MAX];
    struct civil_stamp stamp;
    size_t mistake;
    int32_t nanos;
    if (text.n <= STAMP_LEN || text.p[4] != '-' || text.p[10] != 'T' || text.p[16] != ':')
        return ERR_INVALID;
    struct str rest = str_bytes(text.p + STAMP_LEN, text.n - STAMP_LEN);
    if (!moment_take_fraction(&rest, &nanos) || rest.n > CIVIL_TEXT_MAX - STAMP_LEN)
        return ERR_INVALID;
    bool has_offset = str_is(rest, "Z") || (rest.n == 6 && rest.p[3] == ':');
    if (!has_offset)
        return ERR_INVALID;
    memcpy(whole, text.p, STAMP_LEN);
    memcpy(whole + STAMP_LEN, rest.p, rest.n);
    if (civil_parse(str_bytes(whole, STAMP_LEN + rest.n), &stamp, &mistake) < 0)
        return ERR_INVALID;
    int64_t seconds = stamp.local_s - stamp.offset_s;
    if (!stamp.has_time || !stamp.has_offset || !moment_is_valid(seconds, nanos))
        return ERR_INVALID;
    *ret_seconds = seconds;
    *ret_nanos = nanos;
    return 0;
}

static bool span_is_valid(int64_t seconds, int32_t nanos) {
    return seconds >= -SPAN_S_MAX && seconds <= SPAN_S_MAX && nanos > -NANOS_PER_S && nanos < NANOS_PER_S &&
           !(seconds < 0 && nanos > 0) && !(seconds > 0 && nanos < 0);
}

int span_format(int64_t seconds, int32_t nanos, char text[MOMENT_TEXT_MAX]) {
    char fraction[16];
    if (!span_is_valid(seconds, nanos))
        return ERR_INVALID;
    bool is_negative = seconds < 0 || nanos < 0;
    moment_format_fraction(is_negative ? -nanos : nanos, fraction);
    (void)snprintf(text, MOMENT_TEXT_MAX, "%s%lld%ss", is_negative ? "-" : "",
                   (long long)(is_negative ? -seconds : seconds), fraction); /* 24 characters at most */
    return 0;
}

int span_read(struct str text, int64_t *ret_seconds, int32_t *ret_nanos) {
    int64_t seconds = 0;
    int32_t nanos;
    bool is_negative = text.n && text.p[0] == '-';
    if (is_negative)
        text = str_bytes(text.p + 1, text.n - 1);
    if (text.n == 0 || text.p[0] < '0' || text.p[0] > '9')
        return ERR_INVALID;
    for (; text.n && text.p[0] >= '0' && text.p[0] <= '9'; text = str_bytes(text.p + 1, text.n - 1)) {
        seconds = seconds * 10 + (text.p[0] - '0');
        if (seconds > SPAN_S_MAX)
            return ERR_INVALID;
    }
    if (!moment_take_fraction(&text, &nanos) || !str_is(text, "s") || !span_is_valid(seconds, nanos))
        return ERR_INVALID;
    *ret_seconds = is_negative ? -seconds : seconds;
    *ret_nanos = is_negative ? -nanos : nanos;
    return 0;
}
