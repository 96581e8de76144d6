/* One step of a run: (state, input, now) -> (new state, events, effects).
 *
 * A step function takes a struct step, changes step->st in place, appends
 * events and effects, and returns 0; or it returns ERR_* with err filled.
 * After an error, or when step_failed() is true, the caller throws the changed
 * state away and decodes the last image again: nothing has happened.
 *
 * Nothing here reads a clock, a socket or a file. `now` and `rng` are handed
 * in, so the same inputs give the same bytes. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "core/limits.h"
#include "core/pb.h"
#include "history.pb-c.h"
#include "names.h"
#include "state.pb-c.h"

enum effect_kind {
    EFFECT_WORKFLOW_TASK, /* the run's workflow task wants a worker */
    EFFECT_ACTIVITY_TASK, /* the activity `event_id` wants a worker */
    EFFECT_CLOSED, /* the run is closed: whoever waits for it should look */
    EFFECT_LETTER, /* the letter `event_id` of the outbox wants to be delivered */
};

struct effect {
    enum effect_kind kind;
    int64_t event_id;
};

/* What an operator may set, beside the constants of limits.def. */
struct core_limits {
    size_t blob_bytes_max; /* one payload set; 0: LIMIT_BLOB_BYTES */
    bool is_eager_activity_off;
};

#define STEP_EFFECTS_MAX 4096 /* more than one completion can cause: pending limits are below it */

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
    const struct version_book *versions; /* NULL: there are none */
    /* The run's first event, for steps that may start its next run; NULL when it has no retry and no cron. */
    const History__WorkflowExecutionStartedEventAttributes *origin;
    /* The updates that wait in memory, for a completion, which leaves its verdicts in them (core/update.h).
     */
    struct update_offer *updates;
    size_t update_count;
};

struct step {
    State__Execution *st;
    struct step_context ctx;
    struct step *next; /* the run that follows in the chain, begun by this step; its st is on the heap */
    struct wall now;
    struct rng *rng;
    struct arena *arena; /* scratch that outlives the step until its reply is sent */
    struct err *err;
    const struct core_limits *limits; /* NULL: the defaults */

    struct buf events; /* History.events entries, packed */
    int64_t first_event_id; /* of `events`; 0 when there are none */
    struct effect *effects; /* in the arena */
    size_t effect_count;
    size_t effect_cap;
    bool failed; /* memory ran out somewhere */

    /* Set when a completion is refused in a way that must fail the workflow task. */
    E__WorkflowTaskFailedCause task_failed_cause;
};

void step_init(struct step *s, State__Execution *st, struct wall now, struct rng *rng, struct arena *arena,
               struct err *err);
void step_done(struct step *s);
static inline bool step_failed(const struct step *s) {
    return s->failed || !buf_ok(&s->events);
}

static inline size_t step_blob_bytes_max(const struct step *s) {
    return s->limits && s->limits->blob_bytes_max ? s->limits->blob_bytes_max : LIMIT_BLOB_BYTES;
}

void step_effect(struct step *s, enum effect_kind kind, int64_t event_id);

/* What an event may carry beside its attributes. */
struct event_extra {
    const Sdk__UserMetadata *user_metadata;
    Common__Link **links;
    size_t link_count;
    int64_t time_us; /* 0: now */
    bool worker_may_ignore; /* says nothing to workflow code: older workers may pass over it */
};

/* Writes the event, or buffers it while a task is with a worker. Returns its id, 0 when buffered. */
int64_t step_event(struct step *s, E__EventType type, void *attributes, const struct event_extra *extra);
/* Gives ids to the buffered events and writes them. True when there were any. */
bool step_flush_buffered(struct step *s);
/* Removes a buffered TimerFired of that timer and tells which event had started it; false when there is none.
 */
bool step_drop_buffered_timer(struct step *s, const char *timer_id, int64_t *ret_started_event_id);
/* Whether a buffered event ends the activity that was scheduled by this event. */
bool step_has_buffered_finish(struct step *s, int64_t scheduled_event_id);
