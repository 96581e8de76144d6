/* Wall time and monotonic time, as two types that the compiler keeps apart.
 *
 * Both count microseconds. Wall time counts from 1970 and can jump when the clock is set. Monotonic time
 * counts from an unspecified start and never jumps. Only host reads the real clocks; all other code receives
 * a struct now. */
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

#define CLOCK_NEVER INT64_MAX /* a deadline that does not come */

/* a + b for times and durations in microseconds. Saturates at CLOCK_NEVER and INT64_MIN. */
static inline int64_t usec_add(int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? (b > 0 ? CLOCK_NEVER : INT64_MIN) : r;
}
