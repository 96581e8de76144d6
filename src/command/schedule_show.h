/* What the commands that show schedules share. Texts are in the arena; NULL when that is full. */
#pragma once

#include "cal/cal.h"
#include "command/command_int.h"
#include "schedule.pb-c.h"

const char *utc_text(struct arena *a, int64_t utc_s); /* 2026-03-02T08:00:00Z */
const char *local_text(struct arena *a, const struct zone *z,
                       int64_t utc_s); /* 2026-03-02T09:00:00+01:00 CET */

/* What a server says may not move the terminal's cursor: without control characters. NULL for NULL. */
const char *plain_text(struct arena *a, const char *text);

/* Lines of a title and a text; sticky. */
struct card {
    struct rows rows;
    int rc;
};
void card_init(struct card *d, const struct command *c, struct arena *a);
void card_add(struct card *d, const char *title, const char *text); /* nothing for "" */
void card_add_words(struct card *d, const char *title, struct buf *words); /* which are empty afterwards */
/* Fields of a message, by their paths (view.c). */
struct card_line {
    const char *title, *path;
};
void card_add_fields(struct card *d, struct command *c, const ProtobufCMessage *m,
                     const struct card_line *lines, size_t n);
/* The entries of the map that the path leads to, a line for each: key=value. */
void card_add_map(struct card *d, struct command *c, const char *title, const ProtobufCMessage *m,
                  const char *path);
/* Zone, bounds and jitter of a spec. */
void card_add_bounds(struct card *d, const struct cal_spec *s);
int card_print(const struct card *d, struct buf *out) must_check; /* ERR_NO_MEMORY */

/* A spec that a server sent, in one line; what cannot be read gives nothing. */
void spec_words(const Schedule__ScheduleSpec *spec, struct arena *a, struct buf *out);
