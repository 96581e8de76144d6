/* What the files of the engine share. Nobody outside this folder includes it.
 *
 * The parts and who owns them:
 *   engine   everything below
 *   space    a namespace; all are in memory
 *   run      one workflow run that is in use or has a deadline; its body (state, image, tape) may be
 *            dropped when nothing is in flight and read again later
 *   current  which run a workflow id means now; lives while someone needs it
 *   deployment  a worker deployment; all are in memory
 *   queue    a task queue: tasks without a worker, or workers without a task; each worker version that
 *            polls it has one of its own beside it
 *   group    one batch on its way to disk, with the replies and effects that wait for it
 *   op       one call being worked on; lives in the call's arena and can be started again at any time
 *            before it has stepped, which is how it waits for a load */
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
    bool is_refreshing; /* its schedules are being told of new holidays (refresh.c) */
    int64_t batch_count; /* batch jobs that are open */
    struct engine *e;
    struct version_book book; /* its deployments, as core asks about them */
    size_t deployment_count;
    int64_t tallies[TALLY_COUNT]; /* how many of its runs are what (tally.c) */
    bool has_label; /* its name may be a label of metrics */
    struct visibility_place swept; /* retention goes on behind this run, */
    bool is_behind; /* when it has not looked at all of them */
    struct due_place reaped; /* the same for its removal */
};

struct deployment {
    struct str key; /* namespace id, name; allocated behind the struct */
    struct space *space;
    State__Deployment *st;
    uint64_t group_seq; /* the group that holds its last change */
    uint64_t pin_count; /* how often a run was bound to a version of it; since the start */
};

/* Packed events [first_id, next_id) that are still in memory; always holds all that is not durable. */
struct tape {
    struct buf bytes;
    int64_t first_id;
    int64_t next_id;
};

/* What the store finds an open run by. */
struct placing {
    int64_t due_us;
    int64_t close_us;
    bool is_ready;
};

struct body {
    State__Execution *st;
    struct buf image; /* st, packed: what a failed step is undone to */
    bool is_image_old; /* st has had sure steps since it was packed */
    struct tape tape;
    int64_t durable_next_id; /* events below are on disk */
    int64_t grouped_next_id; /* events below are in a group or on disk */
    uint64_t group_seq; /* the last group that holds a change of it */
    uint64_t listed_digest; /* of what lists show of it; 0: not known */
    bool is_dirty; /* changed since it was last put into the open group */
    bool is_written; /* the store has it, or a group that was handed over */
    struct placing placing; /* what was written then */
    bool is_ahead; /* memory holds a start that no group holds yet */
    enum tally_kind tally; /* what it was counted as */
    bool is_end_counted;
    struct list readers; /* ops that wait for new events */
    struct list queries; /* struct query, waiting for or riding on a workflow task */
    struct list updates; /* struct update: those that the history does not know */
    struct list update_waiters; /* ops that wait for an update to come further */
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
    struct heap_node due; /* in engine.due, or engine.schedule_due */
    struct list waiters; /* ops that wait for the body */
    struct list recent; /* in engine.recent when it has a body */
    uint32_t pins; /* uses that forbid dropping the body */
    bool is_schedule; /* which of the two */
    bool is_loading;
    bool is_in_read; /* inside store_read: the op that asked is still on the stack */
    bool is_missing; /* the store has no such run */
    bool is_damaged; /* what the store has is no run */
    bool is_removed; /* its rows are being deleted */
    uint64_t removed_seq; /* by this group */
    struct read *read; /* while it is loading */
};

#define NAME_KEY_BYTES_MAX 2048 /* twice what an id may have */

/* A name in a namespace, as the key of a map. It is looked up without memory of its own: what could not be
 * looked up would be taken for what is not there. */
struct name_key {
    uint8_t bytes[sizeof(struct uuid) + NAME_KEY_BYTES_MAX];
};

static inline struct str name_key(struct name_key *k, struct uuid namespace_id, const char *name) {
    size_t n = strlen(name);
    if (n > NAME_KEY_BYTES_MAX)
        return STR(""); /* which nothing has */
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
    bool is_reading; /* the store will answer: must stay */
    bool is_resuming; /* its waiters are being started: must stay */
    struct list waiters;
    struct read read;
    struct engine *e;
};

/* Its own object, because the op may be gone before the store answers. */
struct page_read {
    struct read read;
    bool is_in_read; /* as in struct run */
    bool is_done;
    bool is_damaged; /* what was read is no history */
    struct op *op; /* NULL: nobody waits any more */
    void (*row)(struct op *op, const struct row *row); /* question.c */
    struct answer *answer;
    struct list link; /* in engine.page_reads */
    struct arena arena; /* what a list asks for: the store may look at it when the call is gone */
    struct visibility_place after;
};

struct op {
    struct engine *e;
    struct call *call;
    const void *req;
    void (*go)(struct op *op); /* begins, or begins again after a load */
    void (*expire)(struct op *op); /* the deadline passed while it was parked */
    void (*drop)(struct op *op); /* the caller is gone: give back what it holds */
    struct list link; /* in the one list that it waits in */
    struct heap_node deadline; /* by the monotonic clock */

    struct run *run; /* pinned */
    struct run *held; /* pinned too, whatever `run` becomes; NULL: none */
    uint64_t wait_seq; /* a group that must be durable too before it ends */
    bool continues; /* goes on, instead of ending, when its group is durable */
    struct err err;
    const ProtobufCMessage *reply;
    struct str tail;

    uint64_t phase; /* of loading, in which it began */
    bool is_loading; /* waits for the store to load a run */
    struct page_read *page_read; /* a history page under way */
    struct buf page; /* packed events from the store */
    int64_t page_first;
    int64_t page_next; /* one behind the last event in `page`; 0 when none was read */
    int64_t page_wanted;

    /* For the few kinds that need more. */
    struct task *task; /* a poll: what it was matched with */
    struct queue *queue; /* a poll: where it waits (op_enter_queue) */
    struct query *query;
    char *request_id;
    const History__WorkflowExecutionStartedEventAttributes
        *origin; /* event 1, once op_need_origin has read it */
    void *extra;
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
    struct schedule_line *lines; /* for the log (schedule_log.c) */
    struct schedule_line **lines_end;
    struct group_run *runs; /* each once */
    size_t run_count;
    size_t run_cap;
    size_t bytes; /* estimate of what it will write */
    int64_t handed_over_us; /* monotonic */
};

/* Runs that were due, waiting for their step: those from `at` on. */
struct ticks {
    struct run_key *keys;
    size_t at;
    size_t count;
    size_t cap;
};

/* How many lines about schedules were logged lately (schedule_log.c). */
struct line_quota {
    int64_t until_us; /* monotonic; then it begins anew */
    int64_t left_out;
    int counts[LOG_schedule_lines_left_out - LOG_schedule_fired];
};

/* What is thought of the wall clock (clocks.c). */
struct clocks {
    int64_t apart_us; /* how far it was set lately; when that is far, schedules keep to the time before */
    int64_t steady_us; /* monotonic; when it is believed, unless it is set again */
};

/* Calls that wait for the store, by phases (loading.c). */
struct loading {
    uint64_t phase;
    size_t counts[2]; /* of this phase and of the one before, by the phase's last bit */
    struct now next; /* what is heard when the phase ends */
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
    struct now judged; /* calls that had arrived by then are worked on: deadlines up to here are judged */
    struct loading loading;
    struct clocks clocks;
    struct wall begin; /* when this engine was made */
    bool is_ready;
    bool has_failed; /* nothing becomes durable any more: see engine_fail() */
    bool is_draining;
    void (*on_ready)(void *ctx, int rc, const struct err *e);
    void *ready_ctx;

    struct map spaces; /* by name */
    struct map deployments; /* by namespace id and name */
    uint64_t deployments_seq; /* the last group that holds a change of a deployment */
    uint64_t routes_seq; /* moves when a deployment changes: what queues remember of routes is old then */
    bool has_new_routes; /* tasks may wait in the wrong queue */
    int64_t next_drainage_us; /* monotonic; when draining versions are looked at, or CLOCK_NEVER */
    struct map runs; /* by run_key */
    struct map currents; /* by namespace id and workflow id */
    struct map queues;
    struct list used_queues; /* struct queue, all of them, longest unused first */
    struct map queries; /* by id: queries that a worker has */
    struct map workers; /* by namespace id and instance key */
    struct list heard; /* struct worker, longest silent first */
    struct heap due; /* runs, by the wall clock */
    struct heap schedule_due; /* schedules that are known to be one, by the time that schedules go by */
    struct ticks ticks;
    struct heap deadlines;
    struct heap passes; /* queues whose rate holds tasks back */
    struct list recent; /* runs with a body, least recently used first */
    size_t body_count;
    struct list backlogs; /* of queues */
    struct list hungry; /* struct backlog: those that go on after the next commit */
    size_t queue_tasks_max; /* of each priority of a queue, in memory */
    size_t parked_max; /* calls that may wait at a time */
    int64_t last_backlog;
    uint64_t backlog_seq; /* the group that removed what an earlier life left; 0: none yet */

    struct group *open; /* being filled */
    struct group *flight; /* with the store */
    struct group *spare;
    uint64_t next_seq;
    uint64_t durable_seq;
    struct list errands; /* calls that the engine made itself */
    struct buf image; /* scratch for packing a state */
    struct arena scratch; /* for sealing a run */
    struct pending_effect *soon; /* effects of quiet steps, done at the next flush */
    struct pending_effect **soon_end;
    struct list page_reads;
    struct list retries; /* ops that try again later */
    struct list slices; /* ops with more work than one turn should do; the first goes on in the next turn */
    struct recovery *recovery; /* while starting (recovery.c) */
    struct recount *recount; /* the same (recount.c) */
    struct map types; /* struct type_counter, by namespace and workflow type (tally.c) */
    size_t labelled_spaces; /* with has_label */
    bool is_sweeping; /* retention.c */
    bool sweep_is_behind; /* some namespace has more that was not looked at in this round */
    int64_t next_sweep_us;
    size_t sweep_at;
    size_t sweep_bites; /* that the namespace `swept` may still have before it is the next one's turn */
    struct uuid swept;
    uint64_t sweep_seq; /* the group that holds what was removed last */
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
    int64_t next_notice_us[NOTICE_COUNT]; /* monotonic; none of that kind is logged before */
    struct line_quota line_quota;
};

/* A read that was needed got no answer. From now on nothing becomes durable, since it could rest on what is
 * not there, and on_fatal() tells the caller to end the process. */
void engine_fail(struct engine *e, const char *text);

/* clocks */

void clocks_tell(struct engine *e, struct now now); /* sets engine.now */
int64_t clocks_schedule_us(const struct engine *e, struct wall at); /* what schedules take it for */
int64_t clocks_next_us(const struct engine *e); /* monotonic; when that changes, or CLOCK_NEVER */

/* loading */

void op_wait_load(struct op *op); /* it is put into a list of those that wait for a run */
void op_end_load(struct op *op); /* and taken out of it */
void loading_hear(struct engine *e, struct now heard);
/* For how long deadlines may wait for calls that are being loaded; 0: there are none, or no longer */
int64_t loading_wait_us(const struct engine *e, struct now now);

/* ops */

bool op_is_errand(const struct op *op); /* the engine made the call itself */
struct op *op_new(struct engine *e, struct call *c, const void *req, void (*go)(struct op *op));
void op_start(struct op *op); /* go(), or an error when the engine is not ready */
void op_pin(struct op *op, struct run *run);
/* Tells whoever made the call that what it did is in the open group; the ends below do so by themselves. */
void op_settled(struct op *op, const struct err *e);
void op_hold(struct op *op, struct run *run); /* besides op->run; NULL lets go */
/* Ends with op->err once op->wait_seq is durable: that something is not there may not be told before. */
void op_fail(struct op *op);
void op_fail_now(struct op *op); /* when nothing becomes durable any more */
void op_reply(struct op *op, const ProtobufCMessage *m, struct str tail); /* ends now */
/* Ends with this answer once everything that op->run shows is durable. */
void op_reply_durable(struct op *op, const ProtobufCMessage *m, struct str tail);
void op_fail_durable(struct op *op); /* the same for op->err */
/* Goes on with `go` once everything that op->run shows is durable. */
void op_continue_durable(struct op *op, void (*go)(struct op *op));
void op_park(struct op *op, struct list *where, int64_t until_us, void (*expire)(struct op *op));
void op_unpark(struct op *op);
/* Its deadline alone; ERR_NO_MEMORY, in op->err too, when no more calls may wait. */
int op_wait_until(struct op *op, int64_t until_us) must_check;
/* Goes on with `again` after this time. It is for work of the engine's own, which nobody would ask for again:
 * there is always room for it, and without memory for it the process ends. */
void op_retry(struct op *op, int64_t us, void (*again)(struct op *op));
/* Calls op->go again in a later turn. Each turn goes on with one such op. */
void op_go_on_later(struct op *op);
/* min(the caller's deadline - margin, now + most), by the monotonic clock */
int64_t op_deadline(const struct op *op, int64_t most_us, int64_t margin_us);
void op_finish(struct op *op); /* unlinks it from everything; the call is ended by the caller of this */
int op_out_of_memory(struct op *op);
/* A call of the engine's own: runs go with a copy of the request in a fresh arena, freed at its end. */
void errand_start(struct engine *e, void (*go)(struct op *op), const void *req, size_t req_size);

/* ERR_BUSY while more waits to be written than one commit should hold; for calls that come from outside. */
int op_need_room(struct op *op) must_check;

/* The answer will carry the task of this token. */
int op_carry(struct op *op, const ProtobufCBinaryData *token) must_check;
/* The caller left before the answer: what it would have carried is offered again. */
void op_drop_carried(struct op *op);

/* Whether this payload set, or this memo, is small enough to be stored; NULL is. */
int op_check_blob(struct op *op, const ProtobufCMessage *m) must_check;
int op_check_memo(struct op *op, const Common__Memo *memo) must_check;

/* deadlines of runs (ticks.c) */

void ticks_advance(struct engine *e);
bool ticks_wait(const struct engine *e); /* some are due and have not had their step yet */
void ticks_free(struct engine *e);

/* callbacks */

void callback_begin(struct engine *e, const struct run_key *key, int64_t index);
void callbacks_free(struct engine *e); /* those under way */

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
void notice_log_request(struct engine *e, const ProtobufCMessage *req, const ProtobufCMessage *part, int64_t size);

/* what schedules did, as lines of the log (schedule_log.c) */

/* A row of the ledger that the step of this run wrote; `entry` is the copy in the open group. */
void schedule_log_row(struct engine *e, const struct run *run, const struct ledger_row *row, struct str entry);
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
/* rc is what core said. Keeps the change (in the open group when is_durable) or undoes it. Returns rc or the
 * error of keeping it; op->err is filled. */
int op_step_end(struct op *op, struct step *s, int rc, bool is_durable) must_check;
int run_keep(struct engine *e, struct run *run, struct step *s, bool is_durable) must_check;
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
Taskqueue__TaskQueueStats *queue_stats(const struct op *op, struct queue *q); /* NULL q: empty */
/* Of one priority, from 1; NULL when it had no task lately and is not the usual one, or out of memory. */
Taskqueue__TaskQueueStats *queue_lane_stats(const struct op *op, struct queue *q, int priority);
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
