/* Batch jobs, for the files of the engine that have to do with them. */
#pragma once

#include "core/batch/batch.h"
#include "engine/runtime/engine_int.h"

/* As op_need_run, for the run that keeps this job, open or not. ERR_NOT_FOUND when there is none. */
int op_need_batch(struct op *op, struct space *space, const char *job_id) must_check;

/* The job is over by a step that was just kept: another one may begin. */
void batch_over(struct space *space);

/* As engine_reset_workflow, but ERR_CLOSED unless this run is open when it comes to it. */
void reset_while_open(struct engine *e, struct call *c, const Ws__ResetWorkflowExecutionRequest *req,
                      const char *open_run_id);

/* One target being changed. What it needs of the job stays in place until it is settled. */
struct batch_errand {
    struct engine *e;
    struct uuid namespace_id;
    const Ws__StartBatchOperationRequest *req;
    struct run *job; /* pinned, with its body */
    bool is_listed; /* execution is an entry of the list; otherwise run_id is one that the query gave */
    Common__WorkflowExecution execution;
    struct uuid run_id;
    bool was_open; /* when the query gave it */
    /* What was done is in the open group, or nothing was. rc: 0, or why it failed; err is NULL when it did
     * not.
     */
    void (*settled)(void *owner, enum batch_outcome outcome, const struct err *err);
    void *owner;
};
struct batch_target;
/* May settle before it returns. NULL: no memory, and it was not begun. */
struct batch_target *batch_target_begin(const struct batch_errand *errand);
/* Whoever began it is gone and must not hear of it. */
void batch_target_abandon(struct batch_target *t);
