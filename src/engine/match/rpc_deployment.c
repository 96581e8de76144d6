/* Calls about worker deployments: describe, list, create, route, delete. */
#include <stdlib.h>

#include "core/step/validate.h"
#include "engine/match/deployment_info.h"
#include "engine/match/queue_describe.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/response.h"

#define LIST_PAGE_MAX 100

/* Every call begins with a namespace and a deployment, or a version of one. */

static int need_deployment(struct op *op, const char *namespace_name, const char *name, struct space **ret,
                           struct deployment **ret_found) {
    int rc = op_need_space(op, namespace_name, ret);
    if (rc == 0)
        rc = version_validate_deployment(name, &op->err);
    if (rc < 0)
        return rc;
    *ret_found = deployment_find(op->e, *ret, name);
    return 0;
}

static int deployment_not_found(struct op *op, const char *name) {
    return err_set(&op->err, ERR_NOT_FOUND,
                   "no Worker Deployment found with name '%.200s'; does it have pollers?", name);
}

/* The version that a request names, in the newer field or as a text. */
static int read_version(struct op *op, const Deployment__WorkerDeploymentVersion *m, const char *text,
                        struct version *ret) {
    int rc = 0;
    *ret = version_of(m);
    if (!m && cstr_is_empty(text))
        return err_set(&op->err, ERR_INVALID, "The deployment version is not set on request.");
    if (!m)
        rc = version_parse(op->call->arena, text, ret, &op->err);
    return rc == 0 ? version_validate(*ret, &op->err) : rc;
}

static void deployment_reply(struct op *op, int rc, const ProtobufCMessage *resp) {
    if (rc == 0 && (!resp || arena_failed(op->call->arena)))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail(op);
    else
        op_reply_durable(op, resp, (struct str){NULL, 0});
}

/* A reader waits for what it sees to be durable, too. */
static void deployment_wait_durable(struct op *op, const struct deployment *d) {
    op->wait_seq = MAX(op->wait_seq, d->group_seq);
}

/* Describe and list */

void rpc_describe_worker_deployment(struct op *op) {
    const Ws__DescribeWorkerDeploymentRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__DescribeWorkerDeploymentResponse *r = arena_new(a, Ws__DescribeWorkerDeploymentResponse);
    struct space *space;
    struct deployment *d = NULL;
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &d);
    if (rc == 0 && !d)
        rc = deployment_not_found(op, req->deployment_name);
    if (rc == 0 && r) {
        ws__describe_worker_deployment_response__init(r);
        r->conflict_token = conflict_token(a, d->st);
        r->worker_deployment_info = deployment_info(a, d->st);
        deployment_wait_durable(op, d);
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

static void add_queue_stats(struct op *op, struct space *space, struct version v,
                            Ws__DescribeWorkerDeploymentVersionResponse__VersionTaskQueue *q) {
    typedef Ws__DescribeWorkerDeploymentVersionResponse__VersionTaskQueue__StatsByPriorityKeyEntry Entry;
    struct arena *a = op->call->arena;
    struct queue *base = queue_find(op->e, space, q->type == TASK_QUEUE_TYPE_ACTIVITY, q->name);
    q->stats = stats_of_version(op, base, v, 0);
    q->stats_by_priority_key = arena_array(a, Entry *, QUEUE_PRIORITIES);
    for (int p = 1; q->stats_by_priority_key && p <= QUEUE_PRIORITIES; p++) {
        Taskqueue__TaskQueueStats *stats = stats_of_version(op, base, v, p);
        Entry *entry = stats ? arena_new(a, Entry) : NULL;
        if (!entry)
            continue;
        ws__describe_worker_deployment_version_response__version_task_queue__stats_by_priority_key_entry__init(
            entry);
        entry->key = p;
        entry->value = stats;
        q->stats_by_priority_key[q->n_stats_by_priority_key++] = entry;
    }
}

static void add_version_queues(struct op *op, struct space *space, struct version version,
                               const State__DeploymentVersion *v, bool with_stats,
                               Ws__DescribeWorkerDeploymentVersionResponse *r) {
    struct arena *a = op->call->arena;
    r->version_task_queues =
        arena_array(a, Ws__DescribeWorkerDeploymentVersionResponse__VersionTaskQueue *, v->n_queues);
    for (size_t i = 0; r->version_task_queues && i < v->n_queues; i++) {
        Ws__DescribeWorkerDeploymentVersionResponse__VersionTaskQueue *q =
            arena_new(a, Ws__DescribeWorkerDeploymentVersionResponse__VersionTaskQueue);
        if (!q)
            return;
        ws__describe_worker_deployment_version_response__version_task_queue__init(q);
        q->name = arena_strdup(a, v->queues[i]->name);
        q->type = (E__TaskQueueType)v->queues[i]->type;
        if (with_stats)
            add_queue_stats(op, space, version, q);
        r->version_task_queues[r->n_version_task_queues++] = q;
    }
}

void rpc_describe_worker_deployment_version(struct op *op) {
    const Ws__DescribeWorkerDeploymentVersionRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__DescribeWorkerDeploymentVersionResponse *r =
        arena_new(a, Ws__DescribeWorkerDeploymentVersionResponse);
    struct space *space;
    struct version version;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = read_version(op, req->deployment_version, req->version, &version);
    const struct deployment *d = rc == 0 ? deployment_find(op->e, space, version.deployment) : NULL;
    const State__DeploymentVersion *v = d ? deployment_version(d->st, version.build_id) : NULL;
    if (rc == 0 && !v)
        rc = err_set(&op->err, ERR_NOT_FOUND, "Worker Deployment Version not found");
    if (rc == 0 && r) {
        ws__describe_worker_deployment_version_response__init(r);
        r->worker_deployment_version_info = version_info(a, d->st, v);
        add_version_queues(op, space, version, v, req->report_task_queue_stats, r);
        deployment_wait_durable(op, d);
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

static Ws__ListWorkerDeploymentsResponse__WorkerDeploymentSummary *deployment_summary(
    struct arena *a, const State__Deployment *st) {
    Ws__ListWorkerDeploymentsResponse__WorkerDeploymentSummary *s =
        arena_new(a, Ws__ListWorkerDeploymentsResponse__WorkerDeploymentSummary);
    if (!s)
        return NULL;
    ws__list_worker_deployments_response__worker_deployment_summary__init(s);
    s->name = arena_strdup(a, st->name);
    s->create_time = response_time(a, st->created_us);
    s->routing_config = routing_config(a, st);
    s->latest_version_summary =
        version_summary(a, st, st->n_versions ? st->versions[st->n_versions - 1] : NULL);
    s->current_version_summary = version_summary(a, st, deployment_version(st, st->current_build_id));
    s->ramping_version_summary = version_summary(a, st, deployment_version(st, st->ramping_build_id));
    return s;
}

static int deployment_by_name(const void *a, const void *b) {
    const struct deployment *const *x = a, *const *y = b;
    return strcmp((*x)->st->name, (*y)->st->name);
}

/* Those of the namespace behind the name `after`, in the order of their names: so a page can begin where
 * one ended that is gone. */
static struct deployment **deployments_after(struct op *op, const struct space *space, struct str after,
                                             size_t *ret_count) {
    struct deployment **all = arena_array(op->call->arena, struct deployment *, space->deployment_count);
    struct deployment *d;
    *ret_count = 0;
    for (size_t i = 0; all && (d = map_next(&op->e->deployments, &i));) {
        struct str name = str_of(d->st->name);
        int order = d->space == space && after.n ? memcmp(name.p, after.p, MIN(name.n, after.n)) : 1;
        if (d->space == space && (order > 0 || (order == 0 && name.n > after.n)))
            all[(*ret_count)++] = d;
    }
    if (*ret_count)
        qsort(all, *ret_count, sizeof(*all), deployment_by_name);
    return all;
}

void rpc_list_worker_deployments(struct op *op) {
    const Ws__ListWorkerDeploymentsRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__ListWorkerDeploymentsResponse *r = arena_new(a, Ws__ListWorkerDeploymentsResponse);
    size_t size = req->page_size > 0 ? MIN((size_t)req->page_size, LIST_PAGE_MAX) : LIST_PAGE_MAX;
    struct deployment **found = NULL;
    size_t count = 0;
    struct space *space = NULL;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        found = deployments_after(op, space, pb_bytes(&req->next_page_token), &count);
    if (r) {
        ws__list_worker_deployments_response__init(r);
        r->worker_deployments =
            arena_array(a, Ws__ListWorkerDeploymentsResponse__WorkerDeploymentSummary *, size);
    }
    for (size_t i = 0; !arena_failed(a) && i < MIN(count, size); i++) {
        r->worker_deployments[r->n_worker_deployments++] = deployment_summary(a, found[i]->st);
        deployment_wait_durable(op, found[i]);
    }
    if (!arena_failed(a) && count > size) {
        const char *last = found[size - 1]->st->name;
        r->next_page_token.len = strlen(last);
        r->next_page_token.data = arena_dup(a, last, strlen(last));
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

/* Create */

void rpc_create_worker_deployment(struct op *op) {
    const Ws__CreateWorkerDeploymentRequest *req = op->req;
    Ws__CreateWorkerDeploymentResponse *r = arena_new(op->call->arena, Ws__CreateWorkerDeploymentResponse);
    struct deployment_edit ed;
    struct deployment *d = NULL;
    struct space *space;
    struct uuid_text made = uuid_format(uuid_random(&op->e->rng));
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &d);
    if (rc == 0)
        rc = validate_id(req->request_id, "RequestId", &op->err);
    if (rc == 0 && d && (cstr_is_empty(req->request_id) || !cstr_eq(d->st->create_request_id, req->request_id)))
        rc = err_set(&op->err, ERR_EXISTS, "Worker Deployment with name '%.200s' already exists%s",
                     d->st->name, cstr_is_empty(d->st->create_request_id) ? ": workers that polled made it" : "");
    if (rc == 0 && !d && (rc = deployment_edit_begin(op, space, req->deployment_name, true, &ed)) == 0) {
        deployment_begin(&ed.step, req->deployment_name, req->identity,
                         cstr_is_empty(req->request_id) ? made.s : req->request_id);
        rc = deployment_edit_end(op, &ed, 0);
        d = ed.deployment;
    }
    if (rc == 0 && r) {
        ws__create_worker_deployment_response__init(r);
        r->conflict_token = conflict_token(op->call->arena, d->st);
        deployment_wait_durable(op, d);
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

void rpc_create_worker_deployment_version(struct op *op) {
    static const Ws__CreateWorkerDeploymentVersionResponse resp =
        WS__CREATE_WORKER_DEPLOYMENT_VERSION_RESPONSE__INIT;
    const Ws__CreateWorkerDeploymentVersionRequest *req = op->req;
    struct uuid_text made = uuid_format(uuid_random(&op->e->rng));
    const char *request_id = cstr_is_empty(req->request_id) ? made.s : req->request_id;
    struct deployment_edit ed;
    struct version version;
    struct space *space;
    bool is_changed = false;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = read_version(op, req->deployment_version, "", &version);
    if (rc == 0)
        rc = validate_id(req->request_id, "RequestId", &op->err);
    if (rc == 0 && req->compute_config)
        rc = err_set(&op->err, ERR_UNIMPLEMENTED,
                     "This server does not start workers: leave out ComputeConfig.");
    if (rc == 0 && (rc = deployment_edit_begin(op, space, version.deployment, false, &ed)) == 0) {
        deployment_edit_make_room(op->e, &ed, version.build_id);
        rc = deployment_create_version(&ed.step, version.build_id, req->identity, request_id, &is_changed);
        if (rc == 0 && !is_changed)
            deployment_edit_drop(&ed);
        else
            rc = deployment_edit_end(op, &ed, rc);
        if (rc == 0)
            deployment_wait_durable(op, ed.deployment);
    }
    deployment_reply(op, rc, &resp.base);
}

/* Routing */

/* The build that a request names; "" for workers without a version. */
static int read_build(struct op *op, const char *deployment_name, const char *text, const char *build_id,
                      const char **ret) {
    struct version v;
    *ret = build_id;
    if (cstr_is_empty(text))
        return 0;
    int rc = version_parse(op->call->arena, text, &v, &op->err);
    if (rc == 0 && !version_is_none(v) && !cstr_eq(v.deployment, deployment_name))
        rc = err_set(&op->err, ERR_INVALID, "Version '%.200s' is not one of the deployment '%.200s'.", text,
                     deployment_name);
    *ret = rc == 0 && !version_is_none(v) ? v.build_id : "";
    return rc;
}

static bool has_work(struct engine *e, struct space *space, struct version current,
                     const State__DeploymentQueue *q) {
    struct queue *base = queue_find(e, space, q->type == TASK_QUEUE_TYPE_ACTIVITY, q->name);
    if (!base || !version_eq(queue_route(e, base)->current, current))
        return false; /* nobody has used it, or another deployment has taken it over */
    const struct queue *own = queue_find_version(e, base, current);
    return own &&
           (own->task_count || (own->last_add_us != INT64_MIN &&
                                e->now.mono.us - own->last_add_us < ENGINE_BUSY_QUEUE_MS * USEC_PER_MS));
}

/* Whether a queue of the current version has work and no workers of the version that is to come. */
static bool lacks_queues(struct engine *e, struct space *space, const State__Deployment *st,
                         const char *build_id) {
    const State__DeploymentVersion *current = deployment_version(st, st->current_build_id);
    const State__DeploymentVersion *next = deployment_version(st, build_id);
    for (size_t i = 0; current && i < current->n_queues; i++) {
        const State__DeploymentQueue *q = current->queues[i];
        if (!deployment_has_queue(next, q->name, (E__TaskQueueType)q->type) &&
            has_work(e, space, (struct version){st->name, st->current_build_id}, q))
            return true;
    }
    return false;
}

typedef int deployment_routing(struct deployment_step *d, struct deployment_change *c);

/* *ret: the deployment as it is then. */
static int change_routing(struct op *op, struct space *space, const char *name, struct deployment_change *c,
                          deployment_routing *fn, const struct deployment **ret) {
    struct deployment_edit ed;
    int rc = validate_id(c->identity, "Identity", &op->err);
    if (rc == 0)
        rc = deployment_edit_begin(op, space, name, c->allows_no_pollers, &ed);
    if (rc < 0)
        return rc;
    c->arena = op->call->arena;
    c->lacks_queues = !cstr_is_empty(c->build_id) && lacks_queues(op->e, space, ed.step.st, c->build_id);
    if (c->allows_no_pollers)
        deployment_edit_make_room(op->e, &ed, c->build_id);
    rc = fn(&ed.step, c);
    if (rc == 0 && c->is_same && ed.deployment)
        deployment_edit_drop(&ed);
    else
        rc = deployment_edit_end(op, &ed, rc);
    *ret = ed.deployment;
    if (rc == 0)
        deployment_wait_durable(op, ed.deployment);
    return rc;
}

void rpc_set_worker_deployment_current_version(struct op *op) {
    const Ws__SetWorkerDeploymentCurrentVersionRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__SetWorkerDeploymentCurrentVersionResponse *r =
        arena_new(a, Ws__SetWorkerDeploymentCurrentVersionResponse);
    struct deployment_change c = {.identity = req->identity,
                                  .conflict_token = pb_bytes(&req->conflict_token),
                                  .allows_no_pollers = req->allow_no_pollers,
                                  .ignores_missing_queues = req->ignore_missing_task_queues};
    const struct deployment *d = NULL;
    struct deployment *found;
    struct space *space;
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &found);
    if (rc == 0)
        rc = read_build(op, req->deployment_name, req->version, req->build_id, &c.build_id);
    if (rc == 0)
        rc = change_routing(op, space, req->deployment_name, &c, deployment_set_current, &d);
    if (rc == 0 && r && c.previous_build_id) {
        struct version before = {cstr_is_empty(c.previous_build_id) ? "" : d->st->name, c.previous_build_id};
        ws__set_worker_deployment_current_version_response__init(r);
        r->conflict_token = conflict_token(a, d->st);
        r->previous_version = version_text(a, before, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
        r->previous_deployment_version = version_message(a, before);
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

void rpc_set_worker_deployment_ramping_version(struct op *op) {
    const Ws__SetWorkerDeploymentRampingVersionRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__SetWorkerDeploymentRampingVersionResponse *r =
        arena_new(a, Ws__SetWorkerDeploymentRampingVersionResponse);
    struct deployment_change c = {.identity = req->identity,
                                  .percentage = req->percentage,
                                  .conflict_token = pb_bytes(&req->conflict_token),
                                  .allows_no_pollers = req->allow_no_pollers,
                                  .ignores_missing_queues = req->ignore_missing_task_queues};
    const struct deployment *d = NULL;
    struct deployment *found;
    struct space *space;
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &found);
    if (rc == 0 && !(req->percentage >= 0 && req->percentage <= 100))
        rc = err_set(&op->err, ERR_INVALID, "Percentage must be between 0 and 100.");
    if (rc == 0)
        rc = read_build(op, req->deployment_name, req->version, req->build_id, &c.build_id);
    if (rc == 0) {
        c.is_unset = cstr_is_empty(c.build_id) && req->percentage == 0;
        rc = change_routing(op, space, req->deployment_name, &c, deployment_set_ramping, &d);
    }
    if (rc == 0 && r && c.previous_build_id) {
        struct version before = {cstr_is_empty(c.previous_build_id) ? "" : d->st->name, c.previous_build_id};
        ws__set_worker_deployment_ramping_version_response__init(r);
        r->conflict_token = conflict_token(a, d->st);
        if (c.had_ramp)
            r->previous_version = version_text(a, before, VERSION_OLD_DELIMITER, VERSION_UNVERSIONED_TEXT);
        r->previous_deployment_version = version_message(a, before);
        r->previous_percentage = c.previous_percentage;
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

void rpc_set_worker_deployment_manager(struct op *op) {
    const Ws__SetWorkerDeploymentManagerRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__SetWorkerDeploymentManagerResponse *r = arena_new(a, Ws__SetWorkerDeploymentManagerResponse);
    bool is_self = req->new_manager_identity_case ==
                       WS__SET_WORKER_DEPLOYMENT_MANAGER_REQUEST__NEW_MANAGER_IDENTITY_SELF &&
                   req->self;
    bool is_named = req->new_manager_identity_case ==
                    WS__SET_WORKER_DEPLOYMENT_MANAGER_REQUEST__NEW_MANAGER_IDENTITY_MANAGER_IDENTITY;
    const char *manager = is_self ? req->identity : is_named ? req->manager_identity : "";
    char *before = NULL;
    struct deployment_edit ed;
    struct deployment *found;
    struct space *space;
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &found);
    if (rc == 0)
        rc = validate_required(req->identity, "Identity", &op->err);
    if (rc == 0)
        rc = validate_id(manager, "ManagerIdentity", &op->err);
    if (rc == 0 && (rc = deployment_edit_begin(op, space, req->deployment_name, false, &ed)) == 0) {
        before = arena_strdup(a, ed.step.st->manager_identity);
        rc = deployment_set_manager(&ed.step, manager, req->identity, pb_bytes(&req->conflict_token));
        rc = deployment_edit_end(op, &ed, rc);
    }
    if (rc == 0 && r) {
        ws__set_worker_deployment_manager_response__init(r);
        r->conflict_token = conflict_token(a, ed.deployment->st);
        r->previous_manager_identity = before;
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

/* Metadata */

void rpc_update_worker_deployment_version_metadata(struct op *op) {
    const Ws__UpdateWorkerDeploymentVersionMetadataRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__UpdateWorkerDeploymentVersionMetadataResponse *r =
        arena_new(a, Ws__UpdateWorkerDeploymentVersionMetadataResponse);
    struct deployment_edit ed;
    struct version version;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = read_version(op, req->deployment_version, req->version, &version);
    if (rc == 0 && !req->n_upsert_entries && !req->n_remove_entries)
        rc = err_set(&op->err, ERR_INVALID, "There is nothing to upsert or to remove.");
    for (size_t i = 0; rc == 0 && i < req->n_upsert_entries; i++)
        rc = op_check_blob(op, (const ProtobufCMessage *)req->upsert_entries[i]->value);
    if (rc == 0 && (rc = deployment_edit_begin(op, space, version.deployment, false, &ed)) == 0) {
        rc = deployment_update_metadata(&ed.step, version.build_id, req);
        rc = deployment_edit_end(op, &ed, rc);
    }
    if (rc == 0 && r) {
        ws__update_worker_deployment_version_metadata_response__init(r);
        r->metadata = version_metadata(a, deployment_version(ed.deployment->st, version.build_id));
    }
    deployment_reply(op, rc, r ? &r->base : NULL);
}

/* Delete */

void rpc_delete_worker_deployment(struct op *op) {
    static const Ws__DeleteWorkerDeploymentResponse resp = WS__DELETE_WORKER_DEPLOYMENT_RESPONSE__INIT;
    const Ws__DeleteWorkerDeploymentRequest *req = op->req;
    struct deployment *d = NULL;
    struct space *space;
    int rc = need_deployment(op, req->namespace_, req->deployment_name, &space, &d);
    if (rc == 0 && d && d->st->n_versions)
        rc = err_set(&op->err, ERR_PRECONDITION, "Worker Deployment '%.200s' has versions: delete them first",
                     d->st->name);
    if (rc == 0 && d)
        deployment_remove(op, d);
    deployment_reply(op, rc, &resp.base);
}

void rpc_delete_worker_deployment_version(struct op *op) {
    static const Ws__DeleteWorkerDeploymentVersionResponse resp =
        WS__DELETE_WORKER_DEPLOYMENT_VERSION_RESPONSE__INIT;
    const Ws__DeleteWorkerDeploymentVersionRequest *req = op->req;
    struct deployment_removal removal = {.identity = req->identity, .skips_drainage = req->skip_drainage};
    struct deployment_edit ed;
    struct version version;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = read_version(op, req->deployment_version, req->version, &version);
    if (rc == 0 && (rc = deployment_edit_begin(op, space, version.deployment, false, &ed)) == 0) {
        const State__DeploymentVersion *v = deployment_version(ed.step.st, version.build_id);
        removal.build_id = version.build_id;
        removal.has_pollers = v && deployment_has_pollers(op->e, space, version.deployment, v);
        rc = deployment_delete_version(&ed.step, &removal);
        rc = deployment_edit_end(op, &ed, rc);
    }
    deployment_reply(op, rc, &resp.base);
}
