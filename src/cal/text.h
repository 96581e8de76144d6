/* One string of a spec, read: see cal_spec_add_cron for what there is. Used inside cal only. */
#pragma once

#include "cal/cal.h"
#include "cal/mistake.h"
#include "cal/field.h"
#include "cal/recur.h"

enum text_kind {
    TEXT_CALENDAR, /* calendar, marks */
    TEXT_INTERVAL, /* interval */
    TEXT_RECUR, /* recur */
    TEXT_EXACT, /* at, step_s, count: at + n * step_s */
    TEXT_AT, /* at */
};

struct text {
    enum text_kind kind;
    struct cal_calendar calendar;
    struct field_marks marks;
    struct cal_interval interval;
    struct recur recur;
    struct civil_stamp at;
    int64_t step_s;
    int64_t count; /* 0: without end */
    struct str zone; /* of CRON_TZ= or TZID=; empty without one */
    struct str body; /* without zone and comment */
    struct str comment;
};

enum text_dialect { TEXT_CRON, TEXT_DBOS };

/* ERR_INVALID with a text that says where, or ERR_NO_MEMORY. Slices point into the text. */
int text_parse(struct arena *a, struct str seed, enum text_dialect dialect, struct str text, struct text *ret,
               struct err *reterr) must_check;

/* "CRON_TZ=zone " or "TZ=zone " cut off the front. */
int text_cut_zone(struct mistakes *c, struct str *text, struct str *ret_zone) must_check;
/* What @daily and its like stand for, or an empty text. */
struct str text_shorthand(struct str word);
/* What stands behind @daily or its like, or an empty text. */
struct str text_behind_shorthand(struct str text);
/* Whether the word behind the fields of a cron string is the command, or the user, of a line of a crontab. */
bool text_is_command(struct str word);
#define TEXT_CRONTAB_LINE                                                                                    \
    "this is a line of a crontab: leave out its command, which a schedule does not run; what it starts is "  \
    "a "                                                                                                     \
    "workflow"

/* Strings for each field. Marks go to *marks. */
int text_parse_strings(struct arena *a, struct str seed, const struct cal_strings *s,
                       struct cal_calendar *ret, struct field_marks *marks, struct err *reterr) must_check;

/* What "@every" may be followed by, and "R[n]/". In every.c. */
struct text_reader {
    struct arena *arena;
    struct mistakes *mistakes;
    struct str seed;
};
int text_parse_every(const struct text_reader *r, struct str rest, struct text *t) must_check;
int text_parse_repeat(const struct text_reader *r, struct str body, struct text *t) must_check;
