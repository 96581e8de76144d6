/* The filter language of lists and counts, parsed to a predicate.
 *
 *   expr  = expr OR expr | expr AND expr | NOT expr | ( expr ) | test
 *   test  = name (= | != | < | <= | > | >=) value | name [NOT] IN ( value, ... )
 *         | name [NOT] BETWEEN value AND value | name [NOT] STARTS_WITH value | name IS [NOT] NULL
 *   query = [expr] [GROUP BY name]
 *
 * Names are those of the namespace's search attributes; a missing or superfluous "Temporal" in front is
 * forgiven. Values take the type of their name (filter_value.h). Errors begin with "invalid query: " and
 * name the column where the trouble is. */
#pragma once

#include "base/arena.h"
#include "core/search/attributes.h"
#include "core/search/predicate.h"

#define FILTER_BYTES_MAX (128 * 1024)
#define FILTER_DEPTH_MAX 32 /* SQLite's parser has room for about 60 brackets, and a bushy tree takes more */
#define FILTER_TESTS_MAX 256
#define FILTER_VALUES_MAX 4096

struct filter {
    const struct predicate *where; /* NULL: everything */
    bool is_grouped; /* by ExecutionStatus, the one name that is allowed */
};

/* What a query is about: it decides which names there are, and what is never shown. */
enum filter_subject { FILTER_WORKFLOWS, FILTER_SCHEDULES, FILTER_BATCHES };

/* The tree and its texts live in the arena, or are the query's. What has a TemporalNamespaceDivision is
 * left out unless the query names that attribute; schedules and batch jobs, which have divisions of their own,
 * are only ever found by queries about them, and schedules that have ended not even then. */
int filter_parse(struct arena *a, const State__Namespace *ns, enum filter_subject subject, struct str query,
                 struct filter *ret, struct err *err) must_check;

/* Building by hand. NULL in, NULL out; NULL when the arena is exhausted (sticky there). */
const struct predicate *filter_and(struct arena *a, const struct predicate *l, const struct predicate *r);
const struct predicate *filter_not(struct arena *a, const struct predicate *p);
const struct predicate *filter_test(struct arena *a, enum predicate_kind kind, const char *name,
                                    const struct value *value); /* value may be NULL */
