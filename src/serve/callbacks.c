/* One callback is one POST. */
#include "serve/callbacks.h"

#include "base/mem.h"

struct sent {
    struct callbacks *owner;
    struct callback_send *send;
};

static void callbacks_on_done(void *ctx, int status, const char *text) {
    struct sent s = *(struct sent *)ctx;
    mem_free(ctx);
    if (s.owner->is_closed)
        return;
    engine_tell_time(s.send->engine, host_now());
    engine_callback_sent(s.send, status, text);
}

void callbacks_send(void *ctx, struct callback_send *send) {
    struct callbacks *c = ctx;
    const struct callback_request *q = send->request;
    struct sent *s = mem_alloc(sizeof(*s));
    struct http1_field *fields = mem_alloc(q->header_count * sizeof(*fields) + 1);
    if (!s || !fields) {
        mem_free(s);
        mem_free(fields);
        engine_callback_sent(send, 0, "out of memory");
        return;
    }
    for (size_t i = 0; i < q->header_count; i++)
        fields[i] = (struct http1_field){q->headers[i].name, q->headers[i].value};
    *s = (struct sent){c, send};
    struct http1_post post = {q->url, fields, q->header_count, q->body, callbacks_on_done, s};
    http1_client_post(c->client, &post);
    mem_free(fields);
}
