/* What a schedule must be like before it is taken: rules that need no state. */
#include "cal/word.h"
#include "core/search/attributes.h"
#include "core/schedule/holiday.h"
#include "core/run/run.h"
#include "core/schedule/schedule_int.h"
#include "core/step/validate.h"

static int check_policy(E__ScheduleOverlapPolicy policy, struct err *err) {
    if ((unsigned)policy > SCHEDULE_OVERLAP_POLICY_ALLOW_ALL)
        return err_set(err, ERR_INVALID, "unknown overlap policy %d", (int)policy);
    return 0;
}

static int check_notes(const char *notes, struct err *err) {
    if (strlen(notes) > LIMIT_SCHEDULE_NOTES_BYTES)
        return err_set(err, ERR_INVALID, "Schedule notes exceeds limit.");
    return 0;
}

/* The rules of a start, with what a schedule's action may not have. */
static int check_action(const Workflow__NewWorkflowExecutionInfo *a, const State__Namespace *space,
                        struct err *err) {
    Ws__StartWorkflowExecutionRequest r = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    r.workflow_id = a->workflow_id;
    r.workflow_type = a->workflow_type;
    r.task_queue = a->task_queue;
    r.workflow_execution_timeout = a->workflow_execution_timeout;
    r.workflow_run_timeout = a->workflow_run_timeout;
    r.workflow_task_timeout = a->workflow_task_timeout;
    r.retry_policy = a->retry_policy;
    r.search_attributes = a->search_attributes;
    if (!cstr_is_empty(a->cron_schedule))
        return err_set(err, ERR_INVALID, "Scheduled workflow must not contain CronSchedule");
    if (a->workflow_id_reuse_policy != WORKFLOW_ID_REUSE_POLICY_UNSPECIFIED &&
        a->workflow_id_reuse_policy != WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
        return err_set(err, ERR_INVALID, "Scheduled workflow must not contain WorkflowIDReusePolicy");
    size_t bytes = (a->input ? common__payloads__get_packed_size(a->input) : 0) +
                   (a->memo ? common__memo__get_packed_size(a->memo) : 0);
    if (bytes > LIMIT_BLOB_BYTES)
        return err_set(err, ERR_INVALID, "input and memo of the action have %zu bytes, more than %d", bytes,
                       LIMIT_BLOB_BYTES);
    return run_validate_start(&r, space, NULL, NULL, err);
}

static E__ScheduleOverlapPolicy rules_overlap_policy(const Schedule__Schedule *schedule) {
    const Schedule__SchedulePolicies *p = schedule->policies;
    return p && p->overlap_policy ? p->overlap_policy : SCHEDULE_OVERLAP_POLICY_SKIP;
}

static bool takes_turns(E__ScheduleOverlapPolicy policy) {
    return policy == SCHEDULE_OVERLAP_POLICY_SKIP || policy == SCHEDULE_OVERLAP_POLICY_BUFFER_ONE ||
           policy == SCHEDULE_OVERLAP_POLICY_BUFFER_ALL;
}

static int check_extras(const Schedule__Schedule *schedule, const State__Namespace *space, struct err *err) {
    const Rondo__ScheduleExtras *x = schedule->extras;
    if (!x)
        return 0;
    if (x->max_concurrent_runs < 0 || x->max_concurrent_runs > LIMIT_SCHEDULE_CONCURRENT)
        return err_set(err, ERR_INVALID, "max_concurrent_runs must be between 0 and %d",
                       LIMIT_SCHEDULE_CONCURRENT);
    if (!pb_timestamp_valid(x->pause_until))
        return err_set(err, ERR_INVALID, "pause_until is not a valid time");
    if (!pb_duration_valid(x->keep_after_end))
        return err_set(err, ERR_INVALID, "keep_after_end must not be negative");
    int rc = validate_id(x->workflow_id_format, "workflow_id_format", err);
    return rc == 0 ? holidays_validate_names(x, space, err) : rc;
}

static int check_workflow_id(const char *schedule_id, const Schedule__Schedule *schedule, struct err *err) {
    const char *id = schedule->action->start_workflow->workflow_id;
    const char *format = schedule->extras ? schedule->extras->workflow_id_format : "";
    if (!schedule->policies || !schedule->policies->keep_original_workflow_id)
        return action_id_validate(format, id, schedule_id, err);
    if (!cstr_is_empty(format))
        return err_set(err, ERR_INVALID,
                       "keep_original_workflow_id and workflow_id_format exclude each other");
    if (rules_overlap_policy(schedule) == SCHEDULE_OVERLAP_POLICY_ALLOW_ALL ||
        (schedule->extras && schedule->extras->max_concurrent_runs > 1))
        return err_set(err, ERR_INVALID,
                       "keep_original_workflow_id lets one action run at a time: it cannot be combined with "
                       "AllowAll or max_concurrent_runs");
    return 0;
}

int schedule_check_whole(const char *schedule_id, const Schedule__Schedule *schedule, struct err *err) {
    const Rondo__ScheduleExtras *x = schedule->extras;
    if (x && x->max_concurrent_runs > 1 && !takes_turns(rules_overlap_policy(schedule)))
        return err_set(err, ERR_INVALID,
                       "max_concurrent_runs above 1 needs the overlap policy Skip, BufferOne or BufferAll");
    return check_workflow_id(schedule_id, schedule, err);
}

int schedule_prepare(struct arena *arena, const State__Namespace *space, const struct cal_zones *zones,
                     const char *schedule_id, Schedule__Schedule *schedule, struct err *err) {
    int rc = validate_required(schedule_id, "ScheduleId", err);
    if (rc < 0)
        return rc;
    if (strlen(schedule_id) > LIMIT_SCHEDULE_ID_BYTES)
        return err_set(err, ERR_INVALID, "ScheduleId length exceeds limit.");
    if (!schedule || !schedule->action ||
        schedule->action->action_case != SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW)
        return err_set(err, ERR_INVALID, "Only StartWorkflow action is supported for schedules");
    rc = check_action(schedule->action->start_workflow, space, err);
    if (rc == 0 && schedule->policies)
        rc = check_policy(schedule->policies->overlap_policy, err);
    if (rc == 0 && schedule->state)
        rc = check_notes(schedule->state->notes, err);
    if (rc == 0)
        rc = check_extras(schedule, space, err);
    if (rc == 0)
        rc = schedule_check_whole(schedule_id, schedule, err);
    if (rc < 0 || !schedule->spec)
        return rc;
    return spec_canonise(arena, schedule_id, zones, schedule->spec, err);
}

static bool names_zone(const Schedule__ScheduleSpec *spec) {
    for (size_t i = 0; i < spec->n_cron_string; i++) {
        struct str rest = str_of(spec->cron_string[i]), first = word_next(&rest);
        if (str_starts(first, STR("CRON_TZ=")) || str_starts(first, STR("TZ=")))
            return true;
    }
    return false;
}

const Schedule__Schedule *schedule_keep_zone(const State__Execution *st, const Schedule__Schedule *given,
                                             struct arena *arena) {
    const Schedule__ScheduleSpec *old = st->schedule->schedule->spec, *new = given ? given->spec : NULL;
    if (!new || new->timezone_data.len || !old->timezone_data.len ||
        !cstr_eq(new->timezone_name, old->timezone_name) || names_zone(new))
        return given;
    Schedule__Schedule *schedule = arena_dup(arena, given, sizeof(*given));
    Schedule__ScheduleSpec *spec = arena_dup(arena, new, sizeof(*new));
    if (!schedule || !spec)
        return NULL;
    spec->timezone_data = old->timezone_data;
    schedule->spec = spec;
    return schedule;
}

static int check_backfill(const Schedule__BackfillRequest *b, struct err *err) {
    if (!b->start_time || !b->end_time)
        return err_set(err, ERR_INVALID, "StartTime and EndTime must be set on a backfill request");
    if (!pb_timestamp_valid(b->start_time) || !pb_timestamp_valid(b->end_time))
        return err_set(err, ERR_INVALID, "StartTime or EndTime of a backfill request is not a valid time");
    if (pb_timestamp_us(b->end_time) < pb_timestamp_us(b->start_time))
        return err_set(err, ERR_INVALID, "EndTime of a backfill request is before its StartTime");
    return check_policy(b->overlap_policy, err);
}

int schedule_validate_patch(const Schedule__SchedulePatch *patch, struct err *err) {
    if (!patch)
        return err_set(err, ERR_INVALID, "Patch is not set on request.");
    int rc = check_notes(patch->pause, err);
    if (rc == 0)
        rc = check_notes(patch->unpause, err);
    if (rc == 0 && patch->trigger_immediately)
        rc = schedule_validate_trigger(patch->trigger_immediately->overlap_policy,
                                       patch->trigger_immediately->scheduled_time, err);
    for (size_t i = 0; i < patch->n_backfill_request && rc == 0; i++)
        rc = check_backfill(patch->backfill_request[i], err);
    return rc;
}

int schedule_validate_trigger(E__ScheduleOverlapPolicy policy,
                              const Google__Protobuf__Timestamp *scheduled_time, struct err *err) {
    if (!pb_timestamp_valid(scheduled_time))
        return err_set(err, ERR_INVALID, "ScheduledTime is not a valid time");
    return check_policy(policy, err);
}
