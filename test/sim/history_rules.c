/* One function for each rule. Events arrive in order, once; the run keeps what later rules need. */
#include "history_rules.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "batcher.h"
#include "chain.h"
#include "family.h"
#include "names.h"
#include "override.h"
#include "program.h"
#include "reset.h"
#include "rollout.h"
#include "update.h"
#include "world.h"

#define TIMER_LATE_US (5 * USEC_PER_SEC)
#define TROUBLE_US (70 * USEC_PER_SEC) /* how long a disk that stands still is felt */

void payload_text(const Common__Payloads *p, char *ret, size_t size) {
    size_t n = 0;
    if (p && p->n_payloads > 0) {
        n = MIN(p->payloads[0]->data.len, size - 1);
        memcpy(ret, p->payloads[0]->data.data, n);
    }
    ret[n] = '\0';
}

int64_t event_time_us(const Google__Protobuf__Timestamp *t) {
    return t ? t->seconds * USEC_PER_SEC + t->nanos / NSEC_PER_USEC : 0;
}

int64_t duration_us(const Google__Protobuf__Duration *d) {
    return d ? d->seconds * USEC_PER_SEC + d->nanos / NSEC_PER_USEC : 0;
}

bool event_closes_run(int32_t type) {
    return type == EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED || type == EVENT_TYPE_WORKFLOW_EXECUTION_FAILED ||
           type == EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT ||
           type == EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED ||
           type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED ||
           type == EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW;
}

int64_t event_wall_us(const History__HistoryEvent *e) {
    return event_time_us(e->event_time);
}

const char *event_next_run(const History__HistoryEvent *e) {
    switch ((int)e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        return e->workflow_execution_completed_event_attributes->new_execution_run_id;
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        return e->workflow_execution_failed_event_attributes->new_execution_run_id;
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
        return e->workflow_execution_timed_out_event_attributes->new_execution_run_id;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return e->workflow_execution_continued_as_new_event_attributes->new_execution_run_id;
    default:
        return "";
    }
}

#define CHILD_END(a)                                                                                         \
    *ret = (struct child_end){(a)->initiated_event_id, (a)->workflow_execution, true};                       \
    return true

bool child_end_of(const History__HistoryEvent *e, struct child_end *ret) {
    switch ((int)e->event_type) {
    case EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
        *ret = (struct child_end){
            e->start_child_workflow_execution_failed_event_attributes->initiated_event_id, NULL, false};
        return true;
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
        CHILD_END(e->child_workflow_execution_completed_event_attributes);
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
        CHILD_END(e->child_workflow_execution_failed_event_attributes);
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
        CHILD_END(e->child_workflow_execution_canceled_event_attributes);
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT:
        CHILD_END(e->child_workflow_execution_timed_out_event_attributes);
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED:
        CHILD_END(e->child_workflow_execution_terminated_event_attributes);
    default:
        return false;
    }
}

/* G1: a run begins with its start, and with the input that was sent. G2: one run for each request id. */
static void check_one_run_per_request(struct world *w, struct run_model *run,
                                      const History__HistoryEvent *e) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        e->workflow_execution_started_event_attributes;
    struct program_input input;
    char text[64];
    payload_text(a->input, text, sizeof(text));
    if (program_input_parse(text, &input) < 0) {
        world_fail(w, "started_event_kept", "run=%s input='%s' is not what was sent", run->run_id, text);
        return;
    }
    if (cstr_eq(input.request_id, PROGRAM_CHILD) || cstr_eq(input.request_id, PROGRAM_SCHEDULED))
        return; /* family.c, or the ledger, knows where it comes from */
    struct request_model *request = model_find_request(&w->model, str_of(input.request_id));
    if (!request || !cstr_eq(request->workflow_id, run->workflow_id))
        world_fail(w, "started_event_kept", "run=%s has the input of %s", run->run_id, input.request_id);
    else if (run->before || run->is_copy)
        run->request = request;
    else if (request->run && request->run != run && !model_may_be_forgotten(&w->model, request->run) &&
             !model_may_be_displaced(&w->model, request->run))
        world_fail(w, "one_run_per_request", "request=%s made run=%s and run=%s", request->id,
                   request->run->run_id, run->run_id);
    else {
        request->is_repeated |= request->run && request->run != run;
        request->run = run;
        run->request = request;
    }
}

/* Between a workflow task's start and its end nothing else may be written: events wait in the buffer. */
static void check_task_order(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    bool ends_task = e->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED ||
                     e->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED ||
                     e->event_type == EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT;
    if (run->started_task && !ends_task)
        world_fail(w, "task_order", "run=%s event=%" PRId64 " type=%d while task %" PRId64 " is started",
                   run->run_id, e->event_id, (int)e->event_type, run->started_task);
    if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_SCHEDULED && run->scheduled_task)
        world_fail(w, "task_order", "run=%s event=%" PRId64 " schedules a second task", run->run_id,
                   e->event_id);
    if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED && !run->started_task)
        world_fail(w, "task_order", "run=%s event=%" PRId64 " completes no task", run->run_id, e->event_id);
    if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_STARTED &&
        e->workflow_task_started_event_attributes->scheduled_event_id != run->scheduled_task)
        world_fail(w, "task_order", "run=%s event=%" PRId64 " starts task %" PRId64 ", scheduled is %" PRId64,
                   run->run_id, e->event_id, e->workflow_task_started_event_attributes->scheduled_event_id,
                   run->scheduled_task);
}

static void note_task(struct run_model *run, const History__HistoryEvent *e) {
    if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_SCHEDULED) {
        run->scheduled_task = e->event_id;
        if (!run->first_task_wall_us)
            run->first_task_wall_us = event_time_us(e->event_time);
    } else if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_STARTED) {
        run->started_task = e->event_id;
    } else if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED ||
               e->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED ||
               e->event_type == EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) {
        if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
            run->completed_task = run->started_task;
        if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED && !run->completed_wall_us)
            run->completed_wall_us = event_time_us(e->event_time);
        if (e->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED)
            run->failed_task = run->started_task;
        if (run->started_task == e->event_id - 1)
            run->reset_points[run->reset_point_count++ % MODEL_RESET_POINTS] = e->event_id;
        run->started_task = run->scheduled_task = 0;
    }
}

static void note_activity(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    uint32_t n = program_number(e->activity_task_scheduled_event_attributes->activity_id);
    if (n >= MODEL_ACTIVITIES_MAX || run->activities[n].scheduled_event_id)
        world_fail(w, "activity_scheduled_once", "run=%s event=%" PRId64 " activity=%s", run->run_id,
                   e->event_id, e->activity_task_scheduled_event_attributes->activity_id);
    else
        run->activities[n].scheduled_event_id = e->event_id;
}

/* Which activity a closing event is about; NULL for other events. */
static struct activity_model *closed_activity(struct run_model *run, const History__HistoryEvent *e) {
    int64_t id;
    switch ((int)e->event_type) {
    case EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
        id = e->activity_task_completed_event_attributes->scheduled_event_id;
        break;
    case EVENT_TYPE_ACTIVITY_TASK_FAILED:
        id = e->activity_task_failed_event_attributes->scheduled_event_id;
        break;
    case EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
        id = e->activity_task_timed_out_event_attributes->scheduled_event_id;
        break;
    case EVENT_TYPE_ACTIVITY_TASK_CANCELED:
        id = e->activity_task_canceled_event_attributes->scheduled_event_id;
        break;
    default:
        return NULL;
    }
    for (size_t i = 0; i < MODEL_ACTIVITIES_MAX; i++)
        if (run->activities[i].scheduled_event_id == id)
            return &run->activities[i];
    return NULL;
}

/* G4: the end of an activity is recorded once. */
static void check_activity_closes_once(struct world *w, struct run_model *run,
                                       const History__HistoryEvent *e) {
    struct activity_model *a = closed_activity(run, e);
    if (!a) {
        world_fail(w, "activity_closes_once", "run=%s event=%" PRId64 " closes an unknown activity",
                   run->run_id, e->event_id);
        return;
    }
    if (a->close_type)
        world_fail(w, "activity_closes_once", "run=%s event=%" PRId64 " closes activity %" PRId64 " again",
                   run->run_id, e->event_id, a->scheduled_event_id);
    a->close_type = (int32_t)e->event_type;
    if (e->event_type == EVENT_TYPE_ACTIVITY_TASK_COMPLETED)
        payload_text(e->activity_task_completed_event_attributes->result, a->recorded_result,
                     sizeof(a->recorded_result));
}

static void note_timer(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    const History__TimerStartedEventAttributes *a = e->timer_started_event_attributes;
    uint32_t n = program_number(a->timer_id);
    if (n >= MODEL_TIMERS_MAX || run->timers[n].started_event_id) {
        world_fail(w, "timer_started_once", "run=%s event=%" PRId64 " timer=%s", run->run_id, e->event_id,
                   a->timer_id);
        return;
    }
    run->timers[n].started_event_id = e->event_id;
    run->timers[n].due_us = event_time_us(e->event_time) + duration_us(a->start_to_fire_timeout);
}

static void note_timer_cancelled(struct run_model *run, const History__HistoryEvent *e) {
    uint32_t n = program_number(e->timer_canceled_event_attributes->timer_id);
    if (n < MODEL_TIMERS_MAX)
        run->timers[n].is_done = true;
}

/* G7: nor later than a slow disk and a late loop explain, while the server is up. */
static void check_timer_not_late(struct world *w, const struct run_model *run, const History__HistoryEvent *e,
                                 int64_t due_us) {
    int64_t fired_us = event_time_us(e->event_time);
    if (world_clock_jumped(w) || run->is_copy || world_was_troubled(w, due_us - TROUBLE_US, fired_us))
        return;
    w->tally.timers++;
    if (fired_us > due_us + TIMER_LATE_US)
        world_fail(w, "timer_not_late", "run=%s event=%" PRId64 " fires %" PRId64 " us late", run->run_id,
                   e->event_id, fired_us - due_us);
}

/* G7: a timer does not fire early by the wall clock that history records, and fires once. */
static void check_timer_not_early(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    uint32_t n = program_number(e->timer_fired_event_attributes->timer_id);
    if (n >= MODEL_TIMERS_MAX || !run->timers[n].started_event_id || run->timers[n].is_done) {
        world_fail(w, "timer_fires_once", "run=%s event=%" PRId64 " timer=%s", run->run_id, e->event_id,
                   e->timer_fired_event_attributes->timer_id);
        return;
    }
    run->timers[n].is_done = true;
    int64_t early_us = run->timers[n].due_us - event_time_us(e->event_time);
    if (early_us > 0)
        world_fail(w, "timer_not_early", "run=%s event=%" PRId64 " fires %" PRId64 " us early", run->run_id,
                   e->event_id, early_us);
    check_timer_not_late(w, run, e, run->timers[n].due_us);
}

/* G9: a signal that is sent again with its request id is recorded once. */
static void check_signal_once(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    char id[UUID_TEXT_LEN + 16];
    payload_text(e->workflow_execution_signaled_event_attributes->input, id, sizeof(id));
    if (strchr(id, '/')) {
        family_note_letter(w, run, id, e->event_id);
        return;
    }
    if (batchers_note_signal(w, run, id, e))
        return;
    struct request_model *signal = model_find_request(&w->model, str_of(id));
    if (!signal || !cstr_eq(signal->workflow_id, run->workflow_id)) {
        world_fail(w, "signal_kept", "run=%s event=%" PRId64 " holds signal '%s'", run->run_id, e->event_id,
                   id);
        return;
    }
    /* A reset takes signals along; any other run got it because it was sent there. */
    bool is_elsewhere = signal->run && signal->run != run && !run->is_copy;
    if (model_is_holder(signal, run) || is_elsewhere)
        world_fail(w, "signal_once", "run=%s event=%" PRId64 " repeats %s", run->run_id, e->event_id, id);
    run->was_woken |= signal->is_rider;
    model_add_holder(signal, run);
}

static void note_close(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    int32_t type = (int32_t)e->event_type;
    run->close_type = type;
    run->close_wall_us = event_time_us(e->event_time);
    chain_note_close(w, run, e);
    w->tally.completed++;
}

/* G5: a closed history stays as it is. */
static void check_closed_stays_closed(struct world *w, const struct run_model *run,
                                      const History__HistoryEvent *e) {
    if (run->close_type)
        world_fail(w, "closed_stays_closed", "run=%s event=%" PRId64 " type=%d follows the close",
                   run->run_id, e->event_id, (int)e->event_type);
}

static void check_begins_with_start(struct world *w, const struct run_model *run,
                                    const History__HistoryEvent *e) {
    if ((e->event_id == 1) != (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_STARTED))
        world_fail(w, "begins_with_start", "run=%s event=%" PRId64 " type=%d", run->run_id, e->event_id,
                   (int)e->event_type);
}

void history_apply(struct world *w, struct run_model *run, const History__HistoryEvent *e) {
    run->last_type = (int32_t)e->event_type;
    check_begins_with_start(w, run, e);
    check_closed_stays_closed(w, run, e);
    check_task_order(w, run, e);
    if (w->failure.is_set)
        return;
    note_task(run, e);
    switch ((int)e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_STARTED:
        chain_note_start(w, run, e);
        rollout_note_start(run, e);
        check_one_run_per_request(w, run, e);
        break;
    case EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
        rollout_note_completion(w, run, e);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED:
        override_apply(w, run, e);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
        check_signal_once(w, run, e);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
        run->cancel_recorded = true;
        break;
    case EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
        note_activity(w, run, e);
        break;
    case EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
    case EVENT_TYPE_ACTIVITY_TASK_FAILED:
    case EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
    case EVENT_TYPE_ACTIVITY_TASK_CANCELED:
        check_activity_closes_once(w, run, e);
        break;
    case EVENT_TYPE_TIMER_STARTED:
        note_timer(w, run, e);
        break;
    case EVENT_TYPE_TIMER_FIRED:
        check_timer_not_early(w, run, e);
        break;
    case EVENT_TYPE_TIMER_CANCELED:
        note_timer_cancelled(run, e);
        break;
    default:
        break;
    }
    family_apply(w, run, e);
    reset_apply(w, run, e);
    update_apply(w, run, e);
    if (event_closes_run((int32_t)e->event_type))
        note_close(w, run, e);
}
