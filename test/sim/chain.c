/* The links are made from both sides: a closing event names the next run, a started event the one before.
 * Whichever is read first makes the model expect the other. */
#include "chain.h"

#include <inttypes.h>
#include <stdio.h>

#include "history_rules.h"
#include "names.h"
#include "world.h"

#define CRON_MINUTE_US (60 * USEC_PER_SEC)

/* Exactly one run follows another. */
static void chain_link(struct world *w, struct run_model *before, struct run_model *after) {
    if ((before->after && before->after != after) || (after->before && after->before != before))
        world_fail(w, "one_successor", "run=%s is followed by run=%s, but also run=%s follows run=%s",
                   before->run_id, before->after ? before->after->run_id : "", after->run_id,
                   after->before ? after->before->run_id : "");
    before->after = after;
    after->before = before;
    after->start_acked = true; /* what the history of the one promises cannot be lost of the other */
}

static struct run_model *chain_meet(struct world *w, const struct run_model *run, const char *run_id) {
    return model_meet(&w->model, run_id, run->workflow_id);
}

/* The chain keeps its head; retries are counted, whatever else follows counts anew. */
static void check_successor_follows(struct world *w, const struct run_model *run) {
    const struct run_model *before = run->before;
    if (!before || before->event_count == 0 || !run->first_run_id[0])
        return;
    if (!cstr_eq(run->first_run_id, before->first_run_id))
        world_fail(w, "successor_follows", "run=%s has head %s, the run before has %s", run->run_id,
                   run->first_run_id, before->first_run_id);
    int32_t expected = run->initiator == CONTINUE_AS_NEW_INITIATOR_RETRY ? before->attempt + 1 : 1;
    if (run->attempt != expected)
        world_fail(w, "successor_follows", "run=%s is attempt %" PRId32 ", not %" PRId32, run->run_id,
                   run->attempt, expected);
    bool fits = run->initiator == CONTINUE_AS_NEW_INITIATOR_WORKFLOW
                    ? before->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW
                : run->initiator == CONTINUE_AS_NEW_INITIATOR_RETRY
                    ? before->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_FAILED ||
                          before->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT
                    : before->cron[0] != '\0';
    if (before->close_type && !fits)
        world_fail(w, "successor_follows",
                   "run=%s continues run=%s by initiator %d, which closed with %" PRId32, run->run_id,
                   before->run_id, run->initiator, before->close_type);
}

/* G3 for cron: the next time is the next one of the schedule, to the second; none is left out, none comes
 * early. */
static void check_cron_time(struct world *w, const struct run_model *run) {
    const struct run_model *before = run->before;
    if (run->initiator != CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE && (before || !run->cron[0]))
        return;
    if (run->is_copy || run->is_deleted || run->event_count == 0 || (before && before->is_deleted))
        return; /* a copy repeats the time of its base */
    int64_t due_us = run->start_wall_us + run->backoff_us;
    if (before && before->start_wall_us + before->backoff_us > run->start_wall_us)
        return; /* it ended before its own time had come, which is then the next one's */
    bool is_every_minute = cstr_eq(run->cron, "* * * * *");
    if (is_every_minute && (due_us % CRON_MINUTE_US >= USEC_PER_SEC || run->backoff_us > CRON_MINUTE_US))
        world_fail(w, "cron_time", "run=%s waits %" PRId64 " us until %" PRId64, run->run_id, run->backoff_us,
                   due_us);
    int64_t every_s;
    if (sscanf(run->cron, "@every %" SCNd64 "s", &every_s) == 1 && !world_clock_jumped(w) &&
        run->backoff_us > every_s * USEC_PER_SEC)
        world_fail(w, "cron_time", "run=%s waits %" PRId64 " us, '%s'", run->run_id, run->backoff_us,
                   run->cron);
}

void chain_note_start(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        e->workflow_execution_started_event_attributes;
    snprintf(run->first_run_id, sizeof(run->first_run_id), "%s", a->first_execution_run_id);
    snprintf(run->cron, sizeof(run->cron), "%s", a->cron_schedule);
    run->initiator = (int)a->initiator;
    run->attempt = a->attempt;
    run->start_wall_us = event_wall_us(e);
    run->backoff_us = duration_us(a->first_workflow_task_backoff);
    run->is_copy = !cstr_eq(a->original_execution_run_id, run->run_id);
    if (run->is_copy)
        return;
    if (a->continued_execution_run_id[0])
        chain_link(w, chain_meet(w, run, a->continued_execution_run_id), run);
    else if (!cstr_eq(run->first_run_id, run->run_id))
        world_fail(w, "successor_follows", "run=%s begins a chain whose head is %s", run->run_id,
                   run->first_run_id);
    check_successor_follows(w, run);
}

void chain_note_close(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const char *next = event_next_run(e);
    if (next[0]) {
        struct run_model *after = chain_meet(w, run, next);
        chain_link(w, run, after);
        check_successor_follows(w, after);
    } else if (run->after) {
        world_fail(w, "one_successor", "run=%s closed with type=%" PRId32 ", but run=%s continues it",
                   run->run_id, run->close_type, run->after->run_id);
    }
}

/* There is no moment without a run, and the first task does not come before its time. */
static void check_no_gap(struct world *w, const struct run_model *run) {
    const struct run_model *after = run->after;
    if (!after || after->is_deleted || run->is_deleted || after->event_count == 0)
        return;
    if (after->start_wall_us != run->close_wall_us)
        world_fail(w, "chain_has_no_gap", "run=%s closed at %" PRId64 ", run=%s began at %" PRId64,
                   run->run_id, run->close_wall_us, after->run_id, after->start_wall_us);
    bool is_waiting = after->first_task_wall_us && after->backoff_us > 0 && !after->was_woken;
    if (is_waiting && after->first_task_wall_us < after->start_wall_us + after->backoff_us &&
        !after->cancel_recorded)
        world_fail(w, "backoff_kept", "run=%s begins %" PRId64 " us early", after->run_id,
                   after->start_wall_us + after->backoff_us - after->first_task_wall_us);
}

/* G8: who ends a chain by the name of its first run ends the run that it has come to. */
static void check_chain_ended(struct world *w, const struct run_model *head) {
    bool is_asked = head->chain_terminated || head->chain_cancelled_wall_us;
    if (!is_asked || model_was_reset(&w->model, head->workflow_id))
        return; /* after a reset a copy may have been meant */
    bool is_terminated = false, is_cancelled = false;
    const struct run_model *last = head;
    for (const struct run_model *run = head; run; run = run->after) {
        is_terminated |= run->close_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED || run->is_deleted;
        is_cancelled |= run->cancel_recorded || run->is_deleted;
        last = run;
    }
    if (head->chain_terminated && !is_terminated)
        world_fail(w, "terminate_kept", "no run of the chain of run=%s was terminated", head->run_id);
    /* A run that had closed by then was not asked. */
    bool was_open = last->close_wall_us > head->chain_cancelled_wall_us && !world_clock_jumped(w);
    if (head->chain_cancelled_wall_us && was_open && !is_cancelled)
        world_fail(w, "cancel_kept", "no run of the chain of run=%s was asked to cancel", head->run_id);
}

void chain_check_all(struct world *w) {
    for (size_t i = 0; i < w->model.run_count; i++)
        check_chain_ended(w, w->model.in_order[i]);
    for (size_t i = 0; i < w->model.run_count; i++)
        check_no_gap(w, w->model.in_order[i]);
    for (size_t i = 0; i < w->model.run_count; i++)
        check_cron_time(w, w->model.in_order[i]); /* needs the history of the run before */
}
