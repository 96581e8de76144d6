/* What the engine counts for those who watch it. Nobody decides anything by it. */
#pragma once

#include "base/clock.h"
#include "base/histogram.h"
#include "base/map.h"
#include "engine/runtime/limits.h"
#include "store/store.h"

struct engine;

#define COUNTED_FATES 15 /* values of Rondo__LedgerFate; counters.c checks it */

/* What a run is counted as while it is open; closed runs and batch jobs are not. */
enum tally_kind {
    TALLY_NONE,
    TALLY_RUN,
    TALLY_SCHEDULE_ACTIVE,
    TALLY_SCHEDULE_PAUSED, /* by somebody */
    TALLY_SCHEDULE_FAILED, /* it paused itself because an action failed */
    TALLY_COUNT,
};

#define COUNTED_STATUSES 9 /* values of WorkflowExecutionStatus; tally.c checks it */

#define COUNTED_TASK_FAILURES 4 /* values of enum task_failure; the same */

/* What became of the runs of one workflow type in one namespace, since the engine was made. */
struct type_counter {
    const char *namespace_name; /* or "other": so many have no label of their own */
    const char *workflow_type; /* the same */
    uint64_t closed[COUNTED_STATUSES]; /* by WorkflowExecutionStatus */
    uint64_t task_failures[COUNTED_TASK_FAILURES]; /* by enum task_failure */
};

struct space_counts {
    const char *name; /* or "other" */
    int64_t tallies[TALLY_COUNT];
};

/* A task queue with tasks. Those of its worker versions are its own. */
struct queue_age {
    const char *namespace_name;
    const char *name;
    bool is_activity;
    int64_t age_us; /* how long its first task has waited */
};

struct engine_counters {
    /* Since the engine was made. */
    struct histogram commit_us; /* from handing a group to the store to the news that it is durable */
    struct histogram commit_runs;
    int64_t last_commit_us; /* of the last group */
    size_t last_commit_runs;
    struct histogram commit_bytes;
    struct histogram lateness_us; /* of actions that schedules started by themselves */
    uint64_t fates[COUNTED_FATES]; /* times of schedules, by what they came to */
    uint64_t letters_delivered;
    uint64_t letters_retried;
    uint64_t clock_steps[2]; /* of the wall clock: forward, back */
    /* Now; filled in by engine_counters(). The pairs are for workflows and for activities. */
    size_t waiting_tasks[2];
    size_t parked_polls[2];
    size_t queues[2];
    size_t bodies; /* runs with their state in memory */
    size_t stubs; /* runs of which only the key and the deadline are */
    struct store_size disk;
    size_t unpolled_queues[2]; /* with tasks, and without a worker in the last minutes */
    int64_t oldest_task_us[2]; /* how long the first task has waited that has waited longest */
    struct queue_age
        ages[ENGINE_METRIC_QUEUES]; /* the queues whose first tasks have waited longest, in no order */
    size_t age_count;
    struct space_counts spaces[ENGINE_METRIC_SPACES + 1];
    size_t space_count;
    const struct map *types; /* struct type_counter; good until the engine goes on */
};

void counters_init(struct engine_counters *c); /* nothing was counted */

/* What it is doing at this moment. */
struct engine_state {
    bool is_ready; /* it has recovered */
    int64_t recovered_runs; /* while it has not: open runs that were read so far */
    size_t parked_calls; /* polls, queries and waits, each with a time limit */
    size_t queries;
    size_t lists; /* reads of the store that have not been answered */
    size_t callbacks; /* on their way */
    size_t due_runs; /* runs with a deadline, */
    int64_t next_due_us; /* and how long until the first one; CLOCK_NEVER: there is none */
    size_t open_runs, open_bytes; /* the group that is being filled */
    size_t flight_runs, flight_bytes; /* the group that is with the store */
    int64_t last_commit_us; /* how long the last group took */
    size_t last_commit_runs;
};

/* For an operator who asks: walks over lists. */
void engine_look(const struct engine *e, struct now now, struct engine_state *ret);

/* Walks over the queues: for a scrape, not for each request. */
void engine_counters(const struct engine *e, struct engine_counters *ret);
