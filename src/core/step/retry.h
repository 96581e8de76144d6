/* Retry policies: defaults, validation, and when the next attempt is. */
#pragma once

#include "common.pb-c.h"
#include "core/step/step.h"
#include "failure.pb-c.h"

/* What a policy says once the defaults are filled in. */
struct retry_plan {
    int64_t initial_us;
    double coefficient;
    int64_t maximum_us;
    int32_t maximum_attempts; /* 0: no limit */
};

struct retry_plan retry_plan(const Common__RetryPolicy *p); /* NULL: all defaults */
/* ERR_INVALID with a text that names the field. NULL is valid. */
int retry_validate(const Common__RetryPolicy *p, struct err *err) must_check;

/* The same policy with every default written out, in the step's arena. */
Common__RetryPolicy *retry_normalised(struct step *s, const Common__RetryPolicy *p);

/* The back-off after `attempt` (1 is the first), capped by the maximum. */
int64_t retry_backoff_us(const struct retry_plan *p, int32_t attempt);

/* The same, unless the failure itself names a delay that there can be. */
int64_t retry_delay_us(const struct retry_plan *p, int32_t attempt, const Failure__Failure *f);

/* Whether this failure may be retried at all, by its kind and the policy's list of types. */
bool retry_allows(const Common__RetryPolicy *p, const Failure__Failure *f);
