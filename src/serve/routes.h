/* The paths of Temporal's HTTP API, from src/serve/routes.def. */
#pragma once

#include "base/str.h"
#include "serve/methods.h"

enum route_verb { ROUTE_GET = 1, ROUTE_POST = 2, ROUTE_DELETE = 4 }; /* bits, for sets of them */

struct route {
    size_t method; /* for method_at() */
    enum route_verb verb;
    const char *path; /* "/api/v1/namespaces/{namespace}/workflows/{execution.workflow_id}" */
    bool has_body;
    bool is_own; /* Temporal has no such path */
};

/* The row that verb and path lead to, or NULL; *ret_verbs is the set of those that the path takes. HEAD is
 * GET. */
const struct route *route_find(struct str verb, struct str path, unsigned *ret_verbs);
const struct route *route_at(size_t i); /* NULL past the end */
