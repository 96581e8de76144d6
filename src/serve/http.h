/* What the HTTP/1.1 listener answers: health for probes, metrics for Prometheus, a page for people,
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
    const struct budget *budget; /* of what peers hold */
    struct api api;
    struct mistral mistral;
    struct mono begin; /* when the server was made */
    bool is_draining;
};

/* All but is_draining is set by whoever opens the listener. */
struct http1_handler http_handler(struct http *h);
