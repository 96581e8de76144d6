/* The text format of Prometheus, version 0.0.4: lines of a name, labels and a number. Pure. */
#pragma once

#include "base/buf.h"
#include "base/histogram.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric {
    const char *name;
    enum metric_kind kind;
    const char *labels; /* their names, with commas between; "" for none */
    const char *help;
};

/* The lines before the samples. */
void exposition_head(struct buf *out, const struct metric *m);
/* values: one for each label, in order; NULL when there is none. */
void exposition_count(struct buf *out, const struct metric *m, const char *const *values, uint64_t n);
void exposition_number(struct buf *out, const struct metric *m, const char *const *values, double n);
/* Its cumulative buckets, sum and count. */
void exposition_histogram(struct buf *out, const struct metric *m, const char *const *values,
                          const struct histogram *h);
