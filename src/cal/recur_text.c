/* Parses iCalendar recurrences (RFC 5545): the properties DTSTART, RRULE, RDATE and EXDATE.
 *
 * Each part of the rule becomes bits or a short list. Fails with ERR_INVALID and a mistake that names the
 * part, and with ERR_NO_MEMORY. */
#include <limits.h>

#include "base/err.h"
#include "cal/recur.h"
#include "cal/word.h"

struct recur_part {
    struct arena *arena;
    struct mistakes *mistakes;
    struct recur *recur;
    struct str name, value;
};

static const char *const freq_names[RECUR_FREQ_COUNT] = {"SECONDLY", "MINUTELY", "HOURLY", "DAILY",
                                                         "WEEKLY",   "MONTHLY",  "YEARLY"};
static const char *const day_codes[] = {"SU", "MO", "TU", "WE", "TH", "FR", "SA"};

static int recur_part_refuse(const struct recur_part *p, struct str place, const char *what) {
    return mistakes_add(p->mistakes, place, "%.*s %s", (int)MIN(p->name.n, 20), p->name.p, what);
}

/* A signed whole number. */
static int recur_part_number(const struct recur_part *p, struct str word, int64_t min, int64_t max,
                             int64_t *ret) {
    bool is_negative = word.n > 0 && word.p[0] == '-';
    int64_t value;
    if (word_int(is_negative ? word_from(word, 1) : word, &value) < 0)
        return recur_part_refuse(p, word, "is not a number");
    value = is_negative ? -value : value;
    if (value < min || value > max || (min < 0 && value == 0))
        return recur_part_refuse(p, word, "is out of range");
    *ret = value;
    return 0;
}

static int recur_weekday_of_code(struct str word) {
    for (int i = 0; i < (int)ARRAY_LEN(day_codes); i++)
        if (str_is(word, day_codes[i]))
            return i;
    return -1;
}

static int recur_parse_freq(struct recur_part *p) {
    for (int i = 0; i < RECUR_FREQ_COUNT; i++) {
        if (str_is(p->value, freq_names[i])) {
            p->recur->freq = (enum recur_freq)i;
            p->recur->has_freq = true;
            return 0;
        }
    }
    return recur_part_refuse(p, p->value,
                             "is none of SECONDLY, MINUTELY, HOURLY, DAILY, WEEKLY, MONTHLY, YEARLY");
}

static int recur_parse_interval(struct recur_part *p) {
    return recur_part_number(p, p->value, 1, RECUR_EVERY_MAX, &p->recur->every);
}

static int recur_parse_count(struct recur_part *p) {
    return recur_part_number(p, p->value, 1, RECUR_COUNT_MAX, &p->recur->count);
}

static int recur_parse_stamp(struct recur_part *p, struct str word, struct civil_stamp *ret) {
    size_t at = 0;
    if (civil_parse(word, ret, &at) < 0)
        return recur_part_refuse(p, word_from(word, at), "is not a time like 20260105T090000");
    return 0;
}

static int recur_parse_until(struct recur_part *p) {
    p->recur->has_until = true;
    return recur_parse_stamp(p, p->value, &p->recur->until);
}

static int recur_parse_wkst(struct recur_part *p) {
    int day = recur_weekday_of_code(p->value);
    if (day < 0)
        return recur_part_refuse(p, p->value, "is none of SU, MO, TU, WE, TH, FR, SA");
    p->recur->week_start = (uint8_t)day;
    return 0;
}

/* A list of numbers from min to max as bits. Negative numbers go to `back`; NULL refuses them. */
static int recur_parse_bits(struct recur_part *p, int64_t min, int64_t max, uint64_t *bits, uint64_t *back) {
    struct str rest = p->value;
    for (bool more = true; more;) {
        int64_t v = 0;
        int e = recur_part_number(p, word_cut(&rest, ',', &more), back ? -max : min, max, &v);
        if (e < 0)
            return e;
        uint64_t *to = v < 0 ? back : bits;
        v = v < 0 ? -v : v;
        to[v / 64] |= UINT64_C(1) << v % 64;
    }
    return 0;
}

static int recur_parse_bysecond(struct recur_part *p) {
    return recur_parse_bits(p, 0, 59, &p->recur->seconds, NULL); /* no 60: POSIX time has no leap seconds */
}

static int recur_parse_byminute(struct recur_part *p) {
    return recur_parse_bits(p, 0, 59, &p->recur->minutes, NULL);
}

static int recur_parse_byhour(struct recur_part *p) {
    uint64_t bits = 0;
    int e = recur_parse_bits(p, 0, 23, &bits, NULL);
    p->recur->hours = (uint32_t)bits;
    return e;
}

static int recur_parse_bymonth(struct recur_part *p) {
    uint64_t bits = 0;
    int e = recur_parse_bits(p, 1, 12, &bits, NULL);
    p->recur->months = (uint16_t)bits;
    return e;
}

static int recur_parse_bymonthday(struct recur_part *p) {
    uint64_t bits = 0, back = 0;
    int e = recur_parse_bits(p, 1, 31, &bits, &back);
    p->recur->days = (uint32_t)bits;
    p->recur->days_back = (uint32_t)back;
    return e;
}

static int recur_parse_byyearday(struct recur_part *p) {
    p->recur->has_year_days = true;
    return recur_parse_bits(p, 1, 366, p->recur->year_days, p->recur->year_days_back);
}

static int recur_parse_byweekno(struct recur_part *p) {
    return recur_parse_bits(p, 1, 53, &p->recur->weeks, &p->recur->weeks_back);
}

static int recur_parse_byday(struct recur_part *p) {
    struct recur *r = p->recur;
    struct str rest = p->value;
    r->weekday_nth = arena_array(p->arena, struct rule_yearday, word_count_char(rest, ',') + 1);
    if (!r->weekday_nth)
        return ERR_NO_MEMORY;
    for (bool more = true; more;) {
        struct str word = word_cut(&rest, ',', &more);
        int day = word.n >= 2 ? recur_weekday_of_code(word_from(word, word.n - 2)) : -1;
        int64_t nth = 0;
        if (day < 0)
            return recur_part_refuse(p, word, "has a day that is not like MO or 2FR");
        if (word.n == 2) {
            r->weekdays |= (uint8_t)(1 << day);
            continue;
        }
        int e = recur_part_number(p, (struct str){word.p, word.n - 2}, -53, 53, &nth);
        if (e < 0)
            return e;
        r->weekday_nth[r->weekday_nth_count++] = (struct rule_yearday){(int16_t)nth, (uint8_t)day};
    }
    return 0;
}

static int recur_parse_bysetpos(struct recur_part *p) {
    struct recur *r = p->recur;
    struct str rest = p->value;
    for (bool more = true; more;) {
        int64_t v = 0;
        struct str word = word_cut(&rest, ',', &more);
        if (r->position_count == RECUR_POSITIONS_MAX)
            return recur_part_refuse(p, word, "has too many positions");
        int e = recur_part_number(p, word, -INT16_MAX, INT16_MAX, &v);
        if (e < 0)
            return e;
        r->positions[r->position_count++] = (int16_t)v;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*parse)(struct recur_part *p);
} rule_parts[] = {
    {"FREQ", recur_parse_freq},           {"INTERVAL", recur_parse_interval},
    {"COUNT", recur_parse_count},         {"UNTIL", recur_parse_until},
    {"WKST", recur_parse_wkst},           {"BYSECOND", recur_parse_bysecond},
    {"BYMINUTE", recur_parse_byminute},   {"BYHOUR", recur_parse_byhour},
    {"BYDAY", recur_parse_byday},         {"BYMONTHDAY", recur_parse_bymonthday},
    {"BYYEARDAY", recur_parse_byyearday}, {"BYWEEKNO", recur_parse_byweekno},
    {"BYMONTH", recur_parse_bymonth},     {"BYSETPOS", recur_parse_bysetpos},
};

static int recur_parse_rule_part(struct recur_part *p, uint32_t *seen) {
    for (size_t i = 0; i < ARRAY_LEN(rule_parts); i++) {
        if (!str_is(p->name, rule_parts[i].name))
            continue;
        if (*seen >> i & 1)
            return recur_part_refuse(p, p->name, "is there twice");
        *seen |= UINT32_C(1) << i;
        return rule_parts[i].parse(p);
    }
    return mistakes_add(p->mistakes, p->name, "RRULE has a part that is not known");
}

static int recur_check_rule(const struct recur_part *p) {
    const struct recur *r = p->recur;
    if (!r->has_freq)
        return mistakes_add(p->mistakes, p->value, "RRULE has no FREQ");
    if (r->has_until && r->count > 0)
        return mistakes_add(p->mistakes, p->value, "RRULE has both COUNT and UNTIL");
    if (r->weekday_nth_count > 0 && r->freq != RECUR_MONTHLY && r->freq != RECUR_YEARLY)
        return mistakes_add(p->mistakes, p->value,
                            "BYDAY may count days only when FREQ is MONTHLY or YEARLY");
    if ((r->weeks || r->weeks_back) && r->freq != RECUR_YEARLY)
        return mistakes_add(p->mistakes, p->value, "BYWEEKNO is only for FREQ=YEARLY");
    if (r->has_year_days && r->freq >= RECUR_DAILY && r->freq <= RECUR_MONTHLY)
        return mistakes_add(p->mistakes, p->value, "BYYEARDAY is not for FREQ=DAILY, WEEKLY or MONTHLY");
    if ((r->days || r->days_back) && r->freq == RECUR_WEEKLY)
        return mistakes_add(p->mistakes, p->value, "BYMONTHDAY is not for FREQ=WEEKLY");
    return 0;
}

static int recur_parse_rrule(struct recur_part *p) {
    struct recur_part inner = *p;
    struct str rest = p->value;
    uint32_t seen = 0;
    for (bool more = true; more;) {
        struct str word = word_cut(&rest, ';', &more);
        bool has_value;
        inner.value = word;
        inner.name = word_cut(&inner.value, '=', &has_value);
        if (!has_value || inner.value.n == 0)
            return mistakes_add(p->mistakes, word, "RRULE has a part without a value");
        int e = recur_parse_rule_part(&inner, &seen);
        if (e < 0)
            return e;
    }
    return recur_check_rule(p);
}

static int recur_parse_dates(struct recur_part *p, struct recur_dates *dates) {
    struct str rest = p->value;
    size_t count = dates->n + word_count_char(rest, ',') + 1;
    if (count > RECUR_DATES_MAX)
        return recur_part_refuse(p, p->value, "has too many dates");
    struct civil_stamp *v = arena_array(p->arena, struct civil_stamp, count);
    if (!v)
        return ERR_NO_MEMORY;
    if (dates->n > 0)
        memcpy(v, dates->v, dates->n * sizeof(*v));
    dates->v = v;
    for (bool more = true; more;) {
        int e = recur_parse_stamp(p, word_cut(&rest, ',', &more), &v[dates->n]);
        if (e < 0)
            return e;
        dates->n++;
    }
    return 0;
}

/* The parameters of a property. All TZIDs must be the same. */
static int recur_parse_parameters(struct recur_part *p, struct str parameters) {
    for (bool more = parameters.n > 0; more;) {
        struct str word = word_cut(&parameters, ';', &more);
        bool has_value;
        struct str value = word;
        struct str key = word_cut(&value, '=', &has_value);
        if (str_is(key, "VALUE") && (str_is(value, "DATE") || str_is(value, "DATE-TIME")))
            continue;
        if (!str_is(key, "TZID") || value.n == 0)
            return recur_part_refuse(p, word, "has a parameter that is neither TZID nor VALUE");
        if (p->recur->zone.n > 0 && !str_eq(p->recur->zone, value))
            return recur_part_refuse(p, word, "names another time zone than before");
        p->recur->zone = value;
    }
    return 0;
}

static int recur_parse_dtstart(struct recur_part *p) {
    struct recur *r = p->recur;
    if (r->has_start)
        return recur_part_refuse(p, p->name, "is there twice");
    r->has_start = true;
    int e = recur_parse_stamp(p, p->value, &r->start);
    if (e < 0)
        return e;
    if (r->start.has_offset && r->start.offset_s != 0)
        return recur_part_refuse(p, p->value, "has an offset: write local time and TZID, or UTC with Z");
    if (r->start.has_offset && r->zone.n > 0 && !str_is(r->zone, "UTC"))
        return recur_part_refuse(p, p->value, "is in UTC, but a TZID is given");
    if (r->start.has_offset)
        r->zone = STR("UTC");
    return 0;
}

static int recur_parse_property(struct recur_part *p, struct str line) {
    bool has_value, has_parameters;
    p->value = line;
    struct str head = word_cut(&p->value, ':', &has_value);
    struct str parameters = head;
    p->name = word_cut(&parameters, ';', &has_parameters);
    if (!has_value && str_starts(line, STR("FREQ="))) { /* a rule without its name */
        p->name = STR("RRULE");
        p->value = line;
    } else if (!has_value || p->value.n == 0)
        return mistakes_add(p->mistakes, line, "a property without a value");
    if (str_is(p->name, "RRULE"))
        return p->recur->has_freq ? mistakes_add(p->mistakes, line, "RRULE is there twice")
                                  : recur_parse_rrule(p);
    int e = recur_parse_parameters(p, parameters);
    if (e < 0)
        return e;
    if (str_is(p->name, "DTSTART"))
        return recur_parse_dtstart(p);
    if (str_is(p->name, "EXDATE"))
        return recur_parse_dates(p, &p->recur->exdates);
    if (str_is(p->name, "RDATE"))
        return recur_parse_dates(p, &p->recur->rdates);
    return mistakes_add(p->mistakes, line, "a property that is none of DTSTART, RRULE, RDATE, EXDATE");
}

int recur_parse(struct arena *a, struct mistakes *c, struct str text, struct recur *ret) {
    struct recur_part p = {.arena = a, .mistakes = c, .recur = ret};
    struct str rest = text;
    *ret = (struct recur){.every = 1, .week_start = 1};
    for (struct str line; (line = word_next(&rest)).n > 0;) {
        int e = recur_parse_property(&p, line);
        if (e < 0)
            return e;
    }
    if (!ret->has_freq && ret->rdates.n == 0)
        return mistakes_add(c, text, "there is no RRULE and no RDATE");
    return 0;
}
