/* The life of workers. A worker that dies drops its calls; the server may notice or not. */
#include "worker.h"

#include <stdio.h>

#include "activity_slot.h"
#include "base/mem.h"
#include "request.h"
#include "rollout.h"
#include "rpc.h"
#include "workflow_slot.h"

#define SHUTDOWN_TIMEOUT_US (5 * USEC_PER_SEC)

struct program *worker_recall(struct worker *worker, const char *run_id) {
    for (size_t i = 0; i < WORKER_CACHE_MAX; i++)
        if (cstr_eq(worker->cache[i].run_id, run_id))
            return &worker->cache[i];
    return NULL;
}

void worker_remember(struct worker *worker, const struct program *p) {
    struct program *place = worker_recall(worker, p->run_id);
    if (!place)
        place = &worker->cache[worker->cache_next++ % WORKER_CACHE_MAX];
    *place = *p;
}

void worker_forget(struct worker *worker, const char *run_id) {
    struct program *p = worker_recall(worker, run_id);
    if (p)
        *p = (struct program){0};
}

void worker_give_activity(struct worker *worker, const Ws__PollActivityTaskQueueResponse *task) {
    for (unsigned i = 0; i < worker->activity_slot_count; i++)
        if (activity_slot_is_free(&worker->activity_slots[i])) {
            activity_slot_give(&worker->activity_slots[i], task);
            return;
        }
}

void workers_give_first_task(struct world *w, const char *namespace_name,
                             const Ws__PollWorkflowTaskQueueResponse *task) {
    for (unsigned i = 0; i < w->profile.worker_count; i++) {
        struct worker *worker = &w->workers[i];
        struct workflow_slot *s = &worker->workflow_slots[worker->workflow_slot_count - 1];
        if (!worker->is_alive || !cstr_eq(worker->namespace_name, namespace_name) || !workflow_slot_is_free(s))
            continue;
        workflow_slot_give(s, task);
        return;
    }
}

void workers_tell_of_attempt(struct world *w, const struct activity_slot *begun) {
    for (unsigned i = 0; i < w->profile.worker_count; i++)
        for (unsigned k = 0; k < w->workers[i].activity_slot_count; k++)
            activity_slot_hear(&w->workers[i].activity_slots[k], begun);
}

static void worker_live(struct world *w, struct happening *h) {
    struct worker *worker = container_of(h, struct worker, rebirth);
    worker->is_alive = true;
    worker->life++;
    snprintf(worker->sticky_queue, sizeof(worker->sticky_queue), "%s-%u", worker->name, worker->life);
    trace_note(w, "%s lives", worker->sticky_queue);
    for (unsigned i = 0; i < worker->workflow_slot_count; i++)
        workflow_slot_begin(&worker->workflow_slots[i]);
    for (unsigned i = 0; i < worker->activity_slot_count; i++)
        activity_slot_begin(&worker->activity_slots[i]);
}

static void worker_told(struct rpc *r) {
    ((struct worker *)r->owner)->goodbye = NULL;
}

/* A worker that ends in order says so; the server then forgets its sticky queue. */
static void worker_say_goodbye(struct worker *worker) {
    if (worker->goodbye)
        return;
    struct rpc *r = worker->goodbye = rpc_new(worker->w, RPC_shutdown_worker, worker, worker_told);
    Ws__ShutdownWorkerRequest *q =
        MAKE(&r->arena, Ws__ShutdownWorkerRequest, ws__shutdown_worker_request__init);
    q->namespace_ = make_text(&r->arena, "%s", worker->namespace_name);
    q->sticky_task_queue = make_text(&r->arena, "%s", worker->sticky_queue);
    q->identity = make_text(&r->arena, "%s", worker->name);
    q->reason = make_text(&r->arena, "graceful shutdown");
    rpc_send(r, q, SHUTDOWN_TIMEOUT_US);
}

static void worker_die(struct worker *worker) {
    trace_note(worker->w, "%s dies", worker->sticky_queue);
    for (unsigned i = 0; i < worker->workflow_slot_count; i++)
        workflow_slot_end(&worker->workflow_slots[i]);
    for (unsigned i = 0; i < worker->activity_slot_count; i++)
        activity_slot_end(&worker->activity_slots[i]);
    memset(worker->cache, 0, sizeof(worker->cache));
    worker->is_alive = false;
}

void workers_kill_one(struct world *w) {
    struct worker *worker = &w->workers[rng_below(&w->rng, w->profile.worker_count)];
    if (!worker->is_alive)
        return;
    worker_die(worker);
    if (rng_chance(&w->rng, 2))
        worker_say_goodbye(worker);
    world_at(w, &worker->rebirth, world_delay(w, USEC_PER_MS, 20 * USEC_PER_SEC));
}

void workers_hang_one(struct world *w) {
    struct worker *worker = &w->workers[rng_below(&w->rng, w->profile.worker_count)];
    worker->hung_until_us = w->now.mono.us + world_delay(w, USEC_PER_SEC, 120 * USEC_PER_SEC);
    trace_note(w, "%s hangs", worker->name);
}

int64_t worker_delay(const struct worker *worker, int64_t delay_us) {
    return MAX(delay_us, worker->hung_until_us - worker->w->now.mono.us);
}

void workers_revive(struct world *w) {
    for (unsigned i = 0; i < w->profile.worker_count; i++) {
        struct worker *worker = &w->workers[i];
        if (!worker->is_alive)
            world_at(w, &worker->rebirth, 0);
        for (unsigned k = 0; k < worker->workflow_slot_count; k++)
            world_hurry(w, &worker->workflow_slots[k].next);
        for (unsigned k = 0; k < worker->activity_slot_count; k++)
            world_hurry(w, &worker->activity_slots[k].next);
    }
}

static void worker_init(struct world *w, struct worker *worker, unsigned index) {
    *worker = (struct worker){.w = w, .index = index, .namespace_name = index % 2 ? "other" : "default"};
    worker->rebirth.run = worker_live;
    worker->is_sticky = !rng_chance(&w->rng, 4);
    worker->returns_new = rng_chance(&w->rng, 2);
    worker->workflow_slot_count = 3 + (unsigned)rng_below(&w->rng, 4); /* the last one is eager */
    worker->activity_slot_count = 2 + (unsigned)rng_below(&w->rng, 4);
    snprintf(worker->name, sizeof(worker->name), "worker%u", index);
    if (rollout_covers(w, worker->namespace_name))
        snprintf(worker->build_id, sizeof(worker->build_id), "b%u", index / 2 % ROLLOUT_BUILDS);
    worker->workflow_slots = mem_zalloc(worker->workflow_slot_count * sizeof(struct workflow_slot));
    worker->activity_slots = mem_zalloc(worker->activity_slot_count * sizeof(struct activity_slot));
    ensure(worker->workflow_slots && worker->activity_slots);
    for (unsigned i = 0; i < worker->workflow_slot_count; i++)
        workflow_slot_init(&worker->workflow_slots[i], worker, worker->is_sticky && i % 2 == 1);
    for (unsigned i = 0; i < worker->activity_slot_count; i++)
        activity_slot_init(&worker->activity_slots[i], worker);
    worker->workflow_slots[worker->workflow_slot_count - 1].is_eager = true;
    worker->activity_slots[worker->activity_slot_count - 1].is_eager = true;
    world_at(w, &worker->rebirth, world_delay(w, 0, USEC_PER_SEC));
}

struct worker *workers_new(struct world *w) {
    struct worker *workers = mem_zalloc(w->profile.worker_count * sizeof(*workers));
    ensure(workers);
    for (unsigned i = 0; i < w->profile.worker_count; i++)
        worker_init(w, &workers[i], i);
    return workers;
}

void workers_free(struct world *w) {
    for (unsigned i = 0; i < w->profile.worker_count; i++) {
        struct worker *worker = &w->workers[i];
        worker_die(worker);
        rpc_drop(worker->goodbye);
        world_not(w, &worker->rebirth);
        for (unsigned k = 0; k < worker->workflow_slot_count; k++)
            workflow_slot_done(&worker->workflow_slots[k]);
        for (unsigned k = 0; k < worker->activity_slot_count; k++)
            activity_slot_done(&worker->activity_slots[k]);
        mem_free(worker->workflow_slots);
        mem_free(worker->activity_slots);
    }
    mem_free(w->workers);
}
