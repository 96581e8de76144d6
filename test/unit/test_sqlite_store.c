/* The SQLite file: opened again, refused when it should be, and durable when the process dies.
 *
 * Permission bits do not stop root, who may run this, so "unwritable" is tried
 * with a directory that is missing and with a directory in place of the file. */
#include "store_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/rng.h"

static struct write *add(struct commit *c, enum write_kind kind) {
    return commit_add(c, kind, id(1), id(2));
}

/* A history of rows 1, 2, … with one event each. */
static void add_event(struct commit *c, int64_t event_id, struct str body) {
    struct write *w = add(c, WRITE_HISTORY);
    w->first_event_id = w->last_event_id = event_id;
    w->body = body;
}

static int read_history(struct store *s, size_t *ret_count) {
    struct question q;
    struct buf text;
    buf_init(&text, FIXTURE_TEXT_MAX);
    question_init(&q, READ_HISTORY, &text);
    q.read.namespace_id = id(1);
    q.read.run_id = id(2);
    q.read.last_event_id = INT64_MAX;
    int rc = question_ask(&q, s);
    *ret_count = q.row_count;
    buf_done(&text);
    return rc;
}

static void fill(struct fixture *f, int64_t from, int64_t to, struct str body) {
    struct commit c;
    commit_init(&c);
    for (int64_t i = from; i <= to; i++)
        add_event(&c, i, body);
    fixture_commit(f, &c);
    batch_done(&c.batch);
}

static const char page[4096]; /* zeroes */

/* a store that is closed and opened again */

TEST(sqlite_file_keeps_what_was_committed) {
    struct fixture f;
    size_t count = 0;
    fixture_init(&f, BACKEND_FILE);
    for (int round = 0; round < 3 && CHECK(f.store != NULL); round++) {
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, round * 5);
        fill(&f, round * 5 + 1, round * 5 + 5, STR("x"));
        fixture_close(&f);
        fixture_reopen(&f);
    }
    fixture_done(&f);
}

/* A commit removes a part of a long history, and the commits after it the rest. */
static void check_long_history_goes(bool is_reopened) {
    enum { ROWS = 5000, COMMITS = 3 };
    struct fixture f;
    struct commit c;
    size_t count = 0;
    fixture_init(&f, BACKEND_FILE);
    commit_init(&c);
    if (CHECK(f.store != NULL)) {
        fill(&f, 1, ROWS, STR("x"));
        add(&c, WRITE_EXECUTION_GONE);
        fixture_commit(&f, &c);
        if (is_reopened) {
            fixture_close(&f);
            fixture_reopen(&f);
        }
        for (int i = 0; i < COMMITS; i++) {
            struct write *w = commit_add(&c, WRITE_NAMESPACE, id(1), id(0));
            w->name = STR("name");
            fixture_commit(&f, &c);
        }
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, 0);
    }
    batch_done(&c.batch);
    fixture_done(&f);
}

TEST(sqlite_long_history_goes_in_pieces) {
    check_long_history_goes(false);
}
TEST(sqlite_long_history_goes_on_to_go_after_a_restart) {
    check_long_history_goes(true);
}

/* SQLite then writes pages to the log, and reads some of them back, before the commit. */
TEST(sqlite_commit_larger_than_the_cache) {
    enum { ROWS = 11000 };
    struct fixture f;
    size_t count = 0;
    fixture_init(&f, BACKEND_FILE);
    if (CHECK(f.store != NULL)) {
        fill(&f, 1, ROWS, str_bytes(page, sizeof page));
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, ROWS);
        fixture_reopen(&f);
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, ROWS);
    }
    fixture_done(&f);
}

TEST(sqlite_files_are_private) {
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
    struct fixture f;
    fixture_init(&f, BACKEND_FILE);
    if (CHECK(f.store != NULL)) {
        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
            struct stat st;
            char name[FIXTURE_PATH_MAX + 32];
            (void)snprintf(name, sizeof name, "%s%s", f.path, suffixes[i]);
            if (CHECK_INT(stat(name, &st), 0))
                CHECK_INT(st.st_mode & 0777, 0600);
        }
    }
    fixture_done(&f);
}

TEST(sqlite_close_leaves_one_file_and_its_lock) {
    struct fixture f;
    struct stat st;
    char name[FIXTURE_PATH_MAX + 32];
    fixture_init(&f, BACKEND_FILE);
    if (CHECK(f.store != NULL))
        fill(&f, 1, 3, STR("x"));
    fixture_close(&f);
    (void)snprintf(name, sizeof name, "%s-wal", f.path);
    CHECK(stat(name, &st) < 0);
    (void)snprintf(name, sizeof name, "%s-shm", f.path);
    CHECK(stat(name, &st) < 0);
    fixture_done(&f);
}

TEST(sqlite_memory_stores_are_apart_and_leave_no_file) {
    struct fixture a, b;
    size_t count = 9;
    fixture_init(&a, BACKEND_MEMORY);
    fixture_init(&b, BACKEND_MEMORY);
    if (CHECK(a.store && b.store)) {
        fill(&a, 1, 3, STR("x"));
        CHECK_INT(read_history(b.store, &count), 0);
        CHECK_INT(count, 0);
        CHECK_INT(read_history(a.store, &count), 0);
        CHECK_INT(count, 3);
    }
    CHECK_INT(access(a.path, F_OK), -1);
    CHECK_INT(access(":memory:", F_OK), -1);
    fixture_done(&a);
    fixture_done(&b);
}

/* 400 KiB of pages. */
static void commit_much(struct fixture *f, struct commit *c, int round) {
    for (uint8_t run = 0; run < 100; run++) {
        struct write *w = add(c, WRITE_EXECUTION);
        w->run_id = id(run);
        w->status = round; /* a row that stays the same would not be written */
        w->body = str_bytes(page, 3000);
    }
    fixture_commit(f, c);
}

static void check_log_stays_short(bool reads_before_commits) {
    struct fixture f;
    struct commit c;
    struct stat st;
    off_t largest = 0;
    size_t count;
    char name[FIXTURE_PATH_MAX + 32];
    fixture_init(&f, BACKEND_FILE);
    commit_init(&c);
    (void)snprintf(name, sizeof name, "%s-wal", f.path);
    for (int round = 0; round < 200 && CHECK(f.store != NULL); round++) {
        if (reads_before_commits)
            CHECK_INT(read_history(f.store, &count), 0);
        commit_much(&f, &c, round);
        CHECK_INT(stat(name, &st), 0);
        largest = MAX(largest, st.st_size);
    }
    CHECK(largest > (1 << 20));
    CHECK(largest < (48 << 20)); /* sqlite_checkpoint.c lets 37 MiB gather at most, and one commit */
    batch_done(&c.batch);
    fixture_done(&f);
}

/* The log is moved into the file as it grows, not only at the end. */
TEST(sqlite_log_does_not_grow_without_end) {
    check_log_stays_short(false);
}
/* The state that a turn reads from is kept while its commit is made. */
TEST(sqlite_log_does_not_grow_without_end_beside_reads) {
    check_log_stays_short(true);
}

#define LISTS 6 /* twice as many as there are threads for them */
#define LISTED 250
#define LISTED_ROUNDS 400
#define TESTS 200 /* that each of them has to fail */

/* A count that is asked for again as soon as it is there. */
struct restless {
    struct read read;
    struct store *store;
    size_t answers;
};

static void restless_row(struct read *r unused_arg, const struct row *row) {
    CHECK_INT(row->count, 0);
}

static void restless_done(struct read *r, int rc) {
    struct restless *x = container_of(r, struct restless, read);
    CHECK_INT(rc, 0);
    x->answers++;
    store_read(x->store, r);
}

static void restless_begin(struct restless *x, struct store *s, const struct predicate *where) {
    *x = (struct restless){.store = s};
    x->read = (struct read){.kind = READ_VISIBILITY_COUNT,
                            .namespace_id = id(1),
                            .where = where,
                            .row = restless_row,
                            .done = restless_done};
    store_read(s, &x->read);
}

static void fill_lists(struct fixture *f, struct commit *c) {
    for (int i = 0; i < LISTED; i++) {
        struct write *w = add(c, WRITE_VISIBILITY);
        w->run_id = id((uint8_t)i);
        w->start_us = i;
    }
    fixture_commit(f, c);
}

/* Somebody reads an older state whenever the end of the log could be moved. What is committed is 160 MB, in a
 * log that should start over after one. */
TEST(sqlite_log_does_not_grow_without_end_beside_lists) {
    static const struct predicate nowhere = {.kind = PREDICATE_PRESENT, .name = STR("Nowhere")};
    struct predicate where[TESTS];
    struct restless lists[LISTS];
    struct fixture f;
    struct commit c;
    struct err e = {0};
    struct stat st = {0};
    char name[FIXTURE_PATH_MAX + 32];
    fixture_prepare(&f, BACKEND_FILE);
    (void)snprintf(name, sizeof name, "%s-wal", f.path);
    struct sqlite_options o = {.path = f.path, .wake = fixture_wake, .wake_ctx = &f, .log_pages = 256};
    CHECK_INT(sqlite_store_open(&o, &f.store, &e), 0);
    commit_init(&c);
    fill_lists(&f, &c);
    for (size_t i = 0; i < TESTS; i++)
        where[i] = (struct predicate){PREDICATE_OR, i ? &where[i - 1] : &nowhere, &nowhere, {0}, NULL, 0};
    for (size_t i = 0; i < LISTS; i++)
        restless_begin(&lists[i], f.store, &where[TESTS - 1]);
    for (int round = 0; round < LISTED_ROUNDS; round++)
        commit_much(&f, &c, round);
    CHECK_INT(stat(name, &st), 0);
    CHECK(st.st_size < (96 << 20)); /* 4 MiB, and what is committed while lists come to their end */
    for (size_t i = 0; i < LISTS; i++)
        CHECK(lists[i].answers > 0);
    batch_done(&c.batch);
    fixture_done(&f);
}

static void check_refused(struct fixture *f, const char *path, int code, const char *word) {
    struct err e = {0};
    CHECK_INT(fixture_try_open(f, path, &e), code);
    CHECK_INT(e.code, code);
    if (!CHECK(strstr(e.text, word) != NULL))
        printf("# the text is: %s\n", e.text);
    CHECK(!f->store);
}

TEST(sqlite_refuses_what_is_no_file) {
    struct fixture f;
    char path[FIXTURE_PATH_MAX + 32];
    fixture_prepare(&f, BACKEND_FILE);
    (void)snprintf(path, sizeof path, "%s/missing/rondo.db", f.directory);
    check_refused(&f, path, ERR_STORE_IO, "does not exist");
    check_refused(&f, f.directory, ERR_STORE_IO, "is a directory");
    check_refused(&f, "/dev/null", ERR_STORE_IO, "not a regular file");
    check_refused(&f, "", ERR_STORE_IO, "No data file");
    check_refused(&f, "/dev/null/rondo.db", ERR_STORE_IO, "Cannot");
    fixture_done(&f);
}

static void write_file(const char *path, const void *bytes, size_t n, off_t at) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && pwrite(fd, bytes, n, at) == (ssize_t)n);
    if (fd >= 0)
        close(fd);
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db = NULL;
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static uint64_t hash_file(const char *path) {
    uint64_t h = 1;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t bytes[4096];
    CHECK(fd >= 0);
    for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < n; i++)
            h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    if (fd >= 0)
        close(fd);
    return h;
}

TEST(sqlite_refuses_what_is_no_database) {
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    write_file(f.path, "short", 5, 0);
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "not a Rondo data file");
    write_file(f.path, page, sizeof page, 0);
    write_file(f.path, page, sizeof page, sizeof page); /* zeroes, but more than a file begins with */
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "not a Rondo data file");
    write_file(f.path, "SQLite format 3", 16, 0); /* the rest is zeroes */
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "damaged");
    fixture_done(&f);
}

TEST(sqlite_accepts_an_empty_file) {
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    write_file(f.path, "", 0, 0);
    fixture_reopen(&f);
    CHECK(f.store != NULL);
    fixture_done(&f);
}

/* What a crash leaves right after the file was made. */
TEST(sqlite_accepts_a_file_without_a_schema) {
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    run_sql(f.path, "PRAGMA application_id = 1383034468; PRAGMA journal_mode = WAL");
    fixture_reopen(&f);
    CHECK(f.store != NULL);
    fixture_done(&f);
}

static void copy_file(const char *from, const char *to) {
    uint8_t bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(in >= 0 && out >= 0);
    for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0;)
        CHECK_INT(write(out, bytes, (size_t)n), n);
    close(in);
    close(out);
}

/* The header that older versions left in the file while everything was in the log. */
TEST(sqlite_refuses_a_header_without_tables) {
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    run_sql(f.path, "PRAGMA journal_mode = WAL");
    uint64_t before = hash_file(f.path);
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "copied without its log");
    CHECK(hash_file(f.path) == before);
    fixture_done(&f);
}

static void in_other_process(void (*body)(struct fixture *f), struct fixture *f) {
    pid_t child = fork();
    if (child == 0) {
        body(f);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void commit_and_leave(struct fixture *f) {
    fixture_reopen(f);
    fill(f, 1, 10, STR("x"));
}

static void check_copy(bool with_log) {
    struct fixture f;
    size_t count = 0;
    char copy[FIXTURE_PATH_MAX + 32], log[FIXTURE_PATH_MAX + 32], copied_log[FIXTURE_PATH_MAX + 64];
    fixture_prepare(&f, BACKEND_FILE);
    in_other_process(commit_and_leave, &f);
    (void)snprintf(copy, sizeof copy, "%s.copy", f.path);
    (void)snprintf(log, sizeof log, "%s-wal", f.path);
    (void)snprintf(copied_log, sizeof copied_log, "%s-wal", copy);
    copy_file(f.path, copy);
    if (with_log) {
        copy_file(log, copied_log);
        CHECK_INT(fixture_try_open(&f, copy, NULL), 0);
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, 10);
        fixture_close(&f);
    } else {
        check_refused(&f, copy, ERR_STORE_CORRUPT, "copied without its log");
        check_refused(&f, copy, ERR_STORE_CORRUPT, ".backup");
    }
    (void)unlink(copy);
    fixture_done(&f);
}

TEST(sqlite_refuses_a_copy_without_its_log) {
    check_copy(false);
}
TEST(sqlite_opens_a_copy_with_its_log) {
    check_copy(true);
}

/* A program that opens the file of a server that died moves the log into it. */
TEST(sqlite_opens_a_file_whose_log_was_moved_by_another_program) {
    struct fixture f;
    size_t count = 0;
    fixture_prepare(&f, BACKEND_FILE);
    in_other_process(commit_and_leave, &f);
    run_sql(f.path, "SELECT count(*) FROM history");
    fixture_reopen(&f);
    if (CHECK(f.store != NULL))
        CHECK_INT(read_history(f.store, &count), 0);
    CHECK_INT(count, 10);
    fixture_done(&f);
}

/* The power went, or the disk was full, while a new file got its first page. */
TEST(sqlite_begins_again_on_a_file_that_was_hardly_begun) {
    static const off_t sizes[] = {10, 512, 2048, 4095};
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        run_sql(f.path, "PRAGMA journal_mode = WAL");
        CHECK_INT(truncate(f.path, sizes[i]), 0);
        fixture_reopen(&f);
        CHECK(f.store != NULL);
        fixture_close(&f);
        CHECK_INT(unlink(f.path), 0);
    }
    write_file(f.path, page, sizeof page, 0); /* the length came before the bytes */
    fixture_reopen(&f);
    CHECK(f.store != NULL);
    fixture_done(&f);
}

TEST(sqlite_refuses_a_file_that_was_cut_short) {
    struct fixture f;
    struct stat st;
    fixture_init(&f, BACKEND_FILE);
    if (CHECK(f.store != NULL))
        fill(&f, 1, 100, str_bytes(page, 2000));
    fixture_close(&f);
    CHECK_INT(stat(f.path, &st), 0);
    CHECK_INT(truncate(f.path, st.st_size / 2), 0);
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "cut short");
    fixture_done(&f);
}

TEST(sqlite_read_reports_damage) {
    struct fixture f;
    struct stat st;
    size_t count = 0;
    char garbage[sizeof page];
    memset(garbage, 0xee, sizeof garbage);
    fixture_init(&f, BACKEND_FILE);
    if (CHECK(f.store != NULL))
        fill(&f, 1, 300, str_bytes(page, 2000));
    fixture_close(&f);
    CHECK_INT(stat(f.path, &st), 0);
    for (off_t at = sizeof page * 36; at < st.st_size; at += sizeof page) /* behind the roots of the tables */
        write_file(f.path, garbage, sizeof garbage, at);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL))
        CHECK_INT(read_history(f.store, &count), ERR_STORE_CORRUPT);
    CHECK(count < 300);
    fixture_done(&f);
}

static const char become_version_2[] = "DROP INDEX visibility_start; DROP INDEX visibility_delayed;"
                                       "DROP INDEX visibility_duration; DROP INDEX visibility_length;"
                                       "DROP INDEX visibility_parent; DROP INDEX visibility_parent_run;"
                                       "DROP INDEX visibility_root;"
                                       "DROP TABLE deployments;"
                                       "DROP TABLE backlog;"
                                       "DROP INDEX visibility_scheduled_by;"
                                       "DROP INDEX visibility_scheduled_at;"
                                       "ALTER TABLE visibility DROP COLUMN scheduled_by;"
                                       "ALTER TABLE visibility DROP COLUMN scheduled_ns;"
                                       "ALTER TABLE executions DROP COLUMN next_action_ns;"
                                       "ALTER TABLE executions DROP COLUMN running_count;"
                                       "ALTER TABLE executions DROP COLUMN buffered_count;"
                                       "DROP TABLE remains; PRAGMA user_version = 2;";

TEST(sqlite_refuses_a_newer_schema_and_leaves_it_alone) {
    struct fixture f;
    fixture_init(&f, BACKEND_FILE);
    CHECK(f.store != NULL);
    fixture_close(&f);
    run_sql(f.path, "PRAGMA user_version = 99");
    uint64_t before = hash_file(f.path);
    check_refused(&f, f.path, ERR_STORE_NEWER, "schema 99");
    check_refused(&f, f.path, ERR_STORE_NEWER, "Upgrade rondo");
    CHECK(hash_file(f.path) == before);
    run_sql(f.path, become_version_2);
    fixture_reopen(&f);
    CHECK(f.store != NULL);
    fixture_done(&f);
}

TEST(sqlite_a_file_of_version_2_gets_the_tables_that_came_later) {
    struct fixture f;
    struct question q;
    struct buf text;
    fixture_init(&f, BACKEND_FILE);
    fixture_close(&f);
    run_sql(f.path, become_version_2);
    fixture_reopen(&f);
    buf_init(&text, FIXTURE_TEXT_MAX);
    if (CHECK(f.store != NULL)) {
        question_init(&q, READ_DEPLOYMENTS, &text);
        CHECK_INT(question_ask(&q, f.store), 0);
        question_init(&q, READ_BACKLOG, &text);
        CHECK_INT(question_ask(&q, f.store), 0);
    }
    buf_done(&text);
    fixture_done(&f);
}

TEST(sqlite_refuses_the_database_of_another_program) {
    struct fixture f;
    fixture_prepare(&f, BACKEND_FILE);
    run_sql(f.path, "CREATE TABLE t (x); INSERT INTO t VALUES (1)");
    uint64_t before = hash_file(f.path);
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "another program");
    CHECK(hash_file(f.path) == before);
    fixture_done(&f);
}

TEST(sqlite_refuses_a_database_with_tables_missing) {
    struct fixture f;
    fixture_init(&f, BACKEND_FILE);
    CHECK(f.store != NULL);
    fixture_close(&f);
    run_sql(f.path, "DROP TABLE history");
    check_refused(&f, f.path, ERR_STORE_CORRUPT, "no such table: history");
    fixture_done(&f);
}

/* two servers on one file */

TEST(sqlite_second_store_on_a_file_is_refused) {
    struct fixture f, second;
    char pid[32], alias[FIXTURE_PATH_MAX + 32];
    fixture_init(&f, BACKEND_FILE);
    fixture_prepare(&second, BACKEND_FILE);
    (void)snprintf(pid, sizeof pid, "process %ld", (long)getpid());
    (void)snprintf(alias, sizeof alias, "%s/alias.db", second.directory);
    if (CHECK(f.store != NULL)) {
        check_refused(&second, f.path, ERR_STORE_LOCKED, pid);
        CHECK_INT(symlink(f.path, alias), 0);
        check_refused(&second, alias, ERR_STORE_LOCKED, "in use by another server");
        fill(&f, 1, 3, STR("the first one still works"));
    }
    fixture_close(&f);
    CHECK_INT(fixture_try_open(&second, alias, NULL), 0); /* the lock went with its owner */
    fixture_close(&second);
    (void)unlink(alias);
    fixture_done(&second);
    fixture_done(&f);
}

/* Runs body in a process of its own and returns how that ended. */
static int in_child(void (*body)(struct fixture *f, int out), struct fixture *f, int *ret_in,
                    pid_t *ret_pid) {
    int ends[2];
    if (!CHECK(pipe(ends) == 0))
        return -1;
    (void)fflush(stdout);
    *ret_pid = fork();
    if (*ret_pid == 0) {
        close(ends[0]);
        body(f, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    *ret_in = ends[0];
    return CHECK(*ret_pid > 0) ? 0 : -1;
}

/* Commits until the end comes without a goodbye: the log stays behind, longer than what was written to it. */
static void commit_and_die(struct fixture *f, int out) {
    char name[FIXTURE_PATH_MAX + 32];
    struct stat st;
    fixture_reopen(f);
    ensure(f->store);
    (void)snprintf(name, sizeof name, "%s-wal", f->path);
    for (int64_t i = 1; i <= 20; i++) {
        fill(f, i, i, STR("x"));
        ensure(stat(name, &st) == 0);
        ensure(write(out, &st.st_size, sizeof st.st_size) == sizeof st.st_size);
    }
}

TEST(sqlite_log_grows_by_many_pages_and_is_read_after_a_crash) {
    struct fixture f;
    int in, status;
    pid_t pid;
    off_t size = 0, first = 0;
    size_t count = 0, sizes = 0;
    fixture_prepare(&f, BACKEND_FILE);
    if (in_child(commit_and_die, &f, &in, &pid) == 0) {
        for (; read(in, &size, sizeof size) == sizeof size; sizes++)
            first = first ? first : size;
        CHECK_INT(sizes, 20);
        CHECK(first >= (256 << 10));
        CHECK_INT(size, first); /* twenty commits of a few pages */
        CHECK_INT(waitpid(pid, &status, 0), pid);
        close(in);
    }
    fixture_reopen(&f);
    if (CHECK(f.store != NULL)) {
        CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, 20);
    }
    fixture_done(&f);
}

/* The power went while the log was moved: the first page is garbage in the file, and whole in the log. */
TEST(sqlite_takes_a_damaged_first_page_from_the_log) {
    struct fixture f;
    int in, status;
    pid_t pid;
    size_t count = 0;
    char garbage[sizeof page];
    memset(garbage, 0xee, sizeof garbage);
    fixture_prepare(&f, BACKEND_FILE);
    if (in_child(commit_and_die, &f, &in, &pid) == 0) {
        CHECK_INT(waitpid(pid, &status, 0), pid);
        close(in);
        write_file(f.path, garbage, sizeof garbage, 0);
        fixture_reopen(&f);
        if (CHECK(f.store != NULL)) {
            CHECK_INT(read_history(f.store, &count), 0);
            CHECK_INT(count, 20);
        }
    }
    fixture_done(&f);
}

static void hold_the_lock(struct fixture *f, int out) {
    fixture_reopen(f);
    ensure(f->store);
    ensure(write(out, "x", 1) == 1);
    for (;;)
        pause();
}

TEST(sqlite_lock_of_a_dead_process_is_free) {
    struct fixture f;
    pid_t pid;
    int in;
    char byte;
    fixture_prepare(&f, BACKEND_FILE);
    if (in_child(hold_the_lock, &f, &in, &pid) == 0) {
        CHECK_INT(read(in, &byte, 1), 1);
        check_refused(&f, f.path, ERR_STORE_LOCKED, "in use by another server");
        kill(pid, SIGKILL);
        CHECK_INT(waitpid(pid, NULL, 0), pid);
        close(in);
        fixture_reopen(&f);
        CHECK(f.store != NULL);
    }
    fixture_done(&f);
}

/* commits that fail end the process */

#define FATAL_EXIT 42

static void on_fatal(void *ctx, const char *text) {
    ensure(write(*(int *)ctx, text, strlen(text)) > 0);
    _exit(FATAL_EXIT);
}

static struct store *open_fatal(struct fixture *f, int *out) {
    struct err e = {0};
    struct sqlite_options o = {
        .path = f->path, .wake = fixture_wake, .wake_ctx = f, .fatal = on_fatal, .fatal_ctx = out};
    ensure(sqlite_store_open(&o, &f->store, &e) == 0);
    return f->store;
}

/* The disk is "full": files may not grow beyond what they are now. */
static void commit_to_a_full_disk(struct fixture *f, int out) {
    struct rlimit limit = {64 << 10, 64 << 10};
    (void)open_fatal(f, &out);
    fill(f, 1, 1, STR("announced"));
    (void)signal(SIGXFSZ, SIG_IGN);
    ensure(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    fill(f, 2, 200, str_bytes(page, sizeof page));
}

static void commit_an_event_twice(struct fixture *f, int out) {
    (void)open_fatal(f, &out);
    fill(f, 1, 1, STR("announced"));
    fill(f, 1, 1, STR("again"));
}

static void check_fatal(void (*body)(struct fixture *f, int out), const char *word) {
    struct fixture f;
    pid_t pid;
    int in, status = 0;
    char text[ERR_TEXT_MAX] = "";
    size_t count = 0;
    fixture_prepare(&f, BACKEND_FILE);
    if (in_child(body, &f, &in, &pid) == 0) {
        CHECK(read(in, text, sizeof text - 1) > 0);
        if (!CHECK(strstr(text, word) != NULL))
            printf("# the text is: %s\n", text);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), FATAL_EXIT);
        close(in);
        fixture_reopen(&f);
        if (CHECK(f.store != NULL))
            CHECK_INT(read_history(f.store, &count), 0);
        CHECK_INT(count, 1);
    }
    fixture_done(&f);
}

TEST(sqlite_full_disk_is_fatal) {
    check_fatal(commit_to_a_full_disk, "Cannot use");
}
TEST(sqlite_history_cannot_be_overwritten) {
    check_fatal(commit_an_event_twice, "UNIQUE");
}

static void abort_without_a_hook(struct fixture *f, int out) {
    struct rlimit no_core = {0, 0};
    ensure(setrlimit(RLIMIT_CORE, &no_core) == 0);
    (void)signal(SIGABRT, SIG_DFL); /* a sanitizer may have its own */
    fixture_reopen(f);
    ensure(f->store && write(out, "x", 1) == 1);
    fill(f, 1, 1, STR("announced"));
    fill(f, 1, 1, STR("again"));
}

TEST(sqlite_failed_commit_aborts_without_a_hook) {
    struct fixture f;
    pid_t pid;
    int in, status = 0;
    fixture_prepare(&f, BACKEND_FILE);
    if (in_child(abort_without_a_hook, &f, &in, &pid) == 0) {
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        close(in);
    }
    fixture_done(&f);
}

/* kill -9 */

#define CRASH_ROUNDS 20
#define CRASH_UNDER_WAY 3
#define CRASH_ANNOUNCED_MAX 60

/* Batch n appends event n and writes n into the execution: both or neither are there. */
struct numbered {
    struct commit commit;
    int64_t number;
};

static void numbered_commit(struct fixture *f, struct numbered *n, int64_t number) {
    batch_clear(&n->commit.batch);
    n->number = number;
    n->commit.is_done = false;
    add_event(&n->commit, number, str_bytes(page, (size_t)(number * 97 % 2500)));
    add(&n->commit, WRITE_EXECUTION)->body = str_bytes(&n->number, sizeof n->number);
    store_commit(f->store, &n->commit.batch);
}

struct last_number {
    struct read read;
    int64_t number;
};

static void last_number_row(struct read *r, const struct row *row) {
    struct last_number *l = container_of(r, struct last_number, read);
    if (CHECK_INT(row->body.n, sizeof l->number))
        memcpy(&l->number, row->body.p, sizeof l->number);
}

static void last_number_done(struct read *r unused_arg, int rc) {
    CHECK_INT(rc, 0);
}

static int64_t read_last_number(struct store *s) {
    struct last_number l = {.read = {.kind = READ_EXECUTION,
                                     .namespace_id = id(1),
                                     .run_id = id(2),
                                     .row = last_number_row,
                                     .done = last_number_done}};
    store_read(s, &l.read);
    return l.number;
}

/* Commits for ever, telling which numbers were announced. */
static void commit_until_killed(struct fixture *f, int out) {
    struct numbered batches[CRASH_UNDER_WAY];
    fixture_reopen(f);
    ensure(f->store);
    int64_t next = read_last_number(f->store) + 1;
    for (size_t i = 0; i < CRASH_UNDER_WAY; i++) {
        commit_init(&batches[i].commit);
        numbered_commit(f, &batches[i], next++);
    }
    for (size_t i = 0;; i = (i + 1) % CRASH_UNDER_WAY) {
        fixture_wait(f, &batches[i].commit);
        if (write(out, &batches[i].number, sizeof batches[i].number) < 0)
            _exit(1); /* the parent is gone */
        numbered_commit(f, &batches[i], next++);
    }
}

static int64_t kill_after(int in, pid_t pid, uint64_t announcements) {
    int64_t number = 0, announced = 0;
    for (uint64_t i = 0; read(in, &number, sizeof number) == sizeof number; i++) {
        CHECK(i == 0 || number == announced + 1);
        announced = number;
        if (i == announcements)
            kill(pid, SIGKILL);
    }
    return announced;
}

static void crash_round(struct fixture *f, struct rng *rng) {
    pid_t pid;
    int in;
    size_t count = 0;
    if (in_child(commit_until_killed, f, &in, &pid) < 0)
        return;
    int64_t announced = kill_after(in, pid, rng_below(rng, CRASH_ANNOUNCED_MAX));
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    close(in);
    fixture_reopen(f);
    if (!CHECK(f->store != NULL))
        return;
    int64_t last = read_last_number(f->store);
    CHECK(announced > 0);
    CHECK(last >= announced);
    CHECK(last <= announced + 2 * CRASH_UNDER_WAY); /* no more were under way */
    CHECK_INT(read_history(f->store, &count), 0);
    CHECK_INT(count, last);
    fixture_close(f);
}

TEST(sqlite_kill_loses_nothing_that_was_announced) {
    struct fixture f;
    struct rng rng;
    rng_init(&rng, 9);
    fixture_prepare(&f, BACKEND_FILE);
    for (int round = 0; round < CRASH_ROUNDS; round++)
        crash_round(&f, &rng);
    fixture_done(&f);
}
