/* The error table and how a struct err is filled and cut. */
#include "base/err.h"

#include <string.h>

#include "base/str.h"
#include "harness.h"

TEST(err_codes_are_negative_and_distinct) {
    CHECK(ERR_INVALID < 0);
    CHECK(ERR_NOT_FOUND < 0);
    CHECK(ERR_INVALID != ERR_NOT_FOUND);
    CHECK_INT(ERR_INVALID, -ERR_INDEX_INVALID);
}

TEST(err_every_code_has_a_name_and_a_text) {
    for (int code = -1; code > -ERR_COUNT; code--) {
        CHECK(!cstr_is_empty(err_name(code)));
        CHECK(!cstr_is_empty(err_text(code)));
        CHECK(!cstr_eq(err_name(code), err_name(code + 1)));
    }
}

TEST(err_names) {
    static const struct {
        int line;
        int code;
        const char *name;
    } cases[] = {
        {__LINE__, 0, "OK"},
        {__LINE__, ERR_INVALID, "INVALID"},
        {__LINE__, ERR_STORE_NEWER, "STORE_NEWER"},
        {__LINE__, 1, "UNKNOWN"},
        {__LINE__, -ERR_COUNT, "UNKNOWN"},
        {__LINE__, INT32_MIN, "UNKNOWN"},
        {__LINE__, INT32_MAX, "UNKNOWN"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        test_check_str(str_of(err_name(cases[i].code)), str_of(cases[i].name), __FILE__, cases[i].line,
                       "name");
}

TEST(err_set_fills_and_returns_the_code) {
    struct err e;
    memset(&e, 0xAA, sizeof(e));
    CHECK_INT(err_set(&e, ERR_NOT_FOUND, "no %s with id %d", "workflow", 7), ERR_NOT_FOUND);
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_STR(e.text, "no workflow with id 7");
    CHECK_STR(e.subject, "");
    CHECK_STR(e.run_id.s, "");
    CHECK_STR(e.first_run_id.s, "");
    CHECK_INT(e.cause, 0);
    CHECK(e.failure == NULL);
    CHECK_INT(e.failure_len, 0);
}

TEST(err_std_uses_the_table) {
    struct err e = {0};
    CHECK_INT(err_std(&e, ERR_CLOSED), ERR_CLOSED);
    CHECK_STR(e.text, "workflow execution already completed");
}

TEST(err_nobody_listening_is_fine) {
    CHECK_INT(err_set(NULL, ERR_INVALID, "%s", "unheard"), ERR_INVALID);
    CHECK_INT(err_std(NULL, ERR_BUSY), ERR_BUSY);
}

/* A text of len bytes that ends with tail. */
static void fill(char *text, size_t len, const char *tail) {
    size_t tail_len = strlen(tail);
    memset(text, 'a', len - tail_len);
    memcpy(text + len - tail_len, tail, tail_len + 1);
}

TEST(err_text_is_cut_at_a_character) {
    static const struct {
        int line;
        const char *tail; /* the last bytes of a text that is one byte too long to fit */
        size_t kept;
    } cases[] = {
        {__LINE__, "bc", ERR_TEXT_MAX - 1},           {__LINE__, "\xC3\xA9", ERR_TEXT_MAX - 2},
        {__LINE__, "\xE2\x82\xAC", ERR_TEXT_MAX - 3}, {__LINE__, "\xF0\x9F\x98\x80", ERR_TEXT_MAX - 4},
        {__LINE__, "\xC3\xA9z", ERR_TEXT_MAX - 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[ERR_TEXT_MAX + 1];
        struct err e;
        fill(text, ERR_TEXT_MAX, cases[i].tail);
        CHECK_INT(err_set(&e, ERR_INVALID, "%s", text), ERR_INVALID);
        test_check_int((int64_t)strlen(e.text), (int64_t)cases[i].kept, __FILE__, cases[i].line, "kept");
        test_check(utf8_valid(str_of(e.text)), __FILE__, cases[i].line, "well-formed");
    }
}

TEST(err_text_has_no_parts_of_characters) {
    struct err e;
    CHECK_INT(err_set(&e, ERR_INVALID, "\"%.4s\" and \"%.3s\"", "abc\xE2\x82\xAC", "\xF0\x9F\x98\x80"),
              ERR_INVALID);
    CHECK_STR(e.text, "\"abc\" and \"\"");
}

TEST(err_text_that_just_fits_is_whole) {
    char text[ERR_TEXT_MAX];
    struct err e;
    fill(text, ERR_TEXT_MAX - 1, "\xE2\x82\xAC");
    CHECK_INT(err_set(&e, ERR_INVALID, "%s", text), ERR_INVALID);
    CHECK_STR(e.text, text);
}
