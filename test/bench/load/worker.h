/* A worker: polls the queue for workflow and activity tasks and answers each.
 *
 * Its workflow runs `activities` activities, one after the other, or waits for a timer, and completes. What
 * to do next is read from the history in the task, as an SDK without a cache does. A workflow that completed,
 * and whose completion was acknowledged, ends the flow's operation of its index. */
#pragma once

#include "flow.h"

struct worker {
    struct bench *bench;
    struct flow *flow;
    size_t activities;
    int64_t timer_due_us; /* by the wall clock; 0: no timer */
    size_t timers_set;
    size_t timers_due; /* how many to set; then the loop stops */
    struct samples fired_late; /* from due until the event says it fired */
    struct samples told_late; /* from due until the task was here */
};

/* So many polls for each kind of task, which is also how many tasks are worked on. They end with the
 * connections. */
void worker_start(struct worker *w, size_t poll_count);
void worker_done(struct worker *w);
