/* What bodies and queries look like, from shapes.def, and reading them.
 *
 * A record is read into one value for each of its fields, in the order of the
 * table, so that `r->v[range_start]` is the field `start` of a range:
 *
 *   struct complaints c;
 *   complaints_init(&c, &arena);
 *   const struct record *r = shape_read(&c, &shape_schedule_request, body, STR("body"));
 *   if (c.count) ... answer 422 with c.list ...
 *
 * Reading goes on after a mistake: each is one complaint with its place, and
 * what is wrong counts as not given. Everything lives in the arena. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum field_kind {
    FIELD_TEXT,
    FIELD_WHOLE,
    FIELD_BOOL,
    FIELD_TIME, /* RFC 3339 */
    FIELD_SPAN, /* ISO 8601, of exact units and days */
    FIELD_SECONDS, /* a number, maybe with a fraction */
    FIELD_ANY, /* any JSON, as written */
    FIELD_WORD, /* one of a list */
    FIELD_WORDS, /* several of them; in a query, the parameter repeated */
    FIELD_TEXTS,
    FIELD_RECORD,
    FIELD_RECORDS,
};

enum field_need {
    FIELD_REQUIRED,
    FIELD_OPTIONAL,
    FIELD_NULLABLE, /* null is the same as absent, except in FIELD_ANY */
    FIELD_CLEARABLE, /* null is a value of its own: is_null */
    FIELD_FOREIGN, /* known, and taken only when it says nothing: there is no such thing here */
};

struct shape;

struct field {
    const char *name;
    enum field_kind kind;
    enum field_need need;
    const void *of; /* the shape of records, the NULL-terminated list of words */
    int64_t min, max; /* of whole numbers, and of counts of lists */
};

struct shape {
    const struct field *fields;
    size_t count;
};

struct record;

struct given {
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
    struct given *v;
};

/* Where something stands: "schedule", "calendars", 0. */
struct place {
    const struct place *up;
    struct str name;
    size_t index; /* when the name is empty */
};

#define COMPLAINTS_MAX 50 /* more are counted, and not told */

struct complaints {
    struct arena *arena;
    struct buf list; /* JSON objects, with commas between; the elements of "detail" */
    size_t count;
};

void complaints_init(struct complaints *c, struct arena *a);
void complaints_done(struct complaints *c);
void complaints_add(struct complaints *c, const struct place *at, const char *type, const char *fmt, ...)
    printf_like(4, 5);

/* A JSON text as a record; NULL only when memory is short, which is then a complaint, too. `where` is the
 * first name of all places. An empty text is {}. */
const struct record *shape_read(struct complaints *c, const struct shape *s, struct str text,
                                struct str where);
/* The parameters of a query as a record; parameters that are empty count as not given. */
const struct record *shape_read_query(struct complaints *c, const struct shape *s, struct str query);

/* The records of shapes.def. */
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
