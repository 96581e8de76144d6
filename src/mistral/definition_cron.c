/* Cron expressions that survive the server.
 *
 * The server turns cron expressions into calendars. To show an expression
 * again, and to know which calendars to remove when only the expressions are
 * replaced, each expression is sent with itself as its comment. A calendar
 * came from a cron expression when its comment is an expression with the same
 * times. */
#include "mistral/definition_cron.h"

#include "core/step/pb.h"

struct definition_ranges definition_ranges_of(Schedule__StructuredCalendarSpec *c, enum cal_field field) {
    struct definition_ranges all[CAL_FIELD_COUNT] = {
        [CAL_SECOND] = {&c->n_second, &c->second},
        [CAL_MINUTE] = {&c->n_minute, &c->minute},
        [CAL_HOUR] = {&c->n_hour, &c->hour},
        [CAL_DAY_OF_MONTH] = {&c->n_day_of_month, &c->day_of_month},
        [CAL_MONTH] = {&c->n_month, &c->month},
        [CAL_DAY_OF_WEEK] = {&c->n_day_of_week, &c->day_of_week},
        [CAL_YEAR] = {&c->n_year, &c->year}};
    return all[field];
}

/* The calendar of one expression; NULL when it is invalid or is not exactly one calendar. */
static const struct cal_calendar *definition_cron_calendar(struct cal_spec *s, struct str text,
                                                           struct arena *a) {
    struct err e;
    cal_spec_init(s, a, STR(""));
    if (!text.n || cal_spec_add_cron(s, text, &e) < 0 || s->calendar_count != 1 || s->interval_count)
        return NULL;
    return &s->calendars[0];
}

static bool definition_has_same_times(const struct cal_calendar *a, const struct cal_calendar *b) {
    struct cal_calendar x = *a, y = *b;
    x.comment = y.comment = STR("");
    return cal_calendar_eq(&x, &y);
}

static struct cal_calendar definition_calendar_of(struct arena *a, Schedule__StructuredCalendarSpec *c) {
    struct cal_calendar ret = {.comment = str_of(c->comment)};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct definition_ranges r = definition_ranges_of(c, (enum cal_field)f);
        struct cal_range *v = *r.n ? arena_array(a, struct cal_range, *r.n) : NULL;
        for (size_t i = 0; v && i < *r.n; i++)
            v[i] = (struct cal_range){(*r.v)[i]->start, (*r.v)[i]->end, (*r.v)[i]->step};
        ret.fields[f] = (struct cal_ranges){v, v ? *r.n : 0};
    }
    return ret;
}

struct str definition_cron_of(struct arena *a, Schedule__StructuredCalendarSpec *c) {
    struct cal_calendar calendar = definition_calendar_of(a, c);
    struct str carried = cal_calendar_carried(&calendar);
    struct cal_spec s;
    if (carried.n)
        return carried;
    const struct cal_calendar *meant = definition_cron_calendar(&s, calendar.comment, a);
    return meant && definition_has_same_times(meant, &calendar) ? calendar.comment : STR("");
}

/* A comment in the expression itself is replaced. */
char *definition_label_cron(struct dialog *x, struct str text) {
    struct cal_spec s;
    const struct cal_calendar *c = definition_cron_calendar(&s, text, &x->arena);
    if (!c || cal_calendar_carried(c).n || text.n > CAL_COMMENT_BYTES_MAX)
        return dialog_copy_text(&x->arena, text);
    const char *sharp = c->comment.n ? memmem(text.p, text.n, "#", 1) : NULL;
    size_t body = sharp ? (size_t)(sharp - text.p) : text.n;
    return arena_printf(&x->arena, "%.*s # %.*s", (int)body, text.p, (int)text.n, text.p);
}
