/* Questions about what lists show (sqlite_entry.c writes it).
 *
 * Every row that passes a filter is in each of some ranges of indexes (sqlite_seek.h). A page can be made in
 * two ways: read an index that keeps the order of lists, from the place where the page begins, until
 * enough rows have passed; or gather all that a range has, sort that, and see what passes. The first is quick
 * when many pass, the second when the range is short, and nothing tells beforehand. So both are tried, each
 * with a little effort, then with more: a look at so many rows in order; a count of each range, as far as
 * that number.
 *
 * What takes long then is a filter that few pass although each of its tests is passed by many, or has no
 * index: the whole of the best index is read, in one statement. Statements are prepared for each question:
 * that takes less time than a page. */
#include "base/clock.h"
#include "store/sqlite/sqlite_int.h"
#include "store/sqlite/sqlite_seek.h"

#define PLACE_COLUMNS "v.run_id, v.close_ns, v.start_ns, "
#define KEY_COLUMNS "k.run_id, k.close_ns, k.start_ns, "
#define LIST_ORDER(row) " ORDER BY " row ".close_ns DESC, " row ".start_ns DESC, " row ".run_id DESC"
#define MERGED_ORDER " ORDER BY 2 DESC, 3 DESC, 1 DESC" /* of either */

#define EFFORT_FIRST 4 /* rows that are looked at for each that is wanted, */
#define EFFORT_GROWTH                                                                                        \
    8 /* so many times as many each time, and as many again are counted: that is cheaper,                    \
       */
#define EFFORT_MAX 32768 /* and no more */
#define SWEEP_SHARE 8 /* what of a page must have been found by then for the order to be worth keeping to */
#define COUNT_EFFORT 500 /* a count wants no rows */
#define PARAMS_MAX 16384 /* of one statement, about; SQLite takes 32,766 unless it was built to take more */

/* A question being answered. */
struct visibility_question {
    sqlite3 *db;
    const struct read *r;
    void (*on_row)(void *ctx, const struct row *row);
    void *ctx;
    struct seeks seeks;
    struct visibility_place place; /* behind which to go on, */
    const struct visibility_place *after; /* if not NULL */
    size_t row_count;
    size_t bytes;
    bool tries; /* all that it may: what is left then is passed by few */
};

static bool visibility_is_full(const struct visibility_question *a) {
    bool is_list = a->r->kind == READ_VISIBILITY;
    return (is_list && a->row_count >= a->r->limit) || (a->r->bytes_max && a->bytes >= a->r->bytes_max);
}

/* statements */

static void visibility_add_row_columns(struct sql_text *q, const struct read *r) {
    sql_add(q, "SELECT " PLACE_COLUMNS);
    sql_add(q, r->wants_state ? SQL_WITH_STATE("state") : "v.body");
}

static void visibility_add_limit(struct sql_text *q, size_t limit) {
    sql_add(q, " LIMIT ");
    sql_add_param(q, value_int((int64_t)MIN(limit, (size_t)INT64_MAX)));
}

static void visibility_add_filter(struct sql_text *q, const struct visibility_question *a) {
    if (!a->r->where)
        return;
    sql_add(q, " AND ");
    sql_add_predicate(q, a->r->where);
}

/* What a range has, and where it keeps the order, only so much of it. */
static void visibility_add_part(struct sql_text *q, const struct visibility_question *a, const struct seek *k,
                                const struct seek_range *g, size_t limit) {
    sql_add(q, "SELECT " KEY_COLUMNS);
    sql_add(q, seek_index(g) ? "k.rowid" : "NULL"); /* where the row is, when the index tells */
    seek_add_from(q, g);
    seek_add_where(q, &a->seeks, g);
    seek_add_window(q, &a->seeks, a->after);
    if (!k->is_ordered)
        return;
    sql_add(q, LIST_ORDER("k"));
    visibility_add_limit(q, limit);
}

/* The next runs of a seek in the order of lists, whether they pass or not; one may come again at once. */
static void visibility_add_keys(struct sql_text *q, const struct visibility_question *a, const struct seek *k,
                                size_t limit) {
    if (k->count == 1 && k->is_ordered) {
        visibility_add_part(q, a, k, &k->ranges[0], limit);
        return;
    }
    for (size_t i = 0; i < k->count; i++) {
        sql_add(q, i ? " UNION SELECT * FROM (" : "SELECT DISTINCT * FROM (");
        visibility_add_part(q, a, k, &k->ranges[i], limit);
        sql_add(q, ")");
    }
    sql_add(q, MERGED_ORDER);
    visibility_add_limit(q, limit);
}

/* All rows that pass. how: " INDEXED BY " and so on; "" for SQLite's choice. */
static void visibility_add_table(struct sql_text *q, const struct visibility_question *a, const char *how,
                                 const char *index) {
    sql_add(q, " FROM visibility v");
    sql_add(q, how);
    sql_add(q, index);
    sql_add(q, " WHERE v.namespace_id = ");
    sql_add_id(q, a->r->namespace_id);
    visibility_add_filter(q, a);
}

static void visibility_add_after(struct sql_text *q, const struct visibility_place *after) {
    sql_add(q, " AND (v.close_ns, v.start_ns, v.run_id) < (");
    sql_add_place(q, after);
    sql_add(q, ")");
}

/* An index of the table of runs can often tell without the row that it does not pass. Two tests of where to
 * begin would compete, so then it does not. */
static bool visibility_is_direct(const struct visibility_question *a, const struct seek_range *g) {
    return seek_index(g) && !(a->after && a->seeks.closed_count);
}

static void visibility_add_direct(struct sql_text *q, const struct visibility_question *a,
                                  const struct seek_range *g) {
    visibility_add_table(q, a, " INDEXED BY ", seek_index(g));
    if (g->test) {
        sql_add(q, " AND ");
        sql_add(q, sql_column(g->test->name));
        sql_add(q, " = ");
        sql_add_param(q, *g->value);
    }
    if (a->after)
        visibility_add_after(q, a->after);
}

/* All of a range of the lead, each with its row, as far as it passes. */
static void visibility_add_range(struct sql_text *q, const struct visibility_question *a,
                                 const struct seek_range *g) {
    if (visibility_is_direct(a, g)) {
        visibility_add_direct(q, a, g);
        return;
    }
    seek_add_from(q, g);
    sql_add(q, " CROSS JOIN visibility v");
    seek_add_where(q, &a->seeks, g);
    seek_add_window(q, &a->seeks, a->after);
    seek_add_started(q, &a->seeks, "k.start_ns");
    seek_add_row(q, g);
    visibility_add_filter(q, a);
}

/* The rows of the lead that pass, in order. Of several ranges a page each, merged; a run that is in two of
 * them comes once. */
static void visibility_add_rows(struct sql_text *q, const struct visibility_question *a) {
    const struct seek *k = &a->seeks.lead;
    size_t limit = a->r->limit - a->row_count;
    for (size_t i = 0; i < k->count; i++) {
        if (k->count > 1)
            sql_add(q, i ? " UNION SELECT * FROM (" : "SELECT * FROM (");
        visibility_add_row_columns(q, a->r);
        visibility_add_range(q, a, &k->ranges[i]);
        sql_add(q, visibility_is_direct(a, &k->ranges[i]) ? LIST_ORDER("v") : LIST_ORDER("k"));
        visibility_add_limit(q, limit);
        if (k->count > 1)
            sql_add(q, ")");
    }
    if (k->count == 1)
        return;
    sql_add(q, MERGED_ORDER);
    visibility_add_limit(q, limit);
}

/* rows */

static struct str visibility_column_bytes(sqlite3_stmt *st, int at) {
    const void *p = sqlite3_column_blob(st, at);
    return str_bytes(p, (size_t)sqlite3_column_bytes(st, at));
}

static struct row visibility_row_of(sqlite3_stmt *st, const struct read *r) {
    struct row row = {.namespace_id = r->namespace_id, .due_us = CLOCK_NEVER, .close_us = CLOCK_NEVER};
    if (r->kind == READ_VISIBILITY_COUNT) {
        row.count = sqlite3_column_int64(st, 0);
        if (r->group_by.n)
            row.name = visibility_column_bytes(st, 1);
        return row;
    }
    struct str id = visibility_column_bytes(st, 0);
    if (id.n == sizeof row.run_id.b)
        memcpy(row.run_id.b, id.p, id.n);
    row.close_us = sql_us(sqlite3_column_int64(st, 1));
    row.start_us = sql_us(sqlite3_column_int64(st, 2));
    row.body = visibility_column_bytes(st, 3);
    return row;
}

/* *ret is NULL unless it is SQLITE_OK. */
static int visibility_prepare_statement(const struct visibility_question *a, const struct sql_text *q,
                                        sqlite3_stmt **ret) {
    *ret = NULL;
    if (!sql_ok(q))
        return SQLITE_NOMEM;
    int rc = sqlite3_prepare_v2(a->db, (const char *)q->text.data, (int)q->text.len, ret, NULL);
    if (rc == SQLITE_OK)
        sql_bind(q, *ret);
    return rc;
}

/* Until there are no more, or enough. */
static int visibility_deliver_rows(struct visibility_question *a, sqlite3_stmt *st) {
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct row row = visibility_row_of(st, a->r);
        a->bytes += row.body.n;
        a->row_count++;
        a->on_row(a->ctx, &row);
        if (visibility_is_full(a))
            return SQLITE_DONE;
    }
    return rc;
}

static int visibility_run_statement(struct visibility_question *a, const struct sql_text *q) {
    sqlite3_stmt *st;
    int rc = visibility_prepare_statement(a, q, &st);
    if (rc == SQLITE_OK)
        rc = visibility_deliver_rows(a, st);
    sqlite3_finalize(st);
    return rc;
}

/* trying */

#define ROWID_PARAM 1
#define RUN_ID_PARAM 2

/* The row of a run by its place in the table or, for want of that, by its id. */
static void visibility_add_row(struct sql_text *q, const struct visibility_question *a) {
    visibility_add_row_columns(q, a->r);
    sql_add(q, " FROM visibility v WHERE v.rowid = coalesce(");
    sql_add_param(q, value_int(0));
    sql_add(q, ", (SELECT x.rowid FROM visibility x WHERE x.run_id = ");
    sql_add_id(q, a->r->namespace_id); /* each in turn is bound instead */
    sql_add(q, " AND x.namespace_id = ");
    sql_add_id(q, a->r->namespace_id);
    sql_add(q, "))");
    visibility_add_filter(q, a);
}

/* The row that `a` has come to, if it passes. */
static int visibility_try_row(struct visibility_question *a, sqlite3_stmt *row, sqlite3_value *rowid) {
    sqlite3_bind_value(row, ROWID_PARAM, rowid);
    sqlite3_bind_blob(row, RUN_ID_PARAM, a->place.run_id.b, sizeof a->place.run_id.b, SQLITE_STATIC);
    int rc = visibility_deliver_rows(a, row);
    sqlite3_reset(row);
    return rc;
}

/* Of the keys, one by one, the rows that pass. Stops behind the last that was tried. */
static int visibility_try_keys(struct visibility_question *a, sqlite3_stmt *keys, sqlite3_stmt *row,
                               size_t *ret_count) {
    int rc;
    while ((rc = sqlite3_step(keys)) == SQLITE_ROW) {
        struct row key = visibility_row_of(keys, a->r);
        bool is_again = *ret_count && memcmp(&key.run_id, &a->place.run_id, sizeof key.run_id) == 0;
        ++*ret_count;
        a->place = (struct visibility_place){key.close_us, key.start_us, key.run_id};
        a->after = &a->place;
        if (is_again || !seeks_started(&a->seeks, sqlite3_column_int64(keys, 2)))
            continue;
        rc = visibility_try_row(a, row, sqlite3_column_value(keys, 3));
        if (rc != SQLITE_DONE || visibility_is_full(a))
            return rc;
    }
    return rc;
}

/* The next `effort` runs of a seek are tried. *ret_is_over: the page is full, or there were no more. */
static int visibility_try_seek(struct visibility_question *a, const struct seek *k, size_t effort,
                               bool *ret_is_over) {
    struct sql_text key_text cleanup(sql_done), row_text cleanup(sql_done);
    sqlite3_stmt *keys, *row = NULL;
    size_t count = 0;
    sql_init(&key_text);
    sql_init(&row_text);
    visibility_add_keys(&key_text, a, k, effort);
    visibility_add_row(&row_text, a);
    int rc = visibility_prepare_statement(a, &key_text, &keys);
    if (rc == SQLITE_OK)
        rc = visibility_prepare_statement(a, &row_text, &row);
    if (rc == SQLITE_OK)
        rc = visibility_try_keys(a, keys, row, &count);
    sqlite3_finalize(row);
    sqlite3_finalize(keys);
    *ret_is_over = visibility_is_full(a) || count < effort;
    return rc;
}

static int visibility_count_seek(const struct visibility_question *a, const struct seek *k, size_t most,
                                 size_t *ret) {
    struct sql_text q cleanup(sql_done);
    sqlite3_stmt *st;
    sql_init(&q);
    for (size_t i = 0; i < k->count; i++) {
        sql_add(&q, i ? " UNION ALL SELECT 1" : "SELECT count(*) FROM (SELECT 1");
        seek_add_from(&q, &k->ranges[i]);
        seek_add_where(&q, &a->seeks, &k->ranges[i]);
        if (k->is_ordered)
            seek_add_window(&q, &a->seeks, a->after);
    }
    visibility_add_limit(&q, most);
    sql_add(&q, ")");
    int rc = visibility_prepare_statement(a, &q, &st);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    *ret = rc == SQLITE_ROW ? (size_t)sqlite3_column_int64(st, 0) : most;
    sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}

/* The seek with the fewest runs, if there are fewer than `most`; else NULL. */
static int visibility_find_short(const struct visibility_question *a, size_t most, const struct seek **ret) {
    int rc = SQLITE_DONE;
    *ret = NULL;
    for (size_t i = 0; i < a->seeks.count && most && rc == SQLITE_DONE; i++) {
        size_t n;
        rc = visibility_count_seek(a, &a->seeks.list[i], most, &n);
        if (n < most) {
            *ret = &a->seeks.list[i];
            most = n;
        }
    }
    return rc;
}

/* lists */

/* Whether the index of the order does not tell what is asked for, so that each run's row has to be read. */
static bool visibility_needs_rows(const struct predicate *p) {
    static const char *const told[] = {"StartTime", "CloseTime", "RunId", "TemporalNamespaceDivision"};
    if (p->kind == PREDICATE_AND || p->kind == PREDICATE_OR)
        return visibility_needs_rows(p->left) || visibility_needs_rows(p->right);
    if (p->kind == PREDICATE_NOT)
        return visibility_needs_rows(p->left);
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        if (str_is(p->name, told[i]))
            return false;
    return sql_column(p->name) != NULL;
}

/* Every row of the namespace has to be read, and in the order of lists they lie scattered. */
static bool visibility_is_scattered(const struct visibility_question *a) {
    const struct seek *lead = &a->seeks.lead;
    return a->tries && lead->count && !lead->ranges[0].test && visibility_needs_rows(a->r->where);
}

static size_t visibility_param_count(const struct predicate *p) {
    return p ? 1 + p->count + visibility_param_count(p->left) + visibility_param_count(p->right) : 0;
}

/* Whether the filter can be repeated for each range of the lead. */
static bool visibility_can_lead(const struct visibility_question *a) {
    size_t ranges = a->seeks.lead.count;
    return ranges == 1 || (ranges && ranges * visibility_param_count(a->r->where) <= PARAMS_MAX);
}

/* All that is left, however long it takes. Scattered rows of which next to none pass are read as they lie in
 * the table, several times as fast, and then sorted. */
static int visibility_read_rest(struct visibility_question *a) {
    struct sql_text q cleanup(sql_done);
    bool is_swept = visibility_is_scattered(a) && a->row_count < a->r->limit / SWEEP_SHARE;
    sql_init(&q);
    if (visibility_can_lead(a) && !is_swept) {
        visibility_add_rows(&q, a);
        return visibility_run_statement(a, &q);
    }
    visibility_add_row_columns(&q, a->r);
    visibility_add_table(&q, a, is_swept ? " NOT INDEXED" : "", "");
    if (a->after)
        visibility_add_after(&q, a->after);
    sql_add(&q, LIST_ORDER("v"));
    visibility_add_limit(&q, a->r->limit - a->row_count);
    return visibility_run_statement(a, &q);
}

/* How far back the n-th run of an ordered seek lies. */
static int visibility_find_reach(const struct visibility_question *a, const struct seek *k, size_t n,
                                 int64_t *ret_ns) {
    struct sql_text q cleanup(sql_done);
    sqlite3_stmt *st;
    sql_init(&q);
    sql_add(&q, "SELECT * FROM (");
    visibility_add_keys(&q, a, k, n);
    sql_add(&q, ") LIMIT 1 OFFSET ");
    sql_add_param(&q, value_int((int64_t)n - 1));
    int rc = visibility_prepare_statement(a, &q, &st);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    *ret_ns = rc == SQLITE_ROW ? sqlite3_column_int64(st, 1) : INT64_MIN;
    sqlite3_finalize(st);
    return rc == SQLITE_ROW ? SQLITE_DONE : rc;
}

/* Of several that keep the order the thinnest leads: the one whose next page reaches furthest back. */
static int visibility_choose_lead(struct visibility_question *a) {
    const struct seek *best = NULL;
    int64_t furthest = INT64_MAX, ns;
    int rc = SQLITE_DONE;
    for (size_t i = 0; i < a->seeks.count && rc == SQLITE_DONE; i++) {
        if (!a->seeks.list[i].is_ordered)
            continue;
        rc = visibility_find_reach(a, &a->seeks.list[i], a->r->limit, &ns);
        if (!best || ns < furthest)
            best = &a->seeks.list[i];
        furthest = MIN(furthest, ns);
    }
    if (best)
        a->seeks.lead = *best;
    return rc;
}

/* More and more effort, until one of them ends it. */
static int visibility_try_list(struct visibility_question *a, bool *ret_is_over) {
    const struct seek *lead = &a->seeks.lead, *few = NULL;
    int rc = visibility_choose_lead(a);
    if (rc == SQLITE_DONE && lead->count)
        rc = visibility_try_seek(a, lead, a->r->limit, ret_is_over);
    size_t effort = a->r->limit * EFFORT_FIRST;
    for (; effort * EFFORT_GROWTH <= EFFORT_MAX; effort *= EFFORT_GROWTH) {
        if (rc == SQLITE_DONE && !*ret_is_over)
            rc = visibility_find_short(a, effort * EFFORT_GROWTH, &few);
        if (rc != SQLITE_DONE || *ret_is_over)
            return rc;
        if (few)
            return visibility_try_seek(a, few, effort * EFFORT_GROWTH, ret_is_over);
        if (lead->count)
            rc = visibility_try_seek(a, lead, effort, ret_is_over);
    }
    if (rc == SQLITE_DONE && !*ret_is_over && visibility_is_scattered(a) && effort <= EFFORT_MAX)
        rc = visibility_try_seek(a, lead, effort, ret_is_over);
    return rc;
}

static int visibility_read_list(struct visibility_question *a) {
    bool is_over = a->r->limit == 0;
    int rc = SQLITE_DONE;
    a->tries = a->tries && a->r->where && !a->seeks.is_exact && a->r->limit <= EFFORT_MAX;
    if (a->tries && !is_over)
        rc = visibility_try_list(a, &is_over);
    return rc == SQLITE_DONE && !is_over ? visibility_read_rest(a) : rc;
}

/* counts */

static void visibility_add_counted(struct sql_text *q, const struct visibility_question *a,
                                   const struct seek *few) {
    const struct seek_range *first = &a->seeks.lead.ranges[0];
    if (few) {
        sql_add(q, " FROM (SELECT DISTINCT run_id FROM (");
        visibility_add_keys(q, a, few, SIZE_MAX);
        sql_add(q, ")) c CROSS JOIN visibility v ON v.run_id = c.run_id AND v.namespace_id = ");
        sql_add_id(q, a->r->namespace_id);
        sql_add(q, " WHERE 1");
        visibility_add_filter(q, a);
    } else if (a->seeks.is_exact && a->seeks.lead.count == 1 && seek_index(first)) {
        visibility_add_table(q, a, " INDEXED BY ", seek_index(first)); /* which holds all that is asked for */
    } else if (a->seeks.lead.count == 1 && first->test) {
        visibility_add_range(q, a, first);
    } else {
        visibility_add_table(q, a, "", "");
    }
}

static void visibility_build_count(struct sql_text *q, const struct visibility_question *a,
                                   const struct seek *few) {
    const char *group = a->r->group_by.n ? sql_column(a->r->group_by) : NULL;
    ensure(group || !a->r->group_by.n);
    sql_add(q, "SELECT count(*)");
    if (group) {
        sql_add(q, ", ");
        sql_add(q, group);
    }
    visibility_add_counted(q, a, few);
    if (!group)
        return;
    sql_add(q, " GROUP BY ");
    sql_add(q, group);
    sql_add(q, " ORDER BY ");
    sql_add(q, group);
}

static int visibility_run_count(struct visibility_question *a, const struct seek *few) {
    struct sql_text q cleanup(sql_done);
    sql_init(&q);
    visibility_build_count(&q, a, few);
    return visibility_run_statement(a, &q);
}

static int visibility_read_count(struct visibility_question *a) {
    const struct seek *few = NULL;
    int rc = SQLITE_DONE;
    bool searches = a->tries && !a->seeks.is_exact && a->seeks.count;
    for (size_t effort = COUNT_EFFORT; searches && !few && rc == SQLITE_DONE && effort <= EFFORT_MAX;
         effort *= EFFORT_GROWTH)
        rc = visibility_find_short(a, effort, &few);
    return rc == SQLITE_DONE ? visibility_run_count(a, few) : rc;
}

int sqlite_read_visibility(sqlite3 *db, const struct read *r, bool tries,
                           void (*row)(void *ctx, const struct row *row), void *ctx) {
    struct visibility_question a = {
        .db = db, .r = r, .on_row = row, .ctx = ctx, .after = r->after, .tries = tries};
    seeks_find(&a.seeks, r);
    return r->kind == READ_VISIBILITY ? visibility_read_list(&a) : visibility_read_count(&a);
}
