/* Continue-as-new: what is refused, and what the next run takes from the command and from this run. */
#include "core/run/chain.h"

#include "command_text.h"
#include "wire/guard.h"

#define CONTINUE(attributes)                                                                                 \
    "{'commandType':'COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION',"                                      \
    "'continueAsNewWorkflowExecutionCommandAttributes':{" attributes "}}"
#define BAD WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES
#define DURATION "A duration of ContinueAsNewWorkflowExecutionCommand is negative or malformed."

TEST(continue_that_is_refused) {
    static const struct refused_command cases[] = {
        {CONTINUE("'workflowType':{'name':'LONG'}"), BAD,
         "WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit."},
        {CONTINUE("'taskQueue':{'name':'LONG'}"), BAD,
         "TaskQueue on ContinueAsNewWorkflowExecutionCommand exceeds length limit."},
        {CONTINUE("'workflowRunTimeout':'-1s'"), BAD, DURATION},
        {CONTINUE("'workflowTaskTimeout':'-1s'"), BAD, DURATION},
        {CONTINUE("'backoffStartInterval':'-1s'"), BAD, DURATION},
        {CONTINUE("'retryPolicy':{'backoffCoefficient':0.5}"), BAD,
         "BackoffCoefficient cannot be less than 1 on retry policy."},
        {CONTINUE("'searchAttributes':{'indexedFields':{'Nowhere':1}}"),
         WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
         "Namespace  has no mapping defined for search attribute Nowhere"},
    };
    check_refused_commands(cases, ARRAY_LEN(cases));
}

/* What the next run starts with, as text. */
static void check_next(const char *command, const char *type, const char *queue, int64_t run_us,
                       int64_t task_us, int64_t wait_us, const char *cron) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.workflow_run_timeout = core_duration(&f, 100 * USEC_PER_SEC);
    f.start.workflow_task_timeout = core_duration(&f, 5 * USEC_PER_SEC);
    f.start.cron_schedule = core_text(&f, "0 0 * * *");
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    core_advance(&f, f.st->first_task_due_us - f.now_us);
    CHECK_INT(core_tick(&f), 0);
    CHECK_INT(core_pick(&f), 0);
    core_advance(&f, 2 * USEC_PER_SEC); /* it lived for longer than a moment */
    command_add(&f, command);
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.s.next && f.s.next->st);
    const State__Execution *next = f.s.next->st;
    CHECK_STR(next->workflow_type, type);
    CHECK_STR(next->task_queue, queue);
    CHECK_INT(next->run_timeout_us, run_us);
    CHECK_INT(next->task_timeout_us, task_us);
    CHECK_STR(next->cron_schedule, cron);
    CHECK_INT(next->first_task_due_us ? next->first_task_due_us - f.now_us : 0, wait_us);
}

TEST(continue_takes_over_what_is_not_said) {
    check_next(CONTINUE(""), "Type", "queue", 100 * USEC_PER_SEC, 5 * USEC_PER_SEC, 0, "0 0 * * *");
    check_next(CONTINUE("'workflowType':{},'taskQueue':{}"), "Type", "queue", 100 * USEC_PER_SEC,
               5 * USEC_PER_SEC, 0, "0 0 * * *");
    check_next(
        CONTINUE("'workflowType':{'name':'Other'},'taskQueue':{'name':'there'},'workflowRunTimeout':'7s',"
                 "'workflowTaskTimeout':'3s','backoffStartInterval':'9s','cronSchedule':'5 5 * * *',"
                 "'retryPolicy':{'maximumAttempts':3},'initiator':2"),
        "Other", "there", 7 * USEC_PER_SEC, 3 * USEC_PER_SEC, 9 * USEC_PER_SEC, "5 5 * * *");
    check_next(CONTINUE("'workflowRunTimeout':'315576000000s','workflowTaskTimeout':'315576000000s',"
                        "'backoffStartInterval':'315576000000s'"),
               "Type", "queue", PB_WAIT_US_MAX, LIMIT_MAX_TASK_TIMEOUT_MS * USEC_PER_MS, PB_WAIT_US_MAX,
               "0 0 * * *");
}

/* retries and schedules of a run */

static int fail_run_with(struct core *f, const char *start, int64_t lived_us,
                         Google__Protobuf__Duration *delay) {
    Ws__StartWorkflowExecutionRequest *req =
        message_of(&f->arena, &ws__start_workflow_execution_request__descriptor, start);
    if (!req)
        return ERR_NO_MEMORY;
    f->start = *req;
    int rc = core_begin_run(f);
    if (rc < 0)
        return rc;
    f->ctx.namespace_name = "here";
    f->ctx.origin = core_attributes(f, 1, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
    if (!f->ctx.origin)
        return ERR_NO_MEMORY;
    core_advance(f, lived_us);
    Command__FailWorkflowExecutionCommandAttributes *fail = core_add_fail(f);
    if (!fail || !fail->failure)
        return ERR_NO_MEMORY;
    fail->failure->application_failure_info->next_retry_delay = delay;
    return core_complete(f);
}

static int fail_run(struct core *f, const char *start, int64_t lived_us) {
    return fail_run_with(f, start, lived_us, NULL);
}

#define START "'workflowId':'w','workflowType':{'name':'T'},'taskQueue':{'name':'q'}"

TEST(chain_goes_on_after_a_failure) {
    static const struct {
        const char *start;
        int64_t lived_us;
        E__RetryState state;
        bool goes_on;
    } cases[] = {
        {"{" START "}", 0, RETRY_STATE_RETRY_POLICY_NOT_SET, false},
        {"{" START ",'retryPolicy':{}}", 0, RETRY_STATE_IN_PROGRESS, true},
        {"{" START ",'retryPolicy':{'maximumAttempts':2}}", 0, RETRY_STATE_IN_PROGRESS, true},
        {"{" START
         ",'retryPolicy':{},'searchAttributes':{'indexedFields':{'BatcherUser':'me','BuildIds':['b']}}}",
         0, RETRY_STATE_IN_PROGRESS, true},
        {"{" START ",'retryPolicy':{'maximumAttempts':1}}", 0, RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED, false},
        {"{" START ",'retryPolicy':{'nonRetryableErrorTypes':['Bad']}}", 0, RETRY_STATE_NON_RETRYABLE_FAILURE,
         false},
        {"{" START ",'retryPolicy':{},'workflowExecutionTimeout':'10s'}", 0, RETRY_STATE_IN_PROGRESS, true},
        {"{" START ",'retryPolicy':{},'workflowExecutionTimeout':'10s'}", 9500000, RETRY_STATE_TIMEOUT,
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(fail_run(&f, cases[i].start, cases[i].lived_us), 0);
        const History__WorkflowExecutionFailedEventAttributes *a =
            core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_FAILED);
        REQUIRE(a);
        CHECK_INT(a->retry_state, cases[i].state);
        CHECK_INT(!cstr_is_empty(a->new_execution_run_id), cases[i].goes_on);
        CHECK_INT(f.s.next != NULL, cases[i].goes_on);
    }
}

/* The failure may name the wait; one that there cannot be is as none. */
TEST(chain_waits_as_the_failure_says) {
    static const struct {
        int64_t seconds;
        int64_t wait_us;
    } cases[] = {{30, 30 * USEC_PER_SEC}, {-30, USEC_PER_SEC}, {INT64_MAX, PB_WAIT_US_MAX}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        Google__Protobuf__Duration *delay = core_duration(&f, 0);
        REQUIRE(delay);
        delay->seconds = cases[i].seconds;
        CHECK_INT(fail_run_with(&f, "{" START ",'retryPolicy':{}}", 0, delay), 0);
        REQUIRE(f.s.next && f.s.next->st);
        CHECK_INT(f.s.next->st->first_task_due_us - f.now_us, cases[i].wait_us);
    }
}

/* A schedule that cannot be read any more, as when its zone is gone, ends the chain. */
TEST(chain_ends_with_its_schedule) {
    cleanup(core_done) struct core f;
    bool failed = false;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    REQUIRE(f.st);
    pb_set_string(&f.st->cron_schedule, "CRON_TZ=Gone/Zone 0 * * * *", &failed);
    REQUIRE(!failed);
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    CHECK(!f.s.next && f.st && cstr_is_empty(f.st->new_run_id));
}

/* Nor does it hold up a start: it begins at once. */
TEST(chain_begins_without_its_schedule) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.cron_schedule = core_text(&f, "CRON_TZ=Gone/Zone 0 * * * *");
    CHECK_INT(core_start(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2");
}

static const History__HistoryEvent *first_of_next(struct core *f) {
    ProtobufCMessage *m = NULL;
    if (!f->s.next ||
        wire_decode(&history__history__descriptor, buf_str(&f->s.next->events), &f->arena, &m, NULL) < 0)
        return NULL;
    const History__History *h = (const History__History *)m;
    return h->n_events ? h->events[0] : NULL;
}

/* A run that nobody's workflow started is the root of whatever it starts; its events come after those of
 * the run before. */
TEST(chain_numbers_its_events_upwards) {
    for (int is_retry = 0; is_retry < 2; is_retry++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(is_retry ? fail_run(&f, "{" START ",'retryPolicy':{}}", 0) : command_run(&f, CONTINUE("")),
                  0);
        const History__HistoryEvent *last = core_event(&f, 5), *first = first_of_next(&f);
        REQUIRE(last && first && f.st);
        CHECK(first->task_id > last->task_id);
        CHECK_INT(first->event_id, 1);
        CHECK_STR(f.s.next->st->root_run_id, f.s.next->st->run_id);
        CHECK(!cstr_eq(f.s.next->st->root_run_id, f.st->run_id));
    }
}

TEST(chain_of_a_schedule_is_begun_by_it) {
    static const struct {
        const char *start;
        E__ContinueAsNewInitiator initiator;
    } cases[] = {
        {"{" START "}", CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED},
        {"{" START ",'retryPolicy':{}}", CONTINUE_AS_NEW_INITIATOR_UNSPECIFIED},
        {"{" START ",'cronSchedule':'* * * * *'}", CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        Ws__StartWorkflowExecutionRequest *req =
            message_of(&f.arena, &ws__start_workflow_execution_request__descriptor, cases[i].start);
        REQUIRE(req);
        f.start = *req;
        CHECK_INT(core_start(&f), 0);
        const History__WorkflowExecutionStartedEventAttributes *a =
            core_attributes(&f, 1, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
        REQUIRE(a);
        CHECK_INT(a->initiator, cases[i].initiator);
    }
}

/* What is null is not there: neither in the event that continues the run, nor in the first of the next. */
TEST(continue_tells_no_nulls) {
    static const struct {
        const char *command;
        size_t memo, attributes;
    } cases[] = {
        {CONTINUE("'memo':{'fields':{'a':null,'b':1}},'searchAttributes':{'indexedFields':"
                  "{'BatcherUser':null,'TemporalChangeVersion':['v']}}"),
         1, 1},
        {CONTINUE("'memo':{'fields':{'a':null}},'searchAttributes':{'indexedFields':{'BatcherUser':null}}"),
         0, 0},
        {CONTINUE("'memo':{},'searchAttributes':{}"), 0, 0},
        {CONTINUE(""), 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        core_init(&f);
        CHECK_INT(command_run(&f, cases[i].command), 0);
        const History__WorkflowExecutionContinuedAsNewEventAttributes *a =
            core_attributes(&f, 5, EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW);
        const History__HistoryEvent *first = first_of_next(&f);
        REQUIRE(a && first);
        CHECK(!a->initiator && !a->backoff_start_interval); /* it says what the command said */
        CHECK_INT(a->memo ? a->memo->n_fields : 0, cases[i].memo);
        CHECK(!a->memo == !cases[i].memo);
        CHECK_INT(a->search_attributes ? a->search_attributes->n_indexed_fields : 0, cases[i].attributes);
        CHECK(!a->search_attributes == !cases[i].attributes);
        const History__WorkflowExecutionStartedEventAttributes *b =
            first->workflow_execution_started_event_attributes;
        CHECK_INT(b->initiator, CONTINUE_AS_NEW_INITIATOR_WORKFLOW);
        CHECK(!b->memo == !cases[i].memo);
        CHECK(!b->search_attributes == !cases[i].attributes);
    }
}
