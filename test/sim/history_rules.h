/* The rules that every history must keep, whatever the faults were. */
#pragma once

#include "history.pb-c.h"
#include "model.h"

struct world;

/* The event that follows the known ones: checked, and noted in the run. */
void history_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);

bool event_closes_run(int32_t event_type);

/* The text in the first payload; cut to fit. */
void payload_text(const Common__Payloads *p, char *ret, size_t size);
