/* Packing, splicing, and the walk over packed bytes. */
#include "wire/encode.h"

#include <stdio.h>

#include "common.pb-c.h"
#include "harness.h"

static struct buf packed_execution(const char *workflow_id, const char *run_id) {
    char id[64], run[64];
    Common__WorkflowExecution m;
    struct buf b;

    common__workflow_execution__init(&m);
    snprintf(id, sizeof(id), "%s", workflow_id);
    snprintf(run, sizeof(run), "%s", run_id);
    m.workflow_id = id;
    m.run_id = run;
    buf_init(&b, 4096);
    wire_encode(&b, &m.base);
    return b;
}

TEST(encode_writes_the_known_bytes) {
    struct buf b cleanup(buf_done) = packed_execution("w", "run");
    CHECK_SLICE(buf_str(&b), STR("\x0a\x01w\x12\x03run"));
}

TEST(encode_of_an_empty_message_adds_nothing) {
    struct buf b cleanup(buf_done) = packed_execution("", "");
    CHECK(buf_ok(&b));
    CHECK_INT(b.len, 0);
}

TEST(encode_past_the_maximum_fails_the_buffer) {
    Common__WorkflowExecution m;
    struct buf b cleanup(buf_done);
    char id[] = "0123456789";

    common__workflow_execution__init(&m);
    m.workflow_id = id;
    buf_init(&b, 8);
    wire_encode(&b, &m.base);
    CHECK(!buf_ok(&b));
}

TEST(varints_have_their_shortest_form) {
    static const struct {
        int line;
        uint64_t value;
        struct str bytes;
    } cases[] = {
        {__LINE__, 0, {"\x00", 1}},
        {__LINE__, 1, {"\x01", 1}},
        {__LINE__, 127, {"\x7f", 1}},
        {__LINE__, 128, {"\x80\x01", 2}},
        {__LINE__, 300, {"\xac\x02", 2}},
        {__LINE__, UINT32_MAX, {"\xff\xff\xff\xff\x0f", 5}},
        {__LINE__, UINT64_MAX, {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b cleanup(buf_done);
        buf_init(&b, 16);
        wire_add_varint(&b, cases[i].value);
        test_check_str(buf_str(&b), cases[i].bytes, __FILE__, cases[i].line, "varint");
    }
}

TEST(splicing_equals_packing) {
    struct buf inner cleanup(buf_done) = packed_execution("w", "run");
    struct buf spliced cleanup(buf_done), packed cleanup(buf_done);
    Common__WorkflowExecution m;
    char id[] = "w", run[] = "run";

    common__workflow_execution__init(&m);
    m.workflow_id = id;
    m.run_id = run;
    buf_init(&spliced, 4096);
    buf_init(&packed, 4096);
    wire_add_bytes_field(&spliced, 1000, buf_str(&inner));
    wire_add_message_field(&packed, 1000, &m.base);
    CHECK_SLICE(buf_str(&spliced), buf_str(&packed));
    CHECK_SLICE(buf_str(&spliced), STR("\xc2\x3e\x08\x0a\x01w\x12\x03run"));
}

TEST(next_field_gives_every_kind) {
    struct str rest = STR("\x08\x96\x01" /* 1: varint 150 */
                          "\x11\x01\x00\x00\x00\x00\x00\x00\x80" /* 2: 64 bits */
                          "\x1a\x02hi" /* 3: bytes */
                          "\x25\xff\x00\x00\x00" /* 4: 32 bits */
                          "\xf8\xff\xff\xff\x0f\x00"); /* the largest number */
    struct wire_field f;
    bool ok;

    REQUIRE(wire_next_field(&rest, &f, &ok));
    CHECK(f.number == 1 && f.type == 0 && f.varint == 150);
    CHECK_SLICE(f.whole, STR("\x08\x96\x01"));
    REQUIRE(wire_next_field(&rest, &f, &ok));
    CHECK(f.number == 2 && f.type == 1 && f.varint == UINT64_C(0x8000000000000001));
    REQUIRE(wire_next_field(&rest, &f, &ok));
    CHECK(f.number == 3 && f.type == 2);
    CHECK_SLICE(f.content, STR("hi"));
    CHECK_SLICE(f.whole, STR("\x1a\x02hi"));
    REQUIRE(wire_next_field(&rest, &f, &ok));
    CHECK(f.number == 4 && f.type == 5 && f.varint == 255);
    REQUIRE(wire_next_field(&rest, &f, &ok));
    CHECK_INT(f.number, (1 << 29) - 1);
    CHECK(!wire_next_field(&rest, &f, &ok));
    CHECK(ok);
}

TEST(next_field_refuses_bad_bytes) {
    static const struct {
        int line;
        struct str bytes;
    } cases[] = {
        {__LINE__, STR("\x80")}, /* unfinished tag */
        {__LINE__, STR("\x00\x00")}, /* number 0 */
        {__LINE__, STR("\x80\x00\x00")}, /* number 0, written long */
        {__LINE__, STR("\x80\x80\x80\x80\x10\x00")}, /* number 2^29 */
        {__LINE__, STR("\x88\x80\x80\x80\x80\x00\x00")}, /* tag of six bytes */
        {__LINE__, STR("\x08")}, /* no value */
        {__LINE__, STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02")}, /* 65 bits */
        {__LINE__, STR("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00")}, /* eleven bytes */
        {__LINE__, STR("\x09\x01\x02\x03\x04\x05\x06\x07")}, /* 7 of 8 bytes */
        {__LINE__, STR("\x0d\x01\x02\x03")}, /* 3 of 4 bytes */
        {__LINE__, STR("\x0a\x03hi")}, /* length past the end */
        {__LINE__, STR("\x0a\xff\xff\xff\xff\x0f")}, /* 4 GiB */
        {__LINE__, STR("\x0a\x80\x80\x80\x80\x80\x00")}, /* length of six bytes */
        {__LINE__, STR("\x0b\x0c")}, /* a group */
        {__LINE__, STR("\x0c")}, /* end of a group */
        {__LINE__, STR("\x0e\x00")}, /* type 6 */
        {__LINE__, STR("\x0f\x00")}, /* type 7 */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str rest = cases[i].bytes;
        struct wire_field f;
        bool ok = true;
        bool got = wire_next_field(&rest, &f, &ok);
        test_check(!got && !ok, __FILE__, cases[i].line, "refused");
        test_check(rest.p == cases[i].bytes.p, __FILE__, cases[i].line, "nothing consumed");
    }
}

TEST(packed_varints_must_be_whole) {
    CHECK(wire_is_varints(STR("")));
    CHECK(wire_is_varints(STR("\x01\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
    CHECK(!wire_is_varints(STR("\x01\x80")));
    CHECK(!wire_is_varints(STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")));
}
