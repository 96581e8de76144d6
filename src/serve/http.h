/* What the HTTP/1.1 listener answers: health for probes. */
#pragma once

#include "net/http1.h"
#include "serve/address.h"

struct http {
    struct address bound;
    bool is_draining;
};

/* h->bound is set by whoever opens the listener. */
struct http1_handler http_handler(struct http *h);
