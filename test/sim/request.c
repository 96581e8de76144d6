/* See request.h. Every string is copied: requests outlive what they were made from. */
#include "request.h"

#include <stdio.h>

#include "base/clock.h"
#include "names.h"

char *make_text(struct arena *a, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    char *copy = arena_strdup(a, text);
    ensure(copy);
    return copy;
}

ProtobufCBinaryData make_bytes(struct arena *a, ProtobufCBinaryData from) {
    ProtobufCBinaryData copy = {.len = from.len, .data = NULL};
    if (from.len > 0) {
        copy.data = arena_dup(a, from.data, from.len);
        ensure(copy.data);
    }
    return copy;
}

char *make_namespace(struct arena *a, const char *workflow_id) {
    const char *slash = strchr(workflow_id, '/');
    ensure(slash);
    return make_text(a, "%.*s", (int)(slash - workflow_id), workflow_id);
}

char *make_workflow_id(struct arena *a, const char *workflow_id) {
    const char *slash = strchr(workflow_id, '/');
    ensure(slash);
    return make_text(a, "%s", slash + 1);
}

Common__Payloads *make_payloads(struct arena *a, const char *text) {
    return make_padded_payloads(a, text, 0);
}

Common__Payloads *make_padded_payloads(struct arena *a, const char *text, size_t padding) {
    Common__Payload *payload = MAKE(a, Common__Payload, common__payload__init);
    payload->data = make_bytes(
        a, (ProtobufCBinaryData){.len = strlen(text), .data = (uint8_t *)make_text(a, "%s", text)});
    Common__Payloads *payloads = MAKE(a, Common__Payloads, common__payloads__init);
    payloads->payloads = arena_array(a, Common__Payload *, 2);
    ensure(payloads->payloads);
    payloads->payloads[payloads->n_payloads++] = payload;
    if (padding > 0) {
        payload = MAKE(a, Common__Payload, common__payload__init);
        payload->data = (ProtobufCBinaryData){.len = padding, .data = arena_zalloc(a, padding)};
        ensure(payload->data.data);
        payloads->payloads[payloads->n_payloads++] = payload;
    }
    return payloads;
}

Common__WorkflowExecution *make_execution(struct arena *a, const char *workflow_id, const char *run_id) {
    Common__WorkflowExecution *execution =
        MAKE(a, Common__WorkflowExecution, common__workflow_execution__init);
    execution->workflow_id = make_workflow_id(a, workflow_id);
    if (run_id)
        execution->run_id = make_text(a, "%s", run_id);
    return execution;
}

Google__Protobuf__Duration *make_duration(struct arena *a, int64_t us) {
    Google__Protobuf__Duration *d = MAKE(a, Google__Protobuf__Duration, google__protobuf__duration__init);
    d->seconds = us / USEC_PER_SEC;
    d->nanos = (int32_t)(us % USEC_PER_SEC) * NSEC_PER_USEC;
    return d;
}

Taskqueue__TaskQueue *make_queue(struct arena *a, const char *name, const char *sticky_for) {
    Taskqueue__TaskQueue *queue = MAKE(a, Taskqueue__TaskQueue, taskqueue__task_queue__init);
    queue->name = make_text(a, "%s", name);
    queue->kind = sticky_for ? TASK_QUEUE_KIND_STICKY : TASK_QUEUE_KIND_NORMAL;
    if (sticky_for)
        queue->normal_name = make_text(a, "%s", sticky_for);
    return queue;
}

Failure__Failure *make_failure(struct arena *a, const char *text, bool non_retryable) {
    Failure__Failure *failure = MAKE(a, Failure__Failure, failure__failure__init);
    failure->message = make_text(a, "%s", text);
    failure->failure_info_case = FAILURE__FAILURE__FAILURE_INFO_APPLICATION_FAILURE_INFO;
    failure->application_failure_info =
        MAKE(a, Failure__ApplicationFailureInfo, failure__application_failure_info__init);
    failure->application_failure_info->type = make_text(a, "SimulatedFailure");
    failure->application_failure_info->non_retryable = non_retryable;
    return failure;
}

Common__RetryPolicy *make_retry(struct arena *a, struct rng *r) {
    Common__RetryPolicy *policy = MAKE(a, Common__RetryPolicy, common__retry_policy__init);
    policy->initial_interval = make_duration(a, (50 + (int64_t)rng_below(r, 1000)) * USEC_PER_MS);
    policy->backoff_coefficient = 2.0;
    policy->maximum_attempts = rng_chance(r, 2) ? 0 : 1 + (int32_t)rng_below(r, 5);
    return policy;
}

Common__RetryPolicy *make_run_retry(struct arena *a, struct rng *r) {
    Common__RetryPolicy *policy = make_retry(a, r);
    policy->maximum_attempts = 2 + (int32_t)rng_below(r, 3);
    return policy;
}
