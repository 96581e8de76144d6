/* The life of the server process: start, load, serve, stop or crash, start again.
 *
 * The order in a crash matters: the store forgets what was not durable first,
 * then the engine goes; whatever it says while it is taken apart is not heard.
 * A process that cannot start on its disk fails the check `server_starts`. */
#include "server.h"

#include <inttypes.h>

#include "base/err.h"
#include "callback.h"
#include "host/zoneinfo.h"
#include "rpc.h"
#include "engine/counters.h"
#include "world.h"

#define STOP_STEPS_MAX 500

static void server_restart(struct world *w, struct happening *h unused_arg) {
    server_start(w);
}

void server_init(struct world *w) {
    struct server *s = &w->server;
    s->disk = mem_disk_new();
    ensure(s->disk);
    list_init(&s->open);
    s->restart.run = server_restart;
}

void server_done(struct world *w) {
    struct server *s = &w->server;
    if (s->state != SERVER_DOWN)
        server_crash(w, "the end");
    world_not(w, &s->restart);
    mem_disk_free(s->disk);
}

bool server_accepts(const struct world *w) {
    return w->server.state == SERVER_UP && !w->server.crash_wanted;
}

/* Injected read errors end the process; any other reason is a bug. */
static void server_on_fatal(void *ctx, const char *text) {
    struct world *w = ctx;
    trace_note(w, "server fatal: %s", text);
    w->server.crash_wanted = true;
    if (w->tally.faults[FAULT_read_error] == 0)
        world_fail(w, "server_fatal", "%s", text);
}

static void server_on_ready(void *ctx, int rc, const struct err *e) {
    struct world *w = ctx;
    if (w->server.is_dying)
        return;
    trace_note(w, "server ready rc=%d epoch=%" PRIu32, rc, w->server.epoch);
    if (rc == 0) {
        w->server.state = SERVER_UP;
        world_note_trouble(w);
        return;
    }
    w->server.crash_wanted = true;
    if (w->tally.faults[FAULT_read_error] == 0)
        world_fail(w, "server_starts", "%s", e ? e->text : "no reason given");
}

void server_start(struct world *w) {
    static const char *const namespaces[] = {"default", "other", NULL};
    struct server *s = &w->server;
    ensure(s->state == SERVER_DOWN);
    s->epoch++;
    trace_note(w, "server start epoch=%" PRIu32 " disk=%016" PRIx64, s->epoch, mem_disk_hash(s->disk));
    if (mem_store_open(s->disk, &s->store) < 0) {
        world_fail(w, "server_starts", "the store does not open");
        return;
    }
    s->zones = zoneinfo_zones(w->zoneinfo);
    struct engine_config cfg = {
        .zones = &s->zones,
        .store = s->store,
        .seed = rng_u64(&w->rng),
        .resident_runs_max = w->profile.resident_runs_max,
        .queue_tasks_max = w->profile.queue_tasks_max,
        .namespaces = namespaces,
        .retention_us = SERVER_RETENTION_US,
        .limits = {.allows_callbacks = true},
        .send_callback = callbacks_receive,
        .callback_ctx = w,
        .on_fatal = server_on_fatal,
        .fatal_ctx = w,
    };
    s->state = SERVER_LOADING;
    world_note_birth(w);
    if (engine_new(&cfg, w->now, server_on_ready, w, &s->engine) < 0)
        world_fail(w, "server_starts", "the engine does not start");
}

/* Every call that the engine held has lost its connection. */
static void server_cut_calls(struct server *s) {
    struct list *n;
    while ((n = list_pop(&s->open)))
        rpc_cut(container_of(n, struct rpc, link));
}

static void server_is_gone(struct world *w) {
    struct server *s = &w->server;
    s->store = NULL;
    s->engine = NULL;
    s->state = SERVER_DOWN;
    world_note_trouble(w);
    s->crash_wanted = false;
    callbacks_drop(w);
    server_cut_calls(s);
    for (size_t i = 0; i < w->model.run_count; i++)
        if (!w->model.in_order[i]->close_type)
            w->model.in_order[i]->audit_wanted = true;
    world_at(w, &s->restart, world_delay(w, USEC_PER_MS, 5 * USEC_PER_SEC));
}

void server_crash(struct world *w, const char *why) {
    struct server *s = &w->server;
    trace_note(w, "server crash: %s, commits waiting=%zu", why, mem_store_pending_commits(s->store));
    s->is_dying = true;
    mem_store_crash(s->store);
    engine_free(s->engine);
    s->is_dying = false;
    server_is_gone(w);
}

void server_stop(struct world *w) {
    w->server.state = SERVER_STOPPING;
    w->server.stop_step = w->step;
    engine_drain(w->server.engine);
}

/* Once nothing is uncommitted the process ends; its open calls are told so. */
static void server_stop_step(struct world *w) {
    struct server *s = &w->server;
    bool is_clean = engine_idle(s->engine) && mem_store_pending_commits(s->store) == 0 &&
                    mem_store_pending_reads(s->store) == 0;
    if (!is_clean && w->step - s->stop_step < STOP_STEPS_MAX)
        return;
    if (!is_clean) {
        server_crash(w, "did not stop in time");
        return;
    }
    trace_note(w, "server stopped");
    engine_free(s->engine);
    store_close(s->store);
    server_is_gone(w);
}

static void server_mute(void *ctx unused_arg, int rc unused_arg, const struct err *e unused_arg) {}

void server_check_tallies(struct world *w) {
    static const char *const none[] = {NULL};
    struct server *s = &w->server;
    struct engine_counters kept, counted;
    struct store *store = NULL;
    struct engine *engine = NULL;
    if (s->state != SERVER_UP || !engine_idle(s->engine) || server_store_work(w))
        return;
    engine_counters(s->engine, &kept);
    if (mem_store_open(s->disk, &store) < 0) {
        world_fail(w, "server_starts", "the store does not open");
        return;
    }
    mem_store_set_auto(store, true);
    struct engine_config cfg = {.zones = &s->zones, .store = store, .seed = 1, .namespaces = none};
    if (engine_new(&cfg, w->now, server_mute, w, &engine) < 0)
        world_fail(w, "server_starts", "the engine does not start");
    if (engine)
        engine_counters(engine, &counted);
    for (size_t i = 0; engine && i < kept.space_count; i++)
        for (size_t k = TALLY_NONE + 1; k < TALLY_COUNT; k++)
            if (i >= counted.space_count || kept.spaces[i].tallies[k] != counted.spaces[i].tallies[k])
                world_fail(w, "tallies_survive", "%s: tally %zu is %" PRId64 ", a start counts %" PRId64,
                           kept.spaces[i].name, k, kept.spaces[i].tallies[k],
                           i < counted.space_count ? counted.spaces[i].tallies[k] : -1);
    mem_store_crash(store);
    engine_free(engine);
}

void server_tell_time(struct world *w) {
    if (w->server.engine)
        engine_advance(w->server.engine, w->now);
}

size_t server_store_work(const struct world *w) {
    const struct store *s = w->server.store;
    return s ? mem_store_pending_commits(s) + mem_store_pending_reads(s) : 0;
}

static void server_commit(struct world *w) {
    struct server *s = &w->server;
    s->commits++;
    if (world_fault(w, FAULT_commit_error)) {
        server_crash(w, "a commit failed");
        return;
    }
    if (world_fault(w, FAULT_commit_unheard)) {
        mem_store_commit_unannounced(s->store);
        server_crash(w, "durable but not announced");
        return;
    }
    mem_store_commit_one(s->store);
}

static void server_answer(struct world *w, size_t reads) {
    struct server *s = &w->server;
    if (s->state == SERVER_LOADING && world_fault(w, FAULT_crash_in_recovery)) {
        server_crash(w, "in recovery");
        return;
    }
    size_t which = (size_t)rng_below(&w->rng, reads);
    mem_store_answer(s->store, which, world_fault(w, FAULT_read_error) ? ERR_STORE_IO : 0);
}

void server_store_step(struct world *w) {
    struct server *s = &w->server;
    size_t commits = mem_store_pending_commits(s->store);
    size_t reads = mem_store_pending_reads(s->store);
    w->idle_turns = 0;
    if (world_fault(w, FAULT_crash_before_await)) {
        server_crash(w, "while it waits for the store");
        return;
    }
    if (commits > 0 && (reads == 0 || rng_below(&w->rng, 2) == 0))
        server_commit(w);
    else
        server_answer(w, reads);
    if (s->state != SERVER_DOWN && world_fault(w, FAULT_crash_after_await))
        s->crash_wanted = true;
}

void server_step(struct world *w) {
    struct server *s = &w->server;
    if (s->state == SERVER_DOWN)
        return;
    if (s->crash_wanted) {
        server_crash(w, "wanted");
        return;
    }
    if (s->state == SERVER_STOPPING) {
        engine_flush(s->engine);
        server_stop_step(w);
    } else if (rng_below(&w->rng, 3) == 0) {
        engine_flush(s->engine);
    }
}
