/* Making runs, for the files of the engine that do. */
#pragma once

#include "engine/runtime/engine_int.h"

struct start_plan {
    const Ws__StartWorkflowExecutionRequest *req;
    struct run_birth birth; /* ids are filled in */
    bool ends_current; /* op->run is terminated in the same commit */
    bool is_own; /* it follows from what is committed: no limit of the server stands in its way */
};

/* Whether the namespace and the limits allow it, whoever asks. */
int op_check_start(struct op *op, const struct space *space,
                   const Ws__StartWorkflowExecutionRequest *req) must_check;
/* What req would do now: *ret, with op->run the current run if there is one. ERR_WAIT as always. */
int op_judge_start(struct op *op, struct space *space, const Ws__StartWorkflowExecutionRequest *req,
                   enum start_verdict *ret) must_check;
/* For START_NEW and START_TERMINATE_FIRST: makes the run; op->run is the new one. */
int op_start_by_verdict(struct op *op, struct space *space, const struct start_plan *plan,
                        enum start_verdict verdict) must_check;
/* The answer to a start that op->run came of, in the op's arena; NULL when that is full. */
Ws__StartWorkflowExecutionResponse *started_response(struct op *op, bool started);
/* The request id that was given, or one of our own; kept over restarts of the op. */
int op_need_request_id(struct op *op, const char *given) must_check;
/* As run_keep_new, for a run that begins with events of another. */
int run_keep_copy(struct engine *e, struct space *space, struct step *s, struct str head,
                  struct run **ret) must_check;
int op_birth(struct op *op, struct space *space, const struct start_plan *plan) must_check;
