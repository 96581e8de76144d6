/* A run that is paused: what happens to it is written down, but no worker gets anything of it.
 *
 * A task that is with a worker may be completed. Signals, timers, results of
 * activities and of children become events as ever, deadlines pass as ever;
 * no workflow task is scheduled and no activity is offered until the pause is
 * over. A task that was scheduled before stays scheduled and is offered then:
 * SDKs know no history in which a task fails before it has started. */
#pragma once

#include "core/step/step.h"
#include "workflowservice.pb-c.h"

static inline bool run_is_paused(const State__Execution *st) {
    return st->pause != NULL;
}

/* ERR_CLOSED; ERR_PRECONDITION when it is paused by another request (not paused). */
int run_pause(struct step *s, const Ws__PauseWorkflowExecutionRequest *req) must_check;
int run_unpause(struct step *s, const Ws__UnpauseWorkflowExecutionRequest *req) must_check;

/* The state after the events of both. */
void pause_begin(struct step *s, int64_t paused_us, const char *identity, const char *reason,
                 const char *request_id);
void pause_end(struct step *s);

/* Lets the search attribute TemporalPauseInfo say what of the run is paused. */
void pause_show(struct step *s);
