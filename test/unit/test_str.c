/* Comparing slices, reading numbers, and what counts as UTF-8. */
#include "base/str.h"

#include "base/err.h"
#include "harness.h"

TEST(str_compares_bytes) {
    CHECK(str_eq(STR("abc"), str_of("abc")));
    CHECK(!str_eq(STR("abc"), STR("abd")));
    CHECK(!str_eq(STR("abc"), STR("ab")));
    CHECK(str_eq(STR("a\0b"), str_bytes("a\0b", 3)));
    CHECK(!str_eq(STR("a\0b"), STR("a\0c")));
    CHECK(str_eq(str_of(NULL), STR("")));
    CHECK(str_is(STR("x"), "x"));
    CHECK(!str_is(STR("x"), ""));
}

TEST(str_prefixes) {
    CHECK(str_starts(STR("abc"), STR("ab")));
    CHECK(str_starts(STR("abc"), STR("abc")));
    CHECK(!str_starts(STR("abc"), STR("abcd")));
    CHECK(!str_starts(STR("abc"), STR("b")));
    CHECK(str_starts(STR("abc"), STR("")));
    CHECK(str_starts(str_of(NULL), str_of(NULL)));
}

TEST(str_c_strings) {
    CHECK(cstr_eq("a", "a"));
    CHECK(!cstr_eq("a", "b"));
    CHECK(cstr_eq(NULL, NULL));
    CHECK(!cstr_eq(NULL, ""));
    CHECK(!cstr_eq("", NULL));
    CHECK(cstr_is_empty(NULL));
    CHECK(cstr_is_empty(""));
    CHECK(!cstr_is_empty(" "));
}

TEST(str_to_i64) {
    static const struct {
        int line;
        struct str text;
        int r;
        int64_t value;
    } cases[] = {
        {__LINE__, STR("0"), 0, 0},
        {__LINE__, STR("7"), 0, 7},
        {__LINE__, STR("-7"), 0, -7},
        {__LINE__, STR("-0"), 0, 0},
        {__LINE__, STR("007"), 0, 7},
        {__LINE__, STR("9223372036854775807"), 0, INT64_MAX},
        {__LINE__, STR("-9223372036854775808"), 0, INT64_MIN},
        {__LINE__, STR("9223372036854775808"), ERR_INVALID, -1},
        {__LINE__, STR("-9223372036854775809"), ERR_INVALID, -1},
        {__LINE__, STR("92233720368547758070"), ERR_INVALID, -1},
        {__LINE__, STR(""), ERR_INVALID, -1},
        {__LINE__, STR("-"), ERR_INVALID, -1},
        {__LINE__, STR("+1"), ERR_INVALID, -1},
        {__LINE__, STR(" 1"), ERR_INVALID, -1},
        {__LINE__, STR("1 "), ERR_INVALID, -1},
        {__LINE__, STR("1a"), ERR_INVALID, -1},
        {__LINE__, STR("--1"), ERR_INVALID, -1},
        {__LINE__, STR("1\0"), ERR_INVALID, -1},
        {__LINE__, STR("/"), ERR_INVALID, -1},
        {__LINE__, STR(":"), ERR_INVALID, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value = -1;
        int r = str_to_i64(cases[i].text, &value);
        test_check_int(r, cases[i].r, __FILE__, cases[i].line, "result");
        test_check_int(value, cases[i].value, __FILE__, cases[i].line, "value");
    }
}

TEST(str_to_i64_reads_only_its_slice) {
    int64_t value = 0;
    CHECK_INT(str_to_i64(str_bytes("123456", 3), &value), 0);
    CHECK_INT(value, 123);
    CHECK_INT(str_to_i64(str_bytes(NULL, 0), &value), ERR_INVALID);
}

TEST(utf8_well_formed_and_not) {
    static const struct {
        int line;
        struct str text;
        bool valid;
    } cases[] = {
        {__LINE__, STR(""), true},
        {__LINE__, STR("plain"), true},
        {__LINE__, STR("a\0b"), true},
        {__LINE__, STR("\x7F"), true},
        {__LINE__, STR("\xC2\x80"), true},
        {__LINE__, STR("\xDF\xBF"), true},
        {__LINE__, STR("\xE0\xA0\x80"), true},
        {__LINE__, STR("\xED\x9F\xBF"), true},
        {__LINE__, STR("\xEE\x80\x80"), true},
        {__LINE__, STR("\xEF\xBF\xBF"), true},
        {__LINE__, STR("\xF0\x90\x80\x80"), true},
        {__LINE__, STR("\xF4\x8F\xBF\xBF"), true},
        {__LINE__, STR("ok \xE2\x82\xAC ok"), true},
        {__LINE__, STR("\x80"), false},
        {__LINE__, STR("\xBF"), false},
        {__LINE__, STR("\xC0\x80"), false},
        {__LINE__, STR("\xC1\xBF"), false},
        {__LINE__, STR("\xC2"), false},
        {__LINE__, STR("\xC2\x41"), false},
        {__LINE__, STR("\xE0\x9F\xBF"), false},
        {__LINE__, STR("\xE2\x82"), false},
        {__LINE__, STR("\xE2\x82\x41"), false},
        {__LINE__, STR("\xED\xA0\x80"), false},
        {__LINE__, STR("\xED\xBF\xBF"), false},
        {__LINE__, STR("\xF0\x8F\xBF\xBF"), false},
        {__LINE__, STR("\xF0\x90\x80"), false},
        {__LINE__, STR("\xF4\x90\x80\x80"), false},
        {__LINE__, STR("\xF5\x80\x80\x80"), false},
        {__LINE__, STR("\xFF"), false},
        {__LINE__, STR("ok\xFFok"), false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        test_check_int(utf8_valid(cases[i].text), cases[i].valid, __FILE__, cases[i].line, "valid");
}

TEST(utf8_without_what_is_no_character) {
    static const struct {
        const char *text, *mended;
    } cases[] = {{"", ""},     {"abc", "abc"},       {"\xC3\xA9", "\xC3\xA9"},    {"a\xC3", "a"},
                 {"\xFF", ""}, {"a\xE2\x82z", "az"}, {"\xA9\xC3\xA9", "\xC3\xA9"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[16];
        memcpy(text, cases[i].text, strlen(cases[i].text) + 1);
        utf8_mend(text);
        CHECK_STR(text, cases[i].mended);
    }
}

TEST(utf8_length_of_the_first_character) {
    CHECK_INT(utf8_char_len(STR("")), 0);
    CHECK_INT(utf8_char_len(STR("ab")), 1);
    CHECK_INT(utf8_char_len(STR("\xC3\xA9z")), 2);
    CHECK_INT(utf8_char_len(STR("\xE2\x82\xACz")), 3);
    CHECK_INT(utf8_char_len(STR("\xF0\x9F\x98\x80z")), 4);
    CHECK_INT(utf8_char_len(STR("\xFFz")), 0);
}
