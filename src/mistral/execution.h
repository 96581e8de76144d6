/* Executions: one workflow id of the API. What several calls need. */
#pragma once

#include "history.pb-c.h"
#include "mistral/dialog.h"
#include "workflow.pb-c.h"
#include "workflowservice.pb-c.h"

/* A reference to an execution, in arena a. Either id may be NULL or empty. NULL when memory is short. */
Common__WorkflowExecution *execution_ref(struct arena *a, const char *workflow_id, const char *run_id);
/* A request for one page of a history, in arena a. An empty token asks for the first page. NULL when memory
 * is short. */
Ws__GetWorkflowExecutionHistoryRequest *execution_history_request(struct dialog *x, struct arena *a,
                                                                  const char *workflow_id, const char *run_id,
                                                                  ProtobufCBinaryData token);
/* Asks for Ws__DescribeWorkflowExecutionResponse. */
void execution_ask_description(struct dialog *x, const char *workflow_id, const char *run_id,
                               dialog_step *next);

/* Writes the members of an execution into the open object. */
void execution_write(struct dialog *x, const Workflow__WorkflowExecutionInfo *info);
void execution_write_result(struct dialog *x, const Common__Payloads *result); /* NULL: null */
const char *execution_status(E__WorkflowExecutionStatus status); /* the dialect's word; NULL: unknown */
/* The message of a failure and of its causes, joined by ": "; static, in the failure or in the arena. */
const char *execution_failure_text(struct arena *a, const Failure__Failure *f);
/* The run that replaces the run that this event closes; empty when there is none. */
const char *execution_next_run(const History__HistoryEvent *e);
