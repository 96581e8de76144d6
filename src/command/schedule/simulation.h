/* Simulates one schedule with the scheduler of src/core under a clock that jumps from event to event.
 *
 * All decisions are core's: times, overlap, catch-up, pauses and the ledger. The simulation only answers
 * the schedule's messages: a started run takes as long as the plan says, and a run that is asked to cancel
 * closes after a delay. All times are in microseconds. */
#pragma once

#include "core/schedule/schedule.h"

struct simulated_outage {
    int64_t from_us, to_us; /* the server is down in between; at the end everything that is due happens */
};

struct simulation_plan {
    Schedule__Schedule *schedule; /* changed: put into its canonical form */
    const State__Namespace *space;
    const struct cal_zones *zones;
    const char *schedule_id;
    int64_t from_us;
    int64_t to_us; /* no nominal times after this one; queued and running actions still end */
    const int64_t *durations_us; /* the runs use them in turn */
    size_t duration_count;
    int64_t cancel_us;
    int64_t fail_every; /* 0: no run fails */
    const struct simulated_outage *outages;
    size_t outage_count;
};

struct simulation {
    Rondo__LedgerEntry **entries; /* in the order in which the scheduler considered them */
    size_t count;
    size_t peak_running, peak_waiting;
    int64_t busy_us; /* the time during which at least one run was running */
    int64_t end_us; /* the time of the last event */
    bool is_paused; /* the schedule paused itself after a failure */
};

/* Runs the simulation. Results are in the arena. ERR_INVALID for a schedule that a server would refuse,
 * ERR_FULL when the simulation does not end, ERR_NO_MEMORY. */
int simulation_run(const struct simulation_plan *plan, struct arena *arena, struct simulation *ret,
                   struct err *err) must_check;
