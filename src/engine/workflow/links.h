/* Links to a run and to its events, as answers carry them. All are in the op's arena; NULL when that is full.
 */
#pragma once

#include "engine/runtime/engine_int.h"

/* To an event of op->run. */
Common__Link *event_link(struct op *op, E__EventType type, int64_t event_id);
/* To the event that a request made, which may still wait for its id. */
Common__Link *request_link(struct op *op, E__EventType type, const char *request_id);
/* To op->run, and why. */
Common__Link *workflow_link(struct op *op, const char *reason);
