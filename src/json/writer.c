/* One flag does for the commas: after a value there is an item, after an
 * opening bracket there is none, and after the closing one the bracket's
 * owner has one more. */
#include "json/writer.h"

#include "json/base64.h"

#define INDENT 2

void writer_init(struct json_writer *w, struct buf *out, bool is_pretty) {
    *w = (struct json_writer){.out = out, .is_pretty = is_pretty};
}

static void new_line(struct json_writer *w) {
    if (!w->is_pretty)
        return;
    buf_add_u8(w->out, '\n');
    for (unsigned i = 0; i < w->depth * INDENT; i++)
        buf_add_u8(w->out, ' ');
}

/* Before each name, and each value that has none. */
static void begin_item(struct json_writer *w) {
    if (w->is_after_key) {
        w->is_after_key = false;
        return;
    }
    if (w->has_item)
        buf_add_u8(w->out, ',');
    if (w->depth > 0)
        new_line(w);
}

void writer_open(struct json_writer *w, char bracket) {
    begin_item(w);
    buf_add_u8(w->out, (uint8_t)bracket);
    w->depth++;
    w->has_item = false;
}

void writer_close(struct json_writer *w, char bracket) {
    ensure(w->depth > 0);
    w->depth--;
    if (w->has_item)
        new_line(w);
    buf_add_u8(w->out, (uint8_t)bracket);
    w->has_item = true;
}

static void add_escape(struct buf *out, unsigned char c) {
    static const char letters[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (c == '"' || c == '\\')
        buf_printf(out, "\\%c", c);
    else if (c < ARRAY_LEN(letters) && letters[c])
        buf_printf(out, "\\%c", letters[c]);
    else
        buf_printf(out, "\\u%04x", c);
}

/* How many bytes from here on go out as they are. */
static size_t plain_len(struct str text) {
    size_t n = 0;
    while (n < text.n) {
        unsigned char c = (unsigned char)text.p[n];
        size_t len = c < 0x80 ? 1 : utf8_char_len(str_bytes(text.p + n, text.n - n));
        if (c < ' ' || c == '"' || c == '\\' || len == 0)
            break;
        n += len;
    }
    return n;
}

static void add_quoted(struct buf *out, struct str text) {
    buf_add_u8(out, '"');
    while (text.n > 0) {
        size_t n = plain_len(text);
        buf_add(out, text.p, n);
        text = str_bytes(text.p + n, text.n - n);
        if (text.n == 0)
            break;
        if ((unsigned char)text.p[0] < 0x80)
            add_escape(out, (unsigned char)text.p[0]);
        else
            buf_add_cstr(out, "\xef\xbf\xbd");
        text = str_bytes(text.p + 1, text.n - 1);
    }
    buf_add_u8(out, '"');
}

static void add_colon(struct json_writer *w) {
    buf_add_cstr(w->out, w->is_pretty ? ": " : ":");
    w->is_after_key = true;
}

void writer_key(struct json_writer *w, struct str key) {
    begin_item(w);
    add_quoted(w->out, key);
    add_colon(w);
}

void writer_string(struct json_writer *w, struct str text) {
    begin_item(w);
    add_quoted(w->out, text);
    w->has_item = true;
}

void writer_bytes(struct json_writer *w, struct str bytes) {
    begin_item(w);
    buf_add_u8(w->out, '"');
    base64_add(w->out, bytes);
    buf_add_u8(w->out, '"');
    w->has_item = true;
}

void writer_token(struct json_writer *w, struct str token) {
    begin_item(w);
    buf_add_str(w->out, token);
    w->has_item = true;
}

static int copy_items(struct json_writer *w, struct json_reader *r, bool is_object) {
    struct json_items items;
    bool has_more;
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
        return copy_items(w, r, kind == JSON_OBJECT);
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
    begin_item(w);
    buf_add_str(w->out, name);
    add_colon(w);
    return writer_copy(w, r);
}
