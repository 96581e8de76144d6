/* The life of an activity.
 *
 * Happy path: activity_schedule, activity_start, activity_complete. A failed or
 * timed-out attempt that may be retried leaves no event: it only moves
 * scheduled_us into the future. The started event is written together with the
 * event that ends the activity, with the time at which the last attempt began. */
#include "core/activity/activity.h"

#include "core/activity/activity_int.h"
#include "core/step/failure.h"
#include "core/run/pause.h"
#include "core/step/payload.h"
#include "core/step/retry.h"
#include "core/run/task.h"
#include "core/step/validate.h"

#define NOT_STARTED_TEXT "ACTIVITY_ID_NOT_STARTED" /* what clients know as the detail of such an end */
#define RETRY_TOO_LATE_TEXT                                                                                  \
    "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying"

State__Activity *activity_find(const State__Execution *st, int64_t scheduled_event_id) {
    for (size_t i = 0; i < st->n_activities; i++)
        if (st->activities[i]->scheduled_event_id == scheduled_event_id)
            return st->activities[i];
    return NULL;
}

State__Activity *activity_find_id(const State__Execution *st, const char *activity_id) {
    for (size_t i = 0; i < st->n_activities; i++)
        if (cstr_eq(st->activities[i]->activity_id, activity_id))
            return st->activities[i];
    return NULL;
}

static void activity_remove(struct step *s, const State__Activity *a) {
    State__Execution *st = s->st;
    bool was_paused = a->is_paused;
    pb_remove_item(&st->n_activities, st->activities, a);
    if (was_paused)
        pause_show(s);
}

static int activity_refuse_command(struct step *s, E__WorkflowTaskFailedCause cause, const char *text) {
    s->task_failed_cause = cause;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

/* scheduling */

/* The shorter of two timeouts, of which 0 means "none". */
static int64_t activity_shorter_timeout(int64_t a, int64_t b) {
    if (a == 0 || b == 0)
        return a ? a : b;
    return MIN(a, b);
}

bool activity_normalise(struct activity_timeouts *t, int64_t run_timeout) {
    if (t->schedule_to_close) {
        t->schedule_to_start = activity_shorter_timeout(t->schedule_to_start, t->schedule_to_close);
        t->start_to_close = activity_shorter_timeout(t->start_to_close, t->schedule_to_close);
    } else if (t->start_to_close) {
        t->schedule_to_close = run_timeout;
        t->schedule_to_start = t->schedule_to_start ? t->schedule_to_start : run_timeout;
    } else {
        return false;
    }
    t->schedule_to_close = activity_shorter_timeout(t->schedule_to_close, run_timeout);
    t->schedule_to_start = activity_shorter_timeout(t->schedule_to_start, run_timeout);
    t->start_to_close = activity_shorter_timeout(t->start_to_close, run_timeout);
    if (t->heartbeat)
        t->heartbeat = activity_shorter_timeout(t->heartbeat, t->start_to_close);
    return true;
}

static int activity_check_command(struct step *s, const Command__ScheduleActivityTaskCommandAttributes *in) {
    const E__WorkflowTaskFailedCause bad = WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES;
    if (cstr_is_empty(in->activity_id))
        return activity_refuse_command(s, bad, "ActivityId is not set on ScheduleActivityTaskCommand.");
    if (!in->activity_type || cstr_is_empty(in->activity_type->name))
        return activity_refuse_command(s, bad, "ActivityType is not set on ScheduleActivityTaskCommand.");
    if (strlen(in->activity_id) > LIMIT_ID_BYTES)
        return activity_refuse_command(s, bad,
                                       "ActivityId on ScheduleActivityTaskCommand exceeds length limit.");
    if (strlen(in->activity_type->name) > LIMIT_ID_BYTES)
        return activity_refuse_command(s, bad,
                                       "ActivityType on ScheduleActivityTaskCommand exceeds length limit.");
    if (in->task_queue && strlen(in->task_queue->name) > LIMIT_ID_BYTES)
        return activity_refuse_command(s, bad,
                                       "TaskQueue on ScheduleActivityTaskCommand exceeds length limit.");
    if (!pb_duration_valid(in->schedule_to_close_timeout) ||
        !pb_duration_valid(in->schedule_to_start_timeout) || !pb_duration_valid(in->start_to_close_timeout) ||
        !pb_duration_valid(in->heartbeat_timeout))
        return activity_refuse_command(s, bad,
                                       "A timeout of ScheduleActivityTaskCommand is negative or malformed.");
    int rc = retry_validate(in->retry_policy, s->err);
    if (rc == 0)
        rc = validate_priority(in->priority, s->err);
    if (rc < 0) {
        s->task_failed_cause = bad;
        return rc;
    }
    if (activity_find_id(s->st, in->activity_id))
        return activity_refuse_command(s, WORKFLOW_TASK_FAILED_CAUSE_SCHEDULE_ACTIVITY_DUPLICATE_ID,
                                       "An activity with this ActivityId is already pending.");
    if ((int64_t)s->st->n_activities >= step_limit(s, SETTABLE_PENDING_ACTIVITIES))
        return activity_refuse_command(s, WORKFLOW_TASK_FAILED_CAUSE_PENDING_ACTIVITIES_LIMIT_EXCEEDED,
                                       "the number of pending activities has reached the limit of this run");
    return 0;
}

/* Adds the state of a scheduled activity; the event is written. */
static void activity_add_state(struct step *s, int64_t event_id,
                               const History__ActivityTaskScheduledEventAttributes *ev,
                               const struct activity_timeouts *t) {
    State__Activity *a = pb_new(&state__activity__descriptor, &s->failed);
    if (!a)
        return;
    a->scheduled_event_id = event_id;
    pb_set_string(&a->activity_id, ev->activity_id, &s->failed);
    pb_set_string(&a->activity_type, ev->activity_type->name, &s->failed);
    pb_set_string(&a->task_queue, ev->task_queue->name, &s->failed);
    a->first_scheduled_us = a->scheduled_us = s->now.us;
    a->attempt = 1;
    a->is_offered = true;
    a->schedule_to_close_us = t->schedule_to_close;
    a->schedule_to_start_us = t->schedule_to_start;
    a->start_to_close_us = t->start_to_close;
    a->heartbeat_timeout_us = t->heartbeat;
    pb_set_message(&a->retry_policy, ev->retry_policy, &s->failed);
    pb_set_message(&a->priority, ev->priority, &s->failed);
    pb_append_message(&s->st->n_activities, &s->st->activities, a, &s->failed);
}

void activity_restore(struct step *s, int64_t event_id,
                      const History__ActivityTaskScheduledEventAttributes *ev) {
    struct activity_timeouts t = {
        pb_duration_us(ev->schedule_to_close_timeout),
        pb_duration_us(ev->schedule_to_start_timeout),
        pb_duration_us(ev->start_to_close_timeout),
        pb_duration_us(ev->heartbeat_timeout),
    };
    activity_add_state(s, event_id, ev, &t);
}

int activity_schedule(struct step *s, int64_t completed_event_id, const Command__Command *cmd) {
    const Command__ScheduleActivityTaskCommandAttributes *in = cmd->schedule_activity_task_command_attributes;
    struct activity_timeouts t = {
        pb_wait_us(in->schedule_to_close_timeout),
        pb_wait_us(in->schedule_to_start_timeout),
        pb_wait_us(in->start_to_close_timeout),
        pb_wait_us(in->heartbeat_timeout),
    };
    int rc = activity_check_command(s, in);
    if (rc < 0)
        return rc;
    if (!activity_normalise(&t, s->st->run_timeout_us))
        return activity_refuse_command(
            s, WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES,
            "A valid StartToClose or ScheduleToCloseTimeout is not set on ScheduleActivityTaskCommand.");
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = in->task_queue && !cstr_is_empty(in->task_queue->name) ? in->task_queue->name : s->st->task_queue;
    queue.kind = TASK_QUEUE_KIND_NORMAL;
    Google__Protobuf__Duration d[4] = {pb_duration(t.schedule_to_close), pb_duration(t.schedule_to_start),
                                       pb_duration(t.start_to_close), pb_duration(t.heartbeat)};
    History__ActivityTaskScheduledEventAttributes ev =
        HISTORY__ACTIVITY_TASK_SCHEDULED_EVENT_ATTRIBUTES__INIT;
    ev.activity_id = in->activity_id;
    ev.activity_type = in->activity_type;
    ev.task_queue = &queue;
    ev.header = in->header;
    ev.input = in->input;
    ev.schedule_to_close_timeout = &d[0];
    ev.schedule_to_start_timeout = &d[1];
    ev.start_to_close_timeout = &d[2];
    ev.heartbeat_timeout = &d[3];
    ev.workflow_task_completed_event_id = completed_event_id;
    ev.retry_policy = retry_normalised(s, in->retry_policy);
    ev.use_workflow_build_id = in->use_workflow_build_id;
    ev.priority = in->priority;
    int64_t id = step_event(s, EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, &ev, NULL);
    activity_add_state(s, id, &ev, &t);
    step_effect(s, EFFECT_ACTIVITY_TASK, id);
    return 0;
}

void activity_offer_all(struct step *s) {
    const State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_activities; i++)
        if (st->activities[i]->is_offered && !st->activities[i]->started_us)
            step_effect(s, EFFECT_ACTIVITY_TASK, st->activities[i]->scheduled_event_id);
}

void activity_offer_at(struct step *s, State__Activity *a, int64_t at_us) {
    a->scheduled_us = at_us;
    a->is_offered = at_us <= s->now.us;
    if (a->is_offered)
        step_effect(s, EFFECT_ACTIVITY_TASK, a->scheduled_event_id);
}

/* with a worker */

int32_t activity_attempt(const State__Activity *a) {
    return a->counts_anew ? 1 : a->attempt;
}

int activity_start(struct step *s, int64_t scheduled_event_id, int32_t stamp, const char *identity,
                   const char *request_id) {
    State__Activity *a = activity_find(s->st, scheduled_event_id);
    if (!a || a->started_us || !a->is_offered || a->stamp != stamp || run_is_paused(s->st))
        return err_set(s->err, ERR_NOT_FOUND, ACTIVITY_GONE_TEXT);
    a->started_us = s->now.us;
    a->last_heartbeat_us = 0;
    pb_set_string(&a->identity, identity, &s->failed);
    pb_set_string(&a->request_id, request_id, &s->failed);
    return 0;
}

void activity_forget_heartbeat(struct step *s, State__Activity *a) {
    pb_set_message(&a->heartbeat_details, NULL, &s->failed);
    a->last_heartbeat_us = 0;
}

void activity_end_reset(struct step *s, State__Activity *a) {
    if (a->counts_anew)
        a->stamp++; /* the attempts that follow have numbers that were there before */
    if (a->forgets_heartbeat)
        activity_forget_heartbeat(s, a);
    a->is_reset = a->counts_anew = a->forgets_heartbeat = false;
}

void activity_give_back(struct step *s, int64_t scheduled_event_id, int32_t attempt, int64_t started_us) {
    State__Activity *a = activity_find(s->st, scheduled_event_id);
    if (!a || a->attempt != attempt || a->started_us != started_us)
        return;
    a->started_us = 0;
    a->attempt = activity_attempt(a);
    activity_end_reset(s, a);
    if (a->is_paused)
        a->is_offered = false;
    else
        step_effect(s, EFFECT_ACTIVITY_TASK, scheduled_event_id);
}

int activity_check_token(struct step *s, const State__TaskToken *token, State__Activity **ret) {
    State__Activity *a = token->scheduled_event_id ? activity_find(s->st, token->scheduled_event_id)
                                                   : activity_find_id(s->st, token->activity_id);
    if (!a || !a->started_us || a->attempt != token->attempt || a->stamp != token->stamp)
        return err_set(s->err, ERR_NOT_FOUND, ACTIVITY_GONE_TEXT);
    *ret = a;
    return 0;
}

int activity_heartbeat(struct step *s, State__Activity *a, Common__Payloads *details) {
    a->last_heartbeat_us = s->now.us;
    pb_set_message(&a->heartbeat_details, details, &s->failed);
    return 0;
}

/* the end */

/* The start that was not worth an event until now. Returns its id, 0 when it is buffered. */
static int64_t activity_write_started(struct step *s, State__Activity *a) {
    if (!a->started_us)
        return 0;
    History__ActivityTaskStartedEventAttributes ev = HISTORY__ACTIVITY_TASK_STARTED_EVENT_ATTRIBUTES__INIT;
    ev.scheduled_event_id = a->scheduled_event_id;
    ev.identity = a->identity;
    ev.request_id = a->request_id;
    ev.attempt = activity_attempt(a);
    ev.last_failure = a->last_failure;
    struct event_extra extra = {.time_us = a->started_us};
    return step_event(s, EVENT_TYPE_ACTIVITY_TASK_STARTED, &ev, &extra);
}

static void activity_remove_ended(struct step *s, State__Activity *a) {
    activity_remove(s, a);
    task_schedule(s);
}

int activity_complete(struct step *s, State__Activity *a, Common__Payloads *result, const char *identity) {
    History__ActivityTaskCompletedEventAttributes ev =
        HISTORY__ACTIVITY_TASK_COMPLETED_EVENT_ATTRIBUTES__INIT;
    ev.started_event_id = activity_write_started(s, a);
    ev.scheduled_event_id = a->scheduled_event_id;
    ev.result = result;
    ev.identity = (char *)(uintptr_t)identity;
    step_event(s, EVENT_TYPE_ACTIVITY_TASK_COMPLETED, &ev, NULL);
    activity_remove_ended(s, a);
    return 0;
}

int activity_cancel(struct step *s, State__Activity *a, Common__Payloads *details, const char *identity) {
    if (!a->cancel_requested_event_id)
        return err_set(s->err, ERR_INVALID, "Cancellation was not requested for this activity.");
    History__ActivityTaskCanceledEventAttributes ev = HISTORY__ACTIVITY_TASK_CANCELED_EVENT_ATTRIBUTES__INIT;
    ev.started_event_id = activity_write_started(s, a);
    ev.scheduled_event_id = a->scheduled_event_id;
    ev.latest_cancel_requested_event_id = a->cancel_requested_event_id;
    ev.details = details;
    ev.identity = (char *)(uintptr_t)identity;
    step_event(s, EVENT_TYPE_ACTIVITY_TASK_CANCELED, &ev, NULL);
    activity_remove_ended(s, a);
    return 0;
}

int activity_request_cancel(struct step *s, int64_t completed_event_id, int64_t scheduled_event_id) {
    const E__WorkflowTaskFailedCause bad = WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_ACTIVITY_ATTRIBUTES;
    State__Activity *a = activity_find(s->st, scheduled_event_id);
    if (!a && !step_has_buffered_finish(s, scheduled_event_id))
        return activity_refuse_command(
            s, bad, "ScheduledEventId on RequestCancelActivityTaskCommand names no pending activity.");
    if (a && a->cancel_requested_event_id)
        return activity_refuse_command(s, bad, "Cancellation of this activity was requested before.");
    History__ActivityTaskCancelRequestedEventAttributes ev =
        HISTORY__ACTIVITY_TASK_CANCEL_REQUESTED_EVENT_ATTRIBUTES__INIT;
    ev.scheduled_event_id = scheduled_event_id;
    ev.workflow_task_completed_event_id = completed_event_id;
    int64_t id = step_event(s, EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, &ev, NULL);
    if (!a)
        return 0;
    a->cancel_requested_event_id = id;
    if (a->started_us)
        return 0;
    History__ActivityTaskCanceledEventAttributes canceled =
        HISTORY__ACTIVITY_TASK_CANCELED_EVENT_ATTRIBUTES__INIT;
    canceled.scheduled_event_id = scheduled_event_id;
    canceled.latest_cancel_requested_event_id = id;
    canceled.details = payloads_of_text(NOT_STARTED_TEXT, s->arena);
    canceled.identity = (char *)(uintptr_t)s->ctx.identity;
    if (!canceled.details)
        return err_std(s->err, ERR_NO_MEMORY);
    step_event(s, EVENT_TYPE_ACTIVITY_TASK_CANCELED, &canceled, NULL);
    activity_remove(s, a);
    return 0;
}

/* retries */

static int64_t expires_us(const State__Activity *a) {
    return a->schedule_to_close_us ? usec_add(a->first_scheduled_us, a->schedule_to_close_us) : CLOCK_NEVER;
}

static bool is_deadline(const Failure__Failure *f) {
    return f->failure_info_case == FAILURE__FAILURE__FAILURE_INFO_TIMEOUT_FAILURE_INFO &&
           (f->timeout_failure_info->timeout_type == TIMEOUT_TYPE_SCHEDULE_TO_START ||
            f->timeout_failure_info->timeout_type == TIMEOUT_TYPE_SCHEDULE_TO_CLOSE);
}

/* IN_PROGRESS with *ret_at_us when there is another attempt, else why not. */
static E__RetryState judge_retry(struct step *s, const State__Activity *a, const Failure__Failure *f,
                                 int64_t *ret_at_us) {
    struct retry_plan plan = retry_plan(a->retry_policy);
    if (a->cancel_requested_event_id)
        return RETRY_STATE_CANCEL_REQUESTED;
    if (is_deadline(f))
        return RETRY_STATE_TIMEOUT;
    if (!retry_allows(a->retry_policy, f))
        return RETRY_STATE_NON_RETRYABLE_FAILURE;
    if (a->is_paused)
        return RETRY_STATE_IN_PROGRESS; /* what becomes of it is decided when it is unpaused */
    if (plan.maximum_attempts > 0 && activity_attempt(a) >= plan.maximum_attempts)
        return RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED;
    *ret_at_us = usec_add(s->now.us, retry_delay_us(&plan, activity_attempt(a), f));
    if (*ret_at_us > expires_us(a))
        return RETRY_STATE_TIMEOUT;
    return RETRY_STATE_IN_PROGRESS;
}

static void begin_retry(struct step *s, State__Activity *a, Failure__Failure *f, int64_t at_us) {
    a->attempt = activity_attempt(a) + 1;
    a->started_us = 0;
    a->last_complete_us = s->now.us;
    pb_set_string(&a->heartbeat_identity, NULL, &s->failed);
    pb_set_message(&a->last_failure, failure_between_attempts(s, f), &s->failed);
    activity_end_reset(s, a);
    if (a->is_paused)
        a->is_offered = false;
    else
        activity_offer_at(s, a, at_us);
}

static void activity_write_timed_out(struct step *s, State__Activity *a, Failure__Failure *f,
                                     E__RetryState state) {
    History__ActivityTaskTimedOutEventAttributes ev = HISTORY__ACTIVITY_TASK_TIMED_OUT_EVENT_ATTRIBUTES__INIT;
    ev.started_event_id = activity_write_started(s, a);
    ev.scheduled_event_id = a->scheduled_event_id;
    ev.failure = f;
    ev.retry_state = state;
    step_event(s, EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, &ev, NULL);
    activity_remove_ended(s, a);
}

static void activity_write_failed(struct step *s, State__Activity *a, Failure__Failure *f,
                                  E__RetryState state, const char *identity) {
    History__ActivityTaskFailedEventAttributes ev = HISTORY__ACTIVITY_TASK_FAILED_EVENT_ATTRIBUTES__INIT;
    ev.started_event_id = activity_write_started(s, a);
    ev.scheduled_event_id = a->scheduled_event_id;
    ev.failure = f;
    ev.retry_state = state;
    ev.identity = (char *)(uintptr_t)identity;
    step_event(s, EVENT_TYPE_ACTIVITY_TASK_FAILED, &ev, NULL);
    activity_remove_ended(s, a);
}

int activity_fail(struct step *s, State__Activity *a, Failure__Failure *failure,
                  Common__Payloads *last_heartbeat_details, const char *identity) {
    int64_t at_us = 0;
    if (!failure)
        failure = failure_server(s, "The activity failed without a reason.");
    if (!failure)
        return err_std(s->err, ERR_NO_MEMORY);
    if (last_heartbeat_details)
        pb_set_message(&a->heartbeat_details, last_heartbeat_details, &s->failed);
    E__RetryState state = judge_retry(s, a, failure, &at_us);
    if (state == RETRY_STATE_IN_PROGRESS)
        begin_retry(s, a, failure, at_us);
    else
        activity_write_failed(s, a, failure, state, identity);
    return 0;
}

/* time */

static const char *timeout_text(E__TimeoutType type) {
    switch ((int)type) {
    case TIMEOUT_TYPE_START_TO_CLOSE:
        return "activity StartToClose timeout";
    case TIMEOUT_TYPE_SCHEDULE_TO_START:
        return "activity ScheduleToStart timeout";
    case TIMEOUT_TYPE_SCHEDULE_TO_CLOSE:
        return "activity ScheduleToClose timeout";
    default:
        return "activity Heartbeat timeout";
    }
}

/* The first deadline of the attempt, and which timeout it is. */
static int64_t first_deadline(const State__Activity *a, E__TimeoutType *ret_type) {
    int64_t first = expires_us(a);
    *ret_type = TIMEOUT_TYPE_SCHEDULE_TO_CLOSE;
    if (!a->started_us) {
        int64_t t =
            a->schedule_to_start_us ? usec_add(a->scheduled_us, a->schedule_to_start_us) : CLOCK_NEVER;
        if (t < first) {
            first = t;
            *ret_type = TIMEOUT_TYPE_SCHEDULE_TO_START;
        }
        return first;
    }
    int64_t close = a->start_to_close_us ? usec_add(a->started_us, a->start_to_close_us) : CLOCK_NEVER;
    if (close < first) {
        first = close;
        *ret_type = TIMEOUT_TYPE_START_TO_CLOSE;
    }
    int64_t beat = a->heartbeat_timeout_us
                       ? usec_add(MAX(a->started_us, a->last_heartbeat_us), a->heartbeat_timeout_us)
                       : CLOCK_NEVER;
    if (beat < first) {
        first = beat;
        *ret_type = TIMEOUT_TYPE_HEARTBEAT;
    }
    return first;
}

int64_t activity_due_us(const State__Activity *a) {
    E__TimeoutType type;
    if (a->is_paused)
        return CLOCK_NEVER;
    int64_t due = first_deadline(a, &type);
    return a->is_offered ? due : MIN(due, a->scheduled_us);
}

/* The two deadlines of waiting end the activity for good; so does a retry that would come too late,
 * which is told as a schedule-to-close timeout with the last real failure behind it. */
static int time_out(struct step *s, State__Activity *a, E__TimeoutType type) {
    int64_t at_us = 0;
    Failure__Failure *f = failure_timeout(s, timeout_text(type), type, a->heartbeat_details, NULL);
    if (!f)
        return err_std(s->err, ERR_NO_MEMORY);
    E__RetryState state = judge_retry(s, a, f, &at_us);
    if (state == RETRY_STATE_IN_PROGRESS) {
        begin_retry(s, a, f, at_us);
        return 0;
    }
    if (state == RETRY_STATE_TIMEOUT && type != TIMEOUT_TYPE_SCHEDULE_TO_START)
        f = failure_timeout(s, RETRY_TOO_LATE_TEXT, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, a->heartbeat_details,
                            NULL);
    if (!f)
        return err_std(s->err, ERR_NO_MEMORY);
    f->cause = a->last_failure;
    activity_write_timed_out(s, a, f, state);
    return 0;
}

int activity_tick(struct step *s, State__Activity *a) {
    E__TimeoutType type;
    if (first_deadline(a, &type) <= s->judged.us)
        return time_out(s, a, type);
    ensure(!a->is_offered && a->scheduled_us <= s->now.us);
    a->is_offered = true;
    step_effect(s, EFFECT_ACTIVITY_TASK, a->scheduled_event_id);
    return 0;
}
