/* Keys, rows, and sorted tables of them: what the simulated disk is made of.
 *
 * A sorted array is the same on every machine and in every run, which is what
 * the simulator needs; it is fast enough because most keys grow with time and
 * are added at the end. */
#include "store/mem/mem_int.h"

#include "base/mem.h"

#define TABLE_ROWS_FIRST 16

void *mem_disk_alloc(void *old, size_t size) {
    void *p = mem_resize(old, size);
    if (!p)
        p = mem_resize(old, size);
    ensure(p);
    return p;
}

/* keys */

static void mem_key_put_be64(uint8_t *p, uint64_t v) {
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (56 - 8 * i));
}

struct mem_key mem_key_run(struct uuid namespace_id, struct uuid run_id) {
    struct mem_key k = {0};
    memcpy(k.fixed, namespace_id.b, sizeof namespace_id.b);
    memcpy(k.fixed + 16, run_id.b, sizeof run_id.b);
    return k;
}

struct mem_key mem_key_numbered(struct uuid namespace_id, struct uuid run_id, int64_t number) {
    struct mem_key k = mem_key_run(namespace_id, run_id);
    mem_key_put_be64(k.fixed + 32, (uint64_t)number ^ (UINT64_C(1) << 63)); /* negative before positive */
    return k;
}

struct mem_key mem_key_workflow(struct uuid namespace_id, struct str workflow_id) {
    struct mem_key k = mem_key_run(namespace_id, (struct uuid){{0}});
    k.tail = workflow_id;
    return k;
}

int mem_key_compare(const struct mem_key *a, const struct mem_key *b) {
    int c = memcmp(a->fixed, b->fixed, sizeof a->fixed);
    size_t n = MIN(a->tail.n, b->tail.n);
    if (c == 0 && n)
        c = memcmp(a->tail.p, b->tail.p, n);
    return c ? c : (a->tail.n > b->tail.n) - (a->tail.n < b->tail.n);
}

/* rows */

static struct str mem_row_copy_slice(char **at, struct str s) {
    char *p = *at;
    if (s.n)
        memcpy(p, s.p, s.n);
    *at += s.n;
    return str_bytes(p, s.n);
}

size_t mem_row_bytes(const struct mem_row *row) {
    return row->size;
}

/* What the copies of the attributes need behind the row: the structs first, for their alignment. */
static void mem_row_measure_attributes(const struct attribute *attributes, size_t count, size_t *structs,
                                       size_t *texts) {
    *structs = count * sizeof(struct attribute);
    *texts = 0;
    for (size_t i = 0; i < count; i++) {
        *structs += attributes[i].count * sizeof(struct value);
        *texts += attributes[i].name.n;
        for (size_t k = 0; k < attributes[i].count; k++)
            *texts += attributes[i].values[k].text.n;
    }
}

static const struct attribute *mem_row_copy_attributes(char *at, char **texts, const struct attribute *from,
                                                       size_t count) {
    struct attribute *to = (struct attribute *)(void *)at;
    struct value *values = (struct value *)(void *)(at + count * sizeof(*to));
    for (size_t i = 0; i < count; i++) {
        to[i] = (struct attribute){mem_row_copy_slice(texts, from[i].name), values, from[i].count};
        for (size_t k = 0; k < from[i].count; k++, values++) {
            *values = from[i].values[k];
            values->text = mem_row_copy_slice(texts, from[i].values[k].text);
        }
    }
    return to;
}

struct mem_row *mem_row_new_listed(const struct row *r, const struct attribute *attributes, size_t count) {
    size_t structs, texts;
    mem_row_measure_attributes(attributes, count, &structs, &texts);
    size_t size = sizeof(struct mem_row) + structs + texts + r->workflow_id.n + r->name.n + r->body.n;
    struct mem_row *row = mem_disk_alloc(NULL, size);
    char *at = row->bytes + structs;
    *row = (struct mem_row){.row = *r, .size = size, .attribute_count = count};
    row->attributes = mem_row_copy_attributes(row->bytes, &at, attributes, count);
    row->row.workflow_id = mem_row_copy_slice(&at, r->workflow_id);
    row->row.name = mem_row_copy_slice(&at, r->name);
    row->row.body = mem_row_copy_slice(&at, r->body);
    return row;
}

struct mem_row *mem_row_new(const struct row *r, int32_t status) {
    struct mem_row *row = mem_row_new_listed(r, NULL, 0);
    row->status = status;
    return row;
}

/* tables */

size_t mem_table_seek(const struct mem_table *t, const struct mem_key *key) {
    size_t low = 0, high = t->count;
    if (high && mem_key_compare(&t->rows[high - 1]->key, key) < 0)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (mem_key_compare(&t->rows[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mem_table_has(const struct mem_table *t, size_t i, const struct mem_key *key) {
    return i < t->count && mem_key_compare(&t->rows[i]->key, key) == 0;
}

void mem_table_append(struct mem_table *t, struct mem_row *row) {
    if (t->count == t->cap) {
        t->cap = t->cap ? t->cap * 2 : TABLE_ROWS_FIRST;
        t->rows = mem_disk_alloc(t->rows, t->cap * sizeof(struct mem_row *));
    }
    t->rows[t->count++] = row;
}

void mem_table_put(struct mem_table *t, struct mem_row *row) {
    size_t i = mem_table_seek(t, &row->key);
    if (mem_table_has(t, i, &row->key)) {
        mem_free(t->rows[i]);
        t->rows[i] = row;
        return;
    }
    mem_table_append(t, NULL);
    memmove(t->rows + i + 1, t->rows + i, (t->count - 1 - i) * sizeof(struct mem_row *));
    t->rows[i] = row;
}

void mem_table_remove(struct mem_table *t, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++)
        mem_free(t->rows[i]);
    if (count)
        memmove(t->rows + first, t->rows + first + count,
                (t->count - first - count) * sizeof(struct mem_row *));
    t->count -= count;
}

void mem_table_remove_key(struct mem_table *t, const struct mem_key *key) {
    size_t i = mem_table_seek(t, key);
    if (mem_table_has(t, i, key))
        mem_table_remove(t, i, 1);
}

void mem_table_remove_run(struct mem_table *t, struct uuid namespace_id, struct uuid run_id) {
    struct mem_key first = mem_key_numbered(namespace_id, run_id, INT64_MIN);
    struct mem_key last = mem_key_numbered(namespace_id, run_id, INT64_MAX);
    size_t at = mem_table_seek(t, &first);
    mem_table_remove(t, at, mem_table_seek(t, &last) - at);
}

void mem_table_done(struct mem_table *t) {
    mem_table_remove(t, 0, t->count);
    mem_free(t->rows);
}
