/* Parses one string of a spec; cal_spec_add_cron() lists the forms. Used inside cal only. */
#pragma once

#include "cal/cal.h"
#include "cal/mistake.h"
#include "cal/field.h"
#include "cal/recur.h"

/* The two lists of a spec. */
enum cal_list { CAL_TIMES, CAL_EXCLUSIONS };

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
    int64_t count; /* 0: no end */
    struct str zone; /* of CRON_TZ= or TZID=; can be empty */
    struct str body; /* without zone and comment */
    struct str comment;
};

enum text_dialect { TEXT_CRON, TEXT_DBOS };

/* ERR_INVALID with the column of the mistake, ERR_NO_MEMORY. Slices of the result point into the text. */
int text_parse(struct arena *a, struct str seed, enum text_dialect dialect, struct str text, struct text *ret,
               struct err *reterr) must_check;

/* Cuts "CRON_TZ=zone " or "TZ=zone " off the front. */
int text_cut_zone(struct mistakes *c, struct str *text, struct str *ret_zone) must_check;
/* The fields that @daily and its like stand for; empty for other words. */
struct str text_shorthand(struct str word);
/* The text behind @daily or its like; empty for other texts. */
struct str text_behind_shorthand(struct str text);
/* Whether the word after the fields of a cron string is the command or the user of a crontab line. */
bool text_is_command(struct str word);
#define TEXT_CRONTAB_LINE                                                                                    \
    "this is a line of a crontab: leave out its command, which a schedule does not run; "                    \
    "what it starts is a workflow"

/* Parses a calendar with one string for each field. ERR_INVALID, ERR_NO_MEMORY. */
int text_parse_strings(struct arena *a, struct str seed, const struct cal_strings *s,
                       struct cal_calendar *ret, struct field_marks *marks, struct err *reterr) must_check;

/* The text after "@every", and "R[n]/...". In every.c. */
struct text_reader {
    struct arena *arena;
    struct mistakes *mistakes;
    struct str seed;
};
int text_parse_every(const struct text_reader *r, struct str rest, struct text *t) must_check;
int text_parse_repeat(const struct text_reader *r, struct str body, struct text *t) must_check;
