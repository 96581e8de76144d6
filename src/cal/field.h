/* One field of a calendar or cron string: text in, ranges out. */
#pragma once

#include "base/arena.h"
#include "cal/cal.h"
#include "cal/mistake.h"

struct field_kind {
    const char *name; /* as messages call it */
    int min, max; /* max is 7 for the day of week: Sunday may be written so */
    int range_max; /* what a range may say */
    const char *fallback; /* for an empty string */
};

const struct field_kind *field_kind(enum cal_field field);

/* Days that ranges cannot say; as in struct rule_more. */
struct field_marks {
    uint32_t from_end, near;
    bool is_last_workday;
    uint8_t nth[5], last;
    bool has_spread; /* an H was read; ranges can say what it came to */
};
bool field_has_marks(const struct field_marks *m);

struct field_reader {
    struct arena *arena;
    struct mistakes *mistakes;
    struct str seed; /* for H */
    struct field_marks *marks;
};

/* The ordinary grammar: parts with commas between, each of them *, v, a-b with an optional /step, or a mark.
 */
int field_parse(const struct field_reader *r, enum cal_field field, struct str text,
                struct cal_ranges *ret) must_check;
/* The grammar of DBOS: a list of * and ranges with one optional /divisor behind it. */
int field_parse_dbos(const struct field_reader *r, enum cal_field field, struct str text,
                     struct cal_ranges *ret) must_check;
/* The number that a word stands for: digits, or a name with at least so many letters of it. */
int field_value(enum cal_field field, struct str word, int64_t *ret) must_check;

/* Ranges for the values whose bits are set, in compact form. */
int field_ranges_of_bits(struct arena *a, uint64_t bits, struct cal_ranges *ret) must_check;
