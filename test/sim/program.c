/* Runs programs over histories.
 *
 * program_apply() takes events in order. A completed workflow task is run again
 * when its WorkflowTaskCompleted event comes by, and the commands that it gives
 * must be the next command events; the current task is run by
 * program_activate(). Tasks that failed or timed out never ran. */
#include "program.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/rng.h"
#include "history_rules.h"
#include "names.h"

uint32_t program_number(const char *id) {
    int64_t n;
    if (!id || !strchr("atx", id[0]) || str_to_i64(str_of(id + 1), &n) < 0 || n < 0 || n > INT32_MAX)
        return UINT32_MAX;
    return (uint32_t)n;
}

uint32_t program_child_number(const char *workflow_id) {
    const char *dot = strrchr(workflow_id, '.');
    int64_t n;
    if (!dot || str_to_i64(str_of(dot + 1), &n) < 0 || n < 0 || n > INT32_MAX)
        return UINT32_MAX;
    return (uint32_t)n;
}

unsigned program_depth(const char *workflow_id) {
    unsigned depth = 0;
    for (const char *c = workflow_id; *c; c++)
        depth += *c == '.';
    return depth;
}

int child_policy(uint32_t mode) {
    static const int policies[] = {PARENT_CLOSE_POLICY_UNSPECIFIED, PARENT_CLOSE_POLICY_TERMINATE,
                                   PARENT_CLOSE_POLICY_ABANDON, PARENT_CLOSE_POLICY_REQUEST_CANCEL};
    return policies[mode % ARRAY_LEN(policies)];
}

bool child_is_awaited(uint32_t mode) {
    return mode / 4 % 2 == 0;
}

bool child_is_signalled(uint32_t mode) {
    return mode / 8 % 4 == 0;
}

bool child_is_cancelled(uint32_t mode) {
    return mode / 8 % 4 == 1;
}

int program_input_parse(const char *text, struct program_input *ret) {
    *ret = (struct program_input){0};
    const char *space = strchr(text, ' ');
    if (!space || (size_t)(space - text) >= sizeof(ret->request_id))
        return ERR_INVALID;
    memcpy(ret->request_id, text, (size_t)(space - text));
    return sscanf(space, " %" SCNx64 " lap=%" SCNu32, &ret->program, &ret->lap) == 2 ? 0 : ERR_INVALID;
}

bool update_parse(const char *id, uint64_t *ret_number) {
    return sscanf(id, "update-%" SCNu64, ret_number) == 1;
}

bool update_is_rejected(uint64_t number) {
    return number % 4 == 0;
}

bool update_is_slow(uint64_t number) {
    return number % 4 == 1;
}

int activity_plan_parse(const char *text, struct activity_plan *ret) {
    int n = sscanf(text, "fails=%" SCNu32 " work=%" SCNu32 " heartbeat=%" SCNu32, &ret->fails, &ret->work_ms,
                   &ret->heartbeat_ms);
    return n == 3 ? 0 : ERR_INVALID;
}

struct activity_plan program_activity(const struct program *p, uint32_t number) {
    struct rng r;
    rng_init(&r, p->seed ^ (UINT64_C(0x9e3779b97f4a7c15) * (number + 1)));
    struct activity_plan plan = {0};
    if (rng_chance(&r, 3))
        plan.fails = 1 + (uint32_t)rng_below(&r, 3);
    plan.work_ms = (uint32_t)rng_below(&r, rng_chance(&r, 5) ? 4000 : 100);
    if (rng_chance(&r, 4))
        plan.heartbeat_ms = 500 + (uint32_t)rng_below(&r, 3000);
    return plan;
}

void program_init(struct program *p, const char *run_id) {
    *p = (struct program){0};
    ensure(strlen(run_id) < sizeof(p->run_id));
    memcpy(p->run_id, run_id, strlen(run_id));
}

static void program_make_stages(struct program *p) {
    struct rng r;
    rng_init(&r, p->seed + p->lap);
    p->stage_count = 1 + (uint32_t)rng_below(&r, PROGRAM_STAGES_MAX);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        p->stages[i].kind = (enum stage_kind)rng_below(&r, STAGE_KIND_COUNT);
        p->stages[i].count = 1 + (uint32_t)rng_below(&r, 3);
        p->stages[i].time_ms = 1 + (uint32_t)rng_below(&r, rng_chance(&r, 4) ? 60000 : 3000);
        p->stages[i].mode = (uint32_t)rng_below(&r, 64);
        if (p->stages[i].kind == STAGE_CHILD && program_depth(p->workflow_id) >= PROGRAM_DEPTH_MAX)
            p->stages[i].kind = STAGE_MARKER;
    }
    p->heeds_cancel = rng_chance(&r, 2);
    p->fails = rng_chance(&r, 5);
    rng_init(&r, p->seed);
    p->laps = rng_chance(&r, 5) ? 1 + (uint32_t)rng_below(&r, 3) : 0;
}

static int32_t event_of_command(int32_t command_type) {
    switch (command_type) {
    case COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK:
        return EVENT_TYPE_ACTIVITY_TASK_SCHEDULED;
    case COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK:
        return EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED;
    case COMMAND_TYPE_START_TIMER:
        return EVENT_TYPE_TIMER_STARTED;
    case COMMAND_TYPE_CANCEL_TIMER:
        return EVENT_TYPE_TIMER_CANCELED;
    case COMMAND_TYPE_RECORD_MARKER:
        return EVENT_TYPE_MARKER_RECORDED;
    case COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION:
        return EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED;
    case COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION:
        return EVENT_TYPE_WORKFLOW_EXECUTION_FAILED;
    case COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION:
        return EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED;
    case COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
        return EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW;
    case COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION:
        return EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED;
    case COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION:
        return EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED;
    case COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION:
        return EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED;
    default:
        return 0;
    }
}

static void program_emit(struct program *p, struct intents *out, int32_t command_type,
                         const struct pending *about, uint32_t time_ms) {
    ensure(out->count < PROGRAM_COMMANDS_MAX && p->expected_count < PROGRAM_COMMANDS_MAX);
    uint32_t number = about ? about->number : 0;
    out->items[out->count++] = (struct intent){.command_type = command_type,
                                               .number = number,
                                               .event_id = about ? about->event_id : 0,
                                               .time_ms = time_ms,
                                               .mode = about ? about->mode : 0,
                                               .about = UINT32_MAX};
    p->expected[p->expected_count++] = (struct expected){event_of_command(command_type), number};
}

static int32_t command_of_pending(enum pending_kind kind) {
    switch (kind) {
    case PENDING_ACTIVITY:
        return COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK;
    case PENDING_TIMER:
        return COMMAND_TYPE_START_TIMER;
    case PENDING_CHILD:
        return COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION;
    case PENDING_SIGNAL:
        return COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION;
    case PENDING_CANCEL:
        return COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION;
    }
    return 0;
}

/* Makes room: what is done is forgotten, the order of the rest is kept. */
static void program_tidy(struct program *p) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (!p->pending[i].is_done)
            p->pending[kept++] = p->pending[i];
    p->pending_count = kept;
}

static struct pending *program_begin(struct program *p, struct intents *out, enum pending_kind kind,
                                     const struct stage *s) {
    ensure(p->pending_count < PROGRAM_PENDING_MAX);
    struct pending *it = &p->pending[p->pending_count++];
    *it = (struct pending){.kind = kind, .number = p->next_number++, .mode = s->mode};
    program_emit(p, out, command_of_pending(kind), it, s->time_ms);
    return it;
}

static void program_enter_stage(struct program *p, const struct stage *s, struct intents *out) {
    program_tidy(p);
    p->first_pending = p->pending_count; /* those before are children that nobody waits for */
    p->is_entered = true;
    switch (s->kind) {
    case STAGE_ACTIVITIES:
        for (uint32_t i = 0; i < s->count; i++)
            program_begin(p, out, PENDING_ACTIVITY, s);
        break;
    case STAGE_TIMER:
        program_begin(p, out, PENDING_TIMER, s);
        break;
    case STAGE_RACE:
        program_begin(p, out, PENDING_ACTIVITY, s);
        program_begin(p, out, PENDING_TIMER, s);
        break;
    case STAGE_MARKER:
        program_emit(p, out, COMMAND_TYPE_RECORD_MARKER, NULL, 0);
        break;
    case STAGE_CHILD:
        if (p->pending_count + 2 <= PROGRAM_PENDING_MAX)
            program_begin(p, out, PENDING_CHILD, s);
        break;
    case STAGE_NEIGHBOUR:
        program_begin(p, out, s->mode % 4 ? PENDING_SIGNAL : PENDING_CANCEL, s);
        break;
    case STAGE_SIGNALS:
    case STAGE_KIND_COUNT:
        break;
    }
}

/* A child that has started is signalled or cancelled, once. */
static void program_reach_child(struct program *p, const struct stage *s, struct intents *out) {
    uint32_t count = p->pending_count - p->first_pending;
    struct pending *child = &p->pending[p->first_pending];
    if (count != 1 || !child->is_started || child->is_done)
        return;
    if (!child_is_signalled(s->mode) && !child_is_cancelled(s->mode))
        return;
    uint32_t about = child->number;
    program_begin(p, out, child_is_signalled(s->mode) ? PENDING_SIGNAL : PENDING_CANCEL, s);
    out->items[out->count - 1].about = about;
}

/* The loser of a race is cancelled; a cancelled timer is gone at once, an activity has to say so. */
static void program_settle_race(struct program *p, struct intents *out) {
    struct pending *activity = &p->pending[p->first_pending];
    struct pending *timer = &p->pending[p->first_pending + 1];
    if (activity->is_done && !timer->is_done) {
        program_emit(p, out, COMMAND_TYPE_CANCEL_TIMER, timer, 0);
        timer->is_done = true;
    } else if (timer->is_done && !activity->is_done && !activity->cancel_sent) {
        program_emit(p, out, COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK, activity, 0);
        activity->cancel_sent = true;
    }
}

static bool program_stage_is_over(struct program *p, const struct stage *s) {
    if (s->kind == STAGE_SIGNALS) {
        if (!p->end_signal && p->signals < p->signals_used + s->count)
            return false;
        p->signals_used = MIN(p->signals, p->signals_used + s->count);
        return true;
    }
    for (uint32_t i = p->first_pending; i < p->pending_count; i++) {
        const struct pending *it = &p->pending[i];
        bool is_enough = it->kind == PENDING_CHILD && it->is_started && !child_is_awaited(it->mode);
        if (!it->is_done && !is_enough)
            return false;
    }
    return true;
}

/* Attempts of the run beyond the second succeed. */
static int32_t program_last_command(const struct program *p) {
    if (p->fails && p->attempt <= 2)
        return COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION;
    return p->lap < p->laps && !p->end_signal ? COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION
                                              : COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
}

static void program_end(struct program *p, struct intents *out, int32_t command_type) {
    program_emit(p, out, command_type, NULL, 0);
    p->is_over = true;
}

void program_activate(struct program *p, int64_t started_event_id, struct intents *ret) {
    ret->count = 0;
    p->activated_for = started_event_id;
    if (p->is_over)
        return;
    if (p->cancel_requested && p->heeds_cancel) {
        program_end(p, ret, COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION);
        return;
    }
    while (p->at < p->stage_count) {
        const struct stage *s = &p->stages[p->at];
        if (!p->is_entered)
            program_enter_stage(p, s, ret);
        else if (s->kind == STAGE_RACE)
            program_settle_race(p, ret);
        else if (s->kind == STAGE_CHILD)
            program_reach_child(p, s, ret);
        if (!program_stage_is_over(p, s))
            return;
        p->at++;
        p->is_entered = false;
    }
    program_end(p, ret, program_last_command(p));
}

static struct pending *program_find(struct program *p, enum pending_kind kind, uint32_t number) {
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (p->pending[i].kind == kind && p->pending[i].number == number)
            return &p->pending[i];
    return NULL;
}

/* The first expected command event must be this one. */
static const char *program_match(struct program *p, int32_t event_type, uint32_t number) {
    if (p->expected_count == 0)
        return "a command event that the program did not ask for";
    if (p->expected[0].event_type != event_type || p->expected[0].number != number)
        return "a command event other than the next one that the program asked for";
    p->expected_count--;
    memmove(p->expected, p->expected + 1, p->expected_count * sizeof(p->expected[0]));
    return NULL;
}

static const char *program_match_number(struct program *p, enum pending_kind kind, uint32_t number,
                                        const History__HistoryEvent *e) {
    struct pending *it = program_find(p, kind, number);
    if (it && !it->event_id)
        it->event_id = e->event_id;
    return program_match(p, (int32_t)e->event_type, number);
}

static const char *program_match_pending(struct program *p, enum pending_kind kind, const char *id,
                                         const History__HistoryEvent *e) {
    return program_match_number(p, kind, program_number(id), e);
}

static const char *program_match_cancel(struct program *p, const History__HistoryEvent *e) {
    int64_t id = e->activity_task_cancel_requested_event_attributes->scheduled_event_id;
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (p->pending[i].kind == PENDING_ACTIVITY && p->pending[i].event_id == id)
            return program_match(p, (int32_t)e->event_type, p->pending[i].number);
    return "a cancel request for an activity that is not pending";
}

static struct pending *program_find_event(struct program *p, int64_t event_id) {
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (p->pending[i].event_id == event_id && !p->pending[i].is_done)
            return &p->pending[i];
    return NULL;
}

static const char *program_child_started(struct program *p, int64_t initiated_event_id) {
    struct pending *it = program_find_event(p, initiated_event_id);
    if (!it || it->kind != PENDING_CHILD || it->is_started)
        return "the start of a child that is not being started";
    it->is_started = true;
    return NULL;
}

static const char *program_finish_child(struct program *p, int64_t initiated_event_id, bool was_started) {
    struct pending *it = program_find_event(p, initiated_event_id);
    if (!it || it->kind != PENDING_CHILD || it->is_started != was_started)
        return "the end of a child that is not pending";
    it->is_done = true;
    return NULL;
}

static const char *program_finish_external(struct program *p, int64_t initiated_event_id,
                                           enum pending_kind kind) {
    struct pending *it = program_find_event(p, initiated_event_id);
    if (!it || it->kind != kind)
        return "the end of a letter that is not under way";
    it->is_done = true;
    return NULL;
}

static const char *program_finish_activity(struct program *p, int64_t scheduled_event_id) {
    for (uint32_t i = 0; i < p->pending_count; i++) {
        struct pending *it = &p->pending[i];
        if (it->kind == PENDING_ACTIVITY && it->event_id == scheduled_event_id && !it->is_done) {
            it->is_done = true;
            return NULL;
        }
    }
    return "the end of an activity that is not pending";
}

static const char *program_finish_timer(struct program *p, const char *id) {
    struct pending *it = program_find(p, PENDING_TIMER, program_number(id));
    if (!it || it->is_done)
        return "the end of a timer that is not pending";
    it->is_done = true;
    return NULL;
}

static const char *program_begin_run(struct program *p, const History__HistoryEvent *e) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        e->workflow_execution_started_event_attributes;
    struct program_input input;
    char text[64];
    payload_text(a->input, text, sizeof(text));
    if (program_input_parse(text, &input) < 0)
        return "an input that no client sent";
    p->seed = input.program;
    p->lap = input.lap;
    p->attempt = a->attempt;
    snprintf(p->request_id, sizeof(p->request_id), "%s", input.request_id);
    snprintf(p->workflow_id, sizeof(p->workflow_id), "%s", a->workflow_id);
    program_make_stages(p);
    return NULL;
}

static const char *program_replay_task(struct program *p, const History__HistoryEvent *e) {
    int64_t started = e->workflow_task_completed_event_attributes->started_event_id;
    if (p->activated_for == started)
        return NULL;
    struct intents intents;
    program_activate(p, started, &intents);
    return NULL;
}

static const char *program_signalled(struct program *p, const History__HistoryEvent *e) {
    if (cstr_eq(e->workflow_execution_signaled_event_attributes->signal_name, PROGRAM_END_SIGNAL))
        p->end_signal = true;
    p->signals++;
    return NULL;
}

static const char *program_accept(struct program *p, const char *id) {
    uint64_t number;
    if (!update_parse(id, &number) || p->update_count == PROGRAM_UPDATES_MAX)
        return "an update that nobody sent";
    for (uint32_t i = 0; i < p->update_count; i++)
        if (p->updates[i] == number)
            return "an update that is accepted twice";
    p->updates[p->update_count++] = number;
    return NULL;
}

static const char *program_complete(struct program *p, const Update__Meta *meta) {
    uint64_t number;
    for (uint32_t i = 0; i < p->update_count; i++) {
        if (!meta || !update_parse(meta->update_id, &number) || p->updates[i] != number)
            continue;
        p->updates[i] = p->updates[--p->update_count];
        return NULL;
    }
    return "the end of an update that is not open";
}

/* What other runs did: children, and neighbours that were signalled or cancelled. */
static const char *program_apply_kin(struct program *p, const History__HistoryEvent *e) {
    switch ((int)e->event_type) {
    case EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
        return program_match_number(
            p, PENDING_CHILD,
            program_child_number(e->start_child_workflow_execution_initiated_event_attributes->workflow_id),
            e);
    case EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        return program_match_number(
            p, PENDING_SIGNAL,
            program_number(e->signal_external_workflow_execution_initiated_event_attributes->control), e);
    case EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
        return program_match_number(
            p, PENDING_CANCEL,
            program_number(e->request_cancel_external_workflow_execution_initiated_event_attributes->control),
            e);
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
        return program_child_started(
            p, e->child_workflow_execution_started_event_attributes->initiated_event_id);
    case EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED:
        return program_finish_external(
            p, e->external_workflow_execution_signaled_event_attributes->initiated_event_id, PENDING_SIGNAL);
    case EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        return program_finish_external(
            p, e->signal_external_workflow_execution_failed_event_attributes->initiated_event_id,
            PENDING_SIGNAL);
    case EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        return program_finish_external(
            p, e->external_workflow_execution_cancel_requested_event_attributes->initiated_event_id,
            PENDING_CANCEL);
    case EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED:
        return program_finish_external(
            p, e->request_cancel_external_workflow_execution_failed_event_attributes->initiated_event_id,
            PENDING_CANCEL);
    default: {
        struct child_end end;
        return child_end_of(e, &end) ? program_finish_child(p, end.initiated_event_id, end.was_started)
                                     : NULL;
    }
    }
}

const char *program_apply(struct program *p, const History__HistoryEvent *e) {
    if (e->event_id != p->last_event_id + 1)
        return "an event out of order";
    p->last_event_id = e->event_id;
    switch ((int)e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        return program_begin_run(p, e);
    case EVENT_TYPE_WORKFLOW_TASK_SCHEDULED:
        return p->expected_count ? "a new workflow task before all commands of the last one" : NULL;
    case EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
        return program_replay_task(p, e);
    case EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        return program_match_pending(p, PENDING_ACTIVITY,
                                     e->activity_task_scheduled_event_attributes->activity_id, e);
    case EVENT_TYPE_TIMER_STARTED:
        return program_match_pending(p, PENDING_TIMER, e->timer_started_event_attributes->timer_id, e);
    case EVENT_TYPE_TIMER_CANCELED:
        return program_match(p, (int32_t)e->event_type,
                             program_number(e->timer_canceled_event_attributes->timer_id));
    case EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
        return program_match_cancel(p, e);
    case EVENT_TYPE_MARKER_RECORDED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return program_match(p, (int32_t)e->event_type, 0);
    case EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
        return program_finish_activity(p, e->activity_task_completed_event_attributes->scheduled_event_id);
    case EVENT_TYPE_ACTIVITY_TASK_FAILED:
        return program_finish_activity(p, e->activity_task_failed_event_attributes->scheduled_event_id);
    case EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
        return program_finish_activity(p, e->activity_task_timed_out_event_attributes->scheduled_event_id);
    case EVENT_TYPE_ACTIVITY_TASK_CANCELED:
        return program_finish_activity(p, e->activity_task_canceled_event_attributes->scheduled_event_id);
    case EVENT_TYPE_TIMER_FIRED:
        return program_finish_timer(p, e->timer_fired_event_attributes->timer_id);
    case EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        return program_signalled(p, e);
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        p->cancel_requested = true;
        return NULL;
    case EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED:
        return program_accept(p,
                              e->workflow_execution_update_accepted_event_attributes->protocol_instance_id);
    case EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
        return program_complete(p, e->workflow_execution_update_completed_event_attributes->meta);
    default:
        return program_apply_kin(p, e);
    }
}
