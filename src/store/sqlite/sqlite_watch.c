/* Whether the file is still the one at its path.
 *
 * A file that is removed, renamed or replaced while it is in use is written to all the same, and what is
 * written there cannot be opened again. So the writer looks at its name after each commit, before the commit
 * is announced. Once a second it also looks at the names of the log and its index, whether there are commits
 * or not: when one of them is gone, everything can still be moved into the file. What it finds ends the
 * process.
 *
 * What can be saved is saved first. While the file has a name left, the log is moved into it: then the
 * renamed file is complete, and so is one whose log was removed. A log of a file that is gone is removed,
 * since SQLite would apply it to whatever file gets that name next. */
#include "store/sqlite/sqlite_int.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 1000

static const char *const suffixes[SQLITE_COMPANIONS] = {"-wal", "-shm"};

static bool watch_name_of(const struct sqlite_watch *w, size_t companion, char ret[PATH_MAX]) {
    return snprintf(ret, PATH_MAX, "%s%s", w->file->path, suffixes[companion]) < PATH_MAX;
}

static bool watch_is_at(const char *name, dev_t device, ino_t inode) {
    struct stat st;
    if (stat(name, &st) < 0)
        return errno != ENOENT && errno != ENOTDIR; /* it cannot be looked at: that says nothing */
    return st.st_dev == device && st.st_ino == inode;
}

static bool watch_has_companion(const struct sqlite_watch *w, size_t i) {
    char name[PATH_MAX];
    return !w->inodes[i] || !watch_name_of(w, i, name) || watch_is_at(name, w->devices[i], w->inodes[i]);
}

static void watch_end_process(const struct sqlite_watch *w, const char *text) {
    log_emit(w->options->log, LOG_store_failed, log_str("what", "watch"), log_str("text", text));
    sqlite_end(w->options, text);
}

/* True: the file has all that was acknowledged. */
static bool watch_save(const struct sqlite_watch *w, sqlite3 *writer_db) {
    struct stat st;
    int pages = 0, moved = 0;
    if (fstat(w->file->data_fd, &st) < 0 || st.st_nlink == 0)
        return false;
    int rc = sqlite3_wal_checkpoint_v2(writer_db, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &moved);
    return rc == SQLITE_OK && pages == moved;
}

static void watch_remove_companions(const struct sqlite_watch *w) {
    char name[PATH_MAX];
    for (size_t i = 0; i < SQLITE_COMPANIONS; i++)
        if (w->inodes[i] && watch_name_of(w, i, name) && watch_has_companion(w, i))
            (void)unlink(name); /* the process ends; what stays is as it was */
}

static void watch_end_without_file(const struct sqlite_watch *w, sqlite3 *writer_db) {
    struct stat st;
    struct err e;
    bool is_gone = fstat(w->file->data_fd, &st) == 0 && st.st_nlink == 0;
    bool is_saved = watch_save(w, writer_db);
    if (is_saved || is_gone)
        watch_remove_companions(w);
    (void)err_set(&e, ERR_STORE_IO, "%s was %s while the server used it. %s", w->file->path,
                  is_gone ? "removed" : "renamed or replaced",
                  is_gone    ? "Restore it from a backup, then start again."
                  : is_saved ? "The renamed file holds everything. Put it back, then start again."
                             : "Put the renamed file back beside its log, then start again.");
    watch_end_process(w, e.text);
}

static void watch_end_without_companion(const struct sqlite_watch *w, sqlite3 *writer_db, size_t i) {
    struct err e;
    bool is_saved = watch_save(w, writer_db);
    (void)err_set(&e, ERR_STORE_IO, "%s%s was removed or replaced while the server used it. %s",
                  w->file->path, suffixes[i],
                  is_saved ? "The data file holds everything. Start again."
                           : "The last changes may be lost. Restore the data file from a backup.");
    watch_end_process(w, e.text);
}

void sqlite_watch_check_file(const struct sqlite_watch *w, sqlite3 *writer_db) {
    if (!watch_is_at(w->file->path, w->file->device, w->file->inode))
        watch_end_without_file(w, writer_db);
}

void sqlite_watch_check_all(const struct sqlite_watch *w, sqlite3 *writer_db) {
    sqlite_watch_check_file(w, writer_db);
    for (size_t i = 0; i < SQLITE_COMPANIONS; i++)
        if (!watch_has_companion(w, i))
            watch_end_without_companion(w, writer_db, i);
}

static void *watch_main(void *ctx) {
    struct sqlite_watch *w = ctx;
    struct pollfd stop = {.fd = w->stop_fd, .events = POLLIN};
    for (;;) {
        int n = poll(&stop, 1, LOOK_MS);
        if (n > 0)
            return NULL;
        if (n == 0)
            sqlite_writer_ask_check(w->writer);
    }
}

static void watch_remember_companions(struct sqlite_watch *w) {
    char name[PATH_MAX];
    struct stat st;
    for (size_t i = 0; i < SQLITE_COMPANIONS; i++)
        if (watch_name_of(w, i, name) && stat(name, &st) == 0) {
            w->devices[i] = st.st_dev;
            w->inodes[i] = st.st_ino;
        }
}

void sqlite_watch_init(struct sqlite_watch *w, const struct sqlite_file *f, const struct sqlite_options *o) {
    w->file = f;
    w->options = o;
    watch_remember_companions(w);
}

int sqlite_watch_start(struct sqlite_watch *w, struct sqlite_writer *writer, struct err *reterr) {
    sigset_t all, before;
    w->writer = writer;
    w->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (w->stop_fd < 0)
        return err_set(reterr, ERR_STORE_IO, "Cannot watch the data file: %s.", strerror(errno));
    w->has_stop_fd = true;
    sigfillset(&all); /* signals are for the loop's thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, watch_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return err_set(reterr, ERR_STORE_IO, "Cannot start the store's thread: %s.", strerror(error));
    w->has_thread = true;
    (void)pthread_setname_np(w->thread, "watch"); /* only for people who look */
    return 0;
}

void sqlite_watch_stop(struct sqlite_watch *w) {
    if (w->has_thread) {
        ensure(eventfd_write(w->stop_fd, 1) == 0);
        pthread_join(w->thread, NULL);
        w->has_thread = false;
    }
    if (w->has_stop_fd)
        close(w->stop_fd);
    w->has_stop_fd = false;
}
