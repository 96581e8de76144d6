/* The words of base.h: moving pointers, finding owners, and how ensure() ends a process. */
#include "base/base.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

struct owner {
    int before;
    int member;
};

TEST(base_take_leaves_null) {
    int value = 7;
    int *p = &value;
    int *taken = take(&p);
    CHECK(taken == &value);
    CHECK(p == NULL);
}

TEST(base_container_of_finds_the_owner) {
    struct owner o = {1, 2};
    CHECK(container_of(&o.member, struct owner, member) == &o);
}

TEST(base_min_max_array_len) {
    int three[3] = {0};
    CHECK_INT(ARRAY_LEN(three), 3);
    CHECK_INT(MIN(2, 1), 1);
    CHECK_INT(MAX(2, 1), 2);
}

/* Runs fn in a child whose standard error is kept, and returns its wait status. */
static int run_dying(void (*fn)(void), char *ret_text, size_t size) {
    int ends[2];
    if (pipe(ends) < 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        fn();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    ssize_t n;
    while (len < size - 1 && (n = read(ends[0], ret_text + len, size - 1 - len)) > 0)
        len += (size_t)n;
    ret_text[len] = '\0';
    close(ends[0]);
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static void break_promise(void) {
    ensure(1 + 1 == 3);
}

static void break_invariant(void) {
    ensure_inv(I7, 1 + 1 == 3);
}

static void keep_promise(void) {
    ensure(1 + 1 == 2);
    ensure_inv(I7, 1 + 1 == 2);
}

static void fail_with_long_text(void) {
    char what[2000];
    memset(what, 'x', sizeof(what) - 1);
    what[sizeof(what) - 1] = '\0';
    ensure_failed("file.c", 1, what);
}

TEST(base_ensure_names_the_condition_and_aborts) {
    static const struct {
        int line;
        void (*fn)(void);
        const char *text;
    } cases[] = {
        {__LINE__, break_promise, ": ensure failed: 1 + 1 == 3\n"},
        {__LINE__, break_invariant, ": ensure failed: I7: 1 + 1 == 3\n"},
        {__LINE__, fail_with_long_text, "xxx\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[4096];
        int status = run_dying(cases[i].fn, text, sizeof(text));
        test_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, __FILE__, cases[i].line, "aborted");
        test_check(strstr(text, cases[i].text) != NULL, __FILE__, cases[i].line, text);
    }
}

TEST(base_ensure_is_silent_when_it_holds) {
    char text[256];
    CHECK_INT(run_dying(keep_promise, text, sizeof(text)), 0);
    CHECK_STR(text, "");
}
