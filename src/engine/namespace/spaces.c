/* Namespaces. All of them are in memory; there are few. */
#include "base/mem.h"
#include "core/step/validate.h"
#include "engine/runtime/engine_int.h"
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
    s->e = e;
    s->book = deployment_book();
    s->st = state__namespace__unpack(&wire_heap_allocator, body.n, (const uint8_t *)body.p);
    if (s->st && s->st->state == NAMESPACE_STATE_UNSPECIFIED)
        s->st->state = NAMESPACE_STATE_REGISTERED; /* it is older than states are */
    if (!s->st || uuid_parse(str_of(s->st->id), &s->id) < 0 ||
        map_put(&e->spaces, str_of(s->st->name), s) < 0) {
        pb_free(s->st);
        mem_free(s);
        return ERR_NO_MEMORY;
    }
    tally_name_space(e, s);
    if (s->st->is_being_removed)
        e->next_reap_us = e->now.mono.us;
    return 0;
}

/* The write is added last: a batch never holds half of one. */
int space_write(struct engine *e, struct space *s) {
    struct group *g = group_open(e);
    struct buf packed;
    if (!g)
        return ERR_NO_MEMORY;
    /* A removal cannot be refused, and its marks add some bytes. */
    buf_init(&packed, s->st->is_being_removed ? ENGINE_IMAGE_BYTES * 2 : ENGINE_IMAGE_BYTES);
    wire_encode(&packed, &s->st->base);
    char *name = arena_strdup(&g->batch.arena, s->st->name);
    void *body = buf_ok(&packed) ? arena_dup(&g->batch.arena, packed.data, packed.len) : NULL;
    struct write *w = name && body ? batch_add(&g->batch, WRITE_NAMESPACE) : NULL;
    if (w) {
        w->namespace_id = s->id;
        w->name = str_of(name);
        w->body = str_bytes(body, packed.len);
        s->group_seq = g->seq;
    }
    buf_done(&packed);
    if (w)
        return 0;
    arena_forgive(&g->batch.arena); /* only this one is not written */
    return ERR_NO_MEMORY;
}

void space_undo(struct space *s, State__Namespace *before) {
    char *name = before->name;
    before->name = s->st->name; /* the key of the map; the text is the same */
    s->st->name = name;
    pb_free(s->st);
    s->st = before;
}

void space_drop(struct engine *e, struct space *s) {
    map_remove(&e->spaces, str_of(s->st->name));
    tally_forget_space(e, s);
    pb_free(s->st);
    mem_free(s);
}

int space_create(struct engine *e, const State__Namespace *like) {
    State__Namespace st = *like;
    struct uuid_text id = uuid_format(uuid_random(&e->rng));
    struct buf packed;
    st.id = id.s;
    st.state = NAMESPACE_STATE_REGISTERED;
    buf_init(&packed, ENGINE_IMAGE_BYTES);
    wire_encode(&packed, &st.base);
    int rc = buf_ok(&packed) ? space_add(e, buf_str(&packed)) : ERR_NO_MEMORY;
    buf_done(&packed);
    if (rc < 0)
        return rc;
    struct space *s = space_find(e, st.name);
    rc = space_write(e, s);
    if (rc < 0)
        space_drop(e, s);
    return rc;
}

static int no_namespace(struct op *op, const char *name) {
    int rc = err_set(&op->err, ERR_NO_NAMESPACE, "Namespace %s is not found.", name);
    strncpy(op->err.subject, name, sizeof(op->err.subject) - 1);
    return rc;
}

int op_find_space(struct op *op, const char *name, struct space **ret) {
    if (cstr_is_empty(name))
        return err_set(&op->err, ERR_INVALID, "Namespace is not set on request.");
    int rc = validate_id(name, "Namespace", &op->err);
    if (rc < 0)
        return rc;
    *ret = space_find(op->e, name);
    if (*ret)
        return 0;
    return no_namespace(op, name);
}

static int wrong_state(struct op *op, const struct space *s, const char *wanted) {
    bool is_deleted = s->st->state == NAMESPACE_STATE_DELETED;
    int rc = err_set(&op->err, ERR_NAMESPACE_STATE, "Namespace has invalid state: %s. Must be %s.",
                     is_deleted ? "Deleted" : "Deprecated", wanted);
    strncpy(op->err.subject, s->st->name, sizeof(op->err.subject) - 1);
    op->err.cause = s->st->state;
    return rc;
}

int op_need_space(struct op *op, const char *name, struct space **ret) {
    int rc = op_find_space(op, name, ret);
    if (rc == 0 && (*ret)->st->state == NAMESPACE_STATE_DELETED)
        return wrong_state(op, *ret, "Registered or Deprecated");
    return rc;
}

int op_need_open_space(struct op *op, const char *name, struct space **ret) {
    int rc = op_find_space(op, name, ret);
    if (rc == 0 && (*ret)->st->state != NAMESPACE_STATE_REGISTERED)
        return wrong_state(op, *ret, "Registered");
    return rc;
}

int op_need_space_id(struct op *op, const char *text, struct space **ret) {
    struct uuid id;
    *ret = uuid_parse(str_of(text), &id) == 0 ? space_by_id(op->e, id) : NULL;
    return *ret ? 0 : no_namespace(op, text);
}
