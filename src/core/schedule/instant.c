/* Reading times and durations. All of the text must be read, or it is invalid; arithmetic that does not
 * fit saturates for times (which people write as "beginning" and "end") and is refused for durations. */
#include "core/schedule/instant.h"

#include "base/err.h"

#define SECONDS_PER_DAY 86400

static bool take_digits(struct str *s, size_t count, int64_t *ret) {
    int64_t v = 0;
    if (s->n < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *ret = v;
    *s = str_bytes(s->p + count, s->n - count);
    return true;
}

static bool take_char(struct str *s, char c) {
    if (s->n == 0 || *s->p != c)
        return false;
    *s = str_bytes(s->p + 1, s->n - 1);
    return true;
}

/* ".25": nanoseconds; digits beyond them are cut. */
static bool instant_take_fraction(struct str *s, int64_t *ret_ns) {
    int64_t scale = NSEC_PER_SEC, digit;
    *ret_ns = 0;
    if (!take_char(s, '.'))
        return true;
    if (s->n == 0 || *s->p < '0' || *s->p > '9')
        return false;
    while (take_digits(s, 1, &digit)) {
        scale /= 10;
        *ret_ns += digit * scale;
    }
    return true;
}

/* times */

static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int64_t days_in(int64_t year, int64_t month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && is_leap);
}

/* Seconds east of UTC. */
static bool take_zone(struct str *s, int64_t *ret) {
    int64_t hours, minutes;
    *ret = 0;
    if (take_char(s, 'Z') || take_char(s, 'z'))
        return true;
    bool is_west = s->n && *s->p == '-';
    if (!take_char(s, '+') && !take_char(s, '-'))
        return false;
    if (!take_digits(s, 2, &hours) || !take_char(s, ':') || !take_digits(s, 2, &minutes) || hours > 23 ||
        minutes > 59)
        return false;
    *ret = (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
    return true;
}

static bool take_date(struct str *s, int64_t *ret_days) {
    int64_t year, month, day;
    if (!take_digits(s, 4, &year) || !take_char(s, '-') || !take_digits(s, 2, &month) || !take_char(s, '-') ||
        !take_digits(s, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in(year, month))
        return false;
    *ret_days = days_of(year, month, day);
    return true;
}

static bool take_clock(struct str *s, int64_t *ret_seconds) {
    int64_t hour, minute, second;
    if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute) ||
        !take_char(s, ':') || !take_digits(s, 2, &second))
        return false;
    *ret_seconds = hour * 3600 + minute * 60 + second;
    return hour <= 23 && minute <= 59 && second <= 60;
}

int instant_parse(struct str s, int64_t *ret_ns) {
    int64_t days, clock, fraction, zone, ns;
    if (!take_date(&s, &days) || !(take_char(&s, 'T') || take_char(&s, 't') || take_char(&s, ' ')))
        return ERR_INVALID;
    if (!take_clock(&s, &clock) || !instant_take_fraction(&s, &fraction) || !take_zone(&s, &zone) || s.n)
        return ERR_INVALID;
    int64_t seconds = days * SECONDS_PER_DAY + clock - zone;
    if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, &ns) || __builtin_add_overflow(ns, fraction, &ns))
        ns = seconds < 0 ? INT64_MIN : INT64_MAX;
    *ret_ns = ns;
    return 0;
}

/* durations */

static bool span_take_unit(struct str *s, int64_t *ret_ns) {
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ns", 1},       {"us", 1000},        {"\xc2\xb5s", 1000},      {"\xce\xbcs", 1000},
                 {"ms", 1000000}, {"s", NSEC_PER_SEC}, {"m", 60 * NSEC_PER_SEC}, {"h", 3600 * NSEC_PER_SEC}};
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        struct str name = str_of(units[i].name);
        if (str_starts(*s, name)) {
            *ret_ns = units[i].ns;
            *s = str_bytes(s->p + name.n, s->n - name.n);
            return true;
        }
    }
    return false;
}

/* "90", up to what fits. */
static bool take_whole(struct str *s, int64_t *ret) {
    int64_t digit, v = 0;
    size_t count = 0;
    while (take_digits(s, 1, &digit)) {
        if (__builtin_mul_overflow(v, INT64_C(10), &v) || __builtin_add_overflow(v, digit, &v))
            return false;
        count++;
    }
    *ret = v;
    return count > 0;
}

/* One number and its unit; there is something to read. */
static bool take_part(struct str *s, int64_t *ret_ns) {
    int64_t whole = 0, fraction, unit;
    bool has_whole = *s->p != '.';
    if ((has_whole && !take_whole(s, &whole)) || !instant_take_fraction(s, &fraction) ||
        !span_take_unit(s, &unit))
        return false;
    int64_t part = (int64_t)((__int128)fraction * unit / NSEC_PER_SEC);
    return !__builtin_mul_overflow(whole, unit, &whole) && !__builtin_add_overflow(whole, part, ret_ns);
}

static bool parse_colons(struct str s, int64_t *ret_ns) {
    int64_t hours, minutes, seconds, fraction;
    if (!take_whole(&s, &hours) || !take_char(&s, ':') || !take_digits(&s, 2, &minutes) ||
        !take_char(&s, ':') || !take_digits(&s, 2, &seconds) || !instant_take_fraction(&s, &fraction) || s.n)
        return false;
    if (minutes > 59 || seconds > 59 || __builtin_mul_overflow(hours, INT64_C(3600), &hours) ||
        __builtin_add_overflow(hours, minutes * 60 + seconds, &seconds))
        return false;
    return !__builtin_mul_overflow(seconds, NSEC_PER_SEC, &seconds) &&
           !__builtin_add_overflow(seconds, fraction, ret_ns);
}

int span_parse(struct str s, int64_t *ret_ns) {
    int64_t total = 0, part;
    if (parse_colons(s, ret_ns))
        return 0;
    bool is_negative = take_char(&s, '-');
    if (!is_negative)
        (void)take_char(&s, '+'); /* allowed, and says nothing */
    if (s.n == 0)
        return ERR_INVALID;
    if (str_is(s, "0")) {
        *ret_ns = 0;
        return 0;
    }
    while (s.n)
        if (!take_part(&s, &part) || __builtin_add_overflow(total, part, &total))
            return ERR_INVALID;
    *ret_ns = is_negative ? -total : total;
    return 0;
}
