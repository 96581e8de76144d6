/* Workflow tasks that fail or time out one after another, and the search attribute that tells it. */
#pragma once

#include "core/step/step.h"

/* What the history says of the end of a task. */
void problems_set_failure(struct step *s, E__WorkflowTaskFailedCause cause);
void problems_set_timeout(struct step *s, E__TimeoutType type);
/* A task on the normal queue is over without success. */
void problems_count(struct step *s);
/* One has succeeded. */
void problems_end(struct step *s);
