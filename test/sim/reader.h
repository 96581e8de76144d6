/* Reading a run from outside: describe, history in pages, the long poll for its end.
 *
 * A reading goes on until it has what it wants or its tries are used up; the
 * answers are checked on the way (checker.c), the reading as a whole at its
 * end. `done` runs once; the reading is freed after it. */
#pragma once

#include "world.h"

enum reading_kind {
    READING_DESCRIBE,
    READING_HISTORY,
    READING_REVERSE, /* the history from its end */
    READING_TAIL, /* the history, waiting for more until the run is closed, or for a few pages */
    READING_CLOSE, /* waits for the end of the run, 20 s at a time, a few times */
    READING_AUDIT, /* describe, then the history to its end, then all promises */
};

struct reading {
    struct world *w;
    struct run_model *run;
    enum reading_kind kind;
    unsigned tries_left;
    int64_t began_us; /* the first call of the chain */
    bool is_settled; /* describe saw no started workflow task */
    bool was_superseded; /* when the reading of the history began */
    size_t known_events; /* then */
    unsigned pages_left; /* READING_TAIL, READING_CLOSE */
    int64_t empty_sent_us; /* the last long poll that came back empty: sent, answered */
    int64_t empty_back_us;
    int64_t next_id; /* that the next page must begin with */
    bool is_complete; /* got what it wanted */
    struct rpc *rpc;
    struct happening again;
    struct reading **place; /* the owner's pointer to it, cleared at the end; may be NULL */
    void *owner;
    void (*done)(struct reading *g);
};

struct reading *reading_new(struct world *w, struct run_model *run, enum reading_kind kind, unsigned tries,
                            void *owner, void (*done)(struct reading *g));
void reading_drop(struct reading *g); /* NULL is fine */
