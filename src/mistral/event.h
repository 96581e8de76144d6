/* Events of a history, as the dialect streams them. */
#pragma once

#include "history.pb-c.h"
#include "mistral/dialog.h"

/* Facts that the events of one run share, and its open activities. Texts are in the arena x->kept. */
struct event_context {
    char *workflow_id, *run_id; /* set by the owner; event_learn() sets the others */
    char *workflow_name, *root_id, *parent_id, *continued_run_id, *first_run_id, *schedule_id;
    int64_t attempt;
    struct event_activity {
        int64_t scheduled_id; /* 0: this entry is free */
        char *name;
        int64_t attempt;
    } * activities;
    size_t activity_count;
};

/* Updates the context. Must be called for every event of the run, in order, before event_write(). */
void event_learn(struct dialog *x, struct event_context *c, const History__HistoryEvent *e);
/* Appends the event to x->out as one server-sent event; nothing when the dialect has no such event. */
void event_write(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e);
/* Removes the activity that the event closes. To be called after event_write(). */
void event_forget(struct event_context *c, const History__HistoryEvent *e);
/* Reads the id of an event in the stream, "run id:event id". Returns false when it is not one. */
bool event_id_parse(struct str text, struct str *ret_run_id, int64_t *ret_event_id);
