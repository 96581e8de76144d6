/* Checks of tasks that the server hands out. */
#pragma once

#include "workflowservice.pb-c.h"

struct rpc;

/* An OK answer to a poll, or to a completion that may hold the next task. */
void checker_on_task(struct rpc *r);
/* The first event of a task's history that is not durable: the start of a task, and for a retried task its
 * schedule too, are written only when the task ends. */
int64_t task_provisional_id(const Ws__PollWorkflowTaskQueueResponse *m);
