/* How an error looks to a gRPC or HTTP client. The only place that knows gRPC codes and typed details. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "wire/grpc.h"

/* Never fails: an unknown error code gives GRPC_INTERNAL. */
enum grpc_code status_code(const struct err *e);
/* The HTTP status for the gRPC code, as in other gRPC gateways. */
int status_http(const struct err *e);
/* A packed google.rpc.Status with the typed detail, in the arena. {NULL, 0} when the error has no detail or
 * the arena is exhausted. */
struct str status_details(struct arena *a, const struct err *e);
