/* The heap door: zero sizes, refused sizes, copies, and the fault hook in each function. */
#include "base/mem.h"

#include <string.h>

#include "base/fault.h"
#include "harness.h"

TEST(mem_zero_size_is_a_real_block) {
    void *a = mem_alloc(0);
    void *z = mem_zalloc(0);
    void *d = mem_dup(NULL, 0);
    CHECK(a != NULL);
    CHECK(z != NULL);
    CHECK(d != NULL);
    mem_free(a);
    mem_free(z);
    mem_free(d);
}

TEST(mem_impossible_size_is_refused) {
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, PTRDIFF_MAX, (size_t)1 << 40};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        CHECK(mem_alloc(sizes[i]) == NULL);
        CHECK(mem_zalloc(sizes[i]) == NULL);
        CHECK(mem_resize(NULL, sizes[i]) == NULL);
    }
}

TEST(mem_zalloc_clears) {
    uint8_t *p = mem_zalloc(100);
    REQUIRE(p != NULL);
    uint8_t seen = 0;
    for (size_t i = 0; i < 100; i++)
        seen |= p[i];
    CHECK_INT(seen, 0);
    mem_free(p);
}

TEST(mem_resize_keeps_bytes_and_survives_refusal) {
    char *p = mem_strdup("abc");
    REQUIRE(p != NULL);
    char *grown = mem_resize(p, 1000);
    if (grown)
        p = grown;
    CHECK_STR(p, "abc");
    CHECK(mem_resize(p, SIZE_MAX) == NULL);
    CHECK_STR(p, "abc");
    mem_free(p);
}

TEST(mem_dup_copies) {
    const char bytes[] = {'a', 0, 'b'};
    char *copy = mem_dup(bytes, sizeof(bytes));
    REQUIRE(copy != NULL);
    CHECK(copy != bytes);
    CHECK_SLICE(str_bytes(copy, 3), str_bytes(bytes, 3));
    mem_free(copy);
    char *text = mem_strdup("");
    REQUIRE(text != NULL);
    CHECK_STR(text, "");
    mem_free(text);
}

TEST(mem_freep_releases_a_local) {
    cleanup(mem_freep) char *kept = mem_strdup("released at the end of the block");
    cleanup(mem_freep) char *none = NULL;
    CHECK(kept != NULL);
    CHECK(none == NULL);
    mem_free(NULL);
}

TEST(mem_every_door_obeys_faults) {
    char *p = NULL;
    for (int door = 0; door < 5; door++) {
        fault_arm_alloc(1);
        switch (door) {
        case 0:
            p = mem_alloc(8);
            break;
        case 1:
            p = mem_zalloc(8);
            break;
        case 2:
            p = mem_resize(NULL, 8);
            break;
        case 3:
            p = mem_dup("x", 1);
            break;
        case 4:
            p = mem_strdup("x");
            break;
        }
        CHECK(fault_fired());
        CHECK(p == NULL);
        mem_free(p);
    }
    fault_disarm();
}
