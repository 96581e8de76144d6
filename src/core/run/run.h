/* Everything that can happen to a workflow run, as pure steps.
 *
 * Each function takes a struct step (see step.h for the contract) whose `st`
 * is the run's state. Inputs are decoded requests; they are copied into the
 * state or into events, never kept by reference. */
#pragma once

#include "core/step/step.h"
#include "workflowservice.pb-c.h"

/* the life of a run */

/* Rules for a start request that need no state: required fields, lengths, durations, policies. */
int run_validate_start(const Ws__StartWorkflowExecutionRequest *req, const State__Namespace *space,
                       const struct cal_zones *zones, const struct core_limits *limits,
                       struct err *err) must_check;

/* Rules for a cron schedule; empty is valid. */
int run_validate_cron(const char *schedule, const struct cal_zones *zones, struct err *err) must_check;

/* Where a run comes from. What a client's start does not have is zero. */
struct run_birth {
    const char *namespace_id;
    const char *run_id;
    const char *request_id;
    /* from the run before it in the chain */
    const char *origin_request_id;
    const State__Execution *before; /* its callbacks and reset points go over */
    const char *first_run_id;
    const char *continued_run_id;
    int64_t task_id_base;
    E__ContinueAsNewInitiator initiator;
    int32_t attempt;
    int64_t backoff_us;
    int64_t execution_expires_us;
    Failure__Failure *continued_failure;
    Common__Payloads *last_completion_result;
    const History__DeclinedTargetVersionUpgrade *declined;
    /* from the run before it or its parent */
    const Deployment__WorkerDeploymentVersion *inherited_pin;
    const Deployment__InheritedAutoUpgradeInfo *inherited_upgrade;
    /* from its parent */
    const State__Parent *parent;
    const char *root_workflow_id;
    const char *root_run_id;
    bool is_held; /* the first task waits for the parent */
    /* from its starter */
    const Ws__SignalWorkflowExecutionRequest *signal; /* comes with the start, before the first task */
    bool is_eager; /* the starter takes the first task itself */
    const State__ScheduledBy *scheduled_by; /* the schedule whose action it is */
};
/* A new run: st is a fresh message. Writes the started event and, without a delay, the first task. */
int run_start(struct step *s, const struct run_birth *birth,
              const Ws__StartWorkflowExecutionRequest *req) must_check;

/* What the timeouts of a start mean: each bounds the next, 0 is none, and a task always has one. */
struct run_timeouts {
    int64_t execution_us, run_us, task_us;
};
struct run_timeouts run_timeouts(const Google__Protobuf__Duration *execution,
                                 const Google__Protobuf__Duration *run,
                                 const Google__Protobuf__Duration *task);

/* The part of run_start that only fills the state: identity, timeouts, times. */
void run_set_origin(struct step *s, const struct run_birth *birth,
                    const Ws__StartWorkflowExecutionRequest *req, int64_t delay_us);

/* What a start means when its workflow id is taken. */
enum start_verdict { START_NEW, START_SAME, START_EXISTING, START_TERMINATE_FIRST, START_REFUSED };
enum start_verdict run_judge_start(const Ws__StartWorkflowExecutionRequest *req, const char *request_id,
                                   const State__Execution *current, struct err *err);

/* Fills what the detail of ERR_ALREADY_STARTED says of the run that is there. */
void run_name_in_error(const State__Execution *current, struct err *err);

bool run_is_open(const State__Execution *st); /* running or paused */
/* Ends the run: whatever was pending is dropped. The closing event is already written. */
/* What is no workflow and lives in the house of runs (docs/decisions/0003) begins: open, under the workflow
 * id that is the prefix and the id, with neither events nor tasks. */
void run_begin_lodger(struct step *s, const char *namespace_id, const char *prefix, const char *id,
                      const char *run_id);
void run_close(struct step *s, E__WorkflowExecutionStatus status);

/* requests from outside */

/* The workflow that sends a signal or a cancel request; NULL when a client does. */
struct run_caller {
    Common__WorkflowExecution *execution;
    int64_t initiated_event_id;
    bool insists; /* wakes the workflow also while its first task waits for a start delay */
};

int run_signal(struct step *s, const Ws__SignalWorkflowExecutionRequest *req,
               const struct run_caller *caller) must_check;
int run_request_cancel(struct step *s, const Ws__RequestCancelWorkflowExecutionRequest *req,
                       const struct run_caller *caller) must_check;
int run_terminate(struct step *s, const char *reason, Common__Payloads *details, const char *identity,
                  Common__Link **links, size_t link_count) must_check;

/* Schedules a workflow task, unless the first one still has to wait. */
void run_wake(struct step *s);

/* The end of every step: what holds for the run whatever happened. */
int run_settle(struct step *s) must_check;

/* No event of this run has or will have a greater task id, were it closed now. The runs of a chain number
 * their events upwards. */
int64_t run_task_id_bound(const State__Execution *st);

/* The end of a run in whose place a reset puts another. If that goes on with the same chain, the parent does
 * not hear of it; if it is the copy of this very run, neither do the children. */
struct reset_end {
    const char *reason;
    const char *new_run_id;
    const char *request_id;
    bool is_same_chain;
    bool is_base;
};
int run_end_by_reset(struct step *s, const struct reset_end *end) must_check;

/* Time */

int64_t run_due_us(const State__Execution *st); /* the next deadline by the wall clock, or CLOCK_NEVER */
int run_tick(struct step *s) must_check; /* does everything that is due by s->now */
