/* Worker deployments in memory, and how their changes become durable.
 *
 * There are few and they change seldom, so each change is made on a copy, packed whole into the open
 * group, and then takes the place of what was there. */
#include "base/mem.h"
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

/* Finding */

struct deployment *deployment_find(struct engine *e, const struct space *space, const char *name) {
    struct name_key k uninitialized;
    return space->deployment_count ? map_get(&e->deployments, name_key(&k, space->id, name)) : NULL;
}

static bool book_has_queue(const struct version_book *b, const char *deployment, const char *build_id,
                           const char *queue) {
    const struct space *s = container_of((struct version_book *)(uintptr_t)b, struct space, book);
    const struct deployment *d = deployment_find(s->e, s, deployment);
    return d && deployment_has_queue(deployment_version(d->st, build_id), queue, TASK_QUEUE_TYPE_WORKFLOW);
}

struct version_book deployment_book(void) {
    return (struct version_book){book_has_queue};
}

bool deployment_has_pollers(struct engine *e, const struct space *space, const char *name,
                            const State__DeploymentVersion *v) {
    for (size_t i = 0; i < v->n_queues; i++) {
        struct queue *base = queue_find(e, (struct space *)(uintptr_t)space,
                                        v->queues[i]->type == TASK_QUEUE_TYPE_ACTIVITY, v->queues[i]->name);
        const struct queue *q =
            base ? queue_find_version(e, base, (struct version){name, v->build_id}) : NULL;
        if (q && queue_has_visitor(e, q))
            return true;
    }
    return false;
}

/* Life */

/* Takes the state. */
static struct deployment *deployment_admit(struct engine *e, struct space *space, State__Deployment *st) {
    struct name_key k uninitialized;
    struct str key = name_key(&k, space->id, st->name);
    struct deployment *d = key.n ? mem_zalloc(sizeof(*d) + key.n) : NULL;
    if (d) {
        memcpy(d + 1, key.p, key.n);
        d->key = str_bytes(d + 1, key.n);
        d->space = space;
        if (map_put(&e->deployments, d->key, d) < 0) {
            mem_free(d);
            d = NULL;
        }
    }
    if (!d)
        return NULL;
    d->st = st;
    space->deployment_count++;
    return d;
}

int deployment_add(struct engine *e, struct uuid namespace_id, struct str body) {
    struct space *space = space_by_id(e, namespace_id);
    State__Deployment *st = state__deployment__unpack(&wire_heap_allocator, body.n, (const uint8_t *)body.p);
    int rc = st ? 0 : ERR_NO_MEMORY;
    if (rc == 0 && space) /* else it went with its namespace */
        rc = deployment_admit(e, space, st) ? 0 : ERR_NO_MEMORY;
    if (rc < 0 || !space)
        pb_free(st);
    return rc;
}

void deployment_free(struct deployment *d) {
    pb_free(d->st);
    mem_free(d);
}

/* Steps */

int deployment_edit_begin(struct op *op, struct space *space, const char *name, bool may_create,
                          struct deployment_edit *ret) {
    struct deployment *d = deployment_find(op->e, space, name);
    *ret = (struct deployment_edit){.space = space, .deployment = d};
    ret->step.now = op->e->now.wall;
    ret->step.err = &op->err;
    if (!d && !may_create)
        return err_set(&op->err, ERR_NOT_FOUND,
                       "no Worker Deployment found with name '%.200s'; does it have pollers?", name);
    if (!d && map_count(&op->e->deployments) >= ENGINE_DEPLOYMENTS)
        return err_set(&op->err, ERR_FULL, "the server has its maximum of %d worker deployments",
                       ENGINE_DEPLOYMENTS);
    if (!d && space->deployment_count >= LIMIT_DEPLOYMENTS) {
        int rc = err_set(&op->err, ERR_FULL, "the namespace has its maximum of %d worker deployments",
                         LIMIT_DEPLOYMENTS);
        op->err.cause = RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS;
        return rc;
    }
    ret->step.st = d ? pb_clone(&d->st->base, &ret->step.failed)
                     : pb_new(&state__deployment__descriptor, &ret->step.failed);
    if (!ret->step.st)
        return op_out_of_memory(op);
    if (!d)
        deployment_begin(&ret->step, name, "", "");
    return 0;
}

struct poller_question {
    struct engine *e;
    const struct space *space;
    const char *name;
};

static bool has_pollers(void *ctx, const State__DeploymentVersion *v) {
    const struct poller_question *q = ctx;
    return deployment_has_pollers(q->e, q->space, q->name, v);
}

void deployment_edit_make_room(struct engine *e, struct deployment_edit *ed, const char *build_id) {
    State__Deployment *st = ed->step.st;
    struct poller_question q = {e, ed->space, st->name};
    if (cstr_is_empty(build_id) || deployment_version(st, build_id) || !deployment_is_full(st))
        return;
    size_t spare = deployment_spare_version(st, has_pollers, &q);
    if (spare != SIZE_MAX)
        pb_remove_message(&st->n_versions, st->versions, spare);
}

static int write_deployment(struct engine *e, const struct space *space, const State__Deployment *st) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_DEPLOYMENT) : NULL;
    struct buf packed;
    if (!w)
        return ERR_NO_MEMORY;
    buf_init(&packed, ENGINE_IMAGE_BYTES);
    wire_encode(&packed, &st->base);
    w->namespace_id = space->id;
    w->name = str_of(arena_strdup(&g->batch.arena, st->name));
    w->body = str_bytes(arena_dup(&g->batch.arena, packed.data, packed.len), packed.len);
    /* The write is in the batch: it cannot be taken back, and must not stand there half. */
    ensure(buf_ok(&packed) && w->name.p && w->body.p);
    g->bytes += packed.len;
    buf_done(&packed);
    return 0;
}

void deployment_edit_drop(struct deployment_edit *ed) {
    pb_free(take(&ed->step.st));
}

int deployment_edit_end(struct op *op, struct deployment_edit *ed, int rc) {
    struct engine *e = op->e;
    struct deployment *d = ed->deployment;
    if (rc == 0 && protobuf_c_message_get_packed_size(&ed->step.st->base) > LIMIT_DEPLOYMENT_BYTES) {
        rc = err_set(&op->err, ERR_FULL,
                     "Worker Deployment '%.200s' has too many versions, queues and metadata",
                     ed->step.st->name);
        op->err.cause = RESOURCE_EXHAUSTED_CAUSE_WORKER_DEPLOYMENT_LIMITS;
    }
    if (rc == 0 && (ed->step.failed || write_deployment(e, ed->space, ed->step.st) < 0))
        rc = op_out_of_memory(op);
    if (rc < 0) {
        deployment_edit_drop(ed);
        return rc;
    }
    if (!d) {
        d = deployment_admit(e, ed->space, ed->step.st);
        ensure(d); /* the group holds it */
    } else {
        pb_free(d->st);
        d->st = ed->step.st;
    }
    ed->step.st = NULL;
    ed->deployment = d;
    d->group_seq = e->deployments_seq = e->open->seq;
    op->wait_seq = MAX(op->wait_seq, d->group_seq);
    routes_changed(e);
    return 0;
}

static void deployment_forget(struct engine *e, struct deployment *d) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_DEPLOYMENT_GONE) : NULL;
    ensure(w);
    w->namespace_id = d->space->id;
    w->name = str_of(arena_strdup(&g->batch.arena, d->st->name));
    ensure(w->name.p);
    e->deployments_seq = g->seq;
    map_remove(&e->deployments, d->key);
    d->space->deployment_count--;
    deployment_free(d);
    routes_changed(e);
}

void deployment_remove(struct op *op, struct deployment *d) {
    deployment_forget(op->e, d);
    op->wait_seq = op->e->deployments_seq;
}

void deployments_forget(struct engine *e, const struct space *space) {
    struct deployment *d;
    for (size_t i = 0; (d = map_next(&e->deployments, &i));)
        if (d->space == space)
            deployment_forget(e, d);
}

/* Workers and runs that make themselves known */

int op_register_worker(struct op *op, struct space *space, struct version v, const char *queue,
                       bool is_activity) {
    E__TaskQueueType type = is_activity ? TASK_QUEUE_TYPE_ACTIVITY : TASK_QUEUE_TYPE_WORKFLOW;
    const struct deployment *d = deployment_find(op->e, space, v.deployment);
    struct deployment_edit ed;
    bool is_changed;
    if (d && deployment_has_queue(deployment_version(d->st, v.build_id), queue, type))
        return 0;
    int rc = deployment_edit_begin(op, space, v.deployment, true, &ed);
    if (rc < 0)
        return rc;
    deployment_edit_make_room(op->e, &ed, v.build_id);
    rc = deployment_register(&ed.step, v.build_id, queue, type, &is_changed);
    return deployment_edit_end(op, &ed, rc);
}

void deployment_pinned(struct op *op, struct space *space, struct version v) {
    struct deployment *d = version_is_none(v) ? NULL : deployment_find(op->e, space, v.deployment);
    struct deployment_edit ed;
    if (!d)
        return;
    d->pin_count++;
    if (deployment_edit_begin(op, space, v.deployment, false, &ed) < 0)
        return;
    if (!deployment_reactivate(&ed.step, v.build_id))
        deployment_edit_drop(&ed);
    else if (deployment_edit_end(op, &ed, 0) < 0)
        op->err.code = 0; /* without memory it is found to be draining when it is used again */
}
