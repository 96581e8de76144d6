/* Namespaces. All of them are in memory; there are few. */
#include "base/mem.h"
#include "core/validate.h"
#include "engine/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

struct space *space_find(struct engine *e, const char *name) {
    return map_get(&e->spaces, str_of(name));
}

struct space *space_by_id(struct engine *e, struct uuid id) {
    struct space *s;
    for (size_t i = 0; (s = map_next(&e->spaces, &i));)
        if (uuid_eq(s->id, id))
            return s;
    return NULL;
}

int space_add(struct engine *e, struct str body) {
    struct space *s = mem_zalloc(sizeof(*s));
    if (!s)
        return ERR_NO_MEMORY;
    s->st = state__namespace__unpack(&wire_heap_allocator, body.n, (const uint8_t *)body.p);
    if (!s->st || uuid_parse(str_of(s->st->id), &s->id) < 0 ||
        map_put(&e->spaces, str_of(s->st->name), s) < 0) {
        pb_free(s->st);
        mem_free(s);
        return ERR_NO_MEMORY;
    }
    return 0;
}

int space_create(struct engine *e, const char *name, int64_t retention_us) {
    State__Namespace st = STATE__NAMESPACE__INIT;
    struct uuid id = uuid_random(&e->rng);
    struct uuid_text text = uuid_format(id);
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_NAMESPACE) : NULL;
    struct buf packed;
    if (!w)
        return ERR_NO_MEMORY;
    st.id = text.s;
    st.name = (char *)(uintptr_t)name;
    st.retention_us = retention_us;
    buf_init(&packed, 64 << 10);
    wire_encode(&packed, &st.base);
    w->namespace_id = id;
    w->name = str_of(arena_strdup(&g->batch.arena, name));
    w->body = str_bytes(arena_dup(&g->batch.arena, packed.data, packed.len), packed.len);
    int rc = w->name.p && w->body.p ? space_add(e, w->body) : ERR_NO_MEMORY;
    buf_done(&packed);
    return rc;
}

static int no_namespace(struct op *op, const char *name) {
    int rc = err_set(&op->err, ERR_NO_NAMESPACE, "Namespace %s is not found.", name);
    strncpy(op->err.subject, name, sizeof(op->err.subject) - 1);
    return rc;
}

int op_need_space(struct op *op, const char *name, struct space **ret) {
    if (strempty(name))
        return err_set(&op->err, ERR_INVALID, "Namespace is not set on request.");
    int rc = validate_id(name, "Namespace", &op->err);
    if (rc < 0)
        return rc;
    *ret = space_find(op->e, name);
    if (*ret)
        return 0;
    return no_namespace(op, name);
}

static int describe(struct op *op, struct space *s, Ws__DescribeNamespaceResponse **ret) {
    struct arena *a = op->call->arena;
    Ws__DescribeNamespaceResponse *r = arena_new(a, Ws__DescribeNamespaceResponse);
    Namespace__NamespaceInfo *info = arena_new(a, Namespace__NamespaceInfo);
    Namespace__NamespaceInfo__Capabilities *caps = arena_new(a, Namespace__NamespaceInfo__Capabilities);
    Namespace__NamespaceConfig *config = arena_new(a, Namespace__NamespaceConfig);
    Google__Protobuf__Duration *retention = arena_new(a, Google__Protobuf__Duration);
    Replication__NamespaceReplicationConfig *repl = arena_new(a, Replication__NamespaceReplicationConfig);
    if (arena_failed(a))
        return op_out_of_memory(op);
    ws__describe_namespace_response__init(r);
    namespace__namespace_info__init(info);
    namespace__namespace_info__capabilities__init(caps);
    namespace__namespace_config__init(config);
    replication__namespace_replication_config__init(repl);
    *retention = pb_duration(s->st->retention_us);
    info->name = s->st->name;
    info->id = s->st->id;
    info->description = s->st->description;
    info->owner_email = s->st->owner_email;
    info->state = NAMESPACE_STATE_REGISTERED;
    caps->sync_update = true;
    caps->async_update = true;
    info->capabilities = caps;
    config->workflow_execution_retention_ttl = retention;
    repl->active_cluster_name = (char *)(uintptr_t) "active";
    r->namespace_info = info;
    r->config = config;
    r->replication_config = repl;
    *ret = r;
    return 0;
}

static void go_describe(struct op *op) {
    const Ws__DescribeNamespaceRequest *req = op->req;
    Ws__DescribeNamespaceResponse *resp;
    struct space *s = NULL;
    struct uuid id;
    int rc = 0;
    if (strempty(req->namespace_) && !strempty(req->id)) {
        if (uuid_parse(str_of(req->id), &id) == 0)
            s = space_by_id(op->e, id);
        if (!s)
            rc = no_namespace(op, req->id);
    } else {
        rc = op_need_space(op, req->namespace_, &s);
    }
    if (rc == 0)
        rc = describe(op, s, &resp);
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &resp->base, (struct str){NULL, 0});
}

void engine_describe_namespace(struct engine *e, struct call *c, const Ws__DescribeNamespaceRequest *req) {
    struct op *op = op_new(e, c, req, go_describe);
    if (op)
        op_start(op);
}
