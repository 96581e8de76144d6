/* Timers that a workflow sets. */
#pragma once

#include "command.pb-c.h"
#include "core/step/step.h"

int timer_start(struct step *s, int64_t completed_event_id,
                const Command__StartTimerCommandAttributes *in) must_check;
int timer_cancel(struct step *s, int64_t completed_event_id,
                 const Command__CancelTimerCommandAttributes *in) must_check;
/* The timers of a run that are due, the earliest first. They stay valid until the run closes. */
struct due_timers {
    State__Timer **v; /* in the step's arena */
    size_t count, at; /* those before `at` have fired */
};
int timers_take_due(struct step *s, struct due_timers *ret) must_check;
/* Writes its event and wakes the workflow. It stays in the state until timers_drop_fired(). */
void timer_fire(struct step *s, State__Timer *t);
void timers_drop_fired(State__Execution *st);
/* Removes the timer that this event started; false when there is none. */
bool timer_forget(State__Execution *st, int64_t started_event_id);
