/* The spec of a schedule between its three forms: the message that clients send and read, the canonical form
 * of cal, and the compiled one.
 *
 * The holiday calendars that a schedule names are joined as exclusions when it is compiled and are no part of
 * the stored spec, so changing one changes every schedule that names it. A calendar that is gone excludes
 * nothing. */
#include "core/schedule/holiday.h"
#include "core/schedule/schedule_int.h"

struct ranges {
    size_t *n;
    Schedule__Range ***v;
};

static struct ranges ranges_of(Schedule__StructuredCalendarSpec *c, enum cal_field field) {
    switch (field) {
    case CAL_SECOND:
        return (struct ranges){&c->n_second, &c->second};
    case CAL_MINUTE:
        return (struct ranges){&c->n_minute, &c->minute};
    case CAL_HOUR:
        return (struct ranges){&c->n_hour, &c->hour};
    case CAL_DAY_OF_MONTH:
        return (struct ranges){&c->n_day_of_month, &c->day_of_month};
    case CAL_MONTH:
        return (struct ranges){&c->n_month, &c->month};
    case CAL_DAY_OF_WEEK:
        return (struct ranges){&c->n_day_of_week, &c->day_of_week};
    case CAL_YEAR:
    case CAL_FIELD_COUNT:
        break;
    }
    return (struct ranges){&c->n_year, &c->year};
}

/* message -> cal */

int spec_calendar(const Schedule__StructuredCalendarSpec *in, struct arena *arena, struct cal_calendar *ret) {
    *ret = (struct cal_calendar){.comment = str_of(in->comment)};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct ranges r = ranges_of((Schedule__StructuredCalendarSpec *)(uintptr_t)in, (enum cal_field)f);
        struct cal_range *v = *r.n ? arena_array(arena, struct cal_range, *r.n) : NULL;
        if (*r.n && !v)
            return ERR_NO_MEMORY;
        for (size_t i = 0; i < *r.n; i++)
            v[i] = (struct cal_range){(*r.v)[i]->start, (*r.v)[i]->end, (*r.v)[i]->step};
        ret->fields[f] = (struct cal_ranges){v, *r.n};
    }
    return 0;
}

static struct cal_strings strings_of(const Schedule__CalendarSpec *in) {
    return (struct cal_strings){.fields = {[CAL_SECOND] = str_of(in->second),
                                           [CAL_MINUTE] = str_of(in->minute),
                                           [CAL_HOUR] = str_of(in->hour),
                                           [CAL_DAY_OF_MONTH] = str_of(in->day_of_month),
                                           [CAL_MONTH] = str_of(in->month),
                                           [CAL_DAY_OF_WEEK] = str_of(in->day_of_week),
                                           [CAL_YEAR] = str_of(in->year)},
                                .comment = str_of(in->comment)};
}

static int read_interval(struct cal_spec *s, const Schedule__IntervalSpec *in, struct err *err) {
    if (!pb_duration_valid(in->interval))
        return err_set(err, ERR_INVALID, "interval is not a valid duration");
    if (!pb_duration_valid(in->phase))
        return err_set(err, ERR_INVALID, "phase is not a valid duration");
    struct cal_interval interval = {pb_duration_us(in->interval), pb_duration_us(in->phase)};
    return cal_spec_add_interval(s, &interval, err);
}

static int read_includes(struct cal_spec *s, const Schedule__ScheduleSpec *in, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < in->n_structured_calendar && rc == 0; i++) {
        struct cal_calendar c;
        rc = spec_calendar(in->structured_calendar[i], s->arena, &c);
        rc = rc == 0 ? cal_spec_add_calendar(s, &c, err) : err_std(err, rc);
    }
    for (size_t i = 0; i < in->n_calendar && rc == 0; i++) {
        struct cal_strings c = strings_of(in->calendar[i]);
        rc = cal_spec_add_strings(s, &c, err);
    }
    for (size_t i = 0; i < in->n_interval && rc == 0; i++)
        rc = read_interval(s, in->interval[i], err);
    for (size_t i = 0; i < in->n_cron_string && rc == 0; i++)
        rc = cal_spec_add_cron(s, str_of(in->cron_string[i]), err);
    return rc;
}

static int read_excludes(struct cal_spec *s, const Schedule__ScheduleSpec *in, struct err *err) {
    int rc = 0;
    for (size_t i = 0; i < in->n_exclude_structured_calendar && rc == 0; i++) {
        struct cal_calendar c;
        rc = spec_calendar(in->exclude_structured_calendar[i], s->arena, &c);
        rc = rc == 0 ? cal_spec_exclude_calendar(s, &c, err) : err_std(err, rc);
    }
    for (size_t i = 0; i < in->n_exclude_calendar && rc == 0; i++) {
        struct cal_strings c = strings_of(in->exclude_calendar[i]);
        rc = cal_spec_exclude_strings(s, &c, err);
    }
    return rc;
}

static int spec_read_message(struct cal_spec *s, const Schedule__ScheduleSpec *in, struct err *err) {
    if (!pb_timestamp_valid(in->start_time) || !pb_timestamp_valid(in->end_time))
        return err_set(err, ERR_INVALID, "start_time or end_time is not a valid time");
    /* As others: a jitter that is not one is none. */
    s->jitter_us = pb_duration_valid(in->jitter) ? pb_duration_us(in->jitter) : 0;
    s->start_us = in->start_time ? pb_timestamp_us(in->start_time) : CAL_NO_START;
    s->end_us = in->end_time ? pb_timestamp_us(in->end_time) : CAL_NO_END;
    s->zone_name = str_of(in->timezone_name);
    s->zone_data = pb_bytes(&in->timezone_data);
    int rc = read_includes(s, in, err);
    if (rc == 0)
        rc = read_excludes(s, in, err);
    return rc == 0 ? cal_spec_finish(s, err) : rc;
}

/* cal -> message */

static int write_ranges(struct arena *arena, const struct cal_ranges *in, struct ranges out) {
    Schedule__Range **v = in->n ? arena_array(arena, Schedule__Range *, in->n) : NULL;
    if (in->n && !v)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < in->n; i++) {
        v[i] = pb_arena_new(&schedule__range__descriptor, arena);
        if (!v[i])
            return ERR_NO_MEMORY;
        v[i]->start = in->v[i].first;
        v[i]->end = in->v[i].last;
        v[i]->step = in->v[i].step;
    }
    *out.n = in->n;
    *out.v = v;
    return 0;
}

static int write_calendars(struct arena *arena, const struct cal_calendar *in, size_t n, size_t *ret_n,
                           Schedule__StructuredCalendarSpec ***ret) {
    Schedule__StructuredCalendarSpec **v =
        n ? arena_array(arena, Schedule__StructuredCalendarSpec *, n) : NULL;
    if (n && !v)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++) {
        v[i] = pb_arena_new(&schedule__structured_calendar_spec__descriptor, arena);
        if (!v[i])
            return ERR_NO_MEMORY;
        for (int f = 0; f < CAL_FIELD_COUNT; f++)
            if (write_ranges(arena, &in[i].fields[f], ranges_of(v[i], (enum cal_field)f)) < 0)
                return ERR_NO_MEMORY;
        if (in[i].comment.n && !(v[i]->comment = arena_strndup(arena, in[i].comment.p, in[i].comment.n)))
            return ERR_NO_MEMORY;
    }
    *ret_n = n;
    *ret = v;
    return 0;
}

static int write_intervals(struct arena *arena, const struct cal_spec *in, Schedule__ScheduleSpec *out) {
    Schedule__IntervalSpec **v =
        in->interval_count ? arena_array(arena, Schedule__IntervalSpec *, in->interval_count) : NULL;
    if (in->interval_count && !v)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < in->interval_count; i++) {
        v[i] = pb_arena_new(&schedule__interval_spec__descriptor, arena);
        if (!v[i])
            return ERR_NO_MEMORY;
        v[i]->interval = pb_arena_duration(in->intervals[i].interval_us, arena);
        v[i]->phase = in->intervals[i].phase_us ? pb_arena_duration(in->intervals[i].phase_us, arena) : NULL;
    }
    out->n_interval = in->interval_count;
    out->interval = v;
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

static int write_spec(struct arena *arena, const struct cal_spec *in, Schedule__ScheduleSpec *out) {
    int rc = write_calendars(arena, in->calendars, in->calendar_count, &out->n_structured_calendar,
                             &out->structured_calendar);
    if (rc == 0)
        rc = write_calendars(arena, in->excludes, in->exclude_count, &out->n_exclude_structured_calendar,
                             &out->exclude_structured_calendar);
    if (rc == 0)
        rc = write_intervals(arena, in, out);
    if (rc < 0)
        return rc;
    out->n_calendar = out->n_exclude_calendar = out->n_cron_string = 0;
    if (in->zone_name.n && !(out->timezone_name = arena_strndup(arena, in->zone_name.p, in->zone_name.n)))
        return ERR_NO_MEMORY;
    return 0;
}

/* A string that a client could not send: exclusions are calendars on the wire. */
int schedule_exclude_cron(struct arena *arena, Schedule__ScheduleSpec *spec, const char *text,
                          struct err *err) {
    struct cal_spec s;
    cal_spec_init(&s, arena, STR(""));
    int rc = 0;
    for (size_t i = 0; i < spec->n_exclude_structured_calendar && rc == 0; i++) {
        struct cal_calendar c;
        rc = spec_calendar(spec->exclude_structured_calendar[i], arena, &c);
        rc = rc == 0 ? cal_spec_exclude_calendar(&s, &c, err) : err_std(err, rc);
    }
    if (rc == 0)
        rc = cal_spec_exclude_cron(&s, str_of(text), err);
    if (rc < 0)
        return rc;
    rc = write_calendars(arena, s.excludes, s.exclude_count, &spec->n_exclude_structured_calendar,
                         &spec->exclude_structured_calendar);
    return rc < 0 ? err_std(err, rc) : 0;
}

int spec_canonise(struct arena *arena, const char *schedule_id, const struct cal_zones *zones,
                  Schedule__ScheduleSpec *spec, struct err *err) {
    cleanup(cal_freep) struct cal *compiled = NULL;
    struct cal_spec s;
    struct err why = {0};
    cal_spec_init(&s, arena, str_of(schedule_id));
    int rc = spec_read_message(&s, spec, &why);
    if (rc == 0 && s.calendar_count + s.exclude_count > LIMIT_SPEC_CALENDARS)
        rc = err_set(&why, ERR_INVALID, "it has more than %d calendars and exclusions", LIMIT_SPEC_CALENDARS);
    if (rc == 0)
        rc = cal_new(&s, zones, &compiled, &why);
    if (rc == ERR_NO_MEMORY)
        return err_std(err, rc);
    if (rc < 0)
        return err_set(err, rc, "Invalid schedule spec: %s", why.text);
    rc = write_spec(arena, &s, spec);
    return rc < 0 ? err_std(err, rc) : 0;
}

/* compiled */

struct str spec_seed(const char *namespace_id, const char *schedule_id, struct arena *arena) {
    const char *seed = arena_printf(arena, "%s-%s", namespace_id, schedule_id);
    return seed ? str_of(seed) : (struct str){0};
}

void times_done(struct times *t) {
    cal_free(t->real);
    cal_free(t->raw);
    cal_free(t->without_holidays);
    *t = (struct times){0};
}

static int spec_compile_part(const struct cal_spec *spec, size_t exclude_count, const struct cal_zones *zones,
                             struct cal **ret, struct err *err) {
    struct cal_spec part = *spec;
    part.exclude_count = exclude_count;
    return cal_new(&part, zones, ret, err);
}

int schedule_read_spec(const Schedule__Schedule *schedule, const State__Namespace *space, struct cal_spec *s,
                       size_t *ret_own, struct err *err) {
    int rc = schedule->spec ? spec_read_message(s, schedule->spec, err) : 0;
    *ret_own = s->exclude_count;
    return rc == 0 && schedule->extras ? holidays_exclude(s, space, schedule->extras, err) : rc;
}

int times_new(const State__Execution *st, const State__Namespace *space, const struct cal_zones *zones,
              struct arena *arena, struct times *ret, struct err *err) {
    const State__Schedule *sch = st->schedule;
    struct cal_spec s;
    *ret = (struct times){.seed = spec_seed(st->namespace_id, sch->schedule_id, arena)};
    if (!ret->seed.p)
        return err_std(err, ERR_NO_MEMORY);
    cal_spec_init(&s, arena, str_of(sch->schedule_id));
    size_t own;
    int rc = schedule_read_spec(sch->schedule, space, &s, &own, err);
    if (rc == 0)
        rc = spec_compile_part(&s, s.exclude_count, zones, &ret->real, err);
    if (rc == 0 && s.exclude_count)
        rc = spec_compile_part(&s, 0, zones, &ret->raw, err);
    if (rc == 0 && s.exclude_count > own)
        rc = spec_compile_part(&s, own, zones, &ret->without_holidays, err);
    if (rc == 0 && ret->without_holidays)
        ret->holiday_reason = holidays_reason(sch->schedule->extras, arena);
    if (rc < 0)
        times_done(ret);
    return rc;
}

const char *times_exclusion(const struct times *t, int64_t nominal_s) {
    if (!t->raw || cal_judge(t->real, nominal_s, NULL) != CAL_EXCLUDED)
        return NULL;
    if (!t->without_holidays || cal_judge(t->without_holidays, nominal_s, NULL) == CAL_EXCLUDED)
        return "the spec excludes it";
    return t->holiday_reason;
}

uint64_t times_judge_work(const struct times *t) {
    return t->raw ? cal_judge_work(t->real) + (t->without_holidays ? cal_judge_work(t->without_holidays) : 0)
                  : 1;
}

bool times_last(const struct times *t, int64_t lo_us, int64_t hi_us, struct cal_time *ret) {
    struct cal_time at;
    bool is_found = false;
    /* Between lo_us and hi_us lies the answer, if there is one; both come closer until they meet. */
    for (int64_t after_us = lo_us; lo_us < hi_us;) {
        bool is_within = cal_next(times_all(t), t->seed, after_us, &at) == CAL_FOUND &&
                         at.nominal_s * USEC_PER_SEC <= hi_us;
        if (is_within) {
            *ret = at;
            is_found = true;
            lo_us = at.nominal_s * USEC_PER_SEC;
        } else if (after_us == lo_us) {
            break;
        } else {
            hi_us = after_us;
        }
        after_us = lo_us + (hi_us - lo_us) / 2;
    }
    return is_found;
}
