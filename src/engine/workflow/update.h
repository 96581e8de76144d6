/* Waiting for an update, for the files of the engine that do. */
#pragma once

#include "engine/runtime/engine_int.h"

/* What goes with an update that came together with a start. */
struct multi {
    Ws__StartWorkflowExecutionResponse *started; /* NULL: it is not there yet */
};

/* In op->extra. */
struct update_wait {
    const char *namespace_name;
    const Common__WorkflowExecution *execution;
    const char *first_run_id;
    const char *update_id;
    Update__Request *request; /* NULL: only asks, does not admit */
    E__UpdateWorkflowExecutionLifecycleStage wanted; /* the stage that ends the wait */
    int64_t until_us; /* monotonic; 0: not known yet */
    struct multi *multi; /* NULL: an update of its own */
};

/* the requests */

/* Everything about the update that needs no state. Gives it an id if it has none. */
int update_wait_new(struct op *op, const Ws__UpdateWorkflowExecutionRequest *req,
                    struct update_wait **ret) must_check;
void update_go(struct op *op); /* finds the run, admits the update or attaches to it, waits */
void update_wait_go(struct op *op); /* waits for an update that op->run has: admitted, or in its history */
/* op->err as the answer. */
void update_fail(struct op *op);
void multi_fail(struct op *op, bool is_start);

/* the updates in memory */

struct update *update_in_memory(const struct run *run, const char *id);
/* Known to op->run already, or admitted now. */
int update_admit(struct op *op, Update__Request *request) must_check;
