/* The signals that a server acts on, as calls on the loop's thread.
 *
 * The process has one of these at most. The signals are blocked and read from a descriptor, so one that comes
 * while the loop does not run is kept: signals_look() finds it, and the loop does when it runs. They stay
 * blocked after signals_free(), because the process ends then and a late signal must not change its exit
 * code. */
#pragma once

#include "base/base.h"

struct loop;
struct signals;

enum signal_wish {
    SIGNAL_STOP, /* SIGTERM, SIGINT */
    SIGNAL_REREAD, /* SIGHUP */
    SIGNAL_REPORT, /* SIGUSR1 */
};

/* SIGUSR2 is ignored from now on. Other signals keep their meaning. ERR_NO_MEMORY, ERR_UNAVAILABLE. */
int signals_new(struct loop *l, void (*fn)(void *ctx, enum signal_wish wish), void *ctx,
                struct signals **ret) must_check;
/* Calls fn for each signal that has come. For work that keeps the loop from running. */
void signals_look(struct signals *s);
void signals_free(struct signals *s);
