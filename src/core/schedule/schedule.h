/* All changes of a schedule, as pure steps.
 *
 * A schedule is stored as an Execution whose `schedule` part is set. It has no events and no tasks, and its
 * workflow id cannot occur in a request. Loading, group commit, deadlines, letters, lists and recovery are
 * those of workflow runs (docs/decisions/0003).
 *
 * The parts, as steps on s->st->schedule:
 *   generator   turns the times since the high-water mark into starts
 *   backfill    turns the times of a requested range into starts
 *   invoker     decides by the overlap policies which start begins now; sends letters that begin it, and
 *               letters that stop running actions
 *   ledger      records the fate of every time
 *
 * Every step ends with schedule_settle(): generate up to now, backfill, decide, set the next deadline. A
 * start is PENDING -> STARTING -> STARTED -> COMPLETED, or DEFERRED until a run ends, or dropped with its
 * fate in the ledger. */
#pragma once

#include "cal/cal.h"
#include "core/step/step.h"
#include "rondo.pb-c.h"
#include "schedule.pb-c.h"
#include "workflowservice.pb-c.h"

/* No request has a string that is not UTF-8, so no workflow id can be one of these. */
#define SCHEDULE_ID_PREFIX                                                                                   \
    "\xff"                                                                                                   \
    "schedule/"

enum start_phase {
    PHASE_PENDING = 0, /* the invoker has not looked at it, or its back-off is not over */
    PHASE_DEFERRED = 1, /* until a run ends */
    PHASE_STARTING = 2, /* its letter is on the way */
    PHASE_STARTED = 3,
    PHASE_COMPLETED = 4, /* kept for a while, for describe */
};

/* rules that need no state */

/* Checks everything in it and puts the spec into its canonical form, in place (in the arena). The holiday
 * calendars that it names must exist in the namespace. */
int schedule_prepare(struct arena *arena, const State__Namespace *space, const struct cal_zones *zones,
                     const char *schedule_id, Schedule__Schedule *schedule, struct err *err) must_check;
/* What an update means by a spec without zone data: SDKs know only the name of a zone, so under the name that
 * it had the schedule keeps its data. A copy in the arena, or `given` itself; NULL without memory. */
const Schedule__Schedule *schedule_keep_zone(const State__Execution *st, const Schedule__Schedule *given,
                                             struct arena *arena);
int schedule_validate_patch(const Schedule__SchedulePatch *patch, struct err *err) must_check;
int schedule_validate_trigger(E__ScheduleOverlapPolicy policy,
                              const Google__Protobuf__Timestamp *scheduled_time, struct err *err) must_check;

/* The spec as cal has it, with the days of the holiday calendars behind the *ret_own exclusions of its own. s
 * is initialised. */
int schedule_read_spec(const Schedule__Schedule *schedule, const State__Namespace *space, struct cal_spec *s,
                       size_t *ret_own, struct err *err) must_check;
/* One more exclusion, from a cron string. */
int schedule_exclude_cron(struct arena *arena, Schedule__ScheduleSpec *spec, const char *text,
                          struct err *err) must_check;
/* Why a second is a time of a schedule, or is not: one word, and how a sentence about it goes on. */
struct verdict_text {
    const char *word;
    const char *sentence;
};
struct verdict_text schedule_verdict(enum cal_verdict verdict);

/* steps */

struct schedule_birth {
    const char *namespace_id;
    const char *run_id;
    const char *request_id;
    const char *previous_run_id; /* of the last schedule that had this id; "": there was none */
};
/* s->st is a fresh message; req->schedule is prepared. */
int schedule_create(struct step *s, const struct schedule_birth *birth,
                    const Ws__CreateScheduleRequest *req) must_check;
/* ERR_PRECONDITION ("mismatched conflict token") when the token is of another state; req->schedule is
 * prepared. */
int schedule_update(struct step *s, const Ws__UpdateScheduleRequest *req) must_check;
int schedule_patch(struct step *s, const Ws__PatchScheduleRequest *req) must_check;
/* One action now; its ledger entry tells what came of it. The same request id gives the same one. */
int schedule_trigger(struct step *s, const Rondo__TriggerScheduleRequest *req) must_check;
/* The record of an earlier request, owned by st; NULL when it is unknown or was forgotten. */
const State__ScheduleRequest *schedule_request_find(const State__Execution *st, const char *request_id);
/* Whether the start of this request is not decided yet: not started, not dropped, not deferred. */
bool schedule_is_deciding(const State__Execution *st, const State__ScheduleRequest *request);
/* Ends the schedule: TERMINATED after a delete, COMPLETED after its idle time. Drops waiting starts and
 * unsent letters. Running actions go on, and the ledger records their ends. ERR_NOT_FOUND when it has ended.
 */
int schedule_end(struct step *s, E__WorkflowExecutionStatus status) must_check;
int schedule_cancel_backfill(struct step *s, int64_t backfill_id) must_check;
/* The holiday calendars of the namespace changed: future times may be others. */
int schedule_refresh(struct step *s) must_check;
int schedule_tick(struct step *s) must_check; /* a deadline passed */
int schedule_settle(struct step *s) must_check; /* run_settle() calls it at the end of every step */
int64_t schedule_due_us(const State__Execution *st); /* CLOCK_NEVER: none */

/* letters */

/* The workflow that LETTER_START_ACTION starts, in the arena. The event id of the letter is the start id. */
struct action_order {
    Ws__StartWorkflowExecutionRequest *request;
    Common__Payloads *last_completion_result;
    Failure__Failure *continued_failure;
    State__ScheduledBy *scheduled_by;
};
/* ERR_NOT_FOUND when the start is not STARTING; ERR_NO_MEMORY. */
int schedule_order(const State__Execution *st, int64_t start_id, const char *namespace_name, struct wall now,
                   struct arena *arena, struct action_order *ret) must_check;

struct action_outcome {
    const char *run_id; /* of the run that was started; NULL: it was not */
    bool is_taken; /* the workflow id is in use, or was */
    const char *error; /* why it could not be started, otherwise */
    bool is_retryable;
};
/* The answer to LETTER_START_ACTION. */
void schedule_action_started(struct step *s, int64_t start_id, const struct action_outcome *o);

struct action_end {
    const char *workflow_id; /* of the run that ended, and its first run */
    const char *first_run_id;
    E__WorkflowExecutionStatus status;
    Common__Payloads *result; /* COMPLETED */
    Failure__Failure *failure; /* FAILED */
    int64_t close_us;
};
/* LETTER_ACTION_CLOSED arrived. May come before schedule_action_started, and more than once. */
void schedule_action_closed(struct step *s, int64_t start_id, const struct action_end *end);

/* views for readers: results are in the arena, NULL when it is full */

Schedule__Schedule *schedule_shown(const State__Execution *st, struct arena *arena);
int64_t schedule_next_us(const State__Execution *st); /* when it acts next by itself; 0: it does not */
int64_t schedule_running_count(const State__Execution *st);
int64_t schedule_waiting_count(const State__Execution *st);
Schedule__ScheduleInfo *schedule_info(const State__Execution *st, struct arena *arena);
Rondo__BackfillInfo *schedule_backfill_info(const State__Schedule *sch, const State__Backfill *backfill,
                                            struct arena *arena);
/* For as long as the state stays as it is: parts of it are shared. state_bytes: its packed size. */
Schedule__ScheduleListEntry *schedule_list_entry(const State__Execution *st, size_t state_bytes,
                                                 struct arena *arena);
ProtobufCBinaryData schedule_token(const State__Execution *st, struct arena *arena);
/* *ret is NULL at first. ERR_WAIT: it holds the times so far, and is to be handed in again for the rest. */
int schedule_matching_times(const State__Execution *st, const State__Namespace *space,
                            const struct cal_zones *zones, const Ws__ListScheduleMatchingTimesRequest *req,
                            struct arena *arena, Ws__ListScheduleMatchingTimesResponse **ret,
                            struct err *err) must_check;
int schedule_explain(const State__Execution *st, const State__Namespace *space, const struct cal_zones *zones,
                     const Rondo__ExplainScheduleTimeRequest *req, struct arena *arena,
                     Rondo__ExplainScheduleTimeResponse **ret, struct err *err) must_check;
