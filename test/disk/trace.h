/* What a disk was told, in order: the writes, the syncs, and the marks of whoever watches.
 *
 * Files live in one directory and are called by their names there. A file that is deleted and made again
 * is another node: its old bytes do not come back with its name. */
#pragma once

#include "base/base.h"

#define TRACE_NAME_MAX 32

enum trace_kind {
    TRACE_WRITE, /* node, at, len, data */
    TRACE_TRUNCATE, /* node, at: the new size */
    TRACE_SYNC, /* node: what was written to it is durable */
    TRACE_CREATE, /* name, node: durable with the directory */
    TRACE_DELETE, /* name: durable with the directory */
    TRACE_SYNC_DIRECTORY,
    TRACE_BEGUN, /* at: this batch was handed to the store */
    TRACE_DONE, /* at: this batch was announced as durable */
    TRACE_STEP, /* at: this step of the script was answered */
    TRACE_CLOCK, /* at: what the clock says now */
};

struct trace_op {
    enum trace_kind kind;
    int node;
    int64_t at;
    size_t len;
    uint8_t *data; /* owned */
    char name[TRACE_NAME_MAX];
};

/* A file that was there when the trace began. Its node is its index. */
struct trace_file {
    char name[TRACE_NAME_MAX];
    uint8_t *data; /* owned */
    size_t size;
};

struct trace {
    struct trace_op *ops;
    size_t count, room;
    struct trace_file *files;
    int file_count;
    int node_count; /* all that there were */
};

/* Reads what is in the directory. Files that no crash needs (the log's index, the lock) are left out. */
void trace_init(struct trace *t, const char *directory);
void trace_done(struct trace *t);
void trace_add(struct trace *t, const struct trace_op *op); /* the data is copied */
/* The node that has this name now; -1: none has. */
int trace_find(const struct trace *t, const char *name);
const char *trace_base_name(const char *path);
