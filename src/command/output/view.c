/* Prints a response as a table or as JSON.
 *
 * The columns of a table are paths to fields. A path to a list shows all items, with "#0" the first one. A
 * time is shown as --time-format asks, with "#iso" always in full. "@field" is a field of the request,
 * "&field" one for the table alone. In JSON a response is shown unchanged, a list as an array of its items.
 * A command with an @field column shows an object of its columns. */
#include "command/output/cells.h"
#include "command/output/output.h"
#include "json/json.h"
#include "json/shape.h"

#define TITLE_MAX 40

static const struct json_style line_style = {.has_shorthand = true};
static const struct json_style pretty_style = {.is_pretty = true, .has_shorthand = true};

/* Columns. */

struct column {
    struct str title;
    struct str path;
    bool is_asked; /* a field of the request */
};

/* Splits the next column off the text; false at the end. */
static bool view_next_column(const char **at, struct column *ret) {
    if (!**at)
        return false;
    size_t title = strcspn(*at, "=");
    const char *path = *at + title + 1;
    size_t n = strcspn(path, "|");
    *ret = (struct column){str_bytes(*at, title), str_bytes(path, n), path[0] == '@' || path[0] == '&'};
    if (ret->is_asked)
        ret->path = str_bytes(path + 1, n - 1);
    *at = path + n + (path[n] == '|');
    return true;
}

/* The text of one cell, without control characters. NULL: out of memory. */
static const char *view_cell_text(struct command *c, const ProtobufCMessage *m, const struct column *col) {
    struct buf text;
    buf_init(&text, CELL_BYTES_MAX);
    cell_add_field(&text, col->is_asked ? c->request : m, col->path, (struct cell_style){.command = c});
    plain_replace_controls((char *)text.data, text.len);
    const char *cell = text.len ? arena_strndup(&c->page, (const char *)text.data, text.len) : "";
    bool ok = buf_ok(&text);
    buf_done(&text);
    return ok ? cell : NULL;
}

static const char *view_title_text(struct command *c, struct str title) {
    return arena_strndup(&c->page, title.p, title.n);
}

/* A card: a line for each column that is not empty. */
static int view_add_card(struct command *c, const char *at, const ProtobufCMessage *m, struct buf *out) {
    struct rows rows = {.arena = &c->page, .columns = 2, .is_card = true, .has_color = c->style.has_color};
    struct column col;
    int rc = 0;
    while (rc == 0 && view_next_column(&at, &col)) {
        const char *cell = view_cell_text(c, m, &col);
        if (cell && !*cell)
            continue;
        rc = rows_add(&rows, view_title_text(c, col.title));
        if (rc == 0)
            rc = rows_add(&rows, cell);
    }
    if (rc == 0)
        rows_print(&rows, out);
    return rc;
}

/* Whether the path leads to a boolean, which JSON shows as true or false. */
static bool view_is_bool(const ProtobufCMessageDescriptor *d, struct str path) {
    for (;;) {
        const char *dot = memchr(path.p, '.', path.n);
        size_t n = dot ? (size_t)(dot - path.p) : path.n;
        const ProtobufCFieldDescriptor *f = shape_field(d, str_bytes(path.p, n));
        ensure(f);
        if (!dot)
            return f->type == PROTOBUF_C_TYPE_BOOL;
        d = f->descriptor;
        path = str_bytes(dot + 1, path.n - n - 1);
    }
}

/* {"workflowId":"...","runId":"...","started":true} */
static int view_add_card_json(struct command *c, const char *at, const ProtobufCMessage *m, struct buf *out) {
    bool is_pretty = c->format == FORMAT_JSON;
    struct column col;
    bool any = false;
    buf_add_u8(out, '{');
    while (view_next_column(&at, &col)) {
        const char *cell = view_cell_text(c, m, &col);
        char title[TITLE_MAX] = "";
        if (!cell || col.title.n >= sizeof(title))
            return ERR_NO_MEMORY;
        memcpy(title, col.title.p, col.title.n);
        title[0] = (char)(title[0] | 0x20); /* titles are words in ASCII */
        buf_add_cstr(out, any ? "," : "");
        buf_add_cstr(out, is_pretty ? "\n  " : "");
        opt_json_string(out, title);
        buf_add_cstr(out, is_pretty ? ": " : ":");
        if (view_is_bool((col.is_asked ? c->request : m)->descriptor, col.path))
            buf_add_cstr(out, cell);
        else
            opt_json_string(out, cell);
        any = true;
    }
    buf_add_cstr(out, is_pretty ? "\n}\n" : "}\n");
    return 0;
}

static int view_add_json(const ProtobufCMessage *m, struct json_style style, struct buf *out) {
    struct err e;
    if (json_print(out, m, style, &e) < 0) {
        command_print_error("the response cannot be shown: %s", e.text);
        return ERR_INVALID;
    }
    return 0;
}

/* Lists. */

struct view_items view_items(const ProtobufCMessage *m, const char *path) {
    for (;;) {
        size_t n = strcspn(path, ".");
        const ProtobufCFieldDescriptor *f = shape_field(m->descriptor, str_bytes(path, n));
        ensure(f);
        const void *slot = (const char *)m + f->offset;
        if (!path[n])
            return (struct view_items){
                f, *(ProtobufCMessage *const *const *)slot,
                *(const size_t *)(const void *)((const char *)m + f->quantifier_offset)};
        m = *(const ProtobufCMessage *const *)slot;
        if (!m)
            return (struct view_items){0};
        path += n + 1;
    }
}

static int view_add_titles(struct command *c, struct rows *rows) {
    const char *at = c->rule->columns;
    struct column col;
    int rc = 0;
    for (rows->columns = 0; view_next_column(&at, &col); rows->columns++)
        if (rc == 0 && c->shown == 0)
            rc = rows_add(rows, view_title_text(c, col.title));
    return rc;
}

static int view_add_table(struct command *c, const struct view_items *items, struct buf *out) {
    struct rows rows = {.arena = &c->page, .widths = c->widths, .has_color = c->style.has_color};
    struct column col;
    int rc = view_add_titles(c, &rows);
    rows.titles = rows.count;
    for (size_t i = 0; rc == 0 && i < items->n; i++) {
        const char *at = c->rule->columns;
        while (rc == 0 && view_next_column(&at, &col))
            rc = rows_add(&rows, view_cell_text(c, items->v[i], &col));
    }
    if (rc == 0)
        rows_print(&rows, out);
    return rc;
}

/* SDKs replay history files and know only full payloads, so histories have no shorthand. */
static struct json_style view_json_style(const struct command *c) {
    struct json_style style = c->format == FORMAT_JSON ? pretty_style : line_style;
    style.has_shorthand =
        c->id != COMMAND_WORKFLOW_SHOW && !opt_named_flag(c->args, "no-json-shorthand-payloads");
    return style;
}

static int view_add_items_json(struct command *c, const struct view_items *items, struct buf *out) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < items->n; i++) {
        if (c->format == FORMAT_JSON)
            buf_add_cstr(out, c->shown + i ? ",\n" : "\n");
        rc = view_add_json(items->v[i], view_json_style(c), out);
        if (c->format == FORMAT_JSONL)
            buf_add_u8(out, '\n');
    }
    return rc;
}

int view_card(struct command *c, const char *columns, const ProtobufCMessage *m, struct buf *out) {
    if (c->format == FORMAT_NONE || !*columns)
        return 0;
    return c->format == FORMAT_TABLE ? view_add_card(c, columns, m, out)
                                     : view_add_card_json(c, columns, m, out);
}

int view_json(struct command *c, const ProtobufCMessage *m, struct buf *out) {
    return view_add_json(m, view_json_style(c), out);
}

const char *view_text(struct command *c, const ProtobufCMessage *m, const char *path) {
    struct column col = {.path = str_of(path)};
    return view_cell_text(c, m, &col);
}

const char *view_enum(struct command *c, const ProtobufCEnumDescriptor *d, int value) {
    struct buf text;
    buf_init(&text, CELL_BYTES_MAX);
    cell_add_enum(&text, d, value);
    const char *word =
        buf_ok(&text) ? arena_strndup(&c->page, text.len ? (const char *)text.data : "", text.len) : NULL;
    buf_done(&text);
    return word;
}

static int view_one(struct command *c, const ProtobufCMessage *m, struct buf *out) {
    if (c->format == FORMAT_TABLE || strchr(c->rule->columns, '@'))
        return view_card(c, c->rule->columns, m, out);
    int rc = view_add_json(m, view_json_style(c), out);
    buf_add_u8(out, '\n');
    return rc;
}

void view_begin(struct command *c, struct buf *out) {
    if (*c->rule->items && c->format == FORMAT_JSON)
        buf_add_cstr(out, c->id == COMMAND_WORKFLOW_SHOW ? "{\"events\": [" : "[");
}

int view_page(struct command *c, const ProtobufCMessage *response, struct buf *out) {
    if (!*c->rule->items)
        return c->format == FORMAT_NONE ? 0 : view_one(c, response, out);
    struct view_items items = view_items(response, c->rule->items);
    if (c->limit)
        items.n = MIN(items.n, c->limit - c->shown);
    int rc = 0;
    if (c->format == FORMAT_TABLE && (items.n || !c->shown))
        rc = view_add_table(c, &items, out);
    else if (c->format == FORMAT_JSON || c->format == FORMAT_JSONL)
        rc = view_add_items_json(c, &items, out);
    c->shown += items.n;
    return rc;
}

void view_end(struct command *c, struct buf *out) {
    if (*c->rule->items && c->format == FORMAT_JSON)
        buf_add_cstr(out, c->id == COMMAND_WORKFLOW_SHOW ? "\n]}\n" : "\n]\n");
}
