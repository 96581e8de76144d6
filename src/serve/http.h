/* What the HTTP/1.1 listener answers: health for probes, a page for people, Temporal's HTTP API. */
#pragma once

#include "net/http1.h"
#include "serve/address.h"
#include "serve/api.h"

struct engine;

struct http {
    struct address bound;
    struct engine *engine; /* ready before the listener opens */
    struct api api;
    bool is_draining;
};

/* h->bound, h->engine and h->api are set by whoever opens the listener. */
struct http1_handler http_handler(struct http *h);
