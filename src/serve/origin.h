/* Whose pages may call this server from a browser. */
#pragma once

#include "base/err.h"
#include "net/http1.h"

enum origin_verdict {
    ORIGIN_NONE, /* no page asks, or one of ours */
    ORIGIN_INVITED, /* an operator has named it */
    ORIGIN_FOREIGN,
};

/* "https://app.example.com", "http://localhost:3000", or "*" for every page. ERR_INVALID. */
int origin_validate(const char *origin, struct err *reterr) must_check;
/* `invited` is NULL-terminated, or NULL. */
enum origin_verdict origin_judge(const char *const *invited, const struct http1_request *q);
/* The headers that let a browser show the answer to the page. False when there is no memory for them. */
bool origin_invite(const struct http1_request *q) must_check;
/* Whether a browser asks if it may send a request; then `resp` is the answer, for an invited page. */
bool origin_preflight(const struct http1_request *q, struct http1_response *resp);
