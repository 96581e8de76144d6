/* What /metrics says: the rows of metrics.def with their numbers. */
#pragma once

#include "base/buf.h"
#include "engine/counters.h"
#include "serve/traffic.h"

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct budget;

struct scrape {
    const struct budget *budget;
    const struct traffic *traffic;
    struct engine_counters engine;
    int64_t resident_bytes;
    int64_t uptime_us;
};

/* When memory is short, buf_ok() of out is false. */
void metrics_print(const struct scrape *s, struct buf *out);
