/* The methods that a client can call, from src/wire/methods.def, found by path. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "engine/rpc.h"

struct call;
struct method_context;

enum method_kind {
    METHOD_UNARY,
    METHOD_POLL, /* asks for a task, and may wait for one */
    METHOD_WAIT,
    METHOD_STREAM,
    METHOD_DUPLEX, /* the handler is called with each request */
};

enum method_access { METHOD_OPEN, METHOD_READ, METHOD_WORKER, METHOD_WRITE, METHOD_ADMIN };

/* Ends the call exactly once, now or later. req lives in the call's arena. Of a METHOD_DUPLEX, whose arena is
 * gone when the handler returns, the end may be left to the client. */
typedef void method_fn(struct method_context *d, struct call *c, const ProtobufCMessage *req);

struct method {
    const char *path; /* "/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo" */
    const char *name; /* "GetSystemInfo" */
    enum method_kind kind;
    enum method_access access;
    size_t request_bytes_max;
    const ProtobufCMessageDescriptor *request;
    const ProtobufCMessageDescriptor *response;
    /* Who answers. Both NULL: not implemented yet. */
    rpc_fn *rpc; /* the engine */
    method_fn *fn; /* the server itself */
};

struct methods {
    struct map by_path;
};

int methods_init(struct methods *m, uint64_t seed) must_check; /* ERR_NO_MEMORY */
void methods_done(struct methods *m);

/* The method that a request names, with a handler; ERR_UNIMPLEMENTED with the text for the client. */
int methods_find(const struct methods *m, struct str path, const struct method **ret,
                 struct err *reterr) must_check;
/* The services of the table, in the order of their names, ended by NULL. */
extern const char *const method_services[];
bool method_is_implemented(const struct method *m);
/* Calls the handler, which ends the call exactly once. The method must be implemented, and the engine be there. */
void method_run(const struct method *m, struct method_context *d, struct call *c, const ProtobufCMessage *req);
/* The i-th row of the table, NULL past the end; and the way back. */
const struct method *method_at(size_t i);
size_t method_index(const struct method *m);

enum {
#define RPC(service, name, type, kind, access, bytes_max, handler) +1
#define RPC_DUPLEX(...) RPC(__VA_ARGS__)
    METHOD_COUNT = 0
#include "wire/methods.def"
#undef RPC_DUPLEX
#undef RPC
};

/* What the server answers by itself (svc_system.c); the engine answers the rest. */
method_fn method_get_system_info;
method_fn method_get_cluster_info;
method_fn method_list_clusters;
method_fn method_list_nexus_endpoints;
method_fn method_health_check;
method_fn method_health_watch;
method_fn method_reflect; /* svc_reflection.c */
