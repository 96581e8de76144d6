/* Removing runs, and giving their space back.
 *
 * A run goes with its commit: from then on no read finds it. Its history may be tens of thousands of rows, or
 * many megabytes, and a commit that removed all of that would hold up everything behind it. So a commit
 * removes a bounded part of histories. A run of which something is left gets a row in `remains`; the commits
 * after it, and the time between them, remove the rest. A start goes on with the rows that it finds.
 *
 * Pages that became free are used again first. Only when a large part of the file is free, no run was removed
 * for a while, and nothing waits to be committed, the file is made shorter, a few pages at a time: each of
 * them is a page from the end of the file that moves to a free place. A file that was made before schema 7
 * and was too large to be converted keeps its length, and its free pages.
 *
 * Failure ends the process, as every failure to write does. */
#include "store/sqlite/sqlite_int.h"

#define PART_ROWS 64 /* of a history, looked at and removed at a time */
#define COMMIT_ROWS 2000 /* of all histories, that one commit removes */
#define COMMIT_BYTES (8 << 20)

#define FREE_PAGES_MIN 1024 /* fewer are not worth it: 4 MiB */
#define FREE_SHARE 8 /* of the file that may be free: they will be used again */
#define CALM_LOOKS 2 /* before the file is made shorter: what is about to be removed need not be moved */

static void removal_bind_key(sqlite3_stmt *st, const struct uuid *namespace_id, const struct uuid *run_id) {
    sqlite3_bind_blob(st, 1, namespace_id->b, sizeof namespace_id->b, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, run_id->b, sizeof run_id->b, SQLITE_STATIC);
}

/* Rows of no interest are passed over: a vacuum answers with one for each page. */
static bool removal_step_all(sqlite3_stmt *st) {
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        continue;
    sqlite3_reset(st); /* repeats the error of the step */
    return rc == SQLITE_DONE;
}

static bool removal_step_key(sqlite3_stmt *st, const struct uuid *namespace_id, const struct uuid *run_id) {
    removal_bind_key(st, namespace_id, run_id);
    return removal_step_all(st);
}

static bool removal_step_number(sqlite3_stmt *st, int64_t *ret) {
    bool is_ok = sqlite3_step(st) == SQLITE_ROW;
    *ret = is_ok ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return is_ok;
}

/* histories */

static bool removal_measure(struct sqlite_writer *w, const struct uuid *namespace_id,
                            const struct uuid *run_id, int64_t *ret_rows, int64_t *ret_bytes) {
    sqlite3_stmt *st = w->stmts[WRITER_HISTORY_SIZE];
    removal_bind_key(st, namespace_id, run_id);
    sqlite3_bind_int(st, 3, PART_ROWS);
    bool is_ok = sqlite3_step(st) == SQLITE_ROW;
    *ret_rows = is_ok ? sqlite3_column_int64(st, 0) : 0;
    *ret_bytes = is_ok ? sqlite3_column_int64(st, 1) : 0;
    sqlite3_reset(st);
    return is_ok;
}

static bool removal_remove_part(struct sqlite_writer *w, const struct uuid *namespace_id,
                                const struct uuid *run_id, bool is_all) {
    sqlite3_stmt *st = w->stmts[is_all ? WRITER_HISTORY_GONE : WRITER_HISTORY_PART];
    if (!is_all)
        sqlite3_bind_int(st, 3, PART_ROWS);
    return removal_step_key(st, namespace_id, run_id);
}

static bool removal_is_spent(const struct sqlite_removal *r) {
    return r->rows >= COMMIT_ROWS || r->bytes >= COMMIT_BYTES;
}

/* *ret_is_gone: false when this commit has removed enough and something is left. */
static bool removal_remove_history(struct sqlite_writer *w, const struct uuid *namespace_id,
                                   const struct uuid *run_id, bool *ret_is_gone) {
    struct sqlite_removal *r = &w->removal;
    int64_t rows = PART_ROWS, bytes = 0;
    *ret_is_gone = false;
    while (rows == PART_ROWS) {
        if (!removal_measure(w, namespace_id, run_id, &rows, &bytes))
            return false;
        if (rows && removal_is_spent(r))
            return true;
        if (rows && !removal_remove_part(w, namespace_id, run_id, rows < PART_ROWS))
            return false;
        r->rows += rows;
        r->bytes += bytes;
    }
    *ret_is_gone = true;
    return true;
}

bool sqlite_removal_run(struct sqlite_writer *w, const struct write *x) {
    static const enum writer_stmt parts[] = {WRITER_EXECUTION_GONE, WRITER_ENTRY_GONE, WRITER_ATTRIBUTES_GONE,
                                             WRITER_LEDGER_GONE};
    bool is_gone;
    w->removal.may_be_free = true;
    w->removal.calm_looks = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!removal_step_key(w->stmts[parts[i]], &x->namespace_id, &x->run_id))
            return false;
    if (!removal_remove_history(w, &x->namespace_id, &x->run_id, &is_gone))
        return false;
    if (is_gone)
        return true;
    w->removal.has_remains = true;
    return removal_step_key(w->stmts[WRITER_REMAINS], &x->namespace_id, &x->run_id);
}

/* False: there is none. */
static bool removal_first_remains(struct sqlite_writer *w, struct uuid *ret_namespace, struct uuid *ret_run) {
    sqlite3_stmt *st = w->stmts[WRITER_REMAINS_FIRST];
    bool has_one = sqlite3_step(st) == SQLITE_ROW && sqlite3_column_bytes(st, 0) == sizeof ret_namespace->b &&
                   sqlite3_column_bytes(st, 1) == sizeof ret_run->b;
    if (has_one) {
        memcpy(ret_namespace->b, sqlite3_column_blob(st, 0), sizeof ret_namespace->b);
        memcpy(ret_run->b, sqlite3_column_blob(st, 1), sizeof ret_run->b);
    }
    sqlite3_reset(st);
    return has_one;
}

bool sqlite_removal_continue(struct sqlite_writer *w) {
    struct sqlite_removal *r = &w->removal;
    struct uuid namespace_id, run_id;
    while (r->has_remains && !removal_is_spent(r)) {
        bool is_gone;
        r->has_remains = removal_first_remains(w, &namespace_id, &run_id);
        if (!r->has_remains)
            return true;
        if (!removal_remove_history(w, &namespace_id, &run_id, &is_gone))
            return false;
        if (is_gone && !removal_step_key(w->stmts[WRITER_REMAINS_GONE], &namespace_id, &run_id))
            return false;
    }
    return true;
}

void sqlite_removal_begin(struct sqlite_writer *w) {
    w->removal.rows = w->removal.bytes = 0;
}

/* space */

/* Whether so much is free that the file should become shorter. */
static bool removal_has_excess(struct sqlite_writer *w, bool *ret) {
    int64_t free_pages, pages;
    if (!removal_step_number(w->stmts[WRITER_FREE_PAGES], &free_pages) ||
        !removal_step_number(w->stmts[WRITER_PAGES], &pages))
        return false;
    *ret = free_pages > MAX(FREE_PAGES_MIN, pages / FREE_SHARE);
    return true;
}

/* The file becomes shorter when the log is moved. */
static void removal_end_shrink(struct sqlite_writer *w) {
    if (w->removal.has_shrunk && w->checkpoint)
        sqlite_checkpoint_now(w->checkpoint, w->db);
    w->removal.has_shrunk = w->removal.may_be_free = false;
}

bool sqlite_removal_shrink(struct sqlite_writer *w) {
    bool is_excess = false;
    if (!removal_has_excess(w, &is_excess))
        return false;
    if (!is_excess) {
        removal_end_shrink(w);
        return true;
    }
    w->removal.has_shrunk = true;
    return removal_step_all(w->stmts[WRITER_SHRINK]);
}

void sqlite_removal_count_check(struct sqlite_writer *w) {
    w->removal.calm_looks = MIN(w->removal.calm_looks + 1, CALM_LOOKS);
}

bool sqlite_removal_is_due(const struct sqlite_writer *w) {
    const struct sqlite_removal *r = &w->removal;
    return r->has_remains || (r->can_shrink && r->may_be_free && r->calm_looks == CALM_LOOKS);
}

int sqlite_removal_start(struct sqlite_writer *w) {
    int64_t mode = 0;
    if (!removal_step_number(w->stmts[WRITER_VACUUM_MODE], &mode))
        return ERR_STORE_IO;
    w->removal = (struct sqlite_removal){.has_remains = true, .may_be_free = true, .can_shrink = mode == 2};
    return 0;
}
