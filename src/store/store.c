/* Batches: the writes that one commit makes durable, kept in the order they were added.
 *
 * A batch is filled, committed and cleared again and again; its arena keeps
 * the memory. The only failure is an exhausted arena: batch_add() then answers
 * NULL, and the arena remembers. */
#include "store/store.h"

#include "base/clock.h"

static void batch_drop_writes(struct batch *b) {
    b->first = NULL;
    b->last = &b->first;
    b->count = 0;
}

void batch_init(struct batch *b, size_t budget) {
    *b = (struct batch){0};
    arena_init(&b->arena, budget);
    batch_drop_writes(b);
}

void batch_clear(struct batch *b) {
    arena_clear(&b->arena);
    batch_drop_writes(b);
}

void batch_done(struct batch *b) {
    arena_done(&b->arena);
    batch_drop_writes(b);
}

struct write *batch_add(struct batch *b, enum write_kind kind) {
    struct write *w = arena_new(&b->arena, struct write);
    if (!w)
        return NULL;
    w->kind = kind;
    w->due_us = CLOCK_NEVER;
    w->close_us = CLOCK_NEVER;
    *b->last = w;
    b->last = &w->next;
    b->count++;
    return w;
}

void store_close(struct store *s) {
    if (s)
        s->ops->close(s);
}

void store_measure(struct store *s, struct store_size *ret) {
    *ret = (struct store_size){0};
    if (s->ops->measure)
        s->ops->measure(s, ret);
}
