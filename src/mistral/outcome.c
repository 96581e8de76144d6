/* How an execution ended.
 *
 * The outcome is the close event of the history. A call that waits asks for
 * it in rounds, because the server answers a long poll before the deadline,
 * and follows the chain: an execution has not ended when its run has a next
 * run. A wait ends without an outcome at the deadline and when the server
 * stops. */
#include "mistral/outcome.h"

#include "host/loop.h"
#include "mistral/execution.h"
#include "names.h"

#define DEADLINE_MARGIN_US (300 * USEC_PER_MS) /* the server answers a long poll this much early */

static bool outcome_is_close_event(const History__HistoryEvent *e) {
    switch (e->event_type) {
    case EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED:
    case EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
        return true;
    default: /* no other event closes a run */
        return false;
    }
}

static void outcome_ask_close(struct dialog *x, ProtobufCBinaryData token);

static bool outcome_is_late(const struct dialog *x) {
    return x->deadline.us != CLOCK_NEVER && host_now().mono.us >= x->deadline.us - DEADLINE_MARGIN_US;
}

static void outcome_on_close(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct outcome *o = x->outcome;
    size_t n = r->history ? r->history->n_events : 0;
    const History__HistoryEvent *last = n ? r->history->events[n - 1] : NULL;
    if (last && outcome_is_close_event(last) && o->waits && !cstr_is_empty(execution_next_run(last))) {
        o->run_id = dialog_text(x, str_of(execution_next_run(last)));
        outcome_ask_close(x, (ProtobufCBinaryData){0, NULL});
        return;
    }
    o->close = last && outcome_is_close_event(last) ? last : NULL;
    bool goes_on =
        !o->close && o->waits && !outcome_is_late(x) && !x->m->server.is_draining(x->m->server.ctx);
    if (goes_on)
        outcome_ask_close(x, r->next_page_token);
    else
        o->found(x);
}

/* For a wait, the deadline is not an error: the outcome is "still open". */
static void outcome_on_error(struct dialog *x) {
    if (x->err.code == ERR_DEADLINE && x->outcome->waits)
        x->outcome->found(x);
    else
        dialog_fail(x, &x->err);
}

static void outcome_ask_close(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_next_arena(x);
    struct outcome *o = x->outcome;
    Ws__GetWorkflowExecutionHistoryRequest *q =
        execution_history_request(x, a, o->workflow_id, o->run_id, token);
    if (q) {
        q->wait_new_event = o->waits;
        q->history_event_filter_type = HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;
    }
    dialog_try(x, q ? &q->base : NULL, outcome_on_close, outcome_on_error);
}

void outcome_find(struct dialog *x, struct outcome *o) {
    x->outcome = o;
    outcome_ask_close(x, (ProtobufCBinaryData){0, NULL});
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
        text =
            arena_printf(a, "Workflow execution failed: %s",
                         execution_failure_text(a, e->workflow_execution_failed_event_attributes->failure));
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT)
        text = "Workflow execution timed out";
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED)
        text = "Workflow execution was cancelled";
    else if (e->event_type == EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED)
        text = arena_printf(a, "Workflow execution was terminated: %s",
                            e->workflow_execution_terminated_event_attributes->reason);
    return text ? text : "Workflow execution did not complete";
}
