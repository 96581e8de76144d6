/* One small function for each event that leaves something behind in the state.
 * Events that only tell what happened (markers, failed tasks) leave nothing. */
#include "core/reset/rebuild.h"

#include "core/activity/activity.h"
#include "core/run/attach.h"
#include "core/message/callback.h"
#include "core/run/child.h"
#include "core/step/merge.h"
#include "core/run/options.h"
#include "core/run/pause.h"
#include "core/reset/reset_points.h"
#include "core/run/run.h"
#include "core/run/signal_ids.h"
#include "core/run/timer.h"
#include "core/run/update.h"
#include "core/version/versioning.h"

static int64_t event_us(const History__HistoryEvent *ev) {
    const Google__Protobuf__Timestamp *t = ev->event_time;
    return t ? t->seconds * USEC_PER_SEC + t->nanos / NSEC_PER_USEC : 0;
}

/* The run */

static int apply_started(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowExecutionStartedEventAttributes *a =
        ev->workflow_execution_started_event_attributes;
    State__Parent parent = STATE__PARENT__INIT;
    Ws__StartWorkflowExecutionRequest req = WS__START_WORKFLOW_EXECUTION_REQUEST__INIT;
    req.workflow_id = a->workflow_id;
    req.workflow_type = a->workflow_type;
    req.task_queue = a->task_queue;
    req.workflow_execution_timeout = a->workflow_execution_timeout;
    req.workflow_run_timeout = a->workflow_run_timeout;
    req.workflow_task_timeout = a->workflow_task_timeout;
    req.retry_policy = a->retry_policy;
    req.cron_schedule = a->cron_schedule;
    req.memo = a->memo;
    req.search_attributes = a->search_attributes;
    req.priority = a->priority;
    req.versioning_override = a->versioning_override;
    req.user_metadata = ev->user_metadata;
    struct run_birth birth = {
        .namespace_id = s->ctx.space ? s->ctx.space->id : "",
        .run_id = a->original_execution_run_id,
        .first_run_id = a->first_execution_run_id,
        .attempt = a->attempt,
        .inherited_pin = a->inherited_pinned_version,
        .inherited_upgrade = a->inherited_auto_upgrade_info,
        .declined = a->declined_target_version_upgrade,
    };
    if (a->root_workflow_execution) { /* absent for a run that is its own root */
        birth.root_workflow_id = a->root_workflow_execution->workflow_id;
        birth.root_run_id = a->root_workflow_execution->run_id;
    }
    if (a->parent_workflow_execution) {
        parent.namespace_ = a->parent_workflow_namespace;
        parent.namespace_id = a->parent_workflow_namespace_id;
        parent.workflow_id = a->parent_workflow_execution->workflow_id;
        parent.run_id = a->parent_workflow_execution->run_id;
        parent.initiated_event_id = a->parent_initiated_event_id;
        birth.parent = &parent;
    }
    /* It starts now: its timeouts count from here, and what its first task waited for is over. */
    run_set_origin(s, &birth, &req, 0);
    s->st->original_start_us = event_us(ev);
    s->st->cron_us = usec_add(event_us(ev), pb_duration_us(a->first_workflow_task_backoff));
    reset_points_inherit(s, a->prev_auto_reset_points, a->continued_execution_run_id, event_us(ev));
    if (s->st->versioning)
        versioning_show(s, NULL, (struct version){0});
    return callback_attach(s, a->completion_callbacks, a->n_completion_callbacks, "");
}

/* Either part of it may be there: what was changed, and what a start attached. */
static int apply_options(struct step *s, const History__HistoryEvent *ev) {
    options_apply(s, ev->workflow_execution_options_updated_event_attributes);
    return attach_apply(s, ev->workflow_execution_options_updated_event_attributes, ev->event_id);
}

static int apply_signaled(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowExecutionSignaledEventAttributes *a =
        ev->workflow_execution_signaled_event_attributes;
    s->st->signal_count++;
    signal_id_add(s, a->request_id, ev->event_id);
    return 0;
}

static int apply_cancel_requested(struct step *s, const History__HistoryEvent *ev unused_arg) {
    s->st->cancel_requested = true;
    return 0;
}

static int apply_upsert(struct step *s, const History__HistoryEvent *ev) {
    merge_search_attributes(s, ev->upsert_workflow_search_attributes_event_attributes->search_attributes);
    return 0;
}

static int rebuild_properties(struct step *s, const History__HistoryEvent *ev) {
    merge_memo(s, ev->workflow_properties_modified_event_attributes->upserted_memo);
    return 0;
}

/* The workflow task */

static int apply_task_scheduled(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowTaskScheduledEventAttributes *a = ev->workflow_task_scheduled_event_attributes;
    State__WorkflowTask *t = pb_new(&state__workflow_task__descriptor, &s->failed);
    if (!t)
        return 0;
    pb_free(s->st->task);
    s->st->task = t;
    t->scheduled_event_id = ev->event_id;
    t->scheduled_us = t->original_scheduled_us = event_us(ev);
    t->attempt = 1;
    t->timeout_us = pb_duration_us(a->start_to_close_timeout);
    t->is_scheduled_written = true;
    return 0;
}

static int apply_task_started(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowTaskStartedEventAttributes *a = ev->workflow_task_started_event_attributes;
    State__WorkflowTask *t = s->st->task;
    if (!t)
        return 0;
    t->started_event_id = ev->event_id;
    t->started_us = event_us(ev);
    t->is_started_written = true;
    pb_set_string(&t->identity, a->identity, &s->failed);
    return 0;
}

static int rebuild_end_task(struct step *s) {
    pb_free(s->st->task);
    s->st->task = NULL;
    return 0;
}

static int apply_task_completed(struct step *s, const History__HistoryEvent *ev) {
    s->st->last_started_event_id = ev->workflow_task_completed_event_attributes->started_event_id;
    versioning_complete(s, ev->workflow_task_completed_event_attributes);
    reset_points_add(s, ev->workflow_task_completed_event_attributes, ev->event_id);
    return rebuild_end_task(s);
}

static int apply_task_ended(struct step *s, const History__HistoryEvent *ev unused_arg) {
    return rebuild_end_task(s);
}

/* Activities, timers */

static int apply_activity_scheduled(struct step *s, const History__HistoryEvent *ev) {
    activity_restore(s, ev->event_id, ev->activity_task_scheduled_event_attributes);
    return 0;
}

static int apply_activity_cancel_requested(struct step *s, const History__HistoryEvent *ev) {
    State__Activity *a =
        activity_find(s->st, ev->activity_task_cancel_requested_event_attributes->scheduled_event_id);
    if (a)
        a->cancel_requested_event_id = ev->event_id;
    return 0;
}

static int forget_activity(struct step *s, int64_t scheduled_event_id) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_activities; i++) {
        if (st->activities[i]->scheduled_event_id == scheduled_event_id) {
            pb_remove_message(&st->n_activities, st->activities, i);
            break;
        }
    }
    return 0;
}

static int apply_activity_completed(struct step *s, const History__HistoryEvent *ev) {
    return forget_activity(s, ev->activity_task_completed_event_attributes->scheduled_event_id);
}

static int apply_activity_failed(struct step *s, const History__HistoryEvent *ev) {
    return forget_activity(s, ev->activity_task_failed_event_attributes->scheduled_event_id);
}

static int apply_activity_timed_out(struct step *s, const History__HistoryEvent *ev) {
    return forget_activity(s, ev->activity_task_timed_out_event_attributes->scheduled_event_id);
}

static int apply_activity_canceled(struct step *s, const History__HistoryEvent *ev) {
    return forget_activity(s, ev->activity_task_canceled_event_attributes->scheduled_event_id);
}

static int apply_timer_started(struct step *s, const History__HistoryEvent *ev) {
    const History__TimerStartedEventAttributes *a = ev->timer_started_event_attributes;
    State__Timer *t = pb_new(&state__timer__descriptor, &s->failed);
    if (!t)
        return 0;
    pb_set_string(&t->timer_id, a->timer_id, &s->failed);
    t->started_event_id = ev->event_id;
    t->fire_us = usec_add(event_us(ev), pb_duration_us(a->start_to_fire_timeout));
    pb_append_message(&s->st->n_timers, &s->st->timers, t, &s->failed);
    return 0;
}

static int forget_timer(struct step *s, int64_t started_event_id) {
    (void)timer_forget(s->st, started_event_id); /* a history may tell of one that is gone */
    return 0;
}

static int apply_timer_fired(struct step *s, const History__HistoryEvent *ev) {
    return forget_timer(s, ev->timer_fired_event_attributes->started_event_id);
}

static int apply_timer_canceled(struct step *s, const History__HistoryEvent *ev) {
    return forget_timer(s, ev->timer_canceled_event_attributes->started_event_id);
}

/* Children and neighbours */

static int apply_child_initiated(struct step *s, const History__HistoryEvent *ev) {
    const History__StartChildWorkflowExecutionInitiatedEventAttributes *a =
        ev->start_child_workflow_execution_initiated_event_attributes;
    State__Child *c = pb_new(&state__child__descriptor, &s->failed);
    if (!c)
        return 0;
    c->initiated_event_id = ev->event_id;
    c->parent_close_policy = (int32_t)a->parent_close_policy;
    pb_set_string(&c->workflow_id, a->workflow_id, &s->failed);
    pb_set_string(&c->workflow_type, a->workflow_type ? a->workflow_type->name : "", &s->failed);
    pb_append_message(&s->st->n_children, &s->st->children, c, &s->failed);
    return 0;
}

static int apply_child_started(struct step *s, const History__HistoryEvent *ev) {
    const History__ChildWorkflowExecutionStartedEventAttributes *a =
        ev->child_workflow_execution_started_event_attributes;
    State__Child *c = child_find(s->st, a->initiated_event_id);
    if (!c)
        return 0;
    c->is_started = true;
    c->started_event_id = ev->event_id;
    pb_set_string(&c->run_id, a->workflow_execution ? a->workflow_execution->run_id : "", &s->failed);
    return 0;
}

static int forget_child(struct step *s, int64_t initiated_event_id) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_children; i++) {
        if (st->children[i]->initiated_event_id == initiated_event_id) {
            pb_remove_message(&st->n_children, st->children, i);
            break;
        }
    }
    return 0;
}

#define FORGET_CHILD(name, member)                                                                           \
    static int apply_child_##name(struct step *s, const History__HistoryEvent *ev) {                         \
        return forget_child(s, ev->member##_event_attributes->initiated_event_id);                           \
    }
FORGET_CHILD(start_failed, start_child_workflow_execution_failed)
FORGET_CHILD(completed, child_workflow_execution_completed)
FORGET_CHILD(failed, child_workflow_execution_failed)
FORGET_CHILD(canceled, child_workflow_execution_canceled)
FORGET_CHILD(timed_out, child_workflow_execution_timed_out)
FORGET_CHILD(terminated, child_workflow_execution_terminated)

static void add_external(struct step *s, int64_t event_id, const Common__WorkflowExecution *ex,
                         const char *control, bool is_signal) {
    State__External *x = pb_new(&state__external__descriptor, &s->failed);
    if (!x)
        return;
    x->initiated_event_id = event_id;
    x->is_signal = is_signal;
    pb_set_string(&x->workflow_id, ex ? ex->workflow_id : "", &s->failed);
    pb_set_string(&x->run_id, ex ? ex->run_id : "", &s->failed);
    pb_set_string(&x->control, control, &s->failed);
    pb_append_message(&s->st->n_externals, &s->st->externals, x, &s->failed);
}

static int apply_signal_initiated(struct step *s, const History__HistoryEvent *ev) {
    const History__SignalExternalWorkflowExecutionInitiatedEventAttributes *a =
        ev->signal_external_workflow_execution_initiated_event_attributes;
    add_external(s, ev->event_id, a->workflow_execution, a->control, true);
    return 0;
}

static int apply_cancel_initiated(struct step *s, const History__HistoryEvent *ev) {
    add_external(
        s, ev->event_id,
        ev->request_cancel_external_workflow_execution_initiated_event_attributes->workflow_execution, NULL,
        false);
    return 0;
}

static int forget_external(struct step *s, int64_t initiated_event_id) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_externals; i++) {
        if (st->externals[i]->initiated_event_id == initiated_event_id) {
            pb_remove_message(&st->n_externals, st->externals, i);
            break;
        }
    }
    return 0;
}

#define FORGET_EXTERNAL(name, member)                                                                        \
    static int apply_##name(struct step *s, const History__HistoryEvent *ev) {                               \
        return forget_external(s, ev->member##_event_attributes->initiated_event_id);                        \
    }
FORGET_EXTERNAL(signal_failed, signal_external_workflow_execution_failed)
FORGET_EXTERNAL(signal_delivered, external_workflow_execution_signaled)
FORGET_EXTERNAL(cancel_failed, request_cancel_external_workflow_execution_failed)
FORGET_EXTERNAL(cancel_delivered, external_workflow_execution_cancel_requested)

/* Updates */

static State__Update *need_update(struct step *s, const char *id) {
    State__Update *u = update_find(s->st, id);
    if (u || !(u = pb_new(&state__update__descriptor, &s->failed)))
        return u;
    pb_set_string(&u->update_id, id, &s->failed);
    pb_append_message(&s->st->n_updates, &s->st->updates, u, &s->failed);
    return s->failed ? NULL : u;
}

static int apply_update_admitted(struct step *s, const History__HistoryEvent *ev) {
    const Update__Request *r = ev->workflow_execution_update_admitted_event_attributes->request;
    State__Update *u = r && r->meta ? need_update(s, r->meta->update_id) : NULL;
    if (u)
        u->admitted_event_id = ev->event_id;
    return 0;
}

static int apply_update_accepted(struct step *s, const History__HistoryEvent *ev) {
    State__Update *u =
        need_update(s, ev->workflow_execution_update_accepted_event_attributes->protocol_instance_id);
    if (u)
        u->accepted_event_id = ev->event_id;
    return 0;
}

static int apply_update_completed(struct step *s, const History__HistoryEvent *ev) {
    const Update__Meta *meta = ev->workflow_execution_update_completed_event_attributes->meta;
    State__Update *u = meta ? update_find(s->st, meta->update_id) : NULL;
    if (u)
        u->completed_event_id = ev->event_id;
    return 0;
}

static int apply_paused(struct step *s, const History__HistoryEvent *ev) {
    const History__WorkflowExecutionPausedEventAttributes *a = ev->workflow_execution_paused_event_attributes;
    pause_begin(s, event_us(ev), a->identity, a->reason, a->request_id);
    return 0;
}

static int apply_unpaused(struct step *s, const History__HistoryEvent *ev unused_arg) {
    pause_end(s);
    return 0;
}

/* What each event leaves behind; those not listed leave nothing. */
static const struct {
    E__EventType type;
    int (*apply)(struct step *s, const History__HistoryEvent *ev);
} rebuild_rules[] = {
    {EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, apply_started},
    {EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, apply_signaled},
    {EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, apply_cancel_requested},
    {EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, apply_upsert},
    {EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, rebuild_properties},
    {EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ADMITTED, apply_update_admitted},
    {EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED, apply_update_accepted},
    {EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, apply_update_completed},
    {EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED, apply_options},
    {EVENT_TYPE_WORKFLOW_EXECUTION_PAUSED, apply_paused},
    {EVENT_TYPE_WORKFLOW_EXECUTION_UNPAUSED, apply_unpaused},
    {EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, apply_task_scheduled},
    {EVENT_TYPE_WORKFLOW_TASK_STARTED, apply_task_started},
    {EVENT_TYPE_WORKFLOW_TASK_COMPLETED, apply_task_completed},
    {EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT, apply_task_ended},
    {EVENT_TYPE_WORKFLOW_TASK_FAILED, apply_task_ended},
    {EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, apply_activity_scheduled},
    {EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, apply_activity_cancel_requested},
    {EVENT_TYPE_ACTIVITY_TASK_COMPLETED, apply_activity_completed},
    {EVENT_TYPE_ACTIVITY_TASK_FAILED, apply_activity_failed},
    {EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT, apply_activity_timed_out},
    {EVENT_TYPE_ACTIVITY_TASK_CANCELED, apply_activity_canceled},
    {EVENT_TYPE_TIMER_STARTED, apply_timer_started},
    {EVENT_TYPE_TIMER_FIRED, apply_timer_fired},
    {EVENT_TYPE_TIMER_CANCELED, apply_timer_canceled},
    {EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED, apply_child_initiated},
    {EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, apply_child_start_failed},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED, apply_child_started},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, apply_child_completed},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED, apply_child_failed},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED, apply_child_canceled},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT, apply_child_timed_out},
    {EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED, apply_child_terminated},
    {EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, apply_signal_initiated},
    {EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, apply_signal_failed},
    {EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, apply_signal_delivered},
    {EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, apply_cancel_initiated},
    {EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, apply_cancel_failed},
    {EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED, apply_cancel_delivered},
};

int rebuild_apply(struct step *s, const History__HistoryEvent *ev) {
    int rc = 0;
    for (size_t i = 0; i < ARRAY_LEN(rebuild_rules); i++) {
        if (rebuild_rules[i].type == ev->event_type) {
            rc = rebuild_rules[i].apply(s, ev);
            break;
        }
    }
    s->st->next_event_id = ev->event_id + 1;
    s->effect_count = 0; /* of what is long past */
    return rc;
}

void rebuild_finish(struct step *s, const struct rebuild_name *name) {
    reset_points_rename(s, name->run_id);
    pb_set_string(&s->st->run_id, name->run_id, &s->failed);
    if (!s->st->parent)
        pb_set_string(&s->st->root_run_id, name->run_id, &s->failed);
    pb_set_string(&s->st->start_request_id, name->request_id, &s->failed);
    pb_set_string(&s->st->origin_request_id, name->origin_request_id, &s->failed);
    s->st->task_id_base = name->task_id - (s->st->next_event_id - 1);
    activity_offer_all(s);
}
