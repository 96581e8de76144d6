/* A binary min-heap of nodes embedded in their owners.
 *
 * Ordered by key, then by order of insertion: equal deadlines fire in the order in which they were set. A
 * node is in at most one heap; heap_has() tells. A zeroed node is in no heap. The owner removes a node before
 * it frees the memory around it. */
#pragma once

#include "base/base.h"

struct heap_node {
    int64_t key;
    uint64_t seq;
    size_t index; /* 1-based; 0 when in no heap */
};

struct heap {
    struct heap_node **nodes;
    size_t count;
    size_t cap;
    size_t max;
    uint64_t next_seq;
};

void heap_init(struct heap *h, size_t max);
void heap_done(struct heap *h);
int heap_add(struct heap *h, struct heap_node *n, int64_t key) must_check; /* ERR_NO_MEMORY, ERR_FULL */
void heap_move(struct heap *h, struct heap_node *n,
               int64_t key); /* changes the key; the node counts as inserted now */
void heap_remove(struct heap *h, struct heap_node *n); /* does nothing when in no heap */
static inline struct heap_node *heap_top(const struct heap *h) {
    return h->count ? h->nodes[0] : NULL;
}
static inline bool heap_has(const struct heap_node *n) {
    return n->index != 0;
}
