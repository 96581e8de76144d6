/* What a callback sends, for those who send it. */
#pragma once

#include "base/str.h"

/* A completion as HTTP. Everything lives as long as the request. */
struct callback_header {
    const char *name;
    const char *value;
};
struct callback_request {
    const char *url;
    struct callback_header *headers;
    size_t header_count;
    struct str body;
};
