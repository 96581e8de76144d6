/* The invoker: begins waiting starts, and stops running actions for the pushing overlap policies.
 *
 * A start keeps its place while its letter is in the outbox and while the start is tried again, so no other
 * start can take the place. action.c handles the answers to the letters. When memory runs out, s->failed is
 * set. */
#include "core/schedule/schedule_int.h"

static bool is_paused(const State__Schedule *sch) {
    return sch->schedule->state->paused;
}

/* A paused or exhausted schedule drops the waiting starts of its spec. Manual starts stay. */
static void drop_void(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    bool paused = is_paused(sch), exhausted = schedule_is_exhausted(sch);
    size_t i = 0;
    while ((paused || exhausted) && i < sch->n_starts && !s->failed) {
        State__Start *start = sch->starts[i];
        if (start->is_manual || !start_is_waiting(start) || (!paused && start_is_retrying(start)))
            i++;
        else if (paused)
            start_drop(s, start, LEDGER_FATE_PAUSED, "the schedule was paused while it waited");
        else
            start_drop(s, start, LEDGER_FATE_EXHAUSTED, "no remaining actions");
    }
}

static bool pushes_others(const State__Start *start) {
    return start_is_waiting(start) && !start_is_retrying(start) &&
           overlap_is_pushing((E__ScheduleOverlapPolicy)start->overlap_policy);
}

/* A retrying start has no run to cancel or terminate: a pushing start replaces it at once. */
static void replace_retrying(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    bool is_pushed = false;
    for (size_t i = 0; i < sch->n_starts; i++)
        is_pushed |= pushes_others(sch->starts[i]);
    for (size_t i = sch->n_starts; is_pushed && i-- > 0;) {
        State__Start *start = sch->starts[i];
        if (start_is_retrying(start) && !start_overlaps(start))
            start_drop(s, start, LEDGER_FATE_REPLACED,
                       "a newer action took its place before it could be started");
    }
}

static void launch_retries(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    for (size_t i = 0; i < sch->n_starts; i++) {
        State__Start *start = sch->starts[i];
        if (start_is_retrying(start) && start->backoff_us <= s->now.us)
            start_launch(s, start);
    }
}

static void stop_running(struct step *s, const struct overlap_demand *demand) {
    State__Schedule *sch = s->st->schedule;
    for (size_t i = 0; i < sch->n_starts; i++) {
        State__Start *start = sch->starts[i];
        if (start->phase != PHASE_STARTED || start_overlaps(start))
            continue;
        if (demand->terminates && !start->is_terminated) {
            letter_send(s, LETTER_TERMINATE_ACTION, start->workflow_id, start->run_id, start->id);
            start->is_terminated = start->is_stopping = true;
        } else if (demand->cancels && !start->is_stopping) {
            letter_send(s, LETTER_CANCEL_ACTION, start->workflow_id, start->run_id, start->id);
            start->is_stopping = true;
        }
    }
}

static void invoker_begin_start(struct step *s, State__Start *start, struct start_count *count) {
    State__Schedule *sch = s->st->schedule;
    if (!start->is_manual && schedule_is_exhausted(sch)) {
        start_drop(s, start, LEDGER_FATE_EXHAUSTED, "no remaining actions");
    } else if (count->live >= LIMIT_SCHEDULE_RUNNING) {
        sch->buffer_dropped++;
        start_drop(s, start, LEDGER_FATE_BUFFER_FULL, "too many of its actions are running");
    } else if (count->starting < LIMIT_SCHEDULE_STARTING) {
        start_launch(s, start);
        count->starting++;
        count->live++;
    } else {
        start->phase = PHASE_PENDING; /* its turn comes when answers are back */
        ledger_number(sch, start);
    }
}

static void wait_for_turn(struct step *s, State__Start *start) {
    if (start->phase == PHASE_DEFERRED)
        return;
    start->phase = PHASE_DEFERRED;
    ledger_start(s, start, LEDGER_FATE_WAITING, "an earlier action is still running");
}

static void invoker_apply_verdict(struct step *s, State__Start *start, enum overlap_verdict verdict,
                                  struct start_count *count) {
    State__Schedule *sch = s->st->schedule;
    switch (verdict) {
    case OVERLAP_START:
        invoker_begin_start(s, start, count);
        return;
    case OVERLAP_WAIT:
        wait_for_turn(s, start);
        return;
    case OVERLAP_SKIP:
        sch->overlap_skipped++;
        start_drop(s, start, LEDGER_FATE_OVERLAP_SKIPPED, "an earlier action was still running");
        return;
    case OVERLAP_REPLACED:
        start_drop(s, start, LEDGER_FATE_REPLACED, "a newer action took its place");
        return;
    }
}

static size_t concurrent_max(const State__Schedule *sch) {
    const Rondo__ScheduleExtras *extras = sch->schedule->extras;
    return extras && extras->max_concurrent_runs > 1 ? (size_t)extras->max_concurrent_runs : 1;
}

static void invoker_decide_starts(struct step *s) {
    State__Schedule *sch = s->st->schedule;
    struct start_count count = start_count(sch);
    if (!count.waiting)
        return;
    struct overlap_entry *entries = arena_array(s->arena, struct overlap_entry, count.waiting);
    State__Start **starts = arena_array(s->arena, State__Start *, count.waiting);
    size_t n = 0;
    if (!entries || !starts) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < sch->n_starts; i++) {
        if (!start_is_waiting(sch->starts[i]) || start_is_retrying(sch->starts[i]))
            continue;
        entries[n].policy = (E__ScheduleOverlapPolicy)sch->starts[i]->overlap_policy;
        starts[n++] = sch->starts[i];
    }
    struct overlap_demand demand = overlap_decide(entries, n, count.blocking, concurrent_max(sch));
    stop_running(s, &demand);
    for (size_t i = 0; i < n && !s->failed; i++)
        invoker_apply_verdict(s, starts[i], entries[i].verdict, &count);
}

void invoker_run(struct step *s) {
    drop_void(s);
    replace_retrying(s);
    launch_retries(s);
    invoker_decide_starts(s);
    drop_void(s); /* what began may have used up the last action */
}
