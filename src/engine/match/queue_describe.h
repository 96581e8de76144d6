/* What the two forms of DescribeTaskQueue share. */
#pragma once

#include "engine/runtime/engine_int.h"

/* NULL: nothing waits in it and nobody polls it. */
struct queue *described_queue(struct op *op, struct space *space, E__TaskQueueType type, const char *name);
/* Where its work goes that is bound to no version; NULL: no memory. */
const struct route *described_route(struct op *op, struct space *space, bool is_activity, const char *name);
/* Adds those of the last minutes to a list with room for all visitors. */
void queue_add_pollers(const struct op *op, const struct queue *q, size_t *n, Taskqueue__PollerInfo **list);

/* The answer by versions (queue_versions.c). Ends the op, now or later. */
void describe_versions(struct op *op, struct space *space, Ws__DescribeTaskQueueResponse *r);
