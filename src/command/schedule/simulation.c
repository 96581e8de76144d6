/* Simulates one schedule: its runs and a clock.
 *
 * Happy path: create the schedule; then repeat: answer its messages, and move the clock to the next end of
 * a run or deadline of the schedule, whichever is first. The simulation ends when no times follow, nothing
 * is queued and nothing runs. Each step is core's own, from step_init to run_settle. A simulation that does
 * not end within TURNS_MAX steps is ERR_FULL. */
#include "command/schedule/simulation.h"

#include <inttypes.h>

#include "base/rng.h"
#include "core/message/letter.h"
#include "core/run/run.h"
#include "wire/guard.h"

#define STEP_BYTES_MAX (64u << 20)
#define TURNS_MAX 1000000
#define ENTRIES_FIRST 256
#define SIMULATED_RUN "00000000-0000-4000-8000-000000000000"

struct simulated_run {
    int64_t start_id;
    int64_t ends_us;
    E__WorkflowExecutionStatus status; /* the outcome that it will have */
    const char *workflow_id;
    bool is_open;
};

struct simulation_world {
    const struct simulation_plan *plan;
    struct simulation *result;
    struct arena *arena;
    struct arena scratch; /* cleared before each step */
    struct rng rng;
    struct err *err;
    struct step s;
    State__Execution *st;
    struct simulated_run *runs;
    size_t run_count, run_room, entry_room, open_count;
    int64_t now_us;
};

/* Makes room for one more item in an array of the arena, by doubling; `array` is the address of a pointer. */
static int simulation_grow_array(struct simulation_world *w, void *array, size_t n, size_t *room,
                                 size_t size) {
    void *old, *grown;
    if (n < *room)
        return 0;
    size_t more = *room ? 2 * *room : ENTRIES_FIRST;
    grown = arena_zalloc_array(w->arena, size, more);
    if (!grown)
        return err_std(w->err, ERR_NO_MEMORY);
    memcpy(&old, array, sizeof(old));
    if (n)
        memcpy(grown, old, n * size);
    memcpy(array, &grown, sizeof(grown));
    *room = more;
    return 0;
}

/* Steps. */

static struct step *simulation_begin_step(struct simulation_world *w) {
    arena_clear(&w->scratch);
    step_init(&w->s, w->st, (struct wall){w->now_us}, &w->rng, &w->scratch, w->err);
    w->s.ctx.space = w->plan->space;
    w->s.ctx.namespace_name = "default";
    w->s.ctx.zones = w->plan->zones;
    return &w->s;
}

/* Stores a ledger row in the order of ids; a row with a known id replaces the old one, as in the store. */
static int simulation_keep_row(struct simulation_world *w, const struct ledger_row *row) {
    struct simulation *r = w->result;
    ProtobufCMessage *entry;
    int rc = wire_decode(&rondo__ledger_entry__descriptor, row->bytes, w->arena, &entry, w->err);
    if (rc < 0)
        return rc;
    size_t at = r->count;
    while (at > 0 && r->entries[at - 1]->id > row->id)
        at--;
    if (at > 0 && r->entries[at - 1]->id == row->id) {
        r->entries[at - 1] = (Rondo__LedgerEntry *)entry;
        return 0;
    }
    rc = simulation_grow_array(w, &r->entries, r->count, &w->entry_room, sizeof(*r->entries));
    if (rc < 0)
        return rc;
    memmove(&r->entries[at + 1], &r->entries[at], (r->count - at) * sizeof(*r->entries));
    r->entries[at] = (Rondo__LedgerEntry *)entry;
    r->count++;
    return 0;
}

static int simulation_end_step(struct simulation_world *w, int rc) {
    if (rc == 0)
        rc = run_settle(&w->s);
    if (rc == 0 && step_failed(&w->s))
        rc = err_std(w->err, ERR_NO_MEMORY);
    for (size_t i = 0; rc == 0 && i < w->s.ledger_count; i++)
        rc = simulation_keep_row(w, &w->s.ledger[i]);
    step_done(&w->s);
    return rc;
}

/* Runs. */

static struct simulated_run *simulation_find_run(struct simulation_world *w, int64_t start_id) {
    for (size_t i = w->run_count; i-- > 0;)
        if (w->runs[i].start_id == start_id)
            return &w->runs[i];
    return NULL;
}

static int simulation_close_run(struct simulation_world *w, struct simulated_run *run,
                                E__WorkflowExecutionStatus status) {
    struct action_end how = {.workflow_id = run->workflow_id,
                             .first_run_id = SIMULATED_RUN,
                             .status = status,
                             .close_us = w->now_us};
    Failure__Failure failure = FAILURE__FAILURE__INIT;
    char words[] = "simulated failure";
    failure.message = words;
    if (status == WORKFLOW_EXECUTION_STATUS_FAILED)
        how.failure = &failure;
    run->is_open = false;
    w->open_count--;
    schedule_action_closed(simulation_begin_step(w), run->start_id, &how);
    return simulation_end_step(w, 0);
}

static int simulation_start_run(struct simulation_world *w, int64_t start_id, const char *workflow_id) {
    const struct simulation_plan *plan = w->plan;
    int rc = simulation_grow_array(w, &w->runs, w->run_count, &w->run_room, sizeof(*w->runs));
    if (rc < 0)
        return rc;
    size_t n = w->run_count++;
    bool fails = plan->fail_every && (int64_t)(n + 1) % plan->fail_every == 0;
    w->runs[n] = (struct simulated_run){
        .start_id = start_id,
        .ends_us = w->now_us + plan->durations_us[n % plan->duration_count],
        .status = fails ? WORKFLOW_EXECUTION_STATUS_FAILED : WORKFLOW_EXECUTION_STATUS_COMPLETED,
        .workflow_id = arena_strdup(w->arena, workflow_id),
        .is_open = true,
    };
    w->open_count++;
    w->result->peak_running = MAX(w->result->peak_running, w->open_count);
    return w->runs[n].workflow_id ? 0 : err_std(w->err, ERR_NO_MEMORY);
}

/* Letters. */

static int simulation_answer_start(struct simulation_world *w, int64_t letter_id, int64_t start_id) {
    struct action_outcome outcome = {.run_id = SIMULATED_RUN};
    struct action_order order;
    struct step *s = simulation_begin_step(w);
    int rc = schedule_order(w->st, start_id, "default", s->now, &w->scratch, &order);
    if (rc == 0)
        rc = simulation_start_run(w, start_id, order.request->workflow_id);
    if (rc == 0) {
        schedule_action_started(s, start_id, &outcome);
        letter_remove(s, letter_id);
    }
    return simulation_end_step(w, rc);
}

static int simulation_answer_stop(struct simulation_world *w, int64_t letter_id, struct simulated_run *run,
                                  bool is_final) {
    letter_remove(simulation_begin_step(w), letter_id);
    int rc = simulation_end_step(w, 0);
    if (rc < 0 || !run || !run->is_open)
        return rc;
    if (is_final)
        return simulation_close_run(w, run, WORKFLOW_EXECUTION_STATUS_TERMINATED);
    if (w->now_us + w->plan->cancel_us < run->ends_us) {
        run->ends_us = w->now_us + w->plan->cancel_us;
        run->status = WORKFLOW_EXECUTION_STATUS_CANCELED;
    }
    return 0;
}

static int simulation_answer_letters(struct simulation_world *w) {
    int rc = 0;
    while (rc == 0 && w->st->n_outbox) {
        const State__Letter *l = w->st->outbox[0];
        rc = l->kind == LETTER_START_ACTION
                 ? simulation_answer_start(w, l->id, l->event_id)
                 : simulation_answer_stop(w, l->id, simulation_find_run(w, l->event_id),
                                          l->kind == LETTER_TERMINATE_ACTION);
    }
    return rc;
}

/* Time. */

static struct simulated_run *simulation_first_to_end(struct simulation_world *w) {
    struct simulated_run *first = NULL;
    for (size_t i = 0; i < w->run_count; i++)
        if (w->runs[i].is_open && (!first || w->runs[i].ends_us < first->ends_us))
            first = &w->runs[i];
    return first;
}

static void simulation_move_clock(struct simulation_world *w, int64_t to_us) {
    to_us = MAX(to_us, w->now_us);
    for (size_t i = 0; i < w->plan->outage_count; i++)
        if (to_us >= w->plan->outages[i].from_us && to_us < w->plan->outages[i].to_us)
            to_us = w->plan->outages[i].to_us;
    if (w->open_count)
        w->result->busy_us += to_us - w->now_us;
    w->now_us = to_us;
}

static bool simulation_is_over(const struct simulation_world *w) {
    return !run_is_open(w->st) ||
           (!w->st->schedule->n_future_us && !w->open_count && !schedule_waiting_count(w->st) &&
            run_due_us(w->st) >= w->st->schedule->idle_close_us);
}

/* Moves to the next event. A run that ends at the time of a deadline ends before it. */
static int simulation_advance_clock(struct simulation_world *w) {
    struct simulated_run *run = simulation_first_to_end(w);
    int64_t due_us = run_due_us(w->st);
    if (run && run->ends_us <= due_us) {
        simulation_move_clock(w, run->ends_us);
        return simulation_close_run(w, run, run->status);
    }
    simulation_move_clock(w, due_us);
    return simulation_end_step(w, run_tick(simulation_begin_step(w)));
}

static int simulation_create_schedule(struct simulation_world *w) {
    static const struct schedule_birth birth = {"simulated", SIMULATED_RUN, "simulated"};
    Ws__CreateScheduleRequest req = WS__CREATE_SCHEDULE_REQUEST__INIT;
    const struct simulation_plan *plan = w->plan;
    bool failed = false;
    int rc = schedule_prepare(w->arena, plan->space, plan->zones, plan->schedule_id, plan->schedule, w->err);
    if (rc < 0)
        return rc;
    req.schedule = plan->schedule;
    req.schedule_id = arena_strdup(w->arena, plan->schedule_id);
    w->st = pb_new(&state__execution__descriptor, &failed);
    if (!w->st || failed || !req.schedule_id)
        return err_std(w->err, ERR_NO_MEMORY);
    return simulation_end_step(w, schedule_create(simulation_begin_step(w), &birth, &req));
}

static int simulation_play_all(struct simulation_world *w) {
    int rc = simulation_create_schedule(w);
    for (int i = 0; rc == 0; i++) {
        rc = simulation_answer_letters(w);
        w->result->peak_waiting = MAX(w->result->peak_waiting, (size_t)schedule_waiting_count(w->st));
        if (rc < 0 || simulation_is_over(w))
            return rc;
        if (i == TURNS_MAX)
            return err_set(w->err, ERR_FULL,
                           "the simulation did not end within %d steps; give a shorter period", TURNS_MAX);
        rc = simulation_advance_clock(w);
    }
    return rc;
}

int simulation_run(const struct simulation_plan *plan, struct arena *arena, struct simulation *ret,
                   struct err *err) {
    struct simulation_world w = {
        .plan = plan, .result = ret, .arena = arena, .err = err, .now_us = plan->from_us};
    *ret = (struct simulation){0};
    arena_init(&w.scratch, STEP_BYTES_MAX);
    rng_init(&w.rng, 1);
    int rc = simulation_play_all(&w);
    ret->end_us = w.now_us;
    ret->is_paused = rc == 0 && w.st->schedule->schedule->state->paused;
    pb_free(w.st);
    arena_done(&w.scratch);
    return rc;
}
