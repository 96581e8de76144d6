/* What the tests of core share: one run, a clock that the test moves, and its history as one line of text.
 *
 *   cleanup(core_done) struct core f;
 *   core_init(&f);
 *   CHECK_INT(core_start(&f), 0);
 *   CHECK_STR(core_new(&f), "RUN_STARTED@1 TASK_SCHEDULED@2");
 *
 * STEP() runs one step function on f.s and keeps or undoes it as the engine does: after success the
 * state is packed and unpacked again, so every test also shows that the image holds all of it; after
 * an error the last image comes back. Pointers into f.st do not outlive a step.
 *
 * Without memory (--torture) every call fails and does nothing. */
#pragma once

#include "core/activity/activity.h"
#include "core/run/command.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "harness.h"

#define CORE_COMMANDS_MAX 64
#define CORE_T0 (INT64_C(1700000000) * USEC_PER_SEC)

struct core {
    struct arena arena;
    struct rng rng;
    struct err err;
    int64_t now_us;
    struct core_limits limits;
    State__Execution *st; /* NULL: there is no run, or no memory for it */
    bool is_out_of_memory; /* from then on the test only goes through the motions */
    struct buf image;
    struct step_context ctx; /* of every step */
    struct step s; /* the current or the last step; its effects stay readable */
    struct completion done; /* of the last core_complete() */

    struct buf events; /* everything written, packed */
    struct buf text; /* what core_new() shows */
    struct buf scratch;

    Ws__StartWorkflowExecutionRequest start;
    Ws__RespondWorkflowTaskCompletedRequest completion; /* cleared by core_complete() */
    Command__Command *commands[CORE_COMMANDS_MAX];
};

void core_init(struct core *f);
void core_done(struct core *f);

bool core_begin(struct core *f);
int core_end(struct core *f, int rc);
/* expr calls a step function on &(f)->s. */
#define STEP(f, expr) (core_begin(f) ? core_end((f), (expr)) : ERR_NO_MEMORY)
/* The same for step functions that cannot fail by themselves. */
#define STEP_VOID(f, expr) (core_begin(f) ? ((expr), core_end((f), 0)) : ERR_NO_MEMORY)

/* what happens to the run */

int core_start(struct core *f); /* f->start: workflow "wf" of type "Type" on queue "queue" */
void core_advance(struct core *f, int64_t us); /* only the clock */
int core_tick(struct core *f); /* does what is due */
int core_pick(struct core *f); /* a worker takes the workflow task from the queue that it is on */
int core_pick_from(struct core *f, bool from_sticky);
State__TaskToken core_token(const struct core *f); /* of the task that is with a worker */
int core_complete(struct core *f); /* f->completion with the added commands, and the right token */
int core_fail_task(struct core *f); /* by the worker's own wish */
int core_signal(struct core *f, const char *name);
int core_cancel(struct core *f);
int core_terminate(struct core *f);
int core_begin_run(struct core *f); /* start, pick */
int core_begin_activity(struct core *f, const char *id); /* start, pick, schedule it; task pending no more */

int core_activity_start(struct core *f, int64_t scheduled_event_id);
int core_activity_complete(struct core *f, int64_t scheduled_event_id);
int core_activity_fail(struct core *f, int64_t scheduled_event_id, Failure__Failure *failure);
int core_activity_cancel(struct core *f, int64_t scheduled_event_id);

/* commands of the next completion; attributes to be changed as the test likes */

Command__ScheduleActivityTaskCommandAttributes *core_add_activity(struct core *f, const char *id);
Command__StartTimerCommandAttributes *core_add_timer(struct core *f, const char *id, int64_t us);
void core_add_cancel_timer(struct core *f, const char *id);
void core_add_cancel_activity(struct core *f, int64_t scheduled_event_id);
void core_add_complete(struct core *f);
Command__FailWorkflowExecutionCommandAttributes *core_add_fail(struct core *f);
void core_add_cancel(struct core *f);
Command__RecordMarkerCommandAttributes *core_add_marker(struct core *f, const char *name);
Command__Command *core_add(struct core *f, E__CommandType type);
void core_set_sticky(struct core *f, const char *queue, int64_t timeout_us); /* on f->completion */

/* pieces, in the arena */

char *core_text(struct core *f, const char *text);
Google__Protobuf__Duration *core_duration(struct core *f, int64_t us);
Common__Payloads *core_payloads(struct core *f, const char *text);
Common__Payload *core_payload(struct core *f, const char *encoding, const char *data);
Failure__Failure *core_failure(struct core *f, const char *type); /* an application failure */
Taskqueue__TaskQueue *core_queue(struct core *f, const char *name);

/* looking */

const char *core_new(struct core *f); /* "RUN_STARTED@1 TASK_SCHEDULED@2" since the last call; "" */
const char *core_effects(struct core *f); /* "TASK@2 ACTIVITY@5 CLOSED" of the last step */
const History__HistoryEvent *core_event(struct core *f, int64_t id); /* NULL: not written */
const void *core_attributes(struct core *f, int64_t id, E__EventType type); /* NULL: not of this type */
int64_t core_event_us(struct core *f, int64_t id);
const State__Activity *core_activity(const struct core *f, int64_t scheduled_event_id);
