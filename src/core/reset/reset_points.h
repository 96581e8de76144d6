/* Where a run can go back to when a build of its worker turns out to be bad: the first workflow task that
 * each build completed, in this run or in one before it in the chain. Oldest first, and a bounded number. */
#pragma once

#include "core/step/step.h"

/* The task that ended with this event was completed: adds a point, unless the build has one, or a name longer
 * than LIMIT_ID_BYTES. */
void reset_points_add(struct step *s, const History__WorkflowTaskCompletedEventAttributes *a,
                      int64_t event_id);

/* What a run takes over from the one before it in the chain, which closed when this one started. */
void reset_points_inherit(struct step *s, const Workflow__ResetPoints *before, const char *before_run_id,
                          int64_t start_us);

/* The run gets another id, as a copy does that a reset makes; it has all events that its points name. Before
 * s->st->run_id is changed. */
void reset_points_rename(struct step *s, const char *run_id);
