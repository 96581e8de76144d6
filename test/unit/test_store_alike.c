/* Every store gives the same answers, by chance: one seed makes a long mix of writes and reads,
 * and the transcripts of all stores must be the same, byte for byte. */
#include "store_fixture.h"

#include "base/mem.h"
#include "base/rng.h"

#define CHANCE_STEPS 5000
#define CHANCE_NAMESPACES 3
#define CHANCE_RUNS 12
#define CHANCE_UNDER_WAY 3
#define CHANCE_BODY_MAX 3000
#define CHANCE_BODY_LARGE 20000

struct chance {
    struct fixture f;
    struct rng rng;
    struct commit commits[CHANCE_UNDER_WAY];
    size_t commit_count;
    int64_t next_event_id[CHANCE_NAMESPACES][CHANCE_RUNS];
    struct write last[CHANCE_NAMESPACES]
                     [CHANCE_RUNS]; /* of the run's execution; body.p NULL: there is no row */
    bool is_listed[CHANCE_NAMESPACES][CHANCE_RUNS];
    struct buf text;
    char *bytes; /* CHANCE_BODY_LARGE random ones */
};

static struct str chance_workflow_id(struct chance *x) {
    static const char nul[] = "a\0b";
    const struct str ids[] = {STR(""),
                              STR("a"),
                              STR("a "),
                              STR("A"),
                              STR("ab"),
                              STR("\xc3\xa9"),
                              {nul, sizeof nul - 1},
                              STR("a-longer-workflow-id")};
    return ids[rng_below(&x->rng, ARRAY_LEN(ids))];
}

static struct str chance_body(struct chance *x) {
    size_t max = rng_chance(&x->rng, 20) ? CHANCE_BODY_LARGE : CHANCE_BODY_MAX;
    size_t n = rng_chance(&x->rng, 10) ? 0 : (size_t)rng_below(&x->rng, max);
    return str_bytes(x->bytes + rng_below(&x->rng, CHANCE_BODY_LARGE - n + 1), n);
}

static int64_t chance_time(struct chance *x) {
    return rng_chance(&x->rng, 3) ? CLOCK_NEVER : (int64_t)rng_below(&x->rng, 100);
}

/* Values and predicates over a few of them, so that tests often meet what is there. */

static struct value chance_value(struct chance *x) {
    static const char *const texts[] = {"", "a", "A", "ab", "abc", "b", "\xc3\xa9t\xc3\xa9", "Running"};
    switch (rng_below(&x->rng, 4)) {
    case 0:
        return value_int((int64_t)rng_below(&x->rng, 6) - 3);
    case 1:
        return value_real((double)rng_below(&x->rng, 12) / 2 - 3);
    default:
        return value_text(str_of(texts[rng_below(&x->rng, ARRAY_LEN(texts))]));
    }
}

static struct value *chance_values(struct chance *x, struct arena *a, size_t count) {
    struct value *values = arena_array(a, struct value, count);
    for (size_t i = 0; values && i < count; i++)
        values[i] = chance_value(x);
    return values;
}

static struct value chance_typed(struct chance *x, bool is_text) {
    struct value v = chance_value(x);
    while ((v.kind == VALUE_TEXT) != is_text || v.kind == VALUE_REAL)
        v = chance_value(x);
    return v;
}

static const char *const chance_columns[] = {"WorkflowId",
                                             "WorkflowType",
                                             "TaskQueue",
                                             "ParentRunId",
                                             "TemporalNamespaceDivision",
                                             "ParentWorkflowId",
                                             "RootRunId",
                                             "HistoryLength",
                                             "HistorySizeBytes",
                                             "ExecutionTime",
                                             "RootWorkflowId",
                                             "ExecutionDuration",
                                             "StateTransitionCount"};
#define IS_TEXT_COLUMN(i) ((i) < 7 || (i) == 10)
static const char *const chance_own[] = {"City", "Tags", "Mixed"};

static void chance_attribute(struct write *w, struct arena *a, const char *name, struct value v) {
    struct attribute *list = (struct attribute *)(uintptr_t)w->attributes;
    list[w->attribute_count++] = (struct attribute){str_of(name), arena_dup(a, &v, sizeof(v)), 1};
}

static void chance_list(struct chance *x, struct write *w, struct arena *a) {
    w->attributes = arena_array(a, struct attribute, 24);
    w->start_us = (int64_t)rng_below(&x->rng, 5);
    chance_attribute(w, a, "RunId", value_text(str_of(arena_strdup(a, uuid_format(w->run_id).s))));
    chance_attribute(w, a, "ExecutionStatus", chance_typed(x, true));
    chance_attribute(w, a, "StartTime", value_int(w->start_us * 1000));
    if (w->close_us != CLOCK_NEVER)
        chance_attribute(w, a, "CloseTime", value_int(w->close_us * 1000));
    for (size_t i = 0; i < ARRAY_LEN(chance_columns); i++)
        if (rng_chance(&x->rng, 2))
            chance_attribute(w, a, chance_columns[i], chance_typed(x, IS_TEXT_COLUMN(i)));
    for (size_t i = 0; i < ARRAY_LEN(chance_own); i++) {
        struct attribute *list = (struct attribute *)(uintptr_t)w->attributes;
        size_t count = (size_t)rng_below(&x->rng, 4);
        struct value *values = chance_values(x, a, count);
        for (size_t v = 0; v < count && count > 1; v++)
            values[v] = chance_typed(x, true);
        list[w->attribute_count++] = (struct attribute){str_of(chance_own[i]), values, count};
    }
}

static struct str chance_name(struct chance *x, bool *is_time) {
    static const char *const keys[] = {"RunId", "StartTime", "CloseTime", "ExecutionStatus", "Nowhere"};
    uint64_t i = rng_below(&x->rng, ARRAY_LEN(keys) + ARRAY_LEN(chance_columns) + 2 * ARRAY_LEN(chance_own));
    *is_time = i == 1 || i == 2;
    if (i < ARRAY_LEN(keys))
        return str_of(keys[i]);
    i -= ARRAY_LEN(keys);
    if (i < ARRAY_LEN(chance_columns))
        return str_of(chance_columns[i]);
    return str_of(chance_own[(i - ARRAY_LEN(chance_columns)) % ARRAY_LEN(chance_own)]);
}

static bool is_number(struct str name) {
    for (size_t i = 0; i < ARRAY_LEN(chance_columns); i++)
        if (str_is(name, chance_columns[i]))
            return !IS_TEXT_COLUMN(i);
    return false;
}

static struct predicate *chance_test(struct chance *x, struct arena *a) {
    struct predicate *p = arena_new(a, struct predicate);
    bool is_time;
    p->kind =
        (enum predicate_kind)(PREDICATE_EQUAL + rng_below(&x->rng, PREDICATE_PRESENT - PREDICATE_EQUAL + 1));
    p->name = chance_name(x, &is_time);
    p->count = p->kind == PREDICATE_PRESENT ? 0 : p->kind == PREDICATE_EQUAL ? rng_below(&x->rng, 4) : 1;
    struct value *values = chance_values(x, a, p->count);
    for (size_t i = 0; i < p->count; i++) {
        if (p->kind == PREDICATE_PREFIX)
            values[i] = chance_typed(x, true);
        else if (is_time)
            values[i] = value_int((int64_t)rng_below(&x->rng, 8) * 1000);
        else if (str_is(p->name, "RunId"))
            values[i] = value_text(
                str_of(arena_strdup(a, uuid_format(id((uint8_t)(1 + rng_below(&x->rng, CHANCE_RUNS)))).s)));
        if (is_number(p->name) || is_time)
            values[i] = p->kind == PREDICATE_PREFIX || is_time ? values[i] : chance_typed(x, false);
        else if (!str_is(p->name, "City") && !str_is(p->name, "Tags") && !str_is(p->name, "Mixed") &&
                 !str_is(p->name, "RunId") && values[i].kind != VALUE_TEXT)
            values[i] = chance_typed(x, true);
    }
    p->values = values;
    return p;
}

static const struct predicate *chance_predicate(struct chance *x, struct arena *a, int depth) {
    uint64_t kind = depth ? rng_below(&x->rng, 5) : 4;
    if (kind > PREDICATE_NOT)
        return chance_test(x, a);
    struct predicate *p = arena_new(a, struct predicate);
    p->kind = (enum predicate_kind)kind;
    p->left = chance_predicate(x, a, depth - 1);
    p->right = p->kind == PREDICATE_NOT ? NULL : chance_predicate(x, a, depth - 1);
    return p;
}

/* As workflows are asked for: what has a division is left out, and what must all hold is mostly a few tests.
 */
static const struct predicate *chance_query(struct chance *x, struct arena *a) {
    const struct predicate *p = chance_predicate(x, a, 2);
    struct predicate *divided = arena_new(a, struct predicate), *undivided = arena_new(a, struct predicate);
    *divided = (struct predicate){.kind = PREDICATE_PRESENT, .name = STR("TemporalNamespaceDivision")};
    *undivided = (struct predicate){.kind = PREDICATE_NOT, .left = divided};
    for (uint64_t n = 1 + rng_below(&x->rng, 3); n; n--) {
        struct predicate *both = arena_new(a, struct predicate);
        *both = (struct predicate){
            .kind = PREDICATE_AND, .left = p, .right = n == 1 ? undivided : chance_test(x, a)};
        p = both;
    }
    return p;
}

/* Few ids, so that rows are often replaced; half of the trims ask for one thing only. */
static void chance_ledger(struct chance *x, struct write *w) {
    w->ledger = (struct ledger_columns){.id = (int64_t)rng_below(&x->rng, 20),
                                        .nominal_s = (int64_t)rng_below(&x->rng, 50) - 10,
                                        .at_us = (int64_t)rng_below(&x->rng, 100),
                                        .fate = (int32_t)rng_below(&x->rng, 32)};
    w->ledger.last_nominal_s = w->ledger.nominal_s + (int64_t)rng_below(&x->rng, 5);
    if (w->kind == WRITE_LEDGER)
        return;
    w->ledger.id /= 4;
    w->ledger.at_us = rng_chance(&x->rng, 2) ? 0 : w->ledger.at_us / 8;
}

/* Emptied seldom, so that there is something to read. */
static void chance_backlog(struct chance *x, struct write *w) {
    if (w->kind == WRITE_BACKLOG_EMPTY && !rng_chance(&x->rng, 8))
        w->kind = WRITE_BACKLOG;
    w->backlog = (struct backlog_place){(int64_t)rng_below(&x->rng, 3), (int64_t)rng_below(&x->rng, 30) - 5};
    w->backlog_end = w->backlog.number + (int64_t)rng_below(&x->rng, 6) - 1;
}

/* As the engine writes: often the same but for the state, and the first one marked as such. */
static void chance_execution(struct chance *x, struct write *w, struct write *last) {
    if (last->body.p && rng_chance(&x->rng, 2)) {
        w->workflow_id = last->workflow_id;
        w->due_us = last->due_us;
        w->close_us = last->close_us;
        w->is_ready = last->is_ready;
        w->is_in_place = rng_chance(&x->rng, 2);
    }
    w->is_first = !last->body.p && rng_chance(&x->rng, 2);
    *last = *w;
}

static void chance_write(struct chance *x, struct batch *b) {
    size_t namespace = (size_t)rng_below(&x->rng, CHANCE_NAMESPACES);
    size_t run = (size_t)rng_below(&x->rng, CHANCE_RUNS);
    struct write *w = batch_add(b, (enum write_kind)rng_below(&x->rng, WRITE_BACKLOG_EMPTY + 1));
    if (!w)
        return;
    if (w->kind == WRITE_EXECUTION_GONE && !rng_chance(&x->rng, 4))
        w->kind = rng_chance(&x->rng, 2) ? WRITE_HISTORY : WRITE_LEDGER; /* let histories grow */
    w->namespace_id = id((uint8_t)(namespace + 1));
    w->run_id = id((uint8_t)(run + 1));
    w->workflow_id = chance_workflow_id(x);
    w->name = chance_workflow_id(x);
    w->body = chance_body(x);
    w->due_us = chance_time(x);
    w->close_us = chance_time(x);
    w->status = (int32_t)rng_below(&x->rng, 8);
    w->is_ready = rng_chance(&x->rng, 4);
    if (w->kind == WRITE_VISIBILITY)
        chance_list(x, w, &b->arena);
    if (w->kind == WRITE_LEDGER || w->kind == WRITE_LEDGER_GONE)
        chance_ledger(x, w);
    chance_backlog(x, w);
    int64_t *next = &x->next_event_id[namespace][run];
    if (w->kind == WRITE_EXECUTION)
        chance_execution(x, w, &x->last[namespace][run]);
    if (w->kind == WRITE_VISIBILITY) {
        w->is_first = !x->is_listed[namespace][run] && rng_chance(&x->rng, 2);
        x->is_listed[namespace][run] = true;
    }
    if (w->kind == WRITE_EXECUTION_GONE) {
        *next = 1;
        x->last[namespace][run] = (struct write){0};
        x->is_listed[namespace][run] = false;
    }
    if (w->kind != WRITE_HISTORY)
        return;
    w->first_event_id = *next;
    w->last_event_id = *next + (int64_t)rng_below(&x->rng, 5);
    *next = w->last_event_id + 1 + (int64_t)rng_chance(&x->rng, 8); /* sometimes a gap */
}

static void chance_settle(struct chance *x) {
    for (size_t i = 0; i < x->commit_count; i++) {
        fixture_wait(&x->f, &x->commits[i]);
        batch_clear(&x->commits[i].batch);
    }
    x->commit_count = 0;
}

static void chance_commit(struct chance *x) {
    if (x->commit_count == CHANCE_UNDER_WAY)
        chance_settle(x);
    struct commit *c = &x->commits[x->commit_count++];
    c->is_done = false;
    for (size_t n = 1 + (size_t)rng_below(&x->rng, 6); n; n--)
        chance_write(x, &c->batch);
    store_commit(x->f.store, &c->batch);
}

static void chance_ask(struct chance *x, struct question *q) {
    buf_printf(&x->text, "read %d\n", (int)q->read.kind);
    CHECK_INT(question_ask(q, x->f.store), 0);
}

static struct ledger_filter chance_ledger_filter(struct chance *x) {
    struct ledger_filter f = {.before_id = (int64_t)rng_below(&x->rng, 25), INT64_MIN, INT64_MAX, 0};
    if (rng_chance(&x->rng, 2)) {
        f.from_s = (int64_t)rng_below(&x->rng, 50) - 10;
        f.to_s = f.from_s + (int64_t)rng_below(&x->rng, 20) - 2;
    }
    if (rng_chance(&x->rng, 2))
        f.fates = (uint32_t)rng_u64(&x->rng);
    return f;
}

static void chance_read(struct chance *x) {
    struct question q;
    struct arena arena cleanup(arena_done);
    arena_init(&arena, SIZE_MAX);
    chance_settle(x);
    question_init(&q, (enum read_kind)rng_below(&x->rng, READ_BACKLOG + 1), &x->text);
    q.read.namespace_id = id((uint8_t)(1 + rng_below(&x->rng, CHANCE_NAMESPACES)));
    q.read.run_id = id((uint8_t)(1 + rng_below(&x->rng, CHANCE_RUNS)));
    q.read.workflow_id = chance_workflow_id(x);
    q.read.first_event_id = (int64_t)rng_below(&x->rng, 40);
    q.read.last_event_id = (int64_t)rng_below(&x->rng, 60);
    q.read.bytes_max = rng_chance(&x->rng, 2) ? (size_t)rng_below(&x->rng, 9000) : 0;
    q.read.before_us = (int64_t)rng_below(&x->rng, 110);
    q.read.limit = (size_t)rng_below(&x->rng, 12);
    if (q.read.kind == READ_LEDGER)
        q.read.ledger = chance_ledger_filter(x);
    q.read.backlog =
        (struct backlog_place){(int64_t)rng_below(&x->rng, 3), (int64_t)rng_below(&x->rng, 25) - 5};
    struct due_place behind = {q.read.namespace_id, q.read.run_id};
    if (rng_chance(&x->rng, 2))
        q.read.behind = &behind;
    struct visibility_place after = {chance_time(x), (int64_t)rng_below(&x->rng, 5),
                                     id((uint8_t)rng_below(&x->rng, CHANCE_RUNS))};
    bool is_list = q.read.kind == READ_VISIBILITY || q.read.kind == READ_VISIBILITY_COUNT;
    if (is_list && !rng_chance(&x->rng, 4))
        q.read.where = rng_chance(&x->rng, 2) ? chance_query(x, &arena) : chance_predicate(x, &arena, 4);
    if (q.read.kind == READ_VISIBILITY && rng_chance(&x->rng, 2))
        q.read.after = &after;
    if (q.read.kind == READ_VISIBILITY_COUNT && rng_chance(&x->rng, 2))
        q.read.group_by = STR("ExecutionStatus");
    if (q.read.kind == READ_CLOSED && rng_chance(&x->rng, 2))
        q.read.namespace_id = id(0);
    if (q.read.kind == READ_CLOSED && rng_chance(&x->rng, 2))
        q.read.after = &after;
    chance_ask(x, &q);
}

/* Everything there is. */
static void chance_dump(struct chance *x) {
    struct question q;
    chance_settle(x);
    question_init(&q, READ_NAMESPACES, &x->text);
    chance_ask(x, &q);
    question_init(&q, READ_DEPLOYMENTS, &x->text);
    chance_ask(x, &q);
    question_init(&q, READ_DUE, &x->text);
    chance_ask(x, &q);
    question_init(&q, READ_CLOSED, &x->text);
    q.read.limit = SIZE_MAX;
    q.read.before_us = CLOCK_NEVER;
    chance_ask(x, &q);
    for (uint8_t n = 1; n <= CHANCE_NAMESPACES; n++) {
        question_init(&q, READ_VISIBILITY, &x->text);
        q.read.namespace_id = id(n);
        q.read.limit = SIZE_MAX;
        chance_ask(x, &q);
        for (int64_t lane = 0; lane < 3; lane++) {
            question_init(&q, READ_BACKLOG, &x->text);
            q.read.namespace_id = id(n);
            q.read.backlog = (struct backlog_place){lane, INT64_MIN};
            q.read.limit = SIZE_MAX;
            chance_ask(x, &q);
        }
        for (uint8_t run = 1; run <= CHANCE_RUNS; run++) {
            question_init(&q, READ_EXECUTION, &x->text);
            q.read.namespace_id = id(n);
            q.read.run_id = id(run);
            q.read.last_event_id = INT64_MAX;
            chance_ask(x, &q);
            q.read.kind = READ_HISTORY;
            q.done_count = 0;
            chance_ask(x, &q);
            q.read.kind = READ_LEDGER;
            q.read.ledger = (struct ledger_filter){INT64_MAX, INT64_MIN, INT64_MAX, 0};
            q.read.limit = SIZE_MAX;
            q.done_count = 0;
            chance_ask(x, &q);
        }
    }
}

/* One store's transcript for one seed; *ret_reopened is what it holds after closing and opening. */
static struct buf chance_run(enum backend backend, uint64_t seed, struct buf *ret_reopened) {
    struct chance x = {0};
    fixture_init(&x.f, backend);
    rng_init(&x.rng, seed);
    buf_init(&x.text, FIXTURE_TEXT_MAX);
    x.bytes = mem_alloc(CHANCE_BODY_LARGE);
    for (size_t i = 0; x.bytes && i < CHANCE_BODY_LARGE; i++)
        x.bytes[i] = (char)rng_u64(&x.rng);
    for (size_t i = 0; i < CHANCE_UNDER_WAY; i++)
        commit_init(&x.commits[i]);
    for (size_t i = 0; i < CHANCE_NAMESPACES * CHANCE_RUNS; i++)
        x.next_event_id[i / CHANCE_RUNS][i % CHANCE_RUNS] = 1;
    if (CHECK(x.f.store && x.bytes)) {
        for (int i = 0; i < CHANCE_STEPS; i++)
            rng_chance(&x.rng, 2) ? chance_commit(&x) : chance_read(&x);
        chance_settle(&x);
        struct buf before = x.text;
        buf_init(&x.text, FIXTURE_TEXT_MAX);
        if (backend != BACKEND_MEMORY) {
            fixture_close(&x.f);
            fixture_reopen(&x.f);
        }
        if (CHECK(x.f.store))
            chance_dump(&x);
        *ret_reopened = x.text;
        x.text = before;
    }
    for (size_t i = 0; i < CHANCE_UNDER_WAY; i++)
        batch_done(&x.commits[i].batch);
    mem_free(x.bytes);
    fixture_done(&x.f);
    return x.text;
}

static void check_same(const struct buf *got, const struct buf *want, enum backend backend, uint64_t seed) {
    size_t same = 0, line = 0;
    while (same < got->len && same < want->len && got->data[same] == want->data[same]) {
        same++;
        if (want->data[same - 1] == '\n')
            line = same;
    }
    if (CHECK(got->len == want->len && same == got->len))
        return;
    printf("# seed %" PRIu64 ", %s differs from mem:\n# mem:%.*s\n# got:%.*s\n", seed, backend_name(backend),
           (int)strcspn((const char *)want->data + line, "\n"), (const char *)want->data + line,
           (int)strcspn((const char *)got->data + line, "\n"), (const char *)got->data + line);
}

static void check_seed(uint64_t seed) {
    struct buf want_reopened = {0}, want = chance_run(BACKEND_MEM, seed, &want_reopened);
    CHECK(want.len > CHANCE_STEPS * 10);
    CHECK(want_reopened.len > 1000);
    for (int b = BACKEND_FILE; b < BACKEND_COUNT; b++) {
        struct buf reopened = {0}, got = chance_run((enum backend)b, seed, &reopened);
        check_same(&got, &want, (enum backend)b, seed);
        check_same(&reopened, &want_reopened, (enum backend)b, seed);
        buf_done(&got);
        buf_done(&reopened);
    }
    buf_done(&want);
    buf_done(&want_reopened);
}

TEST(all_stores_answer_alike_seed_1) {
    check_seed(1);
}
TEST(all_stores_answer_alike_seed_2) {
    check_seed(2);
}
TEST(all_stores_answer_alike_seed_3) {
    check_seed(3);
}
