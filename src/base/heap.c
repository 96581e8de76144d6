/* A binary heap in an array of node pointers, each node knowing its place.
 *
 * Every operation costs a logarithm of the count. Only heap_add can fail: at
 * the maximum, or when the array cannot grow; the node is then in no heap. */
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

static bool fires_before(const struct heap_node *a, const struct heap_node *b) {
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void place(struct heap *h, size_t at, struct heap_node *n) {
    h->nodes[at] = n;
    n->index = at + 1;
}

static void sift_up(struct heap *h, size_t at, struct heap_node *n) {
    while (at > 0) {
        size_t parent = (at - 1) / 2;
        if (!fires_before(n, h->nodes[parent]))
            break;
        place(h, at, h->nodes[parent]);
        at = parent;
    }
    place(h, at, n);
}

static void sift_down(struct heap *h, size_t at, struct heap_node *n) {
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && fires_before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (!fires_before(h->nodes[child], n))
            break;
        place(h, at, h->nodes[child]);
        at = child;
    }
    place(h, at, n);
}

static void settle(struct heap *h, size_t at, struct heap_node *n) {
    if (at > 0 && fires_before(n, h->nodes[(at - 1) / 2]))
        sift_up(h, at, n);
    else
        sift_down(h, at, n);
}

static int grow(struct heap *h) {
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
        int r = grow(h);
        if (r < 0)
            return r;
    }
    n->key = key;
    n->seq = h->next_seq++;
    h->count++;
    sift_up(h, h->count - 1, n);
    return 0;
}

static void ensure_member(const struct heap *h, const struct heap_node *n) {
    ensure(n->index > 0 && n->index <= h->count && h->nodes[n->index - 1] == n);
}

/* A moved node counts as set anew: among equal keys it comes last. */
void heap_move(struct heap *h, struct heap_node *n, int64_t key) {
    ensure_member(h, n);
    n->key = key;
    n->seq = h->next_seq++;
    settle(h, n->index - 1, n);
}

void heap_remove(struct heap *h, struct heap_node *n) {
    if (!heap_has(n))
        return;
    ensure_member(h, n);
    size_t at = n->index - 1;
    n->index = 0;
    h->count--;
    if (at < h->count)
        settle(h, at, h->nodes[h->count]);
}
