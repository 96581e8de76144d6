/* What keepers ask for, and when. */
#include "keeper.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/limits.h"
#include "ledger_model.h"
#include "names.h"
#include "program.h"
#include "request.h"
#include "rpc.h"
#include "worker.h"

#define KEEPER_COUNT 2
#define CALL_TIMEOUT_US (10 * USEC_PER_SEC)
#define THINK_US (1500 * USEC_PER_MS)
#define LONE_US (400 * USEC_PER_SEC) /* how long schedules act on their own in the calm phase */
#define HOLE_TRIES_MAX 60
#define SCHEDULES_MAX 8 /* of one keeper, one after the other */

enum keeper_task {
    KEEP_CREATE,
    KEEP_DESCRIBE,
    KEEP_LIST,
    KEEP_UPDATE, /* another policy */
    KEEP_CHANGE, /* another spec */
    KEEP_PAUSE,
    KEEP_UNPAUSE,
    KEEP_TRIGGER,
    KEEP_BACKFILL,
    KEEP_LEDGER,
    KEEP_DELETE,
    KEEP_CONFIRM, /* that it is gone */
};

enum keeper_end { END_NOT, END_PAUSE, END_FIRST_READ, END_DESCRIBE, END_SECOND_READ, END_DELETE, END_DONE };

struct keeper {
    struct world *w;
    unsigned number;
    struct happening act;
    struct rpc *rpc;
    struct ledger_model *ledgers[SCHEDULES_MAX];
    size_t ledger_count;
    struct ledger_model *l; /* of the schedule that there is; NULL: there is none */
    enum keeper_task task;
    uint64_t draw; /* what the task is made from, so that it can be sent again as it was */
    char request_id[32];
    struct spec_model spec;
    int64_t lone_until_us; /* in the calm phase nobody touches the schedule until then */
    bool is_resting;
    enum keeper_end end;
    uint64_t digest; /* of the first of the two last reads */
    Schedule__ScheduleInfo info; /* between them, its counters only */
    Google__Protobuf__Timestamp create_time;
    unsigned tries;
};

/* requests */

static struct spec_model draw_spec(struct rng *r) {
    struct spec_model s = {0};
    unsigned kind = (unsigned)rng_below(r, 3);
    if (kind != 1) {
        s.every_s = 3 + (int64_t)rng_below(r, 20);
        s.phase_s = (int64_t)rng_below(r, (uint64_t)s.every_s);
    }
    if (kind != 0) {
        s.first_s = (int64_t)rng_below(r, 20);
        s.step_s = 4 + (int64_t)rng_below(r, 20);
    }
    return s;
}

static Schedule__ScheduleSpec *make_spec(struct arena *a, const struct spec_model *s, int64_t jitter_us) {
    Schedule__ScheduleSpec *spec = MAKE(a, Schedule__ScheduleSpec, schedule__schedule_spec__init);
    if (s->every_s) {
        Schedule__IntervalSpec *i = MAKE(a, Schedule__IntervalSpec, schedule__interval_spec__init);
        i->interval = make_duration(a, s->every_s * USEC_PER_SEC);
        i->phase = make_duration(a, s->phase_s * USEC_PER_SEC);
        spec->interval = arena_array(a, Schedule__IntervalSpec *, 1);
        ensure(spec->interval);
        spec->interval[spec->n_interval++] = i;
    }
    if (s->step_s) {
        spec->cron_string = arena_array(a, char *, 1);
        ensure(spec->cron_string);
        spec->cron_string[spec->n_cron_string++] =
            make_text(a, "%" PRId64 "-59/%" PRId64 " * * * * * *", s->first_s, s->step_s);
    }
    spec->jitter = jitter_us ? make_duration(a, jitter_us) : NULL;
    return spec;
}

static const char *bare_id(const struct ledger_model *l) {
    return strchr(l->schedule_id, '/') + 1;
}

static Schedule__ScheduleAction *make_action(struct arena *a, const struct ledger_model *l, struct rng *r) {
    Schedule__ScheduleAction *action = MAKE(a, Schedule__ScheduleAction, schedule__schedule_action__init);
    Workflow__NewWorkflowExecutionInfo *wf =
        MAKE(a, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    wf->workflow_id = make_text(a, "%s", bare_id(l));
    wf->workflow_type = MAKE(a, Common__WorkflowType, common__workflow_type__init);
    wf->workflow_type->name = make_text(a, "program");
    wf->task_queue = make_queue(a, WORKER_QUEUE, NULL);
    wf->input = make_payloads(a, make_text(a, PROGRAM_SCHEDULED " %016" PRIx64 " lap=0", rng_u64(r)));
    /* So that a run which waits for a signal does not hold up the others for ever. */
    wf->workflow_execution_timeout = make_duration(a, (2 + (int64_t)rng_below(r, 60)) * USEC_PER_SEC);
    if (rng_chance(r, 4))
        wf->retry_policy = make_run_retry(a, r);
    action->action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    action->start_workflow = wf;
    return action;
}

static E__ScheduleOverlapPolicy draw_policy(struct rng *r) {
    static const E__ScheduleOverlapPolicy policies[] = {
        SCHEDULE_OVERLAP_POLICY_UNSPECIFIED,  SCHEDULE_OVERLAP_POLICY_SKIP,
        SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,   SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
        SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER, SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER,
        SCHEDULE_OVERLAP_POLICY_ALLOW_ALL};
    return policies[rng_below(r, ARRAY_LEN(policies))];
}

static Schedule__Schedule *make_schedule(struct keeper *k, struct arena *a, struct rng *r) {
    Schedule__Schedule *s = MAKE(a, Schedule__Schedule, schedule__schedule__init);
    s->spec = make_spec(a, &k->spec, k->l->jitter_us);
    s->action = make_action(a, k->l, r);
    s->policies = MAKE(a, Schedule__SchedulePolicies, schedule__schedule_policies__init);
    s->policies->overlap_policy = draw_policy(r);
    s->policies->catchup_window = make_duration(a, k->l->catchup_us);
    s->policies->pause_on_failure = rng_chance(r, 6);
    s->state = MAKE(a, Schedule__ScheduleState, schedule__schedule_state__init);
    if (k->l->action_limit) {
        s->state->limited_actions = true;
        s->state->remaining_actions = k->l->action_limit;
    }
    return s;
}

static Schedule__SchedulePatch *make_patch(struct keeper *k, struct arena *a, struct rng *r) {
    Schedule__SchedulePatch *p = MAKE(a, Schedule__SchedulePatch, schedule__schedule_patch__init);
    if (k->task == KEEP_PAUSE)
        p->pause = make_text(a, "a keeper asked for it");
    if (k->task == KEEP_UNPAUSE)
        p->unpause = make_text(a, "a keeper asked for it");
    if (k->task == KEEP_TRIGGER) {
        p->trigger_immediately =
            MAKE(a, Schedule__TriggerImmediatelyRequest, schedule__trigger_immediately_request__init);
        p->trigger_immediately->overlap_policy = draw_policy(r);
    }
    if (k->task == KEEP_BACKFILL) {
        Schedule__BackfillRequest *b = MAKE(a, Schedule__BackfillRequest, schedule__backfill_request__init);
        int64_t from_s = (int64_t)(1767225600 + rng_below(r, 3600));
        b->start_time = MAKE(a, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
        b->end_time = MAKE(a, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
        b->start_time->seconds = from_s;
        b->end_time->seconds = from_s + (int64_t)rng_below(r, 40);
        b->overlap_policy = draw_policy(r);
        p->backfill_request = arena_array(a, Schedule__BackfillRequest *, 1);
        ensure(p->backfill_request);
        p->backfill_request[p->n_backfill_request++] = b;
    }
    return p;
}

static const void *make_create(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__CreateScheduleRequest *q = MAKE(a, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    q->schedule = make_schedule(k, a, r);
    q->request_id = make_text(a, "%s", k->request_id);
    return q;
}

static const void *make_update(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__UpdateScheduleRequest *q = MAKE(a, Ws__UpdateScheduleRequest, ws__update_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    q->schedule = make_schedule(k, a, r);
    q->request_id = make_text(a, "%s", k->request_id);
    return q;
}

static const void *make_patch_request(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__PatchScheduleRequest *q = MAKE(a, Ws__PatchScheduleRequest, ws__patch_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    q->patch = make_patch(k, a, r);
    q->request_id = make_text(a, "%s", k->request_id);
    return q;
}

static const void *make_list(struct keeper *k, struct arena *a) {
    Ws__ListSchedulesRequest *q = MAKE(a, Ws__ListSchedulesRequest, ws__list_schedules_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    return q;
}

static const void *make_describe(struct keeper *k, struct arena *a) {
    Ws__DescribeScheduleRequest *q =
        MAKE(a, Ws__DescribeScheduleRequest, ws__describe_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    return q;
}

static const void *make_delete(struct keeper *k, struct arena *a) {
    Ws__DeleteScheduleRequest *q = MAKE(a, Ws__DeleteScheduleRequest, ws__delete_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    return q;
}

static const void *make_ledger(struct keeper *k, struct arena *a) {
    Rondo__ListScheduleLedgerRequest *q =
        MAKE(a, Rondo__ListScheduleLedgerRequest, rondo__list_schedule_ledger_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", bare_id(k->l));
    q->maximum_page_size = LIMIT_LEDGER_ROWS;
    return q;
}

static const void *make_request(struct keeper *k, struct arena *a, enum rpc_kind *ret_kind) {
    struct rng r;
    rng_init(&r, k->draw);
    switch (k->task) {
    case KEEP_CREATE:
        *ret_kind = RPC_create_schedule;
        return make_create(k, a, &r);
    case KEEP_UPDATE:
    case KEEP_CHANGE:
        *ret_kind = RPC_update_schedule;
        return make_update(k, a, &r);
    case KEEP_PAUSE:
    case KEEP_UNPAUSE:
    case KEEP_TRIGGER:
    case KEEP_BACKFILL:
        *ret_kind = RPC_patch_schedule;
        return make_patch_request(k, a, &r);
    case KEEP_LIST:
        *ret_kind = RPC_list_schedules;
        return make_list(k, a);
    case KEEP_LEDGER:
        *ret_kind = RPC_list_schedule_ledger;
        return make_ledger(k, a);
    case KEEP_DELETE:
        *ret_kind = RPC_delete_schedule;
        return make_delete(k, a);
    case KEEP_DESCRIBE:
    case KEEP_CONFIRM:
        *ret_kind = RPC_describe_schedule;
        return make_describe(k, a);
    }
    return NULL;
}

/* answers */

static void saw_list(struct keeper *k, const Ws__ListSchedulesResponse *m) {
    for (size_t i = 0; i < m->n_schedules; i++)
        if (streq(m->schedules[i]->schedule_id, bare_id(k->l)))
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
    case KEEP_CREATE:
        k->w->tally.schedules++;
        ledger_era_acked(k->l, 0);
        break;
    case KEEP_CHANGE:
        ledger_era_acked(k->l, k->w->now.wall.us);
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
    bool is_gone = r->outcome == RPC_FAILED && r->err.code == ERR_NOT_FOUND;
    bool is_leaving = k->task == KEEP_DELETE || k->task == KEEP_CONFIRM;
    bool is_over = r->outcome == RPC_OK || (is_gone && is_leaving);
    bool is_passing = r->err.code == ERR_BUSY || r->err.code == ERR_STORE_IO;
    if (r->outcome == RPC_FAILED && !is_over && !is_passing)
        world_fail(k->w, "schedule_kept", "%s %s: %s: %s", rpc_name(r->kind), k->l->schedule_id,
                   err_name(r->err.code), r->err.text);
    if (!is_over) { /* again, as it was */
        world_at(k->w, &k->act, world_delay(k->w, 10 * USEC_PER_MS, USEC_PER_SEC));
        return;
    }
    if (r->outcome == RPC_OK)
        keeper_succeeded(k, r);
    else if (k->task == KEEP_DELETE)
        keeper_deleted(k); /* an answer before this one was lost */
    if (k->task == KEEP_CONFIRM)
        k->l = NULL;
    if (k->task == KEEP_CONFIRM && k->is_resting)
        return;
    if (k->end != END_NOT)
        keeper_end_step(k);
    k->request_id[0] = '\0';
    world_at(k->w, &k->act, k->end != END_NOT ? USEC_PER_SEC : world_delay(k->w, 0, THINK_US));
}

/* choices */

static void keeper_meet(struct keeper *k) {
    struct rng *r = &k->w->rng;
    struct ledger_model *l = mem_zalloc(sizeof(*l));
    ensure(l);
    k->l = k->ledgers[k->ledger_count++] = l;
    snprintf(l->schedule_id, sizeof(l->schedule_id), "%s/s%u%zu", k->number % 2 ? "other" : "default",
             k->number, k->ledger_count);
    l->jitter_us = rng_chance(r, 2) ? (int64_t)rng_below(r, 10 * USEC_PER_SEC) : 0;
    l->catchup_us = (10 + (int64_t)rng_below(r, 50)) * USEC_PER_SEC;
    l->action_limit = rng_chance(r, 4) ? 1 + (int64_t)rng_below(r, 6) : 0;
    k->spec = draw_spec(r);
    ledger_begin_era(l, &k->spec, 0);
}

static enum keeper_task draw_task(struct keeper *k) {
    static const enum keeper_task tasks[] = {
        KEEP_LEDGER, KEEP_LEDGER,  KEEP_DESCRIBE, KEEP_LIST,    KEEP_UPDATE,  KEEP_CHANGE,  KEEP_PAUSE,
        KEEP_PAUSE,  KEEP_UNPAUSE, KEEP_UNPAUSE,  KEEP_UNPAUSE, KEEP_TRIGGER, KEEP_TRIGGER, KEEP_BACKFILL};
    if (k->ledger_count < SCHEDULES_MAX && rng_chance(&k->w->rng, 80))
        return KEEP_DELETE;
    return tasks[rng_below(&k->w->rng, ARRAY_LEN(tasks))];
}

static enum keeper_task keeper_choose(struct keeper *k) {
    static const enum keeper_task ends[] = {
        [END_PAUSE] = KEEP_PAUSE,        [END_FIRST_READ] = KEEP_LEDGER, [END_DESCRIBE] = KEEP_DESCRIBE,
        [END_SECOND_READ] = KEEP_LEDGER, [END_DELETE] = KEEP_DELETE,     [END_DONE] = KEEP_CONFIRM};
    if (k->l && k->task == KEEP_DELETE)
        return KEEP_CONFIRM;
    if (k->end != END_NOT)
        return ends[k->end];
    if (!k->l)
        return KEEP_CREATE;
    return draw_task(k);
}

/* What will hold, or may hold, from the moment the request is sent. */
static void keeper_prepare(struct keeper *k) {
    struct ledger_model *l = k->l;
    if (k->task == KEEP_CHANGE && (l->era_count == ERAS_MAX || profile_jumps(&k->w->profile)))
        k->task = KEEP_UPDATE;
    if (k->task == KEEP_UPDATE || k->task == KEEP_CHANGE)
        l->action_limit = 0;
    if (k->task == KEEP_UPDATE || k->task == KEEP_CHANGE || k->task == KEEP_UNPAUSE)
        l->pause_acked_us = 0;
    if (k->task == KEEP_CHANGE) {
        k->spec = draw_spec(&k->w->rng);
        ledger_begin_era(l, &k->spec, k->w->now.wall.us);
    }
    k->draw = rng_u64(&k->w->rng);
    snprintf(k->request_id, sizeof(k->request_id), "keeper-%" PRIu64, ++k->w->next_id);
}

static void keeper_act(struct world *w, struct happening *h) {
    struct keeper *k = container_of(h, struct keeper, act);
    if (!k->request_id[0]) {
        if (k->is_resting && k->end == END_NOT && k->l && k->task != KEEP_DELETE) {
            int64_t wait_us = k->lone_until_us - w->now.mono.us;
            k->end = END_PAUSE;
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
    const void *request = make_request(k, &r->arena, &r->kind);
    r->subject.sent_wall_us = w->now.wall.us;
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
