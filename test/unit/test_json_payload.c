/* The shorthand for payloads. */
#include "common.pb-c.h"
#include "json_fixture.h"
#include "wire/encode.h"

#define PAYLOAD (&common__payload__descriptor)
#define PAYLOADS (&common__payloads__descriptor)
#define MEMO (&common__memo__descriptor)
#define PLAIN_META "\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\"}"
#define NULL_META "{\"metadata\":{\"encoding\":\"YmluYXJ5L251bGw=\"}}"
#define BINARY_META "\"metadata\":{\"encoding\":\"YmluYXJ5L3BsYWlu\"}"

static const struct json_style full;
static const struct json_style shorthand = {.has_shorthand = true};

/* What shorthand means, in full. */
TEST(json_payload_shorthand_is_read) {
    static const struct json_case cases[] = {
        CASE(PAYLOAD, "5", "{" PLAIN_META ",\"data\":\"NQ==\"}"),
        CASE(PAYLOAD, " \"x\" ", "{" PLAIN_META ",\"data\":\"Ingi\"}"),
        CASE(PAYLOAD, "null", NULL_META),
        CASE(PAYLOAD, "true", "{" PLAIN_META ",\"data\":\"dHJ1ZQ==\"}"),
        CASE(PAYLOAD, "[ 1, 2 ]", "{" PLAIN_META ",\"data\":\"WzEsMl0=\"}"),
        CASE(PAYLOAD, "{}", "{" PLAIN_META ",\"data\":\"e30=\"}"),
        CASE(PAYLOAD, "{\"metadata\":{}}", "{" PLAIN_META ",\"data\":\"eyJtZXRhZGF0YSI6e319\"}"),
        CASE(PAYLOAD, "{\"data\":\"AA==\"}", "{" PLAIN_META ",\"data\":\"eyJkYXRhIjoiQUE9PSJ9\"}"),
        CASE(PAYLOAD, NULL_META, NULL_META),
        CASE(PAYLOAD, "{" BINARY_META ",\"data\":\"AA==\"}", NULL),
        CASE(PAYLOAD, "{" BINARY_META "}",
             "{" PLAIN_META ",\"data\":\"eyJtZXRhZGF0YSI6eyJlbmNvZGluZyI6IlltbHVZWEo1TDNCc1lXbHUifX0=\"}"),
        CASE(PAYLOAD, "{\"_protoMessageType\":\"a.B\",\"x\": 1}",
             "{\"metadata\":{\"encoding\":\"anNvbi9wcm90b2J1Zg==\",\"messageType\":\"YS5C\"},"
             "\"data\":\"eyJ4IjoxfQ==\"}"),
        CASE(PAYLOADS, "[]", "{}"),
        CASE(PAYLOADS, "[1,null]", "{\"payloads\":[{" PLAIN_META ",\"data\":\"MQ==\"}," NULL_META "]}"),
        CASE(PAYLOADS, "{\"payloads\":[1]}", "{\"payloads\":[{" PLAIN_META ",\"data\":\"MQ==\"}]}"),
        CASE(MEMO, "{\"fields\":{\"a\":\"x\",\"b\":null}}",
             "{\"fields\":{\"a\":{" PLAIN_META ",\"data\":\"Ingi\"},\"b\":" NULL_META "}}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct json_case *c = &cases[i];
        struct arena a cleanup(arena_done);
        struct buf out cleanup(buf_done);
        struct err e = {0};
        ProtobufCMessage *m;
        arena_init(&a, JSON_BUDGET);
        buf_init(&out, JSON_BUDGET);
        int rc = json_parse(c->type, str_of(c->text), JSON_PAYLOADS_SHORTHAND, &a, &m, &e);
        test_check_str(str_of(e.text), str_of(""), __FILE__, c->line, "error");
        if (rc == 0 && json_print(&out, m, full, &e) == 0 && buf_ok(&out))
            test_check_str(buf_str(&out), str_of(c->want ? c->want : c->text), __FILE__, c->line, "in full");
    }
}

/* Read and written in shorthand. */
TEST(json_payload_shorthand_is_written) {
    static const struct json_case cases[] = {
        CASE(PAYLOAD, "1.10", NULL),
        CASE(PAYLOAD, "12345678901234567890", NULL),
        CASE(PAYLOAD, "{\"b\":1,\"a\":[\"\\u00e9\",{}]}", NULL),
        CASE(PAYLOAD, "null", NULL_META),
        CASE(PAYLOAD, "{" PLAIN_META ",\"data\":\"bnVsbA==\"}", NULL), /* the word null, as plain JSON */
        CASE(PAYLOAD, "{" PLAIN_META ",\"data\":\"ISE=\"}", NULL), /* not JSON */
        CASE(PAYLOAD, "{" PLAIN_META ",\"data\":\"\"}", NULL),
        CASE(PAYLOAD, "{" PLAIN_META ",\"data\":\"IiI=\"}", "\"\""),
        CASE(PAYLOAD, "{" PLAIN_META ",\"data\":\"MSAy\"}", NULL), /* two values */
        CASE(PAYLOAD,
             "{\"metadata\":{\"encoding\":\"anNvbi9wbGFpbg==\",\"type\":\"S2V5d29yZA==\"},\"data\":\"MQ==\"}",
             NULL),
        CASE(PAYLOAD, "{" BINARY_META ",\"data\":\"\"}", NULL),
        CASE(PAYLOAD, "{\"metadata\":1}", "{" PLAIN_META ",\"data\":\"eyJtZXRhZGF0YSI6MX0=\"}"),
        CASE(PAYLOAD, "{\"_protoMessageType\":\"a.B\",\"x\":1}", NULL),
        CASE(PAYLOAD, "{\"x\":1,\"_protoMessageType\":\"a.B\"}", "{\"_protoMessageType\":\"a.B\",\"x\":1}"),
        CASE(PAYLOAD, "{\"_protoMessageType\":\"a.B\"}", NULL),
        CASE(PAYLOADS, "[1,\"x\",{\"a\":null}]", NULL),
        CASE(PAYLOADS, "[1,null]", "[1," NULL_META "]"),
        CASE(PAYLOADS, "[]", NULL),
        CASE(PAYLOADS, "[1,{" BINARY_META ",\"data\":\"AA==\"}]",
             "{\"payloads\":[1,{" BINARY_META ",\"data\":\"AA==\"}]}"),
        CASE(MEMO, "{\"fields\":{\"a\":{\"b\":[1]}}}", NULL),
    };
    CHECK_AGAIN(cases, shorthand);
}

TEST(json_payload_shorthand_is_indented) {
    static const struct json_case cases[] = {
        CASE(PAYLOADS, "[{\"a\":[1]}]", "[\n  {\n    \"a\": [\n      1\n    ]\n  }\n]"),
    };
    CHECK_AGAIN(cases, ((struct json_style){.has_shorthand = true, .is_pretty = true}));
}

TEST(json_payload_without_shorthand_is_a_message) {
    static const struct json_case cases[] = {
        CASE(PAYLOAD, "5", "expected an object"),
        CASE(PAYLOAD, "{\"x\":1}", "x: unknown field"),
        CASE(PAYLOADS, "[]", "expected an object"),
    };
    CHECK_REFUSED(cases, false);
}

TEST(json_payload_refuses_what_is_not_json) {
    static const struct json_case cases[] = {
        CASE(PAYLOADS, "[1,tru]", "[1]: line 1, column 4: expected true or false"),
        CASE(PAYLOADS, "[{\"a\":1,}]", "[0]: line 1, column 9: expected a name in quotes"),
        CASE(PAYLOADS, "[{\"_protoMessageType\":1}]", "[0]: _protoMessageType must be a string"),
    };
    CHECK_REFUSED(cases, true);
}
