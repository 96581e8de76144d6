/* Questions to the file, through a connection that no test disturbs. */
#include "audit.h"

#include <sqlite3.h>
#include <stdio.h>

#include "harness.h"

#define PRIME UINT64_C(0x100000001b3)

static sqlite3 *open_plain(const char *path) {
    sqlite3 *db;
    ensure(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, "unix") == SQLITE_OK);
    return db;
}

static uint64_t add_bytes(uint64_t h, const void *p, int n) {
    for (int i = 0; i < n; i++)
        h = (h ^ ((const uint8_t *)p)[i]) * PRIME;
    return (h ^ (uint64_t)n) * PRIME;
}

static uint64_t add_rows(sqlite3 *db, uint64_t h, const char *sql) {
    sqlite3_stmt *st;
    int rc;
    if (!CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK))
        return h;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(st); i++) {
            h = (h ^ (uint64_t)sqlite3_column_type(st, i)) * PRIME;
            const void *bytes = sqlite3_column_blob(st, i);
            h = add_bytes(h, bytes, sqlite3_column_bytes(st, i));
        }
    CHECK_INT(rc, SQLITE_DONE);
    sqlite3_finalize(st);
    return h;
}

/* All there are. */
static const char *const tables[] = {
    "SELECT * FROM namespaces ORDER BY 1",
    "SELECT * FROM executions ORDER BY 1, 2",
    "SELECT * FROM current_runs ORDER BY 1, 2",
    "SELECT * FROM history ORDER BY 1, 2, 3",
    "SELECT * FROM visibility ORDER BY 1, 2",
    "SELECT * FROM visibility_attributes ORDER BY 1, 2, 3, 4, 5, 6",
    "SELECT * FROM ledger ORDER BY 1, 2, 3",
    "SELECT * FROM deployments ORDER BY 1, 2",
    "SELECT * FROM backlog ORDER BY 1, 2, 3",
    "SELECT * FROM remains ORDER BY 1, 2",
};

uint64_t audit_state(const char *path) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    sqlite3 *db = open_plain(path);
    CHECK_INT(sqlite3_exec(db, "BEGIN", NULL, NULL, NULL), SQLITE_OK); /* one state for all of them */
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        h = add_rows(db, h + i, tables[i]);
    (void)sqlite3_exec(db, "COMMIT", NULL, NULL, NULL); /* of a damaged file it has ended already */
    ensure(sqlite3_close(db) == SQLITE_OK);
    return h;
}

static void check_text(sqlite3 *db, const char *sql, const char *want) {
    sqlite3_stmt *st;
    if (!CHECK_INT(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK))
        return;
    if (CHECK_INT(sqlite3_step(st), SQLITE_ROW))
        CHECK_STR((const char *)sqlite3_column_text(st, 0), want);
    sqlite3_finalize(st);
}

void audit_file(const char *path) {
    sqlite3 *db = open_plain(path);
    char table_count[16];
    (void)snprintf(table_count, sizeof table_count, "%zu", ARRAY_LEN(tables));
    check_text(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table'", table_count);
    check_text(db, "PRAGMA integrity_check", "ok");
    check_text(db,
               "SELECT count(*) FROM (SELECT 1 FROM executions GROUP BY namespace_id, workflow_id"
               "  HAVING count(*) > 1)",
               "0");
    check_text(db,
               "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY namespace_id, run_id, nominal_s"
               "  HAVING count(*) > 1)",
               "0");
    check_text(db,
               "SELECT count(*) FROM history a JOIN history b ON a.namespace_id = b.namespace_id AND"
               "  a.run_id = b.run_id AND a.first_event_id < b.first_event_id AND"
               "  a.last_event_id >= b.first_event_id",
               "0");
    ensure(sqlite3_close(db) == SQLITE_OK);
}

void audit_schedules(const char *path, int period_s) {
    char sql[200];
    sqlite3 *db = open_plain(path);
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY namespace_id, run_id"
                   "  HAVING max(nominal_s) - min(nominal_s) <> (count(*) - 1) * %d)",
                   period_s);
    check_text(db, sql, "0");
    ensure(sqlite3_close(db) == SQLITE_OK);
}
