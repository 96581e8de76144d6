/* Eager activities: given to the worker that asked for them, in the answer to its completion. */
#pragma once

#include "core/run/task.h"

/* Starts those among the commands' activities that may be eager; out->eager says which. */
int eager_start(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req,
                int64_t completed_event_id, struct completion *out) must_check;
