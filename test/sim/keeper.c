/* What keepers ask for, and when. */
#include "keeper_int.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/runtime/limits.h"
#include "names.h"

#define CALL_TIMEOUT_US (10 * USEC_PER_SEC)
#define THINK_US (1500 * USEC_PER_MS)
#define LONE_US (400 * USEC_PER_SEC) /* how long schedules act on their own in the calm phase */
#define HOLE_TRIES_MAX 60
#define KNOWN_REQUESTS 90 /* a schedule knows the last hundred again */

/* answers */

static void saw_list(struct keeper *k, const Ws__ListSchedulesResponse *m) {
    for (size_t i = 0; i < m->n_schedules; i++)
        if (cstr_eq(m->schedules[i]->schedule_id, ledger_bare_id(k->l)))
            return;
    world_fail(k->w, "schedule_kept", "%s is not in the list of %zu", k->l->schedule_id, m->n_schedules);
}

static void saw_info(struct keeper *k, const Ws__DescribeScheduleResponse *m) {
    schedule__schedule_info__init(&k->info);
    google__protobuf__timestamp__init(&k->create_time);
    k->create_time.seconds = m->info->create_time->seconds;
    k->create_time.nanos = m->info->create_time->nanos;
    k->info.create_time = &k->create_time;
    k->info.action_count = m->info->action_count;
    k->info.missed_catchup_window = m->info->missed_catchup_window;
    k->info.overlap_skipped = m->info->overlap_skipped;
    k->info.start_failed = m->info->start_failed;
}

/* The same request id is the same trigger. */
static void saw_trigger(struct keeper *k, const Rondo__TriggerScheduleResponse *m) {
    const Rondo__LedgerEntry *e = m->entry;
    /* An answer without a row says that nothing was decided before the caller's time was up. */
    bool is_again = k->task == KEEP_TRIGGER_AGAIN && k->trigger_row;
    if (!e || (is_again && e->id != k->trigger_row) ||
        (is_again && k->trigger_run[0] && !cstr_eq(e->run_id, k->trigger_run))) {
        world_fail(k->w, "trigger_once",
                   "%s trigger=%s gave row %" PRId64 " run=%s, before %" PRId64 " run=%s", k->l->schedule_id,
                   k->trigger_id, e ? e->id : 0, e ? e->run_id : "", k->trigger_row, k->trigger_run);
        return;
    }
    if (k->task == KEEP_TRIGGER_NOW) {
        memcpy(k->trigger_id, k->request_id, sizeof(k->trigger_id));
        k->trigger_draw = k->draw;
        k->triggers_since = 0;
    }
    k->trigger_row = e->id;
    snprintf(k->trigger_run, sizeof(k->trigger_run), "%s", e->run_id);
}

static void saw_backfills(struct keeper *k, const Rondo__ListBackfillsResponse *m) {
    k->backfill_id = 0;
    for (size_t i = 0; i < m->n_backfills; i++) {
        if (m->backfills[i]->id < 1 || m->backfills[i]->id > (int64_t)k->l->backfill_count)
            world_fail(k->w, "backfill_range", "%s has a backfill %" PRId64, k->l->schedule_id,
                       m->backfills[i]->id);
        else
            k->backfill_id = m->backfills[i]->id;
        if (k->backfill_id && k->l->backfills[k->backfill_id - 1].cancel_acked_us)
            world_fail(k->w, "backfill_cancelled", "%s still has backfill %" PRId64 ", which was cancelled",
                       k->l->schedule_id, k->backfill_id);
    }
}

static void keeper_deleted(struct keeper *k) {
    bool is_right = k->w->is_calm || !world_clock_jumped(k->w);
    k->l->delete_acked_wall_us = is_right ? k->w->now.wall.us : 0;
}

static void keeper_succeeded(struct keeper *k, const struct rpc *r) {
    switch (k->task) {
    case KEEP_LIST:
        saw_list(k, (const void *)r->response);
        break;
    case KEEP_DESCRIBE:
        saw_info(k, (const void *)r->response);
        break;
    case KEEP_LEDGER:
        ledger_see(k->w, k->l, (const void *)r->response, r->subject.sent_wall_us);
        break;
    case KEEP_DELETE:
        keeper_deleted(k);
        break;
    case KEEP_CONFIRM:
        world_fail(k->w, "schedule_stays_gone", "%s was deleted", k->l->schedule_id);
        break;
    case KEEP_PAUSE:
        k->l->pause_acked_us = k->w->now.wall.us;
        break;
    case KEEP_UNPAUSE:
    case KEEP_UPDATE:
        ledger_end_pauses(k->l, k->w->now.wall.us);
        break;
    case KEEP_TRIGGER_NOW:
    case KEEP_TRIGGER_AGAIN:
        saw_trigger(k, (const void *)r->response);
        break;
    case KEEP_LIST_BACKFILLS:
        saw_backfills(k, (const void *)r->response);
        break;
    case KEEP_CANCEL_BACKFILL:
        k->l->backfills[k->backfill_id - 1].cancel_acked_us = k->w->now.wall.us;
        break;
    case KEEP_HOLIDAYS:
        k->calendars_put++;
        if (k->l)
            k->l->holidays[k->l->holiday_count - 1].acked_us = k->w->now.wall.us;
        break;
    case KEEP_CREATE:
        k->w->tally.schedules++;
        ledger_era_acked(k->l, 0);
        break;
    case KEEP_CHANGE:
        ledger_era_acked(k->l, k->w->now.wall.us);
        ledger_end_pauses(k->l, k->w->now.wall.us);
        break;
    default:
        break;
    }
}

/* The end, one question after the other: two reads that agree, and a describe between them. */
static void keeper_end_step(struct keeper *k) {
    switch (k->end) {
    case END_FIRST_READ:
        if (ledger_has_holes(k->l) && ++k->tries > HOLE_TRIES_MAX)
            world_fail(k->w, "no_row_missing", "%s has a start without a row", k->l->schedule_id);
        if (ledger_has_holes(k->l))
            return;
        k->digest = ledger_digest(k->l);
        k->end = END_DESCRIBE;
        return;
    case END_SECOND_READ:
        k->end = END_FIRST_READ;
        if (k->digest != ledger_digest(k->l) || ledger_has_holes(k->l))
            return;
        ledger_check_final(k->w, k->l, &k->info);
        k->l->is_final = true;
        k->end = END_DELETE;
        return;
    default:
        k->end++;
        return;
    }
}

static void keeper_ended(struct rpc *r) {
    struct keeper *k = r->owner;
    k->rpc = NULL;
    if (k->job != JOB_NONE && keeper_job_goes_on(k, r))
        return;
    bool is_gone = r->outcome == RPC_FAILED && r->err.code == ERR_NOT_FOUND;
    bool is_leaving = k->task == KEEP_DELETE || k->task == KEEP_CONFIRM || k->task == KEEP_CANCEL_BACKFILL;
    bool is_over = r->outcome == RPC_OK || (is_gone && is_leaving);
    bool is_passing = r->err.code == ERR_BUSY || r->err.code == ERR_STORE_IO;
    if (r->outcome == RPC_FAILED && !is_over && !is_passing)
        world_fail(k->w, "schedule_kept", "%s %s: %s: %s", rpc_name(r->kind), k->l ? k->l->schedule_id : "",
                   err_name(r->err.code), r->err.text);
    if (!is_over) { /* again, as it was */
        world_at(k->w, &k->act, world_delay(k->w, 10 * USEC_PER_MS, USEC_PER_SEC));
        return;
    }
    if (r->outcome == RPC_OK)
        keeper_succeeded(k, r);
    else if (k->task == KEEP_DELETE)
        keeper_deleted(k); /* an answer before this one was lost */
    if (k->task == KEEP_CANCEL_BACKFILL)
        k->backfill_id = 0;
    if (k->task == KEEP_CONFIRM)
        k->l = NULL;
    if (k->task == KEEP_CONFIRM && k->is_resting)
        return;
    if (k->end != END_NOT)
        keeper_end_step(k);
    k->request_id[0] = '\0';
    world_at(k->w, &k->act, k->end != END_NOT ? USEC_PER_SEC : world_leisure(k->w, THINK_US));
}

/* choices */

static void keeper_meet(struct keeper *k) {
    struct rng *r = &k->w->rng;
    struct ledger_model *l = mem_zalloc(sizeof(*l));
    ensure(l);
    k->l = k->ledgers[k->ledger_count++] = l;
    snprintf(l->schedule_id, sizeof(l->schedule_id), "%s/s%u%zu", k->number % 2 ? "other" : "default",
             k->number, k->ledger_count);
    bool is_sparse = profile_is_sparse(&k->w->profile);
    l->jitter_us = rng_chance(r, 2) ? (int64_t)rng_below(r, 10 * USEC_PER_SEC) : 0;
    l->catchup_us =
        (10 + (int64_t)rng_below(r, is_sparse && rng_chance(r, 2) ? 3 * 86400 : 50)) * USEC_PER_SEC;
    l->action_limit = rng_chance(r, 4) ? 1 + (int64_t)rng_below(r, 6) : 0;
    l->max_running = rng_chance(r, 3) ? 2 + (int64_t)rng_below(r, 3) : 1;
    l->keeps_id = l->max_running == 1 && rng_chance(r, 6);
    l->only_while_active = rng_chance(r, 6);
    l->is_strict = rng_chance(r, 2);
    k->spec = draw_spec(r, is_sparse, k->w->now.wall.us / USEC_PER_SEC);
    ledger_begin_era(l, &k->spec, 0);
    ledger_begin_holidays(l, &k->holidays, 0);
    k->trigger_id[0] = '\0';
    k->backfill_id = 0;
}

static enum keeper_task draw_task(struct keeper *k) {
    if (k->task == KEEP_BACKFILL && !rng_chance(&k->w->rng, 4))
        return KEEP_LIST_BACKFILLS;
    if (k->task == KEEP_LIST_BACKFILLS && k->backfill_id)
        return KEEP_CANCEL_BACKFILL;
    if (k->task == KEEP_CANCEL_BACKFILL && rng_chance(&k->w->rng, 2))
        return KEEP_LIST_BACKFILLS;
    static const enum keeper_task tasks[] = {
        KEEP_LEDGER,        KEEP_LEDGER,         KEEP_DESCRIBE,        KEEP_LIST,     KEEP_UPDATE,
        KEEP_CHANGE,        KEEP_PAUSE,          KEEP_PAUSE,           KEEP_UNPAUSE,  KEEP_UNPAUSE,
        KEEP_UNPAUSE,       KEEP_TRIGGER,        KEEP_TRIGGER,         KEEP_BACKFILL, KEEP_TRIGGER_NOW,
        KEEP_TRIGGER_AGAIN, KEEP_LIST_BACKFILLS, KEEP_CANCEL_BACKFILL, KEEP_HOLIDAYS, KEEP_PAUSE_UNTIL,
        KEEP_PAUSE_UNTIL,   KEEP_HOLIDAYS,       KEEP_BACKFILL};
    if (k->ledger_count < SCHEDULES_MAX && rng_chance(&k->w->rng, 80))
        return KEEP_DELETE;
    return tasks[rng_below(&k->w->rng, ARRAY_LEN(tasks))];
}

static enum keeper_task keeper_choose(struct keeper *k) {
    static const enum keeper_task ends[] = {
        [END_LOOK] = KEEP_LEDGER,       [END_PAUSE] = KEEP_PAUSE,        [END_FIRST_READ] = KEEP_LEDGER,
        [END_DESCRIBE] = KEEP_DESCRIBE, [END_SECOND_READ] = KEEP_LEDGER, [END_DELETE] = KEEP_DELETE,
        [END_DONE] = KEEP_CONFIRM};
    if (k->l && k->task == KEEP_DELETE)
        return KEEP_CONFIRM;
    if (k->end != END_NOT)
        return ends[k->end];
    if (k->calendars_put < HOLIDAY_CALENDARS)
        return KEEP_HOLIDAYS;
    if (!k->l)
        return KEEP_CREATE;
    return draw_task(k);
}

/* Some tasks need something that is not there, or that a jumping clock would spoil. */
static enum keeper_task keeper_settle_for(struct keeper *k) {
    const struct ledger_model *l = k->l;
    bool jumps = profile_jumps(&k->w->profile);
    switch (k->task) {
    case KEEP_CHANGE:
        return l->era_count == ERAS_MAX || jumps ? KEEP_UPDATE : KEEP_CHANGE;
    case KEEP_PAUSE_UNTIL:
        return l->pause_count == PAUSES_MAX || jumps ? KEEP_DESCRIBE : KEEP_PAUSE_UNTIL;
    case KEEP_PAUSE:
        return l->pause_count == PAUSES_MAX ? KEEP_DESCRIBE : KEEP_PAUSE;
    case KEEP_BACKFILL:
        return l->backfill_count == BACKFILLS_MAX ? KEEP_DESCRIBE : KEEP_BACKFILL;
    case KEEP_HOLIDAYS:
        return l && (l->holiday_count == HOLIDAY_ERAS_MAX || jumps) ? KEEP_LEDGER : KEEP_HOLIDAYS;
    case KEEP_TRIGGER_AGAIN:
        return k->trigger_id[0] && k->triggers_since < KNOWN_REQUESTS ? KEEP_TRIGGER_AGAIN : KEEP_TRIGGER_NOW;
    case KEEP_CANCEL_BACKFILL:
        return k->backfill_id ? KEEP_CANCEL_BACKFILL : KEEP_LIST_BACKFILLS;
    default:
        return k->task;
    }
}

/* Today, tomorrow, or no day at all. */
static void keeper_draw_holidays(struct keeper *k) {
    int64_t today = k->w->now.wall.us / USEC_PER_SEC / 86400;
    struct rng *r = &k->w->rng;
    k->calendar =
        k->calendars_put < HOLIDAY_CALENDARS ? k->calendars_put : (unsigned)rng_below(r, HOLIDAY_CALENDARS);
    bool is_today = rng_chance(r, 2);
    for (unsigned i = 0; i < HOLIDAY_DAYS; i++) /* a day before and after, where it is another day by now */
        k->holidays.days[k->calendar][i] = is_today ? today - 1 + (int64_t)i : today + 10 + (int64_t)i;
    if (k->l)
        ledger_begin_holidays(k->l, &k->holidays, k->w->now.wall.us);
}

static void keeper_draw_backfill(struct keeper *k) {
    struct ledger_model *l = k->l;
    struct rng *r = &k->w->rng;
    bool is_sparse = profile_is_sparse(&k->w->profile);
    int64_t now_s = k->w->now.wall.us / USEC_PER_SEC;
    int64_t from_s = now_s - 5400 + (int64_t)rng_below(r, 7200);
    if (k->spec.step_s && k->spec.zone != ZONE_UTC && rng_chance(r, 2)) /* where its clocks were changed */
        from_s = zone_model_last_change(k->spec.zone, now_s) - 3600 + (int64_t)rng_below(r, 7200) -
                 (is_sparse ? 86400 : 0);
    uint64_t span_s = is_sparse ? 3 * 86400 : rng_chance(r, 3) ? 200 : 40; /* long ones can be cancelled */
    l->backfills[l->backfill_count++] =
        (struct backfill_model){.from_s = from_s,
                                .to_s = from_s + (int64_t)rng_below(r, span_s),
                                .era = l->era_count - 1,
                                .holiday_era = l->holiday_count - 1};
}

/* What will hold, or may hold, from the moment the request is sent. */
static void keeper_prepare(struct keeper *k) {
    struct ledger_model *l = k->l;
    int64_t now_us = k->w->now.wall.us;
    k->task = keeper_settle_for(k);
    bool replaces = k->task == KEEP_UPDATE || k->task == KEEP_CHANGE || k->task == KEEP_PAUSE_UNTIL;
    if (replaces)
        l->action_limit = 0;
    if (replaces || k->task == KEEP_UNPAUSE)
        l->pause_acked_us = 0;
    if (k->task == KEEP_CHANGE) {
        k->spec = draw_spec(&k->w->rng, profile_is_sparse(&k->w->profile), now_us / USEC_PER_SEC);
        ledger_begin_era(l, &k->spec, now_us);
    }
    if (k->task == KEEP_PAUSE)
        ledger_begin_pause(l, now_us, INT64_MAX);
    if (k->task == KEEP_PAUSE_UNTIL)
        ledger_begin_pause(l, now_us, now_us + world_delay(k->w, USEC_PER_SEC, 60 * USEC_PER_SEC));
    if (k->task == KEEP_BACKFILL)
        keeper_draw_backfill(k);
    if (k->task == KEEP_CANCEL_BACKFILL)
        l->backfills[k->backfill_id - 1].is_cancelled = true;
    if (k->task == KEEP_HOLIDAYS)
        keeper_draw_holidays(k);
    if (k->task == KEEP_TRIGGER || k->task == KEEP_TRIGGER_NOW)
        l->trigger_count++;
    k->triggers_since++;
    k->draw = rng_u64(&k->w->rng);
    k->job = keeper_job_can(k) && rng_chance(&k->w->rng, 3) ? JOB_BEGINS : JOB_NONE;
    snprintf(k->request_id, sizeof(k->request_id), "keeper-%" PRIu64, ++k->w->next_id);
}

static void keeper_act(struct world *w, struct happening *h) {
    struct keeper *k = container_of(h, struct keeper, act);
    if (!k->request_id[0]) {
        if (k->is_resting && k->end == END_NOT && k->l && k->task != KEEP_DELETE) {
            /* The calm may have begun with a jump of the clock, which schedules do not believe at once. */
            int64_t believed_us = w->calm_us + (ENGINE_CLOCK_STEADY_MS + 1000) * USEC_PER_MS;
            int64_t wait_us = MAX(k->lone_until_us, believed_us) - w->now.mono.us;
            k->end = END_LOOK;
            if (wait_us > 0) {
                world_at(w, h, wait_us);
                return;
            }
        }
        k->task = keeper_choose(k);
        if (k->task == KEEP_CREATE && (k->is_resting || k->ledger_count == SCHEDULES_MAX)) {
            k->end = END_DONE;
            return;
        }
        if (k->task == KEEP_CREATE)
            keeper_meet(k);
        keeper_prepare(k);
    }
    struct rpc *r = k->rpc = rpc_new(w, RPC_describe_schedule, k, keeper_ended);
    const void *request = k->job == JOB_NONE ? keeper_request(k, &r->arena, &r->kind)
                                             : keeper_job_request(k, &r->arena, &r->kind);
    r->subject.sent_wall_us = w->now.wall.us;
    trace_note(w, "keeper %u task %d of %s at %" PRId64, k->number, (int)k->task,
               k->l ? k->l->schedule_id : "", w->now.wall.us);
    rpc_send(r, request, CALL_TIMEOUT_US);
}

struct keeper *keepers_new(struct world *w) {
    struct keeper *keepers = mem_zalloc(KEEPER_COUNT * sizeof(*keepers));
    ensure(keepers);
    for (unsigned i = 0; i < KEEPER_COUNT; i++) {
        keepers[i].w = w;
        keepers[i].number = i;
        keepers[i].act.run = keeper_act;
        world_at(w, &keepers[i].act, world_delay(w, 0, 5 * USEC_PER_SEC));
    }
    return keepers;
}

void keepers_free(struct world *w) {
    for (unsigned i = 0; i < KEEPER_COUNT; i++) {
        struct keeper *k = &w->keepers[i];
        rpc_drop(k->rpc);
        world_not(w, &k->act);
        for (size_t n = 0; n < k->ledger_count; n++) {
            mem_free(k->ledgers[n]->rows);
            mem_free(k->ledgers[n]);
        }
    }
    mem_free(w->keepers);
}

void keepers_rest(struct world *w) {
    for (unsigned i = 0; i < KEEPER_COUNT; i++) {
        w->keepers[i].is_resting = true;
        world_hurry(w, &w->keepers[i].act);
        w->keepers[i].lone_until_us = w->now.mono.us + world_delay(w, 0, LONE_US);
    }
}

bool keepers_are_done(const struct world *w) {
    for (unsigned i = 0; i < KEEPER_COUNT; i++)
        if (w->keepers[i].l || w->keepers[i].rpc)
            return false;
    return true;
}

void keepers_check_all(struct world *w) {
    for (unsigned i = 0; i < KEEPER_COUNT; i++)
        for (size_t n = 0; n < w->keepers[i].ledger_count; n++)
            ledger_check_runs(w, w->keepers[i].ledgers[n]);
}
