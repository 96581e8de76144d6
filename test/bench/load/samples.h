/* Times that were measured, and what to say about them. */
#pragma once

#include "base/base.h"

struct samples {
    int64_t *us;
    size_t count;
    size_t cap;
    bool is_sorted;
};

void samples_add(struct samples *s, int64_t us);
/* The value that a share `q` (0 to 1) of the samples does not exceed; 0 when there are none. */
int64_t samples_at(struct samples *s, double q);
void samples_done(struct samples *s);
