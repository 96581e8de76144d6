/* Callbacks: whom the server tells how a chain of runs has ended.
 *
 * A callback comes with a start, or with one that is content with the run that is there. It waits (STANDBY)
 * and moves on with the chain. When the last run closes it is SCHEDULED, in the commit of the closing event,
 * and sent afterwards, again after a crash, until it SUCCEEDED or FAILED for good; in between it is
 * BACKING_OFF. What is sent is a Nexus completion: an HTTP request that carries the result, or the failure.
 */
#pragma once

#include "core/message/callback_request.h"
#include "core/step/step.h"

int callback_validate(Common__Callback *const *all, size_t count, const struct core_limits *limits,
                      struct err *err) must_check;
/* The run keeps copies. ERR_INVALID when it would have too many. */
int callback_attach(struct step *s, Common__Callback *const *all, size_t count,
                    const char *request_id) must_check;
/* The next run of the chain takes over those of the one before. */
void callback_inherit(struct step *s, const State__Execution *before);
/* Pointers to those of the run, in the arena, for its started event. NULL when there are none. */
Common__Callback **callback_list(struct step *s);

/* The run has closed. Nothing happens if the chain goes on. */
void callback_trigger(struct step *s);

/* What the other end said to an attempt. */
enum callback_verdict { CALLBACK_DONE, CALLBACK_LATER, CALLBACK_NEVER };
enum callback_verdict callback_judge(int http_status); /* 0: no answer */
void callback_report(struct step *s, size_t index, enum callback_verdict verdict, const char *text);

int64_t callback_due_us(const State__Callback *c);
void callback_retry(struct step *s, size_t index); /* its wait is over */

/* `close` is the closing event. ERR_NO_MEMORY when the arena is full. */
int callback_compose(struct arena *a, const State__Execution *st, const char *namespace_name, size_t index,
                     const History__HistoryEvent *close, struct callback_request *ret) must_check;
