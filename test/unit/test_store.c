/* Every store gives the same answers: the simulator's, an SQLite file, SQLite in memory.
 *
 * Small cases with answers known by hand; test_store_alike.c has long ones. What
 * only one store can do is in test_mem_store.c and test_sqlite_store.c. */
#include "store_fixture.h"

/* batches */

TEST(batch_keeps_order_and_starts_over) {
    struct batch b;
    batch_init(&b, 1 << 16);
    for (int round = 0; round < 2; round++) {
        struct write *first = batch_add(&b, WRITE_NAMESPACE), *second = batch_add(&b, WRITE_HISTORY);
        if (CHECK(first && second)) {
            CHECK(b.first == first && first->next == second && !second->next);
            CHECK_INT(b.count, 2);
            CHECK_INT(second->kind, WRITE_HISTORY);
            CHECK_INT(first->due_us, CLOCK_NEVER);
            CHECK_INT(first->close_us, CLOCK_NEVER);
        }
        batch_clear(&b);
        CHECK(!b.first);
        CHECK_INT(b.count, 0);
    }
    batch_done(&b);
}

TEST(batch_add_says_when_the_arena_is_exhausted) {
    struct batch b;
    batch_init(&b, 3 * sizeof(struct write));
    size_t added = 0;
    while (added < 10 && batch_add(&b, WRITE_CURRENT))
        added++;
    CHECK(added < 10);
    CHECK_INT(b.count, added);
    CHECK(arena_failed(&b.arena));
    batch_clear(&b);
    CHECK(!arena_failed(&b.arena));
    batch_done(&b);
}

TEST(store_close_accepts_null) {
    store_close(NULL);
    CHECK(true);
}

/* small cases, for each store */

struct kase {
    struct fixture f;
    struct commit c;
    struct buf text;
    bool is_broken;
};

static bool case_init(struct kase *k, enum backend backend) {
    k->is_broken = false;
    fixture_init(&k->f, backend);
    commit_init(&k->c);
    buf_init(&k->text, FIXTURE_TEXT_MAX);
    if (k->f.store)
        return true;
    printf("# %s: not opened\n", backend_name(backend));
    return CHECK(false);
}

static void case_done(struct kase *k) {
    fixture_done(&k->f);
    batch_done(&k->c.batch);
    buf_done(&k->text);
}

static void for_each_store(void (*body)(struct kase *k)) {
    for (int b = 0; b < BACKEND_COUNT; b++) {
        struct kase k;
        if (case_init(&k, (enum backend)b))
            body(&k);
        case_done(&k);
    }
}

static struct write *add(struct kase *k, enum write_kind kind, struct uuid namespace_id, struct uuid run_id) {
    return commit_add(&k->c, kind, namespace_id, run_id);
}

static void add_history(struct kase *k, uint8_t run, int64_t first, int64_t last, struct str body) {
    struct write *w = add(k, WRITE_HISTORY, id(1), id(run));
    w->first_event_id = first;
    w->last_event_id = last;
    w->body = body;
}

static void add_execution(struct kase *k, uint8_t namespace, uint8_t run, int64_t due_us, int64_t close_us,
                          bool is_ready) {
    struct write *w = add(k, WRITE_EXECUTION, id(namespace), id(run));
    w->workflow_id = STR("w");
    w->body = STR("state");
    w->due_us = due_us;
    w->close_us = close_us;
    w->is_ready = is_ready;
}

/* A batch that could not be filled (an allocation was made to fail) ends the case: nothing is
 * committed from there on. */
static void commit(struct kase *k) {
    k->is_broken |= arena_failed(&k->c.batch.arena);
    if (!k->is_broken)
        fixture_commit(&k->f, &k->c);
}

static void check_answer(struct kase *k, struct question *q, const char *want) {
    buf_clear(&k->text);
    q->text = &k->text;
    q->done_count = 0;
    CHECK_INT(question_ask(q, k->f.store), 0);
    if (!CHECK_SLICE(str_bytes(k->text.len ? (const char *)k->text.data : "", k->text.len), str_of(want)))
        printf("# in %s\n", backend_name(k->f.backend));
}

static void namespaces_body(struct kase *k) {
    struct question q;
    question_init(&q, READ_NAMESPACES, &k->text);
    check_answer(k, &q, "");
    struct write *w = add(k, WRITE_NAMESPACE, id(2), id(0));
    w->name = STR("two");
    w->body = STR("b");
    w = add(k, WRITE_NAMESPACE, id(1), id(0));
    w->name = STR("one");
    commit(k);
    check_answer(k, &q,
                 " 000000000001 - '' 'one' '' never never - 0 0\n"
                 " 000000000002 - '' 'two' 'b' never never - 0 0\n");
    w = add(k, WRITE_NAMESPACE, id(2), id(0));
    w->name = STR("two");
    w->body = STR("c");
    commit(k);
    check_answer(k, &q,
                 " 000000000001 - '' 'one' '' never never - 0 0\n"
                 " 000000000002 - '' 'two' 'c' never never - 0 0\n");
    add(k, WRITE_NAMESPACE_GONE, id(1), id(0));
    commit(k);
    check_answer(k, &q, " 000000000002 - '' 'two' 'c' never never - 0 0\n");
}
TEST(namespaces_are_inserted_replaced_and_removed) {
    for_each_store(namespaces_body);
}

static struct write *add_deployment(struct kase *k, enum write_kind kind, uint8_t namespace_id,
                                    const char *name, const char *body) {
    struct write *w = add(k, kind, id(namespace_id), id(0));
    w->name = str_of(name);
    w->body = str_of(body);
    return w;
}

static void deployments_body(struct kase *k) {
    struct question q;
    question_init(&q, READ_DEPLOYMENTS, &k->text);
    check_answer(k, &q, "");
    add_deployment(k, WRITE_DEPLOYMENT, 2, "web", "1");
    add_deployment(k, WRITE_DEPLOYMENT, 1, "web", "2");
    add_deployment(k, WRITE_DEPLOYMENT, 1, "batch", "3");
    commit(k);
    check_answer(k, &q,
                 " 000000000001 - '' 'batch' '3' never never - 0 0\n"
                 " 000000000001 - '' 'web' '2' never never - 0 0\n"
                 " 000000000002 - '' 'web' '1' never never - 0 0\n");
    add_deployment(k, WRITE_DEPLOYMENT, 1, "web", "4");
    add_deployment(k, WRITE_DEPLOYMENT_GONE, 2, "web", "");
    add_deployment(k, WRITE_DEPLOYMENT_GONE, 2, "batch", "");
    commit(k);
    check_answer(k, &q,
                 " 000000000001 - '' 'batch' '3' never never - 0 0\n"
                 " 000000000001 - '' 'web' '4' never never - 0 0\n");
}
TEST(deployments_are_inserted_replaced_and_removed) {
    for_each_store(deployments_body);
}

static void current_body(struct kase *k) {
    struct question q;
    question_init(&q, READ_CURRENT, &k->text);
    q.read.namespace_id = id(1);
    q.read.workflow_id = STR("w");
    check_answer(k, &q, "");
    add(k, WRITE_CURRENT, id(1), id(7))->workflow_id = STR("w");
    add(k, WRITE_CURRENT, id(2), id(8))->workflow_id = STR("w");
    add(k, WRITE_CURRENT, id(1), id(9))->workflow_id = STR("wx");
    commit(k);
    check_answer(k, &q, " 000000000001 000000000007 'w' '' '' never never - 0 0\n");
    add(k, WRITE_CURRENT, id(1), id(10))->workflow_id = STR("w");
    commit(k);
    check_answer(k, &q, " 000000000001 00000000000a 'w' '' '' never never - 0 0\n");
    add(k, WRITE_CURRENT_GONE, id(1), id(0))->workflow_id = STR("w");
    commit(k);
    check_answer(k, &q, "");
    q.read.namespace_id = id(2);
    check_answer(k, &q, " 000000000002 000000000008 'w' '' '' never never - 0 0\n");
    q.read.namespace_id = id(1);
    q.read.workflow_id = STR("wx");
    check_answer(k, &q, " 000000000001 000000000009 'wx' '' '' never never - 0 0\n");
}
TEST(current_run_is_replaced_and_removed) {
    for_each_store(current_body);
}

static void execution_body(struct kase *k) {
    struct question q;
    question_init(&q, READ_EXECUTION, &k->text);
    q.read.namespace_id = id(1);
    q.read.run_id = id(5);
    check_answer(k, &q, "");
    add_execution(k, 1, 5, 77, CLOCK_NEVER, true);
    add_execution(k, 1, 6, CLOCK_NEVER, CLOCK_NEVER, false);
    commit(k);
    check_answer(k, &q, " 000000000001 000000000005 'w' '' 'state' 77 never ready 0 0\n");
    add_execution(k, 1, 5, CLOCK_NEVER, 99, false);
    commit(k);
    check_answer(k, &q, " 000000000001 000000000005 'w' '' 'state' never 99 - 0 0\n");
}
TEST(execution_is_inserted_and_replaced) {
    for_each_store(execution_body);
}

static void gone_body(struct kase *k) {
    static const struct {
        uint8_t run;
        const char *execution;
        const char *history;
    } left[] = {
        {4, " 000000000001 000000000004 'w' '' 'state' 1 never - 0 0\n",
         " 000000000001 000000000004 '' '' 'a' never never - 1 2\n"
         " 000000000001 000000000004 '' '' 'b' never never - 3 3\n"},
        {5, "", ""},
        {6, " 000000000001 000000000006 'w' '' 'state' 1 never - 0 0\n",
         " 000000000001 000000000006 '' '' 'a' never never - 1 2\n"
         " 000000000001 000000000006 '' '' 'b' never never - 3 3\n"},
    };
    struct question execution, history;
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        add_execution(k, 1, left[i].run, 1, CLOCK_NEVER, false);
        add_history(k, left[i].run, 1, 2, STR("a"));
        add_history(k, left[i].run, 3, 3, STR("b"));
    }
    add(k, WRITE_EXECUTION_GONE, id(1), id(5));
    commit(k);
    question_init(&execution, READ_EXECUTION, &k->text);
    question_init(&history, READ_HISTORY, &k->text);
    execution.read.namespace_id = history.read.namespace_id = id(1);
    history.read.last_event_id = INT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        execution.read.run_id = history.read.run_id = id(left[i].run);
        check_answer(k, &execution, left[i].execution);
        check_answer(k, &history, left[i].history);
    }
    add_history(k, 5, 1, 9, STR("again")); /* a removed history may begin anew */
    commit(k);
    history.read.run_id = id(5);
    check_answer(k, &history, " 000000000001 000000000005 '' '' 'again' never never - 1 9\n");
}
TEST(removing_a_run_takes_its_history_and_no_other) {
    for_each_store(gone_body);
}

/* Rows 1-3, 4-4, 5-9, 10-12 of ten bytes each; which of them answer? */
static void history_body(struct kase *k) {
    static const struct {
        int64_t first, last;
        size_t bytes_max;
        const char *rows;
    } cases[] = {
        {1, 12, 0, "1 4 5 10"},
        {1, INT64_MAX, 0, "1 4 5 10"},
        {1, 1, 0, "1"},
        {3, 3, 0, "1"},
        {2, 4, 0, "1 4"},
        {4, 4, 0, "4"},
        {5, 5, 0, "5"},
        {7, 8, 0, "5"},
        {9, 10, 0, "5 10"},
        {13, 20, 0, ""},
        {12, 20, 0, "10"},
        {INT64_MIN, 0, 0, ""},
        {0, 1, 0, "1"},
        {1, 12, 1, "1"},
        {1, 12, 10, "1"},
        {1, 12, 11, "1 4"},
        {1, 12, 20, "1 4"},
        {6, INT64_MAX, 10, "5"},
        {6, INT64_MAX, 11, "5 10"},
        {1, 12, 1000, "1 4 5 10"},
        {INT64_MIN, INT64_MAX, 0, "1 4 5 10"},
    };
    add_history(k, 8, 1, 100, STR("another run"));
    add_history(k, 9, 10, 12, STR("0123456789"));
    add_history(k, 9, 1, 3, STR("0123456789"));
    add_history(k, 9, 4, 4, STR("0123456789"));
    add_history(k, 9, 5, 9, STR("0123456789"));
    add_history(k, 10, 1, 100, STR("another run"));
    commit(k);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct question q;
        char want[400] = "", rows[20], *rest;
        (void)snprintf(rows, sizeof rows, "%s", cases[i].rows);
        for (char *row = strtok_r(rows, " ", &rest); row; row = strtok_r(NULL, " ", &rest)) {
            static const char *const last[] = {[1] = "3", [4] = "4", [5] = "9", [10] = "12"};
            size_t n = strlen(want);
            (void)snprintf(want + n, sizeof want - n,
                           " 000000000001 000000000009 '' '' '0123456789' never never - %s %s\n", row,
                           last[strtol(row, NULL, 10)]);
        }
        question_init(&q, READ_HISTORY, &k->text);
        q.read.namespace_id = id(1);
        q.read.run_id = id(9);
        q.read.first_event_id = cases[i].first;
        q.read.last_event_id = cases[i].last;
        q.read.bytes_max = cases[i].bytes_max;
        check_answer(k, &q, want);
    }
}
TEST(history_answers_with_the_rows_that_overlap) {
    for_each_store(history_body);
}

static void add_ledger(struct kase *k, uint8_t run, struct ledger_columns columns) {
    struct write *w = add(k, WRITE_LEDGER, id(1), id(run));
    w->ledger = columns;
    w->body = STR("0123456789");
}

/* The ids of the rows that answer, in order. */
static void check_ledger(struct kase *k, uint8_t run, struct ledger_filter filter, size_t limit,
                         size_t bytes_max, const char *want) {
    struct question q;
    char got[200] = "", *line, *rest;
    question_init(&q, READ_LEDGER, &k->text);
    q.read.namespace_id = id(1);
    q.read.run_id = id(run);
    q.read.ledger = filter;
    q.read.limit = limit;
    q.read.bytes_max = bytes_max;
    buf_clear(&k->text);
    CHECK_INT(question_ask(&q, k->f.store), 0);
    buf_add(&k->text, "", 1);
    if (!buf_ok(&k->text))
        return;
    for (line = strtok_r((char *)k->text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const char *at = strstr(line, " ledger ");
        size_t n = strlen(got);
        if (CHECK(at != NULL))
            (void)snprintf(got + n, sizeof got - n, "%s%ld", n ? " " : "", strtol(at + 8, NULL, 10));
    }
    if (!CHECK_SLICE(str_of(got), str_of(want)))
        printf("# in %s\n", backend_name(k->f.backend));
}

#define LEDGER_ALL ((struct ledger_filter){INT64_MAX, INT64_MIN, INT64_MAX, 0})

static void fill_ledger(struct kase *k) {
    add_ledger(k, 8, (struct ledger_columns){1, 100, 100, 5, 2});
    add_ledger(k, 9, (struct ledger_columns){1, 100, 100, 1, 2});
    add_ledger(k, 9, (struct ledger_columns){2, 160, 400, 2, 5}); /* several times in one row */
    add_ledger(k, 9, (struct ledger_columns){3, 460, 460, 3, 31});
    add_ledger(k, 9, (struct ledger_columns){10, 90, 90, 4, 2}); /* a backfill: earlier, considered later */
    commit(k);
}

static void ledger_body(struct kase *k) {
    fill_ledger(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "10 3 2 1");
    check_ledger(k, 8, LEDGER_ALL, 10, 0, "1");
    check_ledger(k, 7, LEDGER_ALL, 10, 0, "");
    check_ledger(k, 9, LEDGER_ALL, 2, 0, "10 3");
    check_ledger(k, 9, LEDGER_ALL, 0, 0, "");
    check_ledger(k, 9, LEDGER_ALL, 10, 10, "10");
    check_ledger(k, 9, LEDGER_ALL, 10, 11, "10 3");
    check_ledger(k, 9, (struct ledger_filter){10, INT64_MIN, INT64_MAX, 0}, 10, 0, "3 2 1");
    check_ledger(k, 9, (struct ledger_filter){1, INT64_MIN, INT64_MAX, 0}, 10, 0, "");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, 100, 100, 0}, 10, 0, "1");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, 300, 310, 0}, 10, 0, "2");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, 400, INT64_MAX, 0}, 10, 0, "3 2");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, 401, 459, 0}, 10, 0, "");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, INT64_MIN, INT64_MAX, 1u << 2}, 10, 0, "10 1");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, INT64_MIN, INT64_MAX, 1u << 31 | 1u << 5}, 10, 0,
                 "3 2");
    check_ledger(k, 9, (struct ledger_filter){INT64_MAX, 95, INT64_MAX, 1u << 2}, 1, 0, "1");
}
TEST(ledger_answers_last_first_within_what_is_asked) {
    for_each_store(ledger_body);
}

static void ledger_change_body(struct kase *k) {
    struct question q;
    fill_ledger(k);
    struct write *w = add(k, WRITE_LEDGER, id(1), id(8));
    w->ledger = (struct ledger_columns){1, 101, 102, 6, 3};
    w->body = STR("over");
    commit(k);
    question_init(&q, READ_LEDGER, &k->text);
    q.read.namespace_id = id(1);
    q.read.run_id = id(8);
    q.read.ledger = LEDGER_ALL;
    q.read.limit = 10;
    check_answer(k, &q, " 000000000001 000000000008 '' '' 'over' never never - 0 0 ledger 1 101 102 6 3\n");
    add(k, WRITE_LEDGER_GONE, id(1), id(9))->ledger = (struct ledger_columns){.id = 2};
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "10 3 2");
    add(k, WRITE_LEDGER_GONE, id(1), id(9))->ledger = (struct ledger_columns){.at_us = 3};
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "10 3");
    add(k, WRITE_LEDGER_GONE, id(1), id(9));
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "10 3");
    add(k, WRITE_LEDGER_GONE, id(1), id(9))->ledger = (struct ledger_columns){.id = 4, .at_us = 4};
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "10");
    add_ledger(k, 9, (struct ledger_columns){1, 11, 11, LEDGER_OPEN, 2});
    commit(k);
    add(k, WRITE_LEDGER_GONE, id(1), id(9))->ledger =
        (struct ledger_columns){.id = 20, .at_us = LEDGER_OPEN - 1};
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "1");
    add(k, WRITE_EXECUTION_GONE, id(1), id(9));
    commit(k);
    check_ledger(k, 9, LEDGER_ALL, 10, 0, "");
    check_ledger(k, 8, LEDGER_ALL, 10, 0, "1");
}
TEST(ledger_rows_are_replaced_and_removed) {
    for_each_store(ledger_change_body);
}

static void add_waiting(struct kase *k, uint8_t space, int64_t lane, int64_t number, const char *body) {
    struct write *w = add(k, WRITE_BACKLOG, id(space), id(0));
    w->backlog = (struct backlog_place){lane, number};
    w->body = str_of(body);
}

static void check_backlog(struct kase *k, uint8_t space, struct backlog_place from, size_t limit,
                          const char *want) {
    struct question q;
    question_init(&q, READ_BACKLOG, &k->text);
    q.read.namespace_id = id(space);
    q.read.backlog = from;
    q.read.limit = limit;
    check_answer(k, &q, want);
}

static void backlog_body(struct kase *k) {
    add_waiting(k, 1, 7, 2, "b");
    add_waiting(k, 1, 7, 1, "a");
    add_waiting(k, 1, 7, 3, "c");
    add_waiting(k, 1, 8, 1, "other lane");
    add_waiting(k, 2, 7, 1, "other space");
    commit(k);
    check_backlog(k, 1, (struct backlog_place){7, 0}, 2,
                  " 000000000001 - '' '' 'a' never never - 0 0 backlog 7 1\n"
                  " 000000000001 - '' '' 'b' never never - 0 0 backlog 7 2\n");
    check_backlog(k, 1, (struct backlog_place){7, 3}, 2,
                  " 000000000001 - '' '' 'c' never never - 0 0 backlog 7 3\n");
    struct write *w = add(k, WRITE_BACKLOG_GONE, id(1), id(0));
    w->backlog = (struct backlog_place){7, 1};
    w->backlog_end = 3;
    commit(k);
    check_backlog(k, 1, (struct backlog_place){7, 0}, 9,
                  " 000000000001 - '' '' 'c' never never - 0 0 backlog 7 3\n");
    check_backlog(k, 1, (struct backlog_place){8, 0}, 9,
                  " 000000000001 - '' '' 'other lane' never never - 0 0 backlog 8 1\n");
    add(k, WRITE_BACKLOG_EMPTY, id(0), id(0));
    add_waiting(k, 2, 7, 9, "later");
    commit(k);
    check_backlog(k, 1, (struct backlog_place){8, 0}, 9, "");
    check_backlog(k, 2, (struct backlog_place){7, 0}, 9,
                  " 000000000002 - '' '' 'later' never never - 0 0 backlog 7 9\n");
}
TEST(backlog_is_read_in_order_and_removed_in_ranges) {
    for_each_store(backlog_body);
}

static void due_page_body(struct kase *k) {
    struct question q;
    struct due_place behind = {id(1), id(2)};
    for (uint8_t run = 1; run <= 3; run++)
        add_execution(k, 1, run, 50, CLOCK_NEVER, false);
    add_execution(k, 2, 1, 50, CLOCK_NEVER, false);
    commit(k);
    question_init(&q, READ_DUE, &k->text);
    q.read.limit = 1;
    check_answer(k, &q, " 000000000001 000000000001 'w' '' '' 50 never - 0 0\n");
    question_init(&q, READ_DUE, &k->text);
    q.read.behind = &behind;
    check_answer(k, &q,
                 " 000000000001 000000000003 'w' '' '' 50 never - 0 0\n"
                 " 000000000002 000000000001 'w' '' '' 50 never - 0 0\n");
}
TEST(due_runs_are_read_in_pages) {
    for_each_store(due_page_body);
}

static void due_body(struct kase *k) {
    struct question q;
    add_execution(k, 2, 1, 50, CLOCK_NEVER, false);
    add_execution(k, 1, 1, CLOCK_NEVER, CLOCK_NEVER, false); /* waits for nothing */
    add_execution(k, 1, 2, CLOCK_NEVER, CLOCK_NEVER, true);
    add_execution(k, 1, 3, 0, CLOCK_NEVER, false);
    add_execution(k, 1, 4, 60, 55, true); /* closed */
    add_execution(k, 1, 5, 70, CLOCK_NEVER, true);
    commit(k);
    question_init(&q, READ_DUE, &k->text);
    check_answer(k, &q,
                 " 000000000001 000000000002 'w' '' '' never never ready 0 0\n"
                 " 000000000001 000000000003 'w' '' '' 0 never - 0 0\n"
                 " 000000000001 000000000004 'w' '' '' 60 never ready 0 0\n"
                 " 000000000001 000000000005 'w' '' '' 70 never ready 0 0\n"
                 " 000000000002 000000000001 'w' '' '' 50 never - 0 0\n");
    add_execution(k, 1, 2, CLOCK_NEVER, CLOCK_NEVER, false);
    add_execution(k, 1, 3, 5, 6, false);
    add_execution(k, 1, 1, 8, CLOCK_NEVER, false);
    add(k, WRITE_EXECUTION_GONE, id(2), id(1));
    commit(k);
    check_answer(k, &q,
                 " 000000000001 000000000001 'w' '' '' 8 never - 0 0\n"
                 " 000000000001 000000000003 'w' '' '' 5 never - 0 0\n"
                 " 000000000001 000000000004 'w' '' '' 60 never ready 0 0\n"
                 " 000000000001 000000000005 'w' '' '' 70 never ready 0 0\n");
}
TEST(due_answers_with_runs_that_have_something_to_do) {
    for_each_store(due_body);
}

static void runs_body(struct kase *k) {
    struct question q;
    add_execution(k, 1, 3, 5, CLOCK_NEVER, true);
    add_execution(k, 1, 1, CLOCK_NEVER, 30, false);
    add_execution(k, 2, 2, CLOCK_NEVER, CLOCK_NEVER, false);
    commit(k);
    question_init(&q, READ_RUNS, &k->text);
    q.read.namespace_id = id(1);
    q.read.limit = 10;
    check_answer(k, &q,
                 " 000000000001 000000000001 '' '' '' never never - 0 0\n"
                 " 000000000001 000000000003 '' '' '' never never - 0 0\n");
    q.read.limit = 1;
    check_answer(k, &q, " 000000000001 000000000001 '' '' '' never never - 0 0\n");
    add(k, WRITE_EXECUTION_GONE, id(1), id(1));
    commit(k);
    check_answer(k, &q, " 000000000001 000000000003 '' '' '' never never - 0 0\n");
    q.read.namespace_id = id(3);
    check_answer(k, &q, "");
}
TEST(the_runs_of_a_namespace_are_found_open_or_closed) {
    for_each_store(runs_body);
}

static void closed_body(struct kase *k) {
    struct question q;
    add_execution(k, 1, 1, CLOCK_NEVER, 30, false);
    add_execution(k, 1, 2, 9, 10, true);
    add_execution(k, 2, 3, CLOCK_NEVER, 20, false);
    add_execution(k, 1, 4, CLOCK_NEVER, 20, false);
    add_execution(k, 1, 5, CLOCK_NEVER, CLOCK_NEVER, false);
    commit(k);
    question_init(&q, READ_CLOSED, &k->text);
    q.read.before_us = 30;
    q.read.limit = 10;
    check_answer(k, &q,
                 " 000000000001 000000000002 'w' '' '' never 10 - 0 0\n"
                 " 000000000001 000000000004 'w' '' '' never 20 - 0 0\n"
                 " 000000000002 000000000003 'w' '' '' never 20 - 0 0\n");
    q.read.limit = 2;
    check_answer(k, &q,
                 " 000000000001 000000000002 'w' '' '' never 10 - 0 0\n"
                 " 000000000001 000000000004 'w' '' '' never 20 - 0 0\n");
    q.read.limit = 0;
    check_answer(k, &q, "");
    q.read.limit = SIZE_MAX;
    q.read.before_us = CLOCK_NEVER;
    q.read.namespace_id = id(1);
    check_answer(k, &q,
                 " 000000000001 000000000002 'w' '' '' never 10 - 0 0\n"
                 " 000000000001 000000000004 'w' '' '' never 20 - 0 0\n"
                 " 000000000001 000000000001 'w' '' '' never 30 - 0 0\n");
    q.read.before_us = 10;
    check_answer(k, &q, "");
}
TEST(closed_answers_oldest_first) {
    for_each_store(closed_body);
}

/* callbacks */

#define ORDER_BATCHES 50

struct ordered {
    struct batch batch;
    int number;
};

struct order_log {
    int numbers[ORDER_BATCHES];
    int count;
};

static void ordered_done(struct batch *b) {
    struct order_log *log = b->owner;
    log->numbers[log->count++] = container_of(b, struct ordered, batch)->number;
}

static void order_body(struct kase *k) {
    struct ordered batches[ORDER_BATCHES];
    struct order_log log = {.count = 0};
    for (int i = 0; i < ORDER_BATCHES; i++) {
        batches[i].number = i;
        batch_init(&batches[i].batch, 1 << 12);
        batches[i].batch.done = ordered_done;
        batches[i].batch.owner = &log;
        struct write *w = i % 7 ? batch_add(&batches[i].batch, WRITE_NAMESPACE) : NULL; /* some are empty */
        if (w)
            w->namespace_id = id((uint8_t)i);
        store_commit(k->f.store, &batches[i].batch);
    }
    while (log.count < ORDER_BATCHES)
        fixture_turn(&k->f);
    for (int i = 0; i < ORDER_BATCHES; i++) {
        CHECK_INT(log.numbers[i], i);
        batch_done(&batches[i].batch);
    }
}
TEST(batches_are_announced_in_order) {
    for_each_store(order_body);
}

struct chain {
    struct batch batch;
    struct store *store;
    int left;
};

static void chain_done(struct batch *b) {
    struct chain *c = container_of(b, struct chain, batch);
    if (c->left-- > 0)
        store_commit(c->store, b);
}

static void chain_body(struct kase *k) {
    struct chain c = {.store = k->f.store, .left = 20};
    batch_init(&c.batch, 1 << 12);
    c.batch.done = chain_done;
    struct write *w = batch_add(&c.batch, WRITE_NAMESPACE);
    if (w)
        w->namespace_id = id(1);
    store_commit(k->f.store, &c.batch);
    fixture_close(&k->f);
    CHECK_INT(c.left, -1);
    batch_done(&c.batch);
}
TEST(close_waits_for_what_done_commits_too) {
    for_each_store(chain_body);
}

/* A row's callback asks the same kind of question again, and commits. */
struct nested {
    struct question outer;
    struct question inner;
    struct kase *k;
    bool has_asked;
};

static void nested_row(struct read *r, const struct row *row) {
    struct nested *n = container_of(container_of(r, struct question, read), struct nested, outer);
    question_row(r, row);
    if (n->has_asked)
        return;
    n->has_asked = true;
    add(n->k, WRITE_NAMESPACE, id(9), id(0))->name = STR("late");
    store_commit(n->k->f.store, &n->k->c.batch);
    store_read(n->k->f.store, &n->inner.read);
}

static void nested_body(struct kase *k) {
    struct nested n = {.k = k};
    struct buf inner_text;
    buf_init(&inner_text, FIXTURE_TEXT_MAX);
    add(k, WRITE_NAMESPACE, id(1), id(0))->name = STR("one");
    add(k, WRITE_NAMESPACE, id(2), id(0))->name = STR("two");
    commit(k);
    k->c.is_done = false;
    question_init(&n.outer, READ_NAMESPACES, &k->text);
    question_init(&n.inner, READ_NAMESPACES, &inner_text);
    n.outer.read.row = nested_row;
    CHECK_INT(question_ask(&n.outer, k->f.store), 0);
    CHECK_INT(n.outer.row_count, 2);
    CHECK_INT(n.inner.done_count, 1);
    CHECK_INT(n.inner.rc, 0);
    CHECK(n.inner.row_count == 2 || n.inner.row_count == 3);
    if (n.has_asked)
        fixture_wait(&k->f, &k->c);
    buf_done(&inner_text);
}
TEST(a_row_may_read_and_commit) {
    for_each_store(nested_body);
}
