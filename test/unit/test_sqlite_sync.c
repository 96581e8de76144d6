/* When the SQLite store syncs: before each announcement, once for a group, and never in memory.
 *
 * A VFS in front of SQLite's own sees every sync and write of a file: it counts
 * them, holds a sync back, or lets one fail. */
#include "store_fixture.h"

#include <pthread.h>
#include <sqlite3.h>
#include <sys/wait.h>

#define SYNC_BATCHES 40
#define FATAL_EXIT 42

/* Written by the test and by the store's thread. */
struct spy {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    sqlite3_io_methods methods[2]; /* the real ones, but for xSync; of other files, of databases */
    int (*real_sync)(sqlite3_file *, int);
    int (*real_write)(sqlite3_file *, const void *, int, sqlite3_int64);
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int sync_count;
    int write_count;
    bool is_write_failing;
    bool is_held; /* syncs wait */
    bool has_caught; /* one does */
    bool is_failing;
    int failing_sync; /* this sync fails, and no other; 0: none */
};

/* SQLite hands a file to xSync, and no context; the registered VFS is part of the spy-> */
static struct spy *spy_registered(void) {
    sqlite3_vfs *vfs = sqlite3_vfs_find("spy");
    ensure(vfs);
    return container_of(vfs, struct spy, vfs);
}

static int spy_sync(sqlite3_file *file, int flags) {
    struct spy *spy = spy_registered();
    pthread_mutex_lock(&spy->lock);
    spy->sync_count++;
    spy->has_caught = true;
    pthread_cond_broadcast(&spy->changed);
    while (spy->is_held)
        pthread_cond_wait(&spy->changed, &spy->lock);
    bool is_failing = spy->is_failing || spy->sync_count == spy->failing_sync;
    pthread_mutex_unlock(&spy->lock);
    return is_failing ? SQLITE_IOERR_FSYNC : spy->real_sync(file, flags);
}

static int spy_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at) {
    struct spy *spy = spy_registered();
    pthread_mutex_lock(&spy->lock);
    spy->write_count++;
    bool is_failing = spy->is_write_failing;
    pthread_mutex_unlock(&spy->lock);
    return is_failing ? SQLITE_IOERR_WRITE : spy->real_write(file, data, len, at);
}

static int spy_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags) {
    struct spy *spy = container_of(vfs, struct spy, vfs);
    int rc = spy->real->xOpen(vfs, name, file, flags, ret_flags);
    if (rc != SQLITE_OK || !file->pMethods)
        return rc;
    sqlite3_io_methods *methods = &spy->methods[(flags & SQLITE_OPEN_MAIN_DB) != 0];
    pthread_mutex_lock(&spy->lock);
    *methods = *file->pMethods;
    spy->real_sync = methods->xSync;
    methods->xSync = spy_sync;
    spy->real_write = methods->xWrite;
    methods->xWrite = spy_write;
    file->pMethods = methods;
    pthread_mutex_unlock(&spy->lock);
    return rc;
}

static void spy_begin(struct spy *spy) {
    *spy = (struct spy){.real = sqlite3_vfs_find(NULL)};
    pthread_mutex_init(&spy->lock, NULL);
    pthread_cond_init(&spy->changed, NULL);
    spy->vfs = *spy->real;
    spy->vfs.zName = "spy";
    spy->vfs.pNext = NULL;
    spy->vfs.xOpen = spy_open;
    ensure(sqlite3_vfs_register(&spy->vfs, 1) == SQLITE_OK);
}

/* After the store is closed: its files use the spy's methods. */
static void spy_end(struct spy *spy) {
    sqlite3_vfs_unregister(&spy->vfs);
    pthread_cond_destroy(&spy->changed);
    pthread_mutex_destroy(&spy->lock);
}

static int spy_count(struct spy *spy) {
    pthread_mutex_lock(&spy->lock);
    int count = spy->sync_count;
    pthread_mutex_unlock(&spy->lock);
    return count;
}

static void spy_set(struct spy *spy, bool is_held, bool is_failing) {
    pthread_mutex_lock(&spy->lock);
    spy->is_held = is_held;
    spy->is_failing = is_failing;
    spy->has_caught = false;
    pthread_cond_broadcast(&spy->changed);
    pthread_mutex_unlock(&spy->lock);
}

static void spy_wait_caught(struct spy *spy) {
    pthread_mutex_lock(&spy->lock);
    while (!spy->has_caught)
        pthread_cond_wait(&spy->changed, &spy->lock);
    pthread_mutex_unlock(&spy->lock);
}

static void add_namespace(struct commit *c, uint8_t n) {
    struct write *w = batch_add(&c->batch, WRITE_NAMESPACE);
    if (w)
        w->namespace_id = id(n);
}

TEST(every_commit_is_synced_before_it_is_announced) {
    struct spy spy;
    struct fixture f;
    struct commit c;
    spy_begin(&spy);
    fixture_init(&f, BACKEND_FILE);
    commit_init(&c);
    for (uint8_t i = 1; i <= SYNC_BATCHES && CHECK(f.store != NULL); i++) {
        int before = spy_count(&spy);
        add_namespace(&c, i);
        fixture_commit(&f, &c);
        CHECK(spy_count(&spy) > before);
    }
    batch_done(&c.batch);
    fixture_done(&f);
    spy_end(&spy);
}

TEST(a_commit_is_not_announced_while_its_sync_is_under_way) {
    struct spy spy;
    struct fixture f;
    struct commit c;
    spy_begin(&spy);
    fixture_init(&f, BACKEND_FILE);
    commit_init(&c);
    add_namespace(&c, 1);
    if (CHECK(f.store && c.batch.count)) {
        spy_set(&spy, true, false);
        store_commit(f.store, &c.batch);
        spy_wait_caught(&spy);
        store_collect(f.store);
        CHECK(!c.is_done);
        spy_set(&spy, false, false);
        fixture_wait(&f, &c);
        CHECK(c.is_done);
    }
    batch_done(&c.batch);
    fixture_done(&f);
    spy_end(&spy);
}

/* While the first one syncs, the others gather; then one sync is enough for all of them. */
TEST(waiting_batches_share_a_sync) {
    struct spy spy;
    struct fixture f;
    struct commit commits[SYNC_BATCHES];
    spy_begin(&spy);
    fixture_init(&f, BACKEND_FILE);
    for (size_t i = 0; i < SYNC_BATCHES; i++) {
        commit_init(&commits[i]);
        add_namespace(&commits[i], (uint8_t)(i + 1));
    }
    if (CHECK(f.store && commits[0].batch.count)) {
        int before = spy_count(&spy);
        spy_set(&spy, true, false);
        store_commit(f.store, &commits[0].batch);
        spy_wait_caught(&spy);
        for (size_t i = 1; i < SYNC_BATCHES; i++)
            store_commit(f.store, &commits[i].batch);
        spy_set(&spy, false, false);
        fixture_wait(&f, &commits[SYNC_BATCHES - 1]);
        for (size_t i = 0; i < SYNC_BATCHES; i++)
            CHECK(commits[i].is_done);
        CHECK_INT(spy_count(&spy) - before, 2);
    }
    for (size_t i = 0; i < SYNC_BATCHES; i++)
        batch_done(&commits[i].batch);
    fixture_done(&f);
    spy_end(&spy);
}

TEST(memory_is_never_synced) {
    struct spy spy;
    struct fixture f;
    struct commit c;
    spy_begin(&spy);
    int before = spy_count(&spy);
    fixture_init(&f, BACKEND_MEMORY);
    commit_init(&c);
    for (uint8_t i = 1; i <= SYNC_BATCHES && CHECK(f.store != NULL); i++) {
        add_namespace(&c, i);
        fixture_commit(&f, &c);
    }
    batch_done(&c.batch);
    fixture_done(&f);
    CHECK_INT(spy_count(&spy), before);
    spy_end(&spy);
}

static void on_fatal(void *ctx unused_arg, const char *text unused_arg) {
    _exit(FATAL_EXIT);
}

static noreturn_fn void commit_with_failing(struct fixture *f, struct spy *spy, bool is_write) {
    struct err e = {0};
    struct commit c;
    struct sqlite_options o = {.path = f->path, .wake = fixture_wake, .wake_ctx = f, .fatal = on_fatal};
    if (sqlite_store_open(&o, &f->store, &e) < 0)
        _exit(1);
    commit_init(&c);
    add_namespace(&c, 1);
    fixture_commit(f, &c);
    spy->is_write_failing = is_write; /* the writer rests */
    spy_set(spy, false, !is_write);
    add_namespace(&c, 2);
    fixture_commit(f, &c); /* must not return */
    _exit(0);
}

static void check_failure_is_fatal(bool is_write) {
    struct spy spy;
    struct fixture f;
    int status = 0;
    spy_begin(&spy);
    fixture_prepare(&f, BACKEND_FILE);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        commit_with_failing(&f, &spy, is_write);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), FATAL_EXIT);
    fixture_done(&f);
    spy_end(&spy);
}

TEST(a_failed_sync_ends_the_process) {
    check_failure_is_fatal(false);
}

/* The log's pages are held back until the sync: that they could not be written is found out there. */
TEST(a_failed_write_ends_the_process) {
    check_failure_is_fatal(true);
}

/* The first gives a new file its id; the second switches it to its log, by a statement that commits when it
 * is finished with. */
TEST(a_failed_sync_of_a_new_file_is_not_overlooked) {
    for (int nth = 1; nth <= 2; nth++) {
        struct spy spy;
        struct fixture f;
        struct err e = {0};
        spy_begin(&spy);
        fixture_prepare(&f, BACKEND_FILE);
        spy.failing_sync = nth;
        CHECK(fixture_try_open(&f, f.path, &e) < 0);
        CHECK(strstr(e.text, "disk I/O error") != NULL);
        CHECK(spy_count(&spy) >= nth);
        fixture_done(&f);
        spy_end(&spy);
    }
}

/* A commit of many pages is a few large writes, not two for each page. */
TEST(a_commit_is_written_in_large_pieces) {
    static const char body[2000];
    struct spy spy;
    struct fixture f;
    struct commit c;
    spy_begin(&spy);
    fixture_init(&f, BACKEND_FILE);
    commit_init(&c);
    if (CHECK(f.store != NULL)) {
        for (int64_t i = 1; i <= 200; i++) {
            struct write *w = batch_add(&c.batch, WRITE_HISTORY);
            if (!w)
                break;
            w->namespace_id = id(1);
            w->run_id = id(2);
            w->first_event_id = w->last_event_id = i;
            w->body = str_bytes(body, sizeof body);
        }
        spy.write_count = 0;
        fixture_commit(&f, &c);
        CHECK(spy.write_count >= 1);
        CHECK(spy.write_count <= 12); /* more than 200 pages */
    }
    batch_done(&c.batch);
    fixture_done(&f);
    spy_end(&spy);
}
