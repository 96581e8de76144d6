/* A disk under SQLite: its own file system, with every call seen, noted, and failing when it is told to.
 *
 *   struct disk d;
 *   disk_begin(&d, directory);     every connection that is opened from now on uses it
 *   disk_let_fail(&d, &(struct disk_fault){DISK_sync, 7, DISK_EIO, false});
 *   ... a store in that directory ...
 *   disk_end(&d);                  after the store is closed
 *   power_cut(...) of d.trace; disk_done(&d);
 *
 * Calls come from all threads of a store; one at a time is let through, so the trace has an order. When a
 * sync fails, the pages that it was for are lost, as they are for a kernel that has marked them clean: the
 * file is left with some of them. */
#pragma once

#include <pthread.h>
#include <sqlite3.h>

#include "trace.h"

#define DISK_NODES_MAX 16 /* a life makes a file and a few logs */

enum disk_call {
#define CALL(name, eio, enospc, can_be_short) DISK_##name,
#include "calls.def"
#undef CALL
    DISK_ANY, /* whichever comes; for ever it means that the disk is gone */
    DISK_CALLS,
};

enum disk_error { DISK_EIO, DISK_ENOSPC, DISK_SHORT, DISK_ERRORS };

struct disk_fault {
    enum disk_call call;
    uint64_t at; /* the first that fails, counted from 1; 0: none */
    enum disk_error error;
    bool is_for_ever;
};

struct disk {
    sqlite3_vfs vfs;
    sqlite3_vfs *real;
    char directory[256];
    pthread_mutex_t lock; /* guards what follows */
    struct trace trace;
    struct disk_fault fault;
    uint64_t counts[DISK_CALLS];
    bool has_fired;
    unsigned sync_errors[DISK_NODES_MAX]; /* of each node of the trace */
    int64_t begun; /* the last batch that was handed over */
    int64_t unsafe; /* the first one that came after a sync of the log had failed; INT64_MAX: none did */
    bool has_synced_directory; /* within the call that is under way */
};

const char *disk_call_name(enum disk_call call);
const char *disk_error_name(enum disk_error error);
bool disk_call_meets(enum disk_call call, enum disk_error error);

void disk_begin(struct disk *d, const char *directory);
void disk_let_fail(struct disk *d, const struct disk_fault *f);
void disk_note(struct disk *d, enum trace_kind kind, int64_t at); /* BEGUN, DONE, STEP, CLOCK */
void disk_forgive(struct disk *d); /* another process begins */
/* Whether this batch was handed over after a sync of the log had failed: it may not be announced. (After one
 * of the main file it may, in the moment until the process ends: what is in the log needs no main file.) */
bool disk_is_unsafe(struct disk *d, int64_t batch);
void disk_end(struct disk *d);
void disk_done(struct disk *d);
