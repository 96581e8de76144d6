/* Parses POSIX TZ rules and computes the changes of a year.
 *
 * The grammar is that of RFC 8536, version 3: the hours of a change are -167 to 167. A rule with summer time
 * must state its begin and end. POSIX leaves them optional, but files always have them. Parsing fails with
 * ERR_INVALID. */
#include "cal/tzrule.h"

#include <stdio.h>

#include "base/err.h"
#include "cal/civil.h"

#define OFFSET_HOURS_MAX 24
#define CHANGE_HOURS_MAX 167
#define CHANGE_DEFAULT_S (2 * (int32_t)CIVIL_HOUR_S)
#define YEARS_AROUND 2 /* a change can be eight days inside the next or the previous year */
#define CHANGES_AROUND (2 * (2 * YEARS_AROUND + 1))

struct tzrule_cursor {
    const char *p, *end;
    bool failed;
};

static char tzrule_peek(const struct tzrule_cursor *c) {
    return !c->failed && c->p < c->end ? *c->p : '\0';
}

static bool tzrule_take_char(struct tzrule_cursor *c, char want) {
    bool sees = tzrule_peek(c) == want;
    c->p += sees;
    return sees;
}

static bool tzrule_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool tzrule_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int tzrule_take_number(struct tzrule_cursor *c, int min, int max) {
    int value = 0;
    if (!tzrule_is_digit(tzrule_peek(c)))
        c->failed = true;
    while (tzrule_is_digit(tzrule_peek(c)) && value <= max)
        value = value * 10 + (*c->p++ - '0');
    if (value < min || value > max)
        c->failed = true;
    return value;
}

static void tzrule_take_abbrev(struct tzrule_cursor *c, char abbrev[ZONE_ABBREV_MAX]) {
    bool is_quoted = tzrule_take_char(c, '<');
    const char *begin = c->p;
    for (char next; (next = tzrule_peek(c)); c->p++)
        if (!(tzrule_is_letter(next) || (is_quoted && (tzrule_is_digit(next) || next == '+' || next == '-'))))
            break;
    size_t n = (size_t)(c->p - begin);
    if (n < 3 || (is_quoted && !tzrule_take_char(c, '>')))
        c->failed = true;
    else
        (void)snprintf(abbrev, ZONE_ABBREV_MAX, "%.*s", (int)n, begin); /* cut when longer */
}

static int32_t tzrule_take_time(struct tzrule_cursor *c, int hours_max) {
    bool is_negative = tzrule_take_char(c, '-');
    if (!is_negative)
        (void)tzrule_take_char(c, '+');
    int32_t s = tzrule_take_number(c, 0, hours_max) * (int32_t)CIVIL_HOUR_S;
    if (tzrule_take_char(c, ':')) {
        s += tzrule_take_number(c, 0, 59) * (int32_t)CIVIL_MINUTE_S;
        if (tzrule_take_char(c, ':'))
            s += tzrule_take_number(c, 0, 59);
    }
    return is_negative ? -s : s;
}

static void tzrule_expect_char(struct tzrule_cursor *c, char want) {
    if (!tzrule_take_char(c, want))
        c->failed = true;
}

static void tzrule_take_change(struct tzrule_cursor *c, struct tzrule_change *change) {
    tzrule_expect_char(c, ',');
    if (tzrule_take_char(c, 'M')) {
        change->form = TZRULE_MONTH_WEEK;
        change->month = tzrule_take_number(c, 1, CIVIL_YEAR_MONTHS);
        tzrule_expect_char(c, '.');
        change->week = tzrule_take_number(c, 1, 5);
        tzrule_expect_char(c, '.');
        change->weekday = tzrule_take_number(c, 0, 6);
    } else if (tzrule_take_char(c, 'J')) {
        change->form = TZRULE_JULIAN;
        change->day = tzrule_take_number(c, 1, 365);
    } else {
        change->form = TZRULE_DAY;
        change->day = tzrule_take_number(c, 0, 365);
    }
    change->time_s = tzrule_take_char(c, '/') ? tzrule_take_time(c, CHANGE_HOURS_MAX) : CHANGE_DEFAULT_S;
}

int tzrule_parse(struct str text, struct tzrule *ret) {
    struct tzrule_cursor c = {text.p, text.p + text.n, false};
    struct tzrule rule = {0};

    tzrule_take_abbrev(&c, rule.standard.abbrev);
    rule.standard.offset_s = -tzrule_take_time(&c, OFFSET_HOURS_MAX); /* POSIX counts westward */
    if (!c.failed && c.p < c.end) {
        rule.has_summer = true;
        tzrule_take_abbrev(&c, rule.summer.abbrev);
        rule.summer.offset_s = tzrule_peek(&c) == ',' ? rule.standard.offset_s + (int32_t)CIVIL_HOUR_S
                                                      : -tzrule_take_time(&c, OFFSET_HOURS_MAX);
        tzrule_take_change(&c, &rule.to_summer);
        tzrule_take_change(&c, &rule.to_standard);
    }
    if (c.failed || c.p < c.end)
        return ERR_INVALID;
    *ret = rule;
    return 0;
}

static int64_t tzrule_change_day(const struct tzrule_change *change, int64_t year) {
    int64_t first = civil_day(year, 1, 1);
    switch (change->form) {
    case TZRULE_JULIAN:
        return first + change->day - 1 + (civil_is_leap(year) && change->day >= 60);
    case TZRULE_DAY:
        return first + change->day;
    case TZRULE_MONTH_WEEK:
        break;
    }
    int64_t month_first = civil_day(year, change->month, 1);
    int64_t day = civil_mod(change->weekday - civil_weekday(month_first), CIVIL_WEEK_DAYS) +
                  (change->week - 1) * CIVIL_WEEK_DAYS;
    while (day >= civil_month_len(year, change->month))
        day -= CIVIL_WEEK_DAYS;
    return month_first + day;
}

struct tzrule_event {
    int64_t at_s;
    const struct tzrule_clock *to;
};

/* The changes of five years in order of time; at the same instant, in the order of the calendar. */
static void tzrule_events_around(const struct tzrule *rule, int64_t year,
                                 struct tzrule_event events[CHANGES_AROUND]) {
    size_t count = 0;
    for (int64_t y = year - YEARS_AROUND; y <= year + YEARS_AROUND; y++) {
        struct tzrule_event pair[] = {
            {tzrule_change_day(&rule->to_summer, y) * CIVIL_DAY_S + rule->to_summer.time_s -
                 rule->standard.offset_s,
             &rule->summer},
            {tzrule_change_day(&rule->to_standard, y) * CIVIL_DAY_S + rule->to_standard.time_s -
                 rule->summer.offset_s,
             &rule->standard},
        };
        for (size_t i = 0; i < ARRAY_LEN(pair); i++) {
            size_t k = count++;
            for (; k > 0 && events[k - 1].at_s > pair[i].at_s; k--)
                events[k] = events[k - 1];
            events[k] = pair[i];
        }
    }
}

static struct zone_span tzrule_make_span(const struct tzrule *rule, const struct tzrule_clock *clock,
                                         int64_t begin_s, int64_t end_s) {
    struct zone_span span = {begin_s, end_s, clock->offset_s, clock == &rule->summer, ""};
    memcpy(span.abbrev, clock->abbrev, sizeof(span.abbrev));
    return span;
}

struct zone_span tzrule_span_at(const struct tzrule *rule, int64_t utc_s) {
    if (!rule->has_summer)
        return tzrule_make_span(rule, &rule->standard, INT64_MIN, INT64_MAX);
    struct tzrule_event events[CHANGES_AROUND];
    tzrule_events_around(rule, civil_date_of(civil_div(utc_s, CIVIL_DAY_S)).year, events);
    size_t i = 0; /* the first event is before utc_s, the last after it */
    while (i + 2 < CHANGES_AROUND && events[i + 1].at_s <= utc_s)
        i++;
    return tzrule_make_span(rule, events[i].to, events[i].at_s, events[i + 1].at_s);
}
