/* An errand: one thing that a client wants done, over as many calls as it takes. */
#pragma once

#include "world.h"

enum errand_kind {
    ERRAND_START,
    ERRAND_SIGNAL,
    ERRAND_CANCEL,
    ERRAND_TERMINATE,
    ERRAND_QUERY,
    ERRAND_RESET,
    ERRAND_DELETE,
    ERRAND_UPDATE,
    ERRAND_SIGNAL_WITH_START,
    ERRAND_UPDATE_WITH_START,
    ERRAND_CONTROL,
    ERRAND_OVERRIDE,
    ERRAND_BAD
};

#define ERRAND_CALLS_MAX 2

struct errand {
    struct world *w;
    enum errand_kind kind;
    const char *workflow_id;
    struct run_model *run; /* NULL: by workflow id only */
    struct request_model *request;
    const char *signal_name;
    bool by_chain; /* cancel, terminate: by the first run's id */
    bool query_fails; /* asks for what the program does not know */
    bool only_open; /* query: to be rejected when the run is closed */
    int control; /* enum control_kind */
    unsigned control_flags;
    uint32_t activity; /* control: which, or CONTROL_RUN */
    int64_t value_us; /* control: a new timeout */
    unsigned tries_left;
    struct rpc *calls[ERRAND_CALLS_MAX]; /* under way at the same time */
    bool is_settled; /* one of them got a definite answer */
    struct happening again;
    struct list link; /* of the owner's errands */
    void *owner;
    void (*done)(struct errand *e); /* may be NULL */
};

struct errand *errand_new(struct world *w, enum errand_kind kind, unsigned tries);
void errand_begin(struct errand *e); /* after its fields are filled */
void errand_drop(struct errand *e);
