/* A file that an older rondo wrote is carried on with: what it held is there, and what is new can be used. */
#include "store_fixture.h"

#include <sqlite3.h>

/* The schema of version 1, as files have it. It does not change with the code. */
static const char schema_1[] =
    "CREATE TABLE namespaces (namespace_id BLOB NOT NULL PRIMARY KEY, name TEXT NOT NULL, body BLOB NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE executions (namespace_id BLOB NOT NULL, run_id BLOB NOT NULL, workflow_id TEXT NOT NULL,"
    " status INTEGER NOT NULL, due_us INTEGER, close_us INTEGER, ready INTEGER NOT NULL, state BLOB NOT NULL,"
    " PRIMARY KEY (namespace_id, run_id));"
    "CREATE INDEX executions_due ON executions (namespace_id, run_id, due_us, ready, workflow_id)"
    " WHERE due_us IS NOT NULL OR ready = 1;"
    "CREATE INDEX executions_closed ON executions (close_us, namespace_id, run_id)"
    " WHERE close_us IS NOT NULL;"
    "CREATE TABLE current_runs (namespace_id BLOB NOT NULL, workflow_id TEXT NOT NULL, run_id BLOB NOT NULL,"
    " PRIMARY KEY (namespace_id, workflow_id)) WITHOUT ROWID;"
    "CREATE TABLE history (namespace_id BLOB NOT NULL, run_id BLOB NOT NULL,"
    " first_event_id INTEGER NOT NULL, last_event_id INTEGER NOT NULL, events BLOB NOT NULL,"
    " PRIMARY KEY (namespace_id, run_id, first_event_id));"
    "CREATE TABLE visibility (namespace_id BLOB NOT NULL, run_id BLOB NOT NULL, close_ns INTEGER NOT NULL,"
    " start_ns INTEGER NOT NULL, execution_ns INTEGER, duration_ns INTEGER, history_length INTEGER,"
    " history_bytes INTEGER, transition_count INTEGER, workflow_id TEXT, workflow_type TEXT,"
    " task_queue TEXT, status TEXT, parent_workflow_id TEXT, parent_run_id TEXT, root_workflow_id TEXT,"
    " root_run_id TEXT, division TEXT, body BLOB NOT NULL, PRIMARY KEY (namespace_id, run_id));"
    "CREATE INDEX visibility_order ON visibility (namespace_id, close_ns, start_ns, run_id)"
    " WHERE division IS NULL;"
    "CREATE INDEX visibility_workflow ON visibility (namespace_id, workflow_id, close_ns, start_ns, run_id)"
    " WHERE division IS NULL;"
    "CREATE INDEX visibility_type ON visibility (namespace_id, workflow_type, close_ns, start_ns, run_id)"
    " WHERE division IS NULL;"
    "CREATE INDEX visibility_queue ON visibility (namespace_id, task_queue, close_ns, start_ns, run_id)"
    " WHERE division IS NULL;"
    "CREATE INDEX visibility_status ON visibility (namespace_id, status, close_ns, start_ns, run_id)"
    " WHERE division IS NULL;"
    "CREATE INDEX visibility_division ON visibility (namespace_id, division, close_ns, start_ns, run_id)"
    " WHERE division IS NOT NULL;"
    "CREATE TABLE visibility_attributes (namespace_id BLOB NOT NULL, name TEXT NOT NULL, value NOT NULL,"
    " close_ns INTEGER NOT NULL, start_ns INTEGER NOT NULL, run_id BLOB NOT NULL,"
    " PRIMARY KEY (namespace_id, name, value, close_ns, start_ns, run_id)) WITHOUT ROWID;"
    "CREATE INDEX visibility_attributes_run ON visibility_attributes (namespace_id, run_id, name, value);"
    "PRAGMA application_id = 1383034468;"
    "PRAGMA user_version = 1;";

/* Namespace 1 with one open run, 2, that has one event and a due time. */
static const char rows_1[] =
    "INSERT INTO namespaces VALUES (x'00000000000000000000000000000001', 'one', x'6e');"
    "INSERT INTO executions VALUES (x'00000000000000000000000000000001',"
    " x'00000000000000000000000000000002', 'w', 1, 70, NULL, 0, x'73');"
    "INSERT INTO current_runs VALUES (x'00000000000000000000000000000001', 'w',"
    " x'00000000000000000000000000000002');"
    "INSERT INTO history VALUES (x'00000000000000000000000000000001',"
    " x'00000000000000000000000000000002', 1, 3, x'65');"
    "INSERT INTO visibility (namespace_id, run_id, close_ns, start_ns, body)"
    " VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000002',"
    " 9223372036854775807, 5000, x'76');";

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db;
    ensure(sqlite3_open(path, &db) == SQLITE_OK);
    ensure(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
    ensure(sqlite3_close(db) == SQLITE_OK);
}

static int64_t version_of(const char *path) {
    sqlite3 *db;
    sqlite3_stmt *st;
    ensure(sqlite3_open(path, &db) == SQLITE_OK);
    ensure(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &st, NULL) == SQLITE_OK);
    ensure(sqlite3_step(st) == SQLITE_ROW);
    int64_t version = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return version;
}

static void make_version_1(struct fixture *f) {
    fixture_prepare(f, BACKEND_FILE);
    run_sql(f->path, schema_1);
    run_sql(f->path, rows_1);
}

static void check_rows(struct store *s, enum read_kind kind, const char *want) {
    struct question q;
    struct buf text;
    buf_init(&text, FIXTURE_TEXT_MAX);
    question_init(&q, kind, &text);
    q.read.namespace_id = id(1);
    q.read.run_id = id(2);
    q.read.workflow_id = STR("w");
    q.read.last_event_id = INT64_MAX;
    q.read.limit = 10;
    q.read.ledger = (struct ledger_filter){INT64_MAX, INT64_MIN, INT64_MAX, 0};
    CHECK_INT(question_ask(&q, s), 0);
    buf_add(&text, "", 1);
    if (CHECK(buf_ok(&text)))
        CHECK_SLICE(str_of((const char *)text.data), str_of(want));
    buf_done(&text);
}

static void check_old_rows(struct store *s) {
    check_rows(s, READ_NAMESPACES, " 000000000001 - '' 'one' 'n' never never - 0 0\n");
    check_rows(s, READ_CURRENT, " 000000000001 000000000002 'w' '' '' never never - 0 0\n");
    check_rows(s, READ_EXECUTION, " 000000000001 000000000002 'w' '' 's' 70 never - 0 0\n");
    check_rows(s, READ_HISTORY, " 000000000001 000000000002 '' '' 'e' never never - 1 3\n");
    check_rows(s, READ_DUE, " 000000000001 000000000002 'w' '' '' 70 never - 0 0\n");
    check_rows(s, READ_VISIBILITY,
               " 000000000001 000000000002 '' '' 'v' never never - 0 0 start 5 count 0\n");
}

/* Run 3 is a schedule; its next action is a value of its own, as version 1 has them. */
static const char schedule_1[] =
    "INSERT INTO executions (namespace_id, run_id, workflow_id, status, ready, state)"
    " VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000003', 'sched', 1, 0, x'74');"
    "INSERT INTO visibility (namespace_id, run_id, close_ns, start_ns, division, body)"
    " VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000003',"
    " 9223372036854775807, 6000, 'd', x'73');"
    "INSERT INTO visibility_attributes (namespace_id, run_id, close_ns, start_ns, name, value)"
    " VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000003',"
    " 9223372036854775807, 6000, 'ScheduleNextActionTime', 77000),"
    " (x'00000000000000000000000000000001', x'00000000000000000000000000000003',"
    " 9223372036854775807, 6000, 'ScheduleRunningWorkflowCount', 2),"
    " (x'00000000000000000000000000000001', x'00000000000000000000000000000003',"
    " 9223372036854775807, 6000, 'Mine', 5),"
    " (x'00000000000000000000000000000001', x'00000000000000000000000000000002',"
    " 9223372036854775807, 5000, 'TemporalScheduledById', 'sched'),"
    " (x'00000000000000000000000000000001', x'00000000000000000000000000000002',"
    " 9223372036854775807, 5000, 'TemporalScheduledStartTime', 4000);";

static void check_finds(struct store *s, const char *name, int64_t number, const char *want) {
    struct value v = value_int(number);
    struct predicate p = {.kind = PREDICATE_EQUAL, .name = str_of(name), .values = &v, .count = 1};
    struct question q;
    struct buf text;
    buf_init(&text, FIXTURE_TEXT_MAX);
    question_init(&q, READ_VISIBILITY, &text);
    q.read.namespace_id = id(1);
    q.read.limit = 10;
    q.read.where = &p;
    CHECK_INT(question_ask(&q, s), 0);
    buf_add(&text, "", 1);
    if (CHECK(buf_ok(&text)))
        CHECK_SLICE(str_of((const char *)text.data), str_of(want));
    buf_done(&text);
}

TEST(what_a_schedule_of_an_older_file_is_found_by_moves_with_it) {
    static const char found[] = " 000000000001 000000000003 '' '' 's' never never - 0 0 start 6 count 0\n";
    static const char started[] = " 000000000001 000000000002 '' '' 'v' never never - 0 0 start 5 count 0\n";
    struct fixture f;
    struct commit c;
    make_version_1(&f);
    run_sql(f.path, schedule_1);
    commit_init(&c);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL)) {
        check_finds(f.store, "ScheduleNextActionTime", 77000, found);
        check_finds(f.store, "ScheduleRunningWorkflowCount", 2, found);
        check_finds(f.store, "ScheduleBufferedStartsCount", 0, "");
        check_finds(f.store, "Mine", 5, found);
        check_finds(f.store, "TemporalScheduledStartTime", 4000, started);
        struct value next = value_int(78000);
        struct attribute later = {STR("ScheduleNextActionTime"), &next, 1};
        struct write *w = commit_add(&c, WRITE_EXECUTION, id(1), id(3));
        w->workflow_id = STR("sched");
        w->body = STR("t");
        w->attributes = &later;
        w->attribute_count = 1;
        if (!arena_failed(&c.batch.arena))
            fixture_commit(&f, &c);
        check_finds(f.store, "ScheduleNextActionTime", 77000, "");
        check_finds(f.store, "ScheduleNextActionTime", 78000, found);
        check_finds(f.store, "ScheduleRunningWorkflowCount", 2, "");
        check_finds(f.store, "Mine", 5, found);
    }
    fixture_done(&f);
    batch_done(&c.batch);
}

TEST(a_file_of_version_1_is_carried_on_with) {
    struct fixture f;
    struct commit c;
    make_version_1(&f);
    commit_init(&c);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL)) {
        check_old_rows(f.store);
        check_rows(f.store, READ_LEDGER, "");
        struct write *w = commit_add(&c, WRITE_LEDGER, id(1), id(2));
        w->ledger = (struct ledger_columns){1, 60, 60, 7, 2};
        w->body = STR("l");
        if (!arena_failed(&c.batch.arena))
            fixture_commit(&f, &c);
    }
    fixture_close(&f);
    CHECK_INT(version_of(f.path), STORE_SCHEMA_VERSION);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL)) {
        check_old_rows(f.store);
        check_rows(f.store, READ_LEDGER,
                   " 000000000001 000000000002 '' '' 'l' never never - 0 0 ledger 1 60 60 7 2\n");
    }
    fixture_done(&f);
    batch_done(&c.batch);
}

/* Run 4, closed, of a parent and started with a delay, as version 1 has it and version 5 too. */
static const char closed_1[] =
    "INSERT INTO visibility (namespace_id, run_id, close_ns, start_ns, execution_ns, duration_ns, "
    "history_length,"
    " history_bytes, transition_count, workflow_id, parent_workflow_id, parent_run_id, root_workflow_id, "
    "body)"
    " VALUES (x'00000000000000000000000000000001', x'00000000000000000000000000000004',"
    " 9000, 7000, 8000, 1000, 12, 345, 6, 'c', 'p', 'q', 'r', x'63');";

static void check_is_found(struct store *s, const char *name, struct value v) {
    struct predicate equal = {.kind = PREDICATE_EQUAL, .name = str_of(name), .values = &v, .count = 1};
    struct predicate divided = {.kind = PREDICATE_PRESENT, .name = STR("TemporalNamespaceDivision")};
    struct predicate undivided = {.kind = PREDICATE_NOT, .left = &divided};
    struct predicate both = {.kind = PREDICATE_AND, .left = &equal, .right = &undivided};
    struct question q;
    struct buf text;
    buf_init(&text, FIXTURE_TEXT_MAX);
    question_init(&q, READ_VISIBILITY, &text);
    q.read.namespace_id = id(1);
    q.read.limit = 1;
    q.read.where = &both;
    CHECK_INT(question_ask(&q, s), 0);
    buf_add(&text, "", 1);
    if (CHECK(buf_ok(&text)))
        CHECK_SLICE(str_of((const char *)text.data),
                    STR(" 000000000001 000000000004 '' '' 'c' never 9 - 0 0 start 7 count 0\n"));
    buf_done(&text);
}

TEST(runs_of_an_older_file_are_found_by_what_has_an_index_since) {
    struct fixture f;
    make_version_1(&f);
    run_sql(f.path, closed_1);
    fixture_reopen(&f);
    if (CHECK(f.store != NULL)) {
        check_is_found(f.store, "StartTime", value_int(7000));
        check_is_found(f.store, "ExecutionTime", value_int(8000));
        check_is_found(f.store, "ExecutionDuration", value_int(1000));
        check_is_found(f.store, "HistoryLength", value_int(12));
        check_is_found(f.store, "HistorySizeBytes", value_int(345));
        check_is_found(f.store, "StateTransitionCount", value_int(6));
        check_is_found(f.store, "ParentWorkflowId", value_text(STR("p")));
        check_is_found(f.store, "ParentRunId", value_text(STR("q")));
        check_is_found(f.store, "RootWorkflowId", value_text(STR("r")));
    }
    fixture_done(&f);
}

/* A new file goes through the same migrations, so it must end with the same tables. */
TEST(an_old_file_and_a_new_one_end_with_the_same_schema) {
    static const char names[] =
        "SELECT group_concat(type || ' ' || name || ' ' || replace(sql, ' ', ''), ';')"
        " FROM (SELECT * FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name)";
    struct fixture f[2];
    char text[2][8192] = {"", ""};
    make_version_1(&f[0]);
    fixture_prepare(&f[1], BACKEND_FILE);
    for (int i = 0; i < 2; i++) {
        sqlite3 *db;
        sqlite3_stmt *st;
        fixture_reopen(&f[i]);
        CHECK(f[i].store != NULL);
        fixture_close(&f[i]);
        ensure(sqlite3_open(f[i].path, &db) == SQLITE_OK);
        ensure(sqlite3_prepare_v2(db, names, -1, &st, NULL) == SQLITE_OK);
        ensure(sqlite3_step(st) == SQLITE_ROW);
        (void)snprintf(text[i], sizeof text[i], "%s", (const char *)sqlite3_column_text(st, 0));
        sqlite3_finalize(st);
        sqlite3_close(db);
        fixture_done(&f[i]);
    }
    CHECK(strstr(text[0], "table ledger") != NULL);
    CHECK_STR(text[0], text[1]);
}

/* What could not be finished is begun again: the version is part of the migration's transaction. */
TEST(a_migration_that_cannot_be_made_leaves_the_file_as_it_was) {
    struct fixture f;
    struct err e = {0};
    make_version_1(&f);
    run_sql(f.path, "CREATE TABLE ledger (something_else)");
    CHECK(fixture_try_open(&f, f.path, &e) < 0);
    CHECK_INT(version_of(f.path), 1);
    run_sql(f.path, "DROP TABLE ledger");
    fixture_reopen(&f);
    if (CHECK(f.store != NULL))
        check_old_rows(f.store);
    fixture_done(&f);
}
