/* Executions as the dialect shows them, and requests about them. */
#include "mistral/execution.h"

#include "core/step/pb.h"
#include "mistral/member.h"
#include "mistral/payload.h"
#include "names.h"

#define CAUSES_MAX 5

Common__WorkflowExecution *execution_ref(struct arena *a, const char *workflow_id, const char *run_id) {
    Common__WorkflowExecution *e = dialog_new_message(a, &common__workflow_execution__descriptor);
    if (e) {
        e->workflow_id = dialog_copy_text(a, str_of(workflow_id));
        e->run_id = dialog_copy_text(a, str_of(run_id));
    }
    return e;
}

Ws__GetWorkflowExecutionHistoryRequest *execution_history_request(struct dialog *x, struct arena *a,
                                                                  const char *workflow_id, const char *run_id,
                                                                  ProtobufCBinaryData token) {
    Ws__GetWorkflowExecutionHistoryRequest *q =
        dialog_new_message(a, &ws__get_workflow_execution_history_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = dialog_copy_text(a, str_of(x->namespace));
    q->execution = execution_ref(a, workflow_id, run_id);
    q->next_page_token =
        (ProtobufCBinaryData){token.len, token.len ? arena_dup(a, token.data, token.len) : NULL};
    return q;
}

void execution_ask_description(struct dialog *x, const char *workflow_id, const char *run_id,
                               dialog_step *next) {
    Ws__DescribeWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__describe_workflow_execution_request__descriptor);
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->execution = execution_ref(&x->arena, workflow_id, run_id);
    }
    dialog_ask(x, q ? &q->base : NULL, next);
}

const char *execution_status(E__WorkflowExecutionStatus status) {
    static const char *const words[] = {
        [WORKFLOW_EXECUTION_STATUS_RUNNING] = "RUNNING",
        [WORKFLOW_EXECUTION_STATUS_COMPLETED] = "COMPLETED",
        [WORKFLOW_EXECUTION_STATUS_FAILED] = "FAILED",
        [WORKFLOW_EXECUTION_STATUS_CANCELED] = "CANCELED",
        [WORKFLOW_EXECUTION_STATUS_TERMINATED] = "TERMINATED",
        [WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW] = "CONTINUED_AS_NEW",
        [WORKFLOW_EXECUTION_STATUS_TIMED_OUT] = "TIMED_OUT",
        [WORKFLOW_EXECUTION_STATUS_PAUSED] = "RUNNING", /* the dialect knows no pause */
    };
    return (size_t)status < ARRAY_LEN(words) ? words[status] : NULL;
}

void execution_write(struct dialog *x, const Workflow__WorkflowExecutionInfo *info) {
    struct json_writer *w = &x->w;
    const char *type = info->type ? info->type->name : "", *id = info->execution->workflow_id;
    const char *root = info->root_execution ? info->root_execution->workflow_id : id;
    writer_key(w, STR("workflow_name"));
    writer_string(w, str_of(type));
    member_write_text(w, "workflow_id", type);
    member_write_text(w, "deployment_name", info->task_queue);
    member_write_text(w, "execution_id", id);
    member_write_text(w, "parent_execution_id",
                      info->parent_execution ? info->parent_execution->workflow_id : NULL);
    member_write_text(w, "root_execution_id", cstr_is_empty(root) ? id : root);
    member_write_text(w, "run_id", info->execution->run_id);
    member_write_null(w, "user_id");
    member_write_text(w, "status", execution_status(info->status));
    member_write_time(w, "start_time", info->start_time);
    member_write_time(w, "end_time", info->close_time);
    if (info->close_time && info->start_time)
        member_write_whole(w, "total_duration_ms",
                           pb_timestamp_us(info->close_time) / USEC_PER_MS -
                               pb_timestamp_us(info->start_time) / USEC_PER_MS);
    else
        member_write_null(w, "total_duration_ms");
}

void execution_write_result(struct dialog *x, const Common__Payloads *result) {
    writer_key(&x->w, STR("result"));
    payload_write(&x->w, result);
}

const char *execution_failure_text(struct arena *a, const Failure__Failure *f) {
    const char *text = f && !cstr_is_empty(f->message) ? f->message : "";
    for (int i = 0; f && f->cause && i < CAUSES_MAX; i++) {
        f = f->cause;
        const char *longer = cstr_is_empty(f->message)
                                 ? text
                                 : arena_printf(a, "%s%s%s", text, cstr_is_empty(text) ? "" : ": ", f->message);
        text = longer ? longer : text;
    }
    return cstr_is_empty(text) ? "no reason was given" : text;
}

const char *execution_next_run(const History__HistoryEvent *e) {
    switch (e->attributes_case) {
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_CONTINUED_AS_NEW_EVENT_ATTRIBUTES:
        return e->workflow_execution_continued_as_new_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES:
        return e->workflow_execution_completed_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES:
        return e->workflow_execution_failed_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES:
        return e->workflow_execution_timed_out_event_attributes->new_execution_run_id;
    default: /* no other event names a next run */
        return "";
    }
}
