/* Bad input: every rule about a field of a request, with the code and the text that the client gets.
 *
 * One row is one request that is wrong in one place. What a row changes stands next to its text; the
 * rest of the request is good. */
#include "engine_fixture.h"

#define NO_RUN "33333333-3333-4333-8333-333333333333"
#define GONE_TEXT "invalid activityID or activity already timed out or invoking workflow is completed"
#define LONG(m) make_long_text((m), 1001)

struct bad {
    void (*send)(struct rig *r, struct ask *a);
    int code;
    const char *text;
};

static void check_all(const struct bad *all, size_t count) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    for (size_t i = 0; i < count; i++) {
        all[i].send(&r, &a);
        CHECK_FAILS(&a, all[i].code, all[i].text);
    }
}

/* A sender that begins with a good request, which is called q, changes it, and sends it. */
#define SENDER(name, Type, begin, rpc, change)                                                               \
    static void name(struct rig *r, struct ask *a) {                                                         \
        Type *q = begin(r, a);                                                                               \
        struct arena *m = ask_arena(a);                                                                      \
        (void)m;                                                                                             \
        change;                                                                                              \
        RIG_SEND(r, a, rpc, q);                                                                              \
    }

static Google__Protobuf__Duration *negative(struct arena *m) {
    return make_duration(m, -USEC_PER_SEC);
}

/* start */

static Ws__StartWorkflowExecutionRequest *good_start(struct rig *r, struct ask *a) {
    return ask_start(r, a, "wf");
}

static void set_retry_policy(struct arena *m, Ws__StartWorkflowExecutionRequest *q, double coefficient) {
    q->retry_policy = MAKE(m, Common__RetryPolicy, common__retry_policy__init);
    q->retry_policy->backoff_coefficient = coefficient;
}

static void set_cron_and_delay(struct arena *m, Ws__StartWorkflowExecutionRequest *q) {
    q->cron_schedule = make_text(m, "* * * * *");
    q->workflow_start_delay = make_duration(m, USEC_PER_SEC);
}

static void set_callback(struct arena *m, Ws__StartWorkflowExecutionRequest *q) {
    q->completion_callbacks = arena_array(m, Common__Callback *, 1);
    ensure(q->completion_callbacks);
    q->completion_callbacks[0] = MAKE(m, Common__Callback, common__callback__init);
    q->n_completion_callbacks = 1;
}

static void set_policies(Ws__StartWorkflowExecutionRequest *q, int reuse, int conflict) {
    q->workflow_id_reuse_policy = (E__WorkflowIdReusePolicy)reuse;
    q->workflow_id_conflict_policy = (E__WorkflowIdConflictPolicy)conflict;
}

static Common__Link **links(struct arena *m, size_t count) {
    Common__Link **all = arena_array(m, Common__Link *, count);
    ensure(all);
    for (size_t i = 0; i < count; i++)
        all[i] = MAKE(m, Common__Link, common__link__init);
    return all;
}

static Google__Protobuf__Duration *malformed(struct arena *m) {
    Google__Protobuf__Duration *d = make_duration(m, 0);
    d->nanos = 1000000000;
    return d;
}

#define START(name, change)                                                                                  \
    SENDER(name, Ws__StartWorkflowExecutionRequest, good_start, start_workflow, change)
START(start_no_namespace, q->namespace_ = make_text(m, ""))
START(start_long_namespace, q->namespace_ = LONG(m))
START(start_unknown_namespace, q->namespace_ = make_text(m, "nope"))
START(start_no_id, q->workflow_id = make_text(m, ""))
START(start_long_id, q->workflow_id = LONG(m))
START(start_no_type, q->workflow_type = NULL)
START(start_empty_type, q->workflow_type->name = make_text(m, ""))
START(start_long_type, q->workflow_type->name = LONG(m))
START(start_no_queue, q->task_queue = NULL)
START(start_empty_queue, q->task_queue->name = make_text(m, ""))
START(start_long_queue, q->task_queue->name = LONG(m))
START(start_reserved_queue, q->task_queue->name = make_text(m, "/_sys/x"))
START(start_long_request_id, q->request_id = LONG(m))
START(start_long_identity, q->identity = LONG(m))
START(start_negative_execution_timeout, q->workflow_execution_timeout = negative(m))
START(start_negative_run_timeout, q->workflow_run_timeout = negative(m))
START(start_negative_task_timeout, q->workflow_task_timeout = negative(m))
START(start_negative_delay, q->workflow_start_delay = negative(m))
START(start_malformed_delay, q->workflow_start_delay = malformed(m))
START(start_bad_policy, set_retry_policy(m, q, 0.5))
START(start_cron_and_delay, set_cron_and_delay(m, q))
START(start_bad_cron, q->cron_schedule = make_text(m, "never"))
START(start_callback, set_callback(m, q))
START(start_two_terminations,
      set_policies(q, WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING, WORKFLOW_ID_CONFLICT_POLICY_FAIL))
START(start_reject_and_terminate, set_policies(q, WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
                                               WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING))
START(start_many_links, q->links = links(m, q->n_links = 11))

TEST(input_of_start) {
    static const struct bad all[] = {
        {start_no_namespace, ERR_INVALID, "Namespace is not set on request."},
        {start_long_namespace, ERR_INVALID, "Namespace length exceeds limit."},
        {start_unknown_namespace, ERR_NO_NAMESPACE, "Namespace nope is not found."},
        {start_no_id, ERR_INVALID, "WorkflowId is not set on request."},
        {start_long_id, ERR_INVALID, "WorkflowId length exceeds limit."},
        {start_no_type, ERR_INVALID, "WorkflowType is not set on request."},
        {start_empty_type, ERR_INVALID, "WorkflowType is not set on request."},
        {start_long_type, ERR_INVALID, "WorkflowType length exceeds limit."},
        {start_no_queue, ERR_INVALID, "TaskQueue is not set on request."},
        {start_empty_queue, ERR_INVALID, "TaskQueue is not set on request."},
        {start_long_queue, ERR_INVALID, "TaskQueue length exceeds limit."},
        {start_reserved_queue, ERR_INVALID, "task queue name cannot start with reserved prefix /_sys/"},
        {start_long_request_id, ERR_INVALID, "RequestId length exceeds limit."},
        {start_long_identity, ERR_INVALID, "Identity length exceeds limit."},
        {start_negative_execution_timeout, ERR_INVALID,
         "Invalid WorkflowExecutionTimeout: it must not be negative."},
        {start_negative_run_timeout, ERR_INVALID, "Invalid WorkflowRunTimeout: it must not be negative."},
        {start_negative_task_timeout, ERR_INVALID, "Invalid WorkflowTaskTimeout: it must not be negative."},
        {start_negative_delay, ERR_INVALID, "Invalid WorkflowStartDelay: it must not be negative."},
        {start_malformed_delay, ERR_INVALID, "Invalid WorkflowStartDelay: it must not be negative."},
        {start_bad_policy, ERR_INVALID, "BackoffCoefficient cannot be less than 1 on retry policy."},
        {start_cron_and_delay, ERR_INVALID, "CronSchedule and WorkflowStartDelay may not be used together."},
        {start_callback, ERR_UNIMPLEMENTED, "unknown callback variant"},
        {start_two_terminations, ERR_INVALID,
         "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be used "
         "together "
         "with a WorkflowIDConflictPolicy."},
        {start_reject_and_terminate, ERR_INVALID,
         "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used together "
         "with "
         "WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING."},
        {start_many_links, ERR_INVALID, "cannot attach more than 10 links per request"},
    };
    check_all(all, ARRAY_LEN(all));
}

TEST(input_of_start_with_a_cron_that_cannot_be_read) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_bad_cron(&r, &a);
    CHECK_INT(a.err.code, ERR_INVALID);
}

TEST(input_of_start_at_its_limits_is_good) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    Ws__StartWorkflowExecutionRequest *q = ask_start(&r, &a, "");
    struct arena *m = ask_arena(&a);
    q->workflow_id = q->workflow_type->name = q->task_queue->name = q->request_id = q->identity =
        make_long_text(m, 1000);
    q->links = links(m, q->n_links = 10);
    RIG_SEND(&r, &a, start_workflow, q);
    CHECK_OK(&a);
}

/* polls */

static Ws__PollWorkflowTaskQueueRequest *good_poll(struct rig *r, struct ask *a) {
    return ask_poll(r, a, "queue");
}

static Ws__PollActivityTaskQueueRequest *good_poll_activity(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__PollActivityTaskQueueRequest *q =
        MAKE(m, Ws__PollActivityTaskQueueRequest, ws__poll_activity_task_queue_request__init);
    q->namespace_ = make_text(m, "default");
    q->task_queue = make_queue(m, "queue");
    return q;
}

#define POLL(name, change)                                                                                   \
    SENDER(poll_##name, Ws__PollWorkflowTaskQueueRequest, good_poll, poll_workflow_task, change)             \
    SENDER(poll_activity_##name, Ws__PollActivityTaskQueueRequest, good_poll_activity, poll_activity_task,   \
           change)
POLL(no_namespace, q->namespace_ = make_text(m, ""))
POLL(unknown_namespace, q->namespace_ = make_text(m, "nope"))
POLL(no_queue, q->task_queue = NULL)
POLL(empty_queue, q->task_queue->name = make_text(m, ""))
POLL(long_queue, q->task_queue->name = LONG(m))
POLL(reserved_queue, q->task_queue->name = make_text(m, "/_sys/x"))
POLL(long_identity, q->identity = LONG(m))

#define POLL_ROW(name, code, text)                                                                           \
    {poll_##name, code, text}, {                                                                             \
        poll_activity_##name, code, text                                                                     \
    }

TEST(input_of_polls) {
    static const struct bad all[] = {
        POLL_ROW(no_namespace, ERR_INVALID, "Namespace is not set on request."),
        POLL_ROW(unknown_namespace, ERR_NO_NAMESPACE, "Namespace nope is not found."),
        POLL_ROW(no_queue, ERR_INVALID, "TaskQueue is not set on request."),
        POLL_ROW(empty_queue, ERR_INVALID, "TaskQueue is not set on request."),
        POLL_ROW(long_queue, ERR_INVALID, "TaskQueue length exceeds limit."),
        POLL_ROW(reserved_queue, ERR_INVALID, "task queue name cannot start with reserved prefix /_sys/"),
        POLL_ROW(long_identity, ERR_INVALID, "Identity length exceeds limit."),
    };
    check_all(all, ARRAY_LEN(all));
}

/* calls that name an execution */

static Ws__SignalWorkflowExecutionRequest *good_signal(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__SignalWorkflowExecutionRequest *q =
        MAKE(m, Ws__SignalWorkflowExecutionRequest, ws__signal_workflow_execution_request__init);
    q->namespace_ = make_text(m, "default");
    q->workflow_execution = make_execution(m, "nobody", "");
    q->signal_name = make_text(m, "signal");
    return q;
}

static Ws__RequestCancelWorkflowExecutionRequest *good_cancel(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__RequestCancelWorkflowExecutionRequest *q = MAKE(m, Ws__RequestCancelWorkflowExecutionRequest,
                                                        ws__request_cancel_workflow_execution_request__init);
    q->namespace_ = make_text(m, "default");
    q->workflow_execution = make_execution(m, "nobody", "");
    return q;
}

static Ws__TerminateWorkflowExecutionRequest *good_terminate(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__TerminateWorkflowExecutionRequest *q =
        MAKE(m, Ws__TerminateWorkflowExecutionRequest, ws__terminate_workflow_execution_request__init);
    q->namespace_ = make_text(m, "default");
    q->workflow_execution = make_execution(m, "nobody", "");
    return q;
}

static Ws__DescribeWorkflowExecutionRequest *good_describe(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__DescribeWorkflowExecutionRequest *q =
        MAKE(m, Ws__DescribeWorkflowExecutionRequest, ws__describe_workflow_execution_request__init);
    q->namespace_ = make_text(m, "default");
    q->execution = make_execution(m, "nobody", "");
    return q;
}

static Ws__GetWorkflowExecutionHistoryRequest *good_history(struct rig *r, struct ask *a) {
    return ask_history(r, a, "nobody");
}

static Ws__GetWorkflowExecutionHistoryReverseRequest *good_reverse(struct rig *r, struct ask *a) {
    struct arena *m = ask_begin(r, a);
    Ws__GetWorkflowExecutionHistoryReverseRequest *q =
        MAKE(m, Ws__GetWorkflowExecutionHistoryReverseRequest,
             ws__get_workflow_execution_history_reverse_request__init);
    q->namespace_ = make_text(m, "default");
    q->execution = make_execution(m, "nobody", "");
    return q;
}

static Ws__QueryWorkflowRequest *good_query(struct rig *r, struct ask *a) {
    return ask_query(r, a, "nobody");
}

/* The same change to each of the seven; `ex` is what the request calls its execution. */
#define EACH(name, change, change_ex)                                                                        \
    SENDER(signal_##name, Ws__SignalWorkflowExecutionRequest, good_signal, signal_workflow,                  \
           change_ex(q->workflow_execution);                                                                 \
           change)                                                                                           \
    SENDER(cancel_##name, Ws__RequestCancelWorkflowExecutionRequest, good_cancel, request_cancel,            \
           change_ex(q->workflow_execution);                                                                 \
           change)                                                                                           \
    SENDER(terminate_##name, Ws__TerminateWorkflowExecutionRequest, good_terminate, terminate_workflow,      \
           change_ex(q->workflow_execution);                                                                 \
           change)                                                                                           \
    SENDER(describe_##name, Ws__DescribeWorkflowExecutionRequest, good_describe, describe_workflow,          \
           change_ex(q->execution);                                                                          \
           change)                                                                                           \
    SENDER(history_##name, Ws__GetWorkflowExecutionHistoryRequest, good_history, get_history,                \
           change_ex(q->execution);                                                                          \
           change)                                                                                           \
    SENDER(reverse_##name, Ws__GetWorkflowExecutionHistoryReverseRequest, good_reverse, get_history_reverse, \
           change_ex(q->execution);                                                                          \
           change)                                                                                           \
    SENDER(query_##name, Ws__QueryWorkflowRequest, good_query, query_workflow, change_ex(q->execution);      \
           change)
#define SAME(ex)
#define NO_EXECUTION(ex) ex = NULL
#define NO_ID(ex) ex->workflow_id = make_text(m, "")
#define LONG_ID(ex) ex->workflow_id = LONG(m)
#define BAD_RUN_ID(ex) ex->run_id = make_text(m, "not-a-uuid")
#define UNKNOWN_RUN_ID(ex) ex->run_id = make_text(m, NO_RUN)
EACH(no_namespace, q->namespace_ = make_text(m, ""), SAME)
EACH(unknown_namespace, q->namespace_ = make_text(m, "nope"), SAME)
EACH(no_execution, , NO_EXECUTION)
EACH(no_id, , NO_ID)
EACH(long_id, , LONG_ID)
EACH(bad_run_id, , BAD_RUN_ID)
EACH(unknown_run_id, , UNKNOWN_RUN_ID)
EACH(unknown_id, , SAME)

#define EACH_ROW(name, code, text)                                                                           \
    {signal_##name, code, text}, {cancel_##name, code, text}, {terminate_##name, code, text},                \
        {describe_##name, code, text}, {history_##name, code, text}, {reverse_##name, code, text}, {         \
        query_##name, code, text                                                                             \
    }

TEST(input_of_calls_that_name_an_execution) {
    static const struct bad all[] = {
        EACH_ROW(no_namespace, ERR_INVALID, "Namespace is not set on request."),
        EACH_ROW(unknown_namespace, ERR_NO_NAMESPACE, "Namespace nope is not found."),
        EACH_ROW(no_execution, ERR_INVALID, "Execution is not set on request."),
        EACH_ROW(no_id, ERR_INVALID, "WorkflowId is not set on request."),
        EACH_ROW(long_id, ERR_INVALID, "WorkflowId length exceeds limit."),
        EACH_ROW(bad_run_id, ERR_INVALID, "Invalid RunId."),
        EACH_ROW(unknown_run_id, ERR_NOT_FOUND, "workflow execution not found"),
        EACH_ROW(unknown_id, ERR_NOT_FOUND, "workflow not found for ID: nobody"),
    };
    check_all(all, ARRAY_LEN(all));
}

#define SIGNAL(name, change)                                                                                 \
    SENDER(name, Ws__SignalWorkflowExecutionRequest, good_signal, signal_workflow, change)
SIGNAL(signal_no_name, q->signal_name = make_text(m, ""))
SIGNAL(signal_long_name, q->signal_name = LONG(m))
SIGNAL(signal_long_request_id, q->request_id = LONG(m))
SIGNAL(signal_many_links, q->links = links(m, q->n_links = 11))
#define QUERY(name, change) SENDER(name, Ws__QueryWorkflowRequest, good_query, query_workflow, change)
QUERY(query_no_query, q->query = NULL)
QUERY(query_no_type, q->query->query_type = make_text(m, ""))
QUERY(query_long_type, q->query->query_type = LONG(m))

TEST(input_of_signals_and_queries) {
    static const struct bad all[] = {
        {signal_no_name, ERR_INVALID, "SignalName is not set on request."},
        {signal_long_name, ERR_INVALID, "SignalName length exceeds limit."},
        {signal_long_request_id, ERR_INVALID, "RequestId length exceeds limit."},
        {signal_many_links, ERR_INVALID, "cannot attach more than 10 links per request"},
        {query_no_query, ERR_INVALID, "Query is not set on request."},
        {query_no_type, ERR_INVALID, "QueryType is not set on request."},
        {query_long_type, ERR_INVALID, "QueryType length exceeds limit."},
    };
    check_all(all, ARRAY_LEN(all));
}

TEST(input_run_id_of_another_workflow_is_not_found) {
    cleanup(ask_done) struct ask a = {0}, start = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &start, "wf");
    const Ws__StartWorkflowExecutionResponse *s = start.response;
    REQUIRE(s);
    Ws__DescribeWorkflowExecutionRequest *q = good_describe(&r, &a);
    q->execution->run_id = make_text(ask_arena(&a), s->run_id);
    RIG_SEND(&r, &a, describe_workflow, q);
    CHECK_FAILS(&a, ERR_NOT_FOUND, "workflow execution not found");
}

/* calls that carry a task token */

#define ANSWER(name, Type, init, rpc)                                                                        \
    static void name(struct rig *r, struct ask *a, const char *space, struct str token) {                    \
        struct arena *m = ask_begin(r, a);                                                                   \
        Type *q = MAKE(m, Type, init);                                                                       \
        q->namespace_ = make_text(m, space);                                                                 \
        q->task_token = make_bytes(m, (ProtobufCBinaryData){token.n, (uint8_t *)(uintptr_t)token.p});        \
        RIG_SEND(r, a, rpc, q);                                                                              \
    }
ANSWER(answer_task, Ws__RespondWorkflowTaskCompletedRequest,
       ws__respond_workflow_task_completed_request__init, complete_workflow_task)
ANSWER(fail_task, Ws__RespondWorkflowTaskFailedRequest, ws__respond_workflow_task_failed_request__init,
       fail_workflow_task)
ANSWER(heartbeat, Ws__RecordActivityTaskHeartbeatRequest, ws__record_activity_task_heartbeat_request__init,
       heartbeat_activity)
ANSWER(answer_activity, Ws__RespondActivityTaskCompletedRequest,
       ws__respond_activity_task_completed_request__init, complete_activity)
ANSWER(fail_activity, Ws__RespondActivityTaskFailedRequest, ws__respond_activity_task_failed_request__init,
       fail_activity)
ANSWER(cancel_activity, Ws__RespondActivityTaskCanceledRequest,
       ws__respond_activity_task_canceled_request__init, cancel_activity)
ANSWER(answer_query, Ws__RespondQueryTaskCompletedRequest, ws__respond_query_task_completed_request__init,
       answer_query)

static const struct answer {
    void (*send)(struct rig *r, struct ask *a, const char *space, struct str token);
    bool is_activity;
} answers[] = {{answer_task, false},    {fail_task, false},    {heartbeat, true},
               {answer_activity, true}, {fail_activity, true}, {cancel_activity, true}};

static void namespace_id(struct rig *r, const char *name, struct uuid_text *ret) {
    cleanup(ask_done) struct ask a = {0};
    struct arena *m = ask_begin(r, &a);
    Ws__DescribeNamespaceRequest *q =
        MAKE(m, Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
    q->namespace_ = make_text(m, name);
    RIG_SEND(r, &a, describe_namespace, q);
    const Ws__DescribeNamespaceResponse *d = a.response;
    ensure(d && strlen(d->namespace_info->id) == UUID_TEXT_LEN);
    memcpy(ret->s, d->namespace_info->id, sizeof(ret->s));
}

/* A token that a client has made itself. */
static struct str make_token(uint8_t packed[256], char *space, char *workflow_id, char *run_id) {
    State__TaskToken t = STATE__TASK_TOKEN__INIT;
    t.namespace_id = space;
    t.workflow_id = workflow_id;
    t.run_id = run_id;
    t.scheduled_event_id = 5;
    t.attempt = 1;
    return str_bytes(packed, state__task_token__pack(&t, packed));
}

TEST(input_task_tokens) {
    cleanup(ask_done) struct ask a = {0}, start = {0};
    cleanup(rig_done) struct rig r;
    struct uuid_text home = {{0}}, other = {{0}};
    char none[] = "", wf[] = "wf", nobody[] = "nobody", no_run[] = NO_RUN, run[UUID_TEXT_LEN + 1] = "";
    uint8_t packed[256];
    rig_init(&r);
    rig_start(&r, &start, "wf");
    const Ws__StartWorkflowExecutionResponse *s = start.response;
    REQUIRE(s);
    memcpy(run, s->run_id, UUID_TEXT_LEN);
    namespace_id(&r, "default", &home);
    namespace_id(&r, "other", &other);
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        const struct answer *c = &answers[i];
        c->send(&r, &a, "", make_token(packed, home.s, wf, no_run)); /* the token's namespace will do */
        CHECK_FAILS(&a, ERR_NOT_FOUND, c->is_activity ? GONE_TEXT : "workflow execution not found");
        c->send(&r, &a, "", make_token(packed, none, wf, run));
        CHECK_FAILS(&a, ERR_INVALID, "Namespace is not set on request.");
        c->send(&r, &a, "", make_token(packed, no_run, wf, run));
        CHECK_FAILS(&a, ERR_NO_NAMESPACE, "Namespace " NO_RUN " is not found.");
        c->send(&r, &a, "nope", make_token(packed, home.s, wf, run));
        CHECK_FAILS(&a, ERR_NO_NAMESPACE, "Namespace nope is not found.");
        c->send(&r, &a, "default", STR(""));
        CHECK_FAILS(&a, ERR_INVALID, "Task token not set on request.");
        c->send(&r, &a, "default", STR("garbage"));
        CHECK_FAILS(&a, ERR_BAD_TOKEN, "Error deserializing task token.");
        c->send(&r, &a, "default", make_token(packed, other.s, wf, run));
        CHECK_FAILS(&a, ERR_INVALID, "Operation requested with a token from a different namespace.");
        c->send(&r, &a, "default", make_token(packed, home.s, wf, no_run));
        CHECK_FAILS(&a, ERR_NOT_FOUND, c->is_activity ? GONE_TEXT : "workflow execution not found");
        c->send(&r, &a, "default", make_token(packed, home.s, nobody, run));
        CHECK_FAILS(&a, ERR_NOT_FOUND, c->is_activity ? GONE_TEXT : "workflow execution not found");
        c->send(&r, &a, "default", make_token(packed, home.s, wf, run));
        CHECK_FAILS(&a, ERR_NOT_FOUND, c->is_activity ? GONE_TEXT : "Workflow task not found.");
    }
    rig_terminate(&r, &a, "wf");
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        const struct answer *c = &answers[i];
        c->send(&r, &a, "default", make_token(packed, home.s, wf, run));
        CHECK_INT(a.err.code, c->is_activity ? ERR_NOT_FOUND : ERR_CLOSED);
        CHECK_STR(a.err.text, c->is_activity ? GONE_TEXT : "workflow execution already completed");
    }
}

TEST(input_query_tokens) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    struct uuid_text home = {{0}}, other = {{0}};
    uint8_t packed[256];
    char queue[] = "queue", task[] = NO_RUN;
    State__QueryToken t = STATE__QUERY_TOKEN__INIT;
    rig_init(&r);
    namespace_id(&r, "default", &home);
    namespace_id(&r, "other", &other);
    answer_query(&r, &a, "", STR(""));
    CHECK_FAILS(&a, ERR_INVALID, "Task token not set on request.");
    answer_query(&r, &a, "default", STR("garbage"));
    CHECK_FAILS(&a, ERR_BAD_TOKEN, "Error deserializing task token.");
    t.namespace_id = other.s;
    t.task_queue = queue;
    t.task_id = task;
    answer_query(&r, &a, "default", str_bytes(packed, state__query_token__pack(&t, packed)));
    CHECK_FAILS(&a, ERR_INVALID, "Operation requested with a token from a different namespace.");
    t.namespace_id = home.s;
    answer_query(&r, &a, "default", str_bytes(packed, state__query_token__pack(&t, packed)));
    CHECK_FAILS(&a, ERR_NOT_FOUND, "query task not found, or already expired");
    answer_query(&r, &a, "", str_bytes(packed, state__query_token__pack(&t, packed)));
    CHECK_FAILS(&a, ERR_NOT_FOUND, "query task not found, or already expired");
}

TEST(input_of_activity_answers) {
    cleanup(ask_done) struct ask a = {0}, p = {0}, act = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    rig_start(&r, &a, "wf");
    rig_poll(&r, &p, "queue");
    Ws__RespondWorkflowTaskCompletedRequest *done = ask_completion(&r, &a, &p);
    add_command(&a, done, make_activity(ask_arena(&a), "act"));
    RIG_SEND(&r, &a, complete_workflow_task, done);
    rig_poll_activity(&r, &act);
    REQUIRE(ask_token(&act).n > 0);
    struct arena *m = ask_begin(&r, &a);
    Ws__RespondActivityTaskFailedRequest *q =
        MAKE(m, Ws__RespondActivityTaskFailedRequest, ws__respond_activity_task_failed_request__init);
    q->namespace_ = make_text(m, "default");
    q->task_token = make_bytes(m, ((const Ws__PollActivityTaskQueueResponse *)act.response)->task_token);
    q->failure = MAKE(m, Failure__Failure, failure__failure__init);
    q->failure->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_SERVER_FAILURE_INFO;
    q->failure->server_failure_info = MAKE(m, Failure__ServerFailureInfo, failure__server_failure_info__init);
    RIG_SEND(&r, &a, fail_activity, q);
    CHECK_FAILS(&a, ERR_INVALID, "Failure must have ApplicationFailureInfo.");
    cancel_activity(&r, &a, "default", ask_token(&act));
    CHECK_INT(a.err.code, ERR_INVALID); /* nobody has asked for it */
    answer_task(&r, &a, "default", ask_token(&act)); /* the token of another kind of task */
    CHECK_FAILS(&a, ERR_NOT_FOUND, "Workflow task not found.");
    rig_complete_activity(&r, &a, &act);
    CHECK_OK(&a);
}

/* the rest */

static Ws__DescribeNamespaceRequest *empty_describe(struct rig *r, struct ask *a) {
    return MAKE(ask_begin(r, a), Ws__DescribeNamespaceRequest, ws__describe_namespace_request__init);
}

static Ws__ShutdownWorkerRequest *empty_shutdown(struct rig *r, struct ask *a) {
    return MAKE(ask_begin(r, a), Ws__ShutdownWorkerRequest, ws__shutdown_worker_request__init);
}

#define SPACE(name, change)                                                                                  \
    SENDER(name, Ws__DescribeNamespaceRequest, empty_describe, describe_namespace, change)
SPACE(space_none, )
SPACE(space_unknown, q->namespace_ = make_text(m, "nope"))
SPACE(space_long, q->namespace_ = LONG(m))
SPACE(space_unknown_id, q->id = make_text(m, NO_RUN))
SPACE(space_bad_id, q->id = make_text(m, "nope"))
SENDER(shutdown_no_namespace, Ws__ShutdownWorkerRequest, empty_shutdown, shutdown_worker, )
SENDER(shutdown_unknown, Ws__ShutdownWorkerRequest, empty_shutdown, shutdown_worker,
       q->namespace_ = make_text(m, "nope"))

TEST(input_of_namespace_and_worker_calls) {
    static const struct bad all[] = {
        {space_none, ERR_INVALID, "Namespace is not set on request."},
        {space_unknown, ERR_NO_NAMESPACE, "Namespace nope is not found."},
        {space_long, ERR_INVALID, "Namespace length exceeds limit."},
        {space_unknown_id, ERR_NO_NAMESPACE, "Namespace " NO_RUN " is not found."},
        {space_bad_id, ERR_NO_NAMESPACE, "Namespace nope is not found."},
        {shutdown_no_namespace, ERR_INVALID, "Namespace is not set on request."},
        {shutdown_unknown, ERR_NO_NAMESPACE, "Namespace nope is not found."},
    };
    check_all(all, ARRAY_LEN(all));
}

TEST(input_error_names_the_namespace) {
    cleanup(ask_done) struct ask a = {0};
    cleanup(rig_done) struct rig r;
    rig_init(&r);
    start_unknown_namespace(&r, &a);
    CHECK_STR(a.err.subject, "nope");
}
