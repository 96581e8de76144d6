/* One HTTP request of the dialect, from its bytes to its answer.
 *
 * A handler is a chain of steps. Each step ends in exactly one of three ways:
 * it asks the server (dialog_ask), whose answer goes to the next step; it
 * replies; or it refuses. The server is asked with requests of its API, so
 * every rule and limit is the one that all clients have.
 *
 *   static void on_described(struct dialog *x) {
 *       const Ws__DescribeScheduleResponse *r = dialog_answer(x);
 *       ... dialog_reply(x) ...
 *   }
 *   ... dialog_ask(x, &req->base, on_described); return; ...
 *
 * A dialog lives until its answer has been handed to net. Its memory is an
 * arena, and for loops two arenas that take turns. All functions run on the
 * loop thread. None returns an error: an error is answered. */
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
struct routing_search;
struct outcome;
typedef void dialog_step(struct dialog *x);

enum dialog_verb {
    DIALOG_GET = 1,
    DIALOG_POST = 2,
    DIALOG_PUT = 4,
    DIALOG_PATCH = 8,
    DIALOG_DELETE = 16,
    DIALOG_ALL = 31,
}; /* bits, for sets of verbs */

struct dialog_route {
    const char *name; /* in the client */
    enum dialog_verb verb;
    const char *path; /* with {variables} */
    int status; /* of success */
    const struct shape *body; /* without fields: the body is not read */
    const struct shape *query;
    dialog_step *begin; /* the first step */
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
    const struct record *body, *query; /* NULL: not read */
    void *state; /* of the handler; in the arena */
    struct routing *routing; /* of routing.c */
    struct routing_search *search; /* of routing.c */
    struct outcome *outcome; /* of outcome.c */
    void (*run_found)(struct dialog *x, const char *workflow_id, const char *run_id); /* of runs.c */

    struct call call; /* the question in progress */
    void *started; /* the server's handle of it, for cancel() */
    struct mono deadline; /* of questions that wait; CLOCK_NEVER: the server decides */
    bool is_asking;
    bool is_streaming; /* http1_begin was called */
    bool is_head; /* HEAD: the answer has no body, also when it is a stream */
    bool is_ended;
    dialog_step *next; /* takes the answer */
    dialog_step *next_on_error; /* takes the error; NULL: an error ends the dialog */
    const ProtobufCMessage *answer;
    struct err err;

    struct arena turns[DIALOG_ARENAS]; /* of loops; made by dialog_next_arena() */
    size_t turn; /* DIALOG_ARENAS: answers go to `arena` */
    struct arena kept; /* of a stream: facts about the current run */

    struct buf out; /* the body of the answer, written by w */
    struct json_writer w;
    struct http1_later *later; /* NULL: answered, or the peer has closed the connection */
    dialog_step *on_sent; /* of a stream */
};

/* Asks the server. The request must be in memory of the dialog; NULL stands for a lack of memory. On success
 * next() runs, an error is answered. */
void dialog_ask(struct dialog *x, const ProtobufCMessage *request, dialog_step *next);
/* As dialog_ask(); on an error failed() runs, with the error in x->err. */
void dialog_try(struct dialog *x, const ProtobufCMessage *request, dialog_step *next, dialog_step *failed);
/* The next answers go to x->arena and stay until the end. That is so until the first dialog_next_arena(). */
void dialog_use_own_arena(struct dialog *x);
/* Adds the room for answers to the budget of x->arena. To be called once, after the request has been read. */
void dialog_add_answer_budget(struct dialog *x);
/* The arena that the next answer goes to. */
struct arena *dialog_answer_arena(struct dialog *x);
/* For loops: begins a round and returns its arena. The arena of the round before stays valid, the one before
 * that is cleared. */
struct arena *dialog_next_arena(struct dialog *x);
/* The answer of the server, of the response type that belongs to the request. */
static inline const void *dialog_answer(struct dialog *x) {
    return x->answer;
}

/* Each of these ends the dialog. */
void dialog_reply(struct dialog *x); /* the route's status, and the body that was written to x->w */
void dialog_fail(struct dialog *x, const struct err *e); /* the HTTP status of the error */
void dialog_refuse(struct dialog *x, int status, const char *fmt, ...) printf_like(3, 4);
void dialog_out_of_memory(struct dialog *x);
void dialog_refuse_invalid(struct dialog *x); /* 422, with x->complaints */

/* Streams: begin, then one piece at a time (the content of x->out), then end. */
void dialog_begin_stream(struct dialog *x, const char *content_type);
void dialog_send_piece(struct dialog *x,
                       dialog_step *on_sent); /* on_sent() runs when the peer has taken it */
void dialog_end_stream(struct dialog *x);
void dialog_abort_stream(struct dialog *x); /* so that the peer does not take the stream for complete */

struct dialog *dialog_new(struct mistral *m, const struct dialog_route *route); /* NULL: no memory */
void dialog_free(struct dialog *x);
/* Runs the step (NULL: none) and then the next steps, as long as their answers are there. */
void dialog_run_step(struct dialog *x, dialog_step *step);

/* For requests. All return NULL when memory is short, and the arena remembers it. */
void *dialog_new_message(struct arena *a, const ProtobufCMessageDescriptor *d); /* empty, of this type */
char *dialog_copy_text(struct arena *a, struct str text);
/* Copies in x->arena. */
char *dialog_text(struct dialog *x, struct str text);
char *dialog_namespace(struct dialog *x);
char *dialog_identity(struct dialog *x); /* the identity of all requests of the dialect */
char *dialog_new_id(struct dialog *x); /* a random UUID */
