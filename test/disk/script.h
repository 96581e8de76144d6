/* A small life of a server, the same each time: workflows, signals, activities, a schedule, a clean restart,
 * deletion, retention. It runs on the real engine over the real store, one call after the other, so that at
 * each moment it is known what was acknowledged.
 *
 * It ends early when a call is not answered with OK: then something failed below. */
#pragma once

#include "engine_fixture.h"
#include "witness.h"

#define SCRIPT_FACTS_MAX 64
#define SCRIPT_FILE "rondo.db"
#define SCRIPT_PERIOD_S (6 * 3600) /* of its schedule */

enum fact_kind {
    FACT_STARTED, /* the workflow is there */
    FACT_SIGNALLED, /* its history has this signal, once */
    FACT_CLOSED, /* it has ended */
    FACT_GONE, /* it was deleted */
    FACT_EXPIRED, /* its retention is over: whether it is there is not promised */
};

/* What a call was told. */
struct fact {
    enum fact_kind kind;
    char workflow_id[16];
    char signal[16];
    int64_t step; /* the call */
};

struct script {
    struct witness *witness;
    const char *path;
    struct rig rig;
    struct now now;
    int64_t steps; /* answered with OK */
    struct fact facts[SCRIPT_FACTS_MAX];
    size_t fact_count;
    bool is_refused; /* the file could not be opened */
    bool has_failed; /* a call was not answered with OK */
    char text[512]; /* why */
    /* NULL: nobody. The store was opened, the engine was not, and will not be if has_failed is set; a call
     * was answered, or the clock is told. */
    void (*on_open)(struct script *s);
    void (*on_step)(struct script *s);
    void *ctx;
};

/* A script that has not begun. */
void script_init(struct script *s, struct witness *w, const char *path);
void script_run(struct script *s);
/* A life that begins where another ended, at that time: it opens the file, goes on until nothing is left to
 * do, and closes it. */
void script_carry_on(struct script *s, int64_t clock_us);
/* The same, after it has asked for what those calls were told that were answered. Facts of later steps may
 * hold or not. */
void script_audit(struct script *s, int64_t clock_us, const struct script *told, int64_t steps);
