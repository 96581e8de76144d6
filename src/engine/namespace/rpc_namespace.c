/* Calls about namespaces: register, describe, update, list, and their search attributes. */
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/attributes.h"
#include "core/step/validate.h"
#include "engine/runtime/copy.h"
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"

#define RETENTION_MIN_US (INT64_C(3600) * USEC_PER_SEC) /* an hour, as for local namespaces elsewhere */
#define LIST_PAGE_MAX 100

/* Describing */

static Namespace__NamespaceInfo *describe_info(struct op *op, const struct space *s) {
    struct arena *a = op->call->arena;
    Namespace__NamespaceInfo *info = arena_new(a, Namespace__NamespaceInfo);
    Namespace__NamespaceInfo__Capabilities *caps = arena_new(a, Namespace__NamespaceInfo__Capabilities);
    Namespace__NamespaceInfo__Limits *limits = arena_new(a, Namespace__NamespaceInfo__Limits);
    if (!info || !caps || !limits)
        return NULL;
    namespace__namespace_info__limits__init(limits);
    limits->blob_size_limit_error = limit_of(&op->e->limits, SETTABLE_BLOB_BYTES);
    limits->memo_size_limit_error = limit_of(&op->e->limits, SETTABLE_MEMO_BYTES);
    namespace__namespace_info__init(info);
    namespace__namespace_info__capabilities__init(caps);
    caps->eager_workflow_start = true;
    caps->sync_update = true;
    caps->async_update = true;
    caps->workflow_pause = true;
    caps->worker_heartbeats = true;
    caps->poller_autoscaling = true;
    info->name = s->st->name;
    info->id = s->st->id;
    info->description = s->st->description;
    info->owner_email = s->st->owner_email;
    info->state = (E__NamespaceState)s->st->state;
    info->supports_schedules = true;
    info->capabilities = caps;
    info->limits = limits;
    info->data = arena_array(a, Namespace__NamespaceInfo__DataEntry *, s->st->n_data);
    for (size_t i = 0; info->data && i < s->st->n_data; i++) {
        Namespace__NamespaceInfo__DataEntry *d = arena_new(a, Namespace__NamespaceInfo__DataEntry);
        if (!d)
            return NULL;
        namespace__namespace_info__data_entry__init(d);
        d->key = s->st->data[i]->key;
        d->value = s->st->data[i]->value;
        info->data[info->n_data++] = d;
    }
    return info;
}

/* It lives here and nowhere else. */
static Replication__NamespaceReplicationConfig *describe_place(struct arena *a) {
    Replication__NamespaceReplicationConfig *repl = arena_new(a, Replication__NamespaceReplicationConfig);
    Replication__ClusterReplicationConfig *self = arena_new(a, Replication__ClusterReplicationConfig);
    Replication__ClusterReplicationConfig **all = arena_array(a, Replication__ClusterReplicationConfig *, 1);
    if (!repl || !self || !all)
        return NULL;
    replication__namespace_replication_config__init(repl);
    replication__cluster_replication_config__init(self);
    self->cluster_name = repl->active_cluster_name = (char *)(uintptr_t)ENGINE_CLUSTER_NAME;
    all[0] = self;
    repl->clusters = all;
    repl->n_clusters = 1;
    repl->state = REPLICATION_STATE_NORMAL;
    return repl;
}

static Ws__DescribeNamespaceResponse *namespace_describe(struct op *op, const struct space *s) {
    struct arena *a = op->call->arena;
    Ws__DescribeNamespaceResponse *r = arena_new(a, Ws__DescribeNamespaceResponse);
    Namespace__NamespaceConfig *config = arena_new(a, Namespace__NamespaceConfig);
    Google__Protobuf__Duration *retention = arena_new(a, Google__Protobuf__Duration);
    Replication__NamespaceReplicationConfig *repl = describe_place(a);
    if (!r || !config || !retention || !repl)
        return NULL;
    ws__describe_namespace_response__init(r);
    namespace__namespace_config__init(config);
    *retention = pb_duration(s->st->retention_us);
    config->workflow_execution_retention_ttl = retention;
    config->history_archival_state = ARCHIVAL_STATE_DISABLED;
    config->visibility_archival_state = ARCHIVAL_STATE_DISABLED;
    r->namespace_info = describe_info(op, s);
    r->config = config;
    r->replication_config = repl;
    return arena_failed(a) ? NULL : r;
}

void rpc_describe_namespace(struct op *op) {
    const Ws__DescribeNamespaceRequest *req = op->req;
    Ws__DescribeNamespaceResponse *resp = NULL;
    struct space *s = NULL;
    int rc = cstr_is_empty(req->namespace_) && !cstr_is_empty(req->id) ? op_need_space_id(op, req->id, &s)
                                                             : op_find_space(op, req->namespace_, &s);
    if (rc == 0 && !(resp = namespace_describe(op, s)))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &resp->base, (struct str){NULL, 0});
}

static int namespace_compare_names(const void *a, const void *b) {
    const struct space *const *x = a, *const *y = b;
    return strcmp((*x)->st->name, (*y)->st->name);
}

/* Those behind `after`, in the order of their names: so a page can begin where one ended that is gone. */
static struct space **namespace_list_after(struct op *op, struct str after, bool with_deleted, size_t *ret_count) {
    struct space **all = arena_array(op->call->arena, struct space *, map_count(&op->e->spaces));
    struct space *s;
    *ret_count = 0;
    for (size_t i = 0; all && (s = map_next(&op->e->spaces, &i));) {
        struct str name = str_of(s->st->name);
        int order = memcmp(name.p, after.n ? after.p : "", MIN(name.n, after.n));
        bool is_behind = order > 0 || (order == 0 && name.n > after.n);
        if (is_behind && (with_deleted || s->st->state != NAMESPACE_STATE_DELETED))
            all[(*ret_count)++] = s;
    }
    if (*ret_count)
        qsort(all, *ret_count, sizeof(struct space *), namespace_compare_names);
    return all;
}

void rpc_list_namespaces(struct op *op) {
    const Ws__ListNamespacesRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__ListNamespacesResponse *r = arena_new(a, Ws__ListNamespacesResponse);
    size_t size = req->page_size > 0 ? MIN((size_t)req->page_size, LIST_PAGE_MAX) : LIST_PAGE_MAX;
    bool with_deleted = req->namespace_filter && req->namespace_filter->include_deleted;
    size_t count;
    struct space **spaces = namespace_list_after(op, pb_bytes(&req->next_page_token), with_deleted, &count);
    if (r) {
        ws__list_namespaces_response__init(r);
        r->namespaces = arena_array(a, Ws__DescribeNamespaceResponse *, size);
    }
    for (size_t i = 0; !arena_failed(a) && i < MIN(count, size); i++)
        r->namespaces[r->n_namespaces++] = namespace_describe(op, spaces[i]);
    if (!arena_failed(a) && count > size) {
        const char *last = spaces[size - 1]->st->name;
        r->next_page_token.len = strlen(last);
        r->next_page_token.data = arena_dup(a, last, strlen(last));
    }
    if (!r || arena_failed(a)) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    op_reply(op, &r->base, (struct str){NULL, 0});
}

/* Changing */

static int validate_retention(const Google__Protobuf__Duration *d, struct err *err) {
    if (!d || !pb_duration_valid(d) || pb_duration_us(d) < RETENTION_MIN_US)
        return err_set(err, ERR_INVALID,
                       "A valid retention period is not set on request: it must be at least an hour.");
    return 0;
}

static void namespace_set_data(State__Namespace *st, const char *key, const char *value, bool *failed) {
    for (size_t i = 0; i < st->n_data; i++) {
        if (cstr_eq(st->data[i]->key, key)) {
            pb_set_string(&st->data[i]->value, value, failed);
            return;
        }
    }
    State__Namespace__DataEntry *d = pb_new(&state__namespace__data_entry__descriptor, failed);
    if (!d)
        return;
    pb_set_string(&d->key, key, failed);
    pb_set_string(&d->value, value, failed);
    pb_append_message(&st->n_data, &st->data, d, failed);
}

State__Namespace *op_copy_space(struct op *op, const struct space *s) {
    bool failed = false;
    State__Namespace *copy = pb_clone(&s->st->base, &failed);
    if (failed)
        (void)op_out_of_memory(op);
    return copy;
}

void op_reply_space(struct op *op, struct space *s, State__Namespace *before, bool failed,
                    const ProtobufCMessage *resp) {
    if (failed || space_write(op->e, s) < 0) {
        space_undo(s, before);
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    pb_free(before);
    op->wait_seq = op->e->open->seq;
    op_reply_durable(op, resp, (struct str){NULL, 0});
}

static int namespace_create(struct op *op, const Ws__RegisterNamespaceRequest *req) {
    bool failed = false;
    State__Namespace *st = pb_new(&state__namespace__descriptor, &failed);
    if (!st)
        return op_out_of_memory(op);
    pb_set_string(&st->name, req->namespace_, &failed);
    pb_set_string(&st->description, req->description, &failed);
    pb_set_string(&st->owner_email, req->owner_email, &failed);
    for (size_t i = 0; i < req->n_data; i++)
        namespace_set_data(st, req->data[i]->key, req->data[i]->value, &failed);
    st->retention_us = pb_duration_us(req->workflow_execution_retention_period);
    int rc = failed || space_create(op->e, st) < 0 ? op_out_of_memory(op) : 0;
    pb_free(st);
    return rc;
}

void rpc_register_namespace(struct op *op) {
    static const Ws__RegisterNamespaceResponse resp = WS__REGISTER_NAMESPACE_RESPONSE__INIT;
    const Ws__RegisterNamespaceRequest *req = op->req;
    int rc = validate_required(req->namespace_, "Namespace", &op->err);
    if (rc == 0)
        rc = validate_retention(req->workflow_execution_retention_period, &op->err);
    if (rc == 0 && (space_find(op->e, req->namespace_) || cstr_eq(req->namespace_, SPACE_SYSTEM)))
        rc = err_std(&op->err, ERR_NAMESPACE_EXISTS);
    if (rc == 0 && map_count(&op->e->spaces) >= ENGINE_NAMESPACES)
        rc = err_set(&op->err, ERR_PRECONDITION, "The server has its maximum of %d namespaces.",
                     ENGINE_NAMESPACES);
    if (rc == 0)
        rc = namespace_create(op, req);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    op->wait_seq = op->e->open->seq;
    op_reply_durable(op, &resp.base, (struct str){NULL, 0});
}

/* A state only goes forward. What is merely marked as deleted by an update stays until someone deletes it. */
static int validate_state(const struct space *s, E__NamespaceState to, struct err *err) {
    if (to == NAMESPACE_STATE_UNSPECIFIED || (int32_t)to == s->st->state)
        return 0;
    if ((int32_t)to < s->st->state || to > NAMESPACE_STATE_DELETED)
        return err_set(err, ERR_INVALID, "Invalid namespace state update.");
    return 0;
}

static void apply_update(State__Namespace *st, const Ws__UpdateNamespaceRequest *req, bool *failed) {
    const Namespace__UpdateNamespaceInfo *info = req->update_info;
    if (req->config && req->config->workflow_execution_retention_ttl)
        st->retention_us = pb_duration_us(req->config->workflow_execution_retention_ttl);
    if (!info)
        return;
    if (info->state != NAMESPACE_STATE_UNSPECIFIED)
        st->state = (int32_t)info->state;
    if (!cstr_is_empty(info->description))
        pb_set_string(&st->description, info->description, failed);
    if (!cstr_is_empty(info->owner_email))
        pb_set_string(&st->owner_email, info->owner_email, failed);
    for (size_t i = 0; i < info->n_data; i++)
        namespace_set_data(st, info->data[i]->key, info->data[i]->value, failed);
}

/* It may change again before this is sent: a copy. NULL when memory is short. */
static const ProtobufCMessage *describe_update(struct op *op, struct space *s) {
    Ws__DescribeNamespaceResponse *d = namespace_describe(op, s);
    Ws__UpdateNamespaceResponse *resp = arena_new(op->call->arena, Ws__UpdateNamespaceResponse);
    if (!d || !resp)
        return NULL;
    ws__update_namespace_response__init(resp);
    resp->namespace_info = message_copy(op->call->arena, &d->namespace_info->base);
    resp->config = d->config;
    resp->replication_config = d->replication_config;
    return resp->namespace_info ? &resp->base : NULL;
}

void rpc_update_namespace(struct op *op) {
    const Ws__UpdateNamespaceRequest *req = op->req;
    const Google__Protobuf__Duration *retention =
        req->config ? req->config->workflow_execution_retention_ttl : NULL;
    struct space *s;
    bool failed = false;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0 && retention)
        rc = validate_retention(retention, &op->err);
    if (rc == 0 && req->update_info)
        rc = validate_state(s, req->update_info->state, &op->err);
    State__Namespace *before = rc == 0 ? op_copy_space(op, s) : NULL;
    if (!before) {
        op_fail(op);
        return;
    }
    apply_update(s->st, req, &failed);
    const ProtobufCMessage *resp = describe_update(op, s);
    op_reply_space(op, s, before, failed || !resp, resp);
}

/* Search attributes */

static size_t custom_index(const State__Namespace *st, const char *name) {
    size_t i = 0;
    while (i < st->n_search_attributes && !cstr_eq(st->search_attributes[i]->name, name))
        i++;
    return i;
}

static int validate_new(struct op *op, const State__Namespace *st, const char *name,
                        E__IndexedValueType type) {
    size_t i = custom_index(st, name);
    int rc = validate_required(name, "Search attribute name", &op->err);
    if (rc < 0)
        return rc;
    if (attribute_is_built_in(name))
        return err_set(&op->err, ERR_INVALID, "Search attribute %.200s is reserved by system.", name);
    if (cstr_is_empty(attribute_type_name(type)))
        return err_set(&op->err, ERR_INVALID, "Unknown search attribute type of %.200s.", name);
    if (i < st->n_search_attributes && st->search_attributes[i]->type != (int32_t)type)
        return err_set(&op->err, ERR_INVALID, "Search attribute %.200s already exists with the type %s.",
                       name, attribute_type_name((E__IndexedValueType)st->search_attributes[i]->type));
    return 0;
}

int space_add_attribute(struct space *s, const char *name, E__IndexedValueType type) {
    bool failed = false;
    if (custom_index(s->st, name) < s->st->n_search_attributes)
        return 0;
    State__SearchAttribute *a = pb_new(&state__search_attribute__descriptor, &failed);
    if (!a)
        return ERR_NO_MEMORY;
    pb_set_string(&a->name, name, &failed);
    a->type = (int32_t)type;
    pb_append_message(&s->st->n_search_attributes, &s->st->search_attributes, a, &failed);
    return failed ? ERR_NO_MEMORY : 0;
}

static int seed_attribute(struct space *s, const char *pair) {
    const char *equals = strchr(pair, '=');
    char name[LIMIT_ID_BYTES + 1];
    E__IndexedValueType type = INDEXED_VALUE_TYPE_TEXT;
    if (!equals || (size_t)(equals - pair) > LIMIT_ID_BYTES)
        return ERR_INVALID;
    memcpy(name, pair, (size_t)(equals - pair));
    name[equals - pair] = 0;
    while (!cstr_is_empty(attribute_type_name(type)) && !cstr_eq(attribute_type_name(type), equals + 1))
        type++;
    if (cstr_is_empty(attribute_type_name(type)))
        return ERR_INVALID;
    return attribute_is_built_in(name) ? 0 : space_add_attribute(s, name, type);
}

int space_seed_attributes(struct engine *e, struct space *s) {
    size_t before = s->st->n_search_attributes;
    for (const char *const *pair = e->cfg.search_attributes; pair && *pair; pair++) {
        int rc = seed_attribute(s, *pair);
        if (rc < 0)
            return rc;
    }
    return s->st->n_search_attributes == before ? 0 : space_write(e, s);
}

void rpc_add_search_attributes(struct op *op) {
    static const Ops__AddSearchAttributesResponse resp = OPS__ADD_SEARCH_ATTRIBUTES_RESPONSE__INIT;
    const Ops__AddSearchAttributesRequest *req = op->req;
    struct space *s;
    bool failed = false;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0 && req->n_search_attributes == 0)
        rc = err_set(&op->err, ERR_INVALID, "SearchAttributes are not set on request.");
    for (size_t i = 0; rc == 0 && i < req->n_search_attributes; i++)
        rc = validate_new(op, s->st, req->search_attributes[i]->key, req->search_attributes[i]->value);
    if (rc == 0 && s->st->n_search_attributes + req->n_search_attributes > ENGINE_CUSTOM_ATTRIBUTES)
        rc = err_set(&op->err, ERR_PRECONDITION,
                     "A namespace may have at most %d search attributes of its own.",
                     ENGINE_CUSTOM_ATTRIBUTES);
    State__Namespace *before = rc == 0 ? op_copy_space(op, s) : NULL;
    if (!before) {
        op_fail(op);
        return;
    }
    for (size_t i = 0; i < req->n_search_attributes; i++)
        failed |=
            space_add_attribute(s, req->search_attributes[i]->key, req->search_attributes[i]->value) < 0;
    op_reply_space(op, s, before, failed, &resp.base);
}

void rpc_remove_search_attributes(struct op *op) {
    static const Ops__RemoveSearchAttributesResponse resp = OPS__REMOVE_SEARCH_ATTRIBUTES_RESPONSE__INIT;
    const Ops__RemoveSearchAttributesRequest *req = op->req;
    struct space *s;
    int rc = op_need_space(op, req->namespace_, &s);
    if (rc == 0 && req->n_search_attributes == 0)
        rc = err_set(&op->err, ERR_INVALID, "SearchAttributes are not set on request.");
    for (size_t i = 0; rc == 0 && i < req->n_search_attributes; i++)
        if (attribute_is_built_in(req->search_attributes[i]))
            rc = err_set(&op->err, ERR_INVALID, "Search attribute %.200s is reserved by system.",
                         req->search_attributes[i]);
    for (size_t i = 0; rc == 0 && i < req->n_search_attributes; i++)
        if (custom_index(s->st, req->search_attributes[i]) == s->st->n_search_attributes)
            rc = err_set(&op->err, ERR_NOT_FOUND, "Search attribute %.200s doesn't exist.",
                         req->search_attributes[i]);
    State__Namespace *before = rc == 0 ? op_copy_space(op, s) : NULL;
    if (!before) {
        op_fail(op);
        return;
    }
    for (size_t i = 0; i < req->n_search_attributes; i++) {
        size_t at = custom_index(s->st, req->search_attributes[i]);
        if (at < s->st->n_search_attributes)
            pb_remove_message(&s->st->n_search_attributes, s->st->search_attributes, at);
    }
    op_reply_space(op, s, before, false, &resp.base);
}

void rpc_list_search_attributes(struct op *op) {
    const Ops__ListSearchAttributesRequest *req = op->req;
    struct arena *a = op->call->arena;
    struct space *s;
    if (op_need_space(op, req->namespace_, &s) < 0) {
        op_fail(op);
        return;
    }
    size_t built_ins = 0;
    while (attribute_built_in_at(built_ins))
        built_ins++;
    Ops__ListSearchAttributesResponse *r = arena_new(a, Ops__ListSearchAttributesResponse);
    Ops__ListSearchAttributesResponse__CustomAttributesEntry *custom =
        arena_array(a, Ops__ListSearchAttributesResponse__CustomAttributesEntry, s->st->n_search_attributes);
    Ops__ListSearchAttributesResponse__SystemAttributesEntry *system =
        arena_array(a, Ops__ListSearchAttributesResponse__SystemAttributesEntry, built_ins);
    if (r) {
        ops__list_search_attributes_response__init(r);
        r->custom_attributes = arena_array(a, Ops__ListSearchAttributesResponse__CustomAttributesEntry *,
                                           s->st->n_search_attributes);
        r->system_attributes =
            arena_array(a, Ops__ListSearchAttributesResponse__SystemAttributesEntry *, built_ins);
    }
    if (arena_failed(a)) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    for (size_t i = 0; i < s->st->n_search_attributes; i++) {
        ops__list_search_attributes_response__custom_attributes_entry__init(&custom[i]);
        custom[i].key = s->st->search_attributes[i]->name;
        custom[i].value = (E__IndexedValueType)s->st->search_attributes[i]->type;
        r->custom_attributes[r->n_custom_attributes++] = &custom[i];
    }
    for (size_t i = 0; i < built_ins; i++) {
        ops__list_search_attributes_response__system_attributes_entry__init(&system[i]);
        system[i].key = (char *)(uintptr_t)attribute_built_in_at(i)->name;
        system[i].value = attribute_built_in_at(i)->type;
        r->system_attributes[r->n_system_attributes++] = &system[i];
    }
    op_reply(op, &r->base, (struct str){NULL, 0});
}

/* The older call, without a namespace: the built-in ones. */
void rpc_get_search_attributes(struct op *op) {
    struct arena *a = op->call->arena;
    size_t n = 0;
    while (attribute_built_in_at(n))
        n++;
    Ws__GetSearchAttributesResponse *r = arena_new(a, Ws__GetSearchAttributesResponse);
    Ws__GetSearchAttributesResponse__KeysEntry *keys =
        arena_array(a, Ws__GetSearchAttributesResponse__KeysEntry, n);
    Ws__GetSearchAttributesResponse__KeysEntry **list =
        arena_array(a, Ws__GetSearchAttributesResponse__KeysEntry *, n);
    if (arena_failed(a)) {
        (void)op_out_of_memory(op);
        op_fail(op);
        return;
    }
    ws__get_search_attributes_response__init(r);
    r->keys = list;
    for (size_t i = 0; i < n; i++) {
        ws__get_search_attributes_response__keys_entry__init(&keys[i]);
        keys[i].key = (char *)(uintptr_t)attribute_built_in_at(i)->name;
        keys[i].value = attribute_built_in_at(i)->type;
        r->keys[r->n_keys++] = &keys[i];
    }
    op_reply(op, &r->base, (struct str){NULL, 0});
}
