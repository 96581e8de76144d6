/* Callbacks: which addresses are taken, when they are sent, how often, and what they carry. */
#include "core/message/callback.h"

#include "core/run/attach.h"
#include "core_fixture.h"
#include "message_text.h"

static const struct core_limits open_limits = {.allows_callbacks = true};

struct nexus {
    Common__Callback callback, *list[1];
    Common__Callback__Nexus nexus;
    Common__Callback__Nexus__HeaderEntry header, *headers[1];
};

static void nexus_init(struct nexus *n, char *url, char *name, char *value) {
    common__callback__init(&n->callback);
    common__callback__nexus__init(&n->nexus);
    common__callback__nexus__header_entry__init(&n->header);
    n->callback.variant_case = COMMON__CALLBACK__VARIANT_NEXUS;
    n->callback.nexus = &n->nexus;
    n->list[0] = &n->callback;
    n->headers[0] = &n->header;
    n->nexus.url = url;
    n->header.key = name;
    n->header.value = value;
    n->nexus.header = n->headers;
    n->nexus.n_header = name ? 1 : 0;
}

TEST(callback_addresses) {
    char long_url[1100], long_value[9000];
    memset(long_url, 'x', sizeof long_url - 1);
    memcpy(long_url, "http://", 7);
    long_url[sizeof long_url - 1] = 0;
    memset(long_value, 'x', sizeof long_value - 1);
    long_value[sizeof long_value - 1] = 0;
    struct {
        const char *url, *name, *value;
        int rc;
    } cases[] = {
        {"http://a", NULL, NULL, 0},
        {"http://a:1/b?c", "Some-Name", "value", 0},
        {"https://a", NULL, NULL, ERR_INVALID},
        {"", NULL, NULL, ERR_INVALID},
        {"http://", NULL, NULL, ERR_INVALID},
        {"http:///a", NULL, NULL, ERR_INVALID},
        {"http://:80", NULL, NULL, ERR_INVALID},
        {"http://a b", NULL, NULL, ERR_INVALID},
        {"http://a\r\nX: y", NULL, NULL, ERR_INVALID},
        {long_url, NULL, NULL, ERR_INVALID},
        {"http://a", "", "v", ERR_INVALID},
        {"http://a", "a b", "v", ERR_INVALID},
        {"http://a", "a", "v\r\nb: c", ERR_INVALID},
        {"http://a", "a", "v\x7f", ERR_INVALID},
        {"http://a", "a", long_value, ERR_INVALID},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct nexus n;
        struct err err;
        nexus_init(&n, (char *)(uintptr_t)cases[i].url, (char *)(uintptr_t)cases[i].name,
                   (char *)(uintptr_t)cases[i].value);
        CHECK_INT(callback_validate(n.list, 1, &open_limits, &err), cases[i].rc);
    }
}

TEST(callbacks_need_the_operators_consent) {
    struct nexus n;
    struct err err;
    char url[] = "http://a";
    nexus_init(&n, url, NULL, NULL);
    CHECK_INT(callback_validate(n.list, 1, NULL, &err), ERR_INVALID);
    CHECK_STR(err.text, "invalid url: url does not match any configured callback address: http://a");
    CHECK_INT(callback_validate(n.list, 1, &(struct core_limits){0}, &err), ERR_INVALID);
    n.callback.variant_case = COMMON__CALLBACK__VARIANT__NOT_SET;
    CHECK_INT(callback_validate(n.list, 1, &open_limits, &err), ERR_UNIMPLEMENTED);
    CHECK_INT(callback_validate(n.list, 33, &open_limits, &err), ERR_INVALID);
}

static int start_with_callback(struct core *f, struct nexus *n) {
    nexus_init(n, core_text(f, "http://a/b"), core_text(f, "X-Key"), core_text(f, "v"));
    if (arena_failed(&f->arena))
        return ERR_NO_MEMORY;
    f->start.completion_callbacks = n->list;
    f->start.n_completion_callbacks = 1;
    return core_begin_run(f);
}

TEST(callback_is_scheduled_by_the_close) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    REQUIRE(f.st && f.st->n_callbacks == 1);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_STANDBY);
    const History__WorkflowExecutionStartedEventAttributes *started =
        core_attributes(&f, 1, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED);
    REQUIRE(started && started->n_completion_callbacks == 1);
    CHECK_STR(started->completion_callbacks[0]->nexus->header[0]->key, "x-key");
    core_add_complete(&f);
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_SCHEDULED);
    CHECK(f.s.effect_count == 2 && f.s.effects[0].kind == EFFECT_CALLBACK);
}

TEST(callback_is_tried_again_ever_more_slowly) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    CHECK_INT(core_terminate(&f), 0);
    int64_t wait = USEC_PER_SEC;
    for (int i = 1; i <= 14; i++) {
        CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 0, CALLBACK_LATER, "busy")), 0);
        REQUIRE(f.st && f.st->callbacks[0]->last_failure);
        CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_BACKING_OFF);
        CHECK_INT(f.st->callbacks[0]->attempt, i);
        CHECK_STR(f.st->callbacks[0]->last_failure->message, "busy");
        CHECK_INT(run_due_us(f.st) - f.now_us, wait);
        core_advance(&f, wait);
        CHECK_INT(core_tick(&f), 0);
        REQUIRE(f.st);
        CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_SCHEDULED);
        CHECK_INT(run_due_us(f.st), CLOCK_NEVER);
        wait = MIN(wait * 2, 3600 * USEC_PER_SEC);
    }
    CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 0, CALLBACK_DONE, "")), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_SUCCEEDED);
    CHECK(!f.st->callbacks[0]->last_failure);
    CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 0, CALLBACK_NEVER, "late")), 0);
    CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 1, CALLBACK_NEVER, "unknown")), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_SUCCEEDED);
}

/* The answer of a stranger's server is shown to clients, which insist on UTF-8. */
TEST(callback_answer_in_another_encoding) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 0, CALLBACK_LATER,
                                            "\xDC"
                                            "berlastet")),
              0);
    REQUIRE(f.st && f.st->n_callbacks == 1 && f.st->callbacks[0]->last_failure);
    CHECK_STR(f.st->callbacks[0]->last_failure->message, "berlastet");
}

TEST(callback_answers) {
    static const struct {
        int status;
        enum callback_verdict verdict;
    } cases[] = {{200, CALLBACK_DONE},  {204, CALLBACK_DONE},  {0, CALLBACK_LATER},   {408, CALLBACK_LATER},
                 {429, CALLBACK_LATER}, {500, CALLBACK_LATER}, {503, CALLBACK_LATER}, {400, CALLBACK_NEVER},
                 {404, CALLBACK_NEVER}, {501, CALLBACK_NEVER}, {301, CALLBACK_LATER}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(callback_judge(cases[i].status), cases[i].verdict);
}

TEST(callbacks_move_on_with_the_chain) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    Command__Command *c = core_add(&f, COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION);
    Command__ContinueAsNewWorkflowExecutionCommandAttributes *a =
        arena_new(&f.arena, Command__ContinueAsNewWorkflowExecutionCommandAttributes);
    REQUIRE(c && a);
    command__continue_as_new_workflow_execution_command_attributes__init(a);
    c->attributes_case = COMMAND__COMMAND__ATTRIBUTES_CONTINUE_AS_NEW_WORKFLOW_EXECUTION_COMMAND_ATTRIBUTES;
    c->continue_as_new_workflow_execution_command_attributes = a;
    CHECK_INT(core_complete(&f), 0);
    REQUIRE(f.st && f.s.next && f.s.next->st && f.st->n_callbacks == 1 && f.s.next->st->n_callbacks == 1);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_STANDBY);
    REQUIRE(!step_failed(&f.s));
    CHECK_STR(f.s.next->st->callbacks[0]->callback->nexus->url, "http://a/b");
}

/* When fewer are allowed than it has, a run goes on all the same: the limit is for new ones. */
TEST(callback_limit_that_is_lowered_does_not_end_a_chain) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    Common__Callback *two[] = {&n.callback, &n.callback};
    CHECK_INT(STEP(&f, callback_attach(&f.s, two, 2, "more")), 0);
    f.limits.values[SETTABLE_CALLBACKS] = 2;
    CHECK_INT(STEP(&f, callback_attach(&f.s, NULL, 0, "")), 0);
    CHECK_INT(STEP(&f, callback_attach(&f.s, two, 1, "more")), ERR_INVALID);
}

static const char *header(const struct callback_request *q, const char *name) {
    for (size_t i = 0; i < q->header_count; i++)
        if (cstr_eq(q->headers[i].name, name))
            return q->headers[i].value;
    return "";
}

TEST(callback_carries_the_outcome) {
    cleanup(core_done) struct core f;
    struct nexus n;
    struct callback_request q;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    REQUIRE(f.st && f.st->n_callbacks == 1);
    History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
    History__WorkflowExecutionCompletedEventAttributes done =
        HISTORY__WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES__INIT;
    Common__Payloads result = COMMON__PAYLOADS__INIT;
    Common__Payload *payload = core_payload(&f, "json/plain", "\"x\"");
    result.payloads = &payload;
    result.n_payloads = 1;
    done.result = &result;
    close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
    close.attributes_case = HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES;
    close.workflow_execution_completed_event_attributes = &done;
    REQUIRE(payload);
    f.st->close_us = CORE_T0 + 1500000;
    if (callback_compose(&f.arena, f.st, "a b", 0, &close, &q) < 0)
        return;
    CHECK_STR(q.url, "http://a/b");
    CHECK(str_is(q.body, "\"x\""));
    CHECK_STR(header(&q, "x-key"), "v");
    CHECK_STR(header(&q, "nexus-operation-state"), "succeeded");
    CHECK_STR(header(&q, "content-type"), "application/json");
    CHECK_STR(header(&q, "nexus-operation-start-time"), "Tue, 14 Nov 2023 22:13:20 GMT");
    CHECK_STR(header(&q, "nexus-operation-close-time"), "2023-11-14T22:13:21.500000Z");
    CHECK(strstr(header(&q, "nexus-link"), "<temporal:///namespaces/a%20b/workflows/wf/"));
    payload = core_payload(&f, "binary/encrypted", "z");
    if (!payload || callback_compose(&f.arena, f.st, "ns", 0, &close, &q) < 0)
        return;
    CHECK_STR(header(&q, "content-type"), "application/x-temporal-payload");
    close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED;
    if (callback_compose(&f.arena, f.st, "ns", 0, &close, &q) < 0)
        return;
    CHECK_STR(header(&q, "nexus-operation-state"), "failed");
    CHECK(str_is(q.body, "{\"message\":\"operation terminated\"}"));
}

TEST(attached_request_is_known_again_also_while_its_event_waits) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_begin_run(&f), 0);
    Ws__StartWorkflowExecutionRequest req = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    Workflow__OnConflictOptions o = WORKFLOW__ON_CONFLICT_OPTIONS__INIT;
    req.on_conflict_options = &o;
    REQUIRE(f.st);
    CHECK(!attach_is_wanted(f.st, &req, "r"));
    o.attach_completion_callbacks = true;
    CHECK_INT(attach_validate(&req, &f.err), ERR_INVALID);
    o.attach_request_id = true;
    CHECK_INT(attach_validate(&req, &f.err), 0);
    CHECK(attach_is_wanted(f.st, &req, "r"));
    (void)core_new(&f);
    CHECK_INT(STEP(&f, attach_start(&f.s, &req, "r")), 0);
    REQUIRE(f.st);
    CHECK_STR(core_new(&f), "");
    CHECK(!attach_is_wanted(f.st, &req, "r"));
    const State__AttachedRequest *r = attach_find(f.st, "r");
    REQUIRE(r);
    CHECK_INT(r->event_id, 0);
    CHECK_INT(run_judge_start(&req, "r", f.st, &f.err), START_EXISTING);
    CHECK_INT(core_complete(&f), 0);
    CHECK_STR(core_new(&f), "TASK_STARTED@3 TASK_COMPLETED@4 RUN_OPTIONS_UPDATED@5 TASK_SCHEDULED@6");
    r = f.st ? attach_find(f.st, "r") : NULL;
    REQUIRE(r);
    CHECK_INT(r->event_id, 5);
}

/* One that was sent already is not sent again by a close that comes later. */
TEST(callback_is_triggered_once) {
    cleanup(core_done) struct core f;
    struct nexus n;
    core_init(&f);
    CHECK_INT(start_with_callback(&f, &n), 0);
    CHECK_INT(core_terminate(&f), 0);
    CHECK_INT(STEP_VOID(&f, callback_report(&f.s, 0, CALLBACK_DONE, "")), 0);
    CHECK_INT(STEP_VOID(&f, callback_trigger(&f.s)), 0);
    REQUIRE(f.st);
    CHECK_INT(f.st->callbacks[0]->state, CALLBACK_STATE_SUCCEEDED);
}

/* What a result travels as: its type, and its bytes. */
TEST(callback_content) {
    static const struct {
        const char *close, *type, *body;
    } cases[] = {
        {"{}", "", ""},
        {"{'result':{'payloads':[]}}", "", ""},
        {"{'result':{'payloads':[{'metadata':{'encoding':'YmluYXJ5L251bGw='}}]}}", "", ""}, /* binary/null */
        {"{'result':{'payloads':[{'metadata':{'encoding':'YmluYXJ5L3BsYWlu'},'data':'eHl6'}]}}", /* /plain */
         "application/octet-stream", "xyz"},
        {"{'result':{'payloads':[{'metadata':{'encoding':'anNvbi9wcm90b2J1Zg==','messageType':'YS5C'},"
         "'data':'e30='}]}}",
         "application/json; format=protobuf; message-type=\"a.B\"", "{}"},
        {"{'result':{'payloads':[{'metadata':{'encoding':'YmluYXJ5L3Byb3RvYnVm','messageType':'YS5C'},"
         "'data':'eHl6'}]}}",
         "application/x-protobuf; message-type=\"a.B\"", "xyz"},
        {"{'result':{'payloads':[{'metadata':{'encoding':'YmluYXJ5L290aGVy','messageType':'YS5C'},'data':'"
         "eHl6'}]}}",
         "application/x-temporal-payload", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        struct nexus n;
        struct callback_request q;
        History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
        core_init(&f);
        CHECK_INT(start_with_callback(&f, &n), 0);
        close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
        close.workflow_execution_completed_event_attributes = message_of(
            &f.arena, &history__workflow_execution_completed_event_attributes__descriptor, cases[i].close);
        REQUIRE(f.st && close.workflow_execution_completed_event_attributes);
        REQUIRE(callback_compose(&f.arena, f.st, "ns", 0, &close, &q) == 0);
        CHECK_STR(header(&q, "content-type"), cases[i].type);
        if (cases[i].body)
            CHECK(str_is(q.body, cases[i].body));
    }
}

/* A type that would not stand in quotes is not put there. */
TEST(callback_content_of_an_odd_type) {
    static const char *const types[] = {"", "a b", "a\"b", "a\\b", "a\x7f", "a\xc3\xa9"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        cleanup(core_done) struct core f;
        struct nexus n;
        struct callback_request q;
        History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
        core_init(&f);
        CHECK_INT(start_with_callback(&f, &n), 0);
        Common__Payloads *result = core_payloads(&f, "x");
        Common__Payload__MetadataEntry type = COMMON__PAYLOAD__METADATA_ENTRY__INIT, *entries[2];
        History__WorkflowExecutionCompletedEventAttributes done =
            HISTORY__WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES__INIT;
        char *text = core_text(&f, types[i]), *key = core_text(&f, "messageType");
        REQUIRE(f.st && result && text && key);
        type.key = key;
        type.value = (ProtobufCBinaryData){strlen(text), (uint8_t *)text};
        entries[0] = result->payloads[0]->metadata[0];
        entries[1] = &type;
        result->payloads[0]->metadata = entries;
        result->payloads[0]->n_metadata = 2;
        done.result = result;
        close.event_type = EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
        close.workflow_execution_completed_event_attributes = &done;
        REQUIRE(callback_compose(&f.arena, f.st, "ns", 0, &close, &q) == 0);
        CHECK_STR(header(&q, "content-type"), "application/x-temporal-payload");
    }
}

TEST(callback_tells_of_a_failure) {
    static const struct {
        E__EventType type;
        const char *attributes, *state, *body;
    } cases[] = {
        {EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, "{}", "failed", "{\"message\":\"operation failed\"}"},
        {EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, "{'failure':{'message':'a \\'b\\\\ c\\n'}}", "failed",
         "{\"message\":\"a \\\"b\\\\ c\\u000a\"}"},
        {EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, "{}", "canceled", "{\"message\":\"operation canceled\"}"},
        {EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT, "{}", "failed",
         "{\"message\":\"operation exceeded internal timeout\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        cleanup(core_done) struct core f;
        struct nexus n;
        struct callback_request q;
        History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
        core_init(&f);
        CHECK_INT(start_with_callback(&f, &n), 0);
        close.event_type = cases[i].type;
        close.workflow_execution_failed_event_attributes = message_of(
            &f.arena, &history__workflow_execution_failed_event_attributes__descriptor, cases[i].attributes);
        REQUIRE(f.st && close.workflow_execution_failed_event_attributes);
        REQUIRE(callback_compose(&f.arena, f.st, "ns", 0, &close, &q) == 0);
        CHECK_STR(header(&q, "nexus-operation-state"), cases[i].state);
        CHECK_SLICE(q.body, str_of(cases[i].body));
    }
}

/* What the caller asked for stands; nothing is there twice. */
TEST(callback_keeps_the_headers_of_its_caller) {
    cleanup(core_done) struct core f;
    struct nexus n;
    struct callback_request q;
    History__HistoryEvent close = HISTORY__HISTORY_EVENT__INIT;
    core_init(&f);
    nexus_init(&n, core_text(&f, "http://a/b"), core_text(&f, "User-Agent"), core_text(&f, "mine"));
    REQUIRE(!arena_failed(&f.arena));
    f.start.completion_callbacks = n.list;
    f.start.n_completion_callbacks = 1;
    CHECK_INT(core_begin_run(&f), 0);
    REQUIRE(f.st);
    REQUIRE(callback_compose(&f.arena, f.st, "ns", 0, &close, &q) == 0);
    size_t agents = 0;
    for (size_t i = 0; i < q.header_count; i++)
        agents += cstr_eq(q.headers[i].name, "user-agent");
    CHECK_INT(agents, 1);
    CHECK_STR(header(&q, "user-agent"), "mine");
}

/* what a start attaches */

static Ws__StartWorkflowExecutionRequest *attach_of(struct core *f, const char *text) {
    return message_of(&f->arena, &ws__start_workflow_execution_request__descriptor, text);
}

TEST(attach_only_links) {
    cleanup(core_done) struct core f;
    core_init(&f);
    CHECK_INT(core_start(&f), 0);
    const Ws__StartWorkflowExecutionRequest *bare =
        attach_of(&f, "{'onConflictOptions':{'attachLinks':true}}");
    const Ws__StartWorkflowExecutionRequest *req =
        attach_of(&f, "{'onConflictOptions':{'attachLinks':true},'links':[{'batchJob':{'jobId':'j'}}]}");
    REQUIRE(f.st && bare && req);
    CHECK_INT(attach_validate(req, &f.err), 0);
    CHECK(!attach_is_wanted(f.st, bare, "r")); /* nothing to attach */
    CHECK(attach_is_wanted(f.st, req, "r"));
    (void)core_new(&f);
    CHECK_INT(STEP(&f, attach_start(&f.s, req, "r")), 0);
    CHECK_STR(core_new(&f), "RUN_OPTIONS_UPDATED@3");
    REQUIRE(f.st);
    CHECK(!attach_find(f.st, "r"));
    const History__HistoryEvent *ev = core_event(&f, 3);
    REQUIRE(ev);
    CHECK_INT(ev->n_links, 1);
    CHECK_INT(core_terminate(&f), 0);
    CHECK(f.st && !attach_is_wanted(f.st, req, "r"));
}
