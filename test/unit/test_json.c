/* Messages as JSON: what is written, what is read, what is refused and with which text. */
#include "common.pb-c.h"
#include "failure.pb-c.h"
#include "google/protobuf/any.pb-c.h"
#include "google/protobuf/duration.pb-c.h"
#include "google/protobuf/wrappers.pb-c.h"
#include "json/shape.h"
#include "json_fixture.h"
#include "rpc.pb-c.h"
#include "schedule.pb-c.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "workflowservice.pb-c.h"

#define EXECUTION (&common__workflow_execution__descriptor)
#define RETRY (&common__retry_policy__descriptor)
#define START (&ws__start_workflow_execution_request__descriptor)
#define CREATE (&ws__create_schedule_request__descriptor)
#define POLICIES (&schedule__schedule_policies__descriptor)
#define SPEC (&schedule__schedule_spec__descriptor)
#define PAYLOAD (&common__payload__descriptor)
#define FAILURE (&failure__failure__descriptor)
#define QUEUE (&ws__describe_task_queue_response__descriptor)
#define STATUS (&rpc__status__descriptor)
#define BATCH (&ws__update_workflow_execution_options_request__descriptor)

static const struct json_style plain;

TEST(json_reads_and_writes_each_kind_of_field) {
    static const struct json_case cases[] = {
        CASE(EXECUTION, "{}", NULL),
        CASE(EXECUTION, "{\"workflowId\":\"w\",\"runId\":\"\xc3\xa9\\n\"}", NULL),
        CASE(EXECUTION, "{\"workflow_id\":\"w\",\"run_id\":null}", "{\"workflowId\":\"w\"}"),
        CASE(EXECUTION, "{\"workflowId\":\"\"}", "{}"),
        CASE(RETRY, "{\"initialInterval\":\"1.5s\",\"backoffCoefficient\":2,\"maximumAttempts\":7}",
             "{\"initialInterval\":\"1.500s\",\"backoffCoefficient\":2,\"maximumAttempts\":7}"),
        CASE(RETRY, "{\"backoffCoefficient\":\"0.1\",\"maximumAttempts\":\"-3\"}",
             "{\"backoffCoefficient\":0.1,\"maximumAttempts\":-3}"),
        CASE(RETRY, "{\"backoffCoefficient\":\"Infinity\"}", NULL),
        CASE(RETRY, "{\"backoffCoefficient\":\"NaN\",\"nonRetryableErrorTypes\":[\"a\",\"\"]}", NULL),
        CASE(RETRY, "{\"maximumAttempts\":1e2,\"nonRetryableErrorTypes\":[]}", "{\"maximumAttempts\":100}"),
        CASE(POLICIES, "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_SKIP\"}", NULL),
        CASE(POLICIES, "{\"overlapPolicy\":\"Skip\"}",
             "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_SKIP\"}"),
        CASE(POLICIES, "{\"overlapPolicy\":\"BufferOne\"}",
             "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_BUFFER_ONE\"}"),
        CASE(POLICIES, "{\"overlapPolicy\":\"buffer_all\",\"pauseOnFailure\":true}",
             "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_BUFFER_ALL\",\"pauseOnFailure\":true}"),
        CASE(POLICIES, "{\"overlapPolicy\":2}", "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_BUFFER_ONE\"}"),
        CASE(POLICIES, "{\"overlapPolicy\":77}", NULL),
        CASE(POLICIES, "{\"overlapPolicy\":0}", "{}"),
        CASE(SPEC, "{\"interval\":[{\"interval\":\"60s\"},{}],\"startTime\":\"2026-03-01T10:00:00+01:00\"}",
             "{\"interval\":[{\"interval\":\"60s\"},{}],\"startTime\":\"2026-03-01T09:00:00Z\"}"),
        CASE(SPEC, "{\"timezoneData\":\"AP_-\"}", "{\"timezoneData\":\"AP/+\"}"),
        CASE(PAYLOAD, "{\"metadata\":{\"encoding\":\"eA==\",\"\":\"\"},\"data\":\"/w==\"}", NULL),
        CASE(FAILURE,
             "{\"message\":\"m\",\"cause\":{\"timeoutFailureInfo\":{\"timeoutType\":\"StartToClose\"}}}",
             "{\"message\":\"m\",\"cause\":{\"timeoutFailureInfo\":{\"timeoutType\":"
             "\"TIMEOUT_TYPE_START_TO_CLOSE\"}}}"),
        CASE(FAILURE, "{\"canceledFailureInfo\":{}}", NULL), /* which one of a oneof, though it is empty */
        CASE(FAILURE, "{\"canceledFailureInfo\":null,\"serverFailureInfo\":{\"nonRetryable\":false}}",
             "{\"serverFailureInfo\":{}}"),
        CASE(QUEUE, "{\"statsByPriorityKey\":{\"-5\":{\"approximateBacklogCount\":\"9223372036854775807\"}}}",
             NULL),
        CASE(BATCH, "{\"updateMask\":\"versioningOverride,a.bC\"}", NULL),
        CASE(BATCH, "{\"updateMask\":\"\"}", NULL),
        CASE(&google__protobuf__double_value__descriptor, "2.5", NULL),
        CASE(&google__protobuf__float_value__descriptor, "3.4028235e+38",
             NULL), /* as a double, above FLT_MAX */
        CASE(&google__protobuf__int64_value__descriptor, "5", "\"5\""),
        CASE(&google__protobuf__bytes_value__descriptor, "\"AA==\"", NULL),
        CASE(&google__protobuf__bool_value__descriptor, "false", NULL),
    };
    CHECK_AGAIN(cases, plain);
}

TEST(json_bytes_are_those_of_the_wire) {
    static const struct json_case cases[] = {
        CASE(EXECUTION, "{\"runId\":\"r\",\"workflowId\":\"w\"}", "0a0177120172"),
        CASE(RETRY, "{\"backoffCoefficient\":2,\"maximumAttempts\":-1}",
             "110000000000000040"
             "20ffffffffffffffffff01"),
        CASE(SPEC, "{\"jitter\":\"-0.000000001s\"}", "320b10ffffffffffffffffff01"),
        CASE(PAYLOAD, "{\"metadata\":{\"k\":\"dg==\"}}", "0a060a016b120176"),
        CASE(FAILURE, "{\"canceledFailureInfo\":{}}", "3a00"),
        CASE(BATCH, "{\"updateMask\":\"a,bC.d\"}", "220a0a01610a05625f632e64"),
        CASE(&google__protobuf__any__descriptor,
             "{\"workflowId\":\"w\",\"@type\":\"x/temporal.api.common.v1.WorkflowExecution\"}",
             "0a2a782f74656d706f72616c2e6170692e636f6d6d6f6e2e76312e576f726b666c6f77457865637574696f6e12030a0"
             "177"),
    };
    CHECK_PACKED(cases, false);
}

TEST(json_any_shows_what_is_in_it) {
    static const struct json_case cases[] = {
        CASE(STATUS,
             "{\"code\":5,\"details\":[{\"@type\":\"type.googleapis.com/temporal.api.errordetails.v1."
             "NamespaceNotFoundFailure\",\"namespace\":\"n\"}]}",
             NULL),
        CASE(STATUS,
             "{\"details\":[{\"@type\":\"type.googleapis.com/google.protobuf.Duration\",\"value\":\"1s\"}]}",
             NULL),
        CASE(STATUS, "{\"details\":[{\"@type\":\"type.googleapis.com/not.Known\",\"value\":\"AAE=\"}]}",
             NULL),
        CASE(STATUS, "{\"details\":[{},{\"@type\":\"type.googleapis.com/not.Known\"}]}", NULL),
        CASE(STATUS,
             "{\"details\":[{\"@type\":\"t/google.rpc.Status\",\"details\":[{\"@type\":\"t/"
             "google.rpc.Status\","
             "\"message\":\"inner\"}]}]}",
             NULL),
    };
    CHECK_AGAIN(cases, plain);
}

TEST(json_refuses_with_the_path) {
    static const struct json_case cases[] = {
        CASE(CREATE, "{\"schedule\":{\"spec\":{\"interval\":[{},{},{\"every\":\"1s\"}]}}}",
             "schedule.spec.interval[2].every: unknown field"),
        CASE(CREATE, "{\"schedule\":{\"policies\":{\"overlapPolicy\":\"Sometimes\"}}}",
             "schedule.policies.overlapPolicy: Sometimes is not a value of ScheduleOverlapPolicy"),
        CASE(CREATE, "{\"memo\":{\"fields\":{\"k\":{\"data\":\"*\"}}}}",
             "memo.fields.k.data: bytes in base64 expected, not \"*\""),
        CASE(EXECUTION, "{\"workflowId\":\"a\",\"workflow_id\":\"b\"}", "workflow_id: given twice"),
        CASE(EXECUTION, "{\"workflowId\":null,\"workflowId\":\"b\"}", "workflowId: given twice"),
        CASE(EXECUTION, "{\"workflowId\":5}", "workflowId: a string expected, not 5"),
        CASE(EXECUTION, "{\"workflowId\":\"\\u0000\"}", "workflowId: the text contains a NUL character"),
        CASE(EXECUTION, "{\"workflowId\":[]}", "workflowId: expected one value, not an array"),
        CASE(EXECUTION, "{\"workflowId\":{}}", "workflowId: expected one value, not an object"),
        CASE(EXECUTION, "{\"WorkflowId\":\"a\"}", "WorkflowId: unknown field"),
        CASE(EXECUTION, "[]", "expected an object"),
        CASE(EXECUTION, "null", "expected an object"),
        CASE(EXECUTION, "{\"workflowId\":}", "workflowId: line 1, column 15: expected a value"),
        CASE(EXECUTION, "{\"workflowId\":\"a\"", "line 1, column 18: expected ',' or '}'"),
        CASE(EXECUTION, "{}\n x", "line 2, column 2: text after the value"),
        CASE(EXECUTION, "", "expected an object"),
        CASE(EXECUTION, "{\"workflowId\":\"\xff\"}", "the JSON is not UTF-8"),
        CASE(RETRY, "{\"maximumAttempts\":2147483648}", "maximumAttempts: 2147483648 is out of range"),
        CASE(RETRY, "{\"maximumAttempts\":\"-2147483649\"}", "maximumAttempts: -2147483649 is out of range"),
        CASE(RETRY, "{\"maximumAttempts\":1.5}", "maximumAttempts: a whole number expected, not 1.5"),
        CASE(RETRY, "{\"maximumAttempts\":true}", "maximumAttempts: a whole number expected, not true"),
        CASE(RETRY, "{\"maximumAttempts\":\"\"}", "maximumAttempts: a whole number expected, not \"\""),
        CASE(RETRY, "{\"backoffCoefficient\":1e400}", "backoffCoefficient: a number expected, not 1e400"),
        CASE(&google__protobuf__float_value__descriptor, "3.4028236e38", "3.4028236e38 is out of range"),
        CASE(RETRY, "{\"nonRetryableErrorTypes\":\"x\"}", "nonRetryableErrorTypes: expected an array"),
        CASE(RETRY, "{\"nonRetryableErrorTypes\":[\"x\",null]}",
             "nonRetryableErrorTypes[1]: null is not a value here"),
        CASE(RETRY, "{\"initialInterval\":\"1 hour\"}",
             "initialInterval: a duration in seconds such as 1.5s expected, not \"1 hour\""),
        CASE(POLICIES, "{\"pauseOnFailure\":\"true\"}",
             "pauseOnFailure: true or false expected, not \"true\""),
        CASE(POLICIES, "{\"overlapPolicy\":\"2\"}",
             "overlapPolicy: 2 is not a value of ScheduleOverlapPolicy"),
        CASE(POLICIES, "{\"overlapPolicy\":\"\"}", "overlapPolicy:  is not a value of ScheduleOverlapPolicy"),
        CASE(SPEC, "{\"startTime\":5}", "startTime: a time such as 2026-03-01T09:00:00Z expected, not 5"),
        CASE(SPEC, "{\"interval\":[null]}", "interval[0]: null is not a value here"),
        CASE(PAYLOAD, "{\"metadata\":{\"a\":\"\",\"b\":\"\",\"\\u0061\":\"\"}}",
             "metadata: the key \"a\" is given twice"),
        CASE(PAYLOAD, "{\"metadata\":[]}", "metadata: expected an object"),
        CASE(PAYLOAD, "{\"metadata\":{\"a\":null}}", "metadata.a: null is not a value here"),
        CASE(QUEUE, "{\"statsByPriorityKey\":{\"-0\":{},\"1\":{},\"0\":{}}}",
             "statsByPriorityKey: the key \"0\" is given twice"),
        CASE(QUEUE, "{\"statsByPriorityKey\":{\"x\":{}}}",
             "statsByPriorityKey.x: a whole number expected, not x"),
        CASE(FAILURE, "{\"canceledFailureInfo\":{},\"serverFailureInfo\":{}}",
             "serverFailureInfo: only one of these fields can be given: canceled_failure_info is there "
             "already"),
        CASE(BATCH, "{\"updateMask\":\"a,,b\"}",
             "updateMask: names of fields in camelCase, separated by commas, expected, not \"a,,b\""),
        CASE(BATCH, "{\"updateMask\":\"a_b\"}",
             "updateMask: names of fields in camelCase, separated by commas, expected, not \"a_b\""),
        CASE(STATUS, "{\"details\":[{\"@type\":\"x/google.rpc.Status\",\"mess\":1}]}",
             "details[0].mess: unknown field"),
        CASE(STATUS, "{\"details\":[{\"@type\":\"x/no.Such\",\"value\":7}]}",
             "details[0].value: the type is not known: \"value\" must be its bytes in base64"),
        CASE(STATUS, "{\"details\":[{\"@type\":5}]}", "details[0]: \"@type\" must be a string"),
        CASE(STATUS,
             "{\"details\":[{\"@type\":\"x/google.protobuf.Duration\",\"value\":\"1s\",\"value\":\"1s\"}]}",
             "details[0].value: given twice"),
    };
    CHECK_REFUSED(cases, false);
}

TEST(json_pretty_is_indented_by_two) {
    static const struct json_case cases[] = {
        CASE(CREATE, "{\"schedule\":{\"spec\":{\"interval\":[{\"interval\":\"1s\"},{}]}},\"memo\":{}}",
             "{\n  \"schedule\": {\n    \"spec\": {\n      \"interval\": [\n        {\n          "
             "\"interval\": "
             "\"1s\"\n        },\n        {}\n      ]\n    }\n  },\n  \"memo\": {}\n}"),
    };
    CHECK_AGAIN(cases, ((struct json_style){.is_pretty = true}));
}

TEST(json_defaults_are_shown_when_asked) {
    static const struct json_case cases[] = {
        CASE(RETRY, "{}", "{\"backoffCoefficient\":0,\"maximumAttempts\":0,\"nonRetryableErrorTypes\":[]}"),
        CASE(POLICIES, "{}",
             "{\"overlapPolicy\":\"SCHEDULE_OVERLAP_POLICY_UNSPECIFIED\",\"pauseOnFailure\":false,"
             "\"keepOriginalWorkflowId\":false}"),
        CASE(PAYLOAD, "{}", "{\"metadata\":{},\"data\":\"\",\"externalPayloads\":[]}"),
        CASE(EXECUTION, "{\"runId\":\"r\"}", "{\"workflowId\":\"\",\"runId\":\"r\"}"),
    };
    CHECK_AGAIN(cases, ((struct json_style){.has_defaults = true}));
}

/* A chain of causes, n levels of messages in all. */
static void make_chain(struct buf *text, unsigned n) {
    for (unsigned i = 1; i < n; i++)
        buf_add_cstr(text, "{\"cause\":");
    buf_add_cstr(text, "{}");
    for (unsigned i = 1; i < n; i++)
        buf_add_u8(text, '}');
}

TEST(json_nests_as_deeply_as_the_wire) {
    struct buf text cleanup(buf_done), bytes cleanup(buf_done), out cleanup(buf_done);
    struct arena a cleanup(arena_done);
    struct err e = {0};
    ProtobufCMessage *m;
    arena_init(&a, JSON_BUDGET);
    buf_init(&text, JSON_BUDGET);
    buf_init(&bytes, JSON_BUDGET);
    buf_init(&out, JSON_BUDGET);
    make_chain(&text, WIRE_DEPTH_MAX + 1);
    REQUIRE(buf_ok(&text));
    CHECK_INT(json_parse(FAILURE, buf_str(&text), JSON_PAYLOADS_FULL, &a, &m, &e), 0);
    if (!e.code) {
        wire_encode(&bytes, m);
        CHECK_INT(wire_guard(FAILURE, buf_str(&bytes), &e), 0);
        CHECK_INT(json_print(&out, m, plain, &e), 0);
        CHECK_SLICE(buf_str(&out), buf_str(&text));
    }
    buf_clear(&text);
    make_chain(&text, WIRE_DEPTH_MAX + 2);
    if (buf_ok(&text))
        CHECK_INT(json_parse(FAILURE, buf_str(&text), JSON_PAYLOADS_FULL, &a, &m, &e), ERR_INVALID);
    CHECK(strstr(e.text, "messages are nested too deeply"));
}

TEST(json_stays_within_its_limits) {
    struct arena a cleanup(arena_done);
    struct buf out cleanup(buf_done);
    struct err e = {0};
    ProtobufCMessage *m = NULL;
    arena_init(&a, 256);
    CHECK_INT(json_parse(START, STR("{\"workflowId\":\"w\"}"), JSON_PAYLOADS_FULL, &a, &m, &e), ERR_NO_MEMORY);
    CHECK_STR(e.text, "the JSON needs more memory than a request may take");
    CHECK_INT(json_parse(START, str_bytes("", JSON_TEXT_BYTES_MAX + 1), JSON_PAYLOADS_FULL, &a, &m, &e), ERR_TOO_LARGE);
    buf_init(&out, 10);
    Common__WorkflowExecution w = COMMON__WORKFLOW_EXECUTION__INIT;
    CHECK_INT(json_print(&out, &w.base, (struct json_style){.has_defaults = true}, &e), 0);
    CHECK(!buf_ok(&out));
}

TEST(json_does_not_write_times_that_have_no_text) {
    struct buf out cleanup(buf_done);
    struct err e = {0};
    Google__Protobuf__Duration d = GOOGLE__PROTOBUF__DURATION__INIT;
    d.seconds = 1;
    d.nanos = -1;
    buf_init(&out, JSON_BUDGET);
    CHECK_INT(json_print(&out, &d.base, plain, &e), ERR_INVALID);
    CHECK_STR(e.text, "google.protobuf.Duration: the duration is out of range");
}

/* SCHEDULE_OVERLAP_POLICY_SKIP of ScheduleOverlapPolicy -> SKIP: behind as many letters as the type has. */
static const char *short_name(const char *name, const char *type) {
    size_t letters = strlen(type);
    for (; *name && letters > 0; name++)
        letters -= *name != '_';
    return *name == '_' ? name + 1 : "";
}

/* The values of the enum that are known by their short names; each must be the right one. */
static size_t check_short_names(const ProtobufCEnumDescriptor *e) {
    size_t known = 0;
    for (unsigned i = 0; i < e->n_value_names; i++) {
        int value = e->values[e->values_by_name[i].index].value;
        const ProtobufCEnumValue *full = shape_enum_value(e, str_of(e->values_by_name[i].name));
        const ProtobufCEnumValue *brief =
            shape_enum_value(e, str_of(short_name(e->values_by_name[i].name, e->short_name)));
        CHECK(full && full->value == value);
        CHECK(!brief || brief->value == value);
        known += brief != NULL;
    }
    return known;
}

TEST(json_enum_short_names_are_unambiguous) {
    const ProtobufCMessageDescriptor *d;
    size_t known = 0;
    for (size_t i = 0; (d = shape_type_at(i)); i++)
        for (unsigned k = 0; k < d->n_fields; k++)
            if (d->fields[k].type == PROTOBUF_C_TYPE_ENUM)
                known += check_short_names(d->fields[k].descriptor);
    CHECK(known > 500);
}

/* json_set */

struct setting {
    int line;
    const char *path;
    const char *value;
    const char *want; /* the whole message as JSON, or the error when it begins with '!' */
};

static void check_settings(const ProtobufCMessageDescriptor *type, const char *before, enum json_set mode,
                           const struct setting *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct arena a cleanup(arena_done);
        struct buf out cleanup(buf_done);
        struct err e = {0};
        ProtobufCMessage *m;
        arena_init(&a, JSON_BUDGET);
        buf_init(&out, JSON_BUDGET);
        if (json_parse(type, str_of(before), JSON_PAYLOADS_FULL, &a, &m, &e) < 0)
            continue;
        int rc = json_set(m, str_of(cases[i].path), str_of(cases[i].value), mode, &a, &e);
        bool is_refused = cases[i].want[0] == '!';
        test_check_int(rc, is_refused ? ERR_INVALID : 0, __FILE__, cases[i].line, "json_set");
        test_check_str(str_of(e.text), str_of(is_refused ? cases[i].want + 1 : ""), __FILE__, cases[i].line,
                       "error");
        if (rc == 0 && json_print(&out, m, plain, &e) == 0 && buf_ok(&out))
            test_check_str(buf_str(&out), str_of(cases[i].want), __FILE__, cases[i].line, "message");
    }
}

TEST(json_sets_single_fields) {
    static const struct setting history[] = {
        {__LINE__, "execution.workflow_id", "a/b",
         "{\"execution\":{\"workflowId\":\"a/b\",\"runId\":\"r\"}}"},
        {__LINE__, "execution.workflowId", "", "{\"execution\":{\"runId\":\"r\"}}"},
        {__LINE__, "execution.runId", "s", "{\"execution\":{\"runId\":\"s\"}}"},
        {__LINE__, "maximumPageSize", "7", "{\"execution\":{\"runId\":\"r\"},\"maximumPageSize\":7}"},
        {__LINE__, "waitNewEvent", "true", "{\"execution\":{\"runId\":\"r\"},\"waitNewEvent\":true}"},
        {__LINE__, "nextPageToken", "AA", "{\"execution\":{\"runId\":\"r\"},\"nextPageToken\":\"AA==\"}"},
        {__LINE__, "historyEventFilterType", "CloseEvent",
         "{\"execution\":{\"runId\":\"r\"},\"historyEventFilterType\":\"HISTORY_EVENT_FILTER_TYPE_CLOSE_"
         "EVENT\"}"},
        {__LINE__, "historyEventFilterType", "2",
         "{\"execution\":{\"runId\":\"r\"},\"historyEventFilterType\":\"HISTORY_EVENT_FILTER_TYPE_CLOSE_"
         "EVENT\"}"},
        {__LINE__, "execution", "x", "!execution: an object expected, not x"},
        {__LINE__, "execution.x", "x", "!execution.x: unknown field"},
        {__LINE__, "namespace.x", "x", "!namespace.x: has no fields that can be given so"},
        {__LINE__, "", "x", "!unknown field"},
        {__LINE__, "maximumPageSize", "x", "!maximumPageSize: a whole number expected, not x"},
    };
    static const struct setting once[] = {
        {__LINE__, "execution.runId", "s", "!execution.runId: given twice"},
        {__LINE__, "execution.workflowId", "s", "{\"execution\":{\"workflowId\":\"s\",\"runId\":\"r\"}}"},
    };
    static const struct setting retry[] = {
        {__LINE__, "nonRetryableErrorTypes", "b", "{\"nonRetryableErrorTypes\":[\"a\",\"b\"]}"},
        {__LINE__, "initialInterval", "2s",
         "{\"initialInterval\":\"2s\",\"nonRetryableErrorTypes\":[\"a\"]}"},
        {__LINE__, "initialInterval.seconds", "2",
         "!initialInterval.seconds: has no fields that can be given so"},
    };
    const ProtobufCMessageDescriptor *type = &ws__get_workflow_execution_history_request__descriptor;
    const char *before = "{\"execution\":{\"runId\":\"r\"}}";
    check_settings(type, before, JSON_SET_OVER, history, ARRAY_LEN(history));
    check_settings(type, before, JSON_SET_ONCE, once, ARRAY_LEN(once));
    check_settings(RETRY, "{\"nonRetryableErrorTypes\":[\"a\"]}", JSON_SET_ONCE, retry, ARRAY_LEN(retry));
}
