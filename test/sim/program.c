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
    if (!id || (id[0] != 'a' && id[0] != 't') || str_to_i64(str_of(id + 1), &n) < 0 || n < 0 || n > INT32_MAX)
        return UINT32_MAX;
    return (uint32_t)n;
}

int program_input_parse(const char *text, struct program_input *ret) {
    *ret = (struct program_input){0};
    const char *space = strchr(text, ' ');
    if (!space || (size_t)(space - text) >= sizeof(ret->request_id))
        return ERR_INVALID;
    memcpy(ret->request_id, text, (size_t)(space - text));
    return sscanf(space, " %" SCNx64, &ret->program) == 1 ? 0 : ERR_INVALID;
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
    rng_init(&r, p->seed);
    p->stage_count = 1 + (uint32_t)rng_below(&r, PROGRAM_STAGES_MAX);
    for (uint32_t i = 0; i < p->stage_count; i++) {
        p->stages[i].kind = (enum stage_kind)rng_below(&r, STAGE_KIND_COUNT);
        p->stages[i].count = 1 + (uint32_t)rng_below(&r, 3);
        p->stages[i].time_ms = 1 + (uint32_t)rng_below(&r, rng_chance(&r, 4) ? 60000 : 3000);
    }
    p->heeds_cancel = rng_chance(&r, 2);
    p->fails = rng_chance(&r, 5);
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
    default:
        return 0;
    }
}

static void program_emit(struct program *p, struct intents *out, int32_t command_type,
                         const struct pending *about, uint32_t time_ms) {
    ensure(out->count < PROGRAM_COMMANDS_MAX && p->expected_count < PROGRAM_COMMANDS_MAX);
    uint32_t number = about ? about->number : 0;
    out->items[out->count++] = (struct intent){command_type, number, about ? about->event_id : 0, time_ms};
    p->expected[p->expected_count++] = (struct expected){event_of_command(command_type), number};
}

static struct pending *program_begin(struct program *p, struct intents *out, enum pending_kind kind,
                                     uint32_t time_ms) {
    ensure(p->pending_count < PROGRAM_PENDING_MAX);
    struct pending *it = &p->pending[p->pending_count++];
    *it = (struct pending){.kind = kind, .number = p->next_number++};
    program_emit(p, out,
                 kind == PENDING_TIMER ? COMMAND_TYPE_START_TIMER : COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK, it,
                 time_ms);
    return it;
}

static void program_enter_stage(struct program *p, const struct stage *s, struct intents *out) {
    p->pending_count = 0;
    p->is_entered = true;
    switch (s->kind) {
    case STAGE_ACTIVITIES:
        for (uint32_t i = 0; i < s->count; i++)
            program_begin(p, out, PENDING_ACTIVITY, 0);
        break;
    case STAGE_TIMER:
        program_begin(p, out, PENDING_TIMER, s->time_ms);
        break;
    case STAGE_RACE:
        program_begin(p, out, PENDING_ACTIVITY, 0);
        program_begin(p, out, PENDING_TIMER, s->time_ms);
        break;
    case STAGE_MARKER:
        program_emit(p, out, COMMAND_TYPE_RECORD_MARKER, NULL, 0);
        break;
    case STAGE_SIGNALS:
    case STAGE_KIND_COUNT:
        break;
    }
}

/* The loser of a race is cancelled; a cancelled timer is gone at once, an activity has to say so. */
static void program_settle_race(struct program *p, struct intents *out) {
    struct pending *activity = &p->pending[0];
    struct pending *timer = &p->pending[1];
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
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (!p->pending[i].is_done)
            return false;
    return true;
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
        if (!program_stage_is_over(p, s))
            return;
        p->at++;
        p->is_entered = false;
    }
    program_end(p, ret,
                p->fails ? COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION : COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION);
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

static const char *program_match_pending(struct program *p, enum pending_kind kind, const char *id,
                                         const History__HistoryEvent *e) {
    struct pending *it = program_find(p, kind, program_number(id));
    if (it && !it->event_id)
        it->event_id = e->event_id;
    return program_match(p, (int32_t)e->event_type, program_number(id));
}

static const char *program_match_cancel(struct program *p, const History__HistoryEvent *e) {
    int64_t id = e->activity_task_cancel_requested_event_attributes->scheduled_event_id;
    for (uint32_t i = 0; i < p->pending_count; i++)
        if (p->pending[i].kind == PENDING_ACTIVITY && p->pending[i].event_id == id)
            return program_match(p, (int32_t)e->event_type, p->pending[i].number);
    return "a cancel request for an activity that is not pending";
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
    struct program_input input;
    char text[64];
    payload_text(e->workflow_execution_started_event_attributes->input, text, sizeof(text));
    if (program_input_parse(text, &input) < 0)
        return "an input that no client sent";
    p->seed = input.program;
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
    if (streq(e->workflow_execution_signaled_event_attributes->signal_name, PROGRAM_END_SIGNAL))
        p->end_signal = true;
    p->signals++;
    return NULL;
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
    default:
        return NULL;
    }
}
