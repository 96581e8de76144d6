/* What the guard lets through and what it refuses, and what unpacking makes of it. */
#include "wire/guard.h"

#include "base/mem.h"
#include "common.pb-c.h"
#include "failure.pb-c.h"
#include "harness.h"
#include "history.pb-c.h"
#include "kinds.pb-c.h"
#include "wire/encode.h"
#include "workflowservice.pb-c.h"

#define MIB ((size_t)1 << 20)
#define EXECUTION (&common__workflow_execution__descriptor)
#define RETRY (&common__retry_policy__descriptor)
#define MEMO (&common__memo__descriptor)
#define FAILURE (&failure__failure__descriptor)
#define START (&ws__start_workflow_execution_request__descriptor)
#define SHUTDOWN (&ws__shutdown_worker_request__descriptor)
#define LISTS (&kinds__lists__descriptor)
#define FAILURE_CAUSE_TAG 0x22

struct guard_case {
    int line;
    const ProtobufCMessageDescriptor *type;
    struct str bytes;
    const char *text; /* of the error; NULL when the bytes are fine */
};

static void check_cases(const struct guard_case *cases, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct guard_case *c = &cases[i];
        struct arena a cleanup(arena_done);
        struct err e = {0};
        ProtobufCMessage *m = NULL;

        arena_init(&a, MIB);
        int want = c->text ? ERR_INVALID : 0;
        test_check_int(wire_guard(c->type, c->bytes, &e), want, __FILE__, c->line, "wire_guard");
        if (c->text)
            test_check_str(str_of(e.text), str_of(c->text), __FILE__, c->line, "text");
        test_check_int(wire_decode(c->type, c->bytes, &a, &m, NULL), want, __FILE__, c->line, "wire_decode");
        test_check(!m == !!c->text, __FILE__, c->line, "message only on success");
    }
}

#define CHECK_CASES(cases) check_cases((cases), ARRAY_LEN(cases))
#define COMMON "temporal.api.common.v1."

TEST(guard_takes_well_formed_bytes) {
    static const struct guard_case cases[] = {
        {__LINE__, EXECUTION, STR(""), NULL},
        {__LINE__, EXECUTION, STR("\x0a\x01w\x12\x01r"), NULL},
        {__LINE__, EXECUTION, STR("\x12\x01r\x0a\x01w"), NULL}, /* any order */
        {__LINE__, EXECUTION, STR("\x0a\x01w\x0a\x02ww"), NULL}, /* a scalar twice: the last counts */
        {__LINE__, EXECUTION, STR("\x8a\x00\x01w"), NULL}, /* a tag written long */
        {__LINE__, EXECUTION, STR("\x0a\x81\x00w"), NULL}, /* a length written long */
        {__LINE__, EXECUTION, STR("\xb8\x3e\x05\xba\x3e\x02\xff\xff"),
         NULL}, /* unknown fields may hold anything */
        {__LINE__, RETRY, STR("\x11\x00\x00\x00\x00\x00\x00\x00\x40\x20\x03"), NULL},
        {__LINE__, RETRY, STR("\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), NULL}, /* -1 */
        {__LINE__, MEMO, STR("\x0a\x03\x0a\x01k\x0a\x03\x0a\x01k"), NULL}, /* a key twice */
        {__LINE__, SHUTDOWN, STR("\x42\x02\x01\x02"), NULL}, /* packed */
        {__LINE__, SHUTDOWN, STR("\x40\x01\x42\x00\x40\x02"), NULL}, /* not packed, and mixed */
        {__LINE__, LISTS, STR("\x0a\x08\x00\x00\x00\x00\x00\x00\xf0\x3f"), NULL},
        {__LINE__, LISTS, STR("\x12\x04\x00\x00\x80\x3f"), NULL},
    };
    CHECK_CASES(cases);
}

TEST(guard_refuses_what_is_not_well_formed) {
    static const struct guard_case cases[] = {
        {__LINE__, EXECUTION, STR("\x00"), COMMON "WorkflowExecution: not well-formed after field 0"},
        {__LINE__, EXECUTION, STR("\x0a"), COMMON "WorkflowExecution: not well-formed after field 0"},
        {__LINE__, EXECUTION, STR("\x0a\x01w\x12\x02r"),
         COMMON "WorkflowExecution: not well-formed after field 1"},
        {__LINE__, EXECUTION, STR("\x0b\x0c"), COMMON "WorkflowExecution: not well-formed after field 0"},
        {__LINE__, EXECUTION, STR("\xbb\x3e\xbc\x3e"),
         COMMON "WorkflowExecution: not well-formed after field 0"},
        {__LINE__, MEMO, STR("\x0a\x04\x0a\x01k\x12"),
         COMMON "Memo.FieldsEntry: not well-formed after field 1"},
    };
    CHECK_CASES(cases);
}

TEST(guard_refuses_other_wire_types) {
    static const struct guard_case cases[] = {
        {__LINE__, EXECUTION, STR("\x08\x01"),
         COMMON "WorkflowExecution: field 1: the wire type does not match"},
        {__LINE__, EXECUTION, STR("\x0d\x01\x01\x01\x01"),
         COMMON "WorkflowExecution: field 1: the wire type does not match"},
        {__LINE__, RETRY, STR("\x10\x01"), COMMON "RetryPolicy: field 2: the wire type does not match"},
        {__LINE__, RETRY, STR("\x22\x01\x01"), COMMON "RetryPolicy: field 4: the wire type does not match"},
        {__LINE__, RETRY, STR("\x08\x01"), COMMON "RetryPolicy: field 1: the wire type does not match"},
        {__LINE__, SHUTDOWN, STR("\x42\x01\x80"),
         "temporal.api.workflowservice.v1.ShutdownWorkerRequest: field 8: the packed values are not "
         "well-formed"},
        {__LINE__, SHUTDOWN, STR("\x45\x01\x01\x01\x01"),
         "temporal.api.workflowservice.v1.ShutdownWorkerRequest: field 8: the wire type does not match"},
    };
    CHECK_CASES(cases);
}

TEST(guard_refuses_packed_values_that_are_not_whole) {
    static const struct guard_case cases[] = {
        {__LINE__, LISTS, STR("\x0a\x04\x00\x00\x80\x3f"),
         "kinds.Lists: field 1: the packed values are not well-formed"},
        {__LINE__, LISTS, STR("\x12\x03\x00\x00\x80"),
         "kinds.Lists: field 2: the packed values are not well-formed"},
        {__LINE__, LISTS, STR("\x1a\x01\x80"), "kinds.Lists: field 3: the packed values are not well-formed"},
    };
    CHECK_CASES(cases);
}

TEST(guard_refuses_text_that_is_not_utf8) {
    static const char *const not_utf8 = COMMON "WorkflowExecution: field 1: the text is not UTF-8";
    static const struct guard_case cases[] = {
        {__LINE__, EXECUTION, STR("\x0a\x02\xc3\xa4"), NULL},
        {__LINE__, EXECUTION, STR("\x0a\x04\xf0\x9f\x8e\xb5"), NULL},
        {__LINE__, MEMO, STR("\x0a\x03\x0a\x01\xff"),
         COMMON "Memo.FieldsEntry: field 1: the text is not UTF-8"},
        {__LINE__, EXECUTION,
         STR("\x0a\x03"
             "a\0b"),
         COMMON "WorkflowExecution: field 1: the text contains a NUL character"},
    };
    static const struct str bad[] = {
        STR("\x0a\x01\xff"), /* never a byte of UTF-8 */
        STR("\x0a\x01\xc3"), /* half a character */
        STR("\x0a\x02\xc0\x80"), /* overlong */
        STR("\x0a\x03\xed\xa0\x80"), /* surrogate */
        STR("\x0a\x04\xf4\x90\x80\x80"), /* past the last code point */
    };
    CHECK_CASES(cases);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_cases(&(struct guard_case){__LINE__, EXECUTION, bad[i], not_utf8}, 1);
}

TEST(guard_refuses_a_message_given_twice) {
    static const struct guard_case cases[] = {
        {__LINE__, START, STR("\x1a\x00\x22\x00"), NULL},
        {__LINE__, START, STR("\x1a\x00\x1a\x00"),
         "temporal.api.workflowservice.v1.StartWorkflowExecutionRequest: field 3: the message is given "
         "twice"},
        {__LINE__, FAILURE, STR("\x2a\x00\x32\x00"), NULL}, /* two members of one oneof */
        {__LINE__, FAILURE, STR("\x2a\x00\x2a\x00"),
         "temporal.api.failure.v1.Failure: field 5: the message is given twice"},
    };
    CHECK_CASES(cases);
}

/* A Failure with `depth` causes below it; written from the inside out, hence from the end. */
static struct str nested_failure(uint8_t *room, size_t size, size_t depth) {
    size_t at = size;
    for (size_t i = 0; i < depth; i++) {
        uint8_t prefix[12] = {FAILURE_CAUSE_TAG};
        size_t n = 1, length = size - at;
        for (; length >= 0x80; length >>= 7)
            prefix[n++] = (uint8_t)(length | 0x80);
        prefix[n++] = (uint8_t)length;
        at -= n;
        memcpy(room + at, prefix, n);
    }
    return str_bytes(room + at, size - at);
}

TEST(guard_limits_depth) {
    static const struct {
        int line;
        size_t depth;
        int want;
    } cases[] = {
        {__LINE__, 1, 0},
        {__LINE__, WIRE_DEPTH_MAX, 0},
        {__LINE__, WIRE_DEPTH_MAX + 1, ERR_INVALID},
        {__LINE__, 800000, ERR_INVALID},
    };
    uint8_t *room cleanup(mem_freep) = mem_alloc(4 * MIB);
    REQUIRE(room);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        ProtobufCMessage *m;
        struct err e = {0};
        struct str bytes = nested_failure(room, 4 * MIB, cases[i].depth);

        arena_init(&a, MIB);
        int r = wire_decode(FAILURE, bytes, &a, &m, &e);
        test_check_int(r, cases[i].want, __FILE__, cases[i].line, "depth");
        if (r == ERR_INVALID)
            CHECK_STR(e.text, "temporal.api.failure.v1.Failure: field 4: messages are nested too deeply");
    }
}

/* 4 MiB of empty events would become hundreds of MiB. */
TEST(amplification_is_refused_before_it_costs) {
    struct arena a cleanup(arena_done);
    uint8_t *room cleanup(mem_freep) = mem_alloc(4 * MIB);
    ProtobufCMessage *m;
    struct err e = {0};

    arena_init(&a, 64 * MIB);
    REQUIRE(room);
    for (size_t i = 0; i < 4 * MIB; i += 2)
        memcpy(room + i, "\x0a\x00", 2);
    CHECK_INT(wire_decode(&history__history__descriptor, str_bytes(room, 4 * MIB), &a, &m, &e),
              ERR_NO_MEMORY);
    CHECK_INT(a.used, 0);
    CHECK_STR(e.text, "temporal.api.history.v1.History needs more memory than a request may take");
}

/* Here the messages are few; what protobuf-c needs to sort out the fields is what bursts the budget. */
TEST(scratch_memory_counts_too) {
    struct arena a cleanup(arena_done);
    uint8_t *room cleanup(mem_freep) = mem_alloc(MIB);
    ProtobufCMessage *m;

    arena_init(&a, 4 * MIB);
    REQUIRE(room);
    for (size_t i = 0; i < MIB; i += 2)
        memcpy(room + i, "\x40\x01", 2);
    CHECK_INT(wire_decode(SHUTDOWN, str_bytes(room, MIB), &a, &m, NULL), ERR_NO_MEMORY);
    CHECK(arena_failed(&a));
    CHECK(a.used <= a.budget);
}

/* A start request with a map, nested messages, every wire type and an unknown field. */
static void build_start(struct buf *b) {
    static const struct str memo = STR("\x0a\x0d\x0a\x03key\x12\x06\x0a\x04\x0a\x02"
                                       "aa");
    static const struct str retry = STR("\x0a\x02\x08\x01\x11\x00\x00\x00\x00\x00\x00\x00\x40\x20\x05\x2a\x03"
                                        "Bad");

    buf_init(b, 4096);
    wire_add_bytes_field(b, 1, STR("default"));
    wire_add_bytes_field(b, 2, STR("order-17"));
    wire_add_bytes_field(b, 3, STR("\x0a\x05greet"));
    wire_add_bytes_field(b, 4, STR("\x0a\x01q"));
    buf_add_str(b, STR("\x58\x02")); /* reuse policy */
    wire_add_bytes_field(b, 12, retry);
    wire_add_bytes_field(b, 14, memo);
    wire_add_bytes_field(b, 40000, STR("from the future"));
}

TEST(decoding_and_encoding_loses_nothing) {
    struct buf in cleanup(buf_done), out cleanup(buf_done);
    struct arena a cleanup(arena_done);
    ProtobufCMessage *m;

    build_start(&in);
    buf_init(&out, 4096);
    arena_init(&a, MIB);
    REQUIRE(buf_ok(&in));
    REQUIRE(wire_decode(START, buf_str(&in), &a, &m, NULL) == 0);
    const Ws__StartWorkflowExecutionRequest *r = (const void *)m;
    CHECK_STR(r->workflow_id, "order-17");
    CHECK_STR(r->workflow_type->name, "greet");
    CHECK_INT(r->workflow_id_reuse_policy, 2);
    CHECK(r->retry_policy->backoff_coefficient == 2);
    CHECK_STR(r->retry_policy->non_retryable_error_types[0], "Bad");
    CHECK_STR(r->memo->fields[0]->key, "key");
    CHECK_INT(r->base.n_unknown_fields, 1);
    CHECK_STR(r->identity, "");
    wire_encode(&out, m);
    CHECK_SLICE(buf_str(&out), buf_str(&in));
}

TEST(every_type_comes_back) {
    Kinds__Plain m = {PROTOBUF_C_MESSAGE_INIT(&kinds__plain__descriptor),
                      .double_value = -1.5,
                      .float_value = 0.25F,
                      .int32_value = INT32_MIN,
                      .int64_value = INT64_MIN,
                      .uint32_value = UINT32_MAX,
                      .uint64_value = UINT64_MAX,
                      .sint32_value = INT32_MIN,
                      .sint64_value = INT64_MIN,
                      .fixed32_value = UINT32_MAX,
                      .fixed64_value = UINT64_MAX,
                      .sfixed32_value = -2,
                      .sfixed64_value = -3,
                      .bool_value = true,
                      .string_value = (char[]){"text"},
                      .bytes_value = {2, (uint8_t[]){0, 255}},
                      .enum_value = KINDS__SIDE__SIDE_RIGHT};
    struct buf in cleanup(buf_done);
    struct arena a cleanup(arena_done);
    ProtobufCMessage *back;

    buf_init(&in, 4096);
    arena_init(&a, MIB);
    wire_encode(&in, &m.base);
    REQUIRE(buf_ok(&in));
    REQUIRE(wire_decode(m.base.descriptor, buf_str(&in), &a, &back, NULL) == 0);
    const Kinds__Plain *got = (const void *)back;
    CHECK(got->double_value == -1.5 && got->float_value == 0.25F);
    CHECK_INT(got->int32_value, INT32_MIN);
    CHECK_INT(got->int64_value, INT64_MIN);
    CHECK_INT(got->uint32_value, UINT32_MAX);
    CHECK(got->uint64_value == UINT64_MAX);
    CHECK_INT(got->sint32_value, INT32_MIN);
    CHECK_INT(got->sint64_value, INT64_MIN);
    CHECK_INT(got->fixed32_value, UINT32_MAX);
    CHECK(got->fixed64_value == UINT64_MAX);
    CHECK_INT(got->sfixed32_value, -2);
    CHECK_INT(got->sfixed64_value, -3);
    CHECK(got->bool_value);
    CHECK_STR(got->string_value, "text");
    CHECK_SLICE(str_bytes(got->bytes_value.data, got->bytes_value.len), STR("\0\xff"));
    CHECK_INT(got->enum_value, KINDS__SIDE__SIDE_RIGHT);
}

/* Cut anywhere but between two fields, the bytes are refused; never more than that happens. */
TEST(truncation_at_every_byte) {
    struct buf in cleanup(buf_done);
    bool is_boundary[4096] = {true};
    struct wire_field f;
    bool ok;

    build_start(&in);
    for (struct str rest = buf_str(&in); wire_next_field(&rest, &f, &ok);)
        is_boundary[in.len - rest.n] = true;
    for (size_t n = 0; n <= in.len; n++) {
        struct arena a cleanup(arena_done);
        ProtobufCMessage *m;
        uint8_t *exact = mem_dup(in.data, n); /* so that a read past the end is seen */

        arena_init(&a, MIB);
        REQUIRE(exact);
        CHECK_INT(wire_decode(START, str_bytes(exact, n), &a, &m, NULL), is_boundary[n] ? 0 : ERR_INVALID);
        mem_free(exact);
    }
}

TEST(packed_and_unpacked_are_the_same) {
    struct arena a cleanup(arena_done);
    ProtobufCMessage *packed, *unpacked;

    arena_init(&a, MIB);
    REQUIRE(wire_decode(SHUTDOWN, STR("\x42\x03\x01\x02\x03"), &a, &packed, NULL) == 0);
    REQUIRE(wire_decode(SHUTDOWN, STR("\x40\x01\x40\x02\x40\x03"), &a, &unpacked, NULL) == 0);
    const Ws__ShutdownWorkerRequest *p = (const void *)packed, *u = (const void *)unpacked;
    CHECK_INT(p->n_task_queue_types, 3);
    CHECK_INT(u->n_task_queue_types, 3);
    CHECK(memcmp(p->task_queue_types, u->task_queue_types, 3 * sizeof(p->task_queue_types[0])) == 0);
}

TEST(heap_messages_are_freed) {
    struct buf in cleanup(buf_done), out cleanup(buf_done);

    build_start(&in);
    buf_init(&out, 4096);
    ProtobufCMessage *m = protobuf_c_message_unpack(START, &wire_heap_allocator, in.len, in.data);
    REQUIRE(m);
    wire_encode(&out, m);
    CHECK_SLICE(buf_str(&out), buf_str(&in));
    protobuf_c_message_free_unpacked(m, &wire_heap_allocator);
}
