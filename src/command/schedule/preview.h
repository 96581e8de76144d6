/* What lies ahead of a schedule: its next times, and what its author may not have meant. */
#pragma once

#include "cal/warning.h"
#include "command/schedule/subject.h"

#define PREVIEW_TIMES_MAX 3

struct preview_warning {
    const char *kind, *text;
};

struct preview {
    struct preview_warning warnings[WARNING_KINDS + 2]; /* those of the spec, and two of the schedule */
    size_t warning_count;
    int64_t next_s[PREVIEW_TIMES_MAX]; /* before jitter; none while it is paused, or without actions */
    size_t next_count;
};

int preview_make(struct command *c, const struct subject *s, int64_t now_us, struct preview *ret) must_check;
/* The schedule of the draft as JSON members "nextTimes" and "warnings", or as lines, behind its id. What
 * cannot be reckoned here is left out. */
enum command_exit preview_show(struct command *c, struct buf *out);
