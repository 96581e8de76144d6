/* A SQLite store on a disk, and what it said: which batches it was given and which it announced as durable.
 *
 * It is a store itself, in front of the real one. Whoever fills a batch notices nothing. */
#pragma once

#include "disk.h"
#include "store/sqlite/sqlite_store.h"

#define WITNESS_SLOTS 4

struct witness;

struct witness_slot {
    struct witness *witness;
    struct batch *batch; /* NULL: free */
    void *owner;
    void (*done)(struct batch *b);
    int64_t number;
};

struct witness {
    struct store base;
    struct store *real;
    struct disk *disk; /* NULL: nobody takes notes */
    int wake_fd;
    int fatal_code; /* a failed commit ends the process with it; 0: with SIGABRT */
    int64_t begun, done; /* how many, since the witness was made */
    void (*on_done)(void *ctx, struct witness *w); /* at each announcement, before anyone else hears of it */
    void *ctx;
    struct witness_slot slots[WITNESS_SLOTS];
};

void witness_init(struct witness *w, struct disk *d);
/* Opens the store; how often is up to the caller. */
int witness_open(struct witness *w, const char *path, struct err *reterr) must_check;
void witness_wait(void *ctx); /* until the store has something to say */
void witness_done(struct witness *w); /* after the store is closed */
