/* Runs worlds, each in a process of its own, several at a time. */
#pragma once

#include "report.h"

#define FLEET_JOBS_MAX 64

struct fleet {
    struct world_config cfg; /* the seed is set for each world */
    uint64_t first_seed;
    uint64_t last_seed;
    unsigned jobs;
    bool print_each; /* also those that pass */
    bool stops_at_failure;
};

/* The number of worlds that failed. The totals are added to *ret. */
uint64_t fleet_run(const struct fleet *f, struct report *ret);
