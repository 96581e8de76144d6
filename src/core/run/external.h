/* Signals and cancel requests that a workflow sends to another. */
#pragma once

#include "command.pb-c.h"
#include "core/step/step.h"

int external_signal(struct step *s, int64_t completed_event_id, const Command__Command *cmd) must_check;
int external_cancel(struct step *s, int64_t completed_event_id, const Command__Command *cmd) must_check;
/* The letter was answered. cause 0: delivered. A run that is closed keeps it in mind for its copies. */
void external_resolved(struct step *s, int64_t initiated_event_id, int cause);
