/* Attempts of an activity that fail or run out of time: when there is another, and what the end says. */
#include "core_fixture.h"

#define SEC USEC_PER_SEC
#define TOO_LATE_TEXT                                                                                        \
    "Not enough time to schedule next retry before activity ScheduleToClose timeout, giving up retrying"

struct plan {
    int64_t schedule_to_close_us, schedule_to_start_us, start_to_close_us, heartbeat_us;
    Common__RetryPolicy policy;
};

#define PLAN                                                                                                 \
    { .start_to_close_us = 10 * SEC, .policy = COMMON__RETRY_POLICY__INIT }

/* A run with one activity by this plan, scheduled by event 5, not yet started. */
static int begin(struct core *f, struct plan *p) {
    int rc = core_begin_run(f);
    Command__ScheduleActivityTaskCommandAttributes *c = core_add_activity(f, "a");
    if (rc < 0 || !c)
        return ERR_NO_MEMORY;
    c->schedule_to_close_timeout = core_duration(f, p->schedule_to_close_us);
    c->schedule_to_start_timeout = core_duration(f, p->schedule_to_start_us);
    c->start_to_close_timeout = core_duration(f, p->start_to_close_us);
    c->heartbeat_timeout = core_duration(f, p->heartbeat_us);
    c->retry_policy = &p->policy;
    rc = core_complete(f);
    (void)core_new(f);
    return rc;
}

static int begin_started(struct core *f, struct plan *p) {
    int rc = begin(f, p);
    return rc < 0 ? rc : core_activity_start(f, 5);
}

/* The end of the activity: how it is told. */
struct ending {
    E__RetryState retry_state;
    const Failure__Failure *failure;
    int64_t started_event_id;
};

static struct ending failed_at(struct core *f, int64_t id) {
    const History__ActivityTaskFailedEventAttributes *a =
        core_attributes(f, id, EVENT_TYPE_ACTIVITY_TASK_FAILED);
    return a ? (struct ending){a->retry_state, a->failure, a->started_event_id} : (struct ending){0};
}

static struct ending timed_out_at(struct core *f, int64_t id) {
    const History__ActivityTaskTimedOutEventAttributes *a =
        core_attributes(f, id, EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT);
    return a ? (struct ending){a->retry_state, a->failure, a->started_event_id} : (struct ending){0};
}

TEST(retry_leaves_no_event_and_waits) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 2 * SEC);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    CHECK_STR(core_new(&f), "");
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK_INT(a->attempt, 2);
    CHECK(!a->is_offered && !a->started_us);
    CHECK_INT(activity_due_us(a), f.now_us + SEC);
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND); /* too early */
    core_advance(&f, SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    CHECK_INT(core_activity_start(&f, 5), 0);
    core_advance(&f, SEC);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_COMPLETED@7 TASK_SCHEDULED@8");
    const History__ActivityTaskStartedEventAttributes *started =
        core_attributes(&f, 6, EVENT_TYPE_ACTIVITY_TASK_STARTED);
    REQUIRE(started && started->last_failure);
    CHECK_INT(started->attempt, 2);
    CHECK_STR(started->last_failure->message, "it failed");
    CHECK_INT(core_event_us(&f, 6), CORE_T0 + 3 * SEC);
}

TEST(retry_intervals_grow_to_the_maximum) {
    static const int64_t want_s[] = {1, 2, 4, 8, 10, 10};
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.policy.maximum_interval = core_duration(&f, 10 * SEC);
    CHECK_INT(begin(&f, &p), 0);
    for (size_t i = 0; i < ARRAY_LEN(want_s); i++) {
        CHECK_INT(core_activity_start(&f, 5), 0);
        CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
        const State__Activity *a = core_activity(&f, 5);
        REQUIRE(a);
        CHECK_INT(a->scheduled_us - f.now_us, want_s[i] * SEC);
        core_advance(&f, want_s[i] * SEC);
        CHECK_INT(core_tick(&f), 0);
    }
}

TEST(retry_stops_at_the_maximum_of_attempts) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.policy.maximum_attempts = 2;
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "First")), 0);
    core_advance(&f, SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Second")), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_FAILED@7 TASK_SCHEDULED@8");
    struct ending e = failed_at(&f, 7);
    REQUIRE(e.failure && e.failure->application_failure_info);
    CHECK_INT(e.retry_state, RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    CHECK_INT(e.started_event_id, 6);
    CHECK_STR(e.failure->application_failure_info->type, "Second");
}

TEST(retry_is_refused_by_the_failure) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(failure);
    failure->application_failure_info->non_retryable = true;
    CHECK_INT(core_activity_fail(&f, 5, failure), 0);
    CHECK_INT(failed_at(&f, 7).retry_state, RETRY_STATE_NON_RETRYABLE_FAILURE);
}

TEST(retry_is_refused_by_the_list_of_types) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    char *types[] = {core_text(&f, "Other"), core_text(&f, "Fatal")};
    REQUIRE(types[0] && types[1]);
    p.policy.non_retryable_error_types = types;
    p.policy.n_non_retryable_error_types = ARRAY_LEN(types);
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Fatal")), 0);
    CHECK_INT(failed_at(&f, 7).retry_state, RETRY_STATE_NON_RETRYABLE_FAILURE);
}

TEST(retry_is_refused_after_a_cancel_request) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    core_add_cancel_activity(&f, 5);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    CHECK_INT(failed_at(&f, 12).retry_state, RETRY_STATE_CANCEL_REQUESTED);
}

TEST(retry_that_would_come_too_late_does_not_come) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_close_us = 3 * SEC;
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 2 * SEC + 1);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_FAILED@7 TASK_SCHEDULED@8");
    CHECK_INT(failed_at(&f, 7).retry_state, RETRY_STATE_TIMEOUT);
}

TEST(retry_in_the_last_moment_is_allowed) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_close_us = 3 * SEC;
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 2 * SEC);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    CHECK_STR(core_new(&f), "");
}

TEST(retry_delay_of_the_failure_overrides_the_policy) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.policy.maximum_interval = core_duration(&f, 2 * SEC);
    CHECK_INT(begin_started(&f, &p), 0);
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(failure);
    failure->application_failure_info->next_retry_delay = core_duration(&f, 30 * SEC);
    CHECK_INT(core_activity_fail(&f, 5, failure), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK_INT(a->scheduled_us - f.now_us, 30 * SEC);
}

/* Many of them would make the run too large. */
TEST(retry_remembers_the_beginning_of_a_large_failure) {
    enum { BYTES = 10000 };
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    char text[BYTES + 1];
    memset(text, 'x', BYTES);
    text[BYTES] = '\0';
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(failure);
    failure->message = core_text(&f, text);
    CHECK_INT(core_activity_fail(&f, 5, failure), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->last_failure && a->last_failure->cause);
    CHECK_STR(a->last_failure->message, "Failure exceeds size limit.");
    CHECK(!a->last_failure->server_failure_info->non_retryable);
    CHECK_STR(a->last_failure->cause->application_failure_info->type, "Bad");
    CHECK_INT(strlen(a->last_failure->cause->message), LIMIT_ACTIVITY_FAILURE_BYTES / 2);
}

TEST(retry_delay_of_zero_offers_it_at_once) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    Failure__Failure *failure = core_failure(&f, "Bad");
    REQUIRE(failure);
    failure->application_failure_info->next_retry_delay = core_duration(&f, 0);
    CHECK_INT(core_activity_fail(&f, 5, failure), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(retry_state_without_a_failure_is_a_server_failure) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.policy.maximum_attempts = 1;
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_activity_fail(&f, 5, NULL), 0);
    struct ending e = failed_at(&f, 7);
    REQUIRE(e.failure);
    CHECK_INT(e.failure->failure_info_case, FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO);
    CHECK_STR(e.failure->source, "Server");
}

/* timeouts */

TEST(retry_follows_a_start_to_close_timeout) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->last_failure);
    CHECK_INT(a->attempt, 2);
    CHECK_STR(a->last_failure->message, "activity StartToClose timeout");
    CHECK_STR(a->last_failure->source, "Server");
}

TEST(retry_timeout_of_the_last_attempt) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.policy.maximum_attempts = 1;
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_TIMED_OUT@7 TASK_SCHEDULED@8");
    struct ending e = timed_out_at(&f, 7);
    REQUIRE(e.failure && e.failure->timeout_failure_info);
    CHECK_INT(e.retry_state, RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED);
    CHECK_INT(e.started_event_id, 6);
    CHECK_STR(e.failure->message, "activity StartToClose timeout");
    CHECK_INT(e.failure->timeout_failure_info->timeout_type, TIMEOUT_TYPE_START_TO_CLOSE);
    CHECK_INT(core_activity_complete(&f, 5), ERR_NOT_FOUND); /* late */
}

TEST(retry_type_names_of_timeouts_can_be_listed) {
    static const struct {
        const char *type;
        int64_t heartbeat_us;
        bool is_retried;
    } cases[] = {{"TemporalTimeout:StartToClose", 0, false},
                 {"TemporalTimeout:Heartbeat", 0, true},
                 {"TemporalTimeout:Heartbeat", 5 * SEC, false},
                 {"TemporalTimeout:StartToClose", 5 * SEC, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        struct plan p = PLAN;
        core_init(&f);
        char *types[] = {core_text(&f, cases[i].type)};
        REQUIRE(types[0]);
        p.policy.non_retryable_error_types = types;
        p.policy.n_non_retryable_error_types = 1;
        p.heartbeat_us = cases[i].heartbeat_us;
        CHECK_INT(begin_started(&f, &p), 0);
        core_advance(&f, cases[i].heartbeat_us ? cases[i].heartbeat_us : 10 * SEC);
        CHECK_INT(core_tick(&f), 0);
        CHECK_INT(core_activity(&f, 5) != NULL, cases[i].is_retried);
    }
}

TEST(retry_never_follows_a_schedule_to_start_timeout) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_start_us = 5 * SEC;
    CHECK_INT(begin(&f, &p), 0);
    core_advance(&f, 5 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_TIMED_OUT@6 TASK_SCHEDULED@7");
    struct ending e = timed_out_at(&f, 6);
    REQUIRE(e.failure && e.failure->timeout_failure_info);
    CHECK_INT(e.retry_state, RETRY_STATE_TIMEOUT);
    CHECK_INT(e.started_event_id, 0);
    CHECK_INT(e.failure->timeout_failure_info->timeout_type, TIMEOUT_TYPE_SCHEDULE_TO_START);
    CHECK_STR(e.failure->message, "activity ScheduleToStart timeout");
}

TEST(retry_schedule_to_start_counts_from_each_attempt) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_start_us = 5 * SEC;
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 8 * SEC);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Bad")), 0);
    core_advance(&f, SEC);
    CHECK_INT(core_tick(&f), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK_INT(activity_due_us(a), CORE_T0 + 14 * SEC);
}

TEST(retry_ends_with_schedule_to_close_and_names_the_last_failure) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_close_us = 5 * SEC;
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Real")), 0);
    core_advance(&f, SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    core_advance(&f, 4 * SEC); /* from the first scheduling, not from this attempt */
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_TIMED_OUT@7 TASK_SCHEDULED@8");
    struct ending e = timed_out_at(&f, 7);
    REQUIRE(e.failure && e.failure->timeout_failure_info && e.failure->cause);
    CHECK_INT(e.retry_state, RETRY_STATE_TIMEOUT);
    CHECK_STR(e.failure->message, TOO_LATE_TEXT);
    CHECK_INT(e.failure->timeout_failure_info->timeout_type, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE);
    REQUIRE(e.failure->cause->application_failure_info);
    CHECK_STR(e.failure->cause->application_failure_info->type, "Real");
}

TEST(retry_without_enough_time_says_so) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_close_us = 10 * SEC + SEC / 2;
    CHECK_INT(begin_started(&f, &p), 0);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    struct ending e = timed_out_at(&f, 7);
    REQUIRE(e.failure && e.failure->timeout_failure_info);
    CHECK_INT(e.retry_state, RETRY_STATE_TIMEOUT);
    CHECK_STR(e.failure->message, TOO_LATE_TEXT);
    CHECK_INT(e.failure->timeout_failure_info->timeout_type, TIMEOUT_TYPE_SCHEDULE_TO_CLOSE);
}

TEST(retry_back_off_is_cut_by_schedule_to_close) {
    cleanup(core_done) struct core f;
    struct plan p = PLAN;
    core_init(&f);
    p.schedule_to_close_us = 3 * SEC;
    CHECK_INT(begin_started(&f, &p), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Real")), 0);
    core_advance(&f, 3 * SEC); /* nobody took the second attempt */
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_TIMED_OUT@6 TASK_SCHEDULED@7");
    struct ending e = timed_out_at(&f, 6);
    CHECK_INT(e.retry_state, RETRY_STATE_TIMEOUT);
    CHECK_INT(e.started_event_id, 0);
}
