/* Reports by id, limits on what reports may carry, and activities that start with their command. */
#include "core/activity/activity_report.h"

#include "core/step/failure.h"
#include "core_fixture.h"

#define SEC USEC_PER_SEC
#define SMALL_BYTES 200

static const struct core_limits small = {.values = {[SETTABLE_BLOB_BYTES] = SMALL_BYTES}};

static int begin_started(struct core *f) {
    int rc = core_begin_activity(f, "a");
    if (rc == 0)
        rc = core_activity_start(f, 5);
    (void)core_new(f);
    return rc;
}

static Common__Payloads *payloads_of(struct core *f, size_t bytes) {
    char text[1024];
    ensure(bytes < sizeof(text));
    memset(text, 'x', bytes);
    text[bytes] = 0;
    return core_payloads(f, text);
}

/* A step on activity 5 under the small limit; NULL without memory. */
static State__Activity *begin_small(struct core *f) {
    if (!core_begin(f))
        return NULL;
    f->s.limits = &small;
    return activity_find(f->st, 5);
}

/* by id */

TEST(report_by_id_needs_a_pending_activity) {
    cleanup(core_done) struct core f;
    State__Activity *a = NULL;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    CHECK_INT(STEP(&f, activity_check_id(&f.s, "b", true, &a)), ERR_NOT_FOUND);
    CHECK_STR(
        f.err.text,
        "cannot find pending activity with ActivityID b, check workflow execution history for more details");
    CHECK_INT(STEP(&f, activity_check_id(&f.s, "a", false, &a)), ERR_NOT_FOUND);
    CHECK_STR(f.err.text,
              "invalid activityID or activity already timed out or invoking workflow is completed");
    CHECK_INT(core_activity_start(&f, 5), 0);
    CHECK_INT(STEP(&f, activity_check_id(&f.s, "a", false, &a)), 0);
}

TEST(report_completes_what_nobody_started) {
    cleanup(core_done) struct core f;
    State__Activity *a = NULL;
    core_init(&f);
    CHECK_INT(core_begin_activity(&f, "a"), 0);
    (void)core_new(&f);
    core_advance(&f, SEC);
    REQUIRE(core_begin(&f));
    int rc = activity_check_id(&f.s, "a", true, &a);
    if (rc == 0)
        rc = activity_report_completed(&f.s, a, core_payloads(&f, "done"), "ada");
    CHECK_INT(core_end(&f, rc), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_COMPLETED@7 TASK_SCHEDULED@8");
    const History__ActivityTaskStartedEventAttributes *started =
        core_attributes(&f, 6, EVENT_TYPE_ACTIVITY_TASK_STARTED);
    REQUIRE(started != NULL);
    CHECK_STR(started->identity, "ada");
    CHECK_INT(core_event_us(&f, 6), CORE_T0 + SEC);
}

/* sizes */

static const Failure__Failure *failed_with(struct core *f, int64_t event_id, E__RetryState *ret_state) {
    const History__ActivityTaskFailedEventAttributes *ev =
        core_attributes(f, event_id, EVENT_TYPE_ACTIVITY_TASK_FAILED);
    if (!ev)
        return NULL;
    *ret_state = ev->retry_state;
    return ev->failure;
}

TEST(report_with_a_large_result_fails_for_good) {
    cleanup(core_done) struct core f;
    E__RetryState state = RETRY_STATE_UNSPECIFIED;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    State__Activity *a = begin_small(&f);
    REQUIRE(a != NULL);
    CHECK_INT(core_end(&f, activity_report_completed(&f.s, a, payloads_of(&f, 300), "w")), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_FAILED@7 TASK_SCHEDULED@8");
    const Failure__Failure *why = failed_with(&f, 7, &state);
    REQUIRE(why && why->server_failure_info);
    CHECK_STR(why->message, "Complete result exceeds size limit.");
    CHECK(why->server_failure_info->non_retryable);
    CHECK_INT(state, RETRY_STATE_NON_RETRYABLE_FAILURE);
}

TEST(report_of_the_largest_size_is_kept) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    Common__Payloads *result = payloads_of(&f, 100);
    State__Activity *a = begin_small(&f);
    REQUIRE(a && result);
    const struct core_limits exact = {
        .values = {[SETTABLE_BLOB_BYTES] = (int64_t)protobuf_c_message_get_packed_size(&result->base)}};
    f.s.limits = &exact;
    CHECK_INT(core_end(&f, activity_report_completed(&f.s, a, result, "w")), 0);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_COMPLETED@7 TASK_SCHEDULED@8");
}

TEST(report_with_a_large_heartbeat_ends_the_activity) {
    cleanup(core_done) struct core f;
    struct heartbeat_answer answer = {0};
    E__RetryState state = RETRY_STATE_UNSPECIFIED;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    State__Activity *a = begin_small(&f);
    REQUIRE(a != NULL);
    CHECK_INT(core_end(&f, activity_report_heartbeat(&f.s, a, payloads_of(&f, 300), "w", &answer)), 0);
    CHECK(answer.is_cancel_requested && !answer.is_paused && !answer.is_reset);
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_FAILED@7 TASK_SCHEDULED@8");
    const Failure__Failure *why = failed_with(&f, 7, &state);
    REQUIRE(why != NULL);
    CHECK_STR(why->message, "Heartbeat details exceed size limit.");
}

TEST(report_with_large_cancel_details_fails) {
    cleanup(core_done) struct core f;
    E__RetryState state = RETRY_STATE_UNSPECIFIED;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    State__Activity *a = begin_small(&f);
    REQUIRE(a != NULL);
    CHECK_INT(core_end(&f, activity_report_canceled(&f.s, a, payloads_of(&f, 300), "w")), 0);
    (void)core_new(&f);
    const Failure__Failure *why = failed_with(&f, 7, &state);
    REQUIRE(why != NULL);
    CHECK_STR(why->message, "Cancel details exceed size limit.");
}

TEST(report_with_a_large_failure_keeps_what_fits) {
    cleanup(core_done) struct core f;
    struct failure_cuts cuts = {.count = 0};
    char message[400];
    E__RetryState state = RETRY_STATE_UNSPECIFIED;
    core_init(&f);
    CHECK_INT(begin_started(&f), 0);
    Failure__Failure *failure = core_failure(&f, "Oops");
    State__Activity *a = begin_small(&f);
    REQUIRE(a && failure);
    memset(message, 'm', sizeof(message) - 1);
    message[sizeof(message) - 1] = 0;
    memcpy(message + SMALL_BYTES / 2 - 1, "\xc3\xa9", 2); /* a character across the cut */
    failure->message = message;
    CHECK_INT(core_end(&f, activity_report_failed(&f.s, a, failure, payloads_of(&f, 300), "w", &cuts)), 0);
    REQUIRE(cuts.count == 2);
    CHECK_STR(cuts.failures[0]->message, "Heartbeat details exceed size limit.");
    CHECK_STR(cuts.failures[1]->message, "Failure exceeds size limit.");
    CHECK_STR(core_new(&f), "ACTIVITY_STARTED@6 ACTIVITY_FAILED@7 TASK_SCHEDULED@8");
    const Failure__Failure *why = failed_with(&f, 7, &state);
    REQUIRE(why && why->cause && why->cause->application_failure_info);
    CHECK_STR(why->message, "Failure exceeds size limit.");
    CHECK_INT(strlen(why->cause->message), SMALL_BYTES / 2 - 1);
    CHECK_STR(why->cause->application_failure_info->type, "Oops");
    CHECK(protobuf_c_message_get_packed_size(&why->base) <= SMALL_BYTES);
}

TEST(report_of_a_failure_has_a_valid_delay) {
    cleanup(core_done) struct core f;
    struct err err = {0};
    core_init(&f);
    Failure__Failure *outer = core_failure(&f, "Outer"), *inner = core_failure(&f, "Inner");
    REQUIRE(outer && inner);
    outer->cause = inner;
    inner->application_failure_info->next_retry_delay = core_duration(&f, SEC);
    CHECK_INT(activity_validate_failure(outer, &err), 0);
    inner->application_failure_info->next_retry_delay = core_duration(&f, -SEC);
    CHECK_INT(activity_validate_failure(outer, &err), ERR_INVALID);
    CHECK_STR(err.text, "NextRetryDelay is not a valid duration.");
    CHECK_INT(activity_validate_failure(NULL, &err), 0);
    Failure__Failure timeout = FAILURE__FAILURE__INIT;
    timeout.cause = inner; /* whatever is around it */
    CHECK_INT(activity_validate_failure(&timeout, &err), ERR_INVALID);
}

/* eager */

TEST(eager_activity_starts_with_its_command) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *asked = core_add_activity(&f, "a");
    core_add_activity(&f, "b");
    REQUIRE(asked != NULL);
    asked->request_eager_execution = 1;
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.done.eager_count == 1);
    CHECK_INT(f.done.eager[0], 5);
    const State__Activity *a = core_activity(&f, 5), *b = core_activity(&f, 6);
    REQUIRE(a && b);
    CHECK_INT(a->started_us, f.now_us);
    CHECK_STR(a->identity, "worker");
    CHECK_INT(b->started_us, 0);
    CHECK_INT(core_activity_complete(&f, 5), 0);
}

TEST(eager_is_not_for_another_queue) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *asked = core_add_activity(&f, "a");
    REQUIRE(asked != NULL);
    asked->request_eager_execution = 1;
    asked->task_queue = core_queue(&f, "elsewhere");
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(f.done.eager_count, 0);
    CHECK_STR(core_effects(&f), "ACTIVITY@5");
}

TEST(eager_can_be_off) {
    cleanup(core_done) struct core f;
    const struct core_limits off = {.is_eager_activity_off = true};
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *asked = core_add_activity(&f, "a");
    State__TaskToken token = core_token(&f);
    REQUIRE(asked && core_begin(&f));
    asked->request_eager_execution = 1;
    f.s.limits = &off;
    CHECK_INT(core_end(&f, task_complete(&f.s, &token, &f.completion, &f.done)), 0);
    CHECK_INT(f.done.eager_count, 0);
}

TEST(eager_activity_that_is_cancelled_at_once_never_starts) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *asked = core_add_activity(&f, "a");
    REQUIRE(asked != NULL);
    asked->request_eager_execution = 1;
    core_add_cancel_activity(&f, 5);
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(f.done.eager_count, 0);
    CHECK(!core_activity(&f, 5));
}

/* The same id twice in one completion: the first was cancelled before it began, the second starts once. */
TEST(eager_activity_whose_id_is_used_again) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *first = core_add_activity(&f, "a");
    core_add_cancel_activity(&f, 5);
    Command__ScheduleActivityTaskCommandAttributes *second = core_add_activity(&f, "a");
    REQUIRE(first && second);
    first->request_eager_execution = second->request_eager_execution = 1;
    second->task_queue = core_queue(&f, ""); /* its run's */
    CHECK_INT(core_complete(&f), 0);
    CHECK_INT(f.done.eager_count, 1);
}

/* Nobody set a limit. */
TEST(eager_without_limits) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Command__ScheduleActivityTaskCommandAttributes *asked = core_add_activity(&f, "a");
    State__TaskToken token = core_token(&f);
    REQUIRE(asked && core_begin(&f));
    asked->request_eager_execution = 1;
    f.s.limits = NULL;
    CHECK_INT(core_end(&f, task_complete(&f.s, &token, &f.completion, &f.done)), 0);
    CHECK_INT(f.done.eager_count, 1);
}

/* failures of the server's own */

TEST(failure_of_an_application) {
    cleanup(core_done) struct core f;
    core_init(&f);
    const Failure__Failure *made = failure_application(&f.arena, "no", "Kind");
    REQUIRE(made);
    CHECK_STR(made->message, "no");
    CHECK_STR(made->application_failure_info->type, "Kind");
    CHECK(made->application_failure_info->non_retryable);
    for (size_t room = 0; room < sizeof(*made) + sizeof(*made->application_failure_info);
         room += 8) { /* too little for it and its parts */
        cleanup(arena_done) struct arena little;
        arena_init(&little, room);
        CHECK(!failure_application(&little, "no", "Kind"));
    }
    cleanup(arena_done) struct arena medium;
    arena_init(&medium, sizeof(*made) + sizeof(*made->application_failure_info));
    CHECK(!failure_application(&medium, "a message that needs some room of its own", "Kind"));
}

/* What is cut ends where a character ends; bytes that are no character at all leave nothing. */
TEST(failure_is_cut) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    Failure__Failure *large = core_failure(&f, "TypeThatIsLong");
    REQUIRE(large && core_begin(&f));
    large->message = core_text(&f, "abc\xc3\xa9");
    const Failure__Failure *cut = failure_cut(&f.s, large, 4);
    REQUIRE(cut && !f.s.failed);
    CHECK_STR(cut->message, "abc");
    CHECK_STR(cut->application_failure_info->type, "Type");
    cut = failure_cut(&f.s, large, 2 * LIMIT_ID_BYTES); /* the type has its own limit */
    REQUIRE(cut && !f.s.failed);
    CHECK_STR(cut->application_failure_info->type, "TypeThatIsLong");
    large->message = core_text(&f, "\x80\x80\x80\x80\x80");
    cut = failure_cut(&f.s, large, 4);
    REQUIRE(cut && !f.s.failed);
    CHECK_STR(cut->message, "");
}
