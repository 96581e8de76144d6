/* Activities: scheduled, started, retried, and ended exactly once in the history. */
#pragma once

#include "command.pb-c.h"
#include "core/step/step.h"
#include "workflowservice.pb-c.h"

State__Activity *activity_find(const State__Execution *st, int64_t scheduled_event_id);
State__Activity *activity_find_id(const State__Execution *st, const char *activity_id);

/* Commands of a workflow task; s->task_failed_cause is set on error. */
int activity_schedule(struct step *s, int64_t completed_event_id, const Command__Command *cmd) must_check;
/* One that no worker has ends at once; the event that tells it waits behind those of the other commands. */
int activity_request_cancel(struct step *s, int64_t completed_event_id,
                            int64_t scheduled_event_id) must_check;

/* For a rebuilt run: an activity that its history may leave pending, to be attempted anew. */
void activity_restore(struct step *s, int64_t event_id,
                      const History__ActivityTaskScheduledEventAttributes *ev);
/* Tells the queues of every activity that a worker could have. */
void activity_offer_all(struct step *s);

/* Hands it to a worker. ERR_NOT_FOUND when it is gone, taken, paused, or when this is not its last offer. */
int activity_start(struct step *s, int64_t scheduled_event_id, int32_t stamp, const char *identity,
                   const char *request_id) must_check;
void activity_give_back(struct step *s, int64_t scheduled_event_id, int32_t attempt, int64_t started_us);

int32_t activity_attempt(const State__Activity *a); /* as clients count: from 1, again after a reset */

/* The attempt that a token means, or ERR_NOT_FOUND. */
int activity_check_token(struct step *s, const State__TaskToken *token, State__Activity **ret) must_check;
int activity_heartbeat(struct step *s, State__Activity *a, Common__Payloads *details) must_check;
int activity_complete(struct step *s, State__Activity *a, Common__Payloads *result,
                      const char *identity) must_check;
int activity_fail(struct step *s, State__Activity *a, Failure__Failure *failure,
                  Common__Payloads *last_heartbeat_details, const char *identity) must_check;
int activity_cancel(struct step *s, State__Activity *a, Common__Payloads *details,
                    const char *identity) must_check;

int64_t activity_due_us(const State__Activity *a);
/* Does what is due for this activity by s->now: offers the next attempt, or times it out. */
int activity_tick(struct step *s, State__Activity *a) must_check;
