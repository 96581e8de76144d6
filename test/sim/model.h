/* What the outside world knows about the server's runs, and what it was promised.
 *
 * Every answer feeds the model; every answer is compared with it. A run's
 * history is known as one hash for each event, so that a later read must
 * repeat it byte for byte. Promises are acknowledged calls: whatever crash
 * comes, their effect must be found later. */
#pragma once

#include "base/map.h"
#include "base/str.h"
#include "base/uuid.h"

struct rpc;
struct world;

#define MODEL_ACTIVITIES_MAX 32
#define MODEL_TIMERS_MAX 32
#define MODEL_ID_MAX 48
#define MODEL_RESET_POINTS 8

/* A request id that a client sends with a start or a signal, as often as it likes. */
struct request_model {
    char id[MODEL_ID_MAX];
    char workflow_id[MODEL_ID_MAX]; /* "namespace/id", as everywhere here */
    size_t runs_met; /* when it was thought of */
    struct run_model *run; /* start: the run it made. signal: where it was sent, NULL for the current run */
    uint64_t program;
    uint32_t padding; /* bytes of ballast in its input */
    int reuse_policy;
    int conflict_policy;
    struct run_model **holders; /* signal: runs whose history carries it */
    size_t holder_count;
    size_t holder_cap;
    struct request_model *rider; /* start: the signal or update that goes with it */
    bool is_update; /* its kind is "update" */
    bool is_rider; /* signal, update: came with a start */
    bool wants_completion; /* update: waits for its end, not only for its acceptance */
    bool is_completed; /* update: acknowledged with a result */
    struct run_model *completed_in; /* update: the run whose history says so */
    int64_t sent_us; /* reset: the first time */
    int64_t reset_event_id; /* reset: the end of a workflow task */
    struct run_model *base; /* reset: the run that is copied */
    bool has_any_base; /* reset: and others of its workflow id */
    bool drops_signals; /* reset: later signals are not wanted in the new run */
    bool is_signal; /* its kind is "signal" */
    bool is_eager; /* start: the first task is wanted with the answer */
    bool is_repeated; /* start: it made more than one run, as it may when nobody is left who knows it */
    bool has_callback; /* start: somebody wants to hear of its end */
    uint32_t callback_ok_epoch; /* which process was told that it arrived; 0: none */
    char callback_state[16]; /* what it said */
    bool makes_run; /* its kind is "start" or "reset" */
    uint32_t unheard_calls; /* under way, or nobody knows what became of them */
    bool is_acked;
    int64_t acked_us;
};

struct activity_model {
    int64_t scheduled_event_id;
    int32_t close_type; /* event type, 0 while open */
    int32_t failed_attempt; /* the highest whose failure was acknowledged */
    int32_t handed_attempt; /* the highest that was handed out */
    bool completion_acked;
    bool cancel_acked;
    int64_t acked_us;
    bool is_touched; /* somebody asked for a control of it */
    bool control_busy; /* and waits for the answer */
    bool may_be_paused;
    int64_t paused_acked_us; /* by the wall clock; 0: not for sure */
    bool was_reset; /* its attempts may begin anew */
    bool heartbeat_dropped; /* and without the last details */
    int64_t options_us; /* acknowledged start-to-close timeout; 0: none */
    uint64_t heartbeat_acked; /* the number in the last acknowledged heartbeat */
    char acked_result[32];
    char recorded_result[32];
};

struct timer_model {
    int64_t started_event_id;
    int64_t due_us; /* by the wall clock in history */
    bool is_done;
};

/* What a parent's history says of a child. */
struct child_model {
    char workflow_id[MODEL_ID_MAX]; /* "namespace/id" */
    int64_t initiated_event_id;
    int policy;
    int64_t started_wall_us;
    struct run_model *run; /* its first run; NULL until the history says that it has started */
    int32_t
        end_type; /* event type by which the parent heard of its end, or that it never began; 0: not yet */
};

/* A signal from one run to another: "run id/number" of its sender. */
struct letter_model {
    char id[UUID_TEXT_LEN + 16];
    struct run_model *sender; /* NULL until its history was seen */
    char workflow_id[MODEL_ID_MAX]; /* to whom */
    int64_t initiated_event_id;
    bool is_delivered; /* by the sender's history */
    bool is_failed; /* the same */
    struct run_model *found; /* a run that has it; NULL: none was seen */
};

struct run_model {
    char run_id[UUID_TEXT_LEN + 1];
    char workflow_id[MODEL_ID_MAX];
    struct request_model *request; /* that made it; known once event 1 was seen or the start acknowledged */
    struct run_model *older; /* the run of the same workflow id that was met before */
    size_t number; /* how many of all runs were met before */
    uint64_t *event_hashes;
    size_t event_count;
    size_t event_cap;
    int32_t last_type;
    int32_t close_type; /* event type, 0 while not known to be closed */
    bool superseded; /* a newer run of the same workflow id was acknowledged */
    bool start_acked;
    bool cancel_recorded;
    int64_t cancel_acked_us; /* 0: not */
    int64_t cancel_acked_wall_us;
    int64_t close_wall_us; /* by the close event */
    int64_t terminate_acked_us;
    int64_t chain_cancelled_wall_us; /* acknowledged, for whichever run its chain had come to; 0: not */
    bool chain_terminated; /* the same */
    bool control_busy; /* a pause or an unpause is under way */
    bool may_be_paused;
    bool was_paused; /* at some time, maybe */
    int64_t paused_acked_us; /* by the wall clock; 0: not for sure */
    bool audit_wanted;
    bool is_seen; /* in the calm phase, after the server was left alone */
    bool is_audited; /* in the calm phase */
    bool end_sent; /* the signal that lets it pass every wait */
    bool is_deleted; /* somebody asked for that; it may be gone */
    int64_t delete_sent_wall_us; /* when that was, the first time */
    int64_t delete_acked_us; /* it is; 0: not known */
    bool is_copy; /* made by a reset: its first events are those of another run */
    struct run_model *reset_from; /* that other run; known once the event that says so was seen */
    struct request_model *reset_request; /* that made it; known once it was acknowledged */
    const struct request_model *ended_by_reset; /* the one for which it was terminated */
    int64_t reset_wall_us; /* when it was made */
    int64_t reset_event_id; /* the first event that is its own */
    int64_t length_told; /* longest history that a describe spoke of */
    int64_t scheduled_task; /* event id of an open WorkflowTaskScheduled, 0 if none */
    int64_t started_task; /* the same for Started */
    int64_t completed_task; /* started event id of the last completed workflow task */
    int64_t completed_task_acked; /* highest started event id whose completion was acknowledged */
    int64_t completed_task_acked_us;
    int64_t *completed_tasks; /* all of them, in the order of their answers */
    size_t completed_count;
    size_t completed_cap;
    int64_t reset_points[MODEL_RESET_POINTS]; /* ends of workflow tasks, the last few */
    size_t reset_point_count; /* of all times */
    int64_t completed_wall_us; /* when the first workflow task was completed; 0: none was */
    int64_t failed_task; /* started event id of the last failed workflow task */
    int64_t failed_task_acked; /* highest whose failure was acknowledged, first attempts only */
    int64_t failed_task_acked_us;
    uint32_t signals_acked;
    int64_t stale_query_us; /* when an answer did not know of an acknowledged signal; 0: never */
    struct request_model **signals;
    size_t signal_count;
    size_t signal_cap;
    struct activity_model activities[MODEL_ACTIVITIES_MAX];
    struct timer_model timers[MODEL_TIMERS_MAX];
    /* the chain */
    struct run_model *before; /* the run that this one continues */
    struct run_model *after; /* the run that its closing event names */
    char first_run_id[UUID_TEXT_LEN + 1];
    int initiator; /* why it continues another, ContinueAsNewInitiator */
    int32_t attempt;
    char cron[24];
    int64_t start_wall_us;
    int64_t backoff_us;
    bool was_woken; /* by a signal that came with a start, which does not wait for the first task's time */
    int64_t first_task_wall_us; /* 0: no workflow task was scheduled yet */
    /* versions of workers */
    char pinned_build[8]; /* that it stays with; "": none */
    bool inherits_route; /* it begins where the run before it was */
    int override_kind; /* enum override_kind */
    char override_build[8];
    bool is_override_doubtful; /* it may have been used up */
    char completed_build[8]; /* of the worker that completed the last task */
    /* the family */
    struct run_model *parent;
    int64_t parent_initiated_event_id;
    bool ended_by_parent; /* terminated by the parent close policy */
    bool cancelled_by_parent; /* asked to cancel by it */
    struct child_model *children;
    size_t child_count;
    size_t child_cap;
};

/* A poll for activities that came back empty. */
struct idle_poll {
    int64_t began_us;
    int64_t ended_us;
    uint32_t epoch;
};

#define MODEL_IDLE_POLLS 64
#define MODEL_SPACES 2

struct model {
    struct idle_poll idle_polls[MODEL_SPACES][MODEL_IDLE_POLLS]; /* the last ones of each namespace */
    size_t idle_poll_count[MODEL_SPACES];
    struct map runs; /* by run id */
    struct map latest; /* by workflow id: the run met last */
    struct map requests; /* by request id */
    struct map letters; /* by id */
    struct run_model **in_order;
    size_t run_count;
    size_t run_cap;
};

void model_init(struct model *m);
void model_done(struct model *m);
struct run_model *model_find(const struct model *m, const char *run_id);
/* Finds or adds. */
struct run_model *model_meet(struct model *m, const char *run_id, const char *workflow_id);
/* The same, by the two names that the API has. */
struct run_model *model_meet_in(struct model *m, const char *namespace_name, const char *run_id,
                                const char *workflow_id);
struct request_model *model_request(struct world *w, const char *workflow_id, const char *kind);
/* Whether somebody asked for a reset of a run of this workflow id. */
bool model_was_reset(const struct model *m, const char *workflow_id);
/* Whether a call other than this request's may have made a run of its workflow id that nobody has met. */
bool model_may_have_unmet(const struct model *m, const struct request_model *than);
/* Whether a reset may have put a run in the place of this one that does not know the request which made it: a
 * copy of a run of another start. Copies of its own chain know the request. */
bool model_may_be_displaced(const struct model *m, const struct run_model *run);
/* Whether somebody asked for the end of the run, of one that follows it, or of a copy: nobody may be left
 * then who knows the request that made it. */
bool model_may_be_forgotten(const struct model *m, const struct run_model *run);
struct request_model *model_find_request(const struct model *m, struct str id);
struct letter_model *model_letter(struct model *m, const char *id); /* finds or adds */
void model_add_holder(struct request_model *signal, struct run_model *run);
bool model_is_holder(const struct request_model *signal, const struct run_model *run);
struct child_model *model_find_child(const struct run_model *parent, int64_t initiated_event_id);
void model_add_signal(struct run_model *run, struct request_model *signal);
void model_expect_deletion(struct run_model *run, int64_t wall_us); /* somebody asks for it now */
/* Grows a vector so that it holds one more. */
void *model_grow(void *items, size_t count, size_t *cap, size_t item_size);
