/* Histograms: counters between fixed bounds, and the sum of all values.
 *
 * Adding a value costs a few comparisons and allocates nothing. A histogram belongs to one thread. */
#pragma once

#include "base/base.h"

#define HISTOGRAM_BOUNDS_MAX 10

struct histogram_scale {
    int64_t unit; /* divides values for display: microseconds to seconds */
    size_t count;
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending, inclusive: a value counts at the first bound >= it */
};

extern const struct histogram_scale scale_seconds; /* durations of calls and commits, in microseconds */
extern const struct histogram_scale scale_lateness; /* delays after a planned time, in microseconds */
extern const struct histogram_scale scale_count;
extern const struct histogram_scale scale_bytes;

struct histogram {
    const struct histogram_scale *scale;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* [scale->count]: above all bounds */
    int64_t sum;
};

void histogram_init(struct histogram *h, const struct histogram_scale *scale);
void histogram_add(struct histogram *h,
                   int64_t value); /* a value below zero counts as zero: the clock was set back */
uint64_t histogram_count(const struct histogram *h);
