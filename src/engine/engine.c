/* The engine's life: recovery at start, the passing of time, cancelled calls, the end. */
#include "engine/engine.h"

#include "base/mem.h"
#include "engine/engine_int.h"

/* time */

static void fire_deadlines(struct engine *e) {
    for (struct heap_node *n; (n = heap_top(&e->deadlines)) && n->key <= e->now.mono.us;) {
        struct op *op = container_of(n, struct op, deadline);
        list_remove(&op->link);
        heap_remove(&e->deadlines, n);
        op->expire(op);
    }
}

void engine_tell_time(struct engine *e, struct now now) {
    e->now = now;
}

void engine_advance(struct engine *e, struct now now) {
    engine_tell_time(e, now);
    if (!e->is_ready)
        return;
    fire_deadlines(e);
    ticks_advance(e);
    queues_advance(e);
    retention_sweep(e);
    spaces_reap(e);
    drainage_sweep(e);
}

int64_t engine_next_wake_us(const struct engine *e, struct now now) {
    const struct heap_node *due = heap_top(&e->due), *deadline = heap_top(&e->deadlines);
    int64_t wait = CLOCK_NEVER;
    if (!e->is_ready)
        return CLOCK_NEVER; /* the store's answers wake it; what is due then waits for the last of them */
    if (!group_is_full(e) && ticks_wait(e))
        wait = 0;
    else if (due && !group_is_full(e))
        wait = MAX(due->key - now.wall.us, 0);
    if (deadline)
        wait = MIN(wait, MAX(deadline->key - now.mono.us, 0));
    if (queues_next_pass_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(queues_next_pass_us(e) - now.mono.us, 0));
    if (e->next_drainage_us != CLOCK_NEVER)
        wait = MIN(wait, MAX(e->next_drainage_us - now.mono.us, 0));
    if (retention_next_sweep_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(retention_next_sweep_us(e) - now.mono.us, 0));
    if (spaces_next_reap_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(spaces_next_reap_us(e) - now.mono.us, 0));
    return wait;
}

void engine_fail(struct engine *e, const char *text) {
    e->has_failed = true;
    e->cfg.on_fatal(e->cfg.fatal_ctx, text);
}

/* calls that end early */

void engine_cancel(struct engine *e unused_arg, struct call *c) {
    struct op *op = c->op;
    if (!op)
        return;
    if (op->drop)
        op->drop(op);
    op_finish(op);
}

/* Ends waits as if their time were up: polls and history readers get an empty answer. */
static void expire_list(struct list *l) {
    for (struct list *n; (n = list_pop(l));) {
        struct op *op = container_of(n, struct op, link);
        op->expire(op);
    }
}

void engine_drain(struct engine *e) {
    struct queue *q;
    struct run *run;
    e->is_draining = true;
    for (size_t i = 0; (q = map_next(&e->queues, &i));)
        expire_list(&q->pollers);
    for (size_t i = 0; (run = map_next(&e->runs, &i));) {
        run_pin(run);
        if (run->body) {
            expire_list(&run->body->readers);
            expire_list(&run->body->update_waiters);
        }
        run_unpin(e, run);
    }
}

/* start */

int engine_new(const struct engine_config *cfg, struct now now,
               void (*ready)(void *ctx, int rc, const struct err *e), void *ctx, struct engine **ret) {
    struct engine *e = mem_zalloc(sizeof(*e));
    if (!e)
        return ERR_NO_MEMORY;
    e->cfg = *cfg;
    e->limits = cfg->limits;
    e->queue_tasks_max = cfg->queue_tasks_max ? cfg->queue_tasks_max : ENGINE_QUEUE_TASKS;
    e->parked_max = cfg->parked_max ? cfg->parked_max : ENGINE_PARKED;
    e->long_poll_us = cfg->long_poll_us ? cfg->long_poll_us : ENGINE_LONG_POLL_MS * USEC_PER_MS;
    e->store = cfg->store;
    e->log = cfg->log;
    e->now = now;
    e->begin = now.wall;
    counters_init(&e->counters);
    e->on_ready = ready;
    e->ready_ctx = ctx;
    e->next_seq = 1;
    e->next_drainage_us = CLOCK_NEVER;
    e->routes_seq = 1; /* above what a new queue remembers */
    list_init(&e->sends);
    rng_init(&e->rng, cfg->seed);
    map_init(&e->spaces, ENGINE_NAMESPACES, rng_u64(&e->rng));
    map_init(&e->deployments, ENGINE_DEPLOYMENTS, rng_u64(&e->rng));
    map_init(&e->runs, ENGINE_RUNS, rng_u64(&e->rng));
    map_init(&e->currents, ENGINE_RUNS, rng_u64(&e->rng));
    map_init(&e->queues, ENGINE_QUEUES, rng_u64(&e->rng));
    map_init(&e->queries, ENGINE_PARKED, rng_u64(&e->rng));
    map_init(&e->workers, ENGINE_WORKERS, rng_u64(&e->rng));
    list_init(&e->heard);
    heap_init(&e->due, ENGINE_RUNS);
    heap_init(&e->deadlines, ENGINE_PARKED + ENGINE_RUNS); /* the engine's own work is about its runs */
    heap_init(&e->passes, ENGINE_QUEUES);
    buf_init(&e->image, ENGINE_IMAGE_BYTES);
    arena_init(&e->scratch, SIZE_MAX);
    list_init(&e->recent);
    list_init(&e->errands);
    list_init(&e->page_reads);
    list_init(&e->retries);
    list_init(&e->backlogs);
    list_init(&e->hungry);
    e->soon_end = &e->soon;
    e->next_sweep_us = usec_add(now.mono.us, ENGINE_SWEEP_FIRST_MS * USEC_PER_MS);
    e->next_reap_us = CLOCK_NEVER;
    *ret = e;
    int rc = recovery_begin(e);
    if (rc < 0)
        engine_free(take(ret));
    return rc;
}

/* the end */

static void fail_list(struct list *l) {
    for (struct list *n; (n = list_pop(l));) {
        struct op *op = container_of(n, struct op, link);
        err_std(&op->err, ERR_UNAVAILABLE);
        op_fail_now(op);
    }
}

static void fail_group(struct group *g) {
    if (!g)
        return;
    list_for(&g->replies, n) {
        struct op *op = container_of(n, struct op, link);
        op->reply = NULL;
        err_std(&op->err, ERR_MAYBE);
    }
    for (struct list *n; (n = list_pop(&g->replies));)
        op_fail_now(container_of(n, struct op, link));
}

static void fail_body_waiters(struct body *b) {
    fail_list(&b->readers);
    fail_list(&b->update_waiters);
    for (struct list *n; (n = list_pop(&b->queries));) {
        struct query *q = container_of(n, struct query, link);
        struct op *op = q->op;
        if (q->task)
            q->task->query = NULL;
        if (q->poll)
            q->poll->query = NULL;
        op->query = NULL;
        err_std(&op->err, ERR_UNAVAILABLE);
        op_fail_now(op);
    }
}

/* The store is closed: what it has not answered it never will. */
static void fail_page_reads(struct engine *e) {
    for (struct list *n; (n = list_pop(&e->page_reads));) {
        struct page_read *pr = container_of(n, struct page_read, link);
        struct op *op = pr->op;
        page_read_free(pr);
        if (!op)
            continue;
        op->page_read = NULL;
        err_std(&op->err, ERR_UNAVAILABLE);
        op_fail_now(op);
    }
}

static void fail_calls(struct engine *e) {
    struct queue *q;
    struct run *run;
    struct current *c;
    for (size_t i = 0; (q = map_next(&e->queues, &i));)
        fail_list(&q->pollers);
    fail_page_reads(e);
    fail_list(&e->retries);
    fail_group(e->flight);
    fail_group(e->open);
    for (size_t i = 0; (c = map_next(&e->currents, &i));)
        fail_list(&c->waiters);
    for (size_t i = 0; (run = map_next(&e->runs, &i));) {
        run_pin(run); /* failing its calls must not free it under the loop */
        fail_list(&run->waiters);
        if (run->body)
            fail_body_waiters(run->body);
    }
}

static void free_contents(struct engine *e) {
    struct queue *q;
    struct run *run;
    struct current *c;
    struct space *s;
    struct deployment *d;
    for (size_t i = 0; (q = map_next(&e->queues, &i));)
        queue_free(q);
    backlogs_free(e);
    for (size_t i = 0; (c = map_next(&e->currents, &i));)
        mem_free(c);
    for (size_t i = 0; (run = map_next(&e->runs, &i));) {
        body_free(run->body);
        mem_free(run->read);
        mem_free(run);
    }
    workers_forget(e, NULL);
    for (size_t i = 0; (d = map_next(&e->deployments, &i));)
        deployment_free(d);
    for (size_t i = 0; (s = map_next(&e->spaces, &i));) {
        pb_free(s->st);
        mem_free(s);
    }
    for (struct pending_effect *p = e->soon, *next; p; p = next) {
        next = p->next;
        mem_free(p);
    }
}

void engine_free(struct engine *e) {
    if (!e)
        return;
    e->is_ready = false;
    fail_calls(e);
    callbacks_free(e);
    heap_done(&e->due); /* while its nodes still exist */
    heap_done(&e->deadlines);
    heap_done(&e->passes);
    free_contents(e);
    recovery_free(e);
    ticks_free(e);
    group_free(e->open);
    group_free(e->flight);
    group_free(e->spare);
    map_done(&e->spaces);
    map_done(&e->deployments);
    map_done(&e->runs);
    map_done(&e->currents);
    map_done(&e->queues);
    map_done(&e->queries);
    map_done(&e->workers);
    buf_done(&e->image);
    arena_done(&e->scratch);
    mem_free(e);
}
