/* Collects mistakes into one line. Past the room of an error's text, further ones are left out. */
#include "cal/complaint.h"

#include <stdarg.h>
#include <stdio.h>

static void add(struct complaint *c, int printed) {
    size_t room = sizeof(c->text) - c->n;
    c->n += MIN((size_t)printed, room - 1);
}

int complain(struct complaint *c, struct str place, const char *fmt, ...) {
    if (c->n > 0)
        add(c, snprintf(c->text + c->n, sizeof(c->text) - c->n, ", "));
    va_list args;
    va_start(args, fmt);
    add(c, vsnprintf(c->text + c->n, sizeof(c->text) - c->n, fmt, args));
    va_end(args);
    add(c, snprintf(c->text + c->n, sizeof(c->text) - c->n, " (column %zu: \"%.*s\")",
                    (size_t)(place.p - c->origin.p) + 1, (int)MIN(place.n, COMPLAINT_QUOTE_MAX),
                    place.n ? place.p : ""));
    return ERR_INVALID;
}
