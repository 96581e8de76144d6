/* The signals that a server acts on, as calls on the loop's thread.
 *
 * A process has at most one of these. Create it before the first thread. The signals are blocked and read
 * from a descriptor, so a signal that arrives while the loop does not run is kept until the loop runs or
 * signals_look() is called. The signals stay blocked after signals_free(): the process is ending then, and a
 * late signal must not change its exit code. */
#pragma once

#include "base/base.h"

struct loop;
struct signals;

enum signal_wish {
    SIGNAL_STOP, /* SIGTERM, SIGINT */
    SIGNAL_REREAD, /* SIGHUP */
    SIGNAL_REPORT, /* SIGUSR1 */
};

/* fn is called for each signal. Also ignores SIGUSR2; other signals keep their dispositions. ERR_NO_MEMORY,
 * ERR_UNAVAILABLE. */
int signals_new(struct loop *l, void (*fn)(void *ctx, enum signal_wish wish), void *ctx,
                struct signals **ret) must_check;
/* Calls fn for each pending signal. For long work during which the loop does not run. */
void signals_look(struct signals *s);
void signals_free(struct signals *s);
