/* Takes an HTTP request to its handler.
 *
 * Happy path: verb and path find the route, its shapes read path, query and
 * body, and the first step of the handler runs. A request with mistakes is
 * answered 422 with all of them, and no handler runs. A known path with
 * another verb is answered 405. When the peer closes the connection, the
 * question that it waits for is cancelled. */
#include "mistral/mistral.h"

#include "mistral/handlers.h"
#include "net/path.h"
#include "net/query.h"

#define NAMESPACE_HEADER "Rondo-Namespace"
#define HTTP_NOT_ALLOWED 405
#define HTTP_UNAVAILABLE 503
#define HTTP_NOT_IMPLEMENTED 501

/* For bodies and queries that are not read. */
static const struct shape shape_no_body = {NULL, 0}, shape_any_query = {NULL, 0};

static const struct dialog_route routes[] = {
#define ROUTE(name, verb, path, status, body, query, begin)                                                  \
    {#name, DIALOG_##verb, path, status, &shape_##body, &shape_##query, begin},
#include "mistral/routes.def"
#undef ROUTE
};

static const struct {
    const char *name;
    enum dialog_verb verb;
} verbs[] = {{"GET", DIALOG_GET}, {"HEAD", DIALOG_GET},    {"POST", DIALOG_POST},
             {"PUT", DIALOG_PUT}, {"PATCH", DIALOG_PATCH}, {"DELETE", DIALOG_DELETE}};

/* The header Allow for each set of verbs that a path of routes.def has. */
static const char *const allowed_texts[] = {
    [DIALOG_GET] = "GET, HEAD",
    [DIALOG_POST] = "POST",
    [DIALOG_PUT] = "PUT",
    [DIALOG_GET | DIALOG_POST] = "GET, HEAD, POST",
    [DIALOG_GET | DIALOG_POST | DIALOG_PUT] = "GET, HEAD, POST, PUT",
    [DIALOG_GET | DIALOG_PUT] = "GET, HEAD, PUT",
    [DIALOG_GET | DIALOG_PATCH | DIALOG_DELETE] = "GET, HEAD, PATCH, DELETE",
    [DIALOG_ALL] = NULL,
};

/* The number of segments without braces. The path with the most wins: "/v1/workflows/runs" is the list of
 * runs, not the workflow "runs". */
static size_t mistral_count_literals(const char *path) {
    size_t n = 0;
    for (const char *c = path; *c; c++)
        n += *c == '/' && c[1] != '{';
    return n;
}

static const struct dialog_route *mistral_find_route(const struct http1_request *q, unsigned *ret_verbs) {
    const struct dialog_route *found = NULL;
    size_t best = 0;
    unsigned asked = 0;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (str_is(q->method, verbs[i].name))
            asked = verbs[i].verb;
    *ret_verbs = 0;
    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        if (!path_matches(str_of(routes[i].path), q->path))
            continue;
        *ret_verbs |= routes[i].verb;
        if (routes[i].verb != asked || (found && mistral_count_literals(routes[i].path) < best))
            continue;
        found = &routes[i];
        best = mistral_count_literals(found->path);
    }
    return found;
}

static void mistral_write_refusal(struct http1_response *resp, int status, const char *text) {
    resp->status = status;
    buf_printf(&resp->body, "{\"detail\":\"%s\"}\n", text);
}

/* The request's memory does not outlive this call of net; the dialog does. */
static struct str mistral_copy_text(struct dialog *x, struct str text) {
    const char *copy = arena_strndup(&x->arena, text.n ? text.p : "", text.n);
    return copy ? str_bytes(copy, text.n) : STR("");
}

static void mistral_read_path(struct dialog *x, const struct http1_request *q) {
    struct str pattern = str_of(x->route->path), path = q->path, name, value;
    struct place root = {.name = STR("path")};
    struct err e;
    while (path_next_variable(&pattern, &path, &name, &value)) {
        struct place at = {.up = &root, .name = name};
        int rc = query_decode(&x->arena, value, false, &x->id, &e);
        if (rc == 0 && (!utf8_valid(x->id) || memchr(x->id.p, 0, x->id.n)))
            rc = err_set(&e, ERR_INVALID, "it is not text");
        if (rc < 0)
            complaints_add(&x->complaints, &at, "value_error", "Value error, %s", e.text);
    }
}

static void mistral_read_request(struct dialog *x, const struct http1_request *q) {
    struct str namespace = http1_header(q, NAMESPACE_HEADER);
    x->namespace = namespace.n ? arena_strndup(&x->arena, namespace.p, namespace.n) : "default";
    x->last_event_id = mistral_copy_text(x, http1_header(q, "Last-Event-ID"));
    mistral_read_path(x, q);
    if (x->route->query != &shape_any_query)
        x->query = shape_read_query(&x->complaints, x->route->query, mistral_copy_text(x, q->query));
    if (x->route->body != &shape_no_body)
        x->body = shape_read(&x->complaints, x->route->body, mistral_copy_text(x, q->body), STR("body"));
}

void mistral_begin_unsupported(struct dialog *x) {
    dialog_refuse(x, HTTP_NOT_IMPLEMENTED, "This server has nothing that %s could mean", x->route->name);
}

static void mistral_begin_handler(struct dialog *x) {
    bool is_read = !arena_failed(&x->arena);
    dialog_add_answer_budget(x);
    if (x->complaints.count)
        dialog_refuse_invalid(x);
    else if (!is_read)
        dialog_out_of_memory(x);
    else
        x->route->begin(x);
}

static void mistral_on_peer_gone(void *ctx) {
    struct dialog *x = ctx;
    const struct mistral_server *s = &x->m->server;
    x->later = NULL;
    x->is_ended = true;
    list_remove(&x->link);
    list_append(&x->m->ended, &x->link);
    if (!x->is_asking)
        return;
    x->is_asking = false;
    s->cancel(s->ctx, x->started);
}

bool mistral_request(struct mistral *m, const struct http1_request *q, struct http1_response *resp) {
    unsigned taken;
    const struct dialog_route *route = mistral_find_route(q, &taken);
    if (!taken)
        return false;
    if (!route) {
        resp->allow = allowed_texts[taken];
        mistral_write_refusal(resp, HTTP_NOT_ALLOWED, "Method Not Allowed");
        return true;
    }
    if (m->server.is_draining(m->server.ctx)) {
        mistral_write_refusal(resp, HTTP_UNAVAILABLE, "The server is stopping.");
        return true;
    }
    struct dialog *x = dialog_new(m, route);
    if (x)
        x->later = http1_take(q, mistral_on_peer_gone, x);
    if (!x || !x->later) {
        if (x)
            dialog_free(x);
        mistral_write_refusal(resp, HTTP_UNAVAILABLE, "There is no memory for this now.");
        return true;
    }
    x->is_head = str_is(q->method, "HEAD");
    mistral_read_request(x, q);
    dialog_run_step(x, mistral_begin_handler);
    return true;
}

void mistral_init(struct mistral *m, const struct mistral_server *server, const struct cal_zones *zones,
                  uint64_t seed) {
    *m = (struct mistral){.server = *server, .zones = zones};
    rng_init(&m->rng, seed);
    list_init(&m->waiting);
    list_init(&m->ready);
    list_init(&m->ended);
}

void mistral_sweep(struct mistral *m) {
    while (!list_empty(&m->ready))
        dialog_run_step(container_of(m->ready.next, struct dialog, link), NULL);
    list_for_safe(&m->ended, n) dialog_free(container_of(n, struct dialog, link));
}
