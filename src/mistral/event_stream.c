/* Streams the events of an execution as server-sent events.
 *
 * The history is read page by page, then by long polls. Each page is one piece
 * of the answer. The next page is read after the peer has taken the piece, so
 * a slow reader delays only itself. The stream follows the chain of runs. It
 * ends with the execution, or when the server stops. A client that sends the
 * id of the last event that it has seen gets the events after it.
 *
 * Reading always begins with the first event of a run, because later events
 * refer to earlier ones; events that the client has seen are not written. An
 * error after the first piece is sent as an event. */
#include "mistral/event.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/member.h"

#define PAGE_EVENTS 100
#define STREAMS_MAX 64 /* half of the HTTP connections, so that other requests still get one */
#define HTTP_TOO_MANY 429

enum event_source { SOURCE_DATABASE, SOURCE_LIVE, SOURCE_HYBRID };

struct event_stream {
    struct event_context context;
    enum event_source source;
    int64_t seen; /* events of this run up to this id are not sent */
};

static void event_stream_read_page(struct dialog *x, ProtobufCBinaryData token);

static void event_stream_close(struct dialog *x) {
    dialog_end_stream(x);
}

/* An error before the first piece is an HTTP error, later an event. */
static void event_stream_on_error(struct dialog *x) {
    if (!x->is_streaming) {
        dialog_fail(x, &x->err);
        return;
    }
    buf_clear(&x->out);
    buf_add_cstr(&x->out, "event: error\ndata: ");
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    member_write_text(&x->w, "error", err_name(x->err.code));
    member_write_text(&x->w, "reason", cstr_is_empty(x->err.text) ? "unknown" : x->err.text);
    writer_close(&x->w, '}');
    buf_add_cstr(&x->out, "\n\n");
    dialog_send_piece(x, event_stream_close);
}

static void event_stream_follow_run(struct dialog *x, struct event_stream *s, const char *run_id) {
    char *workflow_id = s->context.workflow_id;
    arena_clear(&x->kept);
    s->context = (struct event_context){.workflow_id = workflow_id, .run_id = arena_strdup(&x->kept, run_id)};
    s->seen = 0;
}

/* The page is still valid: it is in the arena of this round. */
static void event_stream_on_sent(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct event_stream *s = x->state;
    size_t n = r->history ? r->history->n_events : 0;
    const char *next = n ? execution_next_run(r->history->events[n - 1]) : "";
    if (x->m->server.is_draining(x->m->server.ctx)) {
        dialog_end_stream(x);
        return;
    }
    if (r->next_page_token.len) {
        event_stream_read_page(x, r->next_page_token);
        return;
    }
    if (cstr_is_empty(next)) {
        dialog_end_stream(x);
        return;
    }
    event_stream_follow_run(x, s, next);
    event_stream_read_page(x, (ProtobufCBinaryData){0, NULL});
}

static void event_stream_on_page(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct event_stream *s = x->state;
    for (size_t i = 0; r->history && i < r->history->n_events; i++) {
        const History__HistoryEvent *e = r->history->events[i];
        event_learn(x, &s->context, e);
        if (e->event_id > s->seen)
            event_write(x, &s->context, e);
        event_forget(&s->context, e);
    }
    if (arena_failed(&x->kept)) {
        (void)err_std(&x->err, ERR_NO_MEMORY);
        event_stream_on_error(x);
        return;
    }
    if (!x->is_streaming)
        dialog_begin_stream(x, "text/event-stream");
    if (x->is_head) {
        dialog_end_stream(x);
        return;
    }
    if (!x->out.len)
        buf_add_cstr(&x->out, ": nothing new\n\n"); /* a write shows whether the peer is still connected */
    dialog_send_piece(x, event_stream_on_sent);
}

static void event_stream_read_page(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_next_arena(x);
    const struct event_stream *s = x->state;
    Ws__GetWorkflowExecutionHistoryRequest *q =
        execution_history_request(x, a, s->context.workflow_id, s->context.run_id, token);
    if (q) {
        q->wait_new_event = s->source != SOURCE_DATABASE;
        q->maximum_page_size = PAGE_EVENTS;
    }
    dialog_try(x, q ? &q->base : NULL, event_stream_on_page, event_stream_on_error);
}

/* Without an event id the stream begins in the current run; a live stream begins behind its last event. */
static void event_stream_on_described(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    const Workflow__WorkflowExecutionInfo *info = r->workflow_execution_info;
    struct event_stream *s = x->state;
    if (!s->context.run_id)
        s->context.run_id = arena_strdup(&x->kept, info->execution->run_id);
    if (s->source == SOURCE_LIVE)
        s->seen = MAX(s->seen, info->history_length);
    event_stream_read_page(x, (ProtobufCBinaryData){0, NULL});
}

/* The id of the last event seen: the query parameter, or the header that browsers send. */
static bool event_stream_read_position(struct dialog *x, struct event_stream *s) {
    struct field_value given = x->query->v[stream_query_last_event_id];
    struct place root = {.name = given.is_given ? STR("query") : STR("header")};
    struct place at = {.up = &root, .name = given.is_given ? STR("last_event_id") : STR("Last-Event-ID")};
    struct str text = given.is_given ? given.text : x->last_event_id, run_id;
    if (!text.n)
        return true;
    if (event_id_parse(text, &run_id, &s->seen)) {
        s->context.run_id = dialog_copy_text(&x->kept, run_id);
        return true;
    }
    complaints_add(&x->complaints, &at, "value_error",
                   "Value error, this is no id of an event of this stream");
    return false;
}

void mistral_begin_stream(struct dialog *x) {
    struct event_stream *s = x->state = arena_new(&x->arena, struct event_stream);
    struct field_value source = x->query->v[stream_query_event_source];
    Ws__DescribeWorkflowExecutionRequest *q =
        dialog_new_message(&x->arena, &ws__describe_workflow_execution_request__descriptor);
    if (!s || !q) {
        dialog_out_of_memory(x);
        return;
    }
    if (x->m->stream_count >= STREAMS_MAX) {
        dialog_refuse(x, HTTP_TOO_MANY, "There are %d streams already", STREAMS_MAX);
        return;
    }
    s->source = source.is_given ? (enum event_source)source.whole : SOURCE_HYBRID;
    s->context.workflow_id = dialog_text(x, x->id);
    if (!event_stream_read_position(x, s)) {
        dialog_refuse_invalid(x);
        return;
    }
    q->namespace_ = dialog_namespace(x);
    q->execution = execution_ref(&x->arena, s->context.workflow_id, s->context.run_id);
    dialog_ask(x, &q->base, event_stream_on_described);
}
