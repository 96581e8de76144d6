/* The next times of a schedule, and warnings about likely mistakes. */
#pragma once

#include "cal/warning.h"
#include "command/schedule/subject.h"

#define PREVIEW_TIMES_MAX 3

struct preview_warning {
    const char *kind, *text;
};

struct preview {
    struct preview_warning warnings[WARNING_KINDS + 2]; /* warnings of the spec, and two of the schedule */
    size_t warning_count;
    int64_t
        next_s[PREVIEW_TIMES_MAX]; /* before jitter; empty while it is paused, or without remaining actions */
    size_t next_count;
};

/* `now_us` is the time from which next times count. ERR_NO_MEMORY. Texts are in the command's arena. */
int preview_make(struct command *c, const struct subject *s, int64_t now_us, struct preview *ret) must_check;
/* Prints the id of the draft in c->request with next times and warnings: as a card, or as JSON members
 * "nextTimes" and "warnings". A spec that this program cannot read has neither. COMMAND_REFUSED after a
 * line on stderr. */
enum command_exit preview_show(struct command *c, struct buf *out);
