/* A path is taken apart at its slashes, and only there: what is encoded in a segment stays in it. */
#include "net/path.h"

/* The segment behind the slash that s begins with; s moves behind it. */
static bool path_next_segment(struct str *s, struct str *ret) {
    if (s->n == 0 || s->p[0] != '/')
        return false;
    const char *end = memchr(s->p + 1, '/', s->n - 1);
    *ret = str_bytes(s->p + 1, end ? (size_t)(end - s->p - 1) : s->n - 1);
    *s = str_bytes(s->p + 1 + ret->n, s->n - 1 - ret->n);
    return true;
}

static bool path_is_variable(struct str segment) {
    return segment.n > 2 && segment.p[0] == '{';
}

bool path_matches(struct str pattern, struct str path) {
    struct str want, given;
    while (path_next_segment(&pattern, &want)) {
        if (!path_next_segment(&path, &given))
            return false;
        if (path_is_variable(want) ? given.n == 0 : !str_eq(want, given))
            return false;
    }
    return path.n == 0;
}

bool path_next_variable(struct str *pattern, struct str *path, struct str *ret_name, struct str *ret_value) {
    struct str name;
    while (path_next_segment(pattern, &name) && path_next_segment(path, ret_value)) {
        if (!path_is_variable(name))
            continue;
        *ret_name = str_bytes(name.p + 1, name.n - 2);
        return true;
    }
    return false;
}
