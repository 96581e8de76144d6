/* Groups: what becomes durable together.
 *
 * Steps add runs to the open group. At the end of a loop turn, when the store
 * is free, the group is sealed (each run's image and new events are copied into
 * the batch, once, however many steps touched it) and handed over. When the
 * store says it is on disk, the next one is handed over, and the effects and
 * replies that waited for this one happen. There is at most one group with the
 * store and one being filled. */
#include "base/mem.h"
#include "core/activity/activity.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"

static void group_durable(struct batch *b);

struct group *group_open(struct engine *e) {
    if (e->open)
        return e->open;
    struct group *g = take(&e->spare);
    if (!g) {
        g = mem_zalloc(sizeof(*g));
        if (!g)
            return NULL;
        batch_init(&g->batch, SIZE_MAX);
        g->e = e;
    }
    g->seq = e->next_seq++;
    list_init(&g->replies);
    g->effects = NULL;
    g->effects_end = &g->effects;
    g->lines = NULL;
    g->lines_end = &g->lines;
    g->run_count = 0;
    g->bytes = 0;
    g->batch.done = group_durable;
    g->batch.owner = g;
    e->open = g;
    return g;
}

void group_free(struct group *g) {
    if (!g)
        return;
    batch_done(&g->batch);
    mem_free(g->runs);
    mem_free(g);
}

bool group_is_full(const struct engine *e) {
    return e->open && e->open->bytes > ENGINE_GROUP_BYTES;
}

int group_add_run(struct engine *e, struct run *run) {
    struct group *g = group_open(e);
    if (!g)
        return ERR_NO_MEMORY;
    if (run->body->group_seq == g->seq)
        return 0;
    if (g->run_count == g->run_cap) {
        size_t cap = g->run_cap ? g->run_cap * 2 : 64;
        struct group_run *bigger = mem_resize(g->runs, cap * sizeof(*bigger));
        if (!bigger)
            return ERR_NO_MEMORY;
        g->runs = bigger;
        g->run_cap = cap;
    }
    g->runs[g->run_count++] = (struct group_run){.run = run};
    run_pin(run);
    run->body->group_seq = g->seq;
    return 0;
}

/* sealing */

/* Whether something could be done for it now, by a worker or by us: what recovery must begin again. */
static bool run_is_ready(const State__Execution *st) {
    if (st->batch)
        return run_is_open(st);
    if (st->task && !st->task->started_event_id && !st->task->is_speculative)
        return true;
    if (st->task && st->task->is_speculative && st->n_buffered)
        return true; /* without the task, which is not kept, these would wait for nothing */
    if (st->n_outbox)
        return true;
    for (size_t i = 0; i < st->n_callbacks; i++)
        if (st->callbacks[i]->state == CALLBACK_STATE_SCHEDULED)
            return true;
    for (size_t i = 0; i < st->n_activities; i++)
        if (st->activities[i]->is_offered && !st->activities[i]->started_us)
            return true;
    return false;
}

static struct str batch_copy(struct batch *b, struct str s) {
    void *copy = arena_dup(&b->arena, s.p, s.n);
    ensure(copy || s.n == 0); /* nothing can be promised any more; recovery is the way back */
    return str_bytes(copy, s.n);
}

static struct write *batch_write(struct batch *b, enum write_kind kind) {
    struct write *w = batch_add(b, kind);
    ensure(w);
    return w;
}

static bool placing_eq(const struct placing *a, const struct placing *b) {
    return a->due_us == b->due_us && a->close_us == b->close_us && a->is_ready == b->is_ready;
}

static void seal_run(struct group *g, struct group_run *gr) {
    struct run *run = gr->run;
    struct body *body = run->body;
    const State__Execution *st = body->st;
    gr->next_event_id = st->next_event_id;
    tally_seal(g->e, run);
    if (run->is_removed)
        return; /* it is only held until that is durable */
    body_pack(g->e, body);
    struct write *w = batch_write(&g->batch, WRITE_EXECUTION);
    w->namespace_id = run->key.namespace_id;
    w->run_id = run->key.run_id;
    w->workflow_id = batch_copy(&g->batch, str_of(st->workflow_id));
    w->body = batch_copy(&g->batch, buf_str(&body->image));
    struct placing placing = {run_due_us(st), st->close_us ? st->close_us : CLOCK_NEVER, run_is_ready(st)};
    w->due_us = placing.due_us;
    w->close_us = placing.close_us;
    w->is_ready = placing.is_ready;
    w->status = st->status;
    w->is_first = !body->is_written;
    visibility_seal_moving(g, st, w);
    w->is_in_place = body->is_written && placing_eq(&placing, &body->placing);
    if (st->next_event_id > body->grouped_next_id) {
        struct write *h = batch_write(&g->batch, WRITE_HISTORY);
        h->namespace_id = run->key.namespace_id;
        h->run_id = run->key.run_id;
        h->first_event_id = body->grouped_next_id;
        h->last_event_id = st->next_event_id - 1;
        h->body = batch_copy(&g->batch, events_slice(buf_str(&body->tape.bytes), body->tape.first_id,
                                                     body->grouped_next_id, st->next_event_id));
    }
    visibility_seal(g, run);
    body->grouped_next_id = st->next_event_id;
    body->is_ahead = false;
    body->is_written = true;
    body->placing = placing;
}

static void do_soon(struct engine *e) {
    for (struct pending_effect *p = e->soon, *next; p; p = next) {
        next = p->next;
        if (p == e->soon) {
            e->soon = NULL;
            e->soon_end = &e->soon;
        }
        run_effect(e, p->run, &p->effect);
        run_unpin(e, p->run);
        mem_free(p);
    }
}

void engine_flush(struct engine *e) {
    routes_settle(e);
    while (e->soon)
        do_soon(e);
    store_rest(e->store);
    struct group *g = e->open;
    if (e->has_failed || e->flight || !g ||
        (g->run_count == 0 && g->batch.count == 0 && list_empty(&g->replies) && !g->effects))
        return;
    for (size_t i = 0; i < g->run_count; i++)
        seal_run(g, &g->runs[i]);
    e->open = NULL;
    e->flight = g;
    g->handed_over_us = e->now.mono.us;
    store_commit(e->store, &g->batch);
}

/* after the commit */

static void group_answer_op(struct op *op) {
    if (op->continues) {
        op->continues = false;
        op->go(op);
    } else if (op->reply)
        op_reply(op, op->reply, op->tail);
    else
        op_fail(op);
}

static void group_durable(struct batch *b) {
    struct group *g = b->owner;
    struct engine *e = g->e;
    ensure_inv(I2, e->flight == g);
    e->flight = NULL;
    e->durable_seq = g->seq;
    counters_group(&e->counters, g);
    for (size_t i = 0; i < g->run_count; i++) {
        struct body *body = g->runs[i].run->body;
        body->durable_next_id = g->runs[i].next_event_id;
        tape_trim(body);
    }
    engine_flush(e); /* before the answers: the store need not wait for them */
    schedule_log_write(e, g);
    struct list going_on;
    list_init(&going_on);
    for (struct list *n; (n = list_pop(&g->replies));) {
        struct op *op = container_of(n, struct op, link);
        if (op->continues)
            list_append(&going_on, n); /* they must find the effects done */
        else
            group_answer_op(op);
    }
    for (struct pending_effect *p = g->effects; p; p = p->next) {
        run_effect(e, p->run, &p->effect);
        run_unpin(e, p->run);
    }
    for (struct list *n; (n = list_pop(&going_on));)
        group_answer_op(container_of(n, struct op, link));
    for (size_t i = 0; i < g->run_count; i++) {
        struct run *run = g->runs[i].run;
        queries_settle(e, run);
        readers_wake(e, run);
        run_unpin(e, run);
    }
    backlogs_resume(e);
    batch_clear(&g->batch);
    if (e->spare)
        group_free(g);
    else
        e->spare = g;
}

bool engine_idle(const struct engine *e) {
    return !e->flight && !e->soon && (!e->open || (e->open->run_count == 0 && e->open->batch.count == 0));
}

void run_effect(struct engine *e, struct run *run, const struct effect *fx) {
    switch (fx->kind) {
    case EFFECT_WORKFLOW_TASK:
        offer_workflow_task(e, run);
        break;
    case EFFECT_ACTIVITY_TASK:
        offer_activity_task(e, run, fx->event_id);
        break;
    case EFFECT_CALLBACK:
        callback_begin(e, &run->key, fx->event_id);
        break;
    case EFFECT_LETTER:
        letter_begin(e, &run->key, fx->event_id);
        break;
    case EFFECT_CLOSED:
        updates_close(e, run); /* readers and queries are told with every commit */
        break;
    }
}

uint64_t group_last_change(const struct engine *e) {
    if (e->open && (e->open->run_count || e->open->batch.count))
        return e->open->seq;
    return e->flight ? e->flight->seq : 0;
}
