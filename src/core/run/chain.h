/* Chains: a run that is followed by another of the same workflow id, in the same step.
 *
 * Continue-as-new by command; a retry after a failure; the next time of a cron
 * schedule. The old run closes, the new one begins (in s->next) and keeps what
 * belongs to the chain: first run id, expiration, parent, callbacks. */
#pragma once

#include "command.pb-c.h"
#include "core/run/run.h"
#include "core/step/step.h"

int chain_continue_as_new(struct step *s, int64_t completed_event_id, const Command__Command *cmd) must_check;

/* How a run that ended goes on, if it does. */
struct chain_sequel {
    E__RetryState retry_state; /* what the closing event says */
    E__ContinueAsNewInitiator initiator; /* UNSPECIFIED: it does not go on */
    int64_t backoff_us;
    struct uuid_text run_id; /* of the next run; empty when there is none */
};
/* failure NULL: it completed. Cancelled and terminated runs never go on: do not ask. */
struct chain_sequel chain_after(struct step *s, const Failure__Failure *failure);
/* Begins the next run, if the sequel has one. To be called before run_close. */
int chain_begin(struct step *s, const struct chain_sequel *sequel, Common__Payloads *result,
                Failure__Failure *failure) must_check;
