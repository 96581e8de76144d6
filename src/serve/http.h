/* The paths of the HTTP/1.1 listener: health for probes, metrics for Prometheus, a page for people,
 * Temporal's HTTP API, Mistral's dialect. */
#pragma once

#include "base/clock.h"
#include "mistral/mistral.h"
#include "net/http1.h"
#include "serve/address.h"
#include "serve/api.h"

struct budget;
struct engine;

struct http {
    struct address bound;
    const char *const *origins; /* of pages that may call; NULL-terminated, or NULL */
    struct engine *engine; /* ready before the listener opens */
    const struct budget *budget; /* memory held for peers */
    struct api api;
    struct mistral mistral;
    struct mono begin; /* when the server was made */
    bool is_draining;
};

/* The owner sets all fields but is_draining before it opens the listener. */
struct http1_handler http_handler(struct http *h);
