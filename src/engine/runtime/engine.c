/* The engine's life: recovery at start, the passing of time, cancelled calls, the end. */
#include "engine/engine.h"

#include "base/mem.h"
#include "engine/runtime/engine_int.h"

/* time */

static void fire_deadlines(struct engine *e) {
    for (struct heap_node *n; (n = heap_top(&e->deadlines)) && n->key <= e->judged.mono.us;) {
        struct op *op = container_of(n, struct op, deadline);
        list_remove(&op->link);
        heap_remove(&e->deadlines, n);
        op->expire(op);
    }
}

/* The wall clock may go back between the two: nothing fires early. */
static void clamp_judged(struct engine *e) {
    e->judged.wall.us = MIN(e->judged.wall.us, e->now.wall.us);
    e->judged.mono.us = MIN(e->judged.mono.us, e->now.mono.us);
}

void engine_tell_time(struct engine *e, struct now now) {
    clocks_tell(e, now);
    clamp_judged(e);
}

static void go_on_with_one(struct engine *e) {
    struct list *n = list_pop(&e->slices);
    if (!n)
        return;
    struct op *op = container_of(n, struct op, link);
    op->go(op);
}

void engine_advance(struct engine *e, struct now now) {
    engine_advance_heard(e, now, now);
}

void engine_advance_heard(struct engine *e, struct now now, struct now heard) {
    clocks_tell(e, now);
    loading_hear(e, heard);
    clamp_judged(e);
    if (!e->is_ready)
        return;
    fire_deadlines(e);
    go_on_with_one(e);
    ticks_advance(e);
    queues_advance(e);
    queues_sweep(e);
    retention_sweep(e);
    spaces_reap(e);
    drainage_sweep(e);
    schedule_log_rest(e);
}

/* What is due by the clock and not judged yet waits for one more look at the input, or for calls that are
 * loaded. */
static int64_t engine_wait_us(const struct engine *e, int64_t at_us, int64_t now_us, int64_t judged_us,
                              struct now now) {
    if (at_us > now_us)
        return at_us - now_us;
    return at_us > judged_us ? loading_wait_us(e, now) : 0;
}

static int64_t wait_for_due(const struct engine *e, struct now now) {
    const struct heap_node *due = heap_top(&e->due);
    if (group_is_full(e))
        return CLOCK_NEVER; /* its commit wakes the loop */
    if (ticks_wait(e))
        return 0;
    const struct heap_node *schedule = heap_top(&e->schedule_due);
    int64_t wait = due ? engine_wait_us(e, due->key, now.wall.us, e->judged.wall.us, now) : CLOCK_NEVER;
    if (!schedule)
        return wait;
    return MIN(wait, engine_wait_us(e, schedule->key, clocks_schedule_us(e, now.wall),
                                    clocks_schedule_us(e, e->judged.wall), now));
}

int64_t engine_next_wake_us(const struct engine *e, struct now now) {
    const struct heap_node *deadline = heap_top(&e->deadlines);
    if (!e->is_ready)
        return CLOCK_NEVER; /* the store's answers wake it; what is due then waits for the last of them */
    if (!list_empty(&e->slices))
        return 0;
    int64_t wait = wait_for_due(e, now);
    if (deadline)
        wait = MIN(wait, engine_wait_us(e, deadline->key, now.mono.us, e->judged.mono.us, now));
    if (queues_next_pass_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(queues_next_pass_us(e) - now.mono.us, 0));
    if (queues_next_sweep_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(queues_next_sweep_us(e) - now.mono.us, 0));
    if (e->next_drainage_us != CLOCK_NEVER)
        wait = MIN(wait, MAX(e->next_drainage_us - now.mono.us, 0));
    if (clocks_next_us(e) != CLOCK_NEVER)
        wait = MIN(wait, MAX(clocks_next_us(e) - now.mono.us, 0));
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

/* What the engine asks for itself is left alone: no caller waits for it. */
static void drain_lists(struct engine *e) {
    list_for_safe(&e->page_reads, n) {
        struct op *op = container_of(n, struct page_read, link)->op;
        if (!op || op_is_errand(op))
            continue;
        (void)err_std(&op->err, ERR_UNAVAILABLE);
        op_fail_now(op);
    }
}

void engine_drain(struct engine *e) {
    struct queue *q;
    struct run *run;
    e->is_draining = true;
    drain_lists(e);
    for (size_t i = 0; (q = map_next(&e->queues, &i));)
        expire_list(&q->pollers);
    for (size_t i = 0; (run = map_next(&e->runs, &i));) {
        run_pin(run);
        if (run->body) {
            expire_list(&run->body->readers);
            expire_list(&run->body->update_waiters);
            queries_drain(run);
        }
        run_unpin(e, run);
    }
}

/* start */

/* What is committed, and what follows from it, has no maximum here: it could not be refused any more, and a
 * data file with more than that could not be opened. Calls are refused before they add to it (NAMESPACES,
 * DEPLOYMENTS, RUNS, QUEUES, PARKED of limits.def). */
static void init_facts(struct engine *e) {
    map_init(&e->spaces, SIZE_MAX, rng_u64(&e->rng));
    map_init(&e->deployments, SIZE_MAX, rng_u64(&e->rng));
    map_init(&e->runs, SIZE_MAX, rng_u64(&e->rng));
    map_init(&e->currents, SIZE_MAX, rng_u64(&e->rng));
    map_init(&e->queues, SIZE_MAX, rng_u64(&e->rng));
    list_init(&e->used_queues);
    heap_init(&e->due, SIZE_MAX);
    heap_init(&e->schedule_due, SIZE_MAX);
    heap_init(&e->deadlines, SIZE_MAX);
    heap_init(&e->passes, SIZE_MAX);
}

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
    init_facts(e);
    map_init(&e->queries, ENGINE_PARKED, rng_u64(&e->rng));
    map_init(&e->workers, ENGINE_WORKERS, rng_u64(&e->rng));
    map_init(&e->types, ENGINE_METRIC_TYPES + ENGINE_METRIC_SPACES + 1, rng_u64(&e->rng));
    list_init(&e->heard);
    buf_init(&e->image, ENGINE_IMAGE_BYTES);
    arena_init(&e->scratch, SIZE_MAX);
    list_init(&e->recent);
    list_init(&e->errands);
    list_init(&e->page_reads);
    list_init(&e->retries);
    list_init(&e->slices);
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
    fail_list(&e->slices);
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
    heap_done(&e->schedule_due);
    heap_done(&e->due); /* while its nodes still exist */
    heap_done(&e->deadlines);
    heap_done(&e->passes);
    free_contents(e);
    recovery_free(e);
    recount_free(e);
    tallies_free(e);
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
