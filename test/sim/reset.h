/* Resets: a run that shares the beginning of another and takes the place of the current one. */
#pragma once

#include "history.pb-c.h"
#include "model.h"

struct rpc;
struct world;

void reset_on_ok(struct rpc *r);
void reset_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);
/* What can be said when the whole history of every run is known. */
void reset_check_all(struct world *w);
