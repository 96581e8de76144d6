/* `schedule describe` and `schedule list`: schedules as cards and tables. In JSON both print the server's
 * response. */
#include "command/schedule/schedule_show.h"

#include "cal/civil.h"
#include "cal/words.h"
#include "command/connection.h"
#include "command/workflow/workflow.h"
#include "core/schedule/schedule.h"
#include "host/zoneinfo.h"
#include "names.h"

#define WORDS_BYTES_MAX (1u << 20)
#define SHOWN_MAX 5 /* of times, runs and actions; JSON has all */

/* Reads a spec as the server does, without holiday calendars. */
static int show_read_spec(const Schedule__ScheduleSpec *spec, struct arena *a, struct cal_spec *ret) {
    Schedule__Schedule schedule = SCHEDULE__SCHEDULE__INIT;
    struct err e;
    size_t own;
    schedule.spec = (Schedule__ScheduleSpec *)(uintptr_t)spec; /* never written */
    cal_spec_init(ret, a, STR(""));
    return schedule_read_spec(&schedule, NULL, ret, &own, &e);
}

void schedule_add_words(const Schedule__ScheduleSpec *spec, struct arena *a, struct buf *out) {
    struct cal_spec s;
    if (show_read_spec(spec, a, &s) == 0)
        words_spec(&s, out);
}

void schedule_add_bounds(struct card *d, const struct cal_spec *s) {
    struct buf words cleanup(buf_done);
    buf_init(&words, WORDS_BYTES_MAX);
    if (s->calendar_count)
        words_zone(s, &words);
    card_add_words(d, "Zone", &words);
    if (s->start_us != CAL_NO_START)
        card_add(d, "From", moments_utc_text(d->rows.arena, civil_div(s->start_us, USEC_PER_SEC)));
    if (s->end_us != CAL_NO_END)
        card_add(d, "Until", moments_utc_text(d->rows.arena, civil_div(s->end_us, USEC_PER_SEC)));
    if (s->jitter_us > 0) {
        buf_add_cstr(&words, "up to ");
        words_length(s->jitter_us, &words);
        buf_add_cstr(&words, " later");
        card_add_words(d, "Jitter", &words);
    }
}

/* Describe. */

static void show_add_when(struct command *c, struct card *d, const Schedule__Schedule *s,
                          struct cal_spec *spec) {
    struct buf words cleanup(buf_done);
    bool is_first = true;
    buf_init(&words, WORDS_BYTES_MAX);
    if (!s->spec || show_read_spec(s->spec, &c->arena, spec) < 0)
        return;
    for (size_t i = 0; i < spec->calendar_count; i++, is_first = false) {
        words_calendar(&spec->calendars[i], &c->arena, &words);
        card_add_words(d, is_first ? "When" : "", &words);
    }
    for (size_t i = 0; i < spec->interval_count; i++, is_first = false) {
        words_interval(&spec->intervals[i], &words);
        card_add_words(d, is_first ? "When" : "", &words);
    }
    if (is_first)
        card_add(d, "When", "never");
    for (size_t i = 0; i < spec->exclude_count; i++) {
        words_exclusion(&spec->excludes[i], &c->arena, &words);
        card_add_words(d, i ? "" : "Not", &words);
    }
    for (size_t i = 0; s->extras && i < s->extras->n_holiday_calendars; i++)
        card_add(d, i || spec->exclude_count ? "" : "Not",
                 arena_printf(&c->arena, "on the days of the holiday calendar \"%s\"",
                              s->extras->holiday_calendars[i]));
    schedule_add_bounds(d, spec);
}

static void show_add_policies(struct command *c, struct card *d, const Schedule__Schedule *s) {
    struct buf words cleanup(buf_done);
    buf_init(&words, WORDS_BYTES_MAX);
    card_add(d, "OverlapPolicy", view_text(c, &s->base, "policies.overlap_policy"));
    if (s->extras && s->extras->max_concurrent_runs > 1)
        card_add(d, "MaxConcurrent", view_text(c, &s->base, "extras.max_concurrent_runs"));
    if (s->policies && s->policies->catchup_window)
        words_length(pb_duration_us(s->policies->catchup_window), &words);
    card_add_words(d, "CatchupWindow", &words);
    if (s->policies)
        card_add(d, "PauseOnFailure", s->policies->pause_on_failure ? "true" : "false");
    if (s->state && s->state->limited_actions)
        card_add(d, "RemainingActions", view_text(c, &s->base, "state.remaining_actions"));
    if (s->extras && s->extras->only_while_active)
        card_add(d, "OnlyWhileActive", "true");
    if (s->extras && s->extras->keep_after_end)
        words_length(pb_duration_us(s->extras->keep_after_end), &words);
    card_add_words(d, "KeepAfterEnd", &words);
}

static void show_add_action(struct command *c, struct card *d, const Schedule__Schedule *s) {
    static const struct card_line lines[] = {
        {"TaskQueue", "task_queue.name"},
        {"WorkflowId", "workflow_id"},
        {"Input", "input"},
        {"ExecutionTimeout", "workflow_execution_timeout"},
        {"RunTimeout", "workflow_run_timeout"},
        {"TaskTimeout", "workflow_task_timeout"},
        {"RetryPolicy", "retry_policy"},
        {"UserMetadata", "user_metadata"},
        {"Priority", "priority"},
    };
    if (!s->action || !s->action->start_workflow)
        return;
    card_add(d, "WorkflowType", view_text(c, &s->action->start_workflow->base, "workflow_type.name"));
    const ProtobufCMessage *start = &s->action->start_workflow->base;
    card_add_fields(d, c, start, lines, ARRAY_LEN(lines));
    card_add_map(d, c, "WorkflowMemo", start, "memo.fields");
    card_add_map(d, c, "WorkflowAttributes", start, "search_attributes.indexed_fields");
    card_add_map(d, c, "Headers", start, "header.fields");
    if (s->extras)
        card_add(d, "WorkflowIdFormat", view_text(c, &s->extras->base, "workflow_id_format"));
    if (s->policies && s->policies->keep_original_workflow_id)
        card_add(d, "KeepOriginalWorkflowId", "true");
    if (s->extras && s->extras->passes_times)
        card_add(d, "PassTimes", "true");
}

static void show_add_runs(struct command *c, struct card *d, const Schedule__ScheduleInfo *info) {
    for (size_t i = 0; i < MIN(info->n_running_workflows, SHOWN_MAX); i++)
        card_add(d, i ? "" : "RunningWorkflows", info->running_workflows[i]->workflow_id);
    if (info->n_running_workflows > SHOWN_MAX)
        card_add(d, "", arena_printf(&c->page, "and %zu more", info->n_running_workflows - SHOWN_MAX));
    size_t first = info->n_recent_actions > SHOWN_MAX ? info->n_recent_actions - SHOWN_MAX : 0;
    for (size_t i = first; i < info->n_recent_actions; i++) {
        const ProtobufCMessage *m = &info->recent_actions[i]->base;
        card_add(d, i == first ? "RecentActions" : "",
                 arena_printf(&c->page, "%s  %s  %s", view_text(c, m, "schedule_time#iso"),
                              view_text(c, m, "start_workflow_result.workflow_id"),
                              view_text(c, m, "start_workflow_status")));
    }
}

/* Whether the schedule acts at this time: not while it is paused. */
static bool show_acts_at(const Schedule__Schedule *s, int64_t seconds) {
    const Google__Protobuf__Timestamp *until = s && s->extras ? s->extras->pause_until : NULL;
    if (!s || !s->state || !s->state->paused)
        return true;
    return until && seconds >= until->seconds;
}

static void show_add_next(struct command *c, struct card *d, const Ws__DescribeScheduleResponse *r,
                          const struct cal_spec *spec) {
    const Schedule__ScheduleInfo *info = r->info;
    size_t shown = 0;
    struct zoneinfo *zoneinfo = zoneinfo_new(ZONEINFO_DIRECTORY);
    struct zone_label label = {0};
    struct err e;
    bool is_named = zoneinfo && zone_label_parse(spec->zone_name, &label, &e) == 0 && label.name.n;
    const struct zone *zone = is_named ? zoneinfo_find(zoneinfo, label.name) : NULL;
    for (size_t i = 0; i < info->n_future_action_times && shown < SHOWN_MAX; i++)
        if (show_acts_at(r->schedule, info->future_action_times[i]->seconds))
            card_add(d, shown++ ? "" : "NextTimes",
                     moments_local_text(&c->page, zone, info->future_action_times[i]->seconds));
    zoneinfo_free(zoneinfo);
}

static void show_add_info(struct command *c, struct card *d, const Schedule__ScheduleInfo *info) {
    static const struct card_line lines[] = {
        {"Actions", "action_count"},
        {"OverlapSkipped", "overlap_skipped"},
        {"MissedCatchupWindow", "missed_catchup_window"},
        {"BufferDropped", "buffer_dropped"},
        {"StartFailed", "start_failed"},
        {"Waiting", "buffer_size"},
        {"Invalid", "invalid_schedule_error"},
        {"CreateTime", "create_time"},
        {"UpdateTime", "update_time"},
    };
    card_add_fields(d, c, &info->base, lines, ARRAY_LEN(lines));
    for (size_t i = 0; i < info->n_backfills; i++) {
        const ProtobufCMessage *m = &info->backfills[i]->base;
        card_add(d, i ? "" : "Backfills",
                 arena_printf(&c->page, "%s: %s to %s, %s started, %s waiting", view_text(c, m, "id"),
                              view_text(c, m, "start_time#iso"), view_text(c, m, "end_time#iso"),
                              view_text(c, m, "started"), view_text(c, m, "waiting")));
    }
}

/* Warns when no worker polls the task queue of the action. */
static void show_add_queue_warning(struct command *c, struct card *d, const Schedule__Schedule *s) {
    const Workflow__NewWorkflowExecutionInfo *start = s && s->action ? s->action->start_workflow : NULL;
    const char *name = start && start->task_queue ? start->task_queue->name : "";
    if (!queue_is_polled(c, name, TASK_QUEUE_TYPE_WORKFLOW))
        card_add(d, "Warning", arena_printf(&c->page, "%s: no worker polls this queue", name));
}

static int show_schedule(struct command *c, const Ws__DescribeScheduleResponse *r, struct buf *out) {
    const Schedule__Schedule *s = r->schedule;
    struct cal_spec spec;
    struct card d;
    cal_spec_init(&spec, &c->arena, STR(""));
    card_init(&d, c, &c->page);
    card_add(&d, "ScheduleId", opt_named(c->args, "schedule-id"));
    if (s) {
        card_add(&d, "Paused", s->state && s->state->paused ? "true" : "false");
        if (s->extras)
            card_add(&d, "PauseUntil", view_text(c, &s->extras->base, "pause_until#iso"));
        card_add(&d, "Notes", view_text(c, &s->base, "state.notes"));
        show_add_when(c, &d, s, &spec);
        show_add_action(c, &d, s);
        show_add_policies(c, &d, s);
    }
    if (r->info) {
        show_add_next(c, &d, r, &spec);
        show_add_runs(c, &d, r->info);
        show_add_info(c, &d, r->info);
    }
    card_add_map(&d, c, "Memo", &r->base, "memo.fields");
    card_add_map(&d, c, "SearchAttributes", &r->base, "search_attributes.indexed_fields");
    show_add_queue_warning(c, &d, s);
    return arena_failed(&c->page) ? ERR_NO_MEMORY : card_print(&d, out);
}

enum command_exit schedule_describe_run(struct command *c, struct buf *out) {
    ProtobufCMessage *found;
    struct connection_ask ask = {.method = CALL_DescribeSchedule, .request = c->request};
    enum command_exit code = connection_call(c, &ask, &c->page, &found);
    if (code != COMMAND_DONE)
        return code;
    if (c->format != FORMAT_TABLE)
        return view_page(c, found, out) < 0 ? COMMAND_REFUSED : COMMAND_DONE;
    if (show_schedule(c, (const Ws__DescribeScheduleResponse *)found, out) < 0) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    return COMMAND_DONE;
}

/* Lists. */

/* A paused schedule has no next time in a table. JSON has the server's response unchanged. */
static void show_drop_paused_times(struct command *c, ProtobufCMessage *response) {
    const Ws__ListSchedulesResponse *r = (const void *)response;
    for (size_t i = 0; c->format == FORMAT_TABLE && i < r->n_schedules; i++)
        if (r->schedules[i]->info && r->schedules[i]->info->paused)
            r->schedules[i]->info->n_future_action_times = 0;
}

enum command_exit schedule_list_run(struct command *c, struct buf *out) {
    static const struct command_rule
        longer = {CALL_ListSchedules, "schedules",
                  "ScheduleId=schedule_id|Type=info.workflow_type.name|Paused=info.paused|"
                  "NextTime=info.future_action_times#0|Notes=info.notes|When=info.spec"},
        longest = {CALL_ListSchedules, "schedules",
                   "ScheduleId=schedule_id|Type=info.workflow_type.name|Paused=info.paused|"
                   "NextTime=info.future_action_times#0|Notes=info.notes|Memo=memo|"
                   "SearchAttributes=search_attributes|When=info.spec"};
    if (opt_named_flag(c->args, "really-long"))
        c->rule = &longest;
    else if (opt_named_flag(c->args, "long"))
        c->rule = &longer;
    c->edit_response = show_drop_paused_times;
    return command_ask_pages(c, out);
}
