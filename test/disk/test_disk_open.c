/* Each system call of our own, before SQLite sees the file, fails: the store says why, and opens the next
 * time.
 *
 * The linker puts these functions in front of libc's for what we compile (--wrap); SQLite's are not touched.
 */
#include "store_fixture.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/stat.h>

#define CALLS_MAX 100

static struct {
    int left; /* the call that fails; 0: none */
    int error;
    bool has_failed;
} armed;

static bool is_hit(void) {
    if (!armed.left || --armed.left)
        return false;
    armed.has_failed = true;
    errno = armed.error;
    return true;
}

#define WRAPPED(name, parameters, arguments)                                                                 \
    int __real_##name parameters;                                                                            \
    int __wrap_##name parameters;                                                                            \
    int __wrap_##name parameters {                                                                           \
        return is_hit() ? -1 : __real_##name arguments;                                                      \
    }

WRAPPED(access, (const char *path, int mode), (path, mode))
WRAPPED(flock, (int fd, int operation), (fd, operation))
WRAPPED(fstat64, (int fd, struct stat *ret), (fd, ret))
WRAPPED(ftruncate64, (int fd, off_t size), (fd, size))
WRAPPED(stat64, (const char *path, struct stat *ret), (path, ret))

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...) {
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return is_hit() ? -1 : __real_open64(path, flags, mode);
}

ssize_t __real_pread64(int fd, void *space, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *space, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *space, size_t n, off_t at) {
    return is_hit() ? -1 : __real_pread64(fd, space, n, at);
}

static void add_namespace(struct fixture *f) {
    struct commit c;
    commit_init(&c);
    struct write *w = commit_add(&c, WRITE_NAMESPACE, id(1), id(0));
    w->name = STR("one");
    fixture_commit(f, &c);
    batch_done(&c.batch);
}

static size_t count_namespaces(struct fixture *f) {
    struct question q;
    struct buf text;
    buf_init(&text, FIXTURE_TEXT_MAX);
    question_init(&q, READ_NAMESPACES, &text);
    CHECK_INT(question_ask(&q, f->store), 0);
    buf_done(&text);
    return q.row_count;
}

/* Opens the store with its n-th call failing; whether there is such a call. */
static bool open_failing(int n, int error, bool is_old) {
    struct fixture f;
    struct err e = {0};
    fixture_prepare(&f, BACKEND_FILE);
    if (is_old) {
        fixture_reopen(&f);
        add_namespace(&f);
        fixture_close(&f);
    }
    armed.left = n;
    armed.error = error;
    armed.has_failed = false;
    int rc = fixture_try_open(&f, f.path, &e);
    bool has_failed = armed.has_failed;
    armed.left = 0;
    if (rc < 0) {
        CHECK(has_failed && (rc == ERR_STORE_IO || rc == ERR_STORE_LOCKED));
        CHECK(strstr(e.text, f.path) != NULL && strstr(e.text, strerror(error)) != NULL);
    }
    fixture_close(&f);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL))
        CHECK_INT(count_namespaces(&f), is_old ? 1 : 0);
    fixture_done(&f);
    return has_failed;
}

static void fail_each(bool is_old) {
    static const int errors[] = {EIO, EACCES, ENOSPC, EMFILE};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        int n = 1;
        while (n < CALLS_MAX && open_failing(n, errors[i], is_old))
            n++;
        CHECK(n > 5 && n < CALLS_MAX);
    }
}

TEST(each_call_fails_for_a_new_file) {
    fail_each(false);
}

TEST(each_call_fails_for_an_old_file) {
    fail_each(true);
}
