/* Children: the initiated event and a letter; then started (or not) when the
 * letter is answered; then the end, when the child's own letter arrives.
 *
 * The child's first task waits until the parent's history says that the child
 * has started, so that no child can end before its parent knows it. */
#include "core/run/child.h"

#include "core/search/attributes.h"
#include "core/message/letter.h"
#include "core/step/merge.h"
#include "core/step/retry.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"
#include "core/version/versioning.h"

State__Child *child_find(const State__Execution *st, int64_t initiated_event_id) {
    for (size_t i = 0; i < st->n_children; i++)
        if (st->children[i]->initiated_event_id == initiated_event_id)
            return st->children[i];
    return NULL;
}

bool child_is_starting(const State__Execution *st, int64_t initiated_event_id) {
    const State__Child *c = child_find(st, initiated_event_id);
    return c && !c->is_started;
}

static void child_remove(struct step *s, const State__Child *c) {
    pb_remove_item(&s->st->n_children, s->st->children, c);
}

/* Initiating */

static int child_refuse(struct step *s, const char *text) {
    s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

static int child_validate(struct step *s, const Command__StartChildWorkflowExecutionCommandAttributes *in) {
    if (cstr_is_empty(in->workflow_id))
        return child_refuse(s, "Required field WorkflowId is not set on StartChildWorkflowExecutionCommand.");
    if (!in->workflow_type || cstr_is_empty(in->workflow_type->name))
        return child_refuse(s,
                            "Required field WorkflowType is not set on StartChildWorkflowExecutionCommand.");
    if (strlen(in->workflow_id) > LIMIT_ID_BYTES)
        return child_refuse(s, "WorkflowId on StartChildWorkflowExecutionCommand exceeds length limit.");
    if (strlen(in->workflow_type->name) > LIMIT_ID_BYTES)
        return child_refuse(s, "WorkflowType on StartChildWorkflowExecutionCommand exceeds length limit.");
    if (in->task_queue && strlen(in->task_queue->name) > LIMIT_ID_BYTES)
        return child_refuse(s, "TaskQueue on StartChildWorkflowExecutionCommand exceeds length limit.");
    if (!cstr_is_empty(in->namespace_) && !cstr_eq(in->namespace_, s->ctx.namespace_name))
        return child_refuse(s, "cross namespace commands are not allowed");
    if (!pb_duration_valid(in->workflow_execution_timeout) || !pb_duration_valid(in->workflow_run_timeout) ||
        !pb_duration_valid(in->workflow_task_timeout))
        return child_refuse(s, "A timeout of StartChildWorkflowExecutionCommand is negative or malformed.");
    int rc = retry_validate(in->retry_policy, s->err);
    if (rc == 0)
        rc = versioning_check_override(in->versioning_override, s->err);
    if (rc == 0)
        rc = validate_priority(in->priority, s->err);
    if (rc == 0)
        rc = run_validate_cron(in->cron_schedule, s->ctx.zones, s->err);
    if (rc == 0 && (rc = attributes_validate(s->ctx.space, in->search_attributes, s->err)) < 0) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES;
        return rc;
    }
    if (rc < 0) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES;
        return rc;
    }
    if ((int64_t)s->st->n_children >= step_limit(s, SETTABLE_PENDING_CHILDREN)) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED;
        return err_set(s->err, ERR_INVALID,
                       "the number of pending child workflow executions has reached the limit of this run");
    }
    return 0;
}

static int64_t write_initiated(struct step *s, int64_t completed_event_id, const Command__Command *cmd,
                               E__ParentClosePolicy policy) {
    const Command__StartChildWorkflowExecutionCommandAttributes *in =
        cmd->start_child_workflow_execution_command_attributes;
    Taskqueue__TaskQueue queue = TASKQUEUE__TASK_QUEUE__INIT;
    queue.name = in->task_queue && !cstr_is_empty(in->task_queue->name) ? in->task_queue->name : s->st->task_queue;
    queue.kind = TASK_QUEUE_KIND_NORMAL;
    struct run_timeouts t =
        run_timeouts(in->workflow_execution_timeout, in->workflow_run_timeout, in->workflow_task_timeout);
    Google__Protobuf__Duration longest, run = pb_duration(t.run_us), task = pb_duration(t.task_us);
    History__StartChildWorkflowExecutionInitiatedEventAttributes a =
        HISTORY__START_CHILD_WORKFLOW_EXECUTION_INITIATED_EVENT_ATTRIBUTES__INIT;
    a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
    a.namespace_id = s->st->namespace_id;
    a.workflow_id = in->workflow_id;
    a.workflow_type = in->workflow_type;
    a.task_queue = &queue;
    a.input = in->input;
    a.workflow_execution_timeout = pb_wait(in->workflow_execution_timeout, &longest);
    a.workflow_run_timeout = &run;
    a.workflow_task_timeout = &task;
    a.parent_close_policy = policy;
    a.control = in->control;
    a.workflow_task_completed_event_id = completed_event_id;
    a.workflow_id_reuse_policy = in->workflow_id_reuse_policy ? in->workflow_id_reuse_policy
                                                              : WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE;
    a.retry_policy = in->retry_policy ? retry_normalised(s, in->retry_policy) : NULL;
    a.cron_schedule = in->cron_schedule;
    a.header = in->header;
    a.memo = merge_memo_left(s, in->memo);
    a.search_attributes = merge_attributes_left(s, in->search_attributes);
    a.inherit_build_id = in->inherit_build_id;
    a.priority = in->priority;
    a.versioning_override = in->versioning_override;
    return step_event(s, EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED, &a, NULL);
}

int child_initiate(struct step *s, int64_t completed_event_id, const Command__Command *cmd) {
    const Command__StartChildWorkflowExecutionCommandAttributes *in =
        cmd->start_child_workflow_execution_command_attributes;
    int rc = child_validate(s, in);
    if (rc < 0)
        return rc;
    E__ParentClosePolicy policy =
        in->parent_close_policy ? in->parent_close_policy : PARENT_CLOSE_POLICY_TERMINATE;
    int64_t id = write_initiated(s, completed_event_id, cmd, policy);
    State__Child *c = pb_new(&state__child__descriptor, &s->failed);
    if (!c)
        return 0;
    c->initiated_event_id = id;
    pb_set_string(&c->workflow_id, in->workflow_id, &s->failed);
    pb_set_string(&c->workflow_type, in->workflow_type->name, &s->failed);
    c->parent_close_policy = (int32_t)policy;
    pb_append_message(&s->st->n_children, &s->st->children, c, &s->failed);
    letter_send(s, LETTER_START_CHILD, in->workflow_id, "", id);
    return 0;
}

/* Started, or not */

/* A parent that closed while its child was being started: the policy applies to the newcomer. */
static void settle_orphan(struct step *s, const State__Child *c, const char *run_id) {
    switch (c->parent_close_policy) {
    case PARENT_CLOSE_POLICY_ABANDON:
        letter_send(s, LETTER_CHILD_GO, c->workflow_id, run_id, 0);
        break;
    case PARENT_CLOSE_POLICY_REQUEST_CANCEL:
        letter_send(s, LETTER_CANCEL_CHILD, c->workflow_id, run_id, 0);
        letter_send(s, LETTER_CHILD_GO, c->workflow_id, run_id, 0); /* it can only answer when it may begin */
        break;
    default:
        letter_send(s, LETTER_TERMINATE_CHILD, c->workflow_id, run_id, 0);
        break;
    }
}

void child_started(struct step *s, int64_t initiated_event_id, const struct child_birth *b) {
    State__Child *c = child_find(s->st, initiated_event_id);
    if (!c || c->is_started)
        return;
    c->is_started = true;
    pb_set_string(&c->run_id, b->run_id, &s->failed);
    if (!run_is_open(s->st)) {
        settle_orphan(s, c, b->run_id);
        return;
    }
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
    ex.workflow_id = c->workflow_id;
    ex.run_id = c->run_id;
    type.name = c->workflow_type;
    History__ChildWorkflowExecutionStartedEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_STARTED_EVENT_ATTRIBUTES__INIT;
    a.namespace_ = (char *)(uintptr_t)b->namespace_name;
    a.namespace_id = (char *)(uintptr_t)b->namespace_id;
    a.initiated_event_id = initiated_event_id;
    a.workflow_execution = &ex;
    a.workflow_type = &type;
    a.header = b->header;
    c->started_event_id = step_event(s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED, &a, NULL);
    letter_send(s, LETTER_CHILD_GO, c->workflow_id, c->run_id, 0);
    task_schedule(s);
}

void child_start_failed(struct step *s, int64_t initiated_event_id,
                        E__StartChildWorkflowExecutionFailedCause cause) {
    State__Child *c = child_find(s->st, initiated_event_id);
    if (!c || c->is_started)
        return;
    if (run_is_open(s->st)) {
        Common__WorkflowType type = COMMON__WORKFLOW_TYPE__INIT;
        type.name = c->workflow_type;
        History__StartChildWorkflowExecutionFailedEventAttributes a =
            HISTORY__START_CHILD_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES__INIT;
        a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
        a.namespace_id = s->st->namespace_id;
        a.workflow_id = c->workflow_id;
        a.workflow_type = &type;
        a.cause = cause;
        a.initiated_event_id = initiated_event_id;
        step_event(s, EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED, &a, NULL);
    }
    child_remove(s, c);
    if (run_is_open(s->st))
        task_schedule(s);
}

/* The end of a child */

struct child_end { /* what all five closing events have in common */
    struct step *s;
    Common__WorkflowExecution ex;
    Common__WorkflowType type;
    char *namespace_name;
    char *namespace_id;
    int64_t initiated_event_id;
    int64_t started_event_id;
};

#define FILL_CHILD_END(a, e)                                                                                 \
    do {                                                                                                     \
        (a).workflow_execution = &(e)->ex;                                                                   \
        (a).workflow_type = &(e)->type;                                                                      \
        (a).namespace_ = (e)->namespace_name;                                                                \
        (a).namespace_id = (e)->namespace_id;                                                                \
        (a).initiated_event_id = (e)->initiated_event_id;                                                    \
        (a).started_event_id = (e)->started_event_id;                                                        \
    } while (0)

static void child_write_completed(struct child_end *e, Common__Payloads *result) {
    History__ChildWorkflowExecutionCompletedEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES__INIT;
    FILL_CHILD_END(a, e);
    a.result = result;
    step_event(e->s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED, &a, NULL);
}

static void child_write_failed(struct child_end *e,
                               const History__WorkflowExecutionFailedEventAttributes *close) {
    History__ChildWorkflowExecutionFailedEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES__INIT;
    FILL_CHILD_END(a, e);
    a.failure = close->failure;
    a.retry_state = close->retry_state;
    step_event(e->s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED, &a, NULL);
}

static void child_write_canceled(struct child_end *e, Common__Payloads *details) {
    History__ChildWorkflowExecutionCanceledEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_CANCELED_EVENT_ATTRIBUTES__INIT;
    FILL_CHILD_END(a, e);
    a.details = details;
    step_event(e->s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED, &a, NULL);
}

static void child_write_timed_out(struct child_end *e, E__RetryState retry_state) {
    History__ChildWorkflowExecutionTimedOutEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES__INIT;
    FILL_CHILD_END(a, e);
    a.retry_state = retry_state;
    step_event(e->s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TIMED_OUT, &a, NULL);
}

static void child_write_terminated(struct child_end *e) {
    History__ChildWorkflowExecutionTerminatedEventAttributes a =
        HISTORY__CHILD_WORKFLOW_EXECUTION_TERMINATED_EVENT_ATTRIBUTES__INIT;
    FILL_CHILD_END(a, e);
    step_event(e->s, EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_TERMINATED, &a, NULL);
}

static void child_write_end(struct child_end *e, const History__HistoryEvent *close) {
    switch ((int)close->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
        child_write_completed(e, close->workflow_execution_completed_event_attributes->result);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
        child_write_failed(e, close->workflow_execution_failed_event_attributes);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
        child_write_canceled(e, close->workflow_execution_canceled_event_attributes->details);
        break;
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
        child_write_timed_out(e, close->workflow_execution_timed_out_event_attributes->retry_state);
        break;
    default:
        child_write_terminated(e);
        break;
    }
}

void child_closed(struct step *s, int64_t initiated_event_id, const Common__WorkflowExecution *child,
                  const char *namespace_name, const char *namespace_id, const History__HistoryEvent *close) {
    State__Child *c = child_find(s->st, initiated_event_id);
    if (!c || !run_is_open(s->st))
        return;
    struct child_end e = {
        .s = s,
        .ex = *child,
        .type = COMMON__WORKFLOW_TYPE__INIT,
        .namespace_name = (char *)(uintptr_t)namespace_name,
        .namespace_id = (char *)(uintptr_t)namespace_id,
        .initiated_event_id = initiated_event_id,
        .started_event_id = c->started_event_id,
    };
    e.type.name = c->workflow_type;
    child_write_end(&e, close);
    child_remove(s, c);
    task_schedule(s);
}

/* After a reset */

static void child_reapply_end(struct step *s, int64_t initiated_event_id, int64_t *started_event_id,
                              E__EventType type, void *attributes) {
    State__Child *c = child_find(s->st, initiated_event_id);
    if (!c)
        return;
    *started_event_id = c->started_event_id;
    step_event(s, type, attributes, NULL);
    child_remove(s, c);
    task_schedule(s);
}

static void child_reapply_start(struct step *s,
                                const History__ChildWorkflowExecutionStartedEventAttributes *a) {
    struct child_birth birth = {.run_id = a->workflow_execution ? a->workflow_execution->run_id : "",
                                .namespace_name = a->namespace_,
                                .namespace_id = a->namespace_id,
                                .header = a->header};
    child_started(s, a->initiated_event_id, &birth);
}

#define REAPPLY_END(NAME, member)                                                                            \
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_##NAME: {                                                       \
        __typeof__(ev->member##_event_attributes) a = ev->member##_event_attributes;                         \
        child_reapply_end(s, a->initiated_event_id, &a->started_event_id, ev->event_type, a);                \
        break;                                                                                               \
    }

void child_reapply(struct step *s, const History__HistoryEvent *ev) {
    switch ((int)ev->event_type) {
    case EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
        child_reapply_start(s, ev->child_workflow_execution_started_event_attributes);
        break;
    case EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
        child_start_failed(s, ev->start_child_workflow_execution_failed_event_attributes->initiated_event_id,
                           ev->start_child_workflow_execution_failed_event_attributes->cause);
        break;
        REAPPLY_END(COMPLETED, child_workflow_execution_completed)
        REAPPLY_END(FAILED, child_workflow_execution_failed)
        REAPPLY_END(CANCELED, child_workflow_execution_canceled)
        REAPPLY_END(TIMED_OUT, child_workflow_execution_timed_out)
        REAPPLY_END(TERMINATED, child_workflow_execution_terminated)
    default:
        break;
    }
}

void child_go(struct step *s) {
    State__Execution *st = s->st;
    if (!st->is_first_task_held)
        return;
    st->is_first_task_held = false;
    if (run_is_open(st) && !st->first_task_due_us)
        task_schedule(s);
}

/* The run has nothing to do with it any more, but it is still described. */
static void leave_child(struct step *s, State__Child *c) {
    State__Child *left = pb_clone(&c->base, &s->failed);
    if (left)
        pb_append_message(&s->st->n_left_children, &s->st->left_children, left, &s->failed);
    child_remove(s, c);
}

void child_hand_over(struct step *s) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_children;) {
        if (st->children[i]->is_started)
            leave_child(s, st->children[i]);
        else
            i++;
    }
}

void child_say_goodbye(struct step *s) {
    State__Execution *st = s->st;
    for (size_t i = 0; i < st->n_children;) {
        State__Child *c = st->children[i];
        if (!c->is_started) {
            i++; /* the answer to its letter settles it */
            continue;
        }
        if (c->parent_close_policy == PARENT_CLOSE_POLICY_TERMINATE)
            letter_send(s, LETTER_TERMINATE_CHILD, c->workflow_id, c->run_id, 0);
        else if (c->parent_close_policy == PARENT_CLOSE_POLICY_REQUEST_CANCEL)
            letter_send(s, LETTER_CANCEL_CHILD, c->workflow_id, c->run_id, 0);
        leave_child(s, c);
    }
    bool goes_on = !cstr_is_empty(st->new_run_id) || !cstr_is_empty(st->reset_run_id);
    if (st->parent && !goes_on)
        letter_send(s, LETTER_CHILD_CLOSED, st->parent->workflow_id, st->parent->run_id,
                    st->parent->initiated_event_id);
}
