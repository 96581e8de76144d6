/* The simulated disk: sorted tables in memory.
 *
 * Only whole batches are applied, so what is here is what survives a crash.
 * Everything is in key order, so that two runs with one seed leave disks with
 * one hash. There is nothing to fail but the heap: see mem_disk_alloc(). */
#include "store/mem/mem_int.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

/* writes */

static void mem_disk_write_namespace(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id, .name = w->name, .body = w->body};
    r.due_us = r.close_us = CLOCK_NEVER;
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_key_run(w->namespace_id, (struct uuid){{0}});
    mem_table_put(&d->namespaces, row);
}

static void mem_disk_remove_namespace(struct mem_disk *d, const struct write *w) {
    struct mem_key key = mem_key_run(w->namespace_id, (struct uuid){{0}});
    mem_table_remove_key(&d->namespaces, &key);
}

static void mem_disk_write_deployment(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id, .name = w->name, .body = w->body};
    r.due_us = r.close_us = CLOCK_NEVER;
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_key_workflow(w->namespace_id, row->row.name);
    mem_table_put(&d->deployments, row);
}

/* What a write says about the row before it must be true: other stores save work by it. */
static void mem_disk_check_claims(const struct mem_disk *d, const struct write *w,
                                  const struct mem_key *key) {
    size_t i = mem_table_seek(&d->executions, key);
    bool is_there = mem_table_has(&d->executions, i, key);
    ensure(!w->is_first || !is_there);
    if (!w->is_in_place)
        return;
    ensure(is_there);
    const struct row *old = &d->executions.rows[i]->row;
    ensure(str_eq(old->workflow_id, w->workflow_id) && old->due_us == w->due_us &&
           old->close_us == w->close_us && old->is_ready == w->is_ready);
}

static void mem_disk_write_execution(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id,
                    .run_id = w->run_id,
                    .workflow_id = w->workflow_id,
                    .body = w->body,
                    .due_us = w->due_us,
                    .close_us = w->close_us,
                    .is_ready = w->is_ready};
    struct mem_row *row = mem_row_new_listed(&r, w->attributes, w->attribute_count);
    row->status = w->status;
    row->key = mem_key_run(w->namespace_id, w->run_id);
    mem_disk_check_claims(d, w, &row->key);
    mem_table_put(&d->executions, row);
}

static void mem_disk_write_current(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id, .run_id = w->run_id, .workflow_id = w->workflow_id};
    r.due_us = r.close_us = CLOCK_NEVER;
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_key_workflow(w->namespace_id, row->row.workflow_id);
    mem_table_put(&d->currents, row);
}

/* Append only, like the real one: SQLite refuses a second row with the same key. */
static void mem_disk_write_history(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id,
                    .run_id = w->run_id,
                    .body = w->body,
                    .first_event_id = w->first_event_id,
                    .last_event_id = w->last_event_id};
    r.due_us = r.close_us = CLOCK_NEVER;
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_key_numbered(w->namespace_id, w->run_id, w->first_event_id);
    ensure(!mem_table_has(&d->history, mem_table_seek(&d->history, &row->key), &row->key));
    mem_table_put(&d->history, row);
}

static void mem_disk_remove_execution(struct mem_disk *d, const struct write *w) {
    struct mem_key run = mem_key_run(w->namespace_id, w->run_id);
    mem_table_remove_key(&d->executions, &run);
    mem_table_remove_key(&d->visibility, &run);
    mem_table_remove_run(&d->history, w->namespace_id, w->run_id);
    mem_table_remove_run(&d->ledger, w->namespace_id, w->run_id);
}

void mem_disk_apply(struct mem_disk *d, const struct write *w) {
    switch (w->kind) {
    case WRITE_NAMESPACE:
        mem_disk_write_namespace(d, w);
        return;
    case WRITE_NAMESPACE_GONE:
        mem_disk_remove_namespace(d, w);
        return;
    case WRITE_EXECUTION:
        mem_disk_write_execution(d, w);
        return;
    case WRITE_EXECUTION_GONE:
        mem_disk_remove_execution(d, w);
        return;
    case WRITE_VISIBILITY:
        mem_visibility_put(d, w);
        return;
    case WRITE_CURRENT:
        mem_disk_write_current(d, w);
        return;
    case WRITE_CURRENT_GONE: {
        struct mem_key key = mem_key_workflow(w->namespace_id, w->workflow_id);
        mem_table_remove_key(&d->currents, &key);
        return;
    }
    case WRITE_DEPLOYMENT:
        mem_disk_write_deployment(d, w);
        return;
    case WRITE_DEPLOYMENT_GONE: {
        struct mem_key key = mem_key_workflow(w->namespace_id, w->name);
        mem_table_remove_key(&d->deployments, &key);
        return;
    }
    case WRITE_HISTORY:
        mem_disk_write_history(d, w);
        return;
    case WRITE_LEDGER:
        mem_ledger_put(d, w);
        return;
    case WRITE_LEDGER_GONE:
        mem_ledger_trim(d, w);
        return;
    case WRITE_BACKLOG:
        mem_backlog_put(d, w);
        return;
    case WRITE_BACKLOG_GONE:
        mem_backlog_trim(d, w);
        return;
    case WRITE_BACKLOG_EMPTY:
        mem_table_remove(&d->backlog, 0, d->backlog.count);
        return;
    }
    ensure(!"a write has a kind");
}

/* reads */

static bool mem_disk_is_due(const struct row *r) {
    return r->due_us != CLOCK_NEVER || r->is_ready;
}

static bool mem_disk_is_behind(const struct row *r, const struct read *q) {
    if (!q->after || uuid_is_zero(q->namespace_id))
        return true;
    if (r->close_us != q->after->close_us)
        return r->close_us > q->after->close_us;
    return memcmp(r->run_id.b, q->after->run_id.b, sizeof r->run_id.b) > 0;
}

static bool mem_disk_is_closed_before(const struct row *r, const struct read *q) {
    return mem_disk_is_behind(r, q) && r->close_us < q->before_us && r->close_us != CLOCK_NEVER &&
           (uuid_is_zero(q->namespace_id) || uuid_eq(q->namespace_id, r->namespace_id));
}

static int mem_disk_compare_closed(const void *pa, const void *pb) {
    const struct mem_row *a = *(struct mem_row *const *)pa, *b = *(struct mem_row *const *)pb;
    int c = (a->row.close_us > b->row.close_us) - (a->row.close_us < b->row.close_us);
    return c ? c : mem_key_compare(&a->key, &b->key);
}

static void mem_disk_find_key(const struct mem_table *t, struct mem_key key, struct mem_table *found) {
    size_t i = mem_table_seek(t, &key);
    if (mem_table_has(t, i, &key))
        mem_table_append(found, t->rows[i]);
}

static void mem_disk_find_closed(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    for (size_t i = 0; i < d->executions.count; i++)
        if (mem_disk_is_closed_before(&d->executions.rows[i]->row, r))
            mem_table_append(found, d->executions.rows[i]);
    if (found->count)
        qsort(found->rows, found->count, sizeof(struct mem_row *), mem_disk_compare_closed);
    found->count = MIN(found->count, r->limit);
}

static void mem_disk_find_runs(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    struct mem_key first = mem_key_run(r->namespace_id, r->behind ? r->behind->run_id : (struct uuid){{0}});
    size_t i = mem_table_seek(&d->executions, &first);
    i += mem_table_has(&d->executions, i, &first);
    for (; i < d->executions.count; i++) {
        if (found->count == r->limit || !uuid_eq(d->executions.rows[i]->row.namespace_id, r->namespace_id))
            break;
        mem_table_append(found, d->executions.rows[i]);
    }
}

static void mem_disk_find_history(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    struct mem_key oldest = mem_key_numbered(r->namespace_id, r->run_id, INT64_MIN);
    struct mem_key end = mem_key_numbered(r->namespace_id, r->run_id, r->last_event_id);
    size_t bytes = 0;
    for (size_t i = mem_table_seek(&d->history, &oldest); i < d->history.count; i++) {
        struct mem_row *row = d->history.rows[i];
        if (mem_key_compare(&row->key, &end) > 0)
            break;
        if (row->row.last_event_id < r->first_event_id)
            continue;
        mem_table_append(found, row);
        bytes += row->row.body.n;
        if (r->bytes_max && bytes >= r->bytes_max)
            break;
    }
}

static void mem_disk_find_due(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    size_t i = 0, limit = r->limit ? r->limit : SIZE_MAX;
    if (r->behind) {
        struct mem_key key = mem_key_run(r->behind->namespace_id, r->behind->run_id);
        i = mem_table_seek(&d->executions, &key);
        i += mem_table_has(&d->executions, i, &key);
    }
    for (; i < d->executions.count && found->count < limit; i++)
        if (mem_disk_is_due(&d->executions.rows[i]->row))
            mem_table_append(found, d->executions.rows[i]);
}

static void mem_disk_find_rows(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    switch (r->kind) {
    case READ_NAMESPACES:
        for (size_t i = 0; i < d->namespaces.count; i++)
            mem_table_append(found, d->namespaces.rows[i]);
        return;
    case READ_DEPLOYMENTS:
        for (size_t i = 0; i < d->deployments.count; i++)
            mem_table_append(found, d->deployments.rows[i]);
        return;
    case READ_CURRENT:
        mem_disk_find_key(&d->currents, mem_key_workflow(r->namespace_id, r->workflow_id), found);
        return;
    case READ_EXECUTION:
        mem_disk_find_key(&d->executions, mem_key_run(r->namespace_id, r->run_id), found);
        return;
    case READ_HISTORY:
        mem_disk_find_history(d, r, found);
        return;
    case READ_DUE:
        mem_disk_find_due(d, r, found);
        return;
    case READ_CLOSED:
        mem_disk_find_closed(d, r, found);
        return;
    case READ_RUNS:
        mem_disk_find_runs(d, r, found);
        return;
    case READ_VISIBILITY:
        mem_visibility_find(d, r, found);
        return;
    case READ_LEDGER:
        mem_ledger_find(d, r, found);
        return;
    case READ_BACKLOG:
        mem_backlog_find(d, r, found);
        return;
    case READ_VISIBILITY_COUNT:
        break;
    }
    ensure(!"a read has a kind");
}

/* Only what this kind of read promises. */
static struct row mem_disk_answer_row(const struct row *stored, enum read_kind kind) {
    struct row r = *stored;
    if (kind == READ_RUNS)
        return (struct row){.namespace_id = r.namespace_id,
                            .run_id = r.run_id,
                            .due_us = CLOCK_NEVER,
                            .close_us = CLOCK_NEVER};
    if (kind == READ_DUE || kind == READ_CLOSED)
        r.body = (struct str){0};
    if (kind == READ_DUE)
        r.close_us = CLOCK_NEVER;
    if (kind == READ_CLOSED) {
        r.due_us = CLOCK_NEVER;
        r.is_ready = false;
    }
    return r;
}

void mem_disk_query(const struct mem_disk *d, const struct read *r, struct mem_table *ret) {
    *ret = (struct mem_table){0};
    if (r->kind == READ_VISIBILITY_COUNT) {
        mem_visibility_count(d, r, ret);
        return;
    }
    mem_disk_find_rows(d, r, ret);
    for (size_t i = 0; i < ret->count; i++) {
        struct row row = mem_disk_answer_row(&ret->rows[i]->row, r->kind);
        if (r->wants_state)
            row.body = mem_visibility_state(d, ret->rows[i]);
        ret->rows[i] = mem_row_new(&row, 0);
    }
}

/* the disk */

struct mem_disk *mem_disk_new(void) {
    return mem_zalloc(sizeof(struct mem_disk));
}

void mem_disk_free(struct mem_disk *d) {
    if (!d)
        return;
    mem_table_done(&d->namespaces);
    mem_table_done(&d->deployments);
    mem_table_done(&d->executions);
    mem_table_done(&d->currents);
    mem_table_done(&d->history);
    mem_table_done(&d->visibility);
    mem_table_done(&d->ledger);
    mem_table_done(&d->backlog);
    mem_free(d);
}

static uint64_t mem_hash_bytes(uint64_t h, const void *p, size_t n) {
    const uint8_t *bytes = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * FNV_PRIME;
    return h;
}

/* By value, lowest byte first: the same on every machine. */
static uint64_t mem_hash_number(uint64_t h, uint64_t v) {
    for (int i = 0; i < 8; i++, v >>= 8)
        h = (h ^ (v & 0xff)) * FNV_PRIME;
    return h;
}

static uint64_t mem_hash_slice(uint64_t h, struct str s) {
    return mem_hash_bytes(mem_hash_number(h, s.n), s.p, s.n);
}

static uint64_t mem_hash_attributes(uint64_t h, const struct mem_row *row) {
    for (size_t i = 0; i < row->attribute_count; i++) {
        const struct attribute *a = &row->attributes[i];
        h = mem_hash_number(mem_hash_slice(h, a->name), a->count);
        for (size_t k = 0; k < a->count; k++) {
            h = mem_hash_number(h, (uint64_t)a->values[k].number);
            h = mem_hash_bytes(h, &a->values[k].real, sizeof(double));
            h = mem_hash_slice(h, a->values[k].text);
        }
    }
    return h;
}

static uint64_t mem_hash_ledger(uint64_t h, const struct ledger_columns *l) {
    h = mem_hash_number(h, (uint64_t)l->nominal_s); /* the id is in the key */
    h = mem_hash_number(h, (uint64_t)l->last_nominal_s);
    h = mem_hash_number(h, (uint64_t)l->at_us);
    return mem_hash_number(h, (uint64_t)l->fate);
}

static uint64_t mem_hash_table(uint64_t h, const struct mem_table *t) {
    h = mem_hash_number(h, t->count);
    for (size_t i = 0; i < t->count; i++) {
        const struct row *r = &t->rows[i]->row;
        h = mem_hash_bytes(h, t->rows[i]->key.fixed, MEM_KEY_FIXED);
        h = mem_hash_bytes(h, r->run_id.b, sizeof r->run_id.b);
        h = mem_hash_slice(h, r->workflow_id);
        h = mem_hash_slice(h, r->name);
        h = mem_hash_slice(h, r->body);
        h = mem_hash_number(h, (uint64_t)r->due_us);
        h = mem_hash_number(h, (uint64_t)r->close_us);
        h = mem_hash_number(h, r->is_ready);
        h = mem_hash_number(h, (uint64_t)r->last_event_id);
        h = mem_hash_number(h, (uint64_t)r->start_us);
        h = mem_hash_number(h, (uint64_t)t->rows[i]->status);
        h = mem_hash_ledger(h, &r->ledger);
        h = mem_hash_attributes(h, t->rows[i]);
    }
    return h;
}

uint64_t mem_disk_hash(const struct mem_disk *d) {
    uint64_t h = mem_hash_table(FNV_OFFSET, &d->namespaces);
    h = mem_hash_table(h, &d->deployments);
    h = mem_hash_table(h, &d->executions);
    h = mem_hash_table(h, &d->currents);
    h = mem_hash_table(h, &d->history);
    h = mem_hash_table(h, &d->visibility);
    h = mem_hash_table(h, &d->ledger);
    return mem_hash_table(h, &d->backlog);
}
