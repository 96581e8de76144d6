/* A simulated world: one server, its clients and workers, a clock, one source of chance.
 *
 * One thread. Everything that will happen is a happening on the agenda, a
 * waiting store operation, or a deadline of the engine; each step takes one of
 * them, chosen by the seed. The world ends with a calm phase: no more faults,
 * nothing new is started, and whatever is open must come to its end. */
#pragma once

#include "agenda.h"
#include "base/clock.h"
#include "base/rng.h"
#include "model.h"
#include "profile.h"
#include "server.h"
#include "trace.h"

struct auditor;
struct batcher;
struct callback_desk;
struct client;
struct keeper;
struct rollout;
struct survey;
struct worker;
struct zoneinfo;

struct tally {
#define TALLY(field, label) uint64_t field;
#include "tally.def"
#undef TALLY
    uint64_t faults[FAULT_COUNT];
};

struct failure {
    bool is_set;
    const char *check;
    char detail[512];
};

/* By the calendar clock. */
struct moments {
    int64_t *at_us;
    size_t count;
    size_t cap;
};

struct world_config {
    uint64_t seed;
    uint64_t steps; /* before the calm phase */
    int64_t sim_us; /* the same by the clock; 0: steps count */
    const char *profile;
    bool trace;
};

struct world {
    struct world_config cfg;
    struct rng rng;
    struct profile profile;
    struct now now;
    int64_t wall_latest_us; /* the latest wall time so far; jumps may lead back */
    int64_t wall_earliest_us;
    struct heap agenda;
    uint64_t step;
    uint64_t idle_turns; /* engine wake-ups in a row at one moment */
    bool is_calm;
    int64_t calm_us; /* since when */
    int64_t store_stalled_until_us;
    struct trace trace;
    struct tally tally;
    struct failure failure;
    struct server server;
    struct model model;
    struct client *clients;
    struct keeper *keepers;
    struct batcher *batchers;
    struct rollout *rollout;
    struct worker *workers;
    struct auditor *auditor;
    struct callback_desk *callbacks;
    struct survey *survey;
    uint64_t next_id;
    struct moments troubles; /* the server went down or came back, or its disk stood still */
    struct moments births; /* a process began; it serves a little later, when it has read its disk */
    struct zoneinfo *zoneinfo;
};

int world_new(const struct world_config *cfg,
              struct world **ret) must_check; /* ERR_NOT_FOUND: no such profile */
/* Runs to the end or to the first failed check; true when all checks held. */
bool world_run(struct world *w);
void world_free(struct world *w);

void world_at(struct world *w, struct happening *h, int64_t delay_us);
void world_not(struct world *w, struct happening *h); /* takes it off the agenda, if it is there */
/* Whether this fault happens now; counted when it does. */
bool world_fault(struct world *w, enum fault f);
/* Whether the calendar clock has ever jumped: then times of two events cannot be compared. */
bool world_clock_jumped(const struct world *w);
int64_t world_clock_span_us(const struct world *w); /* from the earliest to the latest that it ever showed */
void world_note_trouble(struct world *w);
bool world_was_troubled(const struct world *w, int64_t from_us, int64_t to_us);
void world_note_birth(struct world *w);
/* Whether the process that was there at until_us began after from_us. */
bool world_was_reborn(const struct world *w, int64_t from_us, int64_t until_us);
/* A delay between min and max, in microseconds, more often short than long. */
int64_t world_delay(struct world *w, int64_t min_us, int64_t max_us);
/* The same for somebody outside who has nothing to do until then: longer where years pass. */
int64_t world_leisure(struct world *w, int64_t max_us);
/* It happens now if it was waiting for that, as after a long leisure. */
void world_hurry(struct world *w, struct happening *h);
/* Remembers the first failure; the world stops at the end of the step. */
void world_fail(struct world *w, const char *check, const char *fmt, ...) printf_like(3, 4);
