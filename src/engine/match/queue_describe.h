/* What the two forms of DescribeTaskQueue share. */
#pragma once

#include "engine/runtime/engine_int.h"

/* NULL: nothing waits in it and nobody polls it. */
struct queue *described_queue(struct op *op, struct space *space, E__TaskQueueType type, const char *name);
/* Where its work goes that is bound to no version; NULL: no memory. */
const struct route *described_route(struct op *op, struct space *space, bool is_activity, const char *name);
/* Adds those of the last minutes to a list with room for all visitors. */
void queue_add_pollers(const struct op *op, const struct queue *q, size_t *n, Taskqueue__PollerInfo **list);

/* Figures (queue_figures.c) of one priority, from 1, or of all together: 0. A base that is NULL is empty. NULL
 * when out of memory, and for a priority that had no task lately and is not the usual one. */
/* The queue and those of all versions beside it. */
Taskqueue__TaskQueueStats *stats_of_family(const struct op *op, struct queue *base, int priority);
/* One version, or workers without one, with its share of what is bound to none. */
Taskqueue__TaskQueueStats *stats_of_version(const struct op *op, struct queue *base, struct version v,
                                            int priority);
/* Tasks of a lane, from 0, that are bound to no version, wherever they wait. */
int64_t queue_unbound(const struct queue *base, int lane);

/* The answer by versions (queue_versions.c). Ends the op, now or later. */
void describe_versions(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r);
