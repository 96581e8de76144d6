/* SQLite alone: the very rows that starts have written, inserted again by nothing but SQLite.
 *
 * A server starts workflows and ends. Its file is read into memory: the schema, and of each table that has a
 * run id the rows, run by run in the order of the starts. They are then inserted into an empty file of that
 * schema with the same settings, the rows of `width` starts to a transaction, each synced before the next. So
 * this stays the same work as a start's whatever becomes of the schema. */
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cases.h"

#define TABLES_MAX 16
#define COLUMNS_MAX 40
#define SQL_MAX 512
#define RUN_ID_BYTES 16

/* As the store opens its file for writing. */
#define PRAGMAS                                                                                              \
    "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"                         \
    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -32768;"

struct copy {
    char name[64];
    int column_count;
    int run_column;
    sqlite3_value **values; /* column_count of them to a row */
    size_t row_count;
    size_t inserted;
    sqlite3_stmt *insert;
};

struct copies {
    struct bench *bench;
    sqlite3 *from;
    sqlite3 *to;
    struct copy tables[TABLES_MAX];
    size_t table_count;
};

static void check(sqlite3 *db, int rc) {
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        die("SQLite alone: %s", sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *s;
    check(db, sqlite3_prepare_v2(db, sql, -1, &s, NULL));
    return s;
}

static bool step(sqlite3_stmt *s) {
    int rc = sqlite3_step(s);
    check(sqlite3_db_handle(s), rc);
    return rc == SQLITE_ROW;
}

static void execute(sqlite3 *db, const char *sql) {
    check(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

/* reading */

static void read_rows(struct copies *all, struct copy *t) {
    char sql[SQL_MAX];
    size_t cap = 0;
    (void)snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" ORDER BY run_id", t->name);
    sqlite3_stmt *s = prepare(all->from, sql);
    t->column_count = sqlite3_column_count(s);
    while (step(s)) {
        size_t columns = (size_t)t->column_count;
        if (t->row_count == cap) {
            cap = cap ? 2 * cap : 1024;
            t->values = mem_resize(t->values, cap * columns * sizeof(sqlite3_value *));
            ensure(t->values);
        }
        for (size_t i = 0; i < columns; i++)
            t->values[t->row_count * columns + i] = sqlite3_value_dup(sqlite3_column_value(s, (int)i));
        t->row_count++;
    }
    for (int i = 0; i < t->column_count; i++)
        if (strcmp(sqlite3_column_name(s, i), "run_id") == 0)
            t->run_column = i;
    sqlite3_finalize(s);
}

static void read_tables(struct copies *all) {
    sqlite3_stmt *s = prepare(all->from, "SELECT m.name FROM sqlite_schema m, pragma_table_info(m.name) c "
                                         "WHERE m.type = 'table' AND c.name = 'run_id'");
    while (step(s)) {
        struct copy *t = &all->tables[all->table_count];
        ensure(all->table_count < TABLES_MAX);
        (void)snprintf(t->name, sizeof(t->name), "%s", (const char *)sqlite3_column_text(s, 0));
        read_rows(all, t);
        all->table_count++;
    }
    sqlite3_finalize(s);
}

/* writing */

static void prepare_insert(struct copies *all, struct copy *t) {
    char sql[SQL_MAX];
    int n = snprintf(sql, sizeof(sql), "INSERT INTO \"%s\" VALUES (?", t->name);
    ensure(t->column_count <= COLUMNS_MAX);
    for (int i = 1; i < t->column_count; i++)
        n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",?");
    (void)snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
    t->insert = prepare(all->to, sql);
}

static void open_empty(struct copies *all) {
    char path[400];
    (void)snprintf(path, sizeof(path), "%s/alone.db", all->bench->directory);
    check(NULL, sqlite3_open(path, &all->to));
    execute(all->to, PRAGMAS);
    execute(all->to, "BEGIN");
    sqlite3_stmt *s =
        prepare(all->from, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid");
    while (step(s))
        execute(all->to, (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
    execute(all->to, "COMMIT");
    for (size_t i = 0; i < all->table_count; i++)
        prepare_insert(all, &all->tables[i]);
}

static const void *run_of(const struct copy *t, size_t row) {
    sqlite3_value *v = t->values[row * (size_t)t->column_count + (size_t)t->run_column];
    ensure(sqlite3_value_bytes(v) == RUN_ID_BYTES);
    return sqlite3_value_blob(v);
}

/* The rows of this table up to and with the run `last`. */
static void insert_until(struct copy *t, const void *last) {
    while (t->inserted < t->row_count && memcmp(run_of(t, t->inserted), last, RUN_ID_BYTES) <= 0) {
        for (int i = 0; i < t->column_count; i++)
            check(sqlite3_db_handle(t->insert),
                  sqlite3_bind_value(t->insert, i + 1,
                                     t->values[t->inserted * (size_t)t->column_count + (size_t)i]));
        (void)step(t->insert);
        sqlite3_reset(t->insert); /* its error was step's */
        t->inserted++;
    }
}

/* The table with one row for each run gives the order. */
static struct copy *find_runs(struct copies *all) {
    for (size_t i = 0; i < all->table_count; i++)
        if (strcmp(all->tables[i].name, "executions") == 0)
            return &all->tables[i];
    die("the file has no table of executions");
}

static void insert_all(struct copies *all, struct samples *took) {
    struct copy *runs = find_runs(all);
    for (size_t i = 0; i < runs->row_count; i += all->bench->width) {
        int64_t begin = now_us();
        const void *last = run_of(runs, MIN(i + all->bench->width, runs->row_count) - 1);
        execute(all->to, "BEGIN");
        for (size_t t = 0; t < all->table_count; t++)
            insert_until(&all->tables[t], last);
        execute(all->to, "COMMIT");
        samples_add(took, now_us() - begin);
    }
}

/* the case */

static void copies_open(struct copies *all, struct bench *b, size_t count) {
    all->bench = b;
    bench_open(b);
    start_many(b, "many", count);
    bench_close(b);
    check(NULL, sqlite3_open(b->file, &all->from));
    read_tables(all);
    open_empty(all);
}

static void copies_close(struct copies *all) {
    for (size_t i = 0; i < all->table_count; i++) {
        struct copy *t = &all->tables[i];
        if (t->inserted != t->row_count)
            die("SQLite alone: %zu of %zu rows of %s were inserted", t->inserted, t->row_count, t->name);
        for (size_t v = 0; v < t->row_count * (size_t)t->column_count; v++)
            sqlite3_value_free(t->values[v]);
        sqlite3_finalize(t->insert);
        mem_free(t->values);
    }
    sqlite3_close(all->from);
    sqlite3_close(all->to);
}

void floor_sqlite(struct bench *b) {
    size_t count = scaled(b, 20000);
    struct copies *all = mem_zalloc(sizeof(*all));
    struct samples took = {0};
    struct meter m;
    ensure(all);
    copies_open(all, b, count);
    b->subject = (struct subject){.pid = getpid()};
    meter_begin(&m, b);
    insert_all(all, &took);
    struct result *r = meter_end(&m, b, "floor: SQLite", b->width, count, &took);
    r->client_cpu_us = r->rss_bytes = -1;
    (void)snprintf(r->note, sizeof(r->note), "the rows of starts, synced");
    table_print_floor(b->table, r);
    b->subject = (struct subject){0};
    copies_close(all);
    samples_done(&took);
    mem_free(all);
}
