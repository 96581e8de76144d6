/* Workflows, registrations, deployments and workers: what the server knows of them by itself.
 *
 * Nobody registers anything. A workflow is a type of which there are runs, a
 * deployment is a task queue that workers poll or that runs were started on,
 * and a registration is one of them on the other. All of it comes from one
 * question to the server, and is filtered, ordered and cut into pages here.
 * Cursors are the names behind which the next page begins. */
#include <stdlib.h>

#include "core/step/pb.h"
#include "host/loop.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "mistral/routing.h"
#include "rondo.pb-c.h"

#define HTTP_NOT_FOUND 404
#define PAGE_DEFAULT 50

static bool is_active(const Rondo__TaskQueueUse *q) {
    return q->n_pollers > 0;
}

static bool runs(const Rondo__TaskQueueUse *q, const char *workflow) {
    for (size_t i = 0; i < q->n_workflow_types; i++)
        if (streq(q->workflow_types[i], workflow))
            return true;
    return false;
}

static bool contains(const char *text, struct str part) {
    return !part.n || memmem(text, strlen(text), part.p, part.n);
}

/* Pages of a sorted list. */

struct item {
    const char *name; /* what it is sorted by, and the cursor */
    const char *workflow;
    const Rondo__TaskQueueUse *queue;
    bool is_active;
};

struct page {
    struct item *items;
    size_t n;
    const char *next; /* NULL: this is the last */
};

static int by_name(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static int by_name_backwards(const void *a, const void *b) {
    return by_name(b, a);
}

static struct page cut(struct item *items, size_t n, bool is_backwards, const struct given *cursor,
                       const struct given *limit) {
    size_t from = 0, size = limit->is_given ? (size_t)limit->whole : PAGE_DEFAULT;
    if (n)
        qsort(items, n, sizeof(*items), is_backwards ? by_name_backwards : by_name);
    for (; cursor->is_given && from < n; from++) {
        struct str name = str_of(items[from].name);
        int order = memcmp(name.p, cursor->text.p, MIN(name.n, cursor->text.n));
        if (order == 0)
            order = (name.n > cursor->text.n) - (name.n < cursor->text.n);
        if (is_backwards ? order < 0 : order > 0)
            break;
    }
    struct page p = {items + from, MIN(size, n - from), NULL};
    if (from + p.n < n)
        p.next = p.items[p.n - 1].name;
    return p;
}

/* Workflows. */

static size_t count_types(const Rondo__ListTaskQueuesResponse *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_task_queues; i++)
        n += r->task_queues[i]->n_workflow_types;
    return n;
}

/* Every type on every queue; `is_merged`: every type once. */
static struct item *find_items(struct dialog *x, const Rondo__ListTaskQueuesResponse *r, bool is_merged,
                               size_t *ret_n) {
    struct item *items = arena_array(&x->arena, struct item, count_types(r) + 1);
    size_t n = 0;
    for (size_t i = 0; items && i < r->n_task_queues; i++) {
        const Rondo__TaskQueueUse *q = r->task_queues[i];
        for (size_t k = 0; k < q->n_workflow_types; k++)
            items[n++] = (struct item){q->workflow_types[k], q->workflow_types[k], q, is_active(q)};
    }
    if (n)
        qsort(items, n, sizeof(*items), by_name);
    size_t kept = 0;
    for (size_t i = 0; is_merged && i < n; i++) {
        if (kept && streq(items[kept - 1].name, items[i].name))
            items[kept - 1].is_active |= items[i].is_active;
        else
            items[kept++] = items[i];
    }
    *ret_n = is_merged ? kept : n;
    return items;
}

/* What people gave a workflow elsewhere it does not have here: it is called by its name. */
static void write_workflow_members(struct dialog *x, const char *name) {
    struct json_writer *w = &x->w;
    write_text(w, "id", name);
    write_text(w, "name", name);
    write_text(w, "display_name", name);
    write_text(w, "type", "code");
    write_null(w, "description");
    write_text(w, "customer_id", x->namespace);
    write_text(w, "workspace_id", x->namespace);
    write_null(w, "shared_namespace");
    write_bool(w, "available_in_chat_assistant", false);
    write_bool(w, "is_technical", false);
    write_bool(w, "archived", false);
    write_raw(w, "tags", "[]");
}

static bool is_on_one_of(const Rondo__ListTaskQueuesResponse *r, const char *workflow,
                         const struct given *queues) {
    if (!queues->is_given)
        return true;
    for (size_t i = 0; i < r->n_task_queues; i++)
        for (size_t k = 0; k < queues->count; k++)
            if (str_is(queues->texts[k], r->task_queues[i]->name) && runs(r->task_queues[i], workflow))
                return true;
    return false;
}

static bool is_true(const struct given *v) {
    return v->is_given && v->truth;
}

static bool takes_activity(const struct given *status, bool is_active_) {
    return !status->is_given || (status->whole == 0) == is_active_;
}

static void on_workflows(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    const struct given *v = x->query->v;
    size_t all, n = 0;
    struct item *items = find_items(x, r, true, &all);
    bool has_none =
        is_true(&v[workflows_query_archived]) || is_true(&v[workflows_query_available_in_chat_assistant]);
    for (size_t i = 0; items && !has_none && i < all; i++) {
        if (contains(items[i].name, v[workflows_query_search].text) &&
            takes_activity(&v[workflows_query_deployment_status], items[i].is_active) &&
            (!v[workflows_query_active_only].truth || items[i].is_active) &&
            is_on_one_of(r, items[i].name, &v[workflows_query_deployment_name]))
            items[n++] = items[i];
    }
    struct page p = cut(items, n, str_is(v[workflows_query_order].text, "desc"), &v[workflows_query_cursor],
                        &v[workflows_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("workflows"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++) {
        writer_open(&x->w, '{');
        write_workflow_members(x, p.items[i].name);
        writer_key(&x->w, STR("metadata"));
        writer_token(&x->w, STR("{\"shared_namespace\":null}"));
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_list_workflows(struct dialog *x) {
    ask_queues(x, false, on_workflows);
}

static void on_workflow(struct dialog *x) {
    size_t n;
    struct item *items = find_items(x, dialog_answer(x), true, &n);
    for (size_t i = 0; items && i < n; i++) {
        if (!str_is(x->id, items[i].name))
            continue;
        writer_open(&x->w, '{');
        writer_key(&x->w, STR("workflow"));
        writer_open(&x->w, '{');
        write_workflow_members(x, items[i].name);
        write_bool(&x->w, "active", items[i].is_active);
        writer_close(&x->w, '}');
        writer_close(&x->w, '}');
        dialog_reply(x);
        return;
    }
    dialog_refuse(x, HTTP_NOT_FOUND, "There are no runs of a workflow %.*s", (int)MIN(x->id.n, 200), x->id.p);
}

void begin_get_workflow(struct dialog *x) {
    ask_queues(x, false, on_workflow);
}

/* Registrations. What a workflow takes and gives nobody has told the server. */

static void write_registration(struct dialog *x, const struct item *i, bool has_workflow, bool has_activity) {
    struct json_writer *w = &x->w;
    writer_open(w, '{');
    write_text(w, "id", registration_id(&x->arena, i->workflow, i->queue->name));
    write_text(w, "deployment_id", i->queue->name);
    write_text(w, "task_queue", i->queue->name);
    write_raw(w, "definition",
              "{\"input_schema\":{},\"output_schema\":null,\"signals\":[],\"queries\":[],\"updates\":[]}");
    write_text(w, "workflow_id", i->workflow);
    if (has_workflow) {
        writer_key(w, STR("workflow"));
        writer_open(w, '{');
        write_workflow_members(x, i->workflow);
        writer_close(w, '}');
    } else {
        write_null(w, "workflow");
    }
    write_text(w, "deployment_name", i->queue->name);
    write_bool(w, "compatible_with_chat_assistant", false);
    if (has_activity)
        write_bool(w, "active", i->is_active);
    writer_close(w, '}');
}

static bool is_text(const struct given *v, const char *text) {
    return !v->is_given || str_is(v->text, text);
}

static void on_registrations(struct dialog *x) {
    const struct given *v = x->query->v;
    size_t all, n = 0;
    struct item *items = find_items(x, dialog_answer(x), false, &all);
    bool has_none = is_true(&v[registrations_query_archived]) ||
                    is_true(&v[registrations_query_available_in_chat_assistant]);
    for (size_t i = 0; items && !has_none && i < all; i++) {
        items[i].name = registration_id(&x->arena, items[i].workflow, items[i].queue->name);
        if (items[i].name && is_text(&v[registrations_query_workflow_id], items[i].workflow) &&
            is_text(&v[registrations_query_workflow_name], items[i].workflow) &&
            is_text(&v[registrations_query_task_queue], items[i].queue->name) &&
            (!v[registrations_query_active_only].truth || items[i].is_active) &&
            contains(items[i].workflow, v[registrations_query_workflow_search].text))
            items[n++] = items[i];
    }
    struct page p = cut(items, n, false, &v[registrations_query_cursor], &v[registrations_query_limit]);
    static const char *const keys[] = {"workflow_registrations",
                                       "workflow_versions"}; /* the same, by its old name */
    writer_open(&x->w, '{');
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        writer_key(&x->w, str_of(keys[k]));
        writer_open(&x->w, '[');
        for (size_t i = 0; i < p.n; i++)
            write_registration(x, &p.items[i], v[registrations_query_with_workflow].truth, false);
        writer_close(&x->w, ']');
    }
    write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_list_registrations(struct dialog *x) {
    ask_queues(x, false, on_registrations);
}

static void on_registration(struct dialog *x) {
    static const char *const keys[] = {"workflow_registration", "workflow_version"};
    size_t n, at = 0;
    struct item *items = find_items(x, dialog_answer(x), false, &n);
    for (; items && at < n; at++) {
        const char *id = registration_id(&x->arena, items[at].workflow, items[at].queue->name);
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
        write_registration(x, &items[at], x->query->v[registration_query_with_workflow].truth, true);
    }
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_get_registration(struct dialog *x) {
    ask_queues(x, false, on_registration);
}

/* Deployments: created when its first worker came, or else when its last run was started. */

static int64_t created_us(const Rondo__TaskQueueUse *q) {
    int64_t us = q->last_start_time ? pb_timestamp_us(q->last_start_time) : INT64_MAX;
    for (size_t i = 0; i < q->n_pollers; i++)
        us = MIN(us, pb_timestamp_us(q->pollers[i]->first_access_time));
    return us == INT64_MAX ? 0 : us;
}

static int64_t updated_us(const Rondo__TaskQueueUse *q) {
    int64_t us = q->last_start_time ? pb_timestamp_us(q->last_start_time) : 0;
    for (size_t i = 0; i < q->n_pollers; i++)
        us = MAX(us, pb_timestamp_us(q->pollers[i]->last_access_time));
    return us;
}

static void write_us(struct json_writer *w, const char *key, int64_t us) {
    Google__Protobuf__Timestamp t = pb_timestamp(us);
    write_time(w, key, &t);
}

static void write_deployment_members(struct dialog *x, const Rondo__TaskQueueUse *q) {
    struct json_writer *w = &x->w;
    write_text(w, "id", q->name);
    write_text(w, "name", q->name);
    write_bool(w, "is_active", is_active(q));
    write_bool(w, "is_hardened", false);
    write_us(w, "created_at", created_us(q));
    write_us(w, "last_heartbeat", updated_us(q));
    write_us(w, "updated_at", updated_us(q)); /* the same, by its old name */
    write_null(w, "owner");
    write_null(w, "location");
    write_whole(w, "worker_count", (int64_t)q->n_pollers);
    write_whole(w, "active_worker_count", (int64_t)q->n_pollers);
    write_raw(w, "locations", "[]");
    write_null(w, "managed");
}

/* Sorted by a text that has the order asked for: times with all their digits, then the name. */
static const char *deployment_key(struct dialog *x, const Rondo__TaskQueueUse *q,
                                  const struct given *order_by) {
    if (!order_by->is_given)
        return q->name;
    int64_t us = str_is(order_by->text, "created_at") ? created_us(q) : updated_us(q);
    return arena_printf(&x->arena, "%020lld %s", (long long)us, q->name);
}

static bool is_wanted(const struct dialog *x, const Rondo__TaskQueueUse *q) {
    const struct given *v = x->query->v;
    if (v[deployments_query_active_only].truth && !is_active(q))
        return false;
    if (is_true(&v[deployments_query_is_hardened]) ||
        !is_text(&v[deployments_query_workspace_id], x->namespace))
        return false;
    if (v[deployments_query_workflow_name].is_given) {
        bool has = false;
        for (size_t i = 0; i < q->n_workflow_types; i++)
            has |= str_is(v[deployments_query_workflow_name].text, q->workflow_types[i]);
        if (!has)
            return false;
    }
    return str_starts(str_of(q->name), v[deployments_query_search].text);
}

static void on_deployments(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    const struct given *v = x->query->v;
    struct item *items = arena_array(&x->arena, struct item, r->n_task_queues + 1);
    size_t n = 0;
    for (size_t i = 0; items && i < r->n_task_queues; i++) {
        const Rondo__TaskQueueUse *q = r->task_queues[i];
        const char *key = is_wanted(x, q) ? deployment_key(x, q, &v[deployments_query_order_by]) : NULL;
        if (key)
            items[n++] = (struct item){.name = key, .queue = q};
    }
    bool is_backwards =
        v[deployments_query_order_by].is_given && !str_is(v[deployments_query_order].text, "asc");
    struct page p = cut(items, n, is_backwards, &v[deployments_query_cursor], &v[deployments_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("deployments"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++) {
        writer_open(&x->w, '{');
        write_deployment_members(x, p.items[i].queue);
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    write_text(&x->w, "next_cursor", p.next);
    write_text(&x->w, "workspace_id", x->namespace);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_list_deployments(struct dialog *x) {
    ask_queues(x, false, on_deployments);
}

/* Workers: who polls the queue, by the names that they give themselves. */

static void write_worker(struct json_writer *w, const Rondo__TaskQueueVisitor *v) {
    writer_open(w, '{');
    write_text(w, "name", strempty(v->identity) ? "unnamed" : v->identity);
    write_time(w, "created_at", v->first_access_time);
    write_time(w, "last_heartbeat", v->last_access_time);
    write_time(w, "updated_at", v->last_access_time);
    write_bool(w, "is_active", true);
    write_null(w, "location");
    writer_close(w, '}');
}

/* The queue that the path names; NULL when 404 was answered. */
static const Rondo__TaskQueueUse *find_deployment(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    for (size_t i = 0; i < r->n_task_queues; i++)
        if (str_is(x->id, r->task_queues[i]->name))
            return r->task_queues[i];
    dialog_refuse(x, HTTP_NOT_FOUND, "There is no deployment %.*s", (int)MIN(x->id.n, 200), x->id.p);
    return NULL;
}

static void on_deployment(struct dialog *x) {
    const Rondo__TaskQueueUse *q = find_deployment(x);
    const struct given *workflow = &x->query->v[deployment_query_workflow_name];
    if (!q)
        return;
    bool has = !workflow->is_given;
    for (size_t i = 0; i < q->n_workflow_types; i++)
        has |= str_is(workflow->text, q->workflow_types[i]);
    if (!has) {
        dialog_refuse(x, HTTP_NOT_FOUND, "Deployment %s has not run workflow %.*s", q->name,
                      (int)MIN(workflow->text.n, 200), workflow->text.p);
        return;
    }
    writer_open(&x->w, '{');
    write_deployment_members(x, q);
    writer_key(&x->w, STR("workers"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < q->n_pollers; i++)
        write_worker(&x->w, q->pollers[i]);
    writer_close(&x->w, ']');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_get_deployment(struct dialog *x) {
    ask_queues(x, false, on_deployment);
}

static const Rondo__TaskQueueVisitor *find_worker(const Rondo__TaskQueueUse *q, const char *identity) {
    size_t i = 0;
    while (!streq(q->pollers[i]->identity, identity))
        i++;
    return q->pollers[i];
}

static void on_workers(struct dialog *x) {
    const Rondo__TaskQueueUse *q = find_deployment(x);
    const struct given *v = x->query->v;
    if (!q)
        return;
    struct item *items = arena_array(&x->arena, struct item, q->n_pollers + 1);
    size_t n = 0;
    bool has_any = takes_activity(&v[workers_query_worker_status], true);
    for (size_t i = 0; items && has_any && i < q->n_pollers; i++)
        items[n++] = (struct item){.name = q->pollers[i]->identity};
    struct page p = cut(items, n, false, &v[workers_query_cursor], &v[workers_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("workers"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++)
        write_worker(&x->w, find_worker(q, p.items[i].name));
    writer_close(&x->w, ']');
    write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_list_workers(struct dialog *x) {
    ask_queues(x, false, on_workers);
}
