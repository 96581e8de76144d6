/* Entries of lists on the simulated disk. Every row is tested with the predicate that the SQL store turns
 * into a WHERE clause. This is slow and simple; tests compare the SQL store with it. */
#include "store/mem/mem_int.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

void mem_visibility_put(struct mem_disk *d, const struct write *w) {
    struct row r = {.namespace_id = w->namespace_id,
                    .run_id = w->run_id,
                    .body = w->body,
                    .due_us = CLOCK_NEVER,
                    .close_us = w->close_us,
                    .start_us = w->start_us};
    struct mem_row *row = mem_row_new_listed(&r, w->attributes, w->attribute_count);
    row->key = mem_key_run(w->namespace_id, w->run_id);
    mem_table_put(&d->visibility, row);
}

/* Negative: a comes first. */
static int mem_visibility_compare_places(const struct visibility_place *a, const struct visibility_place *b) {
    int c = (b->close_us > a->close_us) - (b->close_us < a->close_us);
    if (c == 0)
        c = (b->start_us > a->start_us) - (b->start_us < a->start_us);
    return c ? c : memcmp(b->run_id.b, a->run_id.b, sizeof a->run_id.b);
}

static struct visibility_place mem_visibility_place_of(const struct row *r) {
    return (struct visibility_place){r->close_us, r->start_us, r->run_id};
}

static int mem_visibility_compare_rows(const void *pa, const void *pb) {
    struct visibility_place a = mem_visibility_place_of(&(*(struct mem_row *const *)pa)->row);
    struct visibility_place b = mem_visibility_place_of(&(*(struct mem_row *const *)pb)->row);
    return mem_visibility_compare_places(&a, &b);
}

/* The state of a listed run; NULL when it was removed. */
static const struct mem_row *mem_visibility_find_execution(const struct mem_disk *d,
                                                           const struct mem_row *listed) {
    struct mem_key key = mem_key_run(listed->row.namespace_id, listed->row.run_id);
    size_t i = mem_table_seek(&d->executions, &key);
    return mem_table_has(&d->executions, i, &key) ? d->executions.rows[i] : NULL;
}

struct str mem_visibility_state(const struct mem_disk *d, const struct mem_row *listed) {
    const struct mem_row *execution = mem_visibility_find_execution(d, listed);
    return execution ? execution->row.body : (struct str){NULL, 0};
}

/* Tests the attributes of the entry together with those of the state. */
static bool mem_visibility_matches(const struct mem_disk *d, const struct mem_row *listed,
                                   const struct predicate *where) {
    const struct mem_row *execution = mem_visibility_find_execution(d, listed);
    size_t own = listed->attribute_count, moving = execution ? execution->attribute_count : 0;
    if (!moving)
        return predicate_holds(where, listed->attributes, own);
    struct attribute *all = mem_disk_alloc(NULL, (own + moving) * sizeof(*all));
    if (own)
        memcpy(all, listed->attributes, own * sizeof(*all));
    memcpy(all + own, execution->attributes, moving * sizeof(*all));
    bool holds = predicate_holds(where, all, own + moving);
    mem_free(all);
    return holds;
}

static bool mem_visibility_is_listed(const struct mem_disk *d, const struct mem_row *row,
                                     const struct read *r) {
    struct visibility_place place = mem_visibility_place_of(&row->row);
    if (!uuid_eq(row->row.namespace_id, r->namespace_id))
        return false;
    if (r->after && mem_visibility_compare_places(r->after, &place) >= 0)
        return false;
    return mem_visibility_matches(d, row, r->where);
}

void mem_visibility_find(const struct mem_disk *d, const struct read *r, struct mem_table *found) {
    size_t bytes = 0, n = 0;
    for (size_t i = 0; i < d->visibility.count; i++)
        if (mem_visibility_is_listed(d, d->visibility.rows[i], r))
            mem_table_append(found, d->visibility.rows[i]);
    if (found->count)
        qsort(found->rows, found->count, sizeof(struct mem_row *), mem_visibility_compare_rows);
    while (n < MIN(found->count, r->limit)) {
        const struct mem_row *row = found->rows[n++];
        bytes += (r->wants_state ? mem_visibility_state(d, row) : row->row.body).n;
        if (r->bytes_max && bytes >= r->bytes_max)
            break;
    }
    found->count = n;
}

/* counting */

static struct str mem_visibility_group_of(const struct mem_row *row, struct str name) {
    for (size_t i = 0; name.n && i < row->attribute_count; i++)
        if (str_eq(row->attributes[i].name, name) && row->attributes[i].count)
            return row->attributes[i].values[0].text;
    return (struct str){NULL, 0};
}

static void mem_visibility_count_one(struct mem_table *groups, struct uuid namespace_id, struct str name) {
    for (size_t i = 0; i < groups->count; i++) {
        if (str_eq(groups->rows[i]->row.name, name)) {
            groups->rows[i]->row.count++;
            return;
        }
    }
    struct row r = {.namespace_id = namespace_id, .name = name, .count = 1};
    r.due_us = r.close_us = CLOCK_NEVER;
    mem_table_append(groups, mem_row_new(&r, 0));
}

static int mem_visibility_compare_groups(const void *pa, const void *pb) {
    struct value a = value_text((*(struct mem_row *const *)pa)->row.name);
    struct value b = value_text((*(struct mem_row *const *)pb)->row.name);
    return value_compare(&a, &b);
}

void mem_visibility_count(const struct mem_disk *d, const struct read *r, struct mem_table *ret) {
    for (size_t i = 0; i < d->visibility.count; i++)
        if (mem_visibility_is_listed(d, d->visibility.rows[i], r))
            mem_visibility_count_one(ret, r->namespace_id,
                                     mem_visibility_group_of(d->visibility.rows[i], r->group_by));
    if (ret->count)
        qsort(ret->rows, ret->count, sizeof(struct mem_row *), mem_visibility_compare_groups);
    else if (!r->group_by.n) {
        mem_visibility_count_one(ret, r->namespace_id, (struct str){NULL, 0});
        ret->rows[0]->row.count = 0;
    }
}
