/* Parses one field of a calendar or cron string into ranges. Used inside cal only. */
#pragma once

#include "base/arena.h"
#include "cal/cal.h"
#include "cal/mistake.h"

struct field_kind {
    const char *name; /* in messages */
    int min, max; /* max is 7 for the day of week: Sunday can be 0 or 7 */
    int range_max; /* the largest value in a range */
    const char *fallback; /* for an empty string */
};

const struct field_kind *field_kind(enum cal_field field);

/* Days that ranges cannot express; the members are as in struct rule_more. */
struct field_marks {
    uint32_t from_end, near;
    bool is_last_workday;
    uint8_t nth[5], last;
    bool has_spread; /* the field has an H; its value is in the ranges */
};
bool field_has_marks(const struct field_marks *m);

struct field_reader {
    struct arena *arena;
    struct mistakes *mistakes;
    struct str seed; /* for H */
    struct field_marks *marks;
};

/* The ordinary grammar: parts separated by commas. A part is *, v, a-b, each with an optional /step, or a
 * mark. ERR_INVALID with a mistake, ERR_NO_MEMORY. */
int field_parse(const struct field_reader *r, enum cal_field field, struct str text,
                struct cal_ranges *ret) must_check;
/* The DBOS grammar: a list of * and ranges, then one optional /divisor. */
int field_parse_dbos(const struct field_reader *r, enum cal_field field, struct str text,
                     struct cal_ranges *ret) must_check;
/* The number of a word: digits, or the first letters of a name (3 of a month, 2 of a day). ERR_INVALID. */
int field_value(enum cal_field field, struct str word, int64_t *ret) must_check;

/* Compact ranges for the set bits. ERR_NO_MEMORY. */
int field_ranges_of_bits(struct arena *a, uint64_t bits, struct cal_ranges *ret) must_check;
