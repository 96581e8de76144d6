/* Parses the cron strings of workflows and answers with the rules that schedules use.
 *
 * The fields become the bits of one rule; cal.c searches it. Fails with ERR_INVALID and the column of the
 * mistake, and with ERR_NO_MEMORY. */
#include "cal/classic.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cal/civil.h"
#include "cal/compile.h"
#include "cal/mistake.h"
#include "cal/duration.h"
#include "cal/field.h"
#include "cal/text.h"
#include "cal/word.h"

#define FIELD_COUNT 5
#define NAME_LETTERS 3

struct classic {
    struct cal cal; /* one rule, or none for @every */
    struct rule rule;
    int64_t every_s; /* 0 without @every */
};

static const enum cal_field fields[FIELD_COUNT] = {CAL_MINUTE, CAL_HOUR, CAL_DAY_OF_MONTH, CAL_MONTH,
                                                   CAL_DAY_OF_WEEK};

static bool classic_read_value(enum cal_field field, struct str word, int64_t *ret) {
    const struct field_kind *k = field_kind(field);
    bool is_number = word.n > 0 && word_is_digit(word.p[0]);
    return (is_number || word.n == NAME_LETTERS) && field_value(field, word, ret) == 0 && *ret >= k->min &&
           *ret <= k->range_max;
}

static int classic_parse_step(struct mistakes *c, enum cal_field field, struct str word, int64_t *ret) {
    if (word_int(word, ret) < 0 || *ret < 1 || *ret > INT32_MAX)
        return mistakes_add(c, word, "%s has a step that is not a positive number", field_kind(field)->name);
    return 0;
}

/* One part of a field. *is_star: the field is unrestricted, a star without a step. */
static int classic_parse_part(struct mistakes *c, enum cal_field field, struct str part, uint64_t *bits,
                              bool *is_star) {
    const struct field_kind *k = field_kind(field);
    bool has_step, has_dash;
    int64_t first = k->min, last = k->range_max, step = 1;
    struct str rest = part;
    struct str range = word_cut(&rest, '/', &has_step);
    int e = has_step ? classic_parse_step(c, field, rest, &step) : 0;
    if (e < 0)
        return e;
    if (str_is(range, "*") || str_is(range, "?")) {
        *is_star |= step == 1;
    } else {
        struct str behind = range;
        struct str word = word_cut(&behind, '-', &has_dash);
        if (!classic_read_value(field, word, &first))
            return mistakes_add(c, part, "%s is not in range [%d-%d]", k->name, k->min, k->range_max);
        if (has_dash && (!classic_read_value(field, behind, &last) || last < first))
            return mistakes_add(c, part, "%s End is before Start or not in range [%d-%d]", k->name, k->min,
                                k->range_max);
        if (!has_dash && !has_step)
            last = first;
    }
    for (int64_t v = first; v <= last; v += step)
        *bits |= UINT64_C(1) << v;
    return 0;
}

static int classic_parse_field(struct mistakes *c, enum cal_field field, struct str text, uint64_t *bits,
                               bool *is_star) {
    int e = 0;
    for (bool more = true; more && e == 0;) {
        struct str part = word_cut(&text, ',', &more);
        if (part.n > 0)
            e = classic_parse_part(c, field, part, bits, is_star);
    }
    return e;
}

static int classic_parse_rule(struct mistakes *c, struct str text, struct rule *rule) {
    struct str words[FIELD_COUNT + 1], rest = text;
    uint64_t bits[FIELD_COUNT] = {0};
    bool is_star[FIELD_COUNT] = {0};
    size_t n = 0;
    int e = 0;
    while (n < ARRAY_LEN(words) && (words[n] = word_next(&rest)).n > 0)
        n++;
    if (n > FIELD_COUNT && text_is_command(words[FIELD_COUNT]))
        return mistakes_add(c, words[FIELD_COUNT], TEXT_CRONTAB_LINE);
    if (n != FIELD_COUNT)
        return mistakes_add(c, text, "the cron string does not have 5 fields");
    for (size_t i = 0; i < FIELD_COUNT && e == 0; i++)
        e = classic_parse_field(c, fields[i], words[i], &bits[i], &is_star[i]);
    *rule = (struct rule){
        .seconds = 1,
        .minutes = bits[0],
        .hours = (uint32_t)bits[1],
        .days = (uint32_t)bits[2],
        .months = (uint16_t)bits[3],
        .weekdays = (uint8_t)bits[4],
        .is_any_year = true,
        .is_either = !is_star[2] && !is_star[4],
    };
    rule_seal(rule);
    return e;
}

static int classic_parse_every(struct mistakes *c, struct str word, int64_t *ret_s) {
    int64_t us;
    if (word_count_char(word, 'd') > 0 || duration_parse_units(word, &us) < 0)
        return mistakes_add(c, word, "@every is not followed by a length of time like 90m or 1h30m");
    *ret_s = MAX(us / USEC_PER_SEC, 1);
    return 0;
}

static int classic_parse_text(struct mistakes *mistakes, struct str text, struct classic *c,
                              struct str *ret_zone) {
    int e = text_cut_zone(mistakes, &text, ret_zone);
    if (e < 0)
        return e;
    if (str_starts(text, STR("@every ")))
        return classic_parse_every(mistakes, word_from(text, strlen("@every ")), &c->every_s);
    struct str shorthand = text_shorthand(text), command = text_behind_shorthand(text);
    if (text_is_command(command))
        return mistakes_add(mistakes, command, TEXT_CRONTAB_LINE);
    if (text.n > 0 && text.p[0] == '@' && shorthand.n == 0)
        return mistakes_add(mistakes, text, "a name that is not known");
    return classic_parse_rule(mistakes, shorthand.n > 0 ? shorthand : text, &c->rule);
}

int classic_new(struct str text, const struct cal_zones *zones, struct classic **ret, struct err *reterr) {
    struct classic *c cleanup(classic_freep) = mem_zalloc(sizeof(*c));
    if (!c)
        return err_std(reterr, ERR_NO_MEMORY);
    if (text.n == 0)
        text = STR("");
    struct mistakes mistakes = {.origin = text};
    struct str zone;
    if (!utf8_valid(text) || text.n > CAL_TEXT_BYTES_MAX)
        return err_set(reterr, ERR_INVALID, "invalid CronSchedule: it is too long or not UTF-8");
    if (classic_parse_text(&mistakes, word_trim(text), c, &zone) < 0)
        return err_set(reterr, ERR_INVALID, "invalid CronSchedule \"%.*s\": %s", (int)MIN(text.n, 100),
                       text.p, mistakes.text);
    if (zone.n > 0 && !str_is(zone, "UTC")) {
        c->cal.zone = zones ? zones->find(zones->ctx, zone) : NULL;
        if (!c->cal.zone)
            return cal_zone_unknown(zones, "invalid CronSchedule: ", zone, reterr);
    }
    c->cal.rules = &c->rule;
    c->cal.rule_count = 1;
    c->cal.work_max = CAL_WORK_MAX;
    *ret = take(&c);
    return 0;
}

struct classic *classic_free(struct classic *c) {
    mem_free(c);
    return NULL;
}

void classic_freep(struct classic **c) {
    *c = classic_free(*c);
}

bool classic_next(const struct classic *c, int64_t after_s, int64_t *ret_s) {
    if (c->every_s > 0) {
        *ret_s = after_s + c->every_s;
        return true;
    }
    int64_t at_s = cal_search_raw(&c->cal, after_s + 1);
    if (at_s == RULE_NONE)
        return false;
    int64_t year = civil_date_of(civil_div(zone_local(c->cal.zone, after_s), CIVIL_DAY_S)).year;
    if (civil_date_of(civil_div(zone_local(c->cal.zone, at_s), CIVIL_DAY_S)).year > year + CLASSIC_YEARS_MAX)
        return false;
    *ret_s = at_s;
    return true;
}

/* Rounds up to whole seconds. */
static int64_t classic_round_up_us(int64_t us) {
    return -civil_div(-us, USEC_PER_SEC) * USEC_PER_SEC;
}

int64_t classic_backoff_us(const struct classic *c, int64_t basis_us, int64_t now_us) {
    if (now_us < basis_us)
        return classic_round_up_us(basis_us - now_us);
    int64_t basis_s = civil_div(basis_us, USEC_PER_SEC), at_s;
    int64_t now_s = -civil_div(-now_us, USEC_PER_SEC); /* rounded up */
    if (c->every_s > 0) {
        int64_t missed = MAX(now_s - basis_s + c->every_s - 1, c->every_s) / c->every_s;
        at_s = basis_s + missed * c->every_s;
    } else if (!classic_next(c, MAX(basis_s, now_s - 1), &at_s)) {
        return -1;
    }
    return classic_round_up_us(at_s * USEC_PER_SEC - now_us);
}
