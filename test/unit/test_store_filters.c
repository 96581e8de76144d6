/* Filters as long and as deep as the language allows: every store takes them, and gives the same answers. */
#include "store_fixture.h"

#include "base/rng.h"
#include "core/search/filter.h"

#define RUNS 24
#define TREES 40

static const char *const leaves[] = {
    "WorkflowId = 'w3'", "City STARTS_WITH 'Ro'",          "City = 'Bonn'", "HistoryLength BETWEEN 3 AND 9",
    "City IS NULL",      "WorkflowType NOT IN ('a', 'b')", "City > 'C'",    "CloseTime IS NULL",
};

static const char *leaf(size_t nth) {
    return leaves[nth % ARRAY_LEN(leaves)];
}

static void add_listed(struct commit *c, uint8_t n) {
    static const char *const cities[] = {"Rome", "Bonn", "Rostock", "Athens"};
    struct arena *a = &c->batch.arena;
    struct write *w = commit_add(c, WRITE_VISIBILITY, id(1), id(n));
    const struct {
        const char *name;
        struct value value;
    } own[] = {{"WorkflowId", value_text(str_of(arena_printf(a, "w%d", n)))},
               {"WorkflowType", value_text(str_of(n % 3 ? "a" : "c"))},
               {"HistoryLength", value_int(n)},
               {"City", value_text(str_of(cities[n % ARRAY_LEN(cities)]))}};
    struct attribute *list = arena_array(a, struct attribute, ARRAY_LEN(own) + 1);
    struct value closed = value_int((n + 100) * NSEC_PER_USEC);
    ensure(list);
    for (size_t i = 0; i < ARRAY_LEN(own) - (n % 5 == 0); i++) /* some have no city */
        list[w->attribute_count++] =
            (struct attribute){str_of(own[i].name), arena_dup(a, &own[i].value, sizeof own[i].value), 1};
    if (n % 2) {
        w->close_us = n + 100;
        list[w->attribute_count++] =
            (struct attribute){STR("CloseTime"), arena_dup(a, &closed, sizeof closed), 1};
    }
    w->attributes = list;
    w->start_us = n;
}

static void fill(struct fixture *f) {
    struct commit c;
    commit_init(&c);
    for (uint8_t n = 1; n <= RUNS; n++)
        add_listed(&c, n);
    fixture_commit(f, &c);
    batch_done(&c.batch);
}

static const struct predicate *parse(struct arena *a, const struct buf *query) {
    State__SearchAttribute city = STATE__SEARCH_ATTRIBUTE__INIT, *list[] = {&city};
    State__Namespace ns = STATE__NAMESPACE__INIT;
    struct filter f;
    struct err e = {0};
    city.name = (char *)(uintptr_t) "City";
    city.type = INDEXED_VALUE_TYPE_KEYWORD;
    ns.search_attributes = list;
    ns.n_search_attributes = 1;
    if (!CHECK_INT(filter_parse(a, &ns, FILTER_WORKFLOWS, buf_str(query), &f, &e), 0))
        printf("# %s\n", e.text);
    return f.where;
}

static void ask(struct fixture *f, const struct predicate *where, enum read_kind kind, size_t limit,
                struct buf *ret) {
    struct question q;
    question_init(&q, kind, ret);
    q.read.namespace_id = id(1);
    q.read.where = where;
    q.read.limit = limit;
    CHECK_INT(question_ask(&q, f->store), 0);
}

static void check_alike(struct fixture stores[BACKEND_COUNT], const struct buf *query) {
    struct buf texts[BACKEND_COUNT];
    struct arena a cleanup(arena_done);
    arena_init(&a, SIZE_MAX);
    const struct predicate *where = parse(&a, query);
    for (int b = 0; b < BACKEND_COUNT; b++) {
        buf_init(&texts[b], FIXTURE_TEXT_MAX);
        ask(&stores[b], where, READ_VISIBILITY, 5, &texts[b]);
        ask(&stores[b], where, READ_VISIBILITY, SIZE_MAX, &texts[b]);
        ask(&stores[b], where, READ_VISIBILITY_COUNT, 0, &texts[b]);
        if (!CHECK(str_eq(buf_str(&texts[b]), buf_str(&texts[BACKEND_MEM]))))
            printf("# %s: %.*s\n", backend_name((enum backend)b), (int)query->len, (const char *)query->data);
    }
    for (int b = 0; b < BACKEND_COUNT; b++)
        buf_done(&texts[b]);
}

static void open_all(struct fixture stores[BACKEND_COUNT]) {
    for (int b = 0; b < BACKEND_COUNT; b++) {
        fixture_init(&stores[b], (enum backend)b);
        ensure(stores[b].store);
        fill(&stores[b]);
    }
}

static void close_all(struct fixture stores[BACKEND_COUNT]) {
    for (int b = 0; b < BACKEND_COUNT; b++)
        fixture_done(&stores[b]);
}

TEST(filters_of_many_tests) {
    static const char *const joints[] = {" OR ", " AND "};
    struct fixture stores[BACKEND_COUNT];
    open_all(stores);
    for (size_t j = 0; j < ARRAY_LEN(joints); j++) {
        for (size_t other = 0; other < 2; other++) {
            struct buf query cleanup(buf_done);
            buf_init(&query, FILTER_BYTES_MAX);
            for (size_t i = 0; i < FILTER_TESTS_MAX; i++)
                buf_printf(&query, "%s%s", i == 0 ? "" : joints[(j + other * (i % 2)) % 2], leaf(j * 3 + i));
            check_alike(stores, &query);
        }
    }
    close_all(stores);
}

static void add_values(struct buf *q, const char *name, size_t count) {
    buf_printf(q, "%s IN ('a', 'Rome'", name);
    for (size_t i = 2; i < count; i++)
        buf_printf(q, ", 'v%zu'", i);
    buf_add_cstr(q, ")");
}

/* Those of one name are where runs are looked for, each by itself, and must be few enough for that. */
TEST(filters_of_many_values) {
    struct fixture stores[BACKEND_COUNT];
    open_all(stores);
    for (size_t led = 1; led <= 64; led += 21) {
        struct buf query cleanup(buf_done);
        buf_init(&query, FILTER_BYTES_MAX);
        add_values(&query, "WorkflowType", led);
        buf_add_cstr(&query, " AND ");
        add_values(&query, "City", FILTER_VALUES_MAX - 64);
        check_alike(stores, &query);
    }
    close_all(stores);
}

/* Every level is `before`, what is deeper, `after`; a # in them is a test. */
struct level {
    const char *before, *after;
    size_t depth; /* of the language, that two levels take */
};

static void add_words(struct buf *q, const char *words, size_t nth) {
    for (; *words; words++)
        if (*words == '#')
            buf_add_cstr(q, leaf(nth));
        else
            buf_add_u8(q, (uint8_t)*words);
}

TEST(filters_of_many_levels) {
    static const struct level levels[][2] = {
        {{"# AND (", ")", 2}, {"# OR (", ")", 2}},
        {{"(", ") AND #", 2}, {"(", ") OR #", 2}},
        {{"# OR (", ")", 2}, {"# OR (", ")", 2}},
        {{"# AND (", ")", 2}, {"# AND (", ")", 2}},
        {{"NOT ", "", 2}, {"NOT ", "", 2}},
        {{"NOT (# AND ", ")", 4}, {"NOT (# AND ", ")", 4}},
        {{"NOT (", " OR #)", 4}, {"NOT (", " AND #)", 4}},
        {{"# AND NOT (", ")", 4}, {"# OR NOT (", ")", 4}},
    };
    struct fixture stores[BACKEND_COUNT];
    open_all(stores);
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        for (size_t last = 0; last < ARRAY_LEN(leaves); last++) {
            struct buf query cleanup(buf_done);
            size_t count = FILTER_DEPTH_MAX * 2 / levels[i][0].depth;
            buf_init(&query, FILTER_BYTES_MAX);
            for (size_t n = 0; n < count; n++)
                add_words(&query, levels[i][n % 2].before, n);
            buf_add_cstr(&query, leaf(last));
            for (size_t n = count; n-- > 0;)
                add_words(&query, levels[i][n % 2].after, n);
            check_alike(stores, &query);
        }
    }
    close_all(stores);
}

/* A tree of so many tests, as deep as it may become. */
static void add_tree(struct buf *q, struct rng *rng, size_t tests, size_t depth) {
    if (tests == 1) {
        buf_printf(q, "%s%s", rng_chance(rng, 4) ? "NOT " : "", leaf((size_t)rng_below(rng, 64)));
        return;
    }
    if (depth <= 2) {
        for (size_t i = 0; i < tests; i++)
            buf_printf(q, "%s%s", i ? " OR " : "", leaf((size_t)rng_below(rng, 64)));
        return;
    }
    /* halves, or all but one */
    size_t left = rng_chance(rng, 3) ? tests / 2 : rng_chance(rng, 2) ? 1 : tests - 1;
    bool is_negative = depth > 4 && rng_chance(rng, 6);
    depth -= is_negative ? 2 : 1;
    buf_add_cstr(q, is_negative ? "NOT (" : "(");
    add_tree(q, rng, left, depth - 1);
    buf_add_cstr(q, depth % 2 ? ") AND (" : ") OR (");
    add_tree(q, rng, tests - left, depth - 1);
    buf_add_cstr(q, ")");
}

TEST(filters_of_many_shapes) {
    struct fixture stores[BACKEND_COUNT];
    struct rng rng;
    rng_init(&rng, 11);
    open_all(stores);
    for (int i = 0; i < TREES; i++) {
        struct buf query cleanup(buf_done);
        buf_init(&query, FILTER_BYTES_MAX);
        buf_add_cstr(&query, "City IN ('Rome', 'Bonn') AND (");
        add_tree(&query, &rng, 1 + (size_t)rng_below(&rng, FILTER_TESTS_MAX - 1), FILTER_DEPTH_MAX - 1);
        buf_add_cstr(&query, ")");
        check_alike(stores, &query);
    }
    close_all(stores);
}
