/* The options of a run that a client may change while it is open: its versioning override, its priority. */
#pragma once

#include <google/protobuf/field_mask.pb-c.h>

#include "core/step/step.h"
#include "workflow.pb-c.h"

/* Changes what the mask names and writes the event. *ret_changed: false when all was so before, and then
 * nothing was written. */
int options_update(struct step *s, const Workflow__WorkflowExecutionOptions *in,
                   const Google__Protobuf__FieldMask *mask, const char *identity,
                   bool *ret_changed) must_check;
/* Takes over what such an event says. */
void options_apply(struct step *s, const History__WorkflowExecutionOptionsUpdatedEventAttributes *a);
