/* Types and functions that the files of the engine share. Only files under src/engine include this header.
 *
 * One thread runs the engine, so nothing here is locked. Times that end in _us are microseconds; the comment
 * says "monotonic" or "wall" where the name does not. "Durable" means: committed by the store.
 *
 * The objects, all owned by the engine:
 *   space       a namespace; all namespaces are in memory
 *   run         a workflow run that is in use or has a deadline; its body (state, image, tape) is dropped
 *               when it is unused and durable, and read again from the store when an op needs it
 *   current     the run that a workflow id means now; freed together with the body of that run
 *   deployment  a worker deployment; all deployments are in memory
 *   queue       a task queue: tasks without a worker, or polls without a task; each worker version that
 *               polls it has a queue of its own, linked to the base queue
 *   group       one batch of writes, with the replies and effects that happen when it is durable
 *   op          one call in progress; lives in the arena of the call. Its `go` may run several times from the
 *               top, until its step is done: an op waits for a load by ending `go` and running it again
 *
 * Functions named op_need_*() return 0 when the object is there, ERR_WAIT when op->go will be called again
 * later, or another error with op->err filled. A caller that gets ERR_WAIT returns at once. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "core/version/deployment.h"
#include "core/run/run.h"
#include "core/run/update.h"
#include "engine/call.h"
#include "engine/counters.h"
#include "engine/engine.h"
#include "engine/runtime/limits.h"
#include "engine/match/pace.h"
#include "state.pb-c.h"
#include "store/store.h"

struct queue;
struct backlog;
struct queue_limits;
struct task;
struct query;

#define SPACE_SYSTEM                                                                                         \
    "temporal-system" /* the name of a namespace that clients may neither make nor delete                    \
                       */

struct space {
    struct uuid id;
    State__Namespace *st;
    uint64_t group_seq; /* the last group that holds a change of it */
    bool is_refreshing; /* its schedules are being updated with changed holidays (refresh.c) */
    int64_t batch_count; /* open batch jobs */
    struct engine *e;
    struct version_book book; /* how core looks up its deployments */
    size_t deployment_count;
    int64_t tallies[TALLY_COUNT]; /* how many of its runs are of each kind (tally.c) */
    bool has_label; /* its name may be a label of metrics */
    struct visibility_place swept; /* if is_behind: retention continues after this run */
    bool is_behind; /* retention has not looked at all runs in this round */
    struct due_place reaped; /* the removal of the namespace continues after this run */
};

struct deployment {
    struct str key; /* namespace id, name; allocated behind the struct */
    struct space *space;
    State__Deployment *st;
    uint64_t group_seq; /* the group that holds its last change */
    uint64_t pin_count; /* how often a run was bound to a version of it since the process started */
};

/* The packed events [first_id, next_id) of a run that are in memory. All events that are not durable are. */
struct tape {
    struct buf bytes;
    int64_t first_id;
    int64_t next_id;
};

/* The columns by which the store finds an open run. */
struct placing {
    int64_t due_us;
    int64_t close_us;
    bool is_ready;
};

struct body {
    State__Execution *st;
    struct buf image; /* st, packed; run_undo() restores st from it */
    bool is_image_old; /* st has changed since it was packed */
    struct tape tape;
    int64_t durable_next_id; /* events below are on disk */
    int64_t grouped_next_id; /* events below are in a group or on disk */
    uint64_t group_seq; /* the last group that holds a change of it */
    uint64_t listed_digest; /* of the columns that lists show; 0: not known */
    bool is_dirty; /* changed since it was last put into the open group */
    bool is_written; /* the store, or a group that was handed over, has a row of it */
    struct placing placing; /* the columns of that row */
    bool is_ahead; /* a quiet step changed st, and no group holds that change yet */
    enum tally_kind tally; /* the kind under which the run is counted */
    bool is_end_counted; /* the end of the run is counted */
    struct list readers; /* op.link: ops that wait for new events */
    struct list queries; /* struct query: waiting for a workflow task, or attached to one */
    struct list updates; /* struct update: updates that are not in the history */
    struct list update_waiters; /* op.link: ops that wait for the next stage of an update */
};

struct run_key {
    struct uuid namespace_id;
    struct uuid run_id;
};

struct run {
    struct run_key key;
    struct space *space;
    struct body *body; /* NULL: on disk only */
    struct engine *e;
    struct heap_node due; /* in engine.schedule_due if is_schedule, else in engine.due */
    struct list waiters; /* op.link: ops that wait for the body */
    struct list recent; /* in engine.recent when it has a body */
    uint32_t pins; /* number of users; the body is dropped only at 0 */
    bool is_schedule; /* false too while the kind of a stub is not known */
    bool is_loading;
    bool is_in_read; /* store_read() has not returned: the op that asked is still on the stack */
    bool is_missing; /* the store has no such run */
    bool is_damaged; /* the row in the store cannot be decoded */
    bool is_removed; /* the group removed_seq deletes its rows */
    uint64_t removed_seq;
    struct read *read; /* while is_loading; owned */
};

#define NAME_KEY_BYTES_MAX 2048 /* twice what an id may have */

/* A name in a namespace, as the key of a map. It lives on the stack: a lookup that needed memory could fail,
 * and the caller would take the object for missing. */
struct name_key {
    uint8_t bytes[sizeof(struct uuid) + NAME_KEY_BYTES_MAX];
};

static inline struct str name_key(struct name_key *k, struct uuid namespace_id, const char *name) {
    size_t n = strlen(name);
    if (n > NAME_KEY_BYTES_MAX)
        return STR(""); /* no object has this key */
    memcpy(k->bytes, namespace_id.b, sizeof(namespace_id));
    memcpy(k->bytes + sizeof(namespace_id), name, n);
    return str_bytes(k->bytes, sizeof(namespace_id) + n);
}

enum current_state { CURRENT_LOADING, CURRENT_NONE, CURRENT_KNOWN };

struct current {
    struct str key; /* namespace id, workflow id; allocated behind the struct */
    struct uuid run_id;
    enum current_state state;
    bool is_in_read; /* as in struct run */
    bool is_reading; /* a read is under way: do not free */
    bool is_resuming; /* its waiters are being resumed: do not free */
    struct list waiters;
    struct read read;
    struct engine *e;
};

/* A read of events or rows for an op. A separate object, because the op may end before the store answers. */
struct page_read {
    struct read read;
    bool is_in_read; /* as in struct run */
    bool is_done;
    bool is_damaged; /* the rows are not a whole history */
    struct op *op; /* NULL: the op has ended */
    void (*row)(struct op *op, const struct row *row); /* question.c */
    struct answer *answer;
    struct list link; /* in engine.page_reads */
    struct arena arena; /* the query; not in the arena of the call, because the store may use it after that */
    struct visibility_place after;
};

struct op {
    struct engine *e;
    struct call *call;
    const void *req;
    void (*go)(struct op *op); /* the work; called at the start and again after each wait */
    void (*expire)(struct op *op); /* called when the deadline passes while the op is parked */
    void (*drop)(
        struct op *op); /* called when the caller has left: releases the task of a poll and the like */
    struct list link; /* in the one list in which the op waits */
    struct heap_node deadline; /* in engine.deadlines; monotonic */

    struct run *run; /* pinned; NULL: none */
    struct run *held; /* a second pinned run, independent of `run`; NULL: none */
    uint64_t wait_seq; /* the op ends only after this group is durable */
    bool continues; /* calls go(), instead of ending, when its group is durable */
    struct err err;
    const ProtobufCMessage *reply;
    struct str tail;

    uint64_t phase; /* the phase of loading in which the op began (loading.c) */
    bool is_loading; /* it waits for the store to load a run */
    struct page_read *page_read; /* a read under way; NULL: none */
    struct buf page; /* packed events [page_first, page_next) from the store */
    int64_t page_first;
    int64_t page_next; /* 0: no page was read */
    int64_t page_wanted; /* the event with which the read page had to begin */

    /* Used by some kinds of calls only. */
    struct task *task; /* a poll: the task that it was matched with */
    struct queue *queue; /* a poll: the queue that it polls (op_enter_queue) */
    struct query *query; /* a query, or the poll that carries it */
    char *request_id;
    const History__WorkflowExecutionStartedEventAttributes
        *origin; /* attributes of event 1, after op_need_origin() */
    void *extra; /* state of the handler, in the arena of the call */
};

struct pending_effect {
    struct pending_effect *next;
    struct run *run; /* pinned */
    struct effect effect;
};

struct group_run {
    struct run *run; /* pinned */
    int64_t next_event_id; /* events below are in this group or an earlier one */
};

struct group {
    struct batch batch;
    struct engine *e;
    uint64_t seq;
    struct list replies; /* op.link */
    struct pending_effect *effects;
    struct pending_effect **effects_end;
    struct schedule_line *lines; /* logged when the group is durable (schedule_log.c) */
    struct schedule_line **lines_end;
    struct group_run *runs; /* each run once */
    size_t run_count;
    size_t run_cap;
    size_t bytes; /* estimated size of its writes */
    int64_t handed_over_us; /* monotonic */
};

/* Runs that are due. keys[at, count) have not had their step yet. */
struct ticks {
    struct run_key *keys;
    size_t at;
    size_t count;
    size_t cap;
};

/* How many lines about schedules were logged in this second (schedule_log.c). */
struct line_quota {
    int64_t until_us; /* monotonic; the counts start again at 0 then */
    int64_t left_out; /* lines that were not logged */
    int counts[LOG_schedule_lines_left_out - LOG_schedule_fired];
};

/* Steps of the wall clock (clocks.c). */
struct clocks {
    int64_t apart_us; /* sum of the recent steps; if it is large, schedules use the time before them */
    int64_t steady_us; /* monotonic; then schedules follow the wall clock, unless it is set again */
};

/* Calls that wait for the store, by phases (loading.c). */
struct loading {
    uint64_t phase;
    size_t counts[2]; /* waiting calls of this phase and of the one before, by the last bit of the phase */
    struct now next; /* engine.judged becomes this when the phase ends */
    struct mono since; /* when it began */
};

struct engine {
    struct engine_config cfg;
    struct core_limits limits;
    int64_t long_poll_us;
    struct store *store;
    struct log *log;
    struct rng rng;
    struct now now;
    struct now judged; /* all calls that arrived up to then have run: deadlines up to then may fire */
    struct loading loading;
    struct clocks clocks;
    struct wall begin; /* when this engine was made */
    bool is_ready;
    bool has_failed; /* nothing becomes durable any more (engine_fail) */
    bool is_draining;
    void (*on_ready)(void *ctx, int rc, const struct err *e);
    void *ready_ctx;

    struct map spaces; /* by name */
    struct map deployments; /* by namespace id and name */
    uint64_t deployments_seq; /* the last group that holds a change of a deployment */
    uint64_t routes_seq; /* grows when a deployment changes; a queue with another route_seq computes anew */
    bool has_new_routes; /* tasks may be in the wrong queue until routes_settle() */
    int64_t next_drainage_us; /* monotonic; when draining versions are checked, or CLOCK_NEVER */
    struct map runs; /* by run_key */
    struct map currents; /* by namespace id and workflow id */
    struct map queues;
    struct list used_queues; /* struct queue, all of them, longest unused first */
    struct map queries; /* struct query in state QUERY_WITH_WORKER, by id */
    struct map workers; /* by namespace id and instance key */
    struct list heard; /* struct worker, longest silent first */
    struct heap due; /* runs, by wall time */
    struct heap schedule_due; /* runs that are schedules, by the time of clocks_schedule_us() */
    struct ticks ticks;
    struct heap deadlines; /* ops, by monotonic time */
    struct heap passes; /* queues whose rate limit delays a task, by monotonic time */
    struct list recent; /* runs with a body, least recently used first */
    size_t body_count;
    struct list backlogs; /* of queues */
    struct list hungry; /* struct backlog: those that go on after the next commit */
    size_t queue_tasks_max; /* tasks in memory for each priority of a queue */
    size_t parked_max; /* calls that may be parked at the same time */
    int64_t last_backlog; /* the last id of a backlog */
    uint64_t backlog_seq; /* the group that deleted the backlogs of the process before; 0: none yet */

    struct group *open; /* being filled */
    struct group *flight; /* with the store */
    struct group *spare; /* an empty one, for reuse */
    uint64_t next_seq; /* of the next group */
    uint64_t durable_seq; /* groups up to this one are durable */
    struct list errands; /* struct errand: calls that the engine makes itself */
    struct buf image; /* scratch for packing a state */
    struct arena scratch; /* for sealing a run */
    struct pending_effect *soon; /* effects of quiet steps; engine_flush() runs them */
    struct pending_effect **soon_end;
    struct list page_reads;
    struct list retries; /* op.link: ops in op_retry() */
    struct list slices; /* op.link: ops in op_go_on_later(); each turn continues the first */
    struct recovery *recovery; /* while starting (recovery.c) */
    struct recount *recount; /* the same (recount.c) */
    struct map types; /* struct type_counter, by namespace and workflow type (tally.c) */
    size_t labelled_spaces; /* with has_label */
    bool is_sweeping; /* retention.c */
    bool sweep_is_behind; /* some namespace has runs that this round did not look at */
    int64_t next_sweep_us;
    size_t sweep_at;
    size_t sweep_bites; /* commits left for the namespace `swept` before the next one is looked at */
    struct uuid swept;
    uint64_t sweep_seq; /* the group that holds the last removal */
    struct read sweep_read;
    struct run_key expired[ENGINE_SWEEP_RUNS_MAX];
    size_t expired_count;
    bool is_reaping; /* space_removal.c */
    int64_t next_reap_us;
    size_t reap_at;
    uint64_t reap_seq; /* as sweep_seq */
    struct uuid reaped;
    struct read reap_read;
    struct run_key doomed[ENGINE_REAP_RUNS];
    size_t doomed_count;
    struct read start_read;
    struct list sends; /* struct sending: callbacks under way */
    struct engine_counters counters;
    int64_t next_notice_us[NOTICE_COUNT]; /* monotonic; no notice of that kind is logged before then */
    struct line_quota line_quota;
};

/* Call this when the store could not answer a required read. From now on nothing becomes durable, because a
 * step could be based on missing data. on_fatal() tells the host to end the process. */
void engine_fail(struct engine *e, const char *text);

/* clocks */

void clocks_tell(struct engine *e, struct now now); /* sets engine.now; detects steps of the wall clock */
/* The time that schedules use for this wall time: earlier by a step that they do not trust yet. */
int64_t clocks_schedule_us(const struct engine *e, struct wall at);
int64_t clocks_next_us(const struct engine *e); /* monotonic; when that difference ends, or CLOCK_NEVER */

/* loading */

void op_wait_load(
    struct op *op); /* counts the op as waiting for a load; call it once op.link is in the list */
void op_end_load(struct op *op); /* the load has ended; no effect if the op was not counted */
void loading_hear(struct engine *e,
                  struct now heard); /* all calls up to `heard` have arrived: moves judged on */
/* How much longer deadlines wait for calls that are being loaded; 0: not at all. */
int64_t loading_wait_us(const struct engine *e, struct now now);

/* ops */

/* An op ends exactly once, by one of op_reply*() and op_fail*(). After that the op and its arena are gone. */

bool op_is_errand(const struct op *op); /* the engine made the call itself */
/* Allocated in the arena of the call. NULL: no memory, and the call has failed. */
struct op *op_new(struct engine *e, struct call *c, const void *req, void (*go)(struct op *op));
void op_start(
    struct op *op); /* validates the request and calls go(); fails the op if the engine is not ready */
void op_pin(struct op *op, struct run *run); /* makes it op->run and unpins the one before; NULL: none */
/* Tells the maker of the call that its changes are in the open group. All ends of an op call it. */
void op_settled(struct op *op, const struct err *e);
void op_hold(struct op *op, struct run *run); /* pins it as op->held, besides op->run; NULL: unpins */
/* Ends with op->err when op->wait_seq is durable: "not found" must not be told before the removal is. */
void op_fail(struct op *op);
void op_fail_now(struct op *op); /* ends with op->err without waiting: for a drain, and for engine_free() */
/* Ends now. `m` NULL: an errand, which has no answer. `tail`: packed fields that follow the message. */
void op_reply(struct op *op, const ProtobufCMessage *m, struct str tail);
/* Ends with this answer when op->run, as the op saw it, and op->wait_seq are durable. */
void op_reply_durable(struct op *op, const ProtobufCMessage *m, struct str tail);
void op_fail_durable(struct op *op); /* the same for op->err */
/* Calls `go` when op->run, as the op saw it, and op->wait_seq are durable; at once if they are. */
void op_continue_durable(struct op *op, void (*go)(struct op *op));
/* Puts the op into the list and sets its deadline (monotonic). At the deadline it leaves the list and
 * expire() is called. When too many calls are parked the op is dropped and fails. */
void op_park(struct op *op, struct list *where, int64_t until_us, void (*expire)(struct op *op));
void op_unpark(struct op *op); /* out of its list; no deadline */
/* Sets the deadline only. ERR_NO_MEMORY, also in op->err, when too many calls are parked. */
int op_wait_until(struct op *op, int64_t until_us) must_check;
/* Calls `again` after `us`. For errands, which no client repeats: the number of parked calls does not limit
 * it, and the process ends if there is no memory. */
void op_retry(struct op *op, int64_t us, void (*again)(struct op *op));
/* Calls op->go in a later turn of the loop. Each turn continues one such op. */
void op_go_on_later(struct op *op);
/* min(deadline of the caller - margin_us, now + most_us); monotonic. */
int64_t op_deadline(const struct op *op, int64_t most_us, int64_t margin_us);
void op_finish(struct op *op); /* unlinks and unpins everything; the caller then ends the call */
int op_out_of_memory(struct op *op); /* sets op->err; returns ERR_NO_MEMORY */
/* Makes a call of the engine itself: calls go() at once, with a copy of the request. The call has its own
 * arena, which its end frees. Without memory the process ends. */
void errand_start(struct engine *e, void (*go)(struct op *op), const void *req, size_t req_size);

/* ERR_BUSY while the open group is larger than one commit should be. Calls of clients check it. */
int op_need_room(struct op *op) must_check;

/* Notes that the answer of this call carries the task with this token. */
int op_carry(struct op *op, const ProtobufCBinaryData *token) must_check;
/* Offers the tasks of op_carry() again: the caller left before the answer. */
void op_drop_carried(struct op *op);

/* ERR_INVALID when the payloads, or the memo, are larger than the limit. NULL has size 0. */
int op_check_blob(struct op *op, const ProtobufCMessage *m) must_check;
int op_check_memo(struct op *op, const Common__Memo *memo) must_check;

/* deadlines of runs (ticks.c) */

void ticks_advance(struct engine *e); /* starts a step for some of the runs that are due */
bool ticks_wait(const struct engine *e); /* runs are due and have not had their step */
void ticks_free(struct engine *e);

/* callbacks */

void callback_begin(struct engine *e, const struct run_key *key, int64_t index);
void callbacks_free(struct engine *e); /* frees the callbacks under way */

/* counters */

void counters_group(struct engine_counters *c, const struct group *g); /* it is durable */
void counters_ledger(struct engine_counters *c, const struct ledger_row *row);

/* tallies (tally.c) */

enum tally_kind tally_of(const State__Execution *st);
void tally_name_space(struct engine *e, struct space *space); /* it is new; maybe it gets a label */
void tally_forget_space(struct engine *e, const struct space *space);
void tally_loaded(struct run *run); /* as the store has it */
void tally_seal(struct engine *e, struct run *run); /* as it is put into a batch */
void tally_task_failure(struct engine *e, const struct run *run, enum task_failure how);
void tallies_show(const struct engine *e, struct engine_counters *ret);
void tallies_free(struct engine *e);
/* Counts what the store has of each namespace, then calls done. ERR_NO_MEMORY: it was not begun. */
int recount_begin(struct engine *e, void (*done)(struct engine *e, int rc)) must_check;
void recount_free(struct engine *e);

/* notices */

/* Logs what a step noticed; at most one line of each kind in a second. run NULL: a call that has none yet. */
void notice_log(struct engine *e, const struct run *run, const struct notice *n);
/* A part of a request is large. The line names what the request names, and the field. */
void notice_log_request(struct engine *e, const ProtobufCMessage *req, const ProtobufCMessage *part,
                        int64_t size);

/* what schedules did, as lines of the log (schedule_log.c) */

/* A row of the ledger that the step of this run wrote; `entry` is the copy in the open group. */
void schedule_log_row(struct engine *e, const struct run *run, const struct ledger_row *row,
                      struct str entry);
/* The schedule as a whole. The run is in the open group. */
void schedule_log_news(struct engine *e, const struct run *run, const struct step *s);
void schedule_log_write(struct engine *e, struct group *g); /* it is durable */
void schedule_log_rest(struct engine *e); /* says how many lines were left out, when it is time */

/* spaces */

struct space *space_find(struct engine *e, const char *name);
struct space *space_by_id(struct engine *e, struct uuid id);
/* One that is not deleted; op_need_open_space: one that takes new workflows; op_find_space: any. */
int op_need_space(struct op *op, const char *name, struct space **ret) must_check;
int op_need_open_space(struct op *op, const char *name, struct space **ret) must_check;
int op_find_space(struct op *op, const char *name, struct space **ret) must_check;
int op_need_space_id(struct op *op, const char *text, struct space **ret) must_check;
/* Adds the search attributes that the configuration names. */
int space_seed_attributes(struct engine *e, struct space *s) must_check;
int space_add_attribute(struct space *s, const char *name, E__IndexedValueType type) must_check;
int space_add(struct engine *e, struct str body) must_check;
/* One more, with an id of its own; copied. ERR_NO_MEMORY: there is none. */
int space_create(struct engine *e, const State__Namespace *like) must_check;
/* Puts the namespace, as it is in memory, into the open group. ERR_NO_MEMORY: it is not in there. */
int space_write(struct engine *e, struct space *s) must_check;
void space_undo(struct space *s, State__Namespace *before); /* as it was; `before` has the same name */
void space_drop(struct engine *e, struct space *s); /* from memory; nobody knows it any more */

/* A copy to go back to; NULL after ERR_NO_MEMORY in the op. */
State__Namespace *op_copy_space(struct op *op, const struct space *s) must_check;
/* Memory has the change of the namespace; the answer waits until the disk has it too. `before` is the copy
 * from before the change, which is taken: without memory it is undone. */
void op_reply_space(struct op *op, struct space *s, State__Namespace *before, bool failed,
                    const ProtobufCMessage *resp);
/* Empties the namespaces that are being removed, a few runs at a time (space_removal.c). */
void spaces_reap(struct engine *e);
int64_t spaces_next_reap_us(const struct engine *e);

/* runs */

struct run *run_get(struct engine *e, struct run_key key,
                    struct space *space); /* makes a stub; NULL: no memory */
struct run *run_find(struct engine *e, const struct run_key *key); /* NULL: not in memory */
void run_pin(struct run *run);
void run_unpin(struct engine *e, struct run *run);
void run_touch(struct engine *e, struct run *run); /* recently used; may drop others */
struct heap *run_heap(struct engine *e, const struct run *run); /* in which its deadline is */
void run_clear_due(struct engine *e, struct run *run); /* no deadline that is known */
void run_set_due(struct engine *e, struct run *run);
/* 0 with op->run pinned and loaded; ERR_WAIT when op will be started again; or an error in op->err. */
int op_need_run(struct op *op, struct space *space, struct uuid run_id) must_check;
int op_need_execution(struct op *op, struct space *space, const Common__WorkflowExecution *ex,
                      const char *first_run_id) must_check;
/* 0 with *ret_known, and then *ret_run_id. */
int op_need_current(struct op *op, struct space *space, const char *workflow_id, bool *ret_known,
                    struct uuid *ret_run_id) must_check;
int current_set(struct engine *e, struct space *space, const char *workflow_id,
                struct uuid run_id) must_check;
void body_free(struct body *b);
struct body *body_new(void);

/* The run's first event, which a step may need that begins the next run of its chain. 0 at once when the
 * run has neither retry policy nor cron schedule. */
int op_need_origin(struct op *op) must_check;

/* steps */

/* A step on op->run: begin, call core, end. */
/* Begins a step on a state of this namespace, with all that a step may look up beside it. */
void step_begin(struct engine *e, struct space *space, State__Execution *st, struct arena *arena,
                struct err *err, struct step *ret);
void run_step_begin(struct engine *e, struct run *run, struct arena *arena, struct err *err, struct step *s);
void op_step_begin(struct op *op, struct step *s);
/* A step that is refused, if at all, before it has changed anything, and then fails only for want of memory.
 * It needs no image to return to, so that many of one run in one group cost one packing of its state. */
void op_sure_step_begin(struct op *op, struct step *s);
void body_pack(struct engine *e, struct body *b); /* its image is old no more */
/* Whether a kept step joins the open group. A quiet step stays in memory and a crash loses it. run_keep()
 * makes a quiet step durable when it wrote events, rows of a ledger or log lines of a schedule. */
enum durability { STEP_QUIET, STEP_DURABLE };
/* Ends the step. rc is the result of core. rc 0: keeps the change. Otherwise, or when keeping it fails,
 * undoes the change. Returns rc or the error of keeping; op->err is filled. */
int op_step_end(struct op *op, struct step *s, int rc, enum durability durability) must_check;
int run_keep(struct engine *e, struct run *run, struct step *s, enum durability durability) must_check;
/* A step that began a run: takes its state, makes the run current. */
int run_keep_new(struct engine *e, struct space *space, struct step *s, struct run **ret) must_check;
void run_undo(struct engine *e, struct run *run);
/* A step of the engine's own that may be lost (nothing is promised by it). */
void run_quiet_step(struct engine *e, struct run *run, void (*fn)(struct step *s, void *arg), void *arg);

/* deployments (deployments.c) */

struct deployment *deployment_find(struct engine *e, const struct space *space, const char *name);
int deployment_add(struct engine *e, struct uuid namespace_id, struct str body) must_check; /* at start */
void deployment_free(struct deployment *d);
bool deployment_has_pollers(struct engine *e, const struct space *space, const char *name,
                            const State__DeploymentVersion *v);
struct version_book deployment_book(void);

/* A step on a deployment, on a copy of its state: begin, call core, end. */
struct deployment_edit {
    struct deployment_step step;
    struct space *space;
    struct deployment *deployment; /* NULL: it is new */
};
/* The deployment `name`. ERR_NOT_FOUND when there is none; with may_create it is begun instead. */
int deployment_edit_begin(struct op *op, struct space *space, const char *name, bool may_create,
                          struct deployment_edit *ret) must_check;
/* Lets a version that nobody needs make room for a new one. */
void deployment_edit_make_room(struct engine *e, struct deployment_edit *ed, const char *build_id);
/* rc is what core said. Keeps the change and lets op wait for it, or drops it. */
int deployment_edit_end(struct op *op, struct deployment_edit *ed, int rc) must_check;
void deployment_edit_drop(struct deployment_edit *ed); /* nothing changed */
void deployment_remove(struct op *op, struct deployment *d); /* it is gone when op's answer is */
void deployments_forget(struct engine *e, const struct space *space); /* they go with their namespace */
/* A worker of this version polls. */
int op_register_worker(struct op *op, struct space *space, struct version v, const char *queue,
                       bool is_activity) must_check;
/* A run was bound to this version; no matter when it is not known. */
void deployment_pinned(struct op *op, struct space *space, struct version v);
void drainage_sweep(struct engine *e);
void drainage_expect(struct engine *e); /* a version may be draining: look after a while */

/* groups */

struct group *group_open(struct engine *e); /* the open group; NULL: no memory */
int group_add_run(struct engine *e, struct run *run) must_check;
bool group_is_full(const struct engine *e);
void group_free(struct group *g);
/* The last group with anything in it: what it holds was perhaps answered already, and must be seen. */
uint64_t group_last_change(const struct engine *e);
void run_effect(struct engine *e, struct run *run, const struct effect *fx);
/* Puts what lists show of the run into the batch, if that has changed (visibility.c). */
void visibility_seal(struct group *g, struct run *run);
/* What can be asked about a run and changes with its state, for the row of the state. */
void visibility_seal_moving(struct group *g, const State__Execution *st, struct write *w);
void visibility_loaded(struct run *run); /* as the store has it */
/* After a commit: tell readers and queries of this run. */
void readers_wake(struct engine *e, struct run *run);

/* events */

void page_read_free(struct page_read *pr); /* NULL is fine */

int tape_append(struct tape *t, struct str events, int64_t first_id) must_check;
void tape_trim(struct body *b);
struct str events_slice(struct str bytes, int64_t first_id, int64_t from, int64_t until); /* [from, until) */
int64_t events_count(struct str bytes);
/* Events [from, ...) up to `until`, at most events_max and about bytes_max: from memory, or from the store
 * (then ERR_WAIT and op starts again). *ret points into memory that lives until the op ends. */
struct events_want {
    int64_t from;
    int64_t until;
    int64_t events_max;
    size_t bytes_max;
};
int op_need_events(struct op *op, const struct events_want *w, struct str *ret, int64_t *ret_next) must_check;
/* One event, decoded into the op's arena. */
int op_need_event(struct op *op, int64_t event_id, History__HistoryEvent **ret) must_check;
/* An event as it was stored. ERR_NO_MEMORY, or ERR_DAMAGED when it is none. */
int event_unpack(struct arena *a, struct str packed, History__HistoryEvent **ret) must_check;
/* The first of packed events, unpacked into the arena; NULL behind the last. */
int op_next_event(struct op *op, struct arena *a, struct str *rest, History__HistoryEvent **ret) must_check;
/* The events of a started task that are not in the history yet, packed; may be empty. */
int virtual_events(struct op *op, struct str *ret, int64_t *ret_next) must_check;

/* queues */

enum task_kind { TASK_WORKFLOW, TASK_ACTIVITY, TASK_QUERY };

#define QUEUE_PRIORITIES 5
#define QUEUE_PRIORITY_DEFAULT 3

struct task {
    struct list link;
    enum task_kind kind;
    bool is_bound; /* only for workers of the queue's version */
    bool is_routed; /* for whoever the queue's work goes to now */
    bool wants_ramp;
    double ramp_place; /* core/version/version.h */
    int priority; /* 1 is first */
    int64_t added_us; /* monotonic; when it began to wait */
    int64_t waited_us; /* by then, in an earlier process */
    struct space *space;
    struct uuid run_id;
    int64_t event_id;
    int32_t stamp; /* TASK_ACTIVITY: which offer of it this is */
    struct query *query; /* TASK_QUERY */
    uint64_t fairness; /* TASK_ACTIVITY: its fairness key, as a number; */
    float weight; /* and the weight that it asked for, 0 for the usual */
};

/* Where work goes that is bound to no version. */
struct route {
    struct version current; /* points into the deployments' states */
    int64_t current_revision;
    int64_t current_us;
    bool is_ramping;
    struct version ramping;
    float percentage;
    int64_t ramping_revision;
    int64_t ramping_us;
};

/* The tasks of one priority that are in memory. */
struct lane {
    struct list tasks; /* oldest first */
    size_t count;
    size_t routed_count; /* tasks that are bound to no version, with those of the backlog */
    struct pace *pace; /* of those that came and went lately; NULL: none */
};

struct queue {
    struct str key;
    struct version version; /* of the workers that poll it; points into the key */
    struct queue *base; /* the one without a version; itself, maybe */
    struct list versions; /* of the base: queues with a version, by version_link */
    struct list version_link;
    struct list unsettled; /* while routes_settle() is at work: its tasks may have to be moved */
    struct route route; /* of the base, as it was when routes_seq was: */
    uint64_t route_seq;
    int64_t last_add_us; /* monotonic */
    struct space *space;
    char *name;
    bool is_activity;
    bool is_sticky; /* as its last poll said: it belongs to one worker */
    struct lane lanes[QUEUE_PRIORITIES]; /* by priority */
    struct backlog *backlog; /* tasks behind those of the lanes, in the store; NULL: none */
    struct list pollers; /* op.link */
    size_t poll_count; /* polls of it that have not ended, parked or not */
    struct list used; /* in engine.used_queues */
    int64_t used_us; /* monotonic; when it last got a poll or a task, or was swept past */
    size_t task_count; /* of the lanes and the backlog */
    bool is_shut; /* its worker said goodbye: what comes from the backlog goes elsewhere */
    int64_t last_poll_us; /* monotonic; INT64_MIN: never, or shut down */
    struct visitor *visitors; /* who polled lately, for describe */
    size_t visitor_count;
    struct queue_limits *limits; /* of the base: what an operator set; NULL: nothing */
    int64_t held_until_us; /* monotonic; when the first of the tasks may go whose key has had its share */
    double rate; /* tasks a second that its workers ask for; 0: no limit */
    int64_t next_pass_us; /* monotonic; with a rate, nothing is handed out before */
    struct heap_node pass; /* in engine.passes while tasks wait for the rate */
    int64_t next_advice_us; /* monotonic; until then no worker is told to open another poll */
};

/* A worker that polled a queue. */
struct visitor {
    char *identity;
    int64_t first_us, last_us; /* wall */
    double rate;
    Common__WorkerVersionCapabilities *capabilities; /* what it said of its build; NULL: nothing */
    Deployment__WorkerDeploymentOptions *options;
};

/* What a poll says of the worker. Borrowed. */
struct visit {
    const char *identity;
    double rate; /* tasks a second that it asks for, over the whole queue; 0: no limit */
    const Common__WorkerVersionCapabilities *capabilities;
    const Deployment__WorkerDeploymentOptions *options;
};

/* Makes it when it is not there, however many there are: for what is committed. NULL: no memory. */
struct queue *queue_get(struct engine *e, struct space *space, bool is_activity, const char *name);
struct queue *queue_find(struct engine *e, struct space *space, bool is_activity, const char *name);
/* The queue beside it for workers of this version; that one itself when there is none. */
struct queue *queue_get_version(struct engine *e, struct queue *base, struct version v);
struct queue *queue_find_version(struct engine *e, const struct queue *base, struct version v);
void queue_say_goodbye(struct queue *q, const char *identity); /* this worker polls no more */
bool queue_has_visitor(const struct engine *e, const struct queue *q); /* in the last minutes */

/* how many there are (queue_sweep.c) */

/* Finds it, or makes it for what a client begins. NULL, with op->err, when the server has enough of them. */
struct queue *op_need_queue(struct op *op, struct space *space, bool is_activity, const char *name);
/* Whether a client may begin another run, with its tasks in this queue; NULL: it has none. */
int op_need_birth(struct op *op, struct space *space, const char *queue) must_check;
/* Whether the commands may name the queues that they name. op->run is the workflow. */
int op_need_command_queues(struct op *op, const Ws__RespondWorkflowTaskCompletedRequest *req) must_check;
void queue_use(struct engine *e, struct queue *q); /* keeps it for some minutes */
void op_enter_queue(struct op *op, struct queue *q); /* op->queue; it stays until op_leave_queue() */
void op_leave_queue(struct op *op);
void queues_sweep(struct engine *e); /* forgets some of those that hold nothing */
int64_t queues_next_sweep_us(const struct engine *e); /* monotonic */

/* polls (scaling.c) */

int64_t queue_age_us(const struct engine *e, const struct queue *q); /* how long its first task has waited */
int64_t lane_age_us(const struct engine *e, const struct queue *q, int lane);
/* By how much the worker that got this task by a poll of poll_us should change the number of its polls. */
int32_t queue_advise(struct engine *e, struct queue *q, const struct task *t, int64_t poll_us);

/* routes (routes.c) */

const struct route *queue_route(struct engine *e, struct queue *base);
struct version route_target(const struct route *r, double place, bool wants_ramp, int64_t *ret_revision);
/* Where this run's task of that queue goes, and as what. */
struct queue *route_task(struct engine *e, const struct run *run, bool is_activity, const char *name,
                         struct task *t);
/* Where this run's workflow tasks would go if it were bound to no version. */
struct version route_of_run(struct engine *e, const struct run *run, int64_t *ret_revision);
/* Whether the run is pinned to a version that is drained and has no workers: nobody will answer for it. */
bool route_is_blind(struct engine *e, const struct run *run);
/* Whether the worker that has this run in its memory may go on with it. */
bool route_keeps_sticky(struct engine *e, const struct run *run);
void routes_changed(struct engine *e);
void routes_settle(struct engine *e); /* moves tasks that wait in the wrong queue */
/* Whether the task waits in the right queue; and its way to the right one. */
bool route_fits(struct engine *e, const struct queue *q, const struct task *t);
void route_move(struct engine *e, const struct queue *q, struct task *t);

/* limits that an operator set (queue_limits.c) */

const Taskqueue__TaskQueueConfig *queue_config(const struct space *space, E__TaskQueueType type,
                                               const char *name); /* NULL: none */
void limits_apply(struct engine *e, struct queue *base); /* what the namespace says about it now */
void limits_free(struct queue *base);
double limits_rate(const struct queue *base); /* negative: not set */
int64_t *limits_next_pass(struct queue *base);
bool limits_have_keys(const struct queue *base);
int64_t limits_ready_us(const struct queue *base, const struct task *t); /* when its key lets it go */
void limits_count(struct engine *e, struct queue *base, const struct task *t); /* it goes now */
uint64_t fairness_number(const char *key);

/* backlogs (backlog.c) */

size_t backlog_count(const struct queue *q, int lane);
int64_t backlog_since_us(const struct queue *q, int lane); /* of a lane that has some */
void backlog_add(struct engine *e, struct queue *q, int lane, struct task *t); /* takes it */
void backlog_fill(struct engine *e, struct queue *q); /* reads what the lanes have room for */
void backlog_sift(struct engine *e, struct queue *q); /* moves what belongs elsewhere */
void backlog_clear(struct queue *q); /* removes it from the store */
void backlog_drop(struct queue *q); /* from memory only */
void backlogs_resume(struct engine *e); /* after a commit: those that waited for it */
void backlogs_free(struct engine *e);

bool queue_has_worker(const struct engine *e, const struct queue *q);
void queue_add(struct engine *e, struct queue *q, struct task *t);
struct task *queue_pop(struct engine *e, struct queue *q); /* NULL: nothing, or not yet by its rate */
void queue_take_out(struct queue *q, struct task *t); /* wherever it waits in memory */
void queue_extend(struct queue *q, int lane, struct task *t); /* with one from the backlog */
void queue_resume(struct engine *e, struct queue *q); /* the backlog has moved */
void queue_shut(struct engine *e, struct queue *q); /* its worker said goodbye */
void queue_visit(struct engine *e, struct queue *q, const struct visit *visit);
void queue_watch_rate(struct engine *e, struct queue *q); /* wakes it when its rate allows the next task */
void queues_advance(struct engine *e); /* hands out what a rate held back */
int64_t queues_next_pass_us(const struct engine *e);
void queue_put_back(struct engine *e, struct queue *q, struct task *t); /* at the front */
void queue_recount(struct engine *e, struct queue *base); /* its limits have changed */
double queue_rate(const struct queue *q, E__RateLimitSource *ret_source); /* negative: no limit */
void queue_free(struct queue *q);
void queues_end_polls(struct engine *e, const struct space *space); /* parked ones are answered empty */
void queues_forget(struct engine *e, const struct space *space); /* nothing refers to its queues any more */
void task_free(struct task *t);
/* Hands a task to a waiting poll (poll.c). */
void poll_dispatch(struct op *op, struct task *t);
void offer_workflow_task(struct engine *e, struct run *run);
void offer_activity_task(struct engine *e, struct run *run, int64_t event_id);
/* Removes closed runs whose time is up, a few at a time. */
void retention_sweep(struct engine *e);
int64_t retention_next_sweep_us(const struct engine *e); /* CLOCK_NEVER: the store will wake it */
/* Removes this run, which is terminated first when it is open. */
void run_doom(struct engine *e, const struct run_key *key);
/* The workflow id means no run any more. */
void current_forget(struct engine *e, struct run *run);
/* Delivers a letter of this run's outbox (letters.c). */
void letter_begin(struct engine *e, const struct run_key *sender, int64_t letter_id);
/* Goes on with this batch job, which is open, from where its state says that it is (batch.c). */
void batch_begin(struct engine *e, struct run *job);
void offer_tasks(struct engine *e, struct run *run); /* all that workers could do for it now */
/* Its letters and callbacks that are under way. */
void offer_messages(struct engine *e, struct run *run, struct arena *a);
bool has_messages(const State__Execution *st);

/* recovery */

int recovery_begin(struct engine *e) must_check;
void recovery_free(struct engine *e);
int64_t recovery_runs(const struct engine *e); /* read so far; 0 when it has ended */

/* workers */

/* A heartbeat: whether it is one that can be kept; then that it was heard. */
int worker_check(struct op *op, const Worker__WorkerHeartbeat *beat) must_check;
int worker_heard(struct op *op, const struct space *space, const Worker__WorkerHeartbeat *beat) must_check;
void workers_forget(struct engine *e, const struct space *space); /* NULL: of all namespaces */

/* queries */

enum query_state { QUERY_BUFFERED, QUERY_ATTACHED, QUERY_QUEUED, QUERY_WITH_WORKER };

struct query {
    struct list link; /* in body.queries */
    struct op *op;
    struct uuid_text id;
    enum query_state state;
    struct task *task; /* QUERY_QUEUED: its entry in `queue` */
    struct queue *queue;
    struct op *poll; /* QUERY_WITH_WORKER: the poll that carries it, until it is answered */
};

void queries_settle(struct engine *e, struct run *run); /* nothing pending: ask directly */
void queries_drain(struct run *run); /* all of them fail with UNAVAILABLE */
void queries_detach(struct run *run); /* the task is gone: wait for the next */
void queries_attach(struct op *poll, Ws__PollWorkflowTaskQueueResponse *resp);
void queries_answer(struct engine *e, struct run *run, const Ws__RespondWorkflowTaskCompletedRequest *req);
void query_lost(struct engine *e, struct query *q); /* the worker that had it is gone */

/* updates */

enum update_state {
    UPDATE_ADMITTED, /* waits for a workflow task */
    UPDATE_SENT, /* rides on one */
    UPDATE_REFUSED, /* over: the worker rejected it */
    UPDATE_UNREADY, /* over: the completion of the task that carried it was refused */
};

struct update {
    struct list link; /* in body.updates, in order of admission */
    Update__Request *request;
    size_t bytes;
    enum update_state state;
    Failure__Failure *failure; /* UPDATE_REFUSED: what the caller is told */
};

void update_free(struct update *u);
void updates_detach(struct run *run); /* the task is gone: ride on the next */
bool updates_are_sent(const struct run *run); /* a worker has some: its answer needs to know them */
void updates_attach(struct op *poll, Ws__PollWorkflowTaskQueueResponse *resp);
/* For the step of a completion: what waits, in the op's arena. */
int updates_offer(struct op *op, struct step_context *ctx) must_check;
/* What that step found out, told to those who wait. */
void updates_settle(struct op *op, const struct step_context *ctx, bool is_heartbeat);
void updates_unready(struct op *op, const struct step_context *ctx); /* its completion was refused */
void updates_close(struct engine *e, struct run *run); /* the run is closed: nobody will answer them */

/* tokens */

ProtobufCBinaryData token_for_task(struct arena *a, const State__Execution *st);
ProtobufCBinaryData token_for_activity(struct arena *a, const State__Execution *st,
                                       const State__Activity *act);
ProtobufCBinaryData token_for_query(struct arena *a, const struct space *s, const char *queue,
                                    const char *id);
ProtobufCBinaryData token_pack(struct arena *a, const ProtobufCMessage *m);
/* The way back, in the call's arena. What is no token is an error with this code and text. */
int token_read(struct op *op, const ProtobufCMessageDescriptor *type, const ProtobufCBinaryData *bytes,
               int code, const char *text, ProtobufCMessage **ret) must_check;
/* The namespace of a request with a token. The token alone will do; if both name one, it must be the same. */
int op_need_token_space(struct op *op, const char *name, const char *namespace_id,
                        struct space **ret) must_check;
/* Reads the token and finds its run: op->run, as op_need_run does. */
int op_need_token_run(struct op *op, const ProtobufCBinaryData *bytes, const char *namespace_name,
                      State__TaskToken **ret) must_check;
