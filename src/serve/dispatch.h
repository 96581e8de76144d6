/* gRPC: translates HTTP/2 requests into calls of ingress, and answers into responses.
 *
 * Everything runs on the loop thread. */
#pragma once

#include "net/h2.h"
#include "serve/ingress.h"

/* The handler for the server's h2_server. `in` must outlive it. */
struct h2_handler dispatch_handler(struct ingress *in);
