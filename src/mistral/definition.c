/* Reads the definition of a schedule.
 *
 * Happy path: each part that is given replaces that part of the schedule. To
 * report a mistake at its place, each range, cron expression and interval is
 * first added alone to an empty spec of cal; the server will do the same with
 * all of them. Mistakes become complaints and the rest is still read. */
#include "mistral/definition.h"

#include "cal/cal.h"
#include "core/step/pb.h"
#include "mistral/definition_cron.h"
#include "mistral/payload.h"
#include "names.h"

/* The first and last value of each field; years have no bounds here. */
static const struct {
    int32_t min, max;
} whole_fields[CAL_FIELD_COUNT] = {
    [CAL_SECOND] = {0, 59}, [CAL_MINUTE] = {0, 59},     [CAL_HOUR] = {0, 23}, [CAL_DAY_OF_MONTH] = {1, 31},
    [CAL_MONTH] = {1, 12},  [CAL_DAY_OF_WEEK] = {0, 6}, [CAL_YEAR] = {0, 0}};

/* What a calendar is for: its times start executions, or no execution starts at its times. */
enum definition_use { DEFINITION_INCLUDES, DEFINITION_SKIPS };

/* A calendar that matches always, but for one field with this range. all: memory for its ranges. */
static struct cal_calendar definition_probe_calendar(enum cal_field field, const struct cal_range *r,
                                                     struct cal_range all[]) {
    struct cal_calendar c = {0};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        all[f] = (struct cal_range){whole_fields[f].min, whole_fields[f].max, 1};
        c.fields[f] = f == CAL_YEAR ? (struct cal_ranges){NULL, 0} : (struct cal_ranges){&all[f], 1};
    }
    c.fields[field] = (struct cal_ranges){r, 1};
    return c;
}

/* Turns an error of cal into a complaint at this place. Returns whether there was none. */
static bool definition_check_part(struct dialog *x, const struct place *at, int rc, const struct err *e) {
    if (rc < 0)
        complaints_add(&x->complaints, at, "value_error", "Value error, %s", e->text);
    return rc == 0;
}

static Schedule__Range *definition_make_range(struct dialog *x, int32_t first, int32_t last, int32_t step) {
    Schedule__Range *r = dialog_new_message(&x->arena, &schedule__range__descriptor);
    if (r)
        *r = (Schedule__Range){r->base, first, last, step};
    return r;
}

/* The client sends 0 for an end or a step that was not set. */
static Schedule__Range *definition_read_range(struct dialog *x, const struct place *at, enum cal_field field,
                                              const struct record *r) {
    struct cal_range all[CAL_FIELD_COUNT];
    int32_t first = (int32_t)r->v[range_start].whole, last = (int32_t)r->v[range_end].whole;
    struct cal_range range = {first, last ? last : first, (int32_t)r->v[range_step].whole};
    struct cal_calendar c = definition_probe_calendar(field, &range, all);
    struct cal_spec s;
    struct err e;
    cal_spec_init(&s, &x->arena, STR(""));
    if (!definition_check_part(x, at, cal_spec_add_calendar(&s, &c, &e), &e))
        return NULL;
    return definition_make_range(x, range.first, range.last, range.step ? range.step : 1);
}

/* A second, minute or hour that is not given is 0 in a calendar that starts executions, and any in one that
 * is skipped. A day, month or year that is not given is any. */
static void definition_default_field(struct dialog *x, enum cal_field field, enum definition_use use,
                                     struct definition_ranges out) {
    bool is_clock = field == CAL_SECOND || field == CAL_MINUTE || field == CAL_HOUR;
    int32_t max = is_clock && use == DEFINITION_INCLUDES ? 0 : whole_fields[field].max;
    *out.n = 0;
    if (field == CAL_YEAR || !(*out.v = arena_array(&x->arena, Schedule__Range *, 1)))
        return;
    (*out.v)[0] = definition_make_range(x, whole_fields[field].min, max, 1);
    *out.n = (*out.v)[0] ? 1 : 0;
}

static void definition_read_field(struct dialog *x, const struct place *at, enum cal_field field,
                                  const struct field_value *given, enum definition_use use,
                                  struct definition_ranges out) {
    if (!given->count) {
        definition_default_field(x, field, use, out);
        return;
    }
    *out.v = arena_array(&x->arena, Schedule__Range *, given->count);
    for (size_t i = 0; *out.v && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        Schedule__Range *r = definition_read_range(x, &each, field, given->records[i]);
        if (r)
            (*out.v)[(*out.n)++] = r;
    }
}

static Schedule__StructuredCalendarSpec *definition_read_calendar(struct dialog *x, const struct place *at,
                                                                  const struct record *r,
                                                                  enum definition_use use) {
    Schedule__StructuredCalendarSpec *c =
        dialog_new_message(&x->arena, &schedule__structured_calendar_spec__descriptor);
    struct field_value comment = r->v[calendar_comment];
    struct place comment_at = {.up = at, .name = STR("comment")};
    for (int f = 0; c && f < CAL_FIELD_COUNT; f++) {
        struct place field_at = {.up = at, .name = str_of(shape_calendar.fields[f].name)};
        definition_read_field(x, &field_at, (enum cal_field)f, &r->v[f], use,
                              definition_ranges_of(c, (enum cal_field)f));
    }
    if (comment.text.n > CAL_COMMENT_BYTES_MAX)
        complaints_add(&x->complaints, &comment_at, "string_too_long", "String should have at most %d bytes",
                       CAL_COMMENT_BYTES_MAX);
    if (c && comment.text.n)
        c->comment = dialog_copy_text(&x->arena, comment.text);
    return c;
}

static void definition_read_calendars(struct dialog *x, const struct place *at,
                                      const struct field_value *given, enum definition_use use, size_t *n,
                                      Schedule__StructuredCalendarSpec ***v) {
    Schedule__StructuredCalendarSpec **all =
        arena_array(&x->arena, Schedule__StructuredCalendarSpec *, *n + given->count + 1);
    for (size_t i = 0; all && i < *n; i++)
        all[i] = (*v)[i];
    *v = all;
    for (size_t i = 0; all && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        Schedule__StructuredCalendarSpec *c = definition_read_calendar(x, &each, given->records[i], use);
        if (c)
            all[(*n)++] = c;
    }
}

static void definition_read_intervals(struct dialog *x, const struct place *at,
                                      const struct field_value *given, Schedule__ScheduleSpec *spec) {
    struct arena *a = &x->arena;
    spec->n_interval = 0;
    spec->interval = arena_array(a, Schedule__IntervalSpec *, given->count + 1);
    for (size_t i = 0; spec->interval && i < given->count; i++) {
        const struct field_value *v = given->records[i]->v;
        struct place each = {.up = at, .index = i}, every_at = {.up = &each, .name = STR("every")},
                     offset_at = {.up = &each, .name = STR("offset")};
        struct cal_interval alone = {v[interval_every].whole, 0},
                            whole = {alone.interval_us, v[interval_offset].whole};
        struct cal_spec s;
        struct err e;
        cal_spec_init(&s, a, STR(""));
        if (!definition_check_part(x, &every_at, cal_spec_add_interval(&s, &alone, &e), &e) ||
            !definition_check_part(x, &offset_at, cal_spec_add_interval(&s, &whole, &e), &e))
            continue;
        Schedule__IntervalSpec *m = dialog_new_message(a, &schedule__interval_spec__descriptor);
        if (!m)
            return;
        m->interval = pb_arena_duration(whole.interval_us, a);
        m->phase = whole.phase_us ? pb_arena_duration(whole.phase_us, a) : NULL;
        spec->interval[spec->n_interval++] = m;
    }
}

static void definition_read_crons(struct dialog *x, const struct place *at, const struct field_value *given,
                                  Schedule__ScheduleSpec *spec) {
    spec->n_cron_string = 0;
    spec->cron_string = arena_array(&x->arena, char *, given->count + 1);
    for (size_t i = 0; spec->cron_string && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        struct cal_spec s;
        struct err e;
        cal_spec_init(&s, &x->arena, STR(""));
        if (!definition_check_part(x, &each, cal_spec_add_cron(&s, given->texts[i], &e), &e))
            continue;
        char *text = definition_label_cron(x, given->texts[i]);
        if (text)
            spec->cron_string[spec->n_cron_string++] = text;
    }
}

/* Removes the calendars that came from cron expressions. */
static void definition_drop_cron_calendars(struct dialog *x, Schedule__ScheduleSpec *spec) {
    size_t n = 0;
    for (size_t i = 0; i < spec->n_structured_calendar; i++)
        if (!definition_cron_of(&x->arena, spec->structured_calendar[i]).n)
            spec->structured_calendar[n++] = spec->structured_calendar[i];
    spec->n_structured_calendar = n;
}

/* Removes the calendars that did not come from cron expressions. */
static void definition_drop_plain_calendars(struct dialog *x, Schedule__ScheduleSpec *spec) {
    size_t n = 0;
    for (size_t i = 0; i < spec->n_structured_calendar; i++)
        if (definition_cron_of(&x->arena, spec->structured_calendar[i]).n)
            spec->structured_calendar[n++] = spec->structured_calendar[i];
    spec->n_structured_calendar = n;
}

static void definition_read_spec(struct dialog *x, const struct place *at, const struct field_value *v,
                                 Schedule__ScheduleSpec *spec) {
    struct place calendars = {.up = at, .name = STR("calendars")}, skip = {.up = at, .name = STR("skip")},
                 intervals = {.up = at, .name = STR("intervals")},
                 crons = {.up = at, .name = STR("cron_expressions")};
    if (v[definition_calendars].is_given) {
        definition_drop_plain_calendars(x, spec);
        definition_read_calendars(x, &calendars, &v[definition_calendars], DEFINITION_INCLUDES,
                                  &spec->n_structured_calendar, &spec->structured_calendar);
    }
    if (v[definition_cron_expressions].is_given) {
        if (!v[definition_calendars].is_given)
            definition_drop_cron_calendars(x, spec);
        definition_read_crons(x, &crons, &v[definition_cron_expressions], spec);
    }
    if (v[definition_intervals].is_given)
        definition_read_intervals(x, &intervals, &v[definition_intervals], spec);
    if (v[definition_skip].is_given) {
        spec->n_exclude_structured_calendar = 0;
        definition_read_calendars(x, &skip, &v[definition_skip], DEFINITION_SKIPS,
                                  &spec->n_exclude_structured_calendar, &spec->exclude_structured_calendar);
    }
}

static Google__Protobuf__Timestamp *definition_read_time(struct dialog *x, const struct field_value *v) {
    Google__Protobuf__Timestamp *t =
        v->is_null ? NULL : dialog_new_message(&x->arena, &google__protobuf__timestamp__descriptor);
    if (t) {
        t->seconds = v->whole;
        t->nanos = v->nanos;
    }
    return t;
}

static void definition_read_zone(struct dialog *x, const struct place *at, const struct field_value *v,
                                 Schedule__ScheduleSpec *spec) {
    struct place here = {.up = at, .name = STR("time_zone_name")};
    struct zone_label label;
    struct err e;
    spec->timezone_name = dialog_copy_text(&x->arena, v->is_null ? STR("") : v->text);
    spec->timezone_data = (ProtobufCBinaryData){0, NULL};
    if (v->is_null || !v->text.n ||
        !definition_check_part(x, &here, zone_label_parse(v->text, &label, &e), &e))
        return;
    if (label.name.n && !str_is(label.name, "UTC") && !x->m->zones->find(x->m->zones->ctx, label.name))
        complaints_add(&x->complaints, &here, "value_error", "Value error, unknown time zone \"%.*s\"",
                       (int)MIN(label.name.n, 80), label.name.p);
}

static void definition_read_bounds(struct dialog *x, const struct place *at, const struct field_value *v,
                                   Schedule__ScheduleSpec *spec) {
    struct place end_at = {.up = at, .name = STR("end_at")};
    if (v[definition_start_at].is_given)
        spec->start_time = definition_read_time(x, &v[definition_start_at]);
    if (v[definition_end_at].is_given)
        spec->end_time = definition_read_time(x, &v[definition_end_at]);
    if (spec->start_time && spec->end_time && v[definition_end_at].is_given &&
        pb_timestamp_us(spec->end_time) < pb_timestamp_us(spec->start_time))
        complaints_add(&x->complaints, &end_at, "value_error", "Value error, end_at is before start_at");
    if (v[definition_jitter].is_given)
        spec->jitter =
            v[definition_jitter].is_null ? NULL : pb_arena_duration(v[definition_jitter].whole, &x->arena);
    if (v[definition_time_zone_name].is_given)
        definition_read_zone(x, at, &v[definition_time_zone_name], spec);
}

static void definition_read_policy(struct dialog *x, const struct record *r, Schedule__SchedulePolicies *p) {
    const struct field_value *v = r->v;
    if (v[policy_overlap].is_given)
        p->overlap_policy = (E__ScheduleOverlapPolicy)v[policy_overlap].whole;
    if (v[policy_pause_on_failure].is_given)
        p->pause_on_failure = v[policy_pause_on_failure].truth;
    if (v[policy_catchup_window_seconds].is_given)
        p->catchup_window =
            pb_arena_duration(v[policy_catchup_window_seconds].whole * USEC_PER_SEC, &x->arena);
}

static void definition_read_limit(const struct field_value *v, Schedule__ScheduleState *state) {
    state->limited_actions = !v->is_null;
    state->remaining_actions = v->is_null ? 0 : v->whole;
}

/* Adds the parts that the schedule lacks, with the defaults of the dialect. */
static bool definition_add_missing_parts(struct dialog *x, Schedule__Schedule *s) {
    struct arena *a = &x->arena;
    if (!s->spec)
        s->spec = dialog_new_message(a, &schedule__schedule_spec__descriptor);
    if (!s->state)
        s->state = dialog_new_message(a, &schedule__schedule_state__descriptor);
    if (!s->policies && (s->policies = dialog_new_message(a, &schedule__schedule_policies__descriptor))) {
        s->policies->overlap_policy = SCHEDULE_OVERLAP_POLICY_SKIP;
        s->policies->catchup_window = pb_arena_duration(CATCHUP_DEFAULT_S * USEC_PER_SEC, a);
    }
    return s->spec && s->state && s->policies;
}

void definition_read(struct dialog *x, const struct record *definition, Schedule__Schedule *s) {
    const struct field_value *v = definition->v;
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("schedule")};
    if (!definition_add_missing_parts(x, s))
        return;
    definition_read_spec(x, &at, v, s->spec);
    definition_read_bounds(x, &at, v, s->spec);
    if (v[definition_policy].is_given)
        definition_read_policy(x, v[definition_policy].records[0], s->policies);
    if (v[definition_max_executions].is_given)
        definition_read_limit(&v[definition_max_executions], s->state);
    if (v[definition_input].is_given)
        s->action->start_workflow->input = payload_from_json(&x->arena, v[definition_input]);
}
