/* Families: parents and children, and the letters that runs send to one another.
 *
 * A letter is a signal to another run. What its sender's history says about it
 * must be true of the receiver: delivered, and then it is there once; failed,
 * and then it is not. */
#pragma once

#include "history.pb-c.h"
#include "model.h"

struct world;

void family_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e);
/* An event of the run holds this letter. */
void family_note_letter(struct world *w, struct run_model *run, const char *id, int64_t event_id);
/* What must be so when the server was left alone for long and everything that was under way has arrived. */
void family_check_settled(struct world *w, const struct run_model *run);
/* What can be said when the whole history of every run is known. */
void family_check_all(struct world *w);
/* The run that a chain has come to, resets included. */
const struct run_model *family_last_of_chain(const struct run_model *run);
