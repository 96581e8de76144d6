/* The embedded store: opens the file, the connections and the thread, and closes them.
 *
 * The happy path: lock the file, open the writer's connection, migrate, open
 * the reader's connection, start the thread. Whatever fails on the way is
 * undone by the same function that closes a whole store; the caller gets a
 * text that says what to do. Once open, only reads can fail: a commit that
 * cannot be made durable ends the process (sqlite_writer.c). */
#include "store/sqlite/sqlite_store.h"

#include <stdlib.h>

#include "base/mem.h"
#include "store/sqlite/sqlite_int.h"

/* Another program may have locked the file for a moment. This is for the start; commits wait longer
 * (sqlite_busy.c). */
#define WRITER_PATIENCE_MS 10000
#define READER_PATIENCE_MS 1000 /* the loop stands still meanwhile */

struct sqlite_store {
    struct store base;
    struct sqlite_options options;
    struct sqlite_file file;
    struct sqlite_wal wal;
    sqlite3 *writer_db;
    sqlite3 *reader_db; /* the same as writer_db in memory */
    sqlite3 *checkpoint_db; /* NULL in memory */
    struct sqlite_checkpoint checkpoint;
    struct sqlite_writer writer;
    struct sqlite_reader reader;
    sqlite3 *lister_dbs[SQLITE_LISTERS]; /* none in memory */
    struct sqlite_lister lister;
    struct sqlite_watch watch; /* of a file */
};

/* page_size: the disk's own; larger ones measured no better. It counts only when the file is made.
 * secure_delete=FAST: deleted bytes are wiped where that costs no further page (Debian's
 * default wipes all, which makes deleting a history write every page of it).
 * cell_size_check: a damaged page is found when it is read.
 * journal_size_limit: after a burst the log gives its disk space back. */
static const char writer_pragmas[] = "PRAGMA page_size = 4096;"
                                     "PRAGMA synchronous = FULL;"
                                     "PRAGMA secure_delete = FAST;"
                                     "PRAGMA cell_size_check = ON;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA trusted_schema = OFF;"
                                     "PRAGMA cache_size = -32768;"
                                     "PRAGMA journal_size_limit = 67108864;";

/* The reader's cache is emptied by each commit of the writer, so it stays small; the
 * operating system's cache does the work. */
static const char reader_pragmas[] = "PRAGMA query_only = ON;"
                                     "PRAGMA cell_size_check = ON;"
                                     "PRAGMA temp_store = MEMORY;"
                                     "PRAGMA trusted_schema = OFF;"
                                     "PRAGMA cache_size = -4096;";

/* It touches no page but to copy it. */
static const char checkpoint_pragmas[] = "PRAGMA synchronous = FULL;"
                                         "PRAGMA trusted_schema = OFF;";

int sqlite_error(sqlite3 *db, const char *path, struct err *reterr) {
    int rc = sqlite3_extended_errcode(db);
    int os_errno = sqlite3_system_errno(db);
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* a table or column is missing: our statements are right */
        return err_set(reterr, ERR_STORE_CORRUPT, "%s is damaged: %s. Restore it from a backup.", path,
                       sqlite3_errmsg(db));
    case SQLITE_CONSTRAINT:
        return err_set(reterr, ERR_STORE_IO,
                       "%s refuses a write: %s. This is a bug in rondo; please report it.", path,
                       sqlite3_errmsg(db));
    case SQLITE_FULL:
        return err_set(reterr, ERR_STORE_IO, "The disk of %s is full. Make room, then start again.", path);
    case SQLITE_INTERRUPT:
        return err_std(reterr, ERR_CANCELLED);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(reterr, ERR_STORE_LOCKED, "%s is locked by another program. Close that one first.",
                       path);
    default:
        return err_set(reterr, ERR_STORE_IO,
                       "Cannot use %s: %s (%d%s%s). Check the disk and the permissions.", path,
                       sqlite3_errmsg(db), rc, os_errno ? ", " : "", os_errno ? strerror(os_errno) : "");
    }
}

void sqlite_end(const struct sqlite_options *o, const char *text) {
    if (o->fatal)
        o->fatal(o->fatal_ctx, text);
    abort();
}

void sqlite_fail(sqlite3 *db, const char *path, const struct sqlite_options *o, const char *what) {
    struct err e = {0};
    (void)sqlite_error(db, path, &e);
    log_emit(o->log, LOG_store_failed, log_str("what", what), log_str("text", e.text));
    sqlite_end(o, e.text);
}

int sqlite_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret, struct err *reterr) {
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) != SQLITE_OK)
        return sqlite_error(db, path, reterr);
    return 0;
}

int sqlite_exec(sqlite3 *db, const char *path, const char *sql, struct err *reterr) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_error(db, path, reterr);
    return 0;
}

/* vfs: NULL for the system's own. */
static int sqlite_store_connect_to(const struct sqlite_file *f, const char *vfs, int patience_ms,
                                   const char *pragmas, sqlite3 **ret, struct err *reterr) {
    /* In memory the connection is shared by two threads, which need its mutex. */
    int threads = f->is_memory ? SQLITE_OPEN_FULLMUTEX : SQLITE_OPEN_NOMUTEX;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | threads;
    if (f->is_memory)
        flags |= SQLITE_OPEN_CREATE;
    if (sqlite3_open_v2(f->path, ret, flags, vfs) != SQLITE_OK)
        return *ret ? sqlite_error(*ret, f->path, reterr) : err_std(reterr, ERR_NO_MEMORY);
    sqlite3_busy_timeout(*ret, patience_ms);
    return sqlite_exec(*ret, f->path, pragmas, reterr);
}

static void sqlite_store_dispose(struct sqlite_store *s) {
    sqlite_watch_stop(&s->watch);
    sqlite_writer_stop(&s->writer);
    sqlite_lister_stop(&s->lister);
    sqlite_checkpoint_stop(&s->checkpoint);
    sqlite_reader_stop(&s->reader);
    for (size_t i = 0; i < SQLITE_LISTERS; i++)
        sqlite3_close(s->lister_dbs[i]);
    sqlite3_close(s->checkpoint_db);
    /* The writer's connection goes last: it then moves the log into the file. */
    if (s->reader_db != s->writer_db)
        sqlite3_close(s->reader_db);
    sqlite3_close(s->writer_db);
    sqlite_wal_unregister(&s->wal);
    sqlite_file_close(&s->file);
    mem_free(s);
}

/* Memory has one connection, on which two threads already take turns: there lists are read at once. */
static int sqlite_store_start_lister(struct sqlite_store *s, struct err *reterr) {
    const struct sqlite_file *f = &s->file;
    int rc = 0;
    for (size_t i = 0; i < SQLITE_LISTERS && rc == 0 && !f->is_memory; i++)
        rc = sqlite_store_connect_to(f, NULL, WRITER_PATIENCE_MS, reader_pragmas, &s->lister_dbs[i], reterr);
    return rc < 0 || f->is_memory ? rc
                                  : sqlite_lister_start(&s->lister, s->lister_dbs, SQLITE_LISTERS,
                                                        &s->checkpoint, f->path, &s->options, reterr);
}

static int sqlite_store_start_checkpoints(struct sqlite_store *s, struct err *reterr) {
    int rc = sqlite_store_connect_to(&s->file, NULL, READER_PATIENCE_MS, checkpoint_pragmas,
                                     &s->checkpoint_db, reterr);
    if (rc == 0)
        rc = sqlite_checkpoint_start(&s->checkpoint, s->checkpoint_db, s->file.path, &s->options, reterr);
    return rc;
}

static int sqlite_store_connect(struct sqlite_store *s, struct err *reterr) {
    const struct sqlite_file *f = &s->file;
    int rc = sqlite_wal_register(&s->wal);
    if (rc < 0)
        return err_std(reterr, rc);
    rc = sqlite_store_connect_to(f, s->wal.name, WRITER_PATIENCE_MS, writer_pragmas, &s->writer_db, reterr);
    if (rc == 0)
        rc = sqlite_schema_prepare(s->writer_db, f, &s->options, reterr);
    if (rc < 0)
        return rc;
    if (f->is_memory)
        s->reader_db = s->writer_db;
    else
        rc = sqlite_store_connect_to(f, NULL, READER_PATIENCE_MS, reader_pragmas, &s->reader_db, reterr);
    if (rc == 0)
        rc = sqlite_reader_start(&s->reader, s->reader_db, f->is_memory ? NULL : &s->checkpoint, f->path,
                                 s->options.log, reterr);
    if (rc == 0 && !f->is_memory)
        rc = sqlite_store_start_checkpoints(s, reterr);
    if (rc == 0)
        rc = sqlite_store_start_lister(s, reterr);
    if (rc == 0 && !f->is_memory)
        sqlite_watch_init(&s->watch, f, &s->options);
    if (rc == 0)
        rc = sqlite_writer_start(&s->writer, s->writer_db, f->is_memory ? NULL : &s->checkpoint,
                                 f->is_memory ? NULL : &s->watch, f->path, &s->options, reterr);
    if (rc == 0 && !f->is_memory)
        rc = sqlite_watch_start(&s->watch, &s->writer, reterr);
    return rc;
}

static void sqlite_store_commit(struct store *base, struct batch *b) {
    sqlite_writer_add(&container_of(base, struct sqlite_store, base)->writer, b);
}

static bool sqlite_store_is_list(const struct read *r) {
    return (r->kind == READ_VISIBILITY || r->kind == READ_VISIBILITY_COUNT) && !r->is_on_loop;
}

static void sqlite_store_read(struct store *base, struct read *r) {
    struct sqlite_store *s = container_of(base, struct sqlite_store, base);
    if (!sqlite_store_is_list(r) || !s->lister.thread_count || sqlite_lister_read(&s->lister, r) < 0)
        sqlite_reader_read(&s->reader, r);
}

static void sqlite_store_collect(struct store *base) {
    struct sqlite_store *s = container_of(base, struct sqlite_store, base);
    sqlite_reader_end_snapshot(&s->reader); /* what is announced now must be seen by the next read */
    sqlite_writer_collect(&s->writer);
    sqlite_lister_collect(&s->lister);
}

static void sqlite_store_rest(struct store *base) {
    sqlite_reader_end_snapshot(&container_of(base, struct sqlite_store, base)->reader);
}

static void sqlite_store_close(struct store *base) {
    sqlite_store_dispose(container_of(base, struct sqlite_store, base));
}

static void sqlite_store_measure(struct store *base, struct store_size *ret) {
    const struct sqlite_store *s = container_of(base, struct sqlite_store, base);
    sqlite_file_measure(&s->file, ret);
}

static const struct store_ops sqlite_ops = {sqlite_store_commit, sqlite_store_read,  sqlite_store_collect,
                                            sqlite_store_rest,   sqlite_store_close, sqlite_store_measure};

/* SQLite counts the bytes of all its connections under one lock, which the loop and the writer then fight
 * for; that count is not used. Refused, harmlessly, when the process has used SQLite before. */
static void sqlite_store_disable_memory_count(void) {
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

int sqlite_store_open(const struct sqlite_options *o, struct store **ret, struct err *reterr) {
    struct sqlite_store *s = mem_zalloc(sizeof *s);
    if (!s)
        return err_std(reterr, ERR_NO_MEMORY);
    sqlite_store_disable_memory_count();
    s->base.ops = &sqlite_ops;
    s->options = *o;
    s->options.path = NULL; /* the caller's; file.path is ours */
    int rc = sqlite_file_open(&s->file, o->path, reterr);
    if (rc == 0)
        rc = sqlite_store_connect(s, reterr);
    if (rc < 0) {
        sqlite_store_dispose(s);
        return rc;
    }
    *ret = &s->base;
    return 0;
}
