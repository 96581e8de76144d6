/* Budget, alignment, growth, the sticky failure and what arena_clear keeps. */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/fault.h"
#include "harness.h"

TEST(arena_aligns_every_allocation) {
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t size = 0; size < 70; size++) {
        void *p = arena_alloc(&a, size);
        CHECK(p != NULL);
        CHECK_INT((uintptr_t)p % alignof(max_align_t), 0);
    }
    arena_done(&a);
}

TEST(arena_allocations_do_not_overlap) {
    struct arena a;
    uint8_t *blocks[200];
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
        blocks[i] = arena_alloc(&a, i * 7);
        if (blocks[i])
            memset(blocks[i], (int)i, i * 7);
    }
    for (size_t i = 1; i < ARRAY_LEN(blocks) && !arena_failed(&a); i++) {
        CHECK_INT(blocks[i][0], i);
        CHECK_INT(blocks[i][i * 7 - 1], i);
    }
    arena_done(&a);
}

TEST(arena_refuses_past_the_budget_until_cleared) {
    struct arena a;
    arena_init(&a, 1000);
    CHECK(arena_alloc(&a, 512) != NULL);
    CHECK(arena_alloc(&a, 489) == NULL);
    CHECK(arena_failed(&a));
    CHECK(arena_alloc(&a, 1) == NULL);
    CHECK(arena_alloc(&a, 0) == NULL);
    arena_clear(&a);
    CHECK(!arena_failed(&a));
    CHECK_INT(a.used, 0);
    CHECK(arena_alloc(&a, 1000) != NULL);
    CHECK_INT(a.used, 1000);
    CHECK(arena_alloc(&a, 1) == NULL);
    arena_done(&a);
}

TEST(arena_huge_sizes_fail_cleanly) {
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1, (size_t)1 << 60};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct arena a;
        arena_init(&a, SIZE_MAX);
        CHECK(arena_alloc(&a, sizes[i]) == NULL);
        CHECK(arena_failed(&a));
        arena_done(&a);
    }
}

TEST(arena_array_checks_the_product) {
    struct arena a;
    arena_init(&a, 1 << 20);
    CHECK(arena_zalloc_array(&a, SIZE_MAX / 2, 3) == NULL);
    CHECK(arena_failed(&a));
    arena_clear(&a);
    uint64_t *numbers = arena_array(&a, uint64_t, 100);
    for (size_t i = 0; numbers && i < 100; i++)
        CHECK_INT(numbers[i], 0);
    CHECK(arena_array(&a, uint64_t, 0) != NULL);
    arena_done(&a);
}

TEST(arena_zalloc_clears_reused_memory) {
    struct arena a;
    arena_init(&a, 1 << 20);
    uint8_t *first = arena_alloc(&a, 64);
    if (first)
        memset(first, 0xFF, 64);
    arena_clear(&a);
    uint8_t *second = arena_zalloc(&a, 64);
    uint8_t seen = 0;
    for (size_t i = 0; second && i < 64; i++)
        seen |= second[i];
    CHECK(second == first);
    CHECK_INT(seen, 0);
    arena_done(&a);
}

TEST(arena_clear_keeps_a_small_chunk_only) {
    struct arena a;
    arena_init(&a, 1 << 24);
    CHECK(arena_alloc(&a, 1 << 20) != NULL);
    arena_clear(&a);
    CHECK(a.chunks == NULL);
    CHECK(arena_alloc(&a, 100) != NULL);
    CHECK(arena_alloc(&a, 1 << 20) != NULL);
    arena_clear(&a);
    CHECK(a.chunks != NULL);
    fault_disarm();
    CHECK(arena_alloc(&a, 4096) != NULL);
    arena_done(&a);
    CHECK(a.chunks == NULL);
}

TEST(arena_cleared_needs_no_heap) {
    struct arena a;
    arena_init(&a, 1 << 20);
    CHECK(arena_alloc(&a, 100) != NULL);
    arena_clear(&a);
    fault_arm_alloc(2); /* the first is the arena's own question, the second would be the heap's */
    void *p = arena_alloc(&a, 100);
    bool touched_heap = fault_fired();
    fault_disarm();
    CHECK(p != NULL);
    CHECK(!touched_heap);
    arena_done(&a);
}

TEST(arena_obeys_faults_inside_a_chunk) {
    struct arena a;
    arena_init(&a, 1 << 20);
    CHECK(arena_alloc(&a, 10) != NULL);
    fault_arm_alloc(1);
    void *p = arena_alloc(&a, 10);
    fault_disarm();
    CHECK(p == NULL);
    CHECK(arena_failed(&a));
    arena_done(&a);
}

TEST(arena_copies_text) {
    struct arena a;
    arena_init(&a, 1 << 20);
    char *whole = arena_strdup(&a, "hello");
    char *part = arena_strndup(&a, "hello", 3);
    char *past = arena_strndup(&a, "hello", 50);
    char *none = arena_strndup(&a, NULL, 0);
    char *made = arena_printf(&a, "%s-%d", "run", 42);
    char *empty = arena_printf(&a, "%s", "");
    void *nothing = arena_dup(&a, NULL, 0);
    CHECK_STR(whole, "hello");
    CHECK_STR(part, "hel");
    CHECK_STR(past, "hello");
    CHECK_STR(none, "");
    CHECK_STR(made, "run-42");
    CHECK_STR(empty, "");
    CHECK(nothing != NULL);
    arena_done(&a);
}

TEST(arena_text_past_the_budget_is_null) {
    struct arena a;
    arena_init(&a, 8);
    CHECK(arena_printf(&a, "%s", "12345678") == NULL);
    CHECK(arena_failed(&a));
    arena_clear(&a);
    CHECK_STR(arena_printf(&a, "%s", "1234567"), "1234567");
    CHECK(arena_strdup(&a, "") == NULL);
    arena_done(&a);
}

TEST(arena_without_budget_gives_nothing) {
    struct arena a;
    arena_init(&a, 0);
    CHECK(arena_alloc(&a, 1) == NULL);
    CHECK(arena_failed(&a));
    arena_done(&a);
}
