/* Starting a run: its first events, the rules of the request, timeouts, delay, and ids that are taken. */
#include "core_fixture.h"
#include "message_text.h"

#include "core/step/validate.h"

#define SEC USEC_PER_SEC
#define DAY (86400 * SEC)

static const History__WorkflowExecutionStartedEventAttributes *started(struct core *f) {
    return core_attributes(f, 1, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
}

TEST(start_event_says_everything) {
    cleanup(core_done) struct core f;
    core_init(&f);
    f.start.input = core_payloads(&f, "in");
    f.start.workflow_execution_timeout = core_duration(&f, 100 * SEC);
    CHECK_INT(core_start(&f), 0);
    const History__WorkflowExecutionStartedEventAttributes *a = started(&f);
    REQUIRE(a && a->workflow_type && a->task_queue && a->input && f.st);
    CHECK_STR(a->workflow_type->name, "Type");
    CHECK_STR(a->task_queue->name, "queue");
    CHECK_INT(a->task_queue->kind, TASK_QUEUE_KIND_NORMAL);
    CHECK_SLICE(pb_bytes(&a->input->payloads[0]->data), STR("in"));
    CHECK_STR(a->original_execution_run_id, f.st->run_id);
    CHECK_STR(a->first_execution_run_id, f.st->run_id);
    CHECK_STR(a->identity, "client");
    CHECK_INT(a->attempt, 1);
    CHECK_STR(a->workflow_id, "wf");
    CHECK(!a->root_workflow_execution); /* it is its own root */
    CHECK_STR(f.st->root_workflow_id, "wf");
    CHECK_STR(f.st->root_run_id, f.st->run_id);
    CHECK_INT(pb_duration_us(a->first_workflow_task_backoff), 0);
    REQUIRE(a->workflow_execution_expiration_time);
    CHECK_INT(a->workflow_execution_expiration_time->seconds * SEC, CORE_T0 + 100 * SEC);
    CHECK_INT(core_event_us(&f, 1), CORE_T0);
    CHECK_INT(f.st->status, WORKFLOW_EXECUTION_STATUS_RUNNING);
    CHECK_INT(f.st->start_us, CORE_T0);
    CHECK_STR(f.st->start_request_id, "start-request");
}

TEST(start_event_carries_metadata_links_and_memo_without_nulls) {
    cleanup(core_done) struct core f;
    core_init(&f);
    Sdk__UserMetadata metadata = SDK__USER_METADATA__INIT;
    Common__Link link = COMMON__LINK__INIT, *links[] = {&link};
    Common__Memo memo = COMMON__MEMO__INIT;
    Common__Memo__FieldsEntry keep = COMMON__MEMO__FIELDS_ENTRY__INIT, drop = keep,
                              *fields[] = {&keep, &drop};
    metadata.summary = core_payload(&f, "json/plain", "\"why\"");
    keep.key = core_text(&f, "keep");
    keep.value = core_payload(&f, "json/plain", "1");
    drop.key = core_text(&f, "drop");
    drop.value = core_payload(&f, "binary/null", "");
    REQUIRE(keep.key && drop.key);
    memo.fields = fields;
    memo.n_fields = 2;
    f.start.user_metadata = &metadata;
    f.start.links = links;
    f.start.n_links = 1;
    f.start.memo = &memo;
    CHECK_INT(core_start(&f), 0);
    const History__HistoryEvent *ev = core_event(&f, 1);
    const History__WorkflowExecutionStartedEventAttributes *a = started(&f);
    REQUIRE(ev && ev->user_metadata && ev->user_metadata->summary && a && a->memo);
    CHECK_INT(ev->n_links, 1);
    REQUIRE(a->memo->n_fields == 1);
    CHECK_STR(a->memo->fields[0]->key, "keep");
}

TEST(start_normalises_timeouts) {
    /* seconds: execution, run, task; the same three as they stand in the event */
    static const int64_t cases[][6] = {
        {0, 0, 0, 0, 0, 10},
        {100, 0, 0, 100, 100, 10},
        {100, 50, 0, 100, 50, 10},
        {50, 100, 0, 50, 50, 10},
        {0, 30, 60, 0, 30, 30},
        {0, 0, 300, 0, 0, 120},
        {0, 0, 120, 0, 0, 120},
        {0, 5, 0, 0, 5, 5},
        {0, 0, 1, 0, 0, 1},
        {3, 0, 0, 3, 3, 3},
        {1000000, 0, 7, 1000000, 1000000, 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int64_t *c = cases[i];
        cleanup(core_done) struct core f;
        core_init(&f);
        f.start.workflow_execution_timeout = core_duration(&f, c[0] * SEC);
        f.start.workflow_run_timeout = core_duration(&f, c[1] * SEC);
        f.start.workflow_task_timeout = core_duration(&f, c[2] * SEC);
        CHECK_INT(core_start(&f), 0);
        const History__WorkflowExecutionStartedEventAttributes *a = started(&f);
        REQUIRE(a);
        CHECK_INT(pb_duration_us(a->workflow_execution_timeout), c[3] * SEC);
        CHECK_INT(pb_duration_us(a->workflow_run_timeout), c[4] * SEC);
        CHECK_INT(pb_duration_us(a->workflow_task_timeout), c[5] * SEC);
    }
}

TEST(start_caps_endless_timeouts_at_a_century) {
    cleanup(core_done) struct core f;
    core_init(&f);
    Google__Protobuf__Duration forever = GOOGLE__PROTOBUF__DURATION__INIT;
    forever.seconds = INT64_MAX;
    f.start.workflow_execution_timeout = f.start.workflow_run_timeout = f.start.workflow_task_timeout =
        &forever;
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->execution_timeout_us, LIMIT_DURATION_DAYS * DAY);
    CHECK_INT(f.st->run_timeout_us, LIMIT_DURATION_DAYS * DAY);
    CHECK_INT(f.st->task_timeout_us, LIMIT_MAX_TASK_TIMEOUT_MS * USEC_PER_MS);
}

/* start delay */

static int start_delayed(struct core *f) {
    f->start.workflow_start_delay = core_duration(f, 60 * SEC);
    f->start.workflow_run_timeout = core_duration(f, 10 * SEC);
    return core_start(f);
}

TEST(start_delay_holds_the_first_task_back) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_delayed(&f), 0);
    CHECK_STR(core_new(&f), "RUN_STARTED@1");
    CHECK_STR(core_effects(&f), "");
    const History__WorkflowExecutionStartedEventAttributes *a = started(&f);
    REQUIRE(a && f.st);
    CHECK_INT(pb_duration_us(a->first_workflow_task_backoff), 60 * SEC);
    CHECK_INT(f.st->execution_us, CORE_T0 + 60 * SEC);
    CHECK_INT(run_due_us(f.st), CORE_T0 + 60 * SEC);
    CHECK_INT(f.st->run_expires_us, CORE_T0 + 70 * SEC); /* the delay does not eat the timeout */
    core_advance(&f, 60 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@2");
    CHECK_STR(core_effects(&f), "TASK@2");
}

TEST(start_delay_outlasts_a_signal) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_delayed(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_signal(&f, "s"), 0);
    CHECK_STR(core_new(&f), "RUN_SIGNALED@2");
    CHECK_STR(core_effects(&f), "");
    core_advance(&f, 60 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), "TASK_SCHEDULED@3");
}

TEST(start_delay_ends_with_a_cancel_request) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_delayed(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_cancel(&f), 0);
    CHECK_STR(core_new(&f), "RUN_CANCEL_REQUESTED@2 TASK_SCHEDULED@3");
    core_advance(&f, 60 * SEC);
    CHECK_INT(core_tick(&f), 0);
    CHECK_STR(core_new(&f), ""); /* not a second first task */
}

TEST(start_delay_does_not_protect_from_terminate) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(start_delayed(&f), 0);
    (void)core_new(&f);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_STR(core_new(&f), "RUN_TERMINATED@2");
    CHECK(f.st && run_due_us(f.st) == CLOCK_NEVER);
}

/* when the id is taken */

#define RUN_TEXT " WorkflowId: wf, RunId: 22222222-2222-4222-8222-222222222222."
#define RUNNING WORKFLOW_EXECUTION_STATUS_RUNNING
#define REUSE(x) WORKFLOW_ID_REUSE_POLICY_##x
#define CONFLICT(x) WORKFLOW_ID_CONFLICT_POLICY_##x
#define STATUS(x) WORKFLOW_EXECUTION_STATUS_##x

static const struct verdict {
    int status, reuse, conflict;
    enum start_verdict want;
    const char *text;
} verdicts[] = {
    {RUNNING, REUSE(UNSPECIFIED), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution is already running." RUN_TEXT},
    {RUNNING, REUSE(ALLOW_DUPLICATE), CONFLICT(FAIL), START_REFUSED,
     "Workflow execution is already running." RUN_TEXT},
    {RUNNING, REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution is already running." RUN_TEXT},
    {RUNNING, REUSE(REJECT_DUPLICATE), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution is already running." RUN_TEXT},
    {RUNNING, REUSE(ALLOW_DUPLICATE), CONFLICT(USE_EXISTING), START_EXISTING, ""},
    {RUNNING, REUSE(REJECT_DUPLICATE), CONFLICT(USE_EXISTING), START_EXISTING, ""},
    {RUNNING, REUSE(ALLOW_DUPLICATE), CONFLICT(TERMINATE_EXISTING), START_TERMINATE_FIRST, ""},
    {RUNNING, REUSE(TERMINATE_IF_RUNNING), CONFLICT(UNSPECIFIED), START_TERMINATE_FIRST, ""},
    {STATUS(COMPLETED), REUSE(UNSPECIFIED), CONFLICT(UNSPECIFIED), START_NEW, ""},
    {STATUS(COMPLETED), REUSE(ALLOW_DUPLICATE), CONFLICT(FAIL), START_NEW, ""},
    {STATUS(COMPLETED), REUSE(ALLOW_DUPLICATE), CONFLICT(USE_EXISTING), START_NEW, ""},
    {STATUS(COMPLETED), REUSE(TERMINATE_IF_RUNNING), CONFLICT(UNSPECIFIED), START_NEW, ""},
    {STATUS(COMPLETED), REUSE(REJECT_DUPLICATE), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution already finished." RUN_TEXT},
    {STATUS(FAILED), REUSE(REJECT_DUPLICATE), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution already finished." RUN_TEXT},
    {STATUS(COMPLETED), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution already finished successfully." RUN_TEXT},
    {STATUS(CONTINUED_AS_NEW), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_REFUSED,
     "Workflow execution already finished successfully." RUN_TEXT},
    {STATUS(FAILED), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_NEW, ""},
    {STATUS(CANCELED), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_NEW, ""},
    {STATUS(TERMINATED), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_NEW, ""},
    {STATUS(TIMED_OUT), REUSE(ALLOW_DUPLICATE_FAILED_ONLY), CONFLICT(UNSPECIFIED), START_NEW, ""},
};

TEST(start_of_a_taken_id_is_judged_by_the_policies) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++) {
        const struct verdict *v = &verdicts[i];
        Ws__StartWorkflowExecutionRequest req = f.start;
        struct err err = {0};
        f.st->status = v->status;
        req.workflow_id_reuse_policy = (E__WorkflowIdReusePolicy)v->reuse;
        req.workflow_id_conflict_policy = (E__WorkflowIdConflictPolicy)v->conflict;
        CHECK_INT(run_validate_start(&req, NULL, NULL, NULL, &err), 0);
        CHECK_INT(run_judge_start(&req, "other-request", f.st, &err), v->want);
        CHECK_STR(err.text, v->text);
        if (v->want != START_REFUSED)
            continue;
        CHECK_INT(err.code, ERR_ALREADY_STARTED);
        CHECK_STR(err.subject, "start-request");
        CHECK_STR(err.run_id.s, f.st->run_id);
        CHECK_STR(err.first_run_id.s, f.st->first_run_id);
    }
}

TEST(start_with_the_same_request_id_is_the_same_start) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    REQUIRE(f.st);
    f.start.workflow_id_reuse_policy = WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE;
    CHECK_INT(run_judge_start(&f.start, "start-request", f.st, &f.err), START_SAME);
    f.st->status = WORKFLOW_EXECUTION_STATUS_COMPLETED;
    CHECK_INT(run_judge_start(&f.start, "start-request", f.st, &f.err), START_SAME);
}

/* A chain cannot gather more callbacks than a run may have, nor a signal come with its start when none may.
 */
TEST(start_that_takes_over_too_much) {
    cleanup(core_done) struct core f;
    static const struct run_birth birth = {"11111111-1111-4111-8111-111111111111",
                                           "22222222-2222-4222-8222-222222222222", "r"};
    bool failed = false;
    core_init(&f);
    Ws__StartWorkflowExecutionRequest *req =
        message_of(&f.arena, &ws__start_workflow_execution_request__descriptor,
                   "{'workflowId':'w','workflowType':{'name':'T'},'taskQueue':{'name':'q'},"
                   "'completionCallbacks':[{'nexus':{'url':'http://a'}},{'nexus':{'url':'http://b'}}]}");
    REQUIRE(req);
    f.limits.values[SETTABLE_CALLBACKS] = 1;
    f.st = pb_new(&state__execution__descriptor, &failed);
    CHECK_INT(STEP(&f, run_start(&f.s, &birth, req)), ERR_INVALID);
    CHECK(!f.st);
    run_name_in_error(NULL, NULL); /* whoever wants no error gets none */
}
