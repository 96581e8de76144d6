/* Questions about what lists show (sqlite_entry.c writes it).
 *
 * The happy path of a list: the predicate becomes a WHERE clause, an index that
 * ends with the order of the list is read backwards from the place that the
 * page begins behind, and the first `limit` rows that pass are the page. When
 * the filter asks for one of a few values of something with an index, the rows
 * of each value are read that way, and merged. Statements are prepared for each
 * question: that takes less time than a page. */
#include "base/clock.h"
#include "store/sqlite/sqlite_int.h"
#include "store/sqlite/sqlite_where.h"

/* One value of the leading test, or everything when there is none. */
static void add_from(struct sql_text *q, const struct read *r, const struct predicate *lead,
                     const struct value *v) {
    const char *column = lead ? sql_column(lead->name) : NULL;
    if (lead && !column) {
        sql_add(q, " FROM visibility_attributes d CROSS JOIN visibility v"
                   " ON v.namespace_id = d.namespace_id AND v.run_id = d.run_id WHERE d.name = ");
        sql_add_param(q, value_text(lead->name));
        sql_add(q, " AND d.value = ");
        sql_add_param(q, *v);
        sql_add(q, " AND d.namespace_id = ");
    } else {
        sql_add(q, " FROM visibility v WHERE ");
        if (column) {
            sql_add(q, column);
            sql_add(q, " = ");
            sql_add_param(q, *v);
            sql_add(q, " AND ");
        }
        sql_add(q, "v.namespace_id = ");
    }
    sql_add_id(q, r->namespace_id);
    if (r->where && r->where != lead) {
        sql_add(q, " AND ");
        sql_add_predicate(q, r->where);
    }
}

static void add_after(struct sql_text *q, const struct visibility_place *after, const char *from) {
    sql_add(q, *from == 'd' ? " AND (d.close_ns, d.start_ns, d.run_id) < ("
                            : " AND (v.close_ns, v.start_ns, v.run_id) < (");
    sql_add_param(q, value_int(sql_ns(after->close_us)));
    sql_add(q, ", ");
    sql_add_param(q, value_int(sql_ns(after->start_us)));
    sql_add(q, ", ");
    sql_add_id(q, after->run_id);
    sql_add(q, ")");
}

static void add_limit(struct sql_text *q, const struct read *r) {
    sql_add(q, " LIMIT ");
    sql_add_param(q, value_int((int64_t)MIN(r->limit, (size_t)INT64_MAX)));
}

static void add_page(struct sql_text *q, const struct read *r, const struct predicate *lead,
                     const struct value *v) {
    const char *from = lead && !sql_column(lead->name) ? "d" : "v";
    sql_add(q, "SELECT v.run_id, v.close_ns, v.start_ns, v.body");
    add_from(q, r, lead, v);
    if (r->after)
        add_after(q, r->after, from);
    sql_add(q, *from == 'd' ? " ORDER BY d.close_ns DESC, d.start_ns DESC, d.run_id DESC"
                            : " ORDER BY v.close_ns DESC, v.start_ns DESC, v.run_id DESC");
    add_limit(q, r);
}

/* With several values in the lead, a page of each, merged. A run that has two of them comes once. */
static void build_list(struct sql_text *q, const struct read *r) {
    const struct predicate *lead = sql_leading_test(r->where);
    if (!lead || lead->count == 1) {
        add_page(q, r, lead, lead ? lead->values : NULL);
        return;
    }
    for (size_t i = 0; i < lead->count; i++) {
        sql_add(q, i ? " UNION SELECT * FROM (" : "SELECT * FROM (");
        add_page(q, r, lead, &lead->values[i]);
        sql_add(q, ")");
    }
    sql_add(q, " ORDER BY 2 DESC, 3 DESC, 1 DESC");
    add_limit(q, r);
}

static void build_count(struct sql_text *q, const struct read *r) {
    const struct predicate *lead = sql_leading_test(r->where);
    const char *group = r->group_by.n ? sql_column(r->group_by) : NULL;
    ensure(group || !r->group_by.n);
    if (lead && lead->count > 1)
        lead = NULL;
    sql_add(q, "SELECT count(*)");
    if (group) {
        sql_add(q, ", ");
        sql_add(q, group);
    }
    add_from(q, r, lead, lead ? lead->values : NULL);
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
