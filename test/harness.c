/* Runs the registered tests in the order of their definition and reports in TAP.
 *
 * A check that fails prints where and what, and the test goes on. Under
 * --torture a test runs plainly, then once for each allocation that it makes,
 * with that one failing: what its checks say then does not count, but it must
 * not crash or leak, and must pass plainly again afterwards. The last line
 * says how many passed and failed. */
#include "harness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fault.h"

/* A test that allocates more often than this is too large to torture. */
#define TORTURE_RUNS_MAX 20000
#define PRINTED_BYTES_MAX 400

struct outcome {
    uint64_t checks;
    uint64_t failures;
    bool quiet; /* a failing allocation is armed: failing checks are expected */
};

struct options {
    const char *filter;
    bool list;
    bool torture;
};

static struct test *first_test;
static struct test **last_link = &first_test;
static struct outcome outcome;

/* Present only in builds with LeakSanitizer. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

void test_register(struct test *t) {
    *last_link = t;
    last_link = &t->next;
}

/* Counts a check and says whether its failure should be printed. */
static bool count_check(bool ok) {
    outcome.checks++;
    if (ok)
        return false;
    outcome.failures++;
    return !outcome.quiet;
}

bool test_check(bool ok, const char *file, int line, const char *what) {
    if (count_check(ok))
        printf("# %s:%d: not true: %s\n", file, line, what);
    return ok;
}

bool test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what) {
    if (count_check(got == want))
        printf("# %s:%d: %s is %" PRId64 ", not %" PRId64 "\n", file, line, what, got, want);
    return got == want;
}

uint64_t test_failures(void) {
    return outcome.failures;
}

static void print_bytes(struct str s) {
    if (!s.p) {
        fputs("(null)", stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < s.n && i < PRINTED_BYTES_MAX; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x20 || c >= 0x7F || c == '"' || c == '\\')
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    fputs(s.n > PRINTED_BYTES_MAX ? "\"..." : "\"", stdout);
    printf(" (%zu bytes)", s.n);
}

/* No string at all and an empty one are different answers. */
bool test_check_str(struct str got, struct str want, const char *file, int line, const char *what) {
    bool ok = str_eq(got, want) && (got.n > 0 || !got.p == !want.p);
    if (!count_check(ok))
        return ok;
    printf("# %s:%d: %s is ", file, line, what);
    print_bytes(got);
    fputs(", not ", stdout);
    print_bytes(want);
    putchar('\n');
    return ok;
}

static bool run_plain(const struct test *t) {
    outcome = (struct outcome){0};
    t->fn();
    if (outcome.checks == 0)
        printf("# %s: executed no check\n", t->name);
    return outcome.checks > 0 && outcome.failures == 0;
}

/* Whether the run was disturbed: false means that n exceeds the test's allocations. */
static bool run_with_fault(const struct test *t, uint64_t n) {
    outcome = (struct outcome){.quiet = true};
    fault_arm_alloc(n);
    t->fn();
    bool fired = fault_fired();
    fault_disarm();
    return fired;
}

static bool leaks(const struct test *t) {
    if (!__lsan_do_recoverable_leak_check || !__lsan_do_recoverable_leak_check())
        return false;
    printf("# %s: leaks memory when an allocation fails\n", t->name);
    return true;
}

static bool run_tortured(const struct test *t) {
    if (!run_plain(t))
        return false;
    uint64_t n = 1;
    while (n <= TORTURE_RUNS_MAX && run_with_fault(t, n))
        n++;
    if (n > TORTURE_RUNS_MAX) {
        printf("# %s: more than %d allocations\n", t->name, TORTURE_RUNS_MAX);
        return false;
    }
    printf("# %s: %" PRIu64 " failing allocations survived\n", t->name, n - 1);
    return run_plain(t) && !leaks(t);
}

static bool is_selected(const struct test *t, const struct options *o) {
    return !o->filter || strstr(t->name, o->filter);
}

static int list_tests(const struct options *o) {
    for (const struct test *t = first_test; t; t = t->next) {
        if (is_selected(t, o))
            puts(t->name);
    }
    return 0;
}

static int run_tests(const struct options *o) {
    int passed = 0, failed = 0;
    for (const struct test *t = first_test; t; t = t->next) {
        if (!is_selected(t, o))
            continue;
        bool ok = o->torture ? run_tortured(t) : run_plain(t);
        passed += ok;
        failed += !ok;
        printf("%s %d - %s\n", ok ? "ok" : "not ok", passed + failed, t->name);
        fflush(stdout);
    }
    printf("1..%d\n", passed + failed);
    printf("# %d passed, %d failed\n", passed, failed);
    return passed > 0 && failed == 0 ? 0 : 1;
}

static bool parse_options(int argc, char **argv, struct options *ret) {
    for (int i = 1; i < argc; i++) {
        if (cstr_eq(argv[i], "--list"))
            ret->list = true;
        else if (cstr_eq(argv[i], "--torture"))
            ret->torture = true;
        else if (cstr_eq(argv[i], "--filter") && i + 1 < argc)
            ret->filter = argv[++i];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    struct options options = {0};
    if (!parse_options(argc, argv, &options)) {
        fprintf(stderr, "usage: %s [--filter WORD] [--list] [--torture]\n", argv[0]);
        return 2;
    }
    return options.list ? list_tests(&options) : run_tests(&options);
}
