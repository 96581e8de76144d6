/* `workflow describe`: what the server says of a run and, when it has ended, the event that ended it, which
 * has the result. In JSON both are one object. */
#include "command/command_int.h"
#include "names.h"
#include "workflowservice.pb-c.h"

static const char point_columns[] =
    "BinaryChecksum=binary_checksum|BuildId=build_id|CreateTime=create_time|RunId=run_id|"
    "EventId=first_workflow_task_completed_id";

static enum command_exit show_points(struct command *c, const ProtobufCMessage *m, struct buf *out) {
    struct command_rule points = {c->rule->call, "workflow_execution_info.auto_reset_points.points",
                                  point_columns};
    c->rule = &points;
    view_begin(c, out);
    int rc = view_page(c, m, out);
    view_end(c, out);
    return rc == 0 ? COMMAND_DONE : COMMAND_REFUSED;
}

/* NULL: it is open, or its history is gone. */
static enum command_exit find_end(struct command *c, const Workflow__WorkflowExecutionInfo *info,
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
    struct talk_ask ask = {
        .method = CALL_GetWorkflowExecutionHistory, .request = &q->base, .expected = GRPC_NOT_FOUND};
    enum command_exit code = talk_call(c, &ask, &c->arena, &m);
    const Ws__GetWorkflowExecutionHistoryResponse *r = (const void *)m;
    if (code == COMMAND_DONE && r && r->history && r->history->n_events)
        *ret = &r->history->events[r->history->n_events - 1]->base;
    return code;
}

static enum command_exit show_end(struct command *c, const ProtobufCMessage *end, struct buf *out) {
    struct buf why cleanup(buf_done);
    struct object o;
    buf_init(&why, COMMAND_MEMORY_MAX);
    add_why(&why, end);
    object_init(&o, c);
    add_end(&o, end);
    object_text(&o, "Failure", arena_strndup(&c->page, why.len ? (const char *)why.data : "", why.len));
    if (o.rows.count)
        buf_add_u8(out, '\n');
    return object_print(&o, out);
}

static enum command_exit show_card(struct command *c, const ProtobufCMessage *m, const ProtobufCMessage *end,
                                   struct buf *out) {
    if (view_card(c, c->rule->columns, m, out) < 0)
        return COMMAND_REFUSED;
    return end ? show_end(c, end, out) : COMMAND_DONE;
}

enum command_exit describe_run(struct command *c, struct buf *out) {
    struct talk_ask ask = {.method = c->rule->call, .request = c->request};
    const ProtobufCMessage *end;
    ProtobufCMessage *m;
    struct object o;
    if (opt_named_flag(c->args, "raw") && c->format == FORMAT_TABLE)
        c->format = FORMAT_JSON;
    enum command_exit code = talk_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    if (opt_named_flag(c->args, "reset-points"))
        return show_points(c, m, out);
    code = find_end(c, ((const Ws__DescribeWorkflowExecutionResponse *)m)->workflow_execution_info, &end);
    if (code != COMMAND_DONE || c->format == FORMAT_TABLE)
        return code == COMMAND_DONE ? show_card(c, m, end, out) : code;
    object_init(&o, c);
    object_members(&o, m);
    if (end)
        add_end(&o, end);
    return object_print(&o, out);
}
