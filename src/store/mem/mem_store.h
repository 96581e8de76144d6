/* The simulator's store: rows in memory, failures on request.
 *
 * Nothing happens by itself. Commits and reads wait until the simulator says
 * so, which is how it decides the interleaving. Durable rows live in a
 * mem_disk that outlives the store: crash = mem_store_crash(), then open a new
 * store on the same disk. */
#pragma once

#include "base/rng.h"
#include "store/store.h"

struct mem_disk;

struct mem_disk *mem_disk_new(void);
void mem_disk_free(struct mem_disk *d);
/* A hash over all durable rows, in key order. */
uint64_t mem_disk_hash(const struct mem_disk *d);
size_t mem_disk_backlog(const struct mem_disk *d); /* tasks that wait on it */

int mem_store_open(struct mem_disk *d, struct store **ret) must_check;

/* How many batches wait to be committed, and reads to be answered. */
size_t mem_store_pending_commits(const struct store *s);
size_t mem_store_pending_reads(const struct store *s);
/* The oldest waiting batch becomes durable and is announced. */
void mem_store_commit_one(struct store *s);
/* As above, but the process dies before it hears: durable, never announced (done is not called). */
void mem_store_commit_unannounced(struct store *s);
/* Answers the i-th waiting read, or fails it with rc when rc is negative. */
void mem_store_answer(struct store *s, size_t i, int rc);
/* With auto mode on, reads are answered and commits announced at once (for unit tests). */
void mem_store_set_auto(struct store *s, bool on);
/* Drops whatever was not committed and frees the store; no callback runs. The disk stays. */
void mem_store_crash(struct store *s);
