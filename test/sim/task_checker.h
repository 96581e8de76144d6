/* Checks of tasks that the server hands out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "workflowservice.pb-c.h"

struct rpc;
struct run_model;

/* An OK answer to a poll, or to a completion that may hold the next task. */
void checker_on_task(struct rpc *r);
/* Whether a task that was answered so may have been discarded, and then left no trace. Of a run's first task
 * the answer cannot say it: there is no task before it to go back to. */
bool task_may_be_discarded(const Ws__RespondWorkflowTaskCompletedRequest *q,
                           const Ws__RespondWorkflowTaskCompletedResponse *m, const struct run_model *run);
/* The first event of a task's history that is not durable: the start of a task, and for a retried task its
 * schedule too, are written only when the task ends. */
int64_t task_provisional_id(const Ws__PollWorkflowTaskQueueResponse *m);
