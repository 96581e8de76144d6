/* The scales, and counting. The bounds are few, so that each method can have a histogram of its own, and wide
 * enough to show where a tail begins. Nothing here can fail. */
#include "base/histogram.h"

#include "base/clock.h"

const struct histogram_scale scale_seconds = {
    .unit = USEC_PER_SEC,
    .count = 10,
    .bounds = {500, 1000, 2500, 5000, 10000, 50000, 250000, 1000000, 10000000, 60000000},
};
const struct histogram_scale scale_lateness = {
    .unit = USEC_PER_SEC,
    .count = 9,
    .bounds = {10000, 50000, 250000, 1000000, 5000000, 30000000, 60000000, 600000000, 3600000000},
};
const struct histogram_scale scale_count = {
    .unit = 1,
    .count = 8,
    .bounds = {1, 2, 4, 16, 64, 256, 1024, 4096},
};
const struct histogram_scale scale_bytes = {
    .unit = 1,
    .count = 8,
    .bounds = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20},
};

void histogram_init(struct histogram *h, const struct histogram_scale *scale) {
    *h = (struct histogram){.scale = scale};
}

void histogram_add(struct histogram *h, int64_t value) {
    size_t at = 0;
    value = MAX(value, 0);
    while (at < h->scale->count && value > h->scale->bounds[at])
        at++;
    h->counts[at]++;
    h->sum += value;
}

uint64_t histogram_count(const struct histogram *h) {
    uint64_t count = 0;
    for (size_t i = 0; i <= h->scale->count; i++)
        count += h->counts[i];
    return count;
}
