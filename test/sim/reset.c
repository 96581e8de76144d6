/* What is known of the base run at the reset point must be in the new run event by event; signals that came
 * later are there too, unless they were not wanted; and whoever was current made way. */
#include "reset.h"

#include <inttypes.h>
#include <stdio.h>

#include "batcher.h"
#include "history_rules.h"
#include "names.h"
#include "rpc.h"

void reset_on_ok(struct rpc *r) {
    struct world *w = r->w;
    struct request_model *request = r->subject.request;
    const Ws__ResetWorkflowExecutionResponse *m = (const void *)r->response;
    struct run_model *run = model_meet(&w->model, m->run_id, r->subject.workflow_id);
    run->start_acked = true;
    run->audit_wanted = true;
    run->reset_from = r->subject.run;
    run->reset_request = request;
    if (request->run == run)
        return;
    request->run = run;
    request->is_acked = true;
    w->tally.resets++;
    r->subject.run->superseded = true;
}

/* The last copied event is followed by the failure that says so. */
static void note_reset(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__WorkflowTaskFailedEventAttributes *a = e->workflow_task_failed_event_attributes;
    if (a->cause != WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW || !cstr_eq(a->new_run_id, run->run_id))
        return;
    /* A job that goes by a query may have found one that nobody has met. */
    struct run_model *base = model_meet(&w->model, a->base_run_id, run->workflow_id);
    if (!cstr_eq(base->workflow_id, run->workflow_id)) {
        world_fail(w, "reset_names_base", "run=%s base=%s", run->run_id, a->base_run_id);
        return;
    }
    run->reset_wall_us = event_wall_us(e);
    run->reset_event_id = e->event_id;
    run->reset_from = base;
    const char *reason = a->failure ? a->failure->message : "";
    if (!run->reset_request)
        run->reset_request = model_find_request(&w->model, str_of(reason));
    if (!run->reset_request)
        run->reset_request = batchers_note_reset(w, reason, run, base);
    if (run->reset_request && !run->reset_request->run)
        run->reset_request->run = run;
    /* Before a task was completed a job goes back to one that was scheduled, which the copy starts itself. */
    bool is_exact = run->reset_request && run->reset_request->reset_event_id == e->event_id;
    size_t copied = (size_t)e->event_id - (is_exact ? 1 : 2);
    for (size_t i = 0; i < copied && i < base->event_count; i++)
        if (base->event_hashes[i] != run->event_hashes[i]) {
            world_fail(w, "reset_copies", "run=%s event=%zu differs from run=%s", run->run_id, i + 1,
                       base->run_id);
            return;
        }
}

static void note_ended(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const char *reason = e->workflow_execution_terminated_event_attributes->reason;
    const struct request_model *request = model_find_request(&w->model, str_of(reason));
    if (!request)
        request = batchers_reset_that_ended(w, reason, run);
    if (request && strncmp(request->id, "reset-", 6) == 0)
        run->ended_by_reset = request;
}

void reset_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED)
        note_reset(w, run, e);
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
        note_ended(w, run, e);
}

/* Signals that were acknowledged before are not lost to the run that goes on. */
static void check_signals_reapplied(struct world *w, const struct run_model *run) {
    const struct run_model *base = run->reset_from;
    const struct request_model *request = run->reset_request;
    if (!request || request->drops_signals || base->is_deleted)
        return;
    for (size_t i = 0; i < base->signal_count; i++) {
        const struct request_model *signal = base->signals[i];
        bool was_waiting = base->ended_by_reset == request && base->close_wall_us == run->reset_wall_us &&
                           signal->is_acked && signal->acked_us < request->sent_us;
        if ((model_is_holder(signal, base) || was_waiting) && !model_is_holder(signal, run))
            world_fail(w, "signals_reapplied", "run=%s does not have signal=%s of its base run=%s",
                       run->run_id, signal->id, base->run_id);
    }
}

/* G9: a reset that is sent again with its request id does not replace the run that it made. */
static void check_same_run_for_reset(struct world *w, const struct run_model *run) {
    if (run->reset_request && run->ended_by_reset == run->reset_request)
        world_fail(w, "same_run_for_reset", "run=%s was made and ended by request=%s", run->run_id,
                   run->reset_request->id);
}

void reset_check_all(struct world *w) {
    for (size_t i = 0; i < w->model.run_count; i++) {
        const struct run_model *run = w->model.in_order[i];
        if (!run->reset_from || run->is_deleted)
            continue;
        check_signals_reapplied(w, run);
        check_same_run_for_reset(w, run);
    }
}
