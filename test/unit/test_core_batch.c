/* Batch jobs without an engine: what may be asked for, how far a job has come, what is shown of it. */
#include "core/batch/batch.h"

#include <stdio.h>

#include "core/step/limits.h"
#include "core_fixture.h"
#include "message_text.h"
#include "wire/guard.h"

#define BUDGET ((size_t)4 << 20)
#define JOB "'namespace':'n','jobId':'j','reason':'r',"
#define QUERY JOB "'visibilityQuery':'WorkflowType=\\'T\\'',"
#define REQUIRED                                                                                             \
    "must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR Executions OR "      \
    "TargetExecutions)"
#define CHOICE "Either activity type must be set, or match all should be set to true"
#define OPTIONS "Either activity options must be set, or restore original should be set to true"

static Ws__StartBatchOperationRequest *request_of(struct arena *a, const char *text) {
    return message_of(a, &ws__start_batch_operation_request__descriptor, text);
}

struct line {
    const char *request;
    const char *want; /* "" is fine */
};

static void check_lines(const struct line *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cleanup(arena_done) struct arena a;
        struct err err = {0};
        arena_init(&a, BUDGET);
        const Ws__StartBatchOperationRequest *req = request_of(&a, lines[i].request);
        REQUIRE(req);
        CHECK_INT(batch_validate(req, NULL, &err), *lines[i].want ? ERR_INVALID : 0);
        if (!CHECK_STR(err.text, lines[i].want))
            printf("# %s\n", lines[i].request);
    }
}

TEST(batch_requests) {
    static const struct line lines[] = {
        {"{" QUERY "'terminationOperation':{}}", ""},
        {"{" QUERY "'terminationOperation':{},'maxOperationsPerSecond':5}", ""},
        {"{" QUERY "'maxOperationsPerSecond':1}", REQUIRED},
        {"{'namespace':'n','jobId':'j','visibilityQuery':'x','terminationOperation':{}}", REQUIRED},
        {"{'jobId':'j','reason':'r','visibilityQuery':'x','terminationOperation':{}}", REQUIRED},
        {"{" JOB "'terminationOperation':{}}", REQUIRED},
        {"{'namespace':'n','reason':'r','visibilityQuery':'x','terminationOperation':{}}",
         "JobId is not set on request."},
        {"{" QUERY "'executions':[{'workflowId':'w'}],'terminationOperation':{}}",
         "visibility query, executions, and target executions are mutually exclusive"},
        {"{'namespace':'n','jobId':'j','reason':'LONG','visibilityQuery':'x','terminationOperation':{}}",
         "Reason length exceeds limit."},
        {"{" QUERY "'terminationOperation':{},'maxOperationsPerSecond':-1}",
         "MaxOperationsPerSecond must not be negative."},
        {"{" QUERY "'terminationOperation':{},'maxOperationsPerSecond':'NaN'}",
         "MaxOperationsPerSecond must not be negative."},
        {"{" QUERY "'terminationOperation':{},'maxOperationsPerSecond':'Infinity'}",
         "MaxOperationsPerSecond must not be negative."},
        {"{" QUERY "'terminationOperation':{'identity':'LONG'}}", "Identity length exceeds limit."},
        {"{" QUERY "'cancelActivitiesOperation':{}}",
         "this operation is about standalone activities, which this server does not have"},
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(batch_operations) {
    static const struct line lines[] = {
        {"{" QUERY "'cancellationOperation':{}}", ""},
        {"{" QUERY "'deletionOperation':{}}", ""},
        {"{" QUERY "'signalOperation':{'signal':'s'}}", ""},
        {"{" QUERY "'signalOperation':{}}", "must provide signal name"},
        {"{" QUERY "'signalOperation':{'signal':'LONG'}}", "SignalName length exceeds limit."},
        {"{" QUERY "'resetOperation':{}}", "unknown batch reset type 0"},
        {"{" QUERY "'resetOperation':{'resetType':1}}", ""},
        {"{" QUERY "'resetOperation':{'resetType':2}}", ""},
        {"{" QUERY "'resetOperation':{'options':{}}}", "batch reset missing target"},
        {"{" QUERY "'resetOperation':{'options':{'buildId':'b'}}}", ""},
        {"{" QUERY "'updateWorkflowOptionsOperation':{}}", "must provide UpdateOptions"},
        {"{" QUERY "'updateWorkflowOptionsOperation':{'workflowExecutionOptions':{}}}",
         "must provide UpdateMask"},
        {"{" QUERY
         "'updateWorkflowOptionsOperation':{'workflowExecutionOptions':{},'updateMask':'priority'}}",
         ""},
        {"{" QUERY "'pauseSchedulesOperation':{}}", ""},
        {"{" QUERY "'unpauseSchedulesOperation':{}}", ""},
        {"{" QUERY "'deleteSchedulesOperation':{}}", ""},
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(batch_operations_on_activities) {
    static const struct line lines[] = {
        {"{" QUERY "'unpauseActivitiesOperation':{}}", "activity filter must be set"},
        {"{" QUERY "'unpauseActivitiesOperation':{'type':''}}", CHOICE},
        {"{" QUERY "'unpauseActivitiesOperation':{'matchAll':false}}", CHOICE},
        {"{" QUERY "'unpauseActivitiesOperation':{'type':'LONG'}}", "ActivityType length exceeds limit."},
        {"{" QUERY "'unpauseActivitiesOperation':{'type':'A'}}", ""},
        {"{" QUERY "'unpauseActivitiesOperation':{'matchAll':true,'jitter':'1s'}}", ""},
        {"{" QUERY "'unpauseActivitiesOperation':{'type':'A','jitter':'-1s'}}",
         "Jitter is negative or malformed."},
        {"{" QUERY "'resetActivitiesOperation':{}}", "activity filter must be set"},
        {"{" QUERY "'resetActivitiesOperation':{'type':'A'}}", ""},
        {"{" QUERY "'resetActivitiesOperation':{'matchAll':true}}", ""},
        {"{" QUERY "'resetActivitiesOperation':{'matchAll':false}}", CHOICE},
        {"{" QUERY "'resetActivitiesOperation':{'matchAll':true,'jitter':'-1s'}}",
         "Jitter is negative or malformed."},
        {"{" QUERY "'updateActivityOptionsOperation':{}}", OPTIONS},
        {"{" QUERY "'updateActivityOptionsOperation':{'activityOptions':{},'restoreOriginal':true}}",
         "cannot set both activity options and restore original"},
        {"{" QUERY "'updateActivityOptionsOperation':{'activityOptions':{}}}", "must provide UpdateMask"},
        {"{" QUERY "'updateActivityOptionsOperation':{'activityOptions':{},'updateMask':'priority'}}",
         "activity filter must be set"},
        {"{" QUERY "'updateActivityOptionsOperation':{'restoreOriginal':true,'type':'A'}}", ""},
        {"{" QUERY "'updateActivityOptionsOperation':{'restoreOriginal':true,'matchAll':true}}", ""},
        {"{" QUERY "'updateActivityOptionsOperation':{'restoreOriginal':true,'matchAll':false}}", CHOICE},
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(batch_targets_that_are_listed) {
    static const struct line lines[] = {
        {"{" JOB "'executions':[{'workflowId':'w'}],'terminationOperation':{}}", ""},
        {"{" JOB "'executions':[{'workflowId':'w'},{}],'terminationOperation':{}}",
         "WorkflowId is not set on request."},
        {"{" JOB "'targetExecutions':[{'type':1,'businessId':'w'}],'terminationOperation':{}}", ""},
        {"{" JOB "'targetExecutions':[{'type':1,'businessId':'w','runId':'x'}],'terminationOperation':{}}",
         "Invalid RunId."},
        {"{" JOB "'targetExecutions':[{'type':1,'businessId':'s'}],'pauseSchedulesOperation':{}}",
         "target_executions[0] has type 1, but this operation requires 50000"},
    };
    check_lines(lines, ARRAY_LEN(lines));
}

TEST(batch_targets_that_are_too_many) {
    cleanup(arena_done) struct arena a;
    struct err err = {0};
    struct core_limits limits = {0};
    limits.values[SETTABLE_BATCH_EXECUTIONS] = 1;
    arena_init(&a, BUDGET);
    const Ws__StartBatchOperationRequest *req = request_of(
        &a, "{" JOB "'executions':[{'workflowId':'v'},{'workflowId':'w'}],'terminationOperation':{}}");
    REQUIRE(req);
    CHECK_INT(batch_validate(req, &limits, &err), ERR_INVALID);
    CHECK_STR(err.text, "a batch operation takes at most 1 executions; use a query for more");
}

/* What is asked for, but not more than the server allows. */
TEST(batch_rate_is_limited) {
    cleanup(arena_done) struct arena a;
    struct core_limits limits = {0};
    limits.values[SETTABLE_BATCH_RATE] = 50;
    arena_init(&a, BUDGET);
    Ws__StartBatchOperationRequest *req = request_of(&a, "{" QUERY "'terminationOperation':{}}");
    REQUIRE(req);
    CHECK_INT(batch_rate(req, &limits), 50);
    req->max_operations_per_second = 7;
    CHECK_INT(batch_rate(req, &limits), 7);
    req->max_operations_per_second = 70;
    CHECK_INT(batch_rate(req, &limits), 50);
}

TEST(batch_knows_who_asked) {
    static const struct {
        const char *operation;
        bool is_about_schedules;
    } cases[] = {
        {"terminationOperation", false},
        {"signalOperation", false},
        {"cancellationOperation", false},
        {"deletionOperation", false},
        {"resetOperation", false},
        {"updateWorkflowOptionsOperation", false},
        {"unpauseActivitiesOperation", false},
        {"resetActivitiesOperation", false},
        {"updateActivityOptionsOperation", false},
        {"pauseSchedulesOperation", true},
        {"unpauseSchedulesOperation", true},
        {"deleteSchedulesOperation", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        char text[128];
        (void)snprintf(text, sizeof(text), "{'%s':{'identity':'me'}}", cases[i].operation);
        arena_init(&a, BUDGET);
        const Ws__StartBatchOperationRequest *req = request_of(&a, text);
        REQUIRE(req);
        CHECK_STR(batch_identity(req), "me");
        CHECK_INT(batch_is_about_schedules(req), cases[i].is_about_schedules);
    }
    Ws__StartBatchOperationRequest none = WS__START_BATCH_OPERATION_REQUEST__INIT;
    CHECK_STR(batch_identity(&none), "");
}

/* queries */

static int filter_of(struct arena *a, const char *text, struct filter *ret, struct err *err) {
    const Ws__StartBatchOperationRequest *req = request_of(a, text);
    return req ? batch_filter(a, NULL, req, CORE_T0, ret, err) : ERR_NO_MEMORY;
}

TEST(batch_queries) {
    static const struct {
        const char *request;
        const char *want;
        enum predicate_kind last; /* of what is added to the query */
    } cases[] = {
        {"{" QUERY "'terminationOperation':{}}", "", PREDICATE_NOT}, /* nothing that has closed */
        {"{" QUERY "'deletionOperation':{}}", "", PREDICATE_AT_MOST},
        {"{" JOB "'visibilityQuery':'','deleteSchedulesOperation':{}}", "", PREDICATE_AT_MOST},
        {"{" JOB "'visibilityQuery':'GROUP BY ExecutionStatus','terminationOperation':{}}",
         "invalid query: operation is not supported: 'GROUP BY' clause", 0},
        {"{" JOB "'visibilityQuery':'=','terminationOperation':{}}",
         "invalid query: malformed SQL query: expected the name of a search attribute at column 1, found '='",
         0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(arena_done) struct arena a;
        struct filter filter;
        struct err err = {0};
        arena_init(&a, BUDGET);
        int rc = filter_of(&a, cases[i].request, &filter, &err);
        CHECK_INT(rc, *cases[i].want ? ERR_INVALID : 0);
        if (!CHECK_STR(err.text, cases[i].want))
            printf("# %s\n", cases[i].request);
        if (rc == 0)
            CHECK_INT(filter.where->right->kind, cases[i].last);
    }
}

/* a job */

static const struct batch_birth birth = {"11111111-1111-4111-8111-111111111111",
                                         "22222222-2222-4222-8222-222222222222"};

static int start_job(struct core *f, const char *text) {
    bool failed = false;
    const Ws__StartBatchOperationRequest *req = request_of(&f->arena, text);
    if (!req)
        return ERR_NO_MEMORY;
    f->st = pb_new(&state__execution__descriptor, &failed);
    return STEP(f, batch_start(&f->s, &birth, req));
}

TEST(batch_of_a_list) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_job(&f, "{" JOB "'executions':[{'workflowId':'v'},{'workflowId':'w'}],"
                            "'terminationOperation':{'identity':'me'}}"),
              0);
    REQUIRE(f.st);
    CHECK_INT(f.st->batch->total, 2);
    CHECK(f.st->batch->is_counted);
    CHECK_INT(STEP(&f, batch_note(&f.s, &(struct batch_note){.outcome = BATCH_COMPLETE})), 0);
    CHECK_INT(STEP(&f, batch_note(&f.s, &(struct batch_note){.outcome = BATCH_FAILURE})), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->batch->next_target, 2);
    const Ws__DescribeBatchOperationResponse *r = batch_describe(f.st, &f.arena);
    REQUIRE(r);
    CHECK_INT(r->state, BATCH_OPERATION_STATE_RUNNING);
    CHECK_INT(r->n_executions, 2);
    CHECK_STR(r->executions[1]->business_id, "w");
    CHECK_INT(r->executions[1]->type, EXECUTION_TYPE_WORKFLOW);
    CHECK_STR(r->identity, "me");
    CHECK_INT(r->complete_operation_count, 1);
    CHECK_INT(r->failure_operation_count, 1);
    CHECK(!r->close_time);
    CHECK_INT(STEP(&f, batch_end(&f.s, WORKFLOW_EXECUTION_STATUS_COMPLETED, "", "")), 0);
    CHECK_INT(STEP(&f, batch_end(&f.s, WORKFLOW_EXECUTION_STATUS_TERMINATED, "", "")), ERR_CLOSED);
    REQUIRE(f.st);
    r = batch_describe(f.st, &f.arena);
    REQUIRE(r);
    CHECK_INT(r->state, BATCH_OPERATION_STATE_COMPLETED);
    CHECK(r->close_time);
}

/* Its places are those of a list; one that was no target after all only moves it. */
TEST(batch_of_a_query) {
    State__ListToken place = STATE__LIST_TOKEN__INIT;
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_job(&f, "{" QUERY "'deleteSchedulesOperation':{}}"), 0);
    REQUIRE(f.st);
    CHECK(!f.st->batch->is_counted);
    CHECK_INT(STEP(&f, batch_count(&f.s, 3)), 0);
    CHECK_INT(STEP(&f, batch_note(&f.s, &(struct batch_note){BATCH_PASSED, &place})), 0);
    REQUIRE(f.st);
    CHECK(f.st->batch->place);
    CHECK_INT(f.st->batch->next_target, 0);
    CHECK_INT(f.st->batch->complete + f.st->batch->failure, 0);
    CHECK_INT(STEP(&f, batch_end(&f.s, WORKFLOW_EXECUTION_STATUS_TERMINATED, "enough", "me")), 0);
    REQUIRE(f.st);
    const Ws__DescribeBatchOperationResponse *r = batch_describe(f.st, &f.arena);
    REQUIRE(r);
    CHECK_INT(r->state, BATCH_OPERATION_STATE_FAILED);
    CHECK_INT(r->total_operation_count, 3);
}

TEST(batch_of_schedules_shows_them_as_such) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_job(&f,
                        "{" JOB
                        "'targetExecutions':[{'type':50000,'businessId':'s'}],'pauseSchedulesOperation':{}}"),
              0);
    REQUIRE(f.st);
    const Ws__DescribeBatchOperationResponse *r = batch_describe(f.st, &f.arena);
    REQUIRE(r);
    CHECK_INT(r->executions[0]->type, EXECUTION_TYPE_SCHEDULE);
}

/* A file that lost the request still has the job; it cannot be shown. */
TEST(batch_whose_request_is_damaged) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_job(&f, "{" QUERY "'deletionOperation':{}}"), 0);
    REQUIRE(f.st && f.st->batch->request.len > 4);
    f.st->batch->request.data[1] = 0xff;
    CHECK(!batch_describe(f.st, &f.arena));
}

/* By their request ids: a clock that was put back would make what was closed just now older than the job. */
TEST(batch_knows_its_own_resets) {
    State__Execution job = STATE__EXECUTION__INIT;
    job.run_id = (char *)(uintptr_t)birth.run_id;
    job.start_us = 100;
    static const struct {
        const char *start_request_id, *reset_request_id;
        int64_t close_us;
        bool is_own;
    } cases[] = {
        {"batch:22222222-2222-4222-8222-222222222222:r", "", 0, true},
        {"batch:22222222-2222-4222-8222-222222222222", "", 0, false},
        {"other:22222222-2222-4222-8222-222222222222:r", "", 0, false},
        {"batch:22222222-2222-4222-8222-222222222223:r", "", 0, false},
        {"mine", "", 101, false}, /* closed by itself */
        {"mine", "a client's", 101, false},
        {"mine", "batch:22222222-2222-4222-8222-222222222223:mine", 101, false},
        {"mine", "batch:22222222-2222-4222-8222-222222222222:mine", 101, true},
        {"mine", "batch:22222222-2222-4222-8222-222222222222:mine", 99, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        State__Execution target = STATE__EXECUTION__INIT;
        target.start_request_id = (char *)(uintptr_t)cases[i].start_request_id;
        target.reset_request_id = (char *)(uintptr_t)cases[i].reset_request_id;
        target.close_us = cases[i].close_us;
        if (!CHECK_INT(batch_is_own_reset(&job, &target), cases[i].is_own))
            printf("# case %zu\n", i);
    }
}
