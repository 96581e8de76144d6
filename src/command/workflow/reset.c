/* `workflow reset`: resets to an event, or to a place that --type names.
 *
 * The server takes an event id. FirstWorkflowTask and LastWorkflowTask are found in the history: the event
 * that ends the workflow task or, when none has ended, the event after its scheduling. LastContinuedAsNew
 * is the last workflow task of the previous run. BuildId is the reset point that the server keeps for a
 * build. */
#include "command/connection.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "names.h"
#include "workflowservice.pb-c.h"

struct place {
    const char *run_id;
    int64_t event_id;
};

/* Events that are not applied again. */

int reset_exclude(struct command *c, ProtobufCMessage *m, const char *path, struct err *reterr) {
    static const char *const all[] = {"Signal", "Update", "Nexus", "CancelRequest"};
    const char *kept = opt_named(c->args, "reapply-type");
    const char *text;
    const char *to = arena_printf(&c->arena, "%sreset_reapply_exclude_types", path);
    int rc = to ? 0 : err_std(reterr, ERR_NO_MEMORY);
    bool is_all = cstr_eq(kept, "None"), is_signal_only = cstr_eq(kept, "Signal");
    if (kept && !is_all && !is_signal_only && !cstr_eq(kept, "All"))
        return err_set(reterr, ERR_INVALID, "--reapply-type takes All, Signal or None, not \"%s\"", kept);
    for (size_t i = 0; (text = opt_named_list(c->args, "reapply-exclude", i)); i++) {
        is_all = is_all || cstr_eq(text, "All");
        if (rc == 0 && !cstr_eq(text, "All"))
            rc = request_set(m, to, FORM_PLAIN, text, &c->arena, reterr);
    }
    if (rc == 0 && is_signal_only)
        rc = request_set(m, to, FORM_PLAIN, "Update", &c->arena, reterr);
    for (size_t i = 0; rc == 0 && is_all && i < ARRAY_LEN(all); i++)
        rc = request_set(m, to, FORM_PLAIN, all[i], &c->arena, reterr);
    return rc;
}

int reset_target(struct command *c, ProtobufCMessage *m, struct err *reterr) {
    const char *type = opt_named(c->args, "type");
    const char *build = opt_named(c->args, "build-id");
    if (cstr_eq(type, "FirstWorkflowTask") || cstr_eq(type, "LastWorkflowTask")) {
        const char *path = cstr_eq(type, "FirstWorkflowTask") ? "reset_operation.options.first_workflow_task"
                                                            : "reset_operation.options.last_workflow_task";
        return request_message(m, path, &c->arena) ? 0 : err_std(reterr, ERR_NO_MEMORY);
    }
    if (cstr_eq(type, "BuildId") && build)
        return request_set(m, "reset_operation.options.build_id", FORM_PLAIN, build, &c->arena, reterr);
    return err_set(
        reterr, ERR_INVALID,
        "with --query give --type FirstWorkflowTask, LastWorkflowTask, or BuildId with --build-id");
}

/* Places. */

enum seek { SEEK_FIRST, SEEK_LAST };

/* Finds the end of the first or the last workflow task of a run. */
static enum command_exit reset_find_step(struct command *c, const char *run_id, enum seek seek,
                                         struct place *ret) {
    struct err e;
    const char *id = opt_named(c->args, "workflow-id");
    ProtobufCMessage *m = request_new(c, CALL_GetWorkflowExecutionHistory);
    if (!m || request_set(m, "execution.workflow_id", FORM_PLAIN, id, &c->arena, &e) < 0 ||
        (!cstr_is_empty(run_id) && request_set(m, "execution.run_id", FORM_PLAIN, run_id, &c->arena, &e) < 0))
        return COMMAND_REFUSED;
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)m;
    struct connection_ask ask = {.method = CALL_GetWorkflowExecutionHistory, .request = m};
    int64_t begun = 0;
    *ret = (struct place){.run_id = run_id};
    do {
        enum command_exit code = connection_call(c, &ask, &c->page, &m);
        if (code != COMMAND_DONE)
            return code;
        const Ws__GetWorkflowExecutionHistoryResponse *r = (const void *)m;
        for (size_t i = 0; r->history && i < r->history->n_events; i++) {
            const History__HistoryEvent *event = r->history->events[i];
            if (event->event_type == EVENT_TYPE_WORKFLOW_TASK_SCHEDULED && (!begun || seek == SEEK_LAST))
                begun = event->event_id + 1;
            if (event->event_type == EVENT_TYPE_WORKFLOW_TASK_COMPLETED &&
                (!ret->event_id || seek == SEEK_LAST))
                ret->event_id = event->event_id;
        }
        q->next_page_token = (ProtobufCBinaryData){
            r->next_page_token.len, arena_dup(&c->arena, r->next_page_token.data, r->next_page_token.len)};
        arena_clear(&c->page);
    } while (q->next_page_token.len);
    if (!ret->event_id)
        ret->event_id = begun;
    if (ret->event_id)
        return COMMAND_DONE;
    command_print_error("the workflow has no workflow task yet");
    return COMMAND_REFUSED;
}

static enum command_exit reset_describe_run(struct command *c,
                                            const Ws__DescribeWorkflowExecutionResponse **ret) {
    struct err e;
    ProtobufCMessage *m = request_new(c, CALL_DescribeWorkflowExecution);
    const char *run_id = opt_named(c->args, "run-id");
    if (!m ||
        request_set(m, "execution.workflow_id", FORM_PLAIN, opt_named(c->args, "workflow-id"), &c->arena,
                    &e) < 0 ||
        (run_id && request_set(m, "execution.run_id", FORM_PLAIN, run_id, &c->arena, &e) < 0))
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = CALL_DescribeWorkflowExecution, .request = m};
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    *ret = (const void *)m;
    return code;
}

/* Finds the last workflow task of the run that continued as this one. */
static enum command_exit reset_find_previous_run(struct command *c, struct place *ret) {
    struct err e;
    ProtobufCMessage *m = request_new(c, CALL_GetWorkflowExecutionHistory);
    const char *run_id = opt_named(c->args, "run-id");
    if (!m ||
        request_set(m, "execution.workflow_id", FORM_PLAIN, opt_named(c->args, "workflow-id"), &c->arena,
                    &e) < 0 ||
        (run_id && request_set(m, "execution.run_id", FORM_PLAIN, run_id, &c->arena, &e) < 0) ||
        request_set(m, "maximum_page_size", FORM_PLAIN, "1", &c->arena, &e) < 0)
        return COMMAND_REFUSED;
    struct connection_ask ask = {.method = CALL_GetWorkflowExecutionHistory, .request = m};
    enum command_exit code = connection_call(c, &ask, &c->arena, &m);
    if (code != COMMAND_DONE)
        return code;
    const Ws__GetWorkflowExecutionHistoryResponse *r = (const void *)m;
    const History__HistoryEvent *first = r->history && r->history->n_events ? r->history->events[0] : NULL;
    const char *before =
        first && first->attributes_case ==
                     HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_STARTED_EVENT_ATTRIBUTES
            ? first->workflow_execution_started_event_attributes->continued_execution_run_id
            : "";
    if (!*before) {
        command_print_error(
            "the workflow was not continued from another run, so there is no place for LastContinuedAsNew");
        return COMMAND_REFUSED;
    }
    return reset_find_step(c, before, SEEK_LAST, ret);
}

static enum command_exit reset_find_build(struct command *c, struct place *ret) {
    const Ws__DescribeWorkflowExecutionResponse *d;
    const char *build = opt_named(c->args, "build-id");
    if (!build) {
        command_print_error("--build-id is needed with --type BuildId");
        return COMMAND_MISUSED;
    }
    enum command_exit code = reset_describe_run(c, &d);
    if (code != COMMAND_DONE)
        return code;
    const Workflow__ResetPoints *points =
        d->workflow_execution_info ? d->workflow_execution_info->auto_reset_points : NULL;
    for (size_t i = 0; points && i < points->n_points; i++)
        if (cstr_eq(points->points[i]->build_id, build)) {
            *ret = (struct place){points->points[i]->run_id,
                                  points->points[i]->first_workflow_task_completed_id};
            return COMMAND_DONE;
        }
    command_print_error("no workflow task of the workflow was completed by build %s", build);
    return COMMAND_REFUSED;
}

static enum command_exit reset_find_place(struct command *c, const char *type, struct place *ret) {
    const char *run_id = opt_named(c->args, "run-id");
    if (cstr_eq(type, "FirstWorkflowTask"))
        return reset_find_step(c, run_id, SEEK_FIRST, ret);
    if (cstr_eq(type, "LastWorkflowTask"))
        return reset_find_step(c, run_id, SEEK_LAST, ret);
    return cstr_eq(type, "BuildId") ? reset_find_build(c, ret) : reset_find_previous_run(c, ret);
}

enum command_exit workflow_reset_run(struct command *c, struct buf *out) {
    const char *type = opt_named(c->args, "type");
    Ws__ResetWorkflowExecutionRequest *q = (void *)c->request;
    struct place place;
    struct err e;
    if (opt_named(c->args, "query"))
        return batch_run(c, out);
    if (!opt_named(c->args, "workflow-id")) {
        command_print_error("--workflow-id or --query is needed; see rondo workflow reset --help");
        return COMMAND_MISUSED;
    }
    if (!type == !opt_named(c->args, "event-id")) {
        command_print_error("give either --event-id or --type; see rondo workflow reset --help");
        return COMMAND_MISUSED;
    }
    if (reset_exclude(c, c->request, "", &e) < 0) {
        command_print_error("%s; see rondo workflow reset --help", e.text);
        return COMMAND_MISUSED;
    }
    enum command_exit code = type ? reset_find_place(c, type, &place) : COMMAND_DONE;
    if (code != COMMAND_DONE)
        return code;
    if (type) {
        q->workflow_task_finish_event_id = place.event_id;
        q->workflow_execution->run_id = arena_strdup(&c->arena, place.run_id ? place.run_id : "");
    }
    return command_ask_pages(c, out);
}
