/* Shared by the files of the SQLite store. Private to this directory.
 *
 *   sqlite_store    open, close, the vtable
 *   sqlite_file     the path, a first look at the bytes
 *   sqlite_lock     one server for each file
 *   sqlite_watch    whether the file is still the one at its path
 *   sqlite_busy     waiting for another program that has locked the file
 *   sqlite_schema   versions and migrations
 *   sqlite_mark     how a copy without its log is known
 *   sqlite_writer   the thread that commits batches in groups
 *   sqlite_bulk     the new rows of a group, inserted together
 *   sqlite_removal  removes runs and gives their space back
 *   sqlite_entry    the entry of a run in lists
 *   sqlite_checkpoint   the thread that moves the log into the file
 *   sqlite_wal      the write-ahead log, written in large pieces
 *   sqlite_reader   reads on the loop thread
 *   sqlite_lister   lists and counts, on threads of their own
 *   sqlite_where    predicates as SQL
 *   sqlite_seek     index ranges that contain the matches of a predicate
 *   sqlite_visibility   lists and counts of runs
 *
 * A file has three connections, each used by one thread, so none waits for
 * the others (WAL). ":memory:" has one connection that both threads share; they
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
    int lock_fd; /* of `<file>.lock`; -1: not locked */
    int data_fd; /* of the file itself; -1: not locked. Closed after the connections */
    dev_t device; /* which file it is, whatever its path says later */
    ino_t inode;
    bool is_memory;
};

int sqlite_file_open(struct sqlite_file *f, const char *path, struct err *reterr) must_check;
void sqlite_file_close(struct sqlite_file *f); /* after the connections */
/* What cannot be found out is 0, as in memory. */
void sqlite_file_measure(const struct sqlite_file *f, struct store_size *ret);

/* Takes both locks, on `<file>.lock` and on the file itself. */
int sqlite_lock_take(struct sqlite_file *f, struct err *reterr) must_check;
void sqlite_lock_drop(struct sqlite_file *f); /* also of a file that has none */

/* the schema */

/* Refuses what is not ours or newer than we are, before anything is written; then
 * switches to WAL and migrates forward, unless o->should_stop() ends it. */
int sqlite_schema_prepare(sqlite3 *db, const struct sqlite_file *f, const struct sqlite_options *o,
                          struct err *reterr) must_check;

/* the mark */

struct sqlite_mark {
    sqlite3 *reader; /* its own connection, which keeps the log from starting over; NULL: none */
};

/* The file has the mark. *ret_has_log: its log is there, too. */
int sqlite_mark_found(struct sqlite_mark *m, sqlite3 *db, const char *path, bool *ret_has_log,
                      struct err *reterr) must_check;
int sqlite_mark_set(struct sqlite_mark *m, sqlite3 *db, const char *path, struct err *reterr) must_check;
void sqlite_mark_done(struct sqlite_mark *m); /* before db is closed */

/* new rows */

enum bulk_kind {
    BULK_EXECUTIONS,
    BULK_HISTORY,
    BULK_CURRENT,
    BULK_ENTRIES,
    BULK_ATTRIBUTES,
    BULK_LEDGER,
    BULK_COUNT,
};

struct sqlite_bulk;

struct bulk_source {
    const struct sqlite_bulk *bulk;
    enum bulk_kind kind;
};

#define BULK_GONE_BITS (1u << 20)

struct sqlite_bulk {
    uint8_t gone[BULK_GONE_BITS / 8]; /* a bit for each run that the group removes, by the end of its id */
    bool has_gone;
    const struct write *rows[BULK_COUNT]; /* what is in the virtual tables: chains by next_alike */
    bool has_taken[BULK_COUNT]; /* the group's rows for that table are inserted, or will be */
    struct bulk_source sources[BULK_COUNT];
    sqlite3_stmt *stmts[BULK_COUNT];
};

int sqlite_bulk_start(struct sqlite_bulk *b, sqlite3 *db, const char *path,
                      struct err *reterr) must_check; /* b must stay in place */
void sqlite_bulk_stop(struct sqlite_bulk *b); /* before the connection is closed */
/* Inserts those rows of the group, a list of batches, that can be. */
bool sqlite_bulk_begin(struct sqlite_bulk *b, const struct list *group);
bool sqlite_bulk_takes(const struct sqlite_bulk *b,
                       const struct write *x); /* whether it has inserted this one */
void sqlite_bulk_end(struct sqlite_bulk *b);

/* checkpoints */

struct sqlite_checkpoint {
    sqlite3 *db; /* borrowed: its own connection */
    const struct sqlite_options *options;
    const char *path;
    int pages; /* of the log, and */
    int asked_at; /* how many there were when the last move began, */
    int held_at; /* or lists were last held up for one; all three are the writer's */
    _Atomic bool is_log_long; /* the log should start over soon: readers keep no state */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool is_asked; /* until it is done */
    bool is_stopping;
    size_t list_count; /* lists under way, each of which reads one state */
    bool is_held; /* no further one begins, until the log was moved, */
    bool is_writers_turn; /* by the writer, which waits for the thread */
    bool is_let_go; /* for ever: the store is being closed */
};

int sqlite_checkpoint_start(struct sqlite_checkpoint *c, sqlite3 *db, const char *path,
                            const struct sqlite_options *o, struct err *reterr) must_check;
void sqlite_checkpoint_stop(struct sqlite_checkpoint *c); /* after the writer and the lists */
/* On the writer's thread, between commits: its log has so many pages now. */
void sqlite_checkpoint_after(struct sqlite_checkpoint *c, sqlite3 *writer_db, int pages);
/* The same, however short the log is. */
void sqlite_checkpoint_now(struct sqlite_checkpoint *c, sqlite3 *writer_db);
/* Around a list, on its thread. While the log is far too long, it waits to begin. */
void sqlite_checkpoint_enter(struct sqlite_checkpoint *c);
void sqlite_checkpoint_leave(struct sqlite_checkpoint *c);
void sqlite_checkpoint_release(struct sqlite_checkpoint *c); /* ends all waits: the store is being closed */

/* another program has locked the file */

struct sqlite_busy {
    struct log *log;
    const char *path;
    int64_t waited_ms; /* this time */
    int64_t closing_ms; /* since the store is being closed */
    bool is_told; /* there is a line in the log about it */
    _Atomic bool is_closing;
};

/* The connection waits without a limit from now on. p must stay in place. */
void sqlite_busy_start(struct sqlite_busy *p, sqlite3 *db, const char *path, struct log *log);
void sqlite_busy_got_turn(struct sqlite_busy *p); /* the connection has its turn */
void sqlite_busy_close(struct sqlite_busy *p); /* the store is being closed; on the loop's thread */

/* the file at its path */

#define SQLITE_COMPANIONS 2 /* the log and its index */

struct sqlite_writer;

struct sqlite_watch {
    const struct sqlite_file *file; /* borrowed, as the writer */
    struct sqlite_writer *writer;
    const struct sqlite_options *options;
    dev_t devices[SQLITE_COMPANIONS]; /* the data file alone may be mounted from elsewhere */
    ino_t inodes[SQLITE_COMPANIONS]; /* 0: not known */
    int stop_fd; /* readable: the thread ends */
    bool has_stop_fd;
    pthread_t thread;
    bool has_thread;
};

/* Before the writer is started, and after a connection has made the log. */
void sqlite_watch_init(struct sqlite_watch *w, const struct sqlite_file *f, const struct sqlite_options *o);
int sqlite_watch_start(struct sqlite_watch *w, struct sqlite_writer *writer, struct err *reterr) must_check;
/* On the writer's thread, outside a transaction. Ends the process when the file is not there any more. */
void sqlite_watch_check_all(const struct sqlite_watch *w, sqlite3 *writer_db);
void sqlite_watch_check_file(const struct sqlite_watch *w, sqlite3 *writer_db); /* at the file alone */
void sqlite_watch_stop(struct sqlite_watch *w); /* before the writer's thread ends */

/* the writer */

enum writer_stmt {
    WRITER_BEGIN,
    WRITER_COMMIT,
    WRITER_NAMESPACE,
    WRITER_NAMESPACE_GONE,
    WRITER_EXECUTION,
    WRITER_EXECUTION_MOVE,
    WRITER_STATE,
    WRITER_EXECUTION_GONE,
    WRITER_HISTORY_GONE,
    WRITER_HISTORY_SIZE,
    WRITER_HISTORY_PART,
    WRITER_REMAINS,
    WRITER_REMAINS_FIRST,
    WRITER_REMAINS_GONE,
    WRITER_FREE_PAGES,
    WRITER_PAGES,
    WRITER_VACUUM_MODE,
    WRITER_SHRINK,
    WRITER_CURRENT,
    WRITER_CURRENT_GONE,
    WRITER_DEPLOYMENT,
    WRITER_DEPLOYMENT_GONE,
    WRITER_HISTORY,
    WRITER_ENTRY,
    WRITER_ENTRY_MOVE,
    WRITER_ENTRY_REFRESH,
    WRITER_ENTRY_CLOSE,
    WRITER_ENTRY_GONE,
    WRITER_ATTRIBUTE,
    WRITER_ATTRIBUTE_GONE,
    WRITER_ATTRIBUTES_OF,
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

struct sqlite_removal {
    int64_t rows, bytes; /* of histories, that this commit has removed */
    bool has_remains; /* there may be rows in `remains` */
    bool may_be_free; /* pages were freed since the last look */
    int calm_looks; /* at the file, about one a second, since a run was removed */
    bool can_shrink; /* the file was made so that it can become shorter */
    bool has_shrunk; /* and it has, in the log */
};

struct sqlite_writer {
    sqlite3 *db; /* borrowed */
    const struct sqlite_options *options;
    const char *path;
    sqlite3_stmt *stmts[WRITER_STMT_COUNT];
    struct sqlite_bulk bulk;
    struct sqlite_removal removal;
    struct sqlite_busy busy;
    const struct sqlite_watch *watch; /* borrowed; NULL in memory */
    int log_pages; /* after the last commit */
    struct sqlite_checkpoint *checkpoint; /* borrowed; NULL: there is no log */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t has_work; /* the thread waits for it */
    pthread_cond_t announced; /* close waits for it */
    struct list waiting; /* batches handed over */
    struct list durable; /* batches to be collected */
    bool is_writing;
    bool is_look_due; /* at the file */
    bool is_stopping;
};

/* checkpoint, watch: NULL when there is no file. */
int sqlite_writer_start(struct sqlite_writer *w, sqlite3 *db, struct sqlite_checkpoint *checkpoint,
                        const struct sqlite_watch *watch, const char *path, const struct sqlite_options *o,
                        struct err *reterr) must_check;
void sqlite_writer_ask_check(struct sqlite_writer *w); /* sqlite_watch_check_all(), soon, on its thread */
void sqlite_writer_add(struct sqlite_writer *w, struct batch *b);
void sqlite_writer_collect(struct sqlite_writer *w);
void sqlite_writer_stop(struct sqlite_writer *w); /* writes and announces everything first */

/* removal of runs, on the writer's thread; false: a statement failed */

int sqlite_removal_start(struct sqlite_writer *w) must_check;
void sqlite_removal_begin(struct sqlite_writer *w); /* of a commit, which may remove so much and no more */
bool sqlite_removal_run(struct sqlite_writer *w, const struct write *x);
bool sqlite_removal_continue(struct sqlite_writer *w); /* with what is left of runs that are gone */
void sqlite_removal_count_check(struct sqlite_writer *w); /* about a second has passed */
bool sqlite_removal_is_due(const struct sqlite_writer *w); /* there is something to do between commits */
bool sqlite_removal_shrink(struct sqlite_writer *w); /* makes the file a little shorter, in its own commit */

/* entries of lists */

enum sqlite_column {
#define COLUMN(name, column, number) SQLITE_COLUMN_##column,
#include "store/sqlite/columns.def"
#undef COLUMN
    SQLITE_COLUMN_COUNT,
};

extern const char sqlite_entry_insert_sql[];
extern const char sqlite_entry_move_sql[]; /* all of an existing row */
extern const char sqlite_entry_refresh_sql[]; /* of one that stays where it is */
extern const char sqlite_entry_close_sql[]; /* of one that closes */

/* The values that have a column, in the order of columns.def; NULL: none. */
void sqlite_entry_columns(const struct write *x, const struct value *ret[SQLITE_COLUMN_COUNT]);
/* The n-th MOVING value of columns.def of an execution; NULL: it has none. */
const struct value *sqlite_entry_moving_value(const struct write *x, size_t nth);
void sqlite_entry_bind_moving(sqlite3_stmt *st, const struct write *x);
bool sqlite_entry_has_row(const struct attribute *a); /* in visibility_attributes */
bool sqlite_entry_write(struct sqlite_writer *w, const struct write *x);

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
    READER_KEEP,
    READER_REST,
    READER_STMT_COUNT,
};

struct sqlite_reader {
    sqlite3 *db; /* borrowed */
    const char *path;
    struct log *log;
    const struct sqlite_checkpoint *checkpoint; /* NULL in memory, where no state is kept */
    sqlite3_stmt *stmts[READER_STMT_COUNT];
};

int sqlite_reader_start(struct sqlite_reader *rd, sqlite3 *db, const struct sqlite_checkpoint *checkpoint,
                        const char *path, struct log *log, struct err *reterr) must_check;
void sqlite_reader_read(struct sqlite_reader *rd, struct read *r);
void sqlite_reader_end_snapshot(struct sqlite_reader *rd); /* the next read is made of a new state */
void sqlite_reader_stop(struct sqlite_reader *rd);
/* READ_VISIBILITY*: each row goes to `row`, on this thread. With `tries` it may take several statements; then
 * the caller sees to it that they read one state. SQLite's code of the end, SQLITE_DONE when all went well.
 */
int sqlite_read_visibility(sqlite3 *db, const struct read *r, bool tries,
                           void (*row)(void *ctx, const struct row *row), void *ctx);

/* lists and counts, beside the loop */

#define SQLITE_LISTERS 3

struct sqlite_lister;

struct sqlite_lister_thread {
    struct sqlite_lister *lister;
    sqlite3 *db; /* borrowed; this thread's own */
    pthread_t thread;
};

struct sqlite_lister {
    const struct sqlite_options *options; /* NULL: it was not started */
    struct sqlite_checkpoint *checkpoint; /* borrowed */
    const char *path;
    struct sqlite_lister_thread threads[SQLITE_LISTERS];
    size_t thread_count; /* 0: there are none, reads happen at once */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t has_work;
    struct list waiting;
    struct list answered;
    _Atomic bool is_stopping; /* read without the lock, too */
};

int sqlite_lister_start(struct sqlite_lister *l, sqlite3 *const *dbs, size_t count,
                        struct sqlite_checkpoint *checkpoint, const char *path,
                        const struct sqlite_options *o, struct err *reterr) must_check;
/* Takes the read, unless there is no memory to do so. */
int sqlite_lister_read(struct sqlite_lister *l, struct read *r) must_check;
void sqlite_lister_collect(struct sqlite_lister *l);
void sqlite_lister_stop(struct sqlite_lister *l); /* what was not answered never will be */

/* the connection */

int sqlite_prepare(sqlite3 *db, const char *path, const char *sql, sqlite3_stmt **ret,
                   struct err *reterr) must_check;
int sqlite_exec(sqlite3 *db, const char *path, const char *sql, struct err *reterr) must_check;
/* ERR_STORE_CORRUPT or ERR_STORE_IO for the last failure of db, with a text. */
int sqlite_error(sqlite3 *db, const char *path, struct err *reterr);
/* The promise "durable, or the process ends": ends it, for a reason that is in the log. */
noreturn_fn void sqlite_end(const struct sqlite_options *o, const char *text);
/* Logs the last failure of db first. */
noreturn_fn void sqlite_fail(sqlite3 *db, const char *path, const struct sqlite_options *o, const char *what);
