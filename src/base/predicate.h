/* Questions about named values: a tree of tests, and whether it holds for one thing.
 *
 * What the filter language is parsed to, what the SQL store turns into a WHERE clause, and what the
 * store in memory evaluates. Pure data: whoever builds a tree owns its memory, usually an arena.
 *
 * There is no third truth value. A test of a name that has no value is false, and PREDICATE_NOT turns
 * any false into true: `City != 'Rome'` holds for what has no city. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

/* In the order in which they sort: numbers, by value, before text, by bytes. */
enum value_kind { VALUE_INT, VALUE_REAL, VALUE_TEXT };

struct value {
    enum value_kind kind;
    int64_t number;
    double real;
    struct str text;
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
int value_compare(const struct value *a, const struct value *b);

/* One name of a thing, with its values: several for a list. */
struct attribute {
    struct str name;
    const struct value *values;
    size_t count;
};

enum predicate_kind {
    PREDICATE_AND,
    PREDICATE_OR,
    PREDICATE_NOT, /* only `left` */
    /* Tests: hold when any value of `name` passes. */
    PREDICATE_EQUAL, /* one of `values` */
    PREDICATE_BELOW, /* values[0], like the rest */
    PREDICATE_AT_MOST,
    PREDICATE_ABOVE,
    PREDICATE_AT_LEAST,
    PREDICATE_PREFIX,
    PREDICATE_PRESENT, /* no value */
};

struct predicate {
    enum predicate_kind kind;
    const struct predicate *left;
    const struct predicate *right;
    struct str name;
    const struct value *values;
    size_t count;
};

/* NULL holds for everything. */
bool predicate_holds(const struct predicate *p, const struct attribute *attributes, size_t count);

/* With its own copy of everything, or NULL when the arena is exhausted (sticky there). NULL for NULL. */
const struct predicate *predicate_copy(struct arena *a, const struct predicate *p);
