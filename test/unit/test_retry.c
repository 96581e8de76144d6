/* Retry policies: defaults, rules, intervals, and which failures forbid a retry. */
#include "core/step/retry.h"

#include <math.h>

#include "harness.h"

#define SEC USEC_PER_SEC

static struct retry_plan plan_of(int64_t initial_us, double coefficient, int64_t maximum_us,
                                 int32_t attempts) {
    Google__Protobuf__Duration initial = pb_duration(initial_us), maximum = pb_duration(maximum_us);
    Common__RetryPolicy p = COMMON__RETRY_POLICY__INIT;
    p.initial_interval = &initial;
    p.maximum_interval = &maximum;
    p.backoff_coefficient = coefficient;
    p.maximum_attempts = attempts;
    return retry_plan(&p);
}

TEST(retry_plan_fills_in_defaults) {
    Common__RetryPolicy empty = COMMON__RETRY_POLICY__INIT;
    const struct retry_plan cases[] = {retry_plan(NULL), retry_plan(&empty), plan_of(0, 0, 0, 0)};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(cases[i].initial_us, SEC);
        CHECK(cases[i].coefficient == 2.0);
        CHECK_INT(cases[i].maximum_us, 100 * SEC);
        CHECK_INT(cases[i].maximum_attempts, 0);
    }
    struct retry_plan p = plan_of(5 * SEC, 1.5, 0, 7);
    CHECK_INT(p.initial_us, 5 * SEC);
    CHECK(p.coefficient == 1.5);
    CHECK_INT(p.maximum_us, 500 * SEC); /* a multiple of the first */
    CHECK_INT(p.maximum_attempts, 7);
    CHECK_INT(plan_of(INT64_MAX / 2, 2, 0, 0).maximum_us, PB_WAIT_US_MAX);
}

TEST(retry_backoff_grows_to_the_maximum) {
    static const struct {
        int64_t initial_us;
        double coefficient;
        int64_t maximum_us;
        int32_t attempt;
        int64_t want_us;
    } cases[] = {
        {SEC, 2, 100 * SEC, 1, SEC},
        {SEC, 2, 100 * SEC, 2, 2 * SEC},
        {SEC, 2, 100 * SEC, 7, 64 * SEC},
        {SEC, 2, 100 * SEC, 8, 100 * SEC},
        {SEC, 2, 100 * SEC, 1000, 100 * SEC},
        {SEC, 1, 100 * SEC, INT32_MAX, SEC},
        {SEC, 1, SEC, 2, SEC},
        {1000, 1.5, SEC, 3, 2250},
        {SEC, 10, CLOCK_NEVER, 100, CLOCK_NEVER},
        {SEC, 3, 2 * SEC, 2, 2 * SEC},
        {SEC, HUGE_VAL, 5 * SEC, 2, 5 * SEC},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct retry_plan p = {cases[i].initial_us, cases[i].coefficient, cases[i].maximum_us, 0};
        CHECK_INT(retry_backoff_us(&p, cases[i].attempt), cases[i].want_us);
    }
}

TEST(retry_policy_rules) {
    static const struct {
        int64_t initial_s, maximum_s;
        double coefficient;
        int32_t attempts;
        const char *text;
    } cases[] = {
        {0, 0, 0, 0, ""},
        {1, 1, 1, 1, ""},
        {-1, 0, 0, 0, "InitialInterval cannot be negative on retry policy."},
        {1, -1, 0, 0, "MaximumInterval cannot be negative on retry policy."},
        {1, 0, 0.99, 0, "BackoffCoefficient cannot be less than 1 on retry policy."},
        {1, 0, -1, 0, "BackoffCoefficient cannot be less than 1 on retry policy."},
        {1, 0, (double)NAN, 0, "BackoffCoefficient cannot be less than 1 on retry policy."},
        {10, 9, 2, 0, "MaximumInterval cannot be less than InitialInterval on retry policy."},
        {1, 0, 2, -1, "MaximumAttempts cannot be negative on retry policy."},
    };
    CHECK_INT(retry_validate(NULL, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        Google__Protobuf__Duration initial = pb_duration(cases[i].initial_s * SEC);
        Google__Protobuf__Duration maximum = pb_duration(cases[i].maximum_s * SEC);
        Common__RetryPolicy p = COMMON__RETRY_POLICY__INIT;
        struct err err = {0};
        p.initial_interval = &initial;
        p.maximum_interval = &maximum;
        p.backoff_coefficient = cases[i].coefficient;
        p.maximum_attempts = cases[i].attempts;
        CHECK_INT(retry_validate(&p, &err), *cases[i].text ? ERR_INVALID : 0);
        CHECK_STR(err.text, cases[i].text);
    }
}

TEST(retry_normalised_policy_is_written_out) {
    struct arena arena;
    struct rng rng;
    struct step s;
    struct err err = {0};
    char type[] = "Fatal", *types[] = {type};
    Common__RetryPolicy p = COMMON__RETRY_POLICY__INIT;
    arena_init(&arena, 1 << 20);
    rng_init(&rng, 1);
    step_init(&s, NULL, (struct wall){0}, &rng, &arena, &err);
    p.non_retryable_error_types = types;
    p.n_non_retryable_error_types = 1;
    const Common__RetryPolicy *full = retry_normalised(&s, &p);
    CHECK_INT(full == NULL, step_failed(&s));
    if (full) {
        CHECK_INT(pb_duration_us(full->initial_interval), SEC);
        CHECK_INT(pb_duration_us(full->maximum_interval), 100 * SEC);
        CHECK(full->backoff_coefficient == 2.0);
        CHECK_INT(full->n_non_retryable_error_types, 1);
    }
    step_done(&s);
    arena_done(&arena);
}

TEST(retry_is_allowed_by_the_kind_of_failure) {
    char listed[] = "Fatal", start_to_close[] = "TemporalTimeout:StartToClose",
         *types[] = {listed, start_to_close};
    char other[] = "Other";
    Common__RetryPolicy p = COMMON__RETRY_POLICY__INIT;
    Failure__Failure f = FAILURE__FAILURE__INIT;
    Failure__ApplicationFailureInfo app = FAILURE__APPLICATION_FAILURE_INFO__INIT;
    Failure__ServerFailureInfo server = FAILURE__SERVER_FAILURE_INFO__INIT;
    Failure__TimeoutFailureInfo timeout = FAILURE__TIMEOUT_FAILURE_INFO__INIT;
    p.non_retryable_error_types = types;
    p.n_non_retryable_error_types = ARRAY_LEN(types);
    CHECK(retry_allows(&p, NULL));
    CHECK(retry_allows(&p, &f)); /* no kind at all */
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    f.application_failure_info = &app;
    app.type = other;
    CHECK(retry_allows(&p, &f) && retry_allows(NULL, &f));
    app.type = listed;
    CHECK(!retry_allows(&p, &f) && retry_allows(NULL, &f));
    app.type = other;
    app.non_retryable = true;
    CHECK(!retry_allows(&p, &f));
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO;
    f.server_failure_info = &server;
    CHECK(retry_allows(&p, &f));
    server.non_retryable = true;
    CHECK(!retry_allows(&p, &f));
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_TIMEOUT_FAILURE_INFO;
    f.timeout_failure_info = &timeout;
    static const struct {
        E__TimeoutType type;
        bool plain, listed;
    } timeouts[] = {{TIMEOUT_TYPE_START_TO_CLOSE, true, false},
                    {TIMEOUT_TYPE_HEARTBEAT, true, true},
                    {TIMEOUT_TYPE_SCHEDULE_TO_START, false, false},
                    {TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, false, false}};
    for (size_t i = 0; i < ARRAY_LEN(timeouts); i++) {
        timeout.timeout_type = timeouts[i].type;
        CHECK_INT(retry_allows(NULL, &f), timeouts[i].plain);
        CHECK_INT(retry_allows(&p, &f), timeouts[i].listed);
    }
    Failure__CanceledFailureInfo canceled = FAILURE__CANCELED_FAILURE_INFO__INIT;
    Failure__TerminatedFailureInfo terminated = FAILURE__TERMINATED_FAILURE_INFO__INIT;
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_CANCELED_FAILURE_INFO;
    f.canceled_failure_info = &canceled;
    CHECK(!retry_allows(NULL, &f));
    f.failure_info_case = FAILURE__FAILURE__FAILURE_INFO_TERMINATED_FAILURE_INFO;
    f.terminated_failure_info = &terminated;
    CHECK(!retry_allows(NULL, &f));
}
