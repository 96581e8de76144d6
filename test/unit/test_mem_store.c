/* What the simulator asks of its store: nothing happens by itself, and anything can go wrong. */
#include "store_fixture.h"

#include "base/fault.h"

struct world {
    struct mem_disk *disk;
    struct store *store;
    struct commit a, b;
    struct buf text;
};

static bool world_init(struct world *w) {
    *w = (struct world){.disk = mem_disk_new()};
    commit_init(&w->a);
    commit_init(&w->b);
    buf_init(&w->text, FIXTURE_TEXT_MAX);
    return CHECK(w->disk && mem_store_open(w->disk, &w->store) == 0);
}

static void world_done(struct world *w) {
    store_close(w->store);
    mem_disk_free(w->disk);
    batch_done(&w->a.batch);
    batch_done(&w->b.batch);
    buf_done(&w->text);
}

static void add_namespace(struct commit *c, uint8_t n, struct str body) {
    struct write *w = batch_add(&c->batch, WRITE_NAMESPACE);
    if (!w)
        return;
    w->namespace_id = id(n);
    w->body = body;
}

static void ask_namespaces(struct world *w, struct question *q) {
    question_init(q, READ_NAMESPACES, &w->text);
    store_read(w->store, &q->read);
}

static size_t count_namespaces(struct world *w) {
    struct question q;
    ask_namespaces(w, &q);
    mem_store_answer(w->store, mem_store_pending_reads(w->store) - 1, 0);
    CHECK_INT(q.rc, 0);
    return q.row_count;
}

TEST(mem_commits_wait_and_happen_in_order) {
    struct world w;
    if (world_init(&w)) {
        add_namespace(&w.a, 1, STR("a"));
        add_namespace(&w.b, 2, STR("b"));
        store_commit(w.store, &w.a.batch);
        store_commit(w.store, &w.b.batch);
        store_collect(w.store);
        CHECK_INT(mem_store_pending_commits(w.store), 2);
        CHECK(!w.a.is_done && !w.b.is_done);
        CHECK_INT(count_namespaces(&w), 0);
        mem_store_commit_one(w.store);
        CHECK(w.a.is_done && !w.b.is_done);
        CHECK_INT(count_namespaces(&w), 1);
        mem_store_commit_one(w.store);
        CHECK(w.b.is_done);
        CHECK_INT(mem_store_pending_commits(w.store), 0);
        CHECK_INT(count_namespaces(&w), 2);
    }
    world_done(&w);
}

TEST(mem_reads_wait_and_are_answered_in_any_order) {
    struct world w;
    if (world_init(&w)) {
        struct question q[3];
        for (int i = 0; i < 3; i++)
            ask_namespaces(&w, &q[i]);
        CHECK_INT(mem_store_pending_reads(w.store), 3);
        mem_store_answer(w.store, 1, 0);
        CHECK_INT(q[0].done_count, 0);
        CHECK_INT(q[1].done_count, 1);
        CHECK_INT(q[2].done_count, 0);
        add_namespace(&w.a, 1, STR("a"));
        store_commit(w.store, &w.a.batch);
        mem_store_commit_one(w.store);
        mem_store_answer(w.store, 1, 0); /* sees what was committed after it was asked */
        CHECK_INT(q[2].done_count, 1);
        CHECK_INT(q[2].row_count, 1);
        CHECK_INT(q[1].row_count, 0);
        mem_store_answer(w.store, 0, ERR_STORE_IO);
        CHECK_INT(q[0].done_count, 1);
        CHECK_INT(q[0].rc, ERR_STORE_IO);
        CHECK_INT(q[0].row_count, 0);
        CHECK_INT(mem_store_pending_reads(w.store), 0);
    }
    world_done(&w);
}

TEST(mem_crash_loses_what_was_not_committed) {
    struct world w;
    if (world_init(&w)) {
        struct question lost;
        add_namespace(&w.a, 1, STR("a"));
        add_namespace(&w.b, 2, STR("b"));
        store_commit(w.store, &w.a.batch);
        mem_store_commit_one(w.store);
        uint64_t hash = mem_disk_hash(w.disk);
        store_commit(w.store, &w.b.batch);
        ask_namespaces(&w, &lost);
        mem_store_crash(take(&w.store));
        CHECK(!w.b.is_done);
        CHECK_INT(lost.done_count, 0);
        CHECK(mem_disk_hash(w.disk) == hash);
        if (CHECK_INT(mem_store_open(w.disk, &w.store), 0))
            CHECK_INT(count_namespaces(&w), 1);
    }
    world_done(&w);
}

TEST(mem_commit_can_be_durable_and_never_announced) {
    struct world w;
    if (world_init(&w)) {
        add_namespace(&w.a, 1, STR("a"));
        store_commit(w.store, &w.a.batch);
        mem_store_commit_unannounced(w.store);
        CHECK(!w.a.is_done);
        CHECK_INT(mem_store_pending_commits(w.store), 0);
        mem_store_crash(take(&w.store));
        if (CHECK_INT(mem_store_open(w.disk, &w.store), 0))
            CHECK_INT(count_namespaces(&w), 1);
        CHECK(!w.a.is_done);
    }
    world_done(&w);
}

TEST(mem_close_finishes_what_waits) {
    struct world w;
    if (world_init(&w)) {
        struct question q;
        add_namespace(&w.a, 1, STR("a"));
        store_commit(w.store, &w.a.batch);
        ask_namespaces(&w, &q);
        store_close(take(&w.store));
        CHECK(w.a.is_done);
        CHECK_INT(q.done_count, 1);
        CHECK_INT(q.row_count, 1);
    }
    world_done(&w);
}

TEST(mem_auto_mode_does_at_once_what_waited) {
    struct world w;
    if (world_init(&w)) {
        struct question q;
        add_namespace(&w.a, 1, STR("a"));
        store_commit(w.store, &w.a.batch);
        CHECK(!w.a.is_done);
        mem_store_set_auto(w.store, true);
        CHECK(w.a.is_done);
        ask_namespaces(&w, &q);
        CHECK_INT(q.done_count, 1);
        mem_store_set_auto(w.store, false);
        ask_namespaces(&w, &q);
        CHECK_INT(q.done_count, 0);
        mem_store_answer(w.store, 0, 0);
        CHECK_INT(q.done_count, 1);
    }
    world_done(&w);
}

/* Applies the writes of a batch to a disk of their own and hashes it. */
static uint64_t hash_of(struct batch *b) {
    struct mem_disk *d = mem_disk_new();
    struct store *s = NULL;
    uint64_t hash = 0;
    struct commit c = {.batch = *b};
    c.batch.done = commit_done;
    if (CHECK(d && mem_store_open(d, &s) == 0)) {
        store_commit(s, &c.batch);
        mem_store_commit_one(s);
        hash = mem_disk_hash(d);
    }
    store_close(s);
    mem_disk_free(d);
    return hash;
}

static struct write base_write(enum write_kind kind) {
    return (struct write){.kind = kind,
                          .namespace_id = id(1),
                          .run_id = id(2),
                          .workflow_id = STR("w"),
                          .name = STR("n"),
                          .body = STR("b"),
                          .due_us = 1,
                          .close_us = 2,
                          .status = 3,
                          .first_event_id = 5,
                          .last_event_id = 6};
}

static uint64_t hash_of_write(const struct write *w) {
    struct batch b;
    uint64_t hash = 0;
    batch_init(&b, 1 << 12);
    struct write *copy = batch_add(&b, w->kind);
    if (CHECK(copy != NULL)) {
        *copy = *w;
        hash = hash_of(&b);
    }
    batch_done(&b);
    return hash;
}

TEST(mem_hash_sees_every_field) {
    struct write execution = base_write(WRITE_EXECUTION), history = base_write(WRITE_HISTORY);
    struct write current = base_write(WRITE_CURRENT), namespace = base_write(WRITE_NAMESPACE);
    struct write ledger = base_write(WRITE_LEDGER);
    struct write changed[] = {execution, execution, execution, execution, execution, execution,
                              execution, execution, history,   history,   history,   history,
                              current,   current,   current,   namespace, namespace, namespace,
                              ledger,    ledger,    ledger,    ledger,    ledger,    ledger,
                              ledger,    execution, history,   current,   namespace, ledger};
    changed[0].namespace_id = id(9);
    changed[1].run_id = id(9);
    changed[2].workflow_id = STR("x");
    changed[3].body = STR("x");
    changed[4].due_us = CLOCK_NEVER;
    changed[5].close_us = CLOCK_NEVER;
    changed[6].status = 9;
    changed[7].is_ready = true;
    changed[8].run_id = id(9);
    changed[9].first_event_id = 4;
    changed[10].last_event_id = 9;
    changed[11].body = STR("");
    changed[12].namespace_id = id(9);
    changed[13].run_id = id(9);
    changed[14].workflow_id = STR("");
    changed[15].namespace_id = id(9);
    changed[16].name = STR("nb");
    changed[17].body = STR("nb");
    changed[18].run_id = id(9);
    changed[19].ledger.id = 9;
    changed[20].ledger.nominal_s = 9;
    changed[21].ledger.last_nominal_s = 9;
    changed[22].ledger.at_us = 9;
    changed[23].ledger.fate = 9;
    changed[24].body = STR("x");
    uint64_t hashes[ARRAY_LEN(changed)];
    for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
        hashes[i] = hash_of_write(&changed[i]);
        for (size_t j = 0; j < i; j++)
            if (!CHECK(hashes[i] != hashes[j]))
                printf("# write %zu hashes like write %zu\n", i, j);
    }
}

TEST(mem_hash_does_not_depend_on_the_order_of_writing) {
    struct commit c;
    uint64_t hashes[2];
    commit_init(&c);
    for (int round = 0; round < 2; round++) {
        for (uint8_t i = 1; i <= 40; i++)
            add_namespace(&c, round ? (uint8_t)(41 - i) : i, STR("x"));
        hashes[round] = hash_of(&c.batch);
        batch_clear(&c.batch);
    }
    CHECK(hashes[0] == hashes[1]);
    batch_done(&c.batch);
}

/* A test may make any allocation fail; the disk must not take that for an answer. */
TEST(mem_commit_survives_a_failing_allocation) {
    struct world w;
    if (world_init(&w)) {
        size_t fired = 0;
        mem_store_set_auto(w.store, true);
        for (uint8_t i = 1; i <= 4; i++) {
            add_namespace(&w.a, i, STR("a"));
            w.a.is_done = false;
            fault_arm_alloc(i);
            store_commit(w.store, &w.a.batch);
            fired += fault_fired();
            fault_disarm();
            CHECK(w.a.is_done);
            batch_clear(&w.a.batch);
        }
        CHECK(fired > 0);
        mem_store_set_auto(w.store, false);
        CHECK_INT(count_namespaces(&w), 4);
    }
    world_done(&w);
}
