/* Timers that a workflow sets. */
#pragma once

#include "command.pb-c.h"
#include "core/step.h"

int timer_start(struct step *s, int64_t completed_event_id,
                const Command__StartTimerCommandAttributes *in) must_check;
int timer_cancel(struct step *s, int64_t completed_event_id,
                 const Command__CancelTimerCommandAttributes *in) must_check;
/* The i-th timer is due: writes its event and wakes the workflow. */
void timer_fire(struct step *s, size_t i);
