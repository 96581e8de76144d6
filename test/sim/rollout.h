/* Rollouts: the workers of one namespace have versions, and somebody moves work from one to the other.
 *
 * Half of the workers of the namespace `default` are of build b0, half of b1. Workflows whose id ends with an
 * even character are pinned to the version that began them, all others go where work goes now. One client
 * makes one version the current one, ramps up another, and looks what the server makes of it. */
#pragma once

#include "history.pb-c.h"
#include "workflowservice.pb-c.h"
#include "world.h"

#define ROLLOUT_SPACE "default"
#define ROLLOUT_DEPLOYMENT "ship"
#define ROLLOUT_BUILDS 2
#define ROLLOUT_BUILD_MAX 8

struct rollout *rollout_new(struct world *w);
void rollout_free(struct world *w);
void rollout_rest(struct world *w);
bool rollout_is_done(const struct world *w);

/* Whether the workers of this namespace have versions. */
bool rollout_covers(const struct world *w, const char *namespace_name);
bool rollout_has(const struct world *w, const char *workflow_id); /* the same, of a workflow */
/* What a worker says of itself; NULL when it has no version. */
Deployment__WorkerDeploymentOptions *rollout_options(struct arena *a, const char *build_id);
E__VersioningBehavior rollout_behavior(const char *workflow_id);

/* From the history: a run begins, and a task of it was completed. */
void rollout_note_start(struct run_model *run, const History__HistoryEvent *e);
void rollout_note_completion(struct world *w, struct run_model *run, const History__HistoryEvent *e);
/* A worker that called itself this polls and gets a workflow task. The task that comes with the answer to
 * another stays where that was. */
void rollout_check_task(struct world *w, const struct run_model *run,
                        const Deployment__WorkerDeploymentOptions *worker,
                        const Ws__PollWorkflowTaskQueueResponse *m);
