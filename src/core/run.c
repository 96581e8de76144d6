/* The run as a whole: how it begins, what reaches it from outside, how it ends. */
#include "core/run.h"

#include "core/child.h"
#include "core/failure.h"
#include "core/merge.h"
#include "core/retry.h"
#include "core/task.h"
#include "core/validate.h"

bool run_is_open(const State__Execution *st) {
    return st->status == WORKFLOW_EXECUTION_STATUS_RUNNING;
}

void run_close(struct step *s, E__WorkflowExecutionStatus status) {
    State__Execution *st = s->st;
    ensure_inv(I6, run_is_open(st));
    st->status = (int32_t)status;
    st->close_us = s->now.us;
    pb_free(st->task);
    st->task = NULL;
    st->first_task_due_us = 0;
    pb_clear_messages(&st->n_activities, &st->activities);
    pb_clear_messages(&st->n_timers, &st->timers);
    pb_clear_messages(&st->n_externals, &st->externals);
    child_say_goodbye(s);
    pb_clear_bytes(&st->n_buffered, &st->buffered);
    st->buffered_bytes = 0;
    step_effect(s, EFFECT_CLOSED, 0);
}

/* An event from outside wants the workflow's attention. While the first task still waits for its
 * start delay, only those that insist get it. */
static void wake(struct step *s, bool insists) {
    if (s->st->is_first_task_held || (s->st->first_task_due_us && !insists))
        return;
    task_schedule(s);
}

/* A history that outgrew its limits cannot be replayed by anyone in reasonable time: the run ends here. */
static int bound_history(struct step *s) {
    const char *reason = NULL;
    if (s->st->next_event_id - 1 > LIMIT_HISTORY_EVENTS)
        reason = "Workflow history count exceeds limit.";
    else if (s->st->history_bytes > LIMIT_HISTORY_BYTES)
        reason = "Workflow history size exceeds limit.";
    return reason ? run_terminate(s, reason, NULL, "history-service", NULL, 0) : 0;
}

/* When too much arrived while the worker was busy, the task is given up so that it can be written. */
static int bound_buffer(struct step *s) {
    const State__Execution *st = s->st;
    if (!task_is_started(st) ||
        (st->n_buffered < LIMIT_BUFFERED_EVENTS && st->buffered_bytes < LIMIT_BUFFERED_BYTES))
        return 0;
    return task_fail(s, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND, NULL, "history-service");
}

int run_settle(struct step *s) {
    if (!run_is_open(s->st))
        return 0;
    int rc = bound_buffer(s);
    task_settle(s);
    return rc == 0 && run_is_open(s->st) ? bound_history(s) : rc;
}

static bool signal_seen(const State__Execution *st, const char *request_id) {
    for (size_t i = 0; i < st->n_signal_request_ids; i++)
        if (streq(st->signal_request_ids[i], request_id))
            return true;
    return false;
}

int run_signal(struct step *s, const Ws__SignalWorkflowExecutionRequest *req,
               const struct run_caller *caller) {
    State__Execution *st = s->st;
    /* Before "closed": it may have been this very signal that ended the run. */
    if (!strempty(req->request_id) && signal_seen(st, req->request_id))
        return 0;
    if (!run_is_open(st))
        return err_std(s->err, ERR_CLOSED);
    if (st->signal_count >= LIMIT_SIGNALS)
        return err_set(s->err, ERR_INVALID, "exceeded workflow execution limit for signal events");
    History__WorkflowExecutionSignaledEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_SIGNALED_EVENT_ATTRIBUTES__INIT;
    a.signal_name = req->signal_name;
    a.input = req->input;
    a.identity = req->identity;
    a.header = req->header;
    a.request_id = req->request_id;
    a.external_workflow_execution = caller ? caller->execution : NULL;
    struct event_extra extra = {.links = req->links, .link_count = req->n_links};
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &a, &extra);
    st->signal_count++;
    if (!strempty(req->request_id))
        pb_append_string(&st->n_signal_request_ids, &st->signal_request_ids, req->request_id, &s->failed);
    wake(s, caller && caller->insists);
    return 0;
}

int run_request_cancel(struct step *s, const Ws__RequestCancelWorkflowExecutionRequest *req,
                       const struct run_caller *caller) {
    State__Execution *st = s->st;
    if (!run_is_open(st) || st->cancel_requested)
        return 0;
    History__WorkflowExecutionCancelRequestedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_CANCEL_REQUESTED_EVENT_ATTRIBUTES__INIT;
    a.cause = req->reason;
    a.identity = req->identity;
    if (caller) {
        a.external_workflow_execution = caller->execution;
        a.external_initiated_event_id = caller->initiated_event_id;
    }
    struct event_extra extra = {.links = req->links, .link_count = req->n_links};
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &a, &extra);
    st->cancel_requested = true;
    pb_set_string(&st->cancel_request_id, req->request_id, &s->failed);
    wake(s, true);
    return 0;
}

int run_terminate(struct step *s, const char *reason, Common__Payloads *details, const char *identity,
                  Common__Link **links, size_t link_count) {
    if (!run_is_open(s->st))
        return err_std(s->err, ERR_CLOSED);
    task_force_close(s);
    History__WorkflowExecutionTerminatedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_TERMINATED_EVENT_ATTRIBUTES__INIT;
    a.reason = (char *)(uintptr_t)reason;
    a.details = details;
    a.identity = (char *)(uintptr_t)identity;
    struct event_extra extra = {.links = links, .link_count = link_count};
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED, &a, &extra);
    run_close(s, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    return 0;
}

int run_end_by_reset(struct step *s, const struct reset_end *end) {
    if (end->is_same_chain)
        pb_set_string(&s->st->reset_run_id, end->new_run_id, &s->failed);
    if (end->is_base)
        child_hand_over(s, end->event_id);
    return run_terminate(s, strempty(end->reason) ? "reset" : end->reason, NULL, "history-service", NULL, 0);
}
