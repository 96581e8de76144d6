/* Order, removal in mid-iteration, and nodes that are in no list. */
#include "base/list.h"

#include "harness.h"

struct item {
    int value;
    struct list node;
};

static int value_of(struct list *n) {
    return container_of(n, struct item, node)->value;
}

/* The values in order, as the digits of one number. */
static int digits_of(struct list *l) {
    int digits = 0;
    for (struct list *n = l->next; n != l; n = n->next)
        digits = digits * 10 + value_of(n);
    return digits;
}

TEST(list_keeps_order) {
    struct list l;
    struct item a = {1, {0}}, b = {2, {0}}, c = {3, {0}};
    list_init(&l);
    CHECK(list_empty(&l));
    list_append(&l, &b.node);
    list_append(&l, &c.node);
    list_prepend(&l, &a.node);
    CHECK(!list_empty(&l));
    CHECK_INT(digits_of(&l), 123);
    int backwards = 0;
    for (struct list *n = l.prev; n != &l; n = n->prev)
        backwards = backwards * 10 + value_of(n);
    CHECK_INT(backwards, 321);
}

TEST(list_removal_unlinks) {
    struct list l;
    struct item a = {1, {0}}, b = {2, {0}}, c = {3, {0}};
    list_init(&l);
    list_append(&l, &a.node);
    list_append(&l, &b.node);
    list_append(&l, &c.node);
    CHECK(list_linked(&b.node));
    list_remove(&b.node);
    CHECK(!list_linked(&b.node));
    list_remove(&b.node);
    CHECK_INT(digits_of(&l), 13);
    list_remove(&a.node);
    list_remove(&c.node);
    CHECK(list_empty(&l));
    list_append(&l, &b.node);
    CHECK_INT(digits_of(&l), 2);
}

TEST(list_zeroed_node_is_in_no_list) {
    struct item a = {1, {0}};
    CHECK(!list_linked(&a.node));
    list_remove(&a.node);
    CHECK(!list_linked(&a.node));
}

TEST(list_pops_from_the_front) {
    struct list l;
    struct item a = {1, {0}}, b = {2, {0}};
    list_init(&l);
    list_append(&l, &a.node);
    list_append(&l, &b.node);
    CHECK(list_pop(&l) == &a.node);
    CHECK(list_pop(&l) == &b.node);
    CHECK(list_pop(&l) == NULL);
    CHECK(list_empty(&l));
}

TEST(list_iteration_may_remove) {
    struct list l;
    struct item items[6];
    list_init(&l);
    for (int i = 0; i < 6; i++) {
        items[i] = (struct item){i + 1, {0}};
        list_append(&l, &items[i].node);
    }
    list_for_safe(&l, n) {
        if (value_of(n) % 2 == 0)
            list_remove(n);
    }
    CHECK_INT(digits_of(&l), 135);
    int sum = 0;
    list_for(&l, n) {
        sum += value_of(n);
    }
    CHECK_INT(sum, 9);
    list_for_safe(&l, n) {
        list_remove(n);
    }
    CHECK(list_empty(&l));
}
