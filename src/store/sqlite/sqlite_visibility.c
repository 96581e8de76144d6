/* What lists show: one row for each run, and a row for each value of its own attributes.
 *
 * The happy path of a list: the predicate becomes a WHERE clause, an index that
 * ends with the order of the list is read backwards from the place that the
 * page begins behind, and the first `limit` rows that pass are the page. When
 * the filter asks for one value of an attribute without a column, the rows of
 * that value lead; they are in the same order. Statements are prepared for each
 * question: that takes less time than a page. */
#include "base/clock.h"
#include "store/sqlite/sqlite_int.h"
#include "store/sqlite/sqlite_where.h"

/* writing */

#define COLUMNS_FIRST 6 /* the parameter of the first one of columns.def */

const char sqlite_visibility_sql[] = "INSERT INTO visibility (namespace_id, run_id, close_ns, start_ns, body"
#define COLUMN(name, column) ", " #column
#include "store/sqlite/columns.def"
#undef COLUMN
                                     ") VALUES (?1, ?2, ?3, ?4, ?5"
#define COLUMN(name, column) ", ?"
#include "store/sqlite/columns.def"
#undef COLUMN
                                     ") ON CONFLICT (namespace_id, run_id) DO UPDATE SET"
                                     " close_ns = excluded.close_ns, start_ns = excluded.start_ns,"
                                     " body = excluded.body"
#define COLUMN(name, column) ", " #column " = excluded." #column
#include "store/sqlite/columns.def"
#undef COLUMN
    ;

static const char *const column_names[] = {
#define COLUMN(name, column) name,
#include "store/sqlite/columns.def"
#undef COLUMN
};

static void bind_value(sqlite3_stmt *st, int at, const struct value *v) {
    if (v->kind == VALUE_TEXT)
        sqlite3_bind_text64(st, at, v->text.n ? v->text.p : "", v->text.n, SQLITE_STATIC, SQLITE_UTF8);
    else if (v->kind == VALUE_INT)
        sqlite3_bind_int64(st, at, v->number);
    else
        sqlite3_bind_double(st, at, v->real);
}

static void bind_place(sqlite3_stmt *st, const struct write *x) {
    sqlite3_bind_blob(st, 1, x->namespace_id.b, sizeof x->namespace_id.b, SQLITE_STATIC);
    sqlite3_bind_blob(st, 2, x->run_id.b, sizeof x->run_id.b, SQLITE_STATIC);
    sqlite3_bind_int64(st, 3, sql_ns(x->close_us));
    sqlite3_bind_int64(st, 4, sql_ns(x->start_us));
}

static bool run(sqlite3_stmt *st) {
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st); /* columns without a value are NULL */
    return rc == SQLITE_DONE;
}

static size_t column_of(struct str name) {
    size_t i = 0;
    while (i < ARRAY_LEN(column_names) && !str_is(name, column_names[i]))
        i++;
    return i;
}

static bool write_row(sqlite3_stmt *st, const struct write *x) {
    bind_place(st, x);
    sqlite3_bind_blob64(st, 5, x->body.n ? x->body.p : "", x->body.n, SQLITE_STATIC);
    for (size_t i = 0; i < x->attribute_count; i++) {
        size_t column = column_of(x->attributes[i].name);
        if (column < ARRAY_LEN(column_names) && x->attributes[i].count)
            bind_value(st, (int)column + COLUMNS_FIRST, x->attributes[i].values);
    }
    return run(st);
}

static bool write_attribute(sqlite3_stmt *st, const struct write *x, const struct attribute *a) {
    for (size_t k = 0; k < a->count; k++) {
        bind_place(st, x);
        sqlite3_bind_text64(st, 5, a->name.n ? a->name.p : "", a->name.n, SQLITE_STATIC, SQLITE_UTF8);
        bind_value(st, 6, &a->values[k]);
        if (!run(st))
            return false;
    }
    return true;
}

bool sqlite_write_visibility(struct sqlite_writer *w, const struct write *x) {
    if (!write_row(w->stmts[WRITER_VISIBILITY], x))
        return false;
    for (size_t i = 0; i < x->attribute_count; i++)
        if (!sql_column(x->attributes[i].name) &&
            !write_attribute(w->stmts[WRITER_ATTRIBUTE], x, &x->attributes[i]))
            return false;
    return true;
}

/* asking */

static void add_from(struct sql_text *q, const struct read *r, const struct predicate *lead) {
    if (lead) {
        sql_add(q, " FROM visibility_attributes d CROSS JOIN visibility v"
                   " ON v.namespace_id = d.namespace_id AND v.run_id = d.run_id WHERE d.name = ");
        sql_add_param(q, value_text(lead->name));
        sql_add(q, " AND d.value = ");
        sql_add_param(q, lead->values[0]);
        sql_add(q, " AND d.namespace_id = ");
    } else {
        sql_add(q, " FROM visibility v WHERE v.namespace_id = ");
    }
    sql_add_id(q, r->namespace_id);
    if (r->where && r->where != lead) {
        sql_add(q, " AND ");
        sql_add_predicate(q, r->where);
    }
}

static void add_after(struct sql_text *q, const struct visibility_place *after, bool has_lead) {
    sql_add(q, has_lead ? " AND (d.close_ns, d.start_ns, d.run_id) < ("
                        : " AND (v.close_ns, v.start_ns, v.run_id) < (");
    sql_add_param(q, value_int(sql_ns(after->close_us)));
    sql_add(q, ", ");
    sql_add_param(q, value_int(sql_ns(after->start_us)));
    sql_add(q, ", ");
    sql_add_id(q, after->run_id);
    sql_add(q, ")");
}

static void build_list(struct sql_text *q, const struct read *r) {
    const struct predicate *lead = sql_leading_test(r->where);
    sql_add(q, "SELECT v.run_id, v.close_ns, v.start_ns, v.body");
    add_from(q, r, lead);
    if (r->after)
        add_after(q, r->after, lead != NULL);
    sql_add(q, lead ? " ORDER BY d.close_ns DESC, d.start_ns DESC, d.run_id DESC LIMIT "
                    : " ORDER BY v.close_ns DESC, v.start_ns DESC, v.run_id DESC LIMIT ");
    sql_add_param(q, value_int((int64_t)MIN(r->limit, (size_t)INT64_MAX)));
}

static void build_count(struct sql_text *q, const struct read *r) {
    const char *group = r->group_by.n ? sql_column(r->group_by) : NULL;
    ensure(group || !r->group_by.n);
    sql_add(q, "SELECT count(*)");
    if (group) {
        sql_add(q, ", ");
        sql_add(q, group);
    }
    add_from(q, r, sql_leading_test(r->where));
    if (!group)
        return;
    sql_add(q, " GROUP BY ");
    sql_add(q, group);
    sql_add(q, " ORDER BY ");
    sql_add(q, group);
}

static struct str column_bytes(sqlite3_stmt *st, int at) {
    const void *p = sqlite3_column_blob(st, at);
    return str_bytes(p, (size_t)sqlite3_column_bytes(st, at));
}

static struct row row_of(sqlite3_stmt *st, const struct read *r) {
    struct row row = {.namespace_id = r->namespace_id, .due_us = CLOCK_NEVER, .close_us = CLOCK_NEVER};
    if (r->kind == READ_VISIBILITY_COUNT) {
        row.count = sqlite3_column_int64(st, 0);
        if (r->group_by.n)
            row.name = column_bytes(st, 1);
        return row;
    }
    struct str id = column_bytes(st, 0);
    if (id.n == sizeof row.run_id.b)
        memcpy(row.run_id.b, id.p, id.n);
    row.close_us = sql_us(sqlite3_column_int64(st, 1));
    row.start_us = sql_us(sqlite3_column_int64(st, 2));
    row.body = column_bytes(st, 3);
    return row;
}

static int read_rows(sqlite3_stmt *st, struct read *r) {
    size_t bytes = 0;
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct row row = row_of(st, r);
        bytes += row.body.n;
        r->row(r, &row);
        if (r->bytes_max && bytes >= r->bytes_max)
            return SQLITE_DONE;
    }
    return rc;
}

int sqlite_read_visibility(sqlite3 *db, struct read *r) {
    struct sql_text q cleanup(sql_done);
    sqlite3_stmt *st = NULL;
    sql_init(&q);
    if (r->kind == READ_VISIBILITY)
        build_list(&q, r);
    else
        build_count(&q, r);
    if (!sql_ok(&q))
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(db, (const char *)q.text.data, (int)q.text.len, &st, NULL);
    if (rc == SQLITE_OK) {
        sql_bind(&q, st);
        rc = read_rows(st, r);
    }
    sqlite3_finalize(st);
    return rc;
}
