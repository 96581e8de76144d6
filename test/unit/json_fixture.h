/* Tables of JSON texts for the tests of src/json. */
#pragma once

#include "harness.h"
#include "json/json.h"

#define JSON_BUDGET ((size_t)4 << 20)

struct json_case {
    int line;
    const ProtobufCMessageDescriptor *type;
    const char *text;
    const char *want;
};

#define CASE(type, text, want)                                                                               \
    { __LINE__, type, text, want }

/* Read, then written again: `want` is the text, or NULL when it is the same as what was read. */
void check_again(const struct json_case *cases, size_t count, struct json_style style);
/* Read: refused with the text `want`. */
void check_refused(const struct json_case *cases, size_t count, bool has_shorthand);
/* Read: the packed message, byte by byte in hexadecimal, is `want`. */
void check_packed(const struct json_case *cases, size_t count, bool has_shorthand);

#define CHECK_AGAIN(cases, style) check_again((cases), ARRAY_LEN(cases), (style))
#define CHECK_REFUSED(cases, has_shorthand) check_refused((cases), ARRAY_LEN(cases), (has_shorthand))
#define CHECK_PACKED(cases, has_shorthand) check_packed((cases), ARRAY_LEN(cases), (has_shorthand))
