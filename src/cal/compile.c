/* Compiles a spec: calendars to bits, carried strings to rules, times with an offset to instants.
 *
 * Fails with ERR_INVALID for an unknown or broken time zone and for a recurrence without a first date, and
 * with ERR_NO_MEMORY. The partial result is then freed. */
#include "cal/compile.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cal/field.h"
#include "cal/text.h"
#include "cal/unite.h"

#define TICK_FIRST_S INT64_C(-100000000000)

/* The state of one compilation. */
struct builder {
    struct cal *cal;
    const struct cal_spec *spec;
    struct str zone_name;
    struct arena arena;
    uint64_t months; /* computed for the counts of recurrences */
    struct err *reterr;
};

/* Adds room for one element to an array without spare capacity. `array` is the address of a pointer of any
 * type; memcpy accesses it without breaking aliasing rules. */
static bool compile_grow_array(void *array, uint32_t count, size_t size) {
    void *old;
    memcpy(&old, array, sizeof(old));
    void *grown = mem_resize(old, (count + (size_t)1) * size);
    if (grown)
        memcpy(array, &grown, sizeof(grown));
    return grown != NULL;
}

static int compile_add_rule(struct cal *c, enum cal_list list, struct rule *rule) {
    struct rule **v = list == CAL_EXCLUSIONS ? &c->excludes : &c->rules;
    uint32_t *n = list == CAL_EXCLUSIONS ? &c->exclude_count : &c->rule_count;
    if (!compile_grow_array(v, *n, sizeof(*rule)))
        return ERR_NO_MEMORY;
    (*v)[*n] = *rule;
    *n += 1;
    *rule = (struct rule){0};
    return 0;
}

static int compile_add_ticks(struct cal *c, int64_t first_s, int64_t last_s, int64_t step_s) {
    if (!compile_grow_array(&c->ticks, c->tick_count, sizeof(*c->ticks)))
        return ERR_NO_MEMORY;
    c->ticks[c->tick_count++] = (struct cal_ticks){first_s, last_s, step_s};
    return 0;
}

static int compile_add_time(struct cal *c, int64_t at_s) {
    if (!compile_grow_array(&c->times, c->time_count, sizeof(*c->times)))
        return ERR_NO_MEMORY;
    c->times[c->time_count++] = at_s;
    return 0;
}

/* Bit v - base for each value v of the ranges, as far as it fits into 64 bits. */
static uint64_t compile_ranges_to_bits(const struct cal_ranges *ranges, int base) {
    uint64_t bits = 0;
    for (size_t i = 0; i < ranges->n; i++) {
        struct cal_range r = cal_range_clean(ranges->v[i]);
        for (int64_t v = r.first; v <= r.last; v += r.step)
            if (v >= base && v - base < 64)
                bits |= UINT64_C(1) << (v - base);
    }
    return bits;
}

static void compile_fill_rule(const struct cal_calendar *c, struct rule *rule) {
    const struct cal_ranges *f = c->fields;
    *rule = (struct rule){
        .seconds = compile_ranges_to_bits(&f[CAL_SECOND], 0),
        .minutes = compile_ranges_to_bits(&f[CAL_MINUTE], 0),
        .hours = (uint32_t)compile_ranges_to_bits(&f[CAL_HOUR], 0),
        .days = (uint32_t)compile_ranges_to_bits(&f[CAL_DAY_OF_MONTH], 0),
        .months = (uint16_t)compile_ranges_to_bits(&f[CAL_MONTH], 0),
        .weekdays = (uint8_t)compile_ranges_to_bits(&f[CAL_DAY_OF_WEEK], 0),
        .is_any_year = f[CAL_YEAR].n == 0,
        .years = {compile_ranges_to_bits(&f[CAL_YEAR], RULE_YEAR_MIN),
                  compile_ranges_to_bits(&f[CAL_YEAR], RULE_YEAR_MIN + 64)},
    };
    rule_seal(rule);
}

static int compile_fill_marks(const struct field_marks *m, struct rule *rule) {
    if (!field_has_marks(m))
        return 0;
    struct rule_more *more = mem_zalloc(sizeof(*more));
    if (!more)
        return ERR_NO_MEMORY;
    more->from_end = m->from_end;
    more->near = m->near;
    more->is_last_workday = m->is_last_workday;
    memcpy(more->nth, m->nth, sizeof(more->nth));
    more->nth_last[0] = m->last;
    more->every = 1;
    more->not_before_s = INT64_MIN;
    more->not_after_s = INT64_MAX;
    rule->more = more;
    return 0;
}

static int compile_calendar(struct builder *b, enum cal_list list, const struct cal_calendar *c,
                            const struct field_marks *marks) {
    struct rule rule;
    compile_fill_rule(c, &rule);
    int e = marks ? compile_fill_marks(marks, &rule) : 0;
    if (e == 0)
        e = compile_add_rule(b->cal, list, &rule);
    rule_done(&rule);
    return e < 0 ? err_std(b->reterr, e) : 0;
}

static int64_t compile_stamp_instant(const struct builder *b, const struct civil_stamp *stamp) {
    return stamp->has_offset ? stamp->local_s - stamp->offset_s : zone_instant(b->cal->zone, stamp->local_s);
}

static bool compile_is_exdate(const struct builder *b, const struct recur *r,
                              const struct civil_stamp *date) {
    int64_t local_s = recur_local(b->cal->zone, date);
    for (size_t i = 0; i < r->exdates.n; i++) {
        int64_t hole_s = recur_local(b->cal->zone, &r->exdates.v[i]);
        if (local_s >= hole_s && local_s < hole_s + (r->exdates.v[i].has_time ? 1 : CIVIL_DAY_S))
            return true;
    }
    return false;
}

static int compile_recur(struct builder *b, enum cal_list list, const struct recur *given) {
    struct recur r = *given;
    struct rule *rules = NULL;
    size_t count = 0, moved = 0;
    if (!r.has_start && b->spec->start_us != CAL_NO_START) {
        int64_t start_s = civil_div(b->spec->start_us, USEC_PER_SEC);
        r.has_start = true;
        r.start = (struct civil_stamp){.local_s = start_s, .has_time = true, .has_offset = true};
    }
    int e = recur_compile(&r, b->cal->zone, &b->months, &rules, &count, b->reterr);
    if (e < 0)
        return e;
    while (e == 0 && moved < count)
        e = compile_add_rule(b->cal, list, &rules[moved++]);
    for (size_t i = 0; i < count; i++)
        rule_done(&rules[i]);
    mem_free(rules);
    for (size_t i = 0; i < r.rdates.n && e == 0; i++)
        if (!compile_is_exdate(b, &r, &r.rdates.v[i]))
            e = compile_add_time(b->cal, compile_stamp_instant(b, &r.rdates.v[i]));
    return e < 0 ? err_std(b->reterr, e) : 0;
}

static int compile_exact(struct builder *b, const struct text *t) {
    int64_t first_s = compile_stamp_instant(b, &t->at), last_s = INT64_MAX;
    if (t->count > 0 && t->step_s < RULE_END_S)
        last_s = first_s + (t->count - 1) * t->step_s;
    int e = t->step_s < RULE_END_S ? compile_add_ticks(b->cal, first_s, last_s, t->step_s)
                                   : compile_add_time(b->cal, first_s);
    return e < 0 ? err_std(b->reterr, e) : 0;
}

static int compile_text(struct builder *b, enum cal_list list, struct str carried) {
    struct text t;
    int e = text_parse(&b->arena, b->spec->seed, TEXT_CRON, carried, &t, b->reterr);
    if (e < 0)
        return e;
    if (t.zone.n > 0 && !str_eq(t.zone, b->zone_name))
        return err_set(b->reterr, ERR_INVALID, "\"%.*s\" is in another time zone than the spec",
                       (int)MIN(carried.n, 80), carried.p);
    switch (t.kind) {
    case TEXT_CALENDAR:
        return compile_calendar(b, list, &t.calendar, &t.marks);
    case TEXT_INTERVAL:
        break;
    case TEXT_RECUR:
        return compile_recur(b, list, &t.recur);
    case TEXT_EXACT:
        return compile_exact(b, &t);
    case TEXT_AT:
        e = compile_add_time(b->cal, compile_stamp_instant(b, &t.at));
        return e < 0 ? err_std(b->reterr, e) : 0;
    }
    int64_t step_s = MAX(t.interval.interval_us / USEC_PER_SEC, 1),
            phase_s = t.interval.phase_us / USEC_PER_SEC;
    e = compile_add_ticks(b->cal, phase_s - (phase_s - TICK_FIRST_S) / step_s * step_s, INT64_MAX, step_s);
    return e < 0 ? err_std(b->reterr, e) : 0;
}

static int compile_calendars(struct builder *b, enum cal_list list) {
    const struct cal_calendar *v = list == CAL_EXCLUSIONS ? b->spec->excludes : b->spec->calendars;
    size_t n = list == CAL_EXCLUSIONS ? b->spec->exclude_count : b->spec->calendar_count;
    int e = 0;
    for (size_t i = 0; i < n && e == 0; i++) {
        struct str carried = cal_calendar_carried(&v[i]);
        e = carried.n > 0 ? compile_text(b, list, carried) : compile_calendar(b, list, &v[i], NULL);
        arena_clear(&b->arena);
    }
    return e;
}

static int compile_intervals(struct builder *b) {
    int e = 0;
    for (size_t i = 0; i < b->spec->interval_count && e == 0; i++) {
        int64_t step_s = MAX(b->spec->intervals[i].interval_us / USEC_PER_SEC, 1);
        int64_t phase_s = MAX(b->spec->intervals[i].phase_us / USEC_PER_SEC, 0);
        if (step_s >= RULE_END_S) /* only the phase itself is before 2101 */
            e = compile_add_time(b->cal, MIN(phase_s, RULE_END_S));
        else /* begins before any start time */
            e = compile_add_ticks(b->cal, phase_s - (phase_s - TICK_FIRST_S) / step_s * step_s, INT64_MAX,
                                  step_s);
    }
    return e < 0 ? err_std(b->reterr, e) : 0;
}

int cal_zone_unknown(const struct cal_zones *zones, const char *prefix, struct str name, struct err *reterr) {
    const char *meant = zones && zones->nearest ? zones->nearest(zones->ctx, name) : NULL;
    return err_set(reterr, ERR_INVALID, "%sunknown time zone \"%.*s\"%s%s%s", prefix, (int)MIN(name.n, 80),
                   name.p, meant ? "; did you mean \"" : "", meant ? meant : "", meant ? "\"?" : "");
}

static int compile_find_zone(struct builder *b, const struct cal_zones *zones) {
    struct zone_label label;
    int e = zone_label_parse(b->spec->zone_name, &label, b->reterr);
    if (e < 0)
        return e;
    b->zone_name = label.name.n > 0 ? label.name : STR("UTC");
    b->cal->missing = label.missing;
    b->cal->repeated = label.repeated;
    if (b->spec->zone_data.n > 0) {
        e = zone_new(b->spec->zone_data, &b->cal->own_zone, b->reterr);
        b->cal->zone = b->cal->own_zone;
        return e;
    }
    if (label.name.n == 0 || str_is(label.name, "UTC"))
        return 0;
    b->cal->zone = zones ? zones->find(zones->ctx, label.name) : NULL;
    if (!b->cal->zone)
        return cal_zone_unknown(zones, "", label.name, b->reterr);
    return 0;
}

static struct rule_times compile_rule_times(const struct rule *rules, uint32_t count) {
    struct rule_times t = {0};
    for (uint32_t i = 0; i < count; i++) {
        t.seconds |= rules[i].seconds;
        t.minutes |= rules[i].minutes;
        t.hours |= rules[i].hours;
    }
    return t;
}

static int compile_compare_times(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int compile_unite_rules(struct cal *c) {
    c->rule_count = rules_unite(c->rules, c->rule_count);
    if (c->exclude_count == 0)
        return 0;
    c->united = mem_dup(c->excludes, c->exclude_count * sizeof(*c->united));
    if (!c->united)
        return ERR_NO_MEMORY;
    c->united_count = rules_unite(c->united, c->exclude_count);
    return 0;
}

#define CARRIED_BUDGET ((size_t)1 << 20)

int cal_new(const struct cal_spec *s, const struct cal_zones *zones, struct cal **ret, struct err *reterr) {
    struct cal *c cleanup(cal_freep) = mem_zalloc(sizeof(*c));
    if (!c)
        return err_std(reterr, ERR_NO_MEMORY);
    struct builder b = {.cal = c, .spec = s, .reterr = reterr};
    c->start_s = s->start_us == CAL_NO_START ? 0 : MAX(civil_div(s->start_us, USEC_PER_SEC), TICK_FIRST_S);
    c->end_us = s->end_us;
    c->jitter_us = MAX(s->jitter_us, 0);
    c->work_max = CAL_WORK_MAX;
    arena_init(&b.arena, CARRIED_BUDGET);
    int e = compile_find_zone(&b, zones);
    if (e == 0)
        e = compile_calendars(&b, CAL_TIMES);
    if (e == 0)
        e = compile_calendars(&b, CAL_EXCLUSIONS);
    if (e == 0)
        e = compile_intervals(&b);
    arena_done(&b.arena);
    if (e == 0 && compile_unite_rules(c) < 0)
        e = err_std(reterr, ERR_NO_MEMORY);
    if (e < 0)
        return e;
    c->rule_times = compile_rule_times(c->rules, c->rule_count);
    if (c->time_count > 1)
        qsort(c->times, c->time_count, sizeof(*c->times), compile_compare_times);
    *ret = take(&c);
    return 0;
}

struct cal *cal_free(struct cal *c) {
    if (c) {
        for (uint32_t i = 0; i < c->rule_count; i++)
            rule_done(&c->rules[i]);
        for (uint32_t i = 0; i < c->exclude_count; i++)
            rule_done(&c->excludes[i]);
        mem_free(c->rules);
        mem_free(c->excludes);
        mem_free(c->united);
        mem_free(c->ticks);
        mem_free(c->times);
        (void)zone_free(c->own_zone); /* always NULL */
        mem_free(c);
    }
    return NULL;
}

void cal_freep(struct cal **c) {
    *c = cal_free(*c);
}

static size_t compile_rules_bytes(const struct rule *rules, uint32_t count) {
    size_t bytes = count * sizeof(*rules);
    for (uint32_t i = 0; i < count; i++)
        if (rules[i].more)
            bytes += sizeof(*rules[i].more) + rules[i].more->hole_count * sizeof(struct rule_hole) +
                     rules[i].more->year_nth_count * sizeof(struct rule_yearday);
    return bytes;
}

size_t cal_bytes(const struct cal *c) {
    return sizeof(*c) + c->united_count * sizeof(*c->united) + compile_rules_bytes(c->rules, c->rule_count) +
           compile_rules_bytes(c->excludes, c->exclude_count) + c->tick_count * sizeof(*c->ticks) +
           c->time_count * sizeof(*c->times);
}
