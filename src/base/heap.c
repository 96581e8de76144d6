/* A binary heap in an array of node pointers. Each node stores its index.
 *
 * Every operation costs the logarithm of the count. Only heap_add() can fail: at the maximum, or when the
 * array cannot grow. The node is then in no heap. */
#include "base/heap.h"

#include "base/err.h"
#include "base/mem.h"

#define HEAP_CAP_MIN ((size_t)16)

void heap_init(struct heap *h, size_t max) {
    *h = (struct heap){.max = MIN(max, SIZE_MAX / sizeof(struct heap_node *) / 2)};
}

void heap_done(struct heap *h) {
    for (size_t i = 0; i < h->count; i++)
        h->nodes[i]->index = 0;
    mem_free(h->nodes);
    *h = (struct heap){.max = h->max};
}

static bool heap_is_before(const struct heap_node *a, const struct heap_node *b) {
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void heap_place_node(struct heap *h, size_t at, struct heap_node *n) {
    h->nodes[at] = n;
    n->index = at + 1;
}

static void heap_sift_up(struct heap *h, size_t at, struct heap_node *n) {
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!heap_is_before(n, h->nodes[parent]))
            break;
        heap_place_node(h, at, h->nodes[parent]);
        at = parent;
    }
    heap_place_node(h, at, n);
}

static void heap_sift_down(struct heap *h, size_t at, struct heap_node *n) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && heap_is_before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (!heap_is_before(h->nodes[child], n))
            break;
        heap_place_node(h, at, h->nodes[child]);
        at = child;
    }
    heap_place_node(h, at, n);
}

static void heap_restore_order(struct heap *h, size_t at, struct heap_node *n) {
    if (at > 0 && heap_is_before(n, h->nodes[(at - 1) / 2]))
        heap_sift_up(h, at, n);
    else
        heap_sift_down(h, at, n);
}

static int heap_grow(struct heap *h) {
    size_t cap = MIN(MAX(h->cap * 2, HEAP_CAP_MIN), h->max);
    struct heap_node **nodes = mem_resize(h->nodes, cap * sizeof(struct heap_node *));
    if (!nodes)
        return ERR_NO_MEMORY;
    h->nodes = nodes;
    h->cap = cap;
    return 0;
}

int heap_add(struct heap *h, struct heap_node *n, int64_t key) {
    ensure(!heap_has(n));
    if (h->count >= h->max)
        return ERR_FULL;
    if (h->count == h->cap) {
        int r = heap_grow(h);
        if (r < 0)
            return r;
    }
    n->key = key;
    n->seq = h->next_seq++;
    h->count++;
    heap_sift_up(h, h->count - 1, n);
    return 0;
}

static void heap_ensure_member(const struct heap *h, const struct heap_node *n) {
    ensure(n->index > 0 && n->index <= h->count && h->nodes[n->index - 1] == n);
}

/* A moved node is the last among equal keys. */
void heap_move(struct heap *h, struct heap_node *n, int64_t key) {
    heap_ensure_member(h, n);
    n->key = key;
    n->seq = h->next_seq++;
    heap_restore_order(h, n->index - 1, n);
}

void heap_remove(struct heap *h, struct heap_node *n) {
    if (!heap_has(n))
        return;
    heap_ensure_member(h, n);
    size_t at = n->index - 1;
    n->index = 0;
    h->count--;
    if (at < h->count)
        heap_restore_order(h, at, h->nodes[h->count]);
}
