/* What the tests of schedules share: one schedule, a clock, a world in which its actions run, and its ledger.
 *
 *   cleanup(sched_done) struct sched f;
 *   sched_init(&f);                        spec: every 5 minutes; it is 2022-06-01T00:00:00Z
 *   sched_create(&f);
 *   sched_go(&f, "00:07");                 does everything that is due until then
 *   CHECK_STR(sched_begun(&f), "00:05");
 *   sched_close(&f, "00:05", COMPLETED);   the run of that nominal time ends now
 *
 * Letters are delivered at once after each step, unless f.holds_letters. Without memory (--torture) every
 * call does nothing. */
#pragma once

#include "core/schedule/schedule.h"
#include "core_fixture.h"

#define SCHED_T0_S INT64_C(1654041600) /* 2022-06-01T00:00:00Z */
#define SCHED_RUNS_MAX 20000

#define STATUS(name) WORKFLOW_EXECUTION_STATUS_##name
#define POLICY(name) SCHEDULE_OVERLAP_POLICY_##name

struct sched_run {
    int64_t start_id;
    int64_t nominal_s;
    int64_t begun_us;
    char *workflow_id;
    bool is_open;
    bool is_cancelled; /* was asked to */
    bool is_terminated;
    Common__Payloads *last_result;
    Failure__Failure *last_failure;
};

struct sched_parts {
    Schedule__Schedule schedule;
    Schedule__ScheduleSpec spec;
    Schedule__SchedulePolicies policies;
    Schedule__ScheduleState state;
    Rondo__ScheduleExtras extras;
    Schedule__ScheduleAction action;
    Workflow__NewWorkflowExecutionInfo workflow;
};

struct sched {
    struct core c;
    struct sched_parts parts; /* there also without memory */
    State__Namespace space;
    struct cal_zones zones;
    Ws__CreateScheduleRequest create; /* create.schedule is what the tests change before sched_create() */
    Schedule__Schedule *schedule; /* the same; never NULL */
    struct sched_run *runs;
    size_t run_count;
    size_t shown; /* of runs, by sched_begun() */
    Rondo__LedgerEntry **ledger; /* by id - 1; NULL: not written */
    size_t ledger_count;
    int64_t ledger_first_id;
    bool holds_letters;
    bool closes_at_once; /* every run ends when it begins */
    struct action_outcome refusal; /* answers the next starts, refusals_left times */
    int refusals_left;
};

void sched_init(struct sched *f);
void sched_done(struct sched *f);

/* the schedule before it is made, or for an update */

Schedule__Schedule *sched_new(struct sched *f); /* an empty spec, an action, policies, state, extras */
void sched_every(struct sched *f, Schedule__Schedule *schedule, const char *text); /* "5m", "1h/20m" */
void sched_cron(struct sched *f, Schedule__Schedule *schedule, const char *text);
void sched_exclude(struct sched *f, Schedule__Schedule *schedule, const char *hour); /* hours, whole */
void sched_limit(Schedule__Schedule *schedule, int64_t remaining);

/* steps */

int sched_create(struct sched *f);
int sched_update(struct sched *f, Schedule__Schedule *schedule);
int sched_pause(struct sched *f, const char *note);
int sched_unpause(struct sched *f, const char *note);
int sched_trigger(struct sched *f, E__ScheduleOverlapPolicy policy);
int sched_backfill(struct sched *f, const char *from, const char *to, E__ScheduleOverlapPolicy policy);
int sched_patch(struct sched *f, Schedule__SchedulePatch *patch, const char *request_id);
int sched_step(struct sched *f, int rc); /* after STEP: takes the rows, delivers letters */
#define SCHED(f, expr) sched_step((f), STEP(&(f)->c, expr))
int sched_tick(struct sched *f);
void sched_deliver(struct sched *f);

/* Sets the clock, doing on the way whatever is due, at its time. "07:30", "2d 07:30:10.250". */
void sched_go(struct sched *f, const char *when);
void sched_go_us(struct sched *f, int64_t us);
void sched_jump(struct sched *f, const char *when); /* only the clock */
int64_t sched_us(const char *when);

/* The open run of this nominal time ends. */
void sched_close(struct sched *f, const char *nominal, E__WorkflowExecutionStatus status);
void sched_close_run(struct sched *f, struct sched_run *run, E__WorkflowExecutionStatus status,
                     const char *result);
struct sched_run *sched_run_at(struct sched *f, const char *nominal); /* the last one; NULL */

/* looking */

const State__Schedule *sched_state(const struct sched *f); /* never NULL */
/* What was begun since the last call: "00:05 00:10@00:12", nominal and, when it differs, the real time. */
const char *sched_begun(struct sched *f);
/* The ledger: "00:05 STARTED/COMPLETED, 00:10 OVERLAP_SKIPPED, 00:15x40 PAUSED". */
const char *sched_ledger(struct sched *f);
const char *sched_future(struct sched *f); /* as describe shows them */
const char *sched_time(struct sched *f, int64_t us);
size_t sched_open_count(const struct sched *f);
