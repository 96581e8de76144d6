/* Everything that can happen to a workflow run, as pure steps.
 *
 * Each function takes a struct step (see step.h for the contract) whose `st`
 * is the run's state. Inputs are decoded requests; they are copied into the
 * state or into events, never kept by reference. */
#pragma once

#include "core/step.h"
#include "workflowservice.pb-c.h"

/* the life of a run */

/* Rules for a start request that need no state: required fields, lengths, durations, policies. */
int run_validate_start(const Ws__StartWorkflowExecutionRequest *req, struct err *err) must_check;

struct run_birth {
    const char *namespace_id;
    const char *run_id;
    const char *request_id;
};
/* A new run: st is a fresh message. Writes the started event and, without a delay, the first task. */
int run_start(struct step *s, const struct run_birth *birth,
              const Ws__StartWorkflowExecutionRequest *req) must_check;

/* What a start means when its workflow id is taken. */
enum start_verdict { START_NEW, START_SAME, START_EXISTING, START_TERMINATE_FIRST, START_REFUSED };
enum start_verdict run_judge_start(const Ws__StartWorkflowExecutionRequest *req, const char *request_id,
                                   const State__Execution *current, struct err *err);

bool run_is_open(const State__Execution *st);
/* Ends the run: whatever was pending is dropped. The closing event is already written. */
void run_close(struct step *s, E__WorkflowExecutionStatus status);

/* requests from outside */

int run_signal(struct step *s, const Ws__SignalWorkflowExecutionRequest *req) must_check;
int run_request_cancel(struct step *s, const Ws__RequestCancelWorkflowExecutionRequest *req) must_check;
int run_terminate(struct step *s, const char *reason, Common__Payloads *details, const char *identity,
                  Common__Link **links, size_t link_count) must_check;

/* time */

int64_t run_due_us(const State__Execution *st); /* the next deadline by the wall clock, or CLOCK_NEVER */
int run_tick(struct step *s) must_check; /* does everything that is due by s->now */
