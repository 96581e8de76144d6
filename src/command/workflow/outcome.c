/* `workflow execute` and `workflow result` wait until a workflow closes; `workflow show` can wait, too.
 *
 * Happy path: long-poll the history until the closing event, then continue with the next run of the chain
 * (continue-as-new, retry). On a terminal all events are fetched, to show the progress; otherwise only the
 * closing event. A workflow that did not complete is one line on stderr and exit code 1. */
#include "cal/words.h"
#include "command/connection.h"
#include "command/prompt.h"
#include "command/request/request.h"
#include "command/workflow/workflow.h"
#include "names.h"
#include "workflowservice.pb-c.h"

struct outcome {
    const char *run_id; /* of the last run */
    History__HistoryEvent *event;
};

/* Failures. */

void outcome_add_failure(struct buf *out, const ProtobufCMessage *failure) {
    const Failure__Failure *f = (const void *)failure;
    for (bool is_first = true; f; f = f->cause, is_first = false)
        if (*f->message) {
            buf_add_cstr(out, is_first ? "" : ": ");
            buf_add_cstr(out, f->message);
        }
}

/* Waiting. */

/* The id of the next run of the chain; NULL, or "", when there is none. */
static const char *outcome_following_run(const History__HistoryEvent *e) {
    switch ((int)e->attributes_case) {
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_CONTINUED_AS_NEW_EVENT_ATTRIBUTES:
        return e->workflow_execution_continued_as_new_event_attributes->new_execution_run_id;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES:
        return e->workflow_execution_failed_event_attributes->retry_state == RETRY_STATE_IN_PROGRESS
                   ? e->workflow_execution_failed_event_attributes->new_execution_run_id
                   : NULL;
    case HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES:
        return e->workflow_execution_timed_out_event_attributes->retry_state == RETRY_STATE_IN_PROGRESS
                   ? e->workflow_execution_timed_out_event_attributes->new_execution_run_id
                   : NULL;
    default:
        return NULL;
    }
}

/* Fetches the history of one run until it closes, waiting for new events. *ret_last is the last event. */
static enum command_exit outcome_read_run(struct command *c, Ws__GetWorkflowExecutionHistoryRequest *q,
                                          struct arena *a,
                                          void (*on_event)(struct command *c, const char *id,
                                                           History__HistoryEvent *e),
                                          History__HistoryEvent **ret_last) {
    struct connection_ask ask = {
        .method = CALL_GetWorkflowExecutionHistory, .request = &q->base, .can_time_out = true};
    q->wait_new_event = true;
    q->next_page_token = (ProtobufCBinaryData){0};
    *ret_last = NULL;
    do {
        ProtobufCMessage *m;
        enum command_exit code = connection_call(c, &ask, a, &m);
        if (code != COMMAND_DONE)
            return code;
        const Ws__GetWorkflowExecutionHistoryResponse *r = (const void *)m;
        if (!r)
            continue;
        if (r->history && r->history->n_events)
            on_event(c, q->execution->workflow_id, *ret_last = r->history->events[r->history->n_events - 1]);
        q->next_page_token = (ProtobufCBinaryData){
            r->next_page_token.len, arena_dup(&c->arena, r->next_page_token.data, r->next_page_token.len)};
        arena_clear(&c->page);
    } while (q->next_page_token.len);
    return COMMAND_DONE;
}

static void outcome_show_progress(struct command *c, const char *id, History__HistoryEvent *e) {
    prompt_show_progress("%s  %lld events  %s", id, (long long)e->event_id,
                         view_text(c, &e->base, "event_type"));
}

static void outcome_show_nothing(unused_arg struct command *c, unused_arg const char *id,
                                 unused_arg History__HistoryEvent *e) {}

/* Waits for the closing event of one run. */
static enum command_exit outcome_wait_run(struct command *c, Ws__GetWorkflowExecutionHistoryRequest *q,
                                          History__HistoryEvent **ret) {
    if (prompt_is_terminal()) {
        q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_ALL_EVENT;
        enum command_exit code = outcome_read_run(c, q, &c->page, outcome_show_progress, ret);
        if (code != COMMAND_DONE)
            return code;
    }
    q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    enum command_exit code = outcome_read_run(c, q, &c->arena, outcome_show_nothing, ret);
    if (code == COMMAND_DONE && !*ret) {
        command_print_error("the server sent no closing event of the workflow");
        return COMMAND_REFUSED;
    }
    return code;
}

static enum command_exit outcome_wait_close(struct command *c, Ws__GetWorkflowExecutionHistoryRequest *q,
                                            struct outcome *ret) {
    enum command_exit code;
    for (;;) {
        code = outcome_wait_run(c, q, &ret->event);
        const char *next = code == COMMAND_DONE ? outcome_following_run(ret->event) : NULL;
        if (cstr_is_empty(next))
            break;
        q->execution->run_id = arena_strdup(&c->arena, next);
        if (!q->execution->run_id)
            code = COMMAND_REFUSED;
        if (code != COMMAND_DONE)
            break;
    }
    ret->run_id = q->execution->run_id;
    prompt_clear_progress();
    return code;
}

/* Showing. */

static const struct {
    int attributes;
    const char *status;
} statuses[] = {
    {HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES, "COMPLETED"},
    {HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES, "FAILED"},
    {HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TIMED_OUT_EVENT_ATTRIBUTES, "TIMEOUT"},
    {HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_CANCELED_EVENT_ATTRIBUTES, "CANCELED"},
    {HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TERMINATED_EVENT_ATTRIBUTES, "TERMINATED"},
};

static const char *outcome_status(const History__HistoryEvent *e) {
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].attributes == (int)e->attributes_case)
            return statuses[i].status;
    return "UNKNOWN";
}

static const Common__Payloads *outcome_result_payloads(const History__HistoryEvent *e) {
    return e->attributes_case ==
                   HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES
               ? e->workflow_execution_completed_event_attributes->result
               : NULL;
}

void outcome_add_reason(struct buf *out, const ProtobufCMessage *close_event) {
    const History__HistoryEvent *e = (const void *)close_event;
    if (e->attributes_case == HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_FAILED_EVENT_ATTRIBUTES)
        outcome_add_failure(out, &e->workflow_execution_failed_event_attributes->failure->base);
    if (e->attributes_case ==
        HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_TERMINATED_EVENT_ATTRIBUTES)
        buf_add_cstr(out, e->workflow_execution_terminated_event_attributes->reason);
}

/* Reports a workflow that did not complete. */
static enum command_exit outcome_report_failure(const char *workflow_id, const History__HistoryEvent *e) {
    struct buf why;
    if (e->attributes_case ==
        HISTORY__HISTORY_EVENT__ATTRIBUTES_WORKFLOW_EXECUTION_COMPLETED_EVENT_ATTRIBUTES)
        return COMMAND_DONE;
    buf_init(&why, 4096);
    outcome_add_reason(&why, &e->base);
    command_print_error("the workflow %s did not complete: %s%s%.*s", workflow_id, outcome_status(e),
                        why.len ? ", " : "", (int)why.len, why.len ? (const char *)why.data : "");
    buf_done(&why);
    return COMMAND_REFUSED;
}

void outcome_add_close(struct object *o, const ProtobufCMessage *close_event) {
    const History__HistoryEvent *e = (const void *)close_event;
    const Common__Payloads *result = outcome_result_payloads(e);
    if (o->command->format != FORMAT_TABLE)
        object_add_message(o, "CloseEvent", close_event);
    object_add_message(o, "Result", result ? &result->base : NULL);
}

static enum command_exit outcome_show_close(struct object *o, const char *workflow_id,
                                            const struct outcome *end, struct buf *out) {
    object_add_text(o, "Status", outcome_status(end->event));
    outcome_add_close(o, &end->event->base);
    enum command_exit code = object_print(o, out);
    enum command_exit judged = outcome_report_failure(workflow_id, end->event);
    return code == COMMAND_DONE ? judged : code;
}

enum command_exit workflow_result_run(struct command *c, struct buf *out) {
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)c->request;
    struct outcome end;
    struct object o;
    enum command_exit code = outcome_wait_close(c, q, &end);
    if (code != COMMAND_DONE)
        return code;
    object_init(&o, c);
    object_add_text(&o, "WorkflowId", q->execution->workflow_id);
    object_add_text(&o, "RunId", end.run_id);
    return outcome_show_close(&o, q->execution->workflow_id, &end, out);
}

static Ws__GetWorkflowExecutionHistoryRequest *outcome_history_request(struct command *c,
                                                                       const char *workflow_id,
                                                                       const char *run_id) {
    struct err e;
    ProtobufCMessage *m = request_new(c, CALL_GetWorkflowExecutionHistory);
    if (!m || request_set(m, "execution.workflow_id", FORM_PLAIN, workflow_id, &c->arena, &e) < 0 ||
        (*run_id && request_set(m, "execution.run_id", FORM_PLAIN, run_id, &c->arena, &e) < 0))
        return NULL;
    return (void *)m;
}

static const char detailed_columns[] = "ID=event_id|Time=event_time#iso|Type=event_type|Details=*";

/* Makes command_ask_pages continue with the next run of the chain. */
static bool outcome_follow_chain(struct command *c, const ProtobufCMessage *response) {
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)c->request;
    const History__History *h = ((const Ws__GetWorkflowExecutionHistoryResponse *)response)->history;
    const char *next = h && h->n_events ? outcome_following_run(h->events[h->n_events - 1]) : NULL;
    if (cstr_is_empty(next) || !(q->execution->run_id = arena_strdup(&c->arena, next)))
        return false;
    q->next_page_token = (ProtobufCBinaryData){0};
    return true;
}

/* --detailed: shows the events while waiting. */
static enum command_exit outcome_show_events(struct command *c, const char *workflow_id, const char *run_id,
                                             struct buf *out) {
    static const struct command_rule rule = {CALL_GetWorkflowExecutionHistory, "history.events",
                                             detailed_columns};
    const struct command_rule *rule_before = c->rule;
    ProtobufCMessage *request_before = c->request;
    if (!opt_named_flag(c->args, "detailed") || c->format != FORMAT_TABLE)
        return COMMAND_DONE;
    Ws__GetWorkflowExecutionHistoryRequest *q = outcome_history_request(c, workflow_id, run_id);
    if (!q)
        return COMMAND_REFUSED;
    q->wait_new_event = c->can_time_out = true;
    c->request = &q->base;
    c->rule = &rule;
    c->ask_further = outcome_follow_chain;
    enum command_exit code = command_ask_pages(c, out);
    c->request = request_before;
    c->rule = rule_before;
    buf_add_u8(out, '\n');
    return code;
}

/* Milliseconds for programs, words for people. */
static void outcome_add_duration(struct object *o, int64_t us) {
    struct buf words cleanup(buf_done);
    buf_init(&words, 1u << 10);
    if (o->command->format != FORMAT_TABLE) {
        object_add_number(o, "DurationMillis", us / USEC_PER_MS);
        return;
    }
    words_length(us - us % USEC_PER_MS, &words);
    object_add_text(o, "Duration",
                    buf_ok(&words) ? arena_strndup(&o->command->page, (const char *)words.data, words.len)
                                   : NULL);
}

enum command_exit workflow_execute_run(struct command *c, struct buf *out) {
    const Ws__StartWorkflowExecutionRequest *start = (const void *)c->request;
    ProtobufCMessage *m;
    struct outcome end;
    struct object o;
    struct now begin = host_now();
    enum command_exit code = start_workflow(c, &m);
    if (code != COMMAND_DONE)
        return code;
    const char *run_id = ((const Ws__StartWorkflowExecutionResponse *)m)->run_id;
    Ws__GetWorkflowExecutionHistoryRequest *q = outcome_history_request(c, start->workflow_id, run_id);
    if (!q)
        return COMMAND_REFUSED;
    code = outcome_show_events(c, start->workflow_id, run_id, out);
    if (code == COMMAND_DONE)
        code = outcome_wait_close(c, q, &end);
    if (code != COMMAND_DONE)
        return code;
    object_init(&o, c);
    object_add_text(&o, "WorkflowId", start->workflow_id);
    object_add_text(&o, "RunId", run_id);
    object_add_text(&o, "Type", start->workflow_type->name);
    object_add_text(&o, "Namespace", start->namespace_);
    object_add_text(&o, "TaskQueue", start->task_queue->name);
    outcome_add_duration(&o, host_now().mono.us - begin.mono.us);
    return outcome_show_close(&o, start->workflow_id, &end, out);
}

/* History. */

static enum command_exit outcome_show_reversed(struct command *c, const struct command_rule *rule,
                                               struct buf *out) {
    const Ws__GetWorkflowExecutionHistoryRequest *q = (const void *)c->request;
    ProtobufCMessage *m = request_new(c, CALL_GetWorkflowExecutionHistoryReverse);
    if (!m)
        return COMMAND_REFUSED;
    Ws__GetWorkflowExecutionHistoryReverseRequest *back = (void *)m;
    back->execution = q->execution;
    back->maximum_page_size = q->maximum_page_size;
    c->rule = rule;
    c->request = m;
    return command_ask_pages(c, out);
}

enum command_exit workflow_show_run(struct command *c, struct buf *out) {
    struct command_rule rule = *c->rule;
    Ws__GetWorkflowExecutionHistoryRequest *q = (void *)c->request;
    bool is_following = opt_named_flag(c->args, "follow");
    if (opt_named_flag(c->args, "detailed"))
        rule.columns = detailed_columns;
    if (opt_named_flag(c->args, "reverse") && is_following) {
        command_print_error("give either --follow or --reverse");
        return COMMAND_MISUSED;
    }
    if (opt_named_flag(c->args, "reverse")) {
        rule.call = CALL_GetWorkflowExecutionHistoryReverse;
        return outcome_show_reversed(c, &rule, out);
    }
    c->rule = &rule;
    q->wait_new_event = c->can_time_out = is_following;
    c->ask_further = is_following ? outcome_follow_chain : NULL;
    return command_ask_pages(c, out);
}
