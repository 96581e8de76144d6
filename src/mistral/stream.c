/* What happens in an execution, as server-sent events.
 *
 * The history is read page by page, then waited for; each page is one piece of
 * the answer, and the next is read when the peer has taken it, so a slow
 * reader holds up nothing but itself. A run that another one follows is
 * followed. The stream ends with the execution, or when the server stops; a
 * client that names the last event it has seen goes on behind it.
 *
 * Reading always begins with the first event of a run, because later ones
 * refer to earlier ones; what the client has seen is passed over. */
#include "mistral/event.h"
#include "mistral/execution.h"
#include "mistral/handlers.h"
#include "mistral/payload.h"

#define PAGE_EVENTS 100
#define STREAMS_MAX 64 /* half of the connections that HTTP has: others must get in, too */
#define HTTP_TOO_MANY 429

enum source { SOURCE_DATABASE, SOURCE_LIVE, SOURCE_HYBRID };

struct stream {
    struct event_context context;
    enum source source;
    int64_t seen; /* events of this run up to here are not sent */
};

static void read_on(struct dialog *x, ProtobufCBinaryData token);

static void close_stream(struct dialog *x) {
    dialog_close(x);
}

/* The error of a stream that has begun is an event, too. */
static void on_error(struct dialog *x) {
    if (!x->is_streaming) {
        dialog_fail(x, &x->err);
        return;
    }
    buf_clear(&x->out);
    buf_add_cstr(&x->out, "event: error\ndata: ");
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    write_text(&x->w, "error", err_name(x->err.code));
    write_text(&x->w, "reason", strempty(x->err.text) ? "unknown" : x->err.text);
    writer_close(&x->w, '}');
    buf_add_cstr(&x->out, "\n\n");
    dialog_send(x, close_stream);
}

static void follow(struct dialog *x, struct stream *s, const char *run_id) {
    char *workflow_id = s->context.workflow_id;
    arena_clear(&x->kept);
    s->context = (struct event_context){.workflow_id = workflow_id, .run_id = arena_strdup(&x->kept, run_id)};
    s->seen = 0;
}

/* The answer that was read is still there: it is in the arena of this round. */
static void on_sent(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct stream *s = x->state;
    size_t n = r->history ? r->history->n_events : 0;
    const char *next = n ? event_next_run(r->history->events[n - 1]) : "";
    if (x->m->server.is_draining(x->m->server.ctx)) {
        dialog_close(x);
        return;
    }
    if (r->next_page_token.len) {
        read_on(x, r->next_page_token);
        return;
    }
    if (strempty(next)) {
        dialog_close(x);
        return;
    }
    follow(x, s, next);
    read_on(x, (ProtobufCBinaryData){0, NULL});
}

static void on_page(struct dialog *x) {
    const Ws__GetWorkflowExecutionHistoryResponse *r = dialog_answer(x);
    struct stream *s = x->state;
    for (size_t i = 0; r->history && i < r->history->n_events; i++) {
        const History__HistoryEvent *e = r->history->events[i];
        event_learn(x, &s->context, e);
        if (e->event_id > s->seen)
            event_write(x, &s->context, e);
        event_forget(&s->context, e);
    }
    if (arena_failed(&x->kept)) {
        (void)err_std(&x->err, ERR_NO_MEMORY);
        on_error(x);
        return;
    }
    if (!x->is_streaming)
        dialog_stream(x, "text/event-stream");
    if (x->is_head) {
        dialog_close(x);
        return;
    }
    if (!x->out.len)
        buf_add_cstr(&x->out, ": nothing new\n\n"); /* and the peer is still there */
    dialog_send(x, on_sent);
}

static void read_on(struct dialog *x, ProtobufCBinaryData token) {
    struct arena *a = dialog_turn(x);
    const struct stream *s = x->state;
    Ws__GetWorkflowExecutionHistoryRequest *q =
        history_request(x, a, s->context.workflow_id, s->context.run_id, token);
    if (q) {
        q->wait_new_event = s->source != SOURCE_DATABASE;
        q->maximum_page_size = PAGE_EVENTS;
    }
    dialog_try(x, q ? &q->base : NULL, on_page, on_error);
}

/* The run that is current now, and how far it is. */
static void on_described(struct dialog *x) {
    const Ws__DescribeWorkflowExecutionResponse *r = dialog_answer(x);
    const Workflow__WorkflowExecutionInfo *info = r->workflow_execution_info;
    struct stream *s = x->state;
    if (!s->context.run_id)
        s->context.run_id = arena_strdup(&x->kept, info->execution->run_id);
    if (s->source == SOURCE_LIVE)
        s->seen = MAX(s->seen, info->history_length);
    read_on(x, (ProtobufCBinaryData){0, NULL});
}

/* The client's own parameter, or what browsers send. */
static bool read_place(struct dialog *x, struct stream *s) {
    struct given given = x->query->v[stream_query_last_event_id];
    struct place root = {.name = given.is_given ? STR("query") : STR("header")};
    struct place at = {.up = &root, .name = given.is_given ? STR("last_event_id") : STR("Last-Event-ID")};
    struct str text = given.is_given ? given.text : x->last_event_id, run_id;
    if (!text.n)
        return true;
    if (event_id_parse(text, &run_id, &s->seen)) {
        s->context.run_id = message_text(&x->kept, run_id);
        return true;
    }
    complaints_add(&x->complaints, &at, "value_error",
                   "Value error, this is no id of an event of this stream");
    return false;
}

void begin_stream(struct dialog *x) {
    struct stream *s = x->state = arena_new(&x->arena, struct stream);
    struct given source = x->query->v[stream_query_event_source];
    Ws__DescribeWorkflowExecutionRequest *q =
        message_new(&x->arena, &ws__describe_workflow_execution_request__descriptor);
    if (!s || !q) {
        dialog_out_of_memory(x);
        return;
    }
    if (x->m->stream_count >= STREAMS_MAX) {
        dialog_refuse(x, HTTP_TOO_MANY, "There are %d streams already", STREAMS_MAX);
        return;
    }
    s->source = source.is_given ? (enum source)source.whole : SOURCE_HYBRID;
    s->context.workflow_id = own_text(x, x->id);
    if (!read_place(x, s)) {
        dialog_complain(x);
        return;
    }
    q->namespace_ = own_namespace(x);
    q->execution = execution_of(&x->arena, s->context.workflow_id, s->context.run_id);
    dialog_ask(x, &q->base, on_described);
}
