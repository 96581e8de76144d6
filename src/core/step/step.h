/* One step of a run: (state, input, now) -> (new state, events, effects).
 *
 * A step function takes a struct step, changes step->st in place, appends
 * events and effects, and returns 0; or it returns ERR_* with err filled.
 * After an error, or when step_failed() is true, the caller throws the changed
 * state away and decodes the last image again: nothing has happened.
 *
 * The events of a completion stand in this order: the task's end, one event for each command and message in
 * their order, and only then what the server adds by itself (an activity that was cancelled before it
 * began, what arrived meanwhile). SDKs count on it: they know the id of the event that each command will
 * make. So whoever handles commands sets holds_events, and whatever an event is (events.def), it waits.
 *
 * Nothing here reads a clock, a socket or a file. `now` and `rng` are handed
 * in, so the same inputs give the same bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/rng.h"
#include "command.pb-c.h"
#include "core/step/limits.h"
#include "core/step/pb.h"
#include "history.pb-c.h"
#include "names.h"
#include "state.pb-c.h"

enum effect_kind {
    EFFECT_WORKFLOW_TASK, /* the run's workflow task wants a worker */
    EFFECT_ACTIVITY_TASK, /* the activity `event_id` wants a worker */
    EFFECT_CLOSED, /* the run is closed: whoever waits for it should look */
    EFFECT_CALLBACK, /* the callback with the number `event_id` wants to be sent */
    EFFECT_LETTER, /* the letter `event_id` of the outbox wants to be delivered */
};

struct effect {
    enum effect_kind kind;
    int64_t event_id;
};

/* What someone should know who looks after the server: engine logs it. */
enum notice_kind { NOTICE_PAYLOAD_LARGE, NOTICE_HISTORY_LONG, NOTICE_HISTORY_LARGE, NOTICE_COUNT };

struct notice {
    enum notice_kind kind;
    const char *what; /* of a payload: where it stood; a constant */
    int64_t size; /* bytes, or events of a long history */
};

#define STEP_NOTICES_MAX 4 /* of one step; more say nothing new */
/* What became of a schedule as a whole: engine logs it when it is on disk. */
enum schedule_turn {
    SCHEDULE_TURN_PAUSED, /* because an action failed; workflow_id and run_id are those of the action */
    SCHEDULE_TURN_EXHAUSTED, /* the last of its actions has begun */
    SCHEDULE_TURN_UNREADABLE, /* its times cannot be worked out any more */
    SCHEDULE_TURN_ENDED, /* by itself */
    SCHEDULE_TURN_DELETED,
};

struct schedule_news {
    enum schedule_turn turn;
    const char *reason; /* these three: constants, or in the arena; none of them is NULL */
    const char *workflow_id;
    const char *run_id;
};

#define STEP_NEWS_MAX 8 /* a step takes each turn once, or twice */

/* How the workflow task of this step failed, for those who count. What is no fault of a worker is none: a
 * signal that came in between, a reset, a sticky queue without a worker. */
enum task_failure {
    TASK_FAILURE_NONE,
    TASK_FAILURE_REPORTED,
    TASK_FAILURE_NONDETERMINISM,
    TASK_FAILURE_TIMEOUT
};

#define STEP_EFFECTS_MAX (1 << 20) /* each has a command, an event or something pending behind it */

struct update_offer;

struct cal_zones;

/* The worker versions of a namespace, as far as a step may ask about them. */
struct version_book {
    /* Whether workers of this version take workflow tasks from this queue. */
    bool (*has_queue)(const struct version_book *b, const char *deployment, const char *build_id,
                      const char *queue);
};

/* What a step may look up beside the state. */
struct step_context {
    const State__Namespace *space;
    const char *namespace_name; /* that of space; "" without one */
    const char *identity; /* of the worker whose answer this is */
    const struct cal_zones *zones; /* for cron schedules; NULL: only UTC is known */
    int64_t active_us; /* since when this server runs */
    const struct version_book *versions; /* NULL: there are none */
    /* The run's first event, for steps that may start its next run; NULL when it has no retry and no cron. */
    const History__WorkflowExecutionStartedEventAttributes *origin;
    /* The updates that wait in memory, for a completion, which leaves its verdicts in them (core/run/update.h).
     */
    struct update_offer *updates;
    size_t update_count;
    size_t state_bytes; /* of the state before this step */
};

/* A row of a schedule's ledger, to be written or written over. */
struct ledger_row {
    int64_t id;
    int64_t nominal_s;
    int32_t fate; /* Rondo__LedgerFate */
    struct str bytes; /* Rondo__LedgerEntry, packed; in the arena */
    int64_t last_nominal_s; /* of several in one row; 0: there is one */
    int64_t new_times; /* that came to this fate by this step; 0: the row said so before */
    bool is_open; /* the action waits or runs: the row is kept until it ends */
    bool is_retry; /* it could not be started and is tried again */
    int64_t lateness_us; /* of an action of the spec that started by this step, or CLOCK_NEVER */
};

struct step {
    State__Execution *st;
    struct step_context ctx;
    struct step *next; /* the run that follows in the chain, begun by this step; its st is on the heap */
    struct wall now;
    struct wall judged; /* deadlines up to here are judged; not after now */
    struct rng *rng;
    struct arena *arena; /* scratch that outlives the step until its reply is sent */
    struct err *err;
    const struct core_limits *limits; /* NULL: the defaults */

    struct buf events; /* History.events entries, packed */
    int64_t first_event_id; /* of `events`; 0 when there are none */
    struct effect *effects; /* in the arena */
    size_t effect_count;
    size_t effect_cap;
    struct ledger_row *ledger; /* in the arena */
    size_t ledger_count;
    size_t ledger_cap;
    int64_t ledger_low_id, ledger_high_id; /* of its rows */
    int64_t ledger_first_id; /* rows before this one are removed; 0: none */
    int64_t ledger_before_us; /* and those that were considered before; 0: none */
    struct map timers; /* by their ids, once timer.c has looked for many */
    unsigned timer_looks;
    /* Events that neither a command nor the task itself makes wait in the state, as they do while a worker
     * has the task, until the step lets them go. */
    bool holds_events;
    size_t held_count; /* of st->buffered: those that wait for that reason */
    bool failed; /* memory ran out somewhere */
    bool is_sure; /* the caller's: it changes nothing when it is refused (engine_int.h) */

    /* What the first event that the command makes carries of it: user metadata and group markers. */
    const Command__Command *command;
    struct notice notices[STEP_NOTICES_MAX];
    size_t notice_count;
    struct schedule_news news[STEP_NEWS_MAX];
    size_t news_count;
    enum task_failure task_failure;

    /* Set when a completion is refused in a way that must fail the workflow task. */
    E__WorkflowTaskFailedCause task_failed_cause;
    bool is_task_failure_final; /* and end the run: the worker would only ask for the same again */
};

/* Whether an event that was stored has the attributes of its type. */
bool event_fits(const History__HistoryEvent *ev);

void step_init(struct step *s, State__Execution *st, struct wall now, struct rng *rng, struct arena *arena,
               struct err *err);
void step_done(struct step *s);
static inline bool step_failed(const struct step *s) {
    return s->failed || !buf_ok(&s->events);
}

static inline int64_t step_limit(const struct step *s, enum settable which) {
    return limit_of(s->limits, which);
}

void step_effect(struct step *s, enum effect_kind kind, int64_t event_id);
void step_notice(struct step *s, enum notice_kind kind, const char *what, int64_t size);
/* The texts must outlive the step: constants, or in its arena. NULL: "". */
void step_news(struct step *s, enum schedule_turn turn, const char *reason, const char *workflow_id,
               const char *run_id);
/* Whether a message is within the limit; above the other one a notice of it is left. NULL is small. */
bool step_fits(struct step *s, const void *message, const char *what, enum settable limit,
               enum settable warn);
static inline bool step_blob_fits(struct step *s, const void *message, const char *what) {
    return step_fits(s, message, what, SETTABLE_BLOB_BYTES, SETTABLE_BLOB_BYTES_WARN);
}

/* What an event may carry beside its attributes. */
struct event_extra {
    const Sdk__UserMetadata *user_metadata;
    Common__Link **links;
    size_t link_count;
    int64_t time_us; /* 0: now */
};

/* Writes the event, or buffers it while a task is with a worker or the step holds events. Returns its id, 0
 * when buffered. */
int64_t step_event(struct step *s, E__EventType type, void *attributes, const struct event_extra *extra);
/* Gives ids to the buffered events and writes them. True when there were any. */
bool step_flush_buffered(struct step *s);
/* Removes a buffered TimerFired of that timer and tells which event had started it; false when there is none.
 */
bool step_drop_buffered_timer(struct step *s, const char *timer_id, int64_t *ret_started_event_id);
/* Whether a buffered event ends the activity that was scheduled by this event. */
bool step_has_buffered_finish(struct step *s, int64_t scheduled_event_id);
