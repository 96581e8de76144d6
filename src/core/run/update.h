/* Updates: requests that a workflow answers, and that stand in its history once it has accepted them.
 *
 * Before that an update lives in the engine's memory and rides to a worker as a
 * message on a workflow task. The worker's completion brings messages back:
 * Acceptance and Response become events and state here, a Rejection leaves no
 * trace. A message that does not fit fails the workflow task. */
#pragma once

#include "core/step/step.h"
#include "protocol.pb-c.h"
#include "update.pb-c.h"

enum update_verdict { UPDATE_UNANSWERED, UPDATE_ACCEPTED, UPDATE_REJECTED };

/* An update in memory, handed to the step of a completion. */
struct update_offer {
    const char *id;
    Update__Request *request;
    bool is_sent; /* the worker that answers has got it */
    enum update_verdict verdict; /* what the step found */
    const Failure__Failure *rejection; /* in the step's arena; for UPDATE_REJECTED */
};

/* The messages of one completion, each to be applied once. */
struct update_inbox {
    Protocol__Message **messages;
    size_t count;
    bool *is_applied;
};

/* Found in the history, by a worker's acceptance or by a reset. */
State__Update *update_find(const State__Execution *st, const char *id);
/* An update of the run that a reset copied: it stands in the history now, and a worker can accept it. */
void update_readmit(struct step *s, Update__Request *request);
size_t update_open_count(const State__Execution *st); /* in the history, not completed */
bool update_is_rejection(const Protocol__Message *m);
/* Whether an update is left that the worker which completes a task has not seen. */
bool update_is_waiting(const struct step *s);

int update_inbox_init(struct step *s, struct update_inbox *in, Protocol__Message **messages,
                      size_t count) must_check;
/* The message that a command puts in its place. */
int update_apply_named(struct step *s, struct update_inbox *in, const char *message_id) must_check;
/* Those that no command named. When the run has just closed only rejections are left to be heard. */
int update_apply_rest(struct step *s, struct update_inbox *in) must_check;
