/* The mark by which a copy of the file without its log is known.
 *
 * While a server runs, the last changes are in the log beside the file. A copy of the file alone would open
 * as what the file held when the server started, or as an empty one. So each start gives the file a mark, a
 * negative version of the schema, and takes it back in the log. A file with the mark and an empty log was
 * copied, and is refused. The mark is gone when the log is moved into the file: a copy that is made later is
 * an older state, as a backup is. Whatever reads the log too, such as SQLite's own backup, never sees the
 * mark.
 *
 * A log must not start over while the file has the mark: a crash in that moment would look like such a copy.
 * SQLite does not let it while another connection reads a state in the log, so one does until the mark is
 * taken back. Nothing is acknowledged before. A start that fails in between leaves the log as it is.
 *
 * While another program reads an older state, the mark cannot be moved into the file. Then it has no effect.
 */
#include "store/sqlite/sqlite_int.h"

#include <stdio.h>

#define SQL_MAX 64

static int mark_set_version(sqlite3 *db, const char *path, int64_t version, struct err *reterr) {
    char sql[SQL_MAX];
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %lld", (long long)version);
    return sqlite_exec(db, path, sql, reterr);
}

static void mark_keep_log_on_close(sqlite3 *db, bool is_kept) {
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_kept, NULL);
}

/* Reads a state in the log from now on. */
static int mark_hold_log(struct sqlite_mark *m, sqlite3 *db, const char *path, struct err *reterr) {
    mark_keep_log_on_close(db, true);
    if (sqlite3_open_v2(path, &m->reader, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK)
        return m->reader ? sqlite_error(m->reader, path, reterr) : err_std(reterr, ERR_NO_MEMORY);
    return sqlite_exec(m->reader, path, "BEGIN; SELECT count(*) FROM sqlite_schema", reterr);
}

static int mark_move_log(sqlite3 *db, const char *path, int *ret_pages, struct err *reterr) {
    int rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, ret_pages, NULL);
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY ? 0 : sqlite_error(db, path, reterr);
}

int sqlite_mark_found(struct sqlite_mark *m, sqlite3 *db, const char *path, bool *ret_has_log,
                      struct err *reterr) {
    int pages = 0;
    int rc = mark_hold_log(m, db, path, reterr);
    if (rc == 0)
        rc = mark_move_log(db, path, &pages, reterr);
    *ret_has_log = pages > 0;
    return rc;
}

int sqlite_mark_set(struct sqlite_mark *m, sqlite3 *db, const char *path, struct err *reterr) {
    int rc = 0;
    if (!m->reader) { /* else the file has it already */
        mark_keep_log_on_close(db, true);
        rc = mark_set_version(db, path, -STORE_SCHEMA_VERSION, reterr);
        if (rc == 0)
            rc = mark_hold_log(m, db, path, reterr);
        if (rc == 0)
            rc = mark_move_log(db, path, NULL, reterr);
    }
    if (rc == 0)
        rc = mark_set_version(db, path, STORE_SCHEMA_VERSION, reterr);
    if (rc == 0)
        mark_keep_log_on_close(db, false);
    return rc;
}

void sqlite_mark_done(struct sqlite_mark *m) {
    sqlite3_close(m->reader);
    m->reader = NULL;
}
