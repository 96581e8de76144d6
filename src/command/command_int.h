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
const ProtobufCMessageDescriptor *command_request(enum command_id id);

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
};

void say(const char *fmt, ...) printf_like(1, 2); /* one line on stderr */
/* The command's own flag of that name; every command that asks has those of the connection. */
const char *flag_named(const struct opt_args *a, const char *name);
const char *flag_text(const struct opt_args *a, enum command_flag flag);

/* request.c: from flags to c->request. ERR_INVALID after a line on stderr. */
int request_build(struct command *c) must_check;
/* Sets what the path leads to, making messages on the way; a list gets one more. */
int request_set(ProtobufCMessage *m, const char *path, enum flag_form form, const char *text, struct arena *a,
                struct err *reterr) must_check;
bool request_has(const ProtobufCMessage *m, const char *field);

/* view.c: what came back, in the format that was asked for. */
void view_begin(struct command *c, struct buf *out);
int view_page(struct command *c, const ProtobufCMessage *response, struct buf *out) must_check;
void view_end(struct command *c, struct buf *out);

/* command.c: the command's own call, page after page, shown as the table says. */
enum command_exit command_ask(struct command *c, struct buf *out);

/* own.c: the function of a command that is more than that; NULL when it is not. What it leaves in `out` is
 * printed when all went well. */
typedef enum command_exit command_fn(struct command *c, struct buf *out);
command_fn *command_own(enum command_id id);
command_fn next_run;

/* rows.c: lines of cells, in columns as wide as their widest. */
struct rows {
    struct arena *arena;
    const char **cells;
    size_t count, room, columns;
};
int rows_add(struct rows *r, const char *cell) must_check; /* the arena's, or static */
void rows_print(const struct rows *r, struct buf *out);
