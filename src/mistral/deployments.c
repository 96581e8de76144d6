/* The calls for deployments and their workers.
 *
 * A deployment is a task queue in use. A worker is a poller of it, named by
 * the identity that it sends. An unknown deployment is answered 404. */
#include "core/step/pb.h"
#include "mistral/catalog.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/routing.h"

#define HTTP_NOT_FOUND 404

/* Deployments. */

/* The first poll of a worker; without workers, the last start of a run; 0 when both are unknown. */
static int64_t deployments_created_us(const Rondo__TaskQueueUse *q) {
    int64_t us = q->last_start_time ? pb_timestamp_us(q->last_start_time) : INT64_MAX;
    for (size_t i = 0; i < q->n_pollers; i++)
        us = MIN(us, pb_timestamp_us(q->pollers[i]->first_access_time));
    return us == INT64_MAX ? 0 : us;
}

static int64_t deployments_updated_us(const Rondo__TaskQueueUse *q) {
    int64_t us = q->last_start_time ? pb_timestamp_us(q->last_start_time) : 0;
    for (size_t i = 0; i < q->n_pollers; i++)
        us = MAX(us, pb_timestamp_us(q->pollers[i]->last_access_time));
    return us;
}

static void deployments_write_time(struct json_writer *w, const char *key, int64_t us) {
    Google__Protobuf__Timestamp t = pb_timestamp(us);
    member_write_time(w, key, &t);
}

static void deployments_write_members(struct dialog *x, const Rondo__TaskQueueUse *q) {
    struct json_writer *w = &x->w;
    member_write_text(w, "id", q->name);
    member_write_text(w, "name", q->name);
    member_write_bool(w, "is_active", catalog_is_polled(q));
    member_write_bool(w, "is_hardened", false);
    deployments_write_time(w, "created_at", deployments_created_us(q));
    deployments_write_time(w, "last_heartbeat", deployments_updated_us(q));
    deployments_write_time(w, "updated_at", deployments_updated_us(q)); /* the old name of last_heartbeat */
    member_write_null(w, "owner");
    member_write_null(w, "location");
    member_write_whole(w, "worker_count", (int64_t)q->n_pollers);
    member_write_whole(w, "active_worker_count", (int64_t)q->n_pollers);
    member_write_raw(w, "locations", "[]");
    member_write_null(w, "managed");
}

/* Pages are sorted by text, so a time is written with all its digits, followed by the name. */
static const char *deployments_sort_key(struct dialog *x, const Rondo__TaskQueueUse *q,
                                        const struct field_value *order_by) {
    if (!order_by->is_given)
        return q->name;
    int64_t us = str_is(order_by->text, "created_at") ? deployments_created_us(q) : deployments_updated_us(q);
    return arena_printf(&x->arena, "%020lld %s", (long long)us, q->name);
}

static bool deployments_is_wanted(const struct dialog *x, const Rondo__TaskQueueUse *q) {
    const struct field_value *v = x->query->v;
    if (v[deployments_query_active_only].truth && !catalog_is_polled(q))
        return false;
    if (catalog_is_true(&v[deployments_query_is_hardened]) ||
        !catalog_matches_text(&v[deployments_query_workspace_id], x->namespace))
        return false;
    if (v[deployments_query_workflow_name].is_given &&
        !catalog_has_workflow(q, v[deployments_query_workflow_name].text))
        return false;
    return str_starts(str_of(q->name), v[deployments_query_search].text);
}

static void deployments_on_list(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    const struct field_value *v = x->query->v;
    struct catalog_item *items = arena_array(&x->arena, struct catalog_item, r->n_task_queues + 1);
    size_t n = 0;
    for (size_t i = 0; items && i < r->n_task_queues; i++) {
        const Rondo__TaskQueueUse *q = r->task_queues[i];
        const char *key =
            deployments_is_wanted(x, q) ? deployments_sort_key(x, q, &v[deployments_query_order_by]) : NULL;
        if (key)
            items[n++] = (struct catalog_item){.name = key, .queue = q};
    }
    enum catalog_order order =
        v[deployments_query_order_by].is_given && !str_is(v[deployments_query_order].text, "asc")
            ? CATALOG_DESCENDING
            : CATALOG_ASCENDING;
    struct catalog_page p =
        catalog_cut_page(items, n, order, &v[deployments_query_cursor], &v[deployments_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("deployments"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++) {
        writer_open(&x->w, '{');
        deployments_write_members(x, p.items[i].queue);
        writer_close(&x->w, '}');
    }
    writer_close(&x->w, ']');
    member_write_text(&x->w, "next_cursor", p.next);
    member_write_text(&x->w, "workspace_id", x->namespace);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_list_deployments(struct dialog *x) {
    routing_ask_queues(x, deployments_on_list);
}

/* Returns the queue that the path names, or answers 404 and returns NULL. */
static const Rondo__TaskQueueUse *deployments_find(struct dialog *x) {
    const Rondo__ListTaskQueuesResponse *r = dialog_answer(x);
    for (size_t i = 0; i < r->n_task_queues; i++)
        if (str_is(x->id, r->task_queues[i]->name))
            return r->task_queues[i];
    dialog_refuse(x, HTTP_NOT_FOUND, "There is no deployment %.*s", (int)MIN(x->id.n, 200), x->id.p);
    return NULL;
}

/* Workers. */

static void workers_write(struct json_writer *w, const Rondo__TaskQueueVisitor *v) {
    writer_open(w, '{');
    member_write_text(w, "name", cstr_is_empty(v->identity) ? "unnamed" : v->identity);
    member_write_time(w, "created_at", v->first_access_time);
    member_write_time(w, "last_heartbeat", v->last_access_time);
    member_write_time(w, "updated_at", v->last_access_time);
    member_write_bool(w, "is_active", true);
    member_write_null(w, "location");
    writer_close(w, '}');
}

static void deployments_on_one(struct dialog *x) {
    const Rondo__TaskQueueUse *q = deployments_find(x);
    const struct field_value *workflow = &x->query->v[deployment_query_workflow_name];
    if (!q)
        return;
    if (workflow->is_given && !catalog_has_workflow(q, workflow->text)) {
        dialog_refuse(x, HTTP_NOT_FOUND, "Deployment %s has not run workflow %.*s", q->name,
                      (int)MIN(workflow->text.n, 200), workflow->text.p);
        return;
    }
    writer_open(&x->w, '{');
    deployments_write_members(x, q);
    writer_key(&x->w, STR("workers"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < q->n_pollers; i++)
        workers_write(&x->w, q->pollers[i]);
    writer_close(&x->w, ']');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_get_deployment(struct dialog *x) {
    routing_ask_queues(x, deployments_on_one);
}

static const Rondo__TaskQueueVisitor *workers_find(const Rondo__TaskQueueUse *q, const char *identity) {
    size_t i = 0;
    while (!cstr_eq(q->pollers[i]->identity, identity))
        i++;
    return q->pollers[i];
}

static void workers_on_list(struct dialog *x) {
    const Rondo__TaskQueueUse *q = deployments_find(x);
    const struct field_value *v = x->query->v;
    if (!q)
        return;
    struct catalog_item *items = arena_array(&x->arena, struct catalog_item, q->n_pollers + 1);
    size_t n = 0;
    bool has_active = catalog_matches_status(&v[workers_query_worker_status], true); /* all of them are */
    for (size_t i = 0; items && has_active && i < q->n_pollers; i++)
        items[n++] = (struct catalog_item){.name = q->pollers[i]->identity};
    struct catalog_page p =
        catalog_cut_page(items, n, CATALOG_ASCENDING, &v[workers_query_cursor], &v[workers_query_limit]);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("workers"));
    writer_open(&x->w, '[');
    for (size_t i = 0; i < p.n; i++)
        workers_write(&x->w, workers_find(q, p.items[i].name));
    writer_close(&x->w, ']');
    member_write_text(&x->w, "next_cursor", p.next);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_list_workers(struct dialog *x) {
    routing_ask_queues(x, workers_on_list);
}
