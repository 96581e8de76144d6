/* Pause, unpause, reset and new options of pending activities, with and without a running attempt. */
#include "core/activity/activity_control.h"

#include "core_fixture.h"

#define SEC USEC_PER_SEC
#define NO_SUCH "Can't find pending activity with such ID. Invalid activityID or activity already completed"

static const struct activity_choice by_a = {.id = "a"};
static const struct activity_pause by_ada = {.identity = "ada", .reason = "because", .request_id = "r1"};

/* A run with the activities "a" (event 5) and "b" (event 6), both offered. */
static int begin_two(struct core *f) {
    int rc = core_begin_run(f);
    core_add_activity(f, "a");
    core_add_activity(f, "b");
    if (rc == 0)
        rc = core_complete(f);
    (void)core_new(f);
    return rc;
}

static int begin_started(struct core *f) {
    int rc = begin_two(f);
    return rc == 0 ? core_activity_start(f, 5) : rc;
}

/* The attempt that runs fails, and the time of the next one comes. */
static int fail_and_wait(struct core *f) {
    int rc = core_activity_fail(f, 5, core_failure(f, "Oops"));
    core_advance(f, 100 * SEC);
    return rc == 0 ? core_tick(f) : rc;
}

static int pause(struct core *f) {
    return STEP(f, activity_pause(&f->s, &by_a, &by_ada));
}

static int unpause(struct core *f) {
    static const struct activity_unpause plain;
    return STEP(f, activity_unpause(&f->s, &by_a, &plain));
}

static int reset(struct core *f) {
    static const struct activity_reset plain;
    return STEP(f, activity_reset(&f->s, &by_a, &plain));
}

static int start_with_stamp(struct core *f, int32_t stamp) {
    return STEP(f, activity_start(&f->s, 5, stamp, "worker", "request"));
}

static int beat(struct core *f, struct str details) {
    State__Activity *a = core_begin(f) ? activity_find(f->st, 5) : NULL;
    return a ? core_end(f, activity_heartbeat(&f->s, a, core_payloads(f, details.p))) : ERR_NO_MEMORY;
}

/* choosing */

TEST(control_of_nothing_is_not_found) {
    cleanup(core_done) struct core f;
    const struct activity_choice by_c = {.id = "c"}, by_type = {.type = "Other"}, all = {.is_all = true};
    static const struct activity_unpause plain;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_c, &by_ada)), ERR_NOT_FOUND);
    CHECK_STR(f.err.text, NO_SUCH);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_type, &by_ada)), ERR_NOT_FOUND);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &all, &plain)), ERR_CLOSED);
    CHECK_STR(f.err.text, "workflow execution already completed");
}

TEST(control_by_type_reaches_all_of_it) {
    cleanup(core_done) struct core f;
    const struct activity_choice by_type = {.type = "Act"}, all = {.is_all = true};
    static const struct activity_unpause plain;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_type, &by_ada)), 0);
    const State__Activity *a = core_activity(&f, 5), *b = core_activity(&f, 6);
    REQUIRE(a && b);
    CHECK(a->is_paused && b->is_paused);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &all, &plain)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5 ACTIVITY@6");
}

/* pause */

TEST(pause_of_one_that_waits_keeps_workers_away) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    core_advance(&f, SEC);
    CHECK_INT(pause(&f), 0);
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(a->is_paused && !a->is_offered);
    CHECK_INT(a->paused_us, CORE_T0 + SEC);
    CHECK_STR(a->pause_identity, "ada");
    CHECK_STR(a->pause_reason, "because");
    CHECK_INT(activity_due_us(a), CLOCK_NEVER);
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
    CHECK_INT(core_activity_start(&f, 6), 0); /* the other one is as before */
}

TEST(pause_again_is_an_error_unless_it_is_the_same_request) {
    cleanup(core_done) struct core f;
    struct activity_pause other = by_ada;
    other.request_id = "r2";
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_a, &other)), ERR_PRECONDITION);
    CHECK_STR(f.err.text, "activity is already paused");
}

TEST(pause_of_all_changes_none_when_one_cannot) {
    cleanup(core_done) struct core f;
    const struct activity_choice by_type = {.type = "Act"}, by_b = {.id = "b"};
    struct activity_pause other = by_ada;
    other.request_id = "r2";
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_b, &by_ada)), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_type, &other)), ERR_PRECONDITION);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_paused);
}

TEST(pause_of_a_running_attempt_lets_it_complete) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@7 ACTIVITY_COMPLETED@8 TASK_SCHEDULED@9");
}

TEST(pause_stops_the_clocks) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    core_advance(&f, 1000000 * SEC);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(activity_due_us(a), CLOCK_NEVER);
    CHECK_INT(unpause(&f), 0);
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(activity_due_us(a) <= f.now_us); /* the attempt ran out of time meanwhile */
}

TEST(pause_keeps_a_failed_attempt_from_its_retry) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    CHECK_STR(core_new(&f), "");
    core_advance(&f, 1000 * SEC);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->last_failure);
    CHECK_INT(a->attempt, 2);
    CHECK(!a->is_offered && !a->started_us);
    CHECK_INT(activity_due_us(a), CLOCK_NEVER);
    CHECK_INT(unpause(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(a->attempt, 2);
    CHECK_INT(a->scheduled_us, f.now_us);
}

TEST(pause_does_not_keep_a_final_failure_back) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    Failure__Failure *failure = core_failure(&f, "Oops");
    REQUIRE(failure && failure->application_failure_info);
    failure->application_failure_info->non_retryable = 1;
    CHECK_INT(core_activity_fail(&f, 5, failure), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@7 ACTIVITY_FAILED@8 TASK_SCHEDULED@9");
}

TEST(pause_of_a_lost_attempt_holds) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 5, 1, CORE_T0)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
}

TEST(pause_does_not_hinder_a_cancel) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_INT(core_pick(&f), 0);
    core_add_cancel_activity(&f, 5);
    (void)core_new(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK(!core_activity(&f, 5));
}

/* unpause */

TEST(unpause_makes_older_offers_stale) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(unpause(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    CHECK_INT(start_with_stamp(&f, 0), ERR_NOT_FOUND); /* an entry of before the pause */
    CHECK_INT(start_with_stamp(&f, 1), 0);
}

TEST(unpause_of_what_is_not_paused_changes_nothing) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(unpause(&f), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(start_with_stamp(&f, 0), 0);
}

TEST(unpause_waits_for_its_jitter) {
    cleanup(core_done) struct core f;
    const struct activity_unpause jittered = {.jitter_us = 10 * SEC};
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &by_a, &jittered)), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_offered);
    CHECK(a->scheduled_us > f.now_us && a->scheduled_us < f.now_us + 10 * SEC);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(unpause_can_forget_attempts_and_heartbeats) {
    cleanup(core_done) struct core f;
    const struct activity_unpause anew = {.resets_attempts = true, .resets_heartbeat = true};
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(beat(&f, STR("half")), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &by_a, &anew)), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(a->attempt, 1);
    CHECK(!a->heartbeat_details && !a->last_heartbeat_us);
}

TEST(unpause_of_a_running_attempt_keeps_its_token) {
    cleanup(core_done) struct core f;
    const struct activity_unpause anew = {.resets_attempts = true};
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(fail_and_wait(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &by_a, &anew)), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(activity_attempt(a), 1);
    State__TaskToken token = STATE__TASK_TOKEN__INIT;
    State__Activity *found = NULL;
    token.scheduled_event_id = 5;
    token.attempt = 2;
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &token, &found)), 0);
}

/* reset */

TEST(reset_begins_again_at_once) {
    cleanup(core_done) struct core f;
    const struct activity_reset forgetting = {.resets_heartbeat = true};
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(beat(&f, STR("half")), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &forgetting)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5"); /* without waiting for the back-off */
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(a->attempt, 1);
    CHECK(!a->heartbeat_details && !a->is_reset);
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(reset_tells_a_running_attempt_and_lets_it_go_on) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(fail_and_wait(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(reset(&f), 0);
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(a->is_reset);
    CHECK_INT(activity_attempt(a), 1);
    CHECK_INT(core_activity_complete(&f, 5), 0); /* its token holds */
    const History__ActivityTaskStartedEventAttributes *started =
        core_attributes(&f, 7, EVENT_TYPE_ACTIVITY_TASK_STARTED);
    REQUIRE(started != NULL);
    CHECK_INT(started->attempt, 1);
}

TEST(reset_attempts_are_counted_from_the_running_one) {
    cleanup(core_done) struct core f;
    const struct activity_reset forgetting = {.resets_heartbeat = true};
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fail_and_wait(&f), 0);
        CHECK_INT(core_activity_start(&f, 5), 0);
    }
    CHECK_INT(beat(&f, STR("half")), 0);
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &forgetting)), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->heartbeat_details); /* until the attempt ends */
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(a->attempt, 2);
    CHECK_INT(a->scheduled_us, f.now_us + SEC); /* the back-off after a first attempt */
    CHECK(!a->is_reset && !a->counts_anew && !a->heartbeat_details);
}

TEST(reset_leaves_older_tokens_stale) {
    cleanup(core_done) struct core f;
    State__TaskToken first = STATE__TASK_TOKEN__INIT;
    State__Activity *found = NULL;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    first.scheduled_event_id = 5;
    first.attempt = 1;
    CHECK_INT(fail_and_wait(&f), 0);
    CHECK_INT(reset(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(STEP(&f, activity_check_token(&f.s, &first, &found)), ERR_NOT_FOUND); /* both are attempt 1 */
    CHECK_INT(core_activity_complete(&f, 5), 0);
}

TEST(reset_of_a_lost_attempt_offers_the_first) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(fail_and_wait(&f), 0);
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(reset(&f), 0);
    CHECK_INT(STEP_VOID(&f, activity_give_back(&f.s, 5, 2, f.now_us)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(a->attempt, 1);
    CHECK(!a->is_reset);
}

TEST(reset_ends_a_pause_unless_told_otherwise) {
    cleanup(core_done) struct core f;
    const struct activity_reset keeping = {.keeps_paused = true};
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &keeping)), 0);
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(a->is_paused);
    CHECK_INT(reset(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_paused);
}

TEST(reset_that_keeps_a_pause_does_not_bring_one_back) {
    cleanup(core_done) struct core f;
    const struct activity_reset keeping = {.keeps_paused = true};
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(reset(&f), 0);
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &keeping)), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_paused);
}

TEST(reset_ends_the_pause_of_a_running_attempt_at_once) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(reset(&f), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_paused && a->is_reset);
    CHECK_STR(a->pause_reason, "");
    CHECK(activity_due_us(a) != CLOCK_NEVER);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(!a->is_paused && !a->is_reset);
    CHECK_INT(a->scheduled_us, f.now_us + SEC);
}

TEST(pause_again_after_a_reset_holds) {
    cleanup(core_done) struct core f;
    struct activity_pause other = by_ada;
    other.request_id = "r2";
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(reset(&f), 0);
    CHECK_INT(STEP(&f, activity_pause(&f.s, &by_a, &other)), 0);
    CHECK_INT(pause(&f), ERR_PRECONDITION); /* another request */
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK(a->is_paused && !a->is_offered);
}

TEST(reset_waits_for_its_jitter) {
    cleanup(core_done) struct core f;
    const struct activity_reset jittered = {.jitter_us = 10 * SEC};
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &jittered)), 0);
    CHECK_STR(core_effects(&f), "");
    CHECK_INT(core_activity_start(&f, 5), ERR_NOT_FOUND);
    core_advance(&f, 10 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
}

/* options */

struct options_case {
    Activity__ActivityOptions options;
    Google__Protobuf__FieldMask mask;
    char *paths[2];
    Common__RetryPolicy policy;
    Common__Priority priority;
};

static void case_init(struct core *f, struct options_case *c, const char *path) {
    activity__activity_options__init(&c->options);
    google__protobuf__field_mask__init(&c->mask);
    common__retry_policy__init(&c->policy);
    common__priority__init(&c->priority);
    c->paths[0] = core_text(f, path);
    c->mask.paths = c->paths;
    c->mask.n_paths = 1;
    c->options.retry_policy = &c->policy;
    c->options.priority = &c->priority;
}

static int update(struct core *f, struct options_case *c) {
    return STEP(f, activity_update_options(&f->s, &by_a, &c->options, &c->mask));
}

TEST(options_change_only_what_the_mask_names) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    int64_t before = a->start_to_close_us;
    case_init(&f, &c, "heartbeat_timeout");
    c.options.heartbeat_timeout = core_duration(&f, 3 * SEC);
    c.options.start_to_close_timeout = core_duration(&f, 4 * SEC);
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a && a->original_options);
    CHECK_INT(a->heartbeat_timeout_us, 3 * SEC);
    CHECK_INT(a->start_to_close_us, before);
}

TEST(options_paths_come_in_two_spellings) {
    static const char *const paths[] = {"start_to_close_timeout", "startToCloseTimeout",
                                        "StartToCloseTimeout"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        cleanup(core_done) struct core f;
        struct options_case c;
        core_init(&f);
        CHECK_INT(begin_two(&f), 0);
        case_init(&f, &c, paths[i]);
        c.options.start_to_close_timeout = core_duration(&f, 7 * SEC);
        CHECK_INT(update(&f, &c), 0);
        const State__Activity *a = core_activity(&f, 5);
        REQUIRE(a != NULL);
        CHECK_INT(a->start_to_close_us, 7 * SEC);
    }
}

TEST(options_move_an_offer_to_another_queue) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    case_init(&f, &c, "task_queue.name");
    c.options.task_queue = core_queue(&f, "elsewhere");
    CHECK_INT(update(&f, &c), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_STR(a->task_queue, "elsewhere");
    CHECK_INT(start_with_stamp(&f, 0), ERR_NOT_FOUND); /* the entry in the old queue */
    CHECK_INT(core_activity_start(&f, 5), 0);
}

TEST(options_of_a_running_attempt_move_its_deadline) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    case_init(&f, &c, "start_to_close_timeout");
    c.options.start_to_close_timeout = core_duration(&f, 2 * SEC);
    CHECK_INT(update(&f, &c), 0);
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_INT(activity_due_us(a), CORE_T0 + 2 * SEC);
    CHECK_INT(core_activity_complete(&f, 5), 0);
}

TEST(options_change_a_back_off_that_goes_on) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    case_init(&f, &c, "retry_policy.initial_interval");
    c.policy.initial_interval = core_duration(&f, 30 * SEC);
    CHECK_INT(update(&f, &c), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->retry_policy);
    CHECK_INT(a->scheduled_us, f.now_us + 30 * SEC);
    CHECK_INT(pb_duration_us(a->retry_policy->maximum_interval), 100 * SEC); /* as it was */
    CHECK(a->retry_policy->backoff_coefficient == 2.0);
}

TEST(options_of_a_paused_one_wait_with_it) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    case_init(&f, &c, "retry_policy");
    c.policy.maximum_attempts = 3;
    CHECK_INT(update(&f, &c), 0);
    CHECK_STR(core_effects(&f), "");
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && a->retry_policy);
    CHECK(!a->is_offered);
    CHECK_INT(a->retry_policy->maximum_attempts, 3);
    CHECK_INT(pb_duration_us(a->retry_policy->initial_interval), SEC); /* the default again */
}

TEST(options_can_be_restored) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    int64_t before = a->start_to_close_us;
    case_init(&f, &c, "taskQueue.name");
    c.paths[1] = core_text(&f, "priority.priorityKey");
    c.mask.n_paths = 2;
    c.options.task_queue = core_queue(&f, "elsewhere");
    c.priority.priority_key = 4;
    CHECK_INT(update(&f, &c), 0);
    case_init(&f, &c, "startToCloseTimeout");
    c.options.start_to_close_timeout = core_duration(&f, 2 * SEC);
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a && a->priority);
    CHECK_INT(a->priority->priority_key, 4);
    CHECK_STR(a->task_queue, "elsewhere");
    CHECK_INT(STEP(&f, activity_restore_options(&f.s, &by_a)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    a = core_activity(&f, 5);
    REQUIRE(a && a->retry_policy);
    CHECK_STR(a->task_queue, "queue");
    CHECK_INT(a->start_to_close_us, before);
    CHECK(!a->priority && !a->original_options);
}

TEST(options_are_restored_by_a_reset_that_says_so) {
    cleanup(core_done) struct core f;
    struct options_case c;
    const struct activity_reset restoring = {.restores_options = true};
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    case_init(&f, &c, "taskQueue.name");
    c.options.task_queue = core_queue(&f, "elsewhere");
    CHECK_INT(update(&f, &c), 0);
    CHECK_INT(reset(&f), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_STR(a->task_queue, "elsewhere");
    CHECK_INT(STEP(&f, activity_reset(&f.s, &by_a, &restoring)), 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
    a = core_activity(&f, 5);
    REQUIRE(a != NULL);
    CHECK_STR(a->task_queue, "queue");
}

static void no_queue(struct core *f unused_arg, struct options_case *c) {
    c->options.task_queue = NULL;
}
static void long_queue(struct core *f, struct options_case *c) {
    char name[1002];
    memset(name, 'q', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    c->options.task_queue = core_queue(f, name);
}
static void negative_timeout(struct core *f, struct options_case *c) {
    c->options.heartbeat_timeout = core_duration(f, -SEC);
}
static void negative_attempts(struct core *f unused_arg, struct options_case *c) {
    c->policy.maximum_attempts = -1;
}
static void low_coefficient(struct core *f unused_arg, struct options_case *c) {
    c->policy.backoff_coefficient = 0.5;
}
static void no_policy(struct core *f unused_arg, struct options_case *c) {
    c->options.retry_policy = NULL;
}
static void negative_priority(struct core *f unused_arg, struct options_case *c) {
    c->priority.priority_key = -1;
}
static void no_priority(struct core *f unused_arg, struct options_case *c) {
    c->options.priority = NULL;
}
static void negative_close(struct core *f, struct options_case *c) {
    c->options.schedule_to_close_timeout = core_duration(f, -SEC);
}
static void negative_wait(struct core *f, struct options_case *c) {
    c->options.schedule_to_start_timeout = core_duration(f, -SEC);
}
static void negative_work(struct core *f, struct options_case *c) {
    c->options.start_to_close_timeout = core_duration(f, -SEC);
}
static void nothing(struct core *f unused_arg, struct options_case *c unused_arg) {}

#define LONG_PATH "start_to_close_timeout_that_is_longer_than_any_path_of_a_mask_which_means_something"

TEST(options_that_are_bad_change_nothing) {
    static const struct {
        const char *path;
        void (*spoil)(struct core *f, struct options_case *c);
        const char *text;
    } cases[] = {
        {"task_queue.name", no_queue, "TaskQueue is not provided"},
        {"task_queue.name", long_queue, "TaskQueue length exceeds limit."},
        {"schedule_to_close_timeout", negative_close,
         "A timeout of ActivityOptions is negative or malformed."},
        {"schedule_to_start_timeout", negative_wait,
         "A timeout of ActivityOptions is negative or malformed."},
        {"start_to_close_timeout", negative_work, "A timeout of ActivityOptions is negative or malformed."},
        {"start_to_close_timeout", nothing,
         "A valid StartToClose or ScheduleToCloseTimeout is not set on ActivityOptions."},
        {"heartbeat_timeout", negative_timeout, "A timeout of ActivityOptions is negative or malformed."},
        {"retry_policy.maximum_attempts", negative_attempts,
         "MaximumAttempts cannot be negative on retry policy."},
        {"retry_policy.backoff_coefficient", low_coefficient,
         "BackoffCoefficient cannot be less than 1 on retry policy."},
        {"retry_policy", no_policy, "RetryPolicy is not provided"},
        {"priority", negative_priority, "priority key can't be negative"},
        {"priority.fairness_key", no_priority, "Priority is not provided"},
        {"priority.priority_key", no_priority, "Priority is not provided"},
        {LONG_PATH, nothing, "UpdateMask names \"" LONG_PATH "\", which is no option of an activity"},
        {"start_to_shut_timeout", nothing,
         "UpdateMask names \"start_to_shut_timeout\", which is no option of an activity"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        struct options_case c;
        core_init(&f);
        CHECK_INT(begin_two(&f), 0);
        case_init(&f, &c, cases[i].path);
        cases[i].spoil(&f, &c);
        CHECK_INT(update(&f, &c), ERR_INVALID);
        CHECK_STR(f.err.text, cases[i].text);
        const State__Activity *a = core_activity(&f, 5);
        REQUIRE(a != NULL);
        CHECK(!a->original_options);
    }
}

TEST(options_need_options_and_a_mask) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    case_init(&f, &c, "heartbeat_timeout");
    CHECK_INT(STEP(&f, activity_update_options(&f.s, &by_a, NULL, &c.mask)), ERR_INVALID);
    CHECK_STR(f.err.text, "ActivityOptions are not provided");
    CHECK_INT(STEP(&f, activity_update_options(&f.s, &by_a, &c.options, NULL)), ERR_INVALID);
    CHECK_STR(f.err.text, "UpdateMask is not provided");
}

/* An empty name is the workflow's own queue, as in the command; no priority at all is none. */
TEST(options_that_are_empty) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    case_init(&f, &c, "task_queue.name");
    c.options.task_queue = core_queue(&f, "there");
    CHECK_INT(update(&f, &c), 0);
    c.options.task_queue = core_queue(&f, "");
    CHECK_INT(update(&f, &c), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK_STR(a->task_queue, "queue");
    case_init(&f, &c, "priority");
    c.priority.priority_key = 3;
    CHECK_INT(update(&f, &c), 0);
    case_init(&f, &c, "priority.fairness_key");
    c.priority.priority_key = 4; /* which the mask does not name */
    c.priority.fairness_key = core_text(&f, "key");
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a && a->priority);
    CHECK_INT(a->priority->priority_key, 3);
    CHECK_STR(a->priority->fairness_key, "key");
    case_init(&f, &c, "priority");
    c.options.priority = NULL;
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a && a->priority);
    CHECK_INT(a->priority->priority_key, 0);
    CHECK_STR(a->priority->fairness_key, "");
}

/* A first attempt that waits for its moment keeps it; there is no back-off to measure again. */
TEST(options_of_a_first_attempt_that_waits) {
    cleanup(core_done) struct core f;
    struct options_case c;
    struct activity_unpause later = {.jitter_us = 1000 * SEC};
    core_init(&f);
    CHECK_INT(begin_two(&f), 0);
    CHECK_INT(pause(&f), 0);
    CHECK_INT(STEP(&f, activity_unpause(&f.s, &by_a, &later)), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && !a->is_offered);
    int64_t at_us = a->scheduled_us;
    case_init(&f, &c, "retry_policy.maximum_attempts");
    c.policy.maximum_attempts = 2;
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK_INT(a->scheduled_us, at_us);
    CHECK_INT(STEP(&f, activity_restore_options(&f.s, &(struct activity_choice){.id = "b"})), 0);
}

/* Its end may come before the next attempt would. */
TEST(options_can_end_a_backoff_early) {
    cleanup(core_done) struct core f;
    struct options_case c;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    CHECK_INT(core_activity_fail(&f, 5, core_failure(&f, "Oops")), 0);
    const State__Activity *a = core_activity(&f, 5);
    REQUIRE(a && !a->is_offered && a->scheduled_us > f.now_us);
    case_init(&f, &c, "schedule_to_close_timeout");
    c.options.schedule_to_close_timeout = core_duration(&f, a->scheduled_us - f.now_us - 1);
    CHECK_INT(update(&f, &c), 0);
    a = core_activity(&f, 5);
    REQUIRE(a);
    CHECK(activity_due_us(a) < a->scheduled_us);
    core_advance(&f, activity_due_us(a) - f.now_us);
    CHECK_INT(core_tick(&f), 0);
    CHECK(f.st && !core_activity(&f, 5));
}
