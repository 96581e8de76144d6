/* Requests by method: how they ended, and how long they took. */
#pragma once

#include "base/histogram.h"
#include "serve/methods.h"

#define TRAFFIC_CODES 17 /* gRPC codes, OK among them */

struct method_traffic {
    uint64_t ends[TRAFFIC_CODES]; /* by gRPC code */
    struct histogram us;
};

struct traffic {
    struct method_traffic methods[METHOD_COUNT]; /* by method_index() */
};

void traffic_init(struct traffic *t);
/* e: why it failed, or NULL. A caller that went away is ERR_CANCELLED. */
void traffic_add(struct traffic *t, const struct method *m, const struct err *e, int64_t us);
