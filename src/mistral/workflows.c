/* The calls for workflows and registrations.
 *
 * Each call asks for the task queues in use, and filters, sorts and cuts the
 * list that follows from them (catalog.h). An unknown name is answered 404. */
#include "mistral/catalog.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/routing.h"

#define HTTP_NOT_FOUND 404

/* Workflows. */

/* The server has no titles, tags or owners of workflows: id and display name are the name. */
static void workflows_write_members(struct dialog *x, const char *name) {
    struct json_writer *w = &x->w;
    member_write_text(w, "id", name);
    member_write_text(w, "name", name);
    member_write_text(w, "display_name", name);
    member_write_text(w, "type", "code");
    member_write_null(w, "description");
    member_write_text(w, "customer_id", x->namespace);
    member_write_text(w, "workspace_id", x->namespace);
    member_write_null(w, "shared_namespace");
    member_write_bool(w, "available_in_chat_assistant", false);
    member_write_bool(w, "is_technical", false);
    member_write_bool(w, "archived", false);
    member_write_raw(w, "tags", "[]");
}

static bool workflows_is_on_queue(const Rondo__ListTaskQueuesResponse *r, const char *workflow,
                                  const struct field_value *queues) {
    if (!queues->is_given)
        return true;
    for (size_t i = 0; i < r->n_task_queues; i++)
        for (size_t k = 0; k < queues->count; k++)
            if (str_is(queues->texts[k], r->task_queues[i]->name) &&
                catalog_has_workflow(r->task_queues[i], str_of(workflow)))
                return true;
    return false;
}

static void workflows_on_list(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    const struct field_value *v = x->query->v;
    size_t all, n = 0;
    struct catalog_item *items = catalog_list_workflows(x, r, &all);
    enum catalog_order order =
        str_is(v[workflows_query_order].text, "desc") ? CATALOG_DESCENDING : CATALOG_ASCENDING;
    bool has_none = catalog_is_true(&v[workflows_query_archived]) ||
                    catalog_is_true(&v[workflows_query_available_in_chat_assistant]);
    for (size_t i = 0; items && !has_none && i < all; i++) {
        if (catalog_name_contains(items[i].name, v[workflows_query_search].text) &&
            catalog_matches_status(&v[workflows_query_deployment_status], items[i].is_active) &&
            (!v[workflows_query_active_only].truth || items[i].is_active) &&
            workflows_is_on_queue(r, items[i].name, &v[workflows_query_deployment_name]))
            items[n++] = items[i];
    }
    struct catalog_page p =
        catalog_cut_page(items, n, order, &v[workflows_query_cursor], &v[workflows_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("workflows"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++) {
        writer_open(&x->w, '{');
        workflows_write_members(x, p.items[i].name);
        writer_key(&x->w, STR("metadata"));
        writer_token(&x->w, STR("{\"shared_namespace\":null}"));
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    member_write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_list_workflows(struct dialog *x) {
    routing_ask_queues(x, workflows_on_list);
}

static void workflows_on_one(struct dialog *x) {
    size_t n;
    struct catalog_item *items = catalog_list_workflows(x, dialog_answer(x), &n);
    for (size_t i = 0; items && i < n; i++) {
        if (!str_is(x->id, items[i].name))
            continue;
        writer_open(&x->w, '{');
        writer_key(&x->w, STR("workflow"));
        writer_open(&x->w, '{');
        workflows_write_members(x, items[i].name);
        member_write_bool(&x->w, "active", items[i].is_active);
        writer_close(&x->w, '}');
        writer_close(&x->w, '}');
        dialog_reply(x);
        return;
    }
    dialog_refuse(x, HTTP_NOT_FOUND, "There are no runs of a workflow %.*s", (int)MIN(x->id.n, 200), x->id.p);
}

void mistral_begin_get_workflow(struct dialog *x) {
    routing_ask_queues(x, workflows_on_one);
}

/* Registrations. Schemas are empty, because workers do not tell the server what a workflow takes and returns.
 */

static void registrations_write_members(struct dialog *x, const struct catalog_item *i, bool has_workflow) {
    struct json_writer *w = &x->w;
    member_write_text(w, "id", routing_registration_id(&x->arena, i->workflow, i->queue->name));
    member_write_text(w, "deployment_id", i->queue->name);
    member_write_text(w, "task_queue", i->queue->name);
    member_write_raw(
        w, "definition",
        "{\"input_schema\":{},\"output_schema\":null,\"signals\":[],\"queries\":[],\"updates\":[]}");
    member_write_text(w, "workflow_id", i->workflow);
    if (has_workflow) {
        writer_key(w, STR("workflow"));
        writer_open(w, '{');
        workflows_write_members(x, i->workflow);
        writer_close(w, '}');
    } else {
        member_write_null(w, "workflow");
    }
    member_write_text(w, "deployment_name", i->queue->name);
    member_write_bool(w, "compatible_with_chat_assistant", false);
}

static void registrations_on_list(struct dialog *x) {
    const struct field_value *v = x->query->v;
    size_t all, n = 0;
    struct catalog_item *items = catalog_list_registrations(x, dialog_answer(x), &all);
    bool has_none = catalog_is_true(&v[registrations_query_archived]) ||
                    catalog_is_true(&v[registrations_query_available_in_chat_assistant]);
    for (size_t i = 0; items && !has_none && i < all; i++) {
        items[i].name = routing_registration_id(&x->arena, items[i].workflow, items[i].queue->name);
        if (items[i].name && catalog_matches_text(&v[registrations_query_workflow_id], items[i].workflow) &&
            catalog_matches_text(&v[registrations_query_workflow_name], items[i].workflow) &&
            catalog_matches_text(&v[registrations_query_task_queue], items[i].queue->name) &&
            (!v[registrations_query_active_only].truth || items[i].is_active) &&
            catalog_name_contains(items[i].workflow, v[registrations_query_workflow_search].text))
            items[n++] = items[i];
    }
    struct catalog_page p = catalog_cut_page(items, n, CATALOG_ASCENDING, &v[registrations_query_cursor],
                                             &v[registrations_query_limit]);
    static const char *const keys[] = {"workflow_registrations",
                                       "workflow_versions"}; /* new and old name of one list */
    writer_open(&x->w, '{');
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        writer_key(&x->w, str_of(keys[k]));
        writer_open(&x->w, '[');
        for (size_t i = 0; i < p.n; i++) {
            writer_open(&x->w, '{');
            registrations_write_members(x, &p.items[i], v[registrations_query_with_workflow].truth);
            writer_close(&x->w, '}');
        }
        writer_close(&x->w, ']');
    }
    member_write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_list_registrations(struct dialog *x) {
    routing_ask_queues(x, registrations_on_list);
}

static void registrations_on_one(struct dialog *x) {
    static const char *const keys[] = {"workflow_registration", "workflow_version"};
    size_t n, at = 0;
    struct catalog_item *items = catalog_list_registrations(x, dialog_answer(x), &n);
    for (; items && at < n; at++) {
        const char *id = routing_registration_id(&x->arena, items[at].workflow, items[at].queue->name);
        if (id && str_is(x->id, id))
            break;
    }
    if (!items || at == n) {
        dialog_refuse(x, HTTP_NOT_FOUND, "There is no workflow registration %.*s", (int)MIN(x->id.n, 200),
                      x->id.p);
        return;
    }
    writer_open(&x->w, '{');
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        writer_key(&x->w, str_of(keys[k]));
        writer_open(&x->w, '{');
        registrations_write_members(x, &items[at], x->query->v[registration_query_with_workflow].truth);
        member_write_bool(&x->w, "active", items[at].is_active);
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_get_registration(struct dialog *x) {
    routing_ask_queues(x, registrations_on_one);
}
