/* What lists show of a run, written: its row, and a row for each value of its own attributes.
 *
 * The happy path: the first row of a run comes with many others (sqlite_bulk.c). Later ones are brought to
 * what they should be by the least that does it. An open run keeps its place in every index, so only its row
 * is rewritten; of its attributes, those that changed. A run that closes moves in every index with the order
 * of lists. */
#include "base/clock.h"
#include "store/sqlite/sqlite_int.h"
#include "store/sqlite/sqlite_where.h"

#define KNOWN_MAX 64 /* values of one run that are looked up before they are written */

const char sqlite_entry_insert_sql[] =
    "INSERT INTO visibility (namespace_id, run_id, close_ns, start_ns, body"
#define COLUMN(name, column, number) ", " #column
#include "store/sqlite/columns.def"
#undef COLUMN
    ") VALUES (?1, ?2, ?3, ?4, ?5"
#define COLUMN(name, column, number) ", ?" #number
#include "store/sqlite/columns.def"
#undef COLUMN
    ")";

const char sqlite_entry_move_sql[] = "UPDATE visibility SET close_ns = ?3, start_ns = ?4, body = ?5"
#define COLUMN(name, column, number) ", " #column " = ?" #number
#include "store/sqlite/columns.def"
#undef COLUMN
                                     " WHERE namespace_id = ?1 AND run_id = ?2";

/* With a column in SET, SQLite takes the row out of each index that has it and puts it back, also when the
 * value is the same. The plus keeps it from looking for the row by these columns. */
#define STAYS(column, number) " AND +" column " IS ?" number

const char sqlite_entry_refresh_sql[] =
    "UPDATE visibility SET body = ?5"
#define INDEXED(name, column, number)
#define COLUMN(name, column, number) ", " #column " = ?" #number
#include "store/sqlite/columns.def"
#undef COLUMN
    " WHERE namespace_id = ?1 AND run_id = ?2" STAYS("close_ns", "3") STAYS("start_ns", "4")
#define INDEXED(name, column, number) STAYS(#column, #number)
#define COLUMN(name, column, number)
#include "store/sqlite/columns.def"
#undef COLUMN
    ;

const char sqlite_entry_close_sql[] = "UPDATE visibility SET close_ns = ?3, body = ?5"
#define INDEXED(name, column, number)
#define CLOSING(name, column, number) ", " #column " = ?" #number
#define COLUMN(name, column, number) CLOSING(name, column, number)
#include "store/sqlite/columns.def"
#undef COLUMN
                                      " WHERE namespace_id = ?1 AND run_id = ?2" STAYS("start_ns", "4")
#define INDEXED(name, column, number) STAYS(#column, #number)
#define CLOSING(name, column, number)
#define COLUMN(name, column, number)
#include "store/sqlite/columns.def"
#undef COLUMN
    ;

static const struct str column_names[] = {
#define COLUMN(name, column, number) {name, sizeof(name) - 1},
#include "store/sqlite/columns.def"
#undef COLUMN
};

static const int column_numbers[] = {
#define COLUMN(name, column, number) number,
#include "store/sqlite/columns.def"
#undef COLUMN
};

/* SQLITE_COLUMN_COUNT when it has none. */
static size_t entry_column_of(struct str name) {
    size_t i = 0;
    while (i < SQLITE_COLUMN_COUNT && !str_eq(name, column_names[i]))
        i++;
    return i;
}

void sqlite_entry_columns(const struct write *x, const struct value *ret[SQLITE_COLUMN_COUNT]) {
    memset(ret, 0, SQLITE_COLUMN_COUNT * sizeof(*ret));
    for (size_t i = 0; i < x->attribute_count; i++) {
        size_t column = entry_column_of(x->attributes[i].name);
        if (column < SQLITE_COLUMN_COUNT && x->attributes[i].count)
            ret[column] = x->attributes[i].values;
    }
}

static const struct value *entry_value_of(const struct write *x, struct str name) {
    for (size_t i = 0; i < x->attribute_count; i++)
        if (str_eq(x->attributes[i].name, name) && x->attributes[i].count)
            return x->attributes[i].values;
    return NULL;
}

const struct value *sqlite_entry_moving_value(const struct write *x, size_t nth) {
    static const struct str names[] = {
#define COLUMN(name, column, number)
#define MOVING(name, column, number) {name, sizeof(name) - 1},
#include "store/sqlite/columns.def"
#undef COLUMN
    };
    return x->attribute_count ? entry_value_of(x, names[nth]) : NULL;
}

/* The order's own names have no row either. */
bool sqlite_entry_has_row(const struct attribute *a) {
    return !sql_column(a->name);
}

static void entry_bind_value(sqlite3_stmt *st, int at, const struct value *v) {
    if (!v)
        sqlite3_bind_null(st, at);
    else if (v->kind == VALUE_TEXT)
        sqlite3_bind_text64(st, at, v->text.n ? v->text.p : "", v->text.n, SQLITE_STATIC, SQLITE_UTF8);
    else if (v->kind == VALUE_INT)
        sqlite3_bind_int64(st, at, v->number);
    else
        sqlite3_bind_double(st, at, v->real);
}

void sqlite_entry_bind_moving(sqlite3_stmt *st, const struct write *x) {
    static const int numbers[] = {
#define COLUMN(name, column, number)
#define MOVING(name, column, number) number,
#include "store/sqlite/columns.def"
#undef COLUMN
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        entry_bind_value(st, numbers[i], sqlite_entry_moving_value(x, i));
}

static void entry_bind_place(sqlite3_stmt *st, const struct write *x) {
    sqlite3_bind_blob(st, 1, x->namespace_id.b, sizeof x->namespace_id.b, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, x->run_id.b, sizeof x->run_id.b, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, sql_ns(x->close_us));
    sqlite3_bind_int64(st, 4, sql_ns(x->start_us));
}

static bool entry_run_statement(sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE;
}

/* the row */

static bool entry_run_row(sqlite3_stmt *st, const struct write *x, const struct value *const columns[]) {
    entry_bind_place(st, x);
    sqlite3_bind_blob64(st, 5, x->body.n ? x->body.p : "", x->body.n, SQLITE_STATIC);
    for (size_t i = 0; i < SQLITE_COLUMN_COUNT; i++)
        entry_bind_value(st, column_numbers[i], columns[i]);
    return entry_run_statement(st);
}

static bool entry_write_row(struct sqlite_writer *w, const struct write *x) {
    /* In the order in which they are likely to find a row to change. */
    const enum writer_stmt ways[] = {x->close_us == CLOCK_NEVER ? WRITER_ENTRY_REFRESH : WRITER_ENTRY_CLOSE,
                                     WRITER_ENTRY_MOVE, WRITER_ENTRY};
    const struct value *columns[SQLITE_COLUMN_COUNT];
    sqlite_entry_columns(x, columns);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (!entry_run_row(w->stmts[ways[i]], x, columns))
            return false;
        if (sqlite3_changes(w->db) == 1)
            return true;
    }
    return false;
}

/* its own attributes */

/* Which of the wanted values a row holds. */
struct entry_known {
    const struct write *wanted;
    uint64_t found; /* bit n: the n-th value has its row */
};

static bool entry_is_value(sqlite3_stmt *st, int at, const struct value *v) {
    if (v->kind == VALUE_TEXT)
        return sqlite3_column_type(st, at) == SQLITE_TEXT &&
               str_eq(str_bytes(sqlite3_column_blob(st, at), (size_t)sqlite3_column_bytes(st, at)), v->text);
    if (v->kind == VALUE_INT)
        return sqlite3_column_type(st, at) == SQLITE_INTEGER && sqlite3_column_int64(st, at) == v->number;
    return false; /* written again: two numbers that are equal need not be the same */
}

/* Whether the row that st stands on is one of those wanted. */
static bool entry_find_wanted(struct entry_known *k, sqlite3_stmt *st) {
    struct str name = str_bytes(sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0));
    size_t nth = 0;
    for (size_t i = 0; i < k->wanted->attribute_count; i++) {
        const struct attribute *a = &k->wanted->attributes[i];
        bool is_named = str_eq(a->name, name);
        for (size_t v = 0; v < a->count && nth < KNOWN_MAX; v++, nth++)
            if (is_named && entry_is_value(st, 1, &a->values[v])) {
                k->found |= UINT64_C(1) << nth;
                return true;
            }
    }
    return false;
}

static bool entry_remove_value(struct sqlite_writer *w, const struct write *x, sqlite3_stmt *row) {
    sqlite3_stmt *st = w->stmts[WRITER_ATTRIBUTE_GONE];
    sqlite3_bind_blob(st, 1, x->namespace_id.b, sizeof x->namespace_id.b, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, x->run_id.b, sizeof x->run_id.b, SQLITE_STATIC);
    for (int i = 0; i < 4; i++) /* name, value, close_ns, start_ns */
        sqlite3_bind_value(st, 3 + i, sqlite3_column_value(row, i));
    return entry_run_statement(st);
}

/* Removes what is not wanted, or is elsewhere in the order. */
static bool entry_remove_old_values(struct sqlite_writer *w, struct entry_known *k) {
    const struct write *x = k->wanted;
    sqlite3_stmt *st = w->stmts[WRITER_ATTRIBUTES_OF];
    sqlite3_bind_blob(st, 1, x->namespace_id.b, sizeof x->namespace_id.b, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, x->run_id.b, sizeof x->run_id.b, SQLITE_STATIC);
    int rc;
    bool is_ok = true;
    while (is_ok && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        bool is_placed = sqlite3_column_int64(st, 2) == sql_ns(x->close_us) &&
                         sqlite3_column_int64(st, 3) == sql_ns(x->start_us);
        if (!is_placed || !entry_find_wanted(k, st))
            is_ok = entry_remove_value(w, x, st);
    }
    sqlite3_reset(st);
    return is_ok && rc == SQLITE_DONE;
}

static bool entry_write_attributes(struct sqlite_writer *w, const struct entry_known *k) {
    const struct write *x = k->wanted;
    sqlite3_stmt *st = w->stmts[WRITER_ATTRIBUTE];
    size_t nth = 0;
    for (size_t i = 0; i < x->attribute_count; i++) {
        const struct attribute *a = &x->attributes[i];
        bool has_row = sqlite_entry_has_row(a);
        for (size_t v = 0; v < a->count; v++, nth++) {
            if (!has_row || (nth < KNOWN_MAX && k->found & UINT64_C(1) << nth))
                continue;
            entry_bind_place(st, x);
            sqlite3_bind_text64(st, 5, a->name.n ? a->name.p : "", a->name.n, SQLITE_STATIC, SQLITE_UTF8);
            entry_bind_value(st, 6, &a->values[v]);
            if (!entry_run_statement(st))
                return false;
        }
    }
    return true;
}

bool sqlite_entry_write(struct sqlite_writer *w, const struct write *x) {
    struct entry_known k = {.wanted = x};
    return entry_write_row(w, x) && entry_remove_old_values(w, &k) && entry_write_attributes(w, &k);
}
