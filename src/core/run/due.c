/* Deadlines. A run has one next deadline, the earliest of all that wait in it;
 * the engine wakes it then, and run_tick does whatever has become due, in the
 * order of the deadlines, so that late ticks give the same history as prompt ones. */
#include "core/activity/activity.h"
#include "core/message/callback.h"
#include "core/run/chain.h"
#include "core/step/failure.h"
#include "core/run/pause.h"
#include "core/run/run.h"
#include "core/schedule/schedule.h"
#include "core/run/task.h"
#include "core/run/timer.h"

enum due_kind { DUE_NOTHING, DUE_FIRST_TASK, DUE_RUN, DUE_TASK, DUE_ACTIVITY, DUE_CALLBACK };

struct due {
    int64_t at_us;
    enum due_kind kind;
    size_t index;
};

static void due_consider(struct due *d, int64_t at_us, enum due_kind kind, size_t index) {
    if (at_us < d->at_us)
        *d = (struct due){at_us, kind, index};
}

/* All but timers. */
static struct due due_first(const State__Execution *st) {
    struct due d = {CLOCK_NEVER, DUE_NOTHING, 0};
    if (!run_is_open(st)) {
        for (size_t i = 0; i < st->n_callbacks; i++)
            due_consider(&d, callback_due_us(st->callbacks[i]), DUE_CALLBACK, i);
        return d;
    }
    if (st->first_task_due_us && !st->is_first_task_held && !run_is_paused(st) && !task_is_started(st))
        due_consider(&d, st->first_task_due_us, DUE_FIRST_TASK, 0);
    /* The task for whose sake these wait was speculative and did not survive a restart. */
    if (st->n_buffered && !st->task)
        due_consider(&d, 1, DUE_FIRST_TASK, 0); /* long ago, also for a clock that went back */
    if (st->run_expires_us)
        due_consider(&d, st->run_expires_us, DUE_RUN, 0);
    if (st->execution_expires_us)
        due_consider(&d, st->execution_expires_us, DUE_RUN, 0);
    due_consider(&d, task_due_us(st), DUE_TASK, 0);
    for (size_t i = 0; i < st->n_activities; i++)
        due_consider(&d, activity_due_us(st->activities[i]), DUE_ACTIVITY, i);
    return d;
}

int64_t run_due_us(const State__Execution *st) {
    if (st->schedule)
        return run_is_open(st) ? schedule_due_us(st) : CLOCK_NEVER;
    if (st->batch)
        return CLOCK_NEVER; /* the engine goes on with it as long as it is open */
    int64_t at_us = due_first(st).at_us;
    for (size_t i = 0; run_is_open(st) && i < st->n_timers; i++)
        at_us = MIN(at_us, st->timers[i]->fire_us);
    return at_us;
}

static int due_time_out_run(struct step *s) {
    Failure__Failure *failure =
        failure_timeout(s, "workflow timeout", TIMEOUT_TYPE_START_TO_CLOSE, NULL, NULL);
    if (!failure)
        return err_std(s->err, ERR_NO_MEMORY);
    pause_end(s);
    bool is_over = s->st->execution_expires_us && s->st->execution_expires_us <= s->now.us;
    struct chain_sequel sequel = {.retry_state = RETRY_STATE_TIMEOUT};
    if (!is_over)
        sequel = chain_after(s, failure);
    task_force_close(s);
    History__WorkflowExecutionTimedOutEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES__INIT;
    a.retry_state = sequel.run_id.s[0] ? sequel.retry_state : RETRY_STATE_TIMEOUT;
    a.new_execution_run_id = sequel.run_id.s;
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, &a, NULL);
    int rc = chain_begin(s, &sequel, NULL, failure);
    run_close(s, WORKFLOW_EXECUTION_STATUS_TIMED_OUT);
    return rc;
}

static int do_due(struct step *s, const struct due *d) {
    switch (d->kind) {
    case DUE_FIRST_TASK:
        task_schedule_first(s);
        return 0;
    case DUE_RUN:
        return due_time_out_run(s);
    case DUE_TASK:
        task_time_out(s,
                      task_is_started(s->st) ? TIMEOUT_TYPE_START_TO_CLOSE : TIMEOUT_TYPE_SCHEDULE_TO_START);
        return 0;
    case DUE_ACTIVITY:
        return activity_tick(s, s->st->activities[d->index]);
    case DUE_CALLBACK:
        callback_retry(s, d->index);
        return 0;
    case DUE_NOTHING:
        break;
    }
    return 0;
}

int run_tick(struct step *s) {
    if (s->st->schedule)
        return schedule_tick(s);
    struct due_timers timers;
    int rc = timers_take_due(s, &timers);
    for (size_t i = 0; rc == 0 && i < LIMIT_DUE_PER_STEP && !s->failed; i++) {
        struct due d = due_first(s->st);
        bool has_timer = run_is_open(s->st) && timers.at < timers.count;
        if (has_timer && timers.v[timers.at]->fire_us < d.at_us)
            timer_fire(s, timers.v[timers.at++]);
        else if (d.at_us <= s->judged.us)
            rc = do_due(s, &d);
        else
            break;
    }
    timers_drop_fired(s->st);
    return rc;
}
