/* From responses to text: tables, cards and JSON. Texts are allocated from the arena of a page unless stated
 * otherwise. */
#pragma once

#include "command/command_int.h"

struct zone;

/* view.c: a response in the format of the command. A list is view_begin, view_page for each page, view_end.
 */
void view_begin(struct command *c, struct buf *out);
/* ERR_NO_MEMORY; ERR_INVALID after a line on stderr for a message that JSON cannot express. */
int view_page(struct command *c, const ProtobufCMessage *response, struct buf *out) must_check;
void view_end(struct command *c, struct buf *out);
/* One message by columns as in commands.def: lines in a table, an object in JSON. Errors as view_page. */
int view_card(struct command *c, const char *columns, const ProtobufCMessage *m, struct buf *out) must_check;
/* The message as JSON in the style of the command, without a line end. Errors as view_page. */
int view_json(struct command *c, const ProtobufCMessage *m, struct buf *out) must_check;
/* The list of messages at the path; empty when a message on the way is missing. */
struct view_items {
    const ProtobufCFieldDescriptor *field;
    ProtobufCMessage *const *v;
    size_t n;
};
struct view_items view_items(const ProtobufCMessage *m, const char *path);
/* The word of an enum value, as tables show it; "" for UNSPECIFIED. NULL: out of memory. */
const char *view_enum(struct command *c, const ProtobufCEnumDescriptor *d, int value);
/* The field at the path, as tables show it; "" when it is not set. NULL: out of memory. */
const char *view_text(struct command *c, const ProtobufCMessage *m, const char *path);

/* plain.c: text without control characters, which would break lines or move the cursor of the terminal. */
void plain_replace_controls(char *text, size_t n); /* each becomes a space */
void plain_add_text(struct buf *out, const char *text);
const char *plain_text(struct arena *a, const char *text); /* NULL for NULL, and when out of memory */

/* moments.c: times as text. */
enum moment_form {
    MOMENT_AS_ASKED, /* as --time-format asks for it */
    MOMENT_ISO, /* always 2026-03-02T08:00:00Z */
};
void moments_add_time(const struct command *c, int64_t seconds, int32_t nanos, enum moment_form form,
                      struct buf *out);
const char *moments_utc_text(struct arena *a, int64_t utc_s); /* 2026-03-02T08:00:00Z */
/* 2026-03-02T09:00:00+01:00 CET; `z` is NULL for UTC. */
const char *moments_local_text(struct arena *a, const struct zone *z, int64_t utc_s);

/* rows.c: cells in columns that are as wide as their widest cell. */
struct rows {
    struct arena *arena;
    const char **cells;
    size_t count, room, columns;
    size_t *widths; /* least widths; updated, so that pages line up. NULL: only these cells count */
    size_t titles; /* the number of cells at the start that are titles */
    bool is_card; /* the first column has the titles */
    bool has_color;
};
/* The cell is not copied. ERR_NO_MEMORY, also for a cell that is NULL. */
int rows_add(struct rows *r, const char *cell) must_check;
void rows_print(const struct rows *r, struct buf *out);

/* sheet.c: a table that this program made, in every format. */
struct sheet {
    struct command *command;
    const char *const *titles; /* "Property"; in JSON "property" */
    size_t columns;
    struct rows rows;
};
void sheet_init(struct sheet *s, struct command *c, const char *const *titles, size_t columns);
int sheet_add(struct sheet *s, const char *cell) must_check; /* as rows_add */
void sheet_print(struct sheet *s, struct buf *out);

/* object.c: one result put together from several responses: a card in a table, an object in JSON. Empty texts
 * are left out. Failures are remembered until object_print. */
struct object {
    struct command *command;
    struct rows rows;
    struct buf json;
    bool has_failed;
};
void object_init(struct object *o, struct command *c);
/* Copies the members of a message; in JSON only. Must come first. */
void object_add_members(struct object *o, const ProtobufCMessage *m);
/* The title is "WorkflowId"; its name in JSON is "workflowId". NULL as text is a failure. */
void object_add_text(struct object *o, const char *title, const char *text);
void object_add_json(struct object *o, const char *title, struct str json); /* in JSON only */
void object_add_number(struct object *o, const char *title, int64_t n);
void object_add_message(struct object *o, const char *title,
                        const ProtobufCMessage *m); /* nothing for NULL */
/* Prints and releases it. COMMAND_REFUSED, after a line on stderr, for a failure on the way. */
enum command_exit object_print(struct object *o, struct buf *out);

/* card.c: lines of a title and a text. A failure is remembered until card_print. */
struct card {
    struct rows rows;
    int rc;
};
void card_init(struct card *d, const struct command *c, struct arena *a);
void card_add(struct card *d, const char *title, const char *text); /* nothing for "" */
void card_add_words(struct card *d, const char *title, struct buf *words); /* empties the buffer */
/* Fields of a message, by their paths. */
struct card_line {
    const char *title, *path;
};
void card_add_fields(struct card *d, struct command *c, const ProtobufCMessage *m,
                     const struct card_line *lines, size_t n);
/* A line key=value for each entry of the map at the path. */
void card_add_map(struct card *d, struct command *c, const char *title, const ProtobufCMessage *m,
                  const char *path);
int card_print(const struct card *d, struct buf *out) must_check; /* ERR_NO_MEMORY */
