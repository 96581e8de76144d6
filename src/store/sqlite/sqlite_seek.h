/* Ranges of indexes that contain the runs which match a filter.
 *
 * A filter is a list of tests that must all hold. Each test with indexes is a seek: every run that passes the
 * test is in one of the ranges of the seek. Which of them holds the fewest is found out by counting
 * (sqlite_visibility.c); this file only says what there is, and puts it as SQL. */
#pragma once

#include "store/sqlite/sqlite_where.h"

#define SEEK_RANGES_MAX 64
#define SEEKS_MAX 8
#define SEEK_WINDOW_MAX 4

struct seek_way; /* an index, ways.def */

/* In the SQL of a range its rows are called k. */
struct seek_range {
    const struct seek_way *way; /* NULL: the attributes without a column */
    const struct predicate *test; /* NULL: all that the index has */
    const struct predicate *bound; /* the other end, or NULL */
    const struct value *value; /* of the test's, this one only; NULL: any of them */
};

/* A run can be in several ranges, and more than once in one that is not ordered. */
struct seek {
    struct seek_range ranges[SEEK_RANGES_MAX];
    size_t count; /* 0: there is none */
    bool is_ordered; /* the runs of each range come in the order of lists */
};

struct seeks {
    struct uuid namespace_id;
    struct seek list[SEEKS_MAX];
    size_t count;
    /* The ordered one with the fewest ranges; without any the order of lists itself. No ranges: not even
     * that, what is asked for has no index of its own. */
    struct seek lead;
    bool is_exact; /* every run of the lead matches the filter */
    /* Tests of CloseTime and StartTime that hold for all that pass. */
    const struct predicate *closed[SEEK_WINDOW_MAX], *started[SEEK_WINDOW_MAX];
    size_t closed_count, started_count;
};

void seeks_find(struct seeks *s, const struct read *r);
/* " FROM ... k" and " WHERE ...": the rows of a range. */
void seek_add_from(struct sql_text *q, const struct seek_range *g);
void seek_add_where(struct sql_text *q, const struct seeks *s, const struct seek_range *g);
/* " AND ...": of them, those that the tests of CloseTime let pass and that come behind a place. In an ordered
 * range that is where to begin and to end. */
void seek_add_window(struct sql_text *q, const struct seeks *s, const struct visibility_place *after);
/* " AND ...": the tests of StartTime. */
void seek_add_started(struct sql_text *q, const struct seeks *s, const char *column);
bool seeks_started(const struct seeks *s, int64_t start_ns); /* the same, of one */
/* " AND ...": v is the row of k in the table of runs. */
void seek_add_row(struct sql_text *q, const struct seek_range *g);
const char *seek_index(const struct seek_range *g); /* of the table of runs; NULL: none */
