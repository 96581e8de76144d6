/* When a schedule acts: calendars, cron strings, intervals, recurrences, exclusions, bounds, jitter, time
 * zones.
 *
 * All of it is arithmetic: no clock, no file, no global. There are two steps:
 *
 *   struct cal_spec spec;                      the user's text, in its canonical form
 *   cal_spec_init(&spec, &arena, STR("ns-id-schedule-id"));
 *   r = cal_spec_add_cron(&spec, STR("CRON_TZ=Europe/Berlin 30 9 * * mon-fri"), &e);
 *   r = cal_spec_finish(&spec, &e);            now the spec can be read back: a describe shows this
 *   r = cal_new(&spec, &zones, &cal, &e);      compiled; keeps no pointer into the spec
 *   while (cal_next(cal, seed, after_us, &t) == CAL_FOUND)
 *       after_us = t.actual_us;
 *
 * The contract: the nominal times are exactly the UTC seconds whose local fields match. A local time that the
 * clock skips gives no time; a local time that the clock shows twice gives two. zone_missing and
 * zone_repeated change that. Intervals count in UTC and ignore zones.
 *
 * Parsers fail with ERR_INVALID and a text that names the column of the mistake, counted from 1. A compiled
 * calendar never changes; any thread may read it. */
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "cal/zone.h"

enum cal_field {
    CAL_SECOND, /* 0-59 */
    CAL_MINUTE, /* 0-59 */
    CAL_HOUR, /* 0-23 */
    CAL_DAY_OF_MONTH, /* 1-31 */
    CAL_MONTH, /* 1-12 */
    CAL_DAY_OF_WEEK, /* 0-6, 0 is Sunday */
    CAL_YEAR, /* 2000-2100 */
    CAL_FIELD_COUNT,
};

#define CAL_COMMENT_BYTES_MAX 200
#define CAL_TEXT_BYTES_MAX 4096 /* of one string; an RRULE can be long */
#define CAL_RANGES_MAX 1000 /* of one field */
#define CAL_ENTRIES_MAX 10000 /* calendars, exclusions, intervals of one spec, each */
/* The unit of work is one rule compared with one second, some nanoseconds. Computing one month of a rule
 * counts as CAL_MONTH_WORK. */
#define CAL_MONTH_WORK 8
#define CAL_WORK_MAX 4000000 /* of one search; then the answer is CAL_LIMIT */

/* Values first, first + step, ... up to last. step 0 means 1, last < first means first. */
struct cal_range {
    int32_t first, last, step;
};

struct cal_ranges {
    const struct cal_range *v;
    size_t n;
};

/* All fields must match. A field without ranges matches nothing; a year without ranges matches every year. */
struct cal_calendar {
    struct cal_ranges fields[CAL_FIELD_COUNT];
    struct str comment;
};

/* A calendar with one string for each field. An empty string is 0 for second, minute and hour, * for others.
 */
struct cal_strings {
    struct str fields[CAL_FIELD_COUNT];
    struct str comment;
};

/* Times 1970-01-01T00:00:00Z + n * interval + phase. Fractions of a second are checked, then dropped. */
struct cal_interval {
    int64_t interval_us, phase_us;
};

#define CAL_NO_START INT64_MIN
#define CAL_NO_END INT64_MAX

/* The functions below fill the lists. Set the other members directly, before cal_spec_finish(). The arena or
 * the caller owns the memory that it points to. */
struct cal_spec {
    struct arena *arena;
    struct str seed; /* of H in cron strings: the schedule's id, so that its values never change */
    bool has_spread; /* an H was read, so the times depend on the seed */
    struct cal_calendar *calendars;
    size_t calendar_count;
    struct cal_calendar *excludes;
    size_t exclude_count;
    struct cal_interval *intervals;
    size_t interval_count;
    struct str zone_name; /* with options, see zone.h; cal_spec_finish sets it from cron strings */
    struct str zone_data; /* TZif bytes; they replace the named zone */
    int64_t start_us; /* CAL_NO_START, or the first time that counts */
    int64_t end_us; /* CAL_NO_END, or the last time that counts */
    int64_t jitter_us;
    struct str string_zone; /* the zone that all strings so far have named */
    bool has_string;
};

void cal_spec_init(struct cal_spec *s, struct arena *arena, struct str seed);

int cal_spec_add_calendar(struct cal_spec *s, const struct cal_calendar *c, struct err *reterr) must_check;
int cal_spec_add_strings(struct cal_spec *s, const struct cal_strings *c, struct err *reterr) must_check;
int cal_spec_add_interval(struct cal_spec *s, const struct cal_interval *i, struct err *reterr) must_check;
int cal_spec_exclude_calendar(struct cal_spec *s, const struct cal_calendar *c,
                              struct err *reterr) must_check;
int cal_spec_exclude_strings(struct cal_spec *s, const struct cal_strings *c, struct err *reterr) must_check;

/* One string, with an optional "CRON_TZ=zone " or "TZ=zone " before it and "# comment" behind it:
 *
 *   min hour dom month dow             30 9 * * mon-fri
 *   min hour dom month dow year        0 0 1 1 * 2030
 *   sec min hour dom month dow year    *\/10 * * * * * *
 *     beside lists, ranges and steps: L, L-3, 15W, LW (day of month), 5#2, 5L (day of week), ?, H, H(0-29)/10
 *   @yearly @annually @monthly @weekly @daily @midnight @hourly
 *   @every 90m, @every 1.5d/2h, @every PT15M                        interval and phase, from 1970 on
 *   @every 2 weeks from 2026-01-05T09:00, @every P1M from 2026-01-31   in local time, from that date on
 *   R5/2026-01-05T09:00/P1D, R/2026-01-05T09:00Z/PT6H               ISO 8601 repeating intervals
 *   DTSTART;TZID=Europe/Berlin:20260105T090000 RRULE:FREQ=WEEKLY;BYDAY=MO EXDATE:20260112T090000   RFC 5545
 *   @at 2026-03-01T09:00                                            once
 *   @dbos 0 *\/10 * * * *                                            the DBOS dialect, see below
 *
 * A string that a calendar or an interval can express becomes one in the spec. Any other string is kept in a
 * placeholder: a calendar in the past whose comment carries the text, "rondo: 0 0 L * *". Clients return
 * calendars and comments unchanged, and cal_spec_add_calendar and cal_new read the text again. In a calendar
 * with other fields, such a comment is only a comment. */
int cal_spec_add_cron(struct cal_spec *s, struct str text, struct err *reterr) must_check;
int cal_spec_exclude_cron(struct cal_spec *s, struct str text,
                          struct err *reterr) must_check; /* no intervals */

/* DBOS: 5 fields, or 6 with the seconds FIRST. The number after a slash is a divisor: only the values of the
 * list that it divides match. */
int cal_spec_add_dbos(struct cal_spec *s, struct str text, struct err *reterr) must_check;

/* Checks the spec as a whole: the zones of strings must agree with each other and with zone_name, and the
 * options of the zone must be known. */
int cal_spec_finish(struct cal_spec *s, struct err *reterr) must_check;

/* A range as a describe shows it: with last and step. */
struct cal_range cal_range_clean(struct cal_range r);
bool cal_calendar_eq(const struct cal_calendar *a, const struct cal_calendar *b); /* after cleaning */
/* Appends a calendar as a cron string of 7 fields with its comment; of a placeholder, the text it carries. */
void cal_calendar_text(const struct cal_calendar *c, struct buf *out);
/* The text that a placeholder carries; empty for other calendars. */
struct str cal_calendar_carried(const struct cal_calendar *c);

/* The source of zones. find returns NULL for an unknown name; a zone must outlive the calendars that use it.
 * nearest, which may be NULL, returns the name that an unknown one probably means, or NULL. */
struct cal_zones {
    const struct zone *(*find)(void *ctx, struct str name);
    void *ctx;
    const char *(*nearest)(void *ctx, struct str name);
};
/* Fills the error for an unknown zone: `prefix`, its name and, if one is close, the name that was probably
 * meant. Returns ERR_INVALID. */
int cal_zone_unknown(const struct cal_zones *zones, const char *prefix, struct str name, struct err *reterr);

struct cal;

/* Compiles a spec. Without zones (NULL) only UTC and zone_data are known. ERR_INVALID, ERR_NO_MEMORY. */
int cal_new(const struct cal_spec *s, const struct cal_zones *zones, struct cal **ret,
            struct err *reterr) must_check;
struct cal *cal_free(struct cal *c); /* returns NULL */
void cal_freep(struct cal **c);
size_t cal_bytes(const struct cal *c); /* memory in bytes, without a shared zone */

enum cal_answer {
    CAL_FOUND,
    CAL_NONE, /* nothing follows, up to the end of 2100 */
    CAL_LIMIT, /* the search reached CAL_WORK_MAX and stopped */
};

struct cal_time {
    int64_t nominal_s; /* whole UTC second; identifies the action */
    int64_t actual_us; /* nominal plus jitter; before the next nominal time */
};

/* The first nominal time in a later second than that of after_us. To get all times in order, pass the
 * actual_us of the last one. With the seed "<namespace id>-<schedule id>" the jitter equals upstream's. */
enum cal_answer cal_next(const struct cal *c, struct str seed, int64_t after_us,
                         struct cal_time *ret) must_check;

/* The same. Adds the work of the search to *work. */
enum cal_answer cal_next_counted(const struct cal *c, struct str seed, int64_t after_us, struct cal_time *ret,
                                 uint64_t *work) must_check;

/* Why a second is a nominal time, or is not. */
enum cal_verdict {
    CAL_IS_TIME,
    CAL_NOT_ASKED, /* no calendar and no interval matches */
    CAL_EXCLUDED, /* ret_index, unless NULL: which exclusion */
    CAL_REPEATED, /* only the other instant of that local time counts */
    CAL_BEFORE_START,
    CAL_AFTER_END,
};
enum cal_verdict cal_judge(const struct cal *c, int64_t utc_s, size_t *ret_index);
uint64_t cal_judge_work(const struct cal *c); /* an estimate, for a call without ret_index */

const struct zone *cal_zone(const struct cal *c); /* NULL for UTC */
