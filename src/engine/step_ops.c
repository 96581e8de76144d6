/* Steps on runs in memory: keep what core decided, or undo it. */
#include "base/mem.h"
#include "core/task.h"
#include "engine/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

void op_step_begin(struct op *op, struct step *s) {
    step_init(s, op->run->body->st, op->e->now.wall, &op->e->rng, op->call->arena, &op->err);
    s->ctx.space = op->run->space->st;
    s->ctx.zones = op->e->cfg.zones;
    s->ctx.namespace_name = op->run->space->st->name;
    s->ctx.origin = op->origin;
    s->limits = &op->e->limits;
}

/* Copies effects to where they outlive the call. */
static int keep_effects(struct engine *e, struct run *run, const struct step *s, bool is_durable) {
    for (size_t i = 0; i < s->effect_count; i++) {
        struct pending_effect *p =
            is_durable ? arena_new(&e->open->batch.arena, struct pending_effect) : mem_zalloc(sizeof(*p));
        if (!p)
            return ERR_NO_MEMORY;
        p->run = run;
        p->effect = s->effects[i];
        struct pending_effect ***end = is_durable ? &e->open->effects_end : &e->soon_end;
        **end = p;
        *end = &p->next;
        run_pin(run);
    }
    return 0;
}

int run_keep(struct engine *e, struct run *run, struct step *s, bool is_durable) {
    struct body *b = run->body;
    if (s->first_event_id)
        is_durable = true; /* I3: nobody may see an event that is not on its way to disk */
    if (step_failed(s))
        return ERR_NO_MEMORY;
    b->st->transition_count++;
    buf_clear(&e->image);
    wire_encode(&e->image, &b->st->base);
    if (!buf_ok(&e->image))
        return ERR_NO_MEMORY;
    size_t tape_len = b->tape.bytes.len;
    int64_t tape_next = b->tape.next_id;
    if (s->first_event_id && tape_append(&b->tape, buf_str(&s->events), s->first_event_id) < 0)
        return ERR_NO_MEMORY;
    if (is_durable && (!group_open(e) || group_add_run(e, run) < 0)) {
        buf_truncate(&b->tape.bytes, tape_len);
        b->tape.next_id = tape_next;
        return ERR_NO_MEMORY;
    }
    struct buf old = b->image;
    b->image = e->image;
    e->image = old;
    if (is_durable)
        e->open->bytes += s->events.len + b->image.len;
    else
        b->is_ahead = true;
    run_set_due(e, run);
    if (!task_is_started(b->st))
        queries_detach(run);
    if (!task_is_started(b->st))
        updates_detach(run);
    /* Past the point where the step could be undone. */
    ensure(keep_effects(e, run, s, is_durable) == 0);
    struct run *next = NULL;
    bool keeps_next = s->next && e->cfg.planted_bug != ENGINE_BUG_LOSE_SUCCESSOR;
    ensure(!keeps_next || run_keep_new(e, run->space, s->next, &next) == 0);
    return 0;
}

void run_undo(struct engine *e, struct run *run) {
    struct body *b = run->body;
    State__Execution *old = state__execution__unpack(&wire_heap_allocator, b->image.len, b->image.data);
    ensure(old); /* without it the run in memory is neither old nor new */
    pb_free(b->st);
    b->st = old;
    run_set_due(e, run);
}

int op_step_end(struct op *op, struct step *s, int rc, bool is_durable) {
    if (rc == 0)
        rc = run_settle(s);
    if (rc == 0) {
        rc = run_keep(op->e, op->run, s, is_durable);
        if (rc < 0)
            err_std(&op->err, rc);
    }
    if (rc < 0)
        run_undo(op->e, op->run);
    step_done(s);
    return rc;
}

void run_quiet_step(struct engine *e, struct run *run, void (*fn)(struct step *s, void *arg), void *arg) {
    struct arena arena;
    struct step s;
    arena_init(&arena, ENGINE_ERRAND_BYTES);
    step_init(&s, run->body->st, e->now.wall, &e->rng, &arena, NULL);
    s.ctx.space = run->space->st;
    s.ctx.zones = e->cfg.zones;
    s.ctx.namespace_name = run->space->st->name;
    fn(&s, arg);
    if (run_keep(e, run, &s, false) < 0)
        run_undo(e, run);
    step_done(&s);
    arena_done(&arena);
}
