/* What a batcher is made of. Only batcher.c and batch_rules.c include it. */
#pragma once

#include "batcher.h"
#include "override.h"

#define BATCHER_COUNT MODEL_SPACES
#define TARGETS_MAX 12

enum job_kind { JOB_SIGNAL, JOB_CANCEL, JOB_TERMINATE, JOB_DELETE, JOB_RESET, JOB_OVERRIDE };
enum job_task { TASK_START, TASK_LOOK, TASK_STOP };

struct job {
    struct job *next;
    char id[MODEL_ID_MAX];
    const char *space;
    enum job_kind kind;
    float rate;
    bool by_query;
    bool wants_stop; /* somebody will stop it */
    struct run_model *targets[TARGETS_MAX]; /* unless by_query */
    size_t target_count;
    int64_t sent_wall_us;
    int64_t ended_wall_us; /* when somebody heard of it; 0: it goes on */
    int64_t stopped_wall_us; /* when the stop was acknowledged; 0: it was not */
    int64_t done; /* targets, as it last said */
    E__BatchOperationState state;
    char workflow_id[MODEL_ID_MAX]; /* resets by a query: of all the targets */
    struct override_choice override;
    bool to_first; /* reset: to the first workflow task, not the last */
    bool drops_signals; /* reset */
    int64_t failures; /* as it last said */
    struct request_model **resets; /* one for each target that is known */
    size_t reset_count;
    size_t reset_cap;
    struct run_model **holders; /* runs that have its signal or its override, or that its resets made */
    size_t holder_count;
    size_t holder_cap;
    size_t late_count; /* signals that came after the stop */
};

struct batcher {
    struct world *w;
    const char *space;
    struct happening act;
    struct rpc *rpc;
    struct job *job; /* NULL: none is under way */
    struct job *jobs; /* all, the last first */
    enum job_task task;
    bool is_resting;
};

/* Whether a client started it, in this namespace. */
bool batcher_knows(const struct batcher *b, const struct run_model *run);
/* The request by which the job resets a run; made when it is first asked for. */
struct request_model *batch_reset_of(struct world *w, struct job *job, struct run_model *base);
