/* How rough a simulated world is: the rate of each fault, and how many take part.
 *
 * `calm` has no faults; the others switch on a class of faults.def or two. `swarm`
 * draws its own mix for each seed and leaves whole classes out, so that the
 * seeds differ in what they can find: a crash hides what only a long life shows,
 * and a clock that jumps makes most checks of times fall silent. */
#pragma once

#include "base/rng.h"

enum fault_class {
    CLASS_process,
    CLASS_store,
    CLASS_clock,
    CLASS_network,
    CLASS_worker,
    CLASS_client,
    CLASS_COUNT,
};

enum fault {
#define FAULT(name, class, usual) FAULT_##name,
#include "faults.def"
#undef FAULT
    FAULT_COUNT,
};

#define PROFILE_NAMES "swarm calm crash clock network worker years"

struct profile {
    uint32_t one_in[FAULT_COUNT]; /* 0: never */
    unsigned client_count;
    unsigned worker_count;
    size_t resident_runs_max;
    size_t queue_tasks_max;
    int64_t pace; /* how many times as long as usual everybody outside takes; 1 but where years pass */
    bool has_versions; /* workers of one namespace are of two versions */
    unsigned store_lag; /* how many steps in so many leave the store waiting */
};

const char *fault_name(enum fault f);
/* ERR_NOT_FOUND when there is no profile of that name. */
int profile_draw(struct profile *p, const char *name, struct rng *r) must_check;
/* Whether the calendar clock may jump. */
bool profile_jumps(const struct profile *p);
/* Whether days may pass between two things that happen: what is due often would be all that does. */
bool profile_is_sparse(const struct profile *p);
