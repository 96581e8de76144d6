/* Field rules that many requests share. Each returns 0 or ERR_INVALID with the text that clients know. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/err.h"
#include "common.pb-c.h"
#include "taskqueue.pb-c.h"

int validate_id(const char *value, const char *name, struct err *err) must_check; /* may be empty */
int validate_required(const char *value, const char *name,
                      struct err *err) must_check; /* "<name> is not set on request." */
int validate_execution(const Common__WorkflowExecution *e, struct err *err) must_check; /* run id optional */
#define RESERVED_QUEUE_PREFIX "/_sys/"
int validate_task_queue(const Taskqueue__TaskQueue *q, struct err *err) must_check;
int validate_priority(const Common__Priority *p, struct err *err) must_check; /* NULL is valid */
/* Whether the path of a field mask is this name, which has no underscores: clients write either case. */
bool mask_path_is(const char *path, const char *name);
/* What fields.def says about the fields of this request. */
int validate_fields(const ProtobufCMessage *m, struct err *err) must_check;
