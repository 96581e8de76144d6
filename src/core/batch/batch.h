/* A batch job: one operation on many executions, as pure steps.
 *
 * A job lives in the same house as a workflow run and a schedule: an Execution whose `batch` part is set,
 * with no events and no tasks, kept under a workflow id that no request can spell (docs/decisions/0005). Its
 * state says how far it has come; the engine takes the next target, does to it what a client's call would do,
 * and the step that notes it stands in the same commit as what was done. */
#pragma once

#include "batch.pb-c.h"
#include "core/search/filter.h"
#include "core/step/step.h"
#include "workflowservice.pb-c.h"

#define BATCH_ID_PREFIX                                                                                      \
    "\xff"                                                                                                   \
    "batch/"

/* rules that need no state */

/* Everything but the query. */
int batch_validate(const Ws__StartBatchOperationRequest *req, const struct core_limits *limits,
                   struct err *err) must_check;
const char *batch_identity(const Ws__StartBatchOperationRequest *req);
bool batch_is_about_schedules(const Ws__StartBatchOperationRequest *req);
/* The targets of a query: those that existed when the job began at `start_us`. */
int batch_filter(struct arena *a, const State__Namespace *ns, const Ws__StartBatchOperationRequest *req,
                 int64_t start_us, struct filter *ret, struct err *err) must_check;
/* Operations a second. */
double batch_rate(const Ws__StartBatchOperationRequest *req, const struct core_limits *limits);

/* The targets of a list. */
size_t batch_listed_count(const Ws__StartBatchOperationRequest *req);
Common__WorkflowExecution batch_listed(const Ws__StartBatchOperationRequest *req, size_t i);

/* steps */

struct batch_birth {
    const char *namespace_id;
    const char *run_id;
};
/* s->st is a fresh message; req is valid. */
int batch_start(struct step *s, const struct batch_birth *birth,
                const Ws__StartBatchOperationRequest *req) must_check;
int batch_count(struct step *s, int64_t total) must_check;

enum batch_outcome { BATCH_COMPLETE, BATCH_FAILURE, BATCH_PASSED /* by: it was no target after all */ };
struct batch_note {
    enum batch_outcome outcome;
    const State__ListToken *place; /* of a target that the query gave; NULL: the next one of the list */
};
/* What became of one target; also after the job was stopped, for the one that was under way then. */
int batch_note(struct step *s, const struct batch_note *note) must_check;
/* COMPLETED, or TERMINATED by somebody. ERR_CLOSED when it is over already. */
int batch_end(struct step *s, E__WorkflowExecutionStatus status, const char *reason,
              const char *identity) must_check;

/* The id under which the receiver knows this job's request again; NULL when the arena is full. */
char *batch_request_id(const State__Execution *st, const char *run_id, struct arena *arena);
/* Whether this run is what the job's own reset left, or made. */
bool batch_is_own_reset(const State__Execution *job, const State__Execution *target);

/* what a reader sees; everything in the arena, NULL when that is full */

Batch__BatchOperationInfo *batch_info(const State__Execution *st, struct arena *arena);
Ws__DescribeBatchOperationResponse *batch_describe(const State__Execution *st, struct arena *arena);
