/* One function for each command. Each validates, then writes its event and
 * changes the state. An error fails the whole workflow task with a cause that
 * names the command, and leaves nothing behind. */
#include "core/run/command.h"

#include "core/activity/activity.h"
#include "core/search/attributes.h"
#include "core/run/chain.h"
#include "core/run/child.h"
#include "core/run/external.h"
#include "core/step/failure.h"
#include "core/step/merge.h"
#include "core/run/run.h"
#include "core/run/task.h"
#include "core/run/timer.h"
#include "core/run/update.h"

struct command_call {
    struct step *s;
    int64_t completed_event_id;
    const Command__Command *cmd;
    struct command_effects *fx;
};

static int command_refuse(struct command_call *c, E__WorkflowTaskFailedCause cause, const char *text) {
    c->s->task_failed_cause = cause;
    return err_set(c->s->err, ERR_INVALID, "%s", text);
}

/* A worker must look at what arrived before it may close the run. What its own commands brought about it
 * need not see. */
static int refuse_unseen_events(struct command_call *c) {
    if (c->s->st->n_buffered == c->s->held_count)
        return 0;
    c->s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;
    return err_std(c->s->err, ERR_UNHANDLED_COMMAND);
}

static int apply_complete(struct command_call *c) {
    const Command__CompleteWorkflowExecutionCommandAttributes *in =
        c->cmd->complete_workflow_execution_command_attributes;
    int rc = refuse_unseen_events(c);
    if (rc < 0)
        return rc;
    struct chain_sequel sequel = chain_after(c->s, NULL);
    History__WorkflowExecutionCompletedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES__INIT;
    a.result = in->result;
    a.workflow_task_completed_event_id = c->completed_event_id;
    a.new_execution_run_id = sequel.run_id.s;
    step_event(c->s, EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, &a, NULL);
    rc = chain_begin(c->s, &sequel, in->result, NULL);
    run_close(c->s, WORKFLOW_EXECUTION_STATUS_COMPLETED);
    c->fx->is_closed = true;
    return rc;
}

static int apply_fail(struct command_call *c) {
    const Command__FailWorkflowExecutionCommandAttributes *in =
        c->cmd->fail_workflow_execution_command_attributes;
    int rc = refuse_unseen_events(c);
    if (rc < 0)
        return rc;
    if (!in->failure)
        return command_refuse(c, WORKFLOW_TASK_FAILED_CAUSE_BAD_FAIL_WORKFLOW_EXECUTION_ATTRIBUTES,
                              "Failure is not set on FailWorkflowExecutionCommand.");
    struct chain_sequel sequel = chain_after(c->s, in->failure);
    History__WorkflowExecutionFailedEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES__INIT;
    a.failure = in->failure;
    a.retry_state = sequel.retry_state;
    a.workflow_task_completed_event_id = c->completed_event_id;
    a.new_execution_run_id = sequel.run_id.s;
    step_event(c->s, EVENT_TYPE_WORKFLOW_EXECUTION_FAILED, &a, NULL);
    rc = chain_begin(c->s, &sequel, NULL, in->failure);
    run_close(c->s, WORKFLOW_EXECUTION_STATUS_FAILED);
    c->fx->is_closed = true;
    return rc;
}

static int apply_cancel(struct command_call *c) {
    const Command__CancelWorkflowExecutionCommandAttributes *in =
        c->cmd->cancel_workflow_execution_command_attributes;
    int rc = refuse_unseen_events(c);
    if (rc < 0)
        return rc;
    History__WorkflowExecutionCanceledEventAttributes a =
        HISTORY__WORKFLOW_EXECUTION_CANCELED_EVENT_ATTRIBUTES__INIT;
    a.details = in->details;
    a.workflow_task_completed_event_id = c->completed_event_id;
    step_event(c->s, EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED, &a, NULL);
    run_close(c->s, WORKFLOW_EXECUTION_STATUS_CANCELED);
    c->fx->is_closed = true;
    return 0;
}

static int apply_continue_as_new(struct command_call *c) {
    int rc = refuse_unseen_events(c);
    if (rc == 0)
        rc = chain_continue_as_new(c->s, c->completed_event_id, c->cmd);
    c->fx->is_closed = rc == 0;
    return rc;
}

static int apply_start_child(struct command_call *c) {
    return child_initiate(c->s, c->completed_event_id, c->cmd);
}

static int apply_signal_external(struct command_call *c) {
    return external_signal(c->s, c->completed_event_id, c->cmd);
}

static int apply_cancel_external(struct command_call *c) {
    return external_cancel(c->s, c->completed_event_id, c->cmd);
}

static int apply_schedule_activity(struct command_call *c) {
    return activity_schedule(c->s, c->completed_event_id, c->cmd);
}

static int apply_cancel_activity(struct command_call *c) {
    return activity_request_cancel(
        c->s, c->completed_event_id,
        c->cmd->request_cancel_activity_task_command_attributes->scheduled_event_id);
}

static int apply_start_timer(struct command_call *c) {
    return timer_start(c->s, c->completed_event_id, c->cmd->start_timer_command_attributes);
}

static int apply_cancel_timer(struct command_call *c) {
    return timer_cancel(c->s, c->completed_event_id, c->cmd->cancel_timer_command_attributes);
}

static int apply_marker(struct command_call *c) {
    const Command__RecordMarkerCommandAttributes *in = c->cmd->record_marker_command_attributes;
    if (cstr_is_empty(in->marker_name))
        return command_refuse(c, WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES,
                              "MarkerName is not set on RecordMarkerCommand.");
    if (strlen(in->marker_name) > LIMIT_ID_BYTES)
        return command_refuse(c, WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES,
                              "MarkerName on RecordMarkerCommand exceeds length limit.");
    size_t n = in->n_details;
    History__MarkerRecordedEventAttributes a = HISTORY__MARKER_RECORDED_EVENT_ATTRIBUTES__INIT;
    History__MarkerRecordedEventAttributes__DetailsEntry *entries =
        arena_array(c->s->arena, History__MarkerRecordedEventAttributes__DetailsEntry, n);
    History__MarkerRecordedEventAttributes__DetailsEntry **details =
        arena_array(c->s->arena, History__MarkerRecordedEventAttributes__DetailsEntry *, n);
    if (n && (!entries || !details))
        return err_std(c->s->err, ERR_NO_MEMORY);
    for (size_t i = 0; i < n; i++) {
        history__marker_recorded_event_attributes__details_entry__init(&entries[i]);
        entries[i].key = in->details[i]->key;
        entries[i].value = in->details[i]->value;
        details[i] = &entries[i];
    }
    a.marker_name = in->marker_name;
    a.n_details = n;
    a.details = details;
    a.header = in->header;
    a.failure = in->failure;
    a.workflow_task_completed_event_id = c->completed_event_id;
    step_event(c->s, EVENT_TYPE_MARKER_RECORDED, &a, NULL);
    return 0;
}

static int apply_search_attributes(struct command_call *c) {
    Common__SearchAttributes *in =
        c->cmd->upsert_workflow_search_attributes_command_attributes->search_attributes;
    if (!in || in->n_indexed_fields == 0)
        return command_refuse(c, WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES,
                              "SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand.");
    int rc = attributes_validate(c->s->ctx.space, in, c->s->err);
    if (rc < 0) {
        c->s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES;
        return rc;
    }
    History__UpsertWorkflowSearchAttributesEventAttributes a =
        HISTORY__UPSERT_WORKFLOW_SEARCH_ATTRIBUTES_EVENT_ATTRIBUTES__INIT;
    a.search_attributes = in;
    a.workflow_task_completed_event_id = c->completed_event_id;
    step_event(c->s, EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, &a, NULL);
    merge_search_attributes(c->s, in);
    return 0;
}

static int apply_modify_properties(struct command_call *c) {
    Common__Memo *in = c->cmd->modify_workflow_properties_command_attributes->upserted_memo;
    if (!in || in->n_fields == 0)
        return command_refuse(c, WORKFLOW_TASK_FAILED_CAUSE_BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES,
                              "UpsertedMemo is not set on ModifyWorkflowPropertiesCommand.");
    History__WorkflowPropertiesModifiedEventAttributes a =
        HISTORY__WORKFLOW_PROPERTIES_MODIFIED_EVENT_ATTRIBUTES__INIT;
    a.upserted_memo = in;
    a.workflow_task_completed_event_id = c->completed_event_id;
    step_event(c->s, EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED, &a, NULL);
    merge_memo(c->s, in);
    return 0;
}

static int apply_message(struct command_call *c) {
    return update_apply_named(c->s, c->fx->inbox, c->cmd->protocol_message_command_attributes->message_id);
}

/* type, the attributes it must carry, what does it */
static const struct command_rule {
    E__CommandType type;
    Command__Command__AttributesCase attributes;
    bool closes;
    int (*apply)(struct command_call *c);
} command_rules[] = {
#define COMMAND(name, closes, fn)                                                                            \
    {COMMAND_TYPE_##name, COMMAND__COMMAND__ATTRIBUTES_##name##_COMMAND_ATTRIBUTES, closes, fn},
#include "core/run/commands.def"
#undef COMMAND
};

static const struct command_rule *command_rule(const Command__Command *cmd) {
    for (size_t i = 0; i < ARRAY_LEN(command_rules); i++)
        if (command_rules[i].type == cmd->command_type)
            return &command_rules[i];
    return NULL;
}

bool command_closes(const Command__Command *cmd) {
    const struct command_rule *rule = command_rule(cmd);
    return rule && rule->closes;
}

int command_apply(struct step *s, int64_t completed_event_id, const Command__Command *cmd,
                  struct command_effects *fx) {
    struct command_call c = {.s = s, .completed_event_id = completed_event_id, .cmd = cmd, .fx = fx};
    const struct command_rule *rule = command_rule(cmd);
    if (!rule || !rule->apply) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_FEATURE_DISABLED;
        const ProtobufCEnumValue *v =
            protobuf_c_enum_descriptor_get_value(&e__command_type__descriptor, (int)cmd->command_type);
        return err_set(s->err, ERR_INVALID, "command %s is not supported by this server",
                       v ? v->name : "of an unknown type");
    }
    if (cmd->attributes_case != rule->attributes) {
        s->task_failed_cause = WORKFLOW_TASK_FAILED_CAUSE_UNSPECIFIED;
        return err_set(s->err, ERR_INVALID, "The attributes of a command do not fit its type.");
    }
    if (rule->type != COMMAND_TYPE_PROTOCOL_MESSAGE) /* the events of an update are the message's */
        s->command = cmd;
    int rc = rule->apply(&c);
    s->command = NULL;
    return rc == 0 ? command_check_size(s, cmd) : rc;
}

const char *command_cause_name(E__WorkflowTaskFailedCause cause) {
    switch ((int)cause) {
#define CAUSE(name, text)                                                                                    \
    case WORKFLOW_TASK_FAILED_CAUSE_##name:                                                                  \
        return text;
#include "core/run/causes.def"
#undef CAUSE
    default:
        return "BadCommand";
    }
}
