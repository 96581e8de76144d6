/* The simulator's store: holds batches and reads until the simulator executes them.
 *
 * The happy path: store_commit() and store_read() only note what was asked;
 * mem_store_commit_one() and mem_store_answer() do it. The store never touches
 * a batch or a read that it only holds, so an engine that "died" may free
 * them before or after mem_store_crash(). Rows are handed out in memory that
 * is overwritten and freed right after the callback, which exposes a caller that
 * keeps a slice. The simulator decides which operations fail. */
#include "store/mem/mem_store.h"

#include "base/mem.h"
#include "store/mem/mem_int.h"

#define QUEUE_FIRST 8
#define POISON 0xa5

/* Pointers, oldest first. */
struct mem_queue {
    void **items;
    size_t count;
    size_t cap;
};

struct mem_store {
    struct store base;
    struct mem_disk *disk;
    struct mem_queue commits; /* struct batch */
    struct mem_queue reads; /* struct read */
    bool is_auto;
    bool is_draining;
};

static void mem_queue_add(struct mem_queue *q, void *item) {
    if (q->count == q->cap) {
        q->cap = q->cap ? q->cap * 2 : QUEUE_FIRST;
        q->items = mem_disk_alloc(q->items, q->cap * sizeof(void *));
    }
    q->items[q->count++] = item;
}

static void *mem_queue_take(struct mem_queue *q, size_t i) {
    ensure(i < q->count);
    void *item = q->items[i];
    q->count--;
    memmove(q->items + i, q->items + i + 1, (q->count - i) * sizeof(void *));
    return item;
}

static struct mem_store *mem_store_of(struct store *base) {
    return container_of(base, struct mem_store, base);
}

static struct batch *mem_store_apply_oldest(struct mem_store *s) {
    struct batch *b = mem_queue_take(&s->commits, 0);
    for (const struct write *w = b->first; w; w = w->next)
        mem_disk_apply(s->disk, w);
    return b;
}

static void mem_store_answer_read(struct mem_store *s, struct read *r) {
    struct mem_table found;
    mem_disk_query(s->disk, r, &found);
    for (size_t i = 0; i < found.count; i++) {
        struct mem_row *row = found.rows[i];
        size_t bytes = mem_row_bytes(row);
        r->row(r, &row->row);
        memset(row, POISON, bytes);
        mem_free(row);
    }
    mem_free(found.rows);
    r->done(r, 0);
}

/* Callbacks may ask for more; that is done here too, not deeper in the stack. */
static void mem_store_drain_queues(struct mem_store *s) {
    if (s->is_draining)
        return;
    s->is_draining = true;
    while (s->commits.count || s->reads.count) {
        if (s->commits.count) {
            struct batch *b = mem_store_apply_oldest(s);
            b->done(b);
        } else {
            mem_store_answer_read(s, mem_queue_take(&s->reads, 0));
        }
    }
    s->is_draining = false;
}

static void mem_store_commit(struct store *base, struct batch *b) {
    struct mem_store *s = mem_store_of(base);
    mem_queue_add(&s->commits, b);
    if (s->is_auto)
        mem_store_drain_queues(s);
}

static void mem_store_read(struct store *base, struct read *r) {
    struct mem_store *s = mem_store_of(base);
    mem_queue_add(&s->reads, r);
    if (s->is_auto)
        mem_store_drain_queues(s);
}

static void mem_store_collect(struct store *base unused_arg) {
    /* Nothing happens on another thread, so nothing waits to be collected. */
}

static void mem_store_rest(struct store *base unused_arg) {
    /* Each read is made of the state it finds. */
}

static void mem_store_close(struct store *base) {
    mem_store_drain_queues(mem_store_of(base));
    mem_store_crash(base);
}

static const struct store_ops mem_ops = {mem_store_commit, mem_store_read,  mem_store_collect,
                                         mem_store_rest,   mem_store_close, NULL};

int mem_store_open(struct mem_disk *d, struct store **ret) {
    struct mem_store *s = mem_zalloc(sizeof *s);
    if (!s)
        return ERR_NO_MEMORY;
    s->base.ops = &mem_ops;
    s->disk = d;
    *ret = &s->base;
    return 0;
}

size_t mem_store_pending_commits(const struct store *s) {
    return ((const struct mem_store *)s)->commits.count;
}

size_t mem_store_pending_reads(const struct store *s) {
    return ((const struct mem_store *)s)->reads.count;
}

void mem_store_commit_one(struct store *s) {
    struct batch *b = mem_store_apply_oldest(mem_store_of(s));
    b->done(b);
}

void mem_store_commit_unannounced(struct store *s) {
    (void)mem_store_apply_oldest(mem_store_of(s));
}

void mem_store_answer(struct store *s, size_t i, int rc) {
    struct mem_store *m = mem_store_of(s);
    struct read *r = mem_queue_take(&m->reads, i);
    if (rc < 0)
        r->done(r, rc);
    else
        mem_store_answer_read(m, r);
}

void mem_store_set_auto(struct store *s, bool on) {
    struct mem_store *m = mem_store_of(s);
    m->is_auto = on;
    if (on)
        mem_store_drain_queues(m);
}

void mem_store_crash(struct store *s) {
    struct mem_store *m = mem_store_of(s);
    mem_free(m->commits.items);
    mem_free(m->reads.items);
    mem_free(m);
}
