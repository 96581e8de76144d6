/* Batchers: clients that do one thing to many runs, by batch jobs.
 *
 * There is one for each namespace, which has one job at a time: it starts the job, looks how it comes on, and
 * stops it now and then. The model remembers what a job was asked for; what it did is in the histories of its
 * targets. */
#pragma once

#include "history.pb-c.h"
#include "world.h"

struct override_choice;

struct batcher *batchers_new(struct world *w);
void batchers_free(struct world *w);
void batchers_rest(struct world *w); /* no new jobs */
bool batchers_are_done(const struct world *w);
/* Whether this signal came from a job: then it is noted. */
bool batchers_note_signal(struct world *w, struct run_model *run, const char *id,
                          const History__HistoryEvent *e);
/* Whether this override came from a job: then it is noted. */
bool batchers_note_options(struct world *w, struct run_model *run, const char *id,
                           struct override_choice *ret_asked);
/* A copy whose reset has this reason: the request that made it, as if a client had asked for each. NULL: it
 * was no job. */
struct request_model *batchers_note_reset(struct world *w, const char *id, struct run_model *copy,
                                          struct run_model *base);
const struct request_model *batchers_reset_that_ended(struct world *w, const char *id, struct run_model *run);
/* When every history is known: what each job did, and whether it was all. */
void batchers_check_all(struct world *w);
