/* Specs and expected times as text, so that a table test has one case on one line.
 *
 * A spec is a list of parts with " | " between them:
 *   cron TEXT            a cron string, or anything else that cal_spec_add_cron takes
 *   dbos TEXT            the DBOS dialect
 *   cal min=5,9 hour=*   a calendar of strings: sec min hour dom month dow year
 *   not sec=* min=*      the same, excluded
 *   notcron TEXT         a cron string, excluded
 *   zone NAME, start TIME, end TIME, jitter LENGTH, seed TEXT
 *
 * Times are written "2022-03-23 13:30 15:00:01 2022-03-24 00:00:00.500 none": a date holds for the times
 * behind it. An error is written "!part of its text". */
#pragma once

#include "cal/cal.h"
#include "harness.h"
#include "host/zoneinfo.h"

struct cal_world {
    struct arena arena;
    struct zoneinfo *zoneinfo;
    struct cal_zones zones;
    struct cal_spec spec;
    struct cal *cal;
    struct str seed;
    struct err err;
};

void cal_world_init(struct cal_world *w);
void cal_world_done(struct cal_world *w);
/* Builds w->spec and w->cal. 0, or the error, which is then in w->err. */
int cal_world_make(struct cal_world *w, const char *spec) must_check;
/* The next `count` times after this one as text; "none" when they end before. */
void cal_world_times(const struct cal_world *w, int64_t after_us, size_t count, struct buf *out);
int64_t cal_time_of(const char *text); /* seconds; the test fails when it is no time */

/* Makes the spec and compares as many times after `after` as are expected. */
void cal_check(const char *file, int line, const char *spec, const char *after, const char *expected);
#define CHECK_TIMES(spec, after, expected) cal_check(__FILE__, __LINE__, spec, after, expected)

struct cal_case {
    int line;
    const char *spec, *after, *expected;
};
#define CASE(spec, after, expected)                                                                          \
    { __LINE__, spec, after, expected }
#define CHECK_CASES(cases)                                                                                   \
    for (size_t i_ = 0; i_ < ARRAY_LEN(cases); i_++)                                                         \
    cal_check(__FILE__, (cases)[i_].line, (cases)[i_].spec, (cases)[i_].after, (cases)[i_].expected)
