/* Reads, on the loop thread, through a connection of their own.
 *
 * The happy path: bind the keys to a prepared statement, hand each row to the
 * caller, then call `done`; all of it before store_read() returns. The rows'
 * bytes are SQLite's: valid until the next row.
 *
 * The reads of a turn see one state of the database, however many commits are
 * made meanwhile: that of the first. To find out what the state is takes locks,
 * and a new one empties the cache, so many reads share the cost. While the log
 * should start over, no state is kept from one read to the next.
 *
 * Failure: the rest of the rows is missing and `done` gets ERR_STORE_*; what
 * happened is in the log. */
#include "store/sqlite/sqlite_int.h"

#include "base/clock.h"

static const char *const reader_sql[READER_STMT_COUNT] = {
    [READER_NAMESPACES] = "SELECT namespace_id, name, body FROM namespaces ORDER BY namespace_id",
    [READER_DEPLOYMENTS] = "SELECT namespace_id, name, body FROM deployments ORDER BY namespace_id, name",
    [READER_CURRENT] = "SELECT run_id FROM current_runs WHERE namespace_id = ?1 AND workflow_id = ?2",
    [READER_EXECUTION] = "SELECT workflow_id, due_us, close_us, ready, state FROM executions"
                         " WHERE namespace_id = ?1 AND run_id = ?2",
    /* The last row that begins at or before ?3 may still reach into the range. */
    [READER_HISTORY] = "SELECT first_event_id, last_event_id, events FROM history"
                       " WHERE namespace_id = ?1 AND run_id = ?2"
                       " AND first_event_id >= coalesce((SELECT max(first_event_id) FROM history"
                       " WHERE namespace_id = ?1 AND run_id = ?2 AND first_event_id <= ?3), ?3)"
                       " AND first_event_id <= ?4 AND last_event_id >= ?3"
                       " ORDER BY first_event_id",
    [READER_DUE] = "SELECT namespace_id, run_id, due_us, ready, workflow_id"
                   " FROM executions INDEXED BY executions_due"
                   " WHERE (due_us IS NOT NULL OR ready = 1) AND (namespace_id, run_id) > (?1, ?2)"
                   " ORDER BY namespace_id, run_id LIMIT ?3",
    [READER_CLOSED] = "SELECT namespace_id, run_id, close_us, workflow_id"
                      " FROM executions INDEXED BY executions_closed"
                      " WHERE namespace_id = ?3 AND close_us < ?1 AND (close_us, run_id) > (?4, ?5)"
                      " ORDER BY close_us, run_id LIMIT ?2",
    [READER_RUNS] = "SELECT run_id FROM executions WHERE namespace_id = ?1 AND run_id > ?3"
                    " ORDER BY run_id LIMIT ?2",
    [READER_CLOSED_ALL] = "SELECT namespace_id, run_id, close_us, workflow_id"
                          " FROM executions INDEXED BY executions_closed"
                          " WHERE close_us < ?1 ORDER BY close_us, namespace_id, run_id LIMIT ?2",
    [READER_LEDGER] = "SELECT id, nominal_s, last_nominal_s, at_us, fate, body FROM ledger"
                      " WHERE namespace_id = ?1 AND run_id = ?2 AND id < ?3"
                      " AND last_nominal_s >= ?4 AND nominal_s <= ?5"
                      " AND (?6 = 0 OR ?6 & (1 << fate)) ORDER BY id DESC LIMIT ?7",
    [READER_KEEP] = "BEGIN",
    [READER_REST] = "COMMIT",
    [READER_BACKLOG] = "SELECT number, body FROM backlog"
                       " WHERE namespace_id = ?1 AND lane = ?2 AND number >= ?3 ORDER BY number LIMIT ?4",
};

/* columns */

/* False when the column is not an id: then the file is damaged, whatever its pages say. */
static bool reader_column_uuid(sqlite3_stmt *st, int at, struct uuid *ret) {
    const void *p = sqlite3_column_blob(st, at);
    if (!p || sqlite3_column_bytes(st, at) != (int)sizeof ret->b)
        return false;
    memcpy(ret->b, p, sizeof ret->b);
    return true;
}

static struct str reader_column_bytes(sqlite3_stmt *st, int at) {
    const void *p = sqlite3_column_blob(st, at); /* before the length: it may convert */
    return str_bytes(p, (size_t)sqlite3_column_bytes(st, at));
}

static int64_t reader_column_time(sqlite3_stmt *st, int at) {
    return sqlite3_column_type(st, at) == SQLITE_NULL ? CLOCK_NEVER : sqlite3_column_int64(st, at);
}

static struct ledger_columns reader_column_ledger(sqlite3_stmt *st) {
    return (struct ledger_columns){.id = sqlite3_column_int64(st, 0),
                                   .nominal_s = sqlite3_column_int64(st, 1),
                                   .last_nominal_s = sqlite3_column_int64(st, 2),
                                   .at_us = sqlite3_column_int64(st, 3),
                                   .fate = sqlite3_column_int(st, 4)};
}

static bool reader_fill_row(struct row *row, sqlite3_stmt *st, const struct read *r) {
    *row = (struct row){.namespace_id = r->namespace_id, .due_us = CLOCK_NEVER, .close_us = CLOCK_NEVER};
    switch (r->kind) {
    case READ_NAMESPACES:
    case READ_DEPLOYMENTS:
        row->name = reader_column_bytes(st, 1);
        row->body = reader_column_bytes(st, 2);
        return reader_column_uuid(st, 0, &row->namespace_id);
    case READ_CURRENT:
        row->workflow_id = r->workflow_id;
        return reader_column_uuid(st, 0, &row->run_id);
    case READ_EXECUTION:
        row->run_id = r->run_id;
        row->workflow_id = reader_column_bytes(st, 0);
        row->due_us = reader_column_time(st, 1);
        row->close_us = reader_column_time(st, 2);
        row->is_ready = sqlite3_column_int(st, 3);
        row->body = reader_column_bytes(st, 4);
        return true;
    case READ_HISTORY:
        row->run_id = r->run_id;
        row->first_event_id = sqlite3_column_int64(st, 0);
        row->last_event_id = sqlite3_column_int64(st, 1);
        row->body = reader_column_bytes(st, 2);
        return true;
    case READ_DUE:
        row->due_us = reader_column_time(st, 2);
        row->is_ready = sqlite3_column_int(st, 3);
        row->workflow_id = reader_column_bytes(st, 4);
        return reader_column_uuid(st, 0, &row->namespace_id) && reader_column_uuid(st, 1, &row->run_id);
    case READ_CLOSED:
        row->close_us = reader_column_time(st, 2);
        row->workflow_id = reader_column_bytes(st, 3);
        return reader_column_uuid(st, 0, &row->namespace_id) && reader_column_uuid(st, 1, &row->run_id);
    case READ_LEDGER:
        row->run_id = r->run_id;
        row->ledger = reader_column_ledger(st);
        row->body = reader_column_bytes(st, 5);
        return true;
    case READ_BACKLOG:
        row->backlog = (struct backlog_place){r->backlog.lane, sqlite3_column_int64(st, 0)};
        row->body = reader_column_bytes(st, 1);
        return true;
    case READ_RUNS:
        return reader_column_uuid(st, 0, &row->run_id);
    case READ_VISIBILITY:
    case READ_VISIBILITY_COUNT:
        break;
    }
    ensure(!"a read has a kind");
    return false;
}

/* statements */

static enum reader_stmt reader_statement_for(const struct read *r) {
    switch (r->kind) {
    case READ_NAMESPACES:
        return READER_NAMESPACES;
    case READ_DEPLOYMENTS:
        return READER_DEPLOYMENTS;
    case READ_CURRENT:
        return READER_CURRENT;
    case READ_EXECUTION:
        return READER_EXECUTION;
    case READ_HISTORY:
        return READER_HISTORY;
    case READ_DUE:
        return READER_DUE;
    case READ_CLOSED:
        return uuid_is_zero(r->namespace_id) ? READER_CLOSED_ALL : READER_CLOSED;
    case READ_LEDGER:
        return READER_LEDGER;
    case READ_BACKLOG:
        return READER_BACKLOG;
    case READ_RUNS:
        return READER_RUNS;
    case READ_VISIBILITY:
    case READ_VISIBILITY_COUNT:
        break;
    }
    ensure(!"a read has a kind");
    return READER_STMT_COUNT;
}

static void reader_bind_uuid(sqlite3_stmt *st, int at, const struct uuid *u) {
    sqlite3_bind_blob(st, at, u->b, sizeof u->b, SQLITE_STATIC);
}

static void reader_bind_limit(sqlite3_stmt *st, int at, size_t limit) {
    sqlite3_bind_int64(st, at, (int64_t)MIN(limit, (size_t)INT64_MAX));
}

static void reader_bind_ledger(sqlite3_stmt *st, const struct read *r) {
    reader_bind_uuid(st, 1, &r->namespace_id);
    reader_bind_uuid(st, 2, &r->run_id);
    sqlite3_bind_int64(st, 3, r->ledger.before_id);
    sqlite3_bind_int64(st, 4, r->ledger.from_s);
    sqlite3_bind_int64(st, 5, r->ledger.to_s);
    sqlite3_bind_int64(st, 6, r->ledger.fates);
    reader_bind_limit(st, 7, r->limit);
}

static void reader_bind_due(sqlite3_stmt *st, const struct read *r) {
    static const struct due_place beginning;
    const struct due_place *behind = r->behind ? r->behind : &beginning;
    reader_bind_uuid(st, 1, &behind->namespace_id);
    reader_bind_uuid(st, 2, &behind->run_id);
    reader_bind_limit(st, 3, r->limit ? r->limit : SIZE_MAX);
}

static void reader_bind_closed(sqlite3_stmt *st, const struct read *r) {
    static const struct visibility_place beginning = {.close_us = INT64_MIN};
    const struct visibility_place *after = r->after ? r->after : &beginning;
    sqlite3_bind_int64(st, 1, r->before_us);
    reader_bind_limit(st, 2, r->limit);
    if (uuid_is_zero(r->namespace_id))
        return;
    reader_bind_uuid(st, 3, &r->namespace_id);
    sqlite3_bind_int64(st, 4, after->close_us);
    reader_bind_uuid(st, 5, &after->run_id);
}

static void reader_bind_backlog(sqlite3_stmt *st, const struct read *r) {
    reader_bind_uuid(st, 1, &r->namespace_id);
    sqlite3_bind_int64(st, 2, r->backlog.lane);
    sqlite3_bind_int64(st, 3, r->backlog.number);
    reader_bind_limit(st, 4, r->limit);
}

static void reader_bind_keys(sqlite3_stmt *st, const struct read *r) {
    static const struct uuid nowhere; /* before all runs */
    switch (r->kind) {
    case READ_NAMESPACES:
    case READ_DEPLOYMENTS:
        break;
    case READ_DUE:
        reader_bind_due(st, r);
        break;
    case READ_CURRENT:
        reader_bind_uuid(st, 1, &r->namespace_id);
        sqlite3_bind_text64(st, 2, r->workflow_id.n ? r->workflow_id.p : "", r->workflow_id.n, SQLITE_STATIC,
                            SQLITE_UTF8);
        break;
    case READ_EXECUTION:
        reader_bind_uuid(st, 1, &r->namespace_id);
        reader_bind_uuid(st, 2, &r->run_id);
        break;
    case READ_HISTORY:
        reader_bind_uuid(st, 1, &r->namespace_id);
        reader_bind_uuid(st, 2, &r->run_id);
        sqlite3_bind_int64(st, 3, r->first_event_id);
        sqlite3_bind_int64(st, 4, r->last_event_id);
        break;
    case READ_CLOSED:
        reader_bind_closed(st, r);
        break;
    case READ_LEDGER:
        reader_bind_ledger(st, r);
        break;
    case READ_BACKLOG:
        reader_bind_backlog(st, r);
        break;
    case READ_RUNS:
        reader_bind_uuid(st, 1, &r->namespace_id);
        reader_bind_limit(st, 2, r->limit);
        reader_bind_uuid(st, 3, r->behind ? &r->behind->run_id : &nowhere);
        break;
    case READ_VISIBILITY:
    case READ_VISIBILITY_COUNT:
        break;
    }
}

/* a read */

static int reader_fail_read(struct sqlite_reader *rd, const char *text) {
    struct err e = {0};
    int rc = sqlite_error(rd->db, rd->path, &e);
    log_emit(rd->log, LOG_store_failed, log_str("what", "read"), log_str("text", text ? text : e.text));
    return text || rc == ERR_STORE_CORRUPT ? ERR_STORE_CORRUPT : ERR_STORE_IO;
}

static int reader_read_rows(struct sqlite_reader *rd, sqlite3_stmt *st, struct read *r) {
    size_t bytes = 0;
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct row row;
        if (!reader_fill_row(&row, st, r))
            return reader_fail_read(rd, "A row has no valid id. Restore the data file from a backup.");
        bytes += row.body.n;
        r->row(r, &row);
        if ((r->kind == READ_HISTORY || r->kind == READ_LEDGER) && r->bytes_max && bytes >= r->bytes_max)
            return 0;
    }
    return rc == SQLITE_DONE ? 0 : reader_fail_read(rd, NULL);
}

/* In memory the writer cannot write while the mutex is held, so several statements read one state. */
static bool reader_is_shared(const struct sqlite_reader *rd) {
    return sqlite3_db_mutex(rd->db) != NULL;
}

static void reader_pass_row(void *ctx, const struct row *row) {
    struct read *r = ctx;
    r->row(r, row);
}

/* A row's callback may read in turn; when it asks the same question, the kept statement is
 * busy and a second one is made for it. */
static int reader_read_all(struct sqlite_reader *rd, struct read *r) {
    if (r->kind == READ_VISIBILITY || r->kind == READ_VISIBILITY_COUNT)
        return sqlite_read_visibility(rd->db, r, reader_is_shared(rd), reader_pass_row, r) == SQLITE_DONE
                   ? 0
                   : reader_fail_read(rd, NULL);
    enum reader_stmt i = reader_statement_for(r);
    sqlite3_stmt *st = rd->stmts[i], *extra = NULL;
    if (sqlite3_stmt_busy(st)) {
        if (sqlite3_prepare_v2(rd->db, reader_sql[i], -1, &extra, NULL) != SQLITE_OK)
            return reader_fail_read(rd, NULL);
        st = extra;
    }
    reader_bind_keys(st, r);
    int rc = reader_read_rows(rd, st, r);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st); /* they point to the caller's bytes */
    sqlite3_finalize(extra);
    return rc;
}

static bool reader_has_snapshot(const struct sqlite_reader *rd) {
    return rd->checkpoint && !sqlite3_get_autocommit(rd->db);
}

/* Whether a state is kept only changes what reads cost: when it cannot be begun, each read has its own. */
static void reader_begin_snapshot(struct sqlite_reader *rd) {
    if (!rd->checkpoint || reader_has_snapshot(rd) || rd->checkpoint->is_log_long)
        return;
    (void)sqlite3_step(rd->stmts[READER_KEEP]);
    sqlite3_reset(rd->stmts[READER_KEEP]);
}

void sqlite_reader_end_snapshot(struct sqlite_reader *rd) {
    if (!reader_has_snapshot(rd))
        return;
    int rc = sqlite3_step(rd->stmts[READER_REST]);
    sqlite3_reset(rd->stmts[READER_REST]);
    ensure(rc == SQLITE_DONE); /* nothing was written, so nothing can fail */
}

void sqlite_reader_read(struct sqlite_reader *rd, struct read *r) {
    sqlite3_mutex *turn = sqlite3_db_mutex(rd->db);
    sqlite3_mutex_enter(turn);
    reader_begin_snapshot(rd);
    int rc = reader_read_all(rd, r);
    if (rd->checkpoint && rd->checkpoint->is_log_long)
        sqlite_reader_end_snapshot(rd);
    sqlite3_mutex_leave(turn);
    r->done(r, rc);
}

int sqlite_reader_start(struct sqlite_reader *rd, sqlite3 *db, const struct sqlite_checkpoint *checkpoint,
                        const char *path, struct log *log, struct err *reterr) {
    rd->db = db;
    rd->checkpoint = checkpoint;
    rd->path = path;
    rd->log = log;
    for (int i = 0; i < READER_STMT_COUNT; i++) {
        int rc = sqlite_prepare(db, path, reader_sql[i], &rd->stmts[i], reterr);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void sqlite_reader_stop(struct sqlite_reader *rd) {
    for (int i = 0; i < READER_STMT_COUNT; i++)
        sqlite3_finalize(rd->stmts[i]);
}
