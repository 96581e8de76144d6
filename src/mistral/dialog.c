/* The steps of one request.
 *
 * Happy path: the first step asks, the server answers, the next step runs, the
 * last one replies. An answer that comes while a step runs is taken up when
 * that step has returned. One that comes later is taken up at the end of the
 * loop turn, because the engine may be in the middle of answering others. */
#include "mistral/dialog.h"

#include <stdio.h>

#include "base/mem.h"
#include "host/loop.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "wire/status.h"

#define REQUEST_BUDGET ((16u << 20) + (256u << 10)) /* as for a gRPC request */
#define ANSWER_BUDGET ((size_t)256 << 20) /* what an answer of the largest size unfolds to */
#define BODY_BYTES_MAX ((size_t)64 << 20)
#define HTTP_UNPROCESSABLE 422
#define HTTP_BAD_REQUEST 400

void *message_new(struct arena *a, const ProtobufCMessageDescriptor *d) {
    ProtobufCMessage *m = arena_zalloc(a, d->sizeof_message);
    if (m)
        protobuf_c_message_init(d, m);
    return m;
}

char *message_text(struct arena *a, struct str text) {
    return arena_strndup(a, text.n ? text.p : "", text.n);
}

/* An arena failed: whatever was to be said may lack something. */
static bool lacks_memory(const struct dialog *x) {
    bool lacks = arena_failed(&x->arena) || arena_failed(&x->kept);
    for (size_t i = 0; i < DIALOG_ARENAS; i++)
        lacks |= arena_failed(&x->turns[i]);
    return lacks;
}

/* Not for what the request is: what seems to be wrong with it may come from that. */
static bool is_starved(const struct dialog *x) {
    bool is_so = arena_starved(&x->arena) || arena_starved(&x->kept);
    for (size_t i = 0; i < DIALOG_ARENAS; i++)
        is_so |= arena_starved(&x->turns[i]);
    return is_so;
}

/* Asking. */

static void move_to(struct dialog *x, struct list *to) {
    list_remove(&x->link);
    list_append(to, &x->link);
}

static void asked_no_more(struct dialog *x) {
    x->is_asking = false;
    move_to(x, &x->m->ready);
}

static void on_reply(struct call *c, const ProtobufCMessage *m, struct str tail unused_arg) {
    struct dialog *x = container_of(c, struct dialog, call);
    x->err.code = 0;
    x->answer = m;
    asked_no_more(x);
}

static void on_failure(struct call *c, const struct err *e) {
    struct dialog *x = container_of(c, struct dialog, call);
    x->err = *e;
    x->err.failure = NULL; /* the engine's; the text says what it was */
    x->err.operations = NULL;
    asked_no_more(x);
}

static const struct call_ops dialog_ops = {on_reply, on_failure};

static void ask(struct dialog *x, struct arena *a, const ProtobufCMessage *request, dialog_step *next,
                dialog_step *failed) {
    ensure(!x->is_asking && !x->is_ended);
    const struct mistral_server *s = &x->m->server;
    x->call = (struct call){.ops = &dialog_ops, .arena = a, .deadline = x->deadline};
    x->is_asking = true;
    x->answer = NULL;
    x->err.code = 0;
    x->next = next;
    x->next_on_error = failed;
    move_to(x, &x->m->waiting);
    x->started = s->start(s->ctx, &x->call, request);
}

struct arena *dialog_scratch(struct dialog *x) {
    return x->turn < DIALOG_ARENAS ? &x->turns[x->turn] : &x->arena;
}

void dialog_try(struct dialog *x, const ProtobufCMessage *request, dialog_step *next, dialog_step *failed) {
    if (!request || lacks_memory(x))
        dialog_out_of_memory(x);
    else
        ask(x, dialog_scratch(x), request, next, failed);
}

void dialog_ask(struct dialog *x, const ProtobufCMessage *request, dialog_step *next) {
    dialog_try(x, request, next, NULL);
}

void dialog_keep(struct dialog *x) {
    x->turn = DIALOG_ARENAS;
}

void dialog_expect_answers(struct dialog *x) {
    x->arena.budget += ANSWER_BUDGET;
}

struct arena *dialog_turn(struct dialog *x) {
    x->turn = (x->turn + 1) % DIALOG_ARENAS;
    struct arena *a = &x->turns[x->turn];
    if (a->budget)
        arena_clear(a);
    else
        arena_init(a, ANSWER_BUDGET);
    return a;
}

static bool is_ready(const struct dialog *x) {
    return !x->is_ended && !x->is_asking && x->next;
}

static void go_on(struct dialog *x) {
    while (is_ready(x)) {
        dialog_step *next = take(&x->next), *failed = take(&x->next_on_error);
        move_to(x, &x->m->waiting);
        if (x->err.code == 0)
            next(x);
        else if (failed)
            failed(x);
        else
            dialog_fail(x, &x->err);
    }
}

void dialog_run(struct dialog *x, dialog_step *step) {
    if (step)
        step(x);
    go_on(x);
}

/* The end. */

static void end(struct dialog *x) {
    ensure(!x->is_ended);
    x->is_ended = true;
    move_to(x, &x->m->ended);
}

static void answer(struct dialog *x, int status) {
    struct http1_response resp;
    http1_response_init(&resp);
    resp.status = status;
    buf_done(&resp.body);
    resp.body = x->out;
    buf_init(&x->out, BODY_BYTES_MAX);
    http1_answer(take(&x->later), &resp);
    end(x);
}

void dialog_reply(struct dialog *x) {
    if (!buf_ok(&x->out) || lacks_memory(x)) {
        dialog_out_of_memory(x);
        return;
    }
    if (x->out.len)
        buf_add_u8(&x->out, '\n');
    answer(x, x->route->status);
}

static void refuse(struct dialog *x, int status, const char *text) {
    if (x->is_streaming) {
        dialog_break(x);
        return;
    }
    buf_clear(&x->out);
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("detail"));
    writer_string(&x->w, str_of(text));
    writer_close(&x->w, '}');
    buf_add_u8(&x->out, '\n');
    answer(x, status);
}

void dialog_refuse(struct dialog *x, int status, const char *fmt, ...) {
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (is_starved(x))
        dialog_out_of_memory(x);
    else
        refuse(x, status, text);
}

/* What the server finds wrong with a request was wrong in the body. */
void dialog_fail(struct dialog *x, const struct err *e) {
    int status = status_http(e);
    bool has_query = x->route->query->count > 1;
    struct place body = {.name = x->route->body->count ? STR("body")
                                 : has_query           ? STR("query")
                                                       : STR("path")};
    if (status != HTTP_BAD_REQUEST || e->code != ERR_INVALID || x->is_streaming) {
        refuse(x, status, e->text);
        return;
    }
    complaints_add(&x->complaints, &body, "value_error", "Value error, %s", e->text);
    dialog_complain(x);
}

void dialog_out_of_memory(struct dialog *x) {
    struct err e;
    (void)err_std(&e, ERR_NO_MEMORY);
    refuse(x, status_http(&e), e.text);
}

void dialog_complain(struct dialog *x) {
    if (is_starved(x) || !x->complaints.list.len) { /* of which at least one is told */
        dialog_out_of_memory(x);
        return;
    }
    buf_clear(&x->out);
    buf_add_cstr(&x->out, "{\"detail\":[");
    buf_add_str(&x->out, buf_str(&x->complaints.list));
    buf_add_cstr(&x->out, "]}\n");
    answer(x, HTTP_UNPROCESSABLE);
}

/* Streams. */

static void sent(void *ctx) {
    struct dialog *x = ctx;
    dialog_run(x, take(&x->on_sent));
}

void dialog_stream(struct dialog *x, const char *content_type) {
    x->is_streaming = true;
    x->m->stream_count++;
    http1_begin(x->later, content_type, STR(":\n\n"), sent);
}

void dialog_send(struct dialog *x, dialog_step *on_sent) {
    if (!buf_ok(&x->out) || !x->out.len || lacks_memory(x)) {
        dialog_break(x);
        return;
    }
    x->on_sent = on_sent;
    http1_send(x->later, buf_str(&x->out));
    buf_clear(&x->out);
    writer_init(&x->w, &x->out, false);
}

void dialog_close(struct dialog *x) {
    http1_end(take(&x->later));
    end(x);
}

void dialog_break(struct dialog *x) {
    http1_break(x->later);
}

/* Life. */

struct dialog *dialog_new(struct mistral *m, const struct dialog_route *route) {
    struct dialog *x = mem_zalloc(sizeof(*x));
    if (!x)
        return NULL;
    x->m = m;
    x->route = route;
    x->deadline.us = CLOCK_NEVER;
    x->turn = DIALOG_ARENAS;
    arena_init(&x->arena, REQUEST_BUDGET);
    arena_init(&x->kept, REQUEST_BUDGET);
    complaints_init(&x->complaints, &x->arena);
    buf_init(&x->out, BODY_BYTES_MAX);
    writer_init(&x->w, &x->out, false);
    list_append(&m->waiting, &x->link);
    return x;
}

void dialog_free(struct dialog *x) {
    if (x->is_streaming)
        x->m->stream_count--;
    list_remove(&x->link);
    buf_done(&x->out);
    complaints_done(&x->complaints);
    for (size_t i = 0; i < DIALOG_ARENAS; i++)
        if (x->turns[i].budget)
            arena_done(&x->turns[i]);
    arena_done(&x->kept);
    arena_done(&x->arena);
    mem_free(x);
}
