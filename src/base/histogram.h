/* How many values fell where: counters between fixed bounds, and their sum.
 *
 * Adding is a few comparisons, nothing is allocated, and nothing is shared between threads. */
#pragma once

#include "base/base.h"

#define HISTOGRAM_BOUNDS_MAX 10

struct histogram_scale {
    int64_t unit; /* values are shown divided by it: microseconds as seconds */
    size_t count;
    int64_t bounds[HISTOGRAM_BOUNDS_MAX]; /* ascending; a value belongs to the first that is not below it */
};

extern const struct histogram_scale scale_seconds; /* of a call or a commit, in microseconds */
extern const struct histogram_scale scale_lateness; /* of something that was planned, in microseconds */
extern const struct histogram_scale scale_count;
extern const struct histogram_scale scale_bytes;

struct histogram {
    const struct histogram_scale *scale;
    uint64_t counts[HISTOGRAM_BOUNDS_MAX + 1]; /* the one at scale->count: above all bounds */
    int64_t sum;
};

void histogram_init(struct histogram *h, const struct histogram_scale *scale);
void histogram_add(struct histogram *h, int64_t value); /* below zero counts as zero: a clock went back */
uint64_t histogram_count(const struct histogram *h);
