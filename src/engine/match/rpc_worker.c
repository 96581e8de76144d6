/* Workers as they describe themselves.
 *
 * A worker sends a heartbeat every minute or so; the last one of each is kept,
 * in memory only, since a living worker sends the next one soon. Who has not
 * been heard of for a while is forgotten, and so is who says that it has shut
 * down; above the limit the one that was silent for longest makes room. */
#include <stdlib.h>

#include "base/mem.h"
#include "core/search/filter.h"
#include "core/step/pb.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"
#include "names.h"

#define LIST_PAGE_MAX 100
#define NSEC_PER_SEC INT64_C(1000000000)

struct worker {
    struct str key; /* namespace id, instance key; allocated behind the struct */
    const struct space *space;
    Worker__WorkerHeartbeat *beat;
    int64_t seen_us; /* monotonic */
    struct list link; /* in engine.heard, longest silent first */
};

/* Remembering */

static struct str worker_key(struct buf *b, const struct space *space, const char *instance_key) {
    buf_add(b, space->id.b, sizeof(space->id));
    buf_add_cstr(b, instance_key);
    return buf_str(b);
}

static struct worker *worker_find(struct engine *e, const struct space *space, const char *instance_key) {
    struct buf b cleanup(buf_done);
    buf_init(&b, sizeof(space->id) + LIMIT_ID_BYTES);
    struct str key = worker_key(&b, space, instance_key);
    return buf_ok(&b) ? map_get(&e->workers, key) : NULL;
}

static void worker_forget(struct engine *e, struct worker *w) {
    map_remove(&e->workers, w->key);
    list_remove(&w->link);
    pb_free(w->beat);
    mem_free(w);
}

static struct worker *worker_new(struct engine *e, const struct space *space, const char *instance_key) {
    struct buf b cleanup(buf_done);
    buf_init(&b, sizeof(space->id) + LIMIT_ID_BYTES);
    struct str key = worker_key(&b, space, instance_key);
    struct worker *w = buf_ok(&b) ? mem_zalloc(sizeof(*w) + key.n) : NULL;
    if (!w)
        return NULL;
    memcpy(w + 1, key.p, key.n);
    w->key = str_bytes(w + 1, key.n);
    w->space = space;
    if (map_put(&e->workers, w->key, w) < 0) {
        mem_free(w);
        return NULL;
    }
    return w;
}

static struct worker *longest_silent(const struct engine *e) {
    return list_empty(&e->heard) ? NULL : container_of(e->heard.next, struct worker, link);
}

static void forget_silent(struct engine *e) {
    for (struct worker *w; (w = longest_silent(e));) {
        if (e->now.mono.us - w->seen_us <= ENGINE_WORKER_SILENT_MS * USEC_PER_MS)
            return;
        worker_forget(e, w);
    }
}

static int worker_hear(struct engine *e, const struct space *space, const Worker__WorkerHeartbeat *beat) {
    struct worker *w = worker_find(e, space, beat->worker_instance_key);
    bool failed = false;
    if (beat->status == WORKER_STATUS_SHUTDOWN) {
        if (w)
            worker_forget(e, w);
        return 0;
    }
    Worker__WorkerHeartbeat *copy = pb_clone(&beat->base, &failed);
    if (!w && !failed) {
        forget_silent(e);
        if (map_count(&e->workers) >= ENGINE_WORKERS)
            worker_forget(e, longest_silent(e));
        w = worker_new(e, space, beat->worker_instance_key);
    }
    if (failed || !w) {
        pb_free(copy);
        return ERR_NO_MEMORY;
    }
    pb_free(w->beat);
    w->beat = copy;
    w->seen_us = e->now.mono.us;
    list_remove(&w->link);
    list_append(&e->heard, &w->link);
    return 0;
}

int worker_check(struct op *op, const Worker__WorkerHeartbeat *beat) {
    int rc = validate_required(beat->worker_instance_key, "WorkerInstanceKey", &op->err);
    if (rc == 0 && protobuf_c_message_get_packed_size(&beat->base) > ENGINE_WORKER_BYTES)
        rc = err_set(&op->err, ERR_INVALID, "WorkerHeartbeat exceeds %d bytes.", ENGINE_WORKER_BYTES);
    return rc;
}

int worker_heard(struct op *op, const struct space *space, const Worker__WorkerHeartbeat *beat) {
    return worker_hear(op->e, space, beat) < 0 ? op_out_of_memory(op) : 0;
}

void workers_forget(struct engine *e, const struct space *space) {
    struct worker *w;
    for (size_t i = 0; (w = map_next(&e->workers, &i));)
        if (!space || w->space == space)
            worker_forget(e, w);
}

void rpc_record_worker(struct op *op) {
    static const Ws__RecordWorkerHeartbeatResponse resp = WS__RECORD_WORKER_HEARTBEAT_RESPONSE__INIT;
    const Ws__RecordWorkerHeartbeatRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    for (size_t i = 0; rc == 0 && i < req->n_worker_heartbeat; i++)
        rc = worker_check(op, req->worker_heartbeat[i]);
    for (size_t i = 0; rc == 0 && i < req->n_worker_heartbeat; i++)
        rc = worker_heard(op, space, req->worker_heartbeat[i]);
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &resp.base, (struct str){NULL, 0});
}

/* Asking */

enum worker_field {
#define WORKER_FIELD(name, type) FIELD_##name,
#include "engine/match/worker_fields.def"
#undef WORKER_FIELD
    FIELD_COUNT,
};

static const struct {
    const char *name;
    E__IndexedValueType type;
} fields[FIELD_COUNT] = {
#define WORKER_FIELD(name, type) {#name, INDEXED_VALUE_TYPE_##type},
#include "engine/match/worker_fields.def"
#undef WORKER_FIELD
};

static const char *worker_status_name(E__WorkerStatus status) {
    static const char *const names[] = {"Unspecified", "Running", "ShuttingDown", "Shutdown"};
    return (size_t)status < ARRAY_LEN(names) ? names[status] : names[0];
}

static const char *field_text(const Worker__WorkerHeartbeat *b, enum worker_field f) {
    switch (f) {
    case FIELD_WorkerInstanceKey:
        return b->worker_instance_key;
    case FIELD_WorkerIdentity:
        return b->worker_identity;
    case FIELD_HostName:
        return b->host_info ? b->host_info->host_name : "";
    case FIELD_TaskQueue:
        return b->task_queue;
    case FIELD_DeploymentName:
        return b->deployment_version ? b->deployment_version->deployment_name : "";
    case FIELD_BuildId:
        return b->deployment_version ? b->deployment_version->build_id : "";
    case FIELD_SdkName:
        return b->sdk_name;
    case FIELD_SdkVersion:
        return b->sdk_version;
    case FIELD_WorkerStatus:
    case FIELD_Status:
        return worker_status_name(b->status);
    case FIELD_StartTime:
    case FIELD_HeartbeatTime:
    case FIELD_COUNT:
        break;
    }
    return "";
}

static bool worker_matches(const struct worker *w, const struct predicate *where) {
    struct value values[FIELD_COUNT];
    struct attribute all[FIELD_COUNT];
    for (enum worker_field f = 0; f < FIELD_COUNT; f++) {
        const Google__Protobuf__Timestamp *t =
            f == FIELD_StartTime ? w->beat->start_time : w->beat->heartbeat_time;
        bool is_time = fields[f].type == INDEXED_VALUE_TYPE_DATETIME;
        const char *text = field_text(w->beat, f);
        values[f] =
            is_time ? value_int(t ? t->seconds * NSEC_PER_SEC + t->nanos : 0) : value_text(str_of(text));
        all[f] =
            (struct attribute){str_of(fields[f].name), &values[f], is_time ? t != NULL : !cstr_is_empty(text)};
    }
    return predicate_holds(where, all, FIELD_COUNT);
}

/* The parser knows what lists of workflows have; only these are there to ask about workers. */
static bool names_fields(const struct predicate *p) {
    if (!p)
        return true;
    if (p->kind == PREDICATE_AND || p->kind == PREDICATE_OR || p->kind == PREDICATE_NOT)
        return names_fields(p->left) && names_fields(p->right);
    if (str_is(p->name, "TemporalNamespaceDivision"))
        return true; /* the parser's own: no worker has one */
    for (size_t f = 0; f < FIELD_COUNT; f++)
        if (str_is(p->name, fields[f].name))
            return true;
    return false;
}

static int worker_parse_query(struct op *op, const char *query, const struct predicate **ret) {
    struct arena *a = op->call->arena;
    State__Namespace asked = STATE__NAMESPACE__INIT;
    State__SearchAttribute all[FIELD_COUNT], *refs[FIELD_COUNT];
    struct filter filter;
    for (size_t f = 0; f < FIELD_COUNT; f++) {
        state__search_attribute__init(&all[f]);
        all[f].name = (char *)(uintptr_t)fields[f].name;
        all[f].type = (int32_t)fields[f].type;
        refs[f] = &all[f];
    }
    asked.search_attributes = refs;
    asked.n_search_attributes = FIELD_COUNT;
    int rc = filter_parse(a, &asked, FILTER_WORKFLOWS, str_of(query), &filter, &op->err);
    if (rc == 0 && (filter.is_grouped || !names_fields(filter.where)))
        rc = err_set(&op->err, ERR_INVALID, "invalid query: it asks for something that workers do not have");
    *ret = filter.where;
    return rc;
}

static int worker_by_key(const void *a, const void *b) {
    const struct worker *const *x = a, *const *y = b;
    return strcmp((*x)->beat->worker_instance_key, (*y)->beat->worker_instance_key);
}

/* Those that the query means behind the key `after`, in order. NULL: no memory. */
static const struct worker **find_workers(struct op *op, const struct space *space,
                                          const struct predicate *where, struct str after,
                                          size_t *ret_count) {
    struct engine *e = op->e;
    forget_silent(e);
    const struct worker **found =
        arena_array(op->call->arena, const struct worker *, MAX(map_count(&e->workers), (size_t)1));
    const struct worker *w;
    *ret_count = 0;
    for (size_t i = 0; found && (w = map_next(&e->workers, &i));) {
        struct str key = str_of(w->beat->worker_instance_key);
        int order = after.n ? memcmp(key.p, after.p, MIN(key.n, after.n)) : 1;
        bool is_behind = order > 0 || (order == 0 && key.n > after.n);
        if (w->space == space && is_behind && worker_matches(w, where))
            found[(*ret_count)++] = w;
    }
    if (*ret_count)
        qsort(found, *ret_count, sizeof(const struct worker *), worker_by_key);
    return found;
}

static Worker__WorkerInfo *worker_info(struct arena *a, const struct worker *w) {
    Worker__WorkerInfo *info = arena_new(a, Worker__WorkerInfo);
    if (!info)
        return NULL;
    worker__worker_info__init(info);
    info->worker_heartbeat = w->beat;
    return info;
}

static Worker__WorkerListInfo *worker_list_info(struct arena *a, const struct worker *w) {
    Worker__WorkerListInfo *info = arena_new(a, Worker__WorkerListInfo);
    const Worker__WorkerHeartbeat *b = w->beat;
    if (!info)
        return NULL;
    worker__worker_list_info__init(info);
    info->worker_instance_key = b->worker_instance_key;
    info->worker_identity = b->worker_identity;
    info->task_queue = b->task_queue;
    info->deployment_version = b->deployment_version;
    info->sdk_name = b->sdk_name;
    info->sdk_version = b->sdk_version;
    info->status = b->status;
    info->start_time = b->start_time;
    info->plugins = b->plugins;
    info->n_plugins = b->n_plugins;
    info->drivers = b->drivers;
    info->n_drivers = b->n_drivers;
    if (b->host_info) {
        info->host_name = b->host_info->host_name;
        info->worker_grouping_key = b->host_info->worker_grouping_key;
        info->process_id = b->host_info->process_id;
    }
    return info;
}

static void fill_page(struct arena *a, Ws__ListWorkersResponse *r, const struct worker **found, size_t count,
                      size_t size) {
    size_t n = MIN(count, size);
    r->workers_info = arena_array(a, Worker__WorkerInfo *, n + 1);
    r->workers = arena_array(a, Worker__WorkerListInfo *, n + 1);
    for (size_t i = 0; !arena_failed(a) && i < n; i++) {
        r->workers_info[r->n_workers_info++] = worker_info(a, found[i]);
        r->workers[r->n_workers++] = worker_list_info(a, found[i]);
    }
    if (arena_failed(a) || count <= n)
        return;
    const char *last = found[n - 1]->beat->worker_instance_key;
    r->next_page_token.len = strlen(last);
    r->next_page_token.data = arena_dup(a, last, strlen(last));
}

void rpc_list_workers(struct op *op) {
    const Ws__ListWorkersRequest *req = op->req;
    struct arena *a = op->call->arena;
    Ws__ListWorkersResponse *r = arena_new(a, Ws__ListWorkersResponse);
    size_t size = req->page_size > 0 ? MIN((size_t)req->page_size, LIST_PAGE_MAX) : LIST_PAGE_MAX, count;
    const struct predicate *where;
    struct space *space;
    int rc = r ? op_need_space(op, req->namespace_, &space) : op_out_of_memory(op);
    if (rc == 0)
        rc = worker_parse_query(op, req->query, &where);
    if (rc == 0) {
        const struct worker **found = find_workers(op, space, where, pb_bytes(&req->next_page_token), &count);
        ws__list_workers_response__init(r);
        if (found)
            fill_page(a, r, found, count, size);
        rc = arena_failed(a) ? op_out_of_memory(op) : 0;
    }
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &r->base, (struct str){NULL, 0});
}

void rpc_count_workers(struct op *op) {
    const Ws__CountWorkersRequest *req = op->req;
    Ws__CountWorkersResponse r = WS__COUNT_WORKERS_RESPONSE__INIT;
    const struct predicate *where;
    struct space *space;
    size_t count = 0;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = worker_parse_query(op, req->query, &where);
    if (rc == 0 && !find_workers(op, space, where, (struct str){NULL, 0}, &count))
        rc = op_out_of_memory(op);
    r.count = (int64_t)count;
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &r.base, (struct str){NULL, 0});
}

void rpc_describe_worker(struct op *op) {
    const Ws__DescribeWorkerRequest *req = op->req;
    Ws__DescribeWorkerResponse r = WS__DESCRIBE_WORKER_RESPONSE__INIT;
    struct worker *w = NULL;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_required(req->worker_instance_key, "WorkerInstanceKey", &op->err);
    forget_silent(op->e);
    if (rc == 0 && !(w = worker_find(op->e, space, req->worker_instance_key)))
        rc = err_set(&op->err, ERR_NOT_FOUND, "Worker %.200s not found", req->worker_instance_key);
    if (rc == 0 && !(r.worker_info = worker_info(op->call->arena, w)))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail(op);
    else
        op_reply(op, &r.base, (struct str){NULL, 0});
}
