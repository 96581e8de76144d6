/* Events of a history as the dialect streams them. */
#pragma once

#include "history.pb-c.h"
#include "mistral/dialog.h"

/* What the events of one run have in common, and which activities are open. In the arena x->kept. */
struct event_context {
    char *workflow_id, *run_id; /* set by the owner; the rest comes from the run's first event */
    char *workflow_name, *root_id, *parent_id, *continued_run_id, *first_run_id, *schedule_id;
    int64_t attempt;
    struct activity {
        int64_t scheduled_id; /* 0: this place is free */
        char *name;
        int64_t attempt;
    } * activities;
    size_t activity_count;
};

/* Must see every event of the run, in order. */
void event_learn(struct dialog *x, struct event_context *c, const History__HistoryEvent *e);
/* Appends it to x->out as one server-sent event; nothing when the dialect has no word for it. */
void event_write(struct dialog *x, const struct event_context *c, const History__HistoryEvent *e);
void event_forget(struct event_context *c, const History__HistoryEvent *e); /* after it was written */
/* The id of an event in the stream: "run id:number". */
bool event_id_parse(struct str text, struct str *ret_run_id, int64_t *ret_event_id);
