/* JSON text, read value by value. No tree is built, so reading costs no memory
 * but for strings with escapes, and numbers stay the digits that were written.
 *
 *   reader_enter(r, &items);
 *   while ((rc = reader_next(r, &items, &has_more)) == 0 && has_more)
 *       ... reader_key() in an object, then one value: enter, string, number, bool, null or skip ...
 *
 * The text must be well-formed UTF-8 (the owner checks it once) and outlive the
 * reader. Functions return 0 or ERR_INVALID; then `mistake` says what is wrong
 * at `at`, and the reader is of no further use. A reader may be copied to look
 * ahead. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 256 /* open brackets: a message takes two when it stands in an array */

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
/* What comes next, by its first byte; JSON_NOTHING when no value begins there. */
enum json_kind reader_kind(struct json_reader *r);
int reader_enter(struct json_reader *r, struct json_items *items) must_check;
int reader_next(struct json_reader *r, struct json_items *items, bool *ret_has_more) must_check;
int reader_key(struct json_reader *r, struct arena *a, struct str *ret) must_check; /* also ERR_NO_MEMORY */
/* Decoded: a slice of the text, or of the arena when there were escapes. ERR_NO_MEMORY too. */
int reader_string(struct json_reader *r, struct arena *a, struct str *ret) must_check;
int reader_number(struct json_reader *r, struct str *ret) must_check; /* as written */
int reader_bool(struct json_reader *r, bool *ret) must_check;
int reader_null(struct json_reader *r) must_check;
/* Any value, checked; ret (may be NULL) is its text as written. */
int reader_skip(struct json_reader *r, struct str *ret) must_check;
/* The name of a member as written, with its quotes; escapes are looked at only for their form. */
int reader_raw_name(struct json_reader *r, struct str *ret) must_check;
/* Nothing but white space is left. */
int reader_end(struct json_reader *r) must_check;

struct json_place {
    size_t line, column; /* from 1; columns are bytes */
};
struct json_place reader_place(const struct json_reader *r);
