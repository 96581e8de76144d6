/* The state of a run, made again from its events: what a reset begins with.
 *
 * Only what the events say can come back. Attempts, heartbeats and whatever
 * else lives between events begins anew, and so does the time: the run starts
 * now, with the whole of its timeouts. */
#pragma once

#include "core/step/step.h"

/* Applies the next event to s->st, which is a fresh message before the first one. Writes nothing, and has no
 * effects. */
int rebuild_apply(struct step *s, const History__HistoryEvent *ev) must_check;

/* Who the run is from now on. */
struct rebuild_name {
    const char *run_id;
    const char *request_id;
    const char *origin_request_id;
    int64_t task_id; /* new events have greater ones */
};
/* After the last event: what is pending then is offered. */
void rebuild_finish(struct step *s, const struct rebuild_name *name);
