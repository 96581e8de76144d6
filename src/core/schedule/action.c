/* An action between its schedule and the run that it becomes: what is ordered, the answer, and the end.
 *
 * Both answers can come more than once and in either order; the start's phase says what is already known. */
#include "core/schedule/schedule_int.h"

#include <stdio.h>

#include "cal/civil.h"
#include "core/step/failure.h"
#include "core/step/payload.h"

#define MSEC_PER_SEC 1000

/* the order */

static const char *action_time_text(int64_t us, bool has_ms, struct arena *arena) {
    char text[CIVIL_TEXT_MAX], suffix[8] = "Z";
    if (has_ms)
        snprintf(suffix, sizeof(suffix), ".%03dZ",
                 (int)(civil_mod(us, USEC_PER_SEC) / (USEC_PER_SEC / MSEC_PER_SEC)));
    civil_format(civil_div(us, USEC_PER_SEC), suffix, text);
    return arena_strdup(arena, text);
}

static Common__SearchAttributes__IndexedFieldsEntry *action_make_attribute(const char *name, const char *type,
                                                                           const char *value,
                                                                           struct arena *arena) {
    Common__SearchAttributes__IndexedFieldsEntry *e =
        pb_arena_new(&common__search_attributes__indexed_fields_entry__descriptor, arena);
    if (!e)
        return NULL;
    e->key = arena_strdup(arena, name);
    e->value = payload_of_text(value, type, arena);
    return e->key && e->value ? e : NULL;
}

/* The action's own, and the two that say where it comes from. */
static Common__SearchAttributes *attributes_of(const Common__SearchAttributes *own,
                                               const State__Schedule *sch, const State__Start *start,
                                               struct arena *arena) {
    Common__SearchAttributes__IndexedFieldsEntry *added[] = {
        action_make_attribute("TemporalScheduledStartTime", "Datetime",
                              action_time_text(start->nominal_s * USEC_PER_SEC, false, arena), arena),
        action_make_attribute("TemporalScheduledById", "Keyword", sch->schedule_id, arena),
    };
    size_t own_count = own ? own->n_indexed_fields : 0;
    Common__SearchAttributes *all = pb_arena_new(&common__search_attributes__descriptor, arena);
    if (!added[0] || !added[1] || !all)
        return NULL;
    all->indexed_fields = arena_array(arena, Common__SearchAttributes__IndexedFieldsEntry *, own_count + 2);
    if (!all->indexed_fields)
        return NULL;
    for (size_t i = 0; i < own_count; i++)
        if (!cstr_eq(own->indexed_fields[i]->key, added[0]->key) &&
            !cstr_eq(own->indexed_fields[i]->key, added[1]->key))
            all->indexed_fields[all->n_indexed_fields++] = own->indexed_fields[i];
    all->indexed_fields[all->n_indexed_fields++] = added[0];
    all->indexed_fields[all->n_indexed_fields++] = added[1];
    return all;
}

static Common__Payloads *times_as_input(const State__Start *start, int64_t now_us, struct arena *arena) {
    int64_t times[] = {start->nominal_s * USEC_PER_SEC, now_us};
    Common__Payloads *input = pb_arena_new(&common__payloads__descriptor, arena);
    if (!input || !(input->payloads = arena_array(arena, Common__Payload *, ARRAY_LEN(times))))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        const char *text = action_time_text(times[i], true, arena);
        input->payloads[i] = text ? payload_of_text(text, NULL, arena) : NULL;
        if (!input->payloads[i])
            return NULL;
        input->n_payloads++;
    }
    return input;
}

static E__WorkflowIdReusePolicy reuse_policy(const State__Schedule *sch, const State__Start *start) {
    const Schedule__SchedulePolicies *p = sch->schedule->policies;
    return start->is_manual || p->keep_original_workflow_id ? WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
                                                            : WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE;
}

static void copy_action(Workflow__NewWorkflowExecutionInfo *a, Ws__StartWorkflowExecutionRequest *r) {
    r->workflow_type = a->workflow_type;
    r->task_queue = a->task_queue;
    r->input = a->input;
    r->workflow_execution_timeout = a->workflow_execution_timeout;
    r->workflow_run_timeout = a->workflow_run_timeout;
    r->workflow_task_timeout = a->workflow_task_timeout;
    r->retry_policy = a->retry_policy;
    r->memo = a->memo;
    r->header = a->header;
    r->user_metadata = a->user_metadata;
    r->versioning_override = a->versioning_override;
    r->priority = a->priority;
}

static State__ScheduledBy *scheduled_by(const State__Execution *st, int64_t start_id, struct arena *arena) {
    State__ScheduledBy *by = pb_arena_new(&state__scheduled_by__descriptor, arena);
    if (!by)
        return NULL;
    by->workflow_id = arena_strdup(arena, st->workflow_id);
    by->run_id = arena_strdup(arena, st->run_id);
    by->start_id = start_id;
    by->schedule_id = arena_strdup(arena, st->schedule->schedule_id);
    return by;
}

int schedule_order(const State__Execution *st, int64_t start_id, const char *namespace_name, struct wall now,
                   struct arena *arena, struct action_order *ret) {
    const State__Schedule *sch = st->schedule;
    const State__Start *start = start_find(sch, start_id);
    if (!start || start->phase != PHASE_STARTING)
        return ERR_NOT_FOUND;
    Workflow__NewWorkflowExecutionInfo *action = pb_arena_clone(sch->schedule->action->start_workflow, arena);
    Ws__StartWorkflowExecutionRequest *r =
        pb_arena_new(&ws__start_workflow_execution_request__descriptor, arena);
    if (!action || !r)
        return ERR_NO_MEMORY;
    copy_action(action, r);
    r->namespace_ = arena_strdup(arena, namespace_name);
    r->workflow_id = arena_strdup(arena, start->workflow_id);
    r->identity = arena_printf(arena, "temporal-scheduler-%s-%s", namespace_name, sch->schedule_id);
    r->workflow_id_reuse_policy = reuse_policy(sch, start);
    r->search_attributes = attributes_of(action->search_attributes, sch, start, arena);
    bool passes_times = sch->schedule->extras && sch->schedule->extras->passes_times;
    if (passes_times)
        r->input = times_as_input(start, now.us, arena);
    if (!r->search_attributes || (passes_times && !r->input))
        return ERR_NO_MEMORY;
    *ret = (struct action_order){
        .request = r,
        .last_completion_result = pb_arena_clone(sch->last_result, arena),
        .continued_failure = pb_arena_clone(sch->last_failure, arena),
        .scheduled_by = scheduled_by(st, start_id, arena),
    };
    return arena_failed(arena) ? ERR_NO_MEMORY : 0;
}

/* the answer */

static void mark_started(struct step *s, State__Start *start, const char *run_id) {
    State__Schedule *sch = s->st->schedule;
    start->phase = PHASE_STARTED;
    start->start_us = s->now.us;
    start->status = WORKFLOW_EXECUTION_STATUS_RUNNING;
    pb_set_string(&start->run_id, run_id, &s->failed);
    sch->action_count++;
    sch->active_us = s->now.us;
    for (size_t i = 0; i < sch->n_backfills; i++)
        sch->backfills[i]->started += sch->backfills[i]->id == start->backfill_id;
}

static void retry_later(struct step *s, State__Start *start, const char *error) {
    int64_t wait_ms = LIMIT_SCHEDULE_RETRY_MS;
    for (int32_t i = 1; i < start->attempt && wait_ms < LIMIT_SCHEDULE_RETRY_MAX_MS; i++)
        wait_ms *= 2;
    start->phase = PHASE_PENDING;
    start->backoff_us = usec_add(s->now.us, MIN(wait_ms, LIMIT_SCHEDULE_RETRY_MAX_MS) * USEC_PER_MS);
    struct ledger_row *row = ledger_start(s, start, LEDGER_FATE_WAITING, error);
    if (row)
        row->is_retry = true;
}

void schedule_action_started(struct step *s, int64_t start_id, const struct action_outcome *o) {
    State__Schedule *sch = s->st->schedule;
    State__Start *start = start_find(sch, start_id);
    if (!start || start->phase != PHASE_STARTING)
        return;
    const char *error = cstr_is_empty(o->error) ? "the workflow could not be started" : o->error;
    if (!cstr_is_empty(o->run_id)) {
        mark_started(s, start, o->run_id);
        ledger_start(s, start, LEDGER_FATE_STARTED, NULL);
    } else if (o->is_taken) {
        start_drop(s, start, LEDGER_FATE_ALREADY_RUN, "a workflow with this id exists");
    } else if (o->is_retryable && start->attempt < LIMIT_SCHEDULE_ATTEMPTS) {
        retry_later(s, start, error);
    } else {
        sch->start_failed++;
        start_drop(s, start, LEDGER_FATE_START_FAILED, error);
    }
}

/* the end */

/* Only what ended by itself counts: whoever cancels or terminates a run says nothing about its work. */
static void remember_outcome(struct step *s, const struct action_end *end) {
    State__Schedule *sch = s->st->schedule;
    switch ((int)end->status) {
    case WORKFLOW_EXECUTION_STATUS_COMPLETED:
        pb_set_message(&sch->last_result, end->result, &s->failed);
        pb_set_message(&sch->last_failure, NULL, &s->failed);
        return;
    case WORKFLOW_EXECUTION_STATUS_FAILED:
        pb_set_message(&sch->last_failure, end->failure, &s->failed);
        return;
    case WORKFLOW_EXECUTION_STATUS_TIMED_OUT: /* as a retry is told of it: the history has no failure */
        pb_set_message(&sch->last_failure,
                       failure_timeout(s, "workflow timeout", TIMEOUT_TYPE_START_TO_CLOSE, NULL, NULL),
                       &s->failed);
        return;
    default:
        return;
    }
}

/* As long as a note may be; NULL without memory. */
static const char *failure_note(struct arena *arena, const struct action_end *end) {
    bool has_timed_out = end->status == WORKFLOW_EXECUTION_STATUS_TIMED_OUT;
    char *note = has_timed_out
                     ? arena_printf(arena, "paused due to workflow timeout: %s", end->workflow_id)
                     : arena_printf(arena, "paused due to workflow failure: %s: %.*s", end->workflow_id,
                                    LIMIT_SCHEDULE_NOTES_BYTES, end->failure ? end->failure->message : "");
    if (note && strlen(note) > LIMIT_SCHEDULE_NOTES_BYTES)
        note[LIMIT_SCHEDULE_NOTES_BYTES] = '\0';
    if (note)
        utf8_mend(note);
    return note;
}

static void pause_on_failure(struct step *s, const struct action_end *end) {
    State__Schedule *sch = s->st->schedule;
    const Schedule__SchedulePolicies *p = sch->schedule->policies;
    Schedule__ScheduleState *state = sch->schedule->state;
    if (!p->pause_on_failure || state->paused ||
        (end->status != WORKFLOW_EXECUTION_STATUS_FAILED &&
         end->status != WORKFLOW_EXECUTION_STATUS_TIMED_OUT))
        return;
    const char *note = failure_note(s->arena, end);
    if (!note) {
        s->failed = true;
        return;
    }
    state->paused = true;
    sch->is_paused_by_failure = true;
    pb_set_string(&state->notes, note, &s->failed);
    schedule_touch(sch);
    step_news(s, SCHEDULE_TURN_PAUSED,
              end->status == WORKFLOW_EXECUTION_STATUS_TIMED_OUT ? "a workflow timed out"
                                                                 : "a workflow failed",
              arena_strdup(s->arena, end->workflow_id), arena_strdup(s->arena, end->first_run_id));
}

/* Of those that are over, the last ones by their end. */
static void forget_old(State__Schedule *sch) {
    size_t count = 0, oldest = 0;
    for (size_t i = 0; i < sch->n_starts; i++) {
        if (sch->starts[i]->phase != PHASE_COMPLETED)
            continue;
        if (!count || sch->starts[i]->close_us < sch->starts[oldest]->close_us)
            oldest = i;
        count++;
    }
    if (count > LIMIT_SCHEDULE_RECENT)
        pb_remove_message(&sch->n_starts, sch->starts, oldest);
}

void schedule_action_closed(struct step *s, int64_t start_id, const struct action_end *end) {
    State__Schedule *sch = s->st->schedule;
    State__Start *start = start_find(sch, start_id);
    if (!start || !start_is_live(start))
        return;
    if (start->phase == PHASE_STARTING)
        mark_started(s, start, end->first_run_id);
    start->phase = PHASE_COMPLETED;
    start->status = (int32_t)end->status;
    start->close_us = MAX(end->close_us, 1);
    sch->active_us = s->now.us;
    ledger_start(s, start, LEDGER_FATE_STARTED, NULL);
    if (!run_is_open(s->st)) { /* only its ledger has to know */
        start_forget(sch, start);
        return;
    }
    remember_outcome(s, end);
    pause_on_failure(s, end);
    for (size_t i = 0; i < sch->n_starts; i++)
        if (sch->starts[i]->phase == PHASE_DEFERRED)
            sch->starts[i]->desired_us = s->now.us;
    forget_old(sch);
}
