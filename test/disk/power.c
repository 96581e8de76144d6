/* From a trace to files.
 *
 * Each node has its durable bytes and a list of the operations since. A cut copies the bytes, goes through
 * the list, and for each sector of each write asks whether it made it. The answer for a sector is a limit: it
 * has what was written to it before that operation, so a later write never arrives without an earlier one of
 * the same sector. */
#include "power.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define FILE_MODE 0600
#define NONSENSE_ONE_IN 8

struct cut {
    enum power_style style;
    size_t sector_bytes;
    uint64_t seed;
    size_t limit; /* ORDERED: operations before this one arrived */
    size_t size_limit; /* of those that change the length */
};

/* growing */

static size_t *grown(size_t *list, size_t count, size_t *room) {
    if (count < *room)
        return list;
    *room = *room ? 2 * *room : 16;
    list = mem_resize(list, *room * sizeof *list);
    ensure(list);
    return list;
}

static void node_resize(struct power_node *n, size_t size) {
    if (size > n->room) {
        n->room = MAX(size, 2 * n->room);
        n->data = mem_resize(n->data, n->room);
        ensure(n->data);
    }
    if (size > n->size)
        memset(n->data + n->size, 0, size - n->size);
    n->size = size;
}

static void node_apply(struct power_node *n, const struct trace_op *op) {
    if (op->kind == TRACE_TRUNCATE) {
        node_resize(n, (size_t)op->at);
        return;
    }
    node_resize(n, MAX(n->size, (size_t)op->at + op->len));
    memcpy(n->data + op->at, op->data, op->len);
}

static void node_sync(struct power_node *n, const struct trace *t) {
    for (size_t i = 0; i < n->pending_count; i++)
        node_apply(n, &t->ops[n->pending[i]]);
    n->pending_count = 0;
}

/* the directory */

static struct power_entry *entry_find(struct power *p, const char *name) {
    for (size_t i = 0; i < p->entry_count; i++)
        if (cstr_eq(p->entries[i].name, name))
            return &p->entries[i];
    p->entries = mem_resize(p->entries, (p->entry_count + 1) * sizeof *p->entries);
    ensure(p->entries);
    struct power_entry *e = &p->entries[p->entry_count++];
    *e = (struct power_entry){.node = -1};
    (void)snprintf(e->name, sizeof e->name, "%s", name);
    return e;
}

static int entry_after(const struct power_entry *e, const struct trace *t, size_t count) {
    if (!count)
        return e->node;
    const struct trace_op *op = &t->ops[e->pending[count - 1]];
    return op->kind == TRACE_CREATE ? op->node : -1;
}

static void directory_sync(struct power *p) {
    for (size_t i = 0; i < p->entry_count; i++) {
        struct power_entry *e = &p->entries[i];
        e->node = entry_after(e, p->trace, e->pending_count);
        e->pending_count = 0;
    }
}

/* what is durable */

static void advance_one(struct power *p, size_t at) {
    const struct trace_op *op = &p->trace->ops[at];
    switch (op->kind) {
    case TRACE_WRITE:
    case TRACE_TRUNCATE: {
        struct power_node *n = &p->nodes[op->node];
        n->pending = grown(n->pending, n->pending_count, &n->pending_room);
        n->pending[n->pending_count++] = at;
        break;
    }
    case TRACE_SYNC:
        node_sync(&p->nodes[op->node], p->trace);
        break;
    case TRACE_CREATE:
    case TRACE_DELETE: {
        struct power_entry *e = entry_find(p, op->name);
        e->pending = grown(e->pending, e->pending_count, &e->pending_room);
        e->pending[e->pending_count++] = at;
        break;
    }
    case TRACE_SYNC_DIRECTORY:
        directory_sync(p);
        break;
    case TRACE_BEGUN:
        p->begun = op->at;
        break;
    case TRACE_DONE:
        p->done = op->at;
        break;
    case TRACE_STEP:
        p->steps = op->at;
        break;
    case TRACE_CLOCK:
        p->clock_us = op->at;
        break;
    }
}

void power_init(struct power *p, const struct trace *t) {
    *p = (struct power){.trace = t};
    p->nodes = mem_zalloc(((size_t)t->node_count + 1) * sizeof *p->nodes);
    ensure(p->nodes);
    for (int i = 0; i < t->file_count; i++) {
        node_resize(&p->nodes[i], t->files[i].size);
        if (t->files[i].size)
            memcpy(p->nodes[i].data, t->files[i].data, t->files[i].size);
        entry_find(p, t->files[i].name)->node = i;
    }
}

void power_advance(struct power *p, size_t position) {
    ensure(position >= p->position && position <= p->trace->count);
    while (p->position < position)
        advance_one(p, p->position++);
}

void power_done(struct power *p) {
    for (int i = 0; i < p->trace->node_count; i++) {
        mem_free(p->nodes[i].data);
        mem_free(p->nodes[i].pending);
    }
    for (size_t i = 0; i < p->entry_count; i++)
        mem_free(p->entries[i].pending);
    mem_free(p->nodes);
    mem_free(p->entries);
}

/* the cut */

static uint64_t mixed(uint64_t a, uint64_t b) {
    struct rng r;
    rng_init(&r, a * UINT64_C(0x9e3779b97f4a7c15) ^ b);
    return rng_u64(&r);
}

/* Before which of the pending operations the sector stopped changing. */
static size_t sector_limit(const struct cut *c, size_t sector, size_t pending_count) {
    uint64_t x = mixed(c->seed, sector);
    switch (x % 3) {
    case 0:
        return 0;
    case 1:
        return pending_count;
    default:
        return (size_t)(x / 3 % (pending_count + 1));
    }
}

static bool arrives(const struct cut *c, size_t i, size_t sector, size_t pending_count) {
    switch (c->style) {
    case POWER_NOTHING:
        return false;
    case POWER_ALL:
        return true;
    case POWER_ORDERED:
        return i < c->limit || (i == c->limit && mixed(c->seed, sector) % 2);
    case POWER_SECTORS:
    case POWER_NONSENSE:
        return i < sector_limit(c, sector, pending_count);
    case POWER_STYLES:
        break;
    }
    ensure(!"a style");
}

static bool is_nonsense(const struct cut *c, size_t i, size_t sector) {
    return c->style == POWER_NONSENSE && mixed(c->seed + 1, sector * 31 + i) % NONSENSE_ONE_IN == 0;
}

static void put_nonsense(const struct cut *c, uint8_t *to, size_t len, size_t sector) {
    struct rng r;
    rng_init(&r, mixed(c->seed + 2, sector));
    for (size_t i = 0; i < len; i++)
        to[i] = (uint8_t)rng_u64(&r);
}

static void cut_write(const struct cut *c, struct power_node *n, const struct trace_op *op, size_t i,
                      size_t pending_count) {
    size_t end = (size_t)op->at + op->len;
    for (size_t at = (size_t)op->at, next; at < end; at = next) {
        size_t sector = at / c->sector_bytes;
        next = MIN(end, (sector + 1) * c->sector_bytes);
        if (!arrives(c, i, sector, pending_count))
            continue;
        node_resize(n, MAX(n->size, next));
        if (is_nonsense(c, i, sector))
            put_nonsense(c, n->data + at, next - at, sector);
        else
            memcpy(n->data + at, op->data + (at - (size_t)op->at), next - at);
    }
    if (i < c->size_limit) /* the new length may be there before the new bytes */
        node_resize(n, MAX(n->size, end));
}

/* What the node has after the power came back; its pending operations are over. */
static void cut_node(const struct cut *shared, struct power_node *n, const struct trace *t, int node) {
    struct cut c = *shared;
    size_t count = n->pending_count;
    c.seed = mixed(c.seed, (uint64_t)node);
    c.limit = (size_t)(mixed(c.seed, UINT64_MAX) % (count + 1));
    c.size_limit = c.limit;
    if (c.style == POWER_NOTHING)
        c.size_limit = 0;
    if (c.style == POWER_ALL)
        c.size_limit = count;
    for (size_t i = 0; i < count; i++) {
        const struct trace_op *op = &t->ops[n->pending[i]];
        if (op->kind == TRACE_WRITE)
            cut_write(&c, n, op, i, count);
        else if (i < c.size_limit)
            node_resize(n, (size_t)op->at);
    }
    n->pending_count = 0;
}

static void copy_node(struct power_node *to, const struct power_node *from) {
    *to = (struct power_node){0};
    node_resize(to, from->size);
    if (from->size)
        memcpy(to->data, from->data, from->size);
    if (from->pending_count) {
        to->pending = mem_dup(from->pending, from->pending_count * sizeof *from->pending);
        ensure(to->pending);
    }
    to->pending_count = from->pending_count;
}

static void write_file(const struct power_node *n, const char *directory, const char *name) {
    char path[PATH_MAX];
    size_t used = n->size;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, FILE_MODE);
    ensure(fd >= 0);
    while (used && !n->data[used - 1])
        used--;
    for (size_t at = 0; at < used;) {
        ssize_t written = pwrite(fd, n->data + at, used - at, (off_t)at);
        ensure(written > 0);
        at += (size_t)written;
    }
    ensure(ftruncate(fd, (off_t)n->size) == 0);
    close(fd);
}

static void cut_entry(const struct cut *c, const struct power *p, const struct power_entry *e,
                      const char *directory) {
    size_t kept = 0;
    if (c->style == POWER_ALL)
        kept = e->pending_count;
    else if (c->style != POWER_NOTHING)
        kept = (size_t)(mixed(c->seed, (uint64_t)e->name[strlen(e->name) - 1]) % (e->pending_count + 1));
    int node = entry_after(e, p->trace, kept);
    struct power_node n;
    if (node < 0)
        return;
    copy_node(&n, &p->nodes[node]);
    cut_node(c, &n, p->trace, node);
    write_file(&n, directory, e->name);
    mem_free(n.data);
    mem_free(n.pending);
}

enum power_style power_cut(const struct power *p, uint64_t seed, const char *directory) {
    struct rng r;
    rng_init(&r, seed);
    struct cut c = {.seed = seed, .style = (enum power_style)rng_below(&r, POWER_STYLES)};
    /* A file whose first page is garbage cannot be told from one of another program, and is refused. Nothing
     * was promised yet. */
    if (c.style == POWER_NONSENSE && !p->begun)
        c.style = POWER_SECTORS;
    c.sector_bytes = rng_chance(&r, 2) ? 512 : 4096;
    for (size_t i = 0; i < p->entry_count; i++)
        cut_entry(&c, p, &p->entries[i], directory);
    return c.style;
}

const char *power_style_name(enum power_style s) {
    static const char *const names[] = {"nothing", "all", "ordered", "sectors", "nonsense"};
    return names[s];
}

/* a failed sync */

static const char *name_of(const struct power *p, int node) {
    for (size_t i = 0; i < p->entry_count; i++)
        if (entry_after(&p->entries[i], p->trace, p->entries[i].pending_count) == node)
            return p->entries[i].name;
    return NULL;
}

void power_lose_pages(const struct trace *t, const char *directory, int node, uint64_t seed) {
    struct power p;
    power_init(&p, t);
    power_advance(&p, t->count);
    const char *name = name_of(&p, node);
    struct cut c = {.style = POWER_SECTORS, .sector_bytes = 4096, .seed = seed};
    cut_node(&c, &p.nodes[node], t, node);
    if (name)
        write_file(&p.nodes[node], directory, name);
    power_done(&p);
}
