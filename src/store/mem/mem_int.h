/* Shared by the files of the simulated disk and its store. Private to this directory. */
#pragma once

#include "store/mem/mem_store.h"

#define MEM_KEY_FIXED 40 /* namespace, run, first event id or ledger id */

/* Compares like its parts do, one after the other. All keys of a table use the same parts. */
struct mem_key {
    uint8_t fixed[MEM_KEY_FIXED]; /* unused parts are zero */
    struct str tail; /* the workflow id, where that is part of the key */
};

/* One row and its bytes in one piece of memory. */
struct mem_row {
    struct mem_key key;
    struct row row;
    int32_t status;
    const struct attribute *attributes; /* in the same piece of memory */
    size_t attribute_count;
    size_t size; /* of the piece */
    char bytes[]; /* what the slices of row point to */
};

/* Sorted by key. Keys of the simulator grow with time, so most rows are added at the end. */
struct mem_table {
    struct mem_row **rows;
    size_t count;
    size_t cap;
};

struct mem_disk {
    struct mem_table namespaces;
    struct mem_table deployments;
    struct mem_table executions;
    struct mem_table currents;
    struct mem_table history;
    struct mem_table visibility;
    struct mem_table ledger;
    struct mem_table backlog;
};

/* The simulated disk never answers "out of memory": a commit has no such answer, and it is
 * the engine's allocations that a test makes fail, not those of the test's own disk. An
 * injected fault fires once, so a second attempt goes through; if it does not, the process
 * ends, as it would with any disk that cannot write. */
void *mem_disk_alloc(void *old, size_t size) must_check;

struct mem_key mem_key_run(struct uuid namespace_id, struct uuid run_id);
struct mem_key mem_key_numbered(struct uuid namespace_id, struct uuid run_id, int64_t number);
struct mem_key mem_key_workflow(struct uuid namespace_id, struct str workflow_id);
int mem_key_compare(const struct mem_key *a, const struct mem_key *b);

struct mem_row *mem_row_new(const struct row *r, int32_t status); /* with its own copy of the slices */
struct mem_row *mem_row_new_listed(const struct row *r, const struct attribute *attributes, size_t count);
size_t mem_row_bytes(const struct mem_row *row); /* the size of its piece of memory */

size_t mem_table_seek(const struct mem_table *t, const struct mem_key *key); /* the first not less */
bool mem_table_has(const struct mem_table *t, size_t i, const struct mem_key *key);
void mem_table_put(struct mem_table *t, struct mem_row *row); /* takes it; replaces one with its key */
void mem_table_append(struct mem_table *t, struct mem_row *row);
void mem_table_remove(struct mem_table *t, size_t first, size_t count);
void mem_table_remove_key(struct mem_table *t, const struct mem_key *key);
void mem_table_done(struct mem_table *t);

void mem_disk_apply(struct mem_disk *d, const struct write *w);

/* entries of lists */

void mem_visibility_put(struct mem_disk *d, const struct write *w);
struct str mem_visibility_state(const struct mem_disk *d, const struct mem_row *listed);
void mem_visibility_find(const struct mem_disk *d, const struct read *r, struct mem_table *found);
void mem_visibility_count(const struct mem_disk *d, const struct read *r,
                          struct mem_table *ret); /* new rows */

/* ledgers of schedules */

void mem_ledger_put(struct mem_disk *d, const struct write *w);
void mem_ledger_trim(struct mem_disk *d, const struct write *w);
void mem_ledger_find(const struct mem_disk *d, const struct read *r, struct mem_table *found);

/* queued tasks */

void mem_backlog_put(struct mem_disk *d, const struct write *w);
void mem_backlog_trim(struct mem_disk *d, const struct write *w);
void mem_backlog_find(const struct mem_disk *d, const struct read *r, struct mem_table *found);

/* Removes every row of a table whose key is this run and a number. */
void mem_table_remove_run(struct mem_table *t, struct uuid namespace_id, struct uuid run_id);

/* Copies of the rows that answer r, in the order of the answer; the caller's to free. */
void mem_disk_query(const struct mem_disk *d, const struct read *r, struct mem_table *ret);
