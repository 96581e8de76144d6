/* Reads of a run's history, compared with every earlier read. */
#pragma once

#include "model.h"

struct rpc;

/* What one answer showed of a history. */
struct glimpse {
    size_t count;
    int64_t first_id; /* 0 when there were no events */
    int64_t last_id;
};

/* Compares the events in field `field` of packed answer bytes with what is known of the run, and learns
 * what is new and follows on. Events from provisional_id on may still change (a workflow task that was
 * handed out, but whose start is not durable) and are only counted. */
struct glimpse history_see(struct world *w, struct run_model *run, struct str answer, uint32_t field,
                           int64_t provisional_id);
#define HISTORY_ALL_DURABLE INT64_MAX
/* Only compares, in whatever order the events come. */
void history_compare(struct world *w, const struct run_model *run, struct str answer, uint32_t field);
