/* Specs in both directions.
 *
 * The places of mistakes come from trying each part alone: a range, a cron
 * expression, an interval is added to an empty spec of cal, which is what the
 * server will do with all of them, and its complaint is put at that place.
 *
 * The server turns cron expressions into calendars. To show them again as they
 * were written, and to know which calendars to take away when only the
 * expressions are replaced, each is sent with itself as its comment; a
 * calendar whose comment is a cron expression that means the same calendar came
 * from it. */
#include "mistral/definition.h"

#include "cal/cal.h"
#include "core/step/pb.h"
#include "mistral/payload.h"
#include "names.h"

#define NANOS_PER_USEC 1000
#define FUTURE_MAX 10
#define RECENT_MAX 10
#define CATCHUP_DEFAULT_S 31536000

static const struct {
    int32_t min, max;
} whole_fields[CAL_FIELD_COUNT] = {
    [CAL_SECOND] = {0, 59}, [CAL_MINUTE] = {0, 59},     [CAL_HOUR] = {0, 23}, [CAL_DAY_OF_MONTH] = {1, 31},
    [CAL_MONTH] = {1, 12},  [CAL_DAY_OF_WEEK] = {0, 6}, [CAL_YEAR] = {0, 0}};

struct ranges {
    size_t *n;
    Schedule__Range ***v;
};

static struct ranges ranges_of(Schedule__StructuredCalendarSpec *c, enum cal_field field) {
    struct ranges all[CAL_FIELD_COUNT] = {[CAL_SECOND] = {&c->n_second, &c->second},
                                          [CAL_MINUTE] = {&c->n_minute, &c->minute},
                                          [CAL_HOUR] = {&c->n_hour, &c->hour},
                                          [CAL_DAY_OF_MONTH] = {&c->n_day_of_month, &c->day_of_month},
                                          [CAL_MONTH] = {&c->n_month, &c->month},
                                          [CAL_DAY_OF_WEEK] = {&c->n_day_of_week, &c->day_of_week},
                                          [CAL_YEAR] = {&c->n_year, &c->year}};
    return all[field];
}

/* An empty calendar that matches always, with one range. */
static struct cal_calendar probe(enum cal_field field, const struct cal_range *r, struct cal_range all[]) {
    struct cal_calendar c = {0};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        all[f] = (struct cal_range){whole_fields[f].min, whole_fields[f].max, 1};
        c.fields[f] = f == CAL_YEAR ? (struct cal_ranges){NULL, 0} : (struct cal_ranges){&all[f], 1};
    }
    c.fields[field] = (struct cal_ranges){r, 1};
    return c;
}

/* What cal says is wrong, at the place that is tried. */
static bool blame(struct dialog *x, const struct place *at, int rc, const struct err *e) {
    if (rc < 0)
        complaints_add(&x->complaints, at, "value_error", "Value error, %s", e->text);
    return rc == 0;
}

static Schedule__Range *make_range(struct dialog *x, int32_t first, int32_t last, int32_t step) {
    Schedule__Range *r = message_new(&x->arena, &schedule__range__descriptor);
    if (r)
        *r = (Schedule__Range){r->base, first, last, step};
    return r;
}

/* The client sends 0 for an end and a step that nobody set. */
static Schedule__Range *read_range(struct dialog *x, const struct place *at, enum cal_field field,
                                   const struct record *r) {
    struct cal_range all[CAL_FIELD_COUNT];
    int32_t first = (int32_t)r->v[range_start].whole, last = (int32_t)r->v[range_end].whole;
    struct cal_range range = {first, last ? last : first, (int32_t)r->v[range_step].whole};
    struct cal_calendar c = probe(field, &range, all);
    struct cal_spec s;
    struct err e;
    cal_spec_init(&s, &x->arena, STR(""));
    if (!blame(x, at, cal_spec_add_calendar(&s, &c, &e), &e))
        return NULL;
    return make_range(x, range.first, range.last, range.step ? range.step : 1);
}

/* A field that is not given means its first value in what may run, and every value in what is skipped; days,
 * months and years always mean every one. */
static void default_field(struct dialog *x, enum cal_field field, bool is_skip, struct ranges out) {
    bool is_clock = field == CAL_SECOND || field == CAL_MINUTE || field == CAL_HOUR;
    int32_t max = is_clock && !is_skip ? 0 : whole_fields[field].max;
    *out.n = 0;
    if (field == CAL_YEAR || !(*out.v = arena_array(&x->arena, Schedule__Range *, 1)))
        return;
    (*out.v)[0] = make_range(x, whole_fields[field].min, max, 1);
    *out.n = (*out.v)[0] ? 1 : 0;
}

static void read_field(struct dialog *x, const struct place *at, enum cal_field field,
                       const struct given *given, bool is_skip, struct ranges out) {
    if (!given->count) {
        default_field(x, field, is_skip, out);
        return;
    }
    *out.v = arena_array(&x->arena, Schedule__Range *, given->count);
    for (size_t i = 0; *out.v && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        Schedule__Range *r = read_range(x, &each, field, given->records[i]);
        if (r)
            (*out.v)[(*out.n)++] = r;
    }
}

static Schedule__StructuredCalendarSpec *read_calendar(struct dialog *x, const struct place *at,
                                                       const struct record *r, bool is_skip) {
    Schedule__StructuredCalendarSpec *c =
        message_new(&x->arena, &schedule__structured_calendar_spec__descriptor);
    struct given comment = r->v[calendar_comment];
    struct place comment_at = {.up = at, .name = STR("comment")};
    for (int f = 0; c && f < CAL_FIELD_COUNT; f++) {
        struct place field_at = {.up = at, .name = str_of(shape_calendar.fields[f].name)};
        read_field(x, &field_at, (enum cal_field)f, &r->v[f], is_skip, ranges_of(c, (enum cal_field)f));
    }
    if (comment.text.n > CAL_COMMENT_BYTES_MAX)
        complaints_add(&x->complaints, &comment_at, "string_too_long", "String should have at most %d bytes",
                       CAL_COMMENT_BYTES_MAX);
    if (c && comment.text.n)
        c->comment = message_text(&x->arena, comment.text);
    return c;
}

static void read_calendars(struct dialog *x, const struct place *at, const struct given *given, bool is_skip,
                           size_t *n, Schedule__StructuredCalendarSpec ***v) {
    Schedule__StructuredCalendarSpec **all =
        arena_array(&x->arena, Schedule__StructuredCalendarSpec *, *n + given->count + 1);
    for (size_t i = 0; all && i < *n; i++)
        all[i] = (*v)[i];
    *v = all;
    for (size_t i = 0; all && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        Schedule__StructuredCalendarSpec *c = read_calendar(x, &each, given->records[i], is_skip);
        if (c)
            all[(*n)++] = c;
    }
}

static void read_intervals(struct dialog *x, const struct place *at, const struct given *given,
                           Schedule__ScheduleSpec *spec) {
    struct arena *a = &x->arena;
    spec->n_interval = 0;
    spec->interval = arena_array(a, Schedule__IntervalSpec *, given->count + 1);
    for (size_t i = 0; spec->interval && i < given->count; i++) {
        const struct given *v = given->records[i]->v;
        struct place each = {.up = at, .index = i}, every_at = {.up = &each, .name = STR("every")},
                     offset_at = {.up = &each, .name = STR("offset")};
        struct cal_interval alone = {v[interval_every].whole, 0},
                            whole = {alone.interval_us, v[interval_offset].whole};
        struct cal_spec s;
        struct err e;
        cal_spec_init(&s, a, STR(""));
        if (!blame(x, &every_at, cal_spec_add_interval(&s, &alone, &e), &e) ||
            !blame(x, &offset_at, cal_spec_add_interval(&s, &whole, &e), &e))
            continue;
        Schedule__IntervalSpec *m = message_new(a, &schedule__interval_spec__descriptor);
        if (!m)
            return;
        m->interval = pb_arena_duration(whole.interval_us, a);
        m->phase = whole.phase_us ? pb_arena_duration(whole.phase_us, a) : NULL;
        spec->interval[spec->n_interval++] = m;
    }
}

/* Cron expressions. */

/* The calendar that one expression alone means, when it is one calendar. */
static const struct cal_calendar *cron_calendar(struct cal_spec *s, struct str text, struct arena *a) {
    struct err e;
    cal_spec_init(s, a, STR(""));
    if (!text.n || cal_spec_add_cron(s, text, &e) < 0 || s->calendar_count != 1 || s->interval_count)
        return NULL;
    return &s->calendars[0];
}

static bool same_times(const struct cal_calendar *a, const struct cal_calendar *b) {
    struct cal_calendar x = *a, y = *b;
    x.comment = y.comment = STR("");
    return cal_calendar_eq(&x, &y);
}

static struct cal_calendar calendar_of(struct arena *a, Schedule__StructuredCalendarSpec *c) {
    struct cal_calendar ret = {.comment = str_of(c->comment)};
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct ranges r = ranges_of(c, (enum cal_field)f);
        struct cal_range *v = *r.n ? arena_array(a, struct cal_range, *r.n) : NULL;
        for (size_t i = 0; v && i < *r.n; i++)
            v[i] = (struct cal_range){(*r.v)[i]->start, (*r.v)[i]->end, (*r.v)[i]->step};
        ret.fields[f] = (struct cal_ranges){v, v ? *r.n : 0};
    }
    return ret;
}

/* The expression that a calendar came from; empty when it came from none. */
static struct str cron_of(struct arena *a, Schedule__StructuredCalendarSpec *c) {
    struct cal_calendar calendar = calendar_of(a, c);
    struct str carried = cal_calendar_carried(&calendar);
    struct cal_spec s;
    if (carried.n)
        return carried;
    const struct cal_calendar *meant = cron_calendar(&s, calendar.comment, a);
    return meant && same_times(meant, &calendar) ? calendar.comment : STR("");
}

static char *labelled_cron(struct dialog *x, struct str text) {
    struct cal_spec s;
    const struct cal_calendar *c = cron_calendar(&s, text, &x->arena);
    if (!c || cal_calendar_carried(c).n || text.n > CAL_COMMENT_BYTES_MAX)
        return message_text(&x->arena, text);
    const char *sharp = c->comment.n ? memmem(text.p, text.n, "#", 1) : NULL;
    size_t body = sharp ? (size_t)(sharp - text.p) : text.n;
    return arena_printf(&x->arena, "%.*s # %.*s", (int)body, text.p, (int)text.n, text.p);
}

static void read_crons(struct dialog *x, const struct place *at, const struct given *given,
                       Schedule__ScheduleSpec *spec) {
    spec->n_cron_string = 0;
    spec->cron_string = arena_array(&x->arena, char *, given->count + 1);
    for (size_t i = 0; spec->cron_string && i < given->count; i++) {
        struct place each = {.up = at, .index = i};
        struct cal_spec s;
        struct err e;
        cal_spec_init(&s, &x->arena, STR(""));
        if (!blame(x, &each, cal_spec_add_cron(&s, given->texts[i], &e), &e))
            continue;
        char *text = labelled_cron(x, given->texts[i]);
        if (text)
            spec->cron_string[spec->n_cron_string++] = text;
    }
}

/* Takes away the calendars that came from expressions, or those that did not. */
static void keep_calendars(struct dialog *x, Schedule__ScheduleSpec *spec, bool keeps_crons) {
    size_t n = 0;
    for (size_t i = 0; i < spec->n_structured_calendar; i++) {
        bool is_cron = cron_of(&x->arena, spec->structured_calendar[i]).n > 0;
        if (is_cron == keeps_crons)
            spec->structured_calendar[n++] = spec->structured_calendar[i];
    }
    spec->n_structured_calendar = n;
}

static void read_spec(struct dialog *x, const struct place *at, const struct given *v,
                      Schedule__ScheduleSpec *spec) {
    struct place calendars = {.up = at, .name = STR("calendars")}, skip = {.up = at, .name = STR("skip")},
                 intervals = {.up = at, .name = STR("intervals")},
                 crons = {.up = at, .name = STR("cron_expressions")};
    if (v[definition_calendars].is_given) {
        keep_calendars(x, spec, true);
        read_calendars(x, &calendars, &v[definition_calendars], false, &spec->n_structured_calendar,
                       &spec->structured_calendar);
    }
    if (v[definition_cron_expressions].is_given) {
        if (!v[definition_calendars].is_given)
            keep_calendars(x, spec, false);
        read_crons(x, &crons, &v[definition_cron_expressions], spec);
    }
    if (v[definition_intervals].is_given)
        read_intervals(x, &intervals, &v[definition_intervals], spec);
    if (v[definition_skip].is_given) {
        spec->n_exclude_structured_calendar = 0;
        read_calendars(x, &skip, &v[definition_skip], true, &spec->n_exclude_structured_calendar,
                       &spec->exclude_structured_calendar);
    }
}

/* The rest. */

static Google__Protobuf__Timestamp *read_moment(struct dialog *x, const struct given *v) {
    Google__Protobuf__Timestamp *t =
        v->is_null ? NULL : message_new(&x->arena, &google__protobuf__timestamp__descriptor);
    if (t) {
        t->seconds = v->whole;
        t->nanos = v->nanos;
    }
    return t;
}

static void read_zone(struct dialog *x, const struct place *at, const struct given *v,
                      Schedule__ScheduleSpec *spec) {
    struct place here = {.up = at, .name = STR("time_zone_name")};
    struct zone_label label;
    struct err e;
    spec->timezone_name = message_text(&x->arena, v->is_null ? STR("") : v->text);
    spec->timezone_data = (ProtobufCBinaryData){0, NULL};
    if (v->is_null || !v->text.n || !blame(x, &here, zone_label_parse(v->text, &label, &e), &e))
        return;
    if (label.name.n && !str_is(label.name, "UTC") && !x->m->zones->find(x->m->zones->ctx, label.name))
        complaints_add(&x->complaints, &here, "value_error", "Value error, unknown time zone \"%.*s\"",
                       (int)MIN(label.name.n, 80), label.name.p);
}

static void read_bounds(struct dialog *x, const struct place *at, const struct given *v,
                        Schedule__ScheduleSpec *spec) {
    struct place end_at = {.up = at, .name = STR("end_at")};
    if (v[definition_start_at].is_given)
        spec->start_time = read_moment(x, &v[definition_start_at]);
    if (v[definition_end_at].is_given)
        spec->end_time = read_moment(x, &v[definition_end_at]);
    if (spec->start_time && spec->end_time && v[definition_end_at].is_given &&
        pb_timestamp_us(spec->end_time) < pb_timestamp_us(spec->start_time))
        complaints_add(&x->complaints, &end_at, "value_error", "Value error, end_at is before start_at");
    if (v[definition_jitter].is_given)
        spec->jitter =
            v[definition_jitter].is_null ? NULL : pb_arena_duration(v[definition_jitter].whole, &x->arena);
    if (v[definition_time_zone_name].is_given)
        read_zone(x, at, &v[definition_time_zone_name], spec);
}

static void read_policy(struct dialog *x, const struct record *r, Schedule__SchedulePolicies *p) {
    const struct given *v = r->v;
    if (v[policy_overlap].is_given)
        p->overlap_policy = (E__ScheduleOverlapPolicy)v[policy_overlap].whole;
    if (v[policy_pause_on_failure].is_given)
        p->pause_on_failure = v[policy_pause_on_failure].truth;
    if (v[policy_catchup_window_seconds].is_given)
        p->catchup_window =
            pb_arena_duration(v[policy_catchup_window_seconds].whole * USEC_PER_SEC, &x->arena);
}

static void read_limit(const struct given *v, Schedule__ScheduleState *state) {
    state->limited_actions = !v->is_null;
    state->remaining_actions = v->is_null ? 0 : v->whole;
}

/* Every part that may be missing in what is there. */
static bool complete(struct dialog *x, Schedule__Schedule *s) {
    struct arena *a = &x->arena;
    if (!s->spec)
        s->spec = message_new(a, &schedule__schedule_spec__descriptor);
    if (!s->state)
        s->state = message_new(a, &schedule__schedule_state__descriptor);
    if (!s->policies && (s->policies = message_new(a, &schedule__schedule_policies__descriptor))) {
        s->policies->overlap_policy = SCHEDULE_OVERLAP_POLICY_SKIP;
        s->policies->catchup_window = pb_arena_duration(CATCHUP_DEFAULT_S * USEC_PER_SEC, a);
    }
    return s->spec && s->state && s->policies;
}

void definition_read(struct dialog *x, const struct record *definition, Schedule__Schedule *s) {
    const struct given *v = definition->v;
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("schedule")};
    if (!complete(x, s))
        return;
    read_spec(x, &at, v, s->spec);
    read_bounds(x, &at, v, s->spec);
    if (v[definition_policy].is_given)
        read_policy(x, v[definition_policy].records[0], s->policies);
    if (v[definition_max_executions].is_given)
        read_limit(&v[definition_max_executions], s->state);
    if (v[definition_input].is_given)
        s->action->start_workflow->input = payload_input(&x->arena, v[definition_input]);
}

/* Showing. */

static void write_calendar(struct json_writer *w, Schedule__StructuredCalendarSpec *c) {
    writer_open(w, '{');
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct ranges r = ranges_of(c, (enum cal_field)f);
        writer_key(w, str_of(shape_calendar.fields[f].name));
        writer_open(w, '[');
        for (size_t i = 0; i < *r.n; i++) {
            struct cal_range clean =
                cal_range_clean((struct cal_range){(*r.v)[i]->start, (*r.v)[i]->end, (*r.v)[i]->step});
            writer_open(w, '{');
            write_whole(w, "start", clean.first);
            write_whole(w, "end", clean.last);
            write_whole(w, "step", clean.step);
            writer_close(w, '}');
        }
        writer_close(w, ']');
    }
    write_text(w, "comment", c->comment);
    writer_close(w, '}');
}

static void write_calendars(struct dialog *x, Schedule__ScheduleSpec *s) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("calendars"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_structured_calendar; i++)
        if (!cron_of(dialog_scratch(x), s->structured_calendar[i]).n)
            write_calendar(w, s->structured_calendar[i]);
    writer_close(w, ']');
    writer_key(w, STR("cron_expressions"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_structured_calendar; i++) {
        struct str cron = cron_of(dialog_scratch(x), s->structured_calendar[i]);
        if (cron.n)
            writer_string(w, cron);
    }
    writer_close(w, ']');
    writer_key(w, STR("skip"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_exclude_structured_calendar; i++)
        write_calendar(w, s->exclude_structured_calendar[i]);
    writer_close(w, ']');
}

static void write_spec(struct dialog *x, Schedule__ScheduleSpec *s) {
    struct json_writer *w = &x->w;
    write_calendars(x, s);
    writer_key(w, STR("intervals"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_interval; i++) {
        writer_open(w, '{');
        write_span(w, "every", pb_duration_us(s->interval[i]->interval));
        if (s->interval[i]->phase)
            write_span(w, "offset", pb_duration_us(s->interval[i]->phase));
        else
            write_null(w, "offset");
        writer_close(w, '}');
    }
    writer_close(w, ']');
    write_time(w, "start_at", s->start_time);
    write_time(w, "end_at", s->end_time);
    if (s->jitter && pb_duration_us(s->jitter) > 0)
        write_span(w, "jitter", pb_duration_us(s->jitter));
    else
        write_null(w, "jitter");
    write_text(w, "time_zone_name", s->timezone_name);
}

static void write_policy(struct json_writer *w, const Schedule__SchedulePolicies *p) {
    bool has_window = p && p->catchup_window;
    E__ScheduleOverlapPolicy overlap = p ? p->overlap_policy : SCHEDULE_OVERLAP_POLICY_UNSPECIFIED;
    writer_key(w, STR("policy"));
    writer_open(w, '{');
    write_whole(w, "catchup_window_seconds",
                has_window ? pb_duration_us(p->catchup_window) / USEC_PER_SEC : CATCHUP_DEFAULT_S);
    write_whole(w, "overlap", overlap ? (int64_t)overlap : (int64_t)SCHEDULE_OVERLAP_POLICY_SKIP);
    write_bool(w, "pause_on_failure", p && p->pause_on_failure);
    writer_close(w, '}');
}

static void write_state(struct json_writer *w, const Schedule__ScheduleState *s) {
    if (s && s->limited_actions)
        write_whole(w, "remaining_executions", s->remaining_actions);
    else
        write_null(w, "remaining_executions");
    write_bool(w, "paused", s && s->paused);
    write_text(w, "note", s ? s->notes : NULL);
}

static void write_executions(struct json_writer *w, const Schedule__ScheduleInfo *info) {
    size_t recent = info ? info->n_recent_actions : 0, future = info ? info->n_future_action_times : 0;
    writer_key(w, STR("future_executions"));
    writer_open(w, '[');
    for (size_t i = 0; i < MIN(future, (size_t)FUTURE_MAX); i++) {
        writer_open(w, '{');
        write_time(w, "scheduled_at", info->future_action_times[i]);
        writer_close(w, '}');
    }
    writer_close(w, ']');
    writer_key(w, STR("recent_executions"));
    writer_open(w, '[');
    for (size_t i = recent > RECENT_MAX ? recent - RECENT_MAX : 0; i < recent; i++) {
        const Schedule__ScheduleActionResult *a = info->recent_actions[i];
        if (!a->start_workflow_result)
            continue;
        writer_open(w, '{');
        write_time(w, "scheduled_at", a->schedule_time);
        write_time(w, "started_at", a->actual_time);
        write_text(w, "execution_id", a->start_workflow_result->workflow_id);
        writer_close(w, '}');
    }
    writer_close(w, ']');
}

static void write_action(struct json_writer *w, const Schedule__ScheduleAction *action) {
    const Workflow__NewWorkflowExecutionInfo *a =
        action && action->action_case == SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW
            ? action->start_workflow
            : NULL;
    writer_key(w, STR("input"));
    payload_write(w, a ? a->input : NULL);
    writer_key(w, STR("workflow_name"));
    writer_string(w, str_of(a && a->workflow_type ? a->workflow_type->name : ""));
    write_text(w, "deployment_name", a && a->task_queue ? a->task_queue->name : NULL);
}

void definition_write(struct dialog *x, const char *schedule_id, const Ws__DescribeScheduleResponse *r) {
    Schedule__ScheduleSpec none = SCHEDULE__SCHEDULE_SPEC__INIT;
    struct json_writer *w = &x->w;
    writer_open(w, '{');
    write_text(w, "schedule_id", schedule_id);
    write_action(w, r->schedule->action);
    write_spec(x, r->schedule->spec ? r->schedule->spec : &none);
    write_policy(w, r->schedule->policies);
    write_state(w, r->schedule->state);
    write_executions(w, r->info);
    writer_close(w, '}');
}
