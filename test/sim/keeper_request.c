/* The messages of a keeper, from its task and the number that was drawn for it. */
#include <inttypes.h>

#include "core/step/limits.h"
#include "keeper_int.h"
#include "names.h"
#include "program.h"
#include "request.h"
#include "worker.h"

#define KEEP_DAYS INT64_C(36500) /* longer than any leap of the clock */

/* the spec */

#define NEAR_S 7200

static bool zone_is_changing(enum zone_model z, int64_t now_s) {
    return zone_model_changes(z, now_s, now_s + NEAR_S) || zone_model_changes(z, now_s - NEAR_S, now_s);
}

/* One whose clocks are about to change, if there is one. */
static enum zone_model draw_zone(struct rng *r, int64_t now_s) {
    enum zone_model zone = (enum zone_model)rng_below(r, ZONE_MODEL_COUNT);
    for (int z = 0; z < ZONE_MODEL_COUNT; z++)
        if (zone_is_changing((enum zone_model)z, now_s))
            zone = (enum zone_model)z;
    return zone;
}

/* An hour or two: near what it is now, or those that a changing clock leaves out or shows twice. Where only
 * days pass, half of them are the hours in which clocks change. */
static void draw_hours(struct spec_model *s, struct rng *r, bool is_sparse, int64_t now_s) {
    int64_t hour = (now_s + zone_model_offset_s(s->zone, now_s)) / 3600 % 24;
    bool is_night = is_sparse && rng_chance(r, 2);
    if (is_night || zone_is_changing(s->zone, now_s)) {
        hour = is_night ? 1 : MIN(hour, 22);
        unsigned which = (unsigned)rng_below(r, 4);
        s->from_hour = which == 0 ? hour + 1 : hour;
        s->to_hour = which == 1 ? hour : hour + 1;
        return;
    }
    s->from_hour = hour > 0 ? hour - (int64_t)rng_below(r, 2) : 0;
    s->to_hour = hour < 23 ? hour + (int64_t)rng_below(r, 2) : 23;
}

static void draw_calendar(struct spec_model *s, struct rng *r, bool is_sparse, int64_t now_s) {
    s->zone = draw_zone(r, now_s);
    s->shifts = rng_chance(r, 2);
    s->repeats = (enum repeat_model)rng_below(r, REPEAT_MODEL_COUNT);
    s->first_s = (int64_t)rng_below(r, 20);
    s->step_s = is_sparse ? 60 : 4 + (int64_t)rng_below(r, 20);
    s->first_min = is_sparse ? (int64_t)rng_below(r, 60) : 0;
    s->step_min = is_sparse ? 60 : 1;
    s->to_hour = 23;
    if (is_sparse || rng_chance(r, 2))
        draw_hours(s, r, is_sparse, now_s);
}

struct spec_model draw_spec(struct rng *r, bool is_sparse, int64_t now_s) {
    struct spec_model s = {.out_to_s = -1};
    unsigned kind = (unsigned)rng_below(r, 3);
    if (zone_is_changing(draw_zone(r, now_s), now_s))
        kind = MAX(kind, 1);
    if (kind != 1) {
        s.every_s = is_sparse ? 3600 * (1 + (int64_t)rng_below(r, 72)) : 3 + (int64_t)rng_below(r, 20);
        s.phase_s = (int64_t)rng_below(r, (uint64_t)s.every_s);
    }
    if (kind != 0)
        draw_calendar(&s, r, is_sparse, now_s);
    if (rng_chance(r, 3)) {
        s.out_from_s = (int64_t)rng_below(r, 45);
        s.out_to_s = s.out_from_s + (int64_t)rng_below(r, 15);
    }
    if (rng_chance(r, 3))
        s.holidays = 1 + (unsigned)rng_below(r, (1u << HOLIDAY_CALENDARS) - 1);
    return s;
}

static char *make_cron(struct arena *a, const struct spec_model *s) {
    char *second = s->step_s < 60 ? make_text(a, "%" PRId64 "-59/%" PRId64, s->first_s, s->step_s)
                                  : make_text(a, "%" PRId64, s->first_s);
    char *minute = s->step_min < 60 ? make_text(a, "%" PRId64 "-59/%" PRId64, s->first_min, s->step_min)
                                    : make_text(a, "%" PRId64, s->first_min);
    return make_text(a, "%s %s %" PRId64 "-%" PRId64 " * * * *", second, minute, s->from_hour, s->to_hour);
}

static Schedule__Range **make_range(struct arena *a, int64_t from, int64_t to, size_t *ret_count) {
    Schedule__Range **list = arena_array(a, Schedule__Range *, 1);
    ensure(list);
    list[0] = MAKE(a, Schedule__Range, schedule__range__init);
    list[0]->start = (int32_t)from;
    list[0]->end = (int32_t)to;
    *ret_count = 1;
    return list;
}

static void make_exclusion(struct arena *a, const struct spec_model *s, Schedule__ScheduleSpec *spec) {
    Schedule__StructuredCalendarSpec *c =
        MAKE(a, Schedule__StructuredCalendarSpec, schedule__structured_calendar_spec__init);
    c->second = make_range(a, s->out_from_s, s->out_to_s, &c->n_second);
    c->minute = make_range(a, 0, 59, &c->n_minute);
    c->hour = make_range(a, 0, 23, &c->n_hour);
    c->day_of_month = make_range(a, 1, 31, &c->n_day_of_month);
    c->month = make_range(a, 1, 12, &c->n_month);
    c->day_of_week = make_range(a, 0, 6, &c->n_day_of_week);
    spec->exclude_structured_calendar = arena_array(a, Schedule__StructuredCalendarSpec *, 1);
    ensure(spec->exclude_structured_calendar);
    spec->exclude_structured_calendar[spec->n_exclude_structured_calendar++] = c;
}

static Schedule__ScheduleSpec *make_spec(struct arena *a, const struct spec_model *s, int64_t jitter_us) {
    static const char *const repeats[REPEAT_MODEL_COUNT] = {"both", "first", "last"};
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
        spec->cron_string[spec->n_cron_string++] = make_cron(a, s);
    }
    if (s->zone != ZONE_UTC)
        spec->timezone_name = make_text(a, "%s;missing=%s;repeated=%s", zone_model_name(s->zone),
                                        s->shifts ? "shift" : "skip", repeats[s->repeats]);
    if (s->out_to_s >= s->out_from_s)
        make_exclusion(a, s, spec);
    spec->jitter = jitter_us ? make_duration(a, jitter_us) : NULL;
    return spec;
}

/* requests */

static Schedule__ScheduleAction *make_action(struct arena *a, const struct ledger_model *l, struct rng *r) {
    Schedule__ScheduleAction *action = MAKE(a, Schedule__ScheduleAction, schedule__schedule_action__init);
    Workflow__NewWorkflowExecutionInfo *wf =
        MAKE(a, Workflow__NewWorkflowExecutionInfo, workflow__new_workflow_execution_info__init);
    wf->workflow_id = make_text(a, "%s", ledger_bare_id(l));
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

static const E__ScheduleOverlapPolicy policies[] = {
    SCHEDULE_OVERLAP_POLICY_UNSPECIFIED,  SCHEDULE_OVERLAP_POLICY_SKIP,
    SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,   SCHEDULE_OVERLAP_POLICY_BUFFER_ALL,
    SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER, SCHEDULE_OVERLAP_POLICY_TERMINATE_OTHER,
    SCHEDULE_OVERLAP_POLICY_ALLOW_ALL};

#define CROWD_POLICIES 4 /* the first ones, which go with several runs at a time */
#define LONE_POLICIES 6 /* those that never let two run at a time */
#define ALL_POLICIES ARRAY_LEN(policies)

static E__ScheduleOverlapPolicy draw_policy(struct rng *r, size_t count) {
    return policies[rng_below(r, count)];
}

static Google__Protobuf__Timestamp *make_time(struct arena *a, int64_t us) {
    Google__Protobuf__Timestamp *t = MAKE(a, Google__Protobuf__Timestamp, google__protobuf__timestamp__init);
    t->seconds = us / USEC_PER_SEC;
    t->nanos = (int32_t)(us % USEC_PER_SEC) * NSEC_PER_USEC;
    return t;
}

static Rondo__ScheduleExtras *make_extras(const struct keeper *k, struct arena *a) {
    Rondo__ScheduleExtras *x = MAKE(a, Rondo__ScheduleExtras, rondo__schedule_extras__init);
    x->max_concurrent_runs = (int32_t)k->l->max_running;
    x->only_while_active = k->l->only_while_active;
    x->keep_after_end = make_duration(a, KEEP_DAYS * 24 * 3600 * USEC_PER_SEC);
    x->holiday_calendars = arena_array(a, char *, HOLIDAY_CALENDARS);
    ensure(x->holiday_calendars);
    for (unsigned i = 0; i < HOLIDAY_CALENDARS; i++)
        if (k->spec.holidays >> i & 1)
            x->holiday_calendars[x->n_holiday_calendars++] = make_text(a, "h%u", i);
    if (k->task == KEEP_PAUSE_UNTIL)
        x->pause_until = make_time(a, k->l->pauses[k->l->pause_count - 1].to_us);
    return x;
}

static Schedule__Schedule *make_schedule(struct keeper *k, struct arena *a, struct rng *r) {
    Schedule__Schedule *s = MAKE(a, Schedule__Schedule, schedule__schedule__init);
    s->spec = make_spec(a, &k->spec, k->l->jitter_us);
    s->action = make_action(a, k->l, r);
    s->policies = MAKE(a, Schedule__SchedulePolicies, schedule__schedule_policies__init);
    s->policies->overlap_policy = draw_policy(r, k->l->max_running > 1 ? CROWD_POLICIES
                                                 : k->l->keeps_id      ? LONE_POLICIES
                                                                       : ALL_POLICIES);
    s->policies->catchup_window = make_duration(a, k->l->catchup_us);
    s->policies->pause_on_failure = !k->l->is_strict && rng_chance(r, 6);
    s->policies->keep_original_workflow_id = k->l->keeps_id;
    s->extras = make_extras(k, a);
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
        p->trigger_immediately->overlap_policy = draw_policy(r, ALL_POLICIES);
    }
    if (k->task == KEEP_BACKFILL) {
        Schedule__BackfillRequest *b = MAKE(a, Schedule__BackfillRequest, schedule__backfill_request__init);
        const struct backfill_model *asked = &k->l->backfills[k->l->backfill_count - 1];
        b->start_time = make_time(a, asked->from_s * USEC_PER_SEC);
        b->end_time = make_time(a, asked->to_s * USEC_PER_SEC);
        b->overlap_policy =
            rng_chance(r, 2) ? SCHEDULE_OVERLAP_POLICY_BUFFER_ALL : draw_policy(r, ALL_POLICIES);
        p->backfill_request = arena_array(a, Schedule__BackfillRequest *, 1);
        ensure(p->backfill_request);
        p->backfill_request[p->n_backfill_request++] = b;
    }
    return p;
}

static const void *make_create(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__CreateScheduleRequest *q = MAKE(a, Ws__CreateScheduleRequest, ws__create_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->schedule = make_schedule(k, a, r);
    q->request_id = make_text(a, "%s", k->request_id);
    return q;
}

static const void *make_update(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__UpdateScheduleRequest *q = MAKE(a, Ws__UpdateScheduleRequest, ws__update_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->schedule = make_schedule(k, a, r);
    q->request_id = make_text(a, "%s", k->request_id);
    return q;
}

static const void *make_patch_request(struct keeper *k, struct arena *a, struct rng *r) {
    Ws__PatchScheduleRequest *q = MAKE(a, Ws__PatchScheduleRequest, ws__patch_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
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
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    return q;
}

static const void *make_delete(struct keeper *k, struct arena *a) {
    Ws__DeleteScheduleRequest *q = MAKE(a, Ws__DeleteScheduleRequest, ws__delete_schedule_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    return q;
}

static const void *make_ledger(struct keeper *k, struct arena *a) {
    Rondo__ListScheduleLedgerRequest *q =
        MAKE(a, Rondo__ListScheduleLedgerRequest, rondo__list_schedule_ledger_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->maximum_page_size = LIMIT_LEDGER_ROWS;
    return q;
}

static const void *make_trigger(struct keeper *k, struct arena *a) {
    Rondo__TriggerScheduleRequest *q =
        MAKE(a, Rondo__TriggerScheduleRequest, rondo__trigger_schedule_request__init);
    struct rng r;
    bool is_again = k->task == KEEP_TRIGGER_AGAIN;
    rng_init(&r, is_again ? k->trigger_draw : k->draw);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->overlap_policy = draw_policy(&r, ALL_POLICIES);
    q->request_id = make_text(a, "%s", is_again ? k->trigger_id : k->request_id);
    return q;
}

static const void *make_list_backfills(struct keeper *k, struct arena *a) {
    Rondo__ListBackfillsRequest *q =
        MAKE(a, Rondo__ListBackfillsRequest, rondo__list_backfills_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    return q;
}

static const void *make_cancel_backfill(struct keeper *k, struct arena *a) {
    Rondo__CancelBackfillRequest *q =
        MAKE(a, Rondo__CancelBackfillRequest, rondo__cancel_backfill_request__init);
    q->namespace_ = make_namespace(a, k->l->schedule_id);
    q->schedule_id = make_text(a, "%s", ledger_bare_id(k->l));
    q->backfill_id = k->backfill_id;
    return q;
}

/* A date, from the number of its day. */
static char *make_date(struct arena *a, int64_t day) {
    static const int64_t length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t year = 1970;
    for (;; year++) {
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        if (day < 365 + is_leap)
            break;
        day -= 365 + is_leap;
    }
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    size_t month = 0;
    while (day >= length[month] + (month == 1 && is_leap)) {
        day -= length[month] + (month == 1 && is_leap);
        month++;
    }
    return make_text(a, "%04" PRId64 "-%02zu-%02" PRId64, year, month + 1, day + 1);
}

static const void *make_holidays(struct keeper *k, struct arena *a) {
    Rondo__PutHolidayCalendarRequest *q =
        MAKE(a, Rondo__PutHolidayCalendarRequest, rondo__put_holiday_calendar_request__init);
    q->namespace_ = make_text(a, "%s", k->number % 2 ? "other" : "default");
    q->calendar = MAKE(a, Rondo__HolidayCalendar, rondo__holiday_calendar__init);
    q->calendar->name = make_text(a, "h%u", k->calendar);
    q->calendar->dates = arena_array(a, char *, HOLIDAY_DAYS);
    ensure(q->calendar->dates);
    for (unsigned i = 0; i < HOLIDAY_DAYS; i++)
        if (k->holidays.days[k->calendar][i])
            q->calendar->dates[q->calendar->n_dates++] = make_date(a, k->holidays.days[k->calendar][i]);
    return q;
}

const void *keeper_request(struct keeper *k, struct arena *a, enum rpc_kind *ret_kind) {
    struct rng r;
    rng_init(&r, k->draw);
    switch (k->task) {
    case KEEP_CREATE:
        *ret_kind = RPC_create_schedule;
        return make_create(k, a, &r);
    case KEEP_UPDATE:
    case KEEP_CHANGE:
    case KEEP_PAUSE_UNTIL:
        *ret_kind = RPC_update_schedule;
        return make_update(k, a, &r);
    case KEEP_PAUSE:
    case KEEP_UNPAUSE:
    case KEEP_TRIGGER:
    case KEEP_BACKFILL:
        *ret_kind = RPC_patch_schedule;
        return make_patch_request(k, a, &r);
    case KEEP_TRIGGER_NOW:
    case KEEP_TRIGGER_AGAIN:
        *ret_kind = RPC_trigger_schedule;
        return make_trigger(k, a);
    case KEEP_LIST_BACKFILLS:
        *ret_kind = RPC_list_backfills;
        return make_list_backfills(k, a);
    case KEEP_CANCEL_BACKFILL:
        *ret_kind = RPC_cancel_backfill;
        return make_cancel_backfill(k, a);
    case KEEP_HOLIDAYS:
        *ret_kind = RPC_put_holiday_calendar;
        return make_holidays(k, a);
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
