/* An initiated event and a letter; when the letter is answered, the event that
 * says how it went. The target is another run of the same server, possibly this one's child. */
#include "core/run/external.h"

#include "core/message/letter.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/step/validate.h"

struct target {
    const char *namespace_name;
    const char *workflow_id;
    const char *run_id;
    const char *control;
};

static int external_validate_target(struct step *s, const struct target *t, E__WorkflowTaskFailedCause bad) {
    struct uuid run_id;
    const char *text = NULL;
    if (!cstr_is_empty(t->namespace_name) && !cstr_eq(t->namespace_name, s->ctx.namespace_name))
        text = "cross namespace commands are not allowed";
    else if (cstr_is_empty(t->workflow_id))
        text = "Required field WorkflowId is not set on the command.";
    else if (strlen(t->workflow_id) > LIMIT_ID_BYTES)
        text = "WorkflowId on the command exceeds length limit.";
    else if (!cstr_is_empty(t->run_id) && uuid_parse(str_of(t->run_id), &run_id) < 0)
        text = "Invalid RunId set on the command.";
    if (!text)
        return 0;
    s->task_failed_cause = bad;
    return err_set(s->err, ERR_INVALID, "%s", text);
}

static size_t external_count_pending(const State__Execution *st, bool is_signal) {
    size_t n = 0;
    for (size_t i = 0; i < st->n_externals; i++)
        n += st->externals[i]->is_signal == is_signal;
    return n;
}

static void external_add_pending(struct step *s, int64_t event_id, const struct target *t, bool is_signal) {
    State__External *x = pb_new(&state__external__descriptor, &s->failed);
    if (!x)
        return;
    x->initiated_event_id = event_id;
    x->is_signal = is_signal;
    pb_set_string(&x->workflow_id, t->workflow_id, &s->failed);
    pb_set_string(&x->run_id, t->run_id, &s->failed);
    pb_set_string(&x->control, t->control, &s->failed);
    pb_append_message(&s->st->n_externals, &s->st->externals, x, &s->failed);
    letter_send(s, is_signal ? LETTER_SIGNAL : LETTER_CANCEL, t->workflow_id, t->run_id, event_id);
}

int external_signal(struct step *s, int64_t completed_event_id, const Command__Command *cmd) {
    const Command__SignalExternalWorkflowExecutionCommandAttributes *in =
        cmd->signal_external_workflow_execution_command_attributes;
    const E__WorkflowTaskFailedCause bad =
        WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES;
    struct target t = {in->namespace_, in->execution ? in->execution->workflow_id : "",
                       in->execution ? in->execution->run_id : "", in->control};
    int rc = external_validate_target(s, &t, bad);
    if (rc == 0 && cstr_is_empty(in->signal_name)) {
        s->task_failed_cause = bad;
        rc = err_set(s->err, ERR_INVALID, "Required field SignalName is not set on the command.");
    }
    if (rc == 0 && (int64_t)external_count_pending(s->st, true) >= step_limit(s, SETTABLE_PENDING_SIGNALS)) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_PENDING_SIGNALS_LIMIT_EXCEEDED;
        rc = err_set(s->err, ERR_INVALID,
                     "the number of pending signals to external workflows has reached the limit");
    }
    if (rc < 0)
        return rc;
    History__SignalExternalWorkflowExecutionInitiatedEventAttributes a =
        HISTORY__SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED_EVENT_ATTRIBUTES__INIT;
    a.workflow_task_completed_event_id = completed_event_id;
    a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
    a.namespace_id = s->st->namespace_id;
    a.workflow_execution = in->execution;
    a.signal_name = in->signal_name;
    a.input = in->input;
    a.control = in->control;
    a.child_workflow_only = in->child_workflow_only;
    a.header = in->header;
    int64_t id = step_event(s, EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, &a, NULL);
    external_add_pending(s, id, &t, true);
    return 0;
}

/* A worker that no longer wants a child leaves out the command that would have started it. */
static int external_refuse_new_child(struct step *s, int64_t completed_event_id, const struct target *t) {
    for (size_t i = 0; i < s->st->n_children; i++) {
        const State__Child *c = s->st->children[i];
        if (c->initiated_event_id <= completed_event_id || !cstr_eq(c->workflow_id, t->workflow_id))
            continue;
        s->task_failed_cause =
            WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES;
        return err_set(s->err, ERR_INVALID,
                       "Start and RequestCancel for child workflow is not allowed in same workflow task. "
                       "WorkflowId=%s RunId=%s Namespace=%s",
                       t->workflow_id, t->run_id, t->namespace_name);
    }
    return 0;
}

int external_cancel(struct step *s, int64_t completed_event_id, const Command__Command *cmd) {
    const Command__RequestCancelExternalWorkflowExecutionCommandAttributes *in =
        cmd->request_cancel_external_workflow_execution_command_attributes;
    struct target t = {in->namespace_, in->workflow_id, in->run_id, NULL};
    int rc = external_validate_target(
        s, &t, WORKFLOW_TASK_FAILED_CAUSE_BAD_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_ATTRIBUTES);
    if (rc == 0)
        rc = external_refuse_new_child(s, completed_event_id, &t);
    if (rc == 0 && (int64_t)external_count_pending(s->st, false) >= step_limit(s, SETTABLE_PENDING_CANCELS)) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_PENDING_REQUEST_CANCEL_LIMIT_EXCEEDED;
        rc = err_set(s->err, ERR_INVALID, "the number of pending cancel requests has reached the limit");
    }
    if (rc < 0)
        return rc;
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    ex.workflow_id = in->workflow_id;
    ex.run_id = in->run_id;
    History__RequestCancelExternalWorkflowExecutionInitiatedEventAttributes a =
        HISTORY__REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED_EVENT_ATTRIBUTES__INIT;
    a.workflow_task_completed_event_id = completed_event_id;
    a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
    a.namespace_id = s->st->namespace_id;
    a.workflow_execution = &ex;
    a.control = in->control;
    a.child_workflow_only = in->child_workflow_only;
    a.reason = in->reason;
    int64_t id = step_event(s, EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED, &a, NULL);
    external_add_pending(s, id, &t, false);
    return 0;
}

/* How it went */

static void external_write_signal(struct step *s, const State__External *x, Common__WorkflowExecution *ex,
                                  int cause) {
    if (!cause) {
        History__ExternalWorkflowExecutionSignaledEventAttributes a =
            HISTORY__EXTERNAL_WORKFLOW_EXECUTION_SIGNALED_EVENT_ATTRIBUTES__INIT;
        a.initiated_event_id = x->initiated_event_id;
        a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
        a.namespace_id = s->st->namespace_id;
        a.workflow_execution = ex;
        a.control = x->control;
        step_event(s, EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_SIGNALED, &a, NULL);
        return;
    }
    History__SignalExternalWorkflowExecutionFailedEventAttributes a =
        HISTORY__SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES__INIT;
    a.cause = (E__SignalExternalWorkflowExecutionFailedCause)cause;
    a.initiated_event_id = x->initiated_event_id;
    a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
    a.namespace_id = s->st->namespace_id;
    a.workflow_execution = ex;
    a.control = x->control;
    step_event(s, EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, &a, NULL);
}

static void external_write_cancel(struct step *s, const State__External *x, Common__WorkflowExecution *ex,
                                  int cause) {
    if (!cause) {
        History__ExternalWorkflowExecutionCancelRequestedEventAttributes a =
            HISTORY__EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED_EVENT_ATTRIBUTES__INIT;
        a.initiated_event_id = x->initiated_event_id;
        a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
        a.namespace_id = s->st->namespace_id;
        a.workflow_execution = ex;
        step_event(s, EVENT_TYPE_EXTERNAL_WORKFLOW_EXECUTION_CANCEL_REQUESTED, &a, NULL);
        return;
    }
    History__RequestCancelExternalWorkflowExecutionFailedEventAttributes a =
        HISTORY__REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES__INIT;
    a.cause = (E__CancelExternalWorkflowExecutionFailedCause)cause;
    a.initiated_event_id = x->initiated_event_id;
    a.namespace_ = (char *)(uintptr_t)s->ctx.namespace_name;
    a.namespace_id = s->st->namespace_id;
    a.workflow_execution = ex;
    step_event(s, EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_FAILED, &a, NULL);
}

void external_resolved(struct step *s, int64_t initiated_event_id, int cause) {
    State__Execution *st = s->st;
    size_t i = 0;
    while (i < st->n_externals && st->externals[i]->initiated_event_id != initiated_event_id)
        i++;
    if (i == st->n_externals)
        return;
    State__External *x = st->externals[i];
    if (!run_is_open(st)) {
        x->is_answered = true;
        x->cause = cause;
        return;
    }
    Common__WorkflowExecution ex = COMMON__WORKFLOW_EXECUTION__INIT;
    ex.workflow_id = x->workflow_id;
    ex.run_id = x->run_id;
    if (x->is_signal)
        external_write_signal(s, x, &ex, cause);
    else
        external_write_cancel(s, x, &ex, cause);
    pb_remove_message(&st->n_externals, st->externals, i);
    task_schedule(s);
}
