/* Deadlines of runs: what is due is taken together, and each run gets a step.
 *
 * Many may be due at once: timers of one hour, all that a stop of the server left behind. Then they are taken
 * in the order in which the store keeps runs, so that the states are read, and the changes written, page by
 * page instead of all over the file. A turn acts on some of them, so that calls are answered in between, and
 * on none while more waits to be written than one commit should hold. */
#include <stdlib.h>

#include "base/mem.h"
#include "engine/runtime/engine_int.h"

#define TAKEN_FIRST 256

static void go_tick(struct op *op);

/* What set the deadline must be on disk, and its effects done: a task is not too late that was never offered.
 * Once only, or a run that changes all the time would have no deadlines. */
static bool wait_for_disk(struct op *op) {
    uint64_t seq = op->run->body->group_seq;
    if (op->wait_seq || seq <= op->e->durable_seq)
        return false;
    op->wait_seq = seq;
    op_continue_durable(op, go_tick);
    return true;
}

/* A call may have changed it since it was taken. */
static bool is_due(const struct op *op) {
    const State__Execution *st = op->run->body->st;
    struct wall judged = op->e->judged.wall;
    return run_due_us(st) <= (st->schedule ? clocks_schedule_us(op->e, judged) : judged.us);
}

static void tick_again(struct op *op) {
    struct run_key key = *(const struct run_key *)op->req;
    struct engine *e = op->e;
    op_reply(op, NULL, (struct str){NULL, 0});
    errand_start(e, go_tick, &key, sizeof(key)); /* with memory of its own: the old one may be used up */
}

/* Nobody else knows that it is due: not the heap, from which it was taken, unless it was loaded since. */
static void try_later(struct op *op) {
    log_emit(op->e->log, LOG_due_failed, log_str("error", op->err.text));
    if (op->run)
        run_clear_due(op->e, op->run); /* not again in this very turn */
    op_pin(op, NULL);
    op_retry(op, ENGINE_TICK_RETRY_MS * USEC_PER_MS, tick_again);
}

static void go_tick(struct op *op) {
    const struct run_key *key = op->req;
    struct space *space = space_by_id(op->e, key->namespace_id);
    struct step s;
    int rc = space ? op_need_run(op, space, key->run_id) : ERR_NOT_FOUND;
    if (rc == 0)
        rc = op_need_origin(op);
    if (rc == ERR_WAIT || (rc == 0 && wait_for_disk(op)))
        return;
    if (rc == 0 && !is_due(op)) {
        run_set_due(op->e, op->run);
    } else if (rc == 0) {
        op_step_begin(op, &s);
        rc = op_step_end(op, &s, run_tick(&s), STEP_DURABLE);
    }
    if (rc < 0 && rc != ERR_NOT_FOUND)
        try_later(op);
    else
        op_reply(op, NULL, (struct str){NULL, 0});
}

/* False: there is no memory; it stays where it is. */
static bool note_due(struct ticks *t, const struct run_key *key) {
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : TAKEN_FIRST;
        struct run_key *bigger = mem_resize(t->keys, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        t->keys = bigger;
        t->cap = cap;
    }
    t->keys[t->count++] = *key;
    return true;
}

static int run_key_compare(const void *a, const void *b) {
    return memcmp(a, b, sizeof(struct run_key));
}

/* Out of the heap until the state says when the next deadline is; loading it tells. */
static void take_from(struct engine *e, const struct heap *h, int64_t until_us) {
    for (struct heap_node *n; (n = heap_top(h)) && n->key <= until_us;) {
        struct run *run = container_of(n, struct run, due);
        if (!note_due(&e->ticks, &run->key))
            break;
        run_pin(run);
        run_clear_due(e, run);
        run_unpin(e, run);
    }
}

static void take_due(struct engine *e) {
    struct ticks *t = &e->ticks;
    t->at = t->count = 0;
    take_from(e, &e->due, e->judged.wall.us);
    take_from(e, &e->schedule_due, clocks_schedule_us(e, e->judged.wall));
    if (t->count > ENGINE_DUE_PER_TURN)
        qsort(t->keys, t->count, sizeof(*t->keys), run_key_compare);
}

void ticks_advance(struct engine *e) {
    struct ticks *t = &e->ticks;
    if (!ticks_wait(e))
        take_due(e);
    for (size_t i = 0; i < ENGINE_DUE_PER_TURN && ticks_wait(e) && !group_is_full(e); i++) {
        struct run_key key = t->keys[t->at++];
        errand_start(e, go_tick, &key, sizeof(key));
    }
}

bool ticks_wait(const struct engine *e) {
    return e->ticks.at < e->ticks.count;
}

void ticks_free(struct engine *e) {
    mem_free(take(&e->ticks.keys));
}
