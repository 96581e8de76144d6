/* Commands: what a worker asks for when it completes a task. */
#pragma once

#include "command.pb-c.h"
#include "core/step/step.h"

struct update_inbox;

struct command_effects {
    struct update_inbox *inbox; /* the messages that commands may refer to */
    bool is_closed; /* a closing command was met */
};

bool command_closes(const Command__Command *cmd);
/* Applies one command. On error s->task_failed_cause says why the task failed. */
int command_apply(struct step *s, int64_t completed_event_id, const Command__Command *cmd,
                  struct command_effects *fx) must_check;
/* Whether what the command carries, and what it made of memo and search attributes, is within the limits. To
 * be asked when it was applied: what is refused here ends the run. */
int command_check_size(struct step *s, const Command__Command *cmd) must_check;
/* "BadScheduleActivityAttributes" for the enumerator: what stands before the text of the error. */
const char *command_cause_name(E__WorkflowTaskFailedCause cause);
