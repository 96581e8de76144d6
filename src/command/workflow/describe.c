/* `workflow describe`: the state of a run and, when it has closed, its closing event, which has the result.
 * In JSON both are one object.
 *
 * For an open run it also looks for causes why it does not progress: a task queue that no worker polls, or
 * a workflow task that keeps failing. Those extra calls are optional; a server that refuses them costs only
 * the warning. */
#include "command/connection.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "names.h"
#include "workflowservice.pb-c.h"

#define RECENT_EVENTS 50

static const char point_columns[] =
    "BinaryChecksum=binary_checksum|BuildId=build_id|CreateTime=create_time|RunId=run_id|"
    "EventId=first_workflow_task_completed_id";

static enum command_exit describe_show_points(struct command *c, const ProtobufCMessage *m, struct buf *out) {
    struct command_rule points = {c->rule->call, "workflow_execution_info.auto_reset_points.points",
                                  point_columns};
    c->rule = &points;
    view_begin(c, out);
    int rc = view_page(c, m, out);
    view_end(c, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

/* Fetches the closing event. NULL: the run is open, or its history has been deleted. */
static enum command_exit describe_find_close(struct command *c, const Workflow__WorkflowExecutionInfo *info,
                                             const ProtobufCMessage **ret) {
    ProtobufCMessage *m = NULL;
    *ret = NULL;
    if (!info || !info->close_time)
        return COMMAND_DONE;
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)request_new(c, CALL_GetWorkflowExecutionHistory);
    if (!q)
        return COMMAND_REFUSED;
    q->execution = info->execution;
    q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    struct connection_ask ask = {
        .method = CALL_GetWorkflowExecutionHistory, .request = &q->base, .expected = GRPC_NOT_FOUND};
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    const Ws__GetWorkflowExecutionHistoryResponse *r = (const void *)m;
    if (code == COMMAND_DONE && r && r->history && r->history->n_events)
        *ret = &r->history->events[r->history->n_events - 1]->base;
    return code;
}

static enum command_exit describe_show_close(struct command *c, const ProtobufCMessage *end,
                                             struct buf *out) {
    struct buf why cleanup(buf_done);
    struct object o;
    buf_init(&why, COMMAND_MEMORY_MAX);
    outcome_add_reason(&why, end);
    object_init(&o, c);
    outcome_add_close(&o, end);
    object_add_text(&o, "Failure", arena_strndup(&c->page, why.len ? (const char *)why.data : "", why.len));
    if (o.rows.count)
        buf_add_u8(out, '\n');
    return object_print(&o, out);
}

/* Warnings. */

#define WARNINGS_MAX 8

struct run_warning {
    const char *kind, *text;
};

struct run_warnings {
    struct run_warning v[WARNINGS_MAX];
    size_t n;
};

static void describe_add_warning(struct run_warnings *t, const char *kind, const char *text) {
    if (t->n < WARNINGS_MAX && text)
        t->v[t->n++] = (struct run_warning){kind, text};
}

static void describe_check_queue(struct command *c, const char *name, int type, struct run_warnings *t) {
    const char *what = type == TASK_QUEUE_TYPE_ACTIVITY ? ", which activities wait in" : "";
    if (!queue_is_polled(c, name, type))
        describe_add_warning(t, "no_poller",
                             arena_printf(&c->arena, "%s: no worker polls this queue%s", name, what));
}

/* Checks the task queue of each activity that is not started, each queue once. */
static void describe_check_activities(struct command *c, const Ws__DescribeWorkflowExecutionResponse *r,
                                      struct run_warnings *t) {
    for (size_t i = 0; i < r->n_pending_activities && t->n < WARNINGS_MAX; i++) {
        const Workflow__PendingActivityInfo *a = r->pending_activities[i];
        const char *name = a->activity_options && a->activity_options->task_queue
                               ? a->activity_options->task_queue->name
                               : "";
        bool is_seen = a->state != PENDING_ACTIVITY_STATE_SCHEDULED;
        for (size_t k = 0; k < i && !is_seen; k++) {
            const Activity__ActivityOptions *o = r->pending_activities[k]->activity_options;
            is_seen = o && o->task_queue && cstr_eq(o->task_queue->name, name);
        }
        if (!is_seen)
            describe_check_queue(c, name, TASK_QUEUE_TYPE_ACTIVITY, t);
    }
}

/* The event of the failed workflow task. Only the first failed attempt has an event; it is the last one in
 * the history. */
static const History__HistoryEvent *describe_find_failure(struct command *c,
                                                          const Workflow__WorkflowExecutionInfo *info) {
    Ws__GetWorkflowExecutionHistoryReverseRequest *q =
        (void *)request_new(c, CALL_GetWorkflowExecutionHistoryReverse);
    ProtobufCMessage *m = NULL;
    if (!q)
        return NULL;
    q->execution = info->execution;
    q->maximum_page_size = RECENT_EVENTS;
    struct connection_ask ask = {
        .method = CALL_GetWorkflowExecutionHistoryReverse, .request = &q->base, .is_quiet = true};
    if (connection_call(c, &ask, &c->arena, &m) != COMMAND_DONE || !m)
        return NULL;
    const History__History *h = ((const Ws__GetWorkflowExecutionHistoryReverseResponse *)m)->history;
    for (size_t i = 0; h && i < h->n_events; i++) {
        if (h->events[i]->event_type == EVENT_TYPE_WORKFLOW_TASK_FAILED ||
            h->events[i]->event_type == EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT)
            return h->events[i];
        if (h->events[i]->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED)
            return NULL;
    }
    return NULL;
}

/* "Started 3 seconds ago, attempt 3; failed: no such thing (NonDeterministicError)" */
static const char *describe_task_text(struct command *c, const Ws__DescribeWorkflowExecutionResponse *r) {
    const Workflow__PendingWorkflowTaskInfo *task = r->pending_workflow_task;
    struct buf text cleanup(buf_done);
    buf_init(&text, COMMAND_MEMORY_MAX);
    if (!task)
        return "";
    buf_printf(&text, "%s %s, attempt %d", view_text(c, &task->base, "state"),
               view_text(c, &task->base, task->started_time ? "started_time" : "scheduled_time"),
               task->attempt);
    const History__HistoryEvent *e =
        task->attempt > 1 ? describe_find_failure(c, r->workflow_execution_info) : NULL;
    if (e && e->event_type == EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) {
        buf_add_cstr(&text, "; an attempt before it timed out");
    } else if (e) {
        const History__WorkflowTaskFailedEventAttributes *failed = e->workflow_task_failed_event_attributes;
        buf_printf(&text, "; failed: ");
        if (failed->failure)
            outcome_add_failure(&text, &failed->failure->base);
        buf_printf(&text, " (%s)", view_text(c, &failed->base, "cause"));
    }
    return buf_ok(&text) ? arena_strndup(&c->arena, (const char *)text.data, text.len) : NULL;
}

static void describe_find_warnings(struct command *c, const Ws__DescribeWorkflowExecutionResponse *r,
                                   const char *task, struct run_warnings *t) {
    const Workflow__WorkflowExecutionInfo *info = r->workflow_execution_info;
    if (!info || info->status != WORKFLOW_EXECUTION_STATUS_RUNNING)
        return;
    describe_check_queue(c, info->task_queue, TASK_QUEUE_TYPE_WORKFLOW, t);
    describe_check_activities(c, r, t);
    if (r->pending_workflow_task && r->pending_workflow_task->attempt > 1)
        describe_add_warning(t, "failing_workflow_task",
                             arena_printf(&c->arena, "a workflow task is failing: %s", task));
}

/* Showing. */

/* "charge (1): Scheduled, attempt 3 of 5, next 10 seconds from now; failed: card refused" */
static const char *describe_activity_text(struct command *c, const Workflow__PendingActivityInfo *a) {
    struct buf text cleanup(buf_done);
    const ProtobufCMessage *m = &a->base;
    buf_init(&text, COMMAND_MEMORY_MAX);
    buf_printf(&text, "%s (%s): %s, attempt %d", view_text(c, m, "activity_type.name"), a->activity_id,
               a->paused ? "Paused" : view_text(c, m, "state"), a->attempt);
    if (a->maximum_attempts)
        buf_printf(&text, " of %d", a->maximum_attempts);
    if (a->state == PENDING_ACTIVITY_STATE_SCHEDULED && a->next_attempt_schedule_time)
        buf_printf(&text, ", next %s", view_text(c, m, "next_attempt_schedule_time"));
    else if (a->state == PENDING_ACTIVITY_STATE_SCHEDULED && a->scheduled_time)
        buf_printf(&text, ", scheduled %s", view_text(c, m, "scheduled_time"));
    if (a->state == PENDING_ACTIVITY_STATE_STARTED && a->last_started_time)
        buf_printf(&text, ", started %s", view_text(c, m, "last_started_time"));
    if (a->last_heartbeat_time)
        buf_printf(&text, ", heartbeat %s", view_text(c, m, "last_heartbeat_time"));
    if (a->last_failure)
        buf_printf(&text, "; failed: %s", view_text(c, m, "last_failure"));
    return buf_ok(&text) ? arena_strndup(&c->page, (const char *)text.data, text.len) : NULL;
}

static void describe_add_pending(struct command *c, struct card *d,
                                 const Ws__DescribeWorkflowExecutionResponse *r) {
    for (size_t i = 0; i < r->n_pending_activities; i++)
        card_add(d, i ? "" : "PendingActivities", describe_activity_text(c, r->pending_activities[i]));
    for (size_t i = 0; i < r->n_pending_children; i++)
        card_add(d, i ? "" : "PendingChildren",
                 arena_printf(&c->page, "%s: %s", r->pending_children[i]->workflow_type_name,
                              r->pending_children[i]->workflow_id));
}

static enum command_exit describe_show_card(struct command *c, const Ws__DescribeWorkflowExecutionResponse *r,
                                            const char *task, const struct run_warnings *t, struct buf *out) {
    static const struct card_line lines[] = {
        {"WorkflowId", "execution.workflow_id"},
        {"RunId", "execution.run_id"},
        {"Type", "type.name"},
        {"Status", "status"},
        {"TaskQueue", "task_queue"},
        {"ParentId", "parent_execution.workflow_id"},
        {"StartTime", "start_time"},
        {"CloseTime", "close_time"},
        {"Duration", "execution_duration"},
        {"HistoryLength", "history_length"},
        {"HistorySize", "history_size_bytes"},
        {"Deployment", "worker_deployment_name"},
        {"Priority", "priority"},
    };
    struct card d;
    card_init(&d, c, &c->page);
    if (r->workflow_execution_info) {
        const ProtobufCMessage *info = &r->workflow_execution_info->base;
        card_add_fields(&d, c, info, lines, ARRAY_LEN(lines));
        card_add_map(&d, c, "Memo", info, "memo.fields");
        card_add_map(&d, c, "SearchAttributes", info, "search_attributes.indexed_fields");
    }
    card_add(&d, "WorkflowTask", task);
    describe_add_pending(c, &d, r);
    for (size_t i = 0; i < t->n; i++)
        if (!cstr_eq(t->v[i].kind, "failing_workflow_task")) /* the line WorkflowTask shows it */
            card_add(&d, "Warning", t->v[i].text);
    return card_print(&d, out) < 0 ? COMMAND_REFUSED : COMMAND_DONE;
}

static void describe_print_warnings(struct object *o, const struct run_warnings *t) {
    struct buf json cleanup(buf_done);
    buf_init(&json, COMMAND_MEMORY_MAX);
    for (size_t i = 0; i < t->n; i++) {
        buf_add_cstr(&json, i ? ", {\"kind\": " : "[{\"kind\": ");
        opt_json_string(&json, t->v[i].kind);
        buf_add_cstr(&json, ", \"text\": ");
        opt_json_string(&json, t->v[i].text);
        buf_add_u8(&json, '}');
    }
    buf_add_cstr(&json, t->n ? "]" : "");
    if (t->n)
        object_add_json(o, "Warnings", buf_str(&json));
}

enum command_exit workflow_describe_run(struct command *c, struct buf *out) {
    struct connection_ask ask = {.method = c->rule->call, .request = c->request};
    bool is_raw = opt_named_flag(c->args, "raw");
    struct run_warnings warnings = {0};
    const ProtobufCMessage *end;
    ProtobufCMessage *m;
    struct object o;
    if (is_raw && c->format == FORMAT_TABLE)
        c->format = FORMAT_JSON;
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    if (opt_named_flag(c->args, "reset-points"))
        return describe_show_points(c, m, out);
    const Ws__DescribeWorkflowExecutionResponse *r = (const void *)m;
    code = describe_find_close(c, r->workflow_execution_info, &end);
    if (code != COMMAND_DONE)
        return code;
    const char *task = is_raw ? "" : describe_task_text(c, r);
    if (!task) {
        command_print_error("out of memory");
        return COMMAND_REFUSED;
    }
    if (!is_raw)
        describe_find_warnings(c, r, task, &warnings);
    if (c->format == FORMAT_TABLE) {
        code = describe_show_card(c, r, task, &warnings, out);
        return code == COMMAND_DONE && end ? describe_show_close(c, end, out) : code;
    }
    object_init(&o, c);
    object_add_members(&o, m);
    describe_print_warnings(&o, &warnings);
    if (end)
        outcome_add_close(&o, end);
    return object_print(&o, out);
}
