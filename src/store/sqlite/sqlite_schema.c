/* The tables, and how an older file becomes a current one.
 *
 * PRAGMA user_version is the version of the schema; application_id says that
 * the file is ours. Migrations run in one transaction together with the new
 * version, so a crash leaves the old or the new file. Nothing is written
 * to a file that is not ours or that a newer rondo wrote. */
#include "store/sqlite/sqlite_int.h"

#include <stdio.h>

#define APPLICATION_ID 0x526f6e64 /* "Rond" */
#define PRAGMA_MAX 64
#define PROGRESS_STEPS 100000 /* of SQLite's machine between two looks at whether to give up */
#define CONVERT_PAGES_MAX 16384 /* 64 MiB, which takes a second or two to write anew */

struct migration {
    int version;
    const char *sql;
};

/* What a list hides unless it is asked for has an index of its own, so that counting needs only an index. */
#define LIST_INDEX(name, columns)                                                                            \
    "CREATE INDEX visibility_" name " ON visibility (namespace_id, " columns "close_ns, start_ns, run_id)"   \
    "  WHERE division IS NULL;"

/* Every key begins with the namespace; ids are 16 bytes; NULL times mean never.
 *
 * Small rows that are found by their key live in the key's tree (WITHOUT ROWID). Executions
 * and history do not: their rows are large, and a tree of large rows is deep and splits
 * often. They are appended to a table instead, next to a tree of keys: rows that are written
 * together lie together, whichever runs they belong to, so a group of commits touches few
 * pages. Run ids begin with the time, so the trees of keys grow at their end, too.
 *
 * The indexes of visibility, and the key of its attributes, end with the order of a list (close_ns,
 * start_ns, run_id), so that a page with an equality in its filter is read from one place, in
 * order, without sorting, however many runs there are.
 *
 * executions_due holds all that READ_DUE looks at (so close_us too, which is NULL in it): a
 * start with a million open runs reads this index, not their states. */
#define MOVE_TO_COLUMN(column, name)                                                                         \
    "ALTER TABLE visibility ADD COLUMN " column ";"                                                          \
    "UPDATE visibility SET " column " = (SELECT value FROM visibility_attributes a"                          \
    "  WHERE a.namespace_id = visibility.namespace_id AND a.run_id = visibility.run_id"                      \
    "  AND a.name = '" name "') WHERE division IS NOT NULL;"                                                 \
    "DELETE FROM visibility_attributes WHERE (namespace_id, run_id) IN"                                      \
    "  (SELECT namespace_id, run_id FROM visibility WHERE division IS NOT NULL) AND name = '" name "';"

/* The values of a name, from their rows to a column that is there. */
#define TAKE_COLUMN(column, name)                                                                            \
    "UPDATE visibility SET " column " = (SELECT value FROM visibility_attributes a"                          \
    "  WHERE a.namespace_id = visibility.namespace_id AND a.run_id = visibility.run_id"                      \
    "  AND a.name = '" name "') WHERE (namespace_id, run_id) IN"                                             \
    "  (SELECT namespace_id, run_id FROM visibility_attributes WHERE name = '" name "');"                    \
    "DELETE FROM visibility_attributes WHERE name = '" name "';"
#define MOVE_TO_STATE                                                                                        \
    "ALTER TABLE executions ADD COLUMN next_action_ns;"                                                      \
    "ALTER TABLE executions ADD COLUMN running_count;"                                                       \
    "ALTER TABLE executions ADD COLUMN buffered_count;"                                                      \
    "UPDATE executions SET next_action_ns = v.next_action_ns, running_count = v.running_count,"              \
    "  buffered_count = v.buffered_count FROM visibility v WHERE v.division IS NOT NULL"                     \
    "  AND v.namespace_id = executions.namespace_id AND v.run_id = executions.run_id;"                       \
    "UPDATE visibility SET next_action_ns = NULL, running_count = NULL WHERE division IS NOT NULL;"          \
    "UPDATE visibility SET body = x'' WHERE division = 'TemporalScheduler';"                                 \
    "ALTER TABLE visibility DROP COLUMN buffered_count;"                                                     \
    "ALTER TABLE visibility RENAME COLUMN running_count TO scheduled_by;"                                    \
    "ALTER TABLE visibility RENAME COLUMN next_action_ns TO scheduled_ns;"
#define FIND_SCHEDULED                                                                                       \
    "CREATE INDEX visibility_scheduled_by ON visibility"                                                     \
    "  (namespace_id, scheduled_by, close_ns, start_ns, run_id) WHERE scheduled_by IS NOT NULL;"             \
    "CREATE INDEX visibility_scheduled_at ON visibility (namespace_id, scheduled_ns)"                        \
    "  WHERE scheduled_ns IS NOT NULL;"
#define FIND_INDEX(name, column, condition)                                                                  \
    "CREATE INDEX visibility_" name " ON visibility (namespace_id, " column ")"                              \
    "  WHERE division IS NULL" condition ";"
#define FIND_FIGURE(name, column) FIND_INDEX(name, column, " AND " column " IS NOT NULL")

static const struct migration migrations[] = {
    {1, "CREATE TABLE namespaces ("
        "  namespace_id BLOB NOT NULL PRIMARY KEY,"
        "  name TEXT NOT NULL,"
        "  body BLOB NOT NULL"
        ") WITHOUT ROWID;"

        "CREATE TABLE executions ("
        "  namespace_id BLOB NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  workflow_id TEXT NOT NULL,"
        "  status INTEGER NOT NULL,"
        "  due_us INTEGER,"
        "  close_us INTEGER," /* NULL while open */
        "  ready INTEGER NOT NULL,"
        "  state BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, run_id)"
        ");"

        "CREATE INDEX executions_due"
        "  ON executions (namespace_id, run_id, due_us, ready, workflow_id)"
        "  WHERE due_us IS NOT NULL OR ready = 1;"

        "CREATE INDEX executions_closed ON executions (close_us, namespace_id, run_id)"
        "  WHERE close_us IS NOT NULL;"

        "CREATE TABLE current_runs ("
        "  namespace_id BLOB NOT NULL,"
        "  workflow_id TEXT NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, workflow_id)"
        ") WITHOUT ROWID;"

        "CREATE TABLE history ("
        "  namespace_id BLOB NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  first_event_id INTEGER NOT NULL,"
        "  last_event_id INTEGER NOT NULL,"
        "  events BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, run_id, first_event_id)"
        ");"

        "CREATE TABLE visibility ("
        "  namespace_id BLOB NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  close_ns INTEGER NOT NULL," /* the largest number while open */
        "  start_ns INTEGER NOT NULL,"
        "  execution_ns INTEGER,"
        "  duration_ns INTEGER,"
        "  history_length INTEGER,"
        "  history_bytes INTEGER,"
        "  transition_count INTEGER,"
        "  workflow_id TEXT,"
        "  workflow_type TEXT,"
        "  task_queue TEXT,"
        "  status TEXT,"
        "  parent_workflow_id TEXT,"
        "  parent_run_id TEXT,"
        "  root_workflow_id TEXT,"
        "  root_run_id TEXT,"
        "  division TEXT,"
        "  body BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, run_id)"
        ");" LIST_INDEX("order", "") LIST_INDEX("workflow", "workflow_id, ")
            LIST_INDEX("type", "workflow_type, ") LIST_INDEX("queue", "task_queue, ") LIST_INDEX(
                "status", "status, ") "CREATE INDEX visibility_division"
                                      "  ON visibility (namespace_id, division, close_ns, start_ns, run_id) "
                                      "WHERE division IS NOT NULL;"

                                      "CREATE TABLE visibility_attributes ("
                                      "  namespace_id BLOB NOT NULL,"
                                      "  name TEXT NOT NULL,"
                                      "  value NOT NULL," /* as it was bound: a number or a text */
                                      "  close_ns INTEGER NOT NULL,"
                                      "  start_ns INTEGER NOT NULL,"
                                      "  run_id BLOB NOT NULL,"
                                      "  PRIMARY KEY (namespace_id, name, value, close_ns, start_ns, run_id)"
                                      ") WITHOUT ROWID;"
                                      "CREATE INDEX visibility_attributes_run ON visibility_attributes "
                                      "(namespace_id, run_id, name, value);"},
    /* Written at every action of a schedule and read by few, so it has its key and no other index. */
    {2, "CREATE TABLE ledger ("
        "  namespace_id BLOB NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  id INTEGER NOT NULL,"
        "  nominal_s INTEGER NOT NULL,"
        "  last_nominal_s INTEGER NOT NULL,"
        "  at_us INTEGER NOT NULL,"
        "  fate INTEGER NOT NULL,"
        "  body BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, run_id, id)"
        ") WITHOUT ROWID;"},
    {3, "CREATE TABLE deployments ("
        "  namespace_id BLOB NOT NULL,"
        "  name TEXT NOT NULL,"
        "  body BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, name)"
        ") WITHOUT ROWID;"},
    /* What changes with every action of a schedule is written with its row, and nowhere else. */
    {4, MOVE_TO_COLUMN("next_action_ns", "ScheduleNextActionTime")
            MOVE_TO_COLUMN("running_count", "ScheduleRunningWorkflowCount")
                MOVE_TO_COLUMN("buffered_count", "ScheduleBufferedStartsCount")},
    /* Empty unless a task queue has more waiting than memory should hold. */
    {5, "CREATE TABLE backlog ("
        "  namespace_id BLOB NOT NULL,"
        "  lane INTEGER NOT NULL,"
        "  number INTEGER NOT NULL,"
        "  body BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, lane, number)"
        ") WITHOUT ROWID;"},
    /* What finds rows by what most indexes do not begin with; small, since they need not keep the order of
     * lists. A start is written to the first only, at its end; a close to those of figures, which are NULL
     * before.
     *
     * What changes with every action of a schedule goes to where its state is written anyway, and what lists
     * show of it is read there. Two of the columns serve those whom a schedule starts. */
    {6, FIND_INDEX("start", "start_ns", "")
            FIND_INDEX("delayed", "execution_ns", " AND execution_ns <> start_ns")
                FIND_FIGURE("duration", "duration_ns") FIND_FIGURE("length", "history_length")
                    FIND_FIGURE("parent", "parent_workflow_id") FIND_FIGURE("parent_run", "parent_run_id")
                        FIND_INDEX("root", "root_workflow_id", " AND root_workflow_id IS NOT workflow_id")
                            MOVE_TO_STATE TAKE_COLUMN("scheduled_by", "TemporalScheduledById")
                                TAKE_COLUMN("scheduled_ns", "TemporalScheduledStartTime") FIND_SCHEDULED},
    /* Retention asks one namespace at a time for its oldest runs. What is left of runs that are gone: long
     * histories go in pieces (sqlite_removal.c). */
    {7, "DROP INDEX executions_closed;"
        "CREATE INDEX executions_closed ON executions (namespace_id, close_us, run_id)"
        "  WHERE close_us IS NOT NULL;"
        "CREATE TABLE remains ("
        "  namespace_id BLOB NOT NULL,"
        "  run_id BLOB NOT NULL,"
        "  PRIMARY KEY (namespace_id, run_id)"
        ") WITHOUT ROWID;"},
};

static int pragma_get(sqlite3 *db, const char *path, const char *sql, int64_t *ret, struct err *reterr) {
    sqlite3_stmt *st;
    int rc = sqlite_prepare(db, path, sql, &st, reterr);
    if (rc < 0)
        return rc;
    if (sqlite3_step(st) == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    else
        rc = sqlite_error(db, path, reterr);
    sqlite3_finalize(st);
    return rc;
}

static int pragma_set(sqlite3 *db, const char *path, const char *name, int64_t value, struct err *reterr) {
    char sql[PRAGMA_MAX];
    (void)snprintf(sql, sizeof sql, "PRAGMA %s = %lld", name, (long long)value);
    return sqlite_exec(db, path, sql, reterr);
}

static int schema_refuse_copy(const char *path, struct err *reterr) {
    return err_set(
        reterr, ERR_STORE_CORRUPT,
        "%s was copied without its log while a server used it: what it should hold is in the log. "
        "Copy %s-wal too, or make a copy with: sqlite3 FILE \".backup COPY\". If nothing was ever in "
        "it, remove it.",
        path, path);
}

static bool has_log_mode(sqlite3 *db) {
    sqlite3_stmt *st = NULL;
    bool is_log = sqlite3_prepare_v2(db, "PRAGMA journal_mode", -1, &st, NULL) == SQLITE_OK &&
                  sqlite3_step(st) == SQLITE_ROW && cstr_eq((const char *)sqlite3_column_text(st, 0), "wal");
    sqlite3_finalize(st);
    return is_log;
}

static int schema_judge_mark(sqlite3 *db, const char *path, struct sqlite_mark *m, struct err *reterr) {
    bool has_log = false;
    int rc = sqlite_mark_found(m, db, path, &has_log, reterr);
    return rc == 0 && !has_log ? schema_refuse_copy(path, reterr) : rc;
}

/* The version of the file, 0 for an empty one. */
static int schema_identify(sqlite3 *db, const char *path, struct sqlite_mark *m, int64_t *ret_version,
                           struct err *reterr) {
    int64_t application = 0, version = 0, object_count = 0;
    int rc = pragma_get(db, path, "PRAGMA application_id", &application, reterr);
    if (rc == 0)
        rc = pragma_get(db, path, "PRAGMA user_version", &version, reterr);
    if (rc == 0)
        rc = pragma_get(db, path, "SELECT count(*) FROM sqlite_schema", &object_count, reterr);
    if (rc < 0)
        return rc;
    if (application != APPLICATION_ID && (application || version || object_count))
        return err_set(reterr, ERR_STORE_CORRUPT,
                       "%s is a database of another program. Choose another file for Rondo.", path);
    if (!application && has_log_mode(db)) /* ours have an id before they have a log */
        return schema_refuse_copy(path, reterr);
    bool is_marked = version < 0;
    version = is_marked ? -version : version;
    if (version > STORE_SCHEMA_VERSION)
        return err_set(reterr, ERR_STORE_NEWER,
                       "%s was written by a newer rondo (schema %lld; this one knows %d). Upgrade rondo, or "
                       "restore a backup from before the upgrade.",
                       path, (long long)version, STORE_SCHEMA_VERSION);
    *ret_version = version;
    return is_marked ? schema_judge_mark(db, path, m, reterr) : 0;
}

/* The log is what lets a commit be one sync of one file, with readers beside it. Memory needs
 * none: nothing is ever rolled back, since a failed write ends the process. */
static int schema_use_log(sqlite3 *db, const struct sqlite_file *f, struct err *reterr) {
    sqlite3_stmt *st;
    if (f->is_memory)
        return sqlite_exec(db, f->path, "PRAGMA journal_mode = OFF", reterr);
    int rc = sqlite_prepare(db, f->path, "PRAGMA journal_mode = WAL", &st, reterr);
    if (rc < 0)
        return rc;
    if (sqlite3_step(st) != SQLITE_ROW)
        rc = sqlite_error(db, f->path, reterr);
    else if (!cstr_eq((const char *)sqlite3_column_text(st, 0), "wal"))
        rc = err_set(reterr, ERR_STORE_IO,
                     "%s cannot have a write-ahead log: its file system has no shared memory. Put it on a "
                     "local disk.",
                     f->path);
    /* The switch is committed here, after its row. */
    if (sqlite3_finalize(st) != SQLITE_OK && rc == 0)
        rc = sqlite_error(db, f->path, reterr);
    return rc;
}

/* All that is missing, in one transaction: one sync, and a crash leaves the old file or the new one. */
static int schema_migrate(sqlite3 *db, const char *path, int64_t version, struct err *reterr) {
    int rc = sqlite_exec(db, path, "BEGIN IMMEDIATE", reterr);
    if (rc < 0)
        return rc;
    for (size_t i = 0; rc == 0 && i < ARRAY_LEN(migrations); i++)
        if (migrations[i].version > version)
            rc = sqlite_exec(db, path, migrations[i].sql, reterr);
    if (rc == 0)
        rc = pragma_set(db, path, "application_id", APPLICATION_ID, reterr);
    if (rc == 0)
        rc = pragma_set(db, path, "user_version", STORE_SCHEMA_VERSION, reterr);
    if (rc == 0)
        rc = sqlite_exec(db, path, "COMMIT", reterr);
    if (rc < 0)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL); /* the first error is the one that counts */
    return rc;
}

/* A migration of a large file takes minutes. */
static int migration_is_given_up(void *ctx) {
    const struct sqlite_options *o = ctx;
    return o->should_stop(o->stop_ctx);
}

static int schema_migrate_patiently(sqlite3 *db, const char *path, int64_t version,
                                    const struct sqlite_options *o, struct err *reterr) {
    if (o->should_stop)
        sqlite3_progress_handler(db, PROGRESS_STEPS, migration_is_given_up, (void *)(uintptr_t)o);
    int rc = schema_migrate(db, path, version, reterr);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    return rc;
}

/* A new file. Nothing could be rolled back yet, so no journal on disk is needed. Pages that become free can
 * be given back to the file system only if that was said before the first page. */
static int schema_begin(sqlite3 *db, const char *path, struct err *reterr) {
    int rc = sqlite_exec(db, path, "PRAGMA journal_mode = MEMORY; PRAGMA auto_vacuum = INCREMENTAL", reterr);
    return rc < 0 ? rc : pragma_set(db, path, "application_id", APPLICATION_ID, reterr);
}

/* A small file of an older version is written anew once, so that it can give pages back. A large one would
 * take too long at a start; docs/server.md says how to do that. Without room for it the file stays as it is.
 */
static int schema_convert(sqlite3 *db, const char *path, struct err *reterr) {
    int64_t vacuum = 0, pages = 0;
    int rc = pragma_get(db, path, "PRAGMA auto_vacuum", &vacuum, reterr);
    if (rc == 0)
        rc = pragma_get(db, path, "PRAGMA page_count", &pages, reterr);
    if (rc < 0 || vacuum != 0 || pages > CONVERT_PAGES_MAX)
        return rc;
    rc = sqlite_exec(db, path, "PRAGMA auto_vacuum = INCREMENTAL; VACUUM", reterr);
    return rc < 0 && (sqlite3_errcode(db) & 0xff) == SQLITE_FULL ? 0 : rc;
}

static int schema_bring_up(sqlite3 *db, const struct sqlite_file *f, const struct sqlite_options *o,
                           struct sqlite_mark *m, struct err *reterr) {
    int64_t version = 0;
    int rc = schema_identify(db, f->path, m, &version, reterr);
    if (rc == 0 && version == 0 && !f->is_memory)
        rc = schema_begin(db, f->path, reterr);
    if (rc == 0)
        rc = schema_use_log(db, f, reterr);
    if (rc == 0 && version < STORE_SCHEMA_VERSION)
        rc = schema_migrate_patiently(db, f->path, version, o, reterr);
    if (rc == 0 && !f->is_memory)
        rc = schema_convert(db, f->path, reterr);
    if (rc == 0 && !f->is_memory)
        rc = sqlite_mark_set(m, db, f->path, reterr);
    return rc;
}

int sqlite_schema_prepare(sqlite3 *db, const struct sqlite_file *f, const struct sqlite_options *o,
                          struct err *reterr) {
    ensure(migrations[ARRAY_LEN(migrations) - 1].version == STORE_SCHEMA_VERSION);
    struct sqlite_mark mark = {0};
    int rc = schema_bring_up(db, f, o, &mark, reterr);
    sqlite_mark_done(&mark);
    return rc;
}
