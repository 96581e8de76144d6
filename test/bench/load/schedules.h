/* Schedules to create, for the cases that need many. */
#pragma once

#include "flow.h"

/* When they are due. */
struct plan {
    int64_t every_s;
    int64_t phase_s;
    int64_t end_s; /* 0: never */
};

/* Creates the i-th schedule of the flow's type; the flow's owner is a struct plan. */
void begin_create(struct flow *f, size_t i);
