/* Which task queue a workflow runs on: a deployment of the dialect is a task queue of that name. */
#pragma once

#include "mistral/dialog.h"

struct routing {
    struct str workflow; /* the type */
    struct str queue; /* what was asked for, or found */
    struct str registration; /* instead of a type: its id */
    dialog_step *found;
};

/* Goes on with r->found when workflow and queue are known; otherwise ends the dialog with an error that
 * says what to do. r is in the dialog's arena and stays x->routing's value. */
void routing_find(struct dialog *x, struct routing *r);
/* Asks which task queues there are; Rondo__ListTaskQueuesResponse. */
void ask_queues(struct dialog *x, bool only_polled, dialog_step *next);
/* "type@queue", as the list of registrations has it. */
char *registration_id(struct arena *a, const char *workflow, const char *queue);
