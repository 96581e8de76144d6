/* The calls for signals, queries and updates of a running execution.
 *
 * A signal is answered when it is stored, a query when a worker has answered
 * it, an update when it is complete. A rejected query is answered 409, a
 * failed update 424. */
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/payload.h"
#include "names.h"

#define HTTP_CONFLICT 409
#define HTTP_FAILED_DEPENDENCY 424

/* The argument. Returns false after a complaint was answered. */
static bool messages_read_input(struct dialog *x, Common__Payloads **ret) {
    if (payload_read_input(x, "input", x->body->v[invocation_input], ret))
        return true;
    dialog_refuse_invalid(x);
    return false;
}

static char *messages_copy_name(struct dialog *x) {
    return dialog_text(x, x->body->v[invocation_name].text);
}

static Common__WorkflowExecution *messages_make_receiver(struct dialog *x) {
    return execution_ref(&x->arena, dialog_text(x, x->id), "");
}

static void messages_reply_result(struct dialog *x, const char *key, const Common__Payloads *result) {
    writer_open(&x->w, '{');
    writer_key(&x->w, str_of(key));
    writer_string(&x->w, x->body->v[invocation_name].text);
    execution_write_result(x, result);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void messages_on_signalled(struct dialog *x) {
    writer_open(&x->w, '{');
    member_write_text(&x->w, "message", "Signal accepted");
    writer_close(&x->w, '}');
    dialog_reply(x);
}

void mistral_begin_signal(struct dialog *x) {
    Common__Payloads *input;
    Ws__SignalWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__signal_workflow_execution_request__descriptor);
    if (!messages_read_input(x, &input))
        return;
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->workflow_execution = messages_make_receiver(x);
        q->signal_name = messages_copy_name(x);
        q->input = input;
        q->identity = dialog_identity(x);
        q->request_id = dialog_new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, messages_on_signalled);
}

static void messages_on_query_answered(struct dialog *x) {
    const Ws__QueryWorkflowResponse *r = dialog_answer(x);
    if (r->query_rejected)
        dialog_refuse(x, HTTP_CONFLICT, "The query was rejected: the execution is %s",
                      execution_status(r->query_rejected->status));
    else
        messages_reply_result(x, "query_name", r->query_result);
}

void mistral_begin_query(struct dialog *x) {
    Common__Payloads *input;
    Ws__QueryWorkflowRequest *q = dialog_new_message(&x->arena, &ws__query_workflow_request__descriptor);
    if (!messages_read_input(x, &input))
        return;
    if (q && (q->query = dialog_new_message(&x->arena, &query__workflow_query__descriptor))) {
        q->namespace_ = dialog_namespace(x);
        q->execution = messages_make_receiver(x);
        q->query->query_type = messages_copy_name(x);
        q->query->query_args = input;
    }
    dialog_ask(x, q ? &q->base : NULL, messages_on_query_answered);
}

/* An update is polled until it is complete, or until the peer closes the connection. */

static void messages_poll_update(struct dialog *x, const Update__UpdateRef *ref);

static void messages_handle_outcome(struct dialog *x, const Update__Outcome *o,
                                    const Update__UpdateRef *ref) {
    if (!o || o->value_case == UPDATE__OUTCOME__VALUE__NOT_SET)
        messages_poll_update(x, ref);
    else if (o->value_case == UPDATE__OUTCOME__VALUE_FAILURE)
        dialog_refuse(x, HTTP_FAILED_DEPENDENCY, "The update failed: %s",
                      execution_failure_text(&x->arena, o->failure));
    else
        messages_reply_result(x, "update_name", o->success);
}

static void messages_on_updated(struct dialog *x) {
    const Ws__UpdateWorkflowExecutionResponse *r = dialog_answer(x);
    messages_handle_outcome(x, r->outcome, r->update_ref);
}

static void messages_on_polled(struct dialog *x) {
    const Ws__PollWorkflowExecutionUpdateResponse *r = dialog_answer(x);
    messages_handle_outcome(x, r->outcome, r->update_ref);
}

static Update__WaitPolicy *messages_make_wait_policy(struct arena *a) {
    Update__WaitPolicy *p = dialog_new_message(a, &update__wait_policy__descriptor);
    if (p)
        p->lifecycle_stage = UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED;
    return p;
}

static void messages_poll_update(struct dialog *x, const Update__UpdateRef *ref) {
    struct arena *a = dialog_next_arena(x);
    Ws__PollWorkflowExecutionUpdateRequest *q =
        dialog_new_message(a, &ws__poll_workflow_execution_update_request__descriptor);
    if (q && ref && ref->workflow_execution &&
        (q->update_ref = dialog_new_message(a, &update__update_ref__descriptor))) {
        q->namespace_ = dialog_copy_text(a, str_of(x->namespace));
        q->update_ref->workflow_execution =
            execution_ref(a, ref->workflow_execution->workflow_id, ref->workflow_execution->run_id);
        q->update_ref->update_id = dialog_copy_text(a, str_of(ref->update_id));
        q->wait_policy = messages_make_wait_policy(a);
    }
    dialog_ask(x, q ? &q->base : NULL, messages_on_polled);
}

void mistral_begin_update(struct dialog *x) {
    struct arena *a = &x->arena;
    Common__Payloads *input;
    Ws__UpdateWorkflowExecutionRequest *q =
        dialog_new_message(a, &ws__update_workflow_execution_request__descriptor);
    if (!messages_read_input(x, &input))
        return;
    if (q && (q->request = dialog_new_message(a, &update__request__descriptor)) &&
        (q->request->meta = dialog_new_message(a, &update__meta__descriptor)) &&
        (q->request->input = dialog_new_message(a, &update__input__descriptor))) {
        q->namespace_ = dialog_namespace(x);
        q->workflow_execution = messages_make_receiver(x);
        q->wait_policy = messages_make_wait_policy(a);
        q->request->meta->update_id = dialog_new_id(x);
        q->request->meta->identity = dialog_identity(x);
        q->request->input->name = messages_copy_name(x);
        q->request->input->args = input;
    }
    dialog_ask(x, q ? &q->base : NULL, messages_on_updated);
}
