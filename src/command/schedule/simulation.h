/* A schedule in a world of its own: the scheduler of src/core under a clock that jumps from one thing to the
 * next.
 *
 * Nothing here decides anything: times, overlap, catch-up, pauses and the ledger are core's. The world only
 * answers its letters: what is started runs as long as the plan says, what is asked to cancel ends after a
 * while. */
#pragma once

#include "core/schedule/schedule.h"

struct simulated_outage {
    int64_t from_us, to_us; /* nothing happens in between; at its end all that was due does */
};

struct simulation_plan {
    Schedule__Schedule *schedule; /* put into its canonical form */
    const State__Namespace *space;
    const struct cal_zones *zones;
    const char *schedule_id;
    int64_t from_us;
    int64_t to_us; /* no nominal times after this one; what waits and runs then still ends */
    const int64_t *durations_us; /* of the runs, in turn */
    size_t duration_count;
    int64_t cancel_us;
    int64_t fail_every; /* 0: no run fails */
    const struct simulated_outage *outages;
    size_t outage_count;
};

struct simulation {
    Rondo__LedgerEntry **entries; /* in the order of consideration */
    size_t count;
    size_t peak_running, peak_waiting;
    int64_t busy_us; /* with at least one run */
    int64_t end_us; /* when the last thing happened */
    bool is_paused; /* it paused itself */
};

/* Results are in the arena. ERR_INVALID for what a server would refuse, ERR_FULL when it does not come to an
 * end. */
int simulation_run(const struct simulation_plan *plan, struct arena *arena, struct simulation *ret,
                   struct err *err) must_check;
