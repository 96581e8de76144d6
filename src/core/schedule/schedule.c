/* The steps of a whole schedule: create, update, patch, trigger, settle and end.
 *
 * A change has three stages. The generator first considers all due times by the old rules. Then the step
 * applies the change. Then schedule_settle() begins the starts. So a change is never retroactive, and no time
 * is considered twice. A step fails with ERR_BUSY when too many times are due, and with ERR_NO_MEMORY. */
#include "core/schedule/schedule.h"

#include "core/search/attributes.h"
#include "core/step/merge.h"
#include "core/step/retry.h"
#include "core/schedule/schedule_int.h"

#define DAY_US (INT64_C(86400) * USEC_PER_SEC)

/* reading it */

bool schedule_is_exhausted(const State__Schedule *sch) {
    const Schedule__ScheduleState *state = sch->schedule->state;
    return state->limited_actions && state->remaining_actions <= 0;
}

int64_t schedule_pause_until_us(const State__Schedule *sch) {
    const Rondo__ScheduleExtras *extras = sch->schedule->extras;
    return extras && extras->pause_until ? pb_timestamp_us(extras->pause_until) : CLOCK_NEVER;
}

int64_t schedule_catchup_us(const State__Schedule *sch) {
    int64_t us = pb_duration_us(sch->schedule->policies->catchup_window);
    return us <= 0 ? LIMIT_SCHEDULE_CATCHUP_S * USEC_PER_SEC
                   : MAX(us, LIMIT_SCHEDULE_CATCHUP_MIN_S * USEC_PER_SEC);
}

static int64_t keep_us(const State__Schedule *sch) {
    const Rondo__ScheduleExtras *extras = sch->schedule->extras;
    return extras && extras->keep_after_end ? pb_duration_us(extras->keep_after_end)
                                            : LIMIT_SCHEDULE_KEEP_DAYS * DAY_US;
}

void schedule_touch(State__Schedule *sch) {
    sch->conflict_token++;
}

/* requests that were seen before */

const State__ScheduleRequest *schedule_request_find(const State__Execution *st, const char *request_id) {
    const State__Schedule *sch = st->schedule;
    for (size_t i = 0; !cstr_is_empty(request_id) && i < sch->n_requests; i++)
        if (cstr_eq(sch->requests[i]->request_id, request_id))
            return sch->requests[i];
    return NULL;
}

bool schedule_is_deciding(const State__Execution *st, const State__ScheduleRequest *request) {
    const State__Start *start = request->start_id ? start_find(st->schedule, request->start_id) : NULL;
    return start && (start->phase == PHASE_STARTING || (start->phase == PHASE_PENDING && !start->attempt));
}

/* Forgets the oldest request. The newest request and requests without a decision stay: their callers wait. */
static void forget_request(const State__Execution *st) {
    State__Schedule *sch = st->schedule;
    size_t i = 0, newest = sch->n_requests - 1;
    while (i < newest && schedule_is_deciding(st, sch->requests[i]))
        i++;
    if (i < newest)
        pb_remove_message(&sch->n_requests, sch->requests, i);
}

static void remember_request(struct step *s, const char *request_id, const State__Start *trigger) {
    State__Schedule *sch = s->st->schedule;
    if (cstr_is_empty(request_id))
        return;
    State__ScheduleRequest *r = pb_new(&state__schedule_request__descriptor, &s->failed);
    if (!r)
        return;
    pb_set_string(&r->request_id, request_id, &s->failed);
    r->start_id = trigger ? trigger->id : 0;
    r->ledger_id = trigger ? trigger->ledger_id : 0;
    pb_append_message(&sch->n_requests, &sch->requests, r, &s->failed);
    if (sch->n_requests > LIMIT_SCHEDULE_REQUESTS)
        forget_request(s->st);
}

/* what people do to it */

/* pause_until in the future pauses; a pause that is over, or was lifted, has no end any more. */
static void settle_pause(struct step *s) {
    Schedule__Schedule *schedule = s->st->schedule->schedule;
    Rondo__ScheduleExtras *extras = schedule->extras;
    if (!extras || !extras->pause_until)
        return;
    if (pb_timestamp_us(extras->pause_until) > s->now.us) {
        schedule->state->paused = true;
    } else {
        schedule->state->paused = false;
        pb_set_message(&extras->pause_until, NULL, &s->failed);
    }
}

static void forget_pause_end(struct step *s) {
    Rondo__ScheduleExtras *extras = s->st->schedule->schedule->extras;
    if (extras)
        pb_set_message(&extras->pause_until, NULL, &s->failed);
}

/* Takes the client's schedule over. What it leaves out is there afterwards, empty. */
static void schedule_store_definition(struct step *s, const Schedule__Schedule *in) {
    State__Schedule *sch = s->st->schedule;
    Rondo__ScheduleExtras *extras = sch->schedule ? take(&sch->schedule->extras) : NULL;
    pb_set_message(&sch->schedule, in, &s->failed);
    if (s->failed) {
        pb_free(extras);
        return;
    }
    if (sch->schedule->extras)
        pb_free(extras);
    else
        sch->schedule->extras = extras;
    if (!sch->schedule->spec)
        sch->schedule->spec = pb_new(&schedule__schedule_spec__descriptor, &s->failed);
    if (!sch->schedule->policies)
        sch->schedule->policies = pb_new(&schedule__schedule_policies__descriptor, &s->failed);
    if (!sch->schedule->state)
        sch->schedule->state = pb_new(&schedule__schedule_state__descriptor, &s->failed);
    Workflow__NewWorkflowExecutionInfo *action = sch->schedule->action->start_workflow;
    if (action->retry_policy) /* in full, as a workflow's: an SDK refuses to send a coefficient of 0 back */
        pb_set_message(&action->retry_policy, retry_normalised(s, action->retry_policy), &s->failed);
    attributes_add_types(s, action->search_attributes);
}

static int add_trigger(struct step *s, E__ScheduleOverlapPolicy policy,
                       const Google__Protobuf__Timestamp *time, const State__Start **ret) {
    State__Schedule *sch = s->st->schedule;
    int64_t at_us = time ? pb_timestamp_us(time) : s->now.us;
    struct start_wish wish = {.at = {at_us / USEC_PER_SEC - (at_us % USEC_PER_SEC < 0), at_us},
                              .policy = policy,
                              .is_manual = true};
    if (start_count(sch).waiting_manual >= LIMIT_SCHEDULE_BUFFER)
        return err_set(s->err, ERR_FULL, "%d starts of this schedule are waiting already",
                       LIMIT_SCHEDULE_BUFFER);
    *ret = start_add(s, &wish);
    return *ret ? 0 : err_std(s->err, ERR_NO_MEMORY);
}

static int apply_patch(struct step *s, const Schedule__SchedulePatch *patch,
                       const State__Start **ret_trigger) {
    Schedule__ScheduleState *state = s->st->schedule->schedule->state;
    const Schedule__TriggerImmediatelyRequest *trigger = patch->trigger_immediately;
    const char *note = !cstr_is_empty(patch->unpause) ? patch->unpause : patch->pause;
    int rc = 0;
    if (trigger)
        rc = add_trigger(s, trigger->overlap_policy, trigger->scheduled_time, ret_trigger);
    for (size_t i = 0; i < patch->n_backfill_request && rc == 0; i++)
        rc = backfill_add(s, patch->backfill_request[i]);
    if (rc == 0 && !cstr_is_empty(note)) {
        state->paused = cstr_is_empty(patch->unpause);
        pb_set_string(&state->notes, note, &s->failed);
        s->st->schedule->is_paused_by_failure = false;
        forget_pause_end(s);
    }
    return rc;
}

int schedule_create(struct step *s, const struct schedule_birth *birth,
                    const Ws__CreateScheduleRequest *req) {
    const State__Start *trigger = NULL;
    run_begin_lodger(s, birth->namespace_id, SCHEDULE_ID_PREFIX, req->schedule_id, birth->run_id);
    pb_set_string(&s->st->start_request_id, birth->request_id, &s->failed);
    if (req->memo)
        merge_memo(s, req->memo);
    if (req->search_attributes)
        merge_search_attributes(s, req->search_attributes);
    State__Schedule *sch = s->st->schedule = pb_new(&state__schedule__descriptor, &s->failed);
    if (!sch)
        return err_std(s->err, ERR_NO_MEMORY);
    pb_set_string(&sch->schedule_id, req->schedule_id, &s->failed);
    pb_set_string(&sch->previous_run_id, birth->previous_run_id, &s->failed);
    schedule_store_definition(s, req->schedule);
    if (s->failed)
        return err_std(s->err, ERR_NO_MEMORY);
    settle_pause(s);
    sch->conflict_token = 1;
    sch->create_us = sch->high_water_us = sch->active_us = s->now.us;
    generator_reset(sch);
    int rc = req->initial_patch ? apply_patch(s, req->initial_patch, &trigger) : 0;
    if (rc == 0 && trigger)
        remember_request(s, req->request_id, trigger);
    return rc;
}

/* Everything that is due, by the rules that still hold. */
static int catch_up(struct step *s, bool must_be_all) {
    bool has_more = false;
    int rc = must_be_all ? generator_drain(s, &has_more) : generator_run(s, &has_more);
    if (rc == 0 && has_more && must_be_all)
        return err_set(s->err, ERR_BUSY, "the schedule is making up for missed times, try again");
    return rc;
}

/* The time whose nominal second has come while its jitter has not. */
static bool find_pending(struct step *s, const struct times *t, struct cal_time *ret) {
    const State__Schedule *sch = s->st->schedule;
    return cal_next(t->real, t->seed, sch->high_water_us, ret) == CAL_FOUND &&
           ret->nominal_s * USEC_PER_SEC <= s->now.us && ret->actual_us > s->now.us;
}

/* What the old spec was about to do. If the new one has this time too, it is done: at once, when its new
 * moment has passed. Until then the generator has it ahead, also when it is excluded now. */
static void keep_pending(struct step *s, const struct times *t, const struct cal_time *pending) {
    struct start_wish wish = {.at = *pending};
    struct cal_time at;
    bool is_asked =
        cal_next(times_all(t), t->seed, pending->nominal_s * USEC_PER_SEC - 1, &at) == CAL_FOUND &&
        at.nominal_s == pending->nominal_s;
    bool is_kept = is_asked && !times_exclusion(t, pending->nominal_s);
    if (is_asked && at.actual_us > s->now.us)
        return;
    if (is_kept)
        wish.at = at;
    State__Start *start = start_add(s, &wish);
    if (start && !is_kept)
        start_drop(s, start, LEDGER_FATE_UPDATED, "an update removed it before its jitter was over");
}

/* Where the new spec takes over: what acts after now is its own, also when its nominal second has passed. */
static void move_mark(struct step *s, const struct times *t) {
    State__Schedule *sch = s->st->schedule;
    struct cal_time last;
    bool is_ahead = times_last(t, sch->high_water_us, s->now.us, &last) && last.actual_us > s->now.us;
    sch->high_water_us = is_ahead ? last.nominal_s * USEC_PER_SEC - 1 : MAX(sch->high_water_us, s->now.us);
}

static int open_times(struct step *s, struct times *t) {
    struct err why = {0};
    int rc = times_new(s->st, s->ctx.space, s->ctx.zones, s->arena, t, &why);
    return rc == ERR_NO_MEMORY ? err_std(s->err, rc) : 0;
}

static void replace_lists(struct step *s, const Ws__UpdateScheduleRequest *req) {
    if (req->memo) {
        pb_set_message(&s->st->memo, NULL, &s->failed);
        merge_memo(s, req->memo);
    }
    if (req->search_attributes) {
        pb_set_message(&s->st->search_attributes, NULL, &s->failed);
        merge_search_attributes(s, req->search_attributes);
    }
}

static bool token_matches(const State__Schedule *sch, const ProtobufCBinaryData *token) {
    uint8_t have[SCHEDULE_TOKEN_BYTES];
    schedule_token_bytes(sch, have);
    return !token->len || (token->len == sizeof(have) && memcmp(token->data, have, sizeof(have)) == 0);
}

/* Waiting starts of the spec get the new policy. Manual starts keep theirs. */
static void schedule_apply_policy(State__Schedule *sch) {
    for (size_t i = 0; i < sch->n_starts; i++)
        if (start_is_waiting(sch->starts[i]) && !start_is_retrying(sch->starts[i]) &&
            !sch->starts[i]->is_manual)
            sch->starts[i]->overlap_policy = (int32_t)schedule_policy(sch);
}

int schedule_update(struct step *s, const Ws__UpdateScheduleRequest *req) {
    State__Schedule *sch = s->st->schedule;
    cleanup(times_done) struct times old = {0};
    cleanup(times_done) struct times new = {0};
    struct cal_time pending;
    if (schedule_request_find(s->st, req->request_id))
        return 0;
    int rc = catch_up(s, true);
    if (rc == 0 && !token_matches(sch, &req->conflict_token))
        rc = err_set(s->err, ERR_PRECONDITION, "mismatched conflict token");
    if (rc == 0)
        rc = open_times(s, &old);
    if (rc < 0)
        return rc;
    bool was_paused = sch->schedule->state->paused;
    bool has_pending = old.real && find_pending(s, &old, &pending);
    schedule_store_definition(s, req->schedule);
    if (s->failed)
        return err_std(s->err, ERR_NO_MEMORY);
    rc = schedule_check_whole(sch->schedule_id, sch->schedule, s->err); /* with the extras that it keeps */
    if (rc < 0)
        return rc;
    /* A client that does not know of pauses that end has lifted this one. */
    if (was_paused && !sch->schedule->state->paused && !req->schedule->extras)
        forget_pause_end(s);
    settle_pause(s);
    rc = open_times(s, &new);
    if (rc < 0)
        return rc;
    if (new.real && has_pending)
        keep_pending(s, &new, &pending);
    if (new.real)
        move_mark(s, &new);
    schedule_apply_policy(sch);
    replace_lists(s, req);
    sch->update_us = sch->active_us = s->now.us;
    sch->is_exhaustion_noted = false;
    schedule_touch(sch);
    generator_reset(sch);
    remember_request(s, req->request_id, NULL);
    return 0;
}

int schedule_patch(struct step *s, const Ws__PatchScheduleRequest *req) {
    State__Schedule *sch = s->st->schedule;
    const State__Start *trigger = NULL;
    if (schedule_request_find(s->st, req->request_id))
        return 0;
    /* What was due while it was paused must not begin because the pause ends now. */
    int rc = catch_up(s, !cstr_is_empty(req->patch->unpause));
    if (rc == 0)
        rc = apply_patch(s, req->patch, &trigger);
    if (rc < 0)
        return rc;
    sch->active_us = s->now.us;
    schedule_touch(sch);
    remember_request(s, req->request_id, trigger);
    return 0;
}

int schedule_trigger(struct step *s, const Rondo__TriggerScheduleRequest *req) {
    const State__Start *trigger = NULL;
    if (schedule_request_find(s->st, req->request_id))
        return 0;
    int rc = add_trigger(s, req->overlap_policy, req->scheduled_time, &trigger);
    if (rc < 0)
        return rc;
    s->st->schedule->active_us = s->now.us;
    remember_request(s, req->request_id, trigger);
    return 0;
}

int schedule_refresh(struct step *s) {
    return generator_refresh(s);
}

/* going on */

static void end_pause(struct step *s, bool has_more) {
    State__Schedule *sch = s->st->schedule;
    Schedule__ScheduleState *state = sch->schedule->state;
    int64_t until_us = schedule_pause_until_us(sch);
    if (!state->paused || until_us > s->now.us || (has_more && sch->high_water_us < until_us))
        return;
    state->paused = false;
    pb_set_string(&state->notes, "unpaused: the pause was until now", &s->failed);
    forget_pause_end(s);
    sch->active_us = s->now.us;
    schedule_touch(sch);
}

/* When the schedule ends by itself. 0: never, because it can act, is paused, or has starts or backfills. */
static int64_t idle_close_us(const State__Schedule *sch) {
    struct start_count count = start_count(sch);
    bool can_act = sch->n_future_us && !schedule_is_exhausted(sch);
    if (can_act || sch->schedule->state->paused || sch->n_backfills || count.waiting || count.live ||
        !cstr_is_empty(sch->invalid_error))
        return 0;
    return usec_add(sch->active_us, keep_us(sch));
}

static int64_t schedule_sooner_time(int64_t a_us, int64_t b_us) {
    return !b_us || (a_us && a_us < b_us) ? a_us : b_us;
}

static int64_t next_wake(struct step *s, bool has_more) {
    const State__Schedule *sch = s->st->schedule;
    struct start_count count = start_count(sch);
    int64_t wake_us = sch->idle_close_us;
    /* With letters on the way, their answers go on with it; with starts that are tried again, those do. */
    bool can_go_on = (has_more && !generator_is_flooded(sch, &count)) || backfill_can_go_on(sch);
    if (can_go_on && count.starting < LIMIT_SCHEDULE_STARTING)
        return s->now.us;
    if (!has_more)
        wake_us = schedule_sooner_time(wake_us, sch->generate_us);
    if (sch->schedule->state->paused && schedule_pause_until_us(sch) != CLOCK_NEVER)
        wake_us = schedule_sooner_time(wake_us, schedule_pause_until_us(sch));
    for (size_t i = 0; i < sch->n_starts; i++)
        if (start_is_retrying(sch->starts[i]))
            wake_us = schedule_sooner_time(wake_us, sch->starts[i]->backoff_us);
    return wake_us;
}

int schedule_settle(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    bool has_more = false;
    int rc = generator_run(s, &has_more);
    if (rc < 0)
        return rc;
    end_pause(s, has_more);
    if (!sch->schedule->state->paused)
        sch->is_paused_by_failure = false; /* however the pause was lifted */
    rc = backfill_run(s);
    if (rc < 0)
        return rc;
    invoker_run(s);
    backfill_finish(sch);
    sch->idle_close_us = idle_close_us(sch);
    if (sch->idle_close_us && sch->idle_close_us <= s->now.us && !has_more) {
        rc = generator_drain(s, &has_more);
        if (rc < 0 || !has_more)
            return rc < 0 ? rc : schedule_end(s, WORKFLOW_EXECUTION_STATUS_COMPLETED);
    }
    sch->wake_us = next_wake(s, has_more);
    ledger_sweep(s);
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}

int schedule_tick(unused_arg struct step *s) {
    return 0; /* schedule_settle() does whatever is due */
}

int64_t schedule_due_us(const State__Execution *st) {
    return st->schedule->wake_us ? st->schedule->wake_us : CLOCK_NEVER;
}

/* Drops the waiting starts. Live starts stay until their runs end, because the ledger row records the end.
 * STARTING counts as live: the run may exist although the answer has not arrived. */
static void end_starts(struct step *s, const char *reason) {
    State__Schedule *sch = s->st->schedule;
    start_number_before(sch, INT64_MAX);
    for (size_t i = sch->n_starts; i-- > 0;) {
        State__Start *start = sch->starts[i];
        if (start_is_waiting(start))
            start_drop(s, start, LEDGER_FATE_ENDED, reason);
        else if (start->phase == PHASE_STARTING)
            ledger_start(s, start, LEDGER_FATE_ENDED, reason);
        else if (start->phase == PHASE_COMPLETED)
            pb_remove_message(&sch->n_starts, sch->starts, i);
    }
}

int schedule_end(struct step *s, E__WorkflowExecutionStatus status) {
    State__Schedule *sch = s->st->schedule;
    const char *reason = status == WORKFLOW_EXECUTION_STATUS_TERMINATED
                             ? "the schedule was deleted before it could be started"
                             : "the schedule ended before it could be started";
    if (!run_is_open(s->st))
        return err_set(s->err, ERR_NOT_FOUND, "schedule not found");
    int rc = generator_end(s, reason);
    if (rc < 0)
        return rc;
    end_starts(s, reason);
    pb_clear_messages(&sch->n_backfills, &sch->backfills);
    pb_clear_messages(&s->st->n_outbox, &s->st->outbox);
    sch->wake_us = sch->generate_us = sch->idle_close_us = 0;
    run_close(s, status);
    if (status == WORKFLOW_EXECUTION_STATUS_TERMINATED)
        step_news(s, SCHEDULE_TURN_DELETED, NULL, NULL, NULL);
    else
        step_news(s, SCHEDULE_TURN_ENDED,
                  schedule_is_exhausted(sch) ? "no remaining actions" : "no more times follow", NULL, NULL);
    return s->failed ? err_std(s->err, ERR_NO_MEMORY) : 0;
}
