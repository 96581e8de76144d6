/* The workflow task: scheduled, started, then completed, failed or timed out.
 *
 * At most one for each run. From attempt 2 on it is transient: its events are
 * only written if it succeeds, so that a failing worker does not fill the
 * history. The started event of every task is written when the task ends (or
 * when someone reads the history), because losing it only means that the task
 * is offered again.
 *
 * A speculative task carries updates to a worker. None of its events is written
 * before it ends, and none at all when the worker rejects all that it carried. */
#pragma once

#include "core/step/step.h"
#include "core/version/version.h"
#include "taskqueue.pb-c.h"
#include "workflowservice.pb-c.h"

bool task_is_started(const State__Execution *st);
bool task_is_transient(const State__WorkflowTask *t);

/* Makes sure that a task is pending. Flushes buffered events first. A step that holds events (step.h) does so
 * itself when it is done. */
void task_schedule(struct step *s);
/* The delay of the first task is over. An update may have brought one meanwhile that is not written down. */
void task_schedule_first(struct step *s);
/* The same for updates: the task is only written down if something comes of it. A delay of the first task goes
 * on beside it. */
void task_schedule_speculative(struct step *s);
/* After other events were written a speculative task that nobody has taken becomes an ordinary one. */
void task_settle(struct step *s);
/* A speculative task means nothing any more when the updates that it carried are forgotten. */
void task_forget_speculative(State__Execution *st);

struct task_pick {
    int64_t scheduled_event_id; /* which task the queue thinks it has */
    const char *identity;
    const char *request_id;
    bool from_sticky;
    struct version version; /* of the worker */
    bool is_bound; /* it was offered to this version only */
    bool has_target; /* known where work that is bound to no version goes now: */
    struct version target;
    int64_t target_revision;
};
/* Hands the pending task to a worker. ERR_NOT_FOUND when it is gone or taken: drop the queue's entry. */
int task_start(struct step *s, const struct task_pick *pick) must_check;
/* The worker never got it: back to scheduled, if the start left no trace yet. */
void task_give_back(struct step *s, int64_t scheduled_event_id, int64_t started_us);
/* Whether the history lacks the started event of an ordinary task that is with a worker. */
bool task_owes_start(const State__Execution *st);
/* Writes the events of the pending task that are still owed to the history. */
void task_write_owed(struct step *s);
/* The pending task is in the wrong queue, or in the wrong place there: offer it again. */
void task_offer_again(struct step *s);
/* The sticky worker is gone: offer the task on the normal queue. */
void task_unstick(struct step *s);

/* No worker gets it for a while: what it would wait for in vain is taken from a task that no worker has. */
void task_hold(struct step *s);

/* Checks that this token means the task that is with a worker now. */
int task_check_token(struct step *s, const State__TaskToken *token) must_check;

void task_fail(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
               const char *identity);
/* What the worker says, cut to what may be stored. An answer that was too large to be sent ends the run. */
int task_report_failed(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
                       const char *identity) must_check;
/* The same, but no task follows: the run is about to be ended. */
void task_fail_finally(struct step *s, E__WorkflowTaskFailedCause cause, Failure__Failure *failure,
                       const char *identity);
/* The task that is open where a reset begins: failed, with both runs named. */
struct task_reset {
    const char *base_run_id;
    const char *new_run_id;
    const char *reason;
};
int task_reset(struct step *s, const struct task_reset *r, const char *identity) must_check;
void task_time_out(struct step *s, E__TimeoutType type);
/* Before a closing event that no worker asked for: a started task is failed by force, and what was buffered
 * meanwhile is written. */
void task_force_close(struct step *s);

struct completion {
    bool has_new_task; /* a further task was scheduled */
    bool is_new_started; /* and is handed to the same worker in the answer */
    bool is_heartbeat; /* the worker has not looked further than before */
    bool is_discarded; /* a speculative task that leaves no trace */
    int64_t reset_event_id; /* then: where the worker's history ends again */
    bool is_heartbeat_over; /* the worker kept the task alive for too long: it was timed out instead */
    int64_t *eager; /* scheduled event ids of the activities that the same worker gets; in the arena */
    size_t eager_count;
};
/* The worker's answer. On ERR_INVALID with s->task_failed_cause set, undo and call task_fail. */
int task_complete(struct step *s, const State__TaskToken *token,
                  const Ws__RespondWorkflowTaskCompletedRequest *req, struct completion *out) must_check;

int64_t task_due_us(const State__Execution *st);
