/* When a schedule acts: calendars, cron strings, intervals, recurrences, exclusions, bounds, jitter, time
 * zones.
 *
 * Everything here is arithmetic: no clock, no file, no global. Two steps:
 *
 *   struct cal_spec spec;                      what the user wrote, in its canonical form
 *   cal_spec_init(&spec, &arena, STR("ns-id-schedule-id"));
 *   r = cal_spec_add_cron(&spec, STR("CRON_TZ=Europe/Berlin 30 9 * * mon-fri"), &e);
 *   r = cal_spec_finish(&spec, &e);            now spec can be read back: this is what a describe shows
 *   r = cal_new(&spec, &zones, &cal, &e);      compiled; refers to nothing of the spec
 *   while (cal_next(cal, seed, after_us, &t) == CAL_FOUND)
 *       after_us = t.actual_us;
 *
 * The contract: the nominal times are the UTC seconds whose local fields match, and no others. A local time
 * that the clock jumps over gives none, one that it shows twice gives two; zone_missing and zone_repeated
 * change that. Intervals count in UTC and know no zones.
 *
 * Parsers fail with ERR_INVALID and a text that names the column of the mistake, counted from 1. */
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
/* Work is counted in rules that are asked about a second; to look at a month for a rule counts as so many.
 * One of them takes some nanoseconds. */
#define CAL_MONTH_WORK 8
#define CAL_WORK_MAX 4000000 /* of one search */

/* Values first, first + step, ... up to last. step 0 means 1, last < first means first. */
struct cal_range {
    int32_t first, last, step;
};

struct cal_ranges {
    const struct cal_range *v;
    size_t n;
};

/* All fields must match. A field without ranges matches nothing, except the year, where it means every year.
 */
struct cal_calendar {
    struct cal_ranges fields[CAL_FIELD_COUNT];
    struct str comment;
};

/* The same as strings, one for each field. Empty means 0 for second, minute and hour, and * for the others.
 */
struct cal_strings {
    struct str fields[CAL_FIELD_COUNT];
    struct str comment;
};

/* Times 1970-01-01T00:00:00Z + n * interval + phase. Fractions of a second are checked and then dropped. */
struct cal_interval {
    int64_t interval_us, phase_us;
};

#define CAL_NO_START INT64_MIN
#define CAL_NO_END INT64_MAX

/* Lists grow by the functions below; the other members may be set directly before cal_spec_finish. What it
 * points to belongs to the arena or to the caller. */
struct cal_spec {
    struct arena *arena;
    struct str seed; /* of H in cron strings, the schedule's id: the same schedule gets the same values */
    bool has_spread; /* an H was read, so the times depend on the seed */
    struct cal_calendar *calendars;
    size_t calendar_count;
    struct cal_calendar *excludes;
    size_t exclude_count;
    struct cal_interval *intervals;
    size_t interval_count;
    struct str
        zone_name; /* with its additions, see zone.h; cal_spec_finish writes the one of cron strings here */
    struct str zone_data; /* TZif bytes; they win over the name */
    int64_t start_us; /* CAL_NO_START, or the first time that counts */
    int64_t end_us; /* CAL_NO_END, or the last one */
    int64_t jitter_us;
    struct str string_zone; /* what the strings so far agreed on */
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
 * What calendars and intervals can say becomes one of these in the spec. The rest is kept as a placeholder
 * calendar in the past whose comment carries the text, "rondo: 0 0 L * *". Any client hands that back
 * unchanged, and cal_spec_add_calendar and cal_new read the text again. Without the placeholder's fields,
 * such a comment is only a comment. */
int cal_spec_add_cron(struct cal_spec *s, struct str text, struct err *reterr) must_check;
int cal_spec_exclude_cron(struct cal_spec *s, struct str text,
                          struct err *reterr) must_check; /* no intervals */

/* DBOS: 5 fields, or 6 with the seconds FIRST. After a slash stands a divisor: values of the list that it
 * divides. */
int cal_spec_add_dbos(struct cal_spec *s, struct str text, struct err *reterr) must_check;

/* Checks what concerns the spec as a whole: whether the zones of strings agree with each other and with
 * zone_name, and the zone's additions. */
int cal_spec_finish(struct cal_spec *s, struct err *reterr) must_check;

/* Ranges as a describe shows them: last and step written out. */
struct cal_range cal_range_clean(struct cal_range r);
bool cal_calendar_eq(const struct cal_calendar *a, const struct cal_calendar *b); /* after cleaning */
/* A calendar as a cron string of 7 fields, with its comment; a placeholder as the text it carries. */
void cal_calendar_text(const struct cal_calendar *c, struct buf *out);
/* The text that a placeholder carries, or an empty one. */
struct str cal_calendar_carried(const struct cal_calendar *c);

/* Where zones come from. find returns NULL for an unknown name; the zone must outlive the calendars that use
 * it. nearest, which may be NULL, returns the name that was probably meant by one that is not known, or NULL.
 */
struct cal_zones {
    const struct zone *(*find)(void *ctx, struct str name);
    void *ctx;
    const char *(*nearest)(void *ctx, struct str name);
};
/* What to say of a zone that is not known: its name and, where one is close, what was probably meant. The
 * text of the error is `prefix` and that. Returns ERR_INVALID. */
int cal_zone_unknown(const struct cal_zones *zones, const char *prefix, struct str name, struct err *reterr);

struct cal;

/* zones may be NULL: then only UTC and zone_data are known. ERR_INVALID, or ERR_NO_MEMORY. */
int cal_new(const struct cal_spec *s, const struct cal_zones *zones, struct cal **ret,
            struct err *reterr) must_check;
struct cal *cal_free(struct cal *c); /* returns NULL */
void cal_freep(struct cal **c);
size_t cal_bytes(const struct cal *c); /* of memory, without a zone that it shares */

enum cal_answer {
    CAL_FOUND,
    CAL_NONE, /* nothing follows, up to the end of 2100 */
    CAL_LIMIT, /* CAL_WORK_MAX was not enough: the search was given up */
};

struct cal_time {
    int64_t nominal_s; /* whole second; names the action */
    int64_t actual_us; /* nominal plus jitter; before the nominal time that follows */
};

/* The first nominal time in a second after that of after_us. To get all times in turn, hand in actual_us. The
 * seed of the jitter is "<namespace id>-<schedule id>" where upstream's values are wanted. */
enum cal_answer cal_next(const struct cal *c, struct str seed, int64_t after_us,
                         struct cal_time *ret) must_check;

/* The same, and adds its work to *work. */
enum cal_answer cal_next_counted(const struct cal *c, struct str seed, int64_t after_us, struct cal_time *ret,
                                 uint64_t *work) must_check;

/* Why a second is, or is not, a nominal time. */
enum cal_verdict {
    CAL_IS_TIME,
    CAL_NOT_ASKED, /* no calendar and no interval matches */
    CAL_EXCLUDED, /* ret_index, unless NULL: which exclusion */
    CAL_REPEATED, /* the other of two instants of that local time counts */
    CAL_BEFORE_START,
    CAL_AFTER_END,
};
enum cal_verdict cal_judge(const struct cal *c, int64_t utc_s, size_t *ret_index);
uint64_t cal_judge_work(const struct cal *c); /* about, without an index */

const struct zone *cal_zone(const struct cal *c); /* NULL for UTC */
