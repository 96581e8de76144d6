/* Letters: what one run must tell another.
 *
 * A letter is written into the sender's state by the step that causes it, and
 * so becomes durable with it. The engine delivers it after the commit, again
 * after a crash, until the sender hears that it was received; receivers know a
 * letter again by its request id or by what it is about. */
#pragma once

#include "core/step/step.h"

enum letter_kind {
    LETTER_START_CHILD = 1, /* event_id: the initiated event */
    LETTER_CHILD_GO = 2, /* to a child: its start is recorded, its first task may begin */
    LETTER_CHILD_CLOSED = 3, /* to the parent: how this run ended */
    LETTER_TERMINATE_CHILD = 4,
    LETTER_CANCEL_CHILD = 5,
    LETTER_SIGNAL = 6, /* event_id: the initiated event */
    LETTER_CANCEL = 7,
    LETTER_ASK_CHILD =
        8, /* event_id: the initiated event. To a child of the base of a reset: has it ended? */
    /* Between a schedule and its actions; event_id is the id of the start. */
    LETTER_START_ACTION = 20,
    LETTER_CANCEL_ACTION = 21,
    LETTER_TERMINATE_ACTION = 22,
    LETTER_ACTION_CLOSED = 23, /* to the schedule: how the chain ended */
};

/* run_id may be empty: whichever run the workflow id means. */
void letter_send(struct step *s, enum letter_kind kind, const char *workflow_id, const char *run_id,
                 int64_t event_id);
State__Letter *letter_find(const State__Execution *st, int64_t id);
void letter_remove(struct step *s, int64_t id);
