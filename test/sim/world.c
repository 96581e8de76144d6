/* The loop of the simulated world.
 *
 * A step either serves the store, or moves to the next moment at which
 * something is due and lets it happen. After the given number of steps the calm
 * phase begins; the world is done when the auditor has seen every run closed
 * and has found every promise kept. It fails when a check fails, when nothing
 * is left that could happen, or when the calm phase does not end. */
#include "world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "auditor.h"
#include "batcher.h"
#include "base/err.h"
#include "base/mem.h"
#include "callback.h"
#include "client.h"
#include "host/zoneinfo.h"
#include "keeper.h"
#include "rollout.h"
#include "survey.h"
#include "worker.h"

#define AGENDA_MAX (1u << 20)
#define STORE_PATIENCE_US (20 * USEC_PER_MS)
#define STORE_SLOW_US USEC_PER_SEC
#define IDLE_TURNS_MAX 2000
#define CALM_STEPS_MAX 500000
#define CALM_US_MAX (INT64_C(6) * 3600 * USEC_PER_SEC)

void world_at(struct world *w, struct happening *h, int64_t delay_us) {
    int64_t due = w->now.mono.us + delay_us;
    if (heap_has(&h->node))
        heap_move(&w->agenda, &h->node, due);
    else
        ensure(heap_add(&w->agenda, &h->node, due) == 0);
}

void world_not(struct world *w, struct happening *h) {
    heap_remove(&w->agenda, &h->node);
}

bool world_fault(struct world *w, enum fault f) {
    uint32_t one_in = w->profile.one_in[f];
    if (w->is_calm || one_in == 0 || !rng_chance(&w->rng, one_in))
        return false;
    w->tally.faults[f]++;
    trace_note(w, "fault %s", fault_name(f));
    return true;
}

bool world_clock_jumped(const struct world *w) {
    return w->tally.faults[FAULT_wall_jump] > 0 || w->tally.faults[FAULT_wall_leap] > 0;
}

int64_t world_clock_span_us(const struct world *w) {
    return MAX(w->wall_latest_us, w->now.wall.us) - MIN(w->wall_earliest_us, w->now.wall.us);
}

static void moments_note(struct moments *m, int64_t at_us) {
    m->at_us = model_grow(m->at_us, m->count, &m->cap, sizeof(*m->at_us));
    m->at_us[m->count++] = at_us;
}

static bool moments_fall_in(const struct moments *m, int64_t first_us, int64_t last_us) {
    for (size_t i = 0; i < m->count; i++)
        if (m->at_us[i] >= first_us && m->at_us[i] <= last_us)
            return true;
    return false;
}

void world_note_trouble(struct world *w) {
    moments_note(&w->troubles, w->now.wall.us);
}

bool world_was_troubled(const struct world *w, int64_t from_us, int64_t to_us) {
    return moments_fall_in(&w->troubles, from_us, to_us);
}

void world_note_birth(struct world *w) {
    moments_note(&w->births, w->now.wall.us);
}

bool world_was_reborn(const struct world *w, int64_t from_us, int64_t until_us) {
    return moments_fall_in(&w->births, from_us + 1, until_us);
}

int64_t world_delay(struct world *w, int64_t min_us, int64_t max_us) {
    uint64_t span = (uint64_t)(max_us - min_us) + 1;
    return min_us + (int64_t)rng_below(&w->rng, 1 + rng_below(&w->rng, span));
}

int64_t world_leisure(struct world *w, int64_t max_us) {
    return world_delay(w, 0, w->is_calm ? max_us : max_us * w->profile.pace);
}

void world_hurry(struct world *w, struct happening *h) {
    if (!heap_has(&h->node) || w->profile.pace == 1)
        return;
    world_not(w, h);
    world_at(w, h, 0);
}

void world_fail(struct world *w, const char *check, const char *fmt, ...) {
    if (w->failure.is_set)
        return;
    w->failure.is_set = true;
    w->failure.check = check;
    va_list args;
    va_start(args, fmt);
    vsnprintf(w->failure.detail, sizeof(w->failure.detail), fmt, args);
    va_end(args);
    trace_note(w, "failed check=%s %s", check, w->failure.detail);
}

/* Three worlds of four begin a little before something that calendars must get right. */
static int64_t world_draw_start(struct rng *r) {
    static const int64_t dates_s[] = {
        1767225600, /* 2026-01-01 */
        1774746000, /* Berlin's clocks go from 2 to 3 */
        1792890000, /* and from 3 to 2 */
        1772953200, /* New York's clocks go from 2 to 3 */
        1793512800, /* and from 2 to 1 */
        1775314800, /* Lord Howe's from 2 to half past 1 */
        1791041400, /* and from 2 to half past 2 */
        1835395200, /* 2028-02-29 */
    };
    int64_t at_s = dates_s[rng_chance(r, 4) ? 0 : rng_below(r, ARRAY_LEN(dates_s))];
    return (at_s - (int64_t)rng_below(r, 90)) * USEC_PER_SEC;
}

int world_new(const struct world_config *cfg, struct world **ret) {
    struct world *w = mem_zalloc(sizeof(*w));
    ensure(w);
    w->cfg = *cfg;
    rng_init(&w->rng, cfg->seed);
    int rc = profile_draw(&w->profile, cfg->profile, &w->rng);
    if (rc < 0) {
        mem_free(w);
        return rc;
    }
    w->now = (struct now){.wall = {world_draw_start(&w->rng)}, .mono = {USEC_PER_SEC}};
    w->wall_earliest_us = w->now.wall.us;
    heap_init(&w->agenda, AGENDA_MAX);
    trace_init(&w->trace, cfg->trace);
    model_init(&w->model);
    w->zoneinfo = zoneinfo_new(NULL);
    ensure(w->zoneinfo);
    server_init(w);
    w->clients = clients_new(w);
    w->keepers = keepers_new(w);
    w->batchers = batchers_new(w);
    w->rollout = rollout_new(w);
    w->workers = workers_new(w);
    w->auditor = auditor_new(w);
    w->callbacks = callbacks_new(w);
    w->survey = survey_new(w);
    *ret = w;
    return 0;
}

void world_free(struct world *w) {
    survey_free(w);
    auditor_free(w);
    workers_free(w);
    rollout_free(w);
    batchers_free(w);
    keepers_free(w);
    clients_free(w);
    server_done(w);
    callbacks_done(w);
    model_done(&w->model);
    heap_done(&w->agenda);
    zoneinfo_free(w->zoneinfo);
    mem_free(w->troubles.at_us);
    mem_free(w->births.at_us);
    mem_free(w);
}

static void world_set_time(struct world *w, int64_t mono_us) {
    if (mono_us <= w->now.mono.us)
        return;
    w->now.wall.us += mono_us - w->now.mono.us;
    w->now.mono.us = mono_us;
    w->idle_turns = 0;
}

static void world_jump_wall(struct world *w, int64_t reach) {
    int64_t by = (int64_t)rng_below(&w->rng, (uint64_t)reach * 2) - reach;
    w->wall_latest_us = MAX(w->wall_latest_us, w->now.wall.us);
    w->now.wall.us += by;
    w->wall_earliest_us = MIN(w->wall_earliest_us, w->now.wall.us);
    trace_note(w, "wall jump by=%" PRId64, by);
}

static void world_disturb_clock(struct world *w) {
    static const int64_t jump_s[] = {2, 60, 3600, 6 * 3600};
    static const int64_t leap_days[] = {1, 7, 30, 365};
    if (world_fault(w, FAULT_wall_jump))
        world_jump_wall(w, jump_s[rng_below(&w->rng, ARRAY_LEN(jump_s))] * USEC_PER_SEC);
    if (world_fault(w, FAULT_wall_leap))
        world_jump_wall(w, leap_days[rng_below(&w->rng, ARRAY_LEN(leap_days))] * 24 * 3600 * USEC_PER_SEC);
}

static void world_disturb(struct world *w) {
    if (w->is_calm)
        return;
    world_disturb_clock(w);
    if (w->server.state == SERVER_DOWN)
        return;
    if (world_fault(w, FAULT_crash))
        server_crash(w, "at any moment");
    else if (w->server.state == SERVER_UP && world_fault(w, FAULT_stop))
        server_stop(w);
    if (world_fault(w, FAULT_worker_died))
        workers_kill_one(w);
    if (world_fault(w, FAULT_worker_hung))
        workers_hang_one(w);
}

/* When the engine wants to be woken, by the monotonic clock. */
static int64_t world_engine_wake(struct world *w) {
    if (!w->server.engine)
        return CLOCK_NEVER;
    int64_t delay = engine_next_wake_us(w->server.engine, w->now);
    if (delay == CLOCK_NEVER)
        return CLOCK_NEVER;
    if (delay < 0)
        delay = 0;
    return usec_add(w->now.mono.us, delay);
}

/* The engine asks for a wake-up again and again without anything happening. */
static void world_count_idle_turn(struct world *w) {
    if (++w->idle_turns > IDLE_TURNS_MAX)
        world_fail(w, "engine_spins", "%d wake-ups at one moment", IDLE_TURNS_MAX);
}

static void world_move_on(struct world *w, int64_t wake_us) {
    struct heap_node *top = heap_top(&w->agenda);
    int64_t next_us = top ? top->key : CLOCK_NEVER;
    if (wake_us != CLOCK_NEVER && wake_us < next_us && world_fault(w, FAULT_loop_late))
        wake_us += world_delay(w, 0, 2 * USEC_PER_SEC);
    if (wake_us < next_us) {
        world_set_time(w, wake_us);
        server_tell_time(w);
        world_count_idle_turn(w);
        return;
    }
    if (!top) {
        if (server_store_work(w) == 0)
            world_fail(w, "nothing_left", "no agenda, no deadline, no store work");
        return;
    }
    world_set_time(w, next_us);
    struct happening *h = container_of(top, struct happening, node);
    heap_remove(&w->agenda, top);
    server_tell_time(w);
    h->run(w, h);
}

/* Whether the disk does what waits for it now. */
static bool world_store_is_quick(struct world *w) {
    if (w->now.mono.us < w->store_stalled_until_us || world_fault(w, FAULT_disk_slow))
        return false;
    if (!world_fault(w, FAULT_disk_stalled))
        return true;
    world_note_trouble(w);
    w->store_stalled_until_us = w->now.mono.us + world_delay(w, USEC_PER_SEC, 60 * USEC_PER_SEC);
    return false;
}

static void world_wait_for_store(struct world *w) {
    world_set_time(w, w->now.mono.us + world_delay(w, 1, STORE_SLOW_US));
    server_tell_time(w);
}

static void world_step(struct world *w) {
    w->step++;
    world_disturb(w);
    int64_t wake_us = world_engine_wake(w);
    struct heap_node *top = heap_top(&w->agenda);
    int64_t next_us = MIN(wake_us, top ? top->key : CLOCK_NEVER);
    bool is_far = next_us == CLOCK_NEVER || next_us - w->now.mono.us > STORE_PATIENCE_US;
    if (w->server.engine && next_us > w->now.mono.us)
        engine_flush(w->server.engine); /* the loop would sleep now */
    bool may_wait = w->profile.store_lag > 0 && rng_below(&w->rng, 8) < w->profile.store_lag;
    if (server_store_work(w) > 0 && (is_far || !may_wait) && world_store_is_quick(w))
        server_store_step(w);
    else if (server_store_work(w) > 0 && next_us - w->now.mono.us > STORE_SLOW_US)
        world_wait_for_store(w); /* the disk is slow, and nothing else happens meanwhile */
    else
        world_move_on(w, wake_us);
    server_step(w);
}

static void world_calm_down(struct world *w) {
    trace_note(w, "calm");
    w->is_calm = true;
    w->calm_us = w->now.mono.us;
    w->store_stalled_until_us = 0;
    w->now.wall.us = MAX(w->now.wall.us, w->wall_latest_us); /* the clock is right again */
    /* Recovery must find everything; and what recovery could mend must not need it. */
    if (w->server.state != SERVER_DOWN && rng_chance(&w->rng, 2))
        server_crash(w, "the last one");
    clients_rest(w);
    keepers_rest(w);
    batchers_rest(w);
    rollout_rest(w);
    workers_revive(w);
    auditor_begin(w);
}

static void world_expect_progress(struct world *w) {
    const uint64_t enough_steps = 5000;
    if (w->cfg.steps >= enough_steps &&
        (w->tally.starts == 0 || w->tally.completed == 0 || w->tally.oks < w->tally.calls / 20))
        world_fail(w, "something_happens",
                   "starts=%" PRIu64 " completed=%" PRIu64 " oks=%" PRIu64 " calls=%" PRIu64, w->tally.starts,
                   w->tally.completed, w->tally.oks, w->tally.calls);
}

static bool world_goes_on(const struct world *w) {
    return w->cfg.sim_us ? w->now.mono.us < w->cfg.sim_us : w->step < w->cfg.steps;
}

bool world_run(struct world *w) {
    server_start(w);
    while (world_goes_on(w) && !w->failure.is_set)
        world_step(w);
    if (!w->failure.is_set)
        world_calm_down(w);
    uint64_t last_step = w->step + CALM_STEPS_MAX;
    int64_t last_us = w->now.mono.us + CALM_US_MAX;
    while (!w->failure.is_set && !(auditor_is_done(w) && survey_is_done(w))) {
        world_step(w);
        if (w->step > last_step || w->now.mono.us > last_us)
            auditor_fail_liveness(w);
    }
    if (!w->failure.is_set)
        world_expect_progress(w);
    if (!w->failure.is_set)
        server_check_tallies(w);
    return !w->failure.is_set;
}
