/* Order of iteration, holes, growth, limits, and a long random comparison with a plain array. */
#include "base/map.h"

#include <stdio.h>

#include "base/err.h"
#include "base/rng.h"
#include "harness.h"

enum { THINGS = 500 };

struct thing {
    char key[32];
    bool present;
};

static struct str key_of(const struct thing *t) {
    return str_of(t->key);
}

static void name_things(struct thing *things, size_t count) {
    for (size_t i = 0; i < count; i++) {
        things[i].present = false;
        snprintf(things[i].key, sizeof(things[i].key), "thing-%zu", i);
    }
}

/* Puts all; stops at the first refusal and says whether there was none. */
static bool put_all(struct map *m, struct thing *things, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (map_put(m, key_of(&things[i]), &things[i]) < 0)
            return false;
    }
    return true;
}

TEST(map_empty) {
    struct map m;
    map_init(&m, 10, 1);
    size_t i = 0;
    CHECK(map_get(&m, STR("x")) == NULL);
    CHECK(map_remove(&m, STR("x")) == NULL);
    CHECK(map_next(&m, &i) == NULL);
    CHECK_INT(map_count(&m), 0);
    map_done(&m);
}

TEST(map_finds_what_was_put) {
    struct map m;
    struct thing things[THINGS];
    map_init(&m, THINGS, 12345);
    name_things(things, THINGS);
    bool all = put_all(&m, things, THINGS);
    CHECK(all);
    for (size_t i = 0; all && i < THINGS; i++)
        CHECK(map_get(&m, key_of(&things[i])) == &things[i]);
    CHECK(map_get(&m, STR("thing-")) == NULL);
    CHECK(map_get(&m, STR("thing-500")) == NULL);
    CHECK(map_get(&m, STR("")) == NULL);
    CHECK_INT(map_count(&m), THINGS);
    map_done(&m);
}

TEST(map_keys_are_bytes_of_any_length) {
    static const char text[] = "a\0b\0c-abcdefghijklmnopqrstuvwxyz";
    struct map m;
    char values[sizeof(text)];
    map_init(&m, 100, 3);
    bool all = true;
    for (size_t n = 0; n < sizeof(text); n++)
        all = map_put(&m, str_bytes(text, n), &values[n]) == 0 && all;
    CHECK(all);
    for (size_t n = 0; all && n < sizeof(text); n++)
        CHECK(map_get(&m, str_bytes(text, n)) == &values[n]);
    map_done(&m);
}

TEST(map_null_key_is_the_empty_key) {
    struct map m;
    int value;
    map_init(&m, 10, 3);
    if (CHECK_INT(map_put(&m, str_of(NULL), &value), 0)) {
        CHECK(map_get(&m, STR("")) == &value);
        CHECK(map_remove(&m, STR("")) == &value);
    }
    map_done(&m);
}

TEST(map_iterates_in_order_of_insertion) {
    struct map m;
    struct thing things[THINGS];
    map_init(&m, THINGS, 77);
    name_things(things, THINGS);
    bool all = put_all(&m, things, THINGS);
    CHECK(all);
    for (size_t i = 0; all && i < THINGS; i += 3)
        CHECK(map_remove(&m, key_of(&things[i])) == &things[i]);
    if (all) /* removed and put again: now the last */
        all = CHECK_INT(map_put(&m, key_of(&things[0]), &things[0]), 0);
    size_t at = 0, expected = 1;
    for (struct thing *t; all && (t = map_next(&m, &at));) {
        CHECK(t == &things[expected < THINGS ? expected : 0]);
        expected += expected % 3 == 1 ? 1 : 2;
    }
    map_done(&m);
}

TEST(map_iteration_may_remove_the_visited) {
    struct map m;
    struct thing things[THINGS];
    map_init(&m, THINGS, 77);
    name_things(things, THINGS);
    bool all = put_all(&m, things, THINGS);
    CHECK(all);
    size_t at = 0, visited = 0;
    for (struct thing *t; (t = map_next(&m, &at)); visited++)
        CHECK(map_remove(&m, key_of(t)) == t);
    CHECK_INT(visited, THINGS);
    CHECK_INT(map_count(&m), 0);
    at = 0;
    CHECK(map_next(&m, &at) == NULL);
    map_done(&m);
}

TEST(map_refuses_past_the_maximum) {
    struct map m;
    struct thing things[4];
    map_init(&m, 3, 1);
    name_things(things, 4);
    if (put_all(&m, things, 3)) {
        CHECK_INT(map_put(&m, key_of(&things[3]), &things[3]), ERR_FULL);
        CHECK(map_get(&m, key_of(&things[3])) == NULL);
        CHECK(map_remove(&m, key_of(&things[0])) == &things[0]);
        CHECK_INT(map_put(&m, key_of(&things[3]), &things[3]), 0);
    }
    CHECK_INT(map_count(&m), 3);
    map_done(&m);
}

TEST(map_failed_growth_leaves_it_whole) {
    struct map m;
    struct thing things[100];
    map_init(&m, 100, 1);
    name_things(things, 100);
    size_t put = 0;
    for (size_t i = 0; i < 100; i++) {
        int r = map_put(&m, key_of(&things[i]), &things[i]);
        CHECK(r == 0 || r == ERR_NO_MEMORY);
        CHECK(map_get(&m, key_of(&things[i])) == (r == 0 ? &things[i] : NULL));
        put += r == 0;
    }
    CHECK_INT(map_count(&m), put);
    CHECK_INT(put, 100);
    map_done(&m);
}

TEST(map_churn_does_not_grow_it) {
    struct map m;
    struct thing things[2];
    map_init(&m, 1000000, 1);
    name_things(things, 2);
    bool all = put_all(&m, things, 1);
    for (int i = 0; all && i < 10000; i++) {
        all = map_put(&m, key_of(&things[1]), &things[1]) == 0;
        all = all && map_remove(&m, key_of(&things[1])) == &things[1];
    }
    CHECK(all);
    CHECK(m.slot_count <= 16);
    CHECK(map_get(&m, key_of(&things[0])) == (all ? &things[0] : map_get(&m, key_of(&things[0]))));
    map_done(&m);
}

TEST(map_emptied_starts_afresh) {
    struct map m;
    struct thing things[THINGS];
    map_init(&m, THINGS, 5);
    name_things(things, THINGS);
    for (int round = 0; round < 3; round++) {
        bool all = put_all(&m, things, THINGS);
        CHECK(all);
        for (size_t i = 0; i < THINGS; i++)
            CHECK(map_remove(&m, key_of(&things[i])) == &things[i]);
        CHECK_INT(m.entry_count, 0);
    }
    map_done(&m);
}

TEST(map_seed_changes_where_keys_land) {
    struct map a, b;
    struct thing things[64];
    map_init(&a, 64, 1);
    map_init(&b, 64, 2);
    name_things(things, 64);
    if (CHECK(put_all(&a, things, 64)) && CHECK(put_all(&b, things, 64))) {
        int same = 0;
        for (size_t i = 0; i < 64; i++)
            same += a.entries[i].hash == b.entries[i].hash;
        CHECK_INT(same, 0);
    }
    map_done(&a);
    map_done(&b);
}

TEST(map_hash_spreads_similar_keys) {
    struct map m;
    struct thing things[THINGS];
    int buckets[16] = {0};
    map_init(&m, THINGS, 99);
    name_things(things, THINGS);
    bool all = put_all(&m, things, THINGS);
    CHECK(all);
    for (size_t i = 0; all && i < THINGS; i++)
        buckets[m.entries[i].hash % 16]++;
    for (size_t i = 0; i < 16; i++)
        CHECK(buckets[i] > 10 && buckets[i] < 60);
    map_done(&m);
}

static void step_randomly(struct map *m, struct thing *t, size_t *count) {
    if (t->present) {
        CHECK(map_remove(m, key_of(t)) == t);
        t->present = false;
        (*count)--;
    } else if (CHECK_INT(map_put(m, key_of(t), t), 0)) {
        t->present = true;
        (*count)++;
    }
}

TEST(map_agrees_with_a_plain_array) {
    struct map m;
    struct thing things[THINGS];
    struct rng r;
    size_t count = 0;
    rng_init(&r, 2);
    map_init(&m, THINGS, rng_u64(&r));
    name_things(things, THINGS);
    for (int step = 0; step < 20000; step++) {
        /* Waves: a growing part of the things is in play, then a shrinking one. */
        uint64_t range = 1 + (uint64_t)(step % 2000 < 1000 ? step % 1000 : 1000 - step % 1000) / 2;
        step_randomly(&m, &things[rng_below(&r, MIN(range, THINGS))], &count);
        CHECK_INT(map_count(&m), count);
    }
    for (size_t i = 0; i < THINGS; i++)
        CHECK(map_get(&m, key_of(&things[i])) == (things[i].present ? &things[i] : NULL));
    map_done(&m);
}
