/* From a URL to a row of src/serve/routes.def.
 *
 * No two rows take the same URL with the same verb (a test sees to it),
 * so their order does not matter. */
#include "serve/routes.h"

#include "net/path.h"

enum {
#define RPC(service, name, type, kind, access, bytes_max, handler) INDEX_##service##_##name,
#include "wire/methods.def"
#undef RPC
};

#define OWN_WORKFLOW false
#define OWN_OPERATOR false
#define OWN_SCHEDULE true
#define OWN_QUEUE true
#define BODY_ALL true
#define BODY_NONE false

static const struct route routes[] = {
#define ROUTE(service, name, verb_, path_, body)                                                             \
    {INDEX_##service##_##name, ROUTE_##verb_, path_, BODY_##body, OWN_##service},
#include "serve/routes.def"
#undef ROUTE
};

const struct route *route_at(size_t i) {
    return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}

static unsigned route_verb_of(struct str verb) {
    if (str_is(verb, "GET") || str_is(verb, "HEAD"))
        return ROUTE_GET;
    if (str_is(verb, "POST"))
        return ROUTE_POST;
    return str_is(verb, "DELETE") ? ROUTE_DELETE : 0;
}

const struct route *route_find(struct str verb, struct str path, unsigned *ret_verbs) {
    const struct route *found = NULL;
    unsigned asked = route_verb_of(verb);
    *ret_verbs = 0;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (!path_matches(str_of(routes[i].path), path))
            continue;
        *ret_verbs |= routes[i].verb;
        if (routes[i].verb == asked)
            found = &routes[i];
    }
    return found;
}
