/* Calendars as they are shown and compared, and the placeholder calendar. Writing text fails only as struct
 * buf does. */
#include "cal/cal.h"
#include "cal/field.h"
#include "cal/placeholder.h"
#include "cal/word.h"

static const struct cal_range zero[] = {{0}}, one[] = {{1, 0, 0}}, weekdays[] = {{0, 6, 0}},
                              past[] = {{2000, 0, 0}};

struct cal_calendar placeholder_calendar(void) {
    return (struct cal_calendar){.fields = {
                                     [CAL_SECOND] = {zero, 1},
                                     [CAL_MINUTE] = {zero, 1},
                                     [CAL_HOUR] = {zero, 1},
                                     [CAL_DAY_OF_MONTH] = {one, 1},
                                     [CAL_MONTH] = {one, 1},
                                     [CAL_DAY_OF_WEEK] = {weekdays, 1},
                                     [CAL_YEAR] = {past, 1},
                                 }};
}

struct cal_range cal_range_clean(struct cal_range r) {
    return (struct cal_range){r.first, MAX(r.last, r.first), r.step > 0 ? r.step : 1};
}

static bool canonical_fields_eq(const struct cal_calendar *a, const struct cal_calendar *b) {
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        if (a->fields[f].n != b->fields[f].n)
            return false;
        for (size_t i = 0; i < a->fields[f].n; i++) {
            struct cal_range x = cal_range_clean(a->fields[f].v[i]), y = cal_range_clean(b->fields[f].v[i]);
            if (x.first != y.first || x.last != y.last || x.step != y.step)
                return false;
        }
    }
    return true;
}

bool cal_calendar_eq(const struct cal_calendar *a, const struct cal_calendar *b) {
    return canonical_fields_eq(a, b) && str_eq(a->comment, b->comment);
}

struct str cal_calendar_carried(const struct cal_calendar *c) {
    struct cal_calendar placeholder = placeholder_calendar();
    if (!str_starts(c->comment, PLACEHOLDER_MARK) || !canonical_fields_eq(c, &placeholder))
        return (struct str){0};
    return word_trim(word_from(c->comment, PLACEHOLDER_MARK.n));
}

static void canonical_add_range(struct buf *out, enum cal_field field, struct cal_range r) {
    const struct field_kind *k = field_kind(field);
    r = cal_range_clean(r);
    if (r.first == k->min && r.last == k->range_max && field != CAL_YEAR)
        buf_add_cstr(out, "*");
    else if (r.last > r.first)
        buf_printf(out, "%d-%d", r.first, r.last);
    else
        buf_printf(out, "%d", r.first);
    if (r.step > 1 && r.last > r.first)
        buf_printf(out, "/%d", r.step);
}

void cal_calendar_text(const struct cal_calendar *c, struct buf *out) {
    struct str carried = cal_calendar_carried(c);
    if (carried.n > 0) {
        buf_add_str(out, carried);
        return;
    }
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        const struct cal_ranges *ranges = &c->fields[f];
        buf_add_cstr(out, f > 0 ? " " : "");
        if (ranges->n == 0)
            buf_add_cstr(out, f == CAL_YEAR ? "*" : "none"); /* matches nothing; no string expresses that */
        for (size_t i = 0; i < ranges->n; i++) {
            buf_add_cstr(out, i > 0 ? "," : "");
            canonical_add_range(out, (enum cal_field)f, ranges->v[i]);
        }
    }
    if (c->comment.n > 0)
        buf_printf(out, " # %.*s", (int)c->comment.n, c->comment.p);
}
