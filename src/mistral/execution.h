/* Executions: one workflow id of the API. What several calls need. */
#pragma once

#include "history.pb-c.h"
#include "mistral/dialog.h"
#include "workflow.pb-c.h"
#include "workflowservice.pb-c.h"

#define IDENTITY "mistral-api"

/* Texts for requests, in the dialog's arena. */
char *own_text(struct dialog *x, struct str text);
char *own_namespace(struct dialog *x);
char *own_identity(struct dialog *x);
char *new_id(struct dialog *x);
/* In arena a: workflow id and run id, either of which may be empty. */
Common__WorkflowExecution *execution_of(struct arena *a, const char *workflow_id, const char *run_id);

/* A page of a history, from its beginning or behind a token; in arena a. NULL when memory is short. */
Ws__GetWorkflowExecutionHistoryRequest *history_request(struct dialog *x, struct arena *a,
                                                        const char *workflow_id, const char *run_id,
                                                        ProtobufCBinaryData token);

/* The members of an execution: an open object stays open. The result only with `has_result`; NULL: null. */
void execution_write(struct dialog *x, const Workflow__WorkflowExecutionInfo *info);
void execution_write_result(struct dialog *x, const Common__Payloads *result);
const char *execution_status(E__WorkflowExecutionStatus status); /* the dialect's word */
/* What a failure says, with its causes behind it. */
const char *failure_text(struct arena *a, const Failure__Failure *f);

/* The run with this id (x->id), whichever execution it belongs to; ends the dialog with 404 when there is
 * none. */
void seek_run(struct dialog *x, void (*found)(struct dialog *x, const char *workflow_id, const char *run_id));

/* How an execution ended. */
struct outcome {
    const char *workflow_id; /* in the dialog's arena, as all of it */
    const char *run_id; /* empty: the current one */
    bool waits; /* for the end, through all runs of the chain; until x->deadline */
    dialog_step *found;
    const History__HistoryEvent *close; /* NULL: it is still open, after the deadline too */
};
void outcome_find(struct dialog *x, struct outcome *o); /* x->outcome from then on */
const Common__Payloads *outcome_result(const struct outcome *o); /* NULL when it did not complete */
/* A sentence for an execution that did not complete. */
const char *outcome_text(struct arena *a, const struct outcome *o);
/* The run that takes the place of the one that this event closes; empty when there is none. */
const char *event_next_run(const History__HistoryEvent *e);
