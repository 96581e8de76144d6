/* Starting a run: the rules of the request, the first events, and what a start
 * means when its workflow id is already taken. */
#include "core/run/attach.h"
#include "core/search/attributes.h"
#include "core/message/callback.h"
#include "core/step/cron.h"
#include "core/step/merge.h"
#include "core/run/pause.h"
#include "core/reset/reset_points.h"
#include "core/step/retry.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"

/* the rules */

static int start_validate_durations(const Ws__StartWorkflowExecutionRequest *r, struct err *err) {
    if (!pb_duration_valid(r->workflow_execution_timeout))
        return err_set(err, ERR_INVALID, "Invalid WorkflowExecutionTimeout: it must not be negative.");
    if (!pb_duration_valid(r->workflow_run_timeout))
        return err_set(err, ERR_INVALID, "Invalid WorkflowRunTimeout: it must not be negative.");
    if (!pb_duration_valid(r->workflow_task_timeout))
        return err_set(err, ERR_INVALID, "Invalid WorkflowTaskTimeout: it must not be negative.");
    if (!pb_duration_valid(r->workflow_start_delay))
        return err_set(err, ERR_INVALID, "Invalid WorkflowStartDelay: it must not be negative.");
    return 0;
}

static int start_validate_policies(const Ws__StartWorkflowExecutionRequest *r, struct err *err) {
    bool has_conflict_policy = r->workflow_id_conflict_policy != WORKFLOW_ID_CONFLICT_POLICY_UNSPECIFIED;
    if (r->workflow_id_reuse_policy == WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING && has_conflict_policy)
        return err_set(
            err, ERR_INVALID,
            "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING cannot be used "
            "together with a WorkflowIDConflictPolicy.");
    if (r->workflow_id_conflict_policy == WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING &&
        r->workflow_id_reuse_policy == WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE)
        return err_set(
            err, ERR_INVALID,
            "Invalid WorkflowIDReusePolicy: WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE cannot be used "
            "together with WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING.");
    return 0;
}

int run_validate_cron(const char *schedule, const struct cal_zones *zones, struct err *err) {
    if (cstr_is_empty(schedule))
        return 0;
    return cron_validate(schedule, zones, err);
}

int run_validate_start(const Ws__StartWorkflowExecutionRequest *r, const State__Namespace *space,
                       const struct cal_zones *zones, const struct core_limits *limits, struct err *err) {
    int rc = validate_required(r->workflow_id, "WorkflowId", err);
    if (rc == 0)
        rc = validate_required(r->workflow_type ? r->workflow_type->name : "", "WorkflowType", err);
    if (rc == 0)
        rc = validate_task_queue(r->task_queue, err);
    if (rc == 0)
        rc = validate_id(r->request_id, "RequestId", err);
    if (rc == 0)
        rc = validate_id(r->identity, "Identity", err);
    if (rc == 0)
        rc = start_validate_durations(r, err);
    if (rc == 0)
        rc = retry_validate(r->retry_policy, err);
    if (rc == 0)
        rc = validate_priority(r->priority, err);
    if (rc == 0)
        rc = start_validate_policies(r, err);
    if (rc == 0 && r->workflow_start_delay && !cstr_is_empty(r->cron_schedule))
        rc = err_set(err, ERR_INVALID, "CronSchedule and WorkflowStartDelay may not be used together.");
    if (rc == 0)
        rc = run_validate_cron(r->cron_schedule, zones, err);
    if (rc == 0)
        rc = attributes_validate(space, r->search_attributes, err);
    if (rc == 0)
        rc = attributes_check_size(limits, r->search_attributes, err);
    if (rc == 0)
        rc = versioning_check_override(r->versioning_override, err);
    if (rc == 0)
        rc = version_validate_options(r->eager_worker_deployment_options, err);
    if (rc == 0 && r->n_links > LIMIT_LINKS)
        rc = err_set(err, ERR_INVALID, "cannot attach more than %d links per request", LIMIT_LINKS);
    if (rc == 0)
        rc = callback_validate(r->completion_callbacks, r->n_completion_callbacks, limits, err);
    return rc == 0 ? attach_validate(r, err) : rc;
}

/* the birth */

struct run_timeouts run_timeouts(const Google__Protobuf__Duration *execution,
                                 const Google__Protobuf__Duration *run,
                                 const Google__Protobuf__Duration *task) {
    struct run_timeouts t = {pb_wait_us(execution), pb_wait_us(run), pb_duration_us(task)};
    if (t.execution_us && (!t.run_us || t.run_us > t.execution_us))
        t.run_us = t.execution_us;
    if (!t.task_us)
        t.task_us = LIMIT_DEFAULT_TASK_TIMEOUT_MS * USEC_PER_MS;
    t.task_us = MIN(t.task_us, LIMIT_MAX_TASK_TIMEOUT_MS * USEC_PER_MS);
    if (t.run_us)
        t.task_us = MIN(t.task_us, t.run_us);
    return t;
}

static void start_set_timeouts(State__Execution *st, const Ws__StartWorkflowExecutionRequest *r) {
    struct run_timeouts t =
        run_timeouts(r->workflow_execution_timeout, r->workflow_run_timeout, r->workflow_task_timeout);
    st->execution_timeout_us = t.execution_us;
    st->run_timeout_us = t.run_us;
    st->task_timeout_us = t.task_us;
}

static void start_set_times(struct step *s, const struct run_birth *b, int64_t delay_us) {
    State__Execution *st = s->st;
    st->start_us = s->now.us;
    st->execution_us = usec_add(s->now.us, delay_us);
    st->first_task_due_us = delay_us ? st->execution_us : 0;
    if (b->execution_expires_us)
        st->execution_expires_us = b->execution_expires_us; /* one for the whole chain */
    else if (st->execution_timeout_us)
        st->execution_expires_us = usec_add(st->execution_us, st->execution_timeout_us);
    if (st->run_timeout_us)
        st->run_expires_us = usec_add(st->execution_us, st->run_timeout_us);
}

static void start_set_identity(struct step *s, const struct run_birth *b,
                               const Ws__StartWorkflowExecutionRequest *r) {
    State__Execution *st = s->st;
    pb_set_string(&st->namespace_id, b->namespace_id, &s->failed);
    pb_set_string(&st->workflow_id, r->workflow_id, &s->failed);
    pb_set_string(&st->run_id, b->run_id, &s->failed);
    pb_set_string(&st->first_run_id, b->first_run_id ? b->first_run_id : b->run_id, &s->failed);
    pb_set_string(&st->root_workflow_id, b->root_workflow_id ? b->root_workflow_id : r->workflow_id,
                  &s->failed);
    pb_set_string(&st->root_run_id, b->root_run_id ? b->root_run_id : b->run_id, &s->failed);
    pb_set_string(&st->cron_schedule, r->cron_schedule, &s->failed);
    pb_set_message(&st->retry_policy, r->retry_policy ? retry_normalised(s, r->retry_policy) : NULL,
                   &s->failed);
    pb_set_message(&st->parent, b->parent, &s->failed);
    pb_set_message(&st->scheduled_by, b->scheduled_by, &s->failed);
    st->is_first_task_held = b->is_held;
    pb_set_string(&st->original_run_id, b->run_id, &s->failed);
    pb_set_string(&st->workflow_type, r->workflow_type->name, &s->failed);
    pb_set_string(&st->task_queue, r->task_queue->name, &s->failed);
    pb_set_string(&st->start_request_id, b->request_id, &s->failed);
    pb_set_string(&st->origin_request_id, b->origin_request_id ? b->origin_request_id : b->request_id,
                  &s->failed);
    if (r->memo)
        merge_memo(s, r->memo);
    if (r->search_attributes)
        merge_search_attributes(s, r->search_attributes);
    pb_set_message(&st->user_metadata, r->user_metadata, &s->failed);
    pb_set_message(&st->priority, r->priority, &s->failed);
    const Workflow__VersioningOverride *override = versioning_override(s->arena, r->versioning_override);
    s->failed |= r->versioning_override && !override;
    versioning_begin(s, b, override);
    st->status = WORKFLOW_EXECUTION_STATUS_RUNNING;
    st->next_event_id = 1;
    st->task_id_base = b->task_id_base;
    st->attempt = b->attempt ? b->attempt : 1;
    st->task_attempt = 1;
}

static void start_write_event(struct step *s, const struct run_birth *b,
                              const Ws__StartWorkflowExecutionRequest *r, int64_t delay_us) {
    State__Execution *st = s->st;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = st->task_queue;
    queue.kind = TASK_QUEUE_KIND_NORMAL;
    Common__WorkflowExecution root = COMMON__WORKFLOW_EXECUTION__INIT;
    Common__WorkflowExecution parent = COMMON__WORKFLOW_EXECUTION__INIT;
    root.workflow_id = st->root_workflow_id;
    root.run_id = st->root_run_id;
    Google__Protobuf__Duration timeouts[3] = {pb_duration(st->execution_timeout_us),
                                              pb_duration(st->run_timeout_us),
                                              pb_duration(st->task_timeout_us)};
    Google__Protobuf__Duration delay = pb_duration(delay_us);
    Google__Protobuf__Timestamp expires = pb_timestamp(st->execution_expires_us);
    History__WorkflowExecutionStartedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_STARTED_EVENT_ATTRIBUTES__INIT;
    a.workflow_type = r->workflow_type;
    a.task_queue = &queue;
    a.input = r->input;
    a.header = r->header;
    /* What the client left out stays out: readers tell "no timeout" from "none of zero". */
    a.workflow_execution_timeout = st->execution_timeout_us ? &timeouts[0] : NULL;
    a.workflow_run_timeout = st->run_timeout_us ? &timeouts[1] : NULL;
    a.workflow_task_timeout = &timeouts[2];
    a.continued_failure = b->continued_failure ? b->continued_failure : r->continued_failure;
    a.last_completion_result =
        b->last_completion_result ? b->last_completion_result : r->last_completion_result;
    a.continued_execution_run_id = (char *)(uintptr_t)(b->continued_run_id ? b->continued_run_id : "");
    a.initiator = b->initiator;
    if (!a.initiator && !cstr_is_empty(st->cron_schedule)) /* it is the schedule that begins the first run, too */
        a.initiator = CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
    a.retry_policy = st->retry_policy;
    a.cron_schedule = st->cron_schedule;
    if (st->parent) {
        parent.workflow_id = st->parent->workflow_id;
        parent.run_id = st->parent->run_id;
        a.parent_workflow_namespace = st->parent->namespace_;
        a.parent_workflow_namespace_id = st->parent->namespace_id;
        a.parent_workflow_execution = &parent;
        a.parent_initiated_event_id = st->parent->initiated_event_id;
    }
    a.original_execution_run_id = st->original_run_id;
    a.first_execution_run_id = st->first_run_id;
    a.identity = r->identity;
    a.attempt = st->attempt;
    a.workflow_execution_expiration_time = st->execution_expires_us ? &expires : NULL;
    a.first_workflow_task_backoff = &delay;
    a.memo = merge_memo_left(s, st->memo);
    a.search_attributes = merge_attributes_left(s, st->search_attributes);
    a.workflow_id = st->workflow_id;
    a.root_workflow_execution = st->parent ? &root : NULL; /* a run that is its own root does not say so */
    a.versioning_override = st->versioning ? st->versioning->override : NULL;
    a.inherited_pinned_version = (Deployment__WorkerDeploymentVersion *)(uintptr_t)b->inherited_pin;
    a.inherited_auto_upgrade_info = (Deployment__InheritedAutoUpgradeInfo *)(uintptr_t)b->inherited_upgrade;
    a.declined_target_version_upgrade = (History__DeclinedTargetVersionUpgrade *)(uintptr_t)b->declined;
    a.prev_auto_reset_points = st->reset_points;
    a.eager_execution_accepted = b->is_eager && !delay_us;
    a.priority = r->priority;
    a.completion_callbacks = callback_list(s);
    a.n_completion_callbacks = a.completion_callbacks ? st->n_callbacks : 0;
    struct event_extra extra = {
        .user_metadata = r->user_metadata, .links = r->links, .link_count = r->n_links};
    step_event(s, EVENT_TYPE_WORKFLOW_EXECUTION_STARTED, &a, &extra);
}

void run_set_origin(struct step *s, const struct run_birth *birth,
                    const Ws__StartWorkflowExecutionRequest *req, int64_t delay_us) {
    start_set_identity(s, birth, req);
    start_set_timeouts(s->st, req);
    start_set_times(s, birth, delay_us);
}

int run_start(struct step *s, const struct run_birth *birth, const Ws__StartWorkflowExecutionRequest *req) {
    int64_t delay_us = birth->backoff_us ? birth->backoff_us : pb_wait_us(req->workflow_start_delay);
    if (!delay_us && !cstr_is_empty(req->cron_schedule) && !birth->continued_run_id)
        delay_us = MAX(cron_backoff_us(req->cron_schedule, s->ctx.zones, s->now.us, s->now.us), 0);
    run_set_origin(s, birth, req, delay_us);
    if (birth->continued_run_id)
        pause_show(s); /* what was paused in the run before is not in this one */
    if (birth->before) {
        callback_inherit(s, birth->before);
        reset_points_inherit(s, birth->before->reset_points, birth->continued_run_id, s->now.us);
    }
    int rc = callback_attach(s, req->completion_callbacks, req->n_completion_callbacks, birth->request_id);
    if (rc < 0)
        return rc;
    start_write_event(s, birth, req, delay_us);
    if (s->st->versioning)
        versioning_show(s, NULL, (struct version){0});
    if (birth->signal) {
        int64_t due_us = s->st->first_task_due_us;
        s->st->first_task_due_us = CLOCK_NEVER; /* the signal itself does not wake the workflow */
        rc = run_signal(s, birth->signal, NULL);
        s->st->first_task_due_us = due_us;
        if (rc < 0)
            return rc;
    }
    if (!delay_us && !birth->is_held)
        task_schedule(s);
    return 0;
}

/* when the id is taken */

void run_name_in_error(const State__Execution *current, struct err *err) {
    if (!err)
        return;
    strncpy(err->subject, current->start_request_id, sizeof(err->subject) - 1);
    strncpy(err->run_id.s, current->run_id, UUID_TEXT_LEN);
    strncpy(err->first_run_id.s, current->first_run_id, UUID_TEXT_LEN);
}

static int already_started(struct err *err, const State__Execution *current, const char *text) {
    int rc = err_set(err, ERR_ALREADY_STARTED, "%s WorkflowId: %s, RunId: %s.", text, current->workflow_id,
                     current->run_id);
    run_name_in_error(current, err);
    return rc;
}

static enum start_verdict judge_running(const Ws__StartWorkflowExecutionRequest *r,
                                        const State__Execution *current, struct err *err) {
    if (r->workflow_id_reuse_policy == WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING)
        return START_TERMINATE_FIRST;
    switch ((int)r->workflow_id_conflict_policy) {
    case WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING:
        return START_EXISTING;
    case WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING:
        return START_TERMINATE_FIRST;
    default:
        (void)already_started(err, current, "Workflow execution is already running.");
        return START_REFUSED;
    }
}

static enum start_verdict judge_closed(const Ws__StartWorkflowExecutionRequest *r,
                                       const State__Execution *current, struct err *err) {
    switch ((int)r->workflow_id_reuse_policy) {
    case WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE:
        (void)already_started(err, current, "Workflow execution already finished.");
        return START_REFUSED;
    case WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY:
        if (current->status != WORKFLOW_EXECUTION_STATUS_COMPLETED &&
            current->status != WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
            return START_NEW;
        (void)already_started(err, current, "Workflow execution already finished successfully.");
        return START_REFUSED;
    default:
        return START_NEW;
    }
}

enum start_verdict run_judge_start(const Ws__StartWorkflowExecutionRequest *req, const char *request_id,
                                   const State__Execution *current, struct err *err) {
    /* What a start began may have continued as another run before its caller heard of it. */
    if (cstr_eq(current->start_request_id, request_id) || cstr_eq(current->origin_request_id, request_id))
        return START_SAME;
    if (attach_find(current, request_id))
        return START_EXISTING;
    if (run_is_open(current))
        return judge_running(req, current, err);
    return judge_closed(req, current, err);
}
