/* The writer thread: makes batches durable, as many as are waiting with one sync.
 *
 * The happy path: sleep until a batch is handed over; take all that wait;
 * BEGIN IMMEDIATE, their writes in order, COMMIT, which is one sync of the
 * log; put them on the durable list; wake the loop. While this commit is under
 * way the next batches gather, so the group grows by itself when the disk is
 * slow. The queue needs no bound of its own: the engine hands over at most a
 * few batches before it waits for the first.
 *
 * Failure: any error in here means that the promise "durable, or the process
 * ends" can only be kept by ending it. A commit is never tried again: after a
 * failed sync the content of the disk is unknown; recovery at the next open finds it. */
#include "store/sqlite/sqlite_int.h"

#include <signal.h>

#include "base/clock.h"

static const char *const writer_sql[WRITER_STMT_COUNT] = {
    [WRITER_BEGIN] = "BEGIN IMMEDIATE",
    [WRITER_COMMIT] = "COMMIT",
    [WRITER_NAMESPACE] = "INSERT INTO namespaces (namespace_id, name, body) VALUES (?1, ?2, ?3)"
                         " ON CONFLICT (namespace_id) DO UPDATE SET name = ?2, body = ?3",
    [WRITER_NAMESPACE_GONE] = "DELETE FROM namespaces WHERE namespace_id = ?1",
    [WRITER_EXECUTION] =
        "INSERT INTO executions (namespace_id, run_id, workflow_id, status, due_us, close_us, ready, state"
#define COLUMN(name, column, number)
#define MOVING(name, column, number) ", " #column
#include "store/sqlite/columns.def"
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
#define MOVING(name, column, number) ", ?" #number
#include "store/sqlite/columns.def"
        ")",
    [WRITER_EXECUTION_MOVE] = "UPDATE executions SET workflow_id = ?3, status = ?4, due_us = ?5,"
                              " close_us = ?6, ready = ?7, state = ?8"
#define MOVING(name, column, number) ", " #column " = ?" #number
#include "store/sqlite/columns.def"
                              " WHERE namespace_id = ?1 AND run_id = ?2",
    /* Most steps change the state of a run and nothing that an index holds; with the due time in SET, SQLite
     * would take the row out of each of them and put it back. */
    [WRITER_STATE] = "UPDATE executions SET status = ?4, state = ?8"
#define MOVING(name, column, number) ", " #column " = ?" #number
#include "store/sqlite/columns.def"
#undef COLUMN
                     " WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_EXECUTION_GONE] = "DELETE FROM executions WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_HISTORY_GONE] = "DELETE FROM history WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_HISTORY_SIZE] = "SELECT count(*), sum(size) FROM (SELECT length(events) AS size FROM history"
                            " WHERE namespace_id = ?1 AND run_id = ?2 LIMIT ?3)",
    [WRITER_HISTORY_PART] = "DELETE FROM history WHERE rowid IN (SELECT rowid FROM history"
                            " WHERE namespace_id = ?1 AND run_id = ?2 ORDER BY first_event_id LIMIT ?3)",
    [WRITER_REMAINS] = "INSERT OR IGNORE INTO remains (namespace_id, run_id) VALUES (?1, ?2)",
    [WRITER_REMAINS_FIRST] = "SELECT namespace_id, run_id FROM remains LIMIT 1",
    [WRITER_REMAINS_GONE] = "DELETE FROM remains WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_FREE_PAGES] = "PRAGMA freelist_count",
    [WRITER_PAGES] = "PRAGMA page_count",
    [WRITER_VACUUM_MODE] = "PRAGMA auto_vacuum",
    [WRITER_SHRINK] = "PRAGMA incremental_vacuum(128)",
    [WRITER_CURRENT] = "INSERT INTO current_runs (namespace_id, workflow_id, run_id) VALUES (?1, ?2, ?3)"
                       " ON CONFLICT (namespace_id, workflow_id) DO UPDATE SET run_id = ?3",
    [WRITER_CURRENT_GONE] = "DELETE FROM current_runs WHERE namespace_id = ?1 AND workflow_id = ?2",
    [WRITER_DEPLOYMENT] = "INSERT INTO deployments (namespace_id, name, body) VALUES (?1, ?2, ?3)"
                          " ON CONFLICT (namespace_id, name) DO UPDATE SET body = ?3",
    [WRITER_DEPLOYMENT_GONE] = "DELETE FROM deployments WHERE namespace_id = ?1 AND name = ?2",
    [WRITER_HISTORY] = "INSERT INTO history (namespace_id, run_id, first_event_id, last_event_id, events)"
                       " VALUES (?1, ?2, ?3, ?4, ?5)",
    [WRITER_ENTRY] = sqlite_entry_insert_sql,
    [WRITER_ENTRY_MOVE] = sqlite_entry_move_sql,
    [WRITER_ENTRY_REFRESH] = sqlite_entry_refresh_sql,
    [WRITER_ENTRY_CLOSE] = sqlite_entry_close_sql,
    [WRITER_ENTRY_GONE] = "DELETE FROM visibility WHERE namespace_id = ?1 AND run_id = ?2",
    /* A value that stands in a list twice is one row. */
    [WRITER_ATTRIBUTE] =
        "INSERT OR IGNORE INTO visibility_attributes"
        " (namespace_id, run_id, close_ns, start_ns, name, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [WRITER_ATTRIBUTE_GONE] = "DELETE FROM visibility_attributes WHERE namespace_id = ?1 AND run_id = ?2"
                              " AND name = ?3 AND value = ?4 AND close_ns = ?5 AND start_ns = ?6",
    [WRITER_ATTRIBUTES_OF] = "SELECT name, value, close_ns, start_ns FROM visibility_attributes"
                             " WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_ATTRIBUTES_GONE] = "DELETE FROM visibility_attributes WHERE namespace_id = ?1 AND run_id = ?2",
    [WRITER_LEDGER] =
        "INSERT INTO ledger (namespace_id, run_id, id, nominal_s, last_nominal_s, at_us, fate, body)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (namespace_id, run_id, id) DO UPDATE SET nominal_s = ?4, last_nominal_s = ?5,"
        " at_us = ?6, fate = ?7, body = ?8",
    [WRITER_LEDGER_GONE] = "DELETE FROM ledger WHERE namespace_id = ?1 AND run_id = ?2",
    /* 9223372036854775807 is LEDGER_OPEN. */
    [WRITER_LEDGER_BELOW] = "DELETE FROM ledger WHERE namespace_id = ?1 AND run_id = ?2 AND id < ?3"
                            " AND at_us <> 9223372036854775807",
    [WRITER_LEDGER_BEFORE] = "DELETE FROM ledger WHERE namespace_id = ?1 AND run_id = ?2 AND at_us < ?3",
    [WRITER_BACKLOG] = "INSERT INTO backlog (namespace_id, lane, number, body) VALUES (?1, ?2, ?3, ?4)"
                       " ON CONFLICT (namespace_id, lane, number) DO UPDATE SET body = ?4",
    [WRITER_BACKLOG_GONE] =
        "DELETE FROM backlog WHERE namespace_id = ?1 AND lane = ?2 AND number >= ?3 AND number < ?4",
    [WRITER_BACKLOG_EMPTY] = "DELETE FROM backlog",
};

/* one write */

/* The values stay in the batch until the statement has run, so nothing is copied. Binding
 * fails only for an index out of range or a value beyond a gigabyte; the step then finds
 * a NULL where none is allowed. */
static void writer_bind_uuid(sqlite3_stmt *st, int at, const struct uuid *u) {
    sqlite3_bind_blob(st, at, u->b, sizeof u->b, SQLITE_STATIC);
}

static void writer_bind_text(sqlite3_stmt *st, int at, struct str s) {
    sqlite3_bind_text64(st, at, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void writer_bind_blob(sqlite3_stmt *st, int at, struct str s) {
    sqlite3_bind_blob64(st, at, s.n ? s.p : "", s.n, SQLITE_STATIC);
}

static void writer_bind_time(sqlite3_stmt *st, int at, int64_t us) {
    if (us == CLOCK_NEVER)
        sqlite3_bind_null(st, at);
    else
        sqlite3_bind_int64(st, at, us);
}

static bool writer_run_statement(sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    sqlite3_reset(st); /* repeats the error of the step */
    return rc == SQLITE_DONE;
}

static bool writer_run_execution(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_uuid(st, 2, &x->run_id);
    writer_bind_text(st, 3, x->workflow_id);
    sqlite3_bind_int(st, 4, x->status);
    writer_bind_time(st, 5, x->due_us);
    writer_bind_time(st, 6, x->close_us);
    sqlite3_bind_int(st, 7, x->is_ready);
    writer_bind_blob(st, 8, x->body);
    sqlite_entry_bind_moving(st, x);
    return writer_run_statement(st);
}

static bool writer_write_execution(struct sqlite_writer *w, const struct write *x) {
    if (x->is_in_place)
        return writer_run_execution(w->stmts[WRITER_STATE], x) && sqlite3_changes(w->db) == 1;
    if (!writer_run_execution(w->stmts[WRITER_EXECUTION_MOVE], x))
        return false;
    return sqlite3_changes(w->db) == 1 || writer_run_execution(w->stmts[WRITER_EXECUTION], x);
}

static bool writer_write_history(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_uuid(st, 2, &x->run_id);
    sqlite3_bind_int64(st, 3, x->first_event_id);
    sqlite3_bind_int64(st, 4, x->last_event_id);
    writer_bind_blob(st, 5, x->body);
    return writer_run_statement(st);
}

static bool writer_write_ledger(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_uuid(st, 2, &x->run_id);
    sqlite3_bind_int64(st, 3, x->ledger.id);
    sqlite3_bind_int64(st, 4, x->ledger.nominal_s);
    sqlite3_bind_int64(st, 5, x->ledger.last_nominal_s);
    sqlite3_bind_int64(st, 6, x->ledger.at_us);
    sqlite3_bind_int(st, 7, x->ledger.fate);
    writer_bind_blob(st, 8, x->body);
    return writer_run_statement(st);
}

static bool writer_trim_ledger(sqlite3_stmt *st, const struct write *x, int64_t limit) {
    if (limit == 0)
        return true;
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_uuid(st, 2, &x->run_id);
    sqlite3_bind_int64(st, 3, limit);
    return writer_run_statement(st);
}

static void writer_bind_lane(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    sqlite3_bind_int64(st, 2, x->backlog.lane);
    sqlite3_bind_int64(st, 3, x->backlog.number);
}

static bool writer_write_backlog(sqlite3_stmt *st, const struct write *x) {
    writer_bind_lane(st, x);
    writer_bind_blob(st, 4, x->body);
    return writer_run_statement(st);
}

static bool writer_trim_backlog(sqlite3_stmt *st, const struct write *x) {
    writer_bind_lane(st, x);
    sqlite3_bind_int64(st, 4, x->backlog_end);
    return writer_run_statement(st);
}

/* A namespace or a deployment. */
static bool writer_write_named(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_text(st, 2, x->name);
    writer_bind_blob(st, 3, x->body);
    return writer_run_statement(st);
}

static bool writer_remove_namespace(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    return writer_run_statement(st);
}

static bool writer_write_current(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_text(st, 2, x->workflow_id);
    writer_bind_uuid(st, 3, &x->run_id);
    return writer_run_statement(st);
}

static bool writer_remove_current(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_text(st, 2, x->workflow_id);
    return writer_run_statement(st);
}

static bool writer_remove_deployment(sqlite3_stmt *st, const struct write *x) {
    writer_bind_uuid(st, 1, &x->namespace_id);
    writer_bind_text(st, 2, x->name);
    return writer_run_statement(st);
}

static bool writer_write_one(struct sqlite_writer *w, const struct write *x) {
    switch (x->kind) {
    case WRITE_NAMESPACE:
        return writer_write_named(w->stmts[WRITER_NAMESPACE], x);
    case WRITE_NAMESPACE_GONE:
        return writer_remove_namespace(w->stmts[WRITER_NAMESPACE_GONE], x);
    case WRITE_EXECUTION:
        return writer_write_execution(w, x);
    case WRITE_EXECUTION_GONE:
        return sqlite_removal_run(w, x);
    case WRITE_VISIBILITY:
        return sqlite_entry_write(w, x);
    case WRITE_CURRENT:
        return writer_write_current(w->stmts[WRITER_CURRENT], x);
    case WRITE_CURRENT_GONE:
        return writer_remove_current(w->stmts[WRITER_CURRENT_GONE], x);
    case WRITE_DEPLOYMENT:
        return writer_write_named(w->stmts[WRITER_DEPLOYMENT], x);
    case WRITE_DEPLOYMENT_GONE:
        return writer_remove_deployment(w->stmts[WRITER_DEPLOYMENT_GONE], x);
    case WRITE_HISTORY:
        return writer_write_history(w->stmts[WRITER_HISTORY], x);
    case WRITE_LEDGER:
        return writer_write_ledger(w->stmts[WRITER_LEDGER], x);
    case WRITE_LEDGER_GONE:
        return writer_trim_ledger(w->stmts[WRITER_LEDGER_BELOW], x, x->ledger.id) &&
               writer_trim_ledger(w->stmts[WRITER_LEDGER_BEFORE], x, x->ledger.at_us);
    case WRITE_BACKLOG:
        return writer_write_backlog(w->stmts[WRITER_BACKLOG], x);
    case WRITE_BACKLOG_GONE:
        return writer_trim_backlog(w->stmts[WRITER_BACKLOG_GONE], x);
    case WRITE_BACKLOG_EMPTY:
        return writer_run_statement(w->stmts[WRITER_BACKLOG_EMPTY]);
    }
    ensure(!"a write has a kind");
    return false;
}

/* a group */

static noreturn_fn void writer_fail(struct sqlite_writer *w, const char *what) {
    sqlite_fail(w->db, w->path, w->options, what);
}

static void writer_commit_group(struct sqlite_writer *w, const struct list *group) {
    sqlite3_mutex *turn = sqlite3_db_mutex(w->db);
    sqlite3_mutex_enter(turn);
    if (!writer_run_statement(w->stmts[WRITER_BEGIN]))
        writer_fail(w, "begin");
    sqlite_busy_got_turn(&w->busy);
    sqlite_removal_begin(w);
    if (!sqlite_bulk_begin(&w->bulk, group))
        writer_fail(w, "write");
    list_for(group, n) {
        const struct batch *b = container_of(n, struct batch, link);
        for (const struct write *x = b->first; x; x = x->next)
            if (!sqlite_bulk_takes(&w->bulk, x) && !writer_write_one(w, x))
                writer_fail(w, "write");
    }
    sqlite_bulk_end(&w->bulk);
    if (!sqlite_removal_continue(w))
        writer_fail(w, "write");
    if (!writer_run_statement(w->stmts[WRITER_COMMIT]))
        writer_fail(w, "commit");
    sqlite3_mutex_leave(turn);
}

/* Between commits: what is left of runs that are gone, then the space that they had. */
static void writer_do_upkeep(struct sqlite_writer *w) {
    struct list none;
    list_init(&none);
    if (w->removal.has_remains)
        writer_commit_group(w, &none);
    else if (!sqlite_removal_shrink(w))
        writer_fail(w, "shrink");
}

static int writer_after_commit(void *ctx, sqlite3 *db unused_arg, const char *name unused_arg,
                               int log_pages) {
    struct sqlite_writer *w = ctx;
    w->log_pages = log_pages;
    return SQLITE_OK;
}

/* the thread */

static void writer_move_all(struct list *from, struct list *to) {
    for (struct list *n; (n = list_pop(from));)
        list_append(to, n);
}

/* With the lock held. */
static bool writer_take_look(struct sqlite_writer *w) {
    bool is_due = w->is_look_due;
    w->is_look_due = false;
    if (is_due) {
        pthread_mutex_unlock(&w->lock);
        sqlite_removal_count_check(w);
        if (w->watch)
            sqlite_watch_check_all(w->watch, w->db);
        pthread_mutex_lock(&w->lock);
    }
    return is_due;
}

/* With the lock held. */
static bool writer_take_upkeep(struct sqlite_writer *w) {
    bool is_due = list_empty(&w->waiting) && !w->is_stopping && sqlite_removal_is_due(w);
    if (is_due) {
        pthread_mutex_unlock(&w->lock);
        writer_do_upkeep(w);
        if (w->checkpoint)
            sqlite_checkpoint_after(w->checkpoint, w->db, w->log_pages);
        pthread_mutex_lock(&w->lock);
    }
    return is_due;
}

static void *writer_main(void *ctx) {
    struct sqlite_writer *w = ctx;
    struct list group;
    list_init(&group);
    pthread_mutex_lock(&w->lock);
    for (;;) {
        while (list_empty(&w->waiting) && !w->is_stopping && !w->is_look_due && !sqlite_removal_is_due(w))
            pthread_cond_wait(&w->has_work, &w->lock);
        if (writer_take_look(w) || writer_take_upkeep(w))
            continue;
        if (list_empty(&w->waiting))
            break;
        writer_move_all(&w->waiting, &group);
        w->is_writing = true;
        pthread_mutex_unlock(&w->lock);

        writer_commit_group(w, &group);
        if (w->watch) /* what cannot be found again must not be announced */
            sqlite_watch_check_file(w->watch, w->db);

        pthread_mutex_lock(&w->lock);
        writer_move_all(&group, &w->durable);
        w->is_writing = false;
        pthread_cond_signal(&w->announced);
        pthread_mutex_unlock(&w->lock);

        w->options->wake(w->options->wake_ctx);
        if (w->checkpoint)
            sqlite_checkpoint_after(w->checkpoint, w->db, w->log_pages);
        pthread_mutex_lock(&w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Signals are for the loop's thread. */
static int writer_start_thread(struct sqlite_writer *w, struct err *reterr) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&w->thread, NULL, writer_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return err_set(reterr, ERR_STORE_IO, "Cannot start the store's thread: %s.", strerror(error));
    w->has_thread = true;
    (void)pthread_setname_np(w->thread, "store"); /* only for people who look */
    return 0;
}

int sqlite_writer_start(struct sqlite_writer *w, sqlite3 *db, struct sqlite_checkpoint *checkpoint,
                        const struct sqlite_watch *watch, const char *path, const struct sqlite_options *o,
                        struct err *reterr) {
    w->db = db;
    w->checkpoint = checkpoint;
    w->watch = watch;
    w->path = path;
    w->options = o;
    list_init(&w->waiting);
    list_init(&w->durable);
    int rc = sqlite_bulk_start(&w->bulk, db, path, reterr);
    for (int i = 0; rc == 0 && i < WRITER_STMT_COUNT; i++)
        rc = sqlite_prepare(db, path, writer_sql[i], &w->stmts[i], reterr);
    if (rc < 0)
        return rc;
    if (sqlite_removal_start(w) < 0)
        return sqlite_error(db, path, reterr);
    sqlite_busy_start(&w->busy, db, path, o->log);
    sqlite3_wal_hook(db, writer_after_commit, w); /* also switches SQLite's own checkpoints off */
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->has_work, NULL);
    pthread_cond_init(&w->announced, NULL);
    return writer_start_thread(w, reterr);
}

/* the loop's side */

void sqlite_writer_add(struct sqlite_writer *w, struct batch *b) {
    pthread_mutex_lock(&w->lock);
    list_append(&w->waiting, &b->link);
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
}

void sqlite_writer_ask_check(struct sqlite_writer *w) {
    pthread_mutex_lock(&w->lock);
    w->is_look_due = true;
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
}

void sqlite_writer_collect(struct sqlite_writer *w) {
    struct list durable;
    list_init(&durable);
    pthread_mutex_lock(&w->lock);
    writer_move_all(&w->durable, &durable);
    pthread_mutex_unlock(&w->lock);
    for (struct list *n; (n = list_pop(&durable));) {
        struct batch *b = container_of(n, struct batch, link);
        b->done(b);
    }
}

/* True when batches can be collected, false when none is left anywhere. */
static bool writer_wait_durable(struct sqlite_writer *w) {
    pthread_mutex_lock(&w->lock);
    while (list_empty(&w->durable) && (w->is_writing || !list_empty(&w->waiting)))
        pthread_cond_wait(&w->announced, &w->lock);
    bool has_durable = !list_empty(&w->durable);
    pthread_mutex_unlock(&w->lock);
    return has_durable;
}

static void writer_join_thread(struct sqlite_writer *w) {
    sqlite_busy_close(&w->busy);
    while (writer_wait_durable(w)) /* what `done` commits is waited for too */
        sqlite_writer_collect(w);
    pthread_mutex_lock(&w->lock);
    w->is_stopping = true;
    pthread_cond_signal(&w->has_work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->announced);
    pthread_cond_destroy(&w->has_work);
    pthread_mutex_destroy(&w->lock);
}

void sqlite_writer_stop(struct sqlite_writer *w) {
    if (w->has_thread)
        writer_join_thread(w);
    for (int i = 0; i < WRITER_STMT_COUNT; i++)
        sqlite3_finalize(w->stmts[i]);
    sqlite_bulk_stop(&w->bulk);
}
