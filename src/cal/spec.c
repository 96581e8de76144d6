/* Builds a spec in its canonical form, in which it is stored and shown.
 *
 * Each string is parsed here once, to report its mistakes and to see whether a calendar or an interval can
 * express it. If not, a placeholder calendar carries it (see cal.h). Fails with ERR_INVALID, also past
 * CAL_ENTRIES_MAX, and with ERR_NO_MEMORY when the arena is exhausted. */
#include "base/clock.h"
#include "cal/cal.h"
#include "cal/placeholder.h"
#include "cal/text.h"
#include "cal/word.h"

void cal_spec_init(struct cal_spec *s, struct arena *arena, struct str seed) {
    *s = (struct cal_spec){.arena = arena, .seed = seed, .start_us = CAL_NO_START, .end_us = CAL_NO_END};
}

/* Makes room for one more than n elements, in an array that grows by doubling. `array` is the address of a
 * pointer of any type; memcpy accesses it without breaking aliasing rules. */
static int spec_make_room(struct cal_spec *s, void *array, size_t n, size_t size, struct err *reterr) {
    void *old;
    if (n >= CAL_ENTRIES_MAX)
        return err_set(reterr, ERR_INVALID, "a spec has more than %d entries of one kind", CAL_ENTRIES_MAX);
    if (n > 0 && (n & (n - 1)) != 0)
        return 0;
    void *grown = arena_zalloc_array(s->arena, size, n > 0 ? n * 2 : 1);
    if (!grown)
        return err_std(reterr, ERR_NO_MEMORY);
    memcpy(&old, array, sizeof(old));
    if (n > 0)
        memcpy(grown, old, n * size);
    memcpy(array, &grown, sizeof(grown));
    return 0;
}

static int spec_copy_calendar(struct cal_spec *s, const struct cal_calendar *c, struct cal_calendar *ret) {
    struct cal_calendar copy = {0};
    for (int i = 0; i < CAL_FIELD_COUNT; i++) {
        copy.fields[i] = (struct cal_ranges){NULL, c->fields[i].n};
        if (c->fields[i].n > 0) {
            copy.fields[i].v = arena_dup(s->arena, c->fields[i].v, c->fields[i].n * sizeof(struct cal_range));
            if (!copy.fields[i].v)
                return ERR_NO_MEMORY;
        }
    }
    if (c->comment.n > 0) {
        copy.comment = (struct str){arena_dup(s->arena, c->comment.p, c->comment.n), c->comment.n};
        if (!copy.comment.p)
            return ERR_NO_MEMORY;
    }
    *ret = copy;
    return 0;
}

static int spec_push_calendar(struct cal_spec *s, enum cal_list list, const struct cal_calendar *c,
                              struct err *reterr) {
    struct cal_calendar **v = list == CAL_EXCLUSIONS ? &s->excludes : &s->calendars;
    size_t *n = list == CAL_EXCLUSIONS ? &s->exclude_count : &s->calendar_count;
    int e = spec_make_room(s, v, *n, sizeof(**v), reterr);
    if (e < 0)
        return e;
    if (spec_copy_calendar(s, c, &(*v)[*n]) < 0)
        return err_std(reterr, ERR_NO_MEMORY);
    *n += 1;
    return 0;
}

static int spec_check_range(enum cal_field field, const struct cal_range *r, struct err *reterr) {
    const struct field_kind *k = field_kind(field);
    if (r->first < k->min || r->first > k->range_max)
        return err_set(reterr, ERR_INVALID, "invalid calendar spec: %s Start %d is not in range [%d-%d]",
                       k->name, r->first, k->min, k->range_max);
    if (r->last != 0 && (r->last < r->first || r->last > k->range_max))
        return err_set(reterr, ERR_INVALID,
                       "invalid calendar spec: %s End %d is before Start or not in range [%d-%d]", k->name,
                       r->last, k->min, k->range_max);
    if (r->step < 0)
        return err_set(reterr, ERR_INVALID, "invalid calendar spec: %s has invalid Step %d", k->name,
                       r->step);
    return 0;
}

static int spec_check_comment(struct str comment, struct err *reterr) {
    if (comment.n > CAL_COMMENT_BYTES_MAX)
        return err_set(reterr, ERR_INVALID, "invalid calendar spec: comment is longer than %d bytes",
                       CAL_COMMENT_BYTES_MAX);
    return 0;
}

/* An exclusion must match by local time. */
static int spec_check_exclude(const struct text *t, struct err *reterr) {
    if (t->kind == TEXT_CALENDAR || (t->kind == TEXT_RECUR && t->recur.rdates.n == 0))
        return 0;
    return err_set(reterr, ERR_INVALID, "\"%.*s\" cannot be excluded: only calendars and recurrences can",
                   (int)MIN(t->body.n, 80), t->body.p);
}

static int spec_add_calendar(struct cal_spec *s, enum cal_list list, const struct cal_calendar *c,
                             struct err *reterr) {
    struct str carried = cal_calendar_carried(c);
    struct text t;
    int e = 0;
    for (int f = 0; f < CAL_FIELD_COUNT && e == 0; f++) {
        if (c->fields[f].n > CAL_RANGES_MAX)
            return err_set(reterr, ERR_INVALID, "invalid calendar spec: %s has more than %d ranges",
                           field_kind((enum cal_field)f)->name, CAL_RANGES_MAX);
        for (size_t i = 0; i < c->fields[f].n && e == 0; i++)
            e = spec_check_range((enum cal_field)f, &c->fields[f].v[i], reterr);
    }
    if (e == 0 && carried.n > 0) {
        e = text_parse(s->arena, s->seed, TEXT_CRON, carried, &t, reterr);
        s->has_spread |= e == 0 && t.marks.has_spread;
        if (e == 0 && list == CAL_EXCLUSIONS)
            e = spec_check_exclude(&t, reterr);
    } else if (e == 0) {
        e = spec_check_comment(c->comment, reterr);
    }
    return e < 0 ? e : spec_push_calendar(s, list, c, reterr);
}

int cal_spec_add_calendar(struct cal_spec *s, const struct cal_calendar *c, struct err *reterr) {
    return spec_add_calendar(s, CAL_TIMES, c, reterr);
}

int cal_spec_exclude_calendar(struct cal_spec *s, const struct cal_calendar *c, struct err *reterr) {
    return spec_add_calendar(s, CAL_EXCLUSIONS, c, reterr);
}

/* Adds a placeholder whose comment carries the text, with single spaces, then the user's comment. */
static int spec_push_placeholder(struct cal_spec *s, enum cal_list list, struct str body, struct str comment,
                                 struct err *reterr) {
    struct buf b cleanup(buf_done);
    buf_init(&b, 2 * CAL_TEXT_BYTES_MAX);
    buf_add_str(&b, PLACEHOLDER_MARK);
    for (struct str rest = body, word; (word = word_next(&rest)).n > 0;) {
        buf_add_cstr(&b, " ");
        buf_add_str(&b, word);
    }
    if (comment.n > 0)
        buf_printf(&b, " # %.*s", (int)comment.n, comment.p);
    if (!buf_ok(&b))
        return err_std(reterr, ERR_NO_MEMORY);
    struct cal_calendar c = placeholder_calendar();
    c.comment = buf_str(&b);
    return spec_push_calendar(s, list, &c, reterr);
}

static int spec_add_strings(struct cal_spec *s, enum cal_list list, const struct cal_strings *strings,
                            struct err *reterr) {
    struct field_marks marks = {0};
    struct cal_calendar c;
    int e = text_parse_strings(s->arena, s->seed, strings, &c, &marks, reterr);
    s->has_spread |= marks.has_spread;
    if (e == 0)
        e = spec_check_comment(strings->comment, reterr);
    if (e < 0)
        return e;
    if (!field_has_marks(&marks))
        return spec_push_calendar(s, list, &c, reterr);
    struct buf b cleanup(buf_done);
    buf_init(&b, CAL_TEXT_BYTES_MAX);
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct str field = word_trim(strings->fields[f]);
        buf_add_str(&b, field.n > 0 ? field : str_of(field_kind((enum cal_field)f)->fallback));
        buf_add_cstr(&b, " ");
    }
    if (!buf_ok(&b))
        return err_set(reterr, ERR_INVALID, "invalid calendar spec: it is longer than %d bytes",
                       CAL_TEXT_BYTES_MAX);
    return spec_push_placeholder(s, list, buf_str(&b), strings->comment, reterr);
}

int cal_spec_add_strings(struct cal_spec *s, const struct cal_strings *c, struct err *reterr) {
    return spec_add_strings(s, CAL_TIMES, c, reterr);
}

int cal_spec_exclude_strings(struct cal_spec *s, const struct cal_strings *c, struct err *reterr) {
    return spec_add_strings(s, CAL_EXCLUSIONS, c, reterr);
}

int cal_spec_add_interval(struct cal_spec *s, const struct cal_interval *i, struct err *reterr) {
    if (i->interval_us < USEC_PER_SEC)
        return err_set(reterr, ERR_INVALID, "interval is too small");
    if (i->phase_us < 0)
        return err_set(reterr, ERR_INVALID, "phase is negative");
    if (i->phase_us >= i->interval_us)
        return err_set(reterr, ERR_INVALID, "phase cannot be greater than Interval");
    int e = spec_make_room(s, &s->intervals, s->interval_count, sizeof(*s->intervals), reterr);
    if (e < 0)
        return e;
    s->intervals[s->interval_count++] = *i;
    return 0;
}

/* All strings must name the same zone, or all must name none. Intervals ignore zones and are not checked. */
static int spec_agree_on_zone(struct cal_spec *s, const struct text *t, struct err *reterr) {
    if (t->kind == TEXT_INTERVAL)
        return 0;
    if (s->has_string && !str_eq(s->string_zone, t->zone))
        return err_set(reterr, ERR_INVALID,
                       "conflicting timezone names in cron strings: \"%.*s\" and \"%.*s\"",
                       (int)MIN(s->string_zone.n, 80), s->string_zone.n ? s->string_zone.p : "",
                       (int)MIN(t->zone.n, 80), t->zone.n ? t->zone.p : "");
    if (!s->has_string && t->zone.n > 0) {
        s->string_zone = (struct str){arena_dup(s->arena, t->zone.p, t->zone.n), t->zone.n};
        if (!s->string_zone.p)
            return err_std(reterr, ERR_NO_MEMORY);
    }
    s->has_string = true;
    return 0;
}

static int spec_add_text(struct cal_spec *s, enum cal_list list, enum text_dialect dialect, struct str text,
                         struct err *reterr) {
    struct text t;
    int e = text_parse(s->arena, s->seed, dialect, text, &t, reterr);
    s->has_spread |= e == 0 && t.marks.has_spread;
    if (e == 0 && list == CAL_EXCLUSIONS)
        e = spec_check_exclude(&t, reterr);
    if (e == 0)
        e = spec_agree_on_zone(s, &t, reterr);
    if (e == 0)
        e = spec_check_comment(t.comment, reterr);
    if (e < 0)
        return e;
    if (t.kind == TEXT_INTERVAL)
        return cal_spec_add_interval(s, &t.interval, reterr);
    t.calendar.comment = t.comment;
    if (t.kind == TEXT_CALENDAR && !field_has_marks(&t.marks))
        return spec_push_calendar(s, list, &t.calendar, reterr);
    return spec_push_placeholder(s, list, t.body, t.comment, reterr);
}

int cal_spec_add_cron(struct cal_spec *s, struct str text, struct err *reterr) {
    return spec_add_text(s, CAL_TIMES, TEXT_CRON, text, reterr);
}

int cal_spec_exclude_cron(struct cal_spec *s, struct str text, struct err *reterr) {
    return spec_add_text(s, CAL_EXCLUSIONS, TEXT_CRON, text, reterr);
}

int cal_spec_add_dbos(struct cal_spec *s, struct str text, struct err *reterr) {
    return spec_add_text(s, CAL_TIMES, TEXT_DBOS, text, reterr);
}

/* An empty name is UTC. The options of the zone of the spec do not matter. */
static bool spec_is_same_zone(const struct zone_label *set, struct str set_text, struct str given) {
    struct str utc = STR("UTC");
    return str_eq(set_text, given) || str_eq(set->name.n > 0 ? set->name : utc, given);
}

int cal_spec_finish(struct cal_spec *s, struct err *reterr) {
    struct zone_label label;
    int e = zone_label_parse(s->zone_name, &label, reterr);
    if (e < 0 || s->string_zone.n == 0)
        return e;
    if (s->zone_data.n > 0)
        return err_set(reterr, ERR_INVALID, "a cron string has a time zone, and the spec has time zone data");
    if (s->zone_name.n > 0 && !spec_is_same_zone(&label, s->zone_name, s->string_zone))
        return err_set(reterr, ERR_INVALID,
                       "conflicting timezone names: the spec has \"%.*s\", its cron strings have \"%.*s\"",
                       (int)MIN(s->zone_name.n, 80), s->zone_name.p, (int)MIN(s->string_zone.n, 80),
                       s->string_zone.p);
    if (s->zone_name.n == 0)
        s->zone_name = s->string_zone;
    return zone_label_parse(s->zone_name, &label, reterr);
}
