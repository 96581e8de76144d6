/* What the engine counts for those who watch it. Nobody decides anything by it. */
#pragma once

#include "base/histogram.h"

struct engine;

#define COUNTED_FATES 15 /* values of Rondo__LedgerFate; counters.c checks it */

struct engine_counters {
    /* Since the engine was made. */
    struct histogram commit_us; /* from handing a group to the store to the news that it is durable */
    struct histogram commit_runs;
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
};

/* Walks over the queues: for a scrape, not for each request. */
void engine_counters(const struct engine *e, struct engine_counters *ret);
