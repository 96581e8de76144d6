/* A worker's answer to a workflow task.
 *
 * Order: the completed event, the commands in their order, the messages that
 * no command placed, then whatever arrived meanwhile, then what the server had to tell about the commands
 * themselves, then the next task if there is a reason for one. If a
 * command is refused nothing of this may stay: the caller undoes the step and
 * fails the task with the cause that is left in s->task_failed_cause. */
#include "core/run/command.h"
#include "core/run/eager.h"
#include "core/step/failure.h"
#include "core/run/pause.h"
#include "core/run/problems.h"
#include "core/reset/reset_points.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/run/update.h"
#include "core/version/versioning.h"

static int completion_check_sequence(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    for (size_t i = 0; i + 1 < req->n_commands; i++)
        if (command_closes(req->commands[i]))
            return err_set(s->err, ERR_INVALID,
                           "invalid command sequence: [%zu] closes the workflow and must be the last command",
                           i + 1);
    return 0;
}

static int64_t completion_write_event(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    State__Execution *st = s->st;
    History__WorkflowTaskCompletedEventAttributes a = HISTORY__WORKFLOW_TASK_COMPLETED_EVENT_ATTRIBUTES__INIT;
    Deployment__WorkerDeploymentVersion version = DEPLOYMENT__WORKER_DEPLOYMENT_VERSION__INIT;
    const Deployment__WorkerDeploymentOptions *worker = req->deployment_options;
    task_write_owed(s);
    a.scheduled_event_id = st->task->scheduled_event_id;
    a.started_event_id = st->task->started_event_id;
    a.identity = req->identity;
    a.binary_checksum = req->binary_checksum;
    a.worker_version = req->worker_version_stamp;
    a.sdk_metadata = req->sdk_metadata;
    a.metering_metadata = req->metering_metadata;
    a.versioning_behavior = req->versioning_behavior;
    if (worker)
        a.worker_deployment_name = worker->deployment_name;
    if (!version_is_none(version_of_options(worker))) {
        version.deployment_name = worker->deployment_name;
        version.build_id = worker->build_id;
        a.deployment_version = &version;
    }
    int64_t id = step_event(s, EVENT_TYPE_WORKFLOW_TASK_COMPLETED, &a, NULL);
    st->last_started_event_id = st->task->started_event_id;
    st->task_attempt = 1;
    problems_end(s);
    pb_free(st->task);
    st->task = NULL;
    versioning_complete(s, &a);
    reset_points_add(s, &a, id);
    return id;
}

/* Whether the worker has rejected everything that a speculative task carried, and its history can end
 * where it ended before: behind the last completed task, or it says that it can go back further. */
static bool completion_can_discard(const struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    const State__Execution *st = s->st;
    if (!st->task->is_speculative || req->n_commands || req->force_create_new_workflow_task)
        return false;
    for (size_t i = 0; i < req->n_messages; i++)
        if (!update_is_rejection(req->messages[i]))
            return false;
    int64_t unseen = st->task->scheduled_event_id - (st->last_started_event_id + 2);
    return unseen == 0 || (unseen <= LIMIT_DISCARD_EVENTS && req->capabilities &&
                           req->capabilities->discard_speculative_workflow_task_with_events);
}

/* Returns the id of the completed event; 0 when the task left none. */
static int64_t completion_end_task(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req,
                                   struct completion *out) {
    if (!completion_can_discard(s, req))
        return completion_write_event(s, req);
    out->is_discarded = true;
    out->reset_event_id = s->st->last_started_event_id;
    pb_free(s->st->task);
    s->st->task = NULL;
    return 0;
}

static void completion_update_sticky(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    const Taskqueue__StickyExecutionAttributes *sticky = req->sticky_attributes;
    bool wanted = sticky && sticky->worker_task_queue && !cstr_is_empty(sticky->worker_task_queue->name) &&
                  versioning_stays(s->st, version_of_options(req->deployment_options));
    pb_set_string(&s->st->sticky_queue, wanted ? sticky->worker_task_queue->name : NULL, &s->failed);
    s->st->sticky_timeout_us = wanted ? pb_duration_us(sticky->schedule_to_start_timeout) : 0;
    if (wanted && s->st->sticky_timeout_us <= 0)
        s->st->sticky_timeout_us = s->st->task_timeout_us;
}

/* The next task goes to the worker that just answered, without a trip through the queue. */
static int completion_start_inline(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req) {
    struct task_pick pick = {
        .scheduled_event_id = s->st->task->scheduled_event_id,
        .identity = req->identity,
        .request_id = "",
        .from_sticky = s->st->task->is_sticky,
        .version = versioning_version(s->st), /* the worker's, or the run would not stay */
        .is_bound = versioning_is_pinned(s->st),
    };
    struct uuid_text id = uuid_format(uuid_random(s->rng));
    pick.request_id = id.s;
    return task_start(s, &pick);
}

static bool completion_is_heartbeat(const Ws__RespondWorkflowTaskCompletedRequest *req) {
    return req->force_create_new_workflow_task && req->n_commands == 0 && req->n_messages == 0;
}

static int completion_apply_commands(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req,
                                     int64_t completed, struct command_effects *fx) {
    int rc = 0;
    s->holds_events = true;
    for (size_t i = 0; rc == 0 && i < req->n_commands; i++)
        rc = command_apply(s, completed, req->commands[i], fx);
    if (rc == 0)
        rc = update_apply_rest(s, fx->inbox);
    s->holds_events = false;
    return rc;
}

/* Updates that came while the worker was busy get a task of their own, which goes to the same worker
 * and may leave no trace. */
static void completion_schedule_next(struct step *s, const Ws__RespondWorkflowTaskCompletedRequest *req,
                                     bool stays) {
    if (step_flush_buffered(s) || req->force_create_new_workflow_task || versioning_is_moving(s->st))
        task_schedule(s);
    else if (update_is_waiting(s) && stays)
        task_schedule_speculative(s);
    else if (update_is_waiting(s))
        task_schedule(s);
}

int task_complete(struct step *s, const State__TaskToken *token,
                  const Ws__RespondWorkflowTaskCompletedRequest *req, struct completion *out) {
    State__Execution *st = s->st;
    *out = (struct completion){0};
    int rc = task_check_token(s, token);
    if (rc == 0)
        rc = versioning_check_completion(req, s->err);
    if (rc == 0)
        rc = completion_check_sequence(s, req);
    if (rc < 0)
        return rc;
    if (run_is_paused(st) && req->force_create_new_workflow_task)
        return err_set(s->err, ERR_PRECONDITION,
                       "Workflow is paused and force create new workflow task is not allowed.");
    int64_t original_us = st->task->original_scheduled_us;
    out->is_heartbeat = completion_is_heartbeat(req);
    if (out->is_heartbeat && s->now.us - original_us > LIMIT_TASK_HEARTBEAT_MS * USEC_PER_MS) {
        out->is_heartbeat_over = true;
        task_time_out(s, TIMEOUT_TYPE_START_TO_CLOSE);
        return 0;
    }
    struct update_inbox inbox;
    struct command_effects fx = {.inbox = &inbox};
    s->ctx.identity = req->identity;
    rc = update_inbox_init(s, &inbox, req->messages, req->n_messages);
    if (rc < 0)
        return rc;
    int64_t completed = completion_end_task(s, req, out);
    completion_update_sticky(s, req);
    rc = completion_apply_commands(s, req, completed, &fx);
    if (rc < 0 || fx.is_closed)
        return rc;
    rc = eager_start(s, req, completed, out);
    if (rc < 0)
        return rc;
    bool stays =
        req->return_new_workflow_task && versioning_stays(st, version_of_options(req->deployment_options));
    completion_schedule_next(s, req, stays);
    out->has_new_task = st->task != NULL;
    if (out->is_heartbeat && st->task)
        st->task->original_scheduled_us = original_us;
    if (stays && st->task) {
        out->is_new_started = true;
        return completion_start_inline(s, req);
    }
    return 0;
}
