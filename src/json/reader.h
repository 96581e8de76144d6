/* Reads JSON text value by value. There is no tree, so reading allocates only for strings with escapes, and
 * numbers stay the digits that were written.
 *
 *   reader_enter(r, &items);
 *   while ((rc = reader_next(r, &items, &has_more)) == 0 && has_more)
 *       ... reader_key() in an object, then one value: enter, string, number, bool, null or skip ...
 *
 * The text must be UTF-8 (check it with utf8_valid) and outlive the reader. Functions return 0 or
 * ERR_INVALID; `mistake` then tells what is wrong at offset `at`, and the reader must not be used further. A
 * copy of a reader can look ahead. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 256 /* open brackets; a message in an array takes two */

enum json_kind { JSON_NOTHING, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_reader {
    struct str text;
    size_t at;
    size_t depth;
    const char *mistake; /* static text */
};

/* The inside of one array or object. */
struct json_items {
    char close;
    bool has_begun;
};

void reader_init(struct json_reader *r, struct str text);
/* The kind of the next value, by its first byte; JSON_NOTHING when no value begins there. */
enum json_kind reader_kind(struct json_reader *r);
/* Enters an array or object; reader_next then steps to the next element or member, or past the end. */
int reader_enter(struct json_reader *r, struct json_items *items) must_check;
int reader_next(struct json_reader *r, struct json_items *items, bool *ret_has_more) must_check;
int reader_key(struct json_reader *r, struct arena *a, struct str *ret) must_check; /* also ERR_NO_MEMORY */
/* The decoded string: a slice of the text, or of the arena if it has escapes. Also ERR_NO_MEMORY. */
int reader_string(struct json_reader *r, struct arena *a, struct str *ret) must_check;
int reader_number(struct json_reader *r, struct str *ret) must_check; /* as written */
int reader_bool(struct json_reader *r, bool *ret) must_check;
int reader_null(struct json_reader *r) must_check;
/* Skips and checks any value. ret, which may be NULL, gets its text as written. */
int reader_skip(struct json_reader *r, struct str *ret) must_check;
/* The name of a member as written, with its quotes. Escapes are checked, not decoded. */
int reader_raw_name(struct json_reader *r, struct str *ret) must_check;
/* Checks that only white space is left. */
int reader_end(struct json_reader *r) must_check;

struct json_place {
    size_t line, column; /* from 1; columns are bytes */
};
struct json_place reader_place(const struct json_reader *r);
