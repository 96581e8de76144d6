/* What happened to a run after the point to which it is reset, and must not be lost for that.
 *
 * Signals are delivered again, updates that were accepted are admitted again, and what a child or a letter
 * that is pending in the copy has told the old run, before it closed or after, the copy hears too. What is
 * open still gets a letter again, which its receiver knows by the request id of the first one; children are
 * asked whether they have ended since the old run closed. Cancel requests are not repeated: who resets a run
 * wants it to go on. */
#pragma once

#include "core/step/step.h"

struct reapply_choice {
    bool no_signals;
    bool no_updates;
    bool is_base; /* the event is of the run that was copied, not of one that followed it in the chain */
};

/* Around all of what follows. The events of the copy wait until the end, so that they stand in one piece
 * before the task that follows, the ends of children behind the rest. */
void reapply_begin(struct step *s);
void reapply_end(struct step *s);

/* Does to the copy what this event of the old run tells; nothing for most events. */
int reapply_event(struct step *s, const History__HistoryEvent *ev,
                  const struct reapply_choice *choice) must_check;

/* What the base run heard of its signals and cancel requests when it was closed already. */
void reapply_answers(struct step *s, const State__Execution *base);

/* Sends again what is neither delivered nor refused: by the request ids of the base run's letters. */
void reapply_letters(struct step *s, const State__Execution *base);

/* To the base run, in the same commit: this run is its copy, and letters about what came before this event
 * are the copy's now. Were they sent by both, one could meet the next run of its workflow id, which does not
 * know the other; or the base, closed as it is, would end the child that the copy has begun. */
void reapply_hand_over(struct step *s, const char *run_id, int64_t until_event_id);
