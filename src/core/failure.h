/* Failures that the server itself makes. */
#pragma once

#include "core/step.h"
#include "failure.pb-c.h"

/* In the step's arena; NULL (and the step failed) when memory runs out. */
Failure__Failure *failure_server(struct step *s, const char *message);
Failure__Failure *failure_timeout(struct step *s, const char *message, E__TimeoutType type,
                                  Common__Payloads *last_heartbeat_details, Failure__Failure *cause);
