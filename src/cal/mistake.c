/* Collects mistakes in one line. Mistakes that do not fit into the text of an error are cut off. */
#include "cal/mistake.h"

#include <stdarg.h>
#include <stdio.h>

static void mistakes_count_printed(struct mistakes *c, int printed) {
    size_t room = sizeof(c->text) - c->n;
    c->n += MIN((size_t)printed, room - 1);
}

int mistakes_add(struct mistakes *c, struct str place, const char *fmt, ...) {
    if (c->n > 0)
        mistakes_count_printed(c, snprintf(c->text + c->n, sizeof(c->text) - c->n, ", "));
    va_list args;
    va_start(args, fmt);
    mistakes_count_printed(c, vsnprintf(c->text + c->n, sizeof(c->text) - c->n, fmt, args));
    va_end(args);
    mistakes_count_printed(c, snprintf(c->text + c->n, sizeof(c->text) - c->n, " (column %zu: \"%.*s\")",
                                       (size_t)(place.p - c->origin.p) + 1,
                                       (int)MIN(place.n, MISTAKE_QUOTE_MAX), place.n ? place.p : ""));
    return ERR_INVALID;
}
