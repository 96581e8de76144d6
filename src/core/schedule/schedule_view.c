/* What readers see of a schedule. Everything is a copy in the arena: the state may change before it is sent.
 */
#include "core/schedule/holiday.h"
#include "core/schedule/schedule_int.h"

#include <stdlib.h>

#include "cal/civil.h"

/* the schedule as it is shown: defaults and ranges written out */

static void clean_ranges(size_t n, Schedule__Range **v) {
    for (size_t i = 0; i < n; i++) {
        struct cal_range r = cal_range_clean((struct cal_range){v[i]->start, v[i]->end, v[i]->step});
        v[i]->start = r.first;
        v[i]->end = r.last;
        v[i]->step = r.step;
    }
}

static void clean_calendars(size_t n, Schedule__StructuredCalendarSpec **v) {
    for (size_t i = 0; i < n; i++) {
        clean_ranges(v[i]->n_second, v[i]->second);
        clean_ranges(v[i]->n_minute, v[i]->minute);
        clean_ranges(v[i]->n_hour, v[i]->hour);
        clean_ranges(v[i]->n_day_of_month, v[i]->day_of_month);
        clean_ranges(v[i]->n_month, v[i]->month);
        clean_ranges(v[i]->n_year, v[i]->year);
        clean_ranges(v[i]->n_day_of_week, v[i]->day_of_week);
    }
}

static void clean_spec(Schedule__ScheduleSpec *spec) {
    clean_calendars(spec->n_structured_calendar, spec->structured_calendar);
    clean_calendars(spec->n_exclude_structured_calendar, spec->exclude_structured_calendar);
}

Schedule__Schedule *schedule_shown(const State__Execution *st, struct arena *arena) {
    const State__Schedule *sch = st->schedule;
    Schedule__Schedule *shown = pb_arena_clone(sch->schedule, arena);
    if (!shown)
        return NULL;
    clean_spec(shown->spec);
    shown->policies->overlap_policy = schedule_policy(sch);
    shown->policies->catchup_window = pb_arena_duration(schedule_catchup_us(sch), arena);
    return shown->policies->catchup_window ? shown : NULL;
}

void schedule_token_bytes(const State__Schedule *sch, uint8_t ret[SCHEDULE_TOKEN_BYTES]) {
    for (int i = 0; i < SCHEDULE_TOKEN_BYTES; i++)
        ret[i] = (uint8_t)((uint64_t)sch->conflict_token >> (8 * (SCHEDULE_TOKEN_BYTES - 1 - i)));
}

ProtobufCBinaryData schedule_token(const State__Execution *st, struct arena *arena) {
    uint8_t *bytes = arena_alloc(arena, SCHEDULE_TOKEN_BYTES);
    if (!bytes)
        return (ProtobufCBinaryData){0};
    schedule_token_bytes(st->schedule, bytes);
    return (ProtobufCBinaryData){SCHEDULE_TOKEN_BYTES, bytes};
}

/* actions */

static Common__WorkflowExecution *view_start_execution(const State__Start *start, struct arena *arena) {
    Common__WorkflowExecution *e = pb_arena_new(&common__workflow_execution__descriptor, arena);
    if (!e)
        return NULL;
    e->workflow_id = arena_strdup(arena, start->workflow_id);
    e->run_id = arena_strdup(arena, start->run_id);
    return e;
}

static Schedule__ScheduleActionResult *action_result(const State__Start *start, struct arena *arena) {
    Schedule__ScheduleActionResult *r = pb_arena_new(&schedule__schedule_action_result__descriptor, arena);
    if (!r)
        return NULL;
    r->schedule_time = pb_arena_timestamp(start->actual_us, arena);
    r->actual_time = pb_arena_timestamp(start->start_us, arena);
    r->start_workflow_result = view_start_execution(start, arena);
    r->start_workflow_status = (E__WorkflowExecutionStatus)start->status;
    return r;
}

static int by_start(const void *a, const void *b) {
    const State__Start *x = *(State__Start *const *)a, *y = *(State__Start *const *)b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Those that were begun, in the order in which they were, without the first ones beyond max. */
static int show_actions(const State__Schedule *sch, size_t max, struct arena *arena, size_t *ret_n,
                        Schedule__ScheduleActionResult ***ret) {
    State__Start **begun = arena_array(arena, State__Start *, MAX(sch->n_starts, 1));
    size_t n = 0;
    if (!begun)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < sch->n_starts; i++)
        if (sch->starts[i]->phase == PHASE_STARTED || sch->starts[i]->phase == PHASE_COMPLETED)
            begun[n++] = sch->starts[i];
    qsort(begun, n, sizeof(State__Start *), by_start);
    size_t first = n > max ? n - max : 0;
    *ret = arena_array(arena, Schedule__ScheduleActionResult *, MAX(n - first, 1));
    if (!*ret)
        return ERR_NO_MEMORY;
    for (size_t i = first; i < n; i++)
        (*ret)[i - first] = action_result(begun[i], arena);
    *ret_n = n - first;
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

int64_t schedule_next_us(const State__Execution *st) {
    const State__Schedule *sch = st->schedule;
    bool can_act = sch->n_future_us && !sch->schedule->state->paused && !schedule_is_exhausted(sch);
    return can_act ? sch->future_us[0] : 0;
}

int64_t schedule_running_count(const State__Execution *st) {
    return (int64_t)start_count(st->schedule).live;
}

int64_t schedule_waiting_count(const State__Execution *st) {
    return (int64_t)start_count(st->schedule).waiting;
}

static int show_running(const State__Schedule *sch, struct arena *arena, Schedule__ScheduleInfo *info) {
    info->running_workflows = arena_array(arena, Common__WorkflowExecution *, MAX(sch->n_starts, 1));
    if (!info->running_workflows)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < sch->n_starts; i++)
        if (sch->starts[i]->phase == PHASE_STARTED)
            info->running_workflows[info->n_running_workflows++] =
                view_start_execution(sch->starts[i], arena);
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

static int show_future(const State__Schedule *sch, size_t max, struct arena *arena, size_t *ret_n,
                       Google__Protobuf__Timestamp ***ret) {
    const Schedule__ScheduleState *state = sch->schedule->state;
    size_t n = MIN(sch->n_future_us, max);
    if (state->limited_actions)
        n = MIN(n, (size_t)MAX(state->remaining_actions, 0));
    *ret = arena_array(arena, Google__Protobuf__Timestamp *, MAX(n, 1));
    if (!*ret)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        (*ret)[i] = pb_arena_timestamp(sch->future_us[i], arena);
    *ret_n = n;
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

Rondo__BackfillInfo *schedule_backfill_info(const State__Schedule *sch, const State__Backfill *b,
                                            struct arena *arena) {
    Rondo__BackfillInfo *info = pb_arena_new(&rondo__backfill_info__descriptor, arena);
    if (!info)
        return NULL;
    info->id = b->id;
    info->start_time = pb_arena_timestamp(b->start_us, arena);
    info->end_time = pb_arena_timestamp(b->end_us, arena);
    info->overlap_policy = (E__ScheduleOverlapPolicy)b->overlap_policy;
    info->progress_time = pb_arena_timestamp(MIN(MAX(b->high_water_us, b->start_us), b->end_us), arena);
    info->considered = b->considered;
    info->started = b->started;
    info->waiting = (int64_t)backfill_waiting(sch, b->id);
    return info;
}

static int show_backfills(const State__Schedule *sch, struct arena *arena, Schedule__ScheduleInfo *info) {
    if (!sch->n_backfills)
        return 0;
    info->backfills = arena_array(arena, Rondo__BackfillInfo *, sch->n_backfills);
    if (!info->backfills)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < sch->n_backfills; i++)
        info->backfills[info->n_backfills++] = schedule_backfill_info(sch, sch->backfills[i], arena);
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

Schedule__ScheduleInfo *schedule_info(const State__Execution *st, struct arena *arena) {
    const State__Schedule *sch = st->schedule;
    Schedule__ScheduleInfo *info = pb_arena_new(&schedule__schedule_info__descriptor, arena);
    if (!info)
        return NULL;
    info->action_count = sch->action_count;
    info->missed_catchup_window = sch->missed_catchup_window;
    info->overlap_skipped = sch->overlap_skipped;
    info->buffer_dropped = sch->buffer_dropped;
    info->start_failed = sch->start_failed;
    info->buffer_size = (int64_t)start_count(sch).waiting;
    info->create_time = pb_arena_timestamp(sch->create_us, arena);
    info->update_time = sch->update_us ? pb_arena_timestamp(sch->update_us, arena) : NULL;
    info->invalid_schedule_error = arena_strdup(arena, sch->invalid_error);
    info->run_id = arena_strdup(arena, st->run_id);
    info->state_size_bytes = (int64_t)state__execution__get_packed_size(st);
    int rc = show_actions(sch, SIZE_MAX, arena, &info->n_recent_actions, &info->recent_actions);
    if (rc == 0)
        rc = show_running(sch, arena, info);
    if (rc == 0)
        rc = show_future(sch, SIZE_MAX, arena, &info->n_future_action_times, &info->future_action_times);
    if (rc == 0)
        rc = show_backfills(sch, arena, info);
    return rc == 0 ? info : NULL;
}

/* lists */

static void shorten_spec(Schedule__ScheduleSpec *spec) {
    spec->timezone_data = (ProtobufCBinaryData){0};
    spec->n_structured_calendar = MIN(spec->n_structured_calendar, LIMIT_SCHEDULE_LISTED_ENTRIES);
    spec->n_exclude_structured_calendar =
        MIN(spec->n_exclude_structured_calendar, LIMIT_SCHEDULE_LISTED_ENTRIES);
    spec->n_interval = MIN(spec->n_interval, LIMIT_SCHEDULE_LISTED_ENTRIES);
}

static Schedule__ScheduleListInfo *list_info(const State__Execution *st, size_t state_bytes,
                                             struct arena *arena) {
    const State__Schedule *sch = st->schedule;
    Schedule__ScheduleListInfo *info = pb_arena_new(&schedule__schedule_list_info__descriptor, arena);
    if (!info || !(info->spec = pb_arena_clone(sch->schedule->spec, arena)))
        return NULL;
    clean_spec(info->spec);
    shorten_spec(info->spec);
    info->workflow_type = sch->schedule->action->start_workflow->workflow_type;
    info->notes = sch->schedule->state->notes;
    info->paused = sch->schedule->state->paused;
    info->state_size_bytes = (int64_t)state_bytes;
    if (sch->schedule->extras) { /* they stay where they are for as long as the answer is used */
        info->holiday_calendars = sch->schedule->extras->holiday_calendars;
        info->n_holiday_calendars = sch->schedule->extras->n_holiday_calendars;
    }
    int rc = show_actions(sch, LIMIT_SCHEDULE_LISTED, arena, &info->n_recent_actions, &info->recent_actions);
    if (rc == 0)
        rc = show_future(sch, LIMIT_SCHEDULE_LISTED, arena, &info->n_future_action_times,
                         &info->future_action_times);
    return rc == 0 ? info : NULL;
}

Schedule__ScheduleListEntry *schedule_list_entry(const State__Execution *st, size_t state_bytes,
                                                 struct arena *arena) {
    Schedule__ScheduleListEntry *e = pb_arena_new(&schedule__schedule_list_entry__descriptor, arena);
    if (!e)
        return NULL;
    e->schedule_id = st->schedule->schedule_id;
    /* Clients of other servers find both in each row, if only empty. */
    e->memo = st->memo ? st->memo : pb_arena_new(&common__memo__descriptor, arena);
    e->search_attributes = st->search_attributes
                               ? st->search_attributes
                               : pb_arena_new(&common__search_attributes__descriptor, arena);
    e->info = list_info(st, state_bytes, arena);
    return arena_failed(arena) ? NULL : e;
}

/* questions about times */

static Ws__ListScheduleMatchingTimesResponse *matching_new(struct arena *arena) {
    Ws__ListScheduleMatchingTimesResponse *r =
        pb_arena_new(&ws__list_schedule_matching_times_response__descriptor, arena);
    if (r)
        r->start_time = arena_array(arena, Google__Protobuf__Timestamp *, LIMIT_SCHEDULE_MATCHING);
    return r && r->start_time ? r : NULL;
}

int schedule_matching_times(const State__Execution *st, const State__Namespace *space,
                            const struct cal_zones *zones, const Ws__ListScheduleMatchingTimesRequest *req,
                            struct arena *arena, Ws__ListScheduleMatchingTimesResponse **ret,
                            struct err *err) {
    cleanup(times_done) struct times times = {0};
    struct cal_time at;
    if (!req->start_time || !req->end_time)
        return err_set(err, ERR_INVALID, "StartTime and EndTime must be set");
    int rc = times_new(st, space, zones, arena, &times, err);
    if (rc < 0)
        return rc;
    Ws__ListScheduleMatchingTimesResponse *r = *ret ? *ret : matching_new(arena);
    if (!r)
        return err_std(err, ERR_NO_MEMORY);
    *ret = r;
    const Google__Protobuf__Timestamp *after =
        r->n_start_time ? r->start_time[r->n_start_time - 1] : req->start_time;
    int64_t after_us = pb_timestamp_us(after), end_us = pb_timestamp_us(req->end_time);
    for (uint64_t work = 0; r->n_start_time < LIMIT_SCHEDULE_MATCHING;) {
        if (work >= LIMIT_SCHEDULE_WORK)
            return arena_failed(arena) ? err_std(err, ERR_NO_MEMORY) : ERR_WAIT;
        enum cal_answer answer = cal_next_counted(times.real, times.seed, after_us, &at, &work);
        if (answer == CAL_LIMIT)
            return err_set(err, ERR_INVALID, "too many times of this schedule are excluded");
        if (answer == CAL_NONE || at.actual_us > end_us)
            break;
        r->start_time[r->n_start_time++] = pb_arena_timestamp(at.actual_us, arena);
        after_us = at.actual_us;
    }
    return arena_failed(arena) ? err_std(err, ERR_NO_MEMORY) : 0;
}

struct verdict_text schedule_verdict(enum cal_verdict verdict) {
    switch (verdict) {
    case CAL_IS_TIME:
        return (struct verdict_text){"time", "is a time of this schedule"};
    case CAL_NOT_ASKED:
        return (struct verdict_text){"not_asked", "matches no calendar and no interval of the spec"};
    case CAL_EXCLUDED:
        return (struct verdict_text){"excluded", "would be a time of this schedule, but "};
    case CAL_REPEATED:
        return (struct verdict_text){"repeated",
                                     "comes twice on that day by the local clock; the other one counts"};
    case CAL_BEFORE_START:
        return (struct verdict_text){"before_start", "is before the spec's start time"};
    case CAL_AFTER_END:
        return (struct verdict_text){"after_end", "is after the spec's end time"};
    }
    return (struct verdict_text){"", ""};
}

/* When it acts, or whether it will at all. */
static const char *explain_time_status(const State__Execution *st, const struct times *t, int64_t nominal_s,
                                       struct arena *arena) {
    const State__Schedule *sch = st->schedule;
    struct cal_time at;
    char text[CIVIL_TEXT_MAX];
    if (cal_next(t->real, t->seed, nominal_s * USEC_PER_SEC - 1, &at) != CAL_FOUND ||
        at.nominal_s != nominal_s)
        return "";
    if (at.actual_us <= sch->high_water_us)
        return "; it was considered, or lies before the schedule's time";
    if (!run_is_open(st))
        return "; the schedule has ended";
    if (schedule_is_exhausted(sch))
        return "; no actions remain";
    if (sch->schedule->state->paused && at.actual_us < schedule_pause_until_us(sch))
        return "; the schedule is paused";
    if (at.actual_us == nominal_s * USEC_PER_SEC)
        return "; it is still to come";
    civil_format(civil_div(at.actual_us, USEC_PER_SEC), "Z", text);
    return arena_printf(arena, "; it is still to come, with its jitter at %s", text);
}

int schedule_explain(const State__Execution *st, const State__Namespace *space, const struct cal_zones *zones,
                     const Rondo__ExplainScheduleTimeRequest *req, struct arena *arena,
                     Rondo__ExplainScheduleTimeResponse **ret, struct err *err) {
    cleanup(times_done) struct times times = {0};
    char text[CIVIL_TEXT_MAX];
    size_t index = 0;
    if (!req->time || !pb_timestamp_valid(req->time))
        return err_set(err, ERR_INVALID, "Time is not set on request, or is not a valid time.");
    int rc = times_new(st, space, zones, arena, &times, err);
    if (rc < 0)
        return rc;
    Rondo__ExplainScheduleTimeResponse *r =
        pb_arena_new(&rondo__explain_schedule_time_response__descriptor, arena);
    if (!r)
        return err_std(err, ERR_NO_MEMORY);
    int64_t nominal_s = req->time->seconds;
    enum cal_verdict verdict = cal_judge(times.real, nominal_s, &index);
    struct verdict_text said = schedule_verdict(verdict);
    const char *more = verdict == CAL_IS_TIME    ? explain_time_status(st, &times, nominal_s, arena)
                       : verdict == CAL_EXCLUDED ? times_exclusion(&times, nominal_s)
                                                 : "";
    civil_format(nominal_s, "Z", text);
    r->verdict = arena_strdup(arena, said.word);
    const char *missing = holidays_missing(st->schedule->schedule->extras, space, arena);
    r->explanation =
        arena_printf(arena, "%s %s%s.%s", text, said.sentence, more ? more : "", missing ? missing : "");
    *ret = r;
    return arena_failed(arena) ? err_std(err, ERR_NO_MEMORY) : 0;
}
