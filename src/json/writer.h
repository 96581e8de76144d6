/* Writes JSON text value by value into a buffer, on one line or indented by two. The writer adds commas, line
 * ends and indentation. Sticky like its buffer, which belongs to the caller. */
#pragma once

#include "base/buf.h"
#include "json/reader.h"

struct json_writer {
    struct buf *out;
    bool is_pretty;
    bool has_item; /* the open array or object has an element */
    bool is_after_key;
    unsigned depth;
};

enum writer_layout { WRITER_COMPACT, WRITER_PRETTY };

void writer_init(struct json_writer *w, struct buf *out, enum writer_layout layout);
void writer_open(struct json_writer *w, char bracket); /* '[' or '{' */
void writer_close(struct json_writer *w, char bracket); /* ']' or '}' */
void writer_key(struct json_writer *w, struct str key);
void writer_string(struct json_writer *w, struct str text); /* bytes that are not UTF-8 become U+FFFD */
void writer_bytes(struct json_writer *w, struct str bytes); /* as base64 */
void writer_token(struct json_writer *w, struct str token); /* a number, a word, or any JSON text */
/* Copies the next value of r in this writer's layout. Strings and numbers keep their text. */
int writer_copy(struct json_writer *w, struct json_reader *r) must_check;
/* Copies the next member of an object of r: name and value. */
int writer_copy_member(struct json_writer *w, struct json_reader *r) must_check;
