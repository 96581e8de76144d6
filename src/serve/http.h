/* What the HTTP/1.1 listener answers: health for probes, a page for people. */
#pragma once

#include "net/http1.h"
#include "serve/address.h"

struct engine;

struct http {
    struct address bound;
    struct engine *engine; /* ready before the listener opens */
    bool is_draining;
};

/* h->bound and h->engine are set by whoever opens the listener. */
struct http1_handler http_handler(struct http *h);
