/* Order by key and then by insertion, moves and removals anywhere, limits. */
#include "base/heap.h"

#include "base/err.h"
#include "base/rng.h"
#include "harness.h"

static struct heap_node *pop(struct heap *h) {
    struct heap_node *n = heap_top(h);
    if (n)
        heap_remove(h, n);
    return n;
}

/* Whether every node knows its place and no child fires before its parent. */
static bool is_sound(const struct heap *h) {
    for (size_t i = 0; i < h->count; i++) {
        const struct heap_node *n = h->nodes[i];
        const struct heap_node *parent = h->nodes[i ? (i - 1) / 2 : 0];
        if (n->index != i + 1 || n->key < parent->key || (n->key == parent->key && n->seq < parent->seq))
            return false;
    }
    return true;
}

TEST(heap_pops_by_key) {
    static const int64_t keys[] = {5, INT64_MAX, -3, 0, INT64_MIN, 4, 9, -1};
    static const int64_t sorted[] = {INT64_MIN, -3, -1, 0, 4, 5, 9, INT64_MAX};
    struct heap_node nodes[ARRAY_LEN(keys)] = {0};
    struct heap h;
    heap_init(&h, 100);
    CHECK(heap_top(&h) == NULL);
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        all = heap_add(&h, &nodes[i], keys[i]) == 0 && all;
    CHECK(all);
    for (size_t i = 0; all && i < ARRAY_LEN(sorted); i++)
        CHECK_INT(pop(&h)->key, sorted[i]);
    CHECK_INT(h.count, all ? 0 : h.count);
    heap_done(&h);
}

TEST(heap_equal_keys_pop_in_order_of_insertion) {
    struct heap_node nodes[50] = {0};
    struct heap h;
    heap_init(&h, 100);
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        all = heap_add(&h, &nodes[i], 7) == 0 && all;
    CHECK(all);
    for (size_t i = 0; all && i < ARRAY_LEN(nodes); i++)
        CHECK(pop(&h) == &nodes[i]);
    heap_done(&h);
}

TEST(heap_moved_node_comes_last_among_equals) {
    struct heap_node a = {0}, b = {0}, c = {0};
    struct heap h;
    heap_init(&h, 10);
    if (CHECK_INT(heap_add(&h, &a, 5), 0) && CHECK_INT(heap_add(&h, &b, 1), 0) &&
        CHECK_INT(heap_add(&h, &c, 5), 0)) {
        heap_move(&h, &b, 5);
        CHECK(heap_top(&h) == &a);
        heap_move(&h, &a, 5);
        CHECK(pop(&h) == &c);
        CHECK(pop(&h) == &b);
        CHECK(pop(&h) == &a);
    }
    heap_done(&h);
}

TEST(heap_knows_its_members) {
    struct heap_node a = {0};
    struct heap h;
    heap_init(&h, 10);
    CHECK(!heap_has(&a));
    heap_remove(&h, &a);
    if (CHECK_INT(heap_add(&h, &a, 1), 0)) {
        CHECK(heap_has(&a));
        heap_remove(&h, &a);
        CHECK(!heap_has(&a));
        heap_remove(&h, &a);
        CHECK_INT(heap_add(&h, &a, 2), 0);
    }
    heap_done(&h);
    CHECK(!heap_has(&a));
}

TEST(heap_refuses_past_the_maximum) {
    struct heap_node nodes[3] = {0};
    struct heap h;
    heap_init(&h, 2);
    int r = heap_add(&h, &nodes[0], 3);
    CHECK_INT(r, 0);
    if (r == 0) {
        CHECK_INT(heap_add(&h, &nodes[1], 2), 0);
        CHECK_INT(heap_add(&h, &nodes[2], 1), ERR_FULL);
        CHECK(!heap_has(&nodes[2]));
        CHECK(heap_top(&h) == &nodes[1]);
        heap_remove(&h, &nodes[0]);
        CHECK_INT(heap_add(&h, &nodes[2], 1), 0);
    }
    heap_done(&h);
}

TEST(heap_without_room_is_always_full) {
    struct heap_node a = {0};
    struct heap h;
    heap_init(&h, 0);
    CHECK_INT(heap_add(&h, &a, 1), ERR_FULL);
    heap_done(&h);
}

TEST(heap_failed_growth_leaves_it_whole) {
    struct heap_node nodes[40] = {0};
    struct heap h;
    size_t added = 0;
    heap_init(&h, 100);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        int r = heap_add(&h, &nodes[i], -(int64_t)i);
        CHECK(r == 0 || r == ERR_NO_MEMORY);
        CHECK_INT(heap_has(&nodes[i]), r == 0);
        added += r == 0;
    }
    CHECK_INT(h.count, added);
    CHECK_INT(added, ARRAY_LEN(nodes));
    CHECK(is_sound(&h));
    heap_done(&h);
}

TEST(heap_random_operations_keep_it_sound) {
    enum { NODES = 64, STEPS = 4000 };
    struct heap_node nodes[NODES] = {0};
    struct heap h;
    struct rng r;
    rng_init(&r, 11);
    heap_init(&h, NODES);
    for (int step = 0; step < STEPS; step++) {
        struct heap_node *n = &nodes[rng_below(&r, NODES)];
        int64_t key = (int64_t)rng_below(&r, 20);
        if (!heap_has(n))
            CHECK_INT(heap_add(&h, n, key), 0);
        else if (rng_chance(&r, 2))
            heap_move(&h, n, key);
        else
            heap_remove(&h, n);
        CHECK(is_sound(&h));
    }
    int64_t last = INT64_MIN;
    for (const struct heap_node *n; (n = pop(&h)); last = n->key)
        CHECK(n->key >= last);
    heap_done(&h);
}
