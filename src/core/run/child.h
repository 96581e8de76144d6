/* Child workflows, seen from the parent; and what a child does for its parent. */
#pragma once

#include "command.pb-c.h"
#include "core/step/step.h"

int child_initiate(struct step *s, int64_t completed_event_id, const Command__Command *cmd) must_check;
State__Child *child_find(const State__Execution *st, int64_t initiated_event_id);
bool child_is_starting(const State__Execution *st, int64_t initiated_event_id); /* initiated, no more */

/* Answers to LETTER_START_CHILD. In a parent that has closed meanwhile they settle what becomes of the
 * child, and are kept for a copy of the parent. */
struct child_birth {
    const char *namespace_name;
    const char *namespace_id;
    const char *run_id;
    Common__Header *header;
};
void child_started(struct step *s, int64_t initiated_event_id, const struct child_birth *b);
void child_start_failed(struct step *s, int64_t initiated_event_id,
                        E__StartChildWorkflowExecutionFailedCause cause);

/* LETTER_CHILD_CLOSED arrived: `close` is the child's last event. */
void child_closed(struct step *s, int64_t initiated_event_id, const Common__WorkflowExecution *child,
                  const char *namespace_name, const char *namespace_id, const History__HistoryEvent *close);

/* LETTER_CHILD_GO arrived: the first task need not wait any longer. */
void child_go(struct step *s);

/* The run is open and the base of a reset: the children that it has started belong to the copy now. */
void child_hand_over(struct step *s);

/* An event about a child, from the run that this one is a copy of: written here too if the child is pending.
 */
void child_reapply(struct step *s, const History__HistoryEvent *ev);

/* The run closes: tells its children what their parent-close policy says, and its own parent how it ended. */
void child_say_goodbye(struct step *s);
