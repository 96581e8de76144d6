/* `workflow list`, also of the archive, and `workflow count`. In JSON the values of a group are shown
 * without the type that the server adds to their metadata. */
#include "command/connection.h"
#include "command/output/output.h"
#include "command/request/request.h"
#include "workflowservice.pb-c.h"

static void count_drop_type(Common__Payload *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->n_metadata; i++)
        if (!cstr_eq(p->metadata[i]->key, "type"))
            p->metadata[n++] = p->metadata[i];
    p->n_metadata = n;
}

enum command_exit workflow_count_run(struct command *c, struct buf *out) {
    struct connection_ask ask = {.method = c->rule->call, .request = c->request};
    ProtobufCMessage *m;
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    const Ws__CountWorkflowExecutionsResponse *r = (const void *)m;
    for (size_t g = 0; g < r->n_groups && !opt_named_flag(c->args, "no-json-shorthand-payloads"); g++)
        for (size_t i = 0; i < r->groups[g]->n_group_values; i++)
            count_drop_type(r->groups[g]->group_values[i]);
    view_begin(c, out);
    int rc = view_page(c, m, out);
    view_end(c, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

enum command_exit workflow_list_run(struct command *c, struct buf *out) {
    struct command_rule archived = {CALL_ListArchivedWorkflowExecutions, c->rule->items, c->rule->columns};
    const Ws__ListWorkflowExecutionsRequest *asked = (const void *)c->request;
    if (!opt_named_flag(c->args, "archived"))
        return command_ask_pages(c, out);
    Ws__ListArchivedWorkflowExecutionsRequest *q = (void *)request_new(c, archived.call);
    if (!q)
        return COMMAND_REFUSED;
    q->query = asked->query;
    q->page_size = asked->page_size;
    c->rule = &archived;
    c->request = &q->base;
    return command_ask_pages(c, out);
}
