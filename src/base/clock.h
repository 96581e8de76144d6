/* Two clocks that cannot be mixed up: what the calendar says, and how long it took.
 *
 * Both count microseconds. Wall time is since 1970 and may jump; monotonic
 * time is since some start and never does. Only host reads the real clocks;
 * everyone else is handed a struct now. */
#pragma once

#include "base/base.h"

#define USEC_PER_MS INT64_C(1000)
#define USEC_PER_SEC INT64_C(1000000)
#define NSEC_PER_USEC 1000

struct wall {
    int64_t us;
};
struct mono {
    int64_t us;
};
struct now {
    struct wall wall;
    struct mono mono;
};

#define CLOCK_NEVER INT64_MAX

/* a + b for times and durations, ending at CLOCK_NEVER instead of overflowing. */
static inline int64_t usec_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? CLOCK_NEVER : INT64_MIN) : r;
}
