/* What clients choose to do, and when. All choices come from the world's seed. */
#include "client.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "control.h"
#include "errand.h"
#include "names.h"
#include "program.h"
#include "reader.h"
#include "rollout.h"

#define IDS_PER_CLIENT 6
#define ERRANDS_MAX 6
#define READINGS_MAX 3
#define TRIES 8
#define CALM_TRIES 1000000
#define THINK_US (120 * USEC_PER_MS)
#define RECENT_RUNS 40
#define PADDING_BYTES_MAX (150 << 10)

/* A workflow id that a client starts again and again. */
struct id_slot {
    char workflow_id[MODEL_ID_MAX];
    struct request_model *request; /* the last one */
    bool is_busy;
};

struct client {
    struct world *w;
    struct happening act;
    struct id_slot slots[IDS_PER_CLIENT];
    struct list errands;
    unsigned errand_count;
    struct reading *readings[READINGS_MAX];
    bool is_resting;
};

static void client_errand_done(struct errand *e) {
    struct client *c = e->owner;
    c->errand_count--;
    if (e->kind == ERRAND_CONTROL)
        control_ended(e);
    if (e->kind != ERRAND_START && e->kind != ERRAND_SIGNAL_WITH_START && e->kind != ERRAND_UPDATE_WITH_START)
        return;
    for (size_t i = 0; i < IDS_PER_CLIENT; i++)
        if (c->slots[i].request == e->request)
            c->slots[i].is_busy = false;
}

static void client_send(struct client *c, struct errand *e) {
    e->owner = c;
    e->done = client_errand_done;
    c->errand_count++;
    list_append(&c->errands, &e->link);
    errand_begin(e);
}

static void client_choose_policies(struct client *c, struct request_model *request) {
    static const int reuse[] = {
        WORKFLOW_ID_REUSE_POLICY_UNSPECIFIED,      WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
        WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,  WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
        WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING};
    static const int conflict[] = {WORKFLOW_ID_CONFLICT_POLICY_UNSPECIFIED, WORKFLOW_ID_CONFLICT_POLICY_FAIL,
                                   WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
                                   WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING};
    struct rng *r = &c->w->rng;
    request->reuse_policy = reuse[rng_below(r, ARRAY_LEN(reuse))];
    request->conflict_policy = conflict[rng_below(r, ARRAY_LEN(conflict))];
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE &&
        request->conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
        request->conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_FAIL;
    if (request->reuse_policy == WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING)
        request->conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_UNSPECIFIED;
}

/* Now and then an input is large, so that histories outgrow pages and caches. */
static uint32_t client_choose_padding(struct client *c) {
    return rng_chance(&c->w->rng, 40) ? (uint32_t)rng_below(&c->w->rng, PADDING_BYTES_MAX) : 0;
}

/* Some starts bring a signal or an update with them. */
static void client_choose_rider(struct client *c, struct request_model *request) {
    struct rng *r = &c->w->rng;
    if (!rng_chance(r, 5))
        return;
    bool is_update = rng_chance(r, 2);
    request->rider = model_request(c->w, request->workflow_id, is_update ? "update" : "signal");
    request->rider->is_rider = true;
    request->rider->wants_completion = is_update && rng_chance(r, 2);
    if (is_update && request->conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_UNSPECIFIED &&
        request->reuse_policy != WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING)
        request->conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_FAIL; /* it must say which */
    if (!is_update && request->conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_FAIL)
        request->conflict_policy = WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING; /* a signal never does */
}

/* A new start, or, now and then, the last one of this workflow id once more. */
static void client_start(struct client *c) {
    struct id_slot *slot = &c->slots[rng_below(&c->w->rng, IDS_PER_CLIENT)];
    if (slot->is_busy)
        return;
    slot->is_busy = true;
    if (!slot->request || !rng_chance(&c->w->rng, 6)) {
        slot->request = model_request(c->w, slot->workflow_id, "start");
        slot->request->program = rng_u64(&c->w->rng);
        slot->request->padding = client_choose_padding(c);
        client_choose_policies(c, slot->request);
        client_choose_rider(c, slot->request);
        /* A worker that has a version would not be the one to give the first task to. */
        slot->request->is_eager =
            !slot->request->rider && rng_chance(&c->w->rng, 4) && !rollout_has(c->w, slot->workflow_id);
        slot->request->has_callback = !slot->request->rider && rng_chance(&c->w->rng, 6);
    }
    struct request_model *rider = slot->request->rider;
    struct errand *e = errand_new(c->w,
                                  !rider             ? ERRAND_START
                                  : rider->is_signal ? ERRAND_SIGNAL_WITH_START
                                                     : ERRAND_UPDATE_WITH_START,
                                  TRIES);
    e->request = slot->request;
    e->workflow_id = slot->workflow_id;
    client_send(c, e);
}

static struct run_model *client_pick_run(struct client *c) {
    struct model *m = &c->w->model;
    if (m->run_count == 0)
        return NULL;
    size_t back = (size_t)rng_below(&c->w->rng, rng_chance(&c->w->rng, 8) ? m->run_count
                                                                          : MIN(m->run_count, RECENT_RUNS));
    return m->in_order[m->run_count - 1 - back];
}

static void client_signal(struct client *c, struct run_model *run) {
    bool by_id_only = rng_chance(&c->w->rng, 6);
    struct errand *e = errand_new(c->w, ERRAND_SIGNAL, TRIES);
    e->workflow_id = run->workflow_id;
    e->request = model_request(c->w, run->workflow_id, "signal");
    e->request->padding = client_choose_padding(c);
    e->signal_name = "poke";
    if (!by_id_only) {
        e->run = e->request->run = run;
        model_add_signal(run, e->request);
    }
    client_send(c, e);
}

static void client_ask(struct client *c, enum errand_kind kind, struct run_model *run) {
    struct errand *e = errand_new(c->w, kind, kind == ERRAND_BAD ? 0 : TRIES);
    e->workflow_id = run->workflow_id;
    e->run = kind == ERRAND_BAD ? NULL : run;
    e->by_chain = (kind == ERRAND_CANCEL || kind == ERRAND_TERMINATE) && rng_chance(&c->w->rng, 3);
    e->query_fails = kind == ERRAND_QUERY && rng_chance(&c->w->rng, 10);
    e->only_open = kind == ERRAND_QUERY && !e->query_fails && rng_chance(&c->w->rng, 10);
    client_send(c, e);
}

static void client_update(struct client *c, struct run_model *run) {
    struct errand *e = errand_new(c->w, ERRAND_UPDATE, TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    e->request = model_request(c->w, run->workflow_id, "update");
    e->request->wants_completion = rng_chance(&c->w->rng, 2);
    client_send(c, e);
}

/* It may be gone from now on, and must be once somebody says so. */
static void client_delete(struct client *c, struct run_model *run) {
    struct errand *e = errand_new(c->w, ERRAND_DELETE, CALM_TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    model_expect_deletion(run, c->w->now.wall.us);
    client_send(c, e);
}

/* To the end of a workflow task that somebody has seen in the history. */
static void client_reset(struct client *c, struct run_model *run) {
    size_t known = MIN(run->reset_point_count, MODEL_RESET_POINTS);
    if (known == 0)
        return;
    struct errand *e = errand_new(c->w, ERRAND_RESET, TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    e->request = model_request(c->w, run->workflow_id, "reset");
    e->request->sent_us = c->w->now.mono.us;
    e->request->base = run;
    e->request->reset_event_id = run->reset_points[rng_below(&c->w->rng, known)];
    e->request->drops_signals = rng_chance(&c->w->rng, 8);
    client_send(c, e);
}

static void client_control(struct client *c, struct run_model *run) {
    for (int tries = 0; tries < 20 && !control_has_activity(run); tries++)
        run = client_pick_run(c);
    struct errand *e = errand_new(c->w, ERRAND_CONTROL, TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    if (!control_choose(e)) {
        errand_drop(e);
        return;
    }
    e->request = model_request(c->w, run->workflow_id, "control");
    client_send(c, e);
}

/* Somebody who knows better than the workers where the run belongs. */
static void client_override(struct client *c, struct run_model *run) {
    struct errand *e = errand_new(c->w, ERRAND_OVERRIDE, TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    e->request = model_request(c->w, run->workflow_id, "override");
    e->request->program = rng_u64(&c->w->rng);
    client_send(c, e);
}

/* Whatever may be paused goes on. */
static void client_unpause_all(struct client *c, struct run_model *run) {
    for (;;) {
        struct errand *e = errand_new(c->w, ERRAND_CONTROL, CALM_TRIES);
        e->workflow_id = run->workflow_id;
        e->run = run;
        if (!control_choose_unpause(e)) {
            errand_drop(e);
            return;
        }
        e->request = model_request(c->w, run->workflow_id, "control");
        client_send(c, e);
    }
}

static void client_read_done(struct reading *g unused_arg) {}

static void client_read(struct client *c, struct run_model *run, enum reading_kind kind) {
    for (size_t i = 0; i < READINGS_MAX; i++) {
        if (c->readings[i])
            continue;
        c->readings[i] = reading_new(c->w, run, kind, TRIES, c, client_read_done);
        c->readings[i]->place = &c->readings[i];
        return;
    }
}

static void client_choose(struct client *c) {
    static const struct {
        unsigned weight;
        enum {
            DO_START,
            DO_SIGNAL,
            DO_CANCEL,
            DO_TERMINATE,
            DO_QUERY,
            DO_RESET,
            DO_DELETE,
            DO_UPDATE,
            DO_CONTROL,
            DO_DESCRIBE,
            DO_HISTORY,
            DO_REVERSE,
            DO_TAIL,
            DO_CLOSE
        } what;
    } choices[] = {{26, DO_START},   {11, DO_SIGNAL},   {6, DO_CONTROL}, {10, DO_UPDATE}, {1, DO_DELETE},
                   {3, DO_CANCEL},   {2, DO_TERMINATE}, {9, DO_QUERY},   {3, DO_RESET},   {8, DO_DESCRIBE},
                   {10, DO_HISTORY}, {3, DO_REVERSE},   {4, DO_TAIL},    {4, DO_CLOSE}};
    unsigned roll = (unsigned)rng_below(&c->w->rng, 100);
    size_t i = 0;
    while (roll >= choices[i].weight)
        roll -= choices[i++].weight;
    struct run_model *run = client_pick_run(c);
    if (choices[i].what == DO_START || !run)
        client_start(c);
    else if (choices[i].what == DO_SIGNAL)
        client_signal(c, run);
    else if (choices[i].what == DO_CANCEL)
        client_ask(c, ERRAND_CANCEL, run);
    else if (choices[i].what == DO_TERMINATE)
        client_ask(c, ERRAND_TERMINATE, run);
    else if (choices[i].what == DO_QUERY)
        client_ask(c, ERRAND_QUERY, run);
    else if (choices[i].what == DO_UPDATE)
        client_update(c, run);
    else if (choices[i].what == DO_CONTROL && rollout_has(c->w, run->workflow_id) &&
             rng_chance(&c->w->rng, 2))
        client_override(c, run);
    else if (choices[i].what == DO_CONTROL)
        client_control(c, run);
    else if (choices[i].what == DO_DELETE)
        client_delete(c, run);
    else if (choices[i].what == DO_RESET)
        client_reset(c, run);
    else if (choices[i].what == DO_DESCRIBE)
        client_read(c, run, READING_DESCRIBE);
    else if (choices[i].what == DO_HISTORY)
        client_read(c, run, READING_HISTORY);
    else if (choices[i].what == DO_REVERSE)
        client_read(c, run, READING_REVERSE);
    else if (choices[i].what == DO_TAIL)
        client_read(c, run, READING_TAIL);
    else
        client_read(c, run, READING_CLOSE);
}

static void client_act(struct world *w, struct happening *h) {
    struct client *c = container_of(h, struct client, act);
    if (c->is_resting)
        return;
    struct run_model *run = client_pick_run(c);
    if (run && world_fault(w, FAULT_bad_request))
        client_ask(c, ERRAND_BAD, run);
    else if (c->errand_count < ERRANDS_MAX)
        client_choose(c);
    world_at(w, &c->act, world_leisure(w, THINK_US));
}

struct client *clients_new(struct world *w) {
    struct client *clients = mem_zalloc(w->profile.client_count * sizeof(*clients));
    ensure(clients);
    for (unsigned i = 0; i < w->profile.client_count; i++) {
        struct client *c = &clients[i];
        c->w = w;
        c->act.run = client_act;
        list_init(&c->errands);
        for (unsigned k = 0; k < IDS_PER_CLIENT; k++)
            snprintf(c->slots[k].workflow_id, sizeof(c->slots[k].workflow_id), "%s/w%u-%u",
                     i % 2 ? "other" : "default", i / 2, k);
        world_at(w, &c->act, world_delay(w, 0, THINK_US));
    }
    return clients;
}

void clients_free(struct world *w) {
    for (unsigned i = 0; i < w->profile.client_count; i++) {
        struct client *c = &w->clients[i];
        while (!list_empty(&c->errands))
            errand_drop(container_of(c->errands.next, struct errand, link));
        for (size_t k = 0; k < READINGS_MAX; k++)
            reading_drop(c->readings[k]);
        world_not(w, &c->act);
    }
    mem_free(w->clients);
}

/* Errands that are still under way may pause something yet, so this is asked for until nothing is. */
void clients_unpause(struct world *w) {
    for (size_t i = 0; i < w->model.run_count; i++)
        if (!w->model.in_order[i]->close_type)
            client_unpause_all(&w->clients[0], w->model.in_order[i]);
}

void clients_rest(struct world *w) {
    for (unsigned i = 0; i < w->profile.client_count; i++) {
        w->clients[i].is_resting = true;
        list_for(&w->clients[i].errands, n) container_of(n, struct errand, link)->tries_left = CALM_TRIES;
    }
}

bool clients_are_done(const struct world *w) {
    for (unsigned i = 0; i < w->profile.client_count; i++)
        if (w->clients[i].errand_count > 0)
            return false;
    return true;
}

void clients_send_end_signal(struct world *w, struct run_model *run) {
    struct errand *e = errand_new(w, ERRAND_SIGNAL, CALM_TRIES);
    e->workflow_id = run->workflow_id;
    e->run = run;
    e->request = model_request(w, run->workflow_id, "signal");
    e->request->run = run;
    e->signal_name = PROGRAM_END_SIGNAL;
    model_add_signal(run, e->request);
    client_send(&w->clients[0], e);
}
