/* The reader and the writer of JSON, numbers, base64, times: everything below messages. */
#include "json/base64.h"
#include "json/moment.h"
#include "json/number.h"
#include "json/writer.h"
#include "json_fixture.h"

/* Reads one value and copies it in both layouts; NULL for `pretty` means as compact. */
struct layout {
    int line;
    const char *text;
    const char *compact;
    const char *pretty;
};

static void check_copy(const struct layout *c, bool is_pretty, const char *want) {
    struct buf out cleanup(buf_done);
    struct json_reader r;
    struct json_writer w;
    buf_init(&out, JSON_BUDGET);
    reader_init(&r, str_of(c->text));
    writer_init(&w, &out, is_pretty);
    test_check_int(writer_copy(&w, &r), 0, __FILE__, c->line, "writer_copy");
    test_check_int(reader_end(&r), 0, __FILE__, c->line, "reader_end");
    if (buf_ok(&out))
        test_check_str(buf_str(&out), str_of(want), __FILE__, c->line, is_pretty ? "pretty" : "compact");
}

TEST(json_text_keeps_values_and_changes_only_the_space_between_them) {
    static const struct layout cases[] = {
        {__LINE__, " true ", "true", NULL},
        {__LINE__, "\t[ ]\r\n", "[]", NULL},
        {__LINE__, "{ }", "{}", NULL},
        {__LINE__, "[1 , -0.50e+7,12345678901234567890]", "[1,-0.50e+7,12345678901234567890]",
         "[\n  1,\n  -0.50e+7,\n  12345678901234567890\n]"},
        {__LINE__, "{\"a\" : [ {} , null ] ,\"b\":\"x\\u00e9 y\"}", "{\"a\":[{},null],\"b\":\"x\\u00e9 y\"}",
         "{\n  \"a\": [\n    {},\n    null\n  ],\n  \"b\": \"x\\u00e9 y\"\n}"},
        {__LINE__, "\"\\ud800\"", "\"\\ud800\"", NULL}, /* half a pair: odd, but the user's */
        {__LINE__, "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}", "{\n  \"a\": 1,\n  \"a\": 2\n}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        check_copy(&cases[i], false, cases[i].compact);
        check_copy(&cases[i], true, cases[i].pretty ? cases[i].pretty : cases[i].compact);
    }
}

TEST(json_text_names_the_mistake_and_its_place) {
    static const struct {
        int line;
        const char *text;
        const char *mistake;
        size_t at_line, at_column;
    } cases[] = {
        {__LINE__, "", "expected a value", 1, 1},
        {__LINE__, "  nul", "expected null", 1, 3},
        {__LINE__, "tru", "expected true or false", 1, 1},
        {__LINE__, "nan", "expected null", 1, 1},
        {__LINE__, "+1", "expected a value", 1, 1},
        {__LINE__, "01", "not a number as JSON writes it", 1, 3},
        {__LINE__, "-", "not a number as JSON writes it", 1, 2},
        {__LINE__, "1.", "expected digits after the point", 1, 3},
        {__LINE__, "1e", "expected digits in the exponent", 1, 3},
        {__LINE__, "[1 2]", "expected ',' or ']'", 1, 4},
        {__LINE__, "[1,]", "expected a value", 1, 4},
        {__LINE__, "[1", "expected ',' or ']'", 1, 3},
        {__LINE__, "{\n \"a\" 1}", "expected ':'", 2, 6},
        {__LINE__, "{\"a\":1,}", "expected a name in quotes", 1, 8},
        {__LINE__, "{a:1}", "expected a name in quotes", 1, 2},
        {__LINE__, "{\"a\":1 \"b\":2}", "expected ',' or '}'", 1, 8},
        {__LINE__, "\"a", "the text ends inside a string", 1, 3},
        {__LINE__, "\"a\\", "the text ends inside a string", 1, 3},
        {__LINE__, "\"\\x\"", "unknown escape in a string", 1, 2},
        {__LINE__, "\"\\u12g4\"", "\\u needs four hexadecimal digits", 1, 2},
        {__LINE__, "\"\n\"", "control characters in a string must be escaped", 1, 2},
        {__LINE__, "1 1", "text after the value", 1, 3},
        {__LINE__, "// no\n1", "expected a value", 1, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json_reader r;
        reader_init(&r, str_of(cases[i].text));
        int rc = reader_skip(&r, NULL);
        if (rc == 0)
            rc = reader_end(&r);
        test_check_int(rc, ERR_INVALID, __FILE__, cases[i].line, "rc");
        test_check_str(str_of(r.mistake), str_of(cases[i].mistake), __FILE__, cases[i].line, "mistake");
        struct json_place place = reader_place(&r);
        test_check_int((int64_t)place.line, (int64_t)cases[i].at_line, __FILE__, cases[i].line, "line");
        test_check_int((int64_t)place.column, (int64_t)cases[i].at_column, __FILE__, cases[i].line, "column");
    }
}

TEST(json_text_nests_up_to_the_limit) {
    char text[2 * JSON_DEPTH_MAX + 2];
    struct json_reader r;
    memset(text, '[', sizeof(text));
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    reader_init(&r, str_bytes(text, (size_t)2 * JSON_DEPTH_MAX));
    CHECK_INT(reader_skip(&r, NULL), 0);
    memset(text, '[', sizeof(text));
    reader_init(&r, str_bytes(text, sizeof(text)));
    CHECK_INT(reader_skip(&r, NULL), ERR_INVALID);
    CHECK_STR(r.mistake, "nested too deeply");
    CHECK_INT(r.at, JSON_DEPTH_MAX);
}

TEST(json_text_strings_are_decoded) {
    static const struct {
        const char *text;
        const char *want; /* NULL: refused */
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!"},
        {"\"\\ud83d\"", NULL},
        {"\"\\ud83dx\"", NULL},
        {"\"\\ud83d\\u0041\"", NULL},
        {"\"\\ude00\"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct json_reader r;
        struct str s;
        arena_init(&a, JSON_BUDGET);
        reader_init(&r, str_of(cases[i].text));
        int rc = reader_string(&r, &a, &s);
        CHECK_INT(rc, cases[i].want ? 0 : ERR_INVALID);
        if (rc == 0)
            CHECK_SLICE(s, str_of(cases[i].want));
        else
            CHECK_STR(r.mistake, "half of a surrogate pair in a string");
    }
}

TEST(json_text_strings_are_escaped) {
    struct buf out cleanup(buf_done);
    struct json_writer w;
    buf_init(&out, JSON_BUDGET);
    writer_init(&w, &out, WRITER_COMPACT);
    writer_string(&w, STR("a\"\\\n\x01\x7f\xc3\xa9\xff\xc3"));
    if (buf_ok(&out))
        CHECK_SLICE(buf_str(&out), STR("\"a\\\"\\\\\\n\\u0001\x7f\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\""));
}

TEST(json_text_whole_numbers) {
    static const struct {
        const char *text;
        int64_t sign; /* 0: refused */
        uint64_t magnitude;
    } cases[] = {
        {"0", 1, 0},
        {"-0", 1, 0},
        {"18446744073709551615", 1, UINT64_MAX},
        {"18446744073709551616", 0, 0},
        {"-9223372036854775808", -1, UINT64_C(9223372036854775808)},
        {"1e3", 1, 1000},
        {"1.5e1", 1, 15},
        {"1.50", 0, 0},
        {"5.000", 1, 5},
        {"150e-1", 1, 15},
        {"155e-1", 0, 0},
        {"0e999999", 1, 0},
        {"1e20", 0, 0},
        {"1e99999999999999999999", 0, 0},
        {"0.0000001e7", 1, 1},
        {"", 0, 0},
        {" 1", 0, 0},
        {"1 ", 0, 0},
        {"0x10", 0, 0},
        {"1e-5", 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool is_negative = false;
        uint64_t magnitude = 0;
        int rc = number_whole(str_of(cases[i].text), &is_negative, &magnitude);
        test_check_int(rc, cases[i].sign ? 0 : ERR_INVALID, __FILE__, __LINE__, cases[i].text);
        if (rc == 0) {
            test_check(is_negative == (cases[i].sign < 0), __FILE__, __LINE__, cases[i].text);
            test_check(magnitude == cases[i].magnitude, __FILE__, __LINE__, cases[i].text);
        }
    }
}

TEST(json_text_real_numbers_are_short_and_exact) {
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},   {1.0 / 3, "0.3333333333333333"},   {1e300, "1e+300"},
        {-2.5, "-2.5"}, {5e-324, "4.94065645841247e-324"}, {123456789012345680.0, "1.2345678901234568e+17"}};
    char text[NUMBER_TEXT_MAX];
    double again;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        number_format_double(cases[i].value, text);
        CHECK_STR(text, cases[i].text);
        CHECK_INT(number_real(str_of(text), &again), 0);
        CHECK(again == cases[i].value);
    }
    number_format_float(0.1f, text);
    CHECK_STR(text, "0.1");
    CHECK_INT(number_real(STR("1e999"), &again), ERR_INVALID);
    CHECK_INT(number_real(STR("Infinity"), &again), ERR_INVALID);
}

TEST(json_text_base64) {
    static const struct {
        const char *text;
        const char *bytes; /* NULL: refused */
        bool is_canonical;
    } cases[] = {
        {"", "", true},
        {"Zg==", "f", true},
        {"Zm8=", "fo", true},
        {"Zm9v", "foo", true},
        {"Zm9vYg==", "foob", true},
        {"Zg", "f", false},
        {"Zm8", "fo", false},
        {"-_-_", "\xfb\xff\xbf", false},
        {"+/+/", "\xfb\xff\xbf", true},
        {"Zh==", NULL, false}, /* bits that mean nothing */
        {"Z", NULL, false},
        {"Zm9v=", NULL, false},
        {"Z===", NULL, false},
        {"Zg=", NULL, false},
        {"====", NULL, false},
        {"Zm 9v", NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a cleanup(arena_done);
        struct buf b cleanup(buf_done);
        struct str bytes;
        arena_init(&a, JSON_BUDGET);
        buf_init(&b, JSON_BUDGET);
        int rc = base64_read(&a, str_of(cases[i].text), &bytes);
        test_check_int(rc, cases[i].bytes ? 0 : ERR_INVALID, __FILE__, __LINE__, cases[i].text);
        if (rc < 0)
            continue;
        CHECK_SLICE(bytes, str_of(cases[i].bytes));
        base64_add(&b, bytes);
        if (cases[i].is_canonical && buf_ok(&b))
            CHECK_SLICE(buf_str(&b), str_of(cases[i].text));
    }
}

struct time_case {
    const char *text;
    int64_t seconds;
    int32_t nanos;
    const char *again; /* NULL: as read */
};

TEST(json_text_times) {
    static const struct time_case good[] = {
        {"1970-01-01T00:00:00Z", 0, 0, NULL},
        {"1970-01-01T00:00:00.250Z", 0, 250000000, NULL},
        {"1969-12-31T23:59:59.000001Z", -1, 1000, NULL},
        {"2026-03-01T09:00:00.123456789Z", 1772355600, 123456789, NULL},
        {"2026-03-01T09:00:00.5Z", 1772355600, 500000000, "2026-03-01T09:00:00.500Z"},
        {"2026-03-01T10:30:00+01:30", 1772355600, 0, "2026-03-01T09:00:00Z"},
        {"2026-03-01T04:00:00-05:00", 1772355600, 0, "2026-03-01T09:00:00Z"},
        {"0001-01-01T00:00:00Z", INT64_C(-62135596800), 0, NULL},
        {"9999-12-31T23:59:59.999999999Z", INT64_C(253402300799), 999999999, NULL},
    };
    static const char *const bad[] = {
        "",
        "2026-03-01",
        "2026-03-01T09:00:00",
        "2026-03-01T09:00Z",
        "20260301T090000Z",
        "2026-03-01 09:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-03-01T25:00:00Z",
        "2026-03-01T09:00:00.Z",
        "2026-03-01T09:00:00.1234567890Z",
        "2026-03-01T09:00:00+0100",
        "2026-03-01T09:00:00Zx",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "2026-03-01t09:00:00z",
    };
    char text[MOMENT_TEXT_MAX];
    int64_t seconds;
    int32_t nanos;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (!CHECK_INT(moment_read(str_of(good[i].text), &seconds, &nanos), 0))
            continue;
        CHECK_INT(seconds, good[i].seconds);
        CHECK_INT(nanos, good[i].nanos);
        CHECK_INT(moment_format(seconds, nanos, text), 0);
        CHECK_STR(text, good[i].again ? good[i].again : good[i].text);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        test_check_int(moment_read(str_of(bad[i]), &seconds, &nanos), ERR_INVALID, __FILE__, __LINE__,
                       bad[i]);
    CHECK_INT(moment_format(INT64_C(253402300800), 0, text), ERR_INVALID);
    CHECK_INT(moment_format(0, -1, text), ERR_INVALID);
}

TEST(json_text_durations) {
    static const struct time_case good[] = {
        {"0s", 0, 0, NULL},
        {"1.500s", 1, 500000000, NULL},
        {"1.5s", 1, 500000000, "1.500s"},
        {"-1.500s", -1, -500000000, NULL},
        {"-0.000000001s", 0, -1, NULL},
        {"315576000000s", INT64_C(315576000000), 0, NULL},
        {"00010s", 10, 0, "10s"},
    };
    static const char *const bad[] = {"",
                                      "1",
                                      "s",
                                      "1.s",
                                      ".5s",
                                      "+1s",
                                      "1m",
                                      "--1s",
                                      "1 s",
                                      "1.5e1s",
                                      "315576000001s",
                                      "1.1234567890s",
                                      "-",
                                      "1.5ss",
                                      "-.5s",
                                      "99999999999999999999s"};
    char text[MOMENT_TEXT_MAX];
    int64_t seconds;
    int32_t nanos;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        if (!CHECK_INT(span_read(str_of(good[i].text), &seconds, &nanos), 0))
            continue;
        CHECK_INT(seconds, good[i].seconds);
        CHECK_INT(nanos, good[i].nanos);
        CHECK_INT(span_format(seconds, nanos, text), 0);
        CHECK_STR(text, good[i].again ? good[i].again : good[i].text);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        test_check_int(span_read(str_of(bad[i]), &seconds, &nanos), ERR_INVALID, __FILE__, __LINE__, bad[i]);
    CHECK_INT(span_format(1, -1, text), ERR_INVALID);
    CHECK_INT(span_format(INT64_C(315576000001), 0, text), ERR_INVALID);
}
