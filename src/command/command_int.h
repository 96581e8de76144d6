/* Between the files of this folder. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "client/client.h"
#include "command/command.h"

#define COMMAND_MEMORY_MAX (256u << 20)
#define COLUMNS_MAX 16

/* How a flag's text becomes the value of its field. */
enum flag_form {
    FORM_NONE, /* code reads it */
    FORM_PLAIN, /* as it stands: text, numbers, times, enums by their short names */
    FORM_DURATION, /* 1h30m */
    FORM_JSON, /* a message, or a payload */
    FORM_PAIR, /* KEY=JSON, for a map */
    FORM_PAIR_TEXT, /* KEY=TEXT, for a map of texts */
    FORM_NAME, /* a message with a cluster's name */
    FORM_EVERY, /* an interval, 90m or 1h/15m */
    FORM_INPUT, /* --input and its relatives, as payloads (input.c) */
};

struct flag_rule {
    bool is_needed;
    enum flag_form form;
    const char *field;
};
extern const struct flag_rule flag_rules[FLAG_ROWS];

#define CALL_NONE CALL_COUNT /* of a command that asks nobody */
struct command_rule {
    enum client_method call;
    const char *items;
    const char *columns;
};
extern const struct command_rule command_rules[COMMAND_IDS];
const ProtobufCMessageDescriptor *request_type(enum client_method call);

struct settings;

/* One command under way. */
struct command {
    enum command_id id;
    const struct command_rule *rule;
    struct opt_args *args;
    struct command_style style;
    enum command_format format;
    struct arena arena; /* the request's */
    struct arena page; /* for what is shown at once; empty after each page */
    ProtobufCMessage *request;
    size_t shown; /* items so far */
    size_t limit; /* 0: all */
    size_t widths[COLUMNS_MAX]; /* of columns, so that pages fit under each other */
    bool is_patient; /* calls of ask_pages wait for something to happen */
    /* Changes what is shown of a response; NULL: nothing does. */
    void (*touch)(struct command *c, ProtobufCMessage *response);
    /* After the last page: true when the request now asks for what follows. NULL: nothing does. */
    bool (*go_on)(struct command *c, const ProtobufCMessage *response);
    struct settings *settings; /* what files say */
    struct talk *talk;
};

void say(const char *fmt, ...) printf_like(1, 2); /* one line on stderr */
/* The flag of that name: the command's own, or one that is shared. */
const char *flag_named(const struct opt_args *a, const char *name);
const char *flag_text(const struct opt_args *a, enum command_flag flag);
bool flush(struct buf *out); /* to stdout; false after a line on stderr */
/* Calls once with c->request, or page after page, and shows what comes. The talk is open. */
enum command_exit ask_pages(struct command *c, struct buf *out);

/* The token for the next page goes from the response to the request; false when there is none. */
bool page_token(ProtobufCMessage *request, const ProtobufCMessage *response, struct arena *a);

/* offer.c: what could stand as the value of an option, for shells. */
void offer_values(struct command *c, const struct opt *o, const char *part, struct buf *out);

/* Commands that are more than a call: runs.def names them. */
#define RUN(id, fn) enum command_exit fn(struct command *c, struct buf *out);
#include "command/runs.def"
#undef RUN

/* talk.c: the connection, opened when first needed. */
struct talk;
struct talk *talk_new(void); /* NULL: out of memory */
void talk_free(struct talk *s);
/* COMMAND_DONE, or after a line on stderr what the command line or the surroundings lack. */
enum command_exit talk_open(struct command *c);
struct talk_ask {
    enum client_method method;
    const ProtobufCMessage *request;
    int64_t timeout_us; /* 0: that of --command-timeout */
    bool is_patient; /* a deadline that passes is no failure: *ret is NULL then */
    enum grpc_code expected; /* the same for this refusal; GRPC_OK: for none */
    bool is_quiet; /* the same for every refusal: what is asked is not needed */
    struct str *ret_details; /* of a refusal that is none: a packed google.rpc.Status; may be NULL */
};
/* One call; the response is in `a`. After a line on stderr: why there is none. */
enum command_exit talk_call(struct command *c, const struct talk_ask *ask, struct arena *a,
                            ProtobufCMessage **ret);
int talk_pause(struct command *c, int64_t us) must_check; /* lets time pass */

/* request.c: from flags to c->request. ERR_INVALID after a line on stderr. */
int request_build(struct command *c) must_check;
/* The same on top of what c->request holds already. */
int request_apply(struct command *c) must_check;
/* An empty request of the call with what every one of its kind carries: namespace, identity, request id. */
ProtobufCMessage *request_new(struct command *c, enum client_method call);
/* Sets what the path leads to, making messages on the way; a list gets one more. */
int request_set(ProtobufCMessage *m, const char *path, enum flag_form form, const char *text, struct arena *a,
                struct err *reterr) must_check;
/* The message that the path leads to, made if it is not there. NULL: out of memory. */
ProtobufCMessage *request_message(ProtobufCMessage *m, const char *path, struct arena *a);
bool request_has(const ProtobufCMessage *m, const char *field);
/* The field that the path leads to. */
const ProtobufCFieldDescriptor *request_leaf(const ProtobufCMessageDescriptor *d, const char *path);
bool is_timestamp(const ProtobufCFieldDescriptor *f);
const char *random_id(struct command *c); /* NULL: out of memory */
const char *identity_of(const struct command *c); /* --identity, or user@host */

/* input.c: --input, --input-file, --input-meta, --input-base64 (with a prefix, as in --signal-input) to the
 * payloads of a message. */
int input_set(struct command *c, const char *prefix, ProtobufCMessage *m, const char *path,
              struct err *reterr) must_check;

/* All of a file; "-" is stdin. ERR_INVALID when it cannot be read or is larger. */
int file_read(const char *path, size_t bytes_max, struct arena *a, struct str *ret) must_check;

/* view.c: what came back, in the format that was asked for. */
void view_begin(struct command *c, struct buf *out);
int view_page(struct command *c, const ProtobufCMessage *response, struct buf *out) must_check;
void view_end(struct command *c, struct buf *out);
/* One message by columns as commands.def has them: lines in a table, an object in JSON. */
int view_card(struct command *c, const char *columns, const ProtobufCMessage *m, struct buf *out) must_check;
/* The message as JSON in the style of the command, without a line end. */
int view_json(struct command *c, const ProtobufCMessage *m, struct buf *out) must_check;
/* The list that the path leads to; nothing when a message on the way is not there. */
struct view_items {
    const ProtobufCFieldDescriptor *field;
    ProtobufCMessage *const *v;
    size_t n;
};
struct view_items view_items(const ProtobufCMessage *m, const char *path);
/* The word of an enum, as a table shows it; "" for the one that stands for nothing. NULL: out of memory. */
const char *view_enum(struct command *c, const ProtobufCEnumDescriptor *d, int value);
/* What a field holds, as a table shows it; "" when there is nothing. NULL: out of memory. */
const char *view_text(struct command *c, const ProtobufCMessage *m, const char *path);

/* when.c: times as people write them. ERR_INVALID, or NULL, with what is wrong. */
int when_read(struct command *c, const char *text, int64_t *ret_seconds, int32_t *ret_nanos,
              struct err *reterr) must_check;
const char *when_text(struct command *c, const char *text, struct err *reterr); /* 2026-03-01T09:00:00Z */
/* "tomorrow" as a date of the line's zone; anything else as it is. */
const char *when_date(struct command *c, const char *text, struct err *reterr);
/* The zone, where "local" is that of this machine. */
int when_zone(struct command *c, const char *text, const char **ret, struct err *reterr) must_check;

/* moments.c: a time as --time-format asks for it. */
void add_moment(const struct command *c, int64_t seconds, int32_t nanos, bool is_iso, struct buf *out);

/* rows.c: lines of cells, in columns as wide as their widest. */
struct rows {
    struct arena *arena;
    const char **cells;
    size_t count, room, columns;
    size_t *widths; /* at least so wide, and remembered; NULL: as wide as these need */
    size_t titles; /* so many cells at the start are titles */
    bool is_card; /* the first column has the titles */
    bool has_color;
};
int rows_add(struct rows *r, const char *cell) must_check; /* the arena's, or static */
void rows_print(const struct rows *r, struct buf *out);

/* sheet.c: lines that no server sent, in every format. */
struct sheet {
    struct command *command;
    const char *const *titles; /* "Property"; in JSON "property" */
    size_t columns;
    struct rows rows;
};
void sheet_init(struct sheet *s, struct command *c, const char *const *titles, size_t columns);
int sheet_add(struct sheet *s, const char *cell) must_check;
void sheet_print(struct sheet *s, struct buf *out);

/* special.c: what single commands need beyond the table. ERR_INVALID after a line on stderr. */
int request_special(struct command *c) must_check;

/* reset.c: how a reset is to be done, as fields below `path` of a request: "" or "reset_operation.options.".
 */
int reset_exclude(struct command *c, ProtobufCMessage *m, const char *path, struct err *reterr) must_check;
int reset_target(struct command *c, ProtobufCMessage *m, struct err *reterr) must_check;

/* batch.c: the command's flags as a batch over --query. */
enum command_exit batch_run(struct command *c, struct buf *out);

/* object.c: one thing from several answers: a card in a table, an object in JSON. What is empty is left out.
 */
struct object {
    struct command *command;
    struct rows rows;
    struct buf json;
    bool has_failed;
};
void object_init(struct object *o, struct command *c);
void object_members(struct object *o,
                    const ProtobufCMessage *m); /* those of a message first, in JSON alone */
void object_text(struct object *o, const char *title,
                 const char *text); /* "WorkflowId"; in JSON "workflowId" */
void object_json(struct object *o, const char *title, struct str json); /* in JSON alone */
void object_number(struct object *o, const char *title, int64_t n);
void object_message(struct object *o, const char *title,
                    const ProtobufCMessage *m); /* payloads as their values */
enum command_exit object_print(struct object *o, struct buf *out); /* and ends it */

/* start.c: the start that c->request asks for; or, unless --fail-existing is given, the run that is there
 * already. */
enum command_exit start_workflow(struct command *c, ProtobufCMessage **ret);

/* outcome.c: a failure and its causes in one line; of the event that closes a run, its result, and why it
 * failed. */
void add_failure(struct buf *out, const ProtobufCMessage *failure);
void add_end(struct object *o, const ProtobufCMessage *close_event);
void add_why(struct buf *out, const ProtobufCMessage *close_event);

/* queue.c: false when the server says that no worker polls the task queue. `type` is a TASK_QUEUE_TYPE_. */
bool queue_is_polled(struct command *c, const char *name, int type);

/* settings.c: what files say for flags that are not given. ERR_INVALID after a line on stderr. */
int settings_load(struct command *c) must_check;

/* prompt.c: questions and progress, on the terminal behind stderr. */
bool prompt_is_terminal(void);
/* COMMAND_DONE for yes. With --yes nobody is asked; without a terminal the answer is no, and a line says so.
 */
enum command_exit prompt_yes(const struct command *c, const char *question);
/* A line that the next one overwrites; nothing without a terminal. The last one is wiped by progress_end. */
void progress_line(const char *fmt, ...) printf_like(1, 2);
void progress_end(void);
