/* Writes JSON. One flag is enough for the commas: it is set after a value, cleared after an opening bracket,
 * and set after the closing bracket, since the enclosing value then has an element. Fails as the buffer does;
 * copying also fails with the reader. */
#include "json/writer.h"

#include "base/escape.h"
#include "json/base64.h"

#define INDENT 2

void writer_init(struct json_writer *w, struct buf *out, enum writer_layout layout) {
    *w = (struct json_writer){.out = out, .is_pretty = layout == WRITER_PRETTY};
}

static void writer_new_line(struct json_writer *w) {
    if (!w->is_pretty)
        return;
    buf_add_u8(w->out, '\n');
    for (unsigned i = 0; i < w->depth * INDENT; i++)
        buf_add_u8(w->out, ' ');
}

/* Called before each name, and before each value without a name. */
static void writer_begin_item(struct json_writer *w) {
    if (w->is_after_key) {
        w->is_after_key = false;
        return;
    }
    if (w->has_item)
        buf_add_u8(w->out, ',');
    if (w->depth > 0)
        writer_new_line(w);
}

void writer_open(struct json_writer *w, char bracket) {
    writer_begin_item(w);
    buf_add_u8(w->out, (uint8_t)bracket);
    w->depth++;
    w->has_item = false;
}

void writer_close(struct json_writer *w, char bracket) {
    ensure(w->depth > 0);
    w->depth--;
    if (w->has_item)
        writer_new_line(w);
    buf_add_u8(w->out, (uint8_t)bracket);
    w->has_item = true;
}

static void writer_add_colon(struct json_writer *w) {
    buf_add_cstr(w->out, w->is_pretty ? ": " : ":");
    w->is_after_key = true;
}

void writer_key(struct json_writer *w, struct str key) {
    writer_begin_item(w);
    escape_json_quoted(w->out, key);
    writer_add_colon(w);
}

void writer_string(struct json_writer *w, struct str text) {
    writer_begin_item(w);
    escape_json_quoted(w->out, text);
    w->has_item = true;
}

void writer_bytes(struct json_writer *w, struct str bytes) {
    writer_begin_item(w);
    buf_add_u8(w->out, '"');
    base64_add(w->out, bytes);
    buf_add_u8(w->out, '"');
    w->has_item = true;
}

void writer_token(struct json_writer *w, struct str token) {
    writer_begin_item(w);
    buf_add_str(w->out, token);
    w->has_item = true;
}

static int writer_copy_items(struct json_writer *w, struct json_reader *r, enum json_kind kind) {
    struct json_items items;
    bool is_object = kind == JSON_OBJECT, has_more;
    int rc = reader_enter(r, &items);
    if (rc < 0)
        return rc;
    writer_open(w, is_object ? '{' : '[');
    while ((rc = reader_next(r, &items, &has_more)) == 0 && has_more) {
        rc = is_object ? writer_copy_member(w, r) : writer_copy(w, r);
        if (rc < 0)
            return rc;
    }
    writer_close(w, is_object ? '}' : ']');
    return rc;
}

int writer_copy(struct json_writer *w, struct json_reader *r) {
    enum json_kind kind = reader_kind(r);
    struct str text;
    if (kind == JSON_OBJECT || kind == JSON_ARRAY)
        return writer_copy_items(w, r, kind);
    int rc = reader_skip(r, &text);
    if (rc == 0)
        writer_token(w, text);
    return rc;
}

int writer_copy_member(struct json_writer *w, struct json_reader *r) {
    struct str name;
    int rc = reader_raw_name(r, &name);
    if (rc < 0)
        return rc;
    writer_begin_item(w);
    buf_add_str(w->out, name);
    writer_add_colon(w);
    return writer_copy(w, r);
}
