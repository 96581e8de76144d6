/* The messages of a client, as small and as complete as an SDK's: ids, a request id, one JSON payload.
 *
 * Each fills a struct that lives as long as the frame of its caller. */
#pragma once

#include "client/client.h"
#include "workflowservice.pb-c.h"

#define ID_MAX 64
#define QUEUE_NAME "bench"
#define INPUT_TEXT                                                                                           \
    "{\"order\":12345,\"customer\":\"someone@example.com\",\"items\":[1,2,3],\"express\":false}"

/* A payload as the SDKs' JSON converter makes it. */
struct payloads {
    Common__Payloads all;
    Common__Payload one;
    Common__Payload *list[1];
    Common__Payload__MetadataEntry entry;
    Common__Payload__MetadataEntry *entries[1];
};
Common__Payloads *payloads_fill(struct payloads *p);

struct start_request {
    Ws__StartWorkflowExecutionRequest m;
    Common__WorkflowType type;
    Taskqueue__TaskQueue queue;
    struct payloads input;
    char id[ID_MAX];
    char request_id[ID_MAX];
};
void start_request_fill(struct start_request *r, const char *type, size_t i);

struct signal_request {
    Ws__SignalWorkflowExecutionRequest m;
    Common__WorkflowExecution execution;
    struct payloads input;
    char id[ID_MAX];
    char request_id[ID_MAX];
};
/* The i-th signal, to workflow `to` of those that start_request made for `type`. */
void signal_request_fill(struct signal_request *r, const char *type, size_t to, size_t i);

/* Which operation a workflow of ours belongs to. */
size_t index_of_id(const char *workflow_id);
char *mutable_text(const char *s); /* protobuf-c's structs hold char *, and only read it */
