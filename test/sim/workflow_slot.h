/* One workflow task poller of a worker: polls, runs the program, answers, polls again. */
#pragma once

#include "base/arena.h"
#include "program.h"
#include "world.h"
#include "workflowservice.pb-c.h"

struct worker;

struct workflow_slot {
    struct worker *worker;
    bool is_sticky; /* polls the worker's own queue */
    bool is_eager; /* never polls: it is given first tasks that come with the answer to a start */
    struct rpc *rpc;
    struct rpc *echo; /* the second of two equal answers */
    struct happening next;
    struct arena arena; /* of the task in hand */
    Ws__PollWorkflowTaskQueueResponse *task;
    struct run_model *run;
    struct program program;
    int64_t fetch_until; /* last event id that the program lacks before the task's own slice */
    struct intents intents;
};

void workflow_slot_init(struct workflow_slot *s, struct worker *worker, bool is_sticky);
void workflow_slot_done(struct workflow_slot *s);
void workflow_slot_begin(struct workflow_slot *s);
void workflow_slot_end(struct workflow_slot *s); /* the worker died */
bool workflow_slot_is_free(const struct workflow_slot *s); /* an eager one */
void workflow_slot_give(struct workflow_slot *s, const Ws__PollWorkflowTaskQueueResponse *task);
