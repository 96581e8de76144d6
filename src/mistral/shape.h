/* Bodies and queries: their shapes, from shapes.def, and reading them.
 *
 * A record has one value for each field of its shape, in the order of the
 * table: `r->v[range_start]` is the field `start` of a range.
 *
 *   struct complaints c;
 *   complaints_init(&c, &arena);
 *   const struct record *r = shape_read(&c, &shape_schedule_request, body, STR("body"));
 *   if (c.count) ... answer 422 with c.list ...
 *
 * Reading goes on after a mistake. Each mistake is one complaint with its
 * place, and the wrong value counts as not given. Records are in the arena of
 * the complaints; texts are in the arena or in the text that was read. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum field_kind {
    FIELD_TEXT,
    FIELD_WHOLE, /* an integer */
    FIELD_BOOL,
    FIELD_TIME, /* RFC 3339 */
    FIELD_SPAN, /* an ISO 8601 duration of days and smaller units */
    FIELD_SECONDS, /* a number, maybe with a fraction */
    FIELD_ANY, /* any JSON, as it was written */
    FIELD_WORD, /* one word of a list */
    FIELD_WORDS, /* several of them; in a query the parameter is repeated */
    FIELD_TEXTS,
    FIELD_RECORD,
    FIELD_RECORDS,
};

enum field_need {
    FIELD_REQUIRED,
    FIELD_OPTIONAL,
    FIELD_NULLABLE, /* null is the same as absent, except in FIELD_ANY */
    FIELD_CLEARABLE, /* null is a value of its own: is_null */
    FIELD_UNSUPPORTED, /* the client has it and the server has no counterpart: a value is a complaint */
};

struct shape;

struct field {
    const char *name;
    enum field_kind kind;
    enum field_need need;
    const void *of; /* the shape of records, or the NULL-terminated list of words */
    int64_t min, max; /* of numbers, and of the length of lists */
};

struct shape {
    const struct field *fields;
    size_t count;
};

struct record;

struct field_value {
    bool is_given;
    bool is_null;
    struct str text; /* TEXT; ANY: its JSON; WORD: as in the list */
    int64_t whole; /* WHOLE; SPAN and SECONDS, in us; TIME: seconds; WORD: its index */
    int32_t nanos; /* TIME */
    bool truth;
    struct record **records; /* RECORD: one */
    struct str *texts; /* TEXTS, WORDS */
    size_t count;
};

struct record {
    const struct shape *shape;
    struct field_value *v;
};

/* The place of a value, from the root: "body", "schedule", "calendars", 0. On the stack. */
struct place {
    const struct place *up;
    struct str name;
    size_t index; /* when name.p is NULL */
};

#define COMPLAINTS_MAX 50 /* more are counted, and left out of the list */

struct complaints {
    struct arena *arena;
    struct buf list; /* the elements of "detail": JSON objects, separated by commas */
    size_t count;
};

void complaints_init(struct complaints *c, struct arena *a);
void complaints_done(struct complaints *c);
/* type: as in pydantic, e.g. "missing". */
void complaints_add(struct complaints *c, const struct place *at, const char *type, const char *fmt, ...)
    printf_like(4, 5);

/* Reads a JSON text as a record. An empty text is {}. `where` is the root of all places. Returns NULL, after
 * adding a complaint, when the text cannot be read to its end or memory is short. */
const struct record *shape_read(struct complaints *c, const struct shape *s, struct str text,
                                struct str where);
/* Reads the parameters of a URL query as a record. An empty parameter counts as not given. Returns NULL,
 * after adding a complaint, when memory is short. */
const struct record *shape_read_query(struct complaints *c, const struct shape *s, struct str query);

/* shape_NAME, and the indexes NAME_FIELD of its values. */
#define SHAPE(name) extern const struct shape shape_##name;
#define FIELD(shape, name, kind, need, of, min, max)
#define END(name)
#include "mistral/shapes.def"
#undef SHAPE
#undef FIELD
#undef END

#define SHAPE(name) enum name##_field {
#define FIELD(shape, name, kind, need, of, min, max) shape##_##name,
#define END(name)                                                                                            \
    name##_COUNT                                                                                             \
    }                                                                                                        \
    ;
#include "mistral/shapes.def"
#undef SHAPE
#undef FIELD
#undef END
