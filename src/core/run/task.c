/* The workflow task's states. Happy path: task_schedule, task_start, then
 * task_complete (completion.c). What goes wrong: the worker fails it, never
 * answers (start-to-close), or its sticky queue has no worker any more
 * (schedule-to-start); each ends the task and schedules the next. */
#include "core/run/task.h"

#include "core/step/failure.h"
#include "core/run/pause.h"
#include "core/run/problems.h"
#include "core/run/run.h"
#include "core/version/versioning.h"

bool task_is_started(const State__Execution *st) {
    return st->task && st->task->started_event_id != 0;
}

bool task_owes_start(const State__Execution *st) {
    return task_is_started(st) && st->task->is_scheduled_written && !st->task->is_started_written;
}

bool task_is_transient(const State__WorkflowTask *t) {
    return t->attempt > 1;
}

static void task_write_scheduled(struct step *s, int64_t time_us) {
    State__WorkflowTask *t = s->st->task;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = t->is_sticky ? s->st->sticky_queue : s->st->task_queue;
    queue.kind = t->is_sticky ? TASK_QUEUE_KIND_STICKY : TASK_QUEUE_KIND_NORMAL;
    if (t->is_sticky)
        queue.normal_name = s->st->task_queue;
    Google__Protobuf__Duration timeout = pb_duration(t->timeout_us);
    History__WorkflowTaskScheduledEventAttributes a = HISTORY__WORKFLOW_TASK_SCHEDULED_EVENT_ATTRIBUTES__INIT;
    a.task_queue = &queue;
    a.start_to_close_timeout = &timeout;
    a.attempt = t->attempt;
    struct event_extra extra = {.time_us = time_us};
    s->st->first_task_due_us = 0;
    t->scheduled_event_id = step_event(s, EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, &a, &extra);
    t->is_scheduled_written = true;
}

static void task_write_started(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    E__SuggestContinueAsNewReason reasons[3];
    History__WorkflowTaskStartedEventAttributes a = HISTORY__WORKFLOW_TASK_STARTED_EVENT_ATTRIBUTES__INIT;
    a.scheduled_event_id = t->scheduled_event_id;
    a.identity = t->identity;
    a.request_id = t->request_id;
    a.history_size_bytes = t->history_bytes;
    a.suggest_continue_as_new = t->suggest_continue_as_new;
    a.suggest_continue_as_new_reasons = reasons;
    a.target_worker_deployment_version_changed = t->is_target_changed;
    if (t->suggest_continue_as_new && t->history_bytes >= step_limit(s, SETTABLE_SUGGEST_BYTES))
        reasons[a.n_suggest_continue_as_new_reasons++] =
            SUGGEST_CONTINUE_AS_NEW_REASON_HISTORY_SIZE_TOO_LARGE;
    if (t->suggest_continue_as_new && s->st->n_updates >= LIMIT_SUGGEST_UPDATES)
        reasons[a.n_suggest_continue_as_new_reasons++] = SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_UPDATES;
    if (t->suggest_continue_as_new && t->started_event_id > step_limit(s, SETTABLE_SUGGEST_EVENTS))
        reasons[a.n_suggest_continue_as_new_reasons++] =
            SUGGEST_CONTINUE_AS_NEW_REASON_TOO_MANY_HISTORY_EVENTS;
    struct event_extra extra = {.time_us = t->started_us};
    int64_t id = step_event(s, EVENT_TYPE_WORKFLOW_TASK_STARTED, &a, &extra);
    ensure_inv(I5, id == t->started_event_id);
    t->is_started_written = true;
}

void task_write_owed(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    if (!t->is_scheduled_written)
        task_write_scheduled(s, t->scheduled_us);
    if (t->started_event_id && !t->is_started_written)
        task_write_started(s);
}

/* A worker that keeps failing is asked again ever more slowly. */
static int64_t task_timeout_us(const State__Execution *st, int32_t attempt) {
    int64_t growth = 0;
    for (int32_t i = LIMIT_TASK_RETRY_AFTER_ATTEMPTS; i < attempt; i++) {
        growth = growth ? growth * 2 : LIMIT_TASK_RETRY_INITIAL_MS * USEC_PER_MS;
        if (growth >= LIMIT_TASK_RETRY_MAX_MS * USEC_PER_MS)
            return st->task_timeout_us + LIMIT_TASK_RETRY_MAX_MS * USEC_PER_MS;
    }
    return st->task_timeout_us + growth;
}

static void task_add_pending(struct step *s, bool is_speculative) {
    State__Execution *st = s->st;
    State__WorkflowTask *t = pb_new(&state__workflow_task__descriptor, &s->failed);
    if (!t)
        return;
    st->task = t;
    t->attempt = st->task_attempt;
    t->scheduled_us = t->original_scheduled_us = s->now.us;
    t->timeout_us = task_timeout_us(st, t->attempt);
    t->is_sticky = !cstr_is_empty(st->sticky_queue);
    t->is_speculative = is_speculative;
    if (is_speculative || task_is_transient(t))
        t->scheduled_event_id = st->next_event_id;
    else
        task_write_scheduled(s, 0);
    step_effect(s, EFFECT_WORKFLOW_TASK, t->scheduled_event_id);
}

void task_schedule(struct step *s) {
    State__Execution *st = s->st;
    if (st->task || !run_is_open(st) || s->holds_events)
        return;
    if (step_flush_buffered(s))
        st->task_attempt = 1;
    if (!run_is_paused(st))
        task_add_pending(s, false);
}

void task_schedule_speculative(struct step *s) {
    State__Execution *st = s->st;
    if (st->task || !run_is_open(st) || run_is_paused(st))
        return;
    if (st->n_buffered) { /* left by a speculative task that did not survive a restart */
        task_schedule(s);
        return;
    }
    task_add_pending(s, st->task_attempt <= 1); /* a transient task has no events either */
}

/* It is written down after all. */
static void make_ordinary(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    t->is_speculative = false;
    task_write_scheduled(s, 0);
}

void task_settle(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    if (!t || !t->is_speculative || t->started_event_id || t->scheduled_event_id == s->st->next_event_id)
        return;
    make_ordinary(s);
    step_effect(s, EFFECT_WORKFLOW_TASK, t->scheduled_event_id);
}

void task_schedule_first(struct step *s) {
    const State__WorkflowTask *t = s->st->task;
    if (!t) {
        task_schedule(s);
    } else if (t->is_speculative && !t->started_event_id) {
        make_ordinary(s);
        step_effect(s, EFFECT_WORKFLOW_TASK, t->scheduled_event_id);
    }
}

void task_forget_speculative(State__Execution *st) {
    if (!st->task || !st->task->is_speculative)
        return;
    pb_free(st->task);
    st->task = NULL;
}

/* Events arrived after a transient task was scheduled: its ids no longer hold, and the worker has
 * something new to look at, so it becomes an ordinary first attempt. */
static void convert_transient(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    t->attempt = s->st->task_attempt = 1;
    t->timeout_us = s->st->task_timeout_us;
    task_write_scheduled(s, 0);
}

int task_start(struct step *s, const struct task_pick *pick) {
    State__Execution *st = s->st;
    State__WorkflowTask *t = st->task;
    if (!t || t->started_event_id || t->scheduled_event_id != pick->scheduled_event_id || run_is_paused(st))
        return err_set(s->err, ERR_NOT_FOUND, "Workflow task not found.");
    if (pick->from_sticky && !t->is_sticky)
        return err_set(s->err, ERR_NOT_FOUND, "Workflow task moved to the normal queue.");
    int rc = versioning_take_task(s, pick);
    if (rc < 0)
        return rc;
    if (!pick->from_sticky && t->is_sticky) {
        t->is_sticky = false;
        pb_set_string(&st->sticky_queue, NULL, &s->failed);
    }
    if (task_is_transient(t) && t->scheduled_event_id != st->next_event_id)
        convert_transient(s);
    t->started_event_id = st->next_event_id + (t->is_scheduled_written ? 0 : 1);
    t->started_us = s->now.us;
    t->history_bytes = st->history_bytes;
    t->suggest_continue_as_new = st->history_bytes >= step_limit(s, SETTABLE_SUGGEST_BYTES) ||
                                 t->started_event_id > step_limit(s, SETTABLE_SUGGEST_EVENTS) ||
                                 st->n_updates >= LIMIT_SUGGEST_UPDATES;
    pb_set_string(&t->identity, pick->identity, &s->failed);
    pb_set_string(&t->request_id, pick->request_id, &s->failed);
    return 0;
}

void task_give_back(struct step *s, int64_t scheduled_event_id, int64_t started_us) {
    State__WorkflowTask *t = s->st->task;
    if (!t || !t->started_event_id || t->scheduled_event_id != scheduled_event_id ||
        t->started_us != started_us || t->is_started_written)
        return;
    t->started_event_id = 0;
    t->started_us = 0;
    /* What was buffered for its sake can be written now. For a transient task that shifts its ids,
     * which task_start notices. */
    if (step_flush_buffered(s) && t->is_speculative)
        make_ordinary(s);
    step_effect(s, EFFECT_WORKFLOW_TASK, t->scheduled_event_id);
}

void task_offer_again(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    if (!t || t->started_event_id)
        return;
    t->is_sticky = t->is_sticky && !cstr_is_empty(s->st->sticky_queue);
    step_effect(s, EFFECT_WORKFLOW_TASK, t->scheduled_event_id);
}

void task_unstick(struct step *s) {
    const State__WorkflowTask *t = s->st->task;
    pb_set_string(&s->st->sticky_queue, NULL, &s->failed);
    if (t && t->is_sticky)
        task_offer_again(s);
}

void task_hold(struct step *s) {
    State__Execution *st = s->st;
    if (!st->task || st->task->started_event_id)
        return;
    if (st->task->is_speculative)
        task_forget_speculative(st);
    else if (st->task->is_sticky)
        task_unstick(s);
}

int task_check_token(struct step *s, const State__TaskToken *token) {
    const State__WorkflowTask *t = s->st->task;
    if (!run_is_open(s->st))
        return err_set(s->err, ERR_CLOSED, "workflow execution already completed");
    if (!t || !t->started_event_id || t->scheduled_event_id != token->scheduled_event_id ||
        t->started_event_id != token->started_event_id || t->attempt != token->attempt ||
        t->started_us != token->started_us)
        return err_set(s->err, ERR_NOT_FOUND, "Workflow task not found.");
    return 0;
}

/* The task is over without success. A failure on the sticky queue is first tried again elsewhere:
 * only failures on the normal queue count as attempts. */
static void end_failed(struct step *s, bool counts) {
    State__Execution *st = s->st;
    if (!cstr_is_empty(st->sticky_queue)) {
        counts = false;
        pb_set_string(&st->sticky_queue, NULL, &s->failed);
    }
    st->task_attempt = counts ? st->task->attempt + 1 : 1;
    pb_free(st->task);
    st->task = NULL;
    if (counts)
        problems_count(s);
}

static enum task_failure failure_of(E__WorkflowTaskFailedCause cause) {
    if (cause == WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR)
        return TASK_FAILURE_NONDETERMINISM;
    bool is_overtaken = cause == WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND ||
                        cause == WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE;
    return is_overtaken ? TASK_FAILURE_NONE : TASK_FAILURE_REPORTED;
}

static void end_by_failure(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
                           const char *identity) {
    State__WorkflowTask *t = s->st->task;
    ensure(task_is_started(s->st));
    if (!task_is_transient(t)) {
        task_write_owed(s);
        History__WorkflowTaskFailedEventAttributes a = HISTORY__WORKFLOW_TASK_FAILED_EVENT_ATTRIBUTES__INIT;
        a.scheduled_event_id = t->scheduled_event_id;
        a.started_event_id = t->started_event_id;
        a.cause = cause;
        a.failure = failure;
        a.identity = (char *)(uintptr_t)identity;
        step_event(s, EVENT_TYPE_WORKFLOW_TASK_FAILED, &a, NULL);
        problems_set_failure(s, cause);
    }
    end_failed(s, true);
    s->task_failure = failure_of(cause);
}

void task_fail(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
               const char *identity) {
    end_by_failure(s, cause, failure, identity);
    task_schedule(s);
}

int task_report_failed(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
                       const char *identity) {
    /* The same answer would be too large again each time. */
    if (cause == WORKFLOW_TASK_FAILED_CAUSE_GRPC_MESSAGE_TOO_LARGE)
        return run_terminate(s, "GrpcMessageTooLarge", NULL, "history-service", NULL, 0);
    if (!step_blob_fits(s, failure, "workflow task failure")) {
        failure = failure_too_large(s, failure);
        if (!failure)
            return err_std(s->err, ERR_NO_MEMORY);
    }
    task_fail(s, cause, failure, identity);
    return 0;
}

void task_fail_finally(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
                       const char *identity) {
    end_by_failure(s, cause, failure, identity);
    step_flush_buffered(s);
}

int task_reset(struct step *s, const struct task_reset *r, const char *identity) {
    State__Execution *st = s->st;
    Failure__ResetWorkflowFailureInfo info = FAILURE__RESET_WORKFLOW_FAILURE_INFO__INIT;
    Failure__Failure failure = FAILURE__FAILURE__INIT;
    failure.message = (char *)(uintptr_t)r->reason;
    failure.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_RESET_WORKFLOW_FAILURE_INFO;
    failure.reset_workflow_failure_info = &info;
    History__WorkflowTaskFailedEventAttributes a = HISTORY__WORKFLOW_TASK_FAILED_EVENT_ATTRIBUTES__INIT;
    a.scheduled_event_id = st->task->scheduled_event_id;
    a.started_event_id = st->task->started_event_id;
    a.cause = WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;
    a.failure = &failure;
    a.identity = (char *)(uintptr_t)identity;
    a.base_run_id = (char *)(uintptr_t)r->base_run_id;
    a.new_run_id = (char *)(uintptr_t)r->new_run_id;
    step_event(s, EVENT_TYPE_WORKFLOW_TASK_FAILED, &a, NULL);
    pb_free(st->task);
    st->task = NULL;
    st->task_attempt = 1;
    return 0;
}

void task_time_out(struct step *s, E__TimeoutType type) {
    State__WorkflowTask *t = s->st->task;
    if (!task_is_transient(t)) {
        if (t->started_event_id)
            task_write_owed(s);
        else if (!t->is_scheduled_written)
            task_write_scheduled(s, t->scheduled_us);
        History__WorkflowTaskTimedOutEventAttributes a =
            HISTORY__WORKFLOW_TASK_TIMED_OUT_EVENT_ATTRIBUTES__INIT;
        a.scheduled_event_id = t->scheduled_event_id;
        a.started_event_id = t->started_event_id;
        a.timeout_type = type;
        step_event(s, EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, &a, NULL);
        problems_set_timeout(s, type);
    }
    end_failed(s, type == TIMEOUT_TYPE_START_TO_CLOSE);
    if (type == TIMEOUT_TYPE_START_TO_CLOSE)
        s->task_failure = TASK_FAILURE_TIMEOUT;
    task_schedule(s);
}

void task_force_close(struct step *s) {
    State__WorkflowTask *t = s->st->task;
    if (!task_is_started(s->st))
        return;
    if (!task_is_transient(t)) {
        task_write_owed(s);
        History__WorkflowTaskFailedEventAttributes a = HISTORY__WORKFLOW_TASK_FAILED_EVENT_ATTRIBUTES__INIT;
        a.scheduled_event_id = t->scheduled_event_id;
        a.started_event_id = t->started_event_id;
        a.cause = WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND;
        a.identity = (char *)(uintptr_t) "history-service";
        step_event(s, EVENT_TYPE_WORKFLOW_TASK_FAILED, &a, NULL);
    }
    pb_free(s->st->task);
    s->st->task = NULL;
    step_flush_buffered(s); /* what was acknowledged while the worker had it stays acknowledged */
}

int64_t task_due_us(const State__Execution *st) {
    const State__WorkflowTask *t = st->task;
    if (!t)
        return CLOCK_NEVER;
    if (t->started_event_id)
        return usec_add(t->started_us, t->timeout_us);
    if (t->is_sticky)
        return usec_add(t->scheduled_us, st->sticky_timeout_us);
    if (t->is_speculative)
        return usec_add(t->scheduled_us, LIMIT_SPECULATIVE_WAIT_MS * USEC_PER_MS);
    return CLOCK_NEVER;
}
