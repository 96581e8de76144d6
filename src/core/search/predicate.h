/* A list filter as a tree of tests on named values.
 *
 * core/search/filter.c parses the filter language into this tree. The SQLite store turns it into a WHERE
 * clause; the store in memory calls predicate_holds(). A tree is plain data: its builder owns the memory,
 * usually an arena. Any thread may read it.
 *
 * There are two truth values. A test of a name without a value is false, and PREDICATE_NOT turns every false
 * into true: `City != 'Rome'` holds for an entry without a city. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

/* In sort order: numbers by value, then texts by bytes. */
enum value_kind { VALUE_INT, VALUE_REAL, VALUE_TEXT };

struct value {
    enum value_kind kind;
    int64_t number; /* of VALUE_INT */
    double real; /* of VALUE_REAL */
    struct str text; /* of VALUE_TEXT; the bytes belong to the builder */
};

static inline struct value value_int(int64_t v) {
    return (struct value){.kind = VALUE_INT, .number = v};
}
static inline struct value value_real(double v) {
    return (struct value){.kind = VALUE_REAL, .real = v};
}
static inline struct value value_text(struct str v) {
    return (struct value){.kind = VALUE_TEXT, .text = v};
}
/* Below, equal to or above 0, as memcmp. */
int value_compare(const struct value *a, const struct value *b);

/* One attribute of an entry. A list has several values. */
struct attribute {
    struct str name;
    const struct value *values;
    size_t count;
};

enum predicate_kind {
    PREDICATE_AND,
    PREDICATE_OR,
    PREDICATE_NOT, /* only `left` */
    /* Tests. A test holds when any value of `name` passes it. */
    PREDICATE_EQUAL, /* one of `values` */
    PREDICATE_BELOW, /* values[0], as in the tests that follow */
    PREDICATE_AT_MOST,
    PREDICATE_ABOVE,
    PREDICATE_AT_LEAST,
    PREDICATE_PREFIX,
    PREDICATE_PRESENT, /* `name` has a value; `values` is empty */
};

struct predicate {
    enum predicate_kind kind;
    const struct predicate *left;
    const struct predicate *right;
    struct str name;
    const struct value *values;
    size_t count;
};

/* Whether the predicate holds for an entry with these attributes. NULL holds for every entry. */
bool predicate_holds(const struct predicate *p, const struct attribute *attributes, size_t count);

/* A deep copy in the arena. NULL when the arena is exhausted (sticky there), and for NULL. */
const struct predicate *predicate_copy(struct arena *a, const struct predicate *p);
