/* One HTTP request of the dialect, from its bytes to its answer.
 *
 * A handler is the first of a row of steps. Each step ends in one of three
 * ways: it asks the server (dialog_ask), whose answer is handed to the next
 * step; it answers; or it refuses. What the server is asked are the requests
 * of its API, so nothing is decided here that is not decided for all clients.
 *
 *   static void on_described(struct dialog *x) {
 *       const Ws__DescribeScheduleResponse *r = dialog_answer(x);
 *       ... dialog_reply(x) ...
 *   }
 *   ... dialog_ask(x, &req->base, on_described); return; ...
 *
 * A dialog lives until its answer has been handed to net. Memory is its
 * arena, or, for what is asked again and again, one of two that take turns. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/list.h"
#include "engine/call.h"
#include "json/writer.h"
#include "mistral/mistral.h"
#include "mistral/shape.h"
#include "net/http1.h"

struct dialog;
struct routing;
struct search;
struct outcome;
typedef void dialog_step(struct dialog *x);

enum dialog_verb {
    DIALOG_GET = 1,
    DIALOG_POST = 2,
    DIALOG_PUT = 4,
    DIALOG_PATCH = 8,
    DIALOG_DELETE = 16,
    DIALOG_ALL = 31,
}; /* bits, for sets of them */

struct dialog_route {
    const char *name; /* the client's */
    enum dialog_verb verb;
    const char *path;
    int status; /* of success */
    const struct shape *body; /* without fields: none is read */
    const struct shape *query;
    dialog_step *begin;
};

#define DIALOG_ARENAS 2

struct dialog {
    struct list link; /* mistral.waiting, .ready or .ended */
    struct mistral *m;
    const struct dialog_route *route;
    struct arena arena;
    struct complaints complaints;
    const char *namespace;
    struct str id; /* the variable of the path, decoded */
    struct str last_event_id; /* the header; empty when there is none */
    const struct record *body, *query;
    void *state; /* of the handler; in the arena */
    struct routing *routing; /* these two of routing.c */
    struct search *search;
    struct outcome *outcome; /* of execution.c */
    void (*run_found)(struct dialog *x, const char *workflow_id, const char *run_id); /* of runs.c */

    struct call call; /* the question under way */
    void *started; /* the server's name for it */
    struct mono deadline; /* of questions that wait; CLOCK_NEVER: as long as the server does */
    bool is_asking;
    bool is_streaming; /* http1_begin was called */
    bool is_head; /* of a stream, too, only the head is wanted */
    bool is_ended;
    dialog_step *next; /* for the answer */
    dialog_step *next_on_error; /* NULL: an error ends the dialog */
    const ProtobufCMessage *answer;
    struct err err;

    struct arena turns[DIALOG_ARENAS];
    size_t turn;
    struct arena kept; /* for a stream: what it keeps of the run that it is in */

    struct buf out; /* the body of the answer, by w */
    struct json_writer w;
    struct http1_later *later;
    dialog_step *on_sent; /* of a stream */
};

/* Asks the server. The request must live in the dialog. An error is answered as such. */
void dialog_ask(struct dialog *x, const ProtobufCMessage *request, dialog_step *next);
/* The same; failed() may look at x->err, and goes on or ends. */
void dialog_try(struct dialog *x, const ProtobufCMessage *request, dialog_step *next, dialog_step *failed);
/* What is asked next is answered into the arena that lasts, which is so until the first round. */
void dialog_keep(struct dialog *x);
/* The request has been read, within the budget of one: from now on there is room for answers. */
void dialog_expect_answers(struct dialog *x);
/* Memory until the next round. */
struct arena *dialog_scratch(struct dialog *x);
/* For loops: the arena of this round. The one of the round before still holds what it held. */
struct arena *dialog_turn(struct dialog *x);
/* What the server answered; of the type that belongs to the request. */
static inline const void *dialog_answer(struct dialog *x) {
    return x->answer;
}

/* The end. The body is what was written to x->w. */
void dialog_reply(struct dialog *x);
void dialog_fail(struct dialog *x, const struct err *e); /* with the HTTP status that fits */
void dialog_refuse(struct dialog *x, int status, const char *fmt, ...) printf_like(3, 4);
void dialog_out_of_memory(struct dialog *x);
void dialog_complain(struct dialog *x); /* 422, with what x->complaints holds */

/* Streams: begin, then one piece at a time (what was written to x->out), then end. */
void dialog_stream(struct dialog *x, const char *content_type);
void dialog_send(struct dialog *x, dialog_step *on_sent);
void dialog_close(struct dialog *x);
void dialog_break(struct dialog *x); /* the peer must not take it for complete */

/* Making and moving. */
struct dialog *dialog_new(struct mistral *m, const struct dialog_route *route);
void dialog_free(struct dialog *x);
/* From the loop: this step, or with NULL what follows from an answer, and all that can be done at once. */
void dialog_run(struct dialog *x, dialog_step *step);

/* A message of this type, empty, in the arena; NULL when memory is short. */
void *message_new(struct arena *a, const ProtobufCMessageDescriptor *d);
/* Text of the arena as messages have it; NULL stays for "" */
char *message_text(struct arena *a, struct str text);
