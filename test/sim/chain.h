/* Chains: runs that follow one another under one workflow id, by continue-as-new, retry or cron.
 *
 * A closing event that names a next run promises it: that run begins at the same
 * moment, continues exactly this one, and no other does. */
#pragma once

#include "history.pb-c.h"
#include "model.h"

struct world;

void chain_note_start(struct world *w, struct run_model *run, const History__HistoryEvent *e);
void chain_note_close(struct world *w, struct run_model *run, const History__HistoryEvent *e);
/* What can be said when the whole history of every run is known. */
void chain_check_all(struct world *w);
