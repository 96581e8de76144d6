/* How a worker answers the updates that a workflow task brings, and those that it accepted before. */
#pragma once

#include "workflow_slot.h"

/* Adds messages, and the commands that place them, to an answer. True when an update is left for the next
 * task, which must be asked for. */
bool update_answer(const struct workflow_slot *s, struct arena *a,
                   Ws__RespondWorkflowTaskCompletedRequest *q);
