/* Shows a schedule in the dialect's JSON. Only a lack of memory can fail, which the output buffer remembers.
 */
#include "cal/cal.h"
#include "core/step/pb.h"
#include "mistral/definition.h"
#include "mistral/definition_cron.h"
#include "mistral/member.h"
#include "mistral/payload.h"
#include "names.h"

#define FUTURE_MAX 10
#define RECENT_MAX 10

static void definition_write_calendar(struct json_writer *w, Schedule__StructuredCalendarSpec *c) {
    writer_open(w, '{');
    for (int f = 0; f < CAL_FIELD_COUNT; f++) {
        struct definition_ranges r = definition_ranges_of(c, (enum cal_field)f);
        writer_key(w, str_of(shape_calendar.fields[f].name));
        writer_open(w, '[');
        for (size_t i = 0; i < *r.n; i++) {
            struct cal_range clean =
                cal_range_clean((struct cal_range){(*r.v)[i]->start, (*r.v)[i]->end, (*r.v)[i]->step});
            writer_open(w, '{');
            member_write_whole(w, "start", clean.first);
            member_write_whole(w, "end", clean.last);
            member_write_whole(w, "step", clean.step);
            writer_close(w, '}');
        }
        writer_close(w, ']');
    }
    member_write_text(w, "comment", c->comment);
    writer_close(w, '}');
}

static void definition_write_calendars(struct dialog *x, Schedule__ScheduleSpec *s) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("calendars"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_structured_calendar; i++)
        if (!definition_cron_of(dialog_answer_arena(x), s->structured_calendar[i]).n)
            definition_write_calendar(w, s->structured_calendar[i]);
    writer_close(w, ']');
    writer_key(w, STR("cron_expressions"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_structured_calendar; i++) {
        struct str cron = definition_cron_of(dialog_answer_arena(x), s->structured_calendar[i]);
        if (cron.n)
            writer_string(w, cron);
    }
    writer_close(w, ']');
    writer_key(w, STR("skip"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_exclude_structured_calendar; i++)
        definition_write_calendar(w, s->exclude_structured_calendar[i]);
    writer_close(w, ']');
}

static void definition_write_spec(struct dialog *x, Schedule__ScheduleSpec *s) {
    struct json_writer *w = &x->w;
    definition_write_calendars(x, s);
    writer_key(w, STR("intervals"));
    writer_open(w, '[');
    for (size_t i = 0; i < s->n_interval; i++) {
        writer_open(w, '{');
        member_write_duration(w, "every", pb_duration_us(s->interval[i]->interval));
        if (s->interval[i]->phase)
            member_write_duration(w, "offset", pb_duration_us(s->interval[i]->phase));
        else
            member_write_null(w, "offset");
        writer_close(w, '}');
    }
    writer_close(w, ']');
    member_write_time(w, "start_at", s->start_time);
    member_write_time(w, "end_at", s->end_time);
    if (s->jitter && pb_duration_us(s->jitter) > 0)
        member_write_duration(w, "jitter", pb_duration_us(s->jitter));
    else
        member_write_null(w, "jitter");
    member_write_text(w, "time_zone_name", s->timezone_name);
}

static void definition_write_policy(struct json_writer *w, const Schedule__SchedulePolicies *p) {
    bool has_window = p && p->catchup_window;
    E__ScheduleOverlapPolicy overlap = p ? p->overlap_policy : SCHEDULE_OVERLAP_POLICY_UNSPECIFIED;
    writer_key(w, STR("policy"));
    writer_open(w, '{');
    member_write_whole(w, "catchup_window_seconds",
                       has_window ? pb_duration_us(p->catchup_window) / USEC_PER_SEC : CATCHUP_DEFAULT_S);
    member_write_whole(w, "overlap", overlap ? (int64_t)overlap : (int64_t)SCHEDULE_OVERLAP_POLICY_SKIP);
    member_write_bool(w, "pause_on_failure", p && p->pause_on_failure);
    writer_close(w, '}');
}

static void definition_write_state(struct json_writer *w, const Schedule__ScheduleState *s) {
    if (s && s->limited_actions)
        member_write_whole(w, "remaining_executions", s->remaining_actions);
    else
        member_write_null(w, "remaining_executions");
    member_write_bool(w, "paused", s && s->paused);
    member_write_text(w, "note", s ? s->notes : NULL);
}

static void definition_write_executions(struct json_writer *w, const Schedule__ScheduleInfo *info) {
    size_t recent = info ? info->n_recent_actions : 0, future = info ? info->n_future_action_times : 0;
    writer_key(w, STR("future_executions"));
    writer_open(w, '[');
    for (size_t i = 0; i < MIN(future, (size_t)FUTURE_MAX); i++) {
        writer_open(w, '{');
        member_write_time(w, "scheduled_at", info->future_action_times[i]);
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
        member_write_time(w, "scheduled_at", a->schedule_time);
        member_write_time(w, "started_at", a->actual_time);
        member_write_text(w, "execution_id", a->start_workflow_result->workflow_id);
        writer_close(w, '}');
    }
    writer_close(w, ']');
}

static void definition_write_action(struct json_writer *w, const Schedule__ScheduleAction *action) {
    const Workflow__NewWorkflowExecutionInfo *a =
        action && action->action_case == SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW
            ? action->start_workflow
            : NULL;
    writer_key(w, STR("input"));
    payload_write(w, a ? a->input : NULL);
    writer_key(w, STR("workflow_name"));
    writer_string(w, str_of(a && a->workflow_type ? a->workflow_type->name : ""));
    member_write_text(w, "deployment_name", a && a->task_queue ? a->task_queue->name : NULL);
}

void definition_write(struct dialog *x, const char *schedule_id, const Ws__DescribeScheduleResponse *r) {
    Schedule__ScheduleSpec none = SCHEDULE__SCHEDULE_SPEC__INIT;
    struct json_writer *w = &x->w;
    writer_open(w, '{');
    member_write_text(w, "schedule_id", schedule_id);
    definition_write_action(w, r->schedule->action);
    definition_write_spec(x, r->schedule->spec ? r->schedule->spec : &none);
    definition_write_policy(w, r->schedule->policies);
    definition_write_state(w, r->schedule->state);
    definition_write_executions(w, r->info);
    writer_close(w, '}');
}
