/* From a binding to a schedule.
 *
 * DBOS runs the function at every time of its crontab, whether or not earlier runs have ended, under a key
 * made of its name and the time: that is the overlap policy AllowAll with such an id. It makes up for
 * everything that was missed, however long ago, or for nothing. */
#include "core/schedule/crontab.h"

#include "core/step/pb.h"
#include "core/schedule/schedule.h"
#include "core/step/validate.h"
#include "names.h"
#include "wire/encode.h"

#define ID_FORMAT "sched-{schedule}-{time}"
#define CATCHUP_US (INT64_C(100) * 366 * 86400 * USEC_PER_SEC) /* longer than any outage */

const char *crontab_name(const Rondo__CrontabBinding *binding) {
    return cstr_is_empty(binding->name) ? binding->workflow_type : binding->name;
}

static int crontab_check_binding(const Rondo__CrontabBinding *b, struct err *err) {
    int rc = validate_required(b->crontab, "Crontab", err);
    if (rc == 0)
        rc = validate_required(b->workflow_type, "WorkflowType", err);
    if (rc == 0)
        rc = validate_required(b->task_queue, "TaskQueue", err);
    if (rc == 0 && (unsigned)b->mode > CRONTAB_MODE_EXACTLY_ONCE_PER_INTERVAL_WHEN_ACTIVE)
        rc = err_set(err, ERR_INVALID, "unknown crontab mode %d", (int)b->mode);
    return rc;
}

static Schedule__ScheduleSpec *spec_of(const Rondo__CrontabBinding *b, struct arena *a) {
    Schedule__ScheduleSpec *spec = pb_arena_new(&schedule__schedule_spec__descriptor, a);
    char **strings = arena_array(a, char *, 1);
    if (!spec || !strings)
        return NULL;
    strings[0] = arena_printf(a, "@dbos %s", b->crontab);
    spec->cron_string = strings;
    spec->n_cron_string = 1;
    spec->timezone_name = arena_strdup(a, b->time_zone);
    return spec;
}

static Schedule__ScheduleAction *action_of(const Rondo__CrontabBinding *b, struct arena *a) {
    Schedule__ScheduleAction *action = pb_arena_new(&schedule__schedule_action__descriptor, a);
    Workflow__NewWorkflowExecutionInfo *start =
        pb_arena_new(&workflow__new_workflow_execution_info__descriptor, a);
    if (!action || !start)
        return NULL;
    action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    action->start_workflow = start;
    start->workflow_id = arena_strdup(a, crontab_name(b));
    start->workflow_type = pb_arena_new(&common__workflow_type__descriptor, a);
    start->task_queue = pb_arena_new(&taskqueue__task_queue__descriptor, a);
    if (!start->workflow_type || !start->task_queue)
        return NULL;
    start->workflow_type->name = arena_strdup(a, b->workflow_type);
    start->task_queue->name = arena_strdup(a, b->task_queue);
    return action;
}

static Schedule__SchedulePolicies *crontab_make_policies(struct arena *a) {
    Schedule__SchedulePolicies *p = pb_arena_new(&schedule__schedule_policies__descriptor, a);
    if (!p)
        return NULL;
    p->overlap_policy = SCHEDULE_OVERLAP_POLICY_ALLOW_ALL;
    p->catchup_window = pb_arena_duration(CATCHUP_US, a);
    return p;
}

static Rondo__ScheduleExtras *extras_of(const Rondo__CrontabBinding *b, struct arena *a) {
    Rondo__ScheduleExtras *x = pb_arena_new(&rondo__schedule_extras__descriptor, a);
    if (!x)
        return NULL;
    x->workflow_id_format = arena_strdup(a, ID_FORMAT);
    x->crontab = arena_strdup(a, b->crontab);
    x->passes_times = true;
    x->only_while_active = b->mode == CRONTAB_MODE_EXACTLY_ONCE_PER_INTERVAL_WHEN_ACTIVE;
    return x;
}

int crontab_schedule(const Rondo__CrontabBinding *binding, struct arena *arena, Schedule__Schedule **ret,
                     struct err *err) {
    int rc = crontab_check_binding(binding, err);
    if (rc < 0)
        return rc;
    Schedule__Schedule *s = pb_arena_new(&schedule__schedule__descriptor, arena);
    if (s) {
        s->spec = spec_of(binding, arena);
        s->action = action_of(binding, arena);
        s->policies = crontab_make_policies(arena);
        s->extras = extras_of(binding, arena);
    }
    *ret = s;
    return arena_failed(arena) ? err_std(err, ERR_NO_MEMORY) : 0;
}

bool crontab_is_bound(const Schedule__Schedule *schedule) {
    const Rondo__ScheduleExtras *x = schedule->extras;
    return x && x->passes_times && cstr_eq(x->workflow_id_format, ID_FORMAT);
}

Rondo__BoundCrontab *crontab_shown(const State__Execution *st, struct arena *arena) {
    const Schedule__Schedule *schedule = st->schedule->schedule;
    if (!crontab_is_bound(schedule))
        return NULL;
    Rondo__BoundCrontab *shown = pb_arena_new(&rondo__bound_crontab__descriptor, arena);
    Rondo__CrontabBinding *b = pb_arena_new(&rondo__crontab_binding__descriptor, arena);
    if (!shown || !b)
        return NULL;
    const Workflow__NewWorkflowExecutionInfo *start = schedule->action->start_workflow;
    int64_t next_us = schedule_next_us(st);
    b->name = st->schedule->schedule_id;
    b->crontab = schedule->extras->crontab;
    b->mode = schedule->extras->only_while_active ? CRONTAB_MODE_EXACTLY_ONCE_PER_INTERVAL_WHEN_ACTIVE
                                                  : CRONTAB_MODE_EXACTLY_ONCE_PER_INTERVAL;
    b->workflow_type = start->workflow_type->name;
    b->task_queue = start->task_queue->name;
    b->time_zone = schedule->spec->timezone_name;
    shown->binding = b;
    shown->paused = schedule->state && schedule->state->paused;
    shown->next_time = next_us ? pb_arena_timestamp(next_us, arena) : NULL;
    return arena_failed(arena) ? NULL : shown;
}

void crontab_keep(Schedule__Schedule *schedule, const Schedule__Schedule *old, struct arena *arena) {
    schedule->state = pb_arena_clone(old->state, arena);
    if (schedule->extras && old->extras)
        schedule->extras->pause_until = pb_arena_clone(old->extras->pause_until, arena);
}

static bool is_same_message(const void *a, const void *b) {
    struct buf packed_a cleanup(buf_done), packed_b cleanup(buf_done);
    buf_init(&packed_a, SIZE_MAX);
    buf_init(&packed_b, SIZE_MAX);
    wire_encode(&packed_a, a);
    wire_encode(&packed_b, b);
    return buf_ok(&packed_a) && buf_ok(&packed_b) && str_eq(buf_str(&packed_a), buf_str(&packed_b));
}

bool crontab_is_same(const Schedule__Schedule *a, const Schedule__Schedule *b) {
    return is_same_message(a->spec, b->spec) && is_same_message(a->action, b->action) &&
           is_same_message(a->policies, b->policies) && is_same_message(a->extras, b->extras);
}
