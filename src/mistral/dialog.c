/* Runs the steps of one request.
 *
 * Happy path: the first step asks the server, the server answers, the next
 * step runs, the last step replies. If the answer arrives while a step runs,
 * the next step runs after it. If it arrives later, the next step runs at the
 * end of the loop turn, because the engine may still be answering other calls.
 *
 * A failed arena or output buffer ends the dialog with the error "no memory",
 * so that no incomplete request is sent and no incomplete answer. */
#include "mistral/dialog.h"

#include <stdio.h>

#include "base/mem.h"
#include "host/loop.h"
#include "wire/encode.h"
#include "wire/guard.h"
#include "wire/status.h"

#define REQUEST_BUDGET ((16u << 20) + (256u << 10)) /* as for a gRPC request */
#define ANSWER_BUDGET ((size_t)256 << 20) /* the largest answer, decoded */
#define BODY_BYTES_MAX ((size_t)64 << 20)
#define HTTP_UNPROCESSABLE 422
#define HTTP_BAD_REQUEST 400

/* An allocation failed, so a request or an answer may be incomplete. */
static bool dialog_lacks_memory(const struct dialog *x) {
    bool lacks = arena_failed(&x->arena) || arena_failed(&x->kept);
    for (size_t i = 0; i < DIALOG_ARENAS; i++)
        lacks |= arena_failed(&x->turns[i]);
    return lacks;
}

/* The process has no memory (the request is not at fault), so complaints about the request may be wrong. */
static bool dialog_is_starved(const struct dialog *x) {
    bool is_so = arena_starved(&x->arena) || arena_starved(&x->kept);
    for (size_t i = 0; i < DIALOG_ARENAS; i++)
        is_so |= arena_starved(&x->turns[i]);
    return is_so;
}

/* Questions. */

static void dialog_move_to(struct dialog *x, struct list *to) {
    list_remove(&x->link);
    list_append(to, &x->link);
}

static void dialog_end_question(struct dialog *x) {
    x->is_asking = false;
    dialog_move_to(x, &x->m->ready);
}

static void dialog_on_answer(struct call *c, const ProtobufCMessage *m, struct str tail unused_arg) {
    struct dialog *x = container_of(c, struct dialog, call);
    x->err.code = 0;
    x->answer = m;
    dialog_end_question(x);
}

static void dialog_on_error(struct call *c, const struct err *e) {
    struct dialog *x = container_of(c, struct dialog, call);
    x->err = *e;
    x->err.failure = NULL; /* owned by the engine, and freed after this call */
    x->err.operations = NULL;
    dialog_end_question(x);
}

static const struct call_ops dialog_ops = {dialog_on_answer, dialog_on_error};

static void dialog_start_question(struct dialog *x, struct arena *a, const ProtobufCMessage *request,
                                  dialog_step *next, dialog_step *failed) {
    ensure(!x->is_asking && !x->is_ended);
    const struct mistral_server *s = &x->m->server;
    x->call = (struct call){.ops = &dialog_ops, .arena = a, .deadline = x->deadline};
    x->is_asking = true;
    x->answer = NULL;
    x->err.code = 0;
    x->next = next;
    x->next_on_error = failed;
    dialog_move_to(x, &x->m->waiting);
    x->started = s->start(s->ctx, &x->call, request);
}

struct arena *dialog_answer_arena(struct dialog *x) {
    return x->turn < DIALOG_ARENAS ? &x->turns[x->turn] : &x->arena;
}

void dialog_try(struct dialog *x, const ProtobufCMessage *request, dialog_step *next, dialog_step *failed) {
    if (!request || dialog_lacks_memory(x))
        dialog_out_of_memory(x);
    else
        dialog_start_question(x, dialog_answer_arena(x), request, next, failed);
}

void dialog_ask(struct dialog *x, const ProtobufCMessage *request, dialog_step *next) {
    dialog_try(x, request, next, NULL);
}

void dialog_use_own_arena(struct dialog *x) {
    x->turn = DIALOG_ARENAS;
}

void dialog_add_answer_budget(struct dialog *x) {
    x->arena.budget += ANSWER_BUDGET;
}

struct arena *dialog_next_arena(struct dialog *x) {
    x->turn = (x->turn + 1) % DIALOG_ARENAS;
    struct arena *a = &x->turns[x->turn];
    if (a->budget)
        arena_clear(a);
    else
        arena_init(a, ANSWER_BUDGET);
    return a;
}

static bool dialog_is_ready(const struct dialog *x) {
    return !x->is_ended && !x->is_asking && x->next;
}

static void dialog_run_ready_steps(struct dialog *x) {
    while (dialog_is_ready(x)) {
        dialog_step *next = take(&x->next), *failed = take(&x->next_on_error);
        dialog_move_to(x, &x->m->waiting);
        if (x->err.code == 0)
            next(x);
        else if (failed)
            failed(x);
        else
            dialog_fail(x, &x->err);
    }
}

void dialog_run_step(struct dialog *x, dialog_step *step) {
    if (step)
        step(x);
    dialog_run_ready_steps(x);
}

/* Answers. */

static void dialog_mark_ended(struct dialog *x) {
    ensure(!x->is_ended);
    x->is_ended = true;
    dialog_move_to(x, &x->m->ended);
}

static void dialog_send_answer(struct dialog *x, int status) {
    struct http1_response resp;
    http1_response_init(&resp);
    resp.status = status;
    buf_done(&resp.body);
    resp.body = x->out;
    buf_init(&x->out, BODY_BYTES_MAX);
    http1_answer(take(&x->later), &resp);
    dialog_mark_ended(x);
}

void dialog_reply(struct dialog *x) {
    if (!buf_ok(&x->out) || dialog_lacks_memory(x)) {
        dialog_out_of_memory(x);
        return;
    }
    if (x->out.len)
        buf_add_u8(&x->out, '\n');
    dialog_send_answer(x, x->route->status);
}

static void dialog_send_refusal(struct dialog *x, int status, const char *text) {
    if (x->is_streaming) {
        dialog_abort_stream(x);
        return;
    }
    buf_clear(&x->out);
    writer_init(&x->w, &x->out, false);
    writer_open(&x->w, '{');
    writer_key(&x->w, STR("detail"));
    writer_string(&x->w, str_of(text));
    writer_close(&x->w, '}');
    buf_add_u8(&x->out, '\n');
    dialog_send_answer(x, status);
}

void dialog_refuse(struct dialog *x, int status, const char *fmt, ...) {
    char text[ERR_TEXT_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (dialog_is_starved(x))
        dialog_out_of_memory(x);
    else
        dialog_send_refusal(x, status, text);
}

/* An argument that the server rejects came from the body, the query or the path: it is answered 422. */
void dialog_fail(struct dialog *x, const struct err *e) {
    int status = status_http(e);
    bool has_query = x->route->query->count > 1;
    struct place body = {.name = x->route->body->count ? STR("body")
                                 : has_query           ? STR("query")
                                                       : STR("path")};
    if (status != HTTP_BAD_REQUEST || e->code != ERR_INVALID || x->is_streaming) {
        dialog_send_refusal(x, status, e->text);
        return;
    }
    complaints_add(&x->complaints, &body, "value_error", "Value error, %s", e->text);
    dialog_refuse_invalid(x);
}

void dialog_out_of_memory(struct dialog *x) {
    struct err e;
    (void)err_std(&e, ERR_NO_MEMORY);
    dialog_send_refusal(x, status_http(&e), e.text);
}

void dialog_refuse_invalid(struct dialog *x) {
    if (dialog_is_starved(x) || !x->complaints.list.len) { /* an empty list would say nothing */
        dialog_out_of_memory(x);
        return;
    }
    buf_clear(&x->out);
    buf_add_cstr(&x->out, "{\"detail\":[");
    buf_add_str(&x->out, buf_str(&x->complaints.list));
    buf_add_cstr(&x->out, "]}\n");
    dialog_send_answer(x, HTTP_UNPROCESSABLE);
}

/* Streams. */

static void dialog_on_piece_sent(void *ctx) {
    struct dialog *x = ctx;
    dialog_run_step(x, take(&x->on_sent));
}

void dialog_begin_stream(struct dialog *x, const char *content_type) {
    x->is_streaming = true;
    x->m->stream_count++;
    http1_begin(x->later, content_type, STR(":\n\n"), dialog_on_piece_sent);
}

void dialog_send_piece(struct dialog *x, dialog_step *on_sent) {
    if (!buf_ok(&x->out) || !x->out.len || dialog_lacks_memory(x)) {
        dialog_abort_stream(x);
        return;
    }
    x->on_sent = on_sent;
    http1_send(x->later, buf_str(&x->out));
    buf_clear(&x->out);
    writer_init(&x->w, &x->out, false);
}

void dialog_end_stream(struct dialog *x) {
    http1_end(take(&x->later));
    dialog_mark_ended(x);
}

void dialog_abort_stream(struct dialog *x) {
    http1_break(x->later);
}

/* Creation. */

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
