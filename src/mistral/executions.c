/* The calls for executions that do not talk to a workflow: start, look, stop. */
#include "host/loop.h"
#include "json/json.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"
#include "mistral/routing.h"
#include "names.h"

#define HTTP_TIMEOUT 408
#define HTTP_FAILED_DEPENDENCY 424
#define HISTORY_PAGE 256

static void on_done(struct dialog *x) {
    dialog_reply(x);
}

/* Starting. */

struct start {
    struct routing routing;
    struct outcome outcome;
    char *id;
    Common__Header *header;
};

static void on_described_start(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    writer_open(&x->w, '{');
    execution_write(x, r->workflow_execution_info);
    execution_write_result(x, NULL);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void describe(struct dialog *x, const char *workflow_id, const char *run_id, dialog_step *next) {
    Ws__DescribeWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__describe_workflow_execution_request__descriptor);
    if (q) {
        q->namespace_ = own_namespace(x);
        q->execution = execution_of(&x->arena, workflow_id, run_id);
    }
    dialog_ask(x, q ? &q->base : NULL, next);
}

static void on_outcome(struct dialog *x) {
    const struct start *s = x->state;
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
    write_text(&x->w, "execution_id", s->id);
    execution_write_result(x, outcome_result(o));
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void on_started(struct dialog *x) {
    const Ws__StartWorkflowExecutionResponse *r = dialog_answer(x);
    const struct given *v = x->body->v;
    struct start *s = x->state;
    if (!v[execution_request_wait_for_result].truth) {
        describe(x, s->id, r->run_id, on_described_start);
        return;
    }
    if (v[execution_request_timeout_seconds].is_given)
        x->deadline.us = usec_add(host_now().mono.us, v[execution_request_timeout_seconds].whole);
    s->outcome = (struct outcome){s->id, own_text(x, str_of(r->run_id)), true, on_outcome, NULL};
    outcome_find(x, &s->outcome);
}

/* What travels with an execution without being its input is what headers are for. */
static Common__Header *header_of(struct dialog *x) {
    static const enum execution_request_field fields[] = {execution_request_custom_tracing_attributes,
                                                          execution_request_extensions,
                                                          execution_request_traceparent};
    const struct given *v = x->body->v;
    struct arena *a = &x->arena;
    Common__Header *h = message_new(a, &common__header__descriptor);
    if (!h || !(h->fields = arena_array(a, Common__Header__FieldsEntry *, ARRAY_LEN(fields))))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        bool is_trace = fields[i] == execution_request_traceparent;
        if (is_trace && v[execution_request_force_new_trace].truth)
            continue;
        Common__Payloads *p = is_trace ? payload_words(a, v[fields[i]]) : payload_input(a, v[fields[i]]);
        Common__Header__FieldsEntry *e = p ? message_new(a, &common__header__fields_entry__descriptor) : NULL;
        if (!e)
            continue;
        e->key = own_text(x, str_of(shape_execution_request.fields[fields[i]].name));
        e->value = p->payloads[0];
        h->fields[h->n_fields++] = e;
    }
    return h->n_fields ? h : NULL;
}

static void on_routed(struct dialog *x) {
    struct start *s = x->state;
    Ws__StartWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__start_workflow_execution_request__descriptor);
    if (q) {
        q->namespace_ = own_namespace(x);
        q->workflow_id = s->id;
        if ((q->workflow_type = message_new(&x->arena, &common__workflow_type__descriptor)))
            q->workflow_type->name = own_text(x, s->routing.workflow);
        if ((q->task_queue = message_new(&x->arena, &taskqueue__task_queue__descriptor)))
            q->task_queue->name = own_text(x, s->routing.queue);
        q->input = payload_input(&x->arena, x->body->v[execution_request_input]);
        q->header = header_of(x);
        q->identity = own_identity(x);
        q->request_id = new_id(x);
    }
    dialog_ask(x, q ? &q->base : NULL, on_started);
}

static void begin_start(struct dialog *x, bool is_registration) {
    const struct given *v = x->body->v;
    struct place body = {.name = STR("body")}, at = {.up = &body, .name = STR("task_queue")};
    struct str old = v[execution_request_task_queue].text, queue = v[execution_request_deployment_name].text;
    struct start *s = x->state = arena_new(&x->arena, struct start);
    if (!s) {
        dialog_out_of_memory(x);
        return;
    }
    if (old.n && queue.n && !str_eq(old, queue)) {
        complaints_add(&x->complaints, &at, "value_error",
                       "Value error, this is given twice, with different values");
        dialog_complain(x);
        return;
    }
    s->id = v[execution_request_execution_id].text.n ? own_text(x, v[execution_request_execution_id].text)
                                                     : new_id(x);
    s->routing.found = on_routed;
    s->routing.queue = queue.n ? queue : old;
    *(is_registration ? &s->routing.registration : &s->routing.workflow) = x->id;
    routing_find(x, &s->routing);
}

void begin_execute(struct dialog *x) {
    begin_start(x, false);
}

void begin_execute_registration(struct dialog *x) {
    begin_start(x, true);
}

/* Looking. The state is the outcome, or the history. */

struct look {
    struct outcome outcome;
    const Workflow__WorkflowExecutionInfo *info;
    char *workflow_id, *run_id;
    bool is_history;
};

/* Of what a client said to be JSON, that is known only when it has been read. */
static bool is_string(struct str data, struct str *ret_token) {
    struct json_reader r;
    reader_init(&r, data);
    return utf8_valid(data) && reader_kind(&r) == JSON_STRING && reader_skip(&r, ret_token) == 0 &&
           reader_end(&r) == 0;
}

static void write_search_keys(struct dialog *x, const Common__SearchAttributes *all) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("search_keys"));
    writer_open(w, '{');
    for (size_t i = 0; all && i < all->n_indexed_fields; i++) {
        const Common__Payload *p = all->indexed_fields[i]->value;
        struct str data = str_bytes(p->data.data, p->data.len), token;
        writer_key(w, str_of(all->indexed_fields[i]->key));
        if (is_string(data, &token))
            writer_token(w, token);
        else
            writer_string(w, data);
    }
    writer_close(w, '}');
}

static void show(struct dialog *x) {
    const struct look *l = x->state;
    bool has_keys =
        x->route->query == &shape_execution_query && x->query->v[execution_query_include_search_keys].truth;
    writer_open(&x->w, '{');
    execution_write(x, l->info);
    execution_write_result(x, outcome_result(&l->outcome));
    if (has_keys)
        write_search_keys(x, l->info->search_attributes);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void on_described(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    struct look *l = x->state;
    l->info = r->workflow_execution_info;
    if (l->info->status != WORKFLOW_EXECUTION_STATUS_COMPLETED) {
        show(x);
        return;
    }
    l->outcome =
        (struct outcome){l->info->execution->workflow_id, l->info->execution->run_id, false, show, NULL};
    outcome_find(x, &l->outcome);
}

/* Histories, page by page. */

static void ask_for_history(struct dialog *x, ProtobufCBinaryData token);

static void on_history(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct given decodes = x->query->v[history_query_decode_payloads];
    struct json_style style = {.has_shorthand = !decodes.is_given || decodes.truth};
    struct buf text cleanup(buf_done);
    buf_init(&text, x->out.max);
    for (size_t i = 0; r->history && i < r->history->n_events; i++) {
        struct err e;
        buf_clear(&text);
        if (json_print(&text, &r->history->events[i]->base, style, &e) < 0) {
            dialog_fail(x, &e);
            return;
        }
        if (!buf_ok(&text)) {
            dialog_out_of_memory(x);
            return;
        }
        writer_token(&x->w, buf_str(&text));
    }
    if (!buf_ok(&x->out)) {
        dialog_out_of_memory(x);
        return;
    }
    if (r->next_page_token.len) {
        ask_for_history(x, r->next_page_token);
        return;
    }
    writer_close(&x->w, ']');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void ask_for_history(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_turn(x);
    const struct look *l = x->state;
    Ws__GetWorkflowExecutionHistoryRequest *q = history_request(x, a, l->workflow_id, l->run_id, token);
    if (q)
        q->maximum_page_size = HISTORY_PAGE;
    dialog_ask(x, q ? &q->base : NULL, on_history);
}

static void begin_look(struct dialog *x, const char *workflow_id, const char *run_id) {
    struct look *l = x->state;
    l->workflow_id = own_text(x, str_of(workflow_id));
    l->run_id = own_text(x, str_of(run_id));
    if (!l->is_history) {
        describe(x, l->workflow_id, l->run_id, on_described);
        return;
    }
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("events"));
    writer_open(&x->w, '[');
    ask_for_history(x, (ProtobufCBinaryData){0, NULL});
}

static bool prepare_look(struct dialog *x, bool is_history) {
    struct look *l = x->state = arena_new(&x->arena, struct look);
    if (!l) {
        dialog_out_of_memory(x);
        return false;
    }
    l->is_history = is_history;
    return true;
}

void begin_get_execution(struct dialog *x) {
    if (prepare_look(x, false))
        begin_look(x, own_text(x, x->id), "");
}

void begin_get_history(struct dialog *x) {
    if (prepare_look(x, true))
        begin_look(x, own_text(x, x->id), "");
}

static void look_at_run(struct dialog *x, const char *workflow_id, const char *run_id) {
    begin_look(x, workflow_id, run_id);
}

void begin_get_run(struct dialog *x) {
    if (prepare_look(x, false))
        seek_run(x, look_at_run);
}

void begin_get_run_history(struct dialog *x) {
    if (prepare_look(x, true))
        seek_run(x, look_at_run);
}

/* Stopping, and starting over. */

static const ProtobufCMessage *cancel_request(struct dialog *x, struct str id) {
    Ws__RequestCancelWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__request_cancel_workflow_execution_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = own_namespace(x);
    q->workflow_execution = execution_of(&x->arena, own_text(x, id), "");
    q->identity = own_identity(x);
    q->request_id = new_id(x);
    return &q->base;
}

static const ProtobufCMessage *terminate_request(struct dialog *x, struct str id) {
    Ws__TerminateWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__terminate_workflow_execution_request__descriptor);
    if (!q)
        return NULL;
    q->namespace_ = own_namespace(x);
    q->workflow_execution = execution_of(&x->arena, own_text(x, id), "");
    q->identity = own_identity(x);
    q->reason = own_text(x, STR("terminated over HTTP"));
    return &q->base;
}

void begin_cancel(struct dialog *x) {
    dialog_ask(x, cancel_request(x, x->id), on_done);
}

void begin_terminate(struct dialog *x) {
    dialog_ask(x, terminate_request(x, x->id), on_done);
}

void begin_reset(struct dialog *x) {
    const struct given *v = x->body->v;
    Ws__ResetWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__reset_workflow_execution_request__descriptor);
    E__ResetReapplyExcludeType *excluded = arena_array(&x->arena, E__ResetReapplyExcludeType, 2);
    if (q && excluded) {
        q->namespace_ = own_namespace(x);
        q->workflow_execution = execution_of(&x->arena, own_text(x, x->id), "");
        q->reason = own_text(x, v[reset_request_reason].text.n ? v[reset_request_reason].text
                                                               : STR("reset over HTTP"));
        q->workflow_task_finish_event_id = v[reset_request_event_id].whole;
        q->request_id = new_id(x);
        q->identity = own_identity(x);
        q->reset_reapply_exclude_types = excluded;
        if (v[reset_request_exclude_signals].truth)
            excluded[q->n_reset_reapply_exclude_types++] = RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL;
        if (v[reset_request_exclude_updates].truth)
            excluded[q->n_reset_reapply_exclude_types++] = RESET_REAPPLY_EXCLUDE_TYPE_UPDATE;
    }
    dialog_ask(x, q && excluded ? &q->base : NULL, on_done);
}

/* Several at once, one after the other: each has its own result. */

struct batch {
    const ProtobufCMessage *(*request)(struct dialog *x, struct str id);
    size_t at;
};

static void ask_next(struct dialog *x);

static void write_one(struct dialog *x, const char *error) {
    struct batch *b = x->state;
    writer_key(&x->w, x->body->v[batch_request_execution_ids].texts[b->at++]);
    writer_open(&x->w, '{');
    write_text(&x->w, "status", error ? "failure" : "success");
    write_text(&x->w, "error", error);
    writer_close(&x->w, '}');
    ask_next(x);
}

static void on_one(struct dialog *x) {
    write_one(x, NULL);
}

static void on_one_failed(struct dialog *x) {
    write_one(x, x->err.text);
}

/* An id that stands twice in the list is one execution. */
static bool is_repeated(const struct given *ids, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (str_eq(ids->texts[i], ids->texts[at]))
            return true;
    return false;
}

static void ask_next(struct dialog *x) {
    struct batch *b = x->state;
    const struct given *ids = &x->body->v[batch_request_execution_ids];
    while (b->at < ids->count && is_repeated(ids, b->at))
        b->at++;
    if (b->at < ids->count) {
        dialog_try(x, b->request(x, ids->texts[b->at]), on_one, on_one_failed);
        return;
    }
    writer_close(&x->w, '}');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void begin_batch(struct dialog *x,
                        const ProtobufCMessage *(*request)(struct dialog *x, struct str id)) {
    struct batch *b = x->state = arena_new(&x->arena, struct batch);
    if (!b) {
        dialog_out_of_memory(x);
        return;
    }
    b->request = request;
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("results"));
    writer_open(&x->w, '{');
    ask_next(x);
}

void begin_cancel_batch(struct dialog *x) {
    begin_batch(x, cancel_request);
}

void begin_terminate_batch(struct dialog *x) {
    begin_batch(x, terminate_request);
}
