/* Workflow tasks that fail or time out one after another, and the search attribute that tells it. */
#pragma once

#include "core/step.h"

/* A task on the normal queue is over without success. */
void problems_add_failure(struct step *s, E__WorkflowTaskFailedCause cause);
void problems_add_timeout(struct step *s, E__TimeoutType type);
/* One has succeeded. */
void problems_end(struct step *s);
