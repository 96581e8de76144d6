/* Ledgers of schedules, on the simulated disk: rows in the order of their ids, all of a schedule's looked at.
 */
#include "store/mem/mem_int.h"

#include "base/clock.h"

void mem_ledger_put(struct mem_disk *d, const struct write *w) {
    struct row r = {
        .namespace_id = w->namespace_id, .run_id = w->run_id, .body = w->body, .ledger = w->ledger};
    r.due_us = r.close_us = CLOCK_NEVER;
    ensure(w->ledger.fate >= 0 && w->ledger.fate < 32);
    struct mem_row *row = mem_row_new(&r, 0);
    row->key = mem_key_numbered(w->namespace_id, w->run_id, w->ledger.id);
    mem_table_put(&d->ledger, row);
}

/* The rows of a run with ids in [INT64_MIN, before) are [*first, *end). */
static void mem_ledger_find_bounds(const struct mem_disk *d, struct uuid namespace_id, struct uuid run_id,
                                   int64_t before, size_t *first, size_t *end) {
    struct mem_key oldest = mem_key_numbered(namespace_id, run_id, INT64_MIN);
    struct mem_key last = mem_key_numbered(namespace_id, run_id, before);
    *first = mem_table_seek(&d->ledger, &oldest);
    *end = mem_table_seek(&d->ledger, &last);
}

void mem_ledger_trim(struct mem_disk *d, const struct write *w) {
    size_t first, end;
    mem_ledger_find_bounds(d, w->namespace_id, w->run_id, INT64_MAX, &first, &end);
    while (end-- > first) {
        const struct ledger_columns *l = &d->ledger.rows[end]->row.ledger;
        bool is_below = w->ledger.id && l->id < w->ledger.id;
        bool is_before = w->ledger.at_us && l->at_us < w->ledger.at_us;
        if (l->at_us != LEDGER_OPEN && (is_below || is_before))
            mem_table_remove(&d->ledger, end, 1);
    }
}

static bool mem_ledger_matches(const struct ledger_columns *l, const struct ledger_filter *f) {
    return l->last_nominal_s >= f->from_s && l->nominal_s <= f->to_s &&
           (!f->fates || f->fates >> l->fate & 1);
}

void mem_ledger_find(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    size_t first, end, bytes = 0;
    mem_ledger_find_bounds(d, r->namespace_id, r->run_id, r->ledger.before_id, &first, &end);
    while (end-- > first && found->count < r->limit) {
        struct mem_row *row = d->ledger.rows[end];
        if (!mem_ledger_matches(&row->row.ledger, &r->ledger))
            continue;
        mem_table_append(found, row);
        bytes += row->row.body.n;
        if (r->bytes_max && bytes >= r->bytes_max)
            break;
    }
}
