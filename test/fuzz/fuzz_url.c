/* Bytes as the method and URL of an HTTP request, on their way into a message.
 *
 * A URL that a row takes has a value for each variable of the row, and what was set from the path and the
 * query can be written as JSON and packed within the depth that the wire allows. */
#include "fuzz.h"

#include "json/json.h"
#include "net/path.h"
#include "net/query.h"
#include "serve/routes.h"
#include "wire/encode.h"
#include "wire/guard.h"

#define URL_BYTES_MAX ((size_t)16 << 10)
#define BUDGET_BYTES ((size_t)64 << 20)

static int set(ProtobufCMessage *m, struct str name, struct str text, bool is_query, struct arena *a) {
    struct err e = {0};
    struct str value;
    int rc = query_decode(a, text, is_query, &value, &e);
    ensure(rc < 0 || value.n <= text.n);
    if (rc == 0)
        rc = json_set(m, name, value, is_query ? JSON_SET_ONCE : JSON_SET_OVER, a, &e);
    ensure(rc == 0 || (rc == e.code && e.text[0]));
    return rc;
}

static bool set_all(const struct route *route, struct str path, struct str query, ProtobufCMessage *m,
                    struct arena *a) {
    struct str pattern = str_of(route->path), name, value;
    while (path_next_variable(&pattern, &path, &name, &value)) {
        ensure(value.n > 0 && !memchr(value.p, '/', value.n));
        if (set(m, name, value, false, a) < 0)
            return false;
    }
    while (query_next(&query, &name, &value)) {
        if (set(m, name, value, true, a) < 0)
            return false;
    }
    return true;
}

static void check(struct str verb, struct str path, struct str query) {
    struct arena a cleanup(arena_done);
    struct buf text cleanup(buf_done), bytes cleanup(buf_done);
    struct err e = {0};
    ProtobufCMessage *m;
    unsigned verbs;
    arena_init(&a, BUDGET_BYTES);
    buf_init(&text, BUDGET_BYTES);
    buf_init(&bytes, BUDGET_BYTES);
    const struct route *route = route_find(verb, path, &verbs);
    ensure(!route || (verbs & route->verb));
    if (!route)
        return;
    const ProtobufCMessageDescriptor *type = method_at(route->method)->request;
    ensure(json_parse(type, STR("{}"), JSON_PAYLOADS_SHORTHAND, &a, &m, &e) == 0);
    if (!set_all(route, path, query, m, &a))
        return;
    wire_encode(&bytes, m);
    ensure(wire_guard(type, buf_str(&bytes), &e) == 0);
    ensure(json_print(&text, m, (struct json_style){.has_shorthand = true}, &e) == 0 && buf_ok(&text));
}

static struct str cut(struct str *s, char at) {
    const char *end = s->n ? memchr(s->p, at, s->n) : NULL;
    struct str first = str_bytes(s->p, end ? (size_t)(end - s->p) : s->n);
    *s = end ? str_bytes(end + 1, s->n - first.n - 1) : STR("");
    return first;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str rest = str_bytes(data, size);
    if (size > URL_BYTES_MAX)
        return 0;
    struct str verb = cut(&rest, ' '), path = cut(&rest, '?');
    check(verb, path, rest);
    return 0;
}
