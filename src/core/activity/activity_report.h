/* What workers report about an attempt, within the limits on size. */
#pragma once

#include "core/activity/activity.h"

/* The pending activity with this id, for requests that bring no token. Without a started attempt it
 * is ERR_NOT_FOUND too, unless may_wait. */
int activity_check_id(struct step *s, const char *activity_id, bool may_wait,
                      State__Activity **ret) must_check;

struct heartbeat_answer {
    bool is_cancel_requested;
    bool is_paused;
    bool is_reset;
};
/* Details that are too large end the activity, and the worker is told to stop. */
int activity_report_heartbeat(struct step *s, State__Activity *a, Common__Payloads *details,
                              const char *identity, struct heartbeat_answer *ret) must_check;
/* A result that is too large becomes a failure. An activity that nobody started counts as started now. */
int activity_report_completed(struct step *s, State__Activity *a, Common__Payloads *result,
                              const char *identity) must_check;
int activity_report_canceled(struct step *s, State__Activity *a, Common__Payloads *details,
                             const char *identity) must_check;

/* What of a failure report was too large to be kept; in the step's arena. */
struct failure_cuts {
    Failure__Failure *failures[2];
    size_t count;
};
int activity_report_failed(struct step *s, State__Activity *a, Failure__Failure *failure,
                           Common__Payloads *last_heartbeat_details, const char *identity,
                           struct failure_cuts *ret) must_check;
/* Rules for a failure that need no state. */
int activity_validate_failure(const Failure__Failure *failure, struct err *err) must_check;
