/* Compiles a recurrence into rules.
 *
 * As in RFC 5545, the first date supplies what the recurrence leaves open. A position (BYSETPOS) counts
 * moments in a period. Every day of a period has the same moments, so a position is one day of the period and
 * one moment, and each position becomes a rule. A count becomes the time of the last occurrence, found by
 * walking there once. Fails with ERR_INVALID for a recurrence without a first date, and with ERR_NO_MEMORY.
 */
#include "cal/recur.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cal/zone.h"

#define ALL_DAYS UINT32_C(0xFFFFFFFE)
#define ALL_MONTHS 0x1FFE
#define ALL_WEEKDAYS 0x7F
#define ALL_60 ((UINT64_C(1) << 60) - 1)
#define ALL_24 ((UINT32_C(1) << 24) - 1)

int64_t recur_local(const struct zone *z, const struct civil_stamp *stamp) {
    return stamp->has_offset ? zone_local(z, stamp->local_s - stamp->offset_s) : stamp->local_s;
}

static bool recur_has_day_part(const struct recur *r) {
    return r->days || r->days_back || r->weekdays || r->weekday_nth_count > 0 || r->has_year_days ||
           r->weeks || r->weeks_back;
}

/* The days: as given, else from the first date. */
static void recur_fill_days(const struct recur *r, const struct civil_date *first, int weekday,
                            struct rule *rule) {
    struct rule_more *more = rule->more;
    bool has_weekdays = r->weekdays || r->weekday_nth_count > 0;
    rule->months = r->months ? r->months : ALL_MONTHS;
    rule->days = r->days || r->days_back ? r->days : ALL_DAYS;
    rule->weekdays = has_weekdays ? r->weekdays : ALL_WEEKDAYS;
    more->from_end = r->days_back >> 1;
    if (r->freq == RECUR_WEEKLY && !has_weekdays)
        rule->weekdays = (uint8_t)(1 << weekday);
    if (r->freq == RECUR_YEARLY && (r->weeks || r->weeks_back) && !has_weekdays)
        rule->weekdays = (uint8_t)(1 << weekday);
    if ((r->freq == RECUR_YEARLY || r->freq == RECUR_MONTHLY) && !recur_has_day_part(r)) {
        rule->days = r->is_clamped ? 0 : UINT32_C(1) << first->day;
        more->is_clamped = r->is_clamped;
        more->clamp_day = (uint8_t)first->day;
        if (r->freq == RECUR_YEARLY && !r->months)
            rule->months = (uint16_t)(1 << first->month);
    }
}

static int recur_fill_nth(const struct recur *r, struct rule_more *more) {
    if (r->weekday_nth_count == 0)
        return 0;
    if (r->freq == RECUR_YEARLY && !r->months) {
        more->year_nth = mem_dup(r->weekday_nth, r->weekday_nth_count * sizeof(*more->year_nth));
        more->year_nth_count = r->weekday_nth_count;
        return more->year_nth ? 0 : ERR_NO_MEMORY;
    }
    for (size_t i = 0; i < r->weekday_nth_count; i++) {
        int nth = r->weekday_nth[i].nth;
        uint8_t bit = (uint8_t)(1 << r->weekday_nth[i].weekday);
        if (nth > 0 && nth <= RULE_NTH_MAX)
            more->nth[nth - 1] |= bit;
        else if (nth < 0 && nth >= -RULE_NTH_MAX)
            more->nth_last[-nth - 1] |= bit;
    }
    return 0;
}

static void recur_fill_times(const struct recur *r, int tod, struct rule *rule) {
    rule->hours = r->hours ? r->hours : r->freq <= RECUR_HOURLY ? ALL_24 : UINT32_C(1) << tod / 3600;
    rule->minutes = r->minutes                  ? r->minutes
                    : r->freq <= RECUR_MINUTELY ? ALL_60
                                                : UINT64_C(1) << tod / 60 % 60;
    rule->seconds = r->seconds ? r->seconds : r->freq == RECUR_SECONDLY ? ALL_60 : UINT64_C(1) << tod % 60;
}

static void recur_fill_period(const struct recur *r, struct rule_more *more) {
    static const int64_t unit_s[] = {1, CIVIL_MINUTE_S, CIVIL_HOUR_S};
    more->every = 1;
    if (r->freq < RECUR_DAILY) {
        if (r->every == 1)
            return;
        more->stride_unit_s = unit_s[r->freq];
        more->stride_s = more->stride_unit_s * r->every;
        more->anchor_s -= civil_mod(more->anchor_s, more->stride_unit_s);
        return;
    }
    more->period = (enum rule_period)(r->freq - RECUR_DAILY);
    more->every = r->every;
}

static int64_t recur_last_local(const struct recur *r, const struct zone *z) {
    if (!r->has_until)
        return INT64_MAX;
    int64_t until_s = recur_local(z, &r->until);
    return r->until.has_time ? until_s : until_s + CIVIL_DAY_S - 1; /* a date includes the whole day */
}

static int recur_fill_rule(const struct recur *r, const struct zone *z, struct rule *rule) {
    int64_t first_s = recur_local(z, &r->start);
    int64_t day = civil_div(first_s, CIVIL_DAY_S);
    struct civil_date date = civil_date_of(day);
    struct rule_more *more = mem_zalloc(sizeof(*more));
    *rule = (struct rule){.is_any_year = true, .more = more};
    if (!more)
        return ERR_NO_MEMORY;
    more->anchor_s = more->not_before_s = first_s;
    more->not_after_s = recur_last_local(r, z);
    more->week_start = r->week_start;
    more->has_year_days = r->has_year_days;
    memcpy(more->year_days, r->year_days, sizeof(more->year_days));
    memcpy(more->year_days_back, r->year_days_back, sizeof(more->year_days_back));
    more->has_weeks = r->weeks || r->weeks_back;
    more->weeks = r->weeks;
    more->weeks_back = r->weeks_back;
    recur_fill_days(r, &date, civil_weekday(day), rule);
    recur_fill_times(r, (int)(first_s - day * CIVIL_DAY_S), rule);
    recur_fill_period(r, more);
    int e = recur_fill_nth(r, more);
    rule_seal(rule);
    return e;
}

/* The number of the n-th set bit, from 0. */
static int recur_nth_set_bit(uint64_t bits, int n) {
    while (n-- > 0)
        bits &= bits - 1;
    return __builtin_ctzll(bits);
}

/* Restricts a rule to one position: one moment, and one day of the period. False: no such position exists. */
static bool recur_apply_position(enum recur_freq freq, struct rule *rule, int position) {
    int seconds = __builtin_popcountll(rule->seconds);
    int minutes = freq >= RECUR_HOURLY ? __builtin_popcountll(rule->minutes) : 1;
    int hours = freq >= RECUR_DAILY ? __builtin_popcount(rule->hours) : 1;
    int total = freq == RECUR_SECONDLY ? 1 : hours * minutes * seconds;
    int at = position > 0 ? position - 1 : -position - 1;
    int day = at / total, moment = position > 0 ? at % total : total - 1 - at % total;
    if (freq <= RECUR_DAILY && day > 0)
        return false;
    if (freq >= RECUR_WEEKLY)
        rule->more->position = (int16_t)(position > 0 ? day + 1 : -day - 1);
    if (freq >= RECUR_DAILY)
        rule->hours = UINT32_C(1) << recur_nth_set_bit(rule->hours, moment / seconds / minutes);
    if (freq >= RECUR_HOURLY)
        rule->minutes = UINT64_C(1) << recur_nth_set_bit(rule->minutes, moment / seconds % minutes);
    if (freq >= RECUR_MINUTELY)
        rule->seconds = UINT64_C(1) << recur_nth_set_bit(rule->seconds, moment % seconds);
    rule_seal(rule);
    return true;
}

struct recur_rules {
    struct rule *v;
    size_t n;
};

static int recur_fill_rules(const struct recur *r, const struct zone *z, struct recur_rules *rules) {
    size_t count = MAX(r->position_count, (size_t)1);
    rules->v = mem_zalloc(count * sizeof(*rules->v));
    if (!rules->v)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        int e = recur_fill_rule(r, z, &rules->v[rules->n++]);
        if (e < 0)
            return e;
        if (r->position_count > 0 && !recur_apply_position(r->freq, &rules->v[rules->n - 1], r->positions[i]))
            rule_done(&rules->v[--rules->n]);
    }
    return 0;
}

static int64_t recur_rules_next(const struct recur_rules *rules, int64_t from_s, uint64_t *months) {
    int64_t best_s = RULE_NONE;
    for (size_t i = 0; i < rules->n; i++)
        best_s = MIN(best_s, rule_next(&rules->v[i], from_s, best_s, months));
    return best_s;
}

/* Ends the rules at their count-th occurrence. */
static int recur_apply_count(const struct recur *r, struct recur_rules *rules, uint64_t *months,
                             struct err *reterr) {
    int64_t at_s = INT64_MIN / 2;
    for (int64_t i = 0; i < r->count && rules->n > 0; i++) {
        int64_t next_s = recur_rules_next(rules, at_s + 1, months);
        if (*months > RECUR_MONTHS_MAX)
            return err_set(reterr, ERR_INVALID,
                           "the recurrences of the spec count too many occurrences: use UNTIL, not COUNT");
        if (next_s == RULE_NONE)
            return 0;
        at_s = next_s;
    }
    for (size_t i = 0; i < rules->n && r->count > 0; i++)
        rules->v[i].more->not_after_s = at_s;
    return 0;
}

static int recur_compare_holes(const void *a, const void *b) {
    const struct rule_hole *x = a, *y = b;
    return (x->begin_s > y->begin_s) - (x->begin_s < y->begin_s);
}

static int recur_fill_holes(const struct recur *r, const struct zone *z, struct rule_more *more) {
    size_t count = r->exdates.n, kept = 0;
    if (count == 0)
        return 0;
    more->holes = mem_alloc(count * sizeof(*more->holes));
    if (!more->holes)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        int64_t begin_s = recur_local(z, &r->exdates.v[i]);
        more->holes[i] = (struct rule_hole){begin_s, begin_s + (r->exdates.v[i].has_time ? 1 : CIVIL_DAY_S)};
    }
    qsort(more->holes, count, sizeof(*more->holes), recur_compare_holes);
    for (size_t i = 1; i < count; i++) {
        if (more->holes[i].begin_s < more->holes[kept].end_s)
            more->holes[kept].end_s = MAX(more->holes[kept].end_s, more->holes[i].end_s);
        else
            more->holes[++kept] = more->holes[i];
    }
    more->hole_count = kept + 1;
    return 0;
}

static void recur_rules_done(struct recur_rules *rules) {
    for (size_t i = 0; i < rules->n; i++)
        rule_done(&rules->v[i]);
    mem_free(rules->v);
    *rules = (struct recur_rules){0};
}

int recur_compile(const struct recur *r, const struct zone *z, uint64_t *months, struct rule **ret,
                  size_t *ret_count, struct err *reterr) {
    struct recur_rules rules = {0};
    int e = 0;
    if (r->has_freq && !r->has_start)
        return err_set(reterr, ERR_INVALID,
                       "a recurrence needs a first date: give DTSTART, or a start time of the spec");
    if (r->has_freq && (e = recur_fill_rules(r, z, &rules)) < 0)
        (void)err_std(reterr, e);
    if (e == 0)
        e = recur_apply_count(r, &rules, months, reterr);
    for (size_t i = 0; i < rules.n && e == 0; i++)
        if ((e = recur_fill_holes(r, z, rules.v[i].more)) < 0)
            (void)err_std(reterr, e);
    if (e < 0) {
        recur_rules_done(&rules);
        return e;
    }
    *ret = rules.v;
    *ret_count = rules.n;
    return 0;
}
