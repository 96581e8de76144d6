/* Holiday calendars as exclusions.
 *
 * Days come as structured calendars, cron strings or dates. Each calendar is read into a spec of its own,
 * since its strings need not agree with those of a schedule about a zone: they have none, the days are those
 * of the schedule's zone. */
#include "core/schedule/holiday.h"

#include "cal/civil.h"
#include "cal/word.h"
#include "core/step/validate.h"

#define CRON_FIELDS_MAX 8 /* one more than a cron string can have */

static const struct cal_range every_60[] = {{0, 59, 0}}, every_24[] = {{0, 23, 0}},
                              every_dom[] = {{1, 31, 0}}, every_month[] = {{1, 12, 0}},
                              every_dow[] = {{0, 6, 0}};

/* The whole day, and every day, month or weekday where nothing is said. */
static void holiday_widen_calendar(struct cal_calendar *c) {
    c->fields[CAL_SECOND] = c->fields[CAL_MINUTE] = (struct cal_ranges){every_60, 1};
    c->fields[CAL_HOUR] = (struct cal_ranges){every_24, 1};
    if (!c->fields[CAL_DAY_OF_MONTH].n)
        c->fields[CAL_DAY_OF_MONTH] = (struct cal_ranges){every_dom, 1};
    if (!c->fields[CAL_MONTH].n)
        c->fields[CAL_MONTH] = (struct cal_ranges){every_month, 1};
    if (!c->fields[CAL_DAY_OF_WEEK].n)
        c->fields[CAL_DAY_OF_WEEK] = (struct cal_ranges){every_dow, 1};
}

static int exclude_day(struct cal_spec *s, const Schedule__StructuredCalendarSpec *day, struct err *err) {
    struct cal_calendar c;
    int rc = spec_calendar(day, s->arena, &c);
    if (rc < 0)
        return err_std(err, rc);
    /* A placeholder stands for its text, which says itself when it is. */
    if (!cal_calendar_carried(&c).n)
        holiday_widen_calendar(&c);
    return cal_spec_exclude_calendar(s, &c, err);
}

/* The same days at all times: seconds, minutes and hours become stars. What is no plain cron string is taken
 * as it stands. NULL without memory. */
static const char *widen_cron(struct arena *arena, const char *text) {
    struct str words[CRON_FIELDS_MAX], rest = str_of(text), word;
    size_t n = 0;
    while (n < CRON_FIELDS_MAX && (word = word_next(&rest)).n && *word.p != '#')
        words[n++] = word;
    if (n < 5 || n > 7 || strpbrk(text, "@=;"))
        return text;
    const struct str *day = &words[n == 7 ? 3 : 2];
    struct str year = n > 5 ? words[n - 1] : STR("*");
    return arena_printf(arena, "* * * %.*s %.*s %.*s %.*s", (int)day[0].n, day[0].p, (int)day[1].n, day[1].p,
                        (int)day[2].n, day[2].p, (int)year.n, year.p);
}

static int exclude_cron(struct cal_spec *s, const char *text, struct err *err) {
    const char *wide = widen_cron(s->arena, text);
    if (!wide)
        return err_std(err, ERR_NO_MEMORY);
    int rc = cal_spec_exclude_cron(s, str_of(wide), err);
    if (rc == 0 && s->string_zone.n)
        return err_set(err, ERR_INVALID, "\"%.100s\": a holiday calendar has no time zone of its own", text);
    return rc;
}

static int holiday_exclude_date(struct cal_spec *s, const char *text, struct err *err) {
    struct civil_stamp stamp;
    size_t at = 0;
    if (civil_parse(str_of(text), &stamp, &at) < 0 || stamp.has_time)
        return err_set(err, ERR_INVALID, "\"%.100s\" is not a date like 2026-12-25", text);
    struct civil_date date = civil_date_of(civil_day_of(stamp.local_s));
    struct cal_range day = {date.day, 0, 0}, month = {date.month, 0, 0}, year = {(int32_t)date.year, 0, 0};
    struct cal_calendar c = {
        .fields = {[CAL_DAY_OF_MONTH] = {&day, 1}, [CAL_MONTH] = {&month, 1}, [CAL_YEAR] = {&year, 1}}};
    holiday_widen_calendar(&c);
    return cal_spec_exclude_calendar(s, &c, err);
}

static int read_calendar(struct cal_spec *s, const Rondo__HolidayCalendar *calendar, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < calendar->n_days && rc == 0; i++)
        rc = exclude_day(s, calendar->days[i], err);
    for (size_t i = 0; i < calendar->n_cron_strings && rc == 0; i++)
        rc = exclude_cron(s, calendar->cron_strings[i], err);
    for (size_t i = 0; i < calendar->n_dates && rc == 0; i++)
        rc = holiday_exclude_date(s, calendar->dates[i], err);
    return rc;
}

/* Everything as it was written: a time of day does not count, and must be one all the same. */
static int check_written(const Rondo__HolidayCalendar *calendar, struct arena *arena, struct err *err) {
    struct cal_spec s;
    int rc = 0;
    cal_spec_init(&s, arena, str_of(calendar->name));
    for (size_t i = 0; i < calendar->n_days && rc == 0; i++) {
        struct cal_calendar c;
        rc = spec_calendar(calendar->days[i], arena, &c);
        rc = rc == 0 ? cal_spec_exclude_calendar(&s, &c, err) : err_std(err, rc);
    }
    for (size_t i = 0; i < calendar->n_cron_strings && rc == 0; i++)
        rc = cal_spec_exclude_cron(&s, str_of(calendar->cron_strings[i]), err);
    return rc;
}

int holidays_validate(const Rondo__HolidayCalendar *calendar, struct arena *arena, struct err *err) {
    cleanup(cal_freep) struct cal *compiled = NULL;
    struct cal_spec s;
    struct err why = {0};
    if (!calendar)
        return err_set(err, ERR_INVALID, "Calendar is not set on request.");
    int rc = validate_required(calendar->name, "Calendar name", err);
    if (rc < 0)
        return rc;
    cal_spec_init(&s, arena, str_of(calendar->name));
    rc = check_written(calendar, arena, &why);
    if (rc == 0)
        rc = read_calendar(&s, calendar, &why);
    if (rc == 0)
        rc = cal_new(&s, NULL, &compiled, &why);
    return rc < 0 ? err_set(err, rc, "Invalid holiday calendar %.200s: %s", calendar->name, why.text) : 0;
}

const Rondo__HolidayCalendar *holidays_find(const State__Namespace *space, const char *name) {
    for (size_t i = 0; space && i < space->n_holiday_calendars; i++)
        if (cstr_eq(space->holiday_calendars[i]->name, name))
            return space->holiday_calendars[i];
    return NULL;
}

int holidays_validate_names(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                            struct err *err) {
    for (size_t i = 0; i < extras->n_holiday_calendars; i++)
        if (!holidays_find(space, extras->holiday_calendars[i]))
            return err_set(err, ERR_INVALID, "the namespace has no holiday calendar \"%.200s\"",
                           extras->holiday_calendars[i]);
    return 0;
}

int holidays_exclude(struct cal_spec *spec, const State__Namespace *space,
                     const Rondo__ScheduleExtras *extras, struct err *err) {
    struct cal_spec days;
    int rc = 0;
    cal_spec_init(&days, spec->arena, spec->seed);
    for (size_t i = 0; i < extras->n_holiday_calendars && rc == 0; i++) {
        const Rondo__HolidayCalendar *calendar = holidays_find(space, extras->holiday_calendars[i]);
        rc = calendar ? read_calendar(&days, calendar, err) : 0;
    }
    for (size_t i = 0; i < days.exclude_count && rc == 0; i++)
        rc = cal_spec_exclude_calendar(spec, &days.excludes[i], err);
    return rc;
}

const char *holidays_missing(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                             struct arena *arena) {
    const char *text = "";
    for (size_t i = 0; text && extras && i < extras->n_holiday_calendars; i++)
        if (!holidays_find(space, extras->holiday_calendars[i]))
            text = arena_printf(arena, "%s The holiday calendar \"%s\" does not exist: it excludes nothing.",
                                text, extras->holiday_calendars[i]);
    return text;
}

void holidays_show_missing(const Rondo__ScheduleExtras *extras, const State__Namespace *space,
                           Schedule__ScheduleInfo *info, struct arena *arena) {
    size_t n = extras ? extras->n_holiday_calendars : 0;
    char **names = n ? arena_array(arena, char *, n) : NULL;
    for (size_t i = 0; names && i < n; i++)
        if (!holidays_find(space, extras->holiday_calendars[i]))
            names[info->n_missing_holiday_calendars++] = arena_strdup(arena, extras->holiday_calendars[i]);
    info->missing_holiday_calendars = names;
}

const char *holidays_reason(const Rondo__ScheduleExtras *extras, struct arena *arena) {
    char *names = arena_strdup(arena, "");
    for (size_t i = 0; names && i < extras->n_holiday_calendars; i++)
        names = arena_printf(arena, "%s%s\"%s\"", names, i ? ", " : "", extras->holiday_calendars[i]);
    const char *reason = names ? arena_printf(arena, "a holiday calendar excludes it: %s", names) : NULL;
    return reason ? reason : "a holiday calendar excludes it";
}
