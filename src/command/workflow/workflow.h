/* Functions that the commands for workflows, activities and task queues share. */
#pragma once

#include "command/command_int.h"
#include "command/output/output.h"

/* batch.c: starts a batch job that does the command to everything that --query finds. */
enum command_exit batch_run(struct command *c, struct buf *out);

/* reset.c: the options of a reset, as fields below `path` of a request: "" or "reset_operation.options.".
 * ERR_INVALID, ERR_NO_MEMORY. */
int reset_exclude(struct command *c, ProtobufCMessage *m, const char *path, struct err *reterr) must_check;
int reset_target(struct command *c, ProtobufCMessage *m, struct err *reterr) must_check;

/* start.c: makes the start that c->request asks for. When the workflow runs already, *ret names that run,
 * unless
 * --fail-existing is given. */
enum command_exit start_workflow(struct command *c, ProtobufCMessage **ret);

/* outcome.c: appends the message of a failure and of its causes, in one line. */
void outcome_add_failure(struct buf *out, const ProtobufCMessage *failure);
/* Adds the result that the closing event of a run has, and in JSON the event itself. */
void outcome_add_close(struct object *o, const ProtobufCMessage *close_event);
/* Appends why the run failed or was terminated; nothing for other events. */
void outcome_add_reason(struct buf *out, const ProtobufCMessage *close_event);

/* queue.c: false when the server says that no worker polls the task queue. `type` is a TASK_QUEUE_TYPE_
 * value. */
bool queue_is_polled(struct command *c, const char *name, int type);
