/* DescribeWorkflowExecution: the state of a run, as it is now, in the words of the API. */
#include "core/activity/activity.h"
#include "core/activity/activity_control.h"
#include "core/run/signal_ids.h"
#include "core/step/retry.h"
#include "core/step/validate.h"
#include "engine/runtime/copy.h"
#include "engine/runtime/engine_int.h"
#include "engine/workflow/execution_info.h"
#include "engine/workflow/response.h"

#define SIGNALS_SHOWN 10000 /* the last of them; more only where an operator raised the limit of signals */

static void *describe_copy_or_null(struct arena *a, const void *m) {
    return m ? message_copy(a, m) : NULL;
}

static Workflow__WorkflowExecutionConfig *describe_execution_config(struct arena *a, const State__Execution *st) {
    Workflow__WorkflowExecutionConfig *c = arena_new(a, Workflow__WorkflowExecutionConfig);
    Taskqueue__TaskQueue *queue = arena_new(a, Taskqueue__TaskQueue);
    if (!c || !queue)
        return NULL;
    workflow__workflow_execution_config__init(c);
    taskqueue__task_queue__init(queue);
    queue->name = arena_strdup(a, st->task_queue);
    queue->kind = TASK_QUEUE_KIND_NORMAL;
    c->task_queue = queue;
    if (st->execution_timeout_us) /* readers tell "no timeout" from "none of zero" */
        c->workflow_execution_timeout = response_duration(a, st->execution_timeout_us);
    if (st->run_timeout_us)
        c->workflow_run_timeout = response_duration(a, st->run_timeout_us);
    c->default_workflow_task_timeout = response_duration(a, st->task_timeout_us);
    c->user_metadata = describe_copy_or_null(a, st->user_metadata);
    return c;
}

static E__PendingActivityState activity_state(const State__Activity *act) {
    if (!act->started_us)
        return act->is_paused ? PENDING_ACTIVITY_STATE_PAUSED : PENDING_ACTIVITY_STATE_SCHEDULED;
    if (act->cancel_requested_event_id)
        return PENDING_ACTIVITY_STATE_CANCEL_REQUESTED;
    return act->is_paused ? PENDING_ACTIVITY_STATE_PAUSE_REQUESTED : PENDING_ACTIVITY_STATE_STARTED;
}

static Workflow__PendingActivityInfo__PauseInfo *describe_pause(struct arena *a, const State__Activity *act) {
    Workflow__PendingActivityInfo__PauseInfo *p = arena_new(a, Workflow__PendingActivityInfo__PauseInfo);
    Workflow__PendingActivityInfo__PauseInfo__Manual *who =
        arena_new(a, Workflow__PendingActivityInfo__PauseInfo__Manual);
    if (!p || !who)
        return NULL;
    workflow__pending_activity_info__pause_info__init(p);
    workflow__pending_activity_info__pause_info__manual__init(who);
    p->pause_time = response_time(a, act->paused_us);
    p->paused_by_case = WORKFLOW__PENDING_ACTIVITY_INFO__PAUSE_INFO__PAUSED_BY_MANUAL;
    p->manual = who;
    who->identity = arena_strdup(a, act->pause_identity);
    who->reason = arena_strdup(a, act->pause_reason);
    return p;
}

static Workflow__PendingActivityInfo *describe_activity(struct arena *a, const State__Activity *act) {
    Workflow__PendingActivityInfo *p = arena_new(a, Workflow__PendingActivityInfo);
    Common__ActivityType *type = arena_new(a, Common__ActivityType);
    if (!p || !type)
        return NULL;
    struct retry_plan plan = retry_plan(act->retry_policy);
    struct activity_options options;
    workflow__pending_activity_info__init(p);
    common__activity_type__init(type);
    type->name = arena_strdup(a, act->activity_type);
    p->activity_id = arena_strdup(a, act->activity_id);
    p->activity_type = type;
    p->state = activity_state(act);
    p->heartbeat_details = payloads_copy(a, act->heartbeat_details);
    p->last_heartbeat_time = response_time(a, act->last_heartbeat_us);
    p->last_started_time = response_time(a, act->started_us);
    p->attempt = activity_attempt(act);
    p->maximum_attempts = plan.maximum_attempts;
    p->scheduled_time = response_time(a, act->first_scheduled_us);
    if (act->schedule_to_close_us)
        p->expiration_time = response_time(a, usec_add(act->first_scheduled_us, act->schedule_to_close_us));
    p->last_failure = describe_copy_or_null(a, act->last_failure);
    p->last_worker_identity =
        arena_strdup(a, cstr_is_empty(act->identity) ? act->heartbeat_identity : act->identity);
    p->last_attempt_complete_time = response_time(a, act->last_complete_us);
    if (!act->is_offered && !act->is_paused) {
        p->next_attempt_schedule_time = response_time(a, act->scheduled_us);
        p->current_retry_interval = response_duration(a, act->scheduled_us - act->last_complete_us);
    }
    p->priority = describe_copy_or_null(a, act->priority);
    p->last_deployment_version = version_message(a, version_of(act->last_version));
    if (act->last_version)
        p->last_worker_deployment_version =
            version_text(a, version_of(act->last_version), VERSION_OLD_DELIMITER, "");
    p->paused = act->is_paused;
    if (act->is_paused)
        p->pause_info = describe_pause(a, act);
    activity_options(act, &options);
    p->activity_options = message_copy(a, &options.message.base);
    return p;
}

static Workflow__PendingChildExecutionInfo *describe_child(struct arena *a, const State__Child *c) {
    Workflow__PendingChildExecutionInfo *p = arena_new(a, Workflow__PendingChildExecutionInfo);
    if (!p)
        return NULL;
    workflow__pending_child_execution_info__init(p);
    p->workflow_id = arena_strdup(a, c->workflow_id);
    p->run_id = arena_strdup(a, c->run_id);
    p->workflow_type_name = arena_strdup(a, c->workflow_type);
    p->initiated_id = c->initiated_event_id;
    p->parent_close_policy = (E__ParentClosePolicy)c->parent_close_policy;
    return p;
}

static Workflow__PendingWorkflowTaskInfo *describe_task(struct arena *a, const State__WorkflowTask *t) {
    Workflow__PendingWorkflowTaskInfo *p = t ? arena_new(a, Workflow__PendingWorkflowTaskInfo) : NULL;
    if (!p)
        return NULL;
    workflow__pending_workflow_task_info__init(p);
    p->state =
        t->started_event_id ? PENDING_WORKFLOW_TASK_STATE_STARTED : PENDING_WORKFLOW_TASK_STATE_SCHEDULED;
    p->scheduled_time = response_time(a, t->scheduled_us);
    p->original_scheduled_time = response_time(a, t->original_scheduled_us);
    p->started_time = response_time(a, t->started_us);
    p->attempt = t->attempt;
    return p;
}

static Workflow__WorkflowExecutionPauseInfo *describe_run_pause(struct arena *a, const State__Pause *p) {
    Workflow__WorkflowExecutionPauseInfo *info =
        p ? arena_new(a, Workflow__WorkflowExecutionPauseInfo) : NULL;
    if (!info)
        return NULL;
    workflow__workflow_execution_pause_info__init(info);
    info->paused_time = response_time(a, p->paused_us);
    info->identity = arena_strdup(a, p->identity);
    info->reason = arena_strdup(a, p->reason);
    return info;
}

static Workflow__CallbackInfo *describe_callback(struct arena *a, const State__Callback *c) {
    Workflow__CallbackInfo *info = arena_new(a, Workflow__CallbackInfo);
    Workflow__CallbackInfo__Trigger *trigger = arena_new(a, Workflow__CallbackInfo__Trigger);
    Workflow__CallbackInfo__WorkflowClosed *closed = arena_new(a, Workflow__CallbackInfo__WorkflowClosed);
    if (!info || !trigger || !closed)
        return NULL;
    workflow__callback_info__init(info);
    workflow__callback_info__trigger__init(trigger);
    workflow__callback_info__workflow_closed__init(closed);
    trigger->variant_case = WORKFLOW__CALLBACK_INFO__TRIGGER__VARIANT_WORKFLOW_CLOSED;
    trigger->workflow_closed = closed;
    info->callback = message_copy(a, &c->callback->base);
    info->trigger = trigger;
    info->registration_time = response_time(a, c->registered_us);
    info->state = (E__CallbackState)c->state;
    info->attempt = c->attempt;
    info->last_attempt_complete_time = response_time(a, c->last_attempt_us);
    info->last_attempt_failure = c->last_failure ? message_copy(a, &c->last_failure->base) : NULL;
    info->next_attempt_schedule_time = response_time(a, c->next_attempt_us);
    return info;
}

static void describe_request(struct arena *a, Workflow__WorkflowExecutionExtendedInfo *x, const char *id,
                             E__EventType type, int64_t event_id) {
    Workflow__WorkflowExecutionExtendedInfo__RequestIdInfosEntry *entry =
        arena_new(a, Workflow__WorkflowExecutionExtendedInfo__RequestIdInfosEntry);
    Workflow__RequestIdInfo *info = arena_new(a, Workflow__RequestIdInfo);
    if (!entry || !info || !x->request_id_infos)
        return;
    workflow__workflow_execution_extended_info__request_id_infos_entry__init(entry);
    workflow__request_id_info__init(info);
    info->event_type = type;
    info->event_id = event_id;
    info->buffered = event_id == 0;
    entry->key = arena_strdup(a, id);
    entry->value = info;
    x->request_id_infos[x->n_request_id_infos++] = entry;
}

static void describe_signals(struct arena *a, Workflow__WorkflowExecutionExtendedInfo *x,
                             const State__Execution *st, size_t first) {
    for (size_t i = first; i < signal_id_count(st); i++) {
        struct signal_id id = signal_id_get(st, i);
        describe_request(a, x, id.text ? id.text : id.uuid.s, EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
                         id.event_id);
    }
}

static void describe_requests(struct arena *a, Workflow__WorkflowExecutionExtendedInfo *x,
                              const State__Execution *st) {
    /* The first event of a run that a reset made is that of the start, not of the reset. */
    const char *started_by = st->original_start_us ? st->origin_request_id : st->start_request_id;
    size_t signals = signal_id_count(st), first = signals > SIGNALS_SHOWN ? signals - SIGNALS_SHOWN : 0;
    x->request_id_infos = arena_array(a, Workflow__WorkflowExecutionExtendedInfo__RequestIdInfosEntry *,
                                      st->n_attached_requests + 1 + (signals - first));
    if (!signal_id_seen(st, started_by)) /* a signal with start is its signal */
        describe_request(a, x, started_by, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, 1);
    for (size_t i = 0; i < st->n_attached_requests; i++)
        describe_request(a, x, st->attached_requests[i]->request_id,
                         EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED, st->attached_requests[i]->event_id);
    describe_signals(a, x, st, first);
}

static Workflow__WorkflowExecutionExtendedInfo *describe_extended(struct arena *a,
                                                                  const State__Execution *st) {
    Workflow__WorkflowExecutionExtendedInfo *x = arena_new(a, Workflow__WorkflowExecutionExtendedInfo);
    if (!x)
        return NULL;
    workflow__workflow_execution_extended_info__init(x);
    x->execution_expiration_time = response_time(a, st->execution_expires_us);
    x->run_expiration_time = response_time(a, st->run_expires_us);
    x->cancel_requested = st->cancel_requested;
    x->reset_run_id = arena_strdup(a, st->copy_run_id);
    x->original_start_time = response_time(a, st->original_start_us ? st->original_start_us : st->start_us);
    x->last_reset_time = response_time(a, st->original_start_us ? st->start_us : 0);
    x->pause_info = describe_run_pause(a, st->pause);
    describe_requests(a, x, st);
    return x;
}

static void describe_activities(struct arena *a, Ws__DescribeWorkflowExecutionResponse *r,
                                State__Activity *const *activities, size_t count) {
    r->pending_activities = arena_array(a, Workflow__PendingActivityInfo *, count);
    for (size_t i = 0; r->pending_activities && i < count; i++)
        r->pending_activities[r->n_pending_activities++] = describe_activity(a, activities[i]);
}

/* Those of a closed run too: what became of them is theirs. */
static void describe_children(struct arena *a, Ws__DescribeWorkflowExecutionResponse *r,
                              const State__Execution *st) {
    r->pending_children =
        arena_array(a, Workflow__PendingChildExecutionInfo *, st->n_left_children + st->n_children);
    for (size_t i = 0; r->pending_children && i < st->n_left_children; i++)
        r->pending_children[r->n_pending_children++] = describe_child(a, st->left_children[i]);
    for (size_t i = 0; r->pending_children && i < st->n_children; i++)
        r->pending_children[r->n_pending_children++] = describe_child(a, st->children[i]);
}

static Ws__DescribeWorkflowExecutionResponse *describe_execution(struct arena *a, const State__Execution *st) {
    Ws__DescribeWorkflowExecutionResponse *r = arena_new(a, Ws__DescribeWorkflowExecutionResponse);
    if (!r)
        return NULL;
    ws__describe_workflow_execution_response__init(r);
    r->execution_config = describe_execution_config(a, st);
    Workflow__WorkflowExecutionInfo *info = execution_info(a, st);
    if (info)
        info->auto_reset_points = st->reset_points; /* no list shows them */
    r->workflow_execution_info = info ? message_copy(a, &info->base) : NULL;
    r->pending_workflow_task = describe_task(a, st->task);
    r->workflow_extended_info = describe_extended(a, st);
    describe_children(a, r, st);
    if (run_is_open(st))
        describe_activities(a, r, st->activities, st->n_activities);
    else
        describe_activities(a, r, st->left_activities, st->n_left_activities);
    r->callbacks = arena_array(a, Workflow__CallbackInfo *, st->n_callbacks);
    for (size_t i = 0; r->callbacks && i < st->n_callbacks; i++)
        r->callbacks[r->n_callbacks++] = describe_callback(a, st->callbacks[i]);
    return arena_failed(a) ? NULL : r;
}

void rpc_describe_workflow(struct op *op) {
    const Ws__DescribeWorkflowExecutionRequest *req = op->req;
    struct space *space;
    int rc = op_need_space(op, req->namespace_, &space);
    if (rc == 0)
        rc = validate_execution(req->execution, &op->err);
    if (rc == 0)
        rc = op_need_execution(op, space, req->execution, NULL);
    if (rc == ERR_WAIT)
        return;
    Ws__DescribeWorkflowExecutionResponse *resp = NULL;
    if (rc == 0 && !(resp = describe_execution(op->call->arena, op->run->body->st)))
        rc = op_out_of_memory(op);
    if (rc < 0)
        op_fail(op);
    else
        op_reply_durable(op, &resp->base, (struct str){NULL, 0});
}
