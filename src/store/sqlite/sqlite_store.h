/* The embedded store: one SQLite file, WAL, synchronous=FULL, one writer thread. */
#pragma once

#include "store/store.h"

struct sqlite_options {
    const char *path; /* a file name, or ":memory:" */
    void (*wake)(void *ctx); /* called on the writer thread when store_collect() has work */
    void *wake_ctx;
    struct log *log;
    /* A commit or sync failed: nothing can be promised any more. Called on one of the store's threads;
     * does not return. NULL: log and abort. */
    void (*fatal)(void *ctx, const char *text);
    void *fatal_ctx;
    /* Whether to give up: asked now and then, on the loop thread, while the file is opened. NULL: never. */
    bool (*should_stop)(void *ctx);
    void *stop_ctx;
    int log_pages; /* how long the log gets before it starts over, in pages of 4 KiB; 0: 4096. A test has less
                    * patience */
};

/* Opens or creates; migrates forward. ERR_STORE_* with a text that says what to do. ERR_CANCELLED when it was
 * given up: the file is as it was. */
int sqlite_store_open(const struct sqlite_options *o, struct store **ret, struct err *reterr) must_check;
