/* The run as a whole: how it begins, what reaches it from outside, how it ends. */
#include "core/run/run.h"

#include "core/message/callback.h"
#include "core/run/child.h"
#include "core/step/failure.h"
#include "core/message/letter.h"
#include "core/step/merge.h"
#include "core/run/pause.h"
#include "core/step/retry.h"
#include "core/schedule/schedule.h"
#include "core/run/signal_ids.h"
#include "core/run/task.h"
#include "core/step/validate.h"

bool run_is_open(const State__Execution *st) {
    return st->status == WORKFLOW_EXECUTION_STATUS_RUNNING || st->status == WORKFLOW_EXECUTION_STATUS_PAUSED;
}

/* The end of a chain that a schedule began is what the schedule waits for. A reset goes on as another run. */
static void run_tell_schedule(struct step *s) {
    const State__ScheduledBy *by = s->st->scheduled_by;
    if (by && cstr_is_empty(s->st->new_run_id) && cstr_is_empty(s->st->reset_run_id))
        letter_send(s, LETTER_ACTION_CLOSED, by->workflow_id, by->run_id, by->start_id);
}

void run_begin_lodger(struct step *s, const char *namespace_id, const char *prefix, const char *id,
                      const char *run_id) {
    State__Execution *st = s->st;
    char *workflow_id = arena_printf(s->arena, "%s%s", prefix, id);
    if (!workflow_id) {
        s->failed = true;
        return;
    }
    pb_set_string(&st->namespace_id, namespace_id, &s->failed);
    pb_set_string(&st->workflow_id, workflow_id, &s->failed);
    pb_set_string(&st->run_id, run_id, &s->failed);
    pb_set_string(&st->first_run_id, run_id, &s->failed);
    pb_set_string(&st->original_run_id, run_id, &s->failed);
    st->status = WORKFLOW_EXECUTION_STATUS_RUNNING;
    st->start_us = st->execution_us = s->now.us;
    st->next_event_id = 1;
    st->attempt = st->task_attempt = 1;
}

/* Nothing happens to them any more, but they are still described. */
static void run_keep_activities(State__Execution *st) {
    st->n_left_activities = st->n_activities;
    st->left_activities = st->activities;
    st->n_activities = 0;
    st->activities = NULL;
}

void run_close(struct step *s, E__WorkflowExecutionStatus status) {
    State__Execution *st = s->st;
    ensure_inv(I6, run_is_open(st));
    pause_end(s);
    st->status = (int32_t)status;
    st->close_us = s->now.us;
    pb_free(st->task);
    st->task = NULL;
    st->first_task_due_us = 0;
    run_keep_activities(st);
    pause_show(s);
    pb_clear_messages(&st->n_timers, &st->timers);
    child_say_goodbye(s);
    run_tell_schedule(s);
    pb_clear_bytes(&st->n_buffered, &st->buffered);
    st->buffered_bytes = 0;
    callback_trigger(s);
    step_effect(s, EFFECT_CLOSED, 0);
}

/* An event from outside wants the workflow's attention. While the first task still waits for its
 * start delay, only those that insist get it. */
static void run_wake_for(struct step *s, bool insists) {
    if (s->st->is_first_task_held || (s->st->first_task_due_us && !insists))
        return;
    task_schedule(s);
}

/* Leaves a notice when this step took a size past a multiple of that limit. */
static void run_notice_growth(struct step *s, enum notice_kind kind, enum settable warn, int64_t before,
                              int64_t after) {
    int64_t each = step_limit(s, warn);
    if (before / each < after / each)
        step_notice(s, kind, "", after);
}

/* A run that outgrew its limits cannot be replayed or kept by anyone in reasonable time: it ends here. */
static int run_bound_size(struct step *s) {
    int64_t events = s->st->next_event_id - 1, bytes = s->st->history_bytes;
    const char *reason = NULL;
    if (s->first_event_id) {
        run_notice_growth(s, NOTICE_HISTORY_LONG, SETTABLE_HISTORY_EVENTS_WARN, s->first_event_id - 1,
                          events);
        run_notice_growth(s, NOTICE_HISTORY_LARGE, SETTABLE_HISTORY_BYTES_WARN,
                          bytes - (int64_t)s->events.len, bytes);
    }
    if (events > step_limit(s, SETTABLE_HISTORY_EVENTS))
        reason = "Workflow history count exceeds limit.";
    else if (bytes > step_limit(s, SETTABLE_HISTORY_BYTES))
        reason = "Workflow history size exceeds limit.";
    else if ((int64_t)s->ctx.state_bytes > step_limit(s, SETTABLE_STATE_BYTES))
        reason = "Workflow mutable state size exceeds limit.";
    return reason ? run_terminate(s, reason, NULL, "history-service", NULL, 0) : 0;
}

/* When too much arrived while the worker was busy, the task is given up so that it can be written. */
static void run_bound_buffer(struct step *s) {
    const State__Execution *st = s->st;
    if (!task_is_started(st) || ((int64_t)st->n_buffered < step_limit(s, SETTABLE_BUFFERED_EVENTS) &&
                                 st->buffered_bytes < step_limit(s, SETTABLE_BUFFERED_BYTES)))
        return;
    task_fail(s, WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND, NULL, "history-service");
}

void run_wake(struct step *s) {
    run_wake_for(s, false);
}

int run_settle(struct step *s) {
    if (!run_is_open(s->st))
        return 0;
    if (s->st->schedule)
        return schedule_settle(s);
    if (s->st->batch)
        return 0; /* nothing in it grows */
    run_bound_buffer(s);
    task_settle(s);
    return run_bound_size(s);
}

int run_signal(struct step *s, const Ws__SignalWorkflowExecutionRequest *req,
               const struct run_caller *caller) {
    State__Execution *st = s->st;
    /* Before "closed": it may have been this very signal that ended the run. */
    if (!cstr_is_empty(req->request_id) && signal_id_seen(st, req->request_id))
        return 0;
    if (!run_is_open(st))
        return err_std(s->err, ERR_CLOSED);
    if (st->signal_count >= step_limit(s, SETTABLE_SIGNALS))
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
    signal_id_add(s, req->request_id, 0);
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, &a, &extra);
    st->signal_count++;
    run_wake_for(s, caller && caller->insists);
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
    run_wake_for(s, true);
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

int64_t run_task_id_bound(const State__Execution *st) {
    enum { OF_TASK = 3, OF_END = 1 }; /* scheduled, started, failed */
    int64_t more = run_is_open(st) ? (int64_t)st->n_buffered + OF_TASK + OF_END : 0;
    return st->task_id_base + st->next_event_id - 1 + more;
}

int run_end_by_reset(struct step *s, const struct reset_end *end) {
    if (end->is_same_chain) {
        pb_set_string(&s->st->reset_run_id, end->new_run_id, &s->failed);
        pb_set_string(&s->st->reset_request_id, end->request_id, &s->failed);
    }
    if (end->is_base)
        child_hand_over(s);
    return run_terminate(s, cstr_is_empty(end->reason) ? "reset" : end->reason, NULL, "history-resetter", NULL, 0);
}
