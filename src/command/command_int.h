/* What the files of this layer share: the rows of the table, the command under way, output and errors. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/err.h"
#include "client/client.h"
#include "command/command.h"

#define COMMAND_MEMORY_MAX (256u << 20) /* bytes of each arena */
#define COLUMNS_MAX 16 /* of a table */

/* How the text of a flag becomes the value of its field. */
enum flag_form {
    FORM_NONE, /* code reads the flag */
    FORM_PLAIN, /* the text itself: text, numbers, times, enums by their short names */
    FORM_DURATION, /* 1h30m */
    FORM_JSON, /* a message, or a payload */
    FORM_PAIR, /* KEY=JSON, for a map */
    FORM_PAIR_TEXT, /* KEY=TEXT, for a map of texts */
    FORM_NAME, /* a message with the name of a cluster */
    FORM_EVERY, /* an interval, 90m or 1h/15m */
    FORM_INPUT, /* --input and the flags that belong to it, as payloads (request/input.c) */
};

/* What a row FLAG of commands.def says beyond parsing. */
struct flag_rule {
    bool is_needed;
    enum flag_form form;
    const char *field; /* path in the request; "" when code reads the flag */
};
extern const struct flag_rule flag_rules[FLAG_ROWS];

#define CALL_NONE CALL_COUNT /* of a LOCAL command, which calls no server */
/* What a row COMMAND of commands.def says beyond parsing. */
struct command_rule {
    enum client_method call;
    const char *items;
    const char *columns;
};
extern const struct command_rule command_rules[COMMAND_IDS];
const ProtobufCMessageDescriptor *request_type(enum client_method call);

struct settings;
struct connection;

/* One command under way. */
struct command {
    enum command_id id;
    const struct command_rule *rule;
    struct opt_args *args;
    struct command_style style;
    enum command_format format;
    struct arena arena; /* lives as long as the command: requests, texts of flags */
    struct arena page; /* lives until the page is printed: responses, cells */
    ProtobufCMessage *request;
    size_t shown; /* items printed so far */
    size_t limit; /* of --limit; 0: all */
    size_t widths[COLUMNS_MAX]; /* of the columns, so that pages line up */
    bool can_time_out; /* command_ask_pages repeats a call whose deadline passed */
    /* Changes a response before it is shown; may be NULL. */
    void (*edit_response)(struct command *c, ProtobufCMessage *response);
    /* Runs after the last page. True: c->request now asks for more. May be NULL. */
    bool (*ask_further)(struct command *c, const ProtobufCMessage *response);
    struct settings *settings; /* flags from files */
    struct connection *connection;
};

/* Prints one line on stderr, "rondo: " before it. Control characters become spaces. */
void command_print_error(const char *fmt, ...) printf_like(1, 2);
/* The text of a flag of the running command. NULL: not given, and no default. */
const char *command_flag_text(const struct opt_args *a, enum command_flag flag);
/* Writes to stdout and empties the buffer. False after a line on stderr; a closed pipe prints none. */
bool command_flush_output(struct buf *out);
/* Makes the call of c->request, for a list page after page, and prints the responses. */
enum command_exit command_ask_pages(struct command *c, struct buf *out);

/* completion.c: adds a line "word<TAB>description" for each value of the option that begins with `part`. */
void completion_add_values(struct command *c, const struct opt *o, const char *part, struct buf *out);

/* Commands that are more than one call; runs.def has their names. */
#define RUN(id, fn) enum command_exit fn(struct command *c, struct buf *out);
#include "command/runs.def"
#undef RUN
