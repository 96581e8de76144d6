/* Executions as the dialect shows them, and how they end.
 *
 * The end is the close event of the history, which the server waits for in
 * rounds; a run that another one follows has not ended the execution. */
#include "mistral/execution.h"

#include "base/uuid.h"
#include "core/step/pb.h"
#include "host/loop.h"
#include "mistral/payload.h"
#include "names.h"

#define DEADLINE_MARGIN_US (300 * USEC_PER_MS) /* the server answers a little before a deadline */
#define CAUSES_MAX 5

char *own_text(struct dialog *x, struct str text) {
    return message_text(&x->arena, text);
}

char *own_namespace(struct dialog *x) {
    return own_text(x, str_of(x->namespace));
}

char *own_identity(struct dialog *x) {
    return own_text(x, STR(IDENTITY));
}

char *new_id(struct dialog *x) {
    struct uuid_text id = uuid_format(uuid_random(&x->m->rng));
    return arena_strdup(&x->arena, id.s);
}

Common__WorkflowExecution *execution_of(struct arena *a, const char *workflow_id, const char *run_id) {
    Common__WorkflowExecution *e = message_new(a, &common__workflow_execution__descriptor);
    if (e) {
        e->workflow_id = message_text(a, str_of(workflow_id));
        e->run_id = message_text(a, str_of(run_id));
    }
    return e;
}

Ws__GetWorkflowExecutionHistoryRequest *history_request(struct dialog *x, struct arena *a,
                                                        const char *workflow_id, const char *run_id,
                                                        ProtobufCBinaryData token) {
    Ws__GetWorkflowExecutionHistoryRequest *q =
        message_new(a, &ws__get_workflow_execution_history_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = message_text(a, str_of(x->namespace));
    q->execution = execution_of(a, workflow_id, run_id);
    q->next_page_token =
        (ProtobufCBinaryData){token.len, token.len ? arena_dup(a, token.data, token.len) : NULL};
    return q;
}

/* Showing. */

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
    write_text(w, "workflow_id", type);
    write_text(w, "deployment_name", info->task_queue);
    write_text(w, "execution_id", id);
    write_text(w, "parent_execution_id", info->parent_execution ? info->parent_execution->workflow_id : NULL);
    write_text(w, "root_execution_id", strempty(root) ? id : root);
    write_text(w, "run_id", info->execution->run_id);
    write_null(w, "user_id");
    write_text(w, "status", execution_status(info->status));
    write_time(w, "start_time", info->start_time);
    write_time(w, "end_time", info->close_time);
    if (info->close_time && info->start_time)
        write_whole(w, "total_duration_ms",
                    pb_timestamp_us(info->close_time) / USEC_PER_MS -
                        pb_timestamp_us(info->start_time) / USEC_PER_MS);
    else
        write_null(w, "total_duration_ms");
}

void execution_write_result(struct dialog *x, const Common__Payloads *result) {
    writer_key(&x->w, STR("result"));
    payload_write(&x->w, result);
}

const char *failure_text(struct arena *a, const Failure__Failure *f) {
    const char *text = f && !strempty(f->message) ? f->message : "";
    for (int i = 0; f && f->cause && i < CAUSES_MAX; i++) {
        f = f->cause;
        const char *longer = strempty(f->message)
                                 ? text
                                 : arena_printf(a, "%s%s%s", text, strempty(text) ? "" : ": ", f->message);
        text = longer ? longer : text;
    }
    return strempty(text) ? "no reason was given" : text;
}

/* How it ended. */

const char *event_next_run(const History__HistoryEvent *e) {
    switch (e->attributes_case) {
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_CONTINUED_AS_NEW_EVENT_ATTRIBUTES:
        return e->workflow_execution_continued_as_new_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES:
        return e->workflow_execution_completed_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES:
        return e->workflow_execution_failed_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES:
        return e->workflow_execution_timed_out_event_attributes->new_execution_run_id;
    default: /* no other event has one */
        return "";
    }
}

static bool is_close(const History__HistoryEvent *e) {
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return true;
    default: /* it goes on after all others */
        return false;
    }
}

static void ask_for_end(struct dialog *x, ProtobufCBinaryData token);

static bool is_late(const struct dialog *x) {
    return x->deadline.us != CLOCK_NEVER && host_now().mono.us >= x->deadline.us - DEADLINE_MARGIN_US;
}

static void on_end(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct outcome *o = x->outcome;
    size_t n = r->history ? r->history->n_events : 0;
    const History__HistoryEvent *last = n ? r->history->events[n - 1] : NULL;
    if (last && is_close(last) && o->waits && !strempty(event_next_run(last))) {
        o->run_id = own_text(x, str_of(event_next_run(last)));
        ask_for_end(x, (ProtobufCBinaryData){0, NULL});
        return;
    }
    o->close = last && is_close(last) ? last : NULL;
    bool goes_on = !o->close && o->waits && !is_late(x) && !x->m->server.is_draining(x->m->server.ctx);
    if (goes_on)
        ask_for_end(x, r->next_page_token);
    else
        o->found(x);
}

/* A wait that the deadline ended is no error here. */
static void on_no_end(struct dialog *x) {
    if (x->err.code == ERR_DEADLINE && x->outcome->waits)
        x->outcome->found(x);
    else
        dialog_fail(x, &x->err);
}

static void ask_for_end(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_turn(x);
    struct outcome *o = x->outcome;
    Ws__GetWorkflowExecutionHistoryRequest *q = history_request(x, a, o->workflow_id, o->run_id, token);
    if (q) {
        q->wait_new_event = o->waits;
        q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    }
    dialog_try(x, q ? &q->base : NULL, on_end, on_no_end);
}

void outcome_find(struct dialog *x, struct outcome *o) {
    x->outcome = o;
    ask_for_end(x, (ProtobufCBinaryData){0, NULL});
}

const Common__Payloads *outcome_result(const struct outcome *o) {
    if (!o->close || o->close->event_type != EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED)
        return NULL;
    return o->close->workflow_execution_completed_event_attributes->result;
}

const char *outcome_text(struct arena *a, const struct outcome *o) {
    const History__HistoryEvent *e = o->close;
    const char *text = "Workflow execution did not complete";
    if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_FAILED)
        text = arena_printf(a, "Workflow execution failed: %s",
                            failure_text(a, e->workflow_execution_failed_event_attributes->failure));
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT)
        text = "Workflow execution timed out";
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED)
        text = "Workflow execution was cancelled";
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
        text = arena_printf(a, "Workflow execution was terminated: %s",
                            e->workflow_execution_terminated_event_attributes->reason);
    return text ? text : "Workflow execution did not complete";
}
