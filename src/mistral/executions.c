/* The calls that start and stop executions.
 *
 * A start finds its task queue first (routing.h). With wait_for_result it
 * answers when the execution has ended: 408 when it has not ended in time, 424
 * when it did not complete. A list of ids is worked through one by one, and
 * each id has its own result. */
#include "host/loop.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/outcome.h"
#include "mistral/payload.h"
#include "mistral/routing.h"
#include "names.h"

#define HTTP_TIMEOUT 408
#define HTTP_FAILED_DEPENDENCY 424

static void executions_on_done(struct dialog *x) {
    dialog_reply(x);
}

/* Start. */

struct execution_start {
    struct routing routing;
    struct outcome outcome;
    char *id;
    Common__Header *header;
};

static void executions_on_start_described(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    writer_open(&x->w, '{');
    execution_write(x, r->workflow_execution_info);
    execution_write_result(x, NULL);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void executions_on_outcome(struct dialog *x) {
    const struct execution_start *s = x->state;
    const struct outcome *o = &s->outcome;
    if (!o->close) {
        dialog_refuse(x, HTTP_TIMEOUT, "Workflow execution %s has not ended yet; it goes on", s->id);
        return;
    }
    if (o->close->event_type != EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED) {
        dialog_refuse(x, HTTP_FAILED_DEPENDENCY, "%s", outcome_text(&x->arena, o));
        return;
    }
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("workflow_name"));
    writer_string(&x->w, s->routing.workflow);
    member_write_text(&x->w, "execution_id", s->id);
    execution_write_result(x, outcome_result(o));
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void executions_on_started(struct dialog *x) {
    const Ws__StartWorkflowExecutionResponse *r = dialog_answer(x);
    const struct field_value *v = x->body->v;
    struct execution_start *s = x->state;
    if (!v[execution_request_wait_for_result].truth) {
        execution_ask_description(x, s->id, r->run_id, executions_on_start_described);
        return;
    }
    if (v[execution_request_timeout_seconds].is_given)
        x->deadline.us = usec_add(host_now().mono.us, v[execution_request_timeout_seconds].whole);
    s->outcome =
        (struct outcome){s->id, dialog_text(x, str_of(r->run_id)), true, executions_on_outcome, NULL};
    outcome_find(x, &s->outcome);
}

/* Fields that are passed to the workflow beside its input become headers. */
static Common__Header *executions_make_header(struct dialog *x) {
    static const enum execution_request_field fields[] = {execution_request_custom_tracing_attributes,
                                                          execution_request_extensions,
                                                          execution_request_traceparent};
    const struct field_value *v = x->body->v;
    struct arena *a = &x->arena;
    Common__Header *h = dialog_new_message(a, &common__header__descriptor);
    if (!h || !(h->fields = arena_array(a, Common__Header__FieldsEntry *, ARRAY_LEN(fields))))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        bool is_trace = fields[i] == execution_request_traceparent;
        if (is_trace && v[execution_request_force_new_trace].truth)
            continue;
        Common__Payloads *p =
            is_trace ? payload_from_text(a, v[fields[i]]) : payload_from_json(a, v[fields[i]]);
        Common__Header__FieldsEntry *e =
            p ? dialog_new_message(a, &common__header__fields_entry__descriptor) : NULL;
        if (!e)
            continue;
        e->key = dialog_text(x, str_of(shape_execution_request.fields[fields[i]].name));
        e->value = p->payloads[0];
        h->fields[h->n_fields++] = e;
    }
    return h->n_fields ? h : NULL;
}

static void executions_on_routed(struct dialog *x) {
    struct execution_start *s = x->state;
    Ws__StartWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__start_workflow_execution_request__descriptor);
    if (q) {
        q->namespace_ = dialog_namespace(x);
        q->workflow_id = s->id;
        if ((q->workflow_type = dialog_new_message(&x->arena, &common__workflow_type__descriptor)))
            q->workflow_type->name = dialog_text(x, s->routing.workflow);
        if ((q->task_queue = dialog_new_message(&x->arena, &taskqueue__task_queue__descriptor)))
            q->task_queue->name = dialog_text(x, s->routing.queue);
        q->input = payload_from_json(&x->arena, x->body->v[execution_request_input]);
        q->header = executions_make_header(x);
        q->identity = dialog_identity(x);
        q->request_id = dialog_new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, executions_on_started);
}

static void executions_begin_start(struct dialog *x, struct str workflow, struct str registration) {
    const struct field_value *v = x->body->v;
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("task_queue")};
    struct str old = v[execution_request_task_queue].text, queue = v[execution_request_deployment_name].text;
    struct execution_start *s = x->state = arena_new(&x->arena, struct execution_start);
    if (!s) {
        dialog_out_of_memory(x);
        return;
    }
    if (old.n && queue.n && !str_eq(old, queue)) {
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, this is given twice, with different values");
        dialog_refuse_invalid(x);
        return;
    }
    s->id = v[execution_request_execution_id].text.n ? dialog_text(x, v[execution_request_execution_id].text)
                                                     : dialog_new_id(x);
    s->routing.found = executions_on_routed;
    s->routing.queue = queue.n ? queue : old;
    s->routing.workflow = workflow;
    s->routing.registration = registration;
    routing_find(x, &s->routing);
}

void mistral_begin_execute(struct dialog *x) {
    executions_begin_start(x, x->id, STR(""));
}

void mistral_begin_execute_registration(struct dialog *x) {
    executions_begin_start(x, STR(""), x->id);
}

/* Cancel, terminate, reset. */

static const ProtobufCMessage *executions_cancel_request(struct dialog *x, struct str id) {
    Ws__RequestCancelWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__request_cancel_workflow_execution_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = dialog_namespace(x);
    q->workflow_execution = execution_ref(&x->arena, dialog_text(x, id), "");
    q->identity = dialog_identity(x);
    q->request_id = dialog_new_id(x);
    return &q->base;
}

static const ProtobufCMessage *executions_terminate_request(struct dialog *x, struct str id) {
    Ws__TerminateWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__terminate_workflow_execution_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = dialog_namespace(x);
    q->workflow_execution = execution_ref(&x->arena, dialog_text(x, id), "");
    q->identity = dialog_identity(x);
    q->reason = dialog_text(x, STR("terminated over HTTP"));
    return &q->base;
}

void mistral_begin_cancel(struct dialog *x) {
    dialog_ask(x, executions_cancel_request(x, x->id), executions_on_done);
}

void mistral_begin_terminate(struct dialog *x) {
    dialog_ask(x, executions_terminate_request(x, x->id), executions_on_done);
}

void mistral_begin_reset(struct dialog *x) {
    const struct field_value *v = x->body->v;
    Ws__ResetWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__reset_workflow_execution_request__descriptor);
    E__ResetReapplyExcludeType *excluded = arena_array(&x->arena, E__ResetReapplyExcludeType, 2);
    if (q && excluded) {
        q->namespace_ = dialog_namespace(x);
        q->workflow_execution = execution_ref(&x->arena, dialog_text(x, x->id), "");
        q->reason = dialog_text(x, v[reset_request_reason].text.n ? v[reset_request_reason].text
                                                                  : STR("reset over HTTP"));
        q->workflow_task_finish_event_id = v[reset_request_event_id].whole;
        q->request_id = dialog_new_id(x);
        q->identity = dialog_identity(x);
        q->reset_reapply_exclude_types = excluded;
        if (v[reset_request_exclude_signals].truth)
            excluded[q->n_reset_reapply_exclude_types++] = RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL;
        if (v[reset_request_exclude_updates].truth)
            excluded[q->n_reset_reapply_exclude_types++] = RESET_REAPPLY_EXCLUDE_TYPE_UPDATE;
    }
    dialog_ask(x, q && excluded ? &q->base : NULL, executions_on_done);
}

/* Cancel and terminate for a list of ids. */

struct many_executions {
    const ProtobufCMessage *(*request)(struct dialog *x, struct str id);
    size_t at;
};

static void executions_ask_next(struct dialog *x);

static void executions_write_one_result(struct dialog *x, const char *error) {
    struct many_executions *b = x->state;
    writer_key(&x->w, x->body->v[many_request_execution_ids].texts[b->at++]);
    writer_open(&x->w, '{');
    member_write_text(&x->w, "status", error ? "failure" : "success");
    member_write_text(&x->w, "error", error);
    writer_close(&x->w, '}');
    executions_ask_next(x);
}

static void executions_on_one_done(struct dialog *x) {
    executions_write_one_result(x, NULL);
}

static void executions_on_one_failed(struct dialog *x) {
    executions_write_one_result(x, x->err.text);
}

/* An id that occurs twice has one result. */
static bool executions_is_repeated(const struct field_value *ids, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (str_eq(ids->texts[i], ids->texts[at]))
            return true;
    return false;
}

static void executions_ask_next(struct dialog *x) {
    struct many_executions *b = x->state;
    const struct field_value *ids = &x->body->v[many_request_execution_ids];
    while (b->at < ids->count && executions_is_repeated(ids, b->at))
        b->at++;
    if (b->at < ids->count) {
        dialog_try(x, b->request(x, ids->texts[b->at]), executions_on_one_done, executions_on_one_failed);
        return;
    }
    writer_close(&x->w, '}');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void executions_begin_many(struct dialog *x,
                                  const ProtobufCMessage *(*request)(struct dialog *x, struct str id)) {
    struct many_executions *b = x->state = arena_new(&x->arena, struct many_executions);
    if (!b) {
        dialog_out_of_memory(x);
        return;
    }
    b->request = request;
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("results"));
    writer_open(&x->w, '{');
    executions_ask_next(x);
}

void mistral_begin_cancel_many(struct dialog *x) {
    executions_begin_many(x, executions_cancel_request);
}

void mistral_begin_terminate_many(struct dialog *x) {
    executions_begin_many(x, executions_terminate_request);
}
