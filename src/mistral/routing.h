/* Which task queue a workflow runs on. A deployment of the dialect is the task queue of that name. */
#pragma once

#include "mistral/dialog.h"

/* In the dialog's arena. */
struct routing {
    struct str workflow; /* the type; found when a registration is given */
    struct str queue; /* empty: to be found */
    struct str registration; /* the id of a registration; empty: workflow is given */
    dialog_step *found; /* the next step */
};

/* Goes on with r->found when workflow and queue are known; otherwise ends the dialog with an error that says
 * what to do. x->routing is r from now on. */
void routing_find(struct dialog *x, struct routing *r);
/* Asks for the task queues in use: Rondo__ListTaskQueuesResponse. */
void routing_ask_queues(struct dialog *x, dialog_step *next);
/* The id of a registration, "type@queue"; NULL when memory is short. */
char *routing_registration_id(struct arena *a, const char *workflow, const char *queue);
