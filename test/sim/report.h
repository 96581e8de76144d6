/* What is left of a world when it is over, and how it is printed. Plain data: it crosses a pipe. */
#pragma once

#include "world.h"

struct report {
    uint64_t seed;
    uint64_t worlds; /* in a total */
    uint64_t steps; /* with the calm phase */
    int64_t sim_us;
    uint64_t hash;
    struct tally tally;
    bool ok;
    char check[64];
    char detail[512];
};

void report_fill(struct report *rep, const struct world *w);
void report_add(struct report *total, const struct report *rep);
/* "seed=... hash=... ok", or the FAIL line that reproduces it. */
void report_print(const struct report *rep, const struct world_config *cfg);
void report_print_tally(const struct report *rep);
