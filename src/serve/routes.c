/* From a URL to a row of proto/routes.def.
 *
 * Segments are compared one by one; a variable takes any segment that is not
 * empty. No two rows take the same URL with the same verb (a test sees to it),
 * so their order does not matter. */
#include "serve/routes.h"

enum {
#define RPC(service, name, type, kind, access, bytes_max, handler) INDEX_##service##_##name,
#include "../../proto/methods.def"
#undef RPC
};

#define BODY_ALL true
#define BODY_NONE false

static const struct route routes[] = {
#define ROUTE(service, name, verb_, path_, body)                                                             \
    {INDEX_##service##_##name, ROUTE_##verb_, path_, BODY_##body},
#include "../../proto/routes.def"
#undef ROUTE
};

const struct route *route_at(size_t i) {
    return i < ARRAY_LEN(routes) ? &routes[i] : NULL;
}

/* The segment behind the slash that s begins with; s moves behind it. */
static bool next_segment(struct str *s, struct str *ret) {
    if (s->n == 0 || s->p[0] != '/')
        return false;
    const char *end = memchr(s->p + 1, '/', s->n - 1);
    *ret = str_bytes(s->p + 1, end ? (size_t)(end - s->p - 1) : s->n - 1);
    *s = str_bytes(s->p + 1 + ret->n, s->n - 1 - ret->n);
    return true;
}

static bool is_variable(struct str segment) {
    return segment.n > 2 && segment.p[0] == '{';
}

static bool matches(struct str path, struct str url) {
    struct str want, given;
    while (next_segment(&path, &want)) {
        if (!next_segment(&url, &given))
            return false;
        if (is_variable(want) ? given.n == 0 : !str_eq(want, given))
            return false;
    }
    return url.n == 0;
}

static unsigned verb_of(struct str verb) {
    if (str_is(verb, "GET") || str_is(verb, "HEAD"))
        return ROUTE_GET;
    if (str_is(verb, "POST"))
        return ROUTE_POST;
    return str_is(verb, "DELETE") ? ROUTE_DELETE : 0;
}

const struct route *route_find(struct str verb, struct str path, unsigned *ret_verbs) {
    const struct route *found = NULL;
    unsigned asked = verb_of(verb);
    *ret_verbs = 0;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (!matches(str_of(routes[i].path), path))
            continue;
        *ret_verbs |= routes[i].verb;
        if (routes[i].verb == asked)
            found = &routes[i];
    }
    return found;
}

bool route_next_variable(struct str *path, struct str *url, struct str *ret_name, struct str *ret_value) {
    struct str name;
    while (next_segment(path, &name) && next_segment(url, ret_value)) {
        if (!is_variable(name))
            continue;
        *ret_name = str_bytes(name.p + 1, name.n - 2);
        return true;
    }
    return false;
}
