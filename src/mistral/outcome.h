/* How an execution ended. */
#pragma once

#include "history.pb-c.h"
#include "mistral/dialog.h"

/* Pointers are into the dialog's arenas. `close` is valid until the second dialog_next_arena() after it. */
struct outcome {
    const char *workflow_id;
    const char *run_id; /* empty: the current run */
    bool waits; /* until the last run of the chain closes, or until x->deadline */
    dialog_step *found; /* the next step */
    const History__HistoryEvent *close; /* NULL: the execution is still open */
};
/* Finds the close event and goes on with o->found; an error ends the dialog. x->outcome is o from now on. */
void outcome_find(struct dialog *x, struct outcome *o);
const Common__Payloads *outcome_result(const struct outcome *o); /* NULL when it did not complete */
/* A sentence for a close event other than "completed"; static or in the arena. */
const char *outcome_text(struct arena *a, const struct outcome *o);
