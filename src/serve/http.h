/* What the HTTP/1.1 listener answers: health for probes, and Temporal's HTTP API. */
#pragma once

#include "net/http1.h"
#include "serve/address.h"
#include "serve/api.h"

struct http {
    struct address bound;
    struct api api;
    bool is_draining;
};

/* h->bound and h->api are set by whoever opens the listener. */
struct http1_handler http_handler(struct http *h);
