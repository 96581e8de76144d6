/* The starts of a schedule: how one comes into being, goes out as a letter, or is dropped with its fate in
 * the ledger. */
#include "core/schedule/schedule_int.h"

struct start_count start_count(const State__Schedule *sch) {
    struct start_count c = {0};
    for (size_t i = 0; i < sch->n_starts; i++) {
        const State__Start *start = sch->starts[i];
        c.waiting += start_is_waiting(start);
        c.waiting_manual += start_is_waiting(start) && start->is_manual;
        c.waiting_free += start_is_waiting(start) && start_overlaps(start);
        c.starting += start->phase == PHASE_STARTING;
        c.live += start_is_live(start);
        c.blocking += (start_is_live(start) || start_is_retrying(start)) && !start_overlaps(start);
    }
    return c;
}

E__ScheduleOverlapPolicy schedule_policy(const State__Schedule *sch) {
    const Schedule__SchedulePolicies *p = sch->schedule->policies;
    return p->overlap_policy ? p->overlap_policy : SCHEDULE_OVERLAP_POLICY_SKIP;
}

/* Where the start with this id is, or would be: ids ascend, since starts are only ever added at the end. */
static size_t start_index_of(const State__Schedule *sch, int64_t id) {
    size_t low = 0, high = sch->n_starts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sch->starts[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

State__Start *start_find(const State__Schedule *sch, int64_t id) {
    size_t i = start_index_of(sch, id);
    return i < sch->n_starts && sch->starts[i]->id == id ? sch->starts[i] : NULL;
}

void start_number_before(State__Schedule *sch, int64_t id) {
    size_t end = start_index_of(sch, id), first = end;
    while (first > 0 && (sch->starts[first - 1]->is_manual || !sch->starts[first - 1]->ledger_id))
        first--;
    for (size_t i = first; i < end; i++)
        ledger_number(sch, sch->starts[i]);
}

static void set_workflow_id(struct step *s, State__Start *start) {
    char *id = action_id(s->st->schedule, start->nominal_s, s->arena);
    if (id)
        pb_set_string(&start->workflow_id, id, &s->failed);
    else
        s->failed = true;
}

State__Start *start_add(struct step *s, const struct start_wish *wish) {
    State__Schedule *sch = s->st->schedule;
    State__Start *start = pb_new(&state__start__descriptor, &s->failed);
    if (!start)
        return NULL;
    start->id = ++sch->next_start_id;
    start->phase = PHASE_PENDING;
    start->nominal_s = wish->at.nominal_s;
    start->actual_us = start->desired_us = wish->at.actual_us;
    start->overlap_policy = (int32_t)(wish->policy ? wish->policy : schedule_policy(sch));
    start->is_manual = wish->is_manual;
    start->backfill_id = wish->backfill_id;
    start->considered_us = s->now.us;
    if (start->is_manual)
        ledger_number(sch, start);
    set_workflow_id(s, start);
    pb_append_message(&sch->n_starts, &sch->starts, start, &s->failed);
    return s->failed ? NULL : start;
}

void start_forget(State__Schedule *sch, const State__Start *start) {
    size_t i = start_index_of(sch, start->id);
    ensure(i < sch->n_starts && sch->starts[i] == start);
    pb_remove_message(&sch->n_starts, sch->starts, i);
}

void start_drop(struct step *s, State__Start *start, Rondo__LedgerFate fate, const char *reason) {
    ledger_drop(s, start, fate, reason);
    start_forget(s->st->schedule, start);
}

/* Two triggers of the same second are two actions: the second one gets a name of its own. */
static void part_from_others(struct step *s, State__Start *start) {
    const State__Schedule *sch = s->st->schedule;
    const Schedule__SchedulePolicies *p = sch->schedule->policies;
    if (!start->is_manual || start->backfill_id || p->keep_original_workflow_id)
        return;
    for (size_t i = 0; i < sch->n_starts; i++) {
        const State__Start *other = sch->starts[i];
        bool has_its_name = start_is_live(other) || start_is_retrying(other);
        if (has_its_name && cstr_eq(other->workflow_id, start->workflow_id)) {
            char *id = arena_printf(s->arena, "%s-%lld", start->workflow_id, (long long)start->id);
            if (id)
                pb_set_string(&start->workflow_id, id, &s->failed);
            else
                s->failed = true;
            return;
        }
    }
}

void start_launch(struct step *s, State__Start *start) {
    State__Schedule *sch = s->st->schedule;
    Schedule__ScheduleState *state = sch->schedule->state;
    ensure(start_is_waiting(start));
    ledger_number(sch, start);
    if (!start->attempt) {
        set_workflow_id(s, start); /* the action may have changed while it waited */
        part_from_others(s, start);
        if (!start->is_manual && state->limited_actions) {
            state->remaining_actions--;
            schedule_touch(sch);
            if (schedule_is_exhausted(sch))
                step_news(s, SCHEDULE_TURN_EXHAUSTED, "no remaining actions", NULL, NULL);
        }
    }
    start->phase = PHASE_STARTING;
    start->attempt++;
    start->backoff_us = 0;
    letter_send(s, LETTER_START_ACTION, start->workflow_id, "", start->id);
}
