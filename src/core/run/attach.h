/* A start that finds its workflow running and is content with that (USE_EXISTING) may leave something with
 * the run: its request id, by which a repetition is known, callbacks, links. */
#pragma once

#include "core/step/step.h"
#include "workflowservice.pb-c.h"

int attach_validate(const Ws__StartWorkflowExecutionRequest *req, struct err *err) must_check;
/* Whether this start would leave anything with the run that it has not left yet. */
bool attach_is_wanted(const State__Execution *st, const Ws__StartWorkflowExecutionRequest *req,
                      const char *request_id);
int attach_start(struct step *s, const Ws__StartWorkflowExecutionRequest *req,
                 const char *request_id) must_check;
State__AttachedRequest *attach_find(const State__Execution *st, const char *request_id);
/* The state after the event: when it is written, and when a run is rebuilt from it. */
int attach_apply(struct step *s, const History__WorkflowExecutionOptionsUpdatedEventAttributes *a,
                 int64_t event_id) must_check;
