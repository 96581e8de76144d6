/* Parses durations. Fails with ERR_INVALID for other text and for more than 292 years. */
#include "cal/duration.h"

#include "base/clock.h"
#include "base/err.h"
#include "cal/word.h"

#define US_MAX (INT64_MAX / 1000) /* 64 bits of nanoseconds, as in other implementations */
#define ISO_NUMBER_MAX 1000000000

struct duration_unit {
    const char *name;
    int64_t ns;
};

/* A name comes before the names that it begins with. */
static const struct duration_unit units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xC2\xB5s", 1000}, /* both micro signs */
    {"\xCE\xBCs", 1000},
    {"ms", 1000000},
    {"s", INT64_C(1000000000)},
    {"m", INT64_C(60000000000)},
    {"h", INT64_C(3600000000000)},
    {"d", INT64_C(86400000000000)},
};

static const struct duration_unit *duration_cut_unit(struct str *rest) {
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_starts(*rest, str_of(units[i].name))) {
            *rest = word_from(*rest, strlen(units[i].name));
            return &units[i];
        }
    }
    return NULL;
}

/* Takes a number with decimals and its unit. False when there is none. */
static bool duration_cut_amount(struct str *rest, __int128 *ret_ns) {
    __int128 whole = 0, fraction = 0, scale = 1;
    size_t digits = 0;
    bool in_fraction = false;
    for (; rest->n > 0 && (word_is_digit(rest->p[0]) || (rest->p[0] == '.' && !in_fraction));
         *rest = word_from(*rest, 1)) {
        if (rest->p[0] == '.') {
            in_fraction = true;
            continue;
        }
        digits++;
        if (!in_fraction)
            whole = MIN(whole * 10 + (rest->p[0] - '0'), (__int128)INT64_MAX);
        else if (scale < ISO_NUMBER_MAX) {
            fraction = fraction * 10 + (rest->p[0] - '0');
            scale *= 10;
        }
    }
    const struct duration_unit *unit = duration_cut_unit(rest);
    if (digits == 0 || !unit)
        return false;
    *ret_ns = whole * unit->ns + fraction * unit->ns / scale;
    return true;
}

int duration_parse_units(struct str text, int64_t *ret_us) {
    bool is_negative = text.n > 0 && text.p[0] == '-';
    if (text.n > 0 && (is_negative || text.p[0] == '+'))
        text = word_from(text, 1);
    if (str_is(text, "0")) {
        *ret_us = 0;
        return 0;
    }
    __int128 total = 0, part;
    if (text.n == 0)
        return ERR_INVALID;
    while (text.n > 0) {
        if (!duration_cut_amount(&text, &part))
            return ERR_INVALID;
        total += part;
        if (total / 1000 > US_MAX)
            return ERR_INVALID;
    }
    *ret_us = (int64_t)(total / 1000) * (is_negative ? -1 : 1);
    return 0;
}

/* Takes the number before a designator; -1 when there is none. Decimals of seconds become microseconds. */
static int64_t duration_cut_number(struct str *rest, int64_t *ret_fraction_us) {
    int64_t value = 0, scale = USEC_PER_SEC / 10;
    size_t n = 0;
    *ret_fraction_us = 0;
    while (n < rest->n && word_is_digit(rest->p[n]) && value <= ISO_NUMBER_MAX)
        value = value * 10 + (rest->p[n++] - '0');
    if (n == 0 || value > ISO_NUMBER_MAX)
        return -1;
    if (n < rest->n && (rest->p[n] == '.' || rest->p[n] == ',')) {
        size_t point = n++;
        for (; n < rest->n && word_is_digit(rest->p[n]); n++, scale /= 10)
            *ret_fraction_us += (rest->p[n] - '0') * scale;
        if (n == point + 1 || n >= rest->n || rest->p[n] != 'S')
            return -1;
    }
    *rest = word_from(*rest, n);
    return value;
}

/* Designators in their required order; T is between days and hours. */
static const char designators[] = "YMWDTHMS";

static void duration_add_amount(struct duration *d, size_t which, int64_t value, int64_t fraction_us) {
    static const int64_t factors[] = {12, 1, 7, 1, 0, 3600, 60, 1};
    if (which <= 1)
        d->months += value * factors[which];
    else if (which <= 3)
        d->days += value * factors[which];
    else
        d->us += value * factors[which] * USEC_PER_SEC + fraction_us;
}

int duration_parse_iso(struct str text, struct duration *ret) {
    struct duration d = {0};
    size_t next = 0, amounts = 0, in_time = 0;
    bool has_time = false;
    if (text.n < 2 || text.p[0] != 'P')
        return ERR_INVALID;
    for (text = word_from(text, 1); text.n > 0; text = word_from(text, 1)) {
        int64_t fraction_us, value;
        if (text.p[0] == 'T') {
            if (has_time)
                return ERR_INVALID;
            has_time = true;
            next = 5;
            continue;
        }
        value = duration_cut_number(&text, &fraction_us);
        const char *found = value >= 0 && text.n > 0 ? strchr(designators + next, text.p[0]) : NULL;
        if (!found || !*found || (found - designators >= 4) != has_time)
            return ERR_INVALID;
        next = (size_t)(found - designators) + 1;
        duration_add_amount(&d, next - 1, value, fraction_us);
        amounts++;
        in_time += has_time;
    }
    if (amounts == 0 || (has_time && in_time == 0) || d.us > US_MAX)
        return ERR_INVALID;
    *ret = d;
    return 0;
}
