/* How much a command may carry.
 *
 * A worker that sends too much would send the same again when its task is
 * tried again, so the run is terminated, with a reason that names the field. */
#include "core/search/attributes.h"
#include "core/run/command.h"

static int size_refuse(struct step *s, E__WorkflowTaskFailedCause cause) {
    s->task_failed_cause = cause;
    s->is_task_failure_final = true;
    return ERR_INVALID;
}

static int size_refuse_field(struct step *s, E__WorkflowTaskFailedCause cause, const char *field) {
    err_set(s->err, ERR_INVALID, "%s exceeds size limit.", field);
    return size_refuse(s, cause);
}

static int size_check_blob(struct step *s, E__WorkflowTaskFailedCause cause, const void *message,
                           const char *field) {
    return step_blob_fits(s, message, field) ? 0 : size_refuse_field(s, cause, field);
}

static int size_check_memo(struct step *s, E__WorkflowTaskFailedCause cause, const void *memo,
                           const char *field) {
    bool fits = step_fits(s, memo, field, SETTABLE_MEMO_BYTES, SETTABLE_MEMO_BYTES_WARN);
    return fits ? 0 : size_refuse_field(s, cause, field);
}

static int size_check_attributes(struct step *s, E__WorkflowTaskFailedCause cause,
                                 const Common__SearchAttributes *a) {
    return attributes_check_size(s->limits, a, s->err) < 0 ? size_refuse(s, cause) : 0;
}

static int size_check_marker(struct step *s, const Command__RecordMarkerCommandAttributes *in) {
    static const char field[] = "RecordMarkerCommandAttributes.Details";
    int64_t total = 0;
    for (size_t i = 0; i < in->n_details; i++)
        total += (int64_t)protobuf_c_message_get_packed_size(&in->details[i]->base);
    if (total > step_limit(s, SETTABLE_BLOB_BYTES_WARN))
        step_notice(s, NOTICE_PAYLOAD_LARGE, field, total);
    if (total <= step_limit(s, SETTABLE_BLOB_BYTES))
        return 0;
    return size_refuse_field(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES, field);
}

static int size_check_continue(struct step *s,
                               const Command__ContinueAsNewWorkflowExecutionCommandAttributes *in) {
    const E__WorkflowTaskFailedCause bad = WORKFLOW_TASK_FAILED_CAUSE_BAD_CONTINUE_AS_NEW_ATTRIBUTES;
    int rc = size_check_blob(s, bad, in->input, "ContinueAsNewWorkflowExecutionCommandAttributes.Input");
    if (rc == 0)
        rc = size_check_memo(s, bad, in->memo, "ContinueAsNewWorkflowExecutionCommandAttributes.Memo");
    return rc == 0 ? size_check_attributes(s, bad, in->search_attributes) : rc;
}

static int size_check_child(struct step *s, const Command__StartChildWorkflowExecutionCommandAttributes *in) {
    const E__WorkflowTaskFailedCause bad = WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES;
    int rc = size_check_blob(s, bad, in->input, "StartChildWorkflowExecutionCommandAttributes.Input");
    if (rc == 0)
        rc = size_check_memo(s, bad, in->memo, "StartChildWorkflowExecutionCommandAttributes.Memo");
    return rc == 0 ? size_check_attributes(s, bad, in->search_attributes) : rc;
}

/* What the command carries must fit, and what it adds up to with what was there. */
static int size_check_upsert(struct step *s,
                             const Command__UpsertWorkflowSearchAttributesCommandAttributes *in) {
    const E__WorkflowTaskFailedCause bad = WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES;
    int rc =
        size_check_blob(s, bad, in->search_attributes, "UpsertWorkflowSearchAttributesCommandAttributes");
    if (rc == 0)
        rc = size_check_attributes(s, bad, in->search_attributes);
    if (rc == 0 && attributes_check_total(s->limits, s->st->search_attributes, s->err) < 0)
        return size_refuse(s, bad);
    return rc;
}

static int size_check_properties(struct step *s,
                                 const Command__ModifyWorkflowPropertiesCommandAttributes *in) {
    const E__WorkflowTaskFailedCause bad =
        WORKFLOW_TASK_FAILED_CAUSE_BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES;
    int rc = size_check_blob(s, bad, in->upserted_memo, "ModifyWorkflowPropertiesCommandAttributes");
    if (rc < 0)
        return rc;
    return size_check_memo(s, bad, s->st->memo, "ModifyWorkflowPropertiesCommandAttributes.UpsertedMemo");
}

int command_check_size(struct step *s, const Command__Command *cmd) {
    switch ((int)cmd->command_type) {
    case COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK:
        return size_check_blob(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_SCHEDULE_ACTIVITY_ATTRIBUTES,
                               cmd->schedule_activity_task_command_attributes->input,
                               "ScheduleActivityTaskCommandAttributes.Input");
    case COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION:
        return size_check_blob(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_COMPLETE_WORKFLOW_EXECUTION_ATTRIBUTES,
                               cmd->complete_workflow_execution_command_attributes->result,
                               "CompleteWorkflowExecutionCommandAttributes.Result");
    case COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION:
        return size_check_blob(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_FAIL_WORKFLOW_EXECUTION_ATTRIBUTES,
                               cmd->fail_workflow_execution_command_attributes->failure,
                               "FailWorkflowExecutionCommandAttributes.Failure");
    case COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION:
        return size_check_blob(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_CANCEL_WORKFLOW_EXECUTION_ATTRIBUTES,
                               cmd->cancel_workflow_execution_command_attributes->details,
                               "CancelWorkflowExecutionCommandAttributes.Details");
    case COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION:
        return size_check_blob(s, WORKFLOW_TASK_FAILED_CAUSE_BAD_SIGNAL_WORKFLOW_EXECUTION_ATTRIBUTES,
                               cmd->signal_external_workflow_execution_command_attributes->input,
                               "SignalExternalWorkflowExecutionCommandAttributes.Input");
    case COMMAND_TYPE_RECORD_MARKER:
        return size_check_marker(s, cmd->record_marker_command_attributes);
    case COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION:
        return size_check_continue(s, cmd->continue_as_new_workflow_execution_command_attributes);
    case COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION:
        return size_check_child(s, cmd->start_child_workflow_execution_command_attributes);
    case COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
        return size_check_upsert(s, cmd->upsert_workflow_search_attributes_command_attributes);
    case COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES:
        return size_check_properties(s, cmd->modify_workflow_properties_command_attributes);
    default: /* carries no payload, or one that is checked where it is read */
        return 0;
    }
}
