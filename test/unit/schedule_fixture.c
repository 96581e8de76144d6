/* One schedule and the world around it: letters become runs, runs end when the test says so, ledger rows are
 * kept by their ids as the store would. */
#include "schedule_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "cal/civil.h"
#include "core/message/letter.h"
#include "wire/encode.h"
#include "wire/guard.h"

static const struct zone *no_zone(unused_arg void *ctx, unused_arg struct str name) {
    return NULL;
}

#define MAKE(f, descriptor) pb_arena_new(&(descriptor), &(f)->c.arena)

static Schedule__Schedule *make_schedule(struct sched *f, struct sched_parts *p) {
    Workflow__NewWorkflowExecutionInfo *w = &p->workflow;
    schedule__schedule__init(&p->schedule);
    schedule__schedule_spec__init(&p->spec);
    schedule__schedule_policies__init(&p->policies);
    schedule__schedule_state__init(&p->state);
    rondo__schedule_extras__init(&p->extras);
    schedule__schedule_action__init(&p->action);
    workflow__new_workflow_execution_info__init(w);
    p->schedule.spec = &p->spec;
    p->schedule.policies = &p->policies;
    p->schedule.state = &p->state;
    p->schedule.extras = &p->extras;
    p->schedule.action = &p->action;
    p->action.action_case = SCHEDULE__SCHEDULE_ACTION__ACTION_START_WORKFLOW;
    p->action.start_workflow = w;
    w->workflow_id = core_text(&f->c, "wf");
    w->workflow_type = f->c.start.workflow_type;
    w->task_queue = f->c.start.task_queue;
    w->input = core_payloads(&f->c, "input");
    return &p->schedule;
}

Schedule__Schedule *sched_new(struct sched *f) {
    struct sched_parts *p = arena_new(&f->c.arena, struct sched_parts);
    return p ? make_schedule(f, p) : NULL;
}

void sched_init(struct sched *f) {
    memset(f, 0, sizeof(*f));
    core_init(&f->c);
    f->c.now_us = SCHED_T0_S * USEC_PER_SEC;
    state__namespace__init(&f->space);
    f->space.id = core_text(&f->c, "mynsid");
    f->space.name = core_text(&f->c, "default");
    f->zones = (struct cal_zones){no_zone, NULL, NULL};
    ws__create_schedule_request__init(&f->create);
    f->create.schedule_id = core_text(&f->c, "myschedule");
    f->create.request_id = core_text(&f->c, "create-request");
    f->schedule = make_schedule(f, &f->parts);
    sched_every(f, f->schedule, "5m");
    f->runs = mem_alloc(SCHED_RUNS_MAX * sizeof(*f->runs));
}

void sched_done(struct sched *f) {
    mem_free(f->runs);
    mem_free(f->ledger);
    core_done(&f->c);
}

static void add_string(struct sched *f, char ***list, size_t *n, const char *text) {
    char **bigger = arena_array(&f->c.arena, char *, *n + 1);
    if (!bigger)
        return;
    if (*n)
        memcpy(bigger, *list, *n * sizeof(*bigger));
    bigger[(*n)++] = core_text(&f->c, text);
    *list = bigger;
}

void sched_cron(struct sched *f, Schedule__Schedule *s, const char *text) {
    if (s && !arena_failed(&f->c.arena))
        add_string(f, &s->spec->cron_string, &s->spec->n_cron_string, text);
}

void sched_every(struct sched *f, Schedule__Schedule *s, const char *text) {
    const char *every = arena_printf(&f->c.arena, "@every %s", text);
    if (!s || !every)
        return;
    s->spec->n_cron_string = 0;
    sched_cron(f, s, every);
}

void sched_exclude(struct sched *f, Schedule__Schedule *s, const char *hour) {
    Schedule__CalendarSpec *c = MAKE(f, schedule__calendar_spec__descriptor);
    if (!s || !c)
        return;
    c->second = c->minute = core_text(&f->c, "*");
    c->hour = core_text(&f->c, hour);
    s->spec->exclude_calendar = arena_array(&f->c.arena, Schedule__CalendarSpec *, 1);
    if (!s->spec->exclude_calendar)
        return;
    s->spec->exclude_calendar[0] = c;
    s->spec->n_exclude_calendar = 1;
}

void sched_limit(Schedule__Schedule *s, int64_t remaining) {
    if (!s)
        return;
    s->state->limited_actions = true;
    s->state->remaining_actions = remaining;
}

/* the world */

static void take_rows(struct sched *f) {
    ProtobufCAllocator alloc = wire_arena_allocator(&f->c.arena);
    for (size_t i = 0; i < f->c.s.ledger_count; i++) {
        const struct ledger_row *row = &f->c.s.ledger[i];
        size_t id = (size_t)row->id;
        if (id > f->ledger_count) {
            Rondo__LedgerEntry **bigger = mem_resize(f->ledger, id * sizeof(*bigger));
            if (!bigger)
                return;
            f->ledger = bigger;
            while (f->ledger_count < id)
                f->ledger[f->ledger_count++] = NULL;
        }
        f->ledger[id - 1] = rondo__ledger_entry__unpack(&alloc, row->bytes.n, (const uint8_t *)row->bytes.p);
        if (f->ledger[id - 1]) {
            CHECK_INT(f->ledger[id - 1]->id, row->id);
            CHECK_INT(f->ledger[id - 1]->fate, row->fate);
            CHECK_INT(f->ledger[id - 1]->nominal_time->seconds, row->nominal_s);
        }
    }
    if (f->c.s.ledger_first_id)
        f->ledger_first_id = f->c.s.ledger_first_id;
}

static bool is_dead(const struct sched *f) {
    return f->c.is_out_of_memory || !f->c.st || arena_failed(&f->c.arena) || !f->runs;
}

struct answer {
    int64_t letter_id;
    int64_t start_id;
    struct action_outcome outcome;
    struct action_end end;
    bool is_end;
};

static int answer(struct step *s, const struct answer *a) {
    if (a->is_end)
        schedule_action_closed(s, a->start_id, &a->end);
    else
        schedule_action_started(s, a->start_id, &a->outcome);
    if (a->letter_id)
        letter_remove(s, a->letter_id);
    return 0;
}

static struct sched_run *run_of(struct sched *f, int64_t start_id) {
    for (size_t i = f->run_count; i-- > 0;)
        if (f->runs[i].start_id == start_id)
            return &f->runs[i];
    return NULL;
}

static void begin_run(struct sched *f, struct answer *a, const struct action_order *order) {
    const State__Schedule *sch = f->c.st->schedule;
    ensure(f->run_count < SCHED_RUNS_MAX);
    struct sched_run *run = &f->runs[f->run_count++];
    *run = (struct sched_run){.start_id = a->start_id,
                              .begun_us = f->c.now_us,
                              .is_open = true,
                              .workflow_id = core_text(&f->c, order->request->workflow_id),
                              .last_result = order->last_completion_result,
                              .last_failure = order->continued_failure};
    for (size_t i = 0; i < sch->n_starts; i++)
        if (sch->starts[i]->id == a->start_id)
            run->nominal_s = sch->starts[i]->nominal_s;
    a->outcome.run_id = arena_printf(&f->c.arena, "run-%" PRId64, a->start_id);
}

/* One letter; false when there is none. */
static bool deliver_one(struct sched *f) {
    if (is_dead(f) || !f->c.st->n_outbox)
        return false;
    const State__Letter *l = f->c.st->outbox[0];
    struct answer a = {.letter_id = l->id, .start_id = l->event_id};
    struct sched_run *run = run_of(f, l->event_id);
    struct action_order order;
    if (l->kind == LETTER_CANCEL_ACTION || l->kind == LETTER_TERMINATE_ACTION) {
        CHECK(run && cstr_eq(run->workflow_id, l->workflow_id) && run->is_open);
        if (run && l->kind == LETTER_CANCEL_ACTION)
            run->is_cancelled = true;
        else if (run)
            run->is_terminated = true;
    } else {
        CHECK_INT(l->kind, LETTER_START_ACTION);
        int rc =
            schedule_order(f->c.st, l->event_id, "default", (struct wall){f->c.now_us}, &f->c.arena, &order);
        CHECK_INT(rc, 0);
        if (rc < 0)
            return false;
        if (f->refusals_left > 0) {
            f->refusals_left--;
            a.outcome = f->refusal;
        } else {
            begin_run(f, &a, &order);
        }
    }
    bool is_terminated = l->kind == LETTER_TERMINATE_ACTION;
    take_rows(f);
    if (STEP(&f->c, answer(&f->c.s, &a)) < 0)
        return false;
    take_rows(f);
    run = run_of(f, a.start_id);
    if (is_terminated && run && run->is_open)
        sched_close_run(f, run, STATUS(TERMINATED), NULL);
    else if (f->closes_at_once && run && run->is_open && !a.end.status && a.outcome.run_id)
        sched_close_run(f, run, STATUS(COMPLETED), NULL);
    return true;
}

void sched_deliver(struct sched *f) {
    while (deliver_one(f))
        ;
}

int sched_step(struct sched *f, int rc) {
    if (rc < 0)
        return rc;
    take_rows(f);
    if (!f->holds_letters)
        sched_deliver(f);
    return rc;
}

static void context(struct sched *f) {
    f->c.ctx.space = &f->space;
    f->c.ctx.namespace_name = "default";
    f->c.ctx.zones = &f->zones;
}

int sched_create(struct sched *f) {
    static const struct schedule_birth birth = {"mynsid", "22222222-2222-4222-8222-222222222222",
                                                "create-request"};
    bool failed = false;
    context(f);
    if (arena_failed(&f->c.arena) || !f->runs)
        return ERR_NO_MEMORY;
    f->create.schedule = f->schedule;
    int rc =
        schedule_prepare(&f->c.arena, &f->space, &f->zones, f->create.schedule_id, f->schedule, &f->c.err);
    if (rc < 0)
        return rc;
    f->c.st = pb_new(&state__execution__descriptor, &failed);
    return SCHED(f, schedule_create(&f->c.s, &birth, &f->create));
}

int sched_update(struct sched *f, Schedule__Schedule *schedule) {
    Ws__UpdateScheduleRequest req = WS__UPDATE_SCHEDULE_REQUEST__INIT;
    if (!schedule || is_dead(f))
        return ERR_NO_MEMORY;
    req.schedule = schedule;
    int rc = schedule_prepare(&f->c.arena, &f->space, &f->zones, f->create.schedule_id, schedule, &f->c.err);
    return rc < 0 ? rc : SCHED(f, schedule_update(&f->c.s, &req));
}

int sched_patch(struct sched *f, Schedule__SchedulePatch *patch, const char *request_id) {
    Ws__PatchScheduleRequest req = WS__PATCH_SCHEDULE_REQUEST__INIT;
    req.patch = patch;
    req.request_id = core_text(&f->c, request_id);
    int rc = schedule_validate_patch(patch, &f->c.err);
    return rc < 0 ? rc : SCHED(f, schedule_patch(&f->c.s, &req));
}

int sched_pause(struct sched *f, const char *note) {
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    patch.pause = core_text(&f->c, note);
    return patch.pause ? sched_patch(f, &patch, "") : ERR_NO_MEMORY;
}

int sched_unpause(struct sched *f, const char *note) {
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    patch.unpause = core_text(&f->c, note);
    return patch.unpause ? sched_patch(f, &patch, "") : ERR_NO_MEMORY;
}

int sched_trigger(struct sched *f, E__ScheduleOverlapPolicy policy) {
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__TriggerImmediatelyRequest trigger = SCHEDULE__TRIGGER_IMMEDIATELY_REQUEST__INIT;
    trigger.overlap_policy = policy;
    patch.trigger_immediately = &trigger;
    return sched_patch(f, &patch, "");
}

int sched_backfill(struct sched *f, const char *from, const char *to, E__ScheduleOverlapPolicy policy) {
    Schedule__SchedulePatch patch = SCHEDULE__SCHEDULE_PATCH__INIT;
    Schedule__BackfillRequest range = SCHEDULE__BACKFILL_REQUEST__INIT, *ranges = &range;
    Google__Protobuf__Timestamp start = pb_timestamp(sched_us(from)), end = pb_timestamp(sched_us(to));
    range.start_time = &start;
    range.end_time = &end;
    range.overlap_policy = policy;
    patch.backfill_request = &ranges;
    patch.n_backfill_request = 1;
    return sched_patch(f, &patch, "");
}

int sched_tick(struct sched *f) {
    return SCHED(f, run_tick(&f->c.s));
}

/* time */

int64_t sched_us(const char *when) {
    int day = 0, hour = 0, minute = 0, at = 0;
    double second = 0;
    if (sscanf(when, "%dd %n", &day, &at) == 1 && at)
        when += at;
    else
        day = 0;
    ensure(sscanf(when, "%d:%d:%lf", &hour, &minute, &second) >= 2);
    int64_t us = ((int64_t)day * 86400 + hour * 3600 + minute * 60) * USEC_PER_SEC;
    return SCHED_T0_S * USEC_PER_SEC + us + (int64_t)(second * 1e6 + 0.5);
}

void sched_jump(struct sched *f, const char *when) {
    f->c.now_us = sched_us(when);
}

void sched_go_us(struct sched *f, int64_t us) {
    for (int turns = 0; !is_dead(f) && run_due_us(f->c.st) <= us; turns++) {
        CHECK(turns < 100000);
        if (turns >= 100000)
            return;
        f->c.now_us = MAX(f->c.now_us, run_due_us(f->c.st));
        if (sched_tick(f) < 0)
            return;
    }
    f->c.now_us = us;
}

void sched_go(struct sched *f, const char *when) {
    sched_go_us(f, sched_us(when));
}

/* runs */

struct sched_run *sched_run_at(struct sched *f, const char *nominal) {
    int64_t nominal_s = sched_us(nominal) / USEC_PER_SEC;
    for (size_t i = f->run_count; i-- > 0;)
        if (f->runs[i].nominal_s == nominal_s)
            return &f->runs[i];
    return NULL;
}

void sched_close_run(struct sched *f, struct sched_run *run, E__WorkflowExecutionStatus status,
                     const char *result) {
    struct answer a = {.start_id = run->start_id, .is_end = true};
    run->is_open = false;
    a.end = (struct action_end){.workflow_id = run->workflow_id,
                                .first_run_id = "run-of-the-end",
                                .status = status,
                                .close_us = f->c.now_us};
    if (status == STATUS(COMPLETED))
        a.end.result = core_payloads(&f->c, result ? result : "result");
    else if (status == STATUS(FAILED))
        a.end.failure = core_failure(&f->c, "Broken");
    (void)SCHED(f, answer(&f->c.s, &a));
}

void sched_close(struct sched *f, const char *nominal, E__WorkflowExecutionStatus status) {
    struct sched_run *run = sched_run_at(f, nominal);
    CHECK(run && run->is_open);
    if (run && run->is_open)
        sched_close_run(f, run, status, NULL);
}

size_t sched_open_count(const struct sched *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->run_count; i++)
        n += f->runs[i].is_open;
    return n;
}

/* looking */

const State__Schedule *sched_state(const struct sched *f) {
    static const State__Schedule none = STATE__SCHEDULE__INIT;
    return f->c.st && f->c.st->schedule ? f->c.st->schedule : &none;
}

/* "00:05", "00:05:10", "2d 00:05" */
const char *sched_time(struct sched *f, int64_t us) {
    int64_t offset = us - SCHED_T0_S * USEC_PER_SEC, day = civil_div(offset, CIVIL_DAY_S * USEC_PER_SEC);
    int64_t rest = offset - day * CIVIL_DAY_S * USEC_PER_SEC, second = rest / USEC_PER_SEC;
    struct buf b cleanup(buf_done);
    buf_init(&b, 100);
    if (day)
        buf_printf(&b, "%" PRId64 "d ", day);
    buf_printf(&b, "%02d:%02d", (int)(second / 3600), (int)(second % 3600 / 60));
    if (second % 60 || rest % USEC_PER_SEC)
        buf_printf(&b, ":%02d", (int)(second % 60));
    if (rest % USEC_PER_SEC)
        buf_printf(&b, ".%03d", (int)(rest % USEC_PER_SEC / 1000));
    const char *text = buf_ok(&b) ? arena_strndup(&f->c.arena, (const char *)b.data, b.len) : NULL;
    return text ? text : "out of memory";
}

static const char *keep(struct sched *f, const struct buf *b) {
    const char *text = b->len && buf_ok(b) ? arena_strndup(&f->c.arena, (const char *)b->data, b->len) : "";
    return text ? text : "out of memory";
}

const char *sched_begun(struct sched *f) {
    struct buf b cleanup(buf_done);
    buf_init(&b, 1 << 20);
    for (; f->shown < f->run_count; f->shown++) {
        const struct sched_run *run = &f->runs[f->shown];
        buf_printf(&b, "%s%s", b.len ? " " : "", sched_time(f, run->nominal_s * USEC_PER_SEC));
        if (run->begun_us != run->nominal_s * USEC_PER_SEC)
            buf_printf(&b, "@%s", sched_time(f, run->begun_us));
    }
    return keep(f, &b);
}

static const char *fate_name(Rondo__LedgerFate fate) {
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&rondo__ledger_fate__descriptor, (int)fate);
    return v ? v->name + strlen("LEDGER_FATE_") : "?";
}

static const char *status_name(E__WorkflowExecutionStatus status) {
    const ProtobufCEnumValue *v =
        protobuf_c_enum_descriptor_get_value(&e__workflow_execution_status__descriptor, (int)status);
    return v ? v->name + strlen("WORKFLOW_EXECUTION_STATUS_") : "?";
}

const char *sched_ledger(struct sched *f) {
    struct buf b cleanup(buf_done);
    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < f->ledger_count; i++) {
        const Rondo__LedgerEntry *e = f->ledger[i];
        if (!e || (int64_t)i + 1 < f->ledger_first_id)
            continue;
        buf_printf(&b, "%s%s", b.len ? ", " : "", sched_time(f, e->nominal_time->seconds * USEC_PER_SEC));
        if (e->count > 1)
            buf_printf(&b, "..%s x%" PRId64, sched_time(f, e->last_nominal_time->seconds * USEC_PER_SEC),
                       e->count);
        buf_printf(&b, " %s", fate_name(e->fate));
        if (e->fate == LEDGER_FATE_STARTED)
            buf_printf(&b, "/%s", status_name(e->status));
    }
    return keep(f, &b);
}

const char *sched_future(struct sched *f) {
    struct buf b cleanup(buf_done);
    buf_init(&b, 1 << 16);
    Schedule__ScheduleInfo *info = is_dead(f) ? NULL : schedule_info(f->c.st, &f->c.arena);
    for (size_t i = 0; info && i < info->n_future_action_times; i++)
        buf_printf(&b, "%s%s", i ? " " : "", sched_time(f, pb_timestamp_us(info->future_action_times[i])));
    return keep(f, &b);
}
