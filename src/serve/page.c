/* The namespaces of the server, as HTML.
 *
 * The engine is asked like by any other caller, page after page; it answers
 * from memory, before the call returns. Names are text that someone else chose:
 * nothing of them reaches the page unescaped. */
#include "serve/page.h"

#include "engine/engine.h"

#define LISTING_BUDGET (4u << 20)

struct listing {
    struct call call;
    struct arena arena;
    struct buf *out;
    ProtobufCBinaryData next_page;
    int rc; /* ERR_WAIT until the engine has answered */
};

static void page_add_escaped(struct buf *out, const char *text) {
    for (; text && *text; text++) {
        if (strchr("<>&\"'", *text))
            buf_printf(out, "&#%d;", *text);
        else
            buf_add_u8(out, (uint8_t)*text);
    }
}

static void page_add_row(struct buf *out, const Ws__DescribeNamespaceResponse *d) {
    int64_t seconds = d->config->workflow_execution_retention_ttl->seconds;
    buf_add_cstr(out, "<tr><td>");
    page_add_escaped(out, d->namespace_info->name);
    buf_printf(out, "</td><td>%lld h</td><td>", (long long)(seconds / 3600));
    page_add_escaped(out, d->namespace_info->description);
    buf_add_cstr(out, "</td></tr>\n");
}

static void page_on_reply(struct call *c, const ProtobufCMessage *m, struct str tail unused_arg) {
    struct listing *l = container_of(c, struct listing, call);
    const Ws__ListNamespacesResponse *r = (const void *)m;
    for (size_t i = 0; i < r->n_namespaces; i++)
        page_add_row(l->out, r->namespaces[i]);
    l->next_page.len = r->next_page_token.len;
    l->next_page.data = arena_dup(&l->arena, r->next_page_token.data, r->next_page_token.len);
    l->rc = l->next_page.len && !l->next_page.data ? ERR_NO_MEMORY : 0;
}

static void page_on_fail(struct call *c, const struct err *e) {
    container_of(c, struct listing, call)->rc = e->code;
}

static int page_add_rows(struct engine *e, struct buf *out) {
    static const struct call_ops ops = {page_on_reply, page_on_fail};
    struct listing l = {.call = {.ops = &ops, .deadline = {CLOCK_NEVER}}, .out = out};
    l.call.arena = &l.arena;
    arena_init(&l.arena, LISTING_BUDGET);
    do {
        Ws__ListNamespacesRequest req = WS__LIST_NAMESPACES_REQUEST__INIT;
        req.next_page_token = l.next_page;
        l.rc = ERR_WAIT;
        engine_call(e, &l.call, rpc_list_namespaces, &req.base);
        ensure(l.rc != ERR_WAIT);
    } while (l.rc == 0 && l.next_page.len);
    arena_done(&l.arena);
    return l.rc;
}

int page_namespaces(struct engine *e, struct buf *out) {
    buf_add_cstr(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Rondo</title>\n"
                      "<h1>Rondo " RONDO_VERSION "</h1>\n<table>\n"
                      "<tr><th>Namespace</th><th>Retention</th><th>Description</th></tr>\n");
    int rc = page_add_rows(e, out);
    buf_add_cstr(out, "</table>\n</html>\n");
    return rc;
}
