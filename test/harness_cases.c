/* Tests that end in every way a test can, some wrong on purpose, for test_harness.py to look at. */
#include "base/mem.h"
#include "harness.h"

TEST(good_one) {
    CHECK(true);
    CHECK_INT(2 + 2, 4);
    CHECK_STR("a", "a");
}

TEST(good_needs_memory) {
    char *a = mem_strdup("a");
    char *b = mem_strdup("b");
    CHECK_STR(a, "a");
    CHECK_STR(b, "b");
    mem_free(a);
    mem_free(b);
}

TEST(bad_condition) {
    CHECK(1 > 2);
    CHECK(2 > 1);
}

TEST(bad_number) {
    CHECK_INT(INT64_MIN, 7);
}

TEST(bad_text) {
    CHECK_STR("got\n", "want");
}

TEST(bad_null_text) {
    CHECK_STR(NULL, "");
}

TEST(bad_without_check) {}

TEST(bad_required) {
    REQUIRE(1 > 2);
    CHECK(!"reached");
}
