/* A pager between stdout and the terminal. One at a time; it replaces the stdout of the process. */
#pragma once

#include "base/base.h"

struct pager {
    int pid; /* 0: no pager runs */
};

/* Starts $PAGER and redirects stdout to it. Changes nothing when stdout is no terminal, or the pager cannot
 * be started. `env` reads the environment. */
void pager_open(struct pager *p, const char *(*env)(const char *name));
/* Closes stdout and waits until the pager exits. Does nothing without a pager. */
void pager_close(struct pager *p);
