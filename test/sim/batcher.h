/* Batchers: clients that do one thing to many runs, by batch jobs.
 *
 * There is one for each namespace, which has one job at a time: it starts the job, looks how it comes on, and
 * stops it now and then. The model remembers what a job was asked for; what it did is in the histories of its
 * targets. */
#pragma once

#include "history.pb-c.h"
#include "world.h"

struct batcher *batchers_new(struct world *w);
void batchers_free(struct world *w);
void batchers_rest(struct world *w); /* no new jobs */
bool batchers_are_done(const struct world *w);
/* Whether this signal came from a job: then it is noted. */
bool batchers_note_signal(struct world *w, struct run_model *run, const char *id,
                          const History__HistoryEvent *e);
/* When every history is known: what each job did, and whether it was all. */
void batchers_check_all(struct world *w);
