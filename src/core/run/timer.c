/* A timer is a deadline in the state. When it passes, its event is written (or
 * buffered); a workflow that cancels it in the same breath takes the buffered
 * event back, so that it never sees a timer fire that it has cancelled. */
#include "core/run/timer.h"

#include <stdlib.h>

#include "core/run/task.h"

#define TIMER_LOOKS_MAX 8

static int timer_refuse(struct step *s, E__WorkflowTaskFailedCause cause, const char *text) {
    s->task_failed_cause = cause;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

/* The place of the first timer that no earlier event started: timers are in the order of their events. */
static size_t timer_lower_bound(const State__Execution *st, int64_t started_event_id) {
    size_t low = 0, high = st->n_timers;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (st->timers[middle]->started_event_id < started_event_id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool timer_forget(State__Execution *st, int64_t started_event_id) {
    size_t i = timer_lower_bound(st, started_event_id);
    if (i == st->n_timers || st->timers[i]->started_event_id != started_event_id)
        return false;
    pb_remove_message(&st->n_timers, st->timers, i);
    return true;
}

static bool timer_index(struct step *s) {
    const State__Execution *st = s->st;
    map_init(&s->timers, LIMIT_PENDING_TIMERS, rng_u64(s->rng));
    for (size_t i = 0; i < st->n_timers; i++)
        if (map_put(&s->timers, str_of(st->timers[i]->timer_id), st->timers[i]) < 0)
            return false;
    return true;
}

/* By a walk; by an index as soon as the commands of one step ask so often that a walk for each is too long.
 */
static State__Timer *timer_find(struct step *s, const char *timer_id) {
    const State__Execution *st = s->st;
    if (s->timer_looks < TIMER_LOOKS_MAX && ++s->timer_looks == TIMER_LOOKS_MAX && !timer_index(s))
        s->failed = true;
    if (s->timer_looks == TIMER_LOOKS_MAX)
        return map_get(&s->timers, str_of(timer_id));
    for (size_t i = 0; i < st->n_timers; i++)
        if (cstr_eq(st->timers[i]->timer_id, timer_id))
            return st->timers[i];
    return NULL;
}

static void timer_note(struct step *s, State__Timer *t) {
    if (s->timer_looks == TIMER_LOOKS_MAX && map_put(&s->timers, str_of(t->timer_id), t) < 0)
        s->failed = true;
}

/* Less than we count in is a wait all the same. */
static bool is_wait(const Google__Protobuf__Duration *d) {
    return d && pb_duration_valid(d) && (d->seconds || d->nanos);
}

int timer_start(struct step *s, int64_t completed_event_id, const Command__StartTimerCommandAttributes *in) {
    State__Execution *st = s->st;
    if (cstr_is_empty(in->timer_id))
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                            "TimerId is not set on StartTimerCommand.");
    if (strlen(in->timer_id) > LIMIT_ID_BYTES)
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                            "TimerId on StartTimerCommand exceeds length limit.");
    if (!is_wait(in->start_to_fire_timeout))
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                            "A valid StartToFireTimeout is not set on StartTimerCommand.");
    if (timer_find(s, in->timer_id))
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_START_TIMER_DUPLICATE_ID,
                            "A timer with this TimerId is already running.");
    if (st->n_timers >= LIMIT_PENDING_TIMERS)
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_START_TIMER_ATTRIBUTES,
                            "Too many pending timers.");
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
    if (!s->failed)
        timer_note(s, t);
    return 0;
}

int timer_cancel(struct step *s, int64_t completed_event_id,
                 const Command__CancelTimerCommandAttributes *in) {
    State__Execution *st = s->st;
    int64_t started_event_id = 0;
    if (cstr_is_empty(in->timer_id))
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES,
                            "TimerId is not set on CancelTimerCommand.");
    const State__Timer *t = timer_find(s, in->timer_id);
    if (t) {
        started_event_id = t->started_event_id;
        if (s->timer_looks == TIMER_LOOKS_MAX)
            map_remove(&s->timers, str_of(in->timer_id));
        ensure(timer_forget(st, started_event_id));
    } else if (!step_drop_buffered_timer(s, in->timer_id, &started_event_id)) {
        return timer_refuse(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_TIMER_ATTRIBUTES,
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

static int compare_due(const void *a, const void *b) {
    const State__Timer *x = *(State__Timer *const *)a, *y = *(State__Timer *const *)b;
    if (x->fire_us != y->fire_us)
        return x->fire_us < y->fire_us ? -1 : 1;
    return (x->started_event_id > y->started_event_id) - (x->started_event_id < y->started_event_id);
}

int timers_take_due(struct step *s, struct due_timers *ret) {
    const State__Execution *st = s->st;
    *ret = (struct due_timers){0};
    for (size_t i = 0; i < st->n_timers; i++)
        ret->count += st->timers[i]->fire_us <= s->judged.us;
    if (ret->count == 0)
        return 0;
    ret->v = arena_array(s->arena, State__Timer *, ret->count);
    if (!ret->v)
        return err_std(s->err, ERR_NO_MEMORY);
    for (size_t i = 0, n = 0; i < st->n_timers; i++)
        if (st->timers[i]->fire_us <= s->judged.us)
            ret->v[n++] = st->timers[i];
    qsort(ret->v, ret->count, sizeof(*ret->v), compare_due);
    return 0;
}

void timer_fire(struct step *s, State__Timer *t) {
    History__TimerFiredEventAttributes a = HISTORY__TIMER_FIRED_EVENT_ATTRIBUTES__INIT;
    a.timer_id = t->timer_id;
    a.started_event_id = t->started_event_id;
    step_event(s, EVENT_TYPE_TIMER_FIRED, &a, NULL);
    t->started_event_id = 0; /* until timers_drop_fired() */
    task_schedule(s);
}

void timers_drop_fired(State__Execution *st) {
    size_t kept = 0;
    for (size_t i = 0; i < st->n_timers; i++) {
        if (st->timers[i]->started_event_id)
            st->timers[kept++] = st->timers[i];
        else
            pb_free(st->timers[i]);
    }
    st->n_timers = kept;
}
