/* From the tests of a filter to ranges of indexes.
 *
 * The indexes that keep the order of lists can be read from where a page begins; the others only tell who is
 * there. An OR is found where each of its sides is. What NOT stands in front of is found nowhere. */
#include "store/sqlite/sqlite_seek.h"

struct seek_way {
    struct str name;
    const char *index;
    const char *column;
    const char *also;
    bool is_ordered;
};

#define KEPT true
#define LOST false
#define UNDIVIDED "k.division IS NULL"

static const struct seek_way ways[] = {
#define WAY(name, index, column, order, also) {{(name), sizeof(name) - 1}, index, column, also, order},
#include "store/sqlite/ways.def"
#undef WAY
};

static const struct seek_way order_way = {
    .index = "visibility_order", .column = "k.close_ns", .also = UNDIVIDED, .is_ordered = true};

/* the parts of a filter */

/* The tests that must all hold. */
struct seek_conjuncts {
    const struct predicate *list[SEEKS_MAX * 4];
    size_t count;
    bool is_all; /* there was room for every one */
    bool is_undivided; /* only what has no division passes: so have it most of the indexes */
};

static bool seek_is_range(const struct predicate *p) {
    return p->kind == PREDICATE_BELOW || p->kind == PREDICATE_AT_MOST || p->kind == PREDICATE_ABOVE ||
           p->kind == PREDICATE_AT_LEAST;
}

static bool seek_is_lower(const struct predicate *p) {
    return p->kind == PREDICATE_ABOVE || p->kind == PREDICATE_AT_LEAST;
}

static bool seek_is_absent(const struct predicate *p, const char *name) {
    return p->kind == PREDICATE_NOT && p->left->kind == PREDICATE_PRESENT && str_is(p->left->name, name);
}

static void seek_split_conjuncts(struct seek_conjuncts *c, const struct predicate *p) {
    if (p->kind == PREDICATE_AND) {
        seek_split_conjuncts(c, p->left);
        seek_split_conjuncts(c, p->right);
    } else if (seek_is_absent(p, "TemporalNamespaceDivision")) {
        c->is_undivided = true;
    } else if (c->count < ARRAY_LEN(c->list)) {
        c->list[c->count++] = p;
    } else {
        c->is_all = false;
    }
}

/* one test */

/* The other end of a range. A name whose values are numbers has one of them; of several texts
 * one may pass this end, and another that. */
static const struct predicate *seek_bound_of(const struct seek_conjuncts *c, const struct predicate *p,
                                             bool has_column) {
    for (size_t i = 0; seek_is_range(p) && i < c->count; i++) {
        const struct predicate *other = c->list[i];
        if (seek_is_range(other) && str_eq(other->name, p->name) &&
            seek_is_lower(other) != seek_is_lower(p) &&
            (has_column || (p->values[0].kind != VALUE_TEXT && other->values[0].kind != VALUE_TEXT)))
            return other;
    }
    return NULL;
}

static void seek_add_range(struct seek *k, struct seek_range g) {
    if (k->count < SEEK_RANGES_MAX)
        k->ranges[k->count] = g;
    k->count++;
}

/* Every value is a range of its own, so that each keeps its order, unless there are many. */
static void seek_add_way(struct seek *k, const struct seek_conjuncts *c, const struct seek_way *way,
                         const struct predicate *p) {
    struct seek_range g = {.way = way, .test = p, .bound = seek_bound_of(c, p, way != NULL)};
    k->is_ordered &= (!way || way->is_ordered) && p->kind == PREDICATE_EQUAL && p->count <= SEEK_RANGES_MAX;
    if (p->kind != PREDICATE_EQUAL || p->count > SEEK_RANGES_MAX) {
        seek_add_range(k, g);
        return;
    }
    for (size_t i = 0; i < p->count; i++) {
        g.value = &p->values[i];
        seek_add_range(k, g);
    }
}

static bool seek_can_use(const struct seek_way *way, const struct seek_conjuncts *c,
                         const struct predicate *p) {
    bool is_equality = p->kind == PREDICATE_EQUAL;
    if (str_is(way->name, "RunId") || str_is(way->name, "TemporalNamespaceDivision"))
        return is_equality;
    return c->is_undivided && (is_equality || !str_is(way->name, "CloseTime"));
}

static struct seek seek_of_test(const struct seek_conjuncts *c, const struct predicate *p) {
    struct seek k = {.is_ordered = true};
    bool has_way = false;
    if (p->kind == PREDICATE_EQUAL && p->count == 0)
        return k;
    if (!sql_column(p->name)) {
        seek_add_way(&k, c, NULL, p);
        return k;
    }
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        if (!str_eq(ways[i].name, p->name) || !seek_can_use(&ways[i], c, p))
            continue;
        k.is_ordered &= !has_way;
        has_way = true;
        seek_add_way(&k, c, &ways[i], p);
    }
    return k;
}

/* any part of a filter */

static struct seek seek_of(const struct seek_conjuncts *c, const struct predicate *p);

/* Without counting: an equality is likely to be met by fewer than a beginning, and that by fewer than a
 * range. */
static int seek_likely_size(const struct seek *k) {
    if (k->count == 0)
        return 3;
    return k->is_ordered ? 0 : k->ranges[0].test->kind == PREDICATE_PREFIX || k->ranges[0].bound ? 1 : 2;
}

static struct seek seek_of_both(const struct seek_conjuncts *c, const struct predicate *p) {
    struct seek_conjuncts side = {.is_undivided = c->is_undivided, .is_all = true};
    struct seek best = {.count = 0};
    seek_split_conjuncts(&side, p);
    for (size_t i = 0; i < side.count; i++) {
        struct seek k = seek_of(&side, side.list[i]);
        if (seek_likely_size(&k) < seek_likely_size(&best))
            best = k;
    }
    return best;
}

static struct seek seek_of_either(const struct seek_conjuncts *c, const struct predicate *p) {
    struct seek left = seek_of(c, p->left), right = seek_of(c, p->right), none = {.count = 0};
    if (!left.count || !right.count || left.count + right.count > SEEK_RANGES_MAX)
        return none;
    for (size_t i = 0; i < right.count; i++)
        seek_add_range(&left, right.ranges[i]);
    left.is_ordered &= right.is_ordered;
    return left;
}

static struct seek seek_of(const struct seek_conjuncts *c, const struct predicate *p) {
    struct seek none = {.count = 0};
    struct seek_conjuncts alone = {.is_undivided = c->is_undivided, .is_all = true};
    switch (p->kind) {
    case PREDICATE_AND:
        return seek_of_both(c, p);
    case PREDICATE_OR:
        return seek_of_either(&alone, p);
    case PREDICATE_NOT:
        return none;
    case PREDICATE_EQUAL:
    case PREDICATE_BELOW:
    case PREDICATE_AT_MOST:
    case PREDICATE_ABOVE:
    case PREDICATE_AT_LEAST:
    case PREDICATE_PREFIX:
    case PREDICATE_PRESENT:
        break;
    }
    struct seek k = seek_of_test(c, p);
    return k.count <= SEEK_RANGES_MAX ? k : none;
}

/* all of it */

static bool seek_is_window(const struct predicate *p) {
    return seek_is_absent(p, "CloseTime") ||
           (str_is(p->name, "CloseTime") && (seek_is_range(p) || p->kind == PREDICATE_PRESENT));
}

static void seek_find_window(struct seeks *s, const struct seek_conjuncts *c) {
    for (size_t i = 0; i < c->count; i++) {
        const struct predicate *p = c->list[i];
        if (seek_is_window(p) && s->closed_count < SEEK_WINDOW_MAX)
            s->closed[s->closed_count++] = p;
        else if (seek_is_range(p) && str_is(p->name, "StartTime") && s->started_count < SEEK_WINDOW_MAX)
            s->started[s->started_count++] = p;
    }
}

static void seek_check_lead(struct seeks *s, const struct seek_conjuncts *c, const struct predicate *led) {
    s->is_exact = c->is_all && c->is_undivided && (!led || led->kind == PREDICATE_EQUAL);
    size_t windows = 0;
    for (size_t i = 0; i < c->count; i++) {
        windows += seek_is_window(c->list[i]);
        s->is_exact &= c->list[i] == led || seek_is_window(c->list[i]);
    }
    s->is_exact &= windows <= SEEK_WINDOW_MAX;
}

void seeks_find(struct seeks *s, const struct read *r) {
    struct seek_conjuncts c = {.is_all = true};
    const struct predicate *led = NULL;
    *s = (struct seeks){.namespace_id = r->namespace_id};
    if (r->where)
        seek_split_conjuncts(&c, r->where);
    seek_find_window(s, &c);
    for (size_t i = 0; i < c.count; i++) {
        struct seek k = seek_of(&c, c.list[i]);
        if (k.count && s->count < SEEKS_MAX)
            s->list[s->count++] = k;
        if (k.count && k.is_ordered && (!s->lead.count || k.count < s->lead.count)) {
            s->lead = k;
            led = c.list[i];
        }
    }
    if (!led && c.is_undivided)
        s->lead = (struct seek){.ranges = {{.way = &order_way}}, .count = 1, .is_ordered = true};
    seek_check_lead(s, &c, led);
}

/* as SQL */

void seek_add_from(struct sql_text *q, const struct seek_range *g) {
    sql_add(q, g->way ? " FROM visibility k INDEXED BY " : " FROM visibility_attributes k");
    sql_add(q, g->way ? g->way->index : "");
}

const char *seek_index(const struct seek_range *g) {
    return g->way ? g->way->index : NULL;
}

static void seek_add_condition(struct sql_text *q, const struct seek_range *g, const struct predicate *p) {
    struct predicate one = *p;
    if (g->value && p == g->test) {
        one.values = g->value;
        one.count = 1;
    }
    sql_add(q, " AND ");
    if (g->way && str_is(p->name, "RunId"))
        sql_add_run_id(q, g->way->column, &one);
    else
        sql_add_condition(q, g->way ? g->way->column : "k.value", &one);
}

/* An index is read from one end to the other: behind a place, it is that which says where to begin. */
static void seek_add_closed(struct sql_text *q, const struct predicate *p, bool has_place) {
    bool is_upper = p->kind == PREDICATE_PRESENT || (seek_is_range(p) && !seek_is_lower(p));
    sql_add(q, is_upper && has_place ? " AND +" : " AND ");
    if (p->kind == PREDICATE_NOT)
        sql_add(q, "k.close_ns >= 9223372036854775807");
    else if (p->kind == PREDICATE_PRESENT)
        sql_add(q, "k.close_ns < 9223372036854775807");
    else
        sql_add_comparison(q, "k.close_ns", p);
}

void seek_add_started(struct sql_text *q, const struct seeks *s, const char *column) {
    for (size_t i = 0; i < s->started_count; i++) {
        sql_add(q, " AND ");
        sql_add_comparison(q, column, s->started[i]);
    }
}

void seek_add_where(struct sql_text *q, const struct seeks *s, const struct seek_range *g) {
    sql_add(q, " WHERE k.namespace_id = ");
    sql_add_id(q, s->namespace_id);
    if (g->way) {
        sql_add(q, " AND ");
        sql_add(q, g->way->also);
    } else {
        sql_add(q, " AND k.name = ");
        sql_add_param(q, value_text(g->test->name));
    }
    if (g->test)
        seek_add_condition(q, g, g->test);
    if (g->bound)
        seek_add_condition(q, g, g->bound);
}

void seek_add_window(struct sql_text *q, const struct seeks *s, const struct visibility_place *after) {
    for (size_t i = 0; i < s->closed_count; i++)
        seek_add_closed(q, s->closed[i], after);
    if (!after)
        return;
    sql_add(q, " AND (k.close_ns, k.start_ns, k.run_id) < (");
    sql_add_place(q, after);
    sql_add(q, ")");
}

void seek_add_row(struct sql_text *q, const struct seek_range *g) {
    sql_add(q, g->way ? " AND v.rowid = k.rowid"
                      : " AND v.namespace_id = k.namespace_id AND v.run_id = k.run_id");
}

bool seeks_started(const struct seeks *s, int64_t start_ns) {
    const struct value v = value_int(start_ns);
    const struct attribute start = {STR("StartTime"), &v, 1};
    bool holds = true;
    for (size_t i = 0; i < s->started_count; i++)
        holds &= predicate_holds(s->started[i], &start, 1);
    return holds;
}
