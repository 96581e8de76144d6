/* What a reset takes along from behind the reset point.
 *
 * Signals; and how the children and letters ended that the copied part of the
 * history leaves open. What is open still gets a letter again, which the
 * receiver knows by the request id of the first one; and children are asked
 * whether they have ended since the base run closed. */
#pragma once

#include "core/step.h"

/* An event of the base run from behind the reset point; most of them mean nothing to the copy. */
int reapply_event(struct step *s, const History__HistoryEvent *ev, bool wants_signals) must_check;
/* Sends again what is neither delivered nor refused. outbox: the base run's. */
void reapply_letters(struct step *s, State__Letter *const *outbox, size_t count);
