/* The calls that show an execution or a run: its state, or its history.
 *
 * A state is one description, and for a completed run the result from its
 * close event. A history is read page by page; each event is written as the
 * HTTP API writes it. An unknown execution or run is answered 404. */
#include "json/json.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"
#include "mistral/outcome.h"
#include "mistral/payload.h"
#include "mistral/runs.h"
#include "names.h"

#define HISTORY_PAGE 256

enum execution_view_kind { EXECUTION_VIEW_STATE, EXECUTION_VIEW_HISTORY };

struct execution_view {
    struct outcome outcome;
    const Workflow__WorkflowExecutionInfo *info;
    char *workflow_id, *run_id;
    enum execution_view_kind kind;
};

/* Whether the data is one JSON string. The client chose the data, so it has to be read to know. */
static bool execution_view_is_string(struct str data, struct str *ret_token) {
    struct json_reader r;
    reader_init(&r, data);
    return utf8_valid(data) && reader_kind(&r) == JSON_STRING && reader_skip(&r, ret_token) == 0 &&
           reader_end(&r) == 0;
}

static void execution_view_write_search_keys(struct dialog *x, const Common__SearchAttributes *all) {
    struct json_writer *w = &x->w;
    writer_key(w, STR("search_keys"));
    writer_open(w, '{');
    for (size_t i = 0; all && i < all->n_indexed_fields; i++) {
        const Common__Payload *p = all->indexed_fields[i]->value;
        struct str data = str_bytes(p->data.data, p->data.len), token;
        writer_key(w, str_of(all->indexed_fields[i]->key));
        if (execution_view_is_string(data, &token))
            writer_token(w, token);
        else
            writer_string(w, data);
    }
    writer_close(w, '}');
}

static void execution_view_write_execution(struct dialog *x) {
    const struct execution_view *l = x->state;
    bool has_keys =
        x->route->query == &shape_execution_query && x->query->v[execution_query_include_search_keys].truth;
    writer_open(&x->w, '{');
    execution_write(x, l->info);
    execution_write_result(x, outcome_result(&l->outcome));
    if (has_keys)
        execution_view_write_search_keys(x, l->info->search_attributes);
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void execution_view_on_described(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    struct execution_view *l = x->state;
    l->info = r->workflow_execution_info;
    if (l->info->status != WORKFLOW_EXECUTION_STATUS_COMPLETED) {
        execution_view_write_execution(x);
        return;
    }
    l->outcome = (struct outcome){l->info->execution->workflow_id, l->info->execution->run_id, false,
                                  execution_view_write_execution, NULL};
    outcome_find(x, &l->outcome);
}

static void execution_view_ask_history(struct dialog *x, ProtobufCBinaryData token);

static void execution_view_on_history(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct field_value decodes = x->query->v[history_query_decode_payloads];
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
        execution_view_ask_history(x, r->next_page_token);
        return;
    }
    writer_close(&x->w, ']');
    writer_close(&x->w, '}');
    dialog_reply(x);
}

static void execution_view_ask_history(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_next_arena(x);
    const struct execution_view *l = x->state;
    Ws__GetWorkflowExecutionHistoryRequest *q =
        execution_history_request(x, a, l->workflow_id, l->run_id, token);
    if (q)
        q->maximum_page_size = HISTORY_PAGE;
    dialog_ask(x, q ? &q->base : NULL, execution_view_on_history);
}

static void execution_view_begin(struct dialog *x, const char *workflow_id, const char *run_id) {
    struct execution_view *l = x->state;
    l->workflow_id = dialog_text(x, str_of(workflow_id));
    l->run_id = dialog_text(x, str_of(run_id));
    if (l->kind == EXECUTION_VIEW_STATE) {
        execution_ask_description(x, l->workflow_id, l->run_id, execution_view_on_described);
        return;
    }
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("events"));
    writer_open(&x->w, '[');
    execution_view_ask_history(x, (ProtobufCBinaryData){0, NULL});
}

static bool execution_view_prepare(struct dialog *x, enum execution_view_kind kind) {
    struct execution_view *l = x->state = arena_new(&x->arena, struct execution_view);
    if (!l) {
        dialog_out_of_memory(x);
        return false;
    }
    l->kind = kind;
    return true;
}

void mistral_begin_get_execution(struct dialog *x) {
    if (execution_view_prepare(x, EXECUTION_VIEW_STATE))
        execution_view_begin(x, dialog_text(x, x->id), "");
}

void mistral_begin_get_history(struct dialog *x) {
    if (execution_view_prepare(x, EXECUTION_VIEW_HISTORY))
        execution_view_begin(x, dialog_text(x, x->id), "");
}

static void execution_view_on_run_found(struct dialog *x, const char *workflow_id, const char *run_id) {
    execution_view_begin(x, workflow_id, run_id);
}

void mistral_begin_get_run(struct dialog *x) {
    if (execution_view_prepare(x, EXECUTION_VIEW_STATE))
        runs_find_by_id(x, execution_view_on_run_found);
}

void mistral_begin_get_run_history(struct dialog *x) {
    if (execution_view_prepare(x, EXECUTION_VIEW_HISTORY))
        runs_find_by_id(x, execution_view_on_run_found);
}
