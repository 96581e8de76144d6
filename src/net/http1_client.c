/* The HTTP/1.1 client, on libevent's evhttp and its resolver.
 *
 * Happy path: connect, send, post_on_answer with the status. What goes wrong (a name
 * that nobody knows, nobody listening, no answer in time, an answer that is not
 * HTTP) ends in post_on_answer without a request, or with status 0. */
#include "net/http1_client.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"

#define ANSWER_BYTES_MAX (64 << 10)
#define ANSWER_HEADER_BYTES_MAX (16 << 10)
#define TIMEOUT_S 10
#define POSTS_MAX 64 /* at a time; more wait for their callers to try again */
#define HTTP_PORT 80
#define TEXT_MAX 128

struct http1_client {
    struct event_base *base;
    struct evdns_base *dns; /* made with the first request: most servers never send one */
    struct list posts;
    size_t post_count;
    struct list ended; /* posts whose connections cannot be freed from inside their own event */
    struct event *reaper;
};

struct post {
    struct http1_client *client;
    struct list link;
    struct evhttp_connection *connection;
    void (*done)(void *ctx, int status, const char *text);
    void *ctx;
};

static void post_free(struct post *p) {
    evhttp_connection_free(p->connection);
    mem_free(p);
}

static void http1_client_on_reap(evutil_socket_t fd unused_arg, short what unused_arg, void *ctx) {
    struct http1_client *c = ctx;
    for (struct list *n; (n = list_pop(&c->ended));)
        post_free(container_of(n, struct post, link));
}

int http1_client_new(struct loop *l, struct http1_client **ret) {
    struct http1_client *c = mem_zalloc(sizeof(*c));
    if (!c)
        return ERR_NO_MEMORY;
    c->base = loop_base(l);
    list_init(&c->posts);
    list_init(&c->ended);
    c->reaper = evtimer_new(c->base, http1_client_on_reap, c);
    if (!c->reaper) {
        mem_free(c);
        return ERR_NO_MEMORY;
    }
    *ret = c;
    return 0;
}

void http1_client_free(struct http1_client *c) {
    if (!c)
        return;
    http1_client_on_reap(-1, 0, c);
    for (struct list *n; (n = list_pop(&c->posts));) {
        struct post *p = container_of(n, struct post, link);
        p->done(p->ctx, 0, "the client was stopped");
        post_free(p);
    }
    event_free(c->reaper);
    if (c->dns)
        evdns_base_free(c->dns, 0);
    mem_free(c);
}

static void post_on_answer(struct evhttp_request *req, void *ctx) {
    struct post *p = ctx;
    struct http1_client *c = p->client;
    static const struct timeval at_once = {0, 0};
    int status = req ? evhttp_request_get_response_code(req) : 0;
    const char *line = status ? evhttp_request_get_response_code_line(req) : NULL;
    list_remove(&p->link);
    list_append(&c->ended, &p->link);
    c->post_count--;
    evtimer_add(c->reaper, &at_once);
    p->done(p->ctx, status, status ? (line && *line ? line : "refused") : "no answer");
}

static bool post_add_fields(struct evhttp_request *req, const struct http1_post *what, const char *host,
                            int port) {
    struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
    char name[TEXT_MAX * 2];
    int n = evutil_snprintf(name, sizeof(name), port == HTTP_PORT ? "%s" : "%s:%d", host, port);
    bool ok = n > 0 && (size_t)n < sizeof(name) && evhttp_add_header(headers, "Host", name) == 0 &&
              evhttp_add_header(headers, "Connection", "close") == 0;
    for (size_t i = 0; ok && i < what->field_count; i++)
        ok = evhttp_add_header(headers, what->fields[i].name, what->fields[i].value) == 0;
    return ok && evbuffer_add(evhttp_request_get_output_buffer(req), what->body.p, what->body.n) == 0;
}

/* Takes over p, which post_on_answer frees; false when it could not be sent. */
static bool post_send(struct post *p, const struct http1_post *what, const struct evhttp_uri *uri) {
    const char *host = evhttp_uri_get_host(uri), *path = evhttp_uri_get_path(uri),
               *query = evhttp_uri_get_query(uri);
    int port = evhttp_uri_get_port(uri) > 0 ? evhttp_uri_get_port(uri) : HTTP_PORT;
    struct evhttp_request *req = evhttp_request_new(post_on_answer, p);
    struct evbuffer *target = evbuffer_new();
    p->connection = evhttp_connection_base_new(p->client->base, p->client->dns, host, (unsigned short)port);
    bool ok = req && target && p->connection && post_add_fields(req, what, host, port) &&
              evbuffer_add_printf(target, "%s%s%s", path && *path ? path : "/", query ? "?" : "",
                                  query ? query : "") > 0 &&
              evbuffer_add(target, "", 1) == 0;
    if (!ok) {
        if (req)
            evhttp_request_free(req);
        if (target)
            evbuffer_free(target);
        if (p->connection)
            evhttp_connection_free(p->connection);
        return false;
    }
    evhttp_connection_set_timeout(p->connection, TIMEOUT_S);
    evhttp_connection_set_max_body_size(p->connection, ANSWER_BYTES_MAX);
    evhttp_connection_set_max_headers_size(p->connection, ANSWER_HEADER_BYTES_MAX);
    list_append(&p->client->posts, &p->link);
    p->client->post_count++;
    /* From here on the request belongs to the connection, also when this fails. */
    int rc =
        evhttp_make_request(p->connection, req, EVHTTP_REQ_POST, (const char *)evbuffer_pullup(target, -1));
    evbuffer_free(target);
    if (rc == 0)
        return true;
    evhttp_connection_free(p->connection);
    list_remove(&p->link);
    p->client->post_count--;
    return false;
}

void http1_client_post(struct http1_client *c, const struct http1_post *what) {
    struct evhttp_uri *uri = evhttp_uri_parse(what->url);
    const char *refusal = NULL;
    if (!uri || !evhttp_uri_get_host(uri) || !*evhttp_uri_get_host(uri))
        refusal = "this is not an address";
    else if (c->post_count >= POSTS_MAX)
        refusal = "too many requests at a time";
    else if (!c->dns && !(c->dns = evdns_base_new(c->base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
                                                               EVDNS_BASE_DISABLE_WHEN_INACTIVE)))
        refusal = "no resolver";
    struct post *p = refusal ? NULL : mem_zalloc(sizeof(*p));
    if (p) {
        *p = (struct post){.client = c, .done = what->done, .ctx = what->ctx};
        if (!post_send(p, what, uri)) {
            mem_free(p);
            p = NULL;
        }
    }
    if (uri)
        evhttp_uri_free(uri);
    if (!p)
        what->done(what->ctx, 0, refusal ? refusal : "the request could not be made");
}
