/* Runs in memory: finding them, loading them, letting go of them.
 *
 * A run that has a deadline keeps a small stub in memory; its body (state,
 * image, recent events) is loaded when an op needs it and dropped when it was
 * not used for a while and nothing of it is in flight. */
#include "base/mem.h"
#include "core/run/task.h"
#include "engine/runtime/engine_int.h"
#include "wire/encode.h"
#include "wire/guard.h"

/* bodies */

struct body *body_new(void) {
    struct body *b = mem_zalloc(sizeof(*b));
    if (!b)
        return NULL;
    buf_init(&b->image, ENGINE_IMAGE_BYTES);
    buf_init(&b->tape.bytes, SIZE_MAX);
    list_init(&b->readers);
    list_init(&b->queries);
    list_init(&b->updates);
    list_init(&b->update_waiters);
    return b;
}

void body_free(struct body *b) {
    if (!b)
        return;
    ensure(list_empty(&b->readers) && list_empty(&b->queries) && list_empty(&b->update_waiters));
    for (struct list *n; (n = list_pop(&b->updates));)
        update_free(container_of(n, struct update, link)); /* nobody waits: they may be forgotten */
    pb_free(b->st);
    buf_done(&b->image);
    buf_done(&b->tape.bytes);
    mem_free(b);
}

/* stubs */

static struct str run_key_str(const struct run_key *k) {
    return str_bytes(k, sizeof(*k));
}

struct run *run_get(struct engine *e, struct run_key key, struct space *space) {
    struct run *run = map_get(&e->runs, run_key_str(&key));
    if (run)
        return run;
    run = mem_zalloc(sizeof(*run));
    if (!run)
        return NULL;
    run->key = key;
    run->space = space;
    run->e = e;
    list_init(&run->waiters);
    if (map_put(&e->runs, run_key_str(&run->key), run) < 0) {
        mem_free(run);
        return NULL;
    }
    return run;
}

struct run *run_find(struct engine *e, const struct run_key *key) {
    return map_get(&e->runs, run_key_str(key));
}

struct heap *run_heap(struct engine *e, const struct run *run) {
    return run->is_schedule ? &e->schedule_due : &e->due;
}

void run_clear_due(struct engine *e, struct run *run) {
    heap_remove(run_heap(e, run), &run->due);
}

static void run_free(struct engine *e, struct run *run) {
    map_remove(&e->runs, run_key_str(&run->key));
    run_clear_due(e, run);
    mem_free(run);
}

static void run_free_if_unused(struct engine *e, struct run *run) {
    if (!run->body && !run->pins && !run->is_loading && list_empty(&run->waiters) && !heap_has(&run->due))
        run_free(e, run);
}

void run_set_due(struct engine *e, struct run *run) {
    int64_t due = run_due_us(run->body->st);
    bool is_schedule = run->body->st->schedule;
    if (due == CLOCK_NEVER || is_schedule != run->is_schedule)
        run_clear_due(e, run); /* a stub that was read at the start is not known to be a schedule */
    run->is_schedule = is_schedule;
    if (due == CLOCK_NEVER)
        return;
    if (heap_has(&run->due))
        heap_move(run_heap(e, run), &run->due, due);
    else
        ensure(heap_add(run_heap(e, run), &run->due, due) == 0);
}

void run_pin(struct run *run) {
    run->pins++;
}

/* letting go */

static struct str current_key(struct arena *a, const struct space *space, const char *workflow_id) {
    size_t n = strlen(workflow_id);
    uint8_t *p = arena_alloc(a, sizeof(space->id) + n);
    if (!p)
        return (struct str){NULL, 0};
    memcpy(p, space->id.b, sizeof(space->id));
    memcpy(p + sizeof(space->id), workflow_id, n);
    return str_bytes(p, sizeof(space->id) + n);
}

static void current_free(struct engine *e, struct current *c) {
    map_remove(&e->currents, c->key);
    mem_free(c);
}

/* A read under way and the ops that wait for it hold on to it. */
static bool current_is_idle(const struct current *c) {
    return !c->is_resuming && !c->is_reading;
}

void current_forget(struct engine *e, struct run *run) {
    struct name_key k uninitialized;
    struct current *c = map_get(&e->currents, name_key(&k, run->space->id, run->body->st->workflow_id));
    if (c && c->state == CURRENT_KNOWN && uuid_eq(c->run_id, run->key.run_id)) {
        if (current_is_idle(c))
            current_free(e, c);
        else if (run->is_removed)
            c->state = CURRENT_NONE;
    }
}

static bool body_is_droppable(const struct engine *e, const struct run *run) {
    const struct body *b = run->body;
    return !run->pins && !run->is_removed && b->group_seq <= e->durable_seq && !b->is_ahead &&
           list_empty(&b->readers) && list_empty(&b->queries) && !updates_are_sent(run);
}

static void run_drop_body(struct engine *e, struct run *run) {
    current_forget(e, run);
    list_remove(&run->recent);
    body_free(take(&run->body));
    e->body_count--;
    run_free_if_unused(e, run);
}

/* Drops the least recently used bodies above the limit. One whose memory is ahead of the disk is
 * first put into the next group. What cannot be dropped is in use, so it goes to the end of the list; and a
 * call looks at a few only, since with many runs under way none of them may go. */
static void drop_excess(struct engine *e) {
    for (int looks = 0; looks < ENGINE_DROP_LOOKS && !list_empty(&e->recent); looks++) {
        if (e->body_count <= e->cfg.resident_runs_max)
            return;
        struct run *run = container_of(e->recent.next, struct run, recent);
        if (body_is_droppable(e, run)) {
            run_drop_body(e, run);
            continue;
        }
        if (!run->pins && run->body->is_ahead && group_add_run(e, run) < 0)
            return; /* no memory for it: everything stays where it is */
        run_touch(e, run);
    }
}

void run_touch(struct engine *e, struct run *run) {
    list_remove(&run->recent);
    list_append(&e->recent, &run->recent);
}

void run_unpin(struct engine *e, struct run *run) {
    ensure(run->pins > 0);
    if (--run->pins > 0)
        return;
    if (!run->body)
        run_free_if_unused(e, run);
    else if (run->is_removed)
        run_drop_body(e, run);
    else if (e->body_count > e->cfg.resident_runs_max)
        drop_excess(e);
}

/* loading */

static void waiters_resume(struct list *waiters) {
    struct list all;
    list_init(&all);
    for (struct list *n; (n = list_pop(waiters));)
        list_append(&all, n);
    for (struct list *n; (n = list_pop(&all));) {
        struct op *op = container_of(n, struct op, link);
        op_end_load(op);
        op->go(op);
    }
}

static void body_loaded(struct read *r, const struct row *row) {
    struct run *run = r->owner;
    struct body *b = body_new();
    ensure(b);
    b->st = state__execution__unpack(&wire_heap_allocator, row->body.n, (const uint8_t *)row->body.p);
    if (!b->st) {
        run->is_damaged = true;
        body_free(b);
        return;
    }
    bool is_as_stored = !b->st->task || !b->st->task->is_speculative;
    task_forget_speculative(b->st);
    if (is_as_stored)
        buf_add_str(&b->image, row->body);
    else
        wire_encode(&b->image, &b->st->base);
    ensure(buf_ok(&b->image));
    b->is_written = true;
    b->placing = (struct placing){row->due_us, row->close_us, row->is_ready};
    b->tape.first_id = b->tape.next_id = b->st->next_event_id;
    b->durable_next_id = b->grouped_next_id = b->st->next_event_id;
    run->body = b;
    run->e->body_count++;
    list_append(&run->e->recent, &run->recent);
    run_set_due(run->e, run);
    visibility_loaded(run);
    tally_loaded(run);
}

static void load_done(struct read *r, int rc) {
    struct run *run = r->owner;
    struct engine *e = run->e;
    if (rc < 0 || run->is_damaged) {
        engine_fail(e, "a run cannot be read from the store");
        return;
    }
    run->is_loading = false;
    run->is_missing = !run->body;
    mem_free(take(&run->read));
    if (run->is_in_read)
        return;
    run_pin(run);
    waiters_resume(&run->waiters);
    run_unpin(e, run);
}

static int run_load(struct engine *e, struct run *run) {
    run->read = mem_alloc(sizeof(*run->read));
    if (!run->read)
        return ERR_NO_MEMORY;
    run->is_loading = true;
    run->is_in_read = true;
    *run->read = (struct read){.kind = READ_EXECUTION,
                               .namespace_id = run->key.namespace_id,
                               .run_id = run->key.run_id,
                               .row = body_loaded,
                               .done = load_done,
                               .owner = run};
    store_read(e->store, run->read);
    run->is_in_read = false;
    return 0;
}

int op_need_run(struct op *op, struct space *space, struct uuid run_id) {
    struct run *run = run_get(op->e, (struct run_key){space->id, run_id}, space);
    if (!run)
        return op_out_of_memory(op);
    if (!run->body && !run->is_missing && !run->is_loading && run_load(op->e, run) < 0) {
        run_pin(run);
        run_unpin(op->e, run); /* it may have been made just now */
        return op_out_of_memory(op);
    }
    if (run->body && !run->is_removed) {
        op_pin(op, run);
        run_touch(op->e, run);
        return 0;
    }
    if (run->is_removed)
        op->wait_seq = MAX(op->wait_seq, run->removed_seq);
    run_pin(run); /* what the op held may be this very run, removed meanwhile */
    op_pin(op, NULL);
    bool is_loading = run->is_loading;
    if (is_loading)
        list_append(&run->waiters, &op->link);
    run_unpin(op->e, run);
    if (is_loading) {
        op_wait_load(op);
        return ERR_WAIT;
    }
    return err_set(&op->err, ERR_NOT_FOUND, "workflow execution not found");
}

/* which run a workflow id means */

static void current_row(struct read *r, const struct row *row) {
    struct current *c = r->owner;
    if (c->state != CURRENT_LOADING)
        return; /* meanwhile the run that was current has begun its next one */
    c->run_id = row->run_id;
    c->state = CURRENT_KNOWN;
}

/* A known one lives as long as its run's body does: until then the run is loaded or being loaded. */
static bool current_is_needed(struct engine *e, const struct current *c) {
    struct run_key key = {.run_id = c->run_id};
    memcpy(key.namespace_id.b, c->key.p, sizeof(key.namespace_id));
    const struct run *run = map_get(&e->runs, run_key_str(&key));
    return c->state == CURRENT_KNOWN && run && (run->body || run->is_loading);
}

static void current_done(struct read *r, int rc) {
    struct current *c = r->owner;
    struct engine *e = c->e;
    if (rc < 0) {
        engine_fail(e, "a workflow id cannot be read from the store");
        return;
    }
    c->is_reading = false;
    if (c->state == CURRENT_LOADING)
        c->state = CURRENT_NONE;
    if (c->is_in_read)
        return;
    c->is_resuming = true;
    waiters_resume(&c->waiters);
    c->is_resuming = false;
    if (!current_is_needed(e, c))
        current_free(e, c);
}

static struct current *current_new(struct engine *e, struct str key) {
    struct current *c = mem_zalloc(sizeof(*c) + key.n);
    if (!c)
        return NULL;
    memcpy(c + 1, key.p, key.n);
    c->key = str_bytes(c + 1, key.n);
    c->e = e;
    list_init(&c->waiters);
    if (map_put(&e->currents, c->key, c) < 0) {
        mem_free(c);
        return NULL;
    }
    return c;
}

static void load_current(struct engine *e, struct current *c, struct uuid namespace_id) {
    c->state = CURRENT_LOADING;
    c->is_in_read = true;
    c->is_reading = true;
    c->read = (struct read){.kind = READ_CURRENT,
                            .namespace_id = namespace_id,
                            .workflow_id =
                                str_bytes(c->key.p + sizeof(namespace_id), c->key.n - sizeof(namespace_id)),
                            .row = current_row,
                            .done = current_done,
                            .owner = c};
    store_read(e->store, &c->read);
    c->is_in_read = false;
}

int op_need_current(struct op *op, struct space *space, const char *workflow_id, bool *ret_known,
                    struct uuid *ret_run_id) {
    struct engine *e = op->e;
    struct str key = current_key(op->call->arena, space, workflow_id);
    struct current *c = key.p ? map_get(&e->currents, key) : NULL;
    if (key.p && !c) {
        c = current_new(e, key);
        if (c)
            load_current(e, c, space->id);
    }
    if (!c)
        return op_out_of_memory(op);
    if (c->state == CURRENT_LOADING) {
        list_append(&c->waiters, &op->link);
        op_wait_load(op);
        return ERR_WAIT;
    }
    const struct run *run = run_find(e, &(struct run_key){space->id, c->run_id});
    bool is_going = run && run->is_removed; /* the store may still have it: the removal is on its way there */
    if (is_going)
        op->wait_seq = MAX(op->wait_seq, run->removed_seq);
    *ret_known = c->state == CURRENT_KNOWN && !is_going;
    *ret_run_id = c->run_id;
    if (current_is_idle(c) && !current_is_needed(e, c))
        current_free(e, c); /* asked again, it is read again; what is not resident is not cached */
    return 0;
}

int current_set(struct engine *e, struct space *space, const char *workflow_id, struct uuid run_id) {
    struct arena a;
    int rc = ERR_NO_MEMORY;
    arena_init(&a, 64 << 10);
    struct str key = current_key(&a, space, workflow_id);
    struct current *c = key.p ? map_get(&e->currents, key) : NULL;
    if (key.p && !c)
        c = current_new(e, key);
    if (c) {
        c->run_id = run_id;
        c->state = CURRENT_KNOWN;
        rc = 0;
    }
    arena_done(&a);
    return rc;
}

int op_need_execution(struct op *op, struct space *space, const Common__WorkflowExecution *ex,
                      const char *first_run_id) {
    struct uuid run_id;
    bool is_known = false;
    /* A chain is named by its first run; then the run id is only a hint and the current run is meant. */
    bool by_chain = !cstr_is_empty(first_run_id);
    if (by_chain || cstr_is_empty(ex->run_id)) {
        int rc = op_need_current(op, space, ex->workflow_id, &is_known, &run_id);
        if (rc < 0)
            return rc;
        if (!is_known)
            return err_set(&op->err, ERR_NOT_FOUND, "workflow not found for ID: %s", ex->workflow_id);
    } else if (uuid_parse(str_of(ex->run_id), &run_id) < 0) {
        return err_set(&op->err, ERR_INVALID, "Invalid RunId.");
    }
    int rc = op_need_run(op, space, run_id);
    if (rc < 0)
        return rc;
    const State__Execution *st = op->run->body->st;
    if (!cstr_eq(st->workflow_id, ex->workflow_id) || (by_chain && !cstr_eq(st->first_run_id, first_run_id)))
        return err_set(&op->err, ERR_NOT_FOUND, "workflow execution not found");
    return 0;
}
