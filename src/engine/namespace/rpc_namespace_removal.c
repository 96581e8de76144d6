/* Removing a namespace.
 *
 * The request marks it and gives it another name, in one commit: from then on
 * nobody finds it, and its old name is free. What is in it goes afterwards, a
 * few runs at a time, so that a large namespace holds nobody up; a crash in
 * between changes nothing, since the mark and what is left are on disk. When
 * the store shows no run of it and none is in memory, the namespace itself goes,
 * at once or after the delay that was asked for.
 *
 * What can stop it: a run whose letters cannot be delivered. The others are
 * removed meanwhile, and namespaces take turns. */
#include "base/mem.h"
#include "core/step/pb.h"
#include "engine/runtime/engine_int.h"

#define SUFFIX_ID_BYTES 5 /* of the id, in the name of a deleted namespace */

/* The requests */

static int find_doomed(struct op *op, const Ops__DeleteNamespaceRequest *req, struct space **ret) {
    const Google__Protobuf__Duration *delay = req->namespace_delete_delay;
    if (!cstr_is_empty(req->namespace_) && !cstr_is_empty(req->namespace_id))
        return err_set(&op->err, ERR_INVALID, "Only one of namespace name or Id should be set on request.");
    if (cstr_eq(req->namespace_, SPACE_SYSTEM))
        return err_set(&op->err, ERR_PRECONDITION, "unable to delete system namespace");
    if (delay && (!pb_duration_valid(delay) || pb_duration_us(delay) < 0))
        return err_set(&op->err, ERR_INVALID, "NamespaceDeleteDelay is not valid.");
    return cstr_is_empty(req->namespace_id) ? op_find_space(op, req->namespace_, ret)
                                       : op_need_space_id(op, req->namespace_id, ret);
}

/* A name that says what happened to it; as much of the id as makes it unique. */
static char *deleted_name(struct op *op, const struct space *s) {
    char *name = NULL;
    for (int n = SUFFIX_ID_BYTES; n <= UUID_TEXT_LEN; n++) {
        name = arena_printf(op->call->arena, "%s-deleted-%.*s", s->st->name, n, s->st->id);
        if (!name || !space_find(op->e, name))
            break;
    }
    return name;
}

static int rename_space(struct engine *e, struct space *s, const char *name) {
    char *old = s->st->name, *kept = mem_strdup(name);
    if (!kept || map_put(&e->spaces, str_of(kept), s) < 0) {
        mem_free(kept);
        return ERR_NO_MEMORY;
    }
    map_remove(&e->spaces, str_of(old));
    s->st->name = kept;
    mem_free(old);
    return 0;
}

static int removal_begin(struct op *op, struct space *s) {
    if (s->st->is_being_removed)
        return 0;
    const char *name = deleted_name(op, s);
    if (!name || !group_open(op->e) || rename_space(op->e, s, name) < 0)
        return op_out_of_memory(op);
    s->st->state = NAMESPACE_STATE_DELETED;
    s->st->is_being_removed = true;
    queues_end_polls(op->e, s);
    return 0;
}

void rpc_delete_namespace(struct op *op) {
    const Ops__DeleteNamespaceRequest *req = op->req;
    Ops__DeleteNamespaceResponse *resp = arena_new(op->call->arena, Ops__DeleteNamespaceResponse);
    struct space *s;
    int rc = resp ? find_doomed(op, req, &s) : op_out_of_memory(op);
    if (rc == 0)
        rc = removal_begin(op, s);
    if (rc < 0) {
        op_fail(op);
        return;
    }
    s->st->removal_delay_us = req->namespace_delete_delay ? pb_duration_us(req->namespace_delete_delay) : 0;
    op->e->next_reap_us = op->e->now.mono.us;
    ensure(space_write(op->e, s) == 0); /* it has lost its name, and its polls were told */
    op->wait_seq = op->e->open->seq;
    ops__delete_namespace_response__init(resp);
    resp->deleted_namespace = arena_strdup(op->call->arena, s->st->name);
    if (resp->deleted_namespace) {
        op_reply_durable(op, &resp->base, (struct str){NULL, 0});
        return;
    }
    (void)op_out_of_memory(op);
    op_fail(op);
}

void rpc_deprecate_namespace(struct op *op) {
    static const Ws__DeprecateNamespaceResponse resp = WS__DEPRECATE_NAMESPACE_RESPONSE__INIT;
    const Ws__DeprecateNamespaceRequest *req = op->req;
    struct space *s;
    State__Namespace *before = op_need_space(op, req->namespace_, &s) == 0 ? op_copy_space(op, s) : NULL;
    if (!before) {
        op_fail(op);
        return;
    }
    s->st->state = NAMESPACE_STATE_DEPRECATED;
    op_reply_space(op, s, before, false, &resp.base);
}

/* Afterwards */

static int64_t wait_left_us(const struct engine *e, const struct space *s) {
    if (!s->st->emptied_us)
        return 0;
    return MAX(usec_add(s->st->emptied_us, s->st->removal_delay_us) - e->now.wall.us, 0);
}

static bool is_unused(const struct engine *e, const struct space *s) {
    const struct run *run;
    for (size_t i = 0; (run = map_next(&e->runs, &i));)
        if (run->space == s)
            return false;
    return true;
}

static void space_forget(struct engine *e, struct space *s) {
    struct group *g = group_open(e);
    struct write *w = g ? batch_add(&g->batch, WRITE_NAMESPACE_GONE) : NULL;
    if (!w) {
        if (g)
            arena_forgive(&g->batch.arena);
        return; /* no memory: tried again */
    }
    w->namespace_id = s->id;
    log_emit(e->log, LOG_namespace_removed, log_str("namespace", s->st->name));
    queues_forget(e, s);
    deployments_forget(e, s);
    workers_forget(e, s);
    space_drop(e, s);
}

static void space_is_empty(struct engine *e, struct space *s) {
    if (!s->st->emptied_us) {
        s->st->emptied_us = e->now.wall.us;
        if (s->st->removal_delay_us && space_write(e, s) < 0)
            s->st->emptied_us = 0; /* no memory: tried again */
    }
    if (s->st->emptied_us && wait_left_us(e, s) == 0)
        space_forget(e, s);
}

static void doomed_row(struct read *r, const struct row *row) {
    struct engine *e = r->owner;
    if (e->doomed_count < ENGINE_REAP_RUNS)
        e->doomed[e->doomed_count++] = (struct run_key){e->reaped, row->run_id};
}

/* One group takes one bite, and the next comes when that group is with the store. When all runs were looked
 * through, those that are left are looked at again after a while. */
static void reap_pace(struct engine *e, struct space *s) {
    bool has_more = e->doomed_count == ENGINE_REAP_RUNS;
    s->reaped =
        has_more ? (struct due_place){s->id, e->doomed[e->doomed_count - 1].run_id} : (struct due_place){0};
    e->next_reap_us = has_more ? e->now.mono.us : usec_add(e->now.mono.us, ENGINE_REAP_MS * USEC_PER_MS);
    if (e->doomed_count > 0)
        e->reap_seq = e->open ? e->open->seq : 0;
}

static void doomed_done(struct read *r, int rc) {
    struct engine *e = r->owner;
    struct space *s = space_by_id(e, e->reaped);
    if (rc < 0) {
        engine_fail(e, "the runs of a deleted namespace cannot be read from the store");
        return;
    }
    e->is_reaping = false;
    bool is_first_page = uuid_is_zero(s->reaped.run_id);
    for (size_t i = 0; i < e->doomed_count; i++)
        run_doom(e, &e->doomed[i]);
    reap_pace(e, s);
    if (e->doomed_count == 0 && is_first_page && is_unused(e, s))
        space_is_empty(e, s);
}

/* The next in turn that has something to do now; NULL when none has, with the time when one will. */
static struct space *next_to_reap(struct engine *e) {
    int64_t left = CLOCK_NEVER;
    for (size_t i = 0; i < map_count(&e->spaces); i++) {
        struct space *s = map_next(&e->spaces, &e->reap_at);
        if (!s) {
            e->reap_at = 0;
            s = map_next(&e->spaces, &e->reap_at);
        }
        if (s->st->is_being_removed && wait_left_us(e, s) == 0)
            return s;
        if (s->st->is_being_removed)
            left = MIN(left, wait_left_us(e, s));
    }
    e->next_reap_us = left == CLOCK_NEVER ? CLOCK_NEVER : usec_add(e->now.mono.us, left);
    return NULL;
}

static bool reap_must_wait(const struct engine *e) {
    return e->is_reaping || group_is_full(e) || (e->open && e->open->seq == e->reap_seq);
}

void spaces_reap(struct engine *e) {
    if (reap_must_wait(e) || e->now.mono.us < e->next_reap_us)
        return;
    struct space *s = next_to_reap(e);
    if (!s)
        return;
    e->is_reaping = true;
    e->reaped = s->id;
    e->doomed_count = 0;
    e->reap_read = (struct read){.kind = READ_RUNS,
                                 .namespace_id = s->id,
                                 .behind = &s->reaped,
                                 .limit = ENGINE_REAP_RUNS,
                                 .row = doomed_row,
                                 .done = doomed_done,
                                 .owner = e};
    store_read(e->store, &e->reap_read);
}

int64_t spaces_next_reap_us(const struct engine *e) {
    return reap_must_wait(e) ? CLOCK_NEVER : e->next_reap_us;
}
