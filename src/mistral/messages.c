/* Signals, queries and updates: what is said to a workflow while it runs. */
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "names.h"

#define HTTP_CONFLICT 409
#define HTTP_FAILED_DEPENDENCY 424

/* The argument; false when a complaint was answered. */
static bool read_input(struct dialog *x, Common__Payloads **ret) {
    if (payload_message(x, "input", x->body->v[invocation_input], ret))
        return true;
    dialog_complain(x);
    return false;
}

static char *message_name(struct dialog *x) {
    return own_text(x, x->body->v[invocation_name].text);
}

static Common__WorkflowExecution *receiver(struct dialog *x) {
    return execution_of(&x->arena, own_text(x, x->id), "");
}

static void reply_result(struct dialog *x, const char *key, const Common__Payloads *result) {
    writer_open(&x->w, '{');
    writer_key(&x->w, str_of(key));
    writer_string(&x->w, x->body->v[invocation_name].text);
    execution_write_result(x, result);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void on_signalled(struct dialog *x) {
    writer_open(&x->w, '{');
    write_text(&x->w, "message", "Signal accepted");
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void begin_signal(struct dialog *x) {
    Common__Payloads *input;
    Ws__SignalWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__signal_workflow_execution_request__descriptor);
    if (!read_input(x, &input))
        return;
    if (q) {
        q->namespace_ = own_namespace(x);
        q->workflow_execution = receiver(x);
        q->signal_name = message_name(x);
        q->input = input;
        q->identity = own_identity(x);
        q->request_id = new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, on_signalled);
}

static void on_answered(struct dialog *x) {
    const Ws__QueryWorkflowResponse *r = dialog_answer(x);
    if (r->query_rejected)
        dialog_refuse(x, HTTP_CONFLICT, "The query was rejected: the execution is %s",
                      execution_status(r->query_rejected->status));
    else
        reply_result(x, "query_name", r->query_result);
}

void begin_query(struct dialog *x) {
    Common__Payloads *input;
    Ws__QueryWorkflowRequest *q = message_new(&x->arena, &ws__query_workflow_request__descriptor);
    if (!read_input(x, &input))
        return;
    if (q && (q->query = message_new(&x->arena, &query__workflow_query__descriptor))) {
        q->namespace_ = own_namespace(x);
        q->execution = receiver(x);
        q->query->query_type = message_name(x);
        q->query->query_args = input;
    }
    dialog_ask(x, q ? &q->base : NULL, on_answered);
}

/* An update is waited for until it is done, or its caller goes. */

static void ask_again(struct dialog *x, const Update__UpdateRef *ref);

static void on_outcome(struct dialog *x, const Update__Outcome *o, const Update__UpdateRef *ref) {
    if (!o || o->value_case == UPDATE__OUTCOME__VALUE__NOT_SET)
        ask_again(x, ref);
    else if (o->value_case == UPDATE__OUTCOME__VALUE_FAILURE)
        dialog_refuse(x, HTTP_FAILED_DEPENDENCY, "The update failed: %s",
                      failure_text(&x->arena, o->failure));
    else
        reply_result(x, "update_name", o->success);
}

static void on_updated(struct dialog *x) {
    const Ws__UpdateWorkflowExecutionResponse *r = dialog_answer(x);
    on_outcome(x, r->outcome, r->update_ref);
}

static void on_polled(struct dialog *x) {
    const Ws__PollWorkflowExecutionUpdateResponse *r = dialog_answer(x);
    on_outcome(x, r->outcome, r->update_ref);
}

static Update__WaitPolicy *until_done(struct arena *a) {
    Update__WaitPolicy *p = message_new(a, &update__wait_policy__descriptor);
    if (p)
        p->lifecycle_stage = UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED;
    return p;
}

static void ask_again(struct dialog *x, const Update__UpdateRef *ref) {
    struct arena *a = dialog_turn(x);
    Ws__PollWorkflowExecutionUpdateRequest *q =
        message_new(a, &ws__poll_workflow_execution_update_request__descriptor);
    if (q && ref && ref->workflow_execution &&
        (q->update_ref = message_new(a, &update__update_ref__descriptor))) {
        q->namespace_ = message_text(a, str_of(x->namespace));
        q->update_ref->workflow_execution =
            execution_of(a, ref->workflow_execution->workflow_id, ref->workflow_execution->run_id);
        q->update_ref->update_id = message_text(a, str_of(ref->update_id));
        q->wait_policy = until_done(a);
    }
    dialog_ask(x, q ? &q->base : NULL, on_polled);
}

void begin_update(struct dialog *x) {
    struct arena *a = &x->arena;
    Common__Payloads *input;
    Ws__UpdateWorkflowExecutionRequest *q =
        message_new(a, &ws__update_workflow_execution_request__descriptor);
    if (!read_input(x, &input))
        return;
    if (q && (q->request = message_new(a, &update__request__descriptor)) &&
        (q->request->meta = message_new(a, &update__meta__descriptor)) &&
        (q->request->input = message_new(a, &update__input__descriptor))) {
        q->namespace_ = own_namespace(x);
        q->workflow_execution = receiver(x);
        q->wait_policy = until_done(a);
        q->request->meta->update_id = new_id(x);
        q->request->meta->identity = own_identity(x);
        q->request->input->name = message_name(x);
        q->request->input->args = input;
    }
    dialog_ask(x, q ? &q->base : NULL, on_updated);
}
