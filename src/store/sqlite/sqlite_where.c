/* From predicates to SQL.
 *
 * Every test is written so that it is never NULL (a test of a missing value is
 * false), because NOT must turn it into true. Out of memory is sticky: the
 * caller asks sql_ok() once. */
#include "store/sqlite/sqlite_where.h"

#include "base/clock.h"
#include "base/mem.h"

#define SQL_BYTES_MAX ((size_t)4 << 20)
#define PARAMS_FIRST 16
/* The run id is stored as bytes and asked for as text. */
#define RUN_ID_TEXT                                                                                          \
    "lower(substr(hex(v.run_id),1,8)||'-'||substr(hex(v.run_id),9,4)||'-'||substr(hex(v.run_id),13,4)"       \
    "||'-'||substr(hex(v.run_id),17,4)||'-'||substr(hex(v.run_id),21,12))"

struct column {
    struct str name;
    const char *sql;
    const char *has_value;
    const char *has_none;
};

static const struct column columns[] = {
#define NAMED(name)                                                                                          \
    { (name), sizeof(name) - 1 }
#define COLUMN(name, column, number)                                                                         \
    {NAMED(name), "v." #column, "v." #column " IS NOT NULL", "v." #column " IS NULL"},
#define MOVING(name, column, number)                                                                         \
    {NAMED(name), SQL_WITH_STATE(#column), SQL_WITH_STATE(#column) " IS NOT NULL",                           \
     SQL_WITH_STATE(#column) " IS NULL"},
#include "store/sqlite/columns.def"
#undef COLUMN
    {NAMED("RunId"), RUN_ID_TEXT, "1", "0"},
    {NAMED("StartTime"), "v.start_ns", "1", "0"},
    {NAMED("CloseTime"), "v.close_ns", "v.close_ns < 9223372036854775807",
     "v.close_ns = 9223372036854775807"},
};

int64_t sql_ns(int64_t us) {
    int64_t ns;
    return us == CLOCK_NEVER || __builtin_mul_overflow(us, (int64_t)NSEC_PER_USEC, &ns) ? OPEN_NS : ns;
}

int64_t sql_us(int64_t ns) {
    return ns == OPEN_NS ? CLOCK_NEVER : ns / NSEC_PER_USEC;
}

/* the text */

void sql_init(struct sql_text *q) {
    *q = (struct sql_text){0};
    buf_init(&q->text, SQL_BYTES_MAX);
}

void sql_done(struct sql_text *q) {
    buf_done(&q->text);
    mem_free(take(&q->params));
}

bool sql_ok(const struct sql_text *q) {
    return !q->failed && buf_ok(&q->text);
}

void sql_add(struct sql_text *q, const char *fragment) {
    buf_add_cstr(&q->text, fragment);
}

static void sql_add_bound(struct sql_text *q, struct sql_param param) {
    if (q->count == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : PARAMS_FIRST;
        struct sql_param *bigger = mem_resize(q->params, cap * sizeof(*bigger));
        if (!bigger) {
            q->failed = true;
            return;
        }
        q->params = bigger;
        q->cap = cap;
    }
    q->params[q->count++] = param;
    sql_add(q, "?");
}

void sql_add_param(struct sql_text *q, struct value v) {
    sql_add_bound(q, (struct sql_param){.value = v});
}

void sql_add_id(struct sql_text *q, struct uuid u) {
    sql_add_bound(q, (struct sql_param){.id = u, .is_id = true});
}

void sql_add_place(struct sql_text *q, const struct visibility_place *place) {
    sql_add_param(q, value_int(sql_ns(place->close_us)));
    sql_add(q, ", ");
    sql_add_param(q, value_int(sql_ns(place->start_us)));
    sql_add(q, ", ");
    sql_add_id(q, place->run_id);
}

static void sql_bind_one(sqlite3_stmt *st, int at, const struct sql_param *param) {
    const struct value *v = &param->value;
    if (param->is_id)
        sqlite3_bind_blob(st, at, param->id.b, sizeof param->id.b, SQLITE_STATIC);
    else if (v->kind == VALUE_TEXT)
        sqlite3_bind_text64(st, at, v->text.n ? v->text.p : "", v->text.n, SQLITE_STATIC, SQLITE_UTF8);
    else if (v->kind == VALUE_INT)
        sqlite3_bind_int64(st, at, v->number);
    else
        sqlite3_bind_double(st, at, v->real);
}

void sql_bind(const struct sql_text *q, sqlite3_stmt *st) {
    for (size_t i = 0; i < q->count; i++)
        sql_bind_one(st, (int)i + 1, &q->params[i]);
}

/* tests */

static const struct column *sql_find_column(struct str name) {
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        if (str_eq(name, columns[i].name))
            return &columns[i];
    return NULL;
}

const char *sql_column(struct str name) {
    const struct column *c = sql_find_column(name);
    return c ? c->sql : NULL;
}

static const char *sql_operator_of(enum predicate_kind kind) {
    switch (kind) {
    case PREDICATE_BELOW:
        return " < ";
    case PREDICATE_AT_MOST:
        return " <= ";
    case PREDICATE_ABOVE:
        return " > ";
    case PREDICATE_AT_LEAST:
        return " >= ";
    case PREDICATE_AND:
    case PREDICATE_OR:
    case PREDICATE_NOT:
    case PREDICATE_EQUAL:
    case PREDICATE_PREFIX:
    case PREDICATE_PRESENT:
        break;
    }
    ensure(!"only comparisons have an operator");
    return NULL;
}

/* One of no values is a test too. SQLite would see that a constant is false, and then that it needs no index,
 * not even one that it is told to use. */
static void sql_add_equal(struct sql_text *q, const char *column, const struct predicate *p) {
    sql_add(q, column);
    if (p->count == 0) {
        sql_add(q, " <> ");
        sql_add(q, column);
        return;
    }
    if (p->count == 1) {
        sql_add(q, " = ");
        sql_add_param(q, p->values[0]);
        return;
    }
    sql_add(q, " IN (");
    for (size_t i = 0; i < p->count; i++) {
        sql_add(q, i ? ", " : "");
        sql_add_param(q, p->values[i]);
    }
    sql_add(q, ")");
}

/* Texts that begin with P are those from P up to P and 0xff, a byte that UTF-8 does not have. */
static void sql_add_prefix(struct sql_text *q, const char *column, struct value prefix) {
    sql_add(q, column);
    sql_add(q, " >= ");
    sql_add_param(q, prefix);
    sql_add(q, " AND ");
    sql_add(q, column);
    sql_add(q, " < (");
    sql_add_param(q, prefix);
    sql_add(q, " || CAST(x'ff' AS TEXT))");
}

void sql_add_comparison(struct sql_text *q, const char *column, const struct predicate *p) {
    sql_add(q, column);
    sql_add(q, sql_operator_of(p->kind));
    sql_add_param(q, p->values[0]);
}

void sql_add_condition(struct sql_text *q, const char *column, const struct predicate *p) {
    if (p->kind == PREDICATE_PRESENT) {
        sql_add(q, "1");
    } else if (p->kind == PREDICATE_EQUAL) {
        sql_add_equal(q, column, p);
    } else if (p->kind == PREDICATE_PREFIX) {
        sql_add_prefix(q, column, p->values[0]);
    } else {
        sql_add_comparison(q, column, p);
        /* Texts are above all numbers; what was written when the attribute had another type is neither. */
        sql_add(q, " AND typeof(");
        sql_add(q, column);
        sql_add(q, p->values[0].kind == VALUE_TEXT ? ") = 'text'" : ") <> 'text'");
    }
}

void sql_add_run_id(struct sql_text *q, const char *column, const struct predicate *p) {
    sql_add(q, column);
    sql_add(q, p->count ? " IN (" : " IN (x''");
    for (size_t i = 0; i < p->count; i++) {
        struct uuid u;
        bool is_id = p->values[i].kind == VALUE_TEXT && uuid_parse(p->values[i].text, &u) == 0 &&
                     str_is(p->values[i].text, uuid_format(u).s);
        sql_add(q, i ? ", " : "");
        if (is_id)
            sql_add_id(q, u);
        else
            sql_add(q, "x''");
    }
    sql_add(q, ")");
}

/* "+" keeps the index for the condition: two bounds on one column would compete for it. */
static void sql_add_column_test(struct sql_text *q, const struct column *c, const struct predicate *p) {
    if (p->kind == PREDICATE_PRESENT) {
        sql_add(q, c->has_value);
        return;
    }
    sql_add(q, "(+");
    sql_add(q, c->has_value);
    sql_add(q, " AND ");
    sql_add_condition(q, c->sql, p);
    sql_add(q, ")");
}

static void sql_add_attribute_test(struct sql_text *q, const struct predicate *p) {
    sql_add(q, "EXISTS (SELECT 1 FROM visibility_attributes a WHERE a.namespace_id = v.namespace_id"
               " AND a.run_id = v.run_id AND a.name = ");
    sql_add_param(q, value_text(p->name));
    sql_add(q, " AND ");
    sql_add_condition(q, "a.value", p);
    sql_add(q, ")");
}

static void sql_add_test(struct sql_text *q, const struct predicate *p) {
    const struct column *c = sql_find_column(p->name);
    if (c && p->kind == PREDICATE_EQUAL && str_is(c->name, "RunId"))
        sql_add_run_id(q, "v.run_id", p);
    else if (c)
        sql_add_column_test(q, c, p);
    else
        sql_add_attribute_test(q, p);
}

static const struct column *sql_column_of_absence(const struct predicate *p) {
    return p->kind == PREDICATE_NOT && p->left->kind == PREDICATE_PRESENT ? sql_find_column(p->left->name)
                                                                          : NULL;
}

/* SQLite's parser has room for a hundred words and expressions of which the end has not come yet. So a row of
 * ANDs or of ORs has one pair of brackets, in whatever way it is nested; two NOTs are none; and what is
 * deepest comes first, while nothing but brackets is open. */

static bool sql_is_joint(const struct predicate *p) {
    return p->kind == PREDICATE_AND || p->kind == PREDICATE_OR;
}

static const struct predicate *sql_without_double_not(const struct predicate *p) {
    while (p->kind == PREDICATE_NOT && p->left->kind == PREDICATE_NOT)
        p = p->left->left;
    return p;
}

/* How many brackets are open in the middle of p, if it stands in a row of this kind. */
static size_t sql_depth_in(enum predicate_kind row, const struct predicate *p) {
    p = sql_without_double_not(p);
    if (p->kind == PREDICATE_NOT)
        return 1 + sql_depth_in(p->left->kind, p->left);
    if (!sql_is_joint(p))
        return 0;
    size_t left = sql_depth_in(p->kind, p->left), right = sql_depth_in(p->kind, p->right);
    return (p->kind != row) + MAX(left, right);
}

static void sql_add_row(struct sql_text *q, const struct predicate *p);

static void sql_add_side(struct sql_text *q, enum predicate_kind row, const struct predicate *p) {
    p = sql_without_double_not(p);
    if (p->kind == row)
        sql_add_row(q, p);
    else
        sql_add_predicate(q, p);
}

/* Without the brackets around it. */
static void sql_add_row(struct sql_text *q, const struct predicate *p) {
    bool is_turned = sql_depth_in(p->kind, p->right) > sql_depth_in(p->kind, p->left);
    sql_add_side(q, p->kind, is_turned ? p->right : p->left);
    sql_add(q, p->kind == PREDICATE_AND ? " AND " : " OR ");
    sql_add_side(q, p->kind, is_turned ? p->left : p->right);
}

void sql_add_predicate(struct sql_text *q, const struct predicate *p) {
    p = sql_without_double_not(p);
    const struct column *absent = sql_column_of_absence(p);
    const struct predicate *inner = p->kind == PREDICATE_NOT ? p->left : p;
    if (absent) {
        sql_add(q, absent->has_none); /* as the partial indexes have it */
    } else if (inner == p && !sql_is_joint(p)) {
        sql_add_test(q, p);
    } else {
        sql_add(q, inner == p ? "(" : "NOT (");
        if (sql_is_joint(inner))
            sql_add_row(q, inner);
        else
            sql_add_test(q, inner);
        sql_add(q, ")");
    }
}
