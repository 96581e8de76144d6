/* Parses "@every 90m/5m", "@every 2 weeks from 2026-01-05T09:00" and "R5/2026-01-05/P1D".
 *
 * Exact lengths without a first date are intervals from 1970 on. With a first date they count from it; days,
 * weeks, months and years then count in local time. Fails with ERR_INVALID and a recorded mistake. */
#include "base/clock.h"
#include "cal/text.h"
#include "cal/word.h"

#define NOT_A_LENGTH "is not a length of time like 90m, 1.5d or PT15M"

static int every_parse_exact(const struct text_reader *r, struct str word, int64_t *ret_us) {
    struct duration d;
    if (word.n > 0 && word.p[0] == 'P') {
        if (duration_parse_iso(word, &d) < 0)
            return mistakes_add(r->mistakes, word, "@every " NOT_A_LENGTH);
        if (d.months > 0)
            return mistakes_add(r->mistakes, word,
                                "@every with months needs a first date: @every P1M from 2026-01-31");
        *ret_us = d.days * CIVIL_DAY_S * USEC_PER_SEC + d.us;
        return 0;
    }
    if (duration_parse_units(word, ret_us) < 0)
        return mistakes_add(r->mistakes, word, "@every " NOT_A_LENGTH);
    return 0;
}

static int every_parse_interval(const struct text_reader *r, struct str word, struct text *t) {
    bool has_phase;
    struct str rest = word;
    struct str length = word_cut(&rest, '/', &has_phase);
    t->kind = TEXT_INTERVAL;
    t->interval = (struct cal_interval){0};
    int e = every_parse_exact(r, length, &t->interval.interval_us);
    if (e == 0 && has_phase)
        e = every_parse_exact(r, rest, &t->interval.phase_us);
    if (e < 0)
        return e;
    if (t->interval.interval_us < USEC_PER_SEC)
        return mistakes_add(r->mistakes, length, "interval is too small");
    if (t->interval.phase_us < 0)
        return mistakes_add(r->mistakes, rest, "phase is negative");
    if (t->interval.phase_us >= t->interval.interval_us)
        return mistakes_add(r->mistakes, rest, "phase cannot be greater than Interval");
    return 0;
}

static bool every_parse_unit(struct str word, struct duration *d) {
    static const struct {
        const char *one, *many;
        struct duration length;
    } units[] = {
        {"second", "seconds", {.us = USEC_PER_SEC}},
        {"minute", "minutes", {.us = CIVIL_MINUTE_S * USEC_PER_SEC}},
        {"hour", "hours", {.us = CIVIL_HOUR_S * USEC_PER_SEC}},
        {"day", "days", {.days = 1}},
        {"week", "weeks", {.days = CIVIL_WEEK_DAYS}},
        {"month", "months", {.months = 1}},
        {"year", "years", {.months = CIVIL_YEAR_MONTHS}},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (word_same(word, units[i].one) || word_same(word, units[i].many)) {
            *d = units[i].length;
            return true;
        }
    }
    return false;
}

static int every_parse_stamp(const struct text_reader *r, struct str word, struct civil_stamp *ret) {
    size_t at = 0;
    if (civil_parse(word, ret, &at) < 0)
        return mistakes_add(r->mistakes, word_from(word, at), "not a time like 2026-01-05T09:00");
    return 0;
}

/* Every d from a first date. Calendar units and exact time cannot be mixed: the sum would not be periodic. */
static int every_fill_anchored(const struct text_reader *r, struct str place, const struct duration *d,
                               const struct civil_stamp *first, int64_t count, struct text *t) {
    int kinds = (d->months > 0) + (d->days > 0) + (d->us > 0);
    if (kinds == 0)
        return mistakes_add(r->mistakes, place, "the length of time is zero");
    if (kinds > 1)
        return mistakes_add(r->mistakes, place, "months, days and hours cannot be mixed in one length");
    t->at = *first;
    t->count = count;
    if (d->us > 0) {
        t->kind = TEXT_EXACT;
        t->step_s = d->us / USEC_PER_SEC;
        if (t->step_s < 1 || d->us % USEC_PER_SEC != 0)
            return mistakes_add(r->mistakes, place, "the length of time is not in whole seconds");
        return 0;
    }
    t->kind = TEXT_RECUR;
    t->recur = (struct recur){
        .freq = d->months > 0 ? RECUR_MONTHLY : RECUR_DAILY,
        .has_freq = true,
        .every = d->months > 0 ? d->months : d->days,
        .count = count,
        .start = *first,
        .has_start = true,
        .is_clamped = true,
        .week_start = 1,
    };
    if (t->recur.every > RECUR_EVERY_MAX)
        return mistakes_add(r->mistakes, place, "the length of time is too long");
    return 0;
}

/* "2 weeks from STAMP", "P1M from STAMP", "36h from STAMP". */
static int every_parse_anchored(const struct text_reader *r, struct str rest, struct text *t) {
    struct duration d = {0};
    struct civil_stamp first;
    int64_t number = 1;
    struct str whole = word_trim(rest), length = word_next(&rest), from;
    if (word_int(length, &number) == 0) {
        struct str unit = word_next(&rest);
        if (number < 1 || number > RECUR_EVERY_MAX)
            return mistakes_add(r->mistakes, length, "@every needs a number from 1 to %d", RECUR_EVERY_MAX);
        if (!every_parse_unit(unit, &d))
            return mistakes_add(r->mistakes, unit,
                                "@every has a unit that is none of seconds, minutes, hours, days, "
                                "weeks, months, years");
        d = (struct duration){d.months * number, d.days * number, d.us * number};
    } else if (length.p[0] == 'P' ? duration_parse_iso(length, &d) < 0
                                  : duration_parse_units(length, &d.us) < 0) {
        return mistakes_add(r->mistakes, length, "@every " NOT_A_LENGTH);
    }
    from = word_next(&rest);
    if (!word_same(from, "from"))
        return mistakes_add(r->mistakes, from, "@every needs a first date here: from 2026-01-05T09:00");
    int e = every_parse_stamp(r, word_next(&rest), &first);
    if (e == 0 && word_trim(rest).n > 0)
        return mistakes_add(r->mistakes, word_trim(rest), "@every has more than a first date");
    return e < 0 ? e : every_fill_anchored(r, whole, &d, &first, 0, t);
}

int text_parse_every(const struct text_reader *r, struct str rest, struct text *t) {
    struct str length = word_next(&rest);
    if (length.n == 0)
        return mistakes_add(r->mistakes, length, "@every " NOT_A_LENGTH);
    struct str behind = word_trim(rest);
    if (behind.n == 0)
        return every_parse_interval(r, length, t);
    return every_parse_anchored(r, (struct str){length.p, (size_t)(behind.p + behind.n - length.p)}, t);
}

/* The exact length from start to end; zero when the end is not after the start. */
static struct duration every_length_between(const struct civil_stamp *first, const struct civil_stamp *last) {
    int64_t s = last->local_s - last->offset_s - first->local_s + first->offset_s;
    return s > 0 ? (struct duration){.us = s * USEC_PER_SEC} : (struct duration){0};
}

/* R[n]/start/length, R[n]/start/end, R[n]/length/end with a count, R/length. */
int text_parse_repeat(const struct text_reader *r, struct str body, struct text *t) {
    struct str rest = body, parts[3] = {{0}};
    struct civil_stamp stamp, end;
    struct duration d;
    int64_t count = 0;
    size_t n = 0;
    for (bool more = true; more;) {
        if (n == ARRAY_LEN(parts))
            return mistakes_add(r->mistakes, rest, "a repeating interval has more than three parts");
        parts[n++] = word_cut(&rest, '/', &more);
    }
    struct str times = word_from(parts[0], 1);
    if (times.n > 0 && (word_int(times, &count) < 0 || count < 1 || count > RECUR_COUNT_MAX))
        return mistakes_add(r->mistakes, parts[0],
                            "a repeating interval has a count that is not from 1 to %d", RECUR_COUNT_MAX);
    if (n == 2 && times.n == 0)
        return every_parse_interval(r, parts[1], t);
    if (n < 3)
        return mistakes_add(r->mistakes, body,
                            "a repeating interval needs a start and a length: R5/2026-01-05T09:00/P1D");
    int e = every_parse_stamp(r, parts[1], &stamp);
    if (e < 0)
        return e;
    if (parts[2].n > 0 && parts[2].p[0] == 'P') {
        if (duration_parse_iso(parts[2], &d) < 0)
            return mistakes_add(r->mistakes, parts[2], "not a length of time like P1D or PT6H");
    } else {
        e = every_parse_stamp(r, parts[2], &end);
        if (e < 0)
            return e;
        if (stamp.has_offset != end.has_offset)
            return mistakes_add(r->mistakes, parts[2], "start and end must both have an offset, or neither");
        d = every_length_between(&stamp, &end);
    }
    return every_fill_anchored(r, parts[2], &d, &stamp, count, t);
}
