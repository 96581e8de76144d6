/* The test harness: TEST bodies, CHECK macros that print both values, filters, TAP output.
 *
 *   TEST(heap_orders_equal_keys) { ... CHECK_INT(top->key, 5); }
 *
 * A test that executes no CHECK fails. `--filter WORD` runs the tests whose name contains it,
 * `--list` names them, `--torture` repeats each test with its n-th allocation failing until none
 * fails (CHECKs then only count when no fault fired). The exit code is 0 only if all passed. */
#pragma once

#include "base/base.h"
#include "base/str.h"

struct test {
    const char *name;
    void (*fn)(void);
    struct test *next;
};
void test_register(struct test *t);

#define TEST(id)                                                                  \
    static void test_fn_##id(void);                                               \
    static struct test test_##id = {#id, test_fn_##id, NULL};                     \
    __attribute__((constructor)) static void test_ctor_##id(void) { test_register(&test_##id); } \
    static void test_fn_##id(void)

bool test_check(bool ok, const char *file, int line, const char *what);
bool test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what);
bool test_check_str(struct str got, struct str want, const char *file, int line, const char *what);

uint64_t test_failures(void); /* of checks in this test so far */

#define CHECK(cond) test_check((cond), __FILE__, __LINE__, #cond)
#define CHECK_INT(got, want) test_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
#define CHECK_STR(got, want) test_check_str(str_of(got), str_of(want), __FILE__, __LINE__, #got)
#define CHECK_SLICE(got, want) test_check_str((got), (want), __FILE__, __LINE__, #got)
/* Leaves the test when the check fails; only where no cleanup is pending. */
#define REQUIRE(cond)                                       \
    do {                                                    \
        if (!test_check((cond), __FILE__, __LINE__, #cond)) \
            return;                                         \
    } while (0)
