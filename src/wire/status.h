/* struct err -> what a gRPC client sees. The only place that knows the codes and typed details. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "wire/grpc.h"

enum grpc_code status_code(const struct err *e);
/* The HTTP status that says the same, as other gateways choose it. */
int status_http(const struct err *e);
/* google.rpc.Status with its typed detail, packed; {NULL,0} if the error has no detail or memory ran out. */
struct str status_details(struct arena *a, const struct err *e);
