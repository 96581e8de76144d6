/* Queued tasks on the simulated disk. Their keys have the lane in place of the run id. */
#include "store/mem/mem_int.h"

#include "base/clock.h"

static struct mem_key mem_backlog_key(struct uuid namespace_id, int64_t lane, int64_t number) {
    struct uuid as_id = {{0}};
    for (int i = 0; i < 8; i++)
        as_id.b[i] = (uint8_t)((uint64_t)lane >> (56 - 8 * i));
    return mem_key_numbered(namespace_id, as_id, number);
}

void mem_backlog_put(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id, .body = w->body, .backlog = w->backlog};
    r.due_us = r.close_us = CLOCK_NEVER;
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_backlog_key(w->namespace_id, w->backlog.lane, w->backlog.number);
    mem_table_put(&d->backlog, row);
}

void mem_backlog_trim(struct mem_disk *d, const struct write *w) {
    struct mem_key first = mem_backlog_key(w->namespace_id, w->backlog.lane, w->backlog.number);
    struct mem_key end = mem_backlog_key(w->namespace_id, w->backlog.lane, w->backlog_end);
    size_t at = mem_table_seek(&d->backlog, &first), until = mem_table_seek(&d->backlog, &end);
    if (at < until)
        mem_table_remove(&d->backlog, at, until - at);
}

void mem_backlog_find(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    struct mem_key first = mem_backlog_key(r->namespace_id, r->backlog.lane, r->backlog.number);
    for (size_t i = mem_table_seek(&d->backlog, &first); i < d->backlog.count; i++) {
        const struct row *row = &d->backlog.rows[i]->row;
        if (found->count == r->limit || !uuid_eq(row->namespace_id, r->namespace_id) ||
            row->backlog.lane != r->backlog.lane)
            return;
        mem_table_append(found, d->backlog.rows[i]);
    }
}

size_t mem_disk_backlog(const struct mem_disk *d) {
    return d->backlog.count;
}
