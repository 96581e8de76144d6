/* JSON text, written value by value into a buffer, compact or indented by two.
 * Commas, line ends and indentation come by themselves. Sticky like its buffer. */
#pragma once

#include "base/buf.h"
#include "json/reader.h"

struct json_writer {
    struct buf *out;
    bool is_pretty;
    bool has_item; /* in the array or object that is open */
    bool is_after_key;
    unsigned depth;
};

void writer_init(struct json_writer *w, struct buf *out, bool is_pretty);
void writer_open(struct json_writer *w, char bracket); /* '[' or '{' */
void writer_close(struct json_writer *w, char bracket); /* ']' or '}' */
void writer_key(struct json_writer *w, struct str key);
void writer_string(struct json_writer *w, struct str text); /* bytes that are not UTF-8 become U+FFFD */
void writer_bytes(struct json_writer *w, struct str bytes); /* as base64 */
void writer_token(struct json_writer *w, struct str token); /* a number, a word, or anything that is JSON */
/* The value that r is at, in this writer's layout; strings and numbers as they are written there. */
int writer_copy(struct json_writer *w, struct json_reader *r) must_check;
/* A name and the value behind it, as they stand in an object of r. */
int writer_copy_member(struct json_writer *w, struct json_reader *r) must_check;
