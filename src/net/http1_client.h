/* HTTP/1.1 for clients: one POST, one answer of which only the status is read.
 *
 * Each request has a connection of its own and ends exactly once, by its `done`. */
#pragma once

#include "base/base.h"
#include "base/str.h"
#include "host/loop.h"

struct http1_client;

struct http1_field {
    const char *name;
    const char *value;
};

struct http1_post {
    const char *url; /* "http://host[:port]/path?query" */
    const struct http1_field *fields;
    size_t field_count;
    struct str body;
    /* status 0: there was no answer, and text says why. */
    void (*done)(void *ctx, int status, const char *text);
    void *ctx;
};

int http1_client_new(struct loop *l, struct http1_client **ret) must_check;
void http1_client_free(struct http1_client *c); /* drops open requests without a callback; NULL is fine */
/* Everything that it names is copied. `done` may be called before it returns. */
void http1_client_post(struct http1_client *c, const struct http1_post *p);
