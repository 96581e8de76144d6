/* Questions about what lists show (sqlite_entry.c writes it).
 *
 * The happy path of a list: the predicate becomes a WHERE clause, an index that
 * ends with the order of the list is read backwards from the place that the
 * page begins behind, and the first `limit` rows that pass are the page. When
 * the filter asks for one of a few values of something with an index, the rows
 * of each value are read that way, and merged; without such a test the first rows
 * of all are looked at before anything else. Statements are prepared for each
 * question: that takes less time than a page. */
#include "base/clock.h"
#include "store/sqlite/sqlite_int.h"
#include "store/sqlite/sqlite_where.h"

#define STATE_SQL                                                                                            \
    "(SELECT x.state FROM executions x WHERE x.namespace_id = v.namespace_id AND x.run_id = v.run_id)"

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

/* Behind the place, by the order of the index that begins with `from`: "d" for that of an attribute, "v" for
 * any of the runs', "+v" when another index than that of the order is to be preferred. */
static void add_after(struct sql_text *q, const struct visibility_place *after, const char *from) {
    sql_add(q, " AND (");
    sql_add(q, from);
    sql_add(q,
            *from == 'd' ? ".close_ns, d.start_ns, d.run_id) < (" : ".close_ns, v.start_ns, v.run_id) < (");
    sql_add_param(q, value_int(sql_ns(after->close_us)));
    sql_add(q, ", ");
    sql_add_param(q, value_int(sql_ns(after->start_us)));
    sql_add(q, ", ");
    sql_add_id(q, after->run_id);
    sql_add(q, ")");
}

static void add_limit(struct sql_text *q, size_t limit) {
    sql_add(q, " LIMIT ");
    sql_add_param(q, value_int((int64_t)MIN(limit, (size_t)INT64_MAX)));
}

#define PAGE_ORDER " ORDER BY v.close_ns DESC, v.start_ns DESC, v.run_id DESC"

static void add_page(struct sql_text *q, const struct read *r, const struct predicate *lead,
                     const struct value *v) {
    const char *from = lead && !sql_column(lead->name) ? "d" : "v";
    sql_add(q, "SELECT v.run_id, v.close_ns, v.start_ns, ");
    sql_add(q, r->wants_state ? STATE_SQL : "v.body");
    add_from(q, r, lead, v);
    if (r->after)
        add_after(q, r->after, !lead && sql_has_prefix(r->where) ? "+v" : from);
    sql_add(q, *from == 'd' ? " ORDER BY d.close_ns DESC, d.start_ns DESC, d.run_id DESC" : PAGE_ORDER);
    add_limit(q, r->limit);
}

/* With several values in the lead, a page of each, merged. A run that has two of them comes once. */
static void build_list(struct sql_text *q, const struct read *r) {
    struct sql_lead lead = sql_leading_tests(r->where);
    if (lead.value_count <= 1) {
        add_page(q, r, lead.tests[0], lead.count ? lead.tests[0]->values : NULL);
        return;
    }
    const char *join = "SELECT * FROM (";
    for (size_t t = 0; t < lead.count; t++) {
        for (size_t i = 0; i < lead.tests[t]->count; i++) {
            sql_add(q, join);
            add_page(q, r, lead.tests[t], &lead.tests[t]->values[i]);
            sql_add(q, ")");
            join = " UNION SELECT * FROM (";
        }
    }
    sql_add(q, " ORDER BY 2 DESC, 3 DESC, 1 DESC");
    add_limit(q, r->limit);
}

static void build_count(struct sql_text *q, const struct read *r) {
    struct sql_lead leads = sql_leading_tests(r->where);
    const struct predicate *lead = leads.value_count == 1 ? leads.tests[0] : NULL;
    const char *group = r->group_by.n ? sql_column(r->group_by) : NULL;
    ensure(group || !r->group_by.n);
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

/* A question being answered. */
struct asking {
    sqlite3 *db;
    const struct read *r;
    void (*on_row)(void *ctx, const struct row *row);
    void *ctx;
    size_t row_count;
    size_t bytes;
};

static bool is_full(const struct asking *a) {
    bool is_list = a->r->kind == READ_VISIBILITY;
    return (is_list && a->row_count >= a->r->limit) || (a->r->bytes_max && a->bytes >= a->r->bytes_max);
}

static int read_rows(struct asking *a, sqlite3_stmt *st) {
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct row row = row_of(st, a->r);
        a->bytes += row.body.n;
        a->row_count++;
        a->on_row(a->ctx, &row);
        if (a->r->bytes_max && a->bytes >= a->r->bytes_max)
            return SQLITE_DONE;
    }
    return rc;
}

static int run(struct asking *a, const struct sql_text *q) {
    sqlite3_stmt *st = NULL;
    if (!sql_ok(q))
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(a->db, (const char *)q->text.data, (int)q->text.len, &st, NULL);
    if (rc == SQLITE_OK) {
        sql_bind(q, st);
        rc = read_rows(a, st);
    }
    sqlite3_finalize(st);
    return rc;
}

/* A first look */

#define LOOK_FACTOR 4 /* rows that are looked at for each one that is wanted */

/* Whether only what has no division is asked for: so has it the index of the order. */
static bool is_undivided(const struct predicate *p) {
    if (p->kind == PREDICATE_AND)
        return is_undivided(p->left) || is_undivided(p->right);
    return p->kind == PREDICATE_NOT && p->left->kind == PREDICATE_PRESENT &&
           str_is(p->left->name, "TemporalNamespaceDivision");
}

/* The next rows of the namespace, whatever they are. */
static void add_look(struct sql_text *q, const char *columns, const struct read *r, size_t limit,
                     size_t skip) {
    sql_add(q, "SELECT ");
    sql_add(q, columns);
    sql_add(q, " FROM visibility v WHERE v.division IS NULL AND v.namespace_id = ");
    sql_add_id(q, r->namespace_id);
    if (r->after)
        add_after(q, r->after, "v");
    sql_add(q, PAGE_ORDER);
    add_limit(q, limit);
    sql_add(q, " OFFSET ");
    sql_add_param(q, value_int((int64_t)skip));
}

/* Where the look ended. *ret_is_over: there was nothing more to look at. */
static int find_end(const struct asking *a, size_t looks, struct visibility_place *ret, bool *ret_is_over) {
    struct sql_text q cleanup(sql_done);
    sqlite3_stmt *st = NULL;
    sql_init(&q);
    add_look(&q, "v.run_id, v.close_ns, v.start_ns, x''", a->r, 1, looks - 1);
    if (!sql_ok(&q))
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(a->db, (const char *)q.text.data, (int)q.text.len, &st, NULL);
    if (rc == SQLITE_OK) {
        sql_bind(&q, st);
        rc = sqlite3_step(st);
    }
    *ret_is_over = rc == SQLITE_DONE;
    if (rc == SQLITE_ROW) {
        struct row row = row_of(st, a->r);
        *ret = (struct visibility_place){row.close_us, row.start_us, row.run_id};
        rc = SQLITE_DONE;
    }
    sqlite3_finalize(st);
    return rc;
}

/* A test that most rows pass fills the page from the first rows in the order of lists, however badly it goes
 * with an index: they are looked at first. *ret_place is where they end, unless that was all. */
static int look(struct asking *a, struct visibility_place *ret_place, bool *ret_is_over) {
    struct sql_text q cleanup(sql_done);
    size_t looks = a->r->limit * LOOK_FACTOR;
    sql_init(&q);
    sql_add(&q, "SELECT v.run_id, v.close_ns, v.start_ns, v.body FROM (");
    add_look(&q, "*", a->r, looks, 0);
    sql_add(&q, ") v WHERE ");
    sql_add_predicate(&q, a->r->where);
    sql_add(&q, PAGE_ORDER);
    add_limit(&q, a->r->limit);
    int rc = run(a, &q);
    *ret_is_over = is_full(a);
    return rc == SQLITE_DONE && !is_full(a) ? find_end(a, looks, ret_place, ret_is_over) : rc;
}

/* Everything, or what an index leads to, is read in the right order anyway. */
static bool needs_look(const struct read *r) {
    return r->kind == READ_VISIBILITY && r->where && r->where->kind == PREDICATE_AND && r->limit &&
           r->limit < SIZE_MAX / LOOK_FACTOR && is_undivided(r->where) &&
           sql_leading_tests(r->where).count == 0;
}

int sqlite_read_visibility(sqlite3 *db, const struct read *r, bool looks,
                           void (*row)(void *ctx, const struct row *row), void *ctx) {
    struct sql_text q cleanup(sql_done);
    struct asking a = {.db = db, .r = r, .on_row = row, .ctx = ctx};
    struct read rest = *r;
    struct visibility_place place;
    sql_init(&q);
    if (looks && needs_look(r)) {
        bool is_over;
        int rc = look(&a, &place, &is_over);
        if (rc != SQLITE_DONE || is_over)
            return rc;
        rest.after = &place;
        rest.limit = r->limit - a.row_count;
    }
    if (r->kind == READ_VISIBILITY)
        build_list(&q, &rest);
    else
        build_count(&q, &rest);
    return run(&a, &q);
}
