/* What the files of the SQLite store share. Nobody outside this directory includes it.
 *
 *   sqlite_store    open, close, the vtable
 *   sqlite_file     the path, the lock beside it, a first look at the bytes
 *   sqlite_schema   versions and migrations
 *   sqlite_writer   the thread that commits batches in groups
 *   sqlite_wal      the write-ahead log, written in large pieces
 *   sqlite_reader   reads on the loop thread
 *   sqlite_where    predicates as SQL
 *   sqlite_visibility   what lists show: its rows, and the questions about them
 *
 * A file has two connections, each used by one thread, so neither waits for
 * the other (WAL). ":memory:" has one connection that both threads share; they
 * take turns by holding its mutex (sqlite3_db_mutex), which is NULL, and
 * therefore costs nothing, for a file. */
#pragma once

#include <pthread.h>
#include <sqlite3.h>

#include "base/base.h"
#include "base/err.h"
#include "base/list.h"
#include "store/sqlite/sqlite_store.h"

/* the file */

struct sqlite_file {
    char *path; /* absolute, links resolved; or ":memory:" */
    int lock_fd; /* -1: not locked */
    bool is_memory;
};

int sqlite_file_open(struct sqlite_file *f, const char *path, struct err *reterr) must_check;
void sqlite_file_close(struct sqlite_file *f); /* after the connections */

/* the schema */

/* Refuses what is not ours or newer than we are, before anything is written; then
 * switches to WAL and migrates forward. */
int sqlite_schema_prepare(sqlite3 *db, const struct sqlite_file *f, struct err *reterr) must_check;

/* the writer */

enum writer_stmt {
    WRITER_BEGIN,
    WRITER_COMMIT,
    WRITER_NAMESPACE,
    WRITER_NAMESPACE_GONE,
    WRITER_EXECUTION,
    WRITER_STATE,
    WRITER_EXECUTION_GONE,
    WRITER_HISTORY_GONE,
    WRITER_CURRENT,
    WRITER_CURRENT_GONE,
    WRITER_DEPLOYMENT,
    WRITER_DEPLOYMENT_GONE,
    WRITER_HISTORY,
    WRITER_VISIBILITY,
    WRITER_VISIBILITY_GONE,
    WRITER_ATTRIBUTE,
    WRITER_ATTRIBUTES_GONE,
    WRITER_LEDGER,
    WRITER_LEDGER_GONE,
    WRITER_LEDGER_BELOW,
    WRITER_LEDGER_BEFORE,
    WRITER_BACKLOG,
    WRITER_BACKLOG_GONE,
    WRITER_BACKLOG_EMPTY,
    WRITER_STMT_COUNT,
};

struct sqlite_writer {
    sqlite3 *db; /* borrowed */
    const struct sqlite_options *options;
    const char *path;
    sqlite3_stmt *stmts[WRITER_STMT_COUNT];
    int wal_pages; /* in the log after the last commit */
    int checkpoint_at; /* when the log is that long */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t has_work; /* the thread waits for it */
    pthread_cond_t announced; /* close waits for it */
    struct list waiting; /* batches handed over */
    struct list durable; /* batches to be collected */
    bool is_writing;
    bool is_stopping;
};

extern const char sqlite_visibility_sql[]; /* of WRITER_VISIBILITY */
bool sqlite_write_visibility(struct sqlite_writer *w, const struct write *x);

int sqlite_writer_start(struct sqlite_writer *w, sqlite3 *db, const char *path,
                        const struct sqlite_options *o, struct err *reterr) must_check;
void sqlite_writer_add(struct sqlite_writer *w, struct batch *b);
void sqlite_writer_collect(struct sqlite_writer *w);
void sqlite_writer_stop(struct sqlite_writer *w); /* writes and announces everything first */

/* the log */

/* Registered with SQLite under its name; open the connection that writes with it. */
struct sqlite_wal {
    sqlite3_vfs vfs;
    sqlite3_vfs *system; /* the one behind it */
    char name[32];
    bool is_registered;
};

int sqlite_wal_register(struct sqlite_wal *w) must_check; /* w must stay in place */
void sqlite_wal_unregister(struct sqlite_wal *w); /* after its connections are closed */

/* the reader */

enum reader_stmt {
    READER_NAMESPACES,
    READER_DEPLOYMENTS,
    READER_CURRENT,
    READER_EXECUTION,
    READER_HISTORY,
    READER_DUE,
    READER_CLOSED,
    READER_CLOSED_ALL,
    READER_LEDGER,
    READER_BACKLOG,
    READER_RUNS,
    READER_STMT_COUNT,
};

struct sqlite_reader {
    sqlite3 *db; /* borrowed */
    const char *path;
    struct log *log;
    sqlite3_stmt *stmts[READER_STMT_COUNT];
};

int sqlite_reader_start(struct sqlite_reader *rd, sqlite3 *db, const char *path, struct log *log,
                        struct err *reterr) must_check;
void sqlite_reader_read(struct sqlite_reader *rd, struct read *r);
void sqlite_reader_stop(struct sqlite_reader *rd);
/* READ_VISIBILITY*: SQLite's code of the end, SQLITE_DONE when all went well. */
int sqlite_read_visibility(sqlite3 *db, struct read *r);

/* the connection */

int sqlite_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
                   struct err *reterr) must_check;
int sqlite_exec(sqlite3 *db, const char *path, const char *sql, struct err *reterr) must_check;
/* ERR_STORE_CORRUPT or ERR_STORE_IO for the last failure of db, with a text. */
int sqlite_error(sqlite3 *db, const char *path, struct err *reterr);
