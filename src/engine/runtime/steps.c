/* Steps on runs in memory: keep what core decided, or undo it. */
#include "base/mem.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

void step_begin(struct engine *e, struct space *space, State__Execution *st, struct arena *arena,
                struct err *err, struct step *ret) {
    struct wall now = st->schedule ? (struct wall){clocks_schedule_us(e, e->now.wall)} : e->now.wall;
    step_init(ret, st, now, &e->rng, arena, err);
    ret->judged = e->judged.wall;
    ret->ctx.space = space->st;
    ret->ctx.zones = e->cfg.zones;
    ret->ctx.active_us = e->begin.us;
    ret->ctx.versions = &space->book;
    ret->ctx.namespace_name = space->st->name;
    ret->limits = &e->limits;
}

static void image_swap(struct engine *e, struct body *b) {
    struct buf old = b->image;
    b->image = e->image;
    e->image = old;
    b->is_image_old = false;
}

/* True: the image is what the state is. */
static bool body_refresh(struct engine *e, struct body *b) {
    if (!b->is_image_old)
        return true;
    buf_clear(&e->image);
    wire_encode(&e->image, &b->st->base);
    if (!buf_ok(&e->image))
        return false;
    image_swap(e, b);
    return true;
}

void body_pack(struct engine *e, struct body *b) {
    ensure(body_refresh(e, b)); /* nothing can be promised any more; recovery is the way back */
}

void run_step_begin(struct engine *e, struct run *run, struct arena *arena, struct err *err, struct step *s) {
    (void)body_refresh(e, run->body); /* an undo without it ends the process */
    step_begin(e, run->space, run->body->st, arena, err, s);
    s->ctx.state_bytes = run->body->image.len;
}

void op_step_begin(struct op *op, struct step *s) {
    run_step_begin(op->e, op->run, op->call->arena, &op->err, s);
    s->ctx.origin = op->origin;
}

void op_sure_step_begin(struct op *op, struct step *s) {
    step_begin(op->e, op->run->space, op->run->body->st, op->call->arena, &op->err, s);
    s->ctx.origin = op->origin;
    s->ctx.state_bytes = op->run->body->image.len;
    s->is_sure = true;
}

static bool is_trimming(const struct step *s) {
    return s->ledger_first_id || s->ledger_before_us;
}

/* Copies effects to where they outlive the call. A letter need not wait for the commit: what it does to its
 * receiver joins the same group, or a later one. */
static int keep_effects(struct engine *e, struct run *run, const struct step *s, enum durability durability) {
    for (size_t i = 0; i < s->effect_count; i++) {
        bool waits = durability == STEP_DURABLE && s->effects[i].kind != EFFECT_LETTER;
        struct pending_effect *p =
            waits ? arena_new(&e->open->batch.arena, struct pending_effect) : mem_zalloc(sizeof(*p));
        if (!p)
            return ERR_NO_MEMORY;
        p->run = run;
        p->effect = s->effects[i];
        struct pending_effect ***end = waits ? &e->open->effects_end : &e->soon_end;
        **end = p;
        *end = &p->next;
        run_pin(run);
    }
    return 0;
}

static struct write *ledger_write(struct engine *e, const struct run *run, enum write_kind kind) {
    struct write *w = batch_add(&e->open->batch, kind);
    if (w) {
        w->namespace_id = run->key.namespace_id;
        w->run_id = run->key.run_id;
    }
    return w;
}

/* Puts the rows that the step wrote to its ledger, and what it removed there, into the open group. */
static int keep_ledger(struct engine *e, const struct run *run, const struct step *s) {
    for (size_t i = 0; i < s->ledger_count; i++) {
        const struct ledger_row *row = &s->ledger[i];
        struct write *w = ledger_write(e, run, WRITE_LEDGER);
        uint8_t *bytes = arena_dup(&e->open->batch.arena, row->bytes.p, row->bytes.n);
        if (!w || (!bytes && row->bytes.n))
            return ERR_NO_MEMORY;
        int64_t last_s = row->last_nominal_s ? row->last_nominal_s : row->nominal_s;
        int64_t at_us = row->is_open ? LEDGER_OPEN : s->now.us;
        w->ledger = (struct ledger_columns){row->id, row->nominal_s, last_s, at_us, row->fate};
        w->body = str_bytes(bytes, row->bytes.n);
        e->open->bytes += row->bytes.n;
        counters_ledger(&e->counters, row);
        schedule_log_row(e, run, row, w->body);
    }
    if (is_trimming(s)) {
        struct write *w = ledger_write(e, run, WRITE_LEDGER_GONE);
        if (!w)
            return ERR_NO_MEMORY;
        w->ledger = (struct ledger_columns){.id = s->ledger_first_id, .at_us = s->ledger_before_us};
    }
    return 0;
}

/* The state is packed when the group is sealed, or before the next step that may have to be undone, so that
 * steps in one group share it. What is already large is packed after every step: it must not outgrow what an
 * image may be. */
static bool is_packed_later(const struct body *b) {
    return b->image.len < ENGINE_IMAGE_BYTES / 2;
}

int run_keep(struct engine *e, struct run *run, struct step *s, enum durability durability) {
    struct body *b = run->body;
    /* I3: nobody may see an event that is not on its way to disk. Rows of a ledger have no other way there.
     */
    if (s->first_event_id || s->ledger_count || s->news_count || is_trimming(s))
        durability = STEP_DURABLE;
    if (step_failed(s))
        return ERR_NO_MEMORY;
    b->st->transition_count++;
    bool is_later = is_packed_later(b);
    buf_clear(&e->image);
    if (!is_later)
        wire_encode(&e->image, &b->st->base);
    if (!buf_ok(&e->image))
        return ERR_NO_MEMORY;
    size_t tape_len = b->tape.bytes.len;
    int64_t tape_next = b->tape.next_id;
    if (s->first_event_id && tape_append(&b->tape, buf_str(&s->events), s->first_event_id) < 0)
        return ERR_NO_MEMORY;
    if (durability == STEP_DURABLE && (!group_open(e) || group_add_run(e, run) < 0)) {
        buf_truncate(&b->tape.bytes, tape_len);
        b->tape.next_id = tape_next;
        return ERR_NO_MEMORY;
    }
    if (!is_later)
        image_swap(e, b);
    b->is_image_old = is_later;
    if (durability == STEP_DURABLE)
        e->open->bytes += s->events.len + b->image.len;
    else
        b->is_ahead = true;
    run_set_due(e, run);
    if (!task_is_started(b->st))
        queries_detach(run);
    if (!task_is_started(b->st))
        updates_detach(run);
    /* Past the point where the step could be undone. */
    ensure(keep_effects(e, run, s, durability) == 0);
    ensure(keep_ledger(e, run, s) == 0);
    if (s->task_failure)
        tally_task_failure(e, run, s->task_failure);
    if (s->news_count)
        schedule_log_news(e, run, s);
    struct run *next = NULL;
    ensure(!s->next || run_keep_new(e, run->space, s->next, &next) == 0);
    return 0;
}

void run_undo(struct engine *e, struct run *run) {
    struct body *b = run->body;
    ensure(!b->is_image_old);
    State__Execution *old = state__execution__unpack(&wire_heap_allocator, b->image.len, b->image.data);
    ensure(old); /* without it the run in memory is neither old nor new */
    pb_free(b->st);
    b->st = old;
    run_set_due(e, run);
}

int op_step_end(struct op *op, struct step *s, int rc, enum durability durability) {
    bool is_unchanged = s->is_sure && rc < 0 && rc != ERR_NO_MEMORY;
    if (rc == 0)
        rc = run_settle(s);
    if (rc == 0) {
        rc = run_keep(op->e, op->run, s, durability);
        if (rc < 0)
            err_std(&op->err, rc);
    }
    for (size_t i = 0; i < s->notice_count; i++)
        notice_log(op->e, op->run, &s->notices[i]);
    if (rc < 0 && !is_unchanged)
        run_undo(op->e, op->run);
    step_done(s);
    return rc;
}

void run_quiet_step(struct engine *e, struct run *run, void (*fn)(struct step *s, void *arg), void *arg) {
    struct arena arena;
    struct step s;
    arena_init(&arena, ENGINE_ERRAND_BYTES);
    run_step_begin(e, run, &arena, NULL, &s);
    fn(&s, arg);
    if (run_keep(e, run, &s, STEP_QUIET) < 0)
        run_undo(e, run);
    step_done(&s);
    arena_done(&arena);
}
