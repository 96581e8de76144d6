/* Failures that the server itself makes. */
#pragma once

#include "core/step/step.h"
#include "failure.pb-c.h"

/* In the step's arena; NULL (and the step failed) when memory runs out. */
Failure__Failure *failure_server(struct step *s, const char *message);
/* The same, never to be retried. */
Failure__Failure *failure_final(struct step *s, const char *message);
/* What fits of a failure that is too large: kind, type, and about that much of the message. */
Failure__Failure *failure_cut(struct step *s, const Failure__Failure *f, size_t message_bytes_max);
/* What stands in the place of a failure that may not be stored: it says so, with the beginning of that one.
 */
Failure__Failure *failure_too_large(struct step *s, const Failure__Failure *f);
/* What a run remembers of a failure until the next attempt has ended: the failure, or the like for it. */
Failure__Failure *failure_between_attempts(struct step *s, Failure__Failure *f);
/* What a workflow could have thrown itself, never to be retried; NULL when the arena is full. */
Failure__Failure *failure_application(struct arena *a, const char *message, const char *type);
Failure__Failure *failure_timeout(struct step *s, const char *message, E__TimeoutType type,
                                  Common__Payloads *last_heartbeat_details, Failure__Failure *cause);
