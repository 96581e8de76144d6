/* The new rows of a group of batches, inserted with one statement for each table.
 *
 * A statement opens a cursor on its table and on each index, looks for the place of its row from the root of
 * each tree, and closes them. A statement for many rows keeps its cursors, and since run ids grow with time,
 * most rows belong right behind the one before, which SQLite finds out with one comparison. To SQL, the rows
 * of a group are read-only virtual tables, one for each table that they go to, with rows in them during a
 * commit.
 *
 * Rows are written before the others of their group. That is right for what is certainly new, and for the
 * last of several with one key, as long as nothing of it is removed in between: a table with rows of a run
 * that the same group removes is written one by one. Failure ends the process, as every failure to write
 * does. */
#include "store/sqlite/sqlite_int.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/sqlite/sqlite_where.h"

#define BULK_NAME_MAX 64
#define BULK_SQL_MAX 1024

struct bulk_cursor {
    sqlite3_vtab_cursor base;
    const struct bulk_table *table;
    const struct write *x; /* NULL: at the end */
    size_t attribute, value; /* of x, for the table of attributes */
    const struct value *columns[SQLITE_COLUMN_COUNT]; /* of x, for the table of entries */
    sqlite3_int64 number;
};

/* The table that the row of x goes to with others; BULK_COUNT: it is not certainly new. */
static enum bulk_kind bulk_kind_of(const struct write *x) {
    switch (x->kind) {
    case WRITE_EXECUTION:
        return x->is_first ? BULK_EXECUTIONS : BULK_COUNT;
    case WRITE_VISIBILITY:
        return x->is_first ? BULK_ENTRIES : BULK_COUNT;
    case WRITE_HISTORY:
        return BULK_HISTORY;
    case WRITE_CURRENT:
        return BULK_CURRENT;
    case WRITE_LEDGER:
        return BULK_LEDGER;
    case WRITE_NAMESPACE:
    case WRITE_NAMESPACE_GONE:
    case WRITE_EXECUTION_GONE:
    case WRITE_CURRENT_GONE:
    case WRITE_DEPLOYMENT:
    case WRITE_DEPLOYMENT_GONE:
    case WRITE_LEDGER_GONE:
    case WRITE_BACKLOG:
    case WRITE_BACKLOG_GONE:
    case WRITE_BACKLOG_EMPTY:
        break;
    }
    return BULK_COUNT;
}

/* The bit of a run. Ids end with what is random; two runs with one bit cost time and nothing else. */
static uint32_t bulk_removed_bit(const struct uuid *run_id) {
    const uint8_t *end = run_id->b + sizeof run_id->b;
    return ((uint32_t)end[-1] | (uint32_t)end[-2] << 8 | (uint32_t)end[-3] << 16) % BULK_GONE_BITS;
}

static void bulk_mark_removed(struct sqlite_bulk *b, const struct list *group) {
    if (b->has_gone)
        memset(b->gone, 0, sizeof b->gone);
    b->has_gone = false;
    list_for(group, n) {
        for (const struct write *x = container_of(n, struct batch, link)->first; x; x = x->next) {
            if (x->kind != WRITE_EXECUTION_GONE)
                continue;
            uint32_t bit = bulk_removed_bit(&x->run_id);
            b->gone[bit / 8] |= (uint8_t)(1u << bit % 8);
            b->has_gone = true;
        }
    }
}

static bool bulk_is_removed(const struct sqlite_bulk *b, const struct write *x) {
    uint32_t bit = bulk_removed_bit(&x->run_id);
    return b->has_gone && b->gone[bit / 8] & 1u << bit % 8;
}

/* The tables that x removes something from, by another key than the run: their rows must keep their order. */
static void bulk_mark_ordered(const struct write *x, bool is_held[BULK_COUNT]) {
    if (x->kind == WRITE_CURRENT_GONE) {
        is_held[BULK_CURRENT] = true;
    } else if (x->kind == WRITE_LEDGER_GONE) {
        is_held[BULK_LEDGER] = true;
    }
}

/* columns */

static void bulk_result_uuid(sqlite3_context *out, const struct uuid *u) {
    sqlite3_result_blob(out, u->b, sizeof u->b, SQLITE_STATIC);
}

static void bulk_result_text(sqlite3_context *out, struct str s) {
    sqlite3_result_text64(out, s.n ? s.p : "", s.n, SQLITE_STATIC, SQLITE_UTF8);
}

static void bulk_result_blob(sqlite3_context *out, struct str s) {
    sqlite3_result_blob64(out, s.n ? s.p : "", s.n, SQLITE_STATIC);
}

static void bulk_result_time(sqlite3_context *out, int64_t us) {
    if (us != CLOCK_NEVER) /* it is NULL to begin with */
        sqlite3_result_int64(out, us);
}

static void bulk_result_value(sqlite3_context *out, const struct value *v) {
    if (!v)
        return;
    if (v->kind == VALUE_TEXT)
        bulk_result_text(out, v->text);
    else if (v->kind == VALUE_INT)
        sqlite3_result_int64(out, v->number);
    else
        sqlite3_result_double(out, v->real);
}

/* Every table but one begins with the namespace and the run; `at` counts what follows. */
static void bulk_execution_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    const struct write *x = c->x;
    switch (at) {
    case 0:
        bulk_result_text(out, x->workflow_id);
        return;
    case 1:
        sqlite3_result_int(out, x->status);
        return;
    case 2:
        bulk_result_time(out, x->due_us);
        return;
    case 3:
        bulk_result_time(out, x->close_us);
        return;
    case 4:
        sqlite3_result_int(out, x->is_ready);
        return;
    case 5:
        bulk_result_blob(out, x->body);
        return;
    default:
        bulk_result_value(out, sqlite_entry_moving_value(x, (size_t)at - 6));
        return;
    }
}

static void bulk_history_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    if (at == 2)
        bulk_result_blob(out, c->x->body);
    else
        sqlite3_result_int64(out, at == 0 ? c->x->first_event_id : c->x->last_event_id);
}

static void bulk_current_column(const struct bulk_cursor *c, sqlite3_context *out, int at unused_arg) {
    bulk_result_text(out, c->x->workflow_id);
}

static void bulk_place_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    sqlite3_result_int64(out, sql_ns(at == 0 ? c->x->close_us : c->x->start_us));
}

static void bulk_entry_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    if (at < 2)
        bulk_place_column(c, out, at);
    else if (at == 2)
        bulk_result_blob(out, c->x->body);
    else
        bulk_result_value(out, c->columns[at - 3]);
}

static void bulk_attribute_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    const struct attribute *a = &c->x->attributes[c->attribute];
    if (at < 2)
        bulk_place_column(c, out, at);
    else if (at == 2)
        bulk_result_text(out, a->name);
    else
        bulk_result_value(out, &a->values[c->value]);
}

static void bulk_ledger_column(const struct bulk_cursor *c, sqlite3_context *out, int at) {
    const struct ledger_columns *l = &c->x->ledger;
    const int64_t numbers[] = {l->id, l->nominal_s, l->last_nominal_s, l->at_us, l->fate};
    if (at < (int)ARRAY_LEN(numbers))
        sqlite3_result_int64(out, numbers[at]);
    else
        bulk_result_blob(out, c->x->body);
}

/* tables */

static const char execution_columns[] =
    "namespace_id, run_id, workflow_id, status, due_us, close_us, ready, state"
#define COLUMN(name, column, number)
#define MOVING(name, column, number) ", " #column
#include "store/sqlite/columns.def"
#undef COLUMN
    ;

static const char entry_columns[] = "namespace_id, run_id, close_ns, start_ns, body"
#define COLUMN(name, column, number) ", " #column
#include "store/sqlite/columns.def"
#undef COLUMN
    ;

struct bulk_table {
    enum bulk_kind kind;
    const char *name; /* the table that rows go to; the virtual one is called bulk_NAME */
    const char *on_conflict; /* what happens to a row with the same key; ROLLBACK: there is none */
    const char *columns;
    void (*give)(const struct bulk_cursor *c, sqlite3_context *out, int at);
};

static const struct bulk_table tables[BULK_COUNT] = {
    {BULK_EXECUTIONS, "executions", "ROLLBACK", execution_columns, bulk_execution_column},
    {BULK_HISTORY, "history", "ROLLBACK", "namespace_id, run_id, first_event_id, last_event_id, events",
     bulk_history_column},
    {BULK_CURRENT, "current_runs", "REPLACE", "namespace_id, run_id, workflow_id", bulk_current_column},
    {BULK_ENTRIES, "visibility", "ROLLBACK", entry_columns, bulk_entry_column},
    {BULK_ATTRIBUTES, "visibility_attributes", "IGNORE", /* a value that stands in a list twice is one row */
     "namespace_id, run_id, close_ns, start_ns, name, value", bulk_attribute_column},
    {BULK_LEDGER, "ledger", "REPLACE",
     "namespace_id, run_id, id, nominal_s, last_nominal_s, at_us, fate, body", bulk_ledger_column},
};

struct bulk_vtab {
    sqlite3_vtab base;
    const struct bulk_source *source;
};

static int bulk_vtab_connect(sqlite3 *db, void *aux, int argc unused_arg, const char *const *argv unused_arg,
                             sqlite3_vtab **ret, char **error unused_arg) {
    char sql[BULK_SQL_MAX];
    const struct bulk_source *source = aux;
    (void)snprintf(sql, sizeof sql, "CREATE TABLE x (%s)", tables[source->kind].columns);
    int rc = sqlite3_declare_vtab(db, sql);
    struct bulk_vtab *v = rc == SQLITE_OK ? mem_zalloc(sizeof *v) : NULL;
    if (!v)
        return rc == SQLITE_OK ? SQLITE_NOMEM : rc;
    v->source = source;
    *ret = &v->base;
    return SQLITE_OK;
}

static int bulk_vtab_disconnect(sqlite3_vtab *v) {
    mem_free(v);
    return SQLITE_OK;
}

static int bulk_vtab_best_index(sqlite3_vtab *v unused_arg, sqlite3_index_info *info) {
    info->estimatedCost = 1;
    return SQLITE_OK;
}

static int bulk_vtab_open(sqlite3_vtab *v, sqlite3_vtab_cursor **ret) {
    struct bulk_cursor *c = mem_zalloc(sizeof *c);
    if (!c)
        return SQLITE_NOMEM;
    c->table = &tables[((struct bulk_vtab *)(void *)v)->source->kind];
    *ret = &c->base;
    return SQLITE_OK;
}

static int bulk_vtab_close(sqlite3_vtab_cursor *c) {
    mem_free(c);
    return SQLITE_OK;
}

/* To the next value of x's own attributes, this one included. False: there is none. */
static bool bulk_find_attribute(struct bulk_cursor *c) {
    for (; c->attribute < c->x->attribute_count; c->attribute++, c->value = 0)
        if (c->value < c->x->attributes[c->attribute].count &&
            sqlite_entry_has_row(&c->x->attributes[c->attribute]))
            return true;
    return false;
}

/* From this write, itself included, to one that has a row here: each that is in its chain, but for the
 * attributes, of which it may have none. */
static void bulk_find_row(struct bulk_cursor *c) {
    for (; c->x; c->x = c->x->next_alike) {
        c->attribute = c->value = 0;
        if (c->table->kind == BULK_ENTRIES)
            sqlite_entry_columns(c->x, c->columns);
        if (c->table->kind != BULK_ATTRIBUTES || bulk_find_attribute(c))
            return;
    }
}

static int bulk_vtab_filter(sqlite3_vtab_cursor *base, int number unused_arg, const char *text unused_arg,
                            int argc unused_arg, sqlite3_value **argv unused_arg) {
    struct bulk_cursor *c = (struct bulk_cursor *)(void *)base;
    const struct bulk_source *source = ((struct bulk_vtab *)(void *)base->pVtab)->source;
    c->number = 0;
    c->x = source->bulk->rows[source->kind];
    bulk_find_row(c);
    return SQLITE_OK;
}

static int bulk_vtab_next(sqlite3_vtab_cursor *base) {
    struct bulk_cursor *c = (struct bulk_cursor *)(void *)base;
    c->number++;
    c->value++;
    if (c->table->kind == BULK_ATTRIBUTES && bulk_find_attribute(c))
        return SQLITE_OK;
    c->x = c->x->next_alike;
    bulk_find_row(c);
    return SQLITE_OK;
}

static int bulk_vtab_eof(sqlite3_vtab_cursor *base) {
    const struct bulk_cursor *c = (const struct bulk_cursor *)(void *)base;
    return !c->x;
}

static int bulk_vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int at) {
    const struct bulk_cursor *c = (const struct bulk_cursor *)(void *)base;
    if (at == 0)
        bulk_result_uuid(out, &c->x->namespace_id);
    else if (at == 1)
        bulk_result_uuid(out, &c->x->run_id);
    else
        c->table->give(c, out, at - 2);
    return SQLITE_OK;
}

static int bulk_vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret) {
    *ret = ((const struct bulk_cursor *)(void *)base)->number;
    return SQLITE_OK;
}

/* Without xCreate they exist by themselves, in this connection only. */
static const sqlite3_module module = {
    .xConnect = bulk_vtab_connect,
    .xBestIndex = bulk_vtab_best_index,
    .xDisconnect = bulk_vtab_disconnect,
    .xOpen = bulk_vtab_open,
    .xClose = bulk_vtab_close,
    .xFilter = bulk_vtab_filter,
    .xNext = bulk_vtab_next,
    .xEof = bulk_vtab_eof,
    .xColumn = bulk_vtab_column,
    .xRowid = bulk_vtab_rowid,
};

/* the writer's side */

int sqlite_bulk_start(struct sqlite_bulk *b, sqlite3 *db, const char *path, struct err *reterr) {
    int rc = 0;
    for (size_t i = 0; i < BULK_COUNT && rc == 0; i++) {
        const struct bulk_table *t = &tables[i];
        char name[BULK_NAME_MAX], sql[BULK_SQL_MAX];
        ensure(t->kind == i);
        b->sources[i] = (struct bulk_source){b, t->kind};
        (void)snprintf(name, sizeof name, "bulk_%s", t->name);
        (void)snprintf(sql, sizeof sql, "INSERT OR %s INTO %s (%s) SELECT * FROM %s", t->on_conflict, t->name,
                       t->columns, name);
        if (sqlite3_create_module(db, name, &module, &b->sources[i]) != SQLITE_OK)
            return sqlite_error(db, path, reterr);
        rc = sqlite_prepare(db, path, sql, &b->stmts[i], reterr);
    }
    return rc;
}

void sqlite_bulk_stop(struct sqlite_bulk *b) {
    for (size_t i = 0; i < BULK_COUNT; i++)
        sqlite3_finalize(b->stmts[i]);
}

bool sqlite_bulk_takes(const struct sqlite_bulk *b, const struct write *x) {
    enum bulk_kind kind = bulk_kind_of(x);
    return kind != BULK_COUNT && b->has_taken[kind];
}

/* Which rows go to which table, and whether they may be taken out of their order. */
static void bulk_collect_rows(struct sqlite_bulk *b, const struct list *group) {
    bool is_held[BULK_COUNT] = {false};
    bulk_mark_removed(b, group);
    const struct write **ends[BULK_COUNT];
    for (size_t i = 0; i < BULK_COUNT; i++)
        ends[i] = &b->rows[i];
    list_for(group, n) {
        for (struct write *x = container_of(n, struct batch, link)->first; x; x = x->next) {
            enum bulk_kind kind = bulk_kind_of(x);
            if (kind == BULK_COUNT) {
                bulk_mark_ordered(x, is_held);
                continue;
            }
            if (bulk_is_removed(b, x))
                is_held[kind] = true;
            *ends[kind] = x;
            ends[kind] = &x->next_alike;
        }
    }
    for (size_t i = 0; i < BULK_COUNT; i++)
        *ends[i] = NULL;
    b->rows[BULK_ATTRIBUTES] = b->rows[BULK_ENTRIES];
    is_held[BULK_ATTRIBUTES] = is_held[BULK_ENTRIES];
    for (size_t i = 0; i < BULK_COUNT; i++)
        b->has_taken[i] = b->rows[i] && !is_held[i];
}

bool sqlite_bulk_begin(struct sqlite_bulk *b, const struct list *group) {
    bulk_collect_rows(b, group);
    for (size_t i = 0; i < BULK_COUNT; i++) {
        if (!b->has_taken[i])
            continue;
        int rc = sqlite3_step(b->stmts[i]);
        sqlite3_reset(b->stmts[i]);
        if (rc != SQLITE_DONE)
            return false;
    }
    return true;
}

void sqlite_bulk_end(struct sqlite_bulk *b) {
    memset(b->rows, 0, sizeof b->rows);
}
