/* The client: chooses the connection, watches deadlines, tells callers how it went.
 *
 * The happy path: h2_client_ask() puts the request on the current connection, or
 * on a new one; at the end of the loop turn everything asked in it leaves in one
 * write; when the response is whole the exchange moves to `ended`, and its caller
 * is told.
 *
 * A deadline or a cancel resets the stream. The caller has its answer at once,
 * the exchange stays until nghttp2 has let go of it. When a connection ends, all
 * exchanges on it end with the reason that client->lost holds. */
#include "net/h2_client.h"

#include <stdio.h>

#include "net/h2_link.h"

void client_wake(struct h2_client *c) {
    event_active(&c->flush_event, EV_TIMEOUT, 0);
}

void client_mark_dirty(struct h2_client *c, struct h2_link *l) {
    if (list_linked(&l->dirty_node))
        return;
    if (list_empty(&c->dirty))
        client_wake(c);
    list_append(&c->dirty, &l->dirty_node);
}

void exchange_free(struct h2_exchange *x) {
    list_remove(&x->node);
    event_del(&x->deadline);
    buf_done(&x->request);
    buf_done(&x->body);
    arena_done(&x->arena);
    mem_free(x);
}

void exchange_ended(struct h2_exchange *x, int rc) {
    struct h2_client *c = x->client;
    if (!x->on_end) {
        exchange_free(x);
        return;
    }
    if (x->rc == 0)
        x->rc = rc;
    x->link = NULL;
    event_del(&x->deadline);
    list_remove(&x->node);
    if (list_empty(&c->ended))
        client_wake(c);
    list_append(&c->ended, &x->node);
}

static void exchange_explain(const struct h2_exchange *x, struct err *e) {
    if (x->rc == ERR_UNAVAILABLE && x->client->lost.code && !x->reset_code)
        *e = x->client->lost;
    else if (x->rc == ERR_DEADLINE || x->rc == ERR_NO_MEMORY)
        err_std(e, x->rc);
    else if (x->is_unseen)
        err_set(e, x->rc, "The server did not take the request; asking again is safe.");
    else if (x->rc == ERR_TOO_LARGE)
        err_set(e, x->rc, "The response is larger than this client takes.");
    else
        err_set(e, x->rc, "The server ended the request with the HTTP/2 error %s.",
                nghttp2_http2_strerror(x->reset_code));
}

/* The caller may ask and cancel inside; x is no longer reachable for it then. */
static void exchange_tell(struct h2_exchange *x) {
    void (*on_end)(void *, const struct h2_answer *) = take(&x->on_end);
    struct err err;
    struct h2_answer a = {.is_unseen = x->rc != 0 && x->is_unseen,
                          .status = x->status,
                          .headers = x->headers,
                          .header_count = x->header_count,
                          .body = &x->body};
    if (x->rc != 0) {
        exchange_explain(x, &err);
        a.err = &err;
    }
    on_end(x->ctx, &a);
}

static void client_settle(struct h2_client *c) {
    struct list *n;
    while ((n = list_pop(&c->ended))) {
        struct h2_exchange *x = container_of(n, struct h2_exchange, node);
        exchange_tell(x);
        exchange_free(x);
    }
}

static void client_on_flush(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    struct h2_client *c = ctx;
    struct list *n;
    client_settle(c); /* first: what callers ask now leaves in the same write */
    while ((n = list_pop(&c->dirty)))
        link_flush(container_of(n, struct h2_link, dirty_node));
}

static void client_expire(evutil_socket_t unused_arg fd, short unused_arg what, void *ctx) {
    struct h2_exchange *x = ctx;
    x->rc = ERR_DEADLINE;
    link_reset(x->link, x);
    exchange_tell(x);
}

static int client_open(struct h2_client *c) {
    int rc = link_callbacks_new(&c->callbacks, &c->option);
    if (rc < 0)
        return rc;
    c->read_space = mem_alloc(LIMIT_READ_BYTES);
    c->write_space = mem_alloc(LIMIT_WRITE_SPACE_BYTES);
    if (!c->read_space || !c->write_space)
        return ERR_NO_MEMORY;
    return event_assign(&c->flush_event, loop_base(c->loop), -1, 0, client_on_flush, c) < 0 ? ERR_INTERNAL
                                                                                            : 0;
}

int h2_client_new(struct loop *l, const char *address, struct h2_client **ret, struct err *reterr) {
    char host[ADDRESS_TEXT_MAX];
    const char *port;
    if (strlen(address) >= ADDRESS_TEXT_MAX || address_split(address, host, sizeof(host), &port) < 0)
        return err_set(reterr, ERR_INVALID, "cannot connect to %s: not of the form host:port", address);
    struct h2_client *c = mem_zalloc(sizeof(*c));
    if (!c)
        return err_std(reterr, ERR_NO_MEMORY);
    c->loop = l;
    (void)snprintf(c->address, sizeof(c->address), "%s", address); /* its length was checked */
    list_init(&c->links);
    list_init(&c->dirty);
    list_init(&c->ended);
    int rc = client_open(c);
    if (rc < 0) {
        h2_client_free(c);
        return err_std(reterr, rc);
    }
    *ret = c;
    return 0;
}

static struct h2_exchange *exchange_new(struct h2_client *c, struct h2_question *q) {
    struct h2_exchange *x = mem_zalloc(sizeof(*x));
    if (!x)
        return NULL;
    x->client = c;
    x->on_end = q->on_end;
    x->ctx = q->ctx;
    arena_init(&x->arena, LIMIT_HEADER_LIST_BYTES_BOMB);
    buf_init(&x->body, LIMIT_CLIENT_RESPONSE_BYTES_MAX);
    /* Cannot fail for a timer of a base that exists. */
    (void)event_assign(&x->deadline, loop_base(c->loop), -1, 0, client_expire, x);
    return x;
}

static int exchange_arm(struct h2_exchange *x, int64_t timeout_us) {
    if (timeout_us <= 0)
        return 0;
    struct timeval tv = {.tv_sec = timeout_us / USEC_PER_SEC, .tv_usec = timeout_us % USEC_PER_SEC};
    return event_add(&x->deadline, &tv) < 0 ? ERR_NO_MEMORY : 0;
}

int h2_client_ask(struct h2_client *c, struct h2_question *q, struct h2_exchange **ret) {
    struct h2_exchange *x = exchange_new(c, q);
    if (!x)
        return ERR_NO_MEMORY;
    int rc = c->current ? 0 : link_new(c, &c->current);
    if (rc == 0)
        rc = exchange_arm(x, q->timeout_us);
    if (rc == 0)
        rc = link_submit(c->current, x, q);
    if (rc < 0) {
        exchange_free(x);
        return rc;
    }
    x->request = q->body;
    buf_init(&q->body, 0);
    *ret = x;
    return 0;
}

void h2_client_cancel(struct h2_exchange *x) {
    x->on_end = NULL;
    event_del(&x->deadline);
    if (x->link)
        link_reset(x->link, x);
    else
        exchange_free(x);
}

void h2_client_free(struct h2_client *c) {
    if (!c)
        return;
    for (struct list *n; (n = list_pop(&c->links));)
        link_free(container_of(n, struct h2_link, node));
    for (struct list *n; (n = list_pop(&c->ended));)
        exchange_free(container_of(n, struct h2_exchange, node));
    if (event_initialized(&c->flush_event))
        event_del(&c->flush_event);
    nghttp2_session_callbacks_del(c->callbacks);
    nghttp2_option_del(c->option);
    mem_free(c->read_space);
    mem_free(c->write_space);
    mem_free(c);
}

struct str h2_answer_header(const struct h2_answer *a, const char *name) {
    for (size_t i = a->header_count; i > 0; i--)
        if (str_is(a->headers[i - 1].name, name))
            return a->headers[i - 1].value;
    return (struct str){NULL, 0};
}
