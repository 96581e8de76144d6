/* Between the files of this folder. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "client/client.h"
#include "command/command.h"

#define COMMAND_MEMORY_MAX (256u << 20)

/* How a flag's text becomes the value of its field. */
enum flag_form {
    FORM_NONE, /* code reads it */
    FORM_PLAIN, /* as it stands: text, numbers, times, enums by their short names */
    FORM_DURATION, /* 1h30m */
    FORM_JSON, /* a message, or a payload */
    FORM_TEXT_JSON, /* text, as a payload */
    FORM_PAIR, /* KEY=JSON, for a map */
    FORM_EVERY, /* an interval, as the cron string "@every ..." */
};

struct flag_rule {
    bool is_needed;
    enum flag_form form;
    const char *field;
};
extern const struct flag_rule flag_rules[FLAG_ROWS];

struct command_rule {
    enum client_method call;
    const char *items;
    const char *columns;
};
extern const struct command_rule command_rules[COMMAND_IDS];
const ProtobufCMessageDescriptor *request_type(enum client_method call);

struct command;
typedef enum command_exit command_fn(struct command *c, struct buf *out);

/* One command under way. */
struct command {
    enum command_id id;
    const struct command_rule *rule;
    const struct opt_args *args;
    enum command_format format;
    struct arena arena; /* the request's */
    struct arena page; /* for what is shown at once; empty after each page */
    ProtobufCMessage *request;
    size_t shown; /* items so far */
    size_t limit; /* 0: all */
    struct session *session;
    bool is_interrupted; /* by Ctrl-C, while it waited */
};

void say(const char *fmt, ...) printf_like(1, 2); /* one line on stderr */
/* The command's own flag of that name; every command that asks has those of the connection. */
const char *flag_named(const struct opt_args *a, const char *name);
const char *flag_text(const struct opt_args *a, enum command_flag flag);
bool flush(struct buf *out); /* to stdout; false after a line on stderr */
/* Calls once with c->request, or page after page, and shows what comes. */
command_fn ask_pages;

/* request.c: from flags to c->request. ERR_INVALID after a line on stderr. */
int request_build(struct command *c) must_check;
/* The same on top of what c->request holds already. */
int request_apply(struct command *c) must_check;
/* An empty request of the call with what every one of its kind carries: namespace, identity, request id. NULL
 * after a line on stderr. */
ProtobufCMessage *request_new(struct command *c, enum client_method call);
/* Sets what the path leads to, making messages on the way; a list gets one more. */
int request_set(ProtobufCMessage *m, const char *path, enum flag_form form, const char *text, struct arena *a,
                struct err *reterr) must_check;
bool request_has(const ProtobufCMessage *m, const char *field);

/* view.c: what came back, in the format that was asked for. */
void view_begin(struct command *c, struct buf *out);
int view_page(struct command *c, const ProtobufCMessage *response, struct buf *out) must_check;
void view_end(struct command *c, struct buf *out);
/* What a field holds, as a table shows it; "" when there is nothing. NULL: out of memory. */
const char *view_text(struct command *c, const ProtobufCMessage *m, const char *path);

/* Commands that are more than a call: runs.def names them. */
#define RUN(id, fn) command_fn fn;
#include "command/runs.def"
#undef RUN

/* session.c: the connection, opened when first needed. */
struct session;
struct session *session_make(void); /* NULL: out of memory */
void session_free(struct session *s);
/* COMMAND_DONE, or after a line on stderr what the command line or the surroundings lack. */
enum command_exit session_open(struct command *c);
struct loop *session_loop(const struct command *c);
struct session_ask {
    enum client_method method;
    const ProtobufCMessage *request;
    enum grpc_code expected; /* this refusal is no failure: *ret is NULL then; GRPC_OK: none is */
};
/* One call; the response is in `a`. After a line on stderr: why there is none. */
enum command_exit session_call(struct command *c, const struct session_ask *ask, struct arena *a,
                               ProtobufCMessage **ret);

/* prompt.c: progress, on the terminal behind stderr. */
bool prompt_is_terminal(void);
/* A line that the next one overwrites; nothing without a terminal. The last one is wiped by progress_end. */
void progress_line(const struct command *c, const char *fmt, ...) printf_like(2, 3);
void progress_end(void);
/* Lets time pass; false when the user pressed Ctrl-C. The session is open. */
bool pause_for(struct command *c, int64_t us);

/* rows.c: lines of cells, in columns as wide as their widest. */
struct rows {
    struct arena *arena;
    const char **cells;
    size_t count, room, columns;
};
int rows_add(struct rows *r, const char *cell) must_check; /* the arena's, or static */
void rows_print(const struct rows *r, struct buf *out);
