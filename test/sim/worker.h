/* Workers: they poll for workflow and activity tasks and do what the programs say.
 *
 * A worker has pollers for the shared queue and for its own sticky queue, and a
 * cache of the runs that it has worked on. It may die and come back with an
 * empty cache and another sticky queue. */
#pragma once

#include "program.h"
#include "workflowservice.pb-c.h"
#include "world.h"

#define WORKER_QUEUE "work"
#define WORKER_CACHE_MAX 24
#define POLL_PAUSE_US (20 * USEC_PER_MS)

struct activity_slot;
struct workflow_slot;

struct worker {
    struct world *w;
    unsigned index;
    unsigned life; /* counts rebirths */
    bool is_alive;
    int64_t hung_until_us; /* it does nothing until then */
    bool is_sticky; /* whether it caches runs at all */
    bool returns_new; /* asks for the next task with the answer to the last */
    const char *namespace_name;
    char name[32];
    char build_id[8]; /* of its version; "": it has none */
    char sticky_queue[40];
    struct program cache[WORKER_CACHE_MAX];
    unsigned cache_next;
    struct workflow_slot *workflow_slots;
    unsigned workflow_slot_count;
    struct activity_slot *activity_slots;
    unsigned activity_slot_count;
    struct happening rebirth;
    struct rpc *goodbye;
};

struct worker *workers_new(struct world *w);
void workers_free(struct world *w);
void workers_kill_one(struct world *w);
void workers_hang_one(struct world *w);
/* A delay of what a worker does, longer while it hangs. */
int64_t worker_delay(const struct worker *worker, int64_t delay_us);
void workers_revive(struct world *w); /* all of them, for the calm phase, and none is idle any more */

/* Tasks that came with an answer; without a free slot they are left lying until their time is up. */
void worker_give_activity(struct worker *worker, const Ws__PollActivityTaskQueueResponse *task);
void workers_give_first_task(struct world *w, const char *namespace_name,
                             const Ws__PollWorkflowTaskQueueResponse *task);

/* An attempt of an activity has begun: whoever has lingered over one before it may answer now. */
void workers_tell_of_attempt(struct world *w, const struct activity_slot *begun);

/* The cached program of a run, NULL when the worker does not have it. */
struct program *worker_recall(struct worker *worker, const char *run_id);
void worker_remember(struct worker *worker, const struct program *p);
void worker_forget(struct worker *worker, const char *run_id);
