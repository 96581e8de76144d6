/* The small messages that requests are made of, in an arena. Running out of it ends the simulation. */
#pragma once

#include "base/arena.h"
#include "base/rng.h"
#include "workflowservice.pb-c.h"

/* A message of this type, with protobuf's defaults. */
#define MAKE(a, Type, init)                                                                                  \
    __extension__({                                                                                          \
        Type *made_ = arena_new(a, Type);                                                                    \
        ensure(made_);                                                                                       \
        init(made_);                                                                                         \
        made_;                                                                                               \
    })

char *make_text(struct arena *a, const char *fmt, ...) printf_like(2, 3);
/* The world writes "namespace/id" where the API has two fields. */
char *make_namespace(struct arena *a, const char *workflow_id);
char *make_workflow_id(struct arena *a, const char *workflow_id);
/* One payload with the text; when padding is not 0, a second one of so many bytes. */
Common__Payloads *make_payloads(struct arena *a, const char *text);
Common__Payloads *make_padded_payloads(struct arena *a, const char *text, size_t padding);
Common__WorkflowExecution *make_execution(struct arena *a, const char *workflow_id, const char *run_id);
Google__Protobuf__Duration *make_duration(struct arena *a, int64_t us);
Taskqueue__TaskQueue *make_queue(struct arena *a, const char *name, const char *sticky_for);
Failure__Failure *make_failure(struct arena *a, const char *text, bool non_retryable);
ProtobufCBinaryData make_bytes(struct arena *a, ProtobufCBinaryData from);
Common__RetryPolicy *make_retry(struct arena *a, struct rng *r);
Common__RetryPolicy *make_run_retry(struct arena *a, struct rng *r); /* one that comes to an end */
