/* A few desks, each with one reading at a time. In the calm phase every run is looked at once; then they take
 * turns until each is closed and audited. Runs that come to light in the meantime join the queue. */
#include "auditor.h"

#include <inttypes.h>

#include "base/mem.h"
#include "batcher.h"
#include "callback.h"
#include "chain.h"
#include "checker.h"
#include "client.h"
#include "family.h"
#include "keeper.h"
#include "override.h"
#include "program.h"
#include "reader.h"
#include "reset.h"
#include "rollout.h"
#include "tenure.h"
#include "update.h"
#include "worker.h"

#define DESK_COUNT 6
#define READ_TRIES 20
#define CALM_TRIES 1000000
#define TICK_US (200 * USEC_PER_MS)
#define HANDS_OFF_US (60 * 60 * USEC_PER_SEC) /* longer than any program needs that waits for no signal */
#define UNPAUSE_US (120 * USEC_PER_SEC) /* longer than errands of before need to end */
#define SETTLE_US (100 * USEC_PER_SEC) /* how long after the last close a stray task may still show up */

struct desk {
    struct auditor *auditor;
    struct run_model *run;
    struct reading *reading;
};

struct auditor {
    struct world *w;
    struct desk desks[DESK_COUNT];
    struct happening tick;
    size_t next; /* in the model's order */
    size_t audited;
    int64_t quiet_since_us;
    int64_t unpause_until_us; /* what is paused is let go on */
    int64_t hands_off_until_us; /* the server is on its own */
    bool is_done;
    bool is_seeing_through; /* every run was looked at; now they are brought to their end */
};

/* G1, G7: nothing that was scheduled is forgotten, also when nobody asks. */
static void check_nothing_forgotten(struct world *w, const struct run_model *run) {
    if (run->close_type)
        return;
    if (run->scheduled_task)
        world_fail(w, "nothing_forgotten", "run=%s workflow task %" PRId64 " is still open", run->run_id,
                   run->scheduled_task);
    for (size_t i = 0; i < MODEL_ACTIVITIES_MAX; i++)
        if (run->activities[i].scheduled_event_id && !run->activities[i].close_type)
            world_fail(w, "nothing_forgotten", "run=%s activity %zu is still open", run->run_id, i);
    for (size_t i = 0; i < MODEL_TIMERS_MAX; i++)
        if (run->timers[i].started_event_id && !run->timers[i].is_done)
            world_fail(w, "nothing_forgotten", "run=%s timer %zu is still open", run->run_id, i);
}

static void desk_audited(struct desk *d) {
    d->run->is_audited = true;
    d->auditor->audited++;
    d->auditor->quiet_since_us = d->auditor->w->now.mono.us;
}

/* In the calm phase runs wait for each other, so a desk keeps none of them for long. */
static void desk_read_done(struct reading *g) {
    struct desk *d = g->owner;
    struct run_model *run = d->run;
    d->run = NULL;
    if (!d->auditor->w->is_calm) {
        run->audit_wanted = !g->is_complete;
    } else if (run->is_deleted) {
        d->run = run;
        if (!run->is_audited && d->auditor->is_seeing_through && run->delete_acked_us)
            desk_audited(d);
        d->run = NULL;
    } else if (g->is_complete && !run->is_seen) {
        if (!d->auditor->is_seeing_through)
            check_nothing_forgotten(d->auditor->w, run);
        run->is_seen = true;
    } else if (g->kind == READING_AUDIT && g->is_complete && run->close_type) {
        d->run = run;
        desk_audited(d);
        d->run = NULL;
    }
}

static void desk_read(struct desk *d, enum reading_kind kind, unsigned tries) {
    struct world *w = d->auditor->w;
    d->reading = reading_new(w, d->run, kind, tries, d, desk_read_done);
    d->reading->place = &d->reading;
}

/* Calm: end the run, wait for its close, audit it. */
static void desk_see_through(struct desk *d) {
    if (d->run->is_deleted) {
        d->run->is_seen = true;
        desk_read(d, READING_DESCRIBE, CALM_TRIES); /* it must be gone */
        return;
    }
    if (!d->run->is_seen) {
        desk_read(d, READING_HISTORY, CALM_TRIES);
        return;
    }
    if (d->run->close_type) {
        desk_read(d, READING_AUDIT, CALM_TRIES);
        return;
    }
    if (!d->run->end_sent) {
        clients_send_end_signal(d->auditor->w, d->run);
        d->run->end_sent = true;
    }
    /* Alternately wait for the close and read what there is, so that a failure shows the last state. */
    bool wait_first = rng_chance(&d->auditor->w->rng, 2);
    desk_read(d, wait_first ? READING_CLOSE : READING_HISTORY, CALM_TRIES);
}

/* Every run was looked at: what one of them knows of another must be true. */
static void auditor_compare(struct auditor *a) {
    struct model *m = &a->w->model;
    for (size_t i = 0; i < m->run_count; i++)
        if (!m->in_order[i]->is_seen)
            return;
    for (size_t i = 0; i < m->run_count; i++)
        family_check_settled(a->w, m->in_order[i]);
    a->is_seeing_through = true;
}

static struct run_model *auditor_next_run(struct auditor *a) {
    struct model *m = &a->w->model;
    for (size_t i = 0; i < m->run_count; i++) {
        struct run_model *run = m->in_order[a->next++ % m->run_count];
        bool is_taken = false;
        for (size_t k = 0; k < DESK_COUNT; k++)
            is_taken |= a->desks[k].run == run;
        bool is_wanted = !a->w->is_calm          ? run->audit_wanted
                         : !a->is_seeing_through ? !run->is_seen
                                                 : !run->is_audited;
        if (!is_taken && is_wanted)
            return run;
    }
    return NULL;
}

static void auditor_tick(struct world *w, struct happening *h) {
    struct auditor *a = container_of(h, struct auditor, tick);
    if (w->is_calm && w->now.mono.us < a->unpause_until_us) {
        clients_unpause(w);
        world_at(w, &a->tick, USEC_PER_SEC);
        return;
    }
    if (w->now.mono.us < a->hands_off_until_us) {
        world_at(w, &a->tick, a->hands_off_until_us - w->now.mono.us);
        return;
    }
    if (w->is_calm && !a->is_seeing_through)
        auditor_compare(a);
    for (size_t i = 0; i < DESK_COUNT; i++) {
        struct desk *d = &a->desks[i];
        if (d->reading)
            continue;
        if (!d->run) {
            if (!w->is_calm && w->server.epoch < 2 && !rng_chance(&w->rng, 10))
                continue; /* without a crash there is little to audit */
            d->run = auditor_next_run(a);
        }
        if (!d->run)
            continue;
        if (w->is_calm)
            desk_see_through(d);
        else
            desk_read(d, READING_AUDIT, READ_TRIES);
    }
    world_at(w, &a->tick, w->is_calm ? TICK_US : TICK_US * w->profile.pace);
}

struct auditor *auditor_new(struct world *w) {
    struct auditor *a = mem_zalloc(sizeof(*a));
    ensure(a);
    a->w = w;
    for (size_t i = 0; i < DESK_COUNT; i++)
        a->desks[i].auditor = a;
    a->tick.run = auditor_tick;
    world_at(w, &a->tick, TICK_US);
    return a;
}

void auditor_free(struct world *w) {
    struct auditor *a = w->auditor;
    for (size_t i = 0; i < DESK_COUNT; i++)
        reading_drop(a->desks[i].reading);
    world_not(w, &a->tick);
    mem_free(a);
}

void auditor_begin(struct world *w) {
    struct auditor *a = w->auditor;
    world_hurry(w, &a->tick);
    a->quiet_since_us = w->now.mono.us;
    a->unpause_until_us = w->now.mono.us + UNPAUSE_US;
    a->hands_off_until_us = w->now.mono.us + HANDS_OFF_US;
    for (size_t k = 0; k < DESK_COUNT; k++) {
        reading_drop(a->desks[k].reading);
        a->desks[k].reading = NULL;
        a->desks[k].run = NULL;
    }
    for (size_t i = 0; i < w->model.run_count; i++)
        w->model.in_order[i]->is_audited = false;
}

void auditor_reopen(struct world *w) {
    w->auditor->is_done = false;
}

bool auditor_is_done(struct world *w) {
    struct auditor *a = w->auditor;
    if (a->is_done)
        return true;
    if (a->audited < w->model.run_count || !clients_are_done(w) || !keepers_are_done(w) ||
        !batchers_are_done(w) || !rollout_is_done(w) || w->server.state != SERVER_UP)
        return false;
    if (server_store_work(w) > 0 || w->now.mono.us - a->quiet_since_us < SETTLE_US)
        return false;
    a->is_done = true;
    return true;
}

void auditor_check_all(struct world *w) {
    chain_check_all(w);
    tenure_check_all(w);
    family_check_all(w);
    reset_check_all(w);
    update_check_all(w);
    keepers_check_all(w);
    batchers_check_all(w);
    override_check_all(w);
    callbacks_check_all(w);
    checker_loose_promises(w);
}

/* G1: every run whose program can end comes to its end. */
void auditor_fail_liveness(struct world *w) {
    for (size_t i = 0; i < w->model.run_count; i++) {
        const struct run_model *run = w->model.in_order[i];
        if (run->is_audited || run->close_type)
            continue;
        world_fail(w, "everything_ends", "run=%s workflow=%s is not done: %zu events known, closed=%" PRId32,
                   run->run_id, run->workflow_id, run->event_count, run->close_type);
    }
    world_fail(w, "everything_ends", "all %zu runs closed, but something goes on", w->model.run_count);
}
