/* The arithmetic of retries. Intervals grow by the coefficient until the
 * maximum; a failure can forbid a retry by its flag, its kind or its type. */
#include "core/step/retry.h"

#include <string.h>

struct retry_plan retry_plan(const Common__RetryPolicy *p) {
    struct retry_plan r = {.initial_us = LIMIT_RETRY_INITIAL_MS * USEC_PER_MS, .coefficient = 2.0};
    if (p && pb_wait_us(p->initial_interval) > 0)
        r.initial_us = pb_wait_us(p->initial_interval);
    if (p && p->backoff_coefficient >= 1.0)
        r.coefficient = p->backoff_coefficient;
    if (p && pb_wait_us(p->maximum_interval) > 0)
        r.maximum_us = pb_wait_us(p->maximum_interval);
    else
        r.maximum_us = MIN(r.initial_us * LIMIT_RETRY_MAX_FACTOR, PB_WAIT_US_MAX);
    if (p)
        r.maximum_attempts = p->maximum_attempts;
    return r;
}

int retry_validate(const Common__RetryPolicy *p, struct err *err) {
    if (!p)
        return 0;
    if (!pb_duration_valid(p->initial_interval))
        return err_set(err, ERR_INVALID, "InitialInterval cannot be negative on retry policy.");
    if (p->backoff_coefficient != 0 && !(p->backoff_coefficient >= 1.0))
        return err_set(err, ERR_INVALID, "BackoffCoefficient cannot be less than 1 on retry policy.");
    if (!pb_duration_valid(p->maximum_interval))
        return err_set(err, ERR_INVALID, "MaximumInterval cannot be negative on retry policy.");
    struct retry_plan plan = retry_plan(p);
    if (plan.maximum_us < plan.initial_us)
        return err_set(err, ERR_INVALID,
                       "MaximumInterval cannot be less than InitialInterval on retry policy.");
    if (p->maximum_attempts < 0)
        return err_set(err, ERR_INVALID, "MaximumAttempts cannot be negative on retry policy.");
    return 0;
}

Common__RetryPolicy *retry_normalised(struct step *s, const Common__RetryPolicy *p) {
    Common__RetryPolicy *full = arena_new(s->arena, Common__RetryPolicy);
    Google__Protobuf__Duration *initial = arena_new(s->arena, Google__Protobuf__Duration);
    Google__Protobuf__Duration *maximum = arena_new(s->arena, Google__Protobuf__Duration);
    if (!full || !initial || !maximum) {
        s->failed = true;
        return NULL;
    }
    struct retry_plan plan = retry_plan(p);
    common__retry_policy__init(full);
    *initial = pb_duration(plan.initial_us);
    *maximum = pb_duration(plan.maximum_us);
    full->initial_interval = initial;
    full->maximum_interval = maximum;
    full->backoff_coefficient = plan.coefficient;
    full->maximum_attempts = plan.maximum_attempts;
    if (p) {
        full->n_non_retryable_error_types = p->n_non_retryable_error_types;
        full->non_retryable_error_types = p->non_retryable_error_types;
    }
    return full;
}

int64_t retry_backoff_us(const struct retry_plan *p, int32_t attempt) {
    double us = (double)p->initial_us;
    if (p->coefficient <= 1.0)
        return MIN(p->initial_us, p->maximum_us);
    for (int32_t i = 1; i < attempt && us < (double)p->maximum_us; i++)
        us *= p->coefficient;
    return us >= (double)p->maximum_us ? p->maximum_us : (int64_t)us;
}

int64_t retry_delay_us(const struct retry_plan *p, int32_t attempt, const Failure__Failure *f) {
    const Google__Protobuf__Duration *own = NULL;
    if (f->failure_info_case == FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO)
        own = f->application_failure_info->next_retry_delay;
    return own && pb_duration_valid(own) ? pb_wait_us(own) : retry_backoff_us(p, attempt);
}

static bool type_is_listed(const Common__RetryPolicy *p, const char *type) {
    for (size_t i = 0; p && i < p->n_non_retryable_error_types; i++)
        if (cstr_eq(p->non_retryable_error_types[i], type))
            return true;
    return false;
}

static bool timeout_allows(const Common__RetryPolicy *p, E__TimeoutType type) {
    switch ((int)type) {
    case TIMEOUT_TYPE_START_TO_CLOSE:
        return !type_is_listed(p, "TemporalTimeout:StartToClose");
    case TIMEOUT_TYPE_HEARTBEAT:
        return !type_is_listed(p, "TemporalTimeout:Heartbeat");
    default:
        return false;
    }
}

bool retry_allows(const Common__RetryPolicy *p, const Failure__Failure *f) {
    if (!f)
        return true;
    switch ((int)f->failure_info_case) {
    case FAILURE__FAILURE__FAILURE_INFO_CANCELED_FAILURE_INFO:
    case FAILURE__FAILURE__FAILURE_INFO_TERMINATED_FAILURE_INFO:
        return false;
    case FAILURE__FAILURE__FAILURE_INFO_TIMEOUT_FAILURE_INFO:
        return timeout_allows(p, f->timeout_failure_info->timeout_type);
    case FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO:
        return !f->server_failure_info->non_retryable;
    case FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO:
        return !f->application_failure_info->non_retryable &&
               !type_is_listed(p, f->application_failure_info->type);
    default:
        return true;
    }
}
