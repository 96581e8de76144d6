/* The store: the data that survives a crash.
 *
 * store_commit() takes a batch of writes and makes all of them durable, or
 * ends the process. Batches become durable in the order of the calls. A batch
 * of writes is not a batch job. store_read() answers one read; its callbacks
 * run before the call returns or in a later store_collect(). A read sees every
 * batch whose `done` has run, and perhaps later ones.
 *
 * Implementations: sqlite/ (a file, or private memory) and mem/ (for the
 * simulator: it can fail, lose unsynced writes, and crash).
 *
 * Threads: all functions are called on the loop thread. A store with threads
 * calls `wake` from them when there is something to collect; the loop then
 * calls store_collect(), which runs the callbacks. The loop calls store_rest()
 * at the end of each turn. Until then a store may answer all reads of the turn
 * from one state. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/list.h"
#include "base/log.h"
#include "base/str.h"
#include "base/uuid.h"
#include "core/search/predicate.h"

struct store;

/* writes */

enum write_kind {
    WRITE_NAMESPACE, /* insert or replace */
    WRITE_NAMESPACE_GONE, /* remove its row; its runs were removed before */
    WRITE_EXECUTION, /* insert or replace the row of one run */
    WRITE_EXECUTION_GONE, /* remove a run: its row, history, ledger and entry in lists */
    WRITE_VISIBILITY, /* insert or replace the entry of one run in lists */
    WRITE_CURRENT, /* insert or replace the current run of a workflow id */
    WRITE_CURRENT_GONE,
    WRITE_DEPLOYMENT, /* insert or replace a worker deployment */
    WRITE_DEPLOYMENT_GONE,
    WRITE_HISTORY, /* append consecutive events; first_event_id must be new in this run */
    WRITE_LEDGER, /* insert or replace one row of a schedule's ledger */
    WRITE_LEDGER_GONE, /* remove a schedule's rows with ids below ledger.id, and those written before
                        * ledger.at_us; rows with LEDGER_OPEN stay */
    WRITE_BACKLOG, /* insert or replace one queued task of a lane */
    WRITE_BACKLOG_GONE, /* remove the tasks of a lane with backlog.number <= number < backlog_end */
    WRITE_BACKLOG_EMPTY, /* remove the tasks of all lanes and namespaces */
};

#define LEDGER_OPEN INT64_MAX /* at_us of a row whose action waits or runs */

/* The searchable columns of a ledger row. Its key is the run of the schedule and the id. */
struct ledger_columns {
    int64_t id;
    int64_t nominal_s; /* the first nominal time of the row, in seconds */
    int64_t last_nominal_s; /* the last one; equal to nominal_s when there is one */
    int64_t at_us; /* when it was written, or LEDGER_OPEN */
    int32_t fate; /* 0 to 31 */
};

/* The key of a queued task that memory has no room for. The engine gives both numbers their meaning. */
struct backlog_place {
    int64_t lane;
    int64_t number; /* the order in the lane */
};

/* One write. Every slice lives in the batch's arena. */
struct write {
    struct write *next;
    const struct write *next_alike; /* used by the store until `done` */
    enum write_kind kind;
    struct uuid namespace_id;
    struct uuid run_id; /* EXECUTION*, VISIBILITY, CURRENT, HISTORY, LEDGER* */
    struct str workflow_id; /* EXECUTION, CURRENT* */
    struct str name; /* NAMESPACE, DEPLOYMENT* */
    struct str body; /* NAMESPACE, EXECUTION, DEPLOYMENT: the state; VISIBILITY, LEDGER: the answer; HISTORY:
                        packed events; BACKLOG: the task */
    int64_t due_us; /* EXECUTION: next deadline by the wall clock, or CLOCK_NEVER */
    int64_t close_us; /* EXECUTION, VISIBILITY: when it closed, or CLOCK_NEVER while open */
    int64_t start_us; /* VISIBILITY */
    int32_t status; /* EXECUTION: WorkflowExecutionStatus */
    bool is_ready; /* EXECUTION: has something to do now: tasks for workers, letters for other runs */
    bool is_first; /* EXECUTION, VISIBILITY: there is no such row yet; a hint, false is always correct */
    bool is_in_place; /* EXECUTION: its row has this workflow id, these times and this readiness; false is
                         always right */
    int64_t first_event_id; /* HISTORY */
    int64_t last_event_id; /* HISTORY */
    struct ledger_columns ledger; /* LEDGER; LEDGER_GONE: id and at_us, 0 for none */
    struct backlog_place backlog; /* BACKLOG, BACKLOG_GONE */
    int64_t backlog_end; /* BACKLOG_GONE */
    /* VISIBILITY: all that can be asked about the run, each name once, but for what an EXECUTION brings
     * because it changes with the state; several values are all texts. These too are in the arena. */
    const struct attribute *attributes;
    size_t attribute_count;
};

/* Writes that become durable together. The caller owns the batch, except between store_commit() and `done`,
 * when the store owns it. */
struct batch {
    struct arena arena;
    struct write *first;
    struct write **last;
    size_t count;
    struct list link; /* free for the use of the present owner */
    void (*done)(struct batch *b); /* durable now; on the loop thread */
    void *owner;
};

/* Appends a zeroed write with due_us and close_us CLOCK_NEVER. Returns NULL when the arena is exhausted; the
 * arena remembers it. */
struct write *batch_add(struct batch *b, enum write_kind kind);
void batch_init(struct batch *b, size_t budget);
void batch_clear(struct batch *b); /* empties it and keeps the memory */
void batch_done(struct batch *b);

/* reads */

/* (keys) -> columns of the rows. Rows repeat the keys; other columns are empty (times: CLOCK_NEVER). */
enum read_kind {
    READ_NAMESPACES, /* all of them, by id -> namespace_id, name, body */
    READ_DEPLOYMENTS, /* all of them, by namespace and name -> namespace_id, name, body */
    READ_CURRENT, /* (namespace_id, workflow_id) -> run_id */
    READ_EXECUTION, /* (namespace_id, run_id) -> body, workflow_id, due_us, close_us, is_ready */
    READ_HISTORY, /* (namespace_id, run_id, [first, last] event ids) -> rows, whole batches, oldest first */
    READ_DUE, /* every open run with a deadline or ready tasks, by id, behind the run `behind`, at most
               * `limit` (0: all); for recovery. All but the body: a million open runs are read in seconds,
               * their states when they are needed */
    READ_CLOSED, /* runs of namespace_id (zero: of all) that closed before `before_us`, oldest first, of one
                  * namespace behind the run `after`, at most `limit`
                  * -> namespace_id, run_id, workflow_id, close_us */
    READ_RUNS, /* runs of namespace_id, by id, behind the run `behind`, at most `limit` -> run_id */
    READ_VISIBILITY, /* runs of namespace_id for which `where` holds, open ones first, then the last closed,
                      * among those the last started, behind the run `after`, at most `limit`
                      * -> run_id, body, close_us, start_us; with wants_state the body is that of the
                      * execution */
    READ_VISIBILITY_COUNT, /* how many there are -> count; with group_by: for each value of it -> name, count
                            */
    READ_LEDGER, /* (namespace_id, run_id): rows for which `ledger` holds, the last id first, at most `limit`
                  * -> ledger, body */
    READ_BACKLOG, /* (namespace_id, backlog.lane): tasks with numbers from backlog.number, at most `limit`
                   * -> backlog, body */
};

/* One row of an answer. Slices are valid only during the callback. */
struct row {
    struct uuid namespace_id;
    struct uuid run_id;
    struct str workflow_id;
    struct str name;
    struct str body;
    int64_t due_us;
    int64_t close_us;
    bool is_ready;
    int64_t first_event_id;
    int64_t last_event_id;
    int64_t start_us;
    int64_t count;
    struct ledger_columns ledger;
    struct backlog_place backlog;
};

/* A position in the order of READ_DUE. */
struct due_place {
    struct uuid namespace_id;
    struct uuid run_id;
};

/* A position in the order of READ_VISIBILITY. */
struct visibility_place {
    int64_t close_us;
    int64_t start_us;
    struct uuid run_id;
};

/* Rows of a ledger; all conditions must hold. */
struct ledger_filter {
    int64_t before_id; /* ids below */
    int64_t from_s, to_s; /* with a nominal time in this range, both ends included */
    uint32_t fates; /* bit n: with fate n; 0: with any */
};

struct read {
    enum read_kind kind;
    struct uuid namespace_id;
    struct uuid run_id;
    struct str workflow_id;
    int64_t first_event_id;
    int64_t last_event_id;
    size_t bytes_max; /* HISTORY, VISIBILITY, LEDGER: stop after the row that reaches it; 0 = no limit */
    int64_t before_us;
    size_t limit;
    const struct predicate *where; /* VISIBILITY*; NULL: all. Must stay in place until done */
    const struct visibility_place
        *after; /* VISIBILITY, CLOSED (without start_us); NULL: from the beginning */
    const struct due_place *behind; /* DUE, RUNS; NULL: from the beginning. Must stay in place until done */
    struct ledger_filter ledger; /* LEDGER */
    struct backlog_place backlog; /* BACKLOG */
    bool wants_state; /* VISIBILITY */
    bool is_on_loop; /* VISIBILITY*: on the loop's thread; for a start, when nothing else waits */
    struct str group_by; /* VISIBILITY_COUNT; one of the names with a column, or empty */
    /* Called for each row, then done once: rc 0 (also with no rows) or ERR_STORE_*. */
    void (*row)(struct read *r, const struct row *row);
    void (*done)(struct read *r, int rc);
    void *owner;
    struct list link; /* for the store */
    /* May be set at any time by whoever asked: the answer is of no use any more. `done` still comes; rows may
     * not. */
    _Atomic bool is_unwanted;
};

/* Use of the disk; all 0 when the store is not on a disk. */
struct store_size {
    int64_t data_bytes; /* the data file */
    int64_t log_bytes; /* the write-ahead log */
    int64_t disk_bytes; /* the size of its file system */
    int64_t free_bytes; /* the part of it that the process may still use */
};

/* the interface */

struct store_ops {
    void (*commit)(struct store *s, struct batch *b);
    void (*read)(struct store *s, struct read *r);
    void (*collect)(struct store *s);
    void (*rest)(struct store *s);
    void (*close)(struct store *s);
    void (*measure)(struct store *s, struct store_size *ret); /* NULL: it is not on a disk */
};

/* Each implementation embeds this first. */
struct store {
    const struct store_ops *ops;
};

static inline void store_commit(struct store *s, struct batch *b) {
    s->ops->commit(s, b);
}
static inline void store_read(struct store *s, struct read *r) {
    s->ops->read(s, r);
}
static inline void store_collect(struct store *s) {
    s->ops->collect(s);
}
static inline void store_rest(struct store *s) {
    s->ops->rest(s);
}
/* For metrics. It asks the file system, so it is too slow for each request. */
void store_measure(struct store *s, struct store_size *ret);
/* Waits until all batches are durable (their `done` runs), then frees the store. Pending reads get no
 * callback. NULL is fine. */
void store_close(struct store *s);

#define STORE_SCHEMA_VERSION 7
