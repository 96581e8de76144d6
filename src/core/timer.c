/* A timer is a deadline in the state. When it passes, its event is written (or
 * buffered); a workflow that cancels it in the same breath takes the buffered
 * event back, so that it never sees a timer fire that it has cancelled. */
#include "core/timer.h"

#include "core/task.h"

static int refuse(struct step *s, E__WorkflowTaskFailedCause cause, const char *text) {
    s->task_failed_cause = cause;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

static size_t timer_index(const State__Execution *st, const char *timer_id) {
    size_t i = 0;
    while (i < st->n_timers && !streq(st->timers[i]->timer_id, timer_id))
        i++;
    return i;
}

/* Less than we count in is a wait all the same. */
static bool is_wait(const Google__Protobuf__Duration *d) {
    return d && pb_duration_valid(d) && (d->seconds || d->nanos);
}

int timer_start(struct step *s, int64_t completed_event_id, const Command__StartTimerCommandAttributes *in) {
    State__Execution *st = s->st;
    if (strempty(in->timer_id))
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                      "TimerId is not set on StartTimerCommand.");
    if (strlen(in->timer_id) > LIMIT_ID_BYTES)
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                      "TimerId on StartTimerCommand exceeds length limit.");
    if (!is_wait(in->start_to_fire_timeout))
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                      "A valid StartToFireTimeout is not set on StartTimerCommand.");
    if (timer_index(st, in->timer_id) < st->n_timers)
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_START_TIMER_DUPLICATE_ID,
                      "A timer with this TimerId is already running.");
    if (st->n_timers >= LIMIT_PENDING_TIMERS)
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES, "Too many pending timers.");
    History__TimerStartedEventAttributes a = HISTORY__TIMER_STARTED_EVENT_ATTRIBUTES__INIT;
    a.timer_id = in->timer_id;
    Google__Protobuf__Duration longest;
    a.start_to_fire_timeout = pb_wait(in->start_to_fire_timeout, &longest);
    a.workflow_task_completed_event_id = completed_event_id;
    int64_t id = step_event(s, EVENT_TYPE_TIMER_STARTED, &a, NULL);
    State__Timer *t = pb_new(&state__timer__descriptor, &s->failed);
    if (!t)
        return 0;
    pb_set_string(&t->timer_id, in->timer_id, &s->failed);
    t->started_event_id = id;
    t->fire_us = usec_add(s->now.us, pb_wait_us(in->start_to_fire_timeout));
    pb_append_message(&st->n_timers, &st->timers, t, &s->failed);
    return 0;
}

int timer_cancel(struct step *s, int64_t completed_event_id,
                 const Command__CancelTimerCommandAttributes *in) {
    State__Execution *st = s->st;
    int64_t started_event_id = 0;
    if (strempty(in->timer_id))
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES,
                      "TimerId is not set on CancelTimerCommand.");
    size_t i = timer_index(st, in->timer_id);
    if (i < st->n_timers) {
        started_event_id = st->timers[i]->started_event_id;
        pb_remove_message(&st->n_timers, st->timers, i);
    } else if (!step_drop_buffered_timer(s, in->timer_id, &started_event_id)) {
        return refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES,
                      "The timer to cancel is not known.");
    }
    History__TimerCanceledEventAttributes a = HISTORY__TIMER_CANCELED_EVENT_ATTRIBUTES__INIT;
    a.timer_id = in->timer_id;
    a.started_event_id = started_event_id;
    a.workflow_task_completed_event_id = completed_event_id;
    a.identity = (char *)(uintptr_t)s->ctx.identity;
    step_event(s, EVENT_TYPE_TIMER_CANCELED, &a, NULL);
    return 0;
}

void timer_fire(struct step *s, size_t i) {
    State__Execution *st = s->st;
    History__TimerFiredEventAttributes a = HISTORY__TIMER_FIRED_EVENT_ATTRIBUTES__INIT;
    a.timer_id = st->timers[i]->timer_id;
    a.started_event_id = st->timers[i]->started_event_id;
    step_event(s, EVENT_TYPE_TIMER_FIRED, &a, NULL);
    pb_remove_message(&st->n_timers, st->timers, i);
    task_schedule(s);
}
